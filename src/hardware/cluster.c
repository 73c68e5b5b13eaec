/* cluster.c - the part of a cluster that a job uses, and the names of precisions and kernels */
#include "plait/cluster.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hardware/cluster_check.h"
#include "plait/plan.h"

/* Names of attention kernels, starting at index `at` of a list. */
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

const char *const plait_kv_name[PLAIT_KV_FORMATS + 1] = {"bf16", "fp8"};

const char *const plait_kernel_name[PLAIT_KERNELS + 1] = {
    ATTENTION_WORDS(PLAIT_KERNEL_ATTENTION),    PRECISION_WORDS(PLAIT_KERNEL_PRECISION),
    [PLAIT_KERNEL_WIDE] = "fused_wide",         [PLAIT_KERNEL_GROUPED_GEMM] = "grouped_gemm",
    [PLAIT_KERNEL_MULTICAST] = "multicast",     [PLAIT_KERNEL_DEEPEP] = "deepep",
    [PLAIT_KERNEL_HYBRIDEP] = "hybridep",       [PLAIT_KERNEL_ANY_WIDTH] = "fused_any_width",
    [PLAIT_KERNEL_BETWEEN] = "fused_between",   [PLAIT_KERNEL_ALIBI] = "fused_alibi",
    [PLAIT_KERNEL_FLASH2_WIDE] = "flash2_wide", [PLAIT_KERNEL_CUDA_GRAPH] = "cuda_graph",
};

const char *const plait_collective_name[PLAIT_COLLECTIVES + 1] = {
#define X(constant, word) word,
    PLAIT_COLLECTIVE_LIST(X)
#undef X
        NULL};

bool plait_level_is_grid(const plait_level *level)
{
    return level->kind != PLAIT_LEVEL_SWITCH && level->kind != PLAIT_LEVEL_FULL;
}

const int *plait_placement_axes(plait_placement placement)
{
    static const int axes[PLAIT_PLACEMENTS][PLAIT_MAX_SIDES] = {
        [PLAIT_PLACE_XYZ] = {0, 1, 2, 3, 4, 5}, [PLAIT_PLACE_XZY] = {0, 2, 1, 3, 4, 5},
        [PLAIT_PLACE_YXZ] = {1, 0, 2, 3, 4, 5}, [PLAIT_PLACE_YZX] = {1, 2, 0, 3, 4, 5},
        [PLAIT_PLACE_ZXY] = {2, 0, 1, 3, 4, 5}, [PLAIT_PLACE_ZYX] = {2, 1, 0, 3, 4, 5},
    };

    return (unsigned)placement < PLAIT_PLACEMENTS ? axes[placement] : NULL;
}

/* Returns the GPUs of a node group; INT_MAX if the group has no number of nodes (unlimited). */
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

/* Returns whether `gpus` GPUs fill whole nodes if the groups are filled in order. */
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

/* ---- slices of a grid ---- */

/*
 * State of the search for the most compact slice of a grid. The search tries all lengths of the
 * sides; the first side varies slowest.
 */
typedef struct slice_search {
    const int *full;
    int side[PLAIT_MAX_SIDES];
    int best[PLAIT_MAX_SIDES];
    int64_t least; /* sum of the sides of the best slice; 0: none yet */
} slice_search;

static void try_sides(slice_search *search, int axis, int units, int64_t sum)
{
    const int most = search->full[axis] < units ? search->full[axis] : units;

    if (axis == PLAIT_MAX_SIDES - 1) {
        search->side[axis] = units;
        if (units > most || (search->least > 0 && sum + units >= search->least))
            return;
        search->least = sum + units;
        memcpy(search->best, search->side, sizeof search->best);
        return;
    }
    for (int side = 1; side <= most; side++) {
        search->side[axis] = side;
        if (units % side == 0)
            try_sides(search, axis + 1, units / side, sum + side);
    }
}

/* Returns whether a slice has whole blocks, so that optical switches close its axes to rings. */
static bool of_whole_blocks(const slice_search *search, int block)
{
    for (int a = 0; a < PLAIT_MAX_SIDES; a++)
        if (search->full[a] > 1 && search->best[a] % block != 0)
            return false;
    return true;
}

/*
 * Reduces a grid to the slice of `units` units with the smallest sum of sides; for 64 units of
 * 16x20x28, this is 4x4x4. If no slice fits, the grid stays unchanged. (C.113)
 */
static bool take_slice(plait_level *level, int units)
{
    slice_search search = {0};
    int full[PLAIT_MAX_SIDES];

    for (int a = 0; a < PLAIT_MAX_SIDES; a++)
        full[a] = level->side[a] > 1 ? level->side[a] : 1;
    search.full = full;
    try_sides(&search, 0, units, 0);
    if (search.least == 0)
        return false;
    if (level->whole.gpus == 0) {
        level->whole.gpus = level->gpus;
        memcpy(level->whole.side, level->side, sizeof level->side);
        memcpy(level->whole.wrap, level->wrap, sizeof level->wrap);
    }
    const bool blocks = level->wrap_block > 0 && of_whole_blocks(&search, level->wrap_block);
    for (int a = 0; a < PLAIT_MAX_SIDES; a++) {
        level->wrap[a] = level->wrap[a] && (blocks || search.best[a] == full[a]);
        level->side[a] = search.best[a];
    }
    return true;
}

