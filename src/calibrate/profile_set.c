/*
 * profile_set.c - estimate the priors for the numbers of all software from runs of all sources, or
 * of all but one
 */
#include "calibrate/profile_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/points.h"
#include "base/numbers.h"
#include "plait/data.h"
#include "plait/units.h"
#include "io/runtime/runtime_file.h"

/*
 * `believed` is the standard deviation of one source's runs as evidence for a family: predictions
 * for a left-out source have about this error, however many runs it has. Residuals have the same
 * robust weights as in the fit of a profile.
 */
static const double believed = 0.15, cauchy = 2.385, least_scale = 0.03;
/* Standard deviation of estimated rates of unmeasured kernels, in logarithms. **Chosen**. */
static const double guessed = 0.25;
/* The step of a derivative, in logarithms. */
static const double step = 1e-3;

/* Iterations until the numbers converge: for all runs, and after leaving out a source. */
enum { FIT_ITERATIONS = 4, FIT_WITHOUT_ITERATIONS = 2 };

// ---- the fitted numbers --------------------------------------------------------------------

#define FACTOR(member) offsetof(plait_runtime, factor.member)
#define OVERLAP(member) offsetof(plait_runtime, overlap.member)

/*
 * The bounds are judgement: No kernel of a training step is much faster than its benchmark. No
 * network is faster than its wire (a cluster's default is 0.95 of the wire rate). The other bounds
 * include the worst software that has runs. A memory factor of 0.75 means the full memory rate,
 * since C.33 assumes three quarters of that rate.
 *
 * The priors of four numbers have separate sources, so that errors of other terms do not shift
 * these numbers. `host_us` is 400 with fused kernels and 2000 without, near the values of the
 * software whose runs determine it (nanotron 1770, aa-scaling 2050); in other software the launch
 * time absorbs errors of other terms up to its bound. `tp_exposed` is 1, since a tensor-parallel
 * collective without overlap is fully exposed. `nic` is near 1, since nccl-tests reach the network
 * rate of a cluster file, except for interference between jobs. `rails`, the number of a node's NICs
 * that one communicator uses, depends on how the software calls NCCL.
 *
 * The priors and spreads of all other numbers weigh as much as a few pieces of software. They were
 * chosen from the results of single-profile fits.
 */
const place places[PLACES] = {
    {"factors", "gemm", FACTOR(gemm), 1.0, 0.9, 1.1, 1.5, 0.08, true, false},
    {"factors", "memory", FACTOR(memory), 1.0, 0.75, 0.9, 6.0, 0.3, true, false},
    {"factors", "attention", FACTOR(attention), 1.0, 0.6, 1.0, 2.0, 0.15, true, false},
    {"factors", "host_us", FACTOR(host_s), PLAIT_US, 50.0, 400.0, 4000.0, 0.6, false, true},
    {"overlap", "tp_exposed", OVERLAP(tp_exposed), 1.0, 0.1, 1.0, 1.6, 0.25, false, true},
    {"overlap", "dp_exposed", OVERLAP(dp_exposed), 1.0, 0.02, 0.6, 2.0, 0.4, false, false},
    {"factors", "nic", FACTOR(nic), 1.0, 0.08, 0.9, 1.05, 0.25, false, true},
    {"factors", "rails", FACTOR(rails), 1.0, 1.0, 4.0, 16.0, 0.8, false, true},
    {"factors", "nic_ranks", FACTOR(nic_ranks), 1.0, 0.01, 0.03, 1.0, 1.2, false, false},
    {"factors", "hop_us", FACTOR(hop_s), PLAIT_US, 0.5, 2.0, 1000.0, 1.0, false, false},
};

double place_value(const plait_runtime *runtime, int number)
{
    double value;

    memcpy(&value, (const char *)runtime + places[number].offset, sizeof value);
    return value;
}

static void place_set(plait_runtime *runtime, int number, double value)
{
    memcpy((char *)runtime + places[number].offset, &value, sizeof value);
}

// ---- residuals -----------------------------------------------------------------------------

