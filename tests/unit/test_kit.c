/*
 * test_kit.c - what the measuring kit measures tells the constants of an accelerator and a cluster
 *
 * tests/data/kit are the tables that `kit.py --dry` writes (tests/cli/test_kit.sh holds them to it): the
 * rows of a site, without times. A known accelerator in a known cluster prices each row; the fits, which
 * begin at what ships, must find the known constants again.
 */
#include <string.h>

#include "support/assert_near.h"
#include "calibrate/calibrate.h"
#include "support/error_fixture.h"
#include "calibrate/network.h"
#include "plait/data.h"

static void must(plait_status status)
{
    if (status != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
}

/* An H100 that nobody ships: slower tensor cores, links and memory, and another share of each. */
static plait_accelerator another_h100(void)
{
    plait_accelerator gpu;

    must(plait_accelerator_find("h100-80gb-sxm", arena, &gpu, &err));
    gpu.gemm[PLAIT_BF16].emax = 0.68;
    gpu.gemm[PLAIT_BF16].t0_s = 5e-6;
    gpu.gemm[PLAIT_FP8].emax = 0.6;
    gpu.sustained[0] = 0.8;
    gpu.sustained[1] = 0.75;
    gpu.wgrad_ratio = 1.2;
    gpu.grouped[PLAIT_BF16].emax = 0.55;
    gpu.attention[PLAIT_ATTENTION_FLASH2].e[0] = 0.3;
    gpu.attention[PLAIT_ATTENTION_FLASH2].e[1] = 0.4;
    gpu.attention[PLAIT_ATTENTION_FUSED].e[1] = 0.6;
    gpu.attention[PLAIT_ATTENTION_FUSED].backward_ratio = 2.8;
    gpu.memory_op_fraction = 0.7;
    gpu.memory_op_t0_s = 3e-6;
    gpu.collective[PLAIT_ALL_GATHER].bytes_per_s[2] = 300e9;
    gpu.collective[PLAIT_REDUCE_SCATTER].bytes_per_s[2] = 310e9;
    gpu.p2p = (plait_link){.latency_s = 11e-6, .bytes_per_s = 250e9};
    return gpu;
}

static const char *const tables[] = {
    "gemm",         "gemm_sustained", "gemm_train_layouts",
    "gemm_grouped", "attention",      "attention_passes",
    "memory",       "collectives",    "p2p",
};

static point_list kit_points(void)
{
    point_list list;

    points_init(&list, arena);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        const size_t before = list.count;
        const char *path = plait_arena_printf(arena, "tests/data/kit/%s.csv", tables[t]);

        must(points_read(path, arena, &list, &err));
        assert_true(list.count >= before + 24); // no table is without a reader
    }
    return list;
}

/* ---- an accelerator ---- */

/* Prices a point by the family that is about it; one that leaves the domain is no family's. */
static bool price(const family_subject *subject, point *p)
{
    for (const family *f = families; f < families + FAMILIES; f++)
        for (int b = f->first; b < f->last; b++)
            if (family_takes(f, &subject->accelerator, p, b)) {
                p->s = family_predict_s(subject, p);
                return true;
            }
    return false;
}

static point_list priced_by(const plait_accelerator *gpu)
{
    family_subject *subject = plait_arena_alloc(arena, 1, sizeof *subject);
    point_list list = kit_points();
    size_t outside = 0;

    family_subject_init(gpu, subject);
    for (size_t i = 0; i < list.count; i++)
        outside += !price(subject, &list.point[i]);
    assert_int_equal(outside, 162); // 18 sizes of two groups, four operations each, and of a send
    return list;
}

static const calibrate_block *block_of(const calibrate_result *result, const char *name)
{
    for (int b = 0; b < result->blocks; b++)
        if (strcmp(result->block[b].name, name) == 0)
            return &result->block[b];
    fail_msg("nothing was fitted of %s", name);
    return NULL;
}

