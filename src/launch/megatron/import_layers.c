/*
 * import_layers.c - which layer has which part, out of Megatron-LM's lists
 *
 * Megatron has one shape of each part and lists that say which layer has which part, so a kind of
 * layer is a set of switches: window, experts, rotary positions, linear attention.
 */
#include <string.h>

#include "launch/megatron/import_parts.h"
#include "launch/read/pattern.h"

enum { HAS_WINDOW = 1, HAS_EXPERTS = 2, HAS_NO_ROTARY = 4, IS_LINEAR = 8, LAYER_SETS = 16 };

/* ---- lists ---- */

/* What an int N stands for: of every N layers these have the switch on. */
typedef enum switch_period { ON_AT_FIRST, ON_BUT_LAST, ON_AT_LAST } switch_period;

typedef struct layer_switch {
    int bit;
    size_t field; /* the list, in megatron_args */
    switch_period where;
    bool absent; /* of all layers when there is no list */
} layer_switch;

static const layer_switch switches[] = {
    {HAS_EXPERTS, MEGATRON_FIELD(moe_layer_freq), ON_AT_FIRST, true},
    {HAS_WINDOW, MEGATRON_FIELD(window_attn_skip_freq), ON_BUT_LAST, true},
    {HAS_NO_ROTARY, MEGATRON_FIELD(no_rope_freq), ON_AT_LAST, false},
    {IS_LINEAR, MEGATRON_FIELD(linear_attention_freq), ON_BUT_LAST, false},
};

static bool on_in_period(switch_period where, int layer, int period)
{
    const int at = layer % period;

    return where == ON_AT_FIRST ? at == 0 : (at == period - 1) == (where == ON_AT_LAST);
}

static plait_status read_switch(const model_reader *in, const layer_switch *of, unsigned char *set,
                                plait_error *err)
{
    const char *const list =
        *(const char *const *)(const void *)((const char *)in->args + of->field);
    const int layers = in->model->layers;
    unsigned char on[PLAIT_MAX_LAYERS];
    int period;

    memset(on, of->absent, sizeof on);
    if (of->bit == HAS_EXPERTS && in->args->expert_interval > 0) {
        for (int i = 0; i < layers; i++)
            on[i] = on_in_period(ON_AT_LAST, i, in->args->expert_interval);
    } else if (list != NULL && text_parse_int(list, 1, PLAIT_MAX_LAYERS, &period)) {
        for (int i = 0; i < layers; i++)
            on[i] = on_in_period(of->where, i, period);
    } else if (list != NULL && !pattern_read(list, layers, on)) {
        return flags_fail(in->flags, megatron_args_name(of->field), err,
                          "expected a number or a pattern of %d layers, found \"%.60s\"", layers,
                          list);
    }
    for (int i = 0; i < layers; i++)
        set[i] |= (unsigned char)(on[i] ? of->bit : 0);
    return PLAIT_OK;
}

/* ---- sets ---- */

static bool is_linear_variant(const char *variant)
{
    return variant != NULL &&
           (strcmp(variant, "gated_delta_net") == 0 || strcmp(variant, "gdn") == 0);
}

/* A layer cannot have a part that has no shape. */
static unsigned char possible(const model_reader *in, unsigned set)
{
    if (in->full.moe.experts == 0)
        set &= ~(unsigned)HAS_EXPERTS;
    if (in->full.attention.window == 0)
        set &= ~(unsigned)HAS_WINDOW;
    if (!is_linear_variant(in->args->experimental_attention_variant))
        set &= ~(unsigned)IS_LINEAR;
    if ((set & IS_LINEAR) || !in->full.attention.rotary)
        set &= ~(unsigned)(HAS_WINDOW | HAS_NO_ROTARY);
    return (unsigned char)set;
}

static plait_status read_sets(const model_reader *in, unsigned char *set, plait_error *err)
{
    for (size_t s = 0; s < sizeof switches / sizeof *switches; s++)
        PLAIT_TRY(read_switch(in, &switches[s], set, err));
    for (int i = 0; i < in->model->layers; i++) {
        set[i] = possible(in, set[i]);
        if ((set[i] & HAS_WINDOW) && (set[i] & HAS_NO_ROTARY))
            return flags_fail(in->flags, MEGATRON_NAME(no_rope_freq), err,
                              "expected windowed layers with rotary positions, found layer %d "
                              "without",
                              i);
    }
    return PLAIT_OK;
}

/* ---- kinds ---- */

/* "sliding-moe", "no-rotary-dense": what its switches say. */
static const char *set_name(int set, plait_arena *arena)
{
    return plait_arena_printf(arena, "%s%s%s", set & IS_LINEAR ? "linear-" : "",
                              set & HAS_WINDOW      ? "sliding-"
                              : set & HAS_NO_ROTARY ? "no-rotary-"
                                                    : "",
                              set & HAS_EXPERTS ? "moe" : "dense");
}

static plait_layer layer_of(const model_reader *in, int set)
{
    plait_layer layer = {.norms = 2, .mixer = in->full.mixer};

    if (set & IS_LINEAR) {
        layer.mixer = PLAIT_MIXER_DELTA_NET;
        layer.delta_net = in->full.delta_net;
    } else if (layer.mixer == PLAIT_MIXER_MLA) {
        layer.mla = in->full.mla;
    } else {
        layer.attention = in->full.attention;
        layer.attention.window = set & HAS_WINDOW ? in->full.attention.window : 0;
        layer.attention.rotary = in->full.attention.rotary && !(set & HAS_NO_ROTARY);
        if (!layer.attention.rotary && in->args->qk_l2_norm)
            layer.attention.qk_norm = false;
    }
    layer.ffn = set & HAS_EXPERTS ? PLAIT_FFN_MOE : PLAIT_FFN_MLP;
    if (layer.ffn == PLAIT_FFN_MOE)
        layer.moe = in->full.moe;
    else
        layer.mlp = in->full.mlp;
    return layer;
}

plait_status megatron_read_layers(model_reader *in, plait_error *err)
{
    plait_model *const model = in->model;
    plait_arena *const arena = in->flags->arena;
    plait_layer *const kind = plait_arena_alloc(arena, LAYER_SETS, sizeof *kind);
    unsigned char *const layer_kind =
        plait_arena_alloc(arena, (size_t)model->layers, sizeof *layer_kind);
    unsigned char set[PLAIT_MAX_LAYERS] = {0};
    int known[LAYER_SETS] = {0}; /* index + 1 */

    if (kind == NULL || layer_kind == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(read_sets(in, set, err));
    for (int i = 0; i < model->layers; i++) {
        if (known[set[i]] == 0) {
            kind[model->kinds] = layer_of(in, set[i]);
            kind[model->kinds].name = set_name(set[i], arena);
            if (kind[model->kinds].name == NULL)
                return plait_fail_nomem(err);
            known[set[i]] = ++model->kinds;
        }
        layer_kind[i] = (unsigned char)(known[set[i]] - 1);
    }
    model->kind = kind;
    model->layer_kind = layer_kind;
    model->mtp_kind = layer_kind[model->layers - 1];
    return PLAIT_OK;
}
