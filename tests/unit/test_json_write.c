/* test_json_write.c - the exact bytes that are written, and files that are replaced whole */
#include "support/assert_near.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/json/json_write.h"

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

static void write_example(json_writer *json)
{
    json_begin_object(json);
    json_member_string(json, "name", "a\"b\\c\n\x01 \xc3\xa9");
    json_member_number(json, "step_s", 0.1);
    json_member_number(json, "nothing", (double)NAN);
    json_member_int64(json, "params", INT64_MAX);
    json_member_bool(json, "fits", true);
    json_member_null(json, "why");
    json_write_key(json, "layers");
    json_begin_row(json);
    json_write_int64(json, 0);
    json_write_int64(json, 40);
    json_end_array(json);
    json_write_key(json, "stages");
    json_begin_array(json);
    json_begin_object(json);
    json_end_object(json);
    json_write_bool(json, false);
    json_end_array(json);
    json_end_object(json);
}

static void test_write__is_indented_by_two(void **state)
{
    const char *text;
    size_t length;
    json_writer json;

    json_writer_init(&json, *state);
    write_example(&json);
    assert_int_equal(json_writer_finish(&json, &text, &length, NULL), PLAIT_OK);
    assert_string_equal(text, "{\n"
                              "  \"name\": \"a\\\"b\\\\c\\n\\u0001 \xc3\xa9\",\n"
                              "  \"step_s\": 0.1,\n"
                              "  \"nothing\": null,\n"
                              "  \"params\": 9223372036854775807,\n"
                              "  \"fits\": true,\n"
                              "  \"why\": null,\n"
                              "  \"layers\": [0, 40],\n"
                              "  \"stages\": [\n"
                              "    {},\n"
                              "    false\n"
                              "  ]\n"
                              "}\n");
    assert_int_equal(length, strlen(text));
}

/* Printed on a terminal the document steers nothing; bytes that are no text make no other document. */
static void test_write__escapes_what_is_not_plain(void **state)
{
    const char *text;
    json_writer json;

    json_writer_init(&json, *state);
    json_write_string(&json, "\x1b[m\x7f\t\xc2\x9b\xe2\x80\xa8\xc3\xa9\xff\\");
    assert_int_equal(json_writer_finish(&json, &text, NULL, NULL), PLAIT_OK);
    assert_string_equal(text, "\"\\u001b[m\\u007f\\t\\u009b\\u2028\xc3\xa9\\ufffd\\\\\"\n");
}

static void test_row__keeps_what_is_inside_on_its_line(void **state)
{
    const char *text;
    json_writer json;

    json_writer_init(&json, *state);
    json_begin_array(&json);
    json_begin_row(&json);
    json_begin_object(&json);
    json_member_number(&json, "a", 1.5);
    json_member_string(&json, "b", NULL);
    json_end_object(&json);
    json_begin_row(&json);
    json_end_array(&json);
    json_end_array(&json);
    json_write_null(&json);
    json_end_array(&json);
    assert_int_equal(json_writer_finish(&json, &text, NULL, NULL), PLAIT_OK);
    assert_string_equal(text, "[\n  [{\"a\": 1.5, \"b\": null}, []],\n  null\n]\n");
}

static void test_finish__says_when_memory_ran_out(void **state)
{
    plait_status status = PLAIT_ERROR_NOMEM;
    const char *text;
    json_writer json;
    long calls;

    for (calls = 0; calls < 20 && status != PLAIT_OK; calls++) {
        plait_arena_fail_after(calls);
        json_writer_init(&json, *state);
        write_example(&json);
        status = json_writer_finish(&json, &text, NULL, NULL);
        plait_arena_fail_after(-1);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
    }
    assert_true(calls > 1 && calls < 20);
}

typedef struct scratch_folder {
    char path[64];
    char file[96];
    char link[96];
} scratch_folder;

static scratch_folder folder_new(void)
{
    scratch_folder folder = {.path = "/tmp/plait-test-file-XXXXXX"};

    assert_non_null(mkdtemp(folder.path));
    snprintf(folder.file, sizeof folder.file, "%s/plans.json", folder.path);
    snprintf(folder.link, sizeof folder.link, "%s/latest.json", folder.path);
    return folder;
}

/* That the folder can be removed shows that no temporary file stayed in it. */
static void folder_remove(const scratch_folder *folder)
{
    unlink(folder->link);
    unlink(folder->file);
    assert_int_equal(rmdir(folder->path), 0);
}

static void assert_file(plait_arena *arena, const char *path, const char *expected)
{
    const char *text;
    size_t length;

    assert_int_equal(file_read_all(path, 1000, arena, &text, &length, NULL), PLAIT_OK);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
}

