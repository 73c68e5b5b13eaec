/*
 * model_blocks.c - the blocks "numerics" and "training" of a plait model file
 *
 *     "numerics": {"activation": "silu", "norm_eps": 1e-05, "rope": {"base": 500000}, "router": {...}}
 *     "training": {"source": "...", "lr": 0.0003, "decay": "cosine", "warmup_steps": 2000}
 *
 * Tables have the numbers and switches, which are read and written in their order; words are read and
 * written beside them. A block is written with every key, or left out if it has no values.
 */
#include <math.h>

#include "base/model_numbers.h"
#include "io/json/fields.h"
#include "io/model/model_file.h"

#define NUMBER(name, member, kind, low, high, base)                                                \
    {name, JSON_##kind, .least = low, .most = high, .unit = base, FIELD_AT(BLOCK, member)},
#define SWITCH(member) {#member, .is_bool = true, FIELD_AT(BLOCK, member)},

// ---- numerics ----------------------------------------------------------------------------------

const char *const plait_activation_name[PLAIT_ACTIVATIONS + 1] = {
    "unknown", "gelu", "gelu_tanh", "silu", "relu", "relu2", "clamped_swiglu", NULL};
const char *const plait_rope_kind_name[PLAIT_ROPE_KINDS + 1] = {"plain", "linear", "llama3",
                                                                "yarn",  "other",  NULL};
const char *const plait_router_score_name[PLAIT_ROUTER_SCORES + 1] = {"unknown", "softmax",
                                                                      "sigmoid", NULL};

#define BLOCK plait_numerics
static const field numerics_fields[] = {NUMERICS_NUMBERS(NUMBER, SWITCH){.key = NULL}};
#undef BLOCK

#define BLOCK plait_rope
static const field rope_fields[] = {ROPE_NUMBERS(NUMBER, SWITCH){.key = NULL}};
#undef BLOCK

#define BLOCK plait_router
static const field router_fields[] = {ROUTER_NUMBERS(NUMBER, SWITCH){.key = NULL}};
#undef BLOCK

plait_status model_read_numerics(const json_cursor *model, plait_numerics *out, plait_error *err)
{
    static const char *const router_also[] = {"score", NULL};
    static const char *const also[] = {"activation", "rope", "router", NULL};
    int activation = PLAIT_ACTIVATION_UNKNOWN;
    json_cursor at, part;

    *out = (plait_numerics){0};
    PLAIT_TRY(json_object_optional(model, "numerics", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(fields_read(&at, numerics_fields, also, out, err));
    PLAIT_TRY(json_word_optional(&at, "activation", plait_activation_name, &activation, err));
    out->activation = (plait_activation)activation;
    PLAIT_TRY(json_object_optional(&at, "rope", &part, err));
    if (!json_is_null(&part)) {
        static const char *const rope_also[] = {"kind", "original_seq", NULL};

        // By default all of a head is rotated.
        int kind = PLAIT_ROPE_PLAIN;
        out->rope = (plait_rope){.fraction = 1.0};
        PLAIT_TRY(fields_read(&part, rope_fields, rope_also, &out->rope, err));
        PLAIT_TRY(json_word_optional(&part, "kind", plait_rope_kind_name, &kind, err));
        out->rope.kind = (plait_rope_kind)kind;
        PLAIT_TRY(json_int_optional(&part, "original_seq", 0, MODEL_MAX_SEQ,
                                    &out->rope.original_seq, err));
    }
    PLAIT_TRY(json_object_optional(&at, "router", &part, err));
    if (json_is_null(&part))
        return PLAIT_OK;
    // By default the weights of the chosen experts are not scaled.
    int score = PLAIT_ROUTER_UNKNOWN;
    out->router = (plait_router){.scale = 1.0};
    PLAIT_TRY(fields_read(&part, router_fields, router_also, &out->router, err));
    PLAIT_TRY(json_word_optional(&part, "score", plait_router_score_name, &score, err));
    out->router.score = (plait_router_score)score;
    return PLAIT_OK;
}

void model_write_numerics(json_writer *json, const plait_numerics *numerics)
{
    const plait_rope *const rope = &numerics->rope;
    const plait_router *const router = &numerics->router;
    const bool has_rope =
        rope->kind != PLAIT_ROPE_PLAIN || rope->original_seq > 0 || fields_any(rope_fields, rope);
    const bool has_router =
        router->score != PLAIT_ROUTER_UNKNOWN || fields_any(router_fields, router);

    if (!has_rope && !has_router && numerics->activation == PLAIT_ACTIVATION_UNKNOWN &&
        !fields_any(numerics_fields, numerics))
        return;
    json_member_object(json, "numerics");
    json_member_string(json, "activation", plait_activation_name[numerics->activation]);
    fields_write(json, numerics_fields, numerics);
    if (has_rope) {
        json_member_object(json, "rope");
        json_member_string(json, "kind", plait_rope_kind_name[rope->kind]);
        fields_write(json, rope_fields, rope);
        json_member_int64(json, "original_seq", rope->original_seq);
        json_end_object(json);
    }
    if (has_router) {
        json_member_object(json, "router");
        json_member_string(json, "score", plait_router_score_name[router->score]);
        fields_write(json, router_fields, router);
        json_end_object(json);
    }
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
