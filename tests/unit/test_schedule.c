/* test_schedule.c - how long a pipeline idles and how many microbatches a stage holds */
#include "assert_near.h"
#include "plait/schedule.h"

/* p equal stages of one forward slot and two backward, half of those for weights. */
static plait_pipeline_load even(int stages, int microbatches, int chunks)
{
    return (plait_pipeline_load){
        .stages = stages,
        .chunks = chunks,
        .microbatches = microbatches,
        .sum_s = 3.0 * stages,
        .max_s = 3.0,
        .max_f_s = 1.0,
        .max_b_s = 2.0,
        .least_w_s = 1.0,
    };
}

/* 2 stages, 4 microbatches, F = B = 1: 8 slots of work, (p-1)(F+B) = 2 idle. */
static void test_1f1b__by_hand(void **state)
{
    const plait_pipeline_load load = {.stages = 2,
                                      .chunks = 1,
                                      .microbatches = 4,
                                      .sum_s = 4.0,
                                      .max_s = 2.0,
                                      .max_f_s = 1.0,
                                      .max_b_s = 1.0};

    (void)state;
    assert_near(plait_pipeline_s(PLAIT_1F1B, &load), 10.0, 1e-12);
}

/* 4 stages, 8 microbatches: 24 slots of work. */
static void test_schedules__idle_as_the_papers_say(void **state)
{
    plait_pipeline_load load = even(4, 8, 1);

    (void)state;
    assert_near(plait_pipeline_s(PLAIT_NAIVE, &load), 8.0 * 12.0, 1e-12);
    assert_near(plait_pipeline_s(PLAIT_GPIPE, &load), 24.0 + 9.0, 1e-12);
    assert_near(plait_pipeline_s(PLAIT_1F1B, &load), 24.0 + 9.0, 1e-12);
    /* (p-1)(F + B - W) and (p-1)(F + B - 2 W) of Qi et al., where B is the input half */
    assert_near(plait_pipeline_s(PLAIT_ZB_H1, &load), 24.0 + 3.0, 1e-12);
    assert_near(plait_pipeline_s(PLAIT_ZB_H2, &load), 24.0 + 0.0, 1e-12);
    /* (p/2 - 1)(F&B + B - 3 W) with F&B = 3, B = 2 */
    assert_near(plait_pipeline_s(PLAIT_DUALPIPE, &load), 24.0 + 2.0, 1e-12);
    load = even(4, 8, 3);
    assert_near(plait_pipeline_s(PLAIT_INTERLEAVED, &load), 24.0 + 3.0, 1e-12);
}

static void test_one_stage__never_idles(void **state)
{
    static const plait_schedule all[] = {PLAIT_NAIVE, PLAIT_GPIPE, PLAIT_1F1B};

    (void)state;
    for (int i = 0; i < 3; i++) {
        const plait_pipeline_load load = even(1, 8, 1);
        assert_near(plait_pipeline_s(all[i], &load), 24.0, 1e-12);
    }
}

/* Stages of 3, 3 and 6 slots: the slowest works all the time, one microbatch passes the others. */
static void test_uneven_stages__wait_for_the_slowest(void **state)
{
    const plait_pipeline_load load = {.stages = 3,
                                      .chunks = 1,
                                      .microbatches = 5,
                                      .sum_s = 12.0,
                                      .max_s = 6.0,
                                      .max_f_s = 2.0,
                                      .max_b_s = 4.0,
                                      .least_w_s = 2.0};

    (void)state;
    assert_near(plait_pipeline_s(PLAIT_1F1B, &load), 30.0 + 6.0, 1e-12);
    assert_near(plait_pipeline_s(PLAIT_NAIVE, &load), 60.0, 1e-12);
}

/* Weight gradients that fill more than the bubble leave none, never less. */
static void test_zero_bubble__never_takes_less_than_the_work(void **state)
{
    plait_pipeline_load load = even(4, 8, 1);

    (void)state;
    load.least_w_s = 2.0;
    assert_near(plait_pipeline_s(PLAIT_ZB_H1, &load), 24.0, 1e-12);
    assert_near(plait_pipeline_s(PLAIT_ZB_H2, &load), 24.0, 1e-12);
    assert_near(plait_pipeline_s(PLAIT_DUALPIPE, &load), 24.0, 1e-12);
}

static void test_more_chunks__idle_less(void **state)
{
    (void)state;
    for (int v = 1; v < 8; v++) {
        const plait_pipeline_load fewer = even(8, 16, v);
        const plait_pipeline_load more = even(8, 16, v + 1);
        assert_true(plait_pipeline_s(PLAIT_INTERLEAVED, &more) <
                    plait_pipeline_s(PLAIT_INTERLEAVED, &fewer));
        assert_near_relative(plait_pipeline_s(PLAIT_INTERLEAVED, &fewer),
                             48.0 * (1.0 + 7.0 / (v * 16.0)), 1e-12);
    }
}

// ---- microbatches in flight ----------------------------------------------------------------

/* Stage s of p starts p - s microbatches before its first backward frees one. */
static void test_in_flight__falls_along_the_pipeline(void **state)
{
    (void)state;
    for (int s = 0; s < 4; s++) {
        assert_near(plait_schedule_in_flight(PLAIT_1F1B, 4, s, 1, 100), 4.0 - s, 0.0);
        assert_near(plait_schedule_in_flight(PLAIT_ZB_H1, 4, s, 1, 100), 4.0 - s, 0.0);
        assert_near(plait_schedule_in_flight(PLAIT_ZB_H2, 4, s, 1, 100), 7.0 - 2.0 * s, 0.0);
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
        for (int m = 1; m < 20 && plait_schedule_priced((plait_schedule)schedule); m++) {
            const double held = plait_schedule_in_flight((plait_schedule)schedule, 8, 0,
                                                         schedule == PLAIT_INTERLEAVED ? 2 : 1, m);
            assert_true(held >= 1.0 && held <= m);
        }
}

static void test_copies__are_two_for_dualpipe_only(void **state)
{
    (void)state;
    for (int schedule = 0; schedule < PLAIT_SCHEDULES; schedule++)
        if (plait_schedule_priced((plait_schedule)schedule))
            assert_int_equal(plait_schedule_copies((plait_schedule)schedule),
                             schedule == PLAIT_DUALPIPE ? 2 : 1);
    assert_false(plait_schedule_priced(PLAIT_ZB_V));
    assert_false(plait_schedule_priced(PLAIT_V_HALF));
    assert_false(plait_schedule_priced(PLAIT_V_MIN));
    assert_false(plait_schedule_priced(PLAIT_DUALPIPE_V));
}

// ---- which rank has which chunk --------------------------------------------------------------

/* Every chunk has one rank, every rank as many chunks, and both functions agree. */
static void test_chunks__are_dealt_to_all_ranks(void **state)
{
    enum { RANKS = 4 };

    (void)state;
    for (int s = 0; s < PLAIT_SCHEDULES; s++) {
        const plait_schedule schedule = (plait_schedule)s;
        const int chunks = plait_schedule_chunked(schedule) ? 2 : 1;
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
        cmocka_unit_test(test_uneven_stages__wait_for_the_slowest),
        cmocka_unit_test(test_zero_bubble__never_takes_less_than_the_work),
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
