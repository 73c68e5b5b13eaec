/* test_model_hf_encoder.c - encoders of images and audio: counts by class, refusals, round trip */
#include "support/assert_near.h"

#include <stdio.h>
#include <string.h>

#include "io/model/model_file.h"
#include "plait/data.h"
#include "plait/lowlevel/block.h"
#include "plait/model.h"
#include "plait/serve.h"

typedef struct fixture {
    plait_arena *arena;
    plait_model model;
    const char *warning;
    plait_error err;
} fixture;

static int set_up(void **state)
{
    static fixture test;

    test = (fixture){.arena = plait_arena_new()};
    *state = &test;
    return test.arena == NULL;
}

static int tear_down(void **state)
{
    fixture *test = *state;

    plait_arena_free(test->arena);
    return 0;
}

/*
 * A file of class `type` whose decoder is `hidden` wide, with further keys. An omni model has the
 * keys of such a file in its thinker_config.
 */
static const plait_encoder *read(fixture *test, plait_modality modality, const char *type,
                                 int hidden, const char *keys)
{
    static char text[2048];
    const bool omni = strstr(type, "omni") != NULL;

    snprintf(text, sizeof text,
             "%s{\"model_type\": \"%s\", \"text_config\": {\"model_type\": \"llama\", "
             "\"hidden_size\": %d, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
             "\"vocab_size\": 100, \"intermediate_size\": 128}, %s}%s",
             omni ? "{\"model_type\": \"qwen3_omni_moe\", \"thinker_config\": " : "", type, hidden,
             keys, omni ? "}" : "");
    if (plait_model_parse(text, strlen(text), "x/config.json", test->arena, &test->model,
                          &test->warning, &test->err) != PLAIT_OK)
        fail_msg("%s: %s", test->err.where, test->err.message);
    return &test->model.encoder[modality];
}

#define QWEN3_VL                                                                                   \
    "\"vision_config\": {\"model_type\": \"qwen3_vl\", \"deepstack_visual_indexes\": [8, 16, "     \
    "24], \"depth\": 27, \"hidden_size\": 1152, \"in_channels\": 3, \"intermediate_size\": 4304, " \
    "\"num_heads\": 16, \"num_position_embeddings\": 2304, \"out_hidden_size\": 4096, "            \
    "\"patch_size\": 16, \"spatial_merge_size\": 2, \"temporal_patch_size\": 2}"

/* Qwen3-VL-8B has 8,767,123,696 parameters, 8,190,735,360 of them in the decoder; ViT's class token
 * of 1152 numbers is counted as well. */
static void test_qwen3_vl__has_as_many_parameters_as_published(void **state)
{
    fixture *test = *state;
    const plait_encoder *encoder = read(test, PLAIT_VISION, "qwen3_vl", 4096, QWEN3_VL);

    assert_string_equal(test->warning, "");
    assert_near(plait_encoder_params(encoder), 8767123696.0 - 8190735360.0 + 1152.0, 0.5);
    assert_near(plait_model_params(&test->model).encoders, plait_encoder_params(encoder), 0.0);
    assert_int_equal(encoder->model->layers, 27);
    assert_int_equal(encoder->patches_per_token, 4);
    assert_near(plait_encoder_patches(encoder), 4096.0, 0.0);
}

/* Products: 2 x 4096 patches x 27 (4 h^2 + 2 h 4304); scores and sums: 4 x 4096^2 h x 27; patches:
 * 2 x 4096 x 1536 h; four mergers on 1024 tokens: 2 x 1024 x 4 (4608^2 + 4608 x 4096) and biases. */
static void test_flops__by_hand(void **state)
{
    fixture *test = *state;
    const plait_encoder *encoder = read(test, PLAIT_VISION, "qwen3_vl", 4096, QWEN3_VL);
    const double h = 1152.0;
    const double by_hand = 2.0 * 4096.0 * 27.0 * (4.0 * h * h + 2.0 * h * 4304.0) +
                           4.0 * 4096.0 * 4096.0 * h * 27.0 + 2.0 * 4096.0 * 1536.0 * h +
                           2.0 * 1024.0 * encoder->projector_params;

    assert_near(plait_encoder_flops(encoder, 4096.0), by_hand, 1e-5 * by_hand);
}

