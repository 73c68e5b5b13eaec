/* serve_request_cost.h - what serving's closed forms share: one request's turn on a worker, and a fixed point */
#pragma once

#include "plait/serve.h"

/** What one worker does for one request, by how many run beside it on an attention rank. */
typedef struct serve_turn {
    double step_s;   /* of decoding alone */
    double share_s;  /* that a prompt adds to steps of others */
    double prompt_s; /* one prompt by itself, all its chunks */
    double chunks;   /* steps that have a part of it */
    double yield;    /* tokens of a sequence and step */
} serve_turn;

/** C.371: a request's turn beside so many decoding sequences of its attention rank. */
serve_turn serve_turn_of(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                         double sequences);

/** C.370: tokens that a step of speculation yields: 1 + a + a^2 + ..., the drafted ones being accepted in a row. */
double serve_yield(const plait_load *load);

/** Tokens of a prompt that no cache has. */
double serve_fresh(const plait_load *load);

/**
 * A step of decoding, with its drafts.
 *
 * @param parts  receives what each part takes, drafts excepted; may be NULL
 */
double serve_decode_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                      double sequences, double parts[PLAIT_STEP_PARTS]);

/** All prompts of a prompt's tokens in equal chunks, beside what decodes in each; attention is that of the whole. */
double serve_prompt_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                      plait_step beside, double chunks);

/** Sequences that an attention rank can run: the engine's cap, and what fits in its cache. */
double serve_most_sequences(const plait_pool *pool, const plait_load *load);

/** A service of these times, whose rates are to be filled. */
plait_service serve_service(const plait_load *load, serve_turn turn, double ttft_s, double tpot_s);

/**
 * The least x of 0 .. most where gap(x) falls to 0, or most where it never does; *context is as the last call leaves it,
 * at that x.
 */
double serve_settle(double (*gap)(void *context, double x), void *context, double most);

/** Sequences of a rank, where nothing caps them. */
#define SERVE_ENDLESS 65536.0
/** Relative: what is off by more is no fixed point. */
#define SERVE_LOOSE 1e-6
/**
 * Of a closed loop's users so many have a request in flight: the rest are between two, or the run begins
 * or ends. 0.94 to 0.95 is the median of four sources of measurements.
 */
#define SERVE_BUSY_SHARE 0.95

/** Prompts on workers of their own. (C.377) */
plait_service serve_apart(const plait_deployment *deployment, const plait_load *load);
