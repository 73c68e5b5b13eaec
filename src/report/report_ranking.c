/* report_ranking.c - the plans of a search as a table, and which of them to start */
#include <string.h>

#include "plan/choices.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

enum { CELL_SIZE = 96, LINE_SIZE = REPORT_LINE_SIZE };

/*
 * A column of the ranking: a key of the plan, dropped when no plan has anything to say there, or
 * something else that is always shown.
 */
typedef struct rank_column {
    const char *title;
    table_align align;
    int key; /* -1: none */
    void (*cell)(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE]);
} rank_column;

/* What says nothing is a dash, but for a degree of 1. */
static void key_cell(const plait_problem *problem, const report_plan *plan, plait_key_id key,
                     char text[CELL_SIZE])
{
    const bool one = plait_keys[key].plain == 1 && plait_key_value(&plan->degrees, key) == 1;

    if (key == PLAIT_KEY_RECOMPUTE && plan->verdict != PLAIT_INVALID &&
        stages_choose_own(&plan->plan))
        snprintf(text, CELL_SIZE, "by stage");
    else if (plait_key_speaks(problem, &plan->degrees, key) ||
             (one && plait_keys[key].words == NULL))
        plait_degrees_get(&plan->degrees, key, text, CELL_SIZE);
    else
        snprintf(text, CELL_SIZE, "-");
}

/* A tilde: the evidence cannot tell it from the first. */
static void rank_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    (void)problem;
    snprintf(text, CELL_SIZE, "%d%s", plan->rank, plan->tied ? "~" : " ");
}

static void microbatches_cell(const plait_problem *problem, const report_plan *plan,
                              char text[CELL_SIZE])
{
    snprintf(text, CELL_SIZE, "%d", plait_degrees_microbatches(&plan->degrees, problem->job.gbs));
}

static void step_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    char step[UNITS_SIZE];

    (void)problem;
    snprintf(text, CELL_SIZE, "%s", units_seconds(plan->cost.step_s, step));
}

static void tokens_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    (void)problem;
    snprintf(text, CELL_SIZE, "%.0f", plan->cost.tokens_per_s_per_gpu);
}

static void mfu_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    char mfu[UNITS_SIZE];

    (void)problem;
    snprintf(text, CELL_SIZE, "%s", units_percent(plan->cost.mfu, mfu));
}

static void memory_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    char memory[UNITS_SIZE];

    (void)problem;
    snprintf(text, CELL_SIZE, "%s", units_gib(plan->cost.memory.peak_bytes, memory));
}

static void cost_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    (void)problem;
    snprintf(text, CELL_SIZE, "%.4g", plan->cost.cost_usd);
}

static void energy_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    char energy[UNITS_SIZE];

    (void)problem;
    snprintf(text, CELL_SIZE, "%s", units_rate(plan->cost.energy_j, "J", energy));
}

static void overhead_cell(const plait_problem *problem, const report_plan *plan,
                          char text[CELL_SIZE])
{
    const report_term term = report_largest_overhead(&plan->cost.step);
    char share[UNITS_SIZE];

    (void)problem;
    snprintf(text, CELL_SIZE, "%s %s", term.name,
             units_percent(term.value / plan->cost.step_s, share));
}

/* Plans that differ in small keys alone, and how much the slowest of them loses. */
static void variants_cell(const plait_problem *problem, const report_plan *plan,
                          char text[CELL_SIZE])
{
    (void)problem;
    if (plan->variants == 0)
        snprintf(text, CELL_SIZE, "-");
    else
        snprintf(text, CELL_SIZE, "%lld within %.1f %%", (long long)plan->variants,
                 100.0 * plan->variants_within);
}

static const rank_column before[] = {{"rank", TABLE_RIGHT, -1, rank_cell}};

static const rank_column behind[] = {
    {"step", TABLE_RIGHT, -1, step_cell},
    {"tok/s/GPU", TABLE_RIGHT, -1, tokens_cell},
    {"MFU", TABLE_RIGHT, -1, mfu_cell},
    {"memory", TABLE_RIGHT, -1, memory_cell},
    {"USD/step", TABLE_RIGHT, -1, cost_cell},
    {"energy", TABLE_RIGHT, -1, energy_cell},
    {"largest overhead", TABLE_LEFT, -1, overhead_cell},
    {"variants", TABLE_LEFT, -1, variants_cell},
};

static const rank_column microbatches = {"microb.", TABLE_RIGHT, -1, microbatches_cell};

enum {
    BEHIND = sizeof behind / sizeof *behind,
    RANK_COLUMNS = 1 + PLAIT_KEYS + 1 + BEHIND,
};

static bool any_stands_for_others(const report_found *found)
{
    for (int i = 0; i < found->result->plans; i++)
        if (found->plan[i].variants > 0)
            return true;
    return false;
}

