/* order.c - elimination order in which each variable has at most two neighbours left (S.41) */
#include "search/operators/program.h"

typedef bool joined_table[PROGRAM_VARIABLES][PROGRAM_VARIABLES];

static int neighbours_of(const program *p, joined_table joined, const bool *gone, int v,
                         int found[2])
{
    int count = 0;

    for (int u = 0; u < p->variables; u++) {
        if (gone[u] || !joined[v][u])
            continue;
        if (count < 2)
            found[count] = u;
        count++;
    }
    return count;
}

/*
 * Returns the variable with the fewest neighbours left, among equals the one with the fewest
 * states; -1 if all have three or more.
 */
static int next_of(const program *p, joined_table joined, const bool *gone, int last)
{
    int best = -1, least = 3, pair[2];

    for (int v = 0; v < p->variables; v++) {
        if (gone[v] || v == last)
            continue;
        const int count = neighbours_of(p, joined, gone, v, pair);
        if (count < least ||
            (count == least && count < 3 && p->variable[v].states < p->variable[best].states)) {
            best = v;
            least = count;
        }
    }
    return best;
}

bool program_order(const program *p, int last, int order[PROGRAM_VARIABLES])
{
    joined_table joined = {{false}};
    bool gone[PROGRAM_VARIABLES] = {false};
    int pair[2];

    for (int e = 0; e < p->edges; e++)
        joined[p->edge[e].a][p->edge[e].b] = joined[p->edge[e].b][p->edge[e].a] = true;
    for (int i = 0; i < p->variables; i++) {
        const bool end = last >= 0 && i + 1 == p->variables;
        const int v = end ? last : next_of(p, joined, gone, last);
        if (v < 0)
            return false;
        order[i] = v;
        gone[v] = true;
        if (neighbours_of(p, joined, gone, v, pair) == 2)
            joined[pair[0]][pair[1]] = joined[pair[1]][pair[0]] = true;
    }
    return true;
}
