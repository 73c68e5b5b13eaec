/* cluster.c - which accelerators a job takes of a cluster, and the words for what runs on them */
#include "plait/cluster.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "topology.h"

/* Of attention: PLAIT_ATTENTION_X at the index `at` + PLAIT_ATTENTION_X. */
#define ATTENTION_WORDS(at)                                                                        \
    [(at) + PLAIT_ATTENTION_UNFUSED] = "unfused",                                                  \
            [(at) + PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL] = "unfused-softmax-kernel",            \
            [(at) + PLAIT_ATTENTION_FLASH] = "flash", [(at) + PLAIT_ATTENTION_FLASH2] = "flash2",  \
            [(at) + PLAIT_ATTENTION_FLASH3] = "flash3", [(at) + PLAIT_ATTENTION_FUSED] = "fused"
#define PRECISION_WORDS(at)                                                                        \
    [(at) + PLAIT_BF16] = "bf16", [(at) + PLAIT_FP16] = "fp16", [(at) + PLAIT_FP8] = "fp8",        \
            [(at) + PLAIT_FP8_BLOCK] = "fp8_block", [(at) + PLAIT_MXFP8] = "mxfp8",                \
            [(at) + PLAIT_NVFP4] = "nvfp4"

const char *const plait_precision_name[PLAIT_PRECISIONS + 1] = {PRECISION_WORDS(0)};

const char *const plait_attention_kernel_name[PLAIT_ATTENTION_KERNELS + 1] = {ATTENTION_WORDS(0)};

const char *const plait_kernel_name[PLAIT_KERNELS + 1] = {
    ATTENTION_WORDS(PLAIT_KERNEL_ATTENTION), PRECISION_WORDS(PLAIT_KERNEL_PRECISION),
    [PLAIT_KERNEL_WIDE] = "fused_wide",      [PLAIT_KERNEL_GROUPED_GEMM] = "grouped_gemm",
    [PLAIT_KERNEL_MULTICAST] = "multicast",  [PLAIT_KERNEL_DEEPEP] = "deepep",
    [PLAIT_KERNEL_HYBRIDEP] = "hybridep",
};

const char *const plait_collective_name[PLAIT_COLLECTIVES + 1] = {
#define X(constant, word) word,
    PLAIT_COLLECTIVE_LIST(X)
#undef X
        NULL};

/* GPUs of a node group; a group without a count has no end. */
static int64_t group_gpus(const plait_node_group *group)
{
    return group->nodes == 0 ? INT_MAX : (int64_t)group->nodes * group->gpus_per_node;
}

static int64_t cluster_gpus(const plait_cluster *cluster)
{
    int64_t gpus = 0;

    for (int g = 0; g < cluster->groups; g++)
        gpus += group_gpus(&cluster->group[g]);
    return gpus;
}

/* Do `gpus` end where a node ends, when the groups are filled in their order? */
static bool ends_with_node(const plait_cluster *cluster, int64_t gpus)
{
    for (int g = 0; g < cluster->groups; g++) {
        const plait_node_group *group = &cluster->group[g];

        if (gpus <= group_gpus(group))
            return gpus % group->gpus_per_node == 0;
        gpus -= group_gpus(group);
    }
    return false;
}

/* ---- slices of a torus ---- */

static int torus_size(const int torus[3])
{
    return torus[0] * torus[1] * torus[2];
}

/*
 * The slice x * y * z = nodes with the least x + y + z that fits in the torus: 64 nodes of a
 * 16x20x28 torus are 4x4x4. A count that no slice has leaves the torus as it is.
 */
static void torus_slice(int nodes, int torus[3])
{
    int best[3] = {torus[0], torus[1], torus[2]};
    int least = INT_MAX;

    for (int x = 1; x <= torus[0]; x++)
        for (int y = 1; y <= torus[1]; y++) {
            const int z = nodes / (x * y);

            if (z < 1 || z > torus[2] || x * y * z != nodes || x + y + z >= least)
                continue;
            least = x + y + z;
            best[0] = x;
            best[1] = y;
            best[2] = z;
        }
    for (int axis = 0; axis < 3; axis++)
        torus[axis] = best[axis];
}

static void take_torus(plait_level *level, int gpus)
{
    if (level->kind != PLAIT_LEVEL_TORUS || gpus >= torus_size(level->torus))
        return;
    torus_slice(gpus, level->torus);
    level->gpus = torus_size(level->torus);
}

/* Whole nodes in the order of the groups, or part of one; a torus shrinks to the slice that is used. */
plait_status plait_cluster_take(plait_cluster *cluster, int gpus, plait_error *err)
{
    const int node = cluster->group[0].gpus_per_node;
    const int64_t all = cluster_gpus(cluster);

    if (gpus < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "gpus", "expected at least 1 GPU, found %d",
                          gpus);
    if (gpus > all)
        return plait_fail(err, PLAIT_ERROR_RANGE, "gpus",
                          "expected at most the %lld GPUs of %s, found %d", (long long)all,
                          cluster->name, gpus);
    if (gpus > node && !ends_with_node(cluster, gpus))
        return plait_fail(err, PLAIT_ERROR_RANGE, "gpus",
                          "expected whole nodes of %d GPUs or part of one node, found %d", node,
                          gpus);

    for (int l = 0; l < cluster->levels; l++)
        take_torus(&cluster->level[l], gpus);
    cluster->gpus = gpus;
    return PLAIT_OK;
}

// ---- what has a price ----------------------------------------------------------------------

