/* capacity_flags.h - what the command line says of a whole run, for capacity and for sweeps of it */
#pragma once

#include "cli/opt.h"
#include "plait/capacity.h"

enum { NUMBER_LIST_MOST = 256 };

/** Numbers that a flag asks for: each of a list or of steps, or a range without steps. */
typedef struct number_list {
    bool range;                  /* from..to without a step */
    int from, to;                /* the least and the most; 0 where the flag is not given */
    int step;                    /* of from..to:step; 0 of others */
    int count;                   /* of a range 0 */
    int value[NUMBER_LIST_MOST]; /* [count], rising */
} number_list;

/** Read one; `what` it lists, for refusals: "numbers of GPUs". text NULL: none. */
PLAIT_MUST_CHECK plait_status number_list_read(const char *where, const char *text,
                                               const char *what, int most, number_list *out,
                                               plait_error *err);

/** As given; NULL: not. */
typedef struct capacity_flags {
    const char *tokens, *deadline, *budget, *price, *co2, *knee;
    const char *failures, *node_loss, *repeat, *straggler;
    const char *detect, *restart, *repair, *write_rate, *write_most;
    const char *spares, *runs;
    bool async;
} capacity_flags;

#define CAPACITY_TEXT(values, member, field, name, value, help)                                    \
    OPT_OF_TEXT(values, member.field, name, 0, value, help)

/** Rows of an option table but --tokens: `member` of `values` is the capacity_flags. */
#define CAPACITY_OPTIONS(values, member)                                                           \
    OPT_HEADING("what is wanted"),                                                                 \
        CAPACITY_TEXT(values, member, deadline, "deadline", "TIME",                                \
                      "the run has to end by then: 60d"),                                          \
        CAPACITY_TEXT(values, member, budget, "budget", "USD", "and cost no more: 5M"),            \
        CAPACITY_TEXT(values, member, price, "price", "USD",                                       \
                      "of a GPU hour; of several clusters 2.2,4 in their order or "                \
                      "CLUSTER=2.2,...; left out, that of the accelerator's file"),                \
        CAPACITY_TEXT(values, member, co2, "co2", "G_PER_KWH", "grams of CO2 of a kWh"),           \
        CAPACITY_TEXT(                                                                             \
            values, member, knee, "knee", "SHARE",                                                 \
            "the knee is where twice the GPUs gain less than this of twice the tokens; 0.8"),      \
        OPT_HEADING("failures"),                                                                   \
        CAPACITY_TEXT(values, member, failures, "failures", "RATE",                                \
                      "interruptions of a node a day; 0.004"),                                     \
        CAPACITY_TEXT(values, member, node_loss, "node-loss", "SHARE",                             \
                      "of interruptions send a node to repair; 0.78"),                             \
        CAPACITY_TEXT(values, member, repeat, "repeat", "SHARE",                                   \
                      "of restarts fail again at once; 0"),                                        \
        CAPACITY_TEXT(values, member, straggler, "straggler", "FACTOR",                            \
                      "on the step, of slow nodes; 1"),                                            \
        CAPACITY_TEXT(values, member, detect, "detect", "TIME",                                    \
                      "until a failure is noticed; 120s"),                                         \
        CAPACITY_TEXT(values, member, restart, "restart", "TIME",                                  \
                      "until the job computes again; 300s"),                                       \
        CAPACITY_TEXT(values, member, repair, "repair", "TIME", "until a node is back; 1d"),       \
        CAPACITY_TEXT(values, member, write_rate, "write-rate", "BYTES",                           \
                      "of checkpoints, a node writes a second; 2G"),                               \
        CAPACITY_TEXT(values, member, write_most, "write-most", "BYTES",                           \
                      "and the storage takes a second; 2T"),                                       \
        OPT_OF_FLAG(values, member.async, "async-checkpoint",                                      \
                    "checkpoints are written behind the next steps"),                              \
        CAPACITY_TEXT(values, member, spares, "spares", "NODES",                                   \
                      "nodes that wait, paid for; left out, as many as pay for themselves"),       \
        CAPACITY_TEXT(values, member, runs, "runs", "N", "runs to draw, up to 100000; 1000")

/** Wishes, failures and runs to draw; the rest of *ask is left alone. `tokens` must be given. */
PLAIT_MUST_CHECK plait_status capacity_flags_read(const capacity_flags *flags,
                                                  plait_capacity_ask *ask, plait_error *err);

/**
 * A price for each of some clusters: "2.2" of one, "2.2,4" in their order, "dgx-h100=2.2,..." by name, 0 where
 * the text has none.
 */
PLAIT_MUST_CHECK plait_status capacity_flags_read_prices(const char *text,
                                                         const char *const *cluster, int clusters,
                                                         double *usd_per_gpu_hour,
                                                         plait_error *err);

/** Price and failures alone, of what is no run. */
PLAIT_MUST_CHECK plait_status capacity_flags_read_fleet(const capacity_flags *flags,
                                                        plait_reliability *failures,
                                                        double *usd_per_gpu_hour, plait_error *err);

/** A budget needs a price. */
PLAIT_MUST_CHECK plait_status capacity_check_money(const plait_capacity_ask *ask,
                                                   const plait_problem *problem, plait_error *err);
