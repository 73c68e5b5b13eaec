/* test_launch_flagscale.c - FlagScale's YAML, out and in */
#include <string.h>

#include "launch/flagscale/flagscale.h"
#include "support/launched_fixture.h"
#include "plait/search.h"
#include "io/plans/plans.h"
#include "launch/target.h"

static const launched_usual usual = {"llama-2-70b", "flagscale", 64, PLAIT_LAUNCH_FLAGSCALE};

static void import(const char *text, plans_entry *out, const char **warning)
{
    plait_error err;

    *out = plans_unknown("f.yaml");
    must(target_flagscale.import(text, strlen(text), "f.yaml", NULL, arena, out, warning, &err),
         &err);
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    plans_entry entry = plans_unknown("f.yaml");
    const char *warning;
    plait_error err;

    assert_int_not_equal(
        target_flagscale.import(text, strlen(text), "f.yaml", NULL, arena, &entry, &warning, &err),
        PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

// ---- out -----------------------------------------------------------------------------------

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
    assert_says(&it, "run.sh", "hostfile=${HOSTFILE:?expected a file that names the nodes}\n");
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
    assert_null(flagscale_lacks_meshes(&it_is.problem, &it_is.plan));
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
    assert_string_equal(flagscale_lacks_meshes(&it_is.problem, &it_is.plan), "stages of unlike cp");
    stage[1].degrees.cp = 1;
    stage[3].degrees.tp = 4;
    assert_null(flagscale_lacks_meshes(&it_is.problem, &it_is.plan));
    it_is.model.tied = true;
    assert_non_null(flagscale_lacks_meshes(&it_is.problem, &it_is.plan));
}

/* Each stage with the degrees and layers that it had; groups are numbered as they are first named. */
static void assert_comes_back(const char *text, const plait_plan *plan)
{
    static const plait_key_id keys[] = {PLAIT_KEY_TP,  PLAIT_KEY_CP,  PLAIT_KEY_DP, PLAIT_KEY_EP,
                                        PLAIT_KEY_ETP, PLAIT_KEY_MBS, PLAIT_KEY_SP};
    const char *warning;
    plans_entry back;

    import(text, &back, &warning);
    assert_int_equal(back.stages, plan->stages);
    assert_int_equal(back.gpus, plait_plan_gpus(plan, -1));
    for (int s = 0; s < plan->stages; s++) {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            assert_true(plait_key_same(&back.stage[s].own, &plan->stage[s].degrees, keys[k]));
        assert_int_equal(back.stage[s].layers, plan->stage[s].layers);
        assert_int_equal(back.stage[s].group, plan->stage[s].group != plan->stage[0].group);
    }
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
    must(plait_plan_cost(&it_is.problem, plan, arena, &it_is.cost, &err), &err);
    it_is.launch = (plait_launch){.problem = &it_is.problem, .plan = plan, .cost = &it_is.cost};
    must(plait_launch_render(&it_is.launch, PLAIT_LAUNCH_FLAGSCALE, arena, &folder, &err), &err);
    const bool h100_first = plan->stage[0].group == 0;
    assert_non_null(strstr(launched_file(&folder, "plan.yaml"),
                           h100_first
                               ? "hetero_device_types: [\"h100-80gb-sxm\", \"a100-80gb-sxm\"]\n"
                               : "hetero_device_types: [\"a100-80gb-sxm\", \"h100-80gb-sxm\"]\n"));
    assert_non_null(strstr(launched_file(&folder, "run.sh"),
                           "\"NAME slots=8 type=a100-80gb-sxm\", one a node, 1 of them\n"));
    assert_comes_back(launched_file(&folder, "plan.yaml"), plan);
    assert_int_not_equal(
        plait_launch_render(&it_is.launch, PLAIT_LAUNCH_MEGATRON, arena, &folder, &err), PLAIT_OK);
    two_words = *it_is.cluster.group[0].accelerator;
    two_words.name = "H100 SXM";
    it_is.cluster.group[0].accelerator = &two_words;
    assert_int_not_equal(
        plait_launch_render(&it_is.launch, PLAIT_LAUNCH_FLAGSCALE, arena, &folder, &err), PLAIT_OK);
    assert_non_null(strstr(err.message, "an accelerator whose name is not one word"));
}

// ---- in ------------------------------------------------------------------------------------

static const char train[] = "system:\n"
                            "  tensor_model_parallel_size: 2\n"
                            "  pipeline_model_parallel_size: 3\n"
                            "  use_distributed_optimizer: True\n"
                            "  bf16: True\n"
                            "  hetero:\n"
                            "    enable_hetero: True\n"
                            "    hetero_pipeline_layer_split: [6, 2, 4]\n"
                            "    hetero_process_meshes: [2, 1, 1, 4, 1, 2, 1, 1, 4, 2]\n"
                            "    hetero_device_types: [\"A800\", \"A800\"]\n"
                            "  recompute:\n"
                            "    recompute_granularity: full\n"
                            "    recompute_method: uniform\n"
                            "    recompute_num_layers: 1\n"
                            "    recompute_method_per_stage_micro_batch:\n"
                            "      - [1, 4, 1]\n"
                            "      - [2, 2, 1, 2, 1]\n"
                            "    recompute_num_layers_per_stage_micro_batch: [\"[3, 4, 2]\"]\n"
                            "model:\n"
                            "  num_layers: 12\n"
                            "  hidden_size: 4096\n"
                            "  num_attention_heads: 32\n"
                            "  seq_length: 2048\n"
                            "  swiglu: true\n"
                            "  multiple_of: 256\n"
                            "  micro_batch_size: 2\n"
                            "  global_batch_size: 32\n"
                            "  seed: ${experiment.seed}\n"
                            "data:\n"
                            "  tokenizer:\n"
                            "    vocab_size: 32000\n";

/* 2 x 1 x 4 x (1 + 2) = 24 GPUs; the MLP is 256 * ceil(8 * 4096 / 3 / 256) = 11008 wide. */
static void test_equal_meshes__are_one_grid(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import(train, &entry, &warning);
    assert_string_equal(warning, "set outside the file, and taken as not given: seed");
    assert_string_equal(entry.runtime, "flagscale");
    assert_int_equal(entry.gpus, 24);
    assert_int_equal(entry.degrees.tp, 2);
    assert_int_equal(entry.degrees.pp, 3);
    assert_int_equal(entry.degrees.recompute.kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(entry.degrees.recompute.layers, 2);
    assert_non_null(entry.model);
    assert_int_equal(entry.model->kind[0].mlp.width, 11008);
    assert_int_equal(entry.degrees.split.first + entry.degrees.split.last, 10);
}

static const char *with(const char *old, const char *new)
{
    const char *const at = strstr(train, old);
    const char *const text =
        plait_arena_printf(arena, "%.*s%s%s", (int)(at - train), train, new, at + strlen(old));

    assert_non_null(text);
    return text;
}

static void test_stages_of_their_own__are_refused(void **state)
{
    (void)state;
    assert_refused(with("2, 1, 1, 4, 2]", "2, 2, 1, 2, 2]"), "f.yaml: hetero_process_meshes",
                   "expected meshes of the same cp, found 1 and 2");
    assert_refused(with("2, 1, 1, 4, 2]", "2, 1, 1, 0, 2]"), "f.yaml: hetero_process_meshes",
                   "expected sizes from 1 to 65536, found 0");
    assert_refused(with("2, 1, 1, 4, 2]", "2, 1, 1, 3, 2]"), "f.yaml",
                   "expected a dp of stage 1 that divides the 8 sequences of a microbatch, found "
                   "3");
    assert_refused(with("2, 1, 1, 4, 2]", "2, 1, 1, 4]"), "f.yaml: hetero_process_meshes",
                   "expected tp, cp, ep, dp and pp of each mesh, found 9 numbers");
    assert_refused(with("[6, 2, 4]", "[6, 6]"), "f.yaml: hetero_pipeline_layer_split",
                   "expected the layers of 3 stages, found those of 2");
    assert_refused(with("2, 2, 1, 2, 1", "2, 2, 1, 2, 0"),
                   "f.yaml: recompute_method_per_stage_micro_batch",
                   "expected rows [stages, microbatches, value] with one value, found \"[2, 2, 1, "
                   "2, 0]\"");
}

/* Stage 0 of 6 layers runs them all again, in runs (uniform); the others their first 2. */
static void test_recomputation_by_stage__is_listed_by_stage(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import(with("- [1, 4, 1]", "- [1, 4, 0]"), &entry, &warning);
    assert_int_equal(entry.degrees.recompute.kind, PLAIT_RECOMPUTE_NONE);
    assert_int_equal(entry.stages, 3);
    assert_int_equal(entry.stage[0].recomputes, 6);
    assert_int_equal(entry.stage[0].recompute[5].kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(entry.stage[2].recomputes, 4);
    assert_int_equal(entry.stage[2].recompute[1].kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(entry.stage[2].recompute[2].kind, PLAIT_RECOMPUTE_NONE);
}

static void test_layers_of_zero__recompute_nothing(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import(with("[3, 4, 2]", "[3, 4, 0]"), &entry, &warning);
    assert_int_equal(entry.degrees.recompute.kind, PLAIT_RECOMPUTE_NONE);
}

static void test_another_file__has_none_of_it(void **state)
{
    (void)state;
    assert_refused("experiment:\n  exp_name: x\n", "f.yaml",
                   "expected system, model and data, by themselves or under train, found none of "
                   "them");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_arguments__stand_in_their_blocks),
        TEST(test_several_words__are_a_list),
        TEST(test_several_nodes__need_a_hostfile),
        TEST(test_stages_of_unlike_degrees__are_meshes),
        TEST(test_stages_on_two_sorts_of_nodes__name_their_device_types),
        TEST(test_what_came_after_core_15__is_no_plan_of_it),
        TEST(test_equal_meshes__are_one_grid),
        TEST(test_stages_of_their_own__are_refused),
        TEST(test_recomputation_by_stage__is_listed_by_stage),
        TEST(test_layers_of_zero__recompute_nothing),
        TEST(test_another_file__has_none_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
