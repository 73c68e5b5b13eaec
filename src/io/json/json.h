/*
 * json.h - reader of JSON documents whose errors name the place
 *
 * A reader walks through a parsed document with cursors on the stack. A cursor points to its
 * parent, so an error can name its place as the file and a JSON pointer:
 * "clusters/dgx-h100.json:/links/1/bandwidth_gb_per_s". Each message has the form `expected ...,
 * found ...`.
 *
 *     static plait_status read_root(const json_cursor *root, plait_arena *arena, void *out,
 *                                   plait_error *err)
 *     {
 *         plait_cluster *cluster = out;
 *         json_cursor links, link;
 *         ...
 *         PLAIT_TRY(json_array(root, "links", &links, err));
 *         for (bool more = json_first(&links, &link); more; more = json_next(&link))
 *             PLAIT_TRY(read_link(&link, &cluster->links[link.index], err));
 *         ...
 *     }
 *
 *     return json_load(path, read_root, arena, &cluster, err);
 *
 * A getter has up to three forms:
 *
 *     json_number(at, "key", ...)            reads a required member
 *     json_number_optional(at, "key", ...)   leaves *out unchanged if the member is missing or null
 *     json_as_number(at, ...)                reads the value at the cursor, such as an array's element
 *
 * Strings are copied into the caller's arena and outlive the document; cursors and their keys do
 * not. A parent cursor must outlive its children, so it is on the stack of a caller or of the same
 * function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plait/arena.h"
#include "plait/error.h"

struct cJSON;

typedef struct json_document {
    struct cJSON *tree;
    const char *name; /* path of the file, or name of the text in messages */
} json_document;

typedef struct json_cursor {
    const struct cJSON *value;        /* value; NULL: an optional array or object is missing */
    const struct json_cursor *parent; /* cursor of the enclosing value; NULL at the root */
    const char *key; /* key in the parent object; NULL in an array; document's name at the root */
    size_t index;    /* position in the parent, counted by json_first() and json_next() */
} json_cursor;

typedef enum json_range {
    JSON_ANY,          /* any finite number */
    JSON_POSITIVE,     /* above 0 */
    JSON_NON_NEGATIVE, /* 0 or more */
    JSON_FRACTION      /* 0 to 1, inclusive */
} json_range;

/* ---- documents ---- */

/** Largest size of a document. */
#define JSON_MAX_BYTES ((size_t)64 * 1024 * 1024)

/**
 * Reads and parses a file. On success the caller frees *doc; `arena` receives only a copy of the
 * path.
 */
