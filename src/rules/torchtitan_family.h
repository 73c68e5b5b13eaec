/* torchtitan_family.h - which of torchtitan's model families builds a model */
#pragma once

#include "plait/model.h"

/** Families by what their blocks can have, not by what they are named after. */
typedef enum titan_family {
    TITAN_LLAMA3,      /* grouped-query attention and an MLP */
    TITAN_QWEN3,       /* also norms of q and k, experts */
    TITAN_DEEPSEEK_V3, /* latent attention, experts, multi-token prediction */
    TITAN_GPT_OSS,     /* sinks, windows and biases, in two sizes */
    TITAN_FAMILIES
} titan_family;

/** The family that a model would be built by, if its rules (TM1 ...) let it. */
titan_family titan_family_of(const plait_model *model);
