/*
 * heterogeneous_stages.c - computes the options of one stage and their lower bounds
 *
 * Options are computed once for all ranges with the same number of layers of each kind, a row of
 * bounds once for each number of microbatches in flight. The limit of the search never rises, so a
 * range that is too slow when its row is computed stays too slow.
 */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "search/pipeline/heterogeneous.h"

// ---- options -------------------------------------------------------------------------------

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

/* Returns whether a is at least as fast as b and fits wherever b fits. */
static bool dominates(const stage_option *a, const stage_option *b)
{
    return a->max_in_flight >= b->max_in_flight && a->forward_s <= b->forward_s &&
           a->backward_s <= b->backward_s && a->reduce_s <= b->reduce_s &&
           a->gather_s <= b->gather_s && a->optimizer_s <= b->optimizer_s;
}

/*
 * Adds an option unless it is dominated; removes the options that it dominates. Returns the new
 * count.
 */
static int add_option(stage_option *options, int count, const stage_option *option)
{
    int kept = 0;

    if (option->max_in_flight < 1)
        return count;
    for (int i = 0; i < count; i++)
        if (dominates(&options[i], option))
            return count;
    for (int i = 0; i < count; i++)
        if (!dominates(option, &options[i]))
            options[kept++] = options[i];
    options[kept++] = *option;
    return kept;
}

static stage_option option_of(const group_degrees *choice, const plait_stage_price *price,
                              int recompute)
{
    const double left = choice->capacity_bytes - price->state_bytes;
    const double in_flight = price->flight_bytes > 0.0 ? left / price->flight_bytes : HUGE_VAL;

    return (stage_option){.forward_s = price->forward_s,
                          .backward_s = price->backward_s,
                          .reduce_s = price->reduce_s,
                          .gather_s = price->gather_s,
                          .optimizer_s = price->optimizer_s,
                          .max_in_flight = left < 0.0        ? -1
                                           : in_flight < 1e6 ? (int)floor(in_flight)
                                                             : 1000000,
                          .recompute = recompute};
}

static bool fill_options(hetero_problem *q, group_degrees *choice, hetero_place place, int other,
                         int first, int last, stage_options *out)
{
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    stage_option *option =
        plait_arena_alloc(q->scratch, (size_t)q->space.recomputes, sizeof *option);
    int count = 0;

    for (int r = 0; option && r < q->space.recomputes; r++) {
        plait_stage stage;
        if (!hetero_stage(q, choice, place, first, last, q->space.recompute[r], q->scratch, &stage))
            return false;
        const plait_stage_price price = plait_stage_pricer_price(choice->sort, &stage, other);
        const stage_option one = option_of(choice, &price, r);
        count = add_option(option, count, &one);
    }
    *out = (stage_options){
        .valid = true,
        .count = count,
        .option = option ? plait_arena_alloc(q->arena, (size_t)count + 1, sizeof *option) : NULL};
    if (!out->option)
        return false;
    memcpy(out->option, option, (size_t)count * sizeof *option);
    plait_arena_rewind(q->scratch, mark);
    return true;
}

/* Returns the options of layers [first, last); NULL if out of memory. */
static const stage_options *options_of(hetero_problem *q, group_degrees *choice, hetero_place place,
                                       int other, int first, int last)
{
    const int end = hetero_end(q, choice, place, other);
    stage_options **options = &choice->options[place][end];

    if (!*options)
        *options = plait_arena_alloc(q->arena, (size_t)q->ranges, sizeof **options);
    if (!*options)
        return NULL;
    stage_options *out = &(*options)[hetero_range(q, first, last)];
    if (!out->valid && !fill_options(q, choice, place, end, first, last, out))
        return NULL;
    return out;
}

// ---- bounds --------------------------------------------------------------------------------

/* Returns an upper bound of f + b of a stage in a plan below the limit, for any other groups. */
static double most_of(const hetero_problem *q, const group_degrees *choice)
{
    return hetero_limit(q) / hetero_weight(q, 1u << choice->group) /
           hetero_microbatches(q, choice->size);
}

static stage_bound bound_of_options(const stage_options *options, int in_flight)
{
    stage_bound least = {HUGE_VAL, HUGE_VAL};

    for (int w = 0; w < options->count; w++) {
        const stage_option *option = &options->option[w];
        if (option->max_in_flight < in_flight)
            continue;
        least.stage_s = smaller(least.stage_s, stage_option_s(option));
        least.tail_s =
            smaller(least.tail_s, option->reduce_s + option->gather_s + option->optimizer_s);
    }
    return least;
}

/*
 * Computes a row of bounds. Each further layer takes more time and memory, so the row ends at the
 * first range that is too slow.
 */
static bool fill_row(hetero_problem *q, group_degrees *choice, hetero_place place, int other,
                     int in_flight, stage_bound *row)
{
    const int layers = q->problem->model->layers;
    const int firsts =
        q->problem->model->kinds > 1 ? layers : 1; // ranges of a single kind differ only in length
    const double max_s = most_of(q, choice);

    for (int r = 0; r < q->ranges; r++)
        row[r] = (stage_bound){HUGE_VAL, HUGE_VAL};
    for (int first = 0; first < firsts; first++)
        for (int last = first + 1; last <= layers; last++) {
            stage_bound *least = &row[hetero_range(q, first, last)];
            if (least->stage_s < HUGE_VAL)
                continue;
            const stage_options *options = options_of(q, choice, place, other, first, last);
            if (!options)
                return false;
            const stage_bound found = bound_of_options(options, in_flight);
            if (found.stage_s > max_s)
                break;
            *least = found;
        }
    return true;
}

const stage_bound *hetero_stage_bounds(hetero_problem *q, group_degrees *choice, hetero_place place,
                                       int other, int in_flight)
{
    const int end = hetero_end(q, choice, place, other);
    stage_bound ***rows = &choice->bounds[place][end];

    if (!*rows)
        *rows = plait_arena_alloc(q->arena, (size_t)q->problem->model->layers + 1, sizeof **rows);
    if (!*rows)
        return NULL;
    stage_bound **row = &(*rows)[in_flight];
    if (!*row) {
        *row = plait_arena_alloc(q->arena, (size_t)q->ranges, sizeof **row);
        if (!*row || !fill_row(q, choice, place, end, in_flight, *row))
            return NULL;
    }
    return *row;
}

// ---- runs ----------------------------------------------------------------------------------

stage_run *hetero_run(hetero_problem *q, group_degrees *choice, int stages)
{
    stage_run **run = &choice->run[stages];

    if (!*run)
        *run = plait_arena_alloc(q->arena, 1, sizeof **run);
    if (*run)
        **run = (*run)->choice ? **run : (stage_run){.choice = choice, .stages = stages};
    return *run;
}

bool hetero_may_follow(const group_degrees *a, int stages, const group_degrees *b)
{
    return stages * a->gpus % a->domain == 0 || stages * a->gpus % b->gpus == 0;
}
