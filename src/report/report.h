/* report.h - what the commands answer, for people
 *
 * Each report prints to a stream in plain ASCII: quantities with units, columns that line up, and
 * at the end what to do next. The same answers for machines are in json_plan.h. Reports decide
 * nothing and price nothing but what they are given, report_price excepted.
 */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/validate.h"
#include "plait/cost.h"
#include "plait/lowlevel/limits.h"
#include "plait/search.h"
#include "plait/lowlevel/simulate.h"

/** One plan with all that is known of it. */
typedef struct report_plan {
    int rank; /* 0: none */
    plait_verdict verdict;
    bool tied;     /* with the first plan of a search, by the evidence there is */
    char why[256]; /* when it does not fit: a sentence */
    plait_degrees degrees;
    plait_plan plan;        /* without stages when invalid */
    plait_cost cost;        /* all zero when invalid */
    int64_t variants;       /* other plans that it stands for ... */
    double variants_within; /* ... and the share that the slowest of them takes more */
    double natural_low_s;   /* band of its step with natural routing of experts ... */
    double natural_high_s;  /* ... 0: it has no expert parallelism, or its imbalance is stated */
} report_plan;

/** Check and price one plan. *out lives in `arena`; the stages of `plan` must live as long. */
PLAIT_MUST_CHECK plait_status report_price(const plait_problem *problem, const plait_plan *plan,
                                           int rank, plait_arena *arena, report_plan *out,
                                           plait_error *err);

/** The same of the plan that degrees expand to. */
PLAIT_MUST_CHECK plait_status report_price_degrees(const plait_problem *problem,
                                                   const plait_degrees *degrees, int rank,
                                                   plait_arena *arena, report_plan *out,
                                                   plait_error *err);

/**
 * Fill in the band of a priced plan's step with natural routing of experts (C.62): from the band's low
 * end with even ranks to its high end with the most uneven ones.
 * It becomes the plan's own band where the job says that routing is natural.
 */
PLAIT_MUST_CHECK plait_status report_natural(const plait_problem *problem, plait_arena *arena,
                                             report_plan *plan, plait_error *err);

/** What a search found, with its best plans priced in full. */
typedef struct report_found {
    const plait_search_options *options;
    const plait_search_result *result;
    const report_plan *plan;    /* [result->plans] */
    const report_plan *closest; /* NULL unless nothing fits */
    int relaxations;
    const plait_relaxation *relaxation;
    const char *refusal;           /* why no plan of all GPUs is legal; NULL: some are */
    const plait_fewer_gpus *fewer; /* NULL: no smaller number is better */
    int idle_groups;
    const plait_idle_group
        *idle;                /* [idle_groups]: groups of nodes that the best plan leaves idle */
    const plait_tries *tries; /* NULL: not asked; indices of plans */
    int tries_asked;
    const char *command; /* that asked; NULL: not known */
    const char *next;    /* the command to run next, or NULL */
} report_found;

PLAIT_MUST_CHECK plait_status report_search(const plait_problem *problem, const report_found *found,
                                            FILE *out, plait_error *err);

/** @param way  [ways] changes with which a plan that cannot run or is out of memory runs and fits, as flags */
PLAIT_MUST_CHECK plait_status report_eval(const plait_problem *problem, const report_plan *plan,
                                          const plait_relaxation *way, int ways, FILE *out,
                                          plait_error *err);

/** A table of what each group of nodes does; nothing where all stages are alike. */
PLAIT_MUST_CHECK plait_status report_groups(const plait_problem *problem, const report_plan *plan,
                                            const char *which, FILE *out, plait_error *err);

/** A line for each group that is left idle: what the best plan with it takes. */
void report_idle(const plait_problem *problem, const report_found *found, FILE *out);

