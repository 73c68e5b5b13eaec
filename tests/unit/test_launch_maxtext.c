/* test_launch_maxtext.c - MaxText's YAML, out and in */
#include <string.h>

#include "support/launched_fixture.h"
#include "launch/maxtext/maxtext.h"
#include "io/plans/plans.h"
#include "launch/import.h"
#include "launch/target.h"

static const launched_usual usual = {"llama-3.1-8b", "maxtext", 64, PLAIT_LAUNCH_MAXTEXT};

/* The usual question asks for GPUs. */
static void ask(const char *model)
{
    plait_error err;

    launched_question(&it, model, "maxtext", 64, arena);
    must(plait_cluster_find("tpu-v5p", arena, &it.cluster, &err), &err);
}

static int begin_on_tpu(void **state)
{
    if (begin(state) != 0)
        return 1;
    ask("llama-3.1-8b");
    return 0;
}

static void import_on(int gpus, const char *text, plans_entry *out, const char **warning)
{
    const launch_call call = {.gpus = gpus};
    plait_error err;

    *out = plans_unknown("f.yml");
    must(launch_import(PLAIT_LAUNCH_MAXTEXT, text, strlen(text), "f.yml", &call, arena, out,
                       warning, &err),
         &err);
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    const launch_call call = {.gpus = 64};
    plans_entry entry = plans_unknown("f.yml");
    const char *warning;
    plait_error err;

    assert_int_not_equal(launch_import(PLAIT_LAUNCH_MAXTEXT, text, strlen(text), "f.yml", &call,
                                       arena, &entry, &warning, &err),
                         PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

// ---- out -----------------------------------------------------------------------------------

/* 64 = data 2 x fsdp 4 x context 2 x tensor 4: shards of 8 are fsdp by context. */
static void test_shards__are_axes(void **state)
{
    (void)state;
    render("tp=4 cp=2 shard_group=8");
    assert_says(&it, "config.yml",
                "ici_data_parallelism: 2\nici_fsdp_parallelism: 4\nici_pipeline_parallelism: 1\n"
                "ici_context_parallelism: 2\nici_tensor_parallelism: 4\n"
                "ici_expert_parallelism: 1\n");
    assert_says(&it, "config.yml", "shard_optimizer_over_data: false\n");
    assert_says(&it, "config.yml", "context_parallel_strategy: \"all_gather\"\n");
}

static void test_sharded_optimizers__keep_weights_whole(void **state)
{
    (void)state;
    render("zero=1 tp=4");
    assert_says(&it, "config.yml", "ici_data_parallelism: 16\nici_fsdp_parallelism: 1\n");
    assert_says(&it, "config.yml", "shard_optimizer_over_data: true\n");
}

/* mbs 1 over tp 4 x cp 2 is an eighth; 64 sequences / dp 8 are 8 passes. */
static void test_batch_of_a_device__may_be_a_part(void **state)
{
    (void)state;
    render("tp=4 cp=2");
    assert_says(&it, "config.yml",
                "per_device_batch_size: 0.125\ngradient_accumulation_steps: 8\n"
                "max_target_length: 4096\n");
}

/* 64 / (4 stages) = dp 16: 64 / 16 = 4 microbatches in one pass, 4 x 1 / 4 of them a device. */
static void test_stages__take_their_microbatches_in_one_pass(void **state)
{
    (void)state;
    render("pp=4 schedule=gpipe");
    assert_says(&it, "config.yml",
                "num_layers_per_pipeline_stage: 8\nnum_pipeline_repeats: 1\n"
                "num_pipeline_microbatches: 4\n");
    assert_says(&it, "config.yml", "per_device_batch_size: 1\ngradient_accumulation_steps: 1\n");
}

static void test_recomputation__is_a_policy(void **state)
{
    (void)state;
    render("tp=4 recompute=full");
    assert_says(&it, "config.yml", "remat_policy: \"full\"\n");
    render("tp=4 recompute=selective");
    assert_says(&it, "config.yml", "remat_policy: \"minimal\"\n");
    render("tp=4 recompute=none");
    assert_says(&it, "config.yml", "remat_policy: \"none\"\n");
}

static void test_numbers_with_an_exponent__have_a_point(void **state)
{
    char text[TEXT_NUMBER_SIZE];

    (void)state;
    assert_string_equal(maxtext_real(1e-5, text), "1.0e-05");
    assert_string_equal(maxtext_real(1.5e-7, text), "1.5e-07");
    assert_string_equal(maxtext_real(0.1, text), "0.1");
}

static const char *first_word(const char *line, char *word, size_t size)
{
    const size_t length = strcspn(line, ":");

    assert_true(length < size);
    memcpy(word, line, length);
    word[length] = '\0';
    return word;
}

/* Keys of src/maxtext/configs/base.yml at e591f30 that launch may write, and base_config; types.py refuses others. */
static const char *const base_yml[] = {"adam_b1",
                                       "adam_b2",
                                       "adam_eps",
                                       "adam_weight_decay",
                                       "attention",
                                       "base_config",
                                       "base_emb_dim",
                                       "base_mlp_dim",
                                       "base_moe_mlp_dim",
                                       "base_num_decoder_layers",
                                       "base_num_kv_heads",
                                       "base_num_query_heads",
                                       "base_output_directory",
                                       "checkpoint_period",
                                       "context_parallel_load_balance",
                                       "context_parallel_strategy",
                                       "dataset_type",
                                       "dcn_context_parallelism",
                                       "dcn_data_parallelism",
                                       "dcn_expert_parallelism",
                                       "dcn_fsdp_parallelism",
                                       "dcn_pipeline_parallelism",
                                       "dcn_tensor_parallelism",
                                       "decoder_block",
                                       "dtype",
                                       "enable_checkpointing",
                                       "enable_dropout",
                                       "gradient_accumulation_steps",
                                       "gradient_clipping_threshold",
                                       "hardware",
                                       "head_dim",
                                       "ici_context_parallelism",
                                       "ici_data_parallelism",
                                       "ici_expert_parallelism",
                                       "ici_fsdp_parallelism",
                                       "ici_pipeline_parallelism",
                                       "ici_tensor_parallelism",
                                       "learning_rate",
                                       "learning_rate_final_fraction",
                                       "learning_rate_schedule_steps",
                                       "load_balance_loss_weight",
                                       "logits_via_embedding",
                                       "lr_schedule_type",
                                       "max_target_length",
                                       "mlp_activations",
                                       "norm_topk_prob",
                                       "normalization_layer_epsilon",
                                       "normalize_embedding_logits",
                                       "num_experts",
                                       "num_experts_per_tok",
                                       "num_layers_per_pipeline_stage",
                                       "num_pipeline_microbatches",
                                       "num_pipeline_repeats",
                                       "opt_type",
                                       "per_device_batch_size",
                                       "quantization",
                                       "remat_policy",
                                       "rope_linear_scaling_factor",
                                       "rope_max_timescale",
                                       "rope_type",
                                       "run_name",
                                       "scan_layers",
                                       "shard_optimizer_over_data",
                                       "steps",
                                       "use_iota_embed",
                                       "use_qk_norm",
                                       "vocab_size",
                                       "warmup_steps_fraction",
                                       "weight_dtype",
                                       "wsd_decay_style",
                                       NULL};

static void assert_known(const char *text)
{
    char word[64];
    int keys = 0;

    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        if (*line == '#' || *line == '\n')
            continue;
        if (text_index(first_word(line, word, sizeof word), base_yml) < 0)
            fail_msg("%s is no key of MaxText", word);
        keys++;
    }
    assert_true(keys > 50);
}

static void test_keys__are_those_of_base_yml(void **state)
{
    (void)state;
    render("pp=4 cp=2 schedule=gpipe");
    assert_known(launched_text(&it, "config.yml"));
    ask("mixtral-8x7b");
    render("tp=2 ep=8");
    assert_known(launched_text(&it, "config.yml"));
}

/* Two slices of 64 chips each. */
static void test_replicas__stand_between_slices(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    it.cluster.level[0].gpus = 64;
    it.problem.job.gpus = 128;
    d.tp = 4;
    d.dp = 32;
    d.zero = 3;
    d.shard_group = 16;
    const maxtext_mesh mesh = maxtext_mesh_of(&it.problem, &d);
    assert_int_equal(mesh.dcn.data, 2);
    assert_int_equal(mesh.ici.fsdp, 16);
    assert_int_equal(maxtext_axes_product(&mesh.ici), 64);
    assert_int_equal(maxtext_axes_product(&mesh.dcn), 2);
}

static void test_models_of_other_blocks__are_refused(void **state)
{
    plait_error err;

    (void)state;
    ask("deepseek-v2-lite");
    assert_int_not_equal(launched_render(&it, "ep=4", PLAIT_LAUNCH_MAXTEXT, arena, &err), PLAIT_OK);
    assert_non_null(strstr(err.message, "(maxtext, rule MTM1)"));
}

// ---- in ------------------------------------------------------------------------------------

/* As in configs/tpu/v5p/128b.sh: 2^7 makes 8 times the heads and widths of an MLP, 4 times the rest. */
static const char scaled[] = "base_config: base.yml\n"
                             "global_parameter_scale: 128\n"
                             "base_emb_dim: 2048\n"
                             "per_device_batch_size: 1\n"
                             "remat_policy: minimal\n"
                             "ici_fsdp_parallelism: -1\n"
                             "ici_tensor_parallelism: 8\n"
                             "max_target_length: 2_048\n"
                             "attention: flash\n"
                             "fused_qkv: true\n"
                             "mu_dtype: bfloat16\n"
                             "made_up: 3\n";

/* Of 128 devices: 16 ranks of fsdp, each with 8 sequences on 8 ranks of tensor. */
static void test_a_file__is_a_plan(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import_on(128, scaled, &entry, &warning);
    assert_string_equal(warning, "options that the price ignores: mu_dtype");
    assert_string_equal(entry.not_read, "base_config, fused_qkv, made_up");
    assert_string_equal(entry.runtime, "maxtext");
    assert_int_equal(entry.gpus, 128);
    assert_int_equal(entry.gbs, 128);
    assert_int_equal(entry.seq, 2048);
    assert_int_equal(entry.degrees.tp, 8);
    assert_int_equal(entry.degrees.mbs, 8);
    assert_int_equal(entry.degrees.zero, 3);
    assert_int_equal(entry.degrees.shard_group, 16);
    assert_int_equal(entry.degrees.recompute.kind, PLAIT_RECOMPUTE_SELECTIVE);
    assert_int_equal(entry.degrees.attention, PLAIT_ATTENTION_FUSED);
    assert_int_equal(entry.model->hidden, 8192);
    assert_int_equal(entry.model->layers, 64);
    assert_int_equal(entry.model->kind[0].attention.heads, 128);
    assert_int_equal(entry.model->kind[0].mlp.width, 57344);
}

/* The mesh says how many devices there are when none of its axes is open. */
static void test_a_closed_mesh__says_its_devices(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import_on(0,
              "model_name: llama3.1-8b\nici_fsdp_parallelism: 16\ndcn_data_parallelism: 4\n"
              "per_device_batch_size: 2\n",
              &entry, &warning);
    assert_string_equal(warning, "");
    assert_int_equal(entry.gpus, 64);
    assert_int_equal(entry.degrees.shard_group, 16);
    assert_int_equal(entry.gbs, 128);
    assert_string_equal(entry.model->name, "llama-3.1-8b");
}

static void test_a_mesh_that_is_open__waits_for_the_devices(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import_on(0, "model_name: llama3.1-8b\nici_tensor_parallelism: 4\n", &entry, &warning);
    assert_int_equal(entry.gpus, 0);
    assert_int_equal(entry.gbs, 0);
    assert_false(entry.given & PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP));
    assert_int_equal(entry.degrees.tp, 4);
}

