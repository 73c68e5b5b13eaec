/* json_validate.c - writes the document of `plait validate --json` */
#include "report/report_validate.h"

#include "io/json/json_write.h"
#include "io/plans/plans_json.h"

#include <math.h>

/* ---- step time ---- */

static void write_errors(json_writer *json, const plait_errors *errors)
{
    json_member_int64(json, "rows", (int64_t)errors->rows);
    JSON_NUMBERS(json, {"mape", errors->mape}, {"median", errors->median}, {"p90", errors->p90},
                 {"bias", errors->bias});
}

static void write_groups(json_writer *json, const char *key, const char *what,
                         const plait_error_group *group, size_t count)
{
    json_member_array(json, key);
    for (size_t g = 0; g < count; g++) {
        json_begin_object(json);
        json_member_string(json, what, group[g].name);
        if (group[g].scope != NULL)
            json_member_string(json, "mem_scope", group[g].scope);
        write_errors(json, &group[g].errors);
        if (group[g].scope == NULL)
            json_member_number(json, "inside_band", group[g].inside);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_summary_of(json_writer *json, const char *key, const plait_rank_summary *summary)
{
    JSON_NUMBER_OBJECT(json, key, {"mean", summary->mean}, {"median", summary->median});
}

static void write_confusion(json_writer *json, const plait_confusion *c)
{
    json_member_int64(json, "true_positives", (int64_t)c->true_positives);
    json_member_int64(json, "false_positives", (int64_t)c->false_positives);
    json_member_int64(json, "true_negatives", (int64_t)c->true_negatives);
    json_member_int64(json, "false_negatives", (int64_t)c->false_negatives);
    json_member_int64(json, "tight", (int64_t)c->tight);
    json_member_number(json, "balanced_accuracy", c->balanced_accuracy);
}

/* ---- the document ---- */

static void write_claims(json_writer *json, const plait_validation *v)
{
    char text[PLAIT_VALUE_SIZE];

    json_member_object(json, "claims");
    json_member_number(json, "half_at", v->half_at);
    json_member_array(json, "techniques");
    for (size_t i = 0; i < v->claims; i++) {
        const plait_claim *const claim = &v->claim[i];

        json_begin_object(json);
        JSON_STRINGS(json, {"key", plait_keys[claim->key].name},
                     {"value", plait_key_text(claim->key, claim->value, text, sizeof text)});
        json_member_int64(json, "runs", (int64_t)claim->rows);
        json_member_int64(json, "runs_without", (int64_t)claim->rows_without);
        JSON_NUMBERS(json, {"claimed", claim->claimed}, {"gained", claim->gained},
                     {"error", claim->error});
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_optimism(json_writer *json, const char *key, const plait_optimism *sum)
{
    json_member_object(json, key);
    json_member_int64(json, "jobs", (int64_t)sum->jobs);
    JSON_NUMBERS(json, {"median", sum->median}, {"below", sum->below}, {"above", sum->above});
    json_end_object(json);
}

static void write_promises(json_writer *json, const plait_validation *v)
{
    char text[REPORT_TERMS_SIZE];

    json_member_object(json, "optimism");
    write_optimism(json, "dense", &v->optimism_dense);
    write_optimism(json, "experts", &v->optimism_experts);
    json_member_array(json, "jobs");
    for (size_t i = 0; i < v->promises; i++) {
        const plait_promise *const promise = &v->promise[i];
        const plait_run *const run = &v->runs->run[promise->best];

        json_begin_object(json);
        json_member_string(json, "best", run->id);
        json_member_int64(json, "runs", (int64_t)promise->runs);
        json_member_bool(json, "experts", promise->experts);
        JSON_NUMBERS(json, {"measured_step_s", run->step_s},
                     {"promised_step_s", promise->promised_s}, {"ratio", promise->ratio});
        json_member_string(json, "plan", report_promised_plan(promise, text));
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_summary(json_writer *json, const plait_validation *v)
{
    static const char *const keys[PLAIT_RUN_KEYS] = {[PLAIT_BY_SOURCE] = "by_source",
                                                     [PLAIT_BY_SWEEP] = "by_sweep",
                                                     [PLAIT_BY_ACCELERATOR] = "by_accelerator",
                                                     [PLAIT_BY_LAYERS] = "by_layers"};

    json_member_object(json, "summary");
    json_member_int64(json, "rows", (int64_t)v->runs->count);
    json_member_int64(json, "priced", (int64_t)v->priced);
    json_member_int64(json, "timed", (int64_t)v->timed);
    json_member_int64(json, "timed_priced", (int64_t)v->timed_priced);
    json_member_object(json, "step_time");
    write_errors(json, &v->total);
    json_member_number(json, "inside_band", v->inside);
    for (int k = 0; k < PLAIT_RUN_KEYS; k++)
        write_groups(json, keys[k], plait_run_key_name[k], v->group[k], v->groups[k]);
    json_end_object(json);
    json_member_array(json, "left_out");
    for (size_t i = 0; i < v->left_outs; i++) {
        const plait_left_out *const left_out = &v->left_out[i];

        json_begin_object(json);
        JSON_STRINGS(json, {"source", left_out->source}, {"runtime", left_out->runtime});
        json_member_bool(json, "calibrated", left_out->calibrated);
        write_errors(json, &left_out->errors);
        JSON_NUMBERS(json, {"inside_band", left_out->inside}, {"band_width", left_out->width});
        json_end_object(json);
    }
    json_end_array(json);
    json_member_object(json, "ranking");
    write_summary_of(json, "spearman", &v->spearman);
    write_summary_of(json, "kendall", &v->kendall);
    write_summary_of(json, "regret", &v->regret);
    write_summary_of(json, "regret_beyond_noise", &v->regret_beyond_noise);
    json_member_array(json, "sweeps");
    for (size_t s = 0; s < v->sweeps; s++) {
        const plait_sweep_rank *const sweep = &v->sweep[s];

        json_begin_object(json);
        JSON_STRINGS(json, {"sweep", sweep->name}, {"source", sweep->source});
        json_member_int64(json, "plans", (int64_t)sweep->plans);
        JSON_NUMBERS(json, {"spearman", sweep->spearman}, {"kendall", sweep->kendall},
                     {"regret", sweep->regret},
                     {"regret_beyond_noise", sweep->regret_beyond_noise});
        JSON_STRINGS(json, {"chosen", v->runs->run[sweep->chosen].id},
                     {"best", v->runs->run[sweep->best].id});
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
    json_member_object(json, "memory");
    write_errors(json, &v->memory_total);
    write_groups(json, "by_source", "source", v->memory, v->memories);
    json_end_object(json);
    json_member_object(json, "out_of_memory");
    write_confusion(json, &v->confusion_total);
    json_member_array(json, "by_source");
    for (size_t g = 0; g < v->confusions; g++) {
        json_begin_object(json);
        json_member_string(json, "source", v->confusion[g].source);
        write_confusion(json, &v->confusion[g]);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
    write_claims(json, v);
    if (v->promises > 0)
        write_promises(json, v);
    json_member_array(json, "worst");
    for (size_t i = 0; i < v->worst_count; i++) {
        const plait_run_price *const price = &v->price[v->worst[i]];

        json_begin_object(json);
        json_member_string(json, "id", price->run->id);
        json_member_number(json, "error", price->cost.step_s / price->run->step_s - 1.0);
        json_member_object(json, "time");
#define X(name, equation, what) json_member_number(json, #name "_s", price->cost.step.name##_s);
        PLAIT_STEP_TERMS(X)
#undef X
        json_end_object(json);
        json_end_object(json);
    }
    json_end_array(json);
    json_member_array(json, "unpriced");
    for (size_t i = 0; i < v->reasons; i++) {
        json_begin_object(json);
        json_member_string(json, "why", v->unpriced[i].why);
        json_member_int64(json, "rows", (int64_t)v->unpriced[i].rows);
        json_member_string(json, "first", v->unpriced[i].first);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void json_validation(json_writer *json, const plait_validation *v)
{
    json_member_array(json, "rows");
    for (size_t i = 0; i < v->runs->count; i++) {
        const plait_run_price *const price = &v->price[i];
        const plait_run *const run = price->run;
        const plait_cost *const cost = &price->cost;
        const bool priced = price->priced;

        json_begin_object(json);
        JSON_STRINGS(json, {"id", run->id}, {"source", run->source},
                     {"sweep", run->sweep[0] != '\0' ? run->sweep : NULL},
                     {"outcome", plait_run_outcome_name[run->outcome]},
                     {"verdict", plait_verdict_name[price->verdict]});
        JSON_NUMBERS(json, {"step_s", priced ? cost->step_s : (double)NAN},
                     {"step_low_s", priced ? cost->step_low_s : (double)NAN},
                     {"step_high_s", priced ? cost->step_high_s : (double)NAN},
                     {"measured_step_s", run->step_s}, {"memory_bytes", price->memory_bytes},
                     {"measured_memory_bytes", run->peak_bytes}, {"risk", price->risk});
        if (priced)
            plans_write_memory(json, &cost->memory);
        else
            json_member_null(json, "memory");
        json_member_string(json, "note", price->note[0] != '\0' ? price->note : NULL);
        json_end_object(json);
    }
    json_end_array(json);
    write_summary(json, v);
}
