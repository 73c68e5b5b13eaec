/* test_opt.c - a command line as it is read: values, refusals, operands */
#include "support/assert_near.h"

#include <limits.h>
#include <string.h>

#include "cli/opt.h"

typedef struct world {
    plait_arena *arena;
    plait_error err;
    opt_operands operands;
    struct values {
        int count, whole;
        bool json, loud;
        const char *name;
        const char *list;
    } values;
} world;

static const opt options[] = {
    OPT_HEADING("numbers"),
    OPT_OF_INT(struct values, count, "count", "N", 1, 1000, "how many"),
    OPT_OF_INT(struct values, whole, "whole", "N", INT_MIN, INT_MAX, "any integer"),
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(struct values, json, "json", "one document"),
    OPT_OF_FLAG(struct values, loud, "loud", "more words"),
    OPT_OF_TEXT(struct values, name, "name", 'n', "NAME", "a name"),
    OPT_OF_LIST(struct values, list, "list", "A,B", "a list"),
    OPT_END,
};

static const opt_usage usage = {
    .command = "knit",
    .synopsis = "YARN NEEDLES",
    .summary = "Knit.",
    .about = "",
    .max_operands = 2,
    .options = options,
};

static int set_up(void **state)
{
    static world w;

    w = (world){.arena = plait_arena_new()};
    *state = &w;
    return w.arena == NULL;
}

static int tear_down(void **state)
{
    world *w = *state;

    plait_arena_fail_after(-1);
    plait_arena_free(w->arena);
    return 0;
}

/* Words of a command line behind its verb, from the beginning. */
#define PARSE(w, ...)                                                                              \
    parse(w, (const char *[]){"knit", __VA_ARGS__, NULL},                                          \
          (int)(sizeof((const char *[]){"knit", __VA_ARGS__}) / sizeof(char *)))

static plait_status parse(world *w, const char **words, int count)
{
    w->values = (struct values){0};
    w->err = (plait_error){PLAIT_OK, "", ""};
    return opt_parse(&usage, count, words, w->arena, &w->values, &w->operands, &w->err);
}

static void assert_refused(const world *w, plait_status found, plait_status expected,
                           const char *where, const char *message)
{
    assert_int_equal(found, expected);
    assert_int_equal(w->err.status, expected);
    assert_string_equal(w->err.where, where);
    assert_string_equal(w->err.message, message);
}

/* ---- what is read ---- */

static void test_nothing__leaves_the_defaults(void **state)
{
    world *w = *state;
    const char *words[] = {"knit", NULL};

    w->values = (struct values){.count = 7, .name = "wool"};
    assert_int_equal(opt_parse(&usage, 1, words, w->arena, &w->values, &w->operands, &w->err),
                     PLAIT_OK);
    assert_int_equal(w->values.count, 7);
    assert_string_equal(w->values.name, "wool");
    assert_int_equal(w->operands.count, 0);
    assert_false(w->operands.help);
}

static void test_values__stand_behind_a_blank_or_an_equals_sign(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "--count", "3", "--name=a=b", "--json"), PLAIT_OK);
    assert_int_equal(w->values.count, 3);
    assert_string_equal(w->values.name, "a=b");
    assert_true(w->values.json);
    assert_false(w->values.loud);
    assert_int_equal(PARSE(w, "--name="), PLAIT_OK);
    assert_string_equal(w->values.name, "");
}

static void test_a_letter__takes_its_value_beside_or_behind_it(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "-n", "blue"), PLAIT_OK);
    assert_string_equal(w->values.name, "blue");
    assert_int_equal(PARSE(w, "-nblue"), PLAIT_OK);
    assert_string_equal(w->values.name, "blue");
    assert_int_equal(PARSE(w, "-n=red"), PLAIT_OK);
    assert_string_equal(w->values.name, "red");
}

static void test_repeats__of_a_value_count_last_and_of_a_list_join(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "--count", "1", "--list", "a", "--count", "2", "--list", "b,c",
                           "--name", "x", "--name", "y"),
                     PLAIT_OK);
    assert_int_equal(w->values.count, 2);
    assert_string_equal(w->values.name, "y");
    assert_string_equal(w->values.list, "a,b,c");
}

