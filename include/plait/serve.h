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
#include <stdint.h>

#include "plait/arena.h"
#include "plait/cluster.h"
#include "plait/error.h"
#include "plait/capacity.h"
#include "plait/launch.h"
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

/** Model, cluster, degrees and formats, which determine the kernel times of a worker. */
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
typedef struct plait_serve_sim_options {
    uint64_t seed;
    int requests;        /* until so many have finished */
    int warmup_requests; /* of these, the first so many that arrive are not counted */
    double burst;        /* arrivals come so many at once; 0 and 1: each by itself */
    bool (*stop)(void *context, double done); /* asked now and then, 0 .. 1 done; NULL: never */
    void *stop_context;
} plait_serve_sim_options;

/** Times of requests: the mean, the middle, and those that 95 and 99 of 100 stay within. */
typedef struct plait_latency_stats {
    double mean_s, p50_s, p95_s, p99_s;
} plait_latency_stats;

typedef struct plait_serve_sim_result {
    int requests;  /* that finished */
    int preempted; /* how often one gave up its cache and started again */
    bool stopped;
    double
        carried; /* share of arriving requests that leave as fast as they come; 1: no queue grows (C.364) */
    bool full; /* carried is below 1 by more than 2/sqrt(requests): more comes than leaves */
    double steps;
    double seconds; /* simulated */
    plait_latency_stats ttft, tpot, e2e;
    double output_tokens_per_s;
} plait_serve_sim_result;

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
                                                   plait_load load, plait_serve_sim_options draws,
                                                   plait_arena *arena, plait_serve_sim_result *out,
                                                   plait_error *err);

/* ---- which deployment serves a load at the least cost ----
 *
 * plait_serve_search looks at every engine, format of weights and of the cache, worker (tp, pp,
 * dp_attention, ep), chunk, and at one pool or two; plait_serve_evaluate prices one of them. What is
 * ranked meets the bounds on TTFT and TPOT and fits; of each way to cut a worker the fewest replicas that do.
 * Those are closed forms: plait_serve_decide has the simulation judge them, and plait_serve_reach_of finds
 * what can be had where nothing stands.
 */

/** Workers that a search looks at: so many stages, and tensor ranks within so many scale-up domains. */
enum { PLAIT_SERVE_MAX_STAGES = 8, PLAIT_SERVE_MAX_DOMAINS = 2 };
enum { PLAIT_SERVE_MAX_PLANS = 32, PLAIT_SERVE_MAX_FRONT = 64, PLAIT_SERVE_ROLES = 2 };

typedef struct plait_serve_options {
    const plait_model *model;
    const plait_cluster *cluster;
    int gpus; /* at most */
    int engines;
    const plait_engine *engine[PLAIT_ENGINES];
    unsigned weights; /* formats that may be: bits 1 << plait_weight_format */
    unsigned kv;
    plait_load
        load; /* CLOSED with concurrency, RATE, or CLOSED with 0: the best concurrency of one replica */
    double ttft_s; /* bound on the mean; 0: none */
    double tpot_s;
    bool only_aggregated, only_disaggregated;
    plait_worker only;             /* degrees that any worker must have; 0: any */
    double ttft_p95_s, ttft_p99_s; /* bounds on what 95 and 99 of 100 requests see; 0: none */
    double tpot_p95_s, tpot_p99_s;
    const void *reserved[4]; /* zero; later versions turn it into fields */
} plait_serve_options;

/** Bounds of a question: flag, key, and the field of the same name of a question and of a plan. */
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

/** The bounds of a question, seconds; 0: none. */
void plait_serve_limits_asked(const plait_serve_options *question,
                              double seconds[PLAIT_SERVE_LIMITS]);

/** Nothing yet: set model, cluster, GPUs, engines, formats and the load. */
void plait_serve_options_init(plait_serve_options *question);

