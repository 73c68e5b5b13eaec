/* cluster_check.h - checks that a cluster from a program is complete and consistent */
#pragma once

#include "plait/cluster.h"

PLAIT_MUST_CHECK plait_status cluster_check_parts(const plait_cluster *cluster, plait_error *err);

/**
 * Checks the name of a model, an accelerator or software. Messages, scripts and YAML files contain
 * these names.
 */
PLAIT_MUST_CHECK plait_status parts_check_name(const char *whole, const char *name,
                                               plait_error *err);
