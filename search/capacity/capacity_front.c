/* capacity_front.c - comparison of rows: scaling, the knee, the Pareto front (C.329) */
#include "search/capacity/capacity.h"

#include <math.h>
#include <string.h>

static bool dominates(const plait_capacity_row *a, const plait_capacity_row *b)
{
    return a->fits && a->wall_s <= b->wall_s && a->usd <= b->usd &&
           (a->wall_s < b->wall_s || a->usd < b->usd);
}

static bool is_less(double a, double b)
{
    return isfinite(a) && !(b <= a);
}

/* Compares GPUs, then time, then dollars. */
static bool is_smaller(const plait_capacity_row *a, const plait_capacity_row *b)
{
    if (a->problem->job.gpus != b->problem->job.gpus)
        return a->problem->job.gpus < b->problem->job.gpus;
    if (a->wall_s < b->wall_s || a->wall_s > b->wall_s)
        return a->wall_s < b->wall_s;
    return a->usd < b->usd;
}

plait_capacity_verdict capacity_pick(const plait_capacity_row *row, int rows)
{
    plait_capacity_verdict v = {-1, -1, -1};

    for (int i = 0; i < rows; i++) {
        const bool ends = row[i].fits && isfinite(row[i].wall_s);

        if (ends && row[i].limit == PLAIT_CAPACITY_LIMIT_NOTHING &&
            (v.smallest < 0 || is_smaller(&row[i], &row[v.smallest])))
            v.smallest = i;
        if (ends &&
            (row[i].limit == PLAIT_CAPACITY_LIMIT_NOTHING ||
             row[i].limit == PLAIT_CAPACITY_LIMIT_BUDGET) &&
            is_less(row[i].usd, v.cheapest < 0 ? (double)INFINITY : row[v.cheapest].usd))
            v.cheapest = i;
        if (ends &&
            is_less(row[i].wall_s, v.fastest < 0 ? (double)INFINITY : row[v.fastest].wall_s))
            v.fastest = i;
    }
    return v;
}

plait_capacity_verdict plait_capacity_compare(const plait_capacity_options *ask,
                                              plait_capacity_row *row, int rows)
{
    // Set scaling, gain and knee of the rows, from the time that each takes for the same tokens.
    const plait_capacity_row *first = NULL, *before = NULL;
    bool bent = false;

    for (int i = 0; i < rows; i++) {
        plait_capacity_row *const r = &row[i];

        if (i > 0 && strcmp(r->problem->cluster->name, r[-1].problem->cluster->name) != 0) {
            first = before = NULL;
            bent = false;
        }
        if (!r->fits)
            continue;
        first = first ? first : r;
        r->scaling = first->wall_s * first->problem->job.gpus / (r->wall_s * r->problem->job.gpus);
        if (r->between) {
            r->gain = (double)NAN;
            continue;
        }
        r->gain = before ? before->wall_s / r->wall_s - 1.0 : (double)NAN;
        // Growth of the number of GPUs since the previous row that fits; it need not be a doubling.
        const double more =
            before ? (double)r->problem->job.gpus / before->problem->job.gpus - 1.0 : 1.0;
        r->knee = before && !bent && r->gain < ask->knee * more;
        bent = bent || r->knee;
        before = r;
    }
    for (int i = 0; i < rows; i++) {
        row[i].front = row[i].fits && isfinite(row[i].wall_s) && isfinite(row[i].usd);
        for (int j = 0; j < rows; j++)
            row[i].front = row[i].front && !dominates(&row[j], &row[i]);
    }
    return capacity_pick(row, rows);
}
