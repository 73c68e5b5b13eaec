/*
 * model.h - the model: a list of layers, each of one of a few kinds
 *
 * A layer kind is a mixer (attention, MLA, gated delta net, Mamba, convolution) followed by a
 * feed-forward part (MLP or mixture of experts), one of both alone, or an opaque layer that only has
 * costs. `layer_kind[i]` is the kind of layer i. A dense model has one kind, DeepSeek-V3 two; the
 * cost model prices each kind once.
 *
 * In order: plait_model_load (a plait model file or a Hugging Face config.json), then read the
 * struct. plait_model_params counts parameters from the same description that prices a step.
 *
 * Encoders of images and audio are separate models, with the projector that feeds the decoder.
 *
 * Left out: the values of the weights, tokenizers, and all parts after the last norm except the
 * vocabulary projection and its loss.
 */
#ifndef PLAIT_MODEL_H
#define PLAIT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "plait/arena.h"
#include "plait/error.h"

PLAIT_BEGIN_DECLS

typedef enum plait_mixer_kind {
    PLAIT_MIXER_NONE,
    PLAIT_MIXER_ATTENTION, /* multi-head or grouped-query attention */
    PLAIT_MIXER_MLA,       /* multi-head latent attention */
    PLAIT_MIXER_DELTA_NET, /* gated delta net and other linear attention */
    PLAIT_MIXER_MAMBA,     /* selective state space: Mamba and Mamba-2 */
    PLAIT_MIXER_CONV,      /* gated short convolution, with or without a linear recurrence */
    PLAIT_MIXER_KINDS
} plait_mixer_kind;

typedef enum plait_ffn_kind {
    PLAIT_FFN_NONE,
    PLAIT_FFN_MLP,
    PLAIT_FFN_MOE,
    PLAIT_FFN_KINDS
} plait_ffn_kind;

/** Multi-head or grouped-query attention. */
typedef struct plait_attention {
    int heads;
    int kv_heads; /* equal to heads without grouping */
    int head_dim;
    int v_dim;  /* width of a value head; 0: head_dim */
    int window; /* maximum number of tokens a query attends to; 0: all before it */
    int chunk;  /* tokens of a chunk; a query attends only within its chunk; 0: no chunks */
    bool qkv_bias;
    bool out_bias;
    bool qk_norm;   /* a learned norm over head_dim on q and on k */
    bool rotary;    /* rotary position embedding on q and k */
    bool gate;      /* a sigmoid gate as wide as the output, which doubles q's projection */
    bool shared_kv; /* the keys are also the values: no value projection */
    bool reused_kv; /* keys and values of an earlier layer: no projections and no cache of them */
    bool sinks;     /* one additional learned logit per head */
    bool full_mask; /* not causal (encoders) */
    int q_rank;     /* width of the latent that queries are projected from; 0: the hidden width */
    int out_groups; /* groups of heads that are projected to out_rank each; 0: one projection */
    int out_rank;
    /*
     * Compressed attention (DeepSeek-V4): besides its window, a query attends to one compressed key
     * for each `compress` earlier tokens; 0: none. With an indexer it attends to the index_topk of
     * them with the highest scores; index_* 0: to all.
     */
    int compress;
    int index_heads;
    int index_dim;
    int index_topk;
} plait_attention;

/**
 * Multi-head latent attention. index_* describe its sparse-attention indexer; 0: none. A layer with
 * index_topk alone attends to the keys that an earlier layer's indexer selected.
 */
typedef struct plait_mla {
    int heads;
    int q_rank; /* 0: q is projected directly */
    int kv_rank;
    int nope_dim; /* width of the part of a q or k head without position */
    int rope_dim; /* width of the part with position; all k heads share it */
    int v_dim;
    int index_heads;
    int index_dim;
    int index_topk; /* keys that a query attends to */
    bool gate;      /* a sigmoid gate as wide as the output, projected from the hidden width */
} plait_mla;

/** Gated delta net, Kimi delta attention (decay_rank > 0) and lightning attention (plain). */
typedef struct plait_delta_net {
    int key_heads;
    int value_heads;
    int key_dim; /* width of one key head */
    int value_dim;
    int conv;       /* width of the short convolution; 0: none */
    int decay_rank; /* rank of the projection to a decay per key channel; 0: one decay per head */
    int gate_rank;  /* rank of the projection to the output gate; 0: full rank */
    bool plain;     /* linear attention with a fixed decay, without the delta rule */
} plait_delta_net;

