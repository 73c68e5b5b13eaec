/*
 * report_explain.c - prints every term of one plan, its limits, and a comparison with another plan
 */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plait/lowlevel/fuse.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "report/timeline.h"
#include "report/units.h"

static void print_heading(const char *text, FILE *out)
{
    fprintf(out, "\n%s\n", text);
}

/* Returns to - from; 0 if the two numbers differ only by rounding. */
static double difference_of(double from, double to)
{
    const double difference = to - from;

    return fabs(difference) > 1e-9 * fabs(from) ? difference : 0.0;
}

typedef char *quantity_text(double value, char text[UNITS_SIZE]);

static plait_status print_terms(const report_term *term, int count, double total,
                                const char *columns, quantity_text *written, FILE *out,
                                plait_error *err)
{
    table *rows = table_new(columns);
    char value[UNITS_SIZE];

    for (int i = 0; i < count; i++) {
        if (term[i].value == 0.0)
            continue;
        TABLE_ROW(rows, as_text(term[i].name), as_text(written(term[i].value, value)),
                  as_percent(term[i].value / total), as_text(term[i].equation),
                  as_text(term[i].what));
    }
    TABLE_ROW(rows, as_text("total"), as_text(written(total, value)));
    for (int i = 0; i < 3; i++)
        table_cell(rows, "%s", "");
    return table_print(rows, 2, out, err);
}

static plait_status print_step_terms(const plait_cost *cost, FILE *out, plait_error *err)
{
    report_term term[PLAIT_STEP_TERM_COUNT];

    report_step_term_list(&cost->step, term);
    return print_terms(term, PLAIT_STEP_TERM_COUNT, cost->step_s, "term|>time|>share|equation|what",
                       units_seconds, out, err);
}

static plait_status print_memory_terms(const plait_cost *cost, FILE *out, plait_error *err)
{
    report_term term[PLAIT_MEMORY_TERM_COUNT];

    report_memory_term_list(&cost->memory, term);
    return print_terms(term, PLAIT_MEMORY_TERM_COUNT, cost->memory.peak_bytes,
                       "term|>memory|>share|equation|what", units_gib, out, err);
}

static plait_status print_communication(const plait_cost *cost, FILE *out, plait_error *err)
{
    table *rows;
    char seconds[UNITS_SIZE], share[UNITS_SIZE];

    if (cost->volumes == 0)
        return PLAIT_OK;
    print_heading("Communication of one GPU of the slowest stage in a step:", out);
    rows = table_new("what|group|>ranks|>calls|>buffer|>time|>exposed|>of step|"
                     "in term");
    for (int v = 0; v < cost->volumes; v++) {
        const plait_volume *const volume = &cost->volume[v];

        TABLE_ROW(rows, as_text(volume->what), as_text(plait_axis_name[volume->axis]),
                  as_int(volume->ranks), as_count(volume->count), as_bytes(volume->bytes),
                  as_seconds(volume->seconds), as_seconds(volume->exposed_s),
                  as_percent(volume->exposed_s / cost->step_s), as_text(volume->term));
    }
    PLAIT_TRY(table_print(rows, 2, out, err));
    if (cost->network_s > 0.0) {
        fprintf(out, "  network: %s if the calls ran one after another, %s of the step (C.311)%s\n",
                units_seconds(cost->network_s, seconds),
                units_percent(cost->network_s / cost->step_s, share),
                cost->network_s > cost->step_s ? ": longer than the step, so calls delay each other"
                                               : "");
    }
    return PLAIT_OK;
}

/* ---- fused communication ---- */

static bool is_counted(const plait_fused *fused)
{
    return fused->fate == PLAIT_FUSED || fused->fate == PLAIT_DECLINED;
}

/*
 * Prints the fusion rules that have one fate on a line, "  already part of sp 1: TP+SP, SP+EP+SP";
 * prints nothing if there are none.
 */
static void print_fate(const plait_cost *cost, plait_fusion_fate fate, const char *lead, FILE *out)
{
    const char *between = lead;

    for (int r = 0; r < PLAIT_FUSION_RULES; r++) {
        if (cost->fused[r].fate != fate)
            continue;
        fprintf(out, "%s %s", between, plait_fusion_rules[r].name);
        between = ",";
    }
    if (between != lead)
        fputc('\n', out);
}

/*
 * Prints which transitions between layouts `auto` fused, and why it did not fuse the others (C.142,
 * C.143).
 */
