/*
 * error.h - the errors that functions of plait return
 *
 * A function that can fail returns a `plait_status` and takes a `plait_error *err` last, which may
 * be NULL. On failure it fills `err` by value, so there is nothing to free:
 *
 *     plait_error err;
 *     if (plait_model_load("models/gpt3-175b.json", arena, &model, &err) != PLAIT_OK)
 *         fprintf(stderr, "%s: %s\n", err.where, err.message);
 *
 * Invalid input and failures of the system are errors. A plan that does not fit is a result, not an
 * error, and has a verdict (plan.h). A call with arguments that a function's comment excludes is a
 * failed assert.
 */
#ifndef PLAIT_ERROR_H
#define PLAIT_ERROR_H

#include <stdbool.h>

#define PLAIT_MUST_CHECK __attribute__((warn_unused_result))
#define PLAIT_PRINTF(fmt_index, first) __attribute__((format(printf, fmt_index, first)))

/**
 * These enclose the declarations of each public header, which the library exports with C linkage;
 * all other symbols are hidden.
 */
#ifdef __cplusplus
#define PLAIT_BEGIN_DECLS                                                                          \
    _Pragma("GCC visibility push(default)") extern "C"                                             \
    {
#define PLAIT_END_DECLS                                                                            \
    }                                                                                              \
    _Pragma("GCC visibility pop")
#else
#define PLAIT_BEGIN_DECLS _Pragma("GCC visibility push(default)")
#define PLAIT_END_DECLS _Pragma("GCC visibility pop")
#endif
PLAIT_BEGIN_DECLS

typedef enum plait_status {
    PLAIT_OK = 0,
    PLAIT_ERROR_IO,     /* a file cannot be read or written */
    PLAIT_ERROR_SYNTAX, /* the text is not JSON or CSV */
    PLAIT_ERROR_SCHEMA, /* well formed, but a key is missing, unknown or of a wrong type */
    PLAIT_ERROR_RANGE,  /* the right type, but an invalid value, such as 0 GPUs */
    PLAIT_ERROR_NOMEM,
    PLAIT_ERROR_DISK /* the disk is full or fails, or too many files are open */
} plait_status;

typedef struct plait_error {
    plait_status status;
    char where[256];   /* "clusters/dgx-h100.json:/links/1/bandwidth_gb_per_s"; may be empty */
    char message[256]; /* "expected a positive number, found -8" */
} plait_error;

/** Return the status of `call` to the caller if it failed. */
#define PLAIT_TRY(call)                                                                            \
    do {                                                                                           \
        const plait_status plait_try_status = (call);                                              \
        if (plait_try_status != PLAIT_OK)                                                          \
            return plait_try_status;                                                               \
    } while (0)

/**
 * Fill `err`, unless it is NULL, and return `status`, so that a failure is one statement:
 *
 *     return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus", "expected at least 1, found %d", gpus);
 *
 * Long text is truncated between two characters. Control characters become '?', since a message may
 * quote arbitrary bytes of a file. `where` may be NULL.
 */
plait_status plait_fail(plait_error *err, plait_status status, const char *where, const char *fmt,
                        ...) PLAIT_MUST_CHECK PLAIT_PRINTF(4, 5);

/** Fill `err` for a failed allocation and return PLAIT_ERROR_NOMEM. */
plait_status plait_fail_nomem(plait_error *err) PLAIT_MUST_CHECK;

/** Return PLAIT_OK if `allocated`, else plait_fail_nomem(err); for use with PLAIT_TRY. */
PLAIT_MUST_CHECK
static inline plait_status plait_check_allocated(bool allocated, plait_error *err)
{
    return allocated ? PLAIT_OK : plait_fail_nomem(err);
}

PLAIT_END_DECLS

#endif
