/*
 * heterogeneous_stages.c - computes the options of one stage and their lower bounds
 *
 * Options are computed once for all ranges with the same number of layers of each kind. A row of
 * bounds, one for each range, is computed once for each number of microbatches in flight. The limit
 * of the search never rises, so a range that is too slow when its row is computed stays too slow.
 */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "search/pipeline/heterogeneous.h"

// ---- caches --------------------------------------------------------------------------------

degrees_cache *hetero_cache(hetero_problem *q, group_degrees *choice)
{
    if (!choice->cache || choice->generation != q->generation) {
        choice->cache = plait_arena_alloc(q->cached, 1, sizeof *choice->cache);
        choice->generation = q->generation;
    }
    return choice->cache;
}

void hetero_release_caches(hetero_problem *q)
{
    plait_arena_rewind(q->cached, 0);
    q->generation++;
}

// ---- options -------------------------------------------------------------------------------

plait_stage_pricer *hetero_pricer(hetero_problem *q, group_degrees *choice, plait_arena *arena)
{
    degrees_cache *const cache = hetero_cache(q, choice);

    if (cache && !cache->pricer)
        cache->pricer =
            plait_stage_pricer_new(q->problem, choice->group, &choice->degrees, q->prices, arena);
    return cache ? cache->pricer : NULL;
}

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

/* Returns whether option a is at least as fast as b and fits wherever b fits. */
static bool dominates(const stage_option *a, const stage_option *b)
{
    return a->max_in_flight >= b->max_in_flight && a->time.forward_s <= b->time.forward_s &&
           a->time.backward_s <= b->time.backward_s && a->tail.reduce_s <= b->tail.reduce_s &&
           a->tail.gather_s <= b->tail.gather_s && a->tail.optimizer_s <= b->tail.optimizer_s;
}

/* Lists the undominated options of layers [first, last) that fit with one microbatch in flight. */
static bool fill_options(hetero_problem *q, group_degrees *choice, hetero_place place, int other,
                         int first, int last, stage_options *out)
{
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    stage_option *const option =
        plait_arena_alloc(q->scratch, (size_t)q->space.recomputes, sizeof *option);
    int count = 0;

    for (int r = 0; option && r < q->space.recomputes; r++) {
        plait_stage stage;
        bool dominated = false;
        int kept = 0;
        if (!hetero_stage(q, choice, place, first, last, q->space.recompute[r], q->scratch, &stage))
            return false;
        const plait_stage_price price =
            plait_stage_pricer_price(choice->cache->pricer, &stage, other);
        const double left = choice->capacity_bytes - price.state_bytes;
        const double in_flight = price.flight_bytes > 0.0 ? left / price.flight_bytes : HUGE_VAL;
        const stage_option one = {.time = price.time,
                                  .tail = price.tail,
                                  .max_in_flight =
                                      left < 0.0 ? -1 : (int)floor(smaller(in_flight, 1e6)),
                                  .recompute = r};
        for (int i = 0; i < count; i++)
            dominated = dominated || dominates(&option[i], &one);
        if (one.max_in_flight < 1 || dominated)
            continue;
        for (int i = 0; i < count; i++)
            if (!dominates(&one, &option[i]))
                option[kept++] = option[i];
        option[kept++] = one;
        count = kept;
    }
    *out = (stage_options){
        .valid = true,
        .count = count,
        .option = option ? plait_arena_alloc(q->cached, (size_t)count + 1, sizeof *option) : NULL};
    if (!out->option)
        return false;
    memcpy(out->option, option, (size_t)count * sizeof *option);
    plait_arena_rewind(q->scratch, mark);
    return true;
}

// ---- bounds --------------------------------------------------------------------------------

/* Returns the longest f + b of a stage in a plan below the limit, whichever groups it uses. */
static double longest_stage_s(const hetero_problem *q, const group_degrees *choice)
{
    return hetero_limit(q) / hetero_weight(q, 1u << choice->group) /
           hetero_microbatches(q, choice->size);
}

/*
 * Computes a row of bounds and the options of its ranges, with the pricer in scratch memory unless
 * the degrees have one. Each further layer takes more time and memory. So for each first layer the
 * row ends at the first range that does not fit or is too slow for a plan below the limit, whichever
 * other groups the plan uses.
 */
