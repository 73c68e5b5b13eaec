/* band.c - bands of predicted steps and memory, and the tie of two predictions, from evidence
 *
 * Errors are logarithms of measured over predicted time, so that half and twice as long are equally
 * far off.
 */
#include "validate/band.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plait/validate.h"
#include "rules/rules.h"
#include "plan/model_queries.h"

/* ---- regimes ---- */

static plait_narrowest narrowest_of(const plait_accelerator *accelerator)
{
    if (accelerator->peak_flops_per_s[PLAIT_NVFP4] > 0.0)
        return PLAIT_NARROWEST_FP4;
    if (accelerator->peak_flops_per_s[PLAIT_FP8] > 0.0)
        return PLAIT_NARROWEST_FP8;
    return accelerator->fp16_only ? PLAIT_NARROWEST_FP16 : PLAIT_NARROWEST_BF16;
}

plait_regime plait_regime_of(const plait_problem *problem)
{
    return (plait_regime){
        .runtime = plait_runtime_software(problem->runtime),
        .rules = problem->runtime->rules,
        .narrowest = narrowest_of(plait_cluster_accelerator(problem->cluster, 0)),
        .gpus = problem->job.gpus,
        .experts = model_has_experts(problem->model),
        .calibrated = problem->runtime->calibrated,
    };
}

/* Returns the class of a scale: 0 up to a node, 1 up to 256 GPUs, 2 more. */
int plait_regime_scale(int gpus)
{
    return gpus <= 8 ? 0 : gpus <= 256 ? 1 : 2;
}

enum { KEYS = 5 };

/*
 * Logarithms added to each side of a band: for repeats of a plan, and for each key without
 * evidence.
 */
static const double repeats = 0.02, unknown = 0.01;

/*
 * Returns a row's weight for a regime, by the keys that both share, and adds these keys to
 * `shared`.
 */
static double regime_weight(const plait_regime *a, const plait_regime *b, bool shared[KEYS])
{
    static const double gain[KEYS] = {4.0, 4.0, 2.0, 2.0, 4.0};
    const bool same[KEYS] = {
        strcmp(a->runtime, b->runtime) == 0, a->experts == b->experts, a->narrowest == b->narrowest,
        plait_regime_scale(a->gpus) == plait_regime_scale(b->gpus), a->calibrated == b->calibrated};
    double weight = 1.0;

    for (int k = 0; k < KEYS; k++) {
        weight *= same[k] ? gain[k] : 1.0;
        shared[k] |= same[k];
    }
    return weight;
}

/* ---- weighted quantiles ---- */

typedef struct weighted {
    double value;
    double weight;
} weighted;

static int by_value(const void *a, const void *b)
{
    const double x = ((const weighted *)a)->value, y = ((const weighted *)b)->value;

    return (x > y) - (x < y);
}

/*
 * Returns a weighted quantile of a sorted sample, interpolated between the middles of the weights.
 */
static double weighted_quantile(const weighted *sample, size_t count, double share)
{
    double total = 0.0, below = 0.0;
    double place = 0.0, value = sample[0].value;

    for (size_t i = 0; i < count; i++)
        total += sample[i].weight;
    for (size_t i = 0; i < count; i++) {
        const double middle = (below + 0.5 * sample[i].weight) / total;

        if (middle >= share)
            return i == 0 ? sample[0].value
                          : value + (sample[i].value - value) * (share - place) / (middle - place);
        place = middle;
        value = sample[i].value;
        below += sample[i].weight;
    }
    return value;
}

/* ---- the band ---- */

static bool same_group(const plait_evidence_row *a, const plait_evidence_row *b)
{
    return strcmp(a->source, b->source) == 0 && strcmp(a->regime.runtime, b->regime.runtime) == 0;
}

/* Returns the end of the group (one source and software) that begins at a row. */
static size_t group_end(const plait_evidence_row *row, size_t count, size_t begin)
{
    size_t end = begin + 1;

    while (end < count && same_group(&row[begin], &row[end]))
        end++;
    return end;
}

