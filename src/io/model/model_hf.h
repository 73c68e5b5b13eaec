/* model_hf.h - what the readers of Hugging Face configs share
 *
 * A config.json names a class (`model_type`); half of what a layer is stands in the file, the other
 * half in the class: what an absent key means, which biases there are, which layers are windowed.
 * model_hf_class.c is the table of classes, model_hf_keys.c reads a key under any of its names,
 * model_hf_parts.c reads mixers and feed-forward parts, model_hf_layers.c decides which layer has
 * which, model_hf.c does the rest but for the numerics (model_hf_numerics.h).
 */
#pragma once

#include "io/model/model_file.h"

/* What a class fixes, or what it means when the file does not say. */
enum hf_trait {
    HF_TIED = 1 << 0,        /* tie_word_embeddings when absent */
    HF_LAYER_NORM = 1 << 1,  /* LayerNorm with bias; else a norm with a weight only */
    HF_PLAIN_MLP = 1 << 2,   /* two matrices; else gated */
    HF_QKV_BIAS = 1 << 3,    /* when the class's attention_bias key is absent, or always */
    HF_NO_OUT_BIAS = 1 << 4, /* the attention's bias, if any, is not on its output */
    HF_MLP_BIAS = 1 << 5,    /* as HF_QKV_BIAS */
    HF_QK_NORM = 1 << 6,     /* when use_qk_norm is absent */
    HF_PARALLEL = 1 << 7,    /* attention and MLP side by side, when no key says otherwise */
    HF_ONE_NORM = 1 << 8,    /* ... and they share one norm */
    HF_FOUR_NORMS = 1 << 9,  /* before and after each block */
    HF_NO_ROTARY = 1 << 10,
    HF_LEARNED_POSITIONS = 1 << 11,
    HF_EMBEDDING_NORM = 1 << 12,
    HF_HEAD_BIAS = 1 << 13,
    HF_MULTI_QUERY = 1 << 14, /* one key and value head when multi_query is absent */
    HF_DROPOUT = 1 << 15,     /* when no dropout key is there */
    HF_SINKS = 1 << 16,
    HF_GATED_ATTENTION = 1 << 17, /* when attn_output_gate is absent */
    HF_ROUTER_BIAS = 1 << 18,
    HF_EXPERT_BIAS = 1 << 19,
    HF_SHARED_GATE = 1 << 20,
    HF_SHARED_MLP = 1 << 21,     /* each MoE layer also has a dense MLP of intermediate_size */
    HF_MOE_ON_REQUEST = 1 << 22, /* experts only with enable_moe_block */
    HF_MAMBA = 1 << 23,
    HF_NO_ROTARY_FULL = 1 << 24, /* the full layers among windowed ones have no rotary positions */
    HF_HALF_WIDTH = 1 << 25 /* intermediate_size is the width of gate and up projection together */
};

/* Which layers see only part of the context, when the file has no layer_types. */
typedef enum hf_pattern {
    HF_PATTERN_ALL_FULL,
    HF_PATTERN_ALL_WINDOW, /* every layer, where sliding_window is given */
    HF_PATTERN_EVEN_WINDOW,
    HF_PATTERN_LAST_FULL, /* of every `period` layers only the last is full, the others windowed */
    HF_PATTERN_LAST_LINEAR, /* likewise, the others linear */
    HF_PATTERN_LATE_WINDOW, /* from max_window_layers on, with use_sliding_window */
    HF_PATTERN_ROPE_CHUNK /* chunks where no_rope_layers is 1; by default but for every `period`th */
} hf_pattern;

typedef struct hf_class {
    const char *type; /* model_type */
    unsigned traits;  /* hf_trait */
    hf_pattern pattern;
    int period;      /* of the pattern, when the file does not say */
    int window;      /* sliding_window when absent; null is none */
    int head_dim;    /* when absent; 0: hidden / heads */
    int vocab;       /* vocab_size when absent; 0: the file must have it */
    int heads;       /* num_attention_heads when absent; 0: the file must have it */
    int kv_heads;    /* when absent; 0: as many as heads */
    int first_dense; /* first_k_dense_replace when absent */
    int shared;      /* n_shared_experts when absent */
    const char
        *attention_bias; /* the key that says whether attention has biases; NULL: none does */
    const char *mlp_bias;
} hf_class;

