/* file.h - reading and writing whole files */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

/**
 * Opens a regular file or an open descriptor of this process for reading: standard input ("-" or
 * /dev/stdin), or /dev/fd/63 of a shell's `<(...)`. If the descriptor is a pipe, its bytes are
 * copied at once, up to 256 MiB, so that it can be opened and read again. Other pipes and devices
 * are refused without waiting, because their names may come from a file, and
 * /dev/zero, or a pipe that has no writer, never ends.
 *
 * @param fd  out: descriptor, which the caller closes
 */
plait_status file_open(const char *path, int *fd, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads a file that file_open() accepts to its end. A file of more than `limit` bytes is refused.
 *
 * @param text    out: the bytes and a final zero byte, which `length` does not count; lives in
 *                `arena`
 * @param length  out: number of bytes; may be NULL
 */
plait_status file_read_all(const char *path, size_t limit, plait_arena *arena, const char **text,
                           size_t *length, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads at most the first `limit` bytes of a file that file_open() accepts.
 *
 * @param whole  out: false if the file is longer; if NULL, a longer file is refused
 */
plait_status file_read_start(const char *path, size_t limit, plait_arena *arena, const char **text,
                             size_t *length, bool *whole, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes a file such that readers see either the old or the new content, even after a crash: the
 * text is written to a temporary file in the same folder, which is then renamed. If `path` is a
 * symbolic link, its target is replaced; a dangling link is refused. Devices and pipes
 * (/dev/stdout) are written directly.
 */
plait_status file_write_atomically(const char *path, const char *text, size_t length,
                                   plait_error *err) PLAIT_MUST_CHECK;

/** Returns the part of a path after its last '/'. */
const char *file_base_name(const char *path);

/**
 * Returns the path of the base name of `name` in the folder of `file`: a file that another file
 * names is searched only beside it. The result is in `arena`; NULL if out of memory.
 */
char *file_beside(const char *file, const char *name, plait_arena *arena) PLAIT_MUST_CHECK;

/** Fails if file_write_atomically() would fail, so that a command can fail before its work. */
plait_status file_check_writable(const char *path, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Returns whether an errno is a fault of the machine: no memory, a full or broken disk, too many
 * open files.
 */
bool file_is_fault(int error);

/**
 * Fails with the status that fits an errno of a file or folder: NOMEM, DISK, or IO with the path
 * and the system's message.
 */
plait_status file_fail_read(const char *path, int error, plait_error *err) PLAIT_MUST_CHECK;
plait_status file_fail_write(const char *path, int error, plait_error *err) PLAIT_MUST_CHECK;
