/*
 * schedule_sim.c - runs the actions of all ranks, each as soon as it can begin (C.86)
 *
 * Each rank runs until its next action waits for an action that is not done. The rank then stores
 * its number in the end of that action and is resumed when the action ends. So each action is
 * visited at most twice under any schedule. plait_simulate then repeats the same steps rank by rank
 * to record the events.
 */
#include "costmodel/schedule/schedule_sim.h"

#include <limits.h>

#include "base/number_range.h"
#include "base/numbers.h"

// ---- checks --------------------------------------------------------------------------------

/* Upper bound on seconds and bytes of an action, so that sums over all actions stay finite. */
#define MOST 1e30

static plait_status check_sim(const plait_sim *sim, int64_t *actions, plait_error *err)
{
#define NUMBER(member) NUMBER_RANGE(, member, NON_NEGATIVE, 0.0, MOST, 1.0)
#define RANGED_TYPE plait_sim_stage
    static const number_range numbers[] = {
        NUMBER(forward_s) NUMBER(input_s) NUMBER(weight_s) NUMBER(send_s) NUMBER(held_bytes)
            NUMBER(weight_bytes) NUMBER(reduce_s) NUMBER(paired_s)};
#undef RANGED_TYPE
#undef NUMBER
    char text[48];

    if (sim->ranks < 1 || sim->stages < 1 || sim->microbatches < 1 || sim->ranks > PLAIT_MAX_GPUS)
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                          "expected at least one rank, stage and microbatch, found %d, %d and %d",
                          sim->ranks, sim->stages, sim->microbatches);
    if (!sim->actions || !sim->stage)
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                          "expected lists of actions and stages, found NULL");
    for (int s = 0; s < sim->stages; s++)
        PLAIT_TRY(
            numbers_check(NULL, &sim->stage[s], numbers, sizeof numbers / sizeof *numbers, err));
    if (!(sim->pair_share >= 0.0 && sim->pair_share <= MOST))
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                          "expected a pair_share of 0 or more, found %g", sim->pair_share);
    *actions = 0;
    for (int rank = 0; rank < sim->ranks; rank++) {
        *actions += sim->actions[rank].count;
        for (int i = 0; i < sim->actions[rank].count; i++) {
            const plait_action *action = &sim->actions[rank].action[i];
            const bool known = (unsigned)action->kind < PLAIT_ACTION_KINDS;
            if (!known || action->stage < 0 || action->stage >= sim->stages ||
                action->microbatch < 0 || action->microbatch >= sim->microbatches)
                return plait_fail(
                    err, PLAIT_ERROR_RANGE, NULL,
                    "rank %d: expected an action of %d stages and %d microbatches, found %s", rank,
                    sim->stages, sim->microbatches,
                    known ? plait_action_text(action, text, sizeof text)
                          : "an unknown kind of action");
        }
    }
    if (*actions >= INT_MAX || (int64_t)sim->stages * sim->microbatches >= INT_MAX)
        return plait_fail_nomem(err);
    return PLAIT_OK;
}

// ---- dependencies --------------------------------------------------------------------------

static size_t cell_of(const plait_sim *sim, int stage, int microbatch)
{
    return (size_t)stage * (size_t)sim->microbatches + (size_t)microbatch;
}

static sim_end *end_of(const sim_state *state, bool forward, int stage, int microbatch)
{
    return &state->end[cell_of(state->sim, forward ? stage : state->sim->stages + stage,
                               microbatch)];
}

/* The end in another stage that an action waits for, and the time at which its send arrives. */
typedef struct sim_arrival {
    const sim_end *from; /* NULL: the action waits for no other stage */
    double at_s;
} sim_arrival;

/*
 * Returns whether an action can begin. If it waits for an action of another stage, the rank is
 * resumed when that action ends. A send adds time unless both stages are on this rank, or sends
 * block, since a blocking send is part of its sender's action.
 */
