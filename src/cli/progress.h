/* progress.h - long work shows where it is, on a terminal only
 *
 *     progress shown = progress_of(3, "searching");
 *
 *     progress_attach(&shown, &search);       of the first of three searches
 *     ...
 *     progress_next(&shown);                  the second one begins
 *     ...
 *     progress_clear(&shown);                 before anything else is printed
 */
#pragma once

#include "plait/search.h"

typedef struct progress {
    const char *what;
    int parts; /* of the work, about as long each */
    int done;
    int shown;    /* per cent on the terminal; -1: nothing */
    bool visible; /* there is a terminal */
} progress;

progress progress_of(int parts, const char *what);

/** The present part is so far, 0 to 1; `of` is a progress: what other work may be given to call. */
void progress_show(void *of, double share);

/** A search tells how far the present part is; it keeps a pointer to `of`. */
void progress_attach(progress *of, plait_search_options *search);

void progress_next(progress *of);
void progress_clear(progress *of);
