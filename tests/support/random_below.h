/*
 * random_below.h - the same random numbers in each run (Knuth's MMIX generator)
 *
 * A test file says behind the includes where they begin:
 *
 *     static uint64_t random_seed = 31;
 */
#pragma once

#include <stdint.h>

static uint64_t random_seed;

/* 0 .. below - 1 */
static inline int random_below(int below)
{
    random_seed = random_seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_seed >> 33) % (uint64_t)below);
}
