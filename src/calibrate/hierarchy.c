/* hierarchy.c - estimate the parents of families with the EM algorithm */
#include "calibrate/hierarchy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { N = HIERARCHY_NUMBERS, TURNS = 100 };

/* The prior of a spread is worth this many members at the prior spread. */
static const double prior_members = 4.0;
/* Deviation of the prior of `grand`, in prior spreads. */
static const double prior_width = 2.0;

static double square(double x)
{
    return x * x;
}

static void begin_fit(hierarchy *h)
{
    for (int k = 0; k < N; k++) {
        h->grand[k] = h->prior[k];
        h->spread[k] = h->family_spread[k] = h->prior_spread[k];
        for (int f = 0; f < h->families; f++)
            h->parent[f][k] = h->prior[k];
    }
}

double hierarchy_parent(const hierarchy *h, const hierarchy_member *member, int number)
{
    const double x = h->parent[member->family][number] + member->shift[number];

    return fmin(fmax(x, h->low[number]), h->high[number]);
}

double hierarchy_spread(const hierarchy *h, const hierarchy_member *member, int number)
{
    return sqrt(square(h->spread[number]) + square(member->doubt[number]));
}

// ---- one member ----------------------------------------------------------------------------

/* Inverts a positive definite matrix in place (Gauss-Jordan); no pivot is 0 then. */
static void invert_matrix(double a[N][N], int n)
{
    for (int i = 0; i < n; i++) {
        const double pivot = a[i][i];

        assert(pivot > 0.0);
        a[i][i] = 1.0;
        for (int j = 0; j < n; j++)
            a[i][j] /= pivot;
        for (int r = 0; r < n; r++) {
            const double factor = a[r][i];

            if (r == i)
                continue;
            a[r][i] = 0.0;
            for (int j = 0; j < n; j++)
                a[r][j] -= factor * a[i][j];
        }
    }
}

/* A member's parabola plus its prior, up to a constant: x' precision x / 2 - pull' x. */
typedef struct posterior {
    double precision[N][N];
    double pull[N];
    int number[N]; /* [frees]: the numbers not fixed at a bound */
    int frees;
    double x[N];
} posterior;

static void combine_posterior(const hierarchy *h, const hierarchy_member *m, posterior *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < N; i++) {
        const double weight = 1.0 / square(hierarchy_spread(h, m, i));

        if (!m->has[i])
            continue;
        out->number[out->frees++] = i;
        out->precision[i][i] = weight;
        out->pull[i] = weight * hierarchy_parent(h, m, i) - m->slope[i];
        for (int j = 0; j < N; j++)
            if (m->has[j]) {
                out->precision[i][j] += m->curvature[i][j];
                out->pull[i] += m->curvature[i][j] * m->at[j];
            }
    }
}

/*
 * Minimises parabola plus prior over the free numbers, with the others fixed at x. Sets `inverse`
 * to the covariance of the free numbers.
 */
static void solve_free(posterior *p, const hierarchy_member *m, double inverse[N][N])
{
    bool is_free[N] = {false};
    double pull[N];

    for (int a = 0; a < p->frees; a++)
        is_free[p->number[a]] = true;
    for (int a = 0; a < p->frees; a++) {
        const int i = p->number[a];

        pull[a] = p->pull[i];
        for (int j = 0; j < N; j++)
            pull[a] -= m->has[j] && !is_free[j] ? p->precision[i][j] * p->x[j] : 0.0;
        for (int b = 0; b < p->frees; b++)
            inverse[a][b] = p->precision[i][p->number[b]];
    }
    invert_matrix(inverse, p->frees);
    for (int a = 0; a < p->frees; a++) {
        p->x[p->number[a]] = 0.0;
        for (int b = 0; b < p->frees; b++)
            p->x[p->number[a]] += inverse[a][b] * pull[b];
    }
}

