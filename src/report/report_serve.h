/* report_serve.h - prints deployments that serve a load, as text and as JSON */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/serve.h"

typedef struct report_serve {
    const plait_serve_options *question;
    const plait_serve_answer *answer; /* result of the search; NULL: only `plan` is printed */
    const plait_serve_plan *plan;
    const char *why;                /* reason why `plan` does not run; NULL: it runs */
    bool explain;                   /* print every term of the first plan */
    const plait_serve_plan *versus; /* deployment to compare with; NULL: none */
    const char *versus_name;
    const char *model_file; /* name or path on the command line */
    const char *cluster_file;
    const char *missed; /* load or bounds that the simulated deployment misses; NULL: none */
    const plait_serve_reach *reach; /* sustainable rate if no plan is found; NULL: not computed */
    const plait_serve_curve *curve; /* load curve of the first plan; NULL: none */
    const char *lacks; /* --strict: parts of the first plan without a measurement; NULL: none */
} report_serve;

/** Prints the question, the ranking or the deployment, its terms and the front. */
PLAIT_MUST_CHECK plait_status report_serve_print(const report_serve *report, FILE *out,
                                                 plait_error *err);

/** Writes the workers of one role: "tp 8", "2 x tp 4 dp 2 ep 8". */
void report_serve_workers(const plait_serve_plan *plan, int role, char text[64]);

/** Writes the workers of all roles: "tp 8", "3 x tp 2 : tp 8". */
void report_serve_pools(const plait_serve_plan *plan, char text[160]);

/** Prints collectives and sends of one request on the decode workers; nothing for a single GPU. */
PLAIT_MUST_CHECK plait_status report_serve_volume(const report_serve *report,
                                                  const plait_serve_plan *plan, FILE *out,
                                                  plait_error *err);

/**
 * Compares two deployments figure by figure.
 *
 * @param name  name of the other deployment's file
 */
PLAIT_MUST_CHECK plait_status report_serve_versus(const report_serve *report,
                                                  const plait_serve_plan *best, const char *name,
                                                  const plait_serve_plan *other, FILE *out,
                                                  plait_error *err);

/**
 * Compares the best deployment that satisfies the restriction `what` with the best deployment of
 * all.
 */
PLAIT_MUST_CHECK plait_status report_serve_why_not(const report_serve *best, const char *what,
                                                   const plait_serve_answer *other, FILE *out,
                                                   plait_error *err);

/** Returns the role of workers: "aggregated", "prefill" or "decode". */
const char *report_serve_role(const plait_serve_plan *plan, int role);

/** Prints a latency with its band: "time to first token  37.0 ms   80 % of runs between ...". */
void report_serve_band(int indent, const char *what, double value, const double band[2], FILE *out);

/**
 * Prints the bounds: "  first token within 500 ms, each further one within 50 ms". Returns false if
 * there are none.
 */
bool report_serve_bounds(const plait_serve_options *question, FILE *out);

/**
 * Prints bounds that a plan meets, in place of those that it misses: "--ttft 512ms and --tpot
 * 51.2ms".
 */
void report_serve_needs(const plait_serve_options *question, const plait_serve_plan *plan,
                        FILE *out);

/** Prints the mean lengths of a load, and the quantiles of its distribution. */
void report_serve_lengths(const plait_load *load, FILE *out);

/** Writes the key `lengths` with the quantiles of a load's distribution, if it has one. */
void json_serve_lengths(json_writer *json, const plait_load *load);

enum { REPORT_ORIGIN_SIZE = 48, REPORT_LACKS_SIZE = 400 };

/** Fills the origins of the parts of a decode step of a plan. */
void report_serve_origins(const plait_serve_options *question, const plait_serve_plan *plan,
                          plait_step_origin out[PLAIT_STEP_PARTS]);

/** Writes an origin: "kernel table, fitted". */
const char *report_serve_origin(const plait_step_origin *origin, char text[REPORT_ORIGIN_SIZE]);

/**
 * Writes the parts of a plan's decode step without a measurement: "all-reduces (data sheet;
 * reduce_us)". Parts below 1 % of the step do not count.
 *
 * @return  false if every part has a measurement
 */
bool report_serve_lacks(const plait_serve_options *question, const plait_serve_plan *plan,
                        char text[REPORT_LACKS_SIZE]);

/** Returns the figures that the engine prints when the workers of a role start. (C.368) */
plait_serve_start report_serve_start_of(const plait_serve_options *question,
                                        const plait_serve_plan *plan, int role);

/** Prints these figures for each role, under the names in the engine's log. */
void report_serve_start(const plait_serve_options *question, const plait_serve_plan *plan,
                        FILE *out);

/** Writes these figures as a member. */
void json_serve_start(json_writer *json, const char *key, plait_engine_kind kind,
                      const plait_serve_start *start);

/**
 * The figures in the log of a server's start. If `predicted` is not NULL, `serving` and `engine` are
 * those of the prediction; otherwise `missing` is the reason.
 */
typedef struct report_start {
    const char *file;
    plait_engine_kind kind;
    const char *version, *served; /* version of the engine, and name of the model; NULL: unknown */
    plait_serve_start measured;   /* 0: not in the log */
    const plait_serve_start *predicted;
    const plait_serving *serving;
    const plait_engine *engine;
    const char *missing;
} report_start;

PLAIT_MUST_CHECK plait_status report_start_log(const report_start *report, FILE *out,
                                               plait_error *err);

/** Writes the document of `plait doctor SERVER.log --json`. */
void json_start_log(json_writer *json, const report_start *report);

/** Writes the document of `plait serve --json`. */
void json_serve(json_writer *json, const report_serve *report);

/**
 * Prints the errors of each figure by mode, the choices, and the reasons why rows have no price.
 */
PLAIT_MUST_CHECK plait_status report_serve_validation(const plait_serve_validation *validation,
                                                      FILE *out, plait_error *err);

/** Writes the document of `plait validate --serving --json`. */
void json_serve_validation(json_writer *json, const plait_serve_validation *validation);