static bool has_arrived(const sim_state *state, const plait_action *action, int rank,
                        sim_arrival *out)
{
    const plait_sim *sim = state->sim;
    const int s = action->stage, m = action->microbatch;
    const bool forward = action->kind == PLAIT_ACTION_FORWARD;
    const int source = forward ? s - 1 : s + 1;

    *out = (sim_arrival){0};
    if (action->kind == PLAIT_ACTION_WEIGHT)
        return end_of(state, false, s, m)->rank != 0;
    if (!forward && end_of(state, true, s, m)->rank == 0)
        return false;
    if (source < 0 || source == sim->stages)
        return true;
    sim_end *from = end_of(state, forward, source, m);
    from->waiting = rank + 1;
    if (from->rank == 0)
        return false;
    const double send_s = sim->stage[forward ? source : s].send_s;
    *out =
        (sim_arrival){from, from->s + (from->rank != rank + 1 && !sim->sends_block ? send_s : 0.0)};
    return true;
}

// ---- one action ----------------------------------------------------------------------------

/*
 * Seconds of gradient reduction in an action: its stage's last B or W includes the reduction,
 * another action does not. (C.67)
 */
static double reduce_s(const plait_sim *sim, const plait_action *action)
{
    const int m = sim->microbatches;
    const bool last =
        action->microbatch == m - 1 || (sim->two_ways && action->microbatch == m / 2 - 1);

    if (!last || (action->kind != PLAIT_ACTION_BACKWARD && action->kind != PLAIT_ACTION_WEIGHT))
        return 0.0;
    return sim->stage[action->stage].reduce_s;
}

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
        return stage->input_s + stage->weight_s;
    }
}

/* Seconds that a rank spends on the send after an action, if sends block; else 0. */
static double blocking_s(const plait_sim *sim, const plait_action *action)
{
    const int s = action->stage;

    if (!sim->sends_block || action->kind == PLAIT_ACTION_WEIGHT)
        return 0.0;
    if (action->kind == PLAIT_ACTION_FORWARD)
        return s + 1 < sim->stages ? sim->stage[s].send_s : 0.0;
    return s > 0 ? sim->stage[s - 1].send_s : 0.0;
}

/*
 * Seconds of two actions that run as a pair: pair_share times the sum of their times; if pair_share
 * is 0, the sum minus the mean of both stages' paired_s, but at least the longer action. (C.183)
 */
static double pair_s(const plait_sim *sim, const plait_action pair[2])
{
    const double first_s = action_s(sim, &pair[0]), second_s = action_s(sim, &pair[1]);
    const double saved_s =
        0.5 * (sim->stage[pair[0].stage].paired_s + sim->stage[pair[1].stage].paired_s);

    return sim->pair_share > 0.0 ? sim->pair_share * (first_s + second_s)
                                 : larger(larger(first_s, second_s), first_s + second_s - saved_s);
}

/* The next action of a rank, or a pair of actions that run at once. */
typedef struct sim_turn {
    int count; /* number of actions, 1 or 2; 0: the action waits for another that is not done */
    sim_arrival came;
    double take_s;
} sim_turn;

static sim_turn turn_of(const sim_state *state, int rank, int done)
{
    const plait_sim *sim = state->sim;
    const plait_rank_actions *list = &sim->actions[rank];
    const plait_action *action = &list->action[done];
    sim_turn turn = {.count = 1, .take_s = action_s(sim, action)};
    sim_arrival second;

    if (!has_arrived(state, action, rank, &turn.came))
        return (sim_turn){0};
    if ((sim->pairs || sim->pair_share > 0.0) && done + 1 < list->count && action->paired) {
        if (!has_arrived(state, &action[1], rank, &second))
            return (sim_turn){0};
        turn.count = 2;
        if (second.from != NULL && (turn.came.from == NULL || second.at_s > turn.came.at_s))
            turn.came = second;
        turn.take_s = pair_s(sim, action) + blocking_s(sim, &action[1]) + reduce_s(sim, &action[1]);
    }
    turn.take_s += blocking_s(sim, action) + reduce_s(sim, action);
    return turn;
}

// ---- all actions ---------------------------------------------------------------------------

/* Ranks that can continue, without duplicates. */
typedef struct ready_list {
    int *rank;
    bool *listed;
    int count;
} ready_list;

static void make_ready(ready_list *ready, int rank_from_1)
{
    if (rank_from_1 == 0 || ready->listed[rank_from_1 - 1])
        return;
    ready->listed[rank_from_1 - 1] = true;
    ready->rank[ready->count++] = rank_from_1 - 1;
}

