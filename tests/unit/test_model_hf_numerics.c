/* test_model_hf_numerics.c - Hugging Face configs: what the numbers inside do, by file and by class */
#include "support/assert_near.h"

#include <stdio.h>
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

    plait_arena_free(test->arena);
    return 0;
}

static plait_status parse(model_fixture *test, const char *text)
{
    return plait_model_parse(text, strlen(text), "x/config.json", test->arena, &test->model,
                             &test->warning, &test->err);
}

static const plait_numerics *read_text(model_fixture *test, const char *text)
{
    if (parse(test, text) != PLAIT_OK)
        fail_msg("%s: %s", test->err.where, test->err.message);
    return &test->model.numerics;
}

static const plait_numerics *read_sample(model_fixture *test, const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "tests/data/hf_configs/%s.json", name);
    if (plait_model_load(path, test->arena, &test->model, &test->warning, &test->err) != PLAIT_OK)
        fail_msg("%s: %s", test->err.where, test->err.message);
    return &test->model.numerics;
}

/* A small model of a class, with more keys; heads are 16 wide. */
#define CONFIG(type, keys)                                                                         \
    "{\"model_type\": \"" type "\", \"hidden_size\": 64, \"num_hidden_layers\": 4, "               \
    "\"num_attention_heads\": 4, \"vocab_size\": 100, \"intermediate_size\": 128, "                \
    "\"num_key_value_heads\": 4, \"max_position_embeddings\": 8192" keys "}"
#define EXPERTS ", \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32"
#define ROPE(keys) CONFIG("llama", ", \"rope_scaling\": {" keys "}")

/* ---- samples, fact by fact ---- */

static void test_llama_3_1__stretches_positions_by_frequency(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "llama-3.1-70b");

    assert_int_equal(numerics->activation, PLAIT_SILU);
    assert_near(numerics->norm_eps, 1e-5, 0.0);
    assert_int_equal(numerics->rope.kind, PLAIT_ROPE_LLAMA3);
    assert_near(numerics->rope.base, 500000.0, 0.0);
    assert_near(numerics->rope.fraction, 1.0, 0.0);
    assert_near(numerics->rope.factor, 8.0, 0.0);
    assert_near(numerics->rope.low_freq, 1.0, 0.0);
    assert_near(numerics->rope.high_freq, 4.0, 0.0);
    assert_int_equal(numerics->rope.original_seq, 8192);
    assert_false(numerics->rope.interleaved || numerics->alibi);
    assert_int_equal(numerics->router.score, PLAIT_ROUTER_UNKNOWN);
    assert_near(numerics->router.scale, 0.0, 0.0);
}

static void test_deepseek_v3__balances_loads_by_a_bias(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "deepseek-v3");

    assert_near(numerics->norm_eps, 1e-6, 0.0);
    assert_int_equal(numerics->rope.kind, PLAIT_ROPE_YARN);
    assert_near(numerics->rope.base, 10000.0, 0.0);
    assert_near(numerics->rope.factor, 40.0, 0.0);
    assert_near(numerics->rope.beta_fast, 32.0, 0.0);
    assert_near(numerics->rope.beta_slow, 1.0, 0.0);
    assert_near(numerics->rope.mscale, 1.0, 0.0);
    assert_near(numerics->rope.mscale_all_dim, 1.0, 0.0);
    assert_int_equal(numerics->rope.original_seq, 4096);
    assert_true(numerics->rope.interleaved);
    assert_int_equal(numerics->router.score, PLAIT_ROUTER_SIGMOID);
    assert_true(numerics->router.normalised && numerics->router.correction_bias);
    assert_near(numerics->router.scale, 2.5, 0.0);
    assert_near(numerics->router.aux_loss, 0.0, 0.0);
    assert_near(numerics->attention_scale, 0.0, 0.0);
}

