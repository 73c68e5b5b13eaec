/* model_facts.c - what Megatron-LM asks of a model: a shape of each part, and where it is */
#include "launch/megatron/model_facts.h"

#include <math.h>

#include "base/text.h"

model_facts model_facts_of(const plait_model *model)
{
    model_facts facts = {0};

    for (int k = model->kinds - 1; k >= 0; k--) {
        const plait_layer *const layer = &model->kind[k];

        if (layer->mixer == PLAIT_MIXER_ATTENTION)
            facts.attention = &layer->attention;
        if (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.window > 0)
            facts.window = layer->attention.window;
        if (layer->mixer == PLAIT_MIXER_MLA)
            facts.mla = &layer->mla;
        if (layer->mixer == PLAIT_MIXER_DELTA_NET)
            facts.delta_net = &layer->delta_net;
        if (layer->ffn == PLAIT_FFN_MLP)
            facts.mlp = &layer->mlp;
        if (layer->ffn == PLAIT_FFN_MOE)
            facts.moe = &layer->moe;
    }
    facts.bias = facts.mlp != NULL ? facts.mlp->bias : facts.moe != NULL && facts.moe->bias;
    return facts;
}

double model_number(double number)
{
    return number > 0.0 ? number : (double)NAN;
}

/* ---- tests ---- */

bool layer_has_experts(const plait_layer *layer)
{
    return layer->ffn == PLAIT_FFN_MOE;
}

bool layer_has_window(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.window > 0;
}

bool layer_has_no_rotary(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_ATTENTION && !layer->attention.rotary;
}

bool layer_is_linear(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_DELTA_NET;
}

/* ---- lists ---- */

static bool holds_at(const plait_model *model, int layer, layer_test *test)
{
    return test(&model->kind[model->layer_kind[layer]]);
}

int model_count_layers(const plait_model *model, layer_test *test)
{
    int count = 0;

    for (int i = 0; i < model->layers; i++)
        count += holds_at(model, i, test);
    return count;
}

/* The shortest stretch whose repetition is the whole list; the list itself when there is none. */
static int period_of(const plait_model *model, layer_test *test)
{
    for (int period = 1; period <= 16 && period < model->layers; period++) {
        int i = period;

        while (i < model->layers && holds_at(model, i, test) == holds_at(model, i - period, test))
            i++;
        if (model->layers % period == 0 && i == model->layers)
            return period;
    }
    return model->layers;
}

const char *model_layer_list(const plait_model *model, layer_test *test, plait_arena *arena)
{
    const int period = period_of(model, test);
    text_builder out;

    text_builder_init(&out, arena);
    text_append_char(&out, '(');
    for (int first = 0, last; first < period; first = last) {
        const bool holds = holds_at(model, first, test);

        for (last = first + 1; last < period && holds_at(model, last, test) == holds;)
            last++;
        text_append_printf(&out, first > 0 ? "+[%d]" : "[%d]", holds);
        if (last - first > 1)
            text_append_printf(&out, "*%d", last - first);
    }
    text_append_char(&out, ')');
    if (period < model->layers)
        text_append_printf(&out, "*%d", model->layers / period);
    return text_builder_finish(&out, NULL);
}

plait_status model_mixed_list(const plait_model *model, layer_test *test, plait_arena *arena,
                              const char **out, plait_error *err)
{
    const int count = model_count_layers(model, test);

    if (count == 0 || count == model->layers)
        return PLAIT_OK;
    *out = model_layer_list(model, test, arena);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
