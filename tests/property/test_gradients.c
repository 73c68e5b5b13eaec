/*
 * test_gradients.c - gradients inside the last backward, or behind it: simulated and by closed form
 *
 * Over random pipelines of equal stages whose gradients take any time, the simulator and the price
 * (C.67, C.68) agree, and what a shift gains says how long the gradients took (C.136). Of any schedule
 * buckets take no longer than bulk (C.180), of one chunk a rank neither does a shift (C.181).
 */
#include "support/assert_near.h"
#include "support/few_draws.h"
#include "support/must.h"
#include "plait/lowlevel/limits.h"
#include "plait/runtime.h"
#include "plait/lowlevel/simulate.h"
#include "costmodel/stage/stage_cost.h"
#include "costmodel/plan/timeline_tail.h"

enum { SHAPES = FEW_DRAWS ? 400 : 2000, MOST_RANKS = 24, MOST_STAGES = 3 * MOST_RANKS };

static uint64_t seed = 67;

static uint32_t random_bits(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

static int random_below(int limit)
{
    return (int)(random_bits() % (uint32_t)limit);
}

/* A pipeline, and what its stages' gradients take. */
typedef struct pipeline {
    plait_pipeline_shape shape;
    double forward_s, backward_s;
    double gradients_s[MOST_STAGES];
    double window, share; /* of bucketed ones */
} pipeline;

static pipeline random_pipeline(void)
{
    pipeline p = {.shape = {.schedule = PLAIT_1F1B,
                            .ranks = 1 + random_below(MOST_RANKS),
                            .chunks = 1,
                            .microbatches = 1 + random_below(50)},
                  .forward_s = (1 + random_below(16)) / 4.0,
                  .backward_s = (1 + random_below(16)) / 4.0,
                  .window = random_below(5) / 4.0,
                  .share = random_below(5) / 4.0};

    for (int s = 0; s < MOST_STAGES; s++)
        p.gradients_s[s] = random_below(64) / 4.0;
    return p;
}

/* ---- simulated ---- */

static double simulated_s(const pipeline *p, plait_grad_sync how, plait_arena *arena)
{
    static const double nothing_s[MOST_RANKS];
    const double work_s = p->backward_s / p->shape.chunks;
    plait_rank_actions actions[MOST_RANKS];
    plait_sim_stage stage[MOST_STAGES];
    plait_timeline line = {.ranks = p->shape.ranks};
    const plait_sim sim = {.ranks = p->shape.ranks,
                           .stages = p->shape.ranks * p->shape.chunks,
                           .microbatches = p->shape.microbatches,
                           .actions = actions,
                           .stage = stage,
                           .two_ways = p->shape.schedule == PLAIT_DUALPIPE};
    const tail_parts parts = {.sim = &sim,
                              .pipeline = &line.pipeline,
                              .how = how,
                              .window = p->window,
                              .share = p->share,
                              .reduce_s = p->gradients_s,
                              .optimizer_s = nothing_s,
                              .gather_s = nothing_s};
    plait_error err;

    for (int s = 0; s < sim.stages; s++)
        stage[s] = (plait_sim_stage){.forward_s = p->forward_s / p->shape.chunks,
                                     .input_s = 0.5 * work_s,
                                     .weight_s = 0.5 * work_s,
                                     .reduce_s = how == PLAIT_SYNC_BULK ? p->gradients_s[s] : 0.0};
    must(plait_schedule_actions(&p->shape, arena, actions, &err), &err);
    must(plait_simulate(&sim, arena, &line.pipeline, &err), &err);
    must(timeline_follow(&parts, arena, &line, &err), &err);
    return line.step_s;
}

/* ---- as the price has it ---- */

static double pipeline_s(const pipeline *p)
{
    const plait_chunk_time all = {p->forward_s, p->backward_s, 0.0};
    const plait_rank_run run = {p->shape.ranks, all, all, all};
    const plait_pipeline_load load = {
        p->shape.ranks, 1, p->shape.microbatches, false, false, 1, &run};

    return plait_pipeline_s(PLAIT_1F1B, &load);
}

static double exposed_s(const pipeline *p, bool shifts)
{
    const plait_runtime runtime = {.name = "neutral"};
    const plait_problem problem = {.runtime = &runtime};
    const plait_degrees d = {.pp = p->shape.ranks,
                             .grad_sync = shifts ? PLAIT_SYNC_SHIFTED : PLAIT_SYNC_BULK};
    stage_cost cost[MOST_RANKS];

    for (int s = 0; s < p->shape.ranks; s++)
        cost[s] = (stage_cost){
            .load = {.index = s, .count = 1, .backward_s = p->backward_s},
            .sync = {.reduce_s = p->gradients_s[s]},
        };
    return sync_exposed_s(&problem, &d, cost, p->shape.ranks);
}

/* ---- what holds ---- */

static void on_pipelines(void (*check)(const pipeline *p, plait_arena *arena))
{
    for (int i = 0; i < SHAPES; i++) {
        const pipeline p = random_pipeline();
        plait_arena *arena = plait_arena_new();

        assert_non_null(arena);
        check(&p, arena);
        plait_arena_free(arena);
    }
}

static void agree(const pipeline *p, plait_arena *arena)
{
    const double base_s = pipeline_s(p);

    assert_near(simulated_s(p, PLAIT_SYNC_BULK, arena), base_s + exposed_s(p, false), 1e-6);
    assert_near(simulated_s(p, PLAIT_SYNC_SHIFTED, arena), base_s + exposed_s(p, true), 1e-6);
}

static void test_gradients__simulated_take_what_the_price_says(void **state)
{
    (void)state;
    on_pipelines(agree);
}

/* The same pipeline by another schedule, where it can be. */
static void never_lose(const pipeline *drawn, plait_arena *arena)
{
    static const struct {
        plait_schedule schedule;
        int chunks;
    } kinds[] = {{PLAIT_1F1B, 1}, {PLAIT_INTERLEAVED, 2}, {PLAIT_INTERLEAVED, 3}, {PLAIT_ZB_H1, 1},
                 {PLAIT_ZB_V, 2}, {PLAIT_GPIPE, 1},       {PLAIT_DUALPIPE, 1}};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        pipeline p = *drawn;
        p.shape.schedule = kinds[k].schedule;
        p.shape.chunks = kinds[k].chunks;
        if (!plait_schedule_has_actions(&p.shape))
            continue;
        const double bulk_s = simulated_s(&p, PLAIT_SYNC_BULK, arena);
        // Of several chunks the first to be done may hide in a gap where bulk leaves it.
        if (p.shape.chunks == 1 && p.shape.schedule != PLAIT_DUALPIPE)
            assert_true(simulated_s(&p, PLAIT_SYNC_SHIFTED, arena) <= bulk_s + 1e-9);
        assert_true(simulated_s(&p, PLAIT_SYNC_BUCKETED, arena) <= bulk_s + 1e-9);
    }
}

static void test_gradients__never_take_longer_than_in_bulk(void **state)
{
    (void)state;
    on_pipelines(never_lose);
}

/* Equal gradients, so that the first stage's are what is left of a shift. */
static void say_their_share(const pipeline *drawn, plait_arena *arena)
{
    pipeline p = *drawn;

    p.shape.ranks += p.shape.ranks == 1;
    for (int s = 0; s < p.shape.ranks; s++)
        p.gradients_s[s] = 0.25 + drawn->gradients_s[0];
    const double gain =
        simulated_s(&p, PLAIT_SYNC_BULK, arena) / simulated_s(&p, PLAIT_SYNC_SHIFTED, arena) - 1.0;
    assert_near_relative(plait_sync_share(p.shape.ranks, gain), p.gradients_s[0] / pipeline_s(&p),
                         1e-9);
}

static void test_gradients__gain_says_their_share(void **state)
{
    (void)state;
    on_pipelines(say_their_share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients__simulated_take_what_the_price_says),
        cmocka_unit_test(test_gradients__never_take_longer_than_in_bulk),
        cmocka_unit_test(test_gradients__gain_says_their_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
