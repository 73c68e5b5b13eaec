/* report_serve.c - prints deployments: the ranking, every term of one, the front */
#include "report/report_serve.h"

#include <math.h>

#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

const char *report_serve_role(const plait_serve_plan *plan, int role)
{
    return !plan->disaggregated ? "aggregated" : role == 0 ? "prefill" : "decode";
}

static const char *mode_of(const plait_serve_plan *plan)
{
    return plan->disaggregated ? "disaggregated" : "aggregated";
}

void report_serve_workers(const plait_serve_plan *plan, int role, char text[64])
{
    const plait_worker w = plan->worker[role];

    text[0] = '\0';
    if (plan->count[role] > 1)
        report_append(text, 64, "%d x ", plan->count[role]);
    report_append(text, 64, "tp %d", w.tp);
    if (w.pp > 1)
        report_append(text, 64, " pp %d", w.pp);
    if (w.dp_attention > 1)
        report_append(text, 64, " dp %d", w.dp_attention);
    if (w.ep > 1)
        report_append(text, 64, " ep %d", w.ep);
}

void report_serve_pools(const plait_serve_plan *plan, char text[160])
{
    char prefill[64], decode[64];

    report_serve_workers(plan, 0, prefill);
    if (plan->disaggregated)
        report_serve_workers(plan, 1, decode);
    snprintf(text, 160, "%s%s%s", prefill, plan->disaggregated ? " : " : "",
             plan->disaggregated ? decode : "");
}

/* ---- the question ---- */

bool report_serve_bounds(const plait_serve_options *q, FILE *out)
{
    static const char *const what[PLAIT_SERVE_LIMITS] = {"mean TTFT", "p95 TTFT", "p99 TTFT",
                                                         "mean TPOT", "p95 TPOT", "p99 TPOT"};
    double asked[PLAIT_SERVE_LIMITS];
    const char *before = "  ";
    char a[UNITS_SIZE];

    plait_serve_limits_asked(q, asked);
    for (int l = 0; l < PLAIT_SERVE_LIMITS; l++)
        if (asked[l] > 0.0) {
            fprintf(out, "%s%s within %s", before, what[l], units_latency(asked[l], a));
            before = ", ";
        }
    if (before[0] == ',' && q->engine[0]->confidence > 0.0)
        fprintf(out, ", each with probability %.3g", q->engine[0]->confidence);
    return before[0] == ',';
}

/* Returns the factor on a predicted time before it is compared with a bound. */
static double bound_factor(const plait_engine *engine, int limit)
{
    const double factor =
        engine->bound_factor[limit < PLAIT_SERVE_LIMIT_tpot ? PLAIT_SERVE_TTFT : PLAIT_SERVE_TPOT];

    return factor > 0.0 ? factor : 1.0;
}

void report_serve_needs(const plait_serve_options *q, const plait_serve_plan *plan, FILE *out)
{
    double asked[PLAIT_SERVE_LIMITS], found[PLAIT_SERVE_LIMITS];
    const char *before = "";

    plait_serve_limits_asked(q, asked);
    plait_serve_limits_found(plan, found);
    for (int l = 0; l < PLAIT_SERVE_LIMITS; l++) {
        found[l] *= bound_factor(plan->engine, l);
        if (asked[l] <= 0.0 || found[l] <= asked[l])
            continue;
        fprintf(out, "%s%s ", before, plait_serve_limit_flag[l]);
        if (l < PLAIT_SERVE_LIMIT_tpot)
            fprintf(out, "%.0fms", ceil(found[l] * 1e3));
        else
            fprintf(out, "%.1fms", ceil(found[l] * 1e4) / 10.0);
        before = " and ";
    }
}

/* Returns whether no load is given; each plan is then one replica at its best concurrency. */
static bool is_open(const plait_serve_options *q)
{
    return q->load.kind == PLAIT_LOAD_CLOSED && q->load.concurrency <= 0.0;
}

