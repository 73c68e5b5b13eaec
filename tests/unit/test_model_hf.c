/* test_model_hf.c - Hugging Face configs: what a class means by what it leaves out */
#include "support/assert_near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static plait_status parse(model_fixture *test, const char *text)
{
    return plait_model_parse(text, strlen(text), "dir/Some-Model/config.json", test->arena,
                             &test->model, &test->warning, &test->err);
}

static const plait_model *read_text(model_fixture *test, const char *text)
{
    if (parse(test, text) != PLAIT_OK)
        fail_msg("%s: %s", test->err.where, test->err.message);
    return &test->model;
}

/* A sample loads without a warning. */
static const plait_model *read_sample(model_fixture *test, const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "tests/data/hf_configs/%s.json", name);
    if (plait_model_load(path, test->arena, &test->model, &test->warning, &test->err) != PLAIT_OK)
        fail_msg("%s: %s", test->err.where, test->err.message);
    assert_string_equal(test->warning, "");
    assert_string_equal(test->model.name, name);
    return &test->model;
}

static int layers_of_kind(const plait_model *model, const char *name)
{
    int layers = 0;

    for (int i = 0; i < model->layers; i++)
        layers += strcmp(model->kind[model->layer_kind[i]].name, name) == 0;
    return layers;
}

static const char *name_of_layer(const plait_model *model, int layer)
{
    return model->kind[model->layer_kind[layer]].name;
}

/* A small model of a class: keys are added, and a later one does not replace an earlier one. */
#define SIZES                                                                                      \
    "\"hidden_size\": 64, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"vocab_size\": "  \
    "100"
#define CONFIG(type, keys) "{\"model_type\": \"" type "\", " SIZES keys "}"
#define MLP ", \"intermediate_size\": 128"
#define MAMBA_2                                                                                    \
    ", \"mamba_n_heads\": 4, \"mamba_d_head\": 32, \"mamba_d_state\": 16, \"mamba_n_groups\": 2"
/* latent attention with an indexer */
#define INDEXED                                                                                    \
    MLP ", \"kv_lora_rank\": 16, \"q_lora_rank\": 24, \"qk_nope_head_dim\": 16, "                  \
        "\"qk_rope_head_dim\": 8, \"v_head_dim\": 16, \"index_n_heads\": 4, "                      \
        "\"index_head_dim\": 16, \"index_topk\": 64"
#define HYBRID(type, keys) CONFIG(type, MLP MAMBA_2 ", " keys)

/* ---- absent keys ---- */

static void test_llama__without_kv_heads_and_head_dim(void **state)
{
    const plait_model *model = read_text(*state, CONFIG("llama", MLP));
    const plait_layer *layer = &model->kind[0];

    assert_int_equal(layer->attention.kv_heads, 4);
    assert_int_equal(layer->attention.head_dim, 16);
    assert_true(layer->attention.rotary && layer->mlp.gated);
    assert_false(model->tied || model->layer_norm || layer->attention.qkv_bias || layer->mlp.bias);
    assert_string_equal(model->name, "Some-Model");
    assert_string_equal(model->family, "llama");
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_llama__takes_its_flags_from_the_file(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("llama", MLP ", \"attention_bias\": true, \"mlp_bias\": true, "
                                              "\"tie_word_embeddings\": true, \"head_dim\": 32, "
                                              "\"num_key_value_heads\": 2"));

    assert_true(model->tied);
    assert_true(model->kind[0].attention.qkv_bias && model->kind[0].attention.out_bias);
    assert_true(model->kind[0].mlp.bias);
    assert_int_equal(model->kind[0].attention.head_dim, 32);
    assert_int_equal(model->kind[0].attention.kv_heads, 2);
}

static void test_mistral__has_a_window_unless_it_is_null(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("mistral", MLP ", \"num_key_value_heads\": 4"));

    assert_int_equal(model->kind[0].attention.window, 4096);
    model = read_text(*state, CONFIG("mistral", MLP ", \"num_key_value_heads\": null, "
                                                    "\"sliding_window\": null"));
    assert_int_equal(model->kind[0].attention.window, 0);
    assert_int_equal(model->kind[0].attention.kv_heads, 4);
}

static void test_qwen2__has_biases_on_q_k_and_v_by_class(void **state)
{
    const plait_model *model = read_text(*state, CONFIG("qwen2", MLP));

    assert_true(model->kind[0].attention.qkv_bias);
    assert_false(model->kind[0].attention.out_bias);
}

/* Layers from max_window_layers on are windowed, if at all. */
static void test_qwen2__uses_its_window_only_when_told(void **state)
{
    const plait_model *model = read_text(*state, CONFIG("qwen2", MLP ", \"sliding_window\": 32, "
                                                                     "\"max_window_layers\": 3"));

    assert_int_equal(model->kinds, 1);
    assert_int_equal(model->kind[0].attention.window, 0);
    model =
        read_text(*state, CONFIG("qwen2", MLP ", \"sliding_window\": 32, \"max_window_layers\": 3, "
                                              "\"use_sliding_window\": true"));
    assert_int_equal(layers_of_kind(model, "sliding"), 1);
    assert_string_equal(name_of_layer(model, 3), "sliding");
}

static void test_gpt2__is_tied_has_biases_and_learned_positions(void **state)
{
    const plait_model *model = read_sample(*state, "gpt2");
    const plait_layer *layer = &model->kind[0];

    assert_true(model->tied && model->layer_norm && model->dropout);
    assert_int_equal(model->learned_positions, 1024);
    assert_int_equal(model->max_seq, 1024);
    assert_int_equal(layer->mlp.width, 3072);
    assert_true(layer->attention.qkv_bias && layer->attention.out_bias && layer->mlp.bias);
    assert_false(layer->attention.rotary || layer->mlp.gated);
}

static void test_gptj__shares_one_norm_and_has_a_biased_head(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"gptj\", \"n_embd\": 64, \"n_layer\": 2, \"n_head\": 4, "
                "\"vocab_size\": 100, \"n_positions\": 2048, \"tie_word_embeddings\": false}");

    assert_int_equal(model->kind[0].norms, 1);
    assert_true(model->kind[0].parallel_residual && model->head_bias && model->kind[0].mlp.bias);
    assert_false(model->kind[0].attention.qkv_bias || model->tied);
    assert_int_equal(model->learned_positions, 0);
    assert_int_equal(model->kind[0].mlp.width, 256);
}

static void test_gpt_neox__is_parallel_with_two_norms(void **state)
{
    const plait_model *model = read_sample(*state, "gpt-neox-20b");

    assert_true(model->kind[0].parallel_residual && model->kind[0].attention.out_bias);
    assert_int_equal(model->kind[0].norms, 2);
    assert_false(model->tied);
}

static void test_bloom__has_a_norm_behind_the_embedding(void **state)
{
    const plait_model *model =
        read_text(*state, "{\"model_type\": \"bloom\", \"n_embed\": 64, "
                          "\"n_layer\": 2, \"n_head\": 4, \"vocab_size\": 100}");

    assert_true(model->embedding_norm && model->tied);
    assert_false(model->kind[0].attention.rotary);
    assert_int_equal(model->kind[0].mlp.width, 256);
}

static void test_opt__has_two_more_rows_than_positions(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("opt", ", \"ffn_dim\": 256, \"max_position_embeddings\": 2048, "
                                        "\"word_embed_proj_dim\": 64"));

    assert_int_equal(model->learned_positions, 2050);
    assert_int_equal(model->kind[0].mlp.width, 256);
    assert_true(model->dropout);
}

static void test_falcon__has_one_key_head_and_one_norm(void **state)
{
    const plait_model *model = read_text(*state, CONFIG("falcon", ", \"num_kv_heads\": 4"));

    assert_int_equal(model->kind[0].attention.kv_heads, 1);
    assert_int_equal(model->kind[0].norms, 1);
    assert_true(model->tied);
    model = read_text(*state, CONFIG("falcon", ", \"new_decoder_architecture\": true, "
                                               "\"num_kv_heads\": 2"));
    assert_int_equal(model->kind[0].attention.kv_heads, 2);
    assert_int_equal(model->kind[0].norms, 2);
}

static void test_mpt__has_positions_unless_it_has_alibi(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"mpt\", \"d_model\": 64, \"n_layers\": 2, \"n_heads\": 4, "
                "\"vocab_size\": 100, \"max_seq_len\": 512, \"expansion_ratio\": 3, "
                "\"attn_config\": {\"alibi\": true}}");

    assert_int_equal(model->learned_positions, 0);
    assert_int_equal(model->kind[0].mlp.width, 192);
    assert_false(model->kind[0].mlp.bias);
    model = read_text(*state, "{\"model_type\": \"mpt\", \"d_model\": 64, \"n_layers\": 2, "
                              "\"n_heads\": 4, \"vocab_size\": 100, \"max_seq_len\": 512, "
                              "\"no_bias\": false}");
    assert_int_equal(model->learned_positions, 512);
    assert_true(model->kind[0].mlp.bias && model->kind[0].attention.qkv_bias);
}

static void test_mamba__has_a_rank_of_its_own_choice(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"mamba\", \"hidden_size\": 2048, \"num_hidden_layers\": 48, "
                "\"vocab_size\": 50280, \"time_step_rank\": \"auto\"}");

    assert_int_equal(model->kind[0].mixer, PLAIT_MIXER_MAMBA);
    assert_int_equal(model->kind[0].mamba.inner, 4096);
    assert_int_equal(model->kind[0].mamba.dt_rank, 128);
    assert_int_equal(model->kind[0].norms, 1);
    assert_true(model->tied);
    model = read_text(*state, "{\"model_type\": \"mamba\", \"hidden_size\": 2048, "
                              "\"num_hidden_layers\": 48, \"vocab_size\": 50280, "
                              "\"time_step_rank\": 160}");
    assert_int_equal(model->kind[0].mamba.dt_rank, 160);
}

static void test_cohere__shares_one_norm_without_bias(void **state)
{
    const plait_model *model = read_text(*state, CONFIG("cohere", MLP));

    assert_int_equal(model->kind[0].norms, 1);
    assert_true(model->tied && model->kind[0].parallel_residual && model->kind[0].mlp.gated);
    assert_false(model->layer_norm);
}

/* ---- windows ---- */

static void test_gemma2__alternates_windows_and_has_four_norms(void **state)
{
    const plait_model *model = read_sample(*state, "gemma-2-2b");

    assert_int_equal(layers_of_kind(model, "sliding"), 13);
    assert_string_equal(name_of_layer(model, 0), "sliding");
    assert_int_equal(model->kind[0].attention.window, 4096);
    assert_int_equal(model->kind[1].attention.window, 0);
    assert_int_equal(model->kind[0].attention.head_dim, 256);
    assert_int_equal(model->kind[0].norms, 4);
    assert_true(model->tied);
}

static void test_gemma3__has_every_sixth_layer_full(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"gemma3_text\", \"hidden_size\": 64, \"num_hidden_layers\": 13, "
                "\"num_attention_heads\": 4, \"vocab_size\": 100, \"intermediate_size\": 128, "
                "\"sliding_window\": 512}");

    assert_int_equal(layers_of_kind(model, "full"), 2);
    assert_string_equal(name_of_layer(model, 5), "full");
    assert_true(model->kind[0].attention.qk_norm);
}

