/* cmd_import.c - plait import: reads a launch config of training software as a plan */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shell/shell.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/import_rl.h"
#include "cli/imported.h"
#include "cli/problem.h"
#include "cli/terminal.h"
#include "io/file.h"
#include "io/plans/plans_json.h"
#include "launch/import.h"
#include "launch/serving_import.h"
#include "plait/data.h"
#include "plait/model.h"
#include "report/units.h"

typedef struct import_values {
    const char *from;
    const char *model;
    const char *cluster;
    int gpus;
    bool verbose, json, assume_llama;
    const char *output;
} import_values;

static const opt options[] = {
    OPT_OF_WORD(import_values, from, "from", "FORMAT", OPT_LISTED(launch_import_names),
                "format of FILE: {words}; for serving: vllm, sglang; for reinforcement learning: "
                "verl, nemo-rl"),
    OPT_OF_WORD(import_values, model, "model", "MODEL", OPT_NAMES(PLAIT_DATA_MODELS),
                "model, if the file does not state it, or to override the file"),
    MODEL_OPTION(import_values, assume_llama),
    OPT_OF_WORD(import_values, cluster, "cluster", "CLUSTER", OPT_NAMES(PLAIT_DATA_CLUSTERS),
                "cluster that the job runs on"),
    OPT_OF_INT(import_values, gpus, "gpus", "N", 1, PLAIT_MAX_GPUS,
               "GPUs of the job, if the file does not state them"),
    OPT_OF_FLAG(import_values, verbose, "verbose", "list the options of FILE that are not read"),
    OPT_OF_FLAG(import_values, json, "json", "the plan as one JSON document on standard output"),
    OPT_OF_OUTPUT(import_values, output, "output", 'o', "FILE",
                  "write the plan to FILE; - means --json"),
    OPT_END,
};

/*
 * Print a summary of the imported plan, without keys that have their neutral value (1, none, 1f1b).
 */
static void print_read(const char *file, const plans_entry *entry)
{
    const plait_degrees plain = plait_degrees_init();
    char text[96];
    bool any = false;

    print_message("%s: ", file);
    if (entry->model == NULL)
        print_message("unknown model");
    else
        print_message("%s, %s parameters", entry->model->name,
                      units_count(plait_model_params(entry->model).total, text));
    if (entry->tuning.kind != PLAIT_JOB_PRETRAIN)
        print_message("; %s", plait_job_name[entry->tuning.kind]);
    if (entry->tuning.rank > 0)
        print_message(" of rank %d", entry->tuning.rank);
    print_message("; %s", entry->runtime != NULL ? entry->runtime : "unknown runtime");
    if (entry->gpus > 0)
        print_message(", %d GPU%s", entry->gpus, entry->gpus == 1 ? "" : "s");
    if (entry->cluster != NULL)
        print_message(" of %s", entry->cluster->name);
    print_message("; ");
    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (!(entry->given & PLAIT_KEY_BIT(k)) ||
            plait_key_same(&entry->degrees, &plain, (plait_key_id)k))
            continue;
        print_message("%s%s %s", any ? ", " : "", plait_keys[k].name,
                      plait_degrees_get(&entry->degrees, (plait_key_id)k, text, sizeof text));
        any = true;
    }
    print_message("%s\n", any ? "" : "default values only");
}

enum { MOST_BYTES = 64 << 20 };

/* Suffixes of fine-tuned checkpoints, which have the shape of the base model. */
static const char *const further[] = {"", "-instruct", "-chat", "-base", "-it", "-hf"};

/*
 * Find plait's model for a checkpoint such as "meta-llama/Llama-3.1-8B-Instruct": the last part of
 * the name in lower case, without a suffix. *out is NULL if there is no such model.
 */