static void test_file__is_replaced_whole_and_keeps_its_mode(void **state)
{
    const scratch_folder folder = folder_new();
    struct stat info;

    assert_int_equal(file_write_atomically(folder.file, "longer text", 11, NULL), PLAIT_OK);
    assert_file(*state, folder.file, "longer text");
    assert_int_equal(chmod(folder.file, 0600), 0);
    assert_int_equal(file_write_atomically(folder.file, "short", 5, NULL), PLAIT_OK);
    assert_file(*state, folder.file, "short");
    assert_int_equal(stat(folder.file, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    folder_remove(&folder);
}

static void test_file__behind_a_link_is_what_is_replaced(void **state)
{
    const scratch_folder folder = folder_new();
    struct stat info;

    assert_int_equal(file_write_atomically(folder.file, "old", 3, NULL), PLAIT_OK);
    assert_int_equal(symlink("plans.json", folder.link), 0);
    assert_int_equal(file_write_atomically(folder.link, "new", 3, NULL), PLAIT_OK);
    assert_file(*state, folder.file, "new");
    assert_int_equal(lstat(folder.link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    folder_remove(&folder);
}

static void test_file__that_is_a_device_is_written_to(void **state)
{
    struct stat info;

    (void)state;
    assert_int_equal(file_write_atomically("/dev/null", "x", 1, NULL), PLAIT_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void test_file__that_cannot_be_written_is_an_error(void **state)
{
    plait_error err;

    (void)state;
    assert_int_equal(file_write_atomically("/nowhere/x.json", "x", 1, &err), PLAIT_ERROR_IO);
    assert_string_equal(err.where, "/nowhere/x.json");
    assert_string_equal(err.message, "cannot write: No such file or directory");
    assert_int_equal(file_write_atomically("/tmp", "x", 1, &err), PLAIT_ERROR_IO);
    assert_string_equal(err.message, "cannot write: Is a directory");
    assert_int_equal(file_write_atomically("/dev/full", "x", 1, &err), PLAIT_ERROR_DISK);
    assert_string_equal(err.message, "cannot write: No space left on device");
}

static void test_file__that_could_not_be_made_is_known_beforehand(void **state)
{
    const scratch_folder folder = folder_new();
    plait_error err;

    (void)state;
    assert_int_equal(file_check_writable(folder.file, NULL), PLAIT_OK);
    assert_int_equal(file_write_atomically(folder.file, "x", 1, NULL), PLAIT_OK);
    assert_int_equal(file_check_writable(folder.file, NULL), PLAIT_OK);
    assert_int_equal(file_check_writable("x.json", NULL), PLAIT_OK);
    assert_int_equal(file_check_writable("/dev/null", NULL), PLAIT_OK);
    assert_int_equal(file_check_writable("/tmp", &err), PLAIT_ERROR_IO);
    assert_string_equal(err.message, "cannot write: Is a directory");
    assert_int_equal(file_check_writable("", &err), PLAIT_ERROR_IO);
    assert_string_equal(err.where, "\"\"");
    assert_int_equal(file_check_writable("/nowhere/x.json", &err), PLAIT_ERROR_IO);
    assert_string_equal(err.where, "/nowhere/x.json");
    assert_string_equal(err.message, "cannot write: No such file or directory");
    folder_remove(&folder);
}

static void test_read__stops_at_its_limit_where_there_is_no_size(void **state)
{
    const int zero = open("/dev/zero", O_RDONLY);
    const char *text, *const path = plait_arena_printf(*state, "/dev/fd/%d", zero);
    plait_error err;

    assert_true(zero >= 0);
    assert_int_equal(file_read_all(path, 100000, *state, &text, NULL, &err), PLAIT_ERROR_IO);
    assert_string_equal(err.message, "expected at most 268435456 bytes, found more");
    close(zero);
}

/* What a name in a file may lead to is no reason to wait, or to read without an end. */
static void test_read__takes_regular_files_and_its_own_descriptors(void **state)
{
    const scratch_folder folder = folder_new();
    const char *text;
    plait_error err;
    int ends[2];

    assert_int_equal(mkfifo(folder.file, 0600), 0);
    assert_int_equal(file_read_all(folder.file, 100, *state, &text, NULL, &err), PLAIT_ERROR_IO);
    assert_string_equal(err.message,
                        "expected a file, found a pipe; use - to read it as standard input");
    assert_int_equal(file_read_all("/dev/zero", 100, *state, &text, NULL, &err), PLAIT_ERROR_IO);
    assert_string_equal(err.message, "expected a file, found a device");
    assert_int_equal(file_read_all("/tmp", 100, *state, &text, NULL, &err), PLAIT_ERROR_IO);
    assert_string_equal(err.message, "expected a file, found a directory");
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "piped", 5), 5);
    close(ends[1]);
    for (int again = 0; again < 2; again++)
        assert_file(*state, plait_arena_printf(*state, "/dev/fd/%d", ends[0]), "piped");
    close(ends[0]);
    folder_remove(&folder);
}

static void test_beside__follows_no_path(void **state)
{
    assert_string_equal(file_beside("a/b.json", "/etc/c.json", *state), "a/c.json");
    assert_string_equal(file_beside("b.json", "../c.json", *state), "c.json");
    assert_string_equal(file_beside("/a/b/", "c", *state), "/a/b/c");
    assert_string_equal(file_beside("b.json", "-", *state), "./-");
    assert_string_equal(file_beside("a/b.json", "-", *state), "a/-");
}

#define write_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        write_test(test_write__is_indented_by_two),
        write_test(test_write__escapes_what_is_not_plain),
        write_test(test_row__keeps_what_is_inside_on_its_line),
        write_test(test_finish__says_when_memory_ran_out),
        write_test(test_file__is_replaced_whole_and_keeps_its_mode),
        write_test(test_file__behind_a_link_is_what_is_replaced),
        write_test(test_file__that_is_a_device_is_written_to),
        write_test(test_file__that_cannot_be_written_is_an_error),
        write_test(test_file__that_could_not_be_made_is_known_beforehand),
        write_test(test_read__stops_at_its_limit_where_there_is_no_size),
        write_test(test_read__takes_regular_files_and_its_own_descriptors),
        write_test(test_beside__follows_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
