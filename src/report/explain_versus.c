/* explain_versus.c - a plan against another: one that was given, or the best of some limits */
#include "report/explain.h"
#include "report/report_table.h"
#include "report/units.h"

/* ---- against another plan ---- */

static void compare_terms(const report_term *a, const report_term *b, int count,
                          char *(*written)(double, char *), table *rows)
{
    char text[UNITS_SIZE];

    for (int i = 0; i < count; i++) {
        const double difference = explain_difference(a[i].value, b[i].value);

        if (a[i].value == 0.0 && b[i].value == 0.0)
            continue;
        table_cell(rows, "%s", a[i].name);
        table_cell(rows, "%s", written(a[i].value, text));
        table_cell(rows, "%s", written(b[i].value, text));
        table_cell(rows, "%s%s", difference > 0.0 ? "+" : "", written(difference, text));
        table_cell(rows, "%s", a[i].equation);
    }
}

static void compare_totals(const char *name, double a, double b, char *(*written)(double, char *),
                           table *rows)
{
    const report_term first = {name, "", "", a}, second = {name, "", "", b};

    compare_terms(&first, &second, 1, written, rows);
}

static plait_status print_comparison(const plait_cost *a, const plait_cost *b, const char *a_name,
                                     const char *b_name, FILE *out, plait_error *err)
{
    const table_column columns[] = {{"term", TABLE_LEFT},
                                    {a_name, TABLE_RIGHT},
                                    {b_name, TABLE_RIGHT},
                                    {"difference", TABLE_RIGHT},
                                    {"equation", TABLE_LEFT}};
    report_term a_step[PLAIT_STEP_TERM_COUNT], b_step[PLAIT_STEP_TERM_COUNT];
    report_term a_memory[PLAIT_MEMORY_TERM_COUNT], b_memory[PLAIT_MEMORY_TERM_COUNT];
    table *rows = table_new(columns, 5);

    report_step_term_list(&a->step, a_step);
    report_step_term_list(&b->step, b_step);
    report_memory_term_list(&a->memory, a_memory);
    report_memory_term_list(&b->memory, b_memory);
    compare_terms(a_step, b_step, PLAIT_STEP_TERM_COUNT, units_seconds, rows);
    compare_totals("step", a->step_s, b->step_s, units_seconds, rows);
    compare_terms(a_memory, b_memory, PLAIT_MEMORY_TERM_COUNT, units_gib, rows);
    compare_totals("peak memory", a->memory.peak_bytes, b->memory.peak_bytes, units_gib, rows);
    return table_print(rows, 2, out, err);
}

plait_status explain_versus(const report_explained *explained, FILE *out, plait_error *err)
{
    const report_plan *const versus = explained->versus;

    if (versus == NULL)
        return PLAIT_OK;
    fprintf(out, "\nAgainst %s:\n", explained->versus_name);
    report_degrees(explained->versus_problem, &versus->degrees, out);
    report_verdict(versus, out);
    if (versus->verdict == PLAIT_INVALID || explained->plan->verdict == PLAIT_INVALID)
        return PLAIT_OK;
    return print_comparison(&explained->plan->cost, &versus->cost, "this plan", "versus", out, err);
}

plait_status explain_why_not(const plait_problem *problem, const report_explained *explained,
                             FILE *out, plait_error *err)
{
    if (explained->why_not == NULL)
        return PLAIT_OK;
    fprintf(out, "\nWhy not %s? %s\n", explained->why_not_asked, explained->why_not->sentence);
    if (explained->why_not_plan == NULL)
        return PLAIT_OK;
    report_degrees(problem, &explained->why_not_plan->degrees, out);
    if (explained->winner == NULL || explained->why_not_plan->verdict == PLAIT_INVALID)
        return PLAIT_OK;
    fputs("the winner of the search:\n", out);
    report_degrees(problem, &explained->winner->degrees, out);
    return print_comparison(&explained->winner->cost, &explained->why_not_plan->cost, "winner",
                            "asked for", out, err);
}
