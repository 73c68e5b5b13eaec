/* named_file.h - a file that a launch names */
#pragma once

#include "launch/read/flags.h"

/**
 * The text of a JSON that a flag names: one that the script itself makes, what is not known in it
 * null, or one that lies beside the script. A path is not followed anywhere else.
 *
 * @param out  NULL: there is none, or it cannot be read
 */
PLAIT_MUST_CHECK plait_status named_json(const launch_flags *flags, const char *name,
                                         const char **out, plait_error *err);
