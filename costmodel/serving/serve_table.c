/*
 * serve_table.c - seconds of one worker's forward passes, without the overhead of an engine,
 * tabulated by tokens and by context (C.360)
 */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "plait/lowlevel/block.h"
#include "plait/lowlevel/collective.h"
#include "plait/lowlevel/kernel.h"
#include "plait/runtime.h"
#include "costmodel/serving/serve_grid.h"
#include "plan/model_queries.h"

// ---- kernels without an engine's overhead --------------------------------------------------

/*
 * Runtime without overhead. All fusions are on, and the previous kernel quantises the inputs, since
 * all three engines compile to such code.
 */
static const plait_runtime bare = {
    .kernels = {.fused_norm = true,
                .fused_activation = true,
                .fused_rotary = true,
                .fused_residual = true,
                .fused_loss = true,
                .fused_permute = true,
                .unpadded_vocab = true,
                .delayed_scaling = true,
                .compiled_step = true},
    .factor = {.gemm = 1.0, .memory = 1.0, .attention = 1.0, .nic = 1.0},
    .keep = {.quantised_inputs = true},
};

/*
 * Returns the accelerator with kernels that start in no time. Under CUDA graphs kernels follow each
 * other closely, and the engine's overhead includes the gaps between them (C.362).
 */
static plait_accelerator without_launches(const plait_accelerator *gpu)
{
    plait_accelerator bare_gpu = *gpu;

    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        bare_gpu.gemm[p].t0_s = 0.0;
        bare_gpu.grouped[p].t0_s = 0.0;
    }
    for (int k = 0; k < PLAIT_ATTENTION_KERNELS; k++)
        bare_gpu.attention[k].t0_s = 0.0;
    bare_gpu.memory_op_t0_s = 0.0;
    return bare_gpu;
}

static bool has_precision(const plait_accelerator *gpu, plait_precision precision)
{
    return gpu->peak_flops_per_s[precision] > 0.0 &&
           !(gpu->missing_kernels >> (PLAIT_KERNEL_PRECISION + precision) & 1u);
}

static plait_attention_kernel kernel_of(const plait_accelerator *gpu)
{
    static const plait_attention_kernel best[] = {PLAIT_ATTENTION_FLASH3, PLAIT_ATTENTION_FUSED,
                                                  PLAIT_ATTENTION_FLASH2, PLAIT_ATTENTION_FLASH};

    for (size_t i = 0; i < sizeof best / sizeof *best; i++)
        if (!(gpu->missing_kernels >> (PLAIT_KERNEL_ATTENTION + best[i]) & 1u))
            return best[i];
    return PLAIT_ATTENTION_FLASH;
}

int serve_layers_of(const plait_model *model, int kind)
{
    int count = 0;

    for (int l = 0; l < model->layers; l++)
        count += model->layer_kind[l] == kind;
    return count;
}

bool serve_is_published(const plait_model *model, plait_weight_format weights)
{
    return model->weights != NULL && strcmp(model->weights, plait_weight_name[weights]) == 0;
}

/*
 * Bytes are those of groups of 16 (NVFP4) or 32 (MXFP4) elements with a scale of 8 bits, and of 128
 * (INT4) with a scale of 16 bits and a zero of 4, unless the checkpoint is published in the format
 * with other groups. (C.360)
 */
serve_format serve_format_of(const plait_accelerator *gpu, const plait_model *model,
                             plait_weight_format weights)
{
    static const struct {
        plait_precision native[2]; /* precisions of products, the better one first */
        double bytes;              /* bytes per element, with its scales */
    } formats[PLAIT_WEIGHT_FORMATS] = {
        [PLAIT_WEIGHT_BF16] = {{PLAIT_BF16, PLAIT_FP16}, 2.0},
        [PLAIT_WEIGHT_FP8] = {{PLAIT_FP8, PLAIT_FP8}, 1.0},
        [PLAIT_WEIGHT_FP8_BLOCK] = {{PLAIT_FP8_BLOCK, PLAIT_FP8}, 1.0},
        [PLAIT_WEIGHT_NVFP4] = {{PLAIT_NVFP4, PLAIT_NVFP4}, 0.5 + 1.0 / 16.0},
        [PLAIT_WEIGHT_MXFP4] = {{PLAIT_MXFP8, PLAIT_MXFP8}, 0.5 + 1.0 / 32.0},
        [PLAIT_WEIGHT_INT4] = {{PLAIT_BF16, PLAIT_FP16}, 0.5 + 2.5 / 128.0},
    };
    const plait_precision plain = has_precision(gpu, PLAIT_BF16) ? PLAIT_BF16 : PLAIT_FP16;

    const double bytes = model->weight_bits > 0.0 && serve_is_published(model, weights)
                             ? model->weight_bits / 8.0
                             : formats[weights].bytes;

    for (int i = 0; i < 2; i++)
        if (has_precision(gpu, formats[weights].native[i]))
            return (serve_format){formats[weights].native[i], bytes};
    return (serve_format){plain, bytes};
}

