/* limits.c - conditions on keys: tp=8, pp=2..16, recompute=full */
#include <stdio.h>
#include <string.h>

#include "space.h"
#include "text.h"

static bool is_number_key(const char *key)
{
    static const char *const numbers[] = {"tp",  "sp", "cp",   "pp",          "vpp", "ep",
                                          "etp", "dp", "zero", "shard_group", "mbs", NULL};

    return text_index(key, numbers) >= 0;
}

/* "8", "..8", "2..", "2..16" */
static bool parse_range(const char *value, plait_limit *limit)
{
    enum { MOST = 1 << 24 };
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

static plait_status add_limit(plait_search_options *options, const char *key, const char *value,
                              plait_error *err)
{
    plait_degrees probe = plait_degrees_init();
    plait_limit limit = {{0}, {0}, 0, 0};

    if (options->limits == PLAIT_MAX_LIMITS)
        return plait_fail(err, PLAIT_ERROR_RANGE, key, "expected at most %d limits, found more",
                          PLAIT_MAX_LIMITS);
    snprintf(limit.key, sizeof limit.key, "%.23s", key); // the longest key has 11 letters
    if (is_number_key(key)) {
        if (!parse_range(value, &limit))
            return plait_fail(err, PLAIT_ERROR_RANGE, key,
                              "expected a number or a range like 2..16, found '%s'", value);
        if (!strstr(value, ".."))
            PLAIT_TRY(plait_degrees_set(&probe, key, value, err));
    } else {
        PLAIT_TRY(plait_degrees_set(&probe, key, value, err));
        plait_degrees_get(&probe, key, limit.value, sizeof limit.value);
        if (text_equal(key, "fusion")) // none is what every plan has
            return PLAIT_OK;
    }
    options->limit[options->limits++] = limit;
    return PLAIT_OK;
}

plait_status plait_search_limit(plait_search_options *options, const char *text, plait_error *err)
{
    char piece[96];

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        // first-last:F,L carries a comma of its own
        if (text_starts_with(at, "split=first-last:") && at[length] == ',')
            length += 1 + strcspn(at + length + 1, ",");
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
        PLAIT_TRY(add_limit(options, piece, value, err));
        at += length + (at[length] == ',');
    }
    return PLAIT_OK;
}

bool limits_allow(const plait_search_options *options, const char *key, int value)
{
    for (int i = 0; i < options->limits; i++) {
        const plait_limit *limit = &options->limit[i];
        if (text_equal(limit->key, key) && (value < limit->low || value > limit->high))
            return false;
    }
    return true;
}

bool limits_allow_text(const plait_search_options *options, const char *key, const char *text)
{
    for (int i = 0; i < options->limits; i++)
        if (text_equal(options->limit[i].key, key) && !text_equal(options->limit[i].value, text))
            return false;
    return true;
}
