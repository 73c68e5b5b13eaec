/* progress.c - "searching  42 %", overwritten as it grows */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

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

    if (!p->visible || percent <= p->shown || percent > 100) // a part may be several searches
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
