/* objective.c - the value that plans are ranked by */
#include "search/exhaustive/exhaustive.h"
#include "costmodel/api.h"

const char *const plait_objective_name[PLAIT_OBJECTIVES + 1] = {"time", "memory", "cost", "energy",
                                                                NULL};

/* On a given number of GPUs, dollars are proportional to time. */
double objective_of(const search_run *run, plait_price price)
{
    switch (run->options->objective) {
    case PLAIT_MINIMISE_MEMORY:
        return price.peak_bytes;
    case PLAIT_MINIMISE_ENERGY:
        return plait_energy_j(run->problem, price);
    default:
        return price.step_s;
    }
}
