/* random.h - pseudorandom numbers, the same on every machine */
#pragma once

#include <stdint.h>

/** Returns a uniform number in (0, 1). The initial *state is the seed; any value is valid. */
double random_share(uint64_t *state);

/** Returns a normal number with mean 0 and standard deviation 1. */
double random_normal(uint64_t *state);
