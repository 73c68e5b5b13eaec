/*
 * heterogeneous.h - plans over node groups with different accelerators: stages to groups, layers to
 * stages
 *
 * A group choice takes some of the groups, and for each of them one run of stages, or two runs of
 * different degrees. A group order puts its runs in a row; the pipeline goes through them.
 *
 *     minimise   w (T(f, b) + sends + max reduce_s + max gather_s + max optimizer_s)            (S.60)
 *     over       group choices and their orders, layers l_1 .. l_p >= 1 that sum to L, and the recomputation of each
 *                stage
 *     such that  dp mbs, cp and the ZeRO stage are the same for all runs, the sum of n tp cp dp over
 *                the runs of a group that is used is G_g, the second run begins as rule P48 demands,
 *                state_s + min(p - s, m) flight_s <= capacity of the nodes of stage s
 *
 * T is the pipeline of 1F1B, exactly (C.73); w is 1, or the dollars an hour of the groups that are
 * used. The files, in the order in which they are used:
 *
 *     heterogeneous_degrees.c   legal degrees of each group
 *     heterogeneous_stages.c    options of a stage and their least times, by layers and microbatches in flight
 *     heterogeneous_bound.c     lower bounds of a group choice in any order (S.61, S.62, S.68)
 *     heterogeneous_choices.c   group choices whose bound is below the limit (S.66, S.70)
 *     heterogeneous_dp.c        the best layers of one order, by the engine (S.63 to S.65)
 *     heterogeneous_orders.c    all orders, the choice with the least bound first (S.66)
 *     heterogeneous_closest.c   nothing fits: the plan that lacks least memory (S.69)
 *     heterogeneous.c           the answer, with the plans of each group alone beside it (S.67)
 */
#pragma once

#include "plait/runtime.h"
#include "plait/search.h"
#include "search/pipeline/engine.h"

enum { HETERO_RUNS = 2 * PLAIT_MAX_NODE_GROUPS };

/** Place of a stage in the pipeline, which decides what ends of the model it has. */
typedef enum hetero_place { HETERO_MIDDLE, HETERO_FIRST, HETERO_LAST, HETERO_PLACES } hetero_place;

/** Times of one stage with one kind of recomputation. */
typedef struct stage_option {
    double forward_s, backward_s; /* as in plait_stage_price */
    double reduce_s, gather_s, optimizer_s;
    int max_in_flight; /* microbatches that fit the memory of its nodes */
    int recompute;     /* index into the space's */
} stage_option;

static inline double stage_option_s(const stage_option *option)
{
    return option->forward_s + option->backward_s;
}

/** The options of a stage that no other dominates. */
typedef struct stage_options {
    bool valid;
    int count;
    stage_option *option; /* [count] */
} stage_options;

/**
 * Lower bounds of a stage, over its options that fit with a number of microbatches in flight;
 * infinite if none does, or if no plan that uses the stage is below the limit.
 */
typedef struct stage_bound {
    double stage_s; /* f + b */
    double tail_s;  /* gradients, gathers and optimizer together */
} stage_bound;

/** Bytes of one stage with one kind of recomputation. */
typedef struct stage_bytes {
    double state, flight; /* flight: of each microbatch in flight */
} stage_bytes;

typedef struct stage_run stage_run;

/**
 * Degrees of stages on one group, with prices that are computed when they are first used: options,
 * bounds and bytes are NULL until then, by place and, for options and bounds, by the group at the
 * other end of the pipeline, with which tied embeddings are reduced.
 */
typedef struct group_degrees {
    plait_degrees degrees; /* pp: stages that the group has the GPUs for */
    int group;
    int gpus;         /* of one stage */
    int max_stages;   /* that the group has the GPUs for */
    bool fills_group; /* max_stages of them use all GPUs of the group */
    int domain;       /* GPUs of the group's scale-up level */
    int64_t size;     /* hetero_size, which all runs of a plan share */
    plait_stage_sort *sort;
    double capacity_bytes;
    double kind_s[PLAIT_MAX_LAYER_KINDS]; /* f + b of a layer that recomputes nothing */
    double first_s, last_s; /* f + b that the embedding, or modules and loss, add to a stage */
    double unit_s;          /* least f + b of a unit of work */
    double least_s;         /* least f + b of a layer: each stage has one */
    plait_between_stages boundary; /* between two of its stages */
    const double
        *tail_s; /* [layers + 1] lower bound of its tail, by layers of the fullest stage (S.68) */
    stage_options *options[HETERO_PLACES][PLAIT_MAX_NODE_GROUPS]; /* [ranges] */
    stage_bound **bounds[HETERO_PLACES][PLAIT_MAX_NODE_GROUPS];   /* [in flight][ranges] */
    stage_bytes **bytes[HETERO_PLACES];                           /* [ranges][recomputes] */
    stage_run **run;                                              /* [max_stages + 1] */
} group_degrees;

/** Consecutive stages with the same degrees. */
struct stage_run {
    group_degrees *choice;
    int stages;
    int fills;
    const double
        *fill_s; /* [fills] times at which its stages hold one more layer, ascending (S.62) */
};

