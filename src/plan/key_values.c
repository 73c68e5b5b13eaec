/* key_values.c - reads, sets and compares the values of degrees by key */
#include <string.h>

#include "plait/degrees.h"
#include "plait/runtime.h"
#include "plan/split.h"
#include "base/text.h"

int plait_key_find(const char *name)
{
    for (int key = 0; name != NULL && key < PLAIT_KEYS; key++)
        if (text_equal(plait_keys[key].name, name))
            return key;
    return -1;
}

/* Returns whether a number from a caller is a valid key. */
static bool is_key(plait_key_id key)
{
    return (unsigned)key < PLAIT_KEYS;
}

unsigned plait_key_all(plait_key_id key)
{
    const plait_key *const row = &plait_keys[is_key(key) ? key : PLAIT_KEY_TP];
    int count = row->words ? 0 : row->high + 1;

    while (row->words && row->words[count])
        count++;
    return row->kind == PLAIT_KEY_NUMBER ? 0 : (1u << count) - 1u;
}

int plait_key_value(const plait_degrees *d, plait_key_id key)
{
    if (!is_key(key))
        return 0;
    const unsigned char *const field = (const unsigned char *)d + plait_keys[key].offset;
    int number;

    switch (plait_keys[key].kind) {
    case PLAIT_KEY_NUMBER:
        memcpy(&number, field, sizeof number);
        return number;
    case PLAIT_KEY_SWITCH:
        return *(const bool *)field;
    default: // the kind is the first byte of a recompute choice and of a split
        return *field;
    }
}

void plait_key_put(plait_degrees *d, plait_key_id key, int value)
{
    if (!is_key(key))
        return;
    unsigned char *const field = (unsigned char *)d + plait_keys[key].offset;

    switch (plait_keys[key].kind) {
    case PLAIT_KEY_NUMBER:
        memcpy(field, &value, sizeof value);
        break;
    case PLAIT_KEY_SWITCH:
        *(bool *)field = value != 0;
        break;
    case PLAIT_KEY_OF_RECOMPUTE:
        d->recompute = (plait_recompute){.kind = (unsigned char)value};
        break;
    case PLAIT_KEY_OF_SPLIT:
        d->split = (plait_split){.kind = (unsigned char)value};
        break;
    default:
        *field = (unsigned char)value;
    }
}

bool plait_key_same(const plait_degrees *a, const plait_degrees *b, plait_key_id key)
{
    return plait_key_value(a, key) == plait_key_value(b, key) &&
           (key != PLAIT_KEY_RECOMPUTE || (a->recompute.modules == b->recompute.modules &&
                                           a->recompute.layers == b->recompute.layers)) &&
           (key != PLAIT_KEY_SPLIT || split_same(&a->split, &b->split));
}

/* The value of a key at which tables leave it out; a switch with a default in the profile has that default. */
static int omitted_value(const plait_problem *problem, plait_key_id key)
{
    const plait_key *const row = &plait_keys[key];

    return row->kind == PLAIT_KEY_SWITCH && row->has_default ? problem->runtime->defaults.key[key]
                                                             : row->absent_value;
}

bool plait_key_applies(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    if (!is_key(key))
        return false;
    const plait_key *const row = &plait_keys[key];
    const int value = plait_key_value(d, key);

    return (row->matters == NULL || row->matters(problem, d)) &&
           value != omitted_value(problem, key) &&
           value >= row->low; // dp is 0 if the other degrees do not divide the GPUs
}
