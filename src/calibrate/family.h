/*
 * family.h - the constants of one part of the cost model, and the measurements that tell them
 *
 * A family has one block of constants in an accelerator file for each precision, kernel or
 * collective. All have one anatomy: which points a block takes, which numbers it has, and the
 * function of kernel.h or collective.h that prices a point with them.
 */
#pragma once

#include <stdint.h>

#include "calibrate/fit.h"
#include "calibrate/points.h"

/** What numbers are fitted in: an accelerator, alone in a scale-up domain. */
typedef struct family_subject {
    plait_accelerator accelerator;
    plait_cluster domain; /* holds `accelerator` */
    double scale;         /* of a whole table against the burst model; not a constant of a file */
} family_subject;

typedef struct family {
    const char *section;           /* of an accelerator file */
    const char *what;              /* in reports, if it is not the section */
    const char *const *block_name; /* NULL: the section itself is the block */
    int first, last;               /* blocks; the last one excluded */
    bool kernels;                  /* measured on a die; else on links */
    bool alone;                    /* its numbers are all that its block has */
    const char *measure;           /* "products", for the source of a block */
    int least;                     /* points that a fit needs */
    double large_weight;
    bool (*takes)(const plait_accelerator *accelerator, const point *p, int block);
    int (*numbers)(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS]);
    fit_predict *predict_s;
    bool (*large)(const plait_accelerator *accelerator, const point *p);
    uint64_t (*shape)(const point *p);       /* held out as a whole; NULL: every fourth point */
    const char *const *(*stacks)(int block); /* known software, best first */
} family;

/** All families, in the order in which they are fitted: later ones price with earlier ones. */
extern const family *const families[];
extern const int family_count;

/** An accelerator in a domain of its own. *out must stay where it is. */
void family_subject_init(const plait_accelerator *accelerator, family_subject *out);

/** A deterministic mix of some numbers, for shapes. */
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
