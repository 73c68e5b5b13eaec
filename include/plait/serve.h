/*
 * serve.h - cost of serving a model: step times, latencies, throughput, deployments, fleets
 *
 * A worker is a set of tp x pp x dp_attention GPUs that run one copy of the model. A deployment is
 * a number of replicas; each replica consists of aggregated workers, or of prefill workers that
 * send their KV caches to decode workers (disaggregated). A step table has the kernel and
 * communication times of one worker on the hardware, without the engine. plait_step_s adds the
 * engine's constants, and plait_serve computes from step times what a load sees: time to first
 * token (TTFT), time per output token (TPOT), tokens/s.
 *
 * In order, for one deployment: plait_engine_list and plait_engine_of for the engine,
 * plait_step_table_fill for the worker, plait_serve_memory_of and plait_pool_of for each role, then
 * plait_serve (closed forms) or plait_serve_simulate. plait_serve_search and plait_serve_decide
 * choose the deployment; each later section has its own introduction.
 *
 * Units: seconds, bytes, tokens, requests/s. Loads and rates are those of the whole deployment
 * unless a comment states otherwise.
 *
 * Left out: images and audio, beams, guided decoding.
 */
#ifndef PLAIT_SERVE_H
#define PLAIT_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "plait/arena.h"
#include "plait/cluster.h"
#include "plait/error.h"
#include "plait/capacity.h"
#include "plait/launch.h"
#include "plait/model.h"

PLAIT_BEGIN_DECLS

/* ---- what runs --------------------------------------------------------------------------- */

/** Formats of weights. For a model with experts, a four-bit format applies to the experts only. */
#define PLAIT_WEIGHT_LIST(X)                                                                       \
    X(BF16, "bf16")                                                                                \
    X(FP8, "fp8")             /* one scale per tensor or token */                                  \
    X(FP8_BLOCK, "fp8_block") /* one scale per block of 128 */                                     \
    X(NVFP4, "nvfp4")                                                                              \
    X(MXFP4, "mxfp4")                                                                              \
    X(INT4, "int4")

typedef enum plait_weight_format {
#define X(constant, word) PLAIT_WEIGHT_##constant,
    PLAIT_WEIGHT_LIST(X)
#undef X
        PLAIT_WEIGHT_FORMATS
} plait_weight_format;

extern const char *const plait_weight_name[PLAIT_WEIGHT_FORMATS + 1];

/** Inference engines. */
typedef enum plait_engine_kind {
    PLAIT_ENGINE_VLLM,
    PLAIT_ENGINE_SGLANG,
    PLAIT_ENGINE_TRTLLM,
    PLAIT_ENGINES
} plait_engine_kind;

extern const char *const plait_engine_name[PLAIT_ENGINES + 1];

/**
 * Weight formats that the accelerator's matrix units multiply natively: bits 1 <<
 * plait_weight_format.
 */
unsigned plait_serve_native_weights(const plait_accelerator *gpu);

/**
 * The default formats of a search: the native ones and the format in which the model's weights are
 * published. A published 8-bit format replaces FP8, and is left out if FP8 is not native; any other
 * published format is added. Bits 1 << plait_weight_format.
 */
unsigned plait_serve_usual_weights(const plait_accelerator *gpu, const plait_model *model);

/**
 * Degrees of one worker, which has tp * pp * dp_attention GPUs. Inside an expert the
 * tensor-parallel degree is tp * dp_attention / ep.
 */
typedef struct plait_worker {
    int tp; /* tensor-parallel ranks of attention */
    int pp;
    int dp_attention; /* data-parallel ranks of attention, each with its own sequences */
    int ep;           /* expert-parallel ranks; 1 for dense models */
} plait_worker;

/** GPUs of a worker: tp * pp * dp_attention. */
int plait_worker_gpus(plait_worker worker);

/**
 * Constants of an engine's software: field, key in a profile, unit of the key, minimum, maximum,
 * and the default for engines without measured runs. A profile sets at most twelve of them. (C.362)
 */
#define PLAIT_ENGINE_NUMBERS(X)                                                                    \
    X(linear, "linear", 1.0, 0.3, 4.0, 1.0)                /* time factor, few tokens */           \
    X(compute, "compute", 1.0, 0.3, 4.0, 1.0)              /* time factor, many tokens */          \
    X(attention, "attention", 1.0, 0.1, 1.2, 1.0)          /* speed factor of decoding */          \
    X(experts, "experts", 1.0, 0.3, 6.0, 1.3)              /* time factor of grouped products */   \
    X(experts_4bit, "experts_4bit", 1.0, 0.3, 6.0, 0.9)    /* time factor, 4-bit weights */        \
    X(reduce_s, "reduce_us", 1e-6, 1.0, 100.0, 9.0)        /* empty all-reduce, two ranks */       \
    X(layer_s, "layer_us", 1e-6, 0.0, 500.0, 5.0)          /* additional time a layer */           \
    X(moe_layer_s, "moe_layer_us", 1e-6, 0.0, 500.0, 20.0) /* additional time an MoE layer */      \
    X(step_s, "step_us", 1e-6, 0.0, 50000.0, 1000.0)       /* additional time a step */            \
    X(sequence_s, "sequence_us", 1e-6, 0.0, 1000.0, 0.0)   /* time a decoding sequence */          \
    X(launch_s, "launch_us", 1e-6, 0.0, 1000.0, 30.0)      /* one kernel outside CUDA graphs */    \
    X(request_s, "request_ms", 1e-3, 0.0, 1000.0, 40.0)    /* time of a request outside steps */   \
    X(handover, "handover", 1.0, 0.005, 1.0, 0.2)          /* share of the links' rate for caches */

enum {
#define X(field, word, unit, least, most, assumed) PLAIT_ENGINE_##field,
    PLAIT_ENGINE_NUMBERS(X)
#undef X
        PLAIT_ENGINE_NUMBER_COUNT
};

/** The predicted figures that have an error statistic and a band. */
typedef enum plait_serve_figure {
    PLAIT_SERVE_TTFT,
    PLAIT_SERVE_TPOT,
    PLAIT_SERVE_RATE, /* output tokens/s */
    PLAIT_SERVE_FIGURES
} plait_serve_figure;

/**
 * Evidence for a prediction: how much of a question a profile has measured runs of. Predictions
 * without a run of the model, or of any model of its architecture, are less certain.
 */
typedef enum plait_serve_evidence {
    PLAIT_SERVE_MEASURED,         /* runs of the model, and runs on the accelerator */
    PLAIT_SERVE_NEW_ACCELERATOR,  /* runs of the model, but none on the accelerator */
    PLAIT_SERVE_NEW_MODEL,        /* no run of the model, but runs of its architecture */
    PLAIT_SERVE_NEW_ARCHITECTURE, /* no run of any model of the architecture */
    PLAIT_SERVE_EVIDENCES
} plait_serve_evidence;

/** Words: measured, new_accelerator, new_model, new_architecture. */
extern const char *const plait_serve_evidence_name[PLAIT_SERVE_EVIDENCES + 1];

/** 80 % bands of measured over predicted, on held-out runs with the same evidence. (C.383) */
typedef struct plait_serve_bands {
    double figure[PLAIT_SERVE_FIGURES][2];
    int runs; /* predictions of held-out runs */
} plait_serve_bands;

/**
 * A profile of an engine: constants of its software in one period, on one vendor's accelerators,
 * and its default settings. `determined` is true for the constants that were fitted to measured
 * runs.
 */