/* ViT-L/14 on 336 x 336 pixels: 576 patches of 588 numbers, 24 layers of width 1024 with MLPs of
 * 4096. 2 x 576 x 24 (4 h^2 + 2 h 4096) + 4 x 576^2 h 24 + 2 x 576 x 588 h = 381 GFLOP, and a
 * projector of h to 4096 to 4096 with biases. */
static void test_flops__of_vit_l_14_at_336_pixels(void **state)
{
    fixture *test = *state;
    const plait_encoder *encoder =
        read(test, PLAIT_VISION, "llava", 4096,
             "\"vision_config\": {\"hidden_size\": 1024, \"image_size\": 336, "
             "\"intermediate_size\": 4096, \"model_type\": \"clip_vision_model\", "
             "\"num_attention_heads\": 16, \"num_hidden_layers\": 24, \"patch_size\": 14, "
             "\"projection_dim\": 768}");
    const double h = 1024.0, projector = h * 4096.0 + 4096.0 * 4096.0 + 2.0 * 4096.0;
    const double vit = 2.0 * 576.0 * 24.0 * (4.0 * h * h + 2.0 * h * 4096.0) +
                       4.0 * 576.0 * 576.0 * h * 24.0 + 2.0 * 576.0 * 588.0 * h;

    assert_near(plait_encoder_patches(encoder), 576.0, 0.0);
    assert_near(vit, 381.2e9, 0.1e9);
    assert_near(plait_encoder_flops(encoder, 576.0), vit + 2.0 * 576.0 * projector, 1e-5 * vit);
}

/* Gemma-3-4B has 4,300,079,472 parameters, 3,880,263,168 of them in the decoder. */
static void test_gemma3__scales_images_to_256_tokens(void **state)
{
    fixture *test = *state;
    const plait_encoder *encoder =
        read(test, PLAIT_VISION, "gemma3", 2560,
             "\"mm_tokens_per_image\": 256, \"vision_config\": {\"hidden_size\": 1152, "
             "\"image_size\": 896, \"intermediate_size\": 4304, \"num_attention_heads\": 16, "
             "\"model_type\": \"siglip_vision_model\", \"num_hidden_layers\": 27, "
             "\"patch_size\": 14, \"vision_use_head\": false}");

    assert_near(plait_encoder_params(encoder), 4300079472.0 - 3880263168.0 + 1152.0, 0.5);
    assert_near(plait_encoder_patches(encoder) / encoder->patches_per_token, 256.0, 0.0);
}

typedef struct expectation {
    plait_modality modality;
    const char *type;
    int hidden;
    const char *keys;
    double layers, embedding, projector;
} expectation;

static void check(fixture *test, const expectation *e)
{
    const plait_encoder *encoder = read(test, e->modality, e->type, e->hidden, e->keys);

    if (encoder->model == NULL)
        fail_msg("%s: %s", e->type, test->warning);
    const plait_params params = plait_model_params(encoder->model);
    const double h = encoder->model->hidden;
    const double norm = encoder->model->layer_norm ? 2.0 * h : h;

    print_message("%s\n", e->type);
    assert_near(params.embedding, e->embedding, 0.5);
    assert_near(params.total - params.embedding - norm, e->layers, 0.5);
    assert_near(encoder->projector_params, e->projector, 0.5);
}

/* h is 64 in each encoder with 2 layers, 4 heads and MLPs of 128; d is 32. A layer with biases and
 * LayerNorm has 4 (h^2 + h) + 2 h 128 + 128 + h + 4 h = 16640 + 16576 + 256 = 33472 parameters. */
