/*
 * points.h - measured times, in one form for all tables
 *
 * A point holds the inputs of a cost function, for a product, an attention kernel or a collective,
 * and the measured time. The readers of tables append points; each family of constants (family.h)
 * is fitted to the points of its kind.
 */
#pragma once

#include <stdbool.h>

#include "plait/lowlevel/collective.h"
#include "plait/lowlevel/kernel.h"

typedef enum point_kind {
    POINT_GEMM,
    POINT_LAYOUT,    /* a product of training: forward, or weight gradients into fp32 */
    POINT_SUSTAINED, /* a product in a long loop, with its time in a short burst */
    POINT_GROUPED,   /* one grouped product of experts */
    POINT_EXPERTS,   /* a whole expert layer: permute, two grouped products, activation, permute */
    POINT_ATTENTION,
    POINT_DECODE,
    POINT_BACKWARD, /* backward pass of attention, with its forward time */
    POINT_MEMORY,
    POINT_COLLECTIVE,
    POINT_P2P,
    POINT_KINDS
} point_kind;

/** An expert layer on one rank. */
typedef struct point_experts {
    double tokens, topk;   /* tokens of all ranks together, experts per token */
    double hidden, width;  /* model and expert width; the gated first product has 2 * width */
    double experts, ranks; /* all experts, and the ranks that share them */
} point_experts;

typedef struct point {
    point_kind kind;
    const char *measured; /* accelerator's name in the table; "": none */
    const char *source;   /* of the row; "": none */
    double s;             /* measured seconds */
    double beside_s;      /* SUSTAINED: time of the burst; BACKWARD: of the forward pass */
    int block; /* plait_precision, plait_attention_kernel, plait_kv_format, plait_collective_op */
    plait_gemm gemm;
    plait_attention_work attention;
    plait_decode_work decode;
    point_experts experts;
    int ranks;
    int nodes; /* number of nodes of the ranks */
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

/** Appends the points of a file: a table, recognised by its header, or the output of nccl-tests. */
PLAIT_MUST_CHECK plait_status points_read(const char *path, plait_arena *arena, point_list *list,
                                          plait_error *err);

/**
 * Like points_read() for text in memory; `name` is the file's name, for messages.
 *
 * clusters/measurements/README.md describes each table. The readers ignore other columns, skip rows
 * that no constant is fitted to (another kernel, skewed experts), and take no points from a
 * recognised table that no constant is fitted to. Fails (SCHEMA) on a table with unknown columns.
 */
PLAIT_MUST_CHECK plait_status points_parse(const char *text, size_t length, const char *name,
                                           plait_arena *arena, point_list *list, plait_error *err);

/** Returns whether a text has the table head of nccl-tests. */
bool nccl_log_recognises(const char *text, size_t length);

/** Appends the collectives and sends of an output of nccl-tests (nccl_log.c). */
PLAIT_MUST_CHECK plait_status nccl_log_points(const char *text, size_t length, const char *name,
                                              point_list *list, plait_error *err);

/* ---- names of accelerators, points to exclude, accelerators that share a die (names.c) ---- */

/** Returns the accelerator for a name in a table or log; NULL if the list lacks it. */
const char *names_accelerator(const char *measured);

/** Returns whether a point was measured on an accelerator; a point without a name always was. */
bool names_match(const point *p, const char *accelerator);

/** Returns whether a known fault of the published tables makes a point unusable. */
bool names_exclude(const point *p);

/** Returns whether an accelerator or its stand-in was measured; if not, its rates are guesses. */
bool names_measured(const char *accelerator);

/**
 * Returns the accelerator whose measurements stand in for missing ones of `name`; NULL: none.
 *
 * @param kernels  true: for products and attention; false: for links
 */
const char *names_stand_in(const char *name, bool kernels);
