/*
 * timeline.c - simulates one step of a plan: its schedule with the times of its chunks (C.86, C.180
 * to C.183)
 *
 * Sends take the time of C.64. The part of a send that a price exposes in the steady state is added
 * to its action. All reductions of a rank together take the time of C.65, which is distributed over
 * its chunks.
 */
#include "costmodel/stage/stage_cost.h"
#include "plan/problem_check.h"
#include "costmodel/plan/timeline_tail.h"
#include "plan/ranges.h"

/* The pricer of one plan, and the times of its chunks and ranks. */
typedef struct plan_prices {
    const plait_problem *problem;
    const plait_plan *plan;
    plait_stage_pricer *pricer;
    plait_pipeline_shape shape;
    int stages;
    plait_sim_stage *stage; /* [stages] */
    plait_sim_exchange *exchange;
    double *reduce_s;
    double *optimizer_s, *gather_s; /* [ranks] */
    plait_rank_actions *actions;
} plan_prices;

// ---- times of chunks and ranks -------------------------------------------------------------

static plan_prices *new_prices(const plait_problem *problem, const plait_plan *plan,
                               plait_arena *arena)
{
    const plait_degrees *d = &plan->degrees;
    const plait_pipeline_shape shape = pipeline_shape_of(problem, d);
    const size_t ranks = (size_t)shape.ranks, stages = ranks * (size_t)shape.chunks;
    plan_prices *p = plait_arena_alloc(arena, 1, sizeof *p);

    if (!p)
        return NULL;
    *p = (plan_prices){
        .problem = problem,
        .plan = plan,
        .shape = shape,
        .stages = (int)stages,
        .pricer = stage_pricer_new(problem, d, 2 * problem->model->layers, arena),
        .stage = plait_arena_alloc(arena, stages, sizeof *p->stage),
        .exchange = plait_arena_alloc(arena, stages, sizeof *p->exchange),
        .reduce_s = plait_arena_alloc(arena, stages, sizeof *p->reduce_s),
        .optimizer_s = plait_arena_alloc(arena, ranks, sizeof *p->optimizer_s),
        .gather_s = plait_arena_alloc(arena, ranks, sizeof *p->gather_s),
        .actions = plait_arena_alloc(arena, ranks, sizeof *p->actions),
    };
    if (!p->pricer || !p->stage || !p->exchange || !p->reduce_s || !p->optimizer_s ||
        !p->gather_s || !p->actions)
        return NULL;
    return p;
}

/* Computes the times per step of a rank's reduction, optimizer step and parameter gathers. */
static plait_status sum_rank(plan_prices *p, int r, plait_arena *arena, stage_sync *sync,
                             plait_error *err)
{
    const plait_degrees *own = &p->plan->stage[r].degrees;
    const sync_routes routes = routes_of_stage(p->problem, &p->pricer->routes, own);
    const stage_rows rows = stage_rows_of(p->pricer);
    plait_stage held;

    PLAIT_TRY(plait_check_allocated(stage_of_rank(p->plan, r, arena, &held), err));
    stage_parts parts = stage_parts_of(p->problem->model, &held, p->pricer->part);
    parts.share = 1.0 / plait_schedule_replicas(p->shape.schedule);
    const stage_load load = stage_load_of(&rows, &parts, 0.0);
    *sync = stage_sync_of(p->problem, own, &routes, &load);
    p->optimizer_s[r] = optimizer_left_s(&load, sync);
    p->gather_s[r] = gather_left_s(p->problem, &p->plan->degrees, &load, sync);
    return PLAIT_OK;
}

/*
 * Computes, for each chunk of a rank, the reduction of its gradients alone, and the exchange of its
 * experts' tokens.
 */
static void sum_chunks(plan_prices *p, int r)
{
    const plait_stage *own = &p->plan->stage[r];
    const stage_rows rows = stage_rows_of(p->pricer);

    for (int v = 0; v < own->chunks; v++) {
        const int s = plait_schedule_chunk(p->shape.schedule, p->shape.ranks, r, v);
        const stage_parts parts = stage_parts_of_chunk(p->problem->model, own, v, p->pricer->part);
        const stage_load load = stage_load_of(&rows, &parts, 0.0);
        p->reduce_s[s] =
            stage_sync_of(p->problem, &p->plan->degrees, &p->pricer->routes, &load).reduce_s;
        p->exchange[s] = (plait_sim_exchange){0};
        for (int i = 0; i < parts.count; i++) {
            const layer_price *price = &p->pricer->row.price[parts.part[i].row];
            const double count = parts.part[i].count;
            p->exchange[s].forward_dispatch_s += count * price->forward_sent_s[0];
            p->exchange[s].forward_combine_s += count * price->forward_sent_s[1];
            p->exchange[s].backward_dispatch_s += count * price->backward_sent_s[0];
            p->exchange[s].backward_combine_s += count * price->backward_sent_s[1];
        }
    }
}

/*
 * Distributes the time of a rank's reduction over its chunks. The reduction of a rank takes another
 * time than the sum over its chunks, since buckets span chunks.
 */
