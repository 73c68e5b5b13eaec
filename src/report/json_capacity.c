/* json_capacity.c - writes the document of `plait capacity --json` */
#include "report/json_plan.h"
#include "report/report_capacity.h"

#include <math.h>

#include "plait/units.h"

void json_degrees_write(json_writer *json, const plait_degrees *degrees)
{
    char text[PLAIT_VALUE_SIZE];

    json_begin_object(json);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;

        if (plait_keys[key].words == NULL && plait_key_value(degrees, key) >= 0)
            json_member_int64(json, plait_keys[key].name, plait_key_value(degrees, key));
        else
            json_member_string(json, plait_keys[key].name,
                               plait_degrees_get(degrees, key, text, sizeof text));
    }
    json_end_object(json);
}

static void write_row(json_writer *json, const report_capacity *report,
                      const plait_capacity_row *row)
{
    json_begin_object(json);
    json_member_string(json, "cluster", row->problem->cluster->name);
    JSON_NUMBERS(json, {"gpus", row->problem->job.gpus}, {"gbs", row->problem->job.gbs});
    json_member_bool(json, "fits", row->fits);
    json_member_string(
        json, "binds",
        row->limit == PLAIT_CAPACITY_LIMIT_NOTHING ? NULL : plait_capacity_limit_name[row->limit]);
    if (row->fits) {
        const plait_goodput *const g = &row->goodput;

        JSON_NUMBERS(json, {"step_s", row->cost.step_s}, {"step_low_s", row->cost.step_low_s},
                     {"step_high_s", row->cost.step_high_s}, {"tokens_per_s", row->tokens_per_s},
                     {"mfu", row->cost.mfu}, {"memory_bytes", row->cost.memory.peak_bytes},
                     {"steps", row->steps}, {"days", row->wall_s / PLAIT_DAY},
                     {"days_low", row->wall_low_s / PLAIT_DAY},
                     {"days_high", row->wall_high_s / PLAIT_DAY}, {"in_time", row->finishes},
                     {"cost_usd", row->usd}, {"power_mw", row->power_w / 1e6},
                     {"energy_mwh", row->energy_j / 3.6e9}, {"co2_t", row->co2_kg / 1e3},
                     {"scaling", row->scaling}, {"gain", row->gain});
        json_member_bool(json, "knee", row->knee);
        json_member_bool(json, "front", row->front);
        json_member_bool(json, "between", row->between);
        json_member_bool(json, "days_tie", report_capacity_ties_days(report, row));
        json_member_bool(json, "cost_ties", report_capacity_ties_usd(report, row));
        JSON_NUMBER_OBJECT(json, "goodput", {"effective", g->effective}, {"mtbf_s", g->mtbf_s},
                           {"checkpoint_bytes", row->checkpoint_bytes}, {"write_s", g->write_s},
                           {"blocked_s", g->blocked_s}, {"interval_s", g->interval_s},
                           {"wait_s", g->wait_s}, {"spare_nodes", g->spares});
        JSON_NUMBER_OBJECT(json, "drawn", {"mean_days", row->drawn.mean_s / PLAIT_DAY},
                           {"p10_days", row->drawn.early_s / PLAIT_DAY},
                           {"p50_days", row->drawn.middle_s / PLAIT_DAY},
                           {"p90_days", row->drawn.late_s / PLAIT_DAY},
                           {"in_time", row->drawn.finishes});
        json_write_key(json, "plan");
        json_degrees_write(json, &row->plan.degrees);
    }
    json_end_object(json);
}

/*
 * Writes the range and the counts of the search between the rows; null if only the rows were
 * searched.
 */
