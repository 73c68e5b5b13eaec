/* test_launch_deepspeed.c - DeepSpeed's JSON, out and in */
#include <stdio.h>
#include <string.h>

#include "support/launched_fixture.h"
#include "io/plans/plans.h"
#include "launch/import.h"
#include "launch/target.h"

static const launched_usual usual = {"llama-3.1-8b", "deepspeed", 16, PLAIT_LAUNCH_DEEPSPEED};

static void import(const char *text, plans_entry *out, const char **warning)
{
    plait_error err;

    must(launch_import(PLAIT_LAUNCH_DEEPSPEED, text, strlen(text), "f.json", NULL, arena, out,
                       warning, &err),
         &err);
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    plans_entry entry;
    const char *warning;
    plait_error err;

    assert_int_equal(launch_import(PLAIT_LAUNCH_DEEPSPEED, text, strlen(text), "f.json", NULL,
                                   arena, &entry, &warning, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

// ---- out -----------------------------------------------------------------------------------

/* 64 sequences over 16 ranks, 2 a microbatch: 2 steps. */
static void test_the_batch__is_exact(void **state)
{
    (void)state;
    render("zero=3 mbs=2");
    assert_says(&it, "ds_config.json",
                "  \"train_batch_size\": 64,\n"
                "  \"train_micro_batch_size_per_gpu\": 2,\n"
                "  \"gradient_accumulation_steps\": 2,\n");
}

/* 1000 MB of gradients in two bytes each are 5e8 elements, DeepSpeed's own default. */
static void test_buckets__count_elements(void **state)
{
    (void)state;
    render("zero=2");
    assert_says(&it, "ds_config.json", "\"reduce_bucket_size\": 500000000,");
    assert_says(&it, "ds_config.json", "\"allgather_bucket_size\": 500000000\n");
    assert_says(&it, "ds_config.json", "\"grad_accum_dtype\": \"bf16\"");
}

/* A layer of Llama-3.1 8B: 4096 x (4096 + 2 x 1024 + 4096) + 3 x 4096 x 14336 + 2 x 4096 =
 * 218 112 000 parameters; two of them are gathered at a time. */
static void test_zero_3__gathers_two_layers(void **state)
{
    (void)state;
    render("zero=3");
    assert_says(&it, "ds_config.json", "\"stage3_prefetch_bucket_size\": 218112000,");
    assert_says(&it, "ds_config.json", "\"stage3_max_live_parameters\": 436224000,");
    assert_silent(&it, "ds_config.json", "mics");
    assert_says(&it, "run.sh", "deepspeed.zero.Init(");
}

static void test_a_smaller_shard__is_mics(void **state)
{
    (void)state;
    render("zero=3 shard_group=8");
    assert_says(&it, "ds_config.json", "\"mics_shard_size\": 8\n");
    assert_silent(&it, "ds_config.json", "hpz");
    assert_says(&it, "run.sh", "deepspeed.zero.MiCS_Init(");
}

static void test_zero_0__has_nothing_to_divide(void **state)
{
    (void)state;
    launched_question(&it, "llama-3.2-3b", "deepspeed", 16, arena);
    render("zero=0");
    assert_says(&it, "ds_config.json", "\"zero_optimization\": {\n    \"stage\": 0\n  }");
}

static void test_what_the_script_does__stands_in_run_sh(void **state)
{
    (void)state;
    render("zero=3 recompute=full");
    assert_says(&it, "run.sh", "# plait: seq 4096\n# plait: recompute full\n");
    assert_says(&it, "run.sh", "attn_implementation=\"flash_attention_2\"");
    assert_says(&it, "run.sh", "gradient_checkpointing_enable()");
    assert_says(&it, "run.sh", "\"$TRAIN\" --deepspeed --deepspeed_config");
    assert_says(&it, "pytorchjob.yaml", "- name: TRAIN\n");
}

static void test_a_name__survives_in_comments(void **state)
{
    (void)state;
    it.model.name = "it's \"my\" $(model)";
    render("zero=3");
    assert_says(&it, "run.sh", "# plait: model 'it'\\''s \"my\" $(model)'\n");
}

static void test_other_parallelism__is_refused(void **state)
{
    plait_error err;

    (void)state;
    launched_question(&it, "llama-3.1-8b", "megatron", 16, arena);
    assert_int_equal(launched_render(&it, "tp=2", PLAIT_LAUNCH_DEEPSPEED, arena, &err),
                     PLAIT_ERROR_RANGE);
    assert_true(strstr(err.message, "expected a plan that deepspeed can run, found: ") ==
                err.message);
}

static void test_small_shards_of_gradients__are_refused(void **state)
{
    plait_degrees d = plait_degrees_init();
    char why[256];

    (void)state;
    d.dp = 16;
    d.shard_group = 8;
    d.grad_reduce = PLAIT_STATE_BF16;
    d.zero = 2;
    assert_int_equal(plait_degrees_check(&it.problem, &d, why, sizeof why), PLAIT_INVALID);
    assert_non_null(strstr(why, "rule D2"));
    d.zero = 3;
    assert_int_equal(plait_degrees_check(&it.problem, &d, why, sizeof why), PLAIT_FITS);
}

// ---- in ------------------------------------------------------------------------------------

static void assert_same_after_reimport(const char *keys)
{
    static const char *const said[] = {"tp",  "pp",          "cp",        "ep",       "dp",   "vpp",
                                       "mbs", "shard_group", "recompute", "schedule", "zero", NULL};
    char was[96], now[96];
    const char *warning;
    plans_entry entry;

    render(keys);
    import(launched_text(&it, "ds_config.json"), &entry, &warning);
    assert_string_equal(warning, "");
    assert_int_equal(entry.gpus, 16);
    assert_int_equal(entry.gbs, 64);
    assert_int_equal(entry.precision, PLAIT_BF16);
    for (const char *const *key = said; *key != NULL; key++) {
        const plait_key_id id = (plait_key_id)plait_key_find(*key);
        assert_true(entry.given & PLAIT_KEY_BIT(id));
        plait_degrees_get(&it.degrees, id, was, sizeof was);
        plait_degrees_get(&entry.degrees, id, now, sizeof now);
        assert_string_equal(now, was);
    }
}

static void test_what_was_written__reads_back(void **state)
{
    (void)state;
    assert_same_after_reimport("zero=1 mbs=1 recompute=none");
    assert_same_after_reimport("zero=2 mbs=4 recompute=full");
    assert_same_after_reimport("zero=3 mbs=2 shard_group=4 recompute=full");
}

/* The nearest of the sizes that a plan can have; 5e8 elements are the engine's own. */
static void test_buckets__are_those_of_gradients(void **state)
{
    const char *warning;
    plans_entry entry;

    (void)state;
    render("zero=2 mbs=1 recompute=full bucket=5e7");
    assert_says(&it, "ds_config.json", "\"reduce_bucket_size\": 50000000,");
    import(launched_text(&it, "ds_config.json"), &entry, &warning);
    assert_string_equal(plait_bucket_name[entry.degrees.bucket], "5e7");
    assert_string_equal(warning, "");
#define BUCKET(size)                                                                               \
    "{\"zero_optimization\": {\"stage\": 2, \"overlap_comm\": true, \"reduce_bucket_size\": " size \
    "}}"
    import(BUCKET("5e8"), &entry, &warning);
    assert_int_equal(entry.degrees.bucket, 0);
    assert_string_equal(warning, "");
    import(BUCKET("16777216"), &entry, &warning);
    assert_string_equal(plait_bucket_name[entry.degrees.bucket], "2e7");
    assert_string_equal(warning, "reduce_bucket_size 1.67772e+07 is priced as 2e+07");
    import(BUCKET("\"auto\""), &entry, &warning);
    assert_int_equal(entry.degrees.bucket, 0);
    assert_non_null(strstr(warning, "the square of the hidden size, is priced as 5e8"));
    // 4096 x 4096 elements
    const launch_call call = {.model = it.problem.model};
    plait_error err;
    must(launch_import(PLAIT_LAUNCH_DEEPSPEED, BUCKET("\"auto\""), strlen(BUCKET("\"auto\"")),
                       "ds_config.json", &call, arena, &entry, &warning, &err),
         &err);
    assert_string_equal(plait_bucket_name[entry.degrees.bucket], "2e7");
    assert_string_equal(warning, "reduce_bucket_size 1.67772e+07 is priced as 2e+07");
#undef BUCKET
}

static void test_what_a_file_does_not_say__stays_open(void **state)
{
    const char *warning;
    plans_entry entry;

    (void)state;
    import("{\"train_micro_batch_size_per_gpu\": 4, \"train_batch_size\": \"auto\","
           " \"zero_optimization\": {\"stage\": 3}, \"bf16\": {\"enabled\": \"auto\"}}",
           &entry, &warning);
    assert_int_equal(entry.gbs, 0);
    assert_int_equal(entry.gpus, 0);
    assert_int_equal(entry.seq, 0);
    assert_int_equal(entry.precision, -1);
    assert_false(entry.given & PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION));
    assert_null(entry.model);
    assert_int_equal(entry.degrees.mbs, 4);
    assert_int_equal(entry.degrees.zero, 3);
    assert_false(entry.given & (PLAIT_KEY_BIT(PLAIT_KEY_DP) | PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP) |
                                PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE)));
}

