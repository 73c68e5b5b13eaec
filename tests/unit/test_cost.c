/* test_cost.c - the price of a plan: terms that add up, verdicts, what is communicated */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "costmodel/layer/layer_row.h"
#include "support/must.h"
#include "plait/cost.h"
#include "plait/lowlevel/kernel.h"
#include "costmodel/api.h"
#include "support/world.h"

static void load(world *w, const char *model, const char *runtime, int gpus, int gbs)
{
    world_make(w, model, runtime, "h100-80gb-sxm:64x8",
               (plait_job){.seq = 4096, .gbs = gbs, .gpus = gpus}, arena);
}

/* "tp=2 pp=4": dp, and what it is sharded over, follow unless they are given. */
static plait_degrees point(const world *w, const char *keys)
{
    plait_degrees d = plait_degrees_init();
    plait_error err;

    d.shard_group = 0;
    d.attention = (unsigned char)w->runtime.defaults.key[PLAIT_KEY_ATTENTION];
    while (*keys) {
        char key[24];
        char value[64];
        int length = 0;
        assert_int_equal(sscanf(keys, " %23[^=]=%63s%n", key, value, &length), 2);
        must(plait_degrees_set(&d, key, value, &err), &err);
        keys += length;
    }
    d.dp = plait_degrees_dp(w->problem.job.gpus, d.tp, d.pp, d.cp);
    if (d.shard_group == 0)
        d.shard_group = d.dp * d.cp;
    return d;
}

static plait_cost price(const world *w, const char *keys)
{
    const plait_degrees d = point(w, keys);
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    must(plait_plan_expand(&w->problem, &d, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&w->problem, &plan, NULL, arena, &cost, &err), &err);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s: %s", keys, cost.why);
    return cost;
}

/* Of schedules that other problems had simulated: the same to the bit. */
static void test_known_pipelines__change_no_price(void **state)
{
    static const char *const keys[] = {"tp=4 pp=4 sp=1", "tp=8 pp=2 sp=1",
                                       "tp=4 pp=4 sp=1 recompute=full", "tp=4 pp=4 sp=1"};
    static const char *const models[] = {"llama-3.1-70b", "llama-3.1-8b"};
    plait_pipelines *const pipelines = plait_pipelines_new();
    plait_error err;

    (void)state;
    assert_non_null(pipelines);
    for (size_t i = 0; i < sizeof keys / sizeof *keys * 2; i++) {
        world w;
        load(&w, models[i % 2], "megatron", 64, 64);
        const plait_cost alone = price(&w, keys[i / 2]);
        const plait_degrees d = point(&w, keys[i / 2]);
        plait_plan plan;
        plait_cost cost;
        must(plait_plan_expand(&w.problem, &d, arena, &plan, &err), &err);
        must(plait_plan_evaluate(&w.problem, &plan, pipelines, arena, &cost, &err), &err);
        assert_true(cost.step_s == alone.step_s);
        assert_memory_equal(&cost.step, &alone.step, sizeof alone.step);
        assert_true(cost.memory.peak_bytes == alone.memory.peak_bytes);
    }
    plait_pipelines_free(pipelines);
    plait_pipelines_free(NULL);
}

/* `selective` repeats the core attention of attention layers only; `full` repeats all. */
static void test_recompute__repeats_scans_only_if_full(void **state)
{
    world w;

    (void)state;
    load(&w, "mamba-1.4b", "megatron", 8, 64);
    const plait_cost none = price(&w, "zero=1");
    const plait_cost selective = price(&w, "zero=1 recompute=selective");
    const plait_cost full = price(&w, "zero=1 recompute=full");
    assert_near(selective.step_s, none.step_s, 0.0);
    assert_near(selective.hfu, none.hfu, 0.0);
    assert_near(selective.step.recompute_s, 0.0, 0.0);
    assert_true(full.step.recompute_s > 0.0);
}

// ---- sums ----------------------------------------------------------------------------------

