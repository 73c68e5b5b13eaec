/*
 * hierarchy.h - hierarchical priors of a profile's numbers: members, their families, all software
 *
 * Pieces of software of one family are similar, and families are less similar to each other. The
 * logarithm x_mk of number k of member m is normally distributed around the parent of its family f,
 * and the parent around the number of all software:
 *
 *     x_mk ~ N(parent_fk + shift_mk, spread_k^2 + doubt_mk^2),   parent_fk ~ N(grand_k, family_spread_k^2)
 *
 * The runs of a member enter as a parabola: the slope and curvature, at one point, of half their
 * sum of squared residuals. Parents and spreads maximise the likelihood of all parabolas (empirical
 * Bayes); the EM algorithm finds them. (Dempster, Laird and Rubin, "Maximum likelihood from
 * incomplete data via the EM algorithm", JRSS B 39(1), 1977.)
 *
 * A member without runs, or a number that the runs do not depend on, stays at the family's parent.
 * A family without runs stays at the parent of all software.
 *
 * The model ignores prior correlations between the numbers of one member, such as the speeds of
 * gemm and attention kernels.
 */
#pragma once

#include <stdbool.h>

enum { HIERARCHY_NUMBERS = 10, HIERARCHY_FAMILIES = 64 };

/** One piece of software. All numbers are logarithms; index k of an array is number k. */
typedef struct hierarchy_member {
    int family;
    bool runs; /* whether the software has runs; if not, the parabola is ignored */
    bool has[HIERARCHY_NUMBERS];     /* whether the software has this number */
    bool informs[HIERARCHY_NUMBERS]; /* whether the parent is estimated from this number */
    double shift[HIERARCHY_NUMBERS]; /* known offset from the parent (shift_mk) */
    double doubt[HIERARCHY_NUMBERS]; /* deviation added to the spread in quadrature (doubt_mk) */
    double at[HIERARCHY_NUMBERS];    /* point of expansion of the parabola */
    double slope[HIERARCHY_NUMBERS];
    double curvature[HIERARCHY_NUMBERS][HIERARCHY_NUMBERS];
    double mean[HIERARCHY_NUMBERS];     /* out: posterior mean */
    double variance[HIERARCHY_NUMBERS]; /* out: posterior variance */
} hierarchy_member;

typedef struct hierarchy {
    int families;
    double low[HIERARCHY_NUMBERS]; /* bounds of each number */
    double high[HIERARCHY_NUMBERS];
    double prior[HIERARCHY_NUMBERS];        /* mean of the weak prior for `grand` */
    double prior_spread[HIERARCHY_NUMBERS]; /* prior of both spreads, weighs like four members */
    double grand[HIERARCHY_NUMBERS];        /* out, as are the three fields below */
    double family_spread[HIERARCHY_NUMBERS];
    double spread[HIERARCHY_NUMBERS];
    double parent[HIERARCHY_FAMILIES][HIERARCHY_NUMBERS];
} hierarchy;

/** Estimates all parents and spreads, and the posterior means and variances of all members. */
void hierarchy_estimate(hierarchy *h, hierarchy_member *member, int members);

/** Returns the prior mean of parameter `number` of a member, clamped to that parameter's bounds. */
double hierarchy_parent(const hierarchy *h, const hierarchy_member *member, int number);
/** Returns the prior's standard deviation of parameter `number` of a member. */
double hierarchy_spread(const hierarchy *h, const hierarchy_member *member, int number);
