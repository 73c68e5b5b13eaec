/* images.c - patches of images and audio (C.6, C.430) */
#include <math.h>

#include "plait/lowlevel/block.h"
#include "plait/problem.h"

static const double image_side = 1024.0; /* pixels; chosen, for encoders of any size */

double plait_encoder_patches(const plait_encoder *encoder)
{
    const double token_side = encoder->patch * sqrt(encoder->patches_per_token);

    if (encoder->model->max_seq > 0 || encoder->patch == 0)
        return encoder->model->max_seq;
    return encoder->patches_per_token * pow(ceil(image_side / token_side), 2.0);
}

double plait_job_patches(const plait_problem *problem)
{
    const plait_encoder *const encoder = &problem->model->encoder[PLAIT_VISION];

    return problem->job.image_tokens > 0
               ? (double)problem->job.image_tokens * encoder->patches_per_token
               : plait_encoder_patches(encoder);
}
