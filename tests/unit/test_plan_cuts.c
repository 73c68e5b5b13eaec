/* test_plan_cuts.c - the price of layers that are cut unlike each other */
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "plan/layer_sharding.h"
#include "support/must.h"
#include "costmodel/api.h"
#include "support/world.h"

static plait_error err;

/* 8 GPUs of one domain, 8 layers on 4 stages: 2 GPUs and 2 layers each. */
static void make(world *w)
{
    world_make(w, "llama-2-7b", "galvatron", "a100-40gb-sxm:1x8",
               (plait_job){.seq = 2048, .gbs = 32, .gpus = 8}, arena);
    w->model.layers = 8;
}

static plait_degrees point(int tp, int zero)
{
    plait_degrees d = plait_degrees_init();

    d.pp = 4;
    d.tp = tp;
    d.sp = tp > 1;
    d.mbs = tp;
    d.dp = d.shard_group = 2 / tp;
    d.zero = (unsigned char)zero;
    d.attention = PLAIT_ATTENTION_FLASH2;
    d.grad_reduce = PLAIT_STATE_BF16;
    d.grad_sync = PLAIT_SYNC_BUCKETED;
    return d;
}

/* A plan of which layer l has cut[l]. */
static plait_cost price(const world *w, const plait_degrees *d, const plait_cut *cut)
{
    plait_plan plan;
    plait_cost cost;

    must(plait_plan_expand(&w->problem, d, arena, &plan, &err), &err);
    plait_stage *const stage = plait_arena_alloc(arena, (size_t)plan.stages, sizeof *stage);
    for (int s = 0; s < plan.stages; s++) {
        stage[s] = plan.stage[s];
        stage[s].cut = cut ? cut + plan.stage[s].chunk[0].first : NULL;
    }
    plan.stage = stage;
    must(plait_plan_evaluate(&w->problem, &plan, NULL, arena, &cost, &err), &err);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s", cost.why);
    return cost;
}

static void fill(plait_cut *cut, int first, int last, int tp, int zero)
{
    for (int i = first; i < last; i++)
        cut[i] = (plait_cut){.tp = (short)tp, .zero = (unsigned char)zero};
}

// ---- degrees -------------------------------------------------------------------------------

/* 8 GPUs a stage and 4 sequences a microbatch, whichever tp. */
static void test_a_layer__has_the_gpus_and_the_sequences_of_its_plan(void **state)
{
    const plait_degrees d = {
        .tp = 2, .dp = 4, .cp = 1, .mbs = 1, .etp = 1, .sp = true, .zero = 2, .shard_group = 4};
    const plait_degrees own = plait_degrees_cut(&d, (plait_cut){.tp = 8, .zero = 3});

    (void)state;
    assert_int_equal(own.tp * own.dp, 8);
    assert_int_equal(own.mbs * own.dp, 4);
    assert_int_equal(own.shard_group, 1);
    assert_int_equal(own.zero, 3);
    assert_true(own.sp);
}

// ---- sums ----------------------------------------------------------------------------------

static void test_cuts_of_the_plan__change_no_digit(void **state)
{
    const plait_degrees d = point(2, 0);
    plait_cut cut[8];
    world w;

    (void)state;
    make(&w);
    fill(cut, 0, 8, 2, 0);
    assert_true(price(&w, &d, cut).step_s == price(&w, &d, NULL).step_s);
}

/* Stage 1 alone has tp 2: it works and keeps what it does in the plan where all have, behind one relocation. */
static void test_a_stage_of_one_cut__is_that_of_the_plan_of_it(void **state)
{
    const plait_degrees one = point(1, 2), two = point(2, 2);
    plait_cut cut[8];
    world w;

    (void)state;
    make(&w);
    fill(cut, 0, 8, 1, 2);
    fill(cut, 2, 4, 2, 2);
    const plait_cost mixed = price(&w, &one, cut);
    const plait_cost all = price(&w, &two, NULL);
    const plait_cost none = price(&w, &one, NULL);
    const plait_layout_change there = plait_relocation_of(&w.problem, &one, 1, 2);
    const plait_layout_change back = plait_relocation_of(&w.problem, &one, 2, 1);
    assert_near_relative(mixed.stage[1].forward_s, all.stage[1].forward_s + there.forward_s, 1e-12);
    assert_near_relative(mixed.stage[1].backward_s, all.stage[1].backward_s + there.backward_s,
                         1e-12);
    assert_near_relative(mixed.stage[1].memory_bytes,
                         all.stage[1].memory_bytes + w.runtime.keep.fragmentation * there.bytes,
                         1e-12);
    assert_near_relative(mixed.stage[2].forward_s, none.stage[2].forward_s + back.forward_s, 1e-12);
    assert_near_relative(mixed.stage[3].backward_s, none.stage[3].backward_s, 1e-12);
}

