/*
 * cost.c - the price of one full plan, with every term
 *
 * A plan uses the same rows, parts and sums as a table (table.c), but for each stage instead of
 * each class of stages, and keeps each layer's time by term. A property test compares the two.
 */
#include "plait/cost.h"

#include <math.h>
#include <stdio.h>

#include "plait/units.h"
#include "costmodel/plan/cost_parts.h"
#include "costmodel/stage/layer_sharding.h"
#include "plan/heterogeneous.h"
#include "plan/problem_check.h"

/* Prices of one plan's layers, and the costs of its stages. */
typedef struct plan_rows {
    const plait_problem *problem;
    const plait_plan *plan;
    int microbatches;
    plait_stage_pricer *pricer;
    plait_stage *held;     /* [stages], chunks of each rank */
    stage_parts *parts;    /* [stages] */
    stage_cost *cost;      /* [stages], with fused boundaries if they are faster */
    stage_cost *fused;     /* [stages], scratch for costs with fused boundaries */
    stage_run *run;        /* [stages], one run for each stage */
    plait_rank_run *ranks; /* scratch of step_sum_of */
    fused_boundary boundary;
    bool fuses;
    bool sharded;             /* whether layers are sharded differently */
    plan_shardings shardings; /* valid if `sharded` */
} plan_rows;

// ---- stages --------------------------------------------------------------------------------

/*
 * Fills the times of a rank's first and last chunk, and the activations in flight. If chunks have
 * different numbers of layers, these activations are summed chunk by chunk. (C.260)
 */
static void add_chunks(const plan_rows *rows, const stage_rows *own, int s, stage_load *load)
{
    const plait_stage *held = &rows->held[s];
    double in_flight[PLAIT_MAX_LAYERS];
    stage_load chunk = {0};

    if (held->chunks == 1)
        return;
    const bool uneven =
        stage_chunks_in_flight(&rows->plan->degrees, held->chunk, s, rows->microbatches, in_flight);
    if (uneven)
        load->held_bytes = 0.0;
    for (int v = 0; v < held->chunks; v++) {
        if (!uneven && v > 0 && v < held->chunks - 1)
            continue;
        const stage_parts parts =
            stage_parts_of_chunk(rows->problem->model, held, v, rows->pricer->part);
        chunk = stage_load_of(own, &parts, 0.0);
        load->first = v == 0 ? chunk_time_of(&chunk) : load->first;
        load->held_bytes += uneven ? in_flight[v] * chunk.saved_bytes : 0.0;
    }
    load->last = chunk_time_of(&chunk);
}

static stage_cost cost_of_stage(const plan_rows *rows, int s)
{
    const plait_degrees *d = &rows->plan->degrees;
    const double in_flight =
        plait_schedule_in_flight((plait_schedule)d->schedule, d->pp, s, d->vpp, rows->microbatches);

    if (rows->sharded)
        return sharded_stage_cost(&rows->shardings, s, in_flight);
    const sync_routes routes =
        routes_of_stage(rows->problem, &rows->pricer->routes, &rows->plan->stage[s].degrees);
    stage_rows own = stage_rows_of(rows->pricer);
    own.degrees = &rows->plan->stage[s].degrees;
    own.routes = &routes;
    stage_cost cost = {.load = stage_load_of(&own, &rows->parts[s], in_flight)};
    cost.load.index = s;
    add_chunks(rows, &own, s, &cost.load);
    stage_cost_complete(&own, &cost);
    return cost;
}

/*
 * Computes the time of the step, with fused boundaries if that is shorter. The pipeline is
 * simulated if its closed form is only a bound. (C.76, C.143)
 */
static plait_status sum_step(plan_rows *rows, plait_pipelines *cache, plait_arena *arena,
                             step_sum *sum, plait_error *err)
{
    const stage_rows prices = stage_rows_of(rows->pricer);
    const step_parts parts = {
        .problem = rows->problem,
        .degrees = &rows->plan->degrees,
        .microbatches = rows->microbatches,
        .send_s = pipeline_send_s(rows->problem, &rows->plan->degrees, &rows->pricer->row),
        .costs = rows->plan->stages,
        .cost = rows->cost,
        .runs = rows->plan->stages,
        .run = rows->run,
        .ranks = rows->ranks,
    };

    PLAIT_TRY(simulated_sum_of(&parts, rows->plan, &prices, &rows->boundary, rows->fused, cache,
                               arena, sum, &rows->fuses, err));
    if (rows->fuses)
        rows->cost = rows->fused;
    return PLAIT_OK;
}

