/* strategy.c - a plan as the strategy that Galvatron reads: a list over layers for each choice */
#include "launch/galvatron/galvatron.h"

#include "io/json/json_write.h"
#include "base/text.h"

/* ---- lists ---- */

/* "8,8,8": one number for each layer of the model. */
static void member_same(json_writer *json, const char *key, int layers, int value)
{
    text_builder list;

    text_builder_init(&list, json->out.arena);
    for (int l = 0; l < layers; l++)
        text_append_printf(&list, l > 0 ? ",%d" : "%d", value);
    json_member_string(json, key, text_builder_finish(&list, NULL));
}

/* Which layers are run again, stage by stage. */
static void member_checkpoints(json_writer *json, const plait_plan *plan)
{
    text_builder list;

    text_builder_init(&list, json->out.arena);
    for (int s = 0; s < plan->stages; s++)
        for (int l = 0; l < plan->stage[s].layers; l++)
            text_append_printf(&list, "%s%d", list.length > 0 ? "," : "",
                               plan->stage[s].recompute[l].kind == PLAIT_RECOMPUTE_FULL);
    json_member_string(json, "checkpoint", text_builder_finish(&list, NULL));
}

/* One number of each layer's cut. */
static void member_cuts(json_writer *json, const char *key, const plait_plan *plan,
                        int number(plait_cut cut))
{
    text_builder list;

    text_builder_init(&list, json->out.arena);
    for (int s = 0; s < plan->stages; s++)
        for (int l = 0; l < plan->stage[s].layers; l++)
            text_append_printf(&list, list.length > 0 ? ",%d" : "%d",
                               number(plait_cut_of(&plan->stage[s], l)));
    json_member_string(json, key, text_builder_finish(&list, NULL));
}

static int tp_of(plait_cut cut)
{
    return cut.tp;
}

static int is_sharded(plait_cut cut)
{
    return cut.zero == 3;
}

static void member_stages(json_writer *json, const plait_plan *plan)
{
    text_builder list;

    text_builder_init(&list, json->out.arena);
    for (int s = 0; s < plan->stages; s++)
        text_append_printf(&list, s > 0 ? ",%d" : "%d", plan->stage[s].layers);
    json_member_string(json, "pp_division", text_builder_finish(&list, NULL));
}

/* ---- parts ---- */

/* Ulysses is tensor parallelism of another sort to Galvatron: one size for both. */
static void write_layers(const plait_plan *plan, int layers, bool experts, json_writer *json)
{
    const plait_degrees *const d = &plan->degrees;
    const bool ulysses = d->cp > 1 && d->cp_comm == PLAIT_CP_A2A;

    if (ulysses)
        member_same(json, "tp_sizes_enc", layers, d->cp);
    else
        member_cuts(json, "tp_sizes_enc", plan, tp_of);
    member_same(json, "cp_sizes_enc", layers, ulysses ? 1 : d->cp);
    member_same(json, "tp_consecutive_flags", layers, 1);
    member_cuts(json, "dp_types_enc", plan, is_sharded);
    member_same(json, "use_sp", layers, ulysses);
    member_checkpoints(json, plan);
    if (experts) {
        member_same(json, "ep_sizes_enc", layers, d->ep);
        member_same(json, "tp_of_ep_sizes_enc", layers, d->etp);
    }
    json_member_int64(json, "vtp", ulysses ? d->cp : d->tp);
    json_member_int64(json, "vsp", ulysses);
    json_member_int64(json, "vcp", ulysses ? 1 : d->cp);
    json_member_int64(json, "vocab_sdp", d->zero == 3);
}

static void write_pipeline(const plait_launch *launch, json_writer *json)
{
    const plait_degrees *const d = &launch->plan->degrees;
    const plait_job *const job = &launch->problem->job;

    json_member_int64(json, "global_bsz", job->gbs);
    json_member_int64(json, "chunks", plait_degrees_microbatches(d, job->gbs));
    member_stages(json, launch->plan);
    json_member_string(json, "pipeline_type",
                       d->schedule == PLAIT_GPIPE ? "gpipe" : "pipedream_flush");
}

/* What a strategy has no words for. */
static void write_notes(const plait_launch *launch, json_writer *json)
{
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &launch->plan->degrees;
    char split[PLAIT_VALUE_SIZE];

    json_write_key(json, "plait");
    json_begin_object(json);
    json_member_string(json, "model", problem->model->name);
    json_member_string(json, "runtime", plait_runtime_handle(problem->runtime));
    json_member_int64(json, "seq", problem->job.seq);
    json_member_string(json, "precision", plait_precision_name[problem->job.precision]);
    json_member_string(json, "attention", plait_attention_kernel_name[d->attention]);
    json_member_int64(json, "sp", d->sp);
    json_member_string(json, "split", plait_degrees_get(d, PLAIT_KEY_SPLIT, split, sizeof split));
    json_member_string(json, "grad_sync", plait_grad_sync_name[d->grad_sync]);
    json_member_string(json, "grad_reduce", plait_state_format_name[d->grad_reduce]);
    json_end_object(json);
}

plait_status galvatron_strategy(const plait_launch *launch, plait_arena *arena, const char **out,
                                plait_error *err)
{
    static const char *const types[] = {"ddp", "ddp", "zero2", "zero3"};
    const plait_problem *const problem = launch->problem;
    const plait_plan *const plan = launch->plan;
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_int64(&json, "world_size", problem->job.gpus);
    json_member_int64(&json, "pp_deg", plan->degrees.pp);
    json_member_string(&json, "default_dp_type", types[plan->degrees.zero]);
    write_layers(plan, problem->model->layers, !galvatron_is_dense(problem->model), &json);
    write_pipeline(launch, &json);
    write_notes(launch, &json);
    json_end_object(&json);
    return json_writer_finish(&json, out, NULL, err);
}
