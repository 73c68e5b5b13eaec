/* test_shards.c - shards of data-parallel state, what of it lies on the host, mixes of context exchange */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/must.h"
#include "plait/cost.h"
#include "plait/data.h"
#include "support/world.h"

static void load(world *w, const char *model, const char *runtime, const char *cluster, int gpus,
                 int gbs)
{
    world_make(w, model, runtime, cluster, (plait_job){.seq = 4096, .gbs = gbs, .gpus = gpus},
               arena);
}

/* "tp=2 pp=4"; the rest as the software would. */
static plait_degrees point(const world *w, const char *keys)
{
    plait_degrees d = plait_degrees_init();
    plait_key_set given = 0;
    plait_error err;

    while (*keys) {
        char key[24];
        char value[64];
        int length = 0;
        assert_int_equal(sscanf(keys, " %23[^=]=%63s%n", key, value, &length), 2);
        must(plait_degrees_set(&d, key, value, &err), &err);
        given |= PLAIT_KEY_BIT(plait_key_find(key));
        keys += length;
    }
    plait_degrees_fill(&w->problem, given, &d);
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

static void assert_refused(const world *w, const char *keys, const char *part)
{
    const plait_degrees d = point(w, keys);
    char why[256];

    assert_int_equal(plait_degrees_check(&w->problem, &d, why, sizeof why), PLAIT_INVALID);
    if (strstr(why, part) == NULL)
        fail_msg("%s: expected '%s', found '%s'", keys, part, why);
}

/* Bytes of all calls of a line, over groups of so many ranks. */
static double bytes_of(const plait_cost *cost, const char *what, int ranks)
{
    double bytes = 0.0;

    for (int i = 0; i < cost->volumes; i++)
        if (strcmp(cost->volume[i].what, what) == 0 && cost->volume[i].ranks == ranks)
            bytes += cost->volume[i].count * cost->volume[i].bytes;
    return bytes;
}

// ---- ZeRO++ --------------------------------------------------------------------------------

/*
 * M: the 16-bit size of the parameters, P x 2 bytes. ZeRO-3 sends M forward, M backward and M of
 * gradients between nodes. ZeRO++ sends M/2 (8 bits), nothing, and M/4 (4 bits) from a node: 4 times
 * less. 8 GPUs a node hold one eighth each of what their all-to-all has summed. (arXiv 2306.10209,
 * table 1)
 */
static void test_zero_plus_plus__sends_a_quarter_between_nodes(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "deepspeed", "dgx-h100", 64, 64);
    const double whole = 2.0 * plait_model_params(&w.model).total;
    const plait_cost plain = price(&w, "zero=3");
    const double before = bytes_of(&plain, "DP parameter all-gather", 64) +
                          bytes_of(&plain, "DP gradient reduce-scatter", 64);
    const plait_cost less = price(&w, "zero=3 reshard=node quantise=both");
    const double after = bytes_of(&less, "DP parameter all-gather", 64) +
                         8.0 * bytes_of(&less, "DP gradient all-to-all", 8) / 9.0;

    assert_near_relative(before, 3.0 * whole, 1e-9);
    assert_near_relative(bytes_of(&less, "DP parameter all-gather", 64), 0.5 * whole, 1e-9);
    assert_near_relative(bytes_of(&less, "DP parameter all-gather", 8), 0.5 * whole, 1e-9);
    /* inside the node M/4, across it 8 GPUs with M/32 each */
    assert_near_relative(bytes_of(&less, "DP gradient all-to-all", 8), whole / 4.0 + whole / 32.0,
                         1e-9);
    assert_near_relative(before / after, 4.0, 1e-9);
    assert_true(less.step.gather_s < plain.step.gather_s);
}

/* Two bytes a parameter: all of them from forward to backward, or an eighth on each GPU of a node. */
static void test_what_is_not_dropped__is_in_memory(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "deepspeed", "dgx-h100", 64, 64);
    const double params = plait_model_params(&w.model).total;
    const plait_cost always = price(&w, "zero=3");
    const plait_cost never = price(&w, "zero=3 reshard=never");
    const plait_cost node = price(&w, "zero=3 reshard=node");

    assert_near_relative(node.memory.buffers_bytes - always.memory.buffers_bytes,
                         2.0 * params / 8.0, 1e-9);
    assert_true(never.memory.buffers_bytes > 2.0 * params);
    assert_near_relative(bytes_of(&never, "DP parameter all-gather", 64),
                         bytes_of(&always, "DP parameter all-gather", 64) / 2.0, 1e-9);
    assert_true(never.step_s < node.step_s && node.step_s < always.step_s);
}

