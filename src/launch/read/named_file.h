/* named_file.h - a file that a launch names */
#ifndef NAMED_FILE_H
#define NAMED_FILE_H

#include "flags.h"

/**
 * The text of a JSON that a flag names: one that the script itself makes, what is not known in it
 * null, or one that lies beside the script. A path is not followed anywhere else.
 *
 * @return  NULL: there is none, or memory ran out
 */
const char *named_json(const launch_flags *flags, const char *name);

#endif
