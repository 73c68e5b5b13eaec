/* report_next.c - plans by what is believed of them now, and which to try next */
#include "report/report_next.h"

#include <math.h>

#include "io/json/json_write.h"
#include "io/plans/plans_json.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

/* Gains below this are not worth a try. */
static const double worth = 0.01;

static plait_status print_plans(const next_answer *answer, FILE *out, plait_error *err)
{
    static const table_column titles[] = {{"now", TABLE_RIGHT},       {"was", TABLE_RIGHT},
                                          {"predicted", TABLE_RIGHT}, {"measured", TABLE_RIGHT},
                                          {"believed", TABLE_RIGHT},  {"80 % band", TABLE_LEFT},
                                          {"plan", TABLE_LEFT}};
    table *rows = table_new(titles, 7);
    char text[UNITS_SIZE], other[UNITS_SIZE], line[REPORT_LINE_SIZE];

    table_spare(rows, 1, TABLE_SPARE);
    table_spare(rows, 4, TABLE_STAYS);
    table_spare(rows, 6, TABLE_BELOW);
    for (int i = 0; i < answer->plans; i++) {
        const next_plan *const plan = &answer->plan[answer->order[i]];

        table_cell(rows, "%d", i + 1);
        table_cell(rows, "%d", plan->rank);
        table_cell(rows, "%s", units_seconds(plan->predicted_s, text));
        table_cell(rows, "%s",
                   plan->measured_s > 0.0 ? units_seconds(plan->measured_s, text) : "-");
        table_cell(rows, "%s", units_seconds(plan->believed.step_s, text));
        table_cell(rows, "%s to %s", units_seconds(plan->believed.low_s, text),
                   units_seconds(plan->believed.high_s, other));
        table_cell(rows, "%s", report_line(&answer->problem, &plan->degrees, line));
    }
    return table_print(rows, 0, out, err);
}

/* What is predicted of the kind that was measured. */
static double predicted_peak(const next_plan *plan)
{
    return plan->reserved ? plan->memory.reserved_bytes : plan->memory.allocated_bytes;
}

/* Measured peaks beside what was predicted, and whether that was enough. */
static void print_peaks(const next_answer *answer, FILE *out)
{
    char found[UNITS_SIZE], expected[UNITS_SIZE];

    for (int i = 0; i < answer->plans; i++) {
        const next_plan *const plan = &answer->plan[i];
        const double predicted = predicted_peak(plan);

        if (!(plan->peak_bytes > 0.0))
            continue;
        fprintf(out, "plan %d %s %s, predicted %s", plan->rank,
                plan->reserved ? "reserved" : "allocated", units_gib(plan->peak_bytes, found),
                units_gib(predicted, expected));
        if (plan->peak_bytes > predicted * plan->memory.high_bytes / plan->memory.peak_bytes)
            fputs(plan->peak_bytes > plan->memory.capacity_bytes
                      ? ": above its band and what plans may use, so leave others as much more room"
                      : ": above its band, so leave other plans as much more room",
                  out);
        fputc('\n', out);
    }
}

/* How far the measured plans are from their predictions, together. */
static double site_of(const next_answer *answer)
{
    double sum = 0.0;

    for (int i = 0; i < answer->plans; i++)
        if (answer->plan[i].measured_s > 0.0)
            sum += log(answer->plan[i].measured_s / answer->plan[i].predicted_s);
    return exp(sum / answer->measured);
}

static const next_plan *best_measured(const next_answer *answer)
{
    const next_plan *best = NULL;

    for (int i = 0; i < answer->plans; i++)
        if (answer->plan[i].measured_s > 0.0 &&
            (best == NULL || answer->plan[i].measured_s < best->measured_s))
            best = &answer->plan[i];
    return best;
}

static bool is_done(const next_answer *answer)
{
    return answer->tries.count == 0 || answer->tries.gain < worth;
}

static void print_advice(const next_answer *answer, FILE *out)
{
    const next_plan *const best = best_measured(answer);
    const plait_tries *const tries = &answer->tries;
    char step[UNITS_SIZE], line[REPORT_LINE_SIZE];

    fprintf(
        out,
        "\n%d of %d plans measured, %.3g times as long as predicted; the best of them is %d, %s\n",
        answer->measured, answer->plans, site_of(answer), best->rank,
        units_seconds(best->measured_s, step));
    if (is_done(answer)) {
        fprintf(out,
                "nothing that is left takes less by more than %.1f %% (95 %% sure): keep plan %d\n",
                100.0 * fmax(0.0, tries->gain), best->rank);
        return;
    }
    const next_plan *const next = &answer->plan[tries->plan[0]];
    fprintf(out,
            "what is left may take up to %.1f %% less (95 %% sure); stopping here loses %.1f %% on "
            "average, one more try %.1f %%\n",
            100.0 * tries->gain, 100.0 * tries->now, 100.0 * tries->regret[0]);
    fprintf(out, "try next: plan %d: %s\n", next->rank,
            report_line(&answer->problem, &next->degrees, line));
}

plait_status report_next(const next_answer *answer, FILE *out, plait_error *err)
{
    report_question(&answer->problem, out);
    fputc('\n', out);
    PLAIT_TRY(print_plans(answer, out, err));
    print_peaks(answer, out);
    print_advice(answer, out);
    return PLAIT_OK;
}

/* ---- JSON ---- */

static void write_plan(json_writer *json, const next_answer *answer, const next_plan *plan)
{
    json_begin_object(json);
    json_member_int64(json, "rank", plan->rank);
    plans_write_degrees(json, &answer->problem, &plan->degrees);
    json_member_number(json, "predicted_s", plan->predicted_s);
    if (plan->measured_s > 0.0)
        json_member_number(json, "measured_s", plan->measured_s);
    else
        json_member_null(json, "measured_s");
    if (plan->peak_bytes > 0.0) {
        json_member_string(json, "memory_scope", plan->reserved ? "reserved" : "allocated");
        json_member_number(json, "memory_bytes", predicted_peak(plan));
        json_member_number(json, "measured_memory_bytes", plan->peak_bytes);
    }
    json_member_number(json, "step_s", plan->believed.step_s);
    json_member_number(json, "step_low_s", plan->believed.low_s);
    json_member_number(json, "step_high_s", plan->believed.high_s);
    json_end_object(json);
}

plait_status json_next_answer(const next_answer *answer, plait_arena *arena, const char **text,
                              size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    plans_write_question(&json, &answer->problem);
    json_member_number(&json, "measured_over_predicted", site_of(answer));
    json_member_int64(&json, "best", best_measured(answer)->rank);
    if (is_done(answer))
        json_member_null(&json, "next");
    else
        json_member_int64(&json, "next", answer->plan[answer->tries.plan[0]].rank);
    json_member_number(&json, "gain", fmax(0.0, answer->tries.gain));
    json_member_number(&json, "expected_regret", answer->tries.now);
    json_write_key(&json, "plans");
    json_begin_array(&json);
    for (int i = 0; i < answer->plans; i++)
        write_plan(&json, answer, &answer->plan[answer->order[i]]);
    json_end_array(&json);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
