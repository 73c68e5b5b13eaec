/* json_serve.c - writes the document of `plait serve --json` */
#include "report/report_serve.h"

#include <math.h>

#include "io/json/json_write.h"
#include "plan/serve_values.h"
#include "plait/units.h"

static void write_plan(json_writer *json, const plait_serve_options *q, const plait_serve_plan *p,
                       int rank)
{
    const plait_service *s = &p->service;
    const plait_engine *e = p->engine;
    plait_step_origin origin[PLAIT_STEP_PARTS];

    json_begin_object(json);
    json_member_int64(json, "rank", rank);
    JSON_STRINGS(json, {"engine", plait_engine_name[e->kind]}, {"profile", e->name},
                 {"mode", p->disaggregated ? "disaggregated" : "aggregated"});
    json_member_int64(json, "replicas", p->replicas);
    if (q->load.kind == PLAIT_LOAD_CLOSED && q->load.concurrency <= 0.0 && p->gpus > 0)
        json_member_int64(json, "replicas_that_fit", q->gpus / p->gpus);
    json_member_int64(json, "gpus", p->gpus);
    json_member_object(json, "workers");
    for (int r = 0; r <= p->disaggregated; r++) {
        JSON_NUMBER_OBJECT(json, report_serve_role(p, r), {"count", p->count[r]},
                           {"tp", p->worker[r].tp}, {"pp", p->worker[r].pp},
                           {"ep", p->worker[r].ep}, {"dp_attention", p->worker[r].dp_attention},
                           {"batch", p->batch_cap}, {"chunk_tokens", p->chunk_tokens},
                           {"kv_tokens", floor(p->kv_tokens[r])});
    }
    json_end_object(json);
    json_member_object(json, "start");
    for (int r = 0; r <= p->disaggregated; r++) {
        const plait_serve_start start = report_serve_start_of(q, p, r);

        json_serve_start(json, report_serve_role(p, r), e->kind, &start);
    }
    json_end_object(json);
    JSON_STRINGS(json, {"weights", plait_weight_name[p->weights]}, {"kv", plait_kv_name[p->kv]});
    JSON_NUMBERS(json, {"memory_fraction", e->memory_fraction}, {"max_num_seqs", e->max_sequences});
    if (e->host_cache_bytes > 0.0)
        json_member_number(json, "cache_cpu_gib", e->host_cache_bytes / PLAIT_GIB);
    if (e->two_batch_overlap)
        json_member_bool(json, "two_batch_overlap", true);
    JSON_STRINGS(json, {"evidence", plait_serve_evidence_name[e->evidence]});
    json_member_int64(json, "evidence_runs", e->bands[e->evidence].runs);
    json_member_bool(json, "simulated", p->simulated);
    JSON_NUMBERS(json, {"concurrency", p->concurrency}, {"running", s->batch},
                 {"ttft_ms", s->ttft_s * 1e3},
                 {"ttft_low_ms", s->ttft_s * 1e3 * e->band[PLAIT_SERVE_TTFT][0]},
                 {"ttft_high_ms", s->ttft_s * 1e3 * e->band[PLAIT_SERVE_TTFT][1]},
                 {"ttft_p95_ms", p->ttft_p95_s * 1e3}, {"ttft_p99_ms", p->ttft_p99_s * 1e3},
                 {"tpot_ms", s->tpot_s * 1e3},
                 {"tpot_low_ms", s->tpot_s * 1e3 * e->band[PLAIT_SERVE_TPOT][0]},
                 {"tpot_high_ms", s->tpot_s * 1e3 * e->band[PLAIT_SERVE_TPOT][1]},
                 {"tpot_p95_ms", p->tpot_p95_s * 1e3}, {"tpot_p99_ms", p->tpot_p99_s * 1e3},
                 {"e2e_ms", s->e2e_s * 1e3}, {"out_tok_s", s->output_tokens_per_s},
                 {"out_tok_s_gpu", p->tokens_per_s_gpu}, {"usd_per_mtok", p->usd_per_mtok},
                 {"joules_per_tok", p->joules_per_tok});
    json_member_string(json, "binds", plait_serve_bind_name[s->binds]);
    json_member_object(json, "step_ms");
    for (int i = 0; i < PLAIT_STEP_PARTS; i++)
        json_member_number(json, plait_step_part_name[i], s->parts[i] * 1e3);
    json_end_object(json);
    report_serve_origins(q, p, origin);
    json_member_object(json, "step_origin");
    for (int i = 0; i < PLAIT_STEP_PARTS; i++) {
        json_member_object(json, plait_step_part_name[i]);
        JSON_STRINGS(json, {"hardware", plait_origin_name[origin[i].hardware]},
                     {"engine", plait_origin_name[origin[i].engine]});
        json_end_object(json);
    }
    json_end_object(json);
    json_end_object(json);
}

