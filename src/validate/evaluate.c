/* evaluate.c - price one measured run with its own plan */
#include "validate/evaluate.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "validate/setup.h"

/* ---- memory ---- */

static double most_allocated(const plait_cost *cost)
{
    double most = 0.0;

    for (int s = 0; s < cost->stages; s++)
        if (cost->stage[s].allocated_bytes > most)
            most = cost->stage[s].allocated_bytes;
    return most;
}

static double most_reserved(const plait_cost *cost)
{
    double most = 0.0;

    for (int s = 0; s < cost->stages; s++)
        if (cost->stage[s].reserved_bytes > most)
            most = cost->stage[s].reserved_bytes;
    return most;
}

/*
 * Returns the memory that nvidia-smi shows: reserved by the allocator, plus memory outside of it.
 */
static double device_bytes(const plait_cost *cost, double fragmentation)
{
    double most = 0.0;

    for (int s = 0; s < cost->stages; s++) {
        const plait_stage_cost *const stage = &cost->stage[s];
        const double outside = stage->memory_bytes - fragmentation * stage->allocated_bytes;

        most = fmax(most, stage->reserved_bytes + outside);
    }
    return most;
}

static double memory_of_scope(const plait_problem *problem, const plait_cost *cost,
                              plait_memory_scope scope)
{
    switch (scope) {
    case PLAIT_SCOPE_MAX:
        return most_allocated(cost);
    case PLAIT_SCOPE_RANK0:
        return cost->stage[0].allocated_bytes;
    case PLAIT_SCOPE_LAST_RANK:
        return cost->stage[cost->stages - 1].allocated_bytes;
    case PLAIT_SCOPE_RESERVED:
        return most_reserved(cost);
    case PLAIT_SCOPE_NONE:
    case PLAIT_SCOPE_DEVICE:
    case PLAIT_SCOPES:
        break;
    }
    return device_bytes(cost, problem->runtime->keep.fragmentation);
}

/* ---- the price ---- */

/* Copies a runtime without limits on its plans, for a run that the rules would reject. */
static plait_status open_runtime(const plait_runtime *runtime, plait_arena *arena,
                                 const plait_runtime **out, plait_error *err)
{
    plait_runtime *open = plait_arena_alloc(arena, 1, sizeof *open);
    plait_capabilities *can;

    PLAIT_TRY(plait_check_allocated(open, err));
    *open = *runtime;
    can = &open->can;
    open->rules = PLAIT_RULES_GENERIC;
    for (int key = 0; key < PLAIT_KEYS; key++) {
        can->most[key] = PLAIT_MAX_LAYERS;
        can->takes[key] = plait_key_all((plait_key_id)key);
    }
    can->etp = can->hsdp = can->full_layers = true;
    can->recompute_by = PLAIT_BY_LAYER;
    can->offload_by = PLAIT_BY_STAGE;
    can->precision = (1U << PLAIT_PRECISIONS) - 1U;
    *out = open;
    return PLAIT_OK;
}

/* Copies a cluster with all kernels, since the run's own kernels existed. */
static plait_status open_cluster(const plait_cluster *cluster, plait_arena *arena,
                                 const plait_cluster **out, plait_error *err)
{
    plait_cluster *open = plait_arena_alloc(arena, 1, sizeof *open);
    plait_accelerator *gpu = plait_arena_alloc(arena, 1, sizeof *gpu);

    PLAIT_TRY(plait_check_allocated(open && gpu, err));
    *open = *cluster;
    *gpu = *cluster->group[0].accelerator;
    gpu->missing_kernels = 0;
    open->group[0].accelerator = gpu;
    *out = open;
    return PLAIT_OK;
}

/*
 * Copies a model without parts that some attention kernels reject and that have no price: sinks,
 * ALiBi and dropout. A run with a kernel without dropout of scores had none.
 */
static plait_status open_model(const plait_model *model, plait_arena *arena,
                               const plait_model **out, plait_error *err)
{
    plait_model *open = plait_arena_alloc(arena, 1, sizeof *open);
    plait_layer *kind = plait_arena_alloc(arena, (size_t)model->kinds, sizeof *kind);

    PLAIT_TRY(plait_check_allocated(open && kind, err));
    *open = *model;
    for (int k = 0; k < model->kinds; k++) {
        kind[k] = model->kind[k];
        kind[k].attention.sinks = false;
    }
    open->kind = kind;
    open->dropout = open->numerics.alibi = false;
    *out = open;
    return PLAIT_OK;
}

