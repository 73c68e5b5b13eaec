/*
 * meshes.c - FlagScale's process meshes as Megatron-LM's arguments
 *
 * hetero_process_meshes lists tp, cp, ep, dp and pp of each mesh, and hetero_pipeline_layer_split the
 * layers of each stage of all of them. Meshes of equal degrees are the one grid that Megatron-LM has.
 */
#include "meshes.h"

#include <stdint.h>
#include <string.h>

#include "plait/model.h"
#include "text.h"

enum { MESH_TP, MESH_CP, MESH_EP, MESH_DP, MESH_PP, MESH_SIZES };

enum { MESH_MAX_SIZE = 1 << 16 };

static plait_status read_numbers(const launch_flags *own, const launch_flag *flag, int first,
                                 int count, int *number, plait_error *err)
{
    for (int i = 0; i < count; i++)
        if (!text_parse_int(flag->value[first + i], 0, MESH_MAX_SIZE, &number[i]))
            return flags_fail(own, flag->name, err,
                              "expected numbers from 0 to 65536, found \"%.40s\"",
                              flag->value[first + i]);
    return PLAIT_OK;
}

static plait_status add_number(launch_flags *flags, const char *name, int value, plait_error *err)
{
    return flags_add(flags, name, plait_arena_printf(flags->arena, "%d", value), err);
}

/* ---- the grid ---- */

/* The sizes that all meshes have; its stages are those of all together. */
static plait_status read_grid(const launch_flags *own, int *grid, plait_error *err)
{
    const launch_flag *const flag = flags_last(own, "hetero_process_meshes");
    const int sizes = flag != NULL ? flag->values : 0;
    int mesh[MESH_SIZES];

    if (sizes == 0 || sizes % MESH_SIZES != 0)
        return flags_fail(own, "hetero_process_meshes", err,
                          "expected tp, cp, ep, dp and pp of each mesh, found %d numbers", sizes);
    PLAIT_TRY(read_numbers(own, flag, 0, MESH_SIZES, grid, err));
    for (int m = MESH_SIZES; m < sizes; m += MESH_SIZES) {
        PLAIT_TRY(read_numbers(own, flag, m, MESH_SIZES, mesh, err));
        if (memcmp(mesh, grid, MESH_PP * sizeof *mesh) != 0)
            return flags_fail(own, flag->name, err,
                              "expected meshes of the same tp, cp, ep and dp, found others");
        grid[MESH_PP] += mesh[MESH_PP];
    }
    for (int s = 0; s < MESH_SIZES; s++)
        if (grid[s] < 1 || grid[s] > MESH_MAX_SIZE)
            return flags_fail(own, flag->name, err, "expected sizes from 1 to 65536, found %d",
                              grid[s]);
    return PLAIT_OK;
}

static plait_status give_grid(const launch_flags *own, const int *grid, launch_flags *flags,
                              plait_error *err)
{
    int64_t ranks = grid[MESH_TP];

    for (int s = MESH_CP; s < MESH_SIZES; s++)
        if (s != MESH_EP && (ranks *= grid[s]) > 1 << 24)
            return flags_fail(own, "hetero_process_meshes", err,
                              "expected at most 16777216 ranks, found more");
    PLAIT_TRY(add_number(flags, "tensor_model_parallel_size", grid[MESH_TP], err));
    PLAIT_TRY(add_number(flags, "context_parallel_size", grid[MESH_CP], err));
    PLAIT_TRY(add_number(flags, "expert_model_parallel_size", grid[MESH_EP], err));
    PLAIT_TRY(add_number(flags, "pipeline_model_parallel_size", grid[MESH_PP], err));
    return add_number(flags, "world_size", (int)ranks, err);
}

static plait_status give_experts(const launch_flags *own, launch_flags *flags, plait_error *err)
{
    const launch_flag *const flag = flags_last(own, "expert_tensor_parallel_size_per_process_mesh");

    for (int m = 0; flag != NULL && m < flag->values; m++)
        if (!text_equal(flag->value[m], flag->value[0]))
            return flags_fail(own, flag->name, err,
                              "expected the same for all meshes, found \"%.40s\"", flag->value[m]);
    return flag == NULL || flag->values == 0
               ? PLAIT_OK
               : flags_add(flags, "expert_tensor_parallel_size", flag->value[0], err);
}

/* ---- layers ---- */

static int predictions(const launch_flags *flags)
{
    const launch_flag *const flag = flags_last(flags, "mtp_num_layers");
    int count = 0;

    return flag != NULL && text_parse_int(flag->value[0], 0, PLAIT_MAX_LAYERS, &count) ? count : 0;
}

/* [6, 2, 4] is Et*6|t*2|t*4L. */
static const char *layout_of(const int *layers, int stages, int mtp, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    text_append_char(&out, 'E');
    for (int s = 0; s < stages; s++) {
        text_append(&out, s > 0 ? "|" : "");
        if (layers[s] > 0)
            text_append_printf(&out, "t*%d", layers[s]);
    }
    text_append_repeated(&out, 'm', (size_t)mtp);
    text_append_char(&out, 'L');
    return text_builder_finish(&out, NULL);
}

static plait_status give_layers(const launch_flags *own, int stages, launch_flags *flags,
                                plait_error *err)
{
    const launch_flag *const flag = flags_last(own, "hetero_pipeline_layer_split");
    int layers[PLAIT_MAX_LAYERS];

    if (flag == NULL || flag->values == 0)
        return PLAIT_OK;
    if (flag->values != stages || stages > PLAIT_MAX_LAYERS)
        return flags_fail(own, flag->name, err,
                          "expected the layers of %d stages, found those of %d", stages,
                          flag->values);
    PLAIT_TRY(read_numbers(own, flag, 0, stages, layers, err));
    return flags_add(flags, "pipeline_model_parallel_layout",
                     layout_of(layers, stages, predictions(flags), flags->arena), err);
}

plait_status flagscale_read_meshes(const launch_flags *own, launch_flags *flags, plait_error *err)
{
    int grid[MESH_SIZES];

    PLAIT_TRY(read_grid(own, grid, err));
    PLAIT_TRY(give_grid(own, grid, flags, err));
    PLAIT_TRY(give_experts(own, flags, err));
    return give_layers(own, grid[MESH_PP], flags, err);
}
