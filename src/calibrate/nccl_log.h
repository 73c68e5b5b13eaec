/*
 * nccl_log.h - what nccl-tests prints, as points
 *
 *     # nThread 1 nGpus 8 minBytes 8 ...
 *     #  Rank  0 Group  0 Pid  1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3
 *     #       size         count      type   redop    root     time   algbw   busbw #wrong ...
 *          1048576        262144     float     sum      -1    27.76   37.78   66.11      0 ...
 *
 * Times are those of the first half of a row, out of place. The size is the buffer of collective.h.
 * Which collective it was stands only where the program's name does (all_reduce_perf, in the output
 * or in the name of the file); sums are told apart by bus over algorithm bandwidth.
 *
 * Several outputs may follow each other in one file. What mpirun puts before a line is passed over,
 * and so are lines of others; a row of which the times are missing is refused. The accelerator is the
 * one behind the last bracket of a rank, where its name is known (names.h).
 */
#pragma once

#include "calibrate/points.h"

bool nccl_log_recognises(const char *text, size_t length);

/** Appends the collectives and sends of an output; `name` stands for the file in messages. */
PLAIT_MUST_CHECK plait_status nccl_log_points(const char *text, size_t length, const char *name,
                                              point_list *list, plait_error *err);
