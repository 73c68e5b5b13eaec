/* deepspeed.h - the way back of DeepSpeed's target */
#ifndef DEEPSPEED_H
#define DEEPSPEED_H

#include "target.h"

/** See launch_target.import. */
PLAIT_MUST_CHECK plait_status deepspeed_import(const char *text, size_t length, const char *name,
                                               const launch_call *call, plait_arena *arena,
                                               plans_entry *out, const char **warning,
                                               plait_error *err);

#endif
