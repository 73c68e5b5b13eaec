/* model_queries.h - what rules and spaces ask of a whole model */
#pragma once

#include "plait/runtime.h"

/** Does any layer have experts, does any mix linearly in the sequence? */
bool model_has_experts(const plait_model *model);
bool model_is_recurrent(const plait_model *model);

/**
 * Rows of the fullest of ep ranks over the mean when a router deals tokens `uneven` times unevenly. A
 * token goes to topk different experts, so one rank receives at most ep min(1, experts of a rank / topk)
 * times the mean; capacities limit it further, and padding makes all ranks alike. 0: ranks are alike.
 * (C.20, C.155)
 */
double moe_imbalance(const plait_moe *moe, double uneven, int ep);

/** Returns the imbalance of the kind of layers that allows most of `uneven`; at least 1. */
double model_imbalance(const plait_model *model, double uneven, int ep);

/** Does tp divide the key-value heads of every attention? */
bool model_divides_kv_heads(const plait_model *model, int tp);

/** The first kind of layers with the same mixer behind the same norm as this one: byte for byte. */
int model_first_with_mixer(const plait_model *model, int kind);

/** Does the model have what a set of modules (bits 1 << PLAIT_MODULE_...) recomputes? */
bool model_has_modules(const plait_model *model, unsigned modules);

/** ... and is there something that dropping each of them saves under this software? */
bool modules_save(const plait_problem *problem, unsigned modules);

/** Has each module of a set of PLAIT_OFFLOAD_SETS an input of its own that can wait on the host? */
bool inputs_wait(const plait_problem *problem, unsigned char set);

/** Does a recompute choice leave the inputs of a set? */
bool inputs_stay(unsigned char set, plait_recompute recompute);

/** Scores, logits and embeddings neither scaled, capped nor biased by distance; norms of q and k over
 * one head. */
bool model_scores_are_plain(const plait_model *model);
