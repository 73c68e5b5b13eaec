/*
 * problem.h - the problem: model, cluster, software, and the job, which is what one step computes
 *
 * A job is the part of a problem that no plan may change: two plans of one job compute the same
 * step. plait_problem combines it with the model, the cluster and the software. The cost model and
 * the search are pure functions of it.
 *
 * In order: plait_problem_init, then set model, cluster, runtime and job.
 */
#ifndef PLAIT_PROBLEM_H
#define PLAIT_PROBLEM_H

#include <stddef.h>

#include "plait/cluster.h"
#include "plait/model.h"
#include "plait/tuning.h"

PLAIT_BEGIN_DECLS

typedef struct plait_runtime plait_runtime;

/** Upper limits of a job, from a command line, a file or a program. */
enum { PLAIT_MAX_SEQ = 1 << 30, PLAIT_MAX_GBS = 1 << 30, PLAIT_MAX_GPUS = 1 << 24 };

/**
 * Lengths of the documents of a fine-tuning job (C.416 to C.418). The zero value: unknown, and all
 * sequences take the same time.
 */
typedef struct plait_documents {
    int lengths;          /* number of different lengths; 0: unknown */
    const double *length; /* [lengths] tokens, ascending; longer ones are cut to a sequence */
    const double *share;  /* [lengths] share of the documents, summing to 1 */
    bool padded;          /* a sequence is one document, padded to the longest of its microbatch */
    bool balanced;        /* packs are distributed over data-parallel ranks by their work */
} plait_documents;

typedef struct plait_job {
    int seq; /* tokens of one sequence */
    int gbs; /* sequences of one step, over all GPUs; pairs of sequences in preference learning */
    int gpus;
    plait_precision precision; /* format of the matrix products; the rest is bf16 or fp32 */
    int group_gpus; /* GPUs taken of the node group, if the problem is restricted to one; 0: gpus */
    int document;   /* tokens of a document of a packed sequence, which limits attention; 0: seq */
    plait_tuning tuning; /* trained parameters and adapters; zero: all are trained */
    int images;          /* images of a sequence, whose tokens are part of `seq`; 0: text alone */
    int image_tokens;    /* tokens of the decoder for one image; 0: as the model's encoder has */
    plait_documents documents; /* distribution of lengths; `document` is then their reach (C.441) */
} plait_job;

/**
 * Error band: factors on a predicted step between which 80 % of measured steps lie; both 0:
 * unknown.
 */
typedef struct plait_band {
    double low;
    double high;
    double tie; /* plans closer than this ratio cannot be distinguished; 0: unknown */
} plait_band;

/**
 * The four inputs of every price, with the error bands of predictions. Functions that take a
 * problem and return a status fail (RANGE) if the model, cluster or runtime is missing or
 * inconsistent, counts of the job are below 1 or above the limits above, the job has more GPUs than
 * were taken of the cluster, the format is unknown, or the risk is not a probability.
 */
typedef struct plait_problem {
    const plait_model *model;
    const plait_cluster *cluster;
    const plait_runtime *runtime;
    plait_job job;
    plait_band band;         /* band of steps, by plait_evidence_band (validate.h) */
    plait_band memory_band;  /* band of peaks of memory, by plait_evidence_memory_band */
    double risk;             /* accepted risk of running out of memory, below 1; 0: the default */
    const void *reserved[8]; /* zero; later versions turn it into fields */
} plait_problem;

/** The default accepted risk of running out of memory. */
#define PLAIT_USUAL_RISK 0.05

/** An empty problem with the default risk: set model, cluster, runtime and job. */
void plait_problem_init(plait_problem *problem);

/**
 * Tokens of one unit of a batch (gbs, mbs): of a sequence, or in preference learning of a pair of
 * sequences, the chosen and the rejected answer.
 */
static inline double plait_job_unit_tokens(const plait_job *job)
{
    return (job->tuning.kind == PLAIT_JOB_DPO ? 2.0 : 1.0) * job->seq;
}

/** Tokens of one step, without padding. */
static inline double plait_job_tokens(const plait_job *job)
{
    const plait_documents *const documents = &job->documents;
    double mean = 0.0;

    for (int i = 0; documents->padded && i < documents->lengths; i++)
        mean += documents->share[i] *
                (documents->length[i] < job->seq ? documents->length[i] : job->seq);
    return job->gbs * plait_job_unit_tokens(job) * (mean > 0.0 ? mean / job->seq : 1.0);
}

/** Parameters that a job trains: all, all that are not frozen, or those of adapters. (C.410) */
double plait_job_trained_params(const plait_model *model, const plait_tuning *tuning);

/** Patches of one image in the encoder of the model, which must have one. (C.430) */
double plait_job_patches(const plait_problem *problem);

/** Tokens that attend to each other: those of a document, or of the whole sequence. (C.13) */
static inline int plait_job_reach(const plait_job *job)
{
    return job->document > 0 && job->document < job->seq ? job->document : job->seq;
}

PLAIT_END_DECLS

#endif
