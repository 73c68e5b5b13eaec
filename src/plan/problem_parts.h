/*
 * problem_parts.h - checks that a model, a cluster and a runtime are complete and consistent
 *
 * Models, clusters and runtimes from files always pass. A program can build others, in which a
 * missing list, an index outside its list or zero heads would cause a read out of bounds or a
 * division by zero.
 */
#pragma once

#include "hardware/cluster_check.h"
#include "plait/runtime.h"

PLAIT_MUST_CHECK plait_status model_check_parts(const plait_model *model, plait_error *err);
PLAIT_MUST_CHECK plait_status runtime_check_parts(const plait_runtime *runtime, plait_error *err);

/** Checks the fields of a model that prices do not depend on: training and numerics. */
PLAIT_MUST_CHECK plait_status model_check_unpriced(const plait_model *model, plait_error *err);
