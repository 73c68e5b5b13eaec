/* test_belief.c - what measured plans say of others, and which plans to try */
#include <math.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/must.h"
#include "plait/validate.h"

static plait_degrees plan(int tp, int mbs)
{
    plait_degrees d = plait_degrees_init();

    d.tp = tp;
    d.mbs = mbs;
    return d;
}

static plait_posterior believe(const plait_degrees *degrees, const double *step_s, int plans,
                               plait_error_parts parts)
{
    const plait_degrees *list[8];
    plait_posterior belief;
    plait_error err;

    for (int i = 0; i < plans; i++)
        list[i] = &degrees[i];
    must(plait_posterior_make(list, step_s, plans, &parts, arena, &belief, &err), &err);
    return belief;
}

/* Variances: common 0.04, tp 0.09, own 0.01; other traits are shared by all, and worth nothing. */
static void test_a_measurement__moves_plans_as_far_as_they_share(void **state)
{
    const plait_degrees degrees[] = {plan(1, 1), plan(1, 2), plan(2, 1)};
    const double step_s[] = {1.0, 1.0, 1.0};
    const plait_error_parts parts = {.common = 0.2, .trait[PLAIT_TRAIT_TP] = 0.3, .own = 0.1};
    plait_posterior belief = believe(degrees, step_s, 3, parts);
    const double known = 0.04 + 0.09 + 0.01 + 0.0001;

    (void)state;
    plait_posterior_measure(&belief, 0, exp(0.5));
    assert_near_relative(belief.mean[0], 0.5 * 0.14 / known, 1e-12);
    assert_near_relative(belief.mean[1], 0.5 * 0.13 / known, 1e-12);
    assert_near_relative(belief.mean[2], 0.5 * 0.04 / known, 1e-12);
    assert_near_relative(belief.covariance[1 * 3 + 1], 0.14 - 0.13 * 0.13 / known, 1e-12);
    assert_near_relative(belief.covariance[1 * 3 + 2], 0.04 - 0.13 * 0.04 / known, 1e-12);
    const plait_plan_posterior now = plait_posterior_of_plan(&belief, 2);
    assert_near_relative(now.step_s, exp(belief.mean[2]), 1e-12);
    assert_near_relative(now.high_s / now.step_s, now.step_s / now.low_s, 1e-12);
}

/* Of three plans predicted alike two are twins: the second try is no twin of the first. */
static void test_tries__are_no_twins(void **state)
{
    const plait_degrees degrees[] = {plan(1, 1), plan(1, 1), plan(2, 1)};
    const double step_s[] = {1.0, 1.0, 1.001};
    const plait_error_parts parts = {.common = 0.2, .trait[PLAIT_TRAIT_TP] = 0.1, .own = 0.001};
    const plait_posterior belief = believe(degrees, step_s, 3, parts);
    plait_tries tries;
    plait_error err;

    (void)state;
    must(plait_posterior_tries(&belief, 3, arena, &tries, &err), &err);
    assert_int_equal(tries.count, 3);
    assert_true(tries.plan[0] == 2 || tries.plan[1] == 2);
    assert_true(tries.regret[0] > 10.0 * tries.regret[1]);
    assert_near(tries.regret[2], 0.0, 0.0);
}

/* E max(x, 0) of a normal difference with deviation 0.1 sqrt(2) is 0.0564; exp adds half its square. */
static void test_regret__of_one_of_two_is_that_of_normal_steps(void **state)
{
    const plait_degrees degrees[] = {plan(1, 1), plan(2, 1)};
    const double step_s[] = {1.0, 1.0};
    const plait_error_parts parts = {.own = 0.1};
    const plait_posterior belief = believe(degrees, step_s, 2, parts);
    plait_tries tries;
    plait_error err;

    (void)state;
    must(plait_posterior_tries(&belief, 1, arena, &tries, &err), &err);
    assert_near(tries.regret[0], 0.0564 + 0.5 * 0.01, 0.004);
}

static void test_what_is_left__is_little_behind_a_surprise(void **state)
{
    const plait_degrees degrees[] = {plan(1, 1), plan(2, 1)};
    const double step_s[] = {1.0, 1.2};
    const plait_error_parts parts = {.common = 0.1, .own = 0.02};
    plait_posterior belief = believe(degrees, step_s, 2, parts);
    plait_tries tries;
    plait_error err;

    (void)state;
    plait_posterior_measure(&belief, 0, 1.3); // the site's, for all that is known
    must(plait_posterior_tries(&belief, 2, arena, &tries, &err), &err);
    assert_int_equal(tries.count, 1);
    assert_int_equal(tries.plan[0], 1);
    assert_true(tries.gain < 0.01);
    assert_true(tries.now < 0.001);
}

/* Two sweeps of six plans: errors follow tp alone in both, by plus and minus 0.03. */
static void test_parts__are_told_by_differences_within_sweeps(void **state)
{
    plait_evidence_row row[12] = {{.source = ""}};
    const plait_evidence evidence = {.count = 12, .row = row};
    const plait_regime regime = {.runtime = "megatron", .calibrated = true, .gpus = 8};
    const plait_band band = {.low = 0.9, .high = 1.2};
    plait_error_parts parts;
    plait_error err;

    (void)state;
    for (int i = 0; i < 12; i++) {
        row[i] = (plait_evidence_row){
            .source = i < 6 ? "a" : "b", .sweep = i < 6 ? "x" : "y", .regime = regime};
        row[i].trait[PLAIT_TRAIT_TP] = 1 << i % 2;
        row[i].trait[PLAIT_TRAIT_MBS] = 1 << i % 3;
        row[i].left_out = row[i].shipped = exp((i < 6 ? 0.1 : 0.2) + (i % 2 ? 0.03 : -0.03));
    }
    must(plait_evidence_parts(&evidence, &regime, &band, NULL, arena, &parts, &err), &err);
    assert_near(parts.trait[PLAIT_TRAIT_TP], 0.06 / sqrt(2.0), 1e-6);
    assert_near(parts.trait[PLAIT_TRAIT_MBS], 0.0, 1e-6);
    assert_near(parts.own, 0.0, 1e-6);
    assert_near_relative(parts.common, log(1.2 / 0.9) / (2.0 * 1.2815515655446004), 1e-12);
    must(plait_evidence_parts(&evidence, &regime, &band, "a", arena, &parts, &err), &err);
    assert_near(parts.trait[PLAIT_TRAIT_TP], 0.06 / sqrt(2.0), 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_measurement__moves_plans_as_far_as_they_share, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_tries__are_no_twins, begin, end),
        cmocka_unit_test_setup_teardown(test_regret__of_one_of_two_is_that_of_normal_steps, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_what_is_left__is_little_behind_a_surprise, begin, end),
        cmocka_unit_test_setup_teardown(test_parts__are_told_by_differences_within_sweeps, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
