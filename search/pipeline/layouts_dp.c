/*
 * chain.c - the best deal where the pipeline is a chain of stages: 1F1B, one chunk a rank
 *
 *     L(s, e)  the least lists of chain lengths (C.73) of deals of the first e items to s stages
 *     L(s + 1, e') = least of { pass(l, items e to e') : l in L(s, e), e <= e', the stage fits }  (S.8)
 *
 * The answer is the shortest of L(p, all). No component of a chain ever shortens by another stage, and f
 * + b of what is dealt follows from e, so that a list which is longer in one component and shorter in
 * none can be left out. Left out, too, is what the known best rules out: a chain that is as long
 * already, or will be, since of k stages to come one works for at least the mean of what is left,
 *
 *     chain of l, and f + b of l + m (what is left) / k
 *
 * Guarantee: no deal that fits has a shorter pipeline, so none a step below that and what follows at
 * least (after_s). Complexity: p n^2 lists in the worst case, n
 * items; the known best leaves a few lengths of each stage.
 */
#include <math.h>

#include "search/pipeline/layouts.h"

typedef struct deal_label {
    plait_chain chain;
    int end; /* items dealt */
    const struct deal_label *before;
    struct deal_label *next; /* with as many items dealt */
} deal_label;

typedef struct chain_search {
    const layout_items *row;
    layout_pricer *trial;
    double limit_s;           /* of the pipeline */
    deal_label **now, **next; /* [items + 1] lists of the stage at hand and of the one behind it */
    bool whole; /* nothing was left out for want of room, and chains are all that counts */
} chain_search;

/* Portions are added up in another order than a price. */
static const double ROUNDING = 1e-12;

bool layout_has_chain(const layout_items *row)
{
    return row->schedule == PLAIT_1F1B && row->leading < 0 && row->ranks > 1;
}

static bool within(const plait_chain *a, const plait_chain *b)
{
    return a->forward_s <= b->forward_s && a->backward_s <= b->backward_s &&
           a->rounds_s <= b->rounds_s && a->with_there_s <= b->with_there_s &&
           a->with_back_s <= b->with_back_s && a->whole_s <= b->whole_s;
}

/* Adds a list of lengths unless one is within it, and takes out those that it is within. */
static void add_label(chain_search *search, const deal_label *label)
{
    deal_label **at = &search->next[label->end];
    int known = 0;

    while (*at) {
        if (within(&(*at)->chain, &label->chain))
            return;
        if (within(&label->chain, &(*at)->chain)) {
            *at = (*at)->next;
            continue;
        }
        at = &(*at)->next;
        known++;
    }
    enum { MOST_LABELS = 64 };
    deal_label *kept =
        known < MOST_LABELS ? plait_arena_alloc(search->trial->scratch, 1, sizeof *kept) : NULL;
    if (!kept) {
        search->whole = false;
        return;
    }
    *kept = *label;
    kept->next = search->next[label->end];
    search->next[label->end] = kept;
}

static bool fits(const layout_items *row, int stage, int first, int end, const layout_sums *sum)
{
    return row->rank_bytes + sum->state_bytes + row->held[stage] * sum->saved_bytes +
               layout_live_bytes(row, first, end) <=
           row->capacity_bytes;
}

static bool modules_suit(const layout_items *row, int stage, int first, int end)
{
    return row->modules_at < first || row->modules_at >= end || layout_takes_modules(row, stage);
}

/* Can a chain with so much left to be dealt to so many stages be shorter than the known best? */
static bool may_win(const chain_search *search, const plait_chain *chain, int end, int left)
{
    const layout_items *row = search->row;
    const layout_sums rest = layout_chunk_sums(row, end, row->items);
    const double mean_s = left > 0 ? (rest.time.forward_s + rest.time.backward_s) / left : 0.0;

    return chain->whole_s < search->limit_s &&
           (left == 0 || chain->both_s + row->microbatches * mean_s < search->limit_s);
}

