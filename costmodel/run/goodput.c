/*
 * goodput.c - failures, checkpoints and restarts: closed forms, and a simulation that draws the
 * events of a run at random (C.320, C.321, C.322, C.323, C.324, C.325, C.326, C.327)
 */
#include "plait/lowlevel/goodput.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>

#include "base/normal.h"
#include "base/random.h"
#include "plait/units.h"

void plait_reliability_init(plait_reliability *fleet)
{
    *fleet = (plait_reliability){
        // Published interruptions per 1000 node-days: 3.79 for Llama 3 (419 unexpected ones in 54
        // days on 2048 nodes, "The Llama 3 Herd of Models", 2024, Table 5), 6.5 and 2.34 for Meta's
        // clusters RSC-1 and RSC-2 ("Revisiting Reliability in Large-Scale Machine Learning
        // Research Clusters", HPCA 2025). The default is 4.
        .interruptions_per_node_day = 4e-3,
        .node_loss = 0.78,     // Llama 3: hardware causes about 78 % of interruptions
        .repeat = 0.0,         // no general value; 67 % in a 504-GPU B200 fleet (arXiv 2605.09370)
        .straggler = 1.0,      // 1, since measured step times already contain stragglers
        .detect_s = 120.0,     // an estimate; MegaScale (NSDI 2024) detects within 10 minutes
        .restart_s = 300.0,    // an estimate; Llama 3's goodput of 90 % allows 7 min with detection
        .repair_s = PLAIT_DAY, // an assumption: no source publishes it
        .node_bytes_per_s = 2e9,      // measured: 0.35 to 2.6 GB/s per node (arXiv 2605.09370)
        .most_bytes_per_s = 2e12,     // sustained rate of Llama 3's Tectonic storage
        .snapshot_bytes_per_s = 50e9, // an assumption: eight GPUs share their host's memory
        .spares = -1,
    };
}

plait_status plait_reliability_check(const plait_reliability *fleet, plait_error *err)
{
    const struct {
        const char *name;
        double number, least, most;
    } numbers[] = {
        {"interruptions_per_node_day", fleet->interruptions_per_node_day, 0.0, 1e6},
        {"node_loss", fleet->node_loss, 0.0, 1.0},
        {"repeat", fleet->repeat, 0.0, 0.999},
        {"straggler", fleet->straggler, 1.0, 1e6},
        {"detect_s", fleet->detect_s, 0.0, 1e12},
        {"restart_s", fleet->restart_s, 0.0, 1e12},
        {"repair_s", fleet->repair_s, 0.0, 1e12},
        {"node_bytes_per_s", fleet->node_bytes_per_s, 1.0, 1e30},
        {"most_bytes_per_s", fleet->most_bytes_per_s, 1.0, 1e30},
        {"snapshot_bytes_per_s", fleet->async ? fleet->snapshot_bytes_per_s : 1.0, 1.0, 1e30},
        {"spares", fleet->spares, INT_MIN, PLAIT_MOST_SPARES},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].number >= numbers[i].least && numbers[i].number <= numbers[i].most))
            return plait_fail(err, PLAIT_ERROR_RANGE, numbers[i].name,
                              "expected a number from %g to %g, found %g", numbers[i].least,
                              numbers[i].most, numbers[i].number);
    return PLAIT_OK;
}

double plait_mtbf_hours(double days, double events)
{
    return days * 24.0 / events;
}

double plait_part_mtbf_years(double days, double events, double parts)
{
    return plait_mtbf_hours(days, events) * parts / (365.0 * 24.0);
}

double plait_young_interval_s(double blocked_s, double mtbf_s)
{
    return sqrt(2.0 * blocked_s * mtbf_s);
}

double plait_daly_interval_s(double blocked_s, double mtbf_s)
{
    const double ratio = sqrt(blocked_s / (2.0 * mtbf_s));

    if (ratio >= 1.0)
        return mtbf_s;
    return plait_young_interval_s(blocked_s, mtbf_s) * (1.0 + ratio / 3.0 + ratio * ratio / 9.0) -
           blocked_s;
}

/*
 * Erlang's B with k lines and an offered load of `nodes_in_repair`, computed from `share`, Erlang's
 * B with k - 1 lines.
 */
static double one_line_more(double nodes_in_repair, double share, int k)
{
    return nodes_in_repair * share / (k + nodes_in_repair * share);
}

double plait_waiting_share(double nodes_in_repair, int spares)
{
    double share = 1.0;

    for (int k = 1; k <= PLAIT_MOST_SPARES + 1 && k - 1 <= spares; k++)
        share = one_line_more(nodes_in_repair, share, k);
    return share;
}

