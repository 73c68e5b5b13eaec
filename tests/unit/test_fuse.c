/* test_fuse.c - communication of adjacent parallelisms in one: rules, lists, prices, decisions */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "costmodel/layer/fuse.h"
#include "support/must.h"
#include "plait/cost.h"
#include "support/world.h"
#include "costmodel/api.h"
#include "plait/lowlevel/fuse.h"

// ---- what rules send -----------------------------------------------------------------------

static double gain(plait_fusion_rule rule, int ranks, int all, int topk)
{
    const plait_fusion_row *row = &plait_fusion_rules[rule];

    return plait_fusion_sent(&row->before, ranks, all, topk, 1.0) /
           plait_fusion_sent(&row->after, ranks, all, topk, 1.0);
}

/* The paper's synthetic cases: rings of 5 and 4 sides, of 8 GPUs in pairs, of 2; each exactly. */
static void test_rules__send_what_the_synthetic_cases_say(void **state)
{
    (void)state;
    /* 5x5 mesh: 2 (4/5) against 4/5; 1.6 + 1/5 + 4/5 against 0.8 + 0.2 + 0.8; k = 2 of 25 ranks */
    assert_near(gain(PLAIT_FUSE_TP_SP, 5, 25, 1), 2.0, 1e-15);
    assert_near(gain(PLAIT_FUSE_TP_PP, 5, 25, 1), 2.6 / 1.8, 1e-15);
    assert_near(gain(PLAIT_FUSE_TP_EP, 5, 25, 2), (1.6 + 0.384) / (0.8 + 0.384), 1e-15);
    /* 4x4 torus: 3/4 and 1 against 1; 1 and 2 (3/4) against 2; a send of 1 for each of k */
    assert_near(gain(PLAIT_FUSE_SP_PP, 4, 16, 1), 1.75, 1e-15);
    assert_near(gain(PLAIT_FUSE_PP_EP, 4, 16, 2), 2.5 / 2.0, 1e-15);
    /* 8x2 fat tree: 7/8 + 2 (15/16)/8 + (7/8)/8 against 2 (15/16)/8 */
    assert_near(gain(PLAIT_FUSE_SP_EP_SP, 8, 16, 1), (0.875 + 0.234375 + 0.109375) / 0.234375,
                1e-14);
    /* 2x2x2 torus: an all-reduce of two sends what it holds once, 1 + 1/2 + 1/2 against 3/2 */
    assert_near(gain(PLAIT_FUSE_TP_PP, 2, 8, 1), 2.0 / 1.5, 1e-15);
}

/* Measured on eight RTX 4080 (Chimera's artifact): volume explains four of six to 8 %. */
static void test_volumes__explain_most_measured_transitions(void **state)
{
    static const struct {
        plait_fusion_rule rule;
        double before_ms, after_ms;
    } measured[] = {
        {PLAIT_FUSE_TP_SP, 1.5148, 0.774},
        {PLAIT_FUSE_TP_EP, 1.722, 1.0178},
        {PLAIT_FUSE_SP_PP, 1.1658, 0.7167},
        {PLAIT_FUSE_SP_EP_SP, 1.5288, 0.4941},
    };

    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        assert_near(gain(measured[i].rule, 4, 8, 1) /
                        (measured[i].before_ms / measured[i].after_ms),
                    1.0, 0.08);
}

// ---- plans ---------------------------------------------------------------------------------

static void load(world *w, const char *model, const char *cluster, int gpus)
{
    world_make(w, model, "megatron", cluster, (plait_job){.seq = 4096, .gbs = 64, .gpus = gpus},
               arena);
    w->runtime.rules = PLAIT_RULES_GENERIC;
    w->runtime.can.takes[PLAIT_KEY_FUSION] = plait_key_all(PLAIT_KEY_FUSION);
}

typedef struct grid {
    int tp, pp, ep;
    bool sp;
} grid;

static plait_degrees degrees_of(const world *w, grid g, plait_fusion fusion)
{
    plait_degrees d = plait_degrees_init();

    d.tp = g.tp;
    d.pp = g.pp;
    d.ep = g.ep;
    d.sp = g.sp;
    d.fusion = (unsigned char)fusion;
    d.dp = d.shard_group = plait_degrees_dp(w->problem.job.gpus, d.tp, d.pp, 1);
    d.zero = 1;
    return d;
}

