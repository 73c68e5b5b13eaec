/* text.h - text builders, numbers as text, splitting, nearest words, UTF-8
 *
 * Nothing here depends on the locale: a number has a point, never a comma.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plait/arena.h"

/**
 * A text that grows in an arena. When memory runs out, the builder ignores further text, and text_builder_finish()
 * returns NULL.
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

/** Reserves space for `more` bytes after the present length; false if out of memory. */
bool text_builder_reserve(text_builder *out, size_t more);

/** The text with a zero byte, or NULL if memory ran out; `length` may be NULL. */
char *text_builder_finish(text_builder *out, size_t *length);

/** Like snprintf() and vsnprintf(), in the C locale. */
int text_format(char *text, size_t size, const char *fmt, ...) PLAIT_PRINTF(3, 4);
int text_format_list(char *text, size_t size, const char *fmt, va_list args);

enum { TEXT_NAMES_SHOWN = 20 };

/**
 * A list of names with commas between them, of bounded length: each name is cut at 60 bytes, and the names after
 * the first TEXT_NAMES_SHOWN are only counted, "a, b ... and 5 more".
 */
typedef struct text_names {
    text_builder text;
    size_t count;
} text_names;

void text_names_init(text_names *out, plait_arena *arena);
void text_names_add(text_names *out, const char *name);
char *text_names_finish(text_names *out); /* NULL if out of memory */

/** Size of the longest text of text_number(), with its zero byte. */
enum { TEXT_NUMBER_SIZE = 32 };

/**
 * Writes as few of 15 to 17 digits as read back as `number`: "0.1", "80000000000", "1e-07". Whole numbers below
 * 2^53 have no exponent. Infinities and NaN are "inf", "-inf" and "nan".
 *
 * @return out
 */
char *text_number(double number, char out[TEXT_NUMBER_SIZE]);

/* These return false and leave *out unchanged if `text` has anything but the number, even blanks, or if the value
 * is out of range. A number is decimal (sign, digits, point, exponent) and finite; "nan", "inf" and "0x10" are
 * refused. */
bool text_parse_number(const char *text, double *out) PLAIT_MUST_CHECK;
bool text_parse_int(const char *text, int min, int max, int *out) PLAIT_MUST_CHECK;
bool text_parse_int64(const char *text, int64_t min, int64_t max, int64_t *out) PLAIT_MUST_CHECK;

/**
 * Splits a list such as "tp=8,pp=4" into "tp=8" and "pp=4". Empty pieces are kept; an empty text has no pieces.
 *
 * @param count  number of pieces; may be NULL
 * @return       the pieces, then NULL, in `arena`; NULL if out of memory
 */
char **text_split(plait_arena *arena, const char *text, char separator,
                  size_t *count) PLAIT_MUST_CHECK;

/** Ends `text` at its first separator and returns the rest; NULL if it has no separator. */
char *text_cut(char *text, char separator);

/* ASCII only. */
bool text_is_alphanumeric(char c);
char text_lower(char c);

bool text_equal(const char *a, const char *b);
bool text_alike(const char *a, const char *b); /* without regard to case */
bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

/** Index of `word` in a list that NULL ends, or -1. */
int text_index(const char *word, const char *const *known);

/**
 * The known word with the fewest insertions, deletions, substitutions and swaps of neighbours, if they are at most
 * a third of the word; otherwise the first word that begins with it; otherwise NULL. Case does not count. The list
 * ends with NULL; the first of equally near words is returned.
 */
const char *text_nearest(const char *word, const char *const *known);

/** Length of the first character of `left` bytes; 0 if it is malformed or incomplete (RFC 3629). */
size_t text_utf8_length(const char *text, size_t left);

/** The code point of a character of `length` bytes. */
unsigned text_utf8_value(const char *text, size_t length);

/** Number of leading bytes that are well-formed UTF-8. */
size_t text_utf8_prefix(const char *text, size_t length);

/* Plain text is UTF-8 without control characters, line ends and marks of direction. Names that readers accept are
 * plain, and text that is printed, quoted in a message or written into a comment is made plain: each other
 * character becomes '?'. */

/** Number of leading bytes that are plain. */
size_t text_plain_prefix(const char *text, size_t length);
bool text_is_plain(const char *text);

/** Makes `length` bytes plain in place, and returns their new length, after which there is a zero byte. */
size_t text_make_plain(char *text, size_t length);

/** Makes each line plain in place; line ends stay. */
void text_make_lines_plain(char *text);

/** A plain copy in the arena, on one line; NULL if out of memory. */
char *text_plain(plait_arena *arena, const char *text) PLAIT_MUST_CHECK;
void text_append_plain(text_builder *out, const char *text);
