/* test_experts.c - what dispatchers send, and what pairs of microbatches hide */
#include <math.h>

#include <stdio.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "costmodel/layer/layer_ops.h"
#include "support/must.h"
#include "plait/data.h"
#include "plait/runtime.h"
#include "plait/lowlevel/schedule.h"
#include "plait/lowlevel/simulate.h"
#include "plait/lowlevel/block.h"

// ---- what is sent --------------------------------------------------------------------------

/* 8 experts, 2 a token, width of one element; 16 tokens of 32 elements on each of 4 ranks. */
static plait_op exchange(plait_dispatcher how, plait_pass_kind pass, plait_part part,
                         plait_moe router)
{
    static plait_runtime runtime = {.factor = {.ep_imbalance = 1.5}};
    plait_layer layer = {.ffn = PLAIT_FFN_MOE, .moe = router};
    const plait_model model = {.hidden = 32, .kinds = 1};
    const plait_shard shard = {
        .tp = 1, .cp = 1, .ep = 4, .etp = 1, .dispatcher = how, .runtime = &runtime};

    layer.moe.experts = 8;
    layer.moe.topk = 2;
    return plait_block_exchange(&model, &layer, &shard, (plait_pass){pass, 1.0, 16.0, 16.0}, part);
}

static void test_an_all_to_all__sends_each_copy(void **state)
{
    const plait_op op =
        exchange(PLAIT_DISPATCH_ALLTOALL, PLAIT_FORWARD, PLAIT_PART_dispatch, (plait_moe){0});

    (void)state;
    assert_int_equal(op.collective, PLAIT_ALL_TO_ALL);
    assert_near_relative(op.bytes, 2.0 * 16.0 * 2.0 * 32.0, 1e-12);
    assert_near_relative(op.imbalance, 1.5, 1e-12);
    assert_true(op.node_copies == 0.0);
}

/* Elements that a rank of 8 experts keeps of what these receive. */
static double routed_kept(double imbalance, bool stated, int ep)
{
    const plait_runtime runtime = {.factor = {.ep_imbalance = imbalance},
                                   .imbalance_stated = stated};
    const plait_layer layer = {.ffn = PLAIT_FFN_MOE,
                               .moe = {.experts = 8, .topk = 2, .width = 16, .gated = true}};
    const plait_model model = {.hidden = 32, .kinds = 1};
    const plait_shard shard = {.tp = 1, .cp = 1, .ep = ep, .etp = 1, .runtime = &runtime};
    plait_block block;

    plait_block_describe(&model, &layer, &shard, (plait_pass){PLAIT_FORWARD, 1.0, 16.0, 16.0},
                         &block);
    assert_near_relative(block.saved[PLAIT_TENSOR_expert_act_out],
                         0.5 * block.saved[PLAIT_TENSOR_routed], 1e-12);
    return block.saved[PLAIT_TENSOR_routed];
}

/*
 * A stated imbalance counts in memory, at most as often as there are ranks, and with fewer experts on a
 * rank than a token has copies, at most experts / topk times; a profile's does not.
 */
static void test_activations__grow_with_a_stated_imbalance(void **state)
{
    const double even = routed_kept(1.0, true, 4);

    (void)state;
    assert_near_relative(even, 16.0 * 2.0 * 32.0, 1e-12);
    assert_near_relative(routed_kept(2.0, true, 4), 2.0 * even, 1e-12);
    assert_near_relative(routed_kept(9.0, true, 4), 4.0 * even, 1e-12);
    assert_near_relative(routed_kept(9.0, true, 8), 4.0 * even, 1e-12);
    assert_near_relative(routed_kept(1.1, false, 4), even, 1e-12);
    assert_near_relative(routed_kept(9.0, true, 1), even, 1e-12);
}

/* 4 ranks of 16 tokens; gathered on the way to the experts, in both passes. */
static void test_an_all_gather__brings_all_tokens(void **state)
{
    const plait_moe router = {0};
    const plait_op there =
        exchange(PLAIT_DISPATCH_ALLGATHER, PLAIT_FORWARD, PLAIT_PART_dispatch, router);
    const plait_op gradients =
        exchange(PLAIT_DISPATCH_ALLGATHER, PLAIT_BACKWARD, PLAIT_PART_dispatch, router);

    (void)state;
    assert_int_equal(there.collective, PLAIT_ALL_GATHER);
    assert_int_equal(gradients.collective, PLAIT_REDUCE_SCATTER);
    assert_near_relative(there.bytes, 2.0 * 4.0 * 16.0 * 32.0, 1e-12);
    assert_true(there.imbalance == 0.0);
}