plait_status json_document_read(const char *path, plait_arena *arena, json_document *doc,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Parses a text, which need not end with a zero byte; messages have `name` as its path. */
plait_status json_document_parse(const char *text, size_t length, const char *name,
                                 plait_arena *arena, json_document *doc,
                                 plait_error *err) PLAIT_MUST_CHECK;

void json_document_free(json_document *doc);

json_cursor json_document_root(const json_document *doc);

/**
 * A function that reads a value from the root of a document; `out` points to the type that it
 * expects.
 */
typedef plait_status json_reader(const json_cursor *root, plait_arena *arena, void *out,
                                 plait_error *err);

/** Calls a reader on the root of a file, then frees the document. */
plait_status json_load(const char *path, json_reader *read, plait_arena *arena, void *out,
                       plait_error *err) PLAIT_MUST_CHECK;

/** Calls a reader on the root of a text; messages have `name` as its path. */
plait_status json_parse(const char *text, size_t length, const char *name, json_reader *read,
                        plait_arena *arena, void *out, plait_error *err) PLAIT_MUST_CHECK;

/* ---- objects and arrays ---- */

/**
 * Checks that the value is an object, that each of its keys is in the list `keys`, which NULL ends,
 * and that no key occurs twice. The message for an unknown key has the nearest valid key.
 */
plait_status json_keys_among(const json_cursor *at, const char *const *keys,
                             plait_error *err) PLAIT_MUST_CHECK;

/** Returns whether `at` is an object that has the key with a value other than null. */
bool json_has(const json_cursor *at, const char *key);

/**
 * Returns whether a getter has read this member by its key; json_has(), json_first() and
 * json_next() do not count as reading. json_mark_read() marks a member that the reader skips on
 * purpose.
 */
bool json_was_read(const json_cursor *at);
void json_mark_read(const json_cursor *at, const char *key);

bool json_is_null(const json_cursor *at); /* also true for a missing optional value */
bool json_is_number(const json_cursor *at);
bool json_is_string(const json_cursor *at);
bool json_is_object(const json_cursor *at);
bool json_is_array(const json_cursor *at);

/**
 * Moves *child to a member of any type. If json_value_optional() finds no member,
 * json_is_null(child) is true.
 */
plait_status json_value(const json_cursor *at, const char *key, json_cursor *child,
                        plait_error *err) PLAIT_MUST_CHECK;
plait_status json_value_optional(const json_cursor *at, const char *key, json_cursor *child,
                                 plait_error *err) PLAIT_MUST_CHECK;

plait_status json_object(const json_cursor *at, const char *key, json_cursor *child,
                         plait_error *err) PLAIT_MUST_CHECK;
plait_status json_object_optional(const json_cursor *at, const char *key, json_cursor *child,
                                  plait_error *err) PLAIT_MUST_CHECK;
plait_status json_array(const json_cursor *at, const char *key, json_cursor *child,
                        plait_error *err) PLAIT_MUST_CHECK;
plait_status json_array_optional(const json_cursor *at, const char *key, json_cursor *child,
                                 plait_error *err) PLAIT_MUST_CHECK;

plait_status json_as_object(const json_cursor *at, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_array(const json_cursor *at, plait_error *err) PLAIT_MUST_CHECK;

/** Returns the number of elements of an array or members of an object; 0 for other values. */
size_t json_count(const json_cursor *at);

/** Moves `child` to the first element or member; returns false if there is none. */
bool json_first(const json_cursor *at, json_cursor *child);

/** Moves `child` to the next element or member; returns false at the end. */
bool json_next(json_cursor *child);

/* ---- values ---- */

plait_status json_number(const json_cursor *at, const char *key, json_range range, double *out,
                         plait_error *err) PLAIT_MUST_CHECK;
plait_status json_number_optional(const json_cursor *at, const char *key, json_range range,
                                  double *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_number(const json_cursor *at, json_range range, double *out,
                            plait_error *err) PLAIT_MUST_CHECK;

/*
 * Read an integer from min to max. JSON numbers are doubles, which are exact for integers up to
 * 2^53 - 1; larger ones are refused.
 */
plait_status json_int(const json_cursor *at, const char *key, int min, int max, int *out,
                      plait_error *err) PLAIT_MUST_CHECK;
plait_status json_int_optional(const json_cursor *at, const char *key, int min, int max, int *out,
                               plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_int(const json_cursor *at, int min, int max, int *out,
                         plait_error *err) PLAIT_MUST_CHECK;

plait_status json_bool(const json_cursor *at, const char *key, bool *out,
                       plait_error *err) PLAIT_MUST_CHECK;
plait_status json_bool_optional(const json_cursor *at, const char *key, bool *out,
                                plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_bool(const json_cursor *at, bool *out, plait_error *err) PLAIT_MUST_CHECK;

plait_status json_string(const json_cursor *at, const char *key, plait_arena *arena,
                         const char **out, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_string_optional(const json_cursor *at, const char *key, plait_arena *arena,
                                  const char **out, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_string(const json_cursor *at, plait_arena *arena, const char **out,
                            plait_error *err) PLAIT_MUST_CHECK;

/* Read a word of a list that ends with NULL; *out is its index in the list. */
plait_status json_word(const json_cursor *at, const char *key, const char *const *words, int *out,
                       plait_error *err) PLAIT_MUST_CHECK;
plait_status json_word_optional(const json_cursor *at, const char *key, const char *const *words,
                                int *out, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads an array such as ["p2p", "a2a"] as a set of bits. If `words` is NULL, the elements are
 * integers from 0 to `most`.
 */
plait_status json_mask(const json_cursor *at, const char *key, const char *const *words, int most,
                       unsigned *mask, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_word(const json_cursor *at, const char *const *words, int *out,
                          plait_error *err) PLAIT_MUST_CHECK;

/* ---- comparison ---- */

/**
 * Fails at the first difference from the value of another document: in numbers, words, lengths of
 * arrays, or keys of objects (at most 64 keys, in any order).
 */
plait_status json_same(const json_cursor *found, const json_cursor *expected,
                       plait_error *err) PLAIT_MUST_CHECK;

/* ---- errors ---- */

/**
 * Fails at the cursor's place:
 *
 *     return json_fail(at, PLAIT_ERROR_RANGE, err, "expected a divisor of 64, found %d", kv);
 */
plait_status json_fail(const json_cursor *at, plait_status status, plait_error *err,
                       const char *fmt, ...) PLAIT_MUST_CHECK PLAIT_PRINTF(4, 5);

/** Fails at the place of a member of the object; the member may be missing. */
plait_status json_fail_key(const json_cursor *at, const char *key, plait_status status,
                           plait_error *err, const char *fmt, ...) PLAIT_MUST_CHECK
    PLAIT_PRINTF(5, 6);

/** Fails (SCHEMA) with a message such as "expected a number, found true". */
plait_status json_fail_type(const json_cursor *at, const char *expected,
                            plait_error *err) PLAIT_MUST_CHECK;
