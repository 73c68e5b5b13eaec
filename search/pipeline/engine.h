/*
 * engine.h - the fastest way to fill the stages of a 1F1B pipeline, by dynamic programming over
 * labels
 *
 * Stages are filled from the first to the last. A state (s, i) means that the first s stages are
 * filled and that they hold i; what i counts is the caller's: items of a row, layers, or the tp of
 * the last layer. The caller lists the options of a stage in a state; each has times and leads to a
 * state of the next stage.
 *
 *     L(0, 0)     = { no stage }
 *     L(s + 1, j) = the undominated of { label + option : label in L(s, i), option of stage s from i to j }
 *     minimise over L(p, goal)    weight * step(chains of C.73, tails)
 *
 * Layouts, choices by stage, choices by layer and node groups of several kinds differ in their
 * options and in the lower bound of what the stages to come take. All share one label, one
 * dominance (S.64), one bound (S.61, S.65) and one limit of labels.
 */
#pragma once

#include "costmodel/api.h"

/** A pipeline's size, for the bounds of S.61 and S.62. */
typedef struct pipeline_shape {
    int stages;
    int microbatches;
    double max_work; /* work of all stages in a pipeline of one second: pipeline_max_work, or 1 */
} pipeline_shape;

/** The largest work, f + b of all stages, that a pipeline of one second can do. (S.62) */
double pipeline_max_work(int stages, int microbatches);

/** Lower bound of a pipeline with this slowest stage and this work of all stages. (S.61) */
double pipeline_lower_bound_s(const pipeline_shape *shape, double slowest_s, double work_s);

/** One way to fill the next stage. */
typedef struct pipeline_option {
    plait_chunk_time time;
    plait_stage_tail tail;
    int state;          /* that it leads to */
    const void *choice; /* by which the caller identifies it in the result */
} pipeline_option;

/** Lower bounds of the stages to come; slowest_s infinite: they cannot hold what is left. */
typedef struct pipeline_rest {
    double slowest_s; /* f + b of the slowest */
    double work_s;    /* f + b of all */
    double tail_s;    /* longest tail */
} pipeline_rest;

typedef struct pipeline_engine pipeline_engine;

typedef struct pipeline_problem {
    pipeline_shape shape;
    int states; /* of each stage */
    int goal;   /* state of the last stage that is an answer */
    bool
        reductions_add; /* grad_sync bulk: the stages' reductions add up; else the longest counts */
    double weight;      /* objective of one second */
    double limit;       /* labels whose bound reaches this objective are dropped */
    int most_labels;    /* of one state; above it the label with the largest bound is dropped */
    void *context;
    /** Calls pipeline_extend with every option of a stage in a state that has a label. */
    plait_status (*list)(pipeline_engine *engine, void *context, int stage, int state,
                         plait_error *err);
    /** Bounds of the stages from `stage` on. */
    pipeline_rest (*rest)(const void *context, int stage, int state);
    /** Seconds of a step with this pipeline and tail; NULL: their sum. */
    double (*step_s)(const void *context, double pipeline_s, const plait_stage_tail *tail);
} pipeline_problem;

/** One way to fill the first stages. A step grows with each of its fields up to slowest_s. */
typedef struct pipeline_label {
    plait_chain chain;     /* C.73 of these stages */
    plait_stage_tail tail; /* longest of these stages, or the sum (reductions_add) */
    double slowest_s;      /* f + b of the slowest of these stages */
    double bound;          /* lower bound of every completion, in the objective (S.65) */
    int state;             /* that these stages lead to */
    const void *choice;    /* of the last of these stages */
    int before;            /* label without the last stage; -1: none */
    int next;              /* label of the same state; -1: the last */
} pipeline_label;

typedef struct pipeline_result {
    double bound;                /* lower bound of every answer */
    int labels;                  /* number of stored labels, without the empty one */
    bool complete;               /* most_labels dropped none: the best answer is the optimum */
    const pipeline_label *label; /* in the arena */
    int first;                   /* answer; others follow by `next`; -1: none below the limit */
    int best;                    /* answer with the least value; -1: none */
    double value;                /* its objective; infinite: none */
} pipeline_result;

/** Gives a label one more stage: all fields but those that the engine keeps its lists by. */
void pipeline_pass(const pipeline_problem *problem, const pipeline_option *option,
                   pipeline_label *label);

/** Adds an option of the stage and state that `list` was called for. */
void pipeline_extend(pipeline_engine *engine, const pipeline_option *option);

/** Solves it. Everything lives in `arena`. */
PLAIT_MUST_CHECK plait_status pipeline_solve(const pipeline_problem *problem, plait_arena *arena,
                                             pipeline_result *out, plait_error *err);

/** The labels on the way to an answer: path[s] has the choice of stage s and the state after it. */
void pipeline_path(const pipeline_result *result, int answer, int stages,
                   const pipeline_label **path);

/**
 * Numbers the ranges of layers [first, last): those with as many layers of each kind have one
 * number.
 *
 * @param count  numbers that occur
 * @return       [(layers + 1) * first + last]; NULL when out of memory
 */
const int *pipeline_ranges(const plait_model *model, plait_arena *arena, int *count);

/** Seconds of a tail. */
static inline double pipeline_tail_s(const plait_stage_tail *tail)
{
    return tail->reduce_s + tail->gather_s + tail->optimizer_s;
}
