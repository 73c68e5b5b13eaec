/*
 * test_api_calls.c - public functions reject invalid arguments with an error
 *
 * calls.def has one valid call for each public function that can fail. A bad input makes one part of
 * its arguments invalid; the call must then fail with a message and read nothing out of bounds, which
 * the sanitizers check. tests/api_calls.sh checks that calls.def is complete.
 */
#include "unit/api_calls/calls.h"

#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/must.h"
#include "costmodel/api.h"
#include "plait/lowlevel/collective.h"
#include "plait/lowlevel/goodput.h"
#include "plait/lowlevel/kernel.h"
#include "plait/lowlevel/limits.h"
#include "plait/lowlevel/schedule.h"

static void test_api_calls__accept_valid_values(void **state)
{
    plait_error err;

    (void)state;
    for (size_t d = 0; d < api_calls_count; d++) {
        call_world_reset();
        if (api_calls[d].call(&call_world_now, &err) != PLAIT_OK)
            fail_msg("%s: %s: %s", api_calls[d].name, err.where, err.message);
    }
}

static void test_api_calls__reject_each_bad_input(void **state)
{
    int tried = 0, refused = 0;
    plait_error err;

    (void)state;
    for (size_t d = 0; d < api_calls_count; d++)
        for (size_t s = 0; s < bad_inputs_count; s++) {
            plait_status status;

            if (!(api_calls[d].takes & bad_inputs[s].of))
                continue;
            call_world_reset();
            bad_inputs[s].apply(&call_world_now);
            memset(&err, 0, sizeof err);
            status = api_calls[d].call(&call_world_now, &err);
            if (status != bad_inputs[s].status || err.status != status || err.message[0] == '\0')
                print_error("%s with %s: status %d, \"%s: %s\"\n", api_calls[d].name,
                            bad_inputs[s].name, (int)status, err.where, err.message);
            else
                refused++;
            tried++;
        }
    assert_int_equal(refused, tried);
}

/* The first refusal of each, without an error to put a message in. */
static void test_api_calls__accept_a_null_error(void **state)
{
    (void)state;
    for (size_t d = 0; d < api_calls_count; d++)
        for (size_t s = 0; s < bad_inputs_count; s++) {
            if (!(api_calls[d].takes & bad_inputs[s].of))
                continue;
            call_world_reset();
            bad_inputs[s].apply(&call_world_now);
            assert_int_equal(api_calls[d].call(&call_world_now, NULL), bad_inputs[s].status);
            break;
        }
}

// ---- functions that cannot fail ------------------------------------------------------------

