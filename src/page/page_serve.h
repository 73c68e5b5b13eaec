/* page_serve.h - builds the page of plait serve from its JSON document */
#pragma once

#include "page/page.h"

/** Stores whether a file is a document of plait serve; fails only on errors of the machine, not of the file. */
PLAIT_MUST_CHECK plait_status page_serve_is(const char *path, plait_arena *arena, bool *is,
                                            plait_error *err);

typedef struct page_serve {
    page *made;       /* in the arena */
    int plans, front; /* numbers of deployments of the document */
} page_serve;

PLAIT_MUST_CHECK plait_status page_of_serve(const char *path, plait_arena *arena, page_serve *out,
                                            plait_error *err);
