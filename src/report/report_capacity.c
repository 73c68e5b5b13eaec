/*
 * report_capacity.c - prints the numbers of GPUs for a run: table, answer, front and sensitivities
 */
#include "report/report_capacity.h"

#include <math.h>
#include <string.h>

#include "plait/units.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

static bool are_days(double seconds)
{
    return seconds >= 0.1 * PLAIT_DAY && seconds < 1e6 * PLAIT_DAY;
}

/*
 * Writes a time in days, with one decimal below 1000 days. Times that are too short or too long for
 * days get the unit of a step time.
 */
static const char *format_days(double seconds, char text[UNITS_SIZE])
{
    if (isnan(seconds) || isinf(seconds))
        snprintf(text, UNITS_SIZE, isnan(seconds) ? "-" : "never");
    else if (are_days(seconds))
        snprintf(text, UNITS_SIZE, "%.*f d", seconds < 1e3 * PLAIT_DAY ? 1 : 0,
                 seconds / PLAIT_DAY);
    else
        units_seconds(seconds, text);
    return text;
}

static const char *format_usd(double usd, char text[UNITS_SIZE])
{
    char count[UNITS_SIZE];

    if (!isfinite(usd))
        snprintf(text, UNITS_SIZE, "-");
    else
        snprintf(text, UNITS_SIZE, "%s USD", units_count(usd, count));
    return text;
}

/* Writes the relative change from one number to another: "+9.3 %". */
static const char *format_change(double value, double from, char text[UNITS_SIZE])
{
    if (!isfinite(value / from))
        snprintf(text, UNITS_SIZE, "-");
    else if (fabs(value / from - 1.0) < 5e-4) // avoids +0.0 and -0.0
        snprintf(text, UNITS_SIZE, "0.0 %%");
    else
        snprintf(text, UNITS_SIZE, "%+.1f %%", 100.0 * (value / from - 1.0));
    return text;
}

static const char *format_count(double value, char text[UNITS_SIZE])
{
    snprintf(text, UNITS_SIZE, !isfinite(value) ? "-" : value < 9.5 ? "%.2g" : "%.0f", value);
    return text;
}

void report_capacity_question(const report_capacity *report, FILE *out)
{
    const plait_capacity_options *const ask = report->ask;
    const plait_problem *const problem = report->row[0].problem;
    const plait_reliability *const fleet = &ask->fleet;
    char a[UNITS_SIZE], b[UNITS_SIZE];
    const report_capacity_cluster *const first = &report->cluster[0];

    fprintf(out, "%s, %s parameters: %s tokens in sequences of %d; %s, runtime %s\n",
            problem->model->name, units_count(plait_model_params(problem->model).total, a),
            units_count(ask->tokens, b), problem->job.seq,
            plait_precision_name[problem->job.precision], problem->runtime->name);
    fprintf(out,
            "%s interruptions per 1000 node-days, %.0f s to detect and %.0f s to restart; "
            "checkpoints %s at %s per node\n",
            units_number(fleet->interruptions_per_node_day * 1e3, b), fleet->detect_s,
            fleet->restart_s, fleet->async ? "overlap the steps" : "block the steps",
            units_rate(fleet->node_bytes_per_s, "B/s", a));
    for (int c = 0; c < report->clusters; c++) {
        const report_capacity_cluster *const at = &report->cluster[c];
        const plait_cluster *const cluster = at->problem->cluster;
        const char *const source = cluster->group[0].accelerator->price_source;

        fprintf(out, "%s: ", cluster->name);
        if (isnan(at->usd_per_gpu_hour))
            fputs("no price known, --price sets one", out);
        else
            fprintf(out, "%s USD per GPU hour (%s%s%s)",
                    units_number(at->usd_per_gpu_hour, (char[UNITS_SIZE]){0}),
                    at->price_asked ? "--price" : cluster->group[0].accelerator->name,
                    !at->price_asked && source != NULL ? ": " : "",
                    !at->price_asked && source != NULL ? source : "");
        fprintf(out, "; PUE %.4g (%s)\n", cluster->pue,
                cluster->pue_given ? "cluster file" : "default");
    }
    fputs("USD cover GPU hours, including spare nodes, but not storage, network traffic, staff, "
          "evaluations and failed experiments\n",
          out);
    if (first->batches > 1)
        fprintf(
            out,
            "%d batch sizes from %d to %d; every row processes the same tokens, so a larger "
            "batch takes fewer steps; the effect of the batch size on the loss is not modelled\n",
            first->batches, first->gbs[0], first->gbs[first->batches - 1]);
    if (ask->deadline_s > 0.0)
        fprintf(out, "deadline %s%s", format_days(ask->deadline_s, a),
                ask->budget_usd > 0.0 ? ", " : "\n");
    if (ask->budget_usd > 0.0)
        fprintf(out, "budget %s\n", format_usd(ask->budget_usd, a));
}

