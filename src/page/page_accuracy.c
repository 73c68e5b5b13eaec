/* page_accuracy.c - builds the page of plait validate: errors, bands, ranking, memory, worst runs */
#include "page/pages.h"

#include <stdio.h>

#include "report/report_validate.h"
#include "report/units.h"

/* ---- step time ---- */

static void add_errors(page_table *rows, const plait_errors *errors)
{
    PAGE_ROW(rows, as_int((double)errors->rows), as_percent(errors->mape),
             as_percent(errors->median), as_percent(errors->p90), as_signed_percent(errors->bias));
}

static void add_groups(page_table *rows, const plait_validation *v, plait_run_key by)
{
    for (size_t g = 0; g < v->groups[by]; g++) {
        page_word(rows, "%s", v->group[by][g].name);
        add_errors(rows, &v->group[by][g].errors);
        PAGE_ROW(rows, as_percent(v->group[by][g].inside));
    }
}

static void add_times(page *out, const plait_validation *v)
{
    static const char columns[] = "source=source|rows>rows|mape>mean error|median>median|"
                                  "p90>p90|bias>bias|inside>in band";
    page_table *rows =
        page_table_add(out, "sources", "Error of the step time by source", columns, "sources");

    add_groups(rows, v, PLAIT_BY_SOURCE);
    page_word(rows, "all");
    add_errors(rows, &v->total);
    PAGE_ROW(rows, as_percent(v->inside));
    rows = page_table_add(out, "layers", "Error of the step time by layers and precision", columns,
                          NULL);
    add_groups(rows, v, PLAIT_BY_LAYERS);
    rows =
        page_table_add(out, "accelerators", "Error of the step time by accelerator", columns, NULL);
    add_groups(rows, v, PLAIT_BY_ACCELERATOR);
}

static void add_left_out(page_table *rows, const plait_left_out *left_out, const char *source)
{
    PAGE_ROW(rows, as_text(source), as_text(left_out->runtime != NULL ? left_out->runtime : "-"));
    add_errors(rows, &left_out->errors);
    PAGE_ROW(rows, as_percent(left_out->inside), as_percent(left_out->width));
}

static void add_runs(page *out, const plait_validation *v)
{
    page_table *rows;

    page_section(out, "runs", "Measured and predicted");
    rows = page_table_add(out, "all-runs", "Step time of every timed run",
                          "id=run|source=source|sweep=sweep|accelerator=accelerator|"
                          "measured_s>measured|predicted_s>predicted|error>error|"
                          "low_s>band, low|high_s>band, high",
                          "accuracy");
    for (size_t i = 0; i < v->runs->count; i++) {
        const plait_run_price *const price = &v->price[i];
        const plait_run *const run = price->run;

        if (price->priced && plait_run_timed(run)) {
            PAGE_ROW(rows, as_text(run->id), as_text(run->source), as_text(run->sweep),
                     as_text(run->accelerator), as_seconds(run->step_s),
                     as_seconds(price->cost.step_s),
                     as_signed_percent(price->cost.step_s / run->step_s - 1.0),
                     as_seconds(price->cost.step_low_s), as_seconds(price->cost.step_high_s));
        }
    }
}

/* ---- ranking ---- */

static void add_number(page_table *rows, double number)
{
    page_number(rows, number, "%.3f", number);
}

static void add_replay_rows(page_table *rows, const char *how, const double regret[PLAIT_REPLAYS])
{
    for (int r = 0; r < PLAIT_REPLAYS; r++) {
        PAGE_ROW(rows, as_text(how), as_int(plait_replay_tries[r]), as_percent(regret[r]));
    }
}

