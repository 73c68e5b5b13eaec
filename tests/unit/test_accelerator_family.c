/* test_accelerator_family.c - families of accelerators: every file that ships, and what is refused */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/cluster/cluster_file.h"
#include "support/must.h"
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
    plait_arena_fail_after(-1);
    plait_arena_free(*state);
    return 0;
}

static accelerator_family find(plait_arena *arena, const char *name)
{
    accelerator_family family;

    must(accelerator_family_find(name, arena, &family, &err), &err);
    return family;
}

static plait_status parse(plait_arena *arena, const char *text, accelerator_family *family)
{
    return accelerator_family_parse(text, strlen(text), "f.json", arena, family, &err);
}

/* An accelerator of which its file says the least. */
#define SHEET                                                                                      \
    "\"name\": \"x\", \"peak_tflops\": {\"bf16\": 300, \"fp8\": 600}, \"compute_units\": 100, "    \
    "\"memory\": {\"memory_gib\": 80, \"hbm_tb_per_s\": 2}, "                                      \
    "\"scale_up\": {\"domain\": 8, \"bandwidth_gb_per_s\": 100}, "                                 \
    "\"node\": {\"accelerators\": 8, \"nic_gbit_per_s\": 200}"

static plait_status parse_accelerator(plait_arena *arena, const char *text, plait_accelerator *out)
{
    return plait_accelerator_parse(text, strlen(text), "a.json", arena, out, &err);
}

/* What a family must say over common.json. */
#define GEMM                                                                                       \
    "\"emax\": 0.5, \"k0\": 10, \"q\": 0.1, \"r128\": 1, \"r64\": 0.9, \"r32\": 0.8, "             \
    "\"eb\": 0.7, \"t0_us\": 2, \"p\": 3"
#define ATTENTION                                                                                  \
    "\"attention\": {\"flash\": 0.1, \"flash2\": 0.2, \"flash3\": 0.3, \"fused\": 0.4, "           \
    "\"s0\": 500, \"t0_us\": 15}"
#define LEAST "\"name\": \"f\", \"gemm\": {\"bf16\": {" GEMM "}}, " ATTENTION

/* ---- every file that ships ---- */

static void test_family__of_every_file_loads_and_has_its_name_inside(void **state)
{
    const char *const *names;
    size_t count;

    must(plait_data_list(PLAIT_DATA_FAMILIES, *state, &names, &count, &err), &err);
    assert_true(count > 1);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], "common") != 0)
            assert_string_equal(find(*state, names[i]).name, names[i]);
}

static void check_sources(const json_cursor *at, const char *file, bool holds_blocks)
{
    json_cursor block;

    for (bool more = json_first(at, &block); more; more = json_next(&block)) {
        const bool products = strcmp(block.key, "gemm") == 0 ||
                              strcmp(block.key, "grouped_gemm") == 0 ||
                              strcmp(block.key, "attention_decode") == 0;

        if (!json_is_object(&block))
            continue;
        if (products && holds_blocks)
            check_sources(&block, file, false);
        else if (!json_has(&block, "source"))
            fail_msg("%s: %s has no source", file, block.key);
    }
}