double profile_step_s(const plait_runtime *numbers, const plait_run_price *run,
                      plait_pipelines *pipelines, plait_arena *scratch)
{
    const plait_arena_mark mark = plait_arena_save(scratch);
    plait_runtime runtime = *run->problem.runtime;
    plait_problem problem = run->problem;
    plait_plan plan;
    plait_cost cost;
    double s = (double)NAN;

    for (int k = 0; k < PLACES; k++)
        place_set(&runtime, k, place_value(numbers, k));
    problem.runtime = &runtime;
    if (plait_plan_expand(&problem, &run->degrees, scratch, &plan, NULL) == PLAIT_OK &&
        plait_plan_evaluate(&problem, &plan, pipelines, scratch, &cost, NULL) == PLAIT_OK &&
        cost.step_s > 0.0)
        s = cost.step_s;
    plait_arena_rewind(scratch, mark);
    return s;
}

/* Computes the residuals of a member's runs with numbers whose logarithms are x. */
static void price_member(const profile_set *set, const profile_member *m, const double *x,
                         plait_arena *scratch, double *out)
{
    plait_runtime runtime = m->runtime;

    for (int k = 0; k < PLACES; k++)
        if (m->line.has[k])
            place_set(&runtime, k, exp(x[k]));
    for (size_t i = 0; i < m->runs; i++)
        out[i] = log(profile_step_s(&runtime, m->run[i], set->pipelines, scratch) /
                     m->run[i]->run->step_s);
}

/* Computes residuals and slopes at the current means of the numbers. */
static plait_status linearise_member(const profile_set *set, profile_member *m,
                                     plait_arena *scratch, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(scratch);
    double *moved = plait_arena_alloc(scratch, m->runs + 1, sizeof *moved);
    double x[PLACES];

    PLAIT_TRY(plait_check_allocated(moved, err));
    memcpy(m->line.at, m->line.mean, sizeof m->line.at);
    memcpy(x, m->line.at, sizeof x);
    price_member(set, m, x, scratch, m->residual);
    for (int k = 0; k < PLACES; k++) {
        if (!m->line.has[k])
            continue;
        x[k] += step;
        price_member(set, m, x, scratch, moved);
        x[k] = m->line.at[k];
        for (size_t i = 0; i < m->runs; i++)
            m->slope[i * PLACES + (size_t)k] = (moved[i] - m->residual[i]) / step;
    }
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}

// ---- parabolas of runs ---------------------------------------------------------------------

bool profile_set_includes(const profile_set *set, const plait_run_price *run)
{
    return !run->unmodelled &&
           (set->without == NULL || strcmp(run->run->source, set->without) != 0);
}

/* Computes a member's parabola (hierarchy.h) as the sum over its runs that are not left out. */
static plait_status sum_parabola(const profile_set *set, profile_member *m, plait_arena *scratch,
                                 plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(scratch);
    double *size = plait_arena_alloc(scratch, m->runs + 1, sizeof *size);
    hierarchy_member *const line = &m->line;
    size_t count = 0;

    PLAIT_TRY(plait_check_allocated(size, err));
    for (size_t i = 0; i < m->runs; i++)
        if (profile_set_includes(set, m->run[i]))
            size[count++] = fabs(m->residual[i]);
    qsort(size, count, sizeof *size, compare_doubles);
    // 1.48 times the median absolute residual.
    const double scale = count > 0 ? fmax(1.4826 * size[count / 2], least_scale) : least_scale;
    line->runs = count > 0;
    memset(line->slope, 0, sizeof line->slope);
    memset(line->curvature, 0, sizeof line->curvature);
    for (size_t row = 0; row < m->runs; row++) {
        const double *const slope = &m->slope[row * PLACES];
        const double r = m->residual[row] / (cauchy * scale);
        int same = 0;

        if (!profile_set_includes(set, m->run[row]))
            continue;
        // A source with n runs weighs sqrt(n), since these runs share site and model.
        for (size_t i = 0; i < m->runs; i++)
            same += profile_set_includes(set, m->run[i]) &&
                    strcmp(m->run[i]->run->source, m->run[row]->run->source) == 0;
        const double weight = 1.0 / sqrt(same) / (1.0 + r * r) / (believed * believed);
        for (int i = 0; i < PLACES; i++) {
            if (!line->has[i])
                continue;
            line->slope[i] += weight * slope[i] * m->residual[row];
            for (int j = 0; j < PLACES; j++)
                line->curvature[i][j] += line->has[j] ? weight * slope[i] * slope[j] : 0.0;
        }
    }
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}

