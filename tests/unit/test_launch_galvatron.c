/* test_launch_galvatron.c - Galvatron's strategy, out and in */
#include <string.h>

#include "support/launched_fixture.h"
#include "io/plans/plans.h"
#include "launch/target.h"

static const launched_usual usual = {"llama-2-7b", "galvatron", 16, PLAIT_LAUNCH_GALVATRON};

static void import(const char *text, plans_entry *out, const char **warning)
{
    plait_error err;

    *out = plans_unknown("f.json");
    must(target_galvatron.import(text, strlen(text), "f.json", NULL, arena, out, warning, &err),
         &err);
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    plans_entry entry = plans_unknown("f.json");
    const char *warning;
    plait_error err;

    assert_int_not_equal(
        target_galvatron.import(text, strlen(text), "f.json", NULL, arena, &entry, &warning, &err),
        PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

// ---- out -----------------------------------------------------------------------------------

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

// ---- in ------------------------------------------------------------------------------------

static const char strategy[] =
    "{\"pp_deg\": 2, \"tp_sizes_enc\": \"2,2,2,2\",\n"
    "\"tp_consecutive_flags\": \"1,1,1,1\", \"dp_types_enc\": \"1,1,1,1\",\n"
    "\"use_sp\": \"0,0,0,0\", \"checkpoint\": \"1,0,1,0\",\n"
    "\"global_bsz\": 16, \"chunks\": 2, \"world_size\": 8,\n"
    "\"pipeline_type\": \"pipedream_flush\", \"default_dp_type\": \"zero2\",\n"
    "\"vtp\": 2, \"vsp\": 0, \"embed_sdp\": 1}";

/* 8 ranks of tp 2 and pp 2 leave dp 2: 16 / 2 / 2 = 4 sequences a microbatch. */
static void test_a_strategy__is_a_plan(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import(strategy, &entry, &warning);
    assert_string_equal(warning, "");
    assert_string_equal(entry.runtime, "galvatron");
    assert_int_equal(entry.gpus, 8);
    assert_int_equal(entry.degrees.tp, 2);
    assert_int_equal(entry.degrees.pp, 2);
    assert_int_equal(entry.degrees.zero, 3);
    assert_int_equal(entry.degrees.mbs, 4);
    assert_int_equal(entry.degrees.recompute.kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(entry.degrees.recompute.layers, 1);
    assert_int_equal(entry.degrees.schedule, PLAIT_1F1B);
    assert_int_equal(entry.degrees.grad_sync, PLAIT_SYNC_SHIFTED); // async_grad_reduce, unless told
    assert_int_equal(entry.degrees.scatter, PLAIT_SCATTER_STEP);
}

static const char *with(const char *old, const char *new)
{
    const char *const at = strstr(strategy, old);
    const char *const text = plait_arena_printf(arena, "%.*s%s%s", (int)(at - strategy), strategy,
                                                new, at + strlen(old));

    assert_non_null(text);
    return text;
}

/* Its tp is the plan's: 8 ranks leave dp 1, of which a microbatch has 8 sequences. */
static void test_a_vocabulary_of_its_own__is_the_plan_s(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import(with("\"vtp\": 2", "\"vtp\": 4"), &entry, &warning);
    assert_string_equal(warning, "");
    assert_int_equal(entry.degrees.tp, 4);
    assert_int_equal(entry.degrees.mbs, 8);
    assert_int_equal(entry.stage[1].cut[1].tp, 2);
    import(with("\"embed_sdp\": 1", "\"embed_sdp\": 0"), &entry, &warning);
    assert_int_equal(entry.degrees.zero, 2);
    assert_int_equal(entry.stage[0].cut[0].zero, 3);
    import(with("\"vsp\": 0", "\"vsp\": 1"), &entry, &warning);
    assert_string_equal(warning, "vsp 1: the vocabulary is priced as the layers, 0");
}

/* The first stage recomputes its first layer, the second its second. */
static void test_checkpoints_of_their_own__are_listed_by_stage(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import(with("1,0,1,0", "1,0,0,1"), &entry, &warning);
    assert_int_equal(entry.degrees.recompute.kind, PLAIT_RECOMPUTE_NONE);
    assert_int_equal(entry.stages, 2);
    assert_int_equal(entry.stage[0].recomputes, 2);
    assert_int_equal(entry.stage[0].recompute[0].kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(entry.stage[1].recompute[0].kind, PLAIT_RECOMPUTE_NONE);
    assert_int_equal(entry.stage[1].recompute[1].kind, PLAIT_RECOMPUTE_FULL);
}

/* The plan has the vocabulary's tp, and the usual data parallelism. */
static void test_sizes_of_their_own__are_listed_by_stage(void **state)
{
    plans_entry entry;
    const char *warning;

    (void)state;
    import(with("2,2,2,2\",\n\"tp_consecutive_flags\": \"1,1,1,1\", \"dp_types_enc\": \"1,1,1,1",
                "4,4,1,1\",\n\"tp_consecutive_flags\": \"1,1,1,1\", \"dp_types_enc\": \"0,0,0,1"),
           &entry, &warning);
    assert_int_equal(entry.degrees.tp, 2);
    assert_int_equal(entry.degrees.mbs, 4);
    assert_int_equal(entry.degrees.zero, 2);
    assert_int_equal(entry.stages, 2);
    assert_int_equal(entry.stage[0].cut[1].tp, 4);
    assert_int_equal(entry.stage[1].cut[0].tp, 1);
    assert_int_equal(entry.stage[1].cut[0].zero, 2);
    assert_int_equal(entry.stage[1].cut[1].zero, 3);
}

/* tp 4 in the first half of 32 layers and tp 2 behind it, every fourth layer ZeRO 3, out and in: the same price. */
static void test_cuts__come_back_as_they_went(void **state)
{
    static const launched_case of = {
        "llama-2-7b", "dgx-h100", "galvatron", 16, 4096, 64, "tp=2 pp=2 zero=2 mbs=1"};
    static launched_plan out;
    plait_launch_folder folder = {0};
    plait_cut cut[32];
    plait_stage stage[2];
    plait_plan back;
    plait_cost there, here;
    plans_entry entry;
    const char *warning;
    plait_error err;

    (void)state;
    launched_make(&of, arena, &out);
    for (int l = 0; l < 32; l++)
        cut[l] = (plait_cut){.tp = l < 16 ? 4 : 2, .zero = l % 4 == 3 ? 3 : 2};
    for (int s = 0; s < 2; s++) {
        stage[s] = out.plan.stage[s];
        stage[s].cut = cut + 16 * s;
    }
    out.plan.stage = stage;
    must(plait_plan_cost(&out.problem, &out.plan, arena, &there, &err), &err);
    assert_string_equal(there.why, "");
    must(target_galvatron.render(&out.launch, arena, &folder, &err), &err);
    import(launched_file(&folder, "strategy.json"), &entry, &warning);
    assert_string_equal(warning, "");
    entry.degrees.dp = out.plan.degrees.dp; // which follows
    must(plans_plan(&entry, &entry.degrees, false, arena, &back, &err), &err);
    must(plait_plan_cost(&out.problem, &back, arena, &here, &err), &err);
    assert_string_equal(here.why, "");
    assert_true(here.step_s == there.step_s);
    assert_true(here.memory.peak_bytes == there.memory.peak_bytes);
}

static void test_layers_that_differ__are_refused(void **state)
{
    (void)state;
    assert_refused(with("0,0,0,0", "0,0,1,1"), "f.json:/use_sp",
                   "expected the same for all layers, found 1 beside 0 at layer 2");
    assert_refused(with("1,0,1,0", "1,0,1"), "f.json:/checkpoint",
                   "expected numbers of 4 layers, found 3");
    assert_refused(with("2,2,2,2", "2,x"), "f.json:/tp_sizes_enc",
                   "expected at most 4096 numbers from 1 on, commas between them, found \"x\"");
}

static void test_numbers_that_do_not_divide__are_refused(void **state)
{
    (void)state;
    assert_refused(with("\"chunks\": 2", "\"chunks\": 3"), "f.json:/chunks",
                   "expected chunks that divide the 8 sequences of each of 2 replicas, found 3");
    assert_refused(with("\"world_size\": 8", "\"world_size\": 6"), "f.json:/pp_deg",
                   "expected tp pp cp that divides 6 GPUs, found 2 x 2 x 1");
    assert_refused(with("\"pp_deg\": 2", "\"pp_deg\": 2, \"pp_division\": \"1,2\""),
                   "f.json:/pp_division", "expected layers of 2 stages, 4 in all, found 3 of 2");
    assert_refused(with("\"use_sp\"", "\"use_tp\""), "f.json:/use_tp",
                   "expected the key \"use_sp\", found \"use_tp\"");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_lists__have_a_number_a_layer),
        TEST(test_ulysses__is_a_tp_of_another_sort),
        TEST(test_what_one_switch_says__goes_together),
        TEST(test_a_strategy__is_a_plan),
        TEST(test_a_vocabulary_of_its_own__is_the_plan_s),
        TEST(test_checkpoints_of_their_own__are_listed_by_stage),
        TEST(test_sizes_of_their_own__are_listed_by_stage),
        TEST(test_cuts__come_back_as_they_went),
        TEST(test_layers_that_differ__are_refused),
        TEST(test_numbers_that_do_not_divide__are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
