/*
 * level.c - deals whose chunks work alike, layers left over on ranks that have time
 *
 * Layer after layer goes to the chunk that works least so far, with what stands on it from the start:
 * embedding, modules, loss. Of chunks that work alike it is one of the rank that works least, the nearest
 * to a given one: late chunks wait less long for their backward, ranks in the middle wait least for
 * others. Layers count as their mean: which stands where follows from how many each chunk has.
 */
#include <stdlib.h>

#include "search/pipeline/layouts.h"

typedef struct level {
    const layout_items *row;
    double layer_s;                   /* of the mean layer */
    double chunk_s[PLAIT_MAX_LAYERS]; /* [chunks] */
    double rank_s[PLAIT_MAX_LAYERS];  /* [ranks] */
} level;

static void give(level *to, int chunk, double work_s)
{
    to->chunk_s[chunk] += work_s;
    to->rank_s[to->row->rank[chunk]] += work_s;
}

/* Seconds that differ by rounding are alike. */
static int compare_s(const level *at, double left_s, double right_s)
{
    const double near_s = 1e-9 * at->layer_s;

    return (left_s > right_s + near_s) - (left_s < right_s - near_s);
}

static bool goes_before(const level *at, int chunk, int other, int near)
{
    const int *const rank = at->row->rank;
    const int by_chunk = compare_s(at, at->chunk_s[chunk], at->chunk_s[other]);

    if (by_chunk != 0)
        return by_chunk < 0;
    const int by_rank = compare_s(at, at->rank_s[rank[chunk]], at->rank_s[rank[other]]);
    return by_rank != 0 ? by_rank < 0 : abs(chunk - near) < abs(other - near);
}

static int next_chunk(const level *at, int near)
{
    int best = 0;

    for (int c = 1; c < at->row->chunks; c++)
        if (goes_before(at, c, best, near))
            best = c;
    return best;
}

/* The embedding stands in the first chunk, modules and loss in the last. */
static int start(const layout_items *row, level *at)
{
    const int layers = row->model->layers;

    *at = (level){.row = row, .layer_s = layout_chunk_sums(row, 1, 1 + layers).work_s / layers};
    give(at, 0, layout_chunk_sums(row, 0, 1).work_s);
    give(at, row->chunks - 1, layout_chunk_sums(row, 1 + layers, row->items).work_s);
    return layers;
}

void layout_level(const layout_items *row, int near, int *end)
{
    level at;
    const int layers = start(row, &at);

    for (int c = 0; c < row->chunks; c++)
        end[c] = 0;
    for (int i = 0; i < layers; i++) {
        const int chunk = next_chunk(&at, near);
        end[chunk]++;
        give(&at, chunk, at.layer_s);
    }
    end[0]++;
    for (int c = 1; c < row->chunks; c++)
        end[c] += end[c - 1];
    end[row->chunks - 1] = row->items;
}
