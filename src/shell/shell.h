/* shell.h - the commands that a shell script would run, as far as they follow from its text
 *
 *     shell_source source = {.text = text, .length = length, .name = "train.sh"};
 *     shell_words words;
 *     PLAIT_TRY(shell_read(&source, arena, &words, err));
 *     for (int c = 0; c < words.commands; c++)
 *         ... words.word[words.command[c].first + i], i < words.command[c].count ...
 *
 * No program is run and no file is opened. README.md beside this file lists the part of bash that is
 * evaluated; everything else makes the variables that it sets unknown.
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

/** Append a word, quoted if necessary, as one line of plain text that bash reads back unchanged. */
void shell_append_word(text_builder *out, const char *word);

/** Returns a word quoted as by shell_append_word; NULL when out of memory. */
char *shell_quoted(const char *word, plait_arena *arena);

typedef struct shell_source {
    const char *text;
    size_t length;
    const char *name; /* of the file, for messages */
    int arguments;
    const char *const *argument; /* $1, $2 ...; NAME=VALUE sets a variable instead */
} shell_source;

typedef struct shell_variable shell_variable;

/** A simple command after expansion: a slice of shell_words.word. */
typedef struct shell_command {
    int first;
    int count;
    bool doubtful; /* runs only if an unknown condition holds */
    bool ended;    /* follows an unconditional `exit`, and never runs */
    int line;
    int settings;                  /* number of NAME=VALUE before its words */
    const shell_variable *setting; /* the variables that they set */
} shell_command;

/** A file that the script writes: `cat <<END >NAME`, `echo TEXT >NAME`. */
typedef struct shell_file {
    const char *name;
    const char *text;
} shell_file;

/** An option that a variable contains only if an unknown condition holds. */
typedef struct shell_doubt {
    const char *option; /* "--sequence-parallel" */
    const char *origin; /* text of the condition or of the unknown value in it: "$1" */
    bool added;         /* appended to a value that is known */
} shell_doubt;

/** The source text of an unknown value. */
typedef struct shell_origin {
    const char *text; /* "$WORLD_SIZE", "$(hostname)" */
    bool unset;       /* a variable that the script does not set */
} shell_origin;

/** Result of shell_read. Unknown parts of a word are marks, which shell_word_origin resolves. */
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
    const shell_variable *variable; /* values at the end of the script */
    const char *sourced;            /* first `source FILE` whose file is not read, or NULL */
    const char *instead; /* set if no command has options: the variables, "ARGS (line 3)", whose
                            values are the only command; else NULL */
} shell_words;

/**
 * Evaluate a script and list its commands in order, in `arena`. Assignments are not words; each
 * #SBATCH line before the first command is a command of that name.
 *
 * Fails (SYNTAX) at a quote that is not closed and at the limits that bound time and memory; `where`
 * is NAME:LINE.
 */
PLAIT_MUST_CHECK plait_status shell_read(const shell_source *source, plait_arena *arena,
                                         shell_words *out, plait_error *err);

/** Is the whole word known? */
bool shell_word_known(const char *word);

/** Does a word begin and end with an unknown part? It may then stand for any number of words. */
bool shell_word_open(const char *word);

/** The origin of the first unknown part of a word; NULL: all is known. */
const shell_origin *shell_word_origin(const shell_words *words, const char *word);

/** The value of a variable at the end of the script, if it is one known word; else NULL. */
const char *shell_variable_word(const shell_words *words, const char *name);

/** The value that NAME=VALUE before the words of a command sets, if it is known; else NULL. */
const char *shell_setting_word(const shell_command *command, const char *name);

#endif
