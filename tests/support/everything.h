/* everything.h - software that can run whatever has a price, for tests about something else */
#pragma once

#include "plait/runtime.h"

/** Every choice of every key; degrees up to `most`, vpp up to `most_vpp`. */
plait_capabilities everything_can(int most, int most_vpp);

/** Takes a profile's rules away, and its limits on zero, schedules, grad_sync and splits. */
void everything_allow(plait_runtime *runtime);
