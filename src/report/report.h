/*
 * report.h - prints the results of commands as text
 *
 * Each report prints plain ASCII to a stream: quantities with units, aligned columns, and the next
 * command. json_plan.h writes the same results as JSON. Except for report_price(),
 * report_price_degrees() and report_natural(), reports compute no prices and make no decisions.
 */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/validate.h"
#include "plait/cost.h"
#include "plait/lowlevel/limits.h"
#include "plait/search.h"
#include "plait/lowlevel/simulate.h"

/**
 * One plan with its price. If the plan is invalid, only rank, verdict, why and degrees are valid,
 * `plan` has no stages, and `cost` is all zero. The band with natural routing is 0 without expert
 * parallelism, if the job states an imbalance, and before report_natural() is called.
 */
typedef struct report_plan {
    int rank; /* rank in the list of plans; 0: none */
    plait_verdict verdict;
    bool tied;     /* measured runs cannot distinguish the plan from the first one */
    char why[256]; /* reason, a sentence; empty if the plan fits */
    plait_degrees degrees;
    plait_plan plan;
    plait_cost cost;
    int64_t variants;       /* number of plans that differ from this one only in minor keys */
    double variants_within; /* largest relative loss of time among these plans */
    double natural_low_s, natural_high_s; /* band of the step time with natural routing */
} report_plan;

/**
 * Checks and prices one plan. *out lives in `arena`; the stages of `plan` must live equally long.
 */
PLAIT_MUST_CHECK plait_status report_price(const plait_problem *problem, const plait_plan *plan,
                                           int rank, plait_arena *arena, report_plan *out,
                                           plait_error *err);

/** Checks and prices the plan that plait_plan_expand() makes from degrees. */
PLAIT_MUST_CHECK plait_status report_price_degrees(const plait_problem *problem,
                                                   const plait_degrees *degrees, int rank,
                                                   plait_arena *arena, report_plan *out,
                                                   plait_error *err);

/**
 * Computes the band of a plan's step time with natural routing of experts (C.62). It begins at the
 * low end of the band with even ranks and ends at the high end of the band with the most uneven
 * ranks. If the runtime has natural routing, this band replaces the plan's own.
 */
PLAIT_MUST_CHECK plait_status report_natural(const plait_problem *problem, plait_arena *arena,
                                             report_plan *plan, plait_error *err);

/** The result of a search, with its best plans priced in full. */
typedef struct report_found {
    const plait_search_options *options;
    const plait_search_result *result;
    const report_plan *plan;    /* [result->plans] best plans */
    const report_plan *closest; /* closest infeasible plan; NULL: a plan fits */
    int relaxations;
    const plait_relaxation *relaxation;
    const char *refusal; /* reason why no plan of all GPUs is legal; NULL: at least one is */
    const plait_fewer_gpus *fewer; /* best smaller number of GPUs; NULL: none is faster */
    int idle_groups;
    const plait_idle_group *idle; /* [idle_groups] groups of nodes that the best plan leaves idle */
    const plait_tries *tries;     /* plans to try; NULL: not requested */
    int tries_asked;
    int recommended;                  /* index of the plan to run; -1: no plan fits */
    const plait_nearest_run *nearest; /* measured run near that plan; NULL: not looked for */
    plait_by_model by_model; /* the recommended plan with techniques without measured runs */
    const char *command;     /* command line of the search; NULL: not available */
    const char *next;        /* suggested next command; NULL: none */
} report_found;

PLAIT_MUST_CHECK plait_status report_search(const plait_problem *problem, const report_found *found,
                                            FILE *out, plait_error *err);

/**
 * Prints one plan.
 *
 * @param way  [ways] changes of options that make an invalid or infeasible plan run and fit
 */
PLAIT_MUST_CHECK plait_status report_eval(const plait_problem *problem, const report_plan *plan,
                                          const plait_relaxation *way, int ways, FILE *out,
                                          plait_error *err);

