/*
 * pipeline.c - the pipeline of one plan, chunk by chunk, simulated (C.76)
 *
 *     forward   of a chunk's layers, its ends among them           (C.36 to C.63, as the price has them)
 *     backward  input gradient and weight gradient, what is run again in the first
 *
 * Sends are apart: a price adds them (C.64).
 */
#include "fuse.h"

plait_pipeline_shape pipeline_shape_of(const plait_problem *problem, const plait_degrees *d)
{
    return (plait_pipeline_shape){(plait_schedule)d->schedule, d->pp, d->vpp,
                                  plait_degrees_microbatches(d, problem->job.gbs)};
}

static plait_sim_stage stage_of_load(const stage_load *load)
{
    return (plait_sim_stage){
        .forward_s = load->forward_s,
        .input_s = larger(0.0, load->backward_s - load->weight_s),
        .weight_s = smaller(load->weight_s, load->backward_s),
        .held_bytes = load->saved_bytes,
        .weight_bytes = load->saved_bytes, // at most: what W does not read goes with I
    };
}

static int most_layers(const plait_plan *plan)
{
    int most = 0;

    for (int s = 0; s < plan->stages; s++)
        most = plan->stage[s].layers > most ? plan->stage[s].layers : most;
    return most;
}

/* What a chunk saves where its boundaries are fused. */
static void take_boundaries(const fused_boundary *boundary, const plait_chunk *chunk,
                            stage_load *load)
{
    const plait_chunk_time saved = boundary_saves(boundary, !chunk->loss, !chunk->embedding);

    load->forward_s -= saved.forward_s;
    load->backward_s -= saved.backward_s;
}

/* The v-th chunk of rank r is plan->stage[r].chunk[v]. */
plait_status pipeline_chunks(const plait_problem *problem, const plait_plan *plan,
                             const layer_row *row, const gather_row *gather,
                             const fused_boundary *boundary, plait_arena *arena,
                             plait_sim_stage *out, plait_error *err)
{
    const plait_degrees *d = &plan->degrees;
    stage_part *room =
        plait_arena_alloc(arena, (size_t)stage_parts_most(most_layers(plan)), sizeof *room);

    if (!room)
        return plait_fail_nomem(err);
    for (int s = 0; s < plan->stages; s++)
        for (int v = 0; v < plan->stage[s].chunks; v++) {
            const stage_parts parts =
                stage_parts_of_chunk(problem->model, &plan->stage[s], v, room);
            stage_load load = {.count = 1};
            stage_load_add_parts(problem, row, gather, &parts, &load);
            if (boundary)
                take_boundaries(boundary, &plan->stage[s].chunk[v], &load);
            out[plait_schedule_chunk((plait_schedule)d->schedule, d->pp, s, v)] =
                stage_of_load(&load);
        }
    return PLAIT_OK;
}

plait_status pipeline_simulate(const plait_problem *problem, const plait_plan *plan,
                               const layer_row *row, const gather_row *gather,
                               const fused_boundary *boundary, plait_arena *arena,
                               double *pipeline_s, plait_error *err)
{
    const plait_pipeline_shape shape = pipeline_shape_of(problem, &plan->degrees);
    const size_t stages = (size_t)shape.ranks * (size_t)shape.chunks;
    plait_sim_stage *stage = plait_arena_alloc(arena, stages, sizeof *stage);
    plait_rank_actions *actions = plait_arena_alloc(arena, (size_t)shape.ranks, sizeof *actions);
    plait_sim_spans spans;

    if (!stage || !actions)
        return plait_fail_nomem(err);
    if (!plait_schedule_has_actions(&shape) ||
        plait_schedule_action_count(&shape) > PLAIT_SIM_MOST_ACTIONS)
        return PLAIT_OK;
    PLAIT_TRY(pipeline_chunks(problem, plan, row, gather, boundary, arena, stage, err));
    PLAIT_TRY(plait_schedule_actions(&shape, arena, actions, err));
    const plait_sim sim = {
        .ranks = shape.ranks,
        .stages = (int)stages,
        .microbatches = shape.microbatches,
        .actions = actions,
        .stage = stage,
    };
    PLAIT_TRY(plait_sim_span(&sim, arena, &spans, err));
    const bool barrier = !plan->degrees.post_validation;
    const double s = barrier ? spans.pipeline_s : spans.rank_s;
    *pipeline_s = larger(*pipeline_s, s); // whose sums are in another order
    return PLAIT_OK;
}
