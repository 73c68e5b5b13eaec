/* report_validate.c - prints measured runs next to predictions */
#include "report/report_validate.h"

#include <math.h>

#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

/* ---- cells ---- */

static void errors_cells(table *rows, const plait_errors *errors)
{
    TABLE_ROW(rows, as_int((double)errors->rows), as_format("%.1f %%", 100.0 * errors->mape),
              as_format("%.1f %%", 100.0 * errors->median),
              as_format("%.1f %%", 100.0 * errors->p90),
              as_format("%+.1f %%", 100.0 * errors->bias));
}

/* ---- step time ---- */

static void group_rows(table *rows, const plait_validation *v, plait_run_key by)
{
    for (size_t g = 0; g < v->groups[by]; g++) {
        table_cell(rows, "%s", v->group[by][g].name);
        errors_cells(rows, &v->group[by][g].errors);
        TABLE_ROW(rows, as_format("%.0f %%", 100.0 * v->group[by][g].inside));
    }
}

static plait_status print_times(const plait_validation *v, plait_run_key by, FILE *out,
                                plait_error *err)
{
    char columns[96];
    table *rows;

    snprintf(columns, sizeof columns, "%s|>rows|>MAPE|>median|>p90|>bias|>in band",
             plait_run_key_name[by]);
    rows = table_new(columns);
    group_rows(rows, v, by);
    if (by == PLAIT_BY_SOURCE)
        group_rows(rows, v, PLAIT_BY_LAYERS);
    table_cell(rows, "all");
    errors_cells(rows, &v->total);
    TABLE_ROW(rows, as_format("%.0f %%", 100.0 * v->inside));
    fputs("\nstep time, predicted over measured - 1:\n", out);
    return table_print(rows, 2, out, err);
}

/* ---- predictions without the run's own source ---- */

static void left_out_cells(table *rows, const plait_left_out *left_out)
{
    errors_cells(rows, &left_out->errors);
    TABLE_ROW(rows, as_format("%.0f %%", 100.0 * left_out->inside),
              as_format("%.0f %%", 100.0 * left_out->width));
}

static plait_status print_left_out(const plait_left_out *left_out, size_t count,
                                   const plait_left_out *total, FILE *out, plait_error *err)
{
    table *rows = table_new("source|software|constants from|>rows|>MAPE|>median|>p90|"
                            ">bias|>in 80 % band|>band width");

    for (size_t i = 0; i < count; i++) {
        TABLE_ROW(rows, as_text(left_out[i].source), as_text(left_out[i].runtime),
                  left_out[i].calibrated ? as_text("other sources") : as_text("its family"));
        left_out_cells(rows, &left_out[i]);
    }
    TABLE_ROW(rows, as_text("all"), as_text("-"), as_text("-"));
    left_out_cells(rows, total);
    fputs("\nstep time of each source, with profiles and bands fitted without it:\n", out);
    return table_print(rows, 2, out, err);
}

plait_status report_left_out(const plait_evidence *evidence, FILE *out, plait_arena *arena,
                             plait_error *err)
{
    plait_left_out *left_out, total;
    size_t count;

    PLAIT_TRY(plait_evidence_sum(evidence, arena, &left_out, &count, &total, err));
    return print_left_out(left_out, count, &total, out, err);
}

/* ---- ranking ---- */

static void replay_cells(table *rows, const char *name, const double regret[PLAIT_REPLAYS])
{
    table_cell(rows, "%s", name);
    for (int r = 0; r < PLAIT_REPLAYS; r++)
        TABLE_ROW(rows, as_format("%.1f %%", 100.0 * regret[r]));
}

static plait_status print_replay(const plait_validation *v, FILE *out, plait_error *err)
{
    char columns[128] = "plans tried";
    table *rows;

    if (v->sweeps == 0)
        return PLAIT_OK;
    for (int r = 0; r < PLAIT_REPLAYS; r++)
        report_append(columns, sizeof columns, "|>%d", plait_replay_tries[r]);
    rows = table_new(columns);
    replay_cells(rows, "at random", v->replay.random);
    replay_cells(rows, "in predicted order", v->replay.ranked);
    replay_cells(rows, "a set from search --try", v->replay.tries);
    replay_cells(rows, "  its expected regret", v->replay.expected);
    replay_cells(rows, "one by one with next", v->replay.updated);
    fprintf(out, "\nregret of the best of a few measured plans, mean over these sweeps:\n");
    return table_print(rows, 2, out, err);
}