void report_serve_lengths(const plait_load *load, FILE *out)
{
    const plait_lengths *const l = load->lengths;

    if (l == NULL) {
        fprintf(out, "%.0f input tokens%s, %.0f output tokens", load->input,
                load->cached > 0.0 ? " (prefix partly cached)" : "", load->output);
        return;
    }
    fprintf(out, "%.0f input tokens (p50 %.0f, p90 %.0f, max %.0f", load->input, l->input.p50,
            l->input.p90, l->input.max);
    if (load->cached > 0.0)
        fprintf(out, "; %.0f %% cached", 100.0 * load->cached / load->input);
    fprintf(out, "), %.0f output tokens (p50 %.0f, p90 %.0f, max %.0f)", load->output,
            l->output.p50, l->output.p90, l->output.max);
}

static void print_question(const report_serve *report, FILE *out)
{
    const plait_serve_options *q = report->question;

    fprintf(out, "%s on up to %d x %s: ", q->model->name, q->gpus,
            q->cluster->group[0].accelerator->name);
    report_serve_lengths(&q->load, out);
    if (q->load.kind == PLAIT_LOAD_RATE)
        fprintf(out, ", %.6g requests/s at random times", q->load.rate);
    else if (q->load.concurrency > 0.0)
        fprintf(out, ", %.0f requests in flight", q->load.concurrency);
    else
        fprintf(out, ", as many requests in flight as the bounds allow");
    if (q->load.lora_adapters > 0)
        fprintf(out, "; %d LoRA adapter%s of rank %d", q->load.lora_adapters,
                q->load.lora_adapters == 1 ? "" : "s", q->load.lora_rank);
    if (q->load.draft > 0)
        fprintf(out, "; %d drafted tokens, %.0f %% accepted", q->load.draft,
                100.0 * q->load.accept);
    fprintf(out, "\n");
    fprintf(out, report_serve_bounds(q, out) ? "\n\n" : "\n");
}

/* ---- the ranking ---- */

static plait_status print_plans(const plait_serve_options *q, const plait_serve_plan *plan,
                                int count, FILE *out, plait_error *err)
{
    table *rows = table_new(">#|engine@below|workers@below|>replicas@below|>GPUs@below|"
                            "weights@below|kv@below|>chunk@4|>running@6|>TTFT@stays|"
                            ">p99@5|>TPOT@stays|>tok/s|>/GPU|>USD/Mtok@2|>J/tok@7|"
                            "bound by@3");
    char workers[160];

    for (int i = 0; i < count; i++) {
        const plait_serve_plan *p = &plan[i];
        report_serve_pools(p, workers);
        TABLE_ROW(rows, as_int(i + 1), as_text(plait_engine_name[p->engine->kind]),
                  as_text(workers));
        table_cell(rows, is_open(q) ? "%d of %d" : "%d", p->replicas, q->gpus / p->gpus);
        TABLE_ROW(rows, as_int(p->gpus), as_text(plait_weight_name[p->weights]),
                  as_text(plait_kv_name[p->kv]), as_format("%.0f", p->chunk_tokens),
                  as_format("%.0f", p->service.batch), as_latency(p->service.ttft_s),
                  as_latency(p->ttft_p99_s), as_latency(p->service.tpot_s),
                  as_count(p->service.output_tokens_per_s), as_format("%.0f", p->tokens_per_s_gpu),
                  isfinite(p->usd_per_mtok) ? as_format("%.2f", p->usd_per_mtok) : as_text("-"),
                  isfinite(p->joules_per_tok) ? as_format("%.2f", p->joules_per_tok) : as_text("-"),
                  as_text(plait_serve_bind_name[p->service.binds]));
    }
    return table_print(rows, 2, out, err);
}