static const struct {
    const char *model, *runtime;
    int gpus, gbs;
    const char *keys;
} plans[] = {
    {"llama-3.1-8b", "megatron", 64, 128, "tp=4 sp=1 pp=2 zero=1 mbs=2"},
    {"llama-3.1-8b", "megatron", 64, 128, "tp=2 sp=1 cp=2 pp=4 vpp=4 schedule=interleaved zero=1"},
    {"llama-3.1-8b", "torchtitan", 64, 128, "zero=3 recompute=sac"},
    {"llama-3.1-8b", "torchtitan", 64, 128, "zero=2 cp=4 cp_comm=allgather recompute=full"},
    {"llama-3.1-8b", "xla", 64, 128, "zero=1 pp=4 cp_comm=allgather grad_sync=bulk"},
    {"llama-3.1-8b", "xla", 64, 128, "zero=3 shard_group=8 recompute=selective"},
    {"mixtral-8x7b", "megatron", 64, 128, "tp=2 sp=1 ep=8 etp=1 pp=2 zero=1 recompute=full:3"},
    {"deepseek-v3", "deepseek", 256, 2048, "ep=32 pp=8 split=spread zero=1"},
    {"deepseek-v3", "deepseek", 256, 2048, "ep=16 pp=16 split=spread zero=1 schedule=dualpipe"},
};

enum { PLANS = sizeof plans / sizeof *plans };

