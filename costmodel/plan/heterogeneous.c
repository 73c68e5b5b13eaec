/*
 * heterogeneous.c - the price of a plan whose stages differ, with every term
 *
 *     step = pipeline (C.73) + sends (C.224, C.225) + maximum over stages of gradients,
 *            parameters and optimizer (C.226)
 *
 * Each stage is summed on its own nodes (stage_pricer.c). A step waits for the slowest stage.
 * Memory, energy and dollars are computed for each stage on its own nodes.
 */
#include <math.h>

#include "costmodel/plan/cost_parts.h"
#include "plait/units.h"

/* The pricer and the cost of each stage, and the sends between stages. */
typedef struct mixed_rows {
    const plait_problem *problem;
    const plait_plan *plan;
    int microbatches;
    plait_stage_pricer **pricer; /* [stages]; neighbours may share one */
    stage_cost *cost;            /* [stages] */
    stage_parts *parts;          /* [stages] */
    plait_between_stages between;
    double pipeline_s;
    int slowest;
} mixed_rows;

// ---- stages --------------------------------------------------------------------------------

static bool same_pricer(const plait_stage *a, const plait_stage *b)
{
    plait_degrees as_a = b->degrees;

    as_a.recompute = a->degrees.recompute;
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (!plait_key_same(&a->degrees, &as_a, (plait_key_id)key))
            return false;
    return a->group == b->group;
}

static bool make_pricers(mixed_rows *rows, plait_arena *arena)
{
    const plait_plan *plan = rows->plan;
    const size_t stages = (size_t)plan->stages;

    rows->pricer = plait_arena_alloc(arena, stages, sizeof(plait_stage_pricer *));
    rows->cost = plait_arena_alloc(arena, stages, sizeof *rows->cost);
    rows->parts = plait_arena_alloc(arena, stages, sizeof *rows->parts);
    if (!rows->pricer || !rows->cost || !rows->parts)
        return false;
    for (int s = 0; s < plan->stages; s++) {
        const plait_stage *stage = &plan->stage[s];
        plait_degrees d = stage->degrees;
        d.pp = plait_stage_pricer_stages(rows->problem, stage->group, &d); // (C.221)
        rows->pricer[s] =
            s > 0 && same_pricer(stage, &plan->stage[s - 1])
                ? rows->pricer[s - 1]
                : plait_stage_pricer_new(rows->problem, stage->group, &d, NULL, arena);
        if (!rows->pricer[s])
            return false;
    }
    return true;
}

/*
 * Sums the cost of each stage. Each stage gets its own list of parts, since a shared pricer stores
 * the parts of only one stage.
 */
static bool cost_stages(mixed_rows *rows, plait_arena *arena)
{
    const plait_plan *plan = rows->plan;

    for (int s = 0; s < plan->stages; s++) {
        const int end = s == 0 ? plan->stages - 1 : 0;
        stage_part *part =
            plait_arena_alloc(arena, (size_t)stage_parts_most(plan->stage[s].layers), sizeof *part);
        if (!part)
            return false;
        rows->cost[s] = stage_pricer_sum(
            rows->pricer[s], &plan->stage[s], plan->stage[end].group,
            plait_schedule_in_flight(PLAIT_1F1B, plan->stages, s, 1, rows->microbatches), NULL);
        rows->parts[s] = stage_parts_of(rows->problem->model, &plan->stage[s], part);
    }
    return true;
}

static void sum_plan(mixed_rows *rows)
{
    plait_chain walk = plait_chain_begin();
    double longest_s = 0.0;

    for (int s = 0; s < rows->plan->stages; s++) {
        const stage_load *load = &rows->cost[s].load;
        const plait_stage_price price = stage_pricer_price(rows->pricer[s], &rows->cost[s]);
        plait_chain_pass(&walk, rows->plan->stages, rows->microbatches, chunk_time_of(load));
        plait_between_add_stage(&rows->between, &price);
        if (s > 0)
            plait_between_add_boundary(&rows->between, rows->pricer[s - 1], rows->pricer[s]);
        if (load->forward_s + load->backward_s > longest_s) {
            longest_s = load->forward_s + load->backward_s;
            rows->slowest = s;
        }
    }
    rows->pipeline_s = walk.whole_s;
}

// ---- the cost of the plan ------------------------------------------------------------------

