/* serve_private.h - what the two halves of the search for deployments share */
#pragma once

#include "search/serving/serve_price.h"

typedef struct serve_look {
    const plait_serve_options *q;
    plait_arena *arena;
    const serve_candidate *candidate;
    int candidates;
    bool front; /* what a faster token costs is looked at too */
    plait_serve_answer *out;
    double lack; /* of the nearest: how many times too slow */
} serve_look;

bool serve_breaks_rule(const plait_serve_options *q, const plait_engine *engine,
                       const serve_candidate *candidate);

/** Room for one sequence. */
bool serve_fits(const plait_engine *engine, const serve_candidate *candidate,
                const plait_load *load);

/** Cheaper: fewer GPU seconds a token, then faster; ties by what comes first in the space. */
bool serve_is_cheaper(const plait_serve_plan *a, const plait_serve_plan *b);

/** Keeps the best of each sort, in order; of a full list the last goes. */
void serve_keep(plait_serve_answer *out, const plait_serve_plan *plan);

/** Counts a priced plan that misses a bound, and keeps the nearest. */
void serve_reject(serve_look *look, const plait_serve_plan *plan);

/**
 * Without a load: as many users as the bounds let in, less those without whom as many tokens come.
 *
 * @return tokens/s of a GPU with all whom the bounds let in; 0: not one
 */
double serve_settle_users(serve_look *look, plait_serve_plan *plan,
                          const serve_candidate *const role[PLAIT_SERVE_ROLES]);

/** Keeps a plan on the front unless another is as fast and as cheap. */
void serve_add_front(plait_serve_answer *out, const plait_serve_plan *plan);

/** plait_serve_search, with or without the front. */
plait_status serve_search(const plait_serve_options *question, bool front, plait_arena *arena,
                          plait_serve_answer *out, plait_error *err) PLAIT_MUST_CHECK;

/** plait_serve_decide, or only its first plan; with or without the front. Adds to `work`, as S.108 counts it. */
plait_status serve_decide(const plait_serve_options *question, plait_serve_sim_options draws,
                          bool first_only, bool front, double *work, plait_arena *arena,
                          plait_serve_answer *out, plait_error *err) PLAIT_MUST_CHECK;

/** Prefill and decode workers apart. (S.100) */
plait_status serve_look_pairs(serve_look *look, const plait_engine *engine,
                              plait_error *err) PLAIT_MUST_CHECK;
