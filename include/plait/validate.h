/*
 * validate.h - predictions compared with measured training runs, and error bands from them
 *
 * Each row of a file of runs is one measured plan: the shape of the model, the cluster, the
 * software, the degrees, and the measurements. Each row is converted to a problem and degrees and
 * priced as it ran. The statistics are: errors of the step time by source, ranking of the plans of
 * a sweep, errors of memory by the scope of the measurement, and prediction of out-of-memory
 * failures.
 *
 * In order: plait_runs_load (docs/reference/files/runs.md lists the columns), plait_validate, then
 * read the struct. plait_validation_plot draws it. plait_evidence_find and plait_evidence_band give
 * the error band of a new prediction, and plait_posterior_make to plait_posterior_tries choose
 * which of several plans to measure; each section has its own introduction.
 *
 * A row that cannot be priced has a reason in its note; it is not an error. A plan that really ran
 * is priced even if the rules in src/rules reject it; its note then names the broken rule.
 *
 * Left out: conditions that no column records (clocks, drivers, other jobs on the network).
 */
#ifndef PLAIT_VALIDATE_H
#define PLAIT_VALIDATE_H

#include <stddef.h>

#include "plait/arena.h"
#include "plait/cost.h"
#include "plait/degrees.h"
#include "plait/error.h"
#include "plait/problem.h"
#include "plait/runtime.h"

PLAIT_BEGIN_DECLS

/* ---- evidence: prediction errors on measured runs, and bands from them ----
 *
 * Each row of the evidence is one measured run: its regime, and the ratio of measured to predicted
 * step time under two profiles. `shipped` is predicted by the runtime profile as shipped.
 * `left_out` is predicted by a profile that was fitted without any run of the same source, or, if
 * no other source ran this software, by the values of its family; it estimates the error for runs
 * that are not in the files. Further rows have measured over predicted peaks of memory of the same
 * scope, from which the risk of running out of memory is computed.
 *
 * In order: plait_evidence_find, then plait_evidence_band and plait_evidence_memory_band for a
 * problem. A caller stores their results in problem.band and problem.memory_band, which every price
 * of the problem reads. `plait calibrate --evidence` writes the file.
 *
 * Left out: evidence from a site's own runs (`plait calibrate --log`).
 */

/**
 * The narrowest number format of the matrix units, which identifies a generation of accelerators.
 */
typedef enum plait_narrowest {
    PLAIT_NARROWEST_FP16,
    PLAIT_NARROWEST_BF16,
    PLAIT_NARROWEST_FP8,
    PLAIT_NARROWEST_FP4,
    PLAIT_NARROWESTS
} plait_narrowest;

extern const char *const plait_narrowest_name[PLAIT_NARROWESTS + 1];

/** The properties of a job by which rows of evidence are weighted. */
typedef struct plait_regime {
    const char *runtime; /* name of the software, without a date */
    plait_rules rules;   /* rules of its profile; equal rules mean one family */
    plait_narrowest narrowest;
    int gpus;
    bool experts;
    bool calibrated; /* whether the profile was fitted to runs of this software */
    bool rack;       /* whether a scale-up domain has more than 16 accelerators */
} plait_regime;

typedef struct plait_evidence_row {
    const char *source;
    const char *sweep; /* name of the sweep; "" without one */
    plait_regime regime;
    int trait[PLAIT_TRAITS]; /* traits of the plan; all 0 in rows of memory */
    const char *job;         /* "model/accelerator/precision"; "" in rows of memory */
    const char *plan;        /* the plan's words: "dispatcher=hybridep cuda_graph=layers"; "" if it
                              * has none */
    double left_out;         /* measured over predicted, fitted without this source */
    double shipped;          /* measured over predicted by the shipped profile */
} plait_evidence_row;

typedef struct plait_evidence {
    size_t count;
    const plait_evidence_row *row; /* [count] rows of step times */
    size_t memories;
    const plait_evidence_row *memory; /* [memories] rows of peaks of memory */
} plait_evidence;

/**
 * Load a file of evidence. *out lives in `arena`. Fails with `where` "evidence.csv:LINE:COLUMN".
 */