static double sum_of_step(const plait_step_time *t)
{
    double sum = 0.0;

#define X(name, equation, what)                                                                    \
    assert_true(t->name##_s >= -1e-12);                                                            \
    sum += t->name##_s;
    PLAIT_STEP_TERMS(X)
#undef X
    return sum;
}

static double sum_of_memory(const plait_memory *m)
{
    double sum = 0.0;

#define X(name, equation, what)                                                                    \
    assert_true(m->name##_bytes >= 0.0);                                                           \
    sum += m->name##_bytes;
    PLAIT_MEMORY_TERMS(X)
#undef X
    return sum;
}

static void test_terms__add_up_to_step_and_peak(void **state)
{
    (void)state;
    for (int i = 0; i < PLANS; i++) {
        world w;
        load(&w, plans[i].model, plans[i].runtime, plans[i].gpus, plans[i].gbs);
        const plait_cost cost = price(&w, plans[i].keys);
        assert_true(cost.step_s > 0.0);
        assert_near_relative(sum_of_step(&cost.step), cost.step_s, 1e-12);
        assert_near_relative(sum_of_memory(&cost.memory), cost.memory.peak_bytes, 1e-12);
        assert_near(cost.memory.peak_bytes, cost.stage[cost.fullest_stage].memory_bytes, 0.0);
        for (int s = 0; s < cost.stages; s++) {
            const plait_stage_cost *slowest = &cost.stage[cost.slowest_stage];
            assert_true(cost.stage[s].memory_bytes <= cost.memory.peak_bytes);
            assert_true(cost.stage[s].forward_s + cost.stage[s].backward_s <=
                        slowest->forward_s + slowest->backward_s);
        }
    }
}

/* The terms of layers are what the slowest stage is busy with, microbatch by microbatch. */
static void test_layer_terms__fill_the_slowest_stage(void **state)
{
    (void)state;
    for (int i = 0; i < PLANS; i++) {
        world w;
        load(&w, plans[i].model, plans[i].runtime, plans[i].gpus, plans[i].gbs);
        const plait_degrees d = point(&w, plans[i].keys);
        const plait_cost cost = price(&w, plans[i].keys);
        const plait_stage_cost *slowest = &cost.stage[cost.slowest_stage];
        const double m = plait_degrees_microbatches(&d, plans[i].gbs);
        double layers_s = 0.0;
#define X(name) layers_s += cost.step.name##_s;
        LAYER_TERM_LIST(X)
#undef X
        assert_near_relative(layers_s, m * (slowest->forward_s + slowest->backward_s), 1e-9);
    }
}

/* 8 tokens/s ... and back: FLOPs of a token times the tokens of one GPU, over the peak. */
static void test_rates__follow_from_the_step(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const plait_cost none = price(&w, "tp=4 sp=1 zero=1");
    const plait_cost full = price(&w, "tp=4 sp=1 zero=1 recompute=full");
    const double tokens = 128.0 * 4096.0 / 64.0;
    const double flops = plait_model_flops_per_token(&w.model, 4096.0, false);
    assert_near_relative(none.tokens_per_s_per_gpu, tokens / none.step_s, 1e-12);
    assert_near_relative(none.mfu_square, tokens / none.step_s * flops / 989.4e12, 1e-12);
    assert_near_relative(none.hfu, none.mfu, 1e-12); // nothing is computed twice
    assert_near_relative(full.hfu_square / full.mfu_square,
                         plait_model_flops_per_token(&w.model, 4096.0, true) / flops, 1e-9);
}

/* 32 layers, forward and backward of 2 products of 4096 keys a head of 128, of which the mean is 2048.5. */
static void test_mfu__counts_half_of_causal_attention(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const plait_cost fused = price(&w, "tp=4 sp=1 zero=1 recompute=full");
    const plait_cost unfused = price(&w, "tp=4 sp=1 zero=1 recompute=full attention=unfused");
    const double flops = plait_model_flops_per_token(&w.model, 4096.0, false);
    const double whole = 3.0 * 32.0 * 2.0 * 2.0 * 4096.0 * 4096.0;
    const double skipped = whole * (1.0 - 2048.5 / 4096.0);
    assert_near_relative(fused.mfu / fused.mfu_square, 1.0 - skipped / flops, 1e-9);
    assert_near_relative(
        fused.hfu / fused.mfu,
        (plait_model_flops_per_token(&w.model, 4096.0, true) - skipped * 4.0 / 3.0) /
            (flops - skipped),
        1e-9);
    assert_near_relative(unfused.mfu / unfused.mfu_square, 1.0 - skipped / flops, 1e-9);
    assert_near_relative(unfused.hfu, unfused.hfu_square,
                         1e-12); // its kernels compute whole squares
    assert_near_relative(unfused.model_flops_per_s, unfused.mfu * 989.4e12, 1e-12);
}

/*
 * NVIDIA/Megatron-LM, num_floating_point_operations(): 49.032 GFLOP a token since core_v0.12.0, which
 * counts s / 2 keys, and 52.656 up to core_v0.11.0. NVIDIA-NeMo/Megatron-Bridge since v0.2.0: 49.032.
 */
static void test_model_flops__are_those_that_megatron_logs(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-8b", "megatron", 16, 1024);
    const plait_cost cost = price(&w, "zero=1");
    const double half_a_key = 3.0 * 36.0 * 2.0 * 2.0 * 4096.0 * 0.5;
    const double token = cost.model_flops_per_s / cost.tokens_per_s_per_gpu;
    assert_near_relative(token - half_a_key, 49032462336.0, 1e-12);
    assert_near_relative(token * cost.mfu_square / cost.mfu, 52656340992.0, 1e-12);
    assert_near_relative(cost.mfu, cost.model_flops_per_s / 989.4e12, 1e-12);
}

// ---- verdicts ------------------------------------------------------------------------------

/* Without evidence peaks lie within 5 % nine times of ten: 95 % sure is this share of the device. */
static const double usual_share = 0.9392989331621; // 1.05^(-1.6448536 / 1.2815516)

static void test_plan_that_fits__says_nothing(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const plait_cost cost = price(&w, "tp=4 sp=1 zero=1");
    assert_int_equal(cost.verdict, PLAIT_FITS);
    assert_string_equal(cost.why, "");
    assert_near(cost.missing_bytes, 0.0, 0.0);
    assert_true(cost.risk < 1e-6);
    assert_near_relative(cost.memory.capacity_bytes, usual_share * w.gpu.memory_bytes, 1e-9);
    assert_near_relative(cost.memory.low_bytes, 0.95 * cost.memory.peak_bytes, 1e-12);
    assert_near_relative(cost.memory.high_bytes, 1.05 * cost.memory.peak_bytes, 1e-12);
}

/* A peak as large as the device runs out half of the time; one at the 90 % quantile once in ten. */
static void test_risk__is_that_of_a_normal_error(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    assert_near(plait_memory_risk(&w.problem, w.gpu.memory_bytes), 0.5, 1e-12);
    assert_near(plait_memory_risk(&w.problem, w.gpu.memory_bytes / 1.05), 0.1, 1e-12);
    assert_near(plait_memory_risk(&w.problem, 0.0), 0.0, 0.0);
    assert_near_relative(plait_capacity_bytes(&w.problem, 0.5), w.gpu.memory_bytes, 1e-12);
    assert_near_relative(plait_capacity_bytes(&w.problem, 0.1), w.gpu.memory_bytes / 1.05, 1e-12);
    w.problem.memory_band = (plait_band){.low = 0.8, .high = 1.25};
    assert_near(plait_memory_risk(&w.problem, w.gpu.memory_bytes / 1.25), 0.1, 1e-12);
}

/* What it needs is enough; 3 GiB less is too little, but its price is still there. */
static void test_plan_that_does_not_fit__says_what_is_missing(void **state)
{
    char expected[256];
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const plait_cost fits = price(&w, "tp=4 sp=1 pp=2 zero=1");
    w.gpu.memory_bytes = fits.memory.peak_bytes / usual_share + 10.0;
    const plait_cost just = price(&w, "tp=4 sp=1 pp=2 zero=1");
    assert_int_equal(just.verdict, PLAIT_FITS);
    assert_near(just.risk, 0.05, 1e-6);
    w.gpu.memory_bytes = 1.01 * fits.memory.peak_bytes;
    const plait_cost tight = price(&w, "tp=4 sp=1 pp=2 zero=1");
    assert_int_equal(tight.verdict, PLAIT_TIGHT);
    assert_true(tight.risk > 0.05 && tight.risk < 0.5);
    w.gpu.memory_bytes = (fits.memory.peak_bytes - 3.0 * 1073741824.0) / usual_share;
    const plait_cost misses = price(&w, "tp=4 sp=1 pp=2 zero=1");
    assert_int_equal(misses.verdict, PLAIT_OUT_OF_MEMORY);
    assert_true(misses.risk > 0.5);
    assert_near(misses.missing_bytes, 3.0 * 1073741824.0, 10.0);
    assert_near(misses.step_s, fits.step_s, 0.0);
    snprintf(expected, sizeof expected,
             "stage %d of 2 needs %.1f GiB of %.1f GiB, a %.0f %% risk of running out of memory: "
             "3.0 GiB too "
             "much for a risk of 5 %%",
             fits.fullest_stage, fits.memory.peak_bytes / 1073741824.0,
             w.gpu.memory_bytes / 1073741824.0, 100.0 * misses.risk);
    assert_string_equal(misses.why, expected);
}

static void test_invalid_plan__has_no_price_but_a_reason(void **state)
{
    plait_plan plan;
    plait_cost cost;
    plait_error err;
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    plait_degrees d = point(&w, "tp=4 sp=1");
    must(plait_plan_expand(&w.problem, &d, arena, &plan, &err), &err);
    plan.degrees.dp = 5;
    must(plait_plan_evaluate(&w.problem, &plan, NULL, arena, &cost, &err), &err);
    assert_int_equal(cost.verdict, PLAIT_INVALID);
    assert_near(cost.step_s, 0.0, 0.0);
    assert_near(cost.memory.peak_bytes, 0.0, 0.0);
    assert_string_equal(cost.why, "dp must be 16: 64 GPUs / (tp x pp x cp)");
}

static void test_out_of_memory__is_an_error_of_its_own(void **state)
{
    plait_plan plan;
    plait_cost cost;
    plait_error err;
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const plait_degrees d = point(&w, "tp=4 sp=1");
    must(plait_plan_expand(&w.problem, &d, arena, &plan, &err), &err);
    plait_arena *empty = plait_arena_new();
    assert_non_null(empty);
    plait_arena_fail_after(0);
    const plait_status status = plait_plan_evaluate(&w.problem, &plan, NULL, empty, &cost, &err);
    plait_arena_fail_after(-1);
    plait_arena_free(empty);
    assert_int_equal(status, PLAIT_ERROR_NOMEM);
}

// ---- what is communicated ------------------------------------------------------------------

static const plait_volume *volume_of(const plait_cost *cost, const char *what)
{
    for (int i = 0; i < cost->volumes; i++)
        if (strcmp(cost->volume[i].what, what) == 0)
            return &cost->volume[i];
    fail_msg("no %s", what);
    return NULL;
}

/* The line of one term, where an exchange is in several. */
static const plait_volume *volume_in(const plait_cost *cost, const char *what, const char *term)
{
    for (int i = 0; i < cost->volumes; i++)
        if (strcmp(cost->volume[i].what, what) == 0 && strcmp(cost->volume[i].term, term) == 0)
            return &cost->volume[i];
    fail_msg("no %s in %s", what, term);
    return NULL;
}

static bool has_volume(const plait_cost *cost, const char *what)
{
    for (int i = 0; i < cost->volumes; i++)
        if (strcmp(cost->volume[i].what, what) == 0)
            return true;
    return false;
}

/*
 * 8 B parameters on tp = 4, dp = 16: 8 microbatches of 32 layers. Each layer gathers twice forward
 * and twice backward, likewise scatters; the ends add one of each: the embedding scatters and
 * gathers back, the head gathers and scatters back.
 */
static void test_volumes__of_tensor_ranks(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const plait_cost cost = price(&w, "tp=4 sp=1 zero=1");
    const plait_volume *gather = volume_of(&cost, "TP all-gather");
    const plait_volume *scatter = volume_of(&cost, "TP reduce-scatter");
    assert_near(gather->count, 8.0 * (32.0 * 4.0 + 2.0), 0.0);
    assert_near(scatter->count, 8.0 * (32.0 * 4.0 + 2.0), 0.0);
    assert_near(gather->bytes, 2.0 * 4096.0 * 4096.0, 0.0);
    assert_int_equal(gather->ranks, 4);
    assert_true(gather->exposed_s <= gather->seconds);
    /* full recomputation runs the forward's again, in a line and a term of its own */
    const plait_cost full = price(&w, "tp=4 sp=1 zero=1 recompute=full");
    assert_near(volume_of(&full, "TP all-gather")->count, 8.0 * (32.0 * 4.0 + 2.0), 0.0);
    assert_near(volume_in(&full, "TP all-gather", "recompute")->count, 8.0 * 32.0 * 2.0, 0.0);
}

/* bf16 activations of a microbatch, each way for each of 8 x 4 chunks; cut by tp under sp. */
static void test_volumes__of_the_pipeline(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const plait_cost plain = price(&w, "pp=8 zero=1");
    const plait_volume *send = volume_of(&plain, "PP send");
    assert_near(send->bytes, 2.0 * 4096.0 * 4096.0, 0.0);
    assert_near(send->count, 2.0 * 16.0, 0.0); // 128 sequences over 8 replicas
    const plait_cost chunked = price(&w, "pp=8 vpp=4 schedule=interleaved tp=2 sp=1 zero=1");
    assert_near(volume_of(&chunked, "PP send")->bytes, 4096.0 * 4096.0, 0.0);
    assert_near(volume_of(&chunked, "PP send")->count, 2.0 * 32.0 * 4.0, 0.0);
    const plait_cost alone = price(&w, "zero=1");
    assert_false(has_volume(&alone, "PP send"));
    assert_near(alone.step.pp_comm_s, 0.0, 0.0);
    assert_near(alone.step.bubble_s, 0.0, 1e-9);
}

static double total_bytes(const plait_cost *cost, const char *what)
{
    return volume_of(cost, what)->count * volume_of(cost, what)->bytes;
}

/* 4 bytes a gradient, 2 a gathered weight of the rank's own parameters, bucket by bucket. */
static void test_volumes__of_replicas(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const double params = plait_model_params(&w.model).total;
    const plait_cost zero0 = price(&w, "zero=0");
    const plait_cost zero1 = price(&w, "zero=1");
    assert_near(total_bytes(&zero0, "DP gradient all-reduce"), 4.0 * params, 1.0);
    assert_near(volume_of(&zero0, "DP gradient all-reduce")->count,
                ceil(4.0 * params / (64.0 * w.runtime.overlap.bucket_bytes_per_rank)), 0.0);
    assert_int_equal(volume_of(&zero0, "DP gradient all-reduce")->ranks, 64);
    assert_false(has_volume(&zero0, "DP parameter all-gather"));
    assert_near(total_bytes(&zero1, "DP gradient reduce-scatter"), 4.0 * params, 1.0);
    assert_near(total_bytes(&zero1, "DP parameter all-gather"), 2.0 * params, 1.0);
}

/* ZeRO-3 gathers for forward and backward of each microbatch, and scatters after it. */
static void test_volumes__of_sharded_parameters(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "torchtitan", 64, 256); // 4 microbatches
    const plait_cost cost = price(&w, "zero=3");
    assert_near(volume_of(&cost, "DP parameter all-gather")->count, 8.0, 0.0);
    assert_near(volume_of(&cost, "DP gradient reduce-scatter")->count, 4.0, 0.0);
    assert_int_equal(volume_of(&cost, "DP gradient reduce-scatter")->ranks, 64);
}

/* In shards of 8 of 64 replicas gradients are scattered over 8, then reduced over the 8 shards. */
static void test_volumes__of_hybrid_shards(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "torchtitan", 64, 64);
    const double params = plait_model_params(&w.model).total;
    const plait_cost cost = price(&w, "zero=3 shard_group=8");
    assert_int_equal(volume_of(&cost, "DP parameter all-gather")->ranks, 8);
    assert_int_equal(volume_of(&cost, "DP gradient reduce-scatter")->ranks, 8);
    const plait_volume *across = volume_of(&cost, "DP gradient all-reduce");
    assert_int_equal(across->ranks, 8);
    assert_near_relative(across->bytes, w.runtime.state.gradient_reduce * params / 8.0, 1e-9);
}

