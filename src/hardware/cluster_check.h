/* cluster_check.h - is a cluster that a program has built complete and consistent? */
#pragma once

#include "plait/cluster.h"

PLAIT_MUST_CHECK plait_status cluster_check_parts(const plait_cluster *cluster, plait_error *err);

/**
 * Checks the name of a model, an accelerator or software, which messages, scripts and YAML contain.
 */
PLAIT_MUST_CHECK plait_status parts_check_name(const char *whole, const char *name,
                                               plait_error *err);
