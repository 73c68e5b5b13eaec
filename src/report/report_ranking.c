/* report_ranking.c - prints the plans of a search as a table, and which of them to start */
#include <string.h>

#include "plan/choices.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

enum { CELL_SIZE = 96, LINE_SIZE = REPORT_LINE_SIZE };

/* Figures of a plan that are columns of the ranking, beside the keys of the plan. */
typedef enum rank_figure {
    RANK,
    MICROBATCHES,
    STEP,
    TOKENS,
    MFU,
    MEMORY,
    COST,
    ENERGY,
    OVERHEAD,
    VARIANTS,
    RANK_FIGURES
} rank_figure;

/* Columns of the figures (report_table.h); a narrow table leaves out figures that follow from others. */
static const char *const figure_column[RANK_FIGURES] = {
    [MICROBATCHES] = ">microb.@1", [STEP] = ">step@stays",
    [TOKENS] = ">tok/s/GPU@1",     [MFU] = ">MFU@stays",
    [MEMORY] = ">memory@stays",    [COST] = ">USD/step@stays",
    [ENERGY] = ">energy@stays",    [OVERHEAD] = "largest overhead@2",
    [VARIANTS] = "variants@2",
};

/* Writes the value of a key; "-" if it does not apply, except for a degree of 1. */
static void key_cell(const plait_problem *problem, const report_plan *plan, plait_key_id key,
                     char text[CELL_SIZE])
{
    const bool one = plait_keys[key].absent_value == 1 && plait_key_value(&plan->degrees, key) == 1;

    if (key == PLAIT_KEY_RECOMPUTE && plan->verdict != PLAIT_INVALID &&
        stages_choose_own(&plan->plan))
        snprintf(text, CELL_SIZE, "by stage");
    else if (plait_key_applies(problem, &plan->degrees, key) ||
             (one && plait_keys[key].words == NULL))
        plait_degrees_get(&plan->degrees, key, text, CELL_SIZE);
    else
        snprintf(text, CELL_SIZE, "-");
}

/* Fills a figure; a tilde at the rank marks plans that measured runs cannot distinguish from the first. */
static void figure_cell(const plait_problem *problem, const report_plan *plan, int figure,
                        table *rows)
{
    const plait_cost *const cost = &plan->cost;
    const report_term overhead = report_largest_overhead(&cost->step);
    const table_value value[RANK_FIGURES] = {
        [MICROBATCHES] = as_int(plait_degrees_microbatches(&plan->degrees, problem->job.gbs)),
        [STEP] = as_seconds(cost->step_s),
        [TOKENS] = as_format("%.0f", cost->tokens_per_s_per_gpu),
        [MFU] = as_percent(cost->mfu),
        [MEMORY] = as_gib(cost->memory.peak_bytes),
        [COST] = as_format("%.4g", cost->cost_usd),
        [ENERGY] = as_rate(cost->energy_j, "J"),
    };
    char text[UNITS_SIZE];

    if (figure == RANK)
        table_cell(rows, "%d%s", plan->rank, plan->tied ? "~" : " ");
    else if (figure == OVERHEAD)
        table_cell(rows, "%s %s", overhead.name,
                   units_percent(overhead.value / cost->step_s, text));
    else if (figure == VARIANTS) // plans that differ only in small keys, and the slowest one's loss
        table_cell(rows, plan->variants > 0 ? "%lld within %.1f %%" : "-",
                   (long long)plan->variants, 100.0 * plan->variants_within);
    else
        table_row(rows, &value[figure], 1);
}

/* Returns whether a figure is printed: money and energy only if the search minimises them. */
static bool is_printed(int figure, const report_found *found)
{
    bool any_variants = false;

    for (int i = 0; i < found->result->plans; i++)
        any_variants = any_variants || found->plan[i].variants > 0;
    return figure == COST       ? found->options->objective == PLAIT_MINIMISE_COST
           : figure == ENERGY   ? found->options->objective == PLAIT_MINIMISE_ENERGY
           : figure == VARIANTS ? any_variants
                                : true;
}

