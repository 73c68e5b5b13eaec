/*
 * cluster_shape.c - reads and writes the shape of a grid of links as JSON
 *
 *     {"kind": "torus", "gpus": 16, "sides": [4, 4]}                         both axes wrap around
 *     {"kind": "torus", "gpus": 16, "sides": [4, 4], "wrap": [true, false]}  a cylinder
 *     {"kind": "ring", "gpus": 8}, {"kind": "hypercube", "gpus": 8}          sides follow from gpus
 */
#include <limits.h>
#include <string.h>

#include "io/cluster/cluster_file.h"

enum { MAX_SIDE = 1024 };

int cluster_ports(const int *side)
{
    int ports = 0;

    for (int a = 0; a < PLAIT_MAX_SIDES; a++)
        ports += side[a] > 2 ? 2 : side[a] == 2;
    return ports;
}

// ---- sides ---------------------------------------------------------------------------------

/* Returns the key of the sides, whose older name is "torus". */
static const char *sides_key(const json_cursor *at)
{
    return json_has(at, "torus") && !json_has(at, "sides") ? "torus" : "sides";
}

static plait_status read_sides(const json_cursor *at, int below, plait_level *level,
                               plait_error *err)
{
    json_cursor list, side;
    int64_t units = 1;

    PLAIT_TRY(json_array(at, sides_key(at), &list, err));
    if (json_count(&list) < 1 || json_count(&list) > PLAIT_MAX_SIDES)
        return json_fail(&list, PLAIT_ERROR_SCHEMA, err, "expected 1 to %d numbers, found %zu",
                         PLAIT_MAX_SIDES, json_count(&list));
    for (bool more = json_first(&list, &side); more; more = json_next(&side)) {
        PLAIT_TRY(json_as_int(&side, 1, MAX_SIDE, &level->side[side.index], err));
        level->wrap[side.index] = level->kind == PLAIT_LEVEL_TORUS;
        if (units <= CLUSTER_MAX_GPUS) // avoids overflow; a larger product is refused below
            units *= level->side[side.index];
    }

    const int64_t gpus = units * below;
    if (level->gpus == INT_MAX && gpus <= CLUSTER_MAX_GPUS) // gpus follows from the sides
        level->gpus = (int)gpus;
    if (gpus == level->gpus)
        return PLAIT_OK;
    if (level->gpus == INT_MAX)
        return json_fail(&list, PLAIT_ERROR_RANGE, err, "expected at most %d GPUs, found %lld",
                         CLUSTER_MAX_GPUS, (long long)gpus);
    if (below == 1)
        return json_fail(&list, PLAIT_ERROR_RANGE, err,
                         "expected sides whose product is the level's %d GPUs, found %lld",
                         level->gpus, (long long)units);
    return json_fail(
        &list, PLAIT_ERROR_RANGE, err,
        "expected sides whose product is the %d units of %d GPUs that the level joins, found %lld",
        level->gpus / below, below, (long long)units);
}

// ---- kinds ---------------------------------------------------------------------------------

static plait_status make_ring(const json_cursor *at, int below, plait_level *level,
                              plait_error *err)
{
    if (level->gpus == INT_MAX)
        return json_fail_key(at, "gpus", PLAIT_ERROR_SCHEMA, err,
                             "expected the number of GPUs that the %s joins, found nothing",
                             plait_level_kind_name[level->kind]);
    level->side[0] = level->gpus / below;
    level->wrap[0] = true;
    return PLAIT_OK;
}

static plait_status make_hypercube(const json_cursor *at, int below, plait_level *level,
                                   plait_error *err)
{
    const int most = 1 << PLAIT_MAX_SIDES;
    int units;

    PLAIT_TRY(make_ring(at, below, level, err));
    units = level->side[0];
    level->wrap[0] = false;
    if (units < 2 || units > most || (units & (units - 1)) != 0)
        return json_fail_key(
            at, "gpus", PLAIT_ERROR_RANGE, err,
            "expected 2 to %d units of %d GPUs, and a power of two in a hypercube, found %d units",
            most, below, units);
    for (int a = 0; units > 1; a++, units /= 2)
        level->side[a] = 2;
    return PLAIT_OK;
}

