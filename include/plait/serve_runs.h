/*
 * serve_runs.h - measured runs of serving, and what the model says of each.
 *
 * In order: plait_serve_runs_load, plait_serve_run_price for each row (again and again while an engine's
 * numbers are fitted: a price costs microseconds), plait_serve_validate for errors of all.
 *
 * The columns of a file are in docs/reference/files/runs.md. A row whose trust is `low` is priced,
 * never scored.
 */
#ifndef PLAIT_SERVE_RUNS_H
#define PLAIT_SERVE_RUNS_H

#include "plait/serve.h"

PLAIT_BEGIN_DECLS

typedef enum plait_serve_mode {
    PLAIT_SERVE_RUN_AGGREGATED,
    PLAIT_SERVE_RUN_DISAGGREGATED,
    PLAIT_SERVE_RUN_STATIC,
    PLAIT_SERVE_RUN_OFFLINE,
    PLAIT_SERVE_RUN_ARRIVING,
    PLAIT_SERVE_RUN_PREFILL, /* one phase by itself: not priced */
    PLAIT_SERVE_RUN_DECODE,
    PLAIT_SERVE_RUN_MODES
} plait_serve_mode;

/** As the file says it: agg, disagg, static, offline, server, prefill, decode. */
extern const char *const plait_serve_mode_word[PLAIT_SERVE_RUN_MODES + 1];

enum { PLAIT_SERVE_E2E = PLAIT_SERVE_FIGURES, PLAIT_SERVE_MEASURES };

typedef struct plait_serve_run {
    const char *id, *source, *group, *model, *accelerator;
    plait_serve_mode mode;
    plait_engine_kind kind;
    const char *vendor; /* of the accelerator */
    int month;          /* of the run, 2506: June 2025; 0: not said */
    int version;        /* of the engine, 103: 1.3; 0: not said */
    bool low;           /* trust: not scored */
    const char *note;   /* why it has no price; "": it has one */
    double gpus;
    plait_load load;
    /* how it ran; where degrees are not published, every way that it may have (the best is priced) */
    int ways;
    plait_deployment *way;           /* [ways], without an engine */
    plait_serve_memory (*memory)[2]; /* [ways], of each pool under the whole memory */
    double chunk_tokens;             /* 0: the engine's; so the two below */
    double poll_steps, gather_steps;
    double measured[PLAIT_SERVE_MEASURES]; /* s, s, tokens/s, s; NaN: not measured */
} plait_serve_run;

typedef struct plait_serve_runs {
    const char *name; /* of the file */
    size_t count;
    plait_serve_run *run;
    size_t engines;
    plait_engine *engine; /* all profiles */
    const plait_engine *
        *given; /* [count] that price each run; NULL, or of one: the profile that is of it */
} plait_serve_runs;

/** Measured runs of serving, with what each is priced by. Errors as plait_runs_load's; NOMEM. */
PLAIT_MUST_CHECK plait_status plait_serve_runs_load(const char *path, plait_arena *arena,
                                                    plait_serve_runs *out, plait_error *err);

/** What an engine makes of a run that has a price. */
plait_service plait_serve_run_price(const plait_serve_run *run, const plait_engine *engine);

/** A service's TTFT, TPOT, tokens/s, E2E. */
double plait_service_figure(const plait_service *service, int figure);

/** Errors of one figure of one mode: |predicted / measured - 1|. */
typedef struct plait_serve_errors {
    int rows;
    double median, mean;
    double within;  /* share of rows within 20 % */
    double bias;    /* median of predicted / measured, less 1 */
    double covered; /* share of rows inside the engine's band */
} plait_serve_errors;

typedef struct plait_serve_validation {
    const plait_serve_runs *runs;
    plait_service *service; /* [runs->count] */
    const plait_engine **engine;
    int priced, refused, low;
    plait_serve_errors errors[PLAIT_SERVE_RUN_MODES][PLAIT_SERVE_MEASURES];
    /* of groups of runs that differ in how they ran: the fastest under a bound on TPOT, as predicted */
    int choices;
    double choice_share; /* of the best measured throughput, mean */
    double choice_over;  /* share of picks that measured over the bound */
} plait_serve_validation;

/** Prices every run, and sums errors and choices. `runs` as plait_serve_runs_load fills them; NOMEM. */
PLAIT_MUST_CHECK plait_status plait_serve_validate(const plait_serve_runs *runs, plait_arena *arena,
                                                   plait_serve_validation *out, plait_error *err);

PLAIT_END_DECLS

#endif
