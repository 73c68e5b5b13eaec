/* sglang.c - writes a worker as arguments of sglang.launch_server */
#include "launch/serving/serving.h"

#include <math.h>

#include "plan/serve_values.h"

static void add_all(const serving_role *role, launch_args *out)
{
    const plait_worker w = role->worker;
    args_group(out, "degrees");
    // --tp-size is the number of GPUs of a stage, which includes the attention ranks
    args_int(out, "--tp-size", role->worker.tp * role->worker.dp_attention);
    if (w.pp > 1)
        args_int(out, "--pp-size", w.pp);
    if (w.dp_attention > 1) {
        args_int(out, "--dp-size", w.dp_attention);
        args_switch(out, "--enable-dp-attention");
    }
    if (w.ep > 1)
        args_int(out, "--ep-size", w.ep);
    if (w.ep > 1 && role->launch->plan->engine->two_batch_overlap)
        args_switch(out, "--enable-two-batch-overlap");
    if (serve_redundant(role->launch->model) > 0) {
        args_switch(out, "--enable-eplb");
        args_int(out, "--ep-num-redundant-experts", serve_redundant(role->launch->model));
    }
    if (role->nodes > 1) {
        args_int(out, "--nnodes", role->nodes);
        args_words(out, "--node-rank",
                   "\"${NODE_RANK:?expected the rank of this node in its worker, from 0}\"");
        args_words(out, "--dist-init-addr",
                   "\"${HEAD:?expected the host name of the first node of this worker}:20000\"");
    }
    static const int most_graphs = 512;
    const plait_serve_plan *plan = role->launch->plan;
    const int batch = serving_batch(role);

    args_group(out, "batch, chunk, cache");
    args_int(out, "--max-running-requests", batch * role->worker.dp_attention);
    args_int(out, "--cuda-graph-max-bs", batch < most_graphs ? batch : most_graphs);
    args_int(out, "--chunked-prefill-size", (int)plan->chunk_tokens);
    args_int(out, "--context-length", serving_context(role));
    args_number(out, "--mem-fraction-static", plan->engine->memory_fraction);
    args_text(out, "--kv-cache-dtype", plan->kv == PLAIT_KV_FP8 ? "fp8_e4m3" : "auto");
    const plait_weight_format format = role->launch->plan->weights;
    const int drafted = role->launch->load.draft;
    if (format == PLAIT_WEIGHT_BF16)
        args_text(out, "--dtype", "bfloat16");
    if (format == PLAIT_WEIGHT_FP8 || format == PLAIT_WEIGHT_FP8_BLOCK)
        args_text(out, "--quantization", "fp8");
    if (plan->engine->host_cache_bytes > 0.0) {
        static const double gigabyte = 1e9;
        args_switch(out, "--enable-hierarchical-cache");
        args_int(out, "--hicache-size", (int)floor(plan->engine->host_cache_bytes / gigabyte));
    }
    if (role->launch->load.lora_adapters > 0) {
        args_switch(out, "--enable-lora");
        args_int(out, "--max-loras-per-batch", role->launch->load.lora_adapters);
        args_int(out, "--max-lora-rank", role->launch->load.lora_rank);
        args_text(out, "--lora-target-modules", "all");
    }
    if (drafted != 0) {
        args_group(out, "speculative decoding with the model's MTP layers");
        args_text(out, "--speculative-algorithm", "EAGLE");
        args_int(out, "--speculative-num-steps", drafted);
        args_int(out, "--speculative-eagle-topk", 1);
        args_int(out, "--speculative-num-draft-tokens", drafted + 1);
    }
    if (role->launch->plan->disaggregated)
        args_text(out, "--disaggregation-mode", role->name);
}

static void add_served(const serving_role *role, launch_args *out)
{
    add_all(role, out);
    if (role->launch->plan->disaggregated && role->index == 0)
        args_words(out, "--disaggregation-bootstrap-port", "\"$((PORT + 500))\"");
    args_text(out, "--host", "0.0.0.0");
    args_words(out, "--port", "\"$PORT\"");
}

static const char *router_script(const serving_role role[2], plait_arena *arena)
{
    return serving_router(role, "python3 -m sglang_router.launch_router --pd-disaggregation",
                          " \"$((port + 500))\"", arena);
}

const serving_engine serving_sglang = {
    .program = "python3 -m sglang.launch_server --model-path",
    .dynamo = "sglang",
    .dynamo_program = "python3 -m dynamo.sglang --model-path",
    .image = "lmsysorg/sglang:latest",
    .dynamo_image = "nvcr.io/nvidia/ai-dynamo/sglang-runtime:latest",
    .args = add_served,
    .dynamo_args = add_all,
    .router = router_script,
};
