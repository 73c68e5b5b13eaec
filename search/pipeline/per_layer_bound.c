/*
 * relax.c - what a stage takes at least (S.91)
 *
 *     minimise    sum over options o of x_o t_o
 *     subject to  sum x_o = layers,   sum x_o g_o <= room,   x_o >= 0
 *
 * One limit beside the count, so that the best is a mix of two options. An option is a cut with a choice; g_o is
 * what a layer of it takes of the device while its microbatches are in flight.
 */
#include <math.h>

#include "search/pipeline/per_layer_private.h"

typedef struct relaxed_option {
    double time_s, bytes;
} relaxed_option;

/* The least of a mix of two; infinite where not even the smaller one fits. */
static double mix_s(relaxed_option a, relaxed_option b, double layers, double room)
{
    const relaxed_option small = a.bytes <= b.bytes ? a : b;
    const relaxed_option large = a.bytes <= b.bytes ? b : a;
    const double over = layers * large.bytes - room;

    if (layers * small.bytes > room)
        return HUGE_VAL;
    if (over <= 0.0)
        return layers * fmin(a.time_s, b.time_s);
    const double saved = large.bytes - small.bytes; // positive, since one fits and the other not
    const double share = fmin(1.0, over / saved / layers);
    const double mixed_s = layers * (share * small.time_s + (1.0 - share) * large.time_s);
    return fmin(mixed_s, layers * small.time_s);
}

static relaxed_option option_of(const per_layer_point *point, int s, int layers, int cut,
                                int choice)
{
    const plait_degrees *const d = &point->degrees;
    const plait_layer_cost *const cost = &point->cost[cut * point->question->choices + choice];
    const int place = per_layer_ends(point, s);
    const double state_bytes = (per_layer_share(point, cut, place, layers)->state_bytes -
                                per_layer_share(point, cut, place, 0)->state_bytes) /
                               layers;
    const double in_flight = plait_schedule_in_flight(PLAIT_1F1B, d->pp, s, 1, point->microbatches);
    const double scale = point->question->problem->runtime->keep.fragmentation;

    return (relaxed_option){cost->forward_s + cost->backward_s,
                            scale * (state_bytes + in_flight * cost->saved_bytes)};
}

double per_layer_lower_bound_s(const per_layer_point *point, int s, int layers)
{
    const per_layer_problem *const q = point->question;
    const plait_cut_share *const ends = per_layer_share(point, 0, per_layer_ends(point, s), 0);
    const double ends_s = ends->time.forward_s + ends->time.backward_s;
    const double in_flight =
        plait_schedule_in_flight(PLAIT_1F1B, point->degrees.pp, s, 1, point->microbatches);
    const double room = q->capacity_bytes - plait_cut_peak(point->sort[0], ends, in_flight) +
                        q->problem->runtime->keep.fragmentation * ends->spare_bytes;
    const int options = point->cuts * q->choices;
    relaxed_option option[(PER_LAYER_SHARDINGS + 1) * PER_LAYER_CHOICES];
    double best_s = HUGE_VAL;

    if (layers == 0)
        return room >= 0.0 ? ends_s : HUGE_VAL;
    for (int o = 0; o < options; o++)
        option[o] = option_of(point, s, layers, o / q->choices, o % q->choices);
    for (int a = 0; a < options; a++)
        for (int b = a; b < options; b++)
            best_s = fmin(best_s, mix_s(option[a], option[b], layers, room));
    return ends_s + best_s;
}
