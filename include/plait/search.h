/*
 * search.h - search for the best plans of a problem, with proof
 *
 * plait_search walks the whole plan space that the runtime can express and returns the best plans,
 * the Pareto front of time and memory, and whether they are proven. Pruning never changes the
 * result: a block of the space is skipped only if its lower bounds show that no plan in it can
 * enter the ranking or the front. The same input gives the same bytes for any number of threads.
 *
 * In order: plait_search_options_init, set limits, plait_search; plait_why_not and
 * plait_relaxations for the questions that follow.
 */
#ifndef PLAIT_SEARCH_H
#define PLAIT_SEARCH_H

#include "plait/cost.h"

PLAIT_BEGIN_DECLS

typedef enum plait_objective {
    PLAIT_MINIMISE_TIME,
    PLAIT_MINIMISE_MEMORY,
    PLAIT_MINIMISE_COST,
    PLAIT_MINIMISE_ENERGY,
    PLAIT_OBJECTIVES
} plait_objective;

extern const char *const plait_objective_name[PLAIT_OBJECTIVES + 1];

/** The plans that are searched after the uniform ones; each level includes the levels before it. */
typedef enum plait_refine {
    PLAIT_REFINE_NONE,
    PLAIT_REFINE_LAYOUTS, /* layers assigned to chunks one by one */
    PLAIT_REFINE_STAGES,  /* recomputation and offload by stage or layer */
    PLAIT_REFINE_LAYERS,  /* TP and ZeRO by layer */
    PLAIT_REFINE_ALL,
    PLAIT_REFINES
} plait_refine;

extern const char *const plait_refine_name[PLAIT_REFINES + 1];

enum { PLAIT_MAX_LIMITS = 64 };

/** A condition on one key: `tp=8`, `tp=..8`, `pp=2..16`, `recompute=full`, `schedule=1f1b`. */
typedef struct plait_limit {
    plait_key_id key;
    char value[PLAIT_VALUE_SIZE]; /* a word; "" for numbers */
    int low;                      /* range of a number */
    int high;
} plait_limit;

typedef struct plait_search_options {
    plait_objective objective;
    plait_refine refine; /* none by default */
    int top;             /* plans to return */
    int threads;         /* 0: OMP_NUM_THREADS, or all processors */
    bool prune;          /* off: price every point (for tests) */
    bool allow_numerics; /* also search keys that change the numerics of a step */
    plait_key_set
        distinct; /* plans that agree in these keys are listed once; 0: all plans are listed */
    int limits;
    plait_limit limit[PLAIT_MAX_LIMITS];
    void (*progress)(void *context, double share); /* called from one thread; may be NULL */
    void *progress_context;
    double front_within; /* plans of the front take at most this many times the shortest step; 0:
                          * PLAIT_FRONT_WITHIN, infinite: no limit */
    const void *reserved[7]; /* zero; later versions turn it into fields */
} plait_search_options;

/** Default options: time, the best ten, all threads, no limits. */
void plait_search_options_init(plait_search_options *options);

/**
 * Add `tp=8,pp=..4` to the limits.
 *
 * Fails (RANGE) with the key in `where` if a key is unknown or a value is outside its range.
 */
PLAIT_MUST_CHECK plait_status plait_search_limit(plait_search_options *options, const char *text,
                                                 plait_error *err);

/**
 * In a large space without a feasible plan, the memory that the closest plan lacks is at most this
 * share above the minimum.
 */
#define PLAIT_CLOSEST_WITHIN 0.05

/** Plans of the Pareto front take at most this many times the shortest step, by default. */
#define PLAIT_FRONT_WITHIN 1.5

/**
 * Plans that agree in `distinct` are variants of the best one, up to this share above its
 * objective.
 */
#define PLAIT_VARIANTS_WITHIN 0.01

