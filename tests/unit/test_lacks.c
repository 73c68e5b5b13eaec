/* test_lacks.c - kernels that accelerators have not, and what is refused or chosen for it */
#include <string.h>

#include "io/cluster/cluster_file.h"
#include "support/launched.h"
#include "support/must.h"
#include "plait/plan.h"

static plait_error err;

static int begin(void **state)
{
    *state = plait_arena_new();
    return *state == NULL;
}

static int end(void **state)
{
    plait_arena_free(*state);
    return 0;
}

static plait_accelerator find(plait_arena *arena, const char *name)
{
    plait_accelerator gpu;

    must(plait_accelerator_find(name, arena, &gpu, &err), &err);
    return gpu;
}

/* Compute capabilities 7.0, 8.0, 8.9, 9.0, 10.0 and 12.0. */
static void test_kernels__of_each_generation(void **state)
{
    static const struct {
        const char *gpu, *formats, *attention;
        bool grouped, wide, multicast;
    } rows[] = {
        {"v100-32gb-sxm", " fp16", " unfused unfused-softmax-kernel", false, false, false},
        {"a100-80gb-sxm", " bf16 fp16", " unfused unfused-softmax-kernel flash flash2 fused", true,
         false, false},
        {"l40s-48gb", " bf16 fp16 fp8", " unfused unfused-softmax-kernel flash flash2 fused", true,
         false, false},
        {"h100-80gb-sxm", " bf16 fp16 fp8 fp8_block",
         " unfused unfused-softmax-kernel flash flash2 flash3 fused", true, true, true},
        {"b200-180gb-sxm", " bf16 fp16 fp8 mxfp8 nvfp4",
         " unfused unfused-softmax-kernel flash flash2 fused", true, true, true},
        {"rtx-pro-6000-96gb", " bf16 fp16 fp8 nvfp4",
         " unfused unfused-softmax-kernel flash flash2 fused", true, false, false},
    };

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const plait_accelerator gpu = find(*state, rows[r].gpu);
        char formats[128] = "", attention[128] = "";

        for (int p = 0; p < PLAIT_PRECISIONS; p++)
            if (plait_accelerator_runs(&gpu, PLAIT_KERNEL_PRECISION + p))
                strcat(strcat(formats, " "), plait_precision_name[p]);
        for (int k = 0; k < PLAIT_ATTENTION_KERNELS; k++)
            if (plait_accelerator_runs(&gpu, PLAIT_KERNEL_ATTENTION + k))
                strcat(strcat(attention, " "), plait_attention_kernel_name[k]);
        assert_string_equal(formats, rows[r].formats);
        assert_string_equal(attention, rows[r].attention);
        assert_int_equal(plait_accelerator_runs(&gpu, PLAIT_KERNEL_GROUPED_GEMM), rows[r].grouped);
        assert_int_equal(plait_accelerator_runs(&gpu, PLAIT_KERNEL_WIDE), rows[r].wide);
        assert_int_equal(plait_accelerator_runs(&gpu, PLAIT_KERNEL_MULTICAST), rows[r].multicast);
    }
}

static void test_lacks__come_back_from_json(void **state)
{
    const plait_accelerator gpu = find(*state, "h100-80gb-pcie");
    json_writer json;
    plait_accelerator back;
    const char *text;
    size_t length;

    json_writer_init(&json, *state);
    accelerator_write(&json, &gpu);
    must(json_writer_finish(&json, &text, &length, &err), &err);
    must(plait_accelerator_parse(text, length, "back.json", *state, &back, &err), &err);
    assert_int_equal(back.missing_kernels, gpu.missing_kernels);
    assert_true(gpu.scale_up_pcie && back.scale_up_pcie);
}

/* ---- what comes of it ---- */

