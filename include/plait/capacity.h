/*
 * capacity.h - how many GPUs a training run takes: days, dollars, energy, and what binds.
 *
 * Each number of GPUs of each cluster is a plait_problem of its own. plait_capacity_find searches its
 * best plan and follows it to the end of the run: steps, interruptions, days with their band, money.
 * plait_capacity_search_range finds the smallest and the cheapest of a range of numbers, plait_capacity_compare
 * compares rows, plait_capacity_tornado computes what moves the answer.
 *
 * In order: plait_capacity_options_init, a plait_capacity_find for each problem, plait_capacity_search_range for each
 * range, plait_capacity_compare, plait_capacity_tornado.
 *
 * Left out: prices that fall with the length of a contract, storage and network traffic, staff, evaluations and
 * failed experiments, the loss that another batch size costs.
 */
#ifndef PLAIT_CAPACITY_H
#define PLAIT_CAPACITY_H

#include "plait/search.h"

PLAIT_BEGIN_DECLS

enum { PLAIT_MOST_SPARES = 1024 };

/** What is known of a fleet and of the software that restarts a job. */
typedef struct plait_reliability {
    double interruptions_per_node_day; /* of the job, by one of its nodes */
    double node_loss;            /* share of interruptions that send a node to repair, 0 .. 1 */
    double repeat;               /* share of restarts that fail again at once, 0 .. below 1 */
    double straggler;            /* factor on a step, >= 1 */
    double detect_s;             /* from a failure until it is noticed */
    double restart_s;            /* from then until the job computes again, reading included */
    double repair_s;             /* until a node that left is back */
    double node_bytes_per_s;     /* of checkpoints, one node writes */
    double most_bytes_per_s;     /* of checkpoints, the storage takes */
    bool async;                  /* is a checkpoint written behind the next steps? */
    double snapshot_bytes_per_s; /* one node, to host memory: blocks an asynchronous one */
    int spares;                  /* nodes that wait; < 0: as many as pay for themselves */
} plait_reliability;

/** A settled fleet of H100 nodes and blocking checkpoints; each default names its source. */
void plait_reliability_init(plait_reliability *fleet);

/** Fails (RANGE) unless shares, times, rates and spares are within what their comments say. */
PLAIT_MUST_CHECK plait_status plait_reliability_check(const plait_reliability *fleet,
                                                      plait_error *err);

/** Everything that follows for one job. */
typedef struct plait_goodput {
    double mtbf_s;     /* of the job, M; infinite when nothing ever fails */
    double write_s;    /* a whole checkpoint */
    double blocked_s;  /* C: of it, training stands still */
    double lag_s;      /* from a snapshot until it can be read back */
    double interval_s; /* tau, work between checkpoints; infinite when none is needed */
    double detect_s;
    double restart_s; /* until it computes again, repeats counted */
    double wait_s;    /* for a node, mean of an interruption */
    int spares;
    double repair_s;
    double node_loss;
    double repeat;
    double once_s;    /* restart_s of a single attempt */
    double straggler; /* factor on a step */
    double effective; /* share of time that is useful work, 0 .. 1, stragglers counted */
} plait_goodput;

typedef struct plait_capacity_options {
    double tokens;           /* of the whole run */
    double deadline_s;       /* 0: none */
    double budget_usd;       /* 0: none */
    double usd_per_gpu_hour; /* 0: as the accelerator's file says */
    double co2_g_per_kwh;    /* of the grid; NaN: nobody said */
    double knee; /* where twice the GPUs gain less than this share, 0 to 1, of twice the tokens */
    int runs;    /* to draw; 0: none */
    plait_reliability fleet;
    plait_search_options search;
    const void *reserved[8]; /* zero; later versions turn it into fields */
} plait_capacity_options;

/** No deadline, no budget, 1000 runs, the usual fleet, a knee of 0.8. */
void plait_capacity_options_init(plait_capacity_options *ask);

/** What stands in the way of one number of GPUs. */
typedef enum plait_capacity_limit {
    PLAIT_CAPACITY_LIMIT_NOTHING,
    PLAIT_CAPACITY_LIMIT_PLAN,   /* no plan is legal */
    PLAIT_CAPACITY_LIMIT_MEMORY, /* none fits */
    PLAIT_CAPACITY_LIMIT_FAILURES, /* less than a thousandth of the time is useful work: it never ends */
    PLAIT_CAPACITY_LIMIT_DEADLINE, /* the mean is late */
    PLAIT_CAPACITY_LIMIT_BUDGET,
    PLAIT_CAPACITY_LIMIT_BOTH, /* late and too expensive */
    PLAIT_CAPACITY_LIMITS
} plait_capacity_limit;

/** "-", "plan", "memory", "failures", "deadline", "budget", "deadline+budget". */
extern const char *const plait_capacity_limit_name[PLAIT_CAPACITY_LIMITS + 1];

/** Days that drawn runs take; NaN when none were drawn. */
typedef struct plait_run_samples {
    double mean_s;
    double early_s;  /* one in ten is done by then */
    double middle_s; /* every other */
    double late_s;   /* nine in ten */
    double finishes; /* share by the deadline; NaN without one */
} plait_run_samples;