/* 33/32 of a byte to the experts: tokens in forward's dispatch, gradients in backward's combine. */
static void test_eight_bits__go_one_way(void **state)
{
    const plait_moe router = {0};
    const double narrow = 33.0 / 32.0 * 16.0 * 2.0 * 32.0, wide = 2.0 * 16.0 * 2.0 * 32.0;

    (void)state;
    for (int pass = PLAIT_FORWARD; pass <= PLAIT_BACKWARD; pass++) {
        const bool forward = pass == PLAIT_FORWARD;
        assert_near_relative(
            exchange(PLAIT_DISPATCH_DEEPEP_FP8, (plait_pass_kind)pass, PLAIT_PART_dispatch, router)
                .bytes,
            forward ? narrow : wide, 1e-12);
        assert_near_relative(
            exchange(PLAIT_DISPATCH_DEEPEP_FP8, (plait_pass_kind)pass, PLAIT_PART_combine, router)
                .bytes,
            forward ? wide : narrow, 1e-12);
    }
}

/* At 1.25 times the mean: padded, all ranks send and take 1.25; else the mean, at most 1.25 of it. */
static void test_a_capacity__bounds_what_a_rank_takes(void **state)
{
    const double all = 2.0 * 16.0 * 2.0 * 32.0;
    const plait_op padded = exchange(PLAIT_DISPATCH_ALLTOALL, PLAIT_FORWARD, PLAIT_PART_dispatch,
                                     (plait_moe){.capacity = 1.25, .padded = true});
    const plait_op dropped = exchange(PLAIT_DISPATCH_ALLTOALL, PLAIT_FORWARD, PLAIT_PART_dispatch,
                                      (plait_moe){.capacity = 1.25});
    const plait_op half = exchange(PLAIT_DISPATCH_ALLTOALL, PLAIT_FORWARD, PLAIT_PART_dispatch,
                                   (plait_moe){.capacity = 0.5});

    (void)state;
    assert_near_relative(padded.bytes, 1.25 * all, 1e-12);
    assert_true(padded.imbalance == 0.0);
    assert_near_relative(dropped.bytes, all, 1e-12);
    assert_near_relative(dropped.imbalance, 1.25, 1e-12);
    assert_near_relative(half.bytes, 0.5 * all, 1e-12);
    assert_near_relative(half.imbalance, 1.0, 1e-12);
}

// ---- how long it takes ---------------------------------------------------------------------

/* One choice of two experts among two groups of two: missed with 2/4 x 1/3. */
static void test_groups__are_chosen_without_replacement(void **state)
{
    (void)state;
    assert_near_relative(plait_reached_groups(2.0, 2.0, 4.0), 2.0 * (1.0 - 1.0 / 6.0), 1e-12);
    assert_near_relative(plait_reached_groups(4.0, 4.0, 4.0), 4.0, 1e-12); // each once
    assert_true(isfinite(plait_reached_groups(1e300, 1e300, 1e300)));      // an answer, and soon
}

/*
 * Two of 6 experts, round robin, in groups of 3: the pairs 0-1, 2-3 and 4-5 lie in 1, 2 and 1 groups. 8
 * experts of 128 lie in one group of 16, and in two of 4.
 */
static void test_groups__of_round_robin_experts_are_few(void **state)
{
    (void)state;
    assert_near_relative(plait_reached_groups_round_robin(2.0, 2.0, 6.0), 4.0 / 3.0, 1e-12);
    assert_near_relative(plait_reached_groups_round_robin(8.0, 8.0, 128.0), 1.0, 1e-12);
    assert_near_relative(plait_reached_groups_round_robin(32.0, 8.0, 128.0), 2.0, 1e-12);
    assert_near_relative(plait_reached_groups_round_robin(4.0, 4.0, 4.0), 4.0, 1e-12);
}

/*
 * DeepEP's own figures on H800 (4,096 tokens of 7,168, 8 of 256 experts, 4 groups, combine in bf16),
 * bytes as it counts them: each token once a node, or in one node once a rank.
 */
