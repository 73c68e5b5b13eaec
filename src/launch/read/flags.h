/* flags.h - options on their way in: out of a script or of a JSON of parsed arguments
 *
 * A flag is known by its destination, as argparse calls it: `--num-layers 32` and
 * {"num_layers": 32} are the same. A switch has the value "true".
 */
#ifndef FLAGS_H
#define FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

typedef struct launch_flag {
    const char *name; /* the destination */
    int values;
    const char *const *value;
} launch_flag;

typedef struct launch_flags {
    const char *file; /* for messages */
    plait_arena *arena;
    int count;
    int capacity;
    launch_flag *flag;
    const char *unknown; /* an expansion that could not be followed; NULL: none */
} launch_flags;

/**
 * Read a script, or a JSON object when the text begins with '{'.
 *
 * @param out  lives in `arena`; the last of several equal flags counts
 */
PLAIT_MUST_CHECK plait_status flags_read(const char *text, size_t length, const char *file,
                                         plait_arena *arena, launch_flags *out, plait_error *err);

/** A flag, or NULL; one whose value could not be known is none. */
const launch_flag *flags_find(const launch_flags *flags, const char *name);

/** Fails (RANGE) at a flag. */
PLAIT_MUST_CHECK plait_status flags_fail(const launch_flags *flags, const char *name,
                                         plait_error *err, const char *fmt, ...) PLAIT_PRINTF(4, 5);

#endif
