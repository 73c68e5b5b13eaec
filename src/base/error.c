/* error.c - filling a plait_error */
#include "plait/error.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"

/* Makes a text plain (text.h), and removes an incomplete character at its end. */
static void make_printable(char *text, size_t size)
{
    size_t length = strlen(text);

    if (length == size - 1)
        length = text_utf8_prefix(text, length);
    text_make_plain(text, length);
}

plait_status fail_list(plait_error *err, plait_status status, const char *where, const char *fmt,
                       va_list args)
{
    if (err == NULL)
        return status;

    err->status = status;
    snprintf(err->where, sizeof err->where, "%s", where != NULL ? where : "");
    text_format_list(err->message, sizeof err->message, fmt, args);
    make_printable(err->where, sizeof err->where);
    make_printable(err->message, sizeof err->message);
    return status;
}

plait_status plait_fail(plait_error *err, plait_status status, const char *where, const char *fmt,
                        ...)
{
    va_list args;

    va_start(args, fmt);
    status = fail_list(err, status, where, fmt, args);
    va_end(args);
    return status;
}

plait_status plait_fail_nomem(plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_NOMEM, NULL, "out of memory");
}
