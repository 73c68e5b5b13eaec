/*
 * block.c - description of a layer, or of an end of the model, as a list of operators
 *
 * block_<kind>.c append the operators of mixers and feed-forward parts.
 */
#include "plait/lowlevel/block.h"

#include <math.h>
#include <stddef.h>

#include "costmodel/layer/block_build.h"
#include "costmodel/layer/tuning.h"
#include "base/numbers.h"
#include "plan/model_queries.h"

#define X(name, what) #name,
const char *const plait_part_name[PLAIT_PARTS + 1] = {PLAIT_PART_LIST(X) NULL};
const char *const plait_tensor_name[PLAIT_TENSORS + 1] = {PLAIT_TENSOR_LIST(X) NULL};
#undef X
#define X(constant, word) word,
const char *const plait_dim_name[PLAIT_DIMS + 1] = {PLAIT_DIM_LIST(X) NULL};
#undef X

// ---- the layer -----------------------------------------------------------------------------

static void add_mixer_kind(block_draft *draft, plait_mixer_kind mixer)
{
    switch (mixer) {
    case PLAIT_MIXER_ATTENTION:
        block_attention(draft);
        break;
    case PLAIT_MIXER_MLA:
        block_mla(draft);
        break;
    case PLAIT_MIXER_DELTA_NET:
        block_delta_net(draft);
        break;
    case PLAIT_MIXER_MAMBA:
        block_mamba(draft);
        break;
    case PLAIT_MIXER_CONV:
        block_conv(draft);
        break;
    case PLAIT_MIXER_NONE:
    case PLAIT_MIXER_KINDS:
        break;
    }
}

/*
 * Adds the mixer, and the sum of its output and that of a second mixer with the same input. Each of
 * the two sums its output over tp (C.194); the caller adds the sum of the last.
 */
static void add_mixer(block_draft *draft)
{
    const block_stream input = draft->at;

    add_mixer_kind(draft, draft->layer->mixer);
    if (draft->layer->second_mixer == PLAIT_MIXER_NONE)
        return;
    block_tp_leave(draft, PLAIT_PART_attn_out);
    const block_stream first = draft->at;
    draft->at = input;
    add_mixer_kind(draft, draft->layer->second_mixer);
    block_join(draft, first);
}

static void add_ffn(block_draft *draft)
{
    if (draft->layer->ffn == PLAIT_FFN_MLP)
        block_mlp(draft, draft->layer->mlp, false);
    else if (draft->layer->ffn == PLAIT_FFN_MOE)
        block_moe(draft);
}

static bool has_both(const plait_layer *layer)
{
    return layer->mixer != PLAIT_MIXER_NONE && layer->ffn != PLAIT_FFN_NONE;
}

static void add_mixer_norm(block_draft *draft)
{
    block_norm_add(draft, draft->layer->mixer == PLAIT_MIXER_MLA ? BLOCK_NORM_FEEDS
                                                                 : BLOCK_NORM_IN_PRODUCT);
}

static void add_ffn_norm(block_draft *draft)
{
    block_norm_add(draft,
                   draft->layer->ffn == PLAIT_FFN_MOE ? BLOCK_NORM_ROUTES : BLOCK_NORM_IN_PRODUCT);
}

// ---- residual connections ------------------------------------------------------------------

/* The input of a half of a layer, and the coefficients that its output is added with. */
typedef struct residual {
    block_stream input, mixing;
} residual;

/* Adds a memory-bound kernel with an output of `elements`, which is HIDDEN wide. */
static void add_mix(block_draft *draft, plait_part part, double elements, block_traffic traffic)
{
    block_place(draft, PLAIT_DIM_HIDDEN, elements);
    block_pass_add(draft, part, draft->norm_tokens * draft->model->hidden, traffic);
}

/*
 * C.178: hyper-connections with n streams. A product of all streams, in 16 bits, makes `made`
 * coefficients of a token; then a kernel reads the streams and writes their weighted sum.
 */
