/*
 * schedule_sim.h - the state of a simulated pipeline, and one action of it
 *
 *     schedule_sim.c         the end of everything, which a price needs
 *     schedule_sim_events.c  begin of each action, what it waited for, memory of ranks
 *
 * Both take the same steps: an action, or a pair, of a rank that is free at some time.
 */
#pragma once

#include "plait/lowlevel/simulate.h"

/** One microbatch of one stage. Ranks count from 1; 0: none. */
typedef struct sim_cell {
    double forward_s; /* end of its F */
    double input_s;   /* end of its B or I */
    int forward_rank, input_rank;
    int waits_for_forward, waits_for_input;
    bool weight; /* W is done, or the B that it is part of */
} sim_cell;

/** The state of a simulation. */
typedef struct sim_state {
    const plait_sim *sim;
    sim_cell *cell; /* [stages][microbatches] */
    double *free_s; /* [ranks]: end of the last action */
    int *done;      /* [ranks]: actions */
    int steps;
    int *
        order; /* [actions], `steps` of them filled: whose action was next, none before what it waits for */
} sim_state;

/** What an action waits for: the end of F, or of B or I, of a cell and its send. */
typedef struct sim_arrival {
    const sim_cell *from; /* NULL: nothing */
    bool forward;
    double at_s;
} sim_arrival;

/** One action, or a pair that runs at once. */
typedef struct sim_step {
    int count; /* 1, 2; 0: it waits for what is not done */
    sim_arrival came;
    double take_s;
} sim_step;

static inline sim_cell *sim_cell_of(const sim_state *state, int stage, int microbatch)
{
    return &state->cell[(size_t)stage * (size_t)state->sim->microbatches + (size_t)microbatch];
}

/** The next step of a rank; a rank that has to wait is stored in the cell that it waits for. */
sim_step sim_step_of(const sim_state *state, int rank, int done);

/** Runs all actions: fills every cell, and when each rank's last action ends. */
PLAIT_MUST_CHECK plait_status sim_solve(const plait_sim *sim, plait_arena *arena, sim_state *out,
                                        plait_error *err);
