/*
 * all.c - every deal of a small row (S.9)
 *
 * All cuts of n items into c chunks, the first and the last with an item: C(n + c - 3, c - 1) of them.
 * Each is priced by the tables; those that are only bounded are simulated in the order of their
 * bounds, until the next bound is no better than the best. Guarantee: no deal that fits is faster.
 */
#include <math.h>
#include <stdlib.h>

#include "search/pipeline/layouts.h"

enum { MOST_DEALS = 4096 };

bool layout_is_small(const layout_items *row)
{
    double deals = 1.0;

    for (int k = 1; k < row->chunks && deals <= MOST_DEALS; k++)
        deals = deals * (row->items - 2 + k) / k;
    return deals <= MOST_DEALS;
}

/* A deal and what it takes at least. */
typedef struct known_deal {
    double step_s;
    int at; /* its ends begin there */
} known_deal;

typedef struct all_deals {
    const layout_items *row;
    layout_pricer *trial;
    known_deal *known;
    int *ends;
    int count;
} all_deals;

static void add_deal(all_deals *all, const int *end)
{
    const layout_items *row = all->row;
    const plait_price price = layout_price(all->trial, row, end);

    if (price.step_s >= all->trial->limit_s)
        return;
    all->known[all->count] = (known_deal){price.step_s, all->count * row->chunks};
    for (int c = 0; c < row->chunks; c++)
        all->ends[all->count * row->chunks + c] = end[c];
    all->count++;
}

static void cut(all_deals *all, int *end, int chunk)
{
    const layout_items *row = all->row;
    const int first = chunk == 0 ? 0 : end[chunk - 1];

    if (chunk == row->chunks - 1) {
        end[chunk] = row->items;
        add_deal(all, end);
        return;
    }
    for (end[chunk] = chunk == 0 ? 1 : first; end[chunk] < row->items; end[chunk]++)
        if (row->modules_at < first || row->modules_at >= end[chunk] ||
            layout_takes_modules(row, chunk))
            cut(all, end, chunk + 1);
}

static int by_time(const void *left, const void *right)
{
    const known_deal *a = left, *b = right;

    return a->step_s != b->step_s ? (a->step_s > b->step_s) - (a->step_s < b->step_s)
                                  : (a->at > b->at) - (a->at < b->at);
}

void layout_enumerate(layout_pricer *trial, const layout_items *row, layout_result *found)
{
    const plait_arena_mark mark = plait_arena_save(trial->scratch);
    all_deals all = {
        .row = row,
        .trial = trial,
        .known = plait_arena_alloc(trial->scratch, MOST_DEALS, sizeof *all.known),
        .ends =
            plait_arena_alloc(trial->scratch, (size_t)(MOST_DEALS * row->chunks), sizeof *all.ends),
    };
    int end[PLAIT_MAX_LAYERS];

    trial->failed = trial->failed || !all.known || !all.ends;
    if (all.known && all.ends) {
        cut(&all, end, 0);
        qsort(all.known, (size_t)all.count, sizeof *all.known, by_time);
        for (int i = 0; i < all.count && all.known[i].step_s < trial->limit_s; i++) {
            const int *const deal = all.ends + all.known[i].at;
            layout_keep_best(trial, row, deal, layout_price_exact(trial, row, deal), found);
        }
        found->proven = true;
    }
    plait_arena_rewind(trial->scratch, mark);
}
