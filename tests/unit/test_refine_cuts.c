/* test_refine_cuts.c - searches with layers that are cut unlike each other: whose, what they find, what they leave alone */
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/must.h"
#include "plait/search.h"
#include "base/text.h"
#include "support/world.h"

static plait_error err;

/* A model of which the fastest uniform plan does not quite fit. */
static plait_search_result search(world *w, const char *runtime, const char *limits, int threads)
{
    plait_search_result result;

    world_make(w, "llama-2-7b", runtime, "a100-40gb-sxm:1x8",
               (plait_job){.seq = 4096, .gbs = 64, .gpus = 8}, arena);
    world_limit(w, limits);
    w->options.threads = threads;
    w->options.refine = PLAIT_REFINE_ALL;
    must(plait_search(&w->problem, &w->options, arena, &result, &err), &err);
    return result;
}

static const plait_refinement *cuts_of(const plait_search_result *result)
{
    for (int i = 0; i < result->refinements; i++)
        if (text_equal(result->refinement[i].name, "per-layer TP and ZeRO"))
            return &result->refinement[i];
    return NULL;
}

static void test_cuts__are_faster_where_the_fastest_does_not_fit(void **state)
{
    plait_cost cost;
    world w;

    (void)state;
    const plait_search_result result = search(&w, "galvatron", "pp=1,cp=1", 1);
    const plait_refinement *const found = cuts_of(&result);
    assert_non_null(found);
    assert_true(found->any && found->optimal);
    assert_true(plait_plan_cuts(&found->best.plan));
    assert_true(found->best.objective < found->before);
    must(plait_plan_evaluate(&w.problem, &found->best.plan, NULL, arena, &cost, &err), &err);
    assert_int_equal(cost.verdict, PLAIT_FITS);
    assert_true(cost.step_s == found->best.price.step_s);
    assert_true(result.plan[0].price.step_s == cost.step_s);
}

static void test_cuts__are_the_same_for_any_number_of_threads(void **state)
{
    world one, two;

    (void)state;
    const plait_search_result a = search(&one, "galvatron", "cp=1", 1);
    const plait_search_result b = search(&two, "galvatron", "cp=1", 2);
    assert_true(cuts_of(&a)->best.objective == cuts_of(&b)->best.objective);
    assert_int_equal(cuts_of(&a)->points, cuts_of(&b)->points);
    assert_int_equal(cuts_of(&a)->solved, cuts_of(&b)->solved);
    const plait_plan *const p = &cuts_of(&a)->best.plan, *const q = &cuts_of(&b)->best.plan;
    for (int i = 0; i < p->stage[0].layers; i++) {
        assert_int_equal(plait_cut_of(&p->stage[0], i).tp, plait_cut_of(&q->stage[0], i).tp);
        assert_int_equal(plait_cut_of(&p->stage[0], i).zero, plait_cut_of(&q->stage[0], i).zero);
    }
}

static void test_limits__bind_layers_too(void **state)
{
    world w;

    (void)state;
    const plait_search_result result = search(&w, "galvatron", "pp=1,cp=1,tp=2..4", 1);
    const plait_plan *const best = &result.plan[0].plan;
    for (int i = 0; i < best->stage[0].layers; i++)
        assert_in_range(plait_cut_of(&best->stage[0], i).tp, 2, 4);
    const plait_search_result fixed = search(&w, "galvatron", "pp=1,cp=1,tp=2,zero=2", 1);
    assert_null(cuts_of(&fixed));
}

static void test_other_software__has_one_cut(void **state)
{
    world w;

    (void)state;
    const plait_search_result result = search(&w, "companion", "pp=1,cp=1,mbs=1", 1);
    assert_null(cuts_of(&result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts__are_faster_where_the_fastest_does_not_fit),
        cmocka_unit_test(test_cuts__are_the_same_for_any_number_of_threads),
        cmocka_unit_test(test_limits__bind_layers_too),
        cmocka_unit_test(test_other_software__has_one_cut),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