/*
 * Nodes in repair during a run, which is divided into parts. In the long run their mean number is a
 * (C.324). At time t it is a (1 - e^(-t/r)) with repair time r, if the job never waits for a node.
 * The share of failures in a part that find no free spare is approximated by Erlang's B with that
 * mean as offered load (Jagerman's modified offered load).
 *
 * EARLY equal parts cover the first `settled` repair times, after which e^-8 of the transient is
 * left; one more part covers the rest of the run.
 */
enum { EARLY = 24 };
static const double settled = 8.0;

typedef struct repair_shop {
    double in_repair;       /* mean number of nodes in repair in the long run (a) */
    double mean[EARLY + 1]; /* mean number of nodes in repair in each part, without waits */
    double part[EARLY + 1]; /* length of each part as a share of the run */
    double lost[EARLY + 1]; /* share of failures without a free spare: B with `spares` lines */
    int spares;
} repair_shop;

/* @param repairs  length of the run in repair times; 0: the run has no end */
static repair_shop shop_without_spares(double in_repair, double repairs)
{
    const double early = repairs > 0.0 ? fmin(repairs, settled) : 0.0;
    repair_shop shop = {.in_repair = in_repair};

    for (int i = 0; i <= EARLY; i++) {
        shop.mean[i] = i == EARLY ? in_repair : in_repair * -expm1(-early * (i + 0.5) / EARLY);
        shop.part[i] = early <= 0.0 ? i == EARLY
                       : i == EARLY ? 1.0 - early / repairs
                                    : early / repairs / EARLY;
        shop.lost[i] = 1.0;
    }
    return shop;
}

static void shop_add_spare(repair_shop *shop)
{
    shop->spares++;
    for (int i = 0; i <= EARLY; i++)
        shop->lost[i] = one_line_more(shop->mean[i], shop->lost[i], shop->spares);
}

/*
 * Time that the job waits for nodes divided by the rest of its time, for a nodes in repair and s
 * spares:
 *
 *     a B(s) / (s + 1) = B(s + 1) / (1 - B(s + 1))
 */
static double shop_waits(const repair_shop *shop)
{
    double lost = 0.0;

    for (int i = 0; i <= EARLY; i++)
        lost += shop->part[i] * shop->lost[i];
    return shop->in_repair * lost / (shop->spares + 1);
}

static int spares_worth(double in_repair, double repairs, int nodes)
{
    repair_shop shop = shop_without_spares(in_repair, repairs);
    double least = (double)INFINITY; // node-days per day of work
    int best = 0;

    for (;; shop_add_spare(&shop)) {
        const double days = ((double)nodes + shop.spares) * (1.0 + shop_waits(&shop));
        if (days < least) {
            least = days;
            best = shop.spares;
        }
        if (shop.spares == PLAIT_MOST_SPARES)
            return best;
    }
}

int plait_spares_worth(double nodes_in_repair, int nodes)
{
    return spares_worth(nodes_in_repair, 0.0, nodes);
}

plait_goodput plait_goodput_of(const plait_reliability *fleet, int nodes, double work_s,
                               double checkpoint_bytes)
{
    const double rate_per_s = fleet->interruptions_per_node_day * nodes / PLAIT_DAY;
    plait_goodput out = {
        .mtbf_s = rate_per_s > 0.0 ? 1.0 / rate_per_s : (double)INFINITY,
        .detect_s = fleet->detect_s,
        .restart_s = fleet->restart_s / (1.0 - fleet->repeat),
        .once_s = fleet->restart_s,
        .repeat = fleet->repeat,
        .repair_s = fleet->repair_s,
        .node_loss = fleet->node_loss,
        .straggler = fleet->straggler,
    };

    // C.324: the spares, and the mean seconds that the job waits for a node at each interruption
    const double between_s = out.mtbf_s + out.detect_s;
    const double in_repair = fleet->node_loss * fleet->repair_s / between_s; // 0 without failures
    const double repairs = work_s * fleet->straggler / fleet->repair_s;
    repair_shop shop = shop_without_spares(in_repair, repairs);

    out.spares = fleet->spares < 0 ? spares_worth(in_repair, repairs, nodes) : fleet->spares;
    while (shop.spares < out.spares && shop.spares < PLAIT_MOST_SPARES)
        shop_add_spare(&shop);
    const double waits = shop_waits(&shop);
    out.wait_s = waits > 0.0 ? between_s * waits : 0.0;

    // C.325: the blocking time of a checkpoint, its delay until it is safe, and the interval
    out.write_s = checkpoint_bytes / fmin(fleet->node_bytes_per_s * nodes, fleet->most_bytes_per_s);
    out.blocked_s =
        fleet->async ? checkpoint_bytes / (fleet->snapshot_bytes_per_s * nodes) : out.write_s;
    out.lag_s = fleet->async ? out.write_s : 0.0;
    out.interval_s = isinf(out.mtbf_s)
                         ? (double)INFINITY
                         : fmax(plait_daly_interval_s(out.blocked_s, out.mtbf_s), out.lag_s);
    out.interval_s = fmax(out.interval_s, 1.0); // for a checkpoint of no bytes
    out.effective = 1.0 / plait_goodput_wall_s(&out, 1.0);
    return out;
}

