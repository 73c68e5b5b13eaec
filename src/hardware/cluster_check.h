/* cluster_check.h - is a cluster that a program made complete and consistent? */
#pragma once

#include "plait/cluster.h"

PLAIT_MUST_CHECK plait_status cluster_check_parts(const plait_cluster *cluster, plait_error *err);

/** The name of a model, an accelerator or software is printed in messages, scripts and YAML. */
PLAIT_MUST_CHECK plait_status parts_check_name(const char *whole, const char *name,
                                               plait_error *err);