/** Mamba (heads 0) and Mamba-2 (heads > 0; dt_rank is unused). */
typedef struct plait_mamba {
    int inner; /* channels inside the block */
    int state;
    int conv;
    int dt_rank;
    int heads;  /* heads of inner / heads channels, each with one decay */
    int groups; /* groups of heads that share B and C */
    int chunk;  /* tokens of a chunk of the scan; 0: 256 */
} plait_mamba;

/**
 * Gated short convolution (LFM2), and with `blocks` the real-gated linear recurrent unit of Griffin,
 * whose two gates are block-diagonal products of `blocks` blocks.
 */
typedef struct plait_conv {
    int width;  /* channels inside the block */
    int kernel; /* tokens of the convolution */
    int blocks; /* blocks of each gate of the recurrence; 0: no recurrence */
    bool bias;
} plait_conv;

typedef struct plait_mlp {
    int width;
    bool gated; /* three matrices (SwiGLU, GeGLU), else two */
    bool bias;
} plait_mlp;

typedef struct plait_moe {
    int experts;
    int topk;
    int width;        /* width of one expert */
    int shared_width; /* width of all shared experts together; 0: none */
    int groups;       /* groups of experts in node-limited routing; 0: unlimited */
    int group_topk;   /* groups that a token may use; 0: unlimited */
    bool gated;
    bool bias; /* biases in the experts */
    bool router_bias;
    bool shared_gate; /* a scalar gate on the shared expert */
    double capacity;  /* tokens that an expert accepts over the mean; 0: no limit */
    bool padded;      /* an expert's tokens are padded to `capacity` */
    int latent;       /* width of the tokens that experts read and write; 0: the hidden width */
    bool latent_norm; /* a learned norm over `latent` on the sum of the experts' outputs */
    int zero_experts; /* experts without computation, which the router may choose (LongCat) */
    int redundant;    /* serving: additional copies of experts, of those with the most tokens */
} plait_moe;

/** A layer that is described only by its costs per token. (C.24) */
typedef struct plait_opaque {
    double params;
    double forward_flops;
    double forward_bytes;    /* bytes that its kernels read and write */
    double activation_bytes; /* bytes kept for backward */
} plait_opaque;

/** One kind of layer. */
typedef struct plait_layer {
    const char *name; /* "dense", "moe", "sliding" */
    bool opaque;      /* only name and `given` are valid */
    plait_opaque given;
    int norms;              /* norms over the hidden width (2; 4 in Gemma-2) */
    bool parallel_residual; /* attention and MLP read the same norm (GPT-J, GPT-NeoX) */
    plait_mixer_kind mixer;
    plait_mixer_kind
        second_mixer;          /* a second mixer that reads the same norm (Falcon-H1), or NONE */
    plait_attention attention; /* only the mixers named above are filled */
    plait_mla mla;
    plait_delta_net delta_net;
    plait_mamba mamba;
    plait_conv conv;
    plait_ffn_kind ffn;
    plait_mlp mlp; /* only the part that `ffn` names is filled */
    plait_moe moe;
    int laurel_rank;   /* rank of a second, low-rank residual branch (Gemma 3n); 0: none */
    int per_layer_dim; /* width of an embedding that each layer adds (Gemma 3n, 4); 0: none */
} plait_layer;

typedef enum plait_activation {
    PLAIT_ACTIVATION_UNKNOWN,
    PLAIT_GELU,
    PLAIT_GELU_TANH,
    PLAIT_SILU,
    PLAIT_RELU,
    PLAIT_RELU2,            /* squared */
    PLAIT_CLAMPED_SWIGLU,   /* gpt-oss: x sigmoid(1.702 x) (y + 1), both clamped */
    PLAIT_OTHER_ACTIVATION, /* one that no launch file can state (Kimi K3, Apertus) */
    PLAIT_ACTIVATIONS
} plait_activation;

/** Scaling of positions beyond the original training length. */
typedef enum plait_rope_kind {
    PLAIT_ROPE_PLAIN,
    PLAIT_ROPE_LINEAR,
    PLAIT_ROPE_LLAMA3,
    PLAIT_ROPE_YARN,
    PLAIT_ROPE_OTHER, /* any other scaling */
    PLAIT_ROPE_KINDS
} plait_rope_kind;

