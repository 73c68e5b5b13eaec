/* test_json.c - what the reader of JSON takes, what it refuses, and how it says where */
#include "support/assert_near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/json/json.h"
#include "io/json/json_private.h"

typedef struct json_fixture {
    plait_arena *arena;
    json_document doc;
    json_cursor root;
    plait_error err;
} json_fixture;

static int set_up(void **state)
{
    static json_fixture fixture;

    fixture = (json_fixture){.arena = plait_arena_new()};
    *state = &fixture;
    return fixture.arena == NULL;
}

static int tear_down(void **state)
{
    json_fixture *json = *state;

    plait_arena_fail_after(-1);
    json_document_free(&json->doc);
    plait_arena_free(json->arena);
    return 0;
}

static plait_status parse_bytes(json_fixture *json, const char *text, size_t length)
{
    json_document_free(&json->doc);
    PLAIT_TRY(json_document_parse(text, length, "x.json", json->arena, &json->doc, &json->err));
    json->root = json_document_root(&json->doc);
    return PLAIT_OK;
}

static void parse(json_fixture *json, const char *text)
{
    assert_int_equal(parse_bytes(json, text, strlen(text)), PLAIT_OK);
}

static void assert_error(const json_fixture *json, plait_status status, const char *where,
                         const char *message)
{
    assert_string_equal(json->err.message, message);
    assert_string_equal(json->err.where, where);
    assert_int_equal(json->err.status, status);
}

static void refuse(json_fixture *json, const char *text, const char *where, const char *message)
{
    assert_int_equal(parse_bytes(json, text, strlen(text)), PLAIT_ERROR_SYNTAX);
    assert_error(json, PLAIT_ERROR_SYNTAX, where, message);
    assert_null(json->doc.tree);
}

/* ---- syntax ---- */

static void test_parse__refuses_numbers_that_json_does_not_know(void **state)
{
    refuse(*state, "[01]", "x.json:1:2", "expected a number without leading zeros, found '0'");
    refuse(*state, "-01", "x.json:1:2", "expected a number without leading zeros, found '0'");
    refuse(*state, "[1.]", "x.json:1:4", "expected a digit after the decimal point, found ']'");
    refuse(*state, "[.5]", "x.json:1:2", "expected a digit, found '.'");
    refuse(*state, "+1", "x.json:1:1", "expected a digit, found '+'");
    refuse(*state, "[-Infinity]", "x.json:1:3",
           "expected a number or null, since JSON has neither NaN nor Infinity, found 'I'");
    refuse(*state, "[NaN]", "x.json:1:2",
           "expected a number or null, since JSON has neither NaN nor Infinity, found 'N'");
    refuse(*state, "-", "x.json:1:2", "expected a digit, found the end of the text");
    refuse(*state, "1e", "x.json:1:3",
           "expected a digit in the exponent, found the end of the text");
    refuse(*state, "[1e+]", "x.json:1:5", "expected a digit in the exponent, found ']'");
    refuse(*state, "0x10", "x.json:1:2", "expected nothing after the JSON value, found 'x'");
    parse(*state, "[0, -0, 0.5, -1.5e+3, 1E-2, 10]");
}

static void test_parse__refuses_numbers_longer_than_the_library_reads(void **state)
{
    char text[80];

    memset(text, '1', sizeof text);
    text[63] = '\0';
    parse(*state, text);
    text[63] = '1';
    text[64] = '\0';
    refuse(*state, text, "x.json:1:65",
           "expected a number of at most 63 characters, found the end of the text");
}

static void test_parse__refuses_raw_control_characters(void **state)
{
    refuse(*state, "\"a\nb\"", "x.json:1:3",
           "expected control characters to be escaped, found the byte 0x0a");
    refuse(*state, "[1,\f2]", "x.json:1:4",
           "expected no control characters between values, found the byte 0x0c");
    parse(*state, " \t\r\n[ \"a\\nb\" ] \n");
}

