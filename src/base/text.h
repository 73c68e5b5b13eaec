/* text.h - text builders, numbers as text, splitting, nearest words, UTF-8
 *
 * No function here depends on the locale: numbers always have a decimal point, never a comma.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plait/arena.h"

/**
 * A text that grows in an arena. If memory runs out, the builder ignores all further text, and
 * text_builder_finish() returns NULL.
 */
typedef struct text_builder {
    plait_arena *arena;
    char *text;
    size_t length;
    size_t capacity;
    bool failed;
} text_builder;

void text_builder_init(text_builder *out, plait_arena *arena);
void text_append(text_builder *out, const char *text);
void text_append_bytes(text_builder *out, const char *bytes, size_t length);
void text_append_char(text_builder *out, char c);
void text_append_repeated(text_builder *out, char c, size_t times);
void text_append_number(text_builder *out, double number);
void text_append_printf(text_builder *out, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/** Reserves space for `more` bytes after the text; returns false if out of memory. */
bool text_builder_reserve(text_builder *out, size_t more);

/**
 * Returns the text with a zero byte at its end, or NULL if memory ran out; `length` can be NULL.
 */
char *text_builder_finish(text_builder *out, size_t *length);

/** Like snprintf() and vsnprintf(), but in the C locale. */
int text_format(char *text, size_t size, const char *fmt, ...) PLAIT_PRINTF(3, 4);
int text_format_list(char *text, size_t size, const char *fmt, va_list args);

enum { TEXT_NAMES_SHOWN = 20 };

/**
 * A list of names with commas between them. Its length is bounded: each name is cut at 60 bytes,
 * and names after the first TEXT_NAMES_SHOWN are only counted, as in "a, b ... and 5 more".
 */
typedef struct text_names {
    text_builder text;
    size_t count;
} text_names;

void text_names_init(text_names *out, plait_arena *arena);
void text_names_add(text_names *out, const char *name);
char *text_names_finish(text_names *out); /* returns NULL if out of memory */

/** Size of the longest result of text_number(), with its zero byte. */
enum { TEXT_NUMBER_SIZE = 32 };

/**
 * Writes the shortest text of 15 to 17 significant digits that reads back as `number`: "0.1",
 * "80000000000", "1e-07". Whole numbers below 2^53 have no exponent. Infinities and NaN are "inf",
 * "-inf" and "nan".
 *
 * @return out
 */
char *text_number(double number, char out[TEXT_NUMBER_SIZE]);

/*
 * The text_parse functions return false and leave *out unchanged if the value is out of range or if
 * `text` contains anything besides the number, even blanks. A number is decimal (sign, digits,
 * point, exponent) and finite; the functions reject "nan", "inf" and "0x10".
 */
bool text_parse_number(const char *text, double *out) PLAIT_MUST_CHECK;
bool text_parse_int(const char *text, int min, int max, int *out) PLAIT_MUST_CHECK;
bool text_parse_int64(const char *text, int64_t min, int64_t max, int64_t *out) PLAIT_MUST_CHECK;

/**
 * Splits a list such as "tp=8,pp=4" into "tp=8" and "pp=4". Empty pieces are kept; an empty text
 * has no pieces.
 *
 * @param count  number of pieces; may be NULL
 * @return       the pieces, then NULL, in `arena`; NULL if out of memory
 */
char **text_split(plait_arena *arena, const char *text, char separator,
                  size_t *count) PLAIT_MUST_CHECK;

/** Ends `text` at its first separator, and returns the text after it; NULL without a separator. */
char *text_cut(char *text, char separator);

/* These functions treat ASCII letters and digits only. */
bool text_is_alphanumeric(char c);
char text_lower(char c);

bool text_equal(const char *a, const char *b);
bool text_alike(const char *a, const char *b); /* ignores case */
bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

/** Returns the index of `word` in a NULL-terminated list, or -1. */
int text_index(const char *word, const char *const *known);

/**
 * Returns the known word that is nearest to `word`, the first of several equally near ones. The
 * distance is the number of insertions, deletions, substitutions and swaps of neighbours, without
 * regard to case. If it exceeds a third of the length of `word`, the function returns the first
 * known word that begins with `word`, or NULL. The list ends with NULL.
 */
const char *text_nearest(const char *word, const char *const *known);

/**
 * Returns the length in bytes of the first character of a text with `left` bytes; 0 if the
 * character is malformed or incomplete (RFC 3629).
 */
size_t text_utf8_length(const char *text, size_t left);

/** Returns the code point of a character of `length` bytes. */
unsigned text_utf8_value(const char *text, size_t length);

/** Returns the number of leading bytes that are well-formed UTF-8. */
size_t text_utf8_prefix(const char *text, size_t length);

/*
 * Plain text is UTF-8 without control characters, line ends and direction marks. Readers accept
 * only plain names. Text that is printed, quoted in a message or written into a comment is made
 * plain: '?' replaces each character that is not allowed.
 */

/** Returns the number of leading bytes that are plain. */
size_t text_plain_prefix(const char *text, size_t length);
bool text_is_plain(const char *text);

/** Makes `length` bytes plain in place, appends a zero byte, and returns the new length. */
size_t text_make_plain(char *text, size_t length);

/** Makes each line plain in place, and keeps line ends. */
void text_make_lines_plain(char *text);

/** Returns a plain copy in the arena, on one line; NULL if out of memory. */
char *text_plain(plait_arena *arena, const char *text) PLAIT_MUST_CHECK;
void text_append_plain(text_builder *out, const char *text);
