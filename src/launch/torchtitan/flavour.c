/*
 * flavour.c - the models that torchtitan has by name
 *
 * Sizes are those of pytorch/torchtitan b5bcd76 (2026-08-21), torchtitan/models. A model is
 * identified by its sizes, never by its name.
 */
#include <stddef.h>

#include "launch/torchtitan/torchtitan.h"

const char *const titan_module[TITAN_FAMILIES + 1] = {
    "llama3", "qwen3", "deepseek_v3", "gpt_oss", NULL,
};

#define LLAMA3(width_of_head)                                                                      \
    .family = TITAN_LLAMA3, .vocab = 128256, .kv_heads = 8, .head_dim = width_of_head,             \
    .positions = 131072, .theta = 5e5, .rope = PLAIT_ROPE_LLAMA3, .factor = 8.0
#define QWEN3(base)                                                                                \
    .family = TITAN_QWEN3, .vocab = 151936, .head_dim = 128, .positions = 40960, .theta = base,    \
    .toml = true
#define QWEN3_EXPERTS(base) QWEN3(base), .kv_heads = 4, .experts = 128, .topk = 8
#define DEEPSEEK                                                                                   \
    .family = TITAN_DEEPSEEK_V3, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128,    \
    .positions = 16384, .theta = 1e4, .rope = PLAIT_ROPE_YARN, .factor = 40.0, .toml = true
#define GPT_OSS                                                                                    \
    .family = TITAN_GPT_OSS, .hidden = 2880, .vocab = 201088, .heads = 64, .kv_heads = 8,          \
    .head_dim = 64, .topk = 4, .expert_width = 2880, .positions = 131072, .theta = 1.5e5,          \
    .rope = PLAIT_ROPE_YARN, .factor = 32.0, .toml = true

// clang-format off: keep each flavour in its own lines
const titan_flavour titan_flavours[] = {
    {LLAMA3(64), .name = "1B", .model = "llama-3.2-1b", .layers = 16, .hidden = 2048, .heads = 32,
     .width = 8192, .tied = true},
    {LLAMA3(128), .name = "3B", .model = "llama-3.2-3b", .layers = 28, .hidden = 3072, .heads = 24,
     .width = 8192, .tied = true},
    {LLAMA3(128), .name = "8B", .config = "llama3_8b", .model = "llama-3.1-8b", .toml = true,
     .layers = 32, .hidden = 4096, .heads = 32, .width = 14336},
    {LLAMA3(128), .name = "70B", .config = "llama3_70b", .model = "llama-3.1-70b", .toml = true,
     .layers = 80, .hidden = 8192, .heads = 64, .width = 28672},
    {LLAMA3(128), .name = "405B", .quantized = "llama3_405b", .model = "llama-3.1-405b",
     .toml = true, .layers = 126, .hidden = 16384, .heads = 128, .width = 53248},
    {QWEN3(1e6), .kv_heads = 8, .name = "0.6B", .config = "qwen3_0_6b", .model = "qwen3-0.6b",
     .layers = 28, .hidden = 1024, .heads = 16, .width = 3072, .tied = true},
    {QWEN3(1e6), .kv_heads = 8, .name = "1.7B", .config = "qwen3_1_7b", .model = "qwen3-1.7b",
     .layers = 28, .hidden = 2048, .heads = 16, .width = 6144, .tied = true},
    {QWEN3(1e6), .kv_heads = 8, .name = "4B", .model = "qwen3-4b", .layers = 36, .hidden = 2560,
     .heads = 32, .width = 9728, .tied = true},
    {QWEN3(1e6), .kv_heads = 8, .name = "8B", .model = "qwen3-8b", .layers = 36, .hidden = 4096,
     .heads = 32, .width = 12288},
    {QWEN3(1e6), .kv_heads = 8, .name = "14B", .config = "qwen3_14b", .model = "qwen3-14b",
     .layers = 40, .hidden = 5120, .heads = 40, .width = 17408},
    {QWEN3(1e6), .kv_heads = 8, .name = "32B", .config = "qwen3_32b", .model = "qwen3-32b",
     .layers = 64, .hidden = 5120, .heads = 64, .width = 25600},
    {QWEN3_EXPERTS(1e6), .name = "30B-A3B", .config = "qwen3_30b_a3b", .model = "qwen3-30b-a3b",
     .layers = 48, .hidden = 2048, .heads = 32, .expert_width = 768},
    {QWEN3_EXPERTS(5e6), .name = "235B-A22B", .model = "qwen3-235b-a22b", .layers = 94,
     .hidden = 4096, .heads = 64, .expert_width = 1536},
    {DEEPSEEK, .name = "16B", .config = "deepseek_v3_16b", .model = "deepseek-v2-lite",
     .layers = 27, .hidden = 2048, .vocab = 102400, .heads = 16, .width = 10944, .dense = 1,
     .experts = 64, .topk = 6, .raw = true, .expert_width = 1408, .shared_width = 2816},
    {DEEPSEEK, .name = "236B", .model = "deepseek-v2", .layers = 60, .hidden = 5120,
     .vocab = 102400, .heads = 128, .q_rank = 1536, .width = 12288, .dense = 1, .experts = 160,
     .topk = 6, .expert_width = 1536, .shared_width = 3072, .groups = 8, .group_topk = 3,
     .raw = true, .scale = 16.0},
    {DEEPSEEK,
     .name = "671B",
     .config = "deepseek_v3_671b",
     .quantized = "deepseek_v3_671b_float8",
     .model = "deepseek-v3",
     .layers = 61,
     .hidden = 7168,
     .vocab = 129280,
     .heads = 128,
     .q_rank = 1536,
     .width = 18432,
     .dense = 3,
     .experts = 256,
     .topk = 8,
     .expert_width = 2048,
     .shared_width = 2048,
     .groups = 8,
     .group_topk = 4,
     .sigmoid = true,
     .scale = 2.5},
    {GPT_OSS, .name = "20b", .config = "gpt_oss_20b", .model = "gpt-oss-20b", .layers = 24,
     .experts = 32},
    {GPT_OSS, .name = "120b", .config = "gpt_oss_120b", .model = "gpt-oss-120b", .layers = 36,
     .experts = 128},
    {.name = NULL},
};
// clang-format on

