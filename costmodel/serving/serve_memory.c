/*
 * serve_memory.c - weights, activations and KV caches on one GPU of a worker (C.363, C.367), and
 * the figures that an engine prints at its start (C.368)
 */
#include <math.h>

#include "base/numbers.h"
#include "plait/lowlevel/block.h"
#include "plait/runtime.h"
#include "plait/units.h"
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

/*
 * Returns the parameters of the vocabulary on one GPU: of the embedding and the output layer, or,
 * with several stages, of the larger one, since they are on different stages.
 */
static double vocabulary_weights(const plait_serving *serving, const plait_shard *shard)
{
    const plait_pass pass = {PLAIT_DECODE, 1.0, 1.0, 1.0};
    plait_block embedding, head;

    plait_block_embedding(serving->model, shard, pass, &embedding);
    plait_block_head(serving->model, shard, pass, &head);
    if (serving->worker.pp > 1)
        return larger(embedding.weights.dense, head.weights.dense);
    return embedding.weights.dense + head.weights.dense;
}

/*
 * Returns the bytes of a cached token in a layer. In 8 bits, latent attention with an indexer keeps
 * a scale of 4 bytes for each 128 elements of the latent, and its rotary part in 16 bits. (C.363)
 */
static double cached_token(const plait_serving *serving, const plait_layer *layer,
                           const plait_block *block)
{
    const plait_mla *const mla = &layer->mla;

    if (layer->mixer == PLAIT_MIXER_MLA && block->cache.index > 0.0 && serving->kv == PLAIT_KV_FP8)
        return mla->kv_rank * (1.0 + 4.0 / 128.0) + 2.0 * mla->rope_dim;
    return block->cache.width * serve_kv_bytes(serving->kv);
}

/* Bytes that a layer needs for each token of a step. */
typedef struct activations {
    double all;       /* residual, hidden states and the feed-forward part's products */
    double workspace; /* the part that the kernels of experts keep between steps */
} activations;

/*
 * Returns the activations of a layer. Kernels of experts keep one row for each chosen expert, in a
 * buffer that both products share. Those of MXFP4 have no such buffer. (C.367)
 */
static activations layer_activations(const plait_serving *serving, const plait_shard *shard,
                                     const plait_layer *layer)
{
    const double hidden = serving->model->hidden;
    activations out = {.workspace = 0.0};
    double products = 0.0;

    if (layer->ffn == PLAIT_FFN_MLP)
        products = (layer->mlp.gated ? 3.0 : 2.0) * layer->mlp.width / shard->tp;
    if (layer->ffn == PLAIT_FFN_MOE) {
        const double width = (double)layer->moe.width / shard->etp;
        const double latent = layer->moe.latent > 0 ? layer->moe.latent : hidden;
        const double first = (layer->moe.gated ? 2.0 : 1.0) * width;

        products = layer->moe.topk * (larger(first, latent) + width);
        if (serving->weights != PLAIT_WEIGHT_MXFP4)
            out.workspace = 2.0 * products;
    }
    out.all = 2.0 * (3.0 * hidden + products);
    return out;
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
    // The fullest stage decides, as vLLM takes the fewest blocks of any worker.
    const double stages = (double)model->layers / ceil((double)model->layers / w.pp);
    const double bytes = serve_format_of(gpu, model, serving->weights).bytes;
    const double whole = serve_is_published(model, serving->weights)
                             ? (double)model->wide_layers / model->layers
                             : 0.0; // share of the layers in 16 bits
    plait_serve_memory out = {.all = gpu->memory_bytes,
                              .host_bytes_per_s = gpu->host_bytes_per_s,
                              .mean = larger(mean, 1.0),
                              .hidden_token = 2.0 * model->hidden,
                              .vocab = model->vocab,
                              .ranks = w.tp * w.dp_attention,
                              .stages = w.pp};

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
        const double token = cached_token(serving, &model->kind[k], &block);
        const double grows =
            block.cache.compressed * serve_kv_bytes(serving->kv) + block.cache.index;

        if (block.cache.reach > 0.0) {
            out.sequence += layers * token * smaller(block.cache.reach, out.mean);
            out.window = larger(out.window, block.cache.reach);
            out.window_token += layers * token;
            out.window_layers += (int)layers;
            out.token += layers * grows;
        } else {
            out.token += layers * (token + grows);
            out.whole_layers += token > 0.0 ? (int)layers : 0;
        }
        out.sequence += layers * block.cache.state;
        const activations of = layer_activations(serving, &shard, &model->kind[k]);
        out.batch_token = larger(out.batch_token, of.all);
        out.expert_token = larger(out.expert_token, of.workspace);
    }
    out.weights = out.weights / stages + 2.0 * vocabulary_weights(serving, &shard);
    for (int m = 0; m < PLAIT_MODALITIES; m++) // C.366
        out.weights += 2.0 * plait_encoder_params(&model->encoder[m]) / w.tp;
    out.token /= stages;
    out.sequence /= stages;
    out.window_token /= stages;
    return out;
}

/*
 * Bytes that vLLM's profile run adds to the weights: the larger of a step with the most tokens and
 * of the sampler with the most sequences, together with the hidden states of that step and the
 * workspace of experts. A stage also holds the hidden states that it receives. (C.367)
 */
static double profiled_bytes(const plait_serve_memory *memory, const plait_engine *engine)
{
    const double tokens = engine->chunk_tokens;
    const double sequences = smaller(engine->max_sequences, tokens);
    const double hidden = memory->hidden_token * (memory->stages > 1 ? 3.0 : 1.0);

    return larger(tokens * memory->batch_token,
                  tokens * (hidden + memory->expert_token) +
                      engine->logit_bytes * sequences * memory->vocab);
}

