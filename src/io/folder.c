/* folder.c - writes a folder of files: all of them, or none */
#define _GNU_SOURCE // renameat2, if the system has it
#include "io/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "io/file.h"

enum { PATH_SIZE = 4096, ENTRY_SIZE = 64 };

/* Finds the name of the first entry of a folder; "" if the folder is empty or missing. */
static plait_status first_entry(const char *path, char name[ENTRY_SIZE], plait_error *err)
{
    DIR *const folder = opendir(path);
    struct dirent *at = NULL;

    name[0] = '\0';
    if (folder == NULL)
        return errno == ENOENT ? PLAIT_OK : file_fail_read(path, errno, err);
    do {
        errno = 0;
        at = readdir(folder);
    } while (at != NULL && (strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0));
    const int error = errno;
    if (at != NULL)
        snprintf(name, ENTRY_SIZE, "%.60s", at->d_name);
    closedir(folder);
    return at != NULL || error == 0 ? PLAIT_OK : file_fail_read(path, error, err);
}

plait_status folder_check(const char *path, bool force, plait_error *err)
{
    char name[ENTRY_SIZE];
    struct stat info;

    if (*path == '\0')
        return plait_fail(err, PLAIT_ERROR_IO, "-o",
                          "expected the name of a folder, found nothing");
    // scripts find their folder with $(...), which removes line ends
    for (const char *c = path; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            return plait_fail(
                err, PLAIT_ERROR_IO, "-o",
                "expected the name of a folder without control characters, found one");
    if (text_equal(path, "-"))
        return plait_fail(err, PLAIT_ERROR_IO, path,
                          "expected a folder for several files, found standard output; use ./- for "
                          "a folder named -");
    if (stat(path, &info) != 0)
        return errno == ENOENT && lstat(path, &info) != 0 ? file_check_writable(path, err)
                                                          : file_fail_write(path, errno, err);
    if (!S_ISDIR(info.st_mode))
        return file_fail_write(path, ENOTDIR, err);
    if (access(path, W_OK | X_OK) != 0)
        return file_fail_write(path, errno, err);
    if (force)
        return PLAIT_OK;
    PLAIT_TRY(first_entry(path, name, err));
    if (name[0] != '\0')
        return plait_fail(
            err, PLAIT_ERROR_IO, path,
            "expected a new or empty folder, found %s in it; use --force to write there anyway",
            name);
    return PLAIT_OK;
}

static plait_status join_path(char *out, size_t size, const char *folder, const char *name,
                              plait_error *err)
{
    if ((size_t)snprintf(out, size, "%s/%s", folder, name) >= size)
        return file_fail_write(folder, ENAMETOOLONG, err);
    return PLAIT_OK;
}

/* Returns the mode of an executable file under the user's umask. */
static mode_t program_mode(void)
{
    const mode_t mask = umask(0);

    umask(mask);
    return 0755 & ~mask;
}

static plait_status write_files(const char *path, const plait_launch_folder *folder,
                                plait_error *err)
{
    char name[PATH_SIZE];

    for (int f = 0; f < folder->files; f++) {
        const plait_launch_file *const file = &folder->file[f];

        PLAIT_TRY(join_path(name, sizeof name, path, file->name, err));
        PLAIT_TRY(file_write_atomically(name, file->text, strlen(file->text), err));
        if (file->executable && chmod(name, program_mode()) != 0)
            return file_fail_write(name, errno, err);
    }
    return PLAIT_OK;
}

/*
 * ---- replacing a folder ----
 *
 * Entries of the old folder that the new folder does not have are hard-linked into the new folder.
 * The two folders are then exchanged, so that the path always contains either all old files or all
 * new ones. Entries that another program adds to the old folder meanwhile stay there. If the file
 * system cannot exchange folders (NFS), the path is missing for a moment between two renames.
 */

/* Handles one entry of the folder `from`; returns false and sets errno if it fails. */
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

/* Closes two folders; either may be -1. */
static void close_folders(int a, int b)
{
    if (a >= 0)
        close(a);
    if (b >= 0)
        close(b);
}

/*
 * Calls `action` on each entry except the files of `but`; stores the name of an entry that fails in
 * `failed`.
 */
static bool each_entry(int from, int to, entry_action *action, const plait_launch_folder *but,
                       char failed[ENTRY_SIZE])
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
            snprintf(failed, ENTRY_SIZE, "%.60s", at->d_name);
    }
    if (folder != NULL)
        closedir(folder);
    errno = error;
    return done;
}

/* Calls `action` on each entry of the subfolder `name`, which both folders contain. */
static bool each_inside(int from, int to, const char *name, entry_action *action)
{
    const int old = open_folder(from, name), new = open_folder(to, name);
    const bool done = old >= 0 && new >= 0 && each_entry(old, new, action, NULL, NULL);
    const int error = errno;

    close_folders(old, new);
    errno = error;
    return done;
}

