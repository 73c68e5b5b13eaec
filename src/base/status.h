/* status.h - what the machine did, told apart from what was found */
#pragma once

#include <stdbool.h>

#include "plait/error.h"

/** What no input explains. */
static inline bool is_fault(plait_status status)
{
    return status == PLAIT_ERROR_NOMEM || status == PLAIT_ERROR_DISK;
}

/**
 * Of a call whose failure is an answer (the name is none, the file is of another kind), passes on
 * only what no input explains: no memory, a broken disk. Without it such a failure looks like "no".
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
