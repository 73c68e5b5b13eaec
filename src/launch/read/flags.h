/* flags.h - options on their way in: out of a script or of a JSON of parsed arguments
 *
 * A flag is known by its destination, as argparse calls it: `--num-layers 32` and
 * {"num_layers": 32} are the same. A switch has the value "true".
 *
 * Of a script, the options are those of its launch: the command that starts a Python program with
 * the most options, and of srun and #SBATCH before it. A script that starts none (an arguments file)
 * gives the options of all its commands.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "launch/read/shell_read.h"

typedef struct launch_flag {
    const char *name; /* the destination */
    int values;
    const char *const *value;
    bool read; /* a reader has looked the flag up by its name */
} launch_flag;

typedef struct launch_flags {
    const char *file; /* for messages */
    plait_arena *arena;
    int count;
    int capacity;
    launch_flag *flag;
    shell_words script; /* of a JSON, empty */
    int launch;         /* its command of the script; -1: it starts none, or is a JSON */
    bool doubtful;      /* the launch stands behind a condition that could not be known */
} launch_flags;

/**
 * Read a script, or a JSON object when the text begins with '{'.
 *
 * @param call  of a script; NULL: without arguments
 * @param out   lives in `arena`; the last of several equal flags counts
 */
PLAIT_MUST_CHECK plait_status flags_read(const char *text, size_t length, const char *file,
                                         const launch_call *call, plait_arena *arena,
                                         launch_flags *out, plait_error *err);

/** Does a command of a script start a Python program with options? */
bool flags_starts(const shell_words *words, int command);

/** Does a command of a script run something, rather than print or copy its words? */
bool flags_runs(const shell_words *words, int command);

/** Is the launch one of ms-swift's `megatron sft`? */
bool flags_are_of_swift(const launch_flags *flags);

/** "--num-layers" and "--num-layers=32" as argparse calls them: num_layers. NULL: out of memory. */
const char *flags_destination(const char *word, plait_arena *arena);

/** The command of a script that launches; -1: none does. */
int flags_launch(const shell_words *words);

/** Do the options of a command count, where that one launches? */
bool flags_counts(const shell_words *words, int launch, int command);

/** The last flag of a name, whether its value is known or not; NULL: none. The flag counts as read. */
const launch_flag *flags_last(const launch_flags *flags, const char *name);

/** Is a flag the last one of its name, whose value counts? */
bool flags_is_last(const launch_flags *flags, const launch_flag *flag);

/** Parsed arguments list every switch, whether it is on or not: is this one off? */
bool flags_is_off(const launch_flags *flags, const launch_flag *flag);

/** The names of flags that nothing has read, with commas between them; NULL: out of memory. */
const char *flags_not_read(const launch_flags *flags);

/** The same where its value is known: that of a list but for words that are not. */
const launch_flag *flags_find(const launch_flags *flags, const char *name);

/** Is a value one that turns a switch off: false, no, off, none, null or 0, in any case? */
bool flags_value_is_off(const char *value);

/** Another flag, as if it stood at the end; its texts are kept, not copied. */
PLAIT_MUST_CHECK plait_status flags_put(launch_flags *flags, launch_flag flag, plait_error *err);

/** The same with one value. */
PLAIT_MUST_CHECK plait_status flags_add(launch_flags *flags, const char *name, const char *value,
                                        plait_error *err);

/** Fails (RANGE) at a flag. */
PLAIT_MUST_CHECK plait_status flags_fail(const launch_flags *flags, const char *name,
                                         plait_error *err, const char *fmt, ...) PLAIT_PRINTF(4, 5);
