/* report_operators.c - each operator's cut and costs, for people */
#include "report/report_operators.h"

#include <string.h>

#include "report/report_table.h"
#include "report/units.h"

static void print_question(const report_operators *report, FILE *out)
{
    const plait_operators_result *const result = report->result;
    const plait_job *const job = &report->problem->job;
    const plait_mesh *const mesh = &report->options->mesh;

    fprintf(out, "%s, %d layers \"%s\", on %s, mesh ", report->problem->model->name, result->layers,
            report->problem->model->kind[result->kind].name, report->problem->cluster->name);
    for (int a = 0; a < mesh->axes; a++)
        fprintf(out, "%s%d", a > 0 ? "x" : "", mesh->size[a]);
    fprintf(out,
            "; %d sequences of %d tokens a step, %d microbatch%s, %.0f tokens a rank of each\n",
            job->gbs, job->seq, report->options->microbatches,
            report->options->microbatches > 1 ? "es" : "",
            plait_job_tokens(job) / report->options->microbatches / job->gpus);
}

/* ---- the plan ---- */

static plait_status print_operators(const plait_operators_plan *plan, FILE *out, plait_error *err)
{
    static const table_column columns[] = {
        {"operator", TABLE_LEFT}, {"spec", TABLE_LEFT},      {"weight", TABLE_LEFT},
        {"forward", TABLE_RIGHT}, {"backward", TABLE_RIGHT}, {"inside", TABLE_RIGHT},
        {"a step", TABLE_RIGHT},  {"state", TABLE_RIGHT},    {"kept", TABLE_RIGHT}};
    table *rows = table_new(columns, 9);
    char text[UNITS_SIZE];

    for (int i = 0; i < plan->operators; i++) {
        const plait_operator *const op = &plan->op[i];

        table_cell(rows, "%s", op->name);
        table_cell(rows, "%s", op->spec);
        table_cell(rows, "%s", op->has_weight ? plait_weight_home_name[op->home] : "");
        table_cell(rows, "%s", units_seconds(op->forward_s, text));
        table_cell(rows, "%s", units_seconds(op->backward_s, text));
        table_cell(rows, "%s", op->inside_s > 0.0 ? units_seconds(op->inside_s, text) : "");
        table_cell(rows, "%s", op->sync_s > 0.0 ? units_seconds(op->sync_s, text) : "");
        table_cell(rows, "%s", op->state_bytes > 0.0 ? units_bytes(op->state_bytes, text) : "");
        table_cell(rows, "%s", op->kept_bytes > 0.0 ? units_bytes(op->kept_bytes, text) : "");
    }
    return table_print(rows, 2, out, err);
}

static plait_status print_edges(const plait_operators_plan *plan, FILE *out, plait_error *err)
{
    static const table_column columns[] = {{"from", TABLE_LEFT},     {"to", TABLE_LEFT},
                                           {"forward", TABLE_LEFT},  {"", TABLE_RIGHT},
                                           {"backward", TABLE_LEFT}, {"", TABLE_RIGHT}};
    table *rows = table_new(columns, 6);
    char text[UNITS_SIZE];

    for (int i = 0; i < plan->edges; i++) {
        const plait_operator_edge *const edge = &plan->edge[i];

        if (edge->forward[0] == '\0' && edge->backward[0] == '\0')
            continue;
        table_cell(rows, "%s", plan->op[edge->from].name);
        table_cell(rows, "%s", plan->op[edge->to].name);
        table_cell(rows, "%s", edge->forward);
        table_cell(rows, "%s", edge->forward[0] ? units_seconds(edge->forward_s, text) : "");
        table_cell(rows, "%s", edge->backward);
        table_cell(rows, "%s", edge->backward[0] ? units_seconds(edge->backward_s, text) : "");
    }
    return table_print(rows, 2, out, err);
}

static plait_status print_plan(const plait_operators_plan *plan, FILE *out, plait_error *err)
{
    char forward[UNITS_SIZE], backward[UNITS_SIZE], comm[UNITS_SIZE], sync[UNITS_SIZE];

    fprintf(out, "\n");
    PLAIT_TRY(print_operators(plan, out, err));
    fprintf(out, "\nbetween them\n");
    PLAIT_TRY(print_edges(plan, out, err));
    fprintf(out,
            "\none layer and microbatch: forward %s, backward %s, exposed communication %s; "
            "once a step %s\n",
            units_seconds(plan->forward_s, forward), units_seconds(plan->backward_s, backward),
            units_seconds(plan->comm_s, comm), units_seconds(plan->sync_s, sync));
    return PLAIT_OK;
}

/* ---- the verdict ---- */

static void print_best(const plait_operators_result *result, FILE *out)
{
    const plait_operators_plan *const best = &result->best;
    char step[UNITS_SIZE], bytes[UNITS_SIZE], limit[UNITS_SIZE], gap[UNITS_SIZE];

    fprintf(out, "best: %s%s%s for all layers, %s of %s; ", best->name,
            best->name[0] != '\0' ? ": " : "", units_seconds(best->step_s, step),
            units_gib(best->bytes, bytes), units_gib(result->limit_bytes, limit));
    if (result->proven)
        fprintf(out, "proven\n");
    else
        fprintf(out, "at most %s from the optimum\n",
                units_percent(1.0 - result->lower_s / best->step_s, gap));
}

static void print_named(const plait_operators_result *result, FILE *out)
{
    const plait_operators_plan *const named = &result->named;
    char step[UNITS_SIZE], more[UNITS_SIZE];

    if (named->step_s <= 0.0)
        fprintf(out, "no layout that has a name fits\n");
    else if (result->best.name[0] == '\0')
        fprintf(out, "best that has a name: %s: %s, %s slower\n", named->name,
                units_seconds(named->step_s, step),
                units_percent(named->step_s / result->best.step_s - 1.0, more));
}

static void print_lack(const plait_operators_result *result, FILE *out)
{
    const plait_operators_plan *const best = &result->best;
    const bool state = best->state_bytes >= best->kept_bytes;
    char limit[UNITS_SIZE], needed[UNITS_SIZE], most[UNITS_SIZE];

    fprintf(out, "nothing fits in %s: every assignment needs %s at least, of which %s takes %s; ",
            units_gib(result->limit_bytes, limit), units_gib(result->needed_bytes, needed),
            state ? "the state of weights" : "what is kept for backward",
            units_gib(state ? best->state_bytes : best->kept_bytes, most));
    fprintf(out, "--memory %.2f would suffice\n",
            (double)(int64_t)(result->needed_bytes / 1073741824.0 * 100.0 + 1.0) / 100.0);
}

plait_status report_operators_print(const report_operators *report, FILE *out, plait_error *err)
{
    print_question(report, out);
    if (report->result->verdict != PLAIT_FITS) {
        print_lack(report->result, out);
        return PLAIT_OK;
    }
    print_best(report->result, out);
    print_named(report->result, out);
    return print_plan(&report->result->best, out, err);
}
