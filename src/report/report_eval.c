/* report_eval.c - prints the price of one plan on one screen */
#include "report/report.h"

#include <math.h>

#include "report/report_private.h"
#include "report/units.h"

void report_verdict(const report_plan *plan, FILE *out)
{
    static const char *const words[] = {"fits", "may run out of memory", "does not fit",
                                        "cannot run"};

    fprintf(out, "verdict: %s%s%s\n", words[plan->verdict], plan->why[0] != '\0' ? ": " : "",
            plan->why);
}

/* Names of both conventions for counting FLOPs of attention, with the software that uses each. */
typedef struct flops_words {
    const char *halved, *whole;
} flops_words;

/*
 * Returns the names that apply to a model.
 *
 * Sources (C.5): NVIDIA/Megatron-LM, num_floating_point_operations() of
 * megatron/training/training.py, halves causal attention since core_v0.12.0;
 * NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/training/utils/flop_utils.py, does so since
 * v0.2.0, and counts windows by their width since v0.5.0. Both count the chunks of Llama 4 as the
 * whole context; Megatron-Bridge up to v0.6.0 also counts all keys of an indexer.
 */
static flops_words words_of(const plait_model *model, int seq)
{
    flops_words words = {
        "causal attention halved, as in Megatron-LM since core 0.12 and Megatron-Bridge since 0.2",
        "the full attention matrix, as in Megatron-LM up to core 0.11, torchtitan and most papers",
    };

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *const layer = &model->kind[k];
        const int chunk = layer->attention.chunk;

        if (layer->mla.index_topk > 0 || (chunk > 0 && chunk < seq))
            return (flops_words){
                "causal attention halved, sparse attention by its selected keys",
                "the full attention matrix, sparse attention by its selected keys"};
        if (layer->attention.window > 0 && layer->attention.window < seq)
            words = (flops_words){"causal attention halved, windows by their width, as in "
                                  "Megatron-Bridge since 0.5",
                                  "the full attention matrix, windows by their width"};
    }
    return words;
}

const char *report_half_batch_hint(const plait_model *model, int seq)
{
    return words_of(model, seq).halved;
}

void report_totals(const plait_problem *problem, const plait_cost *cost, FILE *out)
{
    const plait_memory *const memory = &cost->memory;
    const flops_words words = words_of(problem->model, problem->job.seq);
    const double whole = cost->model_flops_per_s * (cost->mfu_square / cost->mfu);
    char a[UNITS_SIZE], b[UNITS_SIZE], c[UNITS_SIZE];

    fprintf(out, "step %s: %.0f tokens/s/GPU, MFU %s, HFU %s", units_seconds(cost->step_s, a),
            cost->tokens_per_s_per_gpu, units_percent(cost->mfu, b), units_percent(cost->hfu, c));
    if (isfinite(cost->cost_usd))
        fprintf(out, ", %.4g USD a step", cost->cost_usd);
    if (isfinite(cost->energy_j))
        fprintf(out, ", %s a step", units_rate(cost->energy_j, "J", a));
    fprintf(out, "\nFLOPs with %s: %s a GPU, MFU %s", words.halved,
            units_rate(cost->model_flops_per_s, "FLOP/s", a), units_percent(cost->mfu, b));
    fprintf(out, "\nFLOPs with %s: %s a GPU, MFU %s, HFU %s", words.whole,
            units_rate(whole, "FLOP/s", a), units_percent(cost->mfu_square, b),
            units_percent(cost->hfu_square, c));
    if (isfinite(cost->step_low_s))
        fprintf(out, "\nband %s to %s: %s", units_seconds(cost->step_low_s, a),
                units_seconds(cost->step_high_s, b),
                problem->runtime->natural_routing ? "an estimate because routing is natural"
                                                  : "holds 80 % of comparable measured runs");
    fprintf(out, "\nmemory %s of %s on the fullest GPU, stage %d of %d; ",
            units_gib(memory->peak_bytes, a), units_gib(memory->capacity_bytes, b),
            cost->fullest_stage, cost->stages);
    fprintf(out, "band %s to %s, risk of running out of memory %s\n",
            units_gib(memory->low_bytes, a), units_gib(memory->high_bytes, b),
            units_percent(cost->risk, c));
    if (memory->host_bytes > 0.0) {
        fprintf(out, "host memory %s ", units_gib(memory->host_bytes, a));
        if (memory->host_capacity_bytes > 0.0)
            fprintf(out, "of %s a node\n", units_gib(memory->host_capacity_bytes, a));
        else
            fputs("a node; capacity unknown (set host.memory_gib in the cluster file)\n", out);
    }
}

/* Prints the terms of at least half a percent, largest first: "matmul 61.2 %, bubble 8.1 %". */
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

plait_status report_eval(const plait_problem *problem, const report_plan *plan,
                         const plait_relaxation *way, int ways, FILE *out, plait_error *err)
{
    report_question(problem, out);
    fputc('\n', out);
    report_degrees(problem, &plan->degrees, out);
    if (plan->verdict != PLAIT_INVALID)
        report_choices(&plan->plan, out);
    fputc('\n', out);
    report_verdict(plan, out);
    if (plan->verdict != PLAIT_INVALID) {
        report_term step[PLAIT_STEP_TERM_COUNT], memory[PLAIT_MEMORY_TERM_COUNT];

        report_totals(problem, &plan->cost, out);
        report_routing(problem, plan, out);
        report_step_term_list(&plan->cost.step, step);
        report_memory_term_list(&plan->cost.memory, memory);
        fputs("  time    ", out);
        print_shares(step, PLAIT_STEP_TERM_COUNT, plan->cost.step_s, out);
        fputs("  memory  ", out);
        print_shares(memory, PLAIT_MEMORY_TERM_COUNT, plan->cost.memory.peak_bytes, out);
        PLAIT_TRY(report_groups(problem, plan, "", out, err));
        report_confidence(problem, &plan->degrees, out);
        fputs("next: `explain` instead of `eval` in this command shows every term and the "
              "bottlenecks\n",
              out);
    }
    if (ways > 0) {
        fprintf(out, "\nThe plan %s with one of these changes:\n",
                plan->verdict == PLAIT_INVALID ? "runs" : "fits");
        report_relaxations(way, ways, out);
    }
    return PLAIT_OK;
}
