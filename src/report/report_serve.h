/* report_serve.h - which deployment serves a load, for people and for machines */
#pragma once

#include <stdio.h>

#include "plait/serve.h"

typedef struct report_serve {
    const plait_serve_question *question;
    const plait_serve_answer *answer; /* of a search; NULL: one deployment, `plan` */
    const plait_serve_plan *plan;
    const char *why;                /* `plan` does not run; NULL: it does */
    bool explain;                   /* every term of the first plan */
    const plait_serve_plan *versus; /* another under the same question; NULL: none */
    const char *versus_name;
    const char *model_file; /* as it was asked for */
    const char *cluster_file;
    const char *missed;             /* of the load or the bounds by its simulation; NULL: nothing */
    const plait_serve_reach *reach; /* without an answer: what could be had; NULL: not asked */
    const plait_serve_curve *curve; /* of it; NULL: none */
} report_serve;

/** The question, the ranking or the deployment, its terms, the front, what to do next. */
PLAIT_MUST_CHECK plait_status report_serve_print(const report_serve *report, FILE *out,
                                                 plait_error *err);

/** "tp 8", "2 x tp 4 dp 2 ep 8": the workers of one role. */
void report_serve_workers(const plait_serve_plan *plan, int role, char text[64]);

/** "tp 8", or of two pools "3 x tp 2 : tp 8". */
void report_serve_pools(const plait_serve_plan *plan, char text[160]);

/** Collectives and sends of one request on the workers that decode; nothing of a single GPU. */
PLAIT_MUST_CHECK plait_status report_serve_volume(const report_serve *report,
                                                  const plait_serve_plan *plan, FILE *out,
                                                  plait_error *err);

/** Two deployments of one question, figure by figure. `name` is what the other is of. */
PLAIT_MUST_CHECK plait_status report_serve_versus(const report_serve *report,
                                                  const plait_serve_plan *best, const char *name,
                                                  const plait_serve_plan *other, FILE *out,
                                                  plait_error *err);

/** What the best deployment of some sort lacks against the best of all. */
PLAIT_MUST_CHECK plait_status report_serve_why_not(const report_serve *best, const char *what,
                                                   const plait_serve_answer *other, FILE *out,
                                                   plait_error *err);

/** "  first token within 500 ms, each further one within 50 ms"; false: nothing, there is no bound. */
bool report_serve_bounds(const plait_serve_question *question, FILE *out);

/** "--ttft 512ms and --tpot 51.2ms": the bounds of a question that a plan misses, as it would meet them. */
void report_serve_needs(const plait_serve_question *question, const plait_serve_plan *plan,
                        FILE *out);

struct json_writer;

/** Its member "load_curve". */
void json_serve_curve(struct json_writer *json, const plait_serve_curve *curve);

/** The document of `plait serve --json`. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_serve(const report_serve *report, plait_arena *arena,
                                         const char **text, size_t *length, plait_error *err);
