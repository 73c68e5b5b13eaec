/* report_next.c - prints plans in the order of posterior step times, and the plan to try next */
#include "report/report_answers.h"

#include <math.h>

#include "io/json/json_write.h"
#include "io/plans/plans_json.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

/* Smallest expected gain for which another try is recommended. */
static const double least_gain = 0.01;

static double predicted_peak(const next_plan *plan)
{
    return plan->reserved ? plan->memory.reserved_bytes : plan->memory.allocated_bytes;
}

/* Returns the geometric mean of measured over predicted step times. */
static double measured_over_predicted(const next_answer *answer)
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
    return answer->tries.count == 0 || answer->tries.gain < least_gain;
}

plait_status report_next(const next_answer *answer, FILE *out, plait_error *err)
{
    char text[UNITS_SIZE], other[UNITS_SIZE], line[REPORT_LINE_SIZE], found[UNITS_SIZE],
        expected[UNITS_SIZE], step[UNITS_SIZE];

    report_question(&answer->problem, out);
    fputc('\n', out);
    table *rows =
        table_new(">position|>plan no.@stays|>predicted|>measured|>updated@stays|80 % band|"
                  "plan@below");
    for (int i = 0; i < answer->plans; i++) {
        const next_plan *const plan = &answer->plan[answer->order[i]];

        TABLE_ROW(rows, as_int(i + 1), as_int(plan->rank), as_seconds(plan->predicted_s),
                  plan->measured_s > 0.0 ? as_seconds(plan->measured_s) : as_text("-"),
                  as_seconds(plan->posterior.step_s));
        table_cell(rows, "%s to %s", units_seconds(plan->posterior.low_s, text),
                   units_seconds(plan->posterior.high_s, other));
        table_cell(rows, "%s", report_line(&answer->problem, &plan->degrees, line));
    }
    PLAIT_TRY(table_print(rows, 0, out, err));
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
                      ? ": above its band and the usable memory; add the difference to predictions "
                        "of other plans"
                      : ": above its band; add the difference to predictions of other plans",
                  out);
        fputc('\n', out);
    }
    const next_plan *const best = best_measured(answer);
    const plait_tries *const tries = &answer->tries;
    fprintf(
        out,
        "\n%d of %d plans measured, at %.3g times the predicted step; the fastest measured plan is "
        "plan %d, %s\n",
        answer->measured, answer->plans, measured_over_predicted(answer), best->rank,
        units_seconds(best->measured_s, step));
    if (is_done(answer)) {
        fprintf(out,
                "no unmeasured plan saves more than %.1f %% (95 %% confidence): keep plan %d\n",
                100.0 * fmax(0.0, tries->gain), best->rank);
    } else {
        const next_plan *const next = &answer->plan[tries->plan[0]];
        fprintf(out,
                "an unmeasured plan may take up to %.1f %% less (95 %% confidence); the expected "
                "loss is "
                "%.1f %% now, %.1f %% after one more measurement\n",
                100.0 * tries->gain, 100.0 * tries->now, 100.0 * tries->regret[0]);
        fprintf(out, "try next: plan %d: %s\n", next->rank,
                report_line(&answer->problem, &next->degrees, line));
    }
    return PLAIT_OK;
}

void json_next_answer(json_writer *json, const next_answer *answer)
{
    plans_write_question(json, &answer->problem);
    JSON_NUMBERS(json, {"measured_over_predicted", measured_over_predicted(answer)},
                 {"best", best_measured(answer)->rank});
    if (is_done(answer))
        json_member_null(json, "next");
    else
        json_member_int64(json, "next", answer->plan[answer->tries.plan[0]].rank);
    JSON_NUMBERS(json, {"gain", fmax(0.0, answer->tries.gain)},
                 {"expected_regret", answer->tries.now});
    json_member_array(json, "plans");
    for (int i = 0; i < answer->plans; i++) {
        const next_plan *const plan = &answer->plan[answer->order[i]];

        json_begin_object(json);
        json_member_int64(json, "rank", plan->rank);
        plans_write_degrees(json, &answer->problem, &plan->degrees);
        JSON_NUMBERS(json, {"predicted_s", plan->predicted_s},
                     {"measured_s", plan->measured_s > 0.0 ? plan->measured_s : (double)NAN});
        if (plan->peak_bytes > 0.0) {
            json_member_string(json, "memory_scope", plan->reserved ? "reserved" : "allocated");
            JSON_NUMBERS(json, {"memory_bytes", predicted_peak(plan)},
                         {"measured_memory_bytes", plan->peak_bytes});
        }
        JSON_NUMBERS(json, {"step_s", plan->posterior.step_s},
                     {"step_low_s", plan->posterior.low_s},
                     {"step_high_s", plan->posterior.high_s});
        json_end_object(json);
    }
    json_end_array(json);
}
