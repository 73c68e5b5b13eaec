/*
 * risk.c - how likely a predicted peak of memory runs out                                   (C.85)
 *
 * What a plan really needs lies around its prediction as measured peaks lay around theirs: the
 * logarithm of their ratio is taken as normal, with the 90 % quantile of the band.
 *
 *     risk(peak) = P(need > device) = 1 - Phi(log(device / peak) / sigma)
 */
#include <math.h>

#include "costmodel/stage/stage_sum.h"

/* The 90 % quantile of the normal distribution. */
static const double z90 = 1.2815515655446004;

/* Where no evidence speaks: 5 % either way, as published peaks lie. */
static const plait_band unknown = {.low = 0.95, .high = 1.05};

plait_band risk_band(const plait_problem *problem)
{
    return problem->memory_band.high > 1.0 ? problem->memory_band : unknown;
}

static double sigma_of(const plait_problem *problem)
{
    return log(risk_band(problem).high) / z90;
}

/* Probability that a normal value lies above z. */
static double above(double z)
{
    return 0.5 * erfc(z / sqrt(2.0));
}

/* Its inverse by bisection: 60 halvings of 16 standard deviations, exact to the last digits. */
static double quantile_above(double probability)
{
    double low = -8.0, high = 8.0;

    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);

        if (above(middle) > probability)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static double device_bytes(const plait_problem *problem)
{
    return plait_cluster_accelerator(problem->cluster, 0)->memory_bytes;
}

double plait_memory_risk(const plait_problem *problem, double peak_bytes)
{
    if (!(peak_bytes > 0.0))
        return 0.0;
    return above(log(device_bytes(problem) / peak_bytes) / sigma_of(problem));
}

double risk_accepted(double risk)
{
    return risk > 0.0 && risk < 1.0 ? risk : PLAIT_USUAL_RISK;
}

double plait_capacity_bytes(const plait_problem *problem, double risk)
{
    return device_bytes(problem) * exp(-quantile_above(risk_accepted(risk)) * sigma_of(problem));
}
