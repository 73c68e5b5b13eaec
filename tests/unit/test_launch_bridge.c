/* test_launch_bridge.c - Megatron-Bridge's overrides, and that Megatron-LM's arguments agree */
#include <string.h>

#include "support/launched_fixture.h"

static const launched_usual usual = {"llama-3.1-8b", "megatron", 16, PLAIT_LAUNCH_MEGATRON_BRIDGE};

static void test_degrees__have_their_fields(void **state)
{
    (void)state;
    render("tp=2 pp=4 vpp=2 mbs=1");
    assert_says(&it, "overrides.sh",
                "model.tensor_model_parallel_size=2\n"
                "model.sequence_parallel=true\n"
                "model.pipeline_model_parallel_size=4\n"
                "model.virtual_pipeline_model_parallel_size=2\n"
                "model.pipeline_model_parallel_layout=null\n");
    assert_says(&it, "overrides.sh",
                "train.micro_batch_size=1\n"
                "train.global_batch_size=64\n"
                "dataset.seq_length=4096\n");
    assert_says(&it, "overrides.sh", "model.overlap_p2p_comm=true\nmodel.batch_p2p_comm=false\n");
}

/* A recipe may have it on. */
static void test_what_is_off__is_said(void **state)
{
    (void)state;
    launched_question(&it, "llama-3.2-3b", "megatron", 16, arena);
    render("tp=1 pp=1 zero=0 mbs=1 recompute=full");
    assert_says(&it, "overrides.sh", "model.sequence_parallel=false\n");
    assert_says(&it, "overrides.sh", "ddp.use_distributed_optimizer=false\n");
    assert_says(&it, "overrides.sh",
                "model.recompute_granularity=full\n"
                "model.recompute_method=uniform\n"
                "model.recompute_num_layers=1\n"
                "model.recompute_modules=null\n");
    assert_says(&it, "overrides.sh", "comm_overlap=null\n");
    assert_says(&it, "overrides.sh", "mixed_precision=bf16_mixed\n");
    assert_silent(&it, "overrides.sh", "expert_model");
}

static void test_modules__are_a_list(void **state)
{
    (void)state;
    launched_question(&it, "qwen3-30b-a3b", "megatron", 64, arena);
    render("tp=1 pp=2 ep=8 mbs=1 recompute=modules:layernorm+moe_act");
    assert_says(&it, "overrides.sh", "model.recompute_modules=[\"layernorm\",\"moe_act\"]\n");
    assert_says(&it, "overrides.sh", "model.expert_model_parallel_size=8\n");
    assert_says(&it, "overrides.sh", "model.moe_token_dispatcher_type=alltoall\n");
}

static void test_fused_experts_and_gathers__have_their_fields(void **state)
{
    plait_error err;

    (void)state;
    launched_question(&it, "qwen3-30b-a3b", "megatron", 64, arena);
    render("ep=8 mbs=1 recompute=full permute_fusion=0");
    assert_says(&it, "overrides.sh",
                "model.moe_permute_fusion=false\nmodel.moe_router_fusion=true\n");
    assert_says(&it, "overrides.sh", "optimizer.overlap_param_gather_with_optimizer_step=false\n");
    // Megatron-LM needs checkpoints for it that Megatron-Bridge cannot load
    assert_int_equal(launched_render(&it, "pp=4 vpp=2 ep=8 mbs=1 recompute=full gather_with_step=1",
                                     usual.target, arena, &err),
                     PLAIT_ERROR_RANGE);
    assert_non_null(strstr(err.message, "gather_with_step 1"));
}

static void test_a_split__is_said_once(void **state)
{
    (void)state;
    render("tp=2 pp=2 split=first-last:10,22");
    assert_says(&it, "overrides.sh",
                "model.num_layers_in_first_pipeline_stage=10\n"
                "model.num_layers_in_last_pipeline_stage=22\n");
}

