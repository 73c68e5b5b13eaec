/* must.h - calls that a test only prepares with, and that must not fail */
#pragma once

#include "support/assert_near.h"
#include "plait/error.h"

/** Fails the test with the error's place and message unless the status is PLAIT_OK. */
static inline void must(plait_status status, const plait_error *err)
{
    if (status != PLAIT_OK)
        fail_msg("%s: %s", err->where, err->message);
}