PLAIT_MUST_CHECK plait_status plait_evidence_load(const char *path, plait_arena *arena,
                                                  plait_evidence *out, plait_error *err);

/** As plait_evidence_load, from a text; `name` replaces the file's name in messages. */
PLAIT_MUST_CHECK plait_status plait_evidence_parse(const char *text, size_t length,
                                                   const char *name, plait_arena *arena,
                                                   plait_evidence *out, plait_error *err);

/** Load clusters/evidence.csv of the data folders; without such a file *out is empty. */
PLAIT_MUST_CHECK plait_status plait_evidence_find(plait_arena *arena, plait_evidence *out,
                                                  plait_error *err);

/** Format evidence as a file, with four significant digits. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status plait_evidence_text(const plait_evidence *evidence,
                                                  plait_arena *arena, const char **text,
                                                  size_t *length, plait_error *err);

/** The regime of a problem. */
plait_regime plait_regime_of(const plait_problem *problem);

/**
 * The scale of a job: 0 for up to 8 GPUs (a node), 1 for up to 256, 2 for more. Regimes that differ
 * only in their number of GPUs have the same band if their scales are equal.
 */
int plait_regime_scale(int gpus);

/**
 * The band that holds 80 % of measured steps, as factors on a predicted step.        (C.98)
 *
 * Computes the weighted 10 % and 90 % quantiles of `left_out`. The weight of a row is 1 / sqrt(rows
 * of its source and software), times 4 for the same software, 4 for the same use of experts, 2 for
 * the same generation of accelerators, 2 for the same scale, and 4 for an equal `calibrated`. The
 * band includes 1. It is widened by 2 % for the difference between repeats of one run, and by 1 %
 * for each of these five properties that no row shares.
 *
 * @param without  a source whose rows are ignored; NULL: none
 * @param out      low and high, all 0 without rows; `tie` is not set
 * @return         NOMEM only
 *
 * The weights and the widening are chosen such that 80 % of each source's left-out runs lie in the
 * band of the other sources; `plait validate` prints the actual share.
 */
PLAIT_MUST_CHECK plait_status plait_evidence_band(const plait_evidence *evidence,
                                                  const plait_regime *regime, const char *without,
                                                  plait_arena *scratch, plait_band *out,
                                                  plait_error *err);

/**
 * The band that holds 80 % of measured peaks of memory, as factors on a predicted peak.   (C.98)
 *
 * Each pair of source and software is one group. Its spread is estimated from the 75 % quantile of
 * |log(measured / predicted)| under a normal distribution, since published peaks mix releases and
 * their tails are unreliable. The band is that of the weighted median group: a group has weight 16
 * for the same software, 4 for the same rules, and less if it has fewer than ten rows. The band is
 * widened by 2 % for memory that the device itself uses.
 *
 * @param without  a source whose rows are ignored; NULL: none
 * @param out      low and high, all 0 without rows; `tie` is not set
 * @return         NOMEM only
 */
PLAIT_MUST_CHECK plait_status plait_evidence_memory_band(const plait_evidence *evidence,
                                                         const plait_regime *regime,
                                                         const char *without, plait_arena *scratch,
                                                         plait_band *out, plait_error *err);

/**
 * The ratio of two predicted steps of one job above which their order is right in 9 of 10 cases.
 * (C.99)
 *
 * Computed as exp of sqrt(2) times the 80 % quantile of the distance of log(measured / predicted)
 * from the median of its sweep. A row has the factors of plait_evidence_band as its weight, divided
 * by the plans of its sweep; sweeps of fewer than five plans are ignored. A calibrated profile uses
 * `shipped` of all rows, an uncalibrated one `left_out` of uncalibrated rows.
 *
 * @param out  above 1; 0 without such a sweep
 * @return     NOMEM only
 */
PLAIT_MUST_CHECK plait_status plait_evidence_tie(const plait_evidence *evidence,
                                                 const plait_regime *regime, plait_arena *scratch,
                                                 double *out, plait_error *err);

