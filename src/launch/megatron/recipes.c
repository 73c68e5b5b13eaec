/* recipes.c - which of Megatron-Bridge's recipes builds which model
 *
 * Names without GPUs and precision in them, so that no benchmark's own checks apply: what such a
 * recipe sets beyond the model, a plan's overrides set again.
 */
#include <string.h>
#include <strings.h>

#include "launch/megatron/megatron.h"

typedef struct recipe_row {
    const char *model;
    int layers; /* as the recipe builds it: a file may bear the name and be another model */
    int hidden;
    const char *recipe;
} recipe_row;

static const recipe_row rows[] = {
    {"deepseek-v2-lite", 27, 2048, "deepseek_v2_lite_pretrain_config"},
    {"deepseek-v2", 60, 5120, "deepseek_v2_pretrain_config"},
    {"deepseek-v3", 61, 7168, "deepseek_v3_pretrain_config"},
    {"glm-4.5", 92, 5120, "glm45_355b_pretrain_config"},
    {"glm-4.5-air", 46, 4096, "glm45_air_106b_pretrain_config"},
    {"gpt3-175b", 96, 12288, "gpt3_175b_pretrain_config"},
    {"gpt-oss-20b", 24, 2880, "gpt_oss_20b_pretrain_config"},
    {"gpt-oss-120b", 36, 2880, "gpt_oss_120b_pretrain_config"},
    {"kimi-k2", 61, 7168, "kimi_k2_pretrain_config"},
    {"llama-2-7b", 32, 4096, "llama2_7b_pretrain_config"},
    {"llama-3-8b", 32, 4096, "llama3_8b_pretrain_config"},
    {"llama-3-70b", 80, 8192, "llama3_70b_pretrain_config"},
    {"llama-3.1-8b", 32, 4096, "llama31_8b_pretrain_config"},
    {"llama-3.1-70b", 80, 8192, "llama31_70b_pretrain_config"},
    {"llama-3.1-405b", 126, 16384, "llama31_405b_pretrain_config"},
    {"llama-3.2-1b", 16, 2048, "llama32_1b_pretrain_config"},
    {"llama-3.2-3b", 28, 3072, "llama32_3b_pretrain_config"},
    {"qwen2.5-7b", 28, 3584, "qwen25_7b_pretrain_config"},
    {"qwen2.5-14b", 48, 5120, "qwen25_14b_pretrain_config"},
    {"qwen2.5-32b", 64, 5120, "qwen25_32b_pretrain_config"},
    {"qwen2.5-72b", 80, 8192, "qwen25_72b_pretrain_config"},
    {"qwen3-0.6b", 28, 1024, "qwen3_600m_pretrain_config"},
    {"qwen3-1.7b", 28, 2048, "qwen3_1p7b_pretrain_config"},
    {"qwen3-4b", 36, 2560, "qwen3_4b_pretrain_config"},
    {"qwen3-8b", 36, 4096, "qwen3_8b_pretrain_config"},
    {"qwen3-14b", 40, 5120, "qwen3_14b_pretrain_config"},
    {"qwen3-32b", 64, 5120, "qwen3_32b_pretrain_config"},
    {"qwen3-30b-a3b", 48, 2048, "qwen3_30b_a3b_pretrain_config"},
    {"qwen3-235b-a22b", 94, 4096, "qwen3_235b_a22b_pretrain_config"},
    {"qwen3-next-80b-a3b", 48, 2048, "qwen3_next_80b_a3b_pretrain_config"},
};

/* "meta-llama/Llama-3.1-8B" is llama-3.1-8b. */
static bool same_name(const char *name, const char *wanted)
{
    const char *const slash = strrchr(name, '/');

    return text_alike(slash != NULL ? slash + 1 : name, wanted);
}

const char *megatron_recipe_of(const plait_model *model)
{
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        if (same_name(model->name, rows[r].model) && model->layers == rows[r].layers &&
            model->hidden == rows[r].hidden)
            return rows[r].recipe;
    return NULL;
}
