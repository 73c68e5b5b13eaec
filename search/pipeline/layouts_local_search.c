/*
 * layouts_local_search.c - improves the best seed layout by hill climbing (S.10)
 *
 * Seeds whose price by the tables, a lower bound, is not below the best known step are skipped; the
 * first few of the others are simulated. A step moves one item from a chunk of the busiest rank to
 * another chunk, which shifts the items between them. Climbing starts from the best seed if it is
 * nearly as fast as the best known layout. The result is not proven; its gap is the distance to the
 * lower bound of the point.
 */
#include <math.h>
#include <string.h>

#include "search/pipeline/layouts.h"

enum { SIMULATED_SEEDS = 5, MOST_TRIES = 16 };

static const double NEARLY = 1.01;

static double rank_work_s(const layout_items *row, const int *end, int rank)
{
    double work_s = 0.0;

    for (int v = 0; v < row->vpp; v++) {
        const int c = plait_schedule_chunk(row->schedule, row->ranks, rank, v);
        work_s += layout_chunk_sums(row, c > 0 ? end[c - 1] : 0, end[c]).work_s;
    }
    return work_s;
}

static int busiest_rank(const layout_items *row, const int *end)
{
    double longest_s = -1.0;
    int busiest = 0;

    for (int r = 0; r < row->ranks; r++) {
        const double work_s = rank_work_s(row, end, r);
        if (work_s > longest_s) {
            longest_s = work_s;
            busiest = r;
        }
    }
    return busiest;
}

/*
 * Moves one item from chunk `from` to chunk `to`. Returns false if a chunk would lose an item that
 * it must have.
 */
static bool move(const layout_items *row, const int *end, int from, int to, int *moved)
{
    memcpy(moved, end, (size_t)row->chunks * sizeof *end);
    for (int c = from; c < to; c++)
        moved[c]--;
    for (int c = to; c < from; c++)
        moved[c]++;
    for (int c = 0; c < row->chunks; c++) {
        const int first = c > 0 ? moved[c - 1] : 0;
        if (moved[c] < first || (row->modules_at >= first && row->modules_at < moved[c] &&
                                 !layout_takes_modules(row, c)))
            return false;
    }
    return moved[0] >= 1 && (row->chunks == 1 || moved[row->chunks - 2] < row->items);
}

/* State of the climb: the current layout, and the number of layouts left to try. */
typedef struct climb {
    layout_pricer *pricer;
    const layout_items *row;
    int tries;
    int *end;
    plait_price here;
} climb;

/*
 * Takes the first step that improves the layout, trying the nearest chunks first. Returns false if
 * no step improves it or no tries are left.
 */
static bool step(climb *at)
{
    const layout_items *row = at->row;
    const int busiest = busiest_rank(row, at->end);
    int moved[PLAIT_MAX_LAYERS];

    for (int distance = 1; distance < row->chunks; distance++)
        for (int v = 0; v < 2 * row->vpp; v++) {
            const int from = plait_schedule_chunk(row->schedule, row->ranks, busiest, v / 2);
            const int to = v % 2 == 0 ? from - distance : from + distance;
            if (to < 0 || to >= row->chunks || !move(row, at->end, from, to, moved))
                continue;
            if (at->tries-- <= 0)
                return false;
            const plait_price there = layout_price_exact(at->pricer, row, moved);
            if (there.step_s >= at->here.step_s)
                continue;
            at->here = there;
            memcpy(at->end, moved, (size_t)row->chunks * sizeof *at->end);
            return true;
        }
    return false;
}

static void climb_from(layout_pricer *pricer, const layout_items *row, int *end, plait_price price,
                       layout_result *found)
{
    climb at = {pricer, row, MOST_TRIES, end, price};

    while (step(&at))
        layout_keep_best(pricer, row, end, at.here, found);
}

/* A seed and its price by the tables. */
typedef struct priced_seed {
    double step_s;
    int *end;
} priced_seed;

/* Lists the seeds that may be faster than the best known layout, sorted by lower bound. */
static int price_seeds(layout_pricer *pricer, const layout_items *row, int *ends, priced_seed *out)
{
    const int seeds = layout_seeds(row, ends);
    int count = 0;

    for (int s = 0; s < seeds; s++) {
        int *const end = ends + s * row->chunks;
        const double step_s = layout_price(pricer, row, end).step_s;
        int at = count;

        if (step_s >= pricer->limit_s)
            continue;
        for (; at > 0 && out[at - 1].step_s > step_s; at--)
            out[at] = out[at - 1];
        out[at] = (priced_seed){step_s, end};
        count++;
    }
    return count;
}

void layout_local_search(layout_pricer *pricer, const layout_items *row, layout_result *found)
{
    const plait_arena_mark mark = plait_arena_save(pricer->scratch);
    int *ends =
        plait_arena_alloc(pricer->scratch, (size_t)(LAYOUT_SEEDS * row->chunks), sizeof *ends);
    plait_price best = {.step_s = HUGE_VAL};
    priced_seed seed[LAYOUT_SEEDS];
    int *from = NULL;

    pricer->failed = pricer->failed || !ends;
    const int count = ends ? price_seeds(pricer, row, ends, seed) : 0;
    for (int s = 0; s < count && s < SIMULATED_SEEDS && seed[s].step_s < pricer->limit_s; s++) {
        const plait_price price = layout_price_exact(pricer, row, seed[s].end);
        if (price.step_s < best.step_s) {
            best = price;
            from = seed[s].end;
        }
        layout_keep_best(pricer, row, seed[s].end, price, found);
    }
    if (from && best.step_s < NEARLY * pricer->limit_s)
        climb_from(pricer, row, from, best, found);
    plait_arena_rewind(pricer->scratch, mark);
}
