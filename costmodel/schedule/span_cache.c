/*
 * span_cache.c - simulated schedules as lists of steps in which no step waits for a later one
 *
 *     end[i] = max(end[before], end[from]) + time
 *
 *     before   the previous step of the same rank
 *     from     the step of another stage that step i waits for
 *
 * These dependencies follow from the shape alone. So each shape is simulated once (schedule_sim.c);
 * for other stage times only the ends are computed, which takes some nanoseconds per action.
 */
#include "costmodel/schedule/schedule_sim.h"

#include <string.h>

#include "base/numbers.h"

/*
 * Maximum numbers of cached shapes and of their actions together, 24 MiB in all. Shapes beyond
 * these limits are simulated each time.
 */
enum { SHAPES = 256, ACTIONS = 1 << 21 };

/* Steps are counted from 1; step 0 ends at time 0. */
typedef struct span_step {
    int before, from;
    int time; /* index of the step's time, by stage and kind of action */
} span_step;

typedef struct cached_shape {
    plait_pipeline_shape shape;
    int steps;
    const span_step *step; /* [steps] */
    const int *last;       /* [ranks]: last step of each rank */
    const int *begin;      /* [ranks]: step that the first step of each rank waits for */
} cached_shape;

struct plait_pipelines {
    plait_arena *arena; /* NULL: the cache stores nothing */
    int shapes;
    int64_t actions;
    cached_shape shape[SHAPES];
};

plait_pipelines *span_cache_new(plait_arena *arena)
{
    return plait_arena_alloc(arena, 1, sizeof(plait_pipelines));
}

plait_pipelines *plait_pipelines_new(void)
{
    plait_arena *const arena = plait_arena_new();
    plait_pipelines *const cache = arena ? span_cache_new(arena) : NULL;

    if (cache)
        span_cache_grow(cache, arena);
    else
        plait_arena_free(arena);
    return cache;
}

void plait_pipelines_free(plait_pipelines *pipelines)
{
    if (pipelines)
        plait_arena_free(pipelines->arena);
}

void span_cache_grow(plait_pipelines *cache, plait_arena *arena)
{
    cache->arena = arena;
}

/* Simulates a shape and stores its actions in the order of the simulation. */
static plait_status store_shape(plait_pipelines *cache, const plait_sim *sim,
                                const plait_pipeline_shape *shape, plait_arena *scratch,
                                plait_error *err)
{
    const size_t ranks = (size_t)sim->ranks;
    const int steps = (int)plait_schedule_action_count(shape);
    span_step *const step = plait_arena_alloc(cache->arena, (size_t)steps, sizeof *step);
    int *const last = plait_arena_alloc(cache->arena, ranks, sizeof *last);
    int *const begin = plait_arena_alloc(cache->arena, ranks, sizeof *begin);
    int *const done = plait_arena_alloc(scratch, ranks, sizeof *done);
    sim_state state;

    PLAIT_TRY(plait_check_allocated(step && last && begin && done, err));
    PLAIT_TRY(sim_solve(sim, scratch, &state, err));
    for (int i = 0; i < steps; i++) {
        const int rank = state.order[i].rank, from = state.order[i].from;
        const plait_action *action = &sim->actions[rank].action[done[rank]];

        if (done[rank]++ == 0)
            begin[rank] = from;
        step[i] =
            (span_step){last[rank], from, action->stage * PLAIT_ACTION_KINDS + (int)action->kind};
        last[rank] = i + 1;
    }
    cache->shape[cache->shapes++] = (cached_shape){*shape, steps, step, last, begin};
    cache->actions += steps + 2 * (int64_t)sim->ranks;
    return PLAIT_OK;
}

static plait_status sum_steps(const cached_shape *cached, const plait_sim_stage *stage,
                              plait_arena *scratch, plait_sim_spans *out, plait_error *err)
{
    const int stages = cached->shape.ranks * cached->shape.chunks;
    double *const time =
        plait_arena_alloc(scratch, (size_t)stages * PLAIT_ACTION_KINDS, sizeof *time);
    double *const end = plait_arena_alloc(scratch, (size_t)cached->steps + 1, sizeof *end);

    PLAIT_TRY(plait_check_allocated(time && end, err));
    for (int s = 0; s < stages; s++) {
        double *const of = time + s * PLAIT_ACTION_KINDS;
        of[PLAIT_ACTION_FORWARD] = stage[s].forward_s;
        of[PLAIT_ACTION_BACKWARD] = stage[s].input_s + stage[s].weight_s;
        of[PLAIT_ACTION_INPUT] = stage[s].input_s;
        of[PLAIT_ACTION_WEIGHT] = stage[s].weight_s;
    }
    for (int i = 0; i < cached->steps; i++) {
        const span_step *const step = &cached->step[i];
        end[i + 1] = larger(end[step->before], end[step->from]) + time[step->time];
    }
    *out = (plait_sim_spans){0};
    for (int rank = 0; rank < cached->shape.ranks; rank++) {
        const double end_s = end[cached->last[rank]];
        out->pipeline_s = larger(out->pipeline_s, end_s);
        out->rank_s = larger(out->rank_s, end_s - end[cached->begin[rank]]);
    }
    return PLAIT_OK;
}

static plait_status spans_of(plait_pipelines *cache, const plait_pipeline_shape *shape,
                             const plait_sim_stage *stage, plait_arena *scratch,
                             plait_sim_spans *out, plait_error *err)
{
    for (int i = 0; cache && i < cache->shapes; i++) {
        const plait_pipeline_shape *other = &cache->shape[i].shape;
        if (other->schedule == shape->schedule && other->ranks == shape->ranks &&
            other->chunks == shape->chunks && other->microbatches == shape->microbatches)
            return sum_steps(&cache->shape[i], stage, scratch, out, err);
    }
    plait_rank_actions *actions = plait_arena_alloc(scratch, (size_t)shape->ranks, sizeof *actions);
    PLAIT_TRY(plait_check_allocated(actions, err));
    PLAIT_TRY(plait_schedule_actions(shape, scratch, actions, err));
    const plait_sim sim = {
        .ranks = shape->ranks,
        .stages = shape->ranks * shape->chunks,
        .microbatches = shape->microbatches,
        .actions = actions,
        .stage = stage,
    };
    if (!cache || !cache->arena || cache->shapes == SHAPES ||
        cache->actions + plait_schedule_action_count(shape) + 2 * (int64_t)shape->ranks > ACTIONS)
        return plait_sim_span(&sim, scratch, out, err);
    PLAIT_TRY(store_shape(cache, &sim, shape, scratch, err));
    return sum_steps(&cache->shape[cache->shapes - 1], stage, scratch, out, err);
}

plait_status span_cache_spans(plait_pipelines *cache, const plait_pipeline_shape *shape,
                              const plait_sim_stage *stage, plait_arena *scratch,
                              plait_sim_spans *out, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(scratch);
    const plait_status status = spans_of(cache, shape, stage, scratch, out, err);

    plait_arena_rewind(scratch, mark);
    return status;
}