/*
 * Stores the end of an action and makes the rank that waits for it ready. Returns false if the
 * action was done before.
 */
static bool store_end(const sim_state *state, int rank, const plait_action *action, double end_s,
                      ready_list *ready)
{
    bool *weight = &state->weight[cell_of(state->sim, action->stage, action->microbatch)];

    if (action->kind == PLAIT_ACTION_WEIGHT) {
        const bool first = !*weight;
        *weight = true;
        return first;
    }
    sim_end *own =
        end_of(state, action->kind == PLAIT_ACTION_FORWARD, action->stage, action->microbatch);
    if (own->rank != 0)
        return false;
    own->rank = rank + 1;
    own->s = end_s;
    own->step = state->steps + 1;
    if (action->kind == PLAIT_ACTION_BACKWARD)
        *weight = true;
    make_ready(ready, own->waiting);
    return true;
}

/* Runs a rank until it has to wait. */
static plait_status run_rank(sim_state *state, int rank, ready_list *ready, plait_error *err)
{
    const plait_rank_actions *list = &state->sim->actions[rank];
    double free_s = state->free_s[rank];
    int done = state->done[rank];
    char text[48];

    while (done < list->count) {
        const sim_turn turn = turn_of(state, rank, done);
        if (turn.count == 0)
            break;
        const sim_end *from = turn.came.from;
        free_s = (from != NULL ? larger(free_s, turn.came.at_s) : free_s) + turn.take_s;
        for (int i = 0; i < turn.count; i++, done++) {
            if (!store_end(state, rank, &list->action[done], free_s, ready))
                return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                                  "rank %d: expected %s once, found it twice", rank,
                                  plait_action_text(&list->action[done], text, sizeof text));
            state->order[state->steps++] = (sim_step){rank, from != NULL ? from->step : 0};
        }
    }
    state->free_s[rank] = free_s;
    state->done[rank] = done;
    return PLAIT_OK;
}

plait_status sim_solve(const plait_sim *sim, plait_arena *arena, sim_state *out, plait_error *err)
{
    const size_t ranks = (size_t)sim->ranks;
    ready_list ready = {0};
    int64_t actions = 0;
    char text[48];

    PLAIT_TRY(check_sim(sim, &actions, err));
    const size_t cells = cell_of(sim, sim->stages, 0);
    *out = (sim_state){
        .sim = sim,
        .end = plait_arena_alloc(arena, 2 * cells, sizeof *out->end),
        .weight = plait_arena_alloc(arena, cells, sizeof *out->weight),
        .free_s = plait_arena_alloc(arena, ranks, sizeof *out->free_s),
        .done = plait_arena_alloc(arena, ranks, sizeof *out->done),
        .order = plait_arena_alloc(arena, (size_t)actions, sizeof *out->order),
    };
    ready.rank = plait_arena_alloc(arena, ranks, sizeof *ready.rank);
    ready.listed = plait_arena_alloc(arena, ranks, sizeof *ready.listed);
    PLAIT_TRY(plait_check_allocated(out->end && out->weight && out->free_s && out->done &&
                                        out->order && ready.rank && ready.listed,
                                    err));
    for (int rank = sim->ranks; rank > 0; rank--)
        make_ready(&ready, rank);
    while (ready.count > 0) {
        const int rank = ready.rank[--ready.count];
        ready.listed[rank] = false;
        PLAIT_TRY(run_rank(out, rank, &ready, err));
    }
    for (int rank = 0; rank < sim->ranks; rank++) {
        const int done = out->done[rank];
        if (done < sim->actions[rank].count)
            return plait_fail(
                err, PLAIT_ERROR_RANGE, NULL,
                "rank %d waits forever before %s: expected the actions that it depends on "
                "earlier in the order of the ranks",
                rank, plait_action_text(&sim->actions[rank].action[done], text, sizeof text));
    }
    return PLAIT_OK;
}

