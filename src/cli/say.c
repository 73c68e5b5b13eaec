/* say.c - what commands say beside their reports, as plain text whatever it quotes */
#include "cli/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/lines.h"
#include "base/text.h"

enum { SAID_SIZE = 4096 }; /* longer texts are cut */

void say(const char *fmt, ...)
{
    char text[SAID_SIZE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    text_make_lines_plain(text);
    fputs(text, lines_out());
}

void say_warning(const char *fmt, ...)
{
    char text[SAID_SIZE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    text_make_plain(text, strlen(text));
    fprintf(stderr, "plait: warning: %s\n", text);
}
