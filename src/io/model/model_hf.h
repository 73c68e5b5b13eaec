/* model_hf.h - parts of the reader of Hugging Face configs
 *
 * A config.json names a class (`model_type`). The file has half of a layer's description, the class has the rest:
 * the meaning of absent keys, the biases, the windowed layers. model_hf_class.c is the
 * table of classes, model_hf_parts.c reads mixers and feed-forward parts, model_hf_layers.c assigns them to
 * layers, model_hf_numerics.c reads positions, routing and scales, model_hf_ignored.c checks unused keys, and
 * model_hf.c reads everything else.
 */
#pragma once

#include "io/model/model_file.h"

/* What a class fixes, or what an absent key means; the key stands in parentheses. */
enum hf_trait {
    HF_TIED = 1 << 0,        /* (tie_word_embeddings) */
    HF_LAYER_NORM = 1 << 1,  /* LayerNorm with bias; otherwise a norm with a weight only */
    HF_PLAIN_MLP = 1 << 2,   /* two matrices; otherwise a gated MLP */
    HF_QKV_BIAS = 1 << 3,    /* (the class's attention_bias, if it has that key) */
    HF_NO_OUT_BIAS = 1 << 4, /* a bias of the attention is not on its output */
    HF_MLP_BIAS = 1 << 5,    /* (the class's mlp_bias, if it has that key) */
    HF_QK_NORM = 1 << 6,     /* (use_qk_norm) */
    HF_PARALLEL =
        1 << 7, /* attention and MLP side by side (use_parallel_residual, parallel_attn) */
    HF_ONE_NORM = 1 << 8,   /* parallel attention and MLP share one norm */
    HF_FOUR_NORMS = 1 << 9, /* norms before and after each block */
    HF_NO_ROTARY = 1 << 10,
    HF_LEARNED_POSITIONS = 1 << 11,
    HF_EMBEDDING_NORM = 1 << 12,
    HF_HEAD_BIAS = 1 << 13,
    HF_MULTI_QUERY = 1 << 14, /* one key and value head (multi_query) */
    HF_DROPOUT = 1 << 15,     /* (all dropout keys) */
    HF_SINKS = 1 << 16,
    HF_GATED_ATTENTION = 1 << 17, /* (attn_output_gate) */
    HF_ROUTER_BIAS = 1 << 18,
    HF_EXPERT_BIAS = 1 << 19,
    HF_SHARED_GATE = 1 << 20,
    HF_SHARED_MLP = 1 << 21,     /* each MoE layer also has a dense MLP of intermediate_size */
    HF_MOE_ON_REQUEST = 1 << 22, /* experts only with enable_moe_block */
    HF_MAMBA = 1 << 23,
    HF_NO_ROTARY_FULL = 1 << 24, /* the full layers among windowed ones have no rotary positions */
    HF_HALF_WIDTH = 1 << 25 /* intermediate_size is the width of gate and up projection together */
};

/* Traits without influence on a price. */
enum hf_numeric_trait {
    HF_OWN_ACTIVATION = 1 << 0, /* the class ignores hidden_act */
    HF_ALIBI = 1 << 1,          /* in every layer, without a key */
    HF_INTERLEAVED = 1 << 2,    /* (rope_interleave) */
    HF_QK_NORM_WHOLE = 1 << 3,  /* the norm on q and k spans all heads */
    HF_QK_L2_NORM = 1 << 4,     /* the norm on q and k has no weights */
    HF_EMBEDDING_ROOT = 1 << 5, /* the embedding is multiplied by the root of its width */
    HF_NORMALISED = 1 << 6,     /* (norm_topk_prob, if the class has that key) */
    HF_CORRECTION_BIAS = 1 << 7 /* (topk_method) */
};

/* Which layers see only part of the context, if the file has no layer_types. */
typedef enum hf_pattern {
    HF_PATTERN_ALL_FULL,
    HF_PATTERN_ALL_WINDOW, /* every layer, if sliding_window is given */
    HF_PATTERN_EVEN_WINDOW,
    HF_PATTERN_LAST_FULL,   /* the last of every `period` layers is full, the others are windowed */
    HF_PATTERN_LAST_LINEAR, /* the last of every `period` layers is full, the others are linear */
    HF_PATTERN_LATE_WINDOW, /* from max_window_layers on, with use_sliding_window */
    HF_PATTERN_ROPE_CHUNK /* chunks where no_rope_layers is 1; by default all but every `period`th */
} hf_pattern;

/**
 * A class. Its numbers are those that an absent key means, or that the class fixes; 0 means none, and for
 * `vocab` and `heads` that the file must have the key.
 */
typedef struct hf_class {
    const char *type; /* model_type */
    unsigned traits;  /* bits of hf_trait */
    hf_pattern pattern;
    int period; /* of the pattern */
    int window;
    int head_dim; /* 0: hidden / heads */
    int vocab;
    int heads;
    int kv_heads; /* 0: as many as heads */
    int first_dense;
    int shared;                 /* shared experts */
    const char *attention_bias; /* key of the attention's biases; NULL: the class has no such key */
    const char *mlp_bias;
    unsigned numeric_traits; /* bits of hf_numeric_trait */
    plait_activation activation;
    double norm_eps;
    double rope_base;
    double rope_local_base; /* base of windowed layers; 0: rope_base */
    double rope_fraction;
    int rotary_dim;      /* rotated elements of a head, instead of the fraction */
    double query_scalar; /* attention scores are divided by its root; 0: head_dim */
    double attention_softcap;
    double logit_softcap;
    double logit_scale;
    plait_router_score score;
    double router_scale;
} hf_class;