/** Prints a table of the work of each group of nodes; prints nothing if all stages are equal. */
PLAIT_MUST_CHECK plait_status report_groups(const plait_problem *problem, const report_plan *plan,
                                            const char *which, FILE *out, plait_error *err);

/** Prints one line for each idle group: the step time of the best plan that uses it. */
void report_idle(const plait_problem *problem, const report_found *found, FILE *out);

/** One plan and all further results that plait explain prints. */
typedef struct report_explained {
    const report_plan *plan;
    const plait_timeline *timeline; /* simulated step; NULL: no pipeline, or not simulated */
    const char *no_timeline;        /* reason why the step is not simulated; NULL: no pipeline */
    int sensitivities;
    const plait_sensitivity *sensitivity; /* [sensitivities] gain from 10 % more of each resource */
    int limits;
    const plait_comm_limit
        *limit; /* [limits] size from which computation hides communication, by parallelism */
    const char
        *no_limits; /* reason why limits and sensitivities are not computed; NULL: they are */
    int relaxations;
    const plait_relaxation *relaxation;  /* smallest changes with which the plan fits */
    const plait_problem *versus_problem; /* problem of the plan `versus` */
    const report_plan *versus;           /* plan to compare with; NULL: none */
    const char *versus_name;
    const plait_why *why_not; /* result of --why-not; NULL: not requested */
    const char *why_not_asked;
    const report_plan *why_not_plan; /* best plan with the keys of --why-not; NULL: none */
    const report_plan *winner;       /* best plan of the search; NULL: none fits */
} report_explained;

PLAIT_MUST_CHECK plait_status report_explain(const plait_problem *problem,
                                             const report_explained *explained, FILE *out,
                                             plait_error *err);

/* ---- models and clusters ---- */

/** Prints one line per model. */
PLAIT_MUST_CHECK plait_status report_models(const plait_model *model, size_t count, FILE *out,
                                            plait_error *err);

/** Prints one model: its shape, layers by kind, parameters, FLOPs per token and bytes. */
PLAIT_MUST_CHECK plait_status report_model(const plait_model *model, int seq, FILE *out,
                                           plait_error *err);

/** Prints one line per cluster and one line per accelerator. */
PLAIT_MUST_CHECK plait_status report_clusters(const plait_cluster *cluster, size_t clusters,
                                              const plait_accelerator *accelerator,
                                              size_t accelerators, FILE *out, plait_error *err);

/** Prints one cluster: accelerators, levels of links, their graphs, and times of collectives. */
PLAIT_MUST_CHECK plait_status report_cluster(const plait_cluster *cluster, FILE *out,
                                             plait_error *err);

/**
 * Writes one JSON object with a graph of each level of links and a graph of all levels together
 * (C.110, C.119).
 */
void report_graphs_write(json_writer *json, const plait_cluster *cluster);

/* ---- parts that several reports share ---- */

/** Prints two lines: the model on the cluster, and the job. */
void report_question(const plait_problem *problem, FILE *out);

/**
 * Prints a note for each kind of constants that are not measured.
 *
 * @param degrees  degrees of the priced plan; NULL: no plan
 */
void report_confidence(const plait_problem *problem, const plait_degrees *degrees, FILE *out);

/**
 * Prints the keys of a plan that apply, "tp 8, pp 4, dp 8, ...", and then the words of the other
 * keys.
 */
void report_degrees(const plait_problem *problem, const plait_degrees *degrees, FILE *out);

/** Prints relaxations, one per line. */
void report_relaxations(const plait_relaxation *relaxation, int count, FILE *out);

/** One term of the lists in cost.h, and its value in a plan. */
typedef struct report_term {
    const char *name;
    const char *equation;
    const char *what;
    double value;
} report_term;

void report_step_term_list(const plait_step_time *step, report_term term[PLAIT_STEP_TERM_COUNT]);
void report_memory_term_list(const plait_memory *memory, report_term term[PLAIT_MEMORY_TERM_COUNT]);

/**
 * Returns the largest term of a step that is not arithmetic, such as communication, bubble or
 * recomputation.
 */
report_term report_largest_overhead(const plait_step_time *step);
