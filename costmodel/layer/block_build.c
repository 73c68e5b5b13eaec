/*
 * block_build.c - functions that append operators to the description of a layer, for
 * block_<kind>.c
 *
 * Each function appends the operators of the current pass: a product is one GEMM in the forward
 * pass and two in the backward pass; the direction of a collective and the bytes of a memory-bound
 * operation depend on the pass. So block_<kind>.c describe a layer once for all passes.
 */
#include "costmodel/layer/block_build.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "costmodel/layer/tuning.h"
#include "plan/model_queries.h"

block_draft block_draft_of(const plait_model *model, const plait_layer *layer,
                           const plait_shard *shard, plait_pass pass, plait_block *out)
{
    const double tokens = pass.sequences * pass.query_tokens / shard->cp;
    const bool serving = pass.kind == PLAIT_PREFILL || pass.kind == PLAIT_DECODE;
    const bool both = pass.kind == PLAIT_BACKWARD;

    out->ops = 0;
    out->saved_gathered = 0.0;
    out->weights = out->adapters = (plait_weights){0};
    out->cache = (plait_cache){0};
    memset(out->saved, 0, sizeof out->saved);
    return (block_draft){
        .model = model,
        .layer = layer,
        .shard = shard,
        .pass = pass,
        .forward = serving || pass.kind == PLAIT_FORWARD,
        .serving = serving,
        .backward_input = both || pass.kind == PLAIT_BACKWARD_INPUT,
        .backward_weight = both || pass.kind == PLAIT_BACKWARD_WEIGHT,
        .out = out,
        .tokens = tokens,
        .norm_tokens = shard->sp ? tokens / shard->tp : tokens,
        .at = {.place = {PLAIT_BLOCK_INPUT},
               .places = 1,
               .width = PLAIT_DIM_HIDDEN,
               .elements = tokens * model->hidden * model_streams(model)},
    };
}

double block_share(int width, int ways)
{
    return (double)((width + ways - 1) / ways);
}

bool block_quantises_once(const plait_shard *shard)
{
    return shard->precision >= PLAIT_FP8 && shard->runtime->keep.quantised_inputs;
}

/*
 * Does sequence parallelism gather the inputs of fp8 and fp4 products in fp8 or fp4 (C.303)?
 * torchao gathers fp8 tensors with one scale in fp8, but tensors with a scale for each row in 16
 * bits.
 */
static bool gathers_narrow(const plait_shard *shard)
{
    const plait_kernel_set *kernels = &shard->runtime->kernels;

    return block_quantises_once(shard) ||
           (shard->precision == PLAIT_FP8 && !kernels->rowwise_scaling);
}

void block_place(block_draft *draft, plait_dim makes, double elements)
{
    plait_place place = {
        .number = (signed char)(draft->place.number + 1),
        .inputs = draft->at.places,
        .takes = (unsigned char)draft->at.width,
        .makes = (unsigned char)makes,
        .elements = elements,
    };
    memcpy(place.reads, draft->at.place, sizeof place.reads);
    draft->place = place;
    draft->at =
        (block_stream){.place = {place.number}, .places = 1, .width = makes, .elements = elements};
}

void block_join(block_draft *draft, block_stream other)
{
    for (int i = 0; i < other.places; i++) {
        assert(draft->at.places < PLAIT_MAX_READS);
        draft->at.place[draft->at.places++] = other.place[i];
    }
}

void block_op_add(block_draft *draft, plait_op op)
{
    plait_block *out = draft->out;

    assert(out->ops < PLAIT_MAX_OPS);
    if (op.count == 0.0)
        op.count = 1.0;
    op.place = draft->place;
    out->op[out->ops++] = op;
}

void block_keep(block_draft *draft, plait_tensor tensor, double elements)
{
    draft->out->saved[tensor] += elements;
}

// ---- products (C.10) -----------------------------------------------------------------------

/*
 * C.302: bytes per element that the kernels move which quantise a tensor for both products that
 * read it. If the tensor has one scale that depends on its current values, they first read the
 * whole tensor to find its maximum.
 */
