/*
 * model_hf.h - parts of the reader of Hugging Face configs
 *
 * A config.json names a class (`model_type`). The file describes only a part of a layer; the class
 * fixes the rest: defaults of absent keys, biases, which layers are windowed. model_hf_class.c is
 * the table of classes, model_hf_layout.c determines which mixer and feed-forward part each layer
 * has, model_hf_mixer.c and model_hf_ffn.c read these parts, model_hf_layers.c makes kinds of them,
 * model_hf_numerics.c reads positions, routing and scales, model_hf_encoder.c reads encoders of
 * images and audio, model_hf_weights.c reads the format of quantized weights, model_hf_ignored.c
 * checks unused keys, and model_hf.c reads everything else.
 */
#pragma once

#include "io/model/model_file.h"

/*
 * Traits that a class fixes or that an absent key implies. A name in parentheses is the key that
 * overrides the trait.
 */
enum hf_trait {
    HF_TIED = 1 << 0,        /* input and output embeddings share weights (tie_word_embeddings) */
    HF_LAYER_NORM = 1 << 1,  /* LayerNorm with bias; otherwise a norm that has only a weight */
    HF_PLAIN_MLP = 1 << 2,   /* MLP of two matrices; otherwise a gated MLP */
    HF_QKV_BIAS = 1 << 3,    /* attention has biases (attention_bias, if the class has that key) */
    HF_NO_OUT_BIAS = 1 << 4, /* the biases of attention exclude its output projection */
    HF_MLP_BIAS = 1 << 5,    /* the MLP has biases (mlp_bias, if the class has that key) */
    HF_QK_NORM = 1 << 6,     /* norms on q and k (use_qk_norm) */
    HF_PARALLEL =
        1 << 7, /* attention and MLP side by side (use_parallel_residual, parallel_attn) */
    HF_ONE_NORM = 1 << 8,   /* parallel attention and MLP share one norm */
    HF_FOUR_NORMS = 1 << 9, /* norms before and after each block */
    HF_NO_ROTARY = 1 << 10,
    HF_LEARNED_POSITIONS = 1 << 11,
    HF_EMBEDDING_NORM = 1 << 12,
    HF_HEAD_BIAS = 1 << 13,
    HF_MULTI_QUERY = 1 << 14, /* a single key and value head (multi_query) */
    HF_DROPOUT = 1 << 15,     /* dropout (any of the dropout keys) */
    HF_SINKS = 1 << 16,
    HF_GATED_ATTENTION = 1 << 17, /* a gate on the output of attention (attn_output_gate) */
    HF_ROUTER_BIAS = 1 << 18,
    HF_EXPERT_BIAS = 1 << 19,
    HF_SHARED_GATE = 1 << 20,
    HF_SHARED_MLP = 1 << 21, /* each MoE layer also has a dense MLP of width intermediate_size */
    HF_MOE_ON_REQUEST = 1 << 22, /* the model has experts only if enable_moe_block is true */
    HF_MAMBA_1 = 1 << 23,        /* state-space layers are Mamba; otherwise Mamba-2 */
    HF_NO_ROTARY_FULL = 1 << 24, /* full layers among windowed ones have no rotary positions */
    HF_HALF_WIDTH = 1 << 25,     /* intermediate_size is the sum of the gate and up widths */
    HF_ONE_PART = 1 << 26,       /* a layer is a mixer or a feed-forward part, with one norm */
    HF_PLAIN_LINEAR = 1 << 27,   /* linear layers are lightning attention */
    HF_OUT_BIAS = 1 << 28,       /* the output projection of attention has a bias in any case */
    HF_COMPRESSED = 1 << 29,     /* DeepSeek-V4's attention, and several residual streams */
    HF_WINDOW_SIZES = 1 << 30    /* values (v_head_dim) and windowed layers (swa_...) differ */
};

