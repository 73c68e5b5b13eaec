/*
 * sweeps.c - rank correlation of predicted and measured step times in each sweep, and the loss
 * after trying a few plans
 *
 * Plans are tried one after the other, in four orders: predicted time; random; the order in which
 * one call of plait_posterior_tries() chooses several plans; and plans chosen one at a time, where
 * each measurement updates the posterior. The loss is the relative difference of the best plan
 * tried from the best plan of the sweep. The error model is estimated without the sweep's source.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "plait/validate.h"
#include "validate/statistics.h"
#include "validate/sums.h"

enum { MOST_TRIES = 5 };

const int plait_replay_tries[PLAIT_REPLAYS] = {1, 2, 3, MOST_TRIES};

/* One sweep: its plans and their times. */
typedef struct sweep_plans {
    const plait_run_price *first;
    const plait_degrees **degrees;
    double *predicted_s;
    double *measured_s;
    double *scratch; /* [2 * plans] */
    size_t plans;
} sweep_plans;

static plait_status open_sweep(const plait_validation *v, const size_t *row, size_t plans,
                               plait_arena *arena, sweep_plans *out, plait_error *err)
{
    *out = (sweep_plans){.first = &v->price[row[0]],
                         .degrees = plait_arena_alloc(arena, plans, sizeof(void *)),
                         .predicted_s = plait_arena_alloc(arena, plans, sizeof(double)),
                         .measured_s = plait_arena_alloc(arena, plans, sizeof(double)),
                         .scratch = plait_arena_alloc(arena, plans, 2 * sizeof(double)),
                         .plans = plans};
    PLAIT_TRY(plait_check_allocated(
        out->degrees && out->predicted_s && out->measured_s && out->scratch, err));
    for (size_t i = 0; i < plans; i++) {
        out->degrees[i] = &v->price[row[i]].degrees;
        out->predicted_s[i] = v->price[row[i]].cost.step_s;
        out->measured_s[i] = v->runs->run[row[i]].step_s;
    }
    return PLAIT_OK;
}

/* ---- ranks ---- */

static plait_sweep_rank rank_sweep(const sweep_plans *s, const char *name, const size_t *row)
{
    // Repeats of runs of medium trust differ by 10 to 15 %. Assume 0 for other runs.
    const double noise = s->first->run->trust == PLAIT_TRUST_MEDIUM ? 0.12 : 0.0;

    return (plait_sweep_rank){
        .name = name,
        .source = s->first->run->source,
        .plans = s->plans,
        .spearman = statistics_spearman(s->predicted_s, s->measured_s, s->plans, s->scratch),
        .kendall = statistics_kendall(s->predicted_s, s->measured_s, s->plans),
        .regret = statistics_regret(s->predicted_s, s->measured_s, s->plans, 0.0),
        .regret_beyond_noise = statistics_regret(s->predicted_s, s->measured_s, s->plans, noise),
        .chosen = row[statistics_least(s->predicted_s, s->plans)],
        .best = row[statistics_least(s->measured_s, s->plans)],
    };
}

/* Returns mean and median of one field over all sweeps, without NaN; `member` is its offset. */
static plait_rank_summary summarize_field(const plait_validation *v, size_t member, double *scratch)
{
    size_t count = 0;
    plait_rank_summary out;

    for (size_t s = 0; s < v->sweeps; s++) {
        double value;

        memcpy(&value, (const char *)&v->sweep[s] + member, sizeof value);
        if (!isnan(value))
            scratch[count++] = value;
    }
    out.mean = statistics_mean(scratch, count);
    out.median = statistics_quantile(scratch, count, 0.5);
    return out;
}

/* ---- losses after a few tries ---- */

static double relative_regret(const sweep_plans *s, double step_s)
{
    return step_s / s->measured_s[statistics_least(s->measured_s, s->plans)] - 1.0;
}

/*
 * Sets, for each number of tries in plait_replay_tries, the regret of the best plan among those
 * tried so far, if plans are tried in `order`.
 */
static void replay_order(const sweep_plans *s, const int *order, int count,
                         double regret[PLAIT_REPLAYS])
{
    double least_s = HUGE_VAL;

    for (int i = 0, r = 0; i < count; i++) {
        least_s = fmin(least_s, s->measured_s[order[i]]);
        if (i + 1 == plait_replay_tries[r])
            regret[r++] = relative_regret(s, least_s);
    }
}

/*
 * Computes the mean loss over all C(n, k) sets of k of the n plans. Plan i, counted from 0 in order
 * of measured time, is the best plan of C(n - 1 - i, k - 1) sets.
 */
