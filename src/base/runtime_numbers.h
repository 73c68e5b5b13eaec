/*
 * runtime_numbers.h - the numbers of a runtime profile with their ranges, as rows of
 * number_range.h, in the blocks of profile files
 */
#pragma once

#include "plait/units.h"

/** Exposed shares can exceed 1, since overlap can slow a collective down. */
#define RUNTIME_OVERLAP_NUMBERS(X)                                                                 \
    X("bucket_mb_per_rank", overlap.bucket_bytes_per_rank, NON_NEGATIVE, 0.0, 1e6, PLAIT_MB)       \
    X("bucket_mb", overlap.bucket_bytes, NON_NEGATIVE, 0.0, 1e6, PLAIT_MB)                         \
    X("tp_exposed", overlap.tp_exposed, NON_NEGATIVE, 0.0, 10.0, 1.0)                              \
    X("tp_exposed_overlapped", overlap.tp_exposed_overlapped, NON_NEGATIVE, 0.0, 10.0, 1.0)        \
    X("dp_exposed", overlap.dp_exposed, NON_NEGATIVE, 0.0, 10.0, 1.0)                              \
    X("ep_exposed", overlap.ep_exposed, NON_NEGATIVE, 0.0, 10.0, 1.0)                              \
    X("p2p_exposed", overlap.p2p_exposed, NON_NEGATIVE, 0.0, 10.0, 1.0)                            \
    X("window", overlap.window, NON_NEGATIVE, 0.0, 1.0, 1.0)

#define RUNTIME_FACTOR_NUMBERS(X)                                                                  \
    X("gemm", factor.gemm, POSITIVE, 0.01, 100.0, 1.0)                                             \
    X("memory", factor.memory, POSITIVE, 0.01, 100.0, 1.0)                                         \
    X("attention", factor.attention, POSITIVE, 0.01, 100.0, 1.0)                                   \
    X("host_us", factor.host_s, NON_NEGATIVE, 0.0, 1e9, PLAIT_US)                                  \
    X("host_tp_us", factor.host_tp_s, NON_NEGATIVE, 0.0, 1e9, PLAIT_US)                            \
    X("nic", factor.nic, POSITIVE, 0.01, 10.0, 1.0)                                                \
    X("nic_ranks", factor.nic_ranks, NON_NEGATIVE, 0.0, 2.0, 1.0)                                  \
    X("rails", factor.rails, NON_NEGATIVE, 0.0, 1024.0, 1.0)                                       \
    X("host_experts", factor.host_experts, POSITIVE, 0.01, 100.0, 1.0)                             \
    X("host_expert_us", factor.host_expert_s, NON_NEGATIVE, 0.0, 1e9, PLAIT_US)                    \
    X("host_backward", factor.host_backward, POSITIVE, 0.01, 100.0, 1.0)                           \
    X("p2p_us", factor.p2p_s, NON_NEGATIVE, 0.0, 1e9, PLAIT_US)                                    \
    X("hop_us", factor.hop_s, NON_NEGATIVE, 0.0, 1e9, PLAIT_US)                                    \
    X("ep_imbalance", factor.ep_imbalance, POSITIVE, 0.01, 100.0, 1.0)

#define RUNTIME_STATE_NUMBERS(X)                                                                   \
    X("weight", state.weight, NON_NEGATIVE, 0.0, 64.0, 1.0)                                        \
    X("gradient", state.gradient, NON_NEGATIVE, 0.0, 64.0, 1.0)                                    \
    X("gradient_reduce", state.gradient_reduce, NON_NEGATIVE, 0.0, 64.0, 1.0)                      \
    X("gather", state.gather, NON_NEGATIVE, 0.0, 64.0, 1.0)                                        \
    X("optimizer", state.optimizer, NON_NEGATIVE, 0.0, 64.0, 1.0)                                  \
    X("replicated", state.replicated, NON_NEGATIVE, 0.0, 64.0, 1.0)                                \
    X("step_bytes", state.step_bytes, NON_NEGATIVE, 0.0, 1000.0, 1.0)                              \
    X("shard_passes", state.shard_passes, NON_NEGATIVE, 0.0, 100.0, 1.0)                           \
    X("buffer_passes", state.buffer_passes, NON_NEGATIVE, 0.0, 100.0, 1.0)

#define RUNTIME_RESIDENT_NUMBERS(X)                                                                \
    X("keeps_gathered", keep.keeps_gathered, NON_NEGATIVE, 0.0, 1.0, 1.0)                          \
    X("logits", keep.logits, NON_NEGATIVE, 0.0, 64.0, 1.0)                                         \
    X("transient_layers", keep.transient_layers, NON_NEGATIVE, 0.0, 1000.0, 1.0)                   \
    X("transient_params", keep.transient_params, NON_NEGATIVE, 0.0, 1e15, 1.0)                     \
    X("weight_transient", keep.weight_transient, NON_NEGATIVE, 0.0, 64.0, 1.0)                     \
    X("head_transient", keep.head_transient, NON_NEGATIVE, 0.0, 64.0, 1.0)                         \
    X("workspace_gib", keep.workspace_bytes, NON_NEGATIVE, 0.0, 1e6, PLAIT_GIB)                    \
    X("context_gib", keep.context_bytes, NON_NEGATIVE, 0.0, 1e6, PLAIT_GIB)                        \
    X("nccl_mib", keep.nccl_bytes, NON_NEGATIVE, 0.0, 1e6, PLAIT_MIB)                              \
    X("fragmentation", keep.fragmentation, POSITIVE, 1.0, 10.0, 1.0)                               \
    X("reserved_ratio", keep.reserved_ratio, POSITIVE, 1.0, 10.0, 1.0)

/** All numbers except the bytes kept per tensor. */
#define RUNTIME_NUMBERS(X)                                                                         \
    RUNTIME_OVERLAP_NUMBERS(X)                                                                     \
    RUNTIME_FACTOR_NUMBERS(X)                                                                      \
    RUNTIME_STATE_NUMBERS(X)                                                                       \
    RUNTIME_RESIDENT_NUMBERS(X)

/** Number of bytes that tensor PLAIT_TENSOR_... keeps for backward, per element. */
#define RUNTIME_KEPT_NUMBER(X, name)                                                               \
    X(#name, keep.keeps[PLAIT_TENSOR_##name], NON_NEGATIVE, 0.0, 64.0, 1.0)