unsigned plait_serve_native_weights(const plait_accelerator *gpu)
{
    unsigned mask = 1u << PLAIT_WEIGHT_BF16;

    if (has_precision(gpu, PLAIT_FP8))
        mask |= 1u << PLAIT_WEIGHT_FP8;
    if (has_precision(gpu, PLAIT_NVFP4))
        mask |= 1u << PLAIT_WEIGHT_NVFP4;
    return mask;
}

unsigned plait_serve_usual_weights(const plait_accelerator *gpu, const plait_model *model)
{
    unsigned mask = plait_serve_native_weights(gpu);

    for (int f = 0; model->weights != NULL && f < PLAIT_WEIGHT_FORMATS; f++) {
        if (strcmp(plait_weight_name[f], model->weights) != 0)
            continue;
        const bool eight_bits = f == PLAIT_WEIGHT_FP8 || f == PLAIT_WEIGHT_FP8_BLOCK;
        if (!eight_bits)
            mask |= 1u << f;
        else if (mask >> PLAIT_WEIGHT_FP8 & 1u)
            mask = (mask & ~(1u << PLAIT_WEIGHT_FP8)) | 1u << f;
    }
    return mask;
}

/*
 * Returns whether attention stays in 16 bits: as the published checkpoint has it, otherwise in
 * 4-bit checkpoints of models with experts (gpt-oss, DeepSeek-R1-FP4).
 */
static bool attention_is_wide(const plait_model *model, plait_weight_format weights)
{
    bool experts = false;

    if (model->attention_weights != PLAIT_ATTENTION_WEIGHTS_UNKNOWN &&
        serve_is_published(model, weights))
        return model->attention_weights == PLAIT_ATTENTION_WEIGHTS_WIDE;
    for (int k = 0; k < model->kinds; k++)
        experts = experts || model->kind[k].ffn == PLAIT_FFN_MOE;
    return weights >= PLAIT_WEIGHT_NVFP4 && experts;
}

/* The router and the vocabulary layers are always in 16 bits. */
bool serve_is_narrow(const plait_model *model, plait_weight_format weights, plait_part part)
{
    if (!attention_is_wide(model, weights))
        return true;
    return part == PLAIT_PART_fc1 || part == PLAIT_PART_fc2 || part == PLAIT_PART_shared ||
           part == PLAIT_PART_expert_fc1 || part == PLAIT_PART_expert_fc2;
}

/* Everything needed to price the operators of one worker. */
typedef struct bench {
    const plait_serving *serving;
    plait_accelerator gpu;
    plait_shard shard;
    plait_kernel_context narrow, wide;
    plait_route tensor, experts, stage;
} bench;

static plait_route route_over(const plait_cluster *cluster, int ranks, int stride)
{
    plait_group_shape group = {.ranks = ranks, .runs = 1};

    group.run[0].size = ranks;
    group.run[0].stride = stride;
    return plait_route_of(cluster, group);
}

static void bench_fill(const plait_serving *serving, bench *b)
{
    const plait_worker w = serving->worker;
    const plait_accelerator *gpu = serving->cluster->group[0].accelerator;
    const serve_format format = serve_format_of(gpu, serving->model, serving->weights);

    *b = (bench){.serving = serving, .gpu = without_launches(gpu)};
    b->shard = (plait_shard){
        .tp = w.tp,
        .cp = 1,
        .ep = w.ep,
        .etp = w.tp * w.dp_attention / w.ep,
        .attention = kernel_of(gpu),
        .precision = format.precision,
        .cache_bytes = serve_kv_bytes(serving->kv),
        .runtime = &bare,
    };
    b->wide = (plait_kernel_context){
        .accelerator = &b->gpu,
        .runtime = &bare,
        .precision = PLAIT_BF16,
        .attention = b->shard.attention,
        .slowest = 1.0,
    };
    b->narrow = b->wide;
    b->narrow.precision = format.precision;
    b->narrow.weight_bytes = format.bytes;
    b->tensor = route_over(serving->cluster, w.tp, 1);
    b->experts = route_over(serving->cluster, w.tp * w.dp_attention, 1);
    b->stage = route_over(serving->cluster, w.pp, w.tp * w.dp_attention);
}