/*
 * Bytes of one GPU outside PyTorch. vLLM counts what its profile run adds, and SGLang what the CUDA
 * context and the communicators take before the weights are loaded. (C.367)
 */
static double started_bytes(const plait_serve_memory *memory, const plait_engine *engine)
{
    return engine->outside_bytes + (memory->ranks > 1 ? engine->group_bytes : 0.0);
}

/*
 * Bytes for KV caches. vLLM's share is of all memory, and includes the weights and the profile run.
 * SGLang's is of the memory that is free before the weights are loaded. That of TensorRT-LLM applies
 * to the memory that the weights leave free. (C.367)
 */
static double cache_bytes(const plait_serve_memory *memory, const plait_engine *engine)
{
    const double started = started_bytes(memory, engine);
    double left = 0.0;

    switch (engine->kind) {
    case PLAIT_ENGINE_VLLM:
        left = engine->memory_fraction * memory->all - memory->weights - started -
               profiled_bytes(memory, engine);
        break;
    case PLAIT_ENGINE_SGLANG:
        left = engine->memory_fraction * (memory->all - started) - memory->weights;
        break;
    case PLAIT_ENGINE_TRTLLM:
    case PLAIT_ENGINES:
        return engine->memory_fraction * (memory->all - memory->weights - engine->graph_bytes);
    }
    return left - engine->graph_bytes;
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

/* Rounds tokens down to whole blocks of the cache. */
static double whole_blocks(double tokens, const plait_engine *engine)
{
    return engine->block_tokens * floor(tokens / engine->block_tokens);
}

/*
 * Factor on the caches of `layers` layers in a model with `others` layers of another kind: vLLM allocates groups of
 * as many layers as the rarer kind has, and fills up the last group. (C.368)
 */
static double group_padding(int layers, int others)
{
    return layers > others && others > 0 ? others * ceil((double)layers / others) / layers : 1.0;
}

/*
 * Bytes of a request of the most tokens. vLLM reserves for a layer with a window what a step with
 * prompts may add to the window, and one more block. (C.368)
 */
static double request_bytes(const plait_serve_memory *memory, const plait_engine *engine,
                            double tokens)
{
    const double block = engine->block_tokens;
    const double states = memory->sequence - memory->window_token * smaller(memory->window, tokens);
    double windows = smaller(memory->window, tokens), padding[2] = {1.0, 1.0};

    if (engine->kind == PLAIT_ENGINE_VLLM) {
        windows = smaller(memory->window - 1.0 + engine->chunk_tokens, tokens) + block;
        padding[0] = group_padding(memory->whole_layers, memory->window_layers);
        padding[1] = group_padding(memory->window_layers, memory->whole_layers);
    }
    return block * ceil(tokens / block) * memory->token * padding[0] +
           block * ceil(windows / block) * memory->window_token * padding[1] + larger(states, 0.0);
}

/*
 * Tokens of SGLang's pool for layers without a window. Its pool for windows has a share of as many
 * tokens, and states take a multiple of the bytes of the other caches. (C.368)
 */
static double pool_tokens(const plait_serve_memory *memory, double bytes, bool states)
{
    static const double swa_full_tokens_ratio = 0.8, mamba_full_memory_ratio = 0.9;
    const double token = memory->token + swa_full_tokens_ratio * memory->window_token;

    return bytes / (states ? 1.0 + mamba_full_memory_ratio : 1.0) / larger(token, 1.0);
}

plait_serve_start plait_serve_start_of(const plait_serving *serving, const plait_engine *engine,
                                       double request_tokens)
{
    const plait_serve_memory memory = plait_serve_memory_of(serving, request_tokens);
    const double request = larger(request_bytes(&memory, engine, request_tokens), 1.0);
    const double windows = memory.window_token * smaller(memory.window, request_tokens);
    const bool states = memory.sequence > 1.0000001 * windows;
    plait_serve_start out = {.weight_bytes = memory.weights,
                             .cache_bytes = larger(cache_bytes(&memory, engine), 0.0),
                             .request_tokens = request_tokens};

    if (engine->kind == PLAIT_ENGINE_VLLM)
        out.activation_bytes = profiled_bytes(&memory, engine);
    if (engine->kind == PLAIT_ENGINE_SGLANG) {
        out.free_bytes =
            (1.0 - engine->memory_fraction) * (memory.all - started_bytes(&memory, engine));
        out.cache_tokens = whole_blocks(pool_tokens(&memory, out.cache_bytes, states), engine);
        out.concurrency = out.cache_tokens / larger(request_tokens, 1.0);
    } else {
        out.concurrency = out.cache_bytes / request;
        out.cache_tokens = memory.window > 0.0 || states
                               ? out.concurrency * request_tokens
                               : whole_blocks(out.cache_bytes / larger(memory.token, 1.0), engine);
    }
    return out;
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
        .host_tokens = engine->host_cache_bytes / token_bytes(memory),
        .host_token_s =
            memory->host_bytes_per_s > 0.0 ? memory->token / memory->host_bytes_per_s : 0.0,
    };
}

plait_link plait_serve_transfer(const plait_cluster *cluster)
{
    static const double handshake_s = 1e-3; // assumed; the rate is fitted (C.378)
    const plait_level *level = &cluster->level[cluster->levels > 1 ? 1 : 0];
    const double efficiency = level->efficiency > 0.0 ? level->efficiency : 1.0;

    return (plait_link){level->link.latency_s + handshake_s, level->link.bytes_per_s * efficiency};
}
