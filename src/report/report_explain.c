/* report_explain.c - every term of one plan, what binds it, and how it compares with another */
#include <math.h>

#include "report/explain.h"

void explain_heading(const char *text, FILE *out)
{
    fprintf(out, "\n%s\n", text);
}

double explain_difference(double from, double to)
{
    const double difference = to - from;

    return fabs(difference) > 1e-9 * fabs(from) ? difference : 0.0;
}

static plait_status print_price(const plait_problem *problem, const report_explained *explained,
                                FILE *out, plait_error *err)
{
    const report_plan *const plan = explained->plan;

    report_totals(problem, &plan->cost, out);
    report_routing(problem, plan, out);
    explain_heading("Time of a step, on the slowest stage:", out);
    PLAIT_TRY(report_step_terms(&plan->cost, out, err));
    explain_heading("Memory of the fullest GPU:", out);
    PLAIT_TRY(report_memory_terms(&plan->cost, out, err));
    PLAIT_TRY(explain_communication(&plan->cost, out, err));
    PLAIT_TRY(explain_fused(&plan->cost, out, err));
    PLAIT_TRY(explain_stages(plan, out, err));
    explain_timeline(explained, out);
    PLAIT_TRY(explain_syncs(problem->runtime, plan, out, err));
    explain_binding(plan, out);
    PLAIT_TRY(explain_limits(explained, out, err));
    return explain_sensitivities(explained, out, err);
}

plait_status report_explain(const plait_problem *problem, const report_explained *explained,
                            FILE *out, plait_error *err)
{
    report_question(problem, out);
    fputc('\n', out);
    report_degrees(problem, &explained->plan->degrees, out);
    if (explained->plan->verdict != PLAIT_INVALID)
        report_choices(&explained->plan->plan, out);
    fputc('\n', out);
    report_verdict(explained->plan, out);
    if (explained->plan->verdict != PLAIT_INVALID)
        PLAIT_TRY(print_price(problem, explained, out, err));
    if (explained->relaxations > 0) {
        explain_heading("What would make it fit, smallest change first:", out);
        report_relaxations(explained->relaxation, explained->relaxations, out);
    }
    PLAIT_TRY(explain_versus(explained, out, err));
    PLAIT_TRY(explain_why_not(problem, explained, out, err));
    fputc('\n', out);
    report_confidence(problem, &explained->plan->degrees, out);
    return PLAIT_OK;
}
