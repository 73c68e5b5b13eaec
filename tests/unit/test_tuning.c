/* test_tuning.c - products, parameters and kept tensors of frozen matrices and adapters, by hand */
#include "support/assert_near.h"
#include "costmodel/layer/tuning.h"
#include "plait/lowlevel/block.h"
#include "plait/arena.h"
#include "plait/runtime.h"
#include "plan/documents.h"

enum { HIDDEN = 64, WIDTH = 256, RANK = 8, TOKENS = 32 };

static const unsigned fused_targets =
    1u << PLAIT_LORA_QKV | 1u << PLAIT_LORA_O | 1u << PLAIT_LORA_FC1 | 1u << PLAIT_LORA_DOWN;

/* Four heads of 16 with two key-value heads, and a gated feed-forward part. */
static const plait_layer layer = {
    .norms = 2,
    .mixer = PLAIT_MIXER_ATTENTION,
    .attention = {.heads = 4, .kv_heads = 2, .head_dim = 16},
    .ffn = PLAIT_FFN_MLP,
    .mlp = {.width = WIDTH, .gated = true},
};

static plait_model model_of(void)
{
    static const unsigned char kinds[1];

    return (plait_model){.hidden = HIDDEN,
                         .vocab = 1000,
                         .layers = 1,
                         .kinds = 1,
                         .kind = &layer,
                         .layer_kind = kinds};
}

static plait_block describe(const plait_tuning *tuning, plait_pass_kind kind)
{
    static const plait_runtime neutral;
    const plait_model model = model_of();
    plait_shard shard = {.tp = 1,
                         .cp = 1,
                         .ep = 1,
                         .etp = 1,
                         .attention = PLAIT_ATTENTION_FUSED,
                         .runtime = &neutral};
    plait_block block;

    shard_tune(&model, tuning, &shard);
    plait_block_describe(&model, &layer, &shard, (plait_pass){kind, 1.0, TOKENS, TOKENS}, &block);
    return block;
}

static double product_flops(const plait_tuning *tuning, plait_pass_kind kind)
{
    const plait_block block = describe(tuning, kind);
    double flops = 0.0;

    for (int i = 0; i < block.ops; i++)
        if (block.op[i].kind == PLAIT_OP_GEMM)
            flops += block.op[i].flops;
    return flops;
}

static double memory_bytes(const plait_tuning *tuning, plait_pass_kind kind)
{
    const plait_block block = describe(tuning, kind);
    double bytes = 0.0;

    for (int i = 0; i < block.ops; i++)
        if (block.op[i].kind == PLAIT_OP_MEMORY)
            bytes += block.op[i].bytes;
    return bytes;
}

/* q and o: 64 x 64; k and v: 64 x 32; gate, up and down: 64 x 256. */
static const double matrices = 2.0 * 64 * 64 + 2.0 * 64 * 32 + 3.0 * 64 * 256;

static void test_frozen_matrices__take_four_flops_a_parameter(void **state)
{
    const plait_tuning all = {.kind = PLAIT_JOB_SFT};
    const plait_tuning none = {.kind = PLAIT_JOB_SFT,
                               .frozen = 1u << PLAIT_FREEZE_ATTENTION | 1u << PLAIT_FREEZE_MLP};

    (void)state;
    assert_near_relative(product_flops(&all, PLAIT_FORWARD) + product_flops(&all, PLAIT_BACKWARD),
                         6.0 * matrices * TOKENS, 1e-12);
    assert_near_relative(product_flops(&none, PLAIT_FORWARD) + product_flops(&none, PLAIT_BACKWARD),
                         4.0 * matrices * TOKENS, 1e-12);
}

/* r (in + out) for each adapter: qkv 64 -> 128, o 64 -> 64, fc1 64 -> 512, down 256 -> 64. */
static void test_adapters__have_rank_times_both_widths(void **state)
{
    const plait_tuning lora = {.kind = PLAIT_JOB_LORA, .rank = RANK, .targets = fused_targets};
    const double adapters = RANK * ((64.0 + 128) + (64 + 64) + (64 + 512) + (256 + 64));
    const plait_block block = describe(&lora, PLAIT_FORWARD);
    const plait_model model = model_of();

    (void)state;
    assert_near_relative(block.weights.dense, adapters, 1e-12);
    assert_near_relative(block.weights.frozen_dense, matrices + 2.0 * HIDDEN, 1e-12);
    assert_near_relative(plait_job_trained_params(&model, &lora), adapters, 1e-12);
    assert_near_relative(product_flops(&lora, PLAIT_FORWARD) + product_flops(&lora, PLAIT_BACKWARD),
                         (4.0 * matrices + 6.0 * adapters) * TOKENS, 1e-12);
}

