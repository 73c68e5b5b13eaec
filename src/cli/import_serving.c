/* import_serving.c - plait import --from vllm, sglang */
#include "cli/import_serving.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/file.h"
#include "cli/imported.h"
#include "plait/data.h"
#include "cli/terminal.h"
#include "launch/serving_import.h"
#include "base/shell_word.h"
#include "base/text.h"

enum { MOST_BYTES = 64 << 20 };

bool import_is_serving(const char *from)
{
    for (int k = 0; from != NULL && serving_import_name[k] != NULL; k++)
        if (strcmp(from, serving_import_name[k]) == 0)
            return true;
    return false;
}

/* What is trained further has the shape of what it began as. */
static const char *const further[] = {"", "-instruct", "-chat", "-base", "-it", "-hf"};

/*
 * "meta-llama/Llama-3.1-8B-Instruct" as plait calls it: the last part, in small letters, without what it was
 * trained for; NULL: there is no such model.
 */
static plait_status model_of(const char *checkpoint, plait_arena *arena, const char **out,
                             plait_error *err)
{
    const char *const slash = strrchr(checkpoint, '/');
    char *const name = plait_arena_text(arena, slash != NULL ? slash + 1 : checkpoint);
    const char *path;
    plait_error inner;

    *out = NULL;
    if (name == NULL)
        return plait_fail_nomem(err);
    for (char *c = name; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    const size_t length = strlen(name);
    for (size_t i = 0; *out == NULL && i < sizeof further / sizeof *further; i++) {
        const size_t end = strlen(further[i]);

        if (end >= length || strcmp(name + length - end, further[i]) != 0)
            continue;
        const char *const model = plait_arena_printf(arena, "%.*s", (int)(length - end), name);
        if (model == NULL)
            return plait_fail_nomem(err);
        const plait_status status = plait_data_find(PLAIT_DATA_MODELS, model, arena, &path, &inner);
        PLAIT_TRY(faults_only(status, &inner, err));
        if (status == PLAIT_OK) {
            char *const file = plait_arena_text(arena, file_base_name(path));

            if (file == NULL)
                return plait_fail_nomem(err);
            if (strcmp(path, model) != 0) // a name rather than a path
                file[strlen(file) - strlen(".json")] = '\0';
            *out = file;
        }
    }
    return PLAIT_OK;
}

static void append(text_builder *out, const char *option, int value, int usual)
{
    if (value > usual)
        text_append_printf(out, " --%s %d", option, value);
}

static const char *command_of(const serving_import *in, const char *model, const char *cluster,
                              plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    text_append(&out, "plait serve ");
    shell_append_word(&out, model != NULL ? model : "MODEL");
    text_append(&out, " ");
    shell_append_word(&out, cluster != NULL ? cluster : "CLUSTER");
    text_append_printf(&out, " --eval --engine %s", plait_engine_name[in->kind]);
    append(&out, "gpus", plait_worker_gpus(in->worker) * in->replicas, 0);
    append(&out, "tp", in->worker.tp, 1);
    append(&out, "pp", in->worker.pp, 1);
    append(&out, "dp-attention", in->worker.dp_attention, 1);
    append(&out, "ep", in->worker.ep, 1);
    append(&out, "replicas", in->replicas, 1);
    append(&out, "chunk", in->chunk, 0);
    if (in->weights >= 0)
        text_append_printf(&out, " --weights %s", plait_weight_name[in->weights]);
    if (in->kv >= 0)
        text_append_printf(&out, " --kv %s", plait_kv_name[in->kv]);
    if (in->drafted > 0)
        text_append_printf(&out, " --speculate mtp:%d,accept=A", in->drafted);
    text_append(&out, " --input TOKENS --output-tokens TOKENS --concurrency C");
    return text_builder_finish(&out, NULL);
}

static void print_worker(const char *file, const serving_import *in)
{
    const plait_worker w = in->worker;

    print_message("%s: a worker of %s", file, plait_engine_name[in->kind]);
    if (in->checkpoint != NULL)
        print_message(", checkpoint %.120s", in->checkpoint);
    print_message("\n\n  tp %d, pp %d, dp_attention %d, ep %d: %d GPU%s", w.tp, w.pp,
                  w.dp_attention, w.ep, plait_worker_gpus(w), plait_worker_gpus(w) == 1 ? "" : "s");
    if (in->replicas > 1)
        print_message(", %d replicas", in->replicas);
    if (in->batch > 0)
        print_message("; at most %d requests run", in->batch);
    if (in->context > 0)
        print_message("; the longest has %d tokens", in->context);
    print_message("\n");
}

plait_status import_serving(const char *from, const opt_operands *operands, const char *model,
                            const char *cluster, plait_arena *arena, plait_error *err)
{
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
    const char *command = command_of(&in, model, cluster, arena);
    if (command == NULL)
        return plait_fail_nomem(err);
    imported_warn(operands->text[0], warning);
    print_worker(operands->text[0], &in);
    if (model == NULL)
        print_message("\nMODEL is one that `plait models` lists, or the path of a config.json.");
    print_message("\nnext: %s\n", command);
    return PLAIT_OK;
}