/**
 * The words of a plan for `plan` of a row of evidence: keys of techniques and their values. NULL
 * when out of memory.
 */
const char *plait_evidence_words(const plait_problem *problem, const plait_degrees *degrees,
                                 plait_arena *arena);

/** Returns whether the support of a problem depends on the values of a key. */
bool plait_evidence_judges(plait_key_id key);

/** Measured runs of plans with a value of a key. */
typedef struct plait_value_evidence {
    int rows;
    int sources;
    int jobs; /* different models, accelerators and precisions */
} plait_value_evidence;

/**
 * Counts the measured runs that use a value of a key.                             (C.345)
 *
 * Counts rows of models with experts, or without, on the same generation of accelerators and the
 * same size of scale-up domains. Values of `schedule` and `order` are counted over all rows, since
 * their price follows from other terms.
 *
 * @param without  a source whose rows are ignored; NULL: none
 */
plait_value_evidence plait_evidence_of_value(const plait_evidence *evidence,
                                             const plait_regime *regime, plait_key_id key,
                                             int value, const char *without);

/**
 * Fills the support of a problem by measured runs.                                  (C.345)
 *
 * Only for software with a calibrated profile; for other software *out is all 0. Without evidence a
 * value other than the default is unmeasured. With n jobs, a share n0 / (n + n0) of the gain that
 * the model claims does not count; n0 comes from plait_validate_claims.
 *
 * @param without  a source whose rows are ignored; NULL: none
 */
void plait_evidence_support(const plait_evidence *evidence, const plait_problem *problem,
                            const char *without, plait_support *out);

/** A measured run near a plan. */
typedef struct plait_nearest_run {
    const plait_evidence_row *row; /* NULL: no run of this software on such accelerators */
    bool same_model;
    plait_key_set differs; /* keys with another value: numbers of traits, and techniques */
} plait_nearest_run;

/**
 * The measured run with the fewest different keys: of the same software, on the same generation of
 * accelerators and size of scale-up domains, with experts if the model has them. A run of the same
 * model comes before others that differ in up to two keys less.
 */
plait_nearest_run plait_evidence_nearest(const plait_evidence *evidence,
                                         const plait_problem *problem,
                                         const plait_degrees *degrees);

/* ---- measured runs, and predictions for them ---- */

typedef enum plait_run_outcome {
    PLAIT_RUN_OK,
    PLAIT_RUN_OOM,
    PLAIT_RUN_CRASH, /* out of memory or any other failure */
    PLAIT_RUN_OUTCOMES
} plait_run_outcome;

/** The scope of a measured peak of memory. */
typedef enum plait_memory_scope {
    PLAIT_SCOPE_NONE,
    PLAIT_SCOPE_MAX,       /* allocated, on the fullest rank */
    PLAIT_SCOPE_RANK0,     /* allocated, on the first stage */
    PLAIT_SCOPE_LAST_RANK, /* allocated, on the last stage */
    PLAIT_SCOPE_RESERVED,  /* reserved by the allocator, on the fullest rank */
    PLAIT_SCOPE_DEVICE,    /* whole device by nvidia-smi, for the fullest rank */
    PLAIT_SCOPES
} plait_memory_scope;

/** Reliability of a row's measurements. */
typedef enum plait_trust {
    PLAIT_TRUST_HIGH,
    PLAIT_TRUST_MEDIUM,
    PLAIT_TRUST_NOISY,
    PLAIT_TRUST_MEMORY_ONLY,
    PLAIT_TRUST_RECOMPUTE_UNKNOWN,
    PLAIT_TRUST_VPP_UNKNOWN,
    PLAIT_TRUST_OFFLOAD,
    PLAIT_TRUSTS
} plait_trust;

extern const char *const plait_run_outcome_name[PLAIT_RUN_OUTCOMES + 1];
extern const char *const plait_memory_scope_name[PLAIT_SCOPES + 1];
extern const char *const plait_trust_name[PLAIT_TRUSTS + 1];

typedef enum plait_run_mlp {
    PLAIT_RUN_SWIGLU,
    PLAIT_RUN_GELU,
    PLAIT_RUN_RELU2,
    PLAIT_RUN_MLPS
} plait_run_mlp;

