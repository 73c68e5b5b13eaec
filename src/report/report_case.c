/* report_case.c - prints published systems next to plait's prices for them, as text and as JSON */
#include "report/report_answers.h"

#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "io/json/json_write.h"
#include "plait/lowlevel/limits.h"
#include "plait/plan.h"
#include "plait/units.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

static double peak_flops_per_s(const plait_problem *problem)
{
    const plait_accelerator *const gpu = plait_cluster_accelerator(problem->cluster, 0);

    return gpu->peak_flops_per_s[problem->job.precision];
}

/* Returns the share of a plan's layers that run on group 0. */
static double first_layers(const plait_plan *plan)
{
    double first = 0.0, all = 0.0;

    for (int s = 0; s < plan->stages; s++) {
        first += plan->stage[s].group == 0 ? plan->stage[s].layers : 0;
        all += plan->stage[s].layers;
    }
    return first / all;
}

/*
 * Returns a figure of one plan. FLOPs of attention are not halved for causality, as in the sources
 * of the cases.
 */
static double figure_of(case_figure figure, const case_priced *row)
{
    const plait_cost *const cost = &row->plan->cost;
    const plait_memory *const memory = &cost->memory;

    switch (figure) {
    case CASE_step_s:
        return cost->step_s;
    case CASE_tokens_per_s_per_gpu:
        return cost->tokens_per_s_per_gpu;
    case CASE_model_tflops_per_gpu:
        return cost->mfu_square * peak_flops_per_s(row->problem) / PLAIT_TFLOP;
    case CASE_hardware_tflops_per_gpu:
        return cost->hfu_square * peak_flops_per_s(row->problem) / PLAIT_TFLOP;
    case CASE_mfu_percent:
        return 100.0 * cost->mfu_square;
    case CASE_hfu_percent:
        return 100.0 * cost->hfu_square;
    case CASE_memory_gib:
        return memory->peak_bytes / PLAIT_GIB;
    case CASE_state_gb:
        return (memory->weights_bytes + memory->gradients_bytes + memory->optimizer_bytes) /
               PLAIT_GB;
    case CASE_weights_and_gradients_gb:
        return (memory->weights_bytes + memory->gradients_bytes) / PLAIT_GB;
    case CASE_bubble_s:
        return cost->step.bubble_s;
    case CASE_optimizer_s:
        return cost->step.optimizer_s;
    case CASE_rollout_s:
        return row->rl != NULL ? row->rl->phase_s[PLAIT_RL_rollout] : (double)NAN;
    case CASE_host_memory_gb:
        return row->rl != NULL
                   ? larger(row->rl->rollout.host_bytes, row->rl->update.host_bytes) / PLAIT_GB
                   : (double)NAN;
    case CASE_first_layers_percent:
        return 100.0 * first_layers(&row->plan->plan);
    default:
        return (double)NAN;
    }
}

static bool row_is_priced(const case_priced *row)
{
    return row->plan->verdict != PLAIT_INVALID;
}

/* Returns the gain in tokens/s/GPU over the row `before`, with which the row is compared. */
static double gain_of(const case_priced *row, const case_priced *before)
{
    if (!row_is_priced(row) || !row_is_priced(before))
        return (double)NAN;
    return row->plan->cost.tokens_per_s_per_gpu / before->plan->cost.tokens_per_s_per_gpu - 1.0;
}

void case_compare(const case_study *study, case_priced *priced, int row)
{
    const case_row *const asked = &study->row[row];
    case_priced *const own = &priced[row];

    for (int f = 0; f < CASE_FIGURES; f++) {
        const bool wanted = isfinite(asked->published[f]) && row_is_priced(own);

        own->published[f] = asked->published[f];
        own->ours[f] = wanted ? figure_of((case_figure)f, own) : (double)NAN;
    }
    if (asked->against < 0)
        return;
    const double gain = gain_of(own, &priced[asked->against]);
    own->ours[CASE_speedup_percent] = 100.0 * gain;
    if (asked->sync_stages > 0) {
        own->published[CASE_sync_share_percent] =
            100.0 *
            plait_sync_share(asked->sync_stages, asked->published[CASE_speedup_percent] / 100.0);
        own->ours[CASE_sync_share_percent] = 100.0 * plait_sync_share(own->plan->degrees.pp, gain);
    }
}

double case_error(case_figure figure, double ours, double published)
{
    if (figure == CASE_speedup_percent || figure == CASE_sync_share_percent ||
        figure == CASE_first_layers_percent)
        return (ours - published) / 100.0;
    return ours / published - 1.0;
}

enum { TEXT_SIZE = 2 * REPORT_LINE_SIZE };

