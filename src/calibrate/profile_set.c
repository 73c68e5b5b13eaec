/* profile_set.c - all software with runs, and the priors of its numbers by family */
#include "calibrate/profile_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/points.h"
#include "base/numbers.h"
#include "plait/data.h"
#include "io/runtime/runtime_file.h"

/*
 * `believed` is the standard deviation of a source's runs as evidence for a family: runs of a
 * source that was left out are off by about this much, whatever their number. Residuals have the
 * same robust weights as in the fit of a profile.
 */
static const double believed = 0.15, cauchy = 2.385, least_scale = 0.03;
/* Deviation of the rates of kernels that were not measured, in logarithms. **Chosen**. */
static const double guessed = 0.25;
/* The step of a derivative, in logarithms. */
static const double step = 1e-3;

/* Iterations until the numbers converge: for all runs, and after leaving out a source. */
enum { TURNS = 4, FORGET_TURNS = 2 };

// ---- prices --------------------------------------------------------------------------------

/* A run's profile has switches of its own, so only the fitted numbers are replaced. */
double profile_step_s(const plait_runtime *numbers, const profile_point *ran_as,
                      plait_arena *scratch)
{
    const plait_arena_mark mark = plait_arena_save(scratch);
    plait_runtime runtime = *ran_as->problem.runtime;
    plait_problem problem = ran_as->problem;
    plait_plan plan;
    plait_cost cost;
    double s = (double)NAN;

    for (int k = 0; k < PLACES; k++)
        place_set(&runtime, k, place_value(numbers, k));
    problem.runtime = &runtime;
    if (plait_plan_expand(&problem, &ran_as->degrees, scratch, &plan, NULL) == PLAIT_OK &&
        plait_plan_evaluate(&problem, &plan, ran_as->pipelines, scratch, &cost, NULL) == PLAIT_OK &&
        cost.step_s > 0.0)
        s = cost.step_s;
    plait_arena_rewind(scratch, mark);
    return s;
}

/* Computes the residuals of a member's runs with the numbers exp(x). */
static void price_member(const profile_member *m, const double *x, plait_arena *scratch,
                         double *out)
{
    plait_runtime runtime = m->runtime;

    for (int k = 0; k < PLACES; k++)
        if (m->line.has[k])
            place_set(&runtime, k, exp(x[k]));
    for (size_t i = 0; i < m->points; i++)
        out[i] = log(profile_step_s(&runtime, &m->point[i], scratch) / m->point[i].run->step_s);
}

/* Computes residuals and slopes at the current means of the numbers. */
static plait_status take_slopes(profile_member *m, plait_arena *scratch, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(scratch);
    double *moved = plait_arena_alloc(scratch, m->points + 1, sizeof *moved);
    double x[PLACES];

    PLAIT_TRY(plait_check_allocated(moved, err));
    memcpy(m->line.at, m->line.mean, sizeof m->line.at);
    memcpy(x, m->line.at, sizeof x);
    price_member(m, x, scratch, m->residual);
    for (int k = 0; k < PLACES; k++) {
        if (!m->line.has[k])
            continue;
        x[k] += step;
        price_member(m, x, scratch, moved);
        x[k] = m->line.at[k];
        for (size_t i = 0; i < m->points; i++)
            m->slope[i * PLACES + (size_t)k] = (moved[i] - m->residual[i]) / step;
    }
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}

// ---- parabolas of runs ---------------------------------------------------------------------

bool profile_set_knows(const profile_set *set, const profile_point *ran_as)
{
    return !ran_as->unmodelled &&
           (set->without == NULL || strcmp(ran_as->run->source, set->without) != 0);
}

/* Sets *scale to 1.48 times the median absolute residual, and returns the number of residuals. */
static size_t scale_of(const profile_set *set, const profile_member *m, double *room, double *scale)
{
    size_t count = 0;

    for (size_t i = 0; i < m->points; i++)
        if (profile_set_knows(set, &m->point[i]))
            room[count++] = fabs(m->residual[i]);
    qsort(room, count, sizeof *room, compare_doubles);
    *scale = count > 0 ? fmax(1.4826 * room[count / 2], least_scale) : least_scale;
    return count;
}

/* A source with n runs weighs sqrt(n), since they share its site and model. */
static double share_of(const profile_set *set, const profile_member *m, size_t row)
{
    int runs = 0;

    for (size_t i = 0; i < m->points; i++)
        runs += profile_set_knows(set, &m->point[i]) &&
                strcmp(m->point[i].run->source, m->point[row].run->source) == 0;
    return 1.0 / sqrt(runs);
}

static void add_run(const profile_member *m, size_t row, double weight, hierarchy_member *line)
{
    const double *const slope = &m->slope[row * PLACES];

    for (int i = 0; i < PLACES; i++) {
        if (!line->has[i])
            continue;
        line->slope[i] += weight * slope[i] * m->residual[row];
        for (int j = 0; j < PLACES; j++)
            line->curvature[i][j] += line->has[j] ? weight * slope[i] * slope[j] : 0.0;
    }
}