static block_stream mix_streams(block_draft *draft, double made, double scales)
{
    const double n = draft->model->streams;
    const double hidden = draft->model->hidden;
    const block_stream streams = draft->at;

    block_linear_add(draft, (block_linear){.part = PLAIT_PART_residual,
                                           .rows = draft->norm_tokens,
                                           .k = n * hidden,
                                           .n = made,
                                           .makes = PLAIT_DIM_WHOLE,
                                           .bias = true,
                                           .wide = true});
    draft->out->weights.dense += scales;
    const block_stream mixing = draft->at;
    draft->at = streams;
    block_join(draft, mixing);
    add_mix(draft, PLAIT_PART_residual, draft->norm_tokens * hidden,
            (block_traffic){2.0 * (n + 1.0), 2.0 * (2.0 * n + 1.0)});
    block_keep(draft, PLAIT_TENSOR_norm_in, draft->norm_tokens * n * hidden);
    return mixing;
}

/*
 * C.179: attention residuals. A learned query attends to the outputs of `blocks` earlier blocks and
 * the sum of the current one; their norms and scores are part of the kernel. The backward reads
 * the values again and adds to their gradients.
 */
static void attend_blocks(block_draft *draft, double blocks)
{
    const double values = blocks + 1.0;
    const double elements = draft->norm_tokens * draft->model->hidden;

    add_mix(draft, PLAIT_PART_residual, elements,
            (block_traffic){2.0 * (values + 1.0), 6.0 * values + 2.0});
    block_keep(draft, PLAIT_TENSOR_norm_in, elements);
    draft->out->weights.dense += 2.0 * draft->model->hidden;
}

/* Begins a half of a layer: makes its input from the residual streams or blocks. */
static residual enter_residual(block_draft *draft, bool ffn)
{
    const plait_model *model = draft->model;
    residual out = {.input = draft->at};

    if (model->streams > 1) {
        const double n = model->streams;

        out.mixing = mix_streams(draft, (2.0 + n) * n, 3.0);
    }
    if (model->residual_block > 0) {
        attend_blocks(draft, model_mean_blocks(model, ffn));
        if (!ffn) // the output of a block is one tensor, which all later layers read
            block_keep(draft, PLAIT_TENSOR_norm_in,
                       draft->norm_tokens * model->hidden / model->residual_block);
    }
    return out;
}

/*
 * Ends a half of a layer: adds its output to its input, or to each of n streams after their own
 * mixing. The backward of this kernel reads the streams and the output again, so it is kept.
 */
static void leave_residual(block_draft *draft, residual of)
{
    const double n = draft->model->streams;

    if (n <= 1.0) {
        block_residual_add(draft, of.input);
        return;
    }
    block_keep(draft, PLAIT_TENSOR_norm_in, draft->norm_tokens * draft->model->hidden);
    block_join(draft, of.input);
    block_join(draft, of.mixing);
    add_mix(draft, PLAIT_PART_residual, draft->norm_tokens * n * draft->model->hidden,
            (block_traffic){2.0 * (2.0 * n + 1.0), 2.0 * (3.0 * n + 2.0)});
}

// ---- further branches (C.186) --------------------------------------------------------------

/* A kernel that adds a branch to the residual stream: two tensors in, one out. */
static void add_branch(block_draft *draft, block_stream other)
{
    block_join(draft, other);
    block_memory_add(draft, PLAIT_PART_residual, draft->norm_tokens * draft->model->hidden,
                     block_traffic_of(BLOCK_PASS_POSITIONS, true));
}

/*
 * Adds LAuReL's branch: the normed input and a low-rank product of it with a norm are added to the
 * output of the mixer. Its weights are whole on every rank.
 */
static void add_laurel(block_draft *draft, block_stream normed)
{
    const double rank = draft->layer->laurel_rank;
    const double tokens = draft->norm_tokens;
    const block_stream mixed = draft->at;

    if (rank <= 0.0)
        return;
    draft->at = normed;
    block_product_add(draft, PLAIT_PART_residual, tokens, draft->model->hidden, rank,
                      PLAIT_DIM_WHOLE, false);
    block_keep(draft, PLAIT_TENSOR_latent, tokens * rank);
    block_product_add(draft, PLAIT_PART_residual, tokens, rank, draft->model->hidden,
                      PLAIT_DIM_HIDDEN, false);
    block_norm_add(draft, BLOCK_NORM_ALONE);
    add_branch(draft, normed);
    add_branch(draft, mixed);
}

/*
 * Adds the branch of per-layer embeddings: a gate on the layer's part of a token's embedding, a
 * projection back to the hidden width, and a norm. Its weights are whole on every rank.
 */
