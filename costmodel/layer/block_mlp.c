/*
 * block_mlp.c - dense feed-forward, gated or plain; also the shared experts (C.19)
 *
 *     plain   fc1 [h, f], activation, fc2 [f, h]
 *     gated   fc1 makes gate and up, 2 f wide; act(gate) up goes into fc2
 */
#include "costmodel/layer/block_build.h"

/*
 * tp divides the width. Kept are the outputs of fc1 and of the activation, and the activated gate
 * by itself if the software keeps it.
 */
void block_mlp(block_draft *draft, plait_mlp mlp, bool shared)
{
    const double width = block_share(mlp.width, draft->shard->tp);
    const double fc1_width = width * (mlp.gated ? 2.0 : 1.0);
    const double tokens = draft->tokens;

    block_linear_add(draft, (block_linear){.part = shared ? PLAIT_PART_shared : PLAIT_PART_fc1,
                                           .rows = tokens,
                                           .n = fc1_width,
                                           .k = draft->model->hidden,
                                           .makes = PLAIT_DIM_FFN,
                                           .bias = mlp.bias});
    block_memory_add(draft, shared ? PLAIT_PART_shared : PLAIT_PART_act, tokens * width,
                     block_traffic_of(mlp.gated ? BLOCK_PASS_GATED : BLOCK_PASS_ACTIVATION,
                                      draft->shard->runtime->kernels.fused_activation));
    block_keep(draft, shared ? PLAIT_TENSOR_shared_fc1_out : PLAIT_TENSOR_fc1_out,
               tokens * fc1_width);
    if (mlp.gated && !shared)
        block_keep(draft, PLAIT_TENSOR_act_mid, tokens * width);
    block_keep(draft, shared ? PLAIT_TENSOR_shared_act_out : PLAIT_TENSOR_act_out, tokens * width);
    block_linear_add(draft, (block_linear){.part = shared ? PLAIT_PART_shared : PLAIT_PART_fc2,
                                           .rows = tokens,
                                           .n = draft->model->hidden,
                                           .k = width,
                                           .makes = PLAIT_DIM_HIDDEN,
                                           .bias = mlp.bias});
}
