/* cmd_next.c - plait next: ranks plans by measured and predicted steps */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/plan_request.h"
#include "cli/calibrate.h"
#include "cli/command.h"
#include "io/csv/csv_table.h"
#include "io/file.h"
#include "report/lines.h"
#include "cli/imported.h"
#include "plait/validate.h"
#include "report/report_answers.h"
#include "cli/terminal.h"
#include "base/text.h"
#include "report/units.h"

typedef struct next_values {
    bool json;
    const char *output;
} next_values;

static const opt options[] = {
    OPT_OF_FLAG(next_values, json, "json", "one JSON document on standard output"),
    OPT_OF_OUTPUT(next_values, output, "output", 'o', "CLUSTER.json",
                  "write the cluster file, with speeds calibrated to the measured steps; with -, "
                  "print only this file"),
    OPT_END,
};

static plait_status load_plans(const char *path, plait_arena *arena, next_answer *out,
                               plait_error *err)
{
    const plans_entry *entry;
    int count;

    PLAIT_TRY(plans_load_list(path, "plans", arena, &entry, &count, err));
    if (count == 0 || count > PLAIT_MAX_BELIEF)
        return plait_fail(err, PLAIT_ERROR_RANGE, path, "expected 1 to %d plans, found %d",
                          PLAIT_MAX_BELIEF, count);
    out->plan = plait_arena_alloc(arena, (size_t)count, sizeof *out->plan);
    PLAIT_TRY(plait_check_allocated(out->plan, err));
    for (int i = 0; i < count; i++) {
        plan_request *one = plait_arena_alloc(arena, 1, sizeof *one);

        PLAIT_TRY(plait_check_allocated(one, err));
        PLAIT_TRY(plan_request_from_entry(NULL, &entry[i], arena, one, err));
        if (one->plan.verdict == PLAIT_INVALID)
            return plait_fail(err, PLAIT_ERROR_RANGE, entry[i].where,
                              "expected a plan that can run, found: %s", one->plan.why);
        out->problem = i == 0 ? one->problem : out->problem;
        out->plan[i] = (next_plan){.rank = entry[i].rank,
                                   .degrees = one->plan.degrees,
                                   .predicted_s = one->plan.cost.step_s,
                                   .memory = one->plan.cost.memory};
    }
    out->plans = count;
    return PLAIT_OK;
}

/* Make the distribution of the steps before any measurement. */
static plait_status make_belief(next_answer *out, const plait_error_parts *parts,
                                plait_arena *arena, plait_error *err)
{
    const size_t plans = (size_t)out->plans;
    const plait_degrees **degrees = plait_arena_alloc(arena, plans, sizeof(void *));
    double *step_s = plait_arena_alloc(arena, plans, sizeof *step_s);

    PLAIT_TRY(plait_check_allocated(degrees && step_s, err));
    for (int i = 0; i < out->plans; i++) {
        degrees[i] = &out->plan[i].degrees;
        step_s[i] = out->plan[i].predicted_s;
    }
    return plait_posterior_make(degrees, step_s, out->plans, parts, arena, &out->belief, err);
}

/*
 * Add a measurement of a plan. Several measurements are combined by their geometric mean, because
 * errors are relative.
 */
static void add_measurement(next_answer *out, int at, double step_s)
{
    next_plan *const plan = &out->plan[at];
    const double mean = plan->times > 0 ? log(plan->measured_s) : 0.0;

    plan->shortest_s = plan->times > 0 ? fmin(plan->shortest_s, step_s) : step_s;
    plan->longest_s = fmax(plan->longest_s, step_s);
    plan->times++;
    plan->measured_s = plan->times == 1 ? step_s : exp(mean + (log(step_s) - mean) / plan->times);
}

/*
 * Ratio of two steps of one plan above which a warning is printed. Chosen: on an idle machine they
 * differ by less.
 */
static const double noisy = 1.1;

/*
 * Factor between measured and predicted steps above which a warning is printed. Chosen: no
 * published run differs more; a larger factor means another unit or another job.
 */
static const double absurd = 4.0;

static void apply_measurements(next_answer *out)
{
    for (int i = 0; i < out->plans; i++) {
        const next_plan *const plan = &out->plan[i];
        char shortest[UNITS_SIZE], longest[UNITS_SIZE];

        if (plan->times == 0)
            continue;
        if (plan->longest_s > noisy * plan->shortest_s)
            print_warning("plan %d: %d measurements, from %s to %s a step; their mean is used",
                          plan->rank, plan->times, units_seconds(plan->shortest_s, shortest),
                          units_seconds(plan->longest_s, longest));
        if (plan->measured_s > absurd * plan->predicted_s ||
            plan->predicted_s > absurd * plan->measured_s)
            print_warning("plan %d: measured %s a step, predicted %s; check that the step is in "
                          "seconds and of this model, cluster and batch",
                          plan->rank, units_seconds(plan->measured_s, shortest),
                          units_seconds(plan->predicted_s, longest));
        plait_posterior_measure(&out->belief, i, plan->measured_s);
        out->measured++;
    }
}

