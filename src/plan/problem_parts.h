/*
 * problem_parts.h - do a model, a cluster and a runtime hold together?
 *
 * What a load made does. A program may make its own: a list that is missing, an index outside its list or
 * heads that are none would be read as one, or divided by. Each is looked at once a question.
 */
#pragma once

#include "hardware/cluster_check.h"
#include "plait/runtime.h"

PLAIT_MUST_CHECK plait_status model_check_parts(const plait_model *model, plait_error *err);
PLAIT_MUST_CHECK plait_status runtime_check_parts(const plait_runtime *runtime, plait_error *err);

/** Of a model, what no price reads: words and numbers of its training and numerics. */
PLAIT_MUST_CHECK plait_status model_check_unpriced(const plait_model *model, plait_error *err);
