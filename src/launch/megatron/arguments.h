/* arguments.h - Megatron-LM's arguments as values of a struct, and as flags
 *
 * Export converts a model and a plan to arguments, and the arguments to flags.
 *
 *     PLAIT_TRY(megatron_args_of(problem, plan, arena, &args, err));
 *     megatron_args_append(&args, &list);
 *
 * Import converts the flags of a script to arguments, and these to a plan and a model (megatron.h).
 *
 *     megatron_args_init(&args);
 *     PLAIT_TRY(megatron_args_parse(&flags, &args, err));
 *
 * Only argument_list.h has the names, kinds and defaults of arguments. It omits arguments that
 * neither export nor import uses.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "launch/read/flags.h"
#include "launch/write/args.h"

/**
 * Fields have the names under which Megatron's parser stores them. A field without a value is 0, or
 * NaN in a double, or NULL in a text; sizes are tokens, layers, or elements.
 */
typedef struct megatron_args {
#define FIELD(type, of, ...) type of;
#define INT(...) FIELD(int, __VA_ARGS__, )
#define NUMBER(...) FIELD(double, __VA_ARGS__, )
#define WHOLE(...) FIELD(double, __VA_ARGS__, )
#define WORD(...) FIELD(const char *, __VA_ARGS__, )
#define WORDS(...) FIELD(const char *, __VA_ARGS__, )
#define LIST(...) FIELD(const char *, __VA_ARGS__, )
#define SWITCH(...) FIELD(bool, __VA_ARGS__, )
#define ON_UNLESS(its_flag, of, ...) bool of;
#include "launch/megatron/argument_list.h"
#undef FIELD
    int core; /* N of the release Megatron Core 0.N to write for; INT_MAX: the newest */
} megatron_args;

/** The offset of a field, for functions that take any field. */
#define MEGATRON_FIELD(field) offsetof(megatron_args, field)

/** Megatron's name of a field, for messages. */
#define MEGATRON_NAME(field) megatron_args_name(MEGATRON_FIELD(field))
const char *megatron_args_name(size_t field);

/** Set all arguments to Megatron's defaults. */
void megatron_args_init(megatron_args *args);

/** Append the arguments that have to be written, in groups. */
void megatron_args_append(const megatron_args *args, launch_args *out);

/** True if a field has to be written. */
bool megatron_args_is_written(const megatron_args *args, size_t field);

/**
 * Returns N of Megatron Core 0.N.0, the first release with all arguments that have to be written;
 * 0: unknown.
 */
int megatron_args_since(const megatron_args *args);

/** Fails (RANGE) on an argument that the plan or the model needs and args->core does not have. */
PLAIT_MUST_CHECK plait_status megatron_args_check(const megatron_args *args, plait_error *err);

/**
 * Read flags. Fields without a flag stay as they are; flags without a field are skipped.
 *
 * @param out  its texts live in flags->arena
 *
 * Fails (RANGE) on a value of another kind than its argument's, or out of bounds. A placeholder
 * keeps its old value instead.
 */
PLAIT_MUST_CHECK plait_status megatron_args_parse(const launch_flags *flags, megatron_args *out,
                                                  plait_error *err);

typedef enum argument_kind {
    ARGUMENT_SWITCH, /* a bool */
    ARGUMENT_INT,
    ARGUMENT_NUMBER, /* a double */
    ARGUMENT_WHOLE,  /* a double that the parser accepts without point and exponent only */
    ARGUMENT_WORD,   /* a text: the first of several words */
    ARGUMENT_WORDS,  /* a text: words with blanks between them */
    ARGUMENT_LIST    /* a text: "2" for every second layer, or one number each, "([0]*3+[1]*58)" */
} argument_kind;

typedef struct argument_row {
    const char *name; /* name of the field, in parsed arguments, and of the flag: "num_layers" */
    const char *flag; /* other name of the flag; on a switch it turns the field off; NULL: none */
    const char *also; /* name in other releases, which is read too; NULL: none */
    argument_kind kind;
    size_t field;       /* offset in megatron_args */
    const char *absent; /* default as text; NULL: none */
    int since;          /* N of Megatron Core 0.N.0, the first release with the flag; 0: none */
    int least, most;    /* bounds of an int that is read */
    size_t with;        /* field that makes this one written even at its default; 0: none */
    bool placeholder;   /* true if no plan depends on the argument, so that any value is accepted */
    bool optional;      /* true if releases before `since` do not need the argument */
    bool unpriced; /* true if the argument changes the cost of a step and plait does not price it */
    const char *group; /* title of the group of arguments that begins here */
} argument_row;

/** A value of argument_row.with: the argument is always written. */
#define ARGUMENT_ALWAYS SIZE_MAX

/** All arguments; the last row has no name. */
extern const argument_row megatron_arguments[];

/**
 * Returns the row whose name, flag, or name in other releases is `name`, written like num_layers;
 * NULL: none.
 */
const argument_row *megatron_argument_named(const char *name);

/** Returns the row of a field. */
const argument_row *megatron_argument(size_t field);

/**
 * Set a field from a text.
 *
 * @param text  the field may point into it
 * @return      false for a text of another kind or out of bounds; the field stays as it is
 */
bool megatron_argument_set(const argument_row *row, const char *text, megatron_args *args);

/** True if both launches have the same value of an argument. */
bool megatron_argument_same(const argument_row *row, const megatron_args *a,
                            const megatron_args *b);