// ---- the table -----------------------------------------------------------------------------

/* Returns whether measured runs cannot distinguish the values of row r and row `with`. */
static bool is_tie(const report_capacity *report, const plait_capacity_row *r, int with,
                   double (*value)(const plait_capacity_row *r))
{
    if (with < 0 || r == &report->row[with] || !r->fits)
        return false;
    const plait_capacity_row *const best = &report->row[with];
    const double ratio = value(r) / value(best);
    const double tie = fmin(r->problem->band.tie, best->problem->band.tie);

    return ratio < tie && ratio > 1.0 / tie;
}

static double wall_of(const plait_capacity_row *r)
{
    return r->wall_s;
}

static double usd_of(const plait_capacity_row *r)
{
    return r->usd;
}

bool report_capacity_ties_days(const report_capacity *report, const plait_capacity_row *r)
{
    return is_tie(report, r, report->answer, wall_of);
}

bool report_capacity_ties_usd(const report_capacity *report, const plait_capacity_row *r)
{
    const bool in_time =
        r->limit == PLAIT_CAPACITY_LIMIT_NOTHING || r->limit == PLAIT_CAPACITY_LIMIT_BUDGET;

    return in_time && is_tie(report, r, report->verdict.cheapest, usd_of);
}

static bool any_tie(const report_capacity *report,
                    bool (*is_tied)(const report_capacity *, const plait_capacity_row *))
{
    for (int i = 0; i < report->rows; i++)
        if (is_tied(report, &report->row[i]))
            return true;
    return false;
}

// ---- the answer ----------------------------------------------------------------------------

static void print_choice(const report_capacity *report, const char *what, const char *of, int i,
                         FILE *out)
{
    char time[UNITS_SIZE], usd[UNITS_SIZE];

    if (i < 0)
        return;
    const plait_capacity_row *const r = &report->row[i];
    fprintf(out, "%s%s: %d GPUs of %s with a batch of %d, %s, %s\n", what, of, r->problem->job.gpus,
            r->problem->cluster->name, r->problem->job.gbs, format_days(r->wall_s, time),
            format_usd(r->usd, usd));
}

/*
 * Returns a text about the numbers of GPUs that were searched; empty if the search covers the whole
 * range.
 */
static const char *searched_gpus_text(const report_capacity *report)
{
    const char *words = "";

    for (int c = 0; c < report->clusters; c++) {
        const plait_capacity_range_result *const b = report->cluster[c].between;

        if (b == NULL)
            return " among the requested numbers";
        if (b->assumed || !b->whole)
            words = " among the searched numbers";
    }
    return words;
}