static plait_status share_gradients(plan_prices *p, plait_arena *arena, plait_error *err)
{
    const bool copies = plait_schedule_replicas(p->shape.schedule) > 1;
    stage_sync sync;

    for (int r = 0; r < p->shape.ranks; r++)
        sum_chunks(p, r);
    for (int r = 0; r < p->shape.ranks; r++) {
        const int mirror = p->shape.ranks - 1 - r;
        double alone_s = 0.0;

        PLAIT_TRY(sum_rank(p, r, arena, &sync, err));
        if (copies && r > mirror)
            continue; // distributed together with the mirrored rank
        for (int v = 0; v < p->shape.chunks; v++)
            alone_s += p->reduce_s[plait_schedule_chunk(p->shape.schedule, p->shape.ranks, r, v)];
        if (copies)
            alone_s += p->reduce_s[mirror];
        const double share = alone_s > 0.0 ? sync.reduce_s / alone_s : 0.0;
        for (int v = 0; v < p->shape.chunks; v++)
            p->reduce_s[plait_schedule_chunk(p->shape.schedule, p->shape.ranks, r, v)] *= share;
        if (copies)
            p->reduce_s[mirror] *= share;
    }
    return PLAIT_OK;
}

static plait_status price_chunks(plan_prices *p, const plait_cost *cost, plait_arena *arena,
                                 plait_error *err)
{
    const plait_degrees *d = &p->plan->degrees;
    const stage_rows rows = stage_rows_of(p->pricer);
    const fused_boundary boundary = fused_boundary_of_plan(p->problem, p->plan, rows.row);
    const bool fuses = boundary.known && cost->fused[boundary.rule].fate == PLAIT_FUSED;

    PLAIT_TRY(pipeline_chunks(&rows, p->plan, fuses ? &boundary : NULL, arena, p->stage, err));
    const plait_overlaps *overlap = &p->problem->runtime->overlap;
    const double send_s = fuses ? boundary.send_s : pipeline_send_s(p->problem, d, rows.row);
    const double exposed_s = overlap->p2p ? 0.5 * overlap->p2p_exposed * send_s : 0.0;
    for (int s = 0; s < p->stages; s++) {
        p->stage[s].forward_s += exposed_s;
        p->stage[s].input_s += exposed_s;
        p->stage[s].send_s = send_s;
    }
    return share_gradients(p, arena, err);
}

// ---- the step ------------------------------------------------------------------------------

/* Simulates the pipeline alone, then the step with reductions, optimizer steps and gathers. */
static plait_status run(plan_prices *p, plait_arena *arena, plait_timeline *out, plait_error *err)
{
    const plait_overlaps *overlap = &p->problem->runtime->overlap;
    const plait_sim sim = {
        .ranks = p->shape.ranks,
        .stages = p->stages,
        .microbatches = p->shape.microbatches,
        .actions = p->actions,
        .stage = p->stage,
        .sends_block = !overlap->p2p,
        .pairs = out->pairs,
        .two_ways = plait_schedule_replicas(p->shape.schedule) > 1,
    };
    const tail_parts tail = {
        .sim = &sim,
        .pipeline = &out->pipeline,
        .how = out->sync,
        .no_barrier = p->plan->degrees.post_validation,
        .window = overlap->window,
        .share = overlap->dp_exposed,
        .reduce_s = p->reduce_s,
        .optimizer_s = p->optimizer_s,
        .gather_s = p->gather_s,
    };
    plait_sim_spans alone;

    PLAIT_TRY(plait_sim_span(&sim, arena, &alone, err));
    for (int s = 0; s < p->stages && out->sync == PLAIT_SYNC_BULK; s++)
        p->stage[s].reduce_s = p->reduce_s[s];
    PLAIT_TRY(plait_simulate(&sim, arena, &out->pipeline, err));
    PLAIT_TRY(timeline_follow(&tail, arena, out, err));
    out->pipeline_s = tail.no_barrier ? alone.rank_s : alone.pipeline_s;
    out->optimizer_s = 0.0;
    for (int r = 0; r < p->shape.ranks; r++)
        out->optimizer_s = larger(out->optimizer_s, p->optimizer_s[r]);
    out->sync_s = larger(0.0, out->step_s - out->pipeline_s - out->optimizer_s);
    return PLAIT_OK;
}

plait_status plait_plan_simulate(const plait_problem *problem, const plait_plan *plan,
                                 const plait_cost *cost, plait_arena *arena, plait_timeline *out,
                                 plait_error *err)
{
    PLAIT_TRY(problem_check(problem, err));
    PLAIT_TRY(plan_check_ranges(plan, err));
    const plait_degrees *d = &plan->degrees;
    const plait_pipeline_shape shape = pipeline_shape_of(problem, d);

    *out = (plait_timeline){
        .schedule = shape.schedule,
        .ranks = shape.ranks,
        .pairs = d->ep_overlap != PLAIT_EP_OVERLAP_NONE,
        .sync = grad_sync_of(problem, d),
    };
    if (plait_plan_mixed(problem, plan))
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "stages",
            "expected equal stages, found different ones: such plans have a price but no timeline");
    if (plait_plan_cuts(plan))
        return plait_fail(err, PLAIT_ERROR_RANGE, "stages",
                          "expected the same tp and ZeRO stage in all layers, found different "
                          "ones: such plans have a price but no timeline");
    if (!plait_schedule_has_actions(&shape))
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                          "expected a schedule with a known order of actions, found %s with %d "
                          "microbatches on %d stages",
                          plait_schedule_name[shape.schedule], shape.microbatches, shape.ranks);
    plan_prices *p = new_prices(problem, plan, arena);
    PLAIT_TRY(plait_check_allocated(p, err));
    out->exchange = p->exchange;
    PLAIT_TRY(price_chunks(p, cost, arena, err));
    PLAIT_TRY(out->pairs ? plait_schedule_paired_actions(&shape, arena, p->actions, err)
                         : plait_schedule_actions(&shape, arena, p->actions, err));
    return run(p, arena, out, err);
}
