/* runtime_private.h - what the parts of the runtime reader share */
#pragma once

#include "plait/runtime.h"

#include "io/json/json.h"

/** Reads "can": the plan space that the software can express. */
plait_status runtime_read_capabilities(const json_cursor *at, plait_capabilities *out,
                                       plait_error *err) PLAIT_MUST_CHECK;

/** The value of a key that has none in a file, of those that the software can take. */
int runtime_fallback(const plait_key *row, unsigned takes);

/** Reads "since": which release brought which value. The releases are read already. */
plait_status runtime_read_since(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Takes what came after the release `at` out of what the software can. */
void runtime_bound(plait_runtime *runtime, const plait_release *at);

/** Reads a whole profile or a variant. */
plait_status runtime_read(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                          plait_error *err) PLAIT_MUST_CHECK;
