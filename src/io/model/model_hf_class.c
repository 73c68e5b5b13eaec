/*
 * model_hf_class.c - the table of Hugging Face classes that plait supports, and the guess for other
 * classes
 *
 * A row has the properties that the class fixes in code and the defaults of absent keys of
 * config.json. Source: the configuration and modeling files of each class in
 * huggingface/transformers.
 */
#include <string.h>

#include "base/text.h"
#include "io/model/model_hf.h"

// clang-format off
#define GPT2_TRAITS                                                                                \
    (HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS | HF_NO_ROTARY |           \
     HF_LEARNED_POSITIONS)
#define MISTRAL                                                                                    \
    .pattern = HF_PATTERN_ALL_WINDOW, .window = 4096, .hidden = 4096, .layers = 32,                \
    .nested_heads = 32, .width = 14336, .kv_heads = 8
#define QWEN2                                                                                      \
    .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS, .pattern = HF_PATTERN_LATE_WINDOW, .period = 28,       \
    .window = 4096
#define QWEN3                                                                                      \
    .traits = HF_QK_NORM, .pattern = HF_PATTERN_LATE_WINDOW, .period = 28, .window = 4096,         \
    .attention_bias = "attention_bias"
#define GEMMA3                                                                                     \
    .traits = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM, .pattern = HF_PATTERN_LAST_FULL, .period = 6,  \
    .window = 4096, .vocab = 262208, .heads = 8, .kv_heads = 4, .head_dim = 256,                   \
    .attention_bias = "attention_bias", .numeric_traits = HF_EMBEDDING_ROOT,                       \
    .activation = PLAIT_GELU_TANH, .rope_base = 1e6, .rope_local_base = 1e4, .query_scalar = 256
/*
 * Attention scores of Gemma 4 are not scaled. The positions of its full layers are of another kind,
 * which the file specifies.
 */
#define GEMMA4                                                                                     \
    .traits = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM | HF_SHARED_MLP | HF_MOE_ON_REQUEST,            \
    .pattern = HF_PATTERN_LAST_FULL, .period = 6, .window = 512, .head_dim = 256,                  \
    .attention_bias = "attention_bias", .numeric_traits = HF_EMBEDDING_ROOT | HF_NORMALISED,       \
    .activation = PLAIT_GELU_TANH, .rope_base = 1e6, .rope_local_base = 1e4, .query_scalar = 1
#define LLAMA4                                                                                     \
    .traits = HF_SHARED_MLP | HF_QK_NORM | HF_NO_ROTARY_FULL, .pattern = HF_PATTERN_ROPE_CHUNK,    \
    .period = 4, .head_dim = 128, .kv_heads = 8, .attention_bias = "attention_bias",               \
    .numeric_traits = HF_INTERLEAVED | HF_QK_L2_NORM, .norm_eps = 1e-5, .rope_base = 5e5,          \
    .score = PLAIT_ROUTER_SIGMOID
#define GLM4                                                                                       \
    .head_dim = 128, .kv_heads = 2, .attention_bias = "attention_bias",                            \
    .numeric_traits = HF_INTERLEAVED, .norm_eps = 1.5625e-7, .rope_fraction = 0.5
#define GLM4_MOE                                                                                   \
    .first_dense = 1, .shared = 1, .kv_heads = 8, .attention_bias = "attention_bias",              \
    .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .norm_eps = 1e-5, .rope_fraction = 0.5,  \
    .score = PLAIT_ROUTER_SIGMOID
#define DEEPSEEK_MOE                                                                              \
    .traits = HF_ROUTER_BIAS, .shared = 1,                                                         \
    .numeric_traits = HF_INTERLEAVED | HF_NORMALISED | HF_CORRECTION_BIAS,                         \
    .score = PLAIT_ROUTER_SIGMOID
#define DEEPSEEK_V3 DEEPSEEK_MOE, .first_dense = 3, .router_scale = 2.5
#define QWEN3_NEXT                                                                                 \
    .traits = HF_QK_NORM | HF_GATED_ATTENTION | HF_SHARED_GATE, .pattern = HF_PATTERN_LAST_LINEAR, \
    .period = 4, .head_dim = 256, .kv_heads = 2, .attention_bias = "attention_bias",               \
    .rope_fraction = 0.25

#define KIMI_LINEAR                                                                                \
    .traits = HF_ROUTER_BIAS, .other = HF_LINEAR,                                                  \
    .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .norm_eps = 1e-5,                        \
    .score = PLAIT_ROUTER_SIGMOID