// ---- one layer -----------------------------------------------------------------------------

/* Seconds that one layer adds to a table, without its operators that read the KV cache. */
typedef struct layer_sum {
    double linear_s, experts_s, reduce_s;
    double exchange_s, dispatch_s; /* dispatch_s: the part of exchange_s before the experts */
    int reduces;
} layer_sum;

static bool is_dispatch(const plait_op *op)
{
    return op->collective == PLAIT_ALL_GATHER;
}

/*
 * Seconds of one expert exchange (C.353): the shorter of an all-gather or reduce-scatter of all
 * tokens, and an all-to-all of copied tokens. Tokens for experts in FP8 with block scales are
 * quantised before they are dispatched.
 */
static double exchange_s(const bench *b, const plait_layer *layer, const plait_op *op,
                         double tokens)
{
    static const plait_network network = {.nic = 1.0};
    const plait_worker w = b->serving->worker;
    const double topk = moe_mean_topk(&layer->moe);
    const bool narrow = b->serving->weights == PLAIT_WEIGHT_FP8_BLOCK && is_dispatch(op);
    const double element_bytes = narrow ? 1.0 + 4.0 / 128.0 : 2.0;
    const double copies =
        element_bytes * tokens / w.tp * topk * moe_token_width(b->serving->model, &layer->moe);

    return smaller(plait_collective_s(&b->experts, network, op->collective, op->bytes),
                   plait_expert_all_to_all_s(&b->experts, network, copies, topk, 0.0));
}

/*
 * Seconds of attention in one decode step (C.361). Each new token reads its KV cache at a fraction
 * of the HBM bandwidth. If many heads share one latent, the matrix units are the limit, at 0.7 of
 * their peak, which decode kernels of such models reach.
 */
static double decode_attention_s(const bench *b, const plait_op *op)
{
    static const double matrix_share = 0.7;
    const double peak = b->gpu.peak_flops_per_s[b->gpu.fp16_only ? PLAIT_FP16 : PLAIT_BF16];
    const double rate = b->gpu.hbm_bytes_per_s * b->gpu.decode[b->serving->kv].eb;

    return op->count * larger(op->bytes / rate, op->flops / (matrix_share * peak));
}

/*
 * Seconds of a decode-attention call that do not depend on the batch (C.361): its start-up time,
 * and the time lost to SMs that stay idle because there are few KV heads. `cached_s` is the time of
 * the attention alone.
 */
static double few_attention_s(const bench *b, const plait_layer *layer, double cached_s)
{
    const plait_decode_fit *fit = &b->gpu.decode[b->serving->kv];
    const bool latent = layer->mixer == PLAIT_MIXER_MLA;

    if (layer->mixer != PLAIT_MIXER_ATTENTION && !latent)
        return 0.0;
    const double heads = latent ? 1.0 : (double)layer->attention.kv_heads / b->serving->worker.tp;
    return fit->t0_s + cached_s * fit->few / larger(heads, 1.0);
}

static bool reads_cache(const plait_op *op)
{
    return op->kind == PLAIT_OP_ATTENTION || op->kind == PLAIT_OP_SCAN;
}

static double kernel_s(const bench *b, const plait_op *op)
{
    const bool narrow = serve_is_narrow(b->serving->model, b->serving->weights, op->part);

    return plait_op_s(narrow ? &b->narrow : &b->wide, op);
}

