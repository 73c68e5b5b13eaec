/* frontier.h - the best plans so far: a short ranking, and the Pareto front of time and memory */
#pragma once

#include "plait/search.h"

/** A point of the space that the search holds on to, with its price by the tables. */
typedef struct plan_point {
    plait_degrees degrees;
    plait_price price;
    double objective; /* value it is ranked by */
    int64_t index;    /* in the space: the tie-break */
} plan_point;

/** The `room` best plans by (objective, index), best first; of those alike in `distinct` the best one. */
typedef struct plan_top {
    int count, room;
    plait_key_set distinct; /* 0: each plan stands for itself */
    plan_point *plan;
} plan_top;

/** Plans that no other beats in both time and memory, fastest first. */
typedef struct plan_front {
    int count, room;
    plan_point *plan;
    plait_arena *arena; /* where it grows */
} plan_front;

bool top_make(plan_top *top, int room, plait_key_set distinct, plait_arena *arena);
bool top_wants(const plan_top *top, double objective, int64_t index);
void top_add(plan_top *top, const plan_point *plan);
/** The place of the plan that stands for these degrees; -1: none does. */
int top_alike(const plan_top *top, const plait_degrees *degrees);
/** Does a plan stand before all of a ranking? */
bool top_leads(const plan_point *plan, const plan_top *top);
/** What a plan must undercut to enter; infinite while there is room. */
double top_limit(const plan_top *top);

/** Is there a plan at least as fast and as small, and better in one? */
bool front_dominates(const plan_front *front, plait_price price);
/** Adds a plan unless one is as good in both; false when out of memory. */
bool front_add(plan_front *front, const plan_point *plan);