#define MINIMAX                                                                                    \
    .traits = HF_PLAIN_LINEAR, .pattern = HF_PATTERN_SWITCH, .other = HF_LINEAR, .kv_heads = 8,    \
    .numeric_traits = HF_NORMALISED, .norm_eps = 1e-5, .rope_base = 1e6
#define BAILING                                                                                    \
    .traits = HF_NO_OUT_BIAS, .attention_bias = "use_qkv_bias", .mlp_bias = "use_bias"
#define BAILING_LINEAR                                                                             \
    .traits = HF_NO_OUT_BIAS | HF_PLAIN_LINEAR, .pattern = HF_PATTERN_GROUPS, .other = HF_LINEAR,  \
    .attention_bias = "use_qkv_bias", .mlp_bias = "use_bias",                                      \
    .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .score = PLAIT_ROUTER_SIGMOID
#define LFM2                                                                                       \
    .traits = HF_TIED | HF_QK_NORM, .pattern = HF_PATTERN_LISTED, .other = HF_CONV,                \
    .norm_eps = 1e-5, .rope_base = 1e6
#define NEMOTRON_NAS                                                                               \
    .pattern = HF_PATTERN_BLOCKS, .attention_bias = "attention_bias", .mlp_bias = "mlp_bias",      \
    .norm_eps = 1e-5, .rope_base = 5e5
#define HUNYUAN                                                                                    \
    .traits = HF_QK_NORM, .attention_bias = "attention_bias", .numeric_traits = HF_NORMALISED,     \
    .norm_eps = 1e-5
#define EXAONE4                                                                                    \
    .traits = HF_QK_NORM | HF_NO_ROTARY_FULL, .pattern = HF_PATTERN_LAST_FULL, .period = 4,        \
    .window = 4096, .norm_eps = 1e-5
#define MINIMAX_M3                                                                                 \
    .traits = HF_QK_NORM | HF_ROUTER_BIAS, .head_dim = 128, .kv_heads = 4, .shared = 1,            \
    .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .activation = PLAIT_CLAMPED_SWIGLU,      \
    .rope_base = 5e6, .rope_fraction = 0.5, .score = PLAIT_ROUTER_SIGMOID, .router_scale = 2
#define STEP3P5                                                                                    \
    .traits = HF_QK_NORM | HF_ROUTER_BIAS, .window = 512, .head_dim = 128, .kv_heads = 8,          \
    .first_dense = 3, .attention_bias = "attention_bias", .mlp_bias = "mlp_bias",                  \
    .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .norm_eps = 1e-5,                        \
    .rope_local_base = 1e4, .rope_fraction = 0.5, .score = PLAIT_ROUTER_SIGMOID
#define PERSIMMON                                                                                  \
    .traits = HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS | HF_QK_NORM,               \
    .activation = PLAIT_RELU2, .rope_base = 25000, .rope_fraction = 0.5
#define PHI                                                                                        \
    .traits = HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS | HF_PARALLEL |             \
              HF_ONE_NORM | HF_HEAD_BIAS,                                                          \
    .activation = PLAIT_GELU_TANH, .rope_fraction = 0.5
#define STEP3                                                                                      \
    .head_dim = 256, .q_rank = "share_q_dim", .norm_eps = 1e-5, .rope_base = 5e5

