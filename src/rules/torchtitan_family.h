/* torchtitan_family.h - the torchtitan model family that builds a model */
#pragma once

#include "plait/model.h"

/** Model families, distinguished by the features of their blocks and not by name. */
typedef enum titan_family {
    TITAN_LLAMA3,      /* grouped-query attention and an MLP */
    TITAN_QWEN3,       /* also norms of q and k, experts */
    TITAN_DEEPSEEK_V3, /* latent attention, experts, multi-token prediction */
    TITAN_GPT_OSS,     /* sinks, windows and biases, in two sizes */
    TITAN_FAMILIES
} titan_family;

/** Returns the family that would build a model, if the rules of that family (TM1 ...) allow it. */
titan_family titan_family_of(const plait_model *model);
