/* serve_spares.c - spare nodes of a fleet: units that fail and come back (S.102, S.103) */
#include <math.h>

#include "numbers.h"
#include "serve_fleet.h"

/*
 * S.102: a worker inside a node fails with all others there, one of several nodes with any of them. A unit is out until
 * it is noticed and started again, and where a node is lost, repaired.
 */
plait_fleet_unit fleet_unit_of(const plait_reliability *failures, int worker_gpus,
                               int gpus_per_node)
{
    plait_fleet_unit unit = {.nodes = 1, .workers = 1, .available = 1.0};

    if (worker_gpus <= gpus_per_node)
        unit.workers = gpus_per_node / worker_gpus;
    else
        unit.nodes = (worker_gpus + gpus_per_node - 1) / gpus_per_node;
    const plait_goodput goodput = plait_goodput_of(failures, unit.nodes, 0.0);
    const double out_s =
        goodput.detect_s + goodput.restart_s + goodput.node_loss * goodput.repair_s;
    if (isfinite(goodput.mtbf_s))
        unit.available = goodput.mtbf_s / (goodput.mtbf_s + out_s);
    return unit;
}

/* S.103: the sum over units that are out; what is twelve spreads from their mean is e^-72 of the likeliest. */
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

int plait_fleet_spares(int needed, double available, double share)
{
    for (int spare = 0; available > 0.0 && spare <= PLAIT_MOST_SPARES; spare++)
        if (plait_fleet_up(needed + spare, needed, available) >= share)
            return spare;
    return -1;
}

/* The fewest nodes with both up often enough: more of one, fewer of the other. */
static double spares_of_two(double share, const plait_fleet_unit *unit, const int *needed,
                            int *spare)
{
    double best = (double)NAN;
    int fewest = -1;

    for (int s = 0; s <= PLAIT_MOST_SPARES; s++) {
        const double first = plait_fleet_up(needed[0] + s, needed[0], unit[0].available);
        const int other =
            first < share ? -1 : plait_fleet_spares(needed[1], unit[1].available, share / first);
        if (other < 0)
            continue;
        const int nodes = s * unit[0].nodes + other * unit[1].nodes;
        if (fewest < 0 || nodes < fewest) {
            fewest = nodes;
            spare[0] = s;
            spare[1] = other;
            best = first * plait_fleet_up(needed[1] + other, needed[1], unit[1].available);
        }
        if (s * unit[0].nodes >= fewest)
            break;
    }
    return best;
}

/* So many spare nodes, dealt to the roles so that both are up most. */
static double deal_spares(int nodes, const plait_fleet_unit *unit, const int *needed, int roles,
                          int *spare)
{
    double best = -1.0;

    for (int s = roles == 1 ? nodes / unit[0].nodes : 0; s * unit[0].nodes <= nodes; s++) {
        const int other = roles == 1 ? 0 : (nodes - s * unit[0].nodes) / unit[1].nodes;
        double up = plait_fleet_up(needed[0] + s, needed[0], unit[0].available);

        if (roles == 2)
            up *= plait_fleet_up(needed[1] + other, needed[1], unit[1].available);
        if (up > best) {
            best = up;
            spare[0] = s;
            spare[1] = other;
        }
    }
    return best;
}

double fleet_spares(const plait_fleet_ask *ask, const plait_fleet_unit *unit, const int *needed,
                    int roles, int *spare)
{
    spare[0] = spare[1] = 0;
    if (needed[0] == 0)
        return 1.0;
    if (ask->failures.spares >= 0)
        return deal_spares(ask->failures.spares, unit, needed, roles, spare);
    if (roles == 2)
        return spares_of_two(ask->available, unit, needed, spare);
    spare[0] = plait_fleet_spares(needed[0], unit[0].available, ask->available);
    return spare[0] < 0 ? (double)NAN
                        : plait_fleet_up(needed[0] + spare[0], needed[0], unit[0].available);
}
