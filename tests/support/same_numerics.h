/* same_numerics.h - whether two models do the same with the numbers inside */
#pragma once

#include "plait/model.h"

/** The first member in which two differ, such as "rope.base"; NULL when none does. */
const char *numerics_difference(const plait_numerics *a, const plait_numerics *b);
