/* schedule.c - how long the pipeline idles, in closed form */
#include "plait/schedule.h"

#include <assert.h>
#include "numbers.h"

double plait_bubble_ratio(int stages, int microbatches, int chunks)
{
    return (stages - 1.0) / ((double)chunks * microbatches);
}

double plait_bubble_fraction(int stages, int microbatches, int chunks)
{
    const double ratio = plait_bubble_ratio(stages, microbatches, chunks);

    return ratio / (1.0 + ratio);
}

double plait_naive_utilisation(int stages)
{
    return 1.0 / stages;
}

/* What one pass through the other stages adds to m microbatches on the slowest. */
static double fill_and_drain_s(plait_schedule schedule, const plait_pipeline_load *load)
{
    const double others_s = load->sum_s - load->max_s;
    const double hops = load->stages - 1.0;

    switch (schedule) {
    case PLAIT_INTERLEAVED:
        return others_s / load->chunks;
    case PLAIT_ZB_H1:
        return larger(0.0, others_s - 2.0 * hops * load->least_w_s);
    case PLAIT_ZB_H2:
        return larger(0.0, others_s - 3.0 * hops * load->least_w_s);
    case PLAIT_DUALPIPE:
        return larger(0.0, (load->stages / 2.0 - 1.0) *
                               (load->max_f_s + 2.0 * load->max_b_s - 3.0 * load->least_w_s));
    default:
        return others_s;
    }
}

double plait_pipeline_s(plait_schedule schedule, const plait_pipeline_load *load)
{
    assert(plait_schedule_priced(schedule));
    if (schedule == PLAIT_NAIVE)
        return load->microbatches * load->sum_s;
    return load->microbatches * load->max_s + fill_and_drain_s(schedule, load);
}

double plait_schedule_in_flight(plait_schedule schedule, int stages, int stage, int chunks,
                                int microbatches)
{
    const double after = stages - 1.0 - stage;
    const double m = microbatches;

    switch (schedule) {
    case PLAIT_NAIVE:
        return 1.0;
    case PLAIT_GPIPE:
        return m;
    case PLAIT_INTERLEAVED:
        return smaller((2.0 * after + (chunks - 1.0) * stages + 1.0) / chunks, m);
    case PLAIT_ZB_H2:
        return smaller(2.0 * after + 1.0, m);
    case PLAIT_DUALPIPE:
        return smaller(stages + 1.0, m);
    default:
        return smaller(after + 1.0, m);
    }
}

int plait_schedule_copies(plait_schedule schedule)
{
    return schedule == PLAIT_DUALPIPE ? 2 : 1;
}
