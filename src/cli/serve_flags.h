/* serve_flags.h - options of a load of requests, which serve and capacity --serve share */
#pragma once

#include "cli/opt.h"
#include "cli/problem.h"
#include "plait/serve.h"

/** Values of the options; NULL and 0 if not given. */
typedef struct serve_flags {
    int cached, concurrency, turns, lora_adapters, lora_rank;
    double spread; /* half width of lengths given by their mean alone, over the mean */
    const char *input, *output, *lengths, *prefix_hit;
    const char *rate, *gpus, *engine, *weights, *kv, *speculate;
    const char *limit[PLAIT_SERVE_LIMITS]; /* bounds on latency, indexed by plait_serve_limit */
    const char *memory_fraction, *cache_cpu, *confidence;
    int max_num_seqs, chunk, max_model_len, redundant_experts;
    int tp, pp, ep, dp_attention;
    bool assume_llama, two_batch_overlap;
    const char
        *gpus_else; /* default of --gpus for a cluster without a size; NULL: --gpus is required */
} serve_flags;

#define SERVE_TEXT(values, member, field, name, value, help)                                       \
    OPT_OF_TEXT(values, member.field, name, 0, value, help)
#define SERVE_DEGREE(values, member, field, name, help)                                            \
    OPT_OF_INT(values, member.field, name, "N", 1, 1 << 16, help)

/* Rows of an option table: `member` of `values` is the serve_flags. */
#define SERVE_LENGTH(values, field, name, help)                                                    \
    OPT_OF_TEXT(values, field, name, 0, "TOKENS[,P50,P90,MAX]", help)
#define SERVE_INPUT_OPTION(values, member)                                                         \
    SERVE_LENGTH(values, member.input, "input",                                                    \
                 "mean tokens of a prompt, and its median, 90th percentile and maximum")
#define SERVE_OUTPUT_OPTION(values, member)                                                        \
    SERVE_LENGTH(values, member.output, "output-tokens", "the same of an answer")
#define SERVE_MODEL_OPTION(values, member) MODEL_OPTION(values, member.assume_llama)
/* Aliases of both lengths, as in the benchmarks of engines. */
#define SERVE_LENGTH_ALIASES(values, member)                                                       \
    SERVE_LENGTH(values, member.input, "isl", "same as --input"),                                  \
        SERVE_LENGTH(values, member.output, "osl", "same as --output-tokens"),                     \
        SERVE_TEXT(values, member, lengths, "lengths", "FILE",                                     \
                   "lengths of requests, instead of --input and --output-tokens: a CSV file with " \
                   "columns of input and output tokens, or a trace of Azure, BurstGPT or "         \
                   "Mooncake; its timestamps give the rate if there is no other load"),            \
        OPT_OF_INT(values, member.turns, "turns", "N", 1, 1000,                                    \
                   "requests of a conversation: each prompt begins with the earlier prompts and "  \
                   "answers (default: 1)"),                                                        \
        SERVE_TEXT(values, member, prefix_hit, "prefix-hit", "SHARE",                              \
                   "share of prompts whose repeated tokens, of earlier turns or in a trace of "    \
                   "Mooncake, are in the prefix cache (default: 1)")
#define SERVE_RATE_OPTION(values, member)                                                          \
    SERVE_TEXT(values, member, rate, "rate", "R",                                                  \
               "mean requests per second, with random (Poisson) arrivals")
#define SERVE_BOUND_OPTIONS(values, member)                                                        \
    OPT_OF_TOKENS(values, member.cached, "prefix-cached",                                          \
                  "tokens of the prompt that are already cached"),                                 \
        SERVE_TEXT(values, member, limit[PLAIT_SERVE_LIMIT_ttft], "ttft", "TIME",                  \
                   "bound on the mean time to the first token (TTFT), such as 500ms or 500"),      \
        SERVE_TEXT(values, member, limit[PLAIT_SERVE_LIMIT_ttft_p95], "ttft-p95", "TIME",          \
                   "bound on the 95th percentile of TTFT"),                                        \
        SERVE_TEXT(values, member, limit[PLAIT_SERVE_LIMIT_ttft_p99], "ttft-p99", "TIME",          \
                   "bound on the 99th percentile of TTFT"),                                        \
        SERVE_TEXT(                                                                                \
            values, member, limit[PLAIT_SERVE_LIMIT_tpot], "tpot", "TIME",                         \
            "bound on the mean time per output token after the first (TPOT), such as 50ms or 50"), \
        SERVE_TEXT(values, member, limit[PLAIT_SERVE_LIMIT_tpot_p95], "tpot-p95", "TIME",          \
                   "bound on the 95th percentile of TPOT"),                                        \
        SERVE_TEXT(values, member, limit[PLAIT_SERVE_LIMIT_tpot_p99], "tpot-p99", "TIME",          \
                   "bound on the 99th percentile of TPOT"),                                        \
        SERVE_TEXT(values, member, confidence, "confidence", "P",                                  \
                   "probability with which each bound must hold, from 0.5 to 0.99 (default: 0.5, " \
                   "bounds on the predictions)")