/** One deployment: how each role is cut, and what it comes to. */
typedef struct plait_serve_plan {
    const plait_engine *engine;
    bool disaggregated;
    int replicas;                 /* of one worker, or of a set of prefill and decode workers */
    int count[PLAIT_SERVE_ROLES]; /* workers of a replica: aggregated, or prefill and decode */
    plait_worker worker[PLAIT_SERVE_ROLES];
    plait_weight_format weights;
    plait_kv_format kv;
    double chunk_tokens;                 /* of a step on a worker */
    double batch_cap;                    /* running sequences of a decode (or aggregated) worker */
    double kv_tokens[PLAIT_SERVE_ROLES]; /* of one attention rank */
    int gpus;
    double concurrency; /* that the service is of */
    plait_service service;
    double ttft_p99_s;
    double tokens_per_s_gpu;
    double usd_per_mtok;   /* of output; NaN: no price is known */
    double joules_per_tok; /* NaN: no power is known */
    double ttft_p95_s;
    double tpot_p95_s, tpot_p99_s; /* NaN without a simulation, as no closed form has them */
    bool simulated;                /* `drawn` is of it */
    bool settled;                  /* near saturation: times above are those of the simulation */
    bool unjudged;                 /* near saturation, and no work was left to simulate it */
    plait_serve_sim_result drawn;
} plait_serve_plan;

/** Seconds of a plan beside each bound; TPOT's mean for its percentiles that are not known. */
void plait_serve_limits_found(const plait_serve_plan *plan, double seconds[PLAIT_SERVE_LIMITS]);

/** Reasons for which deployments are not among the answers. */
typedef enum plait_serve_reject {
    PLAIT_SERVE_REJECT_CUT,    /* degrees that do not divide the model */
    PLAIT_SERVE_REJECT_RULE,   /* workers that the engine does not start */
    PLAIT_SERVE_REJECT_MEMORY, /* weights, or one sequence, do not fit */
    PLAIT_SERVE_REJECT_LOAD,   /* more comes than leaves, on all GPUs */
    PLAIT_SERVE_REJECT_TTFT,
    PLAIT_SERVE_REJECT_TPOT,
    PLAIT_SERVE_REJECT_BOUND, /* pairs of workers that cost more at their best than those kept */
    PLAIT_SERVE_REJECT_SIMULATED, /* the simulation misses the load or a bound (S.108) */
    PLAIT_SERVE_REJECTS
} plait_serve_reject;

extern const char *const plait_serve_reject_name[PLAIT_SERVE_REJECTS + 1];

typedef struct plait_serve_answer {
    int plans; /* that meet all bounds, the cheapest first */
    plait_serve_plan plan[PLAIT_SERVE_MAX_PLANS];
    int front; /* of tokens/s/GPU against TPOT, the lowest TPOT first; within the bound on TTFT */
    plait_serve_plan at_front[PLAIT_SERVE_MAX_FRONT];
    int64_t workers; /* ways to cut and to run a worker */
    int64_t looked;  /* deployments priced */
    int64_t rejected[PLAIT_SERVE_REJECTS];
    /* where none meets the bounds: the one that lacks least, and the bounds that would let it in */
    bool has_nearest;
    plait_serve_plan nearest;
    double needs_ttft_s, needs_tpot_s;
    int simulations; /* that judged them (S.108); 0: the closed forms alone did */
} plait_serve_answer;

/**
 * Why an engine would not start such workers; NULL: it would. What a search answers breaks no rule; measured runs are
 * priced whatever the rules say.
 */
const char *plait_serve_rule_broken(plait_engine_kind kind, const plait_model *model,
                                    const plait_load *load, plait_worker worker);

/** Fails (RANGE) where the question asks for nothing that can be: no engine, no GPU, no format. */
PLAIT_MUST_CHECK plait_status plait_serve_search(const plait_serve_options *question,
                                                 plait_arena *arena, plait_serve_answer *out,
                                                 plait_error *err);

