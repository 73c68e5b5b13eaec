/*
 * cluster_check.c - checks that a cluster and its accelerators are complete and consistent
 *
 * The limits are for values set through the API; files have tighter limits. The checks reject
 * values that would make a price undefined.
 */
#include "hardware/cluster_check.h"

#include <limits.h>

#include "base/number_range.h"
#include "base/text.h"
#include "plait/problem.h"

#define LENGTH(list) (sizeof(list) / sizeof *(list))

/* Fails with the message that `what` was expected. */
static plait_status fail_expected(const char *what, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, "cluster", "expected %s, found another value", what);
}

plait_status parts_check_name(const char *whole, const char *name, plait_error *err)
{
    return name && text_is_plain(name)
               ? PLAIT_OK
               : plait_fail(err, PLAIT_ERROR_RANGE, whole,
                            "expected a name of printable characters on one line, found another "
                            "value");
}

// ---- numbers -------------------------------------------------------------------------------

#define RANGED_TYPE plait_gemm_fit
static const number_range gemm[] = {
    NUMBER_RATE(emax), NUMBER_AMOUNT(k0), NUMBER_AMOUNT(q),    NUMBER_RATE(r128), NUMBER_RATE(r64),
    NUMBER_RATE(r32),  NUMBER_RATE(eb),   NUMBER_AMOUNT(t0_s), NUMBER_RATE(p),    NUMBER_AMOUNT(cq),
};
#undef RANGED_TYPE

#define RANGED_TYPE plait_grouped_fit
static const number_range grouped[] = {
    NUMBER_RATE(emax), NUMBER_RATE(rs),     NUMBER_AMOUNT(k0),
    NUMBER_RATE(eb),   NUMBER_AMOUNT(t0_s), NUMBER_AMOUNT(permute_passes),
};
#undef RANGED_TYPE

#define RANGED_TYPE plait_attention_fit
static const number_range attention[] = {
    NUMBER_RATE(e[0]),   NUMBER_RATE(e[1]),     NUMBER_RATE(e[2]),
    NUMBER_RATE(e[3]),   NUMBER_AMOUNT(s0),     NUMBER_AMOUNT(q),
    NUMBER_AMOUNT(t0_s), NUMBER_RATE(fp8_rate), NUMBER_RATE(backward_ratio),
};
#undef RANGED_TYPE

#define RANGED_TYPE plait_decode_fit
static const number_range decode[] = {NUMBER_RATE(eb), NUMBER_AMOUNT(few), NUMBER_AMOUNT(t0_s)};
#undef RANGED_TYPE

#define RANGED_TYPE plait_collective_fit
static const number_range collective[] = {
    NUMBER_AMOUNT(a_s[0]),          NUMBER_AMOUNT(a_s[1]),       NUMBER_AMOUNT(a_s[2]),
    NUMBER_AMOUNT(b_s[0]),          NUMBER_AMOUNT(b_s[1]),       NUMBER_AMOUNT(b_s[2]),
    NUMBER_RATE(bytes_per_s[0]),    NUMBER_RATE(bytes_per_s[1]), NUMBER_RATE(bytes_per_s[2]),
    NUMBER_RATE(local_bytes_per_s), NUMBER_AMOUNT(nvls_a_s),     NUMBER_AMOUNT(nvls_bytes_per_s),
};
#undef RANGED_TYPE

#define RANGED_TYPE plait_accelerator
static const number_range accelerator[] = {
    NUMBER_RATE(peak_flops_per_s[PLAIT_BF16]),
    NUMBER_RATE(peak_flops_per_s[PLAIT_FP16]),
    NUMBER_AMOUNT(peak_flops_per_s[PLAIT_FP8]),
    NUMBER_AMOUNT(peak_flops_per_s[PLAIT_FP8_BLOCK]),
    NUMBER_AMOUNT(peak_flops_per_s[PLAIT_MXFP8]),
    NUMBER_AMOUNT(peak_flops_per_s[PLAIT_NVFP4]),
    NUMBER_AMOUNT(vector_flops_per_s),
    NUMBER_RATE(memory_bytes),
    NUMBER_RATE(hbm_bytes_per_s),
    NUMBER_AMOUNT(power_w),
    NUMBER_AMOUNT(idle_w),
    NUMBER_AMOUNT(usd_per_hour),
    NUMBER_RATE(sustained[0]),
    NUMBER_RATE(sustained[1]),
    NUMBER_RATE(wgrad_ratio),
    NUMBER_AMOUNT(speed_spread),
    NUMBER_RATE(memory_op_fraction),
    NUMBER_AMOUNT(memory_op_t0_s),
    NUMBER_AMOUNT(p2p.latency_s),
    NUMBER_RATE(p2p.bytes_per_s),
    NUMBER_AMOUNT(scale_up_bytes_per_s),
    NUMBER_AMOUNT(nic_bytes_per_s),
    NUMBER_RATE(host_bytes_per_s),
    NUMBER_AMOUNT(host_adam_s),
};
#undef RANGED_TYPE

