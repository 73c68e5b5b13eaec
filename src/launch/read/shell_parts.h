/* shell_parts.h - the parts of shell_read.c: words, commands, conditions, arithmetic
 *
 * A value is a list of words: an array has many, a variable one. What is not known stands in a word
 * as SHELL_UNKNOWN, a number of shell_words.origin, SHELL_UNKNOWN_END, so that it keeps its origin
 * through any number of variables.
 */
#pragma once

#include "base/name_index.h"
#include "launch/read/shell_read.h"
#include "base/shell_word.h"
#include "base/text.h"

enum { SHELL_UNKNOWN = '\x01', SHELL_UNKNOWN_END = '\x02' };

typedef struct shell_list {
    const char **word;
    int count;
    int capacity;
} shell_list;

/** What the rounds of a loop do to a variable; the later, the less is known. */
typedef enum shell_change { SHELL_KEPT, SHELL_GROWN, SHELL_CHANGED } shell_change;

/** What `declare` makes of a variable. */
typedef enum shell_kind {
    SHELL_PLAIN,
    SHELL_KEYED,    /* -A: its elements are kept as "[KEY]=VALUE" */
    SHELL_SHAPED,   /* -i, -l, -u: what it is set to is changed on the way */
    SHELL_REFERENCE /* -n: it stands for another one */
} shell_kind;

struct shell_variable {
    const char *name;
    shell_kind kind;
    shell_list value;
    bool array;
    bool unset;          /* by `unset`, or never set */
    int unset_since;     /* files and texts not read (shell_reader.unread) when it was unset */
    int line;            /* where it was set last */
    shell_change change; /* by the outermost loop around the cursor */
    shell_list entry;    /* of one that grows: its value at the head of any round */
};

/** A variable as it was before it was set: what ends with a subshell is taken back. */
typedef struct shell_undo {
    int variable;
    shell_variable old;
} shell_undo;

/** How what stands at the cursor is to be taken. */
typedef enum shell_mode {
    SHELL_RUN,
    SHELL_LIKELY, /* behind a program that is taken to succeed: it runs, what it sets is not known */
    SHELL_DOUBT,
    SHELL_SKIP
} shell_mode;

/** How a command ended; the later, the less is known. */
typedef enum shell_answer {
    SHELL_NO,
    SHELL_YES,
    SHELL_DONE, /* it hardly fails (cd, mkdir): && and || take it to succeed, `if` does not know */
    SHELL_RAN,  /* a program: a launch behind it is one, but what is set behind it is not known */
    SHELL_OPEN  /* a condition that is not known */
} shell_answer;

typedef enum shell_block {
    SHELL_IF,
    SHELL_CASE,
    SHELL_LOOP,
    SHELL_BRACE,
    SHELL_PAREN,
    SHELL_FUNCTION
} shell_block;

/** What is open at the cursor: `if` before its `fi`. */
typedef struct shell_frame {
    shell_block block;
    shell_mode outer;    /* of what stands around it ... */
    int outer_doubt;     /* ... and what that hangs on */
    int cause;           /* what an open branch hangs on */
    bool taken;          /* a branch has been: the next ones are not */
    bool open;           /* whether one has been is not known */
    bool pattern;        /* of a case: a pattern comes next */
    bool falls;          /* of a case: the next branch may be run whatever its pattern */
    bool idle;           /* it is skipped as a whole */
    bool negated;        /* a ! stands before it */
    bool exited;         /* of a subshell: an `exit` in it is perhaps its end */
    char sign;           /* & or |: it is the second part of && or ||, behind ... */
    shell_answer first;  /* ... a first one that ended so */
    bool until;          /* of a loop: it ends where its condition holds */
    bool piped;          /* it stands behind a | */
    int undos;           /* of the reader where it began */
    int line;            /* where it began */
    const char *subject; /* of a case: what is compared; of a function: its name */
    const char *body;    /* of a function: its first byte */
} shell_frame;

typedef struct shell_function {
    const char *name;
    const char *body;
    size_t length;
    int line;    /* of its first byte */
    bool unsure; /* it may not be defined where it is called: a branch or a subshell defines it */
    bool again;  /* there is another one of its name before it */
} shell_function;

/** A here-document whose text comes behind the next line break. */
typedef struct shell_here {
    const char *end; /* the line that ends it */
    bool quoted;     /* nothing in it is expanded */
    bool indented;   /* <<-: tabs at the head of its lines do not count */
} shell_here;

enum { SHELL_MAX_FRAMES = 64, SHELL_MAX_NESTING = 8, SHELL_MAX_HERE = 4 };