/** Everything explain has to say about one plan. */
typedef struct report_explained {
    const report_plan *plan;
    const plait_timeline *timeline; /* NULL: no pipeline, or one that cannot be simulated ... */
    const char *no_timeline;        /* ... and why not; NULL: no pipeline */
    int sensitivities;
    const plait_sensitivity *sensitivity; /* what 10 % more of each resource buys */
    int limits;
    const plait_comm_limit *limit; /* when communication binds each parallelism ... */
    const char *no_limits;         /* ... and why neither is listed; NULL: they are */
    int relaxations;
    const plait_relaxation *relaxation;  /* when it does not fit: the smallest changes */
    const plait_problem *versus_problem; /* the other plan, with its own question */
    const report_plan *versus;           /* NULL: not asked for */
    const char *versus_name;
    const plait_why *why_not; /* NULL: not asked for */
    const char *why_not_asked;
    const report_plan *why_not_plan; /* the best such plan; NULL when there is none */
    const report_plan *winner;       /* of the search; NULL when nothing fits */
} report_explained;

PLAIT_MUST_CHECK plait_status report_explain(const plait_problem *problem,
                                             const report_explained *explained, FILE *out,
                                             plait_error *err);

/* ---- data ---- */

/** One line a model. */
PLAIT_MUST_CHECK plait_status report_models(const plait_model *model, size_t count, FILE *out,
                                            plait_error *err);

/** One model: shape, layers by kind, parameters, FLOPs a token, bytes. */
PLAIT_MUST_CHECK plait_status report_model(const plait_model *model, int seq, FILE *out,
                                           plait_error *err);

/** One line a cluster, and one line an accelerator. */
PLAIT_MUST_CHECK plait_status report_clusters(const plait_cluster *cluster, size_t clusters,
                                              const plait_accelerator *accelerator,
                                              size_t accelerators, FILE *out, plait_error *err);

/** One cluster: accelerators, levels, also as graphs, and what collectives take. */
PLAIT_MUST_CHECK plait_status report_cluster(const plait_cluster *cluster, FILE *out,
                                             plait_error *err);

/** Levels of links as graphs, and all of them together. (C.110, C.119) */
PLAIT_MUST_CHECK plait_status report_graphs(const plait_cluster *cluster, FILE *out,
                                            plait_error *err);

/** The same as one JSON object. */
void report_graphs_write(json_writer *json, const plait_cluster *cluster);

/* ---- parts that several reports share ---- */

/** Two lines: the model on the cluster, and the job. */
void report_question(const plait_problem *problem, FILE *out);

/**
 * Notes on what the numbers rest on; nothing when all constants are measured.
 *
 * @param degrees  of the plan whose numbers they are; NULL: of none
 */
void report_confidence(const plait_problem *problem, const plait_degrees *degrees, FILE *out);

/** Table of the terms of a step, those that are not zero. */
PLAIT_MUST_CHECK plait_status report_step_terms(const plait_cost *cost, FILE *out,
                                                plait_error *err);

/** Table of the terms of the fullest GPU's memory. */
PLAIT_MUST_CHECK plait_status report_memory_terms(const plait_cost *cost, FILE *out,
                                                  plait_error *err);

/** "tp 8, pp 4, dp 8, ...": the degrees that are not 1, and the choices. */
void report_degrees(const plait_problem *problem, const plait_degrees *degrees, FILE *out);

/** Relaxations, one a line. */
void report_relaxations(const plait_relaxation *relaxation, int count, FILE *out);

/** One term of the lists in cost.h, with its value in a plan. */
typedef struct report_term {
    const char *name;
    const char *equation;
    const char *what;
    double value;
} report_term;

void report_step_term_list(const plait_step_time *step, report_term term[PLAIT_STEP_TERM_COUNT]);
void report_memory_term_list(const plait_memory *memory, report_term term[PLAIT_MEMORY_TERM_COUNT]);

/** The largest term that is not arithmetic: a communication, the bubble, recomputation. */
report_term report_largest_overhead(const plait_step_time *step);
