/* json.h - reading JSON with errors that say where
 *
 * A document is read, then looked at through cursors, which live on the stack and know their
 * parents. Only when something is wrong do they spell the place, as the file and a JSON pointer:
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
 * A getter comes in up to three forms:
 *
 *     json_number(at, "key", ...)            the member must be there
 *     json_number_optional(at, "key", ...)   *out stays as it is when the member is missing or null
 *     json_as_number(at, ...)                the value at the cursor itself, an element of an array
 *
 * Strings are copied into the caller's arena and outlive the document; cursors and their keys do
 * not. A parent cursor must outlive its children: it is on the stack of a caller, or of the same
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
    const char *name; /* the path, or what stands for it in messages */
} json_document;

typedef struct json_cursor {
    const struct cJSON *value;        /* NULL: an optional array or object that is not there */
    const struct json_cursor *parent; /* NULL at the root */
    const char *key; /* in an object; NULL in an array; the document's name at the root */
    size_t index;    /* in an array or in the iteration over an object */
} json_cursor;

typedef enum json_range {
    JSON_ANY,          /* any finite number */
    JSON_POSITIVE,     /* above 0 */
    JSON_NON_NEGATIVE, /* 0 or more */
    JSON_FRACTION      /* 0 to 1, both included */
} json_range;

/* ---- documents ---- */

/** Files above this size are refused unread. */
#define JSON_MAX_BYTES ((size_t)64 * 1024 * 1024)

/** Reads a file; on success *doc is to be freed. `arena` keeps only a copy of the path. */
plait_status json_document_read(const char *path, plait_arena *arena, json_document *doc,
                                plait_error *err) PLAIT_MUST_CHECK;

/** The same for a text in memory, which need not end with a zero; `name` stands for the path. */
plait_status json_document_parse(const char *text, size_t length, const char *name,
                                 plait_arena *arena, json_document *doc,
                                 plait_error *err) PLAIT_MUST_CHECK;

void json_document_free(json_document *doc);

json_cursor json_document_root(const json_document *doc);

/** Reads what a document is about from its root; `out` is of the reader's own type. */
typedef plait_status json_reader(const json_cursor *root, plait_arena *arena, void *out,
                                 plait_error *err);

/** Reads a file by its reader; the document is freed, whether that fails or not. */
plait_status json_load(const char *path, json_reader *read, plait_arena *arena, void *out,
                       plait_error *err) PLAIT_MUST_CHECK;

/** The same for a text in memory; `name` stands for the path. */
plait_status json_parse(const char *text, size_t length, const char *name, json_reader *read,
                        plait_arena *arena, void *out, plait_error *err) PLAIT_MUST_CHECK;

/* ---- objects and arrays ---- */

/**
 * Checks that the value is an object, that all its keys are among `keys` (NULL ends them), and that
 * none is there twice. The message for an unknown key names the known one that was probably meant.
 */
plait_status json_keys_among(const json_cursor *at, const char *const *keys,
                             plait_error *err) PLAIT_MUST_CHECK;

/** Whether the object has the key, other than null. False when `at` is not an object. */
bool json_has(const json_cursor *at, const char *key);

/**
 * Whether a getter has found this member by its key. json_has(), json_first() and json_next() do not count as
 * reading. json_mark_read() marks a member that the reader skips on purpose.
 */
bool json_was_read(const json_cursor *at);
void json_mark_read(const json_cursor *at, const char *key);

/* Kinds of a value, to tell documents apart by content. */
bool json_is_null(const json_cursor *at); /* also when an optional value is not there */
bool json_is_number(const json_cursor *at);
bool json_is_string(const json_cursor *at);
bool json_is_object(const json_cursor *at);
bool json_is_array(const json_cursor *at);

/** A member of any kind. With json_value_optional, json_is_null(child) tells that there is none. */
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

/** Fails unless the value is an object, or an array. */
plait_status json_as_object(const json_cursor *at, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_array(const json_cursor *at, plait_error *err) PLAIT_MUST_CHECK;

/** Elements of an array or members of an object; 0 for anything else. */
size_t json_count(const json_cursor *at);

/** Moves `child` to the first element or member; false when there is none. */
bool json_first(const json_cursor *at, json_cursor *child);

/** Moves on to the next one; false at the end. */
bool json_next(json_cursor *child);

/* ---- values ---- */

plait_status json_number(const json_cursor *at, const char *key, json_range range, double *out,
                         plait_error *err) PLAIT_MUST_CHECK;
plait_status json_number_optional(const json_cursor *at, const char *key, json_range range,
                                  double *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_number(const json_cursor *at, json_range range, double *out,
                            plait_error *err) PLAIT_MUST_CHECK;

/* An integer has no fraction and lies within [min, max]. JSON numbers are doubles: 64-bit integers
 * are exact up to 2^53 - 1 and refused beyond it. */
plait_status json_int(const json_cursor *at, const char *key, int min, int max, int *out,
                      plait_error *err) PLAIT_MUST_CHECK;
plait_status json_int_optional(const json_cursor *at, const char *key, int min, int max, int *out,
                               plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_int(const json_cursor *at, int min, int max, int *out,
                         plait_error *err) PLAIT_MUST_CHECK;

plait_status json_int64(const json_cursor *at, const char *key, int64_t min, int64_t max,
                        int64_t *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_int64_optional(const json_cursor *at, const char *key, int64_t min, int64_t max,
                                 int64_t *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_int64(const json_cursor *at, int64_t min, int64_t max, int64_t *out,
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

/* A string out of a list that NULL ends; *out is its index, ready for an enum in that order. */
plait_status json_word(const json_cursor *at, const char *key, const char *const *words, int *out,
                       plait_error *err) PLAIT_MUST_CHECK;
plait_status json_word_optional(const json_cursor *at, const char *key, const char *const *words,
                                int *out, plait_error *err) PLAIT_MUST_CHECK;
/** ["p2p", "a2a"] as bits; without `words`, integers from 0 to `most`. */
plait_status json_mask(const json_cursor *at, const char *key, const char *const *words, int most,
                       unsigned *mask, plait_error *err) PLAIT_MUST_CHECK;
plait_status json_as_word(const json_cursor *at, const char *const *words, int *out,
                          plait_error *err) PLAIT_MUST_CHECK;

/* ---- comparison ---- */

/**
 * Fails at the first place where a value is not what another document has there: numbers, words,
 * lengths of arrays, keys of objects (64 at most, in any order).
 */
plait_status json_same(const json_cursor *found, const json_cursor *expected,
                       plait_error *err) PLAIT_MUST_CHECK;

/* ---- errors ---- */

/**
 * Fails at the cursor's place, for checks that only the caller can make:
 *
 *     return json_fail(at, PLAIT_ERROR_RANGE, err, "expected a divisor of 64, found %d", kv);
 */
plait_status json_fail(const json_cursor *at, plait_status status, plait_error *err,
                       const char *fmt, ...) PLAIT_MUST_CHECK PLAIT_PRINTF(4, 5);

/** The same at a member of the object, whether it is there or not. */
plait_status json_fail_key(const json_cursor *at, const char *key, plait_status status,
                           plait_error *err, const char *fmt, ...) PLAIT_MUST_CHECK
    PLAIT_PRINTF(5, 6);

/** "expected a number, found true", as PLAIT_ERROR_SCHEMA. */
plait_status json_fail_type(const json_cursor *at, const char *expected,
                            plait_error *err) PLAIT_MUST_CHECK;
