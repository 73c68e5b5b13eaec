/* test_schedule.c - how long a pipeline idles and how many microbatches a stage holds */
#include "support/assert_near.h"
#include "plait/lowlevel/schedule.h"

/* p equal ranks of one forward slot and two backward, half of those for weights. */
static double even_s(plait_schedule schedule, int ranks, int microbatches, int chunks)
{
    const double v = chunks;
    const plait_chunk_time chunk = {1.0 / v, 2.0 / v, 1.0 / v};
    const plait_rank_run run = {ranks, {1.0, 2.0, 1.0}, chunk, chunk};
    const plait_pipeline_load load = {ranks, chunks, microbatches, false, false, 1, &run};

    return plait_pipeline_s(schedule, &load);
}

static plait_rank_run rank_of(double forward_s, double backward_s)
{
    const plait_chunk_time all = {forward_s, backward_s, 0.0};

    return (plait_rank_run){1, all, all, all};
}

/* 2 stages, 4 microbatches, F = B = 1: 8 slots of work, (p-1)(F+B) = 2 idle. */
static void test_1f1b__by_hand(void **state)
{
    const plait_rank_run run[] = {rank_of(1.0, 1.0), rank_of(1.0, 1.0)};
    const plait_pipeline_load load = {2, 1, 4, false, false, 2, run};

    (void)state;
    assert_near(plait_pipeline_s(PLAIT_1F1B, &load), 10.0, 1e-12);
}

/* 4 stages, 8 microbatches: 24 slots of work. */
static void test_schedules__idle_as_the_papers_say(void **state)
{
    (void)state;
    assert_near(even_s(PLAIT_NAIVE, 4, 8, 1), 8.0 * 12.0, 1e-12);
    assert_near(even_s(PLAIT_GPIPE, 4, 8, 1), 24.0 + 9.0, 1e-12);
    assert_near(even_s(PLAIT_1F1B, 4, 8, 1), 24.0 + 9.0, 1e-12);
    assert_near(even_s(PLAIT_INTERLEAVED, 4, 8, 3), 24.0 + 3.0, 1e-12);
    /* (p-1)(F + B - W) of Qi et al., where B is the input half */
    assert_near(even_s(PLAIT_ZB_H1, 4, 8, 1), 24.0 + 3.0, 1e-12);
}

static void test_one_stage__never_idles(void **state)
{
    static const plait_schedule all[] = {PLAIT_NAIVE, PLAIT_GPIPE, PLAIT_1F1B};

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_near(even_s(all[i], 1, 8, 1), 24.0, 1e-12);
}

/*
 * Stages of 3, 3 and 6 slots, 5 microbatches. The last one works all the time, and one microbatch
 * passes the others on its way there and back: 30 + 6.
 */
static void test_a_slow_last_stage__hides_nothing(void **state)
{
    const plait_rank_run run[] = {rank_of(1.0, 2.0), rank_of(1.0, 2.0), rank_of(2.0, 4.0)};
    const plait_pipeline_load load = {3, 1, 5, false, false, 3, run};

    (void)state;
    assert_near(plait_pipeline_s(PLAIT_1F1B, &load), 30.0 + 6.0, 1e-12);
    assert_near(plait_pipeline_s(PLAIT_NAIVE, &load), 60.0, 1e-12);
    assert_near(plait_pipeline_s(PLAIT_GPIPE, &load), 12.0 + 4.0 * 6.0, 1e-12);
}

/*
 * Stages of 6 and 3 slots, 5 microbatches. The first runs one forward ahead while it waits for the
 * second, F0 F1 | B0 F2 B1 .. B4: its first backward begins at 2 + 1 + 2 = 5 instead of 4, and the
 * rest of its 30 slots follows without a gap.
 */
static void test_a_slow_first_stage__waits_once(void **state)
{
    const plait_rank_run run[] = {rank_of(2.0, 4.0), rank_of(1.0, 2.0)};
    const plait_pipeline_load load = {2, 1, 5, false, false, 2, run};

    (void)state;
    assert_near(plait_pipeline_s(PLAIT_1F1B, &load), 31.0, 1e-12);
}

/* GPipe's slowest forward and slowest backward may be on two stages: 3 + 3 + 4 (2 + 2). */
static void test_gpipe__waits_for_the_slowest_of_each_way(void **state)
{
    const plait_rank_run run[] = {rank_of(2.0, 1.0), rank_of(1.0, 2.0)};
    const plait_pipeline_load load = {2, 1, 5, false, false, 2, run};

    (void)state;
    assert_near(plait_pipeline_s(PLAIT_GPIPE, &load), 6.0 + 16.0, 1e-12);
}

/* Without a barrier rank r begins the next step where its own work ends: of ZB-H2 nothing is left to wait. */
static void test_no_barrier__leaves_the_work(void **state)
{
    const plait_chunk_time all = {1.0, 2.0, 1.0};
    const plait_rank_run run = {4, all, all, all};
    plait_pipeline_load load = {4, 1, 8, false, false, 1, &run};

    (void)state;
    assert_near(plait_pipeline_s(PLAIT_ZB_H2, &load), 24.0 + 3.0, 1e-12);
    load.no_barrier = true;
    assert_near(plait_pipeline_s(PLAIT_ZB_H2, &load), 24.0, 1e-12);
}

static void test_more_chunks__idle_less(void **state)
{
    (void)state;
    for (int v = 2; v < 8; v++) {
        assert_true(even_s(PLAIT_INTERLEAVED, 8, 16, v + 1) < even_s(PLAIT_INTERLEAVED, 8, 16, v));
        assert_near_relative(even_s(PLAIT_INTERLEAVED, 8, 16, v), 48.0 * (1.0 + 7.0 / (v * 16.0)),
                             1e-12);
    }
}

