/*
 * points.h - measured times, in one form for all tables
 *
 * A point contains a measured time and the inputs of the cost function of a product, an attention
 * kernel or a collective. The readers of tables append points; each family of constants (family.h)
 * is fitted to points of certain kinds.
 */
#pragma once

#include <stdbool.h>

#include "plait/lowlevel/collective.h"
#include "plait/lowlevel/kernel.h"

typedef enum point_kind {
    POINT_GEMM,
    POINT_LAYOUT,    /* a product of training: forward, or a weight gradient in fp32 */
    POINT_SUSTAINED, /* a product in a long loop, and its time in a short burst */
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
    double tokens, topk;   /* tokens of all ranks together, and experts per token */
    double hidden, width;  /* widths of model and expert; a gated first product has 2 * width */
    double experts, ranks; /* all experts, and the ranks that share them */
} point_experts;

typedef struct point {
    point_kind kind;
    const char *measured; /* name of the accelerator in the table; "": none */
    const char *source;   /* source of the row; "": none */
    double s;             /* measured seconds */
    double beside_s;      /* seconds of the burst (SUSTAINED) or of the forward pass (BACKWARD; 0:
                           * predicted) */
    /* plait_precision, plait_attention_kernel, plait_kv_format or plait_collective_op, by `kind` */
    int block;
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
 * Like points_read(), but reads a text in memory; `name` is the file name for error messages.
 *
 * clusters/measurements/README.md describes each table. The readers ignore additional columns and
 * skip rows and tables that no constant is fitted to, such as rows of other kernels or of skewed
 * experts. Fails (SCHEMA) if the columns match no known table.
 */
PLAIT_MUST_CHECK plait_status points_parse(const char *text, size_t length, const char *name,
                                           plait_arena *arena, point_list *list, plait_error *err);

/** Returns whether a text contains the table header of nccl-tests. */
bool nccl_log_recognises(const char *text, size_t length);

/** Appends the collectives and sends in an output of nccl-tests (nccl_log.c). */
PLAIT_MUST_CHECK plait_status nccl_log_points(const char *text, size_t length, const char *name,
                                              point_list *list, plait_error *err);

/* ---- names of accelerators, points to exclude, accelerators that share a die (names.c) ---- */

/** Returns the accelerator for a name in a table or log; NULL if names.c does not list the name. */
const char *names_accelerator(const char *measured);

/** Returns whether a point belongs to an accelerator; a point without a name belongs to any. */
bool names_match(const point *p, const char *accelerator);

/** Returns whether a known fault of the published tables makes a point unusable. */
bool names_exclude(const point *p);

/** Returns whether an accelerator or its stand-in was measured; if not, its rates are estimates. */
bool names_measured(const char *accelerator);

/**
 * Returns the accelerator whose measurements stand in for missing ones of `name`; NULL: none.
 *
 * @param kernels  true: stand-in for products and attention; false: stand-in for links
 */
const char *names_stand_in(const char *name, bool kernels);
