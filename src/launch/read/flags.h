/*
 * flags.h - reads options from a script or from a JSON of parsed arguments
 *
 * A flag is identified by argparse's destination: `--num-layers 32` and {"num_layers": 32} are
 * equal. A switch has the value "true".
 *
 * The options of a script are those of its launch, the command that starts a Python program with
 * the most options, and of srun and #SBATCH before it. A script without a launch (an arguments
 * file) gives the options of all its commands.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/degrees.h"

#include "launch/import.h"
#include "shell/shell.h"

typedef struct launch_flag {
    const char *name; /* destination of the option */
    int values;
    const char *const *value;
    bool read; /* true after a reader has looked the flag up by its name */
} launch_flag;

typedef struct launch_flags {
    const char *file; /* path for messages */
    plait_arena *arena;
    int count;
    int capacity;
    launch_flag *flag;
    shell_words script;        /* commands of the script; none for a JSON */
    int launch;                /* index of the launch among the commands; -1: none, or a JSON */
    bool doubtful;             /* true if the launch depends on an unknown condition */
    bool recipe;               /* true if a recipe of Megatron-Bridge sets what the flags do not */
    plait_key_set recipe_keys; /* keys of the plan that the recipe sets */
} launch_flags;

/**
 * Read a script, or a JSON object if the text begins with '{'.
 *
 * @param call  arguments of the script; NULL: none
 * @param out   lives in `arena`; the last of several equal flags counts
 */
PLAIT_MUST_CHECK plait_status flags_read(const char *text, size_t length, const char *file,
                                         const launch_call *call, plait_arena *arena,
                                         launch_flags *out, plait_error *err);

/** True if a command of a script starts a Python program with options. */
bool flags_starts(const shell_words *words, int command);

/** True if a command of a script runs a program, rather than printing or copying its words. */
bool flags_runs(const shell_words *words, int command);

/** True if the launch is ms-swift's `megatron sft`. */
bool flags_are_of_swift(const launch_flags *flags);

/**
 * Returns the destination num_layers for "--num-layers" and for "--num-layers=32". NULL: out of
 * memory.
 */
const char *flags_destination(const char *word, plait_arena *arena);

/** Returns the index of the launch among the commands of a script; -1: none. */
int flags_launch(const shell_words *words);

/** True if the options of a command count together with those of the launch. */
bool flags_counts(const shell_words *words, int launch, int command);

/**
 * Returns the last flag with a name, even if its value is unknown, and marks it as read; NULL:
 * none.
 */
const launch_flag *flags_last(const launch_flags *flags, const char *name);

/** True if a flag is the last one with its name, so that its value counts. */
bool flags_is_last(const launch_flags *flags, const launch_flag *flag);

/** True if an option of a script has a value, as all but switches need. */
bool flags_has_value(const launch_flag *flag);

/** True if a switch is off; parsed arguments list every switch. */
bool flags_is_off(const launch_flags *flags, const launch_flag *flag);

/**
 * Returns the names of flags that no reader has looked up, with commas between them; NULL: out of
 * memory.
 */
const char *flags_not_read(const launch_flags *flags);

/**
 * Returns the last flag with a name if its value is known, or at least the first value of a list;
 * NULL: none.
 */
const launch_flag *flags_find(const launch_flags *flags, const char *name);

/** True for values that turn a switch off: false, no, off, none, null or 0, in any case. */
bool flags_value_is_off(const char *value);

/** Add a flag at the end; the list keeps the pointers to its texts. */
PLAIT_MUST_CHECK plait_status flags_put(launch_flags *flags, launch_flag flag, plait_error *err);

/** Add a flag with one value. */
PLAIT_MUST_CHECK plait_status flags_add(launch_flags *flags, const char *name, const char *value,
                                        plait_error *err);

/** Fail (RANGE) with a message about a flag. */
PLAIT_MUST_CHECK plait_status flags_fail(const launch_flags *flags, const char *name,
                                         plait_error *err, const char *fmt, ...) PLAIT_PRINTF(4, 5);

/**
 * Returns the GPUs of a launch: nodes times GPUs per node, from options, else from variables with
 * usual names (NNODES, GPUS_PER_NODE). 0: unknown.
 */
int launcher_gpus(const launch_flags *flags);
