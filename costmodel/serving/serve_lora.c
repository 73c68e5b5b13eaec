/* serve_lora.c - LoRA adapters of a worker: their parameters, and the time of their products (C.402) */
#include <math.h>

#include "base/numbers.h"
#include "plait/lowlevel/block.h"
#include "plait/lowlevel/kernel.h"
#include "costmodel/serving/serve_grid.h"

/*
 * Returns the number of adapted matrices that a product joins, each with its own A: query, key
 * and value, or the two halves of a gated MLP; 0 for products without adapters.
 */
static double matrices_of(const plait_model *model, const plait_layer *layer, const plait_op *op)
{
    if (op->kind != PLAIT_OP_GEMM && op->kind != PLAIT_OP_GROUPED_GEMM)
        return 0.0;
    switch (op->part) {
    case PLAIT_PART_qkv:
        return layer->mixer == PLAIT_MIXER_ATTENTION ? 3.0 : 1.0;
    case PLAIT_PART_fc1:
        return layer->mlp.gated ? 2.0 : 1.0;
    case PLAIT_PART_expert_fc1:
        return layer->moe.gated ? 2.0 : 1.0;
    case PLAIT_PART_shared:
        return layer->moe.gated && op->k == model->hidden ? 2.0 : 1.0;
    case PLAIT_PART_mla_up:
    case PLAIT_PART_attn_out:
    case PLAIT_PART_fc2:
    case PLAIT_PART_expert_fc2:
        return 1.0;
    default:
        return 0.0;
    }
}

double serve_lora_params(const plait_serving *serving, const plait_layer *layer,
                         const plait_block *block)
{
    const double experts = (double)(layer->moe.experts + layer->moe.redundant) / serving->worker.ep;
    double sum = 0.0;

    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        const double matrices = matrices_of(serving->model, layer, op);
        const double copies = op->kind == PLAIT_OP_GROUPED_GEMM ? experts : op->count * op->batch;
        if (matrices > 0.0)
            sum += copies * serving->lora_rank * (matrices * op->k + op->n);
    }
    return sum;
}

/* Adapters that some of `rows` rows use, each of the adapters with equal probability. */
static double used_adapters(double adapters, double rows)
{
    return adapters * (1.0 - pow(1.0 - 1.0 / adapters, rows));
}

double serve_lora_s(const plait_serving *serving, const plait_layer *layer,
                    const plait_block *block, double *kernels)
{
    static const double bytes = 2.0; // adapters and activations have 16 bits
    const plait_accelerator *gpu = serving->cluster->group[0].accelerator;
    double sum = 0.0;

    *kernels = 0.0;
    if (serving->lora_adapters < 1)
        return 0.0;
    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        const double matrices = matrices_of(serving->model, layer, op);
        if (matrices <= 0.0)
            continue;
        const double rows = op->m * op->batch;
        const double rank = serving->lora_rank;
        const double used = op->batch * used_adapters(serving->lora_adapters, op->m);
        const double shrink = used * rank * matrices * op->k + rows * op->k;
        const double expand = used * rank * op->n + 2.0 * rows * op->n;
        sum += op->count *
               (plait_memory_op_s(gpu, bytes * shrink) + plait_memory_op_s(gpu, bytes * expand));
        *kernels += 2.0 * op->count;
    }
    return sum;
}