static void test_layer_types__win_over_the_class(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("gemma2", MLP ", \"layer_types\": [\"full_attention\", \"full_attention\", "
                                     "\"full_attention\", \"sliding_attention\"]"));

    assert_int_equal(layers_of_kind(model, "full"), 3);
    assert_string_equal(name_of_layer(model, 3), "sliding");
}

static void test_gpt_oss__has_sinks_biases_and_every_other_layer_windowed(void **state)
{
    const plait_model *model = read_sample(*state, "gpt-oss-20b");
    const plait_layer *layer = &model->kind[model->layer_kind[0]];

    assert_int_equal(layers_of_kind(model, "sliding"), 12);
    assert_int_equal(layer->attention.window, 128);
    assert_true(layer->attention.sinks && layer->attention.qkv_bias && layer->attention.out_bias);
    assert_true(layer->moe.bias && layer->moe.router_bias && layer->moe.gated);
    assert_int_equal(layer->moe.experts, 32);
    assert_int_equal(layer->moe.topk, 4);
    assert_int_equal(layer->moe.width, 2880);
}

static void test_llama4__chunks_three_layers_of_four(void **state)
{
    const plait_model *model = read_sample(*state, "llama-4-scout");
    const plait_layer *chunked = &model->kind[0], *full = &model->kind[1];

    assert_int_equal(layers_of_kind(model, "chunked"), 36);
    assert_string_equal(name_of_layer(model, 3), "full");
    assert_int_equal(chunked->attention.chunk, 8192);
    assert_true(chunked->attention.rotary);
    assert_true(chunked->attention.qk_norm);
    assert_false(full->attention.rotary || full->attention.qk_norm);
    assert_int_equal(full->attention.chunk, 0);
    assert_int_equal(chunked->moe.shared_width, 8192);
    assert_int_equal(chunked->moe.topk, 1);
    assert_false(model->tied);
}

static void test_llama4__interleaves_dense_layers(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("llama4_text", MLP
                                 ", \"intermediate_size_mlp\": 256, \"head_dim\": 16, "
                                 "\"num_key_value_heads\": 2, \"num_local_experts\": 8, "
                                 "\"num_experts_per_tok\": 1, \"interleave_moe_layer_step\": 2"));

    assert_string_equal(name_of_layer(model, 0), "chunked-dense");
    assert_string_equal(name_of_layer(model, 1), "chunked-moe");
    assert_string_equal(name_of_layer(model, 2), "chunked-dense");
    assert_string_equal(name_of_layer(model, 3), "full-moe");
    assert_int_equal(model->kind[0].mlp.width, 256);
    assert_int_equal(model->kind[1].moe.width, 128);
    assert_int_equal(model->kind[1].moe.shared_width, 128);
}

/* ---- experts ---- */

static void test_mixtral__has_experts_of_the_intermediate_size(void **state)
{
    const plait_model *model = read_sample(*state, "mixtral-8x7b");

    assert_int_equal(model->kinds, 1);
    assert_int_equal(model->kind[0].moe.experts, 8);
    assert_int_equal(model->kind[0].moe.width, 14336);
    assert_int_equal(model->kind[0].moe.shared_width, 0);
    assert_int_equal(model->kind[0].attention.window, 0);
}

static void test_qwen3_moe__has_experts_where_step_and_list_say(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("qwen3_moe", MLP ", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
                                        "\"moe_intermediate_size\": 32, \"head_dim\": 16, "
                                        "\"decoder_sparse_step\": 2, \"mlp_only_layers\": [1]"));

    assert_int_equal(layers_of_kind(model, "moe"), 1);
    assert_string_equal(name_of_layer(model, 3), "moe");
    assert_true(model->kind[0].attention.qk_norm);
}

static void test_qwen2_moe__has_a_gated_shared_expert(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("qwen2_moe", MLP ", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
                                        "\"moe_intermediate_size\": 32, "
                                        "\"shared_expert_intermediate_size\": 96"));

    assert_int_equal(model->kind[0].moe.shared_width, 96);
    assert_true(model->kind[0].moe.shared_gate);
    assert_true(model->kind[0].attention.qkv_bias);
}

static void test_deepseek_v3__has_dense_layers_first_and_one_mtp_module(void **state)
{
    const plait_model *model = read_sample(*state, "deepseek-v3");
    const plait_layer *moe = &model->kind[1];

    assert_int_equal(layers_of_kind(model, "dense"), 3);
    assert_int_equal(model->mtp_layers, 1);
    assert_int_equal(model->mtp_kind, 1);
    assert_int_equal(model->kind[0].mlp.width, 18432);
    assert_int_equal(moe->mla.q_rank, 1536);
    assert_int_equal(moe->mla.kv_rank, 512);
    assert_int_equal(moe->mla.nope_dim, 128);
    assert_int_equal(moe->mla.rope_dim, 64);
    assert_int_equal(moe->mla.v_dim, 128);
    assert_int_equal(moe->moe.shared_width, 2048);
    assert_int_equal(moe->moe.groups, 8);
    assert_int_equal(moe->moe.group_topk, 4);
    assert_true(moe->moe.router_bias);
}

static void test_deepseek_v2_lite__projects_q_directly_and_has_no_groups(void **state)
{
    const plait_model *model = read_sample(*state, "deepseek-v2-lite");

    assert_int_equal(model->kind[1].mla.q_rank, 0);
    assert_int_equal(model->kind[1].moe.groups, 0);
    assert_int_equal(model->kind[1].moe.shared_width, 2816);
    assert_false(model->kind[1].moe.router_bias);
}

static void test_kimi_k2__goes_by_its_type_not_its_architecture(void **state)
{
    const plait_model *model = read_sample(*state, "kimi-k2");

    assert_string_equal(model->family, "kimi_k2");
    assert_int_equal(layers_of_kind(model, "dense"), 1);
    assert_int_equal(model->mtp_layers, 0);
}

static void test_deepseek_v32_and_glm_5__have_an_indexer(void **state)
{
    const plait_model *model = read_sample(*state, "deepseek-v3.2");

    assert_int_equal(model->kind[0].mla.index_heads, 64);
    assert_int_equal(model->kind[0].mla.index_dim, 128);
    assert_int_equal(model->kind[0].mla.index_topk, 2048);
    model = read_sample(*state, "glm-5");
    assert_int_equal(model->kind[0].mla.index_heads, 32);
    assert_int_equal(model->kind[0].mla.nope_dim, 192);
    assert_int_equal(model->kind[0].mla.v_dim, 256);
}

static void test_glm4_moe__has_biases_on_q_k_and_v_only(void **state)
{
    const plait_model *model = read_sample(*state, "glm-4.5");

    assert_true(model->kind[0].attention.qkv_bias && model->kind[0].attention.qk_norm);
    assert_false(model->kind[0].attention.out_bias);
    model = read_sample(*state, "glm-4.5-air");
    assert_false(model->kind[0].attention.qk_norm);
    assert_int_equal(model->kind[0].attention.head_dim, 128);
}

static void test_gemma4__has_two_head_sizes_and_an_mlp_beside_the_experts(void **state)
{
    const plait_model *model = read_sample(*state, "gemma-4-26b-a4b");
    const plait_layer *sliding = &model->kind[0], *full = &model->kind[1];

    assert_int_equal(layers_of_kind(model, "full"), 5);
    assert_int_equal(sliding->attention.head_dim, 256);
    assert_int_equal(sliding->attention.kv_heads, 8);
    assert_false(sliding->attention.shared_kv);
    assert_int_equal(full->attention.head_dim, 512);
    assert_int_equal(full->attention.kv_heads, 2);
    assert_true(full->attention.shared_kv && full->attention.rotary);
    assert_int_equal(full->moe.shared_width, 2112);
    assert_int_equal(full->moe.width, 704);
    assert_int_equal(full->moe.topk, 8);
    assert_int_equal(full->norms, 7);
    assert_true(model->tied);
}

static void test_gemma4__without_experts_has_an_mlp(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("gemma4_text", MLP ", \"num_experts\": 8, \"top_k_experts\": 2"));

    assert_int_equal(model->kind[0].ffn, PLAIT_FFN_MLP);
    assert_int_equal(model->kind[0].norms, 4);
}

static void test_qwen3_5__mixes_linear_and_gated_attention(void **state)
{
    const plait_model *model = read_sample(*state, "qwen3.5-35b-a3b");
    const plait_layer *linear = &model->kind[0], *full = &model->kind[1];

    assert_int_equal(layers_of_kind(model, "linear"), 30);
    assert_int_equal(linear->mixer, PLAIT_MIXER_DELTA_NET);
    assert_int_equal(linear->delta_net.value_heads, 32);
    assert_int_equal(linear->delta_net.key_heads, 16);
    assert_true(full->attention.gate && full->attention.qk_norm);
    assert_int_equal(full->attention.kv_heads, 2);
    assert_int_equal(full->moe.shared_width, 512);
    assert_true(full->moe.shared_gate);
    assert_int_equal(model->mtp_layers, 1);
    assert_int_equal(model->mtp_kind, 1);
    assert_false(model->tied);
}

/* ---- what surrounds the decoder ---- */

static void test_nested_decoder__is_read_and_what_is_around_it_ignored(void **state)
{
    model_fixture *test = *state;
    const plait_model *model =
        read_text(test, "{\"model_type\": \"llava\", \"tie_word_embeddings\": true, "
                        "\"vision_config\": {\"hidden_size\": 1}, "
                        "\"text_config\": " CONFIG("llama", MLP) "}");

    assert_string_equal(model->family, "llama");
    assert_int_equal(model->hidden, 64);
    assert_true(model->tied);
    assert_string_equal(test->warning, "ignored keys: vision_config");
}

static void test_known_class__warns_of_parts_that_have_no_price(void **state)
{
    model_fixture *test = *state;

    read_text(test, "{\"model_type\": \"internvl_chat\", \"vision_config\": {\"hidden_size\": 1}, "
                    "\"downsample_ratio\": 0.5, \"force_image_size\": 448, \"select_layer\": -1, "
                    "\"max_dynamic_patch\": 12, \"ps_version\": \"v2\", \"template\": \"x\", "
                    "\"hidden_size\": 64, \"llm_config\": " CONFIG("qwen2", MLP) "}");
    assert_string_equal(test->model.family, "qwen2");
    assert_string_equal(test->warning, "ignored keys: vision_config");
    read_text(test, CONFIG("gemma4_text", MLP ", \"audio_config\": {\"hidden_size\": 256}, "
                                              "\"num_kv_shared_layers\": 0, \"some_token_id\": 3, "
                                              "\"hidden_size_per_layer_input\": 0"));
    assert_string_equal(test->warning, "ignored keys: audio_config");
}

static void test_unknown_class__with_familiar_keys_is_read_like_llama(void **state)
{
    model_fixture *test = *state;
    const plait_model *model = read_text(
        test, CONFIG("brand_new", MLP ", \"rms_norm_eps\": 1e-6, \"magic_level\": 7, "
                                      "\"bos_token_id\": 1, \"rope_theta\": 1e4, "
                                      "\"torch_dtype\": \"bfloat16\", \"magic_off\": false"));

    assert_true(model->kind[0].mlp.gated);
    assert_false(model->layer_norm || model->tied);
    assert_string_equal(
        test->warning,
        "unknown model type \"brand_new\", read as a llama model; ignored keys: magic_level");
    read_text(test, CONFIG("", MLP));
    assert_string_equal(test->warning, "no model_type, read as a llama model; ignored keys: none");
}

