/* serve_grid.h - grid of the step tables: 1, 2, 3, 4, 6, 8, 12, ... */
#pragma once

#include "plait/lowlevel/block.h"
#include "plait/serve.h"

/** Returns grid point i: 2^e for i = 2e - 1, 1.5 * 2^e for i = 2e. */
double serve_grid_point(int i);

/** Number of the model's layers of one kind. */
int serve_layers_of(const plait_model *model, int kind);

/** Seconds of host work in a step, which grow with the sequences of all attention ranks. (C.362) */
double serve_host_s(const plait_step_table *table, const plait_engine *engine, double sequences);

/** True if the model's checkpoint is published in this format. */
bool serve_is_published(const plait_model *model, plait_weight_format weights);

/** True if this part of the model is stored in the weights' format. */
bool serve_is_narrow(const plait_model *model, plait_weight_format weights, plait_part part);

/**
 * Parameters of one LoRA adapter for a layer on one rank, whose operators `block` describes.
 * (C.402)
 */
double serve_lora_params(const plait_serving *serving, const plait_layer *layer,
                         const plait_block *block);

/**
 * Seconds that the adapters' products add to a layer's pass; 0 without adapters. (C.402)
 *
 * @param kernels  receives their number
 */
double serve_lora_s(const plait_serving *serving, const plait_layer *layer,
                    const plait_block *block, double *kernels);

/** Bytes per element of the KV cache. */
double serve_kv_bytes(plait_kv_format format);

/**
 * Format in which an accelerator multiplies weights: the native precision of the weights if the
 * accelerator has it, else 16 bits after the weights are widened.
 */
typedef struct serve_format {
    plait_precision precision;
    double bytes; /* bytes per element of the stored weights */
} serve_format;

serve_format serve_format_of(const plait_accelerator *gpu, const plait_model *model,
                             plait_weight_format weights);
