/* folder_swap.c - a new folder in the place of an old one, with what others have in the old */
#define _GNU_SOURCE // renameat2, where the system has it
#include "io/folder_swap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"

/* What is done with an entry of the folder `from`; false with errno when it cannot be. */
typedef bool entry_action(int from, int to, const char *name);

static bool is_ours(const plait_launch_folder *ours, const char *name)
{
    for (int f = 0; ours != NULL && f < ours->files; f++)
        if (strcmp(ours->file[f].name, name) == 0)
            return true;
    return false;
}

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Each entry in turn; the name of one that fails is left in `failed`. */
static bool each_entry(int from, int to, entry_action *action, const plait_launch_folder *but,
                       char failed[64])
{
    const int fd = open_folder(from, ".");
    DIR *const folder = fd < 0 ? NULL : fdopendir(fd);
    bool done = folder != NULL;
    int error = errno;

    if (folder == NULL && fd >= 0)
        close(fd);
    for (struct dirent *at; done && (at = readdir(folder)) != NULL;) {
        if (strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0 ||
            is_ours(but, at->d_name))
            continue;
        done = action(from, to, at->d_name);
        error = errno;
        if (!done && failed != NULL)
            snprintf(failed, 64, "%.60s", at->d_name);
    }
    if (folder != NULL)
        closedir(folder);
    errno = error;
    return done;
}

/* The same inside a folder of both. */
static bool each_inside(int from, int to, const char *name, entry_action *action)
{
    const int old = open_folder(from, name), new = open_folder(to, name);
    const bool done = old >= 0 && new >= 0 && each_entry(old, new, action, NULL, NULL);
    const int error = errno;

    if (old >= 0)
        close(old);
    if (new >= 0)
        close(new);
    errno = error;
    return done;
}

/* ---- entries of others ---- */

static bool carry(int from, int to, const char *name)
{
    struct stat info;

    if (fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT;
    if (!S_ISDIR(info.st_mode))
        return linkat(from, name, to, name, 0) == 0;
    return mkdirat(to, name, 0700) == 0 && each_inside(from, to, name, carry) &&
           fchmodat(to, name, info.st_mode & 07777, 0) == 0;
}

/* Only what the other folder has too; a folder that keeps something stays. */
static bool drop(int from, int to, const char *name)
{
    struct stat old, new;

    if (fstatat(from, name, &old, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstatat(to, name, &new, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (S_ISDIR(old.st_mode) && S_ISDIR(new.st_mode)) {
        each_inside(from, to, name, drop);
        unlinkat(from, name, AT_REMOVEDIR);
    } else if (old.st_dev == new.st_dev && old.st_ino == new.st_ino) {
        unlinkat(from, name, 0);
    }
    return true;
}

/* ---- the names of the two ---- */

static bool two_renames(const char *made, const char *path)
{
    char aside[4096];

    if ((size_t)snprintf(aside, sizeof aside, "%s.old", made) >= sizeof aside) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (rename(path, aside) != 0)
        return false;
    if (rename(made, path) == 0)
        return rename(aside, made) == 0;
    const int error = errno;
    const bool back = rename(aside, path) == 0;
    errno = back ? error : errno;
    return false;
}

static bool exchange(const char *made, const char *path)
{
#ifdef RENAME_EXCHANGE
    if (renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return false;
#endif
    return two_renames(made, path);
}

/* The old folder, which has the name `made` now; the new one is in its place. */
static plait_status remove_old(const char *made, const char *path, const plait_launch_folder *ours,
                               plait_error *err)
{
    const int old = open_folder(AT_FDCWD, made), new = open_folder(AT_FDCWD, path);

    for (int f = 0; old >= 0 && f < ours->files; f++)
        unlinkat(old, ours->file[f].name, 0);
    const bool seen = old >= 0 && new >= 0 && each_entry(old, new, drop, NULL, NULL);
    const int error = errno;

    if (old >= 0)
        close(old);
    if (new >= 0)
        close(new);
    if (rmdir(made) == 0)
        return PLAIT_OK;
    return plait_fail(err, !seen && error == ENOMEM ? PLAIT_ERROR_NOMEM : PLAIT_ERROR_IO, path,
                      "written, but cannot remove what was there, which is %.100s now: %s", made,
                      strerror(seen ? errno : error));
}

/* What was carried into a folder that is not to be. */
static void take_back(const char *made, const char *path, const plait_launch_folder *ours)
{
    const int new = open_folder(AT_FDCWD, made), old = open_folder(AT_FDCWD, path);

    if (new >= 0 && old >= 0)
        each_entry(new, old, drop, ours, NULL);
    if (new >= 0)
        close(new);
    if (old >= 0)
        close(old);
}

static plait_status carry_all(const char *made, const char *path, const plait_launch_folder *ours,
                              plait_error *err)
{
    const int old = open_folder(AT_FDCWD, path), new = open_folder(AT_FDCWD, made);
    char name[64] = "";
    struct stat info;
    const bool carried = old >= 0 && new >= 0 && fstat(old, &info) == 0 &&
                         each_entry(old, new, carry, ours, name) &&
                         fchmod(new, info.st_mode & 07777) == 0;
    const int error = errno;

    if (old >= 0)
        close(old);
    if (new >= 0)
        close(new);
    if (!carried && file_is_fault(error))
        return file_fail_write(path, error, err);
    return carried ? PLAIT_OK
                   : plait_fail(err, PLAIT_ERROR_IO, path,
                                "cannot carry %s over into the new folder (%s): move it away, or "
                                "launch into another folder",
                                name[0] != '\0' ? name : "its files", strerror(error));
}

plait_status folder_swap(const char *made, const char *path, const plait_launch_folder *ours,
                         plait_error *err)
{
    plait_status status = carry_all(made, path, ours, err);

    if (status == PLAIT_OK && !exchange(made, path))
        status = file_fail_write(path, errno, err);
    if (status == PLAIT_OK)
        return remove_old(made, path, ours, err);
    take_back(made, path, ours);
    return status;
}
