/*
 * engine.h - the fastest way to fill the stages of a 1F1B pipeline, by dynamic programming over
 * labels
 *
 * Stages are filled from the first to the last. A state (s, i) means that the first s stages are
 * filled and have led to i, which the caller defines: a number of items or layers, or the tp of the
 * last layer. The caller lists the options of a stage in a state; each option has times and leads
 * to a state of the next stage. A label is one way to fill the first s stages, an answer one way to
 * fill all p stages. L(s, i) are the labels of state (s, i):
 *
 *     L(0, 0)     = { no stage }
 *     L(s + 1, j) = the undominated labels of
 *                   { label + option : label in L(s, i), option of stage s from i to j }
 *     minimise over L(p, goal)    weight * step(chains of C.73, tails)
 *
 * f and b are the forward and backward time of a microbatch on a stage. The tail of a step is the
 * exposed work after its pipeline: gradient reductions, gathers and optimizer.
 *
 * The searches for layouts, choices per stage, choices per layer and plans over several node groups
 * use this engine. They differ in their options and in the lower bounds of the remaining stages;
 * label, dominance (S.64), bounds (S.61, S.65) and limit of labels are the same for all.
 */
#pragma once

#include "costmodel/api.h"

/** Size of a pipeline, for the bounds of S.61 and S.62. */
typedef struct pipeline_shape {
    int stages;
    int microbatches;
    double max_work; /* most work of all stages in one second: pipeline_max_work, or 1 */
} pipeline_shape;

/**
 * Returns the largest f + b of all stages together, in seconds, in a pipeline of one second. (S.62)
 */
double pipeline_max_work(int stages, int microbatches);

/**
 * Returns a lower bound of a pipeline's time, in seconds, from f + b of its slowest stage and f + b
 * of all its stages together. (S.61)
 */
double pipeline_lower_bound_s(const pipeline_shape *shape, double slowest_s, double work_s);

/** One way to fill the next stage. */
typedef struct pipeline_option {
    plait_chunk_time time;
    plait_stage_tail tail;
    int state;          /* state of the next stage */
    const void *choice; /* caller's identifier, returned in the labels */
} pipeline_option;

/**
 * Lower bounds of the remaining stages. An infinite slowest_s means that the remaining stages
 * cannot hold the remaining layers.
 */
typedef struct pipeline_rest {
    double slowest_s; /* f + b of the slowest stage */
    double work_s;    /* f + b of all stages */
    double tail_s;    /* tail: reductions, gathers and optimizer together */
} pipeline_rest;

typedef struct pipeline_engine pipeline_engine;

typedef struct pipeline_problem {
    pipeline_shape shape;
    int states; /* number of states of each stage */
    int goal;   /* state after the last stage that every answer has */
    /* true (grad_sync bulk): reductions of stages add up; false: the longest counts */
    bool reductions_add;
    double weight; /* objective of one second */
    double limit;  /* labels whose bound reaches this objective are dropped */
    /* most labels of one state; beyond it the one with the largest bound is dropped */
    int most_labels;
    void *context;
    /** Calls pipeline_extend with every option of a stage in a state that has a label. */
    plait_status (*list)(pipeline_engine *engine, void *context, int stage, int state,
                         plait_error *err);
    /** Returns lower bounds of the stages from `stage` on, in `state`. */
    pipeline_rest (*rest)(const void *context, int stage, int state);
    /** Returns the seconds of a step from its pipeline and tail; NULL: their sum. */
    double (*step_s)(const void *context, double pipeline_s, const plait_stage_tail *tail);
} pipeline_problem;

/** One way to fill the first stages. The step grows with each of the fields up to slowest_s. */
typedef struct pipeline_label {
    plait_chain chain; /* C.73 of these stages */
    /* longest times of these stages; reduce_s is a sum with reductions_add */
    plait_stage_tail tail;
    double slowest_s;   /* f + b of the slowest of these stages */
    double bound;       /* lower bound of every completion, in the objective (S.65) */
    int state;          /* state after these stages */
    const void *choice; /* choice of the last of these stages */
    int before;         /* index of the label without the last stage; -1: none */
    int next;           /* index of the next label of the same state; -1: none */
} pipeline_label;

typedef struct pipeline_result {
    double bound;                /* lower bound of every answer */
    int labels;                  /* number of stored labels, without the empty one */
    bool complete;               /* true if most_labels dropped no label: `best` is optimal */
    const pipeline_label *label; /* all stored labels, in the arena */
    int first;    /* index of the first answer, linked by `next`; -1: none below the limit */
    int best;     /* index of the answer with the least objective; -1: none */
    double value; /* objective of `best`; infinite: none */
} pipeline_result;

/**
 * Extends a label by one stage. Does not set `before`, `next` and `bound`, which belong to the
 * lists of the engine.
 */
void pipeline_pass(const pipeline_problem *problem, const pipeline_option *option,
                   pipeline_label *label);

/**
 * Extends each label of the current stage and state by one option. Called by pipeline_problem.list.
 */
void pipeline_extend(pipeline_engine *engine, const pipeline_option *option);

/**
 * Solves a pipeline problem. All results live in `arena`. Fails only if out of memory or if `list`
 * fails.
 */
PLAIT_MUST_CHECK plait_status pipeline_solve(const pipeline_problem *problem, plait_arena *arena,
                                             pipeline_result *out, plait_error *err);

/**
 * Fills path[s], for each stage s, with the label of the answer that has the choice of stage s and
 * the state after it.
 */
void pipeline_path(const pipeline_result *result, int answer, int stages,
                   const pipeline_label **path);

/**
 * Assigns an identifier to each range of layers [first, last). Ranges with equal numbers of layers
 * of each kind have the same identifier.
 *
 * @param count  receives the number of different identifiers, which are 0 to *count - 1
 * @return       identifiers at [(layers + 1) * first + last]; NULL when out of memory
 */
const int *pipeline_ranges(const plait_model *model, plait_arena *arena, int *count);

/** Returns the seconds of a tail. */
static inline double pipeline_tail_s(const plait_stage_tail *tail)
{
    return tail->reduce_s + tail->gather_s + tail->optimizer_s;
}
