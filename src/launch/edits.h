/* edits.h - the lines to change in a user's own config so that it runs another plan */
#pragma once

#include "launch/import.h"

/** The user's config, and facts about its launch that the file does not contain. */
typedef struct launch_config {
    plait_launch_target target;
    const char *name; /* path of the file, for messages */
    const char *text;
    bool logged;      /* true if the file is the log of a run that contains `text` */
    launch_call call; /* arguments of the launch, and GPUs of the job */
} launch_config;

/**
 * Compare the launch files of two plans and keep the lines that concern the user's config. A line
 * is removed only if the config has its flag or key; `edits` lists it in the config's spelling. A
 * line is added only if it changes the value that the config has, or the plan that is read from it.
 * Flags of the config that launch spells in another way are removed if the plan that is read
 * without them differs in a key of `changed`.
 *
 * @param now      the plan of the config
 * @param changed  keys in which the other plan differs
 * @param edits    receives lines "- ..." and "+ ...", in `arena`; "" if there are none
 * @param applied  receives the config with these edits, or NULL if the config is written in another
 *                 form than the lines of launch
 */
PLAIT_MUST_CHECK plait_status launch_edits_make(const launch_config *config,
                                                const plait_launch_folder *now,
                                                const plait_launch_folder *other,
                                                plait_key_set changed, plait_arena *arena,
                                                const char **edits, const char **applied,
                                                plait_error *err);
