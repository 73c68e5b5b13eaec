/*
 * serve.h - what serving a model takes: seconds of an engine's step, and what users see of it.
 *
 * A worker is tp x pp x dp_attention GPUs that run one copy of the model; a deployment is workers of one role
 * (aggregated), or prefill workers that hand their caches to decode workers (disaggregated), so many
 * replicas of it. A step table (plait_step_table_fill) holds what passes of one worker take on the
 * hardware, apart from the engine; plait_step_s adds the engine's own numbers; plait_serve makes
 * of steps what a load sees: time to first token (TTFT), time per output token (TPOT), tokens/s.
 *
 * Times are seconds, sizes bytes, loads of the whole deployment unless a comment says otherwise.
 *
 * Left out: images and audio, adapters, beams, guided decoding.
 */
#ifndef PLAIT_SERVE_H
#define PLAIT_SERVE_H

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/cluster.h"
#include "plait/error.h"
#include "plait/model.h"

PLAIT_BEGIN_DECLS

/* ---- what runs --------------------------------------------------------------------------- */

/** Formats of weights. Four-bit ones of a model with experts are those of the experts alone. */
#define PLAIT_WEIGHT_LIST(X)                                                                       \
    X(BF16, "bf16")                                                                                \
    X(FP8, "fp8")             /* one scale a tensor or a token */                                  \
    X(FP8_BLOCK, "fp8_block") /* one a block of 128 */                                             \
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

/** Engines; an unknown one is priced as the mean of what is known of its accelerator. */
typedef enum plait_engine_kind {
    PLAIT_ENGINE_VLLM,
    PLAIT_ENGINE_SGLANG,
    PLAIT_ENGINE_TRTLLM,
    PLAIT_ENGINES
} plait_engine_kind;

extern const char *const plait_engine_name[PLAIT_ENGINES + 1];

/** Formats that an accelerator multiplies in itself: bits 1 << plait_weight_format. */
unsigned plait_serve_native_weights(const plait_accelerator *gpu);

/** These, and the one that a model's weights are published in: in place of its kin, or beside them. */
unsigned plait_serve_usual_weights(const plait_accelerator *gpu, const plait_model *model);

/** How one worker is cut: tp pp dp_attention GPUs, experts also by tp dp_attention / ep. */
typedef struct plait_worker {
    int tp; /* tensor ranks of attention */
    int pp;
    int dp_attention; /* ranks with sequences of their own */
    int ep;           /* expert ranks; 1 for dense models */
} plait_worker;

int plait_worker_gpus(plait_worker worker);

/**
 * Numbers of one generation of an engine's software: field, key, unit, least and most, and what is assumed where
 * no run says more. A profile names twelve of them at most. (C.362)
 */
#define PLAIT_ENGINE_NUMBERS(X)                                                                    \
    X(linear, "linear", 1.0, 0.3, 4.0, 1.0)                /* products' time over the kernels' */  \
    X(compute, "compute", 1.0, 0.3, 4.0, 1.0)              /* the same of many tokens */           \
    X(attention, "attention", 1.0, 0.1, 1.2, 1.0)          /* decode attention's speed */          \
    X(experts, "experts", 1.0, 0.3, 6.0, 1.3)              /* grouped products' time */            \
    X(experts_4bit, "experts_4bit", 1.0, 0.3, 6.0, 0.9)    /* the same of weights in four bits */  \
    X(reduce_s, "reduce_us", 1e-6, 1.0, 100.0, 9.0)        /* all-reduce of nothing by two */      \
    X(layer_s, "layer_us", 1e-6, 0.0, 500.0, 5.0)          /* more a step and layer */             \
    X(moe_layer_s, "moe_layer_us", 1e-6, 0.0, 500.0, 20.0) /* more of a layer with experts */      \
    X(step_s, "step_us", 1e-6, 0.0, 50000.0, 1000.0)       /* more a step */                       \
    X(sequence_s, "sequence_us", 1e-6, 0.0, 1000.0, 0.0)   /* more a sequence that decodes */      \
    X(launch_s, "launch_us", 1e-6, 0.0, 1000.0, 30.0)      /* a kernel in no CUDA graph */         \
    X(first_s, "first_ms", 1e-3, 0.0, 1000.0, 30.0)        /* a request's way to its first step */ \
    X(handover, "handover", 1.0, 0.005, 1.0, 0.2)          /* share of links' rate for caches */