/* Traits that do not affect prices. A name in parentheses is the key that overrides the trait. */
enum hf_numeric_trait {
    HF_OWN_ACTIVATION = 1 << 0, /* the class ignores hidden_act */
    HF_ALIBI = 1 << 1,          /* ALiBi in every layer, without a key for it */
    HF_INTERLEAVED = 1 << 2,    /* rotary positions rotate adjacent elements (rope_interleave) */
    HF_QK_NORM_WHOLE = 1 << 3,  /* the norm on q and k spans all heads */
    HF_QK_L2_NORM = 1 << 4,     /* the norm on q and k has no weights */
    HF_EMBEDDING_ROOT = 1 << 5, /* the embedding is multiplied by the root of its width */
    HF_NORMALISED = 1 << 6, /* chosen experts' weights sum to 1 (norm_topk_prob, if in the class) */
    HF_CORRECTION_BIAS = 1 << 7 /* a bias per expert corrects the routing (topk_method) */
};

/* Mixers that a file's layers may have. */
typedef enum hf_mixer {
    HF_NO_MIXER,
    HF_FULL,
    HF_SLIDING,
    HF_CHUNKED,
    HF_LINEAR,
    HF_STATE_SPACE,
    HF_HYBRID, /* attention and a state-space mixer in parallel */
    HF_CONV,
    HF_RECURRENT,
    HF_SPARSE,           /* compressed attention with an indexer */
    HF_HEAVY_COMPRESSED, /* compressed attention to all compressed keys */
    HF_MIXERS
} hf_mixer;

typedef enum hf_ffn { HF_NO_FFN, HF_DENSE, HF_EXPERTS, HF_FFNS } hf_ffn;

/* The parts of one layer. */
typedef struct hf_layer {
    hf_mixer mixer;
    hf_ffn ffn;
    int entry; /* index of the layer in the file's lists */
} hf_layer;

/*
 * Rules that assign mixers to layers, for files without layer_types. `other` is the class's mixer
 * of layers that are not attention.
 */
typedef enum hf_pattern {
    HF_PATTERN_ALL_FULL,
    HF_PATTERN_ALL_WINDOW, /* every layer is windowed if sliding_window is given */
    HF_PATTERN_EVEN_WINDOW,
    HF_PATTERN_LAST_FULL,   /* the last of every `period` layers is full, the others are windowed */
    HF_PATTERN_LAST_LINEAR, /* the last of every `period` layers is full, the others are linear */
    HF_PATTERN_LATE_WINDOW, /* windowed from max_window_layers on, with use_sliding_window */
    HF_PATTERN_ROPE_CHUNK,  /* chunked if no_rope_layers is 1; default: all but every `period`th */
    HF_PATTERN_ALL_OTHER,
    HF_PATTERN_LETTERS, /* hybrid_override_pattern has one letter per layer */
    HF_PATTERN_CYCLE,   /* block_types, repeated */
    HF_PATTERN_LISTED,  /* full_attn_idxs or attn_layer_indices lists the layers with attention */
    HF_PATTERN_SWITCH,  /* attn_type_list has 1 for attention and 0 for others */
    HF_PATTERN_MARKED,  /* hybrid_layer_pattern has 1 for windowed layers and 0 for full ones */
    HF_PATTERN_MODULO,  /* attention if index modulo attn_layer_period is attn_layer_offset */
    HF_PATTERN_GROUPS,  /* the last of every layer_group_size layers is full, and a last rest */
    HF_PATTERN_RATIOS,  /* compress_ratios */
    HF_PATTERN_BLOCKS,  /* block_configs has one object per layer */
    HF_PATTERN_TWICE    /* a layer is two: attention with experts, then attention with an MLP */
} hf_pattern;

/**
 * A class of models. Its numbers apply if the key is absent or if the class has no such key. 0
 * means none; for `vocab` and `heads`, 0 means that the file must have the key.
 */
typedef struct hf_class {
    const char *type; /* value of model_type */
    unsigned traits;  /* bits of hf_trait */
    hf_pattern pattern;
    hf_mixer other;
    int period; /* period of the pattern, or the default of max_window_layers */
    int window;
    int head_dim; /* size of a head; 0: hidden / heads */
    int vocab;
    int heads;
    int hidden, layers, width, nested_heads; /* sizes of a decoder inside a file */
    int kv_heads;                            /* number of key and value heads; 0: equal to heads */
    int first_dense;
    int shared;                 /* number of shared experts */
    const char *attention_bias; /* key of attention biases; NULL: the class has no such key */
    const char *mlp_bias;
    const char *mlp_width;   /* key of the MLP's width; NULL: one of the usual names */
    const char *q_rank;      /* key of the width of a latent that queries are projected from */
    unsigned numeric_traits; /* bits of hf_numeric_trait */
    plait_activation activation;
    double norm_eps;
    double rope_base;
    double rope_local_base; /* rotary base of windowed layers; 0: rope_base */
    double rope_fraction;
    int rotary_dim;      /* rotated elements of a head, in place of rope_fraction */
    double query_scalar; /* attention scores are divided by its square root; 0: head_dim */
    double attention_softcap;
    double logit_softcap;
    double logit_scale;
    plait_router_score score;
    double router_scale;
} hf_class;

