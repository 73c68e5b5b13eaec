/* edits.h - the lines to change in a user's own config so that it runs another plan */
#pragma once

#include "launch/import.h"

/** The user's config, and the facts given beside it. */
typedef struct launch_config {
    plait_launch_target target;
    const char *name; /* path of the file, for messages */
    const char *text;
    bool logged;      /* it is the log of a run, which holds `text` */
    launch_call call; /* facts beside the file, with the GPUs of the job */
} launch_config;

/**
 * Compare the launch files of two plans and keep the lines that concern the user's config. A line
 * is removed only if the config has its flag or key, and listed in the config's own spelling; a
 * line is added only if it changes the value that the config has, or the plan that is read from it.
 * Flags that launch writes in another way (older spellings) are removed if the plan that is read
 * without them differs in a changed key.
 *
 * @param now      the plan of the config
 * @param changed  keys in which the other plan differs
 * @param edits    receives lines "- ..." and "+ ...", in `arena`; "": there are none
 * @param applied  receives the config with these edits; NULL: its form differs from that of
 * launch's lines
 */
PLAIT_MUST_CHECK plait_status launch_edits_make(const launch_config *config,
                                                const plait_launch_folder *now,
                                                const plait_launch_folder *other,
                                                plait_key_set changed, plait_arena *arena,
                                                const char **edits, const char **applied,
                                                plait_error *err);
