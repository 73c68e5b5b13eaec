/* report_case.c - published systems beside what plait makes of them */
#include "report/report_case.h"

#include <math.h>
#include <string.h>

#include "plait/units.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

enum { TEXT_SIZE = 2 * REPORT_LINE_SIZE };

plait_status report_cases(const case_study *study, size_t count, FILE *out, plait_error *err)
{
    static const table_column columns[] = {
        {"case", TABLE_LEFT}, {"rows", TABLE_RIGHT}, {"what", TABLE_LEFT}};
    table *rows = table_new(columns, 3);

    for (size_t i = 0; i < count; i++) {
        table_cell(rows, "%s", study[i].name);
        table_cell(rows, "%d", study[i].rows);
        table_cell(rows, "%s", study[i].title);
    }
    return table_print(rows, 0, out, err);
}

/* ---- plans ---- */

/* Keys that report_line says. */
static const plait_key_set said = PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_VPP) | PLAIT_KEY_BIT(PLAIT_KEY_CP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_EP) | PLAIT_KEY_BIT(PLAIT_KEY_DP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_MBS) | PLAIT_KEY_BIT(PLAIT_KEY_ZERO) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);

/* The line of a plan, and what else the row asks for that is not the plain choice. */
static const char *plan_text(const case_row *row, const case_priced *priced, char text[TEXT_SIZE])
{
    const plait_degrees *const d = &priced->plan->degrees;
    char line[REPORT_LINE_SIZE], word[96];

    snprintf(text, TEXT_SIZE, "%s", report_line(priced->problem, d, line));
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;
        const size_t length = strlen(text);

        if (row->key[k] == NULL || (said & PLAIT_KEY_BIT(k)) ||
            !plait_key_speaks(priced->problem, d, key))
            continue;
        snprintf(text + length, TEXT_SIZE - length, ", %s %s", plait_keys[k].title,
                 plait_degrees_get(d, key, word, sizeof word));
    }
    return text;
}

static plait_status print_plans(const case_study *study, const case_priced *priced, FILE *out,
                                plait_error *err)
{
    static const table_column columns[] = {
        {"row", TABLE_LEFT},  {"model", TABLE_LEFT}, {"GPUs", TABLE_RIGHT}, {"cluster", TABLE_LEFT},
        {"seq", TABLE_RIGHT}, {"gbs", TABLE_RIGHT},  {"plan", TABLE_LEFT}};
    char text[TEXT_SIZE];
    table *rows = table_new(columns, 7);

    table_spare(rows, 1, TABLE_BELOW);
    table_spare(rows, 2, TABLE_BELOW);
    table_spare(rows, 3, TABLE_BELOW);
    table_spare(rows, 6, TABLE_BELOW);
    for (int r = 0; r < study->rows; r++) {
        const case_row *const row = &study->row[r];

        table_cell(rows, "%s", row->name);
        table_cell(rows, "%s", row->model);
        table_cell(rows, "%d", row->gpus);
        table_cell(rows, "%s", row->cluster);
        table_cell(rows, "%d", row->seq);
        table_cell(rows, "%d", row->gbs);
        table_cell(rows, "%s", plan_text(row, &priced[r], text));
    }
    return table_print(rows, 0, out, err);
}

/* ---- figures ---- */

static char *figure_text(case_figure figure, double value, char text[UNITS_SIZE])
{
    switch (case_figure_unit[figure]) {
    case CASE_SECONDS:
        return units_seconds(value, text);
    case CASE_PERCENT:
        return units_percent(value / 100.0, text);
    case CASE_GIB:
        return units_gib(value * PLAIT_GIB, text);
    case CASE_GB:
        return units_rate(value * PLAIT_GB, "B", text);
    default:
        break;
    }
    snprintf(text, UNITS_SIZE, isfinite(value) ? "%.0f" : "-", value);
    return text;
}

static char *error_text(case_figure figure, double ours, double published, char text[UNITS_SIZE])
{
    const double error = 100.0 * case_error(figure, ours, published);
    const bool points = figure == CASE_speedup_percent || figure == CASE_sync_share_percent;

    if (isfinite(error))
        snprintf(text, UNITS_SIZE, "%+.1f %s", error, points ? "points" : "%");
    else
        snprintf(text, UNITS_SIZE, "-");
    return text;
}

static void add_figure(const case_study *study, const case_priced *priced, int r, int f, bool first,
                       table *rows)
{
    const case_row *const row = &study->row[r];
    const double ours = priced[r].ours[f], published = priced[r].published[f];
    char text[UNITS_SIZE];

    table_cell(rows, "%s", first ? row->name : "");
    if (f == CASE_speedup_percent)
        table_cell(rows, "%s than %s", case_figure_title[f], study->row[row->against].name);
    else
        table_cell(rows, "%s", case_figure_title[f]);
    table_cell(rows, "%s", figure_text((case_figure)f, ours, text));
    table_cell(rows, "%s", figure_text((case_figure)f, published, text));
    table_cell(rows, "%s", error_text((case_figure)f, ours, published, text));
}

