/* vllm.c - a worker as arguments of `vllm serve` */
#include "serving.h"

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
    args_text(out, "--kv-cache-dtype", plan->kv == PLAIT_KV_FP8 ? "fp8" : "auto");
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