static void test_classes__by_hand(void **state)
{
    static const expectation expectations[] = {
        {PLAIT_VISION, "qwen2_vl", 32,
         "\"vision_config\": {\"depth\": 2, \"embed_dim\": 64, \"hidden_size\": 32, \"mlp_ratio\": "
         "2, \"num_heads\": 4, \"in_chans\": 3, \"patch_size\": 14, \"spatial_merge_size\": 2, "
         "\"spatial_patch_size\": 14, \"temporal_patch_size\": 2}",
         2 * 33472, 1176 * 64 + 64 + 64, 256 * 256 + 256 + 256 * 32 + 32},
        {PLAIT_VISION, "kimi_k3", 32,
         "\"vision_config\": {\"vt_hidden_size\": 64, \"vt_num_hidden_layers\": 2, "
         "\"vt_num_attention_heads\": 4, \"qkv_hidden_size\": 96, \"vt_intermediate_size\": 128, "
         "\"merge_kernel_size\": [2, 2], \"patch_size\": 14, \"attn_bias\": false}",
         2 * (4 * 64 * 96 + 2 * 64 * 128 + 2 * 64), 588 * 64 + 64 + 64 + 4096 * 64,
         256 * 256 + 256 * 32 + 32},
        {PLAIT_VISION, "mistral3", 32,
         "\"spatial_merge_size\": 2, \"multimodal_projector_bias\": false, \"vision_config\": "
         "{\"model_type\": \"pixtral\", \"head_dim\": 16, \"hidden_size\": 64, \"image_size\": "
         "1540, \"intermediate_size\": 128, \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
         "\"patch_size\": 14}",
         2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64), 588 * 64 + 64 + 64 + 64,
         256 * 64 + 64 * 32 + 32 * 32},
        {PLAIT_VISION, "llama4", 32,
         "\"vision_config\": {\"model_type\": \"llama4_vision_model\", \"hidden_size\": 64, "
         "\"image_size\": 28, \"intermediate_size\": 128, \"num_attention_heads\": 4, "
         "\"num_hidden_layers\": 2, \"patch_size\": 14, \"pixel_shuffle_ratio\": 0.5, "
         "\"projector_input_dim\": 48, \"projector_output_dim\": 48, \"vision_output_dim\": 48}",
         2 * 33472, 588 * 64 + 64 + 64 + 4 * 64 + 128, 256 * 48 + 48 * 48 + 48 * 32},
        {PLAIT_VISION, "llava", 32,
         "\"vision_config\": {\"model_type\": \"clip_vision_model\", \"hidden_size\": 64, "
         "\"image_size\": 28, \"intermediate_size\": 128, \"num_attention_heads\": 4, "
         "\"num_hidden_layers\": 2, \"patch_size\": 14, \"projection_dim\": 9, \"vocab_size\": 99}",
         2 * 33472, 588 * 64 + 64 + 64 + 4 * 64 + 128, 64 * 32 + 32 + 32 * 32 + 32},
        {PLAIT_VISION, "minimax_m3_vl", 32,
         "\"projector_hidden_size\": 40, \"vision_config\": {\"model_type\": "
         "\"clip_vision_model\", \"hidden_size\": 64, \"image_size\": 28, \"intermediate_size\": "
         "128, \"num_attention_heads\": 4, \"num_hidden_layers\": 2, \"patch_size\": 14, "
         "\"img_token_compression_config\": {\"spatial_merge_size\": 2, \"temporal_patch_size\": "
         "2}}",
         2 * 33472, 1176 * 64 + 64 + 64 + 128,
         64 * 40 + 40 + 40 * 32 + 32 + 128 * 40 + 40 + 40 * 32 + 32},
        {PLAIT_VISION, "gemma4", 32,
         "\"vision_config\": {\"model_type\": \"gemma4_vision\", \"head_dim\": 16, "
         "\"hidden_size\": 64, \"intermediate_size\": 128, \"num_attention_heads\": 4, "
         "\"num_hidden_layers\": 2, \"patch_size\": 16, \"pooling_kernel_size\": 3, "
         "\"position_embedding_size\": 10, \"global_head_dim\": 16}",
         2 * (4 * 64 * 64 + 3 * 64 * 128 + 4 * 64 + 2 * 16), 768 * 64 + 64 + 64 + 20 * 64, 64 * 32},
        {PLAIT_AUDIO, "gemma4", 32,
         "\"audio_config\": {\"model_type\": \"gemma4_audio\", \"hidden_size\": 64, "
         "\"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"conv_kernel_size\": 5, "
         "\"subsampling_conv_channels\": [8, 4], \"output_proj_dims\": 48}",
         2 * (24 * 64 * 64 + 14 * 64 + 16), 8 * 64 + 64 + 64,
         10 * 8 + 9 * 8 * 4 + 4 + 64 * 48 + 48 + 48 * 32},
        {PLAIT_AUDIO, "qwen2_audio", 32,
         "\"audio_config\": {\"model_type\": \"qwen2_audio_encoder\", \"d_model\": 64, "
         "\"encoder_layers\": 2, \"encoder_attention_heads\": 4, \"encoder_ffn_dim\": 128, "
         "\"num_mel_bins\": 80, \"max_source_positions\": 1500}",
         2 * 33472, 3 * 144 * 64 + 64 + 64 + 1500 * 64, 64 * 32 + 32},
        {PLAIT_AUDIO, "qwen3_omni_moe_thinker", 32,
         "\"audio_config\": {\"model_type\": \"qwen3_omni_moe_audio_encoder\", \"d_model\": 64, "
         "\"encoder_layers\": 2, \"encoder_attention_heads\": 4, \"encoder_ffn_dim\": 128, "
         "\"downsample_hidden_size\": 10, \"output_dim\": 32}",
         2 * 33472, 160 * 64 + 64 + 64, 64 * 64 + 64 + 64 * 32 + 32 + 90 + 10 + 2 * (900 + 10)},
    };

    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++)
        check(*state, &expectations[i]);
}

