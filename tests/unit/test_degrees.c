/* test_degrees.c - the keys of a plan as text, and what follows from them */
#include <string.h>

#include "support/assert_near.h"
#include "plait/plan.h"

static void test_first_point__is_one_gpu(void **state)
{
    const plait_degrees d = plait_degrees_init();

    (void)state;
    assert_int_equal(d.tp * d.cp * d.pp * d.vpp * d.ep * d.etp * d.dp * d.mbs * d.shard_group, 1);
    assert_int_equal(d.schedule, PLAIT_1F1B);
    assert_int_equal(d.recompute.kind, PLAIT_RECOMPUTE_NONE);
    assert_int_equal(d.zero, 0);
    assert_false(d.sp);
}

/* 64 GPUs in models of 2 x 4 x 2 = 16: four replicas. What does not divide has none. */
static void test_dp__is_what_remains_of_the_gpus(void **state)
{
    (void)state;
    assert_int_equal(plait_degrees_dp(64, 2, 4, 2), 4);
    assert_int_equal(plait_degrees_dp(64, 1, 1, 1), 64);
    assert_int_equal(plait_degrees_dp(64, 3, 1, 1), 0);
    assert_int_equal(plait_degrees_dp(8, 16, 1, 1), 0);
    assert_int_equal(plait_degrees_dp(8, 1 << 20, 1 << 20, 1 << 20), 0); // 2^60 ranks
}

/* 96 sequences over 4 replicas, 3 at a time: 8 microbatches. */
static void test_microbatches__are_what_remains_of_the_batch(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    d.dp = 4;
    d.mbs = 3;
    assert_int_equal(plait_degrees_microbatches(&d, 96), 8);
    assert_int_equal(plait_degrees_microbatches(&d, 100), 0);
    assert_int_equal(plait_degrees_microbatches(&d, 6), 0);
    d.dp = d.mbs = 1 << 20;
    assert_int_equal(plait_degrees_microbatches(&d, 96), 0);
}

// ---- text and back -------------------------------------------------------------------------

static const char *const values[][2] = {
    {"tp", "8"},
    {"tp", "1"},
    {"tp", "1048576"},
    {"cp", "16"},
    {"pp", "64"},
    {"vpp", "3"},
    {"ep", "256"},
    {"etp", "2"},
    {"dp", "1024"},
    {"mbs", "4"},
    {"attention", "unfused-softmax-kernel"},
    {"attention", "flash3"},
    {"shard_group", "32"},
    {"sp", "0"},
    {"sp", "1"},
    {"zero", "0"},
    {"zero", "1"},
    {"zero", "2"},
    {"zero", "3"},
    {"cp_comm", "p2p"},
    {"cp_comm", "allgather"},
    {"cp_comm", "a2a"},
    {"cp_comm", "a2a+p2p"},
    {"schedule", "naive"},
    {"schedule", "gpipe"},
    {"schedule", "1f1b"},
    {"schedule", "interleaved"},
    {"schedule", "zb-h1"},
    {"schedule", "zb-h2"},
    {"schedule", "zb-v"},
    {"schedule", "v-half"},
    {"schedule", "v-min"},
    {"schedule", "dualpipe"},
    {"schedule", "dualpipe-v"},
    {"grad_sync", "bulk"},
    {"grad_sync", "bucketed"},
    {"grad_sync", "shifted"},
    {"order", "tp-cp-dp-pp"},
    {"order", "tp-cp-pp-dp"},
    {"placement", "zxy"},
    {"split", "even"},
    {"split", "embedding"},
    {"split", "loss"},
    {"split", "both"},
    {"split", "spread"},
    {"split", "cost"},
    {"split", "first-last:3,5"},
    {"recompute", "none"},
    {"recompute", "selective"},
    {"recompute", "sac"},
    {"recompute", "full"},
    {"recompute", "full:7"},
    {"recompute", "modules:core_attn"},
    {"recompute", "modules:layernorm+moe_act"},
    {"recompute", "modules:core_attn+layernorm+mla_up_proj+moe_act+shared_experts+mlp+moe"},
    {"fusion", "none"},
    {"grad_reduce", "fp32"},
    {"grad_reduce", "bf16"},
    {"grad_reduce", "fp16"},
    {"optimizer_state", "fp8"},
    {"fp8_params", "1"},
    {"fp8_attention", "1"},
    {"fused_grouped_mlp", "1"},
    {"tp_comm_overlap", "1"},
    {"permute_fusion", "1"},
    {"router_fusion", "1"},
    {"gather_with_step", "1"},
    {"bucket", "default"},
    {"bucket", "5e7"},
    {"cuda_graph", "none"},
    {"cuda_graph", "layers"},
    {"cuda_graph", "full_iteration"},
    {"dispatcher", "alltoall"},
    {"dispatcher", "hybridep"},
    {"ep_overlap", "none"},
    {"ep_overlap", "pairs-delayed-wgrad"},
    {"fp8_attention", "1"},
    {"fused_grouped_mlp", "1"},
    {"tp_comm_overlap", "1"},
    {"cuda_graph", "layers"},
    {"cuda_graph", "full_iteration"},
    {"offload", "none"},
    {"offload", "optimizer"},
    {"offload", "gradients"},
    {"offload", "params"},
    {"offload_share", "1"},
    {"offload_share", "0.5"},
    {"offload_acts", "none"},
    {"offload_acts", "core_attn+attn_proj"},
    {"offload_acts", "all"},
    {"reshard", "always"},
    {"reshard", "never"},
    {"reshard", "node"},
    {"scatter", "microbatch"},
    {"scatter", "step"},
    {"quantise", "none"},
    {"post_validation", "1"},
    {"quantise", "weights"},
    {"quantise", "gradients"},
    {"quantise", "both"},
};

