/* serve_curve.c - a deployment under rising load, up to its maximum rate (S.105, S.106) */
#include "search/serving/serve_price.h"

static plait_load at_rate(plait_load load, double rate)
{
    load.kind = PLAIT_LOAD_RATE;
    load.rate = rate;
    load.concurrency = 0.0;
    return load;
}

static bool sustains_rate(const plait_serve_options *q, const plait_serve_plan *plan,
                          const serve_candidate *const role[PLAIT_SERVE_ROLES], double rate,
                          bool within)
{
    plait_serve_plan tried = *plan;

    return serve_price(q, at_rate(q->load, rate), &tried, role) &&
           (!within || serve_meets(q, &tried));
}

/* S.105: doubles the rate until it is infeasible, then bisects to one part in a million. */
double serve_most_rate(const plait_serve_options *q, const plait_serve_plan *plan,
                       const serve_candidate *const role[PLAIT_SERVE_ROLES], bool within)
{
    static const double least = 1e-3, most = 1e9, close = 1e-6;
    double low = 0.0, high = least;

    while (high < most && sustains_rate(q, plan, role, high, within)) {
        low = high;
        high *= 2.0;
    }
    while (low > 0.0 && high - low > close * high) {
        const double middle = 0.5 * (low + high);

        if (sustains_rate(q, plan, role, middle, within))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool fill_point(const plait_serve_options *q, const plait_serve_plan *plan,
                       const serve_candidate *const role[PLAIT_SERVE_ROLES], double rate,
                       plait_serve_point *p)
{
    plait_serve_plan tried = *plan;

    p->rate = p->load * rate;
    if (!serve_price(q, at_rate(q->load, p->rate), &tried, role))
        return false;
    p->ttft_s = tried.service.ttft_s;
    p->ttft_p99_s = tried.ttft_p99_s;
    p->tpot_s = tried.service.tpot_s;
    p->running = tried.service.batch;
    p->output_tokens_per_s = tried.service.output_tokens_per_s;
    return true;
}

plait_status plait_serve_load_curve(const plait_serve_options *q, const plait_serve_plan *plan,
                                    plait_arena *arena, plait_serve_curve *out, const char **why,
                                    plait_error *err)
{
    static const double first = 0.05, below = 0.99;
    const serve_candidate *role[PLAIT_SERVE_ROLES] = {NULL, NULL};

    PLAIT_TRY(serve_roles(q, plan, arena, role, why, err));
    if (*why != NULL)
        return PLAIT_OK;
    *out = (plait_serve_curve){.rate = below * serve_most_rate(q, plan, role, false)};
    if (out->rate <= 0.0)
        *why = "the deployment cannot sustain any load";
    for (int i = 0; i < PLAIT_SERVE_CURVE && *why == NULL; i++) {
        out->point[i].load = first + (1.0 - first) * i / (PLAIT_SERVE_CURVE - 1);
        if (!fill_point(q, plan, role, out->rate, &out->point[i]))
            *why = "overloaded";
    }
    return PLAIT_OK;
}