/* Windows of 112 pixels hold 8 x 8 patches; layers of the list attend to the whole image. */
static void test_qwen2_5_vl__has_windows(void **state)
{
    fixture *test = *state;
    const plait_encoder *encoder =
        read(test, PLAIT_VISION, "qwen2_5_vl", 32,
             "\"vision_config\": {\"depth\": 4, \"hidden_size\": 64, \"intermediate_size\": 128, "
             "\"num_heads\": 4, \"out_hidden_size\": 32, \"patch_size\": 14, \"window_size\": 112, "
             "\"fullatt_block_indexes\": [1, 3]}");
    const plait_model *model = encoder->model;

    assert_int_equal(model->kinds, 2);
    assert_int_equal(model->kind[model->layer_kind[0]].attention.chunk, 64);
    assert_int_equal(model->kind[model->layer_kind[3]].attention.chunk, 0);
}

/* A chunk of 100 frames has 13 positions after three convolutions of stride 2; 30 s have 30. */
static void test_qwen3_omni__attends_within_chunks_of_audio(void **state)
{
    fixture *test = *state;
    const plait_encoder *encoder = read(
        test, PLAIT_AUDIO, "qwen3_omni_moe_thinker", 32,
        "\"audio_config\": {\"model_type\": \"qwen3_omni_moe_audio_encoder\", \"d_model\": 64, "
        "\"encoder_layers\": 2, \"encoder_attention_heads\": 4, \"encoder_ffn_dim\": 128, "
        "\"n_window\": 50, \"n_window_infer\": 800}");

    assert_int_equal(encoder->model->max_seq, 390);
    assert_int_equal(encoder->model->kind[0].attention.chunk, 104);
}

static void assert_left_out(fixture *test, const char *type, const char *keys, const char *reason)
{
    read(test, PLAIT_VISION, type, 4096, keys);
    assert_null(test->model.encoder[PLAIT_VISION].model);
    assert_null(test->model.encoder[PLAIT_AUDIO].model);
    assert_near(plait_model_params(&test->model).encoders, 0.0, 0.0);
    assert_string_equal(test->warning, reason);
}

static void test_unknown_encoders__are_left_out_with_a_reason(void **state)
{
    assert_left_out(*state, "llava", "\"vision_config\": {\"model_type\": \"swin\", \"depth\": 2}",
                    "ignored keys: vision_config; vision_config: expected a class of encoder that "
                    "plait describes, found \"swin\"");
    assert_left_out(*state, "qwen3_vl",
                    "\"vision_config\": {\"model_type\": \"qwen3_vl\", \"depth\": 2, "
                    "\"hidden_size\": 64, \"num_heads\": 4, \"num_experts\": 8}",
                    "ignored keys: vision_config; vision_config: expected only sizes of qwen3_vl, "
                    "found also \"num_experts\"");
    assert_left_out(*state, "qwen3_vl", "\"vision_config\": {\"depth\": 2, \"num_heads\": 4}",
                    "ignored keys: vision_config; vision_config: expected the key "
                    "\"embed_dim\", found none");
    assert_left_out(*state, "gemma4",
                    "\"audio_config\": {\"model_type\": \"gemma4_vision\", \"hidden_size\": 64}",
                    "ignored keys: audio_config; audio_config: expected a class of encoder that "
                    "plait describes, found \"gemma4_vision\"");
}

