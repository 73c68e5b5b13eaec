/*
 * validate.h - measured training runs against what plait would have predicted for them.
 *
 * A file of runs holds one plan a row: the model by its shape, the cluster, the software, the
 * degrees, and what was measured. Each row is turned into a problem and degrees, priced as it ran,
 * and the errors are summed up: step time by source, ranking of the plans of a sweep, memory by
 * what its figure means, and out-of-memory prediction.
 *
 * In order: plait_runs_load (docs/reference/files/runs.md lists the columns), plait_validate, then
 * read the struct. plait_validation_plot draws it.
 *
 * A row that cannot be priced is an answer with a reason, not an error. A plan that really ran is
 * priced even where the rules of src/plan refuse it; its note then says which.
 *
 * Left out: what the columns do not say (clocks, drivers, other jobs on the network).
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

/* ---- how far predictions were off on measured runs that nothing was fitted to ----
 *
 * Each row is one measured run: what it ran, and measured over predicted step time. It was
 * predicted twice, by the runtime profile as it is shipped and by one that was fitted without any
 * run of the same source; software that no other source ran was predicted with what its family
 * leads to expect. The second figure is what a prediction is worth to somebody whose runs are not here.
 *
 * In order: plait_evidence_find, then plait_evidence_band and plait_evidence_memory_band for a
 * problem, which go into problem.band and problem.memory_band and from there into every price of it. `plait calibrate --evidence` writes the file.
 *
 * Beside them stand measured peaks of memory over predicted ones, of the same kind (allocated on the
 * same rank, or reserved): they say how likely a plan runs out.
 *
 * Left out: evidence on a site's own runs (`plait calibrate --log`).
 */

/** The narrowest format of the matrix units: what a generation of accelerators is told by. */
typedef enum plait_narrowest {
    PLAIT_NARROWEST_FP16,
    PLAIT_NARROWEST_BF16,
    PLAIT_NARROWEST_FP8,
    PLAIT_NARROWEST_FP4,
    PLAIT_NARROWESTS
} plait_narrowest;

extern const char *const plait_narrowest_name[PLAIT_NARROWESTS + 1];

/** What of a job says which evidence is about it. */
typedef struct plait_regime {
    const char *runtime; /* without a date */
    plait_rules rules;   /* of its profile: software of one family keeps alike */
    plait_narrowest narrowest;
    int gpus;
    bool experts;
    bool calibrated; /* the profile is fitted to runs of its software */
} plait_regime;

typedef struct plait_evidence_row {
    const char *source;
    const char *sweep; /* "" when it belongs to none */
    plait_regime regime;
    int trait[PLAIT_TRAITS]; /* of its plan; of memory all 0 */
    double left_out;         /* measured step over the one predicted without this source */
    double shipped;          /* ... predicted by the profile that is shipped; of memory the same */
} plait_evidence_row;

typedef struct plait_evidence {
    size_t count;
    const plait_evidence_row *row; /* of steps */
    size_t memories;
    const plait_evidence_row *memory; /* of peaks of memory */
} plait_evidence;

/** Load a file of evidence. *out lives in `arena`. Fails with `where` "evidence.csv:LINE:COLUMN". */
PLAIT_MUST_CHECK plait_status plait_evidence_load(const char *path, plait_arena *arena,
                                                  plait_evidence *out, plait_error *err);

PLAIT_MUST_CHECK plait_status plait_evidence_parse(const char *text, size_t length,
                                                   const char *name, plait_arena *arena,
                                                   plait_evidence *out, plait_error *err);

/** Load clusters/evidence.csv of the data folders; none where there is no such file. */
PLAIT_MUST_CHECK plait_status plait_evidence_find(plait_arena *arena, plait_evidence *out,
                                                  plait_error *err);

/** The file of evidence: four significant digits are more than a run repeats. In `arena`. */
PLAIT_MUST_CHECK plait_status plait_evidence_text(const plait_evidence *evidence,
                                                  plait_arena *arena, const char **text,
                                                  size_t *length, plait_error *err);

plait_regime plait_regime_of(const plait_problem *problem);

