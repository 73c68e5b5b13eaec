/* serve_fleet.c - the cheapest fleet for the requests of a day (S.101) */
#include <math.h>

#include "search/serving/serve_fleet.h"
#include "plan/serve_values.h"

/*
 * SEARCH_GPUS is the number of GPUs of one search, unless the model needs more. MOST_DIVIDED, a
 * power of four, limits the number of parts into which the load is divided.
 */
enum { SEARCH_GPUS = 64, MOST_DIVIDED = 1 << 28 };

void plait_fleet_options_init(plait_fleet_options *ask)
{
    plait_fleet_options usual = {.available = 0.999, .mode = PLAIT_FLEET_RESERVED};

    plait_reliability_init(&usual.failures);
    *ask = usual;
}

static plait_status check_ask(const plait_fleet_options *ask, plait_error *err)
{
    if (!ask)
        return plait_fail(err, PLAIT_ERROR_RANGE, "ask", "expected options, found NULL");
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        if (!(ask->rate[h] >= 0.0 && ask->rate[h] <= 1e12))
            return plait_fail(err, PLAIT_ERROR_RANGE, "--rates",
                              "expected 0 or more requests per second, found %g", ask->rate[h]);
    if (!(ask->available > 0.0 && ask->available < 1.0) || !(ask->usd_per_gpu_hour >= 0.0) ||
        (unsigned)ask->mode >= PLAIT_FLEET_MODES)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--available",
                          "expected a share of the time above 0 and below 1, found %g",
                          ask->available);
    return plait_reliability_check(&ask->failures, err);
}

// ---- search for candidates -----------------------------------------------------------------

typedef struct part {
    plait_serve_options q; /* options with a part of the GPUs and of the load */
    plait_cluster cluster;
    plait_serve_answer answer;
} part;

static plait_status ask_part(part *p, double rate, int divided, plait_arena *arena,
                             plait_error *err)
{
    p->q.load.rate = rate / divided;
    return plait_serve_search(&p->q, arena, &p->answer, err);
}

/*
 * S.101: searches few GPUs for the whole load. If that is infeasible, tries the smallest part of
 * the load to see whether any part is feasible, and then 1/4, 1/16, ... of the load.
 */
static plait_status search_parts(const plait_serve_options *q, double rate, plait_arena *arena,
                                 part *p, int *divided, plait_error *err)
{
    static const double light = 0.25; // maximum requests/s of the smallest part
    const int node = q->cluster->group[0].gpus_per_node;
    int gpus = SEARCH_GPUS - SEARCH_GPUS % node, most = 1;

    while (most < MOST_DIVIDED && rate / most > light)
        most *= 4;
    for (gpus = gpus > node ? gpus : node;; gpus *= 2) {
        gpus = gpus < q->gpus ? gpus : q->gpus;
        p->q = *q;
        p->cluster = *q->cluster;
        p->q.cluster = &p->cluster;
        p->q.gpus = gpus;
        p->q.load.kind = PLAIT_LOAD_RATE;
        PLAIT_TRY(plait_cluster_take(&p->cluster, gpus, err));
        for (*divided = 1; *divided <= most; *divided *= 4) {
            PLAIT_TRY(ask_part(p, rate, *divided, arena, err));
            if (p->answer.plans > 0 || gpus == q->gpus)
                return PLAIT_OK;
            if (*divided > 1)
                continue;
            *divided = most;
            PLAIT_TRY(ask_part(p, rate, most, arena, err));
            if (p->answer.plans == 0)
                break;
            *divided = 1;
        }
        // stop if the nearest plan misses its bounds: more GPUs would not help
        if (p->answer.has_nearest && !serve_meets(q, &p->answer.nearest))
            return PLAIT_OK;
    }
}

// ---- the fleets ----------------------------------------------------------------------------

typedef struct ranking {
    const plait_serve_options *q;
    const plait_fleet_options *ask;
    const part *part;
    plait_arena *arena;
    plait_fleet_answer *out;
    fleet_kind kind[PLAIT_FLEET_BEST];
} ranking;

static bool is_cheaper(plait_fleet_mode mode, const plait_fleet_totals *a,
                       const plait_fleet_totals *b)
{
    const plait_fleet_mode other =
        mode == PLAIT_FLEET_RESERVED ? PLAIT_FLEET_ELASTIC : PLAIT_FLEET_RESERVED;

    if (a->node_hours[mode] != b->node_hours[mode])
        return a->node_hours[mode] < b->node_hours[mode];
    return a->node_hours[other] < b->node_hours[other];
}