static void test_assume_llama__ignores_sizes_with_a_warning(void **state)
{
    char path[] = "/tmp/plait-model-XXXXXX";
    model_fixture *test = *state;
    const int descriptor = mkstemp(path);
    FILE *const file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;

    assert_non_null(file);
    fputs(CONFIG("brand_new", MLP ", \"hc_mult\": 4, \"altup_num_inputs\": 2"), file);
    fclose(file);
    assert_int_equal(plait_model_load(path, test->arena, &test->model, &test->warning, &test->err),
                     PLAIT_ERROR_SCHEMA);
    assert_int_equal(
        plait_model_load_as_llama(path, test->arena, &test->model, &test->warning, &test->err),
        PLAIT_OK);
    remove(path);
    assert_int_equal(test->model.streams, 0);
    assert_string_equal(test->warning, "unknown model type \"brand_new\", read as a llama model; "
                                       "ignored keys: hc_mult, altup_num_inputs");
}

/* Two names of one number are one size, and a key that another one makes superfluous is none. */
static void test_known_class__may_repeat_itself(void **state)
{
    model_fixture *test = *state;

    read_text(test, CONFIG("mixtral", MLP ", \"num_key_value_heads\": 4, \"num_local_experts\": 8, "
                                          "\"num_experts\": 8, \"num_experts_per_tok\": 2, "
                                          "\"experts_per_token\": 2, \"head_dim\": 16, "
                                          "\"kv_channels\": 16, \"attn_type_list\": [1, 1, 1, 1]"));
    assert_string_equal(test->warning, "");
    read_text(test, CONFIG("qwen3_moe", MLP ", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
                                            "\"moe_intermediate_size\": 32, \"head_dim\": 16"));
    assert_string_equal(test->warning, "");
}

static void test_ernie_4_5__begins_its_experts_at_an_index(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("ernie4_5_moe",
                                 MLP ", \"moe_num_experts\": 8, \"moe_k\": 2, "
                                     "\"moe_intermediate_size\": 32, "
                                     "\"moe_num_shared_experts\": 3, "
                                     "\"moe_layer_start_index\": 2, "
                                     "\"moe_layer_end_index\": 2, \"moe_layer_interval\": 1"));

    assert_int_equal(layers_of_kind(model, "moe"), 1);
    assert_string_equal(name_of_layer(model, 2), "moe");
    assert_int_equal(model->kind[1].moe.topk, 2);
    assert_int_equal(model->kind[1].moe.shared_width, 96);
    assert_true(model->tied);
}

static void test_minimax__has_dense_layers_of_their_own_width(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("minimax_m2",
                                 MLP ", \"num_local_experts\": 8, \"num_experts_per_tok\": 2, "
                                     "\"num_key_value_heads\": 4, "
                                     "\"dense_intermediate_size\": 512, "
                                     "\"shared_intermediate_size\": 96, \"num_mtp_modules\": 3, "
                                     "\"moe_layer_freq\": [0, 1, 1, 1]"));

    assert_int_equal(model->kind[0].mlp.width, 512);
    assert_int_equal(model->kind[1].moe.width, 128);
    assert_int_equal(model->kind[1].moe.shared_width, 96);
    assert_int_equal(model->mtp_layers, 0);
    assert_string_equal(((model_fixture *)*state)->warning, "ignored keys: num_mtp_modules");
}

static void test_unknown_class__of_the_older_kind_has_plain_mlps(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("older", MLP ", \"layer_norm_eps\": 1e-5, \"hidden_act\": \"gelu\""));

    assert_true(model->layer_norm);
    assert_false(model->kind[0].mlp.gated);
}

static void test_arcee_apertus_and_bitnet__have_squared_relu_or_xielu(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("arcee", MLP ", \"hidden_act\": \"relu2\", \"rms_norm_eps\": 1e-5"));

    assert_false(model->kind[0].mlp.gated || model->layer_norm);
    assert_string_equal(((model_fixture *)*state)->warning, "");
    model =
        read_text(*state, CONFIG("apertus", MLP ", \"hidden_act\": \"xielu\", \"qk_norm\": true, "
                                                "\"rms_norm_eps\": 1e-5"));
    assert_false(model->kind[0].mlp.gated);
    assert_true(model->kind[0].attention.qk_norm);
    assert_string_equal(((model_fixture *)*state)->warning, "");
    model = read_text(*state,
                      CONFIG("bitnet", MLP ", \"hidden_act\": \"relu2\", \"rms_norm_eps\": 1e-5, "
                                           "\"num_key_value_heads\": 1"));
    assert_true(model->kind[0].mlp.gated);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

/* The published config of Qwen-7B without its sizes. */
static void test_qwen__counts_gate_and_up_projection_in_one_width(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("qwen", MLP ", \"layer_norm_epsilon\": 1e-6, \"no_bias\": true, "
                                             "\"kv_channels\": 16, \"rotary_emb_base\": 10000, "
                                             "\"rotary_pct\": 1.0, \"scale_attn_weights\": true, "
                                             "\"use_dynamic_ntk\": true, \"use_logn_attn\": true, "
                                             "\"use_flash_attn\": \"auto\", \"seq_length\": 8192, "
                                             "\"max_position_embeddings\": 32768"));

    assert_true(model->kind[0].mlp.gated && model->kind[0].attention.qkv_bias);
    assert_false(model->layer_norm || model->tied || model->kind[0].mlp.bias ||
                 model->kind[0].attention.out_bias);
    assert_int_equal(model->kind[0].mlp.width, 64);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