enum { VALUES = sizeof values / sizeof *values };

static plait_key_id key_of(const char *name)
{
    const int key = plait_key_find(name);

    assert_true(key >= 0);
    return (plait_key_id)key;
}

static void test_values__come_back_as_they_were_set(void **state)
{
    (void)state;
    for (int i = 0; i < VALUES; i++) {
        plait_degrees d = plait_degrees_init();
        plait_error err;
        char text[128];
        if (plait_degrees_set(&d, values[i][0], values[i][1], &err) != PLAIT_OK)
            fail_msg("%s=%s: %s", values[i][0], values[i][1], err.message);
        assert_string_equal(plait_degrees_get(&d, key_of(values[i][0]), text, sizeof text),
                            values[i][1]);
    }
}

static void test_every_key__is_tried_above(void **state)
{
    (void)state;
    for (int k = 0; k < PLAIT_KEYS; k++) {
        bool tried = false;
        for (int i = 0; i < VALUES; i++)
            tried = tried || strcmp(values[i][0], plait_keys[k].name) == 0;
        if (!tried)
            fail_msg("no value of %s", plait_keys[k].name);
    }
}

/* A key changes its own field and no other. */
static void test_keys__do_not_touch_each_other(void **state)
{
    (void)state;
    for (int i = 0; i < VALUES; i++) {
        const plait_degrees before = plait_degrees_init();
        plait_degrees after = before;
        char a[128];
        char b[128];
        assert_int_equal(plait_degrees_set(&after, values[i][0], values[i][1], NULL), PLAIT_OK);
        for (int k = 0; k < PLAIT_KEYS; k++) {
            const plait_key_id key = (plait_key_id)k;
            if (strcmp(plait_keys[k].name, values[i][0]) != 0)
                assert_string_equal(plait_degrees_get(&after, key, a, sizeof a),
                                    plait_degrees_get(&before, key, b, sizeof b));
        }
    }
}

/* Where commas separate keys, as in tp=8,split=first-last:3+5. */
static void test_first_and_last__may_be_joined_by_a_plus(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    assert_int_equal(plait_degrees_set(&d, "split", "first-last:3+5", NULL), PLAIT_OK);
    assert_int_equal(d.split.kind, PLAIT_SPLIT_FIRST_LAST);
    assert_int_equal(d.split.first, 3);
    assert_int_equal(d.split.last, 5);
}