/* Tokens go to experts and back in both passes: 4 exchanges a layer and microbatch. */
static void test_volumes__of_experts(void **state)
{
    world w;

    (void)state;
    load(&w, "mixtral-8x7b", "megatron", 64, 128);
    const plait_cost cost = price(&w, "tp=2 sp=1 ep=8 etp=1 zero=1"); // dp = 32, 4 microbatches
    const plait_volume *exchange = volume_of(&cost, "EP all-to-all");
    assert_near(exchange->count, 4.0 * 32.0 * 4.0, 0.0);
    assert_near(exchange->bytes, 2.0 * 4096.0 / 2.0 * 2.0 * 4096.0, 0.0);
    assert_int_equal(exchange->ranks, 8);
}

/* Replicas of experts and of the rest have lines of their own in the term that they share. */
static void test_exposed_volumes__are_shared_by_groups_of_a_term(void **state)
{
    world w;

    (void)state;
    load(&w, "mixtral-8x7b", "megatron", 64, 128);
    const plait_cost cost = price(&w, "tp=2 sp=1 cp=2 ep=8 etp=1 zero=1");
    const double dp_s = volume_in(&cost, "DP gradient reduce-scatter", "dp_comm")->exposed_s +
                        volume_in(&cost, "DP parameter all-gather", "dp_comm")->exposed_s;
    const double edp_s = volume_in(&cost, "EDP gradient reduce-scatter", "dp_comm")->exposed_s +
                         volume_in(&cost, "EDP parameter all-gather", "dp_comm")->exposed_s;
    assert_true(dp_s > 0.0 && edp_s > 0.0);
    assert_near_relative(dp_s + edp_s, cost.step.dp_comm_s, 1e-9);
}

