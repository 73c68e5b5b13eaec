/* test_limits.c - when communication binds: closed forms by hand, and what a plan is told */
#include "support/assert_near.h"
#include "plait/data.h"
#include "plait/lowlevel/limits.h"
#include "plait/runtime.h"

#include <string.h>

static int begin(void **state)
{
    *state = plait_arena_new();
    return *state == NULL;
}

static int end(void **state)
{
    plait_arena_free(*state);
    return 0;
}

/* Two ranks send half a buffer each, four three quarters: 1.5 times as many tokens. */
static void test_limit_data_tokens__grow_with_ranks_to_all(void **state)
{
    (void)state;
    assert_near(plait_limit_data_tokens(1000.0, 2, 1.0, 1.0), 500.0, 1e-9);
    assert_near(plait_limit_data_tokens(1000.0, 4, 1.0, 1.0), 750.0, 1e-9);
    assert_near(plait_limit_data_tokens(1000.0, 0, 1.0, 1.0), 1000.0, 1e-9);
}

/* 8 of 256 experts: each sees a 32nd of the tokens. */
static void test_limit_data_tokens__of_experts(void **state)
{
    (void)state;
    assert_near(plait_limit_data_tokens(1000.0, 0, 256.0, 8.0), 32000.0, 1e-9);
}

/* At X data ranks of N: weights take 4 a_x X/N ..., activations F N/X ...; both sides of C.129 are worse. */
static void test_limit_mixed__is_least_at_the_best_split(void **state)
{
    const double alpha = 2000.0, width = 16000.0, batch = 1e6, chips = 1024.0;
    const double best = plait_limit_mixed_shards(batch, width, 1.0, chips);

    (void)state;
    // 1e6 / 16000 = 62.5, times 1024 = 64000: 253 ranks of data parallelism
    assert_near(best, 252.98, 0.01);
    // seconds of a product of 4 B h F / (C N): weights 4 h F X / (N W), activations 4 B h / (X W)
    const double at_best = best / chips * width + batch / best;
    assert_true(at_best < 0.9 * best / chips * width + batch / (0.9 * best));
    assert_true(at_best < 1.1 * best / chips * width + batch / (1.1 * best));
    // equal to compute, B F / (C N) W, at B = C.128 N tokens
    const double bound = plait_limit_mixed_tokens(alpha, alpha, width) * chips;
    const double split = plait_limit_mixed_shards(bound, width, 1.0, chips);
    assert_near_relative(alpha * (split / chips * width + bound / split), bound * width / chips,
                         1e-9);
}

/* 7 of 8 copies leave, 3 matrices: 7/8 2/3 of C/W. */
static void test_limit_expert_width__by_hand(void **state)
{
    (void)state;
    assert_near(plait_limit_expert_width(12000.0, 7.0, 8.0, 3.0), 7000.0, 1e-9);
}

/* T = 1, g = 0.1, p = 4: from 1.4 to 1.1, 27.3 % faster. */
static void test_sync_share__undoes_the_gain(void **state)
{
    (void)state;
    assert_near(plait_sync_share(4, 1.4 / 1.1 - 1.0), 0.1, 1e-12);
    assert_near(plait_sync_share(4, 0.0), 0.0, 0.0);
}

/* Two stages can gain less than a factor of two, whatever an exchange takes. */
static void test_sync_share__of_an_impossible_gain_is_none(void **state)
{
    (void)state;
    assert_true(isnan(plait_sync_share(2, 1.0)));
    assert_true(isnan(plait_sync_share(1, 0.1)));
}