static void print_answers(const report_capacity *report, FILE *out)
{
    const plait_capacity_options *const ask = report->ask;

    if (report->verdict.smallest < 0)
        fputs("no requested number of GPUs meets the requirements\n", out);
    print_choice(report,
                 ask->deadline_s > 0.0 && ask->budget_usd > 0.0
                     ? "smallest within deadline and budget"
                 : ask->deadline_s > 0.0 ? "smallest within the deadline"
                 : ask->budget_usd > 0.0 ? "smallest within the budget"
                                         : "smallest that fits",
                 searched_gpus_text(report), report->verdict.smallest, out);
    print_choice(report, ask->deadline_s > 0.0 ? "cheapest within the deadline" : "cheapest",
                 searched_gpus_text(report), report->verdict.cheapest, out);
    print_choice(report, "fastest", " in the table", report->verdict.fastest, out);
    for (int c = 0; c < report->clusters; c++) {
        const report_capacity_cluster *const at = &report->cluster[c];
        const plait_capacity_range_result *const b = at->between;
        const char *const name = at->problem->cluster->name;

        if (at->why != NULL)
            fprintf(out, "searched on %s: only the rows of the table; %s\n", name, at->why);
        if (b == NULL)
            continue;
        fprintf(out,
                "searched on %s: %d number%s of GPUs in whole nodes from %d to %d; %d of these can "
                "divide the layers and a batch; bounds pruned all but %d of the searches beyond "
                "the rows of the table%s\n",
                name, b->numbers, b->numbers == 1 ? "" : "s", at->from, at->to, b->divide,
                b->searches, b->whole ? "" : "; search limit reached, some numbers were skipped");
        if (b->assumed)
            fputs("  assumed: between two doublings, the GPU time per sequence is at least 96 % of "
                  "the value interpolated between the doublings; savings below 4 % do not count; "
                  "at most 2 batch sizes are searched for each number\n",
                  out);
    }
    const bool in_days = any_tie(report, report_capacity_ties_days),
               in_usd = any_tie(report, report_capacity_ties_usd);
    const int with = in_days ? report->answer : report->verdict.cheapest;

    if (in_days || in_usd)
        fprintf(out, "~ within %.1f %% of %s%s%s: the prediction error is too large to rank them\n",
                100.0 * (report->row[with].problem->band.tie - 1.0),
                in_days ? "the days of the answer" : "", in_days && in_usd ? " or " : "",
                in_usd ? "the USD of the cheapest row" : "");
}

// ---- changes of the answer -----------------------------------------------------------------

/* Prints, if no row is an answer, the limits under which the fastest row would be one. */
static void print_missing_answer(const report_capacity *report, FILE *out)
{
    const int f = report->verdict.fastest;
    const bool deadline = report->ask->deadline_s > 0.0, budget = report->ask->budget_usd > 0.0;
    char time[UNITS_SIZE], usd[UNITS_SIZE];
    bool fits = false;

    for (int i = 0; i < report->rows; i++)
        fits = fits || report->row[i].fits;
    fputs("possible remedies: ", out);
    if (f < 0)
        fputs(fits ? "fewer failures, a faster restart or fewer GPUs\n"
                   : "more GPUs or more memory\n",
              out);
    else
        fprintf(out, "%s%s%s%s for %d GPUs of %s\n", deadline ? "a deadline of " : "",
                deadline ? format_days(report->row[f].wall_s, time) : "",
                deadline && budget ? " and " : "",
                budget ? format_usd(report->row[f].usd, usd) : "", report->row[f].problem->job.gpus,
                report->row[f].problem->cluster->name);
}

/*
 * Prints the smallest change with a different answer. With a deadline: how much slower the steps
 * may be, and the deadline that the fastest row with fewer GPUs would meet. Without: the shift in
 * price with which the second cheapest row becomes the cheapest.
 */
