/* serve_spares.c - spare nodes of a fleet whose units fail and are repaired (S.102, S.103) */
#include <math.h>

#include "base/numbers.h"
#include "search/serving/serve_fleet.h"
#include "plait/lowlevel/goodput.h"

/*
 * S.102: if a node fails, all workers on it fail; a worker of several nodes fails with any of them.
 * A unit is out until the failure is detected and the unit restarted, and if a node is lost, until
 * it is repaired.
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
 * S.103: sums over the number of units that are out. Terms more than 40 plus twelve standard
 * deviations from the mean are below e^-72 of the largest term and are skipped.
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
 * S.103 for all numbers of spares, up[0 .. PLAIT_MOST_SPARES], in one pass: the sum over the units
 * that are out before the needed-th that is up. Each term follows from the previous one (Pascal's
 * law).
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
 * Divides spare nodes between two roles: the fewest nodes for which both together reach the share, or if
 * their number is given (0 or more), so that the probability that both are up is highest. The more spares one
 * role has, the fewer the other needs.
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
