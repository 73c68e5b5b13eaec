/* test_timeline.c - gradients, optimizer and parameters of two stages, during and after their pipeline */
#include "support/assert_near.h"
#include "support/must.h"
#include "costmodel/plan/timeline_tail.h"

static plait_arena *arena;
static bool no_barrier;

static int begin(void **state)
{
    (void)state;
    no_barrier = false;
    arena = plait_arena_new();
    return arena == NULL;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

/*
 * F 1 s, B 2 s, two microbatches on two ranks:
 *
 *     rank 0   F0 0-1  F1 1-2                    B0 4-6           B1 7-9
 *     rank 1           F0 1-2  B0 2-4  F1 4-5             B1 5-7
 *
 * Gradients take 3 s; the optimizer 1 s on rank 0 and 2 s on rank 1; rank 0 gathers for 0.5 s.
 */
static plait_timeline two_stages(plait_schedule schedule, int chunks, plait_grad_sync how,
                                 double window, double share, double reduce_s)
{
    static const double optimizer_s[] = {1.0, 2.0}, gather_s[] = {0.5, 0.0};
    const double reduces_s[] = {reduce_s, reduce_s, reduce_s, reduce_s};
    const plait_pipeline_shape shape = {schedule, 2, chunks, 2};
    plait_rank_actions actions[2];
    plait_sim_stage stage[4];
    plait_timeline line = {.ranks = 2};
    const plait_sim sim = {
        .ranks = 2, .stages = 2 * chunks, .microbatches = 2, .actions = actions, .stage = stage};
    const tail_parts parts = {.sim = &sim,
                              .pipeline = &line.pipeline,
                              .how = how,
                              .no_barrier = no_barrier,
                              .window = window,
                              .share = share,
                              .reduce_s = reduces_s,
                              .optimizer_s = optimizer_s,
                              .gather_s = gather_s};
    plait_error err;

    for (int s = 0; s < sim.stages; s++)
        stage[s] = (plait_sim_stage){.forward_s = 1.0,
                                     .input_s = 1.0,
                                     .weight_s = 1.0,
                                     .reduce_s = how == PLAIT_SYNC_BULK ? reduce_s : 0.0};
    must(plait_schedule_actions(&shape, arena, actions, &err), &err);
    must(plait_simulate(&sim, arena, &line.pipeline, &err), &err);
    must(timeline_follow(&parts, arena, &line, &err), &err);
    return line;
}

static void assert_tail(const plait_timeline *line, int i, plait_tail_kind kind, int rank,
                        double begin_s, double end_s)
{
    assert_true(i < line->tails);
    assert_int_equal(line->tail[i].kind, kind);
    assert_int_equal(line->tail[i].rank, rank);
    assert_near(line->tail[i].begin_s, begin_s, 1e-12);
    assert_near(line->tail[i].end_s, end_s, 1e-12);
}

/* The gradients of each rank begin when it is done, at 9 and at 7; the optimizer waits for both, until 12. */
static void test_shifted__begin_after_the_rank(void **state)
{
    const plait_timeline line = two_stages(PLAIT_1F1B, 1, PLAIT_SYNC_SHIFTED, 0.5, 0.0, 3.0);

    (void)state;
    assert_int_equal(line.tails, 5);
    assert_tail(&line, 0, PLAIT_TAIL_REDUCE, 0, 9.0, 12.0);
    assert_tail(&line, 1, PLAIT_TAIL_REDUCE, 1, 7.0, 10.0);
    assert_tail(&line, 2, PLAIT_TAIL_OPTIMIZER, 0, 12.0, 13.0);
    assert_tail(&line, 3, PLAIT_TAIL_GATHER, 0, 13.0, 13.5);
    assert_tail(&line, 4, PLAIT_TAIL_OPTIMIZER, 1, 12.0, 14.0);
    assert_near(line.step_s, 14.0, 1e-12);
}

/* B1 of rank 1 is 5-10; rank 0 waits for it, so its own is 10-15. */
static void test_bulk__is_inside_the_last_backward(void **state)
{
    const plait_timeline line = two_stages(PLAIT_1F1B, 1, PLAIT_SYNC_BULK, 0.5, 0.0, 3.0);

    (void)state;
    assert_tail(&line, 0, PLAIT_TAIL_REDUCE, 0, 12.0, 15.0);
    assert_tail(&line, 1, PLAIT_TAIL_REDUCE, 1, 7.0, 10.0);
    assert_near(line.step_s, 17.0, 1e-12);
}

/* Gradients overlap the second half of the last B, 8-9, and take 8-11. */
static void test_bucketed__begin_inside_the_last_backward(void **state)
{
    const plait_timeline line = two_stages(PLAIT_1F1B, 1, PLAIT_SYNC_BUCKETED, 0.5, 0.0, 3.0);

    (void)state;
    assert_tail(&line, 0, PLAIT_TAIL_REDUCE, 0, 8.0, 11.0);
    assert_tail(&line, 1, PLAIT_TAIL_REDUCE, 1, 6.0, 9.0);
    assert_near(line.step_s, 13.0, 1e-12);
}

/* Rank 0 is done at 12 + 1.5 s, rank 1, which began at 1, at 10 + 2 s. */
static void test_no_barrier__each_rank_goes_on(void **state)
{
    no_barrier = true;
    const plait_timeline line = two_stages(PLAIT_1F1B, 1, PLAIT_SYNC_SHIFTED, 0.5, 0.0, 3.0);

    (void)state;
    assert_tail(&line, 4, PLAIT_TAIL_OPTIMIZER, 1, 10.0, 12.0);
    assert_near(line.step_s, 13.5, 1e-12);
    assert_near(line.end_s, 13.5, 1e-12);
    no_barrier = false;
}

/* Half a second would end at 8.5, but a fifth of it remains after the backward. */
static void test_bucketed__leave_a_share(void **state)
{
    const plait_timeline line = two_stages(PLAIT_1F1B, 1, PLAIT_SYNC_BUCKETED, 0.5, 0.2, 0.5);

    (void)state;
    assert_tail(&line, 0, PLAIT_TAIL_REDUCE, 0, 8.0, 9.1);
}

/*
 * Rank 0 has stages 0 and 2, rank 1 has 1 and 3:
 *
 *     rank 0   0F0 0F1 2F0 2F1     2B0 6-8   2B1 9-11   0B0 11-13   0B1 13-15
 *     rank 1       1F0 1F1 3F0 3B0 4-6  3F1 6-7  3B1 7-9  1B0 9-11  1B1 11-13
 *
 * Gradients of stage 2 overlap its last backward and that of the next microbatch: 9-14, then those of stage 0.
 */
static void test_chunks__overlap_later_actions(void **state)
{
    const plait_timeline line =
        two_stages(PLAIT_INTERLEAVED, 2, PLAIT_SYNC_BUCKETED, 1.0, 0.0, 5.0);

    (void)state;
    assert_int_equal(line.tail[0].stage, 2);
    assert_tail(&line, 0, PLAIT_TAIL_REDUCE, 0, 9.0, 14.0);
    assert_int_equal(line.tail[1].stage, 0);
    assert_tail(&line, 1, PLAIT_TAIL_REDUCE, 0, 14.0, 19.0);
    assert_int_equal(line.tail[2].stage, 3);
    assert_tail(&line, 2, PLAIT_TAIL_REDUCE, 1, 7.0, 12.0);
    assert_tail(&line, 3, PLAIT_TAIL_REDUCE, 1, 12.0, 17.0);
    assert_near(line.step_s, 21.0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shifted__begin_after_the_rank),
        cmocka_unit_test(test_bulk__is_inside_the_last_backward),
        cmocka_unit_test(test_no_barrier__each_rank_goes_on),
        cmocka_unit_test(test_bucketed__begin_inside_the_last_backward),
        cmocka_unit_test(test_bucketed__leave_a_share),
        cmocka_unit_test(test_chunks__overlap_later_actions),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
