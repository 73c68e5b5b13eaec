/* cluster_synthetic.c - a cluster from a string: "h100-80gb-sxm:64x8,nic=400" */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "plait/data.h"
#include "plait/units.h"

#include "cluster_private.h"
#include "text.h"

/*
 * The network of a synthetic cluster is InfiniBand without oversubscription: 0.95 of the wire (46
 * to 49 of 50 GB/s an NDR port, nccl-tests #267 and #290), 3.7 us a hop on top of NCCL's constants
 * (InfiniBand across leaves, arXiv 2505.09343), and a ramp of 13.6 MB for each node of 8, 1.7 MB a
 * GPU (SimAI's ratio tables). Inside the scale-up domain the share of the wire is what its rings
 * reach; ramp from the same tables.
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

/* NCCL's Simple protocol over NVLink takes 3.4 us a hop. */
static const plait_level scale_up = {
    .name = "scale-up",
    .link = {.latency_s = 3.4 * PLAIT_US},
    .ramp_bytes = 1.74 * PLAIT_MB,
    .oversubscription = 1.0,
};

typedef struct cluster_shape {
    char *accelerator;
    int nodes;       /* 0: as many as a job takes */
    int gpus;        /* of a node; 0: the accelerator's own */
    double nic_gbps; /* 0: the accelerator's own */
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

static plait_status parse_option(const char *text, const char *option, cluster_shape *shape,
                                 plait_error *err)
{
    if (!text_starts_with(option, "nic="))
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected nic=GBPS, found \"%s\"", option);
    if (shape->nic_gbps > 0.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected nic= once, found \"%s\" too",
                          option);
    if (!text_parse_number(option + strlen("nic="), &shape->nic_gbps) || shape->nic_gbps < 1e-3 ||
        shape->nic_gbps > 1e6)
        return plait_fail(err, PLAIT_ERROR_RANGE, text,
                          "expected 0.001 to 1000000 Gb/s for a GPU, found \"%s\"",
                          option + strlen("nic="));
    return PLAIT_OK;
}

/* `shape->accelerator` is a copy of the text that is cut up. */
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
    PLAIT_TRY(parse_count(text, gpus, "GPUs a node", CLUSTER_MAX_NODE, &shape->gpus, err));
    if ((int64_t)shape->nodes * shape->gpus > CLUSTER_MAX_GPUS)
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected at most %d GPUs, found %lld",
                          CLUSTER_MAX_GPUS, (long long)shape->nodes * shape->gpus);
    while (options != NULL) {
        char *rest = text_cut(options, ',');

        PLAIT_TRY(parse_option(text, options, shape, err));
        options = rest;
    }
    return PLAIT_OK;
}

/* ---- building ---- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/*
 * How many GPUs one scale-up domain joins. It is the accelerator's, not the node's: where it spans
 * several nodes (NVL72, a TPU pod), whole nodes of it; where it is inside one, what the node has.
 */
static int domain_gpus(const plait_accelerator *accelerator, int node)
{
    const int domain = accelerator->scale_up_domain;

    return domain > accelerator->gpus_per_node && domain > node ? domain - domain % node
                                                                : least(domain, node);
}

/*
 * The torus of `gpus` chips along the accelerator's axes: 8 chips of a 4x4 torus are 4x2, whose second
 * axis does not close. A chip has its links whether they are used or not.
 */
static void domain_torus(const plait_accelerator *accelerator, int gpus, plait_level *level)
{
    int whole[PLAIT_MAX_SIDES] = {0};

    for (int axis = 0; axis < PLAIT_MAX_SIDES; axis++)
        level->side[axis] = 1;
    for (int axis = 0; axis < 3; axis++) {
        whole[axis] = accelerator->torus[axis];
        level->side[axis] = least(gpus, whole[axis]);
        while (gpus % level->side[axis] != 0)
            level->side[axis]--;
        gpus /= level->side[axis];
    }
    level->side[0] *= gpus; // what no axis could take: a longer ring
    for (int axis = 0; axis < 3; axis++)
        level->wrap[axis] = level->side[axis] >= whole[axis];
    level->ports = cluster_ports(whole);
    level->wrap_block = accelerator->wrap_block;
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
        domain_torus(accelerator, level.gpus, &level);
    }
    return level;
}

static void build(const plait_accelerator *accelerator, const cluster_shape *shape,
                  plait_cluster *out)
{
    const int node = shape->gpus > 0 ? shape->gpus : accelerator->gpus_per_node;

    out->groups = 1;
    out->group[0] = (plait_node_group){accelerator, node, shape->nodes};
    out->levels = 2;
    out->level[0] = scale_up_level(accelerator, node);
    out->level[1] = network;
    out->level[1].link.bytes_per_s =
        shape->nic_gbps > 0.0 ? shape->nic_gbps * PLAIT_GBIT : accelerator->nic_bytes_per_s;
    out->node_overhead_w = CLUSTER_GPU_OVERHEAD_W * node;
    out->pue = CLUSTER_PUE;
    out->host_speed = 1.0;
}

plait_status plait_cluster_synthetic(const char *text, plait_arena *arena, plait_cluster *out,
                                     plait_error *err)
{
    plait_accelerator *accelerator = plait_arena_alloc(arena, 1, sizeof *accelerator);
    cluster_shape shape = {.accelerator = plait_arena_text(arena, text)};
    const char *path;

    *out = (plait_cluster){.name = plait_arena_text(arena, text)};
    if (accelerator == NULL || shape.accelerator == NULL || out->name == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(parse_shape(text, &shape, err));
    PLAIT_TRY(plait_data_find(PLAIT_DATA_ACCELERATORS, shape.accelerator, arena, &path, err));
    PLAIT_TRY(plait_accelerator_load(path, arena, accelerator, err));
    out->source = accelerator->source;
    build(accelerator, &shape, out);
    return shape.nodes > 0 ? plait_cluster_take(out, shape.nodes * out->group[0].gpus_per_node, err)
                           : PLAIT_OK;
}
