/* explain_stages.c - the stages of a plan, its pipeline drawn, and ways to reduce gradients */
#include "report/explain.h"

#include <math.h>
#include <string.h>

#include "report/report_table.h"
#include "report/timeline.h"
#include "report/units.h"

enum { ALL_STAGES = 16 }; /* up to so many stages are all listed */

/* ---- stages ---- */

/* "0-9, 40-49": the layers of a stage, chunk by chunk. */
static void stage_layers(const plait_stage *stage, char *text, size_t size)
{
    text[0] = '\0';
    for (int c = 0; c < stage->chunks; c++) {
        const plait_chunk *const chunk = &stage->chunk[c];
        const size_t used = strlen(text);

        if (size - used < 64) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        if (chunk->last - chunk->first > 1)
            snprintf(text + used, size - used, "%s%d-%d", c > 0 ? ", " : "", chunk->first,
                     chunk->last - 1);
        else if (chunk->last > chunk->first)
            snprintf(text + used, size - used, "%s%d", c > 0 ? ", " : "", chunk->first);
        else
            snprintf(text + used, size - used, "%sno layer", c > 0 ? ", " : "");
        snprintf(text + strlen(text), size - strlen(text), "%s%s%s",
                 chunk->embedding ? " + embedding" : "", chunk->mtp > 0 ? " + MTP" : "",
                 chunk->loss ? " + loss" : "");
    }
}

static bool is_listed(const plait_cost *cost, int stage)
{
    return cost->stages <= ALL_STAGES || stage < 2 || stage == cost->stages - 1 ||
           stage == cost->slowest_stage || stage == cost->fullest_stage;
}

plait_status explain_stages(const report_plan *plan, FILE *out, plait_error *err)
{
    static const table_column columns[] = {
        {"stage", TABLE_RIGHT},    {"layers", TABLE_LEFT},     {"forward", TABLE_RIGHT},
        {"backward", TABLE_RIGHT}, {"in flight", TABLE_RIGHT}, {"memory", TABLE_RIGHT},
        {"", TABLE_LEFT}};
    const plait_cost *const cost = &plan->cost;
    char text[UNITS_SIZE], layers[200];
    table *rows = table_new(columns, 7);
    int listed = 0;

    for (int s = 0; s < cost->stages && s < plan->plan.stages; s++) {
        const plait_stage_cost *const stage = &cost->stage[s];

        const bool slowest = s == cost->slowest_stage, fullest = s == cost->fullest_stage;
        if (!is_listed(cost, s))
            continue;
        listed++;
        stage_layers(&plan->plan.stage[s], layers, sizeof layers);
        table_cell(rows, "%d", s);
        table_cell(rows, "%s", layers);
        table_cell(rows, "%s", units_seconds(stage->forward_s, text));
        table_cell(rows, "%s", units_seconds(stage->backward_s, text));
        table_cell(rows, "%.3g", stage->in_flight);
        table_cell(rows, "%s", units_gib(stage->memory_bytes, text));
        table_cell(rows, "%s%s%s", slowest ? "slowest" : "", slowest && fullest ? " " : "",
                   fullest ? "fullest" : "");
    }
    fprintf(out, "\nStages, times of one microbatch (%d of %d listed):\n", listed, cost->stages);
    return table_print(rows, 2, out, err);
}

/* ---- the pipeline ---- */

void explain_timeline(const report_explained *explained, FILE *out)
{
    if (explained->timeline == NULL && explained->no_timeline == NULL)
        return;
    explain_heading("The pipeline, simulated (C.86, C.180 to C.183):", out);
    if (explained->timeline == NULL) {
        fprintf(out, "  not drawn: %s\n", explained->no_timeline);
        return;
    }
    timeline_text(explained->timeline, out);
    fputs("  ", out);
    timeline_against(explained->timeline, &explained->plan->cost, out);
}

/* ---- ways to reduce gradients ---- */

static bool syncs_differ(const plait_cost *cost)
{
    for (int how = 1; how < PLAIT_GRAD_SYNCS; how++)
        if (fabs(cost->sync_step_s[how] - cost->sync_step_s[0]) > 1e-9 * cost->step_s)
            return true;
    return false;
}

/* C.184 */
plait_status explain_syncs(const plait_runtime *runtime, const report_plan *plan, FILE *out,
                           plait_error *err)
{
    static const table_column columns[] = {{"grad_sync", TABLE_LEFT},
                                           {"step", TABLE_RIGHT},
                                           {"difference", TABLE_RIGHT},
                                           {"", TABLE_LEFT}};
    const unsigned takes = runtime->can.takes[PLAIT_KEY_GRAD_SYNC];
    const plait_cost *const cost = &plan->cost;
    char text[UNITS_SIZE];
    table *rows;

    if (!syncs_differ(cost))
        return PLAIT_OK;
    explain_heading("The step with each way to reduce gradients (C.66 to C.68, C.184):", out);
    rows = table_new(columns, 4);
    for (int how = 0; how < PLAIT_GRAD_SYNCS; how++) {
        const double difference = explain_difference(cost->step_s, cost->sync_step_s[how]);

        table_cell(rows, "%s", plait_grad_sync_name[how]);
        table_cell(rows, "%s", units_seconds(cost->sync_step_s[how], text));
        table_cell(rows, "%s%s", difference > 0.0 ? "+" : "", units_seconds(difference, text));
        table_cell(rows, "%s",
                   how == plan->degrees.grad_sync ? "this plan"
                   : takes >> how & 1u            ? "the runtime can"
                                                  : "");
    }
    return table_print(rows, 2, out, err);
}
