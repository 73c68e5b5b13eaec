/* test_cases.c - published systems: every file loads, invalid files are rejected, figures compare */
#include "support/assert_near.h"
#include "io/plans/cases.h"
#include "support/must.h"
#include "plait/data.h"
#include "report/report_answers.h"

#include <string.h>

static int begin(void **state)
{
    *state = plait_arena_new();
    return *state == NULL;
}

static int end(void **state)
{
    plait_arena_free(*state);
    return 0;
}

static case_study parse(plait_arena *arena, const char *text)
{
    case_study study;
    plait_error err;

    must(cases_parse(text, strlen(text), "mine", arena, &study, &err), &err);
    return study;
}

static void refuses(plait_arena *arena, const char *text, const char *where, const char *message)
{
    case_study study;
    plait_error err = {PLAIT_OK, "", ""};

    assert_int_not_equal(cases_parse(text, strlen(text), "mine", arena, &study, &err), PLAIT_OK);
    assert_string_equal(err.where, where);
    if (strstr(err.message, message) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.message, message);
}

static void test_cases__every_file_loads_and_has_its_name_inside(void **state)
{
    const char *const *names;
    size_t count;
    plait_error err;

    must(plait_data_list(PLAIT_DATA_CASES, *state, &names, &count, &err), &err);
    assert_true(count >= 9);
    for (size_t i = 0; i < count; i++) {
        case_study study;

        must(cases_find(names[i], *state, &study, &err), &err);
        assert_string_equal(study.name, names[i]);
        assert_true(study.title[0] != '\0' && study.source[0] != '\0');
    }
}

#define HEAD "{\"name\": \"x\", \"title\": \"t\", \"source\": \"s\", "
#define COMMON                                                                                     \
    HEAD                                                                                           \
        "\"model\": \"gpt2\", \"cluster\": \"dgx-a100\", \"runtime\": \"megatron\", \"gpus\": 8, " \
        "\"job\": {\"seq\": 1024, \"gbs\": 64}, \"plan\": {\"tp\": 2, \"zero\": 1}, "

/* A row inherits the values of the file and overrides them by its own. */
static void test_cases__rows_inherit_from_the_file(void **state)
{
    const case_study study =
        parse(*state, COMMON "\"rows\": [{\"name\": \"a\"}, {\"name\": \"b\", \"gpus\": 16, "
                             "\"job\": {\"gbs\": 32}, \"plan\": {\"tp\": 4, \"recompute\": "
                             "\"full\"}, \"published\": {\"step_s\": 2.5}}]}");
    const case_row *const a = &study.row[0], *const b = &study.row[1];

    assert_int_equal(study.rows, 2);
    assert_int_equal(a->gpus, 8);
    assert_int_equal(a->gbs, 64);
    assert_string_equal(a->key[PLAIT_KEY_TP], "2");
    assert_null(a->key[PLAIT_KEY_RECOMPUTE]);
    assert_true(isnan(a->published[CASE_step_s]));
    assert_int_equal(b->gpus, 16);
    assert_int_equal(b->gbs, 32);
    assert_int_equal(b->seq, 1024);
    assert_string_equal(b->key[PLAIT_KEY_TP], "4");
    assert_string_equal(b->key[PLAIT_KEY_ZERO], "1");
    assert_string_equal(b->key[PLAIT_KEY_RECOMPUTE], "full");
    assert_near(b->published[CASE_step_s], 2.5, 0.0);
    assert_int_equal(b->against, -1);
}

static void test_cases__reject_unknown_values_with_their_place(void **state)
{
    refuses(*state, HEAD "\"rows\": []}", "mine:/rows", "expected 1 to 256 rows");
    refuses(*state, HEAD "\"rows\": [{\"name\": \"a\"}]}", "mine:/rows/0", "expected model here");
    refuses(*state, COMMON "\"rows\": [{\"name\": \"a\", \"gpu\": 8}]}", "mine:/rows/0/gpu",
            "gpus");
    refuses(*state, COMMON "\"rows\": [{\"name\": \"a\", \"gpus\": 0}]}", "mine:/rows/0/gpus",
            "found 0");
    refuses(*state, COMMON "\"rows\": [{\"name\": \"a\", \"plan\": {\"tp\": 0}}]}",
            "mine:/rows/0/plan/tp", "expected");
    refuses(*state, COMMON "\"rows\": [{\"name\": \"a\", \"plan\": {\"schedule\": \"2f2b\"}}]}",
            "mine:/rows/0/plan/schedule", "2f2b");
    refuses(*state, COMMON "\"rows\": [{\"name\": \"a\", \"published\": {\"step\": 1}}]}",
            "mine:/rows/0/published/step", "step_s");
    refuses(*state, COMMON "\"rows\": [{\"name\": \"a\", \"published\": {\"step_s\": -1}}]}",
            "mine:/rows/0/published/step_s", "found -1");
    refuses(*state, COMMON "\"rows\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}", "mine:/rows/1/name",
            "again");
}

