/*
 * bound.c - the step of stages that have chosen, and what no choice of theirs undercuts (S.24)
 *
 *     pipeline and optimizer   with each pass as short as any choice makes it, and both together as short
 *                              as the choice that was found
 *     reductions and gathers   what sticks out behind the longest passes
 */
#include <math.h>

#include "search/pipeline/per_stage_private.h"

/* Passes of every stage, and room for their frames. */
typedef struct step_times {
    plait_chunk_time *found, *low, *high; /* [pp] */
    plait_stage_frame *frame;
} step_times;

static plait_status make_times(size_t stages, plait_arena *arena, step_times *out, plait_error *err)
{
    out->found = plait_arena_alloc(arena, stages, sizeof *out->found);
    out->low = plait_arena_alloc(arena, stages, sizeof *out->low);
    out->high = plait_arena_alloc(arena, stages, sizeof *out->high);
    out->frame = plait_arena_alloc(arena, stages, sizeof *out->frame);
    return out->found && out->low && out->high && out->frame ? PLAIT_OK : plait_fail_nomem(err);
}

/* The step with these passes; without what is reduced and gathered when `bare`. */
static plait_price step_of(const per_stage_point *point, const per_stage_result *result, bool bare,
                           const plait_chunk_time *time, plait_stage_frame *frame)
{
    for (int s = 0; s < result->stages; s++) {
        frame[s] = result->stage[s].frame;
        if (bare)
            frame[s].reduce_s = frame[s].gather_s = frame[s].down_s = 0.0;
    }
    return plait_frames_price(point->question->table, point->degrees, frame, time);
}

/* Adds the shortest and the longest passes that any choice gives a group's layers. */
static void add_extremes(const per_stage_point *point, const per_stage_group *group,
                         plait_chunk_time *low, plait_chunk_time *high)
{
    double forward_s = HUGE_VAL, backward_s = HUGE_VAL, longest_f = 0.0, longest_b = 0.0;

    for (int c = 0; c < point->question->choices; c++) {
        const plait_layer_cost *const one = per_stage_cost(point, group->kind, c);
        if (one->forward_s == HUGE_VAL)
            continue;
        forward_s = fmin(forward_s, one->forward_s);
        backward_s = fmin(backward_s, one->backward_s);
        longest_f = fmax(longest_f, one->forward_s);
        longest_b = fmax(longest_b, one->backward_s);
    }
    low->forward_s += group->layers * forward_s;
    low->backward_s += group->layers * backward_s;
    high->forward_s += group->layers * longest_f;
    high->backward_s += group->layers * longest_b;
}

/* Weight gradients as the choice has them: those that others have differ by launches alone. */
static void extremes_of(const per_stage_point *point, const per_stage_stage *stage,
                        plait_chunk_time *low, plait_chunk_time *high)
{
    const double both_s = stage->time.forward_s + stage->time.backward_s;

    *low = *high = stage->frame.ends;
    for (int g = 0; g < stage->groups; g++)
        add_extremes(point, &stage->group[g], low, high);
    if (stage->proven)
        low->backward_s = fmax(low->backward_s, both_s - high->forward_s);
    low->weight_s = fmin(stage->time.weight_s, low->backward_s);
    high->weight_s = stage->time.weight_s;
}

plait_status per_stage_bound(const per_stage_point *point, plait_arena *arena,
                             per_stage_result *out, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    step_times t;

    PLAIT_TRY(make_times((size_t)out->stages, arena, &t, err));
    for (int s = 0; s < out->stages; s++) {
        t.found[s] = out->stage[s].time;
        extremes_of(point, &out->stage[s], &t.low[s], &t.high[s]);
    }
    const plait_price price = step_of(point, out, false, t.found, t.frame);
    const double bare_s = step_of(point, out, true, t.low, t.frame).step_s;
    const double exposed_s = step_of(point, out, false, t.high, t.frame).step_s -
                             step_of(point, out, true, t.high, t.frame).step_s;

    out->step_s = price.step_s;
    out->exact = price.exact;
    out->bound_s = fmin(out->step_s, bare_s + fmax(0.0, exposed_s));
    out->gap = (out->step_s - out->bound_s) / out->step_s;
    if (out->gap < 1e-9) // sums in another order
        out->gap = 0.0;
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}
