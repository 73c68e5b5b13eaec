/* explain_limits.c - what binds a plan: the largest terms, communication, each resource */
#include "report/explain.h"

#include <stdlib.h>
#include <string.h>

#include "report/report_table.h"
#include "report/units.h"

/* ---- what binds ---- */

void explain_binding(const report_plan *plan, FILE *out)
{
    const plait_cost *const cost = &plan->cost;
    const report_term overhead = report_largest_overhead(&cost->step);
    char value[UNITS_SIZE], share[UNITS_SIZE];
    report_term term[PLAIT_MEMORY_TERM_COUNT];
    int largest = 0;

    explain_heading("What binds:", out);
    fprintf(out,
            "  time    stage %d is the slowest; after arithmetic, %s costs most: %s, %s (%s)\n",
            cost->slowest_stage, overhead.name, units_seconds(overhead.value, value),
            units_percent(overhead.value / cost->step_s, share), overhead.what);
    report_memory_term_list(&cost->memory, term);
    for (int i = 1; i < PLAIT_MEMORY_TERM_COUNT; i++)
        if (term[i].value > term[largest].value)
            largest = i;
    fprintf(out, "  memory  stage %d is the fullest; %s take most: %s, %s (%s)\n",
            cost->fullest_stage, term[largest].name, units_gib(term[largest].value, value),
            units_percent(term[largest].value / cost->memory.peak_bytes, share),
            term[largest].what);
}

/* By gain, those of equal gain by name. */
static int most_first(const void *left, const void *right)
{
    const plait_sensitivity *const a = left, *const b = right;

    if (a->gain != b->gain)
        return a->gain < b->gain ? 1 : -1;
    return strcmp(a->resource, b->resource);
}

plait_status explain_sensitivities(const report_explained *explained, FILE *out, plait_error *err)
{
    static const table_column columns[] = {
        {"10 % more", TABLE_LEFT}, {"step", TABLE_RIGHT}, {"faster by", TABLE_RIGHT}};
    plait_sensitivity sorted[PLAIT_SENSITIVITIES];
    char text[UNITS_SIZE];
    table *rows;

    if (explained->sensitivities == 0)
        return PLAIT_OK;
    explain_heading("What 10 % more of one resource buys:", out);
    rows = table_new(columns, 3);
    memcpy(sorted, explained->sensitivity, (size_t)explained->sensitivities * sizeof *sorted);
    qsort(sorted, (size_t)explained->sensitivities, sizeof *sorted, most_first);
    for (int i = 0; i < explained->sensitivities; i++) {
        const plait_sensitivity *const one = &sorted[i];

        table_cell(rows, "%s", one->resource);
        table_cell(rows, "%s", units_seconds(one->step_s, text));
        table_cell(rows, "%s", units_percent(one->gain, text));
    }
    return table_print(rows, 2, out, err);
}

/* Tokens and widths as whole numbers, a few layers with what is behind the point. */
static char *amount(double count, char text[UNITS_SIZE])
{
    snprintf(text, UNITS_SIZE, count < 100.0 ? "%.3g" : "%.0f", count);
    return text;
}

plait_status explain_limits(const report_explained *explained, FILE *out, plait_error *err)
{
    static const table_column columns[] = {
        {"parallelism", TABLE_LEFT}, {"ranks", TABLE_RIGHT}, {"what hides it", TABLE_LEFT},
        {"this plan", TABLE_RIGHT},  {"needs", TABLE_RIGHT}, {"in hand", TABLE_RIGHT},
        {"equation", TABLE_LEFT},    {"", TABLE_LEFT}};
    char text[UNITS_SIZE];
    table *rows;

    if (explained->no_limits != NULL)
        fprintf(out,
                "\nWhen communication binds, and what 10 %% more of one resource buys: not listed, "
                "%s\n",
                explained->no_limits);
    if (explained->limits == 0)
        return PLAIT_OK;
    explain_heading("When communication binds, at the peak of matrix units and wires:", out);
    rows = table_new(columns, 8);
    for (int i = 0; i < explained->limits; i++) {
        const plait_comm_limit *const limit = &explained->limit[i];

        table_cell(rows, "%s", limit->parallelism);
        table_cell(rows, "%d", limit->ranks);
        table_cell(rows, "%s", limit->counts);
        table_cell(rows, "%s", amount(limit->value, text));
        table_cell(rows, "%s", amount(limit->least, text));
        table_cell(rows, "%s x", amount(limit->value / limit->least, text));
        table_cell(rows, "%s", limit->equation);
        table_cell(rows, "%s", limit->value < limit->least ? "bound" : "");
    }
    return table_print(rows, 2, out, err);
}
