/*
 * points.h - measured times, whichever table they came from
 *
 * A point holds what the cost model would be asked: a product, an attention kernel, a collective.
 * Reading a table appends points; a family of constants then takes those that it is about.
 */
#pragma once

#include <stdbool.h>

#include "plait/lowlevel/collective.h"
#include "plait/lowlevel/kernel.h"

typedef enum point_kind {
    POINT_GEMM,
    POINT_LAYOUT,    /* a product as training runs it: forward, and weight gradients into fp32 */
    POINT_SUSTAINED, /* a product in a long loop, beside its time in a burst */
    POINT_GROUPED,   /* one grouped product */
    POINT_EXPERTS,   /* a whole expert layer: permute, two grouped products, activation, permute */
    POINT_ATTENTION,
    POINT_DECODE,
    POINT_BACKWARD, /* of attention, beside its forward time */
    POINT_MEMORY,
    POINT_COLLECTIVE,
    POINT_P2P,
    POINT_KINDS
} point_kind;

/** An expert layer on one rank. */
typedef struct point_experts {
    double tokens, topk;   /* of all ranks together */
    double hidden, width;  /* gated: the first product has twice the width */
    double experts, ranks; /* ranks that share the experts */
} point_experts;

typedef struct point {
    point_kind kind;
    const char *measured; /* the name that its table gives the accelerator; "" */
    const char *source;   /* "" where the table has none */
    double s;
    double beside_s; /* of a burst, of the forward pass */
    int block; /* plait_precision, plait_attention_kernel, plait_kv_format, plait_collective_op */
    plait_gemm gemm;
    plait_attention_work attention;
    plait_decode_work decode;
    point_experts experts;
    int ranks;
    int nodes; /* that the ranks are on */
    double bytes;
} point;

typedef struct point_list {
    plait_arena *arena;
    point *point;
    size_t count;
    size_t room;
} point_list;

void points_init(point_list *list, plait_arena *arena);

PLAIT_MUST_CHECK plait_status points_add(point_list *list, const point *added, plait_error *err);

/** The points of a file: a table, told apart by its header, or the output of nccl-tests. */
PLAIT_MUST_CHECK plait_status points_read(const char *path, plait_arena *arena, point_list *list,
                                          plait_error *err);

/** The same from text; `name` stands for the file in messages. */
PLAIT_MUST_CHECK plait_status points_parse(const char *text, size_t length, const char *name,
                                           plait_arena *arena, point_list *list, plait_error *err);
