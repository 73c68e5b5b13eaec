/* test_yaml_read.c - the part of YAML that configs have, and what is refused of the rest */
#include <string.h>

#include "support/must.h"
#include "launch/read/yaml_read.h"

static plait_arena *arena;
static yaml_file file;

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena != NULL ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

static void read_text(const char *text)
{
    plait_error err;

    must(yaml_read(text, strlen(text), "f.yaml", arena, &file, &err), &err);
}

static void assert_leaf(const char *path, int values, const char *first)
{
    const yaml_leaf *const leaf = yaml_find(&file, path);

    assert_non_null(leaf);
    assert_int_equal(leaf->values, values);
    if (values > 0)
        assert_string_equal(leaf->value[0], first);
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    plait_error err;

    assert_int_equal(yaml_read(text, strlen(text), "f.yaml", arena, &file, &err),
                     PLAIT_ERROR_SYNTAX);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

static void test_mappings__nest_by_columns(void **state)
{
    (void)state;
    read_text("---\n# a comment\na:\n  b:\n    c: 1 # of c\n  d: two words\ne: null\n");
    assert_int_equal(file.count, 3);
    assert_leaf("a.b.c", 1, "1");
    assert_leaf("a.d", 1, "two words");
    assert_leaf("e", 0, NULL);
    assert_int_equal(yaml_find(&file, "a.d")->line, 6);
    assert_string_equal(yaml_find(&file, "a.b.c")->key, "c");
}

static void test_quotes__keep_what_is_in_them(void **state)
{
    (void)state;
    read_text("a: \"([0]*1+[1]*23) # \\\"x\\\"\"\nb: 'it''s'\nc: a#b\n");
    assert_leaf("a", 1, "([0]*1+[1]*23) # \"x\"");
    assert_leaf("b", 1, "it's");
    assert_leaf("c", 1, "a#b");
}

static void test_lists__stand_in_brackets_or_below(void **state)
{
    (void)state;
    read_text("a: [1,1,2 , \"x, y\"]\nb:\n  - [1, 30, 0]\n  - [2, 30, 1]\nc:\n- d: e\nf: []\n");
    assert_leaf("a", 4, "1");
    assert_string_equal(yaml_find(&file, "a")->value[2], "2");
    assert_string_equal(yaml_find(&file, "a")->value[3], "x, y");
    assert_leaf("b", 2, "[1, 30, 0]");
    assert_leaf("c", 1, "d: e");
    assert_leaf("f", 0, NULL);
}

static void test_mappings_in_lists_and_braces__are_texts(void **state)
{
    (void)state;
    read_text("a:\n- d: e\n  f:\n    g: [1]\n- h\nb: {c: 1}\ni: {}\n");
    assert_leaf("a", 2, "d: e");
    assert_leaf("b", 1, "{c: 1}");
    assert_leaf("i", 0, NULL);
}

static void test_lists_in_brackets__continue_in_the_next_lines(void **state)
{
    (void)state;
    read_text("a: [\n  1, # one\n  \"x]\",\n]\nb: 2\n");
    assert_leaf("a", 2, "1");
    assert_string_equal(yaml_find(&file, "a")->value[1], "x]");
    assert_leaf("b", 1, "2");
}

static void test_a_key_twice__is_refused(void **state)
{
    (void)state;
    assert_refused("a:\n  b: 1\n  b: 2\n", "f.yaml:3", "expected each key once, found \"a.b\"");
    assert_refused("a:\n  b: 1\na: 2\n", "f.yaml:3", "expected each key once, found \"a\"");
}

static void test_columns__must_agree(void **state)
{
    (void)state;
    assert_refused("a: 1\n  b: 2\n", "f.yaml:2",
                   "expected a key in the same column as the keys above it, found \"b: 2\"");
    assert_refused("  a: 1\nb: 2\n", "f.yaml:2",
                   "expected a key in the same column as the keys above it, found \"b: 2\"");
    assert_refused("a:\n  b: 1\n - 2\n", "f.yaml:3",
                   "expected a list under a key without another value, found \"- 2\"");
    assert_refused("- 2\n", "f.yaml:1",
                   "expected a list under a key without another value, found \"- 2\"");
}

static void test_what_configs_do_not_need__is_refused(void **state)
{
    (void)state;
    assert_refused("a: &x 1\n", "f.yaml:1",
                   "expected a complete value on one line, found \"&x 1\"");
    assert_refused("a: *x\n", "f.yaml:1", "expected a complete value on one line, found \"*x\"");
    assert_refused("a: !!int 1\n", "f.yaml:1",
                   "expected a complete value on one line, found \"!!int 1\"");
    assert_refused("a: | b\n", "f.yaml:1", "expected a complete value on one line, found \"| b\"");
    assert_refused("a: {b: 1\n", "f.yaml:1",
                   "expected a complete value on one line, found \"{b: 1\"");
    assert_refused("a: [1,\n  2\n", "f.yaml:2", "expected a list that ends, found \"a: [1, 2\"");
    assert_refused("a: [1] 2\n", "f.yaml:1", "expected nothing after the list, found \"[1] 2\"");
    assert_refused("a: [1,,2]\n", "f.yaml:1",
                   "expected a value for each element of the list, found \"\"");
    assert_refused("a: \"b\n", "f.yaml:1", "expected a complete value on one line, found \"\"b\"");
    assert_refused("a b\n", "f.yaml:1", "expected KEY: VALUE, found \"a b\"");
    assert_refused("a:1\n", "f.yaml:1", "expected KEY: VALUE, found \"a:1\"");
    assert_refused(
        "\ta: 1\n", "f.yaml:1",
        "expected text without tabs and control characters, found \"a control character\"");
    assert_refused("a: \xff\n", "f.yaml:1", "expected text in UTF-8, found \"other bytes\"");
}

static void test_levels__are_at_most_16(void **state)
{
    char text[512];
    size_t used = 0;

    (void)state;
    for (int depth = 0; depth < 17; depth++) {
        memset(text + used, ' ', (size_t)depth);
        memcpy(text + used + depth, "a:\n", 3);
        used += (size_t)depth + 3;
    }
    text[used] = '\0';
    assert_refused(text, "f.yaml:17", "expected at most 16 nested levels, found \"a:\"");
}

static void test_an_empty_file__has_no_leaves(void **state)
{
    (void)state;
    read_text("");
    assert_int_equal(file.count, 0);
    read_text("# nothing\n\n---\n");
    assert_int_equal(file.count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_mappings__nest_by_columns),
        TEST(test_quotes__keep_what_is_in_them),
        TEST(test_lists__stand_in_brackets_or_below),
        TEST(test_mappings_in_lists_and_braces__are_texts),
        TEST(test_lists_in_brackets__continue_in_the_next_lines),
        TEST(test_a_key_twice__is_refused),
        TEST(test_columns__must_agree),
        TEST(test_what_configs_do_not_need__is_refused),
        TEST(test_levels__are_at_most_16),
        TEST(test_an_empty_file__has_no_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
