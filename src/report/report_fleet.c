/*
 * report_fleet.c - prints a fleet: nodes to buy, hours of a day, other fleets; as text and as JSON
 */
#include "report/report_fleet.h"

#include <math.h>
#include <stdlib.h>

#include "plait/units.h"
#include "report/report_serve.h"
#include "report/report_table.h"
#include "report/units.h"

/* Writes a number: with two decimals below 10, with a prefix from 10,000 on. */
static const char *format_number(double value, char text[UNITS_SIZE])
{
    if (!isfinite(value))
        snprintf(text, UNITS_SIZE, "-");
    else if (value >= 1e4)
        units_count(value, text);
    else
        snprintf(text, UNITS_SIZE, value < 10.0 ? "%.2f" : "%.0f", value);
    return text;
}

static const char *plural_suffix(int count)
{
    return count == 1 ? "" : "s";
}

// ---- texts about a fleet -------------------------------------------------------------------

void report_fleet_workers(const plait_fleet *fleet, char text[160])
{
    plait_serve_plan plan = fleet->plan;
    char role[PLAIT_SERVE_ROLES][64] = {"", ""};

    for (int r = 0; r <= plan.disaggregated; r++) {
        plan.count[r] = 1;
        report_serve_workers(&plan, r, role[r]);
    }
    snprintf(text, 160, plan.disaggregated ? "%s : %s" : "%s%s", role[0], role[1]);
}

void report_fleet_counts(const plait_fleet *fleet, const plait_fleet_hour *hour, char text[48])
{
    if (fleet->plan.disaggregated)
        snprintf(text, 48, "%d : %d", hour->workers[0], hour->workers[1]);
    else
        snprintf(text, 48, "%d", hour->workers[0]);
}

void report_fleet_lacks(const report_fleet *report, int rank, char text[160])
{
    const plait_fleet *const best = &report->answer->fleet[0];
    const plait_fleet *const other = &report->answer->fleet[rank];
    const plait_fleet_mode mode = report->ask->mode;
    const int more = other->totals.nodes - best->totals.nodes;
    const plait_fleet_hour *const a = &best->hour[best->busiest];
    const plait_fleet_hour *const b = &other->hour[other->busiest];
    const double cost = other->totals.node_hours[mode] / best->totals.node_hours[mode] - 1.0;
    size_t at = 0;

    at += (size_t)snprintf(text, 160, cost > 0.0 ? "+%.1f %%" : "same cost", 100.0 * cost);
    if (more == 0)
        snprintf(text + at, 160 - at, cost > 0.0 ? ", more nodes outside the busiest hour" : "");
    else if (b->nodes == a->nodes)
        snprintf(text + at, 160 - at, ", %+d spare node%s", more, plural_suffix(abs(more)));
    else
        snprintf(text + at, 160 - at, ", %+d node%s; bound by %s", more, plural_suffix(abs(more)),
                 plait_serve_bind_name[other->plan.service.binds]);
}

void report_fleet_question(const report_fleet *report, FILE *out)
{
    const plait_serve_options *const q = report->question;
    const plait_fleet_options *const ask = report->ask;
    const plait_reliability *const f = &ask->failures;
    double low = ask->rate[0], high = ask->rate[0];
    char a[UNITS_SIZE];

    for (int h = 1; h < PLAIT_FLEET_HOURS; h++) {
        low = fmin(low, ask->rate[h]);
        high = fmax(high, ask->rate[h]);
    }
    fprintf(out, "%s on %s, %d x %s per node: ", q->model->name, q->cluster->name,
            report->answer->gpus_per_node, q->cluster->group[0].accelerator->name);
    report_serve_lengths(&q->load, out);
    fprintf(out, ", ");
    if (low < high)
        fprintf(out, "%.4g to %.4g requests/s over the day\n", low, high);
    else
        fprintf(out, "%.4g requests/s all day\n", high);
    fprintf(out, report_serve_bounds(q, out) ? ";" : " ");
    if (f->spares >= 0)
        fprintf(out, " %d spare node%s\n", f->spares, plural_suffix(f->spares));
    else
        fprintf(out, " required workers are up %.6g %% of the time\n", 100.0 * ask->available);
    fprintf(out,
            "  %s interruptions per 1000 node-days, %.0f s to detect and %.0f s to restart; "
            "%.0f %% of the interruptions need a repair of %.3g h\n",
            units_number(f->interruptions_per_node_day * 1e3, a), f->detect_s, f->restart_s,
            100.0 * f->node_loss, f->repair_s / PLAIT_HOUR);
}