static plait_cluster cluster_of(plait_arena *arena, const char *text, int gpus)
{
    plait_cluster cluster;
    plait_error err;

    if (plait_cluster_find(text, arena, &cluster, &err) != PLAIT_OK ||
        plait_cluster_take(&cluster, gpus, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return cluster;
}

static double rate_of(plait_arena *arena, const char *text, int gpus, int ranks, int stride)
{
    const plait_cluster cluster = cluster_of(arena, text, gpus);
    const plait_group_shape group = {.ranks = ranks, .runs = 1, .run = {{ranks, stride}}};
    const plait_route route = plait_route_of(&cluster, group);

    return plait_route_wire_bytes_per_s(&route);
}

/* H100: 450 GB/s each way, the node of eight gathers 8/7 as fast; 8 x 50 GB/s out of each of 2 nodes. */
static void test_route_wire__of_a_node_and_of_two(void **state)
{
    assert_near_relative(rate_of(*state, "h100-80gb-sxm:2x8,nic=400", 16, 8, 1), 450e9 * 8 / 7,
                         1e-12);
    assert_near_relative(rate_of(*state, "h100-80gb-sxm:4x8,nic=400", 32, 32, 1), 450e9 * 8 / 7,
                         1e-12);
    // one GPU of each node: its own NIC
    assert_near_relative(rate_of(*state, "h100-80gb-sxm:4x8,nic=400", 32, 4, 8), 50e9 * 4 / 3,
                         1e-12);
}

/* Two of three axes of the torus carry two thirds of 600 GB/s. */
static void test_route_wire__of_a_torus_is_that_of_its_axes(void **state)
{
    const double all = rate_of(*state, "tpu-v5p", 8960, 8960, 1);
    const double two = rate_of(*state, "tpu-v5p", 8960, 320, 1);

    assert_near_relative(all, 600e9 * 8960 / 8959, 1e-12);
    assert_near_relative(two, 400e9 * 320 / 319, 1e-12);
}

/* What a plan is told. */
typedef struct world {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_comm_limit limit[PLAIT_MAX_COMM_LIMITS];
    int limits;
} world;

static void ask(world *w, plait_arena *arena, const char *model, int gpus, plait_degrees d)
{
    plait_error err;

    if (plait_model_find(model, arena, &w->model, NULL, &err) != PLAIT_OK ||
        plait_runtime_find("megatron", arena, &w->runtime, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    w->cluster = cluster_of(arena, "h100-80gb-sxm:32x8,nic=400", gpus);
    plait_problem_init(&w->problem);
    w->problem.model = &w->model;
    w->problem.cluster = &w->cluster;
    w->problem.runtime = &w->runtime;
    w->problem.job = (plait_job){.seq = 4096, .gbs = 256, .gpus = gpus};
    w->limits = plait_comm_limits(&w->problem, &d, w->limit);
}

static const plait_comm_limit *find(const world *w, const char *parallelism)
{
    for (int i = 0; i < w->limits; i++)
        if (strcmp(w->limit[i].parallelism, parallelism) == 0)
            return &w->limit[i];
    return NULL;
}

static plait_degrees point(int tp, int pp, int ep, int dp, int zero)
{
    plait_degrees d = plait_degrees_init();

    d.tp = tp, d.pp = pp, d.ep = ep, d.dp = dp, d.zero = (unsigned char)zero;
    d.sp = tp > 1;
    d.shard_group = dp;
    return d;
}

/* 256 x 4096 tokens on 256 GPUs: 4096 each. One rank a node: 989.4 T / (50 G 32/31), over tp 8. */
static void test_comm_limits__of_tensor_and_data_parallelism(void **state)
{
    static world w;

    ask(&w, *state, "llama-3.1-70b", 256, point(8, 1, 1, 32, 1));
    const plait_comm_limit *const dp = find(&w, "DP"), *const tp = find(&w, "TP");
    const double peak = w.cluster.group[0].accelerator->peak_flops_per_s[PLAIT_BF16];

    assert_non_null(dp);
    assert_non_null(tp);
    assert_near(dp->value, 4096.0, 1e-9);
    assert_near_relative(dp->least, peak / (50e9 * 32 / 31) / 8.0, 1e-9);
    assert_near_relative(tp->least, peak / (450e9 * 8 / 7), 1e-9);
    assert_non_null(find(&w, "DP x TP, best split"));
    assert_null(find(&w, "EP"));
    assert_null(find(&w, "PP"));
}

/* Eight microbatches: each has to hide gathers of its own. */
static void test_comm_limits__of_sharded_weights_count_a_microbatch(void **state)
{
    static world w;
    plait_degrees d = point(1, 1, 1, 32, 3);

    ask(&w, *state, "llama-3.1-8b", 32, d);
    assert_near(find(&w, "FSDP")->value, 4096.0, 1e-9); // 256 / 32 = 8 sequences, one at a time
    d.mbs = 2;
    ask(&w, *state, "llama-3.1-8b", 32, d);
    assert_near(find(&w, "FSDP")->value, 8192.0, 1e-9);
}

/* ep 8 in a node: 7/8 of 8 copies at 450 GB/s, three matrices. */
static void test_comm_limits__of_experts(void **state)
{
    static world w;

    ask(&w, *state, "qwen3-30b-a3b", 16, point(1, 1, 8, 16, 1));
    const plait_comm_limit *const ep = find(&w, "EP"), *const dp = find(&w, "DP of experts");
    const double peak = w.cluster.group[0].accelerator->peak_flops_per_s[PLAIT_BF16];

    assert_non_null(ep);
    assert_near(ep->value, 768.0, 1e-9);
    assert_near_relative(ep->least, 7.0 / 8.0 * 2.0 / 3.0 * peak / 450e9, 1e-9);
    // two replicas of each expert, one a node: 128 experts, 8 a token, cut over 8 ranks
    assert_non_null(dp);
    assert_near_relative(dp->least, peak / (50e9 * 2) * 128.0 / 8.0 / 8.0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit_data_tokens__grow_with_ranks_to_all),
        cmocka_unit_test(test_limit_data_tokens__of_experts),
        cmocka_unit_test(test_limit_mixed__is_least_at_the_best_split),
        cmocka_unit_test(test_limit_expert_width__by_hand),
        cmocka_unit_test(test_sync_share__undoes_the_gain),
        cmocka_unit_test(test_sync_share__of_an_impossible_gain_is_none),
        cmocka_unit_test_setup_teardown(test_route_wire__of_a_node_and_of_two, begin, end),
        cmocka_unit_test_setup_teardown(test_route_wire__of_a_torus_is_that_of_its_axes, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_comm_limits__of_tensor_and_data_parallelism, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_comm_limits__of_sharded_weights_count_a_microbatch,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_comm_limits__of_experts, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
