/* mesh.c - a plan's degrees as axes of MaxText's mesh, inside a slice and between slices */
#include "launch/maxtext/maxtext.h"

#include "base/numbers.h"

int maxtext_axes_product(const maxtext_axes *axes)
{
    int product = 1;

#define X(axis) product *= axes->axis;
    MAXTEXT_AXES(X)
#undef X
    return product;
}

/* Slices that a job takes: what the links of the first level reach is one. */
static int slices_of(const plait_problem *problem)
{
    const int slice = problem->cluster->level[0].gpus;

    return slice > 0 && problem->job.gpus > slice ? problem->job.gpus / slice : 1;
}

/* Dense weights are cut by fsdp, context and expert, so that a shard group is their product. */
static maxtext_axes axes_of(const plait_degrees *d)
{
    maxtext_axes axes = {
        .data = d->dp * d->cp / d->shard_group,
        .fsdp = d->shard_group / (d->cp * d->ep),
        .pipeline = d->pp,
        .context = d->cp,
        .tensor = d->tp,
        .expert = d->ep,
    };

    if (d->zero == 1) {
        axes.data = d->dp;
        axes.fsdp = 1;
    }
    return axes;
}

/* Move as much of an axis between slices as it and they have in common. */
static void deal(int *slices, int *ici, int *dcn)
{
    *dcn = (int)common_divisor(*ici, *slices);
    *ici /= *dcn;
    *slices /= *dcn;
}

/* Rule MT8: stages or replicas take all slices; of the replicas those of whole shards first. */
maxtext_mesh maxtext_mesh_of(const plait_problem *problem, const plait_degrees *d)
{
    maxtext_mesh mesh = {axes_of(d), {1, 1, 1, 1, 1, 1}};
    int slices = slices_of(problem);

    if (d->order == PLAIT_ORDER_TP_CP_DP_PP)
        deal(&slices, &mesh.ici.pipeline, &mesh.dcn.pipeline);
    deal(&slices, &mesh.ici.data, &mesh.dcn.data);
    deal(&slices, &mesh.ici.fsdp, &mesh.dcn.fsdp);
    deal(&slices, &mesh.ici.expert, &mesh.dcn.expert);
    return mesh;
}

double maxtext_batch_of_device(const plait_problem *problem, const plait_degrees *d)
{
    const int passes = d->pp > 1 ? plait_degrees_microbatches(d, problem->job.gbs) : 1;

    return (double)d->mbs * passes / ((double)d->tp * d->cp * d->pp);
}
