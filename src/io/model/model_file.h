/* model_file.h - models as JSON: plait's model files, and Hugging Face configs */
#pragma once

#include "plait/problem.h"
#include "plait/model.h"

#include "io/json/json.h"
#include "io/json/json_write.h"

/*
 * Upper bounds, chosen such that the product of any two fits an int64_t and sums over layers stay
 * exact.
 */
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
    MODEL_MAX_STREAMS = 64,
    MODEL_MAX_POSITIONS = 1 << 26,
    MODEL_MAX_NORMS = 16,
    MODEL_MAX_MTP = 64
};

/**
 * Reads a plait model; docs/reference/files/model.md describes the format. *out lives in `arena`.
 */
plait_status model_read_plait(const json_cursor *at, plait_arena *arena, plait_model *out,
                              plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads a Hugging Face config.json. *out and *warning live in `arena`. With `assume_llama`, keys
 * that plait cannot price are named in the warning instead of refused.
 */
plait_status model_read_hf(const json_cursor *at, bool assume_llama, plait_arena *arena,
                           plait_model *out, const char **warning,
                           plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads the format of quantized weights from quantization_config of a config.json, or from
 * "quantization" of NVIDIA's hf_quant_config.json. Sets the members of *out on weights, unless they
 * have 16 bits. *note names a method or format that plait does not have, with the format that replaces it; otherwise NULL.
 */
plait_status hf_read_weights(const json_cursor *at, plait_arena *arena, plait_model *out,
                             const char **note, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes a model in plait's format with every key, so that reading it back gives the same model.
 */
void model_write(json_writer *json, const plait_model *model);

// ---- model.c: checks that compare two numbers; an error names the key of the second ------------

plait_status model_check_kv_heads(const json_cursor *at, const char *key, int heads, int kv_heads,
                                  plait_error *err) PLAIT_MUST_CHECK;

/** If *head_dim is 0, sets it to hidden / heads. */
plait_status model_check_head_dim(const json_cursor *at, const char *key, int hidden, int heads,
                                  int *head_dim, plait_error *err) PLAIT_MUST_CHECK;
plait_status model_check_topk(const json_cursor *at, const char *key, int experts, int topk,
                              plait_error *err) PLAIT_MUST_CHECK;
plait_status model_check_groups(const json_cursor *at, const char *groups_key, const char *topk_key,
                                const plait_moe *moe, plait_error *err) PLAIT_MUST_CHECK;

// ---- model_parts.c: a kind of layer ------------------------------------------------------------

/* Read one part of a kind of layer; *out stays unchanged if the kind does not have the part. */
plait_status model_read_mixer(const json_cursor *kind, int hidden, plait_layer *out,
                              plait_error *err) PLAIT_MUST_CHECK;
plait_status model_read_ffn(const json_cursor *kind, plait_layer *out,
                            plait_error *err) PLAIT_MUST_CHECK;

/** Reads the widths of the branches of a kind, besides its mixer and its feed-forward part. */
plait_status model_read_branches(const json_cursor *kind, plait_layer *out,
                                 plait_error *err) PLAIT_MUST_CHECK;

/** Reads the costs of an opaque kind, which has no parts. */
plait_status model_read_opaque(const json_cursor *at, plait_opaque *out,
                               plait_error *err) PLAIT_MUST_CHECK;
void model_write_kind(json_writer *json, const plait_layer *kind);

// ---- model_blocks.c: blocks of a model that do not affect prices -------------------------------

/* A missing block is read as all zero; a block that is all zero is not written. */
plait_status model_read_numerics(const json_cursor *model, plait_numerics *out,
                                 plait_error *err) PLAIT_MUST_CHECK;
void model_write_numerics(json_writer *json, const plait_numerics *numerics);
plait_status model_read_training(const json_cursor *model, plait_arena *arena, plait_training *out,
                                 plait_error *err) PLAIT_MUST_CHECK;
void model_write_training(json_writer *json, const plait_training *training);