typedef struct plait_engine {
    const char *name; /* name of the profile */
    const char *source;
    plait_engine_kind kind;
    int until;          /* last month that the profile covers, 2506: June 2025; 0: no end */
    int before;         /* first version that it no longer covers, 113: 1.13; 0: none */
    const char *vendor; /* vendor of the accelerators; "": all vendors without a profile */
#define X(field, word, unit, least, most, assumed) double field;
    PLAIT_ENGINE_NUMBERS(X)
#undef X
    bool determined[PLAIT_ENGINE_NUMBER_COUNT]; /* fitted to runs; else the default */
    int rows;                                   /* measured runs in the fit */
    double band[PLAIT_SERVE_FIGURES][2]; /* 80 % band of measured over predicted, on runs outside
                                          * the fit; of the evidence below */
    double chunk_tokens;                 /* default token budget of a step */
    double max_sequences;                /* default limit of running sequences of a worker */
    double memory_fraction;              /* share of device memory that the engine uses */
    double graph_bytes;   /* bytes of one GPU that no other term of C.367 counts, as CUDA graphs */
    double block_tokens;  /* tokens of one cache block */
    double poll_steps;    /* steps from one poll for new requests to the next */
    double gather_steps;  /* maximum steps that a prompt waits to be batched with others */
    bool prefill_first;   /* prompts run in separate steps, before decoding continues */
    bool host_overlap;    /* the host prepares sequences while the previous step runs */
    double logit_bytes;   /* vLLM: bytes of the profiled sampler for each logit of a sequence */
    double outside_bytes; /* bytes outside PyTorch that the engine counts on one GPU (C.367) */
    double group_bytes;   /* additional bytes of communicators on GPUs with tp or dp_attention */
    double host_cache_bytes;       /* host memory for KV caches, of one GPU; 0: none */
    plait_serve_evidence evidence; /* evidence that selects `band` */
    plait_serve_bands bands[PLAIT_SERVE_EVIDENCES];
    /* Accelerators, models and architectures of the measured runs in the fit; NULL ends a list, a
     * NULL list is empty. */
    const char *const *accelerators, *const *models, *const *architectures;
    bool
        two_batch_overlap; /* the exchange of experts of one half of a batch runs during the compute
                             * of the other half (C.385) */
    double confidence;     /* probability with which predicted times meet bounds; 0: on the mean */
    double bound_factor[PLAIT_SERVE_FIGURES]; /* on predicted times before they are compared with
                                               * bounds; 0: 1 */
} plait_engine;

/** The evidence that a profile has for a model on the accelerator of this name. */
plait_serve_evidence plait_engine_evidence(const plait_engine *engine, const plait_model *model,
                                           const char *accelerator);

/**
 * Sets `evidence` and `band` of a profile for a question. A profile as loaded has the evidence
 * PLAIT_SERVE_NEW_ARCHITECTURE.
 */
void plait_engine_judge(plait_engine *engine, const plait_model *model, const char *accelerator);

/**
 * The factor on a prediction that measured runs stay below with a probability, according to `band`:
 * two halves of log-normal distributions around the prediction, whose 10 % and 90 % quantiles are
 * the band. (C.384)
 *
 * @param probability  above 0, below 1
 */
double plait_engine_quantile(const plait_engine *engine, plait_serve_figure figure,
                             double probability);

/**
 * Compares predicted times with bounds at their quantile of `probability`, by the band of
 * plait_engine_judge.
 */
void plait_engine_require(plait_engine *engine, double probability);

/**
 * Architecture of a model, by which profiles state their runs: dense or moe, after latent_ for
 * latent attention, hybrid_ for layers of linear attention or states, compressed_ for compressed
 * keys.
 */
const char *plait_serve_architecture(const plait_model *model);

/** Sets all constants to the defaults for an engine without measured runs. */
void plait_engine_assume(plait_engine *engine);

/**
 * Set the token budget and the limit of sequences to the engine's defaults for an accelerator, which
 * depend on its memory. (C.404)
 */
void plait_engine_on(plait_engine *engine, const plait_accelerator *gpu);

/** Load one profile from the file `path` (clusters/engines/NAME.json). *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status plait_engine_load(const char *path, plait_arena *arena,
                                                plait_engine *out, plait_error *err);

/** Load one profile by name or path; for a path, out->name is the path. */
PLAIT_MUST_CHECK plait_status plait_engine_find(const char *name, plait_arena *arena,
                                                plait_engine *out, plait_error *err);

/**
 * All profiles of an engine, sorted by name.
 *
 * @param profiles  out: [count], in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_engine_list(plait_arena *arena, plait_engine **profiles,
                                                size_t *count, plait_error *err);

/**
 * The profile that covers an engine's software at a given month on a vendor's accelerators. A
 * profile for the vendor precedes one for any vendor; among several, the one with the earliest end
 * is chosen.
 *
 * @param month    2506: June 2025; 0: unknown
 * @param version  version of the software, used if the month is unknown: 12 is 0.12, 103 is 1.3; 0:
 *                 the newest
 * @return         an element of `profiles`; NULL if none covers it
 */
const plait_engine *plait_engine_of(const plait_engine *profiles, size_t count,
                                    plait_engine_kind kind, const char *vendor, int month,
                                    int version);

/* ---- a step ------------------------------------------------------------------------------ */

enum { PLAIT_STEP_POINTS = 34, PLAIT_STEP_CONTEXTS = 42 };

/**
 * Times of one worker's passes on the hardware, in seconds: kernels without launches, and
 * collectives separately. Each time is the sum over all pipeline stages. Arrays are indexed by
 * points of a grid: PLAIT_STEP_POINTS numbers of tokens on one attention rank, or
 * PLAIT_STEP_CONTEXTS context lengths. (C.360)
 */
typedef struct plait_step_table {
    plait_worker worker;
    int layers; /* pairs of a mixer and a feed-forward part; each alone counts half */
    int moe_layers;
    double linear_s[PLAIT_STEP_POINTS];   /* matrix products and memory-bound kernels, by tokens */
    double experts_s[PLAIT_STEP_POINTS];  /* grouped products of experts, by tokens */
    double exchange_s[PLAIT_STEP_POINTS]; /* expert dispatch and combine, by tokens */
    double reduce_s[PLAIT_STEP_POINTS];   /* all-reduces by NCCL, by tokens */
    double stages_s[PLAIT_STEP_POINTS];   /* sends between pipeline stages, by tokens */
    double head_s[PLAIT_STEP_POINTS];     /* vocabulary layer and sampling, by sequences */
    double decode_s[PLAIT_STEP_CONTEXTS]; /* attention of one new token, by context */
    double few_s[PLAIT_STEP_CONTEXTS];    /* attention time per decoding step, independent of the
                                           * batch (C.361) */
    double prompt_s[PLAIT_STEP_CONTEXTS]; /* attention of a whole prompt, by its length */
    double kernels;                       /* kernels of a step */
    bool four_bits;                       /* experts have 4-bit weights */
    bool widened;                         /* 4-bit weights are multiplied in 16 bits */
    double all_reduces;                   /* all-reduces of a step */
    double reduce_bytes;                  /* bytes of one all-reduce per token */
    double bus_bytes_per_s;               /* bus rate inside a scale-up domain; 0: the tensor ranks
                                           * span several domains */
    double dispatch_s[PLAIT_STEP_POINTS]; /* part of exchange_s before the experts, by tokens */
} plait_step_table;

/** Model, cluster, degrees and formats, which determine the kernel times of a worker. */
typedef struct plait_serving {
    const plait_model *model;
    const plait_cluster *cluster;
    plait_worker worker;
    plait_weight_format weights;
    plait_kv_format kv;
    int lora_adapters; /* LoRA adapters in memory, which tokens use equally often; 0: none */
    int lora_rank;
} plait_serving;

/**
 * Fill the table of a worker, which takes some milliseconds. Functions that read a table take
 * microseconds, except for searches and simulations.
 *
 * @return  NULL if the table is filled; otherwise the reason why the worker cannot run (tp does not
 *          divide the heads, the accelerator has no kernels for a format, ...), in static storage
 */
const char *plait_step_table_fill(const plait_serving *serving, plait_step_table *out);

/** Work of one step on each attention rank. */
typedef struct plait_step {
    double sequences; /* decoding sequences */
    double context;   /* mean context length of these sequences, tokens */
    double verified;  /* tokens computed for each of them; 1 without speculation */
    double prompt;    /* prompt tokens */
    double prompts;   /* number of prompts, which share `prompt` equally; 0: one */
    double before;    /* tokens of each prompt that are cached already */
} plait_step;

/** Parts of a step, seconds. */
#define PLAIT_STEP_PART_LIST(X)                                                                    \
    X(linear, "weights and products")                                                              \
    X(experts, "experts")                                                                          \
    X(decode_attention, "attention of decoding")                                                   \
    X(prompt_attention, "attention of prompts")                                                    \
    X(reduce, "all-reduces")                                                                       \
    X(exchange, "exchanges of experts")                                                            \
    X(stages, "sends and waits of stages")                                                         \
    X(head, "vocabulary and sampling")                                                             \
    X(launch, "launches and host")

typedef enum plait_step_part {
#define X(name, what) PLAIT_STEP_##name,
    PLAIT_STEP_PART_LIST(X)
#undef X
        PLAIT_STEP_PARTS
} plait_step_part;

extern const char *const plait_step_part_name[PLAIT_STEP_PARTS + 1];

/**
 * Seconds of one step of a worker under an engine. (C.362)
 *
 * @param parts  filled with the seconds of each part; may be NULL
 */