static double narrowing_bytes(const plait_shard *shard)
{
    const plait_kernel_set *kernels = &shard->runtime->kernels;
    const double q = plait_quantised_bytes(shard->precision);
    const bool looks = shard->precision == PLAIT_NVFP4 ||
                       (shard->precision == PLAIT_FP8 && !kernels->delayed_scaling);
    const double once = (looks ? HALF_BYTES : 0.0) + HALF_BYTES + 2.0 * q;

    if (shard->precision == PLAIT_FP8 && kernels->rowwise_scaling)
        return 3.0 * HALF_BYTES + 2.0 * q; // to quantise, transpose, quantise again
    return once;
}

/*
 * C.302: bytes of memory traffic that quantisation adds to a product. Each activation or gradient
 * is quantised once for both products that read it. A weight is quantised twice in each microbatch:
 * before the forward product and before the product for the input's gradient. Software that keeps
 * quantised weights quantises them only once per step, which is left out.
 */
static double quantised_of(const block_draft *draft, const block_linear *linear, const plait_op *op)
{
    const plait_shard *shard = draft->shard;
    const bool forward = op->layout == PLAIT_FORWARD;
    // a fused kernel for both products of the experts quantises the tensor between them itself
    const bool inside = linear->part == (forward ? PLAIT_PART_expert_fc2 : PLAIT_PART_expert_fc1);
    const double passes = inside ? block_unfused_share(shard, &draft->layer->moe) : 1.0;
    // if sp gathers a quantised tensor, each rank quantises only its part before the gather
    const bool gathered =
        shard->sp && linear->experts <= 0.0 &&
        (forward ? linear->makes == PLAIT_DIM_HEADS || linear->makes == PLAIT_DIM_FFN
                 : linear->makes == PLAIT_DIM_HIDDEN) &&
        (forward ? linear->k : linear->n) == draft->model->hidden;

    if (shard->precision < PLAIT_FP8 || !op->matrix_precision ||
        op->layout == PLAIT_BACKWARD_WEIGHT || passes <= 0.0)
        return 0.0;
    const double per_element = narrowing_bytes(shard);
    const double bytes = per_element * op->batch * op->m * op->k /
                         (gathered && gathers_narrow(shard) ? shard->tp : 1);
    return passes * (block_quantises_once(shard)
                         ? bytes
                         : bytes + 0.5 * (per_element + HALF_BYTES) * (op->batch * op->k * op->n));
}

double block_unfused_share(const plait_shard *shard, const plait_moe *moe)
{
    return shard->switches.fused_grouped_mlp && !moe->bias
               ? plait_unearned(shard->runtime, PLAIT_KEY_FUSED_GROUPED_MLP, 1)
               : 1.0;
}

double block_misaligned(double a, double b)
{
    const int rest = (int)fmod(a, 8.0) | (int)fmod(b, 8.0);
    const int least = rest & -rest; // largest power of two that divides both; 0: 8 or more

    return least == 0 ? 0.0 : least == 4 ? 0.5 : least == 2 ? 1.0 : 1.5;
}

/*
 * One of the three products of a linear layer y = x W, with x [rows, k], W [k, n]:
 *
 *     forward           y  = x W        [rows, k] x [k, n]
 *     input's gradient  dx = dy W^T     [rows, n] x [n, k]
 *     weight's          dW = x^T dy     [k, rows] x [rows, n]
 *
 * Each product [m, k] x [k, n] takes 2 m n k FLOPs. All are model FLOPs, except that experts count
 * the rows of a router without a capacity: dropped rows count, padding does not. The router stays
 * in bf16, and so does the head unless narrow_head is set.
 */
