/* error_parts.c - variance components of prediction errors, from pairs of plans of one sweep */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "validate/band.h"
#include "plait/validate.h"

/*
 * Half the mean square of the difference of two errors is the variance of the parts that the two
 * plans do not share: their own, and those of the traits in which they differ. Each pair of plans
 * of a sweep is one equation in these variances, solved by non-negative least squares. (C.340)
 */
enum { OWN = PLAIT_TRAITS, PARTS };

typedef struct equations {
    double matrix[PARTS][PARTS];
    double right[PARTS];
} equations;

/*
 * Upper limit of the difference of two errors. Most plans of a sweep have similar errors, a few are
 * far off, and few of those are among the best. **Chosen** so that the expected loss on measured
 * sweeps is about the actual loss.
 */
static const double furthest = 0.08;

static void add_pair(const plait_evidence_row *a, const plait_evidence_row *b, double difference,
                     double weight, equations *out)
{
    const double size = fmin(fabs(difference), furthest);
    double x[PARTS] = {[OWN] = 1.0};

    for (int t = 0; t < PLAIT_TRAITS; t++)
        x[t] = a->trait[t] != b->trait[t];
    for (int i = 0; i < PARTS; i++) {
        out->right[i] += weight * x[i] * size * size / 2.0;
        for (int j = 0; j < PARTS; j++)
            out->matrix[i][j] += weight * x[i] * x[j];
    }
}

/* Non-negative least squares by coordinate descent, which converges for these few variances. */
static void solve_non_negative(const equations *e, double variance[PARTS])
{
    enum { ROUNDS = 2000 };

    memset(variance, 0, PARTS * sizeof *variance);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < PARTS; i++) {
            double rest = e->right[i];
            for (int j = 0; j < PARTS; j++)
                rest -= e->matrix[i][j] * variance[j];
            if (e->matrix[i][i] > 0.0)
                variance[i] = fmax(0.0, variance[i] + rest / e->matrix[i][i]);
        }
}

static int by_sweep(const void *a, const void *b)
{
    const plait_evidence_row *const *const x = a, *const *const y = b;
    const int order = strcmp((*x)->sweep, (*y)->sweep);

    return order != 0 ? order : (*x > *y) - (*x < *y);
}

static void add_sweep(const plait_evidence_row *const *row, size_t count,
                      const plait_regime *regime, equations *out)
{
    const double pairs = 0.5 * (double)count * ((double)count - 1.0);

    if (count < PLAIT_SWEEP_LEAST)
        return;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            add_pair(row[i], row[j], band_error_of(row[i], regime) - band_error_of(row[j], regime),
                     1.0 / pairs, out);
}

static size_t rows_that_judge(const plait_evidence *evidence, const plait_regime *regime,
                              const char *without, const plait_evidence_row **out)
{
    size_t count = 0;

    for (size_t i = 0; i < evidence->count; i++)
        if (band_judges(&evidence->row[i], regime) &&
            (without == NULL || strcmp(evidence->row[i].source, without) != 0))
            out[count++] = &evidence->row[i];
    qsort(out, count, sizeof *out, by_sweep);
    return count;
}

plait_status plait_evidence_parts(const plait_evidence *evidence, const plait_regime *regime,
                                  const plait_band *band, const char *without, plait_arena *scratch,
                                  plait_error_parts *out, plait_error *err)
{
    static const double quantile90 = 1.2815515655446004;

    PLAIT_TRY(band_check_regime(regime, err));
    const plait_arena_mark mark = plait_arena_save(scratch);
    const plait_evidence_row **row = plait_arena_alloc(scratch, evidence->count + 1, sizeof *row);
    equations e = {.right = {0.0}};
    double variance[PARTS];

    PLAIT_TRY(plait_check_allocated(row, err));
    const size_t count = rows_that_judge(evidence, regime, without, row);
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = begin + 1;
        while (end < count && strcmp(row[begin]->sweep, row[end]->sweep) == 0)
            end++;
        add_sweep(&row[begin], end - begin, regime, &e);
    }
    solve_non_negative(&e, variance);
    for (int t = 0; t < PLAIT_TRAITS; t++)
        out->trait[t] = sqrt(variance[t]);
    out->own = sqrt(variance[OWN]);
    out->common = band->low > 0.0 ? log(band->high / band->low) / (2.0 * quantile90) : 0.0;
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}
