/* serve_fleet_day.c - workers, nodes and dollars for each hour of a day (S.104) */
#include <math.h>

#include "base/numbers.h"
#include "plait/units.h"
#include "search/serving/serve_fleet.h"

const char *const plait_fleet_lack_name[] = {
#define X(constant, word) word,
    PLAIT_FLEET_LACK_LIST(X)
#undef X
        NULL};

double plait_fleet_month_hours(void)
{
    return 365.0 * 24.0 / 12.0;
}

static int roles_of(const fleet_kind *kind)
{
    return kind->plan.disaggregated ? 2 : 1;
}

static int gpus_of(const fleet_kind *kind, int role)
{
    return plait_worker_gpus(kind->plan.worker[role]);
}

// ---- workers of an hour --------------------------------------------------------------------

static plait_serve_plan with_workers(const fleet_kind *kind, const int count[PLAIT_SERVE_ROLES])
{
    plait_serve_plan plan = kind->plan;

    plan.replicas = plan.disaggregated ? 1 : count[0];
    plan.count[0] = plan.disaggregated ? count[0] : 1;
    plan.count[1] = plan.disaggregated ? count[1] : 0;
    return plan;
}

/* Prices `count` workers at a rate. Returns false if they are too few. */
static bool is_enough(const fleet_kind *kind, double rate, const int count[PLAIT_SERVE_ROLES],
                      plait_serve_plan *plan)
{
    plait_load load = kind->q->load;

    load.kind = PLAIT_LOAD_RATE;
    load.rate = rate * kind->margin;
    *plan = with_workers(kind, count);
    if (!serve_price(kind->q, load, plan, kind->role) || !serve_meets(kind->q, plan))
        return false;
    load.rate = rate;
    return kind->margin <= 1.0 || serve_price(kind->q, load, plan, kind->role);
}

/*
 * Returns the fewest workers of one role, from low to high, that are enough with the given number
 * of the other role; `high` must be enough.
 */
static int fewest_between(const fleet_kind *kind, double rate, int count[PLAIT_SERVE_ROLES],
                          int role, int low, int high)
{
    plait_serve_plan plan;

    while (low < high) {
        count[role] = low + (high - low) / 2;
        if (is_enough(kind, rate, count, &plan))
            high = count[role];
        else
            low = count[role] + 1;
    }
    return high;
}

/* Finds the fewest workers of one role by doubling the count until it is enough, then bisecting. */
static bool find_workers_of_role(const fleet_kind *kind, double rate, int count[PLAIT_SERVE_ROLES],
                                 int role)
{
    const int most = kind->most_gpus / gpus_of(kind, role);
    plait_serve_plan plan;
    int low = 1, high = 1;

    for (count[role] = high; most < 1 || !is_enough(kind, rate, count, &plan); count[role] = high) {
        if (high >= most)
            return false;
        low = high + 1;
        high = 2 * high < most ? 2 * high : most;
    }
    count[role] = fewest_between(kind, rate, count, role, low, high);
    return true;
}

/* A number of prefill workers and the fewest decode workers that are enough with them. */
typedef struct pair {
    int count[PLAIT_SERVE_ROLES];
} pair;

typedef struct staircase {
    const fleet_kind *kind;
    const plait_fleet_unit *unit;
    double rate;
    pair best;
    double nodes; /* nodes of `best` */
} staircase;

/* Nodes of a pair; a small term per GPU orders pairs with equal nodes by their GPUs. */
static double nodes_with(const staircase *s, int prefill, int decode)
{
    const int count[] = {prefill, decode};
    double nodes = 0.0, gpus = 0.0;

    for (int r = 0; r < 2; r++) {
        const int each = s->unit[r].workers;
        nodes += (double)((count[r] + each - 1) / each) * s->unit[r].nodes;
        gpus += (double)count[r] * gpus_of(s->kind, r);
    }
    return nodes + gpus * 1e-9;
}

static void keep_pair(staircase *s, pair p)
{
    const double nodes = nodes_with(s, p.count[0], p.count[1]);

    if (nodes < s->nodes) {
        s->best = p;
        s->nodes = nodes;
    }
}

/*
 * Bisects the pairs between `few` and `many`. More prefill workers never need more decode workers
 * (S.101), so no pair between them takes fewer nodes than few.count[0] + 1 prefill workers with
 * many.count[1] decode workers.
 */
