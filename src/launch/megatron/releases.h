/* releases.h - which releases of Megatron Core and Megatron-Bridge a launch is written for */
#pragma once

#include <limits.h>

#include "plait/runtime.h"

/** No release was asked for: the newest, which has everything. */
enum { MEGATRON_NEWEST = INT_MAX };

/** N of Megatron Core 0.N. */
int megatron_core_of(const plait_runtime *runtime);

/** N of Megatron-Bridge 0.N, which is, or comes next after, the release; 0: none. */
int megatron_bridge_of(const plait_runtime *runtime);