static plait_status print_ranking(const report_serve *report, FILE *out, plait_error *err)
{
    const plait_serve_answer *answer = report->answer;
    const plait_serve_options *q = report->question;
    const int shown = answer->plans < PLAIT_SERVE_SHOWN ? answer->plans : PLAIT_SERVE_SHOWN;
    int simulated = 0, unjudged = 0, by_formula;

    fprintf(out, "\n");
    PLAIT_TRY(print_plans(q, answer->plan, shown, out, err));
    for (int i = 0; i < shown; i++) {
        simulated += answer->plan[i].simulated;
        unjudged += answer->plan[i].unjudged;
    }
    by_formula = shown - simulated - unjudged;
    fprintf(out, "\nThe simulation confirms %d of these %d deployments.", simulated, shown);
    if (by_formula > 0)
        fprintf(out,
                " %d %s judged by closed forms, whose margin to the load and the bounds is large "
                "enough.",
                by_formula, by_formula == 1 ? "is" : "are");
    if (unjudged > 0)
        fprintf(out, " %d near saturation %s not simulated; --eval simulates %s.", unjudged,
                unjudged == 1 ? "is" : "are", unjudged == 1 ? "it" : "them");
    fprintf(out, "\n");
    if (is_open(q))
        fprintf(out,
                "Each row is one of the replicas that fit on %d GPUs; each replica serves its own "
                "users.\n",
                q->gpus);
    return PLAIT_OK;
}

/* ---- one deployment ---- */

void report_serve_band(int indent, const char *what, double value, const double band[2], FILE *out)
{
    char a[UNITS_SIZE], b[UNITS_SIZE], c[UNITS_SIZE];

    fprintf(out, "%*s%-24s %10s   80 %% band %s to %s\n", indent, "", what, units_latency(value, a),
            units_latency(value * band[0], b), units_latency(value * band[1], c));
}

/* Prints the evidence for the bands, and the quantiles that must meet the bounds. */
static void print_evidence(const plait_serve_options *q, const plait_serve_plan *p, FILE *out)
{
    const plait_engine *const e = p->engine;
    const char *const accelerator = q->cluster->group[0].accelerator->name;
    char a[UNITS_SIZE], b[UNITS_SIZE];

    fprintf(out, "  %-24s ", "evidence");
    if (e->evidence == PLAIT_SERVE_NEW_ARCHITECTURE)
        fprintf(out, "no run of a %s model with %s: band of", plait_serve_architecture(q->model),
                e->name);
    else if (e->evidence == PLAIT_SERVE_NEW_MODEL)
        fprintf(out, "no run of this model with %s: band of", e->name);
    else if (e->evidence == PLAIT_SERVE_NEW_ACCELERATOR)
        fprintf(out, "no run of %s on %s: band of", e->name, accelerator);
    else
        fprintf(out, "runs of the model and on %s: band of", accelerator);
    fprintf(out, " %d held-out runs\n", e->bands[e->evidence].runs);
    if (e->confidence > 0.0)
        fprintf(out, "  %-24s TTFT %s, TPOT %s\n", "  with the probability",
                units_latency(p->service.ttft_s * bound_factor(e, PLAIT_SERVE_LIMIT_ttft), a),
                units_latency(p->service.tpot_s * bound_factor(e, PLAIT_SERVE_LIMIT_tpot), b));
}

