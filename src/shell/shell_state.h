/* shell_state.h - the state of the evaluator of shell scripts, and functions that its files share
 *
 * A value is a list of words: an array has any number of words, other variables have one. A mark in
 * a word represents an unknown part. It consists of SHELL_UNKNOWN, the decimal index of a
 * shell_origin, and SHELL_UNKNOWN_END. Assignments and expansions keep the marks of a value.
 *
 *     shell_read -> shell_eval -> shell_builtin, shell_expand            -> shell_state
 *                              -> shell_test, shell_arith, shell_slurm
 *                              -> shell_parse
 */
#ifndef SHELL_STATE_H
#define SHELL_STATE_H

#include <stdint.h>

#include "base/name_index.h"
#include "shell/shell.h"
#include "shell/shell_parse.h"

enum { SHELL_UNKNOWN = '\x01', SHELL_UNKNOWN_END = '\x02' };
enum { SHELL_MAX_NESTING = 8 };

typedef struct shell_list {
    const char **word;
    int count;
    int capacity;
} shell_list;

typedef enum shell_certainty {
    SHELL_CERTAIN,
    SHELL_LIKELY,  /* after `PROGRAM &&`: launches are listed, assigned values are unknown */
    SHELL_POSSIBLE /* depends on an unknown condition */
} shell_certainty;

/** Exit status of a command, in order of decreasing certainty. */
typedef enum shell_status {
    SHELL_FALSE,
    SHELL_TRUE,
    SHELL_PROGRAM, /* status of a program: true for launches after &&, unknown for assignments */
    SHELL_UNDECIDED
} shell_status;

struct shell_variable {
    const char *name;
    shell_list value;
    bool set;
    bool array;
    bool opaque;  /* declared with -A, -i, -l, -n or -u, so that assigned values are unknown */
    int unset_at; /* value of shell_state.unread at the last `unset` of the variable */
    int line;     /* line of the last assignment; 0: before the first command */
};

typedef struct shell_function {
    const shell_node *body;
    bool uncertain; /* defined in a branch, a loop or a subshell: calls can find it undefined */
    bool replaces;  /* whether an earlier function has the same name */
} shell_function;

/** A local variable of a function, and the variable with the same name that it hides. */
typedef struct shell_local {
    int variable;
    shell_variable old;
} shell_local;

/**
 * State of the evaluator, which walks the tree of commands from left to right.
 *
 * An unknown condition lowers `certainty` for the commands that depend on it, and sets `doubt` to
 * its origin. After a `return` or `break` that sets `left`, the following commands of the function
 * or round are at most possible. The body of a loop with an unknown number of rounds is evaluated
 * twice. The first evaluation, the survey, takes each branch and makes all assigned variables
 * unknown. The second evaluation starts from the resulting state, and describes any round of the
 * loop.
 */
typedef struct shell_state {
    shell_context *c;

    /* output */
    shell_words *out;
    int word_capacity, command_capacity, file_capacity, doubt_capacity, origin_capacity;

    /* variables, functions, parameters */
    shell_variable *variable;
    int variables, variable_capacity;
    name_index variable_names;
    shell_function *function;
    int functions, function_capacity;
    name_index function_names;
    shell_local *local;
    int locals, local_capacity;
    shell_list argument; /* $1, $2 ... */
    bool argument_unknown;
    bool patterns_unknown; /* whether `shopt` has possibly changed how patterns match */
    int unread;            /* number of unknown texts and files so far; each can set any variable */
    int substitutions;     /* number of $(...) expanded so far */

    /* the current command */
    const shell_node *command;
    shell_certainty certainty;
    int doubt;           /* index of the origin of the condition; -1: none */
    shell_status status; /* status of the last command */
    int cause;           /* index of the origin of an undecided status; -1: the command */
    bool vanished;       /* whether an unset variable expanded to no word in the command */

    /* nesting around the current command */
    int blocks;  /* number of compound commands, calls and texts, in which `exit` is not certain */
    int nesting; /* number of calls, texts and expansions, at most SHELL_MAX_NESTING */
    int calls;   /* number of calls of functions */
    int evaluations; /* number of calls of `eval` */
    int subshells;
    int loops; /* number of loops with an unknown number of rounds */
    bool surveying;
    int left;   /* LEFT_ROUND, LEFT_FUNCTION: `return` or `break` has possibly ended it; 0: no */
    bool ended; /* whether `exit` has certainly ended the script */
} shell_state;

/* ---- shell_state.c ---- */

void shell_list_add(shell_state *in, shell_list *list, const char *word);

/** Returns the words from index `from` on, joined with blanks. */
const char *shell_joined(shell_state *in, const shell_list *words, int from);

/** Returns a word with a mark for an unknown value whose source is `text`. */
const char *shell_unknown(shell_state *in, shell_text text, bool unset);

