/*
 * refine.h - searches plans that are not uniform: selects the points that may win and orders them
 *
 * A refinement lists pipelines (space.h) in ascending order of their bounds (C.91), and for each the
 * groups of points with a schedule and a number of chunks per rank. It adds the points of a group
 * whose lower bound is below the best known step, and solves these points in ascending order of
 * estimates.
 */
#pragma once

#include "search/exhaustive/exhaustive.h"
#include "search/pipeline/layouts.h"

/** Loads of one shard without recomputation, which are the same for all numbers of chunks. */
typedef struct refine_shard {
    double rank_bytes, after_s;
    plait_layer_load *layer; /* [kinds] */
} refine_shard;

/**
 * Points that differ only in shards and recomputation.
 *
 * The groups of a kind differ in their number of chunks, in ascending order. They share the least
 * loads, of_shard and of_choice, which hold for all of them, since among these loads only the sends
 * and the pairs of microbatches depend on the number of chunks, and more chunks take longer to
 * send.
 */
typedef struct refine_group {
    const space_shard *shard;
    int shards;            /* at least 1 */
    plait_degrees degrees; /* with split LAYOUT, without a layout yet */
    layout_shape shape;
    plait_rank_loads plain; /* loads without recomputation and the gathers of ZeRO */
    bool least_valid;
    double least_rank_bytes, least_after_s; /* least of all shards, if least_valid */
    double *least_state_bytes;              /* [kinds] the same for a layer */
    refine_shard *of_shard;                 /* [shards], if least_valid */
    /* [choices][2 kinds] loads of layers without gathers, with the least state; NULL: none yet */
    plait_layer_load *of_choice;
} refine_group;

/** Adds the points of a group that may win to found->open. */
typedef void refine_list(const search_run *run, search_worker *worker, refine_group *group,
                         search_found *found);

/**
 * Computes lower bounds of the loads of shard s of a group. Valid after refine_take_least.
 *
 * @param base   loads without the gathers of ZeRO
 * @param bound  receives the bounds of layers, of an empty rank and of the time after the pipeline;
 *               initially equal to `base`, or the result for another shard
 */
void refine_take_shard(const search_run *run, const refine_group *group, int s,
                       const plait_rank_loads *base, plait_rank_loads *bound);

/**
 * Lowers loads without the gathers of ZeRO to the least state and the least time after the pipeline
 * of all shards, so that they are lower bounds for every shard.
 */
void refine_take_least(const search_run *run, search_worker *worker, refine_group *group,
                       plait_rank_loads *loads);

/** Returns whether a lower bound on loads does not exclude a better plan. */
bool refine_may_win(const search_run *run, const refine_group *group, const plait_rank_loads *bound,
                    search_found *found);

/**
 * Adds a point if its lower bound is below the best known step.
 *
 * @param likely  points with an estimate of `likely` times the best known step or more are left
 * out;
 *                their lower bound counts in found->open.floor_s
 */
void refine_add(const search_run *run, const refine_group *group, const plait_degrees *degrees,
                const plait_rank_loads *loads, double likely, search_found *found);

/**
 * Returns the step time of the best known plan, solutions of the refinement included; without a
 * plan, the limit of the search.
 */
double refine_best_s(const search_run *run);

/**
 * Returns whether the objective ranks plans by their step time. Cost is proportional to the step
 * time; memory and energy are not.
 */
bool refine_ranks_steps(const search_run *run);

/** Returns whether the search has no limit on the key. */
bool refine_is_open(const search_run *run, plait_key_id key);

/**
 * Returns whether layouts may be searched: the runtime supports them and the search has no limit on
 * the split.
 */
bool refine_may_layout(const search_run *run);

/**
 * Returns whether a limit of the search requires recompute full:N, which no refinement supports.
 */
bool refine_requires_full_layers(const search_run *run);

/** Returns the named splits of the layers over pp stages. */
const space_splits *refine_splits(const search_run *run, int pp);

/**
 * The best plan of a point.
 *
 * `price` and `split` are valid if `any`. `layout` is the text of a split LAYOUT; split.layout is
 * not used, since it would point into a struct that is copied. `floor_s` is a lower bound of the
 * step time of every plan of the point, valid unless `proven`.
 */
typedef struct refine_solution {
    bool any;     /* true if a plan fits and is below the limit */
    bool proven;  /* true if no plan is faster, or none is below the limit */
    bool skipped; /* true if the point was not solved, since its bound reached the limit */
    bool failed;  /* true if out of memory */
    double floor_s;
    plait_price price;
    plait_split split;
    char layout[PLAIT_VALUE_SIZE];
} refine_solution;

/** Most layers times stages of the points that are solved since the latest gain. (S.11) */
enum { REFINE_MOST_WORK = 1 << 19 };

typedef struct refine_steps {
    /** Lists the points of a group; NULL: `list` lists all points. */
    refine_list *group;
    /** Lists the points of a task, if `group` is NULL. */
    search_explore *list;
    /**
     * Solves a point for a plan below limit_s. *out is zero-initialised. Called by several threads.
     */
    void (*solve)(const search_run *run, search_worker *worker, const void *context,
                  const open_point *point, double limit_s, refine_solution *out);
    /** Expands the best solution into a plan in run->arena and prices it in full. */
    plait_status (*rank)(search_run *run, const void *context, const plait_degrees *degrees,
                         const refine_solution *best, plait_ranked *out, plait_error *err);
    const void *context;
    /* budgets instead of a time limit: most points to solve, and most layers times stages of points
     * since the latest gain */
    int64_t most_solved, most_work;
    bool layouts;     /* true: also list points whose pp has no named split */
    bool mixes;       /* true: layers of a plan may differ in recomputation and offload */
    int least_stages; /* stages of the shortest pipelines that it lists */
} refine_steps;

/**
 * Lists points, sorts them by estimate, solves them in blocks, and expands and prices the best
 * plan.
 */
PLAIT_MUST_CHECK plait_status refine_points(search_run *run, const refine_steps *steps,
                                            plait_refinement *out, plait_error *err);

/** Sets price and objective of a ranked plan from its full cost. */
void refine_rank(const search_run *run, const plait_cost *cost, plait_ranked *out);