/** A node, a part of a cluster, a cluster: 0, 1, 2. Regimes that differ in GPUs alone have one band a scale. */
int plait_regime_scale(int gpus);

/**
 * The band that holds 80 % of measured steps, as factors on a predicted step.        (C.98)
 *
 * The 10 % and 90 % quantiles of the `left_out` rows. A row weighs 1 / sqrt(rows of its source and
 * software), times 4 where the software is the same, 4 for experts or none, 2 for the generation, 2
 * for the scale (a node, up to 256 GPUs, more) and 4 where its profile was calibrated like this one's.
 * The band holds 1, and is widened by 2 % for what repeats of one run differ by, and by 1 % for
 * each of the five that no row shares.
 *
 * @param without  a source whose rows do not count, or NULL
 * @param out      all 0 where no row counts; `tie` is not set
 * @return         NOMEM only
 *
 * Weights and widening are chosen so that each source's left-out runs lie in the band of the other
 * sources 80 % of the time; `plait validate` prints how often they do.
 */
PLAIT_MUST_CHECK plait_status plait_evidence_band(const plait_evidence *evidence,
                                                  const plait_regime *regime, const char *without,
                                                  plait_arena *scratch, plait_band *out,
                                                  plait_error *err);

/**
 * The band that holds 80 % of measured peaks of memory, as factors on a predicted peak.   (C.98)
 *
 * Each source and software is one voice: the spread of log(measured / predicted) by the 75 % quantile
 * of its distance from 0, as if it were normal. (Published peaks mix releases, so their tails say
 * little about one.) The band is that of the median voice: a voice counts 16 times where the software
 * is the same, 4 times where its rules are, and less with fewer than ten rows. 2 % is added for what
 * the device itself takes.
 *
 * @param without  a source whose rows do not count, or NULL
 * @param out      all 0 where no row counts; `tie` is not set
 */
PLAIT_MUST_CHECK plait_status plait_evidence_memory_band(const plait_evidence *evidence,
                                                         const plait_regime *regime,
                                                         const char *without, plait_arena *scratch,
                                                         plait_band *out, plait_error *err);

/**
 * The ratio of two predicted steps of one job from which the order is right 9 times in 10. (C.99)
 *
 * sqrt(2) times the 80 % quantile of how far log(measured / predicted) lies from the median of its
 * sweep. A row weighs the likenesses above over the plans of its sweep; sweeps of fewer than five do
 * not count. A calibrated profile is judged by the shipped predictions of all rows, another one by
 * the left-out predictions of uncalibrated ones.
 *
 * @param out  above 1; 0 where no sweep counts
 * @return     NOMEM only
 */
PLAIT_MUST_CHECK plait_status plait_evidence_tie(const plait_evidence *evidence,
                                                 const plait_regime *regime, plait_arena *scratch,
                                                 double *out, plait_error *err);

/* ---- measured runs, and the predictions for them ---- */

typedef enum plait_run_outcome {
    PLAIT_RUN_OK,
    PLAIT_RUN_OOM,
    PLAIT_RUN_CRASH, /* out of memory or any other failure */
    PLAIT_RUN_OUTCOMES
} plait_run_outcome;

/** What a measured peak of memory counts. */
typedef enum plait_memory_scope {
    PLAIT_SCOPE_NONE,
    PLAIT_SCOPE_MAX,       /* allocated, of the fullest rank */
    PLAIT_SCOPE_RANK0,     /* allocated, first stage */
    PLAIT_SCOPE_LAST_RANK, /* allocated, last stage */
    PLAIT_SCOPE_RESERVED,  /* by the allocator, of the fullest rank */
    PLAIT_SCOPE_DEVICE,    /* nvidia-smi: the whole device, of the fullest rank */
    PLAIT_SCOPES
} plait_memory_scope;

/** How far a row's figures can be relied on. */
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

