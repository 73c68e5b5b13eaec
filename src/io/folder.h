/* folder.h - writing a folder of files, all of them or none */
#pragma once

#include "plait/launch.h"

/** Fails if folder_write() would fail, so that a command fails before its work. */
plait_status folder_check(const char *path, bool force, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes files into a folder that is new or empty. They are written beside it and appear with one rename, so
 * that readers see all of them or none, even if the program is killed.
 *
 * @param force  the folder may have other files, which stay, and older ones of the same names, which are replaced
 */
plait_status folder_write(const char *path, const plait_launch_folder *folder, bool force,
                          plait_error *err) PLAIT_MUST_CHECK;
