/* test_launch_rl.c - files of verl and NeMo-RL: their keys, their relations, and the way back */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launch/rl_import.h"
#include "plait/data.h"
#include "plait/runtime.h"
#include "support/launch_keys.h"
#include "support/launched.h"
#include "support/must.h"
#include "support/rl_world.h"

static plait_arena *arena;
static rl_world at;
static plait_rl_plan plan;
static plait_rl_price price;
static plait_launch_folder folder;

/* GRPO of a model: 64 prompts of 1024 tokens, 8 answers of up to 3072, two updates of a step. */
static void question(const char *name, const char *software, int gpus)
{
    const plait_length_shape answer = {.mean = 1500.0, .max = 3072.0};

    rl_world_make(&at, name, software, gpus, 1024.0, answer, arena);
    at.job.prompts = 64;
    at.job.generations = 8;
    at.job.update_prompts = 32;
    plan = (plait_rl_plan){.train_gpus = gpus,
                           .rollout_gpus = gpus,
                           .offload = true,
                           .memory_fraction = 0.6,
                           .weights = PLAIT_WEIGHT_BF16,
                           .worker = {2, 1, 1, 1}};
}

static void set_degrees(const char *keys)
{
    plait_problem problem = at.job.problem;
    plait_key_set given = 0;
    plait_degrees d = plait_degrees_init();
    char key[24], value[64];
    plait_error err;

    problem.job.gpus = plan.train_gpus;
    plait_rl_update_job(&at.job, &problem.job);
    for (int used; sscanf(keys, " %23[^=]=%63s%n", key, value, &used) == 2; keys += used) {
        must(plait_degrees_set(&d, key, value, &err), &err);
        given |= PLAIT_KEY_BIT(plait_key_find(key));
    }
    must(plait_degrees_complete(&problem, given, &d, arena, &err), &err);
    plan.degrees = d;
}

static plait_status render(plait_error *err)
{
    must(plait_rl_price_of(&at.job, &plan, false, arena, &price, err), err);
    if (price.verdict >= PLAIT_OUT_OF_MEMORY)
        fail_msg("%s", price.why);
    return plait_rl_launch_render(&at.job, &plan, &price, arena, &folder, err);
}

static const char *text_of(const char *name)
{
    const char *const text = launched_file(&folder, name);

    assert_non_null(text);
    return text;
}

static void assert_has(const char *name, const char *part)
{
    if (strstr(text_of(name), part) == NULL)
        fail_msg("%s has no '%s':\n%s", name, part, text_of(name));
}

/* Render, check the keys, and read the file back as the same job and plan. */
static void round_trip(plait_rl_framework framework)
{
    const char *const file = framework == PLAIT_RL_VERL ? "overrides.sh" : "grpo.yaml";
    settings_source source;
    const char *warning;
    rl_imported back;
    plait_error err;

    at.job.framework = framework;
    must(render(&err), &err);
    const char *const text = text_of(file);
    must(settings_open(text, strlen(text), file, framework == PLAIT_RL_VERL, NULL, arena, &source,
                       &err),
         &err);
    check_launch_keys(plait_rl_framework_name[framework], &source, arena);
    must(rl_import(framework, text, strlen(text), file, NULL, arena, &back, &warning, &err), &err);
    assert_string_equal(warning, "");
    assert_string_equal(back.not_read, "");
    assert_string_equal(back.runtime, at.job.problem.runtime->name);
    assert_int_equal(back.algorithm, at.job.algorithm);
    assert_int_equal(back.reference, at.job.reference);
    assert_int_equal(back.prompts, at.job.prompts);
    assert_int_equal(back.generations, at.job.generations);
    assert_int_equal(back.update_prompts, at.job.update_prompts);
    assert_int_equal(back.prompt_tokens, 1024);
    assert_int_equal(back.longest_answer, 3072);
    assert_int_equal(back.pack_tokens, fmax(at.job.pack_tokens, 4096.0));
    assert_int_equal(back.placement, plan.placement);
    assert_int_equal(back.train_gpus, plan.train_gpus);
    assert_int_equal(back.rollout_gpus, plan.rollout_gpus);
    assert_int_equal(back.staleness, plan.staleness);
    assert_int_equal(back.partial, at.job.partial);
    assert_int_equal(back.weights < 0 ? PLAIT_WEIGHT_BF16 : back.weights, (int)plan.weights);
    assert_int_equal(back.offload, plan.offload);
    assert_true(back.memory_fraction == plan.memory_fraction);
    assert_memory_equal(&back.worker, &plan.worker, sizeof plan.worker);
    assert_int_equal(back.tuning.rank, at.job.problem.job.tuning.rank);
    assert_int_equal(back.tuning.targets, at.job.problem.job.tuning.targets);
    assert_string_equal(back.answer_tokens, "1500,3072");
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (back.given & PLAIT_KEY_BIT(k) &&
            !plait_key_same(&back.degrees, &plan.degrees, (plait_key_id)k))
            fail_msg("%s is read as another value", plait_keys[k].name);
}

