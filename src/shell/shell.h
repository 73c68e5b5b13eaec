/* shell.h - the commands that a shell script would run, as far as its text determines them
 *
 *     shell_source source = {.text = text, .length = length, .name = "train.sh"};
 *     shell_words words;
 *     PLAIT_TRY(shell_read(&source, arena, &words, err));
 *     for (int c = 0; c < words.commands; c++)
 *         ... words.word[words.command[c].first + i], i < words.command[c].count ...
 *
 * The evaluator runs no program and opens no file. README.md in this folder lists the supported
 * part of bash. Variables that unsupported commands set become unknown.
 */
#ifndef SHELL_SHELL_H
#define SHELL_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"
#include "base/text.h"

/** Returns whether a word is a long option, such as "--num-layers". */
bool shell_is_option(const char *word);

/**
 * Appends a word as one line of plain text, with quotes if necessary, so that bash reads it as the
 * same word.
 */
void shell_append_word(text_builder *out, const char *word);

/** Returns a word quoted as by shell_append_word; NULL when out of memory. */
char *shell_quoted(const char *word, plait_arena *arena);

typedef struct shell_source {
    const char *text;
    size_t length;
    const char *name; /* file name, for error messages */
    int arguments;
    const char *const *argument; /* $1, $2 ...; an argument NAME=VALUE sets a variable */
} shell_source;

typedef struct shell_variable shell_variable;

/** A simple command after expansion: a slice of shell_words.word. */
typedef struct shell_command {
    int first;
    int count;
    bool doubtful; /* whether it runs only if an unknown condition is true */
    bool ended;    /* whether it follows an unconditional `exit` and never runs */
    int line;
    int settings;                  /* number of assignments NAME=VALUE before the command */
    const shell_variable *setting; /* [settings]: the assigned variables */
} shell_command;

/** A file that the script writes, with `cat <<END >NAME` or `echo TEXT >NAME`. */
typedef struct shell_file {
    const char *name;
    const char *text;
} shell_file;

/** An option that a variable contains only if an unknown condition is true. */
typedef struct shell_doubt {
    const char *option; /* the option, such as "--sequence-parallel" */
    const char *origin; /* text of the condition, or of the unknown value in it, such as "$1" */
    bool added;         /* whether the option was appended to a known value */
} shell_doubt;

/** The source text of an unknown value. */
typedef struct shell_origin {
    const char *text; /* source text, such as "$WORLD_SIZE" or "$(hostname)" */
    bool unset;       /* whether it is a variable that the script does not set */
} shell_origin;

/**
 * Result of shell_read(). A mark in a word represents an unknown part; shell_word_origin() returns
 * the origin of that part.
 */
typedef struct shell_words {
    int count; /* number of words in all commands */
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
    const shell_variable *variable; /* values at the end of the script */
    const char *sourced;            /* first `source FILE` that is not evaluated, or NULL */
    const char *instead; /* names of variables, such as "ARGS (line 3)", whose values are the
                            only command, since no command has options; else NULL */
} shell_words;

/**
 * Evaluates a script and lists its commands in order, in `arena`. The words of a command do not
 * include assignments. Each #SBATCH line before the first command is listed as a command "#SBATCH".
 *
 * Fails (SYNTAX) at a quote that is not closed, and if the script exceeds the limits of time and
 * memory. The error's `where` is NAME:LINE.
 */
PLAIT_MUST_CHECK plait_status shell_read(const shell_source *source, plait_arena *arena,
                                         shell_words *out, plait_error *err);

/** Returns whether a word has no unknown part. */
bool shell_word_known(const char *word);

/** Returns whether a word begins and ends with an unknown part, so that it can be several words. */
bool shell_word_open(const char *word);

/** Returns the origin of the first unknown part of a word; NULL if the word has none. */
const shell_origin *shell_word_origin(const shell_words *words, const char *word);

/** Returns a variable's value at the end of the script if it is one known word; else NULL. */
const char *shell_variable_word(const shell_words *words, const char *name);

/** Returns the value of NAME=VALUE before a command's words if it is known; else NULL. */
const char *shell_setting_word(const shell_command *command, const char *name);

#endif