/* Records in cost->fused which fusion rules `auto` chose in the slowest stage. */
static void fill_fused(const plan_rows *rows, const step_sum *sum, plait_cost *cost)
{
    const plait_degrees *d = &rows->plan->degrees;
    const stage_parts *parts = &rows->parts[sum->slowest];

    cost->fuses = d->fusion != PLAIT_FUSION_NONE;
    if (!cost->fuses)
        return;
    for (int i = 0; i < parts->count; i++)
        if (parts->part[i].row < ROW_EMBEDDING)
            fuse_layer_report(rows->problem, &rows->pricer->row, parts->part[i].row,
                              (double)rows->microbatches * parts->part[i].count, cost->fused);
    if (rows->boundary.known)
        cost->fused[rows->boundary.rule] =
            fused_boundary_report(rows->problem, d, &rows->boundary, rows->fuses);
}

// ---- terms ---------------------------------------------------------------------------------

/*
 * Returns the step times one factor of its band (C.98). Without measurements the factor is 0 and
 * the result NaN, which is printed as null.
 */
static double band_edge(double step_s, double factor)
{
    return factor > 0.0 ? factor * step_s : (double)NAN;
}

/*
 * Splits the step into terms (C.80): m microbatches of the slowest stage, the bubble of the
 * schedule, and the exposed work after the last microbatch. step_s is computed as the sum of these
 * terms.
 */
void cost_set_step(const plait_problem *problem, const double terms[LAYER_TERMS], double m,
                   const plait_step_time *beside, plait_cost *cost)
{
    cost->step = *beside;
#define X(name) cost->step.name##_s += m * terms[LAYER_##name];
    LAYER_TERM_LIST(X)
#undef X
    cost->step_s = 0.0;
#define X(name, equation, what) cost->step_s += cost->step.name##_s;
    PLAIT_STEP_TERMS(X)
#undef X
    cost->step_low_s = band_edge(cost->step_s, problem->band.low);
    cost->step_high_s = band_edge(cost->step_s, problem->band.high);
}

static void fill_time(const plan_rows *rows, const step_sum *sum, plait_cost *cost)
{
    const stage_rows prices = stage_rows_of(rows->pricer);
    const plait_step_time beside = {
        .ep_comm_s = -sum->paired_s,
        .pp_comm_s = sum->pp_comm_s,
        .bubble_s = larger(0.0, sum->pipeline_s - sum->busy_s), // may round below 0
        .dp_comm_s = sum->dp_comm_s,
        .optimizer_s = sum->optimizer_s,
        .data_s = sum->data_s,
        .reference_s = sum->reference_s,
    };
    double terms[LAYER_TERMS];

    if (rows->sharded)
        sharded_stage_terms(&rows->shardings, sum->slowest, terms);
    else
        stage_terms(&prices, &rows->parts[sum->slowest], terms);
    if (rows->fuses)
        fused_boundary_terms(&prices, &rows->boundary, &rows->cost[sum->slowest].load, terms);
    cost_set_step(rows->problem, terms, rows->microbatches, &beside, cost);
    cost->busy_s = sum->busy_s_a_gpu;
    cost->moving_s = sum->moving_s_a_gpu;
    cost->slowest_stage = sum->slowest;
    cost->forward_pass_s = sum->forward_s;
}

/* Computes the step for each value of grad_sync. (C.184) */
static void fill_syncs(const plan_rows *rows, plait_cost *cost)
{
    plait_degrees d = rows->plan->degrees;

    for (int how = 0; how < PLAIT_GRAD_SYNCS; how++) {
        d.grad_sync = (unsigned char)how;
        cost->sync_step_s[how] = cost->step_s - cost->step.dp_comm_s +
                                 sync_exposed_s(rows->problem, &d, rows->cost, rows->plan->stages);
    }
}

// ---- memory --------------------------------------------------------------------------------

void cost_set_memory(const plait_problem *problem, double host_bytes, plait_cost *cost)
{
    const plait_band band = risk_band(problem);

    cost->memory.low_bytes = band.low * cost->memory.peak_bytes;
    cost->memory.high_bytes = band.high * cost->memory.peak_bytes;
    cost->memory.host_bytes = host_bytes;
    cost->memory.host_capacity_bytes = problem->cluster->host_memory_bytes;
}

