/* rl_lengths.c - lengths of answers by their mean, 90 % quantile and limit (C.450) */
#include <math.h>

#include "base/normal.h"
#include "base/numbers.h"
#include "base/status.h"
#include "costmodel/rl/rl_parts.h"

enum { DRAWS = 512 };

/*
 * Standard deviation of the logarithm of an answer's length, if no quantile is given. **Chosen**
 * without a measurement: the 90 % quantile is then 2.8 times the median.
 */
static const double usual_sigma = 0.8;

/* Standard normal values at the middles of DRAWS equal shares. */
typedef double normal_draws[DRAWS];

static void fill_draws(normal_draws z)
{
    for (int i = 0; i < DRAWS; i++)
        z[i] = normal_quantile((i + 0.5) / DRAWS);
}

static double length_at(double mu, double sigma, double most, double z)
{
    return larger(1.0, smaller(most, exp(mu + sigma * z)));
}

/* The mean of log-normal lengths that end at `most`. */
static double mean_of(double mu, double sigma, double most, const normal_draws z)
{
    double sum = 0.0;

    for (int i = 0; i < DRAWS; i++)
        sum += length_at(mu, sigma, most, z[i]);
    return sum / DRAWS;
}

/* The location with which the lengths have a mean. */
static double mu_for(double mean, double sigma, double most, const normal_draws z)
{
    double low = -8.0, high = log(most) + 8.0 * sigma;

    for (int round = 0; round < 50; round++) {
        const double middle = 0.5 * (low + high);
        *(mean_of(middle, sigma, most, z) < mean ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

/* The spread with which the lengths have a mean and a 90 % quantile below their limit. */
static double sigma_for(double mean, double p90, double most, const normal_draws z)
{
    double low = 0.01, high = 3.0;

    for (int round = 0; round < 30; round++) {
        const double middle = 0.5 * (low + high);
        const double mu = mu_for(mean, middle, most, z);
        const double found = exp(mu + middle * normal_quantile(0.9));
        *(found < p90 ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

plait_status plait_rl_lengths_of(double prompt, plait_length_shape answer, plait_arena *arena,
                                 plait_lengths *out, plait_error *err)
{
    const double most = answer.max;
    const bool ordered = answer.mean >= 1.0 && most >= answer.mean && most <= PLAIT_MAX_SEQ &&
                         (answer.p90 == 0.0 || (answer.p90 >= answer.mean && answer.p90 <= most));

    if (!(prompt >= 1.0 && prompt <= PLAIT_MAX_SEQ))
        return plait_fail(err, PLAIT_ERROR_RANGE, "prompt tokens",
                          "expected 1 to %d tokens, found %g", PLAIT_MAX_SEQ, prompt);
    if (!ordered)
        return plait_fail(err, PLAIT_ERROR_RANGE, "answer tokens",
                          "expected MEAN[,P90],MAX with 1 <= MEAN <= P90 <= MAX <= %d, found "
                          "%g,%g,%g",
                          PLAIT_MAX_SEQ, answer.mean, answer.p90, answer.max);
    plait_request_lengths *const request = plait_arena_alloc(arena, DRAWS, sizeof *request);
    PLAIT_TRY(plait_check_allocated(request, err));
    normal_draws z;
    fill_draws(z);
    const bool narrow = most <= answer.mean * 1.001;
    const double sigma = narrow             ? 0.01
                         : answer.p90 > 0.0 ? sigma_for(answer.mean, answer.p90, most, z)
                                            : usual_sigma;
    const double mu = mu_for(answer.mean, sigma, most, z);
    for (int i = 0; i < DRAWS; i++)
        request[i] = (plait_request_lengths){
            .input = prompt,
            .output = larger(1.0, floor(length_at(mu, sigma, most, z[i]) + 0.5)),
        };
    *out = plait_lengths_of(request, DRAWS);
    return PLAIT_OK;
}
