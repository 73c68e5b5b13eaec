/* test_plans.c - a document of plans read back: what is there, what is left open, and where it is wrong */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "io/model/model_file.h"
#include "support/must.h"
#include "io/plans/plans.h"

static plait_status parse(const char *text, int rank, plans_entry *out, plait_error *err)
{
    return plans_parse(text, strlen(text), "f.json", rank, arena, out, err);
}

static void assert_refused(const char *text, int rank, const char *where, const char *message)
{
    plans_entry entry;
    plait_error err;

    assert_int_not_equal(parse(text, rank, &entry, &err), PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

static void test_keys_of_a_plan__are_degrees(void **state)
{
    plans_entry entry;
    plait_error err;

    (void)state;
    assert_int_equal(
        parse("{\"plans\": [{\"tp\": 8, \"pp\": 4, \"sp\": 1, \"recompute\": \"full:3\","
              " \"schedule\": \"interleaved\", \"vpp\": 2,"
              " \"order\": [\"tp\", \"cp\", \"pp\", \"dp\"]}]}",
              0, &entry, &err),
        PLAIT_OK);
    assert_int_equal(entry.degrees.tp, 8);
    assert_int_equal(entry.degrees.pp, 4);
    assert_true(entry.degrees.sp);
    assert_int_equal(entry.degrees.recompute.kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(entry.degrees.recompute.layers, 3);
    assert_int_equal(entry.degrees.schedule, PLAIT_INTERLEAVED);
    assert_int_equal(entry.degrees.order, PLAIT_ORDER_TP_CP_PP_DP);
    assert_int_equal(entry.given,
                     PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                         PLAIT_KEY_BIT(PLAIT_KEY_SP) | PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE) |
                         PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE) | PLAIT_KEY_BIT(PLAIT_KEY_VPP) |
                         PLAIT_KEY_BIT(PLAIT_KEY_ORDER));
}

static void test_a_rank__is_a_number_from_1_behind_the_file(void **state)
{
    const char *const file = "tests/fuzz/corpus/fuzz_plans/ranks.json";
    static const char *const wrong[] = {"", "0", "-1", "x", "99999999999"};
    plans_entry entry;
    plait_error err;

    (void)state;
    assert_int_equal(plans_load(plait_arena_printf(arena, "%s:3", file), arena, &entry, &err),
                     PLAIT_OK);
    assert_int_equal(entry.rank, 3);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *path = plait_arena_printf(arena, "%s:%s", file, wrong[i]);

        assert_int_equal(plans_load(path, arena, &entry, &err), PLAIT_ERROR_RANGE);
        assert_string_equal(err.where, file);
        assert_string_equal(err.message,
                            plait_arena_printf(arena,
                                               "expected a plan number of at least 1, found \"%s\"",
                                               wrong[i]));
    }
    assert_int_equal(plans_load("nothing.json:x", arena, &entry, &err), PLAIT_ERROR_IO);
    assert_string_equal(err.where, "nothing.json:x");
    assert_int_equal(plans_load("", arena, &entry, &err), PLAIT_ERROR_IO);
    assert_string_equal(err.where, "\"\"");
}

static void test_what_a_file_does_not_know__is_left_open(void **state)
{
    plans_entry entry;
    plait_error err;

    (void)state;
    assert_int_equal(parse("{\"model\": null, \"job\": {\"seq\": 4096, \"gbs\": null},"
                           " \"plans\": [{\"tp\": 2, \"zero\": null}]}",
                           0, &entry, &err),
                     PLAIT_OK);
    assert_null(entry.model);
    assert_null(entry.cluster);
    assert_null(entry.runtime);
    assert_int_equal(entry.seq, 4096);
    assert_int_equal(entry.gbs, 0);
    assert_int_equal(entry.gpus, 0);
    assert_int_equal(entry.precision, -1);
    assert_int_equal(entry.given, PLAIT_KEY_BIT(PLAIT_KEY_TP));
}

