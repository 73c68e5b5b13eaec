/*
 * schedule_sim_events.c - events of a simulated pipeline: begin, end and dependency of each action
 *
 * plait_simulate takes the steps of schedule_sim.c once more, rank by rank, after all ends are
 * computed.
 */
#include "base/numbers.h"
#include "costmodel/schedule/schedule_sim.h"

/* The events of one cell, counted from 1; 0: none. */
typedef struct cell_events {
    int forward, input;
} cell_events;

typedef struct recording {
    const sim_state *state;
    plait_sim_event *event;
    plait_sim_rank *rank;
    cell_events *of_cell;
} recording;

static cell_events *events_of(const recording *r, const sim_cell *cell)
{
    return &r->of_cell[cell - r->state->cell];
}

/* Numbers the events rank by rank, in the order of their actions. */
static void number_events(const recording *r)
{
    const plait_sim *sim = r->state->sim;

    for (int rank = 0, at = 0; rank < sim->ranks; rank++) {
        r->rank[rank] = (plait_sim_rank){.first = at, .count = sim->actions[rank].count};
        for (int i = 0; i < sim->actions[rank].count; i++) {
            const plait_action *action = &sim->actions[rank].action[i];
            cell_events *own =
                events_of(r, sim_cell_of(r->state, action->stage, action->microbatch));
            at++;
            if (action->kind == PLAIT_ACTION_FORWARD)
                own->forward = at;
            else if (action->kind != PLAIT_ACTION_WEIGHT)
                own->input = at;
        }
    }
}

/* Bytes that a rank holds after an action. */
static double held_after(double held, const plait_sim *sim, const plait_action *action)
{
    const plait_sim_stage *stage = &sim->stage[action->stage];

    switch (action->kind) {
    case PLAIT_ACTION_FORWARD:
        return held + stage->held_bytes;
    case PLAIT_ACTION_BACKWARD:
        return held - stage->held_bytes;
    case PLAIT_ACTION_INPUT:
        return held - (stage->held_bytes - stage->weight_bytes);
    default:
        return held - stage->weight_bytes;
    }
}

/* The event that a step waited for, or, if it did not wait, the event before it on its rank. */
static int after_of(const recording *r, const sim_step *step, bool waited, int before)
{
    if (!waited)
        return before;
    const cell_events *from = events_of(r, step->came.from);
    return (step->came.forward ? from->forward : from->input) - 1;
}

static void record_rank(const recording *r, int rank)
{
    const plait_sim *sim = r->state->sim;
    plait_sim_rank *sum = &r->rank[rank];
    double free_s = 0.0, held = 0.0;

    for (int done = 0; done < sum->count;) {
        const sim_step step = sim_step_of(r->state, rank, done);
        const bool waited = step.came.from != NULL && step.came.at_s > free_s;
        const double begin_s = waited ? step.came.at_s : free_s;
        const int after = after_of(r, &step, waited, done > 0 ? sum->first + done - 1 : -1);
        free_s = begin_s + step.take_s;
        sum->busy_s += step.take_s;
        for (int i = 0; i < step.count; i++, done++) {
            const plait_action *action = &sim->actions[rank].action[done];
            plait_sim_event *event = &r->event[sum->first + done];
            *event = (plait_sim_event){*action, rank, after, begin_s, free_s};
            event->action.paired = step.count == 2;
            held = held_after(held, sim, action);
            sum->peak_bytes = larger(sum->peak_bytes, held);
        }
    }
    if (sum->count > 0) // at least 0 despite rounding errors
        sum->idle_s = larger(0.0, free_s - r->event[sum->first].begin_s - sum->busy_s);
}

/* Follows the dependencies back from the event that ends last. False: out of memory. */
static bool find_path(plait_sim_result *out, plait_arena *arena)
{
    int last = out->events > 0 ? 0 : -1;
    int length = 0;

    for (int e = 1; e < out->events; e++)
        if (out->event[e].end_s > out->event[last].end_s)
            last = e;
    for (int e = last; e >= 0; e = out->event[e].after)
        length++;
    int *path = plait_arena_alloc(arena, (size_t)length, sizeof *path);
    if (!path)
        return false;
    for (int e = last, at = length; e >= 0; e = out->event[e].after)
        path[--at] = e;
    out->path = path;
    out->path_length = length;
    return true;
}

plait_status plait_simulate(const plait_sim *sim, plait_arena *arena, plait_sim_result *out,
                            plait_error *err)
{
    sim_state state;
    recording r = {.state = &state};

    *out = (plait_sim_result){0};
    PLAIT_TRY(sim_solve(sim, arena, &state, err));
    for (int rank = 0; rank < sim->ranks; rank++) {
        out->events += sim->actions[rank].count;
        out->pipeline_s = larger(out->pipeline_s, state.free_s[rank]);
    }
    r.event = plait_arena_alloc(arena, (size_t)out->events, sizeof *r.event);
    r.rank = plait_arena_alloc(arena, (size_t)sim->ranks, sizeof *r.rank);
    r.of_cell = plait_arena_alloc(arena, (size_t)sim->stages * (size_t)sim->microbatches,
                                  sizeof *r.of_cell);
    PLAIT_TRY(plait_check_allocated(r.event && r.rank && r.of_cell, err));
    number_events(&r);
    for (int rank = 0; rank < sim->ranks; rank++)
        record_rank(&r, rank);
    out->rank = r.rank;
    out->event = r.event;
    return find_path(out, arena) ? PLAIT_OK : plait_fail_nomem(err);
}
