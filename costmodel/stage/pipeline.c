/*
 * pipeline.c - simulates the pipeline of one plan, chunk by chunk (C.76)
 *
 *     forward   the forward of a chunk's layers and ends, as in a price         (C.36 to C.63)
 *     backward  input gradient, which includes recomputation, and weight gradient
 *
 * The simulation excludes sends, which a price adds (C.64).
 */
#include "costmodel/stage/stage_cost.h"

plait_pipeline_shape pipeline_shape_of(const plait_problem *problem, const plait_degrees *d)
{
    return (plait_pipeline_shape){(plait_schedule)d->schedule, d->pp, d->vpp,
                                  plait_degrees_microbatches(d, problem->job.gbs)};
}

static plait_sim_stage stage_of_load(const stage_load *load, int how)
{
    return (plait_sim_stage){
        .forward_s = load->forward_s,
        .input_s = larger(0.0, load->backward_s - load->weight_s),
        .weight_s = smaller(load->weight_s, load->backward_s),
        .paired_s = load->paired_s[how],
        .held_bytes = load->saved_bytes,
        .weight_bytes = load->saved_bytes, // upper bound: the input-gradient pass frees some
    };
}

static int most_layers(const plait_plan *plan)
{
    int most = 0;

    for (int s = 0; s < plan->stages; s++)
        most = plan->stage[s].layers > most ? plan->stage[s].layers : most;
    return most;
}

/* Subtracts the time that the fused boundaries of a chunk save from its load. */
static void take_boundaries(const fused_boundary *boundary, const plait_chunk *chunk,
                            stage_load *load)
{
    const plait_chunk_time saved = boundary_saves(boundary, !chunk->loss, !chunk->embedding);

    load->forward_s -= saved.forward_s;
    load->backward_s -= saved.backward_s;
}

/* Prices the chunks of a plan. Chunk v of rank r is plan->stage[r].chunk[v]. */
plait_status pipeline_chunks(const stage_rows *rows, const plait_plan *plan,
                             const fused_boundary *boundary, plait_arena *arena,
                             plait_sim_stage *out, plait_error *err)
{
    const plait_degrees *d = &plan->degrees;
    stage_part *part =
        plait_arena_alloc(arena, (size_t)stage_parts_most(most_layers(plan)), sizeof *part);

    PLAIT_TRY(plait_check_allocated(part, err));
    for (int s = 0; s < plan->stages; s++)
        for (int v = 0; v < plan->stage[s].chunks; v++) {
            const stage_parts parts =
                stage_parts_of_chunk(rows->problem->model, &plan->stage[s], v, part);
            stage_load load = stage_load_of(rows, &parts, 0.0);
            if (boundary)
                take_boundaries(boundary, &plan->stage[s].chunk[v], &load);
            out[plait_schedule_chunk((plait_schedule)d->schedule, d->pp, s, v)] =
                stage_of_load(&load, d->ep_overlap);
        }
    return PLAIT_OK;
}

/* ---- duration ---- */

/*
 * Simulates one pipeline. *s receives the time from its first action to its last or, without a
 * barrier, the longest such time of one rank.
 */
static plait_status span_of(plait_pipelines *cache, const plait_pipeline_shape *shape,
                            const plait_sim_stage *stage, bool barrier, plait_arena *scratch,
                            double *s, plait_error *err)
{
    plait_sim_spans spans;

    PLAIT_TRY(span_cache_spans(cache, shape, stage, scratch, &spans, err));
    *s = barrier ? spans.pipeline_s : spans.rank_s;
    return PLAIT_OK;
}

/*
 * Number of microbatches to simulate. For a long step this is a multiple of the period 2 * ranks,
 * after which all orders of actions repeat, and at least eight periods. A step whose schedule has
 * groups larger than the number of ranks is simulated whole.
 */
static int microbatches_simulated(const plait_pipeline_shape *shape)
{
    const int period = 2 * shape->ranks;
    const int64_t of_each = plait_schedule_action_count(shape) / shape->microbatches;
    const int64_t periods = PLAIT_SIM_ACTIONS / of_each / period;
    const int64_t most = (periods > 8 ? periods : 8) * period;

    return plait_schedule_group(shape) > shape->ranks || shape->microbatches < most
               ? shape->microbatches
               : (int)most;
}

/*
 * Simulates the first part of a long step, and extrapolates the rest from the last quarter of that
 * part. (C.76)
 */
static plait_status extended_span(plait_pipelines *cache, plait_pipeline_shape shape,
                                  const plait_sim_stage *stage, bool barrier, plait_arena *arena,
                                  double *s, plait_error *err)
{
    const int all = shape.microbatches;
    const int period = 2 * shape.ranks;
    double before_s = 0.0;

    shape.microbatches = microbatches_simulated(&shape);
    PLAIT_TRY(span_of(cache, &shape, stage, barrier, arena, s, err));
    if (shape.microbatches == all)
        return PLAIT_OK;
    const int quarter = shape.microbatches / period / 4 * period;
    const int left = all - shape.microbatches;
    shape.microbatches -= quarter;
    PLAIT_TRY(span_of(cache, &shape, stage, barrier, arena, &before_s, err));
    *s += (*s - before_s) * left / quarter;
    return PLAIT_OK;
}

plait_status pipeline_simulate(const stage_rows *rows, const plait_plan *plan,
                               const fused_boundary *boundary, plait_pipelines *cache,
                               plait_arena *arena, double *pipeline_s, plait_error *err)
{
    const plait_pipeline_shape shape = pipeline_shape_of(rows->problem, &plan->degrees);
    const size_t stages = (size_t)shape.ranks * (size_t)shape.chunks;
    plait_sim_stage *stage = plait_arena_alloc(arena, stages, sizeof *stage);
    double s;

    PLAIT_TRY(plait_check_allocated(stage, err));
    if (!plait_schedule_has_actions(&shape))
        return PLAIT_OK;
    PLAIT_TRY(pipeline_chunks(rows, plan, boundary, arena, stage, err));
    PLAIT_TRY(extended_span(cache, shape, stage, !plan->degrees.post_validation, arena, &s, err));
    *pipeline_s = larger(*pipeline_s, s); // rounding may put the simulation below the bound
    return PLAIT_OK;
}