static plait_status print_fused(const plait_cost *cost, FILE *out, plait_error *err)
{
    bool any = false;

    if (!cost->fuses)
        return PLAIT_OK;
    for (int r = 0; r < PLAIT_FUSION_RULES; r++)
        any = any || is_counted(&cost->fused[r]);
    print_heading(
        "Fused communication of one GPU of the slowest stage in a step, exposed and hidden:", out);
    if (any) {
        table *rows =
            table_new("rule|>calls|>sent|>if fused|>time|>if fused|>decision|replacement");

        for (int r = 0; r < PLAIT_FUSION_RULES; r++) {
            const plait_fused *const fused = &cost->fused[r];

            if (!is_counted(fused))
                continue;
            TABLE_ROW(rows, as_text(plait_fusion_rules[r].name), as_count(fused->calls),
                      as_bytes(fused->before_bytes), as_bytes(fused->after_bytes),
                      as_seconds(fused->before_s), as_seconds(fused->after_s),
                      as_text(plait_fusion_fate_name[fused->fate]),
                      as_text(plait_fusion_rules[r].does));
        }
        PLAIT_TRY(table_print(rows, 2, out, err));
    }
    print_fate(cost, PLAIT_DECLINED,
               "  declined because fusion would lengthen the call or the step:", out);
    print_fate(cost, PLAIT_FUSED_ALREADY, "  already part of sp 1:", out);
    print_fate(cost, PLAIT_NO_TRANSITION, "  this plan has no such transition:", out);
    return PLAIT_OK;
}

enum { ALL_STAGES = 16 }; /* largest number of stages for which each stage is listed */

/* ---- stages ---- */

/* Writes the layers of a stage by chunk: "0-9, 40-49". */
static void stage_layers(const plait_stage *stage, char *text, size_t size)
{
    text[0] = '\0';
    for (int c = 0; c < stage->chunks; c++) {
        const plait_chunk *const chunk = &stage->chunk[c];
        const char *const between = c > 0 ? ", " : "";

        if (size - strlen(text) < 64) {
            report_append(text, size, ", ...");
            return;
        }
        if (chunk->last - chunk->first > 1)
            report_append(text, size, "%s%d-%d", between, chunk->first, chunk->last - 1);
        else if (chunk->last > chunk->first)
            report_append(text, size, "%s%d", between, chunk->first);
        else
            report_append(text, size, "%sno layer", between);
        report_append(text, size, "%s%s%s", chunk->embedding ? " + embedding" : "",
                      chunk->mtp > 0 ? " + MTP" : "", chunk->loss ? " + loss" : "");
    }
}

static plait_status print_stages(const report_plan *plan, FILE *out, plait_error *err)
{
    const plait_cost *const cost = &plan->cost;
    char layers[200];
    table *rows = table_new(">stage|layers|>forward|>backward|>in flight|>memory|");
    int listed = 0;

    for (int s = 0; s < cost->stages && s < plan->plan.stages; s++) {
        const plait_stage_cost *const stage = &cost->stage[s];

        const bool slowest = s == cost->slowest_stage, fullest = s == cost->fullest_stage;
        if (cost->stages > ALL_STAGES && s >= 2 && s != cost->stages - 1 && !slowest && !fullest)
            continue;
        listed++;
        stage_layers(&plan->plan.stage[s], layers, sizeof layers);
        TABLE_ROW(rows, as_int(s), as_text(layers), as_seconds(stage->forward_s),
                  as_seconds(stage->backward_s), as_format("%.3g", stage->in_flight),
                  as_gib(stage->memory_bytes));
        table_cell(rows, "%s%s%s", slowest ? "slowest" : "", slowest && fullest ? " " : "",
                   fullest ? "fullest" : "");
    }
    fprintf(out, "\nStages, times of one microbatch (%d of %d listed):\n", listed, cost->stages);
    return table_print(rows, 2, out, err);
}

/* ---- ways to reduce gradients ---- */

static bool syncs_differ(const plait_cost *cost)
{
    for (int how = 1; how < PLAIT_GRAD_SYNCS; how++)
        if (fabs(cost->sync_step_s[how] - cost->sync_step_s[0]) > 1e-9 * cost->step_s)
            return true;
    return false;
}