/* 8 x 2 x 1 x 4 = 64, when the job does not say. */
static void test_all_degrees_together__make_the_world(void **state)
{
    plans_entry entry;
    plait_error err;

    (void)state;
    assert_int_equal(
        parse("{\"plans\": [{\"tp\": 8, \"pp\": 2, \"cp\": 1, \"dp\": 4}]}", 0, &entry, &err),
        PLAIT_OK);
    assert_int_equal(entry.gpus, 64);
}

static void test_rank__is_what_the_plan_says_or_its_place(void **state)
{
    const char *const stated = "{\"plans\": [{\"rank\": 3, \"tp\": 3}, {\"rank\": 1, \"tp\": 1}]}";
    const char *const silent = "{\"plans\": [{\"tp\": 4}, {\"tp\": 2}]}";
    plans_entry entry;
    plait_error err;

    (void)state;
    assert_int_equal(parse(stated, 1, &entry, &err), PLAIT_OK);
    assert_int_equal(entry.degrees.tp, 1);
    assert_string_equal(entry.where, "f.json:/plans/1");
    assert_int_equal(parse(silent, 2, &entry, &err), PLAIT_OK);
    assert_int_equal(entry.degrees.tp, 2);
    assert_refused(silent, 3, "f.json:/plans", "expected a plan number from 1 to 2, found 3");
}

static void test_mistakes__say_where(void **state)
{
    (void)state;
    assert_refused("{\"plans\": []}", 0, "f.json:/plans", "expected a plan, found none");
    assert_refused("{\"plans\": [{\"tpp\": 2}]}", 0, "f.json:/plans/0/tpp",
                   "expected the key \"tp\", found \"tpp\"");
    assert_refused("{\"plans\": [{\"schedule\": \"1f2b\"}]}", 0, "f.json:/plans/0/schedule",
                   "expected one of naive, gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, v-half, "
                   "v-min, dualpipe, dualpipe-v, found '1f2b'");
    assert_refused("{\"plans\": [{\"order\": [\"tp\"]}]}", 0, "f.json:/plans/0/order",
                   "expected 4 axes, found 1");
    assert_refused("{\"job\": {\"seq\": 0}, \"plans\": [{}]}", 0, "f.json:/job/seq",
                   "expected an integer from 1 to 1073741824, found 0");
    assert_refused("{\"plans\": [{\"stages\": [{\"mbs\": 2}]}]}", 0, "f.json:/plans/0/stages/0/mbs",
                   "expected one of the keys chunks, mesh, logical_mesh, recompute, tp, zero, "
                   "offload_acts, offload, offload_share, memory_bytes, "
                   "forward_s, backward_s, group, degrees, found \"mbs\"");
    assert_refused("{\"model\": {\"name\": 5}, \"plans\": [{}]}", 0, "f.json:/model/name",
                   "expected a string, found 5");
}

#define JOB                                                                                        \
    "\"job\": {\"gbs\": 64, \"gpus\": 16, \"precision\": \"bf16\", "                               \
    "\"runtime\": \"megatron\"}, "

/* What a plan repeats of the job is for its readers; edited alone it says nothing, so it is refused. */
static void test_a_plan_that_contradicts_its_job__is_refused_with_both_values(void **state)
{
    static const struct {
        const char *member, *key, *message;
    } cases[] = {
        {"\"gbs\": 32", "gbs", "expected 64 as in the job, found 32"},
        {"\"precision\": \"fp8\"", "precision", "expected bf16 as in the job, found fp8"},
        {"\"runtime\": \"xla\"", "runtime", "expected megatron as in the job, found xla"},
        {"\"tp\": 2, \"pp\": 2, \"cp\": 1, \"mbs\": 2, \"microbatches\": 16", "microbatches",
         "expected 8 as in the job, found 16"},
    };
    char text[512], where[80];
    plans_entry entry;
    plait_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "{" JOB "\"plans\": [{%s}]}", cases[i].member);
        snprintf(where, sizeof where, "f.json:/plans/0/%s", cases[i].key);
        assert_refused(text, 0, where, cases[i].message);
        snprintf(text, sizeof text, "{\"plans\": [{%s}]}", cases[i].member); // no job, no quarrel
        assert_int_equal(parse(text, 0, &entry, &err), PLAIT_OK);
    }
    assert_int_equal(parse("{" JOB
                           "\"plans\": [{\"gbs\": 64, \"tp\": 2, \"pp\": 2, \"cp\": 1, \"mbs\": 2, "
                           "\"microbatches\": 8, \"runtime\": \"megatron\", \"precision\": null}]}",
                           0, &entry, &err),
                     PLAIT_OK);
}

