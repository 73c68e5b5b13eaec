/*
 * args.h - a list of arguments in groups, and its text: --name value, in a fixed order
 *
 *     args_init(&args, arena);
 *     args_group(&args, "model");
 *     args_int(&args, "--num-layers", 32);
 *     args_switch(&args, "--swiglu");
 *     args_append_shell(&args, &out);
 *
 * gives
 *
 *     # model
 *     --num-layers 32
 *     --swiglu
 *
 * With `between` set to '=', lines are NAME=VALUE. If memory runs out, the failure is stored in
 * `out`.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"

typedef struct launch_option {
    const char *name;  /* name of the option; NULL: a group begins here */
    const char *value; /* value, or title of a group; NULL: a switch */
    bool words;        /* true if the value is several words with blanks between them */
} launch_option;

typedef struct launch_args {
    plait_arena *arena;
    launch_option *option;
    int count;
    int capacity;
    char between; /* character between a name and its value: ' ', or '=' */
    bool failed;
} launch_args;

void args_init(launch_args *args, plait_arena *arena);

/** Begin a group; the text omits groups without options. */
void args_group(launch_args *args, const char *title);

void args_switch(launch_args *args, const char *name);
void args_int(launch_args *args, const char *name, int value);
void args_number(launch_args *args, const char *name, double value);

/** Add an option with one word, which may hold any characters. */
void args_text(launch_args *args, const char *name, const char *value);

/**
 * Add an option with several words, with blanks between them, or with one word that the shell reads
 * unquoted.
 */
void args_words(launch_args *args, const char *name, const char *value);

/** Add an option with one word, formatted as by printf. */
void args_printf(launch_args *args, const char *name, const char *fmt, ...) PLAIT_PRINTF(3, 4);

/** Append all groups and options of another list. */
void args_append(launch_args *args, const launch_args *more);

/** Append one option per line, quoted for a shell, and groups under `# title`. */
void args_append_shell(const launch_args *args, text_builder *out);

/** Returns all options on one line, without titles; NULL: out of memory. */
char *args_line(const launch_args *args);
