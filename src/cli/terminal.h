/* terminal.h - messages of commands beside their reports, and progress
 *
 * Messages may quote paths, names from a script and words of a config. They are printed as plain
 * text, so that no quoted text can steer the terminal. Progress appears on a terminal only:
 *
 *     progress shown = progress_of(3, "searching");
 *
 *     progress_attach(&shown, &search);       the first of three searches
 *     ...
 *     progress_next(&shown);                  the second one begins
 *     ...
 *     progress_clear(&shown);                 before anything else is printed
 */
#pragma once

#include "plait/error.h"
#include "plait/search.h"

/** Print to standard output; line ends are the only control characters that stay. */
void print_message(const char *fmt, ...) PLAIT_PRINTF(1, 2);

/** Print "plait: warning: ..." to standard error, on one line. */
void print_warning(const char *fmt, ...) PLAIT_PRINTF(1, 2);

typedef struct progress {
    const char *what;
    int parts; /* parts of the work, of about equal length */
    int done;
    int shown;    /* percentage on the terminal; -1 before the first */
    bool visible; /* standard error is a terminal */
} progress;

progress progress_of(int parts, const char *what);

/**
 * Report that a share of the present part is done, 0 to 1. `of` is a progress, so that it fits
 * callbacks.
 */
void progress_show(void *of, double share);

/** Have a search report its progress; it keeps a pointer to `of`. */
void progress_attach(progress *of, plait_search_options *search);

void progress_next(progress *of);
void progress_clear(progress *of);