static void add_per_layer(block_draft *draft)
{
    const double width = draft->layer->per_layer_dim;
    const double tokens = draft->norm_tokens;
    const double hidden = draft->model->hidden;
    const block_stream input = draft->at;

    if (width <= 0.0)
        return;
    block_keep(draft, PLAIT_TENSOR_norm_out, tokens * hidden);
    block_product_add(draft, PLAIT_PART_residual, tokens, hidden, width, PLAIT_DIM_WHOLE, false);
    block_memory_add(draft, PLAIT_PART_residual, tokens * width,
                     block_traffic_of(BLOCK_PASS_GATED, true));
    block_keep(draft, PLAIT_TENSOR_latent, 2.0 * tokens * width);
    block_product_add(draft, PLAIT_PART_residual, tokens, width, hidden, PLAIT_DIM_HIDDEN, false);
    block_norm_add(draft, BLOCK_NORM_ALONE);
    add_branch(draft, input);
}

// ---- halves of a layer ---------------------------------------------------------------------

/* Adds x + mixer(norm(x)), without the norm if the layer has none. */
static void add_mixer_half(block_draft *draft, int norms)
{
    const residual input = enter_residual(draft, false);

    if (norms > 0)
        add_mixer_norm(draft);
    const block_stream normed = draft->at;
    block_tp_enter(draft, PLAIT_PART_qkv);
    add_mixer(draft);
    block_tp_leave(draft, PLAIT_PART_attn_out);
    add_laurel(draft, normed);
    leave_residual(draft, input);
    // C.347: a graph of each layer and microbatch writes its output to a separate buffer.
    if (draft->shard->switches.cuda_graph == PLAIT_GRAPH_LAYERS && !draft->serving)
        block_keep(draft, PLAIT_TENSOR_norm_in,
                   draft->norm_tokens * draft->model->hidden * model_streams(draft->model));
}

/*
 * Adds x + ffn(norm(x)). block_moe adds the collectives of experts, which replace those around
 * tensor-parallel products.
 */
static void add_ffn_half(block_draft *draft, int norms)
{
    const bool moe = draft->layer->ffn == PLAIT_FFN_MOE;
    const residual input = enter_residual(draft, true);

    if (norms > 0)
        add_ffn_norm(draft);
    if (!moe)
        block_tp_enter(draft, PLAIT_PART_fc1);
    add_ffn(draft);
    if (!moe)
        block_tp_leave(draft, PLAIT_PART_fc2);
    leave_residual(draft, input);
    add_per_layer(draft);
}

/* Adds the layer's remaining norms, which no product follows. */
static void add_norms(block_draft *draft, int norms)
{
    while (norms-- > 0)
        block_norm_add(draft, BLOCK_NORM_ALONE);
}

static void describe_layer(block_draft *draft)
{
    const plait_model *const model = draft->model;
    const plait_layer *const layer = draft->layer;
    const plait_shard *const shard = draft->shard;
    plait_block *const out = draft->out;
    int norms = layer->norms;

    // C.24: an opaque layer has the costs of the model file, divided by tp, and no collectives.
    if (layer->opaque) {
        const plait_opaque *given = &layer->given;

        block_scan_add(draft, PLAIT_PART_opaque, draft->tokens * given->forward_flops / shard->tp,
                       draft->tokens * given->forward_bytes / shard->tp,
                       draft->norm_tokens * model->hidden);
        block_keep(draft, PLAIT_TENSOR_opaque, draft->tokens * given->activation_bytes / shard->tp);
        block_keep(draft, PLAIT_TENSOR_norm_in, draft->norm_tokens * model->hidden);
        out->weights.dense += given->params / shard->tp;
        return;
    }
    // A parallel residual is x + mixer(norm(x)) + ffn(norm(x)), with one collective before both
    // halves and one after them. If the layer has one norm, both halves read its output.
    if (layer->parallel_residual && has_both(layer)) {
        const residual entered = enter_residual(draft, false);
        const block_stream input = draft->at;
        if (norms > 0)
            add_mixer_norm(draft);
        const block_stream normed = draft->at;
        block_tp_enter(draft, PLAIT_PART_qkv);
        add_mixer(draft);
        const block_stream mixed = draft->at;
        draft->at = norms > 1 ? input : normed;
        if (norms > 1)
            add_ffn_norm(draft);
        add_ffn(draft);
        block_tp_leave(draft, PLAIT_PART_fc2);
        block_join(draft, mixed);
        add_laurel(draft, normed);
        leave_residual(draft, entered);
        add_per_layer(draft);
        add_norms(draft, norms - 2);
        return;
    }
    if (layer->mixer != PLAIT_MIXER_NONE)
        add_mixer_half(draft, norms--);
    if (layer->ffn != PLAIT_FFN_NONE)
        add_ffn_half(draft, norms--);
    add_norms(draft, norms);
}

