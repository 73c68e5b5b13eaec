/* folder_swap.h - a new folder in the place of an old one, with what others have in the old */
#pragma once

#include "plait/launch.h"

/**
 * Put the folder `made` in the place of `path`, and remove what `path` was. Entries of `path` that
 * are no files of `ours` go along as hard links, so that at every moment the name `path` has all of
 * the old or all of the new. What appears in the old folder meanwhile is not removed with it.
 *
 * Where folders cannot be exchanged (NFS), the name is missing for a moment between two renames.
 *
 * @param made  beside `path`; afterwards gone
 */
PLAIT_MUST_CHECK plait_status folder_swap(const char *made, const char *path,
                                          const plait_launch_folder *ours, plait_error *err);
