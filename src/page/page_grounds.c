/* page_grounds.c - adds the assumptions behind a training plan's numbers to a page */
#include "page/pages.h"

#include "report/report_private.h"
#include "base/text.h"
#include "plan/model_queries.h"
#include "report/units.h"

enum { TEXT_SIZE = 512 };

static int groups_of(const plait_problem *problem)
{
    return plait_cluster_groups(problem->cluster, problem->job.gpus);
}

void page_peak_text(const plait_problem *problem, char *text, size_t size)
{
    const plait_precision precision = problem->job.precision;
    size_t used = 0;
    char peak[UNITS_SIZE];

    text[0] = '\0';
    for (int g = 0; g < groups_of(problem) && used < size; g++) {
        const plait_accelerator *const gpu = problem->cluster->group[g].accelerator;

        used += (size_t)text_format(
            text + used, size - used, "%s%s %s dense%s%s", g > 0 ? "; " : "",
            units_rate(gpu->peak_flops_per_s[precision], "FLOP/s", peak),
            plait_precision_name[precision], groups_of(problem) > 1 ? " of " : "",
            groups_of(problem) > 1 ? gpu->name : "");
    }
}

void page_assume_peak(page *of, const plait_problem *problem)
{
    char peak[TEXT_SIZE];

    page_peak_text(problem, peak, sizeof peak);
    if (groups_of(problem) > 1)
        page_assume(of, "MFU", "of %s", peak);
    else
        page_assume(of, "MFU", "of %s (%s)", peak, problem->cluster->group[0].accelerator->name);
}

void page_assume_prices(page *of, const plait_cluster *cluster, int groups, double usd)
{
    if (usd > 0.0) {
        page_assume(of, "price", "%g USD per GPU-hour of %s, set by --price", usd, cluster->name);
        return;
    }
    for (int g = 0; g < groups; g++) {
        const plait_accelerator *const gpu = cluster->group[g].accelerator;

        if (gpu->usd_per_hour > 0.0)
            page_assume(of, "price", "%g USD per GPU-hour of %s, from its accelerator file%s%s",
                        gpu->usd_per_hour, gpu->name, gpu->price_source != NULL ? ": " : "",
                        gpu->price_source != NULL ? gpu->price_source : "");
        else
            page_assume(of, "price", "unknown for %s", gpu->name);
    }
}

void page_assume_plan(page *of, const plait_problem *problem, const report_plan *plan)
{
    char capacity[UNITS_SIZE], device[UNITS_SIZE];
    const char *const fitted =
        problem->runtime->calibrated ? "fitted to measured steps" : "not fitted to measured steps";
    char mfu[UNITS_SIZE], square[UNITS_SIZE];

    page_assume(of, "precision", "%s", plait_precision_name[problem->job.precision]);
    if (problem->runtime->at != NULL && problem->runtime->until == 0)
        page_assume(of, "runtime", "%s (%s), with the constants of the newest release; %s",
                    problem->runtime->name, problem->runtime->at->name, fitted);
    else if (problem->runtime->until > 0)
        page_assume(of, "runtime", "%s, releases up to %02d.%02d; %s", problem->runtime->name,
                    problem->runtime->until / 100, problem->runtime->until % 100, fitted);
    else
        page_assume(of, "runtime", "%s, the newest release; %s", problem->runtime->name, fitted);
    page_assume_peak(of, problem);
    if (plan == NULL || plan->verdict == PLAIT_INVALID)
        page_assume(of, "FLOPs", "%s", report_half_batch_hint(problem->model, problem->job.seq));
    else
        page_assume(of, "FLOPs", "%s: MFU %s; %s if attention is counted in full",
                    report_half_batch_hint(problem->model, problem->job.seq),
                    units_percent(plan->cost.mfu, mfu),
                    units_percent(plan->cost.mfu_square, square));
    const plait_runtime *const runtime = problem->runtime;
    const double stated = runtime->factor.ep_imbalance;
    if (model_has_experts(problem->model)) {
        if (runtime->natural_routing)
            page_assume(of, "routing", "natural: the band includes the cost of uneven experts");
        else
            page_assume(
                of, "routing", "experts %s: the most loaded rank receives %g times the mean",
                runtime->imbalance_stated ? "uneven as set by --imbalance"
                                          : "balanced (forced, or tokens dropped)",
                plan != NULL ? model_imbalance(problem->model, stated, plan->degrees.ep) : stated);
    }
    page_assume(
        of, "risk", "at most %g %% risk of running out of memory: plans may use %s of a GPU's %s",
        100.0 * problem->risk, units_gib(plait_capacity_bytes(problem, problem->risk), capacity),
        units_gib(plait_capacity_bytes(problem, 0.5), device));
    page_assume(of, "bands",
                "a band contains 80 %% of comparable measured runs, all from sources left out of "
                "the fit");
    FILE *const stream = page_begin_printed(of);

    if (stream != NULL)
        report_confidence(problem, plan != NULL ? &plan->degrees : NULL, stream);
    page_end_assumed(of, "note", stream);
}