static void test_deepseek_v2__takes_a_softmax_as_it_is(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "deepseek-v2");

    assert_int_equal(numerics->router.score, PLAIT_ROUTER_SOFTMAX);
    assert_false(numerics->router.normalised || numerics->router.correction_bias);
    assert_near(numerics->router.scale, 16.0, 0.0);
    assert_near(numerics->rope.mscale_all_dim, 0.707, 0.0);
    assert_true(numerics->rope.interleaved);
    numerics = read_sample(*state, "deepseek-v2-lite");
    assert_near(numerics->router.scale, 1.0, 0.0);
    assert_int_equal(numerics->rope.kind, PLAIT_ROPE_YARN);
}

/* Its config says silu; what the class does with it is another thing. */
static void test_gpt_oss__clamps_its_swiglu(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "gpt-oss-120b");

    assert_int_equal(numerics->activation, PLAIT_CLAMPED_SWIGLU);
    assert_near(numerics->norm_eps, 1e-5, 0.0);
    assert_int_equal(numerics->rope.kind, PLAIT_ROPE_YARN);
    assert_near(numerics->rope.base, 150000.0, 0.0);
    assert_near(numerics->rope.factor, 32.0, 0.0);
    assert_near(numerics->rope.mscale, 0.0, 0.0);
    assert_int_equal(numerics->router.score, PLAIT_ROUTER_SOFTMAX);
    assert_true(numerics->router.normalised);
    assert_false(numerics->router.correction_bias);
    assert_true(((model_fixture *)*state)->model.kind[0].moe.router_bias);
    assert_near(numerics->router.aux_loss, 0.9, 0.0);
}

static void test_qwen3_moe__normalises_when_told(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "qwen3-30b-a3b");

    assert_int_equal(numerics->activation, PLAIT_SILU);
    assert_near(numerics->norm_eps, 1e-6, 0.0);
    assert_int_equal(numerics->rope.kind, PLAIT_ROPE_PLAIN);
    assert_near(numerics->rope.base, 1e6, 0.0);
    assert_int_equal(numerics->router.score, PLAIT_ROUTER_SOFTMAX);
    assert_true(numerics->router.normalised);
    assert_near(numerics->router.scale, 1.0, 0.0);
    assert_near(numerics->router.aux_loss, 0.001, 0.0);
    assert_false(numerics->qk_norm_whole || numerics->qk_l2_norm);
    assert_false(read_text(*state, CONFIG("qwen3_moe", EXPERTS))->router.normalised);
}

/* sqrt(2304) = 48; query_pre_attn_scalar is head_dim, so that scores are scaled as usual. */
static void test_gemma_2__caps_scores_and_logits(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "gemma-2-2b");

    assert_int_equal(numerics->activation, PLAIT_GELU_TANH);
    assert_near(numerics->attention_softcap, 50.0, 0.0);
    assert_near(numerics->logit_softcap, 30.0, 0.0);
    assert_near(numerics->embedding_scale, 48.0, 1e-12);
    assert_near(numerics->attention_scale, 0.0, 0.0);
    assert_near(numerics->rope.base, 10000.0, 0.0);
    assert_near(numerics->rope.local_base, 0.0, 0.0);
}

static void test_gpt2__has_neither_rotary_positions_nor_a_router(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "gpt2");

    assert_int_equal(numerics->activation, PLAIT_GELU_TANH);
    assert_near(numerics->norm_eps, 1e-5, 0.0);
    assert_near(numerics->rope.base, 0.0, 0.0);
    assert_near(numerics->rope.fraction, 0.0, 0.0);
    assert_near(numerics->router.scale, 0.0, 0.0);
    assert_near(numerics->init_std, 0.0, 0.0);
}

static void test_mixtral__normalises_the_chosen(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "mixtral-8x7b");

    assert_int_equal(numerics->router.score, PLAIT_ROUTER_SOFTMAX);
    assert_true(numerics->router.normalised);
    assert_false(numerics->router.correction_bias);
    assert_near(numerics->router.aux_loss, 0.02, 0.0);
    assert_near(numerics->rope.base, 1e6, 0.0);
    assert_near(numerics->norm_eps, 1e-5, 0.0);
}