static void test_parse__refuses_the_character_zero(void **state)
{
    refuse(*state, "\"ab\\u0000\"", "x.json:1:5",
           "expected text without the character \\u0000, found 'u'");
    assert_int_equal(parse_bytes(*state, "[1]\0", 4), PLAIT_ERROR_SYNTAX);
    assert_int_equal(parse_bytes(*state, "\"\0\"", 3), PLAIT_ERROR_SYNTAX);
    parse(*state, "\"\\\\u0000\"");
}

static void test_parse__refuses_what_is_not_utf8(void **state)
{
    refuse(*state, "[\n \"\xc3\xa9\xff\"]", "x.json:2:4", "expected UTF-8, found the byte 0xff");
    refuse(*state, "\"\xed\xa0\x80\"", "x.json:1:2", "expected UTF-8, found the byte 0xed");
    parse(*state, "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

static void test_parse__counts_columns_in_characters(void **state)
{
    refuse(*state, "{\"a\": \"\xc3\xa9\",\n \"\xc3\xa9\": ?}", "x.json:2:7",
           "expected JSON, found '?'");
}

static void test_parse__refuses_half_a_document(void **state)
{
    json_fixture *json = *state;
    static const char *const texts[] = {
        "{",      "[1,]",    "{\"a\" 1}",   "{\"a\":}",  "[1 2]", "tru",
        "\"open", "[1}",     "]",           "{a: 1}",    "'a'",   "[1]]",
        "{} {}",  "\"\\x\"", "\"\\ud800\"", "\"\\u12\"", "[,]",   "\\"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(parse_bytes(json, texts[i], strlen(texts[i])), PLAIT_ERROR_SYNTAX);
        assert_true(strncmp(json->err.where, "x.json:1:", 9) == 0);
        assert_true(strncmp(json->err.message, "expected ", 9) == 0);
    }
}

/* A file that was not copied whole says so; a mistake before its end is told where it is. */
static void test_parse__tells_a_text_that_was_cut_off_from_a_wrong_one(void **state)
{
    static const char *const cut[] = {
        "{",         "{\"a",   "{\"a\"",      "{\"a\":",  "{\"a\":1",
        "{\"a\":1,", "[1,[2]", "{\"a\":true", "[\"b\\\"", "{\"a\":\"b\\"};
    char where[40];

    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        snprintf(where, sizeof where, "x.json:1:%zu", strlen(cut[i]) + 1);
        refuse(*state, cut[i], where,
               "expected the rest of a JSON value, found the end of the text");
    }
    refuse(*state, "{\"a\": 1\n", "x.json:2:1",
           "expected the rest of a JSON value, found the end of the text");
    refuse(*state, "[1}", "x.json:1:3", "expected JSON, found '}'");
    refuse(*state, "{\"a\"}", "x.json:1:5", "expected JSON, found '}'");
    refuse(*state, "{\"a: 1, \"b\": 2}", "x.json:1:10", "expected JSON, found 'b'");
    refuse(*state, "[1,,2", "x.json:1:4", "expected JSON, found ','");
}

static void test_parse__refuses_an_empty_text(void **state)
{
    refuse(*state, "", "x.json", "expected JSON, found an empty text");
    refuse(*state, " \n\t", "x.json", "expected JSON, found an empty text");
}

static void test_parse__does_not_read_beyond_the_length(void **state)
{
    json_fixture *json = *state;

    assert_int_equal(parse_bytes(json, "[1, 2] behind", 6), PLAIT_OK);
    assert_int_equal(parse_bytes(json, "123", 1), PLAIT_OK);
}

static void nest(char *text, int depth)
{
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    text[2 * depth] = '\0';
}

static void test_parse__limits_the_depth(void **state)
{
    char text[200];

    nest(text, JSON_MAX_DEPTH);
    parse(*state, text);
    nest(text, JSON_MAX_DEPTH + 1);
    refuse(*state, text, "x.json:1:65", "expected at most 64 levels of nesting, found '['");
    parse(*state, "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"");
}

/* ---- files ---- */

typedef struct scratch_file {
    char path[64];
} scratch_file;

static scratch_file scratch_new(const char *text)
{
    scratch_file file = {"/tmp/plait-test-json-XXXXXX"};
    const int fd = mkstemp(file.path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return file;
}

static plait_status read_path(json_fixture *json, const char *path)
{
    return json_document_read(path, json->arena, &json->doc, &json->err);
}

static void test_read__names_the_file_in_errors(void **state)
{
    json_fixture *json = *state;
    const scratch_file file = scratch_new("{\"gpus\": \"many\"}\n");
    json_cursor root;
    char where[80];
    int gpus;

    assert_int_equal(read_path(json, file.path), PLAIT_OK);
    root = json_document_root(&json->doc);
    assert_int_equal(json_int(&root, "gpus", 1, 8, &gpus, &json->err), PLAIT_ERROR_SCHEMA);
    snprintf(where, sizeof where, "%s:/gpus", file.path);
    assert_error(json, PLAIT_ERROR_SCHEMA, where,
                 "expected an integer from 1 to 8, found \"many\"");
    unlink(file.path);
}

static void test_read__refuses_what_is_no_file(void **state)
{
    json_fixture *json = *state;

    assert_int_equal(read_path(json, "/nowhere/x.json"), PLAIT_ERROR_IO);
    assert_error(json, PLAIT_ERROR_IO, "/nowhere/x.json", "cannot open: No such file or directory");
    assert_int_equal(read_path(json, "/tmp"), PLAIT_ERROR_IO);
    assert_error(json, PLAIT_ERROR_IO, "/tmp", "expected a file, found a directory");
}

static void test_read__refuses_an_unreadable_file(void **state)
{
    json_fixture *json = *state;
    const scratch_file file = scratch_new("{}");
    const uid_t user = geteuid();

    assert_int_equal(chmod(file.path, 0), 0);
    if (user == 0) // root may read anything; be nobody for a moment
        assert_int_equal(seteuid(65534), 0);
    assert_int_equal(read_path(json, file.path), PLAIT_ERROR_IO);
    assert_int_equal(seteuid(user), 0);
    assert_error(json, PLAIT_ERROR_IO, file.path, "cannot open: Permission denied");
    unlink(file.path);
}

static void test_read__refuses_a_huge_file_unread(void **state)
{
    json_fixture *json = *state;
    const scratch_file file = scratch_new("");

    // A hole of 1 TiB: reading it would take very long.
    if (truncate(file.path, (off_t)1 << 40) != 0 && truncate(file.path, (off_t)1 << 30) != 0)
        skip();
    assert_int_equal(read_path(json, file.path), PLAIT_ERROR_IO);
    assert_error(json, PLAIT_ERROR_IO, file.path, "expected at most 67108864 bytes, found more");
    unlink(file.path);
}

static void test_read__refuses_an_empty_file(void **state)
{
    json_fixture *json = *state;
    const scratch_file file = scratch_new("");

    assert_int_equal(read_path(json, file.path), PLAIT_ERROR_SYNTAX);
    assert_error(json, PLAIT_ERROR_SYNTAX, file.path, "expected JSON, found an empty text");
    unlink(file.path);
}

static void test_read__says_when_memory_runs_out(void **state)
{
    json_fixture *json = *state;
    const scratch_file file = scratch_new("{\"a\": [1, 2]}");
    plait_status status = PLAIT_ERROR_NOMEM;
    long calls;

    for (calls = 0; calls < 100 && status != PLAIT_OK; calls++) {
        plait_arena_fail_after(calls);
        status = read_path(json, file.path);
        plait_arena_fail_after(-1);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
    }
    assert_true(calls > 3 && calls < 100);
    unlink(file.path);
}

/* ---- keys ---- */

static const char *const link_keys[] = {"latency_us", "bandwidth_gb_per_s", "source", NULL};

static void test_keys__unknown_ones_are_refused_with_a_guess(void **state)
{
    json_fixture *json = *state;

    parse(json, "{\"links\": [{}, {\"source\": \"x\", \"latencyus\": 4}]}");
    json_cursor links, link;

    assert_int_equal(json_array(&json->root, "links", &links, &json->err), PLAIT_OK);
    assert_true(json_first(&links, &link));
    assert_int_equal(json_keys_among(&link, link_keys, &json->err), PLAIT_OK);
    assert_true(json_next(&link));
    assert_int_equal(json_keys_among(&link, link_keys, &json->err), PLAIT_ERROR_SCHEMA);
    assert_error(json, PLAIT_ERROR_SCHEMA, "x.json:/links/1/latencyus",
                 "expected the key \"latency_us\", found \"latencyus\"");
}

static void test_keys__unknown_ones_list_the_known_when_none_is_near(void **state)
{
    json_fixture *json = *state;

    parse(json, "{\"colour\": 1}");
    assert_int_equal(json_keys_among(&json->root, link_keys, &json->err), PLAIT_ERROR_SCHEMA);
    assert_error(
        json, PLAIT_ERROR_SCHEMA, "x.json:/colour",
        "expected one of the keys latency_us, bandwidth_gb_per_s, source, found \"colour\"");
}

static void test_keys__duplicates_are_refused(void **state)
{
    json_fixture *json = *state;
    const char *text;

    parse(json, "{\"source\": \"a\", \"latency_us\": 1, \"source\": \"b\"}");
    assert_int_equal(json_keys_among(&json->root, link_keys, &json->err), PLAIT_ERROR_SCHEMA);
    assert_error(json, PLAIT_ERROR_SCHEMA, "x.json:/source",
                 "expected the key once, found it twice");
    assert_int_equal(json_string(&json->root, "source", json->arena, &text, &json->err),
                     PLAIT_ERROR_SCHEMA);
}

static void test_keys__count_letter_case(void **state)
{
    json_fixture *json = *state;
    double number;

    parse(json, "{\"A\": 1, \"a\": 2}");
    assert_int_equal(json_number(&json->root, "a", JSON_ANY, &number, &json->err), PLAIT_OK);
    assert_near(number, 2.0, 0.0);
}

static void test_keys__missing_ones_are_named(void **state)
{
    json_fixture *json = *state;
    double number;

    parse(json, "{\"node\": {}}");
    json_cursor node;

    assert_int_equal(json_object(&json->root, "node", &node, &json->err), PLAIT_OK);
    assert_int_equal(json_number(&node, "gpus", JSON_ANY, &number, &json->err), PLAIT_ERROR_SCHEMA);
    assert_error(json, PLAIT_ERROR_SCHEMA, "x.json:/node", "expected the key \"gpus\", found none");
}

static void test_place__is_a_json_pointer(void **state)
{
    json_fixture *json = *state;
    json_cursor first, second;

    parse(json, "{\"a/b~c\": [[true]]}");
    assert_true(json_first(&json->root, &first));
    assert_true(json_first(&first, &second));
    assert_int_equal(json_fail(&second, PLAIT_ERROR_RANGE, &json->err, "expected %d", 1),
                     PLAIT_ERROR_RANGE);
    assert_error(json, PLAIT_ERROR_RANGE, "x.json:/a~1b~0c/0", "expected 1");
    assert_int_equal(
        json_fail_key(&json->root, "tp", PLAIT_ERROR_RANGE, &json->err, "expected %d", 2),
        PLAIT_ERROR_RANGE);
    assert_error(json, PLAIT_ERROR_RANGE, "x.json:/tp", "expected 2");
    assert_int_equal(json_fail(&json->root, PLAIT_ERROR_RANGE, NULL, "unseen"), PLAIT_ERROR_RANGE);
}

/* ---- values ---- */

static void test_number__holds_its_range(void **state)
{
    static const struct {
        const char *text;
        json_range range;
        const char *message;
    } cases[] = {
        {"-8", JSON_POSITIVE, "expected a positive number, found -8"},
        {"0", JSON_POSITIVE, "expected a positive number, found 0"},
        {"-0.5", JSON_NON_NEGATIVE, "expected a number of 0 or more, found -0.5"},
        {"1.01", JSON_FRACTION, "expected a number from 0 to 1, found 1.01"},
        {"1e-91", JSON_POSITIVE, "expected a number from 1e-90 to 1e+27, found 1e-91"},
        {"5e-324", JSON_FRACTION, "expected a number from 1e-90 to 1e+27, found 4.94066e-324"},
        {"1e28", JSON_NON_NEGATIVE, "expected a number from 1e-90 to 1e+27, found 1e+28"},
        {"1e999", JSON_ANY, "expected a finite number, found one beyond 1.8e308"},
        {"-1e999", JSON_ANY, "expected a finite number, found one beyond 1.8e308"},
    };
    json_fixture *json = *state;
    double number = 42.0;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parse(json, cases[i].text);
        assert_int_equal(json_as_number(&json->root, cases[i].range, &number, &json->err),
                         PLAIT_ERROR_RANGE);
        assert_error(json, PLAIT_ERROR_RANGE, "x.json", cases[i].message);
    }
    assert_near(number, 42.0, 0.0);
    parse(json, "0");
    assert_int_equal(json_as_number(&json->root, JSON_FRACTION, &number, NULL), PLAIT_OK);
    assert_int_equal(json_as_number(&json->root, JSON_NON_NEGATIVE, &number, NULL), PLAIT_OK);
    assert_near(number, 0.0, 0.0);
}

static void test_number__of_another_kind_is_described(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"true", "expected a number, found true"},   {"null", "expected a number, found null"},
        {"[]", "expected a number, found an array"}, {"{}", "expected a number, found an object"},
        {"\"8\"", "expected a number, found \"8\""},
    };
    json_fixture *json = *state;
    double number;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parse(json, cases[i].text);
        assert_int_equal(json_as_number(&json->root, JSON_ANY, &number, &json->err),
                         PLAIT_ERROR_SCHEMA);
        assert_error(json, PLAIT_ERROR_SCHEMA, "x.json", cases[i].message);
    }
}