typedef struct plait_rope {
    plait_rope_kind kind;
    double base;       /* theta; 0: unknown */
    double local_base; /* theta of windowed layers, if different; else 0 */
    double fraction;   /* rotated share of a head's width, 0 .. 1 */
    bool interleaved;  /* pairs of neighbours (GPT-J); else pairs across halves */
    double factor;     /* scaled length over the original one */
    int original_seq;
    double low_freq; /* LLAMA3 */
    double high_freq;
    double beta_fast; /* YARN */
    double beta_slow;
    double mscale;
    double mscale_all_dim;
} plait_rope;

typedef enum plait_router_score {
    PLAIT_ROUTER_UNKNOWN,
    PLAIT_ROUTER_SOFTMAX,
    PLAIT_ROUTER_SIGMOID,
    PLAIT_ROUTER_SCORES
} plait_router_score;

typedef struct plait_router {
    plait_router_score score;
    bool normalised;      /* weights of the chosen experts sum to one */
    bool correction_bias; /* a bias that balances loads, added for the choice only */
    double scale;         /* factor on the weights of the chosen experts */
    double aux_loss;      /* coefficient of the load-balancing loss */
} plait_router;

/**
 * Numerical details of a model. No price reads them; a launch config needs them to build the same
 * model. Zero means unknown unless a comment states otherwise.
 */
typedef struct plait_numerics {
    plait_activation activation;
    double norm_eps;
    double init_std;
    bool alibi;               /* attention biases by distance replace positions */
    bool qk_l2_norm;          /* q and k are normalised without learned weights (Llama 4) */
    bool qk_norm_whole;       /* the learned norm spans all heads (OLMo 2), not one */
    double attention_softcap; /* cap of the scores; 0: none */
    double logit_softcap;
    double attention_scale; /* factor on the scores, if it is not head_dim^-1/2; else 0 */
    double embedding_scale; /* factor on the embedding's output; 0: none */
    double residual_scale;  /* factor on the output of a block; 0: none */
    double logit_scale;     /* factor on the logits; 0: none */
    plait_rope rope;
    plait_router router;
} plait_numerics;

/** Layer kinds a model may have. */
enum { PLAIT_MAX_LAYER_KINDS = 16, PLAIT_MAX_LAYERS = 4096 };

/** Decay of the learning rate after its warm-up. */
typedef enum plait_lr_decay {
    PLAIT_LR_UNKNOWN,
    PLAIT_LR_COSINE,
    PLAIT_LR_LINEAR,
    PLAIT_LR_CONSTANT,
    PLAIT_LR_DECAYS
} plait_lr_decay;

/** The tokens over which a loss balances the load of experts. */
typedef enum plait_balance {
    PLAIT_BALANCE_UNKNOWN,
    PLAIT_BALANCE_NONE,
    PLAIT_BALANCE_BATCH,    /* tokens of a microbatch */
    PLAIT_BALANCE_SEQUENCE, /* tokens of each sequence */
    PLAIT_BALANCE_GLOBAL,   /* tokens of the whole batch */
    PLAIT_BALANCES
} plait_balance;

/** Published training settings; 0: unknown. Only launch files use them. */
typedef struct plait_training {
    const char *source; /* NULL: nothing is known */
    double lr;          /* peak learning rate of AdamW */
    double min_lr;      /* learning rate at the end of its decay */
    plait_lr_decay decay;
    double tokens;       /* tokens seen when the decay ends */
    double decay_tokens; /* tokens of the decay; 0: all after the warm-up */
    double warmup_tokens;
    double warmup_steps; /* warm-up, if published in steps */
    double beta1, beta2, eps;
    double weight_decay; /* NaN: unknown, since 0 is a valid value */
    double clip;         /* maximum norm of the gradient */
    plait_balance balance;
    double bias_rate; /* update rate of the load-balancing bias */
    double mtp_loss;  /* weight of the multi-token-prediction losses */
} plait_training;

extern const char *const plait_lr_decay_name[PLAIT_LR_DECAYS + 1];
extern const char *const plait_balance_name[PLAIT_BALANCES + 1];

/** Inputs other than text that a model may have an encoder for. */
typedef enum plait_modality { PLAIT_VISION, PLAIT_AUDIO, PLAIT_MODALITIES } plait_modality;

extern const char *const plait_modality_name[PLAIT_MODALITIES + 1];

/** Format of the weights of attention in a quantized checkpoint. */
typedef enum plait_attention_weights {
    PLAIT_ATTENTION_WEIGHTS_UNKNOWN,
    PLAIT_ATTENTION_WEIGHTS_NARROW, /* as the other weights */
    PLAIT_ATTENTION_WEIGHTS_WIDE    /* 16 bits */
} plait_attention_weights;

