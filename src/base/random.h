/* random.h - pseudorandom numbers, the same on every machine */
#pragma once

#include <stdint.h>

/** Uniform in (0, 1). Any first *state is a valid seed. */
double random_share(uint64_t *state);

/** Normal with mean 0 and standard deviation 1. */
double random_normal(uint64_t *state);
