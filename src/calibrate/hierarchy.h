/*
 * hierarchy.h - what is expected of a number before its runs are looked at: parents of families
 *
 * Software of one family runs alike, and families less so. Each number of a member is normal about
 * that of its family, and that of a family about one of all software, in logarithms:
 *
 *     x_mk ~ N(parent_fk + shift_mk, spread_k^2 + doubt_mk^2),   parent_fk ~ N(grand_k, family_spread_k^2)
 *
 * What the runs of a member say is a parabola, slope and curvature of half the sum of its squares at
 * one point. Parents and spreads are those that make all parabolas together likely (empirical Bayes),
 * found by expectation and maximisation in turns. (Dempster, Laird and Rubin, "Maximum likelihood from
 * incomplete data via the EM algorithm", JRSS B 39(1), 1977.)
 *
 * A member without runs, and a number that its runs say nothing of, stay at the parent. A family
 * without runs stays at the parent of all.
 *
 * Left out: that numbers of one member go together, as a slow gemm and slow attention would.
 */
#pragma once

#include <stdbool.h>

enum { HIERARCHY_NUMBERS = 10, HIERARCHY_FAMILIES = 64 };

/** One piece of software. All numbers are logarithms. */
typedef struct hierarchy_member {
    int family;
    bool runs;                       /* without any, the parabola does not count */
    bool has[HIERARCHY_NUMBERS];     /* else it has no such number */
    bool teaches[HIERARCHY_NUMBERS]; /* its parents learn from the number */
    double shift[HIERARCHY_NUMBERS]; /* what is known of it on top of the parent */
    double doubt[HIERARCHY_NUMBERS]; /* a deviation of its own on top of the spread */
    double at[HIERARCHY_NUMBERS];    /* where the parabola was taken */
    double slope[HIERARCHY_NUMBERS];
    double curvature[HIERARCHY_NUMBERS][HIERARCHY_NUMBERS];
    double mean[HIERARCHY_NUMBERS];     /* out */
    double variance[HIERARCHY_NUMBERS]; /* out */
} hierarchy_member;

typedef struct hierarchy {
    int families;
    double low[HIERARCHY_NUMBERS]; /* bounds of each number */
    double high[HIERARCHY_NUMBERS];
    double prior[HIERARCHY_NUMBERS];        /* of all software, weakly */
    double prior_spread[HIERARCHY_NUMBERS]; /* weakly; as good as four members */
    double grand[HIERARCHY_NUMBERS];        /* out, and below */
    double family_spread[HIERARCHY_NUMBERS];
    double spread[HIERARCHY_NUMBERS];
    double parent[HIERARCHY_FAMILIES][HIERARCHY_NUMBERS];
} hierarchy;

/** Parents and spreads of all members, and these in their light. */
void hierarchy_settle(hierarchy *h, hierarchy_member *member, int members);

/** What is expected of a member's number, within its bounds, and its deviation. */
double hierarchy_parent(const hierarchy *h, const hierarchy_member *member, int number);
double hierarchy_spread(const hierarchy *h, const hierarchy_member *member, int number);
