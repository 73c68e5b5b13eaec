/* places.c - the numbers of a runtime profile that are fitted */
#include "calibrate/places.h"

#include <math.h>
#include <string.h>

#include "plait/units.h"

#define FACTOR(member) offsetof(plait_runtime, factor.member)
#define OVERLAP(member) offsetof(plait_runtime, overlap.member)

/*
 * Bounds are judgement: no kernel of a training step is much faster than its benchmark, no network
 * faster than its wire (0.95 of which a cluster has by default), and the rest leaves room for the
 * worst software that has runs. A memory factor of 0.75 is a pass at the full rate of the memory,
 * since C.33 has three quarters of it.
 *
 * Three numbers have a source of their own, so that they do not take up what other terms lack. A
 * collective of tensor parallelism that nothing hides is exposed whole. NCCL's tests reach what a
 * cluster file says of its network, so `nic` stays near 1 but for what jobs do to each other; how
 * many NICs of a node one communicator drives, `rails`, is of the software's own way to call NCCL.
 *
 * Priors of all other numbers and their spreads count as little as a few pieces of software do; they were
 * chosen by what fits of single profiles came to.
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

/* Where nothing overlaps, the share of the reduction and the network's rate would be one number twice. */
bool place_used(const plait_runtime *runtime, int number)
{
    return place_value(runtime, number) > 0.0 &&
           (places[number].offset != OVERLAP(dp_exposed) || runtime->overlap.grad_reduce ||
            runtime->overlap.ddp);
}

/* Eager frameworks launch each pass of an unfused kernel apart. */
double place_shift(const plait_runtime *runtime, int number)
{
    const bool fused = runtime->kernels.fused_norm && runtime->kernels.fused_activation &&
                       runtime->kernels.fused_rotary;

    return places[number].offset == FACTOR(host_s) && !fused ? log(1000.0 / 400.0) : 0.0;
}