static void ask(launched *it, const char *model, const char *runtime, const char *gpu,
                plait_arena *arena)
{
    plait_accelerator *const own = plait_arena_alloc(arena, 1, sizeof *own);

    launched_question(it, model, runtime, 16, arena);
    assert_non_null(own);
    *own = find(arena, gpu);
    it->cluster.group[0].accelerator = own;
    if (own->fp16_only)
        it->problem.job.precision = PLAIT_FP16;
}

static const char *usual(const char *model, const char *runtime, const char *gpu,
                         plait_arena *arena)
{
    launched it;

    ask(&it, model, runtime, gpu, arena);
    return plait_attention_kernel_name[plait_attention_usual(&it.problem)];
}

static void test_usual_attention__is_the_fastest_that_runs(void **state)
{
    assert_string_equal(usual("llama-3.1-8b", "megatron", "h100-80gb-sxm", *state), "fused");
    assert_string_equal(usual("llama-3.1-8b", "megatron", "v100-32gb-sxm", *state),
                        "unfused-softmax-kernel");
    assert_string_equal(usual("llama-3.1-8b", "fsdp", "v100-32gb-sxm", *state), "unfused");
    assert_string_equal(usual("gemma-2-2b", "megatron", "a100-80gb-sxm", *state), "flash2");
    assert_string_equal(usual("deepseek-v2-lite", "megatron", "h100-80gb-sxm", *state), "fused");
    assert_string_equal(usual("gemma-4-31b-it", "fsdp", "h100-80gb-sxm", *state), "unfused");
    assert_string_equal(usual("gemma-4-31b-it", "maxtext", "tpu-v5p", *state), "fused");
    // heads of 192: neither cuDNN's kernel nor, with values of 128, FlashAttention 2
    assert_string_equal(usual("deepseek-v2-lite", "megatron", "a100-80gb-sxm", *state),
                        "unfused-softmax-kernel");
}

static void assert_refused(launched *it, plait_attention_kernel kernel, const char *says)
{
    plait_degrees one = plait_degrees_init();
    char why[256];

    one.attention = (unsigned char)kernel;
    assert_int_equal(plait_degrees_check(&it->problem, &one, why, sizeof why), PLAIT_INVALID);
    if (strstr(why, says) == NULL)
        fail_msg("%s, expected: %s", why, says);
}

static void test_plans__are_refused_for_want_of_a_kernel(void **state)
{
    launched it;

    ask(&it, "llama-3.1-8b", "megatron", "a100-80gb-sxm", *state);
    assert_refused(&it, PLAIT_ATTENTION_FLASH3, "a100-80gb-sxm has no attention flash3");
    ask(&it, "deepseek-v2-lite", "megatron", "a100-80gb-sxm", *state);
    assert_refused(&it, PLAIT_ATTENTION_FUSED, "supports head widths up to 128, found 192");
    ask(&it, "gemma-4-31b-it", "fsdp", "h100-80gb-sxm", *state); // full layers have heads of 512
    assert_refused(&it, PLAIT_ATTENTION_FLASH2,
                   "attention flash2 supports head widths up to 256, found 512 (rule P49)");
    assert_refused(&it, PLAIT_ATTENTION_FLASH3, "head widths up to 256");
    assert_refused(&it, PLAIT_ATTENTION_FLASH, "head widths up to 128");
    assert_refused(&it, PLAIT_ATTENTION_FUSED, "head widths up to 256, found 512");
    ask(&it, "gemma-2-2b", "fsdp", "h100-80gb-sxm", *state); // heads of 256, capped scores
    assert_refused(&it, PLAIT_ATTENTION_FLASH, "attention flash supports head widths up to 128");
    assert_refused(&it, PLAIT_ATTENTION_FUSED,
                   "soft-capped attention scores, which attention fused does not support");
    ask(&it, "llama-3.1-8b", "megatron", "h100-80gb-sxm", *state);
    it.problem.job.seq = 4100;
    assert_refused(&it, PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL,
                   "supports sequences up to 4096 tokens, found 4100 (rule P52)");
    ask(&it, "mixtral-8x7b", "megatron", "v100-32gb-sxm", *state);
    assert_refused(&it, PLAIT_ATTENTION_FUSED, "has no grouped GEMM, which experts need");
    ask(&it, "llama-3.1-8b", "megatron", "b200-180gb-sxm", *state);
    it.problem.job.precision = PLAIT_FP8_BLOCK;
    assert_refused(&it, PLAIT_ATTENTION_FUSED, "b200-180gb-sxm has no fp8_block");
    ask(&it, "llama-3.1-8b", "megatron", "v100-32gb-sxm", *state);
    it.problem.job.precision = PLAIT_BF16;
    assert_refused(&it, PLAIT_ATTENTION_FUSED, "v100-32gb-sxm has no bf16; use fp16");
}

