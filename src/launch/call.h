/* call.h - what a script that is read is called with */
#ifndef CALL_H
#define CALL_H

typedef struct launch_call {
    int arguments;
    const char *const *argument; /* $1 and on; NAME=VALUE sets a variable instead */
} launch_call;

#endif
