/* encoder_price.h - weights, seconds and bytes of the encoders of images and audio (C.430 to C.432) */
#pragma once

#include "costmodel/layer/layer_ops.h"

/** Are the encoders of the model in memory? Jobs that pre-train on text leave them out. (C.430) */
bool encoders_present(const plait_problem *problem);

/** Parameters that the encoders and projectors of a job add to a rank of the first stage. */
plait_weights encoder_weights(const plait_problem *problem, const layer_row *row);

/** Adds the encoder of images to the price of the embedding, if the job has images. */
void encoder_price_add(const plait_problem *problem, const layer_row *row, layer_price *out);