double plait_step_s(const plait_step_table *table, const plait_engine *engine, plait_step step,
                    double parts[PLAIT_STEP_PARTS]);

/** The origin of a constant of a step, and its name in reports. */
#define PLAIT_ORIGIN_LIST(X)                                                                       \
    X(NONE, "none")                                                                                \
    X(KERNEL_TABLE, "kernel table") /* fitted to kernels measured on this accelerator */           \
    X(DATA_SHEET, "data sheet")     /* rates of the data sheet with efficiencies of others */      \
    X(FITTED, "fitted")             /* numbers of the engine that measured runs determine */       \
    X(DEFAULT, "default")           /* numbers of the engine that no run determines */

typedef enum plait_origin {
#define X(constant, word) PLAIT_ORIGIN_##constant,
    PLAIT_ORIGIN_LIST(X)
#undef X
        PLAIT_ORIGINS
} plait_origin;

extern const char *const plait_origin_name[PLAIT_ORIGINS + 1];

/** The origins of one part of a step. */
typedef struct plait_step_origin {
    plait_origin hardware; /* NONE, KERNEL_TABLE or DATA_SHEET */
    plait_origin engine;   /* NONE, FITTED or DEFAULT */
    unsigned
        undetermined; /* engine numbers of this part that no run determines: bits 1 << number */
} plait_step_origin;

/** Fills the origin of each part of a decoding step. */
void plait_step_origins(const plait_serving *serving, const plait_engine *engine,
                        plait_step_origin out[PLAIT_STEP_PARTS]);

/** Returns whether a measurement supports a part: of its kernels, or of the engine's numbers. */
bool plait_origin_is_measured(const plait_step_origin *origin);

/* ---- memory ------------------------------------------------------------------------------ */

/** Memory of one GPU of a worker, bytes. (C.363) */
typedef struct plait_serve_memory {
    double all; /* device memory */
    double weights;
    double token;        /* bytes of one cached token, over all layers without a window */
    double sequence;     /* bytes of a sequence at any length: states, full windows */
    double mean;         /* mean tokens of a sequence at its longest, as `sequence` assumes */
    double window;       /* tokens of the longest window; 0: no layer has one */
    double window_token; /* bytes of one cached token, over all layers with a window */
    double batch_token;  /* bytes of activations for each token of a step (C.367) */
    double hidden_token; /* bytes of the hidden states of a token */
    double expert_token; /* bytes of the workspace of experts for each token of a step */
    double vocab;        /* logits of a sequence */
    int ranks;           /* GPUs of a stage */
    int stages;
    int window_layers;       /* layers with a window, of all stages */
    double host_bytes_per_s; /* rate from host memory */
    int whole_layers;        /* layers that cache every token, of all stages */
} plait_serve_memory;

/**
 * Memory that a worker of `serving` takes on one GPU. (C.363)
 *
 * @param mean  mean tokens of a sequence at its longest, prompt and output
 */
plait_serve_memory plait_serve_memory_of(const plait_serving *serving, double mean);

/** Bytes of one GPU that an engine has for weights and the cache together. */
double plait_serve_room_bytes(const plait_serve_memory *memory, const plait_engine *engine);

/** Bytes of one GPU that `tokens` cached tokens take, with the empty part of the last blocks. */
double plait_serve_held_bytes(const plait_serve_memory *memory, const plait_engine *engine,
                              double tokens);

/**
 * Capacity of the cache of one attention rank under an engine, tokens; 0: the weights do not fit.
 */
double plait_serve_kv_tokens(const plait_serve_memory *memory, const plait_engine *engine);

/**
 * The figures of memory that an engine prints when it starts, for one attention rank. `free_bytes`
 * is valid for SGLang, and `activation_bytes` for vLLM.
 */
typedef struct plait_serve_start {
    double weight_bytes;
    double activation_bytes; /* peak of the profile run in addition to the weights */
    double cache_bytes;      /* KV caches and states; 0: the weights leave nothing */
    double cache_tokens;     /* the number of tokens that the engine prints */
    double request_tokens;   /* longest request */
    double concurrency;      /* longest requests that the caches hold together */
    double free_bytes;       /* free memory after the caches are allocated */
} plait_serve_start;

/**
 * The figures that an engine prints about the memory of a worker when it starts. (C.368)
 *
 * @param request_tokens  longest request that the engine accepts (vLLM's max_model_len)
 */
plait_serve_start plait_serve_start_of(const plait_serving *serving, const plait_engine *engine,
                                       double request_tokens);

/* ---- service ----------------------------------------------------------------------------- */

/** How requests arrive. */
typedef enum plait_load_kind {
    PLAIT_LOAD_CLOSED,  /* a closed loop of users, each with one request at a time */
    PLAIT_LOAD_RATE,    /* Poisson arrivals */
    PLAIT_LOAD_STATIC,  /* one batch of requests that start together */
    PLAIT_LOAD_OFFLINE, /* all requests are available from the start */
    PLAIT_LOAD_KINDS
} plait_load_kind;

/**
 * Tokens of one request: prompt, answer, prompt tokens found in a prefix cache, and those that earlier
 * requests had, of which a larger cache would find more.
 */
typedef struct plait_request_lengths {
    double input, output, cached, repeated;
} plait_request_lengths;

/** Mean and quantiles of a length, tokens. */
typedef struct plait_length_stats {
    double mean, p50, p90, p99, max;
} plait_length_stats;

/**
 * A group of requests with similar prompts: its share of all requests, and its mean prompt and
 * cached tokens. The groups are ordered by uncached tokens and smaller towards the longest prompts.
 */
typedef struct plait_length_group {
    double share, input, cached;
} plait_length_group;

/** Groups of the requests as they are, then of requests that all find their repeated tokens. */
enum { PLAIT_LENGTH_GROUPS = 8, PLAIT_LENGTH_MIXED = 2 * PLAIT_LENGTH_GROUPS };

/** A distribution of lengths: equally likely requests, and their moments. (C.400) */
typedef struct plait_lengths {
    const plait_request_lengths *request; /* [count] */
    int count;
    plait_length_stats input, output;
    double cached;     /* mean */
    double context;    /* mean context of a decoding sequence */
    double whole;      /* mean length that a decoding sequence reaches */
    double longest;    /* tokens of the longest request, prompt and answer */
    double output_cv;  /* standard deviation of the answers over their mean */
    double per_output; /* mean of 1/(answer - 1), over answers of two or more tokens */
    double hit;        /* share of the repeated tokens that are cached; 1 without repeated tokens */
    double missed;     /* mean repeated tokens of a request that are not cached */
    plait_length_group group[PLAIT_LENGTH_MIXED];
} plait_lengths;

/** A length by its mean and quantiles, tokens, or by its mean and an even spread. */
typedef struct plait_length_shape {
    double mean;
    double p50, p90, max; /* 0: an even spread */
    double spread;        /* half width of the even spread over the mean */
} plait_length_shape;

/**
 * Draw requests with prompts of one shape and independent answers of another. The number is fixed,
 * and the draws have the means and quantiles of the shapes up to the rounding to whole tokens.
 * (C.400)
 *
 * @param out  [*count] requests, in `arena`
 * @return     RANGE with the place `input` or `output` if no distribution has these quantiles and
 *             this mean; NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_lengths_sample(plait_length_shape input,
                                                   plait_length_shape output, plait_arena *arena,
                                                   plait_request_lengths **out, int *count,
                                                   plait_error *err);

/**
 * Requests of conversations: turn k of a conversation has the prompts and answers of the turns
 * before it at the start of its prompt, and in the prefix cache. (C.401)
 *
 * @param request  [count] new tokens of the prompt, and the answer, of one turn
 * @param turns    requests of a conversation, at least 1
 * @param out      [*made] requests, in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_lengths_converse(const plait_request_lengths *request,
                                                     int count, int turns, plait_arena *arena,
                                                     plait_request_lengths **out, int *made,
                                                     plait_error *err);

/**
 * The distribution of `count` >= 1 equally likely requests of at least one input and one output
 * token. Changes the order of the requests, which the result refers to. (C.400)
 */
plait_lengths plait_lengths_of(plait_request_lengths *request, int count);

enum { PLAIT_MAX_LORA = 4096 }; /* LoRA adapters, and their rank */