static void test_encoders__survive_writing(void **state)
{
    fixture *test = *state;
    const plait_encoder first = *read(test, PLAIT_VISION, "qwen3_vl", 4096, QWEN3_VL);
    plait_model again = {0};
    json_writer json;
    const char *text;
    size_t length;

    json_writer_init(&json, test->arena);
    model_write(&json, &test->model);
    assert_int_equal(json_writer_finish(&json, &text, &length, NULL), PLAIT_OK);
    if (plait_model_parse(text, length, "again", test->arena, &again, NULL, &test->err) != PLAIT_OK)
        fail_msg("%s: %s", test->err.where, test->err.message);
    const plait_encoder *second = &again.encoder[PLAIT_VISION];

    assert_null(again.encoder[PLAIT_AUDIO].model);
    assert_int_equal(second->patch, first.patch);
    assert_int_equal(second->patches_per_token, first.patches_per_token);
    assert_near(plait_encoder_params(second), plait_encoder_params(&first), 0.0);
    assert_near(plait_encoder_flops(second, 4096.0), plait_encoder_flops(&first, 4096.0), 0.0);
}

/* Each of 2 x 4 GPUs has a quarter of the encoder in 16 bits. */
static void test_servers__hold_encoders_in_each_stage(void **state)
{
    fixture *test = *state;
    const double params =
        plait_encoder_params(read(test, PLAIT_VISION, "qwen3_vl", 4096, QWEN3_VL));
    plait_model decoder = test->model;
    plait_cluster cluster;

    decoder.encoder[PLAIT_VISION] = (plait_encoder){0};
    assert_int_equal(plait_cluster_find("h100-80gb-sxm:1x8", test->arena, &cluster, &test->err),
                     PLAIT_OK);
    const plait_worker worker = {4, 2, 1, 1};
    const plait_serving with = {.model = &test->model,
                                .cluster = &cluster,
                                .worker = worker,
                                .weights = PLAIT_WEIGHT_FP8,
                                .kv = PLAIT_KV_BF16};
    plait_serving without = with;

    without.model = &decoder;

    assert_near(plait_serve_memory_of(&with, 1000.0).weights -
                    plait_serve_memory_of(&without, 1000.0).weights,
                2.0 * params / 4.0, 1.0);
}

#define DECODER(name, embedding)                                                                   \
    "\"name\": \"" name "\", \"source\": \"\", \"hidden\": 64, \"vocab\": 1, \"norm\": \"rms\", "  \
    "\"kinds\": {\"dense\": {\"attention\": {\"heads\": 4}, \"mlp\": {\"width\": 128}}}, "         \
    "\"layers\": [{\"kind\": \"dense\"}]" embedding

static void test_files__with_bad_encoders_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{" DECODER("x", "") ", \"vision\": {\"patch\": 14, \"patches_per_token\": 4, "
                              "\"projector_params\": 0, \"model\": {" DECODER("y", "") "}}}",
         "expected an encoder with embedding.patch_dim, found none"},
        {"{" DECODER("x", "") ", \"vision\": {\"patches_per_token\": 4, \"projector_params\": 0, "
                              "\"model\": {" DECODER("y",
                                                     ", \"embedding\": {\"patch_dim\": 9}") "}}}",
         "expected \"patch\", or \"max_seq\" of the model, found neither"},
        {"{" DECODER("x", "") ", \"audio\": {\"patches_per_token\": 4, \"projector_params\": 0, "
                              "\"model\": {" DECODER("y", ", \"audio\": {}") "}}}",
         "expected an encoder, found a model with its own encoder"},
    };
    fixture *test = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(plait_model_parse(cases[i].text, strlen(cases[i].text), "x", test->arena,
                                           &test->model, NULL, &test->err),
                         PLAIT_ERROR_SCHEMA);
        assert_string_equal(test->err.message, cases[i].message);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(flops__of_vit_l_14_at_336_pixels),
        TEST(qwen3_vl__has_as_many_parameters_as_published),
        TEST(flops__by_hand),
        TEST(gemma3__scales_images_to_256_tokens),
        TEST(classes__by_hand),
        TEST(qwen2_5_vl__has_windows),
        TEST(qwen3_omni__attends_within_chunks_of_audio),
        TEST(unknown_encoders__are_left_out_with_a_reason),
        TEST(encoders__survive_writing),
        TEST(servers__hold_encoders_in_each_stage),
        TEST(files__with_bad_encoders_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