static void search_between(staircase *s, pair few, pair many)
{
    pair middle = {{few.count[0] + (many.count[0] - few.count[0]) / 2, 0}};

    if (middle.count[0] == few.count[0] || few.count[1] == many.count[1] ||
        nodes_with(s, few.count[0] + 1, many.count[1]) >= s->nodes)
        return;
    middle.count[1] =
        fewest_between(s->kind, s->rate, middle.count, 1, many.count[1], few.count[1]);
    keep_pair(s, middle);
    search_between(s, few, middle);
    search_between(s, middle, many);
}

/*
 * Finds the pair on the fewest nodes, between the one with the fewest prefill workers and the one
 * with the fewest decode workers.
 */
static bool find_workers_of_pair(const fleet_kind *kind, const plait_fleet_unit *unit, double rate,
                                 int count[PLAIT_SERVE_ROLES])
{
    const int most[] = {kind->most_gpus / gpus_of(kind, 0), kind->most_gpus / gpus_of(kind, 1)};
    staircase s = {.kind = kind, .unit = unit, .rate = rate, .nodes = HUGE_VAL};
    pair few = {{0, most[1]}}, many = {{most[0], 0}};

    if (most[0] < 1 || most[1] < 1 || !find_workers_of_role(kind, rate, few.count, 0) ||
        !find_workers_of_role(kind, rate, few.count, 1) ||
        !find_workers_of_role(kind, rate, many.count, 1) ||
        !find_workers_of_role(kind, rate, many.count, 0))
        return false;
    keep_pair(&s, few);
    keep_pair(&s, many);
    search_between(&s, few, many);
    count[0] = s.best.count[0];
    count[1] = s.best.count[1];
    return true;
}

/* Finds the workers of an hour. (S.99, S.101) */
static bool find_workers(const fleet_kind *kind, const plait_fleet_unit *unit, double rate,
                         int count[PLAIT_SERVE_ROLES])
{
    count[0] = count[1] = 0;
    if (rate <= 0.0)
        return true;
    return kind->plan.disaggregated ? find_workers_of_pair(kind, unit, rate, count)
                                    : find_workers_of_role(kind, rate, count, 0);
}

/*
 * Returns the requirement that a fleet with one worker less would miss. With two roles, the decode
 * worker is removed if there are several.
 */
static plait_fleet_lack lack_of(const fleet_kind *kind, double rate,
                                const int count[PLAIT_SERVE_ROLES])
{
    const int role = kind->plan.disaggregated && count[1] > 1 ? 1 : 0;
    int fewer[PLAIT_SERVE_ROLES] = {count[0], count[1]};
    plait_serve_plan plan;

    if (--fewer[role] < 1 || is_enough(kind, rate, fewer, &plan))
        return PLAIT_FLEET_LACKS_NOTHING;
    if (!plan.service.stable)
        return PLAIT_FLEET_LACKS_LOAD;
    return serve_misses(kind->q, &plan, 0, PLAIT_SERVE_LIMIT_tpot) ? PLAIT_FLEET_LACKS_TTFT
                                                                   : PLAIT_FLEET_LACKS_TPOT;
}

// ---- nodes of an hour ----------------------------------------------------------------------

typedef struct hour_units {
    int needed[PLAIT_SERVE_ROLES], spare[PLAIT_SERVE_ROLES];
} hour_units;

/* Returns an earlier hour with the same rate; NULL: none. */
static const plait_fleet_hour *same_hour(const plait_fleet *fleet, int before, double rate)
{
    for (int h = 0; h < before; h++)
        if (fleet->hour[h].rate == rate)
            return &fleet->hour[h];
    return NULL;
}

static bool place_on_nodes(const fleet_kind *kind, const plait_fleet *fleet, plait_fleet_hour *hour,
                           hour_units *units)
{
    const int roles = roles_of(kind);

    hour->nodes = hour->spare_nodes = 0;
    for (int r = 0; r < roles; r++) {
        const int each = fleet->unit[r].workers;
        units->needed[r] = (hour->workers[r] + each - 1) / each;
    }
    hour->available = fleet_spares(kind->ask, fleet->unit, units->needed, roles, units->spare);
    for (int r = 0; r < roles; r++) {
        hour->nodes += units->needed[r] * fleet->unit[r].nodes;
        hour->spare_nodes += units->spare[r] * fleet->unit[r].nodes;
    }
    return !isnan(hour->available);
}

static int nodes_of(const plait_fleet_hour *hour)
{
    return hour->nodes + hour->spare_nodes;
}

