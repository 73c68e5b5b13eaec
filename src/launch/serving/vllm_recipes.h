/* vllm_recipes.h - what vLLM's own recipe of a model sets beside degrees and limits */
#pragma once

#include "plait/model.h"

typedef struct vllm_recipe {
    const char *family;    /* a model's name begins so, and ends there or goes on with a hyphen */
    const char *since;     /* the first release of vLLM that runs it */
    const char *tools;     /* of --tool-call-parser; NULL: none */
    const char *reasoning; /* of --reasoning-parser; NULL: none */
    const char *more;      /* further arguments, blanks between them; NULL: none */
    bool experts;          /* it has --enable-expert-parallel */
    const char *source;    /* in vllm-project/recipes 8959cf6 (2026-08-21), under models/ */
} vllm_recipe;

/** NULL: vLLM has none of such a name. */
const vllm_recipe *vllm_recipe_of(const plait_model *model);
