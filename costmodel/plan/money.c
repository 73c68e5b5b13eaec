/* money.c - dollars and joules of a step (C.95, C.96) */
#include <math.h>

#include "plait/cost.h"
#include "plait/units.h"
#include "costmodel/api.h"

/*
 * Power that a GPU draws above idle, as a share of the range from idle to maximum power. 0.98 when
 * compute-bound and 0.7 when memory-bound were measured on H200, B200 and GB200 (aiconfigurator
 * power columns). 0.5 while waiting is an assumption.
 */
static const double busy_share = 0.98;
static const double moving_share = 0.7;
static const double waiting_share = 0.5;

double plait_energy_j(const plait_problem *problem, plait_price price)
{
    const plait_cluster *cluster = problem->cluster;
    const plait_accelerator *gpu = plait_cluster_accelerator(cluster, 0);
    const double range_w = gpu->power_w - gpu->idle_w;
    const double host_w = cluster->node_overhead_w / cluster->group[0].gpus_per_node;
    const double waiting_w = gpu->idle_w + waiting_share * range_w + host_w;

    if (gpu->power_w <= 0.0)
        return (double)NAN;
    return cluster->pue * problem->job.gpus *
           (waiting_w * price.step_s + (busy_share - waiting_share) * range_w * price.busy_s +
            (moving_share - waiting_share) * range_w * price.moving_s);
}

void plait_cost_money(const plait_problem *problem, plait_cost *cost)
{
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);
    const plait_price price = {
        .step_s = cost->step_s,
        .busy_s = cost->busy_s,
        .moving_s = cost->moving_s,
    };

    cost->cost_usd = gpu->usd_per_hour > 0.0
                         ? (problem->job.gpus + problem->job.tuning.reference_gpus) *
                               gpu->usd_per_hour * cost->step_s / PLAIT_HOUR
                         : (double)NAN;
    cost->energy_j = plait_energy_j(problem, price);
}
