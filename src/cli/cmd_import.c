/* cmd_import.c - plait import: a runtime's own launch config as a plan */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "launch/import.h"
#include "cli/import_serving.h"
#include "cli/imported.h"
#include "plait/data.h"
#include "plait/model.h"
#include "io/plans/plans_write.h"
#include "cli/terminal.h"
#include "base/shell_word.h"
#include "report/units.h"

typedef struct import_values {
    const char *from;
    const char *model;
    const char *cluster;
    int gpus;
    bool verbose, json;
    const char *output;
} import_values;

static const opt options[] = {
    OPT_OF_WORD(import_values, from, "from", "FORMAT", OPT_LISTED(launch_import_names),
                "{words}; of serving: vllm, sglang"),
    OPT_OF_WORD(import_values, model, "model", "MODEL", OPT_NAMES(PLAIT_DATA_MODELS),
                "the model, where the file does not say it or to say it better"),
    OPT_OF_WORD(import_values, cluster, "cluster", "CLUSTER", OPT_NAMES(PLAIT_DATA_CLUSTERS),
                "what it runs on"),
    OPT_OF_INT(import_values, gpus, "gpus", "N", 1, PLAIT_MAX_GPUS,
               "GPUs of the job, where the file does not say"),
    OPT_OF_FLAG(import_values, verbose, "verbose", "list the options of FILE that are not read"),
    OPT_OF_FLAG(import_values, json, "json", "the plan as one JSON document on standard output"),
    OPT_OF_TEXT(import_values, output, "output", 'o', "FILE",
                "write the plan to FILE; - is --json"),
    OPT_END,
};

/* The next step needs the number of GPUs, and no file or default gives it. */
static void warn_of_missing(const char *file, const plans_entry *entry)
{
    if (entry->gpus == 0)
        imported_warn(file, "the number of GPUs is not known, give it with --gpus");
}

/* ---- what was read, for people ---- */

static void print_model(const plait_model *model)
{
    char params[UNITS_SIZE];

    if (model == NULL)
        print_message("a model that it does not say");
    else
        print_message("%s, %s parameters", model->name,
                      units_count(plait_model_params(model).total, params));
}

/* Keys that are given, those at their plainest value (1, none, 1f1b) left out. */
static void print_plan(const plans_entry *entry)
{
    const plait_degrees plain = plait_degrees_init();
    char text[96];
    bool any = false;

    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (!(entry->given & PLAIT_KEY_BIT(k)) ||
            plait_key_same(&entry->degrees, &plain, (plait_key_id)k))
            continue;
        print_message("%s%s %s", any ? ", " : "", plait_keys[k].name,
                      plait_degrees_get(&entry->degrees, (plait_key_id)k, text, sizeof text));
        any = true;
    }
    print_message("%s\n", any ? "" : "one of everything");
}

static void print_read(const char *file, const plans_entry *entry)
{
    print_message("%s: ", file);
    print_model(entry->model);
    print_message("; %s", entry->runtime != NULL ? entry->runtime : "a runtime that is not known");
    if (entry->gpus > 0)
        print_message(", %d GPU%s", entry->gpus, entry->gpus == 1 ? "" : "s");
    if (entry->cluster != NULL)
        print_message(" of %s", entry->cluster->name);
    print_message("; ");
    print_plan(entry);
}

/* The options of import that say what eval would ask for. */
static void print_missing(const plans_entry *entry)
{
    print_message("next: the same command with%s%s%s", entry->model != NULL ? "" : " --model MODEL",
                  entry->cluster != NULL ? "" : " --cluster CLUSTER",
                  entry->gpus > 0 ? "" : " --gpus N");
}

static plait_status print_next(const char *output, const plans_entry *entry, plait_arena *arena,
                               plait_error *err)
{
    const bool whole = entry->model != NULL && entry->cluster != NULL && entry->gpus > 0;
    char *const quoted = shell_quoted(output != NULL ? output : "FILE", arena);

    if (quoted == NULL)
        return plait_fail_nomem(err);
    if (output == NULL || !whole)
        print_missing(entry);
    if (output != NULL && !whole) {
        print_message(", which the file does not say\n");
        return PLAIT_OK;
    }
    print_message("%splait eval --plan %s%s%s\n",
                  output == NULL ? " -o FILE, then " : "next: ", quoted,
                  entry->seq > 0 ? "" : " --seq TOKENS", entry->gbs > 0 ? "" : " --gbs SEQUENCES");
    return PLAIT_OK;
}

static plait_status check_serving(const import_values *flags, plait_error *err)
{
    if (!flags->json && flags->output == NULL)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, flags->json ? "--json" : "--output",
                      "expected none beside --from %s, which is answered by a command of plait "
                      "serve",
                      flags->from);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const import_values *const flags = values;
    const imported_flags file = {flags->from, flags->model, flags->cluster, flags->gpus,
                                 flags->verbose};
    const char *output = flags->output, *text;
    bool json = flags->json;
    plans_entry entry;
    size_t length;

    (void)no;
    if (import_is_serving(flags->from)) {
        PLAIT_TRY(check_serving(flags, err));
        return import_serving(flags->from, operands, flags->model, flags->cluster, arena, err);
    }
    PLAIT_TRY(command_output(&output, &json, err));
    PLAIT_TRY(imported_read(&file, operands, arena, &entry, NULL, err));
    if (json)
        warn_of_missing(operands->text[0], &entry);
    PLAIT_TRY(plans_write(&entry, arena, &text, &length, err));
    PLAIT_TRY(command_deliver_plans(text, length, output, json, entry.runtime, arena, err));
    if (json)
        return PLAIT_OK;
    print_read(operands->text[0], &entry);
    return print_next(output, &entry, arena, err);
}

const command command_import = {
    .usage =
        {.command = "import",
         .synopsis =
             "--from FORMAT FILE [ARGUMENT...] [--model MODEL] [--cluster CLUSTER] [--gpus N] "
             "[-o FILE] [--json] [--verbose]",
         .summary = "Read a launch config back into a plan that eval and explain take.",
         .about =
             "A script is read and never run. Its ARGUMENTs stand behind FILE; NAME=VALUE among\n"
             "them sets a variable. A value that neither FILE nor an option gives is null in\n"
             "the plan, and eval needs an option for it.",
         .max_operands = OPT_MAX_OPERANDS,
         .options = options},
    .values_size = sizeof(import_values),
    .run = run,
};
