/*
 * schedule_sim.c - runs the actions of all ranks, each as soon as it can begin (C.86)
 *
 * A rank runs until its next action waits for one that is not done; it then stores its number there
 * and is resumed when that action ends. So each action is visited at most twice, for any schedule.
 */
#include "costmodel/schedule/schedule_sim.h"

#include <limits.h>

#include "base/number_range.h"
#include "base/numbers.h"

// ---- checks --------------------------------------------------------------------------------

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
                          : "an unknown kind of action");
}

/* Upper bound on seconds and bytes of an action, so that sums over all actions stay finite. */
#define MOST 1e30

static plait_status check_stages(const plait_sim *sim, plait_error *err)
{
#define NUMBER(member) NUMBER_RANGE(, member, NON_NEGATIVE, 0.0, MOST, 1.0)
#define RANGED_TYPE plait_sim_stage
    static const number_range numbers[] = {
        NUMBER(forward_s) NUMBER(input_s) NUMBER(weight_s) NUMBER(send_s) NUMBER(held_bytes)
            NUMBER(weight_bytes) NUMBER(reduce_s) NUMBER(paired_s)};
#undef RANGED_TYPE
#undef NUMBER

    for (int s = 0; s < sim->stages; s++)
        PLAIT_TRY(
            numbers_check(NULL, &sim->stage[s], numbers, sizeof numbers / sizeof *numbers, err));
    if (!(sim->pair_share >= 0.0 && sim->pair_share <= MOST))
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                          "expected a pair_share of 0 or more, found %g", sim->pair_share);
    return PLAIT_OK;
}

static plait_status check_sim(const plait_sim *sim, int64_t *actions, plait_error *err)
{
    int64_t count = 0;

    if (sim->ranks < 1 || sim->stages < 1 || sim->microbatches < 1 || sim->ranks > PLAIT_MAX_GPUS)
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                          "expected at least one rank, stage and microbatch, found %d, %d and %d",
                          sim->ranks, sim->stages, sim->microbatches);
    if (!sim->actions || !sim->stage)
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL,
                          "expected lists of actions and stages, found NULL");
    PLAIT_TRY(check_stages(sim, err));
    for (int r = 0; r < sim->ranks; r++) {
        count += sim->actions[r].count;
        for (int i = 0; i < sim->actions[r].count; i++)
            PLAIT_TRY(check_action(sim, r, &sim->actions[r].action[i], err));
    }
    if (count >= INT_MAX || (int64_t)sim->stages * sim->microbatches >= INT_MAX)
        return plait_fail_nomem(err);
    *actions = count;
    return PLAIT_OK;
}

// ---- what an action waits for --------------------------------------------------------------

/* A send adds time unless both stages are on this rank, or the send already blocked its sender. */
static double arrival_s(const plait_sim *sim, double end_s, int from_rank, int rank, double send_s)
{
    return end_s + (from_rank != rank + 1 && !sim->sends_block ? send_s : 0.0);
}

static bool forward_arrives(const sim_state *state, int stage, int microbatch, int rank,
                            sim_arrival *out)
{
    sim_cell *cell = sim_cell_of(state, stage, microbatch);

    cell->waits_for_forward = rank + 1;
    if (cell->forward_rank == 0)
        return false;
    *out = (sim_arrival){cell, true,
                         arrival_s(state->sim, cell->forward_s, cell->forward_rank, rank,
                                   state->sim->stage[stage].send_s)};
    return true;
}

static bool input_arrives(const sim_state *state, int stage, int microbatch, int rank,
                          sim_arrival *out)
{
    sim_cell *cell = sim_cell_of(state, stage, microbatch);

    cell->waits_for_input = rank + 1;
    if (cell->input_rank == 0)
        return false;
    *out = (sim_arrival){cell, false,
                         arrival_s(state->sim, cell->input_s, cell->input_rank, rank,
                                   state->sim->stage[stage - 1].send_s)};
    return true;
}

