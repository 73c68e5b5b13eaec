/* test_kernel.c - seconds of products, attention and passes over memory */
#include <string.h>

#include "support/assert_near.h"
#include "plait/data.h"
#include "plait/lowlevel/kernel.h"
#include "plait/runtime.h"

/*
 * A simple accelerator: 100 SMs, 1 PFLOP/s (10 TFLOP/s an SM), 1 TB/s. Its fits are neutral: every
 * tile reaches the peak, compute and memory time add up (p = 1).
 */
static plait_accelerator simple(void)
{
    const plait_gemm_fit gemm = {
        .emax = 1.0, .r128 = 1.0, .r64 = 1.0, .r32 = 1.0, .eb = 1.0, .t0_s = 1e-6, .p = 1.0};
    plait_accelerator gpu = {.name = "simple",
                             .vector_flops_per_s = 1e14,
                             .sms = 100,
                             .hbm_bytes_per_s = 1e12,
                             .sustained = {0.8, 0.5},
                             .wgrad_ratio = 1.25,
                             .memory_op_fraction = 0.5,
                             .memory_op_t0_s = 2e-6};

    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        gpu.peak_flops_per_s[p] = 1e15;
        gpu.gemm[p] = gemm;
        gpu.grouped[p] =
            (plait_grouped_fit){.emax = 1.0, .rs = 0.5, .eb = 1.0, .permute_passes = 3.0};
    }
    gpu.attention[PLAIT_ATTENTION_FLASH2] =
        (plait_attention_fit){.e = {0.25, 0.5, 0.5, 0.75}, .t0_s = 1e-6, .backward_ratio = 3.0};
    return gpu;
}

// ---- matrix products -----------------------------------------------------------------------

/*
 * 2560 x 1000 times 1000 x 2560: 200 tiles of 256 x 128 on 100 SMs are two waves of
 * 2 256 128 1000 FLOPs at 10 TFLOP/s, 13.1072 us. Memory: 2 bytes x (2.56 M + 2.56 M + 6.5536 M)
 * at 1 TB/s, 23.3472 us. With a launch of 1 us, 37.4544 us.
 */
static void test_gemm__by_hand(void **state)
{
    const plait_accelerator gpu = simple();

    (void)state;
    assert_near(plait_gemm_s(&gpu, (plait_gemm){.m = 2560, .n = 2560, .k = 1000, .batch = 1}),
                37.4544e-6, 1e-15);
}

/* 257 rows take two tiles of 256, or three of 128: as much as 384 rows where 128 is free. */
static void test_gemm__counts_whole_tiles(void **state)
{
    plait_accelerator gpu = simple();
    plait_gemm g = {.m = 256, .n = 128, .k = 1e6, .batch = 100};

    (void)state;
    gpu.hbm_bytes_per_s = 1e20;
    gpu.gemm[PLAIT_BF16].t0_s = 0.0;
    const double one_tile = plait_gemm_s(&gpu, g);
    assert_near_relative(one_tile, 2.0 * 256.0 * 128.0 * 1e6 / 1e13, 1e-6);
    g.m = 257.0; // 300 tiles of 128 x 128, or 500 of 64 x 128, which waste least
    assert_near_relative(plait_gemm_s(&gpu, g) / one_tile, 5.0 * 64.0 / 256.0, 1e-6);
    gpu.gemm[PLAIT_BF16].r64 = gpu.gemm[PLAIT_BF16].r32 = 0.5; // now the tiles of 128 rows are best
    assert_near_relative(plait_gemm_s(&gpu, g) / one_tile, 1.5, 1e-6);
}

