/*
 * search.h - the best plans of a problem, proven.
 *
 * plait_search walks the whole plan space that the runtime can express and returns the best
 * plans, the Pareto front of time and memory, and how it knows. Pruning never changes the answer:
 * a block of the space is skipped only when its lower bounds show that nothing in it can enter the
 * ranking or the front. The same input gives the same bytes for any number of threads.
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
    int low;                      /* a range of a key of numbers */
    int high;
} plait_limit;

typedef struct plait_search_options {
    plait_objective objective;
    plait_refine refine; /* none by default */
    int top;             /* plans to return */
    int threads;         /* 0: as many as the machine has */
    bool prune;          /* off: price every point (for tests) */
    bool allow_numerics; /* search keys that change what a step computes, too */
    plait_key_set
        distinct; /* plans that are alike in these keys stand as one; 0: each for itself */
    int limits;
    plait_limit limit[PLAIT_MAX_LIMITS];
    void (*progress)(void *context, double share); /* called from one thread; may be NULL */
    void *progress_context;
    const void *reserved[8]; /* zero; later versions turn it into fields */
} plait_search_options;

/** The usual options: time, the best ten, all threads, no limits. */
void plait_search_options_init(plait_search_options *options);

/**
 * Add `tp=8,pp=..4` to the limits.
 *
 * Fails (RANGE) with the key in `where` when a key is unknown or a value outside its range.
 */
PLAIT_MUST_CHECK plait_status plait_search_limit(plait_search_options *options, const char *text,
                                                 plait_error *err);

/** In a large space with nothing that fits: no plan lacks so much less of what the closest lacks. */
#define PLAIT_CLOSEST_WITHIN 0.05

/** Plans alike count as variants of their best one up to so much more of its objective. */
#define PLAIT_VARIANTS_WITHIN 0.01

/** A ranked plan, its price to the digit what plait_plan_cost says of it. */
typedef struct plait_ranked {
    plait_plan plan;
    plait_price price;
    double objective; /* value it is ranked by */
    int64_t index; /* in the space: the tie-break; -1: of the closest plan, and of refined ones */
    int64_t
        variants; /* others that are alike, with an objective at most PLAIT_VARIANTS_WITHIN more */
    double variants_within; /* share that the worst of them is more */
} plait_ranked;

/** What was looked for beyond uniform plans, and what it gained. */
typedef struct plait_refinement {
    const char *name; /* "layouts" */
    bool any;         /* a plan better than all before it ... */
    plait_ranked best;
    double before;  /* the best objective before it */
    double floor;   /* no plan of this sort has an objective below: at most `before` */
    bool optimal;   /* the best there is: the floor is reached */
    int64_t points; /* that could still win by their bounds ... */
    int64_t solved; /* ... and those that were dealt */
    double elapsed_s;
} plait_refinement;

enum { PLAIT_MAX_REFINEMENTS = 4 };

typedef struct plait_search_result {
    int64_t points; /* = priced + pruned */
    int64_t priced;
    int64_t pruned;
    int64_t fits;  /* among the priced */
    int64_t tight; /* of the others, those that are likelier to fit than not */
    double elapsed_s;
    int threads;
    const char *strategy; /* that ran */
    bool optimal;         /* the ranking is proven */
    int plans;
    const plait_ranked *plan; /* [plans], best first; empty when nothing fits */
    int front_size;
    const plait_ranked *front; /* time against memory, fastest first */
    int refinements; /* in the order in which they were tried: their best leads the ranking */
    plait_refinement refinement[PLAIT_MAX_REFINEMENTS];
    bool has_tight;
    plait_ranked tight_best; /* the best tight plan, where it is better than all that fit */
    bool has_closest;
    bool closest_proven;  /* else a plan may lack less, but not by PLAIT_CLOSEST_WITHIN of it */
    plait_ranked closest; /* when nothing fits: the plan that lacks least memory */
} plait_search_result;

