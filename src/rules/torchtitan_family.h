/* torchtitan_family.h - which model family of torchtitan builds a model */
#pragma once

#include "plait/model.h"

/** Model families. The features of a model's blocks determine its family, not its name. */
typedef enum titan_family {
    TITAN_LLAMA3,      /* grouped-query attention and an MLP */
    TITAN_QWEN3,       /* LLAMA3 with norms of q and k, or with experts */
    TITAN_DEEPSEEK_V3, /* latent attention, experts, multi-token prediction */
    TITAN_GPT_OSS,     /* sinks, windows and biases, in two sizes */
    TITAN_FAMILIES
} titan_family;

/**
 * Returns the only family that can build a model. The family's rules (TM1 ...) then check the
 * model.
 */
titan_family titan_family_of(const plait_model *model);