/* Undoes take_slice. */
static void make_whole(plait_level *level)
{
    const plait_whole_grid *const whole = &level->whole;

    if (whole->gpus == 0)
        return;
    level->gpus = whole->gpus;
    memcpy(level->side, whole->side, sizeof level->side);
    memcpy(level->wrap, whole->wrap, sizeof level->wrap);
}

/*
 * Takes whole nodes in the order of the groups, or part of one node. A grid is reduced to the used
 * slice, of the whole grid also if the cluster has a slice already.
 */
plait_status plait_cluster_take(plait_cluster *cluster, int gpus, plait_error *err)
{
    PLAIT_TRY(cluster_check_parts(cluster, err));
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
        make_whole(&cluster->level[l]);
    for (int l = 0; l < cluster->levels; l++) {
        plait_level *const level = &cluster->level[l];
        const int below = l == 0 ? 1 : cluster->level[l - 1].gpus;

        if (plait_level_is_grid(level) && gpus < level->gpus && gpus % below == 0 &&
            take_slice(level, gpus / below))
            level->gpus = gpus;
    }
    cluster->gpus = gpus;
    return PLAIT_OK;
}

// ---- groups that a job uses ----------------------------------------------------------------

int plait_cluster_groups(const plait_cluster *cluster, int gpus)
{
    int64_t left = gpus;
    int g = 0;

    while (g < cluster->groups && left > 0)
        left -= group_gpus(&cluster->group[g++]);
    return g;
}

/* Compares the bytes of consecutive members of a struct; there is no padding between them. */
#define SAME_RUN(type, a, b, from, to)                                                             \
    (memcmp((const char *)(a) + offsetof(type, from), (const char *)(b) + offsetof(type, from),    \
            offsetof(type, to) + sizeof((a)->to) - offsetof(type, from)) == 0)

/* Returns whether two accelerators are equal in all numbers that prices depend on. */
static bool same_constants(const plait_accelerator *a, const plait_accelerator *b)
{
    if (a->confidence != b->confidence || a->missing_kernels != b->missing_kernels ||
        a->fp16_only != b->fp16_only || a->sms != b->sms ||
        !SAME_RUN(plait_accelerator, a, b, peak_flops_per_s, peak_flops_per_s) ||
        !SAME_RUN(plait_accelerator, a, b, vector_flops_per_s, vector_flops_per_s) ||
        !SAME_RUN(plait_accelerator, a, b, memory_bytes, speed_spread))
        return false;
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
    return SAME_RUN(plait_accelerator, a, b, memory_op_fraction, memory_op_t0_s) &&
           a->memory_op_measured == b->memory_op_measured &&
           SAME_RUN(plait_accelerator, a, b, p2p, p2p) && a->gpus_per_node == b->gpus_per_node &&
           a->scale_up_domain == b->scale_up_domain && a->scale_up_full == b->scale_up_full &&
           SAME_RUN(plait_accelerator, a, b, scale_up_bytes_per_s, scale_up_bytes_per_s) &&
           SAME_RUN(plait_accelerator, a, b, torus, wrap_block) &&
           SAME_RUN(plait_accelerator, a, b, nic_bytes_per_s, host_adam_s);
}

/* ---- groups ---- */

int plait_cluster_taken(const plait_cluster *cluster, int gpus, int g)
{
    int64_t left = gpus;

    if (g < 0 || g >= cluster->groups)
        return 0;
    for (int h = 0; h < g; h++)
        left -= group_gpus(&cluster->group[h]);
    const int64_t most = group_gpus(&cluster->group[g]);
    return left <= 0 ? 0 : (int)(left < most ? left : most);
}

/* Sets *level to the links of a group, its own or the cluster's. Returns the number of levels. */
static int links_of(const plait_cluster *cluster, int g, const plait_level **level)
{
    const plait_node_group *const group = &cluster->group[g];

    *level = group->levels > 0 ? group->level : cluster->level;
    return group->levels > 0 ? group->levels : cluster->levels;
}

static bool same_level(const plait_level *a, const plait_level *b)
{
    return a->kind == b->kind && a->gpus == b->gpus &&
           SAME_RUN(plait_level, a, b, link, in_network) &&
           SAME_RUN(plait_level, a, b, side, side) && SAME_RUN(plait_level, a, b, wrap, wrap) &&
           a->ports == b->ports && a->wrap_block == b->wrap_block;
}

/*
 * Returns whether two groups are at one site. If the cluster has links between sites, each group
 * without a site is a separate site.
 */
