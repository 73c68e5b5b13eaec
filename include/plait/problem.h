/*
 * problem.h - what one step computes (job), and with which model, cluster and software.
 *
 * A job is the part of a problem that no plan may change: two plans of one job compute the same step.
 * plait_problem combines it with the model, the cluster and the software; the cost model and the search are
 * pure functions of it.
 */
#ifndef PLAIT_PROBLEM_H
#define PLAIT_PROBLEM_H

#include <stddef.h>

#include "plait/cluster.h"
#include "plait/model.h"

PLAIT_BEGIN_DECLS

typedef struct plait_runtime plait_runtime;

/** Upper limits of a job, from a command line, a file or a program. */
enum { PLAIT_MAX_SEQ = 1 << 30, PLAIT_MAX_GBS = 1 << 30, PLAIT_MAX_GPUS = 1 << 24 };

typedef struct plait_job {
    int seq; /* tokens of one sequence */
    int gbs; /* sequences of one step, over all GPUs */
    int gpus;
    plait_precision precision; /* format of the matrix products; the rest is bf16 or fp32 */
    int group_gpus; /* GPUs taken of the node group, if the problem is that of one group; 0: gpus */
} plait_job;

/** Factors on a predicted step between which a measured one lies; both 0: unknown. */
typedef struct plait_band {
    double low;
    double high;
    double tie; /* plans closer than this ratio cannot be distinguished; 0: unknown */
} plait_band;

/**
 * The four inputs of every price, and how far it is to be trusted. Functions that take a problem and
 * return a status refuse (RANGE) a model, cluster or runtime that is missing or inconsistent, counts of the
 * job below 1 or beyond the limits above, more GPUs than were taken of the cluster, an unknown format, and
 * a risk that is no probability.
 */
typedef struct plait_problem {
    const plait_model *model;
    const plait_cluster *cluster;
    const plait_runtime *runtime;
    plait_job job;
    plait_band band;         /* band of steps, from measured runs (validate.h) */
    plait_band memory_band;  /* band of peaks of memory, likewise; without `tie` */
    double risk;             /* accepted risk of running out of memory, below 1; 0: the default */
    const void *reserved[8]; /* zero; later versions turn it into fields */
} plait_problem;

/** The default accepted risk of running out of memory. */
#define PLAIT_USUAL_RISK 0.05

/** An empty problem with the default risk: set model, cluster, runtime and job. */
void plait_problem_init(plait_problem *problem);

/** Tokens of one step. */
static inline double plait_job_tokens(const plait_job *job)
{
    return (double)job->gbs * (double)job->seq;
}

PLAIT_END_DECLS

#endif
