/* chip.h - an accelerator of plain numbers, for tests that are about something else */
#pragma once

#include "plait/cluster.h"

/** One SM, a name, and 1 for every number that a price may divide by; nothing of fp8 and below. */
static inline plait_accelerator plain_chip(void)
{
    plait_accelerator chip = {
        .name = "chip",
        .sms = 1,
        .peak_flops_per_s = {[PLAIT_BF16] = 1.0, [PLAIT_FP16] = 1.0},
        .memory_bytes = 1.0,
        .hbm_bytes_per_s = 1.0,
        .sustained = {1.0, 1.0},
        .wgrad_ratio = 1.0,
        .memory_op_fraction = 1.0,
        .p2p = {.bytes_per_s = 1.0},
        .host_bytes_per_s = 1.0,
    };

    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        chip.gemm[p] =
            (plait_gemm_fit){.emax = 1.0, .r128 = 1.0, .r64 = 1.0, .r32 = 1.0, .eb = 1.0, .p = 1.0};
        chip.grouped[p] = (plait_grouped_fit){.emax = 1.0, .rs = 1.0, .eb = 1.0};
    }
    for (int k = PLAIT_ATTENTION_FLASH; k < PLAIT_ATTENTION_KERNELS; k++)
        chip.attention[k] = (plait_attention_fit){
            .e = {1.0, 1.0, 1.0, 1.0}, .fp8_rate = 1.0, .backward_ratio = 1.0};
    for (int f = 0; f < PLAIT_KV_FORMATS; f++)
        chip.decode[f].eb = 1.0;
    for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
        chip.collective[op] =
            (plait_collective_fit){.bytes_per_s = {1.0, 1.0, 1.0}, .local_bytes_per_s = 1.0};
    return chip;
}