// ---- microbatches in flight ----------------------------------------------------------------

/* Stage s of p starts p - s microbatches before its first backward frees one. */
static void test_in_flight__falls_along_the_pipeline(void **state)
{
    (void)state;
    for (int s = 0; s < 4; s++) {
        assert_near(plait_schedule_in_flight(PLAIT_1F1B, 4, s, 1, 100), 4.0 - s, 0.0);
        assert_near(plait_schedule_in_flight(PLAIT_ZB_H1, 4, s, 1, 100), 4.0, 0.0);
        assert_near(plait_schedule_in_flight(PLAIT_ZB_H2, 4, s, 1, 100), 7.0, 0.0);
        assert_near(plait_schedule_in_flight(PLAIT_ZB_V, 4, s, 2, 100), 4.0, 0.0);
        assert_near(plait_schedule_in_flight(PLAIT_DUALPIPE_V, 4, s, 2, 100), 4.5, 0.0);
        assert_near(plait_schedule_in_flight(PLAIT_GPIPE, 4, s, 1, 100), 100.0, 0.0);
        assert_near(plait_schedule_in_flight(PLAIT_NAIVE, 4, s, 1, 100), 1.0, 0.0);
        assert_near(plait_schedule_in_flight(PLAIT_DUALPIPE, 4, s, 1, 100), 5.0, 0.0);
    }
}

/* Megatron warms up 2(p-s-1) + (v-1)p chunks and runs one more: in chunks of 1/v of the stage. */
static void test_in_flight__of_interleaved_chunks(void **state)
{
    (void)state;
    assert_near(plait_schedule_in_flight(PLAIT_INTERLEAVED, 4, 0, 2, 100), 11.0 / 2.0, 1e-12);
    assert_near(plait_schedule_in_flight(PLAIT_INTERLEAVED, 4, 3, 2, 100), 5.0 / 2.0, 1e-12);
    assert_near(plait_schedule_in_flight(PLAIT_INTERLEAVED, 8, 0, 3, 100), 31.0 / 3.0, 1e-12);
}

static void test_in_flight__is_never_more_than_there_are(void **state)
{
    (void)state;
    for (int schedule = 0; schedule < PLAIT_SCHEDULES; schedule++)
        for (int m = 1; m < 20; m++) {
            const int chunks = plait_schedule_takes((plait_schedule)schedule, 1) ? 1 : 2;
            const double held = plait_schedule_in_flight((plait_schedule)schedule, 8, 0, chunks, m);
            assert_true(held >= 1.0 && held <= m);
        }
}

static void test_copies__are_two_for_dualpipe_only(void **state)
{
    (void)state;
    for (int schedule = 0; schedule < PLAIT_SCHEDULES; schedule++)
        assert_int_equal(plait_schedule_replicas((plait_schedule)schedule),
                         schedule == PLAIT_DUALPIPE ? 2 : 1);
}

// ---- which rank has which chunk --------------------------------------------------------------

/* Every chunk has one rank, every rank as many chunks, and both functions agree. */
static void test_chunks__are_dealt_to_all_ranks(void **state)
{
    enum { RANKS = 4 };

    (void)state;
    for (int s = 0; s < PLAIT_SCHEDULES; s++) {
        const plait_schedule schedule = (plait_schedule)s;
        const int chunks = plait_schedule_takes(schedule, 1) ? 1 : 2;
        int held[RANKS] = {0};

        for (int c = 0; c < RANKS * chunks; c++) {
            const int rank = plait_schedule_rank(schedule, RANKS, c);
            bool found = false;

            assert_in_range(rank, 0, RANKS - 1);
            held[rank]++;
            for (int v = 0; v < chunks; v++)
                found = found || plait_schedule_chunk(schedule, RANKS, rank, v) == c;
            assert_true(found);
        }
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(held[r], chunks);
        assert_int_equal(plait_schedule_rank(schedule, RANKS, 0), 0);
    }
}

/* Down and up again: the loss is on the rank of the embedding, its neighbour chunk on the next. */
static void test_a_v__ends_where_it_begins(void **state)
{
    (void)state;
    assert_int_equal(plait_schedule_rank(PLAIT_ZB_V, 4, 7), 0);
    assert_int_equal(plait_schedule_rank(PLAIT_ZB_V, 4, 4), 3);
    assert_int_equal(plait_schedule_rank(PLAIT_INTERLEAVED, 4, 7), 3);
    assert_int_equal(plait_schedule_rank(PLAIT_INTERLEAVED, 4, 4), 0);
    assert_int_equal(plait_schedule_chunk(PLAIT_DUALPIPE_V, 4, 1, 1), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1f1b__by_hand),
        cmocka_unit_test(test_schedules__idle_as_the_papers_say),
        cmocka_unit_test(test_one_stage__never_idles),
        cmocka_unit_test(test_a_slow_last_stage__hides_nothing),
        cmocka_unit_test(test_a_slow_first_stage__waits_once),
        cmocka_unit_test(test_gpipe__waits_for_the_slowest_of_each_way),
        cmocka_unit_test(test_no_barrier__leaves_the_work),
        cmocka_unit_test(test_more_chunks__idle_less),
        cmocka_unit_test(test_in_flight__falls_along_the_pipeline),
        cmocka_unit_test(test_in_flight__of_interleaved_chunks),
        cmocka_unit_test(test_in_flight__is_never_more_than_there_are),
        cmocka_unit_test(test_copies__are_two_for_dualpipe_only),
        cmocka_unit_test(test_chunks__are_dealt_to_all_ranks),
        cmocka_unit_test(test_a_v__ends_where_it_begins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
