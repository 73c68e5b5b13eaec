/* model_hf_class.c - the Hugging Face classes that plait knows, and what it does with others
 *
 * A row says what the class fixes in code rather than in config.json. Source: the configuration and
 * modeling files of each class in huggingface/transformers.
 */
#include <string.h>

#include "io/model/model_hf.h"
#include "io/model/model_hf_numerics.h"
#include "base/text.h"

#define GPT2_TRAITS                                                                                \
    (HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS | HF_NO_ROTARY |           \
     HF_LEARNED_POSITIONS)
#define GPT_OSS_TRAITS (HF_QKV_BIAS | HF_SINKS | HF_ROUTER_BIAS | HF_EXPERT_BIAS)
#define LLAMA4_TRAITS (HF_SHARED_MLP | HF_QK_NORM | HF_NO_ROTARY_FULL)
#define GEMMA4_TRAITS (HF_TIED | HF_FOUR_NORMS | HF_QK_NORM | HF_SHARED_MLP | HF_MOE_ON_REQUEST)
#define QWEN2                                                                                      \
    .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS, .pattern = HF_PATTERN_LATE_WINDOW, .window = 4096
#define QWEN3                                                                                      \
    .traits = HF_QK_NORM, .pattern = HF_PATTERN_LATE_WINDOW, .window = 4096,                       \
    .attention_bias = "attention_bias"
#define QWEN3_NEXT_TRAITS (HF_QK_NORM | HF_GATED_ATTENTION | HF_SHARED_GATE)