// ---- the fleet -----------------------------------------------------------------------------

void report_fleet_totals(const report_fleet *report, report_fleet_total out[REPORT_FLEET_TOTALS])
{
    const plait_fleet *const fleet = &report->answer->fleet[0];
    double used[PLAIT_FLEET_MODES];
    const struct {
        const char *what, *key;
        const double *value;
    } totals[REPORT_FLEET_TOTALS] = {
        {"node hours per day", "node_hours", fleet->totals.node_hours},
        {"USD per month", "usd_month", fleet->totals.usd},
        {"USD/million tokens", "usd_per_mtok", fleet->usd_per_mtok},
        {"kWh per month", "kwh_month", fleet->kwh},
        {"used capacity, %", "used_percent", used},
    };
    double requests = 0.0, room = 0.0;

    for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
        const plait_fleet_hour *const hour = &fleet->hour[h];
        requests += hour->rate;
        room += hour->rate > 0.0 ? hour->rate / hour->used[PLAIT_FLEET_ELASTIC] : 0.0;
    }
    used[PLAIT_FLEET_RESERVED] = 100.0 * requests / (fleet->sustained * PLAIT_FLEET_HOURS);
    used[PLAIT_FLEET_ELASTIC] = 100.0 * requests / room;
    for (int i = 0; i < REPORT_FLEET_TOTALS; i++) {
        out[i] = (report_fleet_total){.what = totals[i].what, .key = totals[i].key};
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            out[i].value[m] = totals[i].value[m];
    }
}

/* Prints, if there is no fleet, what the search or the spare nodes would need. */
static void print_nothing(const report_fleet *report, FILE *out)
{
    const plait_fleet_answer *const answer = report->answer;
    const plait_serve_answer *const search = answer->search;
    char a[UNITS_SIZE];

    if (answer->needs_gpus > 0) {
        fprintf(out,
                "No fleet fits on %d GPUs: the smallest, with spare nodes, needs --gpus ..%d.\n",
                report->question->gpus, answer->needs_gpus);
    } else if (answer->unsteady) {
        fprintf(
            out,
            "No fleet: nodes fail too often to keep the required workers up %.6g %% of the time "
            "with any number of spare nodes.\n",
            100.0 * report->ask->available);
    } else if (answer->considered > 0) {
        fprintf(out, "No fleet of up to %d GPUs sustains the load.\n", report->question->gpus);
    } else if (search->has_nearest) {
        fprintf(out, "No fleet meets the bounds. The closest deployment, on %d GPUs, meets ",
                search->nearest.gpus);
        report_serve_needs(report->question, &search->nearest, out);
        fprintf(out, ".\n  (The TPOT of this deployment is %s.)\n",
                units_latency(search->nearest.service.tpot_s, a));
    } else {
        fprintf(
            out,
            "No deployment on up to %d GPUs sustains the load: use more GPUs, fewer requests or "
            "weights of fewer bits.\n",
            report->question->gpus);
    }
}