/** One row with the values of the file; a missing count is 0, a missing text "". */
typedef struct plait_run {
    int line; /* line number in the file */
    const char *id;
    const char *source;
    const char *sweep; /* name of the sweep, whose rows differ only in their plans */
    const char *model;
    const char *accelerator;
    const char *framework;
    const char *runtime;
    const char *precision;
    const char *recompute;
    const char *attention;
    const char *notes; /* free text */
    int layers, hidden, heads, kv_heads, head_dim, ffn_hidden, vocab;
    int experts, topk, moe_ffn;
    int seq_len, gbs, mbs;
    int gpus, gpus_per_node;
    int tp, pp, cp, ep, dp, vpp, shard_group;
    int sp, zero;    /* -1: missing */
    double nic_gbps; /* 0: default of the accelerator */
    plait_run_mlp mlp;
    plait_run_outcome outcome;
    plait_memory_scope scope;
    plait_trust trust;
    plait_tuning tuning;          /* trained parameters and adapters; zero: all are trained */
    int document;                 /* tokens of a document of a packed sequence; 0: the sequence */
    const plait_model *described; /* NULL: the model of this name, or that of the columns */
    double step_s;                /* measured step time; NaN: missing */
    double peak_bytes;            /* measured peak of the kind `scope`; NaN: missing */
} plait_run;

typedef struct plait_runs {
    const char *name; /* name of the file */
    size_t count;
    const plait_run *run; /* [count] */
} plait_runs;

/**
 * Load a file of runs. *out lives in `arena`.
 *
 * Fails with SCHEMA if a column is unknown or missing, and with RANGE if a cell has no valid number
 * or word; `where` is then "runs.csv:LINE:COLUMN".
 */
PLAIT_MUST_CHECK plait_status plait_runs_load(const char *path, plait_arena *arena, plait_runs *out,
                                              plait_error *err);

/** As plait_runs_load, from a text; `name` replaces the file's name in messages. */
PLAIT_MUST_CHECK plait_status plait_runs_parse(const char *text, size_t length, const char *name,
                                               plait_arena *arena, plait_runs *out,
                                               plait_error *err);

/**
 * The prediction for one run. If `priced` is false, only run, verdict (PLAIT_INVALID) and note are
 * valid.
 */
typedef struct plait_run_price {
    const plait_run *run;
    bool priced;           /* whether the run has a price */
    bool unmodelled;       /* the run used a feature without a price; fits skip it */
    plait_verdict verdict; /* predicted verdict on memory */
    plait_problem problem;
    plait_degrees degrees;
    plait_cost cost;
    double memory_bytes; /* predicted peak of the run's scope; of the device without one */
    double risk;         /* probability of running out of memory; NaN if not priced */
    const char *note;    /* reason for no price, or the assumptions made; "" if none */
} plait_run_price;

/** Relative errors: predicted / measured - 1; NaN without rows. */
typedef struct plait_errors {
    size_t rows;
    double mape;   /* mean of |error| */
    double median; /* median of |error| */
    double p90;    /* 90 % quantile of |error| */
    double bias;   /* mean error */
} plait_errors;

typedef struct plait_error_group {
    const char *name;
    const char *scope; /* scope of memory errors; NULL for times */
    plait_errors errors;
    double inside; /* share of steps in their band; NaN for memory or without bands */
} plait_error_group;

/**
 * Errors of one source's runs of one software, predicted by profiles fitted without that source.
 */
typedef struct plait_left_out {
    const char *source;
    const char *runtime;
    bool calibrated; /* whether other sources fitted the profile; else its family did */
    plait_errors errors;
    double inside; /* share of runs in the band from other sources' evidence */
    double width;  /* mean width of that band, over the prediction */
} plait_left_out;

typedef enum plait_run_key {
    PLAIT_BY_SOURCE,
    PLAIT_BY_SWEEP,
    PLAIT_BY_ACCELERATOR,
    PLAIT_BY_LAYERS, /* experts; dense in 16 bits; dense in fewer bits */
    PLAIT_RUN_KEYS
} plait_run_key;

