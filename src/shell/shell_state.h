/* shell_state.h - the evaluator of shell scripts: its state, and what its files offer each other
 *
 * A value is a list of words: an array has any number of them, other variables have one. An unknown
 * part of a word is a mark: SHELL_UNKNOWN, the decimal index of its shell_origin, SHELL_UNKNOWN_END.
 * A mark keeps its origin through any number of assignments and expansions.
 *
 *     shell_read -> shell_eval -> shell_builtin, shell_expand -> shell_assign -> shell_state
 *                              -> shell_test, shell_arith, shell_slurm        -> shell_context
 *                              -> shell_parse
 */
#ifndef SHELL_STATE_H
#define SHELL_STATE_H

#include <stdint.h>

#include "base/name_index.h"
#include "shell/shell.h"
#include "shell/shell_context.h"
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
    SHELL_LIKELY,  /* after `PROGRAM &&`: a launch counts, but assignments are unknown */
    SHELL_POSSIBLE /* depends on an unknown condition */
} shell_certainty;

/** How a command ended, in the order of decreasing knowledge. */
typedef enum shell_status {
    SHELL_FALSE,
    SHELL_TRUE,
    SHELL_PROGRAM, /* of a program: true for a launch after &&, unknown for assignments */
    SHELL_UNDECIDED
} shell_status;

struct shell_variable {
    const char *name;
    shell_list value;
    bool set;
    bool array;
    bool opaque;  /* declared with -A, -i, -l, -n or -u: assigned values are unknown */
    int unset_at; /* shell_state.unread at its last `unset` */
    int line;     /* of its last assignment; 0: before the first command */
};

typedef struct shell_function {
    const shell_node *body;
    bool uncertain; /* may be undefined when called: a branch, a loop or a subshell defines it */
    bool replaces;  /* another function of its name precedes it */
} shell_function;

/** A local variable of a function, and what it hides. */
typedef struct shell_local {
    int variable;
    shell_variable old;
} shell_local;

/**
 * State of the evaluator, which walks the tree of commands from left to right.
 *
 * An unknown condition lowers `certainty` for the commands that depend on it, and `doubt` is then
 * the origin of that condition. A `return` or `break` sets `left`, and all that follows in the same
 * function or round is at most possible. The number of rounds of a loop is unknown, so its body is
 * evaluated twice: first as a survey, in which each branch is taken and all that is assigned becomes
 * unknown, then, from the state that this leaves, as any of its rounds.
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
    bool patterns_unknown; /* `shopt` may have changed how patterns match */
    int unread;            /* unknown texts and files evaluated: each may set any variable */
    int substitutions;     /* $(...) expanded so far */

    /* the current command */
    const shell_node *command;
    shell_certainty certainty;
    int doubt;           /* index of an origin; -1: none */
    shell_status status; /* of the last command */
    int cause;           /* of an undecided status: index of an origin; -1: the command itself */
    bool vanished;       /* a word of the command is no word, since its variable is not set */

    /* around it */
    int blocks;      /* compound commands, calls and texts: `exit` in one ends nothing for sure */
    int nesting;     /* calls, texts and expansions, at most SHELL_MAX_NESTING */
    int calls;       /* of functions */
    int evaluations; /* of `eval` */
    int subshells;
    int loops; /* whose number of rounds is unknown */
    bool surveying;
    int left;   /* `return` or `break` may have ended: 1: the round, 2: the function */
    bool ended; /* `exit` has ended the script */
} shell_state;

/* ---- shell_state.c ---- */

void shell_list_add(shell_state *in, shell_list *list, const char *word);

/** Words from index `from` on with blanks between them. */
const char *shell_joined(shell_state *in, const shell_list *words, int from);

/** A word for an unknown value whose source is `text`. */
const char *shell_unknown(shell_state *in, shell_text text, bool unset);

/** Index of the first origin in a word, or -1. */
int shell_origin_index(const shell_words *words, const char *word);

/** The variable of a name if it is set, else NULL. */
shell_variable *shell_find(const shell_state *in, shell_text name);

/** May a variable that the script does not set be set by bash, the login or a file not read? */
bool shell_may_be_set(const shell_state *in, shell_text name);

/** The variable of a name, added if there is none. */
shell_variable *shell_variable_of(shell_state *in, const char *name);