/* Prints the step with each implementation of gradient reduction (C.184). */
static plait_status print_syncs(const plait_runtime *runtime, const report_plan *plan, FILE *out,
                                plait_error *err)
{
    const unsigned takes = runtime->can.takes[PLAIT_KEY_GRAD_SYNC];
    const plait_cost *const cost = &plan->cost;
    char text[UNITS_SIZE];
    table *rows;

    if (!syncs_differ(cost))
        return PLAIT_OK;
    print_heading("Step time with each method of gradient reduction (C.66 to C.68, C.184):", out);
    rows = table_new("grad_sync|>step|>difference|");
    for (int how = 0; how < PLAIT_GRAD_SYNCS; how++) {
        const double difference = difference_of(cost->step_s, cost->sync_step_s[how]);

        TABLE_ROW(rows, as_text(plait_grad_sync_name[how]), as_seconds(cost->sync_step_s[how]));
        table_cell(rows, "%s%s", difference > 0.0 ? "+" : "", units_seconds(difference, text));
        table_cell(rows, "%s",
                   how == plan->degrees.grad_sync ? "this plan"
                   : takes >> how & 1u            ? "supported by the runtime"
                                                  : "");
    }
    return table_print(rows, 2, out, err);
}

/* ---- limits and sensitivities ---- */

/* Compares two sensitivities: larger gains come first, then names in alphabetical order. */
static int most_first(const void *left, const void *right)
{
    const plait_sensitivity *const a = left, *const b = right;

    if (a->gain != b->gain)
        return a->gain < b->gain ? 1 : -1;
    return strcmp(a->resource, b->resource);
}

static plait_status print_sensitivities(const report_explained *explained, FILE *out,
                                        plait_error *err)
{
    plait_sensitivity sorted[PLAIT_SENSITIVITIES];
    table *rows;

    if (explained->sensitivities == 0)
        return PLAIT_OK;
    print_heading("Gain from 10 % more of one resource:", out);
    rows = table_new("10 % more|>step|>faster by");
    memcpy(sorted, explained->sensitivity, (size_t)explained->sensitivities * sizeof *sorted);
    qsort(sorted, (size_t)explained->sensitivities, sizeof *sorted, most_first);
    for (int i = 0; i < explained->sensitivities; i++) {
        const plait_sensitivity *const one = &sorted[i];

        TABLE_ROW(rows, as_text(one->resource), as_seconds(one->step_s), as_percent(one->gain));
    }
    return table_print(rows, 2, out, err);
}

/* Writes a count: with three digits below 100 (numbers of layers), otherwise without decimals. */
static char *format_amount(double count, char text[UNITS_SIZE])
{
    snprintf(text, UNITS_SIZE, count < 100.0 ? "%.3g" : "%.0f", count);
    return text;
}

static plait_status print_limits(const report_explained *explained, FILE *out, plait_error *err)
{
    char text[UNITS_SIZE];
    table *rows;

    if (explained->no_limits != NULL)
        fprintf(out,
                "\nThe sizes needed to hide communication and the gains from 10 %% more of one "
                "resource are not listed, %s\n",
                explained->no_limits);
    if (explained->limits == 0)
        return PLAIT_OK;
    print_heading("Sizes needed to hide communication, at peak compute and link rates:", out);
    rows = table_new("parallelism|>ranks|quantity|>this plan|>needed|>margin|"
                     "equation|");
    for (int i = 0; i < explained->limits; i++) {
        const plait_comm_limit *const limit = &explained->limit[i];

        TABLE_ROW(rows, as_text(limit->parallelism), as_int(limit->ranks), as_text(limit->counts),
                  as_text(format_amount(limit->value, text)));
        table_cell(rows, "%s", format_amount(limit->least, text));
        table_cell(rows, "%s x", format_amount(limit->value / limit->least, text));
        TABLE_ROW(rows, as_text(limit->equation),
                  as_text(limit->value < limit->least ? "not hidden" : ""));
    }
    return table_print(rows, 2, out, err);
}

/* ---- comparison with another plan ---- */