/* A recipe's tokenizer has another vocabulary than the plan was priced with. */
static void test_vocabulary__is_the_plans(void **state)
{
    (void)state;
    render("tp=2 pp=4 mbs=1");
    assert_says(&it, "overrides.sh",
                "tokenizer.tokenizer_type=NullTokenizer\n"
                "tokenizer.vocab_size=128256\n"
                "tokenizer.use_tokenizer_vocab_size=true\n"
                "model.vocab_size=128256\n"
                "model.make_vocab_size_divisible_by=128\n");
    assert_says(&it, "overrides.sh", "optimizer.lr=0.0003\n");
    assert_says(&it, "overrides.sh",
                "scheduler.lr_decay_iters=100\nscheduler.lr_warmup_iters=10\n");
}

/* null is no kind of balance. */
static void test_no_balance__is_a_word(void **state)
{
    (void)state;
    launched_question(&it, "gpt-oss-20b", "megatron", 16, arena);
    render("tp=1 ep=8 etp=1 mbs=1 recompute=full");
    assert_says(&it, "overrides.sh", "model.moe_router_load_balancing_type=\"none\"\n");
    assert_says(&it, "overrides.sh", "model.moe_aux_loss_coeff=0\n");
}

static void test_a_recipe_of_the_name__is_chosen(void **state)
{
    (void)state;
    render("tp=2");
    assert_says(&it, "run.sh", "recipe=${RECIPE:-llama31_8b_pretrain_config}\n");
    assert_says(&it, "run.sh", "\"${args[@]/#/++}\"");
    assert_says(&it, "run.sh", "NVTE_FUSED_ATTN=1");
    launched_question(&it, "nemotron-3-ultra", "megatron", 512, arena);
    render("tp=8 etp=1 pp=4 ep=64 mbs=1 recompute=full");
    assert_says(&it, "run.sh", "recipe=${RECIPE:-nemotron_3_ultra_pretrain_config}\n");
}

static void test_another_model_of_the_name__asks_for_one(void **state)
{
    (void)state;
    it.model.hidden = 2048;
    render("tp=2");
    assert_says(&it, "run.sh", "recipe=${RECIPE:?expected");
}

static void test_both_megatrons__say_the_same(void **state)
{
    const char *const keys = "tp=2 pp=2 cp=2 mbs=2 recompute=selective grad_sync=shifted";
    plait_error err;

    (void)state;
    render(keys);
    assert_says(&it, "overrides.sh", "model.context_parallel_size=2\nmodel.cp_comm_type=p2p\n");
    assert_says(&it, "overrides.sh", "model.recompute_modules=[\"core_attn\"]\n");
    assert_says(&it, "overrides.sh", "ddp.overlap_grad_reduce=false\n");
    must(launched_render(&it, keys, PLAIT_LAUNCH_MEGATRON, arena, &err), &err);
    assert_says(&it, "args.sh", "--context-parallel-size 2\n--cp-comm-type p2p\n");
    assert_says(&it, "args.sh", "--recompute-granularity selective\n");
    assert_silent(&it, "args.sh", "--overlap-grad-reduce");
}

static void test_fp16__reduces_in_fp16_only(void **state)
{
    plait_error err;

    (void)state;
    it.problem.job.precision = PLAIT_FP16;
    assert_int_equal(
        launched_render(&it, "tp=2 grad_reduce=fp32", PLAIT_LAUNCH_MEGATRON_BRIDGE, arena, &err),
        PLAIT_ERROR_RANGE);
    assert_string_equal(
        err.message,
        "expected a plan that megatron-bridge can run, found: fp16 with gradients reduced in fp32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_degrees__have_their_fields, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_off__is_said, begin, end),
        cmocka_unit_test_setup_teardown(test_modules__are_a_list, begin, end),
        cmocka_unit_test_setup_teardown(test_fused_experts_and_gathers__have_their_fields, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_split__is_said_once, begin, end),
        cmocka_unit_test_setup_teardown(test_vocabulary__is_the_plans, begin, end),
        cmocka_unit_test_setup_teardown(test_no_balance__is_a_word, begin, end),
        cmocka_unit_test_setup_teardown(test_a_recipe_of_the_name__is_chosen, begin, end),
        cmocka_unit_test_setup_teardown(test_another_model_of_the_name__asks_for_one, begin, end),
        cmocka_unit_test_setup_teardown(test_both_megatrons__say_the_same, begin, end),
        cmocka_unit_test_setup_teardown(test_fp16__reduces_in_fp16_only, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
