/* test_runtime.c - runtime profiles: what software can run and what it keeps */
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

static plait_runtime find(plait_arena *arena, const char *name)
{
    plait_runtime r;

    if (plait_runtime_find(name, arena, &r, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return r;
}

static bool can(unsigned mask, int value)
{
    return (mask >> value & 1u) != 0;
}

#define LISTS                                                                                      \
    "\"zero\": [0], \"cp_comm\": [\"p2p\"], \"schedules\": [\"1f1b\"], "                           \
    "\"grad_sync\": [\"bucketed\"], \"splits\": [\"even\"], \"orders\": [\"tp-cp-dp-pp\"], "       \
    "\"attention\": [\"fused\"], \"precision\": [\"bf16\"]"
#define CAN LISTS ", \"recompute\": [\"none\"]"
#define DEFAULTS                                                                                   \
    "\"defaults\": {\"zero\": 0, \"cp_comm\": \"p2p\", \"grad_sync\": \"bucketed\", "              \
    "\"attention\": \"fused\"}"

static plait_status parse(plait_arena *arena, const char *text, plait_runtime *r)
{
    return plait_runtime_parse(text, strlen(text), "r.json", arena, r, &err);
}

static void test_runtime__reads_words_as_bits(void **state)
{
    const plait_runtime r = find(*state, "megatron");

    assert_int_equal(r.rules, PLAIT_RULES_MEGATRON);
    assert_int_equal(r.can.takes[PLAIT_KEY_ZERO], 1u << 0 | 1u << 1);
    assert_true(can(r.can.takes[PLAIT_KEY_SCHEDULE], PLAIT_1F1B) &&
                can(r.can.takes[PLAIT_KEY_SCHEDULE], PLAIT_INTERLEAVED));
    assert_false(can(r.can.takes[PLAIT_KEY_SCHEDULE], PLAIT_DUALPIPE));
    assert_true(can(r.can.takes[PLAIT_KEY_CP_COMM], PLAIT_CP_A2A));
    assert_true(can(r.can.takes[PLAIT_KEY_RECOMPUTE], PLAIT_RECOMPUTE_FULL));
    assert_false(can(r.can.takes[PLAIT_KEY_RECOMPUTE], PLAIT_RECOMPUTE_SAC));
    assert_int_equal(r.can.module_sets, 9);
    assert_int_equal(r.can.module_set[0], 1u << PLAIT_MODULE_core_attn);
    assert_int_equal(r.can.module_set[3],
                     1u << PLAIT_MODULE_layernorm | 1u << PLAIT_MODULE_moe_act);
    assert_int_equal(r.defaults.key[PLAIT_KEY_ZERO], 1);
    assert_int_equal(r.defaults.key[PLAIT_KEY_ATTENTION], PLAIT_ATTENTION_FUSED);
}

static void test_runtime__converts_its_units(void **state)
{
    const plait_runtime r = find(*state, "xla");

    assert_near(r.factor.host_tp_s, 100e-6, 1e-12); // which no fit moves
    assert_near(r.overlap.bucket_bytes, 0.0, 1e-3);
    assert_near(r.keep.workspace_bytes, 1073741824.0, 1.0);
    assert_near(r.keep.nccl_bytes, 100.0 * 1048576.0, 1.0);
}

/* Megatron-Core without the distributed optimizer: 2 + 4 + 12 bytes a parameter. */
static void test_runtime__of_megatron_keeps_18_bytes_a_parameter(void **state)
{
    const plait_state_bytes s = find(*state, "megatron").state;

    assert_near(s.weight + s.gradient + s.optimizer + s.replicated, 18.0, 0.0);
}

/* torchtitan: 16 bytes a parameter, all of them sharded. */
static void test_runtime__of_torchtitan_keeps_16_bytes_a_parameter(void **state)
{
    const plait_runtime r = find(*state, "torchtitan");

    assert_near(r.state.weight + r.state.gradient + r.state.optimizer, 16.0, 0.0);
    assert_int_equal(r.can.takes[PLAIT_KEY_SP], 3);
    assert_true(can(r.can.takes[PLAIT_KEY_ZERO], 3) && !can(r.can.takes[PLAIT_KEY_ZERO], 0));
}

/* Merged gate and up 4F, SiLU output 2F, product 2F: the SwiGLU of nanotron is not fused. */
static void test_runtime__of_nanotron_keeps_8_bytes_an_mlp_channel(void **state)
{
    const double *keeps = find(*state, "nanotron").keep.keeps;

    assert_near(2.0 * keeps[PLAIT_TENSOR_fc1_out] + keeps[PLAIT_TENSOR_act_mid] +
                    keeps[PLAIT_TENSOR_act_out],
                8.0, 0.0);
}

static void test_runtime__is_calibrated_only_where_runs_were_fitted(void **state)
{
    static const char *const priors[] = {"alpa",      "companion",     "deepseek", "flagscale",
                                         "galvatron", "megatron-fsdp", "xla"};
    const char *const *names;
    size_t count, calibrated = 0;

    assert_int_equal(plait_data_list(PLAIT_DATA_RUNTIMES, *state, &names, &count, &err), 0);
    for (size_t i = 0; i < count; i++)
        calibrated += find(*state, names[i]).calibrated;
    assert_int_equal(calibrated, count - sizeof priors / sizeof priors[0]);
    for (size_t i = 0; i < sizeof priors / sizeof priors[0]; i++)
        assert_false(find(*state, priors[i]).calibrated);
}

static void test_runtime__fills_what_is_not_said_with_neutral_numbers(void **state)
{
    plait_runtime r;

    assert_int_equal(parse(*state, "{\"name\": \"x\", \"can\": {" CAN "}, " DEFAULTS "}", &r),
                     PLAIT_OK);
    assert_int_equal(r.rules, PLAIT_RULES_GENERIC);
    assert_int_equal(r.can.most[PLAIT_KEY_TP] * r.can.most[PLAIT_KEY_PP] *
                         r.can.most[PLAIT_KEY_CP] * r.can.most[PLAIT_KEY_EP] *
                         r.can.most[PLAIT_KEY_VPP],
                     1);
    assert_near(r.factor.gemm * r.factor.memory * r.factor.attention * r.factor.nic, 1.0, 0.0);
    assert_near(r.overlap.tp_exposed * r.overlap.dp_exposed * r.overlap.ep_exposed, 1.0, 0.0);
    assert_near(r.keep.keeps[PLAIT_TENSOR_lse], 4.0, 0.0);
    assert_near(r.keep.keeps[PLAIT_TENSOR_act_mid], 0.0, 0.0);
    assert_near(r.keep.reserved_ratio, 1.0, 0.0);
    assert_false(r.calibrated || r.kernels.fused_norm);
}

/* Lists with a plain value may be left out, so that a new key needs no change of old profiles. */
static void test_a_list_that_is_left_out__has_the_plain_value(void **state)
{
    plait_runtime r;

    assert_int_equal(parse(*state,
                           "{\"name\": \"x\", \"can\": {\"zero\": [1, 2], \"cp_comm\": [\"a2a\"], "
                           "\"schedules\": [\"1f1b\"], \"recompute\": [\"full\", \"none\"], "
                           "\"attention\": [\"fused\"], \"precision\": [\"bf16\"]}, "
                           "\"defaults\": {\"zero\": 2, \"cp_comm\": \"a2a\", "
                           "\"attention\": \"fused\"}}",
                           &r),
                     PLAIT_OK);
    assert_int_equal(r.can.takes[PLAIT_KEY_GRAD_SYNC], 1u << PLAIT_SYNC_BUCKETED);
    assert_int_equal(r.can.takes[PLAIT_KEY_SPLIT], 1u << PLAIT_SPLIT_EVEN);
    assert_int_equal(r.can.takes[PLAIT_KEY_ORDER], 1u << PLAIT_ORDER_TP_CP_DP_PP);
    assert_int_equal(r.defaults.key[PLAIT_KEY_ZERO], 2);
    assert_int_equal(r.defaults.key[PLAIT_KEY_GRAD_SYNC], PLAIT_SYNC_BUCKETED);
    assert_int_equal(r.defaults.key[PLAIT_KEY_RECOMPUTE], PLAIT_RECOMPUTE_NONE);
}

static void test_runtime__is_refused_with_the_place(void **state)
{
    static const struct {
        const char *text, *where, *message;
    } bad[] = {
        {"{\"name\": \"x\"}", "r.json", "expected "},
        {"{\"name\": \"x\", \"can\": {}}", "r.json:/can", "expected "},
        {"{\"name\": \"x\", \"can\": {\"cp_comm\": [\"p2p\"], \"zero\": []}}", "r.json:/can/zero",
         "expected at least one entry, found none"},
        {"{\"name\": \"x\", \"can\": {\"cp_comm\": [\"p2p\"], \"zero\": [4]}}",
         "r.json:/can/zero/0", "expected "},
        {"{\"name\": \"x\", \"can\": {" LISTS ", \"recompute\": [\"some\"]}}",
         "r.json:/can/recompute/0", "expected "},
        {"{\"name\": \"x\", \"can\": {" LISTS ", \"recompute\": [\"modules\"]}}",
         "r.json:/can/module_sets",
         "expected at least one set of modules, since recompute has modules, found none"},
        {"{\"name\": \"x\", \"can\": {" CAN ", \"stages_differ\": true}}",
         "r.json:/can/recompute_by",
         "expected stage or layer, since stages_differ is true, found plan"},
        {"{\"name\": \"x\", \"can\": {" CAN ", \"tp_by\": \"stage\"}}", "r.json:/can/tp_by",
         "expected plan or layer, found stage"},
        {"{\"name\": \"x\", \"can\": {" CAN ", \"module_sets\": [\"mlp+moo\"]}}",
         "r.json:/can/module_sets/0",
         "expected modules such as core_attn, joined by +, found \"moo\""},
        {"{\"name\": \"x\", \"can\": {" CAN ", \"module_sets\": [\"\"]}}",
         "r.json:/can/module_sets/0", "expected at least one module, found none"},
        {"{\"name\": \"x\", \"can\": {" CAN ", \"max_tp\": 0}}", "r.json:/can/max_tp", "expected "},
        {"{\"name\": \"x\", \"can\": {" CAN "}, \"defaults\": {\"zero\": 1, \"cp_comm\": \"p2p\", "
         "\"grad_sync\": \"bucketed\", \"attention\": \"fused\"}}",
         "r.json:/defaults/zero", "expected a value that /can/zero lists, found another"},
        {"{\"name\": \"x\", \"can\": {" CAN "}, " DEFAULTS ", \"keeps\": {\"norms\": 2}}",
         "r.json:/keeps/norms", "expected "},
        {"{\"name\": \"x\", \"can\": {" CAN "}, " DEFAULTS ", \"factors\": {\"gemm\": 0}}",
         "r.json:/factors/gemm", "expected a positive number, found 0"},
        {"{\"name\": \"x\", \"can\": {" CAN "}, " DEFAULTS ", \"kernels\": {\"fused_norm\": 1}}",
         "r.json:/kernels/fused_norm", "expected "},
        {"{\"name\": \"x\", \"can\": {" CAN "}, " DEFAULTS
         ", \"residents\": {\"reserved_ratio\": 0.99}}",
         "r.json:/residents/reserved_ratio", "expected at least 1, found 0.99"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        plait_runtime r;

        assert_int_not_equal(parse(*state, bad[i].text, &r), PLAIT_OK);
        assert_string_equal(err.where, bad[i].where);
        if (strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("%s: %s", err.where, err.message);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_runtime__reads_words_as_bits),
        TEST(test_runtime__converts_its_units),
        TEST(test_runtime__of_megatron_keeps_18_bytes_a_parameter),
        TEST(test_runtime__of_torchtitan_keeps_16_bytes_a_parameter),
        TEST(test_runtime__of_nanotron_keeps_8_bytes_an_mlp_channel),
        TEST(test_runtime__is_calibrated_only_where_runs_were_fitted),
        TEST(test_runtime__fills_what_is_not_said_with_neutral_numbers),
        TEST(test_a_list_that_is_left_out__has_the_plain_value),
        TEST(test_runtime__is_refused_with_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
