/* file.h - reading and writing whole files */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

/**
 * Opens a regular file for reading, or an open descriptor of this process: standard input ("-" or /dev/stdin), or
 * /dev/fd/63 of a shell's `<(...)`. A pipe among these is read to its end at once, up to 256 MiB, so that its
 * descriptor can be opened and read again. Other pipes and devices are refused without waiting, because a name may
 * come from a file, and a pipe without a writer, or /dev/zero, has no end.
 *
 * @param fd  out: the caller closes it
 */
plait_status file_open(const char *path, int *fd, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads a file that file_open() accepts to its end. A file above `limit` bytes is refused.
 *
 * @param text    out: the bytes and a zero byte, which `length` does not count; lives in `arena`
 * @param length  out: may be NULL
 */
plait_status file_read_all(const char *path, size_t limit, plait_arena *arena, const char **text,
                           size_t *length, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads at most the first `limit` bytes of what file_open opens.
 *
 * @param whole  out: false if the file has more bytes; NULL: such a file is refused
 */
plait_status file_read_start(const char *path, size_t limit, plait_arena *arena, const char **text,
                             size_t *length, bool *whole, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes a file so that readers see the old content or the new one, even after a crash: the text is written to a
 * temporary file in the same folder, which is then renamed. The target of a symbolic link is replaced; a link to
 * nothing is refused. Other files (/dev/stdout, a pipe) are written directly.
 */
plait_status file_write_atomically(const char *path, const char *text, size_t length,
                                   plait_error *err) PLAIT_MUST_CHECK;

/** The part of a path after its last '/'. */
const char *file_base_name(const char *path);

/**
 * The path of `name` in the folder of another file, without the folder in `name`: files that a file names are
 * looked for only beside it. In `arena`; NULL if out of memory.
 */
char *file_beside(const char *file, const char *name, plait_arena *arena) PLAIT_MUST_CHECK;

/** Fails if file_write_atomically() would fail, so that a command fails before its work. */
plait_status file_check_writable(const char *path, plait_error *err) PLAIT_MUST_CHECK;

/** Whether an errno is a fault of the machine: no memory, a full or broken disk, too many open files. */
bool file_is_fault(int error);

/** Fails with an errno of a file or folder: NOMEM, DISK, or IO with the path and the system's message. */
plait_status file_fail_read(const char *path, int error, plait_error *err) PLAIT_MUST_CHECK;
plait_status file_fail_write(const char *path, int error, plait_error *err) PLAIT_MUST_CHECK;
