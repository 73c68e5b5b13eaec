/* test_report_table.c - tables are plain, aligned, and independent of the terminal if printed to memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/assert_near.h"
#include "report/report_table.h"

static const char columns[] = "name|>count";

/* Returns the printed table; the caller frees it. */
static char *printed(table *rows, int indent)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    plait_error err;

    assert_non_null(out);
    assert_int_equal(table_print(rows, indent, out, &err), PLAIT_OK);
    fclose(out);
    return text;
}

static void test_columns__line_up_without_blanks_at_the_end(void **state)
{
    table *rows = table_new(columns);
    char *text;

    (void)state;
    table_cell(rows, "a");
    table_cell(rows, "%d", 5);
    table_cell(rows, "longer");
    table_cell(rows, "%s", "");
    text = printed(rows, 2);
    assert_string_equal(text, "  name    count\n"
                              "  a           5\n"
                              "  longer\n");
    free(text);
}

static void test_width_of_a_terminal__changes_nothing(void **state)
{
    table *rows = table_new(columns);
    char *text;

    (void)state;
    assert_int_equal(setenv("COLUMNS", "10", 1), 0);
    table_cell(rows, "a name that is wider than ten columns");
    table_cell(rows, "1");
    text = printed(rows, 0);
    assert_non_null(strstr(text, "a name that is wider than ten columns      1\n"));
    free(text);
}

static void test_table_without_rows__prints_nothing(void **state)
{
    char *text = printed(table_new(columns), 0);

    (void)state;
    assert_string_equal(text, "");
    free(text);
}

static void test_table_without_memory__fails_when_printed(void **state)
{
    plait_error err;

    (void)state;
    table_cell(NULL, "ignored");
    assert_int_equal(table_print(NULL, 0, stdout, &err), PLAIT_ERROR_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns__line_up_without_blanks_at_the_end),
        cmocka_unit_test(test_width_of_a_terminal__changes_nothing),
        cmocka_unit_test(test_table_without_rows__prints_nothing),
        cmocka_unit_test(test_table_without_memory__fails_when_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