static void print_plan(const report_serve *report, const plait_serve_plan *p, FILE *out)
{
    const plait_serve_options *q = report->question;
    const plait_engine *e = p->engine;
    const plait_service *s = &p->service;
    char a[UNITS_SIZE], b[UNITS_SIZE], workers[64];

    fprintf(out, "%s, %s, %d replica%s on %d GPU%s, weights %s, KV cache %s\n", e->name, mode_of(p),
            p->replicas, p->replicas == 1 ? "" : "s", p->gpus, p->gpus == 1 ? "" : "s",
            plait_weight_name[p->weights], plait_kv_name[p->kv]);
    if (is_open(q) && report->answer != NULL) {
        const int copies = q->gpus / p->gpus;

        if (p->gpus == q->gpus)
            fprintf(out, "  One replica uses all %d GPUs.\n", q->gpus);
        else if (copies == 1)
            fprintf(out, "  One replica uses %d of the %d GPUs; a second one does not fit.\n",
                    p->gpus, q->gpus);
        else
            fprintf(
                out,
                "  One replica uses %d of the %d GPUs: %d replicas use %d, with %.0f requests in "
                "flight.\n",
                p->gpus, q->gpus, copies, copies * p->gpus, copies * p->concurrency);
    }
    for (int r = 0; r <= p->disaggregated; r++) {
        report_serve_workers(p, r, workers);
        fprintf(out, "  %-24s %s; the KV cache of each attention rank holds %s tokens\n",
                !p->disaggregated ? "workers"
                : r               ? "decode"
                                  : "prefill",
                workers, units_count(p->kv_tokens[r], a));
    }
    report_serve_band(2, "time to first token", s->ttft_s, e->band[PLAIT_SERVE_TTFT], out);
    fprintf(out, "  %-24s %10s   TTFT without load %s, mean wait in the queue %s\n", "  p99",
            units_latency(p->ttft_p99_s, a), units_latency(s->prompt_s, b),
            units_latency(s->queue_s, workers));
    report_serve_band(2, "time per output token", s->tpot_s, e->band[PLAIT_SERVE_TPOT], out);
    if (q->tpot_s <= 0.0 && q->tpot_p95_s <= 0.0 && q->tpot_p99_s <= 0.0)
        fprintf(out, "  %-24s %10.3g   tokens/s; --tpot TIME sets a bound\n", "  per user",
                1.0 / s->tpot_s);
    fprintf(out, "  %-24s %10s\n", "end to end", units_latency(s->e2e_s, a));
    fprintf(out, "  %-24s %10s   80 %% band %s to %s\n", "output tokens/s",
            units_count(s->output_tokens_per_s, a),
            units_count(s->output_tokens_per_s * e->band[PLAIT_SERVE_RATE][0], b),
            units_count(s->output_tokens_per_s * e->band[PLAIT_SERVE_RATE][1], workers));
    fprintf(out, "  %-24s %10.1f   %.1f per user\n", "  per GPU", p->tokens_per_s_gpu,
            1.0 / s->tpot_s);
    print_evidence(q, p, out);
    if (isfinite(p->usd_per_mtok))
        fprintf(out, "  %-24s %10.2f\n", "USD/million tokens", p->usd_per_mtok);
    if (isfinite(p->joules_per_tok))
        fprintf(out, "  %-24s %10.2f\n", "joules per token", p->joules_per_tok);
    fprintf(out, "  %-24s %10.0f   at most %.0f per worker; bound by %s\n", "running requests",
            s->batch, p->batch_cap, plait_serve_bind_name[s->binds]);
}

static void print_seen(const char *what, const plait_latency_stats *seen, FILE *out)
{
    char a[UNITS_SIZE], b[UNITS_SIZE], c[UNITS_SIZE];

    fprintf(out, "  %-24s %10s   p50 %s, p99 %s\n", what, units_latency(seen->mean_s, a),
            units_latency(seen->p50_s, b), units_latency(seen->p99_s, c));
}