/** Where the outermost loop around the cursor began: its body is read twice. */
typedef struct shell_loop {
    const char *at, *end, *ran, *target;
    const char *unknown; /* a word for what its rounds leave unknown */
    int line, nesting, doubt, cause, heres;
    shell_mode mode;
    shell_answer status;
    bool argument_open;
    shell_here here[SHELL_MAX_HERE];
} shell_loop;

enum { SHELL_MAX_WORDS = 1 << 16, SHELL_MAX_BYTES = 1 << 22 };
enum { SHELL_MAX_VARIABLES = 1 << 10, SHELL_MAX_FUNCTIONS = 1 << 10, SHELL_MAX_ORIGINS = 1 << 9 };

typedef struct shell_reader {
    const char *at;
    const char *end;
    int line;
    const char *name; /* of the file, for messages */
    plait_arena *arena;
    shell_words *out;

    shell_variable *variable;
    int variables, variable_capacity;
    name_index variable_names;
    shell_function *function;
    int functions, function_capacity;
    name_index function_names; /* to the last one of each */
    shell_list argument;       /* $1 and on */
    bool argument_open;        /* they have been moved, how far is not known */

    shell_mode mode;
    int doubt;           /* index of the origin that SHELL_DOUBT hangs on */
    shell_answer status; /* of the last command */
    int code;            /* its $?; -1: not known */
    shell_answer before; /* the same of the one before the command that is run */
    int code_before;
    int cause;       /* index of the origin that an open status hangs on; -1: none */
    const char *ran; /* the last command's first byte */
    shell_frame frame[SHELL_MAX_FRAMES];
    int frames;
    int nesting; /* of eval, bash -c and functions */
    int linked;  /* && and || around the command */
    bool ended;  /* behind an `exit` that no condition guards */
    int command_line;

    shell_undo *undo;
    int undos, undo_capacity;
    int element;               /* undos where the last command began */
    bool piped;                /* what comes next stands behind a | */
    bool turned;               /* and a ! before the first of them */
    bool pipefail, pipe_fails; /* `set -o pipefail`; one of the pipe may have failed */
    shell_undo *local;
    int locals, local_capacity;
    int calls;       /* of functions around the cursor */
    int call_frames; /* frames around the innermost one */
    int text_frames; /* frames around the text that is read: a text closes its own alone */
    bool left;       /* whether it has returned already is not known */

    int broken; /* the loop of one round that has perhaps been left: its frame, from 1; 0: none */
    int unread; /* files and texts that are run, but not read: each may set any variable */
    int substitutions; /* $(...) so far */
    int evaluations;   /* eval around the cursor */
    bool erred;        /* the last [ ... ] compared what is no number: its $? is 2 */
    bool vanishing;    /* a word of the command is nothing, if its variable is not set */
    bool pattern;      /* what stands in quotes stands for itself: it gets a \ */
    bool caseless;     /* `shopt -s nocasematch` */
    const char *first; /* of the script */
    bool begun;        /* a command has been read: #SBATCH lines count no more */

    shell_loop loop;
    int loop_frame; /* of the outermost loop; -1: none is open */
    bool surveying; /* its body is read for the first time: only for what it changes */

    shell_here here[SHELL_MAX_HERE];
    int heres;
    const char *target; /* of the last > of this line */
    int words_capacity, command_capacity, file_capacity, doubt_capacity, origin_capacity;
    size_t bytes; /* of all texts made so far: an expansion of expansions ends here */
} shell_reader;

/* ---- lists and variables ---- */

PLAIT_MUST_CHECK plait_status shell_fail(const shell_reader *in, const char *found,
                                         plait_error *err);

/** Count work that a hostile script could multiply; fails when there is too much of it. */
PLAIT_MUST_CHECK plait_status shell_spend(shell_reader *in, size_t bytes, plait_error *err);

PLAIT_MUST_CHECK plait_status shell_list_add(shell_reader *in, shell_list *list, const char *word,
                                             plait_error *err);
shell_variable *shell_find(const shell_reader *in, const char *name, size_t length);

/** The variable of a name, made where there is none. */
PLAIT_MUST_CHECK plait_status shell_make(shell_reader *in, const char *name, shell_variable **out,
                                         plait_error *err);

/** Replace a variable's value, or append to it. */
PLAIT_MUST_CHECK plait_status shell_set(shell_reader *in, const char *name, bool more,
                                        const shell_list *value, plait_error *err);

/** Could a variable that is not set here be set all the same: by the shell, by what is not read? */
bool shell_may_be_set(const shell_reader *in, const char *name, size_t length);