/* 96 = 2 x 3 x 16 data-parallel ranks, each over 2 ranks of one sequence and 2 of one layer. */
static void test_sequence_and_tensor_parallel_ranks__count_too(void **state)
{
    const char *warning;
    plans_entry entry;

    (void)state;
    import("{\"train_batch_size\": 96, \"train_micro_batch_size_per_gpu\": 2,"
           " \"gradient_accumulation_steps\": 3, \"sequence_parallel_size\": 2,"
           " \"tensor_parallel\": {\"autotp_size\": 2}}",
           &entry, &warning);
    assert_int_equal(entry.degrees.dp, 16);
    assert_int_equal(entry.degrees.cp, 2);
    assert_int_equal(entry.degrees.cp_comm, PLAIT_CP_A2A);
    assert_int_equal(entry.degrees.tp, 2);
    assert_int_equal(entry.gpus, 64);
}

static void test_stages_of_the_script__are_open(void **state)
{
    const char *warning;
    plans_entry entry;

    (void)state;
    import("{\"pipeline\": {\"stages\": \"auto\"}}", &entry, &warning);
    assert_false(entry.given & (PLAIT_KEY_BIT(PLAIT_KEY_PP) | PLAIT_KEY_BIT(PLAIT_KEY_VPP)));
    import("{\"pipeline\": {\"stages\": 4}}", &entry, &warning);
    assert_int_equal(entry.degrees.pp, 4);
}

