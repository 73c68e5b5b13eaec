/* edits.h - what to change in a user's own config so that it runs another plan */
#ifndef EDITS_H
#define EDITS_H

#include "plait/launch.h"

/**
 * Compare the launch files of two plans, and keep what concerns the user's config: lines are removed
 * only if the config has their flag or key, and added only if they change the value that the config
 * has, or the plan that is read from it.
 *
 * @param file     the user's config; its plan is that of `now`
 * @param edits    receives lines "- ..." and "+ ...", in `arena`; "": there are none
 * @param in_file  receives whether the config has such lines, so that the edits are of it
 */
PLAIT_MUST_CHECK plait_status launch_edits_make(plait_launch_target target, const char *file,
                                                const plait_launch_folder *now,
                                                const plait_launch_folder *other, int gpus,
                                                plait_arena *arena, const char **edits,
                                                bool *in_file, plait_error *err);

#endif
