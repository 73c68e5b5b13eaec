/*
 * cluster.c - reads and writes a cluster as JSON: nodes, and levels of links from the GPU outwards
 */
#include <limits.h>
#include <string.h>

#include "plait/data.h"
#include "plait/units.h"

#include "io/cluster/cluster_file.h"
#include "io/data/data.h"

#define LEVEL(member) FIELD_AT(plait_level, member)
static const field level_fields[] = {
    {"bandwidth_gb_per_s", JSON_POSITIVE, .least = 1e-6, .most = 1e6, .unit = PLAIT_GB,
     .required = true, LEVEL(link.bytes_per_s)},
    {"latency_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, .required = true,
     LEVEL(link.latency_s)},
    {"efficiency", JSON_POSITIVE, .least = 1e-3, .most = 1.0, LEVEL(efficiency)},
    {"ramp_mb", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_MB, LEVEL(ramp_bytes)},
    {"oversubscription", JSON_POSITIVE, .least = 1.0, .most = 1e6, LEVEL(oversubscription)},
    {.key = NULL},
};

static const field power_fields[] = {
    {"node_overhead_w", JSON_NON_NEGATIVE, .most = 1e9, FIELD_AT(plait_cluster, node_overhead_w)},
    {"pue", JSON_POSITIVE, .least = 1.0, .most = 10.0, FIELD_AT(plait_cluster, pue)},
    {.key = NULL},
};

static const field host_fields[] = {
    {"memory_gib", JSON_POSITIVE, .most = 1 << 20, .unit = PLAIT_GIB,
     FIELD_AT(plait_cluster, host_memory_bytes)},
    {.key = NULL},
};

/* ---- levels ---- */

static plait_status read_level(const json_cursor *at, plait_arena *arena, plait_level *level,
                               plait_error *err)
{
    static const char *const also[] = {
        "name", "kind",  "gpus",       "sides",     "torus",
        "wrap", "ports", "wrap_block", "scattered", "in_network_reduction",
        NULL};
    int kind = PLAIT_LEVEL_SWITCH;

    *level =
        (plait_level){.name = "links", .gpus = INT_MAX, .efficiency = 1.0, .oversubscription = 1.0};
    PLAIT_TRY(fields_read(at, level_fields, also, level, err));
    PLAIT_TRY(json_string_optional(at, "name", arena, &level->name, err));
    PLAIT_TRY(json_word_optional(at, "kind", plait_level_kind_name, &kind, err));
    PLAIT_TRY(json_int_optional(at, "gpus", 1, CLUSTER_MAX_GPUS, &level->gpus, err));
    level->kind = (plait_level_kind)kind;
    return PLAIT_OK;
}

static plait_status read_levels(const json_cursor *at, plait_arena *arena,
                                plait_level out[PLAIT_MAX_LEVELS], int *levels, plait_error *err)
{
    json_cursor list, level;

    PLAIT_TRY(json_array(at, "levels", &list, err));
    if (json_count(&list) < 1 || json_count(&list) > PLAIT_MAX_LEVELS)
        return json_fail(&list, PLAIT_ERROR_RANGE, err, "expected 1 to %d levels, found %zu",
                         PLAIT_MAX_LEVELS, json_count(&list));
    for (bool more = json_first(&list, &level); more; more = json_next(&level)) {
        plait_level *read = &out[level.index];

        PLAIT_TRY(read_level(&level, arena, read, err));
        if (level.index > 0) {
            // A level joins a whole number of units of the level before.
            const plait_level *inner = read - 1;
            if (read->gpus <= inner->gpus)
                return json_fail_key(&level, "gpus", PLAIT_ERROR_RANGE, err,
                                     "expected more than the %d GPUs of the level before, found %d",
                                     inner->gpus, read->gpus);
            if (read->gpus != INT_MAX && read->gpus % inner->gpus != 0)
                return json_fail_key(
                    &level, "gpus", PLAIT_ERROR_RANGE, err,
                    "expected a multiple of the %d GPUs of the level before, found %d", inner->gpus,
                    read->gpus);
        }
        PLAIT_TRY(cluster_read_shape(&level, level.index > 0 ? read[-1].gpus : 1, read, err));

        // "scattered" is valid only between the first and the last level. "in_network_reduction" is
        // valid only for switches above the first level, which is the scale-up domain.
        const bool between = level.index > 0 && level.index + 1 < json_count(&list);
        PLAIT_TRY(
            json_number_optional(&level, "scattered", JSON_NON_NEGATIVE, &read->scattered, err));
        PLAIT_TRY(json_number_optional(&level, "in_network_reduction", JSON_NON_NEGATIVE,
                                       &read->in_network, err));
        if (read->scattered > 1.0)
            return json_fail_key(&level, "scattered", PLAIT_ERROR_RANGE, err,
                                 "expected at most 1, found %g", read->scattered);
        if (read->in_network > 2.0)
            return json_fail_key(&level, "in_network_reduction", PLAIT_ERROR_RANGE, err,
                                 "expected at most 2, found %g", read->in_network);
        if (read->scattered > 0.0 && !between)
            return json_fail_key(
                &level, "scattered", PLAIT_ERROR_SCHEMA, err,
                "expected this key only in a level that is neither the first nor the last");
        if (read->in_network > 0.0 && (level.index == 0 || read->kind != PLAIT_LEVEL_SWITCH))
            return json_fail_key(&level, "in_network_reduction", PLAIT_ERROR_SCHEMA, err,
                                 "expected this key only in a switch level above the first level");
    }
    *levels = (int)json_count(&list);
    return PLAIT_OK;
}

