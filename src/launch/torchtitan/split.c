/* split.c - torchtitan's own split of layers to stages, and when it is the plan's */
#include <string.h>

#include "launch/torchtitan/torchtitan.h"

/* Stages that the client finds by itself: one a rank, two of schedules with chunks. */
static int usual_stages(const plait_degrees *d)
{
    return d->pp * (d->vpp > 1 ? 2 : 1);
}

bool titan_deal(int layers, int stages, titan_weights weights, int *counts)
{
    const int units = layers + weights.first + weights.last;
    const int each = units / stages;

    if (each < 1 || weights.first > each || weights.last > each)
        return false;
    for (int s = 0; s < stages; s++)
        counts[s] = each + (s < units % stages);
    counts[0] -= weights.first;
    counts[stages - 1] -= weights.last;
    return true;
}

/* The number of layers a stage from which the client gets so many stages; 0: none. */
static int layers_for(int units, int stages)
{
    const int each = (units + stages - 1) / stages;

    return (units + each - 1) / each == stages ? each : 0;
}

static bool gives(const plait_model *model, const plait_degrees *d, const int *wanted,
                  titan_weights *weights)
{
    const int stages = d->pp * d->vpp;
    int counts[PLAIT_MAX_LAYERS];

    if (!titan_deal(model->layers, stages, *weights, counts) ||
        memcmp(counts, wanted, (size_t)stages * sizeof *counts) != 0)
        return false;
    if (stages == usual_stages(d))
        return true;
    weights->layers_per_stage = layers_for(model->layers + weights->first + weights->last, stages);
    return weights->layers_per_stage > 0;
}

bool titan_weights_of(const plait_launch *launch, titan_weights *out)
{
    static const titan_weights choices[] = {{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}};
    const plait_model *const model = launch->problem->model;
    const plait_degrees *const d = &launch->plan->degrees;
    int wanted[PLAIT_MAX_LAYERS];

    for (int c = 0; c < d->pp * d->vpp; c++) {
        const plait_chunk *const chunk = plait_plan_chunk(launch->plan, c);

        wanted[c] = chunk->last - chunk->first;
    }
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        *out = choices[i];
        if (gives(model, d, wanted, out))
            return true;
    }
    return false;
}
