/*
 * cost.c - the price of one full plan, every term kept
 *
 * The same rows, parts and sums as a table's (table.c), stage by stage instead of class by class, and
 * with each layer's time broken down by what it is spent on. A property test holds the two equal.
 */
#include "plait/cost.h"

#include <math.h>
#include <stdio.h>

#include "plait/units.h"
#include "costmodel/plan/cost_parts.h"
#include "costmodel/stage/layer_sharding.h"
#include "costmodel/layer/fuse.h"
#include "rules/plan_check.h"
#include "plan/problem_check.h"

/* Everything that pricing one plan looks at. */
typedef struct plan_rows {
    const plait_problem *problem;
    const plait_plan *plan;
    layer_row row;
    gather_row gather;
    sync_routes routes;
    double send_s;
    plait_stage *held;  /* [stages]: what each rank holds */
    stage_parts *parts; /* [stages] */
    stage_load *load;
    stage_load *fused; /* the same where boundaries are fused */
    stage_sync *sync;
    stage_state *state;
    stage_part *room;      /* of one chunk */
    stage_run *run;        /* each stage is its own */
    plait_rank_run *ranks; /* room of step_sum_of */
    fused_boundary boundary;
    bool fuses;     /* boundaries are fused: `load` has what they save */
    bool unlike;    /* layers are cut unlike each other ... */
    plan_cuts cuts; /* ... so */
} plan_rows;

// ---- stages --------------------------------------------------------------------------------

/* One chunk of what a rank holds, alone. */
static stage_load chunk_alone(const plan_rows *rows, int s, int v)
{
    const stage_parts parts =
        stage_parts_of_chunk(rows->problem->model, &rows->held[s], v, rows->room);
    stage_load load = {.count = 1};

    stage_load_add_parts(rows->problem, &rows->row, &rows->gather, &parts, &load);
    return load;
}

/* The times of a rank's ends, and what its chunks keep in flight: of unlike ones, one by one. */
static void take_chunks(const plan_rows *rows, int s, int microbatches, stage_load *load)
{
    const plait_stage *held = &rows->held[s];
    double in_flight[PLAIT_MAX_LAYERS];
    stage_load chunk = {0};

    load->first = load->last = chunk_time_of(load);
    load->held_bytes = load->in_flight * load->saved_bytes;
    if (held->chunks == 1)
        return;
    const bool unlike =
        stage_chunks_held(&rows->plan->degrees, held->chunk, s, microbatches, in_flight);
    if (unlike)
        load->held_bytes = 0.0;
    for (int v = 0; v < held->chunks; v++) {
        if (!unlike && v > 0 && v < held->chunks - 1)
            continue;
        chunk = chunk_alone(rows, s, v);
        load->first = v == 0 ? chunk_time_of(&chunk) : load->first;
        load->held_bytes += unlike ? in_flight[v] * chunk.saved_bytes : 0.0;
    }
    load->last = chunk_time_of(&chunk);
}

/* Times, bytes and parameters of one stage: its parts times how often it has them. */
static stage_load sum_stage(const plan_rows *rows, int s)
{
    const plait_degrees *d = &rows->plan->degrees;
    const int m = plait_degrees_microbatches(d, rows->problem->job.gbs);
    const stage_parts *parts = &rows->parts[s];
    stage_load load = {
        .index = s,
        .count = 1,
        .in_flight = plait_schedule_in_flight((plait_schedule)d->schedule, d->pp, s, d->vpp, m),
        .embedding = stage_parts_have(parts, ROW_EMBEDDING),
        .loss = stage_parts_have(parts, ROW_HEAD) || stage_parts_have(parts, ROW_MTP_HEAD),
    };

    stage_load_add_parts(rows->problem, &rows->row, &rows->gather, parts, &load);
    take_chunks(rows, s, m, &load);
    return load;
}

/* The same where its layers are cut unlike each other. */
static void sum_cut_stage(plan_rows *rows, int s)
{
    const plait_degrees *d = &rows->plan->degrees;
    const int m = plait_degrees_microbatches(d, rows->problem->job.gbs);

    rows->load[s] = (stage_load){
        .index = s,
        .count = 1,
        .in_flight = plait_schedule_in_flight((plait_schedule)d->schedule, d->pp, s, d->vpp, m)};
    cuts_sum_stage(&rows->cuts, s, &rows->load[s], &rows->state[s], &rows->sync[s]);
    rows->run[s] = (stage_run){s, 1};
}