// ---- gradients and the optimizer -----------------------------------------------------------

/* What is left of the reduction and of the gather, one stage, seconds of both given by name. */
static double exposed_of(const world *w, const char *keys, double *reduce_s, double *gather_s,
                         plait_stage_cost *stage)
{
    const plait_cost cost = price(w, keys);

    *reduce_s = volume_of(&cost, "DP gradient reduce-scatter")->seconds;
    *gather_s = volume_of(&cost, "DP parameter all-gather")->seconds;
    *stage = cost.stage[0];
    return cost.step.dp_comm_s;
}

/* Buckets hide behind four fifths of the last backward, gathers behind those of a forward; a share
 * never does. On a fast network that share counts, on a slow one what sticks out. */
static void test_reduction__hides_behind_the_last_microbatch(void **state)
{
    double reduce_s, gather_s;
    plait_stage_cost stage;
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const double never = w.runtime.overlap.dp_exposed;
    for (int l = 1; l < w.cluster.levels; l++)
        w.cluster.level[l].link.bytes_per_s *= 10.0;
    const double fast = exposed_of(&w, "tp=4 sp=1 zero=1", &reduce_s, &gather_s, &stage);
    assert_true(reduce_s < 0.8 * stage.backward_s && gather_s < 0.8 * stage.forward_s);
    assert_near_relative(fast, never * (reduce_s + gather_s), 1e-9);
    for (int l = 1; l < w.cluster.levels; l++)
        w.cluster.level[l].link.bytes_per_s /= 1000.0;
    const double slow = exposed_of(&w, "tp=4 sp=1 zero=1", &reduce_s, &gather_s, &stage);
    assert_true(reduce_s > 4.0 * stage.backward_s && gather_s > 4.0 * stage.forward_s);
    assert_near_relative(slow, reduce_s - 0.8 * stage.backward_s + gather_s - 0.8 * stage.forward_s,
                         1e-9);
    w.runtime.overlap.param_gather = false;
    const double waits = exposed_of(&w, "tp=4 sp=1 zero=1", &reduce_s, &gather_s, &stage);
    assert_near_relative(waits, reduce_s - 0.8 * stage.backward_s + gather_s, 1e-9);
}

