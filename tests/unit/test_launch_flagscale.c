/* test_launch_flagscale.c - FlagScale's YAML */
#include <string.h>

#include "launch/flagscale/flagscale.h"
#include "launch/target.h"
#include "support/launched_fixture.h"
#include "plait/search.h"

static const launched_usual usual = {"llama-2-70b", "flagscale", 64, PLAIT_LAUNCH_FLAGSCALE};

static void test_arguments__stand_in_their_blocks(void **state)
{
    (void)state;
    render("tp=8 pp=4 recompute=full:4");
    assert_says(&it, "plan.yaml",
                "  system:\n    # parallelism\n    tensor_model_parallel_size: 8\n"
                "    sequence_parallel: true\n    pipeline_model_parallel_size: 4\n");
    assert_says(&it, "plan.yaml",
                "    recompute_granularity: \"full\"\n    recompute_method: \"block\"\n"
                "    recompute_num_layers: 4\n");
    assert_says(&it, "plan.yaml", "    checkpoint:\n      save: \"checkpoints/llama-2-70b\"\n");
    assert_says(&it, "plan.yaml", "  model:\n    # model\n    num_layers: 80\n");
    assert_says(&it, "plan.yaml", "    tokenizer:\n      vocab_size: 32000\n");
    assert_says(&it, "plan.yaml", "    nnodes: 8\n    nproc_per_node: 8\n");
    assert_says(&it, "plan.yaml", "    CUDA_DEVICE_MAX_CONNECTIONS: \"1\"\n");
}

static void test_several_words__are_a_list(void **state)
{
    (void)state;
    render("tp=8 pp=4 recompute=modules:core_attn+mlp");
    assert_says(&it, "plan.yaml", "    recompute_modules: [\"core_attn\", \"mlp\"]\n");
}

static void test_several_nodes__need_a_hostfile(void **state)
{
    (void)state;
    render("tp=8 pp=4");
    assert_says(&it, "run.sh", ": \"${HOSTFILE:?expected a file that names the nodes}\"\n");
}

static void test_what_came_after_core_15__is_no_plan_of_it(void **state)
{
    plait_error err;

    (void)state;
    launched_question(&it, "qwen3-30b-a3b", "flagscale", 64, arena);
    assert_int_not_equal(
        launched_render(&it, "ep=8 dispatcher=deepep", PLAIT_LAUNCH_FLAGSCALE, arena, &err),
        PLAIT_OK);
}

/* tp 2 on 8 ranks of stage 0, 4 on those of stage 1; stages 2 and 3 are as stage 0. */
static void test_stages_of_unlike_degrees__are_meshes(void **state)
{
    static const launched_case of = {"llama-2-7b", "dgx-h100", "flagscale",      32,
                                     4096,         64,         "tp=2 pp=4 mbs=1"};
    launched_plan it_is;
    plait_stage stage[4];
    megatron_args args;
    launch_args own;
    text_builder out;
    plait_error err;

    (void)state;
    launched_make(&of, arena, &it_is);
    memcpy(stage, it_is.plan.stage, sizeof stage);
    stage[1].degrees.tp = 4;
    stage[1].degrees.dp = stage[1].degrees.shard_group = 2;
    stage[1].degrees.mbs = 2;
    it_is.plan.stage = stage;
    must(megatron_args_of(&it_is.problem, &it_is.plan, arena, &args, &err), &err);
    args_init(&own, arena);
    assert_null(flagscale_meshes_unsupported(&it_is.problem, &it_is.plan));
    flagscale_meshes(&it_is.problem, &it_is.plan, &args, &own);
    text_builder_init(&out, arena);
    flagscale_append_train(&own, 2, &out);
    const char *const text = text_builder_finish(&out, NULL);
    assert_non_null(text);
    assert_non_null(strstr(text,
                           "    enable_hetero: true\n"
                           "    hetero_process_meshes: [2, 1, 1, 4, 1, 4, 1, 1, 2, 1, 2, 1, 1, "
                           "4, 2]\n"));
    assert_non_null(strstr(text, "    hetero_pipeline_layer_split: [8, 8, 8, 8]\n"));
    stage[1].degrees.cp = 2;
    assert_string_equal(flagscale_meshes_unsupported(&it_is.problem, &it_is.plan),
                        "stages with different cp");
    stage[1].degrees.cp = 1;
    stage[3].degrees.tp = 4;
    assert_null(flagscale_meshes_unsupported(&it_is.problem, &it_is.plan));
    it_is.model.tied = true;
    assert_non_null(flagscale_meshes_unsupported(&it_is.problem, &it_is.plan));
}

