/* test_launch_deepspeed_pipeline.c - DeepSpeed's pipeline engine: its files, what it refuses, and back */
#include <string.h>

#include "support/launched_fixture.h"
#include "io/plans/plans.h"
#include "support/read_back.h"
#include "launch/import.h"
#include "launch/target.h"

static const launched_usual usual = {"gpt-7.5b", "megatron-deepspeed", 16,
                                     PLAIT_LAUNCH_DEEPSPEED_PIPELINE};

/* Its table of positions ends there. */
static int begin_of_2048(void **state)
{
    const int failed = begin(state);

    it.problem.job.seq = 2048;
    return failed;
}

static void assert_refused(const char *keys, const char *rule)
{
    plait_error err;

    assert_int_equal(launched_render(&it, keys, usual.target, arena, &err), PLAIT_ERROR_RANGE);
    if (strstr(err.message, rule) == NULL)
        fail_msg("%s: expected %s, found: %s", keys, rule, err.message);
}

// ---- files ---------------------------------------------------------------------------------

/* 16 GPUs in 2 x 4 are 2 replicas: 64 sequences are 1 x 32 x 2. */
static void test_the_batch__is_of_replicas(void **state)
{
    (void)state;
    render("tp=2 pp=4 mbs=1");
    assert_says(&it, "ds_config.json",
                "  \"train_batch_size\": 64,\n"
                "  \"train_micro_batch_size_per_gpu\": 1,\n"
                "  \"gradient_accumulation_steps\": 32,\n");
    assert_says(&it, "args.sh",
                "--tensor-model-parallel-size 2\n--pipeline-model-parallel-size 4\n");
    assert_says(&it, "args.sh", "--micro-batch-size 1\n--global-batch-size 64\n");
}

/* 36 layers: any deal of them, in layers of each stage. */
static void test_stages__have_the_layers_of_the_plan(void **state)
{
    (void)state;
    render("tp=2 pp=4 split=layout:Et*7|t*10|t*10|t*9L");
    assert_says(&it, "partition.py", "\nLAYERS = [7, 10, 10, 9]  #");
    render("tp=1 pp=8 split=spread");
    assert_says(&it, "partition.py", "\nLAYERS = [5, 5, 5, 5, 4, 4, 4, 4]  #");
    render("tp=2 pp=2 split=both");
    assert_says(&it, "partition.py", "\nLAYERS = [18, 18]  #");
    assert_says(&it, "run.sh", "\"$here/partition.py\" pretrain_gpt.py");
}

/* The JSON's interval stands above the script's, its schedule would too. */
static void test_the_json__leaves_optimizer_and_schedule_to_the_arguments(void **state)
{
    (void)state;
    render("tp=2 pp=4 recompute=full");
    assert_says(&it, "ds_config.json",
                "\"pipeline\": {\n    \"stages\": 4,\n    \"activation_checkpoint_interval\": 1\n");
    assert_silent(&it, "ds_config.json", "scheduler");
    assert_silent(&it, "ds_config.json", "\"optimizer\"");
    assert_says(&it, "ds_config.json", "\"gradient_clipping\": 1");
    assert_says(&it, "args.sh", "--recompute-granularity full\n--recompute-method uniform\n");
    assert_says(&it, "args.sh", "--lr-warmup-iters 10\n");
    render("tp=2 pp=4 recompute=none");
    assert_says(&it, "ds_config.json", "\"activation_checkpoint_interval\": 0\n");
    assert_silent(&it, "args.sh", "--recompute");
}

static void test_gradients__are_kept_in_fp32_and_sent_in_bf16(void **state)
{
    (void)state;
    render("tp=2 pp=4 zero=1 grad_reduce=fp32");
    assert_says(&it, "ds_config.json", "\"grad_accum_dtype\": \"fp32\"");
    assert_says(&it, "ds_config.json", "\"communication_data_type\": \"bf16\"");
    render("tp=2 pp=4 zero=1 grad_reduce=bf16");
    assert_says(&it, "ds_config.json", "\"grad_accum_dtype\": \"bf16\"");
}

/* Llama 2 70B: 64 heads of 128 on 8 of keys and values. */
static void test_llama__has_words(void **state)
{
    (void)state;
    launched_question(&it, "llama-2-70b", "megatron-deepspeed", 64, arena);
    render("tp=8 pp=8 split=layout:Et*9|t*10|t*10|t*10|t*10|t*10|t*11|t*10L recompute=full");
    assert_says(&it, "args.sh",
                "--num-attention-heads 64\n--kv-channels 128\n--num-key-value-heads 8\n"
                "--use-rotary-position-embeddings\n--rotary-position-embeddings-theta 10000\n");
    assert_says(&it, "args.sh", "--normalization rmsnorm\n");
    assert_says(&it, "args.sh", "--swiglu\n--disable-bias-linear\n");
    assert_says(&it, "args.sh", "--untie-embeddings-and-output-weights\n");
}

// ---- refusals ------------------------------------------------------------------------------

static void test_stages_without_layers__are_refused(void **state)
{
    (void)state;
    assert_refused("tp=2 pp=4 split=layout:E|t*18|t*17|tL", "rule MD1");
    assert_refused("tp=2 pp=4 split=layout:Et*12|t*12|t*12|L", "rule MD1");
    assert_refused("tp=2 pp=4 split=layout:|Et*18|t*9|t*9L", "rule M22");
}