/* One scatter a step instead of 4: the buffer is whole until then. */
static void test_gradients_scattered_once__are_kept_whole(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "torchtitan", "dgx-h100", 64, 256);
    w.runtime.can.takes[PLAIT_KEY_SCATTER] = 3u;
    const double params = plait_model_params(&w.model).total;
    const plait_cost each = price(&w, "zero=2 mbs=1");
    const plait_cost once = price(&w, "zero=2 mbs=1 scatter=step");

    assert_near_relative(each.memory.gradients_bytes, 4.0 * params / 64.0, 1e-9);
    assert_near_relative(once.memory.gradients_bytes, 4.0 * params, 1e-9);
    assert_near_relative(bytes_of(&each, "DP gradient reduce-scatter", 64),
                         4.0 * bytes_of(&once, "DP gradient reduce-scatter", 64), 1e-9);
}

static void test_traffic_without_shards__is_refused(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "deepspeed", "dgx-h100", 64, 64);
    assert_refused(&w, "zero=2 reshard=never", "rule P26");
    assert_refused(&w, "zero=2 quantise=weights", "rule P26");
    assert_refused(&w, "zero=1 scatter=step", "rule P26");
    assert_refused(&w, "zero=3 shard_group=8 reshard=node", "rule D6");
    assert_refused(&w, "zero=0 offload=gradients", "rule D4");
    assert_refused(&w, "zero=1 offload=gradients offload_share=0.5", "rule D5");
    assert_refused(&w, "zero=3 offload_share=0.5", "rule P28");
}

// ---- HSDP ----------------------------------------------------------------------------------

/*
 * Solar Open, 102 B of experts on B200, torchtitan, everything run again (arXiv 2601.07022): FSDP over
 * 16 nodes 5,500 tokens a second and GPU, over 60 nodes 4,267 (-22.4 %), in shards of 80 GPUs 5,400
 * (+26.5 %). Neither its microbatch nor its network is published: with 14 sequences, the most that we
 * find room for, and InfiniBand of 400 Gb/s a GPU, we see 4,176, 3,552 (-15 %) and 4,138 (+17 %).
 */
static void test_shards_of_ten_nodes__recover_what_sixty_lose(void **state)
{
    world w;

    (void)state;
    load(&w, "solar-open-100b", "torchtitan", "dgx-b200", 128, 3584);
    const double few = price(&w, "zero=3 mbs=14 recompute=full").tokens_per_s_per_gpu;
    load(&w, "solar-open-100b", "torchtitan", "dgx-b200", 480, 13440);
    const double many = price(&w, "zero=3 mbs=14 recompute=full").tokens_per_s_per_gpu;
    const double hybrid =
        price(&w, "zero=3 mbs=14 recompute=full shard_group=80").tokens_per_s_per_gpu;

    print_message("16 nodes %.0f, 60 nodes %.0f (%+.1f %%), in shards of 10 %.0f (%+.1f %%)\n", few,
                  many, 100.0 * (many / few - 1.0), hybrid, 100.0 * (hybrid / many - 1.0));
    assert_near_relative(few, 5500.0, 0.25);
    assert_near_relative(hybrid, 5400.0, 0.25);
    assert_true(many < 0.9 * few && hybrid > 1.1 * many);
}

/* Between 6 holders of a shard: 2 (6-1)/6 of 2 bytes of 102.6 B parameters over 80, a step and GPU. */
static void test_holders_of_a_shard__add_its_gradients_up(void **state)
{
    static const int groups[] = {2, 6, 10, 48, 80, 240, 480};
    world w;

    (void)state;
    load(&w, "solar-open-100b", "torchtitan", "dgx-b200", 480, 13440);
    const double params = plait_model_params(&w.model).total;
    const plait_cost cost = price(&w, "zero=3 recompute=full shard_group=80");
    const double across = bytes_of(&cost, "DP gradient all-reduce", 6) +
                          bytes_of(&cost, "EDP gradient all-reduce", 6);
    assert_near_relative(across, 4.0 * params / 80.0, 1e-6);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        char keys[64];
        snprintf(keys, sizeof keys, "zero=3 recompute=full shard_group=%d", groups[g]);
        assert_true(price(&w, keys).step_s > 0.0);
    }
}