double plait_goodput_wall_s(const plait_goodput *g, double work_s)
{
    const double m = g->mtbf_s;

    work_s *= g->straggler;
    if (isinf(m))
        return work_s;
    return work_s / g->interval_s * (m + g->detect_s + g->wait_s) *
           exp((g->restart_s + g->lag_s) / m) * expm1((g->interval_s + g->blocked_s) / m);
}

// ---- distribution of the step time ---------------------------------------------------------

static const double z_of_90 = 1.2815515655446004; // 90 % quantile of the normal distribution

double plait_step_factor(double low, double high, double z)
{
    if (!(low > 0.0) || !(high > 0.0))
        return 1.0;
    return pow(z < 0.0 ? 1.0 / low : high, z / z_of_90);
}

double plait_finish_probability(double wall_s, double deadline_s, double low, double high)
{
    const double slack = log(deadline_s / wall_s);
    const double spread = slack < 0.0 ? -log(low) : log(high);

    if (!(low > 0.0) || !(high > 0.0) || spread <= 0.0)
        return slack >= 0.0 ? 1.0 : 0.0;
    return normal_rounded(0.5 * erfc(-slack / spread * z_of_90 * sqrt(0.5)));
}

/* ---- simulation of one run with random events (C.327) ----
 *
 * The simulation uses only the checkpoint interval of the closed forms, so that it checks all
 * others.
 */

static double exponential(uint64_t *state, double mean)
{
    return -mean * log(random_share(state));
}

double plait_goodput_run(const plait_goodput *goodput, double work_s, double low, double high,
                         double most_s, uint64_t number)
{
    const double cycle_s = goodput->interval_s + goodput->blocked_s;
    uint64_t state = number * 0xd1342543de82ef95U + 1U;
    double left_s = // work that no checkpoint contains
        work_s * goodput->straggler * plait_step_factor(low, high, random_normal(&state));
    double back_s[PLAIT_MOST_SPARES + 1] = {0.0}; // time at which each spare is repaired
    double now_s = 0.0, restart_s = 0.0;

    if (isinf(goodput->mtbf_s))
        return fmin(left_s, most_s);
    while (now_s < most_s) {
        const double up_s = exponential(&state, goodput->mtbf_s);

        if (up_s > restart_s) {
            const double checkpoints =
                isinf(cycle_s) ? 0.0 : ceil(left_s / goodput->interval_s) - 1.0;
            const double whole_s = left_s + checkpoints * goodput->blocked_s;
            const double computing_s = up_s - restart_s;

            now_s += restart_s;
            if (whole_s <= computing_s)
                return fmin(now_s + whole_s, most_s);
            now_s += computing_s;
            if (!isinf(cycle_s))
                left_s -=
                    goodput->interval_s * floor(fmax(0.0, computing_s - goodput->lag_s) / cycle_s);
        } else {
            now_s += up_s;
        }
        now_s += goodput->detect_s;

        // A failed node goes to repair; a spare replaces it, or the job waits for the first
        // repaired node, which may be the failed one.
        if (random_share(&state) < goodput->node_loss) {
            const double repaired_s = now_s + exponential(&state, goodput->repair_s);
            double *first_s = back_s;

            for (int i = 1; i < goodput->spares; i++)
                if (back_s[i] < *first_s)
                    first_s = &back_s[i];
            if (goodput->spares == 0) {
                now_s = repaired_s;
            } else if (*first_s > now_s) {
                now_s = fmin(*first_s, repaired_s);
                *first_s = fmax(*first_s, repaired_s);
            } else {
                *first_s = repaired_s;
            }
        }
        restart_s = goodput->once_s;
        while (random_share(&state) < goodput->repeat)
            restart_s += goodput->once_s;
    }
    return most_s;
}
