/* report_eval.c - the price of one plan on one screen */
#include "report.h"

#include <math.h>

#include "report_private.h"
#include "units.h"

/* ---- parts shared with explain ---- */

void report_verdict(const report_plan *plan, FILE *out)
{
    static const char *const words[] = {"fits", "may run out of memory", "does not fit",
                                        "cannot run"};

    fprintf(out, "verdict: %s%s%s\n", words[plan->verdict], plan->why[0] != '\0' ? ": " : "",
            plan->why);
}

static void print_money(const plait_cost *cost, FILE *out)
{
    char energy[UNITS_SIZE];

    if (isfinite(cost->cost_usd))
        fprintf(out, ", %.4g USD a step", cost->cost_usd);
    if (isfinite(cost->energy_j))
        fprintf(out, ", %s a step", units_rate(cost->energy_j, "J", energy));
}

static void print_band(const plait_cost *cost, FILE *out)
{
    char low[UNITS_SIZE], high[UNITS_SIZE];

    if (isfinite(cost->step_low_s))
        fprintf(out, "\nband %s to %s: 80 %% of measured runs like it lie there",
                units_seconds(cost->step_low_s, low), units_seconds(cost->step_high_s, high));
}

/* What others print: causal kernels compute half of the squares, papers and Megatron-LM count all. */
static void print_square(const plait_cost *cost, FILE *out)
{
    char mfu[UNITS_SIZE], hfu[UNITS_SIZE], flops[UNITS_SIZE];

    fprintf(out, "\nas Megatron-LM counts, whole squares of attention: %s a GPU, MFU %s, HFU %s",
            units_rate(cost->model_flops_per_s, "FLOP/s", flops),
            units_percent(cost->mfu_square, mfu), units_percent(cost->hfu_square, hfu));
}

void report_totals(const plait_cost *cost, FILE *out)
{
    char step[UNITS_SIZE], mfu[UNITS_SIZE], hfu[UNITS_SIZE];
    char peak[UNITS_SIZE], capacity[UNITS_SIZE];

    fprintf(out, "step %s: %.0f tokens/s/GPU, MFU %s, HFU %s", units_seconds(cost->step_s, step),
            cost->tokens_per_s_per_gpu, units_percent(cost->mfu, mfu),
            units_percent(cost->hfu, hfu));
    print_money(cost, out);
    print_square(cost, out);
    print_band(cost, out);
    fprintf(out, "\nmemory %s of %s on the fullest GPU, stage %d of %d; ",
            units_gib(cost->memory.peak_bytes, peak),
            units_gib(cost->memory.capacity_bytes, capacity), cost->fullest_stage, cost->stages);
    fprintf(out, "band %s to %s, risk of running out %s\n", units_gib(cost->memory.low_bytes, peak),
            units_gib(cost->memory.high_bytes, capacity), units_percent(cost->risk, mfu));
}

/* ---- eval ---- */

/* Terms by size, those below half a percent left out: "matmul 61.2 %, bubble 8.1 %". */
static void print_shares(report_term *term, int count, double total, FILE *out)
{
    char share[UNITS_SIZE];

    for (int printed = 0; printed < count; printed++) {
        int largest = printed;
        report_term swap;

        for (int i = printed + 1; i < count; i++)
            if (term[i].value > term[largest].value)
                largest = i;
        swap = term[printed];
        term[printed] = term[largest];
        term[largest] = swap;
        if (term[printed].value < 0.005 * total)
            break;
        fprintf(out, "%s%s %s", printed > 0 ? ", " : "", term[printed].name,
                units_percent(term[printed].value / total, share));
    }
    fputc('\n', out);
}

static void print_terms(const plait_cost *cost, FILE *out)
{
    report_term step[PLAIT_STEP_TERM_COUNT], memory[PLAIT_MEMORY_TERM_COUNT];

    report_step_term_list(&cost->step, step);
    report_memory_term_list(&cost->memory, memory);
    fputs("  time    ", out);
    print_shares(step, PLAIT_STEP_TERM_COUNT, cost->step_s, out);
    fputs("  memory  ", out);
    print_shares(memory, PLAIT_MEMORY_TERM_COUNT, cost->memory.peak_bytes, out);
}

plait_status report_eval(const plait_problem *problem, const report_plan *plan, FILE *out,
                         plait_error *err)
{
    report_question(problem, out);
    fputc('\n', out);
    report_degrees(problem, &plan->degrees, out);
    if (plan->verdict != PLAIT_INVALID)
        report_choices(&plan->plan, out);
    fputc('\n', out);
    report_verdict(plan, out);
    if (plan->verdict != PLAIT_INVALID) {
        report_totals(&plan->cost, out);
        print_terms(&plan->cost, out);
        PLAIT_TRY(report_groups(problem, plan, "", out, err));
        report_confidence(problem, &plan->degrees, out);
        fputs("next: the same command with `explain` shows every term, and what binds\n", out);
    }
    return PLAIT_OK;
}