/* Numbers that the current layer took from lists with one number per layer. */
typedef struct hf_picks {
    int count;
    int value[16];
} hf_picks;

/** A config that is being read. */
typedef struct hf_config {
    const json_cursor *root;
    const json_cursor *text; /* object that describes the decoder: root or its text_config */
    hf_class class;
    bool known; /* `class` is a row of the table; otherwise it is guessed from the file's keys */
    bool assume_llama; /* keys that plait cannot price are named in the warning, not refused */
    plait_arena *arena;
    plait_model *model;
    const char *headless;     /* architecture without an output projection; NULL: it has one */
    int layer;                /* layer that is being read, the index in lists */
    hf_picks *picks;          /* NULL: no layer is being read, and a list is refused */
    const char *weights_note; /* how the price of the weights departs from the file; may be NULL */
    const char *left_out[PLAIT_MODALITIES]; /* why an encoder was not read; NULL: nothing to say */
} hf_config;

// ---- model_hf_class.c --------------------------------------------------------------------------

/*
 * Find a class in the table, by its type or by an entry of "architectures" such as
 * "LlamaForCausalLM".
 */
bool hf_class_find(const char *type, hf_class *out);
bool hf_class_of_architecture(const char *architecture, hf_class *out);

/**
 * Returns whether an architecture has no projection to the vocabulary: a reward model, a classifier
 * or "LlamaModel". ChatGLM's "ChatGLMModel" has one.
 */
bool hf_class_has_no_head(const char *architecture, const char *type);

/**
 * Returns a description of a class that is refused because it is no list of decoder layers, such as
 * "an encoder-only model"; NULL for other classes.
 */
const char *hf_class_refused(const char *type);

/** Guesses the traits of a class that is not in the table from the keys of the file. */
hf_class hf_class_guess(const char *type, const json_cursor *text);

/**
 * Refuses an activation that is not known from gated MLPs. In an unknown class, only the activation
 * shows whether the MLP has two or three matrices.
 */
plait_status hf_check_guess(const json_cursor *text, plait_error *err) PLAIT_MUST_CHECK;

// ---- keys (model_hf.c) -------------------------------------------------------------------------

/*
 * Read a quantity for which classes have different names: the first name of the list that the file
 * contains is used. If a required quantity is missing, the error has the first name of the list.
 * Instead of a number, the file may have a list with one number per layer.
 */
