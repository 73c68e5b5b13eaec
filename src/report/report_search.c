/* report_search.c - what a search found: the ranking, the front, how it knows, what to do next */
#include "report.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "choices.h"
#include "report_private.h"
#include "report_table.h"
#include "units.h"

enum { CELL_SIZE = 96, LINE_SIZE = REPORT_LINE_SIZE, FRONT_LINES = 8 };

/* ---- the ranking ---- */

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

static plait_status print_ranking(const plait_problem *problem, const report_found *found,
                                  FILE *out, plait_error *err)
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

/* Of the plans that cannot be told apart, the one that leaves most memory free. */
static const report_plan *leanest_tied(const report_found *found)
{
    const report_plan *leanest = &found->plan[0];

    for (int i = 1; i < found->result->plans; i++)
        if (found->plan[i].tied &&
            found->plan[i].cost.memory.peak_bytes < leanest->cost.memory.peak_bytes)
            leanest = &found->plan[i];
    return leanest;
}

static void print_ties(const plait_problem *problem, const report_found *found, FILE *out)
{
    const report_plan *const leanest = leanest_tied(found);
    char memory[UNITS_SIZE];

    fprintf(out, "~ within %.1f %% of the first: measured runs cannot tell them apart",
            100.0 * (problem->band.tie - 1.0));
    if (leanest != &found->plan[0])
        fprintf(out, "; of these, %d needs least memory, %s", leanest->rank,
                units_gib(leanest->cost.memory.peak_bytes, memory));
    fputc('\n', out);
}

static void print_band(const plait_problem *problem, const report_found *found, FILE *out)
{
    char low[UNITS_SIZE], high[UNITS_SIZE];
    const plait_cost *const best = &found->plan[0].cost;

    if (!isfinite(best->step_low_s))
        return;
    fprintf(out, "the first lies between %s and %s in 80 %% of measured runs like it\n",
            units_seconds(best->step_low_s, low), units_seconds(best->step_high_s, high));
    if (found->result->plans > 1 && found->plan[1].tied)
        print_ties(problem, found, out);
}

/* ---- the front ---- */

/* ", grads bf16, moments fp8", where a plan has other formats than the software's recipe. */
static void add_numerics(const plait_problem *problem, const plait_degrees *d, char line[LINE_SIZE])
{
    char word[CELL_SIZE];

    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key *const row = &plait_keys[k];
        const size_t length = strlen(line);
        if (row->numerics && !plait_key_is_usual(problem, d, (plait_key_id)k))
            snprintf(line + length, LINE_SIZE - length, ", %s %s", row->title,
                     plait_degrees_get(d, (plait_key_id)k, word, sizeof word));
    }
}

const char *report_line(const plait_problem *problem, const plait_degrees *d,
                        char line[REPORT_LINE_SIZE])
{
    char text[CELL_SIZE], word[CELL_SIZE];

    snprintf(text, sizeof text, "tp %d, pp %d", d->tp, d->pp);
    if (d->vpp > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), " x %d", d->vpp);
    if (d->cp > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", cp %d", d->cp);
    if (d->ep > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", ep %d", d->ep);
    snprintf(line, LINE_SIZE, "%s, dp %d, mbs %d, %d microbatches, ZeRO-%d, recompute %s", text,
             d->dp, d->mbs, plait_degrees_microbatches(d, problem->job.gbs), d->zero,
             plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, word, sizeof word));
    if (d->offload_acts > 0)
        snprintf(line + strlen(line), LINE_SIZE - strlen(line), ", offload %s",
                 plait_offload_acts_name[d->offload_acts]);
    add_numerics(problem, d, line);
    return line;
}

static void print_front_point(const plait_problem *problem, const plait_ranked *point, table *rows)
{
    char step[UNITS_SIZE], memory[UNITS_SIZE], line[LINE_SIZE];

    table_cell(rows, "%s", units_seconds(point->price.step_s, step));
    table_cell(rows, "%s", units_gib(point->price.peak_bytes, memory));
    table_cell(rows, "%s", report_line(problem, &point->plan.degrees, line));
}

/* A few points evenly along the front, both ends among them. */
static plait_status print_front(const plait_problem *problem, const plait_search_result *result,
                                FILE *out, plait_error *err)
{
    static const table_column titles[] = {
        {"step", TABLE_RIGHT}, {"memory", TABLE_RIGHT}, {"plan", TABLE_LEFT}};
    const int size = result->front_size;
    const int lines = size < FRONT_LINES ? size : FRONT_LINES;
    table *rows;

    if (size == 0)
        return PLAIT_OK;
    rows = table_new(titles, 3);
    fprintf(out, "\nfront of time and memory, %d of %d plans:\n", lines, size);
    for (int i = 0; i < lines; i++)
        print_front_point(problem, &result->front[lines == 1 ? 0 : (size - 1) * i / (lines - 1)],
                          rows);
    return table_print(rows, 2, out, err);
}

