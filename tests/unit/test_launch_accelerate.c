/* test_launch_accelerate.c - accelerate's YAML for FSDP2 */
#include <string.h>

#include "support/launched_fixture.h"

static const launched_usual usual = {"llama-3.1-8b", "fsdp", 16, PLAIT_LAUNCH_ACCELERATE};

static void test_zero_3__reshards_after_forward(void **state)
{
    (void)state;
    render("zero=3 recompute=full");
    assert_says(&it, "accelerate.yaml", "  fsdp_version: 2\n  fsdp_reshard_after_forward: true\n");
    assert_says(&it, "accelerate.yaml", "  fsdp_activation_checkpointing: true\n");
    assert_says(&it, "accelerate.yaml", "  fsdp_offload_params: false\n");
    assert_silent(&it, "accelerate.yaml", "sharding_strategy");
    assert_silent(&it, "accelerate.yaml", "parallelism_config");
}

static void test_parameters_on_the_host__are_offloaded(void **state)
{
    (void)state;
    render("zero=3 offload=params");
    assert_says(&it, "accelerate.yaml", "  fsdp_offload_params: true\n");
}

static void test_zero_2__does_not(void **state)
{
    (void)state;
    render("zero=2 mbs=1 recompute=none");
    assert_says(&it, "accelerate.yaml", "  fsdp_reshard_after_forward: false\n");
    assert_says(&it, "accelerate.yaml", "  fsdp_activation_checkpointing: false\n");
}

/* 16 ranks in shards of 8: two copies. The names are whole, nothing is put in front of them. */
static void test_hybrid_shards__are_a_mesh(void **state)
{
    (void)state;
    render("zero=3 shard_group=8");
    assert_says(&it, "accelerate.yaml",
                "parallelism_config:\n"
                "  parallelism_config_dp_replicate_size: 2\n"
                "  parallelism_config_dp_shard_size: 8\n");
}

/* 64 sequences over 16 ranks, 2 a microbatch: 2 steps, of which the file has no word. */
static void test_steps__go_by_the_environment(void **state)
{
    (void)state;
    render("zero=3 mbs=2");
    assert_says(&it, "run.sh", "export ACCELERATE_GRADIENT_ACCUMULATION_STEPS=2\n");
}

/* Else accelerate keeps whole gradients until the last of the two. */
static void test_sharded_gradients__are_reduced_with_each_microbatch(void **state)
{
    (void)state;
    render("zero=3 mbs=2");
    assert_says(&it, "accelerator_config.json",
                "\"num_steps\": 2,\n    \"sync_each_batch\": true\n");
    assert_says(&it, "run.sh", "sync_each_batch=True");
    render("zero=3 mbs=4 recompute=full"); // one microbatch
    assert_silent(&it, "run.sh", "sync_each_batch");
}

static void test_two_nodes__of_eight(void **state)
{
    (void)state;
    render("zero=3");
    assert_says(&it, "accelerate.yaml", "num_machines: 2\nnum_processes: 16\n");
    assert_says(&it, "run.sh", "--machine_rank \"$node_rank\" --main_process_ip \"$head\"");
}

static void test_fp8__is_of_torchao(void **state)
{
    (void)state;
    it.problem.job.precision = PLAIT_FP8;
    render("zero=3");
    assert_says(&it, "accelerate.yaml", "mixed_precision: fp8\nfp8_config:\n  fp8_backend: ao\n");
    assert_says(&it, "accelerate.yaml", "fsdp_cpu_ram_efficient_loading: false\n");
}

static void test_pipelines__are_refused(void **state)
{
    plait_error err;

    (void)state;
    launched_question(&it, "llama-3.1-8b", "megatron", 16, arena);
    assert_int_equal(launched_render(&it, "pp=2", PLAIT_LAUNCH_ACCELERATE, arena, &err),
                     PLAIT_ERROR_RANGE);
    assert_true(strstr(err.message, "expected a plan that accelerate can run, found: ") ==
                err.message);
}

static void test_shards_of_one_rank__are_refused(void **state)
{
    plait_degrees d = plait_degrees_init();
    char why[256];

    (void)state;
    d.dp = 16;
    d.grad_reduce = PLAIT_STATE_BF16;
    d.zero = 3;
    assert_int_equal(plait_degrees_check(&it.problem, &d, why, sizeof why), PLAIT_INVALID);
    assert_non_null(strstr(why, "rule F2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_zero_3__reshards_after_forward, begin, end),
        cmocka_unit_test_setup_teardown(test_parameters_on_the_host__are_offloaded, begin, end),
        cmocka_unit_test_setup_teardown(test_zero_2__does_not, begin, end),
        cmocka_unit_test_setup_teardown(test_hybrid_shards__are_a_mesh, begin, end),
        cmocka_unit_test_setup_teardown(test_steps__go_by_the_environment, begin, end),
        cmocka_unit_test_setup_teardown(test_sharded_gradients__are_reduced_with_each_microbatch,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_two_nodes__of_eight, begin, end),
        cmocka_unit_test_setup_teardown(test_fp8__is_of_torchao, begin, end),
        cmocka_unit_test_setup_teardown(test_pipelines__are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_shards_of_one_rank__are_refused, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
