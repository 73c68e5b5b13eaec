/* bad_inputs.c - the bad inputs of bad_inputs.def as functions, each of which makes one argument invalid */
#include "unit/api_calls/calls.h"

#include <string.h>

#define BAD_INPUT(what, name, change)                                                              \
    static void name(call_world *w)                                                                \
    {                                                                                              \
        change;                                                                                    \
    }
#include "bad_inputs.def"
#undef BAD_INPUT

#define BAD_INPUT(what, name, change)                                                              \
    {#change, what, name, (what) == OF_ARENA ? PLAIT_ERROR_NOMEM : PLAIT_ERROR_RANGE},
const bad_input bad_inputs[] = {
#include "bad_inputs.def"
};
#undef BAD_INPUT

const size_t bad_inputs_count = sizeof bad_inputs / sizeof *bad_inputs;