typedef struct plait_load {
    plait_load_kind kind;
    double input, output; /* mean tokens */
    double cached;        /* input tokens found in a prefix cache */
    double spread;        /* half width of the uniform distribution of lengths, over its mean */
    double concurrency;   /* CLOSED: users; STATIC: batch; of the deployment */
    double rounds;        /* CLOSED: requests of each user; 0: endless */
    double rate;          /* RATE: requests/s, of the deployment */
    double accept;        /* probability that a drafted token is accepted; 0: no speculation */
    int draft;            /* tokens drafted per step */
    double draft_layers;  /* share of the model's layers that one drafted token runs */
    const plait_lengths *lengths; /* distribution, with the means above; NULL: by `spread` */
    int lora_adapters;            /* LoRA adapters that requests use equally often; 0: none */
    int lora_rank;                /* rank of each adapter */
} plait_load;

/** Mean tokens that a decoding sequence has at its end: prompt and answer. */
double plait_load_whole(const plait_load *load);

/** Tokens of the longest request, prompt and answer; without a distribution, of the mean one. */
double plait_load_longest(const plait_load *load);

/** One role of a deployment: aggregated, prefill or decode. */
typedef struct plait_pool {
    const plait_step_table *table;
    int workers;                     /* workers in one replica */
    double chunk_tokens;             /* token budget of a step on an attention rank; 0: no limit */
    double max_sequences;            /* limit of running sequences on a worker; 0: no limit */
    double kv_tokens;                /* cache of one attention rank, tokens; 0: no limit */
    double poll_steps, gather_steps; /* as in plait_engine; 0: none */
    double host_tokens;              /* cache of one attention rank in host memory, tokens */
    double host_token_s;             /* seconds to load one of them */
} plait_pool;

typedef struct plait_deployment {
    const plait_engine *engine;
    int replicas;
    bool disaggregated;
    plait_pool pool[2];       /* aggregated: only [0]; disaggregated: prefill, decode */
    plait_link transfer;      /* link that carries the caches of one prefill GPU */
    double cache_token_bytes; /* bytes of a cached token on one GPU */
} plait_deployment;

/**
 * A pool of workers with an engine's default settings.
 *
 * @param memory        result of plait_serve_memory_of for this worker
 * @param chunk_tokens  token budget of a step on a worker; 0: the engine's default
 */
plait_pool plait_pool_of(const plait_step_table *table, const plait_engine *engine,
                         const plait_serve_memory *memory, int workers, double chunk_tokens);

/**
 * The link that carries the caches of one GPU between workers: the innermost level beyond a
 * scale-up domain.
 */
plait_link plait_serve_transfer(const plait_cluster *cluster);

/** The bottleneck of a deployment: constant, and word in reports. */
#define PLAIT_SERVE_BIND_LIST(X)                                                                   \
    X(WEIGHTS, "weights")                                                                          \
    X(KV_READS, "kv reads")                                                                        \
    X(ALL_REDUCE, "all-reduce latency")                                                            \
    X(LAUNCH, "launch")                                                                            \
    X(COMPUTE, "compute")                                                                          \
    X(EXCHANGE, "expert exchange")                                                                 \
    X(PREFILL, "prefill interference")                                                             \
    X(CAPACITY, "kv capacity")

typedef enum plait_serve_bind {
#define X(constant, word) PLAIT_SERVE_BINDS_##constant,
    PLAIT_SERVE_BIND_LIST(X)
#undef X
        PLAIT_SERVE_BINDS
} plait_serve_bind;

extern const char *const plait_serve_bind_name[PLAIT_SERVE_BINDS + 1];

/**
 * Predicted service of a deployment under a load. If `stable` is false, the deployment is
 * overloaded or no sequence fits, and the other fields are not filled.
 */
typedef struct plait_service {
    bool stable;
    double ttft_s; /* mean time to first token */
    double tpot_s; /* mean time per output token after the first */
    double e2e_s;
    double output_tokens_per_s; /* rate of the deployment */
    double requests_per_s;
    double batch;                   /* running sequences on a decode or aggregated worker */
    double utilisation;             /* share of time spent on prompts */
    double step_s;                  /* decoding step without prompts */
    double prompt_s;                /* prefill of one prompt without other load */
    double queue_s;                 /* queueing part of ttft_s */
    double parts[PLAIT_STEP_PARTS]; /* parts of step_s */
    plait_serve_bind binds;
    int groups; /* groups of prompts of different length; 0: of one length */
    double group_share[PLAIT_LENGTH_MIXED];
    double group_later_s[PLAIT_LENGTH_MIXED]; /* TTFT of a group less that of all, without waits */
} plait_service;

/** Service of a deployment under a load, by closed forms. (C.370 to C.377) */
plait_service plait_serve(const plait_deployment *deployment, plait_load load);

/** Upper limits of one worker of a role, valid with any workers of the other role. */
typedef struct plait_role_limit {
    double requests_per_s; /* maximum rate; 0: no rate meets the bound */
    double least_s;        /* prefill: minimum TTFT without queueing; decode: minimum time after the
                            * first token */
} plait_role_limit;

/**
 * Limits of a prefill worker that processes prompts of the load's length back to back. The caller
 * applies the TTFT bound.
 */
plait_role_limit plait_serve_prefill_limit(const plait_pool *pool, const plait_engine *engine,
                                           const plait_load *load);

/** TPOT of `sequences` sequences on each attention rank without prompts in their steps. */
double plait_serve_decode_tpot(const plait_pool *pool, const plait_engine *engine,
                               const plait_load *load, double sequences);

/**
 * Limits of a decode worker. The returned rate is 1.0 to 1.1 times the exact one.
 *
 * @param tpot_s  bound on TPOT; 0: none
 */
plait_role_limit plait_serve_decode_limit(const plait_pool *pool, const plait_engine *engine,
                                          const plait_load *load, double tpot_s);

/* ---- simulated service ------------------------------------------------------------------- */

/** Options of a simulation. */
typedef struct plait_serve_sim_options {
    uint64_t seed;
    int requests;        /* number of finished requests after which the simulation ends */
    int warmup_requests; /* number of first arrivals that the statistics exclude */
    double burst;        /* requests that arrive at the same time; 0 and 1: single ones */
    bool (*stop)(void *context, double done); /* callback whose true ends the simulation; `done`:
                                               * share done, 0 .. 1; NULL: none */
    void *stop_context;
} plait_serve_sim_options;

/** Times of requests: mean, median, 95 % and 99 % quantile. */
typedef struct plait_latency_stats {
    double mean_s, p50_s, p95_s, p99_s;
} plait_latency_stats;

/**
 * Result of a simulation. `carried` is the rate of completions over the rate of arrivals: 1 if no
 * queue grows (C.364). `full` is true if `carried` is below 1 by more than 2/sqrt(requests), which
 * means that the deployment is overloaded.
 */
typedef struct plait_serve_sim_result {
    int requests;   /* finished requests */
    int preempted;  /* restarts of sequences that lost their cache */
    bool stopped;   /* ended by `stop` */
    double carried; /* completions over arrivals, at most 1 */
    bool full;      /* overloaded */
    double steps;
    double seconds; /* simulated time */
    plait_latency_stats ttft, tpot, e2e;
    double output_tokens_per_s;
} plait_serve_sim_result;

/**
 * Simulate every step of every worker of a deployment under a load. A request goes to the worker
 * with the fewest requests, and prompts are admitted in order within each step's budget. vLLM and
 * SGLang start a request when its prompt fits the cache, and restart the newest sequence when the
 * cache is full. TensorRT-LLM and decode-only workers start a request when its full length fits.
 * (C.364)
 *
 * Equal arguments with equal seeds give equal results. The simulation runs some million steps per
 * second.
 *
 * @return  RANGE if deployment, load or options hold invalid values; NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_serve_simulate(const plait_deployment *deployment,
                                                   plait_load load, plait_serve_sim_options draws,
                                                   plait_arena *arena, plait_serve_sim_result *out,
                                                   plait_error *err);

/* ---- which deployment serves a load at the least cost ----
 *
 * plait_serve_search prices every engine, format of weights and of the cache, worker (tp, pp,
 * dp_attention, ep) and chunk, aggregated and disaggregated. It ranks the deployments that fit and
 * meet the bounds on TTFT and TPOT, each worker with the fewest replicas that do.
 * plait_serve_evaluate prices a single deployment.
 *
 * In order: plait_serve_options_init, then plait_serve_search, which uses closed forms only, or
 * plait_serve_decide, which also checks the best plans by simulation. If no deployment meets the
 * bounds, plait_serve_reach_of finds the rate that the GPUs carry and the GPUs that the rate needs.
 */

