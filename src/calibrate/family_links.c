/* family_links.c - memory passes, collectives and sends inside a scale-up domain */
#include <string.h>

#include "plait/units.h"

#include "calibrate/family.h"
#include "calibrate/ranges.h"

static bool large_message(const plait_accelerator *accelerator, const point *p)
{
    (void)accelerator;
    return p->bytes >= PLAIT_MIB;
}

/* ---- memory passes (C.33) ---- */

static bool memory_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    (void)accelerator;
    (void)block;
    return p->kind == POINT_MEMORY;
}

static int memory_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    const plait_accelerator *gpu = &subject->accelerator;

    (void)block;
    out[0] = range_number("memory_op", "fraction",
                          offsetof(family_subject, accelerator.memory_op_fraction), gpu);
    out[1] = range_number("memory_op", "t0_us",
                          offsetof(family_subject, accelerator.memory_op_t0_s), gpu);
    return 2;
}

static double memory_predict_s(const void *subject, const void *what)
{
    const family_subject *s = subject;

    return plait_memory_op_s(&s->accelerator, ((const point *)what)->bytes);
}

static const char *const *memory_stacks(int block)
{
    static const char *const stacks[] = {"vidur", NULL};

    (void)block;
    return stacks;
}

const family family_memory = {
    .section = "memory_op",
    .what = "memory passes",
    .block_name = NULL,
    .first = 0,
    .last = 1,
    .kernels = true,
    .alone = true,
    .measure = "memory-bound kernels",
    .least = 12,
    .large_weight = 2.0,
    .takes = memory_takes,
    .numbers = memory_numbers,
    .predict_s = memory_predict_s,
    .large = large_message,
    .stacks = memory_stacks,
};

/* ---- collectives (C.50) ---- */

/*
 * Returns whether all ranks are in one scale-up domain: on one node, or on several that it spans.
 */
static bool in_domain(const plait_accelerator *accelerator, const point *p)
{
    return p->ranks <= accelerator->scale_up_domain &&
           (p->nodes <= 1 || accelerator->scale_up_domain > accelerator->gpus_per_node);
}

static bool collective_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    return p->kind == POINT_COLLECTIVE && p->block == block && accelerator->torus[0] == 0 &&
           in_domain(accelerator, p);
}

#define COLLECTIVE_AT(member)                                                                      \
    offsetof(family_subject, accelerator.collective) +                                             \
        (size_t)block * sizeof(plait_collective_fit) + offsetof(plait_collective_fit, member)

static int three_numbers(const char *key, size_t offset, const plait_accelerator *gpu,
                         fit_number *out)
{
    for (int p = 0; p < 3; p++) {
        out[p] = range_number("collectives", key, offset + (size_t)p * sizeof(double), gpu);
        out[p].element = p;
    }
    return 3;
}

/* NVIDIA's switches reduce (NVLS) since Hopper, the first generation with fp8. */
static bool switch_reduces(const plait_accelerator *gpu)
{
    return strcmp(gpu->vendor, "NVIDIA") == 0 && gpu->peak_flops_per_s[PLAIT_FP8] > 0.0 &&
           gpu->scale_up_bytes_per_s >= 100.0 * PLAIT_GB && !gpu->scale_up_full;
}

static int collective_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    plait_accelerator *gpu = &subject->accelerator;
    int n = 0;

    n += three_numbers("a_us", COLLECTIVE_AT(a_s), gpu, out + n);
    n += three_numbers("b_us", COLLECTIVE_AT(b_s), gpu, out + n);
    n += three_numbers("bus_gb_per_s", COLLECTIVE_AT(bytes_per_s), gpu, out + n);
    out[n++] = range_number("collectives", "local_gb_per_s", COLLECTIVE_AT(local_bytes_per_s), gpu);
    if (block == PLAIT_ALL_REDUCE && switch_reduces(gpu)) {
        // NVLS numbers have no default, so start at an estimate: H100's are 72 us and 0.58 of the wire.
        gpu->collective[block].nvls_a_s = 50.0 * PLAIT_US;
        gpu->collective[block].nvls_bytes_per_s = 0.5 * gpu->scale_up_bytes_per_s;
        out[n] = range_number("collectives", "nvls_a_us", COLLECTIVE_AT(nvls_a_s), gpu);
        out[n++].preset = true;
        out[n] = range_number("collectives", "nvls_gb_per_s", COLLECTIVE_AT(nvls_bytes_per_s), gpu);
        out[n++].preset = true;
    }
    return n;
}

static plait_route route_of(const family_subject *s, int ranks)
{
    return (plait_route){
        .cluster = &s->domain,
        .accelerator = &s->accelerator,
        .ranks = ranks,
        .levels = 1,
        .joined = {ranks},
    };
}

static const plait_network neutral = {.nic = 1.0};

static double collective_predict_s(const void *subject, const void *what)
{
    const point *p = what;
    const plait_route route = route_of(subject, p->ranks);

    return plait_collective_s(&route, neutral, (plait_collective_op)p->block, p->bytes);
}

static const char *const *link_stacks(int block)
{
    static const char *const stacks[] = {"aic:nccl-", "vidur", NULL};

    (void)block;
    return stacks;
}

const family family_collective = {
    .section = "collectives",
    .block_name = plait_collective_name,
    .first = 0,
    .last = PLAIT_FITTED_COLLECTIVES,
    .kernels = false,
    .alone = true,
    .measure = "collectives",
    .least = 16,
    .large_weight = 1.0,
    .takes = collective_takes,
    .numbers = collective_numbers,
    .predict_s = collective_predict_s,
    .large = large_message,
    .stacks = link_stacks,
};

/* ---- sends (C.59) ---- */

static bool p2p_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    (void)block;
    return p->kind == POINT_P2P && accelerator->torus[0] == 0 && in_domain(accelerator, p);
}

static int p2p_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    const plait_accelerator *gpu = &subject->accelerator;

    (void)block;
    out[0] =
        range_number("p2p", "latency_us", offsetof(family_subject, accelerator.p2p.latency_s), gpu);
    out[1] = range_number("p2p", "bandwidth_gb_per_s",
                          offsetof(family_subject, accelerator.p2p.bytes_per_s), gpu);
    return 2;
}

static double p2p_predict_s(const void *subject, const void *what)
{
    const plait_route route = route_of(subject, 2);

    return plait_p2p_s(&route, neutral, ((const point *)what)->bytes);
}

const family family_p2p = {
    .section = "p2p",
    .what = "sends",
    .block_name = NULL,
    .first = 0,
    .last = 1,
    .kernels = false,
    .alone = true,
    .measure = "sends",
    .least = 12,
    .large_weight = 1.0,
    .takes = p2p_takes,
    .numbers = p2p_numbers,
    .predict_s = p2p_predict_s,
    .large = large_message,
    .stacks = link_stacks,
};