/**
 * Price one deployment: what `plan` says of engine, workers, counts, formats and chunk.
 *
 * @param why  a reason why it cannot run, with amounts, in `arena`; NULL: the rest of *plan is filled
 * @return     RANGE where question or plan hold values that there are not, NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_serve_evaluate(const plait_serve_options *question,
                                                   plait_arena *arena, plait_serve_plan *plan,
                                                   const char **why, plait_error *err);

/** Every step of a plan of an answer under the question's load. As plait_serve_simulate; RANGE where it cannot run. */
PLAIT_MUST_CHECK plait_status plait_serve_plan_simulate(const plait_serve_options *question,
                                                        const plait_serve_plan *plan,
                                                        plait_serve_sim_options draws,
                                                        plait_arena *arena,
                                                        plait_serve_sim_result *out,
                                                        plait_error *err);

/**
 * Simulates a priced plan: `simulated`, `drawn`, and near saturation also its times.
 *
 * @param draws  requests 0: as many as tell what it carries near saturation, some thousand elsewhere
 * @param why    what of the load or the bounds its simulation misses, in `arena`; NULL: nothing
 * @return     as plait_serve_simulate
 */
PLAIT_MUST_CHECK plait_status plait_serve_judge(const plait_serve_options *question,
                                                plait_serve_sim_options draws, plait_arena *arena,
                                                plait_serve_plan *plan, const char **why,
                                                plait_error *err);

/** Plans of an answer that plait_serve_decide judges: as many as a report shows. */
enum { PLAIT_SERVE_SHOWN = 10 };

/**
 * As plait_serve_search, and the simulation judges what is shown: the first plan always, the others near saturation. Plans
 * that miss the load or a bound give way to the same with more workers, and to what comes next. (S.108)
 */
PLAIT_MUST_CHECK plait_status plait_serve_decide(const plait_serve_options *question,
                                                 plait_serve_sim_options draws, plait_arena *arena,
                                                 plait_serve_answer *out, plait_error *err);

/** A rate and a number of GPUs that do, where a question of arrivals has no answer. */
typedef struct plait_serve_reach {
    double rate; /* requests/s that the GPUs of the question carry within the bounds; 0: none */
    int gpus;    /* that the rate of the question needs; 0: not found */
    plait_serve_plan plan; /* what carries `rate`, where it is above 0 */
    bool
        answers; /* copies of it carry all of the rate after all: `plan` is those, `rate` is the rate of the question */
} plait_serve_reach;

/** By the same decision at other rates and with more GPUs. (S.109) */
PLAIT_MUST_CHECK plait_status plait_serve_reach_of(const plait_serve_options *question,
                                                   plait_serve_sim_options draws,
                                                   plait_arena *arena, plait_serve_reach *out,
                                                   plait_error *err);

enum { PLAIT_SERVE_CURVE = 16 };

/** A deployment under one rate of requests that arrive at random. */
typedef struct plait_serve_point {
    double load; /* share of what it sustains, 0.05 .. 1 */
    double rate; /* requests/s */
    double ttft_s, ttft_p99_s, tpot_s;
    double running; /* on a decode (or aggregated) worker */
    double output_tokens_per_s;
} plait_serve_point;

typedef struct plait_serve_curve {
    double rate; /* requests/s that it sustains: 99 % of where more come than leave */
    plait_serve_point point[PLAIT_SERVE_CURVE];
} plait_serve_curve;

/**
 * What a deployment's requests see as the load rises, by the closed forms. (S.106)
 *
 * @param why  a reason why it cannot run; NULL: *out is filled
 * @return     as plait_serve_evaluate
 */
PLAIT_MUST_CHECK plait_status plait_serve_load_curve(const plait_serve_options *question,
                                                     const plait_serve_plan *plan,
                                                     plait_arena *arena, plait_serve_curve *out,
                                                     const char **why, plait_error *err);