/* ---- how it knows ---- */

static void print_proof(const plait_search_result *result, FILE *out)
{
    char elapsed[UNITS_SIZE];

    fprintf(out,
            "\n%lld points: %lld priced, %lld ruled out by lower bounds; %lld of the priced fit, "
            "%lld are tight\n",
            (long long)result->points, (long long)result->priced, (long long)result->pruned,
            (long long)result->fits, (long long)result->tight);
    if (result->points == 0)
        fprintf(out, "strategy %s: no uniform plan is legal\n", result->strategy);
    else if (result->optimal)
        fprintf(out, "strategy %s: proven, %s\n", result->strategy,
                result->plans > 0 ? "no other plan of this space is better"
                                  : "no plan of this space fits");
    else
        fprintf(out, "strategy %s: not proven\n", result->strategy);
    fprintf(out, "elapsed %s on %d thread%s\n", units_seconds(result->elapsed_s, elapsed),
            result->threads, result->threads == 1 ? "" : "s");
}

/* A gap that is open is never told as none. */
static const char *gap_text(double share, char *text)
{
    snprintf(text, UNITS_SIZE, share < 0.001 ? "less than 0.1 %%" : "%.1f %%", 100.0 * share);
    return text;
}

/* What each search beyond uniform plans gained, and how far from the best it may still be. */
static void print_refinement(const plait_refinement *of, FILE *out)
{
    char step[UNITS_SIZE], floor[UNITS_SIZE], elapsed[UNITS_SIZE], gap[UNITS_SIZE];
    const bool first = isinf(of->before);
    const double found = of->any ? of->best.objective : of->before;

    fprintf(out, "%s: ", of->name);
    if (of->any)
        fprintf(out, "%s", units_seconds(of->best.price.step_s, step));
    if (of->any && !first)
        fprintf(out, ", %.1f %% less than without", 100.0 * (1.0 - found / of->before));
    if (!of->any)
        fputs(first ? "none fits" : "none is faster", out);
    if (first && !of->any)
        fputs(", proven", out);
    else if (of->optimal)
        fputs("; proven, no other of this search is better", out);
    else if (isfinite(of->floor))
        fprintf(out, "; not proven, none can be below %s: a gap of %s",
                units_seconds(of->floor, floor), gap_text(1.0 - of->floor / found, gap));
    fprintf(out, "; %lld points left by bounds, %lld solved\nelapsed %s on %s\n",
            (long long)of->points, (long long)of->solved, units_seconds(of->elapsed_s, elapsed),
            of->name);
}

/* The best of the plans that may run out, against the best that fits. */
static void print_tight(const plait_problem *problem, const plait_search_result *result, FILE *out)
{
    const plait_ranked *const best = &result->tight_best;
    char risk[UNITS_SIZE], step[UNITS_SIZE], memory[UNITS_SIZE], line[LINE_SIZE];

    if (!result->has_tight)
        return;
    units_percent(plait_memory_risk(problem, best->price.peak_bytes), risk);
    fprintf(out, "\ntight: at a %s risk of running out a plan takes %s", risk,
            units_seconds(best->price.step_s, step));
    if (result->plans > 0)
        fprintf(out, ", %.1f %% less",
                100.0 * (1.0 - best->price.step_s / result->plan[0].price.step_s));
    fprintf(out, " (%s: %s); --risk %.2f lists it\n", units_gib(best->price.peak_bytes, memory),
            report_line(problem, &best->plan.degrees, line),
            ceil(100.0 * plait_memory_risk(problem, best->price.peak_bytes)) / 100.0);
}

/* The number of GPUs that works best, and what those that idle would have bought. (S.81, S.82) */
static void print_fewer(const plait_problem *problem, const report_found *found, FILE *out)
{
    const plait_fewer_gpus *const fewer = found->fewer;
    const plait_price *const price = &fewer->best.price;
    char step[UNITS_SIZE], memory[UNITS_SIZE], ideal[UNITS_SIZE], line[LINE_SIZE];
    const int all = problem->job.gpus;

    fprintf(out, "\n%d of %d GPUs ", fewer->gpus, all);
    if (found->result->plans > 0)
        fprintf(out, "are %.1f %% faster",
                100.0 * (found->result->plan[0].price.step_s / price->step_s - 1.0));
    else
        fputs(fewer->proven ? "work best" : "work", out);
    fprintf(out, ": step %s, %s (%s)\n", units_seconds(price->step_s, step),
            units_gib(price->peak_bytes, memory),
            report_line(problem, &fewer->best.plan.degrees, line));
    fprintf(out,
            "all %d, if they divided as well, would take %s: the %d that idle would buy %.1f %%\n",
            all, units_seconds(fewer->ideal_s, ideal), all - fewer->gpus,
            100.0 * (1.0 - fewer->ideal_s / price->step_s));
    if (!fewer->proven)
        fprintf(out, "of the smaller numbers the first %d were searched\n", fewer->searched);
}