/* Sums the parabola of the runs that are not left out. */
static plait_status draw_line(const profile_set *set, profile_member *m, plait_arena *scratch,
                              plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(scratch);
    double *room = plait_arena_alloc(scratch, m->points + 1, sizeof *room);
    double scale;

    PLAIT_TRY(plait_check_allocated(room, err));
    m->line.runs = scale_of(set, m, room, &scale) > 0;
    memset(m->line.slope, 0, sizeof m->line.slope);
    memset(m->line.curvature, 0, sizeof m->line.curvature);
    for (size_t i = 0; i < m->points; i++) {
        const double r = m->residual[i] / (cauchy * scale);

        if (profile_set_knows(set, &m->point[i]))
            add_run(m, i, share_of(set, m, i) / (1.0 + r * r) / (believed * believed), &m->line);
    }
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}

static plait_status fit_members(profile_set *set, plait_arena *scratch, plait_error *err)
{
    hierarchy_member *line = plait_arena_alloc(scratch, (size_t)set->members + 1, sizeof *line);

    PLAIT_TRY(plait_check_allocated(line, err));
    for (int m = 0; m < set->members; m++) {
        PLAIT_TRY(draw_line(set, &set->member[m], scratch, err));
        line[m] = set->member[m].line;
    }
    hierarchy_settle(&set->families, line, set->members);
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

int profile_variant_of(const profile_member *member, const profile_point *ran_as)
{
    return runtime_variant_at(member->variant, member->variants, ran_as->date);
}

double profile_set_spread(const profile_set *set, const profile_member *member, int number)
{
    return hierarchy_spread(&set->families, &member->line, number);
}

double profile_set_parent(const profile_set *set, const profile_member *member, int number)
{
    return exp(hierarchy_parent(&set->families, &member->line, number));
}

/* Software without a family is a family of its own. */
static const char *family_of(const profile_member *m)
{
    return m->runtime.family[0] != '\0' ? m->runtime.family : m->runtime.name;
}

static void join_family(profile_set *set, profile_member *m)
{
    m->line.family = set->families.families;
    for (int i = 0; i < set->members; i++)
        if (strcmp(family_of(&set->member[i]), family_of(m)) == 0)
            m->line.family = set->member[i].line.family;
    set->families.families += m->line.family == set->families.families;
}

/* Adds software with its profile; fails if the profile is missing. */
static plait_status add_member(profile_set *set, const char *name, size_t most, plait_arena *arena,
                               plait_error *err)
{
    profile_member m = {.points = 0};

    PLAIT_TRY(plait_runtime_find(name, arena, &m.runtime, err));
    PLAIT_TRY(runtime_variants(name, arena, &m.variant, &m.variants, err));
    m.point = plait_arena_alloc(arena, most, sizeof *m.point);
    m.residual = plait_arena_alloc(arena, most, sizeof *m.residual);
    m.slope = plait_arena_alloc(arena, most * PLACES, sizeof *m.slope);
    PLAIT_TRY(plait_check_allocated(m.point && m.residual && m.slope, err));
    m.runtime.name = name;
    join_family(set, &m);
    if (set->families.families > HIERARCHY_FAMILIES)
        return plait_fail(err, PLAIT_ERROR_RANGE, name, "expected at most %d families, found more",
                          HIERARCHY_FAMILIES);
    for (int k = 0; k < PLACES; k++) {
        m.line.has[k] = place_used(&m.runtime, k);
        m.line.shift[k] = place_shift(&m.runtime, k);
        m.line.teaches[k] = !places[k].sourced;
    }
    set->member[set->members++] = m;
    return PLAIT_OK;
}

/*
 * Adds a run. On an accelerator whose kernel rates are guesses, factors on kernels also contain the
 * errors of the guesses, so the member then does not count for the parents of these.
 */
static void add_point(profile_member *m, const plait_run_price *price, plait_pipelines *pipelines,
                      plait_arena *scratch)
{
    const profile_point added = {
        price->run, price->problem, price->degrees, price->unmodelled, price->problem.runtime->date,
        pipelines};

    if (isnan(profile_step_s(&m->runtime, &added, scratch)))
        return;
    m->point[m->points++] = added;
    if (names_measured(price->run->accelerator))
        return;
    for (int k = 0; k < PLACES; k++)
        if (places[k].kernels) {
            m->line.teaches[k] = false;
            m->line.doubt[k] = guessed;
        }
}

/* Inserts the month of a variant that has no file yet, in ascending order. */
static void add_variant(profile_member *m, int variant)
{
    size_t i = m->variants;

    for (size_t k = 0; k < m->variants; k++)
        if (m->variant[k] == variant)
            return;
    for (; i > 0 && m->variant[i - 1] > variant; i--)
        m->variant[i] = m->variant[i - 1];
    m->variant[i] = variant;
    m->variants++;
}

static size_t runs_of(const plait_runs *runs, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < runs->count; i++)
        count += strcmp(runs->run[i].runtime, name) == 0;
    return count;
}

