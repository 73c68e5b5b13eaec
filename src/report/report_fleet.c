/* report_fleet.c - a fleet for people: what to buy, its hours, what the runners-up lack */
#include "report/report_fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plait/units.h"
#include "report/report_serve.h"
#include "report/report_table.h"
#include "report/units.h"

/* Small ones with cents, large ones with a prefix. */
static const char *number(double value, char text[UNITS_SIZE])
{
    if (!isfinite(value))
        snprintf(text, UNITS_SIZE, "-");
    else if (value >= 1e4)
        units_count(value, text);
    else
        snprintf(text, UNITS_SIZE, value < 10.0 ? "%.2f" : "%.0f", value);
    return text;
}

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

// ---- words of a fleet ----------------------------------------------------------------------

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

    at += (size_t)snprintf(text, 160, cost > 0.0 ? "+%.1f %%" : "as cheap", 100.0 * cost);
    if (more == 0)
        snprintf(text + at, 160 - at, cost > 0.0 ? ", more nodes outside the busiest hour" : "");
    else if (b->nodes == a->nodes)
        snprintf(text + at, 160 - at, ", %+d spare node%s", more, plural(abs(more)));
    else
        snprintf(text + at, 160 - at, ", %+d node%s; %s binds", more, plural(abs(more)),
                 plait_serve_bind_name[other->plan.service.binds]);
}

// ---- the question --------------------------------------------------------------------------

void report_fleet_question(const report_fleet *report, FILE *out)
{
    const plait_serve_question *const q = report->question;
    const plait_fleet_ask *const ask = report->ask;
    const plait_reliability *const f = &ask->failures;
    double low = ask->rate[0], high = ask->rate[0];
    char a[UNITS_SIZE];

    for (int h = 1; h < PLAIT_FLEET_HOURS; h++) {
        low = fmin(low, ask->rate[h]);
        high = fmax(high, ask->rate[h]);
    }
    fprintf(out, "%s on %s, %d x %s a node: %.0f tokens in%s, %.0f out, ", q->model->name,
            q->cluster->name, report->answer->gpus_per_node, q->cluster->group[0].accelerator->name,
            q->load.input, q->load.cached > 0.0 ? " (prefix cached in part)" : "", q->load.output);
    if (low < high)
        fprintf(out, "%.4g to %.4g requests/s through a day\n", low, high);
    else
        fprintf(out, "%.4g requests/s all day\n", high);
    fprintf(out, report_serve_bounds(q, out) ? ";" : " ");
    if (f->spares >= 0)
        fprintf(out, " %d spare node%s\n", f->spares, plural(f->spares));
    else
        fprintf(out, " enough workers up %.6g %% of the time\n", 100.0 * ask->available);
    fprintf(out,
            "  %s interruptions of 1000 node-days, %.0f s to notice and %.0f s to restart; "
            "%.0f %% send a node to repair, %.3g h\n",
            units_number(f->interruptions_per_node_day * 1e3, a), f->detect_s, f->restart_s,
            100.0 * f->node_loss, f->repair_s / PLAIT_HOUR);
}

// ---- the fleet -----------------------------------------------------------------------------

static void print_band(const char *what, double value, const double band[2], FILE *out)
{
    char a[UNITS_SIZE], b[UNITS_SIZE], c[UNITS_SIZE];

    fprintf(out, "    %-24s %10s   80 %% of runs between %s and %s\n", what,
            units_latency(value, a), units_latency(value * band[0], b),
            units_latency(value * band[1], c));
}

static void print_busiest(const plait_fleet *fleet, FILE *out)
{
    const plait_fleet_hour *const hour = &fleet->hour[fleet->busiest];
    const plait_engine *const e = fleet->plan.engine;
    char counts[48];

    report_fleet_counts(fleet, hour, counts);
    fprintf(out, "  hour %d binds, %.4g requests/s: %s %s", fleet->busiest, hour->rate, counts,
            fleet->plan.disaggregated ? "prefill and decode workers"
            : hour->workers[0] == 1   ? "replica"
                                      : "replicas");
    if (hour->lack != PLAIT_FLEET_LACKS_NOTHING)
        fprintf(out, "; one less: %s",
                hour->lack == PLAIT_FLEET_LACKS_LOAD   ? "more comes than leaves"
                : hour->lack == PLAIT_FLEET_LACKS_TTFT ? "first token too late"
                                                       : "tokens too slow");
    fprintf(out, "\n");
    print_band("time to first token", hour->ttft_s, e->band[PLAIT_SERVE_TTFT], out);
    print_band("time per output token", hour->tpot_s, e->band[PLAIT_SERVE_TPOT], out);
}

static void print_band_of_nodes(const plait_fleet *fleet, FILE *out)
{
    const plait_fleet_totals *const low = &fleet->band[0], *const high = &fleet->band[1];

    if (low->nodes > 0 && high->nodes > 0)
        fprintf(out, "  80 %% of runs: %d to %d nodes, as the engine gives more or less\n",
                low->nodes, high->nodes);
}