/** Limits of a search: pipeline stages of a worker, scale-up domains that its tensor ranks span. */
enum { PLAIT_SERVE_MAX_STAGES = 8, PLAIT_SERVE_MAX_DOMAINS = 2 };
enum { PLAIT_SERVE_MAX_PLANS = 32, PLAIT_SERVE_MAX_FRONT = 64, PLAIT_SERVE_ROLES = 2 };

/**
 * A question to plait_serve_search. The load is CLOSED with a concurrency, RATE, or CLOSED with
 * concurrency 0, which searches the best concurrency of one replica.
 */
typedef struct plait_serve_options {
    const plait_model *model;
    const plait_cluster *cluster;
    int gpus; /* upper limit of a deployment */
    int engines;
    const plait_engine *engine[PLAIT_ENGINES];
    unsigned weights; /* allowed formats: bits 1 << plait_weight_format */
    unsigned kv;      /* allowed formats: bits 1 << plait_kv_format */
    plait_load load;  /* CLOSED or RATE */
    double ttft_s;    /* bound on the mean; 0: none */
    double tpot_s;
    bool only_aggregated, only_disaggregated;
    plait_worker only;             /* required degrees of all workers; 0: any */
    double ttft_p95_s, ttft_p99_s; /* bounds on the 95 % and 99 % quantiles; 0: none */
    double tpot_p95_s, tpot_p99_s;
    double chunk_tokens;     /* token budget of a step of all workers; 0: any */
    double max_model_len;    /* longest request that the engines accept, tokens; 0: not set */
    const void *reserved[2]; /* zero; later versions turn it into fields */
} plait_serve_options;

/** Bounds of a question: flag, and NAME of the fields NAME_s in a question and in a plan. */
#define PLAIT_SERVE_LIMIT_LIST(X)                                                                  \
    X("--ttft", ttft)                                                                              \
    X("--ttft-p95", ttft_p95)                                                                      \
    X("--ttft-p99", ttft_p99)                                                                      \
    X("--tpot", tpot)                                                                              \
    X("--tpot-p95", tpot_p95)                                                                      \
    X("--tpot-p99", tpot_p99)

typedef enum plait_serve_limit {
#define X(flag, name) PLAIT_SERVE_LIMIT_##name,
    PLAIT_SERVE_LIMIT_LIST(X)
#undef X
        PLAIT_SERVE_LIMITS
} plait_serve_limit;

extern const char *const plait_serve_limit_flag[PLAIT_SERVE_LIMITS + 1];

/** Copies the bounds of a question to `seconds`, indexed by plait_serve_limit; 0: no bound. */
void plait_serve_limits_asked(const plait_serve_options *question,
                              double seconds[PLAIT_SERVE_LIMITS]);

/** An empty question: set model, cluster, gpus, engines, formats and load. */
void plait_serve_options_init(plait_serve_options *question);

/**
 * One deployment and its predicted service. `drawn` is valid if `simulated` is true. Near
 * saturation either `settled` is true, and the times are those of the simulation, or `unjudged` is
 * true, and the budget of the search did not suffice for a simulation.
 */
typedef struct plait_serve_plan {
    const plait_engine *engine;
    bool disaggregated;
    int replicas;                 /* copies of the aggregated worker, or of the set of workers */
    int count[PLAIT_SERVE_ROLES]; /* workers of a replica: aggregated; or prefill, decode */
    plait_worker worker[PLAIT_SERVE_ROLES];
    plait_weight_format weights;
    plait_kv_format kv;
    double chunk_tokens; /* token budget of a step on a worker */
    double batch_cap;    /* limit of running sequences of a decode or aggregated worker */
    double kv_tokens[PLAIT_SERVE_ROLES]; /* cache of one attention rank, tokens */
    int gpus;
    double concurrency; /* requests in flight that `service` assumes */
    plait_service service;
    double ttft_p99_s;
    double tokens_per_s_gpu;
    double usd_per_mtok;   /* price of a million output tokens; NaN: unknown */
    double joules_per_tok; /* energy of an output token; NaN: unknown */
    double ttft_p95_s;
    double tpot_p95_s, tpot_p99_s; /* NaN without a simulation, since no closed form gives them */
    bool simulated;                /* simulated, with the result in `drawn` */
    bool settled;                  /* near saturation, with the simulation's times */
    bool unjudged;                 /* near saturation, but not simulated */
    plait_serve_sim_result drawn;
} plait_serve_plan;

/**
 * Copies the times of a plan to `seconds`, indexed by plait_serve_limit. Unknown quantiles of TPOT
 * are replaced by the mean TPOT.
 */
void plait_serve_limits_found(const plait_serve_plan *plan, double seconds[PLAIT_SERVE_LIMITS]);

/** Reasons for which a search rejects deployments. */
typedef enum plait_serve_reject {
    PLAIT_SERVE_REJECT_CUT,    /* degrees do not divide the model */
    PLAIT_SERVE_REJECT_RULE,   /* the engine does not start such workers */
    PLAIT_SERVE_REJECT_MEMORY, /* weights or one sequence do not fit */
    PLAIT_SERVE_REJECT_LOAD,   /* overloaded even with all GPUs */
    PLAIT_SERVE_REJECT_TTFT,
    PLAIT_SERVE_REJECT_TPOT,
    PLAIT_SERVE_REJECT_BOUND, /* prefill/decode pairs above the best cost by their lower bound */
    PLAIT_SERVE_REJECT_SIMULATED, /* overloaded or over a bound in the simulation (S.108) */
    PLAIT_SERVE_REJECTS
} plait_serve_reject;

extern const char *const plait_serve_reject_name[PLAIT_SERVE_REJECTS + 1];

/**
 * Result of a search. `plan` has the plans that meet all bounds, cheapest first. `at_front` is the
 * Pareto front of tokens/s/GPU and TPOT within the bound on TTFT, lowest TPOT first. If no plan
 * meets the bounds, `nearest` is the plan that exceeds them by the least, and needs_ttft_s and
 * needs_tpot_s are the bounds that it would meet.
 */
typedef struct plait_serve_answer {
    int plans; /* number of plans in `plan` */
    plait_serve_plan plan[PLAIT_SERVE_MAX_PLANS];
    int front; /* number of plans in `at_front` */
    plait_serve_plan at_front[PLAIT_SERVE_MAX_FRONT];
    int64_t workers; /* valid workers */
    int64_t looked;  /* priced deployments */
    int64_t rejected[PLAIT_SERVE_REJECTS];
    bool has_nearest;
    plait_serve_plan nearest;
    double needs_ttft_s, needs_tpot_s;
    int simulations; /* simulated plans (S.108); 0: closed forms only */
} plait_serve_answer;

/**
 * The reason why an engine would not start such workers; NULL: it starts them. Plans of a search
 * break no rule; measured runs are priced without this check.
 */
const char *plait_serve_rule_broken(plait_engine_kind kind, const plait_model *model,
                                    const plait_load *load, plait_worker worker);

/**
 * Search the deployments of a question, by closed forms. *out is allocated by the caller.
 *
 * @return  RANGE if the question allows no engine, GPU or format; NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_serve_search(const plait_serve_options *question,
                                                 plait_arena *arena, plait_serve_answer *out,
                                                 plait_error *err);

/**
 * Price one deployment.
 *
 * @param plan  in: engine, workers, counts, formats, chunk; out: the other fields, if it can run
 * @param why   NULL if it can run; otherwise the reason with amounts, in `arena`
 * @return      RANGE if question or plan hold invalid values; NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_serve_evaluate(const plait_serve_options *question,
                                                   plait_arena *arena, plait_serve_plan *plan,
                                                   const char **why, plait_error *err);

/**
 * Simulate a plan of an answer under the question's load.
 *
 * @return  as plait_serve_simulate; also RANGE if the plan cannot run
 */
PLAIT_MUST_CHECK plait_status plait_serve_plan_simulate(const plait_serve_options *question,
                                                        const plait_serve_plan *plan,
                                                        plait_serve_sim_options draws,
                                                        plait_arena *arena,
                                                        plait_serve_sim_result *out,
                                                        plait_error *err);

/**
 * Simulate a priced plan and set its `simulated` and `drawn`; near saturation also replace its
 * times.
 *
 * @param draws  requests 0: some thousand, or near saturation enough to determine `carried`
 * @param why    NULL if the simulation carries the load within the bounds; otherwise the reason, in
 *               `arena`
 * @return       as plait_serve_simulate
 */
