/* hierarchy.c - estimate the parents of families with the EM algorithm */
#include "calibrate/hierarchy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { N = HIERARCHY_NUMBERS, ITERATIONS = 100 };

/* Weight of the prior of a spread, as a number of members. */
static const double prior_members = 4.0;
/* Deviation of the prior of `grand`, in prior spreads. */
static const double prior_width = 2.0;

static double square(double x)
{
    return x * x;
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

/* Inverts a matrix in place (Gauss-Jordan). The matrix is positive definite, so no pivot is 0. */
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

/*
 * Sets a member's mean to the minimum x of its parabola plus its prior, which is
 * x' precision x / 2 - pull' x up to a constant, within the bounds.
 */
static void estimate_member(const hierarchy *h, hierarchy_member *m)
{
    double precision[N][N] = {{0.0}}, pull[N] = {0.0}, x[N] = {0.0}, inverse[N][N];
    int number[N], frees = 0; // indices of the numbers that are not fixed at a bound
    bool is_free[N] = {false};
    int outside;

    for (int i = 0; i < N; i++) {
        const double weight = 1.0 / square(hierarchy_spread(h, m, i));

        if (!m->runs) {
            m->mean[i] = hierarchy_parent(h, m, i);
            m->variance[i] = square(hierarchy_spread(h, m, i));
        }
        if (!m->has[i])
            continue;
        number[frees++] = i;
        is_free[i] = true;
        precision[i][i] = weight;
        pull[i] = weight * hierarchy_parent(h, m, i) - m->slope[i];
        for (int j = 0; j < N; j++)
            if (m->has[j]) {
                precision[i][j] += m->curvature[i][j];
                pull[i] += m->curvature[i][j] * m->at[j];
            }
    }
    if (!m->runs)
        return;
    for (bool first = true;; first = false) {
        double rest[N];

        // Solve for the free numbers with the others fixed at x; `inverse` is their covariance.
        for (int a = 0; a < frees; a++) {
            rest[a] = pull[number[a]];
            for (int j = 0; j < N; j++)
                rest[a] -= m->has[j] && !is_free[j] ? precision[number[a]][j] * x[j] : 0.0;
            for (int b = 0; b < frees; b++)
                inverse[a][b] = precision[number[a]][number[b]];
        }
        invert_matrix(inverse, frees);
        for (int a = 0; a < frees; a++) {
            x[number[a]] = 0.0;
            for (int b = 0; b < frees; b++)
                x[number[a]] += inverse[a][b] * rest[b];
            if (first)
                m->variance[number[a]] = inverse[a][a];
        }
        // Fix the first free number outside its bounds at the bound.
        for (outside = 0; outside < frees; outside++) {
            const int i = number[outside];
            const double inside = fmin(fmax(x[i], h->low[i]), h->high[i]);

            if (inside == x[i])
                continue;
            x[i] = inside;
            is_free[i] = false;
            break;
        }
        if (outside == frees)
            break;
        frees--;
        memmove(&number[outside], &number[outside + 1], (size_t)(frees - outside) * sizeof *number);
    }
    memcpy(m->mean, x, sizeof x);
}

// ---- parents -------------------------------------------------------------------------------

static bool member_informs(const hierarchy_member *m, int family, int number)
{
    return m->family == family && m->runs && m->has[number] && m->informs[number];
}

/*
 * Returns the estimate of a spread from the sum `squares` of squared distances of `count` children
 * from their parent, and the prior.
 */
static double spread_of(double squares, int count, double prior_spread)
{
    return sqrt((squares + prior_members * square(prior_spread)) / (count + prior_members));
}

/* Estimates the parents and spreads of one number. */
static void estimate_number(hierarchy *h, const hierarchy_member *member, int members, int k)
{
    const double old = 1.0 / square(prior_width * h->prior_spread[k]);
    const double weight = 1.0 / square(h->spread[k]);
    const double family_weight = 1.0 / square(h->family_spread[k]);
    double variance[HIERARCHY_FAMILIES]; // of each parent; < 0: no member informs it
    double grand = h->prior[k] * old, grand_precision = old;
    double squares = 0.0, family_squares = 0.0;
    int count = 0, family_count = 0;

    for (int f = 0; f < h->families; f++) {
        double precision = family_weight, sum = h->grand[k] * precision;
        int informed = 0;

        for (int m = 0; m < members; m++)
            if (member_informs(&member[m], f, k)) {
                sum += weight * (member[m].mean[k] - member[m].shift[k]);
                precision += weight;
                informed++;
            }
        h->parent[f][k] = sum / precision;
        for (int m = 0; m < members; m++)
            if (member_informs(&member[m], f, k))
                squares += square(member[m].mean[k] - member[m].shift[k] - h->parent[f][k]) +
                           member[m].variance[k] + 1.0 / precision;
        count += informed;
        variance[f] = informed > 0 ? 1.0 / precision : -1.0;
        grand += informed > 0 ? family_weight * h->parent[f][k] : 0.0;
        grand_precision += informed > 0 ? family_weight : 0.0;
    }
    h->grand[k] = grand / grand_precision;
    for (int f = 0; f < h->families; f++)
        if (variance[f] > 0.0) {
            family_squares += square(h->parent[f][k] - h->grand[k]) + variance[f];
            family_count++;
        }
    h->spread[k] = spread_of(squares, count, h->prior_spread[k]);
    h->family_spread[k] = spread_of(family_squares, family_count, h->prior_spread[k]);
}

void hierarchy_estimate(hierarchy *h, hierarchy_member *member, int members)
{
    assert(h->families >= 1 && h->families <= HIERARCHY_FAMILIES);
    for (int k = 0; k < N; k++) {
        h->grand[k] = h->prior[k];
        h->spread[k] = h->family_spread[k] = h->prior_spread[k];
        for (int f = 0; f < h->families; f++)
            h->parent[f][k] = h->prior[k];
    }
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        for (int m = 0; m < members; m++)
            estimate_member(h, &member[m]);
        for (int k = 0; k < N; k++)
            estimate_number(h, member, members, k);
    }
    for (int m = 0; m < members; m++)
        estimate_member(h, &member[m]);
}
