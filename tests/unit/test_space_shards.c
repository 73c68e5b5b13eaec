/* test_space_shards.c - a search looks at the shards of every schedule, whichever comes first */
#include "support/arena_fixture.h"
#include "support/must.h"
#include "support/world.h"

static plait_ranked best(const char *limits)
{
    plait_search_result result;
    plait_error err;
    world w;

    world_make(&w, "llama-3.1-8b", "companion", "dgx-h100",
               (plait_job){.seq = 4096, .gbs = 12, .gpus = 16}, arena);
    world_limit(&w, limits);
    must(plait_search(&w.problem, &w.options, arena, &result, &err), &err);
    assert_int_equal(result.plans, 1);
    return result.plan[0];
}

/* Optimizers that check behind the step say something with schedules that come late in the list alone. */
static void test_a_search__finds_what_only_some_schedules_have(void **state)
{
    static const char limits[] = "fusion=none,grad_reduce=fp32,offload_acts=none,cp=1,tp=2,pp=8";
    static const char asked[] = "fusion=none,grad_reduce=fp32,offload_acts=none,cp=1,tp=2,pp=8,"
                                "post_validation=1";

    (void)state;
    const plait_ranked found = best(limits);
    assert_true(found.plan.degrees.post_validation);
    assert_true(found.price.step_s <= best(asked).price.step_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_search__finds_what_only_some_schedules_have, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
