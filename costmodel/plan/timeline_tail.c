/*
 * timeline_tail.c - events during and after a pipeline: reductions, optimizer, parameter gathers
 *
 *     bulk       the last backward action (B or W) of a chunk includes its reduction (C.67)
 *     bucketed   the reduction overlaps that action and the rank's next actions        (C.180)
 *     shifted    the reduction begins after the rank's own last action                 (C.181)
 *     optimizer  begins after the gradients of all ranks, since it needs their norm; with
 *                post_validation after those of its own rank; then parameters are gathered (C.182)
 *
 * The chunks of a rank use its links one after the other.
 */
#include "costmodel/plan/timeline_tail.h"

#include "base/numbers.h"

/* State of a walk over the ranks that writes events. */
typedef struct tail_walk {
    const tail_parts *parts;
    plait_timeline *out;
    plait_tail_event *event;
    int *last;      /* [stages]: 1 + index of the rank's last event with gradients of the stage */
    double *done_s; /* [ranks]: end of all actions and reductions */
} tail_walk;

static bool makes_gradients(const plait_sim_event *event)
{
    return event->action.kind == PLAIT_ACTION_BACKWARD || event->action.kind == PLAIT_ACTION_WEIGHT;
}

static void append(tail_walk *walk, plait_tail_kind kind, int rank, int stage, double begin_s,
                   double end_s)
{
    if (end_s > begin_s)
        walk->event[walk->out->tails++] = (plait_tail_event){kind, rank, stage, begin_s, end_s};
}

/*
 * Appends the reduction of the gradients that an action completes. The rank's links are free from
 * time lane_s on. Returns the time at which they are free again.
 */
static double reduce(tail_walk *walk, const plait_sim_event *event, double lane_s)
{
    const tail_parts *parts = walk->parts;
    const int stage = event->action.stage;
    const double take_s = parts->reduce_s[stage];
    double begin_s = lane_s, end_s;

    if (take_s <= 0.0)
        return lane_s;
    if (parts->how == PLAIT_SYNC_BULK) {
        // A bulk reduction ends with its action, but before the send if sends block the rank.
        const bool sends =
            parts->sim->sends_block && event->action.kind == PLAIT_ACTION_BACKWARD && stage > 0;
        end_s = event->end_s - (sends ? parts->sim->stage[stage - 1].send_s : 0.0);
        begin_s = end_s - take_s;
    } else if (parts->how == PLAIT_SYNC_BUCKETED) {
        begin_s = larger(lane_s, event->end_s - parts->window * (event->end_s - event->begin_s));
        end_s = larger(begin_s + take_s, event->end_s + parts->share * take_s);
    } else {
        end_s = begin_s + take_s;
    }
    append(walk, PLAIT_TAIL_REDUCE, event->rank, stage, begin_s, end_s);
    return end_s;
}

static void reduce_rank(tail_walk *walk, int r)
{
    const plait_sim_result *pipeline = walk->parts->pipeline;
    const plait_sim_event *first = &pipeline->event[pipeline->rank[r].first];
    const int count = pipeline->rank[r].count;
    const double end_s = count > 0 ? first[count - 1].end_s : 0.0;
    double lane_s = walk->parts->how == PLAIT_SYNC_SHIFTED ? end_s : 0.0;

    for (int e = 0; e < count; e++)
        if (makes_gradients(&first[e]))
            walk->last[first[e].action.stage] = e + 1;
    for (int e = 0; e < count; e++)
        if (makes_gradients(&first[e]) && walk->last[first[e].action.stage] == e + 1)
            lane_s = reduce(walk, &first[e], lane_s);
    walk->done_s[r] = larger(end_s, lane_s);
}

/*
 * Appends the optimizer step and the parameter gather of a rank. They wait for the gradients of all
 * ranks (norm_s), unless there is no barrier.
 */
static void update_rank(tail_walk *walk, int r, double norm_s)
{
    const tail_parts *parts = walk->parts;
    const plait_sim_rank *rank = &parts->pipeline->rank[r];
    const double ready_s = parts->no_barrier ? walk->done_s[r] : norm_s;
    const double updated_s = ready_s + parts->optimizer_s[r];
    const double gathered_s = updated_s + parts->gather_s[r];
    const double begin_s =
        parts->no_barrier && rank->count > 0 ? parts->pipeline->event[rank->first].begin_s : 0.0;

    append(walk, PLAIT_TAIL_OPTIMIZER, r, -1, ready_s, updated_s);
    append(walk, PLAIT_TAIL_GATHER, r, -1, updated_s, gathered_s);
    walk->out->step_s = larger(walk->out->step_s, gathered_s - begin_s);
    walk->out->end_s = larger(walk->out->end_s, gathered_s);
}

plait_status timeline_follow(const tail_parts *parts, plait_arena *arena, plait_timeline *out,
                             plait_error *err)
{
    const plait_sim *sim = parts->sim;
    const size_t ranks = (size_t)sim->ranks, stages = (size_t)sim->stages;
    tail_walk walk = {
        .parts = parts,
        .out = out,
        // Each stage has at most two reductions, and each rank one optimizer step and one gather.
        .event = plait_arena_alloc(arena, 2 * stages + 2 * ranks, sizeof *walk.event),
        .last = plait_arena_alloc(arena, stages, sizeof *walk.last),
        .done_s = plait_arena_alloc(arena, ranks, sizeof *walk.done_s),
    };
    double norm_s = 0.0;

    PLAIT_TRY(plait_check_allocated(walk.event && walk.last && walk.done_s, err));
    for (int r = 0; r < sim->ranks; r++) {
        for (int s = 0; s < sim->stages; s++)
            walk.last[s] = 0;
        reduce_rank(&walk, r);
        norm_s = larger(norm_s, walk.done_s[r]);
    }
    for (int r = 0; r < sim->ranks; r++)
        update_rank(&walk, r, norm_s);
    out->tail = walk.event;
    return PLAIT_OK;
}