/* Gemma 3 4B leaves its vocabulary and its heads to the class. */
static void test_gemma3__has_a_vocabulary_and_heads_by_class(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"gemma3\", \"mm_tokens_per_image\": 256, "
                "\"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 2560, "
                "\"intermediate_size\": 10240, \"num_hidden_layers\": 34, "
                "\"sliding_window\": 1024}}");

    assert_int_equal(model->vocab, 262208);
    assert_int_equal(model->kind[0].attention.heads, 8);
    assert_int_equal(model->kind[0].attention.kv_heads, 4);
    assert_int_equal(model->kind[0].attention.head_dim, 256);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_falcon__may_have_one_norm_in_the_new_architecture(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("falcon", ", \"new_decoder_architecture\": true, \"num_kv_heads\": 2, "
                                 "\"num_ln_in_parallel_attn\": 1"));

    assert_int_equal(model->kind[0].norms, 1);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_harmless_keys__of_phi_4_mini_and_minicpm_are_silent(void **state)
{
    read_text(*state, CONFIG("phi3", MLP ", \"full_attn_mod\": 1, \"interpolate_factor\": 1"));
    assert_string_equal(((model_fixture *)*state)->warning, "");
    assert_true(
        read_text(*state, CONFIG("minicpm", MLP ", \"scale_emb\": 12, \"scale_depth\": 1.4, "
                                                "\"dim_model_base\": 256"))
            ->tied);
    assert_string_equal(((model_fixture *)*state)->warning, "");
    read_text(*state, CONFIG("llama", MLP ", \"rope_theta\": 10000, \"router_jitter_noise\": 0.1, "
                                          "\"swa_rope_theta\": 10000, \"suppress_tokens\": []"));
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_warning__names_twenty_keys_and_counts_the_others(void **state)
{
    static char text[64 * 1024];
    size_t at = (size_t)snprintf(text, sizeof text, "{\"model_type\": \"llama\", " SIZES MLP);

    for (int k = 0; k < 1000; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, ", \"magic%d\": true", k);
    snprintf(text + at, sizeof text - at, "}");
    read_text(*state, text);
    assert_non_null(strstr(((model_fixture *)*state)->warning, "magic19 ... and 980 more"));
}

static void test_unknown_class__of_which_the_file_says_nothing_more_is_gated(void **state)
{
    assert_true(read_text(*state, CONFIG("brand_new", MLP))->kind[0].mlp.gated);
    assert_false(read_text(*state, CONFIG("brand_new", MLP ", \"hidden_act\": \"gelu\""))
                     ->kind[0]
                     .mlp.gated);
    assert_true(read_text(*state, CONFIG("brand_new", MLP ", \"hidden_activation\": \"silu\""))
                    ->kind[0]
                    .mlp.gated);
    assert_false(read_text(*state, CONFIG("brand_new", MLP ", \"layer_norm_eps\": 1e-5"))
                     ->kind[0]
                     .mlp.gated);
}

static void test_class__is_that_of_the_architecture_where_no_type_is_given(void **state)
{
    static const struct {
        const char *text, *family;
    } cases[] = {
#define OF(name) "{\"architectures\": [\"" name "\"], " SIZES MLP "}"
        {OF("LlamaForCausalLM"), "llama"},
        {OF("GPT2LMHeadModel"), "gpt2"},
        {OF("GPTNeoXForCausalLM"), "gpt_neox"},
        {OF("Qwen2ForCausalLM"), "qwen2"},
        {OF("Llama"), ""},
        {OF("LlamaForCausalLMX"), ""},
        {OF(""), ""},
#undef OF
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_string_equal(read_text(*state, cases[c].text)->family, cases[c].family);
}

/* ---- hybrids ---- */

static void assert_kinds(const plait_model *model, const char *expected)
{
    char found[256] = "";

    for (int i = 0; i < model->layers; i++) {
        const size_t used = strlen(found);

        snprintf(found + used, sizeof found - used, "%s%s", i > 0 ? " " : "",
                 name_of_layer(model, i));
    }
    assert_string_equal(found, expected);
}

static void test_nemotron_h__has_one_part_and_one_norm_per_layer(void **state)
{
    model_fixture *test = *state;
    const plait_model *model = read_text(
        test, "{\"model_type\": \"nemotron_h\", \"hidden_size\": 64, \"vocab_size\": 100, "
              "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 16, "
              "\"mamba_num_heads\": 4, \"mamba_head_dim\": 32, \"ssm_state_size\": 16, "
              "\"n_groups\": 2, \"chunk_size\": 128, \"intermediate_size\": 96, "
              "\"time_step_limit\": [0.0, Infinity], "
              "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, "
              "\"moe_intermediate_size\": 32, \"moe_shared_expert_intermediate_size\": 48, "
              "\"n_shared_experts\": 1, \"moe_latent_size\": 16, \"mlp_hidden_act\": \"relu2\", "
              "\"num_nextn_predict_layers\": 1, \"mtp_hybrid_override_pattern\": \"*E\", "
              "\"hybrid_override_pattern\": \"ME*-M\"}");
    const plait_layer *kind = model->kind;

    assert_kinds(model, "mamba moe full dense mamba");
    for (int k = 0; k < 4; k++)
        assert_int_equal(kind[k].norms, 1);
    assert_int_equal(kind[0].mixer, PLAIT_MIXER_MAMBA);
    assert_int_equal(kind[0].ffn, PLAIT_FFN_NONE);
    assert_int_equal(kind[0].mamba.inner, 128);
    assert_int_equal(kind[0].mamba.heads, 4);
    assert_int_equal(kind[0].mamba.groups, 2);
    assert_int_equal(kind[0].mamba.chunk, 128);
    assert_int_equal(kind[1].mixer, PLAIT_MIXER_NONE);
    assert_int_equal(kind[1].moe.latent, 16);
    assert_int_equal(kind[1].moe.shared_width, 48);
    assert_false(kind[1].moe.gated || kind[2].attention.rotary || kind[3].mlp.gated);
    assert_true(kind[1].moe.router_bias);
    assert_int_equal(model->numerics.activation, PLAIT_RELU2);

    // The module for multi-token prediction has attention and experts.
    assert_int_equal(model->mtp_kind, 4);
    assert_string_equal(kind[4].name, "full-moe");
    assert_int_equal(kind[4].norms, 2);
    assert_string_equal(test->warning, "");
}

static void test_granite_4__has_a_shared_mlp_beside_or_instead_of_experts(void **state)
{
    const plait_model *model = read_text(
        *state, HYBRID("granitemoehybrid", "\"shared_intermediate_size\": 48, "
                                           "\"num_local_experts\": 8, "
                                           "\"num_experts_per_tok\": 2, \"layer_types\": "
                                           "[\"mamba\", \"mamba\", \"attention\", \"mamba\"]"));

    assert_kinds(model, "mamba mamba full mamba");
    assert_int_equal(model->kind[0].moe.width, 128);
    assert_int_equal(model->kind[0].moe.shared_width, 48);
    assert_int_equal(model->kind[0].norms, 2);
    assert_false(model->kind[1].attention.rotary);

    model = read_text(*state, HYBRID("granitemoehybrid",
                                     "\"shared_intermediate_size\": 48, "
                                     "\"num_local_experts\": 0, \"position_embedding_type\": "
                                     "\"rope\", \"layer_types\": [\"attention\", "
                                     "\"attention\", \"attention\", \"attention\"]"));
    assert_int_equal(model->kinds, 1);
    assert_int_equal(model->kind[0].mlp.width, 48);
    assert_true(model->kind[0].attention.rotary);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_bamba_jamba_and_falcon_h1__mix_attention_and_mamba(void **state)
{
    const plait_model *model =
        read_text(*state, HYBRID("bamba", "\"attn_layer_indices\": [2], \"mamba_expand\": 2, "
                                          "\"num_key_value_heads\": 2, "
                                          "\"attn_rotary_emb\": 8"));

    assert_kinds(model, "mamba mamba full mamba");
    model = read_text(*state,
                      CONFIG("jamba", MLP ", \"attn_layer_period\": 4, \"attn_layer_offset\": 2, "
                                          "\"expert_layer_period\": 2, \"expert_layer_offset\": 1, "
                                          "\"num_experts\": 4, \"num_experts_per_tok\": 2, "
                                          "\"num_key_value_heads\": 4, \"mamba_dt_rank\": 4, "
                                          "\"mamba_expand\": 2, \"mamba_d_state\": 16"));
    assert_kinds(model, "mamba-dense mamba-moe full-dense mamba-moe");
    assert_int_equal(model->kind[0].mamba.heads, 0);
    assert_int_equal(model->kind[0].mamba.dt_rank, 4);
    model = read_text(*state, HYBRID("falcon_h1", "\"num_key_value_heads\": 2, "
                                                  "\"mamba_d_ssm\": 128"));
    assert_int_equal(model->kinds, 1);
    assert_int_equal(model->kind[0].mixer, PLAIT_MIXER_ATTENTION);
    assert_int_equal(model->kind[0].second_mixer, PLAIT_MIXER_MAMBA);
    assert_int_equal(model->kind[0].ffn, PLAIT_FFN_MLP);
    assert_int_equal(model->kind[0].mamba.inner, 128);
}

static void test_mamba2__is_described_by_the_common_names(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"mamba2\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
                "\"vocab_size\": 100, \"num_heads\": 4, \"head_dim\": 32, \"state_size\": 64, "
                "\"n_groups\": 1, \"time_step_rank\": 4}");

    assert_int_equal(model->kind[0].mamba.heads, 4);
    assert_int_equal(model->kind[0].mamba.inner, 128);
    assert_int_equal(model->kind[0].mamba.state, 64);
    assert_int_equal(model->kind[0].ffn, PLAIT_FFN_NONE);
}

/* LFM2-1.2B: two thirds of 12288, rounded up to a multiple of 256, are 8192. */
static void test_lfm2__has_short_convolutions_and_an_adjusted_width(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"lfm2\", \"hidden_size\": 2048, \"num_hidden_layers\": 3, "
                "\"num_attention_heads\": 32, \"num_heads\": 32, \"vocab_size\": 65536, "
                "\"block_dim\": 2048, \"block_ff_dim\": 12288, "
                "\"block_auto_adjust_ff_dim\": true, \"block_ffn_dim_multiplier\": 1.0, "
                "\"block_multiple_of\": 256, \"conv_L_cache\": 3, \"conv_dim\": 2048, "
                "\"full_attn_idxs\": [2]}");

    assert_kinds(model, "conv conv full");
    assert_int_equal(model->kind[0].conv.width, 2048);
    assert_int_equal(model->kind[0].conv.kernel, 3);
    assert_int_equal(model->kind[0].conv.blocks, 0);
    assert_int_equal(model->kind[0].mlp.width, 8192);
    assert_true(model->kind[1].attention.qk_norm && model->tied);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_recurrent_gemma__repeats_its_block_types(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("recurrent_gemma", MLP ", \"num_key_value_heads\": 1, \"lru_width\": 64, "
                                              "\"attention_window_size\": 32, \"block_types\": "
                                              "[\"recurrent\", \"recurrent\", \"attention\"]"));

    assert_kinds(model, "recurrent recurrent sliding recurrent");
    assert_int_equal(model->kind[0].conv.blocks, 4);
    assert_true(model->kind[0].conv.bias);
    assert_int_equal(model->kind[1].attention.window, 32);
    assert_true(model->kind[1].attention.out_bias && !model->kind[1].attention.qkv_bias);
    assert_int_equal(model->kind[0].mlp.width, 64);
}

/* ---- linear attention ---- */

static void test_kimi__has_delta_attention_latent_experts_and_gated_mla(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"kimi_k3\", \"text_config\": " CONFIG(
                    "kimi_linear",
                    MLP ", \"first_k_dense_replace\": 1, \"num_experts\": 8, "
                        "\"num_experts_per_token\": 2, \"num_shared_experts\": 2, "
                        "\"moe_intermediate_size\": 32, \"routed_expert_hidden_size\": 16, "
                        "\"latent_moe_use_norm\": true, \"q_lora_rank\": 24, "
                        "\"kv_lora_rank\": 16, \"qk_nope_head_dim\": 16, "
                        "\"qk_rope_head_dim\": 8, \"v_head_dim\": 16, "
                        "\"mla_use_output_gate\": true, \"mla_use_nope\": true, "
                        "\"attn_res_block_size\": 2, \"linear_attn_config\": {\"num_heads\": 4, "
                        "\"head_dim\": 16, \"short_conv_kernel_size\": 4, "
                        "\"use_full_rank_gate\": true, \"gate_lower_bound\": -5.0, "
                        "\"full_attn_layers\": [3], \"kda_layers\": [1, 2, 4]}") "}");

    assert_kinds(model, "linear-dense linear-moe full-moe linear-moe");
    assert_int_equal(model->kind[0].delta_net.decay_rank, 16);
    assert_int_equal(model->kind[0].delta_net.gate_rank, 0);
    assert_int_equal(model->kind[0].delta_net.value_heads, 4);
    assert_int_equal(model->kind[1].moe.latent, 16);
    assert_true(model->kind[1].moe.latent_norm && model->kind[2].mla.gate);
    assert_int_equal(model->kind[1].moe.shared_width, 64);
    assert_int_equal(model->residual_block, 2);
    assert_true(model->numerics.rope.base == 0.0);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_minimax_and_ring__have_lightning_attention(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("minimax_text_01",
                                 MLP ", \"num_key_value_heads\": 2, \"num_local_experts\": 4, "
                                     "\"num_experts_per_tok\": 2, \"attn_type_list\": "
                                     "[0, 0, 1, 0], \"postnorm\": true"));

    assert_kinds(model, "linear linear full linear");
    assert_true(model->kind[0].delta_net.plain);
    assert_int_equal(model->kind[0].delta_net.key_heads, 4);
    assert_int_equal(model->kind[0].delta_net.conv, 0);
    model = read_text(*state, CONFIG("bailing_moe_linear",
                                     MLP ", \"num_key_value_heads\": 2, \"num_experts\": 4, "
                                         "\"num_experts_per_tok\": 2, "
                                         "\"moe_intermediate_size\": 32, "
                                         "\"layer_group_size\": 3, \"group_norm_size\": 4, "
                                         "\"use_qk_norm\": true, "
                                         "\"moe_router_enable_expert_bias\": true, "
                                         "\"first_k_dense_replace\": 1"));
    assert_kinds(model, "linear-dense linear-moe full-moe full-moe");
    assert_int_equal(model->kind[1].delta_net.value_heads, 4);
    assert_true(model->kind[1].moe.router_bias);
}

/* ---- more than attention and an MLP ---- */

static void test_deepseek_v4__has_a_ratio_per_layer_and_several_streams(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("deepseek_v4",
                       ", \"num_key_value_heads\": 1, \"head_dim\": 32, \"q_lora_rank\": 24, "
                       "\"o_lora_rank\": 16, \"o_groups\": 2, \"qk_rope_head_dim\": 8, "
                       "\"index_n_heads\": 4, \"index_head_dim\": 16, \"index_topk\": 64, "
                       "\"sliding_window\": 32, \"compress_ratios\": [0, 4, 128, 64, 0], "
                       "\"hc_mult\": 4, \"hc_sinkhorn_iters\": 20, \"num_hash_layers\": 1, "
                       "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, "
                       "\"moe_intermediate_size\": 32, \"num_nextn_predict_layers\": 1"));
    const plait_attention *window = &model->kind[0].attention, *sparse = &model->kind[1].attention,
                          *compressed = &model->kind[2].attention;

    assert_kinds(model, "sliding sparse compressed compressed-2");
    assert_int_equal(window->window, 32);
    assert_int_equal(window->compress, 0);
    assert_int_equal(window->q_rank, 24);
    assert_int_equal(window->out_groups, 2);
    assert_int_equal(window->out_rank, 16);
    assert_true(window->shared_kv && window->sinks && window->rotary);
    assert_int_equal(sparse->compress, 4);
    assert_int_equal(sparse->index_topk, 64);
    assert_int_equal(sparse->window, 32);
    assert_int_equal(compressed->compress, 128);
    assert_int_equal(compressed->index_heads, 0);
    assert_int_equal(model->kind[3].attention.compress, 64);
    assert_int_equal(model->streams, 4);
    assert_int_equal(model->mtp_kind, 0);
    assert_true(model->numerics.rope.fraction == 0.25);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_longcat__counts_each_layer_as_two(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"longcat_flash\", \"hidden_size\": 64, \"num_layers\": 2, "
                "\"num_attention_heads\": 4, \"vocab_size\": 100, \"q_lora_rank\": 24, "
                "\"kv_lora_rank\": 16, \"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 8, "
                "\"v_head_dim\": 16, \"ffn_hidden_size\": 128, \"expert_ffn_hidden_size\": 32, "
                "\"moe_topk\": 3, \"n_routed_experts\": 8, \"zero_expert_num\": 4, "
                "\"zero_expert_type\": \"identity\"}");

    assert_kinds(model, "moe dense moe dense");
    assert_int_equal(model->kind[0].moe.shared_width, 128);
    assert_int_equal(model->kind[0].moe.width, 32);
    assert_int_equal(model->kind[0].moe.zero_experts, 4);
    assert_int_equal(model->kind[1].mlp.width, 128);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_hunyuan__has_lists_of_one_number_per_layer(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("hunyuan_v1_moe",
                       MLP ", \"num_experts\": 8, \"moe_topk\": [2, 2, 1, 2], \"n_group\": false, "
                           "\"moe_intermediate_size\": [32, 32, 32, 48], "
                           "\"num_shared_expert\": [1, 1, 1, 1], \"use_cla\": false, "
                           "\"cla_share_factor\": 2"));

    assert_kinds(model, "moe moe moe-2 moe-3");
    assert_int_equal(model->kind[0].moe.topk, 2);
    assert_int_equal(model->kind[1].moe.topk, 1);
    assert_int_equal(model->kind[2].moe.width, 48);
    assert_int_equal(model->kind[2].moe.shared_width, 48);
}

