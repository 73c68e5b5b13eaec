/* model_hf_class_numerics.c - the numbers that Hugging Face classes fix in code, or mean when absent
 *
 * Rows for the classes that depart from what most do: silu, an epsilon of 1e-6 (1e-5 with
 * LayerNorm), rotary positions of base 10000 over all of a head, and a softmax over all experts whose
 * weights stay as they are. Source: the configuration and modeling files of each class in
 * huggingface/transformers.
 */
#include "io/model/model_hf_numerics.h"

#include <string.h>

#define DEEPSEEK_V3_TRAITS (HF_INTERLEAVED | HF_NORMALISED | HF_CORRECTION_BIAS)
#define GLM4_MOE_TRAITS (HF_NORMALISED | HF_CORRECTION_BIAS)
#define LLAMA4_NUMERICS                                                                            \
    .traits = HF_INTERLEAVED | HF_QK_L2_NORM, .norm_eps = 1e-5, .rope_base = 5e5,                  \
    .score = PLAIT_ROUTER_SIGMOID
#define GEMMA3_NUMERICS                                                                            \
    .traits = HF_EMBEDDING_ROOT, .activation = PLAIT_GELU_TANH, .rope_base = 1e6,                  \
    .rope_local_base = 1e4, .query_scalar = 256
/* Gemma 4 scales no scores; positions of full layers are of another kind, which the file names. */
#define GEMMA4_NUMERICS                                                                            \
    .traits = HF_EMBEDDING_ROOT | HF_NORMALISED, .activation = PLAIT_GELU_TANH, .rope_base = 1e6,  \
    .rope_local_base = 1e4, .query_scalar = 1

