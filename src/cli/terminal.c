/* terminal.c - prints messages and progress that are not part of a report */
#include "cli/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "report/lines.h"

enum { MESSAGE_SIZE = 4096 }; /* longer messages are truncated */

void print_message(const char *fmt, ...)
{
    char text[MESSAGE_SIZE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    text_make_lines_plain(text);
    fputs(text, lines_out());
}

void print_warning(const char *fmt, ...)
{
    char text[MESSAGE_SIZE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    text_make_plain(text, strlen(text));
    fprintf(stderr, "plait: warning: %s\n", text);
}

progress progress_of(int parts, const char *what)
{
    return (progress){.what = what,
                      .parts = parts > 0 ? parts : 1,
                      .shown = -1,
                      .visible = isatty(STDERR_FILENO) != 0};
}

void progress_show(void *of, double share)
{
    progress *const p = of;
    const int percent = (int)(100.0 * (p->done + share) / p->parts);

    if (!p->visible || percent <= p->shown || percent > 100) // a part may have several searches
        return;
    p->shown = percent;
    fprintf(stderr, "\r%s %3d %%", p->what, percent);
    fflush(stderr);
}

void progress_attach(progress *of, plait_search_options *search)
{
    if (of->visible)
        search->progress = progress_show;
    search->progress_context = of;
}

void progress_next(progress *of)
{
    of->done++;
}

void progress_clear(progress *of)
{
    if (of->shown >= 0)
        fputs("\r                        \r", stderr);
    of->shown = -1;
}
