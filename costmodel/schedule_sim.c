/*
 * schedule_sim.c - runs the actions of all ranks and notes when each begins, and why not before (C.86)
 *
 * A rank goes on until its next action waits for one that is not done; it then leaves its number
 * there, and is woken by it. So each action is looked at twice at most, whatever the schedule.
 */
#include "plait/simulate.h"

#include <limits.h>

#include "numbers.h"

/* Who does one microbatch of one stage. Events and ranks count from 1; 0 is none. */
typedef struct cell {
    int forward;  /* the event */
    int backward; /* B or I */
    int weight;   /* W, or the B that it is part of */
    int waits_for_forward;
    int waits_for_backward; /* ranks */
} cell;

typedef struct run {
    const plait_sim *sim;
    plait_sim_event *event;
    plait_sim_rank *rank;
    cell *cells;    /* [stages][microbatches] */
    int *done;      /* [ranks]: actions */
    double *free_s; /* [ranks]: when the last of them ends */
    double *held;   /* [ranks]: bytes */
    int *ready;     /* [events + ranks]: a stack of ranks that may go on */
    int readies;
} run;

// ---- what is asked -------------------------------------------------------------------------

static plait_status check_action(const plait_sim *sim, int rank, const plait_action *action,
                                 plait_error *err)
{
    char text[48];

    if (action->stage >= 0 && action->stage < sim->stages && action->microbatch >= 0 &&
        action->microbatch < sim->microbatches && (unsigned)action->kind < PLAIT_ACTION_KINDS)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                      "rank %d: expected an action of %d stages and %d microbatches, found %s",
                      rank, sim->stages, sim->microbatches,
                      (unsigned)action->kind < PLAIT_ACTION_KINDS
                          ? plait_action_text(action, text, sizeof text)
                          : "none that is known");
}

static plait_status check_sim(const plait_sim *sim, int *events, plait_error *err)
{
    int64_t count = 0;

    for (int r = 0; r < sim->ranks; r++) {
        count += sim->actions[r].count;
        for (int i = 0; i < sim->actions[r].count; i++)
            PLAIT_TRY(check_action(sim, r, &sim->actions[r].action[i], err));
    }
    if (count >= INT_MAX || (int64_t)sim->stages * sim->microbatches >= INT_MAX)
        return plait_fail_nomem(err);
    *events = (int)count;
    return PLAIT_OK;
}

// ---- what an action waits for --------------------------------------------------------------

static cell *cell_of(const run *r, int stage, int microbatch)
{
    return &r->cells[(size_t)stage * (size_t)r->sim->microbatches + (size_t)microbatch];
}

/* What arrives, and when: `event` is its origin, 0: nothing had to come. */
typedef struct arrival {
    int event;
    double at_s;
} arrival;

/* A send costs time unless both stages are on this rank, or the sender was blocked by it. */
static arrival arrival_of(const run *r, int event, int rank, double send_s)
{
    const plait_sim_event *from = &r->event[event - 1];
    const bool sent = from->rank != rank && !r->sim->sends_block;

    return (arrival){event, from->end_s + (sent ? send_s : 0.0)};
}

/* False: not yet; the rank will be woken if it waits for another one. */
static bool has_arrived(run *r, const plait_action *action, int rank, arrival *out)
{
    const int s = action->stage;
    const int microbatch = action->microbatch;
    const cell *own = cell_of(r, s, microbatch);

    *out = (arrival){0};
    if (action->kind == PLAIT_ACTION_WEIGHT)
        return own->backward != 0;
    if (action->kind == PLAIT_ACTION_FORWARD) {
        if (s == 0)
            return true;
        cell *before = cell_of(r, s - 1, microbatch);
        before->waits_for_forward = rank + 1;
        if (before->forward != 0)
            *out = arrival_of(r, before->forward, rank, r->sim->stage[s - 1].send_s);
        return before->forward != 0;
    }
    if (own->forward == 0 || s == r->sim->stages - 1)
        return own->forward != 0;
    cell *behind = cell_of(r, s + 1, microbatch);
    behind->waits_for_backward = rank + 1;
    if (behind->backward != 0)
        *out = arrival_of(r, behind->backward, rank, r->sim->stage[s].send_s);
    return behind->backward != 0;
}

// ---- one action ----------------------------------------------------------------------------

