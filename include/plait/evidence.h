/*
 * evidence.h - how far predictions were off on measured runs that nothing was fitted to.
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
#ifndef PLAIT_EVIDENCE_H
#define PLAIT_EVIDENCE_H

#include <stddef.h>

#include "plait/arena.h"
#include "plait/degrees.h"
#include "plait/error.h"
#include "plait/job.h"
#include "plait/runtime.h"

PLAIT_BEGIN_DECLS

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

PLAIT_END_DECLS

#endif