static void add_gemm(block_draft *draft, const block_linear *linear, plait_pass_kind layout)
{
    const plait_shard *shard = draft->shard;
    const plait_kernel_set *kernels = &shard->runtime->kernels;
    const bool head = linear->part == PLAIT_PART_head;
    const bool grouped = linear->experts > 0.0;
    const double reached = linear->reached > 0.0 ? linear->reached : linear->experts;
    const double rows = grouped ? linear->rows * linear->experts / reached : linear->rows;
    plait_op op = {
        .kind = grouped ? PLAIT_OP_GROUPED_GEMM : PLAIT_OP_GEMM,
        .part = linear->part,
        .layout = layout,
        .matrix_precision = head      ? kernels->narrow_head
                            : grouped ? !kernels->wide_experts
                                      : linear->part != PLAIT_PART_router && !linear->wide &&
                                            !kernels->wide_linears,
        .batch = grouped ? reached : larger(1.0, linear->blocks),
        .m = layout == PLAIT_BACKWARD_WEIGHT ? linear->k : rows,
        .n = layout == PLAIT_BACKWARD_INPUT ? linear->k : linear->n,
        .k = layout == PLAIT_BACKWARD_INPUT    ? linear->n
             : layout == PLAIT_BACKWARD_WEIGHT ? rows
                                               : linear->k,
        .imbalance = linear->imbalance,
    };

    op.flops = 2.0 * op.batch * op.m * op.n * op.k;
    op.model_flops = grouped ? op.flops / linear->rows_kept : op.flops;
    op.bytes = HALF_BYTES * op.batch * (op.m * op.k + op.k * op.n + op.m * op.n);
    op.quantised = quantised_of(draft, linear, &op);
    // C.312: operands have rows of k or n elements; most software pads the vocabulary of the head
    if (!op.matrix_precision || shard->precision < PLAIT_FP8)
        op.misaligned =
            block_misaligned(linear->k, head && !kernels->unpadded_vocab ? linear->k : linear->n);
    if (layout == PLAIT_BACKWARD_WEIGHT && kernels->fused_accumulation) // C.301
        op.accumulated = plait_state_format_bytes(shard->grad_reduce);
    block_op_add(draft, op);
}

void block_products_add(block_draft *draft, const block_linear *linear)
{
    if (draft->forward)
        add_gemm(draft, linear, PLAIT_FORWARD);
    if (draft->backward_input)
        add_gemm(draft, linear, PLAIT_BACKWARD_INPUT);
    if (draft->backward_weight)
        add_gemm(draft, linear, PLAIT_BACKWARD_WEIGHT);
}

/*
 * C.413: kernels restore a matrix in NF4 to 16 bits before each product that reads it. A frozen
 * matrix has no product for its gradient.
 */
static void add_frozen(block_draft *draft, const block_linear *linear, double params)
{
    const double nf4_bytes = plait_frozen_format_bytes(PLAIT_FROZEN_NF4);

    if (draft->shard->frozen_format == PLAIT_FROZEN_NF4 && linear->part != PLAIT_PART_head)
        block_pass_add(draft, linear->part, params,
                       (block_traffic){nf4_bytes + HALF_BYTES, nf4_bytes + HALF_BYTES});
    if (draft->forward)
        add_gemm(draft, linear, PLAIT_FORWARD);
    if (draft->backward_input)
        add_gemm(draft, linear, PLAIT_BACKWARD_INPUT);
}

/* Each weight matrix or block has k n parameters, and n more if it has a bias. */
void block_linear_add(block_draft *draft, block_linear linear)
{
    const bool grouped = linear.experts > 0.0;
    const double matrices = grouped ? linear.experts : larger(1.0, linear.blocks);
    const double params = matrices * (linear.n * linear.k + (linear.bias ? linear.n : 0.0));

    block_place(draft, linear.makes, matrices * linear.rows * linear.n);
    const bool frozen = draft->shard->frozen >> linear.part & 1u;
    plait_weights *const w = &draft->out->weights;
    if (!linear.counted_elsewhere)
        *(grouped ? &w->expert : &w->dense) += params;
    if (!linear.counted_elsewhere && frozen)
        *(grouped ? &w->frozen_expert : &w->frozen_dense) += params;
    if (linear.rows <= 0.0)
        return;
    if (!frozen) {
        block_products_add(draft, &linear);
        return;
    }
    add_frozen(draft, &linear, params);
    block_adapter_add(draft, &linear);
}