static const hf_class classes[] = {
    /* decoders of one kind of layer, the newer ones first */
    {.type = "llama", .attention_bias = "attention_bias", .mlp_bias = "mlp_bias"},
    {.type = "mistral", .pattern = HF_PATTERN_ALL_WINDOW, .window = 4096, .kv_heads = 8},
    {.type = "mistral3", .pattern = HF_PATTERN_ALL_WINDOW},
    {.type = "ministral", .pattern = HF_PATTERN_ALL_WINDOW},
    {.type = "granite", .attention_bias = "attention_bias", .mlp_bias = "mlp_bias"},
    {.type = "phi3", .pattern = HF_PATTERN_ALL_WINDOW},
    {.type = "arcee",
     .traits = HF_PLAIN_MLP,
     .attention_bias = "attention_bias",
     .mlp_bias = "mlp_bias"},
    {.type = "apertus", .traits = HF_PLAIN_MLP | HF_QK_NORM, .attention_bias = "attention_bias"},
    {.type = "bitnet", .kv_heads = 5, .attention_bias = "attention_bias"},
    {.type = "minicpm", .traits = HF_TIED, .attention_bias = "attention_bias"},
    /* The first Qwen; its modeling_qwen.py is beside the weights on the Hugging Face Hub. */
    {.type = "qwen",
     .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS | HF_HALF_WIDTH,
     .attention_bias = "qkv_bias"},
    {.type = "qwen2", QWEN2},
    {.type = "qwen3", QWEN3, .head_dim = 128},
    {.type = "qwen2_vl", QWEN2},
    {.type = "qwen2_vl_text", QWEN2},
    {.type = "qwen2_5_vl", QWEN2},
    {.type = "qwen2_5_vl_text", QWEN2},
    {.type = "qwen3_vl_text", QWEN3, .head_dim = 128},
    {.type = "seed_oss",
     .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS,
     .head_dim = 128,
     .attention_bias = "attention_bias",
     .mlp_bias = "mlp_bias"},
    {.type = "ernie4_5", .traits = HF_TIED, .attention_bias = "use_bias", .mlp_bias = "use_bias"},
    {.type = "olmo2", .traits = HF_QK_NORM, .attention_bias = "attention_bias"},
    {.type = "smollm3", .attention_bias = "attention_bias", .mlp_bias = "mlp_bias"},
    {.type = "gemma", .traits = HF_TIED, .head_dim = 256, .attention_bias = "attention_bias"},
    {.type = "cohere",
     .traits = HF_TIED | HF_PARALLEL | HF_ONE_NORM,
     .attention_bias = "attention_bias"},
    {.type = "cohere2",
     .traits = HF_TIED | HF_PARALLEL | HF_ONE_NORM | HF_NO_ROTARY_FULL,
     .pattern = HF_PATTERN_LAST_FULL,
     .period = 4,
     .window = 4096,
     .attention_bias = "attention_bias"},
    {.type = "stablelm",
     .traits = HF_LAYER_NORM | HF_NO_OUT_BIAS,
     .attention_bias = "use_qkv_bias"},
    {.type = "starcoder2",
     .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS,
     .pattern = HF_PATTERN_ALL_WINDOW,
     .attention_bias = "use_bias",
     .mlp_bias = "use_bias"},
    {.type = "nemotron",
     .traits = HF_LAYER_NORM | HF_PLAIN_MLP,
     .attention_bias = "attention_bias",
     .mlp_bias = "mlp_bias"},
    {.type = "phi",
     .traits = HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS | HF_PARALLEL |
               HF_ONE_NORM | HF_HEAD_BIAS},
    {.type = "falcon",
     .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_PARALLEL | HF_ONE_NORM | HF_MULTI_QUERY,
     .attention_bias = "bias",
     .mlp_bias = "bias"},
    {.type = "gpt2", .traits = GPT2_TRAITS | HF_DROPOUT},
    {.type = "gpt_bigcode", .traits = GPT2_TRAITS | HF_DROPOUT | HF_MULTI_QUERY},
    {.type = "opt",
     .traits = GPT2_TRAITS | HF_DROPOUT,
     .attention_bias = "enable_bias",
     .mlp_bias = "enable_bias"},
    {.type = "gptj",
     .traits =
         HF_LAYER_NORM | HF_PLAIN_MLP | HF_MLP_BIAS | HF_PARALLEL | HF_ONE_NORM | HF_HEAD_BIAS},
    {.type = "gpt_neox",
     .traits = HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS | HF_PARALLEL,
     .attention_bias = "attention_bias"},
    {.type = "bloom",
     .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_QKV_BIAS | HF_MLP_BIAS | HF_NO_ROTARY |
               HF_EMBEDDING_NORM},
    {.type = "mpt", .traits = HF_TIED | HF_LAYER_NORM | HF_PLAIN_MLP | HF_NO_ROTARY},

    /* windowed and full layers in turn */
    {.type = "gemma2",
     .traits = HF_TIED | HF_FOUR_NORMS,
     .pattern = HF_PATTERN_EVEN_WINDOW,
     .window = 4096,
     .head_dim = 256,
     .attention_bias = "attention_bias"},
    {.type = "gemma3",
     .traits = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM,
     .pattern = HF_PATTERN_LAST_FULL,
     .period = 6,
     .window = 4096,
     .vocab = 262208,
     .heads = 8,
     .kv_heads = 4,
     .head_dim = 256,
     .attention_bias = "attention_bias"},
    {.type = "gemma3_text",
     .traits = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM,
     .pattern = HF_PATTERN_LAST_FULL,
     .period = 6,
     .window = 4096,
     .vocab = 262208,
     .heads = 8,
     .kv_heads = 4,
     .head_dim = 256,
     .attention_bias = "attention_bias"},

    {.type = "olmo3",
     .traits = HF_QK_NORM,
     .pattern = HF_PATTERN_LAST_FULL,
     .period = 4,
     .window = 4096,
     .attention_bias = "attention_bias"},
    {.type = "exaone4",
     .traits = HF_QK_NORM | HF_NO_ROTARY_FULL,
     .pattern = HF_PATTERN_LAST_FULL,
     .period = 4,
     .window = 4096},

    /* experts */
    {.type = "mixtral", .pattern = HF_PATTERN_ALL_WINDOW, .kv_heads = 8},
    {.type = "olmoe", .traits = HF_QK_NORM, .attention_bias = "attention_bias"},
    {.type = "granitemoe", .attention_bias = "attention_bias"},
    {.type = "granitemoeshared", .attention_bias = "attention_bias"},
    {.type = "ernie4_5_moe",
     .traits = HF_TIED | HF_ROUTER_BIAS,
     .first_dense = 1,
     .shared = 2,
     .attention_bias = "use_bias",
     .mlp_bias = "use_bias"},
    {.type = "minimax_m2", .traits = HF_QK_NORM | HF_ROUTER_BIAS},
    {.type = "qwen2_moe",
     .traits = HF_QKV_BIAS | HF_NO_OUT_BIAS | HF_SHARED_GATE,
     .pattern = HF_PATTERN_LATE_WINDOW,
     .window = 4096,
     .attention_bias = "qkv_bias"},
    {.type = "qwen3_moe", QWEN3},
    {.type = "qwen3_vl_moe_text", QWEN3},
    {.type = "deepseek", .attention_bias = "attention_bias"},
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3", .traits = HF_ROUTER_BIAS, .first_dense = 3, .shared = 1},
    {.type = "deepseek_v32", .traits = HF_ROUTER_BIAS, .first_dense = 3, .shared = 1},
    {.type = "kimi_k2", .traits = HF_ROUTER_BIAS, .first_dense = 3, .shared = 1},
    {.type = "glm4_moe",
     .traits = HF_NO_OUT_BIAS | HF_ROUTER_BIAS,
     .first_dense = 1,
     .shared = 1,
     .head_dim = 128,
     .kv_heads = 8,
     .attention_bias = "attention_bias"},
    {.type = "glm4_moe_text",
     .traits = HF_NO_OUT_BIAS | HF_ROUTER_BIAS,
     .first_dense = 1,
     .shared = 1,
     .head_dim = 128,
     .kv_heads = 8,
     .attention_bias = "attention_bias"},
    {.type = "glm_moe_dsa", .traits = HF_ROUTER_BIAS, .first_dense = 3, .shared = 1},
    {.type = "gpt_oss",
     .traits = GPT_OSS_TRAITS,
     .pattern = HF_PATTERN_EVEN_WINDOW,
     .window = 128,
     .head_dim = 64,
     .kv_heads = 8,
     .attention_bias = "attention_bias"},
    {.type = "llama4",
     .traits = LLAMA4_TRAITS,
     .pattern = HF_PATTERN_ROPE_CHUNK,
     .period = 4,
     .head_dim = 128,
     .kv_heads = 8,
     .attention_bias = "attention_bias"},
    {.type = "llama4_text",
     .traits = LLAMA4_TRAITS,
     .pattern = HF_PATTERN_ROPE_CHUNK,
     .period = 4,
     .head_dim = 128,
     .kv_heads = 8,
     .attention_bias = "attention_bias"},
    {.type = "gemma4",
     .traits = GEMMA4_TRAITS,
     .pattern = HF_PATTERN_LAST_FULL,
     .period = 6,
     .window = 512,
     .head_dim = 256,
     .attention_bias = "attention_bias"},
    {.type = "gemma4_text",
     .traits = GEMMA4_TRAITS,
     .pattern = HF_PATTERN_LAST_FULL,
     .period = 6,
     .window = 512,
     .head_dim = 256,
     .attention_bias = "attention_bias"},

    /* linear attention */
    {.type = "qwen3_next",
     .traits = QWEN3_NEXT_TRAITS,
     .pattern = HF_PATTERN_LAST_LINEAR,
     .period = 4,
     .head_dim = 256,
     .kv_heads = 2,
     .attention_bias = "attention_bias"},
    {.type = "qwen3_5_text",
     .traits = QWEN3_NEXT_TRAITS,
     .pattern = HF_PATTERN_LAST_LINEAR,
     .period = 4,
     .head_dim = 256,
     .kv_heads = 2,
     .attention_bias = "attention_bias"},
    {.type = "qwen3_5_moe_text",
     .traits = QWEN3_NEXT_TRAITS,
     .pattern = HF_PATTERN_LAST_LINEAR,
     .period = 4,
     .head_dim = 256,
     .kv_heads = 2,
     .attention_bias = "attention_bias"},

    /* state spaces */
    {.type = "mamba", .traits = HF_MAMBA | HF_TIED},
    {.type = "falcon_mamba", .traits = HF_MAMBA | HF_TIED},
};