/* ---- groups ---- */

plait_status cluster_group_links(plait_arena *arena, int levels, const plait_level *level,
                                 plait_node_group *group, plait_error *err)
{
    plait_level *const own = plait_arena_alloc(arena, (size_t)levels, sizeof *own);

    PLAIT_TRY(plait_check_allocated(own, err));
    memcpy(own, level, (size_t)levels * sizeof *own);
    group->levels = levels;
    group->level = own;
    return PLAIT_OK;
}

/*
 * Returns the first group before h that equals group h if both have a fixed number of nodes;
 * otherwise h.
 */
static int equal_group(const plait_cluster *cluster, int h)
{
    for (int g = 0; g < h; g++)
        if (cluster->group[g].nodes > 0 && cluster->group[h].nodes > 0 &&
            plait_cluster_equal(cluster, g, h))
            return g;
    return h;
}

void cluster_merge_groups(plait_cluster *cluster)
{
    int kept = 1;

    for (int h = 1; h < cluster->groups; h++) {
        cluster->group[kept] = cluster->group[h];
        const int equal = equal_group(cluster, kept);
        if (equal == kept)
            kept++;
        else
            cluster->group[equal].nodes += cluster->group[kept].nodes;
    }
    cluster->groups = kept;
    if (kept > 1 || cluster->group[0].levels == 0)
        return;
    cluster->levels = cluster->group[0].levels; // a single group's links become the cluster's
    memcpy(cluster->level, cluster->group[0].level,
           (size_t)cluster->levels * sizeof *cluster->level);
    cluster->group[0].levels = 0;
    cluster->group[0].level = NULL;
}

/*
 * Reads the name of an accelerator, or an accelerator itself. A path is refused, because it would
 * depend on the current folder.
 */
static plait_status read_accelerator(const json_cursor *at, plait_arena *arena,
                                     const plait_accelerator **out, plait_error *err)
{
    plait_accelerator *accelerator = plait_arena_alloc(arena, 1, sizeof *accelerator);
    plait_error unknown;
    const char *name;
    json_cursor value;

    PLAIT_TRY(plait_check_allocated(accelerator, err));
    *out = accelerator;
    PLAIT_TRY(json_value(at, "accelerator", &value, err));
    if (json_is_object(&value))
        return accelerator_read(&value, arena, accelerator, err);

    PLAIT_TRY(json_as_string(&value, arena, &name, err));
    if (data_is_path(name))
        return json_fail(&value, PLAIT_ERROR_RANGE, err,
                         "expected the name of an accelerator or an object, found a path");
    if (plait_data_find(PLAIT_DATA_ACCELERATORS, name, arena, &name, &unknown) != PLAIT_OK)
        return json_fail(&value, unknown.status, err, "%s", unknown.message);
    return plait_accelerator_load(name, arena, accelerator, err);
}

static plait_status read_group(const json_cursor *at, plait_arena *arena, plait_node_group *group,
                               plait_error *err)
{
    *group = (plait_node_group){0};
    PLAIT_TRY(read_accelerator(at, arena, &group->accelerator, err));
    PLAIT_TRY(json_int(at, "gpus_per_node", 1, CLUSTER_MAX_NODE, &group->gpus_per_node, err));
    return json_int_optional(at, "nodes", 1, CLUSTER_MAX_NODES, &group->nodes, err);
}

