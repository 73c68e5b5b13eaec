/*
 * family.h - families of constants: one part of the cost model and the points that it is fitted to
 *
 * A family has one block of constants in an accelerator file for each precision, kernel or
 * collective. Its description states which points a block is fitted to, which numbers the block
 * has, and which function of kernel.h or collective.h predicts the time of a point from them.
 */
#pragma once

#include <stdint.h>

#include "calibrate/fit.h"
#include "calibrate/points.h"

/** The subject of a fit (fit.h): an accelerator, and one scale-up domain of it as a cluster. */
typedef struct family_subject {
    plait_accelerator accelerator;
    plait_cluster domain; /* holds `accelerator` */
    double scale;         /* factor on all times of a table of products; not written to the file */
} family_subject;

typedef struct family {
    const char *section;           /* name in an accelerator file; NULL: the top level */
    const char *what;              /* name in reports; NULL: the section's */
    const char *const *block_name; /* NULL: the section itself is the block */
    int first, last;               /* range of blocks, `last` excluded */
    bool kernels;                  /* true: a property of the die; false: of its links */
    bool alone;                    /* the family has all numbers of its block */
    const char *measure;           /* noun for its points in the source text: "products" */
    int least;                     /* number of points that a fit needs */
    double large_weight;
    bool (*takes)(const plait_accelerator *accelerator, const point *p, int block);
    int (*numbers)(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS]);
    fit_predict *predict_s;
    bool (*large)(const plait_accelerator *accelerator, const point *p);
    uint64_t (*shape)(const point *p);       /* key of held-out groups; NULL: every 4th point */
    const char *const *(*stacks)(int block); /* measured software, preferred first */
} family;

/** All families in the order of fitting: later ones use the constants of earlier ones. */
extern const family *const families[];
extern const int family_count;

/** Sets *out to an accelerator in one scale-up domain. *out points into itself: do not copy it. */
void family_subject_init(const plait_accelerator *accelerator, family_subject *out);

/** Hashes some numbers; used to assign shapes to the held-out set. */
uint64_t family_mix(const double *number, int count);

extern const family family_memory;
extern const family family_gemm;
extern const family family_sustained;
extern const family family_weight_gradient;
extern const family family_grouped;
extern const family family_attention;
extern const family family_backward;
extern const family family_decode;
extern const family family_collective;
extern const family family_p2p;