/* Hard-links an entry into the new folder; a subfolder is created and its entries are linked. */
static bool link_entry(int from, int to, const char *name)
{
    struct stat info;

    if (fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT;
    if (!S_ISDIR(info.st_mode))
        return linkat(from, name, to, name, 0) == 0;
    return mkdirat(to, name, 0700) == 0 && each_inside(from, to, name, link_entry) &&
           fchmodat(to, name, info.st_mode & 07777, 0) == 0;
}

/*
 * Removes an entry that the other folder contains too; a subfolder that does not become empty
 * stays.
 */
static bool unlink_entry(int from, int to, const char *name)
{
    struct stat old, new;

    if (fstatat(from, name, &old, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstatat(to, name, &new, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (S_ISDIR(old.st_mode) && S_ISDIR(new.st_mode)) {
        each_inside(from, to, name, unlink_entry);
        unlinkat(from, name, AT_REMOVEDIR);
    } else if (old.st_dev == new.st_dev && old.st_ino == new.st_ino) {
        unlinkat(from, name, 0);
    }
    return true;
}

static bool exchange_paths(const char *made, const char *path)
{
    char aside[PATH_SIZE];

#ifdef RENAME_EXCHANGE
    if (renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return false;
#endif
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

/* Removes the old folder, whose path is `made` after the exchange. */
static plait_status remove_old(const char *made, const char *path, const plait_launch_folder *ours,
                               plait_error *err)
{
    const int old = open_folder(AT_FDCWD, made), new = open_folder(AT_FDCWD, path);

    for (int f = 0; old >= 0 && f < ours->files; f++)
        unlinkat(old, ours->file[f].name, 0);
    const bool seen = old >= 0 && new >= 0 && each_entry(old, new, unlink_entry, NULL, NULL);
    const int error = errno;

    close_folders(old, new);
    if (rmdir(made) == 0)
        return PLAIT_OK;
    return plait_fail(
        err, !seen && error == ENOMEM ? PLAIT_ERROR_NOMEM : PLAIT_ERROR_IO, path,
        "the new files are written, but the old files, now in %.100s, cannot be removed: %s", made,
        strerror(seen ? errno : error));
}

static plait_status link_all(const char *made, const char *path, const plait_launch_folder *ours,
                             plait_error *err)
{
    const int old = open_folder(AT_FDCWD, path), new = open_folder(AT_FDCWD, made);
    char name[ENTRY_SIZE] = "";
    struct stat info;
    const bool linked = old >= 0 && new >= 0 && fstat(old, &info) == 0 &&
                        each_entry(old, new, link_entry, ours, name) &&
                        fchmod(new, info.st_mode & 07777) == 0;
    const int error = errno;

    close_folders(old, new);
    if (!linked && file_is_fault(error))
        return file_fail_write(path, error, err);
    return linked ? PLAIT_OK
                  : plait_fail(err, PLAIT_ERROR_IO, path,
                               "cannot keep %s while replacing the folder (%s): move it elsewhere, "
                               "or use another folder",
                               name[0] != '\0' ? name : "its files", strerror(error));
}

/* Moves the new folder to `path`; an empty or missing folder is replaced by one rename. */
static plait_status put_in_place(const char *made, const char *path,
                                 const plait_launch_folder *folder, plait_error *err)
{
    char name[ENTRY_SIZE];

    PLAIT_TRY(first_entry(path, name, err));
    if (name[0] != '\0') {
        char file[PATH_SIZE];
        struct stat info;

        // Refuse to replace a subfolder that has the name of a new file.
        for (int f = 0; f < folder->files; f++) {
            PLAIT_TRY(join_path(file, sizeof file, path, folder->file[f].name, err));
            if (lstat(file, &info) == 0 && S_ISDIR(info.st_mode))
                return file_fail_write(file, EISDIR, err);
        }

        plait_status status = link_all(made, path, folder, err);
        if (status == PLAIT_OK && !exchange_paths(made, path))
            status = file_fail_write(path, errno, err);
        if (status == PLAIT_OK)
            return remove_old(made, path, folder, err);

        // Remove the links again from the new folder, which is not used.
        const int new = open_folder(AT_FDCWD, made), old = open_folder(AT_FDCWD, path);
        if (new >= 0 && old >= 0)
            each_entry(new, old, unlink_entry, folder, NULL);
        close_folders(old, new);
        return status;
    }
    return rename(made, path) == 0 ? PLAIT_OK : file_fail_write(path, errno, err);
}

/* Writes a new folder beside `path` and moves it there. */
static plait_status write_beside(const char *path, const plait_launch_folder *folder,
                                 plait_error *err)
{
    char made[PATH_SIZE];
    plait_status status;

    if ((size_t)snprintf(made, sizeof made, "%s.tmp-%ld", path, (long)getpid()) >= sizeof made)
        return file_fail_write(path, ENAMETOOLONG, err);
    if (mkdir(made, 0777) != 0)
        return file_fail_write(made, errno, err);
    status = write_files(made, folder, err);
    if (status == PLAIT_OK)
        status = put_in_place(made, path, folder, err);
    if (status != PLAIT_OK) {
        char name[PATH_SIZE];

        // Remove the incomplete folder; some of its files may be missing.
        for (int f = 0; f < folder->files; f++)
            if (join_path(name, sizeof name, made, folder->file[f].name, NULL) == PLAIT_OK)
                unlink(name);
        rmdir(made);
    }
    return status;
}

plait_status folder_write(const char *path, const plait_launch_folder *folder, bool force,
                          plait_error *err)
{
    char *real;
    plait_status status;

    PLAIT_TRY(folder_check(path, force, err));
    real = realpath(path, NULL); // replaces the target if the path is a symbolic link
    if (real == NULL && errno == ENOENT)
        real = strdup(path);
    if (real == NULL)
        return file_fail_write(path, errno, err);
    for (size_t length = strlen(real); length > 1 && real[length - 1] == '/'; length--)
        real[length - 1] = '\0';
    status = write_beside(real, folder, err);
    free(real);
    return status;
}
