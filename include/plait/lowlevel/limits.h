/*
 * limits.h - the sizes at which each kind of parallelism becomes bound by communication
 *
 * A chip computes C FLOP/s and its links carry W bytes/s. Communication can overlap completely with
 * compute if there is enough compute for each byte: enough tokens per GPU for data parallelism,
 * wide enough layers for tensor and expert parallelism, enough layers per chunk for a pipeline.
 * These are the textbook limits, at the peak of the matrix units and the wire rate of the links;
 * real software reaches less of both. No search or price depends on them, since prices (cost.h) add
 * up seconds.
 *
 * In order: plait_comm_limits lists the limits of one point with the values of the point. The
 * closed forms that it evaluates are public.
 *
 * Left out: latencies, which matter for small messages; links that several kinds of parallelism
 * share.
 *
 * Source of the forms, unless they name another: Austin et al., "How to Scale Your Model"
 * (jax-ml.github.io/scaling-book, chapters on training and on GPUs).
 */
#ifndef PLAIT_LOWLEVEL_LIMITS_H
#define PLAIT_LOWLEVEL_LIMITS_H

#include "plait/lowlevel/collective.h"
#include "plait/problem.h"
#include "plait/plan.h"

PLAIT_BEGIN_DECLS

/* ---- closed forms ------------------------------------------------------------------------ */

/**
 * FLOPs that a chip computes while its links carry one byte: C/W. This is also the number of tokens
 * per chip whose backward hides the exchange of 16-bit gradients. (C.125)
 */
double plait_limit_tokens(double flops_per_s, double bytes_per_s);

/**
 * Tokens per chip for a small number of ranks, and for experts: tokens (X-1)/X E/k. (C.126)
 *
 * @param tokens        result of plait_limit_tokens
 * @param ranks         X, ranks of the exchange, which sends (X-1)/X of the data; 0: many
 * @param experts,topk  E and k: an expert processes k of E tokens, so E/k times the tokens are
 *                      needed; 1 and 1: no experts
 */
double plait_limit_data_tokens(double tokens, int ranks, double experts, double topk);

/**
 * Maximum ranks of tensor parallelism: F / (C/W); `width` is F of the feed-forward part. (C.127)
 */
double plait_limit_tensor_ranks(double width, double tokens);

/**
 * Tokens per chip with sharded data parallelism and tensor parallelism at their best split:
 * 4 a_x a_y / F. (C.128)
 *
 * @param data_tokens    a_x, plait_limit_tokens on the links of data parallelism
 * @param tensor_tokens  a_y, plait_limit_tokens on the links of tensor parallelism
 * @param width          F
 */
double plait_limit_mixed_tokens(double data_tokens, double tensor_tokens, double width);

/**
 * Ranks of sharded data parallelism at that split: sqrt(B/F M_x/M_y N). (C.129)
 *
 * @param batch_tokens  B
 * @param links         M_x/M_y, rate of the links of data parallelism over that of tensor
 *                      parallelism
 * @param chips         N
 */
double plait_limit_mixed_shards(double batch_tokens, double width, double links, double chips);

/**
 * Minimum width of an expert that hides dispatch and combine: copies/k (2/matrices) C/W. (C.130)
 *
 * @param copies    copies of a token sent over the link of C/W
 * @param matrices  matrices of an expert: 3 if gated, else 2
 */
double plait_limit_expert_width(double tokens, double copies, double topk, double matrices);

/** Minimum layers per chunk that hide the sends of a pipeline: bytes / flops C/W. (C.131) */
double plait_limit_chunk_layers(double tokens, double send_bytes_per_token,
                                double layer_flops_per_token);

/** Minimum tokens of a sequence per rank that hide a ring of keys and values: C/W kv/a. (C.132) */
double plait_limit_ring_tokens(double tokens, int heads, int kv_heads);

/**
 * Rate of a gather in a group, bytes/s: that of the slowest level of links that it spans. (C.133)
 */
double plait_route_wire_bytes_per_s(const plait_route *route);

/** Maximum ranks of tensor parallelism in decoding: F / (B beta), beta = W_hbm / W_net. (C.134) */
double plait_limit_decode_ranks(double width, double batch, double beta);

/** Chips above which 2D-sharded weights send less than 1D-sharded ones: 32 F/D (3/4)^2. (C.135) */
double plait_limit_two_way_chips(double width, double hidden);

/**
 * Time of one stage's gradient exchange over that of the pipeline, g/T: gain / (p - 1 - gain),
 * where 1 + gain is the measured speedup of an exchange after the last backward (C.68) over one
 * inside it (C.67). (C.136)
 *
 * Assumes equal stages whose exchange takes g each: (T + p g) / (T + g) = 1 + gain. NaN if no g
 * solves this.
 */
double plait_sync_share(int stages, double gain);

/* ---- one point --------------------------------------------------------------------------- */

/** One limit of one point. */
typedef struct plait_comm_limit {
    const char *parallelism; /* "DP", "FSDP", "TP", "EP", ... */
    const char *counts;      /* the limited quantity: "tokens a GPU" */
    const char *equation;
    int ranks;
    double value; /* value of the point */
    double least; /* value below which communication is the bottleneck */
} plait_comm_limit;

enum { PLAIT_MAX_COMM_LIMITS = 8 };

/**
 * The limits of a legal point: those of each kind of parallelism that it uses.
 *
 * @return  number of limits
 */
int plait_comm_limits(const plait_problem *problem, const plait_degrees *degrees,
                      plait_comm_limit limit[PLAIT_MAX_COMM_LIMITS]);

PLAIT_END_DECLS

#endif
