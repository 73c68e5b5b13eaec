/* layer_sharding.h - layers that are cut otherwise than their plan, for those who check, price and write plans */
#pragma once

#include "rules/plan_check.h"

bool cut_same(plait_cut a, plait_cut b);

/** That of layers which have none of their own. */
plait_cut cut_of_degrees(const plait_degrees *degrees);

/** Is a layer of the stage cut otherwise than its degrees say? */
bool stage_cuts(const plait_stage *stage);

/** May layer `at` of stage `s` of a plan of these legal degrees have this cut? (rules P44, P45, P47) */
bool cut_legal(const plait_problem *problem, const plait_degrees *degrees, plait_cut cut, int s,
               int at, const plan_reason *why);

/** Have layers that are cut otherwise a price beside these degrees? (rule P46) */
bool cuts_have_price(const plait_degrees *degrees, const plan_reason *why);

/** May all layers of the plan be cut as they are? */
bool plan_cuts_legal(const plait_problem *problem, const plait_plan *plan, const plan_reason *why);