/* Constants trade off against each other; what they say of rows that no fit has seen does not. */
static void test_kit__tells_every_block_of_an_accelerator(void **state)
{
    static const char *const names[] = {
        "memory passes",
        "gemm bf16",
        "gemm fp8",
        "sustained clock bf16",
        "sustained clock fp8",
        "weight gradients",
        "grouped_gemm bf16",
        "attention flash2",
        "attention fused",
        "attention backward flash2",
        "attention backward fused",
        "collectives all_reduce",
        "collectives all_gather",
        "collectives reduce_scatter",
        "collectives all_to_all",
        "sends",
    };
    const plait_accelerator truth = another_h100();
    const point_list list = priced_by(&truth);
    calibrate_result result;

    (void)state;
    must(calibrate_accelerator("h100-80gb-sxm", &list, arena, &result, &err));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const calibrate_block *block = block_of(&result, names[i]);

        assert_true(block->used);
        if (block->errors.held > 0.01)
            fail_msg("%s is %.2f %% off on what was held out", names[i],
                     100.0 * block->errors.held);
    }
    assert_int_equal(result.blocks, sizeof names / sizeof *names);
}

/* The constants that rates come from, within 1 %; three digits are kept. */
static void test_kit__recovers_the_rates_of_an_accelerator(void **state)
{
    const plait_accelerator truth = another_h100();
    point_list list = priced_by(&truth);
    calibrate_result result;
    plait_accelerator found;
    const char *name;

    (void)state;
    must(calibrate_name(NULL, &list, &name, &err)); // the driver's name is known
    must(calibrate_accelerator(name, &list, arena, &result, &err));
    must(plait_accelerator_parse(result.text, result.length, "out", arena, &found, &err));
#define SAME(member) assert_near_relative(found.member, truth.member, 0.01)
    SAME(gemm[PLAIT_BF16].emax);
    SAME(gemm[PLAIT_FP8].emax);
    SAME(sustained[0]);
    SAME(sustained[1]);
    SAME(wgrad_ratio);
    SAME(grouped[PLAIT_BF16].emax);
    SAME(attention[PLAIT_ATTENTION_FLASH2].e[0]);
    SAME(attention[PLAIT_ATTENTION_FLASH2].e[1]);
    SAME(attention[PLAIT_ATTENTION_FUSED].e[1]);
    SAME(attention[PLAIT_ATTENTION_FUSED].backward_ratio);
    SAME(memory_op_fraction);
    SAME(memory_op_t0_s);
    SAME(collective[PLAIT_ALL_GATHER].bytes_per_s[2]);
    SAME(collective[PLAIT_REDUCE_SCATTER].bytes_per_s[2]);
    SAME(p2p.latency_s);
    SAME(p2p.bytes_per_s);
#undef SAME
}

/* ---- a cluster ---- */

static plait_cluster find_cluster(const char *text)
{
    plait_cluster cluster;

    must(plait_cluster_find(text, arena, &cluster, &err));
    return cluster;
}

/* All 16 GPUs, or one of each node, of 2 nodes of 8. */
static double between_s(const plait_cluster *cluster, const point *p)
{
    static const plait_network neutral = {.nic = 1.0};
    const plait_group_shape all = {.ranks = 16, .runs = 1, .run = {{16, 1}}};
    const plait_group_shape pair = {.ranks = 2, .runs = 1, .run = {{2, 8}}};
    const plait_route route = plait_route_of(cluster, p->ranks == 16 ? all : pair);

    return plait_collective_s(&route, neutral, (plait_collective_op)p->block, p->bytes);
}

/* The kit's points as links of so much would have them; those of one node keep what the program in its place took. */
static point_list between_nodes(plait_cluster cluster, plait_level network)
{
    point_list list = kit_points();

    cluster.level[1].link.latency_s = network.link.latency_s;
    cluster.level[1].efficiency = network.efficiency;
    cluster.level[1].ramp_bytes = network.ramp_bytes;
    must(plait_cluster_take(&cluster, 16, &err));
    for (size_t i = 0; i < list.count; i++)
        if (list.point[i].nodes == 2)
            list.point[i].s = between_s(&cluster, &list.point[i]);
    return list;
}

