/* rl_log.c - reads the times of phases of reinforcement learning */
#include "io/csv/rl_log.h"

#include <math.h>

#include "io/csv/log_text.h"
#include "io/file.h"

/* Figures of a step: the phases, then these. */
enum {
    STEP = PLAIT_RL_PHASES,
    REST,
    PROMPT,
    ANSWER,
    SAMPLE, /* ANSWER and the tokens of an environment, without the prompt */
    LONGEST,
    ANSWER_S,
    LONGEST_S,
    RATE,
    AHEAD, /* present if generation runs ahead of training */
    FIGURES
};

/* A figure of a line is the number after a mark; marks of the same figure are added. */
typedef struct figure_mark {
    const char *mark;
    int figure;
} figure_mark;

/*
 * verl 1dda039: verl/trainer/ppo/ray_trainer.py, metric_utils.py and
 * verl/experimental/agent_loop/agent_loop.py; sync_rollout_weights and param_sync are those of the
 * asynchronous trainers in verl/experimental.
 */
static const figure_mark verl_marks[] = {
    {"timing_s/step:", STEP},
    {"timing_s/gen:", PLAIT_RL_rollout},
    {"timing_s/reward:", PLAIT_RL_reward},
    {"timing_s/old_log_prob:", PLAIT_RL_logprob},
    {"timing_s/ref:", PLAIT_RL_reference},
    {"timing_s/values:", PLAIT_RL_critic},
    {"timing_s/update_critic:", PLAIT_RL_critic},
    {"timing_s/update_actor:", PLAIT_RL_train},
    {"timing_s/update_weights:", PLAIT_RL_handover},
    {"timing_s/sync_rollout_weights:", PLAIT_RL_handover},
    {"timing_s/param_sync:", PLAIT_RL_handover},
    {"timing_s/testing:", REST},
    {"timing_s/save_checkpoint:", REST},
    {"prompt_length/mean:", PROMPT},
    {"response_length/mean:", ANSWER},
    {"response_length/max:", LONGEST},
    {"timing_s/agent_loop/generate_sequences/mean:", ANSWER_S},
    {"timing_s/agent_loop/generate_sequences/max:", LONGEST_S},
    {"perf/throughput:", RATE},
    {"timing_s/sync_rollout_weights:", AHEAD},
    {"timing_s/param_sync:", AHEAD},
    {"fully_async/trainer/idle_ratio:", AHEAD},
    {NULL, 0},
};

/*
 * NeMo-RL 7ea279a: nemo_rl/algorithms/grpo.py and utils.py. weight_sync is the hand-over of
 * asynchronous GRPO; exposed_generation is the time in which training waits.
 */
static const figure_mark nemo_marks[] = {
    {"\u2022 Total step time:", STEP},
    {"\u2022 generation:", PLAIT_RL_rollout},
    {"\u2022 exposed_generation:", PLAIT_RL_wait},
    {"\u2022 reward_calculation:", PLAIT_RL_reward},
    {"\u2022 policy_and_reference_logprobs:", PLAIT_RL_logprob},
    {"\u2022 policy_training:", PLAIT_RL_train},
    {"\u2022 prepare_for_generation/total:", PLAIT_RL_handover},
    {"\u2022 prepare_for_generation:", PLAIT_RL_handover},
    {"\u2022 weight_sync:", PLAIT_RL_handover},
    {"\u2022 logprob_inference_prep:", PLAIT_RL_swap},
    {"\u2022 training_prep:", PLAIT_RL_swap},
    {"\u2022 offload_before_refit:", PLAIT_RL_swap},
    {"\u2022 checkpointing:", REST},
    {"\u2022 Mean Generation Length:", ANSWER},
    {"\u2022 Mean Total Tokens per Sample:", SAMPLE},
    {"E2E (Tokens/sec/gpu):", RATE},
    {"\u2022 exposed_generation:", AHEAD},
    {NULL, 0},
};

static const double most = 1e9; /* larger numbers are damage */

/* Returns the number after a mark; numbers of NumPy are printed as np.float64(1.5). */
static double number_after(log_text line, const char *mark)
{
    const char *at = log_text_after(line, mark);

    if (at == NULL)
        return (double)NAN;
    const double number = log_number_at(at, line.end, NULL);
    const char *const bracket = log_text_after((log_text){at, line.end}, "(");
    if (isnan(number) && bracket != NULL && bracket - at < 16)
        return log_number_at(bracket, line.end, NULL);
    return number;
}