static void test_int__is_exact_and_in_range(void **state)
{
    static const struct {
        const char *text;
        int min, max;
        const char *message;
    } cases[] = {
        {"-8", 1, INT32_MAX, "expected a positive integer, found -8"},
        {"2.5", 0, INT32_MAX, "expected an integer of 0 or more, found 2.5"},
        {"9", 1, 8, "expected an integer from 1 to 8, found 9"},
        {"4294967297", 0, INT32_MAX, "expected an integer of 0 or more, found 4294967297"},
        {"1e300", 0, 1, "expected an integer below 2^53, found a larger number"},
        {"1e999", 0, 1, "expected an integer below 2^53, found a larger number"},
    };
    json_fixture *json = *state;
    int number = 42;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parse(json, cases[i].text);
        assert_int_equal(json_as_int(&json->root, cases[i].min, cases[i].max, &number, &json->err),
                         PLAIT_ERROR_RANGE);
        assert_error(json, PLAIT_ERROR_RANGE, "x.json", cases[i].message);
    }
    assert_int_equal(number, 42);
    parse(json, "4e3");
    assert_int_equal(json_as_int(&json->root, 0, 4000, &number, &json->err), PLAIT_OK);
    assert_int_equal(number, 4000);
}

static void test_string__is_a_copy_in_the_arena(void **state)
{
    json_fixture *json = *state;
    const char *text;

    parse(json, "{\"name\": \"caf\\u00e9 \\ud83d\\ude00\"}");
    assert_int_equal(json_string(&json->root, "name", json->arena, &text, &json->err), PLAIT_OK);
    json_document_free(&json->doc);
    assert_string_equal(text, "caf\xc3\xa9 \xf0\x9f\x98\x80");
}