/* ---- how many GPUs serve the requests of a day, with spares for those that fail ----
 *
 * plait_fleet_find takes the deployments that plait_serve_search finds at the busiest hour, counts the workers
 * that each needs in every hour, adds spare nodes, and ranks them by what the day costs: reserved, when all
 * is kept around the clock, or elastic, when each hour has only what it needs.
 *
 * Left out: the network and storage of a fleet, several models on one, loads that change within an hour.
 */

enum { PLAIT_FLEET_HOURS = 24, PLAIT_FLEET_BEST = 5 };

/** How the nodes of a fleet are paid for. */
typedef enum plait_fleet_mode {
    PLAIT_FLEET_RESERVED, /* the nodes of the busiest hour, always */
    PLAIT_FLEET_ELASTIC,  /* those of each hour, from a restart before it begins */
    PLAIT_FLEET_MODES
} plait_fleet_mode;

typedef struct plait_fleet_options {
    double rate[PLAIT_FLEET_HOURS]; /* requests/s of each hour of a day */
    double available;               /* share of the time that enough workers are up, below 1 */
    plait_reliability failures;     /* spares < 0: as many nodes as that takes */
    double usd_per_gpu_hour;        /* 0: as the accelerator's file says */
    plait_fleet_mode mode;          /* whose cost decides */
    const void *reserved[8];        /* zero; later versions turn it into fields */
} plait_fleet_options;

/** No rate, 99.9 %, the usual failures, reserved. */
void plait_fleet_options_init(plait_fleet_options *ask);

/** What a worker less misses in an hour. */
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
    int workers[PLAIT_SERVE_ROLES]; /* the fewest that meet the bounds; 0 without requests */
    int nodes;                      /* of these workers ... */
    int spare_nodes;                /* ... and beside them, when only this hour is paid for */
    double available;               /* share of the time that `workers` of both are up */
    plait_fleet_lack lack;
    double ttft_s, ttft_p99_s, tpot_s; /* of `workers` without spares; NaN without requests */
    double used[PLAIT_FLEET_MODES];    /* rate over what all nodes of it take within the bounds */
} plait_fleet_hour;

/** How workers of one role lie on nodes: what fails together. (S.102) */
typedef struct plait_fleet_unit {
    int nodes;        /* that one worker spans, or 1 */
    int workers;      /* of one unit */
    double available; /* share of the time that a unit is up */
} plait_fleet_unit;

/** What a fleet comes to if the engine gives more or less than predicted. */
typedef struct plait_fleet_totals {
    int nodes, gpus;                      /* reserved */
    double node_hours[PLAIT_FLEET_MODES]; /* of a day */
    double usd[PLAIT_FLEET_MODES];        /* a month; NaN: no price is known */
} plait_fleet_totals;

typedef struct plait_fleet {
    plait_serve_plan plan; /* what meets the bounds in the busiest hour, priced there */
    int busiest;           /* the hour that needs most nodes, of these that with most requests */
    plait_fleet_unit unit[PLAIT_SERVE_ROLES];
    plait_fleet_hour hour[PLAIT_FLEET_HOURS];
    plait_fleet_totals totals;
    plait_fleet_totals band[2]; /* of 80 % of runs: the engine's highest rate, its lowest */
    double sustained;           /* requests/s of all nodes within the bounds */
    double tokens_per_day;      /* of output */
    double usd_per_mtok[PLAIT_FLEET_MODES];
    double kwh[PLAIT_FLEET_MODES]; /* a month; NaN: no power is known */
    bool simulated; /* its tightest hour: workers carry it within the bounds (S.101) */
    double
        margin; /* factor on the rates that workers are counted for, so that the simulation carries them */
} plait_fleet;

