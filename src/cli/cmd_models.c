/* cmd_models.c - plait models: the list, or one model with its derived numbers */
#include <stdio.h>

#include "cli/command.h"
#include "io/data_private.h"
#include "io/json/json_write.h"
#include "report/lines.h"
#include "io/model/model_write.h"
#include "plait/block.h"
#include "plait/data.h"
#include "report/report.h"
#include "cli/terminal.h"

typedef struct models_values {
    int seq;
    bool json;
} models_values;

static const opt options[] = {
    OPT_HEADING("options"),
    OPT_OF_TOKENS(models_values, seq, "seq",
                  "sequence length of the FLOPs a token; the model's own context, at most 4096"),
    OPT_OF_FLAG(models_values, json, "json", "one JSON document on standard output"),
    OPT_END,
};

/* ---- JSON ---- */

static void write_params(json_writer *json, const plait_model *model)
{
    const plait_params params = plait_model_params(model);

    json_write_key(json, "params");
    json_begin_object(json);
    json_member_number(json, "total", params.total);
    json_member_number(json, "active", params.active);
    json_member_number(json, "embedding", params.embedding);
    json_member_number(json, "head", params.head);
    json_member_number(json, "mtp", params.mtp);
    json_end_object(json);
}

static plait_status print_json(const plait_model *model, size_t count, int seq, plait_arena *arena,
                               plait_error *err)
{
    json_writer json;
    const char *text;
    size_t length;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_version(&json);
    json_write_key(&json, "models");
    json_begin_array(&json);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&json);
        json_write_key(&json, "model");
        model_write(&json, &model[i]);
        write_params(&json, &model[i]);
        if (seq > 0) {
            const double whole = plait_model_flops_per_token(&model[i], seq, false);

            json_member_int64(&json, "seq", seq);
            json_member_number(&json, "train_flops_per_token",
                               whole - plait_model_skipped_flops_per_token(&model[i], seq));
            json_member_number(&json, "train_flops_per_token_square", whole);
        }
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    PLAIT_TRY(json_writer_finish(&json, &text, &length, err));
    return command_deliver(text, length, NULL, true, err);
}

/* ---- the command ---- */

static plait_status load(const char *name, plait_arena *arena, plait_model *model, plait_error *err)
{
    const char *warning = NULL;

    PLAIT_TRY(plait_model_find(name, arena, model, &warning, err));
    if (warning != NULL && warning[0] != '\0')
        print_warning("%s: %s", name, warning);
    return PLAIT_OK;
}

static plait_status show(const models_values *flags, const char *name, plait_arena *arena,
                         plait_error *err)
{
    plait_model model;
    int seq = flags->seq;

    PLAIT_TRY(load(name, arena, &model, err));
    if (seq == 0)
        seq = model.max_seq > 0 && model.max_seq < 4096 ? model.max_seq : 4096;
    if (flags->json)
        return print_json(&model, 1, seq, arena, err);
    return report_model(&model, seq, lines_out(), err);
}

static plait_status list(const models_values *flags, plait_arena *arena, plait_error *err)
{
    const char *const *names;
    plait_model *models;
    size_t count;

    PLAIT_TRY(plait_data_list(PLAIT_DATA_MODELS, arena, &names, &count, err));
    if (count == 0)
        return data_fail_nothing(PLAIT_DATA_MODELS, "models", arena, err);
    models = plait_arena_alloc(arena, count, sizeof *models);
    if (models == NULL)
        return plait_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        PLAIT_TRY(load(names[i], arena, &models[i], err));
        models[i].name = names[i];
    }
    if (flags->json)
        return print_json(models, count, flags->seq, arena, err);
    return report_models(models, count, lines_out(), err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    (void)no;
    return operands->count > 0 ? show(values, operands->text[0], arena, err)
                               : list(values, arena, err);
}

const command command_models = {
    .usage = {.command = "models",
              .synopsis = "[NAME]",
              .summary = "List the models, or show one: layers, parameters, FLOPs.",
              .about =
                  "NAME may also be the path of a model file or of a Hugging Face config.json.",
              .max_operands = 1,
              .operand = {OPT_NAMES(PLAIT_DATA_MODELS)},
              .options = options},
    .values_size = sizeof(models_values),
    .run = run,
};
