/* report_search.c - prints the result of a search: ranking, tries, front, proof, next command */
#include "report/report.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"
#include "plan/choices.h"

enum { CELL_SIZE = 96, LINE_SIZE = REPORT_LINE_SIZE, FRONT_LINES = 8 };

/* Figures of a plan that are columns of the ranking, in addition to the keys of the plan. */
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

/*
 * Column titles of the figures (report_table.h). A narrow table omits figures that follow from
 * others.
 */
static const char *const figure_column[RANK_FIGURES] = {
    [MICROBATCHES] = ">microb.@1", [STEP] = ">step@stays",
    [TOKENS] = ">tok/s/GPU@1",     [MFU] = ">MFU@stays",
    [MEMORY] = ">memory@stays",    [COST] = ">USD/step@stays",
    [ENERGY] = ">energy@stays",    [OVERHEAD] = "largest overhead@2",
    [VARIANTS] = "variants@2",
};

/* Writes the value of a key; "-" if the key does not apply, but a degree of 1 is written as 1. */
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

/*
 * Fills the cell of a figure. A tilde at the rank marks plans that measured runs cannot distinguish
 * from the first one.
 */
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
    else if (figure == VARIANTS) // number of similar plans, and the loss of the slowest
        table_cell(rows, plan->variants > 0 ? "%lld within %.1f %%" : "-",
                   (long long)plan->variants, 100.0 * plan->variants_within);
    else
        table_row(rows, &value[figure], 1);
}

/* Returns whether a figure is a column: money and energy only if the search minimises them. */
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

/*
 * Prints the ranking. Its columns are the keys of the plan with numbers, with the microbatches
 * after mbs, then the keys with words, and then the other figures.
 */
