/* json_answer.c - documents of plans: the question in full, then the answer */
#include "report/json_plan.h"
#include "plan/model_queries.h"

#include "io/plans/plans_json.h"

static void write_plans(json_writer *json, const plait_problem *problem, const report_plan *plan,
                        int count)
{
    json_write_key(json, "plans");
    json_begin_array(json);
    for (int i = 0; i < count; i++)
        json_plan_write(json, problem, &plan[i]);
    json_end_array(json);
}

/* ---- search ---- */

static void write_refinements(json_writer *json, const plait_search_result *result)
{
    json_write_key(json, "refinements");
    json_begin_array(json);
    for (int i = 0; i < result->refinements; i++) {
        const plait_refinement *const of = &result->refinement[i];

        json_begin_object(json);
        json_member_string(json, "name", of->name);
        json_member_number(json, "before", of->before);
        json_member_number(json, "after", of->any ? of->best.objective : of->before);
        json_member_number(json, "floor", of->floor);
        json_member_string(json, "proof", of->optimal ? "optimal" : "gap");
        json_member_int64(json, "points", of->points);
        json_member_int64(json, "solved", of->solved);
        json_member_number(json, "elapsed_s", of->elapsed_s);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_search(json_writer *json, const plait_search_result *result)
{
    json_write_key(json, "search");
    if (result->points == 0 && result->plans == 0) {
        json_write_null(json);
        return;
    }
    json_begin_object(json);
    json_member_int64(json, "points", result->points);
    json_member_int64(json, "priced", result->priced);
    json_member_int64(json, "pruned", result->pruned);
    json_member_int64(json, "fits", result->fits);
    json_member_int64(json, "tight", result->tight);
    json_member_number(json, "elapsed_s", result->elapsed_s);
    json_member_int64(json, "threads", result->threads);
    json_member_string(json, "strategy", result->strategy);
    json_member_string(json, "proof", result->optimal ? "optimal" : "gap");
    write_refinements(json, result);
    json_end_object(json);
}

/* The rank of a point of the front among the plans; 0 when it is not among them. */
static int rank_of(const plait_search_result *result, const plait_ranked *point)
{
    for (int i = 0; i < result->plans; i++)
        if (result->plan[i].index == point->index)
            return i + 1;
    return 0;
}

static void write_front(json_writer *json, const plait_problem *problem,
                        const plait_search_result *result)
{
    json_write_key(json, "front");
    json_begin_array(json);
    for (int i = 0; i < result->front_size; i++)
        json_point_write(json, problem, &result->front[i], rank_of(result, &result->front[i]));
    json_end_array(json);
}

static void write_relaxations(json_writer *json, const plait_problem *problem,
                              const plait_relaxation *relaxation, int count)
{
    json_write_key(json, "relaxations");
    json_begin_array(json);
    for (int i = 0; i < count; i++) {
        plait_problem changed = *problem;

        changed.job = relaxation[i].job;
        if (relaxation[i].runtime != NULL)
            changed.runtime = relaxation[i].runtime;
        json_begin_object(json);
        json_member_string(json, "change", relaxation[i].change);
        json_write_key(json, "best");
        json_point_write(json, &changed, &relaxation[i].best, 0);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Writes the routing of experts that the first plan's price assumes. */
static void write_routing(json_writer *json, const plait_problem *problem, const report_plan *plan)
{
    const bool natural = plan->natural_high_s > 0.0;

    if (!model_has_experts(problem->model) || plan->degrees.ep == 1 ||
        plan->verdict == PLAIT_INVALID)
        return;
    json_write_key(json, "routing");
    json_begin_object(json);
    json_member_number(
        json, "imbalance",
        model_imbalance(problem->model, problem->runtime->factor.ep_imbalance, plan->degrees.ep));
    json_member_bool(json, "stated", problem->runtime->imbalance_stated);
    if (natural) {
        json_member_number(json, "natural_low_s", plan->natural_low_s);
        json_member_number(json, "natural_high_s", plan->natural_high_s);
    }
    json_end_object(json);
}

/* Groups of nodes that the best plan leaves idle, with the best plan that does not. */
static void write_idle(json_writer *json, const report_found *found)
{
    if (found->idle_groups == 0)
        return;
    json_write_key(json, "idle_groups");
    json_begin_array(json);
    for (int i = 0; i < found->idle_groups; i++) {
        json_begin_object(json);
        json_member_int64(json, "group", found->idle[i].group);
        json_member_int64(json, "gpus", found->idle[i].gpus);
        if (found->idle[i].any)
            json_member_number(json, "step_s", found->idle[i].best.price.step_s);
        else
            json_member_null(json, "step_s");
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_fewer(json_writer *json, const plait_problem *problem,
                        const plait_fewer_gpus *fewer)
{
    plait_problem smaller = *problem;

    smaller.job.gpus = fewer->gpus;
    json_write_key(json, "fewer_gpus");
    json_begin_object(json);
    json_member_int64(json, "gpus", fewer->gpus);
    json_member_number(json, "ideal_s", fewer->ideal_s);
    json_member_int64(json, "searched", fewer->searched);
    json_member_string(json, "proof", fewer->proven ? "optimal" : "gap");
    json_write_key(json, "best");
    json_point_write(json, &smaller, &fewer->best, 0);
    json_end_object(json);
}

/* Plans to start, by rank, those that were asked for; what is expected to be lost behind each. */
static void write_tries(json_writer *json, const report_found *found)
{
    json_write_key(json, "tries");
    json_begin_array(json);
    for (int i = 0; i < found->tries->count && i < found->tries_asked; i++) {
        json_begin_object(json);
        json_member_int64(json, "rank", found->tries->plan[i] + 1);
        json_member_number(json, "expected_regret", found->tries->regret[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

plait_status json_search(const plait_problem *problem, const report_found *found,
                         plait_arena *arena, const char **text, size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    plans_write_question(&json, problem);
    if (found->command != NULL)
        json_member_string(&json, "command", found->command);
    write_search(&json, found->result);
    write_plans(&json, problem, found->plan, found->result->plans);
    if (found->tries != NULL)
        write_tries(&json, found);
    write_front(&json, problem, found->result);
    if (found->result->plans > 0)
        write_routing(&json, problem, &found->plan[0]);
    write_idle(&json, found);
    if (found->result->has_tight) {
        json_write_key(&json, "tight");
        json_point_write(&json, problem, &found->result->tight_best, 0);
    }
    if (found->refusal != NULL)
        json_member_string(&json, "refusal", found->refusal);
    if (found->fewer != NULL)
        write_fewer(&json, problem, found->fewer);
    if (found->closest != NULL) {
        json_write_key(&json, "closest");
        json_plan_write(&json, problem, found->closest);
        json_member_bool(&json, "closest_proven", found->result->closest_proven);
        write_relaxations(&json, problem, found->relaxation, found->relaxations);
    }
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}

/* ---- eval ---- */

plait_status json_eval(const plait_problem *problem, const report_plan *plan,
                       const plait_relaxation *way, int ways, plait_arena *arena, const char **text,
                       size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    plans_write_question(&json, problem);
    write_plans(&json, problem, plan, 1);
    write_routing(&json, problem, plan);
    if (ways > 0)
        write_relaxations(&json, problem, way, ways);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}

/* ---- explain ---- */

static void write_terms(json_writer *json, const report_term *term, int count, const char *unit)
{
    json_begin_array(json);
    for (int i = 0; i < count; i++) {
        json_begin_object(json);
        json_member_string(json, "term", term[i].name);
        json_member_string(json, "equation", term[i].equation);
        json_member_string(json, "what", term[i].what);
        json_member_number(json, unit, term[i].value);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_both_terms(json_writer *json, const plait_cost *cost)
{
    report_term step[PLAIT_STEP_TERM_COUNT], memory[PLAIT_MEMORY_TERM_COUNT];

    report_step_term_list(&cost->step, step);
    report_memory_term_list(&cost->memory, memory);
    json_write_key(json, "time");
    write_terms(json, step, PLAIT_STEP_TERM_COUNT, "seconds");
    json_write_key(json, "memory");
    write_terms(json, memory, PLAIT_MEMORY_TERM_COUNT, "bytes");
}

static void write_sensitivities(json_writer *json, const report_explained *explained)
{
    json_write_key(json, "ten_percent_more");
    json_begin_array(json);
    for (int i = 0; i < explained->sensitivities; i++) {
        json_begin_object(json);
        json_member_string(json, "resource", explained->sensitivity[i].resource);
        json_member_number(json, "step_s", explained->sensitivity[i].step_s);
        json_member_number(json, "gain", explained->sensitivity[i].gain);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_limits(json_writer *json, const report_explained *explained)
{
    json_write_key(json, "limits");
    json_begin_array(json);
    for (int i = 0; i < explained->limits; i++) {
        const plait_comm_limit *const limit = &explained->limit[i];

        json_begin_object(json);
        json_member_string(json, "parallelism", limit->parallelism);
        json_member_int64(json, "ranks", limit->ranks);
        json_member_string(json, "counts", limit->counts);
        json_member_number(json, "value", limit->value);
        json_member_number(json, "least", limit->least);
        json_member_string(json, "equation", limit->equation);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_why_not(json_writer *json, const plait_problem *problem,
                          const report_explained *explained)
{
    json_write_key(json, "why_not");
    json_begin_object(json);
    json_member_string(json, "asked", explained->why_not_asked);
    json_member_string(json, "sentence", explained->why_not->sentence);
    json_write_key(json, "best");
    if (explained->why_not_plan != NULL)
        json_plan_write(json, problem, explained->why_not_plan);
    else
        json_write_null(json);
    json_write_key(json, "winner");
    if (explained->winner != NULL)
        json_plan_write(json, problem, explained->winner);
    else
        json_write_null(json);
    json_end_object(json);
}

static void write_explanation(json_writer *json, const plait_problem *problem,
                              const report_explained *explained)
{
    json_write_key(json, "explain");
    json_begin_object(json);
    write_both_terms(json, &explained->plan->cost);
    json_member_int64(json, "slowest_stage", explained->plan->cost.slowest_stage);
    json_member_int64(json, "fullest_stage", explained->plan->cost.fullest_stage);
    write_sensitivities(json, explained);
    write_limits(json, explained);
    write_relaxations(json, problem, explained->relaxation, explained->relaxations);
    if (explained->versus != NULL) {
        json_write_key(json, "versus");
        json_plan_write(json, explained->versus_problem, explained->versus);
    }
    if (explained->why_not != NULL)
        write_why_not(json, problem, explained);
    json_end_object(json);
}

plait_status json_explain(const plait_problem *problem, const report_explained *explained,
                          plait_arena *arena, const char **text, size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    plans_write_question(&json, problem);
    write_plans(&json, problem, explained->plan, 1);
    write_explanation(&json, problem, explained);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