size_t band_group_end(const plait_evidence *evidence, size_t begin)
{
    return group_end(evidence->row, evidence->count, begin);
}

/*
 * Collects the errors of all rows, except those of the source `without`. A group of n rows weighs
 * sqrt(n) times its likeness to the regime.
 */
static size_t band_sample(const plait_evidence *evidence, const plait_regime *regime,
                          const char *without, weighted *sample, bool shared[KEYS])
{
    size_t count = 0;

    for (size_t begin = 0, end; begin < evidence->count; begin = end) {
        const plait_evidence_row *const first = &evidence->row[begin];

        end = band_group_end(evidence, begin);
        if (without != NULL && strcmp(first->source, without) == 0)
            continue;
        for (size_t i = begin; i < end; i++) {
            const plait_evidence_row *const row = &evidence->row[i];

            sample[count++] =
                (weighted){log(row->left_out), regime_weight(&row->regime, regime, shared) /
                                                   sqrt((double)(end - begin))};
        }
    }
    return count;
}

plait_status band_check_regime(const plait_regime *regime, plait_error *err)
{
    return regime->runtime != NULL && regime->gpus >= 1
               ? PLAIT_OK
               : plait_fail(err, PLAIT_ERROR_RANGE, "regime",
                            "expected a runtime and a number of GPUs, found none");
}

plait_status plait_evidence_band(const plait_evidence *evidence, const plait_regime *regime,
                                 const char *without, plait_arena *scratch, plait_band *out,
                                 plait_error *err)
{
    PLAIT_TRY(band_check_regime(regime, err));
    const plait_arena_mark mark = plait_arena_save(scratch);
    weighted *sample = plait_arena_alloc(scratch, evidence->count + 1, sizeof *sample);
    bool shared[KEYS] = {false};
    double wider = repeats;

    *out = (plait_band){0};
    PLAIT_TRY(plait_check_allocated(sample, err));
    const size_t count = band_sample(evidence, regime, without, sample, shared);
    for (int k = 0; k < KEYS; k++)
        wider += shared[k] ? 0.0 : unknown;
    if (count > 0) {
        qsort(sample, count, sizeof *sample, by_value);
        out->low = exp(fmin(weighted_quantile(sample, count, 0.1), 0.0) - wider);
        out->high = exp(fmax(weighted_quantile(sample, count, 0.9), 0.0) + wider);
    }
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}

/* ---- the band of memory ---- */

/* Of the standard normal distribution: quantile of |x| at 75 %, and of x at 90 %. */
static const double within75 = 1.1503493803760079, below90 = 1.2815515655446004;

/*
 * Returns the deviation of one group's peaks from their predictions, and its weight. `room`:
 * [count].
 */
static weighted voice_of(const plait_evidence_row *row, size_t count, const plait_regime *regime,
                         weighted *room)
{
    static const double enough = 10.0, same_software = 16.0, same_rules = 4.0;
    const double share = (double)count < enough ? (double)count / enough : 1.0;

    for (size_t i = 0; i < count; i++)
        room[i] = (weighted){fabs(log(row[i].left_out)), 1.0};
    qsort(room, count, sizeof *room, by_value);
    return (weighted){weighted_quantile(room, count, 0.75) / within75,
                      share * (strcmp(row->regime.runtime, regime->runtime) == 0 ? same_software
                               : rules_are_kin(row->regime.rules, regime->rules) ? same_rules
                                                                                 : 1.0)};
}

