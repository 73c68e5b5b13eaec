/*
 * cross.h - what a prediction is worth on runs that nothing was fitted to
 *
 * The runs of one source after the other are left out, the profiles of their software fitted to
 * what is left, and the runs left out are predicted. Software that no other source ran is
 * predicted with the priors of any software.
 */
#ifndef CROSS_H
#define CROSS_H

#include "plait/validate.h"

typedef struct cross_run {
    const plait_run *run;
    bool calibrated;   /* other sources ran its software */
    double shipped_s;  /* predicted by the profile as it is */
    double left_out_s; /* predicted without the run's own source */
} cross_run;

typedef struct cross_result {
    size_t count;
    cross_run *run; /* [count], those with a time to trust, by source and software */
} cross_result;

/** Called before each fit, to show progress. */
typedef void cross_progress(const char *source, const char *runtime);

/** Predict all timed runs twice. *out lives in `arena`; `progress` may be NULL. */
PLAIT_MUST_CHECK plait_status cross_predict(const plait_runs *runs, cross_progress *progress,
                                            plait_arena *arena, cross_result *out,
                                            plait_error *err);

#endif