/* The published config of Hunyuan-7B has lists for experts that it does not have. */
static void test_hunyuan__with_one_expert_is_dense(void **state)
{
    const plait_model *model = read_text(
        *state,
        CONFIG("hunyuan", MLP ", \"num_experts\": 1, \"moe_topk\": [1, 1, 1, 1], "
                              "\"moe_intermediate_size\": [32, 32, 32, 32], "
                              "\"moe_layer_num_skipped\": 0, \"num_shared_expert\": [1, 1, 1, 1]"));

    assert_int_equal(model->kinds, 1);
    assert_int_equal(model->kind[0].ffn, PLAIT_FFN_MLP);
    assert_int_equal(model->kind[0].mlp.width, 128);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_nemotron_nas__has_an_object_per_layer(void **state)
{
#define BLOCK(attention, ffn) "{\"attention\": {" attention "}, \"ffn\": {" ffn "}}"
    const plait_model *model = read_text(
        *state,
        CONFIG(
            "nemotron-nas",
            ", \"block_configs\": [" BLOCK(
                "\"n_heads_in_group\": 2",
                "\"ffn_mult\": "
                "6.0") ", " BLOCK("\"no_op\": true, \"n_heads_in_group\": null",
                                  "\"ffn_mult\": 6.0") ", " BLOCK("\"n_heads_in_group\": 4",
                                                                  "\"ffn_mult\": 6.0") ", " BLOCK("\"n_"
                                                                                                  "heads_"
                                                                                                  "in_"
                                                                                                  "group\""
                                                                                                  ": 2",
                                                                                                  "\"no_"
                                                                                                  "op\": "
                                                                                                  "true") "]"));

    assert_int_equal(model->kinds, 4);
    assert_int_equal(model->kind[0].attention.kv_heads, 2);
    assert_int_equal(model->kind[0].mlp.width, 256);
    assert_int_equal(model->kind[1].mixer, PLAIT_MIXER_NONE);
    assert_int_equal(model->kind[1].norms, 1);
    assert_int_equal(model->kind[2].attention.kv_heads, 1);
    assert_int_equal(model->kind[3].ffn, PLAIT_FFN_NONE);

    // A layer without both parts is none.
    model = read_text(
        *state,
        CONFIG(
            "nemotron-nas",
            ", \"block_configs\": [" BLOCK("\"no_op\": true", "\"no_op\": true") ", " BLOCK(
                "\"n_heads_in_group\": 2",
                "\"intermediate_size\": 96") ", " BLOCK("\"no_op\": true",
                                                        "\"no_op\": true") ", " BLOCK("\"n_heads_"
                                                                                      "in_group\": "
                                                                                      "4",
                                                                                      "\"intermedia"
                                                                                      "te_size\": "
                                                                                      "48") "]"));
#undef BLOCK
    assert_int_equal(model->layers, 2);
    assert_int_equal(model->kind[0].mlp.width, 96);
    assert_int_equal(model->kind[1].mlp.width, 48);
    assert_int_equal(model->kind[1].attention.kv_heads, 1);
}

static void test_kinds__are_at_most_sixteen(void **state)
{
    static const char text[] =
        "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 17, "
        "\"num_attention_heads\": 4, \"vocab_size\": 100, \"intermediate_size\": "
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}";
    model_fixture *test = *state;

    assert_int_equal(parse(test, text), PLAIT_ERROR_RANGE);
    assert_non_null(strstr(test->err.message, "expected at most 16 kinds of layer"));
}

static void test_step3__projects_queries_from_a_latent(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("step3_text", MLP ", \"num_attention_groups\": 1, \"head_dim\": 32, "
                                         "\"share_q_dim\": 24, \"moe_num_experts\": 4, "
                                         "\"moe_top_k\": 2, \"moe_intermediate_size\": 32, "
                                         "\"share_expert_dim\": 48, \"moe_layers_enum\": \"1,2\""));

    assert_kinds(model, "dense moe moe dense");
    assert_int_equal(model->kind[0].attention.q_rank, 24);
    assert_int_equal(model->kind[0].attention.kv_heads, 1);
    assert_int_equal(model->kind[1].moe.shared_width, 48);
}

static void test_step3_5__has_more_heads_in_windowed_layers(void **state)
{
    const plait_model *model = read_text(
        *state,
        CONFIG("step3p5",
               MLP ", \"num_attention_groups\": 2, \"head_dim\": 16, \"sliding_window\": 8, "
                   "\"layer_types\": [\"full_attention\", \"sliding_attention\", "
                   "\"sliding_attention\", \"full_attention\", \"sliding_attention\"], "
                   "\"num_nextn_predict_layers\": 1, \"rope_theta\": [5e6, 1e4, 1e4, 5e6, 1e4], "
                   "\"attention_other_setting\": {\"attention_type\": \"sliding_attention\", "
                   "\"num_attention_heads\": 6, \"num_attention_groups\": 3}, "
                   "\"moe_num_experts\": 4, \"moe_top_k\": 2, \"moe_intermediate_size\": 32, "
                   "\"share_expert_dim\": 48, \"moe_layers_enum\": \"2,3\", "
                   "\"use_head_wise_attn_gate\": true"));

    assert_kinds(model, "full-dense sliding-dense sliding-moe full-moe");
    assert_int_equal(model->kind[0].attention.heads, 4);
    assert_int_equal(model->kind[1].attention.heads, 6);
    assert_int_equal(model->kind[1].attention.kv_heads, 3);
    assert_string_equal(model->kind[model->mtp_kind].name, "sliding-dense");
    assert_near(model->numerics.rope.base, 5e6, 1e-9);
    assert_string_equal(((model_fixture *)*state)->warning,
                        "use_head_wise_attn_gate: the gates of one number per head are not priced");
}

static void test_minimax_m3__warns_of_its_indexer(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("minimax_m3", ", \"intermediate_size\": 32, \"head_dim\": 16, "
                                     "\"dense_intermediate_size\": 128, "
                                     "\"shared_intermediate_size\": 48, "
                                     "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, "
                                     "\"moe_layer_freq\": [0, 1, 1, 1], "
                                     "\"hidden_act\": \"swigluoai\", "
                                     "\"sparse_attention_config\": {\"sparse_index_dim\": 8}"));

    assert_kinds(model, "dense moe moe moe");
    assert_int_equal(model->kind[0].mlp.width, 128);
    assert_int_equal(model->kind[1].moe.width, 32);
    assert_int_equal(model->kind[1].moe.shared_width, 48);
    assert_int_equal(model->numerics.activation, PLAIT_CLAMPED_SWIGLU);
    assert_string_equal(((model_fixture *)*state)->warning,
                        "sparse_attention_config: attention is priced to all keys, without the "
                        "indexer");
}

