/*
 * test_space_shards.c - a search looks at the shards of every schedule, whichever comes first, and at those whose
 * other keys have no effect
 */
#include "support/arena_fixture.h"
#include "support/must.h"
#include "support/world.h"

/*
 * @param measured  scatter step has measured runs
 * @param numerics  formats may be narrower
 */
static plait_ranked best_with(const char *runtime, int gpus, const char *limits, bool measured,
                              bool numerics)
{
    plait_search_result result;
    plait_error err;
    world w;

    world_make(&w, "llama-3.1-8b", runtime, "dgx-h100",
               (plait_job){.seq = 4096, .gbs = 12, .gpus = gpus}, arena);
    if (!measured)
        w.runtime.support.unmeasured[PLAIT_KEY_SCATTER] = 1u << PLAIT_SCATTER_STEP;
    world_limit(&w, limits);
    w.options.allow_numerics = numerics;
    must(plait_search(&w.problem, &w.options, arena, &result, &err), &err);
    assert_int_equal(result.plans, 1);
    return result.plan[0];
}

static plait_ranked best_of(const char *runtime, int gpus, const char *limits)
{
    return best_with(runtime, gpus, limits, true, false);
}

static plait_ranked best(const char *limits)
{
    return best_of("companion", 16, limits);
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

/*
 * Without replicas nothing is scattered, whenever that is. But Galvatron has scatter step with grad_sync shifted
 * alone, and AutoModel ZeRO 2 with scatter step alone (rules G3, A5).
 */
static void test_a_search__finds_plans_whose_keys_have_no_effect(void **state)
{
    (void)state;
    const plait_ranked galvatron = best_of("galvatron", 8, "tp=8,scatter=step");
    assert_int_equal(galvatron.plan.degrees.dp, 1);
    assert_int_equal(galvatron.plan.degrees.grad_sync, PLAIT_SYNC_SHIFTED);
    const plait_ranked automodel = best_of("automodel", 8, "tp=8");
    assert_int_equal(automodel.plan.degrees.zero, 2);
    assert_true(automodel.price.step_s <= best_of("automodel", 8, "tp=8,zero=3").price.step_s);
}

/* A value without effect is no technique, so that it needs no measured runs. */
static void test_a_search__needs_no_runs_of_values_without_effect(void **state)
{
    (void)state;
    assert_int_equal(best_with("automodel", 8, "tp=8", false, false).plan.degrees.zero, 2);
    assert_int_equal(best_with("automodel", 8, "tp=4", false, false).plan.degrees.zero, 3);
}

/* With the state on the host, one GPU copies parameters less often if they stay gathered. */
static void test_a_search__keeps_parameters_of_the_host_gathered(void **state)
{
    (void)state;
    const plait_ranked found = best_of("deepspeed", 1, "offload=params");
    assert_int_equal(found.plan.degrees.reshard, PLAIT_RESHARD_NEVER);
    assert_true(found.price.step_s <
                best_of("deepspeed", 1, "offload=params,reshard=always").price.step_s);
}

/* 8-bit weights and 4-bit gradients (ZeRO++) change numerics, so the options must allow them. */
static void test_a_search__quantises_if_numerics_may_change(void **state)
{
    static const char limits[] = "zero=3,shard_group=4,offload=none";

    (void)state;
    const plait_ranked usual = best_with("deepspeed", 4, limits, true, false);
    const plait_ranked narrow = best_with("deepspeed", 4, limits, true, true);
    assert_int_equal(usual.plan.degrees.quantise, PLAIT_QUANTISE_NONE);
    assert_int_not_equal(narrow.plan.degrees.quantise, PLAIT_QUANTISE_NONE);
    assert_true(narrow.price.step_s < usual.price.step_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_search__finds_what_only_some_schedules_have, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_search__finds_plans_whose_keys_have_no_effect, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_search__needs_no_runs_of_values_without_effect,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_a_search__quantises_if_numerics_may_change, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_search__keeps_parameters_of_the_host_gathered, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
