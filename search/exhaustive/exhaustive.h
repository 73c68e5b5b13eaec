/*
 * exhaustive.h - the interface inside the search: tasks on several threads, the exhaustive pass,
 * and the refinements that follow it
 */
#pragma once

#include "search/exhaustive/frontier.h"
#include "search/space/space.h"
#include "costmodel/api.h"

/**
 * The rows of the space (space.h) are divided into about SEARCH_MOST_TASKS tasks of at least
 * SEARCH_LEAST_ROWS rows. A task needs enough rows that its own results prune it, and few enough
 * that the tasks balance the threads.
 */
enum { SEARCH_LEAST_ROWS = 8, SEARCH_MOST_TASKS = 1024 };

/**
 * Returns whether the space is large. If nothing fits in a large space, the search does not prove
 * which plan exceeds the memory least (S.13) or which change would make a plan fit (S.14).
 */
static inline bool search_is_large(const plan_space *space)
{
    return space->sized_rows > 1 << 15;
}

/** A point whose lower bound is below the best known step, listed for a refinement to solve. */
typedef struct open_point {
    double floor_s; /* lower bound of its step */
    double guess_s; /* estimate of its step; points with a small one are solved first */
    int64_t index;  /* position in the list, which breaks ties */
    plait_degrees degrees;
} open_point;

typedef struct point_list {
    int64_t count, room;
    open_point *point;
    double floor_s;     /* least lower bound of the points left out of the list */
    plait_arena *arena; /* memory from which the list grows */
} point_list;

/** Adds a point. Returns false if out of memory. */
bool open_add(point_list *list, const open_point *point);

/** A pipeline with one microbatch size, whose points a refinement may list. */
typedef struct open_pipeline {
    double floor_s; /* lower bound of its step (C.91) */
    int row, size;  /* indices of its row and of its microbatch size in the space */
    int pp_at;      /* index of pp among the divisors */
} open_pipeline;

typedef struct pipeline_list {
    int count, room;
    open_pipeline *pipeline;
    plait_arena *arena; /* memory from which the list grows */
} pipeline_list;

/** Adds a pipeline. Returns false if out of memory. */
bool open_add_pipeline(pipeline_list *list, open_pipeline pipeline);

/** The variants of one ranked plan (S.96), and the worst objective among them. */
typedef struct variant_count {
    int64_t plans;
    double worst;
} variant_count;

/** Results of one task, of several tasks merged, or of a whole pass. */
typedef struct search_found {
    const struct search_found *before; /* results known when the task began; NULL: none */
    int64_t points;                    /* number of points, where they are counted */
    int64_t priced;                    /* number of points priced */
    int64_t fits;                      /* number of priced plans that fit */
    int64_t tight; /* number of priced plans that are tight (search_run.tight_bytes) */
    /* number of plans simulated because their lower bound did not exclude them (S.4) */
    int64_t simulated;
    plan_top top;
    plan_front front;
    plan_top tight_best;     /* best tight plan, if no known plan that fits is better */
    variant_count *variant;  /* [options.top] variants of each ranked plan, if search_run.counts */
    point_list open;         /* points for a refinement to solve */
    pipeline_list pipelines; /* pipelines for a refinement to list */
    int64_t floors;          /* number of lower bounds that the refinement has computed */
    bool failed;             /* true if out of memory */
    bool unfinished;         /* true if memory ended the pass, and the plans may not be the best */
} search_found;

typedef struct search_run {
    const plait_problem *problem;
    const plait_search_options *options;
    const plan_space *space;
    plait_arena *arena;    /* arena of the caller, for the results */
    double capacity_bytes; /* plans that need more memory do not fit */
    /* plans between capacity_bytes and this are tight: they fit more likely than not */
    double tight_bytes;
    const search_found *known; /* results of an earlier pass; NULL: none */
    bool coarse;               /* true: this is the coarse pass */
    bool learns;               /* true: a task uses the results of earlier waves of tasks */
    bool counts;               /* true: this pass counts the variants of the plans in `known` */
    bool alone;                /* true: only the ranking is needed, not the front */
    bool fits_only; /* true: if many rows, the best plan of the coarse pass suffices (S.14) */
    bool any_fits;  /* true: a refinement ends with the first plan that fits */
    bool closest;   /* true: the search is for the plan that exceeds short_of_bytes least (S.13) */
    double short_of_bytes;
    double below; /* limit of the objective, which plans must be below; infinite: no limit */
    /* limit of the step of refined plans: of the search, or of the best one found; infinite: none */
    double refined_s;
    int least_stages;    /* stages of the shortest pipelines that this refinement lists */
    bool mixes;          /* true: layers of a plan of this refinement may differ in recomputation */
    plait_arena *shared; /* memory that the workers share, which ends with them */
    plait_half_bounds *bounds; /* in `shared` */
    int threads;
    int64_t batch_rows; /* number of rows of a task, which depends on the space alone */
    /* [threads] one for each thread; their caches serve every pass */
    struct search_worker *workers;
} search_run;

/** A pipeline of the row that a task searches, for all sizes of the row. */
typedef struct search_pipeline {
    space_pipeline all;
    int at;             /* index of pp among the divisors */
    bool sharded;       /* whether the shards of `all` are listed */
    int64_t first;      /* index of its first point */
    double state_bytes; /* C.97 */
} search_pipeline;

