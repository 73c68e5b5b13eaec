/*
 * cmd_operators.c - plait operators: finds the fastest partition of each operator over a mesh of
 * GPUs
 */

#include "cli/command.h"
#include "plait/operators.h"
#include "plait/units.h"
#include "report/lines.h"
#include "cli/problem.h"
#include "report/report_answers.h"
#include "base/text.h"

typedef struct operators_values {
    problem_flags problem;
    const char *mesh;
    const char *memory;
    int tokens;
    int mbs;
    int kind;
    bool json;
} operators_values;

static const opt options[] = {
    PROBLEM_OPTIONS(operators_values, problem),
    OPT_HEADING("the mesh"),
    OPT_OF_TEXT(operators_values, mesh, "mesh", 0, "AXES",
                "one to three sizes, such as 8x8 or 2x4x8, whose product is the number of GPUs; "
                "the last axis is innermost"),
    OPT_OF_INT(
        operators_values, mbs, "mbs", "SEQUENCES", 1, PLAIT_MAX_GBS,
        "sequences of one microbatch, over the whole mesh (default: all sequences of a step)"),
    OPT_OF_INT(operators_values, tokens, "tokens", "N", 1, 1 << 30,
               "tokens of one microbatch on each rank, instead of --mbs"),
    OPT_OF_TEXT(
        operators_values, memory, "memory", 0, "GIB",
        "memory per GPU for weights, gradients, optimizer state and activations (default: the "
        "device's)"),
    OPT_OF_INT(operators_values, kind, "layer-kind", "N", 1, PLAIT_MAX_LAYER_KINDS,
               "kind of layer of the model, counted from 1 (default: the most frequent)"),
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(operators_values, json, "json", "one JSON document on standard output"),
    OPT_END,
};

static plait_status microbatch_of(const operators_values *flags, const plait_mesh *mesh, int *out,
                                  plait_error *err)
{
    const double tokens = (double)flags->tokens * plait_mesh_gpus(mesh);
    const double seq = flags->problem.seq;

    *out = flags->mbs;
    if (flags->tokens == 0 || seq == 0.0)
        return PLAIT_OK;
    const double sequences = (double)(int64_t)(tokens / seq);
    if (flags->mbs == 0 && sequences >= 1.0 && sequences * seq == tokens &&
        sequences <= PLAIT_MAX_GBS) {
        *out = (int)sequences;
        return PLAIT_OK;
    }
    return plait_fail(err, PLAIT_ERROR_RANGE, "--tokens",
                      flags->mbs > 0
                          ? "expected either --tokens or --mbs, found both"
                          : "expected whole sequences of %d tokens on the %d GPUs, found %.6g",
                      flags->problem.seq, plait_mesh_gpus(mesh), tokens / seq);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const operators_values *const flags = values;
    problem_flags resolved;
    plait_problem problem;
    plait_operators_options chosen;
    plait_operators_result result;
    json_writer json;
    int mbs;

    double gib = 0.0;
    plait_operators_options_init(&chosen);
    if (flags->mesh == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--mesh",
                          "expected sizes such as 8x8, found nothing");
    PLAIT_TRY(plait_mesh_parse(flags->mesh, &chosen.mesh, err));
    PLAIT_TRY(microbatch_of(flags, &chosen.mesh, &mbs, err));
    if (flags->memory != NULL &&
        (!text_parse_number(flags->memory, &gib) || !(gib > 0.0) || gib > 1e9))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--memory",
                          "expected a positive number of GiB, found '%.40s'", flags->memory);
    if (flags->memory != NULL)
        chosen.memory_bytes = gib * PLAIT_GIB;
    chosen.kind = flags->kind - 1;
    resolved = flags->problem;
    if (resolved.gpus == 0)
        resolved.gpus = plait_mesh_gpus(&chosen.mesh);
    if (resolved.gbs == 0)
        resolved.gbs = mbs;
    if (mbs > 0 && resolved.gbs % mbs != 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--mbs",
                          "expected a divisor of the %d sequences of a step, found %d",
                          resolved.gbs, mbs);
    chosen.microbatches = mbs > 0 ? resolved.gbs / mbs : 1;
    PLAIT_TRY(problem_resolve(&resolved, operands, NULL, arena, &problem, err));
    PLAIT_TRY(plait_operators_solve(&problem, &chosen, arena, &result, err));
    *no = result.verdict != PLAIT_FITS;
    const report_operators report = {&problem, &chosen, &result};
    if (!flags->json)
        return report_operators_print(&report, lines_out(), err);
    command_begin_json(&json, arena);
    json_operators(&json, &report);
    return command_deliver_json(&json, NULL, true, err);
}

const command command_operators = {
    .usage = {.command = "operators",
              .synopsis = "MODEL CLUSTER --mesh 8x8 --seq S --tokens N | --mbs B | --gbs B",
              .summary =
                  "Find the proven fastest sharding of each operator of a layer over a mesh.",
              .about = "A spec lists for each of [sequences, tokens, width] the mesh axes that "
                       "shard it: S0, S01, or\nR for none; P1 is a partial sum over axis 1. Exit "
                       "status 1 when no sharding fits.",
              .max_operands = 2,
              .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
              .options = options},
    .values_size = sizeof(operators_values),
    .run = run,
};
