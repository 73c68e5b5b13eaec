/* test_lines.c - lines of text break between words, with later pieces indented */
#include <stdlib.h>
#include <string.h>

#include "support/assert_near.h"
#include "report/lines.h"

/* Returns the line as printed at a width; the caller frees it. */
static char *printed(const char *line, size_t width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    lines_print(line, width, out);
    fclose(out);
    return text;
}

static void assert_printed(const char *line, size_t width, const char *expected)
{
    char *const text = printed(line, width);

    assert_string_equal(text, expected);
    free(text);
}

static void test_line__breaks_between_words_and_hangs(void **state)
{
    (void)state;
    assert_printed("one two three", 13, "one two three\n");
    assert_printed("one two three", 12, "one two\n  three\n");
    assert_printed("  one two three", 11, "  one two\n    three\n");
    assert_printed("one two three", 0, "one two three\n");
}

/* "80 %" and "tp 4" stay whole if that fills two thirds of the line. */
static void test_number__stays_with_its_unit(void **state)
{
    (void)state;
    assert_printed("the band holds 80 % of runs", 18, "the band holds\n  80 % of runs\n");
    assert_printed("tp 4, pp 8, dp 32, mbs 1", 14, "tp 4, pp 8,\n  dp 32, mbs 1\n");
}

static void test_word__is_never_split(void **state)
{
    (void)state;
    assert_printed("split layout:Et|(t|)*4L even", 8, "split\n  layout:Et|(t|)*4L\n  even\n");
}

static void test_command__can_be_pasted(void **state)
{
    (void)state;
    assert_printed("next: plait eval m c --tp 4 --split 'a b'", 26,
                   "next: plait eval m c \\\n    --tp 4 --split 'a b'\n");
    assert_printed("plait eval --split 'a b c d'", 17,
                   "plait eval \\\n    --split \\\n    'a b c d'\n");
}

static void test_table_of_two_columns__hangs_under_the_second(void **state)
{
    (void)state;
    assert_printed("  time    one two three four five", 30,
                   "  time    one two three four\n          five\n");
}

/* "·" and "é" are two bytes and one column each. */
static void test_width__counts_characters_and_not_bytes(void **state)
{
    (void)state;
    assert_printed("caf\xc3\xa9 \xc2\xb7 tea", 10, "caf\xc3\xa9 \xc2\xb7 tea\n");
    assert_int_equal(lines_columns("caf\xc3\xa9 \xc2\xb7", 8), 6);
    assert_int_equal(lines_columns("\xe6\xa8\xa1\xe5\x9e\x8b", 6), 4); // CJK
    assert_int_equal(lines_columns("e\xcc\x81", 3), 1);                // a combining accent
    assert_int_equal(lines_columns("\xf0\x9f\x9a\x80 \xff", 6), 4);    // an emoji, a stray byte
    assert_printed("\xe6\xa8\xa1\xe5\x9e\x8b ab", 6, "\xe6\xa8\xa1\xe5\x9e\x8b\n  ab\n");
}

static void test_memory_stream__has_no_width_despite_columns(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_int_equal(setenv("COLUMNS", "10", 1), 0);
    assert_int_equal(lines_width(out), 0);
    assert_int_equal(lines_width(stdout), 10);
    assert_int_equal(setenv("COLUMNS", "0", 1), 0);
    assert_int_not_equal(lines_width(stdout), 10);
    assert_int_equal(unsetenv("COLUMNS"), 0);
    fclose(out);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line__breaks_between_words_and_hangs),
        cmocka_unit_test(test_number__stays_with_its_unit),
        cmocka_unit_test(test_word__is_never_split),
        cmocka_unit_test(test_command__can_be_pasted),
        cmocka_unit_test(test_table_of_two_columns__hangs_under_the_second),
        cmocka_unit_test(test_width__counts_characters_and_not_bytes),
        cmocka_unit_test(test_memory_stream__has_no_width_despite_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
