/* degrees.c - the degrees of a plan: their keys as text, and values derived from them */
#include <stdio.h>
#include <string.h>

#include "plait/degrees.h"
#include "base/saturating.h"
#include "plan/layout.h"
#include "base/text.h"

plait_degrees plait_degrees_init(void)
{
    return (plait_degrees){
        .tp = 1,
        .cp = 1,
        .pp = 1,
        .vpp = 1,
        .ep = 1,
        .etp = 1,
        .dp = 1,
        .mbs = 1,
        .shard_group = 1,
        .schedule = PLAIT_1F1B,
        .grad_sync = PLAIT_SYNC_BUCKETED,
        .attention = PLAIT_ATTENTION_FUSED,
    };
}

int plait_degrees_dp(int gpus, int tp, int pp, int cp)
{
    const int model = saturating_mul(saturating_mul(tp, pp), cp);

    return gpus > 0 && tp > 0 && pp > 0 && cp > 0 && gpus % model == 0 ? gpus / model : 0;
}

int plait_degrees_microbatches(const plait_degrees *degrees, int gbs)
{
    const int sequences = saturating_mul(degrees->dp, degrees->mbs);

    return sequences > 0 && gbs % sequences == 0 ? gbs / sequences : 0;
}

// ---- values from text ----------------------------------------------------------------------

static plait_status fail_expected(plait_error *err, const char *key, const char *what,
                                  const char *found)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, key, "expected %s, found '%s'", what, found);
}

static plait_status set_int(int *out, const char *key, const char *value, int min, int max,
                            plait_error *err)
{
    char what[64];

    if (text_parse_int(value, min, max, out))
        return PLAIT_OK;
    snprintf(what, sizeof what, "an integer from %d to %d", min, max);
    return fail_expected(err, key, what, value);
}

static plait_status set_word(unsigned char *out, const char *key, const char *value,
                             const char *const *words, plait_error *err)
{
    const int found = text_index(value, words);
    char what[192] = "one of ";

    if (found >= 0) {
        *out = (unsigned char)found;
        return PLAIT_OK;
    }
    for (int i = 0; words[i]; i++) {
        const size_t used = strlen(what);
        snprintf(what + used, sizeof what - used, "%s%s", i ? ", " : "", words[i]);
    }
    return fail_expected(err, key, what, value);
}

/* Parses the list a+b of modules:a+b. */
static plait_status set_modules(plait_recompute *out, const char *list, plait_error *err)
{
    unsigned mask = 0;
    char word[32];

    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, "+");
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), at);
        const int module = text_index(word, plait_recompute_module_name);
        if (module < 0) {
            const char *nearest = text_nearest(word, plait_recompute_module_name);
            return plait_fail(err, PLAIT_ERROR_RANGE, "recompute",
                              "expected module names joined by '+', found '%s'%s%s%s", word,
                              nearest ? "; did you mean '" : "", nearest ? nearest : "",
                              nearest ? "'?" : "");
        }
        mask |= 1u << module;
        at += length + (at[length] == '+');
    }
    if (mask == 0)
        return fail_expected(err, "recompute", "at least one module", list);
    *out = (plait_recompute){.kind = PLAIT_RECOMPUTE_MODULES, .modules = (unsigned char)mask};
    return PLAIT_OK;
}

static plait_status set_recompute(plait_recompute *out, const char *value, plait_error *err)
{
    int layers;

    if (text_starts_with(value, "modules:"))
        return set_modules(out, value + strlen("modules:"), err);
    if (text_starts_with(value, "full:")) {
        PLAIT_TRY(set_int(&layers, "recompute", value + strlen("full:"), 1, PLAIT_MAX_LAYERS, err));
        *out = (plait_recompute){.kind = PLAIT_RECOMPUTE_FULL, .layers = (short)layers};
        return PLAIT_OK;
    }
    const int kind = text_index(value, plait_recompute_name);
    if (kind < 0 || kind == PLAIT_RECOMPUTE_MODULES)
        return fail_expected(err, "recompute", "none, selective, full, full:N, modules:a+b or sac",
                             value);
    *out = (plait_recompute){.kind = (unsigned char)kind};
    return PLAIT_OK;
}

/* Parses first-last:F,L. Texts with commas between keys have the form first-last:F+L. */
static plait_status set_split(plait_split *out, const char *value, plait_error *err)
{
    int first = 0;
    int last = 0;
    char junk;

    if (text_starts_with(value, "first-last:")) {
        const char *counts = value + strlen("first-last:");
        if ((sscanf(counts, "%5d,%5d%c", &first, &last, &junk) == 2 ||
             sscanf(counts, "%5d+%5d%c", &first, &last, &junk) == 2) &&
            first >= 1 && last >= 1 && first <= PLAIT_MAX_LAYERS && last <= PLAIT_MAX_LAYERS) {
            *out = (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST,
                                 .first = (unsigned short)first,
                                 .last = (unsigned short)last};
            return PLAIT_OK;
        }
        return fail_expected(err, "split", "first-last:F,L with layer counts", value);
    }
    if (text_starts_with(value, "layout:")) {
        plait_chunk chunks[PLAIT_MAX_LAYERS];
        int count;

        const char *text = value + strlen("layout:");
        PLAIT_TRY(layout_read(text, PLAIT_MAX_LAYERS, chunks, &count, err));
        *out = (plait_split){.kind = PLAIT_SPLIT_LAYOUT, .layout = text};
        return PLAIT_OK;
    }
    unsigned char kind;
    PLAIT_TRY(set_word(&kind, "split", value, plait_split_name, err));
    if (kind == PLAIT_SPLIT_FIRST_LAST)
        return fail_expected(err, "split", "first-last:F,L with layer counts", value);
    if (kind == PLAIT_SPLIT_LAYOUT)
        return fail_expected(err, "split", "layout:TEXT, such as layout:Et*3|(tt|)*29,m|L", value);
    *out = (plait_split){.kind = kind};
    return PLAIT_OK;
}

