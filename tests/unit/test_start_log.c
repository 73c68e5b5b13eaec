/* test_start_log.c - start logs of serving engines: each format, and damaged ones */
#include <string.h>

#include "io/csv/start_log.h"
#include "plait/units.h"
#include "support/assert_near.h"

static const char vllm[] =
    "\x1b[0;36m(APIServer pid=1)\x1b[0;0m INFO 04-22 [utils.py:233] non-default args: "
    "{'model_tag': 'a/b', 'model': 'meta-llama/Llama-3.1-8B-Instruct', 'max_model_len': 16384, "
    "'tensor_parallel_size': 2, 'gpu_memory_utilization': 0.95, 'enable_expert_parallel': True}\n"
    "(APIServer pid=1) INFO Chunked prefill is enabled with max_num_batched_tokens=8192.\n"
    "(EngineCore pid=243) INFO [core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: "
    "model='meta-llama/Llama-3.1-8B-Instruct', speculative_config=None, dtype=torch.bfloat16, "
    "max_seq_len=16384, tensor_parallel_size=2, pipeline_parallel_size=4, data_parallel_size=8, "
    "quantization=None, kv_cache_dtype=fp8, compilation_config={'mode': 3}\n"
    "(Worker_TP0 pid=3) INFO Model loading took 14.98 GiB memory and 9.8 seconds\n"
    "^[[0;36m(Worker_TP1 pid=4)^[[0;0m INFO Model loading took 14.99 GiB memory and 9.8 seconds\n"
    "(Worker_TP0 pid=3) DEBUG torch peak memory increase: 1.89GiB; non-torch forward increase\n"
    "(Worker_TP0 pid=3) INFO Available KV cache memory: 58.12 GiB\n"
    "(Worker_TP1 pid=4) INFO Available KV cache memory: 58.11 GiB\n"
    "(EngineCore pid=243) INFO GPU KV cache size: 476,016 tokens\n"
    "(EngineCore pid=243) INFO Maximum concurrency for 16,384 tokens per request: 29.05x\n";

static const char sglang[] =
    "[2026-02-26 16:31:00] server_args=ServerArgs(model_path='moonshotai/Kimi-K2.5', "
    "mem_fraction_static=0.84, tp_size=8, dp_size=2, enable_dp_attention=True, ep_size=4, "
    "kv_cache_dtype='auto', quantization=None, context_length=None)\n"
    "[2026-02-26 16:41:18 TP0] Load weight end. elapsed=618.04 s, type=KimiK25, "
    "dtype=torch.bfloat16, avail mem=209.98 GB, mem usage=73.58 GB.\n"
    "[2026-02-26 16:41:18 TP6] KV Cache is allocated. #tokens: 2454421, KV size: 160.63 GB\n"
    "[2026-02-26 16:41:18 TP6] Memory pool end. avail mem=45.36 GB\n"
    "[2026-02-26 16:41:19 TP6] KV Cache is allocated. #tokens: 2454421, K size: 1.00 GB, V size: "
    "1.00 GB\n"
    "[2026-02-26 16:41:30 TP0] max_total_num_tokens=2454421, chunked_prefill_size=16384, "
    "max_prefill_tokens=16384, max_running_requests=2048, context_len=262144, "
    "available_gpu_mem=33.20 GB\n";

static start_log read(const char *text, size_t length)
{
    static plait_arena *arena;
    plait_error err;
    start_log log;

    plait_arena_free(arena);
    arena = plait_arena_new();
    assert_non_null(arena);
    assert_int_equal(start_log_parse(text, length, "server.log", arena, &log, &err), PLAIT_OK);
    return log;
}

