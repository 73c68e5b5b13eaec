/* server_log.h - compares the start log of a serving engine with the prediction */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"

/** Options of the command; NULL and false if not given. */
typedef struct server_log_flags {
    const char *model, *cluster;
    bool json, assume_llama;
} server_log_flags;

/**
 * Print the figures of a start log, and the predicted ones if the model and the cluster are known.
 *
 * @param is_server  out: false if the file is no start log; nothing is printed then
 */
PLAIT_MUST_CHECK plait_status server_log_report(const char *path, const server_log_flags *flags,
                                                plait_arena *arena, bool *is_server,
                                                plait_error *err);