/* Orders hours by nodes, then by rate. */
static bool is_busier(const plait_fleet_hour *a, const plait_fleet_hour *b)
{
    return nodes_of(a) != nodes_of(b) ? nodes_of(a) > nodes_of(b) : a->rate > b->rate;
}

/* Fills workers and nodes of each hour for the requested rates times `factor`. */
static bool fill_hours(const fleet_kind *kind, double factor, plait_fleet *out)
{
    hour_units units;

    out->busiest = 0;
    for (int r = 0; r < roles_of(kind); r++)
        out->unit[r] = fleet_unit_of(&kind->ask->failures, gpus_of(kind, r), kind->gpus_per_node);
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
        plait_fleet_hour *const hour = &out->hour[h];

        const double rate = factor * kind->ask->rate[h];
        const plait_fleet_hour *const same = same_hour(out, h, rate);

        if (same != NULL) {
            *hour = *same;
            continue;
        }
        hour->rate = rate;
        if (!find_workers(kind, out->unit, rate, hour->workers) ||
            !place_on_nodes(kind, out, hour, &units))
            return false;
        if (is_busier(hour, &out->hour[out->busiest]))
            out->busiest = h;
    }
    return true;
}

// ---- a day ---------------------------------------------------------------------------------

static double price_of(const fleet_kind *kind)
{
    const double listed = kind->q->cluster->group[0].accelerator->usd_per_hour;

    if (kind->ask->usd_per_gpu_hour > 0.0)
        return kind->ask->usd_per_gpu_hour;
    return listed > 0.0 ? listed : (double)NAN;
}

/* S.104: sums the nodes of each hour and those that start before it. */
static void fill_totals(const fleet_kind *kind, const plait_fleet *fleet, plait_fleet_totals *out)
{
    const double early = kind->ask->failures.restart_s / PLAIT_HOUR;
    const double days = plait_fleet_month_hours() / PLAIT_FLEET_HOURS;
    double hours = 0.0;

    out->nodes = nodes_of(&fleet->hour[fleet->busiest]);
    out->gpus = out->nodes * kind->gpus_per_node;
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
        const int now = nodes_of(&fleet->hour[h]);
        const int before = nodes_of(&fleet->hour[(h + PLAIT_FLEET_HOURS - 1) % PLAIT_FLEET_HOURS]);
        hours += now + (now > before ? early * (now - before) : 0.0);
    }
    out->node_hours[PLAIT_FLEET_RESERVED] = (double)out->nodes * PLAIT_FLEET_HOURS;
    out->node_hours[PLAIT_FLEET_ELASTIC] = smaller(hours, out->node_hours[PLAIT_FLEET_RESERVED]);
    for (int m = 0; m < PLAIT_FLEET_MODES; m++)
        out->usd[m] = out->node_hours[m] * kind->gpus_per_node * price_of(kind) * days;
}

bool fleet_day(const fleet_kind *kind, plait_fleet *out)
{
    *out = (plait_fleet){.plan = kind->plan, .margin = kind->margin};
    if (!fill_hours(kind, 1.0, out))
        return false;
    fill_totals(kind, out, &out->totals);
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        out->tokens_per_day += kind->ask->rate[h] * PLAIT_HOUR * kind->q->load.output;
    for (int m = 0; m < PLAIT_FLEET_MODES; m++)
        out->usd_per_mtok[m] = out->totals.usd[m] * PLAIT_FLEET_HOURS / plait_fleet_month_hours() /
                               out->tokens_per_day * 1e6;
    return is_enough(kind, out->hour[out->busiest].rate, out->hour[out->busiest].workers,
                     &out->plan);
}

// ---- details of the best fleets ------------------------------------------------------------

/*
 * Returns the requests/s that all workers on the nodes of an hour, spares included, sustain within
 * the bounds.
 */
static double sustained_rate(const fleet_kind *kind, const plait_fleet *fleet,
                             plait_fleet_hour hour)
{
    int count[PLAIT_SERVE_ROLES] = {0, 0};
    hour_units units;

    place_on_nodes(kind, fleet, &hour, &units);
    for (int r = 0; r < roles_of(kind); r++)
        count[r] = (units.needed[r] + units.spare[r]) * fleet->unit[r].workers;
    const plait_serve_plan plan = with_workers(kind, count);
    return serve_most_rate(kind->q, &plan, kind->role, true);
}

