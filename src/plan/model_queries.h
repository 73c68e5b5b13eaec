/* model_queries.h - properties of a whole model that rules and search spaces need */
#pragma once

#include "plait/runtime.h"

/** Does any layer have experts? Does any have a mixer that is linear in the sequence length? */
bool model_has_experts(const plait_model *model);
bool model_is_recurrent(const plait_model *model);

/**
 * Ratio of the rows of the fullest of ep ranks to the mean, for a router with imbalance `uneven`. A
 * token goes to topk different experts, so one rank receives at most ep min(1, experts of a rank /
 * topk) times the mean. Capacities limit the ratio further, and padding makes all ranks equal.
 * Returns 0 for equal ranks. (C.20, C.155)
 */
double moe_imbalance(const plait_moe *moe, double uneven, int ep);

/** Returns the largest imbalance over all kinds of layers; at least 1. */
double model_imbalance(const plait_model *model, double uneven, int ep);

/** Does tp divide the key-value heads of every attention? */
bool model_divides_kv_heads(const plait_model *model, int tp);

/** Returns the first kind of layers whose norm and mixer equal those of `kind`, byte for byte. */
int model_first_with_mixer(const plait_model *model, int kind);

/** Does the model have the modules of a set (bits 1 << PLAIT_MODULE_...)? */
bool model_has_modules(const plait_model *model, unsigned modules);

/** Does dropping each module of a set save memory under this software? */
bool modules_save(const plait_problem *problem, unsigned modules);

/** Does each module of a set of PLAIT_OFFLOAD_SETS have an input of its own that can be offloaded? */
bool offload_inputs_exist(const plait_problem *problem, unsigned char set);

/** Does a recompute choice keep the inputs of a set? */
bool recompute_keeps_inputs(unsigned char set, plait_recompute recompute);

/**
 * Are scores, logits and embeddings neither scaled, capped nor biased by distance, and do norms of
 * q and k cover one head each?
 */
bool model_scores_are_plain(const plait_model *model);
