/* serving_import.h - a serving worker out of the command line of its engine */
#pragma once

#include "launch/call.h"
#include "plait/serve.h"

typedef struct serving_import {
    plait_engine_kind kind;
    const char *checkpoint; /* model of the command line; NULL: not given */
    plait_worker worker;
    int replicas;
    int chunk;            /* tokens of a step; 0: the engine's default */
    int batch;            /* running sequences of a scheduler; 0: the engine's default */
    int context;          /* tokens of the longest request; 0: the model's */
    int drafted;          /* draft tokens; 0: no speculation */
    int weights;          /* plait_weight_format; -1: as the checkpoint is */
    int kv;               /* plait_kv_format; -1: as the checkpoint is */
    const char *not_read; /* options that nothing reads, "a, b" */
} serving_import;

/** Engines whose command lines can be read; NULL-terminated. */
extern const char *const serving_import_name[];

/**
 * Read `vllm serve`, or a launch of SGLang's or vLLM's server, out of a script, which is not run.
 *
 * @param kind     VLLM or SGLANG
 * @param warning  receives a sentence on options that are not priced; ""
 */
plait_status serving_import_read(plait_engine_kind kind, const char *text, size_t length,
                                 const char *name, const launch_call *call, plait_arena *arena,
                                 serving_import *out, const char **warning,
                                 plait_error *err) PLAIT_MUST_CHECK;