static plait_status print_ranking(const plait_problem *problem, const report_found *found,
                                  FILE *out, plait_error *err)
{
    char columns[4096] = ">rank";
    int shown[PLAIT_KEYS + RANK_FIGURES] = {PLAIT_KEYS + RANK}; /* keys, or PLAIT_KEYS + a figure */
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

static plait_status print_tries(const plait_problem *problem, const report_found *found, FILE *out,
                                plait_error *err)
{
    const plait_tries *const tries = found->tries;
    table *rows = table_new(">try|>rank|>expected loss|plan@below");
    char line[LINE_SIZE];

    fprintf(out,
            "\nplans to measure for a few steps; each row adds a plan, and the expected loss "
            "compares the best plan up to this row with the best of these %d plans:\n",
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

/* ---- notes on the ranking ---- */

/* Returns the plan with the least memory among the first plan and those tied with it. */
static const report_plan *least_memory_tied(const report_found *found)
{
    const report_plan *smallest = &found->plan[0];

    for (int i = 1; i < found->result->plans; i++)
        if (found->plan[i].tied &&
            found->plan[i].cost.memory.peak_bytes < smallest->cost.memory.peak_bytes)
            smallest = &found->plan[i];
    return smallest;
}

static void print_band(const plait_problem *problem, const report_found *found, FILE *out)
{
    char low[UNITS_SIZE], high[UNITS_SIZE];
    const plait_cost *const best = &found->plan[0].cost;

    if (!isfinite(best->step_low_s))
        return;
    fprintf(out,
            problem->runtime->natural_routing
                ? "plan 1: band %s to %s, an estimate because routing is natural\n"
                : "plan 1: 80 %% band %s to %s, from comparable measured runs\n",
            units_seconds(best->step_low_s, low), units_seconds(best->step_high_s, high));
    report_routing(problem, &found->plan[0], out);
    if (found->result->plans > 1 && found->plan[1].tied) {
        const report_plan *const smallest = least_memory_tied(found);
        char memory[UNITS_SIZE];

        fprintf(out, "~ within %.1f %% of plan 1: the prediction error is too large to rank them",
                100.0 * (problem->band.tie - 1.0));
        if (smallest != &found->plan[0])
            fprintf(out, "; of these, plan %d needs the least memory, %s", smallest->rank,
                    units_gib(smallest->cost.memory.peak_bytes, memory));
        fputc('\n', out);
    }
}

/* ---- the front ---- */

const char *report_line(const plait_problem *problem, const plait_degrees *d,
                        char line[REPORT_LINE_SIZE])
{
    const int microbatches = plait_degrees_microbatches(d, problem->job.gbs);
    char word[CELL_SIZE];

    snprintf(line, LINE_SIZE, "tp %d, pp %d", d->tp, d->pp);
    if (d->vpp > 1)
        report_append(line, LINE_SIZE, " x %d", d->vpp);
    if (d->cp > 1)
        report_append(line, LINE_SIZE, ", cp %d", d->cp);
    if (d->ep > 1)
        report_append(line, LINE_SIZE, ", ep %d", d->ep);
    if (d->dp > 0) // an invalid plan may have no replica and no microbatch
        report_append(line, LINE_SIZE, ", dp %d", d->dp);
    report_append(line, LINE_SIZE, ", mbs %d", d->mbs);
    if (microbatches > 0)
        report_append(line, LINE_SIZE, ", %d microbatches", microbatches);
    report_append(line, LINE_SIZE, ", ZeRO-%d, recompute %s", d->zero,
                  plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, word, sizeof word));
    if (d->offload_acts > 0)
        report_append(line, LINE_SIZE, ", offload %s", plait_offload_acts_name[d->offload_acts]);
    for (int k = 0; k < PLAIT_KEYS; k++) // number formats other than the runtime's default
        if (plait_keys[k].numerics && !plait_key_is_usual(problem, d, (plait_key_id)k))
            report_append(line, LINE_SIZE, ", %s %s", plait_keys[k].title,
                          plait_degrees_get(d, (plait_key_id)k, word, sizeof word));
    return line;
}

/* Prints a few evenly spaced plans of the front, including the first and the last. */
static plait_status print_front(const plait_problem *problem, const plait_search_result *result,
                                FILE *out, plait_error *err)
{
    const int size = result->front_size;
    const int lines = size < FRONT_LINES ? size : FRONT_LINES;
    table *rows;

    if (size == 0)
        return PLAIT_OK;
    rows = table_new(">step|>memory@stays|plan@below");
    fprintf(out, "\nPareto front of time and memory, %d of %d plans:\n", lines, size);
    for (int i = 0; i < lines; i++) {
        const plait_ranked *const point =
            &result->front[lines == 1 ? 0 : (size - 1) * i / (lines - 1)];
        char line[LINE_SIZE];

        TABLE_ROW(rows, as_seconds(point->price.step_s), as_gib(point->price.peak_bytes),
                  as_text(report_line(problem, &point->plan.degrees, line)));
    }
    return table_print(rows, 2, out, err);
}

/* ---- proof of the optimum ---- */

/* Writes a gap to the optimum; a gap above 0 is never written as 0.0 %. */
static const char *gap_text(double share, char *text)
{
    snprintf(text, UNITS_SIZE, share < 0.001 ? "less than 0.1 %%" : "%.1f %%", 100.0 * share);
    return text;
}

/* Prints the gain of a search beyond uniform plans, and the remaining gap to the optimum. */
static void print_refinement(const plait_refinement *of, FILE *out)
{
    char step[UNITS_SIZE], floor[UNITS_SIZE], elapsed[UNITS_SIZE], gap[UNITS_SIZE];
    const bool first = isinf(of->before);
    const double found = of->any ? of->best.objective : of->before;

    fprintf(out, "refinement %s: ", of->name);
    if (of->short_of_memory) {
        fprintf(out, "no result, since memory ended it\nelapsed %s in refinement %s\n",
                units_seconds(of->elapsed_s, elapsed), of->name);
        return;
    }
    if (of->any)
        fprintf(out, "%s", units_seconds(of->best.price.step_s, step));
    if (of->any && !first)
        fprintf(out, ", %.1f %% less than without it", 100.0 * (1.0 - found / of->before));
    if (!of->any)
        fputs(first ? "no plan fits" : "no plan is faster", out);
    if (first && !of->any)
        fputs(of->optimal ? ", proven" : "; not proven", out);
    else if (of->optimal)
        fputs("; proven optimal within this refinement", out);
    else if (isfinite(of->floor))
        fprintf(out, "; not proven, lower bound %s, gap %s", units_seconds(of->floor, floor),
                gap_text(1.0 - of->floor / found, gap));
    fprintf(out, "; %lld candidates not pruned by bounds, %lld solved exactly",
            (long long)of->points, (long long)of->solved);
    if (of->unlisted > 0)
        fprintf(out, "; candidates of %lld pipelines, those with the largest bounds, not listed",
                (long long)of->unlisted);
    fprintf(out, "\nelapsed %s in refinement %s\n", units_seconds(of->elapsed_s, elapsed),
            of->name);
}

/* Compares the best plan that risks running out of memory with the best plan that fits. */
static void print_tight(const plait_problem *problem, const plait_search_result *result, FILE *out)
{
    const plait_ranked *const best = &result->tight_best;
    char risk[UNITS_SIZE], step[UNITS_SIZE], memory[UNITS_SIZE], line[LINE_SIZE];

    if (!result->has_tight)
        return;
    units_percent(plait_memory_risk(problem, best->price.peak_bytes), risk);
    fprintf(out, "\ntight: a plan with a %s risk of running out of memory takes %s", risk,
            units_seconds(best->price.step_s, step));
    if (result->plans > 0)
        fprintf(out, ", %.1f %% less than plan 1",
                100.0 * (1.0 - best->price.step_s / result->plan[0].price.step_s));
    fprintf(out, " (%s: %s); --risk %.2f lists it\n", units_gib(best->price.peak_bytes, memory),
            report_line(problem, &best->plan.degrees, line),
            ceil(100.0 * plait_memory_risk(problem, best->price.peak_bytes)) / 100.0);
}

/*
 * Prints the best smaller number of GPUs, and the gain that the idle GPUs would bring at the same
 * efficiency (S.81, S.82).
 */
static void print_fewer(const plait_problem *problem, const report_found *found, FILE *out)
{
    const plait_fewer_gpus *const fewer = found->fewer;
    const plait_price *const price = &fewer->best.price;
    char step[UNITS_SIZE], memory[UNITS_SIZE], ideal[UNITS_SIZE], line[LINE_SIZE];
    const int all = problem->job.gpus;

    fprintf(out, "\na plan on %d of %d GPUs ", fewer->gpus, all);
    if (found->result->plans > 0)
        fprintf(out, "is %.1f %% faster",
                100.0 * (found->result->plan[0].price.step_s / price->step_s - 1.0));
    else
        fputs(fewer->proven ? "is the fastest on fewer GPUs" : "runs", out);
    fprintf(out, ": step %s, %s (%s)\n", units_seconds(price->step_s, step),
            units_gib(price->peak_bytes, memory),
            report_line(problem, &fewer->best.plan.degrees, line));
    fprintf(out,
            "with the same efficiency, all %d GPUs would take %s: the %d idle GPUs would save "
            "%.1f %%\n",
            all, units_seconds(fewer->ideal_s, ideal), all - fewer->gpus,
            100.0 * (1.0 - fewer->ideal_s / price->step_s));
    if (!fewer->proven)
        fprintf(out, "of the smaller numbers of GPUs, only %d were searched\n", fewer->searched);
}

/* Prints the closest infeasible plan, and how much memory it lacks. */
static plait_status print_closest(const plait_problem *problem, const report_found *found,
                                  FILE *out, plait_error *err)
{
    const report_plan *const closest = found->closest;
    const int s = closest->cost.fullest_stage;
    char missing[UNITS_SIZE], peak[UNITS_SIZE], capacity[UNITS_SIZE];

    fputs("\nClosest plan", out);
    if (!found->result->closest_proven)
        fprintf(out, " (within %.0f %% of the least memory)", 100.0 * PLAIT_CLOSEST_WITHIN);
    fprintf(out, ": needs %s of %s, %s short on stage %d",
            units_gib(closest->cost.memory.peak_bytes, peak),
            units_gib(closest->cost.memory.capacity_bytes, capacity),
            units_gib(closest->cost.missing_bytes, missing), s);
    if (closest->plan.stages > s && problem->cluster->groups > 1)
        fprintf(out, ", on %s",
                problem->cluster->group[closest->plan.stage[s].group].accelerator->name);
    fputs(".\n", out);
    report_degrees(problem, &closest->degrees, out);
    return report_groups(problem, closest, " of the closest plan", out, err);
}

static void print_next(const report_found *found, FILE *out)
{
    if (found->next != NULL)
        fprintf(out, "next: %s\n", found->next);
}

/* ---- the recommendation ---- */

/* Prints the keys in which the plan differs from a measured run, as "mbs, cuda_graph". */
static void print_keys(plait_key_set keys, FILE *out)
{
    const char *between = "";

    for (int k = 0; k < PLAIT_KEYS; k++)
        if (keys & PLAIT_KEY_BIT(k)) {
            fprintf(out, "%s%s", between, plait_keys[k].name);
            between = ", ";
        }
}

/* Prints the values of keys, as "mbs 4, cuda_graph layers". */
static void print_values(const plait_degrees *degrees, plait_key_set keys, FILE *out)
{
    const char *between = "";
    char value[PLAIT_VALUE_SIZE];

    for (int k = 0; k < PLAIT_KEYS; k++)
        if (keys & PLAIT_KEY_BIT(k)) {
            fprintf(out, "%s%s %s", between, plait_keys[k].name,
                    plait_degrees_get(degrees, (plait_key_id)k, value, sizeof value));
            between = ", ";
        }
}

/* Prints the plan to run, what faster plans would need, and the nearest measured run. */
static void print_recommended(const plait_problem *problem, const report_found *found, FILE *out)
{
    const report_plan *const plan = &found->plan[found->recommended];
    const plait_nearest_run *const nearest = found->nearest;
    char line[LINE_SIZE], step[UNITS_SIZE], memory[UNITS_SIZE];

    fprintf(out, "run plan %d: %s; %s a step, %s per GPU\n", found->recommended + 1,
            report_line(problem, &plan->degrees, line), units_seconds(plan->cost.step_s, step),
            units_gib(plan->cost.memory.peak_bytes, memory));
    if (found->recommended > 0)
        fprintf(out,
                "  plan 1 %s %.1f %% less %s, but has a layout, offload, more techniques or more "
                "memory\n",
                found->options->objective == PLAIT_MINIMISE_TIME ? "takes" : "needs",
                100.0 * (1.0 - found->result->plan[0].objective /
                                   found->result->plan[found->recommended].objective),
                plait_objective_name[found->options->objective]);
    if (found->result->unmeasured)
        fputs("  no plan of techniques with measured runs fits; this one uses others\n", out);
    if (nearest != NULL && nearest->row != NULL) {
        fprintf(out, "  nearest measured run: %s on %d GPUs (%s)", nearest->row->job,
                nearest->row->regime.gpus, nearest->row->source);
        fputs(nearest->differs != 0 ? "; differs in " : "; the same keys", out);
        print_keys(nearest->differs, out);
        fputc('\n', out);
    }
    if (found->by_model.changed != 0) {
        fputs("  by the model alone, without measured runs of ", out);
        print_values(&found->by_model.degrees, found->by_model.changed, out);
        fprintf(out, ": %s with them, %.1f %% less; --frontier ranks such plans\n",
                units_seconds(found->by_model.step_s, step),
                100.0 * (1.0 - found->by_model.step_s / plan->cost.step_s));
    }
    fputc('\n', out);
}

plait_status report_search(const plait_problem *problem, const report_found *found, FILE *out,
                           plait_error *err)
{
    char capacity[UNITS_SIZE], device[UNITS_SIZE], elapsed[UNITS_SIZE];

    report_question(problem, out);
    if (found->refusal != NULL) {
        fprintf(out, "\nno plan on %d GPUs is legal: %s\n", problem->job.gpus, found->refusal);
        print_fewer(problem, found, out);
        print_next(found, out);
        return PLAIT_OK;
    }
    fprintf(out,
            "plans may use %s of %s per GPU (%g %% risk of running out of memory); ranked by least "
            "%s\n\n",
            units_gib(plait_capacity_bytes(problem, problem->risk), capacity),
            units_gib(plait_capacity_bytes(problem, 0.5), device), 100.0 * problem->risk,
            plait_objective_name[found->options->objective]);
    if (found->result->plans > 0) {
        print_recommended(problem, found, out);
        PLAIT_TRY(print_ranking(problem, found, out, err));
        print_band(problem, found, out);
        PLAIT_TRY(report_groups(problem, &found->plan[0], " of plan 1", out, err));
        report_idle(problem, found, out);
        if (found->tries != NULL)
            PLAIT_TRY(print_tries(problem, found, out, err));
        PLAIT_TRY(print_front(problem, found->result, out, err));
    } else {
        fputs("No plan fits.\n", out);
        if (found->closest != NULL)
            PLAIT_TRY(print_closest(problem, found, out, err));
        if (found->relaxations > 0) {
            fputs("\nChanges that make a plan fit, smallest first:\n", out);
            report_relaxations(found->relaxation, found->relaxations, out);
        }
    }
    print_tight(problem, found->result, out);
    if (found->fewer != NULL)
        print_fewer(problem, found, out);
    const plait_search_result *const result = found->result;
    fprintf(
        out,
        "\n%lld uniform plans: %lld priced, %lld pruned by lower bounds; %lld priced plans fit, "
        "%lld are tight\n",
        (long long)result->points, (long long)result->priced, (long long)result->pruned,
        (long long)result->fits, (long long)result->tight);
    if (result->points == 0)
        fprintf(out, "%s search: no uniform plan is legal\n", result->strategy);
    else if (result->optimal)
        fprintf(out, "%s search: proven: %s\n", result->strategy,
                result->plans > 0 ? "no other plan of this space is better"
                                  : "no plan of this space fits");
    else if (result->short_of_memory)
        fprintf(out,
                "%s search: not proven, since memory ended it: a plan that is not listed may be "
                "better\n",
                result->strategy);
    else
        fprintf(out, "%s search: optimality not proven\n", result->strategy);
    fprintf(out, "elapsed %s on %d thread%s\n", units_seconds(result->elapsed_s, elapsed),
            result->threads, result->threads == 1 ? "" : "s");
    for (int i = 0; i < found->result->refinements; i++)
        print_refinement(&found->result->refinement[i], out);
    report_confidence(problem,
                      found->result->plans > 0 ? &found->result->plan[0].plan.degrees : NULL, out);
    print_next(found, out);
    return PLAIT_OK;
}