static void keep_fleet(ranking *r, const fleet_kind *kind, const plait_fleet *fleet)
{
    plait_fleet_answer *const out = r->out;
    int at = out->fleets;

    if (fleet->totals.gpus > r->q->gpus) {
        if (out->needs_gpus == 0 || fleet->totals.gpus < out->needs_gpus)
            out->needs_gpus = fleet->totals.gpus;
        return;
    }
    while (at > 0 && is_cheaper(r->ask->mode, &fleet->totals, &out->fleet[at - 1].totals))
        at--;
    if (at == PLAIT_FLEET_BEST)
        return;
    out->fleets += out->fleets < PLAIT_FLEET_BEST;
    for (int i = out->fleets - 1; i > at; i--) {
        out->fleet[i] = out->fleet[i - 1];
        r->kind[i] = r->kind[i - 1];
    }
    out->fleet[at] = *fleet;
    r->kind[at] = *kind;
}

// ---- the simulation ------------------------------------------------------------------------

static fleet_kind remove_fleet(ranking *r, int at, plait_fleet *fleet)
{
    const fleet_kind kind = r->kind[at];

    *fleet = r->out->fleet[at];
    r->out->fleets--;
    for (int i = at; i < r->out->fleets; i++) {
        r->out->fleet[i] = r->out->fleet[i + 1];
        r->kind[i] = r->kind[i + 1];
    }
    return kind;
}

/*
 * S.101: the workers of a fleet whose simulation fails are counted again for 5 % more load each
 * time; a fleet that still fails at twice the load is dropped.
 */
static plait_status confirm_all(ranking *r, plait_error *err)
{
    static const double more = 1.05, most = 2.0;

    for (int at = 0; at < r->out->fleets;) {
        plait_fleet fleet;
        fleet_kind kind;

        if (r->out->fleet[at].simulated) {
            at++;
            continue;
        }
        kind = remove_fleet(r, at, &fleet);
        // Simulate the tightest hour, with up to eight workers of a role.
        const plait_arena_mark mark = plait_arena_save(r->arena);
        plait_serve_options q;
        plait_serve_plan plan = fleet_slice(&kind, &fleet.hour[fleet_tightest(&kind, &fleet)], &q);
        const char *why = "";

        if (plan.service.stable)
            PLAIT_TRY(plait_serve_judge(&q, (plait_serve_sim_options){.seed = 1}, r->arena, &plan,
                                        &why, err));
        fleet.simulated = why == NULL;
        plait_arena_rewind(r->arena, mark);
        if (!fleet.simulated) {
            kind.margin *= more;
            if (kind.margin > most || !fleet_day(&kind, &fleet))
                continue;
        }
        keep_fleet(r, &kind, &fleet);
    }
    return PLAIT_OK;
}

plait_status plait_fleet_find(const plait_serve_options *q, const plait_fleet_options *ask,
                              plait_arena *arena, plait_fleet_answer *out, plait_error *err)
{
    PLAIT_TRY(serve_check_question(q, err));
    PLAIT_TRY(check_ask(ask, err));
    part *const p = plait_arena_alloc(arena, 1, sizeof *p);
    ranking r = {.q = q, .ask = ask, .part = p, .arena = arena, .out = out};
    double rate = 0.0; // rate of the busiest hour
    const int node = q->cluster->group[0].gpus_per_node;

    *out = (plait_fleet_answer){.gpus_per_node = node < q->gpus ? node : q->gpus};
    PLAIT_TRY(plait_check_allocated(p, err));
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        rate = fmax(rate, ask->rate[h]);
    if (!(rate > 0.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--rates",
                          "expected at least one hour with requests, found none");
    PLAIT_TRY(search_parts(q, rate, arena, p, &out->divided, err));
    out->search = &p->answer;
    out->considered = p->answer.plans;
    for (int i = 0; i < p->answer.plans; i++) {
        // factor on the GPU limit: keep_fleet() reports fleets whose spares alone exceed the limit
        static const int beyond = 4;
        fleet_kind kind = {.q = &r.part->q,
                           .ask = r.ask,
                           .plan = p->answer.plan[i],
                           .gpus_per_node = r.out->gpus_per_node,
                           .most_gpus = beyond * r.q->gpus,
                           .margin = 1.0};
        plait_fleet fleet;
        const char *why;

        PLAIT_TRY(serve_roles(kind.q, &p->answer.plan[i], r.arena, kind.role, &why, err));
        if (why == NULL) {
            if (fleet_day(&kind, &fleet))
                keep_fleet(&r, &kind, &fleet);
            for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
                r.out->unsteady |= isnan(fleet.hour[h].available);
        }
    }
    PLAIT_TRY(confirm_all(&r, err));
    for (int i = 0; i < out->fleets; i++)
        fleet_fill_details(&r.kind[i], &out->fleet[i]);
    return PLAIT_OK;
}