static void write_searched(json_writer *json, const report_capacity_cluster *cluster)
{
    const plait_capacity_range_result *const b = cluster->between;

    json_write_key(json, "searched");
    if (b == NULL) {
        json_write_null(json);
        return;
    }
    json_begin_object(json);
    JSON_NUMBERS(json, {"gpus_from", cluster->from}, {"gpus_to", cluster->to},
                 {"numbers", b->numbers}, {"divide", b->divide}, {"searches", b->searches});
    json_member_bool(json, "whole", b->whole);
    json_member_bool(json, "assumed", b->assumed);
    json_end_object(json);
}

void json_capacity(json_writer *json, const report_capacity *report)
{
    json_member_version(json);
    json_member_string(json, "model", report->row[0].problem->model->name);
    const plait_capacity_options *const ask = report->ask;
    const plait_reliability *const fleet = &ask->fleet;
    json_member_object(json, "asked");
    JSON_NUMBERS(json, {"tokens", ask->tokens},
                 {"deadline_s", ask->deadline_s > 0.0 ? ask->deadline_s : (double)NAN},
                 {"budget_usd", ask->budget_usd > 0.0 ? ask->budget_usd : (double)NAN},
                 {"co2_g_per_kwh", ask->co2_g_per_kwh}, {"knee", ask->knee}, {"runs", ask->runs},
                 {"interruptions_per_node_day", fleet->interruptions_per_node_day},
                 {"node_loss", fleet->node_loss}, {"repeat", fleet->repeat},
                 {"straggler", fleet->straggler}, {"detect_s", fleet->detect_s},
                 {"restart_s", fleet->restart_s}, {"repair_s", fleet->repair_s},
                 {"node_bytes_per_s", fleet->node_bytes_per_s},
                 {"most_bytes_per_s", fleet->most_bytes_per_s});
    json_member_bool(json, "async", fleet->async);
    json_end_object(json);
    json_member_array(json, "clusters");
    for (int c = 0; c < report->clusters; c++) {
        const report_capacity_cluster *const cluster = &report->cluster[c];
        const plait_cluster *const own = cluster->problem->cluster;

        json_begin_object(json);
        json_member_string(json, "name", own->name);
        json_member_number(json, "usd_per_gpu_hour", cluster->usd_per_gpu_hour);
        json_member_string(json, "price_source",
                           cluster->price_asked ? "--price"
                                                : own->group[0].accelerator->price_source);
        json_member_number(json, "pue", own->pue);
        json_member_string(json, "pue_source", own->pue_given ? own->power_source : "default");
        json_member_array(json, "batches");
        for (int i = 0; i < cluster->batches; i++)
            json_write_int64(json, cluster->gbs[i]);
        json_end_array(json);
        write_searched(json, cluster);
        json_end_object(json);
    }
    json_end_array(json);
    json_member_string(json, "cost_leaves_out",
                       "storage, network traffic, staff, evaluations, failed experiments");
    json_member_array(json, "rows");
    for (int i = 0; i < report->rows; i++)
        write_row(json, report, &report->row[i]);
    json_end_array(json);
    JSON_NUMBERS(
        json, {"smallest", report->verdict.smallest >= 0 ? report->verdict.smallest : (double)NAN},
        {"cheapest", report->verdict.cheapest >= 0 ? report->verdict.cheapest : (double)NAN},
        {"fastest", report->verdict.fastest >= 0 ? report->verdict.fastest : (double)NAN},
        {"answer", report->answer >= 0 ? report->answer : (double)NAN});
    json_member_array(json, "tornado");
    for (int i = 0; report->swing != NULL && i < PLAIT_CAPACITY_SWINGS; i++) {
        const plait_capacity_swing *const swing = &report->swing[i];

        json_begin_object(json);
        json_member_string(json, "what", swing->what);
        JSON_NUMBERS(json, {"days_less", swing->wall_s[0] / PLAIT_DAY},
                     {"days_more", swing->wall_s[1] / PLAIT_DAY}, {"usd_less", swing->usd[0]},
                     {"usd_more", swing->usd[1]});
        json_end_object(json);
    }
    json_end_array(json);
}