static void test_deepep__is_within_an_eighth_of_its_published_rates(void **state)
{
    static const struct {
        int nodes;
        double gb_per_s;
    } published[] = {{1, 158.0}, {2, 43.0}, {4, 57.0}, {8, 50.0}};
    const double tokens = 2.0 * 4096.0 * 7168.0;

    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const int nodes = published[i].nodes, ranks = 8 * nodes;
        const double copies = nodes == 1  ? plait_reached_groups(8.0, 8.0, 256.0)
                              : nodes < 4 ? plait_reached_groups(nodes, 8.0, 256.0)
                                          : 4.0;
        plait_cluster cluster;
        plait_error err;
        char spec[32];

        snprintf(spec, sizeof spec, "h800-80gb-sxm:%dx8", nodes);
        must(plait_cluster_find(spec, arena, &cluster, &err), &err);
        const plait_route route = plait_route_of(
            &cluster, (plait_group_shape){.ranks = ranks, .runs = 1, .run = {{ranks, 1}}});
        const double s = plait_relayed_all_to_all_s(&route, (plait_network){.nic = 1.0},
                                                    8.0 * tokens, 8.0, 256.0, 4.0, false);
        assert_near_relative(copies * tokens / s / 1e9, published[i].gb_per_s, 0.125);
    }
}

// ---- pairs ---------------------------------------------------------------------------------

static double saved(layer_pass f, layer_pass b, double sms, plait_ep_overlap how)
{
    double saved_s[PLAIT_EP_OVERLAPS];

    layer_pair(&f, &b, sms, saved_s);
    assert_true(saved_s[PLAIT_EP_OVERLAP_NONE] == 0.0);
    return saved_s[how];
}

/*
 * Forward 4 + 3 of experts, backward twice that, 1 for each of four exchanges: 25 alone. In pairs all
 * four hide, and a tenth of the SMs for 4 takes 0.4 back.
 */
static void test_short_exchanges__hide_but_for_their_sms(void **state)
{
    const layer_pass f = {.front = 4.0, .experts = 3.0, .dispatch = 1.0, .combine = 1.0};
    const layer_pass b = {
        .front = 8.0, .experts = 6.0, .weights = 3.0, .dispatch = 1.0, .combine = 1.0};

    (void)state;
    assert_near_relative(saved(f, b, 0.0, PLAIT_EP_OVERLAP_PAIRS), 4.0, 1e-12);
    assert_near_relative(saved(f, b, 0.1, PLAIT_EP_OVERLAP_PAIRS), 3.6, 1e-12);
    assert_near_relative(saved(f, b, 0.1, PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD), 3.6, 1e-12);
}

/*
 * Gradients take 5 back. Behind the experts' backward (6) only their forward (3) is beside it: 6 + 5
 * for 9 of work. With 3 of weight gradients kept for it: 3 + 5 < 9, and all hides.
 */
static void test_delayed_weight_gradients__hide_the_way_back(void **state)
{
    const layer_pass f = {.front = 4.0, .experts = 3.0, .dispatch = 1.0, .combine = 1.0};
    const layer_pass b = {
        .front = 8.0, .experts = 6.0, .weights = 3.0, .dispatch = 5.0, .combine = 1.0};

    (void)state;
    assert_near_relative(saved(f, b, 0.0, PLAIT_EP_OVERLAP_PAIRS), 6.0, 1e-12);
    assert_near_relative(saved(f, b, 0.0, PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD), 8.0, 1e-12);
}

/* Exchanges that are longer than all there is to compute hide that, and no more. */
static void test_long_exchanges__hide_what_is_computed(void **state)
{
    const layer_pass f = {.front = 1.0, .experts = 1.0, .dispatch = 9.0, .combine = 9.0};
    const layer_pass b = {
        .front = 2.0, .experts = 2.0, .weights = 1.0, .dispatch = 9.0, .combine = 9.0};

    (void)state;
    assert_near_relative(saved(f, b, 0.1, PLAIT_EP_OVERLAP_PAIRS), 6.0, 1e-12);
    assert_near_relative(saved(f, b, 0.1, PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD), 6.0, 1e-12);
    assert_near_relative(
        saved((layer_pass){.front = 1.0}, (layer_pass){.front = 2.0}, 0.1, PLAIT_EP_OVERLAP_PAIRS) +
            1.0,
        1.0, 1e-12); // a dense layer
}

