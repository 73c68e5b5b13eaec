/*
 * meshes.c - FlagScale's process meshes as Megatron-LM's arguments
 *
 * hetero_process_meshes lists tp, cp, ep, dp and pp of each mesh, and hetero_pipeline_layer_split the
 * layers of each stage of all of them. Meshes of equal degrees are the one grid that Megatron-LM has; of
 * others its arguments are those of the first, and each stage has its own.
 */
#include "launch/flagscale/meshes.h"

#include <stdint.h>
#include <string.h>

#include "plait/model.h"

#include "base/saturating.h"
#include "launch/read/stages_read.h"
#include "base/text.h"

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

/* ---- meshes ---- */

typedef struct mesh_list {
    int meshes;
    int (*size)[MESH_SIZES]; /* [meshes] */
    int *etp;                /* [meshes]; 0: not said */
    int *group;              /* [meshes] */
    int stages;              /* of all */
} mesh_list;

static plait_status check_mesh(const launch_flags *own, const mesh_list *list, int m,
                               plait_error *err)
{
    for (int s = 0; s < MESH_SIZES; s++)
        if (list->size[m][s] < 1)
            return flags_fail(own, "hetero_process_meshes", err,
                              "expected sizes from 1 to 65536, found %d", list->size[m][s]);
    if (list->size[m][MESH_CP] != list->size[0][MESH_CP])
        return flags_fail(own, "hetero_process_meshes", err,
                          "expected meshes of the same cp, found %d and %d", list->size[0][MESH_CP],
                          list->size[m][MESH_CP]);
    return list->stages <= PLAIT_MAX_LAYERS
               ? PLAIT_OK
               : flags_fail(own, "hetero_process_meshes", err, "expected at most %d stages",
                            PLAIT_MAX_LAYERS);
}

static plait_status read_sizes(const launch_flags *own, mesh_list *list, plait_error *err)
{
    const launch_flag *const flag = flags_last(own, "hetero_process_meshes");
    const int sizes = flag != NULL ? flag->values : 0;

    if (sizes == 0 || sizes % MESH_SIZES != 0)
        return flags_fail(own, "hetero_process_meshes", err,
                          "expected tp, cp, ep, dp and pp of each mesh, found %d numbers", sizes);
    list->meshes = sizes / MESH_SIZES;
    list->size = plait_arena_alloc(own->arena, (size_t)list->meshes, sizeof *list->size);
    list->etp = plait_arena_alloc(own->arena, (size_t)list->meshes, sizeof *list->etp);
    list->group = plait_arena_alloc(own->arena, (size_t)list->meshes, sizeof *list->group);
    if (list->size == NULL || list->etp == NULL || list->group == NULL)
        return plait_fail_nomem(err);
    for (int m = 0; m < list->meshes; m++) {
        PLAIT_TRY(read_numbers(own, flag, m * MESH_SIZES, MESH_SIZES, list->size[m], err));
        list->stages += list->size[m][MESH_PP];
        PLAIT_TRY(check_mesh(own, list, m, err));
    }
    return PLAIT_OK;
}

static plait_status read_experts(const launch_flags *own, mesh_list *list, plait_error *err)
{
    const launch_flag *const flag = flags_last(own, "expert_tensor_parallel_size_per_process_mesh");

    if (flag == NULL || flag->values == 0)
        return PLAIT_OK;
    if (flag->values != list->meshes)
        return flags_fail(own, flag->name, err,
                          "expected one number for each of %d meshes, found %d", list->meshes,
                          flag->values);
    return read_numbers(own, flag, 0, list->meshes, list->etp, err);
}

/* A group for each device type, in the order in which they are first named. */
static plait_status read_devices(const launch_flags *own, mesh_list *list, plait_error *err)
{
    const launch_flag *const flag = flags_last(own, "hetero_device_types");
    int groups = 0;

    if (flag == NULL || flag->values != list->meshes)
        return PLAIT_OK; // nobody says, or one for all
    for (int m = 0; m < list->meshes; m++) {
        list->group[m] = groups;
        for (int n = 0; n < m; n++)
            if (text_equal(flag->value[n], flag->value[m]))
                list->group[m] = list->group[n];
        groups += list->group[m] == groups;
    }
    return groups <= PLAIT_MAX_NODE_GROUPS
               ? PLAIT_OK
               : flags_fail(own, flag->name, err, "expected at most %d device types, found %d",
                            PLAIT_MAX_NODE_GROUPS, groups);
}

/* ---- one grid ---- */

/* What Megatron-LM's arguments say: the degrees of the first mesh, as if all stages had them. */
static plait_status give_grid(const launch_flags *own, const mesh_list *list, launch_flags *flags,
                              plait_error *err)
{
    const int *const grid = list->size[0];
    const int64_t ranks = (int64_t)grid[MESH_TP] * grid[MESH_CP] * grid[MESH_DP] * list->stages;

    if ((int64_t)grid[MESH_TP] * grid[MESH_CP] > 1 << 24 || ranks > 1 << 24)
        return flags_fail(own, "hetero_process_meshes", err,
                          "expected at most 16777216 ranks, found more");
    PLAIT_TRY(add_number(flags, "tensor_model_parallel_size", grid[MESH_TP], err));
    PLAIT_TRY(add_number(flags, "context_parallel_size", grid[MESH_CP], err));
    PLAIT_TRY(add_number(flags, "expert_model_parallel_size", grid[MESH_EP], err));
    PLAIT_TRY(add_number(flags, "pipeline_model_parallel_size", list->stages, err));
    if (list->etp[0] > 0)
        PLAIT_TRY(add_number(flags, "expert_tensor_parallel_size", list->etp[0], err));
    return add_number(flags, "world_size", (int)ranks, err);
}

