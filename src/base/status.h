/* status.h - faults of the machine, as opposed to errors of the input */
#pragma once

#include <stdbool.h>

#include "plait/error.h"

/** Whether a status is a lack of memory or a fault of the disk. */
static inline bool is_fault(plait_status status)
{
    return status == PLAIT_ERROR_NOMEM || status == PLAIT_ERROR_DISK;
}

/**
 * Returns only faults. It wraps calls whose other failures are an answer: a name does not exist, a file is of
 * another kind.
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
