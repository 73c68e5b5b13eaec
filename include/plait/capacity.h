/*
 * capacity.h - GPUs for a training run: days, dollars, energy, and the limiting condition
 *
 * Each number of GPUs of each cluster is a separate plait_problem. plait_capacity_find searches its
 * best plan and projects it to the end of the run: steps, interruptions, days with their band,
 * cost. plait_capacity_search_range finds the smallest and the cheapest number of GPUs of a range,
 * plait_capacity_compare compares rows, and plait_capacity_tornado computes the sensitivity of a
 * row to its inputs.
 *
 * In order: plait_capacity_options_init, a plait_capacity_find for each problem,
 * plait_capacity_search_range for each range, plait_capacity_compare, plait_capacity_tornado.
 *
 * Units: seconds, dollars, joules, unless a name states another.
 *
 * Left out: prices that fall with the length of a contract, storage and network traffic, staff,
 * evaluations and failed experiments, the effect of another batch size on the loss.
 */
#ifndef PLAIT_CAPACITY_H
#define PLAIT_CAPACITY_H

#include "plait/search.h"

PLAIT_BEGIN_DECLS

enum { PLAIT_MOST_SPARES = 1024 };

/** Failure and restart rates of a fleet, and its checkpoints. */
typedef struct plait_reliability {
    double interruptions_per_node_day; /* interruptions of the job by one of its nodes, per day */
    double node_loss;            /* share of interruptions that send a node to repair, 0 .. 1 */
    double repeat;               /* share of restarts that fail again at once, 0 .. below 1 */
    double straggler;            /* factor on a step, >= 1 */
    double detect_s;             /* time from a failure until its detection */
    double restart_s;            /* time from detection until the job computes again, reading the
                                  * checkpoint included */
    double repair_s;             /* time from the loss of a node until its return */
    double node_bytes_per_s;     /* checkpoint write rate of one node */
    double most_bytes_per_s;     /* checkpoint write rate of the storage */
    bool async;                  /* checkpoints are written during the next steps */
    double snapshot_bytes_per_s; /* snapshot rate of one node to host memory; blocks steps */
    int spares;                  /* spare nodes; < 0: the cost-optimal number */
} plait_reliability;

/**
 * Defaults: a mature fleet of H100 nodes, blocking checkpoints. The code names the source of each.
 */
void plait_reliability_init(plait_reliability *fleet);

/** Fails (RANGE) if a share, time, rate or number of spares is outside the range in its comment. */
PLAIT_MUST_CHECK plait_status plait_reliability_check(const plait_reliability *fleet,
                                                      plait_error *err);

/** Goodput of one job: its interruptions, checkpoints and share of useful time. */
typedef struct plait_goodput {
    double mtbf_s;     /* M, mean time between failures of the job; infinite without failures */
    double write_s;    /* time to write a checkpoint */
    double blocked_s;  /* C, part of write_s that blocks training */
    double lag_s;      /* time from a snapshot until its checkpoint can be read */
    double interval_s; /* tau, work between checkpoints; infinite if none is needed */
    double detect_s;
    double restart_s; /* time from detection until the job computes again, repeated attempts
                       * included */
    double wait_s;    /* mean wait for a node per interruption */
    int spares;
    double repair_s;
    double node_loss;
    double repeat;
    double once_s;    /* restart_s of a single attempt */
    double straggler; /* factor on a step */
    double effective; /* share of time that is useful work, with stragglers, 0 .. 1 */
} plait_goodput;

typedef struct plait_capacity_options {
    double tokens;           /* tokens of the whole run */
    double deadline_s;       /* 0: none */
    double budget_usd;       /* 0: none */
    double usd_per_gpu_hour; /* price; 0: that of the accelerator's file */
    double co2_g_per_kwh;    /* carbon intensity of the grid; NaN: unknown */
    double knee;             /* share of ideal scaling per doubling, 0 .. 1, that marks the knee */
    int runs;                /* runs to simulate; 0: none */
    plait_reliability fleet;
    plait_search_options search;
    const void *reserved[8]; /* zero; later versions turn it into fields */
} plait_capacity_options;

/**
 * Defaults: no deadline, no budget, 1000 runs, the default fleet, a knee of 0.8. Set the tokens.
 */
void plait_capacity_options_init(plait_capacity_options *ask);

/** The condition that a number of GPUs violates. */
typedef enum plait_capacity_limit {
    PLAIT_CAPACITY_LIMIT_NOTHING,
    PLAIT_CAPACITY_LIMIT_PLAN,     /* no plan is legal */
    PLAIT_CAPACITY_LIMIT_MEMORY,   /* no plan fits */
    PLAIT_CAPACITY_LIMIT_FAILURES, /* less than 0.1 % of the time is useful work */
    PLAIT_CAPACITY_LIMIT_DEADLINE, /* the mean run ends after the deadline */
    PLAIT_CAPACITY_LIMIT_BUDGET,   /* the mean run costs more than the budget */
    PLAIT_CAPACITY_LIMIT_BOTH,     /* the mean run ends after the deadline and costs more than the
                                    * budget */
    PLAIT_CAPACITY_LIMITS
} plait_capacity_limit;

/** "-", "plan", "memory", "failures", "deadline", "budget", "deadline+budget". */
extern const char *const plait_capacity_limit_name[PLAIT_CAPACITY_LIMITS + 1];

/** Durations of simulated runs on the calendar; NaN if no runs were simulated. */
typedef struct plait_run_samples {
    double mean_s;
    double early_s;  /* 10 % quantile */
    double middle_s; /* median */
    double late_s;   /* 90 % quantile */
    double finishes; /* share of runs that end by the deadline; NaN without one */
} plait_run_samples;