static void test_start_log__of_vllm(void **state)
{
    const start_log log = read(vllm, strlen(vllm));

    (void)state;
    assert_int_equal(log.kind, PLAIT_ENGINE_VLLM);
    assert_string_equal(log.version, "0.19.0");
    assert_string_equal(log.model, "meta-llama/Llama-3.1-8B-Instruct");
    assert_null(log.quantization);
    assert_int_equal(log.tp, 2);
    assert_int_equal(log.pp, 4);
    assert_int_equal(log.dp, 8);
    assert_true(log.expert_parallel && log.fp8_cache && !log.dp_attention);
    assert_near(log.memory_fraction, 0.95, 0.0);
    assert_near(log.chunk_tokens, 8192.0, 0.0);
    assert_near(log.max_sequences, 0.0, 0.0);
    assert_near(log.weight_bytes, 14.99 * PLAIT_GIB, 1.0);
    assert_near(log.activation_bytes, 1.89 * PLAIT_GIB, 1.0);
    assert_near(log.cache_bytes, 58.11 * PLAIT_GIB, 1.0);
    assert_near(log.cache_tokens, 476016.0, 0.0);
    assert_near(log.request_tokens, 16384.0, 0.0);
    assert_near(log.concurrency, 29.05, 0.0);
}

static void test_start_log__of_sglang_takes_the_first_cache(void **state)
{
    const start_log log = read(sglang, strlen(sglang));

    (void)state;
    assert_int_equal(log.kind, PLAIT_ENGINE_SGLANG);
    assert_string_equal(log.model, "moonshotai/Kimi-K2.5");
    assert_int_equal(log.tp, 8);
    assert_int_equal(log.dp, 2);
    assert_int_equal(log.ep, 4);
    assert_true(log.dp_attention && !log.fp8_cache);
    assert_near(log.memory_fraction, 0.84, 0.0);
    assert_near(log.weight_bytes, 73.58 * PLAIT_GIB, 1.0);
    assert_near(log.cache_bytes, 160.63 * PLAIT_GIB, 1.0);
    assert_near(log.cache_tokens, 2454421.0, 0.0);
    assert_near(log.free_bytes, 45.36 * PLAIT_GIB, 1.0);
    assert_near(log.request_tokens, 262144.0, 0.0);
    assert_near(log.concurrency, 2454421.0 / 262144.0, 1e-9);
}

static void test_start_log__of_tensorrt_llm(void **state)
{
    static const char text[] = "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 43.22 GiB for max "
                               "tokens in paged KV cache (1132800).\n";
    const start_log log = read(text, strlen(text));

    (void)state;
    assert_int_equal(log.kind, PLAIT_ENGINE_TRTLLM);
    assert_near(log.cache_bytes, 43.22 * PLAIT_GIB, 1.0);
    assert_near(log.cache_tokens, 1132800.0, 0.0);
    assert_null(log.model);
}

/* Every prefix of a log is read, or is refused with a message. */
static void test_start_log__may_end_anywhere(void **state)
{
    plait_error err;
    start_log log;

    (void)state;
    for (size_t length = 0; length <= strlen(vllm); length++) {
        plait_arena *arena = plait_arena_new();
        const plait_status status = start_log_parse(vllm, length, "cut.log", arena, &log, &err);

        assert_true(status == PLAIT_OK || (status == PLAIT_ERROR_SCHEMA && err.message[0] != '\0'));
        plait_arena_free(arena);
    }
}

static void test_start_log__of_other_software_is_refused(void **state)
{
    static const char text[] = "step: 12 loss: 1.25 tps: 5,321\0GPU KV cache size";
    plait_arena *arena = plait_arena_new();
    plait_error err;
    start_log log;

    (void)state;
    assert_int_equal(start_log_parse(text, sizeof text, "run.log", arena, &log, &err),
                     PLAIT_ERROR_SCHEMA);
    assert_string_equal(err.where, "run.log");
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_log__of_vllm),
        cmocka_unit_test(test_start_log__of_sglang_takes_the_first_cache),
        cmocka_unit_test(test_start_log__of_tensorrt_llm),
        cmocka_unit_test(test_start_log__may_end_anywhere),
        cmocka_unit_test(test_start_log__of_other_software_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
