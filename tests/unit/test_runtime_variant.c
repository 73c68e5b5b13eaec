/* test_runtime_variant.c - software as it was at a month */
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/must.h"
#include "plait/data.h"
#include "rules/runtime_features.h"
#include "io/runtime/runtime_file.h"

/* ---- dates ---- */

static void test_a_month__is_two_digits_of_each(void **state)
{
    static const char *const wrong[] = {"",       "25",    "25.9",  "25.00", "25.13",  "2025.09",
                                        "25.091", "25-09", " 5.09", "25.0x", "v0.4.0", "25.09 "};

    (void)state;
    assert_int_equal(runtime_date("25.09"), 2509);
    assert_int_equal(runtime_date("00.12"), 12);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(runtime_date(wrong[i]), 0);
}

static void test_a_month__takes_the_earliest_variant_that_is_not_before_it(void **state)
{
    static const int variant[] = {2503, 2602, 2604};

    (void)state;
    assert_int_equal(runtime_variant_at(variant, 3, 2412), 2503);
    assert_int_equal(runtime_variant_at(variant, 3, 2503), 2503);
    assert_int_equal(runtime_variant_at(variant, 3, 2504), 2602);
    assert_int_equal(runtime_variant_at(variant, 3, 2604), 2604);
    assert_int_equal(runtime_variant_at(variant, 3, 2605), 0);
    assert_int_equal(runtime_variant_at(variant, 3, 0), 0); // none asked for: the newest
    assert_int_equal(runtime_variant_at(NULL, 0, 2509), 0);
}

static void test_a_name__is_cut_at_its_month_but_a_path_is_not(void **state)
{
    const char *software, *when;
    plait_error err;

    (void)state;
    must(runtime_split("megatron@25.09", arena, &software, &when, &err), &err);
    assert_string_equal(software, "megatron");
    assert_string_equal(when, "25.09");
    must(runtime_split("megatron", arena, &software, &when, &err), &err);
    assert_string_equal(software, "megatron");
    assert_null(when);
    must(runtime_split("some@where/megatron@25.09.json", arena, &software, &when, &err), &err);
    assert_null(when);
}

/* ---- files ---- */

static plait_status parse(const char *text, plait_runtime *r, plait_error *err)
{
    return plait_runtime_parse(text, strlen(text), "v.json", arena, r, err);
}

static void test_a_variant__is_its_software_but_for_what_it_says(void **state)
{
    plait_runtime now, then;
    plait_error err;

    (void)state;
    must(plait_runtime_find("megatron", arena, &now, &err), &err);
    must(parse("{\"name\": \"megatron@20.05\", \"variant_of\": \"megatron\", \"source\": \"old\", "
               "\"factors\": {\"gemm\": 1.25}, \"overlap\": {\"dp_exposed\": 0.9}}",
               &then, &err),
         &err);
    assert_string_equal(then.name, "megatron@20.05");
    assert_string_equal(plait_runtime_software(&then), "megatron");
    assert_string_equal(then.source, "old");
    assert_int_equal(then.until, 2005);
    assert_near(then.factor.gemm, 1.25, 0.0);
    assert_near(then.overlap.dp_exposed, 0.9, 0.0);
    assert_near(then.factor.memory, now.factor.memory, 0.0);
    assert_near(then.overlap.tp_exposed, now.overlap.tp_exposed, 0.0);
    assert_memory_equal(&then.can, &now.can, sizeof now.can);
    assert_memory_equal(&then.keep, &now.keep, sizeof now.keep);
    assert_true(then.rules == now.rules && then.calibrated == now.calibrated);
}

