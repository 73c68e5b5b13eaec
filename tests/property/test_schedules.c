/*
 * test_schedules.c - schedules spelled out: complete, without deadlock, and as long as their forms
 *
 * The actions of all ranks are run by a simulation that knows only what waits for what, and what it
 * finds is held against the closed forms of schedule.h.
 */
#include <string.h>

#include "must.h"
#include "plait/schedule.h"

// ---- random shapes -------------------------------------------------------------------------

static uint64_t random_state = 11;

/* 0 .. below - 1 (splitmix64) */
static int random_below(int below)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)below);
}

static const plait_schedule schedules[] = {
    PLAIT_NAIVE, PLAIT_GPIPE, PLAIT_1F1B,     PLAIT_INTERLEAVED,
    PLAIT_ZB_H1, PLAIT_ZB_H2, PLAIT_DUALPIPE,
};

enum { SCHEDULES = sizeof schedules / sizeof *schedules, SHAPES = 150, MOST_RANKS = 12 };

/* A shape that the schedule has actions for. */
static plait_pipeline_shape random_shape(plait_schedule schedule)
{
    plait_pipeline_shape shape;

    do {
        shape = (plait_pipeline_shape){
            .schedule = schedule,
            .ranks = 1 + random_below(MOST_RANKS),
            .chunks = schedule == PLAIT_INTERLEAVED ? 2 + random_below(4) : 1,
            .microbatches = 1 + random_below(50),
        };
    } while (!plait_schedule_has_actions(&shape));
    return shape;
}

// ---- the simulation ------------------------------------------------------------------------

/* Seconds of one action of each kind. */
typedef struct durations {
    double s[PLAIT_ACTION_KINDS];
} durations;

/* When forward, input gradient and weight gradient of a (stage, microbatch) are done; < 0: not yet. */
typedef struct progress {
    double forward_s;
    double input_s;
    double weight_s;
} progress;

typedef struct simulation {
    const plait_pipeline_shape *shape;
    plait_rank_actions rank[MOST_RANKS];
    int next[MOST_RANKS];
    double begin_s[MOST_RANKS];
    double end_s[MOST_RANKS];
    progress *done; /* [stages][microbatches] */
} simulation;

static progress *done_of(const simulation *sim, int stage, int microbatch)
{
    return &sim->done[stage * sim->shape->microbatches + microbatch];
}

/* When an action can begin by what it waits for; < 0: not yet. */
static double ready_s(const simulation *sim, const plait_action *action)
{
    const int last = sim->shape->ranks * sim->shape->chunks - 1;
    const progress *own = done_of(sim, action->stage, action->microbatch);
    double after_s;

    switch (action->kind) {
    case PLAIT_ACTION_FORWARD:
        return action->stage == 0 ? 0.0
                                  : done_of(sim, action->stage - 1, action->microbatch)->forward_s;
    case PLAIT_ACTION_WEIGHT:
        return own->input_s;
    default:
        if (own->forward_s < 0.0 || action->stage == last)
            return own->forward_s;
        after_s = done_of(sim, action->stage + 1, action->microbatch)->input_s;
        return after_s < 0.0 ? after_s : fmax(after_s, own->forward_s);
    }
}

/* Marks an action as done; nothing may be done twice. */
static void finish(simulation *sim, const plait_action *action, double end_s)
{
    progress *own = done_of(sim, action->stage, action->microbatch);

    if (action->kind == PLAIT_ACTION_FORWARD) {
        assert_true(own->forward_s < 0.0);
        own->forward_s = end_s;
        return;
    }
    if (action->kind != PLAIT_ACTION_WEIGHT) {
        assert_true(own->input_s < 0.0);
        own->input_s = end_s;
    }
    if (action->kind != PLAIT_ACTION_INPUT) {
        assert_true(own->weight_s < 0.0);
        own->weight_s = end_s;
    }
}

