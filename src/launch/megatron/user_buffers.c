/*
 * user_buffers.c - whether Transformer Engine's user buffers work where a plan runs
 *
 * They hide the communication of tensor parallelism inside products (--tp-comm-overlap). A rank
 * stores straight into the others' memory: all of a group are in one node and have links of their
 * own, and a switch copies the stores (multicast) unless UB_SKIPMC=1 has them go by CUDA IPC
 * (Transformer Engine d0067d0, 2026-08: initialize_ub in pytorch/module/base.py). Before Hopper
 * there is no multicast, and nobody tests the other way: there they stay off.
 */
#include "launch/megatron/user_buffers.h"

static bool in_one_node(const plait_problem *problem, const plait_degrees *d)
{
    const plait_cluster *const cluster = problem->cluster;

    return cluster->group[0].gpus_per_node % d->tp == 0 && cluster->level[0].gpus % d->tp == 0;
}

user_buffers user_buffers_of(const plait_problem *problem, const plait_degrees *degrees)
{
    const plait_accelerator *const gpu = problem->cluster->group[0].accelerator;

    if (degrees->tp == 1 || !degrees->sp || !in_one_node(problem, degrees) || gpu->scale_up_pcie ||
        !plait_accelerator_runs(gpu, PLAIT_KERNEL_MULTICAST))
        return USER_BUFFERS_NONE;
    return problem->cluster->level[0].kind == PLAIT_LEVEL_SWITCH ? USER_BUFFERS_MULTICAST
                                                                 : USER_BUFFERS_IPC;
}
