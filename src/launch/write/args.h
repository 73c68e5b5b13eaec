/* args.h - an argument list in groups, on its way out: --name value, in a fixed order
 *
 *     args_init(&args, arena);
 *     args_group(&args, "model");
 *     args_int(&args, "--num-layers", 32);
 *     args_switch(&args, "--swiglu");
 *     text = args_shell(&args);
 *
 * gives
 *
 *     # model
 *     --num-layers 32
 *     --swiglu
 *
 * With `between` set to '=', lines are NAME=VALUE.
 *
 * Memory that runs out shows when the text is asked for, which is NULL then.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"

typedef struct launch_option {
    const char *name;  /* NULL: a group begins here */
    const char *value; /* of a group its title; NULL: a switch */
    bool words;        /* the value is several words, blanks between them */
} launch_option;

typedef struct launch_args {
    plait_arena *arena;
    launch_option *option;
    int count;
    int capacity;
    char between; /* a name and its value: ' ', unless it is set to '=' */
    bool failed;
} launch_args;

void args_init(launch_args *args, plait_arena *arena);

/** Begin a group; one without options is left out of the text. */
void args_group(launch_args *args, const char *title);

void args_switch(launch_args *args, const char *name);
void args_int(launch_args *args, const char *name, int value);
void args_number(launch_args *args, const char *name, double value);

/** One word, whatever is in it. */
void args_text(launch_args *args, const char *name, const char *value);

/** Several words, blanks between them, or one that the shell is to read as it stands. */
void args_words(launch_args *args, const char *name, const char *value);

/** A value put together as by printf; one word. */
void args_printf(launch_args *args, const char *name, const char *fmt, ...) PLAIT_PRINTF(3, 4);

/** All groups and options of another list behind those of this one. */
void args_append(launch_args *args, const launch_args *more);

/** One option a line, quoted for a shell, groups under `# title`. NULL when out of memory. */
char *args_shell(const launch_args *args);

/** All on one line, without titles. NULL when out of memory. */
char *args_line(const launch_args *args);
