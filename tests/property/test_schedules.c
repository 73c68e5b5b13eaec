/*
 * test_schedules.c - schedules spelled out and simulated: complete, and as long as their forms
 *
 * What the simulator finds is held against what each action needs, one by one, and against the
 * closed forms of schedule.h.
 */
#include <limits.h>
#include <string.h>

#include "support/few_draws.h"
#include "support/must.h"
#include "plait/lowlevel/simulate.h"
#include "costmodel/schedule/schedule_sim.h"

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

enum { SHAPES = FEW_DRAWS ? 120 : 1500, MOST_RANKS = 12 };

/* A shape that the schedule has actions for. */
static plait_pipeline_shape random_shape(plait_schedule schedule)
{
    plait_pipeline_shape shape;

    do {
        shape = (plait_pipeline_shape){
            .schedule = schedule,
            .ranks = 1 + random_below(MOST_RANKS),
            .chunks = plait_schedule_chunks(schedule) == PLAIT_SEVERAL_CHUNKS
                          ? 2 + random_below(4)
                          : plait_schedule_chunks(schedule),
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

static void fill_stages(const durations *take, int stages, plait_sim_stage *stage)
{
    for (int s = 0; s < stages; s++)
        stage[s] = (plait_sim_stage){.forward_s = take[s].forward_s,
                                     .input_s = take[s].input_s,
                                     .weight_s = take[s].weight_s};
}

static plait_sim sim_of(const plait_pipeline_shape *shape, const plait_rank_actions *actions,
                        const plait_sim_stage *stage)
{
    return (plait_sim){
        .ranks = shape->ranks,
        .stages = shape->ranks * shape->chunks,
        .microbatches = shape->microbatches,
        .actions = actions,
        .stage = stage,
    };
}

/* Stages may differ. */
static plait_sim_result simulate_stages(const plait_pipeline_shape *shape, const durations *take,
                                        plait_arena *arena)
{
    plait_rank_actions *actions = plait_arena_alloc(arena, MOST_RANKS, sizeof *actions);
    plait_sim_stage *stage = plait_arena_alloc(arena, MOST_STAGES, sizeof *stage);
    const plait_sim sim = sim_of(shape, actions, stage);
    plait_sim_result result;
    plait_error err;

    assert_true(actions != NULL && stage != NULL);
    fill_stages(take, sim.stages, stage);
    must(plait_schedule_actions(shape, arena, actions, &err), &err);
    must(plait_simulate(&sim, arena, &result, &err), &err);
    return result;
}

static plait_sim_result simulate(const plait_pipeline_shape *shape, const durations *take,
                                 plait_arena *arena)
{
    durations each[MOST_STAGES];

    for (int s = 0; s < MOST_STAGES; s++)
        each[s] = *take;
    return simulate_stages(shape, each, arena);
}

static void on_shapes(void (*check)(const plait_pipeline_shape *shape, plait_arena *arena))
{
    for (int s = 0; s < PLAIT_SCHEDULES; s++)
        for (int i = 0; i < SHAPES; i++) {
            const plait_pipeline_shape shape = random_shape((plait_schedule)s);
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

/* Chunks are where plait_schedule_rank says; DualPipe mirrors the second half of the microbatches. */
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
            const int place = plait_schedule_rank(shape->schedule, shape->ranks, action->stage);
            assert_int_equal(mirrored ? shape->ranks - 1 - place : place, rank);
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
        const double held = (double)peak(&ranks[rank], PLAIT_ACTION_WEIGHT) / shape->chunks;
        const double form = plait_schedule_in_flight(shape->schedule, shape->ranks, rank,
                                                     shape->chunks, shape->microbatches);
        // Rounds that p does not divide are up to 2p - 1 microbatches, where C.78 has p.
        if (shape->schedule == PLAIT_INTERLEAVED && plait_schedule_group(shape) > shape->ranks)
            continue;
        assert_true(held <= form + 1e-9);
        if (plait_schedule_chunks(shape->schedule) == 1 && shape->schedule != PLAIT_DUALPIPE)
            assert_near(held, form, 0.0);
    }
}

/* Until the weight gradient, too: as the forms say, and without chunks just that. */
static void test_in_flight__stays_within_the_closed_form(void **state)
{
    (void)state;
    on_shapes(check_in_flight);
}

/* In a long step V-Half keeps about half of what 1F1B does, V-Min about a third. */
static void test_patterns__keep_what_their_paper_says(void **state)
{
    (void)state;
    for (int p = 2; p <= 64; p++)
        for (int rank = 0; rank < p; rank++) {
            assert_true(plait_schedule_in_flight(PLAIT_V_HALF, p, rank, 2, 1000) <= p / 2.0 + 1.5);
            assert_true(plait_schedule_in_flight(PLAIT_V_MIN, p, rank, 2, 1000) <= p / 3.0 + 1.5);
        }
}

// ---- how long ------------------------------------------------------------------------------

/* The ranks of a pipeline, one run each. DualPipe's hold a stage and the mirrored one. */
static void fill_load(const plait_pipeline_shape *shape, const durations *take, plait_rank_run *run,
                      plait_pipeline_load *load)
{
    for (int r = 0; r < shape->ranks; r++) {
        const bool dual = shape->schedule == PLAIT_DUALPIPE;
        const int chunks = dual ? 2 : shape->chunks;
        run[r] = (plait_rank_run){.ranks = 1};
        for (int v = 0; v < chunks; v++) {
            const int stage = dual && v == 1
                                  ? shape->ranks - 1 - r
                                  : plait_schedule_chunk(shape->schedule, shape->ranks, r, v);
            const plait_chunk_time chunk = {take[stage].forward_s,
                                            take[stage].input_s + take[stage].weight_s,
                                            take[stage].weight_s};
            run[r].first = v == 0 ? chunk : run[r].first;
            run[r].last = chunk;
            run[r].all.forward_s += chunk.forward_s / (dual ? 2.0 : 1.0);
            run[r].all.backward_s += chunk.backward_s / (dual ? 2.0 : 1.0);
            run[r].all.weight_s += chunk.weight_s / (dual ? 2.0 : 1.0);
        }
    }
    *load = (plait_pipeline_load){.ranks = shape->ranks,
                                  .chunks = shape->chunks,
                                  .microbatches = shape->microbatches,
                                  .runs = shape->ranks,
                                  .run = run};
}

/* The same with neighbours alike in one run. */
static void merge_runs(plait_pipeline_load *load, plait_rank_run *run)
{
    int runs = 0;

    for (int r = 0; r < load->runs; r++) {
        const bool alike = runs > 0 &&
                           memcmp(&run[runs - 1].all, &run[r].all, sizeof run->all) == 0 &&
                           memcmp(&run[runs - 1].first, &run[r].first, sizeof run->first) == 0 &&
                           memcmp(&run[runs - 1].last, &run[r].last, sizeof run->last) == 0;
        if (alike)
            run[runs - 1].ranks++;
        else
            run[runs++] = run[r];
    }
    load->runs = runs;
}

/* Stages of a few kinds, so that some neighbours are alike, or all different. */
static void random_durations(durations *take)
{
    const int kinds = 1 + random_below(3);
    const int dealt = random_below(3); // all alike but the ends, any of the kinds, all different
    durations kind[3];

    for (int k = 0; k < 3; k++)
        kind[k] = (durations){0.5 + random_below(100) / 50.0, 0.5 + random_below(100) / 50.0,
                              0.5 + random_below(100) / 50.0};
    for (int s = 0; s < MOST_STAGES; s++) {
        take[s] = kind[dealt == 1 ? random_below(kinds) : 0];
        if (dealt == 2)
            take[s] = (durations){0.5 + random_below(100) / 50.0, 0.5 + random_below(100) / 50.0,
                                  0.5 + random_below(100) / 50.0};
    }
    if (dealt == 0)
        take[0] = kind[1];
}

/* From the first action of a rank to the end of its last, the longest. */
static double longest_span_s(const plait_pipeline_shape *shape, const plait_sim_result *sim)
{
    double s = 0.0;

    for (int rank = 0; rank < shape->ranks; rank++)
        s = fmax(s, sim->rank[rank].busy_s + sim->rank[rank].idle_s);
    return s;
}

/*
 * Any stages: what is said to be exact is, with ranks alike in one run or in many, and the rest is
 * undercut by no simulation.
 */
static void check_length(const plait_pipeline_shape *shape, plait_arena *arena)
{
    durations take[MOST_STAGES];
    plait_rank_run run[MOST_RANKS];
    plait_pipeline_load load;

    random_durations(take);
    if (shape->schedule != PLAIT_INTERLEAVED && shape->ranks > 1)
        take[shape->ranks * shape->chunks - 1].forward_s *= 1.5;
    const plait_sim_result sim = simulate_stages(shape, take, arena);
    fill_load(shape, take, run, &load);
    const double form_s = plait_pipeline_s(shape->schedule, &load);
    if (plait_pipeline_exact(shape->schedule, &load))
        assert_near_relative(sim.pipeline_s, form_s, 1e-9);
    assert_true(form_s <= sim.pipeline_s * (1.0 + 1e-9));
    load.no_barrier = true;
    assert_true(plait_pipeline_s(shape->schedule, &load) <=
                longest_span_s(shape, &sim) * (1.0 + 1e-9));
    load.no_barrier = false;
    merge_runs(&load, run);
    const double merged_s = plait_pipeline_s(shape->schedule, &load);
    assert_true(merged_s <=
                form_s * (1.0 + 1e-9)); // of a bound, ranks inside a run are not looked at
    if (plait_pipeline_exact(shape->schedule, &load))
        assert_near_relative(merged_s, form_s, 1e-9);
}

static void test_makespan__is_the_closed_form_or_longer(void **state)
{
    (void)state;
    on_shapes(check_length);
}

/* One stage takes no more than its work; of equal ones interleaving idles (p-1)/v turns, 1F1B p-1. */
static void check_equal(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const durations one = {0.5 + random_below(100) / 50.0, 0.5 + random_below(100) / 50.0,
                           0.5 + random_below(100) / 50.0};
    const double turn_s = one.forward_s + one.input_s + one.weight_s;
    const double visits = (double)shape->microbatches * shape->chunks;
    const plait_sim_result sim = simulate(shape, &one, arena);

    if (shape->schedule == PLAIT_1F1B || shape->schedule == PLAIT_GPIPE ||
        (shape->schedule == PLAIT_INTERLEAVED && plait_schedule_group(shape) == shape->ranks))
        assert_near_relative(sim.pipeline_s, (visits + shape->ranks - 1.0) * turn_s, 1e-9);
    if (shape->schedule == PLAIT_NAIVE)
        assert_near_relative(sim.pipeline_s, visits * shape->ranks * turn_s, 1e-9);
}

static void test_equal_stages__take_what_the_papers_say(void **state)
{
    (void)state;
    on_shapes(check_equal);
}

/* F = I = W, in a long step: what Qi et al. and DeepSeek say of their schedules. */
static void check_zero_bubble(const plait_pipeline_shape *shape, plait_arena *arena)
{
    const double p = shape->ranks;
    const double work_s = 3.0 * shape->microbatches * shape->chunks;
    const plait_sim_result sim = simulate(shape, &units, arena);
    const double idle_s = longest_span_s(shape, &sim) - work_s;

    if (shape->microbatches < 2 * shape->ranks)
        return;
    if (shape->schedule == PLAIT_ZB_H1)
        assert_near(idle_s, p - 1.0, 1e-9);
    if (shape->schedule == PLAIT_ZB_H2 || shape->schedule == PLAIT_ZB_V)
        assert_near(idle_s, 0.0, 1e-9);
    if (shape->schedule == PLAIT_V_HALF) // a slot is half a stage: 1F1B idles 6(p-1) of them
        assert_true(idle_s <= 3.0 * (p - 1.0) + 1e-9);
    if (shape->schedule == PLAIT_V_MIN)
        assert_true(idle_s <= 4.0 * (p - 1.0) + 1e-9);
    if (shape->schedule == PLAIT_DUALPIPE) // (p/2 - 1)(F&B + B - 3W) with B whole
        assert_true(sim.pipeline_s - work_s <= (p / 2.0 - 1.0) * 2.0 + 1e-9);
    if (shape->schedule == PLAIT_DUALPIPE_V)
        assert_true(sim.pipeline_s - work_s <= (p - 1.0) * 2.0 + 1e-9);
}

static void test_zero_bubble__is_what_its_papers_say_in_equal_parts(void **state)
{
    (void)state;
    on_shapes(check_zero_bubble);
}

// ---- what cannot be spelled out ------------------------------------------------------------

static void test_shapes_without_actions__are_known(void **state)
{
    static const plait_pipeline_shape none[] = {
        {PLAIT_ZB_V, 4, 1, 8},
        {PLAIT_V_HALF, 4, 3, 8},
        {PLAIT_V_MIN, 1, 2, 8},
        {PLAIT_DUALPIPE_V, 4, 2, 7},
        {PLAIT_DUALPIPE, 3, 1, 12},
        {PLAIT_DUALPIPE, 4, 1, 6},
        {PLAIT_DUALPIPE, 4, 1, 9},
        {PLAIT_1F1B, 4, 2, 8},
        {PLAIT_INTERLEAVED, 4, 1, 8},
        {PLAIT_INTERLEAVED, 4, 2, 9},
        {PLAIT_INTERLEAVED, 1 << 20, INT_MAX, 1 << 20},
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

// ---- remembered ----------------------------------------------------------------------------

static plait_pipelines *spans;

/* The spans of unlike stages, by a simulation and from the order that is remembered. */
static void check_spans_once(const plait_pipeline_shape *shape, plait_arena *arena)
{
    durations take[MOST_STAGES];
    plait_sim_stage stage[MOST_STAGES];
    plait_rank_actions *actions = plait_arena_alloc(arena, MOST_RANKS, sizeof *actions);
    const plait_sim sim = sim_of(shape, actions, stage);
    plait_sim_spans simulated, summed;
    plait_error err;

    assert_non_null(actions);
    random_durations(take);
    fill_stages(take, sim.stages, stage);
    must(plait_schedule_actions(shape, arena, actions, &err), &err);
    must(plait_sim_span(&sim, arena, &simulated, &err), &err);
    must(span_cache_spans(spans, shape, stage, arena, &summed, &err), &err);
    assert_true(summed.pipeline_s == simulated.pipeline_s);
    assert_true(summed.rank_s == simulated.rank_s);
}

static void check_spans(const plait_pipeline_shape *shape, plait_arena *arena)
{
    check_spans_once(shape, arena);
    check_spans_once(shape, arena); // known by now, with other times
}

static void test_spans__are_those_of_a_simulation(void **state)
{
    plait_arena *const memory = plait_arena_new();

    (void)state;
    assert_non_null(memory);
    spans = span_cache_new(memory);
    assert_non_null(spans);
    on_shapes(check_spans); // none may be remembered
    span_cache_grow(spans, memory);
    on_shapes(check_spans); // until there is no room for more
    plait_arena_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans__are_those_of_a_simulation),
        cmocka_unit_test(test_every_stage_and_microbatch__goes_forward_and_back_once),
        cmocka_unit_test(test_stages__stay_on_their_ranks),
        cmocka_unit_test(test_in_flight__stays_within_the_closed_form),
        cmocka_unit_test(test_patterns__keep_what_their_paper_says),
        cmocka_unit_test(test_makespan__is_the_closed_form_or_longer),
        cmocka_unit_test(test_equal_stages__take_what_the_papers_say),
        cmocka_unit_test(test_zero_bubble__is_what_its_papers_say_in_equal_parts),
        cmocka_unit_test(test_shapes_without_actions__are_known),
        cmocka_unit_test(test_groups__are_of_pp_where_that_divides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