/**
 * Result for one number of GPUs. If `fits` is false, only problem and limit are valid; the rest is
 * zero. Seconds are on the calendar unless a comment states otherwise. plait_capacity_compare sets
 * `scaling` to `front`.
 */
typedef struct plait_capacity_row {
    const plait_problem *problem;
    plait_capacity_limit limit;
    bool fits; /* whether a plan fits */
    plait_plan plan;
    plait_cost cost; /* cost of one step */
    double steps;
    double work_s; /* time of all steps, without interruptions */
    double checkpoint_bytes;
    plait_goodput goodput;
    double tokens_per_s; /* rate while the job computes */
    double wall_s;
    double wall_low_s; /* 80 % band of wall_s, from that of the step; NaN without one */
    double wall_high_s;
    double finishes; /* probability of an end by the deadline; NaN without one */
    plait_run_samples drawn;
    double usd;      /* NaN when no price is known */
    double energy_j; /* NaN when no power is known */
    double co2_kg;   /* NaN if energy or carbon intensity is unknown */
    // judged against the others
    double scaling;          /* tokens per GPU and day over those of the cluster's fewest GPUs */
    double gain;             /* tokens per day over those of the previous number; NaN: first */
    bool knee;               /* the first number that gains too little */
    bool front;              /* whether the row is on the Pareto front of time and dollars */
    bool between;            /* found by a range search; excluded from gain and knee */
    double power_w;          /* mean power of the facility in a step, with PUE; NaN if unknown */
    double usd_per_gpu_hour; /* NaN when no price is known */
} plait_capacity_row;

/**
 * Find the best plan, and the days, dollars and energy of the run. *row lives in `arena`. (C.328)
 */
PLAIT_MUST_CHECK plait_status plait_capacity_find(const plait_capacity_options *ask,
                                                  const plait_problem *problem, plait_arena *arena,
                                                  plait_capacity_row *row, plait_error *err);

/** Fill the other fields of a row from its problem, plan and cost. (C.328) */
PLAIT_MUST_CHECK plait_status plait_capacity_follow(const plait_capacity_options *ask,
                                                    plait_arena *arena, plait_capacity_row *row,
                                                    plait_error *err);

/** Dollars per hour of one GPU, mean over the nodes of a job; NaN if a node has no price. */
double plait_capacity_usd_per_gpu_hour(const plait_capacity_options *ask,
                                       const plait_problem *problem);

/** Indices of the rows that answer the question; -1: none. */
typedef struct plait_capacity_verdict {
    int smallest; /* fewest GPUs within deadline and budget */
    int cheapest; /* fewest dollars within the deadline */
    int fastest;
} plait_capacity_verdict;

/**
 * Compare rows and set their scaling, gain, knee and front. (C.329)
 *
 * @param row  [rows]; the rows of one cluster are adjacent, by rising numbers of GPUs
 */
plait_capacity_verdict plait_capacity_compare(const plait_capacity_options *ask,
                                              plait_capacity_row *row, int rows);

/**
 * Makes the problem of one number of GPUs and one batch; what *out points to may live in `arena`.
 */
typedef plait_status(plait_capacity_problem_at)(void *context, int gpus, int gbs,
                                                plait_arena *arena, plait_problem *out,
                                                plait_error *err);

/** A range of numbers of GPUs of one cluster, each of them with each of several batches. */
typedef struct plait_capacity_range {
    int from, to, step; /* GPUs; numbers that are not whole nodes are skipped */
    int batches;
    const int *gbs; /* [batches] */
    plait_capacity_problem_at *question;
    void *context;
} plait_capacity_range;

enum { PLAIT_CAPACITY_FOUND = 2 };

/**
 * Result of a range search: rows between the given ones that are better, and the extent of the
 * search.
 */
typedef struct plait_capacity_range_result {
    int numbers;  /* numbers of GPUs in the range, in whole nodes */
    int divide;   /* numbers of GPUs that divide the layers and a batch in some plan */
    int searches; /* searched pairs of number and batch; bounds excluded the others (S.112) */
    bool whole;   /* whether all numbers are covered; if not, the limit of searches was reached */
    bool assumed; /* whether the result depends on the assumption of S.113 about numbers between
                   * doublings */
    int rows;
    plait_capacity_row row[PLAIT_CAPACITY_FOUND]; /* rows better than all given ones */
} plait_capacity_range_result;

/**
 * Find the smallest and the cheapest number of GPUs of a range that are better than the given rows.
 * (S.112)
 *
 * @param row  [rows] results of plait_capacity_find, of any cluster
 * @param out  its rows live in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_capacity_search_range(const plait_capacity_options *ask,
                                                          const plait_capacity_range *range,
                                                          const plait_capacity_row *row, int rows,
                                                          plait_arena *arena,
                                                          plait_capacity_range_result *out,
                                                          plait_error *err);

/** The effect of one input at 90 % and at 110 % of its value. */
typedef struct plait_capacity_swing {
    const char *what;
    double wall_s[2]; /* infinite if no plan fits */
    double usd[2];
} plait_capacity_swing;

enum { PLAIT_CAPACITY_SWINGS = 7 };

/**
 * Computes the effect of each input, with a new search for the best plan; the widest swing is
 * first.
 */
PLAIT_MUST_CHECK plait_status plait_capacity_tornado(
    const plait_capacity_options *ask, const plait_capacity_row *row, plait_arena *arena,
    plait_capacity_swing swing[PLAIT_CAPACITY_SWINGS], plait_error *err);

PLAIT_END_DECLS

#endif
