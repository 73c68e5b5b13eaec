/* reason.h - why a check says no: a sentence, if anybody asks */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/error.h"

/** Where the reason goes; no text is made when nobody asks (NULL or no room). */
typedef struct plan_reason {
    char *text;
    size_t size;
} plan_reason;

extern const plan_reason no_reason;

/** Write the reason. Always false, so that a check can return it. */
bool because(const plan_reason *why, const char *fmt, ...) PLAIT_PRINTF(2, 3);