bool titan_layer_has_experts(const plait_model *model, int i)
{
    return model->kind[model->layer_kind[i]].ffn == PLAIT_FFN_MOE;
}

/*
 * Return the number of layers before the first one with experts; -1 if a later layer has no
 * experts.
 */
static int leading_dense(const plait_model *model)
{
    int dense = 0;

    while (dense < model->layers && !titan_layer_has_experts(model, dense))
        dense++;
    for (int i = dense; i < model->layers; i++)
        if (!titan_layer_has_experts(model, i))
            return -1;
    return dense < model->layers ? dense : 0;
}

static bool mixer_is(const plait_layer *layer, const titan_flavour *flavour)
{
    const plait_attention *const a = &layer->attention;
    const plait_mla *const m = &layer->mla;

    if (layer->mixer == PLAIT_MIXER_MLA)
        return m->heads == flavour->heads && m->q_rank == flavour->q_rank &&
               m->kv_rank == flavour->kv_rank && m->nope_dim == flavour->nope_dim &&
               m->rope_dim == flavour->rope_dim && m->v_dim == flavour->v_dim;
    return a->heads == flavour->heads && a->kv_heads == flavour->kv_heads &&
           a->head_dim == flavour->head_dim && a->qk_norm == (flavour->family == TITAN_QWEN3);
}

static bool ffn_is(const plait_layer *layer, const titan_flavour *flavour)
{
    const plait_moe *const m = &layer->moe;

    if (layer->ffn == PLAIT_FFN_MLP)
        return layer->mlp.width == flavour->width;
    return m->experts == flavour->experts && m->topk == flavour->topk &&
           m->width == flavour->expert_width && m->shared_width == flavour->shared_width &&
           (m->groups > 1 ? m->groups : 0) == flavour->groups &&
           (m->groups > 1 ? m->group_topk : 0) == flavour->group_topk;
}

static bool model_is(const plait_model *model, const titan_flavour *flavour)
{
    for (int k = 0; k < model->kinds; k++)
        if (!mixer_is(&model->kind[k], flavour) || !ffn_is(&model->kind[k], flavour))
            return false;
    // positions that a model file leaves open match any flavour; a softmax over the scores of the
    // chosen experts alone equals a normalised softmax over all scores
    return titan_family_of(model) == flavour->family && model->layers == flavour->layers &&
           model->hidden == flavour->hidden && model->vocab == flavour->vocab &&
           model->tied == flavour->tied && leading_dense(model) == flavour->dense &&
           (model->numerics.rope.base == 0.0 && model->numerics.rope.kind == PLAIT_ROPE_PLAIN
                ? true
                : model->numerics.rope.kind == flavour->rope &&
                      model->numerics.rope.base == flavour->theta &&
                      (model->numerics.rope.kind == PLAIT_ROPE_PLAIN ||
                       model->numerics.rope.factor == flavour->factor)) &&
           (model->numerics.router.score == PLAIT_ROUTER_UNKNOWN || flavour->experts == 0 ||
                    flavour->family == TITAN_GPT_OSS
                ? true
                : (model->numerics.router.score == PLAIT_ROUTER_SIGMOID) == flavour->sigmoid &&
                      (model->numerics.router.normalised ||
                       model->numerics.router.score == PLAIT_ROUTER_SCORES) == !flavour->raw &&
                      (model->numerics.router.scale > 0.0 ? model->numerics.router.scale : 1.0) ==
                          (flavour->scale > 0.0 ? flavour->scale : 1.0));
}

const titan_flavour *titan_flavour_of(const plait_model *model)
{
    for (const titan_flavour *flavour = titan_flavours; flavour->name != NULL; flavour++)
        if (model_is(model, flavour))
            return flavour;
    return NULL;
}