static void test_what_has_no_price__is_warned_of(void **state)
{
    const char *warning;
    plans_entry entry;

    (void)state;
    import("{\"zero_optimization\": {\"stage\": 2, \"zero_quantized_gradients\": true,"
           " \"overlap_comm\": true,"
           " \"offload_param\": {\"device\": \"cpu\"}}}",
           &entry, &warning);
    assert_string_equal(warning, "offload_param needs ZeRO stage 3 and is treated as not given\n"
                                 "ZeRO++ below stage 3 is not priced");
    import("{\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}}}",
           &entry, &warning);
    assert_int_equal(entry.degrees.offload, PLAIT_OFFLOAD_NONE);
    assert_string_equal(warning, "offload_param without offload_optimizer is not priced: "
                                 "parameters are priced as staying on the device");
}

/* Both sections, and the switches that came before them. */
static void test_offload__is_as_deep_as_the_sections_say(void **state)
{
    static const struct row {
        const char *zero;
        int offload;
    } rows[] = {
        {"\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true},"
         " \"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}",
         PLAIT_OFFLOAD_PARAMS},
        {"\"stage\": 3, \"cpu_offload\": true, \"cpu_offload_param\": true", PLAIT_OFFLOAD_PARAMS},
        {"\"stage\": 2, \"cpu_offload\": true", PLAIT_OFFLOAD_GRADIENTS},
        {"\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"},"
         " \"offload_param\": {\"device\": \"none\"}",
         PLAIT_OFFLOAD_GRADIENTS},
        {"\"stage\": 3, \"offload_optimizer\": {\"device\": \"none\"}", PLAIT_OFFLOAD_NONE},
    };
    const char *warning;
    plans_entry entry;
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "{\"zero_optimization\": {\"overlap_comm\": true, %s}}",
                 rows[i].zero);
        import(text, &entry, &warning);
        assert_string_equal(warning, "");
        assert_int_equal(entry.degrees.offload, rows[i].offload);
    }
}

