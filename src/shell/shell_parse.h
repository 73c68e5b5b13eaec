/* shell_parse.h - parses a shell script to a tree of commands, whose words are not expanded yet
 *
 *     if [ -d x ]; then A=1; fi       IF    test: SIMPLE [ -d x ]     body: SIMPLE A=1
 *     make && run --a 1 | tee log     CHAIN body: SIMPLE make, then, with sign &,
 *                                     PIPE  body: SIMPLE run --a 1, SIMPLE tee log
 *
 * The parser is lenient. The end of the text closes all open commands. The parser skips a closing
 * keyword without an opening one, and ignores quotes when it counts brackets inside an expansion.
 *
 * A failure jumps back (longjmp) to shell_read() with a status and a message, so the functions of
 * this folder return neither errors nor NULL. All memory is in the arena, so the jump leaks no
 * memory.
 */
#ifndef SHELL_PARSE_H
#define SHELL_PARSE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "plait/arena.h"
#include "plait/error.h"

enum { SHELL_MAX_BYTES = 1 << 22 };

typedef struct shell_context {
    const char *name; /* file name, for error messages */
    int line;         /* line of the current command */
    size_t spent;     /* work done, in bytes and steps, at most SHELL_MAX_BYTES */
    plait_arena *arena;
    jmp_buf failed;
    plait_status status; /* status of a failure */
    plait_error *err;
} shell_context;

/** A slice of a script. */
typedef struct shell_text {
    const char *at;
    size_t length;
} shell_text;

shell_text shell_text_of(const char *word);

/** Jumps back with status SYNTAX and the message "expected a valid shell script, found FOUND". */
_Noreturn void shell_fail(shell_context *c, const char *found);
/** Jumps back with status NOMEM. */
_Noreturn void shell_fail_nomem(shell_context *c);

/** Adds to c->spent work that a hostile script could multiply. Fails above SHELL_MAX_BYTES. */
void shell_spend(shell_context *c, size_t cost);

void *shell_alloc(shell_context *c, size_t count, size_t size);

/** Returns the list with space for one more element, like grow_by_one(). */
void *shell_grow(shell_context *c, void *list, int count, int *capacity, size_t size);

/** These functions return texts in the arena. */
char *shell_copy(shell_context *c, shell_text text);
char *shell_concat(shell_context *c, const char *a, const char *b, const char *d);
char *shell_finish(shell_context *c, text_builder *text);

typedef enum shell_node_kind {
    SHELL_SIMPLE,     /* words, the first `assignments` of them NAME=VALUE; target, here */
    SHELL_CONDITION,  /* words: inside [[ ]], with operators */
    SHELL_ARITHMETIC, /* words: one, the text inside (( )) */
    SHELL_CHAIN,      /* body: commands joined by && and || */
    SHELL_PIPE,       /* body: commands joined by | */
    SHELL_IF,         /* test, body, otherwise: a list, or the IF of an elif */
    SHELL_FOR,        /* words: NAME, in, values; body. For ((A; B; C)): one word, its inside */
    SHELL_WHILE,      /* test, body */
    SHELL_UNTIL,
    SHELL_CASE,   /* words: the subject; body: branches */
    SHELL_BRANCH, /* words: patterns; body */
    SHELL_GROUP,  /* body */
    SHELL_SUBSHELL,
    SHELL_FUNCTION /* words: its name; body */
} shell_node_kind;

/** A command. shell_node_kind describes the fields that each kind of command uses. */
typedef struct shell_node {
    shell_node_kind kind;
    int line;
    shell_text text;         /* text of the command up to the next operator; of a loop, its head */
    struct shell_node *next; /* the next command of the same list */
    struct shell_node *test, *body, *otherwise;
    shell_text *word;
    int words, word_capacity, assignments;
    char sign; /* operator before the command in a chain: & for &&, | for || */
    bool negated, background, select;
    bool apart;     /* subshell, pipe or background command, whose variables are discarded */
    bool counts;    /* whether it is a FOR with ((A; B; C)) */
    bool undecided; /* BRANCH with a pattern such as @(a|b), or after ;& */
    bool has_here, here_quoted;
    shell_text here;   /* text of the here-document */
    shell_text target; /* file after the last >; empty: none */
} shell_node;

/** Parses a text that begins in line c->line. Returns the first command; NULL: there is none. */
shell_node *shell_parse(shell_text text, shell_context *c);

/* ---- where words and brackets end: each function takes a position before `end` ---- */

bool shell_is_name(char c);
bool shell_at_operator(const char *at); /* ; & | ( ) < > */
bool shell_begins(const char *at, const char *end, const char *with);

/** Return the position after the bracket or backtick that closes the one before `at`. */
const char *shell_skip_close(const char *at, const char *end, char open, char close);
const char *shell_skip_backtick(const char *at, const char *end);

/**
 * Returns the end of a word, at a blank or an operator. Sets *open to a quote that is not closed.
 */
const char *shell_skip_word(const char *at, const char *end, const char **open);

/** Return the position after blanks; shell_skip_lines() also skips line breaks and comments. */
const char *shell_skip_blanks(const char *at, const char *end);
const char *shell_skip_lines(const char *at, const char *end);

/** Returns the length of NAME in a text that begins with NAME=, NAME+= or NAME[INDEX]=; else 0. */
size_t shell_assignment_length(shell_text text);

/** Returns whether a word is `export`, `declare` or another builtin that assigns its arguments. */
bool shell_is_declaration(shell_text word);

#endif
