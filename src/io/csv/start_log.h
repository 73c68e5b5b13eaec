/*
 * start_log.h - figures of memory that serving engines print when they start
 *
 * The engine, vLLM, SGLang or TensorRT-LLM, follows from the lines. Every process of a server prints its
 * own lines, and their order is arbitrary. Of the lines of one kind the smallest cache, the largest
 * weights and the first configuration count, as an engine takes the fewest blocks of any worker.
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"
#include "plait/serve.h"

/** The sampler of vLLM, which determines the memory of its profile run. */
typedef enum start_sampler {
    START_SAMPLER_UNKNOWN,
    START_SAMPLER_FLASHINFER,
    START_SAMPLER_NATIVE, /* PyTorch's operators, which sort the logits */
    START_SAMPLERS
} start_sampler;

/** The figures and settings in a log; NULL and 0 for those that it does not state. */
typedef struct start_log {
    plait_engine_kind kind;
    const char *version;      /* such as "0.19.0" */
    const char *model;        /* Hub id or folder */
    const char *quantization; /* format of the weights in the engine's words */
    int tp, pp, dp, ep;       /* degrees as the engine's flags count them */
    bool expert_parallel;     /* vLLM: the experts are spread over all ranks */
    bool dp_attention;        /* SGLang: tp counts the attention ranks of all dp groups */
    bool fp8_cache;
    start_sampler sampler;
    double memory_fraction;
    double chunk_tokens;
    double max_sequences;
    double request_tokens; /* longest request */
    double weight_bytes;   /* bytes on one GPU, as in the other fields */
    double activation_bytes;
    double cache_bytes;
    double cache_tokens;
    double concurrency;
    double free_bytes;
} start_log;

/**
 * Reads the log of a server's start.
 *
 * @return  SCHEMA if the text has no line with a figure of a cache; the error's `where` is `name`
 */
PLAIT_MUST_CHECK plait_status start_log_parse(const char *text, size_t length, const char *name,
                                              plait_arena *arena, start_log *out, plait_error *err);