/* 150 tiles on 100 SMs: 1.5 waves of work, 2 when all of the quantisation is real. */
static void test_gemm__quantises_waves_by_the_fitted_share(void **state)
{
    plait_accelerator gpu = simple();
    const plait_gemm g = {.m = 256.0, .n = 128.0, .k = 1e6, .batch = 150.0};

    (void)state;
    gpu.hbm_bytes_per_s = 1e20;
    gpu.gemm[PLAIT_BF16] =
        (plait_gemm_fit){.emax = 1.0, .r128 = 1e-3, .r64 = 1e-3, .r32 = 1e-3, .eb = 1.0, .p = 1.0};
    const double smooth = plait_gemm_s(&gpu, g);
    gpu.gemm[PLAIT_BF16].q = 1.0;
    // splits of k give 300 half tiles: three whole waves, as much as 1.5
    assert_near_relative(plait_gemm_s(&gpu, g), smooth, 1e-3);
    gpu.hbm_bytes_per_s = 1e12; // but their partial sums go through memory
    assert_true(plait_gemm_s(&gpu, g) > 1.01 * smooth);
}

/*
 * Ten tiles of 256 x 128 on 100 SMs: k is split by 8, and eight partial sums of four bytes go
 * through memory at 2 TB/s, twice its rate: 819.2 us of products, 5.24288 us of sums; the inputs
 * and the output take 7680.65536 us.
 */
static void test_gemm__splits_k_where_tiles_are_few(void **state)
{
    plait_accelerator gpu = simple();
    const plait_gemm g = {.m = 256.0, .n = 128.0, .k = 1e6, .batch = 10.0};

    (void)state;
    gpu.gemm[PLAIT_BF16] =
        (plait_gemm_fit){.emax = 1.0, .r128 = 1e-3, .r64 = 1e-3, .r32 = 1e-3, .eb = 1.0, .p = 1.0};
    assert_near(plait_gemm_s(&gpu, g), 819.2e-6 + 5.24288e-6 + 7680.65536e-6, 1e-12);
}

static const plait_accelerator *h100(void)
{
    static plait_accelerator gpu;
    static plait_arena *arena; // read-only from here on; lives as long as the test
    plait_error err;

    if (!arena) {
        arena = plait_arena_new();
        if (plait_accelerator_find("h100-80gb-sxm", arena, &gpu, &err) != PLAIT_OK)
            fail_msg("%s: %s", err.where, err.message);
    }
    return &gpu;
}

static uint64_t random_state = 11;

/* 1 .. most (splitmix64) */
static double random_up_to(int most)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return 1.0 + (double)((z ^ (z >> 31)) % (uint64_t)most);
}

static void test_gemm__is_never_faster_for_more_work(void **state)
{
    static const plait_precision precisions[] = {PLAIT_BF16, PLAIT_FP8, PLAIT_FP8_BLOCK};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        const plait_gemm g = {.m = random_up_to(9000),
                              .n = random_up_to(9000),
                              .k = random_up_to(9000),
                              .batch = random_up_to(4),
                              .precision = precisions[i % 3],
                              .quantise = i % 3 != 0};
        const double s = plait_gemm_s(h100(), g);
        plait_gemm more[] = {g, g, g, g};
        more[0].m += random_up_to(1000);
        more[1].n += random_up_to(1000);
        more[2].k += random_up_to(1000);
        more[3].batch += 1.0;
        for (int j = 0; j < 4; j++)
            assert_true(plait_gemm_s(h100(), more[j]) >= s * (1.0 - 1e-12));
    }
}

/* One row: the weights are read once, whatever the units could do. */
static void test_gemm__never_beats_its_memory_traffic_or_the_peak(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        const plait_gemm g = {.m = random_up_to(i % 2 ? 16 : 9000),
                              .n = random_up_to(9000),
                              .k = random_up_to(9000),
                              .batch = 1.0};
        const double bytes = 2.0 * (g.m * g.k + g.k * g.n + g.m * g.n);
        const double s = plait_gemm_s(h100(), g);
        assert_true(s >= bytes / (h100()->hbm_bytes_per_s * h100()->gemm[PLAIT_BF16].eb));
        assert_true(s >= 2.0 * g.m * g.n * g.k / h100()->peak_flops_per_s[PLAIT_BF16]);
    }
}

