/* test_text.c - numbers that survive a round trip, nearest words, and cutting text up */
#include "support/assert_near.h"

#include <float.h>
#include <locale.h>
#include <string.h>

#include "base/text.h"

static int set_up(void **state)
{
    *state = plait_arena_new();
    return *state == NULL;
}

static int tear_down(void **state)
{
    plait_arena_fail_after(-1);
    plait_arena_free(*state);
    return 0;
}

static void test_number__is_as_short_as_it_can_be(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {0.1, "0.1"},
        {1.0 / 3.0, "0.3333333333333333"},
        {80e9, "80000000000"},
        {1e-7, "1e-07"},
        {1e15, "1000000000000000"},
        {1e22, "1e+22"},
        {-2.5, "-2.5"},
        {0.1 + 0.2, "0.30000000000000004"},
        {9007199254740991.0, "9007199254740991"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
        {-(double)NAN, "nan"},
    };
    char text[TEXT_NUMBER_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_number(cases[i].number, text), cases[i].text);
}

static void test_number__reads_back_as_the_same_double(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    int finite = 0;

    for (int i = 0; i < 20000; i++) {
        char text[TEXT_NUMBER_SIZE];
        double number, back;

        // xorshift: all the bits of a double, so all its sizes
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number))
            continue;
        finite++;
        assert_true(text_parse_number(text_number(number, text), &back));
        assert_true(back == number);
    }
    assert_true(finite > 15000);
}

/* A comma locale may be set by a program that uses the library; where none is installed, nothing is
 * shown. */
static void test_number__does_not_depend_on_the_locale(void **state)
{
    (void)state;
    char text[TEXT_NUMBER_SIZE];
    double number = 0.0;

    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        skip();
    text_number(1.5, text);
    assert_true(text_parse_number("2.5", &number));
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "1.5");
    assert_near(number, 2.5, 0.0);
}

static void test_parse_number__takes_the_whole_text_or_nothing(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",    " 1",   "1 ", "1,5", "0x10", "nan", "inf",   "-inf", "1e",    "1e+",
        "abc", "1.5s", ".",  "-",   "+",    "e5",  "1e999", "--1",  "1.2.3", "1_000",
    };
    double number = 42.0;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(text_parse_number(refused[i], &number));
    assert_near(number, 42.0, 0.0);
    assert_true(text_parse_number("-1.5e-3", &number));
    assert_near(number, -1.5e-3, 0.0);
    assert_true(text_parse_number("+.5", &number));
    assert_near(number, 0.5, 0.0);
}

static void test_parse_int__holds_the_range(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "", "0", "65", "-1", "8x", " 8", "8.0", "1e1", "99999999999999999999", "0x8"};
    int number = 42;
    int64_t large;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(text_parse_int(refused[i], 1, 64, &number));
    assert_int_equal(number, 42);
    assert_true(text_parse_int("1", 1, 64, &number));
    assert_int_equal(number, 1);
    assert_true(text_parse_int("064", 1, 64, &number));
    assert_int_equal(number, 64);
    assert_true(text_parse_int64("-9223372036854775808", INT64_MIN, INT64_MAX, &large));
    assert_true(large == INT64_MIN);
    assert_false(text_parse_int64("9223372036854775808", INT64_MIN, INT64_MAX, &large));
}

static void test_split__keeps_empty_pieces(void **state)
{
    size_t count;
    char **pieces = text_split(*state, "tp=8,,pp=4,", ',', &count);

    assert_int_equal(count, 4);
    assert_string_equal(pieces[0], "tp=8");
    assert_string_equal(pieces[1], "");
    assert_string_equal(pieces[2], "pp=4");
    assert_string_equal(pieces[3], "");
    assert_null(pieces[4]);
}

static void test_split__of_nothing_has_no_pieces(void **state)
{
    size_t count = 9;
    char **pieces = text_split(*state, "", ',', &count);

    assert_int_equal(count, 0);
    assert_null(pieces[0]);
}

static void test_split__says_when_memory_runs_out(void **state)
{
    for (long calls = 0; calls < 2; calls++) {
        plait_arena_fail_after(calls);
        assert_null(text_split(*state, "a,b", ',', NULL));
    }
}

static void test_cut__returns_what_follows(void **state)
{
    (void)state;
    char text[] = "tp=8=9";

    assert_string_equal(text_cut(text, '='), "8=9");
    assert_string_equal(text, "tp");
    assert_null(text_cut(text, '='));
}

static void test_ends__of_a_text(void **state)
{
    (void)state;
    assert_true(text_starts_with("full:4", "full:"));
    assert_false(text_starts_with("full", "full:"));
    assert_true(text_ends_with("a.json", ".json"));
    assert_false(text_ends_with("json", ".json"));
    assert_true(text_ends_with("json", ""));
}

static void test_nearest__forgives_slips_of_the_hand(void **state)
{
    (void)state;
    static const char *const known[] = {"latency_us",   "bandwidth_gb_per_s", "source", "gpt3-175b",
                                        "llama-3.1-8b", "llama-3.1-70b",      "tp",     NULL};

    assert_string_equal(text_nearest("latencyus", known), "latency_us");
    assert_string_equal(text_nearest("sorce", known), "source");
    assert_string_equal(text_nearest("soucre", known), "source");
    assert_string_equal(text_nearest("LATENCY_US", known), "latency_us");
    assert_string_equal(text_nearest("bandwith_gb_per_s", known), "bandwidth_gb_per_s");
    assert_string_equal(text_nearest("llama-3.1-70", known), "llama-3.1-70b");
    assert_string_equal(text_nearest("pt", known), "tp");
}