static layer_sum sum_of(const bench *b, const plait_layer *layer, plait_pass pass,
                        const plait_block *block)
{
    static const plait_network network = {.nic = 1.0};
    const double tokens = pass.sequences * pass.query_tokens;
    layer_sum sum = {0};

    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        if (reads_cache(op))
            continue;
        if (op->kind == PLAIT_OP_COLLECTIVE && op->axis == PLAIT_AXIS_EP) {
            const double exchange = op->count * exchange_s(b, layer, op, tokens);
            sum.exchange_s += exchange;
            sum.dispatch_s += is_dispatch(op) ? exchange : 0.0;
        } else if (op->kind == PLAIT_OP_COLLECTIVE) {
            sum.reduce_s +=
                op->count * plait_collective_s(&b->tensor, network, op->collective, op->bytes);
            sum.reduces += op->collective == PLAIT_ALL_REDUCE;
        } else if (op->kind == PLAIT_OP_GROUPED_GEMM)
            sum.experts_s += kernel_s(b, op);
        else
            sum.linear_s += kernel_s(b, op);
    }
    return sum;
}

/* Seconds of a layer's operators that read the KV cache or a state. */
static double cached_s(const bench *b, const plait_layer *layer, plait_pass pass)
{
    plait_block block;
    double sum = 0.0;

    plait_block_describe(b->serving->model, layer, &b->shard, pass, &block);
    for (int i = 0; i < block.ops; i++) {
        const plait_op *op = &block.op[i];
        if (reads_cache(op))
            sum += op->kind == PLAIT_OP_ATTENTION && pass.kind == PLAIT_DECODE
                       ? decode_attention_s(b, op)
                       : kernel_s(b, op);
    }
    return sum;
}

/* The part of `cached` seconds that does not read the state of a second mixer. */
static double attention_s(const bench *b, const plait_layer *layer, plait_pass pass, double cached)
{
    plait_layer alone = *layer;

    alone.second_mixer = PLAIT_MIXER_NONE;
    return layer->second_mixer == PLAIT_MIXER_NONE ? cached : cached_s(b, &alone, pass);
}

// ---- the table -----------------------------------------------------------------------------

static void add_tokens(const bench *b, const plait_layer *layer, double count,
                       plait_step_table *out)
{
    static const double some_context = 1024.0; // these operators do not depend on the context

    for (int i = 0; i < PLAIT_STEP_POINTS; i++) {
        const plait_pass pass = {PLAIT_DECODE, serve_grid_point(i), 1.0, some_context};
        plait_block block;
        plait_block_describe(b->serving->model, layer, &b->shard, pass, &block);
        const layer_sum sum = sum_of(b, layer, pass, &block);
        double kernels;
        const double lora_s = serve_lora_s(b->serving, layer, &block, &kernels);
        out->linear_s[i] += count * (sum.linear_s + lora_s);
        out->experts_s[i] += count * sum.experts_s;
        out->exchange_s[i] += count * sum.exchange_s;
        out->dispatch_s[i] += count * sum.dispatch_s;
        out->reduce_s[i] += count * sum.reduce_s;
        if (i == 0) {
            out->all_reduces += count * sum.reduces;
            out->kernels += count * kernels;
        }
    }
}

static void add_ends(const bench *b, plait_step_table *out)
{
    static const plait_network network = {.nic = 1.0};
    const plait_worker w = out->worker;
    plait_block head, embedding;

    for (int i = 0; i < PLAIT_STEP_POINTS; i++) {
        const double tokens = serve_grid_point(i);
        const plait_pass pass = {PLAIT_DECODE, tokens, 1.0, 1.0};
        plait_block_head(b->serving->model, &b->shard, pass, &head);
        plait_block_embedding(b->serving->model, &b->shard, pass, &embedding);
        const layer_sum last = sum_of(b, NULL, pass, &head);
        const layer_sum first = sum_of(b, NULL, pass, &embedding);
        out->head_s[i] = last.linear_s + last.reduce_s;
        out->linear_s[i] += first.linear_s;
        out->reduce_s[i] += first.reduce_s;
        if (i == 0)
            out->all_reduces += first.reduces;
        if (w.pp > 1)
            out->stages_s[i] =
                (w.pp - 1) * plait_p2p_s(&b->stage, network,
                                         2.0 * tokens * model_sent_width(b->serving->model) / w.tp);
    }
}

/*
 * Returns whether tp divides the heads of a recurrent mixer. Groups of Mamba-2 can be
 * copied, key heads of linear attention cannot. (C.195)
 */
