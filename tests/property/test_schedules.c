/*
 * test_schedules.c - schedules spelled out and simulated: complete, and as long as their forms
 *
 * What the simulator finds is held against what each action needs, one by one, and against the
 * closed forms of schedule.h.
 */
#include <string.h>

#include "must.h"
#include "plait/simulate.h"

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

enum { SCHEDULES = sizeof schedules / sizeof *schedules, SHAPES = 1500, MOST_RANKS = 12 };

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

// ---- simulated -----------------------------------------------------------------------------

/* Seconds of one action of each kind; a whole backward is I and W. */
typedef struct durations {
    double forward_s, input_s, weight_s;
} durations;

enum { MOST_STAGES = 5 * MOST_RANKS };

/* Stages may differ: a stage's times are times its share. */
static plait_sim_result simulate_shares(const plait_pipeline_shape *shape, const durations *take,
                                        const double *share, plait_arena *arena)
{
    plait_rank_actions *actions = plait_arena_alloc(arena, MOST_RANKS, sizeof *actions);
    plait_sim_stage *stage = plait_arena_alloc(arena, MOST_STAGES, sizeof *stage);
    const plait_sim sim = {
        .ranks = shape->ranks,
        .stages = shape->ranks * shape->chunks,
        .microbatches = shape->microbatches,
        .actions = actions,
        .stage = stage,
    };
    plait_sim_result result;
    plait_error err;

    assert_true(actions != NULL && stage != NULL);
    for (int s = 0; s < sim.stages; s++)
        stage[s] = (plait_sim_stage){.forward_s = share[s] * take->forward_s,
                                     .input_s = share[s] * take->input_s,
                                     .weight_s = share[s] * take->weight_s};
    must(plait_schedule_actions(shape, arena, actions, &err), &err);
    must(plait_simulate(&sim, arena, &result, &err), &err);
    return result;
}

