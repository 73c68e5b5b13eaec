/* vllm_recipes.c - what vLLM's own recipe of a model sets beside degrees and limits */
#include "launch/serving/vllm_recipes.h"

#include <string.h>
#include <strings.h>

#define TRUSTED "--trust-remote-code"

static const vllm_recipe recipes[] = {
    {"deepseek-r1", "0.12.0", "deepseek_v3", "deepseek_r1", TRUSTED, true,
     "deepseek-ai/DeepSeek-R1.yaml"},
    {"deepseek-v3", "0.12.0", "deepseek_v3", "deepseek_v3", TRUSTED, true,
     "deepseek-ai/DeepSeek-V3.yaml"},
    {"deepseek-v3.1", "0.12.0", "deepseek_v31", "deepseek_v3", TRUSTED, true,
     "deepseek-ai/DeepSeek-V3.1.yaml"},
    {"deepseek-v3.2", "0.18.0", "deepseek_v32", "deepseek_v3",
     TRUSTED " --kernel-config.enable_flashinfer_autotune=False --tokenizer-mode deepseek_v32",
     false, "deepseek-ai/DeepSeek-V3.2.yaml"},
    {"deepseek-v3.2-exp", "0.12.0", "deepseek_v32", "deepseek_v3",
     TRUSTED " --tokenizer-mode deepseek_v32", false, "deepseek-ai/DeepSeek-V3.2-Exp.yaml"},
    {"gemma-4", "0.19.1", "gemma4", "gemma4", NULL, false, "Google/gemma-4-31B-it.yaml"},
    {"gemma-4-12b", "0.23.0", "gemma4", "gemma4", NULL, false, "Google/gemma-4-12B-it.yaml"},
    {"glm-4.5", "0.11.0", "glm45", "glm45", TRUSTED, false, "zai-org/GLM-4.5.yaml"},
    {"glm-4.6", "0.11.0", "glm45", "glm45", TRUSTED, false, "zai-org/GLM-4.6.yaml"},
    {"glm-4.7", "0.11.0", "glm47", "glm45", TRUSTED, false, "zai-org/GLM-4.7.yaml"},
    {"glm-5", "0.16.0", "glm47", "glm45", TRUSTED " --chat-template-content-format=string", false,
     "zai-org/GLM-5.yaml"},
    {"glm-5.1", "0.19.1", "glm47", "glm45", TRUSTED " --chat-template-content-format=string", false,
     "zai-org/GLM-5.1.yaml"},
    {"gpt-oss", "0.10.0", "openai", NULL, NULL, false, "openai/gpt-oss-120b.yaml"},
    {"kimi-k2", "0.12.0", "kimi_k2", NULL, TRUSTED " --tokenizer-mode auto", false,
     "moonshotai/Kimi-K2-Instruct.yaml"},
    {"kimi-k2-thinking", "0.12.0", "kimi_k2", "kimi_k2", TRUSTED, false,
     "moonshotai/Kimi-K2-Thinking.yaml"},
    {"kimi-k2.5", "0.19.1", "kimi_k2", "kimi_k2", TRUSTED, false, "moonshotai/Kimi-K2.5.yaml"},
    {"minimax-m2", "0.11.0", "minimax_m2", "minimax_m2", TRUSTED, false,
     "MiniMaxAI/MiniMax-M2.yaml"},
    {"minimax-m2.5", "0.20.2", "minimax_m2", "minimax_m2", TRUSTED, false,
     "MiniMaxAI/MiniMax-M2.5.yaml"},
    {"ministral-3", "0.11.0", "mistral", NULL,
     "--tokenizer_mode mistral --config_format mistral --load_format mistral", false,
     "mistralai/Ministral-3-14B-Instruct-2512.yaml"},
    {"ministral-3-8b-reasoning", "0.11.0", "mistral", "mistral",
     "--tokenizer_mode mistral --config_format mistral --load_format mistral", false,
     "mistralai/Ministral-3-8B-Reasoning-2512.yaml"},
    {"qwen3", "0.8.5", "hermes", "qwen3", NULL, false, "Qwen/Qwen3-30B-A3B.yaml"},
    {"qwen3-235b-a22b-instruct", "0.10.0", "hermes", NULL, TRUSTED, false,
     "Qwen/Qwen3-235B-A22B-Instruct-2507.yaml"},
    {"qwen3-coder", "0.10.0", "qwen3_coder", NULL, NULL, false,
     "Qwen/Qwen3-Coder-480B-A35B-Instruct.yaml"},
    {"qwen3-next", "0.10.0", "hermes", NULL, NULL, false, "Qwen/Qwen3-Next-80B-A3B-Instruct.yaml"},
    {"qwen3.5", "0.17.0", "qwen3_coder", "qwen3", TRUSTED, false, "Qwen/Qwen3.5-397B-A17B.yaml"},
    {"step-3.5-flash", "0.11.0", "step3p5", "step3p5", TRUSTED, false,
     "stepfun-ai/Step-3.5-Flash.yaml"},
};

static bool is_of(const char *name, const char *family)
{
    const size_t length = strlen(family);

    return strncasecmp(name, family, length) == 0 && (name[length] == '\0' || name[length] == '-');
}

const vllm_recipe *vllm_recipe_of(const plait_model *model)
{
    const char *const slash = strrchr(model->name, '/');
    const char *const name = slash != NULL ? slash + 1 : model->name;
    const vllm_recipe *best = NULL;

    for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++)
        if (is_of(name, recipes[r].family) &&
            (best == NULL || strlen(recipes[r].family) > strlen(best->family)))
            best = &recipes[r];
    return best;
}
