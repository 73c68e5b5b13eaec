/*
 * fused_step.c - the time of a step with or without fused boundaries between chunks (C.143)
 *
 * A fused boundary replaces the send between two chunks, and collectives next to it, by one
 * operation. The time that this saves depends on the schedule, so the step is summed with and
 * without fused boundaries, and the shorter sum is used.
 */
#include "costmodel/stage/stage_cost.h"

double load_boundaries(const plait_degrees *d, const stage_load *load, bool behind)
{
    const bool end = behind ? load->embedding : load->loss;

    return d->vpp - (end ? 1.0 : 0.0);
}

plait_chunk_time boundary_saves(const fused_boundary *boundary, double before, double behind)
{
    return (plait_chunk_time){
        .forward_s = before * boundary->forward_before_s + behind * boundary->forward_behind_s,
        .backward_s = before * boundary->backward_before_s + behind * boundary->backward_behind_s,
    };
}

static void subtract_saved(plait_chunk_time saved, plait_chunk_time *of)
{
    of->forward_s -= saved.forward_s;
    of->backward_s -= saved.backward_s;
}

/*
 * Subtracts the time that fused boundaries save from a load. Only a rank's first chunk can begin
 * with the embedding, and only its last can end with the loss; no boundary is at these two places.
 */
static stage_load load_fused(const plait_degrees *d, const stage_load *load,
                             const fused_boundary *boundary)
{
    const double begins = load->embedding ? 0.0 : 1.0;
    const double ends = load->loss ? 0.0 : 1.0;
    const bool alone = d->vpp == 1;
    const plait_chunk_time all =
        boundary_saves(boundary, load_boundaries(d, load, false), load_boundaries(d, load, true));
    stage_load out = *load;

    out.forward_s -= all.forward_s;
    out.backward_s -= all.backward_s;
    subtract_saved(boundary_saves(boundary, alone ? ends : 1.0, begins), &out.first);
    subtract_saved(boundary_saves(boundary, ends, alone ? begins : 1.0), &out.last);
    return out;
}

step_parts parts_fused(const step_parts *parts, const fused_boundary *boundary, stage_cost *fused)
{
    step_parts out = *parts;

    for (int i = 0; i < parts->costs; i++) {
        fused[i] = parts->cost[i];
        fused[i].load = load_fused(parts->degrees, &parts->cost[i].load, boundary);
    }
    out.cost = fused;
    out.send_s = boundary->send_s;
    return out;
}

step_sum cheaper_sum_of(const step_parts *parts, const fused_boundary *boundary, stage_cost *fused)
{
    const step_sum plain = step_sum_of(parts);

    if (!boundary->faster)
        return plain;
    const step_parts others = parts_fused(parts, boundary, fused);
    const step_sum other = step_sum_of(&others);
    step_sum least = other.total_s < plain.total_s ? other : plain;
    least.exact = plain.exact && other.exact;
    return least;
}

/*
 * Sums the terms of a step, and simulates its pipeline if the closed form is only a bound. (C.76)
 */
static plait_status simulate_sum(const step_parts *parts, const plait_plan *plan,
                                 const stage_rows *rows, const fused_boundary *boundary,
                                 plait_pipelines *cache, plait_arena *arena, step_sum *sum,
                                 plait_error *err)
{
    *sum = step_sum_of(parts);
    if (sum->exact)
        return PLAIT_OK;
    double pipeline_s = sum->alone_s;
    const plait_arena_mark mark = plait_arena_save(arena);
    PLAIT_TRY(pipeline_simulate(rows, plan, boundary, cache, arena, &pipeline_s, err));
    plait_arena_rewind(arena, mark);
    step_sum_take(sum, pipeline_s);
    return PLAIT_OK;
}

plait_status simulated_sum_of(const step_parts *parts, const plait_plan *plan,
                              const stage_rows *rows, const fused_boundary *boundary,
                              stage_cost *fused, plait_pipelines *cache, plait_arena *arena,
                              step_sum *sum, bool *chosen, plait_error *err)
{
    step_sum other;

    *chosen = false;
    PLAIT_TRY(simulate_sum(parts, plan, rows, NULL, cache, arena, sum, err));
    if (!boundary->faster)
        return PLAIT_OK;
    const step_parts others = parts_fused(parts, boundary, fused);
    PLAIT_TRY(simulate_sum(&others, plan, rows, boundary, cache, arena, &other, err));
    *chosen = other.total_s < sum->total_s;
    if (*chosen)
        *sum = other;
    return PLAIT_OK;
}

void fused_boundary_terms(const stage_rows *rows, const fused_boundary *boundary,
                          const stage_load *load, double terms[LAYER_TERMS])
{
    for (int i = 0; i < boundary->changes; i++) {
        const boundary_change *one = &boundary->change[i];
        terms[term_of(&one->op)] +=
            one->times * load_boundaries(rows->degrees, load, one->behind) *
            collective_time_of(rows->problem, rows->row, &one->op, 0.0).exposed_s;
    }
}
