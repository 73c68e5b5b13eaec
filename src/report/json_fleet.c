/* json_fleet.c - the document of `plait capacity --serve --json` */
#include <math.h>

#include "io/json/json_write.h"
#include "report/report_fleet.h"

static const char *const mode_name[PLAIT_FLEET_MODES] = {"reserved", "elastic"};

static const char *role_of(const plait_fleet *fleet, int role)
{
    return !fleet->plan.disaggregated ? "aggregated" : role == 0 ? "prefill" : "decode";
}

static void write_modes(json_writer *json, const char *key, const double value[PLAIT_FLEET_MODES])
{
    json_write_key(json, key);
    json_begin_object(json);
    for (int m = 0; m < PLAIT_FLEET_MODES; m++)
        json_member_number(json, mode_name[m], value[m]);
    json_end_object(json);
}

static void write_asked(json_writer *json, const report_fleet *report)
{
    const plait_serve_question *const q = report->question;
    const plait_fleet_ask *const ask = report->ask;

    json_write_key(json, "asked");
    json_begin_object(json);
    json_member_number(json, "input", q->load.input);
    json_member_number(json, "output", q->load.output);
    json_member_number(json, "prefix_cached", q->load.cached);
#define X(flag, name)                                                                              \
    json_member_number(json, #name "_ms", q->name##_s > 0.0 ? q->name##_s * 1e3 : (double)NAN);
    PLAIT_SERVE_LIMIT_LIST(X)
#undef X
    json_member_int64(json, "gpus", q->gpus);
    json_member_number(json, "availability", ask->available);
    if (ask->failures.spares >= 0)
        json_member_int64(json, "spare_nodes", ask->failures.spares);
    json_member_string(json, "by", mode_name[ask->mode]);
    json_member_number(json, "interruptions_per_node_day",
                       ask->failures.interruptions_per_node_day);
    json_member_number(json, "node_loss", ask->failures.node_loss);
    json_member_number(json, "repeat", ask->failures.repeat);
    json_member_number(json, "detect_s", ask->failures.detect_s);
    json_member_number(json, "restart_s", ask->failures.restart_s);
    json_member_number(json, "repair_s", ask->failures.repair_s);
    json_write_key(json, "rates");
    json_begin_array(json);
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        json_write_number(json, ask->rate[h]);
    json_end_array(json);
    json_end_object(json);
}

static void write_workers(json_writer *json, const plait_fleet *fleet)
{
    json_write_key(json, "workers");
    json_begin_object(json);
    for (int r = 0; r <= fleet->plan.disaggregated; r++) {
        const plait_worker w = fleet->plan.worker[r];

        json_write_key(json, role_of(fleet, r));
        json_begin_object(json);
        json_member_int64(json, "count", fleet->hour[fleet->busiest].workers[r]);
        json_member_int64(json, "tp", w.tp);
        json_member_int64(json, "pp", w.pp);
        json_member_int64(json, "ep", w.ep);
        json_member_int64(json, "dp_attention", w.dp_attention);
        json_member_int64(json, "nodes", fleet->unit[r].nodes);
        json_member_int64(json, "a_node", fleet->unit[r].workers);
        json_member_number(json, "available", fleet->unit[r].available);
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_hour(json_writer *json, const plait_fleet *fleet, int h)
{
    const plait_fleet_hour *const hour = &fleet->hour[h];

    json_begin_object(json);
    json_member_int64(json, "hour", h);
    json_member_number(json, "rate", hour->rate);
    for (int r = 0; r <= fleet->plan.disaggregated; r++)
        json_member_int64(json, role_of(fleet, r), hour->workers[r]);
    json_member_int64(json, "nodes", hour->nodes);
    json_member_int64(json, "spare_nodes", hour->spare_nodes);
    json_member_number(json, "available", hour->available);
    json_member_string(json, "lacks",
                       hour->lack == PLAIT_FLEET_LACKS_NOTHING ? NULL
                                                               : plait_fleet_lack_name[hour->lack]);
    json_member_number(json, "ttft_ms", hour->ttft_s * 1e3);
    json_member_number(json, "ttft_p99_ms", hour->ttft_p99_s * 1e3);
    json_member_number(json, "tpot_ms", hour->tpot_s * 1e3);
    write_modes(json, "used", hour->used);
    json_end_object(json);
}

static void write_band(json_writer *json, const plait_fleet *fleet)
{
    static const char *const side_name[] = {"low", "high"};

    json_write_key(json, "band");
    json_begin_object(json);
    for (int side = 0; side < 2; side++) {
        const plait_fleet_totals *const totals = &fleet->band[side];

        json_write_key(json, side_name[side]);
        json_begin_object(json);
        json_member_number(json, "nodes", totals->nodes > 0 ? totals->nodes : (double)NAN);
        json_member_number(json, "gpus", totals->nodes > 0 ? totals->gpus : (double)NAN);
        write_modes(json, "usd_month", totals->usd);
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_fleet(json_writer *json, const plait_fleet *fleet, int rank)
{
    const plait_serve_plan *const p = &fleet->plan;
    const plait_fleet_hour *const hour = &fleet->hour[fleet->busiest];
    const plait_engine *const e = p->engine;

    json_begin_object(json);
    json_member_int64(json, "rank", rank);
    json_member_string(json, "engine", plait_engine_name[e->kind]);
    json_member_string(json, "profile", e->name);
    json_member_string(json, "mode", p->disaggregated ? "disaggregated" : "aggregated");
    write_workers(json, fleet);
    json_member_string(json, "weights", plait_weight_name[p->weights]);
    json_member_string(json, "kv", plait_kv_name[p->kv]);
    json_member_number(json, "chunk_tokens", p->chunk_tokens);
    json_member_int64(json, "nodes", fleet->totals.nodes);
    json_member_int64(json, "spare_nodes", hour->spare_nodes);
    json_member_int64(json, "gpus", fleet->totals.gpus);
    json_member_bool(json, "simulated", fleet->simulated);
    json_member_number(json, "margin", fleet->margin);
    json_member_number(json, "available", hour->available);
    json_member_int64(json, "busiest_hour", fleet->busiest);
    json_member_string(json, "binds", plait_serve_bind_name[p->service.binds]);
    json_member_number(json, "ttft_low_ms", hour->ttft_s * 1e3 * e->band[PLAIT_SERVE_TTFT][0]);
    json_member_number(json, "ttft_high_ms", hour->ttft_s * 1e3 * e->band[PLAIT_SERVE_TTFT][1]);
    json_member_number(json, "tpot_low_ms", hour->tpot_s * 1e3 * e->band[PLAIT_SERVE_TPOT][0]);
    json_member_number(json, "tpot_high_ms", hour->tpot_s * 1e3 * e->band[PLAIT_SERVE_TPOT][1]);
    json_member_number(json, "sustains_rate", fleet->sustained);
    json_member_number(json, "out_tok_day", fleet->tokens_per_day);
    write_modes(json, "node_hours_day", fleet->totals.node_hours);
    write_modes(json, "usd_month", fleet->totals.usd);
    write_modes(json, "usd_per_mtok", fleet->usd_per_mtok);
    write_modes(json, "kwh_month", fleet->kwh);
    write_band(json, fleet);
    json_write_key(json, "hours");
    json_begin_array(json);
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        write_hour(json, fleet, h);
    json_end_array(json);
    json_end_object(json);
}

static void write_nothing(json_writer *json, const plait_fleet_answer *answer)
{
    const plait_serve_answer *const search = answer->search;
    const bool nearest = answer->considered == 0 && search->has_nearest;

    json_write_key(json, "needs");
    json_begin_object(json);
    json_member_number(json, "gpus", answer->needs_gpus > 0 ? answer->needs_gpus : (double)NAN);
    json_member_number(json, "ttft_ms", nearest ? search->needs_ttft_s * 1e3 : (double)NAN);
    json_member_number(json, "tpot_ms", nearest ? search->needs_tpot_s * 1e3 : (double)NAN);
    json_end_object(json);
}

plait_status json_fleet(const report_fleet *report, plait_arena *arena, const char **text,
                        size_t *length, plait_error *err)
{
    const plait_fleet_answer *const answer = report->answer;
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_version(&json);
    json_member_string(&json, "model", report->question->model->name);
    json_member_string(&json, "cluster", report->question->cluster->name);
    json_member_int64(&json, "gpus_per_node", answer->gpus_per_node);
    write_asked(&json, report);
    json_member_int64(&json, "considered", answer->considered);
    json_member_int64(&json, "divided", answer->divided);
    json_write_key(&json, "fleets");
    json_begin_array(&json);
    for (int i = 0; i < answer->fleets; i++)
        write_fleet(&json, &answer->fleet[i], i + 1);
    json_end_array(&json);
    if (answer->fleets == 0)
        write_nothing(&json, answer);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
