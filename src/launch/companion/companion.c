/*
 * companion.c - launch.json: a plan complete enough for any runtime to execute, or to check
 *
 * The format is described in docs/reference/files/launch.md and by docs/launch.schema.json.
 */
#include "launch/companion/companion.h"

#include <assert.h>

#include "plait/lowlevel/schedule.h"

#include "io/plans/plans_json.h"
#include "launch/target.h"
#include "plan/choices.h"

/* ---- process groups ---- */

const char *const launch_group_name[LAUNCH_GROUP_KINDS + 1] = {
#define X(name, what) #name,
    LAUNCH_GROUPS(X)
#undef X
        NULL,
};

static plait_group_shape shape_of(const plait_degrees *d, launch_group kind)
{
    static const plait_axis axes[LAUNCH_GROUP_KINDS] = {
        [LAUNCH_GROUP_tp] = PLAIT_AXIS_TP,   [LAUNCH_GROUP_cp] = PLAIT_AXIS_CP,
        [LAUNCH_GROUP_dp] = PLAIT_AXIS_DP,   [LAUNCH_GROUP_ep] = PLAIT_AXIS_EP,
        [LAUNCH_GROUP_etp] = PLAIT_AXIS_ETP, [LAUNCH_GROUP_edp] = PLAIT_AXIS_EDP,
        [LAUNCH_GROUP_pp] = PLAIT_AXIS_PP,   [LAUNCH_GROUP_embedding] = PLAIT_AXIS_PP,
    };
    plait_group_shape stage = {.ranks = d->tp * d->cp * d->dp, .runs = 3};

    switch (kind) {
    case LAUNCH_GROUP_replicas:
        return plait_group_replicas(d);
    case LAUNCH_GROUP_shard:
        return plait_group_inner(plait_group_replicas(d), d->shard_group);
    case LAUNCH_GROUP_shard_replicas:
        return plait_group_outer(plait_group_replicas(d), d->shard_group);
    case LAUNCH_GROUP_expert_shard:
        return plait_group_inner(plait_group_of(d, PLAIT_AXIS_EDP), plait_expert_shard_group(d));
    case LAUNCH_GROUP_expert_shard_replicas:
        return plait_group_outer(plait_group_of(d, PLAIT_AXIS_EDP), plait_expert_shard_group(d));
    case LAUNCH_GROUP_stage: // tp, cp and dp, each one run of ranks
        for (int a = LAUNCH_GROUP_tp; a <= LAUNCH_GROUP_dp; a++)
            stage.run[a] = plait_group_of(d, axes[a]).run[0];
        return stage;
    default: // the embedding group too: launch_groups keeps only its first and last stage
        return plait_group_of(d, axes[kind]);
    }
}

/*
 * Store the members of the group that begins at `first` and mark them as taken; return false if a
 * member is out of range or in another group.
 */
static bool take_group(const plait_group_shape *shape, int first, int world, bool *taken, int *rank)
{
    int count = 1;

    rank[0] = first;
    for (int r = 0; r < shape->runs; r++) {
        const int before = count;
        for (int i = 1; i < shape->run[r].size; i++)
            for (int k = 0; k < before; k++, count++) {
                const int64_t member = rank[k] + (int64_t)i * shape->run[r].stride;
                if (count == shape->ranks || member >= world)
                    return false;
                rank[count] = (int)member;
            }
    }
    for (int i = 0; i < count; i++) {
        if (taken[rank[i]])
            return false;
        taken[rank[i]] = true;
    }
    return count == shape->ranks;
}

plait_status launch_groups(const plait_degrees *d, launch_group kind, plait_arena *arena,
                           launch_group_list *out, plait_error *err)
{
    const plait_group_shape shape = shape_of(d, kind);
    const int world = d->tp * d->cp * d->dp * d->pp;
    bool *const taken = plait_arena_alloc(arena, (size_t)world, sizeof *taken);
    int *const rank = plait_arena_alloc(arena, (size_t)world, sizeof *rank);

    assert(world >= 1 && world <= LAUNCH_MAX_RANKS);
    PLAIT_TRY(plait_check_allocated(taken && rank, err));
    *out = (launch_group_list){.ranks = shape.ranks, .rank = rank};
    for (int first = 0; first < world; first++) {
        if (taken[first])
            continue;
        if ((out->groups + 1) * shape.ranks > world ||
            !take_group(&shape, first, world, taken,
                        rank + (size_t)out->groups * (size_t)shape.ranks))
            return plait_fail(
                err, PLAIT_ERROR_RANGE, "plan",
                "expected %s groups that partition %d ranks, found overlapping groups of %d",
                launch_group_name[kind], world, shape.ranks);
        out->groups++;
    }
    if (kind == LAUNCH_GROUP_embedding) {
        // the first and the last rank of each pipeline
        const int ends = out->ranks > 1 ? 2 : 1;

        for (int g = 0; g < out->groups; g++) {
            rank[g * ends + ends - 1] = out->rank[g * out->ranks + out->ranks - 1];
            rank[g * ends] = out->rank[g * out->ranks];
        }
        out->ranks = ends;
    }
    return PLAIT_OK;
}

