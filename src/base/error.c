/* error.c - filling a plait_error */
#include "plait/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* Makes text that may quote anything safe for a terminal, and drops half a character at its end. */
static void text_tidy(char *text, size_t size)
{
    const size_t length = strlen(text);

    if (length == size - 1)
        text[text_utf8_prefix(text, length)] = '\0';
    for (char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
}

plait_status plait_fail(plait_error *err, plait_status status, const char *where, const char *fmt,
                        ...)
{
    va_list args;

    if (err == NULL)
        return status;

    err->status = status;
    snprintf(err->where, sizeof err->where, "%s", where != NULL ? where : "");
    va_start(args, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);

    text_tidy(err->where, sizeof err->where);
    text_tidy(err->message, sizeof err->message);
    return status;
}

plait_status plait_fail_nomem(plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_NOMEM, NULL, "out of memory");
}
