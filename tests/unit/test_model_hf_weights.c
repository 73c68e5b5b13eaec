/* test_model_hf_weights.c - Hugging Face configs: the format of quantized weights */
#include "support/assert_near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plait/model.h"

typedef struct model_fixture {
    plait_arena *arena;
    plait_model model;
    const char *warning;
    plait_error err;
} model_fixture;

static int set_up(void **state)
{
    static model_fixture fixture;

    fixture = (model_fixture){.arena = plait_arena_new()};
    *state = &fixture;
    return fixture.arena == NULL;
}

static int tear_down(void **state)
{
    model_fixture *test = *state;

    plait_arena_fail_after(-1);
    plait_arena_free(test->arena);
    return 0;
}

#define MODEL                                                                                      \
    "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 4, "                  \
    "\"num_attention_heads\": 4, \"vocab_size\": 100, \"intermediate_size\": 128"

/* Reads a small model with a quantization_config. */
static const plait_model *quantized(model_fixture *test, const char *config)
{
    char text[2048];

    snprintf(text, sizeof text, MODEL ", \"quantization_config\": %s}", config);
    if (plait_model_parse(text, strlen(text), "config.json", test->arena, &test->model,
                          &test->warning, &test->err) != PLAIT_OK)
        fail_msg("%s: %s", test->err.where, test->err.message);
    return &test->model;
}

static void assert_weights(model_fixture *test, const char *config, const char *format,
                           const char *warning)
{
    const char *const found = quantized(test, config)->weights;

    assert_string_equal(found == NULL ? "bf16" : found, format);
    assert_string_equal(test->warning, warning);
}

/* ---- methods ---- */

static void test_methods__that_name_a_format(void **state)
{
    assert_weights(*state, "{\"quant_method\": \"mxfp4\"}", "mxfp4", "");
    assert_weights(*state, "{\"quant_method\": \"fp8\", \"fmt\": \"e4m3\"}", "fp8", "");
    assert_weights(*state, "{\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]}",
                   "fp8_block", "");
    assert_weights(*state, "{\"quant_method\": \"fbgemm_fp8\", \"activation_scale_ub\": 1200.0}",
                   "fp8", "");
    assert_weights(*state, "{\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128}", "int4",
                   "");
    assert_weights(*state, "{\"quant_method\": \"gptq\"}", "int4", "");
}

/* Groups of compressed-tensors as llm-compressor writes them. */
static void test_compressed_tensors__have_groups(void **state)
{
#define GROUP(weights)                                                                             \
    "{\"quant_method\": \"compressed-tensors\", \"format\": \"x\", \"config_groups\": "            \
    "{\"group_0\": {\"targets\": [\"Linear\"], \"weights\": {" weights "}}}}"
    assert_weights(*state,
                   GROUP("\"num_bits\": 4, \"type\": \"float\", \"group_size\": 16, "
                         "\"strategy\": \"tensor_group\""),
                   "nvfp4", "");
    assert_weights(*state, GROUP("\"num_bits\": 4, \"type\": \"float\", \"group_size\": 32"),
                   "mxfp4", "");
    assert_weights(*state, GROUP("\"num_bits\": 4, \"type\": \"int\", \"group_size\": 32"), "int4",
                   "");
    assert_weights(*state,
                   GROUP("\"num_bits\": 8, \"type\": \"float\", \"group_size\": null, "
                         "\"strategy\": \"channel\""),
                   "fp8", "");
    assert_weights(*state,
                   GROUP("\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"block\", "
                         "\"block_structure\": [128, 128]"),
                   "fp8_block", "");
    assert_weights(*state, GROUP("\"num_bits\": 8, \"type\": \"int\", \"strategy\": \"channel\""),
                   "fp8",
                   "quantization_config: plait has no format int8 (compressed-tensors), priced as "
                   "fp8");
}

/* Attention is in FP8 and experts are in NVFP4, which is the format of most weights. */
static void test_groups__of_several_formats_are_named(void **state)
{
    assert_weights(*state,
                   "{\"quant_method\": \"modelopt\", \"quant_algo\": \"MIXED_PRECISION\", "
                   "\"quantized_layers\": {\"model.layers.0.self_attn.q_proj\": {\"quant_algo\": "
                   "\"FP8\"}, \"model.layers.0.mlp.experts\": {\"quant_algo\": \"NVFP4\", "
                   "\"group_size\": 16}}}",
                   "nvfp4", "quantization_config: several formats (modelopt), all priced as nvfp4");
}

