/* call.h - facts about a launch that stand beside its file */
#pragma once

#include <stdbool.h>

struct plait_model;

typedef struct launch_call {
    int arguments;
    const char *const
        *argument; /* words after the script: $1 and on; NAME=VALUE sets a variable instead */
    int gpus;      /* GPUs of the job; 0: as the file gives them */
    const struct plait_model *model; /* model that replaces the file's; NULL: none */
    bool *taken; /* set when the reader uses the arguments: a file that is no script has none */
} launch_call;