/* What of a layer's weights ZeRO 3 over two ranks takes away: half of them. */
static void test_zero_3_of_some_layers__shards_those(void **state)
{
    const plait_degrees d = point(1, 2);
    plait_cut cut[8];
    world w;

    (void)state;
    make(&w);
    fill(cut, 0, 8, 1, 2);
    const double whole = price(&w, &d, cut).stage[1].memory_bytes;
    fill(cut, 2, 3, 1, 3);
    const plait_cost one = price(&w, &d, cut);
    fill(cut, 2, 4, 1, 3);
    const plait_cost both = price(&w, &d, cut);
    const double layer =
        4.0 * 4096 * 4096 + 3.0 * 4096 * 11008 + 2.0 * 4096; // parameters: attention, MLP, norms
    const double half = w.runtime.keep.fragmentation * w.runtime.state.weight * layer / 2.0;
    const double ahead = one.stage[1].memory_bytes - whole + half; // layers gathered ahead
    assert_true(ahead > 0.0);
    assert_near_relative(both.stage[1].memory_bytes, one.stage[1].memory_bytes - half, 1e-9);
}

static void test_terms__sum_to_the_step(void **state)
{
    const plait_degrees d = point(1, 2);
    plait_cut cut[8];
    double sum = 0.0;
    world w;

    (void)state;
    make(&w);
    fill(cut, 0, 8, 2, 3);
    fill(cut, 5, 6, 1, 2);
    const plait_cost cost = price(&w, &d, cut);
#define X(name, equation, what) sum += cost.step.name##_s;
    PLAIT_STEP_TERMS(X)
#undef X
    assert_near_relative(sum, cost.step_s, 1e-12);
    assert_true(cost.step.bubble_s > 0.0);
    const plait_stage_cost *const slow = &cost.stage[cost.slowest_stage];
    assert_near_relative(cost.step.matmul_s + cost.step.attention_s + cost.step.memory_ops_s +
                             cost.step.launch_s + cost.step.tp_comm_s + cost.step.gather_s,
                         16.0 * (slow->forward_s + slow->backward_s), 1e-9);
}

// ---- between two layers --------------------------------------------------------------------

/* 2048 tokens of 4096 entries, 16 bits: 16 MiB a sequence; one before, two behind. */
static void test_a_relocation__holds_both_states(void **state)
{
    const plait_degrees d = point(1, 2);
    world w;

    (void)state;
    make(&w);
    const plait_layout_change up = plait_relocation_of(&w.problem, &d, 1, 2);
    const plait_layout_change down = plait_relocation_of(&w.problem, &d, 2, 1);
    const plait_layout_change stay = plait_relocation_of(&w.problem, &d, 2, 2);
    assert_near(up.bytes, 3.0 * 16.0 * 1024.0 * 1024.0, 0.5);
    assert_near_relative(up.forward_s, down.backward_s, 1e-12); // one way is the other's way back
    assert_near_relative(up.backward_s, down.forward_s, 1e-12);
    assert_true(stay.forward_s == 0.0 && stay.backward_s == 0.0 && stay.bytes == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_layer__has_the_gpus_and_the_sequences_of_its_plan),
        cmocka_unit_test(test_cuts_of_the_plan__change_no_digit),
        cmocka_unit_test(test_a_stage_of_one_cut__is_that_of_the_plan_of_it),
        cmocka_unit_test(test_zero_3_of_some_layers__shards_those),
        cmocka_unit_test(test_terms__sum_to_the_step),
        cmocka_unit_test(test_a_relocation__holds_both_states),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