/* Documents of old have the kernel of attention in the job; a plan's own is nearer to it. */
static void test_a_kernel_of_the_job__is_that_of_plans_without_one(void **state)
{
    static const char *const cases[][2] = {
        {"\"attention\": \"flash2\"", ""},
        {"", "\"attention\": \"flash2\""},
        {"\"attention\": \"fused\"", "\"attention\": \"flash2\""}};
    plans_entry entry;
    plait_error err;
    char text[160];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "{\"job\": {%s}, \"plans\": [{%s}]}", cases[i][0], cases[i][1]);
        assert_int_equal(parse(text, 0, &entry, &err), PLAIT_OK);
        assert_true((entry.given & PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION)) != 0);
        assert_int_equal(entry.degrees.attention, PLAIT_ATTENTION_FLASH2);
    }
}

static void test_stages_that_say_what_is_not_so__are_refused(void **state)
{
    (void)state;
    assert_refused("{\"plans\": [{\"stages\": [{\"chunks\": [{\"layers\": [0, 4]}], "
                   "\"logical_mesh\": {\"tp\": 2, \"pp\": 4}}]}]}",
                   0, "f.json:/plans/0/stages/0/logical_mesh/pp",
                   "expected the key \"tp\", found \"pp\"");
    assert_refused(
        "{\"plans\": [{\"vpp\": 2, \"schedule\": \"interleaved\", \"stages\": ["
        "{\"chunks\": [{\"layers\": [0, 1], \"stage\": 0}, {\"layers\": [2, 3], \"stage\": "
        "2}]}, "
        "{\"chunks\": [{\"layers\": [1, 2], \"stage\": 1}, {\"layers\": [3, 4], \"stage\": "
        "2}]}]}]}",
        0, "f.json:/plans/0/stages/1/chunks/1/stage",
        "expected stage 3 for chunk 1 of rank 1, found 2");
}

static plait_recompute recompute_of(const char *stages)
{
    plans_entry entry;
    plait_error err;
    char text[512];

    snprintf(text, sizeof text,
             "{\"plans\": [{\"vpp\": 2, \"schedule\": \"interleaved\", \"stages\": [%s]}]}",
             stages);
    assert_int_equal(parse(text, 0, &entry, &err), PLAIT_OK);
    assert_true((entry.given & PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE)) != 0);
    return entry.degrees.recompute;
}

/* 2 of the 3 layers of each of 2 chunks: full:4. */
static void test_what_stages_recompute__is_the_plans_choice_where_it_leaves_that_open(void **state)
{
    (void)state;
    const plait_recompute word =
        recompute_of("{\"chunks\": [{\"layers\": [0, 3]}]}, "
                     "{\"chunks\": [{\"layers\": [3, 6]}], \"recompute\": \"modules:mlp\"}");
    const plait_recompute some = recompute_of("{\"chunks\": [{\"layers\": [0, 3]}, {\"layers\": "
                                              "[3, 6]}], \"recompute\": [\"full\", \"full\", "
                                              "\"none\", \"full\", \"full\", \"none\"]}");

    assert_int_equal(word.kind, PLAIT_RECOMPUTE_MODULES);
    assert_int_equal(some.kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(some.layers, 4);
}

/* No stages are no layout, however many the degrees say. */
static void test_an_empty_list_of_stages__says_nothing(void **state)
{
    plans_entry entry;
    plait_error err;

    (void)state;
    must(parse("{\"plans\": [{\"pp\": 421, \"vpp\": 9, \"schedule\": \"interleaved\", "
               "\"stages\": []}]}",
               0, &entry, &err),
         &err);
    assert_int_equal(entry.given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT), 0);
}