/** One number of GPUs. Seconds are on the calendar unless said otherwise. */
typedef struct plait_capacity_row {
    const plait_problem *problem;
    plait_capacity_limit limit;
    bool fits; /* the rest is zero where nothing does */
    plait_plan plan;
    plait_cost cost; /* of a step */
    double steps;
    double work_s; /* steps alone */
    double checkpoint_bytes;
    plait_goodput goodput;
    double tokens_per_s; /* while it computes */
    double wall_s;
    double wall_low_s; /* of the band of the step: 80 % of runs lie there; NaN where it has none */
    double wall_high_s;
    double finishes; /* probability by the deadline; NaN without one */
    plait_run_samples drawn;
    double usd;      /* NaN when no price is known */
    double energy_j; /* NaN when no power is known */
    double co2_kg;   /* NaN when one of the two is not */
    // judged against the others
    double scaling; /* tokens a GPU and day over those of the fewest GPUs of the cluster */
    double gain;    /* tokens a day over those of the number before; NaN for the first */
    bool knee;      /* the first that gains too little */
    bool front;     /* none is both faster and cheaper */
    bool between;   /* found between the numbers asked for: gain and knee pass over it */
    double power_w; /* mean of the facility during a step, PUE included; NaN when not known */
    double usd_per_gpu_hour; /* NaN when no price is known */
} plait_capacity_row;

/** Finds the best plan, and days, dollars and energy of the whole run. *row lives in `arena`. (C.328) */
PLAIT_MUST_CHECK plait_status plait_capacity_find(const plait_capacity_options *ask,
                                                  const plait_problem *problem, plait_arena *arena,
                                                  plait_capacity_row *row, plait_error *err);

/** The same of a row that has its plan and its cost already. */
PLAIT_MUST_CHECK plait_status plait_capacity_follow(const plait_capacity_options *ask,
                                                    plait_arena *arena, plait_capacity_row *row,
                                                    plait_error *err);

/** Dollars an hour of one GPU of a job, the mean over its nodes; NaN when one has no price. */
double plait_capacity_usd_per_gpu_hour(const plait_capacity_options *ask,
                                       const plait_problem *problem);

/** Which of the rows answer; -1: none does. */
typedef struct plait_capacity_verdict {
    int smallest; /* fewest GPUs within deadline and budget */
    int cheapest; /* fewest dollars within the deadline */
    int fastest;
} plait_capacity_verdict;

/** Compare rows; those of one cluster are side by side, by rising numbers of GPUs. (C.329) */
plait_capacity_verdict plait_capacity_compare(const plait_capacity_options *ask,
                                              plait_capacity_row *row, int rows);

/** The question of one number of GPUs with one batch, which may live as long as `arena`. */
typedef plait_status(plait_capacity_problem_at)(void *context, int gpus, int gbs,
                                                plait_arena *arena, plait_problem *out,
                                                plait_error *err);

/** Numbers of GPUs of one cluster, each with each of some batches. */
typedef struct plait_capacity_range {
    int from, to, step; /* GPUs; numbers that are not whole nodes are passed over */
    int batches;
    const int *gbs; /* [batches] */
    plait_capacity_problem_at *question;
    void *context;
} plait_capacity_range;

enum { PLAIT_CAPACITY_FOUND = 2 };

/** The answers that lie between the numbers of rows, and how far they were searched for. */
typedef struct plait_capacity_range_result {
    int numbers;  /* of GPUs in whole nodes */
    int divide;   /* of these, those that some plan divides the layers and a batch over */
    int searches; /* of a number with a batch; bounds ruled out the others (S.112) */
    bool whole;   /* else searches were too many, and some numbers were left out */
    bool assumed; /* that between doublings no fewer GPU seconds a sequence are taken (S.113) */
    int rows;
    plait_capacity_row row[PLAIT_CAPACITY_FOUND]; /* smaller or cheaper than all before */
} plait_capacity_range_result;

/**
 * The smallest and the cheapest of a range, as far as they are better than rows that are found already. (S.112)
 *
 * @param row  [rows]: what plait_capacity_find found, of any cluster
 * @param out  its rows live in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_capacity_search_range(const plait_capacity_options *ask,
                                                          const plait_capacity_range *range,
                                                          const plait_capacity_row *row, int rows,
                                                          plait_arena *arena,
                                                          plait_capacity_range_result *out,
                                                          plait_error *err);

/** One input, a tenth less and a tenth more. */
typedef struct plait_capacity_swing {
    const char *what;
    double wall_s[2]; /* infinite when nothing fits any more */
    double usd[2];
} plait_capacity_swing;

enum { PLAIT_CAPACITY_SWINGS = 7 };

/** What a tenth of each input moves, with the best plan searched anew; the widest first. */
PLAIT_MUST_CHECK plait_status plait_capacity_tornado(
    const plait_capacity_options *ask, const plait_capacity_row *row, plait_arena *arena,
    plait_capacity_swing swing[PLAIT_CAPACITY_SWINGS], plait_error *err);

PLAIT_END_DECLS

#endif
