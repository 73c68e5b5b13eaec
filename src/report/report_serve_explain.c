/*
 * report_serve_explain.c - prints the communication of a deployment, and a comparison of two
 * deployments
 */
#include <math.h>

#include "plait/serve.h"
#include "report/report_serve.h"
#include "report/report_table.h"
#include "report/units.h"

plait_status report_serve_volume(const report_serve *report, const plait_serve_plan *plan,
                                 FILE *out, plait_error *err)
{
    const plait_load *load = &report->question->load;
    const plait_worker w = plan->worker[plan->disaggregated];
    plait_serve_volume volume;
    char a[UNITS_SIZE];

    if (w.tp * w.pp == 1)
        return PLAIT_OK;
    PLAIT_TRY(plait_serve_volume_of(report->question->model,
                                    (plait_serve_request){.sequences = 1,
                                                          .prompt_tokens = (int)load->input,
                                                          .output_tokens = (int)load->output,
                                                          .tp = w.tp,
                                                          .pp = w.pp,
                                                          .element_bytes = 2.0},
                                    &volume, err));
    table *rows = table_new("pass|call|>per stage|>all stages|>shape|>message|>as published|"
                            ">one GPU|>all GPUs");
    for (int p = 0; p < PLAIT_SERVE_PHASES; p++)
        for (int c = 0; c < PLAIT_SERVE_CALLS; c++) {
            const plait_serve_line *const line = &volume.line[p][c];

            if (line->count == 0)
                continue;
            TABLE_ROW(rows, as_text(plait_serve_phase_name[p]), as_text(plait_serve_call_what[c]));
            table_cell(rows, "%lld", (long long)line->count);
            table_cell(rows, "%lld", (long long)line->all_count);
            table_cell(rows, "%lld x %lld", (long long)line->rows, (long long)line->columns);
            table_cell(rows, "%s", units_bytes(line->message_bytes, a));
            for (int b = 0; b < PLAIT_SERVE_COUNTINGS; b++)
                table_cell(rows, "%s", units_bytes(line->bytes[b], a));
        }
    table_cell(rows, "total");
    for (int c = 0; c < 5; c++)
        table_cell(rows, "%s", "");
    for (int c = 0; c < PLAIT_SERVE_COUNTINGS; c++)
        table_cell(rows, "%s", units_bytes(volume.bytes[c], a));
    fprintf(out, "\nCommunication of tp %d pp %d for one request (C.355, C.356)\n", w.tp, w.pp);
    return table_print(rows, 2, out, err);
}

static void add_pair(table *rows, const char *what, double a, double b, const char *format)
{
    table_cell(rows, "%s", what);
    table_cell(rows, format, a);
    table_cell(rows, format, b);
    if (a > 0.0 && b > 0.0)
        table_cell(rows, "%+.1f %%", 100.0 * (b / a - 1.0));
    else
        table_cell(rows, "%s", "-");
}

plait_status report_serve_versus(const report_serve *report, const plait_serve_plan *best,
                                 const char *name, const plait_serve_plan *other, FILE *out,
                                 plait_error *err)
{
    table *rows = table_new("|>this|>that|>change");
    char a[160], b[160], what[64];

    (void)report;
    report_serve_pools(best, a);
    report_serve_pools(other, b);
    fprintf(
        out,
        "\nthis: %s, %s, replicas %d, weights %s, KV cache %s\nthat: %s, %s, replicas %d, weights "
        "%s, KV cache %s "
        "(%s)\n\n",
        plait_engine_name[best->engine->kind], a, best->replicas, plait_weight_name[best->weights],
        plait_kv_name[best->kv], plait_engine_name[other->engine->kind], b, other->replicas,
        plait_weight_name[other->weights], plait_kv_name[other->kv], name);
    add_pair(rows, "GPUs", best->gpus, other->gpus, "%.0f");
    add_pair(rows, "time to first token, ms", best->service.ttft_s * 1e3,
             other->service.ttft_s * 1e3, "%.1f");
    add_pair(rows, "mean wait, ms", best->service.queue_s * 1e3, other->service.queue_s * 1e3,
             "%.1f");
    add_pair(rows, "time per output token, ms", best->service.tpot_s * 1e3,
             other->service.tpot_s * 1e3, "%.1f");
    add_pair(rows, "end to end, ms", best->service.e2e_s * 1e3, other->service.e2e_s * 1e3, "%.0f");
    add_pair(rows, "output tokens/s", best->service.output_tokens_per_s,
             other->service.output_tokens_per_s, "%.0f");
    add_pair(rows, "output tokens/s per GPU", best->tokens_per_s_gpu, other->tokens_per_s_gpu,
             "%.1f");
    if (!isnan(best->usd_per_mtok) && !isnan(other->usd_per_mtok))
        add_pair(rows, "USD/million tokens", best->usd_per_mtok, other->usd_per_mtok, "%.2f");
    if (!isnan(best->joules_per_tok) && !isnan(other->joules_per_tok))
        add_pair(rows, "joules per token", best->joules_per_tok, other->joules_per_tok, "%.2f");
    add_pair(rows, "running requests per worker", best->service.batch, other->service.batch,
             "%.0f");
    for (int p = 0; p < PLAIT_STEP_PARTS; p++)
        if (best->service.parts[p] > 0.0 || other->service.parts[p] > 0.0) {
            snprintf(what, sizeof what, "decode step: %s, ms", plait_step_part_name[p]);
            add_pair(rows, what, best->service.parts[p] * 1e3, other->service.parts[p] * 1e3,
                     "%.2f");
        }
    PLAIT_TRY(table_print(rows, 2, out, err));
    fprintf(out, "\nthis deployment is bound by %s, that one by %s\n",
            plait_serve_bind_name[best->service.binds],
            plait_serve_bind_name[other->service.binds]);
    return PLAIT_OK;
}
