/*
 * report_rl_log.c - prints the phases of a logged step of reinforcement learning next to the
 * predicted ones, and what to change for those that take too long
 */
#include "report/report_rl.h"

#include <math.h>

#include "report/report_table.h"

/* Phases as both frameworks log them: log-probabilities with those of the reference, and the state
 * that moves with the hand-over. */
typedef enum log_row {
    ROW_ROLLOUT,
    ROW_REWARD,
    ROW_LOGPROB,
    ROW_CRITIC,
    ROW_TRAIN,
    ROW_MOVES,
    ROW_WAIT,
    ROW_OTHER,
    ROW_STEP,
    ROWS
} log_row;

static const struct {
    const char *name, *key;
    plait_rl_phase phase[2];
} rows[] = {
    {"generation of answers", "rollout", {PLAIT_RL_rollout, PLAIT_RL_PHASES}},
    {"rewards", "reward", {PLAIT_RL_reward, PLAIT_RL_PHASES}},
    {"log-probabilities", "logprob", {PLAIT_RL_logprob, PLAIT_RL_reference}},
    {"values and updates of the critic", "critic", {PLAIT_RL_critic, PLAIT_RL_PHASES}},
    {"updates of the policy", "train", {PLAIT_RL_train, PLAIT_RL_PHASES}},
    {"weights to generation, moves of state", "moves", {PLAIT_RL_handover, PLAIT_RL_swap}},
    {"training waits for answers", "wait", {PLAIT_RL_wait, PLAIT_RL_PHASES}},
    {"other", "other", {PLAIT_RL_PHASES, PLAIT_RL_PHASES}},
    {"step", "step", {PLAIT_RL_PHASES, PLAIT_RL_PHASES}},
};

/* NaN: not measured, or not predicted. */
typedef struct log_figures {
    double measured_s[ROWS], predicted_s[ROWS];
} log_figures;

/* Returns the sum of the phases of a row that are given; NaN: none is. */
static double sum_of(const double *phase_s, log_row row)
{
    double sum = (double)NAN;

    for (int i = 0; i < 2; i++)
        if (rows[row].phase[i] != PLAIT_RL_PHASES && phase_s[rows[row].phase[i]] > 0.0)
            sum = (isnan(sum) ? 0.0 : sum) + phase_s[rows[row].phase[i]];
    return sum;
}

static log_figures figures_of(const report_rl_log *report)
{
    const rl_log *const log = report->log;
    const plait_rl_ranked *const plan = report->plan;
    log_figures out;
    double rest_s = log->step_s;

    for (int r = 0; r < ROWS; r++) {
        out.measured_s[r] = sum_of(log->phase_s, (log_row)r);
        out.predicted_s[r] = plan != NULL ? sum_of(plan->price.phase_s, (log_row)r) : (double)NAN;
    }
    // verl times the wait for answers as generation if generation runs ahead
    if (plan != NULL && plan->plan.staleness > 0 && isnan(out.measured_s[ROW_WAIT])) {
        out.measured_s[ROW_WAIT] = out.measured_s[ROW_ROLLOUT];
        out.measured_s[ROW_ROLLOUT] = (double)NAN;
    }
    for (int r = 0; r < ROW_OTHER; r++)
        rest_s -= isnan(out.measured_s[r]) ? 0.0 : out.measured_s[r];
    out.measured_s[ROW_OTHER] = fmax(0.0, rest_s);
    out.measured_s[ROW_STEP] = log->step_s;
    if (plan != NULL)
        out.predicted_s[ROW_STEP] = plan->price.step_s;
    return out;
}

/* ---- advice ---- */

/*
 * Ratios and shares from which a phase gets a line (all chosen). A forward pass takes a third of an
 * update, or a quarter of one with full recomputation.
 */
static const double slow = 1.25, most_forward = 0.4, long_tail = 0.5;
static const double few = 0.05, many = 0.1, most = 0.3;

/* Returns the share of generation in which the answers of mean length have ended; NaN: unknown. */
static double tail_of(const report_rl_log *report)
{
    const rl_log *const log = report->log;
    const double longest = !isnan(log->longest_answer) ? log->longest_answer
                           : report->job != NULL       ? report->job->lengths->output.max
                                                       : (double)NAN;

    return log->longest_s > 0.0 ? 1.0 - log->answer_s / log->longest_s
                                : 1.0 - log->answer_tokens / longest;
}

/* Returns the forward passes that the measured log-probabilities consist of. */
static int forward_passes(const report_rl_log *report)
{
    if (report->log->framework == PLAIT_RL_NEMO_RL)
        return report->job == NULL || report->job->reference ? 2 : 1;
    return (report->log->phase_s[PLAIT_RL_logprob] > 0.0) +
           (report->log->phase_s[PLAIT_RL_reference] > 0.0);
}

enum { ADVICE = 320 };

