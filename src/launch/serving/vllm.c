/* vllm.c - writes a worker as arguments of `vllm serve` */
#include "launch/serving/serving.h"
#include "plan/serve_values.h"

#include <string.h>
#include <strings.h>

#include "plait/units.h"

#define TRUSTED "--trust-remote-code"

typedef struct vllm_recipe {
    const char *family;    /* prefix of a model's name, up to a hyphen or the end */
    const char *since;     /* first release of vLLM that runs the model */
    const char *tools;     /* word of --tool-call-parser; NULL: none */
    const char *reasoning; /* word of --reasoning-parser; NULL: none */
    const char *more;      /* further arguments with blanks between them; NULL: none */
    bool experts;          /* true if the recipe includes --enable-expert-parallel */
    const char *source;    /* file in vllm-project/recipes 8959cf6 (2026-08-21), under models/ */
} vllm_recipe;

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

/*
 * Returns the heads of a layer with sparse latent attention (an indexer); 0: the model has no such
 * layer.
 */
static int sparse_heads(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_MLA && model->kind[k].mla.index_heads > 0)
            return model->kind[k].mla.heads;
    return 0;
}

/*
 * Returns a comment on slow head counts: FlashMLA's sparse kernels pad the heads of a rank to 64,
 * which makes tp 8 slower. Source: DeepSeek-V3.2.yaml in vllm-project/recipes 8959cf6.
 */
static const char *heads_note(const serving_role *role)
{
    static const int least = 64;
    const int heads = sparse_heads(role->launch->model);

    if (heads == 0 || heads / role->worker.tp >= least)
        return "";
    return plait_arena_printf(role->arena,
                              "\n"
                              "# the recipe advises against tp %d: kernels pad the %d heads of a "
                              "rank to %d; tp 1 or 2 with data-parallel attention avoids this",
                              role->worker.tp, heads / role->worker.tp, least);
}

/* vLLM reserves memory for one of its ranks; the next higher one holds the adapters. */
static void add_adapters(const serving_role *role, launch_args *out)
{
    static const int ranks[] = {1, 8, 16, 32, 64, 128, 256, 320, 512};
    const plait_load *load = &role->launch->load;
    size_t r = 0;

    if (load->lora_adapters < 1)
        return;
    while (r + 1 < sizeof ranks / sizeof *ranks && ranks[r] < load->lora_rank)
        r++;
    args_switch(out, "--enable-lora");
    args_int(out, "--max-loras", load->lora_adapters);
    args_int(out, "--max-lora-rank", ranks[r]);
}

static void add_all(const serving_role *role, launch_args *out)
{
    const plait_worker w = role->worker;
    args_group(out, "degrees");
    args_int(out, "--tensor-parallel-size", w.tp);
    if (w.pp > 1)
        args_int(out, "--pipeline-parallel-size", w.pp);
    if (w.dp_attention > 1)
        args_int(out, "--data-parallel-size", w.dp_attention);
    if (w.ep > 1)
        args_switch(out, "--enable-expert-parallel");
    if (w.ep > 1 && role->launch->plan->engine->two_batch_overlap)
        args_switch(out, "--enable-dbo");
    if (serve_redundant(role->launch->model) > 0) {
        args_switch(out, "--enable-eplb");
        args_printf(out, "--eplb-config", "{\"num_redundant_experts\":%d}",
                    serve_redundant(role->launch->model));
    }
    if (role->nodes > 1 && w.dp_attention > 1) {
        args_int(out, "--data-parallel-size-local", w.dp_attention / role->nodes);
        args_words(out, "--data-parallel-address",
                   "\"${HEAD:?expected the host name of the first node of this worker}\"");
    }
    if (role->nodes > 1)
        args_text(out,
                  w.dp_attention > 1 ? "--data-parallel-backend" : "--distributed-executor-backend",
                  "ray");
    const plait_serve_plan *plan = role->launch->plan;

    args_group(out, "batch, chunk, cache");
    args_int(out, "--max-num-seqs", serving_batch(role));
    args_int(out, "--max-num-batched-tokens", serving_chunk(role));
    args_switch(out, "--enable-chunked-prefill");
    args_int(out, "--max-model-len", serving_context(role));
    args_number(out, "--gpu-memory-utilization", plan->engine->memory_fraction);
    // with sparse attention `auto` selects an fp8 cache, so write bfloat16 explicitly. Source:
    // DeepSeek-V3.2-Exp.yaml in vllm-project/recipes
    args_text(out, "--kv-cache-dtype",
              role->launch->plan->kv == PLAIT_KV_FP8  ? "fp8"
              : sparse_heads(role->launch->model) > 0 ? "bfloat16"
                                                      : "auto");
    if (role->launch->load.cached > 0.0)
        args_switch(out, "--enable-prefix-caching");
    add_adapters(role, out);
    if (plan->engine->host_cache_bytes > 0.0) { // the sum over the ranks of a worker
        args_text(out, "--kv-offloading-backend", "native");
        args_number(out, "--kv-offloading-size",
                    plan->engine->host_cache_bytes / PLAIT_GIB * w.tp * w.pp);
    }
    const plait_weight_format format = role->launch->plan->weights;

    if (format == PLAIT_WEIGHT_BF16)
        args_text(out, "--dtype", "bfloat16");
    if (format == PLAIT_WEIGHT_FP8 || format == PLAIT_WEIGHT_FP8_BLOCK)
        args_text(out, "--quantization", "fp8");
    if (role->launch->load.draft > 0)
        args_printf(out, "--speculative-config",
                    "{\"method\":\"mtp\",\"num_speculative_tokens\":%d}", role->launch->load.draft);
    if (role->launch->plan->disaggregated)
        args_text(out, "--kv-transfer-config",
                  "{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}");
}

