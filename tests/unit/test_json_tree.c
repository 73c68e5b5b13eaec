/* test_json_tree.c - data files that are changed in place */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/assert_near.h"
#include "io/file.h"
#include "io/json/json_tree.h"
#include "plait/data.h"

static json_document parse(const char *text, plait_arena *arena)
{
    json_document doc;

    assert_int_equal(json_document_parse(text, strlen(text), "t.json", arena, &doc, NULL),
                     PLAIT_OK);
    return doc;
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
        json_document doc;
        size_t length;

        assert_int_equal(plait_data_find(PLAIT_DATA_ACCELERATORS, names[i], arena, &path, NULL),
                         PLAIT_OK);
        assert_int_equal(file_read_all(path, JSON_MAX_BYTES, arena, &text, &length, NULL),
                         PLAIT_OK);
        assert_int_equal(json_tree_read(path, arena, &doc, NULL), PLAIT_OK);
        assert_prints(doc.tree, text, arena);
        json_document_free(&doc);
    }
    plait_arena_free(arena);
}

static void test_json_tree__changes_a_member_in_its_place(void **state)
{
    plait_arena *arena = plait_arena_new();
    json_document doc = parse("{\"a\": 1, \"b\": {\"c\": [1, 2]}, \"d\": \"x\"}", arena);

    (void)state;
    assert_true(json_tree_set_number(doc.tree, "a", 2.5));
    assert_true(json_tree_set_text(doc.tree, "d", "say \"y\""));
    assert_string_equal(json_tree_text(doc.tree, "d"), "say \"y\"");
    assert_string_equal(json_tree_text(doc.tree, "a"), "");
    assert_prints(
        doc.tree,
        "{\n    \"a\": 2.5,\n    \"b\": {\"c\": [1, 2]},\n    \"d\": \"say \\\"y\\\"\"\n}\n",
        arena);
    json_document_free(&doc);
    plait_arena_free(arena);
}

static void test_json_tree__enters_and_removes_members(void **state)
{
    plait_arena *arena = plait_arena_new();
    json_document doc = parse("{\"a\": 1}", arena);
    json_tree *object = json_tree_enter(doc.tree, "o");

    (void)state;
    assert_non_null(object);
    assert_true(json_tree_append(json_tree_set_array(object, "list"), 3.0));
    assert_ptr_equal(json_tree_enter(doc.tree, "o"), object);
    json_tree_remove(doc.tree, "a");
    json_tree_remove(doc.tree, "no such");
    assert_prints(doc.tree, "{\n    \"o\": {\"list\": [3]}\n}\n", arena);
    assert_null(json_tree_member(doc.tree, "a"));
    json_document_free(&doc);
    plait_arena_free(arena);
}

static void test_json_tree__a_copy_is_apart(void **state)
{
    plait_arena *arena = plait_arena_new();
    json_document doc = parse("{\"a\": {\"b\": 1}}", arena);
    json_tree *copy = json_tree_copy(doc.tree);

    (void)state;
    json_tree_remove(json_tree_member(copy, "a"), "b");
    assert_prints(doc.tree, "{\n    \"a\": {\"b\": 1}\n}\n", arena);
    assert_prints(copy, "{\n    \"a\": {}\n}\n", arena);
    json_tree_free(copy);
    json_document_free(&doc);
    plait_arena_free(arena);
}

static char path[] = "/tmp/plait-json-tree-XXXXXX";

static int make_file(void **state)
{
    const int fd = mkstemp(path);

    (void)state;
    return fd >= 0 ? close(fd) : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static plait_status read_written(const char *text, plait_arena *arena, json_document *doc,
                                 plait_error *err)
{
    assert_int_equal(file_write_atomically(path, text, strlen(text), NULL), PLAIT_OK);
    return json_tree_read(path, arena, doc, err);
}

static void test_json_tree__refuses_what_would_not_be_read_back(void **state)
{
    plait_arena *arena = plait_arena_new();
    json_document doc;
    plait_error err;

    (void)state;
    assert_int_equal(read_written("{\"a\": }", arena, &doc, &err), PLAIT_ERROR_SYNTAX);
    assert_string_equal(err.where + strlen(path), ":1:7");
    assert_int_equal(read_written("{\"a\": [1, 1e999]}", arena, &doc, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where + strlen(path), ":/a/1");
    assert_int_equal(read_written("{\"a\": {\"b\": \"\\u001b\"}}", arena, &doc, &err),
                     PLAIT_ERROR_SCHEMA);
    assert_string_equal(err.where + strlen(path), ":/a/b");
    plait_arena_free(arena);
}

static void test_json_tree__says_when_memory_runs_out(void **state)
{
    const char text[] = "{\"a\": {\"b\": [1, 2, \"c\", null, true]}}";
    plait_status status = PLAIT_ERROR_NOMEM;
    json_document doc;

    (void)state;
    assert_int_equal(file_write_atomically(path, text, sizeof text - 1, NULL), PLAIT_OK);
    for (long calls = 0; status == PLAIT_ERROR_NOMEM; calls++) {
        plait_arena *arena = plait_arena_new();

        plait_arena_fail_after(calls);
        status = json_tree_read(path, arena, &doc, NULL);
        if (status == PLAIT_OK) {
            if (json_tree_print(doc.tree, arena, NULL) == NULL)
                status = PLAIT_ERROR_NOMEM;
            json_document_free(&doc);
        }
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
        cmocka_unit_test(test_json_tree__refuses_what_would_not_be_read_back),
        cmocka_unit_test(test_json_tree__says_when_memory_runs_out),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