/* Money and energy are columns when they are what the search minimises, variants where there are any. */
static bool is_asked(const rank_column *column, const report_found *found)
{
    if (column->cell == cost_cell)
        return found->options->objective == PLAIT_MINIMISE_COST;
    if (column->cell == energy_cell)
        return found->options->objective == PLAIT_MINIMISE_ENERGY;
    return column->cell != variants_cell || any_stands_for_others(found);
}

/* Has a column of a key the same text in every row, of several? */
static bool says_one_thing(const plait_problem *problem, const report_found *found,
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

/* Does the key say anything in any of the plans? */
static bool is_heard(const plait_problem *problem, const report_found *found, plait_key_id key)
{
    for (int i = 0; i < found->result->plans; i++)
        if (plait_key_speaks(problem, &found->plan[i].degrees, key))
            return true;
    return false;
}

/* Numbers, microbatches behind mbs, then words, as eval has them; returns how many. */
static size_t choose_columns(const plait_problem *problem, const report_found *found,
                             rank_column kept[RANK_COLUMNS])
{
    size_t count = 0;

    kept[count++] = before[0];
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key *const row = &plait_keys[k];

        if (is_heard(problem, found, (plait_key_id)k) &&
            !says_one_thing(problem, found, (plait_key_id)k))
            kept[count++] =
                (rank_column){row->title, row->words == NULL ? TABLE_RIGHT : TABLE_LEFT, k, NULL};
        if (k == PLAIT_KEY_MBS)
            kept[count++] = microbatches;
    }
    for (int i = 0; i < BEHIND; i++)
        if (is_asked(&behind[i], found))
            kept[count++] = behind[i];
    return count;
}

/* A narrow table leaves out columns that follow from others, and never a key of the plan. */
static int spare_of(const rank_column *column)
{
    if (column->key >= 0)
        return TABLE_BELOW;
    return column->cell == variants_cell || column->cell == overhead_cell     ? TABLE_SPARE + 1
           : column->cell == tokens_cell || column->cell == microbatches_cell ? TABLE_SPARE
                                                                              : TABLE_STAYS;
}

/* What all plans have alike stands above their table: "all: sp, vpp 4, ZeRO 1". */
static void print_alike(const plait_problem *problem, const report_found *found, FILE *out)
{
    const char *lead = "all plans: ";
    char text[CELL_SIZE];

    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;

        if (!is_heard(problem, found, key) || !says_one_thing(problem, found, key))
            continue;
        key_cell(problem, &found->plan[0], key, text);
        fprintf(out, "%s%s %s", lead, plait_keys[k].title, text);
        lead = ", ";
    }
    if (lead[0] == ',')
        fputc('\n', out);
}

plait_status report_ranking(const plait_problem *problem, const report_found *found, FILE *out,
                            plait_error *err)
{
    rank_column kept[RANK_COLUMNS];
    table_column titles[RANK_COLUMNS];
    const size_t count = choose_columns(problem, found, kept);
    char text[CELL_SIZE];
    table *rows;

    print_alike(problem, found, out);
    for (size_t c = 0; c < count; c++)
        titles[c] = (table_column){kept[c].title, kept[c].align};
    rows = table_new(titles, count);
    for (size_t c = 0; c < count; c++)
        table_spare(rows, c, spare_of(&kept[c]));
    for (int i = 0; i < found->result->plans; i++)
        for (size_t c = 0; c < count; c++) {
            if (kept[c].key >= 0)
                key_cell(problem, &found->plan[i], (plait_key_id)kept[c].key, text);
            else
                kept[c].cell(problem, &found->plan[i], text);
            table_cell(rows, "%s", text);
        }
    return table_print(rows, 0, out, err);
}

/* ---- tries ---- */

/* The plans to start, and what is lost by starting so many: those asked for, and 1, 2, 3, 5. */
plait_status report_tries(const plait_problem *problem, const report_found *found, FILE *out,
                          plait_error *err)
{
    static const table_column titles[] = {{"try", TABLE_RIGHT},
                                          {"rank", TABLE_RIGHT},
                                          {"expected loss", TABLE_RIGHT},
                                          {"plan", TABLE_LEFT}};
    const plait_tries *const tries = found->tries;
    table *rows = table_new(titles, 4);
    char line[LINE_SIZE];

    table_spare(rows, 3, TABLE_BELOW);
    fprintf(out,
            "\nplans to start for a few steps, one more each row, and what the best of them is "
            "expected to lose against the best of these %d:\n",
            found->result->plans);
    for (int i = 0; i < tries->count; i++) {
        if (i >= found->tries_asked && i + 1 != 2 && i + 1 != 3 && i + 1 != 5)
            continue;
        table_cell(rows, i < found->tries_asked ? "%d" : "(%d)", i + 1);
        table_cell(rows, "%d", tries->plan[i] + 1);
        table_cell(rows, "%.1f %%", 100.0 * tries->regret[i]);
        table_cell(rows, "%s", report_line(problem, &found->plan[tries->plan[i]].degrees, line));
    }
    return table_print(rows, 0, out, err);
}
