/* random.h - numbers drawn from a seed, the same on every machine */
#pragma once

#include <stdint.h>

/** A share between 0 and 1, neither of them; any first *state is as good as any other. */
double random_share(uint64_t *state);

/** Of a normal distribution of mean 0 and deviation 1. */
double random_normal(uint64_t *state);
