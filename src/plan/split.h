/* split.h - layer splits that a search tries */
#ifndef SPLIT_H
#define SPLIT_H

#include "plait/plan.h"

/**
 * The first/last counts that balance the stages: the fewest layers on a middle stage that leave
 * room, and the last stage lighter by what the vocabulary projection costs.
 *
 * @return false when no such counts exist
 */
bool split_first_last(const plait_model *model, int pp, int vpp, plait_split *out);

#endif
