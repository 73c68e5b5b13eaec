/* json_stages.c - the stages of a plan as JSON: layers, where its ranks sit, what it takes */
#include "report/json_plan.h"

#include "plan/choices.h"
#include "io/plans/plans_json.h"

static int axis_size(const plait_degrees *degrees, plait_axis axis)
{
    switch (axis) {
    case PLAIT_AXIS_TP:
        return degrees->tp;
    case PLAIT_AXIS_CP:
        return degrees->cp;
    case PLAIT_AXIS_DP:
        return degrees->dp;
    case PLAIT_AXIS_PP:
        return degrees->pp;
    case PLAIT_AXES:
    case PLAIT_AXIS_ETP:
    case PLAIT_AXIS_EDP:
    case PLAIT_GROUPS:
        break;
    }
    return 1;
}

/*
 * Nodes that hold ranks of a stage. Its ranks come in runs: with pp outermost one run of all of
 * them, else one of tp cp ranks for each replica, a whole pipeline apart.
 */
static int nodes_of_stage(const plait_plan *plan, int stage, int gpus_per_node)
{
    int run = 1, runs = 1, nodes = 0, last = -1;
    bool outside = false;

    for (int i = 0; i < PLAIT_AXES; i++) {
        const int size = axis_size(&plan->degrees, plan->order[i]);

        if (plan->order[i] == PLAIT_AXIS_PP)
            outside = true;
        else if (outside)
            runs *= size;
        else
            run *= size;
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

static void write_mesh(json_writer *json, const plait_problem *problem, const plait_plan *plan,
                       int stage)
{
    const plait_degrees *const degrees = &plan->stage[stage].degrees;
    const int gpus = degrees->tp * degrees->cp * degrees->dp;
    const int node = problem->cluster->group[plan->stage[stage].group].gpus_per_node;
    const int nodes = plait_plan_mixed(problem, plan) ? (gpus + node - 1) / node
                                                      : nodes_of_stage(plan, stage, node);

    json_write_key(json, "mesh");
    json_begin_row(json);
    json_write_int64(json, nodes);
    json_write_int64(json, gpus / nodes);
    json_end_array(json);

    json_write_key(json, "logical_mesh");
    json_begin_object(json);
    json_member_int64(json, "tp", degrees->tp);
    json_member_int64(json, "cp", degrees->cp);
    json_member_int64(json, "dp", degrees->dp);
    json_member_int64(json, "ep", degrees->ep);
    json_member_int64(json, "etp", degrees->etp);
    json_end_object(json);
}

/* Of a plan whose stages differ: the group, and the keys that are not the plan's. */
static void write_own(json_writer *json, const plait_problem *problem, const plait_plan *plan,
                      int s)
{
    const plait_stage *const stage = &plan->stage[s];
    char text[96];

    if (!plait_plan_mixed(problem, plan))
        return;
    json_member_int64(json, "group", stage->group);
    json_write_key(json, "degrees");
    json_begin_object(json);
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (!(PLAN_OWN_KEYS & PLAIT_KEY_BIT(key)) &&
            !plait_key_same(&stage->degrees, &plan->degrees, (plait_key_id)key))
            json_member_string(
                json, plait_keys[key].name,
                plait_degrees_get(&stage->degrees, (plait_key_id)key, text, sizeof text));
    json_end_object(json);
}

static void write_stage(json_writer *json, const plait_problem *problem, const report_plan *plan,
                        int s)
{
    const plait_stage *const stage = &plan->plan.stage[s];
    const plait_stage_cost *const cost = &plan->cost.stage[s];

    json_begin_object(json);
    json_write_key(json, "chunks");
    json_begin_array(json);
    for (int c = 0; c < stage->chunks; c++) {
        json_begin_object(json);
        plans_write_chunk(json, &stage->chunk[c]);
        json_end_object(json);
    }
    json_end_array(json);
    write_own(json, problem, &plan->plan, s);
    write_mesh(json, problem, &plan->plan, s);
    plans_write_choices(json, &plan->plan, stage);
    json_member_number(json, "memory_bytes", cost->memory_bytes);
    json_member_number(json, "forward_s", cost->forward_s);
    json_member_number(json, "backward_s", cost->backward_s);
    json_end_object(json);
}

void json_stages_write(json_writer *json, const plait_problem *problem, const report_plan *plan)
{
    json_write_key(json, "stages");
    json_begin_array(json);
    for (int s = 0; s < plan->plan.stages && s < plan->cost.stages; s++)
        write_stage(json, problem, plan, s);
    json_end_array(json);
}
