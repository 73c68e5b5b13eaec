/* cost.c - the price of one full plan, every term kept */
#include "plait/cost.h"

#include <math.h>
#include <stdio.h>

#include "plait/units.h"
#include "table.h"

/* Everything that pricing one plan looks at. */
typedef struct plan_rows {
    const plait_problem *problem;
    const plait_plan *plan;
    layer_row row;
    gather_row gather;
    sync_routes routes;
    double send_s;
    stage_load *load; /* [stages] */
    stage_sync *sync;
    stage_state *state;
} plan_rows;

// ---- stages --------------------------------------------------------------------------------

static stage_load sum_stage(const plan_rows *rows, int s)
{
    const plait_stage *stage = &rows->plan->stage[s];
    const plait_degrees *d = &stage->degrees;
    stage_load load;
    int at = 0;

    stage_load_begin(rows->problem, d, s, &load);
    for (int c = 0; c < stage->chunks; c++) {
        const plait_chunk *chunk = &stage->chunk[c];
        stage_load_add_ends(rows->problem, d, &rows->row, &rows->gather, chunk->embedding,
                            chunk->loss, chunk->mtp, &load);
        for (int i = chunk->first; i < chunk->last; i++, at++) {
            const int kind = rows->problem->model->layer_kind[i];
            const layer_time time = layer_time_of(rows->problem, &rows->row.price[kind],
                                                  &rows->gather.layer[kind], stage->recompute[at]);
            stage_load_add_layer(&rows->row.price[kind], &time, &load);
        }
    }
    return load;
}

/* A tied table is held once by a stage that has both ends. */
static void sum_stages(plan_rows *rows)
{
    const plait_degrees *d = &rows->plan->degrees;
    const shard_ways ways = shard_ways_of(d);

    for (int s = 0; s < rows->plan->stages; s++) {
        rows->load[s] = sum_stage(rows, s);
        rows->state[s] = stage_state_of(rows->problem, d, &rows->row, ways, &rows->load[s]);
        rows->sync[s] = stage_sync_of(rows->problem, d, &rows->routes, &rows->load[s]);
    }
}

// ---- terms ---------------------------------------------------------------------------------

static void add_terms(const plan_rows *rows, const layer_price *price, const layer_gather *gather,
                      plait_recompute recompute, double terms[LAYER_TERMS])
{
    double of_layer[LAYER_TERMS];

    layer_terms_of(rows->problem, price, gather, recompute, of_layer);
    for (int t = 0; t < LAYER_TERMS; t++)
        terms[t] += of_layer[t];
}

/* One microbatch of a stage, by term. */
static void terms_of_stage(const plan_rows *rows, int s, double terms[LAYER_TERMS])
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const plait_stage *stage = &rows->plan->stage[s];
    const layer_row *row = &rows->row;
    const gather_row *gather = &rows->gather;
    int at = 0;

    for (int t = 0; t < LAYER_TERMS; t++)
        terms[t] = 0.0;
    for (int c = 0; c < stage->chunks; c++) {
        const plait_chunk *chunk = &stage->chunk[c];
        const int mtp_kind = rows->problem->model->mtp_kind;
        if (chunk->embedding)
            add_terms(rows, &row->price[ROW_EMBEDDING], &gather->layer[ROW_EMBEDDING], none, terms);
        for (int i = 0; i < chunk->mtp; i++)
            add_terms(rows, &row->price[mtp_kind], &gather->layer[mtp_kind],
                      stage->degrees.recompute, terms);
        for (int i = 0; i < chunk->loss + chunk->mtp; i++)
            add_terms(rows, &row->price[ROW_HEAD], &gather->layer[ROW_HEAD], none, terms);
        for (int i = chunk->first; i < chunk->last; i++, at++) {
            const int kind = rows->problem->model->layer_kind[i];
            add_terms(rows, &row->price[kind], &gather->layer[kind], stage->recompute[at], terms);
        }
    }
}

static double sum_of_terms(const plait_step_time *step)
{
    double sum = 0.0;

#define X(name, equation, what) sum += step->name##_s;
    PLAIT_STEP_TERMS(X)
#undef X
    return sum;
}