static void test_string__may_not_steer_a_terminal(void **state)
{
    json_fixture *json = *state;
    static const char *const steering[] = {"[\"a\\u001b[31mb\"]", "[\"a\\nb\"]", "[\"\\u007f\"]",
                                           "[\"\\u009b\"]"};
    json_cursor item;
    const char *text;

    for (size_t i = 0; i < sizeof steering / sizeof *steering; i++) {
        parse(json, steering[i]);
        assert_true(json_first(&json->root, &item));
        assert_int_equal(json_as_string(&item, json->arena, &text, &json->err), PLAIT_ERROR_SCHEMA);
        assert_error(json, PLAIT_ERROR_SCHEMA, "x.json:/0",
                     "expected text without control characters, found one");
    }
    parse(json, "[\"a\\u00a0b\"]");
    assert_true(json_first(&json->root, &item));
    assert_int_equal(json_as_string(&item, json->arena, &text, &json->err), PLAIT_OK);
}

static void test_word__is_an_index_in_the_list(void **state)
{
    static const char *const words[] = {"p2p", "allgather", "a2a", NULL};
    json_fixture *json = *state;
    int index = -1;

    parse(json, "[\"a2a\", \"allgathr\", \"ring-exchange\", 3]");
    json_cursor item;

    assert_true(json_first(&json->root, &item));
    assert_int_equal(json_as_word(&item, words, &index, &json->err), PLAIT_OK);
    assert_int_equal(index, 2);
    assert_true(json_next(&item));
    assert_int_equal(json_as_word(&item, words, &index, &json->err), PLAIT_ERROR_SCHEMA);
    assert_error(json, PLAIT_ERROR_SCHEMA, "x.json:/1",
                 "expected \"allgather\", found \"allgathr\"");
    assert_true(json_next(&item));
    assert_int_equal(json_as_word(&item, words, &index, &json->err), PLAIT_ERROR_SCHEMA);
    assert_error(json, PLAIT_ERROR_SCHEMA, "x.json:/2",
                 "expected one of p2p, allgather, a2a, found \"ring-exchange\"");
    assert_true(json_next(&item));
    assert_int_equal(json_as_word(&item, words, &index, &json->err), PLAIT_ERROR_SCHEMA);
    assert_false(json_next(&item));
    assert_int_equal(index, 2);
}

