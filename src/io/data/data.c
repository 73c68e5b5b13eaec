/* data.c - finds data files by name, and lists the names */
#define _GNU_SOURCE // dladdr

#include "plait/data.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "io/data/data.h"
#include "io/file.h"

/*
 * Folders of the data, relative to the folder of the running program, to that of the library, and
 * at the configured prefix.
 */
#ifndef PLAIT_DATA_FROM_PROGRAM
#define PLAIT_DATA_FROM_PROGRAM "../share/plait"
#endif
#ifndef PLAIT_DATA_FROM_LIBRARY
#define PLAIT_DATA_FROM_LIBRARY "../share/plait"
#endif
#ifndef PLAIT_INSTALL_DATA_DIR
#define PLAIT_INSTALL_DATA_DIR ""
#endif

static const struct data_kind {
    const char *folder;
    const char *what;  /* noun for messages, as in "expected ..." */
    const char *lists; /* command that lists the names; NULL: the message lists them */
} kinds[PLAIT_DATA_KINDS] = {
    [PLAIT_DATA_MODELS] = {"models", "the name of a model or a path", "plait models"},
    [PLAIT_DATA_CLUSTERS] = {"clusters", "the name of a cluster, a path or ACCELERATOR:NODESxGPUS",
                             "plait clusters"},
    [PLAIT_DATA_ACCELERATORS] = {"clusters/accelerators", "the name of an accelerator",
                                 "plait clusters"},
    [PLAIT_DATA_RUNTIMES] = {"clusters/runtimes", "the name of a runtime", NULL},
    [PLAIT_DATA_FAMILIES] = {"clusters/families", "the name of a family", NULL},
    [PLAIT_DATA_CASES] = {"models/cases", "the name of a case or a path", "plait case"},
    [PLAIT_DATA_ENGINES] = {"clusters/engines", "the name of an engine's profile", NULL},
};

enum { ROOTS = 5 };

static bool cut_to_folder(char path[PATH_MAX])
{
    char *const end = strrchr(path, '/');

    if (end != NULL)
        *end = '\0';
    return end != NULL;
}

