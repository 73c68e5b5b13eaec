/* test_threads.c - a team does each item once, and a team inside a team has one worker */
#include "support/assert_near.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/threads.h"

enum { ITEMS = 1000 };

typedef struct tally {
    int times[ITEMS];
    _Atomic int others; /* items of workers that the team should not have */
    int workers;
} tally;

static void count_item(int worker, int64_t item, void *context)
{
    tally *const sum = context;

    sum->times[item]++;
    if (worker >= sum->workers)
        atomic_fetch_add(&sum->others, 1);
}

static void test_for__does_each_item_once(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 8; workers++) {
        tally sum = {.workers = workers};

        threads_for(workers, ITEMS, count_item, &sum);
        for (int i = 0; i < ITEMS; i++)
            assert_int_equal(sum.times[i], 1);
        assert_int_equal(sum.others, 0);
    }
}

static void test_for__does_nothing_without_items(void **state)
{
    (void)state;
    threads_for(4, 0, count_item, NULL);
}

static void count_rounds(int worker, void *context)
{
    ((int *)context)[worker]++;
}

static void test_run__calls_each_worker_once_a_round(void **state)
{
    int rounds[4] = {0};
    thread_team team;

    (void)state;
    team_start(&team, 4);
    assert_int_equal(team.count, 4);
    for (int round = 0; round < 100; round++)
        team_run(&team, count_rounds, rounds);
    team_stop(&team);
    for (int worker = 0; worker < 4; worker++)
        assert_int_equal(rounds[worker], 100);
}

static void count_nested(int worker, int64_t item, void *context)
{
    thread_team team;

    (void)worker;
    team_start(&team, 4);
    ((int *)context)[item] = team.count;
    team_stop(&team);
}

static void test_start__does_not_multiply_threads(void **state)
{
    int workers[16] = {0};

    (void)state;
    threads_for(2, 16, count_nested, workers);
    for (int i = 0; i < 16; i++)
        assert_int_equal(workers[i], 1);
}

static void test_count__reads_the_environment_unless_requested(void **state)
{
    (void)state;
    setenv("OMP_NUM_THREADS", "3,2", 1);
    assert_int_equal(threads_count(0), 3);
    assert_int_equal(threads_count(5), 5);
    setenv("OMP_NUM_THREADS", "99999", 1);
    assert_int_equal(threads_count(0), THREADS_MOST);
    unsetenv("OMP_NUM_THREADS");
    assert_true(threads_count(0) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_for__does_each_item_once),
        cmocka_unit_test(test_for__does_nothing_without_items),
        cmocka_unit_test(test_run__calls_each_worker_once_a_round),
        cmocka_unit_test(test_start__does_not_multiply_threads),
        cmocka_unit_test(test_count__reads_the_environment_unless_requested),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