/* Fills the memory terms of the fullest GPU, and the peak of every stage. */
static void fill_memory(const plan_rows *rows, plait_stage_cost *stages, plait_cost *cost)
{
    const plait_degrees *d = &rows->plan->degrees;
    double host_bytes = 0.0;

    for (int s = 0; s < rows->plan->stages; s++) {
        const stage_cost *stage = &rows->cost[s];
        const plait_memory memory = stage_memory(rows->problem, d, stage);
        if (!rows->sharded) // plans with per-layer sharding offload nothing (rule P46)
            host_bytes =
                larger(host_bytes,
                       stage_host_bytes(rows->problem, &rows->plan->stage[s].degrees, &stage->load,
                                        stage_away_bytes(&rows->pricer->row, &rows->parts[s])));
        stages[s] = stage_cost_report(stage, &memory);
        if (s == 0 || memory.peak_bytes > cost->memory.peak_bytes) {
            cost->memory = memory;
            cost->fullest_stage = s;
        }
    }
    cost->memory.capacity_bytes = plait_capacity_bytes(rows->problem, rows->problem->risk);
    cost_set_memory(rows->problem, host_bytes, cost);
    cost->stage = stages;
    cost->stages = rows->plan->stages;
}

/*
 * The verdict is FITS if the fullest stage fits at the accepted risk, TIGHT if it fits at a risk of
 * one half, else OUT_OF_MEMORY. (C.85)
 */
void cost_judge(const plait_problem *problem, plait_cost *cost)
{
    const plait_memory *memory = &cost->memory;
    const double device = plait_capacity_bytes(problem, 0.5);

    cost->risk = plait_memory_risk(problem, memory->peak_bytes);
    cost->verdict = memory->peak_bytes <= memory->capacity_bytes ? PLAIT_FITS
                    : memory->peak_bytes <= device               ? PLAIT_TIGHT
                                                                 : PLAIT_OUT_OF_MEMORY;
    if (cost->verdict < PLAIT_OUT_OF_MEMORY && memory->host_capacity_bytes > 0.0 &&
        memory->host_bytes > memory->host_capacity_bytes) {
        cost->verdict = PLAIT_OUT_OF_MEMORY;
        cost->missing_bytes = memory->host_bytes - memory->host_capacity_bytes;
        snprintf(cost->why, sizeof cost->why,
                 "offloading needs %.1f GiB of host memory per node, which has %.1f GiB: %.1f GiB "
                 "too much",
                 memory->host_bytes / PLAIT_GIB, memory->host_capacity_bytes / PLAIT_GIB,
                 cost->missing_bytes / PLAIT_GIB);
        return;
    }
    if (cost->verdict == PLAIT_FITS)
        return;
    cost->missing_bytes = memory->peak_bytes - memory->capacity_bytes;
    snprintf(cost->why, sizeof cost->why,
             "stage %d of %d needs %.1f GiB of %.1f GiB, a %.0f %% risk of running out of memory: "
             "%.1f GiB too much for a risk of %g %%",
             cost->fullest_stage, cost->stages, memory->peak_bytes / PLAIT_GIB, device / PLAIT_GIB,
             100.0 * cost->risk, cost->missing_bytes / PLAIT_GIB,
             100.0 * risk_accepted(problem->risk));
}

// ---- rates and confidence ------------------------------------------------------------------

static void fill_rates(const plan_rows *rows, plait_cost *cost)
{
    const plait_job *job = &rows->problem->job;
    const plait_accelerator *gpu = plait_cluster_accelerator(rows->problem->cluster, 0);
    token_flops flops = token_flops_of(rows->problem);

    for (int s = 0; s < rows->plan->stages; s++)
        stage_add_rerun(rows->problem, &rows->parts[s], &flops);
    cost_rates(&flops, attention_skips(rows->plan->degrees.attention),
               plait_job_tokens(job) / cost->step_s / job->gpus,
               gpu->peak_flops_per_s[job->precision], cost);
}

plait_confidence confidence_of(const plait_problem *problem, const plait_degrees *d)
{
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);
    const plait_attention_kernel kernel = (plait_attention_kernel)d->attention;
    const bool attention =
        kernel <= PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL || gpu->attention[kernel].measured;
    const bool kernels = gpu->gemm[problem->job.precision].measured && attention;
    const bool wires = gpu->collective[PLAIT_ALL_REDUCE].measured;

    if (!kernels)
        return PLAIT_CONFIDENCE_LOW;
    return wires && problem->runtime->calibrated ? PLAIT_CONFIDENCE_HIGH : PLAIT_CONFIDENCE_MEDIUM;
}

// ---- the price -----------------------------------------------------------------------------

/* Lists the layers and ends of every rank as parts. */
static bool list_parts(plan_rows *rows, plait_arena *arena)
{
    const double share =
        1.0 / plait_schedule_replicas((plait_schedule)rows->plan->degrees.schedule);

    for (int s = 0; s < rows->plan->stages; s++) {
        plait_stage *stage = &rows->held[s];
        if (!stage_of_rank(rows->plan, s, arena, stage))
            return false;
        stage_part *part =
            plait_arena_alloc(arena, (size_t)stage_parts_most(stage->layers), sizeof *part);
        if (!part)
            return false;
        rows->parts[s] = stage_parts_of(rows->problem->model, stage, part);
        rows->parts[s].share = share;
    }
    return true;
}