/* q, k and v have separate A: 3 r x 64, and r x (64 + 32 + 32). Gate alone: half. */
static void test_separate_targets__have_separate_adapters(void **state)
{
    const plait_tuning qkv = {.kind = PLAIT_JOB_LORA,
                              .rank = RANK,
                              .targets =
                                  1u << PLAIT_LORA_Q | 1u << PLAIT_LORA_K | 1u << PLAIT_LORA_V};
    const plait_tuning gate = {
        .kind = PLAIT_JOB_LORA, .rank = RANK, .targets = 1u << PLAIT_LORA_GATE};

    (void)state;
    assert_near_relative(describe(&qkv, PLAIT_FORWARD).weights.dense,
                         RANK * (3.0 * 64 + 64 + 32 + 32), 1e-12);
    assert_near_relative(describe(&gate, PLAIT_FORWARD).weights.dense, RANK * (64.0 + 256), 1e-12);
}

/* A pass over NF4 weights reads 4.127 / 8 bytes of a weight and writes 2, in each direction. */
static void test_nf4__restores_each_weight_in_both_passes(void **state)
{
    const plait_tuning bf16 = {.kind = PLAIT_JOB_LORA, .rank = RANK, .targets = fused_targets};
    plait_tuning nf4 = bf16;

    (void)state;
    nf4.format = PLAIT_FROZEN_NF4;
    for (int pass = PLAIT_FORWARD; pass <= PLAIT_BACKWARD; pass++)
        assert_near_relative(memory_bytes(&nf4, (plait_pass_kind)pass) -
                                 memory_bytes(&bf16, (plait_pass_kind)pass),
                             (4.127 / 8.0 + 2.0) * matrices, 1e-9);
}

/* Adapters on qkv read the norm of the mixer; the output of the activation is read by down only. */
static void test_tensors_that_no_trained_matrix_reads__are_not_kept(void **state)
{
    const plait_tuning all = {.kind = PLAIT_JOB_SFT};
    const plait_tuning qkv = {
        .kind = PLAIT_JOB_LORA, .rank = RANK, .targets = 1u << PLAIT_LORA_QKV};
    const plait_tuning down = {
        .kind = PLAIT_JOB_LORA, .rank = RANK, .targets = 1u << PLAIT_LORA_DOWN};
    const plait_block full = describe(&all, PLAIT_FORWARD);
    const plait_block of_qkv = describe(&qkv, PLAIT_FORWARD);
    const plait_block of_down = describe(&down, PLAIT_FORWARD);

    (void)state;
    assert_near_relative(full.saved[PLAIT_TENSOR_act_out], (double)TOKENS * WIDTH, 1e-12);
    assert_true(of_qkv.saved[PLAIT_TENSOR_act_out] == 0.0);
    assert_true(of_down.saved[PLAIT_TENSOR_act_out] == full.saved[PLAIT_TENSOR_act_out]);
    assert_near_relative(of_qkv.saved[PLAIT_TENSOR_norm_out],
                         0.5 * full.saved[PLAIT_TENSOR_norm_out], 1e-12);
    assert_true(of_down.saved[PLAIT_TENSOR_norm_out] == 0.0);
    assert_true(of_qkv.saved[PLAIT_TENSOR_core_out] == full.saved[PLAIT_TENSOR_core_out]);
}

// ---- documents -----------------------------------------------------------------------------

static double uniform(void)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static const double document_length[] = {100.0, 400.0, 1000.0}, document_share[] = {0.5, 0.3, 0.2};

static plait_job job_of(bool padded)
{
    return (plait_job){
        .seq = 16384,
        .gbs = 8,
        .document = 684, // (0.5 100^2 + 0.3 400^2 + 0.2 1000^2) / 370
        .documents = {
            .lengths = 3, .length = document_length, .share = document_share, .padded = padded}};
}

static double draw(void)
{
    const double u = uniform();

    return document_length[u < 0.5 ? 0 : u < 0.8 ? 1 : 2];
}

