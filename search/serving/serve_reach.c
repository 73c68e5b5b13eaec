/* serve_reach.c - what GPUs carry where they do not carry what is asked, and how many would (S.109) */
#include <math.h>

#include "numbers.h"
#include "plait/job.h"
#include "serve_private.h"
#include "serve_values.h"

typedef struct reach {
    const plait_serve_question *q;
    plait_serve_draws draws;
    plait_arena *arena;
    plait_serve_answer *answer; /* of the last decision */
    double looked;              /* deployments priced by all of them */
    int simulations;
} reach;

/* Whether so many GPUs carry a rate; what does is answer->plan[0]. */
static plait_status carries(reach *r, const plait_cluster *cluster, int gpus, double rate,
                            bool *yes, plait_error *err)
{
    plait_serve_question q = *r->q;
    const plait_arena_mark mark = plait_arena_save(r->arena);

    q.cluster = cluster;
    q.gpus = gpus;
    q.load.rate = rate;
    PLAIT_TRY(serve_decide(&q, r->draws, true, r->arena, r->answer, err));
    plait_arena_rewind(r->arena, mark);
    r->looked += (double)r->answer->looked;
    r->simulations += r->answer->simulations;
    *yes = r->answer->plans > 0;
    return PLAIT_OK;
}

/* One second to two of searching and simulating, whatever is asked. Chosen. */
static bool is_spent(const reach *r)
{
    return r->looked >= 1e5 || r->simulations >= 16;
}

/* The rate: halved until it is carried, then within a twentieth. */
static plait_status find_rate(reach *r, plait_serve_reach *out, plait_error *err)
{
    static const double least = 1e-4, close = 1.05;
    const double asked = r->q->load.rate;
    double high = asked;
    bool yes;

    for (double rate = asked / 2.0; out->rate <= 0.0 && rate > least * asked; rate /= 2.0) {
        PLAIT_TRY(carries(r, r->q->cluster, r->q->gpus, rate, &yes, err));
        if (yes) {
            out->rate = rate;
            out->plan = r->answer->plan[0];
        } else
            high = rate;
    }
    while (out->rate > 0.0 && high > close * out->rate && !is_spent(r)) {
        const double middle = sqrt(high * out->rate);

        PLAIT_TRY(carries(r, r->q->cluster, r->q->gpus, middle, &yes, err));
        if (yes) {
            out->rate = middle;
            out->plan = r->answer->plan[0];
        } else
            high = middle;
    }
    return PLAIT_OK;
}

/* Copies of what carries a part of the rate carry all of it: each has its share of arrivals at random. */
static double gpus_of_copies(const plait_serve_plan *plan, double share)
{
    const double each = (double)plan->gpus / plan->replicas;

    return each * ceil(plan->replicas / share * (1.0 - 1e-9));
}

/* The GPUs: at most those of copies, fewer where a larger deployment carries it; whole nodes. */
static plait_status find_gpus(reach *r, plait_serve_reach *out, plait_error *err)
{
    static const int most_gpus = 64; // of a search that takes a fraction of a second
    const int node = r->q->cluster->group[0].gpus_per_node;
    const double copies = gpus_of_copies(&out->plan, out->rate / r->q->load.rate);
    int low = r->q->gpus / node, high;

    if (copies > PLAIT_MAX_GPUS - node)
        return PLAIT_OK;
    if (copies <= node) {
        out->gpus = (int)copies;
        return PLAIT_OK;
    }
    high = (int)ceil(copies / node);
    while (high - low > 1 && high * node <= most_gpus && !is_spent(r)) {
        const int middle = low + (high - low) / 2;
        plait_cluster cluster = *r->q->cluster;
        plait_error none;
        bool yes;

        if (plait_cluster_take(&cluster, middle * node, &none) != PLAIT_OK)
            break;
        PLAIT_TRY(carries(r, &cluster, middle * node, r->q->load.rate, &yes, err));
        if (yes)
            high = middle;
        else
            low = middle;
    }
    out->gpus = high * node;
    return PLAIT_OK;
}

plait_status plait_serve_reach_of(const plait_serve_question *q, plait_serve_draws draws,
                                  plait_arena *arena, plait_serve_reach *out, plait_error *err)
{
    reach r = {.q = q, .draws = draws, .arena = arena};

    *out = (plait_serve_reach){0};
    PLAIT_TRY(serve_check_question(q, err));
    if (q->load.kind != PLAIT_LOAD_RATE)
        return PLAIT_OK;
    r.answer = plait_arena_alloc(arena, 1, sizeof *r.answer);
    if (r.answer == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(find_rate(&r, out, err));
    return out->rate > 0.0 ? find_gpus(&r, out, err) : PLAIT_OK;
}