static bool recurrent_divides(const plait_layer *layer, plait_mixer_kind mixer, int tp)
{
    switch (mixer) {
    case PLAIT_MIXER_DELTA_NET:
        return layer->delta_net.value_heads % tp == 0 && layer->delta_net.key_heads % tp == 0;
    case PLAIT_MIXER_MAMBA:
        return layer->mamba.inner % tp == 0 && layer->mamba.heads % tp == 0;
    case PLAIT_MIXER_CONV:
        return layer->conv.width % tp == 0 && layer->conv.blocks % tp == 0;
    default:
        return true;
    }
}

static const char *unsupported_reason(const plait_serving *serving)
{
    const plait_model *model = serving->model;
    const plait_worker w = serving->worker;
    bool experts = false;

    if (model->patch_dim > 0)
        return "the model has no decoder";
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (layer->opaque)
            return "the model has a layer with costs but no operators";
        if (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.full_mask)
            return "the model has no decoder";
        if (layer->mixer == PLAIT_MIXER_ATTENTION &&
            (layer->attention.heads % w.tp != 0 ||
             !(layer->attention.kv_heads % w.tp == 0 || w.tp % layer->attention.kv_heads == 0)))
            return "tp does not divide the attention heads";
        if (layer->mixer == PLAIT_MIXER_MLA && layer->mla.heads % w.tp != 0)
            return "tp does not divide the attention heads";
        if (!recurrent_divides(layer, layer->mixer, w.tp) ||
            !recurrent_divides(layer, layer->second_mixer, w.tp))
            return "tp does not divide the heads of recurrent layers";
        if (layer->ffn == PLAIT_FFN_MOE) {
            experts = true;
            if ((layer->moe.experts + layer->moe.redundant) % w.ep != 0)
                return layer->moe.redundant > 0 ? "ep does not divide the experts and their copies"
                                                : "ep does not divide the experts";
        }
    }
    if (!experts && w.ep > 1)
        return "ep > 1 needs a model with experts";
    if (w.tp * w.dp_attention % w.ep != 0)
        return "ep does not divide tp x dp_attention";
    if (w.pp > model->layers)
        return "pp exceeds the number of layers";
    return NULL;
}

/* Half the number of all mixers and feed-forward parts, rounded up. (C.362) */
static int layer_pairs(const plait_model *model)
{
    int sublayers = 0;

    for (int i = 0; i < model->layers; i++)
        sublayers += layer_sublayers(&model->kind[model->layer_kind[i]]);
    return (sublayers + 1) / 2;
}

const char *plait_step_table_fill(const plait_serving *serving, plait_step_table *out)
{
    const plait_model *model = serving->model;
    const plait_accelerator *gpu = serving->cluster->group[0].accelerator;
    const char *reason = unsupported_reason(serving);
    bench b;

    *out = (plait_step_table){.worker = serving->worker, .layers = layer_pairs(model)};
    if (reason != NULL)
        return reason;
    bench_fill(serving, &b);
    out->four_bits = serving->weights >= PLAIT_WEIGHT_NVFP4;
    out->widened = out->four_bits && b.narrow.precision <= PLAIT_FP16;
    for (int k = 0; k < model->kinds; k++) {
        const int count = serve_layers_of(model, k);
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            out->moe_layers += count;
        add_tokens(&b, &model->kind[k], count, out);
        for (int i = 0; i < PLAIT_STEP_CONTEXTS; i++) {
            const double context = serve_grid_point(i);
            const plait_layer *const layer = &model->kind[k];
            const plait_pass pass = {PLAIT_DECODE, 1.0, 1.0, context};
            const double decode = cached_s(&b, layer, pass);
            out->decode_s[i] += count * decode;
            out->few_s[i] +=
                count * few_attention_s(&b, layer, attention_s(&b, layer, pass, decode));
            out->prompt_s[i] +=
                count *
                cached_s(&b, &model->kind[k], (plait_pass){PLAIT_PREFILL, 1.0, context, context});
        }
        static const double some_tokens = 512.0; // the number of kernels does not depend on it
        plait_block block;

        plait_block_describe(b.serving->model, &model->kind[k], &b.shard,
                             (plait_pass){PLAIT_PREFILL, 1.0, some_tokens, some_tokens}, &block);
        for (int i = 0; i < block.ops; i++)
            out->kernels += count * block.op[i].count;
    }
    add_ends(&b, out);
    out->reduce_bytes = 2.0 * model->hidden;
    if (b.tensor.levels <= 1)
        out->bus_bytes_per_s = gpu->collective[PLAIT_ALL_REDUCE].bytes_per_s[2];
    return NULL;
}