void plait_block_describe(const plait_model *model, const plait_layer *layer,
                          const plait_shard *shard, plait_pass pass, plait_block *out)
{
    block_draft draft = block_draft_of(model, layer, shard, pass, out);

    describe_layer(&draft);
    block_settle(&draft);
}

bool block_halves(const plait_layer *layer)
{
    return !layer->opaque && !layer->parallel_residual && has_both(layer);
}

void block_describe_half(const plait_model *model, const plait_layer *layer,
                         const plait_shard *shard, plait_pass pass, block_half half,
                         plait_block *out)
{
    block_draft draft = block_draft_of(model, layer, shard, pass, out);

    if (half == BLOCK_MIXER) {
        add_mixer_half(&draft, layer->norms);
    } else {
        add_ffn_half(&draft, layer->norms - 1);
        add_norms(&draft, layer->norms - 2);
    }
    block_settle(&draft);
}

// ---- the ends of the model -----------------------------------------------------------------

/* Width of the per-layer embeddings of all layers; 0 for a model without a table of them. */
static double per_layer_width(const plait_model *model)
{
    double width = 0.0;

    for (int i = 0; model->per_layer_vocab > 0 && i < model->layers; i++)
        width += model->kind[model->layer_kind[i]].per_layer_dim;
    return width;
}

/* Parameters of the table of per-layer embeddings on one of tp ranks. */
static double per_layer_table(const plait_model *model, int tp)
{
    return block_share(model->per_layer_vocab, tp) * per_layer_width(model);
}

/*
 * Adds the per-layer embeddings (C.186): rows of a table, and a projection of the token embedding
 * with a norm for each layer, which are added. tp divides the table. All layers have equal widths
 * and share the weight of the norm.
 */
static void add_per_layer_embeddings(block_draft *draft)
{
    const double width = per_layer_width(draft->model);
    const double tokens = draft->norm_tokens;
    const int tp = draft->shard->tp;
    const block_stream embedded = draft->at;

    if (width <= 0.0)
        return;
    block_product_add(draft, PLAIT_PART_embedding, tokens, draft->model->hidden, width,
                      PLAIT_DIM_WHOLE, false);
    block_memory_add(draft, PLAIT_PART_embedding, tokens * width,
                     block_traffic_of(BLOCK_PASS_NORM, true));
    block_pass_add(draft, PLAIT_PART_embedding, draft->tokens * width,
                   block_traffic_of(BLOCK_PASS_EMBEDDING, true));
    block_pass_add(draft, PLAIT_PART_embedding, tokens * width,
                   block_traffic_of(BLOCK_PASS_POSITIONS, true));
    if (tp > 1 && draft->forward)
        block_collective_add(draft, PLAIT_PART_embedding, PLAIT_ALL_REDUCE, PLAIT_AXIS_TP,
                             PLAIT_OVERLAP_TP, HALF_BYTES * draft->tokens * width, 1.0);
    block_keep(draft, PLAIT_TENSOR_latent, 2.0 * tokens * width);
    draft->out->weights.dense += per_layer_table(draft->model, tp) + width / draft->model->layers;
    draft->at = embedded;
}

/*
 * C.23: each rank looks up tokens in its V / tp rows of the table (vocabulary V), and the results
 * are summed over tp. Learned positions and a norm after the embedding are whole on every rank. A
 * model of image patches has a projection of the patches instead of a table, and a class token.
 */
