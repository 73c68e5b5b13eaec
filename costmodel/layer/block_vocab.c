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
    if (model->dropout)
        block_keep(&draft, PLAIT_TENSOR_dropout, draft.norm_tokens * hidden);
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
    if (shard->tp > 1 && draft.serving) // C.354: samples from the whole vocabulary's logits
        block_collective_add(&draft, PLAIT_PART_loss, PLAIT_ALL_GATHER, PLAIT_AXIS_TP,
                             PLAIT_OVERLAP_NONE, HALF_BYTES * draft.tokens * vocab * shard->tp,
                             1.0);
    else if (shard->tp > 1 &&
             draft.forward) // per token: maximum, sum of exponentials, target logit
        block_collective_add(&draft, PLAIT_PART_loss, PLAIT_ALL_REDUCE, PLAIT_AXIS_TP,
                             PLAIT_OVERLAP_NONE, 4.0 * draft.tokens, 3.0);
}
