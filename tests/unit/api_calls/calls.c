/* calls.c - a call of each public function that can fail, with the arguments of call_world */
#include "unit/api_calls/calls.h"

#include <string.h>

#include "costmodel/api.h"
#include "io/file.h"
#include "plait/data.h"

/* The text argument of a call, or NULL if a bad input removed it. */
static const char *text_or_null(const call_world *w, const char *words)
{
    return w->text != NULL ? words : NULL;
}

/* The text of a file, in the world's arena. */
static const char *text_of(const call_world *w, const char *path, size_t *length)
{
    const char *text = NULL;

    *length = 0;
    if (w->text == NULL || file_read_all(path, 1 << 24, w->arena, &text, length, NULL) != PLAIT_OK)
        return NULL;
    return text;
}

/* Reports an infeasible verdict as an error with its reason. */
static plait_status verdict(plait_verdict found, const char *why, plait_error *err)
{
    return found == PLAIT_FITS ? PLAIT_OK
                               : plait_fail(err, PLAIT_ERROR_RANGE, "verdict", "%s", why);
}

/* The problem of call_world, which is for one number of GPUs. */
static plait_status same_question(void *context, int gpus, int gbs, plait_arena *arena,
                                  plait_problem *out, plait_error *err)
{
    const call_world *const w = context;

    (void)gpus, (void)gbs, (void)arena, (void)err;
    *out = w->problem;
    return PLAIT_OK;
}

/* API_CALL(function, what it takes, how it is called) */
#define API_CALL(function, of, ...)                                                                \
    static plait_status call_##function(call_world *w, plait_error *err)                           \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#include "calls.def"
#undef API_CALL

#define API_CALL(function, of, ...) {#function, call_##function, of},
const api_call api_calls[] = {
#include "calls.def"
};
#undef API_CALL

const size_t api_calls_count = sizeof api_calls / sizeof *api_calls;
