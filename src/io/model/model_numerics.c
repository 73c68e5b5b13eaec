/* model_numerics.c - the block "numerics" of a plait model file: what the numbers inside do
 *
 *     "numerics": {"activation": "silu", "norm_eps": 1e-05, "rope": {"base": 500000}, "router": {...}}
 *
 * Numbers and switches are in tables that reader and writer share; words are read beside them. A
 * block is written with every key, so that reading it gives the same, or left out when it is empty.
 */
#include "io/model/model_numerics.h"

#include "io/json/fields.h"
#include "base/model_numbers.h"
#include "io/model/model_private.h"

const char *const plait_activation_name[PLAIT_ACTIVATIONS + 1] = {
    "unknown", "gelu", "gelu_tanh", "silu", "relu", "relu2", "clamped_swiglu", NULL};
const char *const plait_rope_kind_name[PLAIT_ROPE_KINDS + 1] = {"plain", "linear", "llama3",
                                                                "yarn",  "other",  NULL};
const char *const plait_router_score_name[PLAIT_ROUTER_SCORES + 1] = {"unknown", "softmax",
                                                                      "sigmoid", NULL};

#define NUMBER(name, member, kind, low, high, base)                                                \
    {name, JSON_##kind, .least = low, .most = high, .unit = base, FIELD_AT(BLOCK, member)},
#define SWITCH(member) {#member, .is_bool = true, FIELD_AT(BLOCK, member)},

#define BLOCK plait_numerics
static const field numerics_fields[] = {NUMERICS_NUMBERS(NUMBER, SWITCH){.key = NULL}};
#undef BLOCK

#define BLOCK plait_rope
static const field rope_fields[] = {ROPE_NUMBERS(NUMBER, SWITCH){.key = NULL}};
#undef BLOCK

#define BLOCK plait_router
static const field router_fields[] = {ROUTER_NUMBERS(NUMBER, SWITCH){.key = NULL}};
#undef BLOCK

/* ---- reading ---- */

/* All of a head is rotated, unless said otherwise. */
static plait_status read_rope(const json_cursor *at, plait_rope *out, plait_error *err)
{
    static const char *const also[] = {"kind", "original_seq", NULL};
    int kind = PLAIT_ROPE_PLAIN;

    *out = (plait_rope){.fraction = 1.0};
    PLAIT_TRY(fields_read(at, rope_fields, also, out, err));
    PLAIT_TRY(json_word_optional(at, "kind", plait_rope_kind_name, &kind, err));
    out->kind = (plait_rope_kind)kind;
    return json_int_optional(at, "original_seq", 0, MODEL_MAX_SEQ, &out->original_seq, err);
}

/* The weights of the chosen experts stay as they are, unless said otherwise. */
static plait_status read_router(const json_cursor *at, plait_router *out, plait_error *err)
{
    static const char *const also[] = {"score", NULL};
    int score = PLAIT_ROUTER_UNKNOWN;

    *out = (plait_router){.scale = 1.0};
    PLAIT_TRY(fields_read(at, router_fields, also, out, err));
    PLAIT_TRY(json_word_optional(at, "score", plait_router_score_name, &score, err));
    out->score = (plait_router_score)score;
    return PLAIT_OK;
}

plait_status model_read_numerics(const json_cursor *model, plait_numerics *out, plait_error *err)
{
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
    if (!json_is_null(&part))
        PLAIT_TRY(read_rope(&part, &out->rope, err));
    PLAIT_TRY(json_object_optional(&at, "router", &part, err));
    return json_is_null(&part) ? PLAIT_OK : read_router(&part, &out->router, err);
}

/* ---- writing ---- */

static bool rope_is_known(const plait_rope *rope)
{
    return rope->kind != PLAIT_ROPE_PLAIN || rope->original_seq > 0 ||
           fields_known(rope_fields, rope);
}

static bool router_is_known(const plait_router *router)
{
    return router->score != PLAIT_ROUTER_UNKNOWN || fields_known(router_fields, router);
}

static void write_rope(json_writer *json, const plait_rope *rope)
{
    json_write_key(json, "rope");
    json_begin_object(json);
    json_member_string(json, "kind", plait_rope_kind_name[rope->kind]);
    fields_write(json, rope_fields, rope);
    json_member_int64(json, "original_seq", rope->original_seq);
    json_end_object(json);
}

static void write_router(json_writer *json, const plait_router *router)
{
    json_write_key(json, "router");
    json_begin_object(json);
    json_member_string(json, "score", plait_router_score_name[router->score]);
    fields_write(json, router_fields, router);
    json_end_object(json);
}

void model_write_numerics(json_writer *json, const plait_numerics *numerics)
{
    const bool rope = rope_is_known(&numerics->rope), router = router_is_known(&numerics->router);

    if (!rope && !router && numerics->activation == PLAIT_ACTIVATION_UNKNOWN &&
        !fields_known(numerics_fields, numerics))
        return;
    json_write_key(json, "numerics");
    json_begin_object(json);
    json_member_string(json, "activation", plait_activation_name[numerics->activation]);
    fields_write(json, numerics_fields, numerics);
    if (rope)
        write_rope(json, &numerics->rope);
    if (router)
        write_router(json, &numerics->router);
    json_end_object(json);
}