/* One action of a rank, if it can begin. */
static bool step(simulation *sim, int rank, const durations *take)
{
    const plait_action *action;
    double begin_s;

    if (sim->next[rank] == sim->rank[rank].count)
        return false;
    action = &sim->rank[rank].action[sim->next[rank]];
    begin_s = ready_s(sim, action);
    if (begin_s < 0.0)
        return false;
    begin_s = fmax(begin_s, sim->end_s[rank]);
    if (sim->next[rank]++ == 0)
        sim->begin_s[rank] = begin_s;
    sim->end_s[rank] = begin_s + take->s[action->kind];
    finish(sim, action, sim->end_s[rank]);
    return true;
}

static simulation simulate(const plait_pipeline_shape *shape, const durations *take,
                           plait_arena *arena)
{
    const size_t cells = (size_t)(shape->ranks * shape->chunks * shape->microbatches);
    simulation sim = {.shape = shape};
    plait_error err;
    bool moved;

    must(plait_schedule_actions(shape, arena, sim.rank, &err), &err);
    sim.done = plait_arena_alloc(arena, cells, sizeof *sim.done);
    assert_non_null(sim.done);
    for (size_t i = 0; i < cells; i++)
        sim.done[i] = (progress){-1.0, -1.0, -1.0};
    do {
        moved = false;
        for (int rank = 0; rank < shape->ranks; rank++)
            while (step(&sim, rank, take))
                moved = true;
    } while (moved);
    return sim;
}

static double makespan_s(const simulation *sim)
{
    double end_s = 0.0;

    for (int rank = 0; rank < sim->shape->ranks; rank++)
        end_s = fmax(end_s, sim->end_s[rank]);
    return end_s;
}

static void on_shapes(void (*check)(const plait_pipeline_shape *shape, plait_arena *arena))
{
    for (int s = 0; s < SCHEDULES; s++)
        for (int i = 0; i < SHAPES; i++) {
            const plait_pipeline_shape shape = random_shape(schedules[s]);
            plait_arena *arena = plait_arena_new();

            assert_non_null(arena);
            check(&shape, arena);
            plait_arena_free(arena);
        }
}

// ---- complete and without deadlock ---------------------------------------------------------

static const durations units = {{1.0, 2.0, 1.0, 1.0}};

/* All ranks reach their end, and by then everything is done, once. */
static void check_complete(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const simulation sim = simulate(shape, &units, arena);
    int64_t count = 0;

    for (int rank = 0; rank < shape->ranks; rank++) {
        assert_int_equal(sim.next[rank], sim.rank[rank].count);
        count += sim.rank[rank].count;
    }
    assert_int_equal(count, plait_schedule_action_count(shape));
    for (int i = 0; i < shape->ranks * shape->chunks * shape->microbatches; i++)
        assert_true(sim.done[i].forward_s > 0.0 && sim.done[i].input_s > sim.done[i].forward_s &&
                    sim.done[i].weight_s >= sim.done[i].input_s);
}

static void test_every_stage_and_microbatch__goes_forward_and_back_once(void **state)
{
    (void)state;
    on_shapes(check_complete);
}

/* Stage c p + r is on rank r; DualPipe mirrors the second half of the microbatches. */
static void check_places(const plait_pipeline_shape *shape, plait_arena *arena)
{
    plait_rank_actions ranks[MOST_RANKS];
    plait_error err;

    must(plait_schedule_actions(shape, arena, ranks, &err), &err);
    for (int rank = 0; rank < shape->ranks; rank++)
        for (int i = 0; i < ranks[rank].count; i++) {
            const plait_action *action = &ranks[rank].action[i];
            const bool mirrored =
                shape->schedule == PLAIT_DUALPIPE && action->microbatch >= shape->microbatches / 2;
            assert_int_equal(action->stage % shape->ranks,
                             mirrored ? shape->ranks - 1 - rank : rank);
        }
}

static void test_stages__stay_on_their_ranks(void **state)
{
    (void)state;
    on_shapes(check_places);
}