/** What runs now is not read: any variable may be another one behind it. */
PLAIT_MUST_CHECK plait_status shell_forget(shell_reader *in, const char *text, size_t length,
                                           plait_error *err);

/** A word for what is not known; its origin is [from, in->at). */
const char *shell_unknown(shell_reader *in, const char *from, bool unset);

/** The same of a text of one's own. */
const char *shell_unknown_text(shell_reader *in, const char *text, size_t length, bool unset);

/** A word for the same origin, which now stands for something that is set. */
const char *shell_unknown_set(shell_reader *in, int origin);

/** Index of a word's first origin, or -1. */
int shell_origin_index(const shell_words *words, const char *word);

/* ---- what a block does to variables ---- */

/** Keep a variable as it is before it changes. */
PLAIT_MUST_CHECK plait_status shell_keep(shell_reader *in, const shell_variable *variable,
                                         plait_error *err);

/** Take back what was set since there were so many undos. */
void shell_take_back(shell_reader *in, int undos);

/** A variable as it was, set now. */
PLAIT_MUST_CHECK plait_status shell_put_back(shell_reader *in, const shell_undo *was,
                                             plait_error *err);

/** What was set since there were so many undos is taken back, and set for one command. */
typedef struct shell_aside {
    int count;
    shell_undo *set;
    shell_undo *old;
} shell_aside;
PLAIT_MUST_CHECK plait_status shell_set_aside(shell_reader *in, int undos, shell_aside *out,
                                              plait_error *err);
PLAIT_MUST_CHECK plait_status shell_begin_aside(shell_reader *in, shell_aside *aside,
                                                plait_error *err);
PLAIT_MUST_CHECK plait_status shell_end_aside(shell_reader *in, const shell_aside *aside,
                                              plait_error *err);

/** Variables that a function declares as its own; and where it ends, with so many before it. */
PLAIT_MUST_CHECK plait_status shell_make_local(shell_reader *in, const char *name,
                                               plait_error *err);
PLAIT_MUST_CHECK plait_status shell_end_locals(shell_reader *in, int locals, plait_error *err);

/** A loop around the cursor, if there is one, changes a variable. */
PLAIT_MUST_CHECK plait_status shell_note_change(shell_reader *in, const char *name,
                                                shell_change change, plait_error *err);

/** A variable is set to what is not known, and shown as a text; or is no longer set. */
PLAIT_MUST_CHECK plait_status shell_set_unknown(shell_reader *in, const char *name,
                                                const char *text, size_t length, plait_error *err);
PLAIT_MUST_CHECK plait_status shell_unset(shell_reader *in, const char *name, plait_error *err);

/** What [text, text + length), the inside of $((...)), sets is not known behind it. */
PLAIT_MUST_CHECK plait_status shell_run_sum(shell_reader *in, const char *text, size_t length,
                                            plait_error *err);

/* ---- words ---- */

/** A word in the making; `begun` tells an empty one in quotes from none. */
typedef struct shell_word {
    text_builder text;
    bool begun;
} shell_word;

/** What is expanded goes into a word, and into a list where it ends words. */
PLAIT_MUST_CHECK plait_status shell_append_split(shell_reader *in, const char *text, bool quoted,
                                                 shell_word *word, shell_list *list,
                                                 plait_error *err);
PLAIT_MUST_CHECK plait_status shell_append_value(shell_reader *in, const shell_list *value,
                                                 bool quoted, shell_word *word, shell_list *list,
                                                 plait_error *err);
PLAIT_MUST_CHECK plait_status shell_append_joined(shell_reader *in, const shell_list *value,
                                                  shell_word *word, shell_list *list,
                                                  const char *from, plait_error *err);
PLAIT_MUST_CHECK plait_status shell_append_unknown(shell_reader *in, shell_word *word,
                                                   const char *from, bool unset, plait_error *err);

/** The value of $NAME or of $1; NULL: it is not set. Is the name that of a moved argument? */
const shell_list *shell_value_of(const shell_reader *in, const char *name, size_t length,
                                 shell_list *argument);
bool shell_is_moved(const shell_reader *in, const char *name);

/** A name in braces, what stands behind it there, and where. */
typedef struct shell_braces {
    const char *from; /* the $ */
    const char *name, *rest;
    size_t name_length, length; /* of the rest */
    bool quoted;
    bool settable; /* it is not set here, but could be */
    const shell_list *value;
} shell_braces;

/** ${NAME}, ${NAME[@]}; and those with anything else behind the name. */
PLAIT_MUST_CHECK plait_status shell_append_whole(shell_reader *in, const shell_braces *b,
                                                 shell_word *word, shell_list *list,
                                                 plait_error *err);
