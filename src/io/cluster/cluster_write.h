/* cluster_write.h - accelerators and clusters as JSON that reads back as the same */
#pragma once

#include "plait/cluster.h"

#include "io/json/json_write.h"

/** Writes an accelerator as one object in the format of its files, every default spelled out. */
void accelerator_write(json_writer *json, const plait_accelerator *accelerator);

/**
 * Writes a cluster as one object in the format of its files, with its accelerators in full, so that
 * it can be read without any other file. How many GPUs were taken of it is not part of it.
 */
void cluster_write(json_writer *json, const plait_cluster *cluster);
