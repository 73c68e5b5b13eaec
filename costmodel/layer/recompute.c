/* recompute.c - recomputed parts and dropped tensors of each choice of recomputation and offload */
#include "plait/lowlevel/block.h"

#define PART(name) (1u << PLAIT_PART_##name)
#define TENSOR(name) (1u << PLAIT_TENSOR_##name)

/*
 * A checkpointed module drops the tensors inside it; its input and output are kept for its
 * neighbours. `layernorm` and `moe_act` drop their output too (Megatron: CheckpointWithoutOutput).
 */
static const plait_recompute_masks module_masks[PLAIT_MODULES] = {
    [PLAIT_MODULE_core_attn] = {.parts = PART(core_attn),
                                .tensors = TENSOR(scores) | TENSOR(scores_dropout) | TENSOR(lse)},
    [PLAIT_MODULE_layernorm] = {.parts = PART(norm),
                                .tensors =
                                    TENSOR(norm_cast) | TENSOR(norm_out) | TENSOR(router_in)},
    [PLAIT_MODULE_mla_up_proj] = {.parts = PART(mla_up) | PART(rotary),
                                  .tensors = TENSOR(qkv) | TENSOR(rotary)},
    [PLAIT_MODULE_moe_act] = {.parts = PART(expert_act), .tensors = TENSOR(expert_act_out)},
    [PLAIT_MODULE_shared_experts] = {.parts = PART(shared),
                                     .tensors = TENSOR(shared_fc1_out) | TENSOR(shared_act_out)},
    [PLAIT_MODULE_mlp] = {.parts = PART(fc1) | PART(act) | PART(fc2),
                          .tensors = TENSOR(fc1_out) | TENSOR(act_mid) | TENSOR(act_out)},
    [PLAIT_MODULE_moe] = {.parts = PART(router) | PART(dispatch) | PART(expert_fc1) |
                                   PART(expert_act) | PART(expert_fc2) | PART(combine) |
                                   PART(shared),
                          .tensors = TENSOR(router) | TENSOR(routed) | TENSOR(expert_fc1_out) |
                                     TENSOR(expert_act_out) | TENSOR(routed_out) |
                                     TENSOR(shared_fc1_out) | TENSOR(shared_act_out)},
};

/*
 * torchtitan saves attention and the output of every second matrix product (query, value, gate,
 * down) and recomputes the rest: norms, activations, rotary, and the other products (output, up;
 * the time of the key projection is negligible).
 */
static const plait_recompute_masks sac_masks = {
    .parts = PART(norm) | PART(linear_norm) | PART(rotary) | PART(act) | PART(expert_act) |
             PART(attn_out),
    .tensors = TENSOR(norm_cast) | TENSOR(norm_out) | TENSOR(linear_norm_out) | TENSOR(router_in) |
               TENSOR(keys) | TENSOR(rotary) | TENSOR(act_mid) | TENSOR(act_out) |
               TENSOR(expert_act_out) | TENSOR(shared_act_out) | TENSOR(dropout),
    .half_parts = PART(fc1) | PART(expert_fc1) | PART(shared),
    .half_tensors = TENSOR(fc1_out) | TENSOR(expert_fc1_out) | TENSOR(shared_fc1_out),
};

/* Each module offloads its input; each of the two norms accounts for half of norm_in. (C.166) */
static const plait_recompute_masks offload_masks[PLAIT_OFFLOAD_MODULES] = {
    [PLAIT_OFFLOAD_attn_norm] = {.half_tensors = TENSOR(norm_in)},
    [PLAIT_OFFLOAD_core_attn] = {.tensors = TENSOR(qkv) | TENSOR(keys) | TENSOR(rotary)},
    [PLAIT_OFFLOAD_attn_proj] = {.tensors = TENSOR(core_out)},
    [PLAIT_OFFLOAD_mlp_norm] = {.half_tensors = TENSOR(norm_in)},
    [PLAIT_OFFLOAD_expert_fc1] = {.tensors = TENSOR(routed)},
    [PLAIT_OFFLOAD_moe_act] = {.tensors = TENSOR(expert_fc1_out)},
};

plait_recompute_masks plait_offload_masks_of(unsigned char set)
{
    const unsigned modules = plait_offload_modules(set);
    plait_recompute_masks masks = {0};

    for (int m = 0; m < PLAIT_OFFLOAD_MODULES; m++) {
        if (!(modules >> m & 1u))
            continue;
        masks.tensors |=
            offload_masks[m].tensors | (masks.half_tensors & offload_masks[m].half_tensors);
        masks.half_tensors |= offload_masks[m].half_tensors;
    }
    return masks;
}

plait_recompute_masks plait_recompute_masks_of(plait_recompute recompute)
{
    plait_recompute_masks masks = {0};

    switch ((plait_recompute_kind)recompute.kind) {
    case PLAIT_RECOMPUTE_SELECTIVE:
        return module_masks[PLAIT_MODULE_core_attn];
    case PLAIT_RECOMPUTE_SAC:
        return sac_masks;
    case PLAIT_RECOMPUTE_MODULES:
        for (int m = 0; m < PLAIT_MODULES; m++) {
            if (!(recompute.modules >> m & 1))
                continue;
            masks.parts |= module_masks[m].parts;
            masks.tensors |= module_masks[m].tensors;
        }
        return masks;
    default:
        return masks;
    }
}
