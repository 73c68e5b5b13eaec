/* json_plan.c - one plan as JSON */
#include "report/json_plan.h"

#include "io/plans/plans_json.h"

/* ---- the price ---- */

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
                                       "mfu_square",
                                       "hfu_square",
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

/* Of a plan of a search that stands for others. */
static void write_variants(json_writer *json, const report_plan *plan)
{
    if (plan->variants == 0)
        return;
    json_write_key(json, "variants");
    json_begin_object(json);
    json_member_int64(json, "count", plan->variants);
    json_member_number(json, "within", plan->variants_within);
    json_end_object(json);
}

void json_plan_write(json_writer *json, const plait_problem *problem, const report_plan *plan)
{
    json_begin_object(json);
    write_rank(json, plan->rank);
    json_member_string(json, "verdict", plait_verdict_name[plan->verdict]);
    if (plan->verdict != PLAIT_FITS)
        json_member_string(json, "why", plan->why);
    plans_write_degrees(json, problem, &plan->degrees);
    plans_write_settings(json, problem, &plan->degrees);
    json_stages_write(json, problem, plan);
    if (plan->verdict == PLAIT_INVALID)
        write_no_price(json);
    else
        plans_write_price(json, &plan->cost);
    write_variants(json, plan);
    json_end_object(json);
}

void json_point_write(json_writer *json, const plait_problem *problem, const plait_ranked *point,
                      int rank)
{
    json_begin_object(json);
    write_rank(json, rank);
    const double peak_bytes = point->price.peak_bytes;
    const bool fits = peak_bytes <= plait_capacity_bytes(problem, problem->risk);

    json_member_string(json, "verdict", plait_verdict_name[fits ? PLAIT_FITS : PLAIT_TIGHT]);
    json_member_number(json, "risk", plait_memory_risk(problem, peak_bytes));
    plans_write_degrees(json, problem, &point->plan.degrees);
    json_member_number(json, "step_s", point->price.step_s);
    json_write_key(json, "memory");
    json_begin_object(json);
    json_member_number(json, "peak_bytes", point->price.peak_bytes);
    json_member_number(json, "capacity_bytes", plait_capacity_bytes(problem, problem->risk));
    json_end_object(json);
    json_end_object(json);
}
