/*
 * offload.c - offloaded activations, and the offloaded share of the optimizer
 *
 * An offloaded module moves its input to the host (Megatron-Core:
 * --fine-grained-activation-offloading). A plan selects one of a few sets of modules.
 */
#include "plait/degrees.h"

#define M(name) (1u << PLAIT_OFFLOAD_##name)

static const unsigned char sets[PLAIT_OFFLOAD_SETS] = {
    0,
    M(core_attn),
    M(core_attn) | M(attn_proj),
    M(attn_norm) | M(mlp_norm),
    M(expert_fc1),
    M(moe_act),
    M(expert_fc1) | M(moe_act),
    M(core_attn) | M(attn_proj) | M(expert_fc1) | M(moe_act),
    M(attn_norm) | M(core_attn) | M(attn_proj) | M(mlp_norm) | M(expert_fc1) | M(moe_act),
};

/* Names of the sets: their modules, in the order of PLAIT_OFFLOAD_MODULE_LIST. */
const char *const plait_offload_acts_name[PLAIT_OFFLOAD_SETS + 1] = {
    "none",       "core_attn", "core_attn+attn_proj", "attn_norm+mlp_norm",
    "expert_fc1", "moe_act",   "expert_fc1+moe_act",  "core_attn+attn_proj+expert_fc1+moe_act",
    "all",        NULL,
};

/*
 * Sets that a search skips. Each is a subset of another set, and about the same plans hide the
 * transfers of both sets.
 */
static const bool part_of_larger[PLAIT_OFFLOAD_SETS] = {[1] = true, [3] = true, [5] = true};

bool plait_offload_searched(unsigned char set)
{
    return set < PLAIT_OFFLOAD_SETS && !part_of_larger[set];
}

unsigned plait_offload_modules(unsigned char set)
{
    return set < PLAIT_OFFLOAD_SETS ? sets[set] : 0;
}

double plait_offload_share_of(const plait_degrees *d)
{
    if (d->offload == PLAIT_OFFLOAD_NONE)
        return 0.0;
    return d->offload_share == 0 ? 1.0 : d->offload_share / 10.0;
}

double plait_bucket_elements(const plait_degrees *d)
{
    static const double elements[PLAIT_BUCKETS] = {0.0, 1e7, 2e7, 5e7, 1e8, 2e8, 1e9};

    return d->bucket < PLAIT_BUCKETS ? elements[d->bucket] : 0.0;
}