static void test_optional__leaves_its_default(void **state)
{
    static const char *const words[] = {"a", NULL};
    json_fixture *json = *state;
    double number = 1.5;
    int integer = 2, word = 3;
    bool flag = true;
    const char *text = "default";
    json_cursor child;

    parse(json, "{\"null\": null}");
    for (int i = 0; i < 2; i++) {
        const char *key = i == 0 ? "null" : "missing";

        assert_int_equal(json_number_optional(&json->root, key, JSON_ANY, &number, NULL), PLAIT_OK);
        assert_int_equal(json_int_optional(&json->root, key, 0, 9, &integer, NULL), PLAIT_OK);
        assert_int_equal(json_bool_optional(&json->root, key, &flag, NULL), PLAIT_OK);
        assert_int_equal(json_word_optional(&json->root, key, words, &word, NULL), PLAIT_OK);
        assert_int_equal(json_string_optional(&json->root, key, json->arena, &text, NULL),
                         PLAIT_OK);
        assert_int_equal(json_object_optional(&json->root, key, &child, NULL), PLAIT_OK);
        assert_true(json_is_null(&child));
        assert_int_equal(json_array_optional(&json->root, key, &child, NULL), PLAIT_OK);
        assert_int_equal(json_count(&child), 0);
        assert_false(json_first(&child, &child));
        assert_false(json_has(&json->root, key));
    }
    assert_near(number, 1.5, 0.0);
    assert_int_equal(integer + word, 5);
    assert_true(flag);
    assert_string_equal(text, "default");
}

