/* problem.c - initializes a problem, and checks whether it is complete and consistent */
#include "plan/problem_check.h"

#include <math.h>

#include "plait/runtime.h"
#include "plan/documents.h"
#include "plan/problem_parts.h"

void plait_problem_init(plait_problem *problem)
{
    *problem = (plait_problem){.risk = PLAIT_USUAL_RISK};
}

static plait_status check_count(const char *where, int count, int most, plait_error *err)
{
    if (count >= 1 && count <= most)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected an integer from 1 to %d, found %d",
                      most, count);
}

static bool is_band(const plait_band *band)
{
    return band->low >= 0.0 && band->low <= band->high && isfinite(band->high) &&
           band->tie >= 0.0 && isfinite(band->tie);
}

plait_status problem_check_model(const plait_problem *problem, plait_error *err)
{
    if (!problem)
        return plait_fail(err, PLAIT_ERROR_RANGE, "problem", "expected a problem, found NULL");
    return model_check_parts(problem->model, err);
}

/* C.430: the tokens of all images are part of the sequence. */
static plait_status check_images(const plait_problem *problem, plait_error *err)
{
    const plait_job *const job = &problem->job;
    const plait_encoder *const encoder = &problem->model->encoder[PLAIT_VISION];

    if (job->images == 0 && job->image_tokens == 0)
        return PLAIT_OK;
    if (encoder->model == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "images",
                          "expected a model with an encoder of images, found %.60s",
                          problem->model->name);
    PLAIT_TRY(check_count("images", job->images, PLAIT_MAX_SEQ, err));
    if (job->image_tokens != 0)
        PLAIT_TRY(check_count("image_tokens", job->image_tokens, PLAIT_MAX_SEQ, err));
    const double each = plait_job_patches(problem) / encoder->patches_per_token;
    if (job->images * each > job->seq)
        return plait_fail(err, PLAIT_ERROR_RANGE, "images",
                          "expected at most %.0f images of %.0f tokens in a sequence, found %d",
                          floor(job->seq / each), each, job->images);
    return PLAIT_OK;
}

plait_status problem_check(const plait_problem *problem, plait_error *err)
{
    PLAIT_TRY(problem_check_model(problem, err));
    PLAIT_TRY(cluster_check_parts(problem->cluster, err));
    PLAIT_TRY(runtime_check_parts(problem->runtime, err));

    const plait_job *const job = &problem->job;
    const int taken = problem->cluster->gpus; // GPUs of the cluster; 0: unlimited
    PLAIT_TRY(check_count("seq", job->seq, PLAIT_MAX_SEQ, err));
    if (job->document != 0)
        PLAIT_TRY(check_count("document", job->document, PLAIT_MAX_SEQ, err));
    PLAIT_TRY(job_check_documents(job, err));
    PLAIT_TRY(check_images(problem, err));
    PLAIT_TRY(check_count("gbs", job->gbs, PLAIT_MAX_GBS, err));
    PLAIT_TRY(check_count("gpus", job->gpus, PLAIT_MAX_GPUS, err));
    if (taken > 0 && job->gpus > taken)
        return plait_fail(err, PLAIT_ERROR_RANGE, "gpus",
                          "expected at most the %d selected GPUs of %.80s, found %d", taken,
                          problem->cluster->name, job->gpus);
    if (job->group_gpus < 0 || job->group_gpus > PLAIT_MAX_GPUS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "group_gpus",
                          "expected an integer from 0 to %d, found %d", PLAIT_MAX_GPUS,
                          job->group_gpus);
    if ((unsigned)job->precision >= PLAIT_PRECISIONS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "precision",
                          "expected a value of plait_precision, found %d", (int)job->precision);

    // Check both bands and the risk. A risk of 0 selects the default.
    if (!(problem->risk >= 0.0 && problem->risk < 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "risk",
                          "expected a probability from 0 to below 1, found %g", problem->risk);
    if (!is_band(&problem->band) || !is_band(&problem->memory_band))
        return plait_fail(err, PLAIT_ERROR_RANGE, "band",
                          "expected factors of 0 or more, the lower one first, found others");
    return PLAIT_OK;
}