/*
 * Relaxes kernels, rules and model until the run's plan is valid, and notes the rule that it broke.
 * Fails (RANGE) if the plan stays invalid, such as when its degrees do not divide.
 */
static plait_status make_legal(setup *at, plait_run_price *out, plait_error *err)
{
    char refused[256], why[256];

    PLAIT_TRY(open_cluster(out->problem.cluster, at->arena, &out->problem.cluster, err));
    if (plait_degrees_check(&out->problem, &out->degrees, refused, sizeof refused) != PLAIT_INVALID)
        return PLAIT_OK;
    PLAIT_TRY(open_runtime(out->problem.runtime, at->arena, &out->problem.runtime, err));
    if (plait_degrees_check(&out->problem, &out->degrees, why, sizeof why) == PLAIT_INVALID)
        PLAIT_TRY(open_model(out->problem.model, at->arena, &out->problem.model, err));
    if (plait_degrees_check(&out->problem, &out->degrees, why, sizeof why) == PLAIT_INVALID)
        return plait_fail(err, PLAIT_ERROR_RANGE, "", "%s", why);
    setup_note(at, "violates a rule: %s", refused);
    return PLAIT_OK;
}

/* Computes the bands of a run without the evidence of its own source. */
static plait_status find_band(const setup *at, plait_rules rules, plait_problem *problem,
                              plait_error *err)
{
    const plait_evidence *evidence;
    plait_regime regime;

    PLAIT_TRY(library_evidence(at->shelf, &evidence, err));
    regime = plait_regime_of(problem);
    regime.rules = rules; // the software's own rules, even if make_legal() relaxed them
    PLAIT_TRY(
        plait_evidence_band(evidence, &regime, at->run->source, at->arena, &problem->band, err));
    return plait_evidence_memory_band(evidence, &regime, at->run->source, at->arena,
                                      &problem->memory_band, err);
}

static plait_status price_run(setup *at, plait_run_price *out, plait_error *err)
{
    plait_rules rules;
    plait_plan plan;

    PLAIT_TRY(runs_check_row(at->run, err));
    PLAIT_TRY(setup_model(at, &out->problem.model, err));
    PLAIT_TRY(setup_problem(at, &out->problem, err));
    PLAIT_TRY(setup_degrees(at, &out->problem, &out->degrees, err));
    rules = out->problem.runtime->rules;
    PLAIT_TRY(make_legal(at, out, err));
    PLAIT_TRY(find_band(at, rules, &out->problem, err));
    PLAIT_TRY(plait_plan_expand(&out->problem, &out->degrees, at->arena, &plan, err));
    PLAIT_TRY(plait_plan_evaluate(&out->problem, &plan, NULL, at->arena, &out->cost, err));
    if (out->cost.verdict == PLAIT_INVALID || !(out->cost.step_s > 0.0) ||
        !isfinite(out->cost.step_s))
        return plait_fail(err, PLAIT_ERROR_RANGE, "", "%s",
                          out->cost.why[0] != '\0'
                              ? out->cost.why
                              : "the predicted step time is not a positive number");
    return PLAIT_OK;
}

static void judge_run(const plait_run *run, plait_run_price *out)
{
    out->priced = true;
    out->verdict = out->cost.verdict;
    out->risk = out->cost.risk;
    out->memory_bytes = memory_of_scope(&out->problem, &out->cost, run->scope);
}

static const char *reason_text(const plait_error *why, plait_arena *arena)
{
    return why->where[0] != '\0' ? plait_arena_printf(arena, "%s: %s", why->where, why->message)
                                 : plait_arena_text(arena, why->message);
}

plait_status evaluate_run(library *shelf, const plait_run *run, plait_arena *arena,
                          plait_run_price *out, plait_error *err)
{
    setup at = {.shelf = shelf, .run = run, .arena = arena};
    plait_error why = {PLAIT_OK, "", ""};
    plait_status status;

    *out = (plait_run_price){
        .run = run, .verdict = PLAIT_INVALID, .memory_bytes = (double)NAN, .risk = (double)NAN};
    text_builder_init(&at.note, arena);
    status = price_run(&at, out, &why);
    PLAIT_TRY(faults_only(status, &why, err));
    if (status == PLAIT_OK)
        judge_run(run, out);
    out->unmodelled = at.unmodelled;
    out->note = status == PLAIT_OK ? text_builder_finish(&at.note, NULL) : reason_text(&why, arena);
    return out->note != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status plait_run_evaluate(const plait_run *run, plait_arena *arena, plait_run_price *out,
                                plait_error *err)
{
    library shelf = {.arena = arena};

    return evaluate_run(&shelf, run, arena, out, err);
}
