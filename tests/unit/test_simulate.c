/* test_simulate.c - sends, pairs, memory and the critical path by hand; lists that cannot be run */
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/must.h"
#include "plait/lowlevel/simulate.h"

/* Two stages of F 1 s, I 1 s, W 1 s; sends of half a second; 8 bytes held, 2 of them until W. */
static plait_sim two_stages(const plait_rank_actions actions[2], int microbatches)
{
    static const plait_sim_stage stage[2] = {{1.0, 1.0, 1.0, 0.5, 8.0, 2.0, 0.0, 0.0},
                                             {1.0, 1.0, 1.0, 0.5, 8.0, 2.0, 0.0, 0.0}};

    return (plait_sim){
        .ranks = 2, .stages = 2, .microbatches = microbatches, .actions = actions, .stage = stage};
}

#define LIST(of)                                                                                   \
    {                                                                                              \
        sizeof(of) / sizeof *(of), of                                                              \
    }

#define F PLAIT_ACTION_FORWARD
#define B PLAIT_ACTION_BACKWARD
#define I PLAIT_ACTION_INPUT
#define W PLAIT_ACTION_WEIGHT

static const plait_action whole_0[] = {{F, 0, 0, false}, {B, 0, 0, false}};
static const plait_action whole_1[] = {{F, 1, 0, false}, {B, 1, 0, false}};
static const plait_rank_actions whole[] = {LIST(whole_0), LIST(whole_1)};

static plait_sim_result run(const plait_sim *sim)
{
    plait_sim_result result;
    plait_error err;

    must(plait_simulate(sim, arena, &result, &err), &err);
    return result;
}