static int plan_of_rank(const next_answer *answer, int rank)
{
    for (int i = 0; i < answer->plans; i++)
        if (answer->plan[i].rank == rank)
            return i;
    return -1;
}

/* Read the log of a plan; the operand "run.log:3" is the log of the plan with rank 3. */
static plait_status take_log(const char *operand, plait_arena *arena, next_answer *out,
                             plait_error *err)
{
    char *const path = plait_arena_text(arena, operand);
    char *const colon = path != NULL ? strrchr(path, ':') : NULL;
    step_log log;
    double step_s;
    int rank = 0;

    PLAIT_TRY(plait_check_allocated(path, err));
    if (colon == NULL || !text_parse_int(colon + 1, 1, 1 << 30, &rank))
        return plait_fail(err, PLAIT_ERROR_RANGE, operand,
                          "expected LOG:RANK with the number of the plan that ran, found no rank");
    *colon = '\0';
    const int plan = plan_of_rank(out, rank);
    if (plan < 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, operand,
                          "expected the number of a plan in the file, found %d", rank);
    PLAIT_TRY(measured_log_read(path, &out->problem, arena, &log, &step_s, err));
    add_measurement(out, plan, step_s);
    if (log.peak_bytes > out->plan[plan].peak_bytes) {
        out->plan[plan].peak_bytes = log.peak_bytes;
        out->plan[plan].reserved = log.reserved;
    }
    return PLAIT_OK;
}

/*
 * Read a log. A log without steps is reported and skipped; if no log has steps, the command fails
 * with the last such error.
 */
static plait_status take_any_log(const char *operand, plait_arena *arena, next_answer *out,
                                 plait_error *lost, plait_error *err)
{
    plait_error inner = {PLAIT_OK, "", ""};
    const plait_status status = take_log(operand, arena, out, &inner);

    if (status != PLAIT_OK && status != PLAIT_ERROR_SCHEMA && status != PLAIT_ERROR_IO)
        return plait_fail(err, status, inner.where, "%s", inner.message);
    if (status == PLAIT_OK)
        return PLAIT_OK;
    if (lost->status != PLAIT_OK)
        fprintf(stderr, "plait: %s: %s\n", lost->where, lost->message);
    *lost = inner;
    return PLAIT_OK;
}

/*
 * Find the first plan whose rank and keys equal those of a row, which must have the rank or at
 * least one key.
 */
static plait_status plan_of_row(const csv_table *table, size_t row, const next_answer *answer,
                                int *out, plait_error *err)
{
    const int column = csv_table_column(table, "rank");
    int rank = 0, keys = 0;

    *out = -1;
    if (column >= 0)
        PLAIT_TRY(csv_table_int(table, row, column, 1, 1 << 30, &rank, err));
    for (int i = 0; *out < 0 && i < answer->plans; i++) {
        bool is;
        is = true;
        keys = 0;
        for (int k = 0; k < PLAIT_KEYS; k++) {
            const int key_column = csv_table_column(table, plait_keys[k].name);
            plait_degrees asked_for = answer->plan[i].degrees;
            plait_error inner;

            if (key_column < 0 || csv_table_text(table, row, key_column)[0] == '\0')
                continue;
            if (plait_degrees_set(&asked_for, plait_keys[k].name,
                                  csv_table_text(table, row, key_column), &inner) != PLAIT_OK)
                return csv_table_fail(table, row, key_column, err, "a value of this key");
            (keys)++;
            is = is && plait_key_same(&asked_for, &answer->plan[i].degrees, (plait_key_id)k);
        }
        *out = is && (rank == 0 || answer->plan[i].rank == rank) ? i : -1;
    }
    if (rank == 0 && keys == 0)
        return csv_table_fail(table, row, column >= 0 ? column : 0, err,
                              "the number of a plan, or some of its keys");
    return *out >= 0 ? PLAIT_OK
                     : csv_table_fail(table, row, column >= 0 ? column : 0, err,
                                      plan_of_rank(answer, rank) >= 0
                                          ? "the number of a plan that has the keys of this row"
                                          : "one of the plans of the file");
}

static plait_status take_table(const char *path, plait_arena *arena, next_answer *out,
                               plait_error *err)
{
    const char *known[PLAIT_KEYS + 3] = {"rank", "step_s"};
    csv_table table;

    for (int k = 0; k < PLAIT_KEYS; k++)
        known[2 + k] = plait_keys[k].name;
    PLAIT_TRY(csv_table_read(path, arena, &table, err));
    PLAIT_TRY(csv_table_among(&table, known, err));
    const int column = csv_table_column(&table, "step_s");
    if (column < 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, path,
                          "expected a column \"step_s\", seconds of a step, found none");
    for (size_t row = 0; row < table.rows; row++) {
        double step_s = (double)NAN;
        int plan;

        PLAIT_TRY(csv_table_number(&table, row, column, 1e-6, 1e6, &step_s, err));
        if (isnan(step_s))
            return csv_table_fail(&table, row, column, err, "seconds");
        PLAIT_TRY(plan_of_row(&table, row, out, &plan, err));
        add_measurement(out, plan, step_s);
    }
    return PLAIT_OK;
}

