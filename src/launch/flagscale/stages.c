/*
 * stages.c - recomputation by stage: how many first layers of each chunk are run again
 *
 * recompute_num_layers_per_stage_micro_batch has a row for neighbours alike: [chunks, microbatches,
 * layers]. transformer_block.py reads it by chunk and microbatch, and 0 turns recomputation off; the lists
 * of granularity and method, which could say more, are read by stage alone or not at all with several chunks
 * a rank.
 */
#include "launch/flagscale/flagscale.h"

#include "plait/schedule.h"

/* First layers of a chunk that are run again whole; -1: others are, or in part. */
static int first_full(const plait_recompute *choice, int layers)
{
    int first = 0;

    while (first < layers && choice[first].kind == PLAIT_RECOMPUTE_FULL)
        first++;
    for (int l = first; l < layers; l++)
        if (choice[l].kind != PLAIT_RECOMPUTE_NONE)
            return -1;
    return first;
}

static bool is_as_said(const plait_plan *plan, const plait_stage *stage)
{
    for (int v = 0, at = 0; v < stage->chunks; v++)
        for (int l = 0; l < stage->chunk[v].last - stage->chunk[v].first; l++, at++)
            if (stage->recompute[at].kind != plait_recompute_of(&plan->degrees, l).kind)
                return false;
    return true;
}

static bool stages_differ(const plait_plan *plan)
{
    for (int s = 0; s < plan->stages; s++)
        if (!is_as_said(plan, &plan->stage[s]))
            return true;
    return false;
}

/* Layers of each chunk in pipeline order; false: not all are first ones, whole. */
static bool count_layers(const plait_plan *plan, int *layers)
{
    const plait_degrees *const d = &plan->degrees;

    for (int s = 0; s < plan->stages; s++) {
        const plait_stage *const stage = &plan->stage[s];

        for (int v = 0, at = 0; v < stage->chunks; v++) {
            const int held = stage->chunk[v].last - stage->chunk[v].first;
            const int c = plait_schedule_chunk((plait_schedule)d->schedule, d->pp, s, v);

            layers[c] = first_full(stage->recompute + at, held);
            if (layers[c] < 0)
                return false;
            at += held;
        }
    }
    return true;
}

bool flagscale_says_stages(const plait_plan *plan)
{
    int layers[PLAIT_MAX_LAYERS];

    return !stages_differ(plan) || count_layers(plan, layers);
}

/* [[1,32,4],[3,32,0]] */
static const char *rows_of(const int *layers, int chunks, int microbatches, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    for (int c = 0, alike; c < chunks; c += alike) {
        for (alike = 1; c + alike < chunks && layers[c + alike] == layers[c];)
            alike++;
        text_append_printf(&out, "%s[%d,%d,%d]", c == 0 ? "[" : ",", alike, microbatches,
                           layers[c]);
    }
    text_append_char(&out, ']');
    return text_builder_finish(&out, NULL);
}

plait_status flagscale_stages(const plait_problem *problem, const plait_plan *plan,
                              megatron_args *args, launch_args *own, plait_error *err)
{
    const plait_degrees *const d = &plan->degrees;
    int layers[PLAIT_MAX_LAYERS], most = 1;
    const char *rows;

    if (!stages_differ(plan) || !count_layers(plan, layers))
        return PLAIT_OK;
    for (int c = 0; c < d->pp * d->vpp; c++)
        most = layers[c] > most ? layers[c] : most;
    args->recompute_granularity = "full";
    args->recompute_method = "block";
    args->recompute_num_layers = most;
    args->recompute_modules = NULL;
    rows = rows_of(layers, d->pp * d->vpp, plait_degrees_microbatches(d, problem->job.gbs),
                   own->arena);
    if (rows == NULL)
        return plait_fail_nomem(err);
    args_group(own, "memory, stage by stage");
    args_words(own, "--recompute-num-layers-per-stage-micro-batch", rows);
    return PLAIT_OK;
}