static void test_full__of_so_many_layers(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    assert_int_equal(plait_degrees_set(&d, "recompute", "full:7", NULL), PLAIT_OK);
    assert_int_equal(d.recompute.kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(d.recompute.layers, 7);
    assert_int_equal(plait_degrees_set(&d, "recompute", "full", NULL), PLAIT_OK);
    assert_int_equal(d.recompute.layers, 0);
}

static void test_short_buffers__cut_the_text(void **state)
{
    plait_degrees d = plait_degrees_init();
    char text[6];

    (void)state;
    assert_int_equal(plait_degrees_set(&d, "recompute", "modules:core_attn+mlp", NULL), PLAIT_OK);
    assert_string_equal(plait_degrees_get(&d, PLAIT_KEY_RECOMPUTE, text, sizeof text), "modul");
}

// ---- refusals ------------------------------------------------------------------------------

static void test_refusals__say_key_and_reason_and_change_nothing(void **state)
{
    static const char *const refused[][3] = {
        {"tp", "0", "expected an integer from 1 to 1048576, found '0'"},
        {"tp", "-8", "expected an integer from 1 to 1048576, found '-8'"},
        {"tp", "8.5", "expected an integer from 1 to 1048576, found '8.5'"},
        {"tp", "", "expected an integer from 1 to 1048576, found ''"},
        {"tp", "8 ", "expected an integer from 1 to 1048576, found '8 '"},
        {"mbs", "1048577", "expected an integer from 1 to 1048576, found '1048577'"},
        {"dp", "99999999999", "expected an integer from 1 to 16777216, found '99999999999'"},
        {"sp", "2", "expected an integer from 0 to 1, found '2'"},
        {"sp", "yes", "expected an integer from 0 to 1, found 'yes'"},
        {"zero", "4", "expected an integer from 0 to 3, found '4'"},
        {"cp_comm", "ring", "expected one of p2p, allgather, a2a, a2a+p2p, found 'ring'"},
        {"schedule", "1F1B",
         "expected one of naive, gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, v-half, v-min, "
         "dualpipe, dualpipe-v, found '1F1B'"},
        {"grad_sync", "", "expected one of bulk, bucketed, shifted, found ''"},
        {"order", "pp-dp", "expected one of tp-cp-dp-pp, tp-cp-pp-dp, found 'pp-dp'"},
        {"split", "first-last", "expected first-last:F,L with layer counts, found 'first-last'"},
        {"split", "first-last:3",
         "expected first-last:F,L with layer counts, found 'first-last:3'"},
        {"split", "first-last:0,3",
         "expected first-last:F,L with layer counts, found 'first-last:0,3'"},
        {"split", "first-last:3,5,7",
         "expected first-last:F,L with layer counts, found 'first-last:3,5,7'"},
        {"split", "first-last:3,99999",
         "expected first-last:F,L with layer counts, found 'first-last:3,99999'"},
        {"recompute", "modules",
         "expected none, selective, full, full:N, modules:a+b or sac, found 'modules'"},
        {"recompute", "some",
         "expected none, selective, full, full:N, modules:a+b or sac, found 'some'"},
        {"recompute", "full:0", "expected an integer from 1 to 4096, found '0'"},
        {"recompute", "full:", "expected an integer from 1 to 4096, found ''"},
        {"recompute", "modules:", "expected at least one module, found ''"},
        {"recompute", "modules:mpl",
         "expected module names joined by '+', found 'mpl'; did you mean 'mlp'?"},
        {"recompute", "modules:mlp+qqqqqqqq",
         "expected module names joined by '+', found 'qqqqqqqq'"},
        {"fusion", "all", "expected one of none, auto, found 'all'"},
        {"shard_gruop", "2",
         "expected a key of a plan, found 'shard_gruop'; did you mean 'shard_group'?"},
        {"xyzzyxyzzy", "2", "expected a key of a plan, found 'xyzzyxyzzy'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const plait_degrees before = plait_degrees_init();
        plait_degrees d = before;
        plait_error err;
        char a[128];
        char b[128];
        assert_int_equal(plait_degrees_set(&d, refused[i][0], refused[i][1], &err),
                         PLAIT_ERROR_RANGE);
        assert_string_equal(err.where, refused[i][0]);
        assert_string_equal(err.message, refused[i][2]);
        for (int k = 0; k < PLAIT_KEYS; k++)
            assert_string_equal(plait_degrees_get(&d, (plait_key_id)k, a, sizeof a),
                                plait_degrees_get(&before, (plait_key_id)k, b, sizeof b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_point__is_one_gpu),
        cmocka_unit_test(test_dp__is_what_remains_of_the_gpus),
        cmocka_unit_test(test_microbatches__are_what_remains_of_the_batch),
        cmocka_unit_test(test_values__come_back_as_they_were_set),
        cmocka_unit_test(test_every_key__is_tried_above),
        cmocka_unit_test(test_keys__do_not_touch_each_other),
        cmocka_unit_test(test_first_and_last__may_be_joined_by_a_plus),
        cmocka_unit_test(test_full__of_so_many_layers),
        cmocka_unit_test(test_short_buffers__cut_the_text),
        cmocka_unit_test(test_refusals__say_key_and_reason_and_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