enum {
#define X(field, word, unit, least, most, assumed) PLAIT_ENGINE_##field,
    PLAIT_ENGINE_NUMBERS(X)
#undef X
        PLAIT_ENGINE_NUMBER_COUNT
};

/** What errors are counted of, and bands given. */
typedef enum plait_serve_figure {
    PLAIT_SERVE_TTFT,
    PLAIT_SERVE_TPOT,
    PLAIT_SERVE_RATE, /* output tokens/s */
    PLAIT_SERVE_FIGURES
} plait_serve_figure;

typedef struct plait_engine {
    const char *name; /* of the profile */
    const char *source;
    plait_engine_kind kind;
    int until;          /* the last month, 2506: June 2025, that it is of; 0: the newest */
    int before;         /* the first version, 113: 1.13, that it is not of; 0: none */
    const char *vendor; /* of the accelerators that it is of; "": any other */
#define X(field, word, unit, least, most, assumed) double field;
    PLAIT_ENGINE_NUMBERS(X)
#undef X
    bool determined[PLAIT_ENGINE_NUMBER_COUNT]; /* by runs; else assumed */
    int rows;                                   /* of these */
    double band[PLAIT_SERVE_FIGURES][2]; /* measured over predicted, of 80 % of unseen rows */
    double chunk_tokens;                 /* default budget of a step ... */
    double max_sequences;                /* ... and cap of running sequences of a worker */
    double memory_fraction;              /* of the accelerator's that it takes */
    double graph_bytes;                  /* beside weights and cache, one GPU */
    double block_tokens;                 /* of the cache */
    double poll_steps;                   /* from one look at what has arrived to the next */
    double gather_steps;                 /* that a prompt waits for others, at most; 0: none */
} plait_engine;

/** Sets all numbers to what is assumed of an engine that nobody has measured. */
void plait_engine_assume(plait_engine *engine);

/** Load one profile of clusters/engines. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status plait_engine_load(const char *path, plait_arena *arena,
                                                plait_engine *out, plait_error *err);

/**
 * All profiles of an engine, sorted by name.
 *
 * @param profiles  out: [count], in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_engine_list(plait_arena *arena, plait_engine **profiles,
                                                size_t *count, plait_error *err);

/**
 * The profile of an engine's software as it was at a month on a vendor's accelerators.
 *
 * @param month    2506: June 2025; 0: not known
 * @param version  of the software, counts where no month does: 12 is 0.12, 103 is 1.3; 0: the newest
 * @return NULL: there is none of this engine
 */
const plait_engine *plait_engine_of(const plait_engine *profiles, size_t count,
                                    plait_engine_kind kind, const char *vendor, int month,
                                    int version);

/* ---- a step ------------------------------------------------------------------------------ */

enum { PLAIT_STEP_POINTS = 34, PLAIT_STEP_CONTEXTS = 42 };

/**
 * What passes of one worker take, by tokens of one attention rank and by context, on the hardware
 * alone: kernels without their launches, collectives apart. Of all stages one after the other. (C.360)
 */
typedef struct plait_step_table {
    plait_worker worker;
    int layers, moe_layers;
    double linear_s[PLAIT_STEP_POINTS];   /* single products and passes over memory, by tokens */
    double experts_s[PLAIT_STEP_POINTS];  /* grouped products */
    double exchange_s[PLAIT_STEP_POINTS]; /* tokens to and from experts of other attention ranks */
    double reduce_s[PLAIT_STEP_POINTS];   /* all-reduces as NCCL makes them */
    double stages_s[PLAIT_STEP_POINTS];   /* sends between stages */
    double head_s[PLAIT_STEP_POINTS];     /* vocabulary layer and sampling, by sequences */
    double decode_s[PLAIT_STEP_CONTEXTS]; /* attention of one new token, by context */
    double few_s[PLAIT_STEP_CONTEXTS];    /* and what a step has more, however few they are */
    double prompt_s[PLAIT_STEP_CONTEXTS]; /* attention of a whole prompt of so many tokens */
    double kernels;                       /* of a step */
    bool four_bits;                       /* of experts' weights, */
    bool widened;                         /* which the accelerator multiplies in 16 */
    double all_reduces;                   /* of a step */
    double reduce_bytes;                  /* of one all-reduce, a token */
    double bus_bytes_per_s;               /* inside the domain; 0: they leave it */
} plait_step_table;

