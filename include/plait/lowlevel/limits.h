/*
 * limits.h - when each kind of parallelism becomes bound by communication.
 *
 * A chip computes C FLOP/s and its links carry W bytes a second. Whatever a parallelism sends, it
 * hides behind compute while there is enough compute to each byte: enough tokens a GPU for data
 * parallelism, wide enough layers for tensor and expert parallelism, enough layers a chunk for a
 * pipeline. These are the textbook limits, at the peak of the matrix units and the wire rate of the
 * links; real software reaches less of both. They decide nothing: prices (cost.h) add up seconds.
 *
 * In order: plait_comm_limits lists those that concern one point, with what the point has; the closed
 * forms that it is made of are public.
 *
 * Left out: latencies, so messages are large; links that several kinds of parallelism share.
 *
 * Source of the forms: Austin et al., "How to Scale Your Model" (jax-ml.github.io/scaling-book,
 * chapters on training and on GPUs), where no other is named.
 */
#ifndef PLAIT_LOWLEVEL_LIMITS_H
#define PLAIT_LOWLEVEL_LIMITS_H

#include "plait/lowlevel/collective.h"
#include "plait/problem.h"
#include "plait/plan.h"

PLAIT_BEGIN_DECLS

/* ---- closed forms ------------------------------------------------------------------------ */

/** FLOPs a chip does while its links carry a byte: also the tokens a chip that hide the exchange of
 * 16-bit gradients behind its backward. C/W (C.125) */
double plait_limit_tokens(double flops_per_s, double bytes_per_s);

/**
 * The same for few ranks, and for experts: tokens (X-1)/X E/k. (C.126)
 *
 * @param ranks         X, which exchange what X - 1 of them lack; 0: many
 * @param experts,topk  E and k: an expert sees k of E tokens, so it takes E/k as many; 1 and 1: none
 */
double plait_limit_data_tokens(double tokens, int ranks, double experts, double topk);

/** Ranks of tensor parallelism at most: F / (C/W), `width` F of the feed-forward part. (C.127) */
double plait_limit_tensor_ranks(double width, double tokens);

/**
 * Tokens a chip with both, sharded data and tensor parallelism, at their best split: 4 a_x a_y / F.
 * (C.128)
 *
 * @param data_tokens,tensor_tokens  C.125 on the links of the one and of the other
 */
double plait_limit_mixed_tokens(double data_tokens, double tensor_tokens, double width);

/**
 * Ranks of sharded data parallelism at that split: sqrt(B/F M_x/M_y N). (C.129)
 *
 * @param batch_tokens  B
 * @param links         M_x/M_y, rate of the links of data parallelism over that of tensor parallelism
 * @param chips         N
 */
double plait_limit_mixed_shards(double batch_tokens, double width, double links, double chips);

/**
 * Width of an expert from which on dispatch and combine hide: copies/k (2/matrices) C/W. (C.130)
 *
 * @param copies    of a token that leave by the link of C/W
 * @param matrices  of an expert: 3 gated, else 2
 */
double plait_limit_expert_width(double tokens, double copies, double topk, double matrices);

/** Layers of a chunk from which on a pipeline's sends hide: bytes / flops C/W. (C.131) */
double plait_limit_chunk_layers(double tokens, double send_bytes_per_token,
                                double layer_flops_per_token);

/** Tokens of a sequence a rank from which on a ring of keys and values hides: C/W kv/a. (C.132) */
double plait_limit_ring_tokens(double tokens, int heads, int kv_heads);

/** Rate at which a group gathers: the slowest level of links that it spans. (C.133) */
double plait_route_wire_bytes_per_s(const plait_route *route);

/** Ranks of tensor parallelism when decoding: F / (B beta), beta = W_hbm / W_net. (C.134) */
double plait_limit_decode_ranks(double width, double batch, double beta);

/** Chips from which on weights cut both ways send less than cut one way: 32 F/D (3/4)^2. (C.135) */
double plait_limit_two_way_chips(double width, double hidden);

/**
 * Time of one stage's gradient exchange over that of the pipeline, g/T, which explains that moving
 * it out of the last backward (C.68 for C.67) makes steps faster by `gain`: gain / (p - 1 - gain).
 * (C.136)
 *
 * For equal stages whose exchange takes g each: (T + p g) / (T + g) = 1 + gain. NaN where no g does.
 */
double plait_sync_share(int stages, double gain);

/* ---- one point --------------------------------------------------------------------------- */

/** One limit of one point. */
typedef struct plait_comm_limit {
    const char *parallelism; /* "DP", "FSDP", "TP", "EP", ... */
    const char *counts;      /* what there has to be enough of: "tokens a GPU" */
    const char *equation;
    int ranks;
    double value; /* what the point has of it ... */
    double least; /* ... and below which communication binds */
} plait_comm_limit;

enum { PLAIT_MAX_COMM_LIMITS = 8 };

/**
 * The limits that concern a legal point: of each kind of parallelism that it uses.
 *
 * @return  how many
 */
int plait_comm_limits(const plait_problem *problem, const plait_degrees *degrees,
                      plait_comm_limit limit[PLAIT_MAX_COMM_LIMITS]);

PLAIT_END_DECLS

#endif