static void test_nearest__completes_a_beginning(void **state)
{
    (void)state;
    static const char *const known[] = {"latency_us", "bandwidth_gb_per_s", NULL};

    assert_string_equal(text_nearest("bandwidth", known), "bandwidth_gb_per_s");
}

static void test_nearest__does_not_guess_wildly(void **state)
{
    (void)state;
    static const char *const known[] = {"latency_us", "bandwidth_gb_per_s", NULL};
    static const char *const none[] = {NULL};
    char endless[200];

    memset(endless, 'l', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_null(text_nearest("colour", known));
    assert_null(text_nearest("", known));
    assert_null(text_nearest(endless, known));
    assert_null(text_nearest("source", none));
}

static void test_utf8__is_as_rfc_3629_has_it(void **state)
{
    (void)state;
    static const char *const good[] = {
        "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {
        "\x80",         // a second byte first
        "\xc1\xbf",     // overlong
        "\xe0\x9f\xbf", // overlong
        "\xed\xa0\x80", // a surrogate
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xe2\x82", // cut off
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(text_utf8_prefix(good[i], strlen(good[i])), strlen(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(text_utf8_prefix(bad[i], strlen(bad[i])), 0);
    assert_int_equal(text_utf8_prefix("ab\xff", 3), 2);
}

static void test_builder__grows(void **state)
{
    text_builder out;
    size_t length;
    const char *text;

    text_builder_init(&out, *state);
    for (int i = 0; i < 1000; i++)
        text_append_printf(&out, "%03d,", i);
    text_append_repeated(&out, '-', 500);
    text_append_number(&out, 0.5);
    text_append_char(&out, 's');
    text = text_builder_finish(&out, &length);
    assert_int_equal(length, 4504);
    assert_memory_equal(text, "000,001,", 8);
    assert_string_equal(text + 4000 + 500, "0.5s");
}

static void test_builder__of_nothing_is_an_empty_text(void **state)
{
    text_builder out;

    text_builder_init(&out, *state);
    assert_string_equal(text_builder_finish(&out, NULL), "");
}

static void test_builder__remembers_that_memory_ran_out(void **state)
{
    text_builder out;

    text_builder_init(&out, *state);
    plait_arena_fail_after(0);
    text_append(&out, "lost");
    plait_arena_fail_after(-1);
    text_append(&out, "also lost");
    assert_null(text_builder_finish(&out, NULL));
}

// ---- plain text ----------------------------------------------------------------------------

/* What steers a terminal, ends a line somewhere or turns text round, and bytes that are no text. */
static void test_plain__has_no_steering_characters(void **state)
{
    static const char *const steering[] = {
        "\x1b[2J",      "a\nb",         "a\tb",         "\x7f",         "\302\23331m",
        "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xae", "\xe2\x81\xa6", "\xef\xbb\xbf",
        "\xd8\x9c",     "\xff",         "\xc3",         "\xed\xa0\x80",
    };
    static const char *const plain[] = {"", "llama-3.1-8b", "\xc3\xa9t\xc3\xa9 #:\"'$`\\%",
                                        "\xe6\xa8\xa1\xe5\x9e\x8b", "\xf0\x9f\xa6\x99"};

    (void)state;
    for (size_t i = 0; i < sizeof steering / sizeof *steering; i++)
        assert_false(text_is_plain(steering[i]));
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_true(text_is_plain(plain[i]));
}

static void test_plain__is_made_by_a_question_mark_for_each(void **state)
{
    char lines[] = "a\x1b[m\n\xe2\x80\xa8"
                   "b\r\n\xff";
    text_builder out;

    assert_string_equal(text_plain(*state, "\x1b[2Jm\xe2\x80\xa8y: \xc3\xa9\xff"),
                        "?[2Jm?y: \xc3\xa9?");
    text_make_lines_plain(lines);
    assert_string_equal(lines, "a?[m\n?b?\n?");
    text_builder_init(&out, *state);
    text_append(&out, "\n");
    text_append_plain(&out, "a\nb");
    assert_string_equal(text_builder_finish(&out, NULL), "\na?b");
}

#define text_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number__is_as_short_as_it_can_be),
        cmocka_unit_test(test_number__reads_back_as_the_same_double),
        cmocka_unit_test(test_number__does_not_depend_on_the_locale),
        cmocka_unit_test(test_parse_number__takes_the_whole_text_or_nothing),
        cmocka_unit_test(test_parse_int__holds_the_range),
        text_test(test_split__keeps_empty_pieces),
        text_test(test_split__of_nothing_has_no_pieces),
        text_test(test_split__says_when_memory_runs_out),
        cmocka_unit_test(test_cut__returns_what_follows),
        cmocka_unit_test(test_ends__of_a_text),
        cmocka_unit_test(test_nearest__forgives_slips_of_the_hand),
        cmocka_unit_test(test_nearest__completes_a_beginning),
        cmocka_unit_test(test_nearest__does_not_guess_wildly),
        cmocka_unit_test(test_utf8__is_as_rfc_3629_has_it),
        cmocka_unit_test(test_plain__has_no_steering_characters),
        text_test(test_plain__is_made_by_a_question_mark_for_each),
        text_test(test_builder__grows),
        text_test(test_builder__of_nothing_is_an_empty_text),
        text_test(test_builder__remembers_that_memory_ran_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