/** Set a variable, whatever the certainty; `more` appends to its list. */
void shell_set(shell_state *in, const char *name, bool more, const shell_list *value);
void shell_set_word(shell_state *in, const char *name, const char *word);

/** Set a variable to an unknown value whose source is `text`. */
void shell_set_unknown(shell_state *in, const char *name, shell_text text);
void shell_unset(shell_state *in, const char *name);

/** An unknown text is evaluated: any variable may have any value afterwards. */
void shell_forget(shell_state *in, shell_text text);

/** All variables, to be restored after a subshell or a loop. */
typedef struct shell_saved {
    shell_variable *variable;
    int count;
} shell_saved;

shell_saved shell_save(shell_state *in);
void shell_restore(shell_state *in, shell_saved saved);

void shell_add_command(shell_state *in, const shell_list *words);
void shell_add_file(shell_state *in, const char *name, const char *text);

/** Record the options in a value that depends on the current condition: "--a 1 --b" has two. */
void shell_add_doubts(shell_state *in, const shell_list *value, bool added);

/* ---- shell_assign.c ---- */

typedef struct shell_assignment {
    const char *name;
    bool more;     /* NAME+= */
    bool array;    /* NAME=(...) */
    bool constant; /* nothing in the value is expanded */
    bool extends;  /* the value may contain the old one: NAME+=, NAME="$NAME MORE" */
    shell_list value;
} shell_assignment;

/**
 * Assign a value. If the command only may run, the variable becomes unknown; but if the new value
 * is the old one with options after it, it keeps the old one, and the options are doubts.
 */
void shell_assign(shell_state *in, const shell_assignment *assignment);

/** NAME=WORD, or with `more` NAME+=WORD, of a word that is expanded already. */
void shell_assign_word(shell_state *in, const char *name, bool more, const char *word);

/* ---- shell_arith.c, shell_expand.c ---- */

/** The value of an expanded expression; false: unknown. */
bool shell_arith(const shell_state *in, const char *text, int64_t *out);

/** Evaluate the inside of $((...)); variables that it assigns become unknown. False: unknown. */
bool shell_expand_arith(shell_state *in, shell_text text, int64_t *out);

typedef enum shell_expansion {
    SHELL_SPLIT,  /* as an argument: unquoted values are split at blanks */
    SHELL_WHOLE,  /* as the right side of an assignment: one word */
    SHELL_PATTERN /* the same, with a \ before characters that quotes make literal */
} shell_expansion;

/** Expand a word of a script to words; to one word; or a text as in double quotes. */
void shell_expand_word(shell_state *in, shell_text word, shell_expansion how, shell_list *list);
const char *shell_expand_whole(shell_state *in, shell_text word, shell_expansion how);
const char *shell_expand_text(shell_state *in, shell_text text);

/* ---- shell_test.c ---- */

/** Is the word one after which [[ ]] expects a pattern: = == != ? */
bool shell_compares(const char *word);

/** Evaluate the words of [ ] or, with `patterns`, of [[ ]]. Sets in->cause if undecided. */
shell_status shell_test(shell_state *in, const shell_list *words, bool patterns);

/** Does a word match a pattern of * ? [a-z] and literal characters? Both are known. */
shell_status shell_match(const shell_state *in, const char *pattern, const char *word);

/* ---- shell_slurm.c ---- */

/** The commands of the #SBATCH lines before the first command of a script. */
void shell_job_lines(shell_state *in, shell_text script);

/** Add a command to the output, options of srun in their long form: srun -N4 is srun --nodes 4. */
void shell_add_job_command(shell_state *in, const shell_list *words);

/** Variables of SLURM that a command such as `srun -N 2 bash -c` changes become unknown. */
void shell_begin_step(shell_state *in, const shell_list *words);

/* ---- shell_builtin.c ---- */

/** Prepare the variable of NAME=VALUE among the words of `declare`, `local` or `export`. */
void shell_declare(shell_state *in, const shell_list *words, const char *name);

/** Run a builtin that sets variables; false: the command is part of the output. */
bool shell_run_builtin(shell_state *in, const shell_list *words);

/* ---- shell_eval.c ---- */

/** Evaluate a list of commands. */
void shell_eval(shell_state *in, const shell_node *first);

#endif
