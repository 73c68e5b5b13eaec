/* mesh.c - a logical mesh of GPUs, and the groups of ranks along its axes */
#include <stdio.h>
#include <stdlib.h>

#include "base/saturating.h"
#include "search/operators/layer_graph.h"

static plait_status fail_mesh(const char *text, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, "--mesh",
                      "expected one to three sizes such as 8, 8x8 or 2x4x8, found \"%.40s\"", text);
}

plait_status plait_mesh_parse(const char *text, plait_mesh *out, plait_error *err)
{
    const char *at = text;
    double gpus = 1.0;

    *out = (plait_mesh){0};
    if (text == NULL)
        return fail_mesh("NULL", err);
    for (;;) {
        char *end;
        const long size = strtol(at, &end, 10);
        if (*at < '0' || *at > '9' || size < 1 || size > 1 << 24 || out->axes == PLAIT_MESH_AXES)
            return fail_mesh(text, err);
        out->size[out->axes++] = (int)size;
        gpus *= (double)size;
        if (gpus > 1 << 24)
            return fail_mesh(text, err);
        if (*end == '\0')
            return PLAIT_OK;
        if (*end != 'x')
            return fail_mesh(text, err);
        at = end + 1;
    }
}

int plait_mesh_gpus(const plait_mesh *mesh)
{
    int gpus = 1;

    for (int a = 0; a < mesh->axes && a < PLAIT_MESH_AXES; a++)
        gpus = saturating_mul(gpus, mesh->size[a]);
    return gpus;
}

/* Ranks are numbered in row-major order: the stride of the last axis is 1. */
plait_route mesh_route(const plait_problem *problem, const plait_mesh *mesh, unsigned axes)
{
    plait_group_shape group = {.ranks = 1};
    int stride = 1;

    for (int a = mesh->axes - 1; a >= 0; a--) {
        if ((axes >> a & 1u) && mesh->size[a] > 1) {
            group.run[group.runs].size = mesh->size[a];
            group.run[group.runs++].stride = stride;
            group.ranks *= mesh->size[a];
        }
        stride *= mesh->size[a];
    }
    if (group.runs == 0) {
        group.runs = 1;
        group.run[0].size = group.run[0].stride = 1;
    }
    return plait_route_of(problem->cluster, group);
}

unsigned mesh_axes(const plait_mesh *mesh, const plait_use *use, plait_use which)
{
    unsigned axes = 0;

    for (int a = 0; a < mesh->axes; a++)
        axes |= (unsigned)(use[a] == which) << a;
    return axes;
}

int mesh_ways(const plait_mesh *mesh, const plait_use *use, plait_use which)
{
    int ways = 1;

    for (int a = 0; a < mesh->axes; a++)
        if (use[a] == which)
            ways *= mesh->size[a];
    return ways;
}