/* Large products come within a few percent of the best fraction of the peak. */
static void test_gemm__tends_to_the_fitted_fraction_of_the_peak(void **state)
{
    const double flops = 2.0 * 16384.0 * 16384.0 * 16384.0;
    const double s =
        plait_gemm_s(h100(), (plait_gemm){.m = 16384, .n = 16384, .k = 16384, .batch = 1.0});
    const double fraction = flops / s / h100()->peak_flops_per_s[PLAIT_BF16];

    (void)state;
    assert_true(fraction <= h100()->gemm[PLAIT_BF16].emax);
    assert_true(fraction > 0.95 * h100()->gemm[PLAIT_BF16].emax);
}

/* Two inputs of one byte: half the traffic of bf16's, and a pass of 3 m k bytes to quantise one. */
static void test_fp8__reads_half_and_quantises_its_input(void **state)
{
    plait_accelerator gpu = simple();
    plait_gemm g = {.m = 1.0, .n = 1e5, .k = 1e5, .batch = 1.0, .precision = PLAIT_FP8};

    (void)state;
    gpu.gemm[PLAIT_FP8].cq = 2.0;
    gpu.gemm[PLAIT_FP8].t0_s = 0.0;
    gpu.gemm[PLAIT_BF16].t0_s = 0.0; // of a product whose input is narrow already
    gpu.gemm[PLAIT_FP8].p = 64.0;    // the larger of both times
    const double s = plait_gemm_s(&gpu, g);
    assert_near_relative(s, 1e10 / 1e12, 1e-4);
    g.quantise = true;
    assert_near(plait_gemm_s(&gpu, g) - s, 2.0 * 3.0 * 1e5 / 1e12, 1e-12);
}

/* 1000 x 1 by 1 x 1000: 4000 bytes in, and each of 10^6 sums of 4 bytes read and written. */
static void test_a_gradient_that_is_added_to__is_read_and_written(void **state)
{
    plait_accelerator gpu = simple();
    const plait_gemm g = {.m = 1000.0, .n = 1000.0, .k = 1.0, .batch = 1.0, .accumulated = 4.0};

    (void)state;
    gpu.gemm[PLAIT_BF16].p = 64.0; // the larger of both times
    assert_near_relative(plait_gemm_s(&gpu, g), 1e-6 + 8.004e6 / 1e12, 1e-9);
}

// ---- experts -------------------------------------------------------------------------------

/*
 * 8 experts of 512 rows, n = 1280, k = 1000. In tiles of 256 x 128: 8 x 2 x 10 = 160 tiles on 100
 * SMs, 1.6 times 2 256 128 1000 FLOPs at 10 TFLOP/s: 10.48576 us. Memory: 8 x (512 1000 + 1000 1280
 * + 512 1280) x 2 bytes at 1 TB/s: 39.15776 us. Joined by a norm of 4.
 */
static void test_grouped_gemm__by_hand(void **state)
{
    const plait_accelerator gpu = simple();
    const double compute = 10.48576e-6;
    const double memory = 39.15776e-6;

    (void)state;
    assert_near_relative(
        plait_grouped_gemm_s(&gpu,
                             (plait_gemm){.m = 512.0, .n = 1280.0, .k = 1000.0, .batch = 8.0}),
        pow(pow(compute, 4.0) + pow(memory, 4.0), 0.25), 1e-9);
}

static void test_streams__have_one_product_behind_the_other(void **state)
{
    plait_gemm g = {.m = 512.0, .n = 1280.0, .k = 1000.0, .batch = 1.0};
    const double one_s = plait_gemm_s(h100(), g);

    (void)state;
    g.batch = 8.0;
    assert_near_relative(plait_streamed_gemm_s(h100(), g), 8.0 * one_s, 1e-12);
}