extern const char *const plait_run_key_name[PLAIT_RUN_KEYS + 1];

enum { PLAIT_SWEEP_LEAST = 5 }; /* fewest timed plans of a ranked sweep */

/** Rank correlation of predicted and measured step times in one sweep. */
typedef struct plait_sweep_rank {
    const char *name;
    const char *source;
    size_t plans;
    double spearman; /* Spearman's rho; NaN if either is constant */
    double kendall;  /* Kendall's tau-b */
    double regret;   /* measured step of the plan predicted best / least measured step, - 1 */
    double regret_beyond_noise; /* regret, but 0 within the spread of repeats */
    size_t chosen;              /* index of the row that is predicted fastest */
    size_t best;                /* index of the row that is measured fastest */
} plait_sweep_rank;

/** Confusion matrix of out-of-memory failures: positive means out of memory. */
typedef struct plait_confusion {
    const char *source; /* name of the source; NULL: all sources */
    size_t true_positives;
    size_t false_positives;
    size_t true_negatives;
    size_t false_negatives;
    size_t tight;             /* true negatives with the verdict PLAIT_TIGHT */
    double balanced_accuracy; /* mean of sensitivity and specificity; NaN if a class is empty */
} plait_confusion;

/** Mean and median over sweeps. */
typedef struct plait_rank_summary {
    double mean;
    double median;
} plait_rank_summary;

/** A reason for which rows have no price. */
typedef struct plait_unpriced {
    const char *why;
    size_t rows;
    const char *first; /* id of the first such row */
} plait_unpriced;

enum { PLAIT_WORST_RUNS = 10 };

enum { PLAIT_REPLAYS = 4 };

/** The numbers of tries that plait_replay has: 1, 2, 3, 5. */
extern const int plait_replay_tries[PLAIT_REPLAYS];

/**
 * Mean regret over the sweeps after plait_replay_tries tries: the best step among the tried plans
 * over the best of the sweep, - 1, for several ways to choose the tries. (C.342)
 */
typedef struct plait_replay {
    double random[PLAIT_REPLAYS];   /* random plans */
    double ranked[PLAIT_REPLAYS];   /* the plans with the shortest predicted steps */
    double tries[PLAIT_REPLAYS];    /* plans that plait_posterior_tries chooses at once */
    double updated[PLAIT_REPLAYS];  /* plans chosen one by one, after each measurement */
    double expected[PLAIT_REPLAYS]; /* regret that plait_posterior_tries predicts for `tries` */
} plait_replay;

/** Limits of promised over measured steps beyond which a promise counts as too fast or too slow. */
#define PLAIT_PROMISED_TOO_FAST 0.85
#define PLAIT_PROMISED_TOO_SLOW 1.08

/** One job of tuned recipes: the step that a search promises, and the best measured step. */
typedef struct plait_promise {
    size_t best;    /* index of the row with the shortest measured step */
    size_t runs;    /* number of measured runs of the job */
    bool published; /* whether the whole plan of one of them is published */
    bool experts;
    double promised_s;     /* step of the recommended plan; NaN: no plan */
    double ratio;          /* promised over measured; NaN: no plan */
    plait_degrees degrees; /* the recommended plan */
} plait_promise;

/** The gain that the model claims for a value of a key, and the measured one.          (C.346) */
typedef struct plait_claim {
    plait_key_id key;
    int value;
    size_t rows;         /* measured runs with the value */
    size_t rows_without; /* measured runs without it in which the key matters */
    double claimed;      /* mean gain that the model claims, as a share of the step */
    double gained;       /* mean gain of the measured runs over runs without the value */
    double claim;        /* root mean square of the claims' logarithms */
    double error;        /* root mean square of the errors of these logarithms */
} plait_claim;

/** Ratios of promised over measured steps of several jobs. */
typedef struct plait_optimism {
    size_t jobs;
    double median; /* NaN without jobs */
    double below;  /* share of jobs below PLAIT_PROMISED_TOO_FAST */
    double above;  /* share of jobs above PLAIT_PROMISED_TOO_SLOW */
} plait_optimism;