void block_product_add(block_draft *draft, plait_part part, double rows, double k, double n,
                       plait_dim makes, bool bias)
{
    block_linear_add(
        draft,
        (block_linear){.part = part, .rows = rows, .k = k, .n = n, .makes = makes, .bias = bias});
}

// ---- memory-bound operations (C.11) --------------------------------------------------------

block_traffic block_traffic_of(block_pass pass, bool fused)
{
    static const struct {
        block_traffic fused, eager;
    } passes[BLOCK_PASSES] = {
#define X(name, forward, backward, eager_forward, eager_backward)                                  \
    {{forward, backward}, {eager_forward, eager_backward}},
        BLOCK_PASS_LIST(X)
#undef X
    };

    return fused ? passes[pass].fused : passes[pass].eager;
}

/* The separate pass for weight gradients has no memory-bound operations. */
void block_pass_add(block_draft *draft, plait_part part, double elements, block_traffic traffic)
{
    const double bytes = draft->forward          ? traffic.forward
                         : draft->backward_input ? traffic.backward
                                                 : 0.0;
    if (bytes * elements > 0.0)
        block_op_add(draft,
                     (plait_op){.kind = PLAIT_OP_MEMORY, .part = part, .bytes = bytes * elements});
}

void block_memory_add(block_draft *draft, plait_part part, double elements, block_traffic traffic)
{
    block_place(draft, draft->at.width, elements);
    block_pass_add(draft, part, elements, traffic);
}

/*
 * Adds a recurrence along the sequence, which is no matrix product (C.21, C.22, C.34). The model
 * FLOPs of a backward are those of two forwards.
 */
void block_recurrence_add(block_draft *draft, plait_part part, double flops, double bytes,
                          double elements, double backward)
{
    const double passes = draft->forward ? 1.0 : backward;

    block_place(draft, draft->at.width, elements);
    if (draft->forward || draft->backward_input)
        block_op_add(draft, (plait_op){.kind = PLAIT_OP_SCAN,
                                       .part = part,
                                       .flops = passes * flops,
                                       .model_flops = (draft->forward ? 1.0 : 2.0) * flops,
                                       .bytes = passes * bytes});
}

void block_scan_add(block_draft *draft, plait_part part, double flops, double bytes,
                    double elements)
{
    block_recurrence_add(draft, part, flops, bytes, elements, 2.0);
}

/*
 * The input of a norm is kept and, if a product follows, its output; under sp a rank keeps 1 / tp
 * of the output, unless the software keeps it gathered. A norm inside the product's kernel is not a
 * module that can be recomputed by itself. A norm has h weights, LayerNorm 2 h (h: hidden width).
 */
void block_norm_add(block_draft *draft, block_norm_use use)
{
    const plait_kernel_set *kernels = &draft->shard->runtime->kernels;
    const double elements = draft->norm_tokens * draft->model->hidden;
    const bool inside = use == BLOCK_NORM_IN_PRODUCT && kernels->norm_in_product;
    const bool fused = kernels->fused_norm || draft->model->layer_norm; // LayerNorm is fused

    block_memory_add(draft, inside ? PLAIT_PART_linear_norm : PLAIT_PART_norm, elements,
                     block_traffic_of(BLOCK_PASS_NORM, fused));
    block_keep(draft, PLAIT_TENSOR_norm_in, elements);
    block_keep(draft, PLAIT_TENSOR_norm_cast, elements);
    if (use != BLOCK_NORM_ALONE) {
        block_keep(draft,
                   inside                     ? PLAIT_TENSOR_linear_norm_out
                   : use == BLOCK_NORM_ROUTES ? PLAIT_TENSOR_router_in
                                              : PLAIT_TENSOR_norm_out,
                   elements);
        draft->out->saved_gathered += (draft->tokens - draft->norm_tokens) * draft->model->hidden;
    }
    const double scales = draft->model->hidden * (draft->model->layer_norm ? 2.0 : 1.0);
    draft->out->weights.dense += scales;
    if (draft->shard->frozen >> PLAIT_PART_norm & 1u)
        draft->out->weights.frozen_dense += scales;
}

