/* status.h - faults of the machine, as opposed to errors of the input */
#pragma once

#include <stdbool.h>

#include "plait/error.h"

/** Returns whether a status is a lack of memory or a fault of the disk. */
static inline bool is_fault(plait_status status)
{
    return status == PLAIT_ERROR_NOMEM || status == PLAIT_ERROR_DISK;
}

/**
 * Returns a fault unchanged, and OK for any other status. It wraps calls whose other failures are
 * valid results, such as that a name does not exist or a file has another kind.
 *
 *     PLAIT_TRY(faults_only(plait_model_find(name, arena, &model, NULL, &inner), &inner, err));
 */
PLAIT_MUST_CHECK static inline plait_status faults_only(plait_status status,
                                                        const plait_error *inner, plait_error *err)
{
    if (!is_fault(status))
        return PLAIT_OK;
    return plait_fail(err, status, inner->where, "%s", inner->message);
}
