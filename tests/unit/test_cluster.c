/* test_cluster.c - clusters from files and strings, and the GPUs that a job takes of them */
#include <limits.h>
#include <string.h>

#include "support/assert_near.h"
#include "io/cluster/cluster_file.h"
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

static plait_cluster synthetic(plait_arena *arena, const char *text)
{
    plait_cluster cluster;

    if (plait_cluster_synthetic(text, arena, &cluster, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return cluster;
}

static plait_status parse(plait_arena *arena, const char *text, plait_cluster *cluster)
{
    return plait_cluster_parse(text, strlen(text), "c.json", arena, cluster, &err);
}

/* ---- synthetic strings ---- */

static void test_synthetic__has_the_nodes_and_links_of_its_accelerator(void **state)
{
    const plait_cluster c = synthetic(*state, "h100-80gb-sxm:64x8");

    assert_int_equal(c.gpus, 512);
    assert_int_equal(c.group[0].nodes, 64);
    assert_int_equal(c.level[0].gpus, 8);
    assert_near(c.level[0].link.bytes_per_s, 450e9, 1.0);
    assert_int_equal(c.level[1].gpus, INT_MAX);
    assert_near(c.level[1].link.bytes_per_s, 50e9, 1.0);
    assert_string_equal(c.name, "h100-80gb-sxm:64x8");
}

/* 200 Gb/s are 25 GB/s. */
static void test_synthetic__takes_the_network_rate_that_is_given(void **state)
{
    const plait_cluster c = synthetic(*state, "h100-80gb-sxm:64x8,nic=200");

    assert_near(c.level[1].link.bytes_per_s, 25e9, 1.0);
}

static void test_synthetic__joins_nodes_in_one_domain_where_the_accelerator_does(void **state)
{
    plait_cluster c = synthetic(*state, "gb200-nvl72:18x4");

    assert_int_equal(c.gpus, 72);
    assert_int_equal(c.level[0].gpus, 72);
    c = synthetic(*state, "gb200-nvl72:36x4");
    assert_int_equal(c.gpus, 144);
    assert_int_equal(c.level[0].gpus, 72);
}

static void test_synthetic__keeps_a_domain_inside_its_node_otherwise(void **state)
{
    assert_int_equal(synthetic(*state, "v100-16gb-sxm:8x4").level[0].gpus, 4);
    assert_int_equal(synthetic(*state, "h100-80gb-sxm:2x16").level[0].gpus, 8);
    assert_int_equal(synthetic(*state, "rtx-4090-24gb:1x8").level[0].gpus, 8);
}

/* PCIe rings reach 0.4 of the wire, NVLink's on H100 380 of 450 GB/s. */
static void test_synthetic__reaches_of_the_wire_what_rings_do(void **state)
{
    assert_near(synthetic(*state, "rtx-4090-24gb:1x8").level[0].efficiency, 0.4, 1e-12);
    assert_near(synthetic(*state, "h100-80gb-sxm:1x8").level[0].efficiency, 380.0 / 450.0, 1e-12);
}

static void test_synthetic__cuts_a_compact_slice_out_of_a_torus(void **state)
{
    static const int slice[] = {4, 4, 4};
    const plait_cluster c = synthetic(*state, "tpu-v5p:16x4");

    assert_int_equal(c.level[0].kind, PLAIT_LEVEL_TORUS);
    assert_memory_equal(c.level[0].side, slice, sizeof slice);
    assert_int_equal(c.level[0].gpus, 64);
}

static void test_synthetic__keeps_part_of_a_node_s_torus(void **state)
{
    static const int slice[] = {4, 2, 1};
    const plait_cluster c = synthetic(*state, "trainium2:2x8");

    assert_memory_equal(c.level[0].side, slice, sizeof slice);
    assert_int_equal(c.level[0].gpus, 8);
}

static void test_synthetic__of_direct_links_is_fully_connected(void **state)
{
    assert_int_equal(synthetic(*state, "mi300x-192gb:2x8").level[0].kind, PLAIT_LEVEL_FULL);
}

static void test_synthetic__rejects_what_it_does_not_understand(void **state)
{
    static const char *const bad[] = {
        "h100-80gb-sxm:0x8",
        "h100-80gb-sxm:8x0",
        "h100-80gb-sxm:-1x8",
        "h100-80gb-sxm:8",
        "h100-80gb-sxm:",
        "h100-80gb-sxm:8x",
        "h100-80gb-sxm:x8",
        "h100-80gb-sxm:8x8x8",
        "h100-80gb-sxm:1.5x8",
        "h100-80gb-sxm:99999999x8",
        "h100-80gb-sxm:8x99999999",
        "h100-80gb-sxm:1000000x4096",
        "h100-80gb-sxm:8x8,nic",
        "h100-80gb-sxm:8x8,nic=",
        "h100-80gb-sxm:8x8,nic=0",
        "h100-80gb-sxm:8x8,nic=-4",
        "h100-80gb-sxm:8x8,nic=inf",
        "h100-80gb-sxm:8x8,",
        "h100-80gb-sxm:8x8,rails=4",
        "h101:8x8",
        ":8x8",
        "h100-80gb-sxm: 8x8",
        "",
        "h100-80gb-sxm:8x8 ",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        plait_cluster c;

        if (plait_cluster_synthetic(bad[i], *state, &c, &err) != PLAIT_ERROR_RANGE)
            fail_msg("took \"%s\"", bad[i]);
        assert_true(err.message[0] != '\0');
    }
}

static void test_synthetic__says_what_it_expected(void **state)
{
    plait_cluster c;

    assert_int_equal(plait_cluster_synthetic("h100-80gb-sxm:0x8", *state, &c, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "h100-80gb-sxm:0x8");
    assert_string_equal(err.message, "expected 1 to 1048576 nodes, found \"0\"");
    assert_int_equal(plait_cluster_synthetic("h100-80gb-sx:8x8", *state, &c, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "h100-80gb-sx");
    assert_non_null(strstr(err.message, "did you mean h100-80gb-sxm?"));
}

/* ---- taking GPUs ---- */

static void test_take__gives_whole_nodes_or_part_of_one(void **state)
{
    plait_cluster c = synthetic(*state, "h100-80gb-sxm:4x8");

    assert_int_equal(plait_cluster_take(&c, 3, &err), PLAIT_OK);
    assert_int_equal(c.gpus, 3);
    assert_int_equal(plait_cluster_take(&c, 32, &err), PLAIT_OK);
    assert_int_equal(c.gpus, 32);
    assert_int_equal(plait_cluster_take(&c, 12, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.message,
                        "expected whole nodes of 8 GPUs or part of one node, found 12");
    assert_int_equal(c.gpus, 32);
}

static void test_take__rejects_none_and_too_many(void **state)
{
    plait_cluster c = synthetic(*state, "h100-80gb-sxm:4x8");

    assert_int_equal(plait_cluster_take(&c, 0, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.message, "expected at least 1 GPU, found 0");
    assert_int_equal(plait_cluster_take(&c, 40, &err), PLAIT_ERROR_RANGE);
    assert_non_null(strstr(err.message, "at most the 32 GPUs"));
}

static void test_take__of_a_file_without_a_size_has_no_limit(void **state)
{
    plait_cluster c;

    assert_int_equal(plait_cluster_find("dgx-h100", *state, &c, &err), PLAIT_OK);
    assert_int_equal(c.gpus, 0);
    assert_int_equal(plait_cluster_take(&c, 100000, &err), PLAIT_OK);
}

static void test_take__leaves_a_torus_that_no_slice_fits(void **state)
{
    plait_cluster c = synthetic(*state, "tpu-v5p:2240x4");

    assert_int_equal(c.level[0].gpus, 8960);
    assert_int_equal(plait_cluster_take(&c, 4 * 31, &err), PLAIT_OK); // 31 is longer than any axis
    assert_int_equal(c.level[0].side[2], 28);
}

static void test_take__takes_from_the_whole_grid_again(void **state)
{
    plait_cluster once = synthetic(*state, "tpu-v5p:2240x4");
    plait_cluster twice = once;

    assert_int_equal(plait_cluster_take(&once, 4 * 16, &err), PLAIT_OK);
    assert_int_equal(plait_cluster_take(&twice, 4 * 7, &err), PLAIT_OK);
    assert_int_equal(twice.level[0].side[2], 7);
    assert_int_equal(plait_cluster_take(&twice, 4 * 16, &err), PLAIT_OK);
    assert_memory_equal(twice.level[0].side, once.level[0].side, sizeof once.level[0].side);
    assert_memory_equal(twice.level[0].wrap, once.level[0].wrap, sizeof once.level[0].wrap);
    assert_int_equal(twice.level[0].gpus, once.level[0].gpus);
}

static const char mixed[] =
    "{\"name\": \"mixed\", \"groups\": ["
    "{\"accelerator\": \"a100-80gb-sxm\", \"gpus_per_node\": 8, \"nodes\": 2},"
    "{\"accelerator\": \"h100-80gb-sxm\", \"gpus_per_node\": 4, \"nodes\": 3}],"
    "\"levels\": [{\"gpus\": 4, \"bandwidth_gb_per_s\": 300, \"latency_us\": 3},"
    "{\"bandwidth_gb_per_s\": 25, \"latency_us\": 15}]}";

static void test_accelerator__is_that_of_the_rank_s_group(void **state)
{
    plait_cluster c;

    assert_int_equal(parse(*state, mixed, &c), PLAIT_OK);
    assert_int_equal(c.gpus, 28);
    assert_string_equal(plait_cluster_accelerator(&c, 0)->name, "a100-80gb-sxm");
    assert_string_equal(plait_cluster_accelerator(&c, 15)->name, "a100-80gb-sxm");
    assert_string_equal(plait_cluster_accelerator(&c, 16)->name, "h100-80gb-sxm");
    assert_string_equal(plait_cluster_accelerator(&c, 27)->name, "h100-80gb-sxm");
    assert_int_equal(plait_cluster_take(&c, 20, &err), PLAIT_OK); // two nodes of 8, one of 4
    assert_int_equal(plait_cluster_take(&c, 12, &err), PLAIT_ERROR_RANGE);
}

/* 989.4 TFLOP/s over 3.35 TB/s. */
static void test_ridge__by_hand(void **state)
{
    (void)state;
    assert_near(plait_ridge_flops_per_byte(989.4e12, 3.35e12), 295.343, 1e-3);
}

/* ---- files ---- */

static void test_cluster_file__converts_its_units(void **state)
{
    plait_cluster c;

    assert_int_equal(plait_cluster_find("p4d", *state, &c, &err), PLAIT_OK);
    assert_near(c.level[1].link.bytes_per_s, 6.25e9, 1.0);
    assert_near(c.level[1].link.latency_s, 26e-6, 1e-12);
    assert_near(c.level[1].ramp_bytes, 1.7e6, 1e-3);
    assert_near(c.level[1].oversubscription, 1.0, 0.0);
    assert_near(c.pue, 1.2, 0.0);
    assert_near(c.host_speed, 1.0, 0.0);
}

static void test_cluster_file__with_nodes_has_a_size(void **state)
{
    plait_cluster c;

    assert_int_equal(plait_cluster_find("selene", *state, &c, &err), PLAIT_OK);
    assert_int_equal(c.gpus, 4480);
}

#define NODE "\"name\": \"x\", \"accelerator\": \"a100-80gb-sxm\", \"gpus_per_node\": 8"
#define LINK "\"bandwidth_gb_per_s\": 25, \"latency_us\": 15"

static void test_cluster_file__is_refused_with_the_place(void **state)
{
    static const struct {
        const char *text, *where, *message;
    } bad[] = {
        {"[]", "c.json", "expected an object, found an array"},
        {"{" NODE ", \"levels\": [{\"latency_us\": 3, \"bandwidth_gb_per_s\": -8}]}",
         "c.json:/levels/0/bandwidth_gb_per_s", "expected a positive number, found -8"},
        {"{" NODE ", \"host_speed\": 1e-33, \"levels\": [{" LINK "}]}", "c.json:/host_speed",
         "expected a factor from 0.001 to 1000, found 1e-33"},
        {"{" NODE ", \"levels\": []}", "c.json:/levels", "expected 1 to 6 levels, found 0"},
        {"{" NODE ", \"levels\": [{\"gpus\": 8, " LINK "}, {\"gpus\": 4, " LINK "}]}",
         "c.json:/levels/1/gpus", "expected more than the 8 GPUs of the level before, found 4"},
        {"{" NODE ", \"levels\": [{\"gpus\": 8, " LINK "}, {\"gpus\": 12, " LINK "}]}",
         "c.json:/levels/1/gpus",
         "expected a multiple of the 8 GPUs of the level before, found 12"},
        {"{" NODE ", \"levels\": [{\"gpus\": 8, " LINK "}]}", "c.json:/levels",
         "expected the last level to join all GPUs (omit its \"gpus\"), found 8 GPUs"},
        {"{" NODE ", \"levels\": [{\"oversubscription\": 0.5, " LINK "}]}",
         "c.json:/levels/0/oversubscription", "expected at least 1, found 0.5"},
        {"{" NODE ", \"levels\": [{\"name\": \"a\", \"kind\": \"switch\", \"gpus\": null, " LINK
         "}], \"power\": {\"pue\": 0.5}}",
         "c.json:/power/pue", "expected at least 1, found 0.5"},
        {"{" NODE ", \"levels\": [{\"efficiency\": 1.5, " LINK "}]}", "c.json:/levels/0/efficiency",
         "expected at most 1, found 1.5"},
        {"{" NODE ", \"levels\": [{\"kind\": \"torus\", \"gpus\": 8, \"torus\": [2, 2, 3], " LINK
         "}]}",
         "c.json:/levels/0/torus", "expected sides whose product is the level's 8 GPUs, found 12"},
        {"{" NODE ", \"levels\": [{\"torus\": [2, 2, 2], " LINK "}]}", "c.json:/levels/0/torus",
         "expected this key only if kind is torus"},
        {"{" NODE ", \"nodes\": 0, \"levels\": [{" LINK "}]}", "c.json:/nodes", "expected "},
        {"{" NODE ", \"groups\": []}", "c.json:/accelerator",
         "expected this key inside each entry of \"groups\", found it beside \"groups\""},
        {"{" NODE ", \"gpu\": 8}", "c.json:/gpu", "expected "},
        {"{\"name\": \"x\", \"accelerator\": \"/dev/zero\"}", "c.json:/accelerator",
         "expected the name of an accelerator or an object, found a path"},
        {"{\"name\": \"x\", \"accelerator\": \"h100-80gb-smx\"}", "c.json:/accelerator",
         "expected the name of an accelerator; did you mean h100-80gb-sxm? (plait clusters lists "
         "all)"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        plait_cluster c;

        assert_int_not_equal(parse(*state, bad[i].text, &c), PLAIT_OK);
        assert_string_equal(err.where, bad[i].where);
        if (strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("%s: %s", err.where, err.message);
    }
}

static const char *written(plait_arena *arena, const plait_cluster *cluster)
{
    const char *text = NULL;
    json_writer json;

    json_writer_init(&json, arena);
    cluster_write(&json, cluster);
    assert_int_equal(json_writer_finish(&json, &text, NULL, &err), PLAIT_OK);
    return text;
}

/* Compares the rates that accelerators without measurements compute from others, bit by bit. */
static void assert_same_rates(const plait_accelerator *found, const plait_accelerator *expected)
{
    assert_memory_equal(&found->p2p, &expected->p2p, sizeof found->p2p);
    assert_true(found->vector_flops_per_s == expected->vector_flops_per_s);
    for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++) {
        const plait_collective_fit *const fit = &found->collective[op];
        const plait_collective_fit *const other = &expected->collective[op];
        assert_memory_equal(fit->b_s, other->b_s, sizeof fit->b_s);
        assert_memory_equal(fit->bytes_per_s, other->bytes_per_s, sizeof fit->bytes_per_s);
        assert_true(fit->local_bytes_per_s == other->local_bytes_per_s);
    }
}

/* The cluster that is read back has the same numbers, defaults of accelerators included. */
static void test_cluster_write__reads_back_as_the_same(void **state)
{
    static const char *const names[] = {"dgx-h100",    "dgx-2-v100",        "tpu-v5p",     "mi300x",
                                        "gb200-nvl72", "v100-16gb-sxm:4x4", "tpu-v5p:16x4"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        plait_cluster c, again;
        const char *text;

        assert_int_equal(plait_cluster_find(names[i], *state, &c, &err), PLAIT_OK);
        c.level[0].link.bytes_per_s = 6.875000000000001 * 1e9;
        text = written(*state, &c);
        if (parse(*state, text, &again) != PLAIT_OK)
            fail_msg("%s: %s", err.where, err.message);
        assert_string_equal(written(*state, &again), text);
        assert_int_equal(again.gpus, c.gpus);
        assert_true(again.level[0].link.bytes_per_s == c.level[0].link.bytes_per_s);
        assert_same_rates(again.group[0].accelerator, c.group[0].accelerator);
    }
}

/* Every allocation of a load may fail; none of them leaks or crashes. */
static void test_cluster_load__survives_running_out_of_memory(void **state)
{
    (void)state;
    for (long calls = 0;; calls++) {
        plait_arena *arena = plait_arena_new();
        plait_cluster c;
        plait_status status;

        assert_non_null(arena);
        plait_arena_fail_after(calls);
        status = plait_cluster_find("dgx-h100", arena, &c, &err);
        plait_arena_fail_after(-1);
        plait_arena_free(arena);
        if (status == PLAIT_OK)
            break;
        assert_int_equal(status, PLAIT_ERROR_NOMEM);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_synthetic__has_the_nodes_and_links_of_its_accelerator),
        TEST(test_synthetic__takes_the_network_rate_that_is_given),
        TEST(test_synthetic__joins_nodes_in_one_domain_where_the_accelerator_does),
        TEST(test_synthetic__keeps_a_domain_inside_its_node_otherwise),
        TEST(test_synthetic__reaches_of_the_wire_what_rings_do),
        TEST(test_synthetic__cuts_a_compact_slice_out_of_a_torus),
        TEST(test_synthetic__keeps_part_of_a_node_s_torus),
        TEST(test_synthetic__of_direct_links_is_fully_connected),
        TEST(test_synthetic__rejects_what_it_does_not_understand),
        TEST(test_synthetic__says_what_it_expected),
        TEST(test_take__gives_whole_nodes_or_part_of_one),
        TEST(test_take__rejects_none_and_too_many),
        TEST(test_take__of_a_file_without_a_size_has_no_limit),
        TEST(test_take__leaves_a_torus_that_no_slice_fits),
        TEST(test_take__takes_from_the_whole_grid_again),
        TEST(test_accelerator__is_that_of_the_rank_s_group),
        TEST(test_ridge__by_hand),
        TEST(test_cluster_file__converts_its_units),
        TEST(test_cluster_file__with_nodes_has_a_size),
        TEST(test_cluster_file__is_refused_with_the_place),
        TEST(test_cluster_write__reads_back_as_the_same),
        TEST(test_cluster_load__survives_running_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
