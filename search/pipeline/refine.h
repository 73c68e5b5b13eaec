/*
 * refine.h - what searches beyond uniform plans share: which points may win, and which first
 *
 * A refinement looks at groups (a pipeline with its schedule and chunks a rank), adds the points of each
 * that may win by their floor, and solves them, the likeliest first.
 */
#pragma once

#include "search/pipeline/layouts.h"
#include "search/exhaustive/exhaustive.h"

/** Points that differ in shards and choices. */
typedef struct refine_group {
    const space_shard *shard;
    int shards;
    plait_degrees degrees; /* split LAYOUT, whose text is open */
    layout_shape ranks;
} refine_group;

/** Adds the points of a group to found->open. */
typedef void refine_list(const search_run *run, search_worker *worker, const refine_group *group,
                         search_found *found);

/** Lists all groups of a task whose bound (C.91) is below the best known. */
void refine_batch(const search_run *run, search_worker *worker, int64_t batch, refine_list *list,
                  search_found *found);

/**
 * Adds a point if its floor is below the best known.
 *
 * @param likely  what is guessed to take longer than so many times the best known is not solved
 */
void refine_add(const search_run *run, const refine_group *group, const plait_degrees *degrees,
                const plait_portions *portions, double likely, search_found *found);

/** Seconds that a plan has to undercut: those of the best known one, else of what is asked for. */
double refine_best_s(const search_run *run);

/** Is a step what plans are ranked by? Dollars follow it, memory and energy do not. */
bool refine_ranks_steps(const search_run *run);

/** Is a key open: does no limit name it? */
bool refine_is_open(const search_run *run, plait_key_id key);

/** Does a limit name full:N, which no refinement deals? */
bool refine_asks_full_layers(const search_run *run);

/** The splits in words over so many stages. */
const space_splits *refine_splits(const search_run *run, int pp);

/** Ranks out->plan by its full price. */
void refine_rank(const search_run *run, const plait_cost *cost, plait_ranked *out);

/** Points on their way, in what `solve` and `settle` are given. */
typedef struct refine_state {
    point_list open;
    double limit_s; /* of the best known */
    double floor_s; /* of what is not solved with a proof */
    int64_t solved; /* points, but for those whose floor says enough */
    bool any;       /* one is better than all that was known */
    bool failed;    /* out of memory */
} refine_state;

/** Points of a block are solved side by side; a refinement has a slot for each. */
enum { REFINE_BLOCK = 32 };

typedef struct refine_steps {
    search_explore *list;
    search_solve *solve;
    search_settle *settle;
    bool layouts; /* points whose pp no word deals count, too */
} refine_steps;

/** Lists, sorts by guess, and solves in blocks; fills *out but for its best. `at` lies in `context`. */
PLAIT_MUST_CHECK plait_status refine_points(const search_run *run, const refine_steps *steps,
                                            void *context, refine_state *at, plait_refinement *out,
                                            plait_error *err);

/** The i-th point has no proof: nothing of it is below its floor, nor below what solving it showed. */
void refine_leave(refine_state *at, int64_t i, double floor_s);