static void test_a_value__may_look_like_an_option(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "--whole", "-5", "--name", "--json"), PLAIT_OK);
    assert_int_equal(w->values.whole, -5);
    assert_string_equal(w->values.name, "--json");
    assert_false(w->values.json);
}

static void test_help__is_a_wish_that_needs_no_operands(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "-h"), PLAIT_OK);
    assert_true(w->operands.help);
    assert_int_equal(PARSE(w, "--help", "--count", "2"), PLAIT_OK);
    assert_true(w->operands.help);
}

/* ---- numbers ---- */

static void test_numbers__are_decimal_with_or_without_a_sign(void **state)
{
    world *w = *state;
    static const struct {
        const char *text;
        int number;
    } cases[] = {
        {"08", 8}, {"+5", 5}, {"-0", 0}, {"2147483647", INT_MAX}, {"-2147483648", INT_MIN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(PARSE(w, "--whole", cases[i].text), PLAIT_OK);
        assert_int_equal(w->values.whole, cases[i].number);
    }
}

static void test_numbers__in_other_forms_are_refused(void **state)
{
    world *w = *state;
    static const char *const cases[] = {
        "1e3", "1.0", "0x10", "1,000", "8q",         " 8",          "8 ",
        "--8", "+",   "-",    "ten",   "2147483648", "-2147483649", "99999999999999999999",
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (PARSE(w, "--whole", cases[i]) != PLAIT_ERROR_RANGE)
            fail_msg("taken: \"%s\"", cases[i]);
    assert_int_equal(w->values.whole, 0);
}

static void test_a_number__out_of_its_range_is_told_the_range(void **state)
{
    world *w = *state;

    assert_refused(w, PARSE(w, "--count", "0"), PLAIT_ERROR_RANGE, "--count",
                   "expected an integer from 1 to 1000, found \"0\"");
    assert_refused(w, PARSE(w, "--count=1001"), PLAIT_ERROR_RANGE, "--count",
                   "expected an integer from 1 to 1000, found \"1001\"");
    assert_refused(w, PARSE(w, "--count", ""), PLAIT_ERROR_RANGE, "--count",
                   "expected an integer from 1 to 1000, found \"\"");
    assert_refused(w, PARSE(w, "--whole", "2147483648"), PLAIT_ERROR_RANGE, "--whole",
                   "expected an integer of at least -2147483648, found \"2147483648\"");
}

static void test_a_long_value__is_cut_in_the_complaint(void **state)
{
    world *w = *state;
    char digits[4096];

    memset(digits, '9', sizeof digits - 1);
    digits[sizeof digits - 1] = '\0';
    assert_int_equal(PARSE(w, "--count", digits), PLAIT_ERROR_RANGE);
    assert_true(strlen(w->err.message) < 120);
}

/* ---- refusals ---- */

static void test_an_unknown_option__is_told_the_nearest(void **state)
{
    world *w = *state;

    assert_refused(w, PARSE(w, "--cuont", "3"), PLAIT_ERROR_SCHEMA, "--cuont",
                   "expected the option --count, found --cuont");
    assert_refused(w, PARSE(w, "--counting=3"), PLAIT_ERROR_SCHEMA, "--counting=3",
                   "expected the option --count, found --counting=3");
    assert_refused(w, PARSE(w, "--xyzzy"), PLAIT_ERROR_SCHEMA, "--xyzzy",
                   "expected an option that `plait knit --help` lists, found --xyzzy");
    assert_refused(w, PARSE(w, "-x"), PLAIT_ERROR_SCHEMA, "-x",
                   "expected an option that `plait knit --help` lists, found -x");
}

static void test_an_abbreviation__is_unknown(void **state)
{
    world *w = *state;

    assert_refused(w, PARSE(w, "--js"), PLAIT_ERROR_SCHEMA, "--js",
                   "expected the option --json, found --js");
}

static void test_a_heading__is_no_option(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "--numbers"), PLAIT_ERROR_SCHEMA);
}

static void test_a_missing_value__is_named(void **state)
{
    world *w = *state;

    assert_refused(w, PARSE(w, "--count"), PLAIT_ERROR_RANGE, "--count",
                   "expected a value (N), found nothing");
    assert_refused(w, PARSE(w, "-n"), PLAIT_ERROR_RANGE, "--name",
                   "expected a value (NAME), found nothing");
}