static void assert_takes(launched *it, plait_attention_kernel kernel)
{
    plait_degrees one = plait_degrees_init();
    char why[256];

    one.attention = (unsigned char)kernel;
    one.dp = it->problem.job.gpus;
    plait_degrees_fill(&it->problem,
                       PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION) | PLAIT_KEY_BIT(PLAIT_KEY_DP), &one);
    if (plait_degrees_check(&it->problem, &one, why, sizeof why) == PLAIT_INVALID)
        fail_msg("%s", why);
}

static void test_dropout__has_no_flash3(void **state)
{
    static const char *const runtimes[] = {"megatron", "deepspeed", "fsdp", "nanotron"};
    launched it;

    for (size_t r = 0; r < sizeof runtimes / sizeof runtimes[0]; r++) {
        ask(&it, "gpt3-175b", runtimes[r], "h100-80gb-sxm", *state);
        it.problem.job.seq = 2048;
        assert_refused(&it, PLAIT_ATTENTION_FLASH3,
                       "dropout, which attention flash3 does not support");
        it.model.dropout = false;
        assert_takes(&it, PLAIT_ATTENTION_FLASH3);
    }
    assert_string_equal(usual("gpt3-175b", "deepseek", "h100-80gb-sxm", *state), "fused");
}

static void test_sinks__have_kernels_by_runtime(void **state)
{
    launched it;

    ask(&it, "gpt-oss-20b", "megatron", "h100-80gb-sxm", *state);
    assert_refused(&it, PLAIT_ATTENTION_FLASH3,
                   "sinks, which attention flash3 under megatron does not support");
    ask(&it, "gpt-oss-20b", "deepspeed", "h100-80gb-sxm", *state);
    assert_refused(&it, PLAIT_ATTENTION_FLASH2,
                   "sinks, which attention flash2 under deepspeed does not support");
    assert_refused(&it, PLAIT_ATTENTION_FUSED, "(rule P56)");
    assert_string_equal(usual("gpt-oss-20b", "deepspeed", "h100-80gb-sxm", *state), "unfused");
    assert_string_equal(usual("gpt-oss-20b", "fsdp", "h100-80gb-sxm", *state), "unfused");
    assert_string_equal(usual("gpt-oss-20b", "megatron", "h100-80gb-sxm", *state), "fused");
    assert_string_equal(usual("gpt-oss-20b", "torchtitan", "h100-80gb-sxm", *state), "flash2");
}

static void test_alibi__has_few_kernels(void **state)
{
    plait_degrees two = plait_degrees_init();
    launched it;
    char why[256];

    ask(&it, "bloom-7b1", "megatron", "h100-80gb-sxm", *state);
    assert_refused(&it, PLAIT_ATTENTION_FLASH3,
                   "ALiBi, which attention flash3 under megatron does not support");
    two.cp = 2;
    assert_int_equal(plait_degrees_check(&it.problem, &two, why, sizeof why), PLAIT_INVALID);
    assert_non_null(strstr(why, "ALiBi, which does not work with cp > 1"));
    ask(&it, "bloom-7b1", "megatron", "a100-80gb-sxm", *state);
    assert_refused(
        &it, PLAIT_ATTENTION_FUSED,
        "the model needs ALiBi, which attention fused on a100-80gb-sxm does not support");
    ask(&it, "bloom-7b1", "fsdp", "a100-80gb-sxm", *state);
    assert_refused(&it, PLAIT_ATTENTION_FLASH2,
                   "ALiBi, which attention flash2 under fsdp does not support (rule P57)");
    assert_string_equal(usual("bloom-7b1", "megatron", "h100-80gb-sxm", *state), "fused");
    assert_string_equal(usual("bloom-7b1", "megatron", "a100-80gb-sxm", *state), "flash2");
    assert_string_equal(usual("bloom-7b1", "fsdp", "h100-80gb-sxm", *state), "unfused");
}