PLAIT_MUST_CHECK plait_status plait_serve_judge(const plait_serve_options *question,
                                                plait_serve_sim_options draws, plait_arena *arena,
                                                plait_serve_plan *plan, const char **why,
                                                plait_error *err);

/** Plans of an answer that plait_serve_decide checks; a report lists the same number. */
enum { PLAIT_SERVE_SHOWN = 10 };

/**
 * plait_serve_search, followed by simulations of the first PLAIT_SERVE_SHOWN plans: the first plan
 * is always simulated, the others only near saturation. A plan that is overloaded or exceeds a
 * bound in its simulation is replaced by the same plan with more workers, or by the next plan.
 * (S.108)
 */
PLAIT_MUST_CHECK plait_status plait_serve_decide(const plait_serve_options *question,
                                                 plait_serve_sim_options draws, plait_arena *arena,
                                                 plait_serve_answer *out, plait_error *err);

/**
 * Result for a question with Poisson arrivals that no deployment meets: the rate that its GPUs
 * carry, and the number of GPUs that carry its rate. `answers` is true if copies of the plan carry
 * the whole rate after all; then `plan` has these copies and `rate` is the rate of the question.
 */
typedef struct plait_serve_reach {
    double rate; /* requests/s carried by the question's GPUs within the bounds; 0: none */
    int gpus;    /* GPUs that carry the rate of the question; 0: not found */
    plait_serve_plan plan; /* deployment that carries `rate`, if `rate` is above 0 */
    bool answers;          /* the question has an answer after all */
} plait_serve_reach;

/**
 * Finds the rate and the number of GPUs by plait_serve_decide at other rates and with more GPUs.
 * (S.109)
 */
PLAIT_MUST_CHECK plait_status plait_serve_reach_of(const plait_serve_options *question,
                                                   plait_serve_sim_options draws,
                                                   plait_arena *arena, plait_serve_reach *out,
                                                   plait_error *err);

enum { PLAIT_SERVE_CURVE = 16 };

/** Predicted service of a deployment under Poisson arrivals of one rate. */
typedef struct plait_serve_point {
    double load; /* share of the sustained rate, 0.05 .. 1 */
    double rate; /* requests/s */
    double ttft_s, ttft_p99_s, tpot_s;
    double running; /* running sequences on a decode or aggregated worker */
    double output_tokens_per_s;
} plait_serve_point;

typedef struct plait_serve_curve {
    double rate; /* sustained requests/s: 99 % of the rate that overloads it */
    plait_serve_point point[PLAIT_SERVE_CURVE];
} plait_serve_curve;

/**
 * Latencies and throughput of a deployment over rising load, by the closed forms. (S.106)
 *
 * @param why  NULL if *out is filled; otherwise the reason why the plan cannot run
 * @return     as plait_serve_evaluate
 */
PLAIT_MUST_CHECK plait_status plait_serve_load_curve(const plait_serve_options *question,
                                                     const plait_serve_plan *plan,
                                                     plait_arena *arena, plait_serve_curve *out,
                                                     const char **why, plait_error *err);

/* ---- how many GPUs serve the requests of a day, with spare nodes for failures ----
 *
 * plait_fleet_find takes the deployments that plait_serve_search finds for the busiest hour, counts
 * the workers that each of them needs in every hour, adds spare nodes, and ranks the fleets by the
 * cost of the day. A reserved fleet keeps all nodes around the clock; an elastic one has in each
 * hour only the nodes that this hour needs.
 *
 * In order: plait_fleet_options_init, set the rates, plait_fleet_find.
 *
 * Left out: the network and storage of a fleet, several models on one, loads that change within an
 * hour.
 */

enum { PLAIT_FLEET_HOURS = 24, PLAIT_FLEET_BEST = 5 };

/** How the nodes of a fleet are paid for. */
typedef enum plait_fleet_mode {
    PLAIT_FLEET_RESERVED, /* the nodes of the busiest hour, around the clock */
    PLAIT_FLEET_ELASTIC,  /* the nodes of each hour, started one restart earlier */
    PLAIT_FLEET_MODES
} plait_fleet_mode;

typedef struct plait_fleet_options {
    double rate[PLAIT_FLEET_HOURS]; /* requests/s of each hour of a day */
    double available;               /* required share of time with enough workers up, below 1 */
    plait_reliability failures; /* failures of nodes; spares < 0: as many as `available` takes */
    double usd_per_gpu_hour;    /* price; 0: that of the accelerator's file */
    plait_fleet_mode mode;      /* the mode whose cost ranks the fleets */
    const void *reserved[8];    /* zero; later versions turn it into fields */
} plait_fleet_options;

/** Default options: 99.9 % available, default failures, reserved. Set the rates. */
void plait_fleet_options_init(plait_fleet_options *ask);

/** The condition that an hour with one worker less would violate: constant, and word in reports. */
#define PLAIT_FLEET_LACK_LIST(X)                                                                   \
    X(NOTHING, "-")                                                                                \
    X(LOAD, "load")                                                                                \
    X(TTFT, "TTFT")                                                                                \
    X(TPOT, "TPOT")

typedef enum plait_fleet_lack {
#define X(constant, word) PLAIT_FLEET_LACKS_##constant,
    PLAIT_FLEET_LACK_LIST(X)
#undef X
        PLAIT_FLEET_LACKS
} plait_fleet_lack;

extern const char *const plait_fleet_lack_name[PLAIT_FLEET_LACKS + 1];

typedef struct plait_fleet_hour {
    double rate;                    /* requests/s */
    int workers[PLAIT_SERVE_ROLES]; /* fewest workers that meet the bounds; 0 without requests */
    int nodes;                      /* nodes of these workers */
    int spare_nodes;                /* spare nodes, if only this hour is paid for */
    double available;               /* share of time in which enough workers of all roles are up */
    plait_fleet_lack lack;
    double ttft_s, ttft_p99_s,
        tpot_s;                     /* times of `workers`, without spares; NaN without requests */
    double used[PLAIT_FLEET_MODES]; /* utilisation: rate over the rate that all nodes sustain
                                     * within the bounds */
} plait_fleet_hour;

/** The set of workers of one role that fail together, since they share nodes. (S.102) */
typedef struct plait_fleet_unit {
    int nodes;        /* nodes that one worker spans, or 1 */
    int workers;      /* workers of one unit */
    double available; /* share of time that a unit is up */
} plait_fleet_unit;

/** Size and cost of a fleet. */
typedef struct plait_fleet_totals {
    int nodes, gpus;                      /* size of the reserved fleet */
    double node_hours[PLAIT_FLEET_MODES]; /* node-hours of a day */
    double usd[PLAIT_FLEET_MODES];        /* cost of a month; NaN: unknown */
} plait_fleet_totals;

typedef struct plait_fleet {
    plait_serve_plan plan; /* deployment of the busiest hour, with its service there */
    int busiest;           /* hour with the most nodes and, among equals, the most requests */
    plait_fleet_unit unit[PLAIT_SERVE_ROLES];
    plait_fleet_hour hour[PLAIT_FLEET_HOURS];
    plait_fleet_totals totals;
    plait_fleet_totals band[2]; /* 80 % band: totals with the highest and the lowest rate in the
                                 * engine's band */
    double sustained;           /* maximum requests/s of all nodes within the bounds */
    double tokens_per_day;      /* output tokens */
    double usd_per_mtok[PLAIT_FLEET_MODES];
    double kwh[PLAIT_FLEET_MODES]; /* energy of a month; NaN: unknown */
    bool simulated;                /* whether a simulation of its tightest hour meets the bounds */
    double margin; /* factor on the rates for which workers are counted, chosen by the simulation */
} plait_fleet;

/**
 * Result of plait_fleet_find. If no fleet is within the limit of GPUs, `needs_gpus` is the size of
 * the smallest fleet above it, or 0 if there is no such fleet.
 */
typedef struct plait_fleet_answer {
    int gpus_per_node;
    int fleets;     /* number of fleets in `fleet`, cheapest first */
    int considered; /* deployments in the ranking */
    int divided;    /* divisor of the busiest hour's rate in the search */
    plait_fleet fleet[PLAIT_FLEET_BEST];
    int needs_gpus; /* GPUs of the smallest fleet above the limit; 0: none */
    bool unsteady;  /* whether some deployment has no sufficient number of spares */
    const plait_serve_answer *search;
} plait_fleet_answer;

/**
 * Probability that at least `needed` of `units` independent units are up. (S.103)
 *
 * @param available  share of time that one unit is up
 */