static plait_status fit_members(profile_set *set, plait_arena *scratch, plait_error *err)
{
    hierarchy_member *line = plait_arena_alloc(scratch, (size_t)set->members + 1, sizeof *line);

    PLAIT_TRY(plait_check_allocated(line, err));
    for (int m = 0; m < set->members; m++) {
        PLAIT_TRY(sum_parabola(set, &set->member[m], scratch, err));
        line[m] = set->member[m].line;
    }
    hierarchy_estimate(&set->families, line, set->members);
    for (int m = 0; m < set->members; m++)
        set->member[m].line = line[m];
    return PLAIT_OK;
}

// ---- members -------------------------------------------------------------------------------

profile_member *profile_set_find(const profile_set *set, const char *name)
{
    for (int m = 0; m < set->members; m++)
        if (strcmp(set->member[m].runtime.name, name) == 0)
            return &set->member[m];
    return NULL;
}

/* Returns the family of a member. Software without a family forms a family by itself. */
static const char *family_of(const profile_member *m)
{
    return m->runtime.family[0] != '\0' ? m->runtime.family : m->runtime.name;
}

/* Adds a piece of software with space for its runs; fails if it has no profile. */
static plait_status add_member(profile_set *set, const plait_runs *runs, const char *name,
                               plait_arena *arena, plait_error *err)
{
    profile_member m = {.runs = 0};
    size_t most = 1;

    for (size_t i = 0; i < runs->count; i++)
        most += strcmp(runs->run[i].runtime, name) == 0;
    PLAIT_TRY(plait_runtime_find(name, arena, &m.runtime, err));
    PLAIT_TRY(runtime_variants(name, arena, &m.variant, &m.variants, err));
    m.run = plait_arena_alloc(arena, most, sizeof *m.run);
    m.residual = plait_arena_alloc(arena, most, sizeof *m.residual);
    m.slope = plait_arena_alloc(arena, most * PLACES, sizeof *m.slope);
    PLAIT_TRY(plait_check_allocated(m.run && m.residual && m.slope, err));
    m.runtime.name = name;
    m.line.family = set->families.families;
    for (int i = 0; i < set->members; i++)
        if (strcmp(family_of(&set->member[i]), family_of(&m)) == 0)
            m.line.family = set->member[i].line.family;
    set->families.families += m.line.family == set->families.families;
    if (set->families.families > HIERARCHY_FAMILIES)
        return plait_fail(err, PLAIT_ERROR_RANGE, name, "expected at most %d families, found more",
                          HIERARCHY_FAMILIES);
    // Frameworks without fused kernels launch each pass separately, which takes more host time.
    const bool fused = m.runtime.kernels.fused_norm && m.runtime.kernels.fused_activation &&
                       m.runtime.kernels.fused_rotary;
    for (int k = 0; k < PLACES; k++) {
        // The value 0 switches an effect off. Without overlap of gradient reduction, dp_exposed and
        // `nic` have the same effect, so only one of them is fitted.
        m.line.has[k] = place_value(&m.runtime, k) > 0.0 &&
                        (places[k].offset != OVERLAP(dp_exposed) || m.runtime.overlap.grad_reduce ||
                         m.runtime.overlap.ddp);
        m.line.shift[k] = places[k].offset == FACTOR(host_s) && !fused ? log(2000.0 / 400.0) : 0.0;
        m.line.informs[k] = !places[k].sourced;
    }
    set->member[set->members++] = m;
    return PLAIT_OK;
}

/* Adds all timed runs that have a price, and their software. */
static plait_status collect_runs(profile_set *set, const plait_runs *runs, plait_arena *arena,
                                 plait_error *err)
{
    for (size_t i = 0; i < runs->count; i++) {
        const plait_run *const run = &runs->run[i];

        if (!plait_run_timed(run) || !set->price[i].priced)
            continue;
        if (profile_set_find(set, run->runtime) == NULL) {
            const plait_status status = add_member(set, runs, run->runtime, arena, NULL);

            if (status == PLAIT_ERROR_NOMEM)
                return plait_fail_nomem(err);
            if (status != PLAIT_OK)
                continue;
        }
        profile_member *const m = profile_set_find(set, run->runtime);
        if (isnan(profile_step_s(&m->runtime, &set->price[i], set->pipelines, arena)))
            continue;
        m->run[m->runs++] = &set->price[i];
        // If kernel rates of the accelerator are estimates, factors on kernels also contain the
        // errors of the estimates, so the member does not inform the parents of these factors.
        for (int k = 0; k < PLACES && !names_measured(run->accelerator); k++)
            if (places[k].kernels) {
                m->line.informs[k] = false;
                m->line.doubt[k] = guessed;
            }
    }
    return PLAIT_OK;
}