static void test_cases__compare_with_an_earlier_row(void **state)
{
    refuses(*state, COMMON "\"rows\": [{\"name\": \"a\", \"against\": \"b\"}, {\"name\": \"b\"}]}",
            "mine:/rows/0/against", "found \"b\"");
    refuses(*state,
            COMMON "\"rows\": [{\"name\": \"a\", \"published\": {\"speedup_percent\": 3}}]}",
            "mine:/rows/0/against", "found none");
    refuses(*state,
            COMMON "\"rows\": [{\"name\": \"a\", \"published\": {\"speedup_percent\": -100}}]}",
            "mine:/rows/0/published/speedup_percent", "more than -100");
    refuses(*state, COMMON "\"rows\": [{\"name\": \"a\", \"sync_stages\": 2}]}",
            "mine:/rows/0/sync_stages", "together with");
}

/* 12 s for 10 s is an error of 20 %; a gain of 25 % for 20 % is one of five points. */
static void test_case_error__is_relative_or_in_points_for_gains(void **state)
{
    (void)state;
    assert_near(case_error(CASE_step_s, 12.0, 10.0), 0.2, 1e-12);
    assert_near(case_error(CASE_speedup_percent, 25.0, 20.0), 0.05, 1e-12);
    assert_true(isnan(case_error(CASE_step_s, (double)NAN, 10.0)));
}

static report_plan plan_of(double tokens_per_s, int stages)
{
    report_plan plan = {.verdict = PLAIT_FITS, .degrees = plait_degrees_init()};

    plan.degrees.pp = stages;
    plan.cost.step_s = 1.0;
    plan.cost.tokens_per_s_per_gpu = tokens_per_s;
    return plan;
}

/* Our gain is (T + 4 g) / (T + g) = 1.4 / 1.1 with g = T/10; the published 27 % mean g = 9.9 %. */
static void test_case_compare__finds_the_share_of_gradients(void **state)
{
    const case_study study = parse(
        *state, COMMON "\"rows\": [{\"name\": \"bulk\"}, {\"name\": \"shifted\", \"against\": "
                       "\"bulk\", \"sync_stages\": 4, \"published\": "
                       "{\"speedup_percent\": 27}}]}");
    const report_plan bulk = plan_of(1.1, 4), shifted = plan_of(1.4, 4);
    case_priced priced[] = {{.plan = &bulk}, {.plan = &shifted}};

    case_compare(&study, priced, 0);
    case_compare(&study, priced, 1);
    assert_near(priced[1].ours[CASE_speedup_percent], 100.0 * (1.4 / 1.1 - 1.0), 1e-9);
    assert_near(priced[1].ours[CASE_sync_share_percent], 10.0, 1e-9);
    assert_near(priced[1].published[CASE_sync_share_percent], 9.89, 0.005);
    assert_true(isnan(priced[0].ours[CASE_step_s])); // not published
}

static void test_case_compare__of_a_plan_that_cannot_run_has_no_figures(void **state)
{
    const case_study study =
        parse(*state, COMMON "\"rows\": [{\"name\": \"a\", \"published\": {\"step_s\": 2}}]}");
    report_plan plan = plan_of(1.0, 1);
    case_priced priced = {.plan = &plan};

    plan.verdict = PLAIT_INVALID;
    case_compare(&study, &priced, 0);
    assert_true(isnan(priced.ours[CASE_step_s]));
    assert_near(priced.published[CASE_step_s], 2.0, 0.0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_cases__every_file_loads_and_has_its_name_inside),
        TEST(test_cases__rows_inherit_from_the_file),
        TEST(test_cases__reject_unknown_values_with_their_place),
        TEST(test_cases__compare_with_an_earlier_row),
        TEST(test_case_error__is_relative_or_in_points_for_gains),
        TEST(test_case_compare__finds_the_share_of_gradients),
        TEST(test_case_compare__of_a_plan_that_cannot_run_has_no_figures),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