static plait_status collect_members(profile_set *set, const plait_validation *v,
                                    plait_pipelines *pipelines, plait_arena *arena,
                                    plait_error *err)
{
    for (size_t i = 0; i < v->runs->count; i++) {
        const plait_run *const run = &v->runs->run[i];

        if (!plait_run_timed(run) || !v->price[i].priced)
            continue;
        if (profile_set_find(set, run->runtime) == NULL) {
            const plait_status status =
                add_member(set, run->runtime, runs_of(v->runs, run->runtime), arena, NULL);

            if (status == PLAIT_ERROR_NOMEM)
                return plait_fail_nomem(err);
            if (status != PLAIT_OK)
                continue;
        }
        add_point(profile_set_find(set, run->runtime), &v->price[i], pipelines, arena);
    }
    return PLAIT_OK;
}

static void begin_hierarchy(hierarchy *h)
{
    for (int k = 0; k < PLACES; k++) {
        h->low[k] = log(places[k].low * places[k].unit);
        h->high[k] = log(places[k].high * places[k].unit);
        h->prior[k] = log(places[k].prior * places[k].unit);
        h->prior_spread[k] = places[k].spread;
    }
}

// ---- estimation, with and without a source -------------------------------------------------

static plait_status fit_hierarchy(profile_set *set, plait_arena *arena, plait_error *err)
{
    for (int m = 0; m < set->members; m++)
        for (int k = 0; k < PLACES; k++)
            set->member[m].line.mean[k] = fmin(
                fmax(set->families.prior[k] + set->member[m].line.shift[k], set->families.low[k]),
                set->families.high[k]);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int m = 0; m < set->members; m++)
            PLAIT_TRY(take_slopes(&set->member[m], arena, err));
        PLAIT_TRY(fit_members(set, arena, err));
    }
    return PLAIT_OK;
}

plait_status profile_set_learn(const plait_runs *runs, const char *name, int variant,
                               plait_pipelines *pipelines, plait_arena *arena, profile_set *out,
                               plait_error *err)
{
    plait_validation v;

    *out = (profile_set){.member = plait_arena_alloc(arena, runs->count + 1, sizeof *out->member)};
    PLAIT_TRY(plait_check_allocated(out->member, err));
    if (name != NULL)
        PLAIT_TRY(add_member(out, name, runs_of(runs, name) + 1, arena, err));
    if (variant > 0)
        add_variant(&out->member[0], variant);
    PLAIT_TRY(plait_validate_prices(runs, arena, &v, err));
    PLAIT_TRY(collect_members(out, &v, pipelines, arena, err));
    begin_hierarchy(&out->families);
    return out->members > 0 ? fit_hierarchy(out, arena, err) : PLAIT_OK;
}

static bool has_source(const profile_member *m, const char *source)
{
    for (size_t i = 0; i < m->points; i++)
        if (strcmp(m->point[i].run->source, source) == 0)
            return true;
    return false;
}

/*
 * Gives a member copies of its slopes to change. Members without runs of the source keep theirs,
 * since their numbers hardly change.
 */
static plait_status own_slopes(profile_member *m, plait_arena *arena, plait_error *err)
{
    double *residual = plait_arena_alloc(arena, m->points + 1, sizeof *residual);
    double *slope = plait_arena_alloc(arena, (m->points + 1) * PLACES, sizeof *slope);

    PLAIT_TRY(plait_check_allocated(residual && slope, err));
    memcpy(residual, m->residual, m->points * sizeof *residual);
    memcpy(slope, m->slope, m->points * PLACES * sizeof *slope);
    m->residual = residual;
    m->slope = slope;
    return PLAIT_OK;
}

plait_status profile_set_forget(const profile_set *all, const char *source, plait_arena *arena,
                                profile_set *out, plait_error *err)
{
    *out = *all;
    out->without = source;
    out->member = plait_arena_alloc(arena, (size_t)all->members + 1, sizeof *out->member);
    PLAIT_TRY(plait_check_allocated(out->member, err));
    memcpy(out->member, all->member, (size_t)all->members * sizeof *out->member);
    for (int m = 0; m < out->members; m++)
        if (has_source(&out->member[m], source))
            PLAIT_TRY(own_slopes(&out->member[m], arena, err));
    PLAIT_TRY(fit_members(out, arena, err));
    for (int turn = 0; turn < FORGET_TURNS; turn++) {
        for (int m = 0; m < out->members; m++)
            if (has_source(&out->member[m], source))
                PLAIT_TRY(take_slopes(&out->member[m], arena, err));
        PLAIT_TRY(fit_members(out, arena, err));
    }
    return PLAIT_OK;
}
