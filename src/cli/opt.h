/* opt.h - the options of a command, said once
 *
 * Each command has one table of options. Parsing, --help and the shell completion follow from
 * it, and a test holds the man page to it. A value lands in a field of the command's own struct:
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
#include "plait/job.h"

typedef enum opt_kind {
    OPT_LAST,   /* ends the table */
    OPT_GROUP,  /* a heading in --help */
    OPT_KEYS,   /* an option for each key of a plan: const char *[PLAIT_KEYS] */
    OPT_FLAG,   /* bool */
    OPT_COMMON, /* bool of opt_operands: what every command takes */
    OPT_INT,    /* int within [min, max]; the field stays as it is when not given */
    OPT_TEXT,   /* const char *; when given twice, the last counts */
    OPT_LIST    /* const char *; when given twice, joined by a comma in `arena` */
} opt_kind;

/**
 * What a value may be, for the shell and for {words} in a help: words, or the names of a kind of
 * data.
 */
typedef struct opt_offer {
    const char *const *words;           /* NULL-terminated, or NULL */
    const char *const *(*listed)(void); /* the same, of who knows them */
    int names;                          /* 1 + plait_data_kind; 0: none */
} opt_offer;

#define OPT_WORDS(list)                                                                            \
    {                                                                                              \
        .words = list                                                                              \
    }
#define OPT_LISTED(function)                                                                       \
    {                                                                                              \
        .listed = function                                                                         \
    }
#define OPT_NAMES(kind)                                                                            \
    {                                                                                              \
        .names = 1 + (kind)                                                                        \
    }

typedef struct opt {
    opt_kind kind;
    const char *name;  /* without its hyphens */
    char letter;       /* 0: none */
    const char *value; /* what --help calls its value; NULL for a flag */
    size_t offset;     /* of its field in the command's values */
    int min;
    int max;
    bool tokens; /* of a sequence, whose k is 1024; else a thousand */
    opt_offer offer;
    const char *help;
} opt;

/* Rows of a table: the struct that values land in and the field of it come first. */
#define OPT_HEADING(text)                                                                          \
    {                                                                                              \
        .kind = OPT_GROUP, .name = text                                                            \
    }
#define OPT_ROW(kind_, values, field, name_, ...)                                                  \
    {                                                                                              \
        .kind = kind_, .name = name_, .offset = offsetof(values, field), __VA_ARGS__               \
    }
#define OPT_OF_FLAG(values, field, name, help_)                                                    \
    OPT_ROW(OPT_FLAG, values, field, name, .help = help_)
#define OPT_OF_INT(values, field, name, value_, min_, max_, help_)                                 \
    OPT_ROW(OPT_INT, values, field, name, .value = value_, .min = min_, .max = max_, .help = help_)
#define OPT_OF_TOKENS(values, field, name, help_)                                                  \
    OPT_ROW(OPT_INT, values, field, name, .value = "TOKENS", .min = 1, .max = PLAIT_MAX_SEQ,       \
            .tokens = true, .help = help_)
#define OPT_OF_TEXT(values, field, name, letter_, value_, help_)                                   \
    OPT_ROW(OPT_TEXT, values, field, name, .letter = letter_, .value = value_, .help = help_)
#define OPT_OF_WORD(values, field, name, value_, offer_, help_)                                    \
    OPT_ROW(OPT_TEXT, values, field, name, .value = value_, .offer = offer_, .help = help_)
#define OPT_OF_LIST(values, field, name, value_, help_)                                            \
    OPT_ROW(OPT_LIST, values, field, name, .value = value_, .help = help_)
#define OPT_OF_KEYS(values, field) OPT_ROW(OPT_KEYS, values, field, NULL, .help = NULL)
#define OPT_END                                                                                    \
    {                                                                                              \
        .kind = OPT_LAST                                                                           \
    }

enum { OPT_MAX_OPERANDS = 1024, OPT_MAX_OPTIONS = 96 };

/** A table of options with a row for each key where OPT_KEYS stood, and those of every command. */
typedef struct opt_table {
    opt row[OPT_MAX_OPTIONS];
    char flag[PLAIT_KEYS][24]; /* "cp-comm" */
} opt_table;

/** Spell out a table. */
void opt_spell_out(const opt *options, opt_table *out);

/** How a command is called. */
typedef struct opt_usage {
    const char *command;
    const char *synopsis; /* "MODEL CLUSTER --seq S --gbs B [options]" */
    const char *summary;  /* one line */
    const char *about;    /* more lines for --help, or "" */
    int max_operands;
    opt_offer operand[2]; /* of the first two */
    const opt *options;
} opt_usage;

/** What stood on a command line besides options. */
typedef struct opt_operands {
    int count;
    const char *text[OPT_MAX_OPERANDS];
    const char *line; /* the command as a shell reads it, but for what changes no answer */
    bool wide;        /* tables with all columns, however narrow the terminal */
    bool help;        /* --help was asked for; the rest may be missing */
} opt_operands;

/**
 * Parse a command line.
 *
 * @param argv    as of main, from the verb on; texts are kept where they stand
 * @param values  the command's struct, with its defaults
 */
PLAIT_MUST_CHECK plait_status opt_parse(const opt_usage *usage, int argc, const char **argv,
                                        plait_arena *arena, void *values, opt_operands *operands,
                                        plait_error *err);

/** The words of an offer; NULL: it has none, or names of data. */
const char *const *opt_words(const opt_offer *offer);

enum { OPT_HELP_SIZE = 512 };

/** Write the help of an option; its words replace {words}. */
void opt_spell_words(const opt *option, char *text, size_t size);

/** The option that replaces one of an earlier version, with the new values; NULL for other names. */
const char *opt_replacement(const char *name);

/** What `plait COMMAND --help` prints. */
void opt_help(const opt_usage *usage, FILE *out);

/**
 * What `plait --complete COMMAND` prints, for completions/plait.bash: a line for each option and for
 * each of the first operands, "--cp-comm", "HOW" and "p2p allgather a2a" between tabs. What takes
 * no value has none, and what is no word leaves the last column empty.
 */
PLAIT_MUST_CHECK plait_status opt_complete(const opt_usage *usage, plait_arena *arena, FILE *out,
                                           plait_error *err);
