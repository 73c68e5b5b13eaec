/*
 * belief.h - what is believed of the steps of several plans of one job, and which of them to try.
 *
 * log(measured / predicted) of a plan is taken as normal, and as a sum: one part that all plans of a
 * job share (the site, the cluster), one for each tp, pp, microbatch, ... that plans share, and one
 * of its own. How large these are is told by measured sweeps. So a plan that was measured says
 * something of all others, most of those that are like it; and near-twins are a bad set to try.
 *
 * In order: plait_evidence_parts, plait_belief_make, plait_belief_measure for what was measured,
 * plait_belief_tries.
 */
#ifndef PLAIT_BELIEF_H
#define PLAIT_BELIEF_H

#include "plait/evidence.h"

PLAIT_BEGIN_DECLS

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
typedef struct plait_belief {
    int plans;
    double *mean;       /* [plans], of seconds */
    double *covariance; /* [plans x plans] */
    bool *measured;     /* [plans] */
} plait_belief;

/**
 * What is believed before any of the plans is measured.
 *
 * @param degrees      [plans], at most PLAIT_MAX_BELIEF
 * @param predicted_s  [plans] steps, > 0
 * @return             RANGE: of no plan or too many, a step that is none, or parts below 0
 */
PLAIT_MUST_CHECK plait_status plait_belief_make(const plait_degrees *const *degrees,
                                                const double *predicted_s, int plans,
                                                const plait_error_parts *parts, plait_arena *arena,
                                                plait_belief *out, plait_error *err);

/** One of the plans took so long: all others follow as far as they are alike. (C.341) A plan or a time
 * that is none says nothing. */
void plait_belief_measure(plait_belief *belief, int plan, double seconds);

/** The step that is believed of a plan: the middle, and where 80 % of the belief begins and ends. */
typedef struct plait_believed {
    double step_s, low_s, high_s;
} plait_believed;

/** By every measurement so far; `plan` as in plait_belief_measure. */
plait_believed plait_believed_of(const plait_belief *belief, int plan);

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
PLAIT_MUST_CHECK plait_status plait_belief_tries(const plait_belief *belief, int most,
                                                 plait_arena *scratch, plait_tries *out,
                                                 plait_error *err);

PLAIT_END_DECLS

#endif
