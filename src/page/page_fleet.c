/* page_fleet.c - builds the page of plait capacity --serve: hours, utilisation, other fleets */

#include <math.h>

#include "page/pages.h"
#include "report/units.h"

static void add_printed(page *out, const report_fleet *report,
                        void (*print)(const report_fleet *report, FILE *stream))
{
    FILE *stream = page_begin_printed(out);

    if (stream != NULL)
        print(report, stream);
    page_end_printed(out, stream);
}

static const page_table *add_hours(page *out, const plait_fleet *fleet)
{
    page_table *rows =
        page_table_add(out, "hours", "Nodes needed in each hour",
                       "hour>hour|rate>requests/s|workers=workers|nodes>nodes|"
                       "spare_nodes>spare|ttft_s>TTFT|ttft_p99_s>TTFT p99|tpot_s>TPOT|"
                       "used_reserved>reserved used|used_elastic>elastic used|"
                       "available>availability",
                       NULL);
    char counts[48];

    for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
        const plait_fleet_hour *const hour = &fleet->hour[h];

        PAGE_ROW(rows, as_int(h), as_format("%.4g", hour->rate));
        report_fleet_counts(fleet, hour, counts);
        PAGE_ROW(rows, as_text(counts), as_int(hour->nodes), as_int(hour->spare_nodes),
                 as_seconds(hour->ttft_s), as_seconds(hour->ttft_p99_s), as_seconds(hour->tpot_s));
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            PAGE_ROW(rows, as_percent(hour->used[m]));
        page_number(rows, hour->available, "%.4f %%", 100.0 * hour->available);
    }
    return rows;
}

static void add_fleets(page *out, const report_fleet *report)
{
    page_table *rows =
        page_table_add(out, "fleets", "Cheapest fleets, dollars per month",
                       "rank>fleet|engine=engine|deployment=worker|counts=workers at peak|"
                       "weights=weights|kv=KV cache|nodes>nodes|spare_nodes>spare|"
                       "usd_reserved>USD reserved|usd_elastic>USD elastic|"
                       "lacks=compared with fleet 1",
                       NULL);
    char text[160];

    for (int i = 0; i < report->answer->fleets; i++) {
        const plait_fleet *const fleet = &report->answer->fleet[i];
        const plait_fleet_hour *const hour = &fleet->hour[fleet->busiest];

        PAGE_ROW(rows, as_int(i + 1), as_text(plait_engine_name[fleet->plan.engine->kind]));
        report_fleet_workers(fleet, text);
        page_word(rows, "%s", text);
        report_fleet_counts(fleet, hour, text);
        PAGE_ROW(rows, as_text(text), as_text(plait_weight_name[fleet->plan.weights]),
                 as_text(plait_kv_name[fleet->plan.kv]), as_int(fleet->totals.nodes),
                 as_int(hour->spare_nodes));
        for (int m = 0; m < PLAIT_FLEET_MODES; m++)
            page_number(rows, fleet->totals.usd[m], "%s", units_count(fleet->totals.usd[m], text));
        report_fleet_lacks(report, i, text);
        page_word(rows, "%s", i == 0 ? "-" : text);
    }
}

static void add_answer(page *out, const report_fleet *report)
{
    const plait_fleet *const fleet = &report->answer->fleet[0];
    const plait_fleet_mode mode = report->ask->mode;
    const char *const model = report->question->model->name;
    const char *const cluster = report->question->cluster->name;
    const bool elastic = mode == PLAIT_FLEET_ELASTIC;
    char text[UNITS_SIZE], workers[160];

    if (report->answer->fleets == 0) {
        page_answer(out, "No fleet on %s serves %s within the latency limits.", cluster, model);
        return;
    }
    report_fleet_workers(fleet, workers);
    page_answer(out, "Serve %s with %d node%s of %s, %s as %s: %s USD per month.", model,
                fleet->totals.nodes, fleet->totals.nodes == 1 ? "" : "s", cluster,
                fleet->plan.engine->name, workers,
                isfinite(fleet->totals.usd[mode]) ? units_count(fleet->totals.usd[mode], text)
                                                  : "an unknown number of");
    snprintf(text, sizeof text, "%d", fleet->totals.gpus);
    page_figure(out, "GPUs", text, "%d node%s%s", fleet->totals.nodes,
                fleet->totals.nodes == 1 ? "" : "s", elastic ? " in the busiest hour" : "");
    page_figure(out, "dollars per month",
                isfinite(fleet->totals.usd[mode]) ? units_count(fleet->totals.usd[mode], text)
                                                  : "-",
                elastic ? "nodes paid by the hour" : "nodes paid around the clock");
    page_figure(out, "output tokens per day", units_count(fleet->tokens_per_day, text),
                "all nodes sustain %.4g requests/s within the latency limits", fleet->sustained);
}

plait_status page_of_fleet(const report_fleet *report, const char *command, plait_arena *arena,
                           page **out, plait_error *err)
{
    page *made = page_new(arena, "%s on %s: a serving fleet", report->question->model->name,
                          report->question->cluster->name);

    *out = made;
    PLAIT_TRY(plait_check_allocated(made, err));
    add_answer(made, report);
    FILE *const stream = page_begin_printed(made);
    const double usd = report->ask->usd_per_gpu_hour;

    if (report->answer->fleets > 0) {
        const plait_serve_plan *const plan = &report->answer->fleet[0].plan;

        page_assume(made, "precision", "weights %s, KV cache %s", plait_weight_name[plan->weights],
                    plait_kv_name[plan->kv]);
        page_assume(made, "engine", "%s, fitted to %d measured runs", plan->engine->name,
                    plan->engine->rows);
    }
    if (stream != NULL)
        report_fleet_question(report, stream);
    page_end_assumed(made, "load", stream);
    page_assume_prices(made, report->question->cluster, 1, usd);
    add_printed(made, report, report_fleet_question);
    page_section(made, "answer", "The answer");
    add_printed(made, report, report_fleet_answer);
    if (report->answer->fleets > 0) {
        report_fleet_total total[REPORT_FLEET_TOTALS];

        page_table *rows = page_table_add(made, "totals", "Totals of the first fleet",
                                          "what=quantity|reserved>reserved|elastic>elastic", NULL);
        char text[UNITS_SIZE];

        report_fleet_totals(report, total);
        for (int i = 0; i < REPORT_FLEET_TOTALS; i++) {
            page_word(rows, "%s", total[i].what);
            for (int m = 0; m < PLAIT_FLEET_MODES; m++)
                page_number(rows, total[i].value[m], "%s", units_count(total[i].value[m], text));
        }
        page_section(made, "day", "Hours of the day");
        const page_table *hours = add_hours(made, &report->answer->fleet[0]);
        page_chart_add(made, hours, "fleet_nodes", "Needed and spare nodes in each hour");
        page_chart_add(made, hours, "fleet_used",
                       "Load of each hour as a share of what its nodes sustain within the limits");
        page_section(made, "deployments", "Fleets");
        add_fleets(made, report);
    }
    page_grounds(made);
    page_command(made, command);
    return PLAIT_OK;
}
