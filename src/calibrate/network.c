/* network.c - fit the links between nodes to measured collectives and sends */
#include "calibrate/network.h"

#include <stdio.h>
#include <string.h>

#include "calibrate/names.h"
#include "calibrate/ranges.h"

/*
 * The fit is not used if its mean error on held-out points is larger than this, as in calibrate.c.
 */
static const double most_used_error = 0.25;
/* At this efficiency or more, the cluster's wire rate may be too low. */
static const double wire_share = 0.99;

enum { LEAST_POINTS = 12, NETWORK_LARGE_BYTES = 1 << 20 };

// ---- selection of points -------------------------------------------------------------------

static bool is_about(const char *accelerator, const point *p)
{
    const char *known = names_accelerator(p->measured);

    return (p->kind == POINT_COLLECTIVE || p->kind == POINT_P2P) && p->ranks % p->nodes == 0 &&
           (p->measured[0] == '\0' ||
            strcmp(known != NULL ? known : p->measured, accelerator) == 0);
}

network_shape network_shape_of(const char *accelerator, const point_list *points)
{
    network_shape shape = {0, 0};

    for (size_t i = 0; i < points->count; i++) {
        const point *const p = &points->point[i];

        if (!is_about(accelerator, p))
            continue;
        if (p->nodes > 1 && p->nodes > shape.nodes)
            shape.nodes = p->nodes;
        if (p->kind == POINT_COLLECTIVE && p->ranks / p->nodes > shape.gpus_per_node)
            shape.gpus_per_node = p->ranks / p->nodes;
    }
    return shape;
}

/*
 * The route of a point: equally many ranks on each node; a send joins one rank on each of 2 nodes.
 */
static plait_route route_of(const plait_cluster *cluster, const point *p)
{
    const int inside = p->kind == POINT_P2P ? 1 : p->ranks / p->nodes;
    const int nodes = p->kind == POINT_P2P ? 2 : p->nodes;
    const plait_group_shape group = {
        .ranks = inside * nodes,
        .runs = 2,
        .run = {{inside, 1}, {nodes, cluster->group[0].gpus_per_node}},
    };

    return plait_route_of(cluster, group);
}

/*
 * Returns the level that joins a point's ranks; 0: one node, or the cluster's nodes are too small.
 */
static int level_of(const plait_cluster *cluster, const point *p)
{
    if (p->nodes < 2 || p->ranks / p->nodes > cluster->group[0].gpus_per_node)
        return 0;
    return route_of(cluster, p).levels - 1;
}

// ---- the fit -------------------------------------------------------------------------------

static double predict_s(const void *subject, const void *what)
{
    static const plait_network neutral = {.nic = 1.0};
    const point *const p = what;
    const plait_route route = route_of(subject, p);

    return p->kind == POINT_P2P
               ? plait_p2p_s(&route, neutral, p->bytes)
               : plait_collective_s(&route, neutral, (plait_collective_op)p->block, p->bytes);
}

static void set_up_numbers(const plait_cluster *cluster, network_result *out)
{
    const size_t level = offsetof(plait_cluster, level) + (size_t)out->level * sizeof(plait_level);
    const plait_accelerator *const gpu = cluster->group[0].accelerator;

    out->number[0] =
        range_number("network", "latency_us", level + offsetof(plait_level, link.latency_s), gpu);
    out->number[1] =
        range_number("network", "efficiency", level + offsetof(plait_level, efficiency), gpu);
    out->number[2] =
        range_number("network", "ramp_mb", level + offsetof(plait_level, ramp_bytes), gpu);
}

/* Selects the points of a level, and holds out every fourth. */
static plait_status select_points(const plait_cluster *cluster, const point_list *points, int level,
                                  plait_arena *arena, fit_point **out, int *count, plait_error *err)
{
    const char *const name = cluster->group[0].accelerator->name;

    *count = 0;
    *out = plait_arena_alloc(arena, points->count + 1, sizeof **out);
    PLAIT_TRY(plait_check_allocated(*out, err));
    for (size_t i = 0; i < points->count; i++) {
        const point *const p = &points->point[i];

        if (!is_about(name, p) || level_of(cluster, p) != level)
            continue;
        (*out)[*count] = (fit_point){.what = p,
                                     .measured_s = p->s,
                                     .weight = 1.0,
                                     .held_out = *count % 4 == 3,
                                     .large = p->bytes >= NETWORK_LARGE_BYTES};
        (*count)++;
    }
    return PLAIT_OK;
}

static int outermost_level(const plait_cluster *cluster, const point_list *points)
{
    const char *const name = cluster->group[0].accelerator->name;
    int level = 0;

    for (size_t i = 0; i < points->count; i++)
        if (is_about(name, &points->point[i]) && level_of(cluster, &points->point[i]) > level)
            level = level_of(cluster, &points->point[i]);
    return level;
}

/* Copies the fitted numbers only: for a grid, the subject's level is cut to the measured slice. */
static void take_numbers(const plait_level *from, plait_level *to)
{
    to->link.latency_s = from->link.latency_s;
    to->efficiency = from->efficiency;
    to->ramp_bytes = from->ramp_bytes;
}

plait_status network_fit(const plait_cluster *cluster, const point_list *points, plait_arena *arena,
                         network_result *out, plait_error *err)
{
    const network_shape shape = network_shape_of(cluster->group[0].accelerator->name, points);
    plait_cluster *const fitted = plait_arena_alloc(arena, 1, sizeof *fitted);
    plait_cluster subject = *cluster;
    fit_point *selected;
    int count;

    PLAIT_TRY(plait_check_allocated(fitted, err));
    *fitted = *cluster;
    *out = (network_result){.cluster = fitted};
    if (shape.nodes == 0)
        return PLAIT_OK;
    PLAIT_TRY(plait_cluster_take(&subject, shape.nodes * subject.group[0].gpus_per_node, err));
    out->level = outermost_level(&subject, points);
    PLAIT_TRY(select_points(&subject, points, out->level, arena, &selected, &count, err));
    if (out->level == 0 || count < LEAST_POINTS)
        return PLAIT_OK;
    set_up_numbers(&subject, out);
    const fit_problem problem = {
        .subject = &subject,
        .number = out->number,
        .numbers = NETWORK_NUMBERS,
        .point = selected,
        .points = count,
        .predict_s = predict_s,
    };
    PLAIT_TRY(fit_run(&problem, arena, &out->errors, err));
    const plait_level *const level = &subject.level[out->level];
    out->used = out->errors.held <= most_used_error;
    out->value[0] = level->link.latency_s;
    out->value[1] = level->efficiency;
    out->value[2] = level->ramp_bytes;
    out->at_wire = level->efficiency >= wire_share;
    if (out->used)
        take_numbers(level, &fitted->level[out->level]);
    return PLAIT_OK;
}