static void assert_comes_back(const char *keys, const char *said)
{
    const plait_key_id asked[] = {PLAIT_KEY_RESHARD, PLAIT_KEY_QUANTISE, PLAIT_KEY_OFFLOAD,
                                  PLAIT_KEY_OFFLOAD_SHARE};
    const char *warning;
    char mine[96], its[96];
    plans_entry entry;

    render(keys);
    assert_says(&it, "ds_config.json", said);
    import(launched_text(&it, "ds_config.json"), &entry, &warning);
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
        assert_true(entry.given & PLAIT_KEY_BIT(asked[k]));
        assert_string_equal(plait_degrees_get(&entry.degrees, asked[k], its, sizeof its),
                            plait_degrees_get(&it.degrees, asked[k], mine, sizeof mine));
    }
}

static void test_zero_plus_plus_and_offload__come_back(void **state)
{
    (void)state;
    assert_comes_back("zero=3", "\"stage\": 3");
    assert_comes_back("zero=3 reshard=node quantise=weights", "\"zero_hpz_partition_size\": 8,");
    assert_comes_back("zero=3 quantise=both", "\"zero_quantized_gradients\": true");
    assert_comes_back("zero=3 reshard=never", "\"stage3_max_reuse_distance\": 1000000000000000,");
    assert_comes_back("zero=2 offload=gradients", "\"device\": \"cpu\"");
    assert_comes_back("zero=3 offload=gradients offload_share=0.3", "\"ratio\": 0.3");
    assert_comes_back("zero=3 offload=params", "\"offload_param\": {");
}

static void test_keys_that_are_not_read__are_listed(void **state)
{
    const char *warning;
    plans_entry entry;

    (void)state;
    import("{\"zero_optimization\": {\"stage\": 0}, \"steps_per_print\": 10, \"frobnicate\": 1}",
           &entry, &warning);
    assert_string_equal(warning, "");
    assert_string_equal(entry.not_read, "steps_per_print, frobnicate");
}

static void test_keys_of_zero_that_have_no_price__are_warned_of(void **state)
{
    static const struct row {
        const char *zero, *warning, *not_read;
    } rows[] = {
        {"\"offload_optimiser\": {}, \"stage3_max_live_parameters\": 1e9", "", "offload_optimiser"},
        {"\"offload_optimizer\": {\"device\": \"cpu\", \"pin_memori\": true}", "", "pin_memori"},
        {"\"zenflow\": {\"topk_ratio\": 0.1}, "
         "\"offload_optimizer\": {\"device\": \"cpu\", \"super_offload\": true}",
         "options that the price ignores: super_offload, zenflow", ""},
        {"\"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.35}",
         "the ratio 0.35 of offload_optimizer is priced as 0.3", ""},
        {"\"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.3, "
         "\"super_offload\": false}, \"stage3_gather_16bit_weights_on_model_save\": true",
         "", "stage3_gather_16bit_weights_on_model_save"},
    };
    const char *warning;
    plans_entry entry;
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "{\"zero_optimization\": {\"stage\": 3, %s}}", rows[i].zero);
        import(text, &entry, &warning);
        assert_string_equal(warning, rows[i].warning);
        assert_string_equal(entry.not_read, rows[i].not_read);
    }
}

/* DeepSpeed's own validation stops at these. */
static void test_offload_that_deepspeed_refuses__is_refused(void **state)
{
    static const struct row {
        const char *zero, *where;
    } rows[] = {
        {"\"cpu_offload\": true, \"offload_optimizer\": {\"device\": \"cpu\"}",
         "f.json:/zero_optimization/cpu_offload"},
        {"\"cpu_offload_param\": true, \"offload_param\": {\"device\": \"cpu\"}",
         "f.json:/zero_optimization/cpu_offload_param"},
        {"\"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 1.5}",
         "f.json:/zero_optimization/offload_optimizer/ratio"},
        {"\"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": -0.5}",
         "f.json:/zero_optimization/offload_optimizer/ratio"},
    };
    const char *warning;
    plans_entry entry;
    plait_error err;
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "{\"zero_optimization\": {\"stage\": 3, %s}}", rows[i].zero);
        assert_int_equal(launch_import(PLAIT_LAUNCH_DEEPSPEED, text, strlen(text), "f.json", NULL,
                                       arena, &entry, &warning, &err),
                         PLAIT_ERROR_RANGE);
        assert_string_equal(err.where, rows[i].where);
    }
}

