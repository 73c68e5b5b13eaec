/* folder.h - a folder of files, all of them or none */
#pragma once

#include "plait/launch.h"

/** Whether the folder can be made there, asked before the work; as folder_write refuses. */
plait_status folder_check(const char *path, bool force, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes the files into a folder that is new or empty. They are made beside it and appear with one
 * rename, so that a reader sees all of them or none, whenever the program is killed.
 *
 * @param force  the folder may have other files, which stay, and older ones of the same names,
 *               which are replaced: by a new folder that takes the place of the old (folder_swap.h)
 */
plait_status folder_write(const char *path, const plait_launch_folder *folder, bool force,
                          plait_error *err) PLAIT_MUST_CHECK;
