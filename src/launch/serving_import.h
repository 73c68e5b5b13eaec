/* serving_import.h - reads a serving worker from the command line of its engine */
#pragma once

#include "launch/import.h"
#include "plait/serve.h"

typedef struct serving_import {
    plait_engine_kind kind;
    const char *checkpoint; /* model on the command line; NULL: not given */
    plait_worker worker;
    int replicas;
    int chunk;     /* token budget of a step; 0: the engine's default */
    int batch;     /* limit of running sequences per scheduler; 0: the engine's default */
    int context;   /* tokens of the longest request; 0: the model's limit */
    int redundant; /* redundant experts of a layer */
    double memory; /* share of device memory; 0: the engine's default */
    int drafted;   /* draft tokens; 0: no speculation */
    int lora_adapters, lora_rank; /* 0: not given */
    int weights;                  /* plait_weight_format; -1: the format of the checkpoint */
    int kv;                       /* plait_kv_format; -1: the format of the checkpoint */
    const char *not_read;         /* options that plait ignores, as "a, b" */
} serving_import;

/** Engines whose command lines can be read; NULL-terminated. */
extern const char *const serving_import_name[];

/**
 * Reads the arguments of `vllm serve`, or of a server started by SGLang's or vLLM's launch module,
 * from a script. The script is not run.
 *
 * @param kind     VLLM or SGLANG
 * @param warning  receives a sentence that lists options which change the price but which plait
 *                 does not price; "" if it prices all
 */
plait_status serving_import_read(plait_engine_kind kind, const char *text, size_t length,
                                 const char *name, const launch_call *call, plait_arena *arena,
                                 serving_import *out, const char **warning,
                                 plait_error *err) PLAIT_MUST_CHECK;
