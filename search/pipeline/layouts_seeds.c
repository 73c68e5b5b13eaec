/*
 * layouts_seeds.c - builds seed layouts, in which the work of the busiest rank is small
 *
 *     budgets   Every rank has the same time budget. One chunk after the other takes items until it
 *               has used its share: the rest of its rank's budget, divided by the chunks of the
 *               rank that are left. Bisection finds the least budget with which all items have a
 *               chunk, unless the budget of a step of limit_s does not suffice. Six seeds of this kind fill the row from its start or from its end, and let
 *               the last item of a chunk exceed the share by nothing, by half of the item, or by
 *               the whole item.
 *     level     Two seeds whose chunks have nearly equal work (layout_level below).
 *
 * If no chunk may be empty, items of later and earlier chunks shift into empty ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/pipeline/layouts.h"

typedef struct seed_shape {
    bool from_end;
    /* fraction of its last item by which a chunk may exceed its share: 0, 0.5 or 1 */
    double beyond;
} seed_shape;

/* Sums of the items assigned to a rank so far. */
typedef struct seed_rank {
    double work_s, bytes;
    int vpp; /* number of chunks of the rank left to fill */
} seed_rank;

typedef struct seed_budget {
    const layout_items *row;
    seed_shape shape;
    double work_s;   /* budget of a rank */
    seed_rank *rank; /* [ranks] */
    int at;          /* next item to assign; filling from the end, one past it */
} seed_budget;

static int first_of(const seed_budget *fill, int items)
{
    return fill->shape.from_end ? fill->at - items : fill->at;
}

static layout_sums next_sums(const seed_budget *fill, int items)
{
    const int first = first_of(fill, items);

    return layout_chunk_sums(fill->row, first, first + items);
}

/*
 * Returns whether a chunk of `items` items may take one more, which changes its sums from `now` to
 * `then`.
 */
static bool takes_more(const seed_budget *fill, const seed_rank *rank, int chunk, int items,
                       const layout_sums *now, const layout_sums *then)
{
    const layout_items *row = fill->row;
    const double part_s = (fill->work_s - rank->work_s) / rank->vpp;
    const double beyond_s = fill->shape.beyond * (then->work_s - now->work_s);
    const int item = fill->shape.from_end ? fill->at - items - 1 : fill->at + items;

    return then->work_s <= part_s * (1.0 + 1e-12) + beyond_s &&
           rank->work_s + then->work_s <= fill->work_s * (1.0 + 1e-12) &&
           row->rank_bytes + rank->bytes + then->state_bytes +
                   row->in_flight[chunk] * then->saved_bytes <=
               row->capacity_bytes &&
           (item != row->modules_at || layout_takes_modules(row, chunk));
}

/*
 * Fills a chunk. The first item of the row belongs to the first chunk and the last item to the last
 * chunk; the chunk that is filled last takes all remaining items.
 */
static bool fill_chunk(seed_budget *fill, int chunk, bool last, int *end)
{
    const layout_items *row = fill->row;
    seed_rank *rank = &fill->rank[row->rank[chunk]];
    const int left = fill->shape.from_end ? fill->at : row->items - fill->at;
    const int most = last ? left : left - 1;
    const bool must = last || chunk == 0 || chunk == row->chunks - 1;
    layout_sums sum = next_sums(fill, 0);
    int items = 0;

    while (items < most) {
        const layout_sums then = next_sums(fill, items + 1);

        if (!takes_more(fill, rank, chunk, items, &sum, &then))
            break;
        sum = then;
        items++;
    }
    if ((last && items < left) || (must && items == 0))
        return false;
    end[chunk] = first_of(fill, items) + items;
    rank->work_s += sum.work_s;
    rank->bytes += sum.state_bytes + row->in_flight[chunk] * sum.saved_bytes;
    rank->vpp--;
    fill->at += fill->shape.from_end ? -items : items;
    return true;
}

static bool fill_with_budget(const layout_items *row, seed_shape shape, double work_s, int *end)
{
    seed_rank rank[PLAIT_MAX_LAYERS];
    seed_budget fill = {row, shape, work_s, rank, shape.from_end ? row->items : 0};

    for (int r = 0; r < row->ranks; r++)
        rank[r] = (seed_rank){.vpp = row->vpp};
    for (int i = 0; i < row->chunks; i++) {
        const int chunk = shape.from_end ? row->chunks - 1 - i : i;
        if (!fill_chunk(&fill, chunk, i == row->chunks - 1, end))
            return false;
    }
    return true;
}

/* Relative accuracy of the least budget. */
static const double accuracy = 1e-4;

/*
 * Bisects for the layout of the least budget. Returns false if all items have no chunks with the
 * budget `most_s`.
 */
static bool fill_least(const layout_items *row, seed_shape shape, double most_s, int *end)
{
    const double all_s = row->sum[row->items].work_s + row->rest[row->items].work_s;
    double low = 0.5 * all_s / row->ranks / (row->full_recompute_layers < 0 ? 2.0 : 4.0);
    double high = isinf(most_s) ? 2.0 * low : most_s;

    if (!isinf(most_s) && (most_s <= 0.0 || !fill_with_budget(row, shape, most_s, end)))
        return false;
    while (isinf(most_s) && high < all_s && !fill_with_budget(row, shape, high, end)) {
        low = high;
        high *= 1.3;
    }
    while (high - low > accuracy * high) {
        const double middle = 0.5 * (low + high);
        if (fill_with_budget(row, shape, middle, end))
            high = middle;
        else
            low = middle;
    }
    return fill_with_budget(row, shape, high, end);
}

