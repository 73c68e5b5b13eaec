/* problem_parts.c - do a model and a cluster hold together? A runtime: runtime_check.c */
#include "problem_parts.h"

#include <limits.h>

#include "text.h"

/* `what` of `whole` has to be something else. */
static plait_status refuse(const char *whole, const char *what, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, whole, "expected %s, found another value", what);
}

plait_status parts_check_name(const char *whole, const char *name, plait_error *err)
{
    return name && text_is_plain(name)
               ? PLAIT_OK
               : refuse(whole, "a name of printable characters on one line", err);
}

// ---- a model -------------------------------------------------------------------------------

static bool mixer_holds(const plait_layer *layer)
{
    switch (layer->mixer) {
    case PLAIT_MIXER_ATTENTION:
        return layer->attention.heads >= 1 && layer->attention.kv_heads >= 1 &&
               layer->attention.head_dim >= 1;
    case PLAIT_MIXER_MLA:
        return layer->mla.heads >= 1;
    case PLAIT_MIXER_DELTA_NET:
        return layer->delta_net.key_heads >= 1 && layer->delta_net.value_heads >= 1;
    case PLAIT_MIXER_MAMBA:
        return layer->mamba.inner >= 1;
    case PLAIT_MIXER_NONE:
        return true;
    case PLAIT_MIXER_KINDS:
        break;
    }
    return false;
}

static bool ffn_holds(const plait_layer *layer)
{
    switch (layer->ffn) {
    case PLAIT_FFN_MOE:
        return layer->moe.topk >= 1 && layer->moe.topk <= layer->moe.experts &&
               layer->moe.width >= 1 && layer->moe.shared_width >= 0;
    case PLAIT_FFN_MLP:
        return layer->mlp.width >= 1;
    case PLAIT_FFN_NONE:
        return true;
    case PLAIT_FFN_KINDS:
        break;
    }
    return false;
}

static plait_status check_kinds(const plait_model *model, plait_error *err)
{
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *const layer = &model->kind[k];

        if (!layer->opaque && (!mixer_holds(layer) || !ffn_holds(layer)))
            return refuse("model", "layers with heads, experts and a width", err);
    }
    for (int i = 0; i < model->layers; i++)
        if (model->layer_kind[i] >= model->kinds)
            return refuse("model", "layers of the kinds that it lists", err);
    return PLAIT_OK;
}

plait_status model_check_parts(const plait_model *model, plait_error *err)
{
    if (!model)
        return plait_fail(err, PLAIT_ERROR_RANGE, "model", "expected a model, found NULL");
    PLAIT_TRY(parts_check_name("model", model->name, err));
    if (model->hidden < 1 || model->vocab < 1)
        return refuse("model", "a hidden width and a vocabulary", err);
    if (model->layers < 1 || model->layers > PLAIT_MAX_LAYERS || !model->layer_kind)
        return refuse("model", "a list of 1 to 4096 layers", err);
    if (model->kinds < 1 || model->kinds > PLAIT_MAX_LAYER_KINDS || !model->kind)
        return refuse("model", "a list of 1 to 16 kinds of layers", err);
    if (model->mtp_layers < 0 || model->mtp_layers > PLAIT_MAX_LAYERS ||
        (model->mtp_layers > 0 && (model->mtp_kind < 0 || model->mtp_kind >= model->kinds)))
        return refuse("model", "modules of further tokens of a kind that it lists", err);
    PLAIT_TRY(check_kinds(model, err));
    return model_check_unpriced(model, err);
}

// ---- a cluster -----------------------------------------------------------------------------

static bool level_holds(const plait_level *level)
{
    if (level->gpus < 1 || (unsigned)level->kind >= PLAIT_LEVEL_KINDS)
        return false;
    if (!plait_level_is_grid(level))
        return true;
    for (int a = 0; a < PLAIT_MAX_SIDES; a++)
        if (level->side[a] < 0 || level->side[a] > USHRT_MAX)
            return false;
    return level->ports >= 1;
}

static bool levels_hold(const plait_level *level, int levels)
{
    if (levels > PLAIT_MAX_LEVELS || (levels > 0 && !level))
        return false;
    for (int l = 0; l < levels; l++)
        if (!level_holds(&level[l]))
            return false;
    return true;
}

static plait_status check_group(const plait_node_group *group, plait_error *err)
{
    if (!group->accelerator)
        return refuse("cluster", "an accelerator in each group of nodes", err);
    PLAIT_TRY(parts_check_name("cluster", group->accelerator->name, err));
    if ((unsigned)group->accelerator->confidence >= PLAIT_CONFIDENCES)
        return refuse("cluster", "a confidence of plait_confidence", err);
    if (group->accelerator->sms < 1 || group->gpus_per_node < 1 ||
        group->gpus_per_node > PLAIT_MAX_GPUS || group->nodes < 0)
        return refuse("cluster", "counts of SMs, GPUs of a node and nodes", err);
    return group->levels >= 0 && levels_hold(group->level, group->levels)
               ? PLAIT_OK
               : refuse("cluster", "levels of links in each group of nodes", err);
}

plait_status cluster_check_parts(const plait_cluster *cluster, plait_error *err)
{
    if (!cluster)
        return plait_fail(err, PLAIT_ERROR_RANGE, "cluster", "expected a cluster, found NULL");
    PLAIT_TRY(parts_check_name("cluster", cluster->name, err));
    if (cluster->groups < 1 || cluster->groups > PLAIT_MAX_NODE_GROUPS || cluster->gpus < 0)
        return refuse("cluster", "1 to 4 groups of nodes", err);
    if (cluster->levels < 1 || !levels_hold(cluster->level, cluster->levels))
        return refuse("cluster", "1 to 6 levels of links", err);
    for (int g = 0; g < cluster->groups; g++)
        PLAIT_TRY(check_group(&cluster->group[g], err));
    return PLAIT_OK;
}