static double band_edge(double step_s, double factor)
{
    return factor > 0.0 ? factor * step_s : (double)NAN;
}

static void fill_time(const plan_rows *rows, const step_sum *sum, plait_cost *cost)
{
    const double m = plait_degrees_microbatches(&rows->plan->degrees, rows->problem->job.gbs);
    double terms[LAYER_TERMS];

    terms_of_stage(rows, sum->slowest, terms);
    cost->step = (plait_step_time){
        .matmul_s = m * terms[LAYER_MATMUL],
        .attention_s = m * terms[LAYER_ATTENTION],
        .memory_ops_s = m * terms[LAYER_MEMORY_OPS],
        .recompute_s = m * terms[LAYER_RECOMPUTE],
        .launch_s = m * terms[LAYER_LAUNCH],
        .tp_comm_s = m * terms[LAYER_TP],
        .cp_comm_s = m * terms[LAYER_CP],
        .ep_comm_s = m * terms[LAYER_EP],
        .gather_s = m * terms[LAYER_GATHER],
        .pp_comm_s = sum->pp_comm_s,
        .bubble_s = sum->pipeline_s - sum->busy_s,
        .dp_comm_s = sum->dp_comm_s,
        .optimizer_s = sum->optimizer_s,
    };
    cost->step_s = sum_of_terms(&cost->step);
    cost->step_low_s = band_edge(cost->step_s, rows->problem->band.low);
    cost->step_high_s = band_edge(cost->step_s, rows->problem->band.high);
    cost->busy_s = sum->busy_s_a_gpu;
    cost->moving_s = sum->moving_s_a_gpu;
    cost->slowest_stage = sum->slowest;
}

// ---- memory --------------------------------------------------------------------------------

static void fill_memory(const plan_rows *rows, plait_stage_cost *stages, plait_cost *cost)
{
    const plait_degrees *d = &rows->plan->degrees;

    for (int s = 0; s < rows->plan->stages; s++) {
        const stage_load *load = &rows->load[s];
        const plait_memory memory =
            stage_memory(rows->problem, d, &rows->row, load, &rows->state[s]);
        stages[s] = (plait_stage_cost){
            .forward_s = load->forward_s,
            .backward_s = load->backward_s,
            .memory_bytes = memory.peak_bytes,
            .allocated_bytes = memory.allocated_bytes,
            .reserved_bytes = memory.reserved_bytes,
            .in_flight = load->in_flight,
        };
        if (s == 0 || memory.peak_bytes > cost->memory.peak_bytes) {
            cost->memory = memory;
            cost->fullest_stage = s;
        }
    }
    cost->stage = stages;
    cost->stages = rows->plan->stages;
}

static void judge(const plan_rows *rows, plait_cost *cost)
{
    const plait_memory *memory = &cost->memory;

    cost->verdict = PLAIT_FITS;
    if (memory->peak_bytes <= memory->capacity_bytes)
        return;
    cost->verdict = PLAIT_OUT_OF_MEMORY;
    cost->missing_bytes = memory->peak_bytes - memory->capacity_bytes;
    snprintf(cost->why, sizeof cost->why,
             "stage %d of %d needs %.1f GiB of %.1f GiB: %.1f GiB too much", cost->fullest_stage,
             rows->plan->stages, memory->peak_bytes / PLAIT_GIB, memory->capacity_bytes / PLAIT_GIB,
             cost->missing_bytes / PLAIT_GIB);
}

// ---- rates and confidence ------------------------------------------------------------------

static double recomputed_flops_per_token(const plan_rows *rows)
{
    const plait_problem *problem = rows->problem;
    double flops = 0.0;

    for (int s = 0; s < rows->plan->stages; s++) {
        const plait_stage *stage = &rows->plan->stage[s];
        int at = 0;
        for (int c = 0; c < stage->chunks; c++) {
            for (int i = stage->chunk[c].first; i < stage->chunk[c].last; i++, at++) {
                const plait_recompute choice = stage->recompute[at];
                if (choice.kind == PLAIT_RECOMPUTE_NONE)
                    continue;
                const unsigned parts = choice.kind == PLAIT_RECOMPUTE_FULL
                                           ? ~0u
                                           : plait_recompute_masks_of(choice).parts;
                flops += plait_layer_flops_per_token(
                    problem->model, &problem->model->kind[problem->model->layer_kind[i]],
                    problem->job.seq, parts);
            }
        }
    }
    return flops;
}

