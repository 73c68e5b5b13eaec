/* plans_write.c - the question and the degrees of a plan as JSON */
#include "plans_write.h"

#include "cluster_write.h"
#include "model_write.h"

/* ---- the question ---- */

static void write_job(json_writer *json, const plait_problem *problem)
{
    const plait_job *const job = &problem->job;

    json_begin_object(json);
    json_member_int64(json, "seq", job->seq);
    json_member_int64(json, "gbs", job->gbs);
    json_member_int64(json, "gpus", job->gpus);
    json_member_string(json, "precision", plait_precision_name[job->precision]);
    json_member_string(json, "runtime", problem->runtime->name);
    json_member_string(json, "attention", plait_attention_kernel_name[job->attention]);
    json_end_object(json);
}

void plans_write_question(json_writer *json, const plait_problem *problem)
{
    json_member_string(json, "plait", PLAIT_VERSION);
    json_write_key(json, "model");
    model_write(json, problem->model);
    json_write_key(json, "cluster");
    cluster_write(json, problem->cluster);
    json_write_key(json, "job");
    write_job(json, problem);
}

/* ---- degrees ---- */

static void member_of_degrees(json_writer *json, const char *key, const plait_degrees *degrees)
{
    char text[80];

    json_member_string(json, key, plait_degrees_get(degrees, key, text, sizeof text));
}

/* A count that degrees do not make up to is not known. */
static void member_of_count(json_writer *json, const char *key, int count)
{
    if (count > 0)
        json_member_int64(json, key, count);
    else
        json_member_null(json, key);
}

static void write_order(json_writer *json, const plait_degrees *degrees)
{
    const plait_axis *axes = plait_order_axes((plait_order)degrees->order);

    json_write_key(json, "order");
    json_begin_row(json);
    for (int i = 0; i < PLAIT_AXES; i++)
        json_write_string(json, plait_axis_name[axes[i]]);
    json_end_array(json);
}

void plans_write_degrees(json_writer *json, const plait_problem *problem,
                         const plait_degrees *degrees)
{
    json_member_int64(json, "tp", degrees->tp);
    json_member_int64(json, "sp", degrees->sp);
    json_member_int64(json, "pp", degrees->pp);
    json_member_int64(json, "vpp", degrees->vpp);
    json_member_int64(json, "cp", degrees->cp);
    json_member_string(json, "cp_comm", plait_cp_comm_name[degrees->cp_comm]);
    json_member_int64(json, "ep", degrees->ep);
    json_member_int64(json, "etp", degrees->etp);
    member_of_count(json, "dp", degrees->dp);
    json_member_int64(json, "zero", degrees->zero);
    member_of_count(json, "shard_group", degrees->shard_group);
    json_member_int64(json, "mbs", degrees->mbs);
    json_member_int64(json, "gbs", problem->job.gbs);
    member_of_count(json, "microbatches", plait_degrees_microbatches(degrees, problem->job.gbs));
    member_of_degrees(json, "recompute", degrees);
    json_member_string(json, "schedule", plait_schedule_name[degrees->schedule]);
    json_member_string(json, "grad_sync", plait_grad_sync_name[degrees->grad_sync]);
    json_member_string(json, "fusion", "none");
    json_member_string(json, "precision", plait_precision_name[problem->job.precision]);
    json_member_string(json, "attention", plait_attention_kernel_name[problem->job.attention]);
    json_member_string(json, "runtime", problem->runtime->name);
    member_of_degrees(json, "split", degrees);
    write_order(json, degrees);
}

/* ---- what the runtime decides ---- */

static void member_of_bytes(json_writer *json, const char *key, double bytes_each)
{
    const char *word = NULL;

    if (bytes_each == 4.0)
        word = "fp32";
    else if (bytes_each == 2.0)
        word = "bf16";
    json_member_string(json, key, word);
}

/* 12 bytes a parameter are an fp32 master weight and two fp32 moments; other sums say nothing. */
static void write_optimizer_dtypes(json_writer *json, double bytes_each)
{
    json_write_key(json, "optimizer_dtypes");
    if (bytes_each != 12.0) {
        json_write_null(json);
        return;
    }
    json_begin_object(json);
    json_member_string(json, "master", "fp32");
    json_member_string(json, "exp_avg", "fp32");
    json_member_string(json, "exp_avg_sq", "fp32");
    json_end_object(json);
}

static const char *fp8_recipe(plait_precision precision)
{
    switch (precision) {
    case PLAIT_FP8:
        return "tensorwise";
    case PLAIT_FP8_BLOCK:
        return "blockwise";
    case PLAIT_MXFP8:
        return "mxfp8";
    case PLAIT_NVFP4:
        return "nvfp4";
    case PLAIT_BF16:
    case PLAIT_FP16:
    case PLAIT_PRECISIONS:
        break;
    }
    return NULL;
}

void plans_write_settings(json_writer *json, const plait_problem *problem,
                          const plait_degrees *degrees)
{
    const plait_runtime *const runtime = problem->runtime;

    json_write_key(json, "settings");
    json_begin_object(json);
    json_member_bool(json, "overlap_grad_reduce",
                     runtime->overlap.grad_reduce && degrees->grad_sync == PLAIT_SYNC_BUCKETED);
    json_member_bool(json, "overlap_param_gather",
                     runtime->overlap.param_gather && degrees->zero > 0);
    json_member_bool(json, "tp_overlap", degrees->tp > 1 && runtime->overlap.tp_exposed < 1.0);
    json_member_number(json, "bucket_bytes", runtime->overlap.bucket_bytes);
    if (degrees->vpp > 1)
        json_member_int64(json, "microbatch_group", degrees->pp);
    else
        json_member_null(json, "microbatch_group");
    if (degrees->zero >= 2)
        json_member_bool(json, "reshard_after_forward", degrees->zero == 3);
    else
        json_member_null(json, "reshard_after_forward");
    member_of_bytes(json, "grad_dtype", runtime->state.gradient);
    write_optimizer_dtypes(json, runtime->state.optimizer);
    json_member_string(json, "fp8_recipe", fp8_recipe(problem->job.precision));
    json_member_null(json, "moe_dispatcher");
    json_member_null(json, "offload");
    json_end_object(json);
}

/* ---- parts of a stage ---- */

void plans_write_recompute(json_writer *json, plait_recompute recompute)
{
    plait_degrees one = plait_degrees_init();
    char text[80];

    one.recompute = recompute;
    json_write_string(json, plait_degrees_get(&one, "recompute", text, sizeof text));
}

void plans_write_chunk(json_writer *json, const plait_chunk *chunk)
{
    json_write_key(json, "layers");
    json_begin_row(json);
    json_write_int64(json, chunk->first);
    json_write_int64(json, chunk->last);
    json_end_array(json);
    json_member_bool(json, "embedding", chunk->embedding);
    json_member_bool(json, "loss", chunk->loss);
    json_member_int64(json, "mtp", chunk->mtp);
}
