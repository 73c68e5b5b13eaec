/* frontier.h - a ranking of the best plans, and the Pareto front of time and memory */
#pragma once

#include "plait/search.h"

/** A point of the space, with its price by the tables. */
typedef struct plan_point {
    plait_degrees degrees;
    plait_price price;
    double objective; /* value that plans are ranked by */
    int64_t index;    /* in the space; breaks ties */
} plan_point;

/** The `room` best plans by (objective, index), best first; of plans equal in `distinct`, the best one. */
typedef struct plan_top {
    int count, room;
    plait_key_set distinct; /* 0: all plans are distinct */
    plan_point *plan;
} plan_top;

/** Plans that no other dominates in time and memory, fastest first. */
typedef struct plan_front {
    int count, room;
    plan_point *plan;
    plait_arena *arena; /* where it grows */
} plan_front;

bool top_make(plan_top *top, int room, plait_key_set distinct, plait_arena *arena);
bool top_wants(const plan_top *top, double objective, int64_t index);
void top_add(plan_top *top, const plan_point *plan);
/** The index of the plan that equals these degrees in `distinct`; -1: none. */
int top_find(const plan_top *top, const plait_degrees *degrees);
/** Returns whether a plan is better than the first of a ranking. */
bool top_leads(const plan_point *plan, const plan_top *top);
/** The objective of the last plan of a full ranking; infinite while it is not full. */
double top_limit(const plan_top *top);

/** Returns whether a plan of the front is at least as fast and as small, and better in one. */
bool front_dominates(const plan_front *front, plait_price price);
/** Adds a plan unless another is at least as good in both; false if out of memory. */
bool front_add(plan_front *front, const plan_point *plan);