// ---- the simulated hour --------------------------------------------------------------------

static double gpus_serving(const fleet_kind *kind, const plait_fleet_hour *hour)
{
    double gpus = 0.0;

    for (int r = 0; r < roles_of(kind); r++)
        gpus += (double)hour->workers[r] * gpus_of(kind, r);
    return gpus;
}

int fleet_tightest(const fleet_kind *kind, const plait_fleet *fleet)
{
    int tightest = fleet->busiest;

    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        if (fleet->hour[h].rate * gpus_serving(kind, &fleet->hour[tightest]) >
            fleet->hour[tightest].rate * gpus_serving(kind, &fleet->hour[h]))
            tightest = h;
    return tightest;
}

plait_serve_plan fleet_slice(const fleet_kind *kind, const plait_fleet_hour *hour,
                             plait_serve_options *question)
{
    static const double most = 8.0; // limit on the workers of the larger role; a choice
    const double workers = larger(hour->workers[0], hour->workers[1]);
    const double share = smaller(most / workers, 1.0);
    int count[PLAIT_SERVE_ROLES] = {0, 0};
    double rate = hour->rate;

    for (int r = 0; r < roles_of(kind); r++) {
        count[r] = (int)larger(floor(share * hour->workers[r] + 0.5), 1.0);
        rate = smaller(rate, hour->rate * count[r] / hour->workers[r]);
    }
    plait_serve_plan plan = with_workers(kind, count);
    *question = *kind->q;
    question->load.kind = PLAIT_LOAD_RATE;
    question->load.rate = rate;
    serve_price(kind->q, question->load, &plan, kind->role);
    return plan;
}

/*
 * C.96: GPUs of serving workers draw the mean power of the plan's GPUs; all other GPUs draw idle
 * power.
 */
static void fill_energy(const fleet_kind *kind, plait_fleet *fleet)
{
    const plait_cluster *const cluster = kind->q->cluster;
    const plait_serve_plan *const plan = &fleet->plan;
    const double busy_w = plan->joules_per_tok * plan->service.output_tokens_per_s / plan->gpus;
    const double idle_w = cluster->pue * (cluster->group[0].accelerator->idle_w +
                                          cluster->node_overhead_w / kind->gpus_per_node);
    const double kwh_month = plait_fleet_month_hours() / PLAIT_FLEET_HOURS / 1e3;
    double busy = 0.0; // GPU hours per day

    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        for (int r = 0; r < roles_of(kind); r++)
            busy += fleet->hour[h].workers[r] * gpus_of(kind, r);
    for (int m = 0; m < PLAIT_FLEET_MODES; m++) {
        const double all = fleet->totals.node_hours[m] * kind->gpus_per_node;
        fleet->kwh[m] = (busy * busy_w + larger(all - busy, 0.0) * idle_w) * kwh_month;
    }
}

void fleet_fill_details(const fleet_kind *kind, plait_fleet *fleet)
{
    fleet->sustained = sustained_rate(kind, fleet, fleet->hour[fleet->busiest]);
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
        plait_fleet_hour *const hour = &fleet->hour[h];
        plait_serve_plan plan;

        hour->ttft_s = hour->ttft_p99_s = hour->tpot_s = (double)NAN;
        hour->used[PLAIT_FLEET_RESERVED] = hour->rate / fleet->sustained;
        if (hour->rate <= 0.0)
            continue;
        hour->lack = lack_of(kind, hour->rate, hour->workers);
        hour->used[PLAIT_FLEET_ELASTIC] = hour->rate / sustained_rate(kind, fleet, *hour);
        is_enough(kind, hour->rate, hour->workers, &plan);
        hour->ttft_s = plan.service.ttft_s;
        hour->ttft_p99_s = plan.ttft_p99_s;
        hour->tpot_s = plan.service.tpot_s;
    }
    fill_energy(kind, fleet);
    // S.104: an engine that reaches only a share of the predicted rate needs the workers of the
    // rate divided by that share
    const double *const band = kind->plan.engine->band[PLAIT_SERVE_RATE];

    for (int side = 0; side < 2; side++) {
        plait_fleet other = {.plan = kind->plan};
        const double share = band[1 - side];

        fleet->band[side] = (plait_fleet_totals){.usd = {(double)NAN, (double)NAN}};
        if (share > 0.0 && fill_hours(kind, 1.0 / share, &other))
            fill_totals(kind, &other, &fleet->band[side]);
    }
}