static void replay_random(const sweep_plans *s, double regret[PLAIT_REPLAYS])
{
    const int n = (int)s->plans;

    memcpy(s->scratch, s->measured_s, s->plans * sizeof *s->scratch);
    qsort(s->scratch, s->plans, sizeof *s->scratch, compare_doubles);
    for (int r = 0; r < PLAIT_REPLAYS; r++) {
        double left = 1.0; // probability that no better plan is in the set
        regret[r] = 0.0;
        for (int i = 0; i < n && left > 0.0; i++) {
            const double in = fmin(1.0, (double)plait_replay_tries[r] / (n - i));
            regret[r] += left * in * relative_regret(s, s->scratch[i]);
            left *= 1.0 - in;
        }
    }
}

static plait_status replay_sweep(const sweep_plans *s, const plait_evidence *evidence,
                                 plait_arena *arena, plait_replay *out, plait_error *err)
{
    const plait_regime regime = plait_regime_of(&s->first->problem);
    const char *const source = s->first->run->source;
    const int plans = (int)s->plans;
    bool *tried = plait_arena_alloc(arena, s->plans, sizeof *tried);
    plait_error_parts parts;
    plait_posterior belief;
    plait_tries tries;
    plait_band band;
    int order[MOST_TRIES], count = 0;

    PLAIT_TRY(plait_check_allocated(tried, err));
    PLAIT_TRY(plait_evidence_band(evidence, &regime, source, arena, &band, err));
    PLAIT_TRY(plait_evidence_parts(evidence, &regime, &band, source, arena, &parts, err));
    // Try plans in order of predicted time; of equal plans, the first.
    for (; count < MOST_TRIES; count++) {
        int next = -1;
        for (int i = 0; i < plans; i++)
            if (!tried[i] && (next < 0 || s->predicted_s[i] < s->predicted_s[next]))
                next = i;
        tried[next] = true;
        order[count] = next;
    }
    replay_order(s, order, count, out->ranked);
    replay_random(s, out->random);
    // Choose all plans at once.
    PLAIT_TRY(plait_posterior_make(s->degrees, s->predicted_s, plans, &parts, arena, &belief, err));
    PLAIT_TRY(plait_posterior_tries(&belief, MOST_TRIES, arena, &tries, err));
    replay_order(s, tries.plan, tries.count, out->tries);
    for (int r = 0; r < PLAIT_REPLAYS && plait_replay_tries[r] <= tries.count; r++)
        out->expected[r] = tries.regret[plait_replay_tries[r] - 1];
    // Choose one plan at a time, and update the posterior with each measurement.
    for (count = 0; count < MOST_TRIES; count++) {
        PLAIT_TRY(plait_posterior_tries(&belief, 1, arena, &tries, err));
        if (tries.count == 0)
            break;
        order[count] = tries.plan[0];
        plait_posterior_measure(&belief, tries.plan[0], s->measured_s[tries.plan[0]]);
    }
    replay_order(s, order, count, out->updated);
    return PLAIT_OK;
}

/* ---- all sweeps ---- */

plait_status sum_sweeps(plait_validation *v, const plait_evidence *evidence, plait_arena *arena,
                        plait_error *err)
{
    plait_sweep_rank *rank;
    double *values;
    row_groups groups;

    PLAIT_TRY(groups_of(v, row_sweep, arena, &groups, err));
    rank = plait_arena_alloc(arena, groups.count, sizeof *rank);
    values = plait_arena_alloc(arena, groups.count, sizeof *values);
    PLAIT_TRY(plait_check_allocated(rank && values, err));
    for (size_t g = 0; g < groups.count; g++)
        v->sweeps += groups.size[g] >= PLAIT_SWEEP_LEAST;
    v->sweep = rank;
    for (size_t g = 0; g < groups.count; g++) {
        const plait_arena_mark mark = plait_arena_save(arena);
        plait_replay one = {0};
        sweep_plans sweep;

        if (groups.size[g] < PLAIT_SWEEP_LEAST)
            continue;
        PLAIT_TRY(open_sweep(v, groups.row[g], groups.size[g], arena, &sweep, err));
        *rank++ = rank_sweep(&sweep, groups.name[g], groups.row[g]);
        PLAIT_TRY(replay_sweep(&sweep, evidence, arena, &one, err));
        for (int r = 0; r < PLAIT_REPLAYS; r++) {
            const double share = 1.0 / (double)v->sweeps;

            v->replay.random[r] += share * one.random[r];
            v->replay.ranked[r] += share * one.ranked[r];
            v->replay.tries[r] += share * one.tries[r];
            v->replay.updated[r] += share * one.updated[r];
            v->replay.expected[r] += share * one.expected[r];
        }
        plait_arena_rewind(arena, mark);
    }
    v->spearman = summarize_field(v, offsetof(plait_sweep_rank, spearman), values);
    v->kendall = summarize_field(v, offsetof(plait_sweep_rank, kendall), values);
    v->regret = summarize_field(v, offsetof(plait_sweep_rank, regret), values);
    v->regret_beyond_noise =
        summarize_field(v, offsetof(plait_sweep_rank, regret_beyond_noise), values);
    return PLAIT_OK;
}
