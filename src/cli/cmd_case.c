/* cmd_case.c - plait case: prices published systems and compares them with the published figures */
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "cli/plan_request.h"
#include "io/plans/cases.h"
#include "cli/command.h"
#include "cli/rl_row.h"
#include "report/lines.h"
#include "report/report_answers.h"

typedef struct case_values {
    bool json;
} case_values;

static const opt options[] = {
    OPT_HEADING("options"),
    OPT_OF_FLAG(case_values, json, "json", "one JSON document on standard output"),
    OPT_END,
};

static plait_status search_row(const case_row *row, const problem_flags *flags,
                               const opt_operands *operands, plait_arena *arena, plan_request *out,
                               plait_error *err)
{
    plait_search_options limits;
    plait_search_result result;
    char limit[PLAIT_VALUE_SIZE + 64];

    PLAIT_TRY(problem_resolve(flags, operands, NULL, arena, &out->problem, err));
    plait_search_options_init(&limits);
    limits.top = 1;
    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (row->key[k] == NULL)
            continue;
        snprintf(limit, sizeof limit, "%s=%s", plait_keys[k].name, row->key[k]);
        PLAIT_TRY(plait_search_limit(&limits, limit, err));
    }
    PLAIT_TRY(plait_search(&out->problem, &limits, arena, &result, err));
    if (result.plans == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan", "expected a plan that fits, found none");
    return report_price(&out->problem, &result.plan[0].plan, 1, arena, &out->plan, err);
}

/*
 * Search the best step of reinforcement learning of a row. Its plan becomes that of training, with
 * the time of the whole step and the memory of the fullest phase.
 */
static plait_status rl_row(const case_row *row, plait_arena *arena, plan_request *out,
                           const plait_rl_price **price, plait_error *err)
{
    const char *argv[64] = {"rl", row->model, row->cluster, "--runtime", row->runtime, "--gpus"};
    plait_rl_job *const job = plait_arena_alloc(arena, 1, sizeof *job);
    plait_rl_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
    char *text = plait_arena_text(arena, row->rl), *rest = NULL;
    int argc = 7;

    argv[6] = plait_arena_printf(arena, "%d", row->gpus);
    PLAIT_TRY(plait_check_allocated(job && answer && text && argv[6], err));
    for (char *word = strtok_r(text, " ", &rest); word != NULL && argc < 63;
         word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    PLAIT_TRY(rl_row_price(argc, argv, arena, job, answer, err));
    if (answer->plans == 0 && !answer->has_closest)
        return plait_fail(err, PLAIT_ERROR_RANGE, "rl", "expected a legal plan, found none");
    const plait_rl_ranked *const best = answer->plans > 0 ? &answer->plan[0] : &answer->closest;
    *price = &best->price;
    out->problem = job->problem;
    out->plan = (report_plan){.degrees = best->plan.degrees, .verdict = best->price.verdict};
    memcpy(out->plan.why, best->price.why, sizeof out->plan.why);
    out->plan.cost.step_s = best->price.step_s;
    out->plan.cost.tokens_per_s_per_gpu = best->price.tokens_per_s_per_gpu;
    out->plan.cost.memory.peak_bytes =
        larger(best->price.rollout.device_bytes,
               larger(best->price.update.device_bytes, best->price.forward.device_bytes));
    return PLAIT_OK;
}

/* Price one row of a case; the row is resolved like a command line of eval or of search. */
static plait_status price_row(const case_study *study, int r, plait_arena *arena, plan_request *out,
                              const plait_rl_price **rl, plait_error *err)
{
    const case_row *const row = &study->row[r];
    const opt_operands operands = {.count = 2, .text = {row->model, row->cluster}};
    plan_request_flags flags = {.problem = {.seq = row->seq,
                                            .gbs = row->gbs,
                                            .gpus = row->gpus,
                                            .precision = row->precision,
                                            .runtime = row->runtime}};
    plait_error inner;
    char where[sizeof inner.where + 128];

    for (int k = 0; k < PLAIT_KEYS; k++)
        flags.key[k] = row->key[k];
    *rl = NULL;
    if ((row->rl       ? rl_row(row, arena, out, rl, &inner)
         : row->search ? search_row(row, &flags.problem, &operands, arena, out, &inner)
                       : plan_request_resolve(&flags, &operands, arena, out, &inner)) == PLAIT_OK)
        return PLAIT_OK;
    snprintf(where, sizeof where, "%.40s, row %.40s: %s", study->name, row->name, inner.where);
    return plait_fail(err, inner.status, where, "%s", inner.message);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const case_values *const flags = values;
    const char *const *names;
    case_study *study;
    json_writer json;
    size_t count;

    (void)no;
    if (operands->count > 0) {
        case_study one;
        case_priced *priced;
        plan_request *row;

        PLAIT_TRY(cases_find(operands->text[0], arena, &one, err));
        priced = plait_arena_alloc(arena, (size_t)one.rows, sizeof *priced);
        row = plait_arena_alloc(arena, (size_t)one.rows, sizeof *row);
        PLAIT_TRY(plait_check_allocated(priced && row, err));
        for (int r = 0; r < one.rows; r++) {
            priced[r] = (case_priced){.problem = &row[r].problem, .plan = &row[r].plan};
            PLAIT_TRY(price_row(&one, r, arena, &row[r], &priced[r].rl, err));
            case_compare(&one, priced, r);
        }
        if (!flags->json)
            return report_case(&one, priced, lines_out(), err);
        command_begin_json(&json, arena);
        json_case(&json, &one, priced);
        return command_deliver_json(&json, NULL, true, err);
    }
    PLAIT_TRY(plait_data_list(PLAIT_DATA_CASES, arena, &names, &count, err));
    study = plait_arena_alloc(arena, count, sizeof *study);
    PLAIT_TRY(plait_check_allocated(study, err));
    for (size_t i = 0; i < count; i++) {
        PLAIT_TRY(cases_find(names[i], arena, &study[i], err));
        study[i].name = names[i];
    }
    if (!flags->json)
        return report_cases(study, count, lines_out(), err);
    command_begin_json(&json, arena);
    json_cases(&json, study, count);
    return command_deliver_json(&json, NULL, true, err);
}

const command command_case = {
    .usage =
        {.command = "case",
         .synopsis = "[NAME]",
         .summary = "List published systems, or compare one with its predictions.",
         .about =
             "Each row is a plan that its source describes; values that the source omits are "
             "assumed and\nlisted. NAME may also be the path of a case (models/cases/README.md).",
         .max_operands = 1,
         .operand = {OPT_NAMES(PLAIT_DATA_CASES)},
         .options = options},
    .values_size = sizeof(case_values),
    .run = run,
};