static void test_modelopt__has_algorithms(void **state)
{
    assert_weights(*state, "{\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\"}", "nvfp4",
                   "");
    assert_weights(*state, "{\"quant_method\": \"modelopt\", \"quant_algo\": \"FP8\"}", "fp8", "");
    assert_weights(*state, "{\"quant_method\": \"modelopt\", \"quant_algo\": \"FP8_PB_WO\"}",
                   "fp8_block", "");
    assert_weights(*state, "{\"quant_method\": \"modelopt\", \"quant_algo\": \"W4A16_AWQ\"}",
                   "int4", "");
    assert_weights(*state, "{\"quant_method\": \"modelopt\", \"quant_algo\": \"W4A8_AWQ\"}", "int4",
                   "quantization_config: plait has no format w4a8awq (modelopt), priced as int4");
    assert_weights(*state, "{\"quant_method\": \"modelopt\", \"quant_algo\": \"MXFP8\"}",
                   "fp8_block",
                   "quantization_config: plait has no format mxfp8 (modelopt), priced as "
                   "fp8_block");
}

/* The weights of quark may be a list of steps: int4 of weights that are already fp8. */
static void test_quark__has_types_of_weights(void **state)
{
    assert_weights(
        *state,
        "{\"quant_method\": \"quark\", \"global_quant_config\": {\"weight\": {\"dtype\": "
        "\"fp4\", \"qscheme\": \"per_group\", \"group_size\": 32}}}",
        "mxfp4", "");
    assert_weights(*state,
                   "{\"quant_method\": \"quark\", \"global_quant_config\": {\"weight\": "
                   "[{\"dtype\": \"fp8_e4m3\"}, {\"dtype\": \"int4\"}]}}",
                   "int4", "");
    assert_weights(*state,
                   "{\"quant_method\": \"quark\", \"global_quant_config\": {}, "
                   "\"layer_quant_config\": {\"*experts\": {\"weight\": {\"dtype\": \"fp4\"}}}}",
                   "mxfp4", "");
}

static void test_other_libraries__have_words(void **state)
{
    assert_weights(*state,
                   "{\"quant_method\": \"torchao\", \"quant_type\": {\"default\": {\"_type\": "
                   "\"Int4WeightOnlyConfig\", \"_data\": {\"group_size\": 128}}}}",
                   "int4", "");
    assert_weights(*state,
                   "{\"quant_method\": \"torchao\", \"quant_type\": \"float8_weight_only\"}", "fp8",
                   "");
    assert_weights(*state,
                   "{\"quant_method\": \"auto-round\", \"bits\": 4, \"data_type\": \"mx_fp\"}",
                   "mxfp4", "");
    assert_weights(*state,
                   "{\"quant_method\": \"auto-round\", \"bits\": 4, \"data_type\": "
                   "\"int\"}",
                   "int4", "");
    assert_weights(*state,
                   "{\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true, "
                   "\"load_in_8bit\": false}",
                   "int4",
                   "quantization_config: plait has no format nf4 (bitsandbytes), priced as int4");
    assert_weights(*state, "{\"quant_method\": \"bitsandbytes\", \"load_in_8bit\": true}", "fp8",
                   "quantization_config: plait has no format int8 (bitsandbytes), priced as fp8");
}

static void test_bits__without_a_format_take_the_next_wider_one(void **state)
{
    assert_weights(*state, "{\"quant_method\": \"gptq\", \"bits\": 3}", "int4",
                   "quantization_config: plait has no format int3 (gptq), priced as int4");
    assert_weights(*state, "{\"quant_method\": \"gptq\", \"bits\": 5}", "fp8",
                   "quantization_config: plait has no format int5 (gptq), priced as fp8");
    assert_weights(*state, "{\"quant_method\": \"gptq\", \"bits\": 8}", "fp8",
                   "quantization_config: plait has no format int8 (gptq), priced as fp8");
}