/** One row, as the file has it: a count is 0 and a text "" where the file says nothing. */
typedef struct plait_run {
    int line; /* of the file */
    const char *id;
    const char *source;
    const char *sweep; /* rows that differ in their plan only */
    const char *model;
    const char *accelerator;
    const char *framework;
    const char *runtime;
    const char *precision;
    const char *recompute;
    const char *attention;
    const char *notes; /* words */
    int layers, hidden, heads, kv_heads, head_dim, ffn_hidden, vocab;
    int experts, topk, moe_ffn;
    int seq_len, gbs, mbs;
    int gpus, gpus_per_node;
    int tp, pp, cp, ep, dp, vpp, shard_group;
    int sp, zero;    /* -1: not given */
    double nic_gbps; /* 0: the accelerator's usual */
    plait_run_mlp mlp;
    plait_run_outcome outcome;
    plait_memory_scope scope;
    plait_trust trust;
    double step_s;     /* measured; NaN: was not */
    double peak_bytes; /* measured, of the kind that `scope` names; NaN: was not */
} plait_run;

typedef struct plait_runs {
    const char *name; /* of the file */
    size_t count;
    const plait_run *run; /* [count] */
} plait_runs;

/**
 * Load a file of runs. *out lives in `arena`.
 *
 * Fails (SCHEMA) on a column that is unknown or missing, (RANGE) on a cell that is no such number
 * or word; `where` is then "runs.csv:LINE:COLUMN".
 */
PLAIT_MUST_CHECK plait_status plait_runs_load(const char *path, plait_arena *arena, plait_runs *out,
                                              plait_error *err);

/** The same from text; `name` stands for the file in messages. */
PLAIT_MUST_CHECK plait_status plait_runs_parse(const char *text, size_t length, const char *name,
                                               plait_arena *arena, plait_runs *out,
                                               plait_error *err);

/** What plait makes of one run. */
typedef struct plait_run_price {
    const plait_run *run;
    bool priced;           /* else only `verdict` (INVALID) and `note` count */
    bool unmodelled;       /* it did something that has no price: nothing is fitted to it */
    plait_verdict verdict; /* does it fit */
    plait_problem problem;
    plait_degrees degrees;
    plait_cost cost;
    double memory_bytes; /* of the kind that the run's scope names; without one, of the device */
    double risk;         /* of running out of memory; NaN when not priced */
    const char *note;    /* why not priced, else what was assumed; "" when nothing was */
} plait_run_price;

/** Relative errors, predicted over measured - 1; NaN where there are no rows. */
typedef struct plait_errors {
    size_t rows;
    double mape;   /* mean of |error| */
    double median; /* of |error| */
    double p90;    /* of |error| */
    double bias;   /* mean error */
} plait_errors;

typedef struct plait_error_group {
    const char *name;
    const char *scope; /* of memory figures; NULL of times */
    plait_errors errors;
    double inside; /* share of measured steps that lie in their band; NaN of memory, or without */
} plait_error_group;

/** A source's runs of one piece of software, predicted by profiles fitted without that source. */
typedef struct plait_left_out {
    const char *source;
    const char *runtime;
    bool calibrated; /* by other sources; else by its family */
    plait_errors errors;
    double inside; /* share in the band that the evidence of other sources gives ... */
    double width;  /* ... and the mean of how wide that is, over the prediction */
} plait_left_out;

typedef enum plait_run_key {
    PLAIT_BY_SOURCE,
    PLAIT_BY_SWEEP,
    PLAIT_BY_ACCELERATOR,
    PLAIT_BY_LAYERS, /* experts, or dense ones in 16 bits or in fewer */
    PLAIT_RUN_KEYS
} plait_run_key;

extern const char *const plait_run_key_name[PLAIT_RUN_KEYS + 1];

enum { PLAIT_SWEEP_LEAST = 5 }; /* timed plans of a sweep that is ranked */

/** How the timed plans of one sweep are ranked. */
typedef struct plait_sweep_rank {
    const char *name;
    const char *source;
    size_t plans;
    double spearman; /* of predicted and measured step times; NaN when either is constant */
    double kendall;  /* tau-b */
    double regret;   /* measured time of the plan that is predicted fastest over the best, - 1 */
    double regret_beyond_noise; /* the same, 0 within what repeats differ by */
    size_t chosen;              /* indices of the two rows */
    size_t best;
} plait_sweep_rank;

