/* block_vocab.c - the two ends of the model: embedding, and vocabulary projection with its loss */
#include <stddef.h>

#include "block_build.h"

/* Vocabulary-parallel lookup: each rank adds its rows, so the sum is reduced over tp. (C.23) */
void plait_block_embedding(const plait_model *model, const plait_shard *shard, plait_pass pass,
                           plait_block *out)
{
    block_draft draft = block_draft_of(model, NULL, shard, pass, out);
    const double hidden = model->hidden;

    if (model->patch_dim > 0) {
        // A projection of each patch, and a class token.
        block_linear_add(&draft, (block_linear){.part = PLAIT_PART_embedding,
                                                .rows = draft.tokens,
                                                .n = hidden,
                                                .k = model->patch_dim,
                                                .bias = true});
        out->weights.dense += hidden;
    } else {
        block_memory_add(&draft, PLAIT_PART_embedding, draft.tokens * hidden,
                         (block_traffic){4.0, 6.0});
        out->weights.dense += block_share(model->vocab, shard->tp) * hidden;
        block_tp_leave(&draft, PLAIT_PART_embedding);
    }
    if (model->learned_positions > 0) {
        block_memory_add(&draft, PLAIT_PART_embedding, draft.norm_tokens * hidden,
                         (block_traffic){6.0, 4.0});
        out->weights.dense += model->learned_positions * hidden;
    }
    if (model->embedding_norm)
        block_norm_add(&draft, false);
    if (model->dropout)
        block_keep(&draft, PLAIT_TENSOR_dropout, draft.norm_tokens * hidden);
}

/* Three scalars a token (maximum, sum of exponentials, target logit) cross the tensor group. */
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

void plait_block_head(const plait_model *model, const plait_shard *shard, plait_pass pass,
                      plait_block *out)
{
    block_draft draft = block_draft_of(model, NULL, shard, pass, out);
    const double vocab = block_share(model->vocab, shard->tp);
    // Fused: the logits are read once and become their gradient in place. PyTorch's own casts to
    // fp32, takes the maximum, exponentiates, sums and divides.
    const block_traffic fused = {4.0, 6.0};
    const block_traffic unfused = {26.0, 14.0};

    block_norm_add(&draft, true);
    block_tp_enter(&draft, PLAIT_PART_head);
    block_linear_add(&draft, (block_linear){.part = PLAIT_PART_head,
                                            .rows = draft.tokens,
                                            .n = vocab,
                                            .k = model->hidden,
                                            .bias = model->head_bias,
                                            .counted_elsewhere = model->tied});
    if (model->tied && model->head_bias)
        out->weights.dense += vocab;
    block_memory_add(&draft, PLAIT_PART_loss, draft.tokens * vocab,
                     shard->runtime->kernels.fused_loss ? fused : unfused);
    reduce_loss(&draft);
}
