/* encoder.c - parameters and FLOPs of encoders of images and audio (C.6) */
#include "plait/lowlevel/block.h"

double plait_encoder_params(const plait_encoder *encoder)
{
    if (encoder->model == NULL)
        return 0.0;
    return plait_model_params(encoder->model).total + encoder->projector_params;
}

double plait_encoder_flops(const plait_encoder *encoder, double patches)
{
    const plait_model *model = encoder->model;
    const double forward = plait_model_flops_per_token(model, patches, false) / 3.0;
    const double embedding = 2.0 * model->patch_dim * model->hidden;

    return patches *
           (forward + embedding + 2.0 * encoder->projector_params / encoder->patches_per_token);
}
