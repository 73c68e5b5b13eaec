/*
 * layouts_search.c - finds the best layout of a row: by dynamic programming (S.8), by enumeration
 * if the row has few layouts and is not proven (S.9), or by hill climbing from seeds (S.10)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/pipeline/engine.h"
#include "search/pipeline/layouts.h"

enum { MOST_LABELS = 64, MOST_LAYOUTS = 4096, SIMULATED_SEEDS = 5, MOST_TRIES = 16 };

/* Relative tolerance for rounding: labels and prices add the same numbers in different orders. */
static const double ROUNDING = 1e-12;

/* Hill climbing starts from a seed only if its step is below NEARLY times the best known step. */
static const double NEARLY = 1.01;

// ---- 1F1B with one chunk per rank, where the pipeline is a chain (S.8) ----------------------
//
// The states of the engine (engine.h) are numbers of items: an option of stage s in state e assigns
// items [e, e') to the stage, if they fit. All labels of a state have the same work in the first e
// items, and the slowest of the k remaining stages takes at least 1/k of the remaining work.
//
// Guarantee: no layout that fits has a shorter pipeline than the result. The step time of every
// layout is at least that of this pipeline plus after_s, the least time after a pipeline.
// Complexity: p n^2 labels in the worst case, for n items and p stages; the limit of the best known
// layout prunes all but a few labels of each stage.

typedef struct dp_context {
    const layout_items *row;
    double limit_s; /* limit of the pipeline: labels that reach it are pruned */
} dp_context;

static plait_status list_lengths(pipeline_engine *engine, void *context, int stage, int first,
                                 plait_error *err)
{
    const dp_context *const dp = context;
    const layout_items *const row = dp->row;
    const bool last = stage == row->ranks - 1;
    const int most = last ? row->items : row->items - 1;

    (void)err;
    for (int end = last ? row->items : stage == 0 ? 1 : first; end <= most; end++) {
        const layout_sums sum = layout_chunk_sums(row, first, end);
        const double work_s = sum.time.forward_s + sum.time.backward_s;

        if (row->microbatches * work_s >= dp->limit_s ||
            row->rank_bytes + sum.state_bytes + row->in_flight[stage] * sum.saved_bytes +
                    layout_live_bytes(row, first, end) >
                row->capacity_bytes)
            break; // more items take more time and memory
        if (row->modules_at < first || row->modules_at >= end || layout_takes_modules(row, stage))
            pipeline_extend(engine, &(pipeline_option){.time = sum.time, .state = end});
    }
    return PLAIT_OK;
}

static pipeline_rest rest_of(const void *context, int stage, int first)
{
    const layout_items *const row = ((const dp_context *)context)->row;
    const layout_sums sum = layout_chunk_sums(row, first, row->items);
    const double work_s = sum.time.forward_s + sum.time.backward_s;
    const int stages = row->ranks - stage;

    return (pipeline_rest){.slowest_s = stages > 0 ? work_s / stages : 0.0, .work_s = work_s};
}

static void solve_chain(layout_pricer *pricer, const layout_items *row, int *ends,
                        layout_result *found)
{
    // The seeds are recorded first, since the best of their steps limits the search.
    for (int s = 0, seeds = layout_seeds(row, pricer->limit_s, ends); s < seeds; s++)
        layout_keep_best(pricer, row, ends + s * row->chunks,
                         layout_price_exact(pricer, row, ends + s * row->chunks), found);
    dp_context context = {row, pricer->limit_s - row->after_s};
    const pipeline_problem problem = {
        .shape = {row->ranks, row->microbatches, 1.0},
        .states = row->items + 1,
        .goal = row->items,
        .weight = 1.0,
        .limit = context.limit_s,
        .most_labels = MOST_LABELS,
        .context = &context,
        .list = list_lengths,
        .rest = rest_of,
    };
    const pipeline_label *path[PLAIT_MAX_LAYERS];
    pipeline_result dp;

    if (pipeline_solve(&problem, pricer->scratch, &dp, NULL) != PLAIT_OK) {
        pricer->failed = true;
        return;
    }
    bool exact =
        dp.complete && row->fused_s <= 0.0; // true: the pipeline of a label is that of its layout
    for (int l = dp.first; l >= 0; l = dp.label[l].next) {
        int end[PLAIT_MAX_LAYERS];
        pipeline_path(&dp, l, row->ranks, path);
        for (int s = 0; s < row->ranks; s++)
            end[s] = path[s]->state;
        const plait_price price = layout_price_exact(pricer, row, end);
        const bool fits = isfinite(price.step_s);
        if (fits)
            found->pipeline_s = fmin(found->pipeline_s, dp.label[l].chain.whole_s);
        layout_keep_best(pricer, row, end, price, found);
        exact = exact && fits;
    }
    found->floor_s = exact ? found->pipeline_s + row->after_s : 0.0;
    found->proven = pricer->limit_s <= found->floor_s * (1.0 + ROUNDING);
}

