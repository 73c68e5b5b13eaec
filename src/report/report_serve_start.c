/*
 * report_serve_start.c - prints the figures of memory that an engine prints at its start: predicted
 * for a deployment, and next to those of a log
 */
#include <math.h>

#include "io/json/json_write.h"
#include "report/report_serve.h"
#include "report/report_table.h"
#include "plait/units.h"

plait_serve_start report_serve_start_of(const plait_serve_options *q, const plait_serve_plan *plan,
                                        int role)
{
    const plait_serving serving = {.model = q->model,
                                   .cluster = q->cluster,
                                   .worker = plan->worker[role],
                                   .weights = plan->weights,
                                   .kv = plan->kv,
                                   .lora_adapters = q->load.lora_adapters,
                                   .lora_rank = q->load.lora_rank};
    plait_engine engine = *plan->engine;
    const double requested = plait_load_longest(&q->load);

    if (plan->chunk_tokens > 0.0)
        engine.chunk_tokens = plan->chunk_tokens;
    return plait_serve_start_of(&serving, &engine,
                                q->max_model_len > 0.0          ? q->max_model_len
                                : q->model->max_seq > requested ? q->model->max_seq
                                                                : requested);
}

static void print_gib(const char *what, double bytes, FILE *out)
{
    fprintf(out, "    %-36s %12.2f GiB\n", what, bytes / PLAIT_GIB);
}

static void print_count(const char *what, double count, FILE *out)
{
    fprintf(out, "    %-36s %12.0f\n", what, floor(count));
}

/* Prints the figures under the names that the engine gives them in its log. */
static void print_start(plait_engine_kind kind, const plait_serve_start *start, FILE *out)
{
    switch (kind) {
    case PLAIT_ENGINE_VLLM:
        print_gib("Model loading took", start->weight_bytes, out);
        print_gib("Available KV cache memory", start->cache_bytes, out);
        print_count("GPU KV cache size, tokens", start->cache_tokens, out);
        fprintf(out, "    Maximum concurrency for %-12.0f %12.2fx\n", start->request_tokens,
                start->concurrency);
        break;
    case PLAIT_ENGINE_SGLANG:
        print_gib("Load weight end, mem usage", start->weight_bytes, out);
        print_gib("KV Cache is allocated, KV size", start->cache_bytes, out);
        print_gib("Memory pool end, avail mem", start->free_bytes, out);
        print_count("max_total_num_tokens", start->cache_tokens, out);
        print_count("context_len", start->request_tokens, out);
        break;
    case PLAIT_ENGINE_TRTLLM:
    case PLAIT_ENGINES:
        print_gib("weights", start->weight_bytes, out);
        print_gib("Allocated for the paged KV cache", start->cache_bytes, out);
        print_count("max tokens in paged KV cache", start->cache_tokens, out);
        break;
    }
}

void report_serve_start(const plait_serve_options *q, const plait_serve_plan *plan, FILE *out)
{
    const char *const engine = plait_engine_name[plan->engine->kind];

    for (int r = 0; r <= plan->disaggregated; r++) {
        const plait_serve_start start = report_serve_start_of(q, plan, r);

        fprintf(out, "\n  the log of %s at its start%s%s, for each GPU\n", engine,
                plan->disaggregated ? ", " : "",
                plan->disaggregated ? report_serve_role(plan, r) : "");
        print_start(plan->engine->kind, &start, out);
    }
}

/* Returns a figure, or NaN, which JSON has as null, for one that a log does not have. */
static double known(double figure)
{
    return figure > 0.0 ? figure : (double)NAN;
}

void json_serve_start(json_writer *json, const char *key, plait_engine_kind kind,
                      const plait_serve_start *start)
{
    json_member_object(json, key);
    JSON_NUMBERS(json, {"weights_gib", known(start->weight_bytes / PLAIT_GIB)},
                 {"cache_gib", known(start->cache_bytes / PLAIT_GIB)},
                 {"cache_tokens", known(floor(start->cache_tokens))},
                 {"max_model_len", known(start->request_tokens)},
                 {"concurrency", known(start->concurrency)});
    if (kind == PLAIT_ENGINE_VLLM)
        json_member_number(json, "activation_gib", known(start->activation_bytes / PLAIT_GIB));
    if (kind == PLAIT_ENGINE_SGLANG)
        json_member_number(json, "free_gib", known(start->free_bytes / PLAIT_GIB));
    json_end_object(json);
}