const hf_class *hf_class_find(const char *type)
{
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        if (strcmp(classes[c].type, type) == 0)
            return &classes[c];
    return NULL;
}

/* Is the name that of a type, "Qwen3MoeForCausalLM" of "qwen3_moe"? */
static bool names_type(const char *architecture, const char *type)
{
    static const char *const ends[] = {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration",
                                       NULL};

    for (; *type != '\0'; type++)
        if (*type != '_' && text_lower(*architecture++) != *type)
            return false;
    return text_index(architecture, ends) >= 0;
}

const hf_class *hf_class_of_architecture(const char *architecture)
{
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        if (names_type(architecture, classes[c].type))
            return &classes[c];
    return NULL;
}

/* Some of these have all the familiar keys, and would pass for what they are not. */
const char *hf_class_refused(const char *type)
{
    static const struct {
        const char *what;
        const char *types[24];
    } refused[] = {
        {"an encoder and decoder",
         {"t5", "mt5", "umt5", "longt5", "switch_transformers", "bart", "mbart", "pegasus",
          "marian", "m2m_100", "nllb-moe", "whisper", "speech_to_text", "encoder-decoder",
          "vision-encoder-decoder", "prophetnet", "fsmt", "led", "bigbird_pegasus"}},
        {"an encoder",
         {"bert", "roberta", "xlm-roberta", "distilbert", "albert", "electra", "deberta",
          "deberta-v2", "modernbert", "mpnet", "nomic_bert", "wav2vec2", "hubert", "esm",
          "longformer", "big_bird"}},
        {"a vision tower",
         {"vit", "clip", "clip_vision_model", "siglip", "siglip_vision_model", "siglip2", "dinov2",
          "swin", "swinv2", "deit", "beit", "convnext", "pixtral", "mllama_vision_model",
          "llama4_vision_model", "gemma4_vision", "qwen2_vl_vision", "sam"}},
        {"a mixture of attention and state-space or recurrent layers",
         {"jamba", "zamba", "zamba2", "bamba", "falcon_h1", "nemotron_h", "recurrent_gemma",
          "granitemoehybrid", "lfm2", "lfm2_moe", "kimi_linear", "minimax", "minimax_text_01"}},
        {"layers of two attentions and two MLPs beside experts", {"longcat_flash"}},
        {"a recurrent or second-generation state-space model",
         {"rwkv", "rwkv5", "rwkv6", "rwkv7", "mamba2", "xlstm", "retnet"}},
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

plait_status hf_check_guess(const json_cursor *text, plait_error *err)
{
    static const char *const words[] = {"silu",
                                        "swish",
                                        "swiglu",
                                        "geglu",
                                        "gelu",
                                        "gelu_new",
                                        "gelu_fast",
                                        "gelu_accurate",
                                        "gelu_python",
                                        "gelu_pytorch_tanh",
                                        "gelu_python_tanh",
                                        "quick_gelu",
                                        NULL};
    json_cursor at;

    for (const char *const *key = hf_activation_keys; *key != NULL; key++) {
        PLAIT_TRY(json_value_optional(text, *key, &at, err));
        if (json_is_string(&at) && !text_is_one_of(text, *key, words))
            return json_fail_type(
                &at, "silu, swish, swiglu or a form of gelu to show that the MLP is gated", err);
    }
    return PLAIT_OK;
}

/* As Llama, unless a key says otherwise: most decoders since 2023 are. */
hf_class hf_class_guess(const char *type, const json_cursor *text)
{
    static const char *const gates[] = {"silu", "swish", "swiglu", "geglu", NULL};
    const bool rms = json_has(text, "rms_norm_eps");
    const bool layer = json_has(text, "layer_norm_eps") || json_has(text, "layer_norm_epsilon");
    bool said = false, gated = rms;
    hf_class guess = {.type = type, .attention_bias = "attention_bias", .mlp_bias = "mlp_bias"};

    for (const char *const *key = hf_activation_keys; *key != NULL; key++) {
        said = said || json_has(text, *key);
        gated = gated || text_is_one_of(text, *key, gates);
    }
    if (layer && !rms)
        guess.traits |= HF_LAYER_NORM;
    if (!gated && (said || layer))
        guess.traits |= HF_PLAIN_MLP;
    return guess;
}