/* Bulk, nothing of it hides. */
static void test_bulk_reduction__is_waited_for(void **state)
{
    double reduce_s, gather_s;
    plait_stage_cost stage;
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    w.runtime.can.takes[PLAIT_KEY_GRAD_SYNC] = 7;
    w.runtime.overlap.param_gather = false;
    const double s =
        exposed_of(&w, "tp=4 sp=1 zero=1 grad_sync=bulk", &reduce_s, &gather_s, &stage);
    assert_near_relative(s, reduce_s + gather_s, 1e-9);
}

/* Whether gradients overlap is a key of the plan: nothing but dp_comm depends on it, and with dp 1 nothing. */
static void test_overlapped_gradients__change_dp_comm_alone(void **state)
{
    static const int gpus[] = {8, 64};

    (void)state;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        world w;

        load(&w, "llama-3.1-8b", "megatron", gpus[i], 64);
        plait_cost hidden = price(&w, "tp=4 pp=2 sp=1 zero=1 grad_sync=bucketed");
        plait_cost waits = price(&w, "tp=4 pp=2 sp=1 zero=1 grad_sync=shifted");
        const double hidden_s = hidden.step.dp_comm_s, waits_s = waits.step.dp_comm_s;

        assert_true(gpus[i] > 8 ? waits_s > hidden_s : waits_s == 0.0 && hidden_s == 0.0);
        hidden.step.dp_comm_s = waits.step.dp_comm_s = 0.0;
        assert_memory_equal(&hidden.step, &waits.step, sizeof waits.step);
        assert_near_relative(waits.step_s - waits_s, hidden.step_s - hidden_s, 1e-12);
    }
}

