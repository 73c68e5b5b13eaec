/*
 * timeline.c - one step of a plan, simulated (C.86): its schedule with the times of its chunks
 *
 * A send takes what C.64 says; what the price exposes of it in the steady state is part of the actions.
 * Reduction of gradients and the optimizer stand behind the pipeline, with what the price exposes of
 * them.
 */
#include "fuse.h"

/* What a priced plan's rows are made of, for one plan. */
typedef struct plan_prices {
    layer_row row;
    gather_row gather;
} plan_prices;

/* Sends between the chunks, and what of them holds up their ranks. */
static void add_sends(const plait_problem *problem, double send_s, int stages,
                      plait_sim_stage *stage)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const double exposed_s = overlap->p2p ? 0.5 * overlap->p2p_exposed * send_s : 0.0;

    for (int s = 0; s < stages; s++) {
        stage[s].forward_s += exposed_s;
        stage[s].input_s += exposed_s;
        stage[s].send_s = send_s;
    }
}

static plait_status fail_unspelled(const plait_pipeline_shape *shape, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                      "expected a schedule whose order is known, found %s with %d microbatches on "
                      "%d stages",
                      plait_schedule_name[shape->schedule], shape->microbatches, shape->ranks);
}

plait_status plait_plan_simulate(const plait_problem *problem, const plait_plan *plan,
                                 const plait_cost *cost, plait_arena *arena, plait_timeline *out,
                                 plait_error *err)
{
    const plait_degrees *d = &plan->degrees;
    const plait_pipeline_shape shape = pipeline_shape_of(problem, d);
    const int stages = shape.ranks * shape.chunks;
    plan_prices *prices = plait_arena_alloc(arena, 1, sizeof *prices);
    plait_sim_stage *stage = plait_arena_alloc(arena, (size_t)stages, sizeof *stage);
    plait_rank_actions *actions = plait_arena_alloc(arena, (size_t)shape.ranks, sizeof *actions);

    *out = (plait_timeline){0};
    if (d->ep_overlap != PLAIT_EP_OVERLAP_NONE)
        return plait_fail(err, PLAIT_ERROR_RANGE, "ep_overlap",
                          "expected none: pairs of microbatches are priced, but not drawn yet");
    if (!prices || !stage || !actions)
        return plait_fail_nomem(err);
    if (!plait_schedule_has_actions(&shape))
        return fail_unspelled(&shape, err);
    layer_row_fill(problem, layer_key_of(d), &prices->row);
    const sync_routes routes = sync_routes_of(problem, d);
    gather_row_fill(problem, d, &routes, &prices->row, &prices->gather);
    const fused_boundary boundary = fused_boundary_of_plan(problem, plan, &prices->row);
    const bool fuses = boundary.known && cost->fused[boundary.rule].fate == PLAIT_FUSED;
    PLAIT_TRY(pipeline_chunks(problem, plan, &prices->row, &prices->gather,
                              fuses ? &boundary : NULL, arena, stage, err));
    add_sends(problem, fuses ? boundary.send_s : pipeline_send_s(problem, d, &prices->row), stages,
              stage);
    PLAIT_TRY(plait_schedule_actions(&shape, arena, actions, err));

    const plait_sim sim = {
        .ranks = shape.ranks,
        .stages = stages,
        .microbatches = shape.microbatches,
        .actions = actions,
        .stage = stage,
        .sends_block = !problem->runtime->overlap.p2p,
    };
    PLAIT_TRY(plait_simulate(&sim, arena, &out->pipeline, err));
    out->schedule = shape.schedule;
    out->sync_s = cost->step.dp_comm_s;
    out->optimizer_s = cost->step.optimizer_s;
    out->step_s = out->pipeline.pipeline_s + out->sync_s + out->optimizer_s;
    return PLAIT_OK;
}