plait_status plait_sim_span(const plait_sim *sim, plait_arena *arena, plait_sim_spans *out,
                            plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    sim_state state;

    *out = (plait_sim_spans){0};
    PLAIT_TRY(sim_solve(sim, arena, &state, err));
    for (int rank = 0; rank < sim->ranks; rank++) {
        double begin_s = 0.0;
        if (sim->actions[rank].count > 0) {
            const sim_arrival came = turn_of(&state, rank, 0).came;
            begin_s = came.from != NULL ? came.at_s : 0.0;
        }
        out->pipeline_s = larger(out->pipeline_s, state.free_s[rank]);
        out->rank_s = larger(out->rank_s, state.free_s[rank] - begin_s);
    }
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}

// ---- events --------------------------------------------------------------------------------

/*
 * Records the events of a rank, its busy and idle time and its peak memory.
 *
 * @param event_of  [steps] the event of each step
 */
static void record_rank(const sim_state *state, int rank, const int *event_of,
                        plait_sim_event *event, plait_sim_rank *sum)
{
    double free_s = 0.0, held = 0.0;

    for (int done = 0; done < sum->count;) {
        const sim_turn turn = turn_of(state, rank, done);
        const bool waited = turn.came.from != NULL && turn.came.at_s > free_s;
        const double begin_s = waited ? turn.came.at_s : free_s;
        const int after = waited     ? event_of[turn.came.from->step - 1]
                          : done > 0 ? sum->first + done - 1
                                     : -1;
        free_s = begin_s + turn.take_s;
        sum->busy_s += turn.take_s;
        for (int i = 0; i < turn.count; i++, done++) {
            const plait_action action = state->sim->actions[rank].action[done];
            event[sum->first + done] = (plait_sim_event){action, rank, after, begin_s, free_s};
            event[sum->first + done].action.paired = turn.count == 2;
            const plait_sim_stage *stage = &state->sim->stage[action.stage];
            if (action.kind == PLAIT_ACTION_FORWARD)
                held += stage->held_bytes;
            else if (action.kind == PLAIT_ACTION_BACKWARD)
                held -= stage->held_bytes;
            else
                held -= action.kind == PLAIT_ACTION_INPUT ? stage->held_bytes - stage->weight_bytes
                                                          : stage->weight_bytes;
            sum->peak_bytes = larger(sum->peak_bytes, held);
        }
    }
    if (sum->count > 0) // at least 0 despite rounding errors
        sum->idle_s = larger(0.0, free_s - event[sum->first].begin_s - sum->busy_s);
}

plait_status plait_simulate(const plait_sim *sim, plait_arena *arena, plait_sim_result *out,
                            plait_error *err)
{
    sim_state state;

    *out = (plait_sim_result){0};
    PLAIT_TRY(sim_solve(sim, arena, &state, err));
    const size_t events = (size_t)state.steps;
    plait_sim_event *event = plait_arena_alloc(arena, events, sizeof *event);
    plait_sim_rank *ranks = plait_arena_alloc(arena, (size_t)sim->ranks, sizeof *ranks);
    int *event_of = plait_arena_alloc(arena, events, sizeof *event_of);
    PLAIT_TRY(plait_check_allocated(event && ranks && event_of, err));
    for (int rank = 0; rank < sim->ranks; rank++) {
        ranks[rank].first = out->events;
        out->events += sim->actions[rank].count;
        out->pipeline_s = larger(out->pipeline_s, state.free_s[rank]);
    }
    for (int i = 0; i < state.steps; i++) {
        plait_sim_rank *sum = &ranks[state.order[i].rank];
        event_of[i] = sum->first + sum->count++;
    }
    for (int rank = 0; rank < sim->ranks; rank++)
        record_rank(&state, rank, event_of, event, &ranks[rank]);
    out->rank = ranks;
    out->event = event;

    // The critical path follows the dependencies back from the event that ends last.
    int last = out->events > 0 ? 0 : -1;
    for (int e = 1; e < out->events; e++)
        if (event[e].end_s > event[last].end_s)
            last = e;
    for (int e = last; e >= 0; e = event[e].after)
        out->path_length++;
    int *path = plait_arena_alloc(arena, (size_t)out->path_length, sizeof *path);
    for (int e = last, at = out->path_length; path && e >= 0; e = event[e].after)
        path[--at] = e;
    out->path = path;
    return plait_check_allocated(path, err);
}