static bool is_same_in_all(const plait_problem *problem, const report_found *found,
                           plait_key_id key)
{
    char first[CELL_SIZE], other[CELL_SIZE];

    key_cell(problem, &found->plan[0], key, first);
    for (int i = 1; i < found->result->plans; i++) {
        key_cell(problem, &found->plan[i], key, other);
        if (strcmp(first, other) != 0)
            return false;
    }
    return found->result->plans > 1;
}

static bool applies_to_any(const plait_problem *problem, const report_found *found,
                           plait_key_id key)
{
    for (int i = 0; i < found->result->plans; i++)
        if (plait_key_applies(problem, &found->plan[i].degrees, key))
            return true;
    return false;
}

/* Columns are numbers, microbatches after mbs, then words, as in eval, and then the other figures. */
plait_status report_ranking(const plait_problem *problem, const report_found *found, FILE *out,
                            plait_error *err)
{
    char columns[4096] = ">rank";
    int shown[PLAIT_KEYS + RANK_FIGURES] = {PLAIT_KEYS + RANK}; /* a key, or PLAIT_KEYS + figure */
    size_t count = 1;
    const char *lead = "all plans: ";
    char text[CELL_SIZE];
    table *rows;

    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;
        const bool applies = applies_to_any(problem, found, key);

        if (applies && is_same_in_all(problem, found, key)) {
            key_cell(problem, &found->plan[0], key, text);
            fprintf(out, "%s%s %s", lead, plait_keys[k].title, text);
            lead = ", ";
        } else if (applies) {
            shown[count++] = k;
            report_append(columns, sizeof columns, "|%s%s@below",
                          plait_keys[k].words == NULL ? ">" : "", plait_keys[k].title);
        }
        if (k == PLAIT_KEY_MBS) {
            shown[count++] = PLAIT_KEYS + MICROBATCHES;
            report_append(columns, sizeof columns, "|%s", figure_column[MICROBATCHES]);
        }
    }
    if (lead[0] == ',')
        fputc('\n', out);
    for (int f = STEP; f < RANK_FIGURES; f++)
        if (is_printed(f, found)) {
            shown[count++] = PLAIT_KEYS + f;
            report_append(columns, sizeof columns, "|%s", figure_column[f]);
        }
    rows = table_new(columns);
    for (int i = 0; i < found->result->plans; i++)
        for (size_t c = 0; c < count; c++) {
            if (shown[c] >= PLAIT_KEYS) {
                figure_cell(problem, &found->plan[i], shown[c] - PLAIT_KEYS, rows);
                continue;
            }
            key_cell(problem, &found->plan[i], (plait_key_id)shown[c], text);
            table_cell(rows, "%s", text);
        }
    return table_print(rows, 0, out, err);
}

plait_status report_tries(const plait_problem *problem, const report_found *found, FILE *out,
                          plait_error *err)
{
    const plait_tries *const tries = found->tries;
    table *rows = table_new(">try|>rank|>expected loss|plan@below");
    char line[LINE_SIZE];

    fprintf(out,
            "\nplans to try for a few steps, one more per row, and the expected loss of the best "
            "of them against the best of these %d plans:\n",
            found->result->plans);
    for (int i = 0; i < tries->count; i++) {
        if (i >= found->tries_asked && i + 1 != 2 && i + 1 != 3 && i + 1 != 5)
            continue;
        TABLE_ROW(rows, i < found->tries_asked ? as_int(i + 1) : as_format("(%.0f)", i + 1),
                  as_int(tries->plan[i] + 1), as_format("%.1f %%", 100.0 * tries->regret[i]),
                  as_text(report_line(problem, &found->plan[tries->plan[i]].degrees, line)));
    }
    return table_print(rows, 0, out, err);
}