typedef struct plait_validation {
    const plait_runs *runs;
    const plait_run_price *price; /* [runs->count], in file order */
    size_t priced;
    size_t timed;        /* rows with a step time and trust high or medium */
    size_t timed_priced; /* timed rows with a price, over which `total` is computed */
    plait_errors total;  /* errors of the step time */
    double inside;       /* share of the rows of `total` in their band; NaN without evidence */
    size_t groups[PLAIT_RUN_KEYS];
    const plait_error_group *group[PLAIT_RUN_KEYS]; /* groups in order of first appearance */
    size_t left_outs; /* groups of left-out predictions, by the evidence */
    const plait_left_out *left_out;
    plait_left_out left_out_total; /* errors over all sources */
    size_t sweeps;
    const plait_sweep_rank *sweep;
    plait_rank_summary spearman, kendall, regret, regret_beyond_noise;
    plait_replay replay;
    size_t memories;
    const plait_error_group *memory; /* errors by source and scope */
    plait_errors memory_total;
    size_t confusions;
    const plait_confusion *confusion; /* one for each source */
    plait_confusion confusion_total;
    size_t worst_count;
    size_t worst[PLAIT_WORST_RUNS]; /* rows by |error| of the step time, largest first */
    size_t reasons;
    const plait_unpriced *unpriced; /* reasons why rows have no price, most frequent first */
    size_t promises;                /* 0 before plait_validate_optimism */
    const plait_promise *promise;   /* jobs of tuned recipes, in order of first appearance */
    plait_optimism optimism_dense, optimism_experts;
    size_t claims;            /* 0 before plait_validate_claims */
    const plait_claim *claim; /* values with at least 6 runs with and 6 without them */
    double half_at;           /* error over claim, squared, over all claims: n0 of C.345 */
} plait_validation;

/** Price one run. *out lives in `arena`. Fails with NOMEM only. */
PLAIT_MUST_CHECK plait_status plait_run_evaluate(const plait_run *run, plait_arena *arena,
                                                 plait_run_price *out, plait_error *err);

/** Price and count all runs, without statistics. *out lives in `arena`. Fails with NOMEM only. */
PLAIT_MUST_CHECK plait_status plait_validate_prices(const plait_runs *runs, plait_arena *arena,
                                                    plait_validation *out, plait_error *err);

/** Price all runs and compute the statistics. *out lives in `arena`. Fails with NOMEM only. */
PLAIT_MUST_CHECK plait_status plait_validate(const plait_runs *runs, plait_arena *arena,
                                             plait_validation *out, plait_error *err);

/**
 * Search the plan of each job of tuned recipes, and compare its step with the best measured one.
 *
 * A job is a model, cluster, sequence length, batch and precision for which NVIDIA published runs
 * of tuned recipes of Megatron-Bridge or NeMo, at least one with its whole plan. The search is that
 * of a user, with the newest profile, but keeps the keys that change the numerics of a step at the
 * values of the best run.
 *
 * @param validation  result of plait_validate; sets its promises and optimism
 * @param threads     threads of each search; 0: all processors
 * @return            NOMEM only
 */
PLAIT_MUST_CHECK plait_status plait_validate_optimism(plait_validation *validation, int threads,
                                                      plait_arena *arena, plait_error *err);

/**
 * Compare the gains that the model claims for techniques with what measured runs gained. (C.346)
 *
 * @param validation  result of plait_validate; sets its claims and half_at
 * @return            NOMEM only
 */
PLAIT_MUST_CHECK plait_status plait_validate_claims(plait_validation *validation,
                                                    plait_arena *arena, plait_error *err);

/**
 * Compute the errors of evidence by source and software.
 *
 * @param out    [count] groups in the order of the evidence, in `arena`
 * @param total  errors over all rows; its names are not set
 */
PLAIT_MUST_CHECK plait_status plait_evidence_sum(const plait_evidence *evidence, plait_arena *arena,
                                                 plait_left_out **out, size_t *count,
                                                 plait_left_out *total, plait_error *err);

