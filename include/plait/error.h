/* error.h - how every function of plait that can fail says so
 *
 * A function that can fail returns a `plait_status` and takes a `plait_error *err` last, which may
 * be NULL. On failure it fills `err` by value, so there is nothing to free:
 *
 *     plait_error err;
 *     if (plait_model_load("models/gpt3-175b.json", arena, &model, &err) != PLAIT_OK)
 *         fprintf(stderr, "%s: %s\n", err.where, err.message);
 *
 * Bad input and a broken world are errors. A plan that does not fit is an answer, not an error, and
 * has its own type; a call against its contract is a failed assert.
 */
#ifndef PLAIT_ERROR_H
#define PLAIT_ERROR_H

#define PLAIT_MUST_CHECK __attribute__((warn_unused_result))
#define PLAIT_PRINTF(fmt_index, first) __attribute__((format(printf, fmt_index, first)))

/** Around the declarations of each public header: the symbols that a library exports, in C. */
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
    PLAIT_ERROR_SYNTAX, /* not JSON, not CSV */
    PLAIT_ERROR_SCHEMA, /* well formed, but a key is missing, unknown or of another type */
    PLAIT_ERROR_RANGE,  /* the right type, but no sensible value: 0 GPUs */
    PLAIT_ERROR_NOMEM,
    PLAIT_ERROR_DISK /* a disk that is full or fails, too many open files: nobody's mistake */
} plait_status;

typedef struct plait_error {
    plait_status status;
    char where[256];   /* "clusters/dgx-h100.json:/links/1/bandwidth_gb_per_s"; may be empty */
    char message[256]; /* "expected a positive number, found -8" */
} plait_error;

/** Passes a failure of `call` on to the caller. */
#define PLAIT_TRY(call)                                                                            \
    do {                                                                                           \
        const plait_status plait_try_status = (call);                                              \
        if (plait_try_status != PLAIT_OK)                                                          \
            return plait_try_status;                                                               \
    } while (0)

/**
 * Fills `err`, unless it is NULL, and returns `status`, so that a failure is one statement:
 *
 *     return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus", "expected at least 1, found %d", gpus);
 *
 * Text that is too long is cut, between two characters; control characters become '?', since a
 * message quotes files that may hold anything. `where` may be NULL.
 */
plait_status plait_fail(plait_error *err, plait_status status, const char *where, const char *fmt,
                        ...) PLAIT_MUST_CHECK PLAIT_PRINTF(4, 5);

/** The failure that every allocation may end in. */
plait_status plait_fail_nomem(plait_error *err) PLAIT_MUST_CHECK;

PLAIT_END_DECLS

#endif
