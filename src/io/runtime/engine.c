/* engine.c - reads profiles of serving engines, clusters/engines/NAME.json */
#include <string.h>

#include "io/data/data.h"
#include "io/json/fields.h"
#include "io/json/json.h"
#include "plait/data.h"
#include "plait/serve.h"
#include "plait/units.h"

static const field number_fields[] = {
#define X(name, word, base, low, high, assumed)                                                    \
    {word,         JSON_NON_NEGATIVE, .least = low,                                                \
     .most = high, .unit = base,      FIELD_AT(plait_engine, name)},
    PLAIT_ENGINE_NUMBERS(X)
#undef X
        {.key = NULL},
};

static const field default_fields[] = {
    {"chunk_tokens", JSON_POSITIVE, .least = 1.0, .most = 1e9, .required = true,
     FIELD_AT(plait_engine, chunk_tokens)},
    {"max_sequences", JSON_POSITIVE, .least = 1.0, .most = 1e9, .required = true,
     FIELD_AT(plait_engine, max_sequences)},
    {"memory_fraction", JSON_FRACTION, .required = true, FIELD_AT(plait_engine, memory_fraction)},
    {"graph_gb", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_GB, .required = true,
     FIELD_AT(plait_engine, graph_bytes)},
    {"block_tokens", JSON_POSITIVE, .least = 1.0, .most = 1e9, .required = true,
     FIELD_AT(plait_engine, block_tokens)},
    {"poll_steps", JSON_NON_NEGATIVE, .most = 1e6, FIELD_AT(plait_engine, poll_steps)},
    {"gather_steps", JSON_NON_NEGATIVE, .most = 1e6, FIELD_AT(plait_engine, gather_steps)},
    {"prefill_first", .is_bool = true, FIELD_AT(plait_engine, prefill_first)},
    {"host_overlap", .is_bool = true, FIELD_AT(plait_engine, host_overlap)},
    {"logit_bytes", JSON_NON_NEGATIVE, .most = 1e3, FIELD_AT(plait_engine, logit_bytes)},
    {"outside_gb", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_GB,
     FIELD_AT(plait_engine, outside_bytes)},
    {"group_gb", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_GB,
     FIELD_AT(plait_engine, group_bytes)},
    {.key = NULL},
};

static const field band_fields[] = {
    {"runs", .is_int = true, .most = 1e6, FIELD_AT(plait_serve_bands, runs)},
    {"ttft", JSON_POSITIVE, .least = 1e-3, .most = 1e3, .count = 2,
     FIELD_AT(plait_serve_bands, figure[PLAIT_SERVE_TTFT])},
    {"tpot", JSON_POSITIVE, .least = 1e-3, .most = 1e3, .count = 2,
     FIELD_AT(plait_serve_bands, figure[PLAIT_SERVE_TPOT])},
    {"out_tok_s", JSON_POSITIVE, .least = 1e-3, .most = 1e3, .count = 2,
     FIELD_AT(plait_serve_bands, figure[PLAIT_SERVE_RATE])},
    {.key = NULL},
};

/* Reads the bands of each kind of evidence; missing ones have no width. */
static plait_status read_bands(const json_cursor *at, plait_engine *out, plait_error *err)
{
    json_cursor bands;

    for (int e = 0; e < PLAIT_SERVE_EVIDENCES; e++)
        for (int f = 0; f < PLAIT_SERVE_FIGURES; f++)
            out->bands[e].figure[f][0] = out->bands[e].figure[f][1] = 1.0;
    PLAIT_TRY(json_object_optional(at, "band", &bands, err));
    if (json_is_null(&bands))
        return PLAIT_OK;
    PLAIT_TRY(json_keys_among(&bands, plait_serve_evidence_name, err));
    for (int e = 0; e < PLAIT_SERVE_EVIDENCES; e++) {
        plait_serve_bands *const b = &out->bands[e];

        PLAIT_TRY(fields_read_optional(&bands, plait_serve_evidence_name[e], band_fields, b, err));
        for (int f = 0; f < PLAIT_SERVE_FIGURES; f++)
            if (b->figure[f][0] > b->figure[f][1])
                return json_fail_key(
                    &bands, plait_serve_evidence_name[e], PLAIT_ERROR_RANGE, err,
                    "expected the lower factor before the upper one, found %g before %g",
                    b->figure[f][0], b->figure[f][1]);
    }
    return PLAIT_OK;
}

/* Reads a list of texts, which NULL ends. */
static plait_status read_texts(const json_cursor *at, const char *key, plait_arena *arena,
                               const char *const **out, plait_error *err)
{
    json_cursor list, item;
    size_t count = 0;

    PLAIT_TRY(json_array_optional(at, key, &list, err));
    const char **const texts = plait_arena_alloc(arena, json_count(&list) + 1, sizeof *texts);
    PLAIT_TRY(plait_check_allocated(texts, err));
    for (bool more = json_first(&list, &item); more; more = json_next(&item))
        PLAIT_TRY(json_as_string(&item, arena, &texts[count++], err));
    texts[count] = NULL;
    *out = texts;
    return PLAIT_OK;
}

