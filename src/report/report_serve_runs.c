/* report_serve_runs.c - prints measured serving runs next to predictions, as text and as JSON */
#include "report/report_serve.h"

#include <math.h>
#include <string.h>

#include "io/json/json_write.h"
#include "report/report_table.h"

static const char *const figure_name[PLAIT_SERVE_MEASURES] = {
    [PLAIT_SERVE_TTFT] = "TTFT",
    [PLAIT_SERVE_TPOT] = "TPOT",
    [PLAIT_SERVE_RATE] = "output tokens/s",
    [PLAIT_SERVE_E2E] = "end to end",
};

static const char *const figure_key[PLAIT_SERVE_MEASURES] = {
    [PLAIT_SERVE_TTFT] = "ttft_ms",
    [PLAIT_SERVE_TPOT] = "tpot_ms",
    [PLAIT_SERVE_RATE] = "out_tok_s",
    [PLAIT_SERVE_E2E] = "e2e_ms",
};

static double unit_of(int figure)
{
    return figure == PLAIT_SERVE_RATE ? 1.0 : 1e3;
}

/* Prints the share of runs inside the bands by the evidence of their profiles, and of all runs. */
static plait_status print_coverage(const plait_serve_validation *v, FILE *out, plait_error *err)
{
    table *rows = table_new("evidence|>runs|>TTFT in the band|>runs|>TPOT in the band|>runs|"
                            ">tokens/s in the band");
    double covered[PLAIT_SERVE_FIGURES] = {0};
    int all[PLAIT_SERVE_FIGURES] = {0};

    for (int e = 0; e <= PLAIT_SERVE_EVIDENCES; e++) {
        const bool last = e == PLAIT_SERVE_EVIDENCES;
        int any = 0;

        for (int f = 0; f < PLAIT_SERVE_FIGURES; f++)
            any += last ? all[f] : v->coverage[e][f].rows;
        if (any == 0)
            continue;
        table_cell(rows, "%s", last ? "all" : plait_serve_evidence_name[e]);
        for (int f = 0; f < PLAIT_SERVE_FIGURES; f++) {
            const int count = last ? all[f] : v->coverage[e][f].rows;
            const double share = last ? covered[f] / all[f] : v->coverage[e][f].covered;

            table_cell(rows, "%d", count);
            if (count > 0)
                table_cell(rows, "%.0f %%", 100.0 * share);
            else
                table_cell(rows, "-");
            if (!last) {
                all[f] += count;
                covered[f] += count * share;
            }
        }
    }
    fprintf(out, "\n");
    return table_print(rows, 2, out, err);
}

plait_status report_serve_validation(const plait_serve_validation *v, FILE *out, plait_error *err)
{
    fprintf(out, "%s: %d runs predicted, %d rejected, %d not trusted\n\n", v->runs->name, v->priced,
            v->refused, v->low);
    if (v->runs->given != NULL)
        fprintf(out,
                "each run is predicted by an engine profile that is fitted to other runs only\n\n");
    table *errors = table_new("mode|figure|>runs|>median error|>mean|>bias|>within 20 %|"
                              ">in the band");
    for (int m = 0; m < PLAIT_SERVE_RUN_MODES; m++)
        for (int f = 0; f < PLAIT_SERVE_MEASURES; f++) {
            const plait_serve_errors *e = &v->errors[m][f];
            if (e->rows == 0)
                continue;
            TABLE_ROW(
                errors, as_text(plait_serve_mode_word[m]), as_text(figure_name[f]), as_int(e->rows),
                as_format("%.1f %%", 100.0 * e->median), as_format("%.1f %%", 100.0 * e->mean),
                as_format("%+.1f %%", 100.0 * e->bias), as_format("%.0f %%", 100.0 * e->within),
                f < PLAIT_SERVE_FIGURES ? as_format("%.0f %%", 100.0 * e->covered) : as_text("-"));
        }
    PLAIT_TRY(table_print(errors, 2, out, err));
    PLAIT_TRY(print_coverage(v, out, err));
    if (v->choices > 0)
        fprintf(out,
                "\nIn %d groups of runs, the run predicted as fastest under a TPOT bound reaches "
                "%.1f %% of the best\nmeasured throughput on average; %.1f %% of these runs exceed "
                "the bound "
                "as measured.\n",
                v->choices, 100.0 * v->choice_share, 100.0 * v->choice_over);
    if (v->choices > 0) {
        table *picks = table_new(">--confidence|>groups|>of the best throughput|>over the bound");

        for (int p = 0; p < PLAIT_SERVE_PICKS; p++)
            TABLE_ROW(picks, as_format("%.1f", v->picks[p].confidence), as_int(v->picks[p].choices),
                      as_format("%.1f %%", 100.0 * v->picks[p].share),
                      as_format("%.1f %%", 100.0 * v->picks[p].over));
        fprintf(out, "\n");
        PLAIT_TRY(table_print(picks, 2, out, err));
    }
    if (v->refused > 0) {
        const plait_serve_runs *runs = v->runs;

        fprintf(out, "\nRejected:\n");
        for (size_t i = 0; i < runs->count; i++) {
            const char *note = runs->run[i].note;
            int rows = 0;
            bool first = true;
            if (runs->run[i].low || note[0] == '\0')
                continue;
            for (size_t j = 0; j < runs->count; j++) {
                if (runs->run[j].low || strcmp(runs->run[j].note, note) != 0)
                    continue;
                first = first && (rows > 0 || j == i);
                rows++;
            }
            if (first)
                fprintf(out, "  %5d  %s\n", rows, note);
        }
    }
    return PLAIT_OK;
}

