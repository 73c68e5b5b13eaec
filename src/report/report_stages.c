/*
 * report_stages.c - prints the stages of a plan by group of nodes, and the choices of stages that
 * differ from the plan
 */
#include "report/report_private.h"

#include <stdio.h>

#include "plan/choices.h"
#include "plan/layer_sharding.h"
#include "report/report.h"
#include "report/report_table.h"
#include "report/units.h"

static bool same_keys(const plait_degrees *a, const plait_degrees *b)
{
    for (int key = 0; key < PLAIT_KEYS; key++)
        if ((PLAN_OWN_KEYS & PLAIT_KEY_BIT(key)) && !plait_key_same(a, b, (plait_key_id)key))
            return false;
    return true;
}

static bool stages_equal(const plait_stage *a, const plait_stage *b)
{
    if (a->layers != b->layers || !same_keys(&a->degrees, &b->degrees))
        return false;
    for (int i = 0; i < a->layers; i++)
        if (!recompute_same(a->recompute[i], b->recompute[i]) ||
            !cut_same(plait_cut_of(a, i), plait_cut_of(b, i)))
            return false;
    return true;
}

void report_choices(const plait_plan *plan, FILE *out)
{
    for (int first = 0, last; first < plan->stages; first = last + 1) {
        for (last = first; last + 1 < plan->stages;)
            if (stages_equal(&plan->stage[first], &plan->stage[last + 1]))
                last++;
            else
                break;
        if (stage_chooses(plan, &plan->stage[first])) {
            const plait_stage *const stage = &plan->stage[first];
            char text[96];

            if (first == last)
                fprintf(out, "stage %d recomputes", first);
            else
                fprintf(out, "stages %d to %d recompute", first, last);
            // Print the choices of recomputation in the order of their first layers: " full in 4
            // layers, none in 6".
            plait_degrees one = stage->degrees;
            for (int i = 0, printed = 0; i < stage->layers; i++) {
                int before = 0, count = 0;

                for (int j = 0; j < stage->layers; j++)
                    if (recompute_same(stage->recompute[j], stage->recompute[i])) {
                        before += j < i;
                        count++;
                    }
                if (before > 0)
                    continue;
                one.recompute = stage->recompute[i];
                fprintf(out, "%s %s in %d%s", printed > 0 ? "," : "",
                        plait_degrees_get(&one, PLAIT_KEY_RECOMPUTE, text, sizeof text), count,
                        printed > 0  ? ""
                        : count == 1 ? " layer"
                                     : " layers");
                printed++;
            }
            for (int key = 0; key < PLAIT_KEYS; key++)
                if ((PLAN_OWN_KEYS & PLAIT_KEY_BIT(key)) &&
                    !plait_key_same(&stage->degrees, &plan->degrees, (plait_key_id)key))
                    fprintf(
                        out, "; %s %s", plait_keys[key].name,
                        plait_degrees_get(&stage->degrees, (plait_key_id)key, text, sizeof text));
            // Print runs of layers with the same tp and stage of ZeRO: "; tp 8, ZeRO 3 in 4 layers,
            // tp 2, ZeRO 2 in 6".
            for (int layer = 0, end; stage_cuts(stage) && layer < stage->layers; layer = end) {
                const plait_cut cut = plait_cut_of(stage, layer);

                for (end = layer + 1; end < stage->layers; end++)
                    if (!cut_same(plait_cut_of(stage, end), cut))
                        break;
                fprintf(out, "%s tp %d, ZeRO %d in %d%s", layer > 0 ? "," : ";", cut.tp, cut.zero,
                        end - layer,
                        layer > 0  ? ""
                        : end == 1 ? " layer"
                                   : " layers");
            }
            fputc('\n', out);
        }
    }
}

enum { CELL_SIZE = 64 };

/* Writes a range: "11", or "11..15" if the stages of a group differ. */
static const char *range_text(int low, int high, char text[CELL_SIZE])
{
    if (low == high)
        snprintf(text, CELL_SIZE, "%d", low);
    else
        snprintf(text, CELL_SIZE, "%d..%d", low, high);
    return text;
}

