/* number_list.h - "2048", "2048,4096", "2k..16k" or "8192..16384:1024" */
#pragma once

#include <stdbool.h>

#include "plait/error.h"

enum { NUMBER_LIST_MOST = 256 };

/** Numbers that a flag asks for: each of a list or of steps, or a range without steps. */
typedef struct number_list {
    bool range;                  /* from..to without a step */
    int from, to;                /* the least and the most; 0 where the flag is not given */
    int step;                    /* of from..to:step; 0 of others */
    int count;                   /* of a range 0 */
    int value[NUMBER_LIST_MOST]; /* [count], rising */
} number_list;

/** Read one; `what` it lists, for refusals: "numbers of GPUs". text NULL: none. */
PLAIT_MUST_CHECK plait_status number_list_read(const char *where, const char *text,
                                               const char *what, int most, number_list *out,
                                               plait_error *err);