/** A ranked plan; its price is that of plait_plan_cost to the last digit. */
typedef struct plait_ranked {
    plait_plan plan;
    plait_price price;
    double objective;       /* value of the objective */
    int64_t index;          /* index in the space, which breaks ties; -1: closest or refined plan */
    int64_t variants;       /* number of variants within PLAIT_VARIANTS_WITHIN of the objective */
    double variants_within; /* share by which the worst variant exceeds the objective */
} plait_ranked;

/** A refinement beyond uniform plans, and its gain. */
typedef struct plait_refinement {
    const char *name; /* "layouts" */
    bool any;         /* whether it found a better plan than all before */
    plait_ranked best;
    double before;    /* best objective before this refinement */
    double floor;     /* lower bound over all plans of this kind, at most `before` */
    bool optimal;     /* the lower bound is reached */
    int64_t points;   /* points whose bounds do not exclude a better plan */
    int64_t solved;   /* points that were refined */
    int64_t unlisted; /* pipelines whose points were not listed, since the budget of bounds ended;
                       * the lower bound includes them */
    bool short_of_memory; /* memory ended it: it has no plan and no lower bound */
    double elapsed_s;
} plait_refinement;

enum { PLAIT_MAX_REFINEMENTS = 4 };

typedef struct plait_search_result {
    int64_t points; /* = priced + pruned */
    int64_t priced;
    int64_t pruned;
    int64_t fits;  /* feasible points among the priced */
    int64_t tight; /* points with the verdict PLAIT_TIGHT among the priced */
    double elapsed_s;
    int threads;
    const char *strategy; /* method of the search: "exhaustive" or "mixed" (plans over several node
                           * groups) */
    bool optimal;         /* whether the ranking is proven */
    bool short_of_memory; /* memory ended the search of uniform plans or a refinement: the plans are
                           * the best of those found until then */
    bool unmeasured;      /* whether plans use techniques without measured runs, because no other
                           * plan fits */
    int plans;
    const plait_ranked *plan; /* [plans], best first; empty if nothing fits */
    int front_size;
    const plait_ranked *front; /* Pareto front of time and memory, fastest first */
    int refinements; /* number of refinements, in the order of the search; the best one heads the
                      * ranking */
    plait_refinement refinement[PLAIT_MAX_REFINEMENTS];
    bool has_tight;
    plait_ranked tight_best; /* the best tight plan, if it is better than all that fit */
    bool has_closest;
    bool closest_proven;  /* whether no plan lacks less memory; otherwise `closest` is within
                           * PLAIT_CLOSEST_WITHIN */
    plait_ranked closest; /* if no plan fits: the plan that lacks the least memory */
} plait_search_result;

/**
 * Search the plan space.
 *
 * @param arena  result's arrays live in it
 * @return       RANGE if a limit contradicts the problem or the runtime (no point is left; the
 *               message has the reason); an empty `plan` with PLAIT_OK if points exist but none
 *               fits
 */
PLAIT_MUST_CHECK plait_status plait_search(const plait_problem *problem,
                                           const plait_search_options *options, plait_arena *arena,
                                           plait_search_result *result, plait_error *err);

/** Plans up to this share above the least objective count as equal, so that the simplest is run. */
#define PLAIT_SIMPLEST_WITHIN 0.01

/**
 * The plan to run: of the ranked plans within PLAIT_SIMPLEST_WITHIN of the first, the simplest one.
 * (S.110)
 *
 * A plan is simpler without a layout and without choices of single stages, then without offload,
 * then with fewer techniques other than the software's defaults, then with more free memory.
 *
 * @return  index in result->plan; -1: no plan fits
 */
int plait_search_recommended(const plait_problem *problem, const plait_search_result *result);

/** A plan that the model claims to be faster, with techniques that no measured run supports. */
typedef struct plait_by_model {
    plait_degrees degrees;
    plait_key_set changed; /* keys whose values no measured run supports; 0: no faster plan */
    double step_s;
} plait_by_model;

