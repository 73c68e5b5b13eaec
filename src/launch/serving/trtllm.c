/* trtllm.c - writes a worker as the YAML file of trtllm-serve */
#include "base/numbers.h"
#include "launch/serving/serving.h"
#include "plan/serve_values.h"

/* Returns the GPUs of a stage, which include the attention ranks. */
static int ranks_of(const serving_role *role)
{
    return role->worker.tp * role->worker.dp_attention;
}

/* Returns the fraction of the memory left after the weights that the KV cache may use (C.363). */
static double cache_share(const serving_role *role)
{
    const plait_serve_launch *launch = role->launch;
    if (launch->plan->engine->kind == PLAIT_ENGINE_TRTLLM)
        return launch->plan->engine->memory_fraction;
    const plait_serving serving = {.model = launch->model,
                                   .cluster = launch->cluster,
                                   .worker = role->worker,
                                   .weights = launch->plan->weights,
                                   .kv = launch->plan->kv};
    const plait_serve_memory m =
        plait_serve_memory_of(&serving, launch->load.input + launch->load.output);
    const double cache = launch->plan->kv_tokens[role->index] * m.token;

    return larger(smaller(cache / larger(m.all - m.weights, 1.0), 0.95), 0.05);
}

static const char *engine_config(const serving_role *role)
{
    const plait_serve_plan *plan = role->launch->plan;
    const int batch = serving_batch(role);
    text_builder out;
    const char *head = serving_head(
        role, plait_arena_printf(role->arena, "%s.yaml - options of trtllm-serve", role->name));

    text_builder_init(&out, role->arena);
    text_append(&out, head != NULL ? head : "");
    text_append_printf(&out, "tensor_parallel_size: %d\npipeline_parallel_size: %d\n",
                       ranks_of(role), role->worker.pp);
    if (role->worker.dp_attention > 1)
        text_append(&out, "enable_attention_dp: true\n");
    if (role->worker.ep > 1)
        text_append_printf(&out, "moe_expert_parallel_size: %d\nmoe_tensor_parallel_size: %d\n",
                           role->worker.ep, ranks_of(role) / role->worker.ep);
    const plait_model *const model = role->launch->model;
    const int redundant = serve_redundant(model);
    int experts = 0;
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            experts = model->kind[k].moe.experts;
    if (redundant > 0)
        text_append_printf(
            &out,
            "moe_config:\n  load_balancer:\n    num_slots: %d\n    layer_updates_per_iter: 1\n",
            experts + redundant);
    text_append_printf(&out,
                       "max_batch_size: %d\nmax_num_tokens: %d\nmax_seq_len: %d\n"
                       "enable_chunked_prefill: true\n",
                       batch, serving_chunk(role), serving_context(role));
    text_append_printf(&out, "cuda_graph_config:\n  enable_padding: true\n  max_batch_size: %d\n",
                       batch);
    text_append_printf(&out,
                       "kv_cache_config:\n  dtype: %s\n  free_gpu_memory_fraction: %.2f\n"
                       "  enable_block_reuse: %s\n",
                       plan->kv == PLAIT_KV_FP8 ? "fp8" : "auto", cache_share(role),
                       role->launch->load.cached > 0.0 ? "true" : "false");
    if (plan->engine->host_cache_bytes > 0.0)
        text_append_printf(&out, "  host_cache_size: %.0f\n", plan->engine->host_cache_bytes);
    if (role->launch->load.draft > 0)
        text_append_printf(
            &out, "speculative_config:\n  decoding_type: MTP\n  num_nextn_predict_layers: %d\n",
            role->launch->load.draft);
    if (plan->disaggregated)
        text_append_printf(
            &out, "%scache_transceiver_config:\n  backend: DEFAULT\n  max_tokens_in_buffer: %d\n",
            role->index == 0 ? "disable_overlap_scheduler: true\n" : "", serving_context(role));
    return head != NULL ? text_builder_finish(&out, NULL) : NULL;
}

static void add_served(const serving_role *role, launch_args *out)
{
    args_words(out, "--extra_llm_api_options",
               plait_arena_printf(role->arena, "\"$here/%s.yaml\"", role->name));
    args_text(out, "--host", "0.0.0.0");
    args_words(out, "--port", "\"$PORT\"");
}

static void add_dynamo(const serving_role *role, launch_args *out)
{
    args_printf(out, "--extra-engine-args", "/config/%s.yaml", role->name);
    if (role->launch->plan->disaggregated)
        args_text(out, "--disaggregation-mode", role->name);
}

static void append_servers(const serving_role *role, const char *key, text_builder *out)
{
    text_append_printf(out, "%s:\n  num_instances: %d\n  urls:\n", key, role->workers);
    for (int i = 0; i < role->workers; i++)
        text_append_printf(out, "    - \"localhost:%d\"\n", role->port + i);
}

static const char *router_script(const serving_role role[2], plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    text_append(&out, "config=$(mktemp --suffix=.yaml)\ncat > \"$config\" <<'EOF'\nhostname: "
                      "0.0.0.0\nport: 30000\n"
                      "backend: pytorch\n");
    append_servers(&role[0], "context_servers", &out);
    append_servers(&role[1], "generation_servers", &out);
    text_append(&out, "EOF\nexec trtllm-serve disaggregated -c \"$config\"\n");
    return text_builder_finish(&out, NULL);
}

const serving_engine serving_trtllm = {
    .program = "trtllm-serve",
    .dynamo = "trtllm",
    .dynamo_program = "python3 -m dynamo.trtllm --model-path",
    .image = "nvcr.io/nvidia/tensorrt-llm/release:latest",
    .dynamo_image = "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:latest",
    .prelude = "# On several nodes start this command once per GPU, with srun --mpi=pmix "
               "and trtllm-llmapi-launch.\n",
    .args = add_served,
    .config = engine_config,
    .dynamo_args = add_dynamo,
    .router = router_script,
};
