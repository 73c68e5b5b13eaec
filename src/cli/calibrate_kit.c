/* calibrate_kit.c - `plait calibrate --kit`: the benchmarks to run on a site */
#include "cli/calibrate_kit.h"

#include <stdio.h>

#include "io/file.h"
#include "io/folder.h"
#include "plait/data.h"
#include "cli/terminal.h"

/* The files lie in the data folder as they are written: one can read, try and check them there. */
static const struct kit_file {
    const char *name;
    const char *what;
    bool executable;
} files[] = {
    {"README.md", "three steps", false},
    {"kit.py",
     "products, attention, experts, memory passes; collectives and sends without nccl-tests", true},
    {"nccl.sh", "collectives and sends by nccl-tests", true},
    {"kit.sbatch", "all of it on two nodes under SLURM", true},
};

enum { KIT_FILES = sizeof files / sizeof *files, KIT_FILE_MAX_BYTES = 1 << 20 };

static plait_status load(const struct kit_file *file, plait_arena *arena, plait_launch_file *out,
                         plait_error *err)
{
    const char *const name = plait_arena_printf(arena, "clusters/kit/%s", file->name);
    const char *path;
    size_t length;

    if (name == NULL)
        return plait_fail_nomem(err);
    *out = (plait_launch_file){.name = file->name, .executable = file->executable};
    PLAIT_TRY(plait_data_file(name, arena, &path, err));
    if (path == NULL)
        return plait_fail(err, PLAIT_ERROR_IO, name,
                          "expected a file of the data folder, found none: set PLAIT_DATA");
    return file_read_all(path, KIT_FILE_MAX_BYTES, arena, &out->text, &length, err);
}

plait_status calibrate_kit(const char *path, const opt_operands *operands, bool force,
                           plait_arena *arena, plait_error *err)
{
    plait_launch_folder folder = {.files = KIT_FILES};

    if (path[0] == '\0')
        return plait_fail(err, PLAIT_ERROR_IO, "--kit",
                          "expected the name of a folder, found nothing");
    if (operands->count > 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->text[0],
                          "expected no measurements beside --kit, found a file");
    PLAIT_TRY(folder_check(path, force, err));
    for (int f = 0; f < KIT_FILES; f++)
        PLAIT_TRY(load(&files[f], arena, &folder.file[f], err));
    PLAIT_TRY(folder_write(path, &folder, force, err));
    print_message("%s: a kit of ten minutes on two nodes\n\n", path);
    for (int f = 0; f < KIT_FILES; f++)
        print_message("  %-12s%s\n", files[f].name, files[f].what);
    print_message("\nnext: sbatch kit.sbatch in that folder, then plait calibrate %s/*.csv -o "
                  "accelerator.json --site cluster.json\n",
                  path);
    return PLAIT_OK;
}