static void add_degree(char text[REPORT_TERMS_SIZE], const char *name, int degree, int neutral)
{
    if (degree != neutral)
        report_append(text, REPORT_TERMS_SIZE, "%s%s %d", text[0] != '\0' ? " " : "", name, degree);
}

const char *report_promised_plan(const plait_promise *promise, char text[REPORT_TERMS_SIZE])
{
    const plait_degrees *const degrees = &promise->degrees;

    text[0] = '\0';
    if (!isfinite(promise->ratio))
        return "no plan fits";
    for (int key = 0; key < PLAIT_KEYS; key++) {
        char value[PLAIT_VALUE_SIZE];

        if (key == PLAIT_KEY_DP || key == PLAIT_KEY_SHARD_GROUP ||
            plait_key_value(degrees, (plait_key_id)key) == plait_keys[key].absent_value)
            continue;
        report_append(text, REPORT_TERMS_SIZE, "%s%s %.40s", text[0] != '\0' ? " " : "",
                      plait_keys[key].name,
                      plait_degrees_get(degrees, (plait_key_id)key, value, sizeof value));
    }
    return text;
}

const char *report_run_plan(const plait_run_price *price, char text[REPORT_TERMS_SIZE])
{
    const plait_degrees *const d = &price->degrees;
    char recompute[96];

    text[0] = '\0';
    add_degree(text, d->sp ? "tp+sp" : "tp", d->tp, 0);
    add_degree(text, "pp", d->pp, 0);
    add_degree(text, "vpp", d->vpp, 1);
    add_degree(text, "cp", d->cp, 1);
    add_degree(text, "ep", d->ep, 1);
    add_degree(text, "dp", d->dp, 0);
    add_degree(text, "mbs", d->mbs, 0);
    add_degree(text, "zero", d->zero, -1);
    report_append(text, REPORT_TERMS_SIZE, ", %.30s, %s",
                  plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, recompute, sizeof recompute),
                  plait_attention_kernel_name[price->degrees.attention]);
    return text;
}

static plait_status print_regrets(const plait_validation *v, FILE *out, plait_error *err)
{
    table *rows = table_new("sweep|>plans|>regret|>Spearman|predicted best@below|"
                            "best measured@below");
    char text[REPORT_TERMS_SIZE];
    size_t shown = 0;

    for (size_t s = 0; s < v->sweeps; s++) {
        const plait_sweep_rank *const sweep = &v->sweep[s];

        if (!(sweep->regret > 0.05))
            continue;
        shown++;
        TABLE_ROW(rows, as_text(sweep->name), as_int((double)sweep->plans),
                  as_format("%.1f %%", 100.0 * sweep->regret), as_format("%.3f", sweep->spearman),
                  as_text(report_run_plan(&v->price[sweep->chosen], text)));
        table_cell(rows, "%s", report_run_plan(&v->price[sweep->best], text));
    }
    if (shown > 0)
        fprintf(out, "\n%zu sweep%s with a regret above 5 %%:\n", shown, shown == 1 ? "" : "s");
    return table_print(rows, 2, out, err);
}

/* ---- memory ---- */

static plait_status print_memory(const plait_validation *v, FILE *out, plait_error *err)
{
    table *rows;

    if (v->memories == 0)
        return PLAIT_OK;
    rows = table_new("source|measured as|>rows|>MAPE|>median|>p90|>bias");
    for (size_t g = 0; g < v->memories; g++) {
        TABLE_ROW(rows, as_text(v->memory[g].name), as_text(v->memory[g].scope));
        errors_cells(rows, &v->memory[g].errors);
    }
    TABLE_ROW(rows, as_text("all"), as_text(""));
    errors_cells(rows, &v->memory_total);
    fputs("\npeak memory, predicted over measured - 1:\n", out);
    return table_print(rows, 2, out, err);
}

