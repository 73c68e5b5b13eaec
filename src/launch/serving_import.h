/* serving_import.h - the command line of a serving engine as a worker */
#pragma once

#include "launch/call.h"
#include "plait/serve.h"

typedef struct serving_import {
    plait_engine_kind kind;
    const char *checkpoint; /* NULL: the file does not say it */
    plait_worker worker;
    int replicas;
    int chunk;   /* tokens of a step; 0: the engine's */
    int batch;   /* running sequences of a scheduler; 0: the engine's */
    int context; /* tokens of the longest request; 0: the model's */
    int drafted; /* tokens; 0: no speculation */
    int weights; /* plait_weight_format; -1: as the checkpoint is */
    int kv;      /* plait_kv_format; -1: likewise */
} serving_import;

/** "vllm", "sglang": whose command lines can be read; NULL-terminated. */
extern const char *const serving_import_name[];

/**
 * Reads `vllm serve`, or a launch of SGLang's or vLLM's server, out of a script, which is not run.
 *
 * @param kind     VLLM or SGLANG
 * @param warning  receives a sentence on options that no price hangs on or that are not known; ""
 */
plait_status serving_import_read(plait_engine_kind kind, const char *text, size_t length,
                                 const char *name, const launch_call *call, plait_arena *arena,
                                 serving_import *out, const char **warning,
                                 plait_error *err) PLAIT_MUST_CHECK;