// ---- on the host ---------------------------------------------------------------------------

/*
 * Llama-3.1 8B, 4096 tokens: queries, keys and values of a layer have 4096 + 2 x 1024 values of 2 bytes
 * a token, the output of attention 4096: 84 MB a layer. What is kept shrinks by 32 layers of it, but for
 * two on their way.
 */
static void test_offloaded_inputs__leave_two_layers(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", "dgx-h100", 64, 64);
    const plait_cost here = price(&w, "zero=1 recompute=none");
    const plait_cost away = price(&w, "zero=1 recompute=none offload_acts=core_attn+attn_proj");
    const double layer = 2.0 * 4096.0 * (4096.0 + 2.0 * 1024.0 + 4096.0);

    assert_near_relative(here.memory.activations_bytes - away.memory.activations_bytes,
                         (32.0 - 2.0) * layer, 1e-9);
    assert_near(away.step.offload_s, 0.0, 0.0); // 84 MB at 48 GB/s in 1.7 ms: hidden
    w.gpu.host_bytes_per_s = 1e9;               // 84 ms, with m = 1 and each layer forth and back
    const plait_cost slow = price(&w, "zero=1 recompute=none offload_acts=core_attn+attn_proj");
    assert_near_relative(slow.step.offload_s,
                         2.0 * 32.0 * layer / 1e9 -
                             32.0 * (here.stage[0].forward_s + here.stage[0].backward_s) / 32.0,
                         0.2);
}

static void test_what_is_run_again__is_not_offloaded(void **state)
{
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", "megatron", "dgx-h100", 64, 64);
    assert_refused(&w, "ep=8 zero=1 recompute=full offload_acts=core_attn", "rule P27");
    assert_refused(&w, "ep=8 zero=1 recompute=modules:moe offload_acts=expert_fc1", "rule P27");
    assert_refused(&w, "ep=8 zero=1 recompute=none offload_acts=attn_norm+mlp_norm", "rule P27");
    load(&w, "llama-3.1-8b", "megatron", "dgx-h100", 64, 64);
    assert_refused(&w, "zero=1 recompute=none offload_acts=expert_fc1", "rule P27");
}

/* ZeRO-2 on 64 GPUs: 8 B / 64 gradients of 2 bytes leave with each backward; two layers wait. */
static void test_gradients_on_the_host__leave_with_the_backward(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "deepspeed", "dgx-h100", 64, 64);
    const plait_cost here = price(&w, "zero=2");
    const plait_cost away = price(&w, "zero=2 offload=gradients");
    const plait_cost half = price(&w, "zero=3 offload=gradients offload_share=0.5");
    const plait_cost none = price(&w, "zero=3");

    assert_true(here.memory.gradients_bytes > 0.0);
    assert_near(away.memory.gradients_bytes, 0.0, 0.0);
    assert_near(away.memory.optimizer_bytes, 0.0, 0.0);
    assert_near_relative(half.memory.optimizer_bytes, 0.5 * none.memory.optimizer_bytes, 1e-9);
    const double hidden_s = away.step.optimizer_s;
    w.gpu.host_bytes_per_s = 1e6; // 250 s down, no longer hidden; as much up
    assert_true(price(&w, "zero=2 offload=gradients").step.optimizer_s > hidden_s + 400.0);
}

/*
 * estimate_zero3_model_states_mem_needs of DeepSpeed 0.19.6 (runtime/zero/stage3.py): bytes of a node,
 * without its additional_buffer_factor, which is 1.5 unless a user says otherwise; and of a GPU's
 * weights, without the largest layer.
 */
static double deepspeed_host_bytes(double params, int nodes, bool offload_params)
{
    return params * (offload_params ? 18.0 : 16.0) / nodes;
}

