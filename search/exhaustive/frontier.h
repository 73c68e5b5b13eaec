/* frontier.h - a ranking of the best plans, and the Pareto front of time and memory */
#pragma once

#include "plait/search.h"

/** A point of the space with its price, which is computed from the tables of the cost model. */
typedef struct plan_point {
    plait_degrees degrees;
    plait_price price;
    double objective; /* value that plans are ranked by */
    int64_t index;    /* position in the space, which breaks ties */
} plan_point;

/**
 * The best plans, at most `room`, in ascending order of (objective, index). Among plans that are
 * equal on the keys of `distinct`, only the best is kept.
 */
typedef struct plan_top {
    int count, room;
    plait_key_set distinct; /* 0: all plans are distinct */
    plan_point *plan;
} plan_top;

/** Plans that no other dominates in time and memory, fastest first. */
typedef struct plan_front {
    int count, room;
    double within; /* slower plans than this many times the first do not belong to the front */
    plan_point *plan;
    plait_arena *arena; /* memory from which the front grows */
} plan_front;

/** Makes an empty ranking. Returns false if out of memory. */
bool top_make(plan_top *top, int room, plait_key_set distinct, plait_arena *arena);
/** Returns whether a plan with this objective and index is among the `room` best so far. */
bool top_wants(const plan_top *top, double objective, int64_t index);
/** Adds a plan if it is among the best so far. */
void top_add(plan_top *top, const plan_point *plan);
/** Returns the index of the plan that equals these degrees on the keys of `distinct`; -1: none. */
int top_find(const plan_top *top, const plait_degrees *degrees);
/** Returns whether a plan is better than the first of a ranking. */
bool top_leads(const plan_point *plan, const plan_top *top);
/** Returns the objective of the last plan of a full ranking; infinite while it is not full. */
double top_limit(const plan_top *top);

/**
 * Returns whether a plan of the front is at least as fast and as small as this price, and better in
 * one of the two, or the price is too slow for the front.
 */
bool front_dominates(const plan_front *front, plait_price price);
/**
 * Adds a plan unless one of the front is at least as good in both time and memory. Returns false if
 * out of memory.
 */
bool front_add(plan_front *front, const plan_point *plan);