/* 4 sequences twice on each of 8 GPUs. */
static void test_scripts__say_what_the_json_would(void **state)
{
    const char *warning;
    plans_entry entry;

    (void)state;
    import("Z=$2\n[ \"$Z\" == \"\" ] && Z=3\n"
           "deepspeed --num_gpus 8 main.py --model_name_or_path meta-llama/Llama-2-7b-hf \\\n"
           "  --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --zero_stage 2 "
           "--gradient_checkpointing --max_seq_len 512 --dtype bf16 --learning_rate 1e-5 --odd",
           &entry, &warning);
    assert_string_equal(entry.model->name, "llama-2-7b");
    assert_int_equal(entry.gpus, 8);
    assert_int_equal(entry.gbs, 64);
    assert_int_equal(entry.seq, 512);
    assert_int_equal(entry.degrees.mbs, 4);
    assert_int_equal(entry.degrees.zero, 2);
    assert_int_equal(entry.degrees.recompute.kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(entry.precision, PLAIT_BF16);
    assert_string_equal(warning, "");
    assert_string_equal(entry.not_read, "learning_rate, odd");
    import("deepspeed --num_gpus 8 main.py --model_name_or_path meta-llama/Llama-2-7b-hf \\\n"
           "  --zero_stage 2 --torch_compile True --use_liger_kernel --sequence_parallel_size 1",
           &entry, &warning);
    assert_string_equal(warning, "options that the price ignores: torch_compile, use_liger_kernel");
    import("deepspeed --num_gpus 8 main.py --model_name_or_path meta-llama/Llama-2-7b-hf \\\n"
           "  --per_device_train_batch_size 4 --zero_stage 3 --offload --dtype bf16",
           &entry, &warning);
    assert_int_equal(entry.degrees.offload, PLAIT_OFFLOAD_PARAMS);
}

/* An argument that the script is not given is empty, so that its default counts; else it is warned of. */
static void test_arguments_of_a_script__are_empty_or_warned_of(void **state)
{
    plans_entry out;
    const char *warning;

    (void)state;
    import("STAGE=$2\nif [ \"$STAGE\" == \"\" ]; then STAGE=3; fi\n"
           "deepspeed main.py --per_device_train_batch_size 4 --zero_stage $STAGE --deepspeed\n",
           &out, &warning);
    assert_int_equal(out.degrees.zero, 3);
    import("deepspeed main.py --per_device_train_batch_size 4 --zero_stage $2 --deepspeed\n", &out,
           &warning);
    assert_non_null(strstr(warning, "treated as not given: --zero_stage $2"));
}

/* Names of configs, and processes that the environment of the command sets. */
static void test_scripts_of_swift__name_the_stage(void **state)
{
    static const struct {
        const char *name;
        int zero, offload;
    } cases[] = {
        {"zero0", 0, PLAIT_OFFLOAD_NONE},           {"zero2", 2, PLAIT_OFFLOAD_NONE},
        {"zero3", 3, PLAIT_OFFLOAD_NONE},           {"zero2_offload", 2, PLAIT_OFFLOAD_GRADIENTS},
        {"zero3_offload", 3, PLAIT_OFFLOAD_PARAMS},
    };
    const char *warning;
    plans_entry entry;
    char text[256];

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        snprintf(text, sizeof text,
                 "NPROC_PER_NODE=4 swift sft --model Qwen/Qwen3-8B --tuner_type full "
                 "--torch_dtype bfloat16 --per_device_train_batch_size 1 --deepspeed %s",
                 cases[c].name);
        import(text, &entry, &warning);
        assert_string_equal(warning, "");
        assert_string_equal(entry.model->name, "qwen3-8b");
        assert_int_equal(entry.gpus, 4);
        assert_int_equal(entry.gbs, 4);
        assert_int_equal(entry.precision, PLAIT_BF16);
        assert_int_equal(entry.degrees.zero, cases[c].zero);
        assert_int_equal(entry.degrees.offload, cases[c].offload);
    }
    import("swift sft --model Qwen/Qwen3-8B --tuner_type full --deepspeed my_zero3", &entry,
           &warning);
    assert_non_null(strstr(warning, "not in the script or its folder"));
}

