/* json_operators.c - the document of `plait operators --json` */
#include "io/json/json_write.h"
#include "io/plans/plans_json.h"
#include "report/report_operators.h"

static void write_mesh(json_writer *json, const plait_mesh *mesh)
{
    json_write_key(json, "mesh");
    json_begin_row(json);
    for (int a = 0; a < mesh->axes; a++)
        json_write_int64(json, mesh->size[a]);
    json_end_array(json);
}

static void write_operator(json_writer *json, const plait_operator *op, int axes)
{
    json_begin_object(json);
    json_member_string(json, "operator", op->name);
    json_member_string(json, "part", plait_part_name[op->part]);
    json_member_string(json, "spec", op->spec);
    json_write_key(json, "axes");
    json_begin_row(json);
    for (int a = 0; a < axes; a++)
        json_write_string(json, plait_use_name[op->use[a]]);
    json_end_array(json);
    json_member_string(json, "weight", op->has_weight ? plait_weight_home_name[op->home] : NULL);
    json_member_number(json, "forward_s", op->forward_s);
    json_member_number(json, "backward_s", op->backward_s);
    json_member_number(json, "inside_s", op->inside_s);
    json_member_number(json, "sync_s", op->sync_s);
    json_member_number(json, "state_bytes", op->state_bytes);
    json_member_number(json, "kept_bytes", op->kept_bytes);
    json_end_object(json);
}

static void write_edge(json_writer *json, const plait_operators_plan *plan,
                       const plait_operator_edge *edge)
{
    if (edge->forward[0] == '\0' && edge->backward[0] == '\0')
        return;
    json_begin_object(json);
    json_member_string(json, "from", plan->op[edge->from].name);
    json_member_string(json, "to", plan->op[edge->to].name);
    json_member_string(json, "forward", edge->forward);
    json_member_number(json, "forward_s", edge->forward_s);
    json_member_string(json, "backward", edge->backward);
    json_member_number(json, "backward_s", edge->backward_s);
    json_end_object(json);
}

static void write_plan(json_writer *json, const char *key, const plait_operators_plan *plan,
                       int axes)
{
    json_write_key(json, key);
    if (plan->operators == 0) {
        json_write_null(json);
        return;
    }
    json_begin_object(json);
    json_member_string(json, "name", plan->name[0] != '\0' ? plan->name : NULL);
    json_member_number(json, "step_s", plan->step_s);
    json_member_number(json, "forward_s", plan->forward_s);
    json_member_number(json, "backward_s", plan->backward_s);
    json_member_number(json, "communication_s", plan->comm_s);
    json_member_number(json, "sync_s", plan->sync_s);
    json_member_number(json, "state_bytes", plan->state_bytes);
    json_member_number(json, "kept_bytes", plan->kept_bytes);
    json_member_number(json, "bytes", plan->bytes);
    json_write_key(json, "operators");
    json_begin_array(json);
    for (int i = 0; i < plan->operators; i++)
        write_operator(json, &plan->op[i], axes);
    json_end_array(json);
    json_write_key(json, "edges");
    json_begin_array(json);
    for (int i = 0; i < plan->edges; i++)
        write_edge(json, plan, &plan->edge[i]);
    json_end_array(json);
    json_end_object(json);
}

plait_status json_operators(const report_operators *report, plait_arena *arena, const char **text,
                            size_t *length, plait_error *err)
{
    const plait_operators_result *const result = report->result;
    const int axes = report->options->mesh.axes;
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    plans_write_question(&json, report->problem);
    write_mesh(&json, &report->options->mesh);
    json_member_string(&json, "kind", report->problem->model->kind[result->kind].name);
    json_member_int64(&json, "layers", result->layers);
    json_member_int64(&json, "microbatches", report->options->microbatches);
    json_member_string(&json, "verdict", plait_verdict_name[result->verdict]);
    json_member_number(&json, "limit_bytes", result->limit_bytes);
    json_member_number(&json, "needed_bytes", result->needed_bytes);
    json_member_string(&json, "proof", result->proven ? "optimal" : "gap");
    json_member_number(&json, "lower_s", result->lower_s);
    json_member_int64(&json, "strategies", result->strategies);
    json_member_int64(&json, "labels", result->labels);
    write_plan(&json, "best", &result->best, axes);
    write_plan(&json, "named", &result->named, axes);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
