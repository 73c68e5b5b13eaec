/* serve_private.h - definitions shared by the files of the search for deployments */
#pragma once

#include "search/serving/serve_price.h"

typedef struct serve_search_state {
    const plait_serve_options *q;
    plait_arena *arena;
    const serve_candidate *candidate;
    int candidates;
    bool front; /* also search the front of TPOT and tokens/s per GPU */
    plait_serve_answer *out;
    double lack; /* largest ratio of a time of the nearest plan to its bound */
} serve_search_state;

bool serve_breaks_rule(const plait_serve_options *q, const plait_engine *engine,
                       const serve_candidate *candidate);

/** True if the cache has memory for one sequence of mean length. */
bool serve_fits(const plait_engine *engine, const serve_candidate *candidate,
                const plait_load *load);

/** Keeps the best plan of each kind, in order; when the list is full, the last plan is dropped. */
void serve_keep(plait_serve_answer *out, const plait_serve_plan *plan);

/** Counts a priced plan that is rejected, and keeps the nearest one. */
void serve_reject(serve_search_state *look, const plait_serve_plan *plan);

/**
 * For options without a load: finds the most users that the bounds allow, then the fewest users
 * that give nearly as many tokens/s.
 *
 * @return tokens/s per GPU with the most users; 0: the bounds do not allow even one user
 */
double serve_find_users(serve_search_state *look, plait_serve_plan *plan,
                        const serve_candidate *const role[PLAIT_SERVE_ROLES]);

/** Adds a plan to the front unless another plan is as fast and as cheap. */
void serve_add_front(plait_serve_answer *out, const plait_serve_plan *plan);

/** Implements plait_serve_search(), with or without the front. */
plait_status serve_search(const plait_serve_options *question, bool front, plait_arena *arena,
                          plait_serve_answer *out, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Implements plait_serve_decide(), with or without the front; `first_only` stops at the first
 * confirmed plan. Adds the simulation work to *work, in the unit of S.108.
 */
plait_status serve_decide(const plait_serve_options *question, plait_serve_sim_options draws,
                          bool first_only, bool front, double *work, plait_arena *arena,
                          plait_serve_answer *out, plait_error *err) PLAIT_MUST_CHECK;

/** Searches disaggregated prefill: pairs of prefill and decode workers. (S.100) */
plait_status serve_search_pairs(serve_search_state *look, const plait_engine *engine,
                                plait_error *err) PLAIT_MUST_CHECK;
