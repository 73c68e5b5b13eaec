/* bounds.c - what no layers of a line can undercut */
#include "mixed.h"

double mixed_fractional_s(const mixed_question *q, double units_per_s, int microbatches)
{
    return microbatches * q->units / units_per_s;
}

/* Layers that all stages of a line hold where none takes longer than this, if all were of one kind. */
static int layers_within(mixed_choice *const *choice, int groups, int kind, double slowest_s)
{
    int layers = 0;

    for (int g = 0; g < groups; g++)
        layers += choice[g]->stages * (int)(slowest_s * (1.0 + 1e-12) / choice[g]->kind_s[kind]);
    return layers;
}

/* The fewest layers of group g's stages with which all hold the model, as seconds. */
static double least_of_group(mixed_choice *const *choice, int groups, int g, int layers)
{
    int low = 1, high = layers;

    while (low < high) {
        const int middle = (low + high) / 2;
        if (layers_within(choice, groups, 0, middle * choice[g]->kind_s[0]) >= layers)
            high = middle;
        else
            low = middle + 1;
    }
    return low * choice[g]->kind_s[0];
}

/* The slowest stage has whole layers of some group: the least such time over the groups. */
double mixed_whole_layers_s(const mixed_question *q, mixed_choice *const *choice, int groups)
{
    double units_per_s = 0.0;
    double least_s;

    for (int g = 0; g < groups; g++)
        units_per_s += choice[g]->stages / choice[g]->unit_s;
    if (q->problem->model->kinds > 1)
        return q->units / units_per_s;
    least_s = least_of_group(choice, groups, 0, q->problem->model->layers);
    for (int g = 1; g < groups; g++) {
        const double s = least_of_group(choice, groups, g, q->problem->model->layers);
        least_s = s < least_s ? s : least_s;
    }
    return least_s;
}

/*
 * The mean of two chains of C.73 through the slowest stage s, m (f + b)_s + those before it and W +
 * those from s on + (m - 1 - p + s)(f + b)_s; alone the first where m <= p.
 */
double mixed_pipeline_bound_s(int stages, int microbatches, double slowest_s, double work_s)
{
    const double alone_s = microbatches * slowest_s;
    const double both_s = work_s + (microbatches - 0.5 * (stages + 1)) * slowest_s;

    return microbatches > stages && both_s > alone_s ? both_s : alone_s;
}