static plait_cost price(const world *w, grid g, plait_fusion fusion)
{
    const plait_degrees d = degrees_of(w, g, fusion);
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    must(plait_plan_expand(&w->problem, &d, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&w->problem, &plan, NULL, arena, &cost, &err), &err);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s", cost.why);
    return cost;
}

static const plait_volume *line_of(const plait_cost *cost, plait_axis axis, plait_collective_op op,
                                   double bytes)
{
    for (int v = 0; v < cost->volumes; v++)
        if (cost->volume[v].axis == axis && cost->volume[v].op == op &&
            (bytes <= 0.0 || fabs(cost->volume[v].bytes - bytes) < 1.0))
            return &cost->volume[v];
    return NULL;
}

static double calls(const plait_cost *cost, plait_axis axis, plait_collective_op op, double bytes)
{
    const plait_volume *line = line_of(cost, axis, op, bytes);

    return line ? line->count : 0.0;
}

/*
 * 64 GPUs, tp 4 without sp, ep 8: dp 16, 4 microbatches, 32 layers. Each layer has an all-reduce
 * behind attention forward, now a reduce-scatter, and one in front of it backward, which stays; the
 * embedding has one forward, the head one backward.
 */
static void test_experts__get_scattered_sums(void **state)
{
    const grid g = {.tp = 4, .pp = 1, .ep = 8};
    const double hidden_bytes = 2.0 * 4096 * 4096;
    world w;

    (void)state;
    load(&w, "mixtral-8x7b", "h100-80gb-sxm:8x8", 64);
    const plait_cost apart = price(&w, g, PLAIT_FUSION_NONE);
    const plait_cost fused = price(&w, g, PLAIT_FUSION_AUTO);
    assert_near(calls(&apart, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE, hidden_bytes), 4.0 * 66, 0.0);
    assert_near(calls(&fused, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE, hidden_bytes), 4.0 * 34, 0.0);
    assert_near(calls(&fused, PLAIT_AXIS_TP, PLAIT_REDUCE_SCATTER, hidden_bytes), 4.0 * 32, 0.0);
    assert_false(apart.fuses);
    assert_true(fused.fuses && fused.fused[PLAIT_FUSE_TP_EP].fate == PLAIT_FUSED);
    /* 128 calls: 2 (3/4) of 32 MiB each, then 3/4 */
    assert_near(fused.fused[PLAIT_FUSE_TP_EP].before_bytes, 128 * 1.5 * hidden_bytes, 1.0);
    assert_near(fused.fused[PLAIT_FUSE_TP_EP].after_bytes, 128 * 0.75 * hidden_bytes, 1.0);
    /* the term is shorter by what the profile exposes of the seconds saved */
    assert_near(apart.step.tp_comm_s - fused.step.tp_comm_s,
                plait_tp_exposed(&w.runtime, false) * (fused.fused[PLAIT_FUSE_TP_EP].before_s -
                                                       fused.fused[PLAIT_FUSE_TP_EP].after_s),
                1e-9);
}

/*
 * 16 GPUs, tp 4 without sp, pp 4: 64 microbatches. An inner stage has 8 layers; what leaves it forward
 * and backward is a sum, and the whole of it was sent. Fused, 64 of each of its all-reduces are
 * reduce-scatters, as many gathers stand behind the sends, which carry a quarter.
 */
static void test_sums_in_front_of_a_send__are_scattered(void **state)
{
    const grid g = {.tp = 4, .pp = 4, .ep = 1};
    const double hidden_bytes = 2.0 * 4096 * 4096;
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "h100-80gb-sxm:2x8", 16);
    const plait_cost apart = price(&w, g, PLAIT_FUSION_NONE);
    const plait_cost fused = price(&w, g, PLAIT_FUSION_AUTO);
    const double ends = fused.slowest_stage == 0 || fused.slowest_stage == 3 ? 1.0 : 2.0;
    assert_int_equal(fused.fused[PLAIT_FUSE_TP_PP].fate, PLAIT_FUSED);
    assert_near(calls(&apart, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE, hidden_bytes) -
                    calls(&fused, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE, hidden_bytes),
                64.0 * ends, 0.0);
    assert_near(calls(&fused, PLAIT_AXIS_TP, PLAIT_REDUCE_SCATTER, 0.0), 64.0 * ends, 0.0);
    assert_near(calls(&fused, PLAIT_AXIS_TP, PLAIT_ALL_GATHER, 0.0), 64.0 * ends, 0.0);
    assert_near(line_of(&apart, PLAIT_AXIS_PP, PLAIT_P2P, 0.0)->bytes, hidden_bytes, 0.0);
    assert_near(line_of(&fused, PLAIT_AXIS_PP, PLAIT_P2P, 0.0)->bytes, hidden_bytes / 4, 0.0);
    assert_true(fused.step_s < apart.step_s);
}