static void test_files_that_say_nothing__are_refused(void **state)
{
    const char *warning;
    plans_entry entry;
    plait_error err;

    (void)state;
    assert_int_equal(launch_import(PLAIT_LAUNCH_DEEPSPEED, "{\"a\": 1}", 8, "f.json", NULL, arena,
                                   &entry, &warning, &err),
                     PLAIT_ERROR_SCHEMA);
    assert_int_equal(launch_import(PLAIT_LAUNCH_DEEPSPEED, "echo a", 6, "f.sh", NULL, arena, &entry,
                                   &warning, &err),
                     PLAIT_ERROR_SCHEMA);
}

static void test_nvme__is_refused(void **state)
{
    (void)state;
    assert_refused("{\"zero_optimization\": {\"stage\": 3,"
                   " \"offload_optimizer\": {\"device\": \"nvme\"}}}",
                   "f.json",
                   "/zero_optimization/offload_optimizer/device: expected none or cpu, found nvme: "
                   "plait prices no offload to NVMe");
}

static void test_a_batch_that_does_not_divide__is_refused(void **state)
{
    (void)state;
    assert_refused("{\"train_batch_size\": 10, \"train_micro_batch_size_per_gpu\": 2,"
                   " \"gradient_accumulation_steps\": 3}",
                   "f.json",
                   "expected train_batch_size to be a multiple of train_micro_batch_size_per_gpu x "
                   "gradient_accumulation_steps, found 10 and 2 x 3");
}

static void test_two_formats__are_refused(void **state)
{
    (void)state;
    assert_refused("{\"fp16\": {\"enabled\": true}, \"bf16\": {\"enabled\": true}}", "f.json",
                   "expected fp16 or bf16, found both");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_keys_that_are_not_read__are_listed, begin, end),
        cmocka_unit_test_setup_teardown(test_keys_of_zero_that_have_no_price__are_warned_of, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_offload_that_deepspeed_refuses__is_refused, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_nvme__is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_scripts__say_what_the_json_would, begin, end),
        cmocka_unit_test_setup_teardown(test_arguments_of_a_script__are_empty_or_warned_of, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_scripts_of_swift__name_the_stage, begin, end),
        cmocka_unit_test_setup_teardown(test_files_that_say_nothing__are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_the_batch__is_exact, begin, end),
        cmocka_unit_test_setup_teardown(test_buckets__count_elements, begin, end),
        cmocka_unit_test_setup_teardown(test_zero_3__gathers_two_layers, begin, end),
        cmocka_unit_test_setup_teardown(test_a_smaller_shard__is_mics, begin, end),
        cmocka_unit_test_setup_teardown(test_zero_0__has_nothing_to_divide, begin, end),
        cmocka_unit_test_setup_teardown(test_what_the_script_does__stands_in_run_sh, begin, end),
        cmocka_unit_test_setup_teardown(test_a_name__survives_in_comments, begin, end),
        cmocka_unit_test_setup_teardown(test_other_parallelism__is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_small_shards_of_gradients__are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_what_was_written__reads_back, begin, end),
        cmocka_unit_test_setup_teardown(test_buckets__are_those_of_gradients, begin, end),
        cmocka_unit_test_setup_teardown(test_what_a_file_does_not_say__stays_open, begin, end),
        cmocka_unit_test_setup_teardown(test_sequence_and_tensor_parallel_ranks__count_too, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_stages_of_the_script__are_open, begin, end),
        cmocka_unit_test_setup_teardown(test_offload__is_as_deep_as_the_sections_say, begin, end),
        cmocka_unit_test_setup_teardown(test_what_has_no_price__is_warned_of, begin, end),
        cmocka_unit_test_setup_teardown(test_zero_plus_plus_and_offload__come_back, begin, end),
        cmocka_unit_test_setup_teardown(test_a_batch_that_does_not_divide__is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_two_formats__are_refused, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