static void add_served(const serving_role *role, launch_args *out)
{
    add_all(role, out);
    args_words(out, "--port", "\"$PORT\"");
    // find the recipe with the longest family name that begins the model's name
    const plait_model *const model = role->launch->model;
    const char *const slash = strrchr(model->name, '/');
    const char *const name = slash != NULL ? slash + 1 : model->name;
    const vllm_recipe *best = NULL;

    for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++)
        if (is_of(name, recipes[r].family) &&
            (best == NULL || strlen(recipes[r].family) > strlen(best->family)))
            best = &recipes[r];
    const vllm_recipe *const recipe = best;
    const char *const heads = heads_note(role);
    const char *title;

    if (recipe == NULL)
        return;
    title = plait_arena_printf(
        role->arena, "vLLM %s or later, from models/%s of vllm-project/recipes 8959cf6%s%s",
        recipe->since, recipe->source, heads != NULL ? heads : "",
        recipe->experts && role->worker.ep == 1 ? "\n# the recipe also has --enable-expert-parallel"
                                                : "");
    if (title == NULL || heads == NULL) {
        out->failed = true;
        return;
    }
    args_group(out, title);
    if (recipe->more != NULL)
        args_switch(out, recipe->more);
    if (recipe->tools != NULL) {
        args_switch(out, "--enable-auto-tool-choice");
        args_text(out, "--tool-call-parser", recipe->tools);
    }
    if (recipe->reasoning != NULL)
        args_text(out, "--reasoning-parser", recipe->reasoning);
}

static void add_dynamo(const serving_role *role, launch_args *out)
{
    add_all(role, out);
    if (role->launch->plan->disaggregated && role->index == 0)
        args_switch(out, "--is-prefill-worker");
}

static const char *router_script(const serving_role role[2], plait_arena *arena)
{
    return serving_router(role, "vllm-router --vllm-pd-disaggregation", "", arena);
}

const serving_engine serving_vllm = {
    .program = "vllm serve",
    .dynamo = "vllm",
    .dynamo_program = "python3 -m dynamo.vllm --model",
    .image = "vllm/vllm-openai:latest",
    .dynamo_image = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:latest",
    .prelude =
        "if [ \"${NODE_RANK:?expected the rank of this node in its worker, from 0}\" != 0 ]; then\n"
        "    exec ray start --block --address \"${HEAD:?expected the host name of the first node "
        "of this worker}:6379\"\n"
        "fi\n"
        "ray start --head --port 6379\n",
    .args = add_served,
    .dynamo_args = add_dynamo,
    .router = router_script,
};
