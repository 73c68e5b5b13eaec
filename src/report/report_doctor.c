/* report_doctor.c - prints the current plan, and the fewest changes that make it faster */
#include "report/report_answers.h"

#include <math.h>
#include <string.h>

#include "report/json_plan.h"
#include "io/json/json_write.h"
#include "io/plans/plans_json.h"
#include "report/report_private.h"
#include "report/units.h"

static double gain_of(const doctor_answer *answer, double step_s)
{
    return 1.0 - step_s / answer->now->cost.step_s;
}

/*
 * Writes the gain of a change: "3.0 % less", or "0.6 % more" if the current plan is faster but does
 * not fit.
 */
static const char *gain_text(const doctor_answer *answer, double step_s, char text[UNITS_SIZE])
{
    const double gain = gain_of(answer, step_s);

    snprintf(text, UNITS_SIZE, "%.1f %% %s", 100.0 * fabs(gain), gain < 0.0 ? "more" : "less");
    return text;
}

static const char *changes_legend(const doctor_answer *answer)
{
    for (int i = 0; i < answer->changes; i++)
        if (answer->edits[i][0] == '-' || answer->edits[i][0] == '+')
            return ", with the changed lines of the file";
    return "";
}

plait_status report_doctor(const doctor_answer *answer, FILE *out, plait_error *err)
{
    const report_plan *const now = answer->now;
    char step[UNITS_SIZE], memory[UNITS_SIZE], gain[UNITS_SIZE], mfu[UNITS_SIZE],
        line[REPORT_LINE_SIZE];

    (void)err;
    report_question(answer->problem, out);
    fprintf(out, "\n%s: %s\n", answer->file, report_line(answer->problem, &now->degrees, line));
    if (now->verdict == PLAIT_INVALID) {
        fprintf(out, "cannot run: %s\n", now->why);
        return PLAIT_OK;
    }
    fprintf(out, "step %s, MFU %s, %s per GPU%s%s\n", units_seconds(now->cost.step_s, step),
            units_percent(now->cost.mfu, mfu), units_gib(now->cost.memory.peak_bytes, memory),
            now->verdict == PLAIT_FITS ? "" : "; ", now->verdict == PLAIT_FITS ? "" : now->why);
    if (answer->measured_s > 0.0)
        fprintf(out,
                "measured %s, %.2f times the predicted step; the steps below are predictions\n",
                units_seconds(answer->measured_s, step), answer->measured_s / now->cost.step_s);
    if (answer->changes == 0)
        fprintf(out, "\nno change of one or two keys makes %s\n",
                now->verdict <= PLAIT_TIGHT ? "the step 1 % shorter" : "the plan fit");
    else
        fprintf(out, "\nthe fewest changes that make the plan %s%s:\n",
                now->verdict <= PLAIT_TIGHT ? "faster" : "fit", changes_legend(answer));
    for (int i = 0; i < answer->changes; i++) {
        const plait_change *const change = &answer->change[i];
        const double step_s = change->best.price.step_s;
        const plait_degrees *const to = &change->best.plan.degrees;
        const char *lead = "";
        char was[PLAIT_VALUE_SIZE], is[PLAIT_VALUE_SIZE];

        fprintf(out, "%2d%s  step %s, %s, %s: ", i + 1,
                now->cost.step_s < answer->problem->band.tie * step_s ? "~" : " ",
                units_seconds(step_s, step), gain_text(answer, step_s, gain),
                units_gib(change->best.price.peak_bytes, memory));
        for (int key = 0; key < PLAIT_KEYS; key++) {
            if (!(change->changed & PLAIT_KEY_BIT(key)))
                continue;
            plait_degrees_get(&now->degrees, (plait_key_id)key, was, sizeof was);
            plait_degrees_get(to, (plait_key_id)key, is, sizeof is);
            fprintf(out, "%s%s %s -> %s", lead, plait_keys[key].name, was, is);
            lead = ", ";
        }
        fputc('\n', out);
        for (const char *edit = answer->edits[i]; *edit != '\0'; edit += strcspn(edit, "\n") + 1)
            fprintf(out, "      %.*s\n", (int)strcspn(edit, "\n"), edit);
    }
    if (answer->changes > 0 && answer->problem->band.tie > 0.0)
        fprintf(out,
                "~ within %.1f %% of the current plan: the prediction error is too large to rank "
                "them\n",
                100.0 * (answer->problem->band.tie - 1.0));
    if (answer->search.plans == 0) {
        fprintf(out, "\nno plan fits\n");
        return PLAIT_OK;
    }
    const plait_ranked *const best = &answer->search.plan[0];
    fprintf(out, "\nbest of all plans: step %s, %s: %s\n", units_seconds(best->price.step_s, step),
            gain_text(answer, best->price.step_s, gain),
            report_line(answer->problem, &best->plan.degrees, line));
    return PLAIT_OK;
}

void json_doctor(json_writer *json, const doctor_answer *answer)
{
    plans_write_question(json, answer->problem);
    json_write_key(json, "today");
    json_plan_write(json, answer->problem, answer->now);
    if (answer->measured_s > 0.0)
        json_member_number(json, "measured_s", answer->measured_s);
    json_member_array(json, "changes");
    for (int i = 0; i < answer->changes; i++) {
        json_begin_object(json);
        json_member_array(json, "changed");
        for (int key = 0; key < PLAIT_KEYS; key++)
            if (answer->change[i].changed & PLAIT_KEY_BIT(key))
                json_write_string(json, plait_keys[key].name);
        json_end_array(json);
        json_member_number(json, "gain", gain_of(answer, answer->change[i].best.price.step_s));
        json_write_key(json, "plan");
        json_plan_write(json, answer->problem, answer->plan[i]);
        json_end_object(json);
    }
    json_end_array(json);
    if (answer->search.plans > 0) {
        json_write_key(json, "best");
        json_point_write(json, answer->problem, &answer->search.plan[0], 0);
    }
}
