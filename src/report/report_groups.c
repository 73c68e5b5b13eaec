/* report_groups.c - what each group of nodes does in a plan whose stages differ */
#include <stdio.h>

#include "report.h"
#include "report_table.h"
#include "units.h"

enum { CELL_SIZE = 64 };

/* "11", or "11..15" where the stages of a group differ. */
static const char *range_text(int low, int high, char text[CELL_SIZE])
{
    if (low == high)
        snprintf(text, CELL_SIZE, "%d", low);
    else
        snprintf(text, CELL_SIZE, "%d..%d", low, high);
    return text;
}

static void print_idle(const plait_problem *problem, int g, int gpus, table *rows)
{
    table_cell(rows, "%d", g);
    table_cell(rows, "%s", problem->cluster->group[g].accelerator->name);
    table_cell(rows, "%d", gpus);
    table_cell(rows, "idle");
    for (int i = 0; i < 8; i++)
        table_cell(rows, "-");
}

/* Stages, layers and degrees of one group, its fullest GPU, and how long it computes of the step. */
static void print_group(const plait_problem *problem, const report_plan *plan, int g, table *rows)
{
    int first = -1, last = 0, least = 0, most = 0;
    double peak = 0.0, busy_s = 0.0;
    char text[CELL_SIZE], memory[UNITS_SIZE], share[UNITS_SIZE];

    for (int s = 0; s < plan->plan.stages; s++) {
        const plait_stage *const stage = &plan->plan.stage[s];
        const plait_stage_cost *const cost = &plan->cost.stage[s];

        if (stage->group != g)
            continue;
        least = first < 0 || stage->layers < least ? stage->layers : least;
        most = stage->layers > most ? stage->layers : most;
        first = first < 0 ? s : first;
        last = s;
        peak = cost->memory_bytes > peak ? cost->memory_bytes : peak;
        busy_s += cost->forward_s + cost->backward_s;
    }
    if (first < 0) {
        print_idle(problem, g, plait_cluster_taken(problem->cluster, problem->job.gpus, g), rows);
        return;
    }
    const plait_degrees *const d = &plan->plan.stage[first].degrees;
    const int m = plait_degrees_microbatches(d, problem->job.gbs);

    table_cell(rows, "%d", g);
    table_cell(rows, "%s", problem->cluster->group[g].accelerator->name);
    table_cell(rows, "%d", plait_plan_gpus(&plan->plan, g));
    table_cell(rows, "%s", range_text(first, last, text));
    table_cell(rows, "%s", range_text(least, most, text));
    table_cell(rows, "%d", d->tp);
    table_cell(rows, "%d", d->dp);
    table_cell(rows, "%d", d->mbs);
    table_cell(rows, "%s", plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, text, sizeof text));
    table_cell(rows, "%s", units_gib(peak, memory));
    table_cell(rows, "%s",
               units_percent(m * busy_s / (last - first + 1) / plan->cost.step_s, share));
    table_cell(rows, "%d", d->cp);
}

plait_status report_groups(const plait_problem *problem, const report_plan *plan, const char *which,
                           FILE *out, plait_error *err)
{
    static const table_column titles[] = {
        {"group", TABLE_RIGHT},  {"GPU", TABLE_LEFT},        {"GPUs", TABLE_RIGHT},
        {"stages", TABLE_LEFT},  {"layers", TABLE_LEFT},     {"tp", TABLE_RIGHT},
        {"dp", TABLE_RIGHT},     {"mbs", TABLE_RIGHT},       {"recompute", TABLE_LEFT},
        {"memory", TABLE_RIGHT}, {"computing", TABLE_RIGHT}, {"cp", TABLE_RIGHT}};
    table *rows;

    if (plan->plan.stages == 0 || !plait_plan_mixed(problem, &plan->plan))
        return PLAIT_OK;
    rows = table_new(titles, sizeof titles / sizeof *titles);
    fprintf(out, "\nstages by group of nodes%s:\n", which);
    for (int g = 0; g < problem->cluster->groups; g++)
        print_group(problem, plan, g, rows);
    return table_print(rows, 2, out, err);
}

void report_idle(const plait_problem *problem, const report_found *found, FILE *out)
{
    char step[UNITS_SIZE];

    for (int i = 0; i < found->idle_groups; i++) {
        const plait_idle_group *const idle = &found->idle[i];

        fprintf(out, "group %d, %d GPUs %s, is idle: ", idle->group, idle->gpus,
                problem->cluster->group[idle->group].accelerator->name);
        if (!idle->any)
            fputs("no plan with it fits\n", out);
        else
            fprintf(out, "the best plan with it takes %s, and %.1f %% more %s\n",
                    units_seconds(idle->best.price.step_s, step),
                    100.0 * (idle->best.objective / found->result->plan[0].objective - 1.0),
                    plait_objective_name[found->options->objective]);
    }
}