void plait_block_embedding(const plait_model *model, const plait_shard *shard, plait_pass pass,
                           plait_block *out)
{
    block_draft draft = block_draft_of(model, NULL, shard, pass, out);
    const double hidden = model->hidden;
    const bool frozen = shard->frozen >> PLAIT_PART_embedding & 1u;

    if (model->patch_dim > 0) {
        block_product_add(&draft, PLAIT_PART_embedding, draft.tokens, model->patch_dim, hidden,
                          PLAIT_DIM_HIDDEN, true);
        out->weights.dense += hidden;
    } else {
        block_memory_add(&draft, PLAIT_PART_embedding, draft.tokens * hidden,
                         block_traffic_of(BLOCK_PASS_EMBEDDING, true));
        out->weights.dense += block_share(model->vocab, shard->tp) * hidden;
        block_tp_leave(&draft, PLAIT_PART_embedding);
    }
    if (model->learned_positions > 0) {
        block_memory_add(&draft, PLAIT_PART_embedding, draft.norm_tokens * hidden,
                         block_traffic_of(BLOCK_PASS_POSITIONS, true));
        out->weights.dense += model->learned_positions * hidden;
    }
    if (model->embedding_norm)
        block_norm_add(&draft, BLOCK_NORM_ALONE);
    add_per_layer_embeddings(&draft);
    if (model->streams > 1) // the embedding is copied to all streams
        add_mix(&draft, PLAIT_PART_embedding, draft.norm_tokens * hidden * model->streams,
                (block_traffic){2.0 * (1.0 + model->streams), 2.0 * (1.0 + model->streams)});
    if (model->dropout)
        block_keep(&draft, PLAIT_TENSOR_dropout, draft.norm_tokens * hidden);
    if (frozen)
        out->weights.frozen_dense = out->weights.dense;
    block_settle(&draft);
}

/*
 * C.23: the head has the last norm, V / tp columns of logits (vocabulary V), and their
 * cross-entropy, whose fused kernel overwrites the logits with their gradient. A tied head uses the
 * weight of the embedding, but may have a bias.
 */
void plait_block_head(const plait_model *model, const plait_shard *shard, plait_pass pass,
                      plait_block *out)
{
    block_draft draft = block_draft_of(model, NULL, shard, pass, out);
    const double vocab = shard->one_output ? 1.0 : block_share(model->vocab, shard->tp);

    if (model->streams > 1)
        mix_streams(&draft, model->streams, 1.0);
    if (model->residual_block > 0)
        attend_blocks(&draft, (model->layers + model->residual_block - 1) / model->residual_block);
    block_norm_add(&draft, BLOCK_NORM_FEEDS);
    block_tp_enter(&draft, PLAIT_PART_head);
    block_linear_add(&draft,
                     (block_linear){.part = PLAIT_PART_head,
                                    .rows = draft.tokens,
                                    .n = vocab,
                                    .k = model->hidden,
                                    .makes = PLAIT_DIM_VOCAB,
                                    .bias = model->head_bias,
                                    .counted_elsewhere = model->tied && !shard->one_output});
    if (model->tied && model->head_bias)
        out->weights.dense += vocab;
    block_memory_add(&draft, PLAIT_PART_loss, draft.tokens * vocab,
                     block_traffic_of(BLOCK_PASS_LOSS, shard->runtime->kernels.fused_loss));
    if (shard->tp > 1 && draft.serving) // C.354: sampling needs all logits
        block_collective_add(&draft, PLAIT_PART_loss, PLAIT_ALL_GATHER, PLAIT_AXIS_TP,
                             PLAIT_OVERLAP_NONE, HALF_BYTES * draft.tokens * vocab * shard->tp,
                             1.0);
    else if (shard->tp > 1 &&
             draft.forward) // per token: maximum, sum of exponentials, target logit
        block_collective_add(&draft, PLAIT_PART_loss, PLAIT_ALL_REDUCE, PLAIT_AXIS_TP,
                             PLAIT_OVERLAP_NONE, 4.0 * draft.tokens, 3.0);
    block_settle(&draft);
}

// ---- kept bytes ----------------------------------------------------------------------------

/*
 * C.25: some software keeps the quantised inputs of fp8 and fp4 products instead of the 16-bit
 * tensors. It keeps the output of the core attention in both formats, since the backward of the
 * core attention reads the 16-bit output. Under sp a share of the norm outputs (keeps_gathered) is
 * kept gathered.
 */