static void compare_terms(const report_term *a, const report_term *b, int count,
                          char *(*written)(double, char *), table *rows)
{
    char text[UNITS_SIZE];

    for (int i = 0; i < count; i++) {
        const double difference = difference_of(a[i].value, b[i].value);

        if (a[i].value == 0.0 && b[i].value == 0.0)
            continue;
        TABLE_ROW(rows, as_text(a[i].name), as_text(written(a[i].value, text)));
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

static plait_status print_comparison(const plait_cost *a, const plait_cost *b, const char *columns,
                                     FILE *out, plait_error *err)
{
    report_term a_step[PLAIT_STEP_TERM_COUNT], b_step[PLAIT_STEP_TERM_COUNT];
    report_term a_memory[PLAIT_MEMORY_TERM_COUNT], b_memory[PLAIT_MEMORY_TERM_COUNT];
    table *rows = table_new(columns);

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

static plait_status print_versus(const report_explained *explained, FILE *out, plait_error *err)
{
    const report_plan *const versus = explained->versus;

    if (versus == NULL)
        return PLAIT_OK;
    fprintf(out, "\nCompared with %s:\n", explained->versus_name);
    report_degrees(explained->versus_problem, &versus->degrees, out);
    report_verdict(versus, out);
    if (versus->verdict == PLAIT_INVALID || explained->plan->verdict == PLAIT_INVALID)
        return PLAIT_OK;
    return print_comparison(&explained->plan->cost, &versus->cost,
                            "term|>this plan|>other plan|>difference|equation", out, err);
}

static plait_status print_why_not(const plait_problem *problem, const report_explained *explained,
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
    fputs("best plan of the search:\n", out);
    report_degrees(problem, &explained->winner->degrees, out);
    return print_comparison(&explained->winner->cost, &explained->why_not_plan->cost,
                            "term|>best plan|>requested|>difference|equation", out, err);
}

plait_status report_explain(const plait_problem *problem, const report_explained *explained,
                            FILE *out, plait_error *err)
{
    report_question(problem, out);
    fputc('\n', out);
    report_degrees(problem, &explained->plan->degrees, out);
    if (explained->plan->verdict != PLAIT_INVALID)
        report_choices(&explained->plan->plan, out);
    fputc('\n', out);
    report_verdict(explained->plan, out);
    if (explained->plan->verdict != PLAIT_INVALID) {
        const report_plan *const plan = explained->plan;

        report_totals(problem, &plan->cost, out);
        report_routing(problem, plan, out);
        print_heading("Time of a step, on the slowest stage:", out);
        PLAIT_TRY(print_step_terms(&plan->cost, out, err));
        print_heading("Memory of the fullest GPU:", out);
        PLAIT_TRY(print_memory_terms(&plan->cost, out, err));
        PLAIT_TRY(print_communication(&plan->cost, out, err));
        PLAIT_TRY(print_fused(&plan->cost, out, err));
        PLAIT_TRY(print_stages(plan, out, err));
        if (explained->timeline != NULL || explained->no_timeline != NULL) {
            print_heading("The pipeline, simulated (C.86, C.180 to C.183):", out);
            if (explained->timeline == NULL) {
                fprintf(out, "  not drawn: %s\n", explained->no_timeline);
            } else {
                timeline_text(explained->timeline, out);
                fputs("  ", out);
                timeline_against(explained->timeline, &explained->plan->cost, out);
            }
        }
        PLAIT_TRY(print_syncs(problem->runtime, plan, out, err));
        const plait_cost *const cost = &plan->cost;
        const report_term overhead = report_largest_overhead(&cost->step);
        char value[UNITS_SIZE], share[UNITS_SIZE];
        report_term term[PLAIT_MEMORY_TERM_COUNT];
        int largest = 0;

        print_heading("Bottlenecks:", out);
        fprintf(
            out,
            "  time    stage %d is the slowest; largest term besides arithmetic: %s, %s, %s (%s)\n",
            cost->slowest_stage, overhead.name, units_seconds(overhead.value, value),
            units_percent(overhead.value / cost->step_s, share), overhead.what);
        report_memory_term_list(&cost->memory, term);
        for (int i = 1; i < PLAIT_MEMORY_TERM_COUNT; i++)
            if (term[i].value > term[largest].value)
                largest = i;
        fprintf(out, "  memory  stage %d is the fullest; largest term: %s, %s, %s (%s)\n",
                cost->fullest_stage, term[largest].name, units_gib(term[largest].value, value),
                units_percent(term[largest].value / cost->memory.peak_bytes, share),
                term[largest].what);
        PLAIT_TRY(print_limits(explained, out, err));
        PLAIT_TRY(print_sensitivities(explained, out, err));
    }
    if (explained->relaxations > 0) {
        print_heading("Changes that make the plan fit, smallest first:", out);
        report_relaxations(explained->relaxation, explained->relaxations, out);
    }
    PLAIT_TRY(print_versus(explained, out, err));
    PLAIT_TRY(print_why_not(problem, explained, out, err));
    fputc('\n', out);
    report_confidence(problem, &explained->plan->degrees, out);
    return PLAIT_OK;
}