/** Degrees of one group for one size, those with most work a second first. */
typedef struct degrees_list {
    int count;
    group_degrees **choice;
    int gpus; /* of the group */
} degrees_list;

/** A plan below the limit. */
typedef struct hetero_plan {
    plait_plan plan;
    double objective;
} hetero_plan;

/**
 * Recomputation that may differ between the stages of a plan, and the degrees that are legal with
 * it.
 */
typedef struct hetero_space {
    int recomputes;
    const plait_recompute *recompute; /* [recomputes] */
    int sizes;                        /* that some group has degrees for */
    int64_t *size;                    /* [sizes] */
    degrees_list *list;               /* [sizes][PLAIT_MAX_NODE_GROUPS] */
} hetero_space;

/** A search: its input, its space, and what it found. */
typedef struct hetero_problem {
    const plait_problem *problem;
    const plait_search_options *options;
    plait_arena *arena;
    plait_arena *scratch;                     /* of one stage */
    double usd_per_s[PLAIT_MAX_NODE_GROUPS];  /* of a whole group */
    hetero_space space;                       /* that is searched now */
    int ranges;                               /* numbers that occur in `range` */
    const int *range;                         /* pipeline_ranges */
    double kind_units[PLAIT_MAX_LAYER_KINDS]; /* work of a layer of each kind */
    double units;                             /* work of the model */
    unsigned must;                            /* bits of groups that a plan has to use */
    bool min_memory; /* only degrees with the fewest sequences a replica, whether they fit or not */
    int top;
    int found_count;
    hetero_plan *found; /* [top], best first */
    int64_t listed;     /* group choices */
    int64_t solved;     /* group choices whose bound was below the limit */
    double lacks_bytes; /* memory that `closest` lacks; infinite: closest is not valid */
    plait_plan closest; /* of one group alone */
    bool closest_open;  /* some group's closest plan is not proven */
    const char
        *why[PLAIT_MAX_NODE_GROUPS]; /* reason why it has no legal plan alone; NULL: it has one */
} hetero_problem;

enum { HETERO_SIZE_FACTOR = 1 << 22 }; /* above any 4 cp + zero */

/**
 * Sequences of a microbatch, cp and the ZeRO stage in one number: what the runs of a plan have in
 * common.
 */
static inline int64_t hetero_size(const plait_degrees *d)
{
    return (int64_t)d->dp * d->mbs * HETERO_SIZE_FACTOR + (int64_t)d->cp * 4 + d->zero;
}

/** Microbatches of such a size in a step. */
static inline int hetero_microbatches(const hetero_problem *q, int64_t size)
{
    return (int)(q->problem->job.gbs / (size / HETERO_SIZE_FACTOR));
}

/**
 * Runs of some groups, those of one group next to each other, without an order of the groups yet.
 */
typedef struct group_choice {
    double bound;   /* lower bound of the objective, in any order */
    int64_t listed; /* number in the order in which choices were listed */
    double weight;  /* objective of one second */
    int runs;
    stage_run *run[HETERO_RUNS];
    pipeline_shape shape;
    plait_between_stages inside; /* sends that every order has */
} group_choice;

typedef struct group_choices {
    int count, capacity;
    group_choice *set;
    plait_arena *arena;
} group_choices;

/** A group choice in one order. */
typedef struct group_order {
    const group_choice *set;
    stage_run *run[HETERO_RUNS];
    plait_between_stages between; /* sends alone */
    double max_s;                 /* f + b of a stage in a plan below the limit, at most */
    int most_labels;              /* of a state of the engine; INT_MAX is exact */
} group_order;

static inline hetero_place hetero_place_of(const group_choice *set, int s)
{
    return s == 0 ? HETERO_FIRST : s == set->shape.stages - 1 ? HETERO_LAST : HETERO_MIDDLE;
}

/** Microbatches in flight on a stage. (C.77) */
static inline int hetero_in_flight(const group_choice *set, int s)
{
    const int to_come = set->shape.stages - s;

    return to_come < set->shape.microbatches ? to_come : set->shape.microbatches;
}

/** The group at the other end of the pipeline, for the first and the last stage. */
static inline int hetero_other_end(const group_order *order, int s)
{
    return order->run[s == 0 ? order->set->runs - 1 : 0]->choice->group;
}

/** The best layers of one order. */
typedef struct hetero_layout {
    bool failed;              /* out of memory */
    bool solved;              /* its lower bound was below the limit */
    double objective;         /* infinite: no plan is below the limit */
    short *last;              /* [stages] one past a stage's layers */
    unsigned char *recompute; /* [stages] index into the space's */
} hetero_layout;

// heterogeneous_degrees.c
PLAIT_MUST_CHECK plait_status hetero_list_degrees(hetero_problem *q, plait_error *err);
/** Objective of one second of these groups (bits). */
double hetero_weight(const hetero_problem *q, unsigned groups);