/*
 * Returns false if the action is not ready; if it waits for another rank, that one resumes this
 * rank.
 */
static bool has_arrived(const sim_state *state, const plait_action *action, int rank,
                        sim_arrival *out)
{
    const int s = action->stage;
    const sim_cell *own = sim_cell_of(state, s, action->microbatch);

    *out = (sim_arrival){0};
    if (action->kind == PLAIT_ACTION_WEIGHT)
        return own->input_rank != 0;
    if (action->kind == PLAIT_ACTION_FORWARD)
        return s == 0 || forward_arrives(state, s - 1, action->microbatch, rank, out);
    if (own->forward_rank == 0 || s == state->sim->stages - 1)
        return own->forward_rank != 0;
    return input_arrives(state, s + 1, action->microbatch, rank, out);
}

// ---- one action ----------------------------------------------------------------------------

/* The reduction of gradients inside an action, by its stage's last microbatch. (C.67) */
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

/* The time that a rank spends on its own sends, if sends block. */
static double blocking_s(const plait_sim *sim, const plait_action *action)
{
    const int s = action->stage;

    if (!sim->sends_block || action->kind == PLAIT_ACTION_WEIGHT)
        return 0.0;
    if (action->kind == PLAIT_ACTION_FORWARD)
        return s + 1 < sim->stages ? sim->stage[s].send_s : 0.0;
    return s > 0 ? sim->stage[s - 1].send_s : 0.0;
}

/* A pair: a share of the sum, or the sum minus the mean of both stages' paired_s. (C.183) */
static double pair_s(const plait_sim *sim, const plait_action pair[2])
{
    const double first_s = action_s(sim, &pair[0]), second_s = action_s(sim, &pair[1]);
    const double saved_s =
        0.5 * (sim->stage[pair[0].stage].paired_s + sim->stage[pair[1].stage].paired_s);

    return sim->pair_share > 0.0 ? sim->pair_share * (first_s + second_s)
                                 : larger(larger(first_s, second_s), first_s + second_s - saved_s);
}

static sim_arrival later(sim_arrival a, sim_arrival b)
{
    return b.from != NULL && (a.from == NULL || b.at_s > a.at_s) ? b : a;
}

sim_step sim_step_of(const sim_state *state, int rank, int done)
{
    const plait_sim *sim = state->sim;
    const plait_rank_actions *list = &sim->actions[rank];
    const plait_action *action = &list->action[done];
    sim_step step = {.count = 1, .take_s = action_s(sim, action)};
    sim_arrival second;

    if (!has_arrived(state, action, rank, &step.came))
        return (sim_step){0};
    if ((sim->pairs || sim->pair_share > 0.0) && done + 1 < list->count && action->paired) {
        if (!has_arrived(state, &action[1], rank, &second))
            return (sim_step){0};
        step.count = 2;
        step.came = later(step.came, second);
        step.take_s = pair_s(sim, action) + blocking_s(sim, &action[1]) + reduce_s(sim, &action[1]);
    }
    step.take_s += blocking_s(sim, action) + reduce_s(sim, action);
    return step;
}

// ---- all actions ---------------------------------------------------------------------------

/* Ranks that can continue, each once. */
typedef struct ready_list {
    int *rank;
    bool *listed;
    int count;
} ready_list;

static void wake(ready_list *ready, int rank_from_1)
{
    if (rank_from_1 == 0 || ready->listed[rank_from_1 - 1])
        return;
    ready->listed[rank_from_1 - 1] = true;
    ready->rank[ready->count++] = rank_from_1 - 1;
}

static plait_status fail_twice(int rank, const plait_action *action, plait_error *err)
{
    char text[48];

    return plait_fail(err, PLAIT_ERROR_RANGE, NULL, "rank %d: expected %s once, found it twice",
                      rank, plait_action_text(action, text, sizeof text));
}

