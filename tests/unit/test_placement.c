/* test_placement.c - which links a group of ranks spans */
#include <limits.h>

#include "support/assert_near.h"
#include "plait/lowlevel/collective.h"

static const plait_accelerator gpu = {.name = "gpu"};

/* Nodes of 8, leaf switches over 4 nodes, a spine over all. */
static const plait_cluster three_levels = {
    .groups = 1,
    .group = {{.accelerator = &gpu, .gpus_per_node = 8}},
    .levels = 3,
    .level = {{.name = "node", .gpus = 8},
              {.name = "leaf", .gpus = 32},
              {.name = "spine", .gpus = INT_MAX}},
};

static plait_group_shape run(int size, int stride)
{
    return (plait_group_shape){.ranks = size, .runs = 1, .run = {{size, stride}}};
}

static void assert_route(plait_group_shape group, int levels, int node, int leaf, int spine)
{
    const plait_route route = plait_route_of(&three_levels, group);
    const int expected[] = {node, leaf, spine};

    assert_int_equal(route.ranks, group.ranks);
    assert_int_equal(route.levels, levels);
    for (int l = 0; l < levels; l++)
        assert_int_equal(route.joined[l], expected[l]);
}

static void test_neighbours__stay_in_their_node(void **state)
{
    (void)state;
    assert_route(run(1, 1), 1, 1, 0, 0);
    assert_route(run(4, 1), 1, 4, 0, 0);
    assert_route(run(8, 1), 1, 8, 0, 0);
    assert_route(run(4, 2), 1, 4, 0, 0);
}

/* {0, 4, 8, 12}: two in each of two nodes. */
static void test_strided_group__has_few_members_in_a_node(void **state)
{
    (void)state;
    assert_route(run(4, 4), 2, 2, 4, 0);
    assert_route(run(4, 8), 2, 1, 4, 0);  // one GPU of each of four nodes
    assert_route(run(8, 8), 3, 1, 4, 8);  // eight nodes, two leaves
    assert_route(run(2, 64), 3, 1, 1, 2); // each its own leaf
    assert_route(run(64, 1), 3, 8, 32, 64);
}

/* 3 ranks, 3 apart: 0 3 6 | 9: three fit in a node of 8. */
static void test_uneven_strides__round_up_what_fits(void **state)
{
    (void)state;
    assert_route(run(4, 3), 2, 3, 4, 0);
    assert_route(run(12, 1), 2, 8, 12, 0);
}

/* cp = 2 inside a node, dp = 4 over nodes: {0, 4} + {0, 8, 16, 24}. */
static void test_groups_over_two_axes__multiply_their_runs(void **state)
{
    const plait_group_shape group = {.ranks = 8, .runs = 2, .run = {{2, 4}, {4, 8}}};

    (void)state;
    assert_route(group, 2, 2, 8, 0);
}

static void test_nodes__are_counted_by_what_leaves_a_domain(void **state)
{
    plait_route route = plait_route_of(&three_levels, run(8, 1));

    (void)state;
    assert_near(plait_route_nodes(&route), 1.0, 0.0);
    route = plait_route_of(&three_levels, run(64, 1));
    assert_near(plait_route_nodes(&route), 8.0, 0.0);
    route = plait_route_of(&three_levels, run(4, 4));
    assert_near(plait_route_nodes(&route), 2.0, 0.0);
}

/* A torus of 4 x 4 x 4: ranks run along x first, so a stride of 4 goes along y, 16 along z. */
static void test_torus__places_groups_along_its_axes(void **state)
{
    const plait_cluster torus = {
        .groups = 1,
        .group = {{.accelerator = &gpu, .gpus_per_node = 4}},
        .levels = 1,
        .level = {{.name = "torus",
                   .kind = PLAIT_LEVEL_TORUS,
                   .gpus = 64,
                   .side = {4, 4, 4, 1, 1, 1},
                   .wrap = {true, true, true},
                   .ports = 6}},
    };
    static const struct {
        int size, stride, x, y, z;
    } cases[] = {{4, 1, 4, 1, 1},  {4, 4, 1, 4, 1},  {4, 16, 1, 1, 4},
                 {16, 1, 4, 4, 1}, {64, 1, 4, 4, 4}, {2, 1, 2, 1, 1},
                 {16, 4, 1, 4, 4}, {8, 1, 4, 2, 1},  {8, 8, 1, 2, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const plait_route route = plait_route_of(&torus, run(cases[i].size, cases[i].stride));
        assert_int_equal(route.levels, 1);
        assert_int_equal(route.axis[0][0], cases[i].x);
        assert_int_equal(route.axis[0][1], cases[i].y);
        assert_int_equal(route.axis[0][2], cases[i].z);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours__stay_in_their_node),
        cmocka_unit_test(test_strided_group__has_few_members_in_a_node),
        cmocka_unit_test(test_uneven_strides__round_up_what_fits),
        cmocka_unit_test(test_groups_over_two_axes__multiply_their_runs),
        cmocka_unit_test(test_nodes__are_counted_by_what_leaves_a_domain),
        cmocka_unit_test(test_torus__places_groups_along_its_axes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