/* Reads the accelerators, models and architectures of the runs in the fit. */
static plait_status read_evidence(const json_cursor *at, plait_arena *arena, plait_engine *out,
                                  plait_error *err)
{
    static const char *const keys[] = {"accelerators", "models", "architectures", NULL};
    json_cursor block;

    PLAIT_TRY(json_object_optional(at, "evidence", &block, err));
    if (json_is_null(&block))
        return PLAIT_OK;
    PLAIT_TRY(json_keys_among(&block, keys, err));
    PLAIT_TRY(read_texts(&block, keys[0], arena, &out->accelerators, err));
    PLAIT_TRY(read_texts(&block, keys[1], arena, &out->models, err));
    return read_texts(&block, keys[2], arena, &out->architectures, err);
}

static plait_status read_engine(const json_cursor *at, plait_arena *arena, void *result,
                                plait_error *err)
{
    static const char *const numbers[] = {
#define X(name, word, base, low, high, assumed) word,
        PLAIT_ENGINE_NUMBERS(X)
#undef X
            NULL};
    static const char *const keys[] = {"name",     "source",   "engine",  "until",      "before",
                                       "vendor",   "defaults", "numbers", "determined", "rows",
                                       "evidence", "band",     NULL};
    plait_engine *out = result;
    int kind = 0;
    json_cursor block, list, item;

    *out = (plait_engine){.vendor = ""};
    plait_engine_assume(out);
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_string(at, "name", arena, &out->name, err));
    PLAIT_TRY(json_string(at, "source", arena, &out->source, err));
    PLAIT_TRY(json_word(at, "engine", plait_engine_name, &kind, err));
    out->kind = (plait_engine_kind)kind;
    PLAIT_TRY(json_int_optional(at, "until", 2001, 9912, &out->until, err));
    PLAIT_TRY(json_int_optional(at, "before", 1, 9999, &out->before, err));
    PLAIT_TRY(json_string_optional(at, "vendor", arena, &out->vendor, err));
    PLAIT_TRY(json_int_optional(at, "rows", 0, 1000000, &out->rows, err));
    PLAIT_TRY(json_object(at, "defaults", &block, err));
    PLAIT_TRY(fields_read(&block, default_fields, NULL, out, err));
    PLAIT_TRY(json_object(at, "numbers", &block, err));
    PLAIT_TRY(fields_read(&block, number_fields, NULL, out, err));
    PLAIT_TRY(read_evidence(at, arena, out, err));
    PLAIT_TRY(read_bands(at, out, err));
    out->evidence = PLAIT_SERVE_NEW_ARCHITECTURE;
    memcpy(out->band, out->bands[out->evidence].figure, sizeof out->band);

    // Read which numbers are determined by measured runs.
    PLAIT_TRY(json_array_optional(at, "determined", &list, err));
    for (bool more = json_first(&list, &item); more; more = json_next(&item)) {
        int number = 0;

        PLAIT_TRY(json_as_word(&item, numbers, &number, err));
        out->determined[number] = true;
    }
    return PLAIT_OK;
}

plait_status plait_engine_load(const char *path, plait_arena *arena, plait_engine *out,
                               plait_error *err)
{
    return json_load(path, read_engine, arena, out, err);
}

plait_status plait_engine_find(const char *name, plait_arena *arena, plait_engine *out,
                               plait_error *err)
{
    const char *path;

    PLAIT_TRY(plait_data_find(PLAIT_DATA_ENGINES, name, arena, &path, err));
    PLAIT_TRY(plait_engine_load(path, arena, out, err));
    if (data_is_path(name))
        out->name = path;
    return PLAIT_OK;
}

plait_status plait_engine_list(plait_arena *arena, plait_engine **profiles, size_t *count,
                               plait_error *err)
{
    const char *const *names;

    PLAIT_TRY(plait_data_list(PLAIT_DATA_ENGINES, arena, &names, count, err));
    *profiles = plait_arena_alloc(arena, *count, sizeof **profiles);
    PLAIT_TRY(plait_check_allocated(*profiles, err));
    for (size_t i = 0; i < *count; i++)
        PLAIT_TRY(plait_engine_find(names[i], arena, &(*profiles)[i], err));
    return PLAIT_OK;
}

/* Returns whether a profile covers a month, or a version if the month is 0. */
static bool profile_covers(const plait_engine *p, int month, int version)
{
    if (p->until == 0)
        return true;
    if (month != 0)
        return month <= p->until;
    return version != 0 && p->before != 0 && version < p->before;
}

const plait_engine *plait_engine_of(const plait_engine *profiles, size_t count,
                                    plait_engine_kind kind, const char *vendor, int month,
                                    int version)
{
    const plait_engine *found = NULL;
    bool own = false; // `found` is of this vendor; such profiles precede those of any vendor

    for (size_t i = 0; i < count; i++) {
        const plait_engine *p = &profiles[i];
        const bool same = p->vendor[0] != '\0' && strcmp(p->vendor, vendor) == 0;

        if (p->kind != kind || !(p->vendor[0] == '\0' || same) ||
            !profile_covers(p, month, version) || (own && !same))
            continue;
        if ((same && !own) ||
            (found == NULL || (p->until != 0 && (found->until == 0 || p->until < found->until))))
            found = p;
        own = own || same;
    }
    return found;
}