/** Is the row part of the statistics of the step time? */
bool plait_run_timed(const plait_run *run);

/**
 * Plot measured against predicted step times as an SVG document with one panel per source.
 *
 * @param text  out: in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_validation_plot(const plait_validation *validation,
                                                    plait_arena *arena, const char **text,
                                                    size_t *length, plait_error *err);

/* ---- posterior of the steps of several plans of one job, and which of them to try ----
 *
 * log(measured / predicted) of a plan is modelled as a sum of normal variables: one that all plans
 * of a job share (the site, the cluster), one for each trait (tp, pp, microbatch, ...) that plans
 * share, and one of the plan alone. Their standard deviations are estimated from measured sweeps. A
 * measurement of one plan therefore updates all others, those with the same traits most; and
 * several plans with the same traits are a poor set to try.
 *
 * In order: plait_evidence_parts, plait_posterior_make, plait_posterior_measure for each
 * measurement, plait_posterior_tries.
 */

/** Standard deviations of the parts of log(measured / predicted). (C.340) */
typedef struct plait_error_parts {
    double common;
    double trait[PLAIT_TRAITS];
    double own;
} plait_error_parts;

/**
 * Estimate the parts from the differences between the plans of measured sweeps. (C.340)
 *
 * Sweeps of at least five plans have equal weights; smaller ones are ignored. A calibrated profile
 * uses `shipped` of all rows, an uncalibrated one `left_out` of uncalibrated rows, as in
 * plait_evidence_tie. `common` is chosen such that 80 % of measured runs lie in `band`.
 *
 * @param without  a source whose rows are ignored; NULL: none
 * @param out      all 0 except `common` without such a sweep
 * @return         NOMEM only
 */
PLAIT_MUST_CHECK plait_status plait_evidence_parts(const plait_evidence *evidence,
                                                   const plait_regime *regime,
                                                   const plait_band *band, const char *without,
                                                   plait_arena *scratch, plait_error_parts *out,
                                                   plait_error *err);

enum { PLAIT_MAX_BELIEF = 1000, PLAIT_MAX_TRIES = 16 };

/** Joint normal distribution of the logarithms of the steps of several plans. */
typedef struct plait_posterior {
    int plans;
    double *mean;       /* [plans], log of seconds */
    double *covariance; /* [plans x plans] */
    bool *measured;     /* [plans] */
} plait_posterior;

/**
 * The distribution before any plan is measured.
 *
 * @param degrees      [plans], at most PLAIT_MAX_BELIEF
 * @param predicted_s  [plans] predicted steps, > 0
 * @return             RANGE if `plans` is out of range, a step is not positive or a part is below
 *                     0; NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_posterior_make(const plait_degrees *const *degrees,
                                                   const double *predicted_s, int plans,
                                                   const plait_error_parts *parts,
                                                   plait_arena *arena, plait_posterior *out,
                                                   plait_error *err);

/**
 * Condition the distribution on a measured step of one plan. (C.341)
 *
 * @param plan     index of the plan; an invalid index is ignored
 * @param seconds  measured step; an invalid time is ignored
 */
void plait_posterior_measure(plait_posterior *belief, int plan, double seconds);

/** Estimated step of a plan: median, and 10 % and 90 % quantiles. */
typedef struct plait_plan_posterior {
    double step_s, low_s, high_s;
} plait_plan_posterior;

/** The estimated step of plan `plan`, given all measurements so far; NaN for an invalid index. */
plait_plan_posterior plait_posterior_of_plan(const plait_posterior *belief, int plan);

/**
 * Plans to try, in this order. A regret is the share by which the best tried plan takes longer than
 * the best of all plans.
 */
typedef struct plait_tries {
    int count;
    int plan[PLAIT_MAX_TRIES];
    double regret
        [PLAIT_MAX_TRIES]; /* expected share above the best of all plans, after each of the tries */
    double now;  /* expected regret before any of the tries; infinite without measurements */
    double gain; /* upper bound on the share of the step that an unmeasured plan saves, at
                  * 95 % probability */
} plait_tries;