typedef struct plait_fleet_answer {
    int gpus_per_node;
    int fleets;     /* the cheapest first */
    int considered; /* deployments of the search */
    int divided;    /* the search was for this part of the busiest hour's requests */
    plait_fleet fleet[PLAIT_FLEET_BEST];
    int needs_gpus; /* without a fleet: of the smallest that is above the limit; 0: none is */
    bool unsteady;  /* some carry the load, but no number of spares is enough */
    const plait_serve_answer *search;
} plait_fleet_answer;

/** Probability that at least `needed` of `units` are up, each by itself so much of the time. (S.103) */
double plait_fleet_up(int units, int needed, double available);

/** The fewest spare units with plait_fleet_up >= share; -1: not up to PLAIT_MOST_SPARES. (S.103) */
int plait_fleet_spares(int needed, double available, double share);

/** The cheapest fleets of a question, whose load is a rate; its number is that of `ask`. (S.101) */
PLAIT_MUST_CHECK plait_status plait_fleet_find(const plait_serve_options *question,
                                               const plait_fleet_options *ask, plait_arena *arena,
                                               plait_fleet_answer *out, plait_error *err);

/** Hours of a month: 8760 / 12. */
double plait_fleet_month_hours(void);

/* ---- a deployment as the files that start it ----
 *
 * In order: plait_serve_rule_broken (serve_search.h) holds of every answer of a search;
 * plait_serve_launch_render makes the files of one target, in memory.
 *
 * Left out: balancing requests over replicas of aggregated workers, which any HTTP balancer does;
 * certificates, names and storage of a cluster.
 */

/** What files are for: an engine, or Dynamo over the engine of the answer. */
typedef enum plait_serve_target {
    PLAIT_SERVE_TARGET_VLLM,
    PLAIT_SERVE_TARGET_SGLANG,
    PLAIT_SERVE_TARGET_TRTLLM,
    PLAIT_SERVE_TARGET_DYNAMO,
    PLAIT_SERVE_TARGETS
} plait_serve_target;

extern const char *const plait_serve_target_name[PLAIT_SERVE_TARGETS + 1];

/** How an engine's workers are started. Dynamo has manifests of its own. */
typedef enum plait_serve_form {
    PLAIT_SERVE_SCRIPT,
    PLAIT_SERVE_SYSTEMD,
    PLAIT_SERVE_KUBERNETES,
    PLAIT_SERVE_FORMS
} plait_serve_form;

extern const char *const plait_serve_form_name[PLAIT_SERVE_FORMS + 1];

typedef struct plait_serve_launch {
    const plait_model *model;
    const char *checkpoint; /* a folder, or a name on the Hub */
    const plait_cluster *cluster;
    const plait_serve_plan *plan;
    plait_load load;
    plait_serve_form form;
    const char *container;   /* image; NULL: a placeholder */
    const void *reserved[8]; /* zero; later versions turn it into fields */
} plait_serve_launch;

/** Nothing yet: set model, checkpoint, cluster, plan and load. */
void plait_serve_launch_init(plait_serve_launch *launch);

/** The target of an engine. */
plait_serve_target plait_serve_target_of(plait_engine_kind kind);

/**
 * Make the files of a deployment. *out lives in `arena`.
 *
 * Fails (RANGE) where the target is another engine whose rules the workers break, or has no words for
 * the drafts that the load speaks of.
 */
PLAIT_MUST_CHECK plait_status plait_serve_launch_render(const plait_serve_launch *launch,
                                                        plait_serve_target target,
                                                        plait_arena *arena,
                                                        plait_launch_folder *out, plait_error *err);

/* ---- what ranks send each other to answer one request, call by call ----
 *
 * A model cut over tp tensor and pp pipeline ranks answers a prompt by one prefill pass, which also
 * yields the first token, and one decode pass for each further token. plait_serve_volume_of lists
 * both phases' collectives and sends: how many, of which shape, how many bytes a message has, and
 * their volume by each way of counting. Below it stand the closed forms that turn bytes into limits
 * of latency and room: a decode step, a prefill, cached keys, servers of disaggregated serving.
 *
 * Left out: sequence, context, expert and data parallelism; seconds of collectives (collective.h);
 * batches that change while they run.
 *
 * Source of the volumes: "Characterizing Communication Patterns in Distributed Large Language Model
 * Inference", Hot Interconnects 2025, arXiv 2507.14392, tables III to VI; of the rest Austin et al.,
 * "How to Scale Your Model", chapter on inference, where no other is named.
 */