static void test_host_memory__lies_within_deepspeeds_estimate(void **state)
{
    static const struct row {
        const char *model, *cluster, *keys;
        int gpus, nodes;
        bool params;
    } rows[] = {
        {"llama-3.1-8b", "dgx-h100", "zero=3 offload=params", 8, 1, true},
        {"llama-3.1-70b", "dgx-a100", "zero=3 offload=gradients", 16, 2, false},
        {"llama-3.1-405b", "dgx-h100", "zero=3 offload=params", 64, 8, true},
        {"mixtral-8x7b", "dgx-h100", "zero=3 offload=gradients", 32, 4, false},
    };
    world w;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *const row = &rows[i];

        load(&w, row->model, "deepspeed", row->cluster, row->gpus, row->gpus);
        const double params = plait_model_params(&w.model).total;
        const double estimate = deepspeed_host_bytes(params, row->nodes, row->params);
        const plait_cost cost = price(&w, row->keys);
        if (cost.memory.host_bytes < estimate || cost.memory.host_bytes > 1.5 * estimate)
            fail_msg("%s: %g bytes, of %g to %g", row->model, cost.memory.host_bytes, estimate,
                     1.5 * estimate);
        assert_near_relative(cost.memory.weights_bytes + 1.0,
                             row->params ? 1.0 : 2.0 * params / row->gpus + 1.0, 1e-6);
    }
}

/* Seconds of the host link a step, of a link so slow that nothing else counts. */
static double carried_s(const world *w, const char *keys)
{
    return price(w, keys).step.offload_s;
}

/*
 * Each of 8 ranks brings an eighth of 2 bytes a parameter up for 8 forwards and 8 backwards. Layers of
 * 405 B, 3.2 G parameters, are past the reuse distance of 1 G when they have run again. FSDP2 keeps
 * and carries 4 bytes.
 */
static void test_parameters_on_the_host__come_up_for_each_gather(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "deepspeed", "dgx-h100", 8, 64);
    w.gpu.host_bytes_per_s = 1e6;
    const double once_s = 8.0 * 2.0 * plait_model_params(&w.model).total / 8.0 / 1e6;
    assert_near(carried_s(&w, "zero=3 offload=gradients"), 0.0, 0.0);
    assert_near_relative(carried_s(&w, "zero=3 recompute=none offload=params"), 2.0 * once_s, 1e-3);
    assert_near_relative(carried_s(&w, "zero=3 recompute=full offload=params"), 2.0 * once_s, 1e-3);
    assert_near_relative(carried_s(&w, "zero=3 recompute=none reshard=never offload=params"),
                         once_s, 1e-3);
    w.gpu.host_adam_s = 0.0; // what is down stays there: nothing goes up behind the optimizer
    assert_true(price(&w, "zero=3 recompute=none offload=gradients").step.optimizer_s >
                0.99 * once_s / 8.0);
    assert_true(price(&w, "zero=3 recompute=none offload=params").step.optimizer_s < 0.1);
    load(&w, "llama-3.1-405b", "deepspeed", "dgx-h100", 8, 64);
    w.gpu.host_bytes_per_s = 1e6;
    assert_near_relative(carried_s(&w, "zero=3 recompute=full offload=params") /
                             carried_s(&w, "zero=3 recompute=none offload=params"),
                         1.5, 0.01);
    load(&w, "llama-3.1-8b", "torchtitan", "dgx-h100", 8, 64);
    w.gpu.host_bytes_per_s = 1e6;
    assert_near_relative(carried_s(&w, "zero=3 mbs=1 recompute=full offload=params"), 4.0 * once_s,
                         1e-3);
}

static void test_parameters_on_the_host__are_shards_of_zero_3(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "deepspeed", "dgx-h100", 64, 64);
    assert_refused(&w, "zero=2 offload=params", "ZeRO below 3");
    assert_refused(&w, "zero=3 reshard=node offload=params", "reshard node");
    assert_refused(&w, "zero=3 offload=params offload_share=0.5", "offload_share");
    assert_int_equal(point(&w, "zero=3 offload=optimizer").offload, PLAIT_OFFLOAD_GRADIENTS);
    load(&w, "llama-3.1-8b", "megatron", "dgx-h100", 64, 64);
    assert_int_equal(point(&w, "zero=1 offload=optimizer").offload, PLAIT_OFFLOAD_OPTIMIZER);
    assert_refused(&w, "zero=1 offload=params", "rule P53");
}