static void write_length(json_writer *json, const char *key, const plait_length_stats *length)
{
    JSON_NUMBER_OBJECT(json, key, {"p50", length->p50}, {"p90", length->p90}, {"p99", length->p99},
                       {"max", length->max});
}

void json_serve_lengths(json_writer *json, const plait_load *load)
{
    if (load->lengths == NULL)
        return;
    json_member_object(json, "lengths");
    write_length(json, "input", &load->lengths->input);
    write_length(json, "output", &load->lengths->output);
    json_member_number(json, "longest", load->lengths->longest);
    json_end_object(json);
}

static void write_job(json_writer *json, const plait_serve_options *q)
{
    json_member_object(json, "job");
    JSON_NUMBERS(json, {"input", q->load.input}, {"output", q->load.output},
                 {"prefix_cached", q->load.cached});
    json_serve_lengths(json, &q->load);
    if (q->load.kind == PLAIT_LOAD_RATE)
        json_member_number(json, "rate", q->load.rate);
    else if (q->load.concurrency > 0.0)
        json_member_number(json, "concurrency", q->load.concurrency);
#define X(flag, name)                                                                              \
    json_member_number(json, #name "_ms", q->name##_s > 0.0 ? q->name##_s * 1e3 : (double)NAN);
    PLAIT_SERVE_LIMIT_LIST(X)
#undef X
    if (q->engine[0]->confidence > 0.0)
        json_member_number(json, "confidence", q->engine[0]->confidence);
    json_member_int64(json, "gpus", q->gpus);
    if (q->max_model_len > 0.0)
        json_member_number(json, "max_model_len", q->max_model_len);
    if (serve_redundant(q->model) > 0)
        json_member_int64(json, "redundant_experts", serve_redundant(q->model));
    if (q->load.lora_adapters > 0) {
        JSON_NUMBER_OBJECT(json, "lora", {"adapters", q->load.lora_adapters},
                           {"rank", q->load.lora_rank});
    }
    if (q->load.draft > 0) {
        JSON_NUMBER_OBJECT(json, "speculate", {"tokens", q->load.draft},
                           {"accept", q->load.accept});
    }
    json_end_object(json);
}

static void write_seen(json_writer *json, const char *key, const plait_latency_stats *seen)
{
    JSON_NUMBER_OBJECT(json, key, {"mean", seen->mean_s * 1e3}, {"p50", seen->p50_s * 1e3},
                       {"p95", seen->p95_s * 1e3}, {"p99", seen->p99_s * 1e3});
}

/* Returns whether the deployment, or each deployment that was searched, is overloaded. */
static bool is_saturated(const report_serve *report, const plait_serve_plan *best)
{
    if (best == NULL)
        return !report->answer->has_nearest;
    return report->why != NULL ? !best->service.stable : best->simulated && best->drawn.full;
}

void json_serve(json_writer *json, const report_serve *report)
{
    const plait_serve_options *q = report->question;
    const plait_serve_answer *answer = report->answer;
    const plait_serve_plan *best = answer == NULL      ? report->plan
                                   : answer->plans > 0 ? &answer->plan[0]
                                                       : NULL;

    json_member_version(json);
    JSON_STRINGS(json, {"model", q->model->name}, {"cluster", q->cluster->name},
                 {"model_file", report->model_file}, {"cluster_file", report->cluster_file});
    write_job(json, q);
    if (answer != NULL) {
        json_member_object(json, "search");
        json_member_bool(json, "exact", true);
        json_member_int64(json, "workers", answer->workers);
        json_member_int64(json, "priced", answer->looked);
        json_member_int64(json, "simulations", answer->simulations);
        json_member_object(json, "rejected");
        for (int r = 0; r < PLAIT_SERVE_REJECTS; r++)
            json_member_int64(json, plait_serve_reject_name[r], answer->rejected[r]);
        json_end_object(json);
        json_end_object(json);
    }
    json_member_array(json, "plans");
    if (answer == NULL && report->why == NULL)
        write_plan(json, q, report->plan, 1);
    for (int i = 0; answer != NULL && i < answer->plans; i++)
        write_plan(json, q, &answer->plan[i], i + 1);
    json_end_array(json);
    if (report->why != NULL)
        json_member_string(json, "why", report->why);
    if (report->missed != NULL)
        json_member_string(json, "why", report->missed);
    else if (report->lacks != NULL)
        json_member_string(json, "why", report->lacks);
    if (best != NULL && best->simulated && best->drawn.requests > 0) {
        json_member_object(json, "simulated");
        JSON_NUMBERS(json, {"rank", 1}, {"requests", best->drawn.requests},
                     {"preempted", best->drawn.preempted});
        json_member_bool(json, "stopped", best->drawn.stopped);
        json_member_bool(json, "saturated", best->drawn.full);
        json_member_number(json, "carried", best->drawn.carried);
        write_seen(json, "ttft_ms", &best->drawn.ttft);
        write_seen(json, "tpot_ms", &best->drawn.tpot);
        write_seen(json, "e2e_ms", &best->drawn.e2e);
        json_member_number(json, "out_tok_s", best->drawn.output_tokens_per_s);
        json_end_object(json);
    }
    if (report->curve != NULL) {
        json_member_array(json, "load_curve");
        for (int i = 0; i < PLAIT_SERVE_CURVE; i++) {
            const plait_serve_point *const point = &report->curve->point[i];

            json_begin_object(json);
            JSON_NUMBERS(json, {"load", point->load}, {"rate", point->rate},
                         {"ttft_ms", point->ttft_s * 1e3}, {"ttft_p99_ms", point->ttft_p99_s * 1e3},
                         {"tpot_ms", point->tpot_s * 1e3}, {"running", point->running},
                         {"out_tok_s", point->output_tokens_per_s});
            json_end_object(json);
        }
        json_end_array(json);
    }
    json_member_array(json, "front");
    for (int i = 0; answer != NULL && i < answer->front; i++)
        write_plan(json, q, &answer->at_front[i], i + 1);
    json_end_array(json);
    if (answer != NULL && answer->plans == 0 && answer->has_nearest) {
        json_write_key(json, "nearest");
        write_plan(json, q, &answer->nearest, 0);
    }
    if (q->load.kind == PLAIT_LOAD_RATE)
        json_member_bool(json, "saturated", is_saturated(report, best));
    if (report->reach != NULL && answer != NULL && answer->plans == 0 &&
        q->load.kind == PLAIT_LOAD_RATE) {
        JSON_NUMBER_OBJECT(json, "reach",
                           {"rate", report->reach->rate > 0.0 ? report->reach->rate : (double)NAN},
                           {"gpus", report->reach->gpus > 0 ? report->reach->gpus : (double)NAN});
    }
}
