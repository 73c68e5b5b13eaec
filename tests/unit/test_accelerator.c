/* test_accelerator.c - accelerator files: units, and what stands in for measurements */
#include <string.h>

#include "support/assert_near.h"
#include "plait/data.h"

static plait_error err;

static int begin(void **state)
{
    *state = plait_arena_new();
    err = (plait_error){PLAIT_OK, "", ""};
    return *state == NULL;
}

static int end(void **state)
{
    plait_arena_free(*state);
    return 0;
}

static plait_accelerator find(plait_arena *arena, const char *name)
{
    plait_accelerator a;

    if (plait_accelerator_find(name, arena, &a, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return a;
}

static plait_status parse(plait_arena *arena, const char *text, plait_accelerator *a)
{
    return plait_accelerator_parse(text, strlen(text), "a.json", arena, a, &err);
}

/* The least that a file must say. */
#define SHEET                                                                                      \
    "\"name\": \"x\", \"peak_tflops\": {\"bf16\": 300}, \"compute_units\": 100, "                  \
    "\"memory\": {\"memory_gib\": 80, \"hbm_tb_per_s\": 2}, "                                      \
    "\"scale_up\": {\"domain\": 8, \"bandwidth_gb_per_s\": 100}, "                                 \
    "\"node\": {\"accelerators\": 8, \"nic_gbit_per_s\": 200}"

static void test_accelerator__converts_the_units_of_the_data_sheet(void **state)
{
    const plait_accelerator a = find(*state, "h100-80gb-sxm");

    assert_near(a.peak_flops_per_s[PLAIT_BF16], 989.4e12, 1e6);
    assert_near(a.peak_flops_per_s[PLAIT_FP16], 989.4e12, 1e6);
    assert_near(a.peak_flops_per_s[PLAIT_FP8_BLOCK], 1978.9e12, 1e6);
    assert_near(a.peak_flops_per_s[PLAIT_NVFP4], 0.0, 0.0);
    assert_near(a.hbm_bytes_per_s, 3.35e12, 1.0);
    assert_near(a.memory_bytes, 79.1 * 1073741824.0, 1.0);
    assert_near(a.nic_bytes_per_s, 50e9, 1.0);
    assert_near(a.gemm[PLAIT_BF16].t0_s, 2.63e-6, 1e-15);
    assert_int_equal(a.confidence, PLAIT_CONFIDENCE_HIGH);
}

static void test_accelerator__says_which_fits_were_measured(void **state)
{
    const plait_accelerator h100 = find(*state, "h100-80gb-sxm");
    const plait_accelerator mi300x = find(*state, "mi300x-192gb");

    assert_true(h100.gemm[PLAIT_FP8].measured && h100.collective[PLAIT_ALL_TO_ALL].measured);
    assert_true(h100.attention[PLAIT_ATTENTION_FUSED].measured);
    assert_false(h100.gemm[PLAIT_MXFP8].measured);
    assert_false(mi300x.gemm[PLAIT_BF16].measured);
    assert_near(mi300x.gemm[PLAIT_BF16].emax, 0.511, 1e-12); // 668 of 1307.4 TFLOP/s
}

/* Parts of 700 W and more sit at their power cap in long loops. */
static void test_accelerator__derates_sustained_clocks_by_power(void **state)
{
    const plait_accelerator h100 = find(*state, "h100-80gb-sxm");
    const plait_accelerator a100 = find(*state, "a100-80gb-sxm");
    const plait_accelerator hbm2e = find(*state, "h100-96gb-hbm2e");

    assert_near(h100.sustained[0], 0.86, 0.0);
    assert_near(h100.sustained[1], 0.92, 0.0);
    assert_near(a100.sustained[0], 1.0, 0.0);
    assert_near(hbm2e.sustained[0], 0.72, 0.0);
    assert_near(h100.wgrad_ratio, 1.04, 0.0);
}

/* The tile of 64x64 is the slowest: taking r64 for it would be three times too fast on H100. Its
 * fit does not tell r32, so that is Hopper's. */
static void test_accelerator__keeps_tile_rates_in_their_order(void **state)
{
    const plait_gemm_fit fit = find(*state, "h100-80gb-sxm").gemm[PLAIT_BF16];

    assert_near(fit.r64, 0.993, 1e-12);
    assert_near(fit.r32, 0.30, 1e-12);
}

static void test_accelerator__with_fp16_alone_prices_16_bits_by_it(void **state)
{
    const plait_accelerator v100 = find(*state, "v100-32gb-sxm");

    assert_true(v100.fp16_only);
    assert_near(v100.peak_flops_per_s[PLAIT_FP16], 125e12, 1.0);
    assert_near(v100.peak_flops_per_s[PLAIT_BF16], 125e12, 1.0);
    assert_near(v100.gemm[PLAIT_BF16].emax, 0.8, 0.0);
    assert_near(v100.gemm[PLAIT_FP16].emax, 0.8, 0.0);
    assert_false(find(*state, "a100-80gb-sxm").fp16_only);
}

/* A GCD is what a process of an MI250X sees: half a package. */
static void test_accelerator__of_an_mi250x_is_one_gcd(void **state)
{
    const plait_accelerator a = find(*state, "mi250x-128gb");

    assert_near(a.peak_flops_per_s[PLAIT_BF16], 191.5e12, 1.0);
    assert_near(a.memory_bytes, 64.0 * 1073741824.0, 1.0);
}

static void test_accelerator__fills_what_is_not_said(void **state)
{
    plait_accelerator a;

    assert_int_equal(parse(*state, "{" SHEET "}", &a), PLAIT_OK);
    assert_near(a.vector_flops_per_s, 10e12, 1.0);
    assert_near(a.peak_flops_per_s[PLAIT_FP8], 0.0, 0.0);
    assert_near(a.gemm[PLAIT_BF16].emax, 0.65, 0.0);
    assert_false(a.gemm[PLAIT_BF16].measured || a.memory_op_measured);
    assert_near(a.memory_op_fraction, 0.75, 0.0);
    // a ring reaches 0.8 of 100 GB/s
    assert_near(a.collective[PLAIT_ALL_REDUCE].bytes_per_s[2], 80e9, 1.0);
    assert_near(a.p2p.bytes_per_s, 80e9, 1.0);
    assert_near(a.power_w + a.idle_w + a.usd_per_hour, 0.0, 0.0);
    assert_int_equal(a.confidence, PLAIT_CONFIDENCE_LOW);
}

static void test_accelerator__sends_over_one_link_of_a_torus(void **state)
{
    // v5p: six links of 100 GB/s, 0.8 of one of them
    assert_near(find(*state, "tpu-v5p").p2p.bytes_per_s, 80e9, 1.0);
}

static void test_accelerator__fills_head_widths_from_128(void **state)
{
    plait_accelerator a;

    assert_int_equal(parse(*state,
                           "{" SHEET
                           ", \"attention\": {\"flash2\": {\"e\": {\"128\": 0.5, \"256\": 0.6}}}}",
                           &a),
                     PLAIT_OK);
    assert_near(a.attention[PLAIT_ATTENTION_FLASH2].e[0], 0.45, 1e-12);
    assert_near(a.attention[PLAIT_ATTENTION_FLASH2].e[2], 0.5, 0.0);
    assert_near(a.attention[PLAIT_ATTENTION_FLASH2].e[3], 0.6, 0.0);
    assert_true(a.attention[PLAIT_ATTENTION_FLASH2].measured);
    assert_false(a.attention[PLAIT_ATTENTION_FLASH].measured);
}

static void test_accelerator__has_every_constant_above_zero(void **state)
{
    const char *const *names;
    size_t count;

    assert_int_equal(plait_data_list(PLAIT_DATA_ACCELERATORS, *state, &names, &count, &err), 0);
    for (size_t i = 0; i < count; i++) {
        const plait_accelerator a = find(*state, names[i]);

        for (int p = 0; p < PLAIT_PRECISIONS; p++) {
            assert_true(a.gemm[p].emax > 0.0 && a.gemm[p].eb > 0.0 && a.gemm[p].p > 0.0);
            assert_true(a.gemm[p].r128 > 0.0 && a.gemm[p].r64 > 0.0 && a.gemm[p].r32 > 0.0);
            assert_true(a.grouped[p].emax > 0.0 && a.grouped[p].eb > 0.0 && a.grouped[p].rs > 0.0);
        }
        for (int k = 0; k < PLAIT_ATTENTION_KERNELS; k++)
            for (int e = 0; e < 4; e++)
                assert_true(a.attention[k].e[e] > 0.0 && a.attention[k].e[e] <= 1.0);
        for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
            assert_true(a.collective[op].bytes_per_s[0] > 0.0 &&
                        a.collective[op].local_bytes_per_s > 0.0);
        assert_true(a.vector_flops_per_s > 0.0 && a.nic_bytes_per_s > 0.0);
        assert_true(a.p2p.bytes_per_s > 0.0 && a.sustained[0] > 0.0 && a.sustained[1] > 0.0);
    }
}

static void test_accelerator__is_refused_with_the_place(void **state)
{
    static const struct {
        const char *text, *where, *message;
    } bad[] = {
        {"{}", "a.json", "expected "},
        {"{" SHEET ", \"gemn\": {}}", "a.json:/gemn", "expected "},
        {"{\"name\": \"x\", \"peak_tflops\": {\"fp8\": 5}}", "a.json:/peak_tflops/bf16",
         "expected the peak of bf16 or fp16, found neither"},
        {"{\"name\": \"x\", \"peak_tflops\": {\"bf16\": 0}}", "a.json:/peak_tflops/bf16",
         "expected a positive number, found 0"},
        {"{\"name\": \"x\", \"peak_tflops\": {\"bf16\": 1e20}}", "a.json:/peak_tflops/bf16",
         "expected at most 1e+09, found 1e+20"},
        {"{" SHEET ", \"gemm\": {\"bf16\": {\"emax\": 1.2}}}", "a.json:/gemm/bf16/emax",
         "expected at most 1, found 1.2"},
        {"{" SHEET ", \"gemm\": {\"fp64\": {}}}", "a.json:/gemm/fp64", "expected "},
        {"{" SHEET ", \"attention\": {\"unfused\": {}}}", "a.json:/attention/unfused", "expected "},
        {"{" SHEET ", \"attention\": {\"fused\": {\"e\": {\"128\": 1.5}}}}",
         "a.json:/attention/fused/e/128",
         "expected a fraction of the peak from 0.0001 to 1, found 1.5"},
        {"{" SHEET ", \"collectives\": {\"all_reduce\": {\"a_us\": [1, 2]}}}",
         "a.json:/collectives/all_reduce/a_us", "expected 3 numbers, found 2"},
        {"{" SHEET ", \"collectives\": {\"broadcast\": {}}}", "a.json:/collectives/broadcast",
         "expected "},
        {"{" SHEET ", \"gemm\": {\"bf16\": {\"p\": 0.0005}}}", "a.json:/gemm/bf16/p",
         "expected at least 0.5, found 0.0005"},
        {"{" SHEET ", \"sustained\": {\"bf16\": 1e-20}}", "a.json:/sustained/bf16",
         "expected at least 0.01, found 1e-20"},
        {"{" SHEET ", \"wgrad_ratio\": 1e-3}", "a.json:/wgrad_ratio",
         "expected a factor from 0.01 to 100, found 0.001"},
        {"{" SHEET ", \"family\": \"pascal\"}", "a.json:/family", "expected one of "},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        plait_accelerator a;

        assert_int_not_equal(parse(*state, bad[i].text, &a), PLAIT_OK);
        assert_string_equal(err.where, bad[i].where);
        if (strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("%s: %s", err.where, err.message);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_accelerator__converts_the_units_of_the_data_sheet),
        TEST(test_accelerator__says_which_fits_were_measured),
        TEST(test_accelerator__derates_sustained_clocks_by_power),
        TEST(test_accelerator__keeps_tile_rates_in_their_order),
        TEST(test_accelerator__with_fp16_alone_prices_16_bits_by_it),
        TEST(test_accelerator__of_an_mi250x_is_one_gcd),
        TEST(test_accelerator__fills_what_is_not_said),
        TEST(test_accelerator__sends_over_one_link_of_a_torus),
        TEST(test_accelerator__fills_head_widths_from_128),
        TEST(test_accelerator__has_every_constant_above_zero),
        TEST(test_accelerator__is_refused_with_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