typedef enum plait_serve_phase {
    PLAIT_SERVE_PREFILL,
    PLAIT_SERVE_DECODE,
    PLAIT_SERVE_PHASES
} plait_serve_phase;

/** What is sent, in the order of a pass. */
#define PLAIT_SERVE_CALL_LIST(X)                                                                   \
    X(embedding, "all-reduce of the embedding, cut by its rows")                                   \
    X(all_reduce, "all-reduce behind attention and behind the feed-forward part")                  \
    X(send, "send of hidden states and residual to the next stage, each rank its columns")         \
    X(all_gather, "all-gather of what the next stage received")                                    \
    X(gather, "gather of the logits to one rank")

typedef enum plait_serve_call {
#define X(name, what) PLAIT_SERVE_##name,
    PLAIT_SERVE_CALL_LIST(X)
#undef X
        PLAIT_SERVE_CALLS
} plait_serve_call;

/** Whose bytes are counted. (C.356) */
typedef enum plait_serve_counting {
    PLAIT_SERVE_PUBLISHED, /* the study's formulas, which mix the next two */
    PLAIT_SERVE_ONE_GPU,   /* what one GPU that takes part sends */
    PLAIT_SERVE_ALL_GPUS,  /* what all GPUs send together */
    PLAIT_SERVE_COUNTINGS
} plait_serve_counting;

extern const char *const plait_serve_call_what[PLAIT_SERVE_CALLS + 1];
extern const char *const plait_serve_phase_name[PLAIT_SERVE_PHASES + 1];
extern const char *const plait_serve_counting_name[PLAIT_SERVE_COUNTINGS + 1];

/** A request, or several of one length that run together, and how the model is cut. */
typedef struct plait_serve_request {
    int sequences;
    int prompt_tokens; /* S_p of each */
    int output_tokens; /* S_d of each, the first of which the prefill yields */
    int tp;
    int pp;
    double element_bytes; /* b of activations and logits */
} plait_serve_request;

/** Calls of one kind in one phase; none where `count` is 0. */
typedef struct plait_serve_line {
    int64_t count; /* all-reduces, gathers: of the first stage; sends, all-gathers: of all stages */
    int64_t all_count;    /* of the whole pipeline; a group of tp ranks counts once */
    int64_t rows;         /* tokens of a message */
    int64_t columns;      /* elements a token: the hidden width, h/t, or V/t */
    double message_bytes; /* rows x columns x b */
    double bytes[PLAIT_SERVE_COUNTINGS]; /* of all calls of the phase */
} plait_serve_line;

typedef struct plait_serve_volume {
    plait_serve_line line[PLAIT_SERVE_PHASES][PLAIT_SERVE_CALLS];
    double bytes[PLAIT_SERVE_COUNTINGS]; /* of both phases */
} plait_serve_volume;

/**
 * Lists what a request sends. (C.355, C.356)
 *
 * Stages take layers evenly, the first ones one more where they do not divide; V/t is rounded up.
 * An all-reduce stands behind each mixer and each feed-forward part that a layer has.
 *
 * @param out  filled whole; nothing is allocated
 * @return     PLAIT_ERROR_RANGE where there is no model, a count is below 1, tp does not divide the hidden width, or
 *             there are more stages than layers
 */
PLAIT_MUST_CHECK plait_status plait_serve_volume_of(const plait_model *model,
                                                    plait_serve_request request,
                                                    plait_serve_volume *out, plait_error *err);

