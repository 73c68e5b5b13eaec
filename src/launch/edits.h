/* edits.h - what to change in a user's own config so that it runs another plan */
#pragma once

#include "launch/call.h"
#include "plait/launch.h"

/** The user's config, and what is known beside it. */
typedef struct launch_config {
    plait_launch_target target;
    const char *name; /* of the file */
    const char *text;
    launch_call call; /* what is known beside the file, with the GPUs of the job */
} launch_config;

/**
 * Compare the launch files of two plans, and keep what concerns the user's config: lines are removed
 * only if the config has their flag or key, in its own words, and added only if they change the value
 * that the config has, or the plan that is read from it. Flags that launch writes in another way (older
 * spellings) are removed if the plan that is read without them differs in a changed key.
 *
 * @param now      the plan of the config
 * @param changed  keys in which the other plan differs
 * @param edits    receives lines "- ..." and "+ ...", in `arena`; "": there are none
 * @param applied  receives the config with these edits; NULL: its form is not that of launch's lines
 */
PLAIT_MUST_CHECK plait_status launch_edits_make(const launch_config *config,
                                                const plait_launch_folder *now,
                                                const plait_launch_folder *other,
                                                plait_key_set changed, plait_arena *arena,
                                                const char **edits, const char **applied,
                                                plait_error *err);