/** One config on its way to a model. */
typedef struct hf_config {
    const json_cursor *root;
    const json_cursor *text; /* the decoder's own object: root, or its text_config */
    const hf_class *class;
    bool known; /* `class` is in the table; else put together from the keys that are there */
    hf_class guessed;
    plait_arena *arena;
    plait_model *model;
} hf_config;

/* The parts that layers are put together from. */
typedef enum hf_mixer { HF_FULL, HF_SLIDING, HF_CHUNKED, HF_LINEAR, HF_MIXERS } hf_mixer;

/** A class of the table, or NULL. */
const hf_class *hf_class_find(const char *type);

/** The class that an entry of "architectures" means, "LlamaForCausalLM" for one; NULL: none of the table. */
const hf_class *hf_class_of_architecture(const char *architecture);

/** Why a class cannot be described as a list of decoder layers: what it is. NULL when it can. */
const char *hf_class_refused(const char *type);

/** The class of a model_type that is not in the table, guessed from the keys that are there. */
hf_class hf_class_guess(const char *type, const json_cursor *text);

/**
 * Refuses an activation that is not known to gate the MLP. The activation of an unknown class is the only key
 * that shows whether its MLP has two or three matrices.
 */
plait_status hf_check_guess(const json_cursor *text, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes a sentence that names the keys that the reader did not use; "" when there are none. Fails when one of
 * them gives a size of the architecture.
 */
plait_status hf_ignored(const hf_config *hf, const char **out, plait_error *err) PLAIT_MUST_CHECK;

/* Classes give one quantity different names; these take the first name of the list that is there.
 * The required form complains about the first one when none is. */
plait_status hf_int(const hf_config *hf, const char *const *names, int min, int max, int *out,
                    plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_int_optional(const hf_config *hf, const char *const *names, int min, int max,
                             int *out, plait_error *err) PLAIT_MUST_CHECK;

/** As hf_int(), but an absent number is `absent` unless that is 0. */
plait_status hf_int_or(const hf_config *hf, const char *const *names, int min, int max, int absent,
                       int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Attention of the first kind that has it; NULL when none does. */
const plait_attention *hf_attention(const plait_model *model);

/* A number under the first of its names that is there; null is `none`, absent leaves *out alone. */
plait_status hf_number(const json_cursor *at, const char *const *names, json_range range,
                       double none, double *out, plait_error *err) PLAIT_MUST_CHECK;

/** The name under which the quantity stands in the file; the first one when it does not. */
const char *hf_name(const hf_config *hf, const char *const *names);

/**
 * Marks keys of the decoder as read: they have no meaning for this model, because another key or the class
 * decides what they would say. NULL ends the list.
 */
void hf_skip(const hf_config *hf, const char *const *keys);

/** Whether the object has the key at all, be its value null. */
bool hf_mentions(const json_cursor *at, const char *key);

bool hf_has_trait(const hf_config *hf, enum hf_trait trait);

/** A flag of the file, or, when absent, of the class. */
plait_status hf_flag(const hf_config *hf, const char *key, bool absent, bool *out,
                     plait_error *err) PLAIT_MUST_CHECK;

/* Reads one part. A mixer fills the mixer's half of the layer, a feed-forward part the other half. */
plait_status hf_read_mixer(const hf_config *hf, hf_mixer which, plait_layer *out,
                           plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_read_mlp(const hf_config *hf, plait_layer *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_read_moe(const hf_config *hf, plait_layer *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_read_mamba(const hf_config *hf, plait_layer *out,
                           plait_error *err) PLAIT_MUST_CHECK;

/** Experts of the file's MoE layers; 0 when it has none. */
plait_status hf_experts(const hf_config *hf, int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Tokens that a windowed layer sees; 0 when none is windowed. */
plait_status hf_window(const hf_config *hf, int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Which mixer, and whether experts, each layer has: arrays of one entry a layer. */
plait_status hf_mixers_of_layers(const hf_config *hf, unsigned char *mixer,
                                 plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_experts_of_layers(const hf_config *hf, unsigned char *moe,
                                  plait_error *err) PLAIT_MUST_CHECK;