static void test_kit__recovers_the_links_between_nodes(void **state)
{
    static const plait_level truth = {
        .link = {.latency_s = 9e-6}, .efficiency = 0.77, .ramp_bytes = 3e6};
    const plait_cluster cluster = find_cluster("h100-80gb-sxm:2x8");
    const point_list list = between_nodes(cluster, truth);
    network_result result;

    (void)state;
    must(network_fit(&cluster, &list, arena, &result, &err));
    assert_true(result.used);
    assert_int_equal(result.level, 1);
    assert_int_equal(result.errors.points, 162);
    assert_true(result.errors.held < 0.01);
    assert_false(result.at_wire);
    assert_near_relative(result.cluster->level[1].link.latency_s, 9e-6, 0.01);
    assert_near_relative(result.cluster->level[1].efficiency, 0.77, 0.01);
    assert_near_relative(result.cluster->level[1].ramp_bytes, 3e6, 0.01);
}

/* Of leaf and spine two nodes show the leaf: the spine keeps what it has. */
static void test_kit__leaves_levels_alone_that_no_group_reaches(void **state)
{
    static const plait_level truth = {
        .link = {.latency_s = 9e-6}, .efficiency = 0.77, .ramp_bytes = 3e6};
    const plait_cluster cluster = find_cluster("dgx-h100");
    const point_list list = between_nodes(cluster, truth);
    network_result result;

    (void)state;
    must(network_fit(&cluster, &list, arena, &result, &err));
    assert_true(result.used);
    assert_near_relative(result.cluster->level[1].efficiency, 0.77, 0.01);
    assert_near(result.cluster->level[2].efficiency, cluster.level[2].efficiency, 0.0);
    assert_int_equal(result.cluster->gpus, cluster.gpus);
}

/* NICs of 400 Gb/s in a cluster that says 200: the share cannot pass the wire, and the result says so. */
static void test_kit__says_when_links_are_as_fast_as_their_wire(void **state)
{
    static const plait_level truth = {
        .link = {.latency_s = 4e-6}, .efficiency = 0.95, .ramp_bytes = 1e6};
    const point_list list = between_nodes(find_cluster("h100-80gb-sxm:2x8,nic=400"), truth);
    const plait_cluster slower = find_cluster("h100-80gb-sxm:2x8,nic=200");
    network_result result;

    (void)state;
    must(network_fit(&slower, &list, arena, &result, &err));
    assert_true(result.at_wire);
}

static void test_kit__without_a_second_node_says_nothing_of_links(void **state)
{
    const plait_cluster cluster = find_cluster("h100-80gb-sxm:2x8");
    point_list list = kit_points();
    network_result result;

    (void)state;
    for (size_t i = 0; i < list.count; i++)
        list.point[i].nodes = 1;
    must(network_fit(&cluster, &list, arena, &result, &err));
    assert_int_equal(result.errors.points, 0);
    assert_false(result.used);
    assert_near(result.cluster->level[1].efficiency, cluster.level[1].efficiency, 0.0);
}

/* Two nodes are measured, the cluster is one. */
static void test_kit__refuses_a_cluster_that_is_too_small(void **state)
{
    const plait_cluster cluster = find_cluster("h100-80gb-sxm:1x8");
    const point_list list = kit_points();
    network_result result;

    (void)state;
    assert_int_equal(network_fit(&cluster, &list, arena, &result, &err), PLAIT_ERROR_RANGE);
    assert_non_null(strstr(err.message, "8 GPUs"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(kit__tells_every_block_of_an_accelerator),
        TEST(kit__recovers_the_rates_of_an_accelerator),
        TEST(kit__recovers_the_links_between_nodes),
        TEST(kit__leaves_levels_alone_that_no_group_reaches),
        TEST(kit__says_when_links_are_as_fast_as_their_wire),
        TEST(kit__without_a_second_node_says_nothing_of_links),
        TEST(kit__refuses_a_cluster_that_is_too_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
