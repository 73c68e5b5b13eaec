/* test_launch_mindspeed.c - MindSpeed-LLM's arguments, out and in */
#include <string.h>

#include "support/launched_fixture.h"
#include "io/plans/plans.h"
#include "launch/import.h"
#include "launch/target.h"

static const launched_usual usual = {"llama-3.1-8b", "mindspeed", 16, PLAIT_LAUNCH_MINDSPEED};

static void import(const char *text, plans_entry *out, const char **warning)
{
    plait_error err;

    *out = plans_unknown("f.sh");
    must(launch_import(PLAIT_LAUNCH_MINDSPEED, text, strlen(text), "f.sh", NULL, arena, out,
                       warning, &err),
         &err);
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    plans_entry entry = plans_unknown("f.sh");
    const char *warning;
    plait_error err;

    assert_int_not_equal(launch_import(PLAIT_LAUNCH_MINDSPEED, text, strlen(text), "f.sh", NULL,
                                       arena, &entry, &warning, &err),
                         PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

static void ask(const char *model)
{
    launched_question(&it, model, "mindspeed", 16, arena);
}

// ---- out -----------------------------------------------------------------------------------

static void test_kernels__are_those_of_ascend(void **state)
{
    (void)state;
    render("tp=8 pp=2");
    assert_says(&it, "args.sh", "\n--use-flash-attn\n");
    assert_says(&it, "args.sh",
                "\n--transformer-impl local\n--use-fused-rmsnorm\n--use-fused-swiglu\n"
                "--use-fused-rotary-pos-emb\n--use-ascend-mc2\n");
    assert_says(&it, "args.sh", "\n--no-gradient-accumulation-fusion\n");
    assert_silent(&it, "args.sh", "attention-backend");
    assert_silent(&it, "args.sh", "tp-comm-overlap");
    assert_says(&it, "submit.sbatch", "\n#SBATCH --gres=npu:8\n");
    assert_says(&it, "pytorchjob.yaml", " huawei.com/Ascend910: 8\n");
}

/* It fuses products with the traffic of sequence parallelism, and there is none. */
static void test_mc2__needs_sequence_parallelism(void **state)
{
    (void)state;
    render("tp=1 pp=2");
    assert_silent(&it, "args.sh", "--use-ascend-mc2");
}

/* 32 layers / (2 stages x 4 chunks). */
static void test_chunks__are_said_by_their_layers(void **state)
{
    (void)state;
    render("tp=8 pp=2 vpp=4");
    assert_says(&it, "args.sh", "\n--num-layers-per-virtual-pipeline-stage 4\n");
    assert_silent(&it, "args.sh", "--num-virtual-stages-per-pipeline-rank");
}

static void test_context__has_an_algorithm(void **state)
{
    (void)state;
    render("tp=2 cp=4 cp_comm=a2a");
    assert_says(&it, "args.sh", "\n--context-parallel-algo ulysses_cp_algo\n");
    render("tp=2 cp=4 cp_comm=allgather");
    assert_says(&it, "args.sh", "\n--context-parallel-algo kvallgather_cp_algo\n");
    render("tp=2 cp=4 cp_comm=p2p");
    assert_says(&it, "args.sh", "\n--context-parallel-algo megatron_cp_algo\n");
    assert_silent(&it, "args.sh", "--cp-comm-type");
}

static void test_positions_of_llama_3__have_four_numbers(void **state)
{
    (void)state;
    render("tp=8");
    assert_says(&it, "args.sh",
                "\n--rope-scaling-type llama3\n--rope-scaling-factor 8\n--low-freq-factor 1\n"
                "--high-freq-factor 4\n--original-max-position-embeddings 8192\n");
    assert_silent(&it, "args.sh", "--use-rope-scaling");
}

/* pretrain_gpt.py hands no norm of q and k on: it is of a specification. */
static void test_norms_of_q_and_k__need_a_specification(void **state)
{
    (void)state;
    ask("qwen3-8b");
    render("tp=8");
    assert_says(&it, "args.sh", "\n--spec mindspeed_llm.tasks.models.spec.qwen3_spec layer_spec\n");
}

static void test_gradients_in_buckets__are_asked_for(void **state)
{
    (void)state;
    render("tp=8 grad_sync=bucketed");
    assert_says(&it, "args.sh", "\n--overlap-grad-reduce\n");
    render("tp=8");
    assert_silent(&it, "args.sh", "--overlap-grad-reduce");
}

static void test_what_core_0_12_has_no_word_for__is_refused(void **state)
{
    plait_error err;

    (void)state;
    ask("gpt-oss-20b");
    assert_int_not_equal(launched_render(&it, "ep=8", PLAIT_LAUNCH_MINDSPEED, arena, &err),
                         PLAIT_OK);
    assert_non_null(strstr(err.message, "(mindspeed, rule MSM1)"));
}

// ---- in ------------------------------------------------------------------------------------

static const char script[] =
    "#!/bin/bash\n"
    "GPT_ARGS=\"\n"
    "    --num-layer-list 7,9,9,7 --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 \\\n"
    "    --num-attention-heads 32 --seq-length 8192 --padded-vocab-size 32000 --swiglu \\\n"
    "    --micro-batch-size 1 --global-batch-size 64 --bf16 --use-flash-attn --use-mc2 \\\n"
    "    --context-parallel-size 4 --context-parallel-algo hybrid_cp_algo \\\n"
    "    --ulysses-degree-in-cp 2 --use-fused-rmsnorm --swap-attention --spec a.b layer_spec\n"
    "\"\n"
    "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py $GPT_ARGS \\\n"
    "    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --sequence-parallel \\\n"
    "    --recompute-norm --made-up 3\n";

static void test_a_script__is_a_plan(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import(script, &entry, &warning);
    assert_string_equal(entry.runtime, "mindspeed");
    assert_int_equal(entry.gpus, 32);
    assert_int_equal(entry.degrees.tp, 2);
    assert_int_equal(entry.degrees.cp_comm, PLAIT_CP_A2A_P2P);
    assert_int_equal(entry.degrees.attention, PLAIT_ATTENTION_FUSED);
    assert_int_equal(entry.degrees.split.kind, PLAIT_SPLIT_FIRST_LAST);
    assert_int_equal(entry.degrees.split.first, 7);
    assert_string_equal(warning, "options that the price ignores: swap_attention, recompute_norm");
    assert_string_equal(entry.not_read, "use_mc2, use_fused_rmsnorm, spec, made_up");
}

static const char experts[] =
    "--num-layers 6 --hidden-size 1024 --num-attention-heads 8 --vocab-size 32000 --swiglu "
    "--num-experts 16 --moe-intermediate-size 512 --n-shared-experts 2 --moe-router-topk 4 "
    "--first-k-dense-replace 2 --moe-layer-freq 1 --multi-head-latent-attention --qk-nope-head-dim "
    "64 --qk-rope-head-dim 32 --rope-scaling-type yarn --rope-scaling-factor 40 "
    "--rope-scaling-mscale 1.0 --position-embedding-type rope --bf16\n";

static void test_experts_behind_dense_layers__are_read(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import(experts, &entry, &warning);
    assert_non_null(entry.model);
    const plait_layer *const third = &entry.model->kind[entry.model->layer_kind[2]];
    assert_int_equal(entry.model->kind[entry.model->layer_kind[1]].ffn, PLAIT_FFN_MLP);
    assert_int_equal(third->ffn, PLAIT_FFN_MOE);
    assert_int_equal(third->moe.shared_width, 1024);
    assert_int_equal(third->mla.nope_dim, 64);
    assert_int_equal(entry.model->numerics.rope.kind, PLAIT_ROPE_YARN);
    assert_near(entry.model->numerics.rope.factor, 40.0, 1e-9);
}

static void test_words_that_are_none__are_refused(void **state)
{
    (void)state;
    assert_refused("--num-layers 8 --context-parallel-algo ring\n", "f.sh: context_parallel_algo",
                   "expected megatron_cp_algo, kvallgather_cp_algo, ulysses_cp_algo or "
                   "hybrid_cp_algo, found \"ring\"");
    assert_refused("--num-layers 8 --context-parallel-size 4 --context-parallel-algo "
                   "hybrid_cp_algo --ulysses-degree-in-cp 3\n",
                   "f.sh: ulysses_degree_in_cp",
                   "expected a divisor of --context-parallel-size 4, found 3");
    assert_refused("--num-layers 8 --num-layer-list 4,,4\n", "f.sh: num_layer_list",
                   "expected the layers of each stage, such as 17,20,22,21, found \"4,,4\"");
}

static void test_a_file_of_something_else__is_refused(void **state)
{
    plans_entry entry = plans_unknown("f.sh");
    const char *warning;
    plait_error err;

    (void)state;
    assert_int_not_equal(launch_import(PLAIT_LAUNCH_MINDSPEED, "echo\n", 5, "f.sh", NULL, arena,
                                       &entry, &warning, &err),
                         PLAIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(test_kernels__are_those_of_ascend),
        TEST(test_mc2__needs_sequence_parallelism),
        TEST(test_chunks__are_said_by_their_layers),
        TEST(test_context__has_an_algorithm),
        TEST(test_positions_of_llama_3__have_four_numbers),
        TEST(test_norms_of_q_and_k__need_a_specification),
        TEST(test_gradients_in_buckets__are_asked_for),
        TEST(test_what_core_0_12_has_no_word_for__is_refused),
        TEST(test_a_script__is_a_plan),
        TEST(test_experts_behind_dense_layers__are_read),
        TEST(test_words_that_are_none__are_refused),
        TEST(test_a_file_of_something_else__is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
