/* money.c - dollars and joules of a step (C.95, C.96) */
#include <math.h>

#include "plait/cost.h"
#include "plait/units.h"

static const double waiting_share = 0.5;

static double host_w(const plait_cluster *cluster)
{
    return cluster->node_overhead_w / cluster->group[0].gpus_per_node;
}

double plait_waiting_power_w(const plait_problem *problem)
{
    const plait_cluster *cluster = problem->cluster;
    const plait_accelerator *gpu = plait_cluster_accelerator(cluster, 0);

    return cluster->pue * problem->job.gpus *
           (gpu->idle_w + waiting_share * (gpu->power_w - gpu->idle_w) + host_w(cluster));
}

/*
 * Shares of the board's power range: 0.98 when compute-bound and 0.7 when memory-bound as
 * measured on H200, B200 and GB200 (aiconfigurator power columns); 0.5 while waiting, an
 * assumption.
 */
static double board_j(const plait_accelerator *gpu, const plait_step_time *t)
{
    const double range_w = gpu->power_w - gpu->idle_w;
    const double busy_s = t->matmul_s + t->attention_s + t->recompute_s;
    const double moving_s = t->memory_ops_s + t->optimizer_s;
    const double waiting_s = t->launch_s + t->tp_comm_s + t->cp_comm_s + t->ep_comm_s +
                             t->gather_s + t->pp_comm_s + t->bubble_s + t->dp_comm_s;

    return gpu->idle_w * (busy_s + moving_s + waiting_s) +
           range_w * (0.98 * busy_s + 0.7 * moving_s + waiting_share * waiting_s);
}

void plait_cost_money(const plait_problem *problem, plait_cost *cost)
{
    const plait_cluster *cluster = problem->cluster;
    const plait_accelerator *gpu = plait_cluster_accelerator(cluster, 0);
    const double gpus = problem->job.gpus;

    cost->cost_usd = gpu->usd_per_hour > 0.0 ? gpus * gpu->usd_per_hour * cost->step_s / PLAIT_HOUR
                                             : (double)NAN;
    cost->energy_j =
        gpu->power_w > 0.0
            ? cluster->pue * gpus * (board_j(gpu, &cost->step) + host_w(cluster) * cost->step_s)
            : (double)NAN;
}
