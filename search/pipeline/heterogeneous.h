/*
 * heterogeneous.h - plans over node groups with different accelerators: assigns stages to groups
 * and layers to stages
 *
 * A run is a sequence of consecutive stages on one group with equal degrees. A group choice takes
 * some of the groups, and for each of them one run, or two runs of different degrees. A group order
 * arranges the runs of a choice along the pipeline.
 *
 *     minimise   w (T(f, b) + sends + max reduce_s + max gather_s + max optimizer_s)         (S.60)
 *     over       group choices and their orders, layers l_1 .. l_p >= 1 that sum to L, and the
 *                recomputation of each stage
 *     such that  dp mbs, cp and the ZeRO stage are the same for all runs,
 *                the sum of n tp cp dp over the runs of a used group g is G_g,
 *                the second run of a group begins as rule P48 demands,
 *                state_s + min(p - s, m) flight_s <= capacity of the nodes of stage s
 *
 * T is the exact time of a 1F1B pipeline (C.73) with p stages and m microbatches, f and b the
 * forward and backward times of a microbatch on each stage. n is the number of stages of a run, G_g
 * the number of GPUs of group g, and flight_s the bytes of a microbatch in flight. w is 1, or for
 * the objective cost the price per second of the groups in use. Work is counted in units: a layer
 * has as many units as it takes seconds, f + b, with the degrees that are listed first.
 *
 * The files, in the order in which they are used:
 *
 *     heterogeneous_degrees.c   legal degrees of each group
 *     heterogeneous_stages.c    options of a stage and their least times
 *     heterogeneous_bound.c     lower bounds of a group choice in any order (S.61, S.62, S.68)
 *     heterogeneous_choices.c   group choices whose bound is below the limit (S.66, S.70)
 *     heterogeneous_dp.c        the best layers of one order, by the engine (S.63 to S.65)
 *     heterogeneous_orders.c    all orders, the choice with the least bound first (S.66)
 *     heterogeneous_closest.c   the plan that exceeds memory least, if none fits (S.69)
 *     heterogeneous.c           the result, merged with the plans of each group alone (S.67)
 */
#pragma once

#include "plait/runtime.h"
#include "plait/search.h"
#include "search/pipeline/engine.h"

enum { HETERO_RUNS = 2 * PLAIT_MAX_NODE_GROUPS };

/** Position of a stage in the pipeline: the first has the embedding, the last the loss. */
typedef enum hetero_place { HETERO_MIDDLE, HETERO_FIRST, HETERO_LAST, HETERO_PLACES } hetero_place;

/** Times of one stage with one kind of recomputation. */
typedef struct stage_option {
    plait_chunk_time time;
    plait_stage_tail tail;
    int max_in_flight; /* most microbatches in flight that fit the memory of its nodes */
    int recompute;     /* index into hetero_space.recompute */
} stage_option;

/** The undominated options of a stage. */
typedef struct stage_options {
    bool valid; /* true: the options have been computed */
    int count;
    stage_option *option; /* [count] */
} stage_options;

/**
 * Lower bounds of a stage over its options that fit with a given number of microbatches in flight.
 * They are infinite if no option fits, or if no plan that uses the stage is below the limit.
 */
typedef struct stage_bound {
    double stage_s; /* f + b */
    double tail_s;  /* tail: gradients, gathers and optimizer together */
} stage_bound;

/** Bytes of one stage with one kind of recomputation. */
typedef struct stage_bytes {
    double state, flight; /* bytes of the state, and of each microbatch in flight */
} stage_bytes;

typedef struct stage_run stage_run;

/**
 * Prices and bounds of degrees with the recomputation of the current space. All are NULL until they
 * are first used. Options, bounds and bytes are indexed by place (hetero_place); options and bounds
 * also by the group at the other end of the pipeline, with which the gradients of tied embeddings
 * are reduced.
 */
