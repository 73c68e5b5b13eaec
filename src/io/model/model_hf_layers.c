/* model_hf_layers.c - makes kinds of the layers of a Hugging Face config */
#include <string.h>

#include "base/status.h"
#include "io/model/model_hf.h"

/* ---- one layer ---- */

static plait_status read_residual(const hf_config *hf, plait_layer *out, plait_error *err)
{
    bool grouped = false;
    int parallel_norms = 1;

    out->parallel_residual = hf_has_trait(hf, HF_PARALLEL);
    PLAIT_TRY(json_bool_optional(hf->text, "use_parallel_residual", &out->parallel_residual, err));
    PLAIT_TRY(json_bool_optional(hf->text, "parallel_attn", &out->parallel_residual, err));
    PLAIT_TRY(json_bool_optional(hf->text, "new_decoder_architecture", &grouped, err));
    if (hf_has_trait(hf, HF_ONE_NORM)) {
        /* num_ln_in_parallel_attn overrides the two norms of Falcon's new architecture */
        parallel_norms = grouped ? 2 : 1;
        PLAIT_TRY(
            json_int_optional(hf->text, "num_ln_in_parallel_attn", 1, 2, &parallel_norms, err));
    }

    if (out->ffn == PLAIT_FFN_NONE || out->mixer == PLAIT_MIXER_NONE) {
        out->norms = 1;
        out->parallel_residual = false;
        return PLAIT_OK;
    }
    out->norms = 2;
    if (out->parallel_residual && hf_has_trait(hf, HF_ONE_NORM))
        out->norms = parallel_norms;
    if (hf_has_trait(hf, HF_FOUR_NORMS)) /* more in MoE layers of Gemma 4 */
        out->norms = hf_has_trait(hf, HF_SHARED_MLP) && out->ffn == PLAIT_FFN_MOE ? 7 : 4;
    return PLAIT_OK;
}

/* Reads the branches in addition to the mixer and the feed-forward part (Gemma 3n, 4). */
static plait_status read_branches(const hf_config *hf, plait_layer *out, plait_error *err)
{
    PLAIT_TRY(
        json_int_optional(hf->text, "laurel_rank", 0, MODEL_MAX_RANK, &out->laurel_rank, err));
    return json_int_optional(hf->text, "hidden_size_per_layer_input", 0, MODEL_MAX_HIDDEN,
                             &out->per_layer_dim, err);
}

static plait_status read_layer(const hf_config *hf, hf_layer parts, plait_layer *out,
                               plait_error *err)
{
    if (parts.mixer != HF_NO_MIXER)
        PLAIT_TRY(hf_read_mixer(hf, parts.mixer, out, err));
    if (parts.ffn == HF_EXPERTS)
        PLAIT_TRY(hf_read_moe(hf, out, err));
    else if (parts.ffn == HF_DENSE)
        PLAIT_TRY(hf_read_mlp(hf, out, err));
    PLAIT_TRY(read_branches(hf, out, err));
    return read_residual(hf, out, err);
}

/* ---- kinds ---- */

/* The layers of a file. Layers with the same parts and the same numbers from lists are one kind. */
typedef struct layer_list {
    const hf_layer *layer; /* [layers + 1]; the last one is for multi-token prediction */
    plait_layer kind[PLAIT_MAX_LAYER_KINDS];
    hf_layer parts[PLAIT_MAX_LAYER_KINDS];
    hf_picks picks[PLAIT_MAX_LAYER_KINDS];
    int kinds;
    bool per_layer; /* the file has lists of numbers */
} layer_list;

static bool same_parts(hf_layer a, hf_layer b)
{
    return a.mixer == b.mixer && a.ffn == b.ffn;
}

static bool same_picks(const hf_picks *a, const hf_picks *b)
{
    return a->count == b->count &&
           memcmp(a->value, b->value, (size_t)a->count * sizeof *a->value) == 0;
}

/* Finds or adds the kind of a layer. */
static plait_status find_kind(const hf_config *hf, layer_list *list, int layer, int *out,
                              plait_error *err)
{
    const hf_layer parts = list->layer[layer];
    plait_layer found = {0};
    hf_picks picks = {0};
    hf_config here = *hf;

    for (*out = 0; *out < list->kinds && !list->per_layer; (*out)++)
        if (same_parts(list->parts[*out], parts))
            return PLAIT_OK;
    here.layer = parts.entry;
    here.picks = &picks;
    PLAIT_TRY(read_layer(&here, parts, &found, err));
    for (*out = 0; *out < list->kinds; (*out)++)
        if (same_parts(list->parts[*out], parts) && same_picks(&list->picks[*out], &picks))
            return PLAIT_OK;
    if (list->kinds == PLAIT_MAX_LAYER_KINDS)
        return json_fail(hf->text, PLAIT_ERROR_RANGE, err,
                         "expected at most %d kinds of layer, found more before layer %d",
                         PLAIT_MAX_LAYER_KINDS, layer);
    list->kind[list->kinds] = found;
    list->parts[list->kinds] = parts;
    list->picks[list->kinds] = picks;
    list->kinds++;
    list->per_layer = list->per_layer || picks.count > 0;
    return PLAIT_OK;
}