/* Order the plans by their updated steps, and choose the plan to measure next. */
static plait_status rank_plans(next_answer *out, plait_arena *arena, plait_error *err)
{
    out->order = plait_arena_alloc(arena, (size_t)out->plans, sizeof *out->order);
    PLAIT_TRY(plait_check_allocated(out->order, err));
    for (int i = 0; i < out->plans; i++)
        out->plan[i].posterior = plait_posterior_of_plan(&out->belief, i);
    for (int i = 0; i < out->plans; i++) {
        int at = i;
        for (; at > 0 &&
               out->plan[out->order[at - 1]].posterior.step_s > out->plan[i].posterior.step_s;
             at--)
            out->order[at] = out->order[at - 1];
        out->order[at] = i;
    }
    return plait_posterior_tries(&out->belief, 1, arena, &out->tries, err);
}

/*
 * Scale the cluster to the measured plans, as calibrate --log does.
 *
 * @param path  output file; NULL: standard output
 */
static plait_status keep_site(const next_answer *answer, const char *path, bool quiet,
                              plait_arena *arena, plait_error *err)
{
    site_step *step = plait_arena_alloc(arena, (size_t)answer->measured, sizeof *step);
    site_result result;
    const char *text;
    size_t length, steps = 0;

    PLAIT_TRY(plait_check_allocated(step, err));
    for (int i = 0; i < answer->plans; i++) {
        const next_plan *const plan = &answer->plan[i];

        if (!(plan->measured_s > 0.0))
            continue;
        step[steps] = (site_step){.name = plait_arena_printf(arena, "plan %d", plan->rank),
                                  .problem = answer->problem,
                                  .degrees = plan->degrees,
                                  .measured_s = plan->measured_s};
        PLAIT_TRY(plait_check_allocated(step[steps++].name, err));
    }
    PLAIT_TRY(site_scale_steps(answer->problem.cluster, step, steps, NULL, arena, &result, err));
    PLAIT_TRY(calibrate_write_site(&result, arena, &text, &length, err));
    PLAIT_TRY(command_deliver(text, length, path, path == NULL, err));
    if (quiet)
        return PLAIT_OK;
    print_message("\n%s, the cluster scaled to the measured steps:\n", path);
    return calibrate_print_site(&result, lines_out(), err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const next_values *const flags = values;
    next_answer answer = {0};
    plait_error lost = {PLAIT_OK, "", ""};
    json_writer json;
    const bool alone = flags->output != NULL && text_equal(flags->output, "-");
    plait_error_parts parts;

    (void)no;
    if (operands->count < 2)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "PLANS.json LOG",
                          "expected a file of plans and at least one log, found %s",
                          operands->count == 0 ? "nothing" : "no log");
    if (flags->output != NULL && !alone)
        PLAIT_TRY(file_check_writable(flags->output, err));
    PLAIT_TRY(load_plans(operands->text[0], arena, &answer, err));
    PLAIT_TRY(problem_error_parts(&answer.problem, arena, &parts, err));
    PLAIT_TRY(make_belief(&answer, &parts, arena, err));
    for (int i = 1; i < operands->count; i++)
        PLAIT_TRY(text_equal(operands->text[i], "-") || text_ends_with(operands->text[i], ".csv")
                      ? take_table(operands->text[i], arena, &answer, err)
                      : take_any_log(operands->text[i], arena, &answer, &lost, err));
    apply_measurements(&answer);
    if (lost.status != PLAIT_OK && answer.measured == 0)
        return plait_fail(err, lost.status, lost.where, "%s", lost.message);
    if (lost.status != PLAIT_OK)
        fprintf(stderr, "plait: %s: %s\n", lost.where, lost.message);
    if (answer.measured == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, operands->text[1],
                          "expected at least one measured step, found none");
    PLAIT_TRY(rank_plans(&answer, arena, err));
    if (alone) // print the cluster only, without the report
        return keep_site(&answer, NULL, true, arena, err);
    if (flags->json) {
        command_begin_json(&json, arena);
        json_next_answer(&json, &answer);
        PLAIT_TRY(command_deliver_json(&json, NULL, true, err));
    } else {
        PLAIT_TRY(report_next(&answer, lines_out(), err));
    }
    return flags->output == NULL ? PLAIT_OK
                                 : keep_site(&answer, flags->output, flags->json, arena, err);
}

const command command_next = {
    .usage = {.command = "next",
              .synopsis = "PLANS.json LOG...",
              .summary = "Rank plans by measured step times, and choose those to measure next.",
              .about = "PLANS.json is a file that `plait search -o` wrote. LOG is a CSV file with "
                       "a column step_s and a\ncolumn rank (the number of the plan in PLANS.json) "
                       "or keys of the plan (tp,pp,mbs,...).\nLOG:RANK is the training log of plan "
                       "number RANK from Megatron-LM, nanotron, DeepSpeed or\ntorchtitan.",
              .max_operands = OPT_MAX_OPERANDS,
              .options = options},
    .values_size = sizeof(next_values),
    .run = run,
};
