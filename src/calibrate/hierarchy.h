/*
 * hierarchy.h - hierarchical priors of a profile's numbers: members, their families, all software
 *
 * Software of one family is similar, and families are similar to a lesser degree. The logarithm of
 * each number of a member has a normal distribution around its family's, and a family's around that
 * of all software:
 *
 *     x_mk ~ N(parent_fk + shift_mk, spread_k^2 + doubt_mk^2),   parent_fk ~ N(grand_k, family_spread_k^2)
 *
 * The runs of a member enter as a parabola: the slope and curvature, at one point, of half their
 * sum of squared residuals. Parents and spreads maximise the likelihood of all parabolas (empirical
 * Bayes); the EM algorithm finds them. (Dempster, Laird and Rubin, "Maximum likelihood from
 * incomplete data via the EM algorithm", JRSS B 39(1), 1977.)
 *
 * A member without runs, and a number that its runs do not depend on, stay at the family's parent.
 * A family without runs stays at the parent of all software.
 *
 * Left out: correlations between the numbers of one member, such as a slow gemm and slow attention.
 */
#pragma once

#include <stdbool.h>

enum { HIERARCHY_NUMBERS = 10, HIERARCHY_FAMILIES = 64 };

/** One piece of software. All numbers are logarithms; [k] is number k. */
typedef struct hierarchy_member {
    int family;
    bool runs;                       /* whether it has runs; if not, the parabola is ignored */
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
    double prior[HIERARCHY_NUMBERS];        /* mean of the weak prior of `grand` */
    double prior_spread[HIERARCHY_NUMBERS]; /* prior of both spreads, worth four members */
    double grand[HIERARCHY_NUMBERS];        /* out, as are the three fields below */
    double family_spread[HIERARCHY_NUMBERS];
    double spread[HIERARCHY_NUMBERS];
    double parent[HIERARCHY_FAMILIES][HIERARCHY_NUMBERS];
} hierarchy;

/** Estimates parents and spreads, and the mean and variance of every member. */
void hierarchy_estimate(hierarchy *h, hierarchy_member *member, int members);

/**
 * Return the prior mean of a member's number, clamped to its bounds, and its standard deviation.
 */
double hierarchy_parent(const hierarchy *h, const hierarchy_member *member, int number);
double hierarchy_spread(const hierarchy *h, const hierarchy_member *member, int number);
