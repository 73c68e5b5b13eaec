/*
 * refine.h - the search beyond uniform plans: which points may win, and which is solved first
 *
 * A refinement lists groups (a pipeline with its schedule and chunks a rank), adds each of their
 * points whose lower bound is below the best known step, and solves these points, the one with the
 * least estimate first.
 */
#pragma once

#include "search/exhaustive/exhaustive.h"
#include "search/pipeline/layouts.h"

/** Points that differ in shards and recomputation alone. */
typedef struct refine_group {
    const space_shard *shard;
    int shards;
    plait_degrees degrees; /* split LAYOUT, without a layout yet */
    layout_shape shape;
} refine_group;

/** Adds the points of a group to found->open. */
typedef void refine_list(const search_run *run, search_worker *worker, const refine_group *group,
                         search_found *found);

/** Lists all groups of a task whose bound (C.91) is below the best known step. */
void refine_batch(const search_run *run, search_worker *worker, int64_t batch, refine_list *list,
                  search_found *found);

/**
 * Adds a point if its lower bound is below the best known step.
 *
 * @param likely  points whose estimate is above the best known step times this are left unsolved
 */
void refine_add(const search_run *run, const refine_group *group, const plait_degrees *degrees,
                const plait_portions *portions, double likely, search_found *found);

/** Step of the best plan known, else the one that is to be undercut. */
double refine_best_s(const search_run *run);

/**
 * True if the objective ranks plans by their step: dollars are proportional to it, memory and
 * energy are not.
 */
bool refine_ranks_steps(const search_run *run);

/** True if no limit names the key. */
bool refine_is_open(const search_run *run, plait_key_id key);

/** True if layouts may be searched: the software reads them, and no limit names the split. */
bool refine_may_layout(const search_run *run);

/** True if a limit names full:N, which no refinement supports. */
bool refine_asks_full_layers(const search_run *run);

/** The named splits over this many stages. */
const space_splits *refine_splits(const search_run *run, int pp);

/**
 * The best plan of a point.
 *
 * price and split are valid if `any`; layout has the text of a split LAYOUT, since split.layout
 * would point into a struct that is copied. floor_s is a lower bound of every plan of the point
 * where it is not `proven`.
 */
typedef struct refine_solution {
    bool any;     /* a plan that fits is below the limit */
    bool proven;  /* no plan of the point is faster, or none is below the limit */
    bool skipped; /* the point's lower bound reached the limit before it was solved */
    bool failed;  /* out of memory */
    double floor_s;
    plait_price price;
    plait_split split;
    char layout[PLAIT_VALUE_SIZE];
} refine_solution;

typedef struct refine_steps {
    search_explore *list;
    /** Solves a point; *out is zero when it begins. Several threads call it. */
    void (*solve)(const search_run *run, search_worker *worker, const void *context,
                  const open_point *point, double limit_s, refine_solution *out);
    /** Ranks the best solution's plan, which lives in run->arena. */
    plait_status (*rank)(search_run *run, const void *context, const plait_degrees *degrees,
                         const refine_solution *best, plait_ranked *out, plait_error *err);
    const void *context;
    int64_t most_solved; /* points: a budget, never a clock */
    bool layouts;        /* points whose pp no named split divides count, too */
} refine_steps;

/** Lists points, sorts them by estimate, solves them in blocks, and ranks the best. */
PLAIT_MUST_CHECK plait_status refine_points(search_run *run, const refine_steps *steps,
                                            plait_refinement *out, plait_error *err);

/** Ranks out->plan by its full price. */
void refine_rank(const search_run *run, const plait_cost *cost, plait_ranked *out);
