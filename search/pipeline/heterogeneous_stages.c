/* ways.c - prices of one stage of a choice, by the layers that it holds and what it recomputes */
#include <math.h>
#include <string.h>

#include "search/pipeline/heterogeneous.h"

// ---- stages --------------------------------------------------------------------------------

bool hetero_stage(const hetero_problem *q, const group_degrees *choice, hetero_place place,
                  int first, int last, plait_recompute recompute, plait_arena *arena,
                  plait_stage *out)
{
    const int layers = last - first;
    plait_chunk *chunk = plait_arena_alloc(arena, 1, sizeof *chunk);
    plait_recompute *each = plait_arena_alloc(arena, (size_t)layers + 1, sizeof *each);

    if (!chunk || !each)
        return false;
    *chunk = (plait_chunk){
        .first = first,
        .last = last,
        .embedding = place == HETERO_FIRST,
        .loss = place == HETERO_LAST,
        .mtp = place == HETERO_LAST ? q->problem->model->mtp_layers : 0,
    };
    *out = (plait_stage){.chunks = 1,
                         .chunk = chunk,
                         .degrees = choice->degrees,
                         .recompute = each,
                         .layers = layers,
                         .group = choice->group};
    out->degrees.recompute = recompute;
    for (int i = 0; i < layers; i++)
        each[i] = plait_recompute_of(&out->degrees, i);
    return true;
}

/* Microbatches in flight that the nodes have room for. */
static int room_in_flight(const group_degrees *choice, const plait_stage_price *price)
{
    const double left = choice->capacity_bytes - price->state_bytes;
    const double room = price->flight_bytes > 0.0 ? left / price->flight_bytes : HUGE_VAL;

    return left < 0.0 ? -1 : room < 1e6 ? (int)floor(room) : 1000000;
}

/* Is a at least as good as b wherever b fits? */
static bool as_good(const stage_option *a, const stage_option *b)
{
    return a->most_in_flight >= b->most_in_flight && a->forward_s <= b->forward_s &&
           a->backward_s <= b->backward_s && a->reduce_s <= b->reduce_s &&
           a->gather_s <= b->gather_s && a->optimizer_s <= b->optimizer_s;
}

/* Those that none is better than; returns how many. */
static int add_way(stage_option *ways, int count, const stage_option *way)
{
    int kept = 0;

    if (way->most_in_flight < 1)
        return count;
    for (int i = 0; i < count; i++)
        if (as_good(&ways[i], way))
            return count;
    for (int i = 0; i < count; i++)
        if (!as_good(way, &ways[i]))
            ways[kept++] = ways[i];
    ways[kept++] = *way;
    return kept;
}

static stage_option way_of(const group_degrees *choice, const plait_stage_price *price,
                           int recompute)
{
    return (stage_option){.forward_s = price->forward_s,
                          .backward_s = price->backward_s,
                          .reduce_s = price->reduce_s,
                          .gather_s = price->gather_s,
                          .optimizer_s = price->optimizer_s,
                          .most_in_flight = room_in_flight(choice, price),
                          .recompute = recompute};
}

static bool fill_ways(hetero_problem *q, group_degrees *choice, hetero_place place, int other,
                      int first, int last, stage_options *out)
{
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    stage_option *way = plait_arena_alloc(q->scratch, (size_t)q->space.recomputes, sizeof *way);
    int count = 0;

    for (int r = 0; way && r < q->space.recomputes; r++) {
        plait_stage stage;
        if (!hetero_stage(q, choice, place, first, last, q->space.recompute[r], q->scratch, &stage))
            return false;
        const plait_stage_price price = plait_stage_sort_price(choice->sort, &stage, other);
        const stage_option one = way_of(choice, &price, r);
        count = add_way(way, count, &one);
    }
    *out = (stage_options){.known = true,
                           .count = count,
                           .way = way ? plait_arena_alloc(q->arena, (size_t)count + 1, sizeof *way)
                                      : NULL};
    if (!out->way)
        return false;
    memcpy(out->way, way, (size_t)count * sizeof *way);
    plait_arena_rewind(q->scratch, mark);
    return true;
}

const stage_options *hetero_stage_options(hetero_problem *q, group_degrees *choice,
                                          hetero_place place, int other, int first, int last)
{
    const int end = hetero_end(q, choice, place, other);
    stage_options **ways = &choice->ways[place][end];

    if (!*ways)
        *ways = plait_arena_alloc(q->arena, (size_t)q->ranges, sizeof **ways);
    if (!*ways)
        return NULL;
    stage_options *out = &(*ways)[hetero_range(q, first, last)];
    if (!out->known && !fill_ways(q, choice, place, end, first, last, out))
        return NULL;
    return out;
}
