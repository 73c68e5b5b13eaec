/* reason.c - writes the reason why a check failed */
#include "plan/reason.h"

#include <stdarg.h>

#include "base/text.h"

const plan_reason no_reason = {NULL, 0};

bool fail_because(const plan_reason *why, const char *fmt, ...)
{
    va_list args;

    if (!why->text || why->size == 0)
        return false;
    va_start(args, fmt);
    text_format_list(why->text, why->size, fmt, args);
    va_end(args);
    return false;
}
