/*
 * cmd_models.c - plait models: lists models, or shows one model with numbers derived from its shape
 */

#include "cli/command.h"
#include "cli/problem.h"
#include "io/data/data.h"
#include "io/json/json_write.h"
#include "report/lines.h"
#include "io/model/model_file.h"
#include "plait/lowlevel/block.h"
#include "plait/data.h"
#include "report/report.h"
#include "cli/terminal.h"

typedef struct models_values {
    int seq;
    bool json;
    bool assume_llama;
} models_values;

static const opt options[] = {
    OPT_HEADING("options"),
    OPT_OF_TOKENS(
        models_values, seq, "seq",
        "sequence length for the FLOPs per token (default: the model's context, at most 4096)"),
    MODEL_OPTION(models_values, assume_llama),
    OPT_OF_FLAG(models_values, json, "json", "one JSON document on standard output"),
    OPT_END,
};

/* Writes the derived numbers of each encoder; nothing for a model that only reads text. */
static void write_encoders(json_writer *json, const plait_model *model)
{
    if (plait_model_params(model).encoders <= 0.0)
        return;
    json_member_object(json, "encoders");
    for (int m = 0; m < PLAIT_MODALITIES; m++) {
        const plait_encoder *const encoder = &model->encoder[m];

        if (encoder->model == NULL)
            continue;
        const double patches = plait_encoder_patches(encoder);
        JSON_NUMBER_OBJECT(json, plait_modality_name[m], {"params", plait_encoder_params(encoder)},
                           {"patches", patches}, {"tokens", patches / encoder->patches_per_token},
                           {"forward_flops", plait_encoder_flops(encoder, patches)});
    }
    json_end_object(json);
}

static plait_status print_json(const plait_model *model, size_t count, int seq, plait_arena *arena,
                               plait_error *err)
{
    json_writer json;

    command_begin_json(&json, arena);
    json_member_version(&json);
    json_member_array(&json, "models");
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&json);
        json_write_key(&json, "model");
        model_write(&json, &model[i]);
        const plait_params params = plait_model_params(&model[i]);
        JSON_NUMBER_OBJECT(&json, "params", {"total", params.total + params.encoders},
                           {"active", params.active}, {"embedding", params.embedding},
                           {"head", params.head}, {"mtp", params.mtp},
                           {"encoders", params.encoders});
        write_encoders(&json, &model[i]);
        if (seq > 0) {
            const double whole = plait_model_flops_per_token(&model[i], seq, false);

            JSON_NUMBERS(&json, {"seq", seq},
                         {"train_flops_per_token",
                          whole - plait_model_skipped_flops_per_token(&model[i], seq)},
                         {"train_flops_per_token_square", whole});
        }
        json_end_object(&json);
    }
    json_end_array(&json);
    return command_deliver_json(&json, NULL, true, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const models_values *const flags = values;
    const char *const *names;
    plait_model *model, one;
    int seq = flags->seq;
    size_t count;

    (void)no;
    if (operands->count > 0) {
        PLAIT_TRY(
            problem_find_model(operands->text[0], flags->assume_llama, false, arena, &one, err));
        if (one.unread != NULL && !flags->assume_llama)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->text[0],
                              "expected only parts whose parameters plait counts, found also "
                              "\"%.60s\"; --assume-llama shows the model without it",
                              one.unread);
        if (seq == 0)
            seq = one.max_seq > 0 && one.max_seq < 4096 ? one.max_seq : 4096;
        return flags->json ? print_json(&one, 1, seq, arena, err)
                           : report_model(&one, seq, lines_out(), err);
    }
    PLAIT_TRY(plait_data_list(PLAIT_DATA_MODELS, arena, &names, &count, err));
    if (count == 0)
        return data_fail_empty(PLAIT_DATA_MODELS, "models", arena, err);
    model = plait_arena_alloc(arena, count, sizeof *model);
    PLAIT_TRY(plait_check_allocated(model, err));
    for (size_t i = 0; i < count; i++) {
        PLAIT_TRY(problem_find_model(names[i], false, false, arena, &model[i], err));
        model[i].name = names[i];
    }
    return flags->json ? print_json(model, count, seq, arena, err)
                       : report_models(model, count, lines_out(), err);
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
