/* test_launch_megatron.c - what Megatron-LM is told beside the plan, by where it runs */
#include <string.h>

#include "support/launched_fixture.h"

static const launched_usual usual = {"llama-3.2-3b", "megatron", 16, PLAIT_LAUNCH_MEGATRON};

static void render_as(const char *keys, plait_launch_target target)
{
    plait_error err;

    must(launched_render(&it, keys, target, arena, &err), &err);
}

// ---- user buffers of Transformer Engine -----------------------------------------------------

static void assert_user_buffers(bool there, bool by_ipc)
{
    if (there)
        assert_says(&it, "args.sh", "--tp-comm-overlap\n");
    else
        assert_silent(&it, "args.sh", "--tp-comm-overlap");
    if (by_ipc)
        assert_says(&it, "args.sh", "export UB_SKIPMC=1\n");
    else
        assert_silent(&it, "args.sh", "UB_SKIPMC");
}

static void test_user_buffers__in_a_domain_with_multicast(void **state)
{
    (void)state;
    render("tp=4 tp_comm_overlap=1 mbs=1 recompute=full");
    assert_user_buffers(true, false);
    render("tp=4 mbs=1 recompute=full");
    assert_user_buffers(false, false);
}

static void test_kernels_of_experts__are_flags_of_the_plan(void **state)
{
    (void)state;
    launched_question(&it, "qwen3-30b-a3b", "megatron", 64, arena);
    render("ep=8 mbs=1 recompute=full");
    assert_says(&it, "args.sh", "--moe-permute-fusion\n");
    assert_says(&it, "args.sh", "--moe-router-fusion\n");
    render("ep=8 mbs=1 recompute=full permute_fusion=0 router_fusion=0");
    assert_silent(&it, "args.sh", "--moe-permute-fusion");
    assert_silent(&it, "args.sh", "--moe-router-fusion");
    render("pp=4 vpp=2 ep=8 mbs=1 recompute=full gather_with_step=1");
    assert_says(&it, "args.sh", "--overlap-param-gather-with-optimizer-step\n");
    assert_says(&it, "args.sh", "--ckpt-format torch\n");
}

static void test_user_buffers__without_a_switch_go_by_ipc(void **state)
{
    (void)state;
    it.cluster.level[0].kind = PLAIT_LEVEL_FULL;
    render("tp=4 tp_comm_overlap=1 mbs=1 recompute=full");
    assert_user_buffers(true, true);
    render_as("tp=4 tp_comm_overlap=1 mbs=1 recompute=full", PLAIT_LAUNCH_MEGATRON_BRIDGE);
    assert_says(&it, "overrides.sh", "model.tp_comm_overlap=true\n");
    assert_says(&it, "run.sh", "export UB_SKIPMC=1\n");
    render_as("tp=4 mbs=1 recompute=full", PLAIT_LAUNCH_MEGATRON_BRIDGE);
    assert_says(&it, "overrides.sh", "model.tp_comm_overlap=false\n");
    assert_silent(&it, "run.sh", "UB_SKIPMC");
}

// ---- the data loader ------------------------------------------------------------------------

static void test_masks__are_not_made_by_the_loader(void **state)
{
    (void)state;
    render("tp=2 mbs=1 recompute=full");
    assert_says(&it, "args.sh", "--no-create-attention-mask-in-dataloader\n");
}

// ---- with what a model was trained -----------------------------------------------------------

static void ask(const char *model)
{
    launched_question(&it, model, "megatron", 512, arena);
    it.problem.job.gbs = 2048;
}

/* Constant until 10 T tokens, a balance of each sequence, the weight of the further token. */
static void test_deepseek_v3__has_its_schedule_and_losses(void **state)
{
    (void)state;
    ask("deepseek-v3");
    render("tp=1 pp=16 ep=32 etp=1 mbs=1 recompute=full");
    assert_says(&it, "args.sh",
                "--lr 0.00022\n--min-lr 2.2e-05\n--lr-decay-style WSD\n"
                "--lr-wsd-decay-style cosine\n");
    assert_says(&it, "args.sh", "--lr-warmup-iters 2000\n--adam-beta1 0.9\n--adam-beta2 0.95\n");
    assert_says(&it, "args.sh",
                "--moe-router-load-balancing-type seq_aux_loss\n"
                "--moe-aux-loss-coeff 0.0001\n"
                "--moe-router-bias-update-rate 0.001\n");
    assert_says(&it, "args.sh", "--mtp-loss-scaling-factor 0.3\n");
    assert_says(&it, "args.sh", "arXiv 2412.19437");
}

/* The 0.9 of its config is no loss that it was trained with. */
static void test_gpt_oss__has_no_loss_for_balance(void **state)
{
    (void)state;
    ask("gpt-oss-20b");
    render("tp=1 ep=8 etp=1 mbs=1 recompute=full");
    assert_says(&it, "args.sh", "--moe-router-load-balancing-type none\n");
    assert_silent(&it, "args.sh", "--moe-aux-loss-coeff");
}

static void test_unknown_values__are_placeholders_with_which_a_run_starts(void **state)
{
    (void)state;
    render("tp=2 mbs=1 recompute=full");
    assert_says(&it, "args.sh", "published: no values\n");
    assert_says(&it, "args.sh", "--lr-decay-iters 100\n--lr-warmup-iters 10\n");
    assert_says(&it, "args.sh",
                "--save checkpoints/llama-3-2-3b\n--load checkpoints/llama-3-2-3b\n");
    assert_says(&it, "args.sh",
                "--manual-gc\n--manual-gc-interval 100\n"
                "--distributed-timeout-minutes 60\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_user_buffers__in_a_domain_with_multicast, begin, end),
        cmocka_unit_test_setup_teardown(test_kernels_of_experts__are_flags_of_the_plan, begin, end),
        cmocka_unit_test_setup_teardown(test_user_buffers__without_a_switch_go_by_ipc, begin, end),
        cmocka_unit_test_setup_teardown(test_deepseek_v3__has_its_schedule_and_losses, begin, end),
        cmocka_unit_test_setup_teardown(test_gpt_oss__has_no_loss_for_balance, begin, end),
        cmocka_unit_test_setup_teardown(
            test_unknown_values__are_placeholders_with_which_a_run_starts, begin, end),
        cmocka_unit_test_setup_teardown(test_masks__are_not_made_by_the_loader, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