/* Few rows an expert: 16-row tiles run at an eighth of the rate (0.5 a halving from 128). */
static void test_grouped_gemm__slows_down_for_few_rows(void **state)
{
    plait_accelerator gpu = simple();
    plait_gemm g = {.m = 128.0, .n = 1280.0, .k = 1e5, .batch = 100.0};

    (void)state;
    gpu.hbm_bytes_per_s = 1e20;
    const double full = plait_grouped_gemm_s(&gpu, g);
    g.m = 16.0;
    const double few = plait_grouped_gemm_s(&gpu, g);
    assert_near_relative(few, full, 1e-9); // 16 rows at an eighth of the rate cost as much as 128
    g.m = 129.0;
    assert_near_relative(plait_grouped_gemm_s(&gpu, g) / full, 2.0, 1e-9);
}

// ---- attention -----------------------------------------------------------------------------

/*
 * 10 sequences x 20 heads x 10 blocks of 128 queries: 20 waves on 100 SMs. 1e12 FLOPs at half of
 * 1 PFLOP/s: 2 ms; the traffic of 8e8 bytes at 0.8 TB/s is 1 ms. Joined: (2^4 + 1)^(1/4) ms.
 */
static void test_attention__by_hand(void **state)
{
    const plait_accelerator gpu = simple();
    const plait_attention_work work = {.sequences = 10.0,
                                       .heads = 20.0,
                                       .query = 1280.0,
                                       .head_dim = 128.0,
                                       .ramp = 1280.0,
                                       .flops = 1e12,
                                       .bytes = 8e8};

    (void)state;
    assert_near(plait_attention_s(&gpu, PLAIT_ATTENTION_FLASH2, work),
                1e-6 + pow(17.0, 0.25) * 1e-3, 1e-12);
}

/* Attention that decodes: 8 sequences of 2 heads, 1 GB at 0.8 of 4 TB/s is 312.5 us, a quarter more of 16 x 1/4. */
static void test_decode_attention__by_hand(void **state)
{
    plait_accelerator gpu = {.hbm_bytes_per_s = 4e12};
    const plait_decode_work work = {.sequences = 8.0, .kv_heads = 2.0, .bytes = 1e9};

    (void)state;
    gpu.decode[PLAIT_KV_FP8] = (plait_decode_fit){.eb = 0.8, .few = 4.0, .t0_s = 10e-6};
    assert_near(plait_decode_attention_s(&gpu, PLAIT_KV_FP8, work), 10e-6 + 1.25 * 312.5e-6, 1e-12);
}

/* e is 0.25 at 64, 0.5 at 128 and 192, 0.75 at 256: 0.375 at 96, 0.625 at 224. */
static void test_attention__interpolates_between_head_widths(void **state)
{
    static const double width[] = {32, 64, 96, 128, 160, 192, 224, 256, 512};
    static const double rate[] = {0.25, 0.25, 0.375, 0.5, 0.5, 0.5, 0.625, 0.75, 0.75};
    plait_accelerator gpu = simple();

    (void)state;
    gpu.attention[PLAIT_ATTENTION_FLASH2].t0_s = 0.0;
    for (int i = 0; i < 9; i++) {
        const plait_attention_work work = {.sequences = 100.0,
                                           .heads = 1.0,
                                           .query = 128.0,
                                           .head_dim = width[i],
                                           .ramp = 128.0,
                                           .flops = 1e12};
        assert_near_relative(plait_attention_s(&gpu, PLAIT_ATTENTION_FLASH2, work), 1e-3 / rate[i],
                             1e-9);
    }
}

