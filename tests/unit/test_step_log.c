/* test_step_log.c - step times out of what training software prints */
#include <string.h>

#include "arena_fixture.h"
#include "assert_near.h"
#include "must.h"
#include "step_log.h"

static step_log parsed(const char *text)
{
    step_log log;
    plait_error err;

    must(step_log_parse(text, strlen(text), "run.log", arena, &log, &err), &err);
    return log;
}

static void test_logs__of_each_software_are_read(void **state)
{
    (void)state;
    assert_near_relative(
        parsed(" iteration 3/ 10 | elapsed time per iteration (ms): 1250.5 | lm loss: 1\n").step_s,
        1.2505, 1e-12);
    assert_near_relative(
        parsed("[TP=0] iteration: 3 | elapsed_time_per_iteration_ms: 1.25K | tokens: 9\n").step_s,
        1.25, 1e-12);
    assert_near_relative(parsed("steps: 10 loss: 2.5 iter time (s): 0.875 samples/sec: 9.1").step_s,
                         0.875, 1e-12);
    const step_log titan = parsed("step: 10  loss: 8  memory: 45.1GiB(57%)  tps: 7,190  mfu: 40%");
    assert_true(titan.step_s == 0.0);
    assert_near_relative(titan.tokens_per_s, 7190.0, 1e-12);
}

/* Of five steps the first two warm up; the median of 3, 9, 4 is 4. */
static void test_first_steps__do_not_count(void **state)
{
    (void)state;
    const step_log log = parsed("iter time (s): 90\niter time (s): 80\niter time (s): 3\n"
                                "nothing here\niter time (s): 9\niter time (s): 4\n");
    assert_int_equal(log.steps, 3);
    assert_near_relative(log.step_s, 4.0, 1e-12);
}

static void test_other_text__is_refused_in_a_line(void **state)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "iter time (s):",
                                        "iter time (s): fast",
                                        "tps: 0",
                                        "elapsed time per iteration (ms): 1.2.3"};
    step_log log;
    plait_error err;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(step_log_parse(texts[i], strlen(texts[i]), "run.log", arena, &log, &err),
                         PLAIT_ERROR_SCHEMA);
        assert_string_equal(err.where, "run.log");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_logs__of_each_software_are_read, begin, end),
        cmocka_unit_test_setup_teardown(test_first_steps__do_not_count, begin, end),
        cmocka_unit_test_setup_teardown(test_other_text__is_refused_in_a_line, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