plait_status hf_int(const hf_config *hf, const char *const *names, int min, int max, int *out,
                    plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_int_optional(const hf_config *hf, const char *const *names, int min, int max,
                             int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Moves *out to the entry of the current layer in a list that is not empty, or to the last one. */
void hf_entry(const hf_config *hf, const json_cursor *list, json_cursor *out);

/** Records a number that may differ between layers with the same parts. */
void hf_pick(const hf_config *hf, int number);

/**
 * Like hf_int() if `absent` is 0, otherwise like hf_int_optional() with `absent` as the default.
 */
plait_status hf_int_or(const hf_config *hf, const char *const *names, int min, int max, int absent,
                       int *out, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads a number under the first of its names that the file contains. null gives `none`; an absent
 * key leaves *out unchanged.
 */
plait_status hf_number(const json_cursor *at, const char *const *names, json_range range,
                       double none, double *out, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Returns the name that the file uses for a quantity; the first name if the file does not have it.
 */
const char *hf_name(const hf_config *hf, const char *const *names);

/** Marks keys of the decoder that have no effect for this model as read. NULL ends the list. */
void hf_skip(const hf_config *hf, const char *const *keys);

/** Returns whether the object has the key, even with the value null. */
bool hf_mentions(const json_cursor *at, const char *key);

/** Returns a default of the class that applies to a decoder inside a file, else 0. */
int hf_nested(const hf_config *hf, int absent);

bool hf_has_trait(const hf_config *hf, enum hf_trait trait);
bool hf_has_numeric_trait(const hf_config *hf, enum hf_numeric_trait trait);

/** Reads a boolean of the file; its default is `absent`. */
plait_status hf_flag(const hf_config *hf, const char *key, bool absent, bool *out,
                     plait_error *err) PLAIT_MUST_CHECK;

/** Reads whether attention has ALiBi; MPT has the key inside attn_config. */
plait_status hf_alibi(const hf_config *hf, bool *out, plait_error *err) PLAIT_MUST_CHECK;

// ---- model_hf_mixer.c, model_hf_ffn.c ----------------------------------------------------------

/*
 * Read one part of a layer: a mixer sets the mixer's members of the layer, a feed-forward part the
 * other members.
 */
plait_status hf_read_mixer(const hf_config *hf, hf_mixer which, plait_layer *out,
                           plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_read_mlp(const hf_config *hf, plait_layer *out, plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_read_moe(const hf_config *hf, plait_layer *out, plait_error *err) PLAIT_MUST_CHECK;

/*
 * Reads whether linear layers have biases from the class's key, or from MPT's opposite key
 * "no_bias"; the default is the trait of the class.
 */
plait_status hf_read_bias(const hf_config *hf, const char *key, enum hf_trait absent, bool *out,
                          plait_error *err) PLAIT_MUST_CHECK;

/** Reads the number of experts of MoE layers; 0 if there are none. */
plait_status hf_experts(const hf_config *hf, int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Reads the number of tokens that a windowed layer attends to; 0 if no layer is windowed. */
plait_status hf_window(const hf_config *hf, int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Reads whether layer hf->layer uses the keys and values of an earlier layer. */
plait_status hf_reuses_kv(const hf_config *hf, bool *out, plait_error *err) PLAIT_MUST_CHECK;

/** Returns the object of layer hf->layer in block_configs (Nemotron-NAS). */
plait_status hf_block(const hf_config *hf, const char *part, json_cursor parents[2],
                      json_cursor *out, plait_error *err) PLAIT_MUST_CHECK;

// ---- model_hf_layout.c, model_hf_layers.c, model_hf_numerics.c, model_hf_encoder.c,
// ---- model_hf_ignored.c ------------------------------------------------------------------------

/**
 * Determines the parts of each layer, and leaves out layers without parts. `out` has one entry more
 * than the model has layers: the modules for multi-token prediction.
 */
plait_status hf_layout(const hf_config *hf, hf_layer *out, plait_error *err) PLAIT_MUST_CHECK;

/** Counts the layers of a file that gives only their list; 0 if it has none. */
int hf_listed_layers(const hf_config *hf);

/** Names of the number of modules for multi-token prediction; NULL ends the list. */
extern const char *const hf_mtp_names[];

/** Reads kinds, layers and modules for multi-token prediction. */
plait_status hf_read_layers(const hf_config *hf, plait_error *err) PLAIT_MUST_CHECK;

/** Keys that may have the activation, in the order of their precedence; NULL ends the list. */
extern const char *const hf_activation_keys[];

/** Reads all of model->numerics; the kinds of layers must already be read. */
plait_status hf_read_numerics(const hf_config *hf, plait_numerics *out,
                              plait_error *err) PLAIT_MUST_CHECK;

/** Names of the objects of encoders in a config, in the order of plait_modality. */
extern const char *const hf_encoder_key[PLAIT_MODALITIES];

/** Reads the encoders that plait describes; others stay unread, with a reason in hf->left_out. */
plait_status hf_read_encoders(hf_config *hf, plait_error *err) PLAIT_MUST_CHECK;

/** Returns the first key of an object that gives a size and that no getter read; NULL if none. */
const char *hf_unread_size(const json_cursor *object);

/**
 * Writes a warning with the keys that the reader did not use; "" if there are none. Fails if one of
 * these keys gives a size of the architecture.
 */
plait_status hf_ignored(const hf_config *hf, const char **out, plait_error *err) PLAIT_MUST_CHECK;