/**
 * Search the plan space.
 *
 * @param arena  result's arrays live in it
 * @return       RANGE when a limit contradicts the problem or the runtime (no point left, with the
 *               reason); an empty `plan` with PLAIT_OK when points exist but none fits
 */
PLAIT_MUST_CHECK plait_status plait_search(const plait_problem *problem,
                                           const plait_search_options *options, plait_arena *arena,
                                           plait_search_result *result, plait_error *err);

/** A group of nodes that a plan leaves idle, and the best plan that does not. */
typedef struct plait_idle_group {
    int group;
    int gpus;
    bool any; /* does a plan with it fit at all? */
    plait_ranked best;
} plait_idle_group;

/**
 * What groups of nodes would have bought that a plan over several sorts of them leaves idle: the best
 * plan that uses them, which is no better than the best of all.
 */
PLAIT_MUST_CHECK plait_status plait_idle_groups(const plait_problem *problem,
                                                const plait_search_options *options,
                                                const plait_plan *plan, plait_arena *arena,
                                                plait_idle_group found[PLAIT_MAX_NODE_GROUPS],
                                                int *count, plait_error *err);

/**
 * The same plan with what it recomputes chosen anew, as plait_degrees_complete chooses it: the
 * fastest that fits, or the leanest when none does.
 */
PLAIT_MUST_CHECK plait_status plait_plan_choose_recompute(const plait_problem *problem,
                                                          const plait_plan *plan,
                                                          plait_arena *arena, plait_plan *out,
                                                          plait_error *err);

/**
 * Fill the keys of a plan that `given` leaves out, as `eval` does: what is usual, and of splits and
 * recomputation the fastest that fits.
 */
PLAIT_MUST_CHECK plait_status plait_degrees_complete(const plait_problem *problem,
                                                     plait_key_set given, plait_degrees *degrees,
                                                     plait_arena *arena, plait_error *err);

/** A plan near another one: what changes, and what is gained. */
typedef struct plait_change {
    plait_key_set changed; /* dp, which follows, is not among them */
    int keys;              /* so many */
    plait_ranked best;
} plait_change;

/**
 * The fewest changes to a plan that are worth it: for one key and those that follow from it, and for
 * every two, the best plan that keeps all others. (S.97)
 *
 * @param options  its limits stand beside; `top`, `strategy` and `distinct` do not count
 * @param below    only plans with an objective below
 * @param found    [most], fewest changed keys first, then the best
 */
PLAIT_MUST_CHECK plait_status plait_changes(const plait_problem *problem,
                                            const plait_search_options *options,
                                            const plait_degrees *from, double below, int most,
                                            plait_arena *arena, plait_change *found, int *count,
                                            plait_error *err);

/**
 * The fewest changes to a plan that cannot run, or does not fit, with which it does both: one key; else
 * one key and those that follow from it; else two of these. A search found every change. (S.107)
 *
 * @param given  keys that were asked for; recompute and split are chosen anew unless they are among them
 * @param fixed  keys that keep their values
 * @param from   all keys, as plait_degrees_complete leaves them
 * @param found  [most], fewest changed keys first, then the fastest
 */
PLAIT_MUST_CHECK plait_status plait_ways_out(const plait_problem *problem, plait_key_set given,
                                             plait_key_set fixed, const plait_degrees *from,
                                             int most, plait_arena *arena, plait_change *found,
                                             int *count, plait_error *err);

/** Why the search does not choose plans with these limits: best such plan against the winner. */
typedef struct plait_why {
    plait_verdict verdict; /* of the best plan with the limits */
    bool any;              /* is there such a plan at all */
    plait_ranked best;     /* the best (or closest to fitting) plan with them */
    char sentence[512];
} plait_why;