static plait_status model_of(const char *checkpoint, plait_arena *arena, const char **out,
                             plait_error *err)
{
    const char *const slash = strrchr(checkpoint, '/');
    char *const name = plait_arena_text(arena, slash != NULL ? slash + 1 : checkpoint);
    const char *path;
    plait_error inner;

    *out = NULL;
    PLAIT_TRY(plait_check_allocated(name, err));
    for (char *c = name; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    const size_t length = strlen(name);
    for (size_t i = 0; *out == NULL && i < sizeof further / sizeof *further; i++) {
        const size_t end = strlen(further[i]);

        if (end >= length || strcmp(name + length - end, further[i]) != 0)
            continue;
        const char *const model = plait_arena_printf(arena, "%.*s", (int)(length - end), name);
        PLAIT_TRY(plait_check_allocated(model, err));
        const plait_status status = plait_data_find(PLAIT_DATA_MODELS, model, arena, &path, &inner);
        PLAIT_TRY(faults_only(status, &inner, err));
        if (status == PLAIT_OK) {
            char *const file = plait_arena_text(arena, file_base_name(path));

            PLAIT_TRY(plait_check_allocated(file, err));
            if (strcmp(path, model) != 0) // found by name, not as a path
                file[strlen(file) - strlen(".json")] = '\0';
            *out = file;
        }
    }
    return PLAIT_OK;
}

static void append_degree(text_builder *out, const char *option, int value, int usual)
{
    if (value > usual)
        text_append_printf(out, " --%s %d", option, value);
}

/* Returns the command of plait serve that prices a server; NULL when out of memory. */
static const char *serve_command(const serving_import *in, const char *model, const char *cluster,
                                 plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    text_append(&out, "plait serve ");
    shell_append_word(&out, model != NULL ? model : "MODEL");
    text_append(&out, " ");
    shell_append_word(&out, cluster != NULL ? cluster : "CLUSTER");
    text_append_printf(&out, " --eval --engine %s", plait_engine_name[in->kind]);
    append_degree(&out, "gpus", plait_worker_gpus(in->worker) * in->replicas, 0);
    append_degree(&out, "tp", in->worker.tp, 1);
    append_degree(&out, "pp", in->worker.pp, 1);
    append_degree(&out, "dp-attention", in->worker.dp_attention, 1);
    append_degree(&out, "ep", in->worker.ep, 1);
    append_degree(&out, "replicas", in->replicas, 1);
    append_degree(&out, "chunk", in->chunk, 0);
    if (in->weights >= 0)
        text_append_printf(&out, " --weights %s", plait_weight_name[in->weights]);
    if (in->kv >= 0)
        text_append_printf(&out, " --kv %s", plait_kv_name[in->kv]);
    if (in->drafted > 0)
        text_append_printf(&out, " --speculate mtp:%d,accept=A", in->drafted);
    append_degree(&out, "max-num-seqs", in->batch, 0);
    append_degree(&out, "max-model-len", in->context, 0);
    append_degree(&out, "redundant-experts", in->redundant, 0);
    if (in->memory > 0.0)
        text_append_printf(&out, " --memory-fraction %g", in->memory);
    if (in->lora_adapters > 0)
        text_append_printf(&out, " --lora-adapters %d", in->lora_adapters);
    if (in->lora_adapters > 0 && in->lora_rank > 0)
        text_append_printf(&out, " --lora-rank %d", in->lora_rank);
    text_append(&out, " --input TOKENS --output-tokens TOKENS --concurrency C");
    return text_builder_finish(&out, NULL);
}

static void print_worker(const char *path, const serving_import *in)
{
    const plait_worker w = in->worker;
    print_message("%s: a worker of %s", path, plait_engine_name[in->kind]);
    if (in->checkpoint != NULL)
        print_message(", checkpoint %.120s", in->checkpoint);
    print_message("\n\n  tp %d, pp %d, dp_attention %d, ep %d: %d GPU%s", w.tp, w.pp,
                  w.dp_attention, w.ep, plait_worker_gpus(w), plait_worker_gpus(w) == 1 ? "" : "s");
    if (in->replicas > 1)
        print_message(", %d replicas", in->replicas);
    if (in->batch > 0)
        print_message("; at most %d requests in flight", in->batch);
    if (in->context > 0)
        print_message("; at most %d tokens per request", in->context);
    print_message("\n");
}

static plait_status import_serving(const import_values *flags, const opt_operands *operands,
                                   plait_arena *arena, plait_error *err)
{
    const char *const from = flags->from, *const cluster = flags->cluster, *model = flags->model;
    const launch_call call = {.arguments = operands->count > 0 ? operands->count - 1 : 0,
                              .argument = operands->text + 1};
    const plait_engine_kind kind = (plait_engine_kind)text_index(from, plait_engine_name);
    const char *text, *warning;
    serving_import in;
    size_t length;

    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "FILE",
                          "expected a script that starts a server, found nothing");
    PLAIT_TRY(file_read_all(operands->text[0], MOST_BYTES, arena, &text, &length, err));
    PLAIT_TRY(serving_import_read(kind, text, length, operands->text[0], &call, arena, &in,
                                  &warning, err));
    if (model == NULL && in.checkpoint != NULL)
        PLAIT_TRY(model_of(in.checkpoint, arena, &model, err));
    const char *const next = serve_command(&in, model, cluster, arena);
    PLAIT_TRY(plait_check_allocated(next, err));
    imported_warn(operands->text[0], warning);
    imported_warn_not_read(operands->text[0], in.not_read, flags->verbose);
    PLAIT_TRY(command_deliver_command(next, flags->output, flags->json, arena, err));
    if (flags->json)
        return PLAIT_OK;
    print_worker(operands->text[0], &in);
    if (model == NULL)
        print_message("\nMODEL is one that `plait models` lists, or the path of a config.json.");
    print_message("\nnext: %s\n", next);
    return PLAIT_OK;
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    import_values read = *(const import_values *)values, *const flags = &read;
    const imported_flags file = {flags->from, flags->model,   flags->cluster,
                                 flags->gpus, flags->verbose, flags->assume_llama};
    const char *text;
    plans_entry entry;
    size_t length;

    (void)no;
    PLAIT_TRY(command_output(&flags->output, &flags->json, err));
    const char *const output = flags->output;
    const bool json = flags->json;
    if (flags->from != NULL && text_index(flags->from, serving_import_name) >= 0)
        return import_serving(flags, operands, arena, err);
    const int framework = flags->from != NULL ? text_index(flags->from, rl_import_name) : -1;
    if (framework >= 0)
        return import_rl((plait_rl_framework)framework,
                         &(import_rl_flags){.model = flags->model,
                                            .cluster = flags->cluster,
                                            .output = output,
                                            .gpus = flags->gpus,
                                            .verbose = flags->verbose,
                                            .json = json},
                         operands, arena, err);
    PLAIT_TRY(imported_read(&file, operands, arena, &entry, NULL, err));
    if (json && entry.gpus == 0) // neither the file nor a default gives the GPUs
        imported_warn(operands->text[0],
                      "the file does not state the number of GPUs; give it with --gpus");
    PLAIT_TRY(plans_write(&entry, arena, &text, &length, err));
    PLAIT_TRY(command_deliver(text, length, output, json, err));
    PLAIT_TRY(command_check_runtime(output, entry.runtime, arena, err));
    if (json)
        return PLAIT_OK;
    print_read(operands->text[0], &entry);
    const bool whole = entry.model != NULL && entry.cluster != NULL && entry.gpus > 0;
    char *const quoted = shell_quoted(output != NULL ? output : "FILE", arena);
    PLAIT_TRY(plait_check_allocated(quoted, err));
    if (output == NULL || !whole)
        print_message(
            "next: repeat this command with%s%s%s", entry.model != NULL ? "" : " --model MODEL",
            entry.cluster != NULL ? "" : " --cluster CLUSTER", entry.gpus > 0 ? "" : " --gpus N");
    if (output != NULL && !whole)
        print_message(", which the file does not state\n");
    else
        print_message("%splait eval --plan %s%s%s\n",
                      output == NULL ? " -o FILE, then run " : "next: ", quoted,
                      entry.seq > 0 ? "" : " --seq TOKENS",
                      entry.gbs > 0 ? "" : " --gbs SEQUENCES");
    return PLAIT_OK;
}

const command command_import = {
    .usage =
        {.command = "import",
         .synopsis =
             "[--from FORMAT] FILE [ARGUMENT...] [--model MODEL] [--cluster CLUSTER] [--gpus N] "
             "[-o FILE] [--json] [--verbose]",
         .summary = "Read a launch config into a plan for eval and explain.",
         .about = "A script is read and never run. Arguments of the script follow FILE; NAME=VALUE "
                  "among\nthem sets a variable. A value that neither FILE nor an option gives is "
                  "null in\nthe plan, and eval needs an option for it. The log of a run that "
                  "prints its config\n(Megatron-LM, torchtitan, DeepSpeed) is read without --from.",
         .max_operands = OPT_MAX_OPERANDS,
         .options = options},
    .values_size = sizeof(import_values),
    .run = run,
};
