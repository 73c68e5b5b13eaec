/* reading.c - values of a config's keys, and what has been read of a plan so far */
#include "launch/torchtitan/reading.h"

#include <stdio.h>
#include <string.h>

void titan_warn(titan_reading *in, const char *sentence)
{
    text_append(&in->warning, in->warning.length > 0 ? "\n" : "");
    text_append(&in->warning, sentence);
}

const char *titan_find(const titan_reading *in, const char *key)
{
    return titan_pairs_find(in->pairs, key);
}

/* A word without its quotes. */
const char *titan_word_of(const titan_reading *in, const char *key)
{
    const char *const value = titan_find(in, key);
    const size_t length = value != NULL ? strlen(value) : 0;

    if (length < 2 || strchr("\"'", value[0]) == NULL)
        return value;
    const char *const word =
        plait_arena_printf(in->pairs->arena, "%.*s", (int)length - 2, value + 1);
    return word != NULL ? word : value;
}

/* One factor of 8 * 2_048; its digits may be in groups. */
static bool factor(const char **at, int64_t *out)
{
    char digits[24] = "";
    size_t count = 0;

    for (; **at != '\0' && **at != '*'; (*at)++)
        if (**at != '_' && **at != ' ' && count < sizeof digits - 1)
            digits[count++] = **at;
    return text_parse_int64(digits, -1, 1LL << 40, out);
}

/* An integer, or a product of some; 0: the key is not there. */
plait_status titan_number_of(const titan_reading *in, const char *key, int64_t max, int64_t *out,
                             plait_error *err)
{
    const char *const value = titan_word_of(in, key);
    int64_t product = 1, next = 0;

    *out = 0;
    if (value == NULL)
        return PLAIT_OK;
    for (const char *at = value;; at++) {
        if (!factor(&at, &next) || next == 0 || next > max / product || (next < 0 && product > 1))
            return plait_fail(err, PLAIT_ERROR_RANGE, in->name,
                              "expected a number from 1 to %lld as %s, found '%.60s'",
                              (long long)max, key, value);
        product *= next;
        if (*at == '\0')
            break;
    }
    *out = product;
    return PLAIT_OK;
}

/* -1: not there. */
int titan_switch_of(const titan_reading *in, const char *key)
{
    const char *const value = titan_find(in, key);

    if (value == NULL)
        return -1;
    return strcmp(value, "True") == 0 || strcmp(value, "true") == 0;
}

plait_status titan_set(titan_reading *in, const char *key, const char *value, plait_error *err)
{
    plait_error inner;

    if (plait_degrees_set(&in->out->degrees, key, value, &inner) != PLAIT_OK)
        return plait_fail(err, inner.status, in->name, "%s: %s", key, inner.message);
    in->out->given |= PLAIT_KEY_BIT(plait_key_find(key));
    return PLAIT_OK;
}

plait_status titan_set_number(titan_reading *in, const char *key, int64_t value, plait_error *err)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)value);
    return titan_set(in, key, text, err);
}

bool titan_knows(const titan_reading *in, const char *key)
{
    return (in->out->given & PLAIT_KEY_BIT(plait_key_find(key))) != 0;
}
