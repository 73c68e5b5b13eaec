/* serve_memory.c - weights and KV caches on one GPU of a worker (C.363) */
#include <math.h>

#include "base/numbers.h"
#include "plait/lowlevel/block.h"
#include "plait/runtime.h"
#include "costmodel/serving/serve_grid.h"

/*
 * Number of parameters on one GPU, summed over all stages: those in the format of the weights
 * (narrow) and those in 16 bits (wide).
 */
typedef struct held {
    double narrow, wide;
} held;

static const plait_runtime unpadded = {.kernels = {.unpadded_vocab = true}};

static plait_block shard_block(const plait_serving *serving, const plait_shard *shard,
                               const plait_layer *layer, double context)
{
    plait_block block;

    plait_block_describe(serving->model, layer, shard,
                         (plait_pass){PLAIT_DECODE, 1.0, 1.0, context}, &block);
    return block;
}

/*
 * Returns the elements that the kernels of MXFP4 experts store for each parameter. They pad the
 * hidden width to a multiple of 256, and an expert's width on a rank to one of 64, or of 256 if the
 * accelerator multiplies the format. (C.363)
 */
static double expert_padding(const plait_serving *serving, const plait_shard *shard,
                             const plait_layer *layer)
{
    const plait_accelerator *gpu = serving->cluster->group[0].accelerator;
    const bool native =
        serve_format_of(gpu, serving->model, serving->weights).precision >= PLAIT_FP8;
    const double hidden = layer->moe.latent > 0 ? layer->moe.latent : serving->model->hidden;
    const double width = (double)layer->moe.width / shard->etp, multiple = native ? 256.0 : 64.0;

    if (serving->weights != PLAIT_WEIGHT_MXFP4 || layer->ffn != PLAIT_FFN_MOE)
        return 1.0;
    return 256.0 * ceil(hidden / 256.0) / hidden * multiple * ceil(width / multiple) / width;
}

/*
 * Returns the parameters of a layer. Those of attention are found by describing the layer without
 * its feed-forward part.
 */
static held layer_weights(const plait_serving *serving, const plait_shard *shard,
                          const plait_layer *layer)
{
    const plait_block whole = shard_block(serving, shard, layer, 1.0);
    plait_layer half = *layer;
    half.ffn = PLAIT_FFN_NONE;
    const double attention = shard_block(serving, shard, &half, 1.0).weights.dense;
    const double rest = whole.weights.dense - attention +
                        expert_padding(serving, shard, layer) * whole.weights.expert;

    if (serve_is_narrow(serving->model, serving->weights, PLAIT_PART_qkv))
        return (held){attention + rest, 0.0};
    return (held){rest, attention};
}

static double vocabulary_weights(const plait_serving *serving, const plait_shard *shard)
{
    const plait_pass pass = {PLAIT_DECODE, 1.0, 1.0, 1.0};
    plait_block embedding, head;

    plait_block_embedding(serving->model, shard, pass, &embedding);
    plait_block_head(serving->model, shard, pass, &head);
    return embedding.weights.dense + head.weights.dense;
}