/* Megatron-LM gathers parameters during forward only where it also reduces during backward. (C.66) */
static void test_shifted_reduction__leaves_the_gather_exposed(void **state)
{
    double reduce_s, gather_s;
    plait_stage_cost stage;
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const double s =
        exposed_of(&w, "tp=4 sp=1 zero=1 grad_sync=shifted", &reduce_s, &gather_s, &stage);
    assert_true(gather_s > 0.0);
    assert_near_relative(s, reduce_s + gather_s, 1e-9);
}

/* DistributedDataParallel hides what ZeRO-0 reduces but for a share, whatever is shifted beyond it. */
static void test_ddp__hides_the_reduction_of_zero_0_alone(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    w.runtime.can.takes[PLAIT_KEY_GRAD_SYNC] = 7;
    for (int l = 1; l < w.cluster.levels; l++)
        w.cluster.level[l].link.bytes_per_s *= 10.0;
    const plait_cost waits = price(&w, "tp=4 sp=1 zero=0 grad_sync=shifted");
    const plait_cost zero1 = price(&w, "tp=4 sp=1 zero=1 grad_sync=shifted");
    w.runtime.overlap.ddp = true;
    assert_near_relative(price(&w, "tp=4 sp=1 zero=0 grad_sync=shifted").step.dp_comm_s,
                         w.runtime.overlap.dp_exposed * waits.step.dp_comm_s, 1e-9);
    assert_near(price(&w, "tp=4 sp=1 zero=1 grad_sync=shifted").step.dp_comm_s,
                zero1.step.dp_comm_s, 0.0);
}

/* Between stages its buckets stand in front of the gradient that the stage before waits for. (C.67) */
static void test_ddp__is_in_bulk_between_stages(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    w.runtime.can.takes[PLAIT_KEY_GRAD_SYNC] = 7;
    const plait_cost bulk = price(&w, "tp=4 sp=1 pp=4 zero=0 grad_sync=bulk");
    w.runtime.overlap.ddp = true;
    assert_near(price(&w, "tp=4 sp=1 pp=4 zero=0 grad_sync=shifted").step.dp_comm_s,
                bulk.step.dp_comm_s, 0.0);
}

/* ZeRO-1 that reduces all gradients to all ranks: as long as ZeRO-0, and the gather. (C.65) */
static void test_reduce_whole__is_an_all_reduce_under_zero_1(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    w.runtime.can.takes[PLAIT_KEY_GRAD_SYNC] = 7;
    w.runtime.overlap.param_gather = false;
    const double whole_s = price(&w, "tp=4 sp=1 zero=0 grad_sync=bulk").step.dp_comm_s;
    const plait_cost shard = price(&w, "tp=4 sp=1 zero=1 grad_sync=bulk");
    const double gather_s = volume_in(&shard, "DP parameter all-gather", "dp_comm")->exposed_s;
    w.runtime.overlap.reduce_whole = true;
    const plait_cost cost = price(&w, "tp=4 sp=1 zero=1 grad_sync=bulk");
    assert_near_relative(cost.step.dp_comm_s, whole_s + gather_s, 1e-9);
    assert_non_null(volume_in(&cost, "DP gradient all-reduce", "dp_comm"));
}

