/*
 * sum_replay.c - replay each measured sweep: the loss after trying a few plans
 *
 * Plans are tried one after the other, in four orders: that of the prediction, at random, all as
 * chosen by plait_posterior_tries() at once, and one by one with the posterior updated by each
 * measurement. The loss is the relative excess of the best plan tried over the best of the sweep.
 * The error model is estimated without the sweep's source.
 */
#include <math.h>

#include "validate/groups.h"
#include "plait/validate.h"
#include "validate/statistics.h"
#include "validate/sums.h"

const int plait_replay_tries[PLAIT_REPLAYS] = {1, 2, 3, 5};

/* One sweep: its plans, their times, and the error model. */
typedef struct replay_sweep {
    const plait_problem *problem;
    const plait_degrees **degrees;
    double *predicted_s;
    double *measured_s;
    int plans;
    double best_s;
    plait_error_parts parts;
} replay_sweep;

static plait_status take_sweep(const plait_validation *v, const plait_evidence *evidence,
                               const size_t *row, size_t plans, plait_arena *arena,
                               replay_sweep *out, plait_error *err)
{
    const plait_run_price *const first = &v->price[row[0]];
    const plait_regime regime = plait_regime_of(&first->problem);
    plait_band band;

    *out = (replay_sweep){.problem = &first->problem,
                          .degrees = plait_arena_alloc(arena, plans, sizeof(void *)),
                          .predicted_s = plait_arena_alloc(arena, plans, sizeof(double)),
                          .measured_s = plait_arena_alloc(arena, plans, sizeof(double)),
                          .plans = (int)plans,
                          .best_s = HUGE_VAL};
    PLAIT_TRY(plait_check_allocated(out->degrees && out->predicted_s && out->measured_s, err));
    for (size_t i = 0; i < plans; i++) {
        out->degrees[i] = &v->price[row[i]].degrees;
        out->predicted_s[i] = v->price[row[i]].cost.step_s;
        out->measured_s[i] = v->price[row[i]].run->step_s;
        out->best_s = fmin(out->best_s, out->measured_s[i]);
    }
    PLAIT_TRY(plait_evidence_band(evidence, &regime, first->run->source, arena, &band, err));
    return plait_evidence_parts(evidence, &regime, &band, first->run->source, arena, &out->parts,
                                err);
}

static double relative_regret(const replay_sweep *sweep, double step_s)
{
    return step_s / sweep->best_s - 1.0;
}

/* Tries plans in the order of the prediction, the first one if several are equal. */
static void replay_ranked(const replay_sweep *sweep, bool *tried, double regret[PLAIT_REPLAYS])
{
    double least_s = HUGE_VAL;

    for (int count = 1, r = 0; r < PLAIT_REPLAYS; count++) {
        int next = -1;
        for (int i = 0; i < sweep->plans; i++)
            if (!tried[i] && (next < 0 || sweep->predicted_s[i] < sweep->predicted_s[next]))
                next = i;
        if (next >= 0) {
            tried[next] = true;
            least_s = fmin(least_s, sweep->measured_s[next]);
        }
        if (count == plait_replay_tries[r])
            regret[r++] = relative_regret(sweep, least_s);
    }
}

/*
 * Mean loss over all C(n, k) sets of k plans. Plan i, in order of measured time from 0, is the best
 * of C(n - 1 - i, k - 1) sets.
 */
static void replay_random(const replay_sweep *sweep, double *sorted, double regret[PLAIT_REPLAYS])
{
    const int n = sweep->plans;

    for (int i = 0; i < n; i++)
        sorted[i] = sweep->measured_s[i];
    statistics_quantile(sorted, (size_t)n, 0.5);
    for (int r = 0; r < PLAIT_REPLAYS; r++) {
        const int k = plait_replay_tries[r];
        double left = 1.0; // probability that no better plan is in the set
        regret[r] = 0.0;
        for (int i = 0; i < n && left > 0.0; i++) {
            const double in = fmin(1.0, (double)k / (n - i));
            regret[r] += left * in * relative_regret(sweep, sorted[i]);
            left *= 1.0 - in;
        }
    }
}