plait_status cluster_read_shape(const json_cursor *at, int below, plait_level *level,
                                plait_error *err)
{
    static const struct {
        const char *key;
        const char *where;
        unsigned kinds;
    } keys[] = {
        {"torus", "torus", 1u << PLAIT_LEVEL_TORUS},
        {"sides", "torus or mesh", 1u << PLAIT_LEVEL_TORUS | 1u << PLAIT_LEVEL_MESH},
        {"wrap", "torus", 1u << PLAIT_LEVEL_TORUS},
        {"wrap_block", "torus", 1u << PLAIT_LEVEL_TORUS},
        {"ports", "ring, mesh, torus or hypercube",
         1u << PLAIT_LEVEL_RING | 1u << PLAIT_LEVEL_MESH | 1u << PLAIT_LEVEL_TORUS |
             1u << PLAIT_LEVEL_HYPERCUBE},
    };
    json_cursor list, sides, axis;

    // In older files "mesh" means a full graph, which has no sides.
    if (level->kind == PLAIT_LEVEL_MESH && !json_has(at, "sides"))
        level->kind = PLAIT_LEVEL_FULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_has(at, keys[i].key) && !(keys[i].kinds >> level->kind & 1u))
            return json_fail_key(at, keys[i].key, PLAIT_ERROR_SCHEMA, err,
                                 "expected this key only if kind is %s", keys[i].where);
    if (!plait_level_is_grid(level))
        return PLAIT_OK;
    for (int a = 0; a < PLAIT_MAX_SIDES; a++)
        level->side[a] = 1;
    PLAIT_TRY((level->kind == PLAIT_LEVEL_RING        ? make_ring
               : level->kind == PLAIT_LEVEL_HYPERCUBE ? make_hypercube
                                                      : read_sides)(at, below, level, err));
    PLAIT_TRY(json_array_optional(at, "wrap", &list, err));
    if (!json_is_null(&list)) {
        PLAIT_TRY(json_array(at, sides_key(at), &sides, err));
        if (json_count(&list) != json_count(&sides))
            return json_fail(&list, PLAIT_ERROR_SCHEMA, err,
                             "expected true or false for each of the %zu sides, found %zu values",
                             json_count(&sides), json_count(&list));
        for (bool more = json_first(&list, &axis); more; more = json_next(&axis))
            PLAIT_TRY(json_as_bool(&axis, &level->wrap[axis.index], err));
    }
    PLAIT_TRY(json_int_optional(at, "wrap_block", 1, MAX_SIDE, &level->wrap_block, err));
    level->ports = cluster_ports(level->side);
    if (level->ports == 0)
        level->ports = 1; // one port avoids a division by 0; a single unit sends nothing
    return json_int_optional(at, "ports", 1, 2 * PLAIT_MAX_SIDES, &level->ports, err);
}

// ---- writing -------------------------------------------------------------------------------

/* Returns the number of sides, without trailing sides of length 1. */
static int count_sides(const int *side)
{
    int sides = 1;

    for (int a = 1; a < PLAIT_MAX_SIDES; a++)
        if (side[a] > 1)
            sides = a + 1;
    return sides;
}

void cluster_write_shape(json_writer *json, const plait_level *level)
{
    const bool cut = level->whole.gpus > 0;
    const int *const side = cut ? level->whole.side : level->side;
    const bool *const wrap = cut ? level->whole.wrap : level->wrap;
    const int sides = count_sides(side);

    if (level->kind == PLAIT_LEVEL_TORUS || level->kind == PLAIT_LEVEL_MESH) {
        json_member_row(json, "sides");
        for (int a = 0; a < sides; a++)
            json_write_int64(json, side[a]);
        json_end_array(json);
    }
    if (level->kind == PLAIT_LEVEL_TORUS) {
        json_member_row(json, "wrap");
        for (int a = 0; a < sides; a++)
            json_write_bool(json, wrap[a]);
        json_end_array(json);
    }
    if (level->wrap_block > 0)
        json_member_int64(json, "wrap_block", level->wrap_block);
    json_member_int64(json, "ports", level->ports);
}
