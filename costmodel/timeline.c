/*
 * timeline.c - one step of a plan, simulated (C.86): its schedule with the times of its chunks
 *
 *     forward   of a chunk's layers, its ends among them           (C.36 to C.63, as the price has them)
 *     backward  input gradient and weight gradient, what is run again in the first
 *     send      C.64; what the price exposes of it in the steady state is part of the actions
 *
 * Reduction of gradients and the optimizer stand behind the pipeline, with what the price exposes of
 * them.
 */
#include "plait/simulate.h"

#include "stage_sum.h"

typedef struct chunk_prices {
    const plait_problem *problem;
    const plait_plan *plan;
    layer_row row;
    gather_row gather;
    stage_part *room;
} chunk_prices;

/* A chunk as a stage of its own: layers before it have their recomputation before its. */
static stage_parts parts_of_chunk(const chunk_prices *prices, const plait_stage *stage, int v)
{
    plait_stage alone = *stage;
    int before = 0;

    for (int c = 0; c < v; c++)
        before += stage->chunk[c].last - stage->chunk[c].first;
    alone.chunks = 1;
    alone.chunk = &stage->chunk[v];
    alone.recompute = stage->recompute ? stage->recompute + before : NULL;
    return stage_parts_of(prices->problem->model, &alone, prices->room);
}

static plait_sim_stage sum_chunk(const chunk_prices *prices, const plait_stage *stage, int v,
                                 double send_s)
{
    const plait_overlaps *overlap = &prices->problem->runtime->overlap;
    const stage_parts parts = parts_of_chunk(prices, stage, v);
    const double exposed_s = overlap->p2p ? 0.5 * overlap->p2p_exposed * send_s : 0.0;
    stage_load load = {.count = 1};

    stage_load_add_parts(prices->problem, &prices->row, &prices->gather, &parts, &load);
    return (plait_sim_stage){
        .forward_s = load.forward_s + exposed_s,
        .input_s = larger(0.0, load.backward_s - load.weight_s) + exposed_s,
        .weight_s = smaller(load.weight_s, load.backward_s),
        .send_s = send_s,
        .held_bytes = load.saved_bytes,
        .weight_bytes = load.saved_bytes, // at most: what W does not read goes with I
    };
}

/* Chunks in the order of the schedule: the v-th of rank r is plan->stage[r].chunk[v]. */
static void sum_chunks(const chunk_prices *prices, plait_schedule schedule, plait_sim_stage *out)
{
    const plait_degrees *d = &prices->plan->degrees;
    const double send_s = pipeline_send_s(prices->problem, d, &prices->row);

    for (int s = 0; s < prices->plan->stages; s++)
        for (int v = 0; v < prices->plan->stage[s].chunks; v++)
            out[plait_schedule_chunk(schedule, d->pp, s, v)] =
                sum_chunk(prices, &prices->plan->stage[s], v, send_s);
}

static int most_layers(const plait_plan *plan)
{
    int most = 0;

    for (int s = 0; s < plan->stages; s++)
        most = plan->stage[s].layers > most ? plan->stage[s].layers : most;
    return most;
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
    const plait_pipeline_shape shape = {(plait_schedule)d->schedule, d->pp, d->vpp,
                                        plait_degrees_microbatches(d, problem->job.gbs)};
    chunk_prices *prices = plait_arena_alloc(arena, 1, sizeof *prices);
    plait_sim_stage *stage =
        plait_arena_alloc(arena, (size_t)shape.ranks * (size_t)shape.chunks, sizeof *stage);
    plait_rank_actions *actions = plait_arena_alloc(arena, (size_t)shape.ranks, sizeof *actions);
    stage_part *room =
        plait_arena_alloc(arena, (size_t)stage_parts_most(most_layers(plan)), sizeof *room);

    *out = (plait_timeline){0};
    if (!prices || !stage || !actions || !room)
        return plait_fail_nomem(err);
    if (!plait_schedule_has_actions(&shape))
        return fail_unspelled(&shape, err);
    *prices = (chunk_prices){.problem = problem, .plan = plan, .room = room};
    layer_row_fill(problem, layer_key_of(d), &prices->row);
    const sync_routes routes = sync_routes_of(problem, d);
    gather_row_fill(problem, d, &routes, &prices->row, &prices->gather);
    sum_chunks(prices, shape.schedule, stage);
    PLAIT_TRY(plait_schedule_actions(&shape, arena, actions, err));

    const plait_sim sim = {
        .ranks = shape.ranks,
        .stages = shape.ranks * shape.chunks,
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
