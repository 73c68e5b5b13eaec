/*
 * split.c - assigns layers to chunks, in the order in which a token passes through the chunks
 *
 * Example: 10 layers, pp = 2, vpp = 2, and embedding and loss count as layers. Each chunk has 12 /
 * 4 = 3 items, so the chunks have 2, 3, 3 and 2 layers. The schedule determines the rank of each
 * chunk.
 */
#include "plan/split.h"

#include <math.h>
#include <string.h>

#include "plait/lowlevel/schedule.h"
#include "base/saturating.h"
#include "plan/layout.h"
#include "plan/model_queries.h"

/*
 * Assigns the same number of layers to all chunks. With `embedding` or `loss` set, that part of the
 * model counts as a layer.
 */
static bool deal_evenly(int layers, int chunks, bool embedding, bool loss, int *counts)
{
    const int units = layers + embedding + loss;

    if (units % chunks != 0 || units / chunks < 1)
        return false;
    for (int c = 0; c < chunks; c++)
        counts[c] = units / chunks;
    counts[0] -= embedding;
    counts[chunks - 1] -= loss;
    return counts[0] >= 0 && counts[chunks - 1] >= 0;
}

static bool deal_spread(int layers, int chunks, int *counts)
{
    if (layers < chunks)
        return false;
    for (int c = 0; c < chunks; c++)
        counts[c] = layers / chunks + (c < layers % chunks);
    return true;
}

static bool deal_first_last(int layers, const plait_degrees *d, int *counts)
{
    const int pp = d->pp;
    const int middle = layers - d->split.first - d->split.last;
    const int between = pp - 2;

    if (pp < 2 || middle < 0 || (between == 0 ? middle != 0 : middle % between != 0))
        return false;
    for (int s = 0; s < pp; s++) {
        const int of_stage = s == 0        ? d->split.first
                             : s == pp - 1 ? d->split.last
                                           : middle / between;
        if (of_stage < d->vpp || of_stage % d->vpp != 0)
            return false;
        for (int v = 0; v < d->vpp; v++)
            counts[plait_schedule_chunk((plait_schedule)d->schedule, pp, s, v)] = of_stage / d->vpp;
    }
    return true;
}

/* Returns the outputs of a mixer's products per hidden element, roughly: heads without groups. */
static double mixer_width(const plait_layer *layer, plait_mixer_kind mixer)
{
    const plait_mla *const mla = &layer->mla;
    const plait_delta_net *const net = &layer->delta_net;

    switch (mixer) {
    case PLAIT_MIXER_ATTENTION:
        return 4.0 * layer->attention.heads * layer->attention.head_dim;
    case PLAIT_MIXER_MLA:
        return (double)mla->heads * (mla->nope_dim + mla->rope_dim + mla->v_dim) + mla->kv_rank;
    case PLAIT_MIXER_DELTA_NET:
        return 2.0 * net->key_heads * net->key_dim + 3.0 * net->value_heads * net->value_dim;
    case PLAIT_MIXER_MAMBA:
        return 3.0 * layer->mamba.inner;
    case PLAIT_MIXER_CONV:
        return 4.0 * layer->conv.width;
    default:
        return 0.0;
    }
}

/*
 * Returns a block's rough cost, multiplications per token, from the weights of its mixers and its
 * feed-forward part.
 */
static double layer_weight(const plait_model *model, const plait_layer *layer)
{
    const double mixers =
        mixer_width(layer, layer->mixer) + mixer_width(layer, layer->second_mixer);
    const double latent = layer->moe.latent > 0 ? (double)layer->moe.latent / model->hidden : 1.0;
    const double ffn = layer->ffn == PLAIT_FFN_MOE
                           ? 3.0 * layer->moe.width * moe_mean_topk(&layer->moe) * latent +
                                 3.0 * layer->moe.shared_width
                           : (layer->mlp.gated ? 3.0 : 2.0) * layer->mlp.width;

    return model->hidden * (mixers + ffn);
}

/* Returns the sum of layer_weight over all layers. */
static double all_layers_weight(const plait_model *model)
{
    double sum = 0.0;

    for (int i = 0; i < model->layers; i++)
        sum += layer_weight(model, &model->kind[model->layer_kind[i]]);
    return sum;
}

/* Returns the weight of what the last stage has besides its layers: heads and MTP modules. */
static double ends_weight(const plait_model *model)
{
    const double head = (double)model->vocab * model->hidden;

    if (model->mtp_layers == 0)
        return head;
    return head + model->mtp_layers * (head + layer_weight(model, &model->kind[model->mtp_kind]));
}

/*
 * Assigns layers as nanotron does: blocks go to stage r of p until the cost of all blocks so far
 * exceeds (r+1)/p of the total. The embedding has cost 0, and the head has cost vocabulary times
 * hidden size, so the last stages can be empty.
 */
static bool deal_by_cost(const plait_model *model, int chunks, int *counts)
{
    const double total = (double)model->vocab * model->hidden + all_layers_weight(model);
    double running = 0.0;
    int chunk = 0;

    for (int c = 0; c < chunks; c++)
        counts[c] = 0;
    for (int i = 0; i < model->layers; i++) {
        counts[chunk]++;
        running += layer_weight(model, &model->kind[model->layer_kind[i]]);
        if (running > total * (chunk + 1) / chunks && chunk < chunks - 1)
            chunk++;
    }
    return true;
}