static const hf_class_numerics classes[] = {
    /* RMSNorm */
    {.type = "phi3", .norm_eps = 1e-5},
    {.type = "olmo2", .traits = HF_QK_NORM_WHOLE, .norm_eps = 1e-5},
    {.type = "olmo3", .traits = HF_QK_NORM_WHOLE, .norm_eps = 1e-5, .rope_base = 5e5},
    {.type = "exaone4", .norm_eps = 1e-5},
    {.type = "ernie4_5", .norm_eps = 1e-5, .rope_base = 5e5},
    {.type = "smollm3", .rope_base = 2e6},
    {.type = "granite", .query_scalar = 1},
    {.type = "arcee", .activation = PLAIT_RELU2, .norm_eps = 1e-5},
    {.type = "apertus", .norm_eps = 1e-5, .rope_base = 12e6},
    {.type = "bitnet", .activation = PLAIT_RELU2, .norm_eps = 1e-5, .rope_base = 5e5},
    {.type = "cohere", .traits = HF_INTERLEAVED, .norm_eps = 1e-5, .logit_scale = 0.0625},
    {.type = "cohere2", .traits = HF_INTERLEAVED, .norm_eps = 1e-5, .logit_scale = 0.0625},
    {.type = "gemma", .traits = HF_EMBEDDING_ROOT, .activation = PLAIT_GELU_TANH},
    {.type = "gemma2",
     .traits = HF_EMBEDDING_ROOT,
     .activation = PLAIT_GELU_TANH,
     .query_scalar = 256,
     .attention_softcap = 50,
     .logit_softcap = 30},
    {.type = "gemma3", GEMMA3_NUMERICS},
    {.type = "gemma3_text", GEMMA3_NUMERICS},
    {.type = "mamba", .norm_eps = 1e-5},
    {.type = "falcon_mamba", .norm_eps = 1e-5},

    /* LayerNorm */
    {.type = "stablelm", .rope_fraction = 0.25},
    {.type = "starcoder2", .activation = PLAIT_GELU_TANH},
    {.type = "nemotron", .activation = PLAIT_RELU2, .rope_fraction = 0.5},
    {.type = "phi", .activation = PLAIT_GELU_TANH, .rope_fraction = 0.5},
    {.type = "falcon", .activation = PLAIT_GELU},
    {.type = "gpt2", .activation = PLAIT_GELU_TANH},
    {.type = "gpt_bigcode", .activation = PLAIT_GELU_TANH},
    {.type = "opt", .activation = PLAIT_RELU},
    {.type = "gptj", .traits = HF_INTERLEAVED, .activation = PLAIT_GELU_TANH, .rotary_dim = 64},
    {.type = "gpt_neox", .activation = PLAIT_GELU, .rope_fraction = 0.25},
    {.type = "bloom", .traits = HF_ALIBI | HF_OWN_ACTIVATION, .activation = PLAIT_GELU_TANH},
    {.type = "mpt", .activation = PLAIT_GELU},

    /* experts; a softmax over the chosen ones is one over all of them, normalised */
    {.type = "mixtral", .traits = HF_NORMALISED, .norm_eps = 1e-5, .rope_base = 1e6},
    {.type = "olmoe", .traits = HF_QK_NORM_WHOLE, .norm_eps = 1e-5},
    {.type = "granitemoe", .traits = HF_NORMALISED, .query_scalar = 1},
    {.type = "granitemoeshared", .traits = HF_NORMALISED, .query_scalar = 1},
    {.type = "ernie4_5_moe",
     .traits = HF_NORMALISED | HF_CORRECTION_BIAS,
     .norm_eps = 1e-5,
     .rope_base = 5e5},
    {.type = "minimax_m2",
     .traits = HF_QK_NORM_WHOLE | HF_NORMALISED | HF_CORRECTION_BIAS,
     .score = PLAIT_ROUTER_SIGMOID},
    {.type = "deepseek_v2", .traits = HF_INTERLEAVED},
    {.type = "deepseek_v3",
     .traits = DEEPSEEK_V3_TRAITS,
     .score = PLAIT_ROUTER_SIGMOID,
     .router_scale = 2.5},
    {.type = "deepseek_v32",
     .traits = DEEPSEEK_V3_TRAITS,
     .score = PLAIT_ROUTER_SIGMOID,
     .router_scale = 2.5},
    {.type = "kimi_k2",
     .traits = DEEPSEEK_V3_TRAITS,
     .score = PLAIT_ROUTER_SIGMOID,
     .router_scale = 2.5},
    {.type = "glm_moe_dsa",
     .traits = DEEPSEEK_V3_TRAITS,
     .norm_eps = 1e-5,
     .score = PLAIT_ROUTER_SIGMOID,
     .router_scale = 2.5},
    {.type = "glm4_moe",
     .traits = GLM4_MOE_TRAITS,
     .norm_eps = 1e-5,
     .rope_fraction = 0.5,
     .score = PLAIT_ROUTER_SIGMOID},
    {.type = "glm4_moe_text",
     .traits = GLM4_MOE_TRAITS,
     .norm_eps = 1e-5,
     .rope_fraction = 0.5,
     .score = PLAIT_ROUTER_SIGMOID},
    {.type = "gpt_oss",
     .traits = HF_OWN_ACTIVATION | HF_NORMALISED,
     .activation = PLAIT_CLAMPED_SWIGLU,
     .norm_eps = 1e-5,
     .rope_base = 150000},
    {.type = "llama4", LLAMA4_NUMERICS},
    {.type = "llama4_text", LLAMA4_NUMERICS},
    {.type = "gemma4", GEMMA4_NUMERICS},
    {.type = "gemma4_text", GEMMA4_NUMERICS},

    /* linear attention */
    {.type = "qwen3_next", .traits = HF_NORMALISED, .rope_fraction = 0.25},
    {.type = "qwen3_5_text", .rope_fraction = 0.25},
    {.type = "qwen3_5_moe_text", .traits = HF_NORMALISED, .rope_fraction = 0.25},
};

static double or_else(double number, double usual)
{
    return number != 0.0 ? number : usual;
}

hf_class_numerics hf_class_numerics_of(const hf_class *class)
{
    hf_class_numerics known = {.type = class->type};

    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        if (strcmp(classes[c].type, class->type) == 0)
            known = classes[c];
    if (known.activation == PLAIT_ACTIVATION_UNKNOWN)
        known.activation = PLAIT_SILU;
    if (known.score == PLAIT_ROUTER_UNKNOWN)
        known.score = PLAIT_ROUTER_SOFTMAX;
    known.norm_eps =
        or_else(known.norm_eps, (class->traits & (unsigned)HF_LAYER_NORM) != 0 ? 1e-5 : 1e-6);
    known.rope_base = or_else(known.rope_base, 1e4);
    known.rope_fraction = or_else(known.rope_fraction, 1.0);
    known.router_scale = or_else(known.router_scale, 1.0);
    return known;
}

bool hf_has_numerics_trait(const hf_class_numerics *known, enum hf_numerics_trait trait)
{
    return (known->traits & (unsigned)trait) != 0;
}

const plait_attention *hf_attention(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION)
            return &model->kind[k].attention;
    return NULL;
}