/**
 * @param options  of the search that is asked about
 * @param limits   "key=value,...", as plait_search_limit reads them
 * @param why      always has a sentence, which has no full stop
 * @return         RANGE where a key or a value is none, NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_why_not(const plait_problem *problem,
                                            const plait_search_options *options, const char *limits,
                                            plait_arena *arena, plait_why *why, plait_error *err);

/** One change to the question that makes a plan fit, or a step faster. */
typedef struct plait_relaxation {
    char change[200];             /* "512 GPUs instead of 256" */
    plait_ranked best;            /* of a large space one that fits, which may not be the best */
    plait_job job;                /* the changed job */
    const plait_runtime *runtime; /* the changed software; NULL: that of the question */
} plait_relaxation;

enum { PLAIT_MAX_RELAXATIONS = 8 };

/**
 * When nothing fits: the smallest change of each sort that makes a plan fit, cheapest first. Without one of
 * the limits; more GPUs, in quarters of a doubling; more nodes of one sort, doubled; sequences halved.
 */
PLAIT_MUST_CHECK plait_status plait_relaxations(const plait_problem *problem,
                                                const plait_search_options *options,
                                                plait_arena *arena, plait_relaxation *found,
                                                int *count, plait_error *err);

/** The first that plait_relaxations finds, if it finds any; the others are not searched. */
PLAIT_MUST_CHECK plait_status plait_first_relaxation(const plait_problem *problem,
                                                     const plait_search_options *options,
                                                     plait_arena *arena, plait_relaxation *found,
                                                     bool *any, plait_error *err);

/**
 * Searches another runtime for a plan that fits.
 *
 * @param other      the question with that runtime and its bands of evidence
 * @param offloaded  with the least state in host memory that makes a plan fit
 * @param found      set where *fits
 */
PLAIT_MUST_CHECK plait_status plait_relax_runtime(
    const plait_problem *problem, const plait_problem *other, const plait_search_options *options,
    bool offloaded, plait_arena *arena, plait_relaxation *found, bool *fits, plait_error *err);

/** The smaller number of GPUs that works best. */
typedef struct plait_fewer_gpus {
    int gpus;          /* 0: none is better, or the job's own divide well and none was looked at */
    plait_ranked best; /* its best plan */
    double ideal_s; /* of all GPUs, if they divided as well: its step * gpus / the job's (S.82) */
    int searched;   /* numbers of GPUs that were searched */
    bool proven;    /* no other number is better */
} plait_fewer_gpus;

/**
 * Where the GPUs of a job divide badly into its layers, heads, sequence and batch: the smaller number
 * of whole nodes with the shortest step, if that is shorter than the job's own. (S.81)
 *
 * @param result  what a search found with all GPUs; NULL: it found no legal plan
 * @param out     its plan lives in `arena`; empty for objectives other than time
 */
PLAIT_MUST_CHECK plait_status plait_fewer_gpus_find(const plait_problem *problem,
                                                    const plait_search_options *options,
                                                    const plait_search_result *result,
                                                    plait_arena *arena, plait_fewer_gpus *out,
                                                    plait_error *err);

/** What 10 % more of one resource does to a plan's step time. */
typedef struct plait_sensitivity {
    const char *resource; /* "matrix peak", "HBM bandwidth", ... */
    double step_s;        /* with 10 % more of it */
    double gain;          /* step time saved over today's, 0 .. 1 */
} plait_sensitivity;

enum { PLAIT_SENSITIVITIES = 7 };

/**
 * Each resource in turn: matrix peak, bandwidth and capacity of memory, bandwidth inside and between
 * nodes, latency of links, speed of the host. The plan stays as it is, but that with more memory it may
 * recompute less.
 */
PLAIT_MUST_CHECK plait_status plait_sensitivities(const plait_problem *problem,
                                                  const plait_plan *plan, plait_arena *arena,
                                                  plait_sensitivity found[PLAIT_SENSITIVITIES],
                                                  plait_error *err);

PLAIT_END_DECLS

#endif