plait_status plait_evidence_memory_band(const plait_evidence *evidence, const plait_regime *regime,
                                        const char *without, plait_arena *scratch, plait_band *out,
                                        plait_error *err)
{
    static const double device = 0.02;

    PLAIT_TRY(band_check_regime(regime, err));
    const plait_arena_mark mark = plait_arena_save(scratch);
    weighted *voice = plait_arena_alloc(scratch, evidence->memories + 1, sizeof *voice);
    weighted *room = plait_arena_alloc(scratch, evidence->memories + 1, sizeof *room);
    size_t voices = 0;

    *out = (plait_band){0};
    PLAIT_TRY(plait_check_allocated(voice && room, err));
    for (size_t begin = 0, end; begin < evidence->memories; begin = end) {
        end = group_end(evidence->memory, evidence->memories, begin);
        if (without == NULL || strcmp(evidence->memory[begin].source, without) != 0)
            voice[voices++] = voice_of(&evidence->memory[begin], end - begin, regime, room);
    }
    if (voices > 0) {
        qsort(voice, voices, sizeof *voice, by_value);
        out->high = exp(below90 * weighted_quantile(voice, voices, 0.5) + device);
        out->low = 1.0 / out->high;
    }
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}

/* ---- ties of predictions ---- */

bool band_judges(const plait_evidence_row *row, const plait_regime *regime)
{
    return row->sweep[0] != '\0' && (regime->calibrated || !row->regime.calibrated);
}

double band_error_of(const plait_evidence_row *row, const plait_regime *regime)
{
    return log(regime->calibrated ? row->shipped : row->left_out);
}

typedef struct sweep_row {
    const char *sweep;
    weighted error;
} sweep_row;

static int by_sweep_and_error(const void *a, const void *b)
{
    const sweep_row *const x = a, *const y = b;
    const int order = strcmp(x->sweep, y->sweep);

    return order != 0 ? order : by_value(&x->error, &y->error);
}

static size_t sweep_rows(const plait_evidence *evidence, const plait_regime *regime, sweep_row *out)
{
    size_t count = 0;

    for (size_t i = 0; i < evidence->count; i++) {
        const plait_evidence_row *const row = &evidence->row[i];
        bool shared[KEYS] = {false};

        if (band_judges(row, regime))
            out[count++] = (sweep_row){
                row->sweep,
                {band_error_of(row, regime), regime_weight(&row->regime, regime, shared)}};
    }
    qsort(out, count, sizeof *out, by_sweep_and_error);
    return count;
}

/* Sets `out` to the distances of a sweep's errors, which are sorted, from their median. */
static size_t add_distances(const sweep_row *row, size_t count, weighted *out)
{
    if (count < PLAIT_SWEEP_LEAST)
        return 0;
    for (size_t i = 0; i < count; i++)
        out[i] = row[i].error;
    const double middle = weighted_quantile(out, count, 0.5);
    for (size_t i = 0; i < count; i++)
        out[i] = (weighted){fabs(out[i].value - middle), out[i].weight / (double)count};
    return count;
}

/* Collects and sorts the distances of all sweeps. Returns their count. */
static size_t all_distances(const sweep_row *row, size_t rows, weighted *out)
{
    size_t count = 0;

    for (size_t begin = 0, end; begin < rows; begin = end) {
        end = begin + 1;
        while (end < rows && strcmp(row[begin].sweep, row[end].sweep) == 0)
            end++;
        count += add_distances(&row[begin], end - begin, out + count);
    }
    qsort(out, count, sizeof *out, by_value);
    return count;
}

plait_status plait_evidence_tie(const plait_evidence *evidence, const plait_regime *regime,
                                plait_arena *scratch, double *out, plait_error *err)
{
    PLAIT_TRY(band_check_regime(regime, err));
    const plait_arena_mark mark = plait_arena_save(scratch);
    sweep_row *row = plait_arena_alloc(scratch, evidence->count + 1, sizeof *row);
    weighted *sample = plait_arena_alloc(scratch, evidence->count + 1, sizeof *sample);

    *out = 0.0;
    PLAIT_TRY(plait_check_allocated(row && sample, err));
    const size_t count = all_distances(row, sweep_rows(evidence, regime, row), sample);
    if (count > 0)
        *out = exp(sqrt(2.0) * weighted_quantile(sample, count, 0.8));
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}