static void test_colocated_plans__are_read_back(void **state)
{
    (void)state;
    question("qwen3-8b", "megatron", 16);
    set_degrees("tp=2 pp=2 mbs=1");
    round_trip(PLAIT_RL_VERL);
    assert_has("overrides.sh", "\ndata.train_batch_size=64\n");
    assert_has("overrides.sh", "\nactor_rollout_ref.actor.ppo_mini_batch_size=32\n");
    assert_has("overrides.sh", "\nactor_rollout_ref.rollout.n=8\n");
    assert_has("overrides.sh", "\ntrainer.nnodes=2\ntrainer.n_gpus_per_node=8\n");
    round_trip(PLAIT_RL_NEMO_RL);
    assert_has("grpo.yaml", "\n  train_global_batch_size: 256\n");
    assert_has("grpo.yaml", "\n    colocated:\n");
    assert_has("grpo.yaml", "\ncluster:\n  gpus_per_node: 8\n  num_nodes: 2\n");
    set_degrees("tp=4 pp=1 cp=2 mbs=2 recompute=full");
    at.job.reference = false;
    round_trip(PLAIT_RL_VERL);
    assert_has("overrides.sh", "ppo_max_token_len_per_gpu=4096\n"); // 2 x 4096 over cp 2
    round_trip(PLAIT_RL_NEMO_RL);
    assert_has("grpo.yaml", "\n  skip_reference_policy_logprobs_calculation: true\n");
    assert_has("grpo.yaml", "\n  reference_policy_kl_penalty: 0\n");
    assert_has("grpo.yaml", "\n    train_mb_tokens: 8192\n");
}

static void test_experts_and_fp8__are_read_back(void **state)
{
    (void)state;
    question("qwen3-30b-a3b", "megatron", 32);
    plan.worker = (plait_worker){2, 1, 2, 4};
    plan.weights = PLAIT_WEIGHT_FP8;
    set_degrees("tp=2 ep=8 etp=1 pp=1 mbs=1 recompute=full");
    at.job.algorithm = PLAIT_RL_DAPO;
    at.job.reference = false;
    round_trip(PLAIT_RL_VERL);
    round_trip(PLAIT_RL_NEMO_RL);
    assert_has("grpo.yaml", "\n  use_importance_sampling_correction: true\n");
}

static void test_separate_gpus__are_read_back(void **state)
{
    plait_error err;

    (void)state;
    question("qwen3-8b", "megatron", 16);
    plan.placement = PLAIT_RL_APART;
    plan.train_gpus = plan.rollout_gpus = 8;
    plan.staleness = 1;
    plan.offload = false;
    at.job.partial = true;
    set_degrees("tp=2 pp=1 mbs=1 recompute=full");
    round_trip(PLAIT_RL_VERL);
    assert_has("overrides.sh", "\ntrainer.v1.trainer_mode=separate_async\n"
                               "trainer.v1.separate_async.parameter_sync_step=2\n"
                               "trainer.v1.sampler.max_off_policy_threshold=2\n");
    assert_has("overrides.sh", "checkpoint_engine.backend=nccl\n");
    round_trip(PLAIT_RL_NEMO_RL);
    assert_has("grpo.yaml", "\n  async_grpo:\n    enabled: true\n");
    assert_has("grpo.yaml", "\n  num_nodes: 2\n");
    // verl has no synchronous steps on separate GPUs, NeMo-RL has
    plan.staleness = 0;
    at.job.partial = false;
    round_trip(PLAIT_RL_NEMO_RL);
    at.job.framework = PLAIT_RL_VERL;
    assert_int_equal(render(&err), PLAIT_ERROR_RANGE);
    assert_non_null(strstr(err.message, "synchronous steps on separate GPUs"));
}

static void test_fsdp__is_read_back(void **state)
{
    (void)state;
    question("qwen3-8b", "fsdp", 16);
    set_degrees("zero=3 mbs=1 recompute=full");
    round_trip(PLAIT_RL_VERL);
    assert_has("overrides.sh", "\nmodel_engine=dp\n");
    assert_has("overrides.sh", "\nactor_rollout_ref.actor.strategy=fsdp2\n");
    round_trip(PLAIT_RL_NEMO_RL);
    assert_has("grpo.yaml", "\ndefaults: grpo_math_1B.yaml\n");
}

static void test_incomplete_plans__are_refused(void **state)
{
    plait_error err;

    (void)state;
    plait_rl_job_init(&at.job);
    plan = (plait_rl_plan){0};
    assert_int_equal(plait_rl_launch_render(&at.job, &plan, &price, arena, &folder, &err),
                     PLAIT_ERROR_RANGE);
    assert_int_equal(plait_rl_launch_render(NULL, NULL, NULL, arena, &folder, &err),
                     PLAIT_ERROR_RANGE);
}