PLAIT_MUST_CHECK plait_status shell_append_operation(shell_reader *in, const shell_braces *b,
                                                     shell_word *word, shell_list *list,
                                                     plait_error *err);

/** Behind the closing sign that belongs to the opening one before in->at. */
void shell_skip_to_close(shell_reader *in, char open, char close);

/** One word, up to a blank or an operator; unquoted lists in it are spliced into `list`. */
PLAIT_MUST_CHECK plait_status shell_read_word(shell_reader *in, shell_list *list, plait_error *err);

/** Text as in double quotes, from in->at to in->end. NULL when out of memory. */
PLAIT_MUST_CHECK plait_status shell_expand(shell_reader *in, const char *text, size_t length,
                                           const char **out, plait_error *err);

/** $'...' behind its opening sign. NULL when out of memory; `*closed`: its end was found. */
const char *shell_read_ansi(shell_reader *in, bool *closed);

/* ---- what comes out ---- */

/** Options in texts that stand behind an open condition: "--a 1 --b" has two. `added`: to others. */
PLAIT_MUST_CHECK plait_status shell_add_doubts(shell_reader *in, const shell_list *value,
                                               bool added, plait_error *err);
PLAIT_MUST_CHECK plait_status shell_add_command(shell_reader *in, const shell_list *words,
                                                plait_error *err);

/** A text that is written to in->target, if there is one. */
PLAIT_MUST_CHECK plait_status shell_add_file(shell_reader *in, const char *text, plait_error *err);

/** Words from one on with a blank between them; NULL when out of memory. */
const char *shell_joined(shell_reader *in, const shell_list *words, int from);

/* ---- lines ---- */

/**
 * Words of a command as launchers spell them in full: srun -N4 is srun --nodes 4.
 * `tells`: SLURM's variables are those of this step.
 */
PLAIT_MUST_CHECK plait_status shell_settle_job_words(shell_reader *in, const shell_list *words,
                                                     bool tells, shell_list *out, plait_error *err);
PLAIT_MUST_CHECK plait_status shell_read_job_line(shell_reader *in, const char *line, size_t width,
                                                  plait_error *err);

/** Blanks and continuations within a command; and line breaks, comments and what follows them. */
void shell_skip_blanks(shell_reader *in);
PLAIT_MUST_CHECK plait_status shell_skip_space(shell_reader *in, plait_error *err);

/** From the < or > at the cursor; where a file is written to is kept. */
PLAIT_MUST_CHECK plait_status shell_read_redirection(shell_reader *in, plait_error *err);

/** Length of the NAME of an assignment at the cursor, or 0; and the assignment itself. */
size_t shell_assignment_at(const shell_reader *in);
PLAIT_MUST_CHECK plait_status shell_read_assignment(shell_reader *in, size_t length,
                                                    plait_error *err);

/** NAME=TEXT, of a text that has been expanded; `more`: NAME+=TEXT. */
PLAIT_MUST_CHECK plait_status shell_assign_text(shell_reader *in, const char *name, bool more,
                                                const char *text, plait_error *err);

/* ---- export, declare, local ---- */

/** Is a word `export` or one of its like, whose words are assignments? */
bool shell_declares(const char *word);

/** Before NAME=VALUE among the words of one: what that makes of the variable. */
PLAIT_MUST_CHECK plait_status shell_declare_name(shell_reader *in, const shell_list *words,
                                                 const char *name, plait_error *err);

/** Its words that were expanded before they could be assignments: export "$NAME=$VALUE". */
PLAIT_MUST_CHECK plait_status shell_declare_words(shell_reader *in, const shell_list *words,
                                                  plait_error *err);

/* ---- what comes from outside ---- */

/** `source FILE` */
PLAIT_MUST_CHECK plait_status shell_source(shell_reader *in, const shell_list *words,
                                           plait_error *err);

/** `read NAME ..`, `mapfile NAME`, `getopts NAME`, `printf -v NAME`: words from `first` on. */
PLAIT_MUST_CHECK plait_status shell_take_input(shell_reader *in, const shell_list *words, int first,
                                               plait_error *err);

/* ---- how a command ended ---- */

void shell_end_as(shell_reader *in, shell_answer answer);

/** Of a command that is run: DONE where it hardly fails, else RAN. */
shell_answer shell_program_answer(const char *name);

/** Behind && and ||: is the second part skipped surely; how is it read; what do both answer? */
bool shell_passes(char sign, shell_answer first);
shell_mode shell_linked_mode(const shell_reader *in, char sign);
void shell_end_linked(shell_reader *in, char sign, shell_answer first);

