/*
 * schedule_sim.h - simulation of a pipeline's actions in the order of their dependencies, and a
 * cache of these orders
 *
 * With a cached order, a schedule with other stage times needs no new simulation: the cache
 * computes the same result as the simulator.
 */
#pragma once

#include "plait/cost.h"
#include "plait/lowlevel/simulate.h"

/** One action in the order of the simulation. */
typedef struct sim_step {
    int rank;
    int from; /* step of another stage that this step waits for, counted from 1; 0: none */
} sim_step;

/** The end of one action F, B or I of a microbatch in a stage. */
typedef struct sim_end {
    double s;
    int rank;    /* rank that ran the action, counted from 1; 0: not done yet */
    int step;    /* step of the action, counted from 1 */
    int waiting; /* rank that waits for this end, counted from 1; 0: none */
} sim_end;

/** The state of a simulation. */
typedef struct sim_state {
    const plait_sim *sim;
    sim_end *end;    /* [2][stages][microbatches]: ends of F, then ends of B or I */
    bool *weight;    /* [stages][microbatches]: W, or the B that contains it, is done */
    double *free_s;  /* [ranks]: end of the rank's last action */
    int *done;       /* [ranks]: number of actions done */
    int steps;       /* number of actions done on all ranks */
    sim_step *order; /* [actions]: `steps` entries; no step waits for a later one */
} sim_state;

/**
 * Runs all actions and fills `out`. Fails (RANGE) if a number or an action is invalid, or if an
 * action waits forever.
 */
PLAIT_MUST_CHECK plait_status sim_solve(const plait_sim *sim, plait_arena *arena, sim_state *out,
                                        plait_error *err);

// span_cache.c
/**
 * Returns a cache in the caller's arena, or NULL if out of memory. The cache stores nothing before
 * span_cache_grow.
 */
plait_pipelines *span_cache_new(plait_arena *arena);

/** Lets the cache store schedules in `arena`, which must not be rewound. */
void span_cache_grow(plait_pipelines *cache, plait_arena *arena);

/**
 * Computes plait_sim_span for the actions of a shape, without sends, reductions and pairs.
 *
 * @param cache    NULL: the shape is simulated
 * @param stage    [ranks * chunks]
 * @param scratch  memory that is rewound before the function returns
 * @return         RANGE: the schedule has no list of actions; NOMEM
 */
PLAIT_MUST_CHECK plait_status span_cache_spans(plait_pipelines *cache,
                                               const plait_pipeline_shape *shape,
                                               const plait_sim_stage *stage, plait_arena *scratch,
                                               plait_sim_spans *out, plait_error *err);