static void test_wide_heads__by_generation(void **state)
{
    launched it;

    ask(&it, "nemotron-4-340b", "megatron", "b200-180gb-sxm", *state); // heads of 192
    assert_refused(&it, PLAIT_ATTENTION_FUSED,
                   "only with width 256 and no dropout, ALiBi or sinks");
    ask(&it, "qwen3-coder-next", "megatron", "b200-180gb-sxm", *state); // heads of 256
    assert_takes(&it, PLAIT_ATTENTION_FUSED);
    it.model.dropout = true;
    assert_refused(&it, PLAIT_ATTENTION_FUSED,
                   "or with width 192 and values of width 128 (rule P58)");
    assert_string_equal(usual("nemotron-4-340b", "megatron", "h100-80gb-sxm", *state), "fused");
    assert_string_equal(usual("nemotron-4-340b", "megatron", "b200-180gb-sxm", *state), "flash2");
    assert_string_equal(usual("deepseek-v3", "megatron", "b200-180gb-sxm", *state), "fused");
    assert_string_equal(usual("deepseek-v3", "megatron", "rtx-pro-6000-96gb", *state),
                        "unfused-softmax-kernel");
    assert_string_equal(usual("gpt-j-6b", "megatron", "rtx-pro-6000-96gb", *state), "flash2");
}

static void test_flash2__of_wide_heads_on_few_gpus(void **state)
{
    static const char *const gpus[] = {"l40s-48gb", "b300-288gb-sxm", "gb300-nvl72"};
    launched it;

    for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++) {
        ask(&it, "gpt-j-6b", "megatron", gpus[g], *state); // heads of 256
        assert_refused(
            &it, PLAIT_ATTENTION_FLASH2,
            "supports head widths up to 192 in Transformer Engine, found 256 (rule P59)");
        ask(&it, "gpt-j-6b", "deepspeed", gpus[g], *state);
        assert_takes(&it, PLAIT_ATTENTION_FLASH2);
        it.model.dropout = true;
        assert_refused(&it, PLAIT_ATTENTION_FLASH2, "supports head widths up to 192 with dropout");
    }
    assert_string_equal(usual("gpt-j-6b", "fsdp", "l40s-48gb", *state), "flash2");
    ask(&it, "gpt-j-6b", "megatron", "a100-80gb-sxm", *state);
    assert_takes(&it, PLAIT_ATTENTION_FLASH2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kernels__of_each_generation, begin, end),
        cmocka_unit_test_setup_teardown(test_lacks__come_back_from_json, begin, end),
        cmocka_unit_test_setup_teardown(test_usual_attention__is_the_fastest_that_runs, begin, end),
        cmocka_unit_test_setup_teardown(test_plans__are_refused_for_want_of_a_kernel, begin, end),
        cmocka_unit_test_setup_teardown(test_dropout__has_no_flash3, begin, end),
        cmocka_unit_test_setup_teardown(test_sinks__have_kernels_by_runtime, begin, end),
        cmocka_unit_test_setup_teardown(test_alibi__has_few_kernels, begin, end),
        cmocka_unit_test_setup_teardown(test_wide_heads__by_generation, begin, end),
        cmocka_unit_test_setup_teardown(test_flash2__of_wide_heads_on_few_gpus, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
