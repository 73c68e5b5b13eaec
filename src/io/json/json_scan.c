/* json_scan.c - strict scan of a JSON text before cJSON parses it */
#include "io/json/json_private.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* cJSON copies a number into a buffer of 64 bytes and would split a longer number. */
enum { MAX_NUMBER_LENGTH = 63 };

#define NO_INFINITY "a number or null, since JSON has neither NaN nor Infinity"

typedef struct json_text {
    const char *text;
    size_t length;
    size_t at;
    size_t string; /* offset at which the last string begins */
    bool unclosed; /* the last string has no closing quote */
    int depth;     /* number of open arrays and objects */
} json_text;

/* Returns the current byte, or '\0' at the end of the text. */
static char current_byte(const json_text *scan)
{
    return scan->at < scan->length ? scan->text[scan->at] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool skip_one(json_text *scan, char wanted, char or_wanted)
{
    const bool found = current_byte(scan) == wanted || current_byte(scan) == or_wanted;

    scan->at += found;
    return found;
}

static bool starts_word(const json_text *scan, const char *word)
{
    const size_t length = strlen(word);

    return scan->length - scan->at >= length && memcmp(scan->text + scan->at, word, length) == 0;
}

/* Moves past a row of digits; returns false if there is none. */
static bool skip_digits(json_text *scan)
{
    const size_t start = scan->at;

    while (is_digit(current_byte(scan)))
        scan->at++;
    return scan->at > start;
}

/*
 * Scans a number: ["-"] ("0" | digit1-9 digits) ["." digits] [("e" | "E") ["+" | "-"] digits]
 *
 * This function and the two below return NULL after they have moved past the token, or else a
 * description of the text that they expected at the current position.
 */
static const char *scan_number(json_text *scan)
{
    const size_t start = scan->at;
    size_t whole;

    skip_one(scan, '-', '-');
    if (starts_word(scan, "Infinity"))
        return NO_INFINITY;
    whole = scan->at;
    if (!skip_digits(scan))
        return "a digit";
    if (scan->text[whole] == '0' && scan->at > whole + 1) {
        scan->at = whole;
        return "a number without leading zeros";
    }
    if (skip_one(scan, '.', '.') && !skip_digits(scan))
        return "a digit after the decimal point";
    if (skip_one(scan, 'e', 'E')) {
        skip_one(scan, '-', '+');
        if (!skip_digits(scan))
            return "a digit in the exponent";
    }
    return scan->at - start <= MAX_NUMBER_LENGTH ? NULL : "a number of at most 63 characters";
}

/* Scans a string between quotes. An unclosed string is left for the parser to refuse. */
static const char *scan_string(json_text *scan)
{
    scan->string = scan->at;
    for (scan->at++; scan->at < scan->length && current_byte(scan) != '"'; scan->at++) {
        if (is_control(current_byte(scan)))
            return "control characters to be escaped";
        if (current_byte(scan) != '\\')
            continue;
        scan->at++;
        if (scan->length - scan->at > 4 && memcmp(scan->text + scan->at, "u0000", 5) == 0)
            return "text without the character \\u0000";
    }
    scan->unclosed = !skip_one(scan, '"', '"');
    return NULL;
}

static const char *scan_token(json_text *scan)
{
    const char c = current_byte(scan);

    if (c == '"')
        return scan_string(scan);
    if (c == '-' || c == '+' || c == '.' || is_digit(c))
        return scan_number(scan);
    if (starts_word(scan, "NaN") || starts_word(scan, "Infinity"))
        return NO_INFINITY;
    if (is_control(c) && !is_blank(c))
        return "no control characters between values";
    if ((c == '[' || c == '{') && ++scan->depth > JSON_MAX_DEPTH)
        return "at most 64 levels of nesting";
    if (c == ']' || c == '}')
        scan->depth--;
    scan->at++;
    return NULL;
}

plait_status json_fail_at(const char *text, size_t length, size_t offset, const char *name,
                          const char *expected, plait_error *err)
{
    int line = 1, column = 1;
    char where[sizeof err->where], found[40];

    for (size_t i = 0; i < offset; i++) {
        const bool continues = ((unsigned char)text[i] & 0xc0) == 0x80;

        column = text[i] == '\n' ? 1 : column + !continues;
        line += text[i] == '\n';
    }
    snprintf(where, sizeof where, "%s:%d:%d", name, line, column);

    const unsigned char c = offset < length ? (unsigned char)text[offset] : 0;
    const size_t left = length - offset;
    const bool valid = text_utf8_prefix(text + offset, left < 4 ? left : 4) > 0;
    if (offset >= length)
        snprintf(found, sizeof found, "the end of the text");
    else if (c < 0x20 || c == 0x7f || !valid)
        snprintf(found, sizeof found, "the byte 0x%02x", c);
    else if (c < 0x80)
        snprintf(found, sizeof found, "'%c'", c);
    else
        snprintf(found, sizeof found, "a character outside ASCII");
    return plait_fail(err, PLAIT_ERROR_SYNTAX, where, "expected %s, found %s", expected, found);
}

static bool all_blank(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length && is_blank(text[at]))
        at++;
    return at == length;
}

plait_status json_scan(const char *text, size_t length, const char *name, plait_error *err)
{
    json_text scan = {.text = text, .length = length};
    const size_t valid = text_utf8_prefix(text, length);

    if (all_blank(text, length))
        return plait_fail(err, PLAIT_ERROR_SYNTAX, name, "expected JSON, found an empty text");
    if (valid < length)
        return json_fail_at(text, length, valid, name, "UTF-8", err);
    while (scan.at < length) {
        const char *expected = scan_token(&scan);

        if (expected != NULL)
            return json_fail_at(text, length, scan.at, name, expected, err);
    }
    return PLAIT_OK;
}

size_t json_cut_from(const char *text, size_t length)
{
    json_text scan = {.text = text, .length = length};
    size_t last = length;

    while (scan.at < length && scan_token(&scan) == NULL)
        ;
    while (last > 0 && is_blank(text[last - 1]))
        last--;
    return scan.unclosed ? scan.string : scan.depth > 0 ? last - 1 : length + 1;
}
