/* random.c - splitmix64 (Steele, Lea and Flood, OOPSLA 2014) and the Box-Muller transform (1958) */
#include "base/random.h"

#include <math.h>

static uint64_t next_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double random_share(uint64_t *state)
{
    return ((double)(next_bits(state) >> 11) + 0.5) * 0x1p-53;
}

double random_normal(uint64_t *state)
{
    const double radius = sqrt(-2.0 * log(random_share(state)));

    return radius * cos(2.0 * acos(-1.0) * random_share(state));
}
