/* report_operators.c - prints the layout and the costs of each operator, as text and as JSON */
#include "report/report_answers.h"

#include "io/json/json_write.h"
#include "io/plans/plans_json.h"
#include "report/report_table.h"
#include "report/units.h"

/* ---- the plan ---- */

static plait_status print_operators(const plait_operators_plan *plan, FILE *out, plait_error *err)
{
    table *rows = table_new("operator|spec|weight|>forward|>backward|>comm|>per step|"
                            ">state|>activations");

    for (int i = 0; i < plan->operators; i++) {
        const plait_operator *const op = &plan->op[i];

        TABLE_ROW(rows, as_text(op->name), as_text(op->spec),
                  as_text(op->has_weight ? plait_weight_home_name[op->home] : ""),
                  as_seconds(op->forward_s), as_seconds(op->backward_s),
                  op->inside_s > 0.0 ? as_seconds(op->inside_s) : as_text(""),
                  op->sync_s > 0.0 ? as_seconds(op->sync_s) : as_text(""),
                  op->state_bytes > 0.0 ? as_bytes(op->state_bytes) : as_text(""),
                  op->kept_bytes > 0.0 ? as_bytes(op->kept_bytes) : as_text(""));
    }
    return table_print(rows, 2, out, err);
}

/* ---- the report ---- */