static plait_status print_figures(const case_study *study, const case_priced *priced, FILE *out,
                                  plait_error *err)
{
    static const table_column columns[] = {{"row", TABLE_LEFT},
                                           {"figure", TABLE_LEFT},
                                           {"plait", TABLE_RIGHT},
                                           {"published", TABLE_RIGHT},
                                           {"error", TABLE_RIGHT}};
    table *rows = table_new(columns, 5);

    fputc('\n', out);
    for (int r = 0; r < study->rows; r++) {
        bool first = true;

        for (int f = 0; f < CASE_FIGURES; f++)
            if (isfinite(priced[r].ours[f]) || isfinite(priced[r].published[f])) {
                add_figure(study, priced, r, f, first, rows);
                first = false;
            }
        if (first) { // nothing published of it: at least its step
            const double step_s = priced[r].plan->cost.step_s;
            char text[UNITS_SIZE];
            table_cell(rows, "%s", study->row[r].name);
            table_cell(rows, "%s", case_figure_title[CASE_step_s]);
            table_cell(rows, "%s", units_seconds(step_s > 0.0 ? step_s : (double)NAN, text));
            table_cell(rows, "-");
            table_cell(rows, "-");
        }
    }
    return table_print(rows, 0, out, err);
}

/* "mean error of 10 rows: step 4.6 %" */
static void print_means(const case_study *study, const case_priced *priced, FILE *out)
{
    bool any = false;

    for (int f = 0; f < CASE_FIGURES; f++) {
        double sum = 0.0;
        int count = 0;

        for (int r = 0; r < study->rows; r++) {
            const double error =
                case_error((case_figure)f, priced[r].ours[f], priced[r].published[f]);
            if (!isfinite(error))
                continue;
            sum += fabs(error);
            count++;
        }
        if (count < 2)
            continue;
        fprintf(out, "%s%s %.1f %s over %d", any ? "; " : "\nmean error: ", case_figure_title[f],
                100.0 * sum / count,
                f == CASE_speedup_percent || f == CASE_sync_share_percent ? "points" : "%", count);
        any = true;
    }
    if (any)
        fputc('\n', out);
}

/* ---- remarks ---- */

enum { WIDTH = 100 };

/* A paragraph behind `indent` blanks, four more from its second line on; words are not cut. */
static void print_wrapped(const char *text, int indent, FILE *out)
{
    int column = fprintf(out, "%*s", indent, "");

    for (const char *word = text; *word != '\0';) {
        const int length = (int)strcspn(word, " ");

        if (word > text && column + 1 + length > WIDTH)
            column = fprintf(out, "\n%*s", indent + 4, "") - 1;
        else if (word > text)
            column += fprintf(out, " ");
        column += fprintf(out, "%.*s", length, word);
        word += length + (word[length] == ' ');
    }
    fputc('\n', out);
}

static void print_remarks(const char *heading, const case_remarks *remarks, FILE *out)
{
    if (remarks->count == 0)
        return;
    fprintf(out, "\n%s\n", heading);
    for (int i = 0; i < remarks->count; i++)
        print_wrapped(remarks->text[i], 2, out);
}

static void print_row_remarks(const case_study *study, const case_priced *priced, FILE *out)
{
    static const char *const words[] = {"", "may run out of memory", "does not fit", "cannot run"};
    char text[2048];

    for (int r = 0; r < study->rows; r++) {
        const case_row *const row = &study->row[r];

        if (priced[r].plan->verdict != PLAIT_FITS) {
            snprintf(text, sizeof text, "%s: plait says that it %s: %s", row->name,
                     words[priced[r].plan->verdict], priced[r].plan->why);
            print_wrapped(text, 2, out);
        }
        for (int i = 0; i < row->notes.count; i++) {
            snprintf(text, sizeof text, "%s: %s", row->name, row->notes.text[i]);
            print_wrapped(text, 2, out);
        }
    }
}

static bool has_row_remarks(const case_study *study, const case_priced *priced)
{
    for (int r = 0; r < study->rows; r++)
        if (priced[r].plan->verdict != PLAIT_FITS || study->row[r].notes.count > 0)
            return true;
    return false;
}

plait_status report_case(const case_study *study, const case_priced *priced, FILE *out,
                         plait_error *err)
{
    fprintf(out, "%s: %s\n", study->name, study->title);
    print_wrapped(study->source, 0, out);
    fputc('\n', out);
    PLAIT_TRY(print_plans(study, priced, out, err));
    PLAIT_TRY(print_figures(study, priced, out, err));
    print_means(study, priced, out);
    print_remarks("Not published, so assumed:", &study->assumed, out);
    print_remarks("Where the source contradicts itself:", &study->contradicts, out);
    print_remarks("Notes:", &study->notes, out);
    if (has_row_remarks(study, priced)) {
        fputs("\nOf rows:\n", out);
        print_row_remarks(study, priced, out);
    }
    return PLAIT_OK;
}