static bool deal_in_words(const plait_model *model, const plait_degrees *d, int *counts)
{
    const int chunks = saturating_mul(d->pp, d->vpp);

    if (chunks < 1 || chunks > PLAIT_MAX_LAYERS)
        return false;
    switch ((plait_split_kind)d->split.kind) {
    case PLAIT_SPLIT_EVEN:
        return deal_evenly(model->layers, chunks, false, false, counts);
    case PLAIT_SPLIT_EMBEDDING:
        return deal_evenly(model->layers, chunks, true, false, counts);
    case PLAIT_SPLIT_LOSS:
        return deal_evenly(model->layers, chunks, false, true, counts);
    case PLAIT_SPLIT_BOTH:
        return deal_evenly(model->layers, chunks, true, true, counts);
    case PLAIT_SPLIT_FIRST_LAST:
        return deal_first_last(model->layers, d, counts);
    case PLAIT_SPLIT_SPREAD:
        return deal_spread(model->layers, chunks, counts);
    case PLAIT_SPLIT_COST:
        return deal_by_cost(model, chunks, counts);
    case PLAIT_SPLIT_LAYOUT: // the text of the layout determines the chunks
    case PLAIT_SPLITS:
        break;
    }
    return false;
}

bool split_same(const plait_split *a, const plait_split *b)
{
    return a->kind == b->kind && a->first == b->first && a->last == b->last &&
           (a->layout == b->layout ||
            (a->layout && b->layout && strcmp(a->layout, b->layout) == 0));
}

void plait_chunks_deal(const plait_model *model, const int *counts, int count, plait_chunk *chunks)
{
    int first = 0;

    for (int c = 0; c < count; c++) {
        const bool last = c == count - 1;
        chunks[c] = (plait_chunk){
            .first = first,
            .last = first + counts[c],
            .embedding = c == 0,
            .loss = last,
            .mtp = last ? model->mtp_layers : 0,
        };
        first += counts[c];
    }
}

static bool lay_out(const plait_model *model, const plait_degrees *d, plait_chunk *chunks)
{
    const int most = saturating_mul(d->pp, d->vpp);
    int count;

    return d->split.layout && most >= 1 && most <= PLAIT_MAX_LAYERS &&
           layout_read(d->split.layout, most, chunks, &count, NULL) == PLAIT_OK && count == most &&
           layout_covers_model(model, chunks, count, NULL, 0);
}

bool plait_chunks_of(const plait_model *model, const plait_degrees *d, plait_chunk *chunks)
{
    int counts[PLAIT_MAX_LAYERS];

    if (d->split.kind == PLAIT_SPLIT_LAYOUT)
        return lay_out(model, d, chunks);
    if (!deal_in_words(model, d, counts))
        return false;
    plait_chunks_deal(model, counts, d->pp * d->vpp, chunks);
    return true;
}

bool plait_split_layers(const plait_model *model, const plait_degrees *d, int *counts)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];

    if (d->split.kind != PLAIT_SPLIT_LAYOUT)
        return deal_in_words(model, d, counts);
    if (!lay_out(model, d, chunks))
        return false;
    for (int c = 0; c < d->pp * d->vpp; c++)
        counts[c] = chunks[c].last - chunks[c].first;
    return true;
}

/*
 * Returns the number of layers of the last of two ends that have `rest` layers together, where the
 * last end also has the weight of `head` layers. The ends of models without MTP modules have at
 * most `middle` layers, which spares the memory of the first stage; returns 0 if they cannot.
 */
static int layers_of_last(int rest, int middle, int vpp, double head, bool modules)
{
    if (modules) {
        const int last = vpp * (int)lround((rest - head) / (2.0 * vpp));
        return last < vpp ? vpp : last;
    }
    if (rest > 2 * middle)
        return 0;
    const int last = (int)lround((rest - head) / 2.0);
    const int least = rest - middle < 1 ? 1 : rest - middle;
    return last < least ? least : last;
}

bool split_first_last(const plait_model *model, int pp, int vpp, plait_split *out)
{
    const int layers = model->layers;
    const int between = pp - 2;
    const bool modules = model->mtp_layers > 0;
    const double mean = all_layers_weight(model) / layers;
    const double head = mean > 0.0 ? ends_weight(model) / mean : 0.0;
    double least = HUGE_VAL;

    if (pp < 2)
        return false;
    for (int middle = vpp; middle <= layers && layers - between * middle >= 2; middle += vpp) {
        const int rest = layers - between * middle;
        const int last = layers_of_last(rest, middle, vpp, head, modules);
        const int first = rest - last;
        if (last < 1 || first < 1 || first % vpp != 0 || last % vpp != 0)
            continue;
        const double ends = modules && first < last + head ? last + head : first;
        const double fullest = between > 0 && middle > ends ? middle : ends;
        if (fullest >= least)
            continue;
        least = fullest;
        *out = (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST,
                             .first = (unsigned short)first,
                             .last = (unsigned short)last};
    }
    return least < HUGE_VAL;
}

/* ---- properties that rules check ---- */

/* An unreadable layout gives true, since another rule rejects it. */
bool split_has_ends_outside(const plait_model *model, const plait_degrees *degrees)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];

    return degrees->split.kind != PLAIT_SPLIT_LAYOUT || !plait_chunks_of(model, degrees, chunks) ||
           (chunks[0].embedding && chunks[degrees->pp * degrees->vpp - 1].loss);
}

bool split_has_layers(const plait_model *model, const plait_degrees *degrees)
{
    int counts[PLAIT_MAX_LAYERS];

    if (!plait_split_layers(model, degrees, counts))
        return true;
    for (int c = 0; c < degrees->pp * degrees->vpp; c++)
        if (counts[c] == 0)
            return false;
    return true;
}

bool split_fills_chunks(const plait_model *model, const plait_degrees *degrees)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];

    if (!plait_chunks_of(model, degrees, chunks))
        return true;
    for (int c = 0; c < degrees->pp * degrees->vpp; c++)
        if (chunks[c].last == chunks[c].first && !chunks[c].embedding && !chunks[c].loss &&
            chunks[c].mtp == 0)
            return false;
    return true;
}