typedef struct degrees_cache {
    /* takes tens of kilobytes, so it is kept only for the degrees of orders that are solved */
    plait_stage_pricer *pricer;
    /* [layers + 1] bound of the tail, by layers of the fullest stage (S.68) */
    const double *tail_s;
    /* [layers + 1] most units of work that stages in the middle hold, by stages (S.66) */
    const double *held_units;
    stage_options *options[HETERO_PLACES][PLAIT_MAX_NODE_GROUPS]; /* [ranges] */
    stage_bound **bounds[HETERO_PLACES][PLAIT_MAX_NODE_GROUPS];   /* [in flight][ranges] */
    stage_bytes **bytes[HETERO_PLACES];                           /* [ranges][recomputes] */
} degrees_cache;

/** Degrees of stages on one group. */
typedef struct group_degrees {
    /* its pp is the number of stages that the GPUs of the group suffice for */
    plait_degrees degrees;
    int group;
    int gpus;         /* GPUs of one stage */
    int max_stages;   /* most stages that the GPUs of the group suffice for */
    bool fills_group; /* true if max_stages stages use all GPUs of the group */
    int domain;       /* GPUs of the group's scale-up level */
    unsigned lists;   /* lists of recomputation with which they are legal, as bits */
    int64_t size;     /* hetero_size, which all runs of a plan share */
    double capacity_bytes;
    double *kind_s; /* [kinds] f + b of a layer that recomputes nothing */
    double *list_s; /* [lists] least f + b of a layer of kind 0 with each list of recomputation */
    /* f + b that the embedding adds to the first, modules and loss to the last stage */
    double first_s, last_s;
    double unit_s;                 /* least f + b of a unit of work */
    double least_s;                /* least f + b of a layer, thus of a stage */
    plait_between_stages boundary; /* sends between two of its stages */
    stage_run **run;      /* [layers + 1] runs by number of stages; NULL until first used */
    degrees_cache *cache; /* valid if `generation` is that of the problem */
    int generation;
} group_degrees;

/** Consecutive stages with the same degrees. */
struct stage_run {
    group_degrees *choice;
    int stages;
    int fills; /* number of times in fill_s */
    /* [fills] stage times from which on its stages hold one more layer, ascending (S.62) */
    const double *fill_s;
    int generation; /* fill_s is valid if this is the generation of the problem */
};

/** Legal degrees of a group for any list of recomputation. */
typedef struct group_list {
    int gpus; /* GPUs of the group */
    int count;
    group_degrees **choice; /* by size, and within a size in descending order of work per second */
} group_list;

/** Degrees of one group with one size (hetero_size), in descending order of work per second. */
typedef struct degrees_list {
    int count;
    group_degrees **choice;
    int gpus; /* GPUs of the group */
} degrees_list;

/** A plan below the limit. */
typedef struct hetero_plan {
    plait_plan plan;
    double objective;
} hetero_plan;

/**
 * The kinds of recomputation between which the stages of a plan may choose, and the degrees that
 * are legal with them.
 */
typedef struct hetero_space {
    int index; /* index of the list of recomputation */
    int recomputes;
    const plait_recompute *recompute; /* [recomputes] */
    int sizes;                        /* number of sizes for which some group has degrees */
    int64_t *size;                    /* [sizes] results of hetero_size */
    degrees_list *list;               /* [sizes][PLAIT_MAX_NODE_GROUPS] */
} hetero_space;

/** Kinds of recomputation between which the stages of a plan may choose. */
typedef struct recompute_list {
    int count;
    const plait_recompute *value; /* [count] */
} recompute_list;

enum {
    /* most lists: that of all kinds that may differ between stages, and one for each other kind */
    HETERO_LISTS = 1 + PLAIT_RECOMPUTE_KINDS + PLAIT_MAX_MODULE_SETS
};

/**
 * Searches one group alone, and refined plans only if their step is below refined_s. It is in the
 * folder above this one, which passes it.
 */
typedef plait_status hetero_group_search(const plait_problem *problem,
                                         const plait_search_options *options, double refined_s,
                                         plait_arena *arena, plait_search_result *result,
                                         plait_error *err);