/* What binds: so much on which stage, and of several sorts of nodes on which. */
static plait_status print_closest(const plait_problem *problem, const report_plan *closest,
                                  FILE *out, plait_error *err)
{
    const int s = closest->cost.fullest_stage;
    char missing[UNITS_SIZE], peak[UNITS_SIZE], capacity[UNITS_SIZE];

    fprintf(out, "\nThe plan that lacks least: %s used, %s there, %s missing on stage %d",
            units_gib(closest->cost.memory.peak_bytes, peak),
            units_gib(closest->cost.memory.capacity_bytes, capacity),
            units_gib(closest->cost.missing_bytes, missing), s);
    if (closest->plan.stages > s && problem->cluster->groups > 1)
        fprintf(out, ", on %s",
                problem->cluster->group[closest->plan.stage[s].group].accelerator->name);
    fputs(".\n", out);
    report_degrees(problem, &closest->degrees, out);
    return report_groups(problem, closest, " of that plan", out, err);
}

static plait_status print_nothing_fits(const plait_problem *problem, const report_found *found,
                                       FILE *out, plait_error *err)
{
    fputs("No plan fits.\n", out);
    if (found->closest != NULL)
        PLAIT_TRY(print_closest(problem, found->closest, out, err));
    if (found->relaxations > 0) {
        fputs("\nWhat would make a plan fit, smallest change first:\n", out);
        report_relaxations(found->relaxation, found->relaxations, out);
    }
    return PLAIT_OK;
}

static void print_next(const report_found *found, FILE *out)
{
    if (found->next != NULL)
        fprintf(out, "next: %s\n", found->next);
}

/* The plans to start, and what is lost by starting so many: those asked for, and 1, 2, 3, 5. */
static plait_status print_tries(const plait_problem *problem, const report_found *found, FILE *out,
                                plait_error *err)
{
    static const table_column titles[] = {{"try", TABLE_RIGHT},
                                          {"rank", TABLE_RIGHT},
                                          {"expected loss", TABLE_RIGHT},
                                          {"plan", TABLE_LEFT}};
    const plait_tries *const tries = found->tries;
    table *rows = table_new(titles, 4);
    char line[LINE_SIZE];

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

plait_status report_search(const plait_problem *problem, const report_found *found, FILE *out,
                           plait_error *err)
{
    char capacity[UNITS_SIZE], device[UNITS_SIZE];

    report_question(problem, out);
    if (found->refusal != NULL) {
        fprintf(out, "\nno plan of %d GPUs is legal: %s\n", problem->job.gpus, found->refusal);
        print_fewer(problem, found, out);
        print_next(found, out);
        return PLAIT_OK;
    }
    fprintf(out,
            "plans may use %s of %s of each GPU, a %g %% risk of running out; least %s first\n\n",
            units_gib(plait_capacity_bytes(problem, problem->risk), capacity),
            units_gib(plait_capacity_bytes(problem, 0.5), device), 100.0 * problem->risk,
            plait_objective_name[found->options->objective]);
    if (found->result->plans > 0) {
        PLAIT_TRY(print_ranking(problem, found, out, err));
        print_band(problem, found, out);
        PLAIT_TRY(report_groups(problem, &found->plan[0], ", of the first plan", out, err));
        report_idle(problem, found, out);
        if (found->tries != NULL)
            PLAIT_TRY(print_tries(problem, found, out, err));
        PLAIT_TRY(print_front(problem, found->result, out, err));
    } else {
        PLAIT_TRY(print_nothing_fits(problem, found, out, err));
    }
    print_tight(problem, found->result, out);
    if (found->fewer != NULL)
        print_fewer(problem, found, out);
    print_proof(found->result, out);
    for (int i = 0; i < found->result->refinements; i++)
        print_refinement(&found->result->refinement[i], out);
    report_confidence(problem,
                      found->result->plans > 0 ? &found->result->plan[0].plan.degrees : NULL, out);
    print_next(found, out);
    return PLAIT_OK;
}
