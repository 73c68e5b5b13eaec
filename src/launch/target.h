/* target.h - what one target is to the others: a way out, and for some a way back in
 *
 * Every target has a descriptor in a file of its own, see README.md beside this.
 */
#pragma once

#include "plait/launch.h"

#include "launch/call.h"
#include "io/plans/plans.h"

/** How a line of run.sh begins that ends the loop over its arguments; behind it their file, and a quote. */
#define LAUNCH_READS_FROM "done <\"$here/"

typedef struct launch_target {
    const char *name; /* its word */
    /** Profile that judges plans of other runtimes' rules; NULL: the target takes any plan. */
    const char *runtime;
    plait_rules rules;  /* plans of runtimes with these rules are taken as they are */
    bool stages_differ; /* it has words for plans whose stages differ */
    /** A sentence when the target has no words for a plan that `rules` allow; else NULL. */
    const char *(*lacks)(const plait_problem *problem, const plait_plan *plan);
    plait_status (*render)(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err);
    /**
     * Read a config back; NULL: it cannot be. What the file does not say stays as plans.h has it.
     *
     * @param name     stands for the file in messages
     * @param call     NULL: nothing is known beside the file
     * @param warning  receives sentences, one a line, on what the file says and plait cannot price;
     *                 "" if none
     */
    plait_status (*import)(const char *text, size_t length, const char *name,
                           const launch_call *call, plait_arena *arena, plans_entry *out,
                           const char **warning, plait_error *err);
} launch_target;

#define X(constant, word, descriptor) extern const launch_target descriptor;
PLAIT_LAUNCH_TARGET_LIST(X)
#undef X

const launch_target *launch_target_at(plait_launch_target target);

/** Add a file to a folder; a NULL text is one that memory ran out for. */
PLAIT_MUST_CHECK plait_status folder_add(plait_launch_folder *folder, const char *name,
                                         const char *text, bool executable, plait_error *err);
