/*
 * cases.h - published systems: plans, and the figures that their authors measured
 *
 * A case is a file models/cases/NAME.json in the format of models/cases/README.md. Its rows are
 * plans from one source. Keys at the top of the file are defaults for all rows. Keys that the
 * source does not publish are assumed and listed as assumptions.
 */
#pragma once

#include "plait/arena.h"
#include "plait/degrees.h"

/** Unit of a published figure. */
typedef enum case_unit { CASE_SECONDS, CASE_COUNT, CASE_PERCENT, CASE_GIB, CASE_GB } case_unit;

/** Figures that sources publish: key, title, unit. */
#define CASE_FIGURE_LIST(X)                                                                        \
    X(step_s, "step", CASE_SECONDS)                                                                \
    X(tokens_per_s_per_gpu, "tokens/s/GPU", CASE_COUNT)                                            \
    X(model_tflops_per_gpu, "TFLOP/s per GPU", CASE_COUNT)                                         \
    X(hardware_tflops_per_gpu, "hardware TFLOP/s per GPU", CASE_COUNT)                             \
    X(mfu_percent, "MFU", CASE_PERCENT)                                                            \
    X(hfu_percent, "HFU", CASE_PERCENT)                                                            \
    X(memory_gib, "memory", CASE_GIB)                                                              \
    X(state_gb, "weights, gradients, optimizer", CASE_GB)                                          \
    X(weights_and_gradients_gb, "weights and gradients", CASE_GB)                                  \
    X(bubble_s, "pipeline bubble", CASE_SECONDS)                                                   \
    X(optimizer_s, "optimizer", CASE_SECONDS)                                                      \
    X(speedup_percent, "faster", CASE_PERCENT)                                                     \
    X(sync_share_percent, "sync share g/T", CASE_PERCENT)                                          \
    X(rollout_s, "generation of answers", CASE_SECONDS)                                            \
    X(host_memory_gb, "host memory of a node", CASE_GB)                                            \
    X(first_layers_percent, "layers on the first node group", CASE_PERCENT)

typedef enum case_figure {
#define X(key, title, unit) CASE_##key,
    CASE_FIGURE_LIST(X)
#undef X
        CASE_FIGURES
} case_figure;

extern const char *const case_figure_key[CASE_FIGURES + 1];
extern const char *const case_figure_title[CASE_FIGURES + 1];
extern const case_unit case_figure_unit[CASE_FIGURES];

/** A list of remarks, each one sentence. */
typedef struct case_remarks {
    int count;
    const char *const *text; /* [count] sentences */
} case_remarks;

/** One plan with its model, cluster and job, written as on the command line. */
typedef struct case_row {
    const char *name;
    const char *model;
    const char *cluster;
    const char *runtime;
    const char *precision; /* number format; NULL: default */
    int seq;
    int gbs;
    int gpus;
    const char *key[PLAIT_KEYS];    /* values of the plan; NULL: chosen by `plait eval` */
    double published[CASE_FIGURES]; /* published figures; NaN: not published */
    const char *rl;                 /* options of `plait rl`; NULL: a plan of training */
    bool search;                    /* search for the best plan with the given values */
    int against;     /* index of the row that speedup_percent compares with; -1: none */
    int sync_stages; /* stages p in the share that the speed-up implies (C.136); 0: none */
    case_remarks notes;
} case_row;

typedef struct case_study {
    const char *name;
    const char *title;
    const char *source;
    case_remarks assumed;     /* values that the source does not publish */
    case_remarks contradicts; /* contradictions within the source */
    case_remarks notes;
    int rows;
    const case_row *row; /* [rows] plans */
} case_study;

/** Loads a case by name or path. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status cases_find(const char *name, plait_arena *arena, case_study *out,
                                         plait_error *err);

/** Parses the text of a case; messages have `name` as its path. */
PLAIT_MUST_CHECK plait_status cases_parse(const char *text, size_t length, const char *name,
                                          plait_arena *arena, case_study *out, plait_error *err);
