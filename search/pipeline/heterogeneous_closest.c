/*
 * heterogeneous_closest.c - finds the plan over several groups that exceeds memory least, if no
 * plan fits
 *
 * Let l(s, i, j) be the bytes by which layers i .. j - 1 exceed the memory of the nodes of stage s,
 * with the recomputation that needs the least memory. Then
 *
 *     lack(s, i) = min over j of max(l(s, i, j), lack(s + 1, j))                             (S.69)
 *
 * is the least excess of stages s and later, which hold the layers from i on. It is computed for
 * every order of every group choice with the fewest sequences per replica that limits allow, since
 * more sequences need more memory. A choice is skipped if it exceeds memory by more than the best
 * known plan even when each group is taken as the last of the order.
 */
#include <math.h>

#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"
#include "search/space/space.h"

typedef struct min_memory_search {
    hetero_problem *q;
    const degrees_list *list; /* [PLAIT_MAX_NODE_GROUPS] degrees of one size */
    group_choice set;
    double best_bytes;
    /* best order, which exceeds memory by best_bytes; its `set` points to `of` */
    group_order order;
    group_choice of;
    hetero_layout layout;
    bool failed;
} min_memory_search;

// ---- one stage -----------------------------------------------------------------------------

/*
 * Returns the bytes by which layers [first, last) exceed the memory of their nodes, negative if
 * they fit, and sets *recompute to the recomputation that needs the least memory.
 */
static double stage_missing_bytes(min_memory_search *search, group_degrees *choice,
                                  hetero_place place, int in_flight, int first, int last,
                                  int *recompute)
{
    hetero_problem *q = search->q;
    const size_t recomputes = (size_t)q->space.recomputes;
    degrees_cache *const cache = hetero_cache(q, choice);
    double least = HUGE_VAL;

    if (cache && !cache->bytes[place])
        cache->bytes[place] =
            plait_arena_alloc(q->cached, (size_t)q->ranges, sizeof **cache->bytes);
    stage_bytes **const *all = cache ? &cache->bytes[place] : NULL;
    stage_bytes **const cached = all && *all ? &(*all)[hetero_range(q, first, last)] : NULL;
    const bool known = cached && *cached;
    if (cached && !known)
        *cached = plait_arena_alloc(q->cached, recomputes, sizeof **cached);
    search->failed = search->failed || !cached || !*cached;
    for (int r = 0; !search->failed && r < q->space.recomputes; r++) {
        stage_bytes *const bytes = &(*cached)[r];
        if (!known) {
            const plait_arena_mark mark = plait_arena_save(q->scratch);
            plait_stage_pricer *const pricer = hetero_pricer(q, choice, q->cached);
            plait_stage stage;
            search->failed = !pricer || !hetero_stage(q, choice, place, first, last,
                                                      q->space.recompute[r], q->scratch, &stage);
            if (search->failed)
                return HUGE_VAL;
            const plait_stage_price price = plait_stage_pricer_price(pricer, &stage, choice->group);
            *bytes = (stage_bytes){price.state_bytes, price.flight_bytes};
            plait_arena_rewind(q->scratch, mark);
        }
        const double lack = bytes->state + in_flight * bytes->flight - choice->capacity_bytes;
        if (lack < least) {
            least = lack;
            *recompute = r;
        }
    }
    return least;
}

// ---- one order -----------------------------------------------------------------------------

/* Fills the tables of S.69 for an order, [stages + 1][layers + 1]. */
static void fill_missing_bytes(min_memory_search *search, const group_order *order, double *lack,
                               short *next)
{
    const int layers = search->q->problem->model->layers, stages = order->set->shape.stages;

    for (int i = 0; i <= layers; i++)
        lack[stages * (layers + 1) + i] = i == layers ? -HUGE_VAL : HUGE_VAL;
    for (int r = order->set->runs - 1, s = stages - 1; r >= 0; r--)
        for (int n = 0; n < order->run[r]->stages; n++, s--)
            for (int i = 0; i <= layers; i++) {
                double *least = &lack[s * (layers + 1) + i];
                *least = HUGE_VAL;
                for (int j = i + 1; j <= layers && (s > 0 || i == 0) && !search->failed; j++) {
                    int recompute;
                    const double own = stage_missing_bytes(
                        search, order->run[r]->choice, hetero_place_of(order->set, s),
                        hetero_in_flight(order->set, s), i, j, &recompute);
                    // more layers exceed memory by more
                    if (own >= search->best_bytes || own >= *least)
                        break;
                    const double all = larger(own, lack[(s + 1) * (layers + 1) + j]);
                    if (all < *least) {
                        *least = all;
                        next[s * (layers + 1) + i] = (short)j;
                    }
                }
            }
}