static void print_drawn(const plait_serve_options *q, const plait_service *formula,
                        const plait_serve_sim_result *d, FILE *out)
{
    char a[UNITS_SIZE];

    if (d->requests == 0)
        return;
    fprintf(out, "\n  simulated, %d requests%s%s\n", d->requests, d->stopped ? ", stopped" : "",
            d->full ? "; overloaded: the queue grew until the end" : "");
    if (d->preempted > 0)
        fprintf(out, "  %-24s %10d   restarts of requests because the KV cache was full\n",
                "preempted", d->preempted);
    print_seen("time to first token", &d->ttft, out);
    print_seen("time per output token", &d->tpot, out);
    print_seen("end to end", &d->e2e, out);
    fprintf(out, "  %-24s %10s   from the first arrival to the last token\n", "output tokens/s",
            units_count(d->output_tokens_per_s, a));
    if (q->load.kind == PLAIT_LOAD_RATE)
        fprintf(out, "  %-24s %9.1f%%   rate of completions over rate of arrivals\n", "carried",
                100.0 * d->carried);
    if (!d->stopped) {
        static const double usual = 1.4; // chosen: holds up to half of the sustainable rate, S.108
        const double longer = d->ttft.mean_s / formula->ttft_s;

        if (longer > usual)
            fprintf(
                out,
                "  note: the simulated time to first token is %.1f times the predicted one; plan "
                "with the simulated one\n",
                longer);
        else if (longer * usual < 1.0)
            fprintf(out,
                    "  note: the predicted time to first token is %.1f times the simulated one; "
                    "plan with the predicted one\n",
                    1.0 / longer);
    }
}

static void print_engine(const plait_engine *e, FILE *out)
{
    static const char *const word[] = {
#define X(field, key, unit, least, most, assumed) key,
        PLAIT_ENGINE_NUMBERS(X)
#undef X
    };
    int assumed = 0;

    fprintf(out, "\n  profile %s: fitted to %d measured runs", e->name, e->rows);
    for (int n = 0; n < PLAIT_ENGINE_NUMBER_COUNT; n++)
        if (!e->determined[n])
            fprintf(out, "%s%s",
                    assumed++ ? ", " : "; constants that these runs do not determine: ", word[n]);
    fprintf(out, "\n");
}

/* ---- the front, and the smallest changes ---- */

static plait_status print_front(const plait_serve_answer *answer, FILE *out, plait_error *err)
{
    table *rows = table_new(">TPOT|>tok/s/GPU@stays|>TTFT|>in flight|engine@below|"
                            "workers@below|weights@below|bound by@1");
    char workers[160];

    if (answer->front > 0)
        fprintf(out, "\nPareto front of TPOT and tokens/s per GPU\n");
    for (int i = 0; i < answer->front; i++) {
        const plait_serve_plan *p = &answer->at_front[i];
        report_serve_pools(p, workers);
        TABLE_ROW(rows, as_latency(p->service.tpot_s), as_format("%.0f", p->tokens_per_s_gpu),
                  as_latency(p->service.ttft_s), as_format("%.0f", p->concurrency),
                  as_text(plait_engine_name[p->engine->kind]), as_text(workers),
                  as_text(plait_weight_name[p->weights]),
                  as_text(plait_serve_bind_name[p->service.binds]));
    }
    return table_print(rows, 2, out, err);
}

static void print_counts(const plait_serve_answer *answer, FILE *out)
{
    static const char *const reason[PLAIT_SERVE_REJECTS] = {
        "by degrees that do not divide the model",
        "not supported by the engine",
        "out of memory",
        "overloaded",
        "over the TTFT bound",
        "over the TPOT bound",
        "prefill/decode pairs by lower bound",
        "by the simulation"};
    const char *before = "Rejected:";

    fprintf(out, "\nSearched all %lld valid workers, %lld deployments. ",
            (long long)answer->workers, (long long)answer->looked);
    for (int r = 0; r < PLAIT_SERVE_REJECTS; r++)
        if (answer->rejected[r] > 0) {
            fprintf(out, "%s %lld %s", before, (long long)answer->rejected[r], reason[r]);
            before = ";";
        }
    fprintf(out, "\n");
}

static bool has_no_worker(const plait_serve_answer *answer)
{
    bool any = answer->workers > 0;

    for (int r = 0; r < PLAIT_SERVE_REJECTS; r++)
        any = any || answer->rejected[r] > 0;
    return !any;
}