/* 64 sequences on 8 replicas are 8 microbatches: stage 0 recomputes 3 layers, the others none. */
static void test_recomputation_by_stage__is_a_list_of_layers(void **state)
{
    static const launched_case of = {"llama-2-7b", "dgx-h100", "flagscale",      32,
                                     4096,         64,         "tp=1 pp=4 mbs=1"};
    plait_recompute recompute[8] = {{.kind = PLAIT_RECOMPUTE_FULL},
                                    {.kind = PLAIT_RECOMPUTE_FULL},
                                    {.kind = PLAIT_RECOMPUTE_FULL}};
    plait_launch_folder folder = {0};
    launched_plan it_is;
    plait_stage stage[4];
    plait_error err;

    (void)state;
    launched_make(&of, arena, &it_is);
    memcpy(stage, it_is.plan.stage, sizeof stage);
    stage[0].recompute = recompute;
    it_is.plan.stage = stage;
    must(target_flagscale.render(&it_is.launch, arena, &folder, &err), &err);
    const char *const text = launched_file(&folder, "plan.yaml");
    assert_non_null(strstr(text, "    recompute_granularity: \"full\"\n"
                                 "    recompute_method: \"block\"\n"
                                 "    recompute_num_layers: 3\n"));
    assert_non_null(
        strstr(text, "    recompute_num_layers_per_stage_micro_batch: [[1,8,3],[3,8,0]]\n"));
    recompute[4].kind = PLAIT_RECOMPUTE_FULL;
    assert_non_null(target_flagscale.unsupported(&it_is.problem, &it_is.plan));
}

/* The device types of the meshes in the order of the stages, and a line of the hostfile for each. */
static void test_stages_on_two_sorts_of_nodes__name_their_device_types(void **state)
{
    plait_search_options options;
    plait_search_result result;
    plait_launch_folder folder;
    launched_plan it_is;
    plait_accelerator two_words;
    plait_error err;

    (void)state;
    must(plait_model_find("llama-3.1-8b", arena, &it_is.model, NULL, &err), &err);
    must(plait_cluster_find("h100-80gb-sxm:1x8+a100-80gb-sxm:1x8", arena, &it_is.cluster, &err),
         &err);
    must(plait_runtime_find("flagscale", arena, &it_is.runtime, &err), &err);
    plait_problem_init(&it_is.problem);
    it_is.problem.model = &it_is.model;
    it_is.problem.cluster = &it_is.cluster;
    it_is.problem.runtime = &it_is.runtime;
    it_is.problem.job = (plait_job){.seq = 4096, .gbs = 64, .gpus = 16};
    plait_search_options_init(&options);
    must(plait_search(&it_is.problem, &options, arena, &result, &err), &err);
    const plait_plan *const plan = &result.plan[0].plan;
    assert_true(plait_plan_gpus(plan, 0) == 8 && plait_plan_gpus(plan, 1) == 8);
    must(plait_plan_evaluate(&it_is.problem, plan, NULL, arena, &it_is.cost, &err), &err);
    it_is.launch = (plait_launch){.problem = &it_is.problem, .plan = plan, .cost = &it_is.cost};
    must(plait_launch_render(&it_is.launch, PLAIT_LAUNCH_FLAGSCALE, arena, &folder, &err), &err);
    const bool h100_first = plan->stage[0].group == 0;
    assert_non_null(strstr(launched_file(&folder, "plan.yaml"),
                           h100_first
                               ? "hetero_device_types: [\"h100-80gb-sxm\", \"a100-80gb-sxm\"]\n"
                               : "hetero_device_types: [\"a100-80gb-sxm\", \"h100-80gb-sxm\"]\n"));
    assert_non_null(strstr(launched_file(&folder, "run.sh"),
                           "\"NAME slots=8 type=a100-80gb-sxm\", one for each of 1 nodes\n"));
    const plait_degrees *const a = &plan->stage[0].degrees, *const b = &plan->stage[1].degrees;
    assert_int_equal(plan->stages, 2);
    assert_non_null(strstr(
        launched_file(&folder, "plan.yaml"),
        plait_arena_printf(arena, "hetero_process_meshes: [%d, %d, %d, %d, 1, %d, %d, %d, %d, 1]\n",
                           a->tp, a->cp, a->ep, a->dp, b->tp, b->cp, b->ep, b->dp)));
    assert_non_null(strstr(launched_file(&folder, "plan.yaml"),
                           plait_arena_printf(arena, "hetero_pipeline_layer_split: [%d, %d]\n",
                                              plan->stage[0].layers, plan->stage[1].layers)));
    assert_int_not_equal(
        plait_launch_render(&it_is.launch, PLAIT_LAUNCH_MEGATRON, arena, &folder, &err), PLAIT_OK);
    two_words = *it_is.cluster.group[0].accelerator;
    two_words.name = "H100 SXM";
    it_is.cluster.group[0].accelerator = &two_words;
    assert_int_not_equal(
        plait_launch_render(&it_is.launch, PLAIT_LAUNCH_FLAGSCALE, arena, &folder, &err), PLAIT_OK);
    assert_non_null(strstr(err.message, "an accelerator whose name is not one word"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_arguments__stand_in_their_blocks),
        TEST(test_several_words__are_a_list),
        TEST(test_several_nodes__need_a_hostfile),
        TEST(test_stages_of_unlike_degrees__are_meshes),
        TEST(test_recomputation_by_stage__is_a_list_of_layers),
        TEST(test_stages_on_two_sorts_of_nodes__name_their_device_types),
        TEST(test_what_came_after_core_15__is_no_plan_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