void plait_block_tensor_bytes(const plait_block *block, const plait_shard *shard,
                              double bytes[PLAIT_TENSORS])
{
    static const unsigned inputs =
        1u << PLAIT_TENSOR_norm_out | 1u << PLAIT_TENSOR_linear_norm_out |
        1u << PLAIT_TENSOR_latent | 1u << PLAIT_TENSOR_act_out | 1u << PLAIT_TENSOR_routed |
        1u << PLAIT_TENSOR_expert_act_out | 1u << PLAIT_TENSOR_shared_act_out;
    static const plait_tensor outs[] = {PLAIT_TENSOR_norm_out, PLAIT_TENSOR_linear_norm_out,
                                        PLAIT_TENSOR_router_in};
    const double narrow_bytes =
        block_quantises_once(shard) ? plait_quantised_bytes(shard->precision) : 0.0;
    double norms = 0.0;

    for (int t = 0; t < PLAIT_TENSORS; t++) {
        double each = shard->runtime->keep.keeps[t];
        if (narrow_bytes > 0.0 && each > 0.0 && inputs >> t & 1u)
            each = smaller(each, narrow_bytes);
        else if (each > 0.0 && t == PLAIT_TENSOR_core_out)
            each += narrow_bytes;
        bytes[t] = block->saved[t] > 0.0 ? each * block->saved[t] : 0.0;
    }
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++)
        norms += block->saved[outs[i]];
    if (norms <= 0.0)
        return;
    const double gathered =
        1.0 + shard->runtime->keep.keeps_gathered * block->saved_gathered / norms;
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++)
        bytes[outs[i]] *= gathered;
}

double plait_block_saved_bytes(const plait_block *block, const plait_shard *shard, unsigned drops)
{
    double bytes[PLAIT_TENSORS], sum = 0.0;

    plait_block_tensor_bytes(block, shard, bytes);
    for (int t = 0; t < PLAIT_TENSORS; t++)
        if (!(drops >> t & 1u))
            sum += bytes[t];
    return sum;
}

// ---- model FLOPs and parameters ------------------------------------------------------------

/* A function that describes an end of the model. */
typedef void (*describe_end)(const plait_model *model, const plait_shard *shard, plait_pass pass,
                             plait_block *out);

/* Describes the forward of a layer, or of an `end`, for one sequence on one device. */
static void describe_whole(const plait_model *model, const plait_layer *layer, describe_end end,
                           double seq, plait_block *out)
{
    const plait_runtime neutral = {0};
    const plait_pass pass = {PLAIT_FORWARD, 1.0, seq, seq};
    const plait_shard shard = {.tp = 1,
                               .cp = 1,
                               .ep = 1,
                               .etp = 1,
                               .attention = PLAIT_ATTENTION_FUSED,
                               .runtime = &neutral};

    if (end)
        end(model, &shard, pass, out);
    else
        plait_block_describe(model, layer, &shard, pass, out);
}

/* Sum of the model FLOPs of all operators whose part is in `parts` (bits 1 << PLAIT_PART_...). */
static double model_flops(const plait_block *block, unsigned parts)
{
    double flops = 0.0;

    for (int i = 0; i < block->ops; i++)
        if (parts >> block->op[i].part & 1u)
            flops += block->op[i].count * block->op[i].model_flops;
    return flops;
}

double plait_layer_flops_per_token(const plait_model *model, const plait_layer *layer, double seq,
                                   unsigned parts)
{
    plait_block block;

    describe_whole(model, layer, NULL, seq, &block);
    return model_flops(&block, parts) / seq;
}

/* Sum over all layers of a quantity that depends on the kind of layer. */
static double sum_over_layers(const plait_model *model, const double *of_kind)
{
    double sum = 0.0;

    for (int i = 0; i < model->layers; i++)
        sum += of_kind[model->layer_kind[i]];
    return sum;
}

/*
 * C.4: forward FLOPs of all products and core attentions of the model, times 3 for training, since
 * the backward has two products for each product of the forward. With recomputation the layers run
 * their forward twice, so the factor is 4.
 */
double plait_model_flops_per_token(const plait_model *model, double seq, bool recompute)
{
    double of_kind[PLAIT_MAX_LAYER_KINDS] = {0};
    plait_block block;

    for (int k = 0; k < model->kinds; k++) {
        describe_whole(model, &model->kind[k], NULL, seq, &block);
        of_kind[k] = model_flops(&block, ~0u);
    }
    describe_whole(model, NULL, plait_block_head, seq, &block);
    const double layers = sum_over_layers(model, of_kind);
    const double head = model_flops(&block, ~0u);
    const double mtp = model->mtp_layers * (of_kind[model->mtp_kind] + head);
    return ((recompute ? 4.0 : 3.0) * layers + 3.0 * (head + mtp)) / seq;
}