plait_status report_operators_print(const report_operators *report, FILE *out, plait_error *err)
{
    const plait_operators_result *const result = report->result;
    const plait_operators_plan *const best = &result->best, *const named = &result->named;
    const plait_job *const job = &report->problem->job;
    const plait_mesh *const mesh = &report->options->mesh;
    char step[UNITS_SIZE], bytes[UNITS_SIZE], limit[UNITS_SIZE], share[UNITS_SIZE];
    char forward[UNITS_SIZE], backward[UNITS_SIZE], comm[UNITS_SIZE], sync[UNITS_SIZE];

    fprintf(out, "%s, %d layers \"%s\", on %s, mesh ", report->problem->model->name, result->layers,
            report->problem->model->kind[result->kind].name, report->problem->cluster->name);
    for (int a = 0; a < mesh->axes; a++)
        fprintf(out, "%s%d", a > 0 ? "x" : "", mesh->size[a]);
    fprintf(out,
            "; %d sequences of %d tokens a step, %d microbatch%s, %.0f tokens per rank and "
            "microbatch\n",
            job->gbs, job->seq, report->options->microbatches,
            report->options->microbatches > 1 ? "es" : "",
            plait_job_tokens(job) / report->options->microbatches / job->gpus);
    if (result->verdict != PLAIT_FITS) {
        const bool state = best->state_bytes >= best->kept_bytes;

        fprintf(out, "no layout fits in %s: the smallest needs %s, of which %s %s; ",
                units_gib(result->limit_bytes, limit), units_gib(result->needed_bytes, bytes),
                state ? "model state takes" : "activations kept for backward take",
                units_gib(state ? best->state_bytes : best->kept_bytes, step));
        fprintf(out, "--memory %.2f is enough\n",
                (double)(int64_t)(result->needed_bytes / 1073741824.0 * 100.0 + 1.0) / 100.0);
        return PLAIT_OK;
    }
    fprintf(out, "best: %s%s%s for all layers, %s of %s; ", best->name,
            best->name[0] != '\0' ? ": " : "", units_seconds(best->step_s, step),
            units_gib(best->bytes, bytes), units_gib(result->limit_bytes, limit));
    if (result->proven)
        fprintf(out, "proven\n");
    else
        fprintf(out, "at most %s from the optimum\n",
                units_percent(1.0 - result->lower_s / best->step_s, share));
    if (named->step_s <= 0.0)
        fprintf(out, "no named layout fits\n");
    else if (best->name[0] == '\0')
        fprintf(out, "best named layout: %s: %s, %s slower\n", named->name,
                units_seconds(named->step_s, step),
                units_percent(named->step_s / best->step_s - 1.0, share));
    fprintf(out, "\n");
    PLAIT_TRY(print_operators(best, out, err));
    fprintf(out, "\ncommunication between operators\n");
    table *edges = table_new("from|to|forward|>|backward|>");
    for (int i = 0; i < best->edges; i++) {
        const plait_operator_edge *const edge = &best->edge[i];

        if (edge->forward[0] == '\0' && edge->backward[0] == '\0')
            continue;
        TABLE_ROW(edges, as_text(best->op[edge->from].name), as_text(best->op[edge->to].name),
                  as_text(edge->forward),
                  edge->forward[0] ? as_seconds(edge->forward_s) : as_text(""),
                  as_text(edge->backward),
                  edge->backward[0] ? as_seconds(edge->backward_s) : as_text(""));
    }
    PLAIT_TRY(table_print(edges, 2, out, err));
    fprintf(out,
            "\nper layer and microbatch: forward %s, backward %s, exposed communication %s; "
            "per layer and step: gradient reduction and optimizer step %s\n",
            units_seconds(best->forward_s, forward), units_seconds(best->backward_s, backward),
            units_seconds(best->comm_s, comm), units_seconds(best->sync_s, sync));
    return PLAIT_OK;
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
    JSON_NUMBERS(json, {"step_s", plan->step_s}, {"forward_s", plan->forward_s},
                 {"backward_s", plan->backward_s}, {"communication_s", plan->comm_s},
                 {"sync_s", plan->sync_s}, {"state_bytes", plan->state_bytes},
                 {"kept_bytes", plan->kept_bytes}, {"bytes", plan->bytes});
    json_member_array(json, "operators");
    for (int i = 0; i < plan->operators; i++) {
        json_begin_object(json);
        JSON_STRINGS(json, {"operator", plan->op[i].name},
                     {"part", plait_part_name[plan->op[i].part]}, {"spec", plan->op[i].spec});
        json_member_row(json, "axes");
        for (int a = 0; a < axes; a++)
            json_write_string(json, plait_use_name[plan->op[i].use[a]]);
        json_end_array(json);
        json_member_string(json, "weight",
                           plan->op[i].has_weight ? plait_weight_home_name[plan->op[i].home]
                                                  : NULL);
        JSON_NUMBERS(json, {"forward_s", plan->op[i].forward_s},
                     {"backward_s", plan->op[i].backward_s}, {"inside_s", plan->op[i].inside_s},
                     {"sync_s", plan->op[i].sync_s}, {"state_bytes", plan->op[i].state_bytes},
                     {"kept_bytes", plan->op[i].kept_bytes});
        json_end_object(json);
    }
    json_end_array(json);
    json_member_array(json, "edges");
    for (int i = 0; i < plan->edges; i++) {
        const plait_operator_edge *const edge = &plan->edge[i];

        if (edge->forward[0] != '\0' || edge->backward[0] != '\0') {
            json_begin_object(json);
            JSON_STRINGS(json, {"from", plan->op[edge->from].name}, {"to", plan->op[edge->to].name},
                         {"forward", edge->forward});
            json_member_number(json, "forward_s", edge->forward_s);
            json_member_string(json, "backward", edge->backward);
            json_member_number(json, "backward_s", edge->backward_s);
            json_end_object(json);
        }
    }
    json_end_array(json);
    json_end_object(json);
}

void json_operators(json_writer *json, const report_operators *report)
{
    const plait_operators_result *const result = report->result;
    const int axes = report->options->mesh.axes;

    plans_write_question(json, report->problem);
    json_member_row(json, "mesh");
    for (int a = 0; a < report->options->mesh.axes; a++)
        json_write_int64(json, report->options->mesh.size[a]);
    json_end_array(json);
    json_member_string(json, "kind", report->problem->model->kind[result->kind].name);
    JSON_NUMBERS(json, {"layers", result->layers}, {"microbatches", report->options->microbatches});
    json_member_string(json, "verdict", plait_verdict_name[result->verdict]);
    JSON_NUMBERS(json, {"limit_bytes", result->limit_bytes},
                 {"needed_bytes", result->needed_bytes});
    json_member_string(json, "proof", result->proven ? "optimal" : "gap");
    json_member_number(json, "lower_s", result->lower_s);
    json_member_int64(json, "strategies", result->strategies);
    json_member_int64(json, "labels", result->labels);
    write_plan(json, "best", &result->best, axes);
    write_plan(json, "named", &result->named, axes);
}
