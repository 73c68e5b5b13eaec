/* everything.c - software that can run whatever has a price */
#include "everything.h"

plait_capabilities everything_can(int most, int most_vpp)
{
    return (plait_capabilities){
        .max_tp = most,
        .max_pp = most,
        .max_cp = most,
        .max_ep = most,
        .max_vpp = most_vpp,
        .sp = true,
        .sp_optional = true,
        .etp = true,
        .hsdp = true,
        .full_layers = true,
        .zero = 15,
        .cp_comm = 7,
        .schedules = (1u << PLAIT_SCHEDULES) - 1,
        .grad_sync = 7,
        .recompute = 31,
        .splits = (1u << PLAIT_SPLITS) - 1,
        .orders = 3,
        .attention = 63,
        .precision = 63,
    };
}

void everything_allow(plait_runtime *runtime)
{
    const plait_capabilities every = everything_can(1, 1);

    runtime->name = "everything";
    runtime->rules = PLAIT_RULES_GENERIC;
    runtime->can.zero = every.zero;
    runtime->can.schedules = every.schedules;
    runtime->can.grad_sync = every.grad_sync;
    runtime->can.splits = every.splits;
}
