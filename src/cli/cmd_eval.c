/* cmd_eval.c - plait eval: the price of one plan */
#include "asked.h"
#include "command.h"
#include "json_plan.h"

typedef struct eval_values {
    asked_flags asked;
    bool json;
    const char *output;
} eval_values;

_Static_assert(offsetof(eval_values, asked) == 0, "the rows of ASKED_OPTIONS count on it");

static const opt options[] = {
    ASKED_OPTIONS,
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(eval_values, json, "json", "one JSON document on standard output"),
    OPT_OF_TEXT(eval_values, output, "output", 'o', "FILE",
                "also write the JSON document to FILE; - is --json"),
    OPT_END,
};

static plait_status deliver_json(const eval_values *flags, const asked *question,
                                 plait_arena *arena, plait_error *err)
{
    const char *text;
    size_t length;

    if (!flags->json && flags->output == NULL)
        return PLAIT_OK;
    PLAIT_TRY(json_eval(&question->problem, &question->plan, arena, &text, &length, err));
    return command_deliver(text, length, flags->output, flags->json, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    eval_values flags = *(const eval_values *)values;
    asked *question = plait_arena_alloc(arena, 1, sizeof *question);

    if (question == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(command_output(&flags.output, &flags.json, err));
    PLAIT_TRY(asked_resolve(&flags.asked, operands, arena, question, err));
    *no = question->plan.verdict >= PLAIT_OUT_OF_MEMORY;
    PLAIT_TRY(deliver_json(&flags, question, arena, err));
    if (flags.json)
        return PLAIT_OK;
    return report_eval(&question->problem, &question->plan, stdout, err);
}

const command command_eval = {
    .usage = {.command = "eval",
              .synopsis = "MODEL CLUSTER --seq S --gbs B [--gpus N] --tp 8 --pp 4 ... | "
                          "--plan FILE[:RANK]",
              .summary = "Price one plan: time of a step, memory, verdict.",
              .about = "Exit status 1 when the plan runs out of memory or cannot run; the answer "
                       "says why. One "
                       "that may run out has 0.",
              .max_operands = 2,
              .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
              .options = options},
    .values_size = sizeof(eval_values),
    .run = run,
};
