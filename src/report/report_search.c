/* report_search.c - what a search found: the ranking, the front, how it knows, what to do next */
#include "report.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "report_table.h"
#include "traits.h"
#include "units.h"

enum { CELL_SIZE = 96, FRONT_LINES = 8 };

/* ---- the ranking ---- */

/* A column of the ranking. It is dropped when every plan shows its neutral text. */
typedef struct rank_column {
    const char *title;
    table_align align;
    const char *neutral; /* NULL: never dropped */
    void (*cell)(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE]);
} rank_column;

static void number(int value, char text[CELL_SIZE])
{
    snprintf(text, CELL_SIZE, "%d", value);
}

#define NUMBER_CELL(name, value)                                                                   \
    static void name##_cell(const plait_problem *problem, const report_plan *plan,                 \
                            char text[CELL_SIZE])                                                  \
    {                                                                                              \
        (void)problem;                                                                             \
        number(value, text);                                                                       \
    }

#define WORD_CELL(name)                                                                            \
    static void name##_cell(const plait_problem *problem, const report_plan *plan,                 \
                            char text[CELL_SIZE])                                                  \
    {                                                                                              \
        (void)problem;                                                                             \
        plait_degrees_get(&plan->degrees, #name, text, CELL_SIZE);                                 \
    }

NUMBER_CELL(tp, plan->degrees.tp)
NUMBER_CELL(pp, plan->degrees.pp)
NUMBER_CELL(vpp, plan->degrees.vpp)
NUMBER_CELL(cp, plan->degrees.cp)
NUMBER_CELL(ep, plan->degrees.ep)
NUMBER_CELL(dp, plan->degrees.dp)
NUMBER_CELL(mbs, plan->degrees.mbs)
NUMBER_CELL(zero, plan->degrees.zero)
NUMBER_CELL(microbatches, plait_degrees_microbatches(&plan->degrees, problem->job.gbs))
WORD_CELL(recompute)
WORD_CELL(schedule)
WORD_CELL(split)

/* A tilde: the evidence cannot tell it from the first. */
static void rank_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    (void)problem;
    snprintf(text, CELL_SIZE, "%d%s", plan->rank, plan->tied ? "~" : " ");
}

/* These say something only beside the degree that they belong to, or when they are not as usual. */
static void etp_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    if (!model_has_experts(problem->model))
        snprintf(text, CELL_SIZE, "-");
    else
        number(plan->degrees.etp, text);
}

static void sp_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    (void)problem;
    snprintf(text, CELL_SIZE, "%s", plan->degrees.sp == (plan->degrees.tp > 1) ? "-" : "0");
}

static void cp_comm_cell(const plait_problem *problem, const report_plan *plan,
                         char text[CELL_SIZE])
{
    (void)problem;
    snprintf(text, CELL_SIZE, "%s",
             plan->degrees.cp > 1 ? plait_cp_comm_name[plan->degrees.cp_comm] : "-");
}

static void shard_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    (void)problem;
    if (plan->degrees.zero == 0 || plan->degrees.shard_group == plan->degrees.dp * plan->degrees.cp)
        snprintf(text, CELL_SIZE, "-");
    else
        number(plan->degrees.shard_group, text);
}

static void order_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    (void)problem;
    snprintf(text, CELL_SIZE, "%s",
             plan->degrees.order == PLAIT_ORDER_TP_CP_DP_PP
                 ? "-"
                 : plait_order_name[plan->degrees.order]);
}