static const hf_class classes[] = {
    /* decoders whose layers have the same parts */
    {.type = "llama", .attention_bias = "attention_bias", .mlp_bias = "mlp_bias", .hidden = 4096,
     .layers = 32, .nested_heads = 32, .width = 11008},
    {.type = "mllama_text_model", .rope_base = 5e5},
    {.type = "mistral", MISTRAL},
    {.type = "mistral3", MISTRAL},
    {.type = "ministral", MISTRAL},
    {.type = "ministral3", .pattern = HF_PATTERN_ALL_WINDOW, .head_dim = 128, .kv_heads = 8,
     .norm_eps = 1e-5, .rope_base = 1e6},
    {.type = "granite", .attention_bias = "attention_bias", .mlp_bias = "mlp_bias",
     .query_scalar = 1},
    {.type = "phi3", .pattern = HF_PATTERN_ALL_WINDOW, .norm_eps = 1e-5},
    {.type = "arcee", .traits = HF_PLAIN_MLP, .attention_bias = "attention_bias",
     .mlp_bias = "mlp_bias", .activation = PLAIT_RELU2, .norm_eps = 1e-5},
    {.type = "apertus", .traits = HF_PLAIN_MLP | HF_QK_NORM, .attention_bias = "attention_bias",
     .activation = PLAIT_OTHER_ACTIVATION, .norm_eps = 1e-5, .rope_base = 12e6},
    {.type = "bitnet", .kv_heads = 5, .attention_bias = "attention_bias", .activation = PLAIT_RELU2,
     .norm_eps = 1e-5, .rope_base = 5e5},
    {.type = "minicpm", .traits = HF_TIED, .attention_bias = "attention_bias"},
    /* The first Qwen, whose modeling_qwen.py is with the weights on the Hugging Face Hub. */
    {.type = "qwen", .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS | HF_HALF_WIDTH,
     .attention_bias = "qkv_bias"},
    {.type = "qwen2", QWEN2},
    {.type = "qwen3", QWEN3, .head_dim = 128},
    {.type = "qwen2_vl", QWEN2},
    {.type = "qwen2_vl_text", QWEN2},
    {.type = "qwen2_5_vl", QWEN2},
    {.type = "qwen2_5_vl_text", QWEN2},
    {.type = "qwen2_5_omni_text", QWEN2},
    {.type = "mimo", QWEN2, .attention_bias = "attention_bias"},
    {.type = "qwen3_vl_text", QWEN3, .head_dim = 128},
    {.type = "seed_oss", .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS | HF_DROPOUT, .head_dim = 128,
     .kv_heads = 8, .attention_bias = "attention_bias", .mlp_bias = "mlp_bias"},
    {.type = "ernie4_5", .traits = HF_TIED, .head_dim = 128, .kv_heads = 2,
     .attention_bias = "use_bias", .mlp_bias = "use_bias", .norm_eps = 1e-5, .rope_base = 5e5},
    {.type = "olmo2", .traits = HF_QK_NORM, .attention_bias = "attention_bias",
     .numeric_traits = HF_QK_NORM_WHOLE, .norm_eps = 1e-5},
    {.type = "smollm3", .traits = HF_TIED, .kv_heads = 4, .attention_bias = "attention_bias",
     .mlp_bias = "mlp_bias", .rope_base = 2e6},
    {.type = "hunyuan", HUNYUAN},
    {.type = "hunyuan_v1_dense", HUNYUAN},
    {.type = "glm", .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS, GLM4},
    {.type = "glm4", .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS | HF_FOUR_NORMS, GLM4},
    {.type = "glm4v_text", .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS | HF_FOUR_NORMS, GLM4},
    {.type = "internlm2", .traits = HF_QKV_BIAS, .attention_bias = "bias"},
    {.type = "internlm3", .traits = HF_NO_OUT_BIAS, .attention_bias = "qkv_bias",
     .mlp_bias = "bias"},
    {.type = "gemma", .traits = HF_TIED, .head_dim = 256, .kv_heads = 16,
     .attention_bias = "attention_bias", .numeric_traits = HF_EMBEDDING_ROOT,
     .activation = PLAIT_GELU_TANH},
    {.type = "cohere", .traits = HF_TIED | HF_PARALLEL | HF_ONE_NORM,
     .attention_bias = "attention_bias", .numeric_traits = HF_INTERLEAVED, .norm_eps = 1e-5,
     .logit_scale = 0.0625},
    {.type = "cohere2", .traits = HF_TIED | HF_PARALLEL | HF_ONE_NORM | HF_NO_ROTARY_FULL,
     .pattern = HF_PATTERN_LAST_FULL, .period = 4, .window = 4096,
     .attention_bias = "attention_bias", .numeric_traits = HF_INTERLEAVED, .norm_eps = 1e-5,
     .logit_scale = 0.0625},
    {.type = "stablelm", .traits = HF_LAYER_NORM | HF_NO_OUT_BIAS | HF_ONE_NORM,
     .attention_bias = "use_qkv_bias", .rope_fraction = 0.25},
    {.type = "starcoder2",
     .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS,
     .pattern = HF_PATTERN_ALL_WINDOW, .kv_heads = 2, .attention_bias = "use_bias",
     .mlp_bias = "use_bias", .activation = PLAIT_GELU_TANH},
    {.type = "nemotron", .traits = HF_LAYER_NORM | HF_PLAIN_MLP, .attention_bias = "attention_bias",
     .mlp_bias = "mlp_bias", .activation = PLAIT_RELU2, .rope_fraction = 0.5},
    {.type = "phi", PHI},
    {.type = "phi-msft", PHI},
    {.type = "mixformer-sequential", PHI},
    {.type = "persimmon", PERSIMMON},
    {.type = "fuyu", PERSIMMON},
    /* ChatGLM2 to GLM-4, whose modeling_chatglm.py is with the weights on the Hugging Face Hub. */
    {.type = "chatglm", .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS, .attention_bias = "add_qkv_bias",
     .mlp_bias = "add_bias_linear", .numeric_traits = HF_INTERLEAVED, .norm_eps = 1e-5,
     .rope_fraction = 0.5},
    {.type = "falcon",
     .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_PARALLEL | HF_ONE_NORM | HF_MULTI_QUERY,
     .attention_bias = "bias", .mlp_bias = "bias", .activation = PLAIT_GELU},
    /* Falcon-7B and Falcon-40B as first published */
    {.type = "RefinedWebModel",
     .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_PARALLEL | HF_ONE_NORM | HF_MULTI_QUERY,
     .attention_bias = "bias", .mlp_bias = "bias", .activation = PLAIT_GELU},
    {.type = "RefinedWeb", .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_PARALLEL,
     .attention_bias = "bias", .mlp_bias = "bias", .activation = PLAIT_GELU},
    {.type = "gpt2", .traits = GPT2_TRAITS | HF_DROPOUT, .activation = PLAIT_GELU_TANH},
    {.type = "gpt_bigcode", .traits = GPT2_TRAITS | HF_DROPOUT | HF_MULTI_QUERY,
     .activation = PLAIT_GELU_TANH},
    {.type = "opt", .traits = GPT2_TRAITS | HF_DROPOUT, .attention_bias = "enable_bias",
     .mlp_bias = "enable_bias", .activation = PLAIT_RELU},
    {.type = "gptj",
     .traits = HF_LAYER_NORM | HF_PLAIN_MLP | HF_MLP_BIAS | HF_PARALLEL | HF_ONE_NORM |
               HF_HEAD_BIAS,
     .numeric_traits = HF_INTERLEAVED, .activation = PLAIT_GELU_TANH, .rotary_dim = 64},
    {.type = "gpt_neox",
     .traits = HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS | HF_PARALLEL,
     .attention_bias = "attention_bias", .activation = PLAIT_GELU, .rope_fraction = 0.25},
    {.type = "bloom",
     .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS | HF_NO_ROTARY |
               HF_EMBEDDING_NORM,
     .numeric_traits = HF_ALIBI | HF_OWN_ACTIVATION, .activation = PLAIT_GELU_TANH},
    {.type = "mpt", .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_NO_ROTARY,
     .activation = PLAIT_GELU},

    /* decoders with windowed and full layers */
    {.type = "gemma2", .traits = HF_TIED | HF_FOUR_NORMS, .pattern = HF_PATTERN_EVEN_WINDOW,
     .window = 4096, .head_dim = 256, .kv_heads = 4, .attention_bias = "attention_bias",
     .numeric_traits = HF_EMBEDDING_ROOT, .activation = PLAIT_GELU_TANH, .query_scalar = 256,
     .attention_softcap = 50, .logit_softcap = 30},
    {.type = "gemma3", GEMMA3},
    {.type = "gemma3_text", GEMMA3},
    {.type = "olmo3", .traits = HF_QK_NORM, .pattern = HF_PATTERN_LAST_FULL, .period = 4,
     .window = 4096, .attention_bias = "attention_bias", .numeric_traits = HF_QK_NORM_WHOLE,
     .norm_eps = 1e-5, .rope_base = 5e5},
    {.type = "exaone4", EXAONE4},
    {.type = "exaone4_5_text", EXAONE4},

    /* decoders with experts */
    {.type = "mixtral", .pattern = HF_PATTERN_ALL_WINDOW, .kv_heads = 8,
     .numeric_traits = HF_NORMALISED, .norm_eps = 1e-5, .rope_base = 1e6},
    {.type = "olmoe", .traits = HF_QK_NORM, .attention_bias = "attention_bias",
     .numeric_traits = HF_QK_NORM_WHOLE, .norm_eps = 1e-5},
    {.type = "granitemoe", .attention_bias = "attention_bias", .numeric_traits = HF_NORMALISED,
     .query_scalar = 1},
    {.type = "granitemoeshared", .attention_bias = "attention_bias",
     .numeric_traits = HF_NORMALISED, .query_scalar = 1},
    {.type = "ernie4_5_moe", .traits = HF_TIED | HF_ROUTER_BIAS, .first_dense = 1, .shared = 2,
     .kv_heads = 4, .attention_bias = "use_bias", .mlp_bias = "use_bias",
     .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .norm_eps = 1e-5, .rope_base = 5e5},
    {.type = "minimax_m2", .traits = HF_QK_NORM | HF_ROUTER_BIAS, .head_dim = 128, .kv_heads = 8,
     .numeric_traits = HF_QK_NORM_WHOLE | HF_NORMALISED | HF_CORRECTION_BIAS, .rope_base = 5e6,
     .score = PLAIT_ROUTER_SIGMOID},
    {.type = "minimax_m3", MINIMAX_M3},
    {.type = "minimax_m3_vl", MINIMAX_M3},
    {.type = "minimax_m3_vl_text", MINIMAX_M3},
    {.type = "hy_v3", .traits = HF_QK_NORM | HF_ROUTER_BIAS, .head_dim = 128, .kv_heads = 8,
     .first_dense = 1, .shared = 1, .attention_bias = "attention_bias", .mlp_bias = "mlp_bias",
     .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .norm_eps = 1e-5,
     .rope_base = 11158840, .score = PLAIT_ROUTER_SIGMOID, .router_scale = 2.826},
    {.type = "mimo_v2_flash", .traits = HF_ROUTER_BIAS | HF_WINDOW_SIZES,
     .pattern = HF_PATTERN_MARKED, .window = 128, .attention_bias = "attention_bias",
     .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .norm_eps = 1e-5,
     .rope_fraction = 0.334, .score = PLAIT_ROUTER_SIGMOID},
    {.type = "laguna", .traits = HF_QK_NORM | HF_ROUTER_BIAS, .kv_heads = 8, .head_dim = 128,
     .attention_bias = "attention_bias", .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS,
     .rope_base = 5e5, .score = PLAIT_ROUTER_SIGMOID},
    {.type = "step3p5", STEP3P5},
    {.type = "step3p7", STEP3P5},
    {.type = "qwen2_moe", .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS | HF_SHARED_GATE,
     .pattern = HF_PATTERN_LATE_WINDOW, .period = 28, .window = 4096, .attention_bias = "qkv_bias"},
    {.type = "qwen3_moe", QWEN3},
    {.type = "qwen3_vl_moe_text", QWEN3},
    {.type = "qwen3_omni_moe_text", QWEN3},
    {.type = "deepseek", .attention_bias = "attention_bias"},
    {.type = "deepseek_v2", .numeric_traits = HF_INTERLEAVED},
    {.type = "deepseek_v3", DEEPSEEK_V3},
    {.type = "deepseek_v32", DEEPSEEK_V3},
    {.type = "kimi_k2", DEEPSEEK_V3},
    {.type = "glm4_moe_lite", DEEPSEEK_MOE, .first_dense = 1, .norm_eps = 1e-5,
     .router_scale = 1.8},
    {.type = "glm4_moe", .traits = HF_NO_OUT_BIAS | HF_ROUTER_BIAS, GLM4_MOE},
    {.type = "dots1", .traits = HF_QK_NORM | HF_ROUTER_BIAS, .pattern = HF_PATTERN_LATE_WINDOW,
     .period = 62, .window = 4096, .attention_bias = "attention_bias",
     .numeric_traits = HF_CORRECTION_BIAS, .score = PLAIT_ROUTER_SIGMOID},
    {.type = "hunyuan_v1_moe", HUNYUAN},
    {.type = "bailing_moe", BAILING, .numeric_traits = HF_NORMALISED},
    {.type = "bailing_moe_v2", BAILING, .numeric_traits = HF_NORMALISED,
     .score = PLAIT_ROUTER_SIGMOID},
    {.type = "step3", STEP3},
    {.type = "step3_text", STEP3},
    {.type = "phimoe", .traits = HF_LAYER_NORM, .pattern = HF_PATTERN_ALL_WINDOW, .kv_heads = 8,
     .attention_bias = "attention_bias", .rope_base = 1e6},
    {.type = "exaone_moe", .traits = HF_QK_NORM | HF_NO_ROTARY_FULL | HF_ROUTER_BIAS,
     .pattern = HF_PATTERN_LAST_FULL, .period = 4, .window = 4096, .first_dense = 1, .shared = 1,
     .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .norm_eps = 1e-5,
     .score = PLAIT_ROUTER_SIGMOID, .router_scale = 2.5},
    {.type = "afmoe",
     .traits = HF_QK_NORM | HF_NO_ROTARY_FULL | HF_ROUTER_BIAS | HF_GATED_ATTENTION |
               HF_FOUR_NORMS,
     .pattern = HF_PATTERN_LAST_FULL, .period = 4, .window = 1024, .head_dim = 128,
     .first_dense = 1, .shared = 2,
     .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .norm_eps = 1e-5,
     .score = PLAIT_ROUTER_SIGMOID},
    {.type = "glm4v_moe_text", .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS | HF_ROUTER_BIAS, GLM4_MOE},
    {.type = "glm_moe_dsa", DEEPSEEK_V3, .norm_eps = 1e-5},
    {.type = "gpt_oss", .traits = HF_QKV_BIAS | HF_SINKS | HF_ROUTER_BIAS | HF_EXPERT_BIAS,
     .pattern = HF_PATTERN_EVEN_WINDOW, .window = 128, .head_dim = 64, .kv_heads = 8,
     .attention_bias = "attention_bias", .numeric_traits = HF_OWN_ACTIVATION | HF_NORMALISED,
     .activation = PLAIT_CLAMPED_SWIGLU, .norm_eps = 1e-5, .rope_base = 150000},
    {.type = "llama4", LLAMA4},
    {.type = "llama4_text", LLAMA4},
    {.type = "gemma4", GEMMA4},
    {.type = "gemma4_text", GEMMA4},

    /* decoders whose layers have no attention or no MLP, or have other parts */
    {.type = "deepseek_v4", .traits = HF_ROUTER_BIAS | HF_SINKS | HF_COMPRESSED,
     .pattern = HF_PATTERN_RATIOS, .window = 128, .head_dim = 512, .kv_heads = 1, .shared = 1,
     .q_rank = "q_lora_rank",
     .numeric_traits = HF_INTERLEAVED | HF_NORMALISED | HF_CORRECTION_BIAS,
     .score = PLAIT_ROUTER_SCORES, .router_scale = 1.5},
    {.type = "longcat_flash", .traits = HF_SHARED_MLP | HF_ROUTER_BIAS, .pattern = HF_PATTERN_TWICE,
     .numeric_traits = HF_INTERLEAVED | HF_CORRECTION_BIAS, .norm_eps = 1e-5, .rope_base = 1e7,
     .router_scale = 6},
    {.type = "deci", NEMOTRON_NAS},
    {.type = "nemotron-nas", NEMOTRON_NAS},

    /* decoders with linear attention */
    {.type = "qwen3_next", QWEN3_NEXT, .numeric_traits = HF_NORMALISED},
    {.type = "qwen3_5_text", QWEN3_NEXT},
    {.type = "qwen3_5_moe_text", QWEN3_NEXT, .numeric_traits = HF_NORMALISED},

    {.type = "kimi_linear", KIMI_LINEAR},
    {.type = "kimi_k3", KIMI_LINEAR},
    {.type = "minimax", MINIMAX},
    {.type = "minimax_text_01", MINIMAX},
    {.type = "minimax_m1", MINIMAX},
    {.type = "bailing_moe_linear", BAILING_LINEAR},
    {.type = "bailing_moe_linear_v2", BAILING_LINEAR},
    {.type = "bailing_hybrid", BAILING_LINEAR},

    /* decoders with state-space, convolution or recurrent layers */
    {.type = "nemotron_h",
     .traits = HF_ONE_PART | HF_PLAIN_MLP | HF_ROUTER_BIAS | HF_NO_ROTARY,
     .pattern = HF_PATTERN_LETTERS, .other = HF_STATE_SPACE, .head_dim = 128, .kv_heads = 8,
     .attention_bias = "attention_bias", .mlp_bias = "mlp_bias",
     .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS, .activation = PLAIT_RELU2,
     .norm_eps = 1e-5, .score = PLAIT_ROUTER_SIGMOID},
    {.type = "granitemoehybrid", .traits = HF_NO_ROTARY, .pattern = HF_PATTERN_LISTED,
     .other = HF_STATE_SPACE, .attention_bias = "attention_bias",
     .mlp_width = "shared_intermediate_size", .numeric_traits = HF_NORMALISED, .query_scalar = 1},
    {.type = "bamba", .pattern = HF_PATTERN_LISTED, .other = HF_STATE_SPACE, .kv_heads = 8,
     .attention_bias = "attention_bias", .mlp_bias = "mlp_bias", .norm_eps = 1e-5,
     .rope_fraction = 0.5},
    {.type = "jamba", .traits = HF_MAMBA_1 | HF_NO_ROTARY, .pattern = HF_PATTERN_MODULO,
     .other = HF_STATE_SPACE, .kv_heads = 8},
    {.type = "falcon_h1", .pattern = HF_PATTERN_ALL_OTHER, .other = HF_HYBRID, .kv_heads = 8,
     .attention_bias = "attention_bias", .mlp_bias = "mlp_bias", .norm_eps = 1e-5},
    {.type = "lfm2", LFM2},
    {.type = "lfm2_moe", LFM2, .numeric_traits = HF_NORMALISED | HF_CORRECTION_BIAS,
     .score = PLAIT_ROUTER_SIGMOID},
    {.type = "recurrent_gemma", .traits = HF_TIED | HF_OUT_BIAS | HF_MLP_BIAS | HF_HALF_WIDTH,
     .pattern = HF_PATTERN_CYCLE, .window = 2048, .vocab = 256000, .heads = 10,
     .attention_bias = "attention_bias", .numeric_traits = HF_EMBEDDING_ROOT,
     .activation = PLAIT_GELU_TANH, .rope_fraction = 0.5, .logit_softcap = 30},
    {.type = "mamba", .traits = HF_MAMBA_1 | HF_TIED, .pattern = HF_PATTERN_ALL_OTHER,
     .other = HF_STATE_SPACE, .norm_eps = 1e-5},
    {.type = "falcon_mamba", .traits = HF_MAMBA_1 | HF_TIED, .pattern = HF_PATTERN_ALL_OTHER,
     .other = HF_STATE_SPACE, .norm_eps = 1e-5},
    {.type = "mamba2", .pattern = HF_PATTERN_ALL_OTHER, .other = HF_STATE_SPACE, .norm_eps = 1e-5},
};
// clang-format on