/*
 * ZeRO-Offload (arXiv 2101.06840): 10 B parameters on one V100 of 32 GB at 40 TFLOP/s; its configuration
 * is that of DeepSpeed's docs/_tutorials/zero-offload.md. We see 51 TFLOP/s (+27 %) and 39.6 GiB, 25 %
 * more than there is. ZeRO-3 Offload (docs/_posts/2021-03-08-zero3-offload.md): 40 B on one such GPU with
 * 1.5 TB of host memory, the microbatch not said: with 8 sequences we see 30.4 GiB and 758 GiB.
 */
static void test_published_offload__is_about_as_priced(void **state)
{
    world w;

    (void)state;
    load(&w, "tests/data/offload/gpt-10b.json", "deepspeed", "dgx-2-v100", 1, 500);
    w.problem.job.seq = 1024;
    w.problem.job.precision = PLAIT_FP16;
    plait_cost cost = price(&w, "zero=2 mbs=10 recompute=full offload=optimizer");
    assert_near_relative(cost.model_flops_per_s, 40e12, 0.35);
    assert_near_relative(cost.memory.peak_bytes, 32.0 * 1073741824.0, 0.3);
    load(&w, "tests/data/offload/gpt-40b.json", "deepspeed", "dgx-2-v100", 1, 8);
    w.problem.job.seq = 1024;
    w.problem.job.precision = PLAIT_FP16;
    cost = price(&w, "zero=3 mbs=8 recompute=full offload=params");
    assert_near_relative(cost.memory.peak_bytes, 32.0 * 1073741824.0, 0.1);
    assert_true(cost.memory.host_bytes < 1.5e12);
    assert_int_equal(cost.verdict, PLAIT_TIGHT);
}

// ---- context in two steps ------------------------------------------------------------------

/* 32 heads on 8 GPUs a node: 8 ranks exchange heads, 4 such groups are rings. Keys and values of
 * 1024 / 8 heads' width: 8 key-value heads divide by 8. */
static void test_context_in_two_steps__is_smaller_in_both(void **state)
{
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "megatron", "dgx-h100", 64, 2);
    w.problem.job.seq = 131072;
    assert_int_equal(plait_context_inner(&w.problem, 1, 32), 8);
    assert_int_equal(plait_context_inner(&w.problem, 2, 32), 4);
    assert_int_equal(plait_context_inner(&w.problem, 1, 8), 4);
    const plait_cost ring = price(&w, "cp=32 cp_comm=p2p zero=1");
    const plait_cost both = price(&w, "cp=32 cp_comm=a2a+p2p zero=1");
    /* 3 sends of the same bytes instead of 31 */
    assert_near_relative(bytes_of(&ring, "CP ring exchange", 32) / 31.0,
                         bytes_of(&both, "CP ring exchange", 4) / 3.0, 1e-9);
    /* q and o of 4096 values, k and v of 1024, of 4096 tokens, there and back: 32 layers */
    assert_near_relative(bytes_of(&both, "CP all-to-all", 8),
                         2.0 * 32.0 * 2.0 * 4096.0 * (2.0 * 4096.0 + 2.0 * 1024.0), 1e-9);
    assert_refused(&w, "cp=2 cp_comm=a2a+p2p zero=1", "rule P25");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(test_zero_plus_plus__sends_a_quarter_between_nodes),
        TEST(test_what_is_not_dropped__is_in_memory),
        TEST(test_gradients_scattered_once__are_kept_whole),
        TEST(test_traffic_without_shards__is_refused),
        TEST(test_shards_of_ten_nodes__recover_what_sixty_lose),
        TEST(test_holders_of_a_shard__add_its_gradients_up),
        TEST(test_offloaded_inputs__leave_two_layers),
        TEST(test_what_is_run_again__is_not_offloaded),
        TEST(test_host_memory__lies_within_deepspeeds_estimate),
        TEST(test_parameters_on_the_host__come_up_for_each_gather),
        TEST(test_parameters_on_the_host__are_shards_of_zero_3),
        TEST(test_published_offload__is_about_as_priced),
        TEST(test_gradients_on_the_host__leave_with_the_backward),
        TEST(test_context_in_two_steps__is_smaller_in_both),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