/*
 * Reads the steps. In a log of lines, a line with a step time is a step. In a log of blocks, the
 * step time opens the times of a step, and only the length of its answers is printed before.
 */
static int read_steps(log_text log, const figure_mark *marks, bool blocks, double (*step)[FIGURES])
{
    log_text line;
    int count = 0;

    while (log_next_line(&log, &line)) {
        const bool opens = number_after(line, marks[0].mark) <= most;

        if (!blocks && !opens)
            continue;
        count += opens;
        for (const figure_mark *m = marks; m->mark != NULL; m++) {
            const double number = number_after(line, m->mark);
            const int at = blocks && m->figure == ANSWER ? count : count - 1;

            if (!(number <= most) || at < 0)
                continue;
            double *const value = &step[at][m->figure];
            *value = isnan(*value) ? number : *value + number;
        }
    }
    return count;
}

/* Returns the median of the later half of the steps that state a figure; NaN: none does. */
static double median_of(double (*step)[FIGURES], int count, int figure, double *value)
{
    double median = (double)NAN;
    int stated = 0;

    for (int s = 0; s < count; s++)
        if (!isnan(step[s][figure]))
            value[stated++] = step[s][figure];
    if (stated > 0)
        (void)log_median_of_later_half(value, stated, &median);
    return median;
}

static int count_lines(log_text log, const char *mark)
{
    log_text line;
    int count = 0;

    while (log_next_line(&log, &line))
        count += number_after(line, mark) <= most;
    return count;
}

plait_status rl_log_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                          rl_log *out, plait_error *err)
{
    const log_text log = {text, text + length};
    const bool blocks = count_lines(log, verl_marks[0].mark) == 0;
    const figure_mark *const marks = blocks ? nemo_marks : verl_marks;
    const int rows = 1 + count_lines(log, marks[0].mark);
    double(*const step)[FIGURES] = plait_arena_alloc(arena, (size_t)rows, sizeof *step);
    double *const value = plait_arena_alloc(arena, (size_t)rows, sizeof *value);
    double figure[FIGURES];

    PLAIT_TRY(plait_check_allocated(step && value, err));
    for (int s = 0; s < rows; s++)
        for (int f = 0; f < FIGURES; f++)
            step[s][f] = (double)NAN;
    const int count = read_steps(log, marks, blocks, step);
    for (int f = 0; f < FIGURES; f++)
        figure[f] = median_of(step, count, f, value);
    if (isnan(figure[PLAIT_RL_train]) ||
        (isnan(figure[PLAIT_RL_rollout]) && isnan(figure[PLAIT_RL_wait])))
        return plait_fail(err, PLAIT_ERROR_SCHEMA, name,
                          "expected steps of verl (timing_s/step, timing_s/gen) or NeMo-RL (Total "
                          "step time, generation), found none");
    *out = (rl_log){.framework = blocks ? PLAIT_RL_NEMO_RL : PLAIT_RL_VERL,
                    .steps = count,
                    .used = count - count / 2,
                    .ahead = !isnan(figure[AHEAD]),
                    .step_s = figure[STEP],
                    .rest_s = figure[REST],
                    .prompt_tokens = figure[PROMPT],
                    .answer_tokens = isnan(figure[ANSWER]) ? figure[SAMPLE] : figure[ANSWER],
                    .longest_answer = figure[LONGEST],
                    .answer_s = figure[ANSWER_S],
                    .longest_s = figure[LONGEST_S],
                    .tokens_per_s = figure[RATE]};
    for (int p = 0; p < PLAIT_RL_PHASES; p++)
        out->phase_s[p] = figure[p];
    if (out->ahead && isnan(out->phase_s[PLAIT_RL_wait])) { // verl counts the wait as generation
        out->phase_s[PLAIT_RL_wait] = out->phase_s[PLAIT_RL_rollout];
        out->phase_s[PLAIT_RL_rollout] = (double)NAN;
    }
    return PLAIT_OK;
}

plait_status rl_log_load(const char *path, plait_arena *arena, rl_log *out, plait_error *err)
{
    static const size_t most_bytes = (size_t)256 << 20;
    const char *text;
    size_t length;
    bool whole; // ignored, as in step_log_load()

    PLAIT_TRY(file_read_start(path, most_bytes, arena, &text, &length, &whole, err));
    return rl_log_parse(text, length, path, arena, out, err);
}