static void fill_time(const mixed_rows *rows, plait_cost *cost)
{
    const double m = rows->microbatches;
    const stage_rows prices = stage_rows_of(rows->pricer[rows->slowest]);
    const stage_load *slowest = &rows->cost[rows->slowest].load;
    const plait_step_time beside = {
        .pp_comm_s = plait_between_sends_s(rows->problem, &rows->between, rows->microbatches,
                                           rows->pipeline_s),
        .bubble_s = larger(0.0, rows->pipeline_s - m * (slowest->forward_s + slowest->backward_s)),
        .dp_comm_s = rows->between.tail.reduce_s + rows->between.tail.gather_s,
        .optimizer_s = rows->between.tail.optimizer_s,
    };
    double terms[LAYER_TERMS];

    stage_terms(&prices, &rows->parts[rows->slowest], terms);
    cost_set_step(rows->problem, terms, m, &beside, cost);
    cost->slowest_stage = rows->slowest;
    for (int how = 0; how < PLAIT_GRAD_SYNCS; how++)
        cost->sync_step_s[how] = cost->step_s; // only one grad_sync is legal (rule P34)
}

/*
 * Fills memory. The fullest stage is the one with the highest ratio of peak to capacity on its own
 * nodes.
 */
static void fill_memory(const mixed_rows *rows, plait_stage_cost *stages, plait_cost *cost)
{
    const plait_problem *problem = rows->problem;
    double highest = -1.0, host_bytes = 0.0;

    cost->stage = stages;
    cost->stages = rows->plan->stages;
    for (int s = 0; s < cost->stages; s++) {
        const plait_stage_pricer *pricer = rows->pricer[s];
        const stage_cost *stage = &rows->cost[s];
        plait_memory memory = stage_memory(&pricer->problem, &pricer->degrees, stage);
        memory.capacity_bytes = plait_capacity_bytes(&pricer->problem, problem->risk);
        host_bytes =
            larger(host_bytes, stage_host_bytes(&pricer->problem, &pricer->degrees, &stage->load,
                                                stage_away_bytes(&pricer->row, &rows->parts[s])));
        stages[s] = stage_cost_report(stage, &memory);
        if (memory.peak_bytes / memory.capacity_bytes > highest) {
            highest = memory.peak_bytes / memory.capacity_bytes;
            cost->memory = memory;
            cost->fullest_stage = s;
        }
    }
    cost_set_memory(problem, host_bytes, cost);
    cost_judge(&rows->pricer[cost->fullest_stage]->problem, cost);
}

/*
 * Fills rates, energy and cost. Stages are weighted by their GPUs, and idle node groups are not
 * priced. (C.228)
 */
static void fill_rates(const mixed_rows *rows, plait_cost *cost)
{
    const plait_job *job = &rows->problem->job;
    const double gpus = plait_plan_gpus(rows->plan, -1);
    token_flops flops = token_flops_of(rows->problem);
    bool skips = true;
    double peak = 0.0;

    cost->cost_usd = cost->energy_j = 0.0;
    for (int s = 0; s < rows->plan->stages; s++) {
        const stage_load *load = &rows->cost[s].load;
        const plait_degrees *d = &rows->pricer[s]->degrees;
        plait_problem of_stage = rows->pricer[s]->problem;
        const plait_accelerator *gpu = plait_cluster_accelerator(of_stage.cluster, 0);
        const double m = rows->microbatches;

        of_stage.job.gpus /= d->pp;
        const double share = of_stage.job.gpus / gpus;
        const plait_price price = {
            .step_s = cost->step_s,
            .busy_s = m * load->busy_s,
            .moving_s = m * load->moving_s + rows->between.tail.optimizer_s,
        };
        peak += share * gpu->peak_flops_per_s[job->precision];
        stage_add_rerun(rows->problem, &rows->parts[s], &flops);
        skips = skips && attention_skips(d->attention);
        cost->busy_s += share * price.busy_s;
        cost->moving_s += share * price.moving_s;
        cost->cost_usd += gpu->usd_per_hour > 0.0
                              ? of_stage.job.gpus * gpu->usd_per_hour * cost->step_s / PLAIT_HOUR
                              : (double)NAN;
        cost->energy_j += plait_energy_j(&of_stage, price);
        const plait_confidence confidence = confidence_of(&of_stage, d);
        cost->confidence = confidence < cost->confidence ? confidence : cost->confidence;
    }
    cost_rates(&flops, skips, plait_job_tokens(job) / cost->step_s / gpus, peak, cost);
}

plait_status mixed_cost(const plait_problem *problem, const plait_plan *plan, plait_arena *arena,
                        plait_cost *cost, plait_error *err)
{
    mixed_rows rows = {
        .problem = problem,
        .plan = plan,
        .microbatches = plait_degrees_microbatches(&plan->stage[0].degrees, problem->job.gbs),
    };
    plait_stage_cost *stages = plait_arena_alloc(arena, (size_t)plan->stages, sizeof *stages);

    PLAIT_TRY(plait_check_allocated(
        stages && make_pricers(&rows, arena) && cost_stages(&rows, arena), err));
    sum_plan(&rows);
    fill_time(&rows, cost);
    fill_memory(&rows, stages, cost);
    fill_rates(&rows, cost);
    return PLAIT_OK;
}
