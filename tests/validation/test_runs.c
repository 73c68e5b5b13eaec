/* test_runs.c - every measured run gets an answer; the errors are printed, not judged */
#include <math.h>
#include <stdio.h>

#include "support/assert_near.h"
#include "plait/validate.h"
#include "report/report_validate.h"

static void test_runs__get_an_answer_each(void **state)
{
    plait_arena *arena = plait_arena_new();
    plait_validation validation;
    plait_runs runs;
    plait_error err = {PLAIT_OK, "", ""};

    (void)state;
    assert_non_null(arena);
    assert_int_equal(plait_runs_load("tests/validation/runs.csv", arena, &runs, &err), PLAIT_OK);
    assert_int_equal(plait_validate(&runs, arena, &validation, &err), PLAIT_OK);
    for (size_t i = 0; i < runs.count; i++) {
        const plait_run_price *const price = &validation.price[i];

        assert_ptr_equal(price->run, &runs.run[i]);
        if (price->priced)
            assert_true(isfinite(price->cost.step_s) && price->memory_bytes > 0.0);
        else
            assert_true(price->note[0] != '\0');
    }
    assert_int_equal(report_validation(&validation, PLAIT_BY_SOURCE, stdout, &err), PLAIT_OK);
    assert_true(validation.timed > 0);
    assert_true((double)validation.timed_priced >= 0.95 * (double)validation.timed);
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs__get_an_answer_each)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