static double or_default(double number, double usual)
{
    return number != 0.0 ? number : usual;
}

/*
 * Fills in the defaults of most classes: silu, an epsilon of 1e-6 (1e-5 with LayerNorm), rotary
 * positions with base 10000 over the whole head, and a softmax over all experts whose weights are
 * not scaled.
 */
static hf_class with_defaults(const hf_class *row)
{
    hf_class out = *row;

    if (out.activation == PLAIT_ACTIVATION_UNKNOWN)
        out.activation = PLAIT_SILU;
    if (out.score == PLAIT_ROUTER_UNKNOWN)
        out.score = PLAIT_ROUTER_SOFTMAX;
    else if (out.score == PLAIT_ROUTER_SCORES) // a score that plait does not have
        out.score = PLAIT_ROUTER_UNKNOWN;
    out.norm_eps =
        or_default(out.norm_eps, (out.traits & (unsigned)HF_LAYER_NORM) != 0 ? 1e-5 : 1e-6);
    out.rope_base = or_default(out.rope_base, 1e4);
    out.rope_fraction = or_default(out.rope_fraction, 1.0);
    out.router_scale = or_default(out.router_scale, 1.0);
    return out;
}

/* Returns whether an architecture belongs to a type, as "Qwen3MoeForCausalLM" to "qwen3_moe". */
static bool has_type_and_end(const char *architecture, const char *type, const char *const *ends)
{
    for (; *type != '\0'; type++)
        if (*type != '_' && text_lower(*architecture++) != *type)
            return false;
    return text_index(architecture, ends) >= 0;
}