static void test_circular_pipelines__are_warned_of(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import_on(64,
              "model_name: llama3.1-8b\nici_pipeline_parallelism: 4\nnum_pipeline_repeats: 2\n"
              "num_layers_per_pipeline_stage: 4\nper_device_batch_size: 1\n",
              &entry, &warning);
    assert_non_null(strstr(warning, "a circular pipeline"));
    assert_int_equal(entry.degrees.schedule, PLAIT_GPIPE);
}

static void test_what_cannot_be__is_refused(void **state)
{
    (void)state;
    assert_refused("ici_fsdp_parallelism: -1\nici_data_parallelism: -1\n", "f.yml",
                   "expected one axis of -1, found 2");
    assert_refused("ici_tensor_parallelism: 3\n", "f.yml",
                   "expected a number of devices that the mesh axes divide, found 64");
    assert_refused("ici_tensor_parallelism: 0\n", "f.yml:1: ici_tensor_parallelism",
                   "expected a number of ranks, or -1, found \"0\"");
    assert_refused(
        "per_device_batch_size: 0.3\n", "f.yml",
        "expected per_device_batch_size times the devices to be a multiple of 64 data-parallel "
        "ranks times the microbatches, found 19 sequences in 1 microbatches");
    assert_refused("max_target_length: lots\n", "f.yml:1: max_target_length",
                   "expected an integer from 1 to 1073741824, found \"lots\"");
    assert_refused("base_emb_dim: 64\nglobal_parameter_scale: 3\n",
                   "f.yml:2: global_parameter_scale", "expected a power of two, found \"3\"");
    assert_refused("a: 1\n", "f.yml",
                   "expected keys of MaxText, such as per_device_batch_size, found none");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_on_tpu, end)
    const struct CMUnitTest tests[] = {
        TEST(test_shards__are_axes),
        TEST(test_sharded_optimizers__keep_weights_whole),
        TEST(test_batch_of_a_device__may_be_a_part),
        TEST(test_stages__take_their_microbatches_in_one_pass),
        TEST(test_recomputation__is_a_policy),
        TEST(test_numbers_with_an_exponent__have_a_point),
        TEST(test_keys__are_those_of_base_yml),
        TEST(test_replicas__stand_between_slices),
        TEST(test_models_of_other_blocks__are_refused),
        TEST(test_a_file__is_a_plan),
        TEST(test_a_closed_mesh__says_its_devices),
        TEST(test_a_mesh_that_is_open__waits_for_the_devices),
        TEST(test_circular_pipelines__are_warned_of),
        TEST(test_what_cannot_be__is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