/* A number that is none, an index outside a list, a division by nothing: NaN, infinity, "", nothing. */
static void test_formulas__of_nothing_are_no_numbers(void **state)
{
    const plait_accelerator *const gpu = call_world_now.cluster.group[0].accelerator;
    const plait_gemm gemm = {.m = 1, .n = 1, .k = 1, .batch = 1, .precision = (plait_precision)99};
    plait_degrees degrees = plait_degrees_init();
    plait_reliability fleet;
    char text[PLAIT_VALUE_SIZE];

    (void)state;
    call_world_reset();
    plait_reliability_init(&fleet);
    assert_true(!isfinite(plait_limit_tokens(0.0, 0.0)));
    assert_true(!isfinite(plait_ridge_flops_per_byte(1.0, 0.0)));
    assert_true(isnan(plait_gemm_s(gpu, gemm)));
    assert_true(isnan(plait_grouped_gemm_s(gpu, gemm)));
    assert_true(isnan(plait_attention_s(gpu, (plait_attention_kernel)99,
                                        (plait_attention_work){.sequences = 1})));
    assert_true(isnan(plait_state_format_bytes(99)));
    assert_true(isnan(plait_nccl_latency_s(PLAIT_ALL_REDUCE, (plait_nccl_algorithm)9,
                                           (plait_nccl_protocol)9, 8, 1, 0.0)));
    assert_true(isnan(plait_goodput_of(&fleet, 0, 0.0, 1e9).effective) ||
                plait_goodput_of(&fleet, 0, 0.0, 1e9).effective >= 0.0);
    assert_true(plait_goodput_of(&fleet, INT_MAX, 0.0, 1e9).effective >= 0.0);
    assert_int_equal(plait_mesh_gpus(&(plait_mesh){3, {65536, 65536, 65536}}), INT_MAX);
    assert_null(plait_cluster_accelerator(&call_world_now.cluster, -1));
    assert_null(plait_cluster_accelerator(&call_world_now.cluster, 1 << 24));
    assert_false(plait_accelerator_runs(gpu, 99));
    assert_int_equal(plait_cluster_taken(&call_world_now.cluster, 8, 7), 0);
    assert_null(plait_order_axes((plait_order)9));
    assert_null(plait_placement_axes((plait_placement)9));
    assert_null(plait_plan_chunk(&call_world_now.plan, -1));
    assert_null(plait_plan_chunk(&call_world_now.plan, 1 << 20));
    assert_int_equal(plait_offload_modules(99), 0);
    assert_int_equal(plait_key_value(&degrees, (plait_key_id)99), 0);
    plait_key_put(&degrees, (plait_key_id)99, 1);
    assert_int_equal(plait_key_all(PLAIT_KEY_TP), 0);
    assert_string_equal(plait_degrees_get(&degrees, (plait_key_id)99, text, sizeof text), "");
    degrees.cp_comm = 200;
    assert_string_equal(plait_degrees_get(&degrees, PLAIT_KEY_CP_COMM, text, sizeof text), "");
    assert_int_equal(plait_degrees_dp(8, -1, -1, 1), 0);
    assert_int_equal(plait_degrees_dp(1 << 24, INT_MAX, INT_MAX, INT_MAX), 0);
    assert_int_equal(plait_schedule_action_count(&(plait_pipeline_shape){.ranks = -1}), 0);
    assert_null(plait_table_new(&(plait_problem){0}, call_world_now.arena));
    assert_null(plait_arena_alloc(NULL, 1, 1));
    assert_null(plait_arena_text(NULL, "x"));
    assert_null(plait_arena_printf(NULL, "%d", 1));
    assert_int_equal(plait_arena_save(NULL), 0);
    plait_arena_rewind(NULL, 0);
}

/* Degrees as large as they may be: no product of them wraps, whoever multiplies. */
static void test_products__of_the_largest_degrees_do_not_wrap(void **state)
{
    plait_degrees d = plait_degrees_init();
    int counts[1];
    plait_chunk chunk[1];

    (void)state;
    call_world_reset();
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (plait_keys[k].kind == PLAIT_KEY_NUMBER)
            plait_key_put(&d, (plait_key_id)k, plait_keys[k].high);
    d.recompute.kind = PLAIT_RECOMPUTE_FULL;
    for (int order = 0; order < PLAIT_ORDERS; order++) {
        d.order = (unsigned char)order;
        for (int axis = 0; axis < PLAIT_GROUPS; axis++)
            assert_true(plait_group_of(&d, (plait_axis)axis).ranks >= 1);
        assert_true(plait_group_replicas(&d).ranks >= 1);
        assert_true(plait_expert_shard_group(&d) >= 1);
        assert_int_equal(plait_degrees_check(&call_world_now.problem, &d, NULL, 0), PLAIT_INVALID);
    }
    assert_int_equal(plait_degrees_microbatches(&d, PLAIT_MAX_GBS), 0);
    assert_false(plait_split_layers(&call_world_now.model, &d, counts));
    assert_false(plait_chunks_of(&call_world_now.model, &d, chunk));
    for (int k = 0; k < PLAIT_KEYS; k++)
        (void)plait_key_applies(&call_world_now.problem, &d, (plait_key_id)k);
    plait_degrees_fill(&call_world_now.problem,
                       PLAIT_ALL_KEYS & ~PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP), &d);
    assert_int_equal(d.shard_group, PLAIT_MAX_GPUS);
}

static void test_version__is_three_numbers(void **state)
{
    int major, minor, patch, end = 0;

    (void)state;
    assert_int_equal(sscanf(plait_version(), "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
    assert_int_equal(plait_version()[end], '\0');
}

static int make(void **state)
{
    (void)state;
    call_world_make();
    return 0;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(call_world_now.arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_api_calls__accept_valid_values),
        cmocka_unit_test(test_api_calls__reject_each_bad_input),
        cmocka_unit_test(test_api_calls__accept_a_null_error),
        cmocka_unit_test(test_formulas__of_nothing_are_no_numbers),
        cmocka_unit_test(test_products__of_the_largest_degrees_do_not_wrap),
        cmocka_unit_test(test_version__is_three_numbers),
    };

    return cmocka_run_group_tests(tests, make, end);
}
