/* spoilings.c - one value that there is not, put into what a question is made of */
#include "unit/doors/doors.h"

#include <string.h>

#define SPOIL(what, name, change)                                                                  \
    static void name(door_world *w)                                                                \
    {                                                                                              \
        change;                                                                                    \
    }
#include "spoilings.def"
#undef SPOIL

#define SPOIL(what, name, change)                                                                  \
    {#change, what, name, (what) == OF_ARENA ? PLAIT_ERROR_NOMEM : PLAIT_ERROR_RANGE},
const spoiling spoilings[] = {
#include "spoilings.def"
};
#undef SPOIL

const size_t spoilings_count = sizeof spoilings / sizeof *spoilings;
