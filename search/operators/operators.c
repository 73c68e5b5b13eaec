/* operators.c - finds the best strategies of a layer's operators on a mesh */

#include "search/operators/layer_graph.h"
#include "plait/cost.h"
#include "plan/problem_check.h"

void plait_operators_options_init(plait_operators_options *options)
{
    *options =
        (plait_operators_options){.kind = -1, .microbatches = 1, .most_labels = 20 * 1000 * 1000};
}

// ---- the input -----------------------------------------------------------------------------

static int layers_of(const plait_model *model, int kind)
{
    int layers = 0;

    for (int i = 0; i < model->layers; i++)
        layers += model->layer_kind[i] == kind;
    return layers;
}

static int usual_kind(const plait_model *model)
{
    int best = 0;

    for (int k = 1; k < model->kinds; k++)
        if (layers_of(model, k) > layers_of(model, best))
            best = k;
    return best;
}

/*
 * Returns the bytes of a device for tensors: its capacity less fixed memory and fragmentation
 * (C.84).
 */
static double device_bytes(const plait_problem *problem)
{
    const plait_residents *keep = &problem->runtime->keep;
    const double free_bytes = plait_capacity_bytes(problem, problem->risk) - keep->context_bytes;

    return free_bytes / keep->fragmentation - keep->workspace_bytes;
}

plait_status graph_prepare(const plait_problem *problem, const plait_operators_options *options,
                           plait_arena *arena, layer_graph *g, plait_error *err)
{
    PLAIT_TRY(problem_check(problem, err));
    const plait_job *job = &problem->job;

    if (!options)
        return plait_fail(err, PLAIT_ERROR_RANGE, "options", "expected options, found NULL");
    if (options->mesh.axes < 1 || options->mesh.axes > PLAIT_MESH_AXES)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--mesh", "expected 1 to %d axes, found %d",
                          PLAIT_MESH_AXES, options->mesh.axes);
    for (int a = 0; a < options->mesh.axes; a++)
        if (options->mesh.size[a] < 1 || options->mesh.size[a] > PLAIT_MAX_GPUS)
            return plait_fail(err, PLAIT_ERROR_RANGE, "--mesh",
                              "expected axes of 1 to %d GPUs, found %d", PLAIT_MAX_GPUS,
                              options->mesh.size[a]);
    if (plait_mesh_gpus(&options->mesh) != job->gpus)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--mesh",
                          "expected axes whose product is the %d GPUs of the job, found %d",
                          job->gpus, plait_mesh_gpus(&options->mesh));
    if (options->microbatches < 1 || job->gbs % options->microbatches != 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--mbs",
                          "expected microbatches that divide the %d sequences of a step, found %d",
                          job->gbs, options->microbatches);
    if (options->kind >= problem->model->kinds)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--layer-kind",
                          "expected one of the %d kinds of layer, found %lld",
                          problem->model->kinds, options->kind + 1LL);
    const int kind = options->kind < 0 ? usual_kind(problem->model) : options->kind;
    plait_degrees usual = plait_degrees_init();

    usual.grad_reduce = (unsigned char)problem->runtime->defaults.key[PLAIT_KEY_GRAD_REDUCE];
    *g = (layer_graph){
        .problem = problem,
        .layer = &problem->model->kind[kind],
        .mesh = options->mesh,
        .layers = layers_of(problem->model, kind),
        .microbatches = options->microbatches,
        .sequences = (double)problem->job.gbs / options->microbatches,
        .state = plait_state_of(problem, &usual),
    };
    for (unsigned axes = 0; axes < 1u << g->mesh.axes; axes++)
        g->route[axes] = mesh_route(problem, &g->mesh, axes);
    PLAIT_TRY(graph_build(g, err));
    return strategies_list(g, arena, err);
}

// ---- the result ----------------------------------------------------------------------------

plait_status plait_operators_solve(const plait_problem *problem,
                                   const plait_operators_options *options, plait_arena *arena,
                                   plait_operators_result *out, plait_error *err)
{
    layer_graph *g = plait_arena_alloc(arena, 1, sizeof *g);

    PLAIT_TRY(plait_check_allocated(g, err));
    PLAIT_TRY(graph_prepare(problem, options, arena, g, err));
    *out = (plait_operators_result){
        .kind = (int)(g->layer - problem->model->kind),
        .layers = g->layers,
        .limit_bytes = options->memory_bytes > 0.0 ? options->memory_bytes : device_bytes(problem),
    };
    for (int i = 0; i < g->nodes; i++)
        out->strategies += g->node[i].strategies;
    assembly *a = plait_arena_alloc(arena, 1, sizeof *a);
    program_answer answer;
    assignment best, known;
    double **tables;
    bool any;

    PLAIT_TRY(plait_check_allocated(a, err));
    PLAIT_TRY(edge_tables(g, arena, &tables, err));
    PLAIT_TRY(assemble(g, tables, NULL, NULL, out->limit_bytes, arena, a, &any, err));
    PLAIT_TRY(program_solve(&a->program, options->most_labels, arena, &answer, err));
    best = assignment_of(a, &answer.choice);
    out->verdict = answer.feasible ? PLAIT_FITS : PLAIT_OUT_OF_MEMORY;
    out->needed_bytes = answer.feasible ? 0.0 : best.bytes;
    out->lower_s = answer.lower_s;
    out->proven = answer.proven;
    out->labels = answer.labels;
    PLAIT_TRY(plan_of(g, &best, arena, &out->best, err));
    PLAIT_TRY(named_best(g, tables, out->limit_bytes, arena, &known, err));
    return known.step_s > 0.0 ? plan_of(g, &known, arena, &out->named, err) : PLAIT_OK;
}
