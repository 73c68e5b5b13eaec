/* block_mlp.c - dense feed-forward, gated or plain; also the shared experts (C.19) */
#include "block_build.h"

/* GELU reads and writes once; a gated activation reads gate and up. */
static block_traffic activation_traffic(const block_draft *draft, bool gated)
{
    const bool fused = draft->shard->runtime->kernels.fused_activation;

    if (gated)
        return fused ? (block_traffic){6.0, 10.0} : (block_traffic){10.0, 16.0};
    return fused ? (block_traffic){4.0, 6.0} : (block_traffic){8.0, 10.0};
}

void block_mlp(block_draft *draft, plait_mlp mlp, bool shared)
{
    const double width = block_share(mlp.width, draft->shard->tp);
    const double fc1_width = width * (mlp.gated ? 2.0 : 1.0);
    const double tokens = draft->tokens;

    block_linear_add(draft, (block_linear){.part = shared ? PLAIT_PART_shared : PLAIT_PART_fc1,
                                           .rows = tokens,
                                           .n = fc1_width,
                                           .k = draft->model->hidden,
                                           .bias = mlp.bias});
    block_memory_add(draft, shared ? PLAIT_PART_shared : PLAIT_PART_act, tokens * width,
                     activation_traffic(draft, mlp.gated));
    block_keep(draft, shared ? PLAIT_TENSOR_shared_fc1_out : PLAIT_TENSOR_fc1_out,
               tokens * fc1_width);
    if (mlp.gated && !shared)
        block_keep(draft, PLAIT_TENSOR_act_mid, tokens * width);
    block_keep(draft, shared ? PLAIT_TENSOR_shared_act_out : PLAIT_TENSOR_act_out, tokens * width);
    block_linear_add(draft, (block_linear){.part = shared ? PLAIT_PART_shared : PLAIT_PART_fc2,
                                           .rows = tokens,
                                           .n = draft->model->hidden,
                                           .k = width,
                                           .bias = mlp.bias});
}
