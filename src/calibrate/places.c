/* places.c - the fitted numbers of a runtime profile */
#include "calibrate/places.h"

#include <math.h>
#include <string.h>

#include "plait/units.h"

#define FACTOR(member) offsetof(plait_runtime, factor.member)
#define OVERLAP(member) offsetof(plait_runtime, overlap.member)

/*
 * Bounds are judgement: no kernel of a training step is much faster than its benchmark, no network
 * is faster than its wire (a cluster's default is 0.95 of the wire), and the other bounds leave
 * room for the worst software with runs. A memory factor of 0.75 is a pass at the full memory rate,
 * since C.33 assumes three quarters of it.
 *
 * The priors of three numbers have sources of their own, so that errors of other terms do not shift
 * them. `tp_exposed` is 1, since a tensor-parallel collective without overlap is fully exposed.
 * `nic` is near 1, since nccl-tests reach the network rate of a cluster file, except for
 * interference between jobs. `rails`, the number of a node's NICs that one communicator uses,
 * depends on how the software calls NCCL.
 *
 * The priors and spreads of all other numbers weigh as much as a few pieces of software. They were
 * chosen from the results of single-profile fits.
 */
const place places[PLACES] = {
    {"factors", "gemm", FACTOR(gemm), 1.0, 0.9, 1.1, 1.5, 0.08, true, false},
    {"factors", "memory", FACTOR(memory), 1.0, 0.75, 0.9, 6.0, 0.3, true, false},
    {"factors", "attention", FACTOR(attention), 1.0, 0.6, 1.0, 2.0, 0.15, true, false},
    {"factors", "host_us", FACTOR(host_s), PLAIT_US, 50.0, 400.0, 4000.0, 0.6, false, false},
    {"overlap", "tp_exposed", OVERLAP(tp_exposed), 1.0, 0.1, 1.0, 1.6, 0.25, false, true},
    {"overlap", "dp_exposed", OVERLAP(dp_exposed), 1.0, 0.02, 0.6, 2.0, 0.4, false, false},
    {"factors", "nic", FACTOR(nic), 1.0, 0.08, 0.9, 1.05, 0.25, false, true},
    {"factors", "rails", FACTOR(rails), 1.0, 1.0, 4.0, 16.0, 0.8, false, true},
    {"factors", "nic_ranks", FACTOR(nic_ranks), 1.0, 0.01, 0.03, 1.0, 1.2, false, false},
    {"factors", "hop_us", FACTOR(hop_s), PLAIT_US, 0.5, 2.0, 1000.0, 1.0, false, false},
};

double place_value(const plait_runtime *runtime, int number)
{
    double value;

    memcpy(&value, (const char *)runtime + places[number].offset, sizeof value);
    return value;
}

void place_set(plait_runtime *runtime, int number, double value)
{
    memcpy((char *)runtime + places[number].offset, &value, sizeof value);
}

/* Without overlap, dp_exposed and `nic` have the same effect, so only one of them is fitted. */
bool place_used(const plait_runtime *runtime, int number)
{
    return place_value(runtime, number) > 0.0 &&
           (places[number].offset != OVERLAP(dp_exposed) || runtime->overlap.grad_reduce ||
            runtime->overlap.ddp);
}

/* Frameworks without fused kernels launch each pass separately, which takes more host time. */
double place_shift(const plait_runtime *runtime, int number)
{
    const bool fused = runtime->kernels.fused_norm && runtime->kernels.fused_activation &&
                       runtime->kernels.fused_rotary;

    return places[number].offset == FACTOR(host_s) && !fused ? log(1000.0 / 400.0) : 0.0;
}
