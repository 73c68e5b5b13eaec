/* page_capacity.c - the page of plait capacity: days, dollars, goodput, scaling, what moves them */
#include "page_capacity.h"

#include <math.h>
#include <stdio.h>

#include "plait/units.h"
#include "report_private.h"
#include "units.h"

static void add_days(page_table *rows, double seconds)
{
    if (isinf(seconds))
        page_number(rows, seconds, "never");
    else
        page_number(rows, seconds, "%.1f d", seconds / PLAIT_DAY);
}

static void add_dollars(page_table *rows, double usd)
{
    char text[UNITS_SIZE];

    page_number(rows, usd, "%s", units_count(usd, text));
}

/* ---- the rows ---- */

static const page_column row_columns[] = {
    {"cluster", "cluster", false},
    {"gpus", "GPUs", true},
    {"gbs", "batch", true},
    {"step_s", "step", true},
    {"tokens_per_s", "tokens/s", true},
    {"mfu", "MFU", true},
    {"effective", "useful", true},
    {"wall_s", "days", true},
    {"wall_low_s", "from", true},
    {"wall_high_s", "to", true},
    {"finishes", "in time", true},
    {"usd", "USD", true},
    {"energy_j", "MWh", true},
    {"co2_kg", "t CO2", true},
    {"scaling", "scaling", true},
    {"limit", "binds", false},
    {"front", "on the front", false},
    {"plan", "plan", false},
    {"deadline_s", NULL, true},
    {"budget_usd", NULL, true},
};
enum { ROW_COLUMNS = sizeof row_columns / sizeof *row_columns };

/* What is not known of a number of GPUs on which nothing fits. */
static double known(const plait_capacity_row *r, double value)
{
    return r->fits ? value : (double)NAN;
}

static void add_time(page_table *rows, const plait_capacity_row *r)
{
    char text[UNITS_SIZE];

    page_seconds(rows, known(r, r->cost.step_s));
    page_number(rows, known(r, r->tokens_per_s), "%s", units_count(r->tokens_per_s, text));
    page_percent(rows, known(r, r->cost.mfu));
    page_percent(rows, known(r, r->goodput.effective));
    add_days(rows, known(r, r->wall_s));
    add_days(rows, known(r, r->wall_low_s));
    add_days(rows, known(r, r->wall_high_s));
    page_percent(rows, known(r, r->finishes));
}

static void add_money(page_table *rows, const plait_capacity_row *r)
{
    char line[REPORT_LINE_SIZE];

    add_dollars(rows, known(r, r->usd));
    page_number(rows, known(r, r->energy_j), "%.0f", r->energy_j / 3.6e9);
    page_number(rows, known(r, r->co2_kg), "%.0f", r->co2_kg / 1e3);
    page_percent(rows, known(r, r->scaling));
    page_word(rows, "%s", plait_capacity_limit_name[r->limit]);
    page_word(rows, r->front ? "yes" : "no");
    page_word(rows, "%s", r->fits ? report_line(r->problem, &r->plan.degrees, line) : "-");
}

static const page_table *add_rows(page *out, const report_capacity *report)
{
    const plait_capacity_ask *const ask = report->ask;
    page_table *rows = page_table_add(out, "rows", "The best plan of each number of GPUs",
                                      row_columns, ROW_COLUMNS, NULL);

    for (int i = 0; i < report->rows; i++) {
        const plait_capacity_row *const r = &report->row[i];

        page_word(rows, "%s", r->problem->cluster->name);
        page_count(rows, r->problem->job.gpus);
        page_count(rows, r->problem->job.gbs);
        add_time(rows, r);
        add_money(rows, r);
        page_number(rows, ask->deadline_s > 0.0 ? ask->deadline_s : (double)NAN, "%g",
                    ask->deadline_s);
        page_number(rows, ask->budget_usd > 0.0 ? ask->budget_usd : (double)NAN, "%g",
                    ask->budget_usd);
    }
    return rows;
}

/* ---- what moves the answer ---- */

static void add_change(page_table *rows, double value, double from)
{
    if (isinf(value))
        page_number(rows, value, "never");
    else
        page_signed_percent(rows, value / from - 1.0);
}

static void add_tornado(page *out, const report_capacity *report)
{
    static const page_column columns[] = {
        {"what", "input", false},        {"days_less", "days at -10 %", true},
        {"days_more", "at +10 %", true}, {"usd_less", "USD at -10 %", true},
        {"usd_more", "at +10 %", true},
    };
    const plait_capacity_row *const r = &report->row[report->answer];
    page_table *rows;

    page_section(out, "inputs", "What moves the answer");
    rows = page_table_add(out, "tornado", "What a tenth less and a tenth more of each input change",
                          columns, 5, "tornado");
    for (int i = 0; i < PLAIT_CAPACITY_SWINGS; i++) {
        const plait_capacity_swing *const s = &report->swing[i];

        page_word(rows, "%s", s->what);
        add_change(rows, s->wall_s[0], r->wall_s);
        add_change(rows, s->wall_s[1], r->wall_s);
        add_change(rows, s->usd[0], r->usd);
        add_change(rows, s->usd[1], r->usd);
    }
}

// ---- the page ------------------------------------------------------------------------------

/* What the terminal says, but for its tables, which are on the page. */
static void add_said(page *out, const report_capacity *report,
                     void (*say)(const report_capacity *report, FILE *stream))
{
    FILE *stream = page_begin_printed(out);

    if (stream != NULL)
        say(report, stream);
    page_end_printed(out, stream);
}

static void add_charts(page *out, const page_table *rows)
{
    page_section(out, "time", "Days");
    page_chart_add(out, rows, "days", "Days of the run, with the band of the step time");
    page_section(out, "money", "Dollars");
    page_chart_add(out, rows, "cost", "Dollars of the run");
    page_chart_add(out, rows, "pareto", "Days against dollars");
    page_section(out, "failures", "Goodput");
    page_chart_add(
        out, rows, "goodput",
        "Share of the time that is useful work, interruptions and checkpoints taken off");
    page_section(out, "scale", "Scaling");
    page_chart_add(out, rows, "scaling", "Tokens a GPU against those of the fewest GPUs");
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
    if (made == NULL)
        return plait_fail_nomem(err);
    add_said(made, report, report_capacity_question);
    page_section(made, "answer", "The answer");
    add_said(made, report, report_capacity_answer);
    page_section(made, "numbers", "Numbers of GPUs");
    rows = add_rows(made, report);
    add_charts(made, rows);
    if (report->answer >= 0)
        add_tornado(made, report);
    if (command != NULL) {
        page_section(made, "about", "The command");
        page_command(made, command);
    }
    return PLAIT_OK;
}
