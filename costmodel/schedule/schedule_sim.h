/*
 * schedule_sim.h - the state of a simulated pipeline, and one action of it
 *
 *     schedule_sim.c         ends of all actions, for prices
 *     schedule_sim_events.c  begin of each action, what it waited for, memory of ranks
 *
 * Both take the same steps: one action of a rank, or a pair that runs at once.
 */
#pragma once

#include "plait/lowlevel/simulate.h"

/** One microbatch of one stage. Ranks count from 1; 0: none. */
typedef struct sim_cell {
    double forward_s; /* end of its F */
    double input_s;   /* end of its B or I */
    int forward_rank, input_rank;
    int waits_for_forward, waits_for_input;
    bool weight; /* W is done, or the B that contains it */
} sim_cell;

/** The state of a simulation. */
typedef struct sim_state {
    const plait_sim *sim;
    sim_cell *cell; /* [stages][microbatches] */
    double *free_s; /* [ranks]: end of the last action */
    int *done;      /* [ranks]: actions done */
    int steps;      /* actions done on all ranks */
    int *
        order; /* [actions], `steps` filled: rank of each action, none before those it depends on */
} sim_state;

/** The arrival that an action waits for: the end of F, B or I of another cell, and its send. */
typedef struct sim_arrival {
    const sim_cell *from; /* the cell; NULL: the action waits for nothing */
    bool forward;         /* it waits for F, else for B or I */
    double at_s;
} sim_arrival;

/** One action, or a pair that runs at once. */
typedef struct sim_step {
    int count; /* actions: 1 or 2; 0: it waits for an action that is not done */
    sim_arrival came;
    double take_s;
} sim_step;

static inline sim_cell *sim_cell_of(const sim_state *state, int stage, int microbatch)
{
    return &state->cell[(size_t)stage * (size_t)state->sim->microbatches + (size_t)microbatch];
}

/** The next step of a rank; a rank that has to wait is stored in the cell that it waits for. */
sim_step sim_step_of(const sim_state *state, int rank, int done);

/** Runs all actions: fills every cell and the end of each rank's last action. */
PLAIT_MUST_CHECK plait_status sim_solve(const plait_sim *sim, plait_arena *arena, sim_state *out,
                                        plait_error *err);