/* Checks that the outermost level joins all GPUs. */
static plait_status check_reach(const json_cursor *at, const plait_level *level, int levels,
                                int64_t gpus, plait_error *err)
{
    const int reach = level[levels - 1].gpus;

    if (reach == INT_MAX || (gpus > 0 && gpus <= reach))
        return PLAIT_OK;
    return json_fail_key(
        at, "levels", PLAIT_ERROR_RANGE, err,
        "expected the last level to join all GPUs (omit its \"gpus\"), found %d GPUs", reach);
}

static plait_status read_groups(const json_cursor *list, plait_arena *arena, plait_cluster *out,
                                plait_error *err)
{
    static const char *const keys[] = {"accelerator", "gpus_per_node", "nodes", "levels",
                                       "site",        "source",        NULL};
    json_cursor group;

    if (json_count(list) < 1 || json_count(list) > PLAIT_MAX_NODE_GROUPS)
        return json_fail(list, PLAIT_ERROR_RANGE, err, "expected 1 to %d groups, found %zu",
                         PLAIT_MAX_NODE_GROUPS, json_count(list));
    for (bool more = json_first(list, &group); more; more = json_next(&group)) {
        if (group.index > 0 && out->group[group.index - 1].nodes == 0)
            return json_fail(
                &group, PLAIT_ERROR_RANGE, err,
                "expected a group without \"nodes\" to be the last, found another group after it");
        PLAIT_TRY(json_keys_among(&group, keys, err));
        PLAIT_TRY(read_group(&group, arena, &out->group[group.index], err));

        plait_level level[PLAIT_MAX_LEVELS] = {0};
        int levels = 0;
        PLAIT_TRY(json_string_optional(&group, "site", arena, &out->group[group.index].site, err));
        if (json_has(&group, "levels")) {
            PLAIT_TRY(read_levels(&group, arena, level, &levels, err));
            PLAIT_TRY(check_reach(&group, level, levels,
                                  (int64_t)out->group[group.index].nodes *
                                      out->group[group.index].gpus_per_node,
                                  err));
            PLAIT_TRY(cluster_group_links(arena, levels, level, &out->group[group.index], err));
        }
    }
    out->groups = (int)json_count(list);
    return PLAIT_OK;
}

/* Sets the total number of GPUs, which stays 0 if a group has no fixed number of nodes. */
static plait_status count_gpus(const json_cursor *at, plait_cluster *out, plait_error *err)
{
    int64_t gpus = 0;

    for (int g = 0; g < out->groups; g++) {
        if (out->group[g].nodes == 0)
            return PLAIT_OK;
        gpus += (int64_t)out->group[g].nodes * out->group[g].gpus_per_node;
    }
    if (gpus > CLUSTER_MAX_GPUS)
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected at most %d GPUs, found %lld",
                         CLUSTER_MAX_GPUS, (long long)gpus);
    out->gpus = (int)gpus;
    return PLAIT_OK;
}

