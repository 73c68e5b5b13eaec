/* network.c - fit the links between nodes to measured collectives and sends */
#include "calibrate/network.h"

#include "plait/units.h"

/*
 * Largest mean error on held-out points for which the fit is used, as in calibrate.c.
 */
static const double most_used_error = 0.25;
/* Efficiency from which the cluster's wire rate counts as probably too low. */
static const double wire_share = 0.99;

enum { LEAST_POINTS = 12, NETWORK_LARGE_BYTES = 1 << 20 };

// ---- selection of points -------------------------------------------------------------------

static bool is_about(const char *accelerator, const point *p)
{
    return (p->kind == POINT_COLLECTIVE || p->kind == POINT_P2P) && p->ranks % p->nodes == 0 &&
           names_match(p, accelerator);
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
 * Returns the route of a point. Each node has the same number of ranks; a send connects one rank on
 * each of 2 nodes.
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
 * Returns the index of the level that connects a point's ranks; 0 if the point has only one node or
 * more ranks per node than the cluster's nodes have GPUs.
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

plait_status network_fit(const plait_cluster *cluster, const point_list *points, plait_arena *arena,
                         network_result *out, plait_error *err)
{
    const char *const name = cluster->group[0].accelerator->name;
    const network_shape shape = network_shape_of(name, points);
    plait_cluster *const fitted = plait_arena_alloc(arena, 1, sizeof *fitted);
    fit_point *selected = plait_arena_alloc(arena, points->count + 1, sizeof *selected);
    plait_cluster subject = *cluster;
    int count = 0;

    PLAIT_TRY(plait_check_allocated(fitted && selected, err));
    *fitted = *cluster;
    *out = (network_result){.cluster = fitted};
    if (shape.nodes == 0)
        return PLAIT_OK;
    PLAIT_TRY(plait_cluster_take(&subject, shape.nodes * subject.group[0].gpus_per_node, err));
    // Select the points of the outermost level, and hold out every fourth of them.
    for (size_t i = 0; i < points->count; i++)
        if (is_about(name, &points->point[i]) && level_of(&subject, &points->point[i]) > out->level)
            out->level = level_of(&subject, &points->point[i]);
    for (size_t i = 0; i < points->count; i++) {
        const point *const p = &points->point[i];

        if (!is_about(name, p) || level_of(&subject, p) != out->level)
            continue;
        selected[count] = (fit_point){.what = p,
                                      .measured_s = p->s,
                                      .weight = 1.0,
                                      .held_out = count % 4 == 3,
                                      .large = p->bytes >= NETWORK_LARGE_BYTES};
        count++;
    }
    if (out->level == 0 || count < LEAST_POINTS)
        return PLAIT_OK;
    plait_level *const level = &subject.level[out->level];
    double *const value[NETWORK_NUMBERS] = {&level->link.latency_s, &level->efficiency,
                                            &level->ramp_bytes};
    static const fit_number number[NETWORK_NUMBERS] = {
        {.key = "latency_us",
         .unit = PLAIT_US,
         .low = 0.1 * PLAIT_US,
         .high = 200.0 * PLAIT_US,
         .scales = true},
        {.key = "efficiency", .unit = 1.0, .low = 0.02, .high = 1.0},
        {.key = "ramp_mb",
         .unit = PLAIT_MB,
         .low = 0.005 * PLAIT_MB,
         .high = 20.0 * PLAIT_MB,
         .scales = true},
    };
    for (int i = 0; i < NETWORK_NUMBERS; i++) {
        out->number[i] = number[i];
        out->number[i].element = -1;
        out->number[i].offset = (size_t)((char *)value[i] - (char *)&subject);
    }
    const fit_problem problem = {
        .subject = &subject,
        .number = out->number,
        .numbers = NETWORK_NUMBERS,
        .point = selected,
        .points = count,
        .predict_s = predict_s,
    };
    PLAIT_TRY(fit_run(&problem, arena, &out->errors, err));
    out->used = out->errors.held <= most_used_error;
    for (int i = 0; i < NETWORK_NUMBERS; i++)
        out->value[i] = *value[i];
    out->at_wire = level->efficiency >= wire_share;
    if (out->used) {
        // Copy only the numbers, since the subject's level of a grid is reduced to the measured
        // slice.
        plait_level *const to = &fitted->level[out->level];

        to->link.latency_s = level->link.latency_s;
        to->efficiency = level->efficiency;
        to->ramp_bytes = level->ramp_bytes;
    }
    return PLAIT_OK;
}
