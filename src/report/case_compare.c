/* case_compare.c - of the figures that a source publishes, what plait makes of the same plan */
#include <math.h>

#include "plait/lowlevel/limits.h"
#include "plait/units.h"
#include "report/report_case.h"

static double peak_flops_per_s(const plait_problem *problem)
{
    const plait_accelerator *const gpu = plait_cluster_accelerator(problem->cluster, 0);

    return gpu->peak_flops_per_s[problem->job.precision];
}

/* Of the layers of a plan, those on group 0. */
static double first_layers(const plait_plan *plan)
{
    double first = 0.0, all = 0.0;

    for (int s = 0; s < plan->stages; s++) {
        first += plan->stage[s].group == 0 ? plan->stage[s].layers : 0;
        all += plan->stage[s].layers;
    }
    return first / all;
}

/* Figures of one plan alone; FLOPs with whole squares of attention, as the sources of the cases count. */
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
    case CASE_first_layers_percent:
        return 100.0 * first_layers(&row->plan->plan);
    default:
        return (double)NAN;
    }
}

static bool runs(const case_priced *row)
{
    return row->plan->verdict != PLAIT_INVALID;
}

/* Tokens a second and GPU, of this row and of the one that it is compared with. */
static double gain_of(const case_priced *row, const case_priced *before)
{
    if (!runs(row) || !runs(before))
        return (double)NAN;
    return row->plan->cost.tokens_per_s_per_gpu / before->plan->cost.tokens_per_s_per_gpu - 1.0;
}

/* What a speed-up says of the share that gradients have of a step; ours with the stages we price. */
static void compare_shares(const case_row *asked, case_priced *own, double gain)
{
    own->published[CASE_sync_share_percent] =
        100.0 *
        plait_sync_share(asked->sync_stages, asked->published[CASE_speedup_percent] / 100.0);
    own->ours[CASE_sync_share_percent] = 100.0 * plait_sync_share(own->plan->degrees.pp, gain);
}

void case_compare(const case_study *study, case_priced *priced, int row)
{
    const case_row *const asked = &study->row[row];
    case_priced *const own = &priced[row];

    for (int f = 0; f < CASE_FIGURES; f++) {
        const bool wanted = isfinite(asked->published[f]) && runs(own);

        own->published[f] = asked->published[f];
        own->ours[f] = wanted ? figure_of((case_figure)f, own) : (double)NAN;
    }
    if (asked->against < 0)
        return;
    const double gain = gain_of(own, &priced[asked->against]);
    own->ours[CASE_speedup_percent] = 100.0 * gain;
    if (asked->sync_stages > 0)
        compare_shares(asked, own, gain);
}

double case_error(case_figure figure, double ours, double published)
{
    if (figure == CASE_speedup_percent || figure == CASE_sync_share_percent ||
        figure == CASE_first_layers_percent)
        return (ours - published) / 100.0;
    return ours / published - 1.0;
}