static void test_family__of_every_file_says_where_each_block_is_from(void **state)
{
    const char *const *names;
    size_t count;

    must(plait_data_list(PLAIT_DATA_FAMILIES, *state, &names, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        const char *path;
        json_document doc;
        json_cursor root;

        must(plait_data_find(PLAIT_DATA_FAMILIES, names[i], *state, &path, &err), &err);
        must(json_document_read(path, *state, &doc, &err), &err);
        root = json_document_root(&doc);
        assert_true(json_has(&root, "source"));
        check_sources(&root, names[i], true);
        json_document_free(&doc);
    }
}

/* ---- what comes from where ---- */

static void test_family__takes_from_another_what_its_block_lacks(void **state)
{
    const accelerator_family volta = find(*state, "volta"), ampere = find(*state, "ampere");
    const plait_gemm_fit v = volta.gemm[PLAIT_BF16], a = ampere.gemm[PLAIT_BF16];

    assert_near(v.emax, 0.80, 0.0);
    assert_near(a.emax, 0.91, 0.0);
    assert_near(v.k0, a.k0, 0.0);
    assert_near(v.r64, a.r64, 0.0);
    assert_near(v.t0_s, a.t0_s, 0.0);
    assert_near(v.t0_s, 3.5e-6, 1e-18);
}

/* Hopper's shapes, but not Hopper's fp8. */
static void test_family__takes_no_more_than_the_block_that_asks(void **state)
{
    const accelerator_family other = find(*state, "other");

    assert_near(other.gemm[PLAIT_BF16].k0, 120.0, 0.0);
    assert_near(other.gemm[PLAIT_BF16].eb, 0.77, 0.0);
    assert_true(isnan(other.gemm[PLAIT_FP8].emax));
    assert_near(other.gemm[PLAIT_FP8].cq, 2.16, 0.0);
}

static void test_family__says_its_own_over_what_all_share(void **state)
{
    accelerator_family family;

    must(parse(*state,
               "{" LEAST ", \"sustained\": {\"fp8\": 0.8}, \"collectives\": {\"b_us\": [1, 2, 3]}}",
               &family),
         &err);
    assert_near(family.sustained[1], 0.8, 0.0);
    assert_near(family.sustained[0], 0.86, 0.0);
    assert_near(family.collective.b_s[2], 3e-6, 1e-18);
    assert_near(family.collective.a_s[2], 25e-6, 1e-18);
}

/* fp8 without a fit: the fractions of bf16, and H100's passes to quantise. */
static void test_family__stands_in_for_precisions_that_nobody_measured(void **state)
{
    plait_accelerator a;

    must(parse_accelerator(*state,
                           "{" SHEET ", \"family\": \"ampere\", "
                           "\"gemm\": {\"bf16\": {\"emax\": 0.9, \"k0\": 99}}}",
                           &a),
         &err);
    assert_near(a.gemm[PLAIT_FP8].emax, 0.9, 0.0);
    assert_near(a.gemm[PLAIT_FP8].k0, 99.0, 0.0);
    assert_near(a.gemm[PLAIT_FP8].t0_s, 12e-6, 1e-18);
    assert_near(a.gemm[PLAIT_MXFP8].cq, 2.16, 0.0);
    assert_near(a.grouped[PLAIT_FP8].emax, 0.9, 0.0);
    assert_near(a.grouped[PLAIT_FP8].rs, 0.55, 0.0);
    assert_true(a.gemm[PLAIT_FP16].measured);
    assert_false(a.gemm[PLAIT_FP8].measured || a.gemm[PLAIT_FP8_BLOCK].measured);
}

/* ---- families of one's own ---- */

/* A data folder with some families in it, which $PLAIT_DATA names until it is removed. */
typedef struct own_data {
    plait_arena *arena;
    char root[32];
    const char *path[8];
    int paths;
} own_data;

static const char *own_path(own_data *data, const char *name)
{
    const char *path = plait_arena_printf(data->arena, "%s/clusters%s", data->root, name);

    assert_non_null(path);
    return data->path[data->paths++] = path;
}

static void own_begin(own_data *data, plait_arena *arena)
{
    *data = (own_data){.arena = arena, .root = "/tmp/plait-family-XXXXXX"};
    assert_non_null(mkdtemp(data->root));
    assert_int_equal(mkdir(own_path(data, ""), 0700), 0);
    assert_int_equal(mkdir(own_path(data, "/families"), 0700), 0);
    setenv("PLAIT_DATA", data->root, 1);
}

static void own_family(own_data *data, const char *file, const char *text)
{
    FILE *stream = fopen(own_path(data, file), "w");

    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
}

static void own_end(own_data *data)
{
    unsetenv("PLAIT_DATA");
    while (data->paths > 0)
        assert_int_equal(remove(data->path[--data->paths]), 0);
    assert_int_equal(rmdir(data->root), 0);
}

/* A new family is a file. */
static void test_family__of_one_s_own_is_found_by_accelerators(void **state)
{
    plait_accelerator a;
    own_data data;

    own_begin(&data, *state);
    own_family(&data, "/families/rubin.json",
               "{\"name\": \"rubin\", " ATTENTION ", \"gemm\": {"
               "\"bf16\": {\"from\": \"blackwell\", \"emax\": 0.6}}}");
    must(parse_accelerator(*state, "{" SHEET ", \"family\": \"rubin\"}", &a), &err);
    own_end(&data);
    assert_near(a.gemm[PLAIT_BF16].emax, 0.6, 0.0);
    assert_near(a.gemm[PLAIT_BF16].r128, 1.03, 0.0);
    assert_near(a.attention[PLAIT_ATTENTION_FUSED].e[0], 0.9 * 0.4, 1e-15);
}

static void test_family__is_not_taken_from_in_a_circle(void **state)
{
    accelerator_family family;
    own_data data;

    own_begin(&data, *state);
    own_family(&data, "/families/a.json",
               "{\"name\": \"a\", \"gemm\": {\"bf16\": {\"from\": \"b\"}}}");
    own_family(&data, "/families/b.json",
               "{\"name\": \"b\", \"gemm\": {\"bf16\": {\"from\": \"a\"}}}");
    assert_int_equal(accelerator_family_find("a", *state, &family, &err), PLAIT_ERROR_RANGE);
    own_end(&data);
    assert_non_null(strstr(err.where, "/clusters/families/b.json:/gemm/bf16/from"));
    assert_string_equal(err.message, "expected numbers, found a chain of more than 3 families");
}

static void test_family__is_not_what_all_families_start_from(void **state)
{
    accelerator_family family;
    own_data data;

    own_begin(&data, *state);
    own_family(&data, "/families/common.json",
               "{\"name\": \"common\", \"p2p\": {\"from\": \"ada\"}}");
    assert_int_equal(accelerator_family_find("ada", *state, &family, &err), PLAIT_ERROR_SCHEMA);
    own_end(&data);
    assert_non_null(strstr(err.where, "/clusters/families/common.json:/p2p/from"));
    assert_string_equal(err.message, "expected numbers, found a reference to a family; this file "
                                     "cannot refer to one, since all families inherit from it");
}

/* ---- what is refused ---- */

static void test_family__is_refused_with_the_place(void **state)
{
    static const struct {
        const char *text, *where, *message;
    } bad[] = {
        {"[]", "f.json", "expected an object, found an array"},
        {"{}", "f.json", "expected the key \"name\", found none"},
        {"{" LEAST ", \"wgrd\": {}}", "f.json:/wgrd", "expected the key \"wgrad\", found \"wgrd\""},
        {"{" LEAST ", \"wgrad\": 1.04}", "f.json:/wgrad", "expected an object, found 1.04"},
        {"{" LEAST ", \"peak\": {\"bf16_over_fp32\": 0.5}}", "f.json:/peak/bf16_over_fp32",
         "expected at least 1, found 0.5"},
        {"{" LEAST ", \"scale_up\": {\"ring_share\": 1.5}}", "f.json:/scale_up/ring_share",
         "expected at most 1, found 1.5"},
        {"{" LEAST ", \"collectives\": {\"a_us\": [1, 2]}}", "f.json:/collectives/a_us",
         "expected 3 numbers, found 2"},
        {"{" LEAST ", \"collectives\": {\"ring_share\": [0, 1, 1]}}",
         "f.json:/collectives/ring_share/0", "expected a positive number, found 0"},
        {"{\"name\": \"f\", \"gemm\": {\"bf17\": {}}}", "f.json:/gemm/bf17",
         "expected the key \"bf16\", found \"bf17\""},
        {"{\"name\": \"f\", \"gemm\": {\"fp8\": {\"measured\": true}}}",
         "f.json:/gemm/fp8/measured", "expected one of the keys "},
        {"{\"name\": \"f\", \"gemm\": {\"bf16\": {\"from\": \"hoper\"}}}", "f.json:/gemm/bf16/from",
         "expected \"hopper\", found \"hoper\""},
        {"{\"name\": \"f\", \"gemm\": {\"bf16\": {\"from\": \"common\"}}}",
         "f.json:/gemm/bf16/from",
         "expected one of ada, ampere, blackwell, hopper, other, volta, found \"common\""},
        {"{\"name\": \"f\", \"gemm\": {\"bf16\": {\"from\": 1}}}", "f.json:/gemm/bf16/from",
         "expected a string, found 1"},
        {"{\"name\": \"f\"}", "f.json:/gemm/bf16/emax",
         "expected a number here or in common.json, found none"},
        {"{\"name\": \"f\", \"gemm\": {\"bf16\": {" GEMM "}}}", "f.json:/attention/flash",
         "expected a number here or in common.json, found none"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        accelerator_family family;

        assert_int_not_equal(parse(*state, bad[i].text, &family), PLAIT_OK);
        assert_string_equal(err.where, bad[i].where);
        if (strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("%s: %s", err.where, err.message);
    }
}

/* A path would depend on where the program runs. */
static void test_family__of_an_accelerator_is_a_name_of_the_folder(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"\"hoper\"", "expected \"hopper\", found \"hoper\""},
        {"\"pascal\"",
         "expected one of ada, ampere, blackwell, hopper, other, volta, found \"pascal\""},
        {"\"common\"",
         "expected one of ada, ampere, blackwell, hopper, other, volta, found \"common\""},
        {"\"../families/hopper\"", "expected one of "},
        {"\"clusters/families/hopper.json\"", "expected one of "},
        {"\"\"", "expected one of "},
        {"1", "expected a string, found 1"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        plait_accelerator a;
        const char *text = plait_arena_printf(*state, "{" SHEET ", \"family\": %s}", bad[i].text);

        assert_int_not_equal(parse_accelerator(*state, text, &a), PLAIT_OK);
        assert_string_equal(err.where, "a.json:/family");
        if (strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("%s: %s", err.where, err.message);
    }
}

static void test_family__that_says_too_little_is_refused_with_its_file(void **state)
{
    accelerator_family family;

    assert_int_equal(accelerator_family_find("common", *state, &family, &err), PLAIT_ERROR_SCHEMA);
    assert_non_null(strstr(err.where, "/clusters/families/common.json:/gemm/bf16/emax"));
}

/* Every allocation of a load may fail, those of the family that it takes from too. */
static void test_family__survives_running_out_of_memory(void **state)
{
    plait_status status = PLAIT_ERROR_NOMEM;

    (void)state;
    for (long calls = 0; status != PLAIT_OK; calls++) {
        plait_arena *arena = plait_arena_new();
        accelerator_family family;

        assert_non_null(arena);
        plait_arena_fail_after(calls);
        status = accelerator_family_find("other", arena, &family, &err);
        plait_arena_fail_after(-1);
        plait_arena_free(arena);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_family__of_every_file_loads_and_has_its_name_inside),
        TEST(test_family__of_every_file_says_where_each_block_is_from),
        TEST(test_family__takes_from_another_what_its_block_lacks),
        TEST(test_family__takes_no_more_than_the_block_that_asks),
        TEST(test_family__says_its_own_over_what_all_share),
        TEST(test_family__stands_in_for_precisions_that_nobody_measured),
        TEST(test_family__of_one_s_own_is_found_by_accelerators),
        TEST(test_family__is_not_taken_from_in_a_circle),
        TEST(test_family__is_not_what_all_families_start_from),
        TEST(test_family__is_refused_with_the_place),
        TEST(test_family__of_an_accelerator_is_a_name_of_the_folder),
        TEST(test_family__that_says_too_little_is_refused_with_its_file),
        TEST(test_family__survives_running_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
