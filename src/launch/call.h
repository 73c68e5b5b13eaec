/* call.h - what is known of a launch beside its file */
#pragma once

#include <stdbool.h>

struct plait_model;

typedef struct launch_call {
    int arguments;
    const char *const *argument; /* of a script: $1 and on; NAME=VALUE sets a variable instead */
    int gpus;                    /* of the job; 0: as the file says */
    const struct plait_model *model; /* overrides the model of the file; NULL: none is given */
    bool *taken; /* set where arguments are read: a file that is no script has none */
} launch_call;