static bool names_type(const char *architecture, const char *type)
{
    static const char *const ends[] = {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration",
                                       NULL};

    return has_type_and_end(architecture, type, ends);
}

bool hf_class_has_no_head(const char *architecture, const char *type)
{
    static const char *const bare[] = {"Model", NULL};

    return text_ends_with(architecture, "RewardModel") ||
           text_ends_with(architecture, "ForSequenceClassification") ||
           text_ends_with(architecture, "ForTokenClassification") ||
           (strcmp(type, "chatglm") != 0 && has_type_and_end(architecture, type, bare));
}

static bool find_class(const char *name, bool matches(const char *, const char *), hf_class *out)
{
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        if (matches(name, classes[c].type)) {
            *out = with_defaults(&classes[c]);
            return true;
        }
    return false;
}

bool hf_class_find(const char *type, hf_class *out)
{
    return find_class(type, text_equal, out);
}

bool hf_class_of_architecture(const char *architecture, hf_class *out)
{
    return find_class(architecture, names_type, out);
}

/*
 * Some of the refused classes have all keys of a decoder, so without this list they would be read
 * as one.
 */
const char *hf_class_refused(const char *type)
{
    static const struct {
        const char *what;
        const char *types[24];
    } refused[] = {
        {"an encoder-decoder model",
         {"t5", "mt5", "umt5", "longt5", "switch_transformers", "bart", "mbart", "pegasus",
          "marian", "m2m_100", "nllb-moe", "whisper", "speech_to_text", "encoder-decoder",
          "vision-encoder-decoder", "prophetnet", "fsmt", "led", "bigbird_pegasus"}},
        {"an encoder-only model",
         {"bert", "roberta", "xlm-roberta", "distilbert", "albert", "electra", "deberta",
          "deberta-v2", "modernbert", "mpnet", "nomic_bert", "wav2vec2", "hubert", "esm",
          "longformer", "big_bird"}},
        {"a vision tower",
         {"vit", "clip", "clip_vision_model", "siglip", "siglip_vision_model", "siglip2", "dinov2",
          "swin", "swinv2", "deit", "beit", "convnext", "pixtral", "mllama_vision_model",
          "llama4_vision_model", "gemma4_vision", "qwen2_vl_vision", "sam"}},
        {"one block of attention that several layers share", {"zamba", "zamba2"}},
        {"predictions between layers (AltUp)", {"gemma3n", "gemma3n_text"}},
        {"a recurrent model", {"rwkv", "rwkv5", "rwkv6", "rwkv7", "xlstm", "retnet"}},
    };

    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++)
        for (const char *const *name = refused[r].types; *name != NULL; name++)
            if (strcmp(*name, type) == 0)
                return refused[r].what;
    return NULL;
}