// ---- in flight -----------------------------------------------------------------------------

/* Most microbatches, in chunks, between their F and the action that lets them go. */
static int peak(const plait_rank_actions *rank, plait_action_kind releases)
{
    int held = 0, most = 0;

    for (int i = 0; i < rank->count; i++) {
        const plait_action_kind kind = rank->action[i].kind;
        if (kind == PLAIT_ACTION_FORWARD)
            held++;
        else if (kind == PLAIT_ACTION_BACKWARD || kind == releases)
            held--;
        most = held > most ? held : most;
    }
    return most;
}

static void check_in_flight(const plait_pipeline_shape *shape, plait_arena *arena)
{
    plait_rank_actions ranks[MOST_RANKS];
    plait_error err;

    must(plait_schedule_actions(shape, arena, ranks, &err), &err);
    for (int rank = 0; rank < shape->ranks; rank++) {
        const double held = (double)peak(&ranks[rank], PLAIT_ACTION_INPUT) / shape->chunks;
        const double form = plait_schedule_in_flight(shape->schedule, shape->ranks, rank,
                                                     shape->chunks, shape->microbatches);
        // Rounds that p does not divide are up to 2p - 1 microbatches, where C.78 has p.
        if (shape->schedule == PLAIT_INTERLEAVED && plait_schedule_group(shape) > shape->ranks)
            continue;
        assert_true(held <= form + 1e-9);
        if (shape->schedule == PLAIT_1F1B || shape->schedule == PLAIT_GPIPE)
            assert_near(held, form, 0.0);
    }
}

static void test_in_flight__stays_within_the_closed_form(void **state)
{
    (void)state;
    on_shapes(check_in_flight);
}

static void check_weights_held(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const int most = shape->schedule == PLAIT_ZB_H1 ? shape->ranks : 2 * shape->ranks - 1;
    plait_rank_actions ranks[MOST_RANKS];
    plait_error err;

    if (shape->schedule != PLAIT_ZB_H1 && shape->schedule != PLAIT_ZB_H2)
        return;
    must(plait_schedule_actions(shape, arena, ranks, &err), &err);
    for (int rank = 0; rank < shape->ranks; rank++) {
        const int expected = most < shape->microbatches ? most : shape->microbatches;
        assert_int_equal(peak(&ranks[rank], PLAIT_ACTION_WEIGHT), expected);
    }
}

static void test_zero_bubble__holds_as_much_on_every_rank(void **state)
{
    (void)state;
    on_shapes(check_weights_held);
}

// ---- how long ------------------------------------------------------------------------------

static double closed_form_s(const plait_pipeline_shape *shape, const durations *take)
{
    const double f_s = take->s[PLAIT_ACTION_FORWARD] * shape->chunks;
    const double b_s = take->s[PLAIT_ACTION_BACKWARD] * shape->chunks;
    const plait_pipeline_load load = {
        .stages = shape->ranks,
        .chunks = shape->chunks,
        .microbatches = shape->microbatches,
        .sum_s = shape->ranks * (f_s + b_s),
        .max_s = f_s + b_s,
        .max_f_s = f_s,
        .max_b_s = b_s,
        .least_w_s = take->s[PLAIT_ACTION_WEIGHT] * shape->chunks,
    };

    return plait_pipeline_s(shape->schedule, &load);
}

/* Any times of forward and backward, the same on all stages. */
static void check_length(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const double f_s = 0.5 + random_below(100) / 50.0;
    const double b_s = f_s * (1.0 + random_below(100) / 50.0);
    const durations take = {{f_s, b_s, b_s / 2.0, b_s / 2.0}};
    const simulation sim = simulate(shape, &take, arena);
    const bool whole_groups = plait_schedule_group(shape) == shape->ranks;

    switch (shape->schedule) {
    case PLAIT_NAIVE:
    case PLAIT_GPIPE:
    case PLAIT_1F1B:
        assert_near_relative(makespan_s(&sim), closed_form_s(shape, &take), 1e-9);
        break;
    case PLAIT_INTERLEAVED:
        if (whole_groups)
            assert_near_relative(makespan_s(&sim), closed_form_s(shape, &take), 1e-9);
        break;
    default:
        assert_true(makespan_s(&sim) >= shape->microbatches * (f_s + b_s) - 1e-9);
    }
}

