/* step_log.c - reads step times from the logs of training software */
#include "io/csv/step_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "io/csv/log_text.h"
#include "io/file.h"

typedef struct peak_format {
    const char *mark;
    double unit_bytes;
    bool reserved;
} peak_format;

typedef enum step_unit { UNIT_STEP, UNIT_PER_STEP, UNIT_TOKENS, UNIT_SEQUENCES } step_unit;

enum { MARKS = 3 };

/*
 * A format of log lines. A line has this format if it contains `line` and a number after each mark;
 * its value is the sum of these numbers.
 */
typedef struct step_format {
    const char *software;
    unsigned rules;
    int (*collect)(log_text log, const struct step_format *format, double *out);
    const char *line;
    const char *mark[MARKS];
    double scale;
    step_unit unit;
    const peak_format *peak;
} step_format;

// ---- lines with a number -----------------------------------------------------------------------

static int collect_lines(log_text log, const step_format *format, double *out)
{
    log_text line;
    int count = 0;

    while (log_next_line(&log, &line)) {
        double sum = 0.0;

        // A validation step of torchtitan prints the rate of a forward pass only.
        if (log_text_after(line, format->line) == NULL ||
            log_text_after(line, "validate step:") != NULL)
            continue;
        for (int m = 0; m < MARKS && format->mark[m] != NULL; m++)
            sum += log_number_after(line, format->mark[m]);
        if (!isnan(sum))
            out[count++] = format->scale * sum;
    }
    return count;
}

// ---- progress bars -----------------------------------------------------------------------------

/* A progress bar such as "30/1000 [12:11<6:34:20, 24.36s/it]". */
typedef struct progress_bar {
    double done;  /* number of finished steps */
    double total; /* number of all steps */
    double elapsed_s;
    double shown_s; /* step time that the displayed rate gives; NaN for "0.00it/s" */
    bool is_rate;   /* the bar shows "it/s", with two decimals */
} progress_bar;

/* Returns the seconds of a clock such as "12:11" or "6:34:20"; NaN if the text is no clock. */
static double clock_at(const char *at, const char *end, const char **stop)
{
    double seconds = 0.0, part = 0.0;
    int parts = 0, digits = 0;

    for (; at < end && ((*at >= '0' && *at <= '9') || *at == ':'); at++) {
        if (*at == ':') {
            seconds = 60.0 * (seconds + part);
            part = 0.0;
            parts++;
        } else {
            part = 10.0 * part + (*at - '0');
            digits++;
        }
    }
    *stop = at;
    return parts >= 1 && digits > parts && digits < 12 ? seconds + part : (double)NAN;
}