/* A reward model and a bare decoder have no projection to the vocabulary. */
static void test_headless_model__counts_no_output_projection(void **state)
{
    static const char *const architectures[] = {"LlamaForSequenceClassification", "LlamaModel",
                                                "LlamaForRewardModel"};
    const double with_head = plait_model_params(read_text(*state, CONFIG("llama", MLP))).total;
    char text[512];

    for (size_t a = 0; a < sizeof architectures / sizeof *architectures; a++) {
        snprintf(text, sizeof text,
                 "{\"architectures\": [\"%s\"], \"model_type\": \"llama\", " SIZES MLP "}",
                 architectures[a]);
        assert_near(plait_model_params(read_text(*state, text)).total, with_head - 64.0 * 100.0,
                    0.0);
        assert_non_null(strstr(((model_fixture *)*state)->warning,
                               ": the model has no output projection, which is priced but not "
                               "counted"));
    }
    read_text(*state,
              "{\"architectures\": [\"LlavaForConditionalGeneration\"], \"text_config\": "
              "{\"architectures\": [\"LlamaModel\"], \"model_type\": \"llama\", " SIZES MLP "}}");
    assert_string_equal(((model_fixture *)*state)->warning, "");
    read_text(*state, "{\"architectures\": [\"ChatGLMModel\"], \"model_type\": \"chatglm\", " SIZES
                      ", \"ffn_hidden_size\": 128}");
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

/* Falcon-40B as first published; its config has no width of the MLP. */
static void test_refined_web__is_falcon_with_two_norms(void **state)
{
    const plait_model *model =
        read_text(*state, "{\"model_type\": \"RefinedWeb\", \"hidden_size\": 8192, \"n_layer\": "
                          "60, \"n_head\": 128, \"n_head_kv\": 8, \"vocab_size\": 65024, "
                          "\"parallel_attn\": true, \"bias\": false, \"alibi\": false}");

    assert_int_equal(model->kind[0].norms, 2);
    assert_int_equal(model->kind[0].attention.kv_heads, 8);
    assert_near(plait_model_params(model).total, 41303293952.0, 0.0);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_chatglm__groups_its_keys_only_when_told(void **state)
{
#define CHATGLM(keys)                                                                              \
    CONFIG("chatglm", ", \"ffn_hidden_size\": 128, \"add_qkv_bias\": true, "                       \
                      "\"padded_vocab_size\": 128, \"multi_query_group_num\": 2" keys)
    const plait_model *model = read_text(*state, CHATGLM(", \"multi_query_attention\": true"));

    assert_int_equal(model->kind[0].attention.kv_heads, 2);
    assert_int_equal(model->vocab, 128);
    assert_true(model->kind[0].attention.qkv_bias && !model->kind[0].attention.out_bias);
    model = read_text(*state, CHATGLM(", \"multi_query_attention\": false"));
    assert_int_equal(model->kind[0].attention.kv_heads, 4);
#undef CHATGLM
}

/* Ming's "mlp_depth" counts the matrices of the connector. */
static void test_ming__has_the_depth_of_its_connector_outside(void **state)
{
    const plait_model *model = read_text(
        *state,
        "{\"model_type\": \"bailingmm\", \"mlp_depth\": 2, \"llm_config\": " CONFIG(
            "bailing_moe_v2", MLP ", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
                                  "\"moe_intermediate_size\": 32, \"num_shared_experts\": 1, "
                                  "\"first_k_dense_replace\": 1, "
                                  "\"moe_router_topk_scaling_factor\": 2.5") "}");

    assert_kinds(model, "dense moe moe moe");
    assert_near(model->numerics.router.scale, 2.5, 0.0);
    assert_string_equal(((model_fixture *)*state)->warning, "");
}

static void test_exaone_moe_and_afmoe__spell_layers_in_their_own_way(void **state)
{
    const plait_model *model = read_text(
        *state, CONFIG("exaone_moe", MLP ", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
                                         "\"moe_intermediate_size\": 32, \"sliding_window\": 16, "
                                         "\"is_moe_layer\": [false, true, true, true]"));

    assert_kinds(model, "sliding-dense sliding-moe sliding-moe full-moe");
    model = read_text(*state,
                      CONFIG("afmoe", MLP ", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
                                          "\"moe_intermediate_size\": 32, \"num_dense_layers\": 2, "
                                          "\"num_expert_groups\": 1, \"num_limited_groups\": 1, "
                                          "\"global_attn_every_n_layers\": 2"));
    assert_kinds(model, "sliding-dense full-dense sliding-moe full-moe");
    assert_true(model->kind[0].attention.gate && model->kind[0].norms == 4);
}

/* ---- defaults of absent keys ---- */

#define DEFAULTS(type, keys)                                                                       \
    "{\"model_type\": \"" type "\", \"hidden_size\": 512, \"num_hidden_layers\": 4, "              \
    "\"num_attention_heads\": 32, \"vocab_size\": 100, \"intermediate_size\": 128" keys "}"
#define EXPERTS ", \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32"
#define LATENT                                                                                     \
    ", \"kv_lora_rank\": 8, \"qk_nope_head_dim\": 8, \"qk_rope_head_dim\": 8, \"v_head_dim\": 8"

static void test_glm4_moe_lite__has_one_dense_layer(void **state)
{
    const plait_model *model = read_text(*state, DEFAULTS("glm4_moe_lite", EXPERTS LATENT));

    assert_kinds(model, "dense moe moe moe");
    assert_int_equal(model->kind[1].moe.shared_width, 32);
    assert_near(model->numerics.router.scale, 1.8, 0.0);
    model = read_text(*state, DEFAULTS("deepseek_v3", EXPERTS LATENT));
    assert_kinds(model, "dense dense dense moe");
    assert_near(model->numerics.router.scale, 2.5, 0.0);
}

/* Files of transformers 5 name the attention of each layer, even if all layers have the same. */
static void test_sparse_attention__is_named_per_layer(void **state)
{
    const plait_model *model = read_text(
        *state, DEFAULTS("glm_moe_dsa", EXPERTS LATENT
                         ", \"index_n_heads\": 4, \"index_head_dim\": 16, \"index_topk\": 64, "
                         "\"num_mtp_layers\": 1, \"layer_types\": "
                         "[\"deepseek_sparse_attention\", \"deepseek_sparse_attention\", "
                         "\"deepseek_sparse_attention\", \"deepseek_sparse_attention\"]"));

    assert_kinds(model, "dense dense dense moe");
    assert_int_equal(model->kind[0].mla.index_topk, 64);
    assert_int_equal(model->mtp_layers, 1);
    model = read_text(*state, DEFAULTS("minimax_m3", EXPERTS ", \"layer_types\": ["
                                                             "\"full_attention\", "
                                                             "\"minimax_m3_sparse\", "
                                                             "\"minimax_m3_sparse\", "
                                                             "\"minimax_m3_sparse\"]"));
    assert_int_equal(model->kinds, 1);
}

static void test_qwen3__has_windows_from_layer_28(void **state)
{
    const plait_model *model = read_text(
        *state, "{\"model_type\": \"qwen3\", \"hidden_size\": 512, \"num_hidden_layers\": 32, "
                "\"num_attention_heads\": 32, \"vocab_size\": 100, \"intermediate_size\": 128, "
                "\"use_sliding_window\": true}");

    assert_int_equal(layers_of_kind(model, "full"), 28);
    assert_int_equal(layers_of_kind(model, "sliding"), 4);
}

static void test_experts__have_the_defaults_of_their_class(void **state)
{
    static const struct {
        const char *text, *kinds;
        int shared_width, window;
        double scale;
    } cases[] = {
        {DEFAULTS("exaone_moe", EXPERTS), "sliding-dense sliding-moe sliding-moe full-moe", 32,
         4096, 2.5},
        {DEFAULTS("afmoe", EXPERTS), "sliding-dense sliding-moe sliding-moe full-moe", 64, 1024,
         1.0},
        {DEFAULTS("dots1", EXPERTS), "moe moe moe moe", 0, 0, 1.0},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const plait_model *model = read_text(*state, cases[c].text);

        assert_kinds(model, cases[c].kinds);
        assert_int_equal(model->kind[model->layer_kind[2]].moe.shared_width, cases[c].shared_width);
        assert_int_equal(model->kind[0].attention.window, cases[c].window);
        assert_near(model->numerics.router.scale, cases[c].scale, 0.0);
    }
}

static void test_attention__has_the_defaults_of_its_class(void **state)
{
    static const struct {
        const char *text;
        int head_dim, kv_heads;
        bool qkv_bias, out_bias;
    } cases[] = {
        {DEFAULTS("glm", ""), 128, 2, true, false},
        {DEFAULTS("glm4", ""), 128, 2, true, false},
        {DEFAULTS("glm4_moe", EXPERTS), 16, 8, false, false},
        {DEFAULTS("glm4v_moe_text", EXPERTS), 16, 8, true, false},
        {DEFAULTS("internlm2", ""), 16, 32, true, true},
        {DEFAULTS("stablelm", ""), 16, 32, false, false},
        {DEFAULTS("mistral3", ""), 16, 8, false, false},
        {DEFAULTS("ministral", ""), 16, 8, false, false},
        {DEFAULTS("ministral3", ""), 128, 8, false, false},
        {DEFAULTS("starcoder2", ""), 16, 2, true, true},
        {DEFAULTS("gemma", ""), 256, 16, false, false},
        {DEFAULTS("gemma2", ""), 256, 4, false, false},
        {DEFAULTS("ernie4_5", ""), 128, 2, false, false},
        {DEFAULTS("ernie4_5_moe", EXPERTS), 16, 4, false, false},
        {DEFAULTS("minimax_m2", EXPERTS), 128, 8, false, false},
        {DEFAULTS("smollm3", ""), 16, 4, false, false},
        {DEFAULTS("seed_oss", ""), 128, 8, true, false},
        {DEFAULTS("seed_oss", ", \"attention_out_bias\": true"), 128, 8, true, true},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const plait_attention *attention = &read_text(*state, cases[c].text)->kind[0].attention;

        print_message("%s\n", cases[c].text);
        assert_int_equal(attention->head_dim, cases[c].head_dim);
        assert_int_equal(attention->kv_heads, cases[c].kv_heads);
        assert_int_equal(attention->qkv_bias, cases[c].qkv_bias);
        assert_int_equal(attention->out_bias, cases[c].out_bias);
    }
}

static void test_gemma4__adds_an_embedding_to_each_layer(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("gemma4_text", MLP ", \"hidden_size_per_layer_input\": 16, "
                                                    "\"vocab_size_per_layer_input\": 90"));

    assert_int_equal(model->kind[0].per_layer_dim, 16);
    assert_int_equal(model->per_layer_vocab, 90);
}

/* Layers 2 and 3 use the keys of layers 0 and 1, and have MLPs of 2 x 128. */
static void test_gemma4__reuses_keys_in_its_last_layers(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("gemma4_text", MLP
                                 ", \"num_kv_shared_layers\": 2, \"use_double_wide_mlp\": true, "
                                 "\"layer_types\": [\"sliding_attention\", \"full_attention\", "
                                 "\"sliding_attention\", \"full_attention\"]"));

    assert_kinds(model, "sliding full sliding-2 full-2");
    for (int k = 0; k < 4; k++) {
        assert_int_equal(model->kind[k].attention.reused_kv, k >= 2);
        assert_int_equal(model->kind[k].mlp.width, k >= 2 ? 256 : 128);
    }
}

static void test_hunyuan__reuses_keys_in_all_but_every_few_layers(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("hunyuan", MLP ", \"num_experts\": 1, \"use_cla\": true, "
                                                "\"cla_share_factor\": 3"));

    assert_kinds(model, "dense dense-2 dense-2 dense");
    assert_false(model->kind[0].attention.reused_kv);
    assert_true(model->kind[1].attention.reused_kv);
}

/* The period of 2 begins with layer 1: full, full, shared, full. */
static void test_indexers__are_shared_by_a_list_a_text_or_a_period(void **state)
{
    static const char *const texts[] = {
        CONFIG("glm_moe_dsa", INDEXED ", \"index_topk_freq\": 2, \"index_skip_topk_offset\": 2"),
        CONFIG("glm_moe_dsa", INDEXED ", \"index_topk_pattern\": \"FFSF\""),
        CONFIG("glm_moe_dsa", INDEXED ", \"index_topk_freq\": 4, \"indexer_types\": [\"full\", "
                                      "\"full\", \"shared\", \"full\"]"),
        CONFIG("deepseek_v32", INDEXED ", \"index_topk_freq\": 1")};

    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        const plait_model *model = read_text(*state, texts[t]);

        assert_kinds(model, t == 3 ? "dense dense dense dense" : "dense dense dense-2 dense");
        assert_int_equal(model->kind[0].mla.index_heads, 4);
        for (int k = 0; k < model->kinds; k++)
            assert_int_equal(model->kind[k].mla.index_topk, 64);
        if (t < 3)
            assert_int_equal(model->kind[1].mla.index_heads + model->kind[1].mla.index_dim, 0);
    }
}

static void test_mimo_v2__has_windowed_layers_of_other_sizes(void **state)
{
    const plait_model *model = read_text(
        *state,
        CONFIG("mimo_v2_flash",
               MLP ", \"head_dim\": 24, \"v_head_dim\": 16, \"swa_num_attention_heads\": 8, "
                   "\"swa_num_key_value_heads\": 2, \"swa_head_dim\": 32, \"swa_v_head_dim\": 32, "
                   "\"num_key_value_heads\": 1, \"sliding_window\": 16, \"attention_chunk_size\": "
                   "16, \"sliding_window_size\": 16, \"hybrid_layer_pattern\": [0, 1, 1, 0], "
                   "\"swa_rope_theta\": 10000, \"add_swa_attention_sink_bias\": true, "
                   "\"add_full_attention_sink_bias\": false, \"attention_value_scale\": 0.707"));
    const plait_attention *const full = &model->kind[0].attention;
    const plait_attention *const sliding = &model->kind[1].attention;

    assert_kinds(model, "full sliding sliding full");
    assert_int_equal(full->heads, 4);
    assert_int_equal(full->kv_heads, 1);
    assert_int_equal(full->head_dim, 24);
    assert_int_equal(full->v_dim, 16);
    assert_false(full->sinks);
    assert_int_equal(sliding->heads, 8);
    assert_int_equal(sliding->kv_heads, 2);
    assert_int_equal(sliding->head_dim, 32);
    assert_int_equal(sliding->v_dim, 0); // as wide as the keys
    assert_int_equal(sliding->window, 16);
    assert_true(sliding->sinks);
}

static void test_laguna__has_numbers_of_heads_per_layer(void **state)
{
    const plait_model *model =
        read_text(*state, CONFIG("laguna", MLP ", \"num_key_value_heads\": 2, \"head_dim\": 16, "
                                               "\"num_attention_heads_per_layer\": [4, 6, 6, 4], "
                                               "\"gating\": \"per-head\", \"gating_types\": "
                                               "[\"per_head\"], \"sliding_window\": 8, "
                                               "\"layer_types\": [\"full_attention\", "
                                               "\"sliding_attention\", \"sliding_attention\", "
                                               "\"full_attention\"]"));

    assert_kinds(model, "full sliding sliding full");
    assert_int_equal(model->kind[0].attention.heads, 4);
    assert_int_equal(model->kind[1].attention.heads, 6);
    assert_int_equal(model->kind[1].attention.window, 8);
    assert_false(model->kind[1].attention.gate);
    model = read_text(*state, CONFIG("laguna", MLP ", \"num_key_value_heads\": 2, "
                                                   "\"gating\": \"per-element\""));
    assert_true(model->kind[0].attention.gate);
}

