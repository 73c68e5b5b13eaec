/* band.h - how far a predicted step time may be off, by the evidence of other sources */
#ifndef BAND_H
#define BAND_H

#include "plait/validate.h"

/** Sets the bands of all prices. Without evidence they stay unknown: NaN. */
void bands_fill(const plait_runs *runs, plait_run_price *price);

#endif