/**
 * Choose the plans to try next: repeatedly the plan that leaves the least expected regret. (C.342)
 *
 * Expectations are means over 4,000 random draws; equal distributions give equal draws.
 *
 * @param most  maximum number of tries, 1 to PLAIT_MAX_TRIES
 * @return      RANGE if `most` is out of range; NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_posterior_tries(const plait_posterior *belief, int most,
                                                    plait_arena *scratch, plait_tries *out,
                                                    plait_error *err);

/* ---- post-training: fine-tuning and reinforcement learning ---- */

/** Columns of a file of post-training runs that hold text; "" if empty. */
#define PLAIT_POST_TEXT_LIST(X)                                                                    \
    X(id)                                                                                          \
    X(source)                                                                                      \
    X(job)                                                                                         \
    X(model)                                                                                       \
    X(accelerator)                                                                                 \
    X(policy)                                                                                      \
    X(train_engine)                                                                                \
    X(train_precision)                                                                             \
    X(recompute)                                                                                   \
    X(rollout_engine)                                                                              \
    X(rollout_precision)                                                                           \
    X(outcome)                                                                                     \
    X(notes)

/** Columns that hold numbers; NaN if empty. */
#define PLAIT_POST_NUMBER_LIST(X)                                                                  \
    X(gpus)                                                                                        \
    X(gpus_per_node)                                                                               \
    X(train_gpus)                                                                                  \
    X(rollout_gpus)                                                                                \
    X(prompts)                                                                                     \
    X(generations)                                                                                 \
    X(train_gbs)                                                                                   \
    X(max_tokens)                                                                                  \
    X(mean_tokens)                                                                                 \
    X(train_tp)                                                                                    \
    X(train_cp)                                                                                    \
    X(train_ep)                                                                                    \
    X(train_pp)                                                                                    \
    X(train_vpp)                                                                                   \
    X(optimizer_offload)                                                                           \
    X(train_mbs)                                                                                   \
    X(rollout_tp)                                                                                  \
    X(lora_rank)                                                                                   \
    X(step_s)                                                                                      \
    X(rollout_s)                                                                                   \
    X(logprob_s)                                                                                   \
    X(reference_s)                                                                                 \
    X(train_s)                                                                                     \
    X(sync_s)                                                                                      \
    X(tokens_per_s_per_gpu)                                                                        \
    X(gpu_memory_gb)                                                                               \
    X(host_memory_gb)                                                                              \
    X(train_mfu)

typedef struct plait_post_run {
    int line;
#define X(name) const char *name;
    PLAIT_POST_TEXT_LIST(X)
#undef X
#define X(name) double name;
    PLAIT_POST_NUMBER_LIST(X)
#undef X
} plait_post_run;

/** The prediction for one run; step_s and the phases are NaN where the run has no price. */
typedef struct plait_post_price {
    const plait_post_run *run;
    double step_s;
    double rollout_s, logprob_s, reference_s, train_s, sync_s;
    bool judged;     /* whether memory was judged */
    bool feasible;   /* whether a plan fits */
    int fewest_gpus; /* with every memory option on; 0: unknown */
    const char *note;
} plait_post_price;

/** Figures of a file; NaN without runs. */
typedef struct plait_post_validation {
    size_t count;
    const plait_post_price *price; /* [count] */
    double tuning_error;           /* mean error of the steps of sft and lora */
    double rl_error;               /* median error of the steps of grpo and dapo */
    double share_error;   /* mean absolute error of the shares of generation, log-probabilities and
                          * updates in synchronous steps */
    double sync_error;    /* median error of the weight hand-over */
    double feasible;      /* share of runs that ran which fit */
    double within_double; /* share of fewest GPUs within a factor of two */
    int tuning_runs, rl_runs, share_runs, sync_runs, feasible_runs, fewest_runs;
} plait_post_validation;

/**
 * Load a file of post-training runs (docs/reference/files/post-training.md) and price its rows.
 * *out lives in `arena`.
 */
PLAIT_MUST_CHECK plait_status plait_post_validate(const char *path, plait_arena *arena,
                                                  plait_post_validation *out, plait_error *err);

PLAIT_END_DECLS

#endif
