/* runtime_private.h - what the parts of the runtime reader share */
#ifndef RUNTIME_PRIVATE_H
#define RUNTIME_PRIVATE_H

#include "plait/runtime.h"

#include "json.h"

/** Reads "can": the plan space that the software can express. */
plait_status runtime_read_capabilities(const json_cursor *at, plait_capabilities *out,
                                       plait_error *err) PLAIT_MUST_CHECK;

/** Reads a whole profile or a variant. */
plait_status runtime_read(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                          plait_error *err) PLAIT_MUST_CHECK;

#endif
