/* statistics.c - errors, rank correlation, regret, and out-of-memory prediction of plain arrays */
#include "validate/statistics.h"
#include "base/numbers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- location and spread ---- */

double statistics_mean(const double *values, size_t count)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? sum / (double)count : (double)NAN;
}

double statistics_quantile(double *values, size_t count, double share)
{
    const double place = share * ((double)count - 1.0);
    size_t below;

    if (count == 0)
        return (double)NAN;
    qsort(values, count, sizeof *values, compare_doubles);
    below = (size_t)place;
    if (below + 1 >= count)
        return values[count - 1];
    return values[below] + (place - (double)below) * (values[below + 1] - values[below]);
}

plait_errors statistics_errors(const double *error, size_t count, double *scratch)
{
    plait_errors out = {.rows = count, .bias = statistics_mean(error, count)};

    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(error[i]);
    out.mape = statistics_mean(scratch, count);
    out.median = statistics_quantile(scratch, count, 0.5);
    out.p90 = statistics_quantile(scratch, count, 0.9);
    return out;
}

/* ---- ranks ---- */

/* Computes the ranks of values, from 1. Equal values share the mean of their ranks. */
static void compute_ranks(const double *values, size_t count, double *ranks)
{
    for (size_t i = 0; i < count; i++) {
        size_t below = 0, equal = 0;

        for (size_t j = 0; j < count; j++) {
            below += values[j] < values[i];
            equal += values[j] == values[i];
        }
        ranks[i] = (double)below + ((double)equal + 1.0) / 2.0;
    }
}

static double pearson(const double *a, const double *b, size_t count)
{
    const double mean_a = statistics_mean(a, count), mean_b = statistics_mean(b, count);
    double ab = 0.0, aa = 0.0, bb = 0.0;

    for (size_t i = 0; i < count; i++) {
        ab += (a[i] - mean_a) * (b[i] - mean_b);
        aa += (a[i] - mean_a) * (a[i] - mean_a);
        bb += (b[i] - mean_b) * (b[i] - mean_b);
    }
    return aa > 0.0 && bb > 0.0 ? ab / sqrt(aa * bb) : (double)NAN;
}

double statistics_spearman(const double *a, const double *b, size_t count, double *scratch)
{
    compute_ranks(a, count, scratch);
    compute_ranks(b, count, scratch + count);
    return pearson(scratch, scratch + count, count);
}

double statistics_kendall(const double *a, const double *b, size_t count)
{
    double balance = 0.0, differ_a = 0.0, differ_b = 0.0;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            const int of_a = (a[i] > a[j]) - (a[i] < a[j]);
            const int of_b = (b[i] > b[j]) - (b[i] < b[j]);

            balance += of_a * of_b;
            differ_a += of_a != 0;
            differ_b += of_b != 0;
        }
    }
    return differ_a > 0.0 && differ_b > 0.0 ? balance / sqrt(differ_a * differ_b) : (double)NAN;
}

/* ---- choices ---- */

size_t statistics_least(const double *values, size_t count)
{
    size_t least = 0;

    assert(count > 0);
    for (size_t i = 1; i < count; i++)
        if (values[i] < values[least])
            least = i;
    return least;
}

double statistics_regret(const double *predicted, const double *measured, size_t count,
                         double noise)
{
    const double chosen = measured[statistics_least(predicted, count)];
    const double regret = chosen / measured[statistics_least(measured, count)] - 1.0;

    return regret > noise ? regret : 0.0;
}

double statistics_balanced_accuracy(const plait_confusion *c)
{
    const double positives = (double)(c->true_positives + c->false_negatives);
    const double negatives = (double)(c->true_negatives + c->false_positives);

    if (positives == 0.0 || negatives == 0.0)
        return (double)NAN;
    return ((double)c->true_positives / positives + (double)c->true_negatives / negatives) / 2.0;
}