/* ---- a class that is not in the table ---- */

static bool text_is_one_of(const json_cursor *at, const char *key, const char *const *words)
{
    int word;

    return json_has(at, key) && json_word(at, key, words, &word, NULL) == PLAIT_OK;
}

static const char *const gated_activations[] = {
    "silu",
    "swish",
    "swiglu",
    "swigluoai",
    "geglu",
    "gelu",
    "gelu_new",
    "gelu_fast",
    "gelu_accurate",
    "gelu_python",
    "gelu_pytorch_tanh",
    "gelu_python_tanh",
    "quick_gelu",
    NULL,
};

plait_status hf_check_guess(const json_cursor *text, plait_error *err)
{
    json_cursor at;

    for (const char *const *key = hf_activation_keys; *key != NULL; key++) {
        PLAIT_TRY(json_value_optional(text, *key, &at, err));
        if (json_is_string(&at) && !text_is_one_of(text, *key, gated_activations))
            return json_fail_type(
                &at, "an activation of a gated MLP (silu, swish, swiglu or a form of gelu)", err);
    }
    return PLAIT_OK;
}

/*
 * An unknown class is treated as Llama, as most decoders since 2023 are, except where its keys
 * differ.
 */
hf_class hf_class_guess(const char *type, const json_cursor *text)
{
    static const char *const gates[] = {"silu", "swish", "swiglu", "geglu", NULL};
    const bool rms = json_has(text, "rms_norm_eps");
    const bool layer = json_has(text, "layer_norm_eps") || json_has(text, "layer_norm_epsilon");
    bool has_activation = false, gated = rms;
    hf_class guess = {.type = type,
                      .attention_bias = "attention_bias",
                      .mlp_bias = "mlp_bias",
                      .rope_fraction = 1.0,
                      .router_scale = 1.0};

    for (const char *const *key = hf_activation_keys; *key != NULL; key++) {
        has_activation = has_activation || json_has(text, *key);
        gated = gated || text_is_one_of(text, *key, gates);
    }
    if (layer && !rms)
        guess.traits |= HF_LAYER_NORM;
    if (!gated && (has_activation || layer))
        guess.traits |= HF_PLAIN_MLP;
    return guess;
}