// ---- all layouts of a small row (S.9) ------------------------------------------------------
//
// n items can be cut in C(n + c - 3, c - 1) ways into c chunks whose first and last chunk have an
// item. Each layout is priced by the tables. Layouts for which the tables give only a lower bound
// are simulated in ascending order of bounds, until the next bound is not below the best step.
// Guarantee: no layout that fits is faster than the result.

/* Returns whether the row has few enough layouts to price all of them. */
static bool is_small(const layout_items *row)
{
    double layouts = 1.0;

    for (int k = 1; k < row->chunks && layouts <= MOST_LAYOUTS; k++)
        layouts = layouts * (row->items - 2 + k) / k;
    return layouts <= MOST_LAYOUTS;
}

/* A layout with the price of its step by the tables, a lower bound. */
typedef struct priced_layout {
    double step_s;
    int at; /* index in all_layouts.ends of the end of its first chunk */
} priced_layout;

typedef struct all_layouts {
    const layout_items *row;
    layout_pricer *pricer;
    priced_layout *known;
    int *ends;
    int count;
} all_layouts;

/*
 * Prices every layout whose chunks before `chunk` have the ends in `end`, and lists those below the
 * limit.
 */
static void price_all_ends(all_layouts *all, int *end, int chunk)
{
    const layout_items *row = all->row;
    const int first = chunk == 0 ? 0 : end[chunk - 1];

    if (chunk == row->chunks - 1) {
        end[chunk] = row->items;
        const plait_price price = layout_price(all->pricer, row, end);
        if (price.step_s >= all->pricer->limit_s)
            return;
        all->known[all->count] = (priced_layout){price.step_s, all->count * row->chunks};
        memcpy(all->ends + all->count * row->chunks, end, (size_t)row->chunks * sizeof *end);
        all->count++;
        return;
    }
    for (end[chunk] = chunk == 0 ? 1 : first; end[chunk] < row->items; end[chunk]++)
        if (row->modules_at < first || row->modules_at >= end[chunk] ||
            layout_takes_modules(row, chunk))
            price_all_ends(all, end, chunk + 1);
}

static int by_time(const void *left, const void *right)
{
    const priced_layout *a = left, *b = right;

    return a->step_s != b->step_s ? (a->step_s > b->step_s) - (a->step_s < b->step_s)
                                  : (a->at > b->at) - (a->at < b->at);
}

static void enumerate(layout_pricer *pricer, const layout_items *row, layout_result *found)
{
    const size_t chunks = (size_t)row->chunks;
    all_layouts all = {
        .row = row,
        .pricer = pricer,
        .known = plait_arena_alloc(pricer->scratch, MOST_LAYOUTS, sizeof *all.known),
        .ends = plait_arena_alloc(pricer->scratch, MOST_LAYOUTS * chunks, sizeof *all.ends),
    };
    int end[PLAIT_MAX_LAYERS];

    pricer->failed = pricer->failed || !all.known || !all.ends;
    if (!all.known || !all.ends)
        return;
    price_all_ends(&all, end, 0);
    qsort(all.known, (size_t)all.count, sizeof *all.known, by_time);
    for (int i = 0; i < all.count && all.known[i].step_s < pricer->limit_s; i++) {
        const int *const ends = all.ends + all.known[i].at;
        layout_keep_best(pricer, row, ends, layout_price_exact(pricer, row, ends), found);
    }
    found->proven = true;
}