static void test_makespan__is_the_closed_form(void **state)
{
    (void)state;
    on_shapes(check_length);
}

/* F = I = W: zb-h2 shifts its ranks against each other, and none of them idles in between. */
static void check_zero_bubble(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const simulation sim = simulate(shape, &units, arena);
    const double form_s = closed_form_s(shape, &units);

    if (shape->schedule == PLAIT_ZB_H1 && shape->microbatches >= shape->ranks)
        assert_near(makespan_s(&sim), form_s, 1e-9);
    if (shape->schedule == PLAIT_ZB_H2 && shape->microbatches >= 2 * shape->ranks - 1)
        for (int rank = 0; rank < shape->ranks; rank++)
            assert_near(sim.end_s[rank] - sim.begin_s[rank], form_s, 1e-9);
    if (shape->schedule == PLAIT_DUALPIPE)
        assert_true(makespan_s(&sim) <= form_s + 1e-9);
}

static void test_zero_bubble__is_the_closed_form_in_equal_parts(void **state)
{
    (void)state;
    on_shapes(check_zero_bubble);
}

// ---- what cannot be spelled out ------------------------------------------------------------

static void test_shapes_without_actions__are_known(void **state)
{
    static const plait_pipeline_shape none[] = {
        {PLAIT_ZB_V, 4, 1, 8},        {PLAIT_V_HALF, 4, 1, 8},    {PLAIT_V_MIN, 4, 1, 8},
        {PLAIT_DUALPIPE_V, 4, 1, 8},  {PLAIT_DUALPIPE, 3, 1, 12}, {PLAIT_DUALPIPE, 4, 1, 6},
        {PLAIT_DUALPIPE, 4, 1, 9},    {PLAIT_1F1B, 4, 2, 8},      {PLAIT_INTERLEAVED, 4, 1, 8},
        {PLAIT_INTERLEAVED, 4, 2, 9},
    };

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(plait_schedule_has_actions(&none[i]));
}

/* 10 microbatches on 4 ranks: two rounds of 5; 3 on 4: one of 3; 9 divide into no two rounds. */
static void test_groups__are_of_pp_where_that_divides(void **state)
{
    (void)state;
    assert_int_equal(plait_schedule_group(&(plait_pipeline_shape){PLAIT_INTERLEAVED, 4, 2, 8}), 4);
    assert_int_equal(plait_schedule_group(&(plait_pipeline_shape){PLAIT_INTERLEAVED, 4, 2, 10}), 5);
    assert_int_equal(plait_schedule_group(&(plait_pipeline_shape){PLAIT_INTERLEAVED, 4, 2, 3}), 3);
    assert_int_equal(plait_schedule_group(&(plait_pipeline_shape){PLAIT_INTERLEAVED, 4, 2, 9}), 0);
    assert_int_equal(plait_schedule_group(&(plait_pipeline_shape){PLAIT_1F1B, 4, 1, 9}), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_stage_and_microbatch__goes_forward_and_back_once),
        cmocka_unit_test(test_stages__stay_on_their_ranks),
        cmocka_unit_test(test_in_flight__stays_within_the_closed_form),
        cmocka_unit_test(test_zero_bubble__holds_as_much_on_every_rank),
        cmocka_unit_test(test_makespan__is_the_closed_form),
        cmocka_unit_test(test_zero_bubble__is_the_closed_form_in_equal_parts),
        cmocka_unit_test(test_shapes_without_actions__are_known),
        cmocka_unit_test(test_groups__are_of_pp_where_that_divides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
