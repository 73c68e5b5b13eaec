/* test_topology.c - grids, slices of them, levels one after the other, switches that add */
#include <limits.h>

#include "support/assert_near.h"
#include "support/chip.h"
#include "plait/lowlevel/collective.h"

static plait_accelerator gpu(void)
{
    plait_accelerator a = plain_chip();

    a.scale_up_bytes_per_s = 4e11;
    a.p2p = (plait_link){.latency_s = 5e-6, .bytes_per_s = 3e11};
    for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
        a.collective[op] = (plait_collective_fit){.a_s = {2e-6, 2e-6, 2e-6},
                                                  .bytes_per_s = {4e11, 4e11, 4e11},
                                                  .local_bytes_per_s = 1e30};
    return a;
}

/* 4 x 8 nodes of 8 GPUs at 400 GB/s; of its 60 GB/s beyond, a GPU has 15 on each of four links. */
typedef struct world {
    plait_accelerator gpu;
    plait_cluster cluster;
} world;

static void make(world *w)
{
    w->gpu = gpu();
    w->cluster = (plait_cluster){
        .name = "grid",
        .groups = 1,
        .group = {{.accelerator = &w->gpu, .gpus_per_node = 8, .nodes = 32}},
        .levels = 2,
        .level = {{.kind = PLAIT_LEVEL_SWITCH,
                   .gpus = 8,
                   .link = {1e-6, 4e11},
                   .efficiency = 1.0,
                   .oversubscription = 1.0},
                  {.kind = PLAIT_LEVEL_TORUS,
                   .gpus = 256,
                   .link = {10e-6, 6e10},
                   .efficiency = 1.0,
                   .oversubscription = 1.0,
                   .side = {4, 8, 1, 1, 1, 1},
                   .wrap = {true, true},
                   .ports = 4}},
        .gpus = 256,
        .pue = 1.0,
        .host_speed = 1.0,
    };
}

static plait_route route_by(const world *w, int size, int stride, plait_placement placement)
{
    return plait_route_of(&w->cluster, (plait_group_shape){.ranks = size,
                                                           .runs = 1,
                                                           .run = {{size, stride}},
                                                           .placement = (unsigned char)placement});
}

static double seconds(const world *w, int size, int stride, plait_collective_op op, double bytes)
{
    const plait_route route = route_by(w, size, stride, PLAIT_PLACE_XYZ);

    return plait_collective_s(&route, (plait_network){.nic = 1.0}, op, bytes);
}

// ---- graphs --------------------------------------------------------------------------------

/* 4 x 8 torus: 32 + 32 links; halving the 8 cuts 4 rings twice; 2 + 4 hops at most, 1 + 2 on average. */
static void test_graph__of_a_torus_of_nodes(void **state)
{
    world w;
    plait_graph graph;

    (void)state;
    make(&w);
    graph = plait_level_graph(&w.cluster, 1);
    assert_near(graph.nodes, 32.0, 0.0);
    assert_near(graph.links, 64.0, 0.0);
    assert_near(graph.cut_links, 8.0, 0.0);
    assert_near(graph.diameter, 6.0, 0.0);
    assert_near(graph.mean_hops, 3.0, 1e-12);
    assert_near(graph.bisection_bytes_per_s, 2.0 * 8.0 * 8.0 * 15e9, 1e-3);
    graph = plait_cluster_graph(&w.cluster); // 256 ports inside, 8 times 64 links beyond
    assert_near(graph.nodes, 256.0, 0.0);
    assert_near(graph.links, 256.0 + 512.0, 0.0);
    assert_near(graph.diameter, 6.0, 0.0);
    // of 256 partners 7 are two hops away, 248 in another node 3 x 32/31 on average
    assert_near(graph.mean_hops, (7.0 * 2.0 + 248.0 * 3.0 * 32.0 / 31.0) / 256.0, 1e-12);
}

