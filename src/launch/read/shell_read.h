/* shell_read.h - the commands of a shell script, without running it */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

#include "launch/call.h"

typedef struct shell_variable shell_variable;

/** A simple command: a slice of the script's words. */
typedef struct shell_command {
    int first;
    int count;
    bool doubtful; /* it stands behind a condition that could not be known */
    bool ended;    /* it stands behind an `exit` that no condition guards */
    int line;
    int settings; /* assignments before its words, which are for it alone: NAME=VALUE COMMAND */
    const shell_variable *setting;
} shell_command;

/** A file that the script makes of text that stands in it: `cat <<END >NAME`, `echo TEXT >NAME`. */
typedef struct shell_file {
    const char *name;
    const char *text;
} shell_file;

/** An option that a variable gets only behind a condition that could not be known. */
typedef struct shell_doubt {
    const char *option; /* "--sequence-parallel" */
    const char *origin; /* what the condition hangs on: "$1" */
    bool added;         /* to options that the variable has in any case */
} shell_doubt;

/** An expansion that could not be known. */
typedef struct shell_origin {
    const char *text; /* "$WORLD_SIZE", "$(hostname)" */
    bool unset;       /* a variable that the script does not set */
} shell_origin;

/** What a script says, as far as that can be known without running it. */
typedef struct shell_words {
    int count; /* of the words of all commands */
    const char **word;
    int commands;
    shell_command *command;
    int files;
    shell_file *file;
    int doubts;
    shell_doubt *doubt;
    int unknown;
    shell_origin *origin;
    int variables;
    const shell_variable *variable;
    const char *sourced; /* "source env.sh": the first file that is run, but not read; else NULL */
    const char *instead; /* of a script without any option: "ARGS (line 3)"; else NULL */
} shell_words;

/**
 * Read the commands of a script. Assignments, arrays, export lines, functions, `eval`, `bash -c`,
 * here-documents and the #SBATCH lines before the first command are followed; `$NAME`,
 * `${NAME:-default}`, `${NAME[@]}` and `$((...))` are expanded; of `if`, `case` and `&&` only what their conditions let through is read.
 * A word with an expansion that cannot be known has a mark in its place. Behind a condition that
 * cannot be known, a variable that is set becomes unknown, and one that options are added to stays.
 * A program may fail: a launch behind `make &&` is one, but what is set there is unknown. So is what
 * was set before a file that is sourced, and before a text that is evaluated and not known.
 * What a loop sets is unknown in its body, until it is set again there, and behind it. What a
 * subshell sets, one in parentheses or of a pipe, ends with it.
 *
 * Assignments are no words. The words of an #SBATCH line are a command of that name. A script
 * without any option, which only sets variables, has one command: what they hold.
 *
 * @param call  NULL: without arguments
 * @param out   lives in `arena`
 *
 * Fails (SYNTAX) on a quote that is not closed; `where` is NAME:LINE.
 */
PLAIT_MUST_CHECK plait_status shell_read(const char *text, size_t length, const char *name,
                                         const launch_call *call, plait_arena *arena,
                                         shell_words *out, plait_error *err);

/** Does a word hold nothing that could not be known? */
bool shell_word_known(const char *word);

/** Does a word hold nothing but what could not be known? It may then be any number of words. */
bool shell_word_open(const char *word);

/** The first thing in a word that could not be known; NULL: all is. */
const shell_origin *shell_word_origin(const shell_words *words, const char *word);

/** The one known word that a variable holds at the end of the script; NULL: it does not. */
const char *shell_variable_word(const shell_words *words, const char *name);

/** The one known word that an assignment before the words of a command sets; NULL: none does. */
const char *shell_setting_word(const shell_command *command, const char *name);