static void test_a_switch__takes_no_value(void **state)
{
    world *w = *state;

    assert_refused(w, PARSE(w, "--json=yes"), PLAIT_ERROR_RANGE, "--json",
                   "expected no value, since this option is a switch, found --json=yes");
}

/* ---- operands ---- */

static void test_operands__stand_anywhere_in_order(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "wool", "--count", "2", "", "--json"), PLAIT_OK);
    assert_int_equal(w->operands.count, 2);
    assert_string_equal(w->operands.text[0], "wool");
    assert_string_equal(w->operands.text[1], "");
    assert_true(w->values.json);
}

static void test_two_hyphens__end_the_options(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "--count", "2", "--", "--json", "-n"), PLAIT_OK);
    assert_int_equal(w->operands.count, 2);
    assert_string_equal(w->operands.text[0], "--json");
    assert_string_equal(w->operands.text[1], "-n");
    assert_false(w->values.json);
}

static void test_one_hyphen__is_an_operand(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "-", "--json"), PLAIT_OK);
    assert_int_equal(w->operands.count, 1);
    assert_string_equal(w->operands.text[0], "-");
}

static void test_one_hyphen__is_read_once(void **state)
{
    world *w = *state;

    assert_int_equal(PARSE(w, "-:2", "needles"), PLAIT_OK);
    assert_string_equal(w->operands.text[0], "-:2");
    assert_refused(w, PARSE(w, "-", "-:2"), PLAIT_ERROR_SCHEMA, "-:2",
                   "expected - (standard input) once, found it twice: name a file instead");
    assert_refused(w, PARSE(w, "-", "--name", "-"), PLAIT_ERROR_SCHEMA, "-",
                   "expected - (standard input) once, found it twice: name a file instead");
}

static void test_too_many_operands__are_refused_with_the_usage(void **state)
{
    world *w = *state;

    assert_refused(w, PARSE(w, "a", "b", "c", "d"), PLAIT_ERROR_SCHEMA, "knit",
                   "expected `plait knit YARN NEEDLES`, found an extra operand \"c\"");
}

static void test_out_of_memory__is_a_failure_at_every_allocation(void **state)
{
    world *w = *state;
    plait_status status = PLAIT_ERROR_NOMEM;

    for (int allowed = 0; status != PLAIT_OK && allowed < 100; allowed++) {
        plait_arena_free(w->arena);
        w->arena = plait_arena_new();
        plait_arena_fail_after(allowed);
        status = PARSE(w, "wool", "--count", "2", "--list", "a", "--list", "b");
        plait_arena_fail_after(-1);
        if (status != PLAIT_OK)
            assert_int_equal(status, PLAIT_ERROR_NOMEM);
    }
    assert_int_equal(status, PLAIT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing__leaves_the_defaults),
        TEST(test_values__stand_behind_a_blank_or_an_equals_sign),
        TEST(test_a_letter__takes_its_value_beside_or_behind_it),
        TEST(test_repeats__of_a_value_count_last_and_of_a_list_join),
        TEST(test_a_value__may_look_like_an_option),
        TEST(test_help__is_a_wish_that_needs_no_operands),
        TEST(test_numbers__are_decimal_with_or_without_a_sign),
        TEST(test_numbers__in_other_forms_are_refused),
        TEST(test_a_number__out_of_its_range_is_told_the_range),
        TEST(test_a_long_value__is_cut_in_the_complaint),
        TEST(test_an_unknown_option__is_told_the_nearest),
        TEST(test_an_abbreviation__is_unknown),
        TEST(test_a_heading__is_no_option),
        TEST(test_a_missing_value__is_named),
        TEST(test_a_switch__takes_no_value),
        TEST(test_operands__stand_anywhere_in_order),
        TEST(test_two_hyphens__end_the_options),
        TEST(test_one_hyphen__is_an_operand),
        TEST(test_one_hyphen__is_read_once),
        TEST(test_too_many_operands__are_refused_with_the_usage),
        TEST(test_out_of_memory__is_a_failure_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