#define RANGED_TYPE plait_level
static const number_range links[] = {
    NUMBER_RATE(link.bytes_per_s),
    NUMBER_AMOUNT(link.latency_s),
    NUMBER_RATE(efficiency),
    NUMBER_AMOUNT(ramp_bytes),
    NUMBER_WITHIN(oversubscription, 1.0, NUMBER_MOST, false),
    NUMBER_WITHIN(scattered, NUMBER_TINY, 1.0, true),
    NUMBER_AMOUNT(in_network),
};
#undef RANGED_TYPE

#define RANGED_TYPE plait_cluster
static const number_range facility[] = {NUMBER_AMOUNT(node_overhead_w), NUMBER_RATE(pue),
                                        NUMBER_RATE(host_speed), NUMBER_AMOUNT(host_memory_bytes)};
#undef RANGED_TYPE

#define CHECK(of, table) numbers_check("cluster", (of), (table), LENGTH(table), err)

// ---- links ---------------------------------------------------------------------------------

static bool level_is_valid(const plait_level *level)
{
    if (level->gpus < 1 || (unsigned)level->kind >= PLAIT_LEVEL_KINDS)
        return false;
    if (!plait_level_is_grid(level))
        return true;
    for (int a = 0; a < PLAIT_MAX_SIDES; a++)
        if (level->side[a] < 0 || level->side[a] > USHRT_MAX)
            return false;
    return level->ports >= 1;
}

static plait_status check_levels(const plait_level *level, int levels, int least, plait_error *err)
{
    if (levels < least || levels > PLAIT_MAX_LEVELS || (levels > 0 && !level))
        return fail_expected("1 to 6 levels of links", err);
    for (int l = 0; l < levels; l++) {
        if (!level_is_valid(&level[l]))
            return fail_expected("levels of a valid kind and shape with at least 1 GPU", err);
        PLAIT_TRY(CHECK(&level[l], links));
    }
    return PLAIT_OK;
}

// ---- the whole -----------------------------------------------------------------------------

plait_status cluster_check_parts(const plait_cluster *cluster, plait_error *err)
{
    if (!cluster)
        return plait_fail(err, PLAIT_ERROR_RANGE, "cluster", "expected a cluster, found NULL");
    PLAIT_TRY(parts_check_name("cluster", cluster->name, err));
    if (cluster->groups < 1 || cluster->groups > PLAIT_MAX_NODE_GROUPS || cluster->gpus < 0)
        return fail_expected("1 to 4 groups of nodes", err);
    PLAIT_TRY(check_levels(cluster->level, cluster->levels, 1, err));
    if (cluster->between.link.bytes_per_s != 0.0) // 0: there are no links between sites
        PLAIT_TRY(CHECK(&cluster->between, links));
    PLAIT_TRY(CHECK(cluster, facility));
    for (int g = 0; g < cluster->groups; g++) {
        const plait_node_group *const group = &cluster->group[g];
        const plait_accelerator *const gpu = group->accelerator;

        if (!gpu)
            return fail_expected("an accelerator in each group of nodes", err);
        PLAIT_TRY(parts_check_name("cluster", gpu->name, err));
        if ((unsigned)gpu->confidence >= PLAIT_CONFIDENCES)
            return fail_expected("a value of plait_confidence as the confidence", err);
        if (gpu->sms < 1 || group->gpus_per_node < 1 || group->gpus_per_node > PLAIT_MAX_GPUS ||
            group->nodes < 0)
            return fail_expected("at least 1 SM, at least 1 GPU per node and 0 or more nodes", err);
        PLAIT_TRY(CHECK(gpu, accelerator));
        for (int p = 0; p < PLAIT_PRECISIONS; p++) {
            PLAIT_TRY(CHECK(&gpu->gemm[p], gemm));
            PLAIT_TRY(CHECK(&gpu->grouped[p], grouped));
        }
        for (int k = PLAIT_ATTENTION_FLASH; k < PLAIT_ATTENTION_KERNELS; k++)
            PLAIT_TRY(CHECK(&gpu->attention[k], attention));
        for (int f = 0; f < PLAIT_KV_FORMATS; f++)
            PLAIT_TRY(CHECK(&gpu->decode[f], decode));
        for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
            PLAIT_TRY(CHECK(&gpu->collective[op], collective));
        PLAIT_TRY(check_levels(group->level, group->levels, 0, err));
    }
    return PLAIT_OK;
}