static bool are_alike(const mesh_list *list)
{
    for (int m = 1; m < list->meshes; m++)
        if (memcmp(list->size[m], list->size[0], MESH_PP * sizeof(int)) != 0 ||
            list->etp[m] != list->etp[0] || list->group[m] != list->group[0])
            return false;
    return true;
}

/* ---- stages of their own ---- */

static plait_status refine(const launch_flags *own, const mesh_list *list, refined_meshes *out,
                           plait_error *err)
{
    int64_t gpus = 0;

    out->stages = list->stages;
    out->own = plait_arena_alloc(own->arena, (size_t)list->stages, sizeof *out->own);
    out->group = plait_arena_alloc(own->arena, (size_t)list->stages, sizeof *out->group);
    if (out->own == NULL || out->group == NULL)
        return plait_fail_nomem(err);
    for (int m = 0, s = 0; m < list->meshes; m++)
        for (int n = 0; n < list->size[m][MESH_PP]; n++, s++) {
            const int *const size = list->size[m];

            out->own[s] = plait_degrees_init();
            out->own[s].tp = size[MESH_TP];
            out->own[s].cp = size[MESH_CP];
            out->own[s].ep = size[MESH_EP];
            out->own[s].dp = size[MESH_DP];
            out->own[s].etp = list->etp[m] > 0 ? list->etp[m] : size[MESH_TP];
            out->group[s] = list->group[m];
            gpus += (int64_t)size[MESH_TP] * size[MESH_CP] * size[MESH_DP];
        }
    out->gpus = gpus <= PLAIT_MAX_GPUS ? (int)gpus : 0;
    return out->gpus > 0 ? PLAIT_OK
                         : flags_fail(own, "hetero_process_meshes", err,
                                      "expected at most %d ranks, found more", PLAIT_MAX_GPUS);
}

/* The sequences of a microbatch are those of the first mesh, cut by this one's dp. */
static plait_status give_stage(const refined_meshes *refined, const char *name, int s,
                               plans_entry *out, plans_stage *stage, plait_error *err)
{
    static const plait_key_set owns =
        PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_CP) | PLAIT_KEY_BIT(PLAIT_KEY_EP) |
        PLAIT_KEY_BIT(PLAIT_KEY_DP) | PLAIT_KEY_BIT(PLAIT_KEY_ETP) | PLAIT_KEY_BIT(PLAIT_KEY_MBS) |
        PLAIT_KEY_BIT(PLAIT_KEY_SP) | PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP);
    const int64_t sequences = (int64_t)out->degrees.mbs * refined->own[0].dp;

    if (sequences % refined->own[s].dp != 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, name,
                          "expected a dp of stage %d that divides the %lld sequences of a "
                          "microbatch, found %d",
                          s, (long long)sequences, refined->own[s].dp);
    stage->own = refined->own[s];
    stage->own.mbs = (int)(sequences / refined->own[s].dp);
    stage->own.shard_group = product(stage->own.dp, stage->own.cp);
    stage->own.sp = refined->sp && refined->own[s].tp > 1;
    stage->owns = owns;
    stage->group = refined->group[s];
    return PLAIT_OK;
}

plait_status flagscale_give_meshes(const refined_meshes *refined, const char *name,
                                   plait_arena *arena, plans_entry *out, plait_error *err)
{
    plait_recompute choice[PLAIT_MAX_LAYERS];
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    plans_stage *stage;

    if (refined->stages == 0)
        return PLAIT_OK;
    if (out->model == NULL || out->degrees.vpp != 1 ||
        !(out->given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT)) ||
        !plait_chunks_of(out->model, &out->degrees, chunks))
        return plait_fail(err, PLAIT_ERROR_RANGE, name,
                          "expected a model and layers of each stage beside unlike meshes, found "
                          "none");
    for (int s = 0; s < out->degrees.pp; s++)
        for (int l = chunks[s].first; l < chunks[s].last; l++)
            choice[l] = plait_recompute_of(&out->degrees, l - chunks[s].first);
    if (out->stages == 0)
        PLAIT_TRY(stages_list(chunks, choice, NULL, arena, out, err));
    stage = plait_arena_alloc(arena, (size_t)out->stages, sizeof *stage);
    if (stage == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < out->stages; s++) {
        stage[s] = out->stage[s];
        PLAIT_TRY(give_stage(refined, name, s, out, &stage[s], err));
    }
    out->stage = stage;
    out->gpus = refined->gpus;
    out->degrees.dp = refined->own[0].dp; // which the number of GPUs does not say
    out->given |= PLAIT_KEY_BIT(PLAIT_KEY_DP);
    return PLAIT_OK;
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

plait_status flagscale_read_meshes(const launch_flags *own, launch_flags *flags,
                                   refined_meshes *out, plait_error *err)
{
    mesh_list list = {.meshes = 0};

    PLAIT_TRY(read_sizes(own, &list, err));
    PLAIT_TRY(read_experts(own, &list, err));
    PLAIT_TRY(read_devices(own, &list, err));
    PLAIT_TRY(give_grid(own, &list, flags, err));
    PLAIT_TRY(give_layers(own, list.stages, flags, err));
    out->sp = flags_last(flags, "sequence_parallel") != NULL;
    return are_alike(&list) ? PLAIT_OK : refine(own, &list, out, err);
}