static void test_optional__of_the_wrong_kind_is_an_error(void **state)
{
    json_fixture *json = *state;
    json_cursor child;
    bool flag;

    parse(json, "{\"a\": 1}");
    assert_int_equal(json_bool_optional(&json->root, "a", &flag, &json->err), PLAIT_ERROR_SCHEMA);
    assert_error(json, PLAIT_ERROR_SCHEMA, "x.json:/a", "expected true or false, found 1");
    assert_int_equal(json_object_optional(&json->root, "a", &child, &json->err),
                     PLAIT_ERROR_SCHEMA);
    assert_error(json, PLAIT_ERROR_SCHEMA, "x.json:/a", "expected an object, found 1");
    assert_int_equal(json_array_optional(&json->root, "a", &child, &json->err), PLAIT_ERROR_SCHEMA);
}

static void test_iteration__visits_members_in_order(void **state)
{
    json_fixture *json = *state;
    json_cursor member;
    char seen[16] = "";

    parse(json, "{\"b\": 1, \"a\": 2, \"c\": 3}");
    for (bool more = json_first(&json->root, &member); more; more = json_next(&member))
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s%zu", member.key,
                 member.index);
    assert_string_equal(seen, "b0a1c2");
    assert_int_equal(json_count(&json->root), 3);
    assert_true(json_has(&json->root, "c"));
    assert_true(json_is_object(&json->root) && !json_is_array(&json->root));
}