/*
 * Fills two cells with a count and its share, "12   10.5 %"; with dashes if there is no such run.
 */
static void share_cells(table *rows, size_t some, size_t all)
{
    if (all == 0) {
        TABLE_ROW(rows, as_text("-"), as_text("-"));
        return;
    }
    TABLE_ROW(rows, as_int((double)some), as_format("%.1f %%", 100.0 * (double)some / (double)all));
}

static void confusion_cells(table *rows, const char *name, const plait_confusion *c)
{
    const size_t ran = c->true_negatives + c->false_positives;
    const size_t failed = c->true_positives + c->false_negatives;

    TABLE_ROW(rows, as_text(name), as_int((double)ran));
    share_cells(rows, c->false_positives, ran);
    share_cells(rows, c->tight, ran);
    table_cell(rows, "%zu", failed);
    share_cells(rows, c->true_positives, failed);
    TABLE_ROW(rows, as_format("%.1f %%", 100.0 * c->balanced_accuracy));
}

static plait_status print_confusions(const plait_validation *v, FILE *out, plait_error *err)
{
    table *rows;

    if (v->confusions == 0)
        return PLAIT_OK;
    rows = table_new("source|>ran|>predicted oom|>|>tight|>|>failed|>predicted oom|>|"
                     ">balanced accuracy");
    for (size_t g = 0; g < v->confusions; g++)
        confusion_cells(rows, v->confusion[g].source, &v->confusion[g]);
    confusion_cells(rows, "all", &v->confusion_total);
    fputs("\nout of memory, for runs with published recomputation and without offload to the host "
          "(failed: oom and crash):\n",
          out);
    return table_print(rows, 2, out, err);
}

/* ---- single rows ---- */

enum { TERMS_SHOWN = 5 };

const char *report_run_terms(const plait_cost *cost, char text[REPORT_TERMS_SIZE])
{
    report_term term[PLAIT_STEP_TERM_COUNT];

    text[0] = '\0';
    report_step_term_list(&cost->step, term);
    for (int shown = 0; shown < TERMS_SHOWN; shown++) {
        int largest = 0;

        for (int t = 1; t < PLAIT_STEP_TERM_COUNT; t++)
            if (term[t].value > term[largest].value)
                largest = t;
        if (term[largest].value < 0.005 * cost->step_s)
            break;
        report_append(text, REPORT_TERMS_SIZE, "%s%s %.0f %%", shown > 0 ? ", " : "",
                      term[largest].name, 100.0 * term[largest].value / cost->step_s);
        term[largest].value = 0.0;
    }
    return text;
}

/* ---- claims of techniques ---- */

static plait_status print_claims(const plait_validation *v, FILE *out, plait_error *err)
{
    table *rows;

    if (v->claims == 0)
        return PLAIT_OK;
    rows = table_new("technique|>runs|>without|>claimed|>gained|>error of a claim");
    for (size_t i = 0; i < v->claims; i++) {
        const plait_claim *const claim = &v->claim[i];
        char text[PLAIT_VALUE_SIZE];

        table_cell(rows, "%s %.40s", plait_keys[claim->key].name,
                   plait_key_text(claim->key, claim->value, text, sizeof text));
        TABLE_ROW(rows, as_int((double)claim->rows), as_int((double)claim->rows_without),
                  as_format("%+.1f %%", 100.0 * claim->claimed),
                  as_format("%+.1f %%", 100.0 * claim->gained),
                  as_format("%.1f %%", 100.0 * claim->error));
    }
    fprintf(out,
            "\ngains of techniques, claimed by the model and measured; half of a claim counts with "
            "%.1f independent jobs:\n",
            v->half_at);
    return table_print(rows, 2, out, err);
}

/* ---- promises of searches ---- */

static void optimism_cells(table *rows, const char *name, const plait_optimism *sum)
{
    TABLE_ROW(rows, as_text(name), as_int((double)sum->jobs), as_format("%.2f", sum->median),
              as_format("%.0f %%", 100.0 * sum->below), as_format("%.0f %%", 100.0 * sum->above));
}