/**
 * An encoder, and the projector from its outputs to tokens of the decoder. If every image has the
 * same number of patches, that is the model's max_seq, else max_seq is 0; for audio, max_seq is the
 * number of patches of 30 s.
 */
typedef struct plait_encoder {
    const struct plait_model *model; /* patch_dim > 0, tied, one row of vocabulary; NULL: none */
    int patch;                       /* side of a patch in pixels; 0: audio */
    int patches_per_token;           /* patches that one token of the decoder represents */
    double projector_params;
} plait_encoder;

typedef struct plait_model {
    const char *name;
    const char *family; /* Hugging Face model_type, or "" */
    const char *source; /* source of its numbers */
    int hidden;
    int vocab; /* rows of the embedding, unpadded; classes of an encoder */
    int layers;
    int kinds;
    const plait_layer *kind;         /* [kinds]; each is the kind of some layer */
    const unsigned char *layer_kind; /* [layers], an index into `kind` */
    bool layer_norm;                 /* LayerNorm (weight and bias), else RMSNorm (weight) */
    bool tied;                       /* the output projection is the embedding */
    bool head_bias;
    bool embedding_norm;   /* a norm after the embedding (BLOOM) */
    bool dropout;          /* hidden and attention dropout as published */
    int learned_positions; /* rows of a learned position table; 0: none */
    int patch_dim;         /* inputs per patch of a patch encoder; 0: token embedding */
    int mtp_layers;        /* multi-token-prediction modules after the last layer */
    int mtp_kind;          /* kind of the multi-token-prediction modules */
    int streams;           /* residual streams (hyper-connections); 0: one */
    int residual_block;    /* layers of a block of attention residuals (Kimi K3); 0: none */
    int per_layer_vocab;   /* rows of the table of per-layer embeddings; 0: none */
    int max_seq;           /* published context length; 0: unknown */
    const char *weights;   /* published format, a word of plait_weight_name; NULL: 16 bits */
    double weight_bits;    /* bits of a published weight and its scales; 0: see `weights` */
    int wide_layers;       /* layers that a published checkpoint keeps in 16 bits */
    plait_attention_weights attention_weights; /* format in the published checkpoint */
    plait_numerics numerics;
    plait_training training;
    plait_encoder encoder[PLAIT_MODALITIES];
    const char *unread; /* key of an encoder or decoder next to this one, not counted; or NULL */
} plait_model;

/** Numbers of parameters. */
typedef struct plait_params {
    double total;     /* all parameters without MTP, as model cards count */
    double active;    /* parameters that one token uses, without per-layer embeddings */
    double embedding; /* token, position and per-layer tables */
    double head;      /* output projection; 0 when tied */
    double mtp;
    double encoders; /* encoders with their projectors; not in `total` and `active` */
} plait_params;

/**
 * Count a model's parameters.
 *
 * Sums the weights in each layer's description, which prices also use, so both are consistent.
 * (C.1)
 */
plait_params plait_model_params(const plait_model *model);

extern const char *const plait_activation_name[PLAIT_ACTIVATIONS + 1];
extern const char *const plait_rope_kind_name[PLAIT_ROPE_KINDS + 1];
extern const char *const plait_router_score_name[PLAIT_ROUTER_SCORES + 1];

/**
 * Load a model from a plait model file or a Hugging Face config.json, distinguished by content.
 *
 * @param path     a file
 * @param arena    *out lives in `arena`
 * @param warning  receives a sentence, in `arena`, that lists the ignored keys ("" if none); may be
 *                 NULL
 */
PLAIT_MUST_CHECK plait_status plait_model_load(const char *path, plait_arena *arena,
                                               plait_model *out, const char **warning,
                                               plait_error *err);

/**
 * As plait_model_load, but ignore keys of a config.json that give parameters or FLOPs and that plait
 * does not understand, and name them in the warning. The rest is read like Llama, or like the class
 * of the file if plait has it.
 */
PLAIT_MUST_CHECK plait_status plait_model_load_as_llama(const char *path, plait_arena *arena,
                                                        plait_model *out, const char **warning,
                                                        plait_error *err);

/** As plait_model_load, from a text; `name` replaces the file's name in messages. */
PLAIT_MUST_CHECK plait_status plait_model_parse(const char *text, size_t length, const char *name,
                                                plait_arena *arena, plait_model *out,
                                                const char **warning, plait_error *err);

PLAIT_END_DECLS

#endif
