/* folder.c - a folder of files, all of them or none */
#include "io/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/folder_swap.h"
#include "base/text.h"

/* The first entry of a folder; "": it is empty, or there is none. */
static plait_status first_entry(const char *path, char name[64], plait_error *err)
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
        snprintf(name, 64, "%.60s", at->d_name);
    closedir(folder);
    return at != NULL || error == 0 ? PLAIT_OK : file_fail_read(path, error, err);
}

plait_status folder_check(const char *path, bool force, plait_error *err)
{
    char name[64];
    struct stat info;

    if (*path == '\0')
        return plait_fail(err, PLAIT_ERROR_IO, "-o",
                          "expected the name of a folder, found nothing");
    if (text_equal(path, "-"))
        return plait_fail(err, PLAIT_ERROR_IO, path,
                          "expected a folder, since several files are written, found standard "
                          "output; ./- is a folder of that name");
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
        return plait_fail(err, PLAIT_ERROR_IO, path,
                          "expected a new or empty folder, found %s in it; --force writes there "
                          "all the same",
                          name);
    return PLAIT_OK;
}

/* The name of a file in a folder. */
static plait_status join(char *out, size_t size, const char *folder, const char *name,
                         plait_error *err)
{
    if ((size_t)snprintf(out, size, "%s/%s", folder, name) >= size)
        return file_fail_write(folder, ENAMETOOLONG, err);
    return PLAIT_OK;
}

/* A program for everybody, less what the user's files are not to be. */
static mode_t program_mode(void)
{
    const mode_t mask = umask(0);

    umask(mask);
    return 0755 & ~mask;
}

static plait_status write_files(const char *path, const plait_launch_folder *folder,
                                plait_error *err)
{
    char name[4096];

    for (int f = 0; f < folder->files; f++) {
        const plait_launch_file *const file = &folder->file[f];

        PLAIT_TRY(join(name, sizeof name, path, file->name, err));
        PLAIT_TRY(file_write_atomically(name, file->text, strlen(file->text), err));
        if (file->executable && chmod(name, program_mode()) != 0)
            return file_fail_write(name, errno, err);
    }
    return PLAIT_OK;
}

/* What is left of a folder in the making; a name that is not there is passed over. */
static void discard(const char *path, const plait_launch_folder *folder)
{
    char name[4096];

    for (int f = 0; f < folder->files; f++)
        if (join(name, sizeof name, path, folder->file[f].name, NULL) == PLAIT_OK)
            unlink(name);
    rmdir(path);
}

/* A folder of the name of a file is nobody's to replace. */
static plait_status check_places(const char *path, const plait_launch_folder *folder,
                                 plait_error *err)
{
    char name[4096];
    struct stat info;

    for (int f = 0; f < folder->files; f++) {
        PLAIT_TRY(join(name, sizeof name, path, folder->file[f].name, err));
        if (lstat(name, &info) == 0 && S_ISDIR(info.st_mode))
            return file_fail_write(name, EISDIR, err);
    }
    return PLAIT_OK;
}

/* In the place of a folder that is empty or missing one rename does; others have what is kept. */
static plait_status put_in_place(const char *made, const char *path,
                                 const plait_launch_folder *folder, plait_error *err)
{
    char name[64];

    PLAIT_TRY(first_entry(path, name, err));
    if (name[0] != '\0') {
        PLAIT_TRY(check_places(path, folder, err));
        return folder_swap(made, path, folder, err);
    }
    return rename(made, path) == 0 ? PLAIT_OK : file_fail_write(path, errno, err);
}

/* Into a folder of its own beside `path`, then into its place. */
static plait_status write_into(const char *path, const plait_launch_folder *folder,
                               plait_error *err)
{
    char made[4096];
    plait_status status;

    if ((size_t)snprintf(made, sizeof made, "%s.tmp-%ld", path, (long)getpid()) >= sizeof made)
        return file_fail_write(path, ENAMETOOLONG, err);
    if (mkdir(made, 0777) != 0)
        return file_fail_write(made, errno, err);
    status = write_files(made, folder, err);
    if (status == PLAIT_OK)
        status = put_in_place(made, path, folder, err);
    if (status != PLAIT_OK)
        discard(made, folder);
    return status;
}

plait_status folder_write(const char *path, const plait_launch_folder *folder, bool force,
                          plait_error *err)
{
    char *real;
    plait_status status;

    PLAIT_TRY(folder_check(path, force, err));
    real = realpath(path, NULL); // a link to a folder stays one
    if (real == NULL && errno == ENOENT)
        real = strdup(path);
    if (real == NULL)
        return file_fail_write(path, errno, err);
    for (size_t length = strlen(real); length > 1 && real[length - 1] == '/'; length--)
        real[length - 1] = '\0';
    status = write_into(real, folder, err);
    free(real);
    return status;
}