/** State of a search: its input, its space, and its results. */
typedef struct hetero_problem {
    const plait_problem *problem;
    const plait_search_options *options;
    hetero_group_search *search_group;
    plait_arena *arena;
    plait_arena *scratch;                     /* scratch memory for one stage */
    plait_stage_cache *prices;                /* prices of layers for all pricers */
    plait_arena *cached;                      /* memory of the caches of degrees and runs */
    int generation;                           /* number of times that `cached` was released */
    int lists;                                /* number of lists of recomputation */
    recompute_list list[HETERO_LISTS];        /* [lists] */
    group_list group[PLAIT_MAX_NODE_GROUPS];  /* degrees of each group */
    double usd_per_s[PLAIT_MAX_NODE_GROUPS];  /* price of a whole group */
    hetero_space space;                       /* the space of the current pass */
    int ranges;                               /* number of different identifiers in `range` */
    const int *range;                         /* result of pipeline_ranges */
    double kind_units[PLAIT_MAX_LAYER_KINDS]; /* work of a layer of each kind */
    double units;                             /* work of the model */
    unsigned must;                            /* groups that every plan must use, as bits */
    bool fits_only; /* whether one run per group suffices, and no closest plan is needed */
    /*
     * true: only degrees with the fewest sequences per replica are listed, even if they do not fit
     */
    bool min_memory;
    int top;
    int found_count;
    hetero_plan *found; /* [top], best first */
    int64_t listed;     /* number of group choices listed */
    int64_t solved;     /* number of group choices with a bound below the limit */
    /* bytes by which `closest` exceeds memory; infinite: `closest` is not valid */
    double missing_bytes;
    plait_plan closest; /* plan of a single group that exceeds memory least */
    bool closest_open;  /* true if the closest plan of some group is not proven */
    /* reason why the group alone has no legal plan; NULL: it has one */
    const char *why[PLAIT_MAX_NODE_GROUPS];
} hetero_problem;

enum { HETERO_SIZE_FACTOR = 1 << 22 }; /* larger than 4 cp + zero of any degrees */

/**
 * Returns the size of degrees: the sequences of a microbatch over all replicas, cp and the ZeRO
 * stage in one number. All runs of a plan have the same size.
 */
static inline int64_t hetero_size(const plait_degrees *d)
{
    return (int64_t)d->dp * d->mbs * HETERO_SIZE_FACTOR + (int64_t)d->cp * 4 + d->zero;
}

/** Returns the number of microbatches of a step for degrees of this size. */
static inline int hetero_microbatches(const hetero_problem *q, int64_t size)
{
    return (int)(q->problem->job.gbs / (size / HETERO_SIZE_FACTOR));
}

/**
 * Runs of some groups, before the groups are ordered. Runs of the same group are adjacent.
 */
typedef struct group_choice {
    double weight; /* objective of one second of a step */
    int runs;
    stage_run *run[HETERO_RUNS];
    pipeline_shape shape;
    plait_between_stages inside; /* sends inside the runs, which are the same in every order */
} group_choice;

/** A group choice with a lower bound of its objective in any order. */
typedef struct bounded_choice {
    double bound;
    int64_t listed;          /* sequence number, in order of listing */
    const group_choice *set; /* NULL: it cannot hold the model in any order */
} bounded_choice;

typedef struct group_choices {
    int count, capacity;
    bounded_choice *choice;
    plait_arena *arena;
} group_choices;

/** A group choice in one order. */
typedef struct group_order {
    const group_choice *set;
    stage_run *run[HETERO_RUNS];
    plait_between_stages between; /* sends between all stages */
    double max_s;                 /* upper bound of f + b of a stage in a plan below the limit */
    int most_labels;              /* labels per state of the engine; INT_MAX: exact */
} group_order;

static inline hetero_place hetero_place_of(const group_choice *set, int s)
{
    return s == 0 ? HETERO_FIRST : s == set->shape.stages - 1 ? HETERO_LAST : HETERO_MIDDLE;
}

/** Returns the number of microbatches in flight on stage s. (C.77) */
static inline int hetero_in_flight(const group_choice *set, int s)
{
    const int to_come = set->shape.stages - s;

    return to_come < set->shape.microbatches ? to_come : set->shape.microbatches;
}