static void sync_cell(const plait_problem *problem, const report_plan *plan, char text[CELL_SIZE])
{
    (void)problem;
    snprintf(text, CELL_SIZE, "%s",
             plan->degrees.grad_sync == PLAIT_SYNC_BUCKETED
                 ? "-"
                 : plait_grad_sync_name[plan->degrees.grad_sync]);
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

static const rank_column columns[] = {
    {"rank", TABLE_RIGHT, NULL, rank_cell},
    {"tp", TABLE_RIGHT, NULL, tp_cell},
    {"sp", TABLE_RIGHT, "-", sp_cell},
    {"pp", TABLE_RIGHT, NULL, pp_cell},
    {"vpp", TABLE_RIGHT, "1", vpp_cell},
    {"cp", TABLE_RIGHT, "1", cp_cell},
    {"cp comm", TABLE_LEFT, "-", cp_comm_cell},
    {"ep", TABLE_RIGHT, "1", ep_cell},
    {"etp", TABLE_RIGHT, "-", etp_cell},
    {"dp", TABLE_RIGHT, NULL, dp_cell},
    {"mbs", TABLE_RIGHT, NULL, mbs_cell},
    {"microb.", TABLE_RIGHT, NULL, microbatches_cell},
    {"ZeRO", TABLE_RIGHT, NULL, zero_cell},
    {"shard", TABLE_RIGHT, "-", shard_cell},
    {"recompute", TABLE_LEFT, NULL, recompute_cell},
    {"schedule", TABLE_LEFT, NULL, schedule_cell},
    {"split", TABLE_LEFT, "even", split_cell},
    {"grad sync", TABLE_LEFT, "-", sync_cell},
    {"order", TABLE_LEFT, "-", order_cell},
    {"step", TABLE_RIGHT, NULL, step_cell},
    {"tok/s/GPU", TABLE_RIGHT, NULL, tokens_cell},
    {"MFU", TABLE_RIGHT, NULL, mfu_cell},
    {"memory", TABLE_RIGHT, NULL, memory_cell},
    {"USD/step", TABLE_RIGHT, NULL, cost_cell},
    {"energy", TABLE_RIGHT, NULL, energy_cell},
    {"largest overhead", TABLE_LEFT, NULL, overhead_cell},
};

enum { RANK_COLUMNS = sizeof columns / sizeof *columns };

/* Money and energy are columns when they are what the search minimises. */
static bool is_asked(const rank_column *column, plait_objective objective)
{
    if (column->cell == cost_cell)
        return objective == PLAIT_MINIMISE_COST;
    if (column->cell == energy_cell)
        return objective == PLAIT_MINIMISE_ENERGY;
    return true;
}

static bool is_kept(const rank_column *column, const plait_problem *problem,
                    const report_found *found)
{
    char text[CELL_SIZE];

    if (!is_asked(column, found->options->objective))
        return false;
    if (column->neutral == NULL)
        return true;
    for (int i = 0; i < found->result->plans; i++) {
        column->cell(problem, &found->plan[i], text);
        if (strcmp(text, column->neutral) != 0)
            return true;
    }
    return false;
}

static plait_status print_ranking(const plait_problem *problem, const report_found *found,
                                  FILE *out, plait_error *err)
{
    const rank_column *kept[RANK_COLUMNS];
    table_column titles[RANK_COLUMNS];
    char text[CELL_SIZE];
    size_t count = 0;
    table *rows;

    for (size_t c = 0; c < RANK_COLUMNS; c++) {
        if (!is_kept(&columns[c], problem, found))
            continue;
        kept[count] = &columns[c];
        titles[count++] = (table_column){columns[c].title, columns[c].align};
    }
    rows = table_new(titles, count);
    for (int i = 0; i < found->result->plans; i++)
        for (size_t c = 0; c < count; c++) {
            kept[c]->cell(problem, &found->plan[i], text);
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

static void print_front_point(const plait_problem *problem, const plait_ranked *point, table *rows)
{
    const plait_degrees *const d = &point->degrees;
    char step[UNITS_SIZE], memory[UNITS_SIZE], text[CELL_SIZE], word[CELL_SIZE];

    table_cell(rows, "%s", units_seconds(point->price.step_s, step));
    table_cell(rows, "%s", units_gib(point->price.peak_bytes, memory));
    snprintf(text, sizeof text, "tp %d, pp %d", d->tp, d->pp);
    if (d->vpp > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), " x %d", d->vpp);
    if (d->cp > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", cp %d", d->cp);
    if (d->ep > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", ep %d", d->ep);
    table_cell(rows, "%s, dp %d, mbs %d, %d microbatches, ZeRO-%d, recompute %s", text, d->dp,
               d->mbs, plait_degrees_microbatches(d, problem->job.gbs), d->zero,
               plait_degrees_get(d, "recompute", word, sizeof word));
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
    char bound[UNITS_SIZE], elapsed[UNITS_SIZE];

    fprintf(out,
            "\n%lld points: %lld priced, %lld ruled out by lower bounds; %lld of the priced fit\n",
            (long long)result->points, (long long)result->priced, (long long)result->pruned,
            (long long)result->fits);
    if (result->optimal)
        fprintf(out, "strategy %s: proven, %s\n", result->strategy,
                result->plans > 0 ? "no other plan of this space is better"
                                  : "no plan of this space fits");
    else
        fprintf(out, "strategy %s: not proven, no plan is faster than %s\n", result->strategy,
                units_seconds(result->bound_s, bound));
    fprintf(out, "elapsed %s on %d thread%s\n", units_seconds(result->elapsed_s, elapsed),
            result->threads, result->threads == 1 ? "" : "s");
}

static void print_nothing_fits(const plait_problem *problem, const report_found *found, FILE *out)
{
    const report_plan *const closest = found->closest;
    char missing[UNITS_SIZE], peak[UNITS_SIZE], capacity[UNITS_SIZE];

    fputs("No plan fits.\n", out);
    if (closest != NULL) {
        fprintf(out, "\nThe plan that lacks least: %s used, %s there, %s missing on stage %d.\n",
                units_gib(closest->cost.memory.peak_bytes, peak),
                units_gib(closest->cost.memory.capacity_bytes, capacity),
                units_gib(closest->cost.missing_bytes, missing), closest->cost.fullest_stage);
        report_degrees(problem, &closest->degrees, out);
    }
    if (found->relaxations > 0) {
        fputs("\nWhat would make a plan fit, smallest change first:\n", out);
        report_relaxations(found->relaxation, found->relaxations, out);
    }
}

plait_status report_search(const plait_problem *problem, const report_found *found, FILE *out,
                           plait_error *err)
{
    char capacity[UNITS_SIZE];

    report_question(problem, out);
    fprintf(out, "plans may use %s of each GPU; least %s first\n\n",
            units_gib(plait_capacity_bytes(problem), capacity),
            plait_objective_name[found->options->objective]);
    if (found->result->plans > 0) {
        PLAIT_TRY(print_ranking(problem, found, out, err));
        print_band(problem, found, out);
        PLAIT_TRY(print_front(problem, found->result, out, err));
    } else {
        print_nothing_fits(problem, found, out);
    }
    print_proof(found->result, out);
    report_confidence(problem, out);
    if (found->next != NULL)
        fprintf(out, "next: %s\n", found->next);
    return PLAIT_OK;
}