static void test_llama_4__norms_q_and_k_without_weights(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "llama-4-scout");

    assert_true(numerics->qk_l2_norm);
    assert_false(numerics->qk_norm_whole);
    assert_int_equal(numerics->router.score, PLAIT_ROUTER_SIGMOID);
    assert_false(numerics->router.normalised || numerics->router.correction_bias);
    assert_near(numerics->router.scale, 1.0, 0.0);
    assert_near(numerics->router.aux_loss, 0.001, 0.0);
    assert_int_equal(numerics->rope.kind, PLAIT_ROPE_LLAMA3);
    assert_near(numerics->rope.factor, 16.0, 0.0);
    assert_near(numerics->rope.high_freq, 1.0, 0.0);
    assert_true(numerics->rope.interleaved);
}

static void test_glm_4_5__rotates_half_of_a_head(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "glm-4.5");

    assert_near(numerics->norm_eps, 1e-5, 0.0);
    assert_near(numerics->rope.base, 1e6, 0.0);
    assert_near(numerics->rope.fraction, 0.5, 0.0);
    assert_false(numerics->rope.interleaved);
    assert_int_equal(numerics->router.score, PLAIT_ROUTER_SIGMOID);
    assert_true(numerics->router.normalised && numerics->router.correction_bias);
    assert_near(numerics->router.scale, 2.5, 0.0);
}

static void test_kimi_k2__has_its_own_scale_and_base(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "kimi-k2");

    assert_near(numerics->rope.base, 50000.0, 0.0);
    assert_near(numerics->rope.factor, 32.0, 0.0);
    assert_near(numerics->rope.beta_fast, 1.0, 0.0);
    assert_int_equal(numerics->router.score, PLAIT_ROUTER_SIGMOID);
    assert_true(numerics->router.normalised && numerics->router.correction_bias);
    assert_near(numerics->router.scale, 2.827, 0.0);
    assert_near(numerics->router.aux_loss, 0.001, 0.0);
}

/* The new dialect, one object a layer type: the full layers have a partial, scaled rotation. */
static void test_gemma_4__has_a_base_for_windowed_layers(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "gemma-4-26b-a4b");

    assert_int_equal(numerics->rope.kind, PLAIT_ROPE_OTHER);
    assert_near(numerics->rope.base, 1e6, 0.0);
    assert_near(numerics->rope.local_base, 1e4, 0.0);
    assert_near(numerics->rope.fraction, 0.25, 0.0);
    assert_near(numerics->attention_scale, 1.0, 0.0);
    assert_near(numerics->logit_softcap, 30.0, 0.0);
    assert_near(numerics->attention_softcap, 0.0, 0.0);
    assert_true(numerics->router.normalised);
}

static void test_qwen3_5_and_glm_5__have_flat_rope_parameters(void **state)
{
    const plait_numerics *numerics = read_sample(*state, "qwen3.5-35b-a3b");

    assert_near(numerics->rope.base, 1e7, 0.0);
    assert_near(numerics->rope.fraction, 0.25, 0.0);
    assert_int_equal(numerics->rope.kind, PLAIT_ROPE_PLAIN);
    assert_true(numerics->router.normalised);
    numerics = read_sample(*state, "glm-5");
    assert_near(numerics->rope.base, 1e6, 0.0);
    assert_true(numerics->rope.interleaved && numerics->router.correction_bias);
}

/* ---- activation, epsilon, initialisation ---- */

