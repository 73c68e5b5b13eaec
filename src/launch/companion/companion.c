/*
 * companion.c - launch.json: a plan complete enough for any runtime to execute, or to check
 *
 * The format is described in docs/reference/files/launch.md and by docs/launch.schema.json.
 */
#include "launch/companion/companion.h"
#include "io/plans/plans_write.h"
#include "launch/companion/rank_groups.h"
#include "launch/target.h"

/* ---- what the price tells ---- */

static bool reduces_gradients(const plait_volume *volume)
{
    return (volume->axis == PLAIT_AXIS_DP || volume->axis == PLAIT_AXIS_EDP) &&
           (volume->op == PLAIT_ALL_REDUCE || volume->op == PLAIT_REDUCE_SCATTER);
}

/* Gradients go in buckets; how many and how large is known of those reduced once a step. */
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
        if (reduces_gradients(&cost->volume[v]))
            plans_write_volume(json, &cost->volume[v]);
    json_end_array(json);
    json_end_object(json);
}

static void write_expected_stage(json_writer *json, const plait_stage_cost *stage)
{
    json_begin_object(json);
    json_member_number(json, "forward_s", stage->forward_s);
    json_member_number(json, "backward_s", stage->backward_s);
    json_member_number(json, "memory_bytes", stage->memory_bytes);
    json_member_number(json, "in_flight", stage->in_flight);
    json_end_object(json);
}

static void write_expected(json_writer *json, const plait_cost *cost)
{
    json_write_key(json, "expected");
    json_begin_object(json);
    plans_write_price(json, cost);
    json_write_key(json, "stages");
    json_begin_array(json);
    for (int s = 0; s < cost->stages; s++)
        write_expected_stage(json, &cost->stage[s]);
    json_end_array(json);
    json_end_object(json);
}

/* ---- the file ---- */

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
                          "expected one tp and one stage of ZeRO, of which launch.json lists the "
                          "groups, found layers with their own; --target galvatron takes them");
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
    write_expected(&json, launch->cost);
    json_end_object(&json);
    PLAIT_TRY(json_writer_finish(&json, &text, NULL, err));
    return folder_add(out, "launch.json", text, false, err);
}

static const char *lacks(const plait_problem *problem, const plait_plan *plan)
{
    (void)plan;
    if (problem->job.gpus > LAUNCH_MAX_RANKS)
        return "more than 262144 GPUs: a file that lists the ranks of all their groups is longer "
               "than what is read back";
    return NULL;
}

const launch_target target_companion = {
    .name = "companion",
    .runtime = NULL,
    .lacks = lacks,
    .render = render,
    .import = companion_import,
};
