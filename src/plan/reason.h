/* reason.h - the reason why a check failed, as an optional sentence */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/error.h"

/** Buffer for the reason. If `text` is NULL or `size` is 0, checks write no reason. */
typedef struct plan_reason {
    char *text;
    size_t size;
} plan_reason;

extern const plan_reason no_reason;

/** Writes the reason. Always returns false, so that a check can return the result. */
bool fail_because(const plan_reason *why, const char *fmt, ...) PLAIT_PRINTF(2, 3);
