/* band.c - compute error bands, tie widths and error variances of predictions from evidence
 *
 * Errors are logarithms of measured over predicted time, so half and twice the predicted time are
 * errors of the same size.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plait/validate.h"
#include "validate/statistics.h"
#include "rules/rules.h"
#include "plan/model_queries.h"

/* ---- regimes ---- */

/* The largest scale-up domain that counts as one node. */
enum { RACK_FROM = 16 };

plait_regime plait_regime_of(const plait_problem *problem)
{
    const plait_accelerator *const gpu = plait_cluster_accelerator(problem->cluster, 0);

    return (plait_regime){
        .runtime = plait_runtime_software(problem->runtime),
        .rules = problem->runtime->rules,
        .narrowest = gpu->peak_flops_per_s[PLAIT_NVFP4] > 0.0 ? PLAIT_NARROWEST_FP4
                     : gpu->peak_flops_per_s[PLAIT_FP8] > 0.0 ? PLAIT_NARROWEST_FP8
                     : gpu->fp16_only                         ? PLAIT_NARROWEST_FP16
                                                              : PLAIT_NARROWEST_BF16,
        .gpus = problem->job.gpus,
        .experts = model_has_experts(problem->model),
        .calibrated = problem->runtime->calibrated,
        .rack = problem->cluster->level[0].gpus > RACK_FROM,
    };
}

/* Returns the class of a number of GPUs: 0 up to one node, 1 up to 256 GPUs, 2 above. */
int plait_regime_scale(int gpus)
{
    return gpus <= 8 ? 0 : gpus <= 256 ? 1 : 2;
}

enum { KEYS = 5 };

/*
 * Widths, as logarithms, that are added to each side of a band: `repeats` for differences between
 * repeats of a plan, `unknown` for each key of the regime that no row of evidence shares.
 */
static const double repeats = 0.02, unknown = 0.01;

/*
 * Returns the weight of a row of regime `a` for regime `b`. Each key with equal values in both
 * multiplies the weight and is set in `shared`.
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
 * Returns a weighted quantile of a sorted sample. Each value lies at the middle of its weight in
 * the cumulative weights; between these positions the function interpolates.
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

/*
 * Returns the end of the group (adjacent rows of one source and software) that starts at `begin`.
 */
static size_t group_end(const plait_evidence_row *row, size_t count, size_t begin)
{
    size_t end = begin + 1;

    while (end < count && strcmp(row[begin].source, row[end].source) == 0 &&
           strcmp(row[begin].regime.runtime, row[end].regime.runtime) == 0)
        end++;
    return end;
}

static bool is_left_out(const plait_evidence_row *row, const char *without)
{
    return without != NULL && strcmp(row->source, without) == 0;
}

/* Fails (RANGE) if a regime has no runtime name. */
static plait_status check_regime(const plait_regime *regime, plait_error *err)
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
    PLAIT_TRY(check_regime(regime, err));
    const plait_arena_mark mark = plait_arena_save(scratch);
    weighted *sample = plait_arena_alloc(scratch, evidence->count + 1, sizeof *sample);
    bool shared[KEYS] = {false};
    double wider = repeats;
    size_t count = 0;

    *out = (plait_band){0};
    PLAIT_TRY(plait_check_allocated(sample, err));
    // The weights of a group of n rows sum to sqrt(n) times the mean weight for the regime.
    for (size_t begin = 0, end; begin < evidence->count; begin = end) {
        end = group_end(evidence->row, evidence->count, begin);
        if (is_left_out(&evidence->row[begin], without))
            continue;
        for (size_t i = begin; i < end; i++) {
            const plait_evidence_row *const row = &evidence->row[i];

            sample[count++] =
                (weighted){log(row->left_out), regime_weight(&row->regime, regime, shared) /
                                                   sqrt((double)(end - begin))};
        }
    }
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

/*
 * Quantiles of a standard normal x: `within75` is the 75 % quantile of |x|, `below90` the 90 % of
 * x.
 */
static const double within75 = 1.1503493803760079, below90 = 1.2815515655446004;

