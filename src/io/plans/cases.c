/* cases.c - reads cases: published systems */
#include "io/plans/cases.h"

#include <math.h>
#include <string.h>

#include "plait/data.h"

#include "io/file.h"
#include "io/plans/plans_json.h"

enum { MAX_ROWS = 256, MAX_REMARKS = 64 };

#define X(key, title, unit) #key,
const char *const case_figure_key[CASE_FIGURES + 1] = {CASE_FIGURE_LIST(X) NULL};
#undef X
#define X(key, title, unit) title,
const char *const case_figure_title[CASE_FIGURES + 1] = {CASE_FIGURE_LIST(X) NULL};
#undef X
#define X(key, title, unit) unit,
const case_unit case_figure_unit[CASE_FIGURES] = {CASE_FIGURE_LIST(X)};
#undef X

static plait_status read_remarks(const json_cursor *at, const char *key, plait_arena *arena,
                                 case_remarks *out, plait_error *err)
{
    json_cursor list, element;
    const char **text;
    int count = 0;

    PLAIT_TRY(json_array_optional(at, key, &list, err));
    if (json_count(&list) > MAX_REMARKS)
        return json_fail(&list, PLAIT_ERROR_RANGE, err, "expected at most %d remarks, found %zu",
                         MAX_REMARKS, json_count(&list));
    if (json_count(&list) == 0)
        return PLAIT_OK;
    text = plait_arena_alloc(arena, json_count(&list), sizeof *text);
    PLAIT_TRY(plait_check_allocated(text, err));
    for (bool more = json_first(&list, &element); more; more = json_next(&element))
        PLAIT_TRY(json_as_string(&element, arena, &text[count++], err));
    *out = (case_remarks){count, text};
    return PLAIT_OK;
}

/* ---- keys that the file and each row may have ---- */

static plait_status read_key(const json_cursor *plan, plait_key_id key, plait_arena *arena,
                             case_row *out, plait_error *err)
{
    plait_degrees degrees = plait_degrees_init();
    const char *const name = plait_keys[key].name;
    const char *text;
    plait_error inner;
    json_cursor at;

    PLAIT_TRY(json_value_optional(plan, name, &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(plans_read_value(&at, arena, &text, err));
    if (plait_degrees_set(&degrees, name, text, &inner) != PLAIT_OK)
        return json_fail(&at, inner.status, err, "%s", inner.message);
    out->key[key] = text;
    return PLAIT_OK;
}

static plait_status read_setting(const json_cursor *at, plait_arena *arena, case_row *out,
                                 plait_error *err)
{
    json_cursor job, plan;

    PLAIT_TRY(json_string_optional(at, "model", arena, &out->model, err));
    PLAIT_TRY(json_string_optional(at, "cluster", arena, &out->cluster, err));
    PLAIT_TRY(json_string_optional(at, "runtime", arena, &out->runtime, err));
    PLAIT_TRY(json_string_optional(at, "rl", arena, &out->rl, err));
    PLAIT_TRY(json_int_optional(at, "gpus", 1, PLAIT_MAX_GPUS, &out->gpus, err));
    PLAIT_TRY(json_object_optional(at, "job", &job, err));
    if (!json_is_null(&job)) {
        static const char *const keys[] = {"seq", "gbs", "precision", "attention", NULL};

        // The attention kernel may be in the job or in the plan.
        PLAIT_TRY(json_keys_among(&job, keys, err));
        PLAIT_TRY(json_int_optional(&job, "seq", 1, PLAIT_MAX_SEQ, &out->seq, err));
        PLAIT_TRY(json_int_optional(&job, "gbs", 1, PLAIT_MAX_GBS, &out->gbs, err));
        PLAIT_TRY(json_string_optional(&job, "precision", arena, &out->precision, err));
        PLAIT_TRY(read_key(&job, PLAIT_KEY_ATTENTION, arena, out, err));
    }
    PLAIT_TRY(json_object_optional(at, "plan", &plan, err));
    if (json_is_null(&plan))
        return PLAIT_OK;
    const char *keys[PLAIT_KEYS + 1] = {NULL};
    for (int key = 0; key < PLAIT_KEYS; key++)
        keys[key] = plait_keys[key].name;
    PLAIT_TRY(json_keys_among(&plan, keys, err));
    for (int key = 0; key < PLAIT_KEYS; key++)
        PLAIT_TRY(read_key(&plan, (plait_key_id)key, arena, out, err));
    return PLAIT_OK;
}

/* ---- rows ---- */

static plait_status read_row(const json_cursor *at, case_row *rows, int before,
                             const case_row *common, plait_arena *arena, plait_error *err)
{
    static const char *const keys[] = {"name",        "model",  "cluster",   "runtime", "gpus",
                                       "job",         "plan",   "published", "notes",   "against",
                                       "sync_stages", "search", "rl",        NULL};
    case_row *const out = &rows[before];
    json_cursor published;

    *out = *common;
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_string(at, "name", arena, &out->name, err));
    for (int r = 0; r < before; r++)
        if (strcmp(rows[r].name, out->name) == 0)
            return json_fail_key(at, "name", PLAIT_ERROR_RANGE, err,
                                 "expected a unique name, found \"%.60s\" again", out->name);
    PLAIT_TRY(json_bool_optional(at, "search", &out->search, err));
    PLAIT_TRY(read_setting(at, arena, out, err));

    const struct {
        const char *key;
        bool there;
    } needed[] = {{"model", out->model != NULL},
                  {"cluster", out->cluster != NULL},
                  {"runtime", out->runtime != NULL},
                  {"gpus", out->gpus > 0},
                  {"job/seq", out->rl != NULL || out->seq > 0},
                  {"job/gbs", out->rl != NULL || out->gbs > 0}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].there)
            return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                             "expected %s here or at the top of the file, found neither",
                             needed[i].key);
    for (int f = 0; f < CASE_FIGURES; f++)
        out->published[f] = (double)NAN;
    PLAIT_TRY(json_object_optional(at, "published", &published, err));
    if (!json_is_null(&published)) {
        PLAIT_TRY(json_keys_among(&published, case_figure_key, err));
        for (int f = 0; f < CASE_FIGURES; f++) {
            const json_range range = f == CASE_speedup_percent ? JSON_ANY : JSON_POSITIVE;

            PLAIT_TRY(json_number_optional(&published, case_figure_key[f], range,
                                           &out->published[f], err));
        }
        if (out->published[CASE_speedup_percent] <= -100.0)
            return json_fail_key(&published, "speedup_percent", PLAIT_ERROR_RANGE, err,
                                 "expected more than -100, found %g",
                                 out->published[CASE_speedup_percent]);
    }

    // A row may be compared only with an earlier one.
    const char *against = NULL;
    out->against = -1;
    PLAIT_TRY(json_string_optional(at, "against", arena, &against, err));
    for (int r = 0; against != NULL && r < before; r++)
        if (strcmp(rows[r].name, against) == 0)
            out->against = r;
    if (against != NULL && out->against < 0)
        return json_fail_key(at, "against", PLAIT_ERROR_RANGE, err,
                             "expected the name of an earlier row, found \"%.60s\"", against);
    if (out->against < 0 && isfinite(out->published[CASE_speedup_percent]))
        return json_fail_key(at, "against", PLAIT_ERROR_SCHEMA, err,
                             "expected the row that speedup_percent compares with, found none");
    PLAIT_TRY(json_int_optional(at, "sync_stages", 2, 1 << 20, &out->sync_stages, err));
    if (out->sync_stages > 0 && out->against < 0)
        return json_fail_key(at, "sync_stages", PLAIT_ERROR_SCHEMA, err,
                             "expected this key only together with \"against\"");
    return read_remarks(at, "notes", arena, &out->notes, err);
}

