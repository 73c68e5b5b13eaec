/* cmd_validate.c - plait validate: compares measured runs with predictions */
#include <stdio.h>

#include "calibrate/engine_fit.h"
#include "cli/command.h"
#include "cli/problem.h"
#include "io/file.h"
#include "page/pages.h"
#include "plait/validate.h"
#include "report/lines.h"
#include "report/report_serve.h"
#include "report/report_validate.h"

typedef struct validate_values {
    bool json, serving, post_training, unseen, optimism;
    const char *by, *leave_out;
    const char *plot;
    const char *output;
} validate_values;

static const opt options[] = {
    OPT_HEADING("options"),
    OPT_OF_FLAG(validate_values, json, "json", "one JSON document on standard output"),
    OPT_OF_FLAG(validate_values, serving, "serving", "RUNS.csv has serving runs"),
    OPT_OF_FLAG(validate_values, post_training, "post-training",
                "RUNS.csv has runs of fine-tuning and reinforcement learning"),
    OPT_OF_FLAG(
        validate_values, unseen, "unseen",
        "with --serving: predict each run with engine profiles fitted without the run's source"),
    OPT_OF_WORD(
        validate_values, leave_out, "leave-out", "KEY", OPT_WORDS(engine_fold_name),
        "with --unseen: leave out the run's source (default), its model or its accelerator"),
    OPT_OF_FLAG(validate_values, optimism, "optimism",
                "also search the plan of each job of tuned recipes, and compare its step with the "
                "best measured one (a minute or two)"),
    OPT_OF_WORD(validate_values, by, "by", "KEY", OPT_WORDS(plait_run_key_name),
                "group errors of the step time by source (default), sweep, accelerator or layers"),
    OPT_OF_OUTPUT(validate_values, plot, "plot", 0, "FILE",
                  "also plot measured against predicted step times, as an SVG file"),
    OPT_OF_OUTPUT(validate_values, output, "output", 'o', "FILE",
                  "also write a page to FILE.html, or its tables to FILE.md, .csv or .json"),
    OPT_END,
};

static plait_status validate_post_training(const validate_values *flags, const char *path,
                                           plait_arena *arena, plait_error *err)
{
    plait_post_validation post;
    json_writer json;

    PLAIT_TRY(plait_post_validate(path, arena, &post, err));
    if (!flags->json)
        return report_post_validation(&post, lines_out(), err);
    command_begin_json(&json, arena);
    json_post_validation(&json, &post);
    return command_deliver_json(&json, NULL, true, err);
}

static plait_status validate_serving(const validate_values *flags, const char *path,
                                     plait_arena *arena, plait_error *err)
{
    plait_serve_validation *const serving = plait_arena_alloc(arena, 1, sizeof *serving);
    int fold = ENGINE_FOLD_SOURCE;
    plait_serve_runs served;
    json_writer json;

    PLAIT_TRY(plait_check_allocated(serving, err));
    if (flags->leave_out != NULL)
        PLAIT_TRY(problem_word("--leave-out", flags->leave_out, engine_fold_name, &fold, err));
    PLAIT_TRY(plait_serve_runs_load(path, arena, &served, err));
    if (flags->unseen)
        PLAIT_TRY(engine_fit_unseen(&served, (engine_fold)fold, arena, err));
    PLAIT_TRY(plait_serve_validate(&served, arena, serving, err));
    if (!flags->json)
        return report_serve_validation(serving, lines_out(), err);
    command_begin_json(&json, arena);
    json_serve_validation(&json, serving);
    return command_deliver_json(&json, NULL, true, err);
}

static plait_status validate_training(const validate_values *flags, const opt_operands *operands,
                                      plait_arena *arena, plait_error *err)
{
    plait_validation *const validation = plait_arena_alloc(arena, 1, sizeof *validation);
    int by = PLAIT_BY_SOURCE;
    plait_runs runs;
    const char *text;
    size_t length;
    json_writer json;
    page *made;

    PLAIT_TRY(plait_check_allocated(validation, err));
    if (flags->by != NULL)
        PLAIT_TRY(problem_word("--by", flags->by, plait_run_key_name, &by, err));
    if (flags->plot != NULL)
        PLAIT_TRY(file_check_writable(flags->plot, err));
    PLAIT_TRY(command_apart(operands->text[0], flags->output, err));
    if (flags->output != NULL)
        PLAIT_TRY(command_page_check(flags->output, err));
    PLAIT_TRY(plait_runs_load(operands->text[0], arena, &runs, err));
    PLAIT_TRY(plait_validate(&runs, arena, validation, err));
    PLAIT_TRY(plait_validate_claims(validation, arena, err));
    if (flags->optimism)
        PLAIT_TRY(plait_validate_optimism(validation, 0, arena, err));
    if (flags->plot != NULL) {
        PLAIT_TRY(plait_validation_plot(validation, arena, &text, &length, err));
        PLAIT_TRY(file_write_atomically(flags->plot, text, length, err));
    }
    if (flags->output != NULL) {
        PLAIT_TRY(page_of_accuracy(validation, operands->line, arena, &made, err));
        PLAIT_TRY(command_page_write(made, flags->output, err));
    }
    if (!flags->json)
        return report_validation(validation, (plait_run_key)by, lines_out(), err);
    command_begin_json(&json, arena);
    json_validation(&json, validation);
    return command_deliver_json(&json, NULL, true, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const validate_values *const flags = values;

    (void)no;
    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "RUNS.csv",
                          "expected a file of measured runs, found nothing");
    if (flags->post_training && flags->serving)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--post-training",
                          "expected either --post-training or --serving, found both");
    if (flags->unseen && !flags->serving)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--unseen",
                          "expected --serving, which --unseen needs, found nothing");
    if (flags->leave_out != NULL && !flags->unseen)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--leave-out",
                          "expected --unseen, which --leave-out needs, found nothing");
    if (flags->post_training)
        return validate_post_training(flags, operands->text[0], arena, err);
    if (flags->serving)
        return validate_serving(flags, operands->text[0], arena, err);
    return validate_training(flags, operands, arena, err);
}

const command command_validate = {
    .usage = {.command = "validate",
              .synopsis = "RUNS.csv",
              .summary = "Price measured runs: errors, ranking, memory.",
              .about =
                  "docs/reference/files/runs.md describes the columns of RUNS.csv. Exit status 0 "
                  "when every row\nwas evaluated, even if some plans could not be priced.",
              .max_operands = 1,
              .options = options},
    .values_size = sizeof(validate_values),
    .run = run,
};
