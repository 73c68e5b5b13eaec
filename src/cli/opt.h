/*
 * opt.h - the table of options of a command
 *
 * Each command has one table of options, from which its parser, --help, completion and manual are
 * made. A value is stored in a field of the command's own struct:
 *
 *     typedef struct models_values { int seq; bool json; } models_values;
 *
 *     static const opt options[] = {
 *         OPT_OF_TOKENS(models_values, seq, "seq", "tokens of one sequence"),
 *         OPT_OF_FLAG(models_values, json, "json", "one JSON document"),
 *         OPT_END,
 *     };
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "plait/arena.h"
#include "plait/degrees.h"
#include "plait/error.h"
#include "plait/problem.h"

typedef enum opt_kind {
    OPT_LAST,   /* end of the table */
    OPT_GROUP,  /* heading in --help */
    OPT_KEYS,   /* one option per key of a plan: const char *[PLAIT_KEYS] */
    OPT_FLAG,   /* bool */
    OPT_COMMON, /* bool in opt_operands, for an option that all commands have */
    OPT_INT,    /* int within [min, max] */
    OPT_TEXT,   /* const char *; if given several times, the last one is used */
    OPT_LIST    /* const char *; if given several times, joined by commas in `arena` */
} opt_kind;

/**
 * Valid values of an option, which the shell completes and which replace {words} in its help text.
 * At most one member is set; none is set for numbers and free text.
 */
typedef struct opt_offer {
    const char *const *words;           /* list of words, ended by NULL */
    const char *const *(*listed)(void); /* function that returns a list of words */
    int names;                          /* 1 + the plait_data_kind whose names are valid; 0: none */
} opt_offer;

#define OPT_INIT(...)                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define OPT_WORDS(list) OPT_INIT(.words = list)
#define OPT_LISTED(function) OPT_INIT(.listed = function)
#define OPT_NAMES(kind) OPT_INIT(.names = 1 + (kind))

typedef struct opt {
    opt_kind kind;
    const char *name;  /* name without hyphens */
    char letter;       /* short name; 0: none */
    const char *value; /* placeholder in --help, "TOKENS"; NULL for a flag */
    size_t offset;     /* position of the field in the command's values */
    int min;
    int max;
    bool tokens; /* the suffix k means 1024, as for tokens; otherwise 1000 */
    bool writes; /* the value is a file or folder that the command writes */
    opt_offer offer;
    const char *help;
} opt;

/*
 * Rows of a table of options. The first two arguments are the struct of the values and its field.
 */
#define OPT_HEADING(text) OPT_INIT(.kind = OPT_GROUP, .name = text)
#define OPT_ROW(kind_, values, field, name_, ...)                                                  \
    OPT_INIT(.kind = kind_, .name = name_, .offset = offsetof(values, field), __VA_ARGS__)
#define OPT_OF_FLAG(values, field, name, help_)                                                    \
    OPT_ROW(OPT_FLAG, values, field, name, .help = help_)
#define OPT_OF_INT(values, field, name, value_, min_, max_, help_)                                 \
    OPT_ROW(OPT_INT, values, field, name, .value = value_, .min = min_, .max = max_, .help = help_)
#define OPT_OF_TOKENS(values, field, name, help_)                                                  \
    OPT_ROW(OPT_INT, values, field, name, .value = "TOKENS", .min = 1, .max = PLAIT_MAX_SEQ,       \
            .tokens = true, .help = help_)
#define OPT_OF_TEXT(values, field, name, letter_, value_, help_)                                   \
    OPT_ROW(OPT_TEXT, values, field, name, .letter = letter_, .value = value_, .help = help_)
#define OPT_OF_OUTPUT(values, field, name, letter_, value_, help_)                                 \
    OPT_ROW(OPT_TEXT, values, field, name, .letter = letter_, .value = value_, .writes = true,     \
            .help = help_)