static void test_lookup__in_something_else_is_an_error(void **state)
{
    json_fixture *json = *state;
    double number;

    parse(json, "[1]");
    assert_int_equal(json_number(&json->root, "a", JSON_ANY, &number, &json->err),
                     PLAIT_ERROR_SCHEMA);
    assert_error(json, PLAIT_ERROR_SCHEMA, "x.json", "expected an object, found an array");
    assert_int_equal(json_keys_among(&json->root, link_keys, &json->err), PLAIT_ERROR_SCHEMA);
    assert_false(json_has(&json->root, "a"));
}

#define json_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        json_test(test_parse__refuses_numbers_that_json_does_not_know),
        json_test(test_parse__refuses_numbers_longer_than_the_library_reads),
        json_test(test_parse__refuses_raw_control_characters),
        json_test(test_parse__refuses_the_character_zero),
        json_test(test_parse__refuses_what_is_not_utf8),
        json_test(test_parse__counts_columns_in_characters),
        json_test(test_parse__refuses_half_a_document),
        json_test(test_parse__tells_a_text_that_was_cut_off_from_a_wrong_one),
        json_test(test_parse__refuses_an_empty_text),
        json_test(test_parse__does_not_read_beyond_the_length),
        json_test(test_parse__limits_the_depth),
        json_test(test_read__names_the_file_in_errors),
        json_test(test_read__refuses_what_is_no_file),
        json_test(test_read__refuses_an_unreadable_file),
        json_test(test_read__refuses_a_huge_file_unread),
        json_test(test_read__refuses_an_empty_file),
        json_test(test_read__says_when_memory_runs_out),
        json_test(test_keys__unknown_ones_are_refused_with_a_guess),
        json_test(test_keys__unknown_ones_list_the_known_when_none_is_near),
        json_test(test_keys__duplicates_are_refused),
        json_test(test_keys__count_letter_case),
        json_test(test_keys__missing_ones_are_named),
        json_test(test_place__is_a_json_pointer),
        json_test(test_number__holds_its_range),
        json_test(test_number__of_another_kind_is_described),
        json_test(test_int__is_exact_and_in_range),
        json_test(test_string__is_a_copy_in_the_arena),
        json_test(test_string__may_not_steer_a_terminal),
        json_test(test_word__is_an_index_in_the_list),
        json_test(test_optional__leaves_its_default),
        json_test(test_optional__of_the_wrong_kind_is_an_error),
        json_test(test_iteration__visits_members_in_order),
        json_test(test_lookup__in_something_else_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
