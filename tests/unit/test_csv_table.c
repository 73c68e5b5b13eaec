/* test_csv_table.c - tables of comma-separated values: what is read, what is refused and where */
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "io/csv/csv_table.h"

static plait_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

static csv_table read_text(const char *text)
{
    plait_error err = {PLAIT_OK, "", ""};
    csv_table table;

    if (csv_table_parse(text, strlen(text), "t.csv", arena, &table, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return table;
}

static void assert_refused(const char *text, size_t length, const char *where, const char *message)
{
    plait_error err = {PLAIT_OK, "", ""};
    csv_table table;

    assert_int_not_equal(csv_table_parse(text, length, "t.csv", arena, &table, &err), PLAIT_OK);
    assert_string_equal(err.where, where);
    if (strstr(err.message, message) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", err.message, message);
}

static void test_table__keeps_what_quotes_hold(void **state)
{
    const csv_table table = read_text("a,b\n\"1,\"\"x\"\"\n2\", y z \n\n3,4\n");

    (void)state;
    assert_int_equal(table.columns, 2);
    assert_int_equal(table.rows, 2);
    assert_string_equal(csv_table_text(&table, 0, 0), "1,\"x\"\n2");
    assert_string_equal(csv_table_text(&table, 0, 1), "y z");
    assert_int_equal(table.line[0], 2);
    assert_int_equal(table.line[1], 5);
}

static void test_table__takes_other_line_ends_and_a_mark(void **state)
{
    const csv_table table = read_text("\xef\xbb\xbf"
                                      "a,b\r\n1,2\r\n3,4");

    (void)state;
    assert_int_equal(csv_table_column(&table, "a"), 0);
    assert_int_equal(table.rows, 2);
    assert_string_equal(csv_table_text(&table, 1, 1), "4");
    assert_int_equal(table.line[1], 3);
}

static void test_cells__convert_or_say_where(void **state)
{
    const csv_table table = read_text("a,b,c\n12,0.5,\n");
    plait_error err = {PLAIT_OK, "", ""};
    double number = 0.0;
    int whole = 7;

    (void)state;
    assert_int_equal(csv_table_int(&table, 0, 0, 1, 20, &whole, &err), PLAIT_OK);
    assert_int_equal(whole, 12);
    assert_int_equal(csv_table_number(&table, 0, 1, 0.0, 1.0, &number, &err), PLAIT_OK);
    assert_near(number, 0.5, 0.0);
    assert_int_equal(csv_table_int(&table, 0, 2, 1, 20, &whole, &err), PLAIT_OK);
    assert_int_equal(csv_table_int(&table, 0, -1, 1, 20, &whole, &err), PLAIT_OK);
    assert_int_equal(whole, 12);
    assert_int_equal(csv_table_int(&table, 0, 0, 1, 10, &whole, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "t.csv:2:a");
    assert_string_equal(err.message, "expected an integer from 1 to 10, found \"12\"");
}

static void test_columns__that_are_unknown_name_the_nearest(void **state)
{
    static const char *const known[] = {"layers", "hidden", NULL};
    const csv_table table = read_text("layer,hidden\n");
    plait_error err = {PLAIT_OK, "", ""};

    (void)state;
    assert_int_equal(csv_table_among(&table, known, &err), PLAIT_ERROR_SCHEMA);
    assert_string_equal(err.message, "expected column \"layers\", found \"layer\"");
}

static void test_table__refuses_what_is_no_table(void **state)
{
    (void)state;
    assert_refused("", 0, "t.csv", "found nothing");
    assert_refused("\n\n", 2, "t.csv", "found nothing");
    assert_refused("a,\n", 3, "t.csv:1", "found none for column 2");
    assert_refused("a,b,a\n", 6, "t.csv:1", "found \"a\" twice");
    assert_refused("a,b\n1\n", 6, "t.csv:2", "expected 2 cells, found 1");
    assert_refused("a,b\n1,2\n1,2,3\n", 14, "t.csv:3", "expected 2 cells, found more");
    assert_refused("a\nx\"y\n", 6, "t.csv:2", "quotes");
    assert_refused("a\n\"x\n", 5, "t.csv:2", "quotes");
    assert_refused("a\n\"x\"y\n", 7, "t.csv:2", "quotes");
}

static void test_table__refuses_what_is_no_text(void **state)
{
    (void)state;
    assert_refused("a\n\0\n", 4, "t.csv:2", "found byte 0x00");
    assert_refused("a\nb\n\x1b[31m\n", 10, "t.csv:3", "found byte 0x1b");
    assert_refused("a\n\xff\n", 4, "t.csv:2", "expected UTF-8, found byte 0xff");
}

static void test_table__refuses_folders_and_missing_files(void **state)
{
    plait_error err = {PLAIT_OK, "", ""};
    csv_table table;

    (void)state;
    assert_int_equal(csv_table_read("tests", arena, &table, &err), PLAIT_ERROR_IO);
    assert_non_null(strstr(err.message, "found a directory"));
    assert_int_equal(csv_table_read("tests/none.csv", arena, &table, &err), PLAIT_ERROR_IO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_table__keeps_what_quotes_hold),
        TEST(test_table__takes_other_line_ends_and_a_mark),
        TEST(test_cells__convert_or_say_where),
        TEST(test_columns__that_are_unknown_name_the_nearest),
        TEST(test_table__refuses_what_is_no_table),
        TEST(test_table__refuses_what_is_no_text),
        TEST(test_table__refuses_folders_and_missing_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