static void test_activation__goes_by_name_else_by_class(void **state)
{
    static const struct {
        const char *text;
        plait_activation activation;
    } cases[] = {
        {CONFIG("llama", ""), PLAIT_SILU},
        {CONFIG("llama", ", \"hidden_act\": \"gelu\""), PLAIT_GELU},
        {CONFIG("llama", ", \"hidden_act\": \"gelu_new\""), PLAIT_GELU_TANH},
        {CONFIG("llama", ", \"hidden_act\": \"gelu_fast\""), PLAIT_GELU_TANH},
        {CONFIG("llama", ", \"hidden_act\": \"swish\""), PLAIT_SILU},
        {CONFIG("llama", ", \"hidden_act\": \"relu2\""), PLAIT_RELU2},
        {CONFIG("llama", ", \"hidden_act\": \"quick_gelu\""), PLAIT_ACTIVATION_UNKNOWN},
        {CONFIG("gemma", ", \"hidden_act\": \"gelu\", \"hidden_activation\": \"gelu_new\""),
         PLAIT_GELU_TANH},
        {CONFIG("nemotron", ""), PLAIT_RELU2},
        {CONFIG("opt", ", \"activation_function\": \"gelu\""), PLAIT_GELU},
        {CONFIG("opt", ""), PLAIT_RELU},
        {CONFIG("bloom", ", \"hidden_act\": \"relu\""), PLAIT_GELU_TANH},
        {CONFIG("falcon", ""), PLAIT_GELU},
        {CONFIG("brand_new", ""), PLAIT_ACTIVATION_UNKNOWN},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        if (read_text(*state, cases[c].text)->activation != cases[c].activation)
            fail_msg("%s: not %s", cases[c].text, plait_activation_name[cases[c].activation]);
}

static void test_norm_eps__has_many_names(void **state)
{
    static const char *const texts[] = {
        CONFIG("llama", ", \"rms_norm_eps\": 0.25"),
        CONFIG("phi", ", \"layer_norm_eps\": 0.25"),
        CONFIG("gpt2", ", \"layer_norm_epsilon\": 0.25"),
        CONFIG("starcoder2", ", \"norm_epsilon\": 0.25"),
        CONFIG("nemotron", ", \"norm_eps\": 0.25"),
        CONFIG("brand_new", ", \"rms_norm_eps\": 0.25"),
    };

    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        assert_near(read_text(*state, texts[t])->norm_eps, 0.25, 0.0);
    assert_near(read_text(*state, CONFIG("llama", ""))->norm_eps, 1e-6, 0.0);
    assert_near(read_text(*state, CONFIG("phi", ""))->norm_eps, 1e-5, 0.0);
    assert_near(read_text(*state, CONFIG("olmo2", ""))->norm_eps, 1e-5, 0.0);
    assert_near(read_text(*state, CONFIG("brand_new", ""))->norm_eps, 0.0, 0.0);
}

static void test_init_std__is_known_only_from_the_file(void **state)
{
    assert_near(read_text(*state, CONFIG("llama", ", \"initializer_range\": 0.01"))->init_std, 0.01,
                0.0);
    assert_near(read_text(*state, CONFIG("llama", ""))->init_std, 0.0, 0.0);
}

/* ---- positions ---- */

static void test_rope__without_keys_is_that_of_the_class(void **state)
{
    assert_near(read_text(*state, CONFIG("llama", ""))->rope.base, 10000.0, 0.0);
    assert_near(read_text(*state, CONFIG("smollm3", ""))->rope.base, 2e6, 0.0);
    assert_near(read_text(*state, CONFIG("brand_new", ""))->rope.base, 0.0, 0.0);
    assert_near(read_text(*state, CONFIG("phi", ""))->rope.fraction, 0.5, 0.0);
    assert_near(read_text(*state, CONFIG("stablelm", ""))->rope.fraction, 0.25, 0.0);
    assert_near(
        read_text(*state, CONFIG("stablelm", ", \"partial_rotary_factor\": 0.75"))->rope.fraction,
        0.75, 0.0);
    assert_true(read_text(*state, CONFIG("cohere", ""))->rope.interleaved);
}

static void test_gpt_neox__says_base_and_fraction_in_its_own_words(void **state)
{
    const plait_rope *rope =
        &read_text(*state, CONFIG("gpt_neox", ", \"rotary_pct\": 0.5, \"rotary_emb_base\": 25000"))
             ->rope;

    assert_near(rope->base, 25000.0, 0.0);
    assert_near(rope->fraction, 0.5, 0.0);
}

/* 4 of 16 elements; the class's 64 are more than all of a small head. */
static void test_gptj__counts_rotated_elements(void **state)
{
    const plait_rope *rope = &read_text(*state, CONFIG("gptj", ", \"rotary_dim\": 4"))->rope;

    assert_near(rope->fraction, 0.25, 0.0);
    assert_true(rope->interleaved);
    read_text(*state, CONFIG("gptj", ""));
    assert_near(rope->fraction, 1.0, 0.0);
    read_text(*state, CONFIG("gptj", ", \"head_dim\": 256"));
    assert_near(rope->fraction, 0.25, 0.0);
    read_text(*state, CONFIG("gptj", ", \"head_dim\": 256, \"rotary_dim\": null"));
    assert_near(rope->fraction, 1.0, 0.0);
}

static void test_gemma3__has_two_bases(void **state)
{
    const plait_rope *rope = &read_text(*state, CONFIG("gemma3_text", ""))->rope;

    assert_near(rope->base, 1e6, 0.0);
    assert_near(rope->local_base, 1e4, 0.0);
    read_text(*state, CONFIG("gemma3_text", ", \"rope_local_base_freq\": 5000, \"rope_scaling\": "
                                            "{\"rope_type\": \"linear\", \"factor\": 8}"));
    assert_near(rope->local_base, 5000.0, 0.0);
    assert_int_equal(rope->kind, PLAIT_ROPE_LINEAR);
    assert_near(rope->factor, 8.0, 0.0);
    read_text(*state, CONFIG("gemma3_text", ", \"sliding_window\": null"));
    assert_near(rope->local_base, 0.0, 0.0);
}

static void test_rope_scaling__goes_by_either_name_of_its_type(void **state)
{
    const plait_rope *rope = &read_text(*state, ROPE("\"type\": \"default\", \"factor\": 2"))->rope;

    assert_int_equal(rope->kind, PLAIT_ROPE_PLAIN);
    assert_near(rope->factor, 0.0, 0.0);
    read_text(*state, ROPE(""));
    assert_int_equal(rope->kind, PLAIT_ROPE_PLAIN);
    read_text(*state, ROPE("\"type\": \"linear\", \"factor\": 2"));
    assert_int_equal(rope->kind, PLAIT_ROPE_LINEAR);
    read_text(*state, ROPE("\"type\": \"dynamic\", \"factor\": 2"));
    assert_int_equal(rope->kind, PLAIT_ROPE_OTHER);
    assert_near(rope->factor, 2.0, 0.0);
    read_text(*state, ROPE("\"rope_type\": \"longrope\", \"short_factor\": [1], "
                           "\"long_factor\": [1]"));
    assert_int_equal(rope->kind, PLAIT_ROPE_OTHER);
}

/* 8192 positions out of 2048: a factor of 4. */
static void test_yarn__has_defaults(void **state)
{
    const plait_rope *rope = &read_text(*state, ROPE("\"rope_type\": \"yarn\", "
                                                     "\"original_max_position_embeddings\": 2048"))
                                  ->rope;

    assert_near(rope->factor, 4.0, 0.0);
    assert_int_equal(rope->original_seq, 2048);
    assert_near(rope->beta_fast, 32.0, 0.0);
    assert_near(rope->beta_slow, 1.0, 0.0);
    read_text(*state, ROPE("\"rope_type\": \"yarn\", \"factor\": 3"));
    assert_near(rope->factor, 3.0, 0.0);
    assert_int_equal(rope->original_seq, 8192);
}

static void test_rope_parameters__say_what_the_old_keys_said(void **state)
{
    const plait_rope *rope =
        &read_text(*state, CONFIG("llama", ", \"rope_parameters\": {\"rope_type\": \"llama3\", "
                                           "\"rope_theta\": 5e5, \"factor\": 8, "
                                           "\"low_freq_factor\": 1, \"high_freq_factor\": 4, "
                                           "\"original_max_position_embeddings\": 4096}"))
             ->rope;

    assert_int_equal(rope->kind, PLAIT_ROPE_LLAMA3);
    assert_near(rope->base, 5e5, 0.0);
    assert_near(rope->high_freq, 4.0, 0.0);
    assert_int_equal(rope->original_seq, 4096);
}

static void test_alibi__is_of_the_class_or_on_request(void **state)
{
    assert_true(read_text(*state, CONFIG("bloom", ""))->alibi);
    assert_false(read_text(*state, CONFIG("falcon", ""))->alibi);
    assert_true(read_text(*state, CONFIG("falcon", ", \"alibi\": true"))->alibi);
    assert_near(((model_fixture *)*state)->model.numerics.rope.base, 0.0, 0.0);
    assert_true(read_text(*state, CONFIG("mpt", ", \"attn_config\": {\"alibi\": true}"))->alibi);
    assert_false(read_text(*state, CONFIG("mpt", ", \"attn_config\": {\"alibi\": false}"))->alibi);
}

/* ---- scales ---- */

static void test_granite__multiplies_and_divides(void **state)
{
    const plait_numerics *numerics = read_text(
        *state, CONFIG("granite", ", \"embedding_multiplier\": 12, \"residual_multiplier\": 0.22, "
                                  "\"attention_multiplier\": 0.015625, \"logits_scaling\": 16"));

    assert_near(numerics->embedding_scale, 12.0, 0.0);
    assert_near(numerics->residual_scale, 0.22, 0.0);
    assert_near(numerics->attention_scale, 0.015625, 0.0);
    assert_near(numerics->logit_scale, 0.0625, 0.0);
}

/* Heads of 16: scores are times a quarter anyway. A factor of one is none. */
static void test_scales__that_do_nothing_are_none(void **state)
{
    const plait_numerics *numerics = read_text(
        *state, CONFIG("granite", ", \"embedding_multiplier\": 1.0, \"residual_multiplier\": 1, "
                                  "\"attention_multiplier\": 0.25, \"logits_scaling\": 1.0"));

    assert_near(numerics->embedding_scale, 0.0, 0.0);
    assert_near(numerics->residual_scale, 0.0, 0.0);
    assert_near(numerics->attention_scale, 0.0, 0.0);
    assert_near(numerics->logit_scale, 0.0, 0.0);
}

/* 144^-1/2 = 1/12; null caps nothing. */
static void test_gemma2__scales_scores_by_a_number_of_its_own(void **state)
{
    const plait_numerics *numerics =
        read_text(*state, CONFIG("gemma2", ", \"query_pre_attn_scalar\": 144, \"head_dim\": 128, "
                                           "\"attn_logit_softcapping\": null"));

    assert_near(numerics->attention_scale, 1.0 / 12.0, 1e-15);
    assert_near(numerics->attention_softcap, 0.0, 0.0);
    assert_near(numerics->logit_softcap, 30.0, 0.0);
    assert_near(numerics->embedding_scale, 8.0, 1e-15);
}

static void test_logit_scale__is_a_number_or_a_word(void **state)
{
    assert_near(read_text(*state, CONFIG("cohere", ""))->logit_scale, 0.0625, 0.0);
    assert_near(read_text(*state, CONFIG("cohere", ", \"logit_scale\": 0.25"))->logit_scale, 0.25,
                0.0);
    assert_near(
        read_text(*state, CONFIG("mpt", ", \"logit_scale\": \"inv_sqrt_d_model\""))->logit_scale,
        0.125, 1e-15);
    assert_near(read_text(*state, CONFIG("mpt", ", \"logit_scale\": null"))->logit_scale, 0.0, 0.0);
}

static void test_olmo2__norms_q_and_k_over_all_heads(void **state)
{
    assert_true(read_text(*state, CONFIG("olmo2", ""))->qk_norm_whole);
    assert_true(read_text(*state, CONFIG("olmoe", EXPERTS))->qk_norm_whole);
    assert_false(read_text(*state, CONFIG("qwen3", ""))->qk_norm_whole);
}

static void test_llama4__without_its_norm_has_no_l2_norm(void **state)
{
    assert_false(
        read_text(*state, CONFIG("llama4_text", ", \"use_qk_norm\": false, \"num_local_experts\": "
                                                "2, \"num_experts_per_tok\": 1, "
                                                "\"intermediate_size_mlp\": 64"))
            ->qk_l2_norm);
}

/* ---- routing ---- */

static void test_router__of_an_unknown_class_is_what_the_file_says(void **state)
{
    const plait_router *router = &read_text(*state, CONFIG("brand_new", EXPERTS))->router;

    assert_int_equal(router->score, PLAIT_ROUTER_UNKNOWN);
    assert_near(router->scale, 1.0, 0.0);
    read_text(*state, CONFIG("brand_new", EXPERTS ", \"scoring_func\": \"sigmoid\", "
                                                  "\"topk_method\": \"noaux_tc\", "
                                                  "\"norm_topk_prob\": true, "
                                                  "\"routed_scaling_factor\": 2, "
                                                  "\"aux_loss_alpha\": 0.5"));
    assert_int_equal(router->score, PLAIT_ROUTER_SIGMOID);
    assert_true(router->normalised && router->correction_bias);
    assert_near(router->scale, 2.0, 0.0);
    assert_near(router->aux_loss, 0.5, 0.0);
    read_text(*state, CONFIG("brand_new", EXPERTS ", \"scoring_func\": \"sqrtsoftplus\""));
    assert_int_equal(router->score, PLAIT_ROUTER_UNKNOWN);
}

/* What is launched would have another activation than the model. */
static void test_activation__of_an_unknown_name_is_told(void **state)
{
    model_fixture *test = *state;

    read_text(test, CONFIG("llama", ", \"hidden_act\": \"frobnicate\""));
    assert_string_equal(test->warning, "ignored keys: hidden_act");
    read_text(test, CONFIG("llama", ", \"hidden_act\": \"silu\""));
    assert_string_equal(test->warning, "");
}

static void test_numerics__are_no_reason_to_warn(void **state)
{
    model_fixture *test = *state;

    read_text(test, CONFIG("brand_new", ", \"attn_logit_softcapping\": 50, "
                                        "\"final_logit_softcapping\": 30, \"norm_eps\": 1e-5, "
                                        "\"query_pre_attn_scalar\": 16, \"logit_scale\": 2, "
                                        "\"original_max_position_embeddings\": 4096, "
                                        "\"rope_scaling\": {\"type\": \"su\"}"));
    assert_non_null(strstr(test->warning, "ignored keys: none"));
}

/* ---- refusals ---- */

static void test_refusals__say_where_and_why(void **state)
{
    static const struct {
        const char *text;
        plait_status status;
        const char *where;
        const char *message; /* a part of it */
    } cases[] = {
        {CONFIG("llama", ", \"hidden_act\": 3"), PLAIT_ERROR_SCHEMA, ":/hidden_act",
         "expected a string"},
        {CONFIG("llama", ", \"rms_norm_eps\": -1"), PLAIT_ERROR_RANGE, ":/rms_norm_eps",
         "found -1"},
        {CONFIG("llama", ", \"initializer_range\": 2"), PLAIT_ERROR_RANGE, ":/initializer_range",
         "found 2"},
        {CONFIG("llama", ", \"rope_theta\": 0"), PLAIT_ERROR_RANGE, ":/rope_theta", "found 0"},
        {CONFIG("llama", ", \"partial_rotary_factor\": 2"), PLAIT_ERROR_RANGE,
         ":/partial_rotary_factor", "found 2"},
        {CONFIG("gptj", ", \"rotary_dim\": 17"), PLAIT_ERROR_RANGE, ":/rotary_dim", "found 17"},
        {CONFIG("llama", ", \"rope_scaling\": 8"), PLAIT_ERROR_SCHEMA, ":/rope_scaling",
         "expected an object"},
        {ROPE("\"type\": 3"), PLAIT_ERROR_SCHEMA, ":/rope_scaling/type", "expected a string"},
        {ROPE("\"type\": \"linear\""), PLAIT_ERROR_SCHEMA, ":/rope_scaling", "\"factor\""},
        {ROPE("\"type\": \"llama3\", \"factor\": 8"), PLAIT_ERROR_SCHEMA, ":/rope_scaling",
         "\"low_freq_factor\""},
        {ROPE("\"type\": \"yarn\", \"factor\": -1"), PLAIT_ERROR_RANGE, ":/rope_scaling/factor",
         "found -1"},
        {CONFIG("gemma3_text", ", \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 0}}"),
         PLAIT_ERROR_RANGE, ":/rope_parameters/full_attention/rope_theta", "found 0"},
        {CONFIG("mpt", ", \"logit_scale\": \"half\""), PLAIT_ERROR_SCHEMA, ":/logit_scale",
         "found \"half\""},
        {CONFIG("granite", ", \"logits_scaling\": -2"), PLAIT_ERROR_RANGE, ":/logits_scaling",
         "found -2"},
        {CONFIG("qwen3_moe", EXPERTS ", \"routed_scaling_factor\": 0"), PLAIT_ERROR_RANGE,
         ":/routed_scaling_factor", "found 0"},
        {CONFIG("qwen3_moe", EXPERTS ", \"norm_topk_prob\": 1"), PLAIT_ERROR_SCHEMA,
         ":/norm_topk_prob", "found 1"},
    };
    model_fixture *test = *state;

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char where[128];

        snprintf(where, sizeof where, "x/config.json%s", cases[c].where);
        if (parse(test, cases[c].text) == PLAIT_OK)
            fail_msg("not refused: %s", cases[c].text);
        if (strstr(test->err.message, cases[c].message) == NULL)
            assert_string_equal(test->err.message, cases[c].message);
        assert_string_equal(test->err.where, where);
        assert_int_equal(test->err.status, cases[c].status);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_llama_3_1__stretches_positions_by_frequency),
        TEST(test_deepseek_v3__balances_loads_by_a_bias),
        TEST(test_deepseek_v2__takes_a_softmax_as_it_is),
        TEST(test_gpt_oss__clamps_its_swiglu),
        TEST(test_qwen3_moe__normalises_when_told),
        TEST(test_gemma_2__caps_scores_and_logits),
        TEST(test_gpt2__has_neither_rotary_positions_nor_a_router),
        TEST(test_mixtral__normalises_the_chosen),
        TEST(test_llama_4__norms_q_and_k_without_weights),
        TEST(test_glm_4_5__rotates_half_of_a_head),
        TEST(test_kimi_k2__has_its_own_scale_and_base),
        TEST(test_gemma_4__has_a_base_for_windowed_layers),
        TEST(test_qwen3_5_and_glm_5__have_flat_rope_parameters),
        TEST(test_activation__goes_by_name_else_by_class),
        TEST(test_norm_eps__has_many_names),
        TEST(test_init_std__is_known_only_from_the_file),
        TEST(test_rope__without_keys_is_that_of_the_class),
        TEST(test_gpt_neox__says_base_and_fraction_in_its_own_words),
        TEST(test_gptj__counts_rotated_elements),
        TEST(test_gemma3__has_two_bases),
        TEST(test_rope_scaling__goes_by_either_name_of_its_type),
        TEST(test_yarn__has_defaults),
        TEST(test_rope_parameters__say_what_the_old_keys_said),
        TEST(test_alibi__is_of_the_class_or_on_request),
        TEST(test_granite__multiplies_and_divides),
        TEST(test_scales__that_do_nothing_are_none),
        TEST(test_gemma2__scales_scores_by_a_number_of_its_own),
        TEST(test_logit_scale__is_a_number_or_a_word),
        TEST(test_olmo2__norms_q_and_k_over_all_heads),
        TEST(test_llama4__without_its_norm_has_no_l2_norm),
        TEST(test_router__of_an_unknown_class_is_what_the_file_says),
        TEST(test_activation__of_an_unknown_name_is_told),
        TEST(test_numerics__are_no_reason_to_warn),
        TEST(test_refusals__say_where_and_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
