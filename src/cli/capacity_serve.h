/* capacity_serve.h - plait capacity --serve: the fleet that serves the requests of a day */
#pragma once

#include "cli/capacity_flags.h"
#include "cli/serve_flags.h"

/** Values of the options; NULL and 0 if not given. */
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
            "size a serving fleet; --gpus, --price and the options of failures also apply to it"), \
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
        OPT_HEADING("engines and workers"), SERVE_USED_OPTIONS(values, member.load),               \
        SERVE_DEGREE_OPTIONS(values, member.load)

typedef struct capacity_serve_output {
    const char *file; /* NULL: none */
    bool json;
} capacity_serve_output;

/** The options that need --serve, ended by NULL. */
extern const char *const capacity_serve_options[];

/** Find the fleet, print it and write the output file. */
PLAIT_MUST_CHECK plait_status capacity_serve_run(const capacity_serve *flags,
                                                 const capacity_flags *run,
                                                 const opt_operands *operands,
                                                 capacity_serve_output output, plait_arena *arena,
                                                 bool *no, plait_error *err);
