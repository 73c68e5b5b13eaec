/* conditions.c - conditions on keys: tp=8, pp=2..16, recompute=full */
#include <stdio.h>
#include <string.h>

#include "search/space/space.h"
#include "base/text.h"

/* Parses a number or a range: "8", "..8", "2..", "2..16". */
static bool parse_range(const char *value, plait_limit *limit)
{
    enum { MOST = PLAIT_MAX_GPUS }; // the largest bound of any key
    const char *dots = strstr(value, "..");
    char low[16] = "";

    if (!dots) {
        if (!text_parse_int(value, 0, MOST, &limit->low))
            return false;
        limit->high = limit->low;
        return true;
    }
    if (dots - value >= (long)sizeof low)
        return false;
    memcpy(low, value, (size_t)(dots - value));
    limit->low = 0;
    limit->high = MOST;
    return (!*low || text_parse_int(low, 0, MOST, &limit->low)) &&
           (!dots[2] || text_parse_int(dots + 2, 0, MOST, &limit->high)) &&
           limit->low <= limit->high;
}

/*
 * Returns the length of a condition up to the comma after its value. first-last:F,L contains one
 * comma; a layout contains any number of commas and ends before the next key.
 */
static size_t piece_length(const char *at)
{
    const bool layout = text_starts_with(at, "split=layout:");
    size_t length = strcspn(at, ",");

    if (text_starts_with(at, "split=first-last:") && at[length] == ',')
        length += 1 + strcspn(at + length + 1, ",");
    while (layout && at[length] == ',') {
        const char *const next = at + length + 1;
        if (next[strcspn(next, "=,")] == '=')
            break;
        length += 1 + strcspn(next, ",");
    }
    return length;
}

plait_status search_options_check(const plait_search_options *options, plait_error *err)
{
    if (!options)
        return plait_fail(err, PLAIT_ERROR_RANGE, "options", "expected options, found NULL");
    if ((unsigned)options->objective >= PLAIT_OBJECTIVES)
        return plait_fail(err, PLAIT_ERROR_RANGE, "objective",
                          "expected a value of plait_objective, found %d", (int)options->objective);
    if (options->limits < 0 || options->limits > PLAIT_MAX_LIMITS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "limits", "expected at most %d, found %d",
                          PLAIT_MAX_LIMITS, options->limits);
    if (!(options->front_within == 0.0 || options->front_within >= 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "front_within",
                          "expected 0 or a number from 1, found %g", options->front_within);
    for (int i = 0; i < options->limits; i++) {
        const plait_limit *const limit = &options->limit[i];

        if ((unsigned)limit->key >= PLAIT_KEYS || !memchr(limit->value, '\0', sizeof limit->value))
            return plait_fail(err, PLAIT_ERROR_RANGE, "limits",
                              "expected limits added by plait_search_limit, found others");
    }
    return PLAIT_OK;
}

/* Parses key=value pieces between commas; '-' in a key means '_', as in flags. */
plait_status plait_search_limit(plait_search_options *options, const char *text, plait_error *err)
{
    char piece[PLAIT_VALUE_SIZE];

    PLAIT_TRY(search_options_check(options, err));
    if (!text)
        return plait_fail(err, PLAIT_ERROR_RANGE, "limit", "expected key=value, found NULL");
    for (const char *at = text; *at;) {
        const size_t length = piece_length(at);
        if (length >= sizeof piece)
            return plait_fail(err, PLAIT_ERROR_RANGE, "limit", "expected key=value, found '%.40s'",
                              at);
        snprintf(piece, sizeof piece, "%.*s", (int)length, at);
        char *value = text_cut(piece, '=');
        if (!value || !*piece || !*value)
            return plait_fail(err, PLAIT_ERROR_RANGE, "limit", "expected key=value, found '%.80s'",
                              piece);
        for (char *c = piece; *c; c++)
            *c = *c == '-' ? '_' : *c;
        // Parse a number or a range or, for a key with words, a word, which is stored in its
        // canonical spelling.
        const int key = plait_key_find(piece);
        plait_degrees probe = plait_degrees_init();
        plait_limit limit = {.key = (plait_key_id)key};

        if (options->limits == PLAIT_MAX_LIMITS)
            return plait_fail(err, PLAIT_ERROR_RANGE, piece,
                              "expected at most %d limits, found more", PLAIT_MAX_LIMITS);
        if (key >= 0 && plait_keys[key].words == NULL) {
            if (!parse_range(value, &limit))
                return plait_fail(err, PLAIT_ERROR_RANGE, piece,
                                  "expected a number or a range like 2..16, found '%s'", value);
            if (!strstr(value, ".."))
                PLAIT_TRY(plait_degrees_set(&probe, piece, value, err));
        } else {
            PLAIT_TRY(plait_degrees_set(&probe, piece, value, err));
            plait_degrees_get(&probe, limit.key, limit.value, sizeof limit.value);
        }
        options->limit[options->limits++] = limit;
        at += length + (at[length] == ',');
    }
    return PLAIT_OK;
}

bool limits_allow(const plait_search_options *options, plait_key_id key, int value)
{
    for (int i = 0; i < options->limits; i++) {
        const plait_limit *limit = &options->limit[i];
        if (limit->key == key && (value < limit->low || value > limit->high))
            return false;
    }
    return true;
}

bool limits_allow_text(const plait_search_options *options, plait_key_id key, const char *text)
{
    for (int i = 0; i < options->limits; i++)
        if (options->limit[i].key == key && !text_equal(options->limit[i].value, text))
            return false;
    return true;
}

bool limits_allow_value(const plait_search_options *options, plait_key_id key, int value)
{
    const char *const *const words = plait_keys[key].words;

    return words ? limits_allow_text(options, key, words[value])
                 : limits_allow(options, key, value);
}
