/*
 * companion.c - launch.json: a plan complete enough for any runtime to execute, or to check
 *
 * The format is described in docs/reference/files/launch.md and by docs/launch.schema.json.
 */
#include "launch/companion/companion.h"

#include "plait/lowlevel/schedule.h"

#include "io/plans/plans_json.h"
#include "launch/companion/rank_groups.h"
#include "launch/target.h"
#include "plan/choices.h"

/* Write one group a line, and groups of a single rank all on one line. */
static void write_group_list(json_writer *json, const launch_group_list *list)
{
    if (list->ranks == 1)
        json_begin_row(json);
    else
        json_begin_array(json);
    for (int g = 0; g < list->groups; g++) {
        json_begin_row(json);
        for (int r = 0; r < list->ranks; r++)
            json_write_int64(json, list->rank[g * list->ranks + r]);
        json_end_array(json);
    }
    json_end_array(json);
}

/* ---- stages and layers ---- */

/* A layer's kind and how it is split. */
typedef struct layer_strategy {
    int kind;
    plait_recompute recompute;
    const plait_degrees *degrees;
} layer_strategy;

static bool same_strategy(const layer_strategy *a, const layer_strategy *b)
{
    const plait_degrees *const x = a->degrees;
    const plait_degrees *const y = b->degrees;

    return a->kind == b->kind && a->recompute.kind == b->recompute.kind &&
           a->recompute.modules == b->recompute.modules && x->tp == y->tp && x->sp == y->sp &&
           x->cp == y->cp && x->ep == y->ep && x->etp == y->etp;
}

static void write_run(json_writer *json, const plait_model *model, const layer_strategy *layer,
                      int first, int last)
{
    json_begin_object(json);
    json_write_key(json, "layers");
    json_begin_row(json);
    json_write_int64(json, first);
    json_write_int64(json, last);
    json_end_array(json);
    json_member_string(json, "kind", model->kind[layer->kind].name);
    json_write_key(json, "recompute");
    plans_write_recompute(json, layer->recompute);
    json_member_int64(json, "tp", layer->degrees->tp);
    json_member_int64(json, "sp", layer->degrees->sp);
    json_member_int64(json, "cp", layer->degrees->cp);
    json_member_int64(json, "ep", layer->degrees->ep);
    json_member_int64(json, "etp", layer->degrees->etp);
    json_end_object(json);
}

/* Write runs of equally split layers; a run may cross the edges of stages. */
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
    json_write_key(json, "layers");
    json_begin_array(json);
    for (int first = 0, next; first < model->layers; first = next) {
        for (next = first + 1; next < model->layers; next++)
            if (!same_strategy(&layer[next], &layer[first]))
                break;
        write_run(json, model, &layer[first], first, next);
    }
    json_end_array(json);
    return PLAIT_OK;
}

/* ---- the schedule ---- */

static plait_status write_actions(json_writer *json, const plait_pipeline_shape *shape,
                                  plait_arena *arena, plait_error *err)
{
    const size_t ranks = (size_t)shape->ranks;
    plait_rank_actions *const rank = plait_arena_alloc(arena, ranks, sizeof *rank);
    char text[40];

    PLAIT_TRY(plait_check_allocated(rank, err));
    PLAIT_TRY(plait_schedule_actions(shape, arena, rank, err));
    json_begin_array(json);
    for (int r = 0; r < shape->ranks; r++) {
        json_begin_row(json);
        for (int i = 0; i < rank[r].count; i++)
            json_write_string(json, plait_action_text(&rank[r].action[i], text, sizeof text));
        json_end_array(json);
    }
    json_end_array(json);
    return PLAIT_OK;
}

static plait_status write_schedule(json_writer *json, const plait_problem *problem,
                                   const plait_degrees *d, plait_arena *arena, plait_error *err)
{
    const plait_pipeline_shape shape = {(plait_schedule)d->schedule, d->pp, d->vpp,
                                        plait_degrees_microbatches(d, problem->job.gbs)};
    const int group = plait_schedule_group(&shape);

    json_write_key(json, "schedule");
    json_begin_object(json);
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
        plait_schedule_action_count(&shape) <= COMPANION_MAX_ACTIONS)
        PLAIT_TRY(write_actions(json, &shape, arena, err));
    else
        json_write_null(json);
    json_end_object(json);
    return PLAIT_OK;
}

plait_status companion_write_plan(json_writer *json, const plait_problem *problem,
                                  const plait_plan *plan, plait_arena *arena, plait_error *err)
{
    json_write_key(json, "degrees");
    json_begin_object(json);
    plans_write_degrees(json, problem, &plan->degrees);
    json_end_object(json);
    launch_group_list list;
    json_write_key(json, "groups");
    json_begin_object(json);
    for (int kind = 0; kind < LAUNCH_GROUP_KINDS; kind++) {
        PLAIT_TRY(launch_groups(&plan->degrees, (launch_group)kind, arena, &list, err));
        json_write_key(json, launch_group_name[kind]);
        write_group_list(json, &list);
    }
    json_end_object(json);
    json_write_key(json, "stages");
    json_begin_array(json);
    for (int s = 0; s < plan->stages; s++) {
        json_begin_object(json);
        json_write_key(json, "chunks");
        json_begin_array(json);
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

/*
 * Gradients are reduced in buckets; their number and size are known only if they are reduced once a
 * step.
 */
static void write_gradients(json_writer *json, const plait_launch *launch)
{
    const plait_overlaps *const overlap = &launch->problem->runtime->overlap;
    const plait_degrees *const d = &launch->plan->degrees;
    const plait_cost *const cost = launch->cost;

    json_write_key(json, "gradients");
    json_begin_object(json);
    json_member_string(json, "sync", plait_grad_sync_name[d->grad_sync]);
    json_member_number(json, "bucket_bytes", overlap->bucket_bytes);
    json_member_number(json, "bucket_bytes_per_rank", overlap->bucket_bytes_per_rank);
    json_write_key(json, "reductions");
    json_begin_array(json);
    for (int v = 0; v < cost->volumes; v++)
        if ((cost->volume[v].axis == PLAIT_AXIS_DP || cost->volume[v].axis == PLAIT_AXIS_EDP) &&
            (cost->volume[v].op == PLAIT_ALL_REDUCE || cost->volume[v].op == PLAIT_REDUCE_SCATTER))
            plans_write_volume(json, &cost->volume[v]);
    json_end_array(json);
    json_end_object(json);
}

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
    write_gradients(&json, launch);
    json_write_key(&json, "operators");
    json_begin_array(&json);
    json_end_array(&json);
    json_write_key(&json, "expected");
    json_begin_object(&json);
    plans_write_price(&json, launch->cost);
    json_write_key(&json, "stages");
    json_begin_array(&json);
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