plait_serve_memory plait_serve_memory_of(const plait_serving *serving, double mean)
{
    const plait_model *model = serving->model;
    const plait_accelerator *gpu = serving->cluster->group[0].accelerator;
    const plait_worker w = serving->worker;
    const plait_shard shard = (plait_shard){.tp = w.tp,
                                            .cp = 1,
                                            .ep = w.ep,
                                            .etp = w.tp * w.dp_attention / w.ep,
                                            .attention = PLAIT_ATTENTION_FUSED,
                                            .cache_bytes = serve_kv_bytes(serving->kv),
                                            .runtime = &unpadded};
    const double stages = serving->worker.pp;
    const double bytes = serve_format_of(gpu, model, serving->weights).bytes;
    const double whole = serve_is_published(model, serving->weights)
                             ? (double)model->wide_layers / model->layers
                             : 0.0; // share of the layers in 16 bits
    plait_serve_memory out = {.all = gpu->memory_bytes, .mean = larger(mean, 1.0)};

    for (int k = 0; k < model->kinds; k++) {
        const double layers = serve_layers_of(model, k);
        const held weights = layer_weights(serving, &shard, &model->kind[k]);
        const plait_block block = shard_block(serving, &shard, &model->kind[k], out.mean);
        out.weights +=
            layers * (((1.0 - whole) * bytes + 2.0 * whole) * weights.narrow + 2.0 * weights.wide);
        out.weights += layers * 2.0 * serving->lora_adapters *
                       serve_lora_params(serving, &model->kind[k], &block);
        // Adds the KV cache of all layers of this kind. With windowed attention a layer caches at
        // most the tokens of the window (`reach`), else every token. Compressed keys and those of
        // an indexer cover all tokens. (C.365)
        const double token = block.cache.width * serve_kv_bytes(serving->kv);
        const double grows =
            block.cache.compressed * serve_kv_bytes(serving->kv) + block.cache.index;

        if (block.cache.reach > 0.0) {
            out.sequence += layers * token * smaller(block.cache.reach, out.mean);
            out.token += layers * grows;
        } else {
            out.token += layers * (token + grows);
        }
        out.sequence += layers * block.cache.state;
    }
    out.weights = (out.weights + 2.0 * vocabulary_weights(serving, &shard)) / stages;
    for (int m = 0; m < PLAIT_MODALITIES; m++) // C.366
        out.weights += 2.0 * plait_encoder_params(&model->encoder[m]) / w.tp;
    out.token /= stages;
    out.sequence /= stages;
    return out;
}

/*
 * Bytes for KV caches. The memory fraction of vLLM and SGLang includes the weights. That of
 * TensorRT-LLM applies to the memory that the weights leave free.
 */
static double cache_bytes(const plait_serve_memory *memory, const plait_engine *engine)
{
    if (engine->kind == PLAIT_ENGINE_TRTLLM)
        return engine->memory_fraction * (memory->all - memory->weights - engine->graph_bytes);
    return engine->memory_fraction * memory->all - memory->weights - engine->graph_bytes;
}

double plait_serve_room_bytes(const plait_serve_memory *memory, const plait_engine *engine)
{
    const double left = cache_bytes(memory, engine);

    if (left > 0.0 || engine->kind != PLAIT_ENGINE_TRTLLM)
        return memory->weights + left;
    return memory->all - engine->graph_bytes;
}

static double token_bytes(const plait_serve_memory *memory)
{
    return larger(memory->token + memory->sequence / memory->mean, 1.0);
}

/*
 * Share of the allocated KV cache that is used. A sequence leaves half of its last block empty on
 * average.
 */
static double share_used(const plait_serve_memory *memory, const plait_engine *engine)
{
    return memory->mean / (memory->mean + engine->block_tokens / 2.0);
}

double plait_serve_held_bytes(const plait_serve_memory *memory, const plait_engine *engine,
                              double tokens)
{
    return tokens * token_bytes(memory) / share_used(memory, engine);
}

double plait_serve_kv_tokens(const plait_serve_memory *memory, const plait_engine *engine)
{
    const double left = cache_bytes(memory, engine);

    return left > 0.0 ? left / token_bytes(memory) * share_used(memory, engine) : 0.0;
}

plait_pool plait_pool_of(const plait_step_table *table, const plait_engine *engine,
                         const plait_serve_memory *memory, int workers, double chunk_tokens)
{
    const double ranks = table->worker.dp_attention;
    const double chunk = chunk_tokens > 0.0 ? chunk_tokens : engine->chunk_tokens;

    return (plait_pool){
        .table = table,
        .workers = workers,
        .chunk_tokens = engine->kind == PLAIT_ENGINE_SGLANG ? chunk / ranks : chunk,
        .max_sequences = engine->max_sequences * ranks,
        .kv_tokens = larger(plait_serve_kv_tokens(memory, engine), 1.0),
        .poll_steps = engine->poll_steps,
        .gather_steps = engine->gather_steps,
    };
}

plait_link plait_serve_transfer(const plait_cluster *cluster)
{
    static const double handshake_s = 1e-3; // assumed; the rate is fitted (C.378)
    const plait_level *level = &cluster->level[cluster->levels > 1 ? 1 : 0];
    const double efficiency = level->efficiency > 0.0 ? level->efficiency : 1.0;

    return (plait_link){level->link.latency_s + handshake_s, level->link.bytes_per_s * efficiency};
}