plait_status cluster_read(const json_cursor *at, plait_arena *arena, plait_cluster *out,
                          plait_error *err)
{
    static const char *const single[] = {"accelerator", "gpus_per_node", "nodes"};
    static const char *const keys[] = {
        "name",   "source",  "accelerator", "gpus_per_node", "nodes", "groups",
        "levels", "between", "power",       "host_speed",    "host",  NULL,
    };
    json_cursor between, power, list;

    *out = (plait_cluster){.source = "", .host_speed = 1.0};
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_string(at, "name", arena, &out->name, err));
    PLAIT_TRY(json_string_optional(at, "source", arena, &out->source, err));
    PLAIT_TRY(json_array_optional(at, "groups", &list, err));
    if (json_is_null(&list)) {
        out->groups = 1;
        PLAIT_TRY(read_group(at, arena, &out->group[0], err));
    } else {
        for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
            if (json_has(at, single[i]))
                return json_fail_key(at, single[i], PLAIT_ERROR_SCHEMA, err,
                                     "expected this key inside each entry of \"groups\", found it "
                                     "beside \"groups\"");
        PLAIT_TRY(read_groups(&list, arena, out, err));
    }
    PLAIT_TRY(count_gpus(at, out, err));
    PLAIT_TRY(read_levels(at, arena, out->level, &out->levels, err));
    PLAIT_TRY(check_reach(at, out->level, out->levels, out->gpus, err));

    // Read the links between groups or sites, a level without a number of GPUs and a shape.
    PLAIT_TRY(json_object_optional(at, "between", &between, err));
    if (!json_is_null(&between)) {
        out->between = (plait_level){
            .name = "between", .gpus = INT_MAX, .efficiency = 1.0, .oversubscription = 1.0};
        PLAIT_TRY(fields_read(&between, level_fields, NULL, &out->between, err));
    }
    cluster_merge_groups(out);
    out->node_overhead_w = CLUSTER_GPU_OVERHEAD_W * out->group[0].gpus_per_node;
    out->pue = CLUSTER_PUE;
    PLAIT_TRY(json_object_optional(at, "power", &power, err));
    if (!json_is_null(&power)) {
        PLAIT_TRY(fields_read(&power, power_fields, NULL, out, err));
        out->pue_given = json_has(&power, "pue");
        PLAIT_TRY(json_string_optional(&power, "source", arena, &out->power_source, err));
    }
    PLAIT_TRY(json_number_optional(at, "host_speed", JSON_POSITIVE, &out->host_speed, err));
    if (out->host_speed < 1e-3 || out->host_speed > 1e3)
        return json_fail_key(at, "host_speed", PLAIT_ERROR_RANGE, err,
                             "expected a factor from 0.001 to 1000, found %g", out->host_speed);
    return fields_read_optional(at, "host", host_fields, out, err);
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    return cluster_read(root, arena, out, err);
}

plait_status plait_cluster_load(const char *path, plait_arena *arena, plait_cluster *out,
                                plait_error *err)
{
    return json_load(path, read_root, arena, out, err);
}

plait_status plait_cluster_parse(const char *text, size_t length, const char *name,
                                 plait_arena *arena, plait_cluster *out, plait_error *err)
{
    return json_parse(text, length, name, read_root, arena, out, err);
}

/* ---- writing ---- */

static void write_levels(json_writer *json, const plait_level *level, int levels)
{
    json_member_array(json, "levels");
    for (int l = 0; l < levels; l++) {
        const int gpus = level[l].whole.gpus > 0 ? level[l].whole.gpus : level[l].gpus;
        json_begin_object(json);
        json_member_string(json, "name", level[l].name);
        json_member_string(json, "kind", plait_level_kind_name[level[l].kind]);
        if (gpus < INT_MAX)
            json_member_int64(json, "gpus", gpus);
        else
            json_member_null(json, "gpus");
        if (plait_level_is_grid(&level[l]))
            cluster_write_shape(json, &level[l]);
        fields_write(json, level_fields, &level[l]);
        if (level[l].scattered > 0.0)
            json_member_number(json, "scattered", level[l].scattered);
        if (level[l].in_network > 0.0)
            json_member_number(json, "in_network_reduction", level[l].in_network);
        json_end_object(json);
    }
    json_end_array(json);
}

void cluster_write(json_writer *json, const plait_cluster *cluster)
{
    json_begin_object(json);
    json_member_string(json, "name", cluster->name);
    json_member_string(json, "source", cluster->source);
    json_member_array(json, "groups");
    for (int g = 0; g < cluster->groups; g++) {
        json_begin_object(json);
        json_write_key(json, "accelerator");
        accelerator_write(json, cluster->group[g].accelerator);
        json_member_int64(json, "gpus_per_node", cluster->group[g].gpus_per_node);
        if (cluster->group[g].nodes > 0)
            json_member_int64(json, "nodes", cluster->group[g].nodes);
        if (cluster->group[g].site != NULL)
            json_member_string(json, "site", cluster->group[g].site);
        if (cluster->group[g].levels > 0)
            write_levels(json, cluster->group[g].level, cluster->group[g].levels);
        json_end_object(json);
    }
    json_end_array(json);
    write_levels(json, cluster->level, cluster->levels);
    if (cluster->between.link.bytes_per_s > 0.0)
        fields_write_member(json, "between", level_fields, &cluster->between);
    fields_write_member(json, "power", power_fields, cluster);
    json_member_number(json, "host_speed", cluster->host_speed);
    if (cluster->host_memory_bytes > 0.0)
        fields_write_member(json, "host", host_fields, cluster);
    json_end_object(json);
}