static plait_sim_result simulate(const plait_pipeline_shape *shape, const durations *take,
                                 plait_arena *arena)
{
    double share[MOST_STAGES];

    for (int s = 0; s < MOST_STAGES; s++)
        share[s] = 1.0;
    return simulate_shares(shape, take, share, arena);
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

static const durations units = {1.0, 1.0, 1.0};

/* Ends of F, of the input gradient and of the weight gradient of each (stage, microbatch). */
typedef struct ends {
    double forward_s, input_s, weight_s;
} ends;

static void note_end(ends *own, const plait_sim_event *event)
{
    const plait_action_kind kind = event->action.kind;

    if (kind == PLAIT_ACTION_FORWARD) {
        assert_true(own->forward_s == 0.0);
        own->forward_s = event->end_s;
    }
    if (kind == PLAIT_ACTION_INPUT || kind == PLAIT_ACTION_BACKWARD) {
        assert_true(own->input_s == 0.0);
        own->input_s = event->end_s;
    }
    if (kind == PLAIT_ACTION_WEIGHT || kind == PLAIT_ACTION_BACKWARD) {
        assert_true(own->weight_s == 0.0);
        own->weight_s = event->end_s;
    }
}

/* When what an action needs of other actions is there. */
static double needed_s(const ends *all, const plait_pipeline_shape *shape,
                       const plait_action *action)
{
    const int m = shape->microbatches;
    const ends *own = &all[action->stage * m + action->microbatch];
    const bool last = action->stage == shape->ranks * shape->chunks - 1;

    if (action->kind == PLAIT_ACTION_FORWARD)
        return action->stage == 0 ? 0.0 : own[-m].forward_s;
    if (action->kind == PLAIT_ACTION_WEIGHT)
        return own->input_s;
    return last ? own->forward_s : fmax(own->forward_s, own[m].input_s);
}

/* Everything is done once, and begins as soon as its rank and what it needs allow. */
static void check_complete(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const durations take = {0.5 + random_below(100) / 50.0, 0.5 + random_below(100) / 50.0,
                            0.5 + random_below(100) / 50.0};
    const plait_sim_result result = simulate(shape, &take, arena);
    ends *all = plait_arena_alloc(
        arena, (size_t)(shape->ranks * shape->chunks * shape->microbatches), sizeof *all);

    assert_non_null(all);
    assert_int_equal(result.events, plait_schedule_action_count(shape));
    for (int e = 0; e < result.events; e++) {
        const plait_action *action = &result.event[e].action;
        note_end(&all[action->stage * shape->microbatches + action->microbatch], &result.event[e]);
    }
    for (int e = 0; e < result.events; e++) {
        const plait_sim_event *event = &result.event[e];
        const bool first = e == result.rank[event->rank].first;
        const double free_s = first ? 0.0 : event[-1].end_s;
        assert_true(event->begin_s == fmax(free_s, needed_s(all, shape, &event->action)));
        assert_true(event->after >= 0 ? result.event[event->after].end_s == event->begin_s
                                      : event->begin_s == 0.0);
    }
    for (int i = 0; i < shape->ranks * shape->chunks * shape->microbatches; i++)
        assert_true(all[i].forward_s > 0.0 && all[i].input_s > 0.0 && all[i].weight_s > 0.0);
    assert_true(result.event[result.path[result.path_length - 1]].end_s == result.pipeline_s);
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
    const double f_s = take->forward_s * shape->chunks;
    const double b_s = (take->input_s + take->weight_s) * shape->chunks;
    const plait_pipeline_load load = {
        .stages = shape->ranks,
        .chunks = shape->chunks,
        .microbatches = shape->microbatches,
        .sum_s = shape->ranks * (f_s + b_s),
        .max_s = f_s + b_s,
        .max_f_s = f_s,
        .max_b_s = b_s,
        .least_w_s = take->weight_s * shape->chunks,
    };

    return plait_pipeline_s(shape->schedule, &load);
}

/* Any times of forward and backward, the same on all stages. */
static void check_length(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const double f_s = 0.5 + random_below(100) / 50.0;
    const double b_s = f_s * (1.0 + random_below(100) / 50.0);
    const durations take = {f_s, b_s / 2.0, b_s / 2.0};
    const plait_sim_result sim = simulate(shape, &take, arena);
    const bool whole_groups = plait_schedule_group(shape) == shape->ranks;

    switch (shape->schedule) {
    case PLAIT_NAIVE:
    case PLAIT_GPIPE:
    case PLAIT_1F1B:
        assert_near_relative(sim.pipeline_s, closed_form_s(shape, &take), 1e-9);
        break;
    case PLAIT_INTERLEAVED:
        if (whole_groups)
            assert_near_relative(sim.pipeline_s, closed_form_s(shape, &take), 1e-9);
        break;
    default:
        assert_true(sim.pipeline_s >= shape->microbatches * (f_s + b_s) - 1e-9);
    }
}

static void test_makespan__is_the_closed_form(void **state)
{
    (void)state;
    on_shapes(check_length);
}

/* Stages that differ: forms are exact where all wait for all, of 1F1B a bound from above. */
static void check_uneven(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const durations take = {1.0, 1.0, 1.0};
    plait_pipeline_load load = {.stages = shape->ranks,
                                .chunks = shape->chunks,
                                .microbatches = shape->microbatches,
                                .least_w_s = HUGE_VAL};
    double share[MOST_STAGES];

    if (shape->schedule == PLAIT_DUALPIPE) // an upper bound
        return;
    for (int s = 0; s < MOST_STAGES; s++)
        share[s] = 0.5 + random_below(100) / 50.0;
    for (int rank = 0; rank < shape->ranks; rank++) {
        double sum = 0.0;
        for (int v = 0; v < shape->chunks; v++)
            sum += share[v * shape->ranks + rank];
        load.sum_s += 3.0 * sum;
        load.max_s = fmax(load.max_s, 3.0 * sum);
        load.max_f_s = fmax(load.max_f_s, sum);
        load.max_b_s = fmax(load.max_b_s, 2.0 * sum);
        load.least_w_s = fmin(load.least_w_s, sum);
    }
    const plait_sim_result sim = simulate_shares(shape, &take, share, arena);
    const double form_s = plait_pipeline_s(shape->schedule, &load);
    assert_true(load.microbatches * load.max_s <= sim.pipeline_s * (1.0 + 1e-9));
    if (shape->schedule == PLAIT_GPIPE || shape->schedule == PLAIT_NAIVE)
        assert_near_relative(sim.pipeline_s, form_s, 1e-9);
    if (shape->schedule == PLAIT_1F1B)
        assert_true(sim.pipeline_s <= form_s * (1.0 + 1e-9));
}

static void test_uneven_stages__take_what_the_forms_say_or_less(void **state)
{
    (void)state;
    on_shapes(check_uneven);
}

/* F = I = W: zb-h2 shifts its ranks against each other, and none of them idles in between. */
static void check_zero_bubble(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const plait_sim_result sim = simulate(shape, &units, arena);
    const double form_s = closed_form_s(shape, &units);

    if (shape->schedule == PLAIT_ZB_H1 && shape->microbatches >= shape->ranks)
        assert_near(sim.pipeline_s, form_s, 1e-9);
    if (shape->schedule == PLAIT_ZB_H2 && shape->microbatches >= 2 * shape->ranks - 1)
        for (int rank = 0; rank < shape->ranks; rank++)
            assert_near(sim.rank[rank].busy_s + sim.rank[rank].idle_s, form_s, 1e-9);
    if (shape->schedule == PLAIT_DUALPIPE)
        assert_true(sim.pipeline_s <= form_s + 1e-9);
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
        cmocka_unit_test(test_uneven_stages__take_what_the_forms_say_or_less),
        cmocka_unit_test(test_zero_bubble__is_the_closed_form_in_equal_parts),
        cmocka_unit_test(test_shapes_without_actions__are_known),
        cmocka_unit_test(test_groups__are_of_pp_where_that_divides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