#define SERVE_USED_OPTIONS(values, member)                                                         \
    OPT_OF_WORD(                                                                                   \
        values, member.engine, "engine", "NAME", OPT_NAMES(PLAIT_DATA_ENGINES),                    \
        "serving engine: vllm, sglang or trtllm (default: all of them), or one profile of "        \
        "it by name, such as vllm-2025, or by path"),                                              \
        OPT_OF_WORD(values, member.weights, "weights", "FORMAT", OPT_WORDS(plait_weight_name),     \
                    "format of the weights: bf16, fp8, fp8_block, nvfp4, mxfp4, int4 (default: "   \
                    "each that the accelerator's matrix units support, and the published one)"),   \
        OPT_OF_WORD(values, member.kv, "kv", "FORMAT", OPT_WORDS(plait_kv_name),                   \
                    "format of the KV cache: bf16 or fp8 (default: both)"),                        \
        SERVE_TEXT(                                                                                \
            values, member, speculate, "speculate", "mtp:N,accept=A",                              \
            "speculative decoding: N drafted tokens per step, each accepted with probability A")
#define SERVE_LORA_OPTIONS(values, member)                                                         \
    OPT_OF_INT(values, member.lora_adapters, "lora-adapters", "N", 1, PLAIT_MAX_LORA,              \
               "LoRA adapters in GPU memory, which requests use equally often (default: none)"),   \
        OPT_OF_INT(values, member.lora_rank, "lora-rank", "R", 1, PLAIT_MAX_LORA,                  \
                   "rank of each LoRA adapter (default: 16)")
#define SERVE_CHUNK_HELP                                                                           \
    "maximum tokens per step of a worker, for chunked prefill (default: the search tries "         \
    "several; with --eval, the engine's)"
/* Settings of the engine, under the names of their flags in vLLM where it has one. */
#define SERVE_ENGINE_OPTIONS(values, member)                                                       \
    SERVE_TEXT(values, member, memory_fraction, "memory-fraction", "F",                            \
               "share of device memory that the engine uses, as vLLM's gpu_memory_utilization, "   \
               "SGLang's mem_fraction_static or TensorRT-LLM's free_gpu_memory_fraction "          \
               "(default: the engine's)"),                                                         \
        SERVE_TEXT(values, member, cache_cpu, "cache-cpu", "GIB",                                  \
                   "host memory for KV caches of each GPU, which enlarges the prefix cache of "    \
                   "conversations (default: none)"),                                               \
        OPT_OF_INT(values, member.max_num_seqs, "max-num-seqs", "N", 1, 1 << 24,                   \
                   "maximum running requests of an attention rank (default: the engine's)"),       \
        OPT_OF_TOKENS(values, member.chunk, "chunk", SERVE_CHUNK_HELP),                            \
        OPT_OF_TOKENS(values, member.chunk, "max-batched-tokens", "same as --chunk"),              \
        OPT_OF_TOKENS(values, member.max_model_len, "max-model-len",                               \
                      "longest request that the engine accepts, input and output; shorter than "   \
                      "the load's mean request is an error (default: no limit)"),                  \
        OPT_OF_INT(values, member.redundant_experts, "redundant-experts", "R", 0, 1 << 12,         \
                   "additional copies of experts in each layer; ep must divide the sum (default: " \
                   "0)"),                                                                          \
        OPT_OF_FLAG(values, member.two_batch_overlap, "two-batch-overlap",                         \
                    "exchange tokens of experts for one half of a batch while the other half "     \
                    "computes, in vLLM and SGLang (default: off)")
#define SERVE_DEGREE_OPTIONS(values, member)                                                       \
    SERVE_DEGREE(values, member, tp, "tp",                                                         \
                 "tensor-parallel ranks of attention; without --eval, search only workers with "   \
                 "this value"),                                                                    \
        SERVE_DEGREE(values, member, pp, "pp", "pipeline stages"),                                 \
        SERVE_DEGREE(values, member, ep, "ep", "expert-parallel ranks"),                           \
        SERVE_DEGREE(values, member, dp_attention, "dp-attention",                                 \
                     "data-parallel attention ranks, each with its own requests")

/**
 * Resolve the model, the cluster, the load, the bounds, the engines and the formats of a search.
 */
PLAIT_MUST_CHECK plait_status serve_flags_question(const serve_flags *flags,
                                                   const opt_operands *operands, plait_arena *arena,
                                                   plait_serve_options *q, plait_error *err);

/**
 * Reject a number as the file of --output, because in earlier versions --output was the length of
 * an answer.
 */
PLAIT_MUST_CHECK plait_status serve_flags_check_file(const char *path, plait_error *err);