static double action_s(const plait_sim *sim, const plait_action *action)
{
    const plait_sim_stage *stage = &sim->stage[action->stage];

    switch (action->kind) {
    case PLAIT_ACTION_FORWARD:
        return stage->forward_s;
    case PLAIT_ACTION_INPUT:
        return stage->input_s;
    case PLAIT_ACTION_WEIGHT:
        return stage->weight_s;
    default:
        return stage->input_s + stage->weight_s +
               (action->microbatch == sim->microbatches - 1 ? stage->reduce_s : 0.0);
    }
}

/* The time that a rank is held up by what it sends on, if sends block. */
static double blocking_s(const plait_sim *sim, const plait_action *action)
{
    const int s = action->stage;

    if (!sim->sends_block || action->kind == PLAIT_ACTION_WEIGHT)
        return 0.0;
    if (action->kind == PLAIT_ACTION_FORWARD)
        return s + 1 < sim->stages ? sim->stage[s].send_s : 0.0;
    return s > 0 ? sim->stage[s - 1].send_s : 0.0;
}

static void hold(run *r, int rank, const plait_action *action)
{
    const plait_sim_stage *stage = &r->sim->stage[action->stage];
    double *held = &r->held[rank];

    switch (action->kind) {
    case PLAIT_ACTION_FORWARD:
        *held += stage->held_bytes;
        break;
    case PLAIT_ACTION_BACKWARD:
        *held -= stage->held_bytes;
        break;
    case PLAIT_ACTION_INPUT:
        *held -= stage->held_bytes - stage->weight_bytes;
        break;
    default:
        *held -= stage->weight_bytes;
        break;
    }
    r->rank[rank].peak_bytes = larger(r->rank[rank].peak_bytes, *held);
}

static void wake(run *r, int rank_from_1)
{
    if (rank_from_1 != 0)
        r->ready[r->readies++] = rank_from_1 - 1;
}

/* Marks what is done in its cell and wakes who waits for it; false: it had been done before. */
static bool mark(run *r, const plait_action *action, int event)
{
    cell *own = cell_of(r, action->stage, action->microbatch);
    int *slot = action->kind == PLAIT_ACTION_FORWARD  ? &own->forward
                : action->kind == PLAIT_ACTION_WEIGHT ? &own->weight
                                                      : &own->backward;

    if (*slot != 0)
        return false;
    *slot = event;
    if (action->kind == PLAIT_ACTION_BACKWARD)
        own->weight = event;
    if (slot == &own->forward)
        wake(r, own->waits_for_forward);
    else if (slot == &own->backward)
        wake(r, own->waits_for_backward);
    return true;
}

static plait_status fail_twice(int rank, const plait_action *action, plait_error *err)
{
    char text[48];

    return plait_fail(err, PLAIT_ERROR_RANGE, NULL, "rank %d: expected %s once, found it twice",
                      rank, plait_action_text(action, text, sizeof text));
}

/* `count` actions that begin together and take so long. */
static plait_status finish(run *r, int rank, int count, arrival came, double take_s,
                           plait_error *err)
{
    const int first = r->rank[rank].first + r->done[rank];
    const bool waited = came.event != 0 && came.at_s > r->free_s[rank];
    const double begin_s = waited ? came.at_s : r->free_s[rank];
    const int after = waited ? came.event - 1 : r->done[rank] > 0 ? first - 1 : -1;

    r->free_s[rank] = begin_s + take_s;
    r->rank[rank].busy_s += take_s;
    for (int i = 0; i < count; i++) {
        const plait_action *action = &r->sim->actions[rank].action[r->done[rank]++];
        r->event[first + i] = (plait_sim_event){*action, rank, after, begin_s, r->free_s[rank]};
        hold(r, rank, action);
        if (!mark(r, action, first + i + 1))
            return fail_twice(rank, action, err);
    }
    return PLAIT_OK;
}

/* Do this action and the next run at once? */
static bool is_pair(const run *r, int rank)
{
    const plait_rank_actions *list = &r->sim->actions[rank];
    const int i = r->done[rank];

    return r->sim->pair_share > 0.0 && i + 1 < list->count && list->action[i].paired;
}

static arrival later(arrival a, arrival b)
{
    return b.event != 0 && (a.event == 0 || b.at_s > a.at_s) ? b : a;
}

