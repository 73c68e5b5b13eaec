/*
 * seeds.c - deals to climb from: no rank works longer than it must
 *
 * Chunk after chunk takes items while its rank has time left of a budget T, an equal part for each of
 * its chunks to come; the least T that deals all is found by halving. From either end of the row, and
 * with a chunk's last item within its part, half beyond, or beyond: who takes less differs.
 */
#include <math.h>
#include <string.h>

#include "search/pipeline/layouts.h"

typedef struct seed_shape {
    bool from_end;
    double beyond; /* of an item's work, that a chunk may go beyond its part */
} seed_shape;

/* What a rank has taken so far. */
typedef struct seed_rank {
    double work_s, bytes;
    int turns; /* to come */
} seed_rank;

typedef struct seed_deal {
    const layout_items *row;
    seed_shape shape;
    double work_s;   /* of a rank, at most */
    seed_rank *rank; /* [ranks] */
    int at;          /* items before it are dealt, or from it on */
} seed_deal;

static int first_of(const seed_deal *deal, int items)
{
    return deal->shape.from_end ? deal->at - items : deal->at;
}

static layout_sums take(const seed_deal *deal, int items)
{
    const int first = first_of(deal, items);

    return layout_chunk_sums(deal->row, first, first + items);
}

/* May a chunk that has so many items, `now`, take one more, which is `then`? */
static bool takes_more(const seed_deal *deal, const seed_rank *rank, int chunk, int items,
                       const layout_sums *now, const layout_sums *then)
{
    const layout_items *row = deal->row;
    const double part_s = (deal->work_s - rank->work_s) / rank->turns;
    const double beyond_s = deal->shape.beyond * (then->work_s - now->work_s);
    const int item = deal->shape.from_end ? deal->at - items - 1 : deal->at + items;

    return then->work_s <= part_s * (1.0 + 1e-12) + beyond_s &&
           rank->work_s + then->work_s <= deal->work_s * (1.0 + 1e-12) &&
           row->rank_bytes + rank->bytes + then->state_bytes +
                   row->held[chunk] * then->saved_bytes <=
               row->capacity_bytes &&
           (item != row->modules_at || layout_takes_modules(row, chunk));
}

/* The ends of the row belong to the first and the last chunk, and the last to be dealt takes what is left. */
static bool deal_one(seed_deal *deal, int chunk, bool last, int *end)
{
    const layout_items *row = deal->row;
    seed_rank *rank = &deal->rank[row->rank[chunk]];
    const int left = deal->shape.from_end ? deal->at : row->items - deal->at;
    const int most = last ? left : left - 1;
    const bool must = last || chunk == 0 || chunk == row->chunks - 1;
    layout_sums sum = take(deal, 0);
    int items = 0;

    while (items < most) {
        const layout_sums then = take(deal, items + 1);

        if (!takes_more(deal, rank, chunk, items, &sum, &then))
            break;
        sum = then;
        items++;
    }
    if ((last && items < left) || (must && items == 0))
        return false;
    end[chunk] = first_of(deal, items) + items;
    rank->work_s += sum.work_s;
    rank->bytes += sum.state_bytes + row->held[chunk] * sum.saved_bytes;
    rank->turns--;
    deal->at += deal->shape.from_end ? -items : items;
    return true;
}

static bool deal_within(const layout_items *row, seed_shape shape, double work_s, int *end)
{
    seed_rank rank[PLAIT_MAX_LAYERS];
    seed_deal deal = {row, shape, work_s, rank, shape.from_end ? row->items : 0};

    for (int r = 0; r < row->ranks; r++)
        rank[r] = (seed_rank){.turns = row->turns};
    for (int i = 0; i < row->chunks; i++) {
        const int chunk = shape.from_end ? row->chunks - 1 - i : i;
        if (!deal_one(&deal, chunk, i == row->chunks - 1, end))
            return false;
    }
    return true;
}

/* The least budget, to a hundred-thousandth, that deals all. */
static bool deal_least(const layout_items *row, seed_shape shape, int *end)
{
    const double all_s = row->sum[row->items].work_s + row->rest[row->items].work_s;
    double low = 0.5 * all_s / row->ranks / (row->leading < 0 ? 2.0 : 4.0);
    double high = 2.0 * low;

    while (high < all_s && !deal_within(row, shape, high, end)) {
        low = high;
        high *= 1.3;
    }
    for (int halving = 0; halving < 14; halving++) {
        const double middle = 0.5 * (low + high);
        if (deal_within(row, shape, middle, end))
            high = middle;
        else
            low = middle;
    }
    return deal_within(row, shape, high, end);
}

/* Keeps the deal behind the others if it is none of them. */
static int keep_new(const layout_items *row, const int *end, int seeds)
{
    const int *const deal = end + seeds * row->chunks;

    for (int i = 0; i < seeds; i++)
        if (memcmp(end + i * row->chunks, deal, (size_t)row->chunks * sizeof *end) == 0)
            return seeds;
    return seeds + 1;
}

int layout_seeds(const layout_items *row, int *end)
{
    static const seed_shape shapes[] = {{false, 0.0}, {false, 0.5}, {false, 1.0},
                                        {true, 0.0},  {true, 0.5},  {true, 1.0}};
    int seeds = 0;

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        if (deal_least(row, shapes[s], end + seeds * row->chunks))
            seeds = keep_new(row, end, seeds);
    for (int i = 0; i < 2; i++) {
        const int last = row->chunks - 1;
        layout_level(row, i == 0 ? last : last - row->ranks / 2, end + seeds * row->chunks);
        seeds = keep_new(row, end, seeds);
    }
    return seeds;
}