#define STAGE(more) "{\"plans\": [{\"stages\": [{\"chunks\": [{\"layers\": [0, 4]}], " more "}]}]}"

static void test_choices_of_a_stage__are_words_and_runs_of_layers(void **state)
{
    plans_entry entry;
    plait_error err;

    (void)state;
    must(parse(STAGE("\"recompute\": [[\"full\", 2], \"selective\", \"none\"], "
                     "\"offload_acts\": \"core_attn\", \"offload\": \"optimizer\", "
                     "\"offload_share\": \"0.5\""),
               0, &entry, &err),
         &err);
    const plans_stage *const stage = entry.stage;
    assert_int_equal(stage->recomputes, 4);
    assert_int_equal(stage->recompute[0].kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(stage->recompute[1].kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(stage->recompute[2].kind, PLAIT_RECOMPUTE_SELECTIVE);
    assert_int_equal(stage->recompute[3].kind, PLAIT_RECOMPUTE_NONE);
    assert_int_equal(stage->own.offload_acts, 1);
    assert_int_equal(stage->own.offload, PLAIT_OFFLOAD_OPTIMIZER);
    assert_int_equal(stage->own.offload_share, 5);
}

static void test_choices_of_a_stage__that_do_not_suit_it_are_refused(void **state)
{
    (void)state;
    assert_refused(STAGE("\"recompute\": [[\"full\", 5]]"), 0,
                   "f.json:/plans/0/stages/0/recompute/0",
                   "expected choices for 4 layers, found more");
    assert_refused(STAGE("\"recompute\": [[\"full\", 3]]"), 0, "f.json:/plans/0/stages/0/recompute",
                   "expected choices for 4 layers, found 3");
    assert_refused(STAGE("\"recompute\": [[\"full\"]]"), 0, "f.json:/plans/0/stages/0/recompute/0",
                   "expected two elements, a choice and a number of layers, found 1");
    assert_refused(STAGE("\"recompute\": [[\"full\", 0]]"), 0,
                   "f.json:/plans/0/stages/0/recompute/0/1",
                   "expected an integer from 1 to 4096, found 0");
    assert_refused(STAGE("\"offload_share\": \"2\""), 0, "f.json:/plans/0/stages/0/offload_share",
                   "expected one of 1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, found '2'");
}

/* What is not given of a layer is the plan's. */
static void test_cuts_of_a_stage__are_numbers_and_runs_of_layers(void **state)
{
    plans_entry entry;
    plait_error err;

    (void)state;
    must(parse(STAGE("\"tp\": [[4, 2], 2, 1]"), 0, &entry, &err), &err);
    const plait_cut *const cut = entry.stage[0].cut;
    assert_int_equal(cut[0].tp, 4);
    assert_int_equal(cut[1].tp, 4);
    assert_int_equal(cut[2].tp, 2);
    assert_int_equal(cut[3].tp, 1);
    assert_int_equal(cut[3].zero, PLANS_NO_CUT.zero);
    must(parse(STAGE("\"tp\": 8, \"zero\": 3"), 0, &entry, &err), &err);
    assert_int_equal(entry.stage[0].cut[3].tp, 8);
    assert_int_equal(entry.stage[0].cut[3].zero, 3);
    must(parse(STAGE("\"recompute\": \"full\""), 0, &entry, &err), &err);
    assert_null(entry.stage[0].cut);
}

static void test_cuts_of_a_stage__that_do_not_suit_it_are_refused(void **state)
{
    (void)state;
    assert_refused(STAGE("\"tp\": [[4, 5]]"), 0, "f.json:/plans/0/stages/0/tp/0",
                   "expected numbers for 4 layers, found more");
    assert_refused(STAGE("\"tp\": [[4, 3]]"), 0, "f.json:/plans/0/stages/0/tp",
                   "expected numbers for 4 layers, found 3");
    assert_refused(STAGE("\"zero\": [[3]]"), 0, "f.json:/plans/0/stages/0/zero/0",
                   "expected two elements, a number and a number of layers, found 1");
    assert_refused(STAGE("\"zero\": 4"), 0, "f.json:/plans/0/stages/0/zero",
                   "expected an integer from 0 to 3, found 4");
}

static void test_every_failing_allocation__is_said(void **state)
{
    long calls = 0;
    plait_status status;

    (void)state;
    do {
        plait_arena *scratch = plait_arena_new();
        plans_entry entry;
        plait_error err;

        assert_non_null(scratch);
        plait_arena_fail_after(calls++);
        status = plans_load("tests/fuzz/corpus/fuzz_plans/whole.json:1", scratch, &entry, &err);
        plait_arena_fail_after(-1);
        plait_arena_free(scratch);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
    } while (status != PLAIT_OK);
    assert_true(calls > 1);
}

/* ---- models survive being written and read ---- */

static void assert_survives(const char *path)
{
    plait_model model, again;
    json_writer json;
    const char *text, *second;
    size_t length;
    plait_error err;

    assert_int_equal(plait_model_load(path, arena, &model, NULL, &err), PLAIT_OK);
    json_writer_init(&json, arena);
    model_write(&json, &model);
    assert_int_equal(json_writer_finish(&json, &text, &length, &err), PLAIT_OK);
    assert_int_equal(plait_model_parse(text, length, "again", arena, &again, NULL, &err), PLAIT_OK);
    json_writer_init(&json, arena);
    model_write(&json, &again);
    assert_int_equal(json_writer_finish(&json, &second, NULL, &err), PLAIT_OK);
    assert_string_equal(text, second);
    assert_int_equal(again.layers, model.layers);
    assert_memory_equal(again.layer_kind, model.layer_kind, (size_t)model.layers);
    assert_near(plait_model_params(&again).total, plait_model_params(&model).total, 0.0);
}

static void test_models__survive_being_written(void **state)
{
    static const char *const names[] = {"llama-3.1-70b", "deepseek-v3", "gpt-oss-20b",
                                        "mamba-1.4b",    "vit-b-16",    "gemma-2-2b",
                                        "gpt-j-6b",      "bloom-176b",  "llama-4-scout"};
    char path[80];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "models/%s.json", names[i]);
        assert_survives(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_of_a_plan__are_degrees),
        cmocka_unit_test(test_a_rank__is_a_number_from_1_behind_the_file),
        cmocka_unit_test(test_what_a_file_does_not_know__is_left_open),
        cmocka_unit_test(test_all_degrees_together__make_the_world),
        cmocka_unit_test(test_rank__is_what_the_plan_says_or_its_place),
        cmocka_unit_test(test_mistakes__say_where),
        cmocka_unit_test(test_a_plan_that_contradicts_its_job__is_refused_with_both_values),
        cmocka_unit_test(test_a_kernel_of_the_job__is_that_of_plans_without_one),
        cmocka_unit_test(test_stages_that_say_what_is_not_so__are_refused),
        cmocka_unit_test(test_what_stages_recompute__is_the_plans_choice_where_it_leaves_that_open),
        cmocka_unit_test(test_an_empty_list_of_stages__says_nothing),
        cmocka_unit_test(test_choices_of_a_stage__are_words_and_runs_of_layers),
        cmocka_unit_test(test_choices_of_a_stage__that_do_not_suit_it_are_refused),
        cmocka_unit_test(test_cuts_of_a_stage__are_numbers_and_runs_of_layers),
        cmocka_unit_test(test_cuts_of_a_stage__that_do_not_suit_it_are_refused),
        cmocka_unit_test(test_every_failing_allocation__is_said),
        cmocka_unit_test(test_models__survive_being_written),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
