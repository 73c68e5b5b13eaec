/*
 * layouts_dp.c - finds the best layout of 1F1B with one chunk per rank, where the pipeline is a
 * chain
 *
 * The states of the engine are numbers of items: an option of stage s in state e holds items [e,
 * e'), if they fit. All labels of a state have the same work in the first e items, and the slowest
 * of the k remaining stages takes at least the mean of the remaining work. (S.8)
 *
 * Guarantee: no layout that fits has a shorter pipeline, so no step is below this pipeline and the
 * least time after it (after_s). Complexity: p n^2 labels in the worst case, for n items; the best
 * known layout prunes all but a few labels of each stage.
 */
#include <math.h>

#include "search/pipeline/engine.h"
#include "search/pipeline/layouts.h"

enum { MOST_LABELS = 64 };

/* Relative tolerance: labels and prices add the same numbers in different orders. */
static const double ROUNDING = 1e-12;

bool layout_has_chain(const layout_items *row)
{
    return row->schedule == PLAIT_1F1B && row->full_recompute_layers < 0 && row->ranks > 1;
}

typedef struct dp_context {
    const layout_items *row;
    double limit_s; /* pipelines that reach it are pruned */
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

/* Prices and records the layout of a label. Returns whether it fits by its price. */
static bool take_label(layout_pricer *pricer, const layout_items *row, const pipeline_result *dp,
                       int label, layout_result *found)
{
    const pipeline_label *path[PLAIT_MAX_LAYERS];
    int end[PLAIT_MAX_LAYERS];

    pipeline_path(dp, label, row->ranks, path);
    for (int s = 0; s < row->ranks; s++)
        end[s] = path[s]->state;
    const plait_price price = layout_price_exact(pricer, row, end);
    if (isfinite(price.step_s))
        found->pipeline_s = fmin(found->pipeline_s, dp->label[label].chain.whole_s);
    layout_keep_best(pricer, row, end, price, found);
    return isfinite(price.step_s);
}

/* Records a good layout first, whose step limits all further ones. */
static bool take_seeds(layout_pricer *pricer, const layout_items *row, layout_result *found)
{
    int *ends =
        plait_arena_alloc(pricer->scratch, (size_t)(LAYOUT_SEEDS * row->chunks), sizeof *ends);

    for (int s = 0, seeds = ends ? layout_seeds(row, ends) : 0; s < seeds; s++)
        layout_keep_best(pricer, row, ends + s * row->chunks,
                         layout_price_exact(pricer, row, ends + s * row->chunks), found);
    return ends != NULL;
}

void layout_dp(layout_pricer *pricer, const layout_items *row, layout_result *found)
{
    const plait_arena_mark mark = plait_arena_save(pricer->scratch);
    const bool seeded = take_seeds(pricer, row, found);
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
    pipeline_result dp;

    if (seeded && pipeline_solve(&problem, pricer->scratch, &dp, NULL) == PLAIT_OK) {
        bool exact =
            dp.complete && row->fused_s <= 0.0; // true: a label has the pipeline of its layout
        for (int l = dp.first; l >= 0; l = dp.label[l].next)
            exact = take_label(pricer, row, &dp, l, found) && exact;
        found->floor_s = exact ? found->pipeline_s + row->after_s : 0.0;
        found->proven = pricer->limit_s <= found->floor_s * (1.0 + ROUNDING);
    } else
        pricer->failed = true;
    plait_arena_rewind(pricer->scratch, mark);
}