static const char *digits_before(const char *at, const char *begin)
{
    while (at > begin && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at;
}

/* Reads "30/1000 [" before the bracket; returns false if there are no such numbers. */
static bool read_steps(const char *bracket, const char *begin, progress_bar *out)
{
    const char *stop;

    if (bracket == begin || bracket[-1] != ' ')
        return false;
    const char *const total = digits_before(bracket - 1, begin);
    if (total == begin || total[-1] != '/')
        return false;
    out->total = log_number_at(total, bracket, &stop);
    out->done = log_number_at(digits_before(total - 1, begin), total - 1, &stop);
    return !isnan(out->total) && !isnan(out->done);
}

static bool read_bar(const char *bracket, log_text log, progress_bar *out)
{
    const char *at, *stop;

    if (!read_steps(bracket, log.at, out))
        return false;
    out->elapsed_s = clock_at(bracket + 1, log.end, &at);
    if (isnan(out->elapsed_s) || at >= log.end || *at != '<')
        return false;
    (void)clock_at(at + 1, log.end, &at); // skips the remaining time
    if (at >= log.end || *at != ',')
        return false;
    const double number = log_number_at(at + 1, log.end, &stop);
    if (log.end - stop < 4 || stop[-1] < '0' || stop[-1] > '9')
        return false;
    out->is_rate = memcmp(stop, "it/s", 4) == 0;
    out->shown_s = out->is_rate ? 1.0 / number : number;
    return out->is_rate || memcmp(stop, "s/it", 4) == 0;
}

enum { MAX_RUNS = 32 };

/* The progress bars of one loop: an epoch, an evaluation, or the files of a checkpoint. */
typedef struct bar_run {
    const char *begin; /* bracket of the run's first bar; NULL: the run has no bars */
    progress_bar first, last;
    bool of_files; /* the line has a text such as "Loading checkpoint shards: ..." */
} bar_run;

typedef struct bar_runs {
    bar_run run[MAX_RUNS];
    int count;
} bar_runs;

static bool is_of_files(const char *bracket, log_text log)
{
    const char *line = bracket;

    while (line > log.at && line[-1] != '\n' && line[-1] != '\r')
        line--;
    return log_text_after((log_text){line, bracket}, "oading ") != NULL;
}

/*
 * Adds a bar to the run that it continues: a run with the same total whose last bar is not later,
 * in steps and in elapsed time. If several runs qualify, the one with the latest clock is
 * continued. If none does, the bar begins a new run, which replaces the shortest run if there are
 * too many.
 */
static bar_run *add_bar(bar_runs *runs, const progress_bar *bar, const char *bracket, log_text log)
{
    bar_run *closest = NULL, *shortest = runs->run;

    for (bar_run *run = runs->run; run < runs->run + runs->count; run++)
        if (run->last.total == bar->total && run->last.done <= bar->done &&
            run->last.elapsed_s <= bar->elapsed_s &&
            (closest == NULL || run->last.elapsed_s > closest->last.elapsed_s))
            closest = run;
    if (closest != NULL) {
        closest->last = *bar;
        return closest;
    }
    for (int r = 1; r < runs->count; r++)
        if (runs->run[r].last.elapsed_s < shortest->last.elapsed_s)
            shortest = &runs->run[r];
    bar_run *const fresh = runs->count < MAX_RUNS ? &runs->run[runs->count++] : shortest;
    *fresh = (bar_run){bracket, *bar, *bar, is_of_files(bracket, log)};
    return fresh;
}

/*
 * Returns whether a run loads files. Loading takes a few slow steps, which may take longer in total
 * than a short training.
 */
static bool loads_files(const bar_run *run)
{
    return run->of_files || (run->last.done == run->last.total && run->last.total < 10.0);
}

/*
 * Finds the run of the training. It is the longest run, because its clock also runs while
 * evaluations and checkpoints show their own bars.
 */
static bar_run training_run(log_text log)
{
    bar_run best = {.begin = NULL};
    bar_runs runs = {.count = 0};
    progress_bar bar;

    for (const char *at = log.at; at < log.end; at++)
        if (*at == '[' && read_bar(at, log, &bar))
            (void)add_bar(&runs, &bar, at, log);
    for (const bar_run *run = runs.run; run < runs.run + runs.count; run++)
        if (best.begin == NULL ||
            (loads_files(run) != loads_files(&best) ? loads_files(&best)
                                                    : run->last.elapsed_s > best.last.elapsed_s))
            best = *run;
    return best;
}

/*
 * Progress bars have a resolution of one second: the error of a time span is 1 % at span_s and 5 %
 * at least_span_s.
 */
static const double span_s = 100.0, least_span_s = 20.0;

/*
 * Collects step times between the bars of the later half of the training, over time spans that are
 * long enough for the bar's clock. Spans with an evaluation or a checkpoint are outliers. With
 * `shown`, collects the rates that these bars display instead, which are tqdm's running average.
 */
static int collect_run(log_text log, const bar_run *training, bool shown, double *out)
{
    const double middle = 0.5 * (training->first.done + training->last.done);
    progress_bar from = training->first, bar;
    bar_runs runs = {.count = 0};
    int count = 0;

    for (const char *at = log.at; at < log.end; at++) {
        if (*at != '[' || !read_bar(at, log, &bar) ||
            add_bar(&runs, &bar, at, log)->begin != training->begin)
            continue;
        const double seconds = bar.elapsed_s - from.elapsed_s, steps = bar.done - from.done;
        if (bar.done <= middle) {
            from = bar;
        } else if (shown) {
            if (!isnan(bar.shown_s))
                out[count++] = bar.shown_s;
        } else if (steps > 0.0 &&
                   (seconds >= span_s ||
                    (count == 0 && bar.done == training->last.done && seconds >= least_span_s))) {
            out[count++] = seconds / steps;
            from = bar;
        }
    }
    return count;
}

/*
 * Returns the step time of a single bar: the mean time since the start if it agrees with the
 * displayed rate within rounding, otherwise the time that the displayed rate gives.
 */
static double step_of_bar(const progress_bar *bar)
{
    const double rate = isnan(bar->shown_s) ? 0.0 : 1.0 / bar->shown_s;
    const double mean_s = bar->elapsed_s / bar->done;

    return bar->is_rate && mean_s > 0.0 && fabs(1.0 / mean_s - rate) <= 0.005 ? mean_s
                                                                              : bar->shown_s;
}

static int collect_bars(log_text log, const step_format *format, double *out)
{
    const bar_run training = training_run(log);
    int count;

    (void)format;
    if (training.begin == NULL)
        return 0;
    if (training.first.done == training.last.done) {
        *out = step_of_bar(&training.last);
        return !isnan(*out);
    }
    count = collect_run(log, &training, false, out);
    if (count == 0)
        count = collect_run(log, &training, true, out);
    qsort(out, (size_t)count, sizeof *out, compare_doubles);
    if (count > 0)
        *out = 0.5 * (out[count / 2] + out[(count - 1) / 2]);
    return count > 0;
}

// ---- summaries and clocks ----------------------------------------------------------------------

/*
 * Collects the mean rate that transformers' Trainer prints at the end of a run
 * (trainer_utils.speed_metrics). It has three decimals, so below 0.02 its error may exceed 2.5 %;
 * then the run's time over its number of steps is used. For a resumed run, the printed rate counts
 * all steps (max_steps), although the time is that of the remaining steps.
 */
static int collect_summary(log_text log, const step_format *format, double *out)
{
    const double run_s = log_number_after(log, "train_runtime");
    const double total = log_number_after(log, "Total optimization steps");
    const double resumed = log_number_after(log, "Continuing training from global step");
    const double steps = isnan(resumed) ? total : total - resumed;
    const double per_s = log_number_after(log, "train_steps_per_second");

    (void)format;
    if (isnan(per_s) || steps <= 0.0 ||
        ((per_s < 0.02 || !isnan(resumed)) && (isnan(run_s) || isnan(steps))))
        return 0;
    *out = isnan(run_s) || isnan(steps) ? 1.0 / per_s : run_s / steps;
    return 1;
}

/*
 * Reads a line of LLaMA-Factory's trainer_log.jsonl: "current_steps": 10, ..., "elapsed_time":
 * "0:04:03".
 */
static bool read_elapsed(log_text line, double *step, double *seconds)
{
    const char *at = log_text_after(line, "\"elapsed_time\": \"");

    *step = log_number_after(line, "\"current_steps\":");
    *seconds = at != NULL ? clock_at(at, line.end, &at) : (double)NAN;
    return !isnan(*step) && !isnan(*seconds);
}

/* Reads a row of a scalar that TensorBoard exported as CSV: Wall time,Step,Value. */
static bool read_wall_time(log_text line, double *step, double *seconds)
{
    const char *const comma = memchr(line.at, ',', (size_t)(line.end - line.at));

    if (comma == NULL)
        return false;
    const char *const second = memchr(comma + 1, ',', (size_t)(line.end - comma - 1));
    *seconds = log_number_at(line.at, comma, NULL);
    *step = second != NULL ? log_number_at(comma + 1, second, NULL) : (double)NAN;
    return !isnan(*step) && !isnan(*seconds);
}

/* Collects the seconds between two lines divided by the steps between them. */
static int collect_between(log_text log, const step_format *format, double *out)
{
    const bool table = format->line == NULL;
    const char *const header = table ? log_text_after(log, format->mark[0]) : NULL;
    double last_step = (double)NAN, last_s = (double)NAN, step, seconds;
    log_text line;
    int count = 0;

    if (table && (header == NULL || header != log.at + strlen(format->mark[0])))
        return 0;
    while (log_next_line(&log, &line)) {
        if (!(table ? read_wall_time : read_elapsed)(line, &step, &seconds))
            continue;
        if (step > last_step && seconds > last_s)
            out[count++] = (seconds - last_s) / (step - last_step);
        last_step = step;
        last_s = seconds;
    }
    return count;
}

// ---- formats -----------------------------------------------------------------------------------

static const peak_format allocated_mib = {"max allocated:", 1 << 20, false},
                         nanotron_mib = {"Peak allocated", 1 << 20, false},
                         max_ma_gib = {"Max_MA", 1 << 30, false},
                         max_gib = {"MaxMemAllocated", 1 << 30, false},
                         titan_gib = {"memory:", 1 << 30, true},
                         swift_gib = {"memory(GiB)", 1 << 30, true};

#define RULES(word) (1U << PLAIT_RULES_##word)

static const unsigned megatrons = RULES(MEGATRON) | RULES(FLAGSCALE) | RULES(GALVATRON) |
                                  RULES(MINDSPEED) | RULES(MEGATRON_DEEPSPEED);
static const unsigned deepspeeds = RULES(DEEPSPEED) | RULES(MEGATRON_DEEPSPEED);

#define LINES(name, rules, line, mark, scale, unit, peak)                                          \
    {                                                                                              \
        name, rules, collect_lines, line, {mark}, scale, unit, peak                                \
    }

/*
 * All formats, in the order of their precedence: the first format that occurs in the log is used,
 * so times of single steps precede rates, and rates precede running averages. DeepSpeed's
 * CurrSamplesPerSec may omit most of a step under Megatron.
 *
 * Sources: Megatron-LM training/training.py (Primus adds "/MEAN"), BigScience's Megatron-DeepSpeed
 * (seconds), Argonne's fork of it (elapsed_time_per_iteration_ms=), Megatron-Bridge train_utils.py,
 * NeMo's progress printer, nanotron trainer.py, DeepSpeed pipe/engine.py, timer.py and engine.py
 * (wall_clock_breakdown), MaxText metric_logger.py, torchtitan metrics.py ("wps:" until 2025),
 * ms-swift patcher.py (a mean over the run), LLaMA-Factory callbacks.py.
 */
static const step_format formats[] = {
    LINES("Megatron-LM", megatrons, "iteration", "elapsed time per iteration (ms):", 1e-3,
          UNIT_STEP, &allocated_mib),
    LINES("Megatron-DeepSpeed", megatrons, "iteration", "elapsed time per iteration (s):", 1.0,
          UNIT_STEP, &allocated_mib),
    LINES("Megatron-Bridge", megatrons, "GPU utilization", "Step Time :", 1.0, UNIT_STEP,
          &allocated_mib),
    LINES("NeMo", megatrons, "train_step_timing", "train_step_timing in s", 1.0, UNIT_STEP, NULL),
    LINES("Megatron-DeepSpeed", megatrons, "iteration=", "elapsed_time_per_iteration_ms=", 1e-3,
          UNIT_STEP, &max_gib),
    LINES("nanotron", RULES(GENERIC), "iteration", "time_per_iteration_ms:", 1e-3, UNIT_STEP,
          &nanotron_mib),
    LINES("DeepSpeed", deepspeeds, "iter time", "iter time (s):", 1.0, UNIT_STEP, &max_ma_gib),
    LINES("MaxText", RULES(MAXTEXT), "completed step:", ", seconds:", 1.0, UNIT_STEP, NULL),
    {"DeepSpeed",
     deepspeeds,
     collect_lines,
     "time (ms)",
     {"| fwd:", "| bwd:", "| step:"},
     1e-3,
     UNIT_STEP,
     &max_ma_gib},
    LINES("torchtitan", RULES(TORCHTITAN), "step:", "tps:", 1.0, UNIT_TOKENS, &titan_gib),
    LINES("torchtitan", RULES(TORCHTITAN), "step:", "wps:", 1.0, UNIT_TOKENS, &titan_gib),
    LINES("DeepSpeed", deepspeeds, "global_step=", "CurrSamplesPerSec", 1.0, UNIT_SEQUENCES,
          &max_gib),
    {.software = "a progress bar", .collect = collect_bars, .peak = &swift_gib},
    LINES("ms-swift", 0, "train_speed", "train_speed(s/it)", 1.0, UNIT_STEP, &swift_gib),
    LINES("ms-swift", 0, "train_speed", "train_speed(iter/s)", 1.0, UNIT_PER_STEP, &swift_gib),
    {.software = "LLaMA-Factory", .collect = collect_between, .line = "current_steps"},
    {.software = "TensorBoard", .collect = collect_between, .mark = {"Wall time,Step,Value"}},
    {.software = "transformers' Trainer", .collect = collect_summary},
};

enum { FORMATS = sizeof formats / sizeof *formats };

// ---- the whole log -----------------------------------------------------------------------------

/* Finds the largest memory peak of all ranks and steps. */
static void find_peak(log_text log, const peak_format *peak, step_log *out)
{
    log_text line;

    if (peak == NULL)
        return;
    out->reserved = peak->reserved;
    while (log_next_line(&log, &line))
        out->peak_bytes =
            fmax(out->peak_bytes, peak->unit_bytes * log_number_after(line, peak->mark));
}

/* Returns an upper bound on the number of values: each value has its own line or bar. */
static size_t max_values(log_text log)
{
    size_t most = 1;

    for (const char *at = log.at; at < log.end; at++)
        most += *at == '\n' || *at == '\r' || *at == '[';
    return most;
}

plait_status step_log_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                            step_log *out, plait_error *err)
{
    const log_text log = {text, text + length};
    double *const value = plait_arena_alloc(arena, max_values(log), sizeof *value), median;

    PLAIT_TRY(plait_check_allocated(value, err));
    for (int f = 0; f < FORMATS; f++) {
        const step_format *const format = &formats[f];
        const int count = format->collect(log, format, value);

        if (count == 0)
            continue;
        *out = (step_log){.software = format->software, .rules = format->rules};
        out->steps = log_median_of_later_half(value, count, &median);
        switch (format->unit) {
        case UNIT_STEP:
            out->step_s = median;
            break;
        case UNIT_PER_STEP:
            out->step_s = 1.0 / median;
            break;
        case UNIT_TOKENS:
            out->tokens_per_s = median;
            break;
        case UNIT_SEQUENCES:
            out->sequences_per_s = median;
            break;
        }
        find_peak(log, format->peak, out);
        return PLAIT_OK;
    }
    return plait_fail(err, PLAIT_ERROR_SCHEMA, name,
                      "expected a log of Megatron-LM, NeMo, nanotron, DeepSpeed, torchtitan, "
                      "MaxText or transformers, or a CSV with a column step_s, found no step time");
}

plait_status step_log_load(const char *path, plait_arena *arena, step_log *out, plait_error *err)
{
    static const size_t most_bytes = (size_t)256 << 20;
    const char *text;
    size_t length;
    bool whole; // ignored: the first 256 MiB of a longer log are enough

    PLAIT_TRY(file_read_start(path, most_bytes, arena, &text, &length, &whole, err));
    return step_log_parse(text, length, path, arena, out, err);
}

double step_log_seconds(const step_log *log, const plait_job *job)
{
    if (log->tokens_per_s > 0.0)
        return plait_job_tokens(job) / (log->tokens_per_s * job->gpus);
    if (log->sequences_per_s > 0.0)
        return job->gbs / log->sequences_per_s;
    return log->step_s;
}

bool step_log_matches_runtime(const step_log *log, const plait_runtime *runtime)
{
    return log->rules == 0 || runtime->rules == PLAIT_RULES_GENERIC ||
           (log->rules & (1U << runtime->rules)) != 0;
}