static void print_change(const report_capacity *report, FILE *out)
{
    const bool deadline = report->ask->deadline_s > 0.0;
    const plait_capacity_row *const r = &report->row[report->answer], *other = NULL;
    char text[UNITS_SIZE];

    for (int i = 0; i < report->rows; i++) {
        const plait_capacity_row *const row = &report->row[i];

        if (deadline ? row->limit == PLAIT_CAPACITY_LIMIT_DEADLINE && isfinite(row->wall_s) &&
                           row->problem->job.gpus < r->problem->job.gpus &&
                           (other == NULL || row->wall_s < other->wall_s)
                     : i != report->answer && row->fits && isfinite(row->usd) &&
                           row->limit == PLAIT_CAPACITY_LIMIT_NOTHING &&
                           (other == NULL || row->usd < other->usd))
            other = row;
    }
    if (deadline) {
        fprintf(out, "the answer changes with steps %.1f %% slower",
                100.0 * (report->ask->deadline_s / r->wall_s - 1.0));
        if (isfinite(r->cost.step_high_s))
            fprintf(out, " (the band extends to %.1f %%)",
                    100.0 * (r->cost.step_high_s / r->cost.step_s - 1.0));
        if (other != NULL)
            fprintf(out, " or with a deadline of %s, which %d GPUs of %s meet",
                    format_days(other->wall_s, text), other->problem->job.gpus,
                    other->problem->cluster->name);
        fputc('\n', out);
    } else if (other != NULL && isfinite(r->usd)) {
        fprintf(
            out,
            "the answer changes if a price or a step time shifts by %.1f %% in favour of %d GPUs "
            "of %s\n",
            100.0 * fabs(other->usd / r->usd - 1.0), other->problem->job.gpus,
            other->problem->cluster->name);
    }
}

void report_capacity_answer(const report_capacity *report, FILE *out)
{
    char time[UNITS_SIZE], usd[UNITS_SIZE], gain[UNITS_SIZE], share[UNITS_SIZE];

    print_answers(report, out);
    const int rows = report->rows;
    for (int i = 0; i < rows; i++) {
        const plait_capacity_row *const r = &report->row[i];

        if (!r->knee)
            continue;
        fprintf(out, "knee of %s: %d GPUs process %s ", r->problem->cluster->name,
                r->problem->job.gpus, units_percent(fabs(r->gain), gain));
        if (r->gain < 0.0)
            fprintf(out,
                    "fewer tokens per day than the next smaller number of GPUs in the table\n");
        else
            fprintf(out,
                    "more tokens per day than the next smaller number of GPUs in the table, below "
                    "the limit of %s for twice the GPUs\n",
                    units_percent(report->ask->knee, share));
    }
    const char *before = "\nPareto front of time and USD in the table: ";
    for (int i = 0; i < report->rows; i++) {
        const plait_capacity_row *const r = &report->row[i];

        if (!r->front)
            continue;
        fprintf(out, "%s%d GPUs of %s (%s, %s)", before, r->problem->job.gpus,
                r->problem->cluster->name, format_days(r->wall_s, time), format_usd(r->usd, usd));
        before = "; ";
    }
    if (before[0] == ';')
        fputc('\n', out);
    if (report->answer >= 0) {
        // Print the interruptions and checkpoints of the answer's run from the closed forms, and
        // the times of simulated runs.
        const plait_capacity_row *const r = &report->row[report->answer];
        const plait_goodput *const g = &r->goodput;
        char line[REPORT_LINE_SIZE], a[UNITS_SIZE], b[UNITS_SIZE], c[UNITS_SIZE], d[UNITS_SIZE],
            e[UNITS_SIZE];

        fprintf(out, "\n%d GPUs of %s: %s\n", r->problem->job.gpus, r->problem->cluster->name,
                report_line(r->problem, &r->plan.degrees, line));
        fprintf(out,
                "  an interruption every %s, %.0f in total; a checkpoint of %s every %s takes %s; "
                "%d spare node%s, %s of the time spent waiting for a node\n",
                units_seconds(g->mtbf_s, a), r->wall_s / g->mtbf_s,
                units_rate(r->checkpoint_bytes, "B", e), units_seconds(g->interval_s, b),
                units_seconds(g->write_s, c), g->spares, g->spares == 1 ? "" : "s",
                units_percent(g->wait_s / (g->mtbf_s + g->detect_s + g->wait_s), d));
        if (!isnan(r->drawn.mean_s))
            fprintf(out,
                    "  %d simulated runs: 10 %% finish within %s, 50 %% within %s, 90 %% within %s",
                    report->ask->runs, format_days(r->drawn.early_s, a),
                    format_days(r->drawn.middle_s, b), format_days(r->drawn.late_s, c));
        if (!isnan(r->drawn.finishes))
            fprintf(out, "; %s meet the deadline", units_percent(r->drawn.finishes, a));
        if (!isnan(r->drawn.mean_s))
            fputc('\n', out);
        print_change(report, out);
    } else {
        print_missing_answer(report, out);
    }
}