/*
 * The formulas below take numbers of 0 or more. One below 0 or NaN breaks their contract: a failed assert.
 * Where what they divide by is 0, nothing stays 0 and anything else is HUGE_VAL, unless they say otherwise.
 */

/* ---- seconds ----------------------------------------------------------------------------- */

/**
 * Seconds of a decode pass without communication: every cached byte is read once, every weight read
 * or multiplied, whichever takes longer. B c/W + max(2 B P/C, w/W) (C.357)
 *
 * @param batch           B >= 0, sequences
 * @param cached_bytes    c >= 0, of one sequence
 * @param params          P >= 0 that a token uses; 0: reading is what takes longer
 * @param weight_bytes    w >= 0, of all weights
 * @param bytes_per_s     W >= 0, of the memory of all GPUs that work at the same time
 * @param flops_per_s     C >= 0, of the same GPUs; not read where params is 0
 * @return                HUGE_VAL at a rate of 0, unless there is nothing to read or multiply
 */
double plait_serve_decode_s(double batch, double cached_bytes, double params, double weight_bytes,
                            double bytes_per_s, double flops_per_s);

/**
 * Seconds of a prefill without communication: 2 P S / C. C: as reached, of all GPUs that work at
 * the same time. (C.357)
 *
 * Each is >= 0; at a C of 0 a prefill of anything takes HUGE_VAL.
 */
double plait_serve_prefill_s(double params, double tokens, double flops_per_s);

/**
 * Seconds in which experts' tokens leave and return at the wire's rate: n k h (d + r) / W. (C.357)
 *
 * @param tokens, copies  n tokens a GPU, k copies of each, both >= 0
 * @param hidden          h >= 0
 * @param out_bytes,back_bytes  d and r >= 0, an element of what is sent and of what returns
 * @param bytes_per_s     W >= 0; at 0 anything takes HUGE_VAL
 *
 * Source: DeepSeek-AI, "Insights into DeepSeek-V3", arXiv 2505.09343, section 2.3.2.
 */
double plait_serve_exchange_s(double tokens, double copies, double hidden, double out_bytes,
                              double back_bytes, double bytes_per_s);

/* ---- room and rates ---------------------------------------------------------------------- */

/** Bytes that sequences keep cached: c tokens B, each >= 0. (C.358) */
double plait_serve_cached_bytes(double bytes_per_token, double tokens, double sequences);

/**
 * Sequences that fit beside the weights, a fraction: (M - w) / c; 0 where weights alone do not. (C.358)
 *
 * Each is >= 0; of sequences that cache nothing, HUGE_VAL fit wherever there is any room.
 */
double plait_serve_most_sequences(double memory_bytes, double weight_bytes, double cached_bytes);

/**
 * Cached tokens that leave in a step once sequences come and go: B (S_p + S_d) / S_d. (C.358)
 *
 * Each is >= 0; of prompts without output, which leave at once, HUGE_VAL.
 */
double plait_serve_evicted_tokens(double sequences, double prompt_tokens, double output_tokens);

/**
 * Tokens a second of a batch whose step yields one for each sequence: B / t. (C.359)
 *
 * Both are >= 0; of a step that takes no time, HUGE_VAL.
 */
double plait_serve_tokens_per_s(double sequences, double step_s);

/**
 * Prefill servers that keep one decode server busy: T_prefill B / (t S_d). (C.359)
 *
 * Each is >= 0; a decode server that is done at once takes HUGE_VAL of them.
 */
double plait_serve_prefill_servers(double prefill_s, double sequences, double step_s,
                                   double output_tokens);

/* ---- measured runs of serving, and what the model says of each ----
 *
 * In order: plait_serve_runs_load, plait_serve_run_price for each row (again and again while an engine's
 * numbers are fitted: a price costs microseconds), plait_serve_validate for errors of all.
 *
 * The columns of a file are in docs/reference/files/runs.md. A row whose trust is `low` is priced, never scored.
 */