static plait_status set_number(plait_degrees *d, plait_key_id key, const char *value,
                               plait_error *err)
{
    const plait_key *const row = &plait_keys[key];
    int number;

    PLAIT_TRY(set_int(&number, row->name, value, row->low, row->high, err));
    plait_key_put(d, key, number);
    return PLAIT_OK;
}

static plait_status fail_unknown(const char *key, plait_error *err)
{
    const char *names[PLAIT_KEYS + 1] = {NULL};
    const char *nearest;

    for (int k = 0; k < PLAIT_KEYS; k++)
        names[k] = plait_keys[k].name;
    nearest = text_nearest(key, names);
    return plait_fail(err, PLAIT_ERROR_RANGE, key, "expected a key of a plan, found '%s'%s%s%s",
                      key, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?" : "");
}

plait_status plait_degrees_set(plait_degrees *d, const char *key, const char *value,
                               plait_error *err)
{
    const int found = key ? plait_key_find(key) : -1;
    unsigned char word;

    if (!key || !value)
        return plait_fail(err, PLAIT_ERROR_RANGE, key, "expected a key and a value, found NULL");
    if (found < 0)
        return fail_unknown(key, err);
    switch (plait_keys[found].kind) {
    case PLAIT_KEY_WORD:
        PLAIT_TRY(set_word(&word, key, value, plait_keys[found].words, err));
        plait_key_put(d, (plait_key_id)found, word);
        return PLAIT_OK;
    case PLAIT_KEY_OF_RECOMPUTE:
        return set_recompute(&d->recompute, value, err);
    case PLAIT_KEY_OF_SPLIT:
        return set_split(&d->split, value, err);
    default:
        return set_number(d, (plait_key_id)found, value, err);
    }
}

// ---- text from values ----------------------------------------------------------------------

/* Returns the word at an index, or "" past the end of the list. */
static const char *word_of(const char *const *words, int number)
{
    for (int i = 0; words[i]; i++)
        if (i == number)
            return words[i];
    return "";
}

static char *recompute_text(plait_recompute recompute, char *text, size_t size)
{
    snprintf(text, size, "%s", word_of(plait_recompute_name, recompute.kind));
    if (recompute.kind == PLAIT_RECOMPUTE_FULL && recompute.layers > 0)
        snprintf(text, size, "full:%d", recompute.layers);
    if (recompute.kind != PLAIT_RECOMPUTE_MODULES)
        return text;
    for (int m = 0, written = 0; m < PLAIT_MODULES; m++) {
        const size_t used = strlen(text);
        if (recompute.modules >> m & 1)
            snprintf(text + used, size - used, "%s%s", written++ ? "+" : ":",
                     plait_recompute_module_name[m]);
    }
    return text;
}

static char *split_text(plait_split split, char *text, size_t size)
{
    if (split.kind == PLAIT_SPLIT_FIRST_LAST)
        snprintf(text, size, "first-last:%d,%d", split.first, split.last);
    else if (split.kind == PLAIT_SPLIT_LAYOUT)
        snprintf(text, size, "layout:%s", split.layout ? split.layout : "");
    else
        snprintf(text, size, "%s", word_of(plait_split_name, split.kind));
    return text;
}

char *plait_degrees_get(const plait_degrees *d, plait_key_id key, char *text, size_t size)
{
    if (size == 0)
        return text;
    text[0] = '\0';
    if ((unsigned)key >= PLAIT_KEYS)
        return text;
    const plait_key *const row = &plait_keys[key];

    switch (row->kind) {
    case PLAIT_KEY_WORD:
        snprintf(text, size, "%s", word_of(row->words, plait_key_value(d, key)));
        return text;
    case PLAIT_KEY_OF_RECOMPUTE:
        return recompute_text(d->recompute, text, size);
    case PLAIT_KEY_OF_SPLIT:
        return split_text(d->split, text, size);
    default:
        snprintf(text, size, "%d", plait_key_value(d, key));
        return text;
    }
}

char *plait_key_text(plait_key_id key, int value, char *text, size_t size)
{
    plait_degrees probe = plait_degrees_init();

    plait_key_put(&probe, key, value);
    return plait_degrees_get(&probe, key, text, size);
}