/* F 0-1, sent, F 1.5-2.5, B 2.5-4.5, sent, B 5-7: all of it is the critical path. */
static void test_sends__run_beside(void **state)
{
    const plait_sim sim = two_stages(whole, 1);
    const plait_sim_result result = run(&sim);

    (void)state;
    assert_near(result.pipeline_s, 7.0, 1e-12);
    assert_near(result.rank[0].busy_s, 3.0, 1e-12);
    assert_near(result.rank[0].idle_s, 4.0, 1e-12);
    assert_near(result.rank[1].idle_s, 0.0, 1e-12);
    assert_int_equal(result.path_length, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(result.path[i], ((const int[]){0, 2, 3, 1})[i]);
}

/* A rank that sends is busy with it: 0-1.5, 1.5-2.5, 2.5-5, 5-7. */
static void test_sends__may_block(void **state)
{
    plait_sim sim = two_stages(whole, 1);

    (void)state;
    sim.sends_block = true;
    const plait_sim_result result = run(&sim);
    assert_near(result.pipeline_s, 7.0, 1e-12);
    assert_near(result.rank[0].busy_s, 3.5, 1e-12);
    assert_near(result.rank[1].busy_s, 3.5, 1e-12);
}

/* Two forwards hold 16 bytes, an I lets 6 go, its W the other 2. */
static void test_bytes__are_held_until_i_and_w(void **state)
{
    static const plait_action first[] = {
        {F, 0, 0, false}, {F, 0, 1, false}, {I, 0, 0, false}, {W, 0, 0, false}, {B, 0, 1, false}};
    static const plait_action second[] = {
        {F, 1, 0, false}, {I, 1, 0, false}, {F, 1, 1, false}, {B, 1, 1, false}, {W, 1, 0, false}};
    static const plait_rank_actions actions[] = {LIST(first), LIST(second)};
    const plait_sim sim = two_stages(actions, 2);
    const plait_sim_result result = run(&sim);

    (void)state;
    assert_near(result.rank[0].peak_bytes, 16.0, 0.0);
    assert_near(result.rank[1].peak_bytes, 10.0, 0.0);
}

/* F of one microbatch and B of another at once, as soon as both can: 3 s become 1.5. */
static void test_pairs__run_at_once(void **state)
{
    static const plait_action first[] = {
        {F, 0, 0, false}, {F, 0, 1, true}, {B, 0, 0, false}, {B, 0, 1, false}};
    static const plait_action second[] = {
        {F, 1, 0, false}, {B, 1, 0, false}, {F, 1, 1, false}, {B, 1, 1, false}};
    static const plait_rank_actions actions[] = {LIST(first), LIST(second)};
    plait_sim sim = two_stages(actions, 2);

    (void)state;
    sim.pair_share = 0.5;
    const plait_sim_result result = run(&sim);
    assert_near(result.event[1].begin_s, 5.0, 1e-12);
    assert_near(result.event[2].begin_s, 5.0, 1e-12);
    assert_near(result.event[1].end_s, 6.5, 1e-12);
    assert_near(result.event[2].end_s, 6.5, 1e-12);
}

/* Stage 0 saves 1 s of its pair: F and B of 3 s take 2 s, from 5 on. */
static void test_pairs__save_what_their_stages_say(void **state)
{
    static const plait_action first[] = {
        {F, 0, 0, false}, {F, 0, 1, true}, {B, 0, 0, false}, {B, 0, 1, false}};
    static const plait_action second[] = {
        {F, 1, 0, false}, {B, 1, 0, false}, {F, 1, 1, false}, {B, 1, 1, false}};
    static const plait_rank_actions actions[] = {LIST(first), LIST(second)};
    plait_sim sim = two_stages(actions, 2);
    const plait_sim_stage stage[2] = {
        {.forward_s = 1.0, .input_s = 1.0, .weight_s = 1.0, .send_s = 0.5, .paired_s = 1.0},
        sim.stage[1]};

    (void)state;
    sim.stage = stage;
    sim.pairs = true;
    const plait_sim_result result = run(&sim);
    assert_near(result.event[1].begin_s, 5.0, 1e-12);
    assert_near(result.event[2].end_s, 7.0, 1e-12);
    assert_true(result.event[2].action.paired);
    assert_false(result.event[3].action.paired);
}

static void test_lists_that_cannot_run__are_refused(void **state)
{
    static const plait_action early[] = {{B, 0, 0, false}, {F, 0, 0, false}};
    static const plait_action twice[] = {{F, 0, 0, false}, {F, 0, 0, false}};
    static const plait_action none[] = {{F, 2, 0, false}};
    static const plait_action later[] = {{F, 0, 1, false}};
    static const plait_action unknown[] = {{PLAIT_ACTION_KINDS, 0, 0, false}};
    static const struct {
        plait_rank_actions actions[2];
        const char *message;
    } cases[] = {
        {{LIST(early), LIST(whole_1)},
         "rank 0 waits forever before 0B0: expected the actions that it depends on earlier in the "
         "order of the ranks"},
        {{LIST(twice), LIST(whole_1)}, "rank 0: expected 0F0 once, found it twice"},
        {{LIST(none), LIST(whole_1)},
         "rank 0: expected an action of 2 stages and 1 microbatches, found 2F0"},
        {{LIST(later), LIST(whole_1)},
         "rank 0: expected an action of 2 stages and 1 microbatches, found 0F1"},
        {{LIST(unknown), LIST(whole_1)},
         "rank 0: expected an action of 2 stages and 1 microbatches, found an unknown kind of "
         "action"},
    };

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const plait_sim sim = two_stages(cases[c].actions, 1);
        plait_sim_result result;
        plait_error err;
        assert_int_equal(plait_simulate(&sim, arena, &result, &err), PLAIT_ERROR_RANGE);
        assert_string_equal(err.message, cases[c].message);
    }
}

static void test_nothing__takes_no_time(void **state)
{
    const plait_rank_actions actions[2] = {{0}};
    const plait_sim sim = two_stages(actions, 1);
    const plait_sim_result result = run(&sim);

    (void)state;
    assert_near(result.pipeline_s, 0.0, 0.0);
    assert_int_equal(result.path_length, 0);
}

static void test_memory__may_run_out(void **state)
{
    const plait_sim sim = two_stages(whole, 1);
    plait_sim_result result;
    plait_error err;
    int failures = 0;

    (void)state;
    for (long calls = 0;; calls++) {
        plait_arena_fail_after(calls);
        const plait_status status = plait_simulate(&sim, arena, &result, &err);
        plait_arena_fail_after(-1);
        if (status == PLAIT_OK)
            break;
        assert_int_equal(status, PLAIT_ERROR_NOMEM);
        failures++;
    }
    assert_true(failures > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends__run_beside),
        cmocka_unit_test(test_sends__may_block),
        cmocka_unit_test(test_bytes__are_held_until_i_and_w),
        cmocka_unit_test(test_pairs__run_at_once),
        cmocka_unit_test(test_pairs__save_what_their_stages_say),
        cmocka_unit_test(test_lists_that_cannot_run__are_refused),
        cmocka_unit_test(test_nothing__takes_no_time),
        cmocka_unit_test(test_memory__may_run_out),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