plait_status report_cases(const case_study *study, size_t count, FILE *out, plait_error *err)
{
    table *rows = table_new("case|>rows|title");

    for (size_t i = 0; i < count; i++) {
        TABLE_ROW(rows, as_text(study[i].name), as_int(study[i].rows), as_text(study[i].title));
    }
    return table_print(rows, 0, out, err);
}

/* Keys that report_line() prints. */
static const plait_key_set said = PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_VPP) | PLAIT_KEY_BIT(PLAIT_KEY_CP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_EP) | PLAIT_KEY_BIT(PLAIT_KEY_DP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_MBS) | PLAIT_KEY_BIT(PLAIT_KEY_ZERO) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);

/* Writes report_line() and the other keys that the row sets and that apply. */
static const char *plan_text(const case_row *row, const case_priced *priced, char text[TEXT_SIZE])
{
    const plait_degrees *const d = &priced->plan->degrees;
    char line[REPORT_LINE_SIZE], word[96];

    snprintf(text, TEXT_SIZE, "%s", report_line(priced->problem, d, line));
    if (priced->rl != NULL)
        report_append(text, TEXT_SIZE, "; %d workers of generation", priced->rl->replicas);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;

        if (row->key[k] == NULL || (said & PLAIT_KEY_BIT(k)) ||
            !plait_key_applies(priced->problem, d, key))
            continue;
        report_append(text, TEXT_SIZE, ", %s %s", plait_keys[k].title,
                      plait_degrees_get(d, key, word, sizeof word));
    }
    return text;
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

/* Returns whether the errors of a figure are differences in percentage points. */
static bool is_in_points(int figure)
{
    return figure == CASE_speedup_percent || figure == CASE_sync_share_percent;
}

static plait_status print_figures(const case_study *study, const case_priced *priced, FILE *out,
                                  plait_error *err)
{
    table *rows = table_new("row|figure|>plait|>published|>error");
    char text[UNITS_SIZE];

    fputc('\n', out);
    for (int r = 0; r < study->rows; r++) {
        const case_priced *const row = &priced[r];
        bool first = true;

        for (int f = 0; f < CASE_FIGURES; f++)
            if (isfinite(row->ours[f]) || isfinite(row->published[f])) {
                const double error =
                    100.0 * case_error((case_figure)f, row->ours[f], row->published[f]);

                table_cell(rows, "%s", first ? study->row[r].name : "");
                table_cell(rows, f == CASE_speedup_percent ? "%s than %s" : "%s",
                           case_figure_title[f],
                           f == CASE_speedup_percent ? study->row[study->row[r].against].name : "");
                table_cell(rows, "%s", figure_text((case_figure)f, row->ours[f], text));
                table_cell(rows, "%s", figure_text((case_figure)f, row->published[f], text));
                table_cell(rows, isfinite(error) ? "%+.1f %s" : "-", error,
                           is_in_points(f) ? "points" : "%");
                first = false;
            }
        if (first) { // a row without published figures shows its step time
            const double step_s = row->plan->cost.step_s;

            TABLE_ROW(rows, as_text(study->row[r].name), as_text(case_figure_title[CASE_step_s]),
                      as_seconds(step_s > 0.0 ? step_s : (double)NAN), as_text("-"), as_text("-"));
        }
    }
    return table_print(rows, 0, out, err);
}

/* ---- remarks ---- */

enum { WIDTH = 100 };

/*
 * Prints a paragraph, broken between words. Its first line is indented by `indent` blanks, further
 * lines by four more.
 */
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

/* Prints a remark; the heading precedes only the first one. */
static void print_row_remark(const char **heading, const char *text, FILE *out)
{
    fputs(*heading, out);
    *heading = "";
    print_wrapped(text, 2, out);
}

