/* calibrate_engine.c - plait calibrate --engine: a serving engine's numbers from measured runs */
#include "cli/calibrate_engine.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "calibrate/engine_fit.h"
#include "plait/serve_runs.h"
#include "report/lines.h"
#include "report/report_table.h"

static const plait_engine *profile_named(const plait_serve_runs *runs, const char *name)
{
    for (size_t i = 0; i < runs->engines; i++)
        if (strcmp(runs->engine[i].name, name) == 0)
            return &runs->engine[i];
    return NULL;
}

static plait_status print_fit(const plait_engine *was, const plait_engine *is, FILE *out,
                              plait_error *err)
{
    static const table_column columns[] = {{"number", TABLE_LEFT},
                                           {"was", TABLE_RIGHT},
                                           {"is", TABLE_RIGHT},
                                           {"runs determine it", TABLE_LEFT}};
    table *rows = table_new(columns, 4);
    int n = 0;

    fprintf(out, "%s: %d runs\n", is->name, is->rows);
#define X(field, word, unit, least, most, assumed)                                                 \
    table_cell(rows, "%s", word);                                                                  \
    table_cell(rows, "%.3g", was->field / (unit));                                                 \
    table_cell(rows, "%.3g", is->field / (unit));                                                  \
    table_cell(rows, "%s", is->determined[n++] ? "yes" : "no");
    PLAIT_ENGINE_NUMBERS(X)
#undef X
    return table_print(rows, 0, out, err);
}

plait_status calibrate_engine(const char *name, const opt_operands *operands,
                              const calibrate_sink *sink, plait_arena *arena, bool *no,
                              plait_error *err)
{
    plait_serve_runs runs;
    plait_engine fitted;
    const char *text;
    size_t length;

    if (operands->count != 1)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "RUNS.csv",
                          "expected one file of measured runs beside --engine, found %d",
                          (int)operands->count);
    PLAIT_TRY(plait_serve_runs_load(operands->text[0], arena, &runs, err));
    const plait_engine *profile = profile_named(&runs, name);
    if (profile == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--engine",
                          "expected the name of an engine's profile, found '%.40s'", name);
    PLAIT_TRY(engine_fit(&runs, profile, arena, &fitted, err));
    *no = fitted.rows == 0;
    PLAIT_TRY(print_fit(profile, &fitted, sink->print ? stderr : lines_out(), err));
    PLAIT_TRY(engine_write(&fitted, arena, &text, &length, err));
    return command_deliver(text, length, sink->path, sink->print, err);
}
