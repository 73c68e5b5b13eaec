/* file.c - reading and writing whole files */
#define _GNU_SOURCE // memfd_create

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static bool write_bytes(int fd, const char *bytes, size_t length);

bool file_is_fault(int error)
{
    static const int faults[] = {ENOMEM, ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE};

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (error == faults[i])
            return true;
    return false;
}

static plait_status fail_system(const char *path, const char *what, int error, plait_error *err)
{
    if (error == ENOMEM)
        return plait_fail_nomem(err);
    return plait_fail(err, file_is_fault(error) ? PLAIT_ERROR_DISK : PLAIT_ERROR_IO,
                      *path != '\0' ? path : "\"\"", "cannot %s: %s", what, strerror(error));
}

plait_status file_fail_read(const char *path, int error, plait_error *err)
{
    return fail_system(path, "read", error, err);
}

plait_status file_fail_write(const char *path, int error, plait_error *err)
{
    return fail_system(path, "write", error, err);
}

static plait_status fail_too_large(const char *path, size_t limit, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_IO, path, "expected at most %zu bytes, found more", limit);
}

/* ---- reading ---- */

static const char *system_path(const char *path)
{
    return text_equal(path, "-") ? "/dev/stdin" : path;
}

/* Returns the open descriptor that a path such as "-" or /dev/fd/63 names; -1 for other paths. */
static int own_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    int fd;

    if (text_equal(system_path(path), "/dev/stdin"))
        return STDIN_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (text_starts_with(path, folders[i]) &&
            text_parse_int(path + strlen(folders[i]), 0, INT_MAX, &fd))
            return fd;
    return -1;
}

static plait_status copy_to_end(int from, int to, const char *path, plait_error *err)
{
    static const size_t limit = (size_t)256 << 20; // largest size of a file that a command reads
    char chunk[64 * 1024];
    size_t copied = 0;

    for (;;) {
        const ssize_t got = read(from, chunk, sizeof chunk);

        if (got == 0)
            return PLAIT_OK;
        if (got < 0 && errno == EAGAIN) // the descriptor is non-blocking
            poll(&(struct pollfd){.fd = from, .events = POLLIN}, 1, -1);
        else if (got < 0 && errno != EINTR)
            return file_fail_read(path, errno, err);
        if (got < 0)
            continue;
        copied += (size_t)got;
        if (copied > limit)
            return fail_too_large(path, limit, err);
        if (!write_bytes(to, chunk, (size_t)got))
            return file_fail_read(path, errno, err);
    }
}

static const char *kind_of_file(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* Refuses a file that file_open() does not accept, and makes the descriptor blocking again. */
static plait_status check_readable(int fd, const char *path, plait_error *err)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return file_fail_read(path, errno, err);
    if (!S_ISREG(info.st_mode) && (S_ISDIR(info.st_mode) || own_descriptor(path) < 0))
        return plait_fail(err, PLAIT_ERROR_IO, path, "expected a file, found %s%s",
                          kind_of_file(info.st_mode),
                          S_ISFIFO(info.st_mode) ? "; use - to read it as standard input" : "");
    return fcntl(fd, F_SETFL, O_RDONLY) == 0 ? PLAIT_OK : file_fail_read(path, errno, err);
}