typedef enum plait_serve_mode {
    PLAIT_SERVE_RUN_AGGREGATED,
    PLAIT_SERVE_RUN_DISAGGREGATED,
    PLAIT_SERVE_RUN_STATIC,
    PLAIT_SERVE_RUN_OFFLINE,
    PLAIT_SERVE_RUN_ARRIVING,
    PLAIT_SERVE_RUN_PREFILL, /* one phase by itself: not priced */
    PLAIT_SERVE_RUN_DECODE,
    PLAIT_SERVE_RUN_MODES
} plait_serve_mode;

/** As the file says it: agg, disagg, static, offline, server, prefill, decode. */
extern const char *const plait_serve_mode_word[PLAIT_SERVE_RUN_MODES + 1];

enum { PLAIT_SERVE_E2E = PLAIT_SERVE_FIGURES, PLAIT_SERVE_MEASURES };

typedef struct plait_serve_run {
    const char *id, *source, *group, *model, *accelerator;
    plait_serve_mode mode;
    plait_engine_kind kind;
    const char *vendor; /* of the accelerator */
    int month;          /* of the run, 2506: June 2025; 0: not said */
    int version;        /* of the engine, 103: 1.3; 0: not said */
    bool low;           /* trust: not scored */
    const char *note;   /* why it has no price; "": it has one */
    double gpus;
    plait_load load;
    /* how it ran; where degrees are not published, every way that it may have (the best is priced) */
    int ways;
    plait_deployment *way;           /* [ways], without an engine */
    plait_serve_memory (*memory)[2]; /* [ways], of each pool under the whole memory */
    double chunk_tokens;             /* 0: the engine's; so the two below */
    double poll_steps, gather_steps;
    double measured[PLAIT_SERVE_MEASURES]; /* s, s, tokens/s, s; NaN: not measured */
} plait_serve_run;

typedef struct plait_serve_runs {
    const char *name; /* of the file */
    size_t count;
    plait_serve_run *run;
    size_t engines;
    plait_engine *engine; /* all profiles */
    const plait_engine *
        *given; /* [count] that price each run; NULL, or of one: the profile that is of it */
} plait_serve_runs;

/** Measured runs of serving, with what each is priced by. Errors as plait_runs_load's; NOMEM. */
PLAIT_MUST_CHECK plait_status plait_serve_runs_load(const char *path, plait_arena *arena,
                                                    plait_serve_runs *out, plait_error *err);

/** What an engine makes of a run that has a price. */
plait_service plait_serve_run_price(const plait_serve_run *run, const plait_engine *engine);

/** A service's TTFT, TPOT, tokens/s, E2E. */
double plait_service_figure(const plait_service *service, int figure);

/** Errors of one figure of one mode: |predicted / measured - 1|. */
typedef struct plait_serve_errors {
    int rows;
    double median, mean;
    double within;  /* share of rows within 20 % */
    double bias;    /* median of predicted / measured, less 1 */
    double covered; /* share of rows inside the engine's band */
} plait_serve_errors;

typedef struct plait_serve_validation {
    const plait_serve_runs *runs;
    plait_service *service; /* [runs->count] */
    const plait_engine **engine;
    int priced, refused, low;
    plait_serve_errors errors[PLAIT_SERVE_RUN_MODES][PLAIT_SERVE_MEASURES];
    /* of groups of runs that differ in how they ran: the fastest under a bound on TPOT, as predicted */
    int choices;
    double choice_share; /* of the best measured throughput, mean */
    double choice_over;  /* share of picks that measured over the bound */
} plait_serve_validation;

/** Prices every run, and sums errors and choices. `runs` as plait_serve_runs_load fills them; NOMEM. */
PLAIT_MUST_CHECK plait_status plait_serve_validate(const plait_serve_runs *runs, plait_arena *arena,
                                                   plait_serve_validation *out, plait_error *err);

PLAIT_END_DECLS

#endif
