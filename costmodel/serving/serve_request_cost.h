/*
 * serve_request_cost.h - cost of one request on a worker, and a fixed-point solver, for closed
 * forms of latency and throughput
 */
#pragma once

#include "plait/serve.h"

/**
 * Mean cost of a request on a worker, while a given number of other sequences decode on the same
 * attention rank. With one length of prompts there is one group.
 */
typedef struct serve_turn {
    double step_s;   /* seconds of a step that only decodes */
    double share_s;  /* seconds that a prompt adds to steps of other sequences */
    double prompt_s; /* seconds of all chunks of one prompt alone */
    double own_s;    /* seconds of the steps that contain a prompt */
    double chunks;   /* steps over which a prompt is split */
    double yield;    /* tokens per sequence and step, above 1 with speculation */
    bool first;      /* prompts run in separate steps, before sequences decode */
    double varies;   /* mean square over squared mean of the time that a prompt delays the next */
    int groups;
    plait_length_group group[PLAIT_LENGTH_MIXED];
    double group_own_s[PLAIT_LENGTH_MIXED]; /* seconds of a prompt's own steps */
    double load_s; /* mean seconds to load cached tokens from host memory */
} serve_turn;

/**
 * Copies the groups of lengths of a load, one without a distribution; returns their number. A cache
 * in host memory adds groups.
 */
int serve_groups(const plait_pool *pool, const plait_load *load,
                 plait_length_group group[PLAIT_LENGTH_MIXED]);

/** Share of the requests missing in the GPU's prefix cache that host memory has. (C.403) */
double serve_host_hit(const plait_pool *pool, const plait_lengths *lengths);

/** The load with one group's lengths of prompts in place of the mean ones. */
plait_load serve_load_of(const plait_load *load, const plait_length_group *group);

/**
 * Token budget of one round of the pipeline, in which each stage has its own batch; `fresh` if the
 * pool has no budget.
 */
double serve_round_tokens(const plait_pool *pool, double fresh);

/**
 * Returns the cost of a request beside `sequences` decoding sequences on its attention rank.
 * (C.371)
 */
serve_turn serve_turn_of(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                         double sequences);

/** Mean requests of an attention rank that arrive, and that end, per decode step. */
double serve_arrivals(const plait_load *load, serve_turn turn, double sequences);

/** Returns the tokens per sequence and step with speculative decoding. (C.370) */
double serve_yield(const plait_load *load);

/** Tokens of a prompt that are not in the prefix cache, at least 1. */
double serve_fresh(const plait_load *load);

/**
 * Seconds of a decode step, including its drafted tokens. (C.370)
 *
 * @param parts  receives the seconds of each part, without drafts; may be NULL
 */
double serve_decode_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                      double sequences, double parts[PLAIT_STEP_PARTS]);

/**
 * Seconds of a prompt that runs in equal chunks, each in a step beside the sequences of `beside`.
 * Attention covers the whole prompt. (C.371)
 */
double serve_prompt_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                      plait_step beside, double chunks);

/**
 * Does a worker run prompts in separate steps, while decoding sequences wait? If not, a step
 * contains prompts and decoding sequences. With several stages each batch in flight prefills on its
 * own, which is priced as mixed steps. (C.371)
 */
bool serve_prefills_first(const plait_pool *pool, const plait_engine *engine);

/** Does a request start only if the cache of its whole answer fits? (C.364) */
bool serve_reserves(const plait_deployment *d);

/**
 * Number of sequences that an attention rank can run at once: the engine's limit, or as many as fit
 * in its KV cache, whichever is smaller.
 */
double serve_most_sequences(const plait_pool *pool, const plait_load *load, bool reserves);

/** Seconds to send a prompt's KV cache to a decode worker; 0 if the rate is unlimited. */
double serve_travel_s(const plait_deployment *d, const plait_load *load);

/** Returns a stable service with these times. The caller fills its rates. */
plait_service serve_service(const plait_load *load, serve_turn turn, double ttft_s, double tpot_s);

/**
 * Returns the least x in 0 .. most with gap(x) = 0, or `most` if gap stays positive. The last call
 * evaluates gap at the returned x, so *context describes that point.
 */
double serve_find_zero(double (*gap)(void *context, double x), void *context, double most);

/** Maximum number of sequences per rank if neither the engine nor the KV cache has a limit. */
#define SERVE_ENDLESS 65536.0
/** Relative tolerance of a fixed point. A larger residual means that no fixed point exists. */
#define SERVE_LOOSE 1e-6
/**
 * Share of a closed loop's users that have a request in flight. The others are between two
 * requests, or the run begins or ends. The medians of four sources of measurements are 0.94 to
 * 0.95.
 */
#define SERVE_BUSY_SHARE 0.95

/** Closed form of disaggregated prefill. (C.377) */
plait_service serve_disaggregated(const plait_deployment *deployment, const plait_load *load);