/* One action, or a pair, if it can begin. */
static plait_status advance(run *r, int rank, bool *moved, plait_error *err)
{
    const plait_action *action = &r->sim->actions[rank].action[r->done[rank]];
    const int count = is_pair(r, rank) ? 2 : 1;
    arrival came, second = {0};
    double take_s = action_s(r->sim, &action[0]);

    *moved = has_arrived(r, &action[0], rank, &came) &&
             (count == 1 || has_arrived(r, &action[1], rank, &second));
    if (!*moved)
        return PLAIT_OK;
    if (count == 2)
        take_s = r->sim->pair_share * (take_s + action_s(r->sim, &action[1])) +
                 blocking_s(r->sim, &action[1]);
    return finish(r, rank, count, later(came, second), take_s + blocking_s(r->sim, &action[0]),
                  err);
}

// ---- all of them ---------------------------------------------------------------------------

static bool run_begin(run *r, int events, plait_arena *arena)
{
    const plait_sim *sim = r->sim;
    const size_t ranks = (size_t)sim->ranks;

    r->event = plait_arena_alloc(arena, (size_t)events, sizeof *r->event);
    r->rank = plait_arena_alloc(arena, ranks, sizeof *r->rank);
    r->cells =
        plait_arena_alloc(arena, (size_t)sim->stages * (size_t)sim->microbatches, sizeof *r->cells);
    r->done = plait_arena_alloc(arena, ranks, sizeof *r->done);
    r->free_s = plait_arena_alloc(arena, ranks, sizeof *r->free_s);
    r->held = plait_arena_alloc(arena, ranks, sizeof *r->held);
    r->ready = plait_arena_alloc(arena, (size_t)events + ranks, sizeof *r->ready);
    return r->event && r->rank && r->cells && r->done && r->free_s && r->held && r->ready;
}

/* Each action wakes one rank at most, so the stack has room for all of them. */
static plait_status run_all(run *r, plait_error *err)
{
    for (int rank = r->sim->ranks - 1; rank >= 0; rank--)
        r->ready[r->readies++] = rank;
    while (r->readies > 0) {
        const int rank = r->ready[--r->readies];
        bool moved = true;
        while (moved && r->done[rank] < r->sim->actions[rank].count)
            PLAIT_TRY(advance(r, rank, &moved, err));
    }
    for (int rank = 0; rank < r->sim->ranks; rank++) {
        char text[48];
        if (r->done[rank] < r->sim->actions[rank].count)
            return plait_fail(
                err, PLAIT_ERROR_RANGE, NULL,
                "rank %d waits for ever before %s: expected what it needs earlier in "
                "the order of the ranks",
                rank,
                plait_action_text(&r->sim->actions[rank].action[r->done[rank]], text, sizeof text));
    }
    return PLAIT_OK;
}

static void sum_ranks(run *r, plait_sim_result *out)
{
    for (int rank = 0; rank < r->sim->ranks; rank++) {
        plait_sim_rank *sum = &r->rank[rank];
        if (sum->count == 0)
            continue;
        sum->idle_s = r->free_s[rank] - r->event[sum->first].begin_s - sum->busy_s;
        sum->idle_s = larger(0.0, sum->idle_s); // sums of the same numbers in another order
        out->pipeline_s = larger(out->pipeline_s, r->free_s[rank]);
    }
}

/* From the last end backwards by what each event waited for. */
static bool find_path(const run *r, int events, plait_arena *arena, plait_sim_result *out)
{
    int last = events > 0 ? 0 : -1;
    int length = 0;

    for (int e = 1; e < events; e++)
        if (r->event[e].end_s > r->event[last].end_s)
            last = e;
    for (int e = last; e >= 0; e = r->event[e].after)
        length++;
    int *path = plait_arena_alloc(arena, (size_t)length, sizeof *path);
    if (!path)
        return false;
    for (int e = last, at = length; e >= 0; e = r->event[e].after)
        path[--at] = e;
    out->path = path;
    out->path_length = length;
    return true;
}

plait_status plait_simulate(const plait_sim *sim, plait_arena *arena, plait_sim_result *out,
                            plait_error *err)
{
    run r = {.sim = sim};
    int events = 0;

    *out = (plait_sim_result){0};
    PLAIT_TRY(check_sim(sim, &events, err));
    if (!run_begin(&r, events, arena))
        return plait_fail_nomem(err);
    for (int rank = 0, first = 0; rank < sim->ranks; first += sim->actions[rank++].count)
        r.rank[rank] = (plait_sim_rank){.first = first, .count = sim->actions[rank].count};
    PLAIT_TRY(run_all(&r, err));
    sum_ranks(&r, out);
    if (!find_path(&r, events, arena, out))
        return plait_fail_nomem(err);
    out->rank = r.rank;
    out->event = r.event;
    out->events = events;
    return PLAIT_OK;
}