static void mean_used(const report_fleet *report, double used[PLAIT_FLEET_MODES])
{
    const plait_fleet *const fleet = &report->answer->fleet[0];
    double requests = 0.0, room = 0.0;

    for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
        const plait_fleet_hour *const hour = &fleet->hour[h];
        requests += hour->rate;
        room += hour->rate > 0.0 ? hour->rate / hour->used[PLAIT_FLEET_ELASTIC] : 0.0;
    }
    used[PLAIT_FLEET_RESERVED] = 100.0 * requests / (fleet->sustained * PLAIT_FLEET_HOURS);
    used[PLAIT_FLEET_ELASTIC] = 100.0 * requests / room;
}

void report_fleet_totals(const report_fleet *report, report_fleet_total out[REPORT_FLEET_TOTALS])
{
    const plait_fleet *const fleet = &report->answer->fleet[0];
    double used[PLAIT_FLEET_MODES];
    const struct {
        const char *what, *key;
        const double *value;
    } totals[REPORT_FLEET_TOTALS] = {
        {"node hours a day", "node_hours", fleet->totals.node_hours},
        {"USD a month", "usd_month", fleet->totals.usd},
        {"USD/million tokens", "usd_per_mtok", fleet->usd_per_mtok},
        {"kWh a month", "kwh_month", fleet->kwh},
        {"used, % of its capacity", "used_percent", used},
    };

    mean_used(report, used);
    for (int i = 0; i < REPORT_FLEET_TOTALS; i++) {
        out[i] = (report_fleet_total){.what = totals[i].what, .key = totals[i].key};
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            out[i].value[m] = totals[i].value[m];
    }
}

static plait_status print_totals(const report_fleet *report, FILE *out, plait_error *err)
{
    static const table_column columns[] = {
        {"", TABLE_LEFT}, {"reserved", TABLE_RIGHT}, {"elastic", TABLE_RIGHT}};
    report_fleet_total total[REPORT_FLEET_TOTALS];
    table *rows = table_new(columns, 3);
    char text[UNITS_SIZE];

    report_fleet_totals(report, total);
    for (int i = 0; i < REPORT_FLEET_TOTALS; i++) {
        table_cell(rows, "%s", total[i].what);
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            table_cell(rows, "%s", number(total[i].value[m], text));
    }
    fprintf(out, "\n");
    return table_print(rows, 2, out, err);
}

/* Without a fleet: what the search, or the spares, would need. */
static void print_nothing(const report_fleet *report, FILE *out)
{
    const plait_fleet_answer *const answer = report->answer;
    const plait_serve_answer *const search = answer->search;
    char a[UNITS_SIZE];

    if (answer->needs_gpus > 0) {
        fprintf(out, "No fleet of up to %d GPUs: with its spares the smallest needs --gpus ..%d.\n",
                report->question->gpus, answer->needs_gpus);
    } else if (answer->unsteady) {
        fprintf(out,
                "No fleet: nodes fail too often for any number of spares to have enough up %.6g %% "
                "of the time.\n",
                100.0 * report->ask->available);
    } else if (answer->considered > 0) {
        fprintf(out, "No fleet of up to %d GPUs carries the load.\n", report->question->gpus);
    } else if (search->has_nearest) {
        fprintf(out, "No fleet meets the bounds. The nearest deployment, on %d GPUs, needs ",
                search->nearest.gpus);
        report_serve_needs(report->question, &search->nearest, out);
        fprintf(out, ".\n  (%s a token is what it has.)\n",
                units_latency(search->nearest.service.tpot_s, a));
    } else {
        fprintf(out,
                "No deployment on up to %d GPUs carries the load: take more GPUs, fewer "
                "requests, or narrower weights.\n",
                report->question->gpus);
    }
}

void report_fleet_answer(const report_fleet *report, FILE *out)
{
    const plait_fleet *const fleet = &report->answer->fleet[0];
    char workers[160], a[UNITS_SIZE];

    if (report->answer->fleets == 0) {
        print_nothing(report, out);
        return;
    }
    const plait_serve_plan *const p = &fleet->plan;
    const plait_fleet_hour *const hour = &fleet->hour[fleet->busiest];
    report_fleet_workers(fleet, workers);
    fprintf(out, "%d node%s, %d GPUs: %s, %s, weights %s, cache %s, chunk %.0f\n",
            fleet->totals.nodes, plural(fleet->totals.nodes), fleet->totals.gpus, p->engine->name,
            workers, plait_weight_name[p->weights], plait_kv_name[p->kv], p->chunk_tokens);
    fprintf(out, "  %d needed, %d spare: enough are up %.4f %% of the time\n", hour->nodes,
            hour->spare_nodes, 100.0 * hour->available);
    print_busiest(fleet, out);
    print_band_of_nodes(fleet, out);
    fprintf(out, "  %s output tokens a day; all nodes take %.4g requests/s within the bounds\n",
            units_count(fleet->tokens_per_day, a), fleet->sustained);
}