plait_status plait_evidence_memory_band(const plait_evidence *evidence, const plait_regime *regime,
                                        const char *without, plait_arena *scratch, plait_band *out,
                                        plait_error *err)
{
    static const double device = 0.02, enough = 10.0, same_software = 16.0, same_rules = 4.0;

    PLAIT_TRY(check_regime(regime, err));
    const plait_arena_mark mark = plait_arena_save(scratch);
    weighted *group = plait_arena_alloc(scratch, evidence->memories + 1, sizeof *group);
    weighted *room = plait_arena_alloc(scratch, evidence->memories + 1, sizeof *room);
    size_t groups = 0;

    *out = (plait_band){0};
    PLAIT_TRY(plait_check_allocated(group && room, err));
    // Each group has one value, the deviation of its measured peaks from the predicted ones.
    for (size_t begin = 0, end; begin < evidence->memories; begin = end) {
        const plait_evidence_row *const row = &evidence->memory[begin];

        end = group_end(evidence->memory, evidence->memories, begin);
        if (is_left_out(row, without))
            continue;
        const size_t count = end - begin;
        const double share = (double)count < enough ? (double)count / enough : 1.0;
        for (size_t i = 0; i < count; i++)
            room[i] = (weighted){fabs(log(row[i].left_out)), 1.0};
        qsort(room, count, sizeof *room, by_value);
        group[groups++] =
            (weighted){weighted_quantile(room, count, 0.75) / within75,
                       share * (strcmp(row->regime.runtime, regime->runtime) == 0 ? same_software
                                : rules_are_kin(row->regime.rules, regime->rules) ? same_rules
                                                                                  : 1.0)};
    }
    if (groups > 0) {
        qsort(group, groups, sizeof *group, by_value);
        out->high = exp(below90 * weighted_quantile(group, groups, 0.5) + device);
        out->low = 1.0 / out->high;
    }
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}

/* ---- sweeps of evidence ---- */

/* One row of a sweep, and its error with the row's weight for the regime. */
typedef struct sweep_row {
    const plait_evidence_row *row;
    weighted error;
} sweep_row;

static int by_sweep(const void *a, const void *b)
{
    const sweep_row *const x = a, *const y = b;
    const int order = strcmp(x->row->sweep, y->row->sweep);

    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static int by_sweep_and_error(const void *a, const void *b)
{
    const sweep_row *const x = a, *const y = b;
    const int order = strcmp(x->row->sweep, y->row->sweep);

    return order != 0 ? order : by_value(&x->error, &y->error);
}

/*
 * Lists the rows of sweeps; for an uncalibrated regime, only uncalibrated rows. The error of a row
 * is log(measured / predicted). For a calibrated regime, the shipped profile predicts; for others,
 * the profile fitted without the row's source.
 */
static size_t list_sweeps(const plait_evidence *evidence, const plait_regime *regime,
                          const char *without, int (*order)(const void *, const void *),
                          sweep_row *out)
{
    size_t count = 0;

    for (size_t i = 0; i < evidence->count; i++) {
        const plait_evidence_row *const row = &evidence->row[i];
        bool shared[KEYS] = {false};

        if (row->sweep[0] == '\0' || (!regime->calibrated && row->regime.calibrated) ||
            is_left_out(row, without))
            continue;
        out[count++] = (sweep_row){row,
                                   {log(regime->calibrated ? row->shipped : row->left_out),
                                    regime_weight(&row->regime, regime, shared)}};
    }
    qsort(out, count, sizeof *out, order);
    return count;
}

static size_t sweep_end(const sweep_row *row, size_t count, size_t begin)
{
    size_t end = begin + 1;

    while (end < count && strcmp(row[begin].row->sweep, row[end].row->sweep) == 0)
        end++;
    return end;
}

plait_status plait_evidence_tie(const plait_evidence *evidence, const plait_regime *regime,
                                plait_arena *scratch, double *out, plait_error *err)
{
    PLAIT_TRY(check_regime(regime, err));
    const plait_arena_mark mark = plait_arena_save(scratch);
    sweep_row *row = plait_arena_alloc(scratch, evidence->count + 1, sizeof *row);
    weighted *sample = plait_arena_alloc(scratch, evidence->count + 1, sizeof *sample);
    size_t count = 0;

    *out = 0.0;
    PLAIT_TRY(plait_check_allocated(row && sample, err));
    const size_t rows = list_sweeps(evidence, regime, NULL, by_sweep_and_error, row);
    // Collect the distances of each sweep's errors from the sweep's median error.
    for (size_t begin = 0, end; begin < rows; begin = end) {
        weighted *const distance = &sample[count];

        end = sweep_end(row, rows, begin);
        const size_t plans = end - begin;
        if (plans < PLAIT_SWEEP_LEAST)
            continue;
        for (size_t i = 0; i < plans; i++)
            distance[i] = row[begin + i].error;
        const double middle = weighted_quantile(distance, plans, 0.5);
        for (size_t i = 0; i < plans; i++)
            distance[i] =
                (weighted){fabs(distance[i].value - middle), distance[i].weight / (double)plans};
        count += plans;
    }
    qsort(sample, count, sizeof *sample, by_value);
    if (count > 0)
        *out = exp(sqrt(2.0) * weighted_quantile(sample, count, 0.8));
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}

/* ---- variances of errors ----
 *
 * C.340: The error of a plan is a sum of independent parts: one of the plan alone (OWN) and one for
 * each trait. Half the mean square of the difference of two plans' errors is the variance of the
 * parts that the plans do not share. Each pair of plans of a sweep is one equation in these
 * variances; non-negative least squares solves all of them.
 */

enum { OWN = PLAIT_TRAITS, PARTS };

/*
 * Limit to which the difference of two errors is clamped. Most plans of a sweep have similar
 * errors; a few have much larger ones, and few of these few are among the best plans. **Chosen** so
 * that the expected loss on measured sweeps is about the actual loss.
 */
static const double furthest = 0.08;

typedef struct equations {
    double matrix[PARTS][PARTS];
    double right[PARTS];
} equations;

static void add_pair(const sweep_row *a, const sweep_row *b, double weight, equations *out)
{
    const double size = fmin(fabs(a->error.value - b->error.value), furthest);
    double x[PARTS] = {[OWN] = 1.0};

    for (int t = 0; t < PLAIT_TRAITS; t++)
        x[t] = a->row->trait[t] != b->row->trait[t];
    for (int i = 0; i < PARTS; i++) {
        out->right[i] += weight * x[i] * size * size / 2.0;
        for (int j = 0; j < PARTS; j++)
            out->matrix[i][j] += weight * x[i] * x[j];
    }
}

plait_status plait_evidence_parts(const plait_evidence *evidence, const plait_regime *regime,
                                  const plait_band *band, const char *without, plait_arena *scratch,
                                  plait_error_parts *out, plait_error *err)
{
    enum { ROUNDS = 2000 };

    PLAIT_TRY(check_regime(regime, err));
    const plait_arena_mark mark = plait_arena_save(scratch);
    sweep_row *row = plait_arena_alloc(scratch, evidence->count + 1, sizeof *row);
    equations e = {.right = {0.0}};
    double variance[PARTS] = {0.0};

    PLAIT_TRY(plait_check_allocated(row, err));
    const size_t count = list_sweeps(evidence, regime, without, by_sweep, row);
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = sweep_end(row, count, begin);
        const double plans = (double)(end - begin), pairs = 0.5 * plans * (plans - 1.0);

        for (size_t i = begin; i < end && end - begin >= PLAIT_SWEEP_LEAST; i++)
            for (size_t j = begin; j < i; j++)
                add_pair(&row[i], &row[j], 1.0 / pairs, &e);
    }
    // Use coordinate descent, which converges for these few variances.
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < PARTS; i++) {
            double rest = e.right[i];
            for (int j = 0; j < PARTS; j++)
                rest -= e.matrix[i][j] * variance[j];
            if (e.matrix[i][i] > 0.0)
                variance[i] = fmax(0.0, variance[i] + rest / e.matrix[i][i]);
        }
    for (int t = 0; t < PLAIT_TRAITS; t++)
        out->trait[t] = sqrt(variance[t]);
    out->own = sqrt(variance[OWN]);
    out->common = band->low > 0.0 ? log(band->high / band->low) / (2.0 * below90) : 0.0;
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}