/*
 * Names a kind by the parts in which the kinds differ: the mixer, the feed-forward part, or both,
 * and a number if several kinds have the same parts.
 */
static const char *kind_name(const hf_config *hf, const layer_list *list, int kind)
{
    static const char *const mixers[HF_MIXERS] = {
        [HF_FULL] = "full",         [HF_SLIDING] = "sliding",
        [HF_CHUNKED] = "chunked",   [HF_LINEAR] = "linear",
        [HF_STATE_SPACE] = "mamba", [HF_HYBRID] = "hybrid",
        [HF_CONV] = "conv",         [HF_RECURRENT] = "recurrent",
        [HF_SPARSE] = "sparse",     [HF_HEAVY_COMPRESSED] = "compressed"};
    static const char *const ffns[HF_FFNS] = {[HF_DENSE] = "dense", [HF_EXPERTS] = "moe"};
    const hf_layer parts = list->parts[kind];
    const char *mixer = mixers[parts.mixer], *ffn = ffns[parts.ffn];
    bool mixers_differ = false, ffns_differ = false;
    int number = 1;

    for (int k = 0; k < list->kinds; k++) {
        mixers_differ = mixers_differ || list->parts[k].mixer != parts.mixer;
        ffns_differ = ffns_differ || list->parts[k].ffn != parts.ffn;
        number += k < kind && same_parts(list->parts[k], parts);
    }
    if (mixer != NULL && ffn != NULL && !mixers_differ)
        mixer = NULL;
    else if (mixer != NULL && ffn != NULL && !ffns_differ)
        ffn = NULL;
    const char *const name = mixer != NULL && ffn != NULL
                                 ? plait_arena_printf(hf->arena, "%s-%s", mixer, ffn)
                             : mixer != NULL ? mixer
                                             : ffn;
    return number == 1 || name == NULL ? name
                                       : plait_arena_printf(hf->arena, "%s-%d", name, number);
}

/*
 * Marks the keys of parts that no layer has as read. A hybrid's file has the sizes of all parts of
 * its class; these are read, and errors in them do not matter.
 */
static void skip_unused(const hf_config *hf, const layer_list *list)
{
    bool mixer[HF_MIXERS] = {false}, ffn[HF_FFNS] = {false};
    plait_layer unused = {0};
    plait_error ignored;

    for (int k = 0; k < list->kinds; k++) {
        mixer[list->parts[k].mixer] = true;
        ffn[list->parts[k].ffn] = true;
    }
    if (hf->known && (!ffn[HF_DENSE] || hf->class.mlp_width != NULL))
        hf_skip(hf, (const char *const[]){"intermediate_size", "intermediate_size_mlp", NULL});
    if (!hf->known || hf->class.other == HF_NO_MIXER || hf->class.pattern == HF_PATTERN_ALL_OTHER)
        return;
    if (!mixer[hf->class.other] &&
        hf_read_mixer(hf, hf->class.other, &unused, &ignored) != PLAIT_OK)
        return;
    if (!mixer[HF_FULL] && hf_read_mixer(hf, HF_FULL, &unused, &ignored) != PLAIT_OK)
        return;
    if (!ffn[HF_EXPERTS] && hf_read_moe(hf, &unused, &ignored) != PLAIT_OK)
        return;
}

const char *const hf_mtp_names[] = {"num_nextn_predict_layers", "mtp_num_hidden_layers",
                                    "num_mtp_layers", "_num_mtp_layers", NULL};

plait_status hf_read_layers(const hf_config *hf, plait_error *err)
{
    plait_model *const model = hf->model;
    hf_layer *const layer = plait_arena_alloc(hf->arena, (size_t)model->layers + 1, sizeof *layer);
    unsigned char *const layer_kind = plait_arena_alloc(hf->arena, (size_t)model->layers, 1);
    layer_list *const list = plait_arena_alloc(hf->arena, 1, sizeof *list);
    int kind;

    PLAIT_TRY(plait_check_allocated(layer && layer_kind && list, err));
    PLAIT_TRY(hf_layout(hf, layer, err));
    list->layer = layer;
    list->per_layer = hf->class.pattern == HF_PATTERN_BLOCKS;
    for (int i = 0; i < model->layers; i++) {
        PLAIT_TRY(find_kind(hf, list, i, &kind, err));
        layer_kind[i] = (unsigned char)kind;
    }
    PLAIT_TRY(hf_int_optional(hf, hf_mtp_names, 0, MODEL_MAX_MTP, &model->mtp_layers, err));
    if (model->mtp_layers > 0)
        PLAIT_TRY(find_kind(hf, list, model->layers, &model->mtp_kind, err));
    skip_unused(hf, list);
    for (int k = 0; k < list->kinds; k++) {
        list->kind[k].name = kind_name(hf, list, k);
        PLAIT_TRY(plait_check_allocated(list->kind[k].name, err));
    }
    model->kind = list->kind;
    model->kinds = list->kinds;
    model->layer_kind = layer_kind;
    return PLAIT_OK;
}