void report_fleet_answer(const report_fleet *report, FILE *out)
{
    const plait_fleet *const fleet = &report->answer->fleet[0];
    char workers[160], a[UNITS_SIZE];
    const plait_fleet_totals *const low = &fleet->band[0], *const high = &fleet->band[1];
    const plait_fleet_hour *const at = &fleet->hour[fleet->busiest];
    const plait_engine *const e = fleet->plan.engine;
    char counts[48];

    if (report->answer->fleets == 0) {
        print_nothing(report, out);
        return;
    }
    const plait_serve_plan *const p = &fleet->plan;
    const plait_fleet_hour *const hour = &fleet->hour[fleet->busiest];
    report_fleet_workers(fleet, workers);
    fprintf(out, "%d node%s, %d GPUs: %s, %s, weights %s, KV cache %s, chunk %.0f\n",
            fleet->totals.nodes, plural_suffix(fleet->totals.nodes), fleet->totals.gpus,
            p->engine->name, workers, plait_weight_name[p->weights], plait_kv_name[p->kv],
            p->chunk_tokens);
    fprintf(out, "  %d needed, %d spare: enough nodes are up %.4f %% of the time\n", hour->nodes,
            hour->spare_nodes, 100.0 * hour->available);
    report_fleet_counts(fleet, at, counts);
    fprintf(out, "  busiest hour %d, %.4g requests/s: %s %s", fleet->busiest, at->rate, counts,
            fleet->plan.disaggregated ? "prefill and decode workers"
            : at->workers[0] == 1     ? "replica"
                                      : "replicas");
    if (at->lack != PLAIT_FLEET_LACKS_NOTHING)
        fprintf(out, "; one fewer would be %s",
                at->lack == PLAIT_FLEET_LACKS_LOAD   ? "overloaded"
                : at->lack == PLAIT_FLEET_LACKS_TTFT ? "over the TTFT bound"
                                                     : "over the TPOT bound");
    fprintf(out, "\n");
    report_serve_band(4, "time to first token", at->ttft_s, e->band[PLAIT_SERVE_TTFT], out);
    report_serve_band(4, "time per output token", at->tpot_s, e->band[PLAIT_SERVE_TPOT], out);
    if (low->nodes > 0 && high->nodes > 0)
        fprintf(out, "  80 %% band: %d to %d nodes, from the error of the predicted throughput\n",
                low->nodes, high->nodes);
    fprintf(out,
            "  %s output tokens per day; all nodes sustain %.4g requests/s within the bounds\n",
            units_count(fleet->tokens_per_day, a), fleet->sustained);
}

// ---- tables --------------------------------------------------------------------------------

static plait_status print_fleets(const report_fleet *report, FILE *out, plait_error *err)
{
    table *rows = table_new(">#|engine@below|workers@below|>at peak@below|weights@below|"
                            "kv@below|>nodes@stays|>spare@4|>USD reserved@stays|"
                            ">elastic@2|compared with #1");
    char text[160];

    for (int i = 0; i < report->answer->fleets; i++) {
        const plait_fleet *const fleet = &report->answer->fleet[i];
        const plait_fleet_hour *const hour = &fleet->hour[fleet->busiest];

        TABLE_ROW(rows, as_int(i + 1), as_text(plait_engine_name[fleet->plan.engine->kind]));
        report_fleet_workers(fleet, text);
        table_cell(rows, "%s", text);
        report_fleet_counts(fleet, hour, text);
        TABLE_ROW(rows, as_text(text), as_text(plait_weight_name[fleet->plan.weights]));
        TABLE_ROW(rows, as_text(plait_kv_name[fleet->plan.kv]), as_int(fleet->totals.nodes),
                  as_int(hour->spare_nodes));
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            table_cell(rows, "%s", format_number(fleet->totals.usd[m], text));
        report_fleet_lacks(report, i, text);
        table_cell(rows, "%s", i == 0 ? "-" : text);
    }
    fprintf(out, "\n");
    return table_print(rows, 2, out, err);
}