/* Every length of the next stage behind one list. */
static void extend(chain_search *search, int stage, const deal_label *label)
{
    const layout_items *row = search->row;
    const int left = row->ranks - stage - 1;
    const int least = stage == 0 ? 1 : label->end;
    const int most = left == 0 ? row->items : row->items - 1;

    for (int end = left == 0 ? row->items : least; end <= most; end++) {
        const layout_sums sum = layout_chunk_sums(row, label->end, end);
        const double work_s = sum.time.forward_s + sum.time.backward_s;
        deal_label longer = {.chain = label->chain, .end = end, .before = label};

        if (row->microbatches * work_s >= search->limit_s ||
            !fits(row, stage, label->end, end, &sum))
            return; // and so is any longer one
        if (!modules_suit(row, stage, label->end, end))
            continue;
        plait_chain_pass(&longer.chain, row->ranks, row->microbatches, sum.time);
        if (may_win(search, &longer.chain, end, left))
            add_label(search, &longer);
    }
}

static void pass_stage(chain_search *search, int stage)
{
    const int items = search->row->items;

    for (int e = 0; e <= items; e++)
        search->next[e] = NULL;
    for (int e = 0; e <= items; e++)
        for (const deal_label *label = search->now[e]; label; label = label->next)
            extend(search, stage, label);
    deal_label **const swap = search->now;
    search->now = search->next;
    search->next = swap;
}

static void take_label(chain_search *search, const deal_label *label, layout_result *found)
{
    int end[PLAIT_MAX_LAYERS];
    int stage = search->row->ranks;

    for (const deal_label *at = label; stage > 0; at = at->before)
        end[--stage] = at->end;
    const plait_price price = layout_price_exact(search->trial, search->row, end);
    search->whole = search->whole && isfinite(price.step_s); // else portions added up otherwise
    if (isfinite(price.step_s))
        found->pipeline_s = fmin(found->pipeline_s, label->chain.whole_s);
    layout_keep_best(search->trial, search->row, end, price, found);
}

/* A good deal first: what it takes is the limit of all that follows. */
static void take_seeds(layout_pricer *trial, const layout_items *row, layout_result *found)
{
    int *ends =
        plait_arena_alloc(trial->scratch, (size_t)(LAYOUT_SEEDS * row->chunks), sizeof *ends);

    trial->failed = trial->failed || !ends;
    for (int s = 0, seeds = ends ? layout_seeds(row, ends) : 0; s < seeds; s++)
        layout_keep_best(trial, row, ends + s * row->chunks,
                         layout_price_exact(trial, row, ends + s * row->chunks), found);
}

void layout_dp(layout_pricer *trial, const layout_items *row, layout_result *found)
{
    const plait_arena_mark mark = plait_arena_save(trial->scratch);
    const size_t lists = (size_t)row->items + 1;

    take_seeds(trial, row, found);
    chain_search search = {
        .row = row,
        .trial = trial,
        .limit_s = trial->limit_s - row->after_s,
        .now = plait_arena_alloc(trial->scratch, lists, sizeof(deal_label *)),
        .next = plait_arena_alloc(trial->scratch, lists, sizeof(deal_label *)),
        .whole = row->fused_s <= 0.0,
    };
    deal_label begin = {.chain = plait_chain_begin()};
    if (search.now && search.next) {
        for (size_t e = 0; e < lists; e++)
            search.now[e] = NULL;
        search.now[0] = &begin;
        for (int stage = 0; stage < row->ranks; stage++)
            pass_stage(&search, stage);
        for (const deal_label *label = search.now[row->items]; label; label = label->next)
            take_label(&search, label, found);
        found->floor_s = search.whole ? found->pipeline_s + row->after_s : 0.0;
        found->proven = trial->limit_s <= found->floor_s * (1.0 + ROUNDING);
    }
    trial->failed = trial->failed || !search.now || !search.next;
    plait_arena_rewind(trial->scratch, mark);
}
