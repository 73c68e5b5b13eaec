/* exhaustive.h - how a search walks the space: one file a strategy, all with the same anatomy */
#pragma once

#include "search/exhaustive/frontier.h"
#include "search/space/space.h"
#include "costmodel/api.h"

/** Rows of a task: enough for its own results to prune it, few enough to balance the threads. */
enum { SEARCH_LEAST_ROWS = 8, SEARCH_MOST_TASKS = 1024 };

/**
 * So many rows that where nothing fits, what follows is not proven: which plan lacks least (S.13), and
 * what would make one fit (S.14).
 */
static inline bool search_is_large(int64_t rows)
{
    return rows > 1 << 15;
}

/** A point that may win by its bound. */
typedef struct open_point {
    double floor_s; /* of its step */
    double guess_s; /* what to try first */
    int64_t index;  /* in the order of the space, which breaks ties */
    plait_degrees degrees;
} open_point;

typedef struct point_list {
    int64_t count, room;
    open_point *point;
    double floor_s;     /* of those that are left out, the least */
    plait_arena *arena; /* where it grows */
} point_list;

/** Adds a point; false when out of memory. */
bool open_add(point_list *list, const open_point *point);

/** Plans that are alike to one of the ranking, and the worst objective of them. */
typedef struct variant_count {
    int64_t plans;
    double worst;
} variant_count;

/** What one task found, several, or a whole pass. */
typedef struct search_found {
    const struct search_found *before; /* what was known when it began; NULL: nothing */
    int64_t points;
    int64_t priced;
    int64_t fits;
    int64_t tight;     /* not those, but likelier to fit than not */
    int64_t simulated; /* of the priced: where a lower bound did not decide */
    plan_top top;
    plan_front front;
    plan_top
        tight_best; /* of plans that may run out, the one best of all, if no known one that fits is better */
    variant_count *variant; /* [options.top]: of each plan known, where variants are counted */
    point_list open;        /* points that a refinement has still to solve */
    int64_t floors;         /* that it has asked for */
    bool failed;            /* out of memory */
} search_found;

typedef struct search_run {
    const plait_problem *problem;
    const plait_search_options *options;
    const plan_space *space;
    plait_arena *arena;        /* of the caller */
    double capacity_bytes;     /* plans above it do not count */
    double tight_bytes;        /* those up to it are tight */
    const search_found *known; /* of the coarse pass: may be NULL */
    bool coarse;               /* this is the coarse pass */
    bool learns;               /* tasks know what waves of tasks before theirs found */
    bool counts;               /* this pass counts variants of what is known */
    bool alone;                /* only the ranking is asked for: no front, nothing tight */
    bool fits_only;            /* of many rows the best of the coarse pass is enough */
    bool closest; /* only the plan that lacks least of `short_of_bytes` is looked for */
    double short_of_bytes;
    double below; /* plans with an objective of this or more do not count; infinite: all do */
    int threads;
    int64_t batch_rows;            /* of one task: follows from the space alone */
    struct search_worker *workers; /* [threads]: what they remember serves every pass */
} search_run;

/** One thread's tools, kept from task to task and from pass to pass. */
typedef struct search_worker {
    plait_arena *arena; /* the table's */
    plait_table *table;
    plait_arena *scratch; /* of simulations */
    plait_arena *walk;    /* of what a pass alone remembers: */
    space_cursor cursor;
    plait_degrees floor_row; /* with mbs = 1, and what its leanest layer takes */
    double floor_bytes;
    unsigned char *use; /* [choices]: what is looked for among the plans of each */
} search_worker;

typedef void search_explore(const search_run *run, search_worker *worker, int64_t batch,
                            search_found *found);

/** Frees the memory of the workers of a run. */
void search_workers_end(search_run *run);

/** The first thread's, for what is done between passes. NULL: out of memory. */
search_worker *search_first_worker(const search_run *run);

/** How many threads to take: `asked`, or with 0 what the machine has. */
int search_threads(int asked);

/** Seconds of a clock that only counts on. */
double search_seconds(void);

/**
 * Run a task for every batch of rows, on several threads, and merge what they found in order. What a
 * task finds stands before what was known when it began: of this pass if the run learns, then run->known.
 *
 * @param merged  its lists live in run->arena
 */
PLAIT_MUST_CHECK plait_status search_batches(const search_run *run, search_explore *explore,
                                             search_found *merged, plait_error *err);

/**
 * Counts the variants of all plans of a ranking that stand for those alike.
 *
 * @param counted  [options.top], in run->arena
 */
PLAIT_MUST_CHECK plait_status search_count_variants(search_run *run, const search_found *found,
                                                    variant_count **counted, plait_error *err);

/** C.92 of a row. It is proportional to mbs: rows that differ in that alone ask once. */
double search_row_floor(const search_run *run, search_worker *worker, const plait_degrees *row);

/** Solves the i-th of a block, on one thread of several. */
typedef void search_solve(const search_run *run, search_worker *worker, int64_t i, void *context);

/** Takes the results of [first, end), in order, on one thread; false: it is enough. */
typedef bool search_settle(const search_run *run, int64_t first, int64_t end, void *context);

/**
 * Runs `solve` for each of `count`, block by block, with `settle` behind each block.
 *
 * @param settled  how many were, from the first on
 */
PLAIT_MUST_CHECK plait_status search_blocks(const search_run *run, int64_t count, int64_t block,
                                            search_solve *solve, search_settle *settle,
                                            void *context, int64_t *settled, plait_error *err);

/** A search beyond uniform plans, behind that of all uniform ones. */
typedef struct search_refinement {
    const char *name;
    /** May it find anything: can the software run such plans, do limits allow them? */
    bool (*is_applicable)(const search_run *run);
    /** @param out  its best plan lives in run->arena */
    plait_status (*run)(search_run *run, plait_refinement *out, plait_error *err);
} search_refinement;

extern const search_refinement search_layouts;
extern const search_refinement search_per_stage;
extern const search_refinement search_per_layer;

/** Searches every point, with bounds; proves its ranking. The lists of `found` live in run->arena. */
PLAIT_MUST_CHECK plait_status search_exhaustive(search_run *run, search_found *found,
                                                plait_error *err);

/** The value that plans are ranked by; of a lower bound of a price, a lower bound of the value. */
double objective_of(const search_run *run, plait_price price);

// answer.c
/** Expands and prices points, sorted by objective. *plans lives in run->arena. */
PLAIT_MUST_CHECK plait_status answer_ranking(const search_run *run, const plan_point *point,
                                             int count, plait_ranked **plans, plait_error *err);

/**
 * Expands and prices a front, sorted by step time, without points that are dominated at full
 * prices.
 */
PLAIT_MUST_CHECK plait_status answer_front(const search_run *run, const plan_front *front,
                                           plait_ranked **plans, int *count, plait_error *err);

// variants.c: the variants of the plans of a ranking, counted in a pass of their own (S.96)
/** Upper bound on the objective of a variant. */
double variants_most(const search_run *run);

/** Counts a plan that fits if it is a variant: of its ranked plan, which it is not itself. */
void variants_count(const search_run *run, search_worker *worker, search_found *found,
                    plan_point *plan);

/** Return whether a row, or its pipelines of one pp, may contain a variant. */
bool variants_in_row(const search_run *run, const plait_degrees *row);
bool variants_in_pipeline(const search_run *run, const plait_degrees *pipeline);