static int end_of_run(const plait_plan *plan, int first)
{
    int end = first + 1;

    while (end < plan->stages && (plan->stage[end].group == plan->stage[first].group &&
                                  plan->stage[end].degrees.tp == plan->stage[first].degrees.tp &&
                                  plan->stage[end].degrees.dp == plan->stage[first].degrees.dp &&
                                  plan->stage[end].degrees.mbs == plan->stage[first].degrees.mbs &&
                                  plan->stage[end].degrees.ep == plan->stage[first].degrees.ep))
        end++;
    return end;
}

/* Returns the recomputation of a run of stages if all stages share it, otherwise "by stage". */
static const char *recompute_text(const plait_plan *plan, int first, int end, char text[CELL_SIZE])
{
    const plait_degrees *const d = &plan->stage[first].degrees;

    for (int s = first + 1; s < end; s++)
        if (!plait_key_same(&plan->stage[s].degrees, d, PLAIT_KEY_RECOMPUTE))
            return "by stage";
    return plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, text, CELL_SIZE);
}

plait_status report_groups(const plait_problem *problem, const report_plan *plan, const char *which,
                           FILE *out, plait_error *err)
{
    table *rows;

    if (plan->plan.stages == 0 || !plait_plan_mixed(problem, &plan->plan))
        return PLAIT_OK;
    rows = table_new(">group|GPU@below|>GPUs@below|stages@below|layers@below|>tp|"
                     ">dp|>mbs|recompute|>memory|>computing|>cp");
    fprintf(out, "\nstages by group of nodes%s:\n", which);
    for (int g = 0; g < problem->cluster->groups; g++) {
        int end;

        if (plait_plan_gpus(&plan->plan, g) == 0) {
            TABLE_ROW(rows, as_int(g), as_text(problem->cluster->group[g].accelerator->name),
                      as_int(plait_cluster_taken(problem->cluster, problem->job.gpus, g)),
                      as_text("idle"));
            for (int i = 0; i < 8; i++)
                table_cell(rows, "-");
        }
        for (int first = 0; first < plan->plan.stages; first = end) {
            end = end_of_run(&plan->plan, first);
            if (plan->plan.stage[first].group == g) {
                // Print the stages, layers and degrees of one run, the memory of its fullest GPU,
                // and the share of the step in which it computes.
                const plait_degrees *const d = &plan->plan.stage[first].degrees;
                const int m = plait_degrees_microbatches(d, problem->job.gbs),
                          group = plan->plan.stage[first].group;
                int least = plan->plan.stage[first].layers, most = 0;
                double peak = 0.0, busy_s = 0.0;
                char text[CELL_SIZE];

                for (int s = first; s < end; s++) {
                    const int layers = plan->plan.stage[s].layers;
                    const plait_stage_cost *const cost = &plan->cost.stage[s];

                    least = layers < least ? layers : least;
                    most = layers > most ? layers : most;
                    peak = cost->memory_bytes > peak ? cost->memory_bytes : peak;
                    busy_s += cost->forward_s + cost->backward_s;
                }
                TABLE_ROW(rows, as_int(group),
                          as_text(problem->cluster->group[group].accelerator->name),
                          as_int((end - first) * d->tp * d->cp * d->dp),
                          as_text(range_text(first, end - 1, text)));
                TABLE_ROW(rows, as_text(range_text(least, most, text)), as_int(d->tp),
                          as_int(d->dp), as_int(d->mbs));
                TABLE_ROW(rows, as_text(recompute_text(&plan->plan, first, end, text)),
                          as_gib(peak), as_percent(m * busy_s / (end - first) / plan->cost.step_s),
                          as_int(d->cp));
            }
        }
    }
    return table_print(rows, 2, out, err);
}

void report_idle(const plait_problem *problem, const report_found *found, FILE *out)
{
    char step[UNITS_SIZE];

    for (int i = 0; i < found->idle_groups; i++) {
        const plait_idle_group *const idle = &found->idle[i];

        fprintf(out, "group %d (%d GPUs %s) is idle: ", idle->group, idle->gpus,
                problem->cluster->group[idle->group].accelerator->name);
        if (!idle->any)
            fputs("no plan that uses it fits\n", out);
        else
            fprintf(out, "the best plan that uses it takes %s, %.1f %% more %s\n",
                    units_seconds(idle->best.price.step_s, step),
                    100.0 * (idle->best.objective / found->result->plan[0].objective - 1.0),
                    plait_objective_name[found->options->objective]);
    }
}
