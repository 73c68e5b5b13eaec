/* serve_spares.c - spare nodes of a fleet whose units fail and are repaired (S.102, S.103) */
#include <math.h>

#include "base/numbers.h"
#include "search/serving/serve_fleet.h"
#include "plait/lowlevel/goodput.h"

/*
 * S.102: if a node fails, all workers on it fail; a worker of several nodes fails with any of them.
 * A unit is down until the failure is detected and the unit is restarted and, if a node is lost,
 * until that node is repaired.
 */
plait_fleet_unit fleet_unit_of(const plait_reliability *failures, int worker_gpus,
                               int gpus_per_node)
{
    plait_fleet_unit unit = {.nodes = 1, .workers = 1, .available = 1.0};

    if (worker_gpus <= gpus_per_node)
        unit.workers = gpus_per_node / worker_gpus;
    else
        unit.nodes = (worker_gpus + gpus_per_node - 1) / gpus_per_node;
    const plait_goodput goodput = plait_goodput_of(failures, unit.nodes, 0.0, 0.0);
    const double out_s =
        goodput.detect_s + goodput.restart_s + goodput.node_loss * goodput.repair_s;
    if (isfinite(goodput.mtbf_s))
        unit.available = goodput.mtbf_s / (goodput.mtbf_s + out_s);
    return unit;
}

/*
 * S.103: sums the binomial probabilities over the number of units that are down. Terms farther from
 * the mean than 40 plus twelve standard deviations are below e^-72 of the largest term and are
 * skipped.
 */
double plait_fleet_up(int units, int needed, double available)
{
    const double up = log(available), out = log1p(-available);
    double sum = 0.0;

    if (needed <= 0 || (available >= 1.0 && units >= needed))
        return 1.0;
    if (units < needed || !(available > 0.0))
        return 0.0;
    const double mean = units * (1.0 - available), reach = 40.0 + 12.0 * sqrt(mean * available);
    const int last = (int)smaller(units - needed, mean + reach);
    for (int k = (int)larger(0.0, mean - reach); k <= last; k++)
        sum += exp(lgamma(units + 1.0) - lgamma(k + 1.0) - lgamma(units - k + 1.0) + k * out +
                   (units - k) * up);
    return smaller(sum, 1.0);
}

/*
 * Computes S.103 for all numbers of spares, up[0 .. PLAIT_MOST_SPARES], in one pass. Term s is the
 * probability that s units are down before the needed-th unit that is up (Pascal distribution);
 * each term follows from the previous one.
 */
static void up_by_spares(int needed, double available, double *up)
{
    const double out = log1p(-available);
    double likely = needed * log(available), sum = 0.0;

    for (int s = 0; s <= PLAIT_MOST_SPARES; s++) {
        sum += exp(likely);
        likely += log(((double)needed + s) / (s + 1.0)) + out;
        up[s] = needed <= 0 ? 1.0 : available > 0.0 ? smaller(sum, 1.0) : 0.0;
    }
}

int plait_fleet_spares(int needed, double available, double share)
{
    double up[PLAIT_MOST_SPARES + 1];

    up_by_spares(needed, available, up);
    for (int spare = 0; spare <= PLAIT_MOST_SPARES; spare++)
        if (up[spare] >= share)
            return spare;
    return -1;
}

/*
 * Divides spare nodes between two roles. If `given` is 0 or more, it is the number of spare nodes,
 * and the division maximises the probability that both roles are up. Otherwise the fewest nodes are
 * chosen with which this probability reaches `share`. More spares of one role never require more
 * spares of the other.
 */
static bool spares_of_two(int given, double share, const plait_fleet_unit *unit, const int *needed,
                          int *spare)
{
    const int last = given >= 0 ? given / unit[0].nodes : PLAIT_MOST_SPARES;
    double up[2][PLAIT_MOST_SPARES + 1], best = -1.0;
    int fewest = -1, other = PLAIT_MOST_SPARES;

    for (int r = 0; r < 2; r++)
        up_by_spares(needed[r], unit[r].available, up[r]);
    for (int s = 0; s <= last; s++) {
        if (given >= 0)
            other = (given - s * unit[0].nodes) / unit[1].nodes;
        else
            while (other > 0 && up[0][s] * up[1][other - 1] >= share)
                other--;
        const double both = up[0][s] * up[1][other];
        const int nodes = s * unit[0].nodes + other * unit[1].nodes;
        if (given >= 0 ? !(both > best) : both < share || (fewest >= 0 && nodes >= fewest))
            continue;
        best = both;
        fewest = nodes;
        spare[0] = s;
        spare[1] = other;
    }
    return fewest >= 0;
}

double fleet_spares(const plait_fleet_options *ask, const plait_fleet_unit *unit, const int *needed,
                    int roles, int *spare)
{
    const int given = ask->failures.spares;
    double up = 1.0;

    spare[0] = spare[1] = 0;
    if (needed[0] == 0)
        return 1.0;
    if (roles == 1)
        spare[0] = given >= 0 ? given / unit[0].nodes
                              : plait_fleet_spares(needed[0], unit[0].available, ask->available);
    else if (!spares_of_two(given, ask->available, unit, needed, spare))
        return (double)NAN;
    if (spare[0] < 0)
        return (double)NAN;
    for (int r = 0; r < roles; r++)
        up *= plait_fleet_up(needed[r] + spare[r], needed[r], unit[r].available);
    return up;
}