/* Stores the end of an action and resumes the rank that waits for it; false: it was done before. */
static bool mark(const sim_state *state, int rank, const plait_action *action, double end_s,
                 ready_list *ready)
{
    sim_cell *own = sim_cell_of(state, action->stage, action->microbatch);

    if (action->kind == PLAIT_ACTION_WEIGHT) {
        const bool first = !own->weight;
        own->weight = true;
        return first;
    }
    if (action->kind == PLAIT_ACTION_FORWARD) {
        if (own->forward_rank != 0)
            return false;
        own->forward_rank = rank + 1;
        own->forward_s = end_s;
        wake(ready, own->waits_for_forward);
        return true;
    }
    if (own->input_rank != 0)
        return false;
    own->input_rank = rank + 1;
    own->input_s = end_s;
    own->weight = action->kind == PLAIT_ACTION_BACKWARD;
    wake(ready, own->waits_for_input);
    return true;
}

/* Runs a rank until it has to wait. */
static plait_status go_on(sim_state *state, int rank, ready_list *ready, plait_error *err)
{
    const plait_rank_actions *list = &state->sim->actions[rank];
    double free_s = state->free_s[rank];
    int done = state->done[rank];

    while (done < list->count) {
        const sim_step step = sim_step_of(state, rank, done);
        if (step.count == 0)
            break;
        free_s = (step.came.from != NULL ? larger(free_s, step.came.at_s) : free_s) + step.take_s;
        for (int i = 0; i < step.count; i++, done++) {
            if (!mark(state, rank, &list->action[done], free_s, ready))
                return fail_twice(rank, &list->action[done], err);
            state->order[state->steps++] = rank;
        }
    }
    state->free_s[rank] = free_s;
    state->done[rank] = done;
    return PLAIT_OK;
}

static plait_status check_done(const sim_state *state, plait_error *err)
{
    char text[48];

    for (int rank = 0; rank < state->sim->ranks; rank++) {
        const plait_rank_actions *list = &state->sim->actions[rank];
        if (state->done[rank] < list->count)
            return plait_fail(
                err, PLAIT_ERROR_RANGE, NULL,
                "rank %d waits forever before %s: expected the actions that it depends on earlier "
                "in the order of the ranks",
                rank, plait_action_text(&list->action[state->done[rank]], text, sizeof text));
    }
    return PLAIT_OK;
}

plait_status sim_solve(const plait_sim *sim, plait_arena *arena, sim_state *out, plait_error *err)
{
    const size_t ranks = (size_t)sim->ranks;
    ready_list ready = {0};
    int64_t actions = 0;

    PLAIT_TRY(check_sim(sim, &actions, err));
    *out = (sim_state){
        .sim = sim,
        .cell = plait_arena_alloc(arena, (size_t)sim->stages * (size_t)sim->microbatches,
                                  sizeof *out->cell),
        .free_s = plait_arena_alloc(arena, ranks, sizeof *out->free_s),
        .done = plait_arena_alloc(arena, ranks, sizeof *out->done),
        .order = plait_arena_alloc(arena, (size_t)actions, sizeof *out->order),
    };
    ready.rank = plait_arena_alloc(arena, ranks, sizeof *ready.rank);
    ready.listed = plait_arena_alloc(arena, ranks, sizeof *ready.listed);
    PLAIT_TRY(plait_check_allocated(
        out->cell && out->free_s && out->done && out->order && ready.rank && ready.listed, err));
    for (int rank = sim->ranks; rank > 0; rank--)
        wake(&ready, rank);
    while (ready.count > 0) {
        const int rank = ready.rank[--ready.count];
        ready.listed[rank] = false;
        PLAIT_TRY(go_on(out, rank, &ready, err));
    }
    return check_done(out, err);
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
            const sim_arrival came = sim_step_of(&state, rank, 0).came;
            begin_s = came.from != NULL ? came.at_s : 0.0;
        }
        out->pipeline_s = larger(out->pipeline_s, state.free_s[rank]);
        out->rank_s = larger(out->rank_s, state.free_s[rank] - begin_s);
    }
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}