/* Fixes the first free number outside its bounds at the bound. Returns whether there was one. */
static bool hold_one(const hierarchy *h, posterior *p)
{
    for (int a = 0; a < p->frees; a++) {
        const int i = p->number[a];
        const double inside = fmin(fmax(p->x[i], h->low[i]), h->high[i]);

        if (inside == p->x[i])
            continue;
        p->x[i] = inside;
        memmove(&p->number[a], &p->number[a + 1], (size_t)(--p->frees - a) * sizeof *p->number);
        return true;
    }
    return false;
}

static void settle_member(const hierarchy *h, hierarchy_member *m)
{
    posterior p;
    double inverse[N][N];

    if (!m->runs) {
        for (int k = 0; k < N; k++) {
            m->mean[k] = hierarchy_parent(h, m, k);
            m->variance[k] = square(hierarchy_spread(h, m, k));
        }
        return;
    }
    combine_posterior(h, m, &p);
    solve_free(&p, m, inverse);
    for (int a = 0; a < p.frees; a++)
        m->variance[p.number[a]] = inverse[a][a];
    while (hold_one(h, &p))
        solve_free(&p, m, inverse);
    memcpy(m->mean, p.x, sizeof p.x);
}

// ---- parents -------------------------------------------------------------------------------

static bool member_informs(const hierarchy_member *m, int number)
{
    return m->runs && m->has[number] && m->teaches[number];
}

/* Sums over the level below: members of families, or families of all software. */
typedef struct below {
    double squares; /* of distances from the parent, plus their variances */
    int count;
} below;

static double spread_of(const below *b, double prior_spread)
{
    return sqrt((b->squares + prior_members * square(prior_spread)) / (b->count + prior_members));
}

/* Estimates a family's parent. Returns its variance; < 0: no member has runs for it. */
static double settle_parent(hierarchy *h, const hierarchy_member *member, int members, int family,
                            int k, below *under)
{
    const double weight = 1.0 / square(h->spread[k]);
    double precision = 1.0 / square(h->family_spread[k]);
    double sum = h->grand[k] * precision;
    int count = 0;

    for (int m = 0; m < members; m++)
        if (member[m].family == family && member_informs(&member[m], k)) {
            sum += weight * (member[m].mean[k] - member[m].shift[k]);
            precision += weight;
            count++;
        }
    h->parent[family][k] = sum / precision;
    for (int m = 0; m < members; m++)
        if (member[m].family == family && member_informs(&member[m], k))
            under->squares +=
                square(member[m].mean[k] - member[m].shift[k] - h->parent[family][k]) +
                member[m].variance[k] + 1.0 / precision;
    under->count += count;
    return count > 0 ? 1.0 / precision : -1.0;
}

static void settle_number(hierarchy *h, const hierarchy_member *member, int members, int k)
{
    const double old = 1.0 / square(prior_width * h->prior_spread[k]);
    const double weight = 1.0 / square(h->family_spread[k]);
    double variance[HIERARCHY_FAMILIES], sum = h->prior[k] * old, precision = old;
    below under = {0}, families = {0};

    for (int f = 0; f < h->families; f++) {
        variance[f] = settle_parent(h, member, members, f, k, &under);
        sum += variance[f] > 0.0 ? weight * h->parent[f][k] : 0.0;
        precision += variance[f] > 0.0 ? weight : 0.0;
    }
    h->grand[k] = sum / precision;
    for (int f = 0; f < h->families; f++)
        if (variance[f] > 0.0) {
            families.squares += square(h->parent[f][k] - h->grand[k]) + variance[f];
            families.count++;
        }
    h->spread[k] = spread_of(&under, h->prior_spread[k]);
    h->family_spread[k] = spread_of(&families, h->prior_spread[k]);
}

void hierarchy_settle(hierarchy *h, hierarchy_member *member, int members)
{
    assert(h->families >= 1 && h->families <= HIERARCHY_FAMILIES);
    begin_fit(h);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int m = 0; m < members; m++)
            settle_member(h, &member[m]);
        for (int k = 0; k < N; k++)
            settle_number(h, member, members, k);
    }
    for (int m = 0; m < members; m++)
        settle_member(h, &member[m]);
}