/* 8 microbatches: 7 pairs on one stage; of 2 chunks on 4 ranks the last one begins with 5 visits. */
static void test_pairs__are_what_follows_the_first_forwards(void **state)
{
    (void)state;
    assert_near_relative(plait_schedule_pairs(PLAIT_1F1B, 1, 1, 8), 7.0, 1e-12);
    assert_near_relative(plait_schedule_pairs(PLAIT_INTERLEAVED, 4, 2, 8), 5.5, 1e-12);
    assert_near_relative(plait_schedule_pairs(PLAIT_DUALPIPE, 4, 1, 16), 12.0, 1e-12);
    assert_false(plait_schedule_has_pairs(PLAIT_1F1B, 2, 1));
    assert_false(plait_schedule_has_pairs(PLAIT_GPIPE, 1, 1));
    assert_true(plait_schedule_has_pairs(PLAIT_INTERLEAVED, 2, 2));
}

// ---- pairs, simulated ----------------------------------------------------------------------

enum { MOST_RANKS = 8 };

/* C.73 and C.157: a chunk's forward takes 1, its backward 2, a pair the share q of both. */
static void assert_as_simulated(int p, int v, int m, double q)
{
    plait_rank_actions actions[MOST_RANKS];
    plait_sim_stage stage[MOST_RANKS * MOST_RANKS];
    plait_sim_result result;
    plait_error err;
    const plait_sim sim = {.ranks = p,
                           .stages = p * v,
                           .microbatches = m,
                           .actions = actions,
                           .stage = stage,
                           .pair_share = q};
    const plait_pipeline_shape shape = {PLAIT_INTERLEAVED, p, v, m};
    const plait_chunk_time chunk = {1.0, 2.0, 1.0};
    const plait_rank_run run = {
        .ranks = p, .all = {1.0 * v, 2.0 * v, 1.0 * v}, .first = chunk, .last = chunk};
    const plait_pipeline_load load = {
        .ranks = p, .chunks = v, .microbatches = m, .runs = 1, .run = &run};
    const double saved_s = 3.0 * v * (1.0 - q);

    must(plait_schedule_paired_actions(&shape, arena, actions, &err), &err);
    for (int s = 0; s < p * v; s++)
        stage[s] = (plait_sim_stage){.forward_s = 1.0, .input_s = 1.0, .weight_s = 1.0};
    must(plait_simulate(&sim, arena, &result, &err), &err);
    assert_near_relative(result.pipeline_s,
                         plait_pipeline_s(PLAIT_INTERLEAVED, &load) -
                             saved_s * plait_schedule_pairs(PLAIT_INTERLEAVED, p, v, m),
                         1e-12);
}

/* All whole groups of microbatches on 2 to 6 ranks; a pair takes two thirds of both or more. */
static void test_pairs__take_what_a_simulation_takes(void **state)
{
    (void)state;
    for (int p = 2; p <= 6; p++)
        for (int v = 2; v <= 4; v++)
            for (int m = p; m <= 5 * p; m += p)
                for (int q = 4; q <= 6; q++)
                    assert_as_simulated(p, v, m, q / 6.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_all_to_all__sends_each_copy),
        cmocka_unit_test(test_activations__grow_with_a_stated_imbalance),
        cmocka_unit_test(test_an_all_gather__brings_all_tokens),
        cmocka_unit_test(test_eight_bits__go_one_way),
        cmocka_unit_test(test_a_capacity__bounds_what_a_rank_takes),
        cmocka_unit_test(test_groups__are_chosen_without_replacement),
        cmocka_unit_test(test_groups__of_round_robin_experts_are_few),
        cmocka_unit_test_setup_teardown(test_deepep__is_within_an_eighth_of_its_published_rates,
                                        begin, end),
        cmocka_unit_test(test_short_exchanges__hide_but_for_their_sms),
        cmocka_unit_test(test_delayed_weight_gradients__hide_the_way_back),
        cmocka_unit_test(test_long_exchanges__hide_what_is_computed),
        cmocka_unit_test(test_pairs__are_what_follows_the_first_forwards),
        cmocka_unit_test_setup_teardown(test_pairs__take_what_a_simulation_takes, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