plait_status report_capacity_print(const report_capacity *report, FILE *out, plait_error *err)
{
    char text[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];

    report_capacity_question(report, out);
    table *rows = table_new("cluster|>GPUs@stays|>batch@2|>step@2|>tokens/s@3|>MFU@3|"
                            ">goodput@1|>days@stays|>80 % band@1|>in time@1|>USD@stays|"
                            ">MW@3|>MWh@2|>t CO2@2|>scaling@3|limit");
    for (int i = 0; i < report->rows; i++) {
        const plait_capacity_row *const r = &report->row[i];

        TABLE_ROW(rows, as_text(r->problem->cluster->name), as_int(r->problem->job.gpus),
                  as_int(r->problem->job.gbs));
        if (!r->fits) {
            for (int empty = 0; empty < 12; empty++)
                table_cell(rows, "-");
            table_cell(rows, "%s", plait_capacity_limit_name[r->limit]);
            continue;
        }
        TABLE_ROW(rows, as_seconds(r->cost.step_s), as_count(r->tokens_per_s),
                  as_percent(r->cost.mfu), as_percent(r->goodput.effective));
        table_cell(rows, "%s%s", report_capacity_ties_days(report, r) ? "~" : "",
                   format_days(r->wall_s, text));
        format_days(r->wall_low_s, low);
        format_days(r->wall_high_s, high);
        if (are_days(r->wall_low_s) && are_days(r->wall_high_s)) // the column before has the unit
            low[strcspn(low, " ")] = high[strcspn(high, " ")] = '\0';
        table_cell(rows, isfinite(r->wall_low_s) && isfinite(r->wall_high_s) ? "%s to %s" : "-",
                   low, high);
        table_cell(rows, "%s", isnan(r->finishes) ? "-" : units_percent(r->finishes, text));
        table_cell(rows, "%s%s", report_capacity_ties_usd(report, r) ? "~" : "",
                   isfinite(r->usd) ? units_count(r->usd, text) : "-");
        table_cell(rows, "%s", format_count(r->power_w / 1e6, text));
        table_cell(rows, "%s", format_count(r->energy_j / 3.6e9, text));
        TABLE_ROW(rows, as_text(format_count(r->co2_kg / 1e3, text)), as_percent(r->scaling),
                  as_text(plait_capacity_limit_name[r->limit]));
    }
    fputc('\n', out);
    PLAIT_TRY(table_print(rows, 0, out, err));
    fputc('\n', out);
    report_capacity_answer(report, out);
    if (report->answer < 0)
        return PLAIT_OK;
    const plait_capacity_row *const r = &report->row[report->answer];
    table *inputs = table_new("input|>days at -10 %|>at +10 %|>USD at -10 %|>at +10 %");
    for (int i = 0; i < PLAIT_CAPACITY_SWINGS; i++) {
        const plait_capacity_swing *const s = &report->swing[i];

        table_cell(inputs, "%s", s->what);
        for (int side = 0; side < 2; side++)
            table_cell(inputs, "%s", format_change(s->wall_s[side], r->wall_s, text));
        for (int side = 0; side < 2; side++)
            table_cell(inputs, "%s", format_change(s->usd[side], r->usd, text));
    }
    fprintf(out, "\nsensitivity to 10 %% less and more of one input, %d GPUs of %s:\n",
            r->problem->job.gpus, r->problem->cluster->name);
    return table_print(inputs, 2, out, err);
}
