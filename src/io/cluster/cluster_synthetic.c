/*
 * cluster_synthetic.c - makes a cluster from a text
 *
 *     h100-80gb-sxm:64x8,nic=400                                 64 nodes of 8 GPUs, 400 Gb/s each
 *     h100-80gb-sxm:16x8+a100-80gb-sxm:16x8,nic=200,between=100  two groups
 *
 * Options apply to the group before them; `between` is the rate between groups.
 */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "plait/data.h"
#include "plait/units.h"

#include "base/text.h"
#include "io/cluster/cluster_file.h"

/*
 * The network of a synthetic cluster is InfiniBand without oversubscription. Its efficiency is 0.95
 * of the link's rate (46 to 49 of 50 GB/s for an NDR port, nccl-tests #267 and #290). A hop takes
 * 3.7 us in addition to NCCL's constants (InfiniBand across leaves, arXiv 2505.09343). Its ramp is
 * 13.6 MB for a node of 8 GPUs, 1.7 MB per GPU (SimAI's ratio tables). Inside the scale-up domain
 * the efficiency is that of the accelerator's rings, and the ramp is from the same tables.
 */
static const plait_level network = {
    .name = "network",
    .kind = PLAIT_LEVEL_SWITCH,
    .gpus = INT_MAX,
    .link = {.latency_s = 3.7 * PLAIT_US},
    .efficiency = 0.95,
    .ramp_bytes = 1.7 * PLAIT_MB,
    .oversubscription = 1.0,
};

/* A hop over NVLink takes 3.4 us with NCCL's Simple protocol. */
static const plait_level scale_up = {
    .name = "scale-up",
    .link = {.latency_s = 3.4 * PLAIT_US},
    .ramp_bytes = 1.74 * PLAIT_MB,
    .oversubscription = 1.0,
};

typedef struct cluster_shape {
    char *accelerator;
    int nodes;           /* number of nodes; 0: as many as a job needs */
    int gpus;            /* GPUs of a node; 0: default of the accelerator */
    double nic_gbps;     /* rate of a GPU's NIC; 0: default of the accelerator */
    double between_gbps; /* rate to other groups; 0: rate inside the group */
} cluster_shape;

/* ---- parsing ---- */

static plait_status parse_count(const char *text, const char *digits, const char *what, int max,
                                int *out, plait_error *err)
{
    if (!text_parse_int(digits, 1, max, out))
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected 1 to %d %s, found \"%s\"", max,
                          what, digits);
    return PLAIT_OK;
}

static plait_status parse_rate(const char *text, const char *option, const char *name, double *gbps,
                               plait_error *err)
{
    const char *const digits = option + strlen(name);

    if (*gbps > 0.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected %s once, found also \"%s\"", name,
                          option);
    if (!text_parse_number(digits, gbps) || *gbps < 1e-3 || *gbps > 1e6)
        return plait_fail(err, PLAIT_ERROR_RANGE, text,
                          "expected 0.001 to 1000000 Gb/s per GPU, found \"%s\"", digits);
    return PLAIT_OK;
}

/* Cuts `shape->accelerator`, which is a copy of the text, at its colon. */
static plait_status parse_shape(const char *text, cluster_shape *shape, plait_error *err)
{
    char *size = strrchr(shape->accelerator, ':');
    char *gpus, *options;

    if (size == NULL)
        return PLAIT_OK;
    *size++ = '\0';
    options = text_cut(size, ',');
    gpus = text_cut(size, 'x');
    if (gpus == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected NODESxGPUS, found \"%s\"", size);
    PLAIT_TRY(parse_count(text, size, "nodes", CLUSTER_MAX_NODES, &shape->nodes, err));
    PLAIT_TRY(parse_count(text, gpus, "GPUs per node", CLUSTER_MAX_NODE, &shape->gpus, err));
    if ((int64_t)shape->nodes * shape->gpus > CLUSTER_MAX_GPUS)
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected at most %d GPUs, found %lld",
                          CLUSTER_MAX_GPUS, (long long)shape->nodes * shape->gpus);
    while (options != NULL) {
        char *const rest = text_cut(options, ',');

        if (text_starts_with(options, "nic="))
            PLAIT_TRY(parse_rate(text, options, "nic=", &shape->nic_gbps, err));
        else if (text_starts_with(options, "between="))
            PLAIT_TRY(parse_rate(text, options, "between=", &shape->between_gbps, err));
        else
            return plait_fail(err, PLAIT_ERROR_RANGE, text,
                              "expected nic=GBPS or between=GBPS, found \"%s\"", options);
        options = rest;
    }
    return PLAIT_OK;
}

/* ---- building ---- */

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/*
 * Returns the GPUs of one scale-up domain, which is a property of the accelerator and not of the
 * node. A domain of several nodes (NVL72, a TPU pod) contains whole nodes; a smaller domain is
 * inside one node.
 */
static int domain_gpus(const plait_accelerator *accelerator, int node)
{
    const int domain = accelerator->scale_up_domain;

    return domain > accelerator->gpus_per_node && domain > node ? domain - domain % node
                                                                : min_int(domain, node);
}

