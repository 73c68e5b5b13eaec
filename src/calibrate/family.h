/*
 * family.h - families of constants: each describes one part of the cost model, and the points to
 * which its constants are fitted
 *
 * A family has one block of constants in an accelerator file for each precision, kernel or
 * collective. The family's description lists the numbers of a block and the kinds of points that it
 * is fitted to. family_predict_s() predicts the time of a point from these numbers, with the
 * functions of kernel.h and collective.h.
 */
#pragma once

#include <stdint.h>

#include "calibrate/fit.h"
#include "calibrate/points.h"

/** All families in the order of fitting: the fit of one uses the constants of earlier ones. */
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

/** The subject of a fit (fit.h): an accelerator, and a cluster of one scale-up domain of it. */
typedef struct family_subject {
    plait_accelerator accelerator;
    plait_cluster domain; /* cluster whose accelerator is the field above */
    double scale;         /* factor on all times of a table of products; not written to the file */
} family_subject;

/**
 * One constant of a family. Its bounds and its preset are multiples of the quantity `of`: the unit,
 * the accelerator's wire rate or its HBM rate. A preset is the starting value of a number without a
 * default; only the numbers of switches that reduce have one.
 */
typedef struct family_number {
    const char *key; /* key in the file; NULL: not written */
    size_t offset;   /* offset of block 0's number in family_subject */
    double unit;
    double low, high; /* bounds */
    bool scales;      /* whether the number is fitted by its logarithm */
    enum { OF_UNIT, OF_WIRE, OF_MEMORY } of;
    int elements;    /* length of the array; 0: no array */
    unsigned blocks; /* bit set of the blocks with this number; 0: all */
    double preset;   /* starting value; 0: none */
} family_number;

typedef struct family {
    const char *section;           /* name in an accelerator file; NULL: the top level */
    const char *what;              /* name in reports; NULL: `section` */
    const char *const *block_name; /* names of the blocks; NULL: the section is the only block */
    int first, last;               /* range of blocks, `last` excluded */
    size_t block_size;             /* distance of a number's offset from block to block */
    const family_number *number;   /* [numbers] */
    size_t numbers;
    unsigned kinds;      /* bit set of point_kind: kinds of points to fit to */
    bool links;          /* whether the constants describe links; if not, they describe the die */
    bool alone;          /* whether no other family has numbers in the same block */
    const char *measure; /* noun for its points in the source text: "products" */
    int least;           /* least number of points for a fit */
    double large_weight;
    const char *const *stacks; /* measured software, preferred first */
} family;

extern const family families[FAMILIES];

/**
 * Sets *out to an accelerator and a cluster of one scale-up domain. *out contains pointers into
 * itself, so do not copy it.
 */
void family_subject_init(const plait_accelerator *accelerator, family_subject *out);

/** Returns whether the fit of a block uses a point of an accelerator. */
bool family_takes(const family *f, const plait_accelerator *accelerator, const point *p, int block);

/**
 * Sets `out` to the numbers of a block, and in `subject` the presets of numbers without a default.
 * Returns the count of numbers.
 */
int family_numbers(const family *f, family_subject *subject, int block,
                   fit_number out[FIT_MAX_NUMBERS]);

/** Returns the predicted seconds of a point: `subject` is a family_subject, `what` a point. */
double family_predict_s(const void *subject, const void *what);

/** Returns whether a point is as large as operations of training are. */
bool family_is_large(const plait_accelerator *accelerator, const point *p);

/** Returns whether a point, the index-th of its block, is held out from the fit. */
bool family_holds_out(const point *p, int index);

/** Returns the software whose points a block uses, preferred first; NULL ends the list. */
const char *const *family_stacks(const family *f, int block);
