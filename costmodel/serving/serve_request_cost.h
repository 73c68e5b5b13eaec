/*
 * serve_request_cost.h - cost of one request on a worker and a fixed-point solver, for the closed
 * forms
 */
#pragma once

#include "plait/serve.h"

/**
 * Cost of one request on a worker, for a given number of sequences decoding beside it on its
 * attention rank.
 */
typedef struct serve_turn {
    double step_s;   /* seconds of a step that only decodes */
    double share_s;  /* seconds that a prompt adds to steps of other sequences */
    double prompt_s; /* seconds of one prompt alone, all its chunks */
    double chunks;   /* steps over which a prompt is split */
    double yield;    /* tokens per sequence and step */
} serve_turn;

/** C.371: cost of a request beside `sequences` decoding sequences on its attention rank. */
serve_turn serve_turn_of(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                         double sequences);

/** C.370: tokens per sequence and step with speculation. */
double serve_yield(const plait_load *load);

/** Tokens of a prompt that are not in the prefix cache; at least 1. */
double serve_fresh(const plait_load *load);

/**
 * Seconds of a decode step with its drafts. (C.370)
 *
 * @param parts  receives the seconds of each part, without drafts; may be NULL
 */
double serve_decode_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                      double sequences, double parts[PLAIT_STEP_PARTS]);

/**
 * C.371: seconds of a prompt that runs in equal chunks, each in a step with the sequences of
 * `beside`. Attention counts the whole prompt.
 */
double serve_prompt_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                      plait_step beside, double chunks);

/**
 * Sequences that an attention rank can run at once: the smaller of the engine's limit and what fits
 * in its cache.
 */
double serve_most_sequences(const plait_pool *pool, const plait_load *load);

/** Seconds in which a prompt's cache travels to a decode worker; 0 at an unlimited rate. */
double serve_travel_s(const plait_deployment *d, const plait_load *load);

/** Returns a stable service with these times; the caller fills its rates. */
plait_service serve_service(const plait_load *load, serve_turn turn, double ttft_s, double tpot_s);

/**
 * Returns the least x in 0 .. most with gap(x) = 0, or `most` if gap stays positive. The last call
 * evaluates gap at the returned x, so *context describes that point.
 */
double serve_find_zero(double (*gap)(void *context, double x), void *context, double most);

/** Limit of the sequences per rank if neither the engine nor the cache has one. */
#define SERVE_ENDLESS 65536.0
/** Relative tolerance of a fixed point: larger residuals mean that none was found. */
#define SERVE_LOOSE 1e-6
/**
 * Share of a closed loop's users with a request in flight: the others are between two requests, or
 * the run begins or ends. The medians of four sources of measurements are 0.94 to 0.95.
 */
#define SERVE_BUSY_SHARE 0.95

/** Closed form of disaggregated prefill. (C.377) */
plait_service serve_disaggregated(const plait_deployment *deployment, const plait_load *load);