/*
 * Under sp a send carries a quarter to the one rank that gathers it inside its node: one scatter carries
 * four times as much between nodes. The step as it was is kept, and said to be.
 */
static void test_scatter_between_nodes__is_declined(void **state)
{
    const grid g = {.tp = 8, .pp = 4, .ep = 1, .sp = true};
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "h100-80gb-sxm:4x8", 32);
    const plait_cost apart = price(&w, g, PLAIT_FUSION_NONE);
    const plait_cost fused = price(&w, g, PLAIT_FUSION_AUTO);
    const plait_fused *rule = &fused.fused[PLAIT_FUSE_SP_PP];
    assert_int_equal(rule->fate, PLAIT_DECLINED);
    assert_true(rule->after_s > rule->before_s);
    assert_near(rule->after_bytes, rule->before_bytes, 1.0); // 7/8 gathered and 1/8 sent: as much
    assert_near(fused.step_s, apart.step_s, 0.0);
    assert_int_equal(fused.fused[PLAIT_FUSE_TP_SP].fate, PLAIT_FUSED_ALREADY);
}

/* Eight ranks behind one switch, as on the eight H20 of Chimera's artifact: 8-way is slower than 4-way. */
static void test_scatter_on_a_switched_node__is_declined(void **state)
{
    const grid g = {.tp = 4, .pp = 2, .ep = 1, .sp = true};
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "h100-80gb-sxm:1x8", 8);
    const plait_cost fused = price(&w, g, PLAIT_FUSION_AUTO);
    assert_int_equal(fused.fused[PLAIT_FUSE_SP_PP].fate, PLAIT_DECLINED);
    assert_true(fused.fused[PLAIT_FUSE_SP_PP].after_s > fused.fused[PLAIT_FUSE_SP_PP].before_s);
}

/* A table remembers rows by what they were made for: neither price is taken for the other. */
static void test_tables__tell_fused_rows_from_others(void **state)
{
    const grid g = {.tp = 4, .pp = 4, .ep = 1};
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "h100-80gb-sxm:2x8", 16);
    const plait_degrees none = degrees_of(&w, g, PLAIT_FUSION_NONE);
    const plait_degrees some = degrees_of(&w, g, PLAIT_FUSION_AUTO);
    plait_table *table = plait_table_new(&w.problem, arena);
    assert_non_null(table);
    const double first_s = plait_degrees_cost(table, &none).step_s;
    const double fused_s = plait_degrees_cost(table, &some).step_s;
    assert_true(fused_s < first_s);
    assert_near(plait_degrees_cost(table, &none).step_s, first_s, 0.0);
}

/* Software that has no such key says so by name. */
static void test_software_without_it__refuses(void **state)
{
    char why[128];
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", "h100-80gb-sxm:2x8", 16);
    w.runtime.can.takes[PLAIT_KEY_FUSION] = 1u << PLAIT_FUSION_NONE;
    const plait_degrees d = degrees_of(&w, (grid){4, 4, 1, false}, PLAIT_FUSION_AUTO);
    assert_int_equal(plait_degrees_check(&w.problem, &d, why, sizeof why), PLAIT_INVALID);
    assert_string_equal(why, "megatron has no fusion auto");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules__send_what_the_synthetic_cases_say),
        cmocka_unit_test(test_volumes__explain_most_measured_transitions),
        cmocka_unit_test_setup_teardown(test_experts__get_scattered_sums, begin, end),
        cmocka_unit_test_setup_teardown(test_sums_in_front_of_a_send__are_scattered, begin, end),
        cmocka_unit_test_setup_teardown(test_scatter_between_nodes__is_declined, begin, end),
        cmocka_unit_test_setup_teardown(test_scatter_on_a_switched_node__is_declined, begin, end),
        cmocka_unit_test_setup_teardown(test_tables__tell_fused_rows_from_others, begin, end),
        cmocka_unit_test_setup_teardown(test_software_without_it__refuses, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