/**
 * Changes a plan to techniques that no measured run supports, one after another, while the model's
 * step gets shorter and the plan fits. The plan's own unmeasured values count too. (S.111)
 *
 * Keys with a limit keep their values, and so do keys that change the numerics of a step unless
 * options->allow_numerics is set. A plan whose stages choose their own degrees is not changed.
 */
PLAIT_MUST_CHECK plait_status plait_search_by_model(const plait_problem *problem,
                                                    const plait_search_options *options,
                                                    const plait_ranked *from, plait_arena *arena,
                                                    plait_by_model *out, plait_error *err);

/** A node group that a plan leaves idle, and the best plan that uses it. */
typedef struct plait_idle_group {
    int group;
    int gpus;
    bool any; /* whether any plan with the group fits */
    plait_ranked best;
} plait_idle_group;

/**
 * For each node group that a heterogeneous plan leaves idle, the best plan that uses it, which is
 * no better than the best of all.
 */
PLAIT_MUST_CHECK plait_status plait_idle_groups(const plait_problem *problem,
                                                const plait_search_options *options,
                                                const plait_plan *plan, plait_arena *arena,
                                                plait_idle_group found[PLAIT_MAX_NODE_GROUPS],
                                                int *count, plait_error *err);

/**
 * The plan with a new choice of recomputation, as in plait_degrees_complete: the fastest that fits,
 * or the one with the least memory if none does.
 */
PLAIT_MUST_CHECK plait_status plait_plan_choose_recompute(const plait_problem *problem,
                                                          const plait_plan *plan,
                                                          plait_arena *arena, plait_plan *out,
                                                          plait_error *err);

/**
 * Fill the keys of a plan that are not in `given`, as `eval` does: default values, and the fastest
 * split and recomputation that fit.
 */
PLAIT_MUST_CHECK plait_status plait_degrees_complete(const plait_problem *problem,
                                                     plait_key_set given, plait_degrees *degrees,
                                                     plait_arena *arena, plait_error *err);

/** A plan near another one: its changes and its gain. */
typedef struct plait_change {
    plait_key_set changed; /* changed keys, without dp, which follows */
    int keys;              /* number of changed keys */
    plait_ranked best;
} plait_change;

/**
 * The fewest changes that improve a plan: for each key and each pair of keys, the best plan that
 * changes only these and the keys that follow from them. (S.97)
 *
 * @param options  its limits also apply; `top`, `strategy` and `distinct` do not
 * @param below    only plans with an objective below
 * @param found    [most], fewest changed keys first, then the best
 */
PLAIT_MUST_CHECK plait_status plait_changes(const plait_problem *problem,
                                            const plait_search_options *options,
                                            const plait_degrees *from, double below, int most,
                                            plait_arena *arena, plait_change *found, int *count,
                                            plait_error *err);

/**
 * The fewest changes that make a plan run and fit, if it cannot run or does not fit. Changes of one
 * key are tried first, then of one key and the keys that follow from it, then of two such keys. A
 * search finds each change. (S.107)
 *
 * @param given  keys with requested values; recompute and split are chosen again unless they are
 *               given
 * @param fixed  keys that keep their values
 * @param from   all keys, as plait_degrees_complete leaves them
 * @param found  [most], fewest changed keys first, then the fastest
 */
PLAIT_MUST_CHECK plait_status plait_ways_out(const plait_problem *problem, plait_key_set given,
                                             plait_key_set fixed, const plait_degrees *from,
                                             int most, plait_arena *arena, plait_change *found,
                                             int *count, plait_error *err);

/**
 * Why a search does not choose plans with certain limits: the best such plan, and its difference.
 */
typedef struct plait_why {
    plait_verdict verdict; /* verdict of the best plan with the limits */
    bool any;              /* whether there is such a plan */
    plait_ranked best;     /* best plan with the limits, or the one closest to fitting */
    char sentence[512];
} plait_why;