/* C.416: 20,000 packs that are filled with documents in random order. */
static void test_packs__vary_as_filled_at_random(void **state)
{
    enum { PACKS = 20000 };
    plait_job job = job_of(false);
    double sum = 0.0, squares = 0.0;

    (void)state;
    for (int p = 0; p < PACKS; p++) {
        double work = 0.0, left = job.seq;
        for (double length = draw(); left > 0.0; length = draw()) {
            // the last document is cut, and its work counts in proportion
            work += length * length * (length < left ? 1.0 : left / length);
            left -= length;
        }
        sum += work;
        squares += work * work;
    }
    const double mean = sum / PACKS;
    const document_load load = document_load_of(&job, 1);
    assert_near_relative(mean, 684.0 * job.seq, 0.01);
    assert_near_relative(load.work_deviation, sqrt(squares / PACKS - mean * mean) / mean, 0.03);
    assert_near_relative(document_load_of(&job, 4).work_deviation, load.work_deviation / 2.0,
                         1e-12);
    assert_true(load.token_deviation == 0.0 && load.tokens == job.seq);
    job.tuning.kind = PLAIT_JOB_DPO; // a pair has two packs
    assert_near_relative(document_load_of(&job, 2).work_deviation, load.work_deviation / 2.0,
                         1e-12);
}

/* C.418: all 27 microbatches of three documents. */
static void test_padding__computes_the_longest_of_a_microbatch(void **state)
{
    const plait_job job = job_of(true);
    double mean = 0.0, squares = 0.0, fourth = 0.0;

    (void)state;
    for (int i = 0; i < 27; i++) {
        const int a = i % 3, b = i / 3 % 3, c = i / 9;
        const int longest = a > b ? (a > c ? a : c) : (b > c ? b : c);
        const double share = document_share[a] * document_share[b] * document_share[c];
        mean += share * document_length[longest];
        squares += share * pow(document_length[longest], 2.0);
        fourth += share * pow(document_length[longest], 4.0);
    }
    const document_load load = document_load_of(&job, 3);
    assert_near_relative(load.tokens, mean, 1e-12);
    assert_near_relative(load.reach, squares / mean, 1e-12);
    assert_near_relative(load.token_deviation, sqrt(squares / (mean * mean) - 1.0), 1e-9);
    assert_near_relative(load.work_deviation, sqrt(fourth / (squares * squares) - 1.0), 1e-9);
    assert_near_relative(load.token_most, 1000.0 / mean - 1.0, 1e-12);
    assert_near_relative(plait_job_tokens(&job), 8.0 * 370.0, 1e-12);
}

/* Lengths keep their mean and reach; those above a sequence are cut. */
static void test_documents__keep_mean_and_reach(void **state)
{
    static const double length[] = {1.0, 100.0, 102.0, 900.0, 1500.0};
    plait_arena *const arena = plait_arena_new();
    plait_job job = {.seq = 1000};
    plait_error err;
    double mean = 0.0;

    (void)state;
    assert_int_equal(job_set_documents(&job, length, 5, arena, &err), PLAIT_OK);
    assert_int_equal(job.documents.lengths, 4); // 100 and 102 are in one bin
    for (int i = 0; i < job.documents.lengths; i++)
        mean += job.documents.share[i] * job.documents.length[i];
    assert_near_relative(mean, 2103.0 / 5.0, 1e-12);
    assert_int_equal(job.document, 870); // (1 + 100^2 + 102^2 + 900^2 + 1000^2) / 2103
    assert_int_equal(job_check_documents(&job, &err), PLAIT_OK);
    job.documents.padded = job.documents.balanced = true;
    assert_int_equal(job_check_documents(&job, &err), PLAIT_ERROR_RANGE);
    job.documents = (plait_documents){.balanced = true};
    assert_int_equal(job_check_documents(&job, &err), PLAIT_ERROR_RANGE);
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frozen_matrices__take_four_flops_a_parameter),
        cmocka_unit_test(test_adapters__have_rank_times_both_widths),
        cmocka_unit_test(test_separate_targets__have_separate_adapters),
        cmocka_unit_test(test_nf4__restores_each_weight_in_both_passes),
        cmocka_unit_test(test_packs__vary_as_filled_at_random),
        cmocka_unit_test(test_padding__computes_the_longest_of_a_microbatch),
        cmocka_unit_test(test_documents__keep_mean_and_reach),
        cmocka_unit_test(test_tensors_that_no_trained_matrix_reads__are_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