/* ---- the file ---- */

static plait_status read_case(const json_cursor *root, plait_arena *arena, void *result,
                              plait_error *err)
{
    static const char *const keys[] = {"name",        "title", "source", "model", "cluster",
                                       "runtime",     "gpus",  "job",    "plan",  "assumed",
                                       "contradicts", "notes", "rows",   "rl",    NULL};
    case_study *const out = result;
    case_row common = {.against = -1};
    json_cursor list, element;
    case_row *rows;

    *out = (case_study){0};
    PLAIT_TRY(json_keys_among(root, keys, err));
    PLAIT_TRY(json_string(root, "name", arena, &out->name, err));
    PLAIT_TRY(json_string(root, "title", arena, &out->title, err));
    PLAIT_TRY(json_string(root, "source", arena, &out->source, err));
    PLAIT_TRY(read_remarks(root, "assumed", arena, &out->assumed, err));
    PLAIT_TRY(read_remarks(root, "contradicts", arena, &out->contradicts, err));
    PLAIT_TRY(read_remarks(root, "notes", arena, &out->notes, err));
    PLAIT_TRY(read_setting(root, arena, &common, err));
    PLAIT_TRY(json_array(root, "rows", &list, err));
    if (json_count(&list) == 0 || json_count(&list) > MAX_ROWS)
        return json_fail(&list, PLAIT_ERROR_RANGE, err, "expected 1 to %d rows, found %zu",
                         MAX_ROWS, json_count(&list));
    rows = plait_arena_alloc(arena, json_count(&list), sizeof *rows);
    PLAIT_TRY(plait_check_allocated(rows, err));
    out->row = rows;
    for (bool more = json_first(&list, &element); more; more = json_next(&element))
        PLAIT_TRY(read_row(&element, rows, out->rows++, &common, arena, err));
    return PLAIT_OK;
}

plait_status cases_find(const char *name, plait_arena *arena, case_study *out, plait_error *err)
{
    const char *path;

    PLAIT_TRY(plait_data_find(PLAIT_DATA_CASES, name, arena, &path, err));
    PLAIT_TRY(json_load(path, read_case, arena, out, err));

    // The name of a case must be that of its file, since reports print the name and users give the
    // file.
    const char *const file = file_base_name(path);
    const size_t length = strlen(out->name);
    if (strcmp(path, "-") == 0 ||
        (strncmp(file, out->name, length) == 0 && strcmp(file + length, ".json") == 0))
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, path,
                      "/name: expected the name of the file without .json, found \"%s\"",
                      out->name);
}

plait_status cases_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                         case_study *out, plait_error *err)
{
    return json_parse(text, length, name, read_case, arena, out, err);
}