double plait_fleet_up(int units, int needed, double available);

/** The fewest spare units with plait_fleet_up >= share; -1: more than PLAIT_MOST_SPARES. (S.103) */
int plait_fleet_spares(int needed, double available, double share);

/**
 * The cheapest fleets for a day of requests. (S.101)
 *
 * @param question  its load is of kind RATE; the rates of `ask` replace its rate
 * @param out       out->search lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_fleet_find(const plait_serve_options *question,
                                               const plait_fleet_options *ask, plait_arena *arena,
                                               plait_fleet_answer *out, plait_error *err);

/** Hours in a month: 8760 / 12. */
double plait_fleet_month_hours(void);

/* ---- the files that start a deployment ----
 *
 * In order: plait_serve_launch_init, set the deployment, plait_serve_launch_render, which makes the
 * files of one target in memory. For workers that no search chose, plait_serve_rule_broken first
 * checks that the engine starts them.
 *
 * Left out: load balancing over replicas of aggregated workers, which any HTTP balancer does;
 * certificates, host names and storage of a cluster.
 */

/** The software that reads the files: an engine, Dynamo with the plan's engine, or llm-d's chart. */
typedef enum plait_serve_target {
    PLAIT_SERVE_TARGET_VLLM,
    PLAIT_SERVE_TARGET_SGLANG,
    PLAIT_SERVE_TARGET_TRTLLM,
    PLAIT_SERVE_TARGET_DYNAMO,
    PLAIT_SERVE_TARGET_LLMD,
    PLAIT_SERVE_TARGETS
} plait_serve_target;

extern const char *const plait_serve_target_name[PLAIT_SERVE_TARGETS + 1];

/** The form of the files that start an engine's workers. Dynamo and llm-d have their own. */
typedef enum plait_serve_form {
    PLAIT_SERVE_SCRIPT,
    PLAIT_SERVE_SYSTEMD,
    PLAIT_SERVE_KUBERNETES,
    PLAIT_SERVE_FORMS
} plait_serve_form;

extern const char *const plait_serve_form_name[PLAIT_SERVE_FORMS + 1];

typedef struct plait_serve_launch {
    const plait_model *model;
    const char *checkpoint; /* checkpoint of the weights: a folder, a name on the Hub, or for llm-d
                               pvc://CLAIM/PATH */
    const plait_cluster *cluster;
    const plait_serve_plan *plan;
    plait_load load;
    plait_serve_form form;
    const char *container;   /* container image; NULL: a placeholder */
    double max_model_len;    /* longest request in tokens; 0: twice the mean request */
    const void *reserved[7]; /* zero; later versions turn it into fields */
} plait_serve_launch;

/** An empty struct: set model, checkpoint, cluster, plan and load. */
void plait_serve_launch_init(plait_serve_launch *launch);

/** The target that is the engine itself. */
plait_serve_target plait_serve_target_of(plait_engine_kind kind);

/** The engine that a target starts for a plan of engine `planned`; llm-d starts vLLM. */
plait_engine_kind plait_serve_target_engine(plait_serve_target target, plait_engine_kind planned);

/**
 * Make the files of a deployment. *out lives in `arena`.
 *
 * Fails (RANGE) if the target is a different engine that does not start these workers, or if the
 * target has no options for the speculative decoding of the load.
 */
PLAIT_MUST_CHECK plait_status plait_serve_launch_render(const plait_serve_launch *launch,
                                                        plait_serve_target target,
                                                        plait_arena *arena,
                                                        plait_launch_folder *out, plait_error *err);

/* ---- communication volume of one request, call by call ----
 *
 * A model that is sharded over tp tensor-parallel and pp pipeline ranks answers a prompt by one
 * prefill pass, which also yields the first token, and one decode pass for each further token.
 * plait_serve_volume_of lists the collectives and sends of both phases: their number, their shape,
 * the bytes of a message, and their volume by each way of counting. The closed forms after it bound
 * latency and memory: a decode step, a prefill, the cache, the servers of disaggregated serving.
 *
 * Left out: sequence, context, expert and data parallelism; seconds of collectives
 * (lowlevel/collective.h); batches that change during a run.
 *
 * Source of the volumes: "Characterizing Communication Patterns in Distributed Large Language Model
 * Inference", Hot Interconnects 2025, arXiv 2507.14392, tables III to VI. Source of the other
 * formulas, unless they name their own: Austin et al., "How to Scale Your Model", chapter on
 * inference.
 */

typedef enum plait_serve_phase {
    PLAIT_SERVE_PREFILL,
    PLAIT_SERVE_DECODE,
    PLAIT_SERVE_PHASES
} plait_serve_phase;

/** Kinds of calls in the order of a pass: constant, and description in reports. */
#define PLAIT_SERVE_CALL_LIST(X)                                                                   \
    X(embedding, "all-reduce of the embedding, which is sharded by rows")                          \
    X(all_reduce, "all-reduce after attention and after the feed-forward part")                    \
    X(send, "send of hidden states and residual to the next stage, by columns")                    \
    X(all_gather, "all-gather of the received columns in the next stage")                          \
    X(gather, "gather of the logits to one rank")

typedef enum plait_serve_call {
#define X(name, what) PLAIT_SERVE_##name,
    PLAIT_SERVE_CALL_LIST(X)
#undef X
        PLAIT_SERVE_CALLS
} plait_serve_call;

/** Ways to count bytes. (C.356) */
typedef enum plait_serve_counting {
    PLAIT_SERVE_PUBLISHED, /* by the study's formulas, which mix the next two */
    PLAIT_SERVE_ONE_GPU,   /* bytes that one participating GPU sends */
    PLAIT_SERVE_ALL_GPUS,  /* bytes that all GPUs send together */
    PLAIT_SERVE_COUNTINGS
} plait_serve_counting;

extern const char *const plait_serve_call_what[PLAIT_SERVE_CALLS + 1];
extern const char *const plait_serve_phase_name[PLAIT_SERVE_PHASES + 1];
extern const char *const plait_serve_counting_name[PLAIT_SERVE_COUNTINGS + 1];

/** One request, or several of equal length in one batch, and the degrees of the model. */
typedef struct plait_serve_request {
    int sequences;
    int prompt_tokens; /* S_p, tokens of one prompt */
    int output_tokens; /* S_d, output tokens of one sequence, the prefill's first token included */
    int tp;
    int pp;
    double element_bytes; /* b, bytes of an element of activations and logits */
} plait_serve_request;

/**
 * Calls of one kind in one phase. `count` has the all-reduces and gathers of the first stage, and
 * the sends and all-gathers of all stages; if it is 0, the phase has no such call. `all_count` has
 * the calls of the whole pipeline, each group of tp ranks once.
 */
typedef struct plait_serve_line {
    int64_t count;                       /* calls of the first stage, or of all */
    int64_t all_count;                   /* calls of the whole pipeline */
    int64_t rows;                        /* tokens of a message */
    int64_t columns;                     /* elements of a token: h, h/t or V/t */
    double message_bytes;                /* rows x columns x b */
    double bytes[PLAIT_SERVE_COUNTINGS]; /* bytes of all calls in the phase */
} plait_serve_line;

typedef struct plait_serve_volume {
    plait_serve_line line[PLAIT_SERVE_PHASES][PLAIT_SERVE_CALLS];
    double bytes[PLAIT_SERVE_COUNTINGS]; /* bytes of both phases */
} plait_serve_volume;

/**
 * List the calls of a request. (C.355, C.356)
 *
 * Layers are assigned to stages evenly; if pp does not divide them, the first stages have one more.
 * V/t is rounded up. Each mixer and each feed-forward part of a layer ends with an all-reduce.
 *
 * @param out  filled completely; nothing is allocated
 * @return     RANGE if model is NULL, a count is below 1, tp does not divide the hidden width, or
 *             pp exceeds the number of layers
 */
PLAIT_MUST_CHECK plait_status plait_serve_volume_of(const plait_model *model,
                                                    plait_serve_request request,
                                                    plait_serve_volume *out, plait_error *err);

/*
 * The functions below require arguments of 0 or more; a negative number or NaN is a failed assert.
 * If a divisor is 0, the result is 0 for a numerator of 0 and HUGE_VAL otherwise, unless a function
 * documents another result.
 */

/* ---- seconds ----------------------------------------------------------------------------- */

