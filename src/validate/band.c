/* band.c - how far a predicted step time may be off, by the evidence of other sources */
#include "band.h"

#include <math.h>

void bands_fill(const plait_runs *runs, plait_run_price *price)
{
    for (size_t i = 0; i < runs->count; i++)
        price[i].step_low_s = price[i].step_high_s = (double)NAN;
}