/* Settings of public recipes; see the sources of tests/data/launch_keys. */
static void test_recipes__are_read(void **state)
{
    static const char verl[] =
        "ARGS=(data.train_batch_size=512 data.max_prompt_length=1024\n"
        "  data.max_response_length=2048 actor_rollout_ref.rollout.n=16\n"
        "  actor_rollout_ref.actor.ppo_mini_batch_size=128)\n"
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \"${ARGS[@]}\" \\\n"
        "  actor_rollout_ref.model.path=Qwen/Qwen3-235B-A22B model_engine=megatron \\\n"
        "  actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 \\\n"
        "  actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=8 \\\n"
        "  actor_rollout_ref.actor.megatron.expert_model_parallel_size=4 \\\n"
        "  +actor_rollout_ref.actor.megatron.override_transformer_config."
        "num_layers_in_first_pipeline_stage=11 \\\n"
        "  actor_rollout_ref.actor.megatron.param_offload=True \\\n"
        "  actor_rollout_ref.rollout.name=sglang \\\n"
        "  actor_rollout_ref.rollout.tensor_model_parallel_size=16 \\\n"
        "  trainer.n_gpus_per_node=8 trainer.nnodes=${NNODES:-8} \"$@\"\n";
    static const char nemo[] =
        "defaults: ../../grpo_math_1B.yaml\ngrpo:\n  num_prompts_per_step: 64\n"
        "  num_generations_per_prompt: 32\npolicy:\n"
        "  model_name: meta-llama/Llama-3.1-8B-Instruct\n"
        "  tokenizer:\n    name: ${policy.model_name}\n"
        "  train_global_batch_size: 512\n  max_total_sequence_length: 4096\n"
        "  dtensor_cfg:\n    enabled: true\n    tensor_parallel_size: 2\n"
        "  scheduler:\n  - name: torch.optim.lr_scheduler.LinearLR\n    kwargs:\n"
        "      start_factor: 0.1\n  - milestones:\n    - 13\n"
        "  megatron_cfg:\n    enabled: false\n"
        "  sequence_packing:\n    train_mb_tokens: ${mul:${policy.max_total_sequence_length}, 2}\n"
        "  generation:\n    max_new_tokens: ${policy.max_total_sequence_length}\n"
        "    vllm_cfg:\n      async_engine: true\n      tensor_parallel_size: 2\n"
        "    colocated:\n      enabled: false\n      resources:\n        gpus_per_node: 8\n"
        "        num_nodes: 1\ncluster:\n  gpus_per_node: 8\n  num_nodes: 2\n";
    const char *warning;
    rl_imported in;
    plait_error err;

    (void)state;
    must(rl_import(PLAIT_RL_VERL, verl, strlen(verl), "run.sh", NULL, arena, &in, &warning, &err),
         &err);
    assert_string_equal(in.model, "Qwen/Qwen3-235B-A22B");
    assert_string_equal(in.runtime, "megatron");
    assert_int_equal(in.prompts, 512);
    assert_int_equal(in.generations, 16);
    assert_int_equal(in.update_prompts, 128);
    assert_int_equal(in.degrees.pp, 8);
    assert_int_equal(in.degrees.ep, 4);
    assert_int_equal(in.degrees.split.first, 11);
    assert_int_equal(in.engine, PLAIT_ENGINE_SGLANG);
    assert_int_equal(in.worker.tp, 16);
    assert_int_equal(in.train_gpus, 64);
    assert_true(in.offload);
    static const launch_call call;
    must(rl_import(PLAIT_RL_NEMO_RL, nemo, strlen(nemo), "x.yaml", &call, arena, &in, &warning,
                   &err),
         &err);
    assert_string_equal(in.runtime, "fsdp");
    assert_int_equal(in.degrees.tp, 2);
    assert_int_equal(in.update_prompts, 16);
    assert_int_equal(in.longest_answer, 4096);
    assert_int_equal(in.placement, PLAIT_RL_APART);
    assert_int_equal(in.train_gpus, 8);
    assert_int_equal(in.rollout_gpus, 8);
    assert_non_null(strstr(warning, "../../grpo_math_1B.yaml"));
}

static void test_other_files__are_refused(void **state)
{
    const char *warning;
    rl_imported in;
    plait_error err;

    (void)state;
    assert_int_equal(
        rl_import(PLAIT_RL_NEMO_RL, "a: 1\n", 5, "x.yaml", NULL, arena, &in, &warning, &err),
        PLAIT_ERROR_SCHEMA);
    assert_int_equal(
        rl_import(PLAIT_RL_VERL, "torchrun x.py\n", 14, "x.sh", NULL, arena, &in, &warning, &err),
        PLAIT_ERROR_SCHEMA);
}

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena == NULL;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_colocated_plans__are_read_back), TEST(test_experts_and_fp8__are_read_back),
        TEST(test_separate_gpus__are_read_back),   TEST(test_fsdp__is_read_back),
        TEST(test_incomplete_plans__are_refused),  TEST(test_recipes__are_read),
        TEST(test_other_files__are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