static bool same_site(const plait_cluster *cluster, int g, int h)
{
    const char *const a = cluster->group[g].site;
    const char *const b = cluster->group[h].site;

    return g == h || cluster->between.link.bytes_per_s <= 0.0 || (a && b && strcmp(a, b) == 0);
}

bool plait_cluster_equal(const plait_cluster *cluster, int g, int h)
{
    const plait_node_group *const a = &cluster->group[g];
    const plait_node_group *const b = &cluster->group[h];
    const plait_level *one, *other;

    if (a->gpus_per_node != b->gpus_per_node || !same_site(cluster, g, h))
        return false;

    const int levels = links_of(cluster, g, &one);
    if (levels != links_of(cluster, h, &other))
        return false;
    for (int l = 0; l < levels; l++)
        if (!same_level(&one[l], &other[l]))
            return false;
    return a->accelerator == b->accelerator || same_constants(a->accelerator, b->accelerator);
}

plait_cluster plait_cluster_of_group(const plait_cluster *cluster, int g, int gpus)
{
    const plait_node_group *const group = &cluster->group[g];
    const plait_level *level;
    plait_cluster out = *cluster;

    out.groups = 1;
    out.group[0] = (plait_node_group){.accelerator = group->accelerator,
                                      .gpus_per_node = group->gpus_per_node};
    out.levels = links_of(cluster, g, &level);
    for (int l = 0; l < out.levels; l++)
        out.level[l] = level[l];
    out.between = (plait_level){0};
    out.gpus = gpus;
    out.node_overhead_w =
        cluster->node_overhead_w / cluster->group[0].gpus_per_node * group->gpus_per_node;
    return out;
}

/* Returns the bandwidth of one GPU through a level, bytes/s. */
static double level_bytes_per_s(const plait_level *level)
{
    return level->link.bytes_per_s * level->efficiency / level->oversubscription;
}

plait_cluster plait_cluster_of_pair(const plait_cluster *cluster, int g, int h)
{
    const plait_cluster a = plait_cluster_of_group(cluster, g, 2);
    const plait_cluster b = plait_cluster_of_group(cluster, h, 2);
    const plait_level *const outer_a = &a.level[a.levels - 1];
    const plait_level *const outer_b = &b.level[b.levels - 1];
    const bool slower = level_bytes_per_s(outer_b) < level_bytes_per_s(outer_a) ||
                        (level_bytes_per_s(outer_b) <= level_bytes_per_s(outer_a) &&
                         outer_b->link.latency_s > outer_a->link.latency_s);
    plait_cluster pair = slower ? b : a;

    pair.level[1] = !same_site(cluster, g, h) ? cluster->between : slower ? *outer_b : *outer_a;
    pair.level[1].gpus = INT_MAX;
    pair.level[0].gpus = 1; // no two GPUs share a domain
    pair.levels = 2;
    return pair;
}

bool plait_cluster_priced(const plait_cluster *cluster, int gpus, char *why, size_t size)
{
    // A price uses the nodes of the first group for all groups of a job, so their nodes must be
    // equal.
    const plait_node_group *const first = &cluster->group[0];
    const int groups = plait_cluster_groups(cluster, gpus);
    for (int g = 1; g < groups; g++) {
        const plait_node_group *const group = &cluster->group[g];

        const bool same = group->accelerator == first->accelerator ||
                          same_constants(group->accelerator, first->accelerator);

        if (plait_cluster_equal(cluster, 0, g))
            continue;
        if (why && size > 0)
            snprintf(why, size,
                     "%d GPUs of %s span two kinds of nodes, %d x %s and %d x %s%s: only the "
                     "runtimes flagscale and companion support this (rule P4)",
                     gpus, cluster->name, first->gpus_per_node, first->accelerator->name,
                     group->gpus_per_node, group->accelerator->name,
                     same ? "" : " with different constants");
        return false;
    }
    return true;
}

const plait_accelerator *plait_cluster_accelerator(const plait_cluster *cluster, int rank)
{
    int64_t left = rank;
    int g = 0;

    if (rank < 0 || rank >= cluster_gpus(cluster))
        return NULL;
    while (left >= group_gpus(&cluster->group[g]))
        left -= group_gpus(&cluster->group[g++]);
    return cluster->group[g].accelerator;
}

double plait_ridge_flops_per_byte(double flops_per_s, double bytes_per_s)
{
    return flops_per_s / bytes_per_s;
}

bool plait_accelerator_runs(const plait_accelerator *accelerator, int kernel)
{
    const int format = kernel - PLAIT_KERNEL_PRECISION;

    if (kernel < 0 || kernel >= PLAIT_KERNELS)
        return false;
    if (accelerator->missing_kernels >> kernel & 1u)
        return false;
    if (format < 0 || format >= PLAIT_PRECISIONS)
        return true;
    return accelerator->peak_flops_per_s[format] > 0.0;
}