// ---- hill climbing (S.10) ------------------------------------------------------------------
//
// Seeds whose price by the tables, a lower bound, is not below the best known step are skipped. The
// first few of the other seeds are simulated, and climbing starts from the best of them. Each move
// takes one item from a chunk of the busiest rank to another chunk, which shifts the items between
// the two chunks. The result is not proven; its gap is the distance to the lower bound of the
// point.

static int busiest_rank(const layout_items *row, const int *end)
{
    double longest_s = -1.0;
    int busiest = 0;

    for (int r = 0; r < row->ranks; r++) {
        double work_s = 0.0;
        for (int v = 0; v < row->vpp; v++) {
            const int c = plait_schedule_chunk(row->schedule, row->ranks, r, v);
            work_s += layout_chunk_sums(row, c > 0 ? end[c - 1] : 0, end[c]).work_s;
        }
        if (work_s > longest_s) {
            longest_s = work_s;
            busiest = r;
        }
    }
    return busiest;
}

/*
 * Copies the layout `end` to `moved` with one item moved from chunk `from` to chunk `to`. Returns
 * false if the new layout is not legal.
 */
static bool move_item(const layout_items *row, const int *end, int from, int to, int *moved)
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

/* State of the climb: the current layout with its price, and the number of layouts left to try. */
typedef struct climb {
    layout_pricer *pricer;
    const layout_items *row;
    int tries;
    int *end;
    plait_price here;
} climb;

/*
 * Makes the first move that improves the layout, trying the nearest chunks first. Returns false if
 * no move improves it or no tries are left.
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
            if (to < 0 || to >= row->chunks || !move_item(row, at->end, from, to, moved))
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

/* A seed and its price by the tables. */
typedef struct priced_seed {
    double step_s;
    int *end;
} priced_seed;

static void search_locally(layout_pricer *pricer, const layout_items *row, int *ends,
                           layout_result *found)
{
    plait_price best = {.step_s = HUGE_VAL};
    // seeds that may be faster than the best known layout, sorted by lower bound
    priced_seed seed[LAYOUT_SEEDS];
    int *from = NULL;
    int count = 0;

    for (int s = 0, seeds = layout_seeds(row, pricer->limit_s, ends); s < seeds; s++) {
        int *const end = ends + s * row->chunks;
        const double step_s = layout_price(pricer, row, end).step_s;
        int at = count;

        if (step_s >= pricer->limit_s)
            continue;
        for (; at > 0 && seed[at - 1].step_s > step_s; at--)
            seed[at] = seed[at - 1];
        seed[at] = (priced_seed){step_s, end};
        count++;
    }
    for (int s = 0; s < count && s < SIMULATED_SEEDS && seed[s].step_s < pricer->limit_s; s++) {
        const plait_price price = layout_price_exact(pricer, row, seed[s].end);
        if (price.step_s < best.step_s) {
            best = price;
            from = seed[s].end;
        }
        layout_keep_best(pricer, row, seed[s].end, price, found);
    }
    if (!from || best.step_s >= NEARLY * pricer->limit_s)
        return;
    climb at = {pricer, row, MOST_TRIES, from, best};
    while (step(&at))
        layout_keep_best(pricer, row, from, at.here, found);
}

// ---- the best layout -----------------------------------------------------------------------

void layout_solve(layout_pricer *pricer, const layout_items *row, layout_result *found)
{
    const plait_arena_mark mark = plait_arena_save(pricer->scratch);
    int *const ends =
        plait_arena_alloc(pricer->scratch, (size_t)(LAYOUT_SEEDS * row->chunks), sizeof *ends);

    *found = (layout_result){.pipeline_s = HUGE_VAL};
    pricer->failed = pricer->failed || !ends;
    const bool chain =
        row->schedule == PLAIT_1F1B && row->full_recompute_layers < 0 && row->ranks > 1;

    if (ends && chain)
        solve_chain(pricer, row, ends, found);
    // The shortest pipeline need not have the shortest step: reductions follow it.
    if (ends && !found->proven && is_small(row))
        enumerate(pricer, row, found);
    else if (ends && !chain)
        search_locally(pricer, row, ends, found);
    plait_arena_rewind(pricer->scratch, mark);
}