/** Returns the index of the first origin in a word, or -1. */
int shell_origin_index(const shell_words *words, const char *word);

/** Returns the variable of a name if it is set, else NULL. */
shell_variable *shell_find(const shell_state *in, shell_text name);

/**
 * Returns whether bash, the login or an unread file can set a variable that the script does not.
 */
bool shell_may_be_set(const shell_state *in, shell_text name);

/** Returns the variable of a name, and adds a missing variable. */
shell_variable *shell_variable_of(shell_state *in, const char *name);

/** Sets a variable, for any certainty. If `more`, appends to the variable's list. */
void shell_set(shell_state *in, const char *name, bool more, const shell_list *value);
void shell_set_word(shell_state *in, const char *name, const char *word);

/** Sets a variable to an unknown value whose source is `text`. */
void shell_set_unknown(shell_state *in, const char *name, shell_text text);
void shell_unset(shell_state *in, const char *name);

/** Makes variables unknown after the evaluation of an unknown text, which can set any of them. */
void shell_forget(shell_state *in, shell_text text);

/** A copy of all variables, which is restored after a subshell or a loop. */
typedef struct shell_saved {
    shell_variable *variable;
    int count;
} shell_saved;

shell_saved shell_save(shell_state *in);
void shell_restore(shell_state *in, shell_saved saved);

void shell_add_command(shell_state *in, const shell_list *words);
void shell_add_file(shell_state *in, const char *name, const char *text);

typedef struct shell_assignment {
    const char *name;
    bool more;     /* whether it is NAME+= */
    bool array;    /* whether it is NAME=(...) */
    bool constant; /* whether the value has no expansions */
    bool extends;  /* value can contain the old value: NAME+=, NAME="$NAME MORE" */
    shell_list value;
} shell_assignment;

/**
 * Assigns a value. If the command possibly does not run, the variable becomes unknown, unless the
 * new value is the old value with options after it. In that case the variable keeps the old value,
 * and the options are recorded as doubts.
 */
void shell_assign(shell_state *in, const shell_assignment *assignment);

/** Assigns an expanded word: NAME=WORD or, with `more`, NAME+=WORD. */
void shell_assign_word(shell_state *in, const char *name, bool more, const char *word);

/* ---- shell_arith.c, shell_expand.c ---- */

/** Evaluates an expanded expression. Returns false if the result is unknown. */
bool shell_arith(const shell_state *in, const char *text, int64_t *out);

/** Evaluates the inside of $((...)); false: unknown. Makes variables that it assigns unknown. */
bool shell_expand_arith(shell_state *in, shell_text text, int64_t *out);

typedef enum shell_expansion {
    SHELL_SPLIT,  /* like an argument: unquoted values are split at blanks */
    SHELL_WHOLE,  /* like the right side of an assignment: one word */
    SHELL_PATTERN /* like SHELL_WHOLE, with a \ before characters that quotes make literal */
} shell_expansion;

/** Expand a word of a script to words, or to one word, or a text as if in double quotes. */
void shell_expand_word(shell_state *in, shell_text word, shell_expansion how, shell_list *list);
const char *shell_expand_whole(shell_state *in, shell_text word, shell_expansion how);
const char *shell_expand_text(shell_state *in, shell_text text);

/* ---- shell_test.c ---- */

/** Returns whether a word is = == or != , after which [[ ]] has a pattern. */
bool shell_compares(const char *word);

/** Evaluates the words of [ ], or of [[ ]] if `patterns`. Sets in->cause if undecided. */
shell_status shell_test(shell_state *in, const shell_list *words, bool patterns);

/** Matches a known word with a known pattern; SHELL_UNDECIDED if the pattern is not supported. */
shell_status shell_match(const shell_state *in, const char *pattern, const char *word);

/* ---- shell_slurm.c ---- */

/** Adds the #SBATCH lines before the first command of a script to the output, as commands. */
void shell_job_lines(shell_state *in, shell_text script);

/**
 * Adds a command to the output. Options of srun are converted to their long form: srun -N4 becomes
 * srun --nodes 4.
 */
void shell_add_job_command(shell_state *in, const shell_list *words);

/** Makes SLURM's variables unknown if a command such as `srun -N 2 bash -c` changes them. */
void shell_begin_step(shell_state *in, const shell_list *words);

/* ---- shell_builtin.c ---- */

/** Prepares variable `name` of a NAME=VALUE among the words of `declare`, `local` or `export`. */
void shell_declare(shell_state *in, const shell_list *words, const char *name);

/** Runs a builtin that sets variables. Returns false for other commands, which are output. */
bool shell_run_builtin(shell_state *in, const shell_list *words);

/* ---- shell_eval.c ---- */

/** Evaluates a list of commands. */
void shell_eval(shell_state *in, const shell_node *first);

#endif
