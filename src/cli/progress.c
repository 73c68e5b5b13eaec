/* progress.c - "searching  42 %", overwritten as it grows */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

progress progress_of(int parts, const char *what)
{
    return (progress){.what = what, .parts = parts > 0 ? parts : 1, .shown = -1};
}

static void show(void *context, double share)
{
    progress *const of = context;
    const int percent = (int)(100.0 * (of->done + share) / of->parts);

    if (percent <= of->shown || percent > 100) // a part may be several searches
        return;
    of->shown = percent;
    fprintf(stderr, "\r%s %3d %%", of->what, percent);
    fflush(stderr);
}

void progress_attach(progress *of, plait_search_options *search)
{
    if (isatty(STDERR_FILENO))
        search->progress = show;
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