/* Finds the folder of the running program; false if the system has no /proc. */
static bool program_folder(char path[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

    if (length <= 0)
        return false;
    path[length] = '\0';
    return cut_to_folder(path);
}

/* Finds the folder of the library, or of the program into which it is statically linked. */
static bool library_folder(char path[PATH_MAX])
{
    Dl_info here;

    return dladdr(kinds, &here) != 0 && here.dli_fname != NULL &&
           realpath(here.dli_fname, path) != NULL && cut_to_folder(path);
}

/* Resolves `relative` against `folder`; the result may not exist. */
static plait_status resolve_root(const char *folder, const char *relative, plait_arena *arena,
                                 const char **root, plait_error *err)
{
    const char *const path = plait_arena_printf(arena, "%s/%s", folder, relative);
    char real[PATH_MAX];

    PLAIT_TRY(plait_check_allocated(path, err));
    *root = realpath(path, real) != NULL ? plait_arena_text(arena, real) : path;
    return *root != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/*
 * Lists the folders that may contain data, in the order of search; empty ones are skipped. An
 * installation may be moved, so its programs search relative to themselves, and other programs
 * relative to the library. This also works in a build folder, which has links to the source tree
 * beside its programs, so that no program contains a path of that tree.
 */
static plait_status data_roots(plait_arena *arena, const char *roots[ROOTS], plait_error *err)
{
    const char *given = getenv("PLAIT_DATA");
    char program[PATH_MAX] = "", library[PATH_MAX];

    roots[0] = given != NULL ? given : "";
    roots[1] = roots[2] = roots[3] = "";
    roots[4] = PLAIT_INSTALL_DATA_DIR;
    if (program_folder(program)) {
        PLAIT_TRY(resolve_root(program, PLAIT_DATA_FROM_PROGRAM, arena, &roots[1], err));
        PLAIT_TRY(resolve_root(program, "share/plait", arena, &roots[2], err));
    }
    return library_folder(library) && !text_equal(library, program)
               ? resolve_root(library, PLAIT_DATA_FROM_LIBRARY, arena, &roots[3], err)
               : PLAIT_OK;
}

static plait_status check_file(const char *path, bool *found, plait_error *err)
{
    struct stat info;

    errno = 0;
    *found = stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
    return *found || !file_is_fault(errno) ? PLAIT_OK : file_fail_read(path, errno, err);
}

bool data_is_path(const char *name)
{
    return strchr(name, '/') != NULL || text_ends_with(name, ".json") || text_equal(name, "-");
}

static plait_status check_kind(plait_data_kind kind, plait_error *err)
{
    return (unsigned)kind < PLAIT_DATA_KINDS
               ? PLAIT_OK
               : plait_fail(err, PLAIT_ERROR_RANGE, "kind",
                            "expected one of plait_data_kind, found number %d", (int)kind);
}

/* ---- lists of names ---- */

typedef struct name_list {
    const char **name;
    int count;
    int capacity;
} name_list;

static bool list_add(name_list *list, plait_arena *arena, const char *name)
{
    list->name = grow_by_one(arena, list->name, list->count, &list->capacity, sizeof *list->name);
    if (list->name == NULL)
        return false;
    list->name[list->count++] = name;
    return true;
}

/*
 * Returns whether plait_data_find() would find the entry: it must not be a folder or a dangling
 * link. An entry that cannot be examined because of a fault counts as found.
 */
static bool is_file(DIR *folder, const char *file)
{
    struct stat info;

    return fstatat(dirfd(folder), file, &info, 0) == 0 ? !S_ISDIR(info.st_mode)
                                                       : file_is_fault(errno);
}

/*
 * Adds the name "dgx-h100" for "dgx-h100.json". Skips hidden files, other file types, and names
 * that would be read as a path or as ACCELERATOR:NODESxGPUS.
 */
static bool add_file(name_list *list, plait_arena *arena, const char *file)
{
    char *name;

    if (file[0] == '.' || !text_ends_with(file, ".json"))
        return true;
    name = plait_arena_text(arena, file);
    if (name == NULL)
        return false;
    name[strlen(name) - strlen(".json")] = '\0';
    if (data_is_path(name) || strchr(name, ':') != NULL)
        return true;
    return list_add(list, arena, name);
}

/* Adds the names of a folder; a missing or unreadable folder has none. */
static plait_status add_folder(name_list *list, plait_arena *arena, const char *folder,
                               plait_error *err)
{
    DIR *open_folder = opendir(folder);
    bool added = true;

    if (open_folder == NULL)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? PLAIT_OK
                   : file_fail_read(folder, errno, err);
    errno = 0;
    for (struct dirent *entry; added && (entry = readdir(open_folder)) != NULL; errno = 0)
        if (is_file(open_folder, entry->d_name))
            added = add_file(list, arena, entry->d_name);
    const int error = errno;
    closedir(open_folder);
    PLAIT_TRY(plait_check_allocated(added, err));
    return error == 0 ? PLAIT_OK : file_fail_read(folder, error, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

plait_status plait_data_list(plait_data_kind kind, plait_arena *arena, const char *const **names,
                             size_t *count, plait_error *err)
{
    const char *roots[ROOTS];
    name_list list = {0};

    PLAIT_TRY(check_kind(kind, err));
    PLAIT_TRY(data_roots(arena, roots, err));
    for (int i = 0; i < ROOTS; i++) {
        const char *folder;

        if (roots[i][0] == '\0')
            continue;
        folder = plait_arena_printf(arena, "%s/%s", roots[i], kinds[kind].folder);
        PLAIT_TRY(folder != NULL ? add_folder(&list, arena, folder, err) : plait_fail_nomem(err));
    }

    int kept = 0;
    if (list.count > 0)
        qsort(list.name, (size_t)list.count, sizeof *list.name, by_name);
    for (int i = 0; i < list.count; i++)
        if (kept == 0 || strcmp(list.name[i], list.name[kept - 1]) != 0)
            list.name[kept++] = list.name[i];
    list.count = kept;
    *count = (size_t)list.count;
    PLAIT_TRY(plait_check_allocated(list_add(&list, arena, NULL), err));
    *names = list.name;
    return PLAIT_OK;
}

/* ---- finding a file ---- */

plait_status data_fail_empty(plait_data_kind kind, const char *name, plait_arena *arena,
                             plait_error *err)
{
    const char *roots[ROOTS];
    text_builder tried;

    PLAIT_TRY(data_roots(arena, roots, err));
    text_builder_init(&tried, arena);
    for (int i = 0; i < ROOTS; i++)
        if (roots[i][0] != '\0')
            text_append_printf(&tried, "%s%s", tried.length > 0 ? ", " : "", roots[i]);
    return plait_fail(
        err, PLAIT_ERROR_RANGE, name,
        "expected the data files: set PLAIT_DATA to the folder that contains %s, found none in %s",
        kinds[kind].folder, text_builder_finish(&tried, NULL));
}

static plait_status fail_unknown(plait_data_kind kind, const char *name, plait_arena *arena,
                                 plait_error *err)
{
    const char *const *names, *nearest;
    text_builder all;
    size_t count;

    PLAIT_TRY(plait_data_list(kind, arena, &names, &count, err));
    if (count == 0)
        return data_fail_empty(kind, name, arena, err);
    nearest = text_nearest(name, names);
    if (kinds[kind].lists != NULL)
        return nearest != NULL
                   ? plait_fail(err, PLAIT_ERROR_RANGE, name,
                                "expected %s; did you mean %s? (%s lists all)", kinds[kind].what,
                                nearest, kinds[kind].lists)
                   : plait_fail(err, PLAIT_ERROR_RANGE, name, "expected %s (%s lists all)",
                                kinds[kind].what, kinds[kind].lists);

    if (nearest != NULL) // a message has no room for both this and the list
        return plait_fail(err, PLAIT_ERROR_RANGE, name, "expected %s; did you mean %s?",
                          kinds[kind].what, nearest);
    text_builder_init(&all, arena);
    for (size_t i = 0; i < count; i++)
        text_append_printf(&all, "%s%s", i == 0 ? "" : ", ", names[i]);
    return plait_fail(err, PLAIT_ERROR_RANGE, name, "expected %s: %s", kinds[kind].what,
                      text_builder_finish(&all, NULL));
}

plait_status plait_data_file(const char *file, plait_arena *arena, const char **path,
                             plait_error *err)
{
    const char *roots[ROOTS];
    bool found = false;

    if (file == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL, "expected a file, found NULL");
    PLAIT_TRY(data_roots(arena, roots, err));
    for (int i = 0; i < ROOTS && !found; i++) {
        if (roots[i][0] == '\0')
            continue;
        *path = plait_arena_printf(arena, "%s/%s", roots[i], file);
        PLAIT_TRY(*path != NULL ? check_file(*path, &found, err) : plait_fail_nomem(err));
    }
    if (!found)
        *path = NULL;
    return PLAIT_OK;
}

plait_status data_look_up(plait_data_kind kind, const char *name, plait_arena *arena,
                          const char **path, plait_error *err)
{
    const char *file = plait_arena_printf(arena, "%s/%s.json", kinds[kind].folder, name);

    return file != NULL ? plait_data_file(file, arena, path, err) : plait_fail_nomem(err);
}

plait_status plait_data_find(plait_data_kind kind, const char *name, plait_arena *arena,
                             const char **path, plait_error *err)
{
    struct stat info;

    PLAIT_TRY(check_kind(kind, err));
    if (name == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, NULL, "expected %s, found NULL",
                          kinds[kind].what);
    const bool hub = kind == PLAIT_DATA_MODELS && data_is_hub_id(name);
    if (data_is_path(name) && !hub) {
        const bool checkpoint =
            kind == PLAIT_DATA_MODELS && stat(name, &info) == 0 && S_ISDIR(info.st_mode);

        *path = plait_arena_printf(arena, "%s%s", name, checkpoint ? "/config.json" : "");
        return *path != NULL ? PLAIT_OK : plait_fail_nomem(err);
    }
    *path = NULL;
    if (!hub)
        PLAIT_TRY(data_look_up(kind, name, arena, path, err));
    if (*path == NULL)
        PLAIT_TRY(data_look_up_alias(kind, name, arena, path, err));
    if (*path == NULL)
        return hub ? data_fail_hub_id(name, arena, err) : fail_unknown(kind, name, arena, err);
    return PLAIT_OK;
}

const char *data_named_in(const char *file, const char *name, plait_arena *arena)
{
    const char *const beside = data_is_path(name) ? file_beside(file, name, arena) : name;

    return beside != NULL && data_is_hub_id(name) && access(beside, F_OK) != 0 ? name : beside;
}