// ---- tables --------------------------------------------------------------------------------

static plait_status print_hours(const report_fleet *report, FILE *out, plait_error *err)
{
    static const table_column columns[] = {
        {"hour", TABLE_RIGHT},        {"requests/s", TABLE_RIGHT}, {"workers", TABLE_RIGHT},
        {"nodes", TABLE_RIGHT},       {"spare", TABLE_RIGHT},      {"TTFT", TABLE_RIGHT},
        {"p99", TABLE_RIGHT},         {"TPOT", TABLE_RIGHT},       {"reserved used", TABLE_RIGHT},
        {"elastic used", TABLE_RIGHT}};
    static const int spare[] = {0, -2, -1, -2, 1, 2, 4, 2, 3, 5};
    const plait_fleet *const fleet = &report->answer->fleet[0];
    table *rows = table_new(columns, sizeof columns / sizeof *columns);
    char text[UNITS_SIZE];

    for (size_t c = 0; c < sizeof spare / sizeof *spare; c++)
        table_spare(rows, c, spare[c]);
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
        const plait_fleet_hour *const hour = &fleet->hour[h];

        table_cell(rows, "%d%s", h, h == fleet->busiest ? "*" : "");
        table_cell(rows, "%.4g", hour->rate);
        report_fleet_counts(fleet, hour, text);
        table_cell(rows, "%s", text);
        table_cell(rows, "%d", hour->nodes);
        table_cell(rows, "%d", hour->spare_nodes);
        table_cell(rows, "%s", units_latency(hour->ttft_s, text));
        table_cell(rows, "%s", units_latency(hour->ttft_p99_s, text));
        table_cell(rows, "%s", units_latency(hour->tpot_s, text));
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            table_cell(rows, "%.0f %%", 100.0 * hour->used[m]);
    }
    fprintf(out, "\n");
    return table_print(rows, 2, out, err);
}

static plait_status print_fleets(const report_fleet *report, FILE *out, plait_error *err)
{
    static const table_column columns[] = {
        {"#", TABLE_RIGHT},       {"engine", TABLE_LEFT},           {"workers", TABLE_LEFT},
        {"at most", TABLE_RIGHT}, {"weights", TABLE_LEFT},          {"kv", TABLE_LEFT},
        {"nodes", TABLE_RIGHT},   {"spare", TABLE_RIGHT},           {"USD reserved", TABLE_RIGHT},
        {"elastic", TABLE_RIGHT}, {"against the first", TABLE_LEFT}};
    static const int spare[] = {0, -1, -1, -1, -1, -1, -2, 4, -2, 2, 0};
    table *rows = table_new(columns, sizeof columns / sizeof *columns);
    char text[160];

    for (size_t c = 0; c < sizeof spare / sizeof *spare; c++)
        table_spare(rows, c, spare[c]);
    for (int i = 0; i < report->answer->fleets; i++) {
        const plait_fleet *const fleet = &report->answer->fleet[i];
        const plait_fleet_hour *const hour = &fleet->hour[fleet->busiest];

        table_cell(rows, "%d", i + 1);
        table_cell(rows, "%s", plait_engine_name[fleet->plan.engine->kind]);
        report_fleet_workers(fleet, text);
        table_cell(rows, "%s", text);
        report_fleet_counts(fleet, hour, text);
        table_cell(rows, "%s", text);
        table_cell(rows, "%s", plait_weight_name[fleet->plan.weights]);
        table_cell(rows, "%s", plait_kv_name[fleet->plan.kv]);
        table_cell(rows, "%d", fleet->totals.nodes);
        table_cell(rows, "%d", hour->spare_nodes);
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            table_cell(rows, "%s", number(fleet->totals.usd[m], text));
        report_fleet_lacks(report, i, text);
        table_cell(rows, "%s", i == 0 ? "-" : text);
    }
    fprintf(out, "\n");
    return table_print(rows, 2, out, err);
}

plait_status report_fleet_print(const report_fleet *report, FILE *out, plait_error *err)
{
    const plait_fleet_answer *const answer = report->answer;

    report_fleet_question(report, out);
    fprintf(out, "\n");
    report_fleet_answer(report, out);
    if (answer->fleets == 0)
        return PLAIT_OK;
    PLAIT_TRY(print_totals(report, out, err));
    PLAIT_TRY(print_hours(report, out, err));
    PLAIT_TRY(print_fleets(report, out, err));
    fprintf(out, "\nThe cheapest %s of %d deployments that one search gives",
            report->ask->mode == PLAIT_FLEET_ELASTIC ? "by the hour" : "around the clock",
            answer->considered);
    if (answer->divided > 1)
        fprintf(out, " for 1/%d of the busiest hour", answer->divided);
    fprintf(out, "; a month has %.0f h. A simulation of their tightest hours confirms them.\n",
            plait_fleet_month_hours());
    return PLAIT_OK;
}
