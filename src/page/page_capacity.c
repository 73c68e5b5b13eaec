/* page_capacity.c - builds the page of plait capacity: days, dollars, goodput, scaling, sensitivities */

#include <math.h>
#include <stdio.h>

#include "page/pages.h"
#include "plait/units.h"
#include "report/report_private.h"
#include "base/text.h"
#include "report/units.h"

static void add_days(page_table *rows, double seconds)
{
    if (isinf(seconds))
        page_number(rows, seconds, "never");
    else
        page_number(rows, seconds, "%.1f d", seconds / PLAIT_DAY);
}

/* ---- the rows ---- */

/* Returns `value`; NaN if no plan fits on the row's number of GPUs. */
static double value_if_fits(const plait_capacity_row *r, double value)
{
    return r->fits ? value : (double)NAN;
}

static const page_table *add_rows(page *out, const report_capacity *report)
{
    const plait_capacity_options *const ask = report->ask;
    page_table *rows =
        page_table_add(out, "rows", "Best plan for each number of GPUs",
                       "cluster=cluster|gpus>GPUs|step_s>step|mfu>MFU|"
                       "memory_bytes>memory|gbs>batch|tokens_per_s>tokens/s|"
                       "effective>goodput|wall_s>days|wall_low_s>days, low|wall_high_s>days, high|"
                       "finishes>chance to meet the deadline|usd>USD|power_w>MW|energy_j>MWh|"
                       "co2_kg>t CO2|scaling>scaling|limit=limited by|front=Pareto-optimal|"
                       "plan=plan|deadline_s>|budget_usd>",
                       NULL);

    for (int i = 0; i < report->rows; i++) {
        const plait_capacity_row *const r = &report->row[i];
        char line[REPORT_LINE_SIZE];

        PAGE_ROW(rows, as_text(r->problem->cluster->name), as_int(r->problem->job.gpus),
                 as_seconds(value_if_fits(r, r->cost.step_s)),
                 as_percent(value_if_fits(r, r->cost.mfu)),
                 as_gib(value_if_fits(r, r->cost.memory.peak_bytes)), as_int(r->problem->job.gbs),
                 as_count(value_if_fits(r, r->tokens_per_s)),
                 as_percent(value_if_fits(r, r->goodput.effective)));
        add_days(rows, value_if_fits(r, r->wall_s));
        add_days(rows, value_if_fits(r, r->wall_low_s));
        add_days(rows, value_if_fits(r, r->wall_high_s));
        PAGE_ROW(rows, as_percent(value_if_fits(r, r->finishes)),
                 as_count(value_if_fits(r, r->usd)));
        page_number(rows, value_if_fits(r, r->power_w), "%.3g", r->power_w / 1e6);
        page_number(rows, value_if_fits(r, r->energy_j), "%.0f", r->energy_j / 3.6e9);
        page_number(rows, value_if_fits(r, r->co2_kg), "%.0f", r->co2_kg / 1e3);
        PAGE_ROW(rows, as_percent(value_if_fits(r, r->scaling)),
                 as_text(plait_capacity_limit_name[r->limit]),
                 r->front ? as_text("yes") : as_text("no"),
                 as_text(r->fits ? report_line(r->problem, &r->plan.degrees, line) : "-"));
        page_number(rows, ask->deadline_s > 0.0 ? ask->deadline_s : (double)NAN, "%g",
                    ask->deadline_s);
        page_number(rows, ask->budget_usd > 0.0 ? ask->budget_usd : (double)NAN, "%g",
                    ask->budget_usd);
    }
    return rows;
}

static void add_change(page_table *rows, double value, double from)
{
    if (isinf(value))
        page_number(rows, value, "never");
    else
        PAGE_ROW(rows, as_signed_percent(value / from - 1.0));
}

/* Adds a part of the text report that is not a table. */
static void add_printed(page *out, const report_capacity *report,
                        void (*print)(const report_capacity *report, FILE *stream))
{
    FILE *stream = page_begin_printed(out);

    if (stream != NULL)
        print(report, stream);
    page_end_printed(out, stream);
}

/* ---- the answer ---- */

/* Writes a time such as "19.1 days"; a run of a few hours is written in hours. */
static const char *time_text(double seconds, char text[UNITS_SIZE])
{
    if (seconds < 0.1 * PLAIT_DAY)
        return units_seconds(seconds, text);
    snprintf(text, UNITS_SIZE, "%.1f days", seconds / PLAIT_DAY);
    return text;
}

static const char *dollars_text(double usd, char text[UNITS_SIZE])
{
    char count[UNITS_SIZE];

    snprintf(text, UNITS_SIZE, isfinite(usd) ? "%s USD" : "-", units_count(usd, count));
    return text;
}