/**
 * Returns the group at the other end of the pipeline from stage s, which is the first or the last.
 */
static inline int hetero_other_end(const group_order *order, int s)
{
    return order->run[s == 0 ? order->set->runs - 1 : 0]->choice->group;
}

/** The best layers of one order. */
typedef struct hetero_layout {
    bool failed;              /* true if out of memory */
    bool solved;              /* true if its lower bound was below the limit */
    double objective;         /* objective of the plan; infinite: no plan is below the limit */
    short *last;              /* [stages] one past the last layer of each stage */
    unsigned char *recompute; /* [stages] index into hetero_space.recompute */
} hetero_layout;

// heterogeneous_degrees.c
/** Lists the degrees of each group for all lists of recomputation. */
PLAIT_MUST_CHECK plait_status hetero_list_degrees(hetero_problem *q, plait_error *err);
/** Sets q->space to the degrees that are legal with the n-th list of recomputation. */
PLAIT_MUST_CHECK plait_status hetero_select_list(hetero_problem *q, int n, plait_error *err);
/** Returns the objective of one second of a step on these groups (bits). */
double hetero_weight(const hetero_problem *q, unsigned groups);

// heterogeneous_stages.c
/** Returns the cache of these degrees, which the first call makes; NULL if out of memory. */
degrees_cache *hetero_cache(hetero_problem *q, group_degrees *choice);
/** Releases the caches of all degrees and runs. */
void hetero_release_caches(hetero_problem *q);
/** Returns the identifier of the range of layers [first, last). */
static inline int hetero_range(const hetero_problem *q, int first, int last)
{
    return q->range[first * (q->problem->model->layers + 1) + last];
}
/**
 * Returns `other`, the group at the other end of the pipeline, if the price of the stage depends on
 * it; else the group of `choice`.
 */
static inline int hetero_end(const hetero_problem *q, const group_degrees *choice,
                             hetero_place place, int other)
{
    return place == HETERO_MIDDLE || !q->problem->model->tied ? choice->group : other;
}
/**
 * Makes the stage with layers [first, last). Its chunk and recomputation live in `arena`. Returns
 * false if out of memory.
 */
bool hetero_stage(const hetero_problem *q, const group_degrees *choice, hetero_place place,
                  int first, int last, plait_recompute recompute, plait_arena *arena,
                  plait_stage *out);
/**
 * Returns lower bounds of a stage, by range of layers; NULL if out of memory. Also lists the
 * options of the ranges. Ranges too slow for a plan below the limit have infinite bounds and no
 * options.
 */
const stage_bound *hetero_stage_bounds(hetero_problem *q, group_degrees *choice, hetero_place place,
                                       int other, int in_flight);
/**
 * Returns an upper bound of the units of work that stages in the middle of the pipeline hold, by
 * number of stages up to q->problem->model->layers; NULL if out of memory. The k-th has min(k, m)
 * microbatches in flight. (S.66)
 */
const double *hetero_held_units(hetero_problem *q, group_degrees *choice);
/**
 * Returns the pricer of these degrees, which the first call makes in `arena`; NULL if out of memory.
 */
plait_stage_pricer *hetero_pricer(hetero_problem *q, group_degrees *choice, plait_arena *arena);
/** Returns the run of these stages, shared by all group choices; NULL if out of memory. */
stage_run *hetero_run(hetero_problem *q, group_degrees *choice, int stages);
/**
 * Returns whether a run with degrees b may follow a first run of `stages` stages with degrees a in
 * the same group. (P48)
 */
bool hetero_may_follow(const group_degrees *a, int stages, const group_degrees *b);

// heterogeneous_bound.c
/** Stages that take the same time for a unit of work. */
typedef struct divisible_part {
    double units_per_s; /* rate of all of these stages together */
    double unit_s;
} divisible_part;
/** A pipeline whose work is divisible at any point; made by divisible_add. */
typedef struct divisible_pipeline {
    double microbatches;
    double stages;
    double ends_s; /* f + b of embedding, modules and loss */
    double one_s;  /* lower bound of f + b of the slowest stage */
    int parts;
    divisible_part part[HETERO_RUNS]; /* the fastest first */
} divisible_pipeline;
void divisible_add(divisible_pipeline *cut, double stages, double units_per_s, double unit_s);
/** Returns a lower bound of the pipeline, in seconds. (S.62) */
double divisible_lower_bound_s(const divisible_pipeline *cut, double units);
/**
 * Returns the longest f + b of a stage for which the bounds of the pipeline stay within the limit.
 * (S.70)
 */
