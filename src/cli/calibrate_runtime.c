/* calibrate_runtime.c - `plait calibrate --runtime`: a runtime profile from measured steps */
#include "calibrate_runtime.h"

#include <math.h>
#include <stdio.h>

#include "command.h"
#include "file.h"
#include "plait/data.h"
#include "profile.h"
#include "report_table.h"

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
    static const table_column columns[] = {
        {"number", TABLE_LEFT},  {"was", TABLE_RIGHT},    {"is", TABLE_RIGHT},
        {"family", TABLE_RIGHT}, {"spread", TABLE_RIGHT}, {"runs determine it", TABLE_LEFT}};
    table *rows = table_new(columns, 6);

    print_errors(result, out);
    for (int i = 0; i < result->numbers; i++) {
        const fit_number *n = &result->number[i];

        table_cell(rows, "%s", n->key);
        table_cell(rows, "%.3g", result->was[i] / n->unit);
        table_cell(rows, "%.3g", profile_number(result, i) / n->unit);
        table_cell(rows, "%.3g", result->parent[i] / n->unit);
        table_cell(rows, "%.0f %%", 100.0 * expm1(n->spread));
        table_cell(rows, "%s", result->runs > 0 && n->determined ? "yes" : "no, its family");
    }
    return table_print(rows, 0, out, err);
}

plait_status calibrate_runtime(const char *name, const opt_operands *operands,
                               const calibrate_sink *sink, plait_arena *arena, plait_error *err)
{
    profile_result result;
    profile_set set;
    plait_runs runs;
    json_tree *tree;
    const char *path, *text;
    size_t length;

    if (operands->count != 1)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "RUNS.csv",
                          "expected one file of measured steps beside --runtime, found %d",
                          (int)operands->count);
    PLAIT_TRY(plait_data_find(PLAIT_DATA_RUNTIMES, name, arena, &path, err));
    PLAIT_TRY(file_read_all(path, JSON_MAX_BYTES, arena, &text, &length, err));
    PLAIT_TRY(json_tree_read(text, length, path, arena, &tree, err));
    PLAIT_TRY(plait_runs_load(operands->text[0], arena, &runs, err));
    PLAIT_TRY(profile_set_learn(&runs, name, arena, &set, err));
    PLAIT_TRY(profile_fit(&set, name, arena, &result, err));
    PLAIT_TRY(print_fit(&result, sink->print ? stderr : stdout, err));
    PLAIT_TRY(profile_apply(&result, tree, arena, err));
    text = json_tree_print(tree, arena, &length);
    if (text == NULL)
        return plait_fail_nomem(err);
    return command_deliver(text, length, sink->path, sink->print, err);
}