/* s0 = 512 tokens of start-up: a sequence of 512 takes twice as long, one of 4096 an eighth more. */
static void test_attention__starts_up_slowly_on_short_sequences(void **state)
{
    plait_accelerator gpu = simple();
    plait_attention_work work = {.sequences = 100.0,
                                 .heads = 1.0,
                                 .query = 128.0,
                                 .head_dim = 128.0,
                                 .ramp = 1e12,
                                 .flops = 1e12};

    (void)state;
    gpu.attention[PLAIT_ATTENTION_FLASH2].t0_s = 0.0;
    gpu.attention[PLAIT_ATTENTION_FLASH2].s0 = 512.0;
    const double long_s = plait_attention_s(&gpu, PLAIT_ATTENTION_FLASH2, work);
    work.ramp = 512.0;
    assert_near_relative(plait_attention_s(&gpu, PLAIT_ATTENTION_FLASH2, work), 2.0 * long_s, 1e-6);
    work.ramp = 4096.0;
    assert_near_relative(plait_attention_s(&gpu, PLAIT_ATTENTION_FLASH2, work), 1.125 * long_s,
                         1e-6);
}

/* Ten heads leave 90 SMs idle: as long as a hundred heads. */
static void test_attention__needs_work_for_every_sm(void **state)
{
    plait_accelerator gpu = simple();
    plait_attention_work work = {.sequences = 1.0,
                                 .heads = 10.0,
                                 .query = 128.0,
                                 .head_dim = 128.0,
                                 .ramp = 128.0,
                                 .flops = 1e11};

    (void)state;
    const double ten = plait_attention_s(&gpu, PLAIT_ATTENTION_FLASH2, work);
    work.heads *= 10.0;
    work.flops *= 10.0;
    assert_near_relative(plait_attention_s(&gpu, PLAIT_ATTENTION_FLASH2, work), ten, 1e-9);
}

// ---- memory-bound passes -------------------------------------------------------------------

/* 1e6 bytes at half of 1 TB/s are 2 us, behind 2 us of launch. */
static void test_memory_op__by_hand(void **state)
{
    const plait_accelerator gpu = simple();

    (void)state;
    assert_near(plait_memory_op_s(&gpu, 1e6), 4e-6, 1e-18);
}

// ---- operators of a block ------------------------------------------------------------------

static const plait_runtime neutral = {.factor = {.gemm = 1.0, .memory = 1.0, .attention = 1.0}};

static plait_kernel_context context_of(const plait_accelerator *gpu, const plait_runtime *runtime)
{
    return (plait_kernel_context){.accelerator = gpu,
                                  .runtime = runtime,
                                  .precision = PLAIT_BF16,
                                  .attention = PLAIT_ATTENTION_FLASH2,
                                  .slowest = 1.0};
}

static plait_op product(double m)
{
    return (plait_op){.kind = PLAIT_OP_GEMM,
                      .matrix_precision = true,
                      .m = m,
                      .n = 1000.0,
                      .k = 1000.0,
                      .batch = 1.0,
                      .flops = 2e6 * m,
                      .count = 1.0};
}

/* The clock falls to 0.8 of its burst from 3 to 30 GFLOP, by the logarithm. */
static void test_operators__of_large_products_run_at_sustained_clocks(void **state)
{
    const plait_accelerator gpu = simple();
    const plait_kernel_context context = context_of(&gpu, &neutral);
    static const double rows[] = {1000.0, 1500.0, 1500.0 * 3.1622776601683795, 15000.0, 60000.0};
    static const double clock[] = {1.0, 1.0, 0.9, 0.8, 0.8};

    (void)state;
    for (int i = 0; i < 5; i++) {
        const plait_op op = product(rows[i]);
        const plait_gemm gemm = {.m = op.m, .n = op.n, .k = op.k, .batch = 1.0};
        assert_near_relative(plait_op_s(&context, &op), plait_gemm_s(&gpu, gemm) / clock[i], 1e-9);
    }
}

