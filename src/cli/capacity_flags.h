/*
 * capacity_flags.h - options of a whole training run, which capacity and sweep share, and lists of
 * numbers
 */
#pragma once

#include "cli/opt.h"
#include "plait/capacity.h"
#include "cli/serve_flags.h"

enum { NUMBER_LIST_MOST = 256 };

/**
 * The numbers of an option: "2048", "2048,4096", "8192..16384:1024", or the range "2k..16k", which
 * has no step.
 */
typedef struct number_list {
    bool range;   /* the option is a range without a step; `value` is then empty */
    int from, to; /* least and largest number; 0 if the option is not given */
    int step;     /* step of from..to:step; 0 for a range without a step */
    int count;
    int value[NUMBER_LIST_MOST]; /* [count], ascending */
} number_list;

/**
 * Read a list of numbers.
 *
 * @param what  noun for messages, such as "numbers of GPUs"
 * @param text  value of the option; may be NULL
 */
PLAIT_MUST_CHECK plait_status number_list_read(const char *where, const char *text,
                                               const char *what, int most, number_list *out,
                                               plait_error *err);

/** Values of the options; NULL if not given. */
typedef struct capacity_flags {
    const char *tokens, *deadline, *budget, *price, *co2, *knee;
    const char *failures, *node_loss, *repeat, *straggler;
    const char *detect, *restart, *repair, *write_rate, *write_most;
    const char *spares, *runs;
    bool async;
} capacity_flags;

#define CAPACITY_TEXT(values, member, field, name, value, help)                                    \
    OPT_OF_TEXT(values, member.field, name, 0, value, help)

/** Rows of an option table, without --tokens: `member` of `values` is the capacity_flags. */
#define CAPACITY_OPTIONS(values, member)                                                           \
    OPT_HEADING("goals and prices"),                                                               \
        CAPACITY_TEXT(values, member, deadline, "deadline", "TIME",                                \
                      "maximum duration of the run, such as 60d"),                                 \
        CAPACITY_TEXT(values, member, budget, "budget", "USD",                                     \
                      "maximum cost of the run, such as 5M"),                                      \
        CAPACITY_TEXT(values, member, price, "price", "USD",                                       \
                      "US dollars per GPU hour; for several clusters 2.2,4 in their order, or "    \
                      "CLUSTER=2.2,... (default: the price in the accelerator's file)"),           \
        CAPACITY_TEXT(values, member, co2, "co2", "G_PER_KWH", "grams of CO2 per kWh"),            \
        CAPACITY_TEXT(values, member, knee, "knee", "SHARE",                                       \
                      "mark as the knee the first number of GPUs that gains less than this share " \
                      "of the ideal speedup over half as many GPUs (default: 0.8)"),               \
        OPT_HEADING("failures"),                                                                   \
        CAPACITY_TEXT(values, member, failures, "failures", "RATE",                                \
                      "interruptions per node and day (default: 0.004)"),                          \
        CAPACITY_TEXT(                                                                             \
            values, member, node_loss, "node-loss", "SHARE",                                       \
            "share of interruptions that leave a node in need of repair (default: 0.78)"),         \
        CAPACITY_TEXT(values, member, repeat, "repeat", "SHARE",                                   \
                      "share of restarts that fail again at once (default: 0)"),                   \
        CAPACITY_TEXT(values, member, straggler, "straggler", "FACTOR",                            \
                      "factor by which slow nodes lengthen the step (default: 1)"),                \
        CAPACITY_TEXT(values, member, detect, "detect", "TIME",                                    \
                      "time until a failure is detected (default: 120s)"),                         \
        CAPACITY_TEXT(values, member, restart, "restart", "TIME",                                  \
                      "time from detection until the job computes again (default: 300s)"),         \
        CAPACITY_TEXT(values, member, repair, "repair", "TIME",                                    \
                      "time until a failed node is repaired (default: 1d)"),                       \
        CAPACITY_TEXT(values, member, write_rate, "write-rate", "BYTES",                           \
                      "checkpoint bytes that each node writes per second (default: 2G)"),          \
        CAPACITY_TEXT(values, member, write_most, "write-most", "BYTES",                           \
                      "checkpoint bytes that the storage accepts per second (default: 2T)"),       \
        OPT_OF_FLAG(values, member.async, "async-checkpoint",                                      \
                    "write checkpoints in the background while the next steps run"),               \
        CAPACITY_TEXT(values, member, spares, "spares", "NODES",                                   \
                      "paid spare nodes (default: the number with the lowest cost)"),              \
        CAPACITY_TEXT(values, member, runs, "runs", "N",                                           \
                      "number of simulated runs, at most 100000 (default: 1000)")