/* ---- stages and layers ---- */

/* A layer's kind and how it is split. */
typedef struct layer_strategy {
    int kind;
    plait_recompute recompute;
    const plait_degrees *degrees;
} layer_strategy;

/* Write runs of layers with the same strategy; a run may cross stage boundaries. */
static plait_status write_layers(json_writer *json, const plait_model *model,
                                 const plait_plan *plan, plait_arena *arena, plait_error *err)
{
    const size_t layers = (size_t)model->layers;
    layer_strategy *const layer = plait_arena_alloc(arena, layers, sizeof *layer);

    PLAIT_TRY(plait_check_allocated(layer, err));
    for (int s = 0; s < plan->stages; s++) {
        const plait_stage *const stage = &plan->stage[s];
        int at = 0;

        for (int c = 0; c < stage->chunks; c++)
            for (int i = stage->chunk[c].first; i < stage->chunk[c].last; i++)
                layer[i] =
                    (layer_strategy){model->layer_kind[i], stage->recompute[at++], &stage->degrees};
    }
    json_member_array(json, "layers");
    for (int first = 0, next; first < model->layers; first = next) {
        for (next = first + 1; next < model->layers; next++)
            if (layer[next].kind != layer[first].kind ||
                layer[next].recompute.kind != layer[first].recompute.kind ||
                layer[next].recompute.modules != layer[first].recompute.modules ||
                layer[next].degrees->tp != layer[first].degrees->tp ||
                layer[next].degrees->sp != layer[first].degrees->sp ||
                layer[next].degrees->cp != layer[first].degrees->cp ||
                layer[next].degrees->ep != layer[first].degrees->ep ||
                layer[next].degrees->etp != layer[first].degrees->etp)
                break;
        json_begin_object(json);
        json_member_row(json, "layers");
        json_write_int64(json, first);
        json_write_int64(json, next);
        json_end_array(json);
        json_member_string(json, "kind", model->kind[layer[first].kind].name);
        json_write_key(json, "recompute");
        plans_write_recompute(json, layer[first].recompute);
        json_member_int64(json, "tp", layer[first].degrees->tp);
        json_member_int64(json, "sp", layer[first].degrees->sp);
        json_member_int64(json, "cp", layer[first].degrees->cp);
        json_member_int64(json, "ep", layer[first].degrees->ep);
        json_member_int64(json, "etp", layer[first].degrees->etp);
        json_end_object(json);
    }
    json_end_array(json);
    return PLAIT_OK;
}

/* ---- the schedule ---- */

static plait_status write_schedule(json_writer *json, const plait_problem *problem,
                                   const plait_degrees *d, plait_arena *arena, plait_error *err)
{
    const plait_pipeline_shape shape = {(plait_schedule)d->schedule, d->pp, d->vpp,
                                        plait_degrees_microbatches(d, problem->job.gbs)};
    const int group = plait_schedule_group(&shape);

    json_member_object(json, "schedule");
    json_member_string(json, "name", plait_schedule_name[d->schedule]);
    json_member_int64(json, "pp", d->pp);
    json_member_int64(json, "vpp", d->vpp);
    json_member_int64(json, "microbatches", shape.microbatches);
    if (group > 0)
        json_member_int64(json, "group", group);
    else
        json_member_null(json, "group");
    json_member_int64(json, "copies", plait_schedule_replicas(shape.schedule));
    json_write_key(json, "actions");
    if (plait_schedule_has_actions(&shape) &&
        plait_schedule_action_count(&shape) <= COMPANION_MAX_ACTIONS) {
        const size_t ranks = (size_t)shape.ranks;
        plait_rank_actions *const rank = plait_arena_alloc(arena, ranks, sizeof *rank);
        char text[40];
        PLAIT_TRY(plait_check_allocated(rank, err));
        PLAIT_TRY(plait_schedule_actions(&shape, arena, rank, err));
        json_begin_array(json);
        for (int r = 0; r < shape.ranks; r++) {
            json_begin_row(json);
            for (int i = 0; i < rank[r].count; i++)
                json_write_string(json, plait_action_text(&rank[r].action[i], text, sizeof text));
            json_end_array(json);
        }
        json_end_array(json);
    } else
        json_write_null(json);
    json_end_object(json);
    return PLAIT_OK;
}

