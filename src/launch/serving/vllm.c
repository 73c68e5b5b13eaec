/* vllm.c - a worker as arguments of `vllm serve` */
#include "launch/serving/serving.h"
#include "launch/serving/vllm_recipes.h"

/* Heads of a layer with sparse latent attention (an indexer); 0: the model has none. */
static int sparse_heads(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_MLA && model->kind[k].mla.index_heads > 0)
            return model->kind[k].mla.heads;
    return 0;
}

/* With sparse attention `auto` is a cache in fp8: DeepSeek-V3.2-Exp.yaml of vllm-project/recipes. */
static const char *cache_format(const serving_role *role)
{
    if (role->launch->plan->kv == PLAIT_KV_FP8)
        return "fp8";
    return sparse_heads(role->launch->model) > 0 ? "bfloat16" : "auto";
}

static void add_degrees(const serving_role *role, launch_args *out)
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
    if (role->nodes > 1 && w.dp_attention > 1) {
        args_int(out, "--data-parallel-size-local", w.dp_attention / role->nodes);
        args_words(out, "--data-parallel-address", "\"${HEAD:?the first node of this worker}\"");
    }
    if (role->nodes > 1)
        args_text(out,
                  w.dp_attention > 1 ? "--data-parallel-backend" : "--distributed-executor-backend",
                  "ray");
}

static void add_limits(const serving_role *role, launch_args *out)
{
    const plait_serve_plan *plan = role->launch->plan;

    args_group(out, "batch, chunk, cache");
    args_int(out, "--max-num-seqs", serving_batch(role));
    args_int(out, "--max-num-batched-tokens", serving_chunk(role));
    args_switch(out, "--enable-chunked-prefill");
    args_int(out, "--max-model-len", serving_context(role));
    args_number(out, "--gpu-memory-utilization", plan->engine->memory_fraction);
    args_text(out, "--kv-cache-dtype", cache_format(role));
    if (role->launch->load.cached > 0.0)
        args_switch(out, "--enable-prefix-caching");
}

static void add_weights(const serving_role *role, launch_args *out)
{
    const plait_weight_format format = role->launch->plan->weights;

    if (format == PLAIT_WEIGHT_BF16)
        args_text(out, "--dtype", "bfloat16");
    if (format == PLAIT_WEIGHT_FP8 || format == PLAIT_WEIGHT_FP8_BLOCK)
        args_text(out, "--quantization", "fp8");
    if (role->launch->load.draft > 0)
        args_printf(out, "--speculative-config",
                    "{\"method\":\"mtp\",\"num_speculative_tokens\":%d}", role->launch->load.draft);
}

/*
 * FlashMLA's sparse kernels fill a rank's heads up to 64: as DeepSeek-V3.2.yaml of
 * vllm-project/recipes 8959cf6 has it, tp 8 is slower for that.
 */
static const char *heads_note(const serving_role *role)
{
    static const int least = 64;
    const int heads = sparse_heads(role->launch->model);

    if (heads == 0 || heads / role->worker.tp >= least)
        return "";
    return plait_arena_printf(
        role->arena,
        "\n# the recipe advises against tp %d: kernels fill the %d heads of a "
        "rank up to %d; tp 1 or 2 with attention ranks does without",
        role->worker.tp, heads / role->worker.tp, least);
}

static void add_recipe(const serving_role *role, launch_args *out)
{
    const vllm_recipe *const recipe = vllm_recipe_of(role->launch->model);
    const char *const heads = heads_note(role);
    const char *title;

    if (recipe == NULL)
        return;
    title = plait_arena_printf(
        role->arena, "vLLM %s or later, as models/%s of vllm-project/recipes 8959cf6 has it%s%s",
        recipe->since, recipe->source, heads != NULL ? heads : "",
        recipe->experts && role->worker.ep == 1 ? "\n# the recipe has --enable-expert-parallel, too"
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

static void add_all(const serving_role *role, launch_args *out)
{
    add_degrees(role, out);
    add_limits(role, out);
    add_weights(role, out);
    if (role->launch->plan->disaggregated)
        args_text(out, "--kv-transfer-config",
                  "{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}");
}

static void add_served(const serving_role *role, launch_args *out)
{
    add_all(role, out);
    args_words(out, "--port", "\"$PORT\"");
    add_recipe(role, out);
}

static void add_dynamo(const serving_role *role, launch_args *out)
{
    add_all(role, out);
    if (role->launch->plan->disaggregated && role->index == 0)
        args_switch(out, "--is-prefill-worker");
}

static const char *router(const serving_role role[2], plait_arena *arena)
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
        "if [ \"${NODE_RANK:?0 on the first node of this worker}\" != 0 ]; then\n"
        "    exec ray start --block --address \"${HEAD:?the first node of this worker}:6379\"\n"
        "fi\n"
        "ray start --head --port 6379\n",
    .args = add_served,
    .dynamo_args = add_dynamo,
    .router = router,
};
