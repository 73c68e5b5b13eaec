/* calibrate_runtime.c - `plait calibrate --runtime`: a runtime profile from measured steps */
#include "cli/calibrate_runtime.h"

#include <math.h>
#include <stdio.h>

#include "cli/command.h"
#include "io/file.h"
#include "plait/data.h"
#include "report/lines.h"
#include "calibrate/profile.h"
#include "report/report_table.h"
#include "io/runtime/runtime_variant.h"

static void print_errors(const profile_result *result, FILE *out)
{
    if (result->runs == 0)
        fprintf(out, "%s: no runs\n", result->runtime.name);
    else
        fprintf(out, "%s: %zu runs, mean error %.1f %%, was %.1f %%\n", result->runtime.name,
                result->runs, 100.0 * result->after, 100.0 * result->before);
}

static plait_status print_fit(const profile_result *result, FILE *out, plait_error *err)
{
    const table_column columns[] = {
        {"number", TABLE_LEFT},  {"was", TABLE_RIGHT},
        {"is", TABLE_RIGHT},     {result->variant > 0 ? "software" : "family", TABLE_RIGHT},
        {"spread", TABLE_RIGHT}, {"runs determine it", TABLE_LEFT}};
    table *rows = table_new(columns, 6);

    print_errors(result, out);
    for (int i = 0; i < result->numbers; i++) {
        const fit_number *n = &result->number[i];

        table_cell(rows, "%s", n->key);
        table_cell(rows, "%.3g", result->was[i] / n->unit);
        table_cell(rows, "%.3g", profile_number(result, i) / n->unit);
        table_cell(rows, "%.3g", result->parent[i] / n->unit);
        table_cell(rows, "%.0f %%", 100.0 * expm1(n->spread));
        table_cell(rows, "%s",
                   result->runs > 0 && n->determined ? "yes"
                   : result->variant > 0             ? "no, the software"
                                                     : "no, its family");
    }
    return table_print(rows, 0, out, err);
}

/* The file that a fit goes into: of a variant that has none yet, one that says nothing. */
static plait_status read_profile(const char *name, const char *software, bool variant,
                                 plait_arena *arena, json_tree **out, plait_error *err)
{
    const char *path = NULL, *text;
    size_t length;

    if (variant) {
        const char *const file = plait_arena_printf(arena, "clusters/runtimes/%s.json", name);

        if (file == NULL)
            return plait_fail_nomem(err);
        PLAIT_TRY(plait_data_file(file, arena, &path, err));
    } else {
        PLAIT_TRY(plait_data_find(PLAIT_DATA_RUNTIMES, name, arena, &path, err));
    }
    if (path != NULL) {
        PLAIT_TRY(file_read_all(path, JSON_MAX_BYTES, arena, &text, &length, err));
        return json_tree_read(text, length, path, arena, out, err);
    }
    PLAIT_TRY(json_tree_read("{}", 2, name, arena, out, err));
    return json_tree_set_text(*out, "name", name, arena) &&
                   json_tree_set_text(*out, "source", "", arena) &&
                   json_tree_set_text(*out, "variant_of", software, arena)
               ? PLAIT_OK
               : plait_fail_nomem(err);
}

static plait_status fit(const char *name, const opt_operands *operands, const calibrate_sink *sink,
                        plait_pipelines *pipelines, plait_arena *arena, plait_error *err)
{
    const char *software, *when, *text;
    profile_result result;
    profile_set set;
    plait_runs runs;
    json_tree *tree;
    size_t length;

    if (operands->count != 1)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "RUNS.csv",
                          "expected one file of measured steps beside --runtime, found %d",
                          (int)operands->count);
    PLAIT_TRY(runtime_split(name, arena, &software, &when, err));
    const int variant = when != NULL ? runtime_date(when) : 0;
    if (when != NULL && variant == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, name,
                          "expected a month such as 25.09 behind @, found \"%.40s\"", when);
    PLAIT_TRY(read_profile(name, software, variant > 0, arena, &tree, err));
    PLAIT_TRY(plait_runs_load(operands->text[0], arena, &runs, err));
    PLAIT_TRY(profile_set_learn(&runs, software, variant, pipelines, arena, &set, err));
    PLAIT_TRY(profile_fit(&set, software, variant, arena, &result, err));
    PLAIT_TRY(print_fit(&result, sink->print ? stderr : lines_out(), err));
    PLAIT_TRY(profile_apply(&result, tree, arena, err));
    text = json_tree_print(tree, arena, &length);
    if (text == NULL)
        return plait_fail_nomem(err);
    return command_deliver(text, length, sink->path, sink->print, err);
}

plait_status calibrate_runtime(const char *name, const opt_operands *operands,
                               const calibrate_sink *sink, plait_arena *arena, plait_error *err)
{
    plait_pipelines *const pipelines = plait_pipelines_new();
    const plait_status status = pipelines != NULL ? fit(name, operands, sink, pipelines, arena, err)
                                                  : plait_fail_nomem(err);

    plait_pipelines_free(pipelines);
    return status;
}