plait_status companion_write_plan(json_writer *json, const plait_problem *problem,
                                  const plait_plan *plan, plait_arena *arena, plait_error *err)
{
    json_member_object(json, "degrees");
    plans_write_degrees(json, problem, &plan->degrees);
    json_end_object(json);
    launch_group_list list;
    json_member_object(json, "groups");
    for (int kind = 0; kind < LAUNCH_GROUP_KINDS; kind++) {
        PLAIT_TRY(launch_groups(&plan->degrees, (launch_group)kind, arena, &list, err));
        json_write_key(json, launch_group_name[kind]);
        // one group a line, but groups of a single rank all on one line
        if (list.ranks == 1)
            json_begin_row(json);
        else
            json_begin_array(json);
        for (int g = 0; g < list.groups; g++) {
            json_begin_row(json);
            for (int r = 0; r < list.ranks; r++)
                json_write_int64(json, list.rank[g * list.ranks + r]);
            json_end_array(json);
        }
        json_end_array(json);
    }
    json_end_object(json);
    json_member_array(json, "stages");
    for (int s = 0; s < plan->stages; s++) {
        json_begin_object(json);
        json_member_array(json, "chunks");
        for (int c = 0; c < plan->stage[s].chunks; c++) {
            json_begin_object(json);
            json_member_int64(
                json, "stage",
                plait_schedule_chunk((plait_schedule)plan->degrees.schedule, plan->stages, s, c));
            plans_write_chunk(json, &plan->stage[s].chunk[c]);
            json_end_object(json);
        }
        json_end_array(json);
        if (stage_chooses(plan, &plan->stage[s]))
            plans_write_choices(json, plan, &plan->stage[s]);
        json_end_object(json);
    }
    json_end_array(json);
    PLAIT_TRY(write_layers(json, problem->model, plan, arena, err));
    return write_schedule(json, problem, &plan->degrees, arena, err);
}

/* ---- parts of the price ---- */

static bool has_cuts(const plait_plan *plan)
{
    for (int s = 0; s < plan->stages; s++)
        if (plan->stage[s].cut != NULL)
            return true;
    return false;
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    json_writer json;
    const char *text;

    if (has_cuts(launch->plan))
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                          "expected the same tp and ZeRO stage in all layers, since launch.json "
                          "lists one set of groups, found different ones; use --target galvatron");
    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_string(&json, "format", COMPANION_FORMAT);
    json_member_int64(&json, "version", COMPANION_VERSION);
    plans_write_question(&json, launch->problem);
    PLAIT_TRY(companion_write_plan(&json, launch->problem, launch->plan, arena, err));
    plans_write_settings(&json, launch->problem, &launch->plan->degrees);
    // gradients are reduced in buckets, whose number and size are known only if gradients are
    // reduced once per step
    const plait_overlaps *const overlap = &launch->problem->runtime->overlap;
    const plait_degrees *const d = &launch->plan->degrees;
    const plait_cost *const cost = launch->cost;
    json_member_object(&json, "gradients");
    json_member_string(&json, "sync", plait_grad_sync_name[d->grad_sync]);
    json_member_number(&json, "bucket_bytes", overlap->bucket_bytes);
    json_member_number(&json, "bucket_bytes_per_rank", overlap->bucket_bytes_per_rank);
    json_member_array(&json, "reductions");
    for (int v = 0; v < cost->volumes; v++)
        if ((cost->volume[v].axis == PLAIT_AXIS_DP || cost->volume[v].axis == PLAIT_AXIS_EDP) &&
            (cost->volume[v].op == PLAIT_ALL_REDUCE || cost->volume[v].op == PLAIT_REDUCE_SCATTER))
            plans_write_volume(&json, &cost->volume[v]);
    json_end_array(&json);
    json_end_object(&json);
    json_member_array(&json, "operators");
    json_end_array(&json);
    json_member_object(&json, "expected");
    plans_write_price(&json, launch->cost);
    json_member_array(&json, "stages");
    for (int s = 0; s < launch->cost->stages; s++) {
        const plait_stage_cost *const stage = &launch->cost->stage[s];

        json_begin_object(&json);
        json_member_number(&json, "forward_s", stage->forward_s);
        json_member_number(&json, "backward_s", stage->backward_s);
        json_member_number(&json, "memory_bytes", stage->memory_bytes);
        json_member_number(&json, "in_flight", stage->in_flight);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    json_end_object(&json);
    PLAIT_TRY(json_writer_finish(&json, &text, NULL, err));
    return folder_add(out, "launch.json", text, false, err);
}

static const char *unsupported(const plait_problem *problem, const plait_plan *plan)
{
    (void)plan;
    if (problem->job.gpus > LAUNCH_MAX_RANKS)
        return "more than 262144 GPUs, for which launch.json is too long to read back";
    return NULL;
}

const launch_target target_companion = {
    .name = "companion",
    .runtime = NULL,
    .unsupported = unsupported,
    .render = render,
    .import = companion_import,
};
