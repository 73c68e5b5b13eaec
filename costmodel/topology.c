/* topology.c - which descriptor a level has, and what is asked of the domain */
#include <stddef.h>

#include "topology.h"

static const link_kind *const kinds[PLAIT_LEVEL_KINDS] = {
#define X(constant, word, descriptor) [constant] = &descriptor,
    PLAIT_LEVEL_LIST(X)
#undef X
};

const char *const plait_level_kind_name[PLAIT_LEVEL_KINDS + 1] = {
#define X(constant, word, descriptor) word,
    PLAIT_LEVEL_LIST(X)
#undef X
        NULL};

const link_kind *link_kind_of(const plait_level *level)
{
    return kinds[level->kind];
}

/* C.50, C.51: inside one domain, where one rank has nothing to send. Broadcasts go as gathers do. */
double domain_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    const link_kind *const kind = link_kind_of(&route->cluster->level[0]);

    if (ranks < 2)
        return 0.0;
    switch (op) {
    case PLAIT_ALL_REDUCE:
        return kind->reduce_s(route, ranks, bytes);
    case PLAIT_ALL_TO_ALL:
        return kind->all_to_all_s(route, ranks, bytes);
    default:
        return kind->gather_s(route, ranks, op, bytes);
    }
}