/** Behind a !, and of a block that ends. */
void shell_turn(shell_reader *in);
void shell_end_block(shell_reader *in, const shell_frame *frame);

/** `return`, `return 1` */
void shell_return_as(shell_reader *in, const shell_list *words);

/* ---- blocks ---- */

PLAIT_MUST_CHECK plait_status shell_push(shell_reader *in, shell_block block, plait_error *err);

/** The innermost block, if it is of that kind, else NULL; pop it. */
shell_frame *shell_top(shell_reader *in, shell_block block);
void shell_pop(shell_reader *in, shell_block block);

/** How the next branch is read, whose condition has an answer; and what is between branches. */
void shell_enter_branch(shell_reader *in, shell_frame *frame, shell_answer answer);
void shell_leave_branch(shell_reader *in, const shell_frame *frame);

/** Behind `case`, and a pattern of it. */
PLAIT_MUST_CHECK plait_status shell_begin_case(shell_reader *in, plait_error *err);
PLAIT_MUST_CHECK plait_status shell_read_pattern(shell_reader *in, plait_error *err);

/** How what is not run is read: skipped, but in a survey. */
shell_mode shell_skipped(const shell_reader *in);

/** Behind `for` or `select` (`asks`), which begins at `from`; behind `while` or `until`; at `do`; at `done`. */
PLAIT_MUST_CHECK plait_status shell_begin_for(shell_reader *in, const char *from, bool asks,
                                              plait_error *err);
PLAIT_MUST_CHECK plait_status shell_begin_while(shell_reader *in, bool until, plait_error *err);
void shell_begin_body(shell_reader *in);

/** `break`, `continue`: what is left of a round is in doubt. */
void shell_break(shell_reader *in);
PLAIT_MUST_CHECK plait_status shell_end_loop(shell_reader *in, plait_error *err);

/** At the end of a text: is a loop open in it whose body is read again? */
PLAIT_MUST_CHECK plait_status shell_end_text(shell_reader *in, bool *again, plait_error *err);

/* ---- commands ---- */

/** From the cursor to the end of the text. */
PLAIT_MUST_CHECK plait_status shell_read_commands(shell_reader *in, plait_error *err);

/** A text as commands, here and now; it stands in that line. */
PLAIT_MUST_CHECK plait_status shell_read_nested(shell_reader *in, const char *text, size_t length,
                                                int line, plait_error *err);

/** A command of words that are known: what it sets, reads and calls, else a command that comes out. */
PLAIT_MUST_CHECK plait_status shell_run(shell_reader *in, const shell_list *words,
                                        plait_error *err);

/** How many of a command's first words only say how the next is looked up: `command`, `builtin`. */
int shell_prefix(const shell_list *words);

/** Finds what the last answer hangs on, where it is open: at worst the command itself. */
PLAIT_MUST_CHECK plait_status shell_find_cause(shell_reader *in, plait_error *err);

/** The keyword at the cursor, which is passed, -1: none stands here; and what it opens or closes. */
int shell_keyword_at(shell_reader *in);
PLAIT_MUST_CHECK plait_status shell_take_keyword(shell_reader *in, int keyword, plait_error *err);

/* ---- functions ---- */

/** Behind `NAME()`; behind the } of its body. */
PLAIT_MUST_CHECK plait_status shell_begin_function(shell_reader *in, const char *name,
                                                   plait_error *err);
PLAIT_MUST_CHECK plait_status shell_end_function(shell_reader *in, plait_error *err);

/** The one of this name that was declared last; NULL: none. */
const shell_function *shell_function_named(const shell_reader *in, const char *name);

/** `return`: its body ends here, or what is behind hangs on whether it does. */
void shell_return(shell_reader *in);

/** Its body, with all words but the first as $1 and on. */
PLAIT_MUST_CHECK plait_status shell_call_function(shell_reader *in, const shell_function *function,
                                                  const shell_list *words, plait_error *err);

/* ---- conditions and arithmetic ---- */

/** `[ WORDS ]`, or `[[ WORDS ]]` with patterns; in->cause is set where the answer is open. */
shell_answer shell_test(shell_reader *in, const shell_list *words, bool patterns);

/** Does a word match a pattern of *, ?, [...] and letters? Both are known. */
shell_answer shell_matches(const shell_reader *in, const char *pattern, const char *word);

/** The value of [text, text + length), expanded; false when it is not known. */
bool shell_arithmetic(shell_reader *in, const char *text, size_t length, int64_t *out);