plait_status report_fleet_print(const report_fleet *report, FILE *out, plait_error *err)
{
    const plait_fleet_answer *const answer = report->answer;
    report_fleet_total total[REPORT_FLEET_TOTALS];

    report_fleet_question(report, out);
    fprintf(out, "\n");
    report_fleet_answer(report, out);
    if (answer->fleets == 0)
        return PLAIT_OK;
    table *rows = table_new("|>reserved|>elastic");
    char text[UNITS_SIZE];

    report_fleet_totals(report, total);
    for (int i = 0; i < REPORT_FLEET_TOTALS; i++) {
        table_cell(rows, "%s", total[i].what);
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            table_cell(rows, "%s", format_number(total[i].value[m], text));
    }
    fprintf(out, "\n");
    PLAIT_TRY(table_print(rows, 2, out, err));
    const plait_fleet *const fleet = &report->answer->fleet[0];
    table *hours = table_new(">hour|>requests/s@stays|>workers@below|>nodes@stays|"
                             ">spare@1|>TTFT@2|>p99@4|>TPOT@2|>reserved used@3|"
                             ">elastic used@5");
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
        const plait_fleet_hour *const hour = &fleet->hour[h];

        table_cell(hours, "%d%s", h, h == fleet->busiest ? "*" : "");
        table_cell(hours, "%.4g", hour->rate);
        report_fleet_counts(fleet, hour, text);
        TABLE_ROW(hours, as_text(text), as_int(hour->nodes), as_int(hour->spare_nodes),
                  as_latency(hour->ttft_s), as_latency(hour->ttft_p99_s), as_latency(hour->tpot_s));
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            table_cell(hours, "%.0f %%", 100.0 * hour->used[m]);
    }
    fprintf(out, "\n");
    PLAIT_TRY(table_print(hours, 2, out, err));
    PLAIT_TRY(print_fleets(report, out, err));
    fprintf(out, "\nThese are the cheapest fleets %s, from %d deployments of one search",
            report->ask->mode == PLAIT_FLEET_ELASTIC ? "with elastic nodes" : "with reserved nodes",
            answer->considered);
    if (answer->divided > 1)
        fprintf(out, " for 1/%d of the load of the busiest hour", answer->divided);
    fprintf(
        out,
        "; a month has %.0f h. A simulation of the hours with the least spare capacity confirms "
        "these fleets.\n",
        plait_fleet_month_hours());
    return PLAIT_OK;
}

static const char *const mode_name[PLAIT_FLEET_MODES] = {"reserved", "elastic"};

static void write_modes(json_writer *json, const char *key, const double value[PLAIT_FLEET_MODES])
{
    json_member_object(json, key);
    for (int m = 0; m < PLAIT_FLEET_MODES; m++)
        json_member_number(json, mode_name[m], value[m]);
    json_end_object(json);
}