/**
 * Seconds of a decode pass without communication: the time to read the cache once, plus the longer
 * of reading the weights and multiplying by them. B c/W + max(2 B P/C, w/W) (C.357)
 *
 * @param batch           B >= 0, sequences
 * @param cached_bytes    c >= 0, cached bytes of one sequence
 * @param params          P >= 0, parameters that a token uses; 0: the pass is bound by memory
 * @param weight_bytes    w >= 0, bytes of all weights
 * @param bytes_per_s     W >= 0, memory bandwidth of all GPUs that work at the same time
 * @param flops_per_s     C >= 0, FLOP/s of the same GPUs; ignored if params is 0
 * @return                HUGE_VAL at a rate of 0, unless there is nothing to read or multiply
 */
double plait_serve_decode_s(double batch, double cached_bytes, double params, double weight_bytes,
                            double bytes_per_s, double flops_per_s);

/**
 * Seconds of a prefill without communication: 2 P S / C. (C.357)
 *
 * @param params       P >= 0, parameters that a token uses
 * @param tokens       S >= 0
 * @param flops_per_s  C >= 0, reached by all GPUs that work at the same time
 */
double plait_serve_prefill_s(double params, double tokens, double flops_per_s);

/**
 * Seconds of expert dispatch and combine at the wire rate: n k h (d + r) / W. (C.357)
 *
 * @param tokens       n >= 0, tokens of a GPU
 * @param copies       k >= 0, copies of each token
 * @param hidden       h >= 0, hidden width
 * @param out_bytes    d >= 0, bytes of a dispatched element
 * @param back_bytes   r >= 0, bytes of a combined element
 * @param bytes_per_s  W >= 0, wire rate of a GPU
 *
 * Source: DeepSeek-AI, "Insights into DeepSeek-V3", arXiv 2505.09343, section 2.3.2.
 */
double plait_serve_exchange_s(double tokens, double copies, double hidden, double out_bytes,
                              double back_bytes, double bytes_per_s);

/* ---- memory and rates -------------------------------------------------------------------- */

/** Bytes of the cache: c tokens B, with c bytes of a token and B sequences. (C.358) */
double plait_serve_cached_bytes(double bytes_per_token, double tokens, double sequences);

/**
 * Number of sequences that fit in memory with the weights, not rounded: (M - w) / c. (C.358)
 *
 * @return  0 if the weights do not fit or leave no memory; HUGE_VAL if c is 0 and they leave some
 */
double plait_serve_most_sequences(double memory_bytes, double weight_bytes, double cached_bytes);

/**
 * Cached tokens freed per step in a steady state: B (S_p + S_d) / S_d; HUGE_VAL for an output of 0.
 * (C.358)
 */
double plait_serve_evicted_tokens(double sequences, double prompt_tokens, double output_tokens);

/**
 * Tokens per second of a batch whose step yields one token for each sequence: B / t; HUGE_VAL for a
 * step of 0 s. (C.359)
 */
double plait_serve_tokens_per_s(double sequences, double step_s);

/**
 * Prefill servers that keep one decode server busy: T_prefill B / (t S_d); HUGE_VAL if t S_d is 0.
 * (C.359)
 */
double plait_serve_prefill_servers(double prefill_s, double sequences, double step_s,
                                   double output_tokens);

/* ---- measured runs of serving, and predictions for them ----
 *
 * In order: plait_serve_runs_load, plait_serve_run_price for each row (a price takes microseconds,
 * so a fit of an engine's constants may repeat it), plait_serve_validate for the errors of all
 * rows.
 *
 * docs/reference/files/runs.md lists the columns of a file. A row with trust `low` is priced, but
 * left out of the error statistics.
 */

typedef enum plait_serve_mode {
    PLAIT_SERVE_RUN_AGGREGATED,
    PLAIT_SERVE_RUN_DISAGGREGATED,
    PLAIT_SERVE_RUN_STATIC,
    PLAIT_SERVE_RUN_OFFLINE,
    PLAIT_SERVE_RUN_ARRIVING,
    PLAIT_SERVE_RUN_PREFILL, /* prefill alone, not priced */
    PLAIT_SERVE_RUN_DECODE,  /* decoding alone, not priced */
    PLAIT_SERVE_RUN_MODES
} plait_serve_mode;

/** The words of a file: agg, disagg, static, offline, server, prefill, decode. */
extern const char *const plait_serve_mode_word[PLAIT_SERVE_RUN_MODES + 1];

enum { PLAIT_SERVE_E2E = PLAIT_SERVE_FIGURES, PLAIT_SERVE_MEASURES };

/**
 * One row. If its degrees are not published, it has several `way`s, and the best of them is priced.
 * A row without a price has a reason in `note`.
 */
typedef struct plait_serve_run {
    const char *id, *source, *group, *model, *accelerator;
    plait_serve_mode mode;
    plait_engine_kind kind;
    const char *vendor; /* vendor of the accelerator */
    const plait_accelerator *gpu;
    int month;        /* month of the run, 2506: June 2025; 0: unknown */
    int version;      /* version of the engine, 103: 1.3; 0: unknown */
    bool low;         /* trust is `low`: left out of the errors */
    const char *note; /* reason why it has no price; "": it has one */
    double gpus;
    plait_load load;
    int ways;                        /* deployments that the published degrees allow */
    plait_deployment *way;           /* [ways]; their engine is not set */
    plait_serve_memory (*memory)[2]; /* [ways], of each pool */
    double chunk_tokens;             /* token budget of a step; 0: the engine's default */
    double poll_steps, gather_steps;
    double measured[PLAIT_SERVE_MEASURES]; /* s, s, tokens/s, s; NaN: not measured */
    const plait_model *shape;              /* NULL: unknown model */
} plait_serve_run;

typedef struct plait_serve_runs {
    const char *name; /* name of the file */
    size_t count;
    plait_serve_run *run;
    size_t engines;
    plait_engine *engine; /* all profiles */
    const plait_engine *
        *given; /* [count] profile of each run; NULL, or an element NULL: by the run's month */
} plait_serve_runs;

/**
 * Load a file of measured runs and all engine profiles. *out lives in `arena`. Fails as
 * plait_runs_load (validate.h), or with NOMEM.
 */
PLAIT_MUST_CHECK plait_status plait_serve_runs_load(const char *path, plait_arena *arena,
                                                    plait_serve_runs *out, plait_error *err);

/** The service that an engine's profile predicts for a run; run->note must be "". */
plait_service plait_serve_run_price(const plait_serve_run *run, const plait_engine *engine);

/** One figure of a service: TTFT, TPOT, output tokens/s or E2E (PLAIT_SERVE_E2E). */
double plait_service_figure(const plait_service *service, int figure);

/** Errors of one figure of one mode: |predicted / measured - 1|. */
typedef struct plait_serve_errors {
    int rows;
    double median, mean;
    double within;  /* share of rows within 20 % */
    double bias;    /* median of predicted / measured, less 1 */
    double covered; /* share of rows inside the engine's band */
} plait_serve_errors;

enum { PLAIT_SERVE_PICKS = 4 };

/**
 * Result of plait_serve_validate. A choice is a group of runs that differ only in how they ran,
 * under one bound on TPOT: the pick is the run with the highest predicted throughput within the
 * bound.
 */
typedef struct plait_serve_validation {
    const plait_serve_runs *runs;
    plait_service *service; /* [runs->count] */
    const plait_engine **engine;
    int priced, refused, low;
    plait_serve_errors errors[PLAIT_SERVE_RUN_MODES][PLAIT_SERVE_MEASURES];
    int choices;
    double choice_share; /* mean measured throughput of the picks over the best in their group */
    double choice_over;  /* share of picks whose measured TPOT exceeds the bound by over 10 % */
    plait_serve_evidence *evidence; /* [runs->count] of each run's engine */
    /* Runs with a measured figure and the share of them inside the bands, by evidence. */
    struct plait_serve_coverage {
        int rows;
        double covered;
    } coverage[PLAIT_SERVE_EVIDENCES][PLAIT_SERVE_FIGURES];
    /* The choices if the TPOT of a pick is required within the bound with some confidence. */
    struct plait_serve_picks {
        double confidence;
        int choices;
        double share, over;
    } picks[PLAIT_SERVE_PICKS];
} plait_serve_validation;

/**
 * Price every run, and compute the errors and choices.
 *
 * @param runs  result of plait_serve_runs_load
 * @param out   lives in `arena`
 * @return      NOMEM only
 */
PLAIT_MUST_CHECK plait_status plait_serve_validate(const plait_serve_runs *runs, plait_arena *arena,
                                                   plait_serve_validation *out, plait_error *err);

PLAIT_END_DECLS

#endif