double divisible_max_stage_s(const divisible_pipeline *cut, double units, double limit_s);
/**
 * Returns a lower bound of a choice's objective in any order, as if layers were divisible. (S.62)
 */
double hetero_divisible_bound(const hetero_problem *q, const group_choice *set);
/**
 * Returns a closer lower bound than hetero_divisible_bound for a model with one kind of layers:
 * stages hold whole layers, as many as fit. Negative if out of memory. (S.62)
 */
double hetero_whole_layer_bound(hetero_problem *q, const group_choice *set);
/**
 * Returns an upper bound of f + b of a stage in a plan of this choice below the limit. Negative if
 * out of memory. (S.68)
 */
double hetero_max_stage_s(hetero_problem *q, const group_choice *set);
/** Returns whether the stages of an order can hold all units of work. Negative if out of memory. */
int hetero_order_holds(hetero_problem *q, const group_order *order);
/** Returns whether some order of the choice can hold all units. Negative if out of memory. */
int hetero_can_hold(hetero_problem *q, const group_choice *set);

// heterogeneous_choices.c
/**
 * Adds the choices of one size whose bound is below the limit. Returns false if out of memory.
 *
 * @param uneven       true: choices with two runs in one group; false: with one run per group
 * @param budget       number of options to try; receives the number left, negative if exhausted
 * @param lower_bound  receives a lower bound of all of these choices
 */
bool hetero_list_choices(hetero_problem *q, int size, bool uneven, int64_t *budget,
                         double *lower_bound, group_choices *out);

// heterogeneous_dp.c
/** Finds the best layers of an order. The result lives in `arena`. */
hetero_layout hetero_dp(const hetero_problem *q, const group_order *order, double limit,
                        plait_arena *arena);

// heterogeneous_orders.c
/** Builds the plan of a layout. *plan lives in the problem's arena. */
PLAIT_MUST_CHECK plait_status hetero_build_plan(hetero_problem *q, const group_order *order,
                                                const hetero_layout *layout, plait_plan *plan,
                                                plait_error *err);
/**
 * Searches all orders of all choices: those with one run per group, or those with two runs in one
 * group. (S.70)
 *
 * @param budget       number of options with two runs to try, reduced by those tried; NULL: search
 *                     choices with one run per group
 * @param lower_bound  lowered to the bound of the choices that the budget left out
 */
PLAIT_MUST_CHECK plait_status hetero_search_orders(hetero_problem *q, int64_t *budget,
                                                   double *lower_bound, plait_error *err);

// heterogeneous_closest.c
/**
 * Finds the plan over several groups that exceeds memory least. Sets *plan and lowers
 * q->missing_bytes if the plan exceeds memory by less than q->missing_bytes. Requires
 * q->min_memory.
 */
PLAIT_MUST_CHECK plait_status hetero_closest(hetero_problem *q, plait_plan *plan, plait_error *err);

// heterogeneous.c
/** Returns the objective that a plan must be below to be kept. */
double hetero_limit(const hetero_problem *q);
/** Keeps a plan if it is among the best q->top and differs from all kept plans. */
void hetero_keep(hetero_problem *q, const plait_plan *plan, double objective);
/**
 * Implements plait_search for a job whose nodes are in several groups.
 *
 * @param must       groups that every plan uses, as bits; 0: any groups
 * @param fits_only  true: only plans with one run per group, and no closest plan
 */
PLAIT_MUST_CHECK plait_status hetero_search(const plait_problem *problem,
                                            const plait_search_options *options, unsigned must,
                                            bool fits_only, hetero_group_search *search_group,
                                            plait_arena *arena, plait_search_result *result,
                                            plait_error *err);
