/* model_queries.h - properties of a whole model that rules and search spaces need */
#pragma once

#include "plait/runtime.h"

/** Returns whether any layer has experts. */
bool model_has_experts(const plait_model *model);
/** Returns the number of a layer's mixers and feed-forward parts; 2 for an opaque layer. */
int layer_sublayers(const plait_layer *layer);

/**
 * Returns whether a model is a hybrid in the terms of Megatron-LM: it has Mamba layers, or layers
 * of a mixer or a feed-forward part alone.
 */
bool model_is_hybrid(const plait_model *model);
/** Returns the mixers and feed-forward parts of each layer, 1 or 2; 0: the layers differ. */
int model_layer_parts(const plait_model *model);

/**
 * Returns the largest number of rows of any of ep ranks relative to the mean, for a router with the
 * imbalance `uneven`; 0 for equal ranks. A token goes to topk different experts, so one rank
 * receives at most ep min(1, experts of a rank / topk) times the mean. Capacities limit the ratio
 * further, and padding makes all ranks equal. (C.20, C.155)
 */
double moe_imbalance(const plait_moe *moe, double uneven, int ep);

/** Returns the width of a value head. */
int attention_v_dim(const plait_attention *attention);

/**
 * Returns the mean number of experts with computation that a token reaches: topk of the experts and
 * zero experts, which a balanced router chooses equally often. (C.177)
 */
double moe_mean_topk(const plait_moe *moe);

/** Returns the width of the tokens that experts read and write. (C.176) */
double moe_token_width(const plait_model *model, const plait_moe *moe);

/** Returns the number of residual streams, at least 1. (C.178) */
double model_streams(const plait_model *model);

/**
 * Returns the mean number of earlier blocks that the attention residual before a mixer or a
 * feed-forward part reads; 0 without attention residuals. (C.179)
 */
double model_mean_blocks(const plait_model *model, bool ffn);

/**
 * Returns the elements per token that a layer passes to the next: all streams, or the current sum
 * and, on average over the layers, the earlier blocks.
 */
double model_sent_width(const plait_model *model);

/**
 * Returns the elements per token that full recomputation keeps for each layer. A block of attention
 * residuals is one tensor for all layers that read it.
 */
double model_kept_width(const plait_model *model);

/** Returns the largest imbalance over all kinds of layers; at least 1. */
double model_imbalance(const plait_model *model, double uneven, int ep);

/** Returns whether attention is that of DeepSeek-V4: one latent is both key and value. (C.174) */
static inline bool attention_is_shared_latent(const plait_attention *attention)
{
    return attention->q_rank > 0 && attention->shared_kv;
}

/** Returns whether tp divides the number of key-value heads of every attention layer. */
bool model_divides_kv_heads(const plait_model *model, int tp);

/** Returns the first kind of layers with the same norm and mixer, byte for byte, as `kind`. */
int model_first_with_mixer(const plait_model *model, int kind);

/** Returns whether the model has all modules of a set (bits 1 << PLAIT_MODULE_...). */
bool model_has_modules(const plait_model *model, unsigned modules);

/** Returns whether recomputation of each module of a set saves memory with this software. */
bool modules_save(const plait_problem *problem, unsigned modules);

/**
 * Returns whether each module of a set has its own input to offload; `set` < PLAIT_OFFLOAD_SETS.
 */
bool offload_inputs_exist(const plait_problem *problem, unsigned char set);

/** Returns whether a recompute choice keeps the inputs of an offload set in memory. */
bool recompute_keeps_inputs(unsigned char set, plait_recompute recompute);

/**
 * Returns whether the runtime can overlap the gathers and scatters of tensor parallelism with
 * products: under sequence parallelism, in groups of `tp` ranks inside a node and a scale-up domain,
 * between accelerators that are joined by more than PCIe. Transformer Engine's user buffers also
 * need stores that reach several GPUs, and a format of products other than fp8_block and nvfp4.
 * (rule P68)
 */
bool tp_overlap_runs(const plait_problem *problem, int tp, bool sp);

/**
 * Returns true for a model without scales or caps of scores, logits and embeddings, without ALiBi,
 * and without norms of q or k that cover several heads.
 */
bool model_scores_are_plain(const plait_model *model);
