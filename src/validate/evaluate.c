/* evaluate.c - predict the step time and memory of one measured run */
#include <math.h>

#include "base/status.h"
#include "validate/setup.h"

/* Returns the predicted memory peak for the scope that a run measured: all stages, or one stage. */
static double memory_of_scope(const plait_problem *problem, const plait_cost *cost,
                              plait_memory_scope scope)
{
    double allocated = 0.0, reserved = 0.0, device = 0.0;

    for (int s = 0; s < cost->stages; s++) {
        const plait_stage_cost *const stage = &cost->stage[s];
        // nvidia-smi shows the memory that the allocator reserved plus memory outside the
        // allocator.
        const double outside =
            stage->memory_bytes - problem->runtime->keep.fragmentation * stage->allocated_bytes;

        allocated = fmax(allocated, stage->allocated_bytes);
        reserved = fmax(reserved, stage->reserved_bytes);
        device = fmax(device, stage->reserved_bytes + outside);
    }
    return scope == PLAIT_SCOPE_MAX         ? allocated
           : scope == PLAIT_SCOPE_RANK0     ? cost->stage[0].allocated_bytes
           : scope == PLAIT_SCOPE_LAST_RANK ? cost->stage[cost->stages - 1].allocated_bytes
           : scope == PLAIT_SCOPE_RESERVED  ? reserved
                                            : device;
}

/* Copies a runtime without its limits on plans, for a run that the rules would reject. */
static plait_status relax_runtime(const plait_runtime *runtime, plait_arena *arena,
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
        // without these, the price depends on whether the runtime has them
        if (key != PLAIT_KEY_TP_COMM_OVERLAP && key != PLAIT_KEY_PERMUTE_FUSION &&
            key != PLAIT_KEY_ROUTER_FUSION)
            can->takes[key] = plait_key_all((plait_key_id)key);
    }
    can->etp = can->hsdp = can->full_layers = true;
    can->recompute_by = PLAIT_BY_LAYER;
    can->offload_by = PLAIT_BY_STAGE;
    can->precision = (1U << PLAIT_PRECISIONS) - 1U;
    *out = open;
    return PLAIT_OK;
}

/*
 * Copies a model without three features that some attention kernels reject and that have no price:
 * sinks, ALiBi and dropout. If a run's kernel does not support dropout of scores, the run had none.
 */
static plait_status relax_model(const plait_model *model, plait_arena *arena,
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
 * Relaxes kernels, rules and model until the run's plan is valid, and adds the violated rule to the
 * note. Fails (RANGE) if the plan stays invalid, for example if its degrees do not divide.
 */
static plait_status make_legal(setup *at, plait_run_price *out, plait_error *err)
{
    plait_problem *const problem = &out->problem;
    plait_cluster *cluster = plait_arena_alloc(at->arena, 1, sizeof *cluster);
    plait_accelerator *gpu = plait_arena_alloc(at->arena, 1, sizeof *gpu);
    char refused[256], why[256];

    // Use a cluster with all kernels, since the run shows that its kernels exist. The library of fused
    // attention stays that of the vendor.
    PLAIT_TRY(plait_check_allocated(cluster && gpu, err));
    *cluster = *problem->cluster;
    *gpu = *cluster->group[0].accelerator;
    gpu->missing_kernels &= 1u << PLAIT_KERNEL_ANY_WIDTH;
    cluster->group[0].accelerator = gpu;
    problem->cluster = cluster;
    if (plait_degrees_check(problem, &out->degrees, refused, sizeof refused) != PLAIT_INVALID)
        return PLAIT_OK;
    PLAIT_TRY(relax_runtime(problem->runtime, at->arena, &problem->runtime, err));
    if (plait_degrees_check(problem, &out->degrees, why, sizeof why) == PLAIT_INVALID)
        PLAIT_TRY(relax_model(problem->model, at->arena, &problem->model, err));
    // Ulysses over more ranks than key-value heads copies these heads, which has no price.
    if (plait_degrees_check(problem, &out->degrees, why, sizeof why) == PLAIT_INVALID &&
        out->degrees.cp > 1 && out->degrees.cp_comm == PLAIT_CP_A2A) {
        out->degrees.cp_comm = PLAIT_CP_ALLGATHER;
        setup_note(at, "Ulysses with copied key-value heads, priced as gathered keys and values");
    }
    if (plait_degrees_check(problem, &out->degrees, why, sizeof why) == PLAIT_INVALID)
        return plait_fail(err, PLAIT_ERROR_RANGE, "", "%s", why);
    setup_note(at, "violates a rule: %s", refused);
    return PLAIT_OK;
}

static plait_status price_run(setup *at, plait_run_price *out, plait_error *err)
{
    library *const shelf = at->shelf;
    plait_problem *const problem = &out->problem;
    plait_rules rules;
    plait_plan plan;

    PLAIT_TRY(runs_check_row(at->run, err));
    PLAIT_TRY(setup_model(at, &problem->model, err));
    PLAIT_TRY(setup_problem(at, problem, err));
    PLAIT_TRY(setup_degrees(at, problem, &out->degrees, err));
    rules = problem->runtime->rules;
    PLAIT_TRY(make_legal(at, out, err));
    // Bands must not use evidence from the run's source.
    if (shelf->evidence == NULL) {
        plait_evidence *const evidence = plait_arena_alloc(shelf->arena, 1, sizeof *evidence);
        PLAIT_TRY(plait_check_allocated(evidence, err));
        PLAIT_TRY(plait_evidence_find(shelf->arena, evidence, err));
        shelf->evidence = evidence;
    }
    plait_regime regime = plait_regime_of(problem);
    regime.rules = rules; // the original rules, even if make_legal() relaxed them
    PLAIT_TRY(plait_evidence_band(shelf->evidence, &regime, at->run->source, at->arena,
                                  &problem->band, err));
    PLAIT_TRY(plait_evidence_memory_band(shelf->evidence, &regime, at->run->source, at->arena,
                                         &problem->memory_band, err));
    PLAIT_TRY(plait_plan_expand(problem, &out->degrees, at->arena, &plan, err));
    PLAIT_TRY(plait_plan_evaluate(problem, &plan, NULL, at->arena, &out->cost, err));
    if (out->cost.verdict == PLAIT_INVALID || !(out->cost.step_s > 0.0) ||
        !isfinite(out->cost.step_s))
        return plait_fail(err, PLAIT_ERROR_RANGE, "", "%s",
                          out->cost.why[0] != '\0'
                              ? out->cost.why
                              : "the predicted step time is not a positive number");
    return PLAIT_OK;
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
    out->unmodelled = at.unmodelled;
    if (status == PLAIT_OK) {
        out->priced = true;
        out->verdict = out->cost.verdict;
        out->risk = out->cost.risk;
        out->memory_bytes = memory_of_scope(&out->problem, &out->cost, run->scope);
        out->note = text_builder_finish(&at.note, NULL);
    } else {
        out->note = plait_arena_printf(arena, "%s%s%s", why.where, why.where[0] != '\0' ? ": " : "",
                                       why.message);
    }
    return plait_check_allocated(out->note, err);
}

plait_status plait_run_evaluate(const plait_run *run, plait_arena *arena, plait_run_price *out,
                                plait_error *err)
{
    library shelf = {.arena = arena};

    return evaluate_run(&shelf, run, arena, out, err);
}