/* 8 GPUs in pairs: 28 links of a seventh of the port; halves of four exchange over 16 of them. */
static void test_graph__of_direct_links(void **state)
{
    world w;
    plait_graph graph;

    (void)state;
    make(&w);
    w.cluster.level[0].kind = PLAIT_LEVEL_FULL;
    graph = plait_level_graph(&w.cluster, 0);
    assert_near(graph.links, 28.0, 0.0);
    assert_near(graph.diameter, 1.0, 0.0);
    assert_near(graph.bisection_bytes_per_s, 2.0 * 16.0 * 4e11 / 7.0, 1.0);
}

static void test_graph__of_a_level_without_end_is_unknown(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.cluster.level[1].kind = PLAIT_LEVEL_SWITCH;
    w.cluster.level[1].gpus = INT_MAX;
    w.cluster.gpus = 0;
    assert_near(plait_level_graph(&w.cluster, 1).nodes, 0.0, 0.0);
    assert_near(plait_cluster_graph(&w.cluster).nodes, 0.0, 0.0);
}

// ---- slices --------------------------------------------------------------------------------

/* 4 nodes are 2 x 2, and neither side is whole; 8 are 2 x 4; 16 are 4 x 4, whose first side is. */
static void test_take__closes_only_whole_sides(void **state)
{
    static const struct {
        int gpus, x, y;
        bool closes_x, closes_y;
    } cases[] = {{32, 2, 2, false, false},
                 {64, 2, 4, false, false},
                 {128, 4, 4, true, false},
                 {256, 4, 8, true, true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world w;
        plait_error err;
        make(&w);
        assert_int_equal(plait_cluster_take(&w.cluster, cases[i].gpus, &err), PLAIT_OK);
        const plait_level *level = &w.cluster.level[1];
        assert_int_equal(level->gpus, cases[i].gpus);
        assert_int_equal(level->side[0], cases[i].x);
        assert_int_equal(level->side[1], cases[i].y);
        assert_int_equal(level->wrap[0], cases[i].closes_x);
        assert_int_equal(level->wrap[1], cases[i].closes_y);
        assert_int_equal(level->ports, 4);
    }
}

/* Optical switches close a slice of whole blocks of 4: 4 x 4 does on both sides, 2 x 4 on none. */
static void test_take__closes_slices_of_whole_blocks(void **state)
{
    world w;
    plait_error err;

    (void)state;
    make(&w);
    w.cluster.level[1].wrap_block = 4;
    assert_int_equal(plait_cluster_take(&w.cluster, 128, &err), PLAIT_OK);
    assert_true(w.cluster.level[1].wrap[0] && w.cluster.level[1].wrap[1]);
    make(&w);
    w.cluster.level[1].wrap_block = 4;
    assert_int_equal(plait_cluster_take(&w.cluster, 64, &err), PLAIT_OK);
    assert_false(w.cluster.level[1].wrap[0] || w.cluster.level[1].wrap[1]);
}

// ---- levels one after the other ------------------------------------------------------------

/*
 * 256 GPUs, 1 GB. In a node 7/8 GB at 400 GB/s, twice, and 2 us each. Between nodes an eighth of it:
 * 2 x 31/32 x 1/8 GB over four links of 15 GB/s, and 2 x 6 hops of 10 us.
 */
static void test_all_reduce__over_a_torus_of_nodes(void **state)
{
    const double inside = 2.0 * (7.0 / 8.0 / 400.0 + 2e-6);
    const double across = 2.0 * 31.0 / 32.0 / 8.0 / 60.0 + 120e-6;
    world w;

    (void)state;
    make(&w);
    assert_near(seconds(&w, 256, 1, PLAIT_ALL_REDUCE, 1e9), inside + across, 1e-9);
    assert_near(seconds(&w, 256, 1, PLAIT_ALL_GATHER, 1e9), (inside + across) / 2.0, 1e-9);
    // a node of 8 does not know of the torus; one GPU a node along x has a ring of four
    assert_near(seconds(&w, 8, 1, PLAIT_ALL_GATHER, 1e9), inside / 2.0, 1e-9);
    assert_near(seconds(&w, 4, 8, PLAIT_ALL_GATHER, 1e9), 0.75 / 30.0 + 20e-6, 1e-9);
}

/*
 * Every second node along y: two groups share the ring of 8. A gather of 3/4 GB has one link's rate, and
 * the farthest member is 2 x 2 hops away; in an all-to-all 4^2/4 / (2 x 4) = half a buffer passes twice.
 */
static void test_groups_between_each_other__share_the_links(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_near(seconds(&w, 4, 64, PLAIT_ALL_GATHER, 1e9), 0.75 / 15.0 + 40e-6, 1e-9);
    assert_near(seconds(&w, 4, 64, PLAIT_ALL_REDUCE, 1e9), 2.0 * (0.75 / 15.0 + 40e-6), 1e-9);
    // 2 us to begin, four hops and the last one again, half a posting of 1 us for 3 peers
    assert_near(seconds(&w, 4, 64, PLAIT_ALL_TO_ALL, 1e9),
                1.0 / 15.0 + 2e-6 + 40e-6 + 10e-6 + 1.5e-6, 1e-9);
    // two nodes on opposite sides of the ring, four groups: both ways of four links
    assert_near(seconds(&w, 2, 128, PLAIT_ALL_GATHER, 1e9), 0.5 / 7.5 + 40e-6, 1e-9);
}

/* Along the ring of 8: 8^2/4 / (2 x 8) = one buffer through the busiest link; x has half of that. */
static void test_all_to_all__over_a_torus_of_nodes_is_bound_by_its_longest_side(void **state)
{
    world w;

    (void)state;
    make(&w);
    const double s = seconds(&w, 256, 1, PLAIT_ALL_TO_ALL, 1e9);
    // 2 us to begin, six hops and the last one again, half a posting of 1 us for 248 peers
    assert_near(s, 1.0 / 15.0 + 2e-6 + 60e-6 + 10e-6 + 124e-6, 1e-9);
}

static void test_send__over_a_torus_takes_one_link(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_near(seconds(&w, 2, 8, PLAIT_P2P, 1e9), 5e-6 + 10e-6 + 1.0 / 15.0, 1e-12);
}

/* 8 nodes side by side: with x first 4 x 2 of them, a ring and a line; with y first the ring of 8. */
static void test_placement__chooses_which_side_a_group_lies_on(void **state)
{
    world w;

    (void)state;
    make(&w);
    const plait_route x_first = route_by(&w, 64, 1, PLAIT_PLACE_XYZ);
    const plait_route y_first = route_by(&w, 64, 1, PLAIT_PLACE_YXZ);
    assert_int_equal(x_first.axis[1][0], 4);
    assert_int_equal(x_first.axis[1][1], 2);
    assert_int_equal(y_first.axis[1][0], 1);
    assert_int_equal(y_first.axis[1][1], 8);
    assert_true(plait_placement_differs(&w.cluster, PLAIT_PLACE_YXZ));
    assert_false(plait_placement_differs(&w.cluster, PLAIT_PLACE_XZY)); // z is no side
    w.cluster.level[1].side[0] = w.cluster.level[1].side[1] = 6;
    assert_false(plait_placement_differs(&w.cluster, PLAIT_PLACEMENTS));
    w.cluster.level[1].wrap[1] = false; // alike but for one that does not close
    assert_true(plait_placement_differs(&w.cluster, PLAIT_PLACE_YXZ));
}

// ---- switches ------------------------------------------------------------------------------

/* 32 nodes under one switch, or leaves of 8 of them below it. */
static void make_switched(world *w, bool leaves)
{
    make(w);
    w->cluster.level[1].kind = PLAIT_LEVEL_SWITCH;
    if (!leaves)
        return;
    w->cluster.levels = 3;
    w->cluster.level[2] = w->cluster.level[1];
    w->cluster.level[2].link.latency_s = 14e-6;
    w->cluster.level[1].gpus = 64;
}

/*
 * Switches that add at the whole rate: 1 GB through 8 ports of 60 GB/s; 25 + 18 us of NVLS with a
 * network, a hop there and one back. At 1.3 of 2 it takes 2 / 1.3 of that.
 */
static void test_switches_that_add__take_each_byte_once(void **state)
{
    const double latency = 43e-6 + 20e-6;
    world w;

    (void)state;
    make_switched(&w, false);
    const double rings = seconds(&w, 256, 1, PLAIT_ALL_REDUCE, 1e9);
    w.cluster.level[1].in_network = 2.0;
    // inside a node nothing reduces in switches, but that is hidden behind the network
    assert_near(seconds(&w, 256, 1, PLAIT_ALL_REDUCE, 1e10), 10.0 / 480.0 * 1.0 + latency, 0.03);
    w.gpu.collective[PLAIT_ALL_REDUCE].bytes_per_s[2] = 1e30;
    assert_near(seconds(&w, 256, 1, PLAIT_ALL_REDUCE, 1e9), 1.0 / 480.0 + latency, 1e-9);
    w.cluster.level[1].in_network = 1.3;
    assert_near(seconds(&w, 256, 1, PLAIT_ALL_REDUCE, 1e9), 2.0 / 1.3 / 480.0 + latency, 1e-9);
    assert_true(seconds(&w, 256, 1, PLAIT_ALL_REDUCE, 1e9) < rings);
}

/* A leaf that does not add, below one that does: rings. */
static void test_switches_that_add__need_all_levels_to(void **state)
{
    world w;

    (void)state;
    make_switched(&w, true);
    const double rings = seconds(&w, 256, 1, PLAIT_ALL_REDUCE, 1e9);
    w.cluster.level[2].in_network = 2.0;
    assert_near(seconds(&w, 256, 1, PLAIT_ALL_REDUCE, 1e9), rings, 0.0);
}

/* Half of the neighbours under another leaf: half of the further 4 us; the spine takes half the rate. */
static void test_scattered_ranks__pass_the_level_above(void **state)
{
    world w;

    (void)state;
    make_switched(&w, true);
    const double packed = seconds(&w, 2, 8, PLAIT_P2P, 6e9);
    assert_near(packed, 5e-6 + 10e-6 + 0.1, 1e-12);
    w.cluster.level[1].scattered = 0.5;
    assert_near(seconds(&w, 2, 8, PLAIT_P2P, 6e9), packed + 2e-6, 1e-12);
    w.cluster.level[2].oversubscription = 4.0; // half of what is sent, at a quarter of the rate
    assert_near(seconds(&w, 2, 8, PLAIT_P2P, 6e9), 5e-6 + 12e-6 + 0.2, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph__of_a_torus_of_nodes),
        cmocka_unit_test(test_graph__of_direct_links),
        cmocka_unit_test(test_graph__of_a_level_without_end_is_unknown),
        cmocka_unit_test(test_take__closes_only_whole_sides),
        cmocka_unit_test(test_take__closes_slices_of_whole_blocks),
        cmocka_unit_test(test_all_reduce__over_a_torus_of_nodes),
        cmocka_unit_test(test_groups_between_each_other__share_the_links),
        cmocka_unit_test(test_all_to_all__over_a_torus_of_nodes_is_bound_by_its_longest_side),
        cmocka_unit_test(test_send__over_a_torus_takes_one_link),
        cmocka_unit_test(test_placement__chooses_which_side_a_group_lies_on),
        cmocka_unit_test(test_switches_that_add__take_each_byte_once),
        cmocka_unit_test(test_switches_that_add__need_all_levels_to),
        cmocka_unit_test(test_scattered_ranks__pass_the_level_above),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