/* Keeps the best layers of an order if they exceed memory by less than the best known plan. */
static void try_order(min_memory_search *search, const group_order *order)
{
    hetero_problem *q = search->q;
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    const int side = q->problem->model->layers + 1;
    const size_t states = (size_t)(order->set->shape.stages + 1) * (size_t)side;
    double *lack = plait_arena_alloc(q->scratch, states, sizeof *lack);
    short *next = plait_arena_alloc(q->scratch, states, sizeof *next);

    search->failed = search->failed || !lack || !next;
    if (!search->failed)
        fill_missing_bytes(search, order, lack, next);
    if (!search->failed && lack[0] < search->best_bytes) {
        search->best_bytes = lack[0];
        search->of = *order->set;
        search->order = *order;
        search->order.set = &search->of;
        for (int r = 0, s = 0, i = 0; r < order->set->runs; r++)
            for (int n = 0; n < order->run[r]->stages; n++, s++) {
                const int j = next[s * side + i];
                int recompute = 0;
                stage_missing_bytes(search, order->run[r]->choice, hetero_place_of(order->set, s),
                                    hetero_in_flight(order->set, s), i, j, &recompute);
                search->layout.last[s] = (short)j;
                search->layout.recompute[s] = (unsigned char)recompute;
                i = j;
            }
    }
    plait_arena_rewind(q->scratch, mark);
}

// ---- all orders ----------------------------------------------------------------------------

/*
 * Returns whether the stages could hold all layers and exceed memory by less than the best known
 * plan, if each group were the last of its order.
 */
static bool may_exceed_less(min_memory_search *search, const group_choice *set)
{
    const int layers = search->q->problem->model->layers;
    int held = 0, recompute;

    if (search->q->problem->model->kinds > 1)
        return true;
    for (int r = 0; r < set->runs; r++)
        for (int k = 1; k <= set->run[r]->stages; k++) {
            const int in_flight = k < set->shape.microbatches ? k : set->shape.microbatches;
            int l = 0;
            while (l < layers &&
                   stage_missing_bytes(search, set->run[r]->choice, HETERO_MIDDLE, in_flight, 0,
                                       l + 1, &recompute) < search->best_bytes)
                l++;
            if (l == 0)
                return false;
            held += l;
        }
    return held >= layers;
}

static void try_orders(min_memory_search *search, group_order *order, int at)
{
    if (at == order->set->runs || at == HETERO_RUNS) {
        try_order(search, order);
        return;
    }
    for (int g = at; g < order->set->runs && g < HETERO_RUNS; g++) {
        stage_run *const here = order->run[at];
        order->run[at] = order->run[g];
        order->run[g] = here;
        try_orders(search, order, at + 1);
        order->run[g] = order->run[at];
        order->run[at] = here;
    }
}

static void try_groups(min_memory_search *search, int g)
{
    group_choice *set = &search->set;

    if (search->failed)
        return;
    if (g == search->q->problem->cluster->groups) {
        group_order order = {.set = set};
        for (int i = 0; i < set->runs; i++)
            order.run[i] = set->run[i];
        if (set->runs > 1 && set->shape.stages <= search->q->problem->model->layers &&
            limits_allow(search->q->options, PLAIT_KEY_PP, set->shape.stages) &&
            may_exceed_less(search, set))
            try_orders(search, &order, 0);
        return;
    }
    for (int c = 0; c < search->list[g].count; c++) {
        group_degrees *const choice =
            search->list[g].choice[c]; // with q->min_memory every choice uses all GPUs of its group
        stage_run *const run = hetero_run(search->q, choice, choice->max_stages);
        search->failed = search->failed || !run;
        if (!run)
            return;
        set->run[set->runs++] = run;
        set->shape.stages += run->stages;
        try_groups(search, g + 1);
        set->shape.stages -= set->run[--set->runs]->stages;
    }
    try_groups(search, g + 1);
}

plait_status hetero_closest(hetero_problem *q, plait_plan *plan, plait_error *err)
{
    const size_t layers = (size_t)q->problem->model->layers;
    min_memory_search search = {
        .q = q,
        .best_bytes = q->missing_bytes,
        .layout = {.last = plait_arena_alloc(q->arena, layers, sizeof(short)),
                   .recompute = plait_arena_alloc(q->arena, layers, 1)}};

    search.failed = !search.layout.last || !search.layout.recompute;
    hetero_release_caches(q);
    for (int size = 0; size < q->space.sizes && !search.failed; size++) {
        search.list = &q->space.list[size * PLAIT_MAX_NODE_GROUPS];
        search.set =
            (group_choice){.shape.microbatches = hetero_microbatches(q, q->space.size[size])};
        try_groups(&search, 0);
    }
    if (search.failed)
        return plait_fail_nomem(err);
    q->missing_bytes = search.best_bytes;
    return search.of.runs > 0 ? hetero_build_plan(q, &search.order, &search.layout, plan, err)
                              : PLAIT_OK;
}