static void add_ranking(page *out, const plait_validation *v)
{
    page_table *rows;
    char text[REPORT_TERMS_SIZE];

    if (v->sweeps == 0)
        return;
    page_section(out, "ranking", "Ranking of plans");
    page_text(
        out,
        "%zu sweeps of at least %d timed plans. Means over the sweeps: Spearman %.3f; the plan "
        "predicted fastest takes %.1f %% longer than the plan measured fastest.",
        v->sweeps, PLAIT_SWEEP_LEAST, v->spearman.mean, 100.0 * v->regret.mean);
    page_table *sweeps = page_table_add(out, "sweeps", "Rank correlation and regret of each sweep",
                                        "sweep=sweep|plans>plans|spearman>Spearman|kendall>Kendall|"
                                        "regret>regret|beyond_noise>regret beyond noise|"
                                        "chosen=predicted fastest|best=measured fastest",
                                        NULL);
    for (size_t s = 0; s < v->sweeps; s++) {
        const plait_sweep_rank *const sweep = &v->sweep[s];

        PAGE_ROW(sweeps, as_text(sweep->name), as_int((double)sweep->plans));
        add_number(sweeps, sweep->spearman);
        add_number(sweeps, sweep->kendall);
        PAGE_ROW(sweeps, as_percent(sweep->regret), as_percent(sweep->regret_beyond_noise),
                 as_text(report_run_plan(&v->price[sweep->chosen], text)));
        page_word(sweeps, "%s", report_run_plan(&v->price[sweep->best], text));
    }
    rows = page_table_add(out, "replay",
                          "Regret of the best of a few tried plans, mean over the sweeps",
                          "how=choice of plans|tries>plans tried|regret>regret", "replay");
    add_replay_rows(rows, "at random", v->replay.random);
    add_replay_rows(rows, "in predicted order", v->replay.ranked);
    add_replay_rows(rows, "a set (search --try)", v->replay.tries);
    add_replay_rows(rows, "one by one (plait next)", v->replay.updated);
}

/* ---- memory ---- */

static void add_confusion(page_table *rows, const plait_confusion *c, const char *source)
{
    const double ran = (double)(c->true_negatives + c->false_positives);
    const double failed = (double)(c->true_positives + c->false_negatives);

    PAGE_ROW(rows, as_text(source), as_int(ran), as_percent((double)c->false_positives / ran),
             as_percent((double)c->tight / ran), as_int(failed),
             as_percent((double)c->true_positives / failed), as_percent(c->balanced_accuracy));
}

static void add_memory(page *out, const plait_validation *v)
{
    page_table *rows;

    page_section(out, "memory", "Memory");
    rows = page_table_add(out, "peaks", "Error of the peak memory",
                          "source=source|scope=measured as|rows>rows|mape>mean error|"
                          "median>median|p90>p90|bias>bias",
                          NULL);
    for (size_t g = 0; g < v->memories; g++) {
        PAGE_ROW(rows, as_text(v->memory[g].name), as_text(v->memory[g].scope));
        add_errors(rows, &v->memory[g].errors);
    }
    PAGE_ROW(rows, as_text("all"), as_text(""));
    add_errors(rows, &v->memory_total);
    if (v->confusions != 0) {
        rows = page_table_add(out, "verdicts", "Out-of-memory failures, predicted and measured",
                              "source=source|ran>ran|called_oom>ran, predicted oom|"
                              "tight>ran, predicted tight|failed>failed|"
                              "foreseen>failed, predicted oom|balanced>balanced accuracy",
                              NULL);
        for (size_t g = 0; g < v->confusions; g++)
            add_confusion(rows, &v->confusion[g], v->confusion[g].source);
        add_confusion(rows, &v->confusion_total, "all");
    }
}

/* ---- techniques ---- */

static void add_claims(page *out, const plait_validation *v)
{
    page_table *rows;
    char text[PLAIT_VALUE_SIZE];

    page_section(out, "techniques", "Claimed and measured gains of techniques");
    page_text(out,
              "Runs with a technique are compared with runs without it, of the same job or else "
              "of the same kind. A search counts only a part of a claim: half of it with %.1f "
              "independent jobs.",
              v->half_at);
    rows = page_table_add(out, "claims", "Gain of the step time",
                          "technique=technique|runs>runs|without>runs without|claimed>claimed|"
                          "gained>measured|error>error of a claim",
                          NULL);
    for (size_t i = 0; i < v->claims; i++) {
        const plait_claim *const claim = &v->claim[i];

        page_word(rows, "%s %s", plait_keys[claim->key].name,
                  plait_key_text(claim->key, claim->value, text, sizeof text));
        PAGE_ROW(rows, as_int((double)claim->rows), as_int((double)claim->rows_without),
                 as_signed_percent(claim->claimed), as_signed_percent(claim->gained),
                 as_percent(claim->error));
    }
}

/* ---- promises of searches ---- */

static void add_optimism(page_table *rows, const char *jobs, const plait_optimism *sum)
{
    PAGE_ROW(rows, as_text(jobs), as_int((double)sum->jobs));
    page_number(rows, sum->median, "%.2f", sum->median);
    PAGE_ROW(rows, as_percent(sum->below), as_percent(sum->above));
}