static void fill_rates(const plan_rows *rows, plait_cost *cost)
{
    const plait_job *job = &rows->problem->job;
    const plait_accelerator *gpu = plait_cluster_accelerator(rows->problem->cluster, 0);
    const double peak = gpu->peak_flops_per_s[job->precision];
    const double model_flops = plait_model_flops_per_token(rows->problem->model, job->seq, false);
    const double hardware_flops = model_flops + recomputed_flops_per_token(rows);

    cost->tokens_per_s_per_gpu = plait_job_tokens(job) / cost->step_s / job->gpus;
    cost->model_flops_per_s = cost->tokens_per_s_per_gpu * model_flops;
    cost->mfu = peak > 0.0 ? cost->model_flops_per_s / peak : 0.0;
    cost->hfu = peak > 0.0 ? cost->tokens_per_s_per_gpu * hardware_flops / peak : 0.0;
}

static plait_confidence confidence_of(const plait_problem *problem)
{
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);
    const plait_attention_kernel kernel = problem->job.attention;
    const bool attention =
        kernel <= PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL || gpu->attention[kernel].measured;
    const bool kernels = gpu->gemm[problem->job.precision].measured && attention;
    const bool wires = gpu->collective[PLAIT_ALL_REDUCE].measured;

    if (!kernels)
        return PLAIT_CONFIDENCE_LOW;
    return wires && problem->runtime->calibrated ? PLAIT_CONFIDENCE_HIGH : PLAIT_CONFIDENCE_MEDIUM;
}

// ---- the price -----------------------------------------------------------------------------

static plan_rows *new_rows(const plait_problem *problem, const plait_plan *plan, plait_arena *arena)
{
    const size_t stages = (size_t)plan->stages;
    plan_rows *rows = plait_arena_alloc(arena, 1, sizeof *rows);

    if (!rows)
        return NULL;
    rows->problem = problem;
    rows->plan = plan;
    rows->load = plait_arena_alloc(arena, stages, sizeof *rows->load);
    rows->sync = plait_arena_alloc(arena, stages, sizeof *rows->sync);
    rows->state = plait_arena_alloc(arena, stages, sizeof *rows->state);
    if (!rows->load || !rows->sync || !rows->state)
        return NULL;
    layer_row_fill(problem, &plan->degrees, &rows->row);
    rows->routes = sync_routes_of(problem, &plan->degrees);
    gather_row_fill(problem, &plan->degrees, &rows->routes, &rows->row, &rows->gather);
    rows->send_s = pipeline_send_s(problem, &plan->degrees, &rows->row);
    return rows;
}

plait_status plait_plan_cost(const plait_problem *problem, const plait_plan *plan,
                             plait_arena *arena, plait_cost *cost, plait_error *err)
{
    *cost = (plait_cost){.verdict = PLAIT_INVALID, .confidence = confidence_of(problem)};
    if (plait_degrees_check(problem, &plan->degrees, cost->why, sizeof cost->why) == PLAIT_INVALID)
        return PLAIT_OK;

    plan_rows *rows = new_rows(problem, plan, arena);
    plait_stage_cost *stages = plait_arena_alloc(arena, (size_t)plan->stages, sizeof *stages);
    if (!rows || !stages)
        return plait_fail_nomem(err);
    sum_stages(rows);
    const step_sum sum = step_sum_of(problem, &plan->degrees,
                                     plait_degrees_microbatches(&plan->degrees, problem->job.gbs),
                                     rows->send_s, rows->load, rows->sync, plan->stages);
    fill_time(rows, &sum, cost);
    fill_memory(rows, stages, cost);
    judge(rows, cost);
    fill_rates(rows, cost);
    plait_cost_money(problem, cost);
    volumes_of(problem, plan, &rows->row, &rows->load[sum.slowest], &sum, cost);
    return PLAIT_OK;
}