/*
 * x + dropout(y) reads two tensors and writes one, 6 bytes per element. With dropout the forward
 * also writes a mask of one byte, and the backward reads the mask and a gradient and writes a
 * gradient. Without dropout the gradient passes unchanged. Unfused, PyTorch adds the bias, applies
 * dropout and adds the residual in three kernels.
 */
void block_residual_add(block_draft *draft, block_stream skipped)
{
    const bool dropout = draft->model->dropout;
    const double mask = dropout ? 1.0 : 0.0;
    const block_traffic fused = {6.0 + mask, dropout ? 5.0 : 0.0};
    const block_traffic unfused = {dropout ? 15.0 : 6.0, dropout ? 9.0 : 2.0};
    const double elements = draft->norm_tokens * draft->model->hidden;

    block_join(draft, skipped);
    block_memory_add(draft, PLAIT_PART_residual, elements,
                     draft->shard->runtime->kernels.fused_residual ? fused : unfused);
    if (dropout)
        block_keep(draft, PLAIT_TENSOR_dropout, elements);
}

// ---- collectives (C.12) --------------------------------------------------------------------

void block_collective_add(block_draft *draft, plait_part part, plait_collective_op collective,
                          plait_axis axis, plait_overlap_class overlap, double bytes, double count)
{
    block_op_add(draft, (plait_op){.kind = PLAIT_OP_COLLECTIVE,
                                   .part = part,
                                   .collective = collective,
                                   .axis = axis,
                                   .overlap = overlap,
                                   .bytes = bytes,
                                   .count = count});
}

/*
 * Collectives around each pair of column- and row-parallel products, on all elements (tokens x
 * hidden) of the microbatch:
 *
 *              without sp                  with sp
 *     enter    backward all-reduce         forward all-gather, backward reduce-scatter
 *     leave    forward all-reduce          forward reduce-scatter, backward all-gather
 *
 * C.303: under sp the inputs of fp8 and fp4 products are gathered in fp8 or fp4. In formats with
 * block scales the backward pass gathers two copies, one for each of its products.
 */
static void add_tp(block_draft *draft, plait_part part, plait_collective_op op)
{
    const plait_shard *shard = draft->shard;
    const double copies = draft->forward || shard->precision == PLAIT_FP8 ? 1.0 : 2.0;
    double bytes = HALF_BYTES;

    if (op == PLAIT_ALL_GATHER && gathers_narrow(shard) && part != PLAIT_PART_head &&
        part != PLAIT_PART_embedding)
        bytes = smaller(HALF_BYTES, copies * plait_quantised_bytes(shard->precision));
    block_collective_add(draft, part, op, PLAIT_AXIS_TP, PLAIT_OVERLAP_TP,
                         bytes * draft->tokens * draft->model->hidden, 1.0);
}

void block_tp_enter(block_draft *draft, plait_part part)
{
    const plait_shard *shard = draft->shard;

    if (shard->tp == 1)
        return;
    if (draft->forward && shard->sp)
        add_tp(draft, part, PLAIT_ALL_GATHER);
    if (draft->backward_input)
        add_tp(draft, part, shard->sp ? PLAIT_REDUCE_SCATTER : PLAIT_ALL_REDUCE);
}

void block_tp_leave(block_draft *draft, plait_part part)
{
    const plait_shard *shard = draft->shard;

    if (shard->tp == 1)
        return;
    if (draft->forward)
        add_tp(draft, part, shard->sp ? PLAIT_REDUCE_SCATTER : PLAIT_ALL_REDUCE);
    if (draft->backward_input && shard->sp)
        add_tp(draft, part, PLAIT_ALL_GATHER);
}
