/*
 * model_blocks.c - the blocks "numerics" and "training" of a plait model file
 *
 *     "numerics": {"activation": "silu", "norm_eps": 1e-05, "rope": {"base": 500000},
 *                  "router": {...}}
 *     "training": {"source": "...", "lr": 0.0003, "decay": "cosine", "warmup_steps": 2000}
 *
 * The members are read and written in the order of tables. A block is written with every key, or
 * not at all if it has no values.
 */
#include <math.h>

#include "base/model_numbers.h"
#include "io/json/fields.h"
#include "io/model/model_file.h"

#define NUMBER(name, member, kind, low, high, base)                                                \
    {name, JSON_##kind, .least = low, .most = high, .unit = base, FIELD_AT(BLOCK, member)},
#define SWITCH(member) {#member, .is_bool = true, FIELD_AT(BLOCK, member)},
#define WORD(member, list)                                                                         \
    {                                                                                              \
#member, .words = (list), FIELD_AT(BLOCK, member)                                          \
    }

// ---- numerics ----------------------------------------------------------------------------------

const char *const plait_modality_name[PLAIT_MODALITIES + 1] = {"vision", "audio", NULL};
const char *const plait_activation_name[PLAIT_ACTIVATIONS + 1] = {
    "unknown", "gelu", "gelu_tanh", "silu", "relu", "relu2", "clamped_swiglu", "other", NULL};
const char *const plait_rope_kind_name[PLAIT_ROPE_KINDS + 1] = {"plain", "linear", "llama3",
                                                                "yarn",  "other",  NULL};
const char *const plait_router_score_name[PLAIT_ROUTER_SCORES + 1] = {"unknown", "softmax",
                                                                      "sigmoid", NULL};

#define BLOCK plait_numerics
static const field numerics_fields[] = {WORD(activation, plait_activation_name),
                                        NUMERICS_NUMBERS(NUMBER, SWITCH){.key = NULL}};
#undef BLOCK

#define BLOCK plait_rope
static const field rope_fields[] = {
    WORD(kind, plait_rope_kind_name),
    ROPE_NUMBERS(NUMBER, SWITCH){"original_seq", .is_int = true, .most = MODEL_MAX_SEQ,
                                 FIELD_AT(plait_rope, original_seq)},
    {.key = NULL}};
#undef BLOCK

#define BLOCK plait_router
static const field router_fields[] = {WORD(score, plait_router_score_name),
                                      ROUTER_NUMBERS(NUMBER, SWITCH){.key = NULL}};
#undef BLOCK

plait_status model_read_numerics(const json_cursor *model, plait_numerics *out, plait_error *err)
{
    static const char *const also[] = {"rope", "router", NULL};
    json_cursor at;

    *out = (plait_numerics){0};
    PLAIT_TRY(json_object_optional(model, "numerics", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    // By default, rotary positions cover the whole head, and the weights of the chosen experts are
    // not scaled.
    if (json_has(&at, "rope"))
        out->rope.fraction = 1.0;
    if (json_has(&at, "router"))
        out->router.scale = 1.0;
    PLAIT_TRY(fields_read(&at, numerics_fields, also, out, err));
    PLAIT_TRY(fields_read_optional(&at, "rope", rope_fields, &out->rope, err));
    return fields_read_optional(&at, "router", router_fields, &out->router, err);
}

void model_write_numerics(json_writer *json, const plait_numerics *numerics)
{
    const bool has_rope = fields_any(rope_fields, &numerics->rope);
    const bool has_router = fields_any(router_fields, &numerics->router);

    if (!has_rope && !has_router && !fields_any(numerics_fields, numerics))
        return;
    json_member_object(json, "numerics");
    fields_write(json, numerics_fields, numerics);
    if (has_rope)
        fields_write_member(json, "rope", rope_fields, &numerics->rope);
    if (has_router)
        fields_write_member(json, "router", router_fields, &numerics->router);
    json_end_object(json);
}

// ---- training ----------------------------------------------------------------------------------

const char *const plait_lr_decay_name[PLAIT_LR_DECAYS + 1] = {"unknown", "cosine", "linear",
                                                              "constant", NULL};
const char *const plait_balance_name[PLAIT_BALANCES + 1] = {"unknown",  "none",   "batch",
                                                            "sequence", "global", NULL};

#define BLOCK plait_training
static const field training_fields[] = {TRAINING_NUMBERS(NUMBER){.key = NULL}};
#undef BLOCK

plait_status model_read_training(const json_cursor *model, plait_arena *arena, plait_training *out,
                                 plait_error *err)
{
    static const char *const also[] = {"decay", "balance", "weight_decay", NULL};
    int decay = PLAIT_LR_UNKNOWN, balance = PLAIT_BALANCE_UNKNOWN;
    json_cursor at;

    *out = (plait_training){0};
    PLAIT_TRY(json_object_optional(model, "training", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(fields_read(&at, training_fields, also, out, err));
    out->weight_decay = (double)NAN;
    PLAIT_TRY(json_number_optional(&at, "weight_decay", JSON_FRACTION, &out->weight_decay, err));
    PLAIT_TRY(json_string(&at, "source", arena, &out->source, err));
    PLAIT_TRY(json_word_optional(&at, "decay", plait_lr_decay_name, &decay, err));
    PLAIT_TRY(json_word_optional(&at, "balance", plait_balance_name, &balance, err));
    out->decay = (plait_lr_decay)decay;
    out->balance = (plait_balance)balance;
    if (out->min_lr > out->lr)
        return json_fail_key(&at, "min_lr", PLAIT_ERROR_RANGE, err,
                             "expected at most lr (%g), found %g", out->lr, out->min_lr);
    return PLAIT_OK;
}

void model_write_training(json_writer *json, const plait_training *training)
{
    if (training->source == NULL)
        return;
    json_member_object(json, "training");
    json_member_string(json, "source", training->source);
    fields_write(json, training_fields, training);
    if (!isnan(training->weight_decay))
        json_member_number(json, "weight_decay", training->weight_decay);
    json_member_string(json, "decay", plait_lr_decay_name[training->decay]);
    json_member_string(json, "balance", plait_balance_name[training->balance]);
    json_end_object(json);
}