static void test_unknown_methods__are_named(void **state)
{
    assert_weights(*state, "{\"quant_method\": \"invented\"}", "bf16",
                   "quantization_config: unknown method \"invented\", weights priced as bf16");
    assert_weights(*state, "{\"quant_method\": \"invented\", \"bits\": 2}", "int4",
                   "quantization_config: unknown method \"invented\", weights priced as int4");
    assert_weights(*state, "{\"quant_method\": \"modelopt\", \"quant_algo\": \"FP11\"}", "bf16",
                   "quantization_config: plait has no format fp11 (modelopt), priced as bf16");
    assert_weights(*state, "{}", "bf16", "");
    assert_weights(*state, "{\"quant_method\": 3, \"bits\": []}", "bf16", "");
}

/* ---- bits with scales ---- */

static void assert_bits(model_fixture *test, const char *config, double bits)
{
    assert_near(quantized(test, config)->weight_bits, bits, 1e-9);
}

/* A scale of 16 bits and a zero of an element's bits for each group of integers. */
static void test_bits__with_scales_follow_from_groups(void **state)
{
    assert_bits(*state, "{\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128}",
                4.0 + 20.0 / 128.0);
    assert_bits(*state,
                "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 32, \"sym\": true}",
                4.0 + 16.0 / 32.0);
    assert_bits(*state, "{\"quant_method\": \"gptq\", \"bits\": 3, \"group_size\": 128}",
                3.0 + 19.0 / 128.0);
    assert_bits(*state,
                "{\"quant_method\": \"torchao\", \"quant_type\": {\"default\": {\"_type\": "
                "\"Int4WeightOnlyConfig\", \"_data\": {\"group_size\": 64}}}}",
                4.0 + 20.0 / 64.0);
    assert_bits(*state,
                "{\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\", \"group_size\": 16}",
                4.5);
    assert_bits(*state, GROUP("\"num_bits\": 4, \"type\": \"float\", \"group_size\": 32"), 4.25);
}

/* The groups of bitsandbytes have 64 elements; a second quantization saves 0.37 bits. */
static void test_bits__of_bitsandbytes(void **state)
{
    assert_bits(*state, "{\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true}", 4.5);
    assert_bits(*state,
                "{\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true, "
                "\"bnb_4bit_use_double_quant\": true}",
                4.0 + 8.0 / 64.0 + 32.0 / 16384.0);
}

/* 8 bits, and 4 bits without groups, are those of the format. */
static void test_bits__are_open_without_groups(void **state)
{
    assert_bits(*state, "{\"quant_method\": \"gptq\"}", 0.0);
    assert_bits(*state, "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": -1}", 0.0);
    assert_bits(*state, "{\"quant_method\": \"mxfp4\"}", 0.0);
    assert_bits(*state, "{\"quant_method\": \"fp8\"}", 0.0);
}

/* ---- modules in 16 bits ---- */

static void assert_wide(model_fixture *test, const char *config, plait_attention_weights attention,
                        int layers)
{
    const plait_model *const model = quantized(test, config);

    assert_int_equal(model->attention_weights, attention);
    assert_int_equal(model->wide_layers, layers);
}

#define NOT(names) "{\"quant_method\": \"fp8\", \"modules_to_not_convert\": [" names "]}"

/* A glob of gpt-oss, a regular expression of Kimi-K2-Thinking, and names as NVIDIA lists them. */
static void test_attention__is_wide_where_most_layers_ignore_it(void **state)
{
    const plait_attention_weights wide = PLAIT_ATTENTION_WEIGHTS_WIDE;

    assert_wide(*state, NOT("\"model.layers.*.self_attn\", \"lm_head\""), wide, 0);
    assert_wide(*state,
                NOT("\"re:.*self_attn.*\", \"re:.*shared_experts.*\", "
                    "\"re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*\""),
                wide, 0);
    assert_wide(*state,
                "{\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\", \"ignore\": "
                "[\"model.layers.0.self_attn*\", \"model.layers.1.self_attn*\", "
                "\"model.layers.2.self_attn*\", \"model.layers.4*\"]}",
                wide, 0);
}

