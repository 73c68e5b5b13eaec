/* arguments.h - Megatron-LM's arguments as values of a struct, and as flags
 *
 * Out: a model and a plan become arguments, and arguments flags.
 *
 *     PLAIT_TRY(megatron_args_of(problem, plan, arena, &args, err));
 *     megatron_args_append(&args, &list);
 *
 * In: flags of a script become arguments, and these a plan and a model (import_parts.h).
 *
 *     megatron_args_init(&args);
 *     PLAIT_TRY(megatron_args_parse(&flags, &args, err));
 *
 * argument_list.h alone has their names, kinds and defaults. Arguments that neither way uses are left out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "launch/read/flags.h"
#include "launch/write/args.h"

/**
 * Fields have the names under which Megatron's parser stores them. A field without a value is 0, a double NaN, a
 * text NULL; sizes are tokens, layers, or elements.
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
    int core; /* N of Megatron Core 0.N, whose arguments are written; INT_MAX: the newest */
} megatron_args;

/** A field, for functions that take any of them. */
#define MEGATRON_FIELD(field) offsetof(megatron_args, field)

/** What Megatron calls a field, for messages. */
#define MEGATRON_NAME(field) megatron_args_name(MEGATRON_FIELD(field))
const char *megatron_args_name(size_t field);

/** All arguments as Megatron has them when none is given. */
void megatron_args_init(megatron_args *args);

/** Append what is to be said, in groups; memory that runs out shows as args.h has it. */
void megatron_args_append(const megatron_args *args, launch_args *out);

/** Is a field to be said? */
bool megatron_args_says(const megatron_args *args, size_t field);

/** The first release, N of Megatron Core 0.N.0, that knows all that is to be said; 0: not known. */
int megatron_args_since(const megatron_args *args);

/** Fails (RANGE) on an argument that args->core does not have and the plan or the model cannot do without. */
PLAIT_MUST_CHECK plait_status megatron_args_check(const megatron_args *args, plait_error *err);

/**
 * Read flags. What they do not give stays as it is; flags that plait has no use for are skipped.
 *
 * @param out  its texts live in flags->arena
 *
 * Fails (RANGE) on a value of another kind than its argument's, or beyond its bounds; but for those
 * that no plan hangs on, which then stay as they are too.
 */
PLAIT_MUST_CHECK plait_status megatron_args_parse(const launch_flags *flags, megatron_args *out,
                                                  plait_error *err);

typedef enum argument_kind {
    ARGUMENT_SWITCH, /* a bool */
    ARGUMENT_INT,
    ARGUMENT_NUMBER, /* a double */
    ARGUMENT_WHOLE,  /* a double that the parser takes neither with a point nor an exponent */
    ARGUMENT_WORD,   /* a text; of several words the first */
    ARGUMENT_WORDS,  /* a text, a blank between its words */
    ARGUMENT_LIST    /* a text: every how many layers, "2", or one a layer, "([0]*3+[1]*58)" */
} argument_kind;

typedef struct argument_row {
    const char *name; /* "num_layers": of the field, in parsed arguments, and of the flag, ... */
    const char *flag; /* ... unless it has another: "fp8_format". That of a switch turns it off */
    const char *also; /* a name of other releases, which is read */
    argument_kind kind;
    size_t field;       /* offset in megatron_args */
    const char *absent; /* the default, as one would give it; NULL: none */
    int since;          /* N of Megatron Core 0.N.0, which has the flag; 0: no release has it */
    int least, most;    /* of an int on its way in */
    size_t with;       /* said where this field is not at its default, even if itself is; 0: none */
    bool placeholder;  /* no plan hangs on it: what a script has there is not judged */
    bool optional;     /* releases before `since` do without it, or have another for it */
    bool unpriced;     /* it changes what a step costs, and plait has no term for it */
    const char *group; /* the title of the arguments from here on */
} argument_row;

/** As argument_row.with: always said. */
#define ARGUMENT_ALWAYS SIZE_MAX

/** Ended by a row without a name. */
extern const argument_row megatron_arguments[];

/** The row of a field. */
const argument_row *megatron_argument(size_t field);

/**
 * Set a field to what a text says.
 *
 * @param text  the field may point into it
 * @return      false when it is of another kind or out of bounds; the field stays as it is
 */
bool megatron_argument_set(const argument_row *row, const char *text, megatron_args *args);

/** Have two launches the same value? */
bool megatron_argument_same(const argument_row *row, const megatron_args *a,
                            const megatron_args *b);
