/* opt.h - the options of a command, said once
 *
 * Each command has one table of options. Parsing and --help follow from it, and tests hold the man
 * page and the shell completion to it. A value lands in a field of the command's own struct:
 *
 *     typedef struct models_values { int seq; bool json; } models_values;
 *
 *     static const opt options[] = {
 *         OPT_OF_INT(models_values, seq, "seq", "TOKENS", 1, INT_MAX, "tokens of one sequence"),
 *         OPT_OF_FLAG(models_values, json, "json", "one JSON document"),
 *         OPT_END,
 *     };
 */
#ifndef OPT_H
#define OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "plait/arena.h"
#include "plait/degrees.h"
#include "plait/error.h"

typedef enum opt_kind {
    OPT_LAST,  /* ends the table */
    OPT_GROUP, /* a heading in --help */
    OPT_KEYS,  /* an option for each key of a plan: const char *[PLAIT_KEYS] */
    OPT_FLAG,  /* bool */
    OPT_INT,   /* int within [min, max]; the field stays as it is when not given */
    OPT_TEXT,  /* const char *; when given twice, the last counts */
    OPT_LIST   /* const char *; when given twice, joined by a comma */
} opt_kind;

typedef struct opt {
    opt_kind kind;
    const char *name;  /* without its hyphens */
    char letter;       /* 0: none */
    const char *value; /* what --help calls its value; NULL for a flag */
    size_t offset;     /* of its field in the command's values */
    int min;
    int max;
    const char *help;
} opt;

/* Rows of a table: the struct that values land in and the field of it come first. */
#define OPT_HEADING(text)                                                                          \
    {                                                                                              \
        OPT_GROUP, text, 0, NULL, 0, 0, 0, NULL                                                    \
    }
#define OPT_OF_FLAG(values, field, name, help)                                                     \
    {                                                                                              \
        OPT_FLAG, name, 0, NULL, offsetof(values, field), 0, 0, help                               \
    }
#define OPT_OF_INT(values, field, name, value, min, max, help)                                     \
    {                                                                                              \
        OPT_INT, name, 0, value, offsetof(values, field), min, max, help                           \
    }
#define OPT_OF_TEXT(values, field, name, letter, value, help)                                      \
    {                                                                                              \
        OPT_TEXT, name, letter, value, offsetof(values, field), 0, 0, help                         \
    }
#define OPT_OF_LIST(values, field, name, value, help)                                              \
    {                                                                                              \
        OPT_LIST, name, 0, value, offsetof(values, field), 0, 0, help                              \
    }
#define OPT_OF_KEYS(values, field)                                                                 \
    {                                                                                              \
        OPT_KEYS, NULL, 0, NULL, offsetof(values, field), 0, 0, NULL                               \
    }
#define OPT_END                                                                                    \
    {                                                                                              \
        OPT_LAST, NULL, 0, NULL, 0, 0, 0, NULL                                                     \
    }

enum { OPT_MAX_OPERANDS = 64, OPT_MAX_OPTIONS = 64 };

/** A table of options with a row for each key where OPT_KEYS stood. */
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
    const opt *options;
} opt_usage;

/** What stood on a command line besides options. */
typedef struct opt_operands {
    int count;
    const char *text[OPT_MAX_OPERANDS];
    bool help; /* --help was asked for; the rest may be missing */
} opt_operands;

/**
 * Parse a command line.
 *
 * @param argv    as of main, from the verb on
 * @param values  the command's struct, with its defaults; texts live in `arena`
 */
PLAIT_MUST_CHECK plait_status opt_parse(const opt_usage *usage, int argc, const char **argv,
                                        plait_arena *arena, void *values, opt_operands *operands,
                                        plait_error *err);

/** What `plait COMMAND --help` prints. */
void opt_help(const opt_usage *usage, FILE *out);

#endif
