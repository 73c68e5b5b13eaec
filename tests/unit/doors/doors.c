/* doors.c - each public function that can fail, entered with the world's question */
#include "unit/doors/doors.h"

#include <string.h>

#include "costmodel/api.h"
#include "io/file.h"
#include "plait/data.h"

/* The words that a door reads, or none. */
static const char *said(const door_world *w, const char *words)
{
    return w->text != NULL ? words : NULL;
}

/* The text of a file, in the world's arena. */
static const char *text_of(const door_world *w, const char *path, size_t *length)
{
    const char *text = NULL;

    *length = 0;
    if (w->text == NULL || file_read_all(path, 1 << 24, w->arena, &text, length, NULL) != PLAIT_OK)
        return NULL;
    return text;
}

/* A verdict of no is a failure of the door, with the reason. */
static plait_status verdict(plait_verdict found, const char *why, plait_error *err)
{
    return found == PLAIT_FITS ? PLAIT_OK
                               : plait_fail(err, PLAIT_ERROR_RANGE, "verdict", "%s", why);
}

/* The world's own question, of the one number of GPUs that it is about. */
static plait_status same_question(void *context, int gpus, int gbs, plait_arena *arena,
                                  plait_problem *out, plait_error *err)
{
    const door_world *const w = context;

    (void)gpus, (void)gbs, (void)arena, (void)err;
    *out = w->problem;
    return PLAIT_OK;
}

/* DOOR(function, what it takes, how it is called) */
#define DOOR(function, of, ...)                                                                    \
    static plait_status enter_##function(door_world *w, plait_error *err)                          \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#include "doors.def"
#undef DOOR

#define DOOR(function, of, ...) {#function, enter_##function, of},
const door doors[] = {
#include "doors.def"
};
#undef DOOR

const size_t doors_count = sizeof doors / sizeof *doors;