/* Tries the plans that plait_posterior_tries() chooses at once. */
static plait_status replay_tries(const replay_sweep *sweep, plait_arena *arena, double *regret,
                                 double *expected, plait_error *err)
{
    plait_posterior belief;
    plait_tries tries;
    double least_s = HUGE_VAL;

    PLAIT_TRY(plait_posterior_make(sweep->degrees, sweep->predicted_s, sweep->plans, &sweep->parts,
                                   arena, &belief, err));
    PLAIT_TRY(
        plait_posterior_tries(&belief, plait_replay_tries[PLAIT_REPLAYS - 1], arena, &tries, err));
    for (int i = 0, r = 0; i < tries.count; i++) {
        least_s = fmin(least_s, sweep->measured_s[tries.plan[i]]);
        if (i + 1 != plait_replay_tries[r])
            continue;
        expected[r] = tries.regret[i];
        regret[r++] = relative_regret(sweep, least_s);
    }
    return PLAIT_OK;
}

/* Tries plans one by one, and updates the posterior with each measurement. */
static plait_status replay_updated(const replay_sweep *sweep, plait_arena *arena, double *regret,
                                   plait_error *err)
{
    const int last = plait_replay_tries[PLAIT_REPLAYS - 1];
    plait_posterior belief;
    plait_tries tries;
    double least_s = HUGE_VAL;

    PLAIT_TRY(plait_posterior_make(sweep->degrees, sweep->predicted_s, sweep->plans, &sweep->parts,
                                   arena, &belief, err));
    for (int count = 1, r = 0; count <= last; count++) {
        PLAIT_TRY(plait_posterior_tries(&belief, 1, arena, &tries, err));
        if (tries.count > 0) {
            const double step_s = sweep->measured_s[tries.plan[0]];
            least_s = fmin(least_s, step_s);
            plait_posterior_measure(&belief, tries.plan[0], step_s);
        }
        if (count == plait_replay_tries[r])
            regret[r++] = relative_regret(sweep, least_s);
    }
    return PLAIT_OK;
}

static plait_status replay_sweep_run(const replay_sweep *sweep, plait_arena *arena,
                                     plait_replay *out, plait_error *err)
{
    const size_t plans = (size_t)sweep->plans;
    bool *tried = plait_arena_alloc(arena, plans, sizeof *tried);
    double *sorted = plait_arena_alloc(arena, plans, sizeof *sorted);

    PLAIT_TRY(plait_check_allocated(tried && sorted, err));
    replay_ranked(sweep, tried, out->ranked);
    replay_random(sweep, sorted, out->random);
    PLAIT_TRY(replay_tries(sweep, arena, out->tries, out->expected, err));
    return replay_updated(sweep, arena, out->updated, err);
}

static void add_replay(const plait_replay *one, double share, plait_replay *sum)
{
    for (int r = 0; r < PLAIT_REPLAYS; r++) {
        sum->random[r] += share * one->random[r];
        sum->ranked[r] += share * one->ranked[r];
        sum->tries[r] += share * one->tries[r];
        sum->updated[r] += share * one->updated[r];
        sum->expected[r] += share * one->expected[r];
    }
}

plait_status sum_replay(plait_validation *v, const plait_evidence *evidence, plait_arena *arena,
                        plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    row_groups groups;

    PLAIT_TRY(groups_of(v, row_sweep, arena, &groups, err));
    for (size_t g = 0; g < groups.count; g++) {
        const plait_arena_mark here = plait_arena_save(arena);
        plait_replay one = {0};
        replay_sweep sweep;

        if (groups.size[g] < PLAIT_SWEEP_LEAST)
            continue;
        PLAIT_TRY(take_sweep(v, evidence, groups.row[g], groups.size[g], arena, &sweep, err));
        PLAIT_TRY(replay_sweep_run(&sweep, arena, &one, err));
        add_replay(&one, 1.0 / (double)v->sweeps, &v->replay);
        plait_arena_rewind(arena, here);
    }
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}