/* ---- a log ---- */

static const char *const figure_name[] = {"weights of a GPU",     "activations of the profile run",
                                          "memory for KV caches", "tokens in KV caches",
                                          "longest requests",     "free memory"};

enum { FIGURES = sizeof figure_name / sizeof *figure_name };

static void figures_of(const plait_serve_start *start, double out[FIGURES])
{
    const double figures[FIGURES] = {start->weight_bytes, start->activation_bytes,
                                     start->cache_bytes,  start->cache_tokens,
                                     start->concurrency,  start->free_bytes};

    for (int f = 0; f < FIGURES; f++)
        out[f] = figures[f];
}

static void add_figure(table *rows, int figure, double value)
{
    if (value <= 0.0)
        table_cell(rows, "-");
    else if (figure == 3)
        table_cell(rows, "%.0f", floor(value));
    else if (figure == 4)
        table_cell(rows, "%.2f", value);
    else
        table_cell(rows, "%.2f GiB", value / PLAIT_GIB);
}

plait_status report_start_log(const report_start *report, FILE *out, plait_error *err)
{
    const plait_serve_start *const is = report->predicted;
    table *rows =
        table_new(is != NULL ? "|>measured|>predicted|>predicted/measured" : "|>measured");
    double measured[FIGURES], predicted[FIGURES] = {0.0};

    figures_of(&report->measured, measured);
    if (is != NULL)
        figures_of(is, predicted);
    fprintf(out, "%s: %s", report->file, plait_engine_name[report->kind]);
    if (report->version != NULL)
        fprintf(out, " %s", report->version);
    if (report->served != NULL)
        fprintf(out, ", %s", report->served);
    fprintf(out, "\n");
    if (is != NULL)
        fprintf(out,
                "predicted for %s on %s: tp %d, pp %d, dp %d, ep %d, weights %s, KV cache %s, "
                "%.3g of the memory, %.0f tokens a step, profile %s\n",
                report->serving->model->name, report->serving->cluster->group[0].accelerator->name,
                report->serving->worker.tp, report->serving->worker.pp,
                report->serving->worker.dp_attention, report->serving->worker.ep,
                plait_weight_name[report->serving->weights], plait_kv_name[report->serving->kv],
                report->engine->memory_fraction, report->engine->chunk_tokens,
                report->engine->name);
    fprintf(out, "\n");
    for (int f = 0; f < FIGURES; f++) {
        if (measured[f] <= 0.0)
            continue;
        if (f == 4 && report->measured.request_tokens > 0.0)
            table_cell(rows, "requests of %.0f tokens", report->measured.request_tokens);
        else
            table_cell(rows, "%s", figure_name[f]);
        add_figure(rows, f, measured[f]);
        if (is == NULL)
            continue;
        add_figure(rows, f, predicted[f]);
        if (predicted[f] > 0.0)
            table_cell(rows, "%.3f", predicted[f] / measured[f]);
        else
            table_cell(rows, "-");
    }
    PLAIT_TRY(table_print(rows, 2, out, err));
    if (is == NULL)
        fprintf(out, "\n%s\n", report->missing);
    return PLAIT_OK;
}

void json_start_log(json_writer *json, const report_start *report)
{
    json_member_version(json);
    JSON_STRINGS(json, {"engine", plait_engine_name[report->kind]}, {"version", report->version},
                 {"served", report->served});
    json_serve_start(json, "measured", report->kind, &report->measured);
    if (report->predicted == NULL)
        return;
    JSON_STRINGS(json, {"model", report->serving->model->name},
                 {"accelerator", report->serving->cluster->group[0].accelerator->name},
                 {"profile", report->engine->name},
                 {"weights", plait_weight_name[report->serving->weights]},
                 {"kv", plait_kv_name[report->serving->kv]});
    JSON_NUMBER_OBJECT(json, "worker", {"tp", report->serving->worker.tp},
                       {"pp", report->serving->worker.pp}, {"ep", report->serving->worker.ep},
                       {"dp_attention", report->serving->worker.dp_attention});
    json_member_number(json, "memory_fraction", report->engine->memory_fraction);
    json_serve_start(json, "predicted", report->kind, report->predicted);
}