static void test_whole_state__is_of_fp16(void **state)
{
    (void)state;
    assert_refused("tp=4 pp=4 zero=0", "rule MD2");
    it.problem.job.precision = PLAIT_FP16;
    assert_refused("tp=4 pp=4 zero=0 grad_reduce=fp32", "rule MD2");
    render("tp=4 pp=4 zero=0 grad_reduce=fp16");
    assert_says(&it, "ds_config.json", "\"stage\": 0\n");
    assert_says(&it, "args.sh", "--zero-stage 0\n");
}

static void test_what_the_engine_lacks__is_refused(void **state)
{
    (void)state;
    assert_refused("tp=2 pp=2 vpp=2 schedule=interleaved", "megatron-deepspeed has no vpp");
    assert_refused("tp=2 pp=4 zero=2", "megatron-deepspeed has no ZeRO 2");
    assert_refused("tp=2 pp=4 recompute=full:3", "recompute");
}

static void test_models_without_words__are_refused(void **state)
{
    static const struct {
        const char *model, *rule;
    } models[] = {
        {"mixtral-8x7b", "rule DM1"}, {"deepseek-v3", "rule DM1"},  {"qwen3-8b", "rule DM2"},
        {"qwen2.5-7b", "rule DM2"},   {"llama-3.1-8b", "rule DM3"}, {"bloom-176b", "rule MM2"},
    };
    char why[256];

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        launched_question(&it, models[m].model, "megatron-deepspeed", 16, arena);
        assert_false(plait_model_check(&it.runtime, &it.model, why, sizeof why));
        if (strstr(why, models[m].rule) == NULL)
            fail_msg("%s: expected %s, found: %s", models[m].model, models[m].rule, why);
    }
}

// ---- in ------------------------------------------------------------------------------------

static void assert_reads_back(const char *keys)
{
    const launched_case of = {usual.model, "dgx-h100", usual.runtime, 16, 2048, 64, keys};
    launched_plan *const plan = plait_arena_alloc(arena, 1, sizeof *plan);

    assert_non_null(plan);
    launched_make(&of, arena, plan);
    render(keys);
    const char *const difference =
        read_back_difference(&plan->launch, usual.target, launched_text(&it, "args.sh"), arena);

    if (difference != NULL)
        fail_msg("%s: %s", keys, difference);
}

static void test_what_was_written__reads_back(void **state)
{
    (void)state;
    assert_reads_back("tp=2 pp=4 split=layout:Et*7|t*10|t*10|t*9L recompute=full");
    assert_reads_back("tp=1 pp=8 split=spread mbs=2");
    assert_reads_back("tp=4 pp=4 split=even grad_reduce=bf16");
    assert_reads_back("tp=4 pp=1");
}

/* A word of the arguments counts, and a deal of another model's layers is none. */
static void test_a_note_of_the_split__gives_way(void **state)
{
    static const struct {
        const char *text;
        plait_split_kind split;
    } files[] = {
        {"--num-layers 36 ", PLAIT_SPLIT_LAYOUT},
        {"--num-layers 36 --pp-partition-method type:transformer ", PLAIT_SPLIT_EVEN},
        {"--num-layers 40 ", PLAIT_SPLIT_EVEN},
    };
    const char *warning;
    plans_entry out;
    plait_error err;

    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        const char *const text = plait_arena_printf(
            arena,
            "# plait: split layout:Et*7|t*10|t*10|t*9L\n"
            "pretrain_gpt.py --deepspeed --hidden-size 4096 --num-attention-heads 32 --bf16 "
            "--vocab-size 51200 --pipeline-model-parallel-size 4 %s\n",
            files[f].text);
        out = plans_unknown("args.sh");
        must(launch_import(PLAIT_LAUNCH_DEEPSPEED_PIPELINE, text, strlen(text), "args.sh", NULL,
                           arena, &out, &warning, &err),
             &err);
        assert_true(out.given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT));
        assert_int_equal(out.degrees.split.kind, files[f].split);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_batch__is_of_replicas, begin_of_2048, end),
        cmocka_unit_test_setup_teardown(test_stages__have_the_layers_of_the_plan, begin_of_2048,
                                        end),
        cmocka_unit_test_setup_teardown(
            test_the_json__leaves_optimizer_and_schedule_to_the_arguments, begin_of_2048, end),
        cmocka_unit_test_setup_teardown(test_gradients__are_kept_in_fp32_and_sent_in_bf16,
                                        begin_of_2048, end),
        cmocka_unit_test_setup_teardown(test_llama__has_words, begin_of_2048, end),
        cmocka_unit_test_setup_teardown(test_stages_without_layers__are_refused, begin_of_2048,
                                        end),
        cmocka_unit_test_setup_teardown(test_whole_state__is_of_fp16, begin_of_2048, end),
        cmocka_unit_test_setup_teardown(test_what_the_engine_lacks__is_refused, begin_of_2048, end),
        cmocka_unit_test_setup_teardown(test_models_without_words__are_refused, begin_of_2048, end),
        cmocka_unit_test_setup_teardown(test_what_was_written__reads_back, begin_of_2048, end),
        cmocka_unit_test_setup_teardown(test_a_note_of_the_split__gives_way, begin_of_2048, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
