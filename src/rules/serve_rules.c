/* serve_rules.c - deployments that each serving engine rejects, in one table */
#include "plan/serve_values.h"

typedef struct rule {
    unsigned engines; /* bit set of engines, 1 << plait_engine_kind */
    bool (*broken)(const plait_model *model, const plait_load *load, plait_worker worker);
    const char *why;
    const char *source;
} rule;

enum {
    VLLM = 1 << PLAIT_ENGINE_VLLM,
    SGLANG = 1 << PLAIT_ENGINE_SGLANG,
    TRTLLM = 1 << PLAIT_ENGINE_TRTLLM
};

static bool has_heads_left(const plait_model *model, const plait_load *load, plait_worker w)
{
    (void)load;
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        const int heads = layer->mixer == PLAIT_MIXER_ATTENTION ? layer->attention.heads
                          : layer->mixer == PLAIT_MIXER_MLA     ? layer->mla.heads
                                                                : w.tp;
        if (heads % w.tp != 0)
            return true;
    }
    return false;
}

/* Engines repeat the groups of Mamba-2 for further tensor ranks only if there is one group. */
static bool has_groups_left(const plait_model *model, const plait_load *load, plait_worker w)
{
    (void)load;
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        const plait_mamba *mamba = &layer->mamba;
        if ((layer->mixer == PLAIT_MIXER_MAMBA || layer->second_mixer == PLAIT_MIXER_MAMBA) &&
            mamba->heads > 0 && mamba->groups > 1 && mamba->groups % w.tp != 0)
            return true;
    }
    return false;
}

static bool has_some_expert_ranks(const plait_model *model, const plait_load *load, plait_worker w)
{
    (void)model;
    (void)load;
    return w.ep != 1 && w.ep != w.tp * w.dp_attention;
}

static bool has_tensor_and_attention_ranks(const plait_model *model, const plait_load *load,
                                           plait_worker w)
{
    (void)model;
    (void)load;
    return w.dp_attention > 1 && w.tp > 1;
}

static bool drafts_through_stages(const plait_model *model, const plait_load *load, plait_worker w)
{
    (void)model;
    return w.pp > 1 && load->draft > 0;
}

static bool has_more_stages_than_layers(const plait_model *model, const plait_load *load,
                                        plait_worker w)
{
    (void)load;
    return w.pp > model->layers;
}

static bool has_adapters(const plait_model *model, const plait_load *load, plait_worker w)
{
    (void)model;
    (void)w;
    return load->lora_adapters > 0;
}

static bool has_adapters_of_expert_ranks(const plait_model *model, const plait_load *load,
                                         plait_worker w)
{
    (void)model;
    return load->lora_adapters > 0 && w.ep > 1;
}

static const rule rules[] = {
    {TRTLLM, has_adapters,
     "LoRA adapters need vllm or sglang; TensorRT-LLM sets the memory of adapters as a share, not "
     "their number",
     "TensorRT-LLM's documentation of LoRA: peft_cache_config.device_cache_percent"},
    {VLLM, has_adapters_of_expert_ranks, "LoRA adapters need ep 1",
     "FusedMoEWithLoRA of vLLM (vllm/lora/layers/fused_moe.py)"},
    {VLLM | SGLANG | TRTLLM, has_heads_left, "tp must divide the attention heads",
     "vLLM, verify_with_parallel_config; TensorRT-LLM and SGLang cut whole heads as well"},
    {VLLM | SGLANG, has_groups_left,
     "tp must divide the groups of Mamba-2 layers if there are several",
     "MambaMixer2 of vLLM (layers/mamba/mamba_mixer2.py) and SGLang "
     "(layers/attention/mamba/mamba.py, mamba_v2_sharded_weight_loader)"},
    {VLLM, has_some_expert_ranks, "ep must be 1 or tp x dp_attention (--enable-expert-parallel)",
     "vLLM's documentation, expert parallel deployment: EP size = TP x DP"},
    {TRTLLM, has_tensor_and_attention_ranks,
     "dp_attention must be 1 or all ranks of a worker (enable_attention_dp)",
     "tensorrt_llm/mapping.py: with attention DP each rank has all heads"},
    {SGLANG, drafts_through_stages, "speculative decoding needs pp 1",
     "sglang/srt/server_args.py: pp above 1 excludes overlap, speculation and mixed chunks"},
    {VLLM | SGLANG | TRTLLM, has_more_stages_than_layers, "pp exceeds the number of layers",
     "each engine's partition of layers"},
};

/*
 * With block scales, the shard of each expert on a rank must consist of whole blocks of 128 x 128.
 * Sources: create_weights of vLLM's and
 * SGLang's Fp8MoE ("is not divisible by weight quantization block_n"), and vllm-project/recipes
 * 8959cf6 in MiniMax-M2.yaml and Qwen3-Coder-480B-A35B-Instruct.yaml.
 */
const char *serve_weights_broken(plait_engine_kind kind, const plait_model *model,
                                 plait_weight_format weights, plait_worker worker)
{
    static const int block = 128;
    const int cuts = worker.tp * worker.dp_attention / worker.ep;

    if (!((VLLM | SGLANG) >> kind & 1u) || weights != PLAIT_WEIGHT_FP8_BLOCK || cuts <= 1)
        return NULL;
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE && model->kind[k].moe.width % (block * cuts) != 0)
            return "weights fp8_block need expert widths per rank that are multiples of 128: raise "
                   "ep or lower tp";
    return NULL;
}

const char *plait_serve_rule_broken(plait_engine_kind kind, const plait_model *model,
                                    const plait_load *load, plait_worker worker)
{
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        if ((rules[r].engines >> kind & 1u) && rules[r].broken(model, load, worker))
            return rules[r].why;
    return NULL;
}