/** One thread's table, caches and scratch memory, kept from task to task and from pass to pass. */
typedef struct search_worker {
    plait_arena *arena; /* memory of the table */
    plait_table *table;
    plait_arena *scratch; /* scratch memory of simulations */
    plait_arena *walk;    /* memory that lasts for one pass; `cursor` and `use` live in it */
    space_cursor cursor;
    search_pipeline *pipeline; /* [divisors.count] pipelines of the current row, in `walk` */
    /* [choices] of a group: whether, and for which plans, each choice of recomputation is searched
     * with all shards, and with the current one */
    unsigned char *use, *shard_use;
    plait_price *bound;             /* [choices] bounds of the choices that are searched (C.93) */
    plait_class_bytes *activations; /* [choices] and the activations of these choices */
} search_worker;

/** Searches the rows of one task and adds its results to *found. */
typedef void search_explore(const search_run *run, search_worker *worker, int64_t batch,
                            search_found *found);

/** Frees the memory of a run's workers. */
void search_workers_end(search_run *run);

/** Returns the first thread's worker, for work between passes; NULL: out of memory. */
search_worker *search_first_worker(const search_run *run);

/** Returns the seconds of a monotonic clock. */
double search_seconds(void);

/**
 * Runs a task for every batch of rows, on several threads, and merges the results in the order of
 * rows. A task prunes by its own results, by run->known and, if run->learns, by the results of the
 * earlier waves of this pass (parallel.c).
 *
 * @param merged  receives the results; its lists live in run->arena
 */
PLAIT_MUST_CHECK plait_status search_batches(const search_run *run, search_explore *explore,
                                             search_found *merged, plait_error *err);

/**
 * Counts the variants of each ranked plan, in a separate pass. (S.96)
 *
 * @param counted  receives [options.top] counts, in run->arena
 */
PLAIT_MUST_CHECK plait_status search_count_variants(search_run *run, const search_found *found,
                                                    variant_count **counted, plait_error *err);

/** Solves item i. Called by several threads. */
typedef void search_solve(const search_run *run, search_worker *worker, int64_t i, void *context);

/** Takes the results of items [first, end) in order, on one thread. Returns false to stop. */
typedef bool search_settle(const search_run *run, int64_t first, int64_t end, void *context);

/**
 * Runs `solve` for each of `count` items, block by block, and `settle` after each block.
 *
 * @param settled  receives the number of items, from the first on, that `settle` has taken
 */
PLAIT_MUST_CHECK plait_status search_blocks(const search_run *run, int64_t count, int64_t block,
                                            search_solve *solve, search_settle *settle,
                                            void *context, int64_t *settled, plait_error *err);

/** A search for plans that are not uniform, which follows the search of all uniform plans. */
typedef struct search_refinement {
    const char *name;
    /**
     * Returns whether it may find a plan: the runtime supports such plans and limits allow them.
     */
    bool (*is_applicable)(const search_run *run);
    /** Runs the search. The best plan in *out lives in run->arena. */
    plait_status (*run)(search_run *run, plait_refinement *out, plait_error *err);
} search_refinement;

extern const search_refinement search_layouts;
extern const search_refinement search_per_stage;
extern const search_refinement search_per_layer;

/**
 * Searches the whole space and prunes it by lower bounds, so that its ranking is proven. The lists
 * of `found` live in run->arena.
 */
PLAIT_MUST_CHECK plait_status search_exhaustive(search_run *run, search_found *found,
                                                plait_error *err);

/**
 * Returns the value that plans are ranked by. For a lower bound of a price the result is a lower
 * bound of the value.
 */
double objective_of(const search_run *run, plait_price price);

/**
 * Returns false if no plan with these ranks, microbatch size, schedule and ep_overlap has a step of
 * at most most_s within most_bytes. (C.451)
 *
 * @param any_shard  true: for every shard; false: for that of the degrees
 */
bool search_layers_may_fit(const search_run *run, search_worker *worker,
                           const plait_degrees *degrees, bool any_shard, double most_s,
                           double most_bytes);

/** Returns options.front_within, or its default. */
static inline double search_front_within(const search_run *run)
{
    return run->options->front_within > 0.0 ? run->options->front_within : PLAIT_FRONT_WITHIN;
}

// answer.c
/**
 * Expands points into plans, prices them in full and sorts them by objective. *plans lives in
 * run->arena.
 */
PLAIT_MUST_CHECK plait_status answer_ranking(const search_run *run, const plan_point *point,
                                             int count, plait_ranked **plans, plait_error *err);

/**
 * Expands the points of a front into plans, prices them in full and sorts them by step time. Leaves
 * out plans that are dominated at full prices or too slow.
 */
PLAIT_MUST_CHECK plait_status answer_front(const search_run *run, const plan_front *front,
                                           plait_ranked **plans, int *count, plait_error *err);

// variants.c: counts variants in a separate pass (S.96). A variant of a ranked plan is a plan
// that equals it on the keys of options.distinct and is at most PLAIT_VARIANTS_WITHIN worse.
/** Returns the largest objective that a variant of a ranked plan may have. */
double variants_most(const search_run *run);

/** Counts a plan that fits if it is a variant of a ranked plan other than itself. */
void variants_count(const search_run *run, search_worker *worker, search_found *found,
                    plan_point *plan);

/** Returns whether a row, its pipelines of one pp, or those of one mbs may contain a variant. */
bool variants_in_row(const search_run *run, const plait_degrees *row);
bool variants_in_pipeline(const search_run *run, const plait_degrees *pipeline);
bool variants_in_size(const search_run *run, const plait_degrees *pipeline);
