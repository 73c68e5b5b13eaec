/* folder.h - writing a folder of files: all of them, or none */
#pragma once

#include "plait/launch.h"

/** Fails if folder_write() would fail, so that a command can fail before its work. */
plait_status folder_check(const char *path, bool force, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes files into a new or empty folder. The files are written to a temporary folder, which is
 * then renamed, so that readers see all files or none, even if the program is killed.
 *
 * @param force  the folder may contain other files, which stay, and older files of the same names,
 *               which are replaced
 */
plait_status folder_write(const char *path, const plait_launch_folder *folder, bool force,
                          plait_error *err) PLAIT_MUST_CHECK;