/** Running out of memory, predicted and real. NaN where a class is empty. */
typedef struct plait_confusion {
    const char *source; /* NULL: all */
    size_t true_positives;
    size_t false_positives;
    size_t true_negatives;
    size_t false_negatives;
    size_t tight;             /* of the true negatives, those that were called tight */
    double balanced_accuracy; /* mean of the shares of either class that are right */
} plait_confusion;

/** Mean and median over sweeps. */
typedef struct plait_rank_summary {
    double mean;
    double median;
} plait_rank_summary;

typedef struct plait_unpriced {
    const char *why;
    size_t rows;
    const char *first; /* id of one of them */
} plait_unpriced;

enum { PLAIT_WORST_RUNS = 10 };

enum { PLAIT_REPLAYS = 4 };

/** After how many tries: 1, 2, 3, 5. */
extern const int plait_replay_tries[PLAIT_REPLAYS];

/**
 * What is lost after so many tries on the plans of a sweep, as a share of its best measured step;
 * means over the sweeps. (C.342)
 */
typedef struct plait_replay {
    double random[PLAIT_REPLAYS];
    double ranked[PLAIT_REPLAYS];   /* the first ones by prediction */
    double tries[PLAIT_REPLAYS];    /* those that plait_posterior_tries chooses at once ... */
    double updated[PLAIT_REPLAYS];  /* ... and one by one, with what was measured */
    double expected[PLAIT_REPLAYS]; /* what it expects to lose when it chooses at once */
} plait_replay;

typedef struct plait_validation {
    const plait_runs *runs;
    const plait_run_price *price; /* [runs->count], in file order */
    size_t priced;
    size_t timed;        /* rows with a step time and trust high or medium ... */
    size_t timed_priced; /* ... that have a price: what `total` is over */
    plait_errors total;  /* of the step time */
    double inside;       /* of those, the share in their band; NaN without evidence */
    size_t groups[PLAIT_RUN_KEYS];
    const plait_error_group *group[PLAIT_RUN_KEYS]; /* in order of first appearance */
    size_t left_outs; /* of the sources that the runs are from, by the evidence there is */
    const plait_left_out *left_out;
    plait_left_out left_out_total; /* of all sources */
    size_t sweeps;
    const plait_sweep_rank *sweep;
    plait_rank_summary spearman, kendall, regret, regret_beyond_noise;
    plait_replay replay;
    size_t memories;
    const plait_error_group *memory; /* by source and scope */
    plait_errors memory_total;
    size_t confusions;
    const plait_confusion *confusion; /* by source, whether or not a run failed there */
    plait_confusion confusion_total;
    size_t worst_count;
    size_t worst[PLAIT_WORST_RUNS]; /* rows by |error| of the step time, largest first */
    size_t reasons;
    const plait_unpriced *unpriced; /* most frequent first */
} plait_validation;

/** Price one run. *out lives in `arena`. Fails with NOMEM only. */
PLAIT_MUST_CHECK plait_status plait_run_evaluate(const plait_run *run, plait_arena *arena,
                                                 plait_run_price *out, plait_error *err);

/** Price all runs, and count them: no sums of errors. *out lives in `arena`. Fails with NOMEM only. */
PLAIT_MUST_CHECK plait_status plait_validate_prices(const plait_runs *runs, plait_arena *arena,
                                                    plait_validation *out, plait_error *err);

/** The same, and sum the errors up. */
PLAIT_MUST_CHECK plait_status plait_validate(const plait_runs *runs, plait_arena *arena,
                                             plait_validation *out, plait_error *err);

/**
 * Sum evidence up by source and software.
 *
 * @param out    lives in `arena`: `count` groups, in the order of the evidence
 * @param total  all rows; names nothing
 */
PLAIT_MUST_CHECK plait_status plait_evidence_sum(const plait_evidence *evidence, plait_arena *arena,
                                                 plait_left_out **out, size_t *count,
                                                 plait_left_out *total, plait_error *err);

/** Is this a row that the statistics of the step time count? */
bool plait_run_timed(const plait_run *run);

