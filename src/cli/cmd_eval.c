/* cmd_eval.c - plait eval: prices one plan */
#include "cli/plan_request.h"
#include "cli/command.h"
#include "report/json_plan.h"
#include "report/lines.h"
#include "cli/terminal.h"
#include "base/text.h"
#include "report/timeline.h"

typedef struct eval_values {
    plan_request_flags asked;
    bool json;
    const char *output;
    const char *timeline;
} eval_values;

_Static_assert(offsetof(eval_values, asked) == 0, "the rows of PLAN_REQUEST_OPTIONS count on it");

static const opt options[] = {
    PLAN_REQUEST_OPTIONS,
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(eval_values, json, "json", "one JSON document on standard output"),
    OPT_OF_OUTPUT(eval_values, output, "output", 'o', "FILE",
                  "also write the JSON document to FILE; - means --json"),
    OPT_OF_OUTPUT(eval_values, timeline, "timeline", 0, "FILE",
                  "simulate the step and write its timeline: FILE.json for chrome://tracing or "
                  "Perfetto, FILE.svg as a drawing"),
    OPT_END,
};

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    eval_values flags = *(const eval_values *)values;
    plan_request *question = plait_arena_alloc(arena, 1, sizeof *question);
    plait_relaxation *remedy = plait_arena_alloc(arena, PLAN_REQUEST_REMEDIES, sizeof *remedy);
    json_writer json;
    int remedies;
    plait_timeline line;
    plait_error inner;
    const char *text;
    size_t length;

    PLAIT_TRY(plait_check_allocated(question && remedy, err));
    PLAIT_TRY(command_output(&flags.output, &flags.json, err));
    if (flags.timeline != NULL && !text_ends_with(flags.timeline, ".json") &&
        !text_ends_with(flags.timeline, ".svg"))
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--timeline",
                          "expected a file that ends in .json or .svg, found %.80s",
                          flags.timeline);
    PLAIT_TRY(plan_request_resolve(&flags.asked, operands, arena, question, err));
    PLAIT_TRY(report_natural(&question->problem, arena, &question->plan, err));
    *no = question->plan.verdict >= PLAIT_OUT_OF_MEMORY;
    PLAIT_TRY(plan_request_remedies(question, arena, remedy, &remedies, err));
    if (flags.json || flags.output != NULL) {
        command_begin_json(&json, arena);
        json_eval(&json, &question->problem, &question->plan, remedy, remedies);
        PLAIT_TRY(command_deliver_json(&json, flags.output, flags.json, err));
        PLAIT_TRY(command_check_runtime(
            flags.output, plait_runtime_handle(question->problem.runtime), arena, err));
    }
    if (!flags.json)
        PLAIT_TRY(
            report_eval(&question->problem, &question->plan, remedy, remedies, lines_out(), err));
    const plait_plan *const plan = &question->plan.plan;
    if (flags.timeline == NULL)
        return PLAIT_OK;
    if (question->plan.verdict == PLAIT_INVALID)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--timeline",
                          "expected a plan that can run, found: %s", question->plan.why);
    if (plait_plan_simulate(&question->problem, plan, &question->plan.cost, arena, &line, &inner) !=
        PLAIT_OK)
        return plait_fail(err, inner.status, "--timeline", "%s", inner.message);
    const plait_status written = text_ends_with(flags.timeline, ".svg")
                                     ? timeline_svg(&line, arena, &text, &length, &inner)
                                     : timeline_trace(&line, arena, &text, &length, &inner);
    if (written != PLAIT_OK)
        return plait_fail(err, written, "--timeline", "%s", inner.message);
    PLAIT_TRY(command_deliver(text, length, flags.timeline, false, err));
    if (flags.json)
        return PLAIT_OK;
    print_message("\ntimeline: %s, %d actions; ", flags.timeline, line.pipeline.events);
    timeline_against(&line, &question->plan.cost, lines_out());
    return PLAIT_OK;
}

const command command_eval = {
    .usage =
        {.command = "eval",
         .synopsis = "MODEL CLUSTER --seq S --gbs B [--gpus N] --tp 8 --pp 4 ... | "
                     "--plan FILE[:RANK]",
         .summary = "Price one plan: step time, memory, verdict.",
         .about =
             "Exit status 1 when the plan runs out of memory or cannot run; the answer gives the "
             "reason.\nA plan that is likely to fit but may run out of memory has exit status 0.",
         .max_operands = 2,
         .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
         .options = options},
    .values_size = sizeof(eval_values),
    .run = run,
};
