/* test_serve.c - steps of a worker and what a load sees, against counting and laws of queues */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "support/assert_near.h"
#include "plait/data.h"
#include "plait/serve.h"
#include "plan/serve_values.h"

typedef struct fixture {
    plait_arena *arena;
    plait_model llama, moe, mla, nemotron, kimi, oss;
    plait_cluster cluster;
    plait_engine *profile;
    size_t profiles;
} fixture;

static fixture fix;

/* The layers of Nemotron-3-Nano: 23 Mamba-2, 23 experts, 6 attention. */
static const char nemotron[] =
    "{\"name\": \"nemotron\", \"source\": \"its config.json\", \"hidden\": 2688, \"vocab\": 131072,"
    " \"norm\": \"rms\", \"kinds\": {"
    "\"m\": {\"mamba\": {\"inner\": 4096, \"heads\": 64, \"groups\": 8, \"state\": 128,"
    " \"chunk\": 128}},"
    "\"e\": {\"moe\": {\"experts\": 128, \"topk\": 6, \"width\": 1856, \"shared_width\": 3712,"
    " \"gated\": false}},"
    "\"a\": {\"attention\": {\"heads\": 32, \"kv_heads\": 2, \"head_dim\": 128}}},"
    "\"layers\": [{\"pattern\": [\"m\", \"e\"], \"count\": 23}, {\"kind\": \"a\", \"count\": 6}]}";

/* The layers of Kimi-Linear-48B-A3B: 20 of Kimi delta attention, 7 of latent attention. */
static const char kimi[] =
    "{\"name\": \"kimi\", \"source\": \"its config.json\", \"hidden\": 2304, \"vocab\": 163840,"
    " \"norm\": \"rms\", \"kinds\": {"
    "\"k\": {\"delta_net\": {\"key_heads\": 32, \"value_heads\": 32, \"key_dim\": 128,"
    " \"value_dim\": 128, \"conv\": 4, \"decay_rank\": 128, \"gate_rank\": 128},"
    " \"mlp\": {\"width\": 9216}},"
    "\"a\": {\"mla\": {\"heads\": 32, \"kv_rank\": 512, \"nope_dim\": 128, \"rope_dim\": 64,"
    " \"v_dim\": 128}, \"mlp\": {\"width\": 9216}}},"
    "\"layers\": [{\"kind\": \"k\", \"count\": 20}, {\"kind\": \"a\", \"count\": 7}]}";