plait_status report_case(const case_study *study, const case_priced *priced, FILE *out,
                         plait_error *err)
{
    char text[TEXT_SIZE], remark[2048];

    fprintf(out, "%s: %s\n", study->name, study->title);
    print_wrapped(study->source, 0, out);
    fputc('\n', out);
    table *rows = table_new("row|model@below|>GPUs@below|cluster@below|>seq|>gbs|"
                            "plan@below");
    for (int r = 0; r < study->rows; r++) {
        const case_row *const row = &study->row[r];

        TABLE_ROW(rows, as_text(row->name), as_text(row->model), as_int(row->gpus),
                  as_text(row->cluster), as_int(priced[r].problem->job.seq),
                  as_int(priced[r].problem->job.gbs), as_text(plan_text(row, &priced[r], text)));
    }
    PLAIT_TRY(table_print(rows, 0, out, err));
    PLAIT_TRY(print_figures(study, priced, out, err));
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
                100.0 * sum / count, is_in_points(f) ? "points" : "%", count);
        any = true;
    }
    if (any)
        fputc('\n', out);
    print_remarks("Assumed, because not published:", &study->assumed, out);
    print_remarks("Contradictions in the source:", &study->contradicts, out);
    print_remarks("Notes:", &study->notes, out);
    static const char *const words[] = {"", "may run out of memory", "does not fit", "cannot run"};
    const char *heading = "\nRows:\n";
    for (int r = 0; r < study->rows; r++) {
        const case_row *const row = &study->row[r];

        if (priced[r].plan->verdict != PLAIT_FITS) {
            snprintf(remark, sizeof remark, "%s: the plan %s: %s", row->name,
                     words[priced[r].plan->verdict], priced[r].plan->why);
            print_row_remark(&heading, remark, out);
        }
        for (int i = 0; i < row->notes.count; i++) {
            snprintf(remark, sizeof remark, "%s: %s", row->name, row->notes.text[i]);
            print_row_remark(&heading, remark, out);
        }
    }
    return PLAIT_OK;
}

static void write_remarks(json_writer *json, const char *key, const case_remarks *remarks)
{
    json_member_array(json, key);
    for (int i = 0; i < remarks->count; i++)
        json_write_string(json, remarks->text[i]);
    json_end_array(json);
}

static void write_head(json_writer *json, const case_study *study)
{
    JSON_STRINGS(json, {"name", study->name}, {"title", study->title}, {"source", study->source});
}

void json_cases(json_writer *json, const case_study *study, size_t count)
{
    json_member_version(json);
    json_member_array(json, "cases");
    for (size_t i = 0; i < count; i++) {
        json_begin_object(json);
        write_head(json, &study[i]);
        json_member_int64(json, "rows", study[i].rows);
        json_end_object(json);
    }
    json_end_array(json);
}

/* ---- one case ---- */

static void write_row(json_writer *json, const case_study *study, int r, const case_priced *priced)
{
    static const char *const verdicts[] = {"fits", "tight", "out_of_memory", "invalid"};
    const case_row *const row = &study->row[r];
    char text[96];

    json_begin_object(json);
    JSON_STRINGS(json, {"name", row->name}, {"model", row->model}, {"cluster", row->cluster},
                 {"runtime", row->runtime});
    JSON_NUMBERS(json, {"gpus", row->gpus}, {"seq", priced->problem->job.seq},
                 {"gbs", priced->problem->job.gbs});
    json_member_string(json, "precision", plait_precision_name[priced->problem->job.precision]);
    json_member_object(json, "plan");
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_kind kind = plait_keys[k].kind;

        if (kind == PLAIT_KEY_NUMBER || kind == PLAIT_KEY_SMALL_NUMBER || kind == PLAIT_KEY_SWITCH)
            json_member_int64(json, plait_keys[k].name,
                              plait_key_value(&priced->plan->degrees, (plait_key_id)k));
        else
            json_member_string(
                json, plait_keys[k].name,
                plait_degrees_get(&priced->plan->degrees, (plait_key_id)k, text, sizeof text));
    }
    json_end_object(json);
    json_member_string(json, "verdict", verdicts[priced->plan->verdict]);
    if (priced->plan->verdict != PLAIT_FITS)
        json_member_string(json, "why", priced->plan->why);
    json_member_number(json, "step_s",
                       priced->plan->verdict == PLAIT_INVALID ? (double)NAN
                                                              : priced->plan->cost.step_s);
    if (row->against >= 0)
        json_member_string(json, "against", study->row[row->against].name);
    json_member_array(json, "figures");
    for (int f = 0; f < CASE_FIGURES; f++) {
        const double ours = priced->ours[f], published = priced->published[f];

        if (!isfinite(ours) && !isfinite(published))
            continue;
        json_begin_object(json);
        json_member_string(json, "figure", case_figure_key[f]);
        JSON_NUMBERS(json, {"plait", ours}, {"published", published},
                     {"error", case_error((case_figure)f, ours, published)});
        json_end_object(json);
    }
    json_end_array(json);
    write_remarks(json, "notes", &row->notes);
    json_end_object(json);
}

void json_case(json_writer *json, const case_study *study, const case_priced *priced)
{
    json_member_version(json);
    json_member_object(json, "case");
    write_head(json, study);
    write_remarks(json, "assumed", &study->assumed);
    write_remarks(json, "contradicts", &study->contradicts);
    write_remarks(json, "notes", &study->notes);
    json_end_object(json);
    json_member_array(json, "rows");
    for (int r = 0; r < study->rows; r++)
        write_row(json, study, r, &priced[r]);
    json_end_array(json);
}
