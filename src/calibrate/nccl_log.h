/*
 * nccl_log.h - read the output of nccl-tests as points
 *
 *     # nThread 1 nGpus 8 minBytes 8 ...
 *     #  Rank  0 Group  0 Pid  1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3
 *     #       size         count      type   redop    root     time   algbw   busbw #wrong ...
 *          1048576        262144     float     sum      -1    27.76   37.78   66.11      0 ...
 *
 * Times are the out-of-place ones, in the first half of a row. The size is the buffer of
 * collective.h. The collective follows from the program's name (all_reduce_perf) in the output or
 * in the name of the file; without one, the ratio of bus to algorithm bandwidth separates all-reduce
 * from reduce-scatter.
 *
 * A file may contain several outputs. The reader skips mpirun's prefix of a line and lines of other
 * programs, and rejects a row without times. The accelerator is the name after the bracket in the
 * line of a rank, if names.h lists it.
 */
#pragma once

#include "calibrate/points.h"

/** Returns whether a text has the table head of nccl-tests. */
bool nccl_log_recognises(const char *text, size_t length);

/** Appends the collectives and sends of an output; `name` is the file's name, for messages. */
PLAIT_MUST_CHECK plait_status nccl_log_points(const char *text, size_t length, const char *name,
                                              point_list *list, plait_error *err);