/**
 * Measured against predicted step times as an SVG document, one panel a source.
 *
 * @param text  out: in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_validation_plot(const plait_validation *validation,
                                                    plait_arena *arena, const char **text,
                                                    size_t *length, plait_error *err);

/* ---- what is believed of the steps of several plans of one job, and which of them to try ----
 *
 * log(measured / predicted) of a plan is taken as normal, and as a sum: one part that all plans of a
 * job share (the site, the cluster), one for each tp, pp, microbatch, ... that plans share, and one
 * of its own. How large these are is told by measured sweeps. So a plan that was measured says
 * something of all others, most of those that are like it; and near-twins are a bad set to try.
 *
 * In order: plait_evidence_parts, plait_posterior_make, plait_posterior_measure for what was measured,
 * plait_posterior_tries.
 */

/** Standard deviations of the parts of log(measured / predicted). (C.340) */
typedef struct plait_error_parts {
    double common;
    double trait[PLAIT_TRAITS];
    double own;
} plait_error_parts;

/**
 * The parts as measured sweeps have them, by the differences between plans of one sweep. (C.340)
 *
 * Sweeps of at least five plans count alike. A calibrated profile is judged by the shipped predictions
 * of all rows, another one by the left-out predictions of uncalibrated ones, as in plait_evidence_tie.
 * `common` is that of the band: 80 % of measured runs lie in it.
 *
 * @param without  a source whose rows do not count, or NULL
 * @param out      all 0 but `common` where no sweep counts
 * @return         NOMEM only
 */
PLAIT_MUST_CHECK plait_status plait_evidence_parts(const plait_evidence *evidence,
                                                   const plait_regime *regime,
                                                   const plait_band *band, const char *without,
                                                   plait_arena *scratch, plait_error_parts *out,
                                                   plait_error *err);

enum { PLAIT_MAX_BELIEF = 1000, PLAIT_MAX_TRIES = 16 };

/** Logarithms of the steps of `plans` plans: means and covariances. */
typedef struct plait_posterior {
    int plans;
    double *mean;       /* [plans], of seconds */
    double *covariance; /* [plans x plans] */
    bool *measured;     /* [plans] */
} plait_posterior;

/**
 * What is believed before any of the plans is measured.
 *
 * @param degrees      [plans], at most PLAIT_MAX_BELIEF
 * @param predicted_s  [plans] steps, > 0
 * @return             RANGE: of no plan or too many, a step that is none, or parts below 0
 */
PLAIT_MUST_CHECK plait_status plait_posterior_make(const plait_degrees *const *degrees,
                                                   const double *predicted_s, int plans,
                                                   const plait_error_parts *parts,
                                                   plait_arena *arena, plait_posterior *out,
                                                   plait_error *err);

/** One of the plans took so long: all others follow as far as they are alike. (C.341) A plan or a time
 * that is none says nothing. */
void plait_posterior_measure(plait_posterior *belief, int plan, double seconds);

/** The step that is believed of a plan: the middle, and where 80 % of the belief begins and ends. */
typedef struct plait_believed {
    double step_s, low_s, high_s;
} plait_believed;

/** By every measurement so far; `plan` as in plait_posterior_measure. */
plait_believed plait_believed_of(const plait_posterior *belief, int plan);

/** Plans to start, in this order, and what is lost on average by stopping behind each. */
typedef struct plait_tries {
    int count;
    int plan[PLAIT_MAX_TRIES];
    double regret
        [PLAIT_MAX_TRIES]; /* share that the best of those tried takes more than the best of all */
    double now;            /* that share with what is measured already; infinite where nothing is */
    double
        gain; /* with 95 % probability no plan that is not measured takes less by more than this */
} plait_tries;

/**
 * Which plans to try next: one after the other that which leaves the least expected regret. (C.342)
 *
 * Expectations are means over 4,000 draws of all steps, the same ones for the same belief.
 *
 * @param most  1 to PLAIT_MAX_TRIES
 * @return      RANGE: no such number
 */
PLAIT_MUST_CHECK plait_status plait_posterior_tries(const plait_posterior *belief, int most,
                                                    plait_arena *scratch, plait_tries *out,
                                                    plait_error *err);

PLAIT_END_DECLS

#endif
