/* json_plan.c - writes plans, and documents of plans, as JSON */
#include "report/json_plan.h"

#include <math.h>

#include "io/plans/plans_json.h"
#include "plan/choices.h"
#include "plan/model_queries.h"

/*
 * Returns the number of nodes that contain ranks of a stage. If pp is the outermost axis, the
 * stage's ranks are one contiguous run. Otherwise each replica has a run of tp cp ranks, and the
 * runs are one pipeline apart.
 */
static int nodes_of_stage(const plait_plan *plan, int stage, int gpus_per_node)
{
    const plait_degrees *const d = &plan->degrees;
    const int size[PLAIT_AXES] = {
        [PLAIT_AXIS_TP] = d->tp, [PLAIT_AXIS_CP] = d->cp, [PLAIT_AXIS_DP] = d->dp};
    int run = 1, runs = 1, nodes = 0, last = -1;
    bool outside = false;

    for (int i = 0; i < PLAIT_AXES; i++) {
        if (plan->order[i] == PLAIT_AXIS_PP)
            outside = true;
        else if (outside)
            runs *= size[plan->order[i]];
        else
            run *= size[plan->order[i]];
    }
    for (int r = 0; r < runs; r++) {
        const int begin = (r * plan->stages + stage) * run;
        int first = begin / gpus_per_node;
        const int end = (begin + run - 1) / gpus_per_node;

        first = first <= last ? last + 1 : first;
        if (end >= first)
            nodes += end - first + 1;
        last = end;
    }
    return nodes;
}

static void write_stages(json_writer *json, const plait_problem *problem, const report_plan *plan)
{
    const bool mixed = plan->plan.stages > 0 && plait_plan_mixed(problem, &plan->plan);

    json_member_array(json, "stages");
    for (int s = 0; s < plan->plan.stages && s < plan->cost.stages; s++) {
        const plait_stage *const stage = &plan->plan.stage[s];
        const plait_stage_cost *const cost = &plan->cost.stage[s];
        const plait_degrees *const degrees = &stage->degrees;
        const int gpus = degrees->tp * degrees->cp * degrees->dp;
        const int node = problem->cluster->group[stage->group].gpus_per_node;
        const int nodes = mixed ? (gpus + node - 1) / node : nodes_of_stage(&plan->plan, s, node);
        char text[96];

        json_begin_object(json);
        json_member_array(json, "chunks");
        for (int c = 0; c < stage->chunks; c++) {
            json_begin_object(json);
            plans_write_chunk(json, &stage->chunk[c]);
            json_end_object(json);
        }
        json_end_array(json);
        if (mixed) {
            json_member_int64(json, "group", stage->group);
            json_member_object(json, "degrees");
            for (int key = 0; key < PLAIT_KEYS; key++)
                if (!(PLAN_OWN_KEYS & PLAIT_KEY_BIT(key)) &&
                    !plait_key_same(&stage->degrees, &plan->plan.degrees, (plait_key_id)key))
                    json_member_string(
                        json, plait_keys[key].name,
                        plait_degrees_get(&stage->degrees, (plait_key_id)key, text, sizeof text));
            json_end_object(json);
        }
        json_member_row(json, "mesh");
        json_write_int64(json, nodes);
        json_write_int64(json, gpus / nodes);
        json_end_array(json);

        JSON_NUMBER_OBJECT(json, "logical_mesh", {"tp", degrees->tp}, {"cp", degrees->cp},
                           {"dp", degrees->dp}, {"ep", degrees->ep}, {"etp", degrees->etp});
        plans_write_choices(json, &plan->plan, stage);
        JSON_NUMBERS(json, {"memory_bytes", cost->memory_bytes}, {"forward_s", cost->forward_s},
                     {"backward_s", cost->backward_s});
        json_end_object(json);
    }
    json_end_array(json);
}

/* ---- the price ---- */