static int load_all(void **state)
{
    plait_error err;
    const char *warning;

    (void)state;
    fix.arena = plait_arena_new();
    if (plait_model_find("llama-3.1-8b", fix.arena, &fix.llama, &warning, &err) != PLAIT_OK ||
        plait_model_find("qwen3-30b-a3b", fix.arena, &fix.moe, &warning, &err) != PLAIT_OK ||
        plait_model_find("deepseek-v3", fix.arena, &fix.mla, &warning, &err) != PLAIT_OK ||
        plait_model_find("gpt-oss-120b", fix.arena, &fix.oss, &warning, &err) != PLAIT_OK ||
        plait_model_parse(nemotron, sizeof nemotron - 1, "nemotron", fix.arena, &fix.nemotron,
                          &warning, &err) != PLAIT_OK ||
        plait_model_parse(kimi, sizeof kimi - 1, "kimi", fix.arena, &fix.kimi, &warning, &err) !=
            PLAIT_OK ||
        plait_cluster_find("h100-80gb-sxm:4x8", fix.arena, &fix.cluster, &err) != PLAIT_OK ||
        plait_engine_list(fix.arena, &fix.profile, &fix.profiles, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    plait_arena_free(fix.arena);
    return 0;
}

/* An engine that adds nothing to the hardware. */
static const plait_engine bare = {.name = "bare",
                                  .linear = 1.0,
                                  .compute = 1.0,
                                  .attention = 1.0,
                                  .experts = 1.0,
                                  .experts_4bit = 1.0,
                                  .reduce_s = 9e-6,
                                  .handover = 1.0,
                                  .chunk_tokens = 8192.0,
                                  .max_sequences = 1024.0,
                                  .memory_fraction = 0.9,
                                  .block_tokens = 16.0,
                                  .band = {{1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}}};

static plait_serving serving_of(const plait_model *model, plait_worker worker)
{
    return (plait_serving){.model = model,
                           .cluster = &fix.cluster,
                           .worker = worker,
                           .weights = PLAIT_WEIGHT_BF16,
                           .kv = PLAIT_KV_BF16};
}

static plait_step_table table_of(const plait_model *model, plait_worker worker)
{
    const plait_serving serving = serving_of(model, worker);
    plait_step_table table;

    assert_null(plait_step_table_fill(&serving, &table));
    return table;
}

// ---- steps ---------------------------------------------------------------------------------

/* 16 GB of weights at 3.35 TB/s, at some share of that rate that no kernel passes. */
static void test_step__reads_all_weights(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_step one = {.sequences = 1.0, .context = 1.0, .verified = 1.0};
    const double s = plait_step_s(&table, &bare, one, NULL);
    const double least = 2.0 * (plait_model_params(&fix.llama).total - 128256.0 * 4096.0) /
                         fix.cluster.group[0].accelerator->hbm_bytes_per_s;

    (void)state;
    assert_true(s > least);
    assert_true(s < 1.5 * least);
}

static void test_step__is_the_sum_of_its_parts(void **state)
{
    const plait_step_table table = table_of(&fix.moe, (plait_worker){2, 1, 2, 4});
    const plait_step step = {
        .sequences = 17.0, .context = 3000.0, .verified = 1.0, .prompt = 700.0, .before = 100.0};
    double parts[PLAIT_STEP_PARTS];
    const double s = plait_step_s(&table, &fix.profile[0], step, parts);
    double sum = 0.0;

    (void)state;
    for (int p = 0; p < PLAIT_STEP_PARTS; p++)
        sum += parts[p];
    assert_near_relative(sum, s, 1e-12);
    assert_true(parts[PLAIT_STEP_exchange] > 0.0);
}

/* One scheduler serves both attention ranks: 2 ms, and 50 us for each of 2 x 16 sequences. */
static void test_step__takes_the_host_a_share_for_each_sequence(void **state)
{
    const plait_step_table table = table_of(&fix.moe, (plait_worker){1, 1, 2, 2});
    const plait_step step = {.sequences = 16.0, .context = 300.0, .verified = 1.0};
    plait_engine slow = bare;

    (void)state;
    slow.step_s = 2e-3;
    slow.sequence_s = 50e-6;
    assert_near_relative(plait_step_s(&table, &slow, step, NULL) -
                             plait_step_s(&table, &bare, step, NULL),
                         2e-3 + 50e-6 * 2.0 * 16.0, 1e-9);
}

/* Drafting runs layers again, not the host's turn. */
static void test_draft__has_no_turn_of_the_host(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_pool pool = {.table = &table, .workers = 1, .max_sequences = 1024.0};
    const plait_load load = {.kind = PLAIT_LOAD_CLOSED,
                             .input = 500.0,
                             .output = 100.0,
                             .concurrency = 8.0,
                             .draft = 3,
                             .draft_layers = 0.1,
                             .accept = 0.5};
    const double yield = 1.0 + 0.5 + 0.25 + 0.125;
    plait_engine slow = bare;

    (void)state;
    slow.step_s = 2e-3;
    slow.sequence_s = 50e-6;
    assert_near_relative(plait_serve_decode_tpot(&pool, &slow, &load, 8.0) -
                             plait_serve_decode_tpot(&pool, &bare, &load, 8.0),
                         (2e-3 + 50e-6 * 8.0) / yield, 1e-9);
}

/* More sequences, longer contexts, longer prompts: never faster. */
static void test_step__grows_with_its_work(void **state)
{
    const plait_step_table table = table_of(&fix.mla, (plait_worker){8, 1, 1, 8});
    double before = 0.0;

    (void)state;
    for (double n = 1.0; n < 20000.0; n *= 1.3) {
        const double s = plait_step_s(
            &table, &bare, (plait_step){.sequences = n, .context = 500.0, .verified = 1.0}, NULL);
        assert_true(s >= before * (1.0 - 1e-3));
        before = s;
    }
    before = 0.0;
    for (double c = 1.0; c < 1e6; c *= 1.3) {
        const double s = plait_step_s(
            &table, &bare, (plait_step){.sequences = 8.0, .context = c, .verified = 1.0}, NULL);
        assert_true(s >= before);
        before = s;
    }
}

/* A prompt in two halves attends as a whole one does. */
static void test_prompt__in_chunks_attends_as_a_whole_one(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    double whole[PLAIT_STEP_PARTS], first[PLAIT_STEP_PARTS], second[PLAIT_STEP_PARTS];

    (void)state;
    plait_step_s(&table, &bare, (plait_step){.prompt = 8192.0}, whole);
    plait_step_s(&table, &bare, (plait_step){.prompt = 4096.0}, first);
    plait_step_s(&table, &bare, (plait_step){.prompt = 4096.0, .before = 4096.0}, second);
    const double halves = first[PLAIT_STEP_prompt_attention] + second[PLAIT_STEP_prompt_attention];
    assert_near_relative(halves, whole[PLAIT_STEP_prompt_attention], 0.01);
}

/* Attention of decoding: a start in each of 32 layers, then so much more for each sequence. */
static void test_step__starts_attention_in_each_layer(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_decode_fit *fit = &fix.cluster.group[0].accelerator->decode[PLAIT_KV_BF16];
    double one[PLAIT_STEP_PARTS], many[PLAIT_STEP_PARTS];

    (void)state;
    plait_step_s(&table, &bare, (plait_step){.sequences = 1.0, .context = 1.0, .verified = 1.0},
                 one);
    plait_step_s(&table, &bare,
                 (plait_step){.sequences = 256.0, .context = 4096.0, .verified = 1.0}, many);
    assert_near_relative(one[PLAIT_STEP_decode_attention], 32.0 * fit->t0_s, 0.01);
    assert_near_relative(many[PLAIT_STEP_decode_attention],
                         256.0 * 4096.0 * 131072.0 /
                             (fix.cluster.group[0].accelerator->hbm_bytes_per_s * fit->eb),
                         0.02);
}

/* The host launches each kernel of a step that has prompts: no short prompt is over before. */
static void test_prompt__waits_for_its_launches(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    plait_engine slow = bare;

    (void)state;
    slow.launch_s = 100e-6;
    const double prompt_s = plait_step_s(&table, &slow, (plait_step){.prompt = 16.0}, NULL);
    const plait_step decode = {.sequences = 4.0, .context = 100.0, .verified = 1.0};
    assert_true(table.kernels >= 32.0 * 6.0);
    assert_near_relative(prompt_s, 100e-6 * table.kernels, 1e-12);
    assert_near_relative(plait_step_s(&table, &slow, decode, NULL),
                         plait_step_s(&table, &bare, decode, NULL), 1e-12);
    assert_near_relative(plait_step_s(&table, &slow, (plait_step){.prompt = 8192.0}, NULL),
                         plait_step_s(&table, &bare, (plait_step){.prompt = 8192.0}, NULL), 1e-12);
}

/* Four bits on an accelerator that multiplies 16: an engine's own factor, and the widening. */
static void test_experts__in_four_bits_have_a_factor_of_their_own(void **state)
{
    plait_serving narrow = serving_of(&fix.moe, (plait_worker){1, 1, 1, 1});
    plait_step_table table;
    plait_engine slow = bare;
    double parts[PLAIT_STEP_PARTS], slower[PLAIT_STEP_PARTS];
    const plait_step one = {.sequences = 1.0, .context = 100.0, .verified = 1.0};

    (void)state;
    narrow.weights = PLAIT_WEIGHT_MXFP4;
    assert_null(plait_step_table_fill(&narrow, &table));
    assert_true(table.four_bits && table.widened);
    slow.experts = 5.0;
    plait_step_s(&table, &bare, one, parts);
    plait_step_s(&table, &slow, one, slower);
    assert_near(slower[PLAIT_STEP_experts], parts[PLAIT_STEP_experts], 0.0);
    slow.experts_4bit = 2.0;
    plait_step_s(&table, &slow, one, slower);
    assert_near_relative(slower[PLAIT_STEP_experts], 2.0 * parts[PLAIT_STEP_experts], 1e-3);
}

// ---- what cannot be ------------------------------------------------------------------------

static void test_table__refuses_what_does_not_divide(void **state)
{
    plait_step_table table;
    plait_serving odd = serving_of(&fix.llama, (plait_worker){3, 1, 1, 1});
    plait_serving expertless = serving_of(&fix.llama, (plait_worker){2, 1, 1, 2});
    plait_serving deep = serving_of(&fix.llama, (plait_worker){1, 64, 1, 1});

    (void)state;
    assert_non_null(plait_step_table_fill(&odd, &table));
    assert_non_null(plait_step_table_fill(&expertless, &table));
    assert_non_null(plait_step_table_fill(&deep, &table));
}

/* DeepSeek-V3 with 256 + 32 experts on 72 ranks: four of each layer, as 256 on 64 ranks. */
static void test_redundant_experts__fill_the_ranks(void **state)
{
    plait_step_table table, fewer;
    plait_model copied = fix.mla;
    plait_error err;
    plait_serving wide = serving_of(&fix.mla, (plait_worker){1, 1, 72, 72});
    const plait_serving plain = serving_of(&fix.mla, (plait_worker){1, 1, 64, 64});

    (void)state;
    assert_string_equal(plait_step_table_fill(&wide, &table), "ep does not divide the experts");
    assert_int_equal(serve_set_redundant(&copied, 32, "redundant", fix.arena, &err), PLAIT_OK);
    assert_int_equal(serve_redundant(&copied), 32);
    assert_int_equal(serve_redundant(&fix.mla), 0);
    wide.model = &copied;
    assert_null(plait_step_table_fill(&wide, &table));
    assert_null(plait_step_table_fill(&plain, &fewer));
    assert_near_relative(plait_serve_memory_of(&wide, 1000.0).weights,
                         plait_serve_memory_of(&plain, 1000.0).weights, 1e-9);
    // with 4096 tokens of each rank all experts are reached, and all weights are read
    assert_near_relative(table.experts_s[24], fewer.experts_s[24], 0.01);
    copied = fix.llama;
    assert_int_equal(serve_set_redundant(&copied, 32, "redundant", fix.arena, &err),
                     PLAIT_ERROR_RANGE);
}

// ---- memory --------------------------------------------------------------------------------

/* vLLM 0.14.1 reports 64.38 GiB on an H100: 2880 is padded to 3072. At tp 2, 1440 is to 1472. */
/*
 * LoRA of rank 16 on all linear layers of Llama-3.1-8B: q and o 2 x 131,072, k and v 2 x 81,920,
 * gate and up 2 x 294,912, and down 294,912 parameters in each of 32 layers. Tensor ranks shard one
 * of the two matrices: A of o and down, B of the others.
 */
static void test_adapters__take_memory_and_time(void **state)
{
    plait_serving with = serving_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_serving without = with;
    plait_step_table table, plain = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_step one = {.sequences = 1.0, .context = 1.0, .verified = 1.0};

    (void)state;
    with.lora_adapters = 3;
    with.lora_rank = 16;
    assert_near(plait_serve_memory_of(&with, 1000.0).weights -
                    plait_serve_memory_of(&without, 1000.0).weights,
                2.0 * 3.0 * 32.0 * (2.0 * 131072.0 + 2.0 * 81920.0 + 3.0 * 294912.0), 1.0);
    assert_null(plait_step_table_fill(&with, &table));
    assert_near(table.kernels - plain.kernels, 2.0 * 4.0 * 32.0, 1e-9);
    const double few = table.linear_s[0] - plain.linear_s[0];
    assert_true(few > 0.0);
    with.lora_adapters = 64; // one token uses one adapter, 64 tokens use most of them
    assert_null(plait_step_table_fill(&with, &table));
    assert_near_relative(table.linear_s[0] - plain.linear_s[0], few, 1e-9);
    assert_true(table.linear_s[11] - plain.linear_s[11] > few);
    assert_true(plait_step_s(&table, &bare, one, NULL) > plait_step_s(&plain, &bare, one, NULL));

    with.worker.tp = 2;
    plait_serving two = without;
    two.worker.tp = 2;
    assert_near(
        plait_serve_memory_of(&with, 1000.0).weights - plait_serve_memory_of(&two, 1000.0).weights,
        2.0 * 64.0 * 32.0 * 16.0 *
            (3.0 * 4096.0 + 3072.0 + 2048.0 + 4096.0 + 2.0 * 4096.0 + 14336.0 + 7168.0 + 4096.0),
        1.0);
}

static void test_memory__pads_experts_in_mxfp4(void **state)
{
    const double experts = 36.0 * 128.0 * 3.0 * 2880.0 * 2880.0, gib = 1024.0 * 1024.0 * 1024.0;
    plait_serving one, two;
    plait_model gpt;
    double plain;

    (void)state;
    assert_int_equal(plait_model_find("gpt-oss-120b", fix.arena, &gpt, NULL, NULL), PLAIT_OK);
    one = serving_of(&gpt, (plait_worker){1, 1, 1, 1});
    two = serving_of(&gpt, (plait_worker){2, 1, 1, 1});
    one.weights = two.weights = PLAIT_WEIGHT_MXFP4;
    assert_near_relative(plait_serve_memory_of(&one, 1000.0).weights, 64.38 * gib, 5e-3);
    plain = plait_serve_memory_of(&one, 1000.0).weights - 4.25 / 8.0 * experts * 3072.0 / 2880.0;
    assert_near_relative(plait_serve_memory_of(&two, 1000.0).weights,
                         plain / 2.0 + 4.25 / 16.0 * experts * 3072.0 / 2880.0 * 1472.0 / 1440.0,
                         5e-3);
}

/* Groups of 32 with a scale of 16 bits: 4.5 bits; without the checkpoint's bits 4 + 20/128. */
static void test_memory__has_the_bits_of_the_checkpoint(void **state)
{
    plait_model published = *(&fix.llama);
    plait_serving with = serving_of(&published, (plait_worker){1, 1, 1, 1});
    plait_serving without = serving_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const double params =
        32.0 * (4096.0 * (4096.0 + 2048.0) + 4096.0 * 4096.0 + 3.0 * 4096.0 * 14336.0);

    (void)state;
    published.weights = "int4";
    published.weight_bits = 4.5;
    with.weights = without.weights = PLAIT_WEIGHT_INT4;
    assert_near_relative(plait_serve_memory_of(&with, 1000.0).weights -
                             plait_serve_memory_of(&without, 1000.0).weights,
                         (4.5 - 4.15625) / 8.0 * params, 1e-3);
    with.weights = without.weights = PLAIT_WEIGHT_FP8;
    assert_near(plait_serve_memory_of(&with, 1000.0).weights,
                plait_serve_memory_of(&without, 1000.0).weights, 0.0);
}

/*
 * Llama-3.1-405B-FP8 of Meta has attention and the MLP of two layers in 16 bits: 57.75 GiB on each
 * of 8 GPUs, including scales of rows that are not priced.
 */
static void test_memory__has_the_wide_modules_of_the_checkpoint(void **state)
{
    const double mlp = 3.0 * 16384.0 * 53248.0, attention = 2.0 * 16384.0 * (16384.0 + 1024.0);
    const double vocabulary = 2.0 * 128256.0 * 16384.0, gib = 1024.0 * 1024.0 * 1024.0;
    plait_model llama;
    plait_serving eight;

    (void)state;
    assert_int_equal(plait_model_find("llama-3.1-405b", fix.arena, &llama, NULL, NULL), PLAIT_OK);
    eight = serving_of(&llama, (plait_worker){8, 1, 1, 1});
    eight.weights = PLAIT_WEIGHT_FP8;
    assert_near_relative(plait_serve_memory_of(&eight, 1000.0).weights,
                         (126.0 * (mlp + attention) + 2.0 * vocabulary) / 8.0, 1e-3);
    llama.weights = "fp8";
    llama.attention_weights = PLAIT_ATTENTION_WEIGHTS_WIDE;
    llama.wide_layers = 2;
    assert_near_relative(
        plait_serve_memory_of(&eight, 1000.0).weights,
        (124.0 * mlp + 2.0 * 2.0 * mlp + 2.0 * 126.0 * attention + 2.0 * vocabulary) / 8.0, 1e-3);
    assert_near_relative(plait_serve_memory_of(&eight, 1000.0).weights, 57.75 * gib, 0.025);
}

/* 32 layers of 8 heads of keys and values, 128 wide: 131,072 bytes a token; a latent is whole on all ranks. */
static void test_memory__counts_the_cache(void **state)
{
    const plait_serving one = serving_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_serving four = serving_of(&fix.llama, (plait_worker){4, 1, 1, 1});
    const plait_serving latent = serving_of(&fix.mla, (plait_worker){8, 1, 1, 8});

    (void)state;
    assert_near(plait_serve_memory_of(&one, 1000.0).token, 2.0 * 2.0 * 32 * 8 * 128, 1e-9);
    assert_near(plait_serve_memory_of(&four, 1000.0).token, 2.0 * 2.0 * 32 * 2 * 128, 1e-9);
    assert_near(plait_serve_memory_of(&latent, 1000.0).token, 2.0 * 61 * 576, 1e-9);
    assert_near_relative(plait_serve_memory_of(&one, 1000.0).weights,
                         2.0 * plait_model_params(&fix.llama).total, 1e-6);
}

/*
 * mamba2_state_shape of vLLM for Nemotron-3-Nano: 64 x 64 x 128 in fp32 and 3 x (4096 + 2 x 8 x
 * 128) in 16 bits, 2,134,016 bytes in each of 23 layers; 2 x 2 heads of 128 in each of 6.
 */
static void test_memory__of_nemotron_is_that_of_the_engines(void **state)
{
    const plait_serving one = serving_of(&fix.nemotron, (plait_worker){1, 1, 1, 1});
    const plait_serving two = serving_of(&fix.nemotron, (plait_worker){2, 1, 1, 1});
    const plait_serve_memory memory = plait_serve_memory_of(&one, 1000.0);

    (void)state;
    assert_near(memory.sequence, 23.0 * 2134016, 0.0);
    assert_near(memory.token, 6.0 * 2 * 2 * 128 * 2, 0.0);
    assert_near(plait_serve_memory_of(&one, 100000.0).sequence, memory.sequence, 0.0);
    assert_near(plait_serve_memory_of(&two, 1000.0).sequence, 0.5 * memory.sequence, 0.0);
    assert_near(plait_serve_memory_of(&two, 1000.0).token, 0.5 * memory.token, 0.0);
    assert_near_relative(memory.weights, 2.0 * plait_model_params(&fix.nemotron).total, 1e-6);
}

/*
 * kda_state_shape of vLLM for Kimi-Linear: 32 x 128 x 128 in fp32 and 3 x 3 x 4096 in 16 bits,
 * 2,170,880 bytes in each of 20 layers; a latent of 576 in each of 7.
 */
static void test_memory__of_kimi_is_that_of_the_engines(void **state)
{
    const plait_serving one = serving_of(&fix.kimi, (plait_worker){1, 1, 1, 1});
    const plait_serving four = serving_of(&fix.kimi, (plait_worker){4, 1, 1, 1});

    (void)state;
    assert_near(plait_serve_memory_of(&one, 1000.0).sequence, 20.0 * 2170880, 0.0);
    assert_near(plait_serve_memory_of(&one, 1000.0).token, 7.0 * 576 * 2, 0.0);
    assert_near(plait_serve_memory_of(&four, 1000.0).sequence, 20.0 * 2170880 / 4, 0.0);
}

/*
 * Only the 6 layers of attention read more for a longer context. The 23 layers of experts have one
 * all-reduce each, as those of a mixer alone, and the embedding has another.
 */
static void test_step__of_a_hybrid_reads_states_of_constant_size(void **state)
{
    const plait_step_table table = table_of(&fix.nemotron, (plait_worker){2, 1, 1, 1});
    const double rate = fix.cluster.group[0].accelerator->hbm_bytes_per_s;
    const double states_s = 2.0 * 23 * 0.5 * 2134016 / rate;

    (void)state;
    assert_true(table.decode_s[0] > states_s && table.decode_s[0] < 2.0 * states_s);
    assert_near(table.all_reduces, 52.0 + 1, 0.0);
    assert_int_equal(table.layers, 26);
    assert_int_equal(table.moe_layers, 23);
    const plait_serving odd = serving_of(&fix.nemotron, (plait_worker){128, 1, 1, 1});
    plait_step_table none;
    assert_non_null(plait_step_table_fill(&odd, &none));
}

/*
 * 79.1 GiB, 16 GB of weights. vLLM's share is of all, less a step of 8192 tokens of 2 (3 x 14336 +
 * 3 x 4096) bytes; SGLang's of what is free before the weights, TensorRT-LLM's of what they leave.
 */
static void test_memory__is_shared_out_as_each_engine_does(void **state)
{
    const plait_serving one = serving_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    plait_serve_memory memory =
        plait_serve_memory_of(&one, 1e9); // so long that no block is part full
    plait_engine other = bare;

    (void)state;
    assert_near_relative(plait_serve_kv_tokens(&memory, &bare),
                         (0.9 * memory.all - memory.weights - 8192.0 * 110592.0) / memory.token,
                         1e-6);
    other.outside_bytes = 1e9;
    other.kind = PLAIT_ENGINE_SGLANG;
    assert_near_relative(plait_serve_kv_tokens(&memory, &other),
                         (0.9 * (memory.all - 1e9) - memory.weights) / memory.token, 1e-6);
    other.kind = PLAIT_ENGINE_TRTLLM;
    assert_near_relative(plait_serve_kv_tokens(&memory, &other),
                         0.9 * (memory.all - memory.weights) / memory.token, 1e-6);
    memory.weights = 0.95 * memory.all;
    assert_near(plait_serve_kv_tokens(&memory, &bare), 0.0, 0.0);
    assert_true(plait_serve_kv_tokens(&memory, &other) > 0.0);
}

/*
 * The log of vLLM 0.19.0 for Llama-3.1-8B on an H100 with 0.95 of its memory: 1.89 GiB of
 * activations, 58.11 GiB for caches, 476,016 tokens, 58.11 requests of 8192 tokens. A sampler of
 * 15 x 1024 x 128256 bytes and 8192 x 2 x 4096 of hidden states have 1.897 GiB.
 */
static void test_start__prints_what_vllm_printed(void **state)
{
    const plait_serving one = serving_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_serving two = serving_of(&fix.llama, (plait_worker){1, 2, 1, 1});
    plait_engine vllm = bare;

    (void)state;
    vllm.memory_fraction = 0.95;
    vllm.logit_bytes = 15.0;
    vllm.outside_bytes = 0.27e9;
    const plait_serve_start start = plait_serve_start_of(&one, &vllm, 8192.0);
    assert_near(start.activation_bytes, 15.0 * 1024 * 128256 + 8192.0 * 2 * 4096, 1.0);
    assert_near_relative(start.activation_bytes, 1.89 * 1073741824, 0.005);
    assert_near_relative(start.cache_bytes, 58.11 * 1073741824, 0.003);
    assert_near_relative(start.cache_tokens, 476016.0, 0.003);
    assert_near(fmod(start.cache_tokens, 16.0), 0.0, 0.0);
    assert_near_relative(start.concurrency, 58.11, 0.003);
    // The stage of the output layer has 16 layers and the larger half of the vocabulary.
    assert_near_relative(plait_serve_start_of(&two, &vllm, 8192.0).weight_bytes, 7.51 * 1073741824,
                         0.005);
}

/*
 * vLLM 0.10.1.1 had 284.25 requests of 16,384 tokens for gpt-oss-120b in 45.32 GiB on each of 4
 * A100s. A token takes 9216 bytes in the 18 layers of each kind; a request 1024 blocks without
 * windows, and 137 with windows of 128 and steps of 2048 tokens.
 */
static void test_start__counts_windows_as_vllm_does(void **state)
{
    const plait_serving four = serving_of(&fix.oss, (plait_worker){4, 1, 1, 1});
    plait_engine vllm = bare;

    (void)state;
    vllm.chunk_tokens = 2048.0;
    const plait_serve_start start = plait_serve_start_of(&four, &vllm, 16384.0);
    assert_near_relative(start.cache_bytes / start.concurrency, 16.0 * 9216 * (1024 + 137), 1e-9);
    assert_near_relative(45.32 * 1073741824 / (start.cache_bytes / start.concurrency), 284.25,
                         1e-3);
}

/* SGLang's pool: 0.8 of its tokens also in layers with windows; caches and states as 1 to 0.9. */
static void test_start__divides_pools_as_sglang_does(void **state)
{
    const plait_serving oss = serving_of(&fix.oss, (plait_worker){4, 1, 1, 1});
    const plait_serving hybrid = serving_of(&fix.kimi, (plait_worker){4, 1, 1, 1});
    plait_engine sglang = bare;

    (void)state;
    sglang.kind = PLAIT_ENGINE_SGLANG;
    sglang.block_tokens = 1.0;
    const plait_serve_start windows = plait_serve_start_of(&oss, &sglang, 16384.0);
    assert_near(windows.cache_tokens, floor(windows.cache_bytes / (1.8 * 9216)), 0.0);
    const plait_serve_start states = plait_serve_start_of(&hybrid, &sglang, 16384.0);
    assert_near(states.cache_tokens, floor(states.cache_bytes / 1.9 / (7.0 * 576 * 2)), 0.0);
    assert_near_relative(windows.free_bytes, 0.1 * fix.cluster.group[0].accelerator->memory_bytes,
                         1e-9);
}

/* The H100 has tables of every kernel; links between stages are priced by their data sheet. */
static void test_origins__of_a_step_are_those_of_its_kernels_and_numbers(void **state)
{
    const plait_serving one = serving_of(&fix.moe, (plait_worker){2, 2, 1, 1});
    plait_step_origin origin[PLAIT_STEP_PARTS];
    plait_engine engine = bare;

    (void)state;
    engine.determined[PLAIT_ENGINE_linear] = engine.determined[PLAIT_ENGINE_compute] = true;
    engine.determined[PLAIT_ENGINE_layer_s] = engine.determined[PLAIT_ENGINE_step_s] = true;
    engine.determined[PLAIT_ENGINE_sequence_s] = true;
    plait_step_origins(&one, &engine, origin);
    assert_int_equal(origin[PLAIT_STEP_linear].hardware, PLAIT_ORIGIN_KERNEL_TABLE);
    assert_int_equal(origin[PLAIT_STEP_linear].engine, PLAIT_ORIGIN_FITTED);
    assert_int_equal(origin[PLAIT_STEP_reduce].engine, PLAIT_ORIGIN_DEFAULT);
    assert_int_equal(origin[PLAIT_STEP_reduce].undetermined, 1u << PLAIT_ENGINE_reduce_s);
    assert_true(plait_origin_is_measured(&origin[PLAIT_STEP_reduce]));
    assert_int_equal(origin[PLAIT_STEP_stages].hardware, PLAIT_ORIGIN_DATA_SHEET);
    assert_false(plait_origin_is_measured(&origin[PLAIT_STEP_stages]));
    // Of the numbers of a launch, only that of layers with experts is missing.
    assert_int_equal(origin[PLAIT_STEP_launch].hardware, PLAIT_ORIGIN_NONE);
    assert_int_equal(origin[PLAIT_STEP_launch].undetermined, 1u << PLAIT_ENGINE_moe_layer_s);
    assert_false(plait_origin_is_measured(&origin[PLAIT_STEP_launch]));
    engine.determined[PLAIT_ENGINE_moe_layer_s] = true;
    plait_step_origins(&one, &engine, origin);
    assert_int_equal(origin[PLAIT_STEP_launch].engine, PLAIT_ORIGIN_FITTED);
}

// ---- loads ---------------------------------------------------------------------------------

static plait_deployment one_worker(const plait_step_table *table, const plait_model *model)
{
    const plait_serving serving = serving_of(model, table->worker);
    const plait_serve_memory memory = plait_serve_memory_of(&serving, 3000.0);

    return (plait_deployment){
        .engine = &bare, .replicas = 1, .pool = {plait_pool_of(table, &bare, &memory, 1, 0.0)}};
}

/* Little's law: what is in flight is the rate times how long each stays, but for the users between two. */
static void test_closed_loop__obeys_littles_law(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_deployment d = one_worker(&table, &fix.llama);

    (void)state;
    for (double users = 1.0; users <= 64.0; users *= 2.0) {
        const plait_load load = {
            .kind = PLAIT_LOAD_CLOSED, .input = 1000.0, .output = 200.0, .concurrency = users};
        const plait_service s = plait_serve(&d, load);
        assert_true(s.stable);
        assert_near_relative(s.requests_per_s * s.e2e_s, 0.95 * users, 1e-9);
        assert_near_relative(s.e2e_s, s.ttft_s + 199.0 * s.tpot_s, 1e-9);
        assert_near_relative(s.batch, users * 199.0 * s.tpot_s / s.e2e_s, 1e-3);
    }
}

/* More arrive: both times grow, until none is served. */
static void test_arrivals__slow_down_until_too_many_come(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_deployment d = one_worker(&table, &fix.llama);
    double ttft = 0.0, tpot = 0.0;
    bool served = true;

    (void)state;
    for (double rate = 0.1; rate < 1000.0; rate *= 1.5) {
        const plait_service s = plait_serve(
            &d,
            (plait_load){.kind = PLAIT_LOAD_RATE, .input = 1000.0, .output = 200.0, .rate = rate});
        assert_true(served || !s.stable);
        served = s.stable;
        if (!served)
            continue;
        assert_true(s.ttft_s >= ttft && s.tpot_s >= tpot);
        assert_near_relative(s.output_tokens_per_s, rate * 200.0, 1e-12);
        ttft = s.ttft_s;
        tpot = s.tpot_s;
    }
    assert_false(served);
}

/* Of s drafted tokens, each accepted with probability a: 1 + a + a^2 tokens a step. */
static void test_speculation__yields_what_is_accepted_in_a_row(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_deployment d = one_worker(&table, &fix.llama);
    plait_load load = {
        .kind = PLAIT_LOAD_STATIC, .input = 100.0, .output = 1000.0, .concurrency = 1.0};

    (void)state;
    load.draft = 2;
    load.accept = 0.5;
    const plait_service s = plait_serve(&d, load);
    assert_near_relative(s.step_s / s.tpot_s, 1.75, 1e-9);
}

/* What does not fit runs later: twice the batch that fits takes twice as long. */
static void test_batch__runs_in_waves_where_the_cache_is_full(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    plait_deployment d = one_worker(&table, &fix.llama);
    plait_load load = {
        .kind = PLAIT_LOAD_STATIC, .input = 1000.0, .output = 1000.0, .concurrency = 64.0};

    (void)state;
    d.pool[0].kv_tokens = 64 * 2000.0;
    const plait_service fits = plait_serve(&d, load);
    load.concurrency = 128.0;
    const plait_service waits = plait_serve(&d, load);
    assert_near_relative(waits.e2e_s, 2.0 * fits.e2e_s, 1e-9);
    assert_int_equal(waits.binds, PLAIT_SERVE_BINDS_CAPACITY);
}

/* Prefill apart: prompts do not slow tokens down, and prefill bounds the rate. */
static void test_prefill_apart__leaves_decoding_alone(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    plait_deployment d = one_worker(&table, &fix.llama);
    const plait_load load = {
        .kind = PLAIT_LOAD_RATE, .input = 4000.0, .output = 200.0, .rate = 2.0};
    const plait_service mixed = plait_serve(&d, load);
    d.pool[1] = d.pool[0];
    d.disaggregated = true;
    const plait_service apart = plait_serve(&d, load);
    plait_load flood = load;

    (void)state;
    flood.rate = 1.01 / apart.prompt_s * 8192.0 / 4000.0;
    assert_true(mixed.stable && apart.stable);
    assert_true(apart.tpot_s < mixed.tpot_s);
    assert_false(plait_serve(&d, flood).stable);
}

// ---- the simulation judges the closed forms ------------------------------------------------

static plait_serve_sim_result drawn_of(const plait_deployment *d, plait_load load,
                                       plait_serve_sim_options draws)
{
    plait_serve_sim_result out;
    plait_error err;

    assert_int_equal(plait_serve_simulate(d, load, draws, fix.arena, &out, &err), PLAIT_OK);
    return out;
}

/*
 * A steady loop, whose start is not counted. Lengths differ, as users of one length stay in step, and requests are on
 * their way for a while, as else each would come when a step has just begun.
 */
static void test_simulation__takes_as_long_as_the_closed_forms_say(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    plait_deployment d = one_worker(&table, &fix.llama);
    plait_engine remote = bare;

    (void)state;
    remote.request_s = 17e-3;
    d.engine = &remote;
    for (int users = 1; users <= 64; users *= 4) {
        const plait_load load = {.kind = PLAIT_LOAD_CLOSED,
                                 .input = 1000.0,
                                 .output = 400.0,
                                 .spread = 0.5,
                                 .concurrency = users};
        const plait_service s = plait_serve(&d, load);
        const plait_serve_sim_result x =
            drawn_of(&d, load,
                     (plait_serve_sim_options){
                         .seed = 1, .requests = 100 * users, .warmup_requests = 20 * users});
        assert_int_equal(x.requests, 100 * users);
        assert_near_relative(x.tpot.mean_s, s.tpot_s, 0.08);
        assert_near_relative(x.ttft.mean_s, s.ttft_s, 0.15);
        assert_near_relative(x.output_tokens_per_s, s.output_tokens_per_s / 0.95, 0.08);
    }
    for (double rate = 1.0; rate <= 8.0; rate *= 2.0) {
        const plait_load load = {
            .kind = PLAIT_LOAD_RATE, .input = 1000.0, .output = 200.0, .rate = rate};
        const plait_service s = plait_serve(&d, load);
        const plait_serve_sim_result x =
            drawn_of(&d, load, (plait_serve_sim_options){.seed = 1, .requests = 2000});
        assert_near_relative(x.tpot.mean_s, s.tpot_s, 0.05);
        assert_near_relative(x.ttft.mean_s, s.ttft_s, 0.25);
        assert_true(x.ttft.p99_s >= x.ttft.p50_s && !x.full);
    }
}

/* A benchmark: all users start at once, and make ten requests each. Half of the first ones' wait is in the mean. */
static void test_start__is_one_of_its_rounds(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_deployment d = one_worker(&table, &fix.llama);

    (void)state;
    for (int users = 4; users <= 64; users *= 4) {
        const plait_load load = {.kind = PLAIT_LOAD_CLOSED,
                                 .input = 2000.0,
                                 .output = 800.0,
                                 .spread = 0.3,
                                 .concurrency = users,
                                 .rounds = 10.0};
        plait_load endless = load;
        endless.rounds = 0.0;
        const plait_service s = plait_serve(&d, load);
        const plait_serve_sim_result x =
            drawn_of(&d, load, (plait_serve_sim_options){.seed = 2, .requests = 10 * users});
        assert_near_relative(x.ttft.mean_s, s.ttft_s, 0.15);
        assert_true(plait_serve(&d, endless).ttft_s < s.ttft_s);
    }
}

/*
 * An engine that prefills first keeps users with answers of one length in step: each round is like
 * the start, and TTFT contains half of all prompts. With unequal answers it does not.
 */
static void test_prefill_first__keeps_equal_answers_in_step(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    plait_deployment d = one_worker(&table, &fix.llama);
    plait_engine prompts_first = bare;
    double ttft_s[2];

    (void)state;
    prompts_first.prefill_first = true;
    prompts_first.request_s = 20e-3;
    d.engine = &prompts_first;
    for (int unequal = 0; unequal < 2; unequal++) {
        const plait_load load = {.kind = PLAIT_LOAD_CLOSED,
                                 .input = 2000.0,
                                 .output = 200.0,
                                 .spread = unequal,
                                 .concurrency = 32.0,
                                 .rounds = 10.0};
        const plait_service s = plait_serve(&d, load);
        const plait_serve_sim_result x =
            drawn_of(&d, load, (plait_serve_sim_options){.seed = 2, .requests = 320});
        assert_near_relative(x.ttft.mean_s, s.ttft_s, 0.1);
        assert_near_relative(x.tpot.mean_s, s.tpot_s, 0.1);
        ttft_s[unequal] = s.ttft_s;
    }
    assert_true(ttft_s[0] > 2.0 * ttft_s[1]);
}

/*
 * Decoding waits for the prompts of an engine that prefills first: against mixed steps, the first
 * token is earlier and the others are later. Closed forms and simulation agree.
 */
static void test_prefill_first__agrees_with_the_simulation(void **state)
{
    static const plait_worker workers[] = {{1, 1, 1, 1}, {4, 1, 1, 1}, {1, 1, 4, 4}};
    plait_engine prompts_first = bare;

    (void)state;
    prompts_first.prefill_first = true;
    prompts_first.request_s = 20e-3;
    for (size_t w = 0; w < sizeof workers / sizeof *workers; w++)
        for (double users = 1.0; users <= 256.0; users *= 4.0)
            for (double input = 200.0; input <= 20000.0; input *= 10.0) {
                const plait_model *model = workers[w].ep > 1 ? &fix.moe : &fix.llama;
                const plait_step_table table = table_of(model, workers[w]);
                plait_deployment d = one_worker(&table, model);
                const plait_load load = {.kind = PLAIT_LOAD_CLOSED,
                                         .input = input,
                                         .output = 300.0,
                                         .spread = 0.5,
                                         .concurrency = users};
                d.engine = &prompts_first;
                const plait_service s = plait_serve(&d, load);
                const plait_serve_sim_result x =
                    drawn_of(&d, load,
                             (plait_serve_sim_options){
                                 .seed = 3, .requests = 1500, .warmup_requests = (int)users});
                assert_near_relative(x.ttft.mean_s, s.ttft_s, 0.25);
                assert_near_relative(x.tpot.mean_s, s.tpot_s, 0.07);
            }
}

/* Who looks every 20 steps leaves a prompt waiting for half of that; who gathers for 20, for all of it where few come. */
static void test_prompts__wait_to_be_looked_at(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_deployment d = one_worker(&table, &fix.llama);
    const plait_load load = {
        .kind = PLAIT_LOAD_RATE, .input = 500.0, .output = 400.0, .spread = 0.5, .rate = 2.0};
    const plait_serve_sim_options draws = {.seed = 4, .requests = 2000};
    const plait_service at_once = plait_serve(&d, load);

    (void)state;
    for (int gathers = 0; gathers < 2; gathers++) {
        plait_deployment other = d;
        other.pool[0].poll_steps = gathers ? 0.0 : 20.0;
        other.pool[0].gather_steps = gathers ? 20.0 : 0.0;
        const plait_service s = plait_serve(&other, load);
        const plait_serve_sim_result x = drawn_of(&other, load, draws);
        const double steps = (s.ttft_s - at_once.ttft_s) / at_once.step_s;
        assert_near(steps, gathers ? 19.0 : 9.5, gathers ? 2.0 : 0.5);
        assert_near_relative(x.ttft.mean_s, s.ttft_s, 0.25);
    }
}

/* Both pools, attention ranks, caps and little room: all that is asked for comes out, alike for one seed. */
static void test_simulation__loses_no_request(void **state)
{
    const plait_step_table table = table_of(&fix.moe, (plait_worker){1, 1, 4, 4});
    plait_deployment d = one_worker(&table, &fix.moe);
    const plait_load load = {
        .kind = PLAIT_LOAD_RATE, .input = 700.0, .output = 90.0, .spread = 1.0, .rate = 50.0};
    const plait_serve_sim_options draws = {.seed = 5, .requests = 500, .burst = 20.0};

    (void)state;
    d.pool[0].kv_tokens = 3000.0;
    for (int apart = 0; apart < 2; apart++) {
        d.disaggregated = apart;
        d.pool[1] = d.pool[0];
        d.pool[1].workers = 2;
        const plait_serve_sim_result once = drawn_of(&d, load, draws);
        const plait_serve_sim_result again = drawn_of(&d, load, draws);
        assert_int_equal(once.requests, 500);
        assert_memory_equal(&once, &again, sizeof once);
        assert_true(once.ttft.mean_s > 0.0 && once.tpot.mean_s > 0.0);
    }
}

/* A cache that holds a quarter of what its sequences grow to: vLLM starts them and sends some back,
 * TensorRT-LLM keeps them waiting; both finish all, and with room for all neither sends any back. */
static void test_simulation__preempts_where_an_engine_does(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    plait_deployment d = one_worker(&table, &fix.llama);
    const plait_load load = {.kind = PLAIT_LOAD_CLOSED,
                             .input = 200.0,
                             .output = 1000.0,
                             .spread = 0.5,
                             .concurrency = 40.0};
    const plait_serve_sim_options draws = {.seed = 3, .requests = 200};
    plait_engine waiting = *d.engine;

    (void)state;
    waiting.kind = PLAIT_ENGINE_TRTLLM;
    for (int tight = 0; tight < 2; tight++) {
        d.pool[0].kv_tokens = tight ? 12000.0 : 1e6;
        const plait_serve_sim_result x = drawn_of(&d, load, draws);
        plait_deployment other = d;
        other.engine = &waiting;
        const plait_serve_sim_result y = drawn_of(&other, load, draws);
        assert_int_equal(x.requests, 200);
        assert_int_equal(y.requests, 200);
        assert_int_equal(y.preempted, 0);
        assert_true((x.preempted > 0) == tight);
        // Who starts at once waits less for a first token, and pays later.
        if (tight)
            assert_true(x.ttft.mean_s < y.ttft.mean_s && x.tpot.mean_s > y.tpot.mean_s);
        else
            assert_near_relative(x.e2e.mean_s, y.e2e.mean_s, 1e-12);
    }
}

/* Twice what a worker can do: the queue only grows. */
static void test_simulation__says_when_more_comes_than_leaves(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_deployment d = one_worker(&table, &fix.llama);
    const plait_load load = {
        .kind = PLAIT_LOAD_RATE, .input = 4000.0, .output = 20.0, .rate = 100.0};

    (void)state;
    assert_false(plait_serve(&d, load).stable);
    assert_true(drawn_of(&d, load, (plait_serve_sim_options){.seed = 1, .requests = 3000}).full);
}

/* Newest without a date, else the profile that was current; a vendor's own before any. */
static void expect_refused(const plait_deployment *d, plait_load load,
                           plait_serve_sim_options draws)
{
    plait_serve_sim_result out;
    plait_error err;

    assert_int_equal(plait_serve_simulate(d, load, draws, fix.arena, &out, &err),
                     PLAIT_ERROR_RANGE);
    assert_true(err.message[0] != '\0');
}

static void test_simulation__refuses_what_there_is_not(void **state)
{
    const plait_step_table table = table_of(&fix.llama, (plait_worker){1, 1, 1, 1});
    const plait_deployment good = one_worker(&table, &fix.llama);
    const plait_load load = {
        .kind = PLAIT_LOAD_RATE, .input = 4000.0, .output = 200.0, .rate = 2.0};
    const plait_serve_sim_options draws = {.seed = 1, .requests = 4};
    plait_load other = load;
    plait_deployment d = good;

    (void)state;
    drawn_of(&good, load, draws);
    expect_refused(NULL, load, draws);
    d.engine = NULL;
    expect_refused(&d, load, draws);
    d = good;
    d.pool[0].table = NULL;
    expect_refused(&d, load, draws);
    d = good;
    d.replicas = INT_MAX;
    expect_refused(&d, load, draws);
    d = good;
    d.disaggregated = true; // and no pool decodes
    expect_refused(&d, load, draws);
    other.rate = (double)NAN;
    expect_refused(&good, other, draws);
    expect_refused(&good, load, (plait_serve_sim_options){.seed = 1, .requests = -1});
}

static void test_profiles__are_found_by_month_and_version(void **state)
{
    const plait_engine *p = fix.profile;
    const size_t n = fix.profiles;

    (void)state;
    assert_string_equal(plait_engine_of(p, n, PLAIT_ENGINE_VLLM, "NVIDIA", 0, 0)->name, "vllm");
    assert_string_equal(plait_engine_of(p, n, PLAIT_ENGINE_VLLM, "NVIDIA", 2311, 0)->name,
                        "vllm-2023");
    assert_string_equal(plait_engine_of(p, n, PLAIT_ENGINE_VLLM, "NVIDIA", 2410, 0)->name,
                        "vllm-2024");
    assert_string_equal(plait_engine_of(p, n, PLAIT_ENGINE_VLLM, "NVIDIA", 0, 12)->name,
                        "vllm-2025");
    assert_string_equal(plait_engine_of(p, n, PLAIT_ENGINE_VLLM, "AMD", 0, 0)->name, "vllm-amd");
    assert_string_equal(plait_engine_of(p, n, PLAIT_ENGINE_TRTLLM, "NVIDIA", 0, 100)->name,
                        "trtllm-2025");
}

// ---- overlap of two batches ----------------------------------------------------------------

static double above(double a, double b)
{
    return a > b ? a - b : 0.0;
}

/* C.385 from the parts of half a batch, which an engine without host time runs twice. */
static void test_two_batches__hide_the_exchange(void **state)
{
    const plait_step_table table = table_of(&fix.mla, (plait_worker){1, 1, 32, 32});
    const plait_step all = {.sequences = 256.0, .context = 2000.0, .verified = 1.0};
    const plait_step part = {.sequences = 128.0, .context = 2000.0, .verified = 1.0};
    plait_engine overlap = bare;
    double whole[PLAIT_STEP_PARTS], half[PLAIT_STEP_PARTS], two[PLAIT_STEP_PARTS];

    (void)state;
    overlap.two_batch_overlap = true;
    const double before = plait_step_s(&table, &bare, all, whole);
    plait_step_s(&table, &bare, part, half);
    const double after = plait_step_s(&table, &overlap, all, two);
    assert_near_relative(two[PLAIT_STEP_linear], 2.0 * half[PLAIT_STEP_linear], 1e-9);
    assert_near_relative(two[PLAIT_STEP_experts], 2.0 * half[PLAIT_STEP_experts], 1e-9);
    // In 16 bits dispatch and combine take half of the exchange each.
    const double way = half[PLAIT_STEP_exchange] / 2.0;
    const double others = half[PLAIT_STEP_linear] + half[PLAIT_STEP_decode_attention];
    assert_near_relative(
        two[PLAIT_STEP_exchange] + 1.0,
        2.0 * above(way, others) + 2.0 * above(way, half[PLAIT_STEP_experts]) + 1.0, 1e-6);
    assert_true(two[PLAIT_STEP_exchange] < whole[PLAIT_STEP_exchange] && after < before);
}

/* Few sequences read the weights twice, which costs more than their exchange. */
static void test_two_batches__cost_time_if_the_batch_is_small(void **state)
{
    const plait_step_table table = table_of(&fix.mla, (plait_worker){1, 1, 32, 32});
    const plait_step few = {.sequences = 4.0, .context = 2000.0, .verified = 1.0};
    plait_engine overlap = bare;

    (void)state;
    overlap.two_batch_overlap = true;
    assert_true(plait_step_s(&table, &overlap, few, NULL) > plait_step_s(&table, &bare, few, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_batches__hide_the_exchange),
        cmocka_unit_test(test_two_batches__cost_time_if_the_batch_is_small),
        cmocka_unit_test(test_step__reads_all_weights),
        cmocka_unit_test(test_step__is_the_sum_of_its_parts),
        cmocka_unit_test(test_step__takes_the_host_a_share_for_each_sequence),
        cmocka_unit_test(test_draft__has_no_turn_of_the_host),
        cmocka_unit_test(test_step__grows_with_its_work),
        cmocka_unit_test(test_prompt__in_chunks_attends_as_a_whole_one),
        cmocka_unit_test(test_step__starts_attention_in_each_layer),
        cmocka_unit_test(test_prompt__waits_for_its_launches),
        cmocka_unit_test(test_experts__in_four_bits_have_a_factor_of_their_own),
        cmocka_unit_test(test_table__refuses_what_does_not_divide),
        cmocka_unit_test(test_redundant_experts__fill_the_ranks),
        cmocka_unit_test(test_memory__counts_the_cache),
        cmocka_unit_test(test_adapters__take_memory_and_time),
        cmocka_unit_test(test_memory__pads_experts_in_mxfp4),
        cmocka_unit_test(test_memory__has_the_bits_of_the_checkpoint),
        cmocka_unit_test(test_memory__has_the_wide_modules_of_the_checkpoint),
        cmocka_unit_test(test_memory__of_nemotron_is_that_of_the_engines),
        cmocka_unit_test(test_memory__of_kimi_is_that_of_the_engines),
        cmocka_unit_test(test_step__of_a_hybrid_reads_states_of_constant_size),
        cmocka_unit_test(test_memory__is_shared_out_as_each_engine_does),
        cmocka_unit_test(test_start__prints_what_vllm_printed),
        cmocka_unit_test(test_start__counts_windows_as_vllm_does),
        cmocka_unit_test(test_start__divides_pools_as_sglang_does),
        cmocka_unit_test(test_origins__of_a_step_are_those_of_its_kernels_and_numbers),
        cmocka_unit_test(test_closed_loop__obeys_littles_law),
        cmocka_unit_test(test_arrivals__slow_down_until_too_many_come),
        cmocka_unit_test(test_speculation__yields_what_is_accepted_in_a_row),
        cmocka_unit_test(test_batch__runs_in_waves_where_the_cache_is_full),
        cmocka_unit_test(test_prefill_apart__leaves_decoding_alone),
        cmocka_unit_test(test_simulation__takes_as_long_as_the_closed_forms_say),
        cmocka_unit_test(test_start__is_one_of_its_rounds),
        cmocka_unit_test(test_prefill_first__keeps_equal_answers_in_step),
        cmocka_unit_test(test_prefill_first__agrees_with_the_simulation),
        cmocka_unit_test(test_prompts__wait_to_be_looked_at),
        cmocka_unit_test(test_simulation__loses_no_request),
        cmocka_unit_test(test_simulation__preempts_where_an_engine_does),
        cmocka_unit_test(test_simulation__says_when_more_comes_than_leaves),
        cmocka_unit_test(test_simulation__refuses_what_there_is_not),
        cmocka_unit_test(test_profiles__are_found_by_month_and_version),
    };

    return cmocka_run_group_tests(tests, load_all, free_all);
}
