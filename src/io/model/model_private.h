/* model_private.h - what the readers of models share */
#pragma once

#include "plait/job.h"
#include "plait/model.h"

#include "io/json/json.h"

/* Upper bounds, so that the product of any two fits an int and sums over layers stay exact. */
enum {
    MODEL_MAX_HIDDEN = 1 << 20,
    MODEL_MAX_VOCAB = 1 << 24,
    MODEL_MAX_SEQ = PLAIT_MAX_SEQ,
    MODEL_MAX_WIDTH = 1 << 24,
    MODEL_MAX_HEADS = 1 << 15,
    MODEL_MAX_HEAD_DIM = 1 << 14,
    MODEL_MAX_RANK = 1 << 20,
    MODEL_MAX_EXPERTS = 1 << 16,
    MODEL_MAX_STATE = 1 << 16,
    MODEL_MAX_CONV = 1 << 10,
    MODEL_MAX_POSITIONS = 1 << 26,
    MODEL_MAX_NORMS = 16,
    MODEL_MAX_MTP = 64
};

/** Reads a plait model; the format is in docs/reference/files/model.md. *out lives in `arena`. */
plait_status model_read_plait(const json_cursor *at, plait_arena *arena, plait_model *out,
                              plait_error *err) PLAIT_MUST_CHECK;

/** Reads a Hugging Face config.json. *out and *warning live in `arena`. */
plait_status model_read_hf(const json_cursor *at, plait_arena *arena, plait_model *out,
                           const char **warning, plait_error *err) PLAIT_MUST_CHECK;

/* Checks that involve two numbers, at the key of the second (model_check.c). */
plait_status model_check_kv_heads(const json_cursor *at, const char *key, int heads, int kv_heads,
                                  plait_error *err) PLAIT_MUST_CHECK;
plait_status model_check_head_dim(const json_cursor *at, const char *key, int hidden, int heads,
                                  int *head_dim, plait_error *err) PLAIT_MUST_CHECK;
plait_status model_check_topk(const json_cursor *at, const char *key, int experts, int topk,
                              plait_error *err) PLAIT_MUST_CHECK;
plait_status model_check_groups(const json_cursor *at, const char *groups_key, const char *topk_key,
                                const plait_moe *moe, plait_error *err) PLAIT_MUST_CHECK;