static void test_operators__take_the_factors_of_the_software(void **state)
{
    const plait_accelerator gpu = simple();
    plait_runtime slow = neutral;
    const plait_kernel_context before = context_of(&gpu, &neutral);
    const plait_kernel_context after = context_of(&gpu, &slow);
    plait_op op = product(100.0);
    const plait_op pass = {.kind = PLAIT_OP_MEMORY, .bytes = 1e6, .count = 1.0};
    const plait_op exchange = {.kind = PLAIT_OP_COLLECTIVE, .bytes = 1e6, .count = 1.0};

    (void)state;
    slow.factor.gemm = 1.5;
    slow.factor.memory = 2.0;
    assert_near_relative(plait_op_s(&after, &op), 1.5 * plait_op_s(&before, &op), 1e-12);
    assert_near_relative(plait_op_s(&after, &pass), 2.0 * plait_op_s(&before, &pass), 1e-12);
    assert_near(plait_op_s(&after, &exchange), 0.0, 0.0);
    const double once = plait_op_s(&after, &op);
    op.count = 3.0;
    assert_near_relative(plait_op_s(&after, &op), 3.0 * once, 1e-12);
    op.count = 1.0;
    op.layout = PLAIT_BACKWARD_WEIGHT;
    assert_near_relative(plait_op_s(&after, &op), 1.25 * once, 1e-12);
}

/* 2.5 times the FLOPs, priced as `backward_ratio` = 3 times the forward's time. */
static void test_operators__of_backward_attention_take_their_ratio(void **state)
{
    const plait_accelerator gpu = simple();
    const plait_kernel_context context = context_of(&gpu, &neutral);
    plait_op op = {.kind = PLAIT_OP_ATTENTION,
                   .layout = PLAIT_FORWARD,
                   .flops = 1e12,
                   .bytes = 1e6,
                   .sequences = 10.0,
                   .heads = 20.0,
                   .query = 1280.0,
                   .head_dim = 128.0,
                   .ramp = 1280.0,
                   .count = 1.0};
    const double forward = plait_op_s(&context, &op);

    (void)state;
    op.layout = PLAIT_BACKWARD;
    op.flops *= 2.5;
    assert_near_relative(plait_op_s(&context, &op), 3.0 * forward, 1e-12);
}

/* Attention in 8 bits, in 8-bit jobs alone: at 1.5 times the rate, 2/3 of the work's time. */
static void test_operators__of_attention_in_fp8_have_its_rate(void **state)
{
    plait_accelerator gpu = simple();
    plait_kernel_context wide = context_of(&gpu, &neutral), asked = wide;
    plait_op op = {.kind = PLAIT_OP_ATTENTION,
                   .layout = PLAIT_FORWARD,
                   .flops = 1.5e12,
                   .sequences = 10.0,
                   .heads = 20.0,
                   .query = 1280.0,
                   .head_dim = 128.0,
                   .ramp = 1280.0,
                   .count = 1.0};
    const double before = plait_op_s(&wide, &op);

    (void)state;
    asked.switches.fp8_attention = true;
    gpu.attention[asked.attention].fp8_rate = 1.5;
    assert_near_relative(plait_op_s(&asked, &op), before, 1e-12);
    wide.precision = asked.precision = PLAIT_FP8;
    assert_near_relative(plait_op_s(&wide, &op), before, 1e-12);
    const double after = plait_op_s(&asked, &op);
    op.flops = 1e12;
    assert_near_relative(after, plait_op_s(&wide, &op), 1e-12);
    assert_true(after < before);
}

/* A product of rows with scales of their own takes 1/0.95 as long as one with a scale a tensor. */
static void test_operators__with_a_scale_a_row_are_slower(void **state)
{
    plait_accelerator gpu = simple();
    plait_runtime rows = neutral;
    plait_kernel_context plain = context_of(&gpu, &neutral), rowwise = context_of(&gpu, &rows);
    const plait_op op = {.kind = PLAIT_OP_GEMM,
                         .layout = PLAIT_FORWARD,
                         .matrix_precision = true,
                         .m = 1280.0,
                         .n = 1280.0,
                         .k = 1000.0,
                         .batch = 1.0,
                         .count = 1.0};

    (void)state;
    rows.kernels.rowwise_scaling = true;
    assert_near_relative(plait_op_s(&rowwise, &op), plait_op_s(&plain, &op), 1e-12);
    gpu.peak_flops_per_s[PLAIT_FP8] = gpu.peak_flops_per_s[PLAIT_BF16];
    gpu.gemm[PLAIT_FP8] = gpu.gemm[PLAIT_BF16];
    plain.precision = rowwise.precision = PLAIT_FP8;
    assert_near_relative(0.95 * plait_op_s(&rowwise, &op), plait_op_s(&plain, &op), 1e-12);
}