static void sum_stages(plan_rows *rows)
{
    for (int s = 0; s < rows->plan->stages; s++) {
        if (rows->unlike) {
            sum_cut_stage(rows, s);
            continue;
        }
        const plait_degrees *own = &rows->plan->stage[s].degrees;
        const sync_routes routes = routes_of_stage(rows->problem, &rows->routes, own);
        rows->load[s] = sum_stage(rows, s);
        rows->state[s] = stage_state_of(rows->problem, own, &rows->row, &routes.state, routes.ways,
                                        &rows->load[s]);
        rows->sync[s] = stage_sync_of(rows->problem, own, &routes, &rows->load[s]);
        rows->run[s] = (stage_run){s, 1};
    }
}

/*
 * The stages' sum, with fused boundaries where that is shorter; where a sum is only a bound of the
 * pipeline, that is simulated. (C.76, C.143)
 */
static plait_status sum_step(plan_rows *rows, plait_pipelines *memo, plait_arena *arena,
                             step_sum *sum, plait_error *err)
{
    const plait_degrees *d = &rows->plan->degrees;
    const step_parts parts = {
        .problem = rows->problem,
        .degrees = d,
        .microbatches = plait_degrees_microbatches(d, rows->problem->job.gbs),
        .send_s = rows->send_s,
        .loads = rows->plan->stages,
        .load = rows->load,
        .sync = rows->sync,
        .runs = rows->plan->stages,
        .run = rows->run,
        .ranks = rows->ranks,
    };

    PLAIT_TRY(simulated_sum_of(&parts, rows->plan, &rows->row, &rows->gather, &rows->boundary,
                               rows->fused, memo, arena, sum, &rows->fuses, err));
    if (rows->fuses)
        rows->load = rows->fused;
    return PLAIT_OK;
}

/* What `auto` made of each rule, for the slowest stage. */
static void fill_fused(const plan_rows *rows, const step_sum *sum, plait_cost *cost)
{
    const plait_degrees *d = &rows->plan->degrees;

    cost->fuses = d->fusion != PLAIT_FUSION_NONE;
    if (!cost->fuses)
        return;
    fuse_layers_report(rows->problem, &rows->row, &rows->parts[sum->slowest],
                       plait_degrees_microbatches(d, rows->problem->job.gbs), cost->fused);
    if (rows->boundary.known)
        cost->fused[rows->boundary.rule] =
            fused_boundary_report(rows->problem, d, &rows->boundary, rows->fuses);
}

// ---- terms ---------------------------------------------------------------------------------

void stage_terms(const plait_problem *problem, const layer_row *row, const gather_row *gather,
                 const stage_parts *parts, double terms[LAYER_TERMS])
{
    double of_part[LAYER_TERMS];

    for (int t = 0; t < LAYER_TERMS; t++)
        terms[t] = 0.0;
    for (int i = 0; i < parts->count; i++) {
        const stage_part *part = &parts->part[i];
        layer_terms_of(problem, &row->price[part->row], &gather->layer[part->row], part->choice,
                       of_part);
        for (int t = 0; t < LAYER_TERMS; t++)
            terms[t] += parts->share * part->count * of_part[t];
    }
}

double sum_of_terms(const plait_step_time *step)
{
    double sum = 0.0;

#define X(name, equation, what) sum += step->name##_s;
    PLAIT_STEP_TERMS(X)
#undef X
    return sum;
}

/* C.98: a factor on the step; NaN, which writes as null, where no evidence speaks. */
double band_edge(double step_s, double factor)
{
    return factor > 0.0 ? factor * step_s : (double)NAN;
}

/*
 * The step as terms (C.80): what the slowest stage does m times, what the schedule adds to that, and
 * what follows the last microbatch. Their sum is the step, to the last digit.
 */
static void fill_time(const plan_rows *rows, const step_sum *sum, plait_cost *cost)
{
    const double m = plait_degrees_microbatches(&rows->plan->degrees, rows->problem->job.gbs);
    double terms[LAYER_TERMS];

    if (rows->unlike)
        cuts_terms(&rows->cuts, sum->slowest, terms);
    else
        stage_terms(rows->problem, &rows->row, &rows->gather, &rows->parts[sum->slowest], terms);
    if (rows->fuses)
        fused_boundary_terms(rows->problem, &rows->plan->degrees, &rows->row, &rows->boundary,
                             &rows->load[sum->slowest], terms);
    cost->step = (plait_step_time){
#define X(name) .name##_s = m * terms[LAYER_##name],
        LAYER_TERM_LIST(X)
#undef X
            .pp_comm_s = sum->pp_comm_s,
        .bubble_s = larger(0.0, sum->pipeline_s - sum->busy_s), // sums in another order
        .dp_comm_s = sum->dp_comm_s,
        .optimizer_s = sum->optimizer_s,
    };
    cost->step.ep_comm_s -= sum->paired_s;
    cost->step_s = sum_of_terms(&cost->step);
    cost->step_low_s = band_edge(cost->step_s, rows->problem->band.low);
    cost->step_high_s = band_edge(cost->step_s, rows->problem->band.high);
    cost->busy_s = sum->busy_s_a_gpu;
    cost->moving_s = sum->moving_s_a_gpu;
    cost->slowest_stage = sum->slowest;
}