void json_plan_write(json_writer *json, const plait_problem *problem, const report_plan *plan)
{
    json_begin_object(json);
    json_member_number(json, "rank", plan->rank > 0 ? plan->rank : (double)NAN);
    json_member_string(json, "verdict", plait_verdict_name[plan->verdict]);
    if (plan->verdict != PLAIT_FITS)
        json_member_string(json, "why", plan->why);
    plans_write_degrees(json, problem, &plan->degrees);
    plans_write_settings(json, problem, &plan->degrees);
    write_stages(json, problem, plan);
    if (plan->verdict == PLAIT_INVALID) {
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
        json_member_array(json, "communication");
        json_end_array(json);
    } else
        plans_write_price(json, &plan->cost);
    if (plan->variants != 0) {
        json_member_object(json, "variants");
        json_member_int64(json, "count", plan->variants);
        json_member_number(json, "within", plan->variants_within);
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_plan(json_writer *json, const char *key, const plait_problem *problem,
                       const report_plan *plan)
{
    json_write_key(json, key);
    if (plan != NULL)
        json_plan_write(json, problem, plan);
    else
        json_write_null(json);
}

void json_point_write(json_writer *json, const plait_problem *problem, const plait_ranked *point,
                      int rank)
{
    const double peak_bytes = point->price.peak_bytes;
    const bool fits = peak_bytes <= plait_capacity_bytes(problem, problem->risk);

    json_begin_object(json);
    json_member_number(json, "rank", rank > 0 ? rank : (double)NAN);
    json_member_string(json, "verdict", plait_verdict_name[fits ? PLAIT_FITS : PLAIT_TIGHT]);
    json_member_number(json, "risk", plait_memory_risk(problem, peak_bytes));
    plans_write_degrees(json, problem, &point->plan.degrees);
    json_member_number(json, "step_s", point->price.step_s);
    JSON_NUMBER_OBJECT(json, "memory", {"peak_bytes", point->price.peak_bytes},
                       {"capacity_bytes", plait_capacity_bytes(problem, problem->risk)});
    json_end_object(json);
}

static void write_plans(json_writer *json, const plait_problem *problem, const report_plan *plan,
                        int count)
{
    json_member_array(json, "plans");
    for (int i = 0; i < count; i++)
        json_plan_write(json, problem, &plan[i]);
    json_end_array(json);
}

/* ---- search ---- */

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
    JSON_NUMBERS(json, {"elapsed_s", result->elapsed_s}, {"threads", result->threads});
    JSON_STRINGS(json, {"strategy", result->strategy},
                 {"proof", result->optimal ? "optimal" : "gap"});
    json_member_bool(json, "short_of_memory", result->short_of_memory);
    json_member_bool(json, "uses_unmeasured", result->unmeasured);
    json_member_array(json, "refinements");
    for (int i = 0; i < result->refinements; i++) {
        const plait_refinement *const of = &result->refinement[i];

        json_begin_object(json);
        json_member_string(json, "name", of->name);
        JSON_NUMBERS(json, {"before", of->before},
                     {"after", of->any ? of->best.objective : of->before}, {"floor", of->floor});
        json_member_string(json, "proof", of->optimal ? "optimal" : "gap");
        json_member_int64(json, "points", of->points);
        json_member_int64(json, "solved", of->solved);
        json_member_int64(json, "unlisted", of->unlisted);
        json_member_bool(json, "short_of_memory", of->short_of_memory);
        json_member_number(json, "elapsed_s", of->elapsed_s);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

/*
 * Returns the rank that a point of the Pareto front has in the list of plans; 0: it is not in the
 * list.
 */
static int rank_of(const plait_search_result *result, const plait_ranked *point)
{
    for (int i = 0; i < result->plans; i++)
        if (result->plan[i].index == point->index)
            return i + 1;
    return 0;
}

static void write_relaxations(json_writer *json, const plait_problem *problem,
                              const plait_relaxation *relaxation, int count)
{
    json_member_array(json, "relaxations");
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

/* Writes which routing of experts the price of the first plan assumes. */
static void write_routing(json_writer *json, const plait_problem *problem, const report_plan *plan)
{
    const bool natural = plan->natural_high_s > 0.0;

    if (!model_has_experts(problem->model) || plan->degrees.ep == 1 ||
        plan->verdict == PLAIT_INVALID)
        return;
    json_member_object(json, "routing");
    json_member_number(
        json, "imbalance",
        model_imbalance(problem->model, problem->runtime->factor.ep_imbalance, plan->degrees.ep));
    json_member_bool(json, "stated", problem->runtime->imbalance_stated);
    if (natural) {
        JSON_NUMBERS(json, {"natural_low_s", plan->natural_low_s},
                     {"natural_high_s", plan->natural_high_s});
    }
    json_end_object(json);
}

/* Writes the measured run nearest to the recommended plan; null without one. */
static void write_nearest(json_writer *json, const plait_nearest_run *nearest)
{
    if (nearest == NULL || nearest->row == NULL) {
        json_member_null(json, "nearest_run");
        return;
    }
    json_member_object(json, "nearest_run");
    JSON_STRINGS(json, {"job", nearest->row->job}, {"source", nearest->row->source});
    json_member_int64(json, "gpus", nearest->row->regime.gpus);
    json_member_bool(json, "same_model", nearest->same_model);
    json_member_array(json, "differs");
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (nearest->differs & PLAIT_KEY_BIT(k))
            json_write_string(json, plait_keys[k].name);
    json_end_array(json);
    json_end_object(json);
}

/* Writes the techniques without measured runs that are faster by the model; null without any. */
static void write_by_model(json_writer *json, const plait_by_model *by_model)
{
    char value[PLAIT_VALUE_SIZE];

    if (by_model->changed == 0) {
        json_member_null(json, "by_model");
        return;
    }
    json_member_object(json, "by_model");
    json_member_number(json, "step_s", by_model->step_s);
    json_member_object(json, "unmeasured");
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (by_model->changed & PLAIT_KEY_BIT(k))
            json_member_string(
                json, plait_keys[k].name,
                plait_degrees_get(&by_model->degrees, (plait_key_id)k, value, sizeof value));
    json_end_object(json);
    json_end_object(json);
}

void json_search(json_writer *json, const plait_problem *problem, const report_found *found)
{
    plans_write_question(json, problem);
    if (found->command != NULL)
        json_member_string(json, "command", found->command);
    write_search(json, found->result);
    if (found->result->plans > 0) {
        json_member_int64(json, "recommended", found->recommended + 1);
        write_nearest(json, found->nearest);
        write_by_model(json, &found->by_model);
    }
    write_plans(json, problem, found->plan, found->result->plans);
    if (found->tries != NULL) {
        json_member_array(json, "tries");
        for (int i = 0; i < found->tries->count && i < found->tries_asked; i++) {
            json_begin_object(json);
            JSON_NUMBERS(json, {"rank", found->tries->plan[i] + 1},
                         {"expected_regret", found->tries->regret[i]});
            json_end_object(json);
        }
        json_end_array(json);
    }
    json_member_array(json, "front");
    for (int i = 0; i < found->result->front_size; i++)
        json_point_write(json, problem, &found->result->front[i],
                         rank_of(found->result, &found->result->front[i]));
    json_end_array(json);
    if (found->result->plans > 0)
        write_routing(json, problem, &found->plan[0]);
    if (found->idle_groups != 0) {
        json_member_array(json, "idle_groups");
        for (int i = 0; i < found->idle_groups; i++) {
            json_begin_object(json);
            JSON_NUMBERS(
                json, {"group", found->idle[i].group}, {"gpus", found->idle[i].gpus},
                {"step_s", found->idle[i].any ? found->idle[i].best.price.step_s : (double)NAN});
            json_end_object(json);
        }
        json_end_array(json);
    }
    if (found->result->has_tight) {
        json_write_key(json, "tight");
        json_point_write(json, problem, &found->result->tight_best, 0);
    }
    if (found->refusal != NULL)
        json_member_string(json, "refusal", found->refusal);
    if (found->fewer != NULL) {
        const plait_fewer_gpus *const fewer = found->fewer;
        plait_problem smaller = *problem;

        smaller.job.gpus = fewer->gpus;
        json_member_object(json, "fewer_gpus");
        JSON_NUMBERS(json, {"gpus", fewer->gpus}, {"ideal_s", fewer->ideal_s},
                     {"searched", fewer->searched});
        json_member_string(json, "proof", fewer->proven ? "optimal" : "gap");
        json_write_key(json, "best");
        json_point_write(json, &smaller, &fewer->best, 0);
        json_end_object(json);
    }
    if (found->closest != NULL) {
        write_plan(json, "closest", problem, found->closest);
        json_member_bool(json, "closest_proven", found->result->closest_proven);
        write_relaxations(json, problem, found->relaxation, found->relaxations);
    }
}

void json_eval(json_writer *json, const plait_problem *problem, const report_plan *plan,
               const plait_relaxation *way, int ways)
{
    plans_write_question(json, problem);
    write_plans(json, problem, plan, 1);
    write_routing(json, problem, plan);
    if (ways > 0)
        write_relaxations(json, problem, way, ways);
}

/* ---- explain ---- */

static void write_terms(json_writer *json, const char *key, const report_term *term, int count,
                        const char *unit)
{
    json_member_array(json, key);
    for (int i = 0; i < count; i++) {
        json_begin_object(json);
        JSON_STRINGS(json, {"term", term[i].name}, {"equation", term[i].equation},
                     {"what", term[i].what});
        json_member_number(json, unit, term[i].value);
        json_end_object(json);
    }
    json_end_array(json);
}

void json_explain(json_writer *json, const plait_problem *problem,
                  const report_explained *explained)
{
    report_term step[PLAIT_STEP_TERM_COUNT], memory[PLAIT_MEMORY_TERM_COUNT];

    plans_write_question(json, problem);
    write_plans(json, problem, explained->plan, 1);
    json_member_object(json, "explain");
    report_step_term_list(&explained->plan->cost.step, step);
    report_memory_term_list(&explained->plan->cost.memory, memory);
    write_terms(json, "time", step, PLAIT_STEP_TERM_COUNT, "seconds");
    write_terms(json, "memory", memory, PLAIT_MEMORY_TERM_COUNT, "bytes");
    JSON_NUMBERS(json, {"slowest_stage", explained->plan->cost.slowest_stage},
                 {"fullest_stage", explained->plan->cost.fullest_stage});
    json_member_array(json, "ten_percent_more");
    for (int i = 0; i < explained->sensitivities; i++) {
        json_begin_object(json);
        json_member_string(json, "resource", explained->sensitivity[i].resource);
        JSON_NUMBERS(json, {"step_s", explained->sensitivity[i].step_s},
                     {"gain", explained->sensitivity[i].gain});
        json_end_object(json);
    }
    json_end_array(json);
    json_member_array(json, "limits");
    for (int i = 0; i < explained->limits; i++) {
        const plait_comm_limit *const limit = &explained->limit[i];

        json_begin_object(json);
        json_member_string(json, "parallelism", limit->parallelism);
        json_member_int64(json, "ranks", limit->ranks);
        json_member_string(json, "counts", limit->counts);
        JSON_NUMBERS(json, {"value", limit->value}, {"least", limit->least});
        json_member_string(json, "equation", limit->equation);
        json_end_object(json);
    }
    json_end_array(json);
    write_relaxations(json, problem, explained->relaxation, explained->relaxations);
    if (explained->versus != NULL)
        write_plan(json, "versus", explained->versus_problem, explained->versus);
    if (explained->why_not != NULL) {
        json_member_object(json, "why_not");
        JSON_STRINGS(json, {"asked", explained->why_not_asked},
                     {"sentence", explained->why_not->sentence});
        write_plan(json, "best", problem, explained->why_not_plan);
        write_plan(json, "winner", problem, explained->winner);
        json_end_object(json);
    }
    json_end_object(json);
}
