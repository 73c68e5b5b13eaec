/* argument_table.h - how Megatron-LM spells its arguments: a row each, for both ways
 *
 * Names, kinds and defaults are those of NVIDIA/Megatron-LM d98e8a6 (2026-08-22). `since` is the
 * first release whose parser has the flag, of Megatron Core 0.4.0 to 0.19.0; what 0.4.0 has may be
 * older.
 */
#pragma once

#include <stdint.h>

#include "launch/megatron/arguments.h"

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