/**
 * Compare the best plan with these limits with the result of a search.
 *
 * @param options  options of the search in question
 * @param limits   "key=value,...", as in plait_search_limit
 * @param why      always receives a sentence, without a full stop
 * @return         RANGE for an unknown key or value, NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_why_not(const plait_problem *problem,
                                            const plait_search_options *options, const char *limits,
                                            plait_arena *arena, plait_why *why, plait_error *err);

/** One change to the problem that makes a plan fit, or a step faster. */
typedef struct plait_relaxation {
    char change[200];  /* "512 GPUs instead of 256" */
    plait_ranked best; /* best plan after the change; in a large space any plan that fits */
    plait_job job;     /* the changed job */
    const plait_runtime *runtime; /* the changed software; NULL: that of the problem */
} plait_relaxation;

enum { PLAIT_MAX_RELAXATIONS = 8 };

/**
 * If nothing fits: the smallest change of each kind that makes a plan fit, cheapest first. Kinds:
 * one limit removed; more GPUs, in quarters of a doubling; more nodes of one kind, doubled;
 * sequences halved.
 */
PLAIT_MUST_CHECK plait_status plait_relaxations(const plait_problem *problem,
                                                const plait_search_options *options,
                                                plait_arena *arena, plait_relaxation *found,
                                                int *count, plait_error *err);

/** The first result of plait_relaxations, if any; the others are not searched. */
PLAIT_MUST_CHECK plait_status plait_first_relaxation(const plait_problem *problem,
                                                     const plait_search_options *options,
                                                     plait_arena *arena, plait_relaxation *found,
                                                     bool *any, plait_error *err);

/**
 * Searches another runtime for a plan that fits.
 *
 * @param other      the problem with that runtime and its bands of evidence
 * @param offloaded  with the least state in host memory that makes a plan fit
 * @param found      set where *fits
 */
PLAIT_MUST_CHECK plait_status plait_relax_runtime(
    const plait_problem *problem, const plait_problem *other, const plait_search_options *options,
    bool offloaded, plait_arena *arena, plait_relaxation *found, bool *fits, plait_error *err);

/** The best number of GPUs below that of a job. */
typedef struct plait_fewer_gpus {
    int gpus; /* 0: no smaller number is better, or none was searched since the job's own divides
               * well */
    plait_ranked best; /* best plan on `gpus` GPUs */
    double
        ideal_s;  /* step of all GPUs if they divided as well: its step * gpus / the job's (S.82) */
    int searched; /* numbers of GPUs that were searched */
    bool proven;  /* whether it is proven that no other number is better */
} plait_fewer_gpus;

/**
 * If the GPUs of a job divide badly into its layers, heads, sequence and batch: the smaller number
 * of whole nodes with the shortest step, if that is shorter than the job's own. (S.81)
 *
 * @param result  result of the search with all GPUs; NULL: it found no legal plan
 * @param out     its plan lives in `arena`; empty for objectives other than time
 */
PLAIT_MUST_CHECK plait_status plait_fewer_gpus_find(const plait_problem *problem,
                                                    const plait_search_options *options,
                                                    const plait_search_result *result,
                                                    plait_arena *arena, plait_fewer_gpus *out,
                                                    plait_error *err);

/** The effect of 10 % more of one resource on a plan's step time. */
typedef struct plait_sensitivity {
    const char *resource; /* "matrix peak", "HBM bandwidth", ... */
    double step_s;        /* step time with 10 % more of it */
    double gain;          /* step time saved over today's, 0 .. 1 */
} plait_sensitivity;

enum { PLAIT_SENSITIVITIES = 7 };

/**
 * The step time with 10 % more of each resource: matrix peak, bandwidth and capacity of memory,
 * bandwidth inside and between nodes, latency of links, speed of the host. The plan stays
 * unchanged, except that it may recompute less with more memory.
 */
PLAIT_MUST_CHECK plait_status plait_sensitivities(const plait_problem *problem,
                                                  const plait_plan *plan, plait_arena *arena,
                                                  plait_sensitivity found[PLAIT_SENSITIVITIES],
                                                  plait_error *err);

PLAIT_END_DECLS

#endif