// ---- estimation, with and without a source -------------------------------------------------

plait_status profile_set_fit(const plait_runs *runs, const char *name, int variant,
                             plait_pipelines *pipelines, plait_arena *arena, profile_set *out,
                             plait_error *err)
{
    hierarchy *const h = &out->families;
    plait_validation v;

    *out = (profile_set){.member = plait_arena_alloc(arena, runs->count + 1, sizeof *out->member),
                         .pipelines = pipelines};
    PLAIT_TRY(plait_check_allocated(out->member, err));
    if (name != NULL)
        PLAIT_TRY(add_member(out, runs, name, arena, err));
    if (variant > 0) {
        // Insert the month of a variant that has no file yet, in ascending order.
        profile_member *const m = &out->member[0];
        size_t at = 0;

        while (at < m->variants && m->variant[at] < variant)
            at++;
        if (at == m->variants || m->variant[at] != variant) {
            memmove(&m->variant[at + 1], &m->variant[at],
                    (m->variants++ - at) * sizeof *m->variant);
            m->variant[at] = variant;
        }
    }
    PLAIT_TRY(plait_validate_prices(runs, arena, &v, err));
    out->price = v.price;
    PLAIT_TRY(collect_runs(out, runs, arena, err));
    if (out->members == 0)
        return PLAIT_OK;
    for (int k = 0; k < PLACES; k++) {
        h->low[k] = log(places[k].low * places[k].unit);
        h->high[k] = log(places[k].high * places[k].unit);
        h->prior[k] = log(places[k].prior * places[k].unit);
        h->prior_spread[k] = places[k].spread;
        for (int m = 0; m < out->members; m++) {
            hierarchy_member *const line = &out->member[m].line;

            line->mean[k] = fmin(fmax(h->prior[k] + line->shift[k], h->low[k]), h->high[k]);
        }
    }
    for (int iteration = 0; iteration < FIT_ITERATIONS; iteration++) {
        for (int m = 0; m < out->members; m++)
            PLAIT_TRY(linearise_member(out, &out->member[m], arena, err));
        PLAIT_TRY(fit_members(out, arena, err));
    }
    return PLAIT_OK;
}

static bool has_source(const profile_member *m, const char *source)
{
    for (size_t i = 0; i < m->runs; i++)
        if (strcmp(m->run[i]->run->source, source) == 0)
            return true;
    return false;
}

plait_status profile_set_fit_without(const profile_set *all, const char *source, plait_arena *arena,
                                     profile_set *out, plait_error *err)
{
    *out = *all;
    out->without = source;
    out->member = plait_arena_alloc(arena, (size_t)all->members + 1, sizeof *out->member);
    PLAIT_TRY(plait_check_allocated(out->member, err));
    memcpy(out->member, all->member, (size_t)all->members * sizeof *out->member);
    for (profile_member *m = out->member; m < out->member + out->members; m++) {
        const double *const residual = m->residual, *const slope = m->slope;

        // Copy the slopes before changing them. Members without runs of the source keep the old
        // slopes, since their numbers hardly change.
        if (!has_source(m, source))
            continue;
        m->residual = plait_arena_alloc(arena, m->runs + 1, sizeof *residual);
        m->slope = plait_arena_alloc(arena, (m->runs + 1) * PLACES, sizeof *slope);
        PLAIT_TRY(plait_check_allocated(m->residual && m->slope, err));
        memcpy(m->residual, residual, m->runs * sizeof *residual);
        memcpy(m->slope, slope, m->runs * PLACES * sizeof *slope);
    }
    PLAIT_TRY(fit_members(out, arena, err));
    for (int iteration = 0; iteration < FIT_WITHOUT_ITERATIONS; iteration++) {
        for (int m = 0; m < out->members; m++)
            if (has_source(&out->member[m], source))
                PLAIT_TRY(linearise_member(out, &out->member[m], arena, err));
        PLAIT_TRY(fit_members(out, arena, err));
    }
    return PLAIT_OK;
}