static void add_promises(page *out, const plait_validation *v)
{
    page_table *rows;
    char text[REPORT_TERMS_SIZE];

    page_section(out, "promises", "Promised and best measured steps");
    page_text(out, "For each job of a tuned recipe, the step of the plan that plait search "
                   "recommends, over the best measured step of the job.");
    rows = page_table_add(out, "optimism", "Promised over best measured step",
                          "jobs=jobs|number>number|median>median|below>below 0.85|"
                          "above>above 1.08",
                          NULL);
    add_optimism(rows, "dense", &v->optimism_dense);
    add_optimism(rows, "experts", &v->optimism_experts);
    rows = page_table_add(out, "jobs", "Promise of each job",
                          "id=best run|runs>runs|measured_s>measured|promised_s>promised|"
                          "ratio>ratio|plan=recommended plan",
                          NULL);
    for (size_t i = 0; i < v->promises; i++) {
        const plait_promise *const promise = &v->promise[i];
        const plait_run *const run = &v->runs->run[promise->best];

        PAGE_ROW(rows, as_text(run->id), as_int((double)promise->runs), as_seconds(run->step_s),
                 as_seconds(promise->promised_s));
        page_number(rows, promise->ratio, "%.2f", promise->ratio);
        page_word(rows, "%s", report_promised_plan(promise, text));
    }
}

// ---- the page ------------------------------------------------------------------------------

plait_status page_of_accuracy(const plait_validation *v, const char *command, plait_arena *arena,
                              page **out, plait_error *err)
{
    page *made = page_new(arena, "Measured against predicted: %s", v->runs->name);
    page_table *rows;
    char text[REPORT_TERMS_SIZE], figure[UNITS_SIZE];

    *out = made;
    PLAIT_TRY(plait_check_allocated(made, err));
    page_answer(made, "Half of the predicted step times are within %s of the measured ones.",
                units_percent(v->total.median, figure));
    page_figure(made, "median error of the step time", figure, "of %zu timed runs",
                v->timed_priced);
    page_figure(made, "mean error", units_percent(v->total.mape, figure), "outliers included");
    snprintf(figure, sizeof figure, "%+.1f %%", 100.0 * v->total.bias);
    page_figure(made, "bias", figure,
                "predicted / measured - 1; above 0: predictions are too slow");
    page_assume(made, "runs",
                "%zu rows, %zu priced; %zu timed rows of trust high or medium, %zu priced",
                v->runs->count, v->priced, v->timed, v->timed_priced);
    page_assume(
        made, "bands",
        "a band contains 80 %% of comparable measured runs from sources other than the row's own");
    page_section(made, "times", "Step time");
    add_times(made, v);
    add_runs(made, v);
    if (v->left_outs != 0) {
        page_section(made, "unseen", "Sources left out of the fit");
        page_text(made,
                  "Each source is predicted by profiles and bands fitted without it. This is the "
                  "error to expect on a cluster that has not been measured.");
        rows = page_table_add(made, "left-out", "Error of the step time for each left-out source",
                              "source=source|runtime=software|rows>rows|mape>mean error|"
                              "median>median|p90>p90|bias>bias|inside>in 80 % band|"
                              "width>band width",
                              "sources");
        for (size_t i = 0; i < v->left_outs; i++)
            add_left_out(rows, &v->left_out[i], v->left_out[i].source);
        add_left_out(rows, &v->left_out_total, "all");
    }
    add_ranking(made, v);
    add_memory(made, v);
    if (v->claims > 0)
        add_claims(made, v);
    if (v->promises > 0)
        add_promises(made, v);
    page_section(made, "worst", "Largest errors");
    rows = page_table_add(made, "worst-runs", "Rows with the largest errors of the step time",
                          "id=run|measured_s>measured|predicted_s>predicted|"
                          "error>error|plan=plan|terms=predicted terms",
                          NULL);
    for (size_t i = 0; i < v->worst_count; i++) {
        const plait_run_price *const price = &v->price[v->worst[i]];

        PAGE_ROW(rows, as_text(price->run->id), as_seconds(price->run->step_s),
                 as_seconds(price->cost.step_s),
                 as_signed_percent(price->cost.step_s / price->run->step_s - 1.0),
                 as_text(report_run_plan(price, text)));
        page_word(rows, "%s", report_run_terms(&price->cost, text));
    }
    if (v->reasons != 0) {
        page_section(made, "unpriced", "Rows that are not priced");
        rows = page_table_add(made, "reasons", "Reasons why rows are not priced",
                              "rows>rows|first=first row|why=reason", NULL);
        for (size_t i = 0; i < v->reasons; i++) {
            PAGE_ROW(rows, as_int((double)v->unpriced[i].rows), as_text(v->unpriced[i].first),
                     as_text(v->unpriced[i].why));
        }
    }
    page_grounds(made);
    page_command(made, command);
    return PLAIT_OK;
}