#define OPT_OF_WORD(values, field, name, value_, offer_, help_)                                    \
    OPT_ROW(OPT_TEXT, values, field, name, .value = value_, .offer = offer_, .help = help_)
#define OPT_OF_LIST(values, field, name, value_, help_)                                            \
    OPT_ROW(OPT_LIST, values, field, name, .value = value_, .help = help_)
#define OPT_OF_KEYS(values, field) OPT_ROW(OPT_KEYS, values, field, NULL, .help = NULL)
#define OPT_END OPT_INIT(.kind = OPT_LAST)

enum { OPT_MAX_OPERANDS = 1024, OPT_MAX_OPTIONS = 160 };

/**
 * A table in which one row per key replaces OPT_KEYS, followed by the options that all commands
 * have.
 */
typedef struct opt_table {
    opt row[OPT_MAX_OPTIONS];
    char flag[PLAIT_KEYS][24]; /* names of the options of keys, such as "cp-comm" */
} opt_table;

void opt_spell_out(const opt *options, opt_table *out);

typedef struct opt_usage {
    const char *command;
    const char *synopsis; /* "MODEL CLUSTER --seq S --gbs B [options]" */
    const char *summary;  /* description in one line */
    const char *about;    /* further lines for --help, or "" */
    int max_operands;
    opt_offer operand[2]; /* valid values of the first two operands, for completion */
    const opt *options;
} opt_usage;

/** The operands of a command line, and which options it gives. */
typedef struct opt_operands {
    int count;
    const char *text[OPT_MAX_OPERANDS];
    bool given[OPT_MAX_OPTIONS]; /* indexed by row of `table` */
    const opt_table *table;
    const char *line; /* the command in shell syntax, as command_text() returns it */
    bool wide;        /* --wide is given */
    bool help;        /* --help, with which operands may be missing */
} opt_operands;

/**
 * Parse a command line.
 *
 * @param argv    arguments of main from the command on; values point into them
 * @param values  the command's struct with its defaults; fields of options that are not given stay
 *                unchanged
 */
PLAIT_MUST_CHECK plait_status opt_parse(const opt_usage *usage, int argc, const char **argv,
                                        plait_arena *arena, void *values, opt_operands *operands,
                                        plait_error *err);

/**
 * Return the first option of the list `names` that the command line gives; NULL if it gives none.
 */
const char *opt_first_given(const opt_operands *operands, const char *const *names);

/**
 * Fail if the command line gives one of these options; the error has the given message and names
 * the option.
 */
PLAIT_MUST_CHECK plait_status opt_check_none_given(const opt_operands *operands,
                                                   const char *const *names, const char *message,
                                                   plait_error *err);

/** Return the list of words of an offer; NULL for names of data files and for free text. */
const char *const *opt_words(const opt_offer *offer);

enum { OPT_HELP_SIZE = 512 };

/** Write the help text of an option, in which its list of words replaces {words}. */
void opt_spell_words(const opt *option, char *text, size_t size);

/**
 * Return a text that names the replacement of an option of an earlier version; NULL for other
 * names.
 */
const char *opt_replacement(const char *name);

/** Print the text of `plait COMMAND --help`. */
void opt_help(const opt_usage *usage, FILE *out);

/**
 * Print the completions of `plait --complete COMMAND` for completions/plait.bash: one line for each
 * option and for each of the first two operands. A line has three columns separated by tabs, which
 * are the name, the placeholder and the words, as in "--cp-comm", "HOW", "p2p allgather a2a". The
 * last two may be empty.
 */
PLAIT_MUST_CHECK plait_status opt_complete(const opt_usage *usage, plait_arena *arena, FILE *out,
                                           plait_error *err);

/** Print the manual's section on commands in Markdown, for cmake/manual.sh. */
PLAIT_MUST_CHECK plait_status opt_manual(const opt_usage *const *usage, int count,
                                         plait_arena *arena, FILE *out, plait_error *err);