static void add_answer(page *out, const report_capacity *report)
{
    const bool found = report->answer >= 0;
    const plait_capacity_row *const r = &report->row[found ? report->answer : 0];
    report_plan plan = {.verdict = PLAIT_INVALID};
    char tokens[UNITS_SIZE], usd[UNITS_SIZE], days[UNITS_SIZE];

    if (found) {
        page_answer(out, "Train %s on %s tokens with %d GPUs of %s: it takes %s%s%s.",
                    r->problem->model->name, units_count(report->ask->tokens, tokens),
                    r->problem->job.gpus, r->problem->cluster->name, time_text(r->wall_s, days),
                    isfinite(r->usd) ? " and costs " : "",
                    isfinite(r->usd) ? dollars_text(r->usd, usd) : "");
        char text[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE], line[REPORT_LINE_SIZE];

        snprintf(text, sizeof text, "%d", r->problem->job.gpus);
        page_figure(out, "GPUs", text, "%s: %s", r->problem->cluster->name,
                    report_line(r->problem, &r->plan.degrees, line));
        if (isfinite(r->wall_low_s))
            page_figure(out, "time", time_text(r->wall_s, text), "80 %% band: %s to %s",
                        time_text(r->wall_low_s, low), time_text(r->wall_high_s, high));
        else
            page_figure(out, "time", time_text(r->wall_s, text),
                        "no band: no comparable measured runs");
        if (isfinite(r->usd))
            page_figure(out, "dollars", dollars_text(r->usd, text), "at %.4g USD per GPU-hour",
                        r->usd_per_gpu_hour);
        else
            page_figure(out, "dollars", "-", "price unknown");
        plan = (report_plan){
            .verdict = PLAIT_FITS, .degrees = r->plan.degrees, .plan = r->plan, .cost = r->cost};
    } else {
        const plait_capacity_options *const ask = report->ask;

        page_answer(out, "None of the searched numbers of GPUs trains %s on %s tokens%s%s%s.",
                    report->row[0].problem->model->name, units_count(ask->tokens, tokens),
                    ask->deadline_s > 0.0 ? " within the deadline" : "",
                    ask->deadline_s > 0.0 && ask->budget_usd > 0.0 ? " and" : "",
                    ask->budget_usd > 0.0 ? " within the budget" : "");
    }
    page_assume_plan(out, r->problem, found ? &plan : NULL);
    for (int c = 0; c < report->clusters; c++)
        if (!text_equal(report->cluster[c].problem->cluster->name, r->problem->cluster->name))
            page_assume_peak(out, report->cluster[c].problem);
    FILE *const stream = page_begin_printed(out);

    if (stream != NULL)
        report_capacity_question(report, stream);
    page_end_assumed(out, "run", stream);
}

plait_status page_of_capacity(const report_capacity *report, const char *command,
                              plait_arena *arena, page **out, plait_error *err)
{
    const plait_problem *const problem = report->row[0].problem;
    char tokens[UNITS_SIZE];
    page *made = page_new(arena, "%s: %s tokens", problem->model->name,
                          units_count(report->ask->tokens, tokens));
    const page_table *rows;

    *out = made;
    PLAIT_TRY(plait_check_allocated(made, err));
    add_answer(made, report);
    add_printed(made, report, report_capacity_question);
    page_section(made, "answer", "The answer");
    add_printed(made, report, report_capacity_answer);
    page_section(made, "numbers", "Numbers of GPUs");
    rows = add_rows(made, report);
    page_section(made, "time", "Days");
    page_chart_add(made, rows, "days", "Days of the run, with the 80 % band of the step time");
    page_section(made, "money", "Dollars");
    page_chart_add(made, rows, "cost", "Dollars of the run");
    page_chart_add(made, rows, "pareto", "Days against dollars");
    page_section(made, "failures", "Goodput");
    page_chart_add(made, rows, "goodput",
                   "Share of time in useful work, after interruptions and checkpoints");
    page_section(made, "scale", "Scaling");
    page_chart_add(made, rows, "scaling", "Tokens per GPU relative to the smallest number of GPUs");
    if (report->answer >= 0) {
        const plait_capacity_row *const r = &report->row[report->answer];
        page_table *inputs;

        page_section(made, "inputs", "Sensitivity to inputs");
        inputs = page_table_add(made, "tornado",
                                "Change of days and dollars if an input is 10 % lower or higher",
                                "what=input|days_less>days at -10 %|days_more>days at +10 %|"
                                "usd_less>USD at -10 %|usd_more>USD at +10 %",
                                "tornado");
        for (int i = 0; i < PLAIT_CAPACITY_SWINGS; i++) {
            const plait_capacity_swing *const s = &report->swing[i];

            page_word(inputs, "%s", s->what);
            add_change(inputs, s->wall_s[0], r->wall_s);
            add_change(inputs, s->wall_s[1], r->wall_s);
            add_change(inputs, s->usd[0], r->usd);
            add_change(inputs, s->usd[1], r->usd);
        }
    }
    page_grounds(made);
    page_command(made, command);
    return PLAIT_OK;
}
