/*
 * terminal.h - messages and progress of commands that are not part of a report
 *
 * Messages may quote paths, names from a script and words of a config. They are printed as plain
 * text, so that a quoted text cannot send control sequences to the terminal. Progress is printed on
 * a terminal only:
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

/** Print to standard output. All control characters but line ends are replaced. */
void print_message(const char *fmt, ...) PLAIT_PRINTF(1, 2);

/** Print "plait: warning: ..." to standard error, on one line. */
void print_warning(const char *fmt, ...) PLAIT_PRINTF(1, 2);

typedef struct progress {
    const char *what;
    int parts; /* number of parts of the work, of about equal length */
    int done;
    int shown;    /* last percentage printed; -1 before the first */
    bool visible; /* standard error is a terminal */
} progress;

progress progress_of(int parts, const char *what);

/**
 * Print the progress of the current part of the work.
 *
 * @param of     the progress; void *, because callbacks of searches have this type
 * @param share  finished share of the part, from 0 to 1
 */
void progress_show(void *of, double share);

/** Make a search report its progress to `of`, to which it keeps a pointer. */
void progress_attach(progress *of, plait_search_options *search);

void progress_next(progress *of);
void progress_clear(progress *of);