/**
 * Read budget, prices, failures and the number of simulated runs into *ask. Fails if --tokens is
 * not given.
 */
PLAIT_MUST_CHECK plait_status capacity_flags_read(const capacity_flags *flags,
                                                  plait_capacity_options *ask, plait_error *err);

/**
 * Read the prices of several clusters: "2.2" for one cluster, "2.2,4" in the order of the clusters,
 * or "dgx-h100=2.2,..." by name. A price that the text does not give is 0.
 */
PLAIT_MUST_CHECK plait_status capacity_flags_read_prices(const char *text,
                                                         const char *const *cluster, int clusters,
                                                         double *usd_per_gpu_hour,
                                                         plait_error *err);

/** Read only price and failures, the options that apply to a serving fleet. */
PLAIT_MUST_CHECK plait_status capacity_flags_read_fleet(const capacity_flags *flags,
                                                        plait_reliability *failures,
                                                        double *usd_per_gpu_hour, plait_error *err);

/** Fail if a budget is given and the price of the accelerator is unknown. */
PLAIT_MUST_CHECK plait_status capacity_check_money(const plait_capacity_options *ask,
                                                   const plait_problem *problem, plait_error *err);

/** Values of the options of a serving fleet; NULL and 0 if not given. */
typedef struct capacity_serve {
    bool serve, elastic;
    const char *rates, *availability;
    serve_flags load;
} capacity_serve;

/** Rows of an option table: `member` of `values` is the capacity_serve. */
#define CAPACITY_SERVE_OPTIONS(values, member)                                                     \
    OPT_HEADING("a serving fleet"),                                                                \
        OPT_OF_FLAG(                                                                               \
            values, member.serve, "serve",                                                         \
            "size a serving fleet; --gpus, --price and the failure options apply here too"),       \
        OPT_OF_TEXT(values, member.rates, "rates", 0, "FILE.csv|R,R,...",                          \
                    "requests per second by hour of the day: a file with the columns hour,rate, "  \
                    "or 24 numbers"),                                                              \
        OPT_OF_TEXT(values, member.availability, "availability", 0, "SHARE",                       \
                    "share of the time with enough working workers (default: 0.999)"),             \
        OPT_OF_FLAG(values, member.elastic, "elastic",                                             \
                    "minimise the cost of nodes paid by the hour, instead of around the clock"),   \
        OPT_HEADING("its load"), SERVE_INPUT_OPTION(values, member.load),                          \
        SERVE_OUTPUT_OPTION(values, member.load), SERVE_LENGTH_ALIASES(values, member.load),       \
        SERVE_RATE_OPTION(values, member.load), SERVE_BOUND_OPTIONS(values, member.load),          \
        SERVE_LORA_OPTIONS(values, member.load), SERVE_MODEL_OPTION(values, member.load),          \
        OPT_HEADING("engines and workers"), SERVE_USED_OPTIONS(values, member.load),               \
        SERVE_DEGREE_OPTIONS(values, member.load)

/** The options that are only valid with --serve; NULL ends the list. */
extern const char *const capacity_serve_options[];

/** Find the fleet, print it and write the output file. */
PLAIT_MUST_CHECK plait_status capacity_serve_run(const capacity_serve *flags,
                                                 const capacity_flags *run,
                                                 const opt_operands *operands, const char *output,
                                                 bool json, plait_arena *arena, bool *no,
                                                 plait_error *err);
