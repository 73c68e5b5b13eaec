/* json_plan.c - one plan as JSON */
#include "json_plan.h"

#include "plans_write.h"

static const char *const verdict_name[] = {"fits", "out_of_memory", "invalid"};

static void write_degrees(json_writer *json, const plait_problem *problem,
                          const plait_degrees *degrees)
{
    const plans_entry entry = plans_entry_of(problem, degrees);

    plans_write_degrees(json, &entry);
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

static void write_settings(json_writer *json, const plait_problem *problem,
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

/* ---- the price ---- */

static void write_totals(json_writer *json, const plait_cost *cost)
{
    json_member_number(json, "step_s", cost->step_s);
    json_member_number(json, "step_low_s", cost->step_low_s);
    json_member_number(json, "step_high_s", cost->step_high_s);
    json_member_number(json, "tokens_per_s_per_gpu", cost->tokens_per_s_per_gpu);
    json_member_number(json, "model_tflops_per_gpu", cost->model_flops_per_s * 1e-12);
    json_member_number(json, "mfu", cost->mfu);
    json_member_number(json, "hfu", cost->hfu);
    json_member_number(json, "cost_usd", cost->cost_usd);
    json_member_number(json, "energy_j", cost->energy_j);
}

static void write_time(json_writer *json, const plait_step_time *step)
{
    json_write_key(json, "time");
    json_begin_object(json);
#define X(name, equation, what) json_member_number(json, #name "_s", step->name##_s);
    PLAIT_STEP_TERMS(X)
#undef X
    json_end_object(json);
}

static void write_memory(json_writer *json, const plait_memory *memory)
{
    json_write_key(json, "memory");
    json_begin_object(json);
    json_member_number(json, "peak_bytes", memory->peak_bytes);
    json_member_number(json, "capacity_bytes", memory->capacity_bytes);
#define X(name, equation, what) json_member_number(json, #name "_bytes", memory->name##_bytes);
    PLAIT_MEMORY_TERMS(X)
#undef X
    json_end_object(json);
}

static void write_volume(json_writer *json, const plait_volume *volume)
{
    json_begin_object(json);
    json_member_string(json, "what", volume->what);
    json_member_string(json, "group", plait_axis_name[volume->axis]);
    json_member_int64(json, "ranks", volume->ranks);
    json_member_number(json, "count", volume->count);
    json_member_number(json, "bytes", volume->bytes);
    json_member_number(json, "seconds", volume->seconds);
    json_member_number(json, "exposed_s", volume->exposed_s);
    json_end_object(json);
}

static void write_price(json_writer *json, const plait_cost *cost)
{
    write_totals(json, cost);
    write_time(json, &cost->step);
    write_memory(json, &cost->memory);
    json_write_key(json, "communication");
    json_begin_array(json);
    for (int v = 0; v < cost->volumes; v++)
        write_volume(json, &cost->volume[v]);
    json_end_array(json);
}

/* A plan that cannot run has no numbers: null, so that nobody reads a zero as a time. */
static void write_no_price(json_writer *json)
{
    static const char *const keys[] = {"step_s",
                                       "step_low_s",
                                       "step_high_s",
                                       "tokens_per_s_per_gpu",
                                       "model_tflops_per_gpu",
                                       "mfu",
                                       "hfu",
                                       "cost_usd",
                                       "energy_j",
                                       "time",
                                       "memory",
                                       NULL};

    for (const char *const *key = keys; *key != NULL; key++)
        json_member_null(json, *key);
    json_write_key(json, "communication");
    json_begin_array(json);
    json_end_array(json);
}

static void write_rank(json_writer *json, int rank)
{
    if (rank > 0)
        json_member_int64(json, "rank", rank);
    else
        json_member_null(json, "rank");
}

void json_plan_write(json_writer *json, const plait_problem *problem, const report_plan *plan)
{
    json_begin_object(json);
    write_rank(json, plan->rank);
    json_member_string(json, "verdict", verdict_name[plan->verdict]);
    if (plan->verdict != PLAIT_FITS)
        json_member_string(json, "why", plan->why);
    write_degrees(json, problem, &plan->degrees);
    write_settings(json, problem, &plan->degrees);
    json_stages_write(json, problem, plan);
    if (plan->verdict == PLAIT_INVALID)
        write_no_price(json);
    else
        write_price(json, &plan->cost);
    json_end_object(json);
}

void json_point_write(json_writer *json, const plait_problem *problem, const plait_ranked *point,
                      int rank)
{
    json_begin_object(json);
    write_rank(json, rank);
    json_member_string(json, "verdict", verdict_name[PLAIT_FITS]);
    write_degrees(json, problem, &point->degrees);
    json_member_number(json, "step_s", point->price.step_s);
    json_write_key(json, "memory");
    json_begin_object(json);
    json_member_number(json, "peak_bytes", point->price.peak_bytes);
    json_member_number(json, "capacity_bytes", plait_capacity_bytes(problem));
    json_end_object(json);
    json_end_object(json);
}
