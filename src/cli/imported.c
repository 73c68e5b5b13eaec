/* imported.c - reads the launch configs and training logs that users give to commands */
#include <string.h>

#include "base/text.h"
#include "cli/imported.h"
#include "cli/problem.h"
#include "cli/terminal.h"
#include "io/file.h"
#include "launch/import.h"
#include "plait/data.h"

enum { IMPORT_MAX_BYTES = 64 << 20 };

void imported_warn(const char *file, const char *sentences)
{
    while (*sentences != '\0') {
        const size_t length = strcspn(sentences, "\n");

        print_warning("%s: %.*s", file, (int)length, sentences);
        sentences += length + (sentences[length] == '\n');
    }
}

void imported_warn_not_read(const char *file, const char *names, bool verbose)
{
    int count = 1;

    if (names == NULL || names[0] == '\0')
        return;
    for (const char *comma = names; (comma = strstr(comma, ", ")) != NULL; comma += 2)
        count++;
    print_warning("%s: %d option%s not read%s%s", file, count, count == 1 ? "" : "s",
                  verbose ? ": " : "; --verbose lists them", verbose ? names : "");
}

/*
 * Read the text of a config file, or the config inside the log of a run.
 *
 * @param target  format of the file; PLAIT_LAUNCH_TARGETS: detect it
 */
static plait_status read_text(const char *path, plait_launch_target *target, plait_arena *arena,
                              const char **text, size_t *length, bool *logged, plait_error *err)
{
    const char *config;
    bool whole;

    PLAIT_TRY(file_read_start(path, IMPORT_MAX_BYTES, arena, text, length, &whole, err));
    PLAIT_TRY(launch_read_log(*text, *length, path, target, arena, &config, err));
    *logged = config != NULL;
    if (config != NULL) {
        *text = config;
        *length = strlen(config);
        return PLAIT_OK;
    }
    if (*target == PLAIT_LAUNCH_TARGETS)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--from",
                          "expected the format of the file, such as %s, or the log of a run of "
                          "Megatron-LM, torchtitan or DeepSpeed with its config, found neither",
                          launch_import_names()[0]);
    return whole ? PLAIT_OK : file_read_all(path, IMPORT_MAX_BYTES, arena, text, length, err);
}

plait_status imported_read(const imported_flags *flags, const opt_operands *operands,
                           plait_arena *arena, plans_entry *out, launch_config *file,
                           plait_error *err)
{
    plait_model *const model = plait_arena_alloc(arena, 1, sizeof *model);
    plait_cluster *const cluster = plait_arena_alloc(arena, 1, sizeof *cluster);
    bool taken = false, logged;
    launch_call call = {.arguments = operands->count > 0 ? operands->count - 1 : 0,
                        .argument = operands->text + 1,
                        .gpus = flags->gpus,
                        .taken = &taken};
    const char *text, *warning;
    plait_launch_target target = PLAIT_LAUNCH_TARGETS;
    size_t length;
    int format;

    PLAIT_TRY(plait_check_allocated(model && cluster, err));
    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "FILE",
                          "expected a launch config, found nothing");
    if (flags->from != NULL) {
        const char *const *const formats = launch_import_names();

        PLAIT_TRY(problem_word("--from", flags->from, formats, &format, err));
        target = (plait_launch_target)text_index(formats[format], plait_launch_target_name);
    }
    PLAIT_TRY(read_text(operands->text[0], &target, arena, &text, &length, &logged, err));
    if (flags->model != NULL) {
        PLAIT_TRY(problem_find_model(flags->model, flags->assume_llama, false, arena, model, err));
        call.model = model;
    }
    PLAIT_TRY(
        launch_import(target, text, length, operands->text[0], &call, arena, out, &warning, err));
    if (call.arguments > 0 && (!taken || logged))
        return plait_fail(err, PLAIT_ERROR_RANGE, operands->text[0],
                          "expected no arguments after a file that is not a script, found '%.80s'",
                          operands->text[1]);
    out->warnings = warning;
    imported_warn(operands->text[0], warning);
    imported_warn_not_read(operands->text[0], out->not_read, flags->verbose);
    if (file != NULL) {
        *file = (launch_config){target, operands->text[0], text, logged, call};
        file->call.gpus = out->gpus;
        file->call.taken = NULL;
    }
    if (flags->model != NULL)
        out->model = model;
    if (flags->cluster != NULL) {
        PLAIT_TRY(plait_cluster_find(flags->cluster, arena, cluster, err));
        out->cluster = cluster;
    }
    return PLAIT_OK;
}

/* Bounds of a step time: a step outside them has another unit, or its line is damaged. */
static const double shortest_s = 1e-3, longest_s = 30 * 86400.0;

plait_status measured_log_read(const char *path, const plait_problem *problem, plait_arena *arena,
                               step_log *out, double *step_s, plait_error *err)
{
    PLAIT_TRY(step_log_load(path, arena, out, err));
    if (!step_log_matches_runtime(out, problem->runtime))
        print_warning(
            "%s: a log of %s, but the plan is for %s; check that it is the log of this plan", path,
            out->software, problem->runtime->name);
    *step_s = step_log_seconds(out, &problem->job);
    if (!(*step_s >= shortest_s && *step_s <= longest_s))
        return plait_fail(err, PLAIT_ERROR_RANGE, path,
                          "expected steps of 1 ms to 30 days, found %.3g s a step", *step_s);
    return PLAIT_OK;
}