plait_status file_open(const char *path, int *fd, plait_error *err)
{
    int opened, own;

    if (path == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "path", "expected a file, found NULL");
    own = own_descriptor(path);
    if (own >= 0) {
        struct stat info;
        plait_status copied;
        int copy;

        // Copy a pipe, a socket or a device into an unnamed file, which replaces the descriptor: a
        // command may read its input twice, but a pipe returns its bytes only once. The size limit
        // also ends the copy of an endless device.
        if (fstat(own, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
            copy = memfd_create("plait", MFD_CLOEXEC);
            if (copy < 0)
                return file_fail_read(path, errno, err);
            copied = copy_to_end(own, copy, path, err);
            if (copied == PLAIT_OK && dup2(copy, own) < 0)
                copied = file_fail_read(path, errno, err);
            close(copy);
            PLAIT_TRY(copied);
        }
    }
    opened = open(system_path(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened < 0)
        return fail_system(path, "open", errno, err);
    const plait_status status = check_readable(opened, path, err);
    if (status != PLAIT_OK)
        close(opened);
    *fd = opened;
    return status;
}

/*
 * Reads a file to its end. If it is longer than `limit` bytes, reads only that part and clears
 * *whole, or fails if `whole` is NULL.
 */
static plait_status read_to_end(int fd, const char *path, size_t limit, text_builder *out,
                                bool *whole, plait_error *err)
{
    enum { CHUNK = 64 * 1024 };
    struct stat info;

    if (whole == NULL && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        (uintmax_t)info.st_size > limit)
        return fail_too_large(path, limit, err);
    for (;;) {
        ssize_t got;

        PLAIT_TRY(plait_check_allocated(text_builder_reserve(out, CHUNK), err));
        got = read(fd, out->text + out->length, CHUNK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_fail_read(path, errno, err);
        if (got == 0)
            return PLAIT_OK;
        out->length += (size_t)got;
        if (out->length <= limit)
            continue;
        if (whole == NULL)
            return fail_too_large(path, limit, err);
        *whole = false;
        out->length = limit;
        return PLAIT_OK;
    }
}

plait_status file_read_all(const char *path, size_t limit, plait_arena *arena, const char **text,
                           size_t *length, plait_error *err)
{
    return file_read_start(path, limit, arena, text, length, NULL, err);
}

plait_status file_read_start(const char *path, size_t limit, plait_arena *arena, const char **text,
                             size_t *length, bool *whole, plait_error *err)
{
    text_builder out;
    plait_status status;
    int fd;

    PLAIT_TRY(file_open(path, &fd, err));
    text_builder_init(&out, arena);
    if (whole != NULL)
        *whole = true;
    status = read_to_end(fd, path, limit, &out, whole, err);
    close(fd);
    PLAIT_TRY(status);

    *text = text_builder_finish(&out, length);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* ---- names ---- */

const char *file_base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

char *file_beside(const char *file, const char *name, plait_arena *arena)
{
    const int folder = (int)(file_base_name(file) - file);
    const char *const base = file_base_name(name);
    const bool input = folder == 0 && text_equal(base, "-"); // "-" would be standard input

    return plait_arena_printf(arena, "%.*s%s%s", folder, file, input ? "./" : "", base);
}

/* ---- writing ---- */

static bool write_bytes(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t put = write(fd, bytes, length);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

/* Writes and closes `fd`, which is closed even on failure; errno is that of the first failure. */
static bool write_and_close(int fd, const char *text, size_t length, bool durable)
{
    bool ok = write_bytes(fd, text, length) && (!durable || fsync(fd) == 0);
    const int failure = errno;

    if (close(fd) != 0 && ok)
        return false;
    errno = failure;
    return ok;
}

/* Creates a file beside `path` and stores its name in `name`. */
static int open_temporary(const char *path, mode_t mode, char *name, size_t size)
{
    int fd = -1;

    for (int attempt = 0; attempt < 100 && fd < 0; attempt++) {
        snprintf(name, size, "%s.tmp-%ld-%d", path, (long)getpid(), attempt);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/*
 * Replaces a file atomically. `path` must not be a symbolic link, because the rename would replace
 * the link.
 */
static bool replace_file(const char *path, mode_t mode, const char *text, size_t length)
{
    const size_t size = strlen(path) + 48;
    char *name = malloc(size);
    bool ok = false;
    int fd, failure;

    if (name == NULL)
        return false;
    fd = open_temporary(path, mode, name, size);
    if (fd >= 0) {
        ok = write_and_close(fd, text, length, true) && rename(name, path) == 0;
        failure = errno;
        if (!ok)
            unlink(name);
        errno = failure;
    }
    failure = errno;
    free(name);
    errno = failure;
    return ok;
}

/* Returns whether a new file can be created in the folder of `path`. */
static bool folder_writable(const char *path)
{
    const char *const slash = strrchr(path, '/');
    char *folder = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    const bool writable = folder != NULL && access(folder, W_OK | X_OK) == 0;
    const int failure = errno;

    free(folder);
    errno = failure;
    return writable;
}

/*
 * Returns whether a path for which stat() failed is free for a new file; a dangling symbolic link
 * is not.
 */
static bool is_free(const char *path, int error)
{
    struct stat info;
    const bool nothing = error == ENOENT && *path != '\0' && lstat(path, &info) != 0;

    errno = error;
    return nothing;
}

plait_status file_check_writable(const char *path, plait_error *err)
{
    struct stat info;
    bool ok;

    if (stat(path, &info) != 0)
        ok = is_free(path, errno) && folder_writable(path);
    else if (S_ISDIR(info.st_mode))
        return file_fail_write(path, EISDIR, err);
    else
        ok = access(path, W_OK) == 0 || (S_ISREG(info.st_mode) && folder_writable(path));
    return ok ? PLAIT_OK : file_fail_write(path, errno, err);
}

plait_status file_write_atomically(const char *path, const char *text, size_t length,
                                   plait_error *err)
{
    struct stat info;
    bool ok;

    if (stat(path, &info) != 0) {
        ok = is_free(path, errno) && replace_file(path, 0666, text, length);
    } else if (S_ISREG(info.st_mode)) {
        char *const target = realpath(path, NULL);

        ok = target != NULL && replace_file(target, info.st_mode & 0777, text, length);
        free(target);
    } else {
        const int fd = open(path, O_WRONLY | O_CLOEXEC);

        ok = fd >= 0 && write_and_close(fd, text, length, false);
    }
    return ok ? PLAIT_OK : file_fail_write(path, errno, err);
}