// ---- level chunks --------------------------------------------------------------------------
//
// The embedding, modules and loss are assigned first. Each layer then goes to the chunk with the
// least work so far; among equal chunks to one on the rank with the least work so far, and among
// these to the chunk nearest to a given one. The given chunk is the last one, since late chunks
// wait less for their backward, or one in the middle of the ranks, which wait least for other
// ranks. Only the number of layers of each chunk is chosen here, so every layer counts with the
// mean work.

typedef struct level {
    const layout_items *row;
    double layer_s;                   /* mean work of a layer */
    double chunk_s[PLAIT_MAX_LAYERS]; /* [chunks] work so far */
    double rank_s[PLAIT_MAX_LAYERS];  /* [ranks] work so far */
} level;

static void add_work(level *to, int chunk, double work_s)
{
    to->chunk_s[chunk] += work_s;
    to->rank_s[to->row->rank[chunk]] += work_s;
}

/* Compares two times. Values that differ only by rounding are equal. */
static int compare_s(const level *at, double left_s, double right_s)
{
    const double near_s = 1e-9 * at->layer_s;

    return (left_s > right_s + near_s) - (left_s < right_s - near_s);
}

/* Returns whether a layer goes to `chunk` rather than to `other`; `near` is the given chunk. */
static bool goes_before(const level *at, int chunk, int other, int near)
{
    const int *const rank = at->row->rank;
    const int by_chunk = compare_s(at, at->chunk_s[chunk], at->chunk_s[other]);

    if (by_chunk != 0)
        return by_chunk < 0;
    const int by_rank = compare_s(at, at->rank_s[rank[chunk]], at->rank_s[rank[other]]);
    return by_rank != 0 ? by_rank < 0 : abs(chunk - near) < abs(other - near);
}

/* Builds the layout with level chunks; `near` is the given chunk. */
static void layout_level(const layout_items *row, int near, int *end)
{
    const int layers = row->model->layers;
    level at = {.row = row, .layer_s = layout_chunk_sums(row, 1, 1 + layers).work_s / layers};

    add_work(&at, 0, layout_chunk_sums(row, 0, 1).work_s);
    add_work(&at, row->chunks - 1, layout_chunk_sums(row, 1 + layers, row->items).work_s);
    for (int c = 0; c < row->chunks; c++)
        end[c] = 0;
    for (int i = 0; i < layers; i++) {
        int chunk = 0;
        for (int c = 1; c < row->chunks; c++)
            if (goes_before(&at, c, chunk, near))
                chunk = c;
        end[chunk]++;
        add_work(&at, chunk, at.layer_s);
    }
    end[0]++;
    for (int c = 1; c < row->chunks; c++)
        end[c] += end[c - 1];
    end[row->chunks - 1] = row->items;
}

// ---- all seeds -----------------------------------------------------------------------------

/*
 * Keeps the last of `seeds` + 1 seeds unless it equals an earlier one. Returns the number of seeds.
 */
static int keep_new(const layout_items *row, const int *end, int seeds)
{
    const int *const seed = end + seeds * row->chunks;

    for (int i = 0; i < seeds; i++)
        if (memcmp(end + i * row->chunks, seed, (size_t)row->chunks * sizeof *end) == 0)
            return seeds;
    return seeds + 1;
}

/*
 * Shifts the ends of chunks by the fewest items such that every chunk has one, if the row requires
 * it. Returns false if no such layout exists, or if the modules are in a chunk that cannot take
 * them.
 */
static bool fill_empty(const layout_items *row, int *end)
{
    if (!row->fills_all)
        return true;
    for (int c = 1; c < row->chunks; c++)
        end[c] = end[c] > end[c - 1] ? end[c] : end[c - 1] + 1;
    end[row->chunks - 1] = row->items;
    for (int c = row->chunks - 2; c >= 0; c--)
        end[c] = end[c] < end[c + 1] ? end[c] : end[c + 1] - 1;
    for (int c = 0; c < row->chunks; c++)
        if (row->modules_at >= (c > 0 ? end[c - 1] : 0) && row->modules_at < end[c] &&
            !layout_takes_modules(row, c))
            return false;
    return end[0] > 0;
}

/*
 * Returns the work of a rank above which a step takes at least limit_s, as in the bounds of
 * layouts_bound.c.
 */
static double most_work_s(const layout_items *row, double limit_s)
{
    return (limit_s - row->after_s) / row->microbatches + 2.0 * row->vpp * row->fused_s;
}

int layout_seeds(const layout_items *row, double limit_s, int *end)
{
    static const seed_shape shapes[] = {{false, 0.0}, {false, 0.5}, {false, 1.0},
                                        {true, 0.0},  {true, 0.5},  {true, 1.0}};
    const double most_s = most_work_s(row, limit_s);
    int seeds = 0;

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        if (fill_least(row, shapes[s], most_s, end + seeds * row->chunks) &&
            fill_empty(row, end + seeds * row->chunks))
            seeds = keep_new(row, end, seeds);
    for (int i = 0; i < 2; i++) {
        const int last = row->chunks - 1;
        layout_level(row, i == 0 ? last : last - row->ranks / 2, end + seeds * row->chunks);
        if (fill_empty(row, end + seeds * row->chunks))
            seeds = keep_new(row, end, seeds);
    }
    return seeds;
}