static void test_omni__has_its_decoder_two_levels_deep(void **state)
{
    model_fixture *test = *state;
    const plait_model *model = read_text(
        test, "{\"model_type\": \"qwen3_omni_moe\", \"talker_config\": {\"hidden_size\": 8}, "
              "\"thinker_config\": {\"model_type\": \"qwen3_omni_moe_thinker\", "
              "\"audio_config\": {\"d_model\": 8}, \"text_config\": " CONFIG(
                  "qwen3_omni_moe_text", MLP ", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
                                             "\"moe_intermediate_size\": 32, "
                                             "\"head_dim\": 16") "}}");

    assert_string_equal(model->family, "qwen3_omni_moe_text");
    assert_string_equal(test->warning, "ignored keys: audio_config, talker_config");
}

/* ---- refusals ---- */

typedef struct refusal {
    const char *text;
    plait_status status;
    const char *where;
    const char *message; /* a part of it */
} refusal;

static void test_refusals__say_where_and_why(void **state)
{
    static const refusal cases[] = {
        {CONFIG("t5", MLP), PLAIT_ERROR_SCHEMA, "/model_type",
         "found t5 (an encoder-decoder model)"},
        {CONFIG("bert", MLP), PLAIT_ERROR_SCHEMA, "/model_type",
         "found bert (an encoder-only model)"},
        {CONFIG("whisper", MLP), PLAIT_ERROR_SCHEMA, "/model_type", "found whisper"},
        {CONFIG("zamba2", MLP), PLAIT_ERROR_SCHEMA, "/model_type",
         "found zamba2 (one block of attention that several layers share)"},
        {CONFIG("brand_new", MLP ", \"is_encoder_decoder\": true"), PLAIT_ERROR_SCHEMA,
         "/is_encoder_decoder", "expected a decoder-only model, found an encoder-decoder model"},
        {"{\"model_type\": \"any_vision\", \"vision_config\": {}}", PLAIT_ERROR_SCHEMA, "",
         "found only a vision tower"},
        {"{\"architectures\": [\"X\"]}", PLAIT_ERROR_SCHEMA, "", "\"hidden_size\""},
        {"{\"text_config\": {\"text_config\": {\"vocab_size\": 9}}}", PLAIT_ERROR_SCHEMA,
         "/text_config/text_config", "expected the key \"hidden_size\", found none"},
        {CONFIG("llama", ""), PLAIT_ERROR_SCHEMA, "", "\"intermediate_size\""},
        {CONFIG("brand_new", ""), PLAIT_ERROR_SCHEMA, "", "\"intermediate_size\""},
        {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2}",
         PLAIT_ERROR_SCHEMA, "", "expected the key \"vocab_size\", found none"},
        {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
         "\"vocab_size\": 9, "
         "\"num_attention_heads\": 3}",
         PLAIT_ERROR_RANGE, "/head_dim",
         "expected a number of heads that divides the width of 64 into heads of at most 16384, or "
         "the "
         "key \"head_dim\", found 3 heads"},
        {CONFIG("llama", MLP ", \"num_key_value_heads\": 3"), PLAIT_ERROR_RANGE,
         "/num_key_value_heads", "expected a divisor of the 4 heads, found 3"},
        {CONFIG("llama", ", \"intermediate_size\": -8"), PLAIT_ERROR_RANGE, "/intermediate_size",
         "found -8"},
        {CONFIG("llama", ", \"intermediate_size\": \"x\""), PLAIT_ERROR_SCHEMA,
         "/intermediate_size", "found \"x\""},
        {CONFIG("llama", MLP ", \"layer_types\": [\"full_attention\"]"), PLAIT_ERROR_SCHEMA,
         "/layer_types", "expected one entry for each of the 4 layers, found 1"},
        {CONFIG("llama",
                MLP ", \"layer_types\": [\"full_attention\", \"full_attention\", \"conv\", "
                    "\"conv\"]"),
         PLAIT_ERROR_SCHEMA, "", "\"conv_L_cache\""},
        {CONFIG("mixtral", MLP ", \"num_key_value_heads\": 4, \"num_local_experts\": 2, "
                               "\"num_experts_per_tok\": 3"),
         PLAIT_ERROR_RANGE, "/num_experts_per_tok", "expected at most the 2 experts, found 3"},
        {CONFIG("deepseek_v3", MLP ", \"kv_lora_rank\": 8"), PLAIT_ERROR_SCHEMA, "",
         "\"qk_nope_head_dim\""},
        {CONFIG("opt", ", \"ffn_dim\": 256, \"word_embed_proj_dim\": 32"), PLAIT_ERROR_SCHEMA,
         "/word_embed_proj_dim", "expected the hidden width 64, found 32"},
        {CONFIG("brand_new", MLP ", \"q_lora_rank\": 8, \"index_n_heads\": 2, "
                                 "\"qk_rope_head_dim\": 4"),
         PLAIT_ERROR_SCHEMA, "/q_lora_rank",
         "expected only sizes that plait can price, found also \"q_lora_rank\", index_n_heads, "
         "qk_rope_head_dim, unsupported for brand_new"},
        {CONFIG("llama", MLP ", \"hc_mult\": 4"), PLAIT_ERROR_SCHEMA, "/hc_mult",
         "found also \"hc_mult\", unsupported for llama"},
#define EXTRA(key, value)                                                                          \
    {CONFIG("llama", MLP ", \"" key "\": " value), PLAIT_ERROR_SCHEMA, "/" key, "\"" key "\""}
        EXTRA("rope_head_dim", "64"),
        EXTRA("router_hidden_dim", "64"),
        EXTRA("num_register_tokens", "4"),
        EXTRA("init_layers", "2"),
        EXTRA("ffn_dim_multiplier", "1.3"),
        EXTRA("multiple_of", "256"),
        EXTRA("adapter_bottleneck", "64"),
        EXTRA("numExperts", "8"),
        EXTRA("expertSize", "512"),
        EXTRA("full_attn_mod", "2"),
#undef EXTRA
        {"{\"model_type\": \"llava\", \"num_extra_layers\": 4, \"text_config\": " CONFIG("llama",
                                                                                         MLP) "}",
         PLAIT_ERROR_SCHEMA, "/num_extra_layers", "\"num_extra_layers\""},
        {CONFIG("llama", MLP ", \"mlp_depth\": 2"), PLAIT_ERROR_SCHEMA, "/mlp_depth",
         "\"mlp_depth\""},
        {"{\"model_type\": \"llava\", \"adapter_dim\": 4, \"text_config\": " CONFIG("llama",
                                                                                    MLP) "}",
         PLAIT_ERROR_SCHEMA, "/adapter_dim", "\"adapter_dim\""},
        {CONFIG("brand_new", MLP ", \"rms_norm_eps\": 1e-5, \"hidden_act\": \"relu2\""),
         PLAIT_ERROR_SCHEMA, "/hidden_act", "a form of gelu), found \"relu2\""},
        {CONFIG("qwen", ", \"intermediate_size\": 1"), PLAIT_ERROR_RANGE, "/intermediate_size",
         "expected at least 2, found 1"},
        {CONFIG("llama", MLP ", \"ffn_mult\": 1.5"), PLAIT_ERROR_SCHEMA, "/ffn_mult",
         "\"ffn_mult\""},
        {CONFIG("llama", MLP ", \"hybrid_override_pattern\": \"M*M*\""), PLAIT_ERROR_SCHEMA,
         "/hybrid_override_pattern", "\"hybrid_override_pattern\""},
        {CONFIG("brand_new", MLP ", \"compress_ratios\": [0, 4, 4, 4]"), PLAIT_ERROR_SCHEMA,
         "/compress_ratios", "\"compress_ratios\""},
        {CONFIG("brand_new", MLP ", \"sliding_window\": 32"), PLAIT_ERROR_SCHEMA, "/sliding_window",
         "\"sliding_window\""},
        {CONFIG("brand_new", MLP ", \"attn_type_list\": [0, 1, 0, 1]"), PLAIT_ERROR_SCHEMA,
         "/attn_type_list", "\"attn_type_list\""},
        {CONFIG("brand_new", MLP ", \"layer_types\": [\"linear_attention\", \"full_attention\", "
                                 "\"full_attention\", \"full_attention\"]"),
         PLAIT_ERROR_SCHEMA, "/linear_num_value_heads",
         "expected the sizes of the linear attention"},
        {CONFIG("glm_moe_dsa", MLP ", \"indexer_types\": [\"full\", \"shared\", \"full\", "
                                   "\"shared\"]"),
         PLAIT_ERROR_SCHEMA, "/indexer_types", "\"indexer_types\""},
        {CONFIG("gemma4_text", MLP ", \"num_kv_shared_layers\": 4"), PLAIT_ERROR_RANGE,
         "/num_kv_shared_layers", "found 4"},
        {CONFIG("gemma3n_text", MLP), PLAIT_ERROR_SCHEMA, "/model_type",
         "(predictions between layers (AltUp))"},
        {CONFIG("glm_moe_dsa", INDEXED ", \"indexer_types\": [\"full\"]"), PLAIT_ERROR_SCHEMA,
         "/indexer_types", "expected one entry for each of the 4 layers, found 1"},
        {CONFIG("llama", MLP ", \"v_head_dim\": 8"), PLAIT_ERROR_SCHEMA, "/v_head_dim",
         "(values of another width than keys)"},
        {HYBRID("nemotron_h", "\"hybrid_override_pattern\": \"M*X-\""), PLAIT_ERROR_SCHEMA,
         "/hybrid_override_pattern", "expected the letters M, E, * and -, found 'X'"},
        {HYBRID("nemotron_h", "\"hybrid_override_pattern\": \"M*\""), PLAIT_ERROR_SCHEMA,
         "/hybrid_override_pattern", "expected one letter for each of the 4 layers, found 2"},
        {HYBRID("nemotron_h", "\"layers_block_type\": [\"mamba\", \"moe\", \"mlp\", \"ham\"]"),
         PLAIT_ERROR_SCHEMA, "/layers_block_type/3", "\"ham\""},
        {HYBRID("nemotron_h", "\"mtp_hybrid_override_pattern\": \"E*\", "
                              "\"hybrid_override_pattern\": \"M*E-\""),
         PLAIT_ERROR_SCHEMA, "/mtp_hybrid_override_pattern",
         "expected a token mixer and a feed-forward part"},
        {HYBRID("granitemoehybrid", "\"layer_types\": [\"mamba\", \"moe\", \"mamba\", \"mamba\"]"),
         PLAIT_ERROR_SCHEMA, "/layer_types/1", "expected a token mixer"},
        {HYBRID("granitemoehybrid",
                "\"layer_types\": [\"hybrid\", \"mamba\", \"mamba\", \"mamba\"]"),
         PLAIT_ERROR_SCHEMA, "/layer_types/0", "found \"hybrid\""},
        {HYBRID("granitemoehybrid", "\"sizes\": 1"), PLAIT_ERROR_SCHEMA, "",
         "expected layer_types or attn_layer_indices"},
        {HYBRID("bamba", "\"num_key_value_heads\": 2, \"attn_layer_indices\": [4]"),
         PLAIT_ERROR_RANGE, "/attn_layer_indices/0", "found 4"},
        {CONFIG("bamba", MLP
                ", \"num_key_value_heads\": 2, \"attn_layer_indices\": [0], \"mamba_n_heads\": 3, "
                "\"mamba_d_head\": \"auto\""),
         PLAIT_ERROR_RANGE, "/mamba_d_head", "gives 3 heads a width"},
        {CONFIG("bamba", MLP
                ", \"num_key_value_heads\": 2, \"attn_layer_indices\": [0], \"mamba_n_heads\": 0"),
         PLAIT_ERROR_RANGE, "/mamba_n_heads", "found 0"},
        {CONFIG("bamba", MLP
                ", \"num_key_value_heads\": 2, \"attn_layer_indices\": [0], \"mamba_n_heads\": 4, "
                "\"mamba_n_groups\": 3"),
         PLAIT_ERROR_RANGE, "/mamba_n_groups", "expected a divisor of the 4 heads, found 3"},
        {CONFIG("minimax", MLP ", \"attn_type_list\": [0, 1, 2, 0]"), PLAIT_ERROR_RANGE,
         "/attn_type_list/2", "found 2"},
        {CONFIG("minimax", MLP ", \"attn_type_list\": [0, 1]"), PLAIT_ERROR_SCHEMA,
         "/attn_type_list", "expected one entry for each of the 4 layers, found 2"},
        {CONFIG("kimi_linear", MLP ", \"linear_attn_config\": {\"full_attn_layers\": [0]}"),
         PLAIT_ERROR_RANGE, "/linear_attn_config/full_attn_layers/0", "found 0"},
        {CONFIG("kimi_linear", MLP ", \"linear_attn_config\": {\"full_attn_layers\": [4], "
                                   "\"kda_layers\": [1, 4]}"),
         PLAIT_ERROR_RANGE, "/linear_attn_config/kda_layers/1",
         "expected each layer in one list, found layer 4 in two"},
        {CONFIG("deepseek_v4", MLP ", \"compress_ratios\": [0, 4]"), PLAIT_ERROR_SCHEMA,
         "/compress_ratios", "expected one entry for each of the 4 layers, found 2"},
        {CONFIG("hunyuan_v1_moe", MLP ", \"num_experts\": 4, \"moe_topk\": [1, 1]"),
         PLAIT_ERROR_SCHEMA, "/moe_topk", "expected one number for each of the 4 layers, found 2"},
        {CONFIG("llama", MLP ", \"num_key_value_heads\": [4, 4, 4, 0]"), PLAIT_ERROR_RANGE,
         "/num_key_value_heads/3", "found 0"},
        {CONFIG("deci", ", \"block_configs\": [{\"attention\": {\"no_op\": true}, \"ffn\": "
                        "{\"ffn_mult\": 1}}]"),
         PLAIT_ERROR_SCHEMA, "/block_configs", "for each of the 4 layers, found 1"},
        {"{\"model_type\": \"deci\", \"hidden_size\": 64, \"num_hidden_layers\": 1, "
         "\"num_attention_heads\": 4, \"vocab_size\": 100, \"block_configs\": [{\"attention\": "
         "{\"no_op\": true}, \"ffn\": {\"no_op\": true}}]}",
         PLAIT_ERROR_SCHEMA, "/block_configs", "expected a layer with attention or an MLP"},
        {CONFIG("step3_text", MLP ", \"moe_num_experts\": 4, \"moe_layers_enum\": \"1,4\""),
         PLAIT_ERROR_RANGE, "/moe_layers_enum", "expected layers from 0 to 3, found '4'"},
        {CONFIG("mixtral", MLP ", \"num_key_value_heads\": 4, \"num_local_experts\": 8, "
                               "\"num_experts\": 16, \"num_experts_per_tok\": 2"),
         PLAIT_ERROR_SCHEMA, "/num_experts", "\"num_experts\""},
        {"{\"model_type\": 3}", PLAIT_ERROR_SCHEMA, "/model_type", "expected a string"},
        {"{\"model_type\": \"llama\", \"text_config\": 3}", PLAIT_ERROR_SCHEMA, "/text_config",
         "expected an object"},
        {"{\"model_type\": \"llama\", \"text_config\": {\"hidden_size\": 0}}", PLAIT_ERROR_RANGE,
         "/text_config/hidden_size", "found 0"},
    };
    model_fixture *test = *state;

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char where[128];

        snprintf(where, sizeof where, "dir/Some-Model/config.json%s%s",
                 cases[c].where[0] != '\0' ? ":" : "", cases[c].where);
        if (parse(test, cases[c].text) == PLAIT_OK)
            fail_msg("not refused: %s", cases[c].text);
        if (strstr(test->err.message, cases[c].message) == NULL)
            assert_string_equal(test->err.message, cases[c].message);
        assert_string_equal(test->err.where, where);
        assert_int_equal(test->err.status, cases[c].status);
    }
}

