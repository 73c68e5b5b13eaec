/* text.h - small tools for text: growing it, numbers in it, cutting it up, guessing what was meant
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
 * A text that grows in an arena. Appending never fails at once: when memory runs out, the builder
 * remembers it, ignores what follows, and text_builder_finish returns NULL.
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

/** Makes room for `more` bytes beyond the present length; false when out of memory. */
bool text_builder_reserve(text_builder *out, size_t more);

/** The text, ended by a zero byte, or NULL when memory ran out; `length` may be NULL. */
char *text_builder_finish(text_builder *out, size_t *length);

/** As snprintf and vsnprintf: for what may hold a number with a point. */
int text_format(char *text, size_t size, const char *fmt, ...) PLAIT_PRINTF(3, 4);
int text_format_list(char *text, size_t size, const char *fmt, va_list args);

enum { TEXT_NAMES_SHOWN = 20 };

/**
 * A list of names with commas between them, which bounds the length of a message that quotes a file. Each name is
 * cut at 60 bytes, and the names after the first TEXT_NAMES_SHOWN are only counted: "a, b ... and 5 more".
 */
typedef struct text_names {
    text_builder text;
    size_t count;
} text_names;

void text_names_init(text_names *out, plait_arena *arena);
void text_names_add(text_names *out, const char *name);
char *text_names_finish(text_names *out); /* NULL: out of memory */

/** Enough for any double that text_number writes, its zero byte included. */
enum { TEXT_NUMBER_SIZE = 32 };

/**
 * Writes the shortest of 15, 16 or 17 digits that reads back as `number`: "0.1", "80000000000",
 * "1e-07". Whole numbers below 2^53 are written without an exponent. Infinities and NaN: "inf",
 * "-inf", "nan".
 *
 * @return out
 */
char *text_number(double number, char out[TEXT_NUMBER_SIZE]);

/* These read the whole of `text` or nothing: they return false and leave *out alone when there is
 * anything else in it, blanks included, or when the value is out of range. A number is decimal
 * (sign, digits, point, exponent) and finite; "nan", "inf" and "0x10" are refused. */
bool text_parse_number(const char *text, double *out) PLAIT_MUST_CHECK;
bool text_parse_int(const char *text, int min, int max, int *out) PLAIT_MUST_CHECK;
bool text_parse_int64(const char *text, int64_t min, int64_t max, int64_t *out) PLAIT_MUST_CHECK;

/**
 * Cuts a list such as "tp=8,pp=4" into its pieces: "tp=8", "pp=4". Empty pieces are kept, since an
 * empty piece is for the caller to refuse; an empty text has none.
 *
 * @param count  number of pieces; may be NULL
 * @return       the pieces, then NULL, in `arena`; NULL when out of memory
 */
char **text_split(plait_arena *arena, const char *text, char separator,
                  size_t *count) PLAIT_MUST_CHECK;

/** Ends `text` at its first separator and returns what follows it; NULL when there is none. */
char *text_cut(char *text, char separator);

/* Of ASCII, as everywhere here: what the locale calls letters does not count. */
bool text_is_alphanumeric(char c);
char text_lower(char c);

bool text_equal(const char *a, const char *b);

/** The same but for case. */
bool text_alike(const char *a, const char *b);
bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

/** Index of `word` in a list that NULL ends, or -1. */
int text_index(const char *word, const char *const *known);

/**
 * The known word that was probably meant: the nearest by insertions, deletions, substitutions and
 * swaps of neighbours, if at most a third of the word is wrong, else the first one that begins with
 * it. Letter case does not count. The list ends with NULL; among equals the first wins.
 *
 * @return an element of `known`, or NULL when nothing is near
 */
const char *text_nearest(const char *word, const char *const *known);

/** Bytes of the character that begins `left` bytes; 0: malformed or cut off (RFC 3629). */
size_t text_utf8_length(const char *text, size_t left);

/** The code point of one character of so many bytes. */
unsigned text_utf8_value(const char *text, size_t length);

/** Number of leading bytes that are well-formed UTF-8: `length` when all of them are. */
size_t text_utf8_prefix(const char *text, size_t length);

/* Plain text is UTF-8 without characters that steer what shows it: control characters, ends of
 * lines, marks of direction. What readers take as a name is plain, and what is printed, quoted in a
 * message or written into a comment is made so: each other character becomes '?'. */

/** Number of leading bytes that are plain. */
size_t text_plain_prefix(const char *text, size_t length);
bool text_is_plain(const char *text);

/** In place: a zero byte ends the text behind what is left of `length` bytes. Returns that length. */
size_t text_make_plain(char *text, size_t length);

/** The same of each line: their ends stay. */
void text_make_lines_plain(char *text);

/** The same of a copy in the arena, on one line; NULL when out of memory. */
char *text_plain(plait_arena *arena, const char *text) PLAIT_MUST_CHECK;
void text_append_plain(text_builder *out, const char *text);
