/* report_groups.c - what each group of nodes does in a plan whose stages differ */
#include <stdio.h>

#include "report/report.h"
#include "report/report_table.h"
#include "report/units.h"

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

/* One behind the other in a group, with the same degrees. */
static bool is_one_run(const plait_stage *a, const plait_stage *b)
{
    return a->group == b->group && a->degrees.tp == b->degrees.tp &&
           a->degrees.dp == b->degrees.dp && a->degrees.mbs == b->degrees.mbs &&
           a->degrees.ep == b->degrees.ep;
}

static int end_of_run(const plait_plan *plan, int first)
{
    int end = first + 1;

    while (end < plan->stages && is_one_run(&plan->stage[end], &plan->stage[first]))
        end++;
    return end;
}

/* What all stages of a run recompute. */
static const char *recompute_text(const plait_plan *plan, int first, int end, char text[CELL_SIZE])
{
    const plait_degrees *const d = &plan->stage[first].degrees;

    for (int s = first + 1; s < end; s++)
        if (!plait_key_same(&plan->stage[s].degrees, d, PLAIT_KEY_RECOMPUTE))
            return "by stage";
    return plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, text, CELL_SIZE);
}

/* Stages, layers and degrees of one run, its fullest GPU, and how long it computes of the step. */
static void print_run(const plait_problem *problem, const report_plan *plan, int first, int end,
                      table *rows)
{
    const plait_degrees *const d = &plan->plan.stage[first].degrees;
    const int m = plait_degrees_microbatches(d, problem->job.gbs),
              g = plan->plan.stage[first].group;
    int least = plan->plan.stage[first].layers, most = 0;
    double peak = 0.0, busy_s = 0.0;
    char text[CELL_SIZE], memory[UNITS_SIZE], share[UNITS_SIZE];

    for (int s = first; s < end; s++) {
        const int layers = plan->plan.stage[s].layers;
        const plait_stage_cost *const cost = &plan->cost.stage[s];

        least = layers < least ? layers : least;
        most = layers > most ? layers : most;
        peak = cost->memory_bytes > peak ? cost->memory_bytes : peak;
        busy_s += cost->forward_s + cost->backward_s;
    }
    table_cell(rows, "%d", g);
    table_cell(rows, "%s", problem->cluster->group[g].accelerator->name);
    table_cell(rows, "%d", (end - first) * d->tp * d->cp * d->dp);
    table_cell(rows, "%s", range_text(first, end - 1, text));
    table_cell(rows, "%s", range_text(least, most, text));
    table_cell(rows, "%d", d->tp);
    table_cell(rows, "%d", d->dp);
    table_cell(rows, "%d", d->mbs);
    table_cell(rows, "%s", recompute_text(&plan->plan, first, end, text));
    table_cell(rows, "%s", units_gib(peak, memory));
    table_cell(rows, "%s", units_percent(m * busy_s / (end - first) / plan->cost.step_s, share));
    table_cell(rows, "%d", d->cp);
}

/* A row for each run of stages of a group, or one that says it is idle. */
static void print_group(const plait_problem *problem, const report_plan *plan, int g, table *rows)
{
    int end;

    if (plait_plan_gpus(&plan->plan, g) == 0)
        print_idle(problem, g, plait_cluster_taken(problem->cluster, problem->job.gpus, g), rows);
    for (int first = 0; first < plan->plan.stages; first = end) {
        end = end_of_run(&plan->plan, first);
        if (plan->plan.stage[first].group == g)
            print_run(problem, plan, first, end, rows);
    }
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
    table_spare(rows, 1, TABLE_BELOW);
    table_spare(rows, 2, TABLE_BELOW);
    table_spare(rows, 3, TABLE_BELOW);
    table_spare(rows, 4, TABLE_BELOW);
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