/* 30 bytes of Adam and four passes of a 4-byte gradient over the shard, three over the whole. */
static void test_optimizer__passes_over_its_shard(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const double params = plait_model_params(&w.model).total;
    const plait_cost whole = price(&w, "zero=0");
    const plait_cost shard = price(&w, "zero=1");
    assert_near_relative(
        whole.step.optimizer_s,
        w.runtime.factor.memory * plait_memory_op_s(&w.gpu, params * (46.0 + 12.0)), 1e-9);
    assert_near_relative(
        shard.step.optimizer_s,
        w.runtime.factor.memory * plait_memory_op_s(&w.gpu, params * (46.0 / 64.0 + 12.0)), 1e-9);
}

// ---- money ---------------------------------------------------------------------------------

/* 64 GPUs at 2.95 dollars an hour; between what idle and what working boards draw. */
static void test_money__by_hand(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 128);
    const plait_cost cost = price(&w, "tp=4 sp=1 zero=1");
    const double host_w = w.cluster.node_overhead_w / 8.0;
    const double least_w = w.cluster.pue * 64.0 * (w.gpu.idle_w + host_w);
    const double most_w = w.cluster.pue * 64.0 * (w.gpu.power_w + host_w);
    assert_near_relative(cost.cost_usd, 64.0 * 2.95 * cost.step_s / 3600.0, 1e-12);
    assert_true(cost.energy_j > least_w * cost.step_s);
    assert_true(cost.energy_j < most_w * cost.step_s);
    w.gpu.usd_per_hour = 0.0;
    w.gpu.power_w = 0.0;
    const plait_cost unknown = price(&w, "tp=4 sp=1 zero=1");
    assert_true(isnan(unknown.cost_usd));
    assert_true(isnan(unknown.energy_j));
}

/* A search asks before it has dealt the layers. */
static void test_layer_cost__needs_no_split(void **state)
{
    const plait_choice none = {.offload_acts = 0};
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", 64, 64);
    plait_degrees d = point(&w, "tp=2 pp=4");
    plait_table *table = plait_table_new(&w.problem, arena);
    plait_table *open = plait_table_new(&w.problem, arena);
    assert_non_null(table);
    assert_non_null(open);
    const plait_layer_cost dealt = plait_layer_cost_of(table, &d, 0, none);
    d.split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    const plait_layer_cost undealt = plait_layer_cost_of(open, &d, 0, none);
    assert_true(dealt.forward_s > 0.0 && dealt.forward_s == undealt.forward_s);
    assert_true(dealt.saved_bytes > 0.0 && dealt.saved_bytes == undealt.saved_bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

    const struct CMUnitTest tests[] = {
        TEST(test_recompute__repeats_scans_only_if_full),
        TEST(test_known_pipelines__change_no_price),
        TEST(test_terms__add_up_to_step_and_peak),
        TEST(test_layer_terms__fill_the_slowest_stage),
        TEST(test_rates__follow_from_the_step),
        TEST(test_plan_that_fits__says_nothing),
        TEST(test_risk__is_that_of_a_normal_error),
        TEST(test_plan_that_does_not_fit__says_what_is_missing),
        TEST(test_invalid_plan__has_no_price_but_a_reason),
        TEST(test_out_of_memory__is_an_error_of_its_own),
        TEST(test_volumes__of_tensor_ranks),
        TEST(test_volumes__of_the_pipeline),
        TEST(test_volumes__of_replicas),
        TEST(test_volumes__of_sharded_parameters),
        TEST(test_volumes__of_hybrid_shards),
        TEST(test_volumes__of_experts),
        TEST(test_exposed_volumes__are_shared_by_groups_of_a_term),
        TEST(test_reduction__hides_behind_the_last_microbatch),
        TEST(test_bulk_reduction__is_waited_for),
        TEST(test_overlapped_gradients__change_dp_comm_alone),
        TEST(test_shifted_reduction__leaves_the_gather_exposed),
        TEST(test_ddp__hides_the_reduction_of_zero_0_alone),
        TEST(test_ddp__is_in_bulk_between_stages),
        TEST(test_reduce_whole__is_an_all_reduce_under_zero_1),
        TEST(test_optimizer__passes_over_its_shard),
        TEST(test_money__by_hand),
        TEST(test_mfu__counts_half_of_causal_attention),
        TEST(test_model_flops__are_those_that_megatron_logs),
        TEST(test_layer_cost__needs_no_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
