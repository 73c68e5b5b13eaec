/* report_post.c - predictions of measured runs of fine-tuning and reinforcement learning */
#include <math.h>
#include <string.h>

#include "report/report_table.h"
#include "report/report_validate.h"

static void add_figure(table *rows, const char *what, double value, const char *unit, int runs)
{
    if (runs == 0)
        return;
    table_cell(rows, "%s", what);
    table_cell(rows, "%.1f %s", 100.0 * value, unit);
    table_cell(rows, "%d", runs);
}

static void add_seconds(table *rows, double seconds)
{
    if (isfinite(seconds))
        table_cell(rows, "%.3g s", seconds);
    else
        table_cell(rows, "-");
}

plait_status report_post_validation(const plait_post_validation *v, FILE *out, plait_error *err)
{
    table *const rows = table_new("run|job|model|>GPUs|>predicted|>measured|fits|>fewest GPUs|"
                                  "note@below");
    table *const figures = table_new("figure|>value|>runs");

    for (size_t i = 0; i < v->count; i++) {
        const plait_post_price *const price = &v->price[i];
        const plait_post_run *const run = price->run;
        const bool sync = strcmp(run->job, "sync") == 0;
        table_cell(rows, "%s", run->id);
        table_cell(rows, "%s", run->job);
        table_cell(rows, "%s", run->model);
        if (isfinite(run->gpus))
            table_cell(rows, "%.0f", run->gpus);
        else
            table_cell(rows, "-");
        add_seconds(rows, sync ? price->sync_s : price->step_s);
        add_seconds(rows, sync ? run->sync_s : run->step_s);
        table_cell(rows, "%s", !price->judged ? "-" : price->feasible ? "yes" : "no");
        if (price->fewest_gpus > 0)
            table_cell(rows, "%d", price->fewest_gpus);
        else
            table_cell(rows, "-");
        table_cell(rows, "%s", price->note);
    }
    add_figure(figures, "steps of SFT and LoRA, mean error", v->tuning_error, "%", v->tuning_runs);
    add_figure(figures, "steps of reinforcement learning, median error", v->rl_error, "%",
               v->rl_runs);
    add_figure(figures, "shares of phases, mean absolute error", v->share_error, "points",
               v->share_runs);
    add_figure(figures, "weight hand-over, median error", v->sync_error, "%", v->sync_runs);
    add_figure(figures, "runs that ran and fit", v->feasible, "%", v->feasible_runs);
    add_figure(figures, "fewest GPUs within a factor of two", v->within_double, "%",
               v->fewest_runs);
    const plait_status status = table_print(rows, 2, out, err);
    if (status != PLAIT_OK) {
        table_free(figures);
        return status;
    }
    fprintf(out, "\n");
    return table_print(figures, 2, out, err);
}

void json_post_validation(json_writer *json, const plait_post_validation *v)
{
    json_member_array(json, "rows");
    for (size_t i = 0; i < v->count; i++) {
        const plait_post_price *const price = &v->price[i];
        json_begin_object_row(json);
        json_member_string(json, "id", price->run->id);
        JSON_NUMBERS(json, {"step_s", price->step_s}, {"rollout_s", price->rollout_s},
                     {"logprob_s", price->logprob_s}, {"reference_s", price->reference_s},
                     {"train_s", price->train_s}, {"sync_s", price->sync_s});
        if (price->judged)
            json_member_bool(json, "feasible", price->feasible);
        else
            json_member_null(json, "feasible");
        if (price->fewest_gpus > 0)
            json_member_int64(json, "fewest_gpus", price->fewest_gpus);
        else
            json_member_null(json, "fewest_gpus");
        json_member_string(json, "note", price->note);
        json_end_object(json);
    }
    json_end_array(json);
    JSON_NUMBERS(json, {"tuning_step_mean_error", v->tuning_error},
                 {"rl_step_median_error", v->rl_error}, {"phase_share_mean_error", v->share_error},
                 {"handover_median_error", v->sync_error}, {"feasible_share", v->feasible},
                 {"fewest_within_double", v->within_double});
}