static plait_status print_promises(const plait_validation *v, FILE *out, plait_error *err)
{
    table *rows = table_new("jobs|>number|>median|>below 0.85|>above 1.08");

    optimism_cells(rows, "dense", &v->optimism_dense);
    optimism_cells(rows, "experts", &v->optimism_experts);
    fputs("\noptimism: promised step of the recommended plan over the best measured step of tuned "
          "recipes:\n",
          out);
    PLAIT_TRY(table_print(rows, 2, out, err));
    rows = table_new("best row|>runs|>measured|>promised|>ratio@stays|recommended plan@below");
    for (size_t i = 0; i < v->promises; i++) {
        const plait_promise *const promise = &v->promise[i];
        char text[REPORT_TERMS_SIZE];

        TABLE_ROW(rows, as_text(v->runs->run[promise->best].id), as_int((double)promise->runs),
                  as_seconds(v->runs->run[promise->best].step_s), as_seconds(promise->promised_s),
                  as_format("%.2f", promise->ratio));
        table_cell(rows, "%s", report_promised_plan(promise, text));
    }
    fputs("\npromises by job:\n", out);
    return table_print(rows, 2, out, err);
}

plait_status report_validation(const plait_validation *v, plait_run_key by, FILE *out,
                               plait_error *err)
{
    table *rows;
    char terms[REPORT_TERMS_SIZE], plan[REPORT_TERMS_SIZE];

    fprintf(out, "%s: %zu rows, %zu priced; %zu timed rows of trust high or medium, %zu priced\n",
            v->runs->name, v->runs->count, v->priced, v->timed, v->timed_priced);
    PLAIT_TRY(print_times(v, by, out, err));
    if (v->left_outs > 0)
        PLAIT_TRY(print_left_out(v->left_out, v->left_outs, &v->left_out_total, out, err));
    if (v->sweeps != 0) {
        rows = table_new("|>Spearman|>Kendall|>regret|>beyond noise");
        for (int median = 0; median < 2; median++) {
            TABLE_ROW(rows, median ? as_text("median") : as_text("mean"),
                      as_format("%.3f", median ? v->spearman.median : v->spearman.mean),
                      as_format("%.3f", median ? v->kendall.median : v->kendall.mean),
                      as_format("%.1f %%", 100.0 * (median ? v->regret.median : v->regret.mean)),
                      as_format("%.1f %%", 100.0 * (median ? v->regret_beyond_noise.median
                                                           : v->regret_beyond_noise.mean)));
        }
        fprintf(out, "\nranking, %zu sweeps of at least %d timed plans:\n", v->sweeps,
                PLAIT_SWEEP_LEAST);
        PLAIT_TRY(table_print(rows, 2, out, err));
    }
    PLAIT_TRY(print_replay(v, out, err));
    PLAIT_TRY(print_regrets(v, out, err));
    PLAIT_TRY(print_memory(v, out, err));
    PLAIT_TRY(print_confusions(v, out, err));
    PLAIT_TRY(print_claims(v, out, err));
    if (v->promises > 0)
        PLAIT_TRY(print_promises(v, out, err));
    if (v->worst_count != 0) {
        rows = table_new("row|>measured|>predicted|>error@stays|plan@below|"
                         "predicted terms");
        for (size_t i = 0; i < v->worst_count; i++) {
            const plait_run_price *const price = &v->price[v->worst[i]];
            const plait_run *const run = price->run;

            TABLE_ROW(rows, as_text(run->id), as_seconds(run->step_s),
                      as_seconds(price->cost.step_s),
                      as_format("%+.1f %%", 100.0 * (price->cost.step_s / run->step_s - 1.0)),
                      as_text(report_run_plan(price, plan)),
                      as_text(report_run_terms(&price->cost, terms)));
        }
        fputs("\nworst rows:\n", out);
        PLAIT_TRY(table_print(rows, 2, out, err));
    }
    if (v->reasons == 0)
        return PLAIT_OK;
    rows = table_new(">rows|first row@below|reason@below");
    for (size_t i = 0; i < v->reasons; i++) {
        TABLE_ROW(rows, as_int((double)v->unpriced[i].rows), as_text(v->unpriced[i].first),
                  as_text(v->unpriced[i].why));
    }
    fputs("\nrows that could not be priced:\n", out);
    return table_print(rows, 2, out, err);
}
