/* test_launch_galvatron.c - Galvatron's strategy */
#include <string.h>

#include "support/launched_fixture.h"
#include "launch/target.h"

static const launched_usual usual = {"llama-2-7b", "galvatron", 16, PLAIT_LAUNCH_GALVATRON};

#define TIMES_4(text) text text text text
#define TIMES_16(text) TIMES_4(text) TIMES_4(text) TIMES_4(text) TIMES_4(text)

/* 32 layers on 2 stages: 16 ranks are 2 x 4 x 2, and 64 sequences on 2 ranks are 32 microbatches. */
static void test_lists__have_a_number_a_layer(void **state)
{
    (void)state;
    render("tp=4 pp=2 zero=3 mbs=1 recompute=full:4");
    assert_says(&it, "strategy.json",
                "\"tp_sizes_enc\": \"" TIMES_16("4,") TIMES_4("4,4,4,") "4,4,4,4\"");
    assert_says(&it, "strategy.json", "\"checkpoint\": \"1,1,1,1," TIMES_4("0,0,0,") "1,1,1,1,");
    assert_says(&it, "strategy.json", "\"default_dp_type\": \"zero3\"");
    assert_says(&it, "strategy.json",
                "  \"global_bsz\": 64,\n  \"chunks\": 32,\n  \"pp_division\": \"16,16\",\n"
                "  \"pipeline_type\": \"pipedream_flush\"");
    assert_says(&it, "train.yaml", "    num_layers: 32\n    hidden_size: 4096\n");
    assert_says(&it, "train.yaml", "    async_grad_reduce: false");
    assert_says(&it, "run.sh", "galvatron/models/gpt/train_dist.py \"$here/train.yaml\"");
}

static void test_ulysses__is_a_tp_of_another_sort(void **state)
{
    (void)state;
    render("cp=4 cp_comm=a2a zero=2 grad_sync=shifted scatter=step");
    assert_says(&it, "strategy.json", "\"tp_sizes_enc\": \"4,4,");
    assert_says(&it, "strategy.json", "\"cp_sizes_enc\": \"1,1,");
    assert_says(&it, "strategy.json", "\"use_sp\": \"1,1,");
    assert_says(&it, "strategy.json", "\"vtp\": 4,\n  \"vsp\": 1,");
    assert_says(&it, "train.yaml", "    async_grad_reduce: true");
}

static void assert_invalid(const char *keys, const char *rule)
{
    plait_error err;

    assert_int_not_equal(launched_render(&it, keys, PLAIT_LAUNCH_GALVATRON, arena, &err), PLAIT_OK);
    if (strstr(err.message, rule) == NULL)
        fail_msg("%s: %s", keys, err.message);
}

static void test_what_one_switch_says__goes_together(void **state)
{
    (void)state;
    assert_invalid("zero=2 scatter=step grad_sync=bucketed", "rule G3");
    assert_invalid("zero=3 scatter=microbatch grad_sync=shifted", "rule G3");
    assert_invalid("tp=2 cp=2 cp_comm=a2a", "rule G1");
}

/* tp 4 in the first half of 32 layers and tp 2 in the second, every fourth layer ZeRO 3; and stage 1
   recomputes its second layer alone. */
static void test_cuts__are_written_layer_by_layer(void **state)
{
    static const launched_case of = {
        "llama-2-7b", "dgx-h100", "galvatron", 16, 4096, 64, "tp=2 pp=2 zero=2 mbs=1"};
    static launched_plan out;
    plait_launch_folder folder = {0};
    plait_cut cut[32];
    plait_recompute recompute[16] = {[1] = {.kind = PLAIT_RECOMPUTE_FULL}};
    plait_stage stage[2];
    plait_error err;

    (void)state;
    launched_make(&of, arena, &out);
    for (int l = 0; l < 32; l++)
        cut[l] = (plait_cut){.tp = l < 16 ? 4 : 2, .zero = l % 4 == 3 ? 3 : 2};
    for (int s = 0; s < 2; s++) {
        stage[s] = out.plan.stage[s];
        stage[s].cut = cut + 16 * s;
    }
    stage[1].recompute = recompute;
    out.plan.stage = stage;
    must(target_galvatron.render(&out.launch, arena, &folder, &err), &err);
    const char *const strategy = launched_file(&folder, "strategy.json");
    assert_non_null(
        strstr(strategy, "\"tp_sizes_enc\": \"" TIMES_16("4,") TIMES_4("2,2,2,") "2,2,2,2\""));
    assert_non_null(strstr(
        strategy, "\"dp_types_enc\": \"" TIMES_4("0,0,0,1,") "0,0,0,1,0,0,0,1,0,0,0,1,0,0,0,1\""));
    assert_non_null(strstr(
        strategy, "\"checkpoint\": \"" TIMES_16("0,") "0,1,0,0," TIMES_4("0,0,") "0,0,0,0\""));
    assert_non_null(strstr(strategy, "\"vtp\": 2,"));
    assert_non_null(strstr(strategy, "\"default_dp_type\": \"zero2\""));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_lists__have_a_number_a_layer),
        TEST(test_ulysses__is_a_tp_of_another_sort),
        TEST(test_what_one_switch_says__goes_together),
        TEST(test_cuts__are_written_layer_by_layer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
