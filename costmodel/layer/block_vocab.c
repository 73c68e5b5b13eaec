/* block_vocab.c - the two ends of the model: embedding, and vocabulary projection with its loss */
#include <stddef.h>

#include "costmodel/layer/block_build.h"

/*
 * C.23: vocabulary-parallel lookup. Each rank looks up its V / tp rows, so the sum is reduced over
 * tp; learned positions and a norm after the embedding are whole on every rank. A model of image
 * patches projects them instead, and has a class token.
 */
void plait_block_embedding(const plait_model *model, const plait_shard *shard, plait_pass pass,
                           plait_block *out)
{
    block_draft draft = block_draft_of(model, NULL, shard, pass, out);
    const double hidden = model->hidden;

    if (model->patch_dim > 0) {
        block_linear_add(&draft, (block_linear){.part = PLAIT_PART_embedding,
                                                .rows = draft.tokens,
                                                .n = hidden,
                                                .k = model->patch_dim,
                                                .makes = PLAIT_DIM_HIDDEN,
                                                .bias = true});
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
    if (model->dropout)
        block_keep(&draft, PLAIT_TENSOR_dropout, draft.norm_tokens * hidden);
}

/*
 * Three fp32 scalars a token (maximum, sum of exponentials, target logit) cross the tensor group.
 */
static void reduce_loss(block_draft *draft)
{
    if (draft->shard->tp == 1 || !block_is_forward(draft))
        return;
    block_collective_add(draft, (plait_op){.part = PLAIT_PART_loss,
                                           .collective = PLAIT_ALL_REDUCE,
                                           .axis = PLAIT_AXIS_TP,
                                           .overlap = PLAIT_OVERLAP_NONE,
                                           .bytes = 4.0 * draft->tokens,
                                           .count = 3.0});
}

/* Serving samples from the whole vocabulary's logits. (C.354) */
static void gather_logits(block_draft *draft, double vocab)
{
    if (draft->shard->tp == 1)
        return;
    block_collective_add(
        draft, (plait_op){.part = PLAIT_PART_loss,
                          .collective = PLAIT_ALL_GATHER,
                          .axis = PLAIT_AXIS_TP,
                          .overlap = PLAIT_OVERLAP_NONE,
                          .bytes = HALF_BYTES * draft->tokens * vocab * draft->shard->tp});
}

/*
 * C.23: the last norm, V / tp columns of logits, and their cross-entropy; if that is fused, its
 * gradient overwrites the logits. A tied head has no weight of its own, but may have a bias.
 */
void plait_block_head(const plait_model *model, const plait_shard *shard, plait_pass pass,
                      plait_block *out)
{
    block_draft draft = block_draft_of(model, NULL, shard, pass, out);
    const double vocab = block_share(model->vocab, shard->tp);

    block_norm_add(&draft, BLOCK_NORM_FEEDS);
    block_tp_enter(&draft, PLAIT_PART_head);
    block_linear_add(&draft, (block_linear){.part = PLAIT_PART_head,
                                            .rows = draft.tokens,
                                            .n = vocab,
                                            .k = model->hidden,
                                            .makes = PLAIT_DIM_VOCAB,
                                            .bias = model->head_bias,
                                            .counted_elsewhere = model->tied});
    if (model->tied && model->head_bias)
        out->weights.dense += vocab;
    block_memory_add(&draft, PLAIT_PART_loss, draft.tokens * vocab,
                     block_traffic_of(BLOCK_PASS_LOSS, shard->runtime->kernels.fused_loss));
    if (block_is_serving(&draft))
        gather_logits(&draft, vocab);
    else
        reduce_loss(&draft);
}
