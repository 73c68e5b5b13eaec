/* test_fewer_gpus.c - the smaller number of GPUs that works best, against a search of all */
#include <math.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/must.h"
#include "plait/data.h"
#include "plait/search.h"
#include "support/world.h"

static void ask(world *w, int gpus, int gbs, const char *limits)
{
    world_make(w, "llama-3.1-8b", "megatron", "dgx-h100",
               (plait_job){.seq = 4096, .gbs = gbs, .gpus = gpus}, arena);
    world_limit(w, limits);
}

/* The shortest step of so many; infinite where there is no plan. */
static double step_of(const world *w, int gpus)
{
    plait_problem smaller = w->problem;
    plait_cluster cluster = w->cluster;
    plait_search_result result;

    smaller.cluster = &cluster;
    smaller.job.gpus = gpus;
    return plait_cluster_take(&cluster, gpus, NULL) == PLAIT_OK &&
                   plait_search(&smaller, &w->options, arena, &result, NULL) == PLAIT_OK &&
                   result.plans > 0
               ? result.plan[0].price.step_s
               : HUGE_VAL;
}

static plait_fewer_gpus fewer_of(const world *w)
{
    plait_search_result result;
    plait_fewer_gpus fewer;
    plait_error err;
    const bool any = plait_search(&w->problem, &w->options, arena, &result, NULL) == PLAIT_OK;

    must(plait_fewer_gpus_find(&w->problem, &w->options, any ? &result : NULL, arena, &fewer, &err),
         &err);
    return fewer;
}

/* Nodes of 8: 7, 9, 11 and 13 of them, with batches that share little with their number. */
static void test_the_number__is_the_best_of_all(void **state)
{
    static const struct {
        int gpus, gbs;
        const char *limits;
    } cases[] = {{56, 64, ""},
                 {72, 64, "mbs=..2"},
                 {88, 32, "cp=1"},
                 {104, 128, "mbs=1"},
                 {104, 64, "pp=..4"},
                 {40, 24, "tp=2..8,cp=1"},
                 {24, 64, "recompute=full"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double least_s;
        int best = 0;
        world w;

        ask(&w, cases[i].gpus, cases[i].gbs, cases[i].limits);
        least_s = step_of(&w, cases[i].gpus);
        for (int n = cases[i].gpus - 1; n > 0; n--) {
            const double s = step_of(&w, n);
            if (s < least_s) {
                least_s = s;
                best = n;
            }
        }
        const plait_fewer_gpus fewer = fewer_of(&w);
        assert_int_equal(fewer.gpus, best);
        assert_true(fewer.proven);
        if (best == 0)
            continue;
        assert_true(fewer.best.price.step_s == least_s);
        assert_near_relative(fewer.ideal_s, least_s * best / cases[i].gpus, 1e-15);
        assert_true(fewer.searched < cases[i].gpus / 8 + 7); // whole nodes, and parts of one
    }
}

/* 7,992 GPUs are 27 x 37 nodes, and more than 16 smaller numbers can be faster. */
static void test_many_numbers__are_searched_up_to_a_limit(void **state)
{
    world w;

    (void)state;
    ask(&w, 7992, 256, "mbs=1");
    const plait_fewer_gpus fewer = fewer_of(&w);
    assert_int_equal(fewer.searched, 16);
    assert_false(fewer.proven);
    // 4,096 divides 256 sequences x 32 heads x 32 layers x 4096 tokens, so it is among the first
    assert_true(fewer.best.price.step_s <= step_of(&w, 4096));
}

/* 64 divides 32 heads x 32 layers x 64 sequences. */
static void test_a_number_that_divides_well__is_not_asked_about(void **state)
{
    world w;

    (void)state;
    ask(&w, 64, 64, "mbs=1");
    const plait_fewer_gpus fewer = fewer_of(&w);
    assert_int_equal(fewer.gpus, 0);
    assert_int_equal(fewer.searched, 0);
}

/* Memory, dollars and energy have answers of their own. */
static void test_other_objectives__are_not_asked_about(void **state)
{
    world w;

    (void)state;
    ask(&w, 56, 64, "mbs=1");
    w.options.objective = PLAIT_MINIMISE_MEMORY;
    assert_int_equal(fewer_of(&w).searched, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_number__is_the_best_of_all, begin, end),
        cmocka_unit_test_setup_teardown(test_many_numbers__are_searched_up_to_a_limit, begin, end),
        cmocka_unit_test_setup_teardown(test_a_number_that_divides_well__is_not_asked_about, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_other_objectives__are_not_asked_about, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