static void test_attention__is_narrow_where_a_list_does_not_have_it(void **state)
{
    const plait_attention_weights narrow = PLAIT_ATTENTION_WEIGHTS_NARROW;

    assert_wide(*state, NOT("\"lm_head\", \"re:.*mlp.gate$\""), narrow, 0);
    assert_wide(*state, NOT("\"re:.*layers\\\\.0\\\\.self_attn.*\""), narrow, 0);
    assert_wide(*state, NOT("\"vision_tower.layers.0.self_attn\", \"model.layers.3*\""), narrow, 1);
    assert_wide(*state, NOT(""), PLAIT_ATTENTION_WEIGHTS_UNKNOWN, 0);
    assert_wide(*state, "{\"quant_method\": \"mxfp4\", \"modules_to_not_convert\": [\"lm_head\"]}",
                PLAIT_ATTENTION_WEIGHTS_UNKNOWN, 0);
}

/* Meta's FP8 checkpoints name each matrix: attention of all layers, the MLP of the outer ones. */
static void test_layers__are_wide_with_both_parts(void **state)
{
#define ATTENTION(l)                                                                               \
    "\"model.layers." l ".self_attn.k_proj\", \"model.layers." l ".self_attn.o_proj\""
#define MLP(l) "\"model.layers." l ".mlp.down_proj\", \"model.layers." l ".mlp.up_proj\""
    assert_wide(*state,
                NOT(ATTENTION("0") ", " ATTENTION("1") ", " ATTENTION("2") ", " ATTENTION(
                    "3") ", " MLP("0") ", " MLP("3")),
                PLAIT_ATTENTION_WEIGHTS_WIDE, 2);
}

/* ---- files ---- */

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* NVIDIA's older checkpoints have a config.json without quantization_config. */
static void test_hf_quant_config__is_read_beside_a_config(void **state)
{
    model_fixture *const test = *state;
    char folder[] = "/tmp/plait-weights-XXXXXX", path[256];

    assert_non_null(mkdtemp(folder));
    write_file(folder, "config.json", MODEL "}");
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_int_equal(plait_model_load(path, test->arena, &test->model, &test->warning, &test->err),
                     PLAIT_OK);
    assert_null(test->model.weights);
    write_file(folder, "hf_quant_config.json",
               "{\"producer\": {\"name\": \"modelopt\"}, \"quantization\": {\"quant_algo\": "
               "\"NVFP4\", \"kv_cache_quant_algo\": \"FP8\", \"group_size\": 16}}");
    assert_int_equal(plait_model_load(path, test->arena, &test->model, &test->warning, &test->err),
                     PLAIT_OK);
    assert_string_equal(test->model.weights, "nvfp4");
    assert_string_equal(test->warning, "");
    write_file(folder, "hf_quant_config.json", "{\"quantization\": {\"quant_algo\": \"W8A16\"}}");
    assert_int_equal(plait_model_load(path, test->arena, &test->model, &test->warning, &test->err),
                     PLAIT_OK);
    assert_string_equal(test->model.weights, "fp8");
    assert_string_equal(test->warning, "hf_quant_config.json: plait has no format w8a16 "
                                       "(modelopt), priced as fp8");
    write_file(folder, "hf_quant_config.json", "{");
    assert_int_equal(plait_model_load(path, test->arena, &test->model, &test->warning, &test->err),
                     PLAIT_ERROR_SYNTAX);
    remove(path);
    snprintf(path, sizeof path, "%s/hf_quant_config.json", folder);
    remove(path);
    rmdir(folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_methods__that_name_a_format),
        TEST(test_compressed_tensors__have_groups),
        TEST(test_groups__of_several_formats_are_named),
        TEST(test_modelopt__has_algorithms),
        TEST(test_quark__has_types_of_weights),
        TEST(test_other_libraries__have_words),
        TEST(test_bits__without_a_format_take_the_next_wider_one),
        TEST(test_unknown_methods__are_named),
        TEST(test_bits__with_scales_follow_from_groups),
        TEST(test_bits__of_bitsandbytes),
        TEST(test_bits__are_open_without_groups),
        TEST(test_attention__is_wide_where_most_layers_ignore_it),
        TEST(test_attention__is_narrow_where_a_list_does_not_have_it),
        TEST(test_layers__are_wide_with_both_parts),
        TEST(test_hf_quant_config__is_read_beside_a_config),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
