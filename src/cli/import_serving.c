/* import_serving.c - plait import --from vllm, sglang */
#include "import_serving.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "imported.h"
#include "plait/data.h"
#include "say.h"
#include "serving_import.h"
#include "shell_word.h"
#include "text.h"

enum { MOST_BYTES = 64 << 20 };

bool import_is_serving(const char *from)
{
    for (int k = 0; from != NULL && serving_import_name[k] != NULL; k++)
        if (strcmp(from, serving_import_name[k]) == 0)
            return true;
    return false;
}

/* "meta-llama/Llama-3.1-8B" as plait would call it: the last part, in small letters. */
static const char *model_of(const char *checkpoint, plait_arena *arena)
{
    const char *const slash = checkpoint != NULL ? strrchr(checkpoint, '/') : NULL;
    char *name;

    if (checkpoint == NULL)
        return "MODEL";
    name = plait_arena_printf(arena, "%s", slash != NULL ? slash + 1 : checkpoint);
    for (char *c = name; c != NULL && *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return name;
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
    shell_append_word(&out, model != NULL ? model : model_of(in->checkpoint, arena));
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
    text_append(&out, " --input TOKENS --output TOKENS --concurrency C");
    return text_builder_finish(&out, NULL);
}

static void print_worker(const char *file, const serving_import *in)
{
    const plait_worker w = in->worker;

    say("%s: a worker of %s", file, plait_engine_name[in->kind]);
    if (in->checkpoint != NULL)
        say(", checkpoint %.120s", in->checkpoint);
    printf("\n\n  tp %d, pp %d, dp_attention %d, ep %d: %d GPU%s", w.tp, w.pp, w.dp_attention, w.ep,
           plait_worker_gpus(w), plait_worker_gpus(w) == 1 ? "" : "s");
    if (in->replicas > 1)
        printf(", %d replicas", in->replicas);
    if (in->batch > 0)
        printf("; at most %d requests run", in->batch);
    if (in->context > 0)
        printf("; the longest has %d tokens", in->context);
    printf("\n");
}

plait_status import_serving(const char *from, const opt_operands *operands, const char *model,
                            const char *cluster, plait_arena *arena, plait_error *err)
{
    const launch_call call = {operands->count > 0 ? operands->count - 1 : 0, operands->text + 1, 0,
                              NULL};
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
    const char *command = command_of(&in, model, cluster, arena);
    if (command == NULL)
        return plait_fail_nomem(err);
    imported_warn(operands->text[0], warning);
    print_worker(operands->text[0], &in);
    printf("\nnext: %s\n", command);
    return PLAIT_OK;
}