int plait_cluster_groups(const plait_cluster *cluster, int gpus)
{
    int64_t left = gpus;
    int g = 0;

    while (g < cluster->groups && left > 0)
        left -= group_gpus(&cluster->group[g++]);
    return g;
}

/* Numbers that stand one behind another in a struct: no padding, which may differ, is between them. */
#define SAME_RUN(type, a, b, from, to)                                                             \
    (memcmp((const char *)(a) + offsetof(type, from), (const char *)(b) + offsetof(type, from),    \
            offsetof(type, to) + sizeof((a)->to) - offsetof(type, from)) == 0)

static bool same_fits(const plait_accelerator *a, const plait_accelerator *b)
{
    for (int p = 0; p < PLAIT_PRECISIONS; p++)
        if (a->gemm[p].measured != b->gemm[p].measured ||
            !SAME_RUN(plait_gemm_fit, &a->gemm[p], &b->gemm[p], emax, cq) ||
            a->grouped[p].measured != b->grouped[p].measured ||
            !SAME_RUN(plait_grouped_fit, &a->grouped[p], &b->grouped[p], emax, permute_passes))
            return false;
    for (int k = 0; k < PLAIT_ATTENTION_KERNELS; k++)
        if (a->attention[k].measured != b->attention[k].measured ||
            !SAME_RUN(plait_attention_fit, &a->attention[k], &b->attention[k], e, backward_ratio))
            return false;
    for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
        if (a->collective[op].measured != b->collective[op].measured ||
            !SAME_RUN(plait_collective_fit, &a->collective[op], &b->collective[op], a_s,
                      nvls_bytes_per_s))
            return false;
    return true;
}

/* What a price can read is the same: every number, whatever the two are called. */
static bool same_constants(const plait_accelerator *a, const plait_accelerator *b)
{
    return a->confidence == b->confidence && a->lacks == b->lacks && a->fp16_only == b->fp16_only &&
           a->sms == b->sms &&
           SAME_RUN(plait_accelerator, a, b, peak_flops_per_s, peak_flops_per_s) &&
           SAME_RUN(plait_accelerator, a, b, vector_flops_per_s, vector_flops_per_s) &&
           SAME_RUN(plait_accelerator, a, b, memory_bytes, wgrad_ratio) && same_fits(a, b) &&
           SAME_RUN(plait_accelerator, a, b, memory_op_fraction, memory_op_t0_s) &&
           a->memory_op_measured == b->memory_op_measured &&
           SAME_RUN(plait_accelerator, a, b, p2p, p2p) && a->gpus_per_node == b->gpus_per_node &&
           a->scale_up_domain == b->scale_up_domain && a->scale_up_mesh == b->scale_up_mesh &&
           SAME_RUN(plait_accelerator, a, b, scale_up_bytes_per_s, scale_up_bytes_per_s) &&
           SAME_RUN(plait_accelerator, a, b, torus, torus) &&
           SAME_RUN(plait_accelerator, a, b, nic_bytes_per_s, host_adam_s);
}

/* Groups of a job are priced as the first of them, so all must be of its nodes. */
static bool same_nodes(const plait_cluster *cluster, int gpus, char *why, size_t size)
{
    const plait_node_group *const first = &cluster->group[0];
    const int groups = plait_cluster_groups(cluster, gpus);

    for (int g = 1; g < groups; g++) {
        const plait_node_group *const group = &cluster->group[g];

        const bool same = group->accelerator == first->accelerator ||
                          same_constants(group->accelerator, first->accelerator);

        if (group->gpus_per_node == first->gpus_per_node && same)
            continue;
        if (why && size > 0)
            snprintf(why, size,
                     "%d GPUs of %s are of two sorts, %d %s a node and %d %s%s: a plan over both "
                     "has no price yet (rule P4)",
                     gpus, cluster->name, first->gpus_per_node, first->accelerator->name,
                     group->gpus_per_node, group->accelerator->name,
                     same ? "" : " with other constants");
        return false;
    }
    return true;
}

bool plait_cluster_priced(const plait_cluster *cluster, int gpus, char *why, size_t size)
{
    for (int l = 1; l < cluster->levels && gpus > cluster->level[l - 1].gpus; l++) {
        if (link_kind_of(&cluster->level[l])->above)
            continue;
        if (why && size > 0)
            snprintf(why, size,
                     "level %s of %s is a torus above the innermost level, which has no price yet "
                     "(rule P5)",
                     cluster->level[l].name ? cluster->level[l].name : "?", cluster->name);
        return false;
    }
    return same_nodes(cluster, gpus, why, size);
}

const plait_accelerator *plait_cluster_accelerator(const plait_cluster *cluster, int rank)
{
    int64_t left = rank;
    int g = 0;

    assert(rank >= 0 && rank < cluster_gpus(cluster));
    while (left >= group_gpus(&cluster->group[g]))
        left -= group_gpus(&cluster->group[g++]);
    return cluster->group[g].accelerator;
}

double plait_ridge_flops_per_byte(double flops_per_s, double bytes_per_s)
{
    assert(flops_per_s >= 0.0 && bytes_per_s > 0.0);
    return flops_per_s / bytes_per_s;
}

bool plait_accelerator_runs(const plait_accelerator *accelerator, int kernel)
{
    const int format = kernel - PLAIT_KERNEL_PRECISION;

    if (accelerator->lacks >> kernel & 1u)
        return false;
    if (format < 0 || format >= PLAIT_PRECISIONS)
        return true;
    return accelerator->peak_flops_per_s[format] > 0.0;
}
