/* shell.h - the commands that a shell script would run, as far as its text determines them
 *
 *     shell_source source = {.text = text, .length = length, .name = "train.sh"};
 *     shell_words words;
 *     PLAIT_TRY(shell_read(&source, arena, &words, err));
 *     for (int c = 0; c < words.commands; c++)
 *         ... words.word[words.command[c].first + i], i < words.command[c].count ...
 *
 * The evaluator runs no program and opens no file. README.md in this folder lists the supported
 * part of bash; variables that anything else sets become unknown.
 */
#ifndef SHELL_SHELL_H
#define SHELL_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"
#include "base/text.h"

/** Is a word a long option, such as "--num-layers"? */
bool shell_is_option(const char *word);

/**
 * Appends a word, quoted if necessary, as one line of plain text that bash reads back unchanged.
 */
void shell_append_word(text_builder *out, const char *word);

/** Returns a word quoted as by shell_append_word; NULL when out of memory. */
char *shell_quoted(const char *word, plait_arena *arena);

typedef struct shell_source {
    const char *text;
    size_t length;
    const char *name; /* file name, for messages */
    int arguments;
    const char *const *argument; /* $1, $2 ...; NAME=VALUE sets a variable instead */
} shell_source;

typedef struct shell_variable shell_variable;

/** A simple command after expansion: a slice of shell_words.word. */
typedef struct shell_command {
    int first;
    int count;
    bool doubtful; /* runs only if an unknown condition is true */
    bool ended;    /* follows an unconditional `exit` and never runs */
    int line;
    int settings;                  /* number of NAME=VALUE before its words */
    const shell_variable *setting; /* variables that these set */
} shell_command;

/** A file that the script writes: `cat <<END >NAME`, `echo TEXT >NAME`. */
typedef struct shell_file {
    const char *name;
    const char *text;
} shell_file;

/** An option that is in a variable only if an unknown condition is true. */
typedef struct shell_doubt {
    const char *option; /* "--sequence-parallel" */
    const char *origin; /* text of the condition or of the unknown value in it: "$1" */
    bool added;         /* appended to a known value */
} shell_doubt;

/** The source text of an unknown value. */
typedef struct shell_origin {
    const char *text; /* "$WORLD_SIZE", "$(hostname)" */
    bool unset;       /* a variable that the script does not set */
} shell_origin;

/**
 * Result of shell_read. Marks stand for unknown parts of words; shell_word_origin returns their
 * origin.
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
    const char *instead; /* set if no command has options: the variables, "ARGS (line 3)", whose
                            values are the only command; else NULL */
} shell_words;

/**
 * Evaluates a script and lists its commands in order, in `arena`. Assignments are not listed as
 * words. Each #SBATCH line before the first command is listed as a command of that name.
 *
 * Fails (SYNTAX) at a quote that is not closed, and at the limits of time and memory; the error's
 * `where` is NAME:LINE.
 */
PLAIT_MUST_CHECK plait_status shell_read(const shell_source *source, plait_arena *arena,
                                         shell_words *out, plait_error *err);

/** Has a word no unknown part? */
bool shell_word_known(const char *word);

/** Does a word begin and end with an unknown part? It may then stand for any number of words. */
bool shell_word_open(const char *word);

/** Returns the origin of the first unknown part of a word; NULL: it has none. */
const shell_origin *shell_word_origin(const shell_words *words, const char *word);

/** Returns a variable's value at the end of the script if it is one known word; else NULL. */
const char *shell_variable_word(const shell_words *words, const char *name);

/** Returns the value of NAME=VALUE before a command's words if it is known; else NULL. */
const char *shell_setting_word(const shell_command *command, const char *name);

#endif