/* Each failing request for memory is an error, and none leaks or crashes. */
static void test_parse__survives_every_failing_allocation(void **state)
{
    static const char text[] = CONFIG("brand_new", MLP ", \"magic_level\": 7");
    model_fixture *test = *state;
    plait_status status = PLAIT_ERROR_NOMEM;

    for (long calls = 0; calls < 100 && status != PLAIT_OK; calls++) {
        plait_arena *arena = plait_arena_new();

        plait_arena_fail_after(calls);
        status = plait_model_parse(text, strlen(text), "x", arena, &test->model, &test->warning,
                                   &test->err);
        plait_arena_fail_after(-1);
        plait_arena_free(arena);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
    }
    assert_int_equal(status, PLAIT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_llama__without_kv_heads_and_head_dim),
        TEST(test_llama__takes_its_flags_from_the_file),
        TEST(test_mistral__has_a_window_unless_it_is_null),
        TEST(test_qwen2__has_biases_on_q_k_and_v_by_class),
        TEST(test_qwen2__uses_its_window_only_when_told),
        TEST(test_gpt2__is_tied_has_biases_and_learned_positions),
        TEST(test_gptj__shares_one_norm_and_has_a_biased_head),
        TEST(test_gpt_neox__is_parallel_with_two_norms),
        TEST(test_bloom__has_a_norm_behind_the_embedding),
        TEST(test_opt__has_two_more_rows_than_positions),
        TEST(test_falcon__has_one_key_head_and_one_norm),
        TEST(test_mpt__has_positions_unless_it_has_alibi),
        TEST(test_mamba__has_a_rank_of_its_own_choice),
        TEST(test_cohere__shares_one_norm_without_bias),
        TEST(test_gemma2__alternates_windows_and_has_four_norms),
        TEST(test_gemma3__has_every_sixth_layer_full),
        TEST(test_layer_types__win_over_the_class),
        TEST(test_gpt_oss__has_sinks_biases_and_every_other_layer_windowed),
        TEST(test_llama4__chunks_three_layers_of_four),
        TEST(test_llama4__interleaves_dense_layers),
        TEST(test_mixtral__has_experts_of_the_intermediate_size),
        TEST(test_qwen3_moe__has_experts_where_step_and_list_say),
        TEST(test_qwen2_moe__has_a_gated_shared_expert),
        TEST(test_deepseek_v3__has_dense_layers_first_and_one_mtp_module),
        TEST(test_deepseek_v2_lite__projects_q_directly_and_has_no_groups),
        TEST(test_kimi_k2__goes_by_its_type_not_its_architecture),
        TEST(test_deepseek_v32_and_glm_5__have_an_indexer),
        TEST(test_glm4_moe__has_biases_on_q_k_and_v_only),
        TEST(test_gemma4__has_two_head_sizes_and_an_mlp_beside_the_experts),
        TEST(test_gemma4__without_experts_has_an_mlp),
        TEST(test_qwen3_5__mixes_linear_and_gated_attention),
        TEST(test_nested_decoder__is_read_and_what_is_around_it_ignored),
        TEST(test_known_class__warns_of_parts_that_have_no_price),
        TEST(test_unknown_class__with_familiar_keys_is_read_like_llama),
        TEST(test_assume_llama__ignores_sizes_with_a_warning),
        TEST(test_known_class__may_repeat_itself),
        TEST(test_ernie_4_5__begins_its_experts_at_an_index),
        TEST(test_minimax__has_dense_layers_of_their_own_width),
        TEST(test_unknown_class__of_the_older_kind_has_plain_mlps),
        TEST(test_arcee_apertus_and_bitnet__have_squared_relu_or_xielu),
        TEST(test_qwen__counts_gate_and_up_projection_in_one_width),
        TEST(test_gemma3__has_a_vocabulary_and_heads_by_class),
        TEST(test_falcon__may_have_one_norm_in_the_new_architecture),
        TEST(test_harmless_keys__of_phi_4_mini_and_minicpm_are_silent),
        TEST(test_warning__names_twenty_keys_and_counts_the_others),
        TEST(test_unknown_class__of_which_the_file_says_nothing_more_is_gated),
        TEST(test_class__is_that_of_the_architecture_where_no_type_is_given),
        TEST(test_nemotron_h__has_one_part_and_one_norm_per_layer),
        TEST(test_granite_4__has_a_shared_mlp_beside_or_instead_of_experts),
        TEST(test_bamba_jamba_and_falcon_h1__mix_attention_and_mamba),
        TEST(test_mamba2__is_described_by_the_common_names),
        TEST(test_lfm2__has_short_convolutions_and_an_adjusted_width),
        TEST(test_recurrent_gemma__repeats_its_block_types),
        TEST(test_kimi__has_delta_attention_latent_experts_and_gated_mla),
        TEST(test_minimax_and_ring__have_lightning_attention),
        TEST(test_deepseek_v4__has_a_ratio_per_layer_and_several_streams),
        TEST(test_longcat__counts_each_layer_as_two),
        TEST(test_hunyuan__has_lists_of_one_number_per_layer),
        TEST(test_hunyuan__with_one_expert_is_dense),
        TEST(test_nemotron_nas__has_an_object_per_layer),
        TEST(test_kinds__are_at_most_sixteen),
        TEST(test_step3__projects_queries_from_a_latent),
        TEST(test_step3_5__has_more_heads_in_windowed_layers),
        TEST(test_minimax_m3__warns_of_its_indexer),
        TEST(test_headless_model__counts_no_output_projection),
        TEST(test_refined_web__is_falcon_with_two_norms),
        TEST(test_chatglm__groups_its_keys_only_when_told),
        TEST(test_ming__has_the_depth_of_its_connector_outside),
        TEST(test_exaone_moe_and_afmoe__spell_layers_in_their_own_way),
        TEST(test_glm4_moe_lite__has_one_dense_layer),
        TEST(test_sparse_attention__is_named_per_layer),
        TEST(test_qwen3__has_windows_from_layer_28),
        TEST(test_experts__have_the_defaults_of_their_class),
        TEST(test_attention__has_the_defaults_of_its_class),
        TEST(test_gemma4__adds_an_embedding_to_each_layer),
        TEST(test_gemma4__reuses_keys_in_its_last_layers),
        TEST(test_hunyuan__reuses_keys_in_all_but_every_few_layers),
        TEST(test_indexers__are_shared_by_a_list_a_text_or_a_period),
        TEST(test_mimo_v2__has_windowed_layers_of_other_sizes),
        TEST(test_laguna__has_numbers_of_heads_per_layer),
        TEST(test_omni__has_its_decoder_two_levels_deep),
        TEST(test_refusals__say_where_and_why),
        TEST(test_parse__survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