/* ---- errors of each source when predicted without its runs ---- */

static bool same_regime(const plait_regime *a, const plait_regime *b)
{
    return strcmp(a->runtime, b->runtime) == 0 && a->narrowest == b->narrowest &&
           a->gpus == b->gpus && a->experts == b->experts && a->calibrated == b->calibrated;
}

plait_status plait_evidence_sum(const plait_evidence *evidence, plait_arena *arena,
                                plait_left_out **out, size_t *count, plait_left_out *total,
                                plait_error *err)
{
    const size_t rows = evidence->count;
    plait_left_out *group = plait_arena_alloc(arena, rows + 1, sizeof *group);
    double *error = plait_arena_alloc(arena, rows + 1, sizeof *error);
    double *scratch = plait_arena_alloc(arena, rows + 1, sizeof *scratch);
    size_t all_inside = 0;
    double all_width = 0.0;

    PLAIT_TRY(plait_check_allocated(group && error && scratch, err));
    *count = 0;
    *out = group;
    for (size_t begin = 0, end; begin < rows; begin = end) {
        const plait_evidence_row *const first = &evidence->row[begin];
        plait_band band = {0};
        size_t inside = 0;
        double width = 0.0;

        end = group_end(evidence->row, rows, begin);
        for (size_t i = begin; i < end; i++) {
            const plait_evidence_row *const row = &evidence->row[i];

            // Adjacent rows of one regime have the same band.
            if (i == begin || !same_regime(&row->regime, &row[-1].regime))
                PLAIT_TRY(
                    plait_evidence_band(evidence, &row->regime, row->source, arena, &band, err));
            inside += band.low <= row->left_out && row->left_out <= band.high;
            width += band.high - band.low;
            error[i] = 1.0 / row->left_out - 1.0;
        }
        group[(*count)++] = (plait_left_out){
            .source = first->source,
            .runtime = first->regime.runtime,
            .calibrated = first->regime.calibrated,
            .errors = statistics_errors(&error[begin], end - begin, scratch),
            .inside = (double)inside / (double)(end - begin),
            .width = width / (double)(end - begin),
        };
        all_inside += inside;
        all_width += width;
    }
    *total = (plait_left_out){
        .errors = statistics_errors(error, rows, scratch),
        .inside = rows > 0 ? (double)all_inside / (double)rows : (double)NAN,
        .width = rows > 0 ? all_width / (double)rows : (double)NAN,
    };
    return PLAIT_OK;
}
