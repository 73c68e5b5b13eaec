/*
 * rows.c - the least that a stage takes, by its layers and the microbatches in flight
 *
 * A row is made once and looked at by all lines that have such a stage. The limit of the search only
 * falls, so what takes too long when a row is made takes too long ever after.
 */
#include <math.h>

#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"

/* What a stage of a choice may take at most in a plan worth keeping, whatever the others are. */
static double most_of(const hetero_problem *q, const group_degrees *choice)
{
    return hetero_limit(q) / hetero_weight(q, 1u << choice->group) /
           hetero_microbatches(q, choice->size);
}

static stage_bound least_of(const stage_options *ways, int in_flight)
{
    stage_bound least = {HUGE_VAL, HUGE_VAL};

    for (int w = 0; w < ways->count; w++) {
        const stage_option *way = &ways->way[w];
        if (way->most_in_flight < in_flight)
            continue;
        least.stage_s = smaller(least.stage_s, stage_option_s(way));
        least.after_s = smaller(least.after_s, way->reduce_s + way->gather_s + way->optimizer_s);
    }
    return least;
}

/* One layer more takes longer, and needs more room: the first that takes too long ends the row. */
static bool fill_row(hetero_problem *q, group_degrees *choice, hetero_place place, int other,
                     int in_flight, stage_bound *row)
{
    const int layers = q->problem->model->layers;
    const int firsts = q->problem->model->kinds > 1 ? layers : 1; // of one kind all are alike
    const double most_s = most_of(q, choice);

    for (int r = 0; r < q->ranges; r++)
        row[r] = (stage_bound){HUGE_VAL, HUGE_VAL};
    for (int first = 0; first < firsts; first++)
        for (int last = first + 1; last <= layers; last++) {
            stage_bound *least = &row[hetero_range(q, first, last)];
            if (least->stage_s < HUGE_VAL)
                continue;
            const stage_options *ways = hetero_stage_options(q, choice, place, other, first, last);
            if (!ways)
                return false;
            const stage_bound found = least_of(ways, in_flight);
            if (found.stage_s > most_s)
                break;
            *least = found;
        }
    return true;
}

const stage_bound *hetero_stage_bounds(hetero_problem *q, group_degrees *choice, hetero_place place,
                                       int other, int in_flight)
{
    const int end = hetero_end(q, choice, place, other);
    stage_bound ***rows = &choice->least[place][end];

    if (!*rows)
        *rows = plait_arena_alloc(q->arena, (size_t)q->problem->model->layers + 1, sizeof **rows);
    if (!*rows)
        return NULL;
    stage_bound **row = &(*rows)[in_flight];
    if (!*row) {
        *row = plait_arena_alloc(q->arena, (size_t)q->ranges, sizeof **row);
        if (!*row || !fill_row(q, choice, place, end, in_flight, *row))
            return NULL;
    }
    return *row;
}