// heterogeneous_stages.c
/** The range of layers [first, last). */
static inline int hetero_range(const hetero_problem *q, int first, int last)
{
    return q->range[first * (q->problem->model->layers + 1) + last];
}
/** The group at the other end if the price of a stage depends on it, else its own. */
static inline int hetero_end(const hetero_problem *q, const group_degrees *choice,
                             hetero_place place, int other)
{
    return place == HETERO_MIDDLE || !q->problem->model->tied ? choice->group : other;
}
/**
 * The stage with layers [first, last): its chunk and recomputation live in `arena`. False when out
 * of memory.
 */
bool hetero_stage(const hetero_problem *q, const group_degrees *choice, hetero_place place,
                  int first, int last, plait_recompute recompute, plait_arena *arena,
                  plait_stage *out);
/**
 * Lower bounds of a stage, by range of layers, with their options. Ranges that take longer than any
 * plan below the limit allows are infinite and without options. NULL when out of memory.
 */
const stage_bound *hetero_stage_bounds(hetero_problem *q, group_degrees *choice, hetero_place place,
                                       int other, int in_flight);
/** A run, which all group choices that have it share; NULL when out of memory. */
stage_run *hetero_run(hetero_problem *q, group_degrees *choice, int stages);
/**
 * True if stages of b may follow this number of stages of a, the first run of their group. (P48)
 */
bool hetero_may_follow(const group_degrees *a, int stages, const group_degrees *b);

// heterogeneous_bound.c
/** Stages that take the same time for a unit of work. */
typedef struct divisible_part {
    double units_per_s; /* of all of them */
    double unit_s;
} divisible_part;
/** A pipeline whose work is divisible at any point; made by divisible_add. */
typedef struct divisible_pipeline {
    double microbatches;
    double stages;
    double ends_s; /* work of the ends of the model */
    double one_s;  /* lower bound of f + b of the slowest stage */
    int parts;
    divisible_part part[HETERO_RUNS]; /* the fastest first */
} divisible_pipeline;
void divisible_add(divisible_pipeline *cut, double stages, double units_per_s, double unit_s);
/** Lower bound of the pipeline. (S.62) */
double divisible_lower_bound_s(const divisible_pipeline *cut, double units);
/** The longest f + b of a stage with which the pipeline ends within the limit. (S.70) */
double divisible_max_stage_s(const divisible_pipeline *cut, double units, double limit_s);
/** tail_s of degrees, for layers of one kind. NULL when out of memory. */
const double *hetero_tail_bounds(hetero_problem *q, group_degrees *choice);
/** Lower bound of a choice's objective in any order, with divisible layers. (S.62) */
double hetero_divisible_bound(const hetero_problem *q, const group_choice *set);
/**
 * Lower bound with whole layers of one kind that fit, below the limit; negative when out of memory.
 * (S.62)
 */
double hetero_whole_layer_bound(hetero_problem *q, const group_choice *set);
/** The longest f + b of a stage in a plan of this choice below the limit. (S.68) */
double hetero_max_stage_s(const hetero_problem *q, const group_choice *set);

// heterogeneous_choices.c
/**
 * Adds the choices of one size whose bound is below the limit; false when out of memory.
 *
 * @param uneven       those with two runs in one group, else those with one run a group
 * @param budget       options to try, reduced by those tried; negative if it did not last
 * @param lower_bound  of all of these choices
 */
bool hetero_list_choices(hetero_problem *q, int size, bool uneven, int64_t *budget,
                         double *lower_bound, group_choices *out);

// heterogeneous_dp.c
/** The best layers of an order; they live in `arena`. */
hetero_layout hetero_dp(const hetero_problem *q, const group_order *order, double limit,
                        plait_arena *arena);

// heterogeneous_orders.c
/** The plan of these layers; lives in the problem's arena. */
PLAIT_MUST_CHECK plait_status hetero_build_plan(hetero_problem *q, const group_order *order,
                                                const hetero_layout *layout, plait_plan *plan,
                                                plait_error *err);
/**
 * Searches all orders of all choices with one run a group, or with a budget those with two runs in
 * one group. (S.70)
 *
 * @param budget       options to try, reduced by those tried; NULL: one run a group
 * @param lower_bound  lowered to that of what the budget left out
 */
PLAIT_MUST_CHECK plait_status hetero_search_orders(hetero_problem *q, int64_t *budget,
                                                   double *lower_bound, plait_error *err);

// heterogeneous_closest.c
/**
 * The plan over several groups that lacks less memory than q->lacks_bytes, if there is one; q is
 * min_memory.
 */
PLAIT_MUST_CHECK plait_status hetero_closest(hetero_problem *q, plait_plan *plan, plait_error *err);

// heterogeneous.c
/** Objective that a plan must be below to be kept. */
double hetero_limit(const hetero_problem *q);
void hetero_keep(hetero_problem *q, const plait_plan *plan, double objective);
/** plait_search where the job's nodes are of several groups. */
PLAIT_MUST_CHECK plait_status hetero_search(const plait_problem *problem,
                                            const plait_search_options *options, plait_arena *arena,
                                            plait_search_result *result, plait_error *err);