static void print_no_worker(FILE *out)
{
    fprintf(
        out,
        "  No worker has the requested degrees: each must be a power of two, pp at most %d, tp "
        "within %d scale-up\n  domains, and the worker must fit on the GPUs. Change tp, pp, ep or "
        "dp_attention.\n",
        PLAIT_SERVE_MAX_STAGES, PLAIT_SERVE_MAX_DOMAINS);
}

static bool has_bounds(const plait_serve_options *q)
{
    double asked[PLAIT_SERVE_LIMITS];

    plait_serve_limits_asked(q, asked);
    for (int l = 0; l < PLAIT_SERVE_LIMITS; l++)
        if (asked[l] > 0.0)
            return true;
    return false;
}

/*
 * Prints the smallest change with an answer: the bounds, or the rate, that the nearest deployment
 * meets.
 */
static void print_nearest(const report_serve *report, FILE *out)
{
    const plait_serve_options *q = report->question;
    const plait_serve_answer *answer = report->answer;
    char a[UNITS_SIZE], workers[160];

    fprintf(out, "No deployment on %d GPU%s %s%s%s.\n", q->gpus, q->gpus == 1 ? "" : "s",
            q->load.kind == PLAIT_LOAD_RATE ? "sustains the load" : "",
            q->load.kind == PLAIT_LOAD_RATE && has_bounds(q) ? " within the bounds" : "",
            q->load.kind == PLAIT_LOAD_RATE ? "" : "meets the bounds");
    if (has_no_worker(answer)) {
        print_no_worker(out);
        return;
    }
    const plait_serve_reach *reach = report->reach;
    int decimals = 0;
    if (q->load.kind == PLAIT_LOAD_RATE && reach != NULL) {
        if (reach->rate <= 0.0) {
            fprintf(
                out,
                "  No request rate is sustained%s: relax the bounds, use more GPUs or weights of "
                "fewer bits.\n",
                has_bounds(q) ? " within the bounds" : " at all");
        } else {
            for (double three = reach->rate; three < 100.0 && decimals < 11; three *= 10.0)
                decimals++; // print three digits
            report_serve_pools(&reach->plan, workers);
            fprintf(out, "  %d GPU%s about %.*f requests/s%s: %s, %s, %d x %s.\n", q->gpus,
                    q->gpus == 1 ? " sustains" : "s sustain", decimals, reach->rate,
                    has_bounds(q) ? " within the bounds" : "", reach->plan.engine->name,
                    mode_of(&reach->plan), reach->plan.replicas, workers);
            if (reach->gpus > 0)
                fprintf(out, "  %.6g requests/s need about %d GPUs.\n", q->load.rate, reach->gpus);
        }
    }
    if (!answer->has_nearest) {
        if (q->load.kind != PLAIT_LOAD_RATE || report->reach == NULL)
            fprintf(out, "  None sustains the load even without bounds: use more GPUs, fewer "
                         "requests or weights of fewer bits.\n");
        return;
    }
    report_serve_pools(&answer->nearest, workers);
    fprintf(out, "  Closest: %s, %s, %s, on %d GPUs.", answer->nearest.engine->name,
            mode_of(&answer->nearest), workers, answer->nearest.gpus);
    fprintf(out, " It meets ");
    report_serve_needs(q, &answer->nearest, out);
    fprintf(out, ".");
    fprintf(out, "\n  (The TPOT of this deployment is %s.)\n",
            units_latency(answer->nearest.service.tpot_s, a));
}

