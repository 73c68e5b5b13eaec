/* call.h - what is known of a launch beside its file */
#ifndef CALL_H
#define CALL_H

typedef struct launch_call {
    int arguments;
    const char *const *argument; /* of a script: $1 and on; NAME=VALUE sets a variable instead */
    int gpus;                    /* of the job; 0: as the file says */
} launch_call;

#endif
