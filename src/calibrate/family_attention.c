/*
 * family_attention.c - attention kernels: forward, the ratio of backward to forward, and decoding
 */
#include <math.h>

#include "calibrate/family.h"
#include "calibrate/ranges.h"

static const char *const *attention_stacks(int block)
{
    static const char *const stacks[] = {"trtllm",          "vllm",    "sglang",
                                         "flash-attention", "simumax", NULL};

    (void)block;
    return stacks;
}

#define ATTENTION_AT(member)                                                                       \
    offsetof(family_subject, accelerator.attention) +                                              \
        (size_t)block * sizeof(plait_attention_fit) + offsetof(plait_attention_fit, member)

/* ---- forward (C.32) ---- */

static bool forward_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    (void)accelerator;
    return p->kind == POINT_ATTENTION && p->block == block;
}

static int forward_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    const plait_accelerator *gpu = &subject->accelerator;
    int n = 0;

    for (; n < 4; n++) {
        out[n] = range_number("attention", "e", ATTENTION_AT(e) + (size_t)n * sizeof(double), gpu);
        out[n].element = n;
    }
    out[n++] = range_number("attention", "s0", ATTENTION_AT(s0), gpu);
    out[n++] = range_number("attention", "q", ATTENTION_AT(q), gpu);
    out[n++] = range_number("attention", "t0_us", ATTENTION_AT(t0_s), gpu);
    return n;
}

static double forward_predict_s(const void *subject, const void *what)
{
    const family_subject *s = subject;
    const point *p = what;

    return plait_attention_s(&s->accelerator, (plait_attention_kernel)p->block, p->attention);
}

/* At least 1024 tokens and one full wave of thread blocks. */
static bool forward_large(const plait_accelerator *accelerator, const point *p)
{
    const plait_attention_work *w = &p->attention;

    return w->query >= 1024.0 &&
           w->sequences * w->heads * ceil(w->query / 128.0) >= accelerator->sms;
}

const family family_attention = {
    .section = "attention",
    .block_name = plait_attention_kernel_name,
    .first = PLAIT_ATTENTION_FLASH,
    .last = PLAIT_ATTENTION_KERNELS,
    .kernels = true,
    .measure = "attention kernels",
    .least = 20,
    .large_weight = 2.0,
    .takes = forward_takes,
    .numbers = forward_numbers,
    .predict_s = forward_predict_s,
    .large = forward_large,
    .stacks = attention_stacks,
};

/* ---- backward, as a multiple of forward ---- */

static bool backward_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    (void)accelerator;
    return p->kind == POINT_BACKWARD && p->block == block;
}

static int backward_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    out[0] = range_number("attention", "backward_ratio", ATTENTION_AT(backward_ratio),
                          &subject->accelerator);
    return 1;
}

static double backward_predict_s(const void *subject, const void *what)
{
    const family_subject *s = subject;
    const point *p = what;

    return p->beside_s * s->accelerator.attention[p->block].backward_ratio;
}

static bool backward_large(const plait_accelerator *accelerator, const point *p)
{
    (void)accelerator;
    return p->attention.query >= 1024.0;
}

const family family_backward = {
    .section = "attention",
    .what = "attention backward",
    .block_name = plait_attention_kernel_name,
    .first = PLAIT_ATTENTION_FLASH,
    .last = PLAIT_ATTENTION_KERNELS,
    .kernels = true,
    .measure = "pairs of passes",
    .least = 8,
    .large_weight = 2.0,
    .takes = backward_takes,
    .numbers = backward_numbers,
    .predict_s = backward_predict_s,
    .large = backward_large,
    .stacks = attention_stacks,
};

/* ---- decoding (C.361) ---- */

static bool decode_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    (void)accelerator;
    return p->kind == POINT_DECODE && p->block == block;
}

#define DECODE_AT(member)                                                                          \
    offsetof(family_subject, accelerator.decode) + (size_t)block * sizeof(plait_decode_fit) +      \
        offsetof(plait_decode_fit, member)

static int decode_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    const plait_accelerator *gpu = &subject->accelerator;

    out[0] = range_number("attention_decode", "eb", DECODE_AT(eb), gpu);
    out[1] = range_number("attention_decode", "few", DECODE_AT(few), gpu);
    out[2] = range_number("attention_decode", "t0_us", DECODE_AT(t0_s), gpu);
    return 3;
}

static double decode_predict_s(const void *subject, const void *what)
{
    const family_subject *s = subject;
    const point *p = what;

    return plait_decode_attention_s(&s->accelerator, (plait_kv_format)p->block, p->decode);
}

/* vLLM comes first, since TensorRT-LLM's times on Hopper scatter twice as far. */
static const char *const *decode_stacks(int block)
{
    static const char *const stacks[] = {"vllm", "trtllm", "sglang", NULL};

    (void)block;
    return stacks;
}

/* Reading the KV cache takes more than 20 us at the full HBM rate, longer than the launch. */
static bool decode_large(const plait_accelerator *accelerator, const point *p)
{
    return p->decode.bytes > 20e-6 * accelerator->hbm_bytes_per_s;
}

const family family_decode = {
    .section = "attention_decode",
    .block_name = plait_kv_name,
    .first = 0,
    .last = PLAIT_KV_FORMATS,
    .kernels = true,
    .alone = true,
    .measure = "decode kernels",
    .least = 20,
    .large_weight = 2.0,
    .takes = decode_takes,
    .numbers = decode_numbers,
    .predict_s = decode_predict_s,
    .large = decode_large,
    .stacks = decode_stacks,
};
