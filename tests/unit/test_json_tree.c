/* test_json_tree.c - data files that are changed in place */
#include <string.h>

#include "support/assert_near.h"
#include "io/file.h"
#include "calibrate/json_tree.h"
#include "plait/data.h"

static json_tree *read(const char *text, plait_arena *arena)
{
    json_tree *tree;

    assert_int_equal(json_tree_read(text, strlen(text), "t.json", arena, &tree, NULL), PLAIT_OK);
    return tree;
}

static void assert_prints(const json_tree *tree, const char *expected, plait_arena *arena)
{
    assert_string_equal(json_tree_print(tree, arena, NULL), expected);
}

static void test_json_tree__prints_every_shipped_accelerator_as_it_was_read(void **state)
{
    plait_arena *arena = plait_arena_new();
    const char *const *names;
    size_t count;

    (void)state;
    assert_int_equal(plait_data_list(PLAIT_DATA_ACCELERATORS, arena, &names, &count, NULL),
                     PLAIT_OK);
    for (size_t i = 0; i < count; i++) {
        const char *path, *text;
        size_t length;

        assert_int_equal(plait_data_find(PLAIT_DATA_ACCELERATORS, names[i], arena, &path, NULL),
                         PLAIT_OK);
        assert_int_equal(file_read_all(path, JSON_MAX_BYTES, arena, &text, &length, NULL),
                         PLAIT_OK);
        assert_prints(read(text, arena), text, arena);
    }
    plait_arena_free(arena);
}

static void test_json_tree__changes_a_member_in_its_place(void **state)
{
    plait_arena *arena = plait_arena_new();
    json_tree *tree = read("{\"a\": 1, \"b\": {\"c\": [1, 2]}, \"d\": \"x\"}", arena);

    (void)state;
    assert_true(json_tree_set_number(tree, "a", 2.5, arena));
    assert_true(json_tree_set_text(tree, "d", "say \"y\"", arena));
    assert_prints(
        tree, "{\n    \"a\": 2.5,\n    \"b\": {\"c\": [1, 2]},\n    \"d\": \"say \\\"y\\\"\"\n}\n",
        arena);
    plait_arena_free(arena);
}

static void test_json_tree__enters_and_removes_members(void **state)
{
    plait_arena *arena = plait_arena_new();
    json_tree *tree = read("{\"a\": 1}", arena);
    json_tree *object = json_tree_enter(tree, "o", TREE_OBJECT, arena);

    (void)state;
    assert_non_null(object);
    assert_true(json_tree_append(json_tree_enter(object, "list", TREE_ARRAY, arena), 3.0, arena));
    assert_ptr_equal(json_tree_enter(tree, "o", TREE_OBJECT, arena), object);
    json_tree_remove(tree, "a");
    json_tree_remove(tree, "no such");
    assert_prints(tree, "{\n    \"o\": {\"list\": [3]}\n}\n", arena);
    assert_null(json_tree_member(tree, "a"));
    plait_arena_free(arena);
}

static void test_json_tree__a_copy_is_apart(void **state)
{
    plait_arena *arena = plait_arena_new();
    json_tree *tree = read("{\"a\": {\"b\": 1}}", arena);
    json_tree *copy = json_tree_copy(tree, arena);

    (void)state;
    json_tree_remove(json_tree_member(copy, "a"), "b");
    assert_prints(tree, "{\n    \"a\": {\"b\": 1}\n}\n", arena);
    assert_prints(copy, "{\n    \"a\": {}\n}\n", arena);
    plait_arena_free(arena);
}

static void test_json_tree__says_where_text_is_no_json(void **state)
{
    plait_arena *arena = plait_arena_new();
    plait_error err;
    json_tree *tree;

    (void)state;
    assert_int_equal(json_tree_read("{\"a\": }", 7, "bad.json", arena, &tree, &err),
                     PLAIT_ERROR_SYNTAX);
    assert_non_null(strstr(err.where, "bad.json"));
    plait_arena_free(arena);
}

static void test_json_tree__says_when_memory_runs_out(void **state)
{
    const char text[] = "{\"a\": {\"b\": [1, 2, \"c\", null, true]}}";
    plait_status status = PLAIT_ERROR_NOMEM;

    (void)state;
    for (long calls = 0; status == PLAIT_ERROR_NOMEM; calls++) {
        plait_arena *arena = plait_arena_new();
        json_tree *tree = NULL;

        plait_arena_fail_after(calls);
        status = json_tree_read(text, sizeof text - 1, "t.json", arena, &tree, NULL);
        if (status == PLAIT_OK && json_tree_print(tree, arena, NULL) == NULL)
            status = PLAIT_ERROR_NOMEM;
        plait_arena_fail_after(-1);
        plait_arena_free(arena);
    }
    assert_int_equal(status, PLAIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_tree__prints_every_shipped_accelerator_as_it_was_read),
        cmocka_unit_test(test_json_tree__changes_a_member_in_its_place),
        cmocka_unit_test(test_json_tree__enters_and_removes_members),
        cmocka_unit_test(test_json_tree__a_copy_is_apart),
        cmocka_unit_test(test_json_tree__says_where_text_is_no_json),
        cmocka_unit_test(test_json_tree__says_when_memory_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