static plait_level scale_up_level(const plait_accelerator *accelerator, int node)
{
    const double ring = accelerator->collective[PLAIT_ALL_REDUCE].bytes_per_s[2];
    plait_level level = scale_up;

    level.gpus = domain_gpus(accelerator, node);
    level.kind = accelerator->scale_up_full ? PLAIT_LEVEL_FULL : PLAIT_LEVEL_SWITCH;
    level.link.bytes_per_s = accelerator->scale_up_bytes_per_s;
    level.efficiency = ring < level.link.bytes_per_s ? ring / level.link.bytes_per_s : 1.0;
    if (accelerator->torus[0] > 0) {
        level.kind = PLAIT_LEVEL_TORUS;

        // Make a torus of `gpus` chips along the accelerator's axes. For example, 8 chips of a 4x4
        // torus are 4x2, and the second axis has no wrap-around link. A chip keeps all its ports
        // even if some are unused.
        int gpus = level.gpus;
        int whole[PLAIT_MAX_SIDES] = {0};
        for (int axis = 0; axis < PLAIT_MAX_SIDES; axis++)
            level.side[axis] = 1;
        for (int axis = 0; axis < 3; axis++) {
            whole[axis] = accelerator->torus[axis];
            level.side[axis] = min_int(gpus, whole[axis]);
            while (gpus % level.side[axis] != 0)
                level.side[axis]--;
            gpus /= level.side[axis];
        }
        level.side[0] *= gpus; // further chips lengthen the first axis
        for (int axis = 0; axis < 3; axis++)
            level.wrap[axis] = level.side[axis] >= whole[axis];
        level.ports = cluster_ports(whole);
        level.wrap_block = accelerator->wrap_block;
    }
    return level;
}

/* Joins clusters of one group each. The result has the first cluster's links between nodes. */
static plait_status join_groups(const char *text, const plait_cluster *part, size_t parts,
                                double between_gbps, plait_arena *arena, plait_cluster *out,
                                plait_error *err)
{
    int64_t gpus = 0;

    *out = part[0];
    out->groups = 0;
    for (size_t g = 0; g < parts; g++) {
        if (part[g].group[0].nodes == 0)
            return plait_fail(
                err, PLAIT_ERROR_RANGE, text,
                "expected ACCELERATOR:NODESxGPUS for each of the %zu groups, found \"%s\"", parts,
                part[g].group[0].accelerator->name);
        gpus += part[g].gpus;
        out->group[g] = part[g].group[0];
    }
    if (gpus > CLUSTER_MAX_GPUS)
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected at most %d GPUs, found %lld",
                          CLUSTER_MAX_GPUS, (long long)gpus);
    out->groups = (int)parts;
    if (between_gbps > 0.0) {
        out->between = network;
        out->between.name = "between";
        out->between.link.bytes_per_s = between_gbps * PLAIT_GBIT;
    }
    for (size_t g = 0; g < parts; g++)
        PLAIT_TRY(cluster_group_links(arena, part[g].levels, part[g].level, &out->group[g], err));
    cluster_merge_groups(out);
    return plait_cluster_take(out, (int)gpus, err);
}

plait_status plait_cluster_synthetic(const char *text, plait_arena *arena, plait_cluster *out,
                                     plait_error *err)
{
    if (text == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "cluster",
                          "expected ACCELERATOR:NODESxGPUS, found NULL");
    const char *const name = plait_arena_text(arena, text);
    plait_cluster *const part = plait_arena_alloc(arena, PLAIT_MAX_NODE_GROUPS, sizeof *part);
    size_t parts;
    char **const piece = text_split(arena, text, '+', &parts);
    cluster_shape shape = {0};

    PLAIT_TRY(plait_check_allocated(name && part && piece, err));
    if (parts < 1 || parts > PLAIT_MAX_NODE_GROUPS)
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected 1 to %d groups, found %zu",
                          PLAIT_MAX_NODE_GROUPS, parts);
    for (size_t g = 0; g < parts; g++) {
        const char *path;

        if (piece[g][0] == '\0')
            return plait_fail(err, PLAIT_ERROR_RANGE, text,
                              "expected a group on both sides of each +, found nothing");
        part[g] = (plait_cluster){.name = name};

        // Make a cluster of one group from each part of the text, which parse_shape() modifies.
        plait_accelerator *accelerator = plait_arena_alloc(arena, 1, sizeof *accelerator);
        PLAIT_TRY(plait_check_allocated(accelerator, err));
        shape = (cluster_shape){.accelerator = piece[g], .between_gbps = shape.between_gbps};
        PLAIT_TRY(parse_shape(text, &shape, err));
        PLAIT_TRY(plait_data_find(PLAIT_DATA_ACCELERATORS, shape.accelerator, arena, &path, err));
        PLAIT_TRY(plait_accelerator_load(path, arena, accelerator, err));
        part[g].source = accelerator->source;

        const int node = shape.gpus > 0 ? shape.gpus : accelerator->gpus_per_node;
        part[g].groups = 1;
        part[g].group[0] = (plait_node_group){
            .accelerator = accelerator, .gpus_per_node = node, .nodes = shape.nodes};
        part[g].levels = 2;
        part[g].level[0] = scale_up_level(accelerator, node);
        part[g].level[1] = network;
        part[g].level[1].link.bytes_per_s =
            shape.nic_gbps > 0.0 ? shape.nic_gbps * PLAIT_GBIT : accelerator->nic_bytes_per_s;
        part[g].node_overhead_w = CLUSTER_GPU_OVERHEAD_W * node;
        part[g].pue = CLUSTER_PUE;
        part[g].host_speed = 1.0;
        if (shape.nodes > 0)
            PLAIT_TRY(
                plait_cluster_take(&part[g], shape.nodes * part[g].group[0].gpus_per_node, err));
    }
    if (parts > 1)
        return join_groups(text, part, parts, shape.between_gbps, arena, out, err);
    *out = part[0];
    if (shape.between_gbps > 0.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "between= needs at least two node groups");
    return PLAIT_OK;
}