/* The same step with each way to reduce gradients. (C.184) */
static void fill_syncs(const plan_rows *rows, plait_cost *cost)
{
    plait_degrees d = rows->plan->degrees;

    for (int how = 0; how < PLAIT_GRAD_SYNCS; how++) {
        d.grad_sync = (unsigned char)how;
        cost->sync_step_s[how] =
            cost->step_s - cost->step.dp_comm_s +
            sync_exposed_s(rows->problem, &d, rows->load, rows->sync, rows->plan->stages);
    }
}

// ---- memory --------------------------------------------------------------------------------

double stage_away_bytes(const layer_row *row, const stage_parts *parts)
{
    double bytes = 0.0;

    for (int i = 0; i < parts->count; i++)
        bytes += parts->share * parts->part[i].count *
                 layer_away_bytes(&row->price[parts->part[i].row], parts->part[i].choice);
    return bytes;
}

/* The fullest GPU's terms, and every stage's peak. */
static void fill_memory(const plan_rows *rows, plait_stage_cost *stages, plait_cost *cost)
{
    const plait_degrees *d = &rows->plan->degrees;
    double host_bytes = 0.0;

    for (int s = 0; s < rows->plan->stages; s++) {
        const stage_load *load = &rows->load[s];
        const plait_memory memory =
            stage_memory(rows->problem, d, &rows->row, load, &rows->state[s]);
        if (!rows->unlike) // which nothing is offloaded of (rule P46)
            host_bytes = larger(host_bytes,
                                stage_host_bytes(rows->problem, &rows->plan->stage[s].degrees, load,
                                                 stage_away_bytes(&rows->row, &rows->parts[s])));
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
    const plait_band band = risk_band(rows->problem);
    cost->memory.low_bytes = band.low * cost->memory.peak_bytes;
    cost->memory.high_bytes = band.high * cost->memory.peak_bytes;
    cost->memory.capacity_bytes = plait_capacity_bytes(rows->problem, rows->problem->risk);
    cost->memory.host_bytes = host_bytes;
    cost->memory.host_capacity_bytes = rows->problem->cluster->host_memory_bytes;
    cost->stage = stages;
    cost->stages = rows->plan->stages;
}

static bool host_overflows(const plait_memory *memory)
{
    return memory->host_capacity_bytes > 0.0 && memory->host_bytes > memory->host_capacity_bytes;
}

static void judge_host(plait_cost *cost)
{
    const plait_memory *memory = &cost->memory;

    cost->verdict = PLAIT_OUT_OF_MEMORY;
    cost->missing_bytes = memory->host_bytes - memory->host_capacity_bytes;
    snprintf(cost->why, sizeof cost->why,
             "what is offloaded needs %.1f GiB of a node's host memory of %.1f GiB: %.1f GiB too "
             "much",
             memory->host_bytes / PLAIT_GIB, memory->host_capacity_bytes / PLAIT_GIB,
             cost->missing_bytes / PLAIT_GIB);
}

/*
 * Does the fullest stage fit at the risk that was asked for, may it, or is it more likely that it does
 * not (C.85)?
 */
void cost_judge(const plait_problem *problem, plait_cost *cost)
{
    const plait_memory *memory = &cost->memory;
    const double device = plait_capacity_bytes(problem, 0.5);

    cost->risk = plait_memory_risk(problem, memory->peak_bytes);
    cost->verdict = memory->peak_bytes <= memory->capacity_bytes ? PLAIT_FITS
                    : memory->peak_bytes <= device               ? PLAIT_TIGHT
                                                                 : PLAIT_OUT_OF_MEMORY;
    if (cost->verdict < PLAIT_OUT_OF_MEMORY && host_overflows(memory)) {
        judge_host(cost);
        return;
    }
    if (cost->verdict == PLAIT_FITS)
        return;
    cost->missing_bytes = memory->peak_bytes - memory->capacity_bytes;
    snprintf(
        cost->why, sizeof cost->why,
        "stage %d of %d needs %.1f GiB of %.1f GiB, a %.0f %% risk of running out: %.1f GiB too "
        "much for %g %%",
        cost->fullest_stage, cost->stages, memory->peak_bytes / PLAIT_GIB, device / PLAIT_GIB,
        100.0 * cost->risk, cost->missing_bytes / PLAIT_GIB, 100.0 * risk_accepted(problem->risk));
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

/* Low where kernels are priced by defaults, high where links and software are measured too. */
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

/* Parts of every rank, and room for those of one chunk. */
static bool list_parts(plan_rows *rows, plait_arena *arena)
{
    const plait_schedule schedule = (plait_schedule)rows->plan->degrees.schedule;
    int most = 0;

    for (int s = 0; s < rows->plan->stages; s++) {
        plait_stage *stage = &rows->held[s];
        if (!stage_of_rank(rows->plan, s, arena, stage))
            return false;
        stage_part *room =
            plait_arena_alloc(arena, (size_t)stage_parts_most(stage->layers), sizeof *room);
        if (!room)
            return false;
        rows->parts[s] = stage_parts_of(rows->problem->model, stage, room);
        rows->parts[s].share = 1.0 / plait_schedule_copies(schedule);
        most = stage->layers > most ? stage->layers : most;
    }
    rows->room = plait_arena_alloc(arena, (size_t)stage_parts_most(most), sizeof *rows->room);
    return rows->room != NULL;
}

static plan_rows *new_rows(const plait_problem *problem, const plait_plan *plan, plait_arena *arena)
{
    const size_t stages = (size_t)plan->stages;
    plan_rows *rows = plait_arena_alloc(arena, 1, sizeof *rows);

    if (!rows)
        return NULL;
    rows->problem = problem;
    rows->plan = plan;
    rows->held = plait_arena_alloc(arena, stages, sizeof *rows->held);
    rows->parts = plait_arena_alloc(arena, stages, sizeof *rows->parts);
    rows->load = plait_arena_alloc(arena, stages, sizeof *rows->load);
    rows->fused = plait_arena_alloc(arena, stages, sizeof *rows->fused);
    rows->sync = plait_arena_alloc(arena, stages, sizeof *rows->sync);
    rows->state = plait_arena_alloc(arena, stages, sizeof *rows->state);
    rows->run = plait_arena_alloc(arena, stages, sizeof *rows->run);
    rows->ranks = plait_arena_alloc(arena, stages, sizeof *rows->ranks);
    if (!rows->held || !rows->parts || !rows->load || !rows->fused || !rows->sync || !rows->state ||
        !rows->run || !rows->ranks || !list_parts(rows, arena))
        return NULL;
    layer_row_fill(problem, layer_key_of(&plan->degrees), &rows->row);
    rows->routes = sync_routes_of(problem, &plan->degrees);
    gather_row_fill(problem, &plan->degrees, &rows->routes, &rows->row, &rows->gather);
    rows->send_s = pipeline_send_s(problem, &plan->degrees, &rows->row);
    rows->boundary = fused_boundary_of_plan(problem, plan, &rows->row);
    rows->unlike = plait_plan_cuts(plan);
    if (rows->unlike && !plan_cuts_of(problem, plan, arena, &rows->cuts))
        return NULL;
    return rows;
}

plait_status plait_plan_cost_again(const plait_problem *problem, const plait_plan *plan,
                                   plait_pipelines *memo, plait_arena *arena, plait_cost *cost,
                                   plait_error *err)
{
    *cost = (plait_cost){.verdict = PLAIT_INVALID};
    PLAIT_TRY(problem_check(problem, err));
    if (plait_plan_check(problem, plan, cost->why, sizeof cost->why) == PLAIT_INVALID)
        return PLAIT_OK;
    cost->confidence = confidence_of(problem, &plan->degrees);

    plait_problem of_group;
    plait_cluster cluster;
    if (plait_plan_mixed(problem, plan))
        return plan_of_group(problem, plan, &of_group, &cluster)
                   ? plait_plan_cost_again(&of_group, plan, memo, arena, cost, err)
                   : mixed_cost(problem, plan, arena, cost, err);
    plan_rows *rows = new_rows(problem, plan, arena);
    plait_stage_cost *stages = plait_arena_alloc(arena, (size_t)plan->stages, sizeof *stages);
    if (!rows || !stages)
        return plait_fail_nomem(err);
    sum_stages(rows);
    step_sum sum;
    PLAIT_TRY(sum_step(rows, memo, arena, &sum, err));
    fill_time(rows, &sum, cost);
    fill_syncs(rows, cost);
    fill_memory(rows, stages, cost);
    cost_judge(problem, cost);
    fill_rates(rows, cost);
    plait_cost_money(problem, cost);
    fill_fused(rows, &sum, cost);
    if (rows->unlike) // whose calls are listed nowhere
        return PLAIT_OK;
    return volumes_of(problem, &plan->degrees, &rows->row, &rows->parts[sum.slowest],
                      &rows->load[sum.slowest], &sum, rows->fuses ? &rows->boundary : NULL, arena,
                      cost)
               ? PLAIT_OK
               : plait_fail_nomem(err);
}

plait_status plait_plan_cost(const plait_problem *problem, const plait_plan *plan,
                             plait_arena *arena, plait_cost *cost, plait_error *err)
{
    return plait_plan_cost_again(problem, plan, NULL, arena, cost, err);
}