/** One config while it is read. */
typedef struct hf_config {
    const json_cursor *root;
    const json_cursor *text; /* object of the decoder: root, or its text_config */
    hf_class class;
    bool known; /* `class` is a row of the table; otherwise guessed from the keys of the file */
    plait_arena *arena;
    plait_model *model;
} hf_config;

/* The mixers of a file's layers. */
typedef enum hf_mixer { HF_FULL, HF_SLIDING, HF_CHUNKED, HF_LINEAR, HF_MIXERS } hf_mixer;

// ---- model_hf_class.c --------------------------------------------------------------------------

/* Find a class in the table, by type or by an entry of "architectures" such as "LlamaForCausalLM". */
bool hf_class_find(const char *type, hf_class *out);
bool hf_class_of_architecture(const char *architecture, hf_class *out);

/** What a class is that has no list of decoder layers; NULL for other classes. */
const char *hf_class_refused(const char *type);

/** Guesses a class that is not in the table from the keys of the file. */
hf_class hf_class_guess(const char *type, const json_cursor *text);

/**
 * Refuses an activation that is not known to gate the MLP. The activation of an unknown class is the only key
 * that shows whether its MLP has two or three matrices.
 */
plait_status hf_check_guess(const json_cursor *text, plait_error *err) PLAIT_MUST_CHECK;

// ---- keys (model_hf.c) -------------------------------------------------------------------------

/* Classes give one quantity different names; these read the first name of the list that the file has. Errors of
 * the required form name the first of the list. */
plait_status hf_int(const hf_config *hf, const char *const *names, int min, int max, int *out,
                    plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_int_optional(const hf_config *hf, const char *const *names, int min, int max,
                             int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Reads hf_int() if `absent` is 0, otherwise hf_int_optional() with `absent` as the default. */
plait_status hf_int_or(const hf_config *hf, const char *const *names, int min, int max, int absent,
                       int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Reads a number under the first of its names; null becomes `none`, an absent key leaves *out unchanged. */
plait_status hf_number(const json_cursor *at, const char *const *names, json_range range,
                       double none, double *out, plait_error *err) PLAIT_MUST_CHECK;

/** The name under which the file has the quantity; the first one if it does not. */
const char *hf_name(const hf_config *hf, const char *const *names);

/** Marks keys of the decoder as read that have no meaning for this model. NULL ends the list. */
void hf_skip(const hf_config *hf, const char *const *keys);

/** Whether the object has the key, even if its value is null. */
bool hf_mentions(const json_cursor *at, const char *key);

bool hf_has_trait(const hf_config *hf, enum hf_trait trait);
bool hf_has_numeric_trait(const hf_config *hf, enum hf_numeric_trait trait);

/** Reads a flag of the file, which is `absent` by default. */
plait_status hf_flag(const hf_config *hf, const char *key, bool absent, bool *out,
                     plait_error *err) PLAIT_MUST_CHECK;

// ---- model_hf_parts.c --------------------------------------------------------------------------

/* Each reads one part: a mixer fills the mixer's half of the layer, a feed-forward part the other half. */
plait_status hf_read_mixer(const hf_config *hf, hf_mixer which, plait_layer *out,
                           plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_read_mlp(const hf_config *hf, plait_layer *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_read_moe(const hf_config *hf, plait_layer *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_read_mamba(const hf_config *hf, plait_layer *out,
                           plait_error *err) PLAIT_MUST_CHECK;

/** Experts of the MoE layers; 0 if there are none. */
plait_status hf_experts(const hf_config *hf, int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Tokens that a windowed layer sees; 0 if no layer is windowed. */
plait_status hf_window(const hf_config *hf, int *out, plait_error *err) PLAIT_MUST_CHECK;

// ---- model_hf_layers.c, model_hf_numerics.c, model_hf_ignored.c --------------------------------

/* The mixer of each layer, and whether it has experts: arrays of one entry a layer. */
plait_status hf_mixers_of_layers(const hf_config *hf, unsigned char *mixer,
                                 plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_experts_of_layers(const hf_config *hf, unsigned char *moe,
                                  plait_error *err) PLAIT_MUST_CHECK;

/** Keys that may name the activation, in the order of their precedence; NULL ends them. */
extern const char *const hf_activation_keys[];

/** Reads all of model->numerics, after the kinds of layers. */
plait_status hf_read_numerics(const hf_config *hf, plait_numerics *out,
                              plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes a warning that names the keys that the reader did not use; "" if there are none. Fails if one of them
 * gives a size of the architecture.
 */
plait_status hf_ignored(const hf_config *hf, const char **out, plait_error *err) PLAIT_MUST_CHECK;