static void test_a_variant__is_refused_with_the_place(void **state)
{
    static const struct {
        const char *text, *where, *message;
    } bad[] = {
        {"{\"name\": \"megatron@20.05\", \"variant_of\": \"megatorn\"}", "v.json:/variant_of",
         "expected the name of a runtime, found \"megatorn\""},
        {"{\"name\": \"megatron@20.05\", \"variant_of\": \"megatron@21.01\"}", "v.json:/variant_of",
         "expected the name of a runtime without a date"},
        {"{\"name\": \"x@20.05\", \"variant_of\": \"./x.json\"}", "v.json:/variant_of",
         "expected the name of a runtime without a date"},
        {"{\"name\": \"megatron@20.05\", \"variant_of\": 1}", "v.json:/variant_of", "expected "},
        {"{\"name\": \"megatron\", \"variant_of\": \"megatron\"}", "v.json:/name",
         "expected megatron@YY.MM with the last month that the profile covers, found \"megatron\""},
        {"{\"name\": \"megatron@20.13\", \"variant_of\": \"megatron\"}", "v.json:/name",
         "expected megatron@YY.MM"},
        {"{\"name\": \"fsdp@20.05\", \"variant_of\": \"megatron\"}", "v.json:/name",
         "expected megatron@YY.MM"},
        {"{\"variant_of\": \"megatron\"}", "v.json", "expected "},
        {"{\"name\": \"megatron@20.05\", \"variant_of\": \"megatron\", \"can\": {}}", "v.json:/can",
         "expected "},
        {"{\"name\": \"megatron@20.05\", \"variant_of\": \"megatron\", \"factors\": {\"nic\": 0}}",
         "v.json:/factors/nic", "expected a positive number, found 0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        plait_error err = {PLAIT_OK, "", ""};
        plait_runtime r;

        assert_int_not_equal(parse(bad[i].text, &r, &err), PLAIT_OK);
        assert_string_equal(err.where, bad[i].where);
        if (strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("%s: %s", err.where, err.message);
    }
}

/* ---- numbers of another profile, and names of earlier versions ---- */

#define NUMBERS_OF(name, more)                                                                     \
    "{\"name\": \"x\", \"numbers_of\": " name ", \"can\": {\"zero\": [0], \"cp_comm\": "           \
    "[\"p2p\"], \"schedules\": [\"1f1b\"], \"recompute\": [\"none\"], \"attention\": "             \
    "[\"fused\"], \"precision\": [\"bf16\"]}, \"defaults\": {\"zero\": 0, \"cp_comm\": \"p2p\", "  \
    "\"attention\": \"fused\"}" more "}"

static void test_numbers_of__are_another_profiles_unless_said(void **state)
{
    plait_runtime other, r;
    plait_error err;

    (void)state;
    must(plait_runtime_find("megatron", arena, &other, &err), &err);
    must(parse(NUMBERS_OF("\"megatron\"", ", \"factors\": {\"gemm\": 1.25}"), &r, &err), &err);
    assert_string_equal(r.name, "x");
    assert_false(r.calibrated);
    assert_near(r.factor.gemm, 1.25, 0.0);
    assert_near(r.factor.host_s, other.factor.host_s, 0.0);
    assert_near(r.overlap.tp_exposed, other.overlap.tp_exposed, 0.0);
    assert_int_not_equal(parse(NUMBERS_OF("\"megatorn\"", ""), &r, &err), PLAIT_OK);
    assert_string_equal(err.where, "v.json:/numbers_of");
    assert_int_not_equal(parse(NUMBERS_OF("\"companion\"", ""), &r, &err), PLAIT_OK);
    assert_string_equal(
        err.message,
        "expected no reference to a profile, since another profile refers to this one, "
        "found a reference");
}

/* Kernels and factors are those of megatron: only the plan's grad_sync differs. */
static void test_megatron_no_overlap__is_megatron_with_shifted_gradients(void **state)
{
    plait_runtime now, old;
    plait_error err;

    (void)state;
    must(plait_runtime_find("megatron", arena, &now, &err), &err);
    must(plait_runtime_find("megatron-no-overlap", arena, &old, &err), &err);
    assert_string_equal(old.name, "megatron");
    assert_int_equal(old.defaults.key[PLAIT_KEY_GRAD_SYNC], PLAIT_SYNC_SHIFTED);
    assert_int_equal(old.can.takes[PLAIT_KEY_GRAD_SYNC], 1 << PLAIT_SYNC_SHIFTED);
    assert_memory_equal(&old.factor, &now.factor, sizeof now.factor);
    assert_memory_equal(&old.overlap, &now.overlap, sizeof now.overlap);
    assert_memory_equal(&old.kernels, &now.kernels, sizeof now.kernels);
    must(plait_runtime_find("megatron-no-overlap@25.09", arena, &old, &err), &err);
    assert_string_equal(plait_runtime_software(&old), "megatron");
    assert_int_equal(old.can.takes[PLAIT_KEY_GRAD_SYNC], 1 << PLAIT_SYNC_SHIFTED);
}

/* ---- releases ---- */

#define WITH(releases)                                                                             \
    "{\"name\": \"x\", \"releases\": " releases ", \"can\": {\"zero\": [0], \"cp_comm\": "         \
    "[\"p2p\"], \"schedules\": [\"1f1b\"], \"recompute\": [\"none\"], \"attention\": "             \
    "[\"fused\"], \"precision\": [\"bf16\"]}, \"defaults\": {\"zero\": 0, \"cp_comm\": \"p2p\", "  \
    "\"attention\": \"fused\"}}"

static void test_releases__have_a_month_each(void **state)
{
    plait_error err;
    plait_runtime r;

    (void)state;
    must(parse(WITH("{\"v1\": \"24.12\", \"source\": \"here\", \"v2\": \"25.02\"}"), &r, &err),
         &err);
    assert_int_equal(r.releases, 2);
    assert_string_equal(r.release[1].name, "v2");
    assert_int_equal(r.release[1].date, 2502);
    assert_int_equal(parse(WITH("{\"v1\": \"2024\"}"), &r, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "v.json:/releases/v1");
    assert_int_equal(parse(WITH("{\"v1\": \"24.12\", \"v1\": \"25.01\"}"), &r, &err),
                     PLAIT_ERROR_SCHEMA);
    assert_int_equal(parse(WITH("{\"v1\": 24.12}"), &r, &err), PLAIT_ERROR_SCHEMA);
    assert_int_equal(parse(WITH("[\"24.12\"]"), &r, &err), PLAIT_ERROR_SCHEMA);
}

static void test_a_release__stands_for_its_month(void **state)
{
    plait_runtime by_name, by_month;
    plait_error err;

    (void)state;
    must(plait_runtime_find("megatron@v0.4.2", arena, &by_name, &err), &err);
    must(plait_runtime_find("megatron@26.04", arena, &by_month, &err), &err);
    assert_string_equal(by_name.name, "megatron@v0.4.2");
    assert_int_equal(by_name.date, 2604);
    assert_int_equal(by_name.until, by_month.until);
    assert_int_equal(plait_runtime_find("megatron@v0.0", arena, &by_name, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "megatron@v0.0");
    assert_int_equal(plait_runtime_find("fsdp@v0.4.2", arena, &by_name, &err), PLAIT_ERROR_RANGE);
}

static void test_a_release__is_found_by_product_number_and_month(void **state)
{
    static const struct {
        const char *when, *release;
    } asked[] = {
        {"v0.4.0", "bridge-v0.4.0"},      {"core-v0.4.0", "core-v0.4.0"},
        {"v0.14.0", "core-v0.14.0"},      {"core-v0.14", "core-v0.14.0"},
        {"v0.12", "core-v0.12.3"},        {"v0.1", "bridge-v0.1.0rc3"},
        {"core_v0.14.0", "core-v0.14.0"}, {"core_r0.14.0", "core-v0.14.0"},
        {"core-0.14", "core-v0.14.0"},    {"0.14.0", "core-v0.14.0"},
        {"V0.14.0", "core-v0.14.0"},      {"r0.2.0", "bridge-v0.2.0"},
        {"25.09", "bridge-v0.1.0rc3"},    {"25.10", "bridge-v0.1.0rc3"},
        {"25.11", "bridge-v0.2.0"},       {"23.12", "core-v0.4.0"},
        {"24.01", "core-v0.4.0"},         {"25.07", "core-v0.13.0"},
        {"99.01", "bridge-v0.6.0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *const name = plait_arena_printf(arena, "megatron@%s", asked[i].when);
        plait_error err;
        plait_runtime r;

        must(plait_runtime_find(name, arena, &r, &err), &err);
        assert_string_equal(r.name, name);
        assert_non_null(r.at);
        assert_string_equal(r.at->name, asked[i].release);
    }
}

static void test_what_is_not_held__is_refused(void **state)
{
    static const char *const wrong[] = {
        "megatron@23.11",      "megatron@core-v0.3.0", "megatron@v0.14.7",
        "megatron@v0.140.0",   "megatron@v0",          "megatron@core",
        "megatron@core-25.09", "torchtitan@25.09",     "megatron-fsdp@core-v0.13.0",
        "deepspeed@25.09"};
    plait_runtime r;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        plait_error err;

        assert_int_equal(plait_runtime_find(wrong[i], arena, &r, &err), PLAIT_ERROR_RANGE);
        assert_string_equal(err.where, wrong[i]);
    }
}

/* ---- what a release brought ---- */

/* Has the runtime the value that a feature is? */
static bool has(const plait_runtime *r, const plait_feature *feature)
{
    switch (feature->key) {
    case PLAIT_FEATURE_PRECISION:
        return r->can.precision >> feature->value & 1u;
    case PLAIT_FEATURE_MODULE:
        for (int s = 0; s < r->can.module_sets; s++)
            if (r->can.module_set[s] >> feature->value & 1u)
                return true;
        return false;
    case PLAIT_FEATURE_MODEL:
    case PLAIT_FEATURE_MTP_CP:
    case PLAIT_FEATURE_FP8_RECOMPUTE:
    case PLAIT_FEATURE_UNEVEN_CHUNKS:
        return runtime_brought(r, feature->key, feature->value) == NULL;
    case PLAIT_FEATURE_HSDP:
        return r->can.hsdp;
    case PLAIT_FEATURE_ETP:
        return r->can.etp && !r->can.etp_is_tp;
    case PLAIT_FEATURE_CURRENT_SCALING:
        return !r->kernels.delayed_scaling;
    default:
        return r->can.takes[feature->key] >> feature->value & 1u;
    }
}

static void check_values(const char *software, size_t least)
{
    plait_runtime newest;
    plait_error err;

    must(plait_runtime_find(software, arena, &newest, &err), &err);
    assert_null(newest.at);
    assert_true(newest.features >= least);
    for (size_t i = 0; i < newest.features; i++)
        assert_true(has(&newest, &newest.feature[i]));
    for (size_t r = 0; r < newest.releases; r++) {
        const char *const name =
            plait_arena_printf(arena, "%s@%s", software, newest.release[r].name);
        plait_runtime then;

        must(plait_runtime_find(name, arena, &then, &err), &err);
        for (size_t i = 0; i < newest.features; i++)
            if (has(&then, &newest.feature[i]) != (r >= newest.feature[i].since))
                fail_msg("%s: key %d, value %d", name, newest.feature[i].key,
                         newest.feature[i].value);
    }
}

static void test_each_value__is_there_from_its_release_on_and_not_before(void **state)
{
    (void)state;
    check_values("megatron", 30);
    check_values("megatron-fsdp", 10);
}

/* "sinks" of gpt-oss under Megatron Core 0.14 */
static const char *missed(const char *runtime, const char *name)
{
    plait_model *model = plait_arena_alloc(arena, 1, sizeof *model);
    plait_runtime r;
    plait_error err;
    char why[256];

    must(plait_runtime_find(runtime, arena, &r, &err), &err);
    must(plait_model_find(name, arena, model, NULL, &err), &err);
    const int part = runtime_part_missed(&r, model);
    assert_true(plait_model_check(&r, model, why, sizeof why) == (part < 0));
    if (part >= 0)
        assert_non_null(strstr(why, " or later"));
    return part < 0 ? "" : plait_model_part_name[part];
}

static void test_a_model__is_of_the_releases_that_have_its_parts(void **state)
{
    static const struct {
        const char *model, *release, *part;
    } rows[] = {
        {"gpt-oss-20b", "core-v0.14.0", "window"},
        {"gpt-oss-20b", "core-v0.15.0", "yarn"},
        {"gpt-oss-20b", "core-v0.19.0", ""},
        {"gpt-oss-20b", "core-v0.7.0", "rotary_base"},
        {"deepseek-v3", "core-v0.9.0", "mla"},
        {"deepseek-v3", "core-v0.10.0", "sigmoid_router"},
        {"deepseek-v3", "core-v0.11.0", "mtp"},
        {"deepseek-v3", "core-v0.12.0", ""},
        {"llama-3.1-8b", "core-v0.9.0", "llama3_rope"},
        {"llama-3.1-8b", "core-v0.10.0", ""},
        {"qwen3-30b-a3b", "core-v0.5.0", "qk_norm"},
        {"qwen3-30b-a3b", "core-v0.8.0", ""},
        {"llama-4-scout", "core-v0.12.0", "no_rotary"},
        {"gpt3-175b", "core-v0.4.0", ""},
        {"mixtral-8x7b", "core-v0.4.0", "rotary_base"},
        {"deepseek-v2", "core-v0.10.0", "expert_groups"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const found =
            missed(plait_arena_printf(arena, "megatron@%s", rows[i].release), rows[i].model);

        if (strcmp(found, rows[i].part) != 0)
            fail_msg("%s at %s: %s", rows[i].model, rows[i].release, found);
    }
}

static void test_defaults__are_values_that_the_release_has(void **state)
{
    plait_runtime first;
    plait_error err;

    (void)state;
    must(plait_runtime_find("megatron@core-v0.4.0", arena, &first, &err), &err);
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (plait_keys[key].kind != PLAIT_KEY_NUMBER)
            assert_true(first.can.takes[key] >> first.defaults.key[key] & 1u);
}

static void test_since__is_refused_with_the_place(void **state)
{
    static const struct {
        const char *since, *where;
    } bad[] = {
        {"{\"attention\": {\"fused\": \"v2\"}}", "v.json:/since/attention/fused"},
        {"{\"attention\": {\"fusd\": \"v1\"}}", "v.json:/since/attention/fusd"},
        {"{\"max_tp\": {\"8\": \"v1\"}}", "v.json:/since/max_tp"},
        {"{\"hsdp\": 1}", "v.json:/since/hsdp"},
        {"{\"etp\": {\"1\": \"v1\"}}", "v.json:/since/etp"},
        {"{\"attention\": [\"v1\"]}", "v.json:/since/attention"},
        {"[]", "v.json:/since"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const text =
            plait_arena_printf(arena, WITH("{\"v1\": \"24.12\"}, \"since\": %s"), bad[i].since);
        plait_error err = {PLAIT_OK, "", ""};
        plait_runtime r;

        assert_int_not_equal(parse(text, &r, &err), PLAIT_OK);
        assert_string_equal(err.where, bad[i].where);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_month__is_two_digits_of_each),
        TEST(test_a_month__takes_the_earliest_variant_that_is_not_before_it),
        TEST(test_a_name__is_cut_at_its_month_but_a_path_is_not),
        TEST(test_a_variant__is_its_software_but_for_what_it_says),
        TEST(test_a_variant__is_refused_with_the_place),
        TEST(test_numbers_of__are_another_profiles_unless_said),
        TEST(test_megatron_no_overlap__is_megatron_with_shifted_gradients),
        TEST(test_releases__have_a_month_each),
        TEST(test_a_release__stands_for_its_month),
        TEST(test_a_release__is_found_by_product_number_and_month),
        TEST(test_what_is_not_held__is_refused),
        TEST(test_each_value__is_there_from_its_release_on_and_not_before),
        TEST(test_a_model__is_of_the_releases_that_have_its_parts),
        TEST(test_defaults__are_values_that_the_release_has),
        TEST(test_since__is_refused_with_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
