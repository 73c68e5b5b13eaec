/*
 * family.h - families of constants: one part of the cost model and the points that it is fitted to
 *
 * A family has one block of constants in an accelerator file for each precision, kernel or
 * collective. Its description states which points a block is fitted to and which numbers the block
 * has; family_predict_s() predicts the time of a point from them with the functions of kernel.h or
 * collective.h.
 */
#pragma once

#include <stdint.h>

#include "calibrate/fit.h"
#include "calibrate/points.h"

/** All families in the order of fitting: later ones use the constants of earlier ones. */
typedef enum family_id {
    FAMILY_MEMORY,
    FAMILY_GEMM,
    FAMILY_SUSTAINED,
    FAMILY_WEIGHT_GRADIENT,
    FAMILY_GROUPED,
    FAMILY_ATTENTION,
    FAMILY_BACKWARD,
    FAMILY_DECODE,
    FAMILY_COLLECTIVE,
    FAMILY_P2P,
    FAMILIES
} family_id;

/** The subject of a fit (fit.h): an accelerator, and one scale-up domain of it as a cluster. */
typedef struct family_subject {
    plait_accelerator accelerator;
    plait_cluster domain; /* holds `accelerator` */
    double scale;         /* factor on all times of a table of products; not written to the file */
} family_subject;

/**
 * One constant of a family. Its bounds and its preset are multiples of `of`: the unit, the wire
 * rate or the HBM rate of the accelerator. A preset is the starting value of a number that only
 * switches that reduce have, and for which families have no default.
 */
typedef struct family_number {
    const char *key; /* in the file; NULL: not written */
    size_t offset;   /* of block 0 in family_subject */
    double unit;
    double low, high; /* bounds */
    bool scales;      /* fitted by its logarithm */
    enum { OF_UNIT, OF_WIRE, OF_MEMORY } of;
    int elements;    /* length of the array; 0: no array */
    unsigned blocks; /* bit set of the blocks that have it; 0: all */
    double preset;   /* 0: none */
} family_number;

typedef struct family {
    const char *section;           /* name in an accelerator file; NULL: the top level */
    const char *what;              /* name in reports; NULL: the section's */
    const char *const *block_name; /* NULL: the section itself is the block */
    int first, last;               /* range of blocks, `last` excluded */
    size_t block_size;             /* distance of a number's offset from block to block */
    const family_number *number;   /* [numbers] */
    size_t numbers;
    unsigned kinds;      /* bit set of point_kind: the points that it is fitted to */
    bool links;          /* a property of the links; false: of the die */
    bool alone;          /* the family has all numbers of its block */
    const char *measure; /* noun for its points in the source text: "products" */
    int least;           /* number of points that a fit needs */
    double large_weight;
    const char *const *stacks; /* measured software, preferred first */
} family;

extern const family families[FAMILIES];

/** Sets *out to an accelerator in one scale-up domain. *out points into itself: do not copy it. */
void family_subject_init(const plait_accelerator *accelerator, family_subject *out);

/** Returns whether a block is fitted to a point of an accelerator. */
bool family_takes(const family *f, const plait_accelerator *accelerator, const point *p, int block);

/** Sets `out` to the numbers of a block and presets those without a default. Returns their count. */
int family_numbers(const family *f, family_subject *subject, int block,
                   fit_number out[FIT_MAX_NUMBERS]);

/** Returns the predicted seconds of a point: a fit_predict of (family_subject, point). */
double family_predict_s(const void *subject, const void *what);

/** Returns whether a point has a size that training has. */
bool family_is_large(const plait_accelerator *accelerator, const point *p);

/** Returns whether a point, the index-th of its block, is held out from the fit. */
bool family_holds_out(const point *p, int index);

/** Returns the measured software that a block prefers, best first; NULL ends the list. */
const char *const *family_stacks(const family *f, int block);