void json_serve_validation(json_writer *json, const plait_serve_validation *v)
{
    json_member_array(json, "rows");
    for (size_t i = 0; i < v->runs->count; i++) {
        const plait_serve_run *run = &v->runs->run[i];
        const plait_service *s = &v->service[i];
        const bool priced = run->note[0] == '\0';
        char measured[32];

        json_begin_object_row(json);
        JSON_STRINGS(json, {"id", run->id}, {"source", run->source},
                     {"mode", plait_serve_mode_word[run->mode]});
        for (int f = 0; f < PLAIT_SERVE_MEASURES; f++) {
            json_member_number(json, figure_key[f],
                               priced ? plait_service_figure(s, f) * unit_of(f) : (double)NAN);
            snprintf(measured, sizeof measured, "measured_%s", figure_key[f]);
            if (run->measured[f] > 0.0)
                json_member_number(json, measured, run->measured[f] * unit_of(f));
        }
        if (priced) {
            const double *const band = v->engine[i]->bands[v->evidence[i]].figure[PLAIT_SERVE_TPOT];
            JSON_NUMBERS(json, {"tpot_low_ms", s->tpot_s * 1e3 * band[0]},
                         {"tpot_high_ms", s->tpot_s * 1e3 * band[1]});
            JSON_STRINGS(json, {"profile", v->engine[i]->name},
                         {"evidence", plait_serve_evidence_name[v->evidence[i]]});
        }
        json_member_bool(json, "scored", !run->low && priced);
        json_member_string(json, "note", run->note);
        json_end_object(json);
    }
    json_end_array(json);
    json_member_object(json, "summary");
    json_member_int64(json, "priced", v->priced);
    JSON_NUMBERS(json, {"refused", v->refused}, {"not_trusted", v->low});
    json_member_array(json, "errors");
    for (int m = 0; m < PLAIT_SERVE_RUN_MODES; m++)
        for (int f = 0; f < PLAIT_SERVE_MEASURES; f++) {
            const plait_serve_errors *e = &v->errors[m][f];
            if (e->rows == 0)
                continue;
            json_begin_object_row(json);
            JSON_STRINGS(json, {"mode", plait_serve_mode_word[m]}, {"figure", figure_key[f]});
            JSON_NUMBERS(json, {"runs", e->rows}, {"median", e->median}, {"mean", e->mean},
                         {"bias", e->bias}, {"within_20", e->within});
            if (f < PLAIT_SERVE_FIGURES)
                json_member_number(json, "covered", e->covered);
            json_end_object(json);
        }
    json_end_array(json);
    json_member_array(json, "coverage");
    for (int e = 0; e < PLAIT_SERVE_EVIDENCES; e++)
        for (int f = 0; f < PLAIT_SERVE_FIGURES; f++) {
            if (v->coverage[e][f].rows == 0)
                continue;
            json_begin_object_row(json);
            JSON_STRINGS(json, {"evidence", plait_serve_evidence_name[e]},
                         {"figure", figure_key[f]});
            JSON_NUMBERS(json, {"runs", v->coverage[e][f].rows},
                         {"covered", v->coverage[e][f].covered});
            json_end_object(json);
        }
    json_end_array(json);
    JSON_NUMBERS(json, {"choices", v->choices},
                 {"choice_share", v->choices > 0 ? v->choice_share : (double)NAN},
                 {"choice_over", v->choices > 0 ? v->choice_over : (double)NAN});
    json_member_array(json, "picks");
    for (int p = 0; p < PLAIT_SERVE_PICKS; p++) {
        json_begin_object_row(json);
        JSON_NUMBERS(json, {"confidence", v->picks[p].confidence}, {"choices", v->picks[p].choices},
                     {"choice_share", v->picks[p].share}, {"choice_over", v->picks[p].over});
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}
