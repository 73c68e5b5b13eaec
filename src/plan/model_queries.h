/* model_queries.h - properties of a whole model that rules and search spaces need */
#pragma once

#include "plait/runtime.h"

/** Does any layer have experts, does any mix linearly in the sequence? */
bool model_has_experts(const plait_model *model);
bool model_is_recurrent(const plait_model *model);

/**
 * Rows of the fullest of ep ranks over the mean, if a router is `uneven` times uneven. A token goes to topk
 * different experts, so one rank receives at most ep min(1, experts of a rank / topk) times the mean;
 * capacities limit it further, and padding makes all ranks equal. 0: ranks are equal.
 * (C.20, C.155)
 */
double moe_imbalance(const plait_moe *moe, double uneven, int ep);

/** The largest imbalance of all kinds of layers; at least 1. */
double model_imbalance(const plait_model *model, double uneven, int ep);

/** Does tp divide the key-value heads of every attention? */
bool model_divides_kv_heads(const plait_model *model, int tp);

/** The first kind of layers with the same norm and mixer as this one, byte for byte. */
int model_first_with_mixer(const plait_model *model, int kind);

/** Does the model have the modules of a set (bits 1 << PLAIT_MODULE_...)? */
bool model_has_modules(const plait_model *model, unsigned modules);

/** Does dropping each module of a set save memory under this software? */
bool modules_save(const plait_problem *problem, unsigned modules);

/** Does each module of a set of PLAIT_OFFLOAD_SETS have an input of its own that can be offloaded? */
bool inputs_wait(const plait_problem *problem, unsigned char set);

/** Does a recompute choice keep the inputs of a set? */
bool inputs_stay(unsigned char set, plait_recompute recompute);

/** Scores, logits and embeddings neither scaled, capped nor biased by distance; norms of q and k over
 * one head. */
bool model_scores_are_plain(const plait_model *model);