static plan_rows *new_rows(const plait_problem *problem, const plait_plan *plan, plait_arena *arena)
{
    const size_t stages = (size_t)plan->stages;
    plan_rows *rows = plait_arena_alloc(arena, 1, sizeof *rows);

    if (!rows)
        return NULL;
    *rows = (plan_rows){
        .problem = problem,
        .plan = plan,
        .microbatches = plait_degrees_microbatches(&plan->degrees, problem->job.gbs),
        .pricer = stage_pricer_new(problem, &plan->degrees, problem->model->layers, arena),
        .held = plait_arena_alloc(arena, stages, sizeof *rows->held),
        .parts = plait_arena_alloc(arena, stages, sizeof *rows->parts),
        .cost = plait_arena_alloc(arena, stages, sizeof *rows->cost),
        .fused = plait_arena_alloc(arena, stages, sizeof *rows->fused),
        .run = plait_arena_alloc(arena, stages, sizeof *rows->run),
        .ranks = plait_arena_alloc(arena, stages, sizeof *rows->ranks),
        .sharded = plait_plan_cuts(plan),
    };
    if (!rows->pricer || !rows->held || !rows->parts || !rows->cost || !rows->fused || !rows->run ||
        !rows->ranks || !list_parts(rows, arena) ||
        (rows->sharded && !plan_shardings_of(problem, plan, arena, &rows->shardings)))
        return NULL;
    rows->boundary = fused_boundary_of_plan(problem, plan, &rows->pricer->row);
    for (int s = 0; s < plan->stages; s++) {
        rows->cost[s] = cost_of_stage(rows, s);
        rows->run[s] = (stage_run){s, 1};
    }
    return rows;
}

/* Prices a plan with one set of degrees on one kind of node. */
static plait_status uniform_cost(const plait_problem *problem, const plait_plan *plan,
                                 plait_pipelines *cache, plait_arena *arena, plait_cost *cost,
                                 plait_error *err)
{
    plan_rows *rows = new_rows(problem, plan, arena);
    plait_stage_cost *stages = plait_arena_alloc(arena, (size_t)plan->stages, sizeof *stages);
    step_sum sum;

    PLAIT_TRY(plait_check_allocated(rows && stages, err));
    PLAIT_TRY(sum_step(rows, cache, arena, &sum, err));
    fill_time(rows, &sum, cost);
    fill_syncs(rows, cost);
    fill_memory(rows, stages, cost);
    cost_judge(problem, cost);
    fill_rates(rows, cost);
    plait_cost_money(problem, cost);
    fill_fused(rows, &sum, cost);
    if (rows->sharded) // per-layer sharding has no list of collectives
        return PLAIT_OK;
    return volumes_of(problem, &plan->degrees, &rows->pricer->row, &rows->parts[sum.slowest],
                      &rows->cost[sum.slowest].load, &sum, rows->fuses ? &rows->boundary : NULL,
                      arena, cost)
               ? PLAIT_OK
               : plait_fail_nomem(err);
}

plait_status plait_plan_cost(const plait_checked_plan *checked, plait_pipelines *pipelines,
                             plait_arena *arena, plait_cost *cost, plait_error *err)
{
    const plait_problem *problem = checked->problem;
    const plait_plan *plan = checked->plan;
    plait_problem of_group;
    plait_cluster cluster;

    bool mixed = plait_plan_mixed(problem, plan);

    *cost = (plait_cost){.verdict = PLAIT_INVALID};
    if (mixed && plan_of_group(problem, plan, &of_group, &cluster)) {
        problem = &of_group;
        mixed = false;
    }
    cost->confidence = confidence_of(problem, &plan->degrees);
    return mixed ? mixed_cost(problem, plan, arena, cost, err)
                 : uniform_cost(problem, plan, pipelines, arena, cost, err);
}

plait_status plait_plan_evaluate(const plait_problem *problem, const plait_plan *plan,
                                 plait_pipelines *pipelines, plait_arena *arena, plait_cost *cost,
                                 plait_error *err)
{
    plait_checked_plan checked;

    *cost = (plait_cost){.verdict = PLAIT_INVALID};
    PLAIT_TRY(problem_check(problem, err));
    if (plait_plan_check(problem, plan, &checked, cost->why, sizeof cost->why) == PLAIT_INVALID)
        return PLAIT_OK;
    return plait_plan_cost(&checked, pipelines, arena, cost, err);
}