static bool fill_row(hetero_problem *q, group_degrees *choice, hetero_place place, int other,
                     int in_flight, stage_bound *row)
{
    const int layers = q->problem->model->layers;
    const int firsts = q->problem->model->kinds > 1
                           ? layers
                           : 1; // with one kind of layers, ranges differ only in length
    const double max_s = longest_stage_s(q, choice);
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    plait_stage_pricer *const kept = choice->cache->pricer;
    stage_options **all = &choice->cache->options[place][other];

    if (!*all)
        *all = plait_arena_alloc(q->cached, (size_t)q->ranges, sizeof **all);
    if (!*all)
        return false;
    for (int r = 0; r < q->ranges; r++)
        row[r] = (stage_bound){HUGE_VAL, HUGE_VAL};
    for (int first = 0; first < firsts; first++)
        for (int last = first + 1; last <= layers; last++) {
            stage_bound *const least = &row[hetero_range(q, first, last)];
            stage_options *const options = &(*all)[hetero_range(q, first, last)];
            stage_bound found = {HUGE_VAL, HUGE_VAL};
            if (least->stage_s < HUGE_VAL)
                continue;
            if (!options->valid && (!hetero_pricer(q, choice, q->scratch) ||
                                    !fill_options(q, choice, place, other, first, last, options)))
                return false;
            for (int o = 0; o < options->count; o++) {
                const stage_option *const one = &options->option[o];
                if (one->max_in_flight < in_flight)
                    continue;
                found.stage_s = smaller(found.stage_s, one->time.forward_s + one->time.backward_s);
                found.tail_s = smaller(found.tail_s, pipeline_tail_s(&one->tail));
            }
            if (found.stage_s > max_s || found.stage_s == HUGE_VAL)
                break;
            *least = found;
        }
    choice->cache->pricer = kept;
    plait_arena_rewind(q->scratch, mark);
    return true;
}

const stage_bound *hetero_stage_bounds(hetero_problem *q, group_degrees *choice, hetero_place place,
                                       int other, int in_flight)
{
    const int end = hetero_end(q, choice, place, other);
    degrees_cache *const cache = hetero_cache(q, choice);

    if (!cache)
        return NULL;
    stage_bound ***rows = &cache->bounds[place][end];
    if (!*rows)
        *rows = plait_arena_alloc(q->cached, (size_t)q->problem->model->layers + 1, sizeof **rows);
    if (!*rows)
        return NULL;
    stage_bound **row = &(*rows)[in_flight];
    if (!*row) {
        *row = plait_arena_alloc(q->cached, (size_t)q->ranges, sizeof **row);
        if (!*row || !fill_row(q, choice, place, end, in_flight, *row))
            return NULL;
    }
    return *row;
}

/* Returns the most microbatches in flight of the options that take at most max_s. */
static int most_in_flight(const stage_options *options, double max_s)
{
    int most = 0;

    for (int o = 0; o < options->count; o++) {
        const stage_option *const one = &options->option[o];
        if (one->time.forward_s + one->time.backward_s <= max_s && one->max_in_flight > most)
            most = one->max_in_flight;
    }
    return most;
}

const double *hetero_held_units(hetero_problem *q, group_degrees *choice)
{
    const plait_model *const model = q->problem->model;
    const int layers = model->layers, microbatches = hetero_microbatches(q, choice->size);
    const stage_bound *const row = hetero_stage_bounds(q, choice, HETERO_MIDDLE, choice->group, 1);
    degrees_cache *const cache = choice->cache;

    if (!row || cache->held_units)
        return row ? cache->held_units : NULL;
    double *const held = plait_arena_alloc(q->cached, (size_t)layers + 1, sizeof *held);
    if (!held)
        return NULL;
    const double max_s = longest_stage_s(q, choice);
    const stage_options *const options = cache->options[HETERO_MIDDLE][choice->group];
    const int firsts = model->kinds > 1 ? layers : 1;
    for (int first = 0; first < firsts; first++) {
        double units = 0.0;
        for (int last = first + 1; last <= layers; last++) {
            const int range = hetero_range(q, first, last);
            if (row[range].stage_s == HUGE_VAL)
                break;
            units += q->kind_units[model->layer_kind[last - 1]];
            const int most = most_in_flight(&options[range], max_s);
            const int at = most < layers ? most : layers;
            held[at] = larger(held[at], units);
        }
    }
    for (int k = layers; k > 1; k--) // a stage that fits with k in flight fits with fewer
        held[k - 1] = larger(held[k - 1], held[k]);
    held[0] = 0.0;
    for (int k = microbatches + 1; k <= layers; k++)
        held[k] = held[microbatches];
    for (int k = 1; k <= layers; k++)
        held[k] += held[k - 1];
    return cache->held_units = held;
}

// ---- runs ----------------------------------------------------------------------------------

stage_run *hetero_run(hetero_problem *q, group_degrees *choice, int stages)
{
    const size_t runs = (size_t)q->problem->model->layers + 1;

    if (!choice->run)
        choice->run = plait_arena_alloc(q->arena, runs, sizeof(stage_run *));
    if (!choice->run)
        return NULL;
    stage_run **const run = &choice->run[stages];
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