double plait_layer_skipped_flops_per_token(const plait_model *model, const plait_layer *layer,
                                           double seq)
{
    double flops = 0.0;
    plait_block block;

    describe_whole(model, layer, NULL, seq, &block);
    for (int i = 0; i < block.ops; i++)
        if (block.op[i].kind == PLAIT_OP_ATTENTION)
            flops += block.op[i].count * (block.op[i].model_flops - block.op[i].flops);
    return flops / seq;
}

double plait_model_skipped_flops_per_token(const plait_model *model, double seq)
{
    double of_kind[PLAIT_MAX_LAYER_KINDS] = {0};

    for (int k = 0; k < model->kinds; k++)
        of_kind[k] = plait_layer_skipped_flops_per_token(model, &model->kind[k], seq);
    return 3.0 * (sum_over_layers(model, of_kind) + model->mtp_layers * of_kind[model->mtp_kind]);
}

/*
 * Parameters of a layer. With `active` only the experts count that one token uses.
 */
static double layer_params(const plait_model *model, const plait_layer *layer, bool active)
{
    plait_block block;

    describe_whole(model, layer, NULL, 1.0, &block);
    double expert = block.weights.expert;
    if (active && layer->ffn == PLAIT_FFN_MOE)
        expert *= moe_mean_topk(&layer->moe) / layer->moe.experts;
    return block.weights.dense + expert;
}

/*
 * C.1: the sum of the weights in the descriptions of both ends and of all layers. The table of
 * per-layer embeddings is not active: a token reads one row of it.
 */
plait_params plait_model_params(const plait_model *model)
{
    plait_params params = {0};
    plait_block block;

    describe_whole(model, NULL, plait_block_embedding, 1.0, &block);
    params.embedding = block.weights.dense;
    describe_whole(model, NULL, plait_block_head, 1.0, &block);
    const double norm = (model->layer_norm ? 2.0 : 1.0) * model->hidden;
    params.head = (model->tied ? 0.0 : (double)model->vocab * model->hidden) +
                  (model->head_bias ? model->vocab : 0.0);
    params.total = params.embedding + block.weights.dense;
    params.active = params.total - per_layer_table(model, 1);
    for (int i = 0; i < model->layers; i++) {
        const plait_layer *layer = &model->kind[model->layer_kind[i]];
        params.total += layer_params(model, layer, false);
        params.active += layer_params(model, layer, true);
    }
    // A multi-token-prediction (MTP) module has a layer, two norms and a projection of
    // [hidden; embedding] to hidden.
    if (model->mtp_layers > 0)
        params.mtp =
            model->mtp_layers * (layer_params(model, &model->kind[model->mtp_kind], false) +
                                 2.0 * model->hidden * model->hidden + 2.0 * norm);
    for (int m = 0; m < PLAIT_MODALITIES; m++)
        params.encoders += plait_encoder_params(&model->encoder[m]);
    return params;
}

/* C.410: the sum of the trained weights in the descriptions of both ends and of all layers. */
double plait_job_trained_params(const plait_model *model, const plait_tuning *tuning)
{
    const plait_runtime neutral = {0};
    plait_shard shard = {.tp = 1,
                         .cp = 1,
                         .ep = 1,
                         .etp = 1,
                         .attention = PLAIT_ATTENTION_FUSED,
                         .runtime = &neutral};
    const plait_pass pass = {PLAIT_FORWARD, 1.0, 1.0, 1.0};
    double of_kind[PLAIT_MAX_LAYER_KINDS] = {0}, sum = 0.0;
    plait_block block;

    shard_tune(model, tuning, &shard);
    for (int k = 0; k < model->kinds; k++) {
        plait_block_describe(model, &model->kind[k], &shard, pass, &block);
        of_kind[k] = block.weights.dense + block.weights.expert;
    }
    plait_block_embedding(model, &shard, pass, &block);
    sum += block.weights.dense;
    plait_block_head(model, &shard, pass, &block);
    sum += block.weights.dense;
    for (int m = 0; m < PLAIT_MODALITIES && tuning->kind != PLAIT_JOB_PRETRAIN; m++) {
        const plait_encoder *const encoder = &model->encoder[m];
        const double params = plait_encoder_params(encoder);

        if (encoder->model == NULL)
            continue;
        if (!encoder_frozen(tuning, (plait_modality)m))
            sum += params - encoder->projector_params;
        if (!tuning_freezes(tuning, PLAIT_FREEZE_PROJECTOR))
            sum += encoder->projector_params;
    }
    return sum + sum_over_layers(model, of_kind);
}