/* Writes what to change for a row that deviates; false: nothing. */
static bool advise(const report_rl_log *report, const log_figures *figures, log_row row,
                   char text[ADVICE])
{
    const bool verl = report->log->framework == PLAIT_RL_VERL;
    const double measured_s = figures->measured_s[row];
    const double share = measured_s / figures->measured_s[ROW_STEP];
    const double ratio = measured_s / figures->predicted_s[row];
    const double tail = tail_of(report);
    const double forward = measured_s / forward_passes(report) / figures->measured_s[ROW_TRAIN];

    text[0] = '\0';
    if (row == ROW_ROLLOUT && share >= most && tail >= long_tail)
        snprintf(text, ADVICE,
                 "answers of mean length end after %.0f %% of the longest one, and the GPUs then "
                 "run few requests: a lower limit of answers, or generation ahead of training "
                 "(--placement apart --staleness 1 --partial)",
                 100.0 * (1.0 - tail));
    else if (row == ROW_ROLLOUT && ratio >= slow)
        snprintf(text, ADVICE,
                 "check eager mode, the share of memory for caches and preempted requests in the "
                 "log of the engine; plait serve explains a step of it");
    else if (row == ROW_REWARD && share >= few)
        snprintf(text, ADVICE, "compute rewards while other answers are generated");
    else if (row == ROW_LOGPROB && forward >= most_forward)
        snprintf(text, ADVICE,
                 "a pass takes %.0f %% of the updates, and should take a third: more tokens in its "
                 "microbatches (%s)",
                 100.0 * forward,
                 verl ? "log_prob_max_token_len_per_gpu" : "sequence_packing.logprob_mb_tokens");
    else if ((row == ROW_LOGPROB || row == ROW_TRAIN || row == ROW_CRITIC) && ratio >= slow)
        snprintf(
            text, ADVICE,
            "compare degrees, recomputation and tokens of a microbatch (%s) with the plan",
            row == ROW_LOGPROB
                ? (verl ? "log_prob_max_token_len_per_gpu" : "sequence_packing.logprob_mb_tokens")
                : (verl ? "ppo_max_token_len_per_gpu" : "sequence_packing.train_mb_tokens"));
    else if (row == ROW_MOVES && (share >= many || (share >= few && ratio >= slow)))
        snprintf(text, ADVICE, "%s",
                 verl
                     ? "larger buckets (checkpoint_engine.update_weights_bucket_megabytes), and "
                       "state that stays on the GPUs if memory allows it (param_offload)"
                     : "fewer ranks that hold parts of a tensor, and separate GPUs for generation");
    else if (row == ROW_WAIT && share >= many)
        snprintf(text, ADVICE, "more GPUs for generation, or more steps ahead (--staleness)");
    else if (row == ROW_OTHER && share >= many)
        snprintf(text, ADVICE,
                 "%.0f s are checkpoints and validation; the rest is data, the controller and "
                 "phases without a timer",
                 isnan(report->log->rest_s) ? 0.0 : report->log->rest_s);
    else if (row != ROW_STEP && ratio <= 1.0 / slow)
        snprintf(text, ADVICE, "faster than predicted; check that the plan is that of the run");
    return text[0] != '\0';
}

/* ---- text and JSON ---- */

plait_status report_rl_log_print(const report_rl_log *report, FILE *out, plait_error *err)
{
    const rl_log *const log = report->log;
    const log_figures figures = figures_of(report);
    const bool priced = report->plan != NULL;
    table *const lines = table_new(priced ? "phase|>measured|>share|>predicted|>measured/predicted"
                                          : "phase|>measured|>share");
    char advice[ADVICE];
    bool first = true;

    fprintf(out, "%s: %s, %d step%s, medians of the last %d", report->file,
            plait_rl_framework_name[log->framework], log->steps, log->steps == 1 ? "" : "s",
            log->used);
    if (log->answer_tokens > 0.0)
        fprintf(out, "; answers of %.0f tokens", log->answer_tokens);
    if (log->longest_answer > 0.0)
        fprintf(out, ", the longest of %.0f", log->longest_answer);
    if (log->tokens_per_s > 0.0)
        fprintf(out, "; %.0f tokens/s/GPU", log->tokens_per_s);
    fprintf(out, "\n\n");
    for (int r = 0; r < ROWS; r++) {
        const double measured_s = figures.measured_s[r], predicted_s = figures.predicted_s[r];

        if (!(measured_s > 0.0 || predicted_s > 0.0))
            continue;
        TABLE_ROW(lines, as_text(rows[r].name), as_seconds(measured_s),
                  as_percent(measured_s / log->step_s));
        if (priced)
            TABLE_ROW(lines, as_seconds(predicted_s), as_format("%.2f", measured_s / predicted_s));
    }
    PLAIT_TRY(table_print(lines, 2, out, err));
    for (int r = 0; r < ROWS; r++)
        if (advise(report, &figures, (log_row)r, advice)) {
            fprintf(out, "%s  %s: %s\n", first ? "\n" : "", rows[r].name, advice);
            first = false;
        }
    return PLAIT_OK;
}

void json_rl_log(json_writer *json, const report_rl_log *report)
{
    const rl_log *const log = report->log;
    const log_figures figures = figures_of(report);
    char advice[ADVICE];

    json_member_object(json, "log");
    JSON_STRINGS(json, {"file", report->file},
                 {"framework", plait_rl_framework_name[log->framework]});
    JSON_NUMBERS(json, {"steps", log->steps}, {"used", log->used},
                 {"prompt_tokens", log->prompt_tokens}, {"answer_tokens", log->answer_tokens},
                 {"longest_answer", log->longest_answer},
                 {"tokens_per_s_per_gpu", log->tokens_per_s});
    json_member_array(json, "phases");
    for (int r = 0; r < ROWS; r++) {
        json_begin_object(json);
        json_member_string(json, "phase", rows[r].key);
        JSON_NUMBERS(json, {"measured_s", figures.measured_s[r]},
                     {"predicted_s", figures.predicted_s[r]});
        if (advise(report, &figures, (log_row)r, advice))
            json_member_string(json, "advice", advice);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}