static void write_fleet(json_writer *json, const plait_fleet *fleet, int rank)
{
    const plait_serve_plan *const p = &fleet->plan;
    const plait_fleet_hour *const hour = &fleet->hour[fleet->busiest];
    const plait_engine *const e = p->engine;
    static const char *const side_name[] = {"low", "high"};

    json_begin_object(json);
    json_member_int64(json, "rank", rank);
    JSON_STRINGS(json, {"engine", plait_engine_name[e->kind]}, {"profile", e->name},
                 {"mode", p->disaggregated ? "disaggregated" : "aggregated"});
    json_member_object(json, "workers");
    for (int r = 0; r <= fleet->plan.disaggregated; r++) {
        const plait_worker w = fleet->plan.worker[r];

        json_member_object(json, report_serve_role(&fleet->plan, r));
        JSON_NUMBERS(json, {"count", fleet->hour[fleet->busiest].workers[r]}, {"tp", w.tp},
                     {"pp", w.pp}, {"ep", w.ep}, {"dp_attention", w.dp_attention},
                     {"nodes", fleet->unit[r].nodes});
        json_member_int64(json, "a_node", fleet->unit[r].workers);
        json_member_number(json, "available", fleet->unit[r].available);
        json_end_object(json);
    }
    json_end_object(json);
    JSON_STRINGS(json, {"weights", plait_weight_name[p->weights]}, {"kv", plait_kv_name[p->kv]});
    JSON_NUMBERS(json, {"chunk_tokens", p->chunk_tokens}, {"nodes", fleet->totals.nodes},
                 {"spare_nodes", hour->spare_nodes}, {"gpus", fleet->totals.gpus});
    json_member_bool(json, "simulated", fleet->simulated);
    JSON_NUMBERS(json, {"margin", fleet->margin}, {"available", hour->available},
                 {"busiest_hour", fleet->busiest});
    json_member_string(json, "binds", plait_serve_bind_name[p->service.binds]);
    JSON_NUMBERS(json, {"ttft_low_ms", hour->ttft_s * 1e3 * e->band[PLAIT_SERVE_TTFT][0]},
                 {"ttft_high_ms", hour->ttft_s * 1e3 * e->band[PLAIT_SERVE_TTFT][1]},
                 {"tpot_low_ms", hour->tpot_s * 1e3 * e->band[PLAIT_SERVE_TPOT][0]},
                 {"tpot_high_ms", hour->tpot_s * 1e3 * e->band[PLAIT_SERVE_TPOT][1]},
                 {"sustains_rate", fleet->sustained}, {"out_tok_day", fleet->tokens_per_day});
    write_modes(json, "node_hours_day", fleet->totals.node_hours);
    write_modes(json, "usd_month", fleet->totals.usd);
    write_modes(json, "usd_per_mtok", fleet->usd_per_mtok);
    write_modes(json, "kwh_month", fleet->kwh);
    json_member_object(json, "band");
    for (int side = 0; side < 2; side++) {
        const plait_fleet_totals *const totals = &fleet->band[side];

        json_member_object(json, side_name[side]);
        JSON_NUMBERS(json, {"nodes", totals->nodes > 0 ? totals->nodes : (double)NAN},
                     {"gpus", totals->nodes > 0 ? totals->gpus : (double)NAN});
        write_modes(json, "usd_month", totals->usd);
        json_end_object(json);
    }
    json_end_object(json);
    json_member_array(json, "hours");
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
        const plait_fleet_hour *const at = &fleet->hour[h];

        json_begin_object(json);
        JSON_NUMBERS(json, {"hour", h}, {"rate", at->rate});
        for (int r = 0; r <= fleet->plan.disaggregated; r++)
            json_member_int64(json, report_serve_role(&fleet->plan, r), at->workers[r]);
        JSON_NUMBERS(json, {"nodes", at->nodes}, {"spare_nodes", at->spare_nodes},
                     {"available", at->available});
        json_member_string(json, "lacks",
                           at->lack == PLAIT_FLEET_LACKS_NOTHING ? NULL
                                                                 : plait_fleet_lack_name[at->lack]);
        JSON_NUMBERS(json, {"ttft_ms", at->ttft_s * 1e3}, {"ttft_p99_ms", at->ttft_p99_s * 1e3},
                     {"tpot_ms", at->tpot_s * 1e3});
        write_modes(json, "used", at->used);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void json_fleet(json_writer *json, const report_fleet *report)
{
    const plait_fleet_answer *const answer = report->answer;

    json_member_version(json);
    JSON_STRINGS(json, {"model", report->question->model->name},
                 {"cluster", report->question->cluster->name});
    json_member_int64(json, "gpus_per_node", answer->gpus_per_node);
    const plait_serve_options *const q = report->question;
    const plait_fleet_options *const ask = report->ask;
    json_member_object(json, "asked");
    JSON_NUMBERS(json, {"input", q->load.input}, {"output", q->load.output},
                 {"prefix_cached", q->load.cached});
    json_serve_lengths(json, &q->load);
#define X(flag, name)                                                                              \
    json_member_number(json, #name "_ms", q->name##_s > 0.0 ? q->name##_s * 1e3 : (double)NAN);
    PLAIT_SERVE_LIMIT_LIST(X)
#undef X
    json_member_int64(json, "gpus", q->gpus);
    json_member_number(json, "availability", ask->available);
    if (ask->failures.spares >= 0)
        json_member_int64(json, "spare_nodes", ask->failures.spares);
    json_member_string(json, "by", mode_name[ask->mode]);
    JSON_NUMBERS(json, {"interruptions_per_node_day", ask->failures.interruptions_per_node_day},
                 {"node_loss", ask->failures.node_loss}, {"repeat", ask->failures.repeat},
                 {"detect_s", ask->failures.detect_s}, {"restart_s", ask->failures.restart_s},
                 {"repair_s", ask->failures.repair_s});
    json_member_array(json, "rates");
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        json_write_number(json, ask->rate[h]);
    json_end_array(json);
    json_end_object(json);
    JSON_NUMBERS(json, {"considered", answer->considered}, {"divided", answer->divided});
    json_member_array(json, "fleets");
    for (int i = 0; i < answer->fleets; i++)
        write_fleet(json, &answer->fleet[i], i + 1);
    json_end_array(json);
    if (answer->fleets == 0) {
        const plait_serve_answer *const search = answer->search;
        const bool nearest = answer->considered == 0 && search->has_nearest;

        JSON_NUMBER_OBJECT(json, "needs",
                           {"gpus", answer->needs_gpus > 0 ? answer->needs_gpus : (double)NAN},
                           {"ttft_ms", nearest ? search->needs_ttft_s * 1e3 : (double)NAN},
                           {"tpot_ms", nearest ? search->needs_tpot_s * 1e3 : (double)NAN});
    }
}