/** What is asked of one worker's kernels. */
typedef struct plait_serving {
    const plait_model *model;
    const plait_cluster *cluster;
    plait_worker worker;
    plait_weight_format weights;
    plait_kv_format kv;
} plait_serving;

/**
 * Fill the table. Costs some milliseconds; nothing else here costs more than some microseconds.
 *
 * @return a reason why this cannot run (heads that tp does not divide, a format that the
 *         accelerator has no kernels for, ...), in static storage; NULL: filled
 */
const char *plait_step_table_fill(const plait_serving *serving, plait_step_table *out);

/** Work of one step on each attention rank. */
typedef struct plait_step {
    double sequences; /* that decode, on one attention rank */
    double context;   /* mean keys of each, tokens */
    double verified;  /* tokens of each: 1 without speculation */
    double prompt;    /* tokens of prompts, on one attention rank */
    double prompts;   /* that have equal shares of these; 0: one */
    double before;    /* of the context of each cached already */
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
 * Seconds of one step.
 *
 * @param parts  receives what each part takes; may be NULL
 */
double plait_step_s(const plait_step_table *table, const plait_engine *engine, plait_step step,
                    double parts[PLAIT_STEP_PARTS]);

/* ---- memory ------------------------------------------------------------------------------ */

/** Memory of one GPU of a worker, bytes. (C.363) */
typedef struct plait_serve_memory {
    double all; /* of the accelerator */
    double weights;
    double token;    /* of one token of one sequence, all layers without a window */
    double sequence; /* whatever its length: states, and windows that are full */
    double mean;     /* tokens of the sequences that `sequence` is of, when they are longest */
} plait_serve_memory;

/** @param mean  tokens of a sequence when it is longest */
plait_serve_memory plait_serve_memory_of(const plait_serving *serving, double mean);

/** Bytes of one GPU that an engine has for weights and for what sequences hold. */
double plait_serve_room_bytes(const plait_serve_memory *memory, const plait_engine *engine);

/** Bytes of one GPU that so many tokens of sequences hold, with what is empty of their last blocks. */
double plait_serve_held_bytes(const plait_serve_memory *memory, const plait_engine *engine,
                              double tokens);

/** Tokens that one attention rank can hold under an engine; 0: the weights do not fit. */
double plait_serve_kv_tokens(const plait_serve_memory *memory, const plait_engine *engine);

/* ---- service ----------------------------------------------------------------------------- */

typedef enum plait_load_kind {
    PLAIT_LOAD_CLOSED,  /* so many users, each with one request at a time */
    PLAIT_LOAD_RATE,    /* Poisson arrivals */
    PLAIT_LOAD_STATIC,  /* one batch started together */
    PLAIT_LOAD_OFFLINE, /* all requests are there from the start */
    PLAIT_LOAD_KINDS
} plait_load_kind;

typedef struct plait_load {
    plait_load_kind kind;
    double input, output; /* mean tokens */
    double cached;        /* of the input, in a prefix cache */
    double spread;        /* lengths are uniform within mean (1 - spread) and mean (1 + spread) */
    double concurrency;   /* CLOSED and STATIC (its batch), of the deployment */
    double rounds;        /* CLOSED: requests of each user, all of whom start at once; 0: endless */
    double rate;          /* RATE: requests/s, of the deployment */
    double accept;        /* of each drafted token; 0: no speculation */
    int draft;            /* tokens drafted a step */
    double draft_layers;  /* share of the model's layers that one drafted token runs */
} plait_load;

/** One role of a deployment: aggregated, prefill or decode. */
typedef struct plait_pool {
    const plait_step_table *table;
    int workers;                     /* of one replica */
    double chunk_tokens;             /* of a step, on an attention rank; 0: no bound */
    double max_sequences;            /* running on a worker; 0: no bound */
    double kv_tokens;                /* that one attention rank can hold; 0: no bound */
    double poll_steps, gather_steps; /* as the engine's; 0: at once */
} plait_pool;

typedef struct plait_deployment {
    const plait_engine *engine;
    int replicas;
    bool disaggregated;
    plait_pool pool[2];       /* aggregated: one; else prefill, decode */
    plait_link transfer;      /* of caches, of one GPU of a prefill worker */
    double cache_token_bytes; /* of a token, on one GPU */
} plait_deployment;

/**
 * A pool of workers under an engine.
 *
 * @param chunk_tokens  of a step on a worker; 0: the engine's
 */
plait_pool plait_pool_of(const plait_step_table *table, const plait_engine *engine,
                         const plait_serve_memory *memory, int workers, double chunk_tokens);

/** What carries the caches of one GPU between workers: the links that leave a scale-up domain. */
plait_link plait_serve_transfer(const plait_cluster *cluster);

/** What bounds a deployment. */
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

typedef struct plait_service {
    bool stable;   /* false: more comes than leaves, or no sequence fits; the rest is not filled */
    double ttft_s; /* mean */
    double tpot_s; /* mean, without the first token */
    double e2e_s;
    double output_tokens_per_s; /* of the deployment */
    double requests_per_s;
    double batch;                   /* running on a decode (or aggregated) worker */
    double utilisation;             /* of the prefill pool, or of steps by prompts */
    double step_s;                  /* of decoding alone */
    double prompt_s;                /* one prompt by itself */
    double queue_s;                 /* of the TTFT */
    double parts[PLAIT_STEP_PARTS]; /* of step_s */
    plait_serve_bind binds;
} plait_service;

/** Closed forms of what a load sees. (C.370 to C.377) */
plait_service plait_serve(const plait_deployment *deployment, plait_load load);

/** What one worker of a role does at most, whatever stands beside it. */
typedef struct plait_role_limit {
    double requests_per_s; /* 0: it cannot meet the bound */
    double least_s; /* prefill: of TTFT, without a wait; decode: of the rest, with one sequence */
} plait_role_limit;

/** Prompts of the load's length, one after the other as they are ready; the bound on TTFT is the caller's. */
plait_role_limit plait_serve_prefill_limit(const plait_pool *pool, const plait_engine *engine,
                                           const plait_load *load);

/** TPOT of so many sequences on each attention rank where no prompts disturb. */
double plait_serve_decode_tpot(const plait_pool *pool, const plait_engine *engine,
                               const plait_load *load, double sequences);

/** @param tpot_s  bound; 0: none. The rate may be 1.1 times too high, never too low. */
plait_role_limit plait_serve_decode_limit(const plait_pool *pool, const plait_engine *engine,
                                          const plait_load *load, double tpot_s);

/* ---- simulated service ------------------------------------------------------------------- */

/** How a simulation draws. */
typedef struct plait_serve_draws {
    uint64_t seed;
    int requests; /* until so many have finished */
    int unseen;   /* of these, the first so many that arrive are not counted */
    double burst; /* arrivals come so many at once; 0 and 1: each by itself */
    bool (*stop)(void *context, double done); /* asked now and then, 0 .. 1 done; NULL: never */
    void *stop_context;
} plait_serve_draws;

/** Times of requests: the mean, the middle, and those that 95 and 99 of 100 stay within. */
typedef struct plait_serve_seen {
    double mean_s, p50_s, p95_s, p99_s;
} plait_serve_seen;

typedef struct plait_serve_drawn {
    int requests;  /* that finished */
    int preempted; /* how often one gave up its cache and started again */
    bool stopped;
    double
        carried; /* share of arriving requests that leave as fast as they come; 1: no queue grows (C.364) */
    bool full; /* carried is below 1 by more than 2/sqrt(requests): more comes than leaves */
    double steps;
    double seconds; /* simulated */
    plait_serve_seen ttft, tpot, e2e;
    double output_tokens_per_s;
} plait_serve_drawn;

/**
 * Every step of every worker of a deployment under a load: requests go to the worker with the fewest, prompts
 * are taken in order within each step's budget. vLLM and SGLang start a request when its prompt has room,
 * and when the cache is full the newest starts again; TensorRT-LLM, and workers that only decode, start it
 * when its whole length has room. (C.364)
 *
 * Same seed, same result. Some million steps a second.
 *
 * @return RANGE where deployment, load or draws hold values that there are not, NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_serve_simulate(const plait_deployment *deployment,
                                                   plait_load load, plait_serve_draws draws,
                                                   plait_arena *arena, plait_serve_drawn *out,
                                                   plait_error *err);

PLAIT_END_DECLS

#endif
