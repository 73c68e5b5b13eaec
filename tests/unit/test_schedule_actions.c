/* test_schedule_actions.c - schedules spelled out, held against drawings */
#include <stdio.h>
#include <string.h>

#include "support/must.h"
#include "plait/lowlevel/schedule.h"

enum { MOST_RANKS = 8 };

/* "0F0 0F1 0B0 ..." */
static const char *spelled(const plait_rank_actions *rank)
{
    static char text[2048];
    size_t used = 0;

    for (int i = 0; i < rank->count; i++) {
        char one[16];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
                                 plait_action_text(&rank->action[i], one, sizeof one));
    }
    return text;
}

static void assert_ranks(plait_pipeline_shape shape, const char *const *expected)
{
    plait_rank_actions ranks[MOST_RANKS];
    plait_arena *arena = plait_arena_new();
    plait_error err;

    assert_non_null(arena);
    must(plait_schedule_actions(&shape, arena, ranks, &err), &err);
    for (int rank = 0; rank < shape.ranks; rank++)
        assert_string_equal(spelled(&ranks[rank]), expected[rank]);
    plait_arena_free(arena);
}

/*
 *     rank 0   F0 F1 .. B0 F2 B1 F3 B2 .. B3
 *     rank 1   .. F0 B0 F1 B1 F2 B2 F3 B3 ..
 */
static void test_1f1b__by_hand(void **state)
{
    (void)state;
    assert_ranks((plait_pipeline_shape){PLAIT_1F1B, 2, 1, 4},
                 (const char *const[]){"0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3",
                                       "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"});
}

static void test_gpipe_and_naive__by_hand(void **state)
{
    (void)state;
    assert_ranks((plait_pipeline_shape){PLAIT_GPIPE, 2, 1, 2},
                 (const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"});
    assert_ranks((plait_pipeline_shape){PLAIT_NAIVE, 2, 1, 2},
                 (const char *const[]){"0F0 0B0 0F1 0B1", "1F0 1B0 1F1 1B1"});
}

/* More forwards ahead than there are microbatches: all of them, then the backwards. */
static void test_few_microbatches__go_forward_all_first(void **state)
{
    (void)state;
    assert_ranks((plait_pipeline_shape){PLAIT_1F1B, 4, 1, 2},
                 (const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1", "2F0 2F1 2B0 2B1",
                                       "3F0 3B0 3F1 3B1"});
}

/* Two chunks a rank: rank 0 goes 2 (2-0-1) + 1 x 2 = 4 forwards ahead, rank 1 two. */
static void test_interleaved__by_hand(void **state)
{
    (void)state;
    assert_ranks(
        (plait_pipeline_shape){PLAIT_INTERLEAVED, 2, 2, 4},
        (const char *const[]){"0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3",
                              "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3"});
}

/*
 * Three stages, F = I = W: (p-1)(F+I-W) = 2 slots are idle. Rank s does each W s pairs later.
 *
 *     rank 0   F0 F1 F2 .. .. I0 W0 F3 I1 W1 I2 W2 I3 W3
 *     rank 1   .. F0 F1 .. I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
 *     rank 2   .. .. F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
 */
static void test_zb_h1__by_hand(void **state)
{
    (void)state;
    assert_ranks((plait_pipeline_shape){PLAIT_ZB_H1, 3, 1, 4},
                 (const char *const[]){"0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3",
                                       "1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3",
                                       "2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3"});
}

/*
 * Two ranks, two microbatches from each end; rank 1 runs stage 0 of those that enter there. Both
 * are at an end, h = 1 and d = 0: step 2 once, step 4 once, step 6 Bf In, step 8 one W.
 */
static void test_dualpipe__by_hand(void **state)
{
    (void)state;
    assert_ranks((plait_pipeline_shape){PLAIT_DUALPIPE, 2, 1, 4},
                 (const char *const[]){"0F0 1F2 0F1 1B2 1F3 0B0 1B3 0I1 0W1",
                                       "0F2 1F0 0F3 1B0 1F1 0B2 1B1 0I3 0W3"});
}

static void test_memory_that_runs_out__is_an_error(void **state)
{
    const plait_pipeline_shape shape = {PLAIT_1F1B, 2, 1, 4};
    plait_rank_actions ranks[MOST_RANKS];
    plait_arena *arena = plait_arena_new();
    plait_error err;

    (void)state;
    assert_non_null(arena);
    plait_arena_fail_after(0);
    assert_int_equal(plait_schedule_actions(&shape, arena, ranks, &err), PLAIT_ERROR_NOMEM);
    plait_arena_fail_after(-1);
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1f1b__by_hand),
        cmocka_unit_test(test_gpipe_and_naive__by_hand),
        cmocka_unit_test(test_few_microbatches__go_forward_all_first),
        cmocka_unit_test(test_interleaved__by_hand),
        cmocka_unit_test(test_zb_h1__by_hand),
        cmocka_unit_test(test_dualpipe__by_hand),
        cmocka_unit_test(test_memory_that_runs_out__is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
