/*
 * layouts_enumerate.c - enumerates all layouts of a small row (S.9)
 *
 * There are C(n + c - 3, c - 1) cuts of n items into c chunks whose first and last chunk have an
 * item. Each is priced by the tables. Layouts for which the tables have only a lower bound are
 * simulated in ascending order of bounds, until the next bound is not below the best step.
 * Guarantee: no layout that fits is faster.
 */
#include <math.h>
#include <stdlib.h>

#include "search/pipeline/layouts.h"

enum { MOST_LAYOUTS = 4096 };

bool layout_is_small(const layout_items *row)
{
    double layouts = 1.0;

    for (int k = 1; k < row->chunks && layouts <= MOST_LAYOUTS; k++)
        layouts = layouts * (row->items - 2 + k) / k;
    return layouts <= MOST_LAYOUTS;
}

/* A layout and the lower bound of its step. */
typedef struct priced_layout {
    double step_s;
    int at; /* index of its first end in the list of ends */
} priced_layout;

typedef struct all_layouts {
    const layout_items *row;
    layout_pricer *pricer;
    priced_layout *known;
    int *ends;
    int count;
} all_layouts;

static void add_layout(all_layouts *all, const int *end)
{
    const layout_items *row = all->row;
    const plait_price price = layout_price(all->pricer, row, end);

    if (price.step_s >= all->pricer->limit_s)
        return;
    all->known[all->count] = (priced_layout){price.step_s, all->count * row->chunks};
    for (int c = 0; c < row->chunks; c++)
        all->ends[all->count * row->chunks + c] = end[c];
    all->count++;
}

static void cut(all_layouts *all, int *end, int chunk)
{
    const layout_items *row = all->row;
    const int first = chunk == 0 ? 0 : end[chunk - 1];

    if (chunk == row->chunks - 1) {
        end[chunk] = row->items;
        add_layout(all, end);
        return;
    }
    for (end[chunk] = chunk == 0 ? 1 : first; end[chunk] < row->items; end[chunk]++)
        if (row->modules_at < first || row->modules_at >= end[chunk] ||
            layout_takes_modules(row, chunk))
            cut(all, end, chunk + 1);
}

static int by_time(const void *left, const void *right)
{
    const priced_layout *a = left, *b = right;

    return a->step_s != b->step_s ? (a->step_s > b->step_s) - (a->step_s < b->step_s)
                                  : (a->at > b->at) - (a->at < b->at);
}

void layout_enumerate(layout_pricer *pricer, const layout_items *row, layout_result *found)
{
    const plait_arena_mark mark = plait_arena_save(pricer->scratch);
    all_layouts all = {
        .row = row,
        .pricer = pricer,
        .known = plait_arena_alloc(pricer->scratch, MOST_LAYOUTS, sizeof *all.known),
        .ends = plait_arena_alloc(pricer->scratch, (size_t)(MOST_LAYOUTS * row->chunks),
                                  sizeof *all.ends),
    };
    int end[PLAIT_MAX_LAYERS];

    pricer->failed = pricer->failed || !all.known || !all.ends;
    if (all.known && all.ends) {
        cut(&all, end, 0);
        qsort(all.known, (size_t)all.count, sizeof *all.known, by_time);
        for (int i = 0; i < all.count && all.known[i].step_s < pricer->limit_s; i++) {
            const int *const ends = all.ends + all.known[i].at;
            layout_keep_best(pricer, row, ends, layout_price_exact(pricer, row, ends), found);
        }
        found->proven = true;
    }
    plait_arena_rewind(pricer->scratch, mark);
}
