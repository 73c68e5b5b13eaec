/* report_search.c - prints the result of a search: ranking, front, proof, next command */
#include "report/report.h"

#include <math.h>
#include <stdbool.h>

#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

enum { CELL_SIZE = 96, LINE_SIZE = REPORT_LINE_SIZE, FRONT_LINES = 8 };

/* ---- beside the ranking ---- */

/* Returns the plan with the least memory among those tied with the first. */
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
    if (d->dp > 0) // a plan that cannot run may have no replica and no microbatch
        report_append(line, LINE_SIZE, ", dp %d", d->dp);
    report_append(line, LINE_SIZE, ", mbs %d", d->mbs);
    if (microbatches > 0)
        report_append(line, LINE_SIZE, ", %d microbatches", microbatches);
    report_append(line, LINE_SIZE, ", ZeRO-%d, recompute %s", d->zero,
                  plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, word, sizeof word));
    if (d->offload_acts > 0)
        report_append(line, LINE_SIZE, ", offload %s", plait_offload_acts_name[d->offload_acts]);
    for (int k = 0; k < PLAIT_KEYS; k++) // formats that differ from the software's recipe
        if (plait_keys[k].numerics && !plait_key_is_usual(problem, d, (plait_key_id)k))
            report_append(line, LINE_SIZE, ", %s %s", plait_keys[k].title,
                          plait_degrees_get(d, (plait_key_id)k, word, sizeof word));
    return line;
}

/* Prints a few evenly spaced points of the front, including both ends. */
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

/* ---- how it knows ---- */

/* Writes a gap; a gap that is open is never written as 0.0 %. */
static const char *gap_text(double share, char *text)
{
    snprintf(text, UNITS_SIZE, share < 0.001 ? "less than 0.1 %%" : "%.1f %%", 100.0 * share);
    return text;
}

/* Prints the gain of a search beyond uniform plans, and its remaining gap to the optimum. */
static void print_refinement(const plait_refinement *of, FILE *out)
{
    char step[UNITS_SIZE], floor[UNITS_SIZE], elapsed[UNITS_SIZE], gap[UNITS_SIZE];
    const bool first = isinf(of->before);
    const double found = of->any ? of->best.objective : of->before;

    fprintf(out, "%s: ", of->name);
    if (of->any)
        fprintf(out, "%s", units_seconds(of->best.price.step_s, step));
    if (of->any && !first)
        fprintf(out, ", %.1f %% less than without this refinement",
                100.0 * (1.0 - found / of->before));
    if (!of->any)
        fputs(first ? "no plan fits" : "no plan is faster", out);
    if (first && !of->any)
        fputs(", proven", out);
    else if (of->optimal)
        fputs("; proven, no other plan of this refinement is better", out);
    else if (isfinite(of->floor))
        fprintf(out, "; not proven, lower bound %s, gap %s", units_seconds(of->floor, floor),
                gap_text(1.0 - of->floor / found, gap));
    fprintf(out, "; %lld points not pruned by bounds, %lld of them solved\nelapsed %s on %s\n",
            (long long)of->points, (long long)of->solved, units_seconds(of->elapsed_s, elapsed),
            of->name);
}

/* Compares the best plan that may run out of memory with the best that fits. */
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

/* Prints the best smaller number of GPUs, and the gain that the idle ones would bring (S.81, S.82). */
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
            "with the same efficiency, all %d GPUs would take %s: the %d idle ones would save "
            "%.1f %%\n",
            all, units_seconds(fewer->ideal_s, ideal), all - fewer->gpus,
            100.0 * (1.0 - fewer->ideal_s / price->step_s));
    if (!fewer->proven)
        fprintf(out, "of the smaller numbers of GPUs, only %d were searched\n", fewer->searched);
}

/* Prints the closest infeasible plan, and the memory that it lacks. */
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
    fprintf(
        out,
        "plans may use %s of %s per GPU, a %g %% risk of running out of memory; ranked by least "
        "%s\n\n",
        units_gib(plait_capacity_bytes(problem, problem->risk), capacity),
        units_gib(plait_capacity_bytes(problem, 0.5), device), 100.0 * problem->risk,
        plait_objective_name[found->options->objective]);
    if (found->result->plans > 0) {
        PLAIT_TRY(report_ranking(problem, found, out, err));
        print_band(problem, found, out);
        PLAIT_TRY(report_groups(problem, &found->plan[0], " of plan 1", out, err));
        report_idle(problem, found, out);
        if (found->tries != NULL)
            PLAIT_TRY(report_tries(problem, found, out, err));
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
        fprintf(out, "strategy %s: no uniform plan is legal\n", result->strategy);
    else if (result->optimal)
        fprintf(out, "strategy %s: proven, %s\n", result->strategy,
                result->plans > 0 ? "no other plan of this space is better"
                                  : "no plan of this space fits");
    else
        fprintf(out, "strategy %s: optimality not proven\n", result->strategy);
    fprintf(out, "elapsed %s on %d thread%s\n", units_seconds(result->elapsed_s, elapsed),
            result->threads, result->threads == 1 ? "" : "s");
    for (int i = 0; i < found->result->refinements; i++)
        print_refinement(&found->result->refinement[i], out);
    report_confidence(problem,
                      found->result->plans > 0 ? &found->result->plan[0].plan.degrees : NULL, out);
    print_next(found, out);
    return PLAIT_OK;
}
