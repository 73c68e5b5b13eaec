/* file.h - whole files in and out */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

/**
 * Opens a regular file for reading, or what this process has open already: standard input ("-" or
 * /dev/stdin), /dev/fd/63 of a shell's `<(...)`. Such a pipe is read to its end at once, up to 256 MiB,
 * and its descriptor then gives the same bytes each time that it is opened. Other pipes and devices are
 * refused, without waiting for one: a name may come out of a file, and a pipe that nobody writes to, or
 * /dev/zero, has no end.
 *
 * @param fd  out: for the caller to close
 */
plait_status file_open(const char *path, int *fd, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads what file_open opens to its end. A regular file above `limit` bytes is refused unread, anything
 * else as soon as it turns out to be longer.
 *
 * @param text    out: the bytes, then a zero byte that `length` leaves out; lives in `arena`
 * @param length  out: may be NULL
 */
plait_status file_read_all(const char *path, size_t limit, plait_arena *arena, const char **text,
                           size_t *length, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes a file so that a reader, or a crash, sees the old content or the new one and nothing in
 * between: into a temporary file of the same folder first, then renamed. A symbolic link stays, and
 * what it points to is replaced; one that leads nowhere is refused. What is not a regular file
 * (/dev/stdout, a pipe) is simply written to.
 */
plait_status file_write_atomically(const char *path, const char *text, size_t length,
                                   plait_error *err) PLAIT_MUST_CHECK;

/** The part of a path behind its last '/'. */
const char *file_base_name(const char *path);

/**
 * The file of this name in the folder of another file, whatever folder `name` says: what a file names
 * is looked for beside it and nowhere else. In `arena`; NULL when out of memory.
 */
char *file_beside(const char *file, const char *name, plait_arena *arena) PLAIT_MUST_CHECK;

/** Whether a file can be made there, asked before the work that it is to hold. */
plait_status file_check_writable(const char *path, plait_error *err) PLAIT_MUST_CHECK;

/** Is an errno of a call on files nobody's mistake: no memory, no room on the disk, too many open? */
bool file_is_fault(int error);

/** What errno says of a file or folder: NOMEM, DISK, or IO with its name and the system's words. */
plait_status file_fail_read(const char *path, int error, plait_error *err) PLAIT_MUST_CHECK;
plait_status file_fail_write(const char *path, int error, plait_error *err) PLAIT_MUST_CHECK;
