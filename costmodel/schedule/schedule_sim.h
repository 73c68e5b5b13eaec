/*
 * schedule_sim.h - runs the actions of a simulated pipeline in an order of their dependencies, and a
 * cache of simulated schedules: times for other stage times, equal to simulation
 */
#pragma once

#include "plait/cost.h"
#include "plait/lowlevel/simulate.h"

/** One action in the order of the simulation. */
typedef struct sim_step {
    int rank;
    int from; /* number, from 1, of the step that it waits for; 0: of no other stage */
} sim_step;

/** The end of F, or of B or I, of one microbatch of one stage. */
typedef struct sim_end {
    double s;
    int rank;    /* from 1; 0: not done yet */
    int step;    /* number of its step, from 1 */
    int waiting; /* rank to resume at the end, from 1; 0: none */
} sim_end;

/** The state of a simulation. */
typedef struct sim_state {
    const plait_sim *sim;
    sim_end *end;    /* [2][stages][microbatches]: of F, then of B or I */
    bool *weight;    /* [stages][microbatches]: W is done, or the B that contains it */
    double *free_s;  /* [ranks]: end of the last action */
    int *done;       /* [ranks]: actions done */
    int steps;       /* actions done on all ranks */
    sim_step *order; /* [actions], `steps` filled; no step waits for a later one */
} sim_state;

/** Runs all actions: fills every end, the order, and the end of each rank's last action. */
PLAIT_MUST_CHECK plait_status sim_solve(const plait_sim *sim, plait_arena *arena, sim_state *out,
                                        plait_error *err);

// span_cache.c
/** A cache in the caller's arena; NULL: out of memory. It stores nothing before span_cache_grow. */
plait_pipelines *span_cache_new(plait_arena *arena);

/** Lets the cache store schedules in `arena`, which must not be rewound. */
void span_cache_grow(plait_pipelines *cache, plait_arena *arena);

/**
 * plait_sim_span of a shape's actions, whose stages have no sends, no reductions and no pairs.
 *
 * @param cache     NULL: no cache
 * @param stage    [ranks * chunks]
 * @param scratch  is rewound
 * @return         RANGE: the schedule has no list of actions; NOMEM
 */
PLAIT_MUST_CHECK plait_status span_cache_spans(plait_pipelines *cache,
                                               const plait_pipeline_shape *shape,
                                               const plait_sim_stage *stage, plait_arena *scratch,
                                               plait_sim_spans *out, plait_error *err);
