/* cmd_import.c - plait import: a runtime's own launch config as a plan */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "import.h"
#include "import_serving.h"
#include "imported.h"
#include "plait/data.h"
#include "plans_write.h"
#include "say.h"
#include "shell_word.h"

typedef struct import_values {
    const char *from;
    const char *model;
    const char *cluster;
    int gpus;
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
    OPT_OF_TEXT(import_values, output, "output", 'o', "FILE",
                "write the plan to FILE, and to standard output what it says"),
    OPT_END,
};

/* What only the user can say, where no summary says so. */
static void warn_of_missing(const char *file, const plans_entry *entry)
{
    if (entry->gpus == 0)
        imported_warn(file, "the number of GPUs is not known, give it with --gpus");
}

/* ---- what was read, for people ---- */

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
        printf("%s%s %s", any ? ", " : "  ", plait_keys[k].name,
               plait_degrees_get(&entry->degrees, (plait_key_id)k, text, sizeof text));
        any = true;
    }
    puts(any ? "" : "  one of everything");
}

/* What eval will ask for, and the options of import that say it. */
static bool print_missing(const plans_entry *entry)
{
    const struct {
        const char *option;
        bool missing;
    } facts[] = {{"--model MODEL", entry->model == NULL},
                 {"--cluster CLUSTER", entry->cluster == NULL},
                 {"--gpus N", entry->gpus == 0}};
    bool any = false;

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (facts[i].missing)
            printf("%s%s", any ? " " : "the file does not say everything: import it with ",
                   facts[i].option);
        any = any || facts[i].missing;
    }
    if (any)
        putchar('\n');
    return any;
}

static plait_status print_summary(const char *file, const char *output, const plans_entry *entry,
                                  plait_arena *arena, plait_error *err)
{
    char *const quoted = shell_quoted(output, arena);

    if (quoted == NULL)
        return plait_fail_nomem(err);
    say("%s: a plan for %s, written to %s\n\n", file,
        entry->runtime != NULL ? entry->runtime : "a runtime that is not known", output);
    print_plan(entry);
    putchar('\n');
    if (!print_missing(entry))
        printf("next: plait eval --plan %s%s%s\n", quoted, entry->seq > 0 ? "" : " --seq TOKENS",
               entry->gbs > 0 ? "" : " --gbs SEQUENCES");
    return PLAIT_OK;
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const import_values *const flags = values;
    const imported_flags file = {flags->from, flags->model, flags->cluster, flags->gpus};
    const char *output = flags->output, *text;
    bool print = flags->output == NULL;
    plans_entry entry;
    size_t length;

    (void)no;
    if (import_is_serving(flags->from))
        return import_serving(flags->from, operands, flags->model, flags->cluster, arena, err);
    PLAIT_TRY(command_output(&output, &print, err));
    PLAIT_TRY(imported_read(&file, operands, arena, &entry, NULL, err));
    if (print)
        warn_of_missing(operands->text[0], &entry);
    PLAIT_TRY(plans_write(&entry, arena, &text, &length, err));
    PLAIT_TRY(command_deliver_plans(text, length, output, print, entry.runtime, arena, err));
    return print ? PLAIT_OK : print_summary(operands->text[0], output, &entry, arena, err);
}

const command command_import = {
    .usage =
        {.command = "import",
         .synopsis =
             "--from FORMAT FILE [ARGUMENT...] [--model MODEL] [--cluster CLUSTER] [--gpus N] "
             "[-o FILE]",
         .summary = "Read a launch config back into a plan that eval and explain take.",
         .about =
             "A script is read and never run. Its ARGUMENTs stand behind FILE; NAME=VALUE among\n"
             "them sets a variable. What neither FILE nor an option says is null; eval then\n"
             "asks for it.",
         .max_operands = OPT_MAX_OPERANDS,
         .options = options},
    .values_size = sizeof(import_values),
    .run = run,
};