/* Tokens on their way to experts cross memory as often as was fitted: here three times. */
static void test_operators__that_permute_tokens_pass_several_times(void **state)
{
    const plait_accelerator gpu = simple();
    const plait_kernel_context context = context_of(&gpu, &neutral);
    const plait_op op = {
        .kind = PLAIT_OP_MEMORY, .part = PLAIT_PART_dispatch, .bytes = 1e6, .count = 1.0};

    (void)state;
    assert_near_relative(plait_op_s(&context, &op), plait_memory_op_s(&gpu, 3e6), 1e-12);
}

/* sqrt(2 ln 1024) is 3.7233, sqrt(2 ln 16) 2.3548; stages wait for all of their group. */
static void test_the_slowest__of_many_is_slower(void **state)
{
    plait_accelerator gpu = simple();
    plait_kernel_context context = context_of(&gpu, &neutral);
    const plait_op op = product(4096.0);
    const double alone_s = plait_op_s(&context, &op);

    (void)state;
    gpu.speed_spread = 0.025;
    assert_near(plait_slowest(&gpu, &(plait_job){.gpus = 1}), 1.0, 0.0);
    assert_near(plait_slowest(&gpu, &(plait_job){.gpus = 1024}), 1.0930823, 1e-6);
    assert_near(plait_slowest(&gpu, &(plait_job){.gpus = 16, .group_gpus = 1024}), 1.0930823, 1e-6);
    context.slowest = plait_slowest(&gpu, &(plait_job){.gpus = 16});
    assert_near_relative(plait_op_s(&context, &op), 1.0588705 * alone_s, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm__by_hand),
        cmocka_unit_test(test_gemm__counts_whole_tiles),
        cmocka_unit_test(test_gemm__quantises_waves_by_the_fitted_share),
        cmocka_unit_test(test_gemm__splits_k_where_tiles_are_few),
        cmocka_unit_test(test_gemm__is_never_faster_for_more_work),
        cmocka_unit_test(test_gemm__never_beats_its_memory_traffic_or_the_peak),
        cmocka_unit_test(test_gemm__tends_to_the_fitted_fraction_of_the_peak),
        cmocka_unit_test(test_fp8__reads_half_and_quantises_its_input),
        cmocka_unit_test(test_a_gradient_that_is_added_to__is_read_and_written),
        cmocka_unit_test(test_grouped_gemm__by_hand),
        cmocka_unit_test(test_streams__have_one_product_behind_the_other),
        cmocka_unit_test(test_grouped_gemm__slows_down_for_few_rows),
        cmocka_unit_test(test_attention__by_hand),
        cmocka_unit_test(test_decode_attention__by_hand),
        cmocka_unit_test(test_attention__interpolates_between_head_widths),
        cmocka_unit_test(test_attention__starts_up_slowly_on_short_sequences),
        cmocka_unit_test(test_attention__needs_work_for_every_sm),
        cmocka_unit_test(test_memory_op__by_hand),
        cmocka_unit_test(test_operators__of_large_products_run_at_sustained_clocks),
        cmocka_unit_test(test_operators__take_the_factors_of_the_software),
        cmocka_unit_test(test_operators__of_backward_attention_take_their_ratio),
        cmocka_unit_test(test_operators__of_attention_in_fp8_have_its_rate),
        cmocka_unit_test(test_operators__with_a_scale_a_row_are_slower),
        cmocka_unit_test(test_operators__that_permute_tokens_pass_several_times),
        cmocka_unit_test(test_the_slowest__of_many_is_slower),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