plait_status report_serve_print(const report_serve *report, FILE *out, plait_error *err)
{
    const plait_serve_answer *answer = report->answer;
    const plait_serve_plan *best = answer == NULL      ? report->plan
                                   : answer->plans > 0 ? &answer->plan[0]
                                                       : NULL;

    print_question(report, out);
    if (report->why != NULL) {
        const plait_serve_plan *p = report->plan;
        char workers[160];

        report_serve_pools(p, workers);
        fprintf(out, "%s, %s, %s, weights %s, KV cache %s, cannot run:\n  %s.\n", p->engine->name,
                mode_of(p), workers, plait_weight_name[p->weights], plait_kv_name[p->kv],
                report->why);
        return PLAIT_OK;
    }
    if (best == NULL) {
        print_nearest(report, out);
    } else {
        print_plan(report, best, out);
        if (best->simulated)
            print_drawn(report->question, &best->service, &best->drawn, out);
        if (report->missed != NULL)
            fprintf(out, "\n  The simulation misses a requirement: %s.\n", report->missed);
        if (report->explain || answer == NULL) {
            table *rows = table_new("decode step|>time|>share|origin of its constants");
            plait_step_origin origin[PLAIT_STEP_PARTS];
            char from[REPORT_ORIGIN_SIZE];
            double sum = 0.0;

            report_serve_origins(report->question, best, origin);

            for (int i = 0; i < PLAIT_STEP_PARTS; i++)
                sum += best->service.parts[i];
            for (int i = 0; i < PLAIT_STEP_PARTS; i++) {
                if (best->service.parts[i] <= 0.0)
                    continue;
                TABLE_ROW(rows, as_text(plait_step_part_name[i]),
                          as_seconds(best->service.parts[i]),
                          as_format("%.1f %%", 100.0 * best->service.parts[i] / sum),
                          as_text(report_serve_origin(&origin[i], from)));
            }
            TABLE_ROW(rows, as_text("total"), as_seconds(sum));
            table_cell(rows, "100.0 %%");
            table_cell(rows, "%s", "");
            fprintf(out, "\n");
            PLAIT_TRY(table_print(rows, 2, out, err));
            if (report->explain)
                PLAIT_TRY(report_serve_volume(report, best, out, err));
            report_serve_start(report->question, best, out);
            print_engine(best->engine, out);
        }
    }
    if (best != NULL && report->versus != NULL)
        return report_serve_versus(report, best, report->versus_name, report->versus, out, err);
    if (answer == NULL)
        return PLAIT_OK;
    if (answer->plans > 0)
        PLAIT_TRY(print_ranking(report, out, err));
    PLAIT_TRY(print_front(answer, out, err));
    if (!has_no_worker(answer))
        print_counts(answer, out);
    return PLAIT_OK;
}

plait_status report_serve_why_not(const report_serve *report, const char *what,
                                  const plait_serve_answer *other, FILE *out, plait_error *err)
{
    const plait_serve_answer *answer = report->answer;

    print_question(report, out);
    if (other->plans == 0) {
        fprintf(out, "%s: no deployment with this choice meets the bounds.\n", what);
        if (other->has_nearest)
            fprintf(out, "  The closest deployment has a TTFT of %.0f ms and a TPOT of %.1f ms.\n",
                    other->needs_ttft_s * 1e3, other->needs_tpot_s * 1e3);
        if (has_no_worker(other))
            print_no_worker(out);
        else
            print_counts(other, out);
        return PLAIT_OK;
    }
    if (answer->plans == 0 || other->plan[0].tokens_per_s_gpu >= answer->plan[0].tokens_per_s_gpu) {
        fprintf(out, "%s: the best deployment has this choice.\n", what);
        return print_plans(report->question, other->plan, 1, out, err);
    }
    fprintf(
        out,
        "%s: the best deployment with this choice has %.1f %% fewer tokens/s per GPU than the best "
        "of all, and is bound by %s.\n",
        what, 100.0 * (1.0 - other->plan[0].tokens_per_s_gpu / answer->plan[0].tokens_per_s_gpu),
        plait_serve_bind_name[other->plan[0].service.binds]);
    const plait_serve_plan both[2] = {answer->plan[0], other->plan[0]};
    return print_plans(report->question, both, 2, out, err);
}
