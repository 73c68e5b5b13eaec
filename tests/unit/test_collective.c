/* test_collective.c - seconds of one collective on one group */
#include <limits.h>

#include "support/assert_near.h"
#include "plait/lowlevel/collective.h"

/*
 * Nodes of 8 GPUs at 400 GB/s, one 25 GB/s port each at 0.9 of the wire. Inside: 2 us, 1 us a
 * further rank, 100 GB/s for short messages and 400 GB/s for long ones; a rank copies its own
 * share at 1 TB/s. In-switch reduction: 10 us, 600 GB/s.
 */
static plait_accelerator simple_gpu(void)
{
    plait_accelerator gpu = {.name = "simple",
                             .scale_up_bytes_per_s = 4e11,
                             .p2p = {.latency_s = 5e-6, .bytes_per_s = 3e11}};

    for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
        gpu.collective[op] = (plait_collective_fit){.a_s = {2e-6, 20e-6, 20e-6},
                                                    .b_s = {1e-6, 1e-6, 1e-6},
                                                    .bytes_per_s = {1e11, 4e11, 4e11},
                                                    .local_bytes_per_s = 1e12};
    gpu.collective[PLAIT_ALL_REDUCE].nvls_a_s = 10e-6;
    gpu.collective[PLAIT_ALL_REDUCE].nvls_bytes_per_s = 6e11;
    return gpu;
}

typedef struct world {
    plait_accelerator gpu;
    plait_cluster cluster;
} world;

static void make(world *w)
{
    w->gpu = simple_gpu();
    w->cluster = (plait_cluster){
        .groups = 1,
        .group = {{.accelerator = &w->gpu, .gpus_per_node = 8}},
        .levels = 2,
        .level = {{.kind = PLAIT_LEVEL_SWITCH,
                   .gpus = 8,
                   .link = {1e-6, 4e11},
                   .efficiency = 1.0,
                   .oversubscription = 1.0},
                  {.kind = PLAIT_LEVEL_SWITCH,
                   .gpus = INT_MAX,
                   .link = {10e-6, 2.5e10},
                   .efficiency = 0.9,
                   .oversubscription = 1.0}},
    };
}

static const plait_network plain = {.nic = 1.0};

static plait_route route(const world *w, int size, int stride)
{
    return plait_route_of(&w->cluster,
                          (plait_group_shape){.ranks = size, .runs = 1, .run = {{size, stride}}});
}

static double seconds(const world *w, int size, int stride, plait_collective_op op, double bytes)
{
    const plait_route r = route(w, size, stride);

    return plait_collective_s(&r, plain, op, bytes);
}

// ---- inside a node -------------------------------------------------------------------------

/* 4 ranks gather 400 KB: 2 + 3 us, 300 KB at 100 GB/s is 3 us, own 100 KB at 1 TB/s 0.1 us. */
static void test_gather_in_a_node__by_hand(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_near(seconds(&w, 4, 1, PLAIT_ALL_GATHER, 4e5), 8.1e-6, 1e-15);
    assert_near(seconds(&w, 4, 1, PLAIT_REDUCE_SCATTER, 4e5), 8.1e-6, 1e-15);
    assert_near(seconds(&w, 4, 1, PLAIT_ALL_TO_ALL, 4e5), 8.1e-6, 1e-15);
    /* an all-reduce sends twice as much */
    assert_near(seconds(&w, 4, 1, PLAIT_ALL_REDUCE, 4e5), 11.1e-6, 1e-15);
    /* 400 MB: the line of long messages, 20 + 3 us, 750 us, and a copy of 100 us */
    assert_near(seconds(&w, 4, 1, PLAIT_ALL_GATHER, 4e8), 873e-6, 1e-12);
}

static void test_one_rank__is_free(void **state)
{
    world w;

    (void)state;
    make(&w);
    for (int op = 0; op < PLAIT_COLLECTIVES; op++) {
        assert_near(seconds(&w, 1, 1, (plait_collective_op)op, 1e9), 0.0, 0.0);
        assert_near(seconds(&w, 4, 1, (plait_collective_op)op, 0.0), 0.0, 0.0);
    }
}

/* 5 GPUs and more let the switch add: 10 us and S / (600 GB/s) instead of a ring. */
static void test_in_switch_reduction__starts_at_five_ranks(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_near(seconds(&w, 8, 1, PLAIT_ALL_REDUCE, 6e8), 10e-6 + 1e-3, 1e-12);
    assert_near(seconds(&w, 5, 1, PLAIT_ALL_REDUCE, 6e8), 10e-6 + 1e-3, 1e-12);
    /* 4 ranks: 23 us, 900 MB at 400 GB/s, 150 MB of their own */
    assert_near(seconds(&w, 4, 1, PLAIT_ALL_REDUCE, 6e8), 23e-6 + 2.25e-3 + 0.15e-3, 1e-12);
    /* a gather has nothing to add: 27 us, 525 MB at 400 GB/s, 75 MB of its own */
    assert_near(seconds(&w, 8, 1, PLAIT_ALL_GATHER, 6e8), 27e-6 + 1.3125e-3 + 75e-6, 1e-12);
    w.gpu.collective[PLAIT_ALL_REDUCE].nvls_bytes_per_s = 0.0;
    assert_near(seconds(&w, 8, 1, PLAIT_ALL_REDUCE, 6e8), 27e-6 + 2.625e-3 + 75e-6, 1e-12);
}

/* Half the links of the machine that was measured: the wire takes twice as long, the rest not. */
static void test_slower_links__slow_the_wire_only(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.cluster.level[0].link.bytes_per_s = 2e11;
    assert_near(seconds(&w, 4, 1, PLAIT_ALL_GATHER, 4e5), 11.1e-6, 1e-15);
}

/* Direct links between 8 GPUs: 4 of them use 3 of each one's 7 links. */
static void test_direct_links__need_all_peers_for_their_rate(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.cluster.level[0].kind = PLAIT_LEVEL_FULL;
    assert_near(seconds(&w, 4, 1, PLAIT_ALL_GATHER, 4e5), 5.1e-6 + 3e-6 * 7.0 / 3.0, 1e-15);
    assert_near(seconds(&w, 8, 1, PLAIT_ALL_GATHER, 8e5), 9.1e-6 + 7e-6, 1e-15);
    /* a send has one link, and p2p is that of one */
    const plait_route pair = route(&w, 2, 1);
    assert_near(plait_p2p_s(&pair, plain, 3e6), 5e-6 + 10e-6, 1e-15);
}

/* Small and large buffers on every size of group. */
static void test_large_buffers__tend_to_the_bus_bandwidth(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.gpu.collective[PLAIT_ALL_REDUCE].nvls_bytes_per_s = 0.0;
    for (int n = 2; n <= 8; n++) {
        const double bytes = 1e12;
        const double bus = plait_bus_factor(PLAIT_ALL_REDUCE, n) /
                           seconds(&w, n, 1, PLAIT_ALL_REDUCE, bytes) * bytes;
        const double copy = bytes / n / 1e12;
        assert_near_relative(
            bus, 4e11 / (1.0 + copy / (plait_bus_factor(PLAIT_ALL_REDUCE, n) * bytes / 4e11)),
            1e-4);
    }
}

// ---- between nodes -------------------------------------------------------------------------

/*
 * 32 GPUs of 4 nodes with 8 ports of 22.5 GB/s each: a ring passes 31/32 of the buffer through each node,
 * a tree what the others have, 3/4, at 0.92 of the rate.
 */
static void test_large_buffers__tend_to_what_the_ports_carry(void **state)
{
    world w;

    (void)state;
    make(&w);
    const double gather_s = 1e12 * 31.0 / 32.0 / (8.0 * 2.25e10);
    const double tree_s = 2.0 * 1e12 * 0.75 / (0.92 * 8.0 * 2.25e10);
    assert_near_relative(seconds(&w, 32, 1, PLAIT_ALL_GATHER, 1e12), gather_s, 1e-3);
    assert_near_relative(seconds(&w, 32, 1, PLAIT_REDUCE_SCATTER, 1e12), gather_s, 1e-3);
    assert_near_relative(seconds(&w, 32, 1, PLAIT_ALL_REDUCE, 1e12), tree_s, 1e-3);
}

/* One GPU of each of four nodes has one port; all eight GPUs of each have eight. */
static void test_strided_group__sees_one_port_and_a_full_one_all(void **state)
{
    world w;

    (void)state;
    make(&w);
    const double strided = seconds(&w, 4, 8, PLAIT_ALL_GATHER, 1e12);
    const double full = seconds(&w, 32, 1, PLAIT_ALL_GATHER, 1e12);
    assert_near_relative(strided, 1e12 * 0.75 / 2.25e10, 1e-3);
    assert_near_relative(full, 1e12 * 31.0 / 32.0 / (8.0 * 2.25e10), 1e-3);
    /* two in a node have two */
    assert_near_relative(seconds(&w, 8, 4, PLAIT_ALL_GATHER, 1e12), 1e12 * 7.0 / 8.0 / 4.5e10,
                         1e-3);
}

/* A network whose rate falls: as it was up to 16 ranks, at half of it with 64. (C.308) */
static void test_more_ranks__find_slower_links(void **state)
{
    static const plait_network falls = {.nic = 1.0, .nic_ranks = 0.5};
    world w;

    (void)state;
    make(&w);
    const plait_route few = route(&w, 16, 1);
    const plait_route many = route(&w, 64, 1);
    assert_near(plait_collective_s(&few, falls, PLAIT_ALL_GATHER, 1e12),
                seconds(&w, 16, 1, PLAIT_ALL_GATHER, 1e12), 0.0);
    assert_near_relative(plait_collective_s(&many, falls, PLAIT_ALL_GATHER, 1e12),
                         2.0 * seconds(&w, 64, 1, PLAIT_ALL_GATHER, 1e12), 1e-3);
}

static void test_network__takes_the_factor_of_the_software_and_oversubscription(void **state)
{
    world w;

    (void)state;
    make(&w);
    const plait_route r = route(&w, 32, 1);
    const double s = plait_collective_s(&r, plain, PLAIT_ALL_GATHER, 1e12);
    assert_near_relative(
        plait_collective_s(&r, (plait_network){.nic = 0.5}, PLAIT_ALL_GATHER, 1e12), 2.0 * s, 1e-3);
    w.cluster.level[1].oversubscription = 4.0;
    assert_near_relative(plait_collective_s(&r, plain, PLAIT_ALL_GATHER, 1e12), 4.0 * s, 1e-3);
}

/*
 * Two nodes, one hop: NCCL's ring in the LL protocol waits 6.6 us, 14 steps of 1 us for posting and
 * one of 2.7 us, then the level's 10 us; nothing is cheaper for one byte.
 */
static void test_short_messages__wait_for_nccl_and_for_the_wire(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_near(seconds(&w, 16, 1, PLAIT_ALL_GATHER, 1.0), 6.6e-6 + 14e-6 + 2.7e-6 + 10e-6, 1e-9);
    const plait_route r = route(&w, 16, 1);
    assert_near(
        plait_collective_s(&r, (plait_network){.nic = 1.0, .hop_s = 5e-6}, PLAIT_ALL_GATHER, 1.0),
        6.6e-6 + 14e-6 + 2.7e-6 + 15e-6, 1e-9);
}

/* Between nodes: 5 us of the GPUs, 10 us of the level, and 22.5 GB/s. */
static void test_send__by_hand(void **state)
{
    world w;

    (void)state;
    make(&w);
    const plait_route near = route(&w, 2, 1);
    const plait_route far = route(&w, 2, 8);
    assert_near(plait_p2p_s(&near, plain, 3e6), 5e-6 + 10e-6, 1e-15);
    assert_near(plait_p2p_s(&far, plain, 2.25e6), 15e-6 + 100e-6, 1e-15);
    assert_near(seconds(&w, 2, 8, PLAIT_P2P, 2.25e6), 115e-6, 1e-15);
}

/*
 * 8 ranks of a node, 7 MB from each to the 7 others: 20 + 7 us, 7 MB at 400 GB/s, 1 us of copying.
 * 4 ranks in each of two nodes: all of 22.5 MB leaves, at 22.5 GB/s a rank; 20 us of fixed time, a hop of
 * 10 us, half a posting to each of 4 far peers.
 */
static void test_scatter_of_two_groups__by_hand(void **state)
{
    const plait_group_shape both = {.ranks = 8, .runs = 2, .run = {{4, 1}, {2, 8}}};
    world w;

    (void)state;
    make(&w);
    const plait_route far = plait_route_of(&w.cluster, both);
    assert_near(seconds(&w, 8, 1, PLAIT_M2MS, 7e6), 27e-6 + 17.5e-6 + 1e-6, 1e-12);
    assert_near(plait_collective_s(&far, plain, PLAIT_M2MS, 2.25e7), 1e-3 + 32e-6, 1e-12);
    assert_near(plait_collective_sent_bytes(PLAIT_M2MS, 8, 7e6), 7e6, 0.0);
}

static void test_time__grows_with_the_buffer(void **state)
{
    static const int groups[][2] = {{2, 1}, {8, 1}, {16, 1}, {64, 1}, {4, 8}, {256, 1}, {32, 4}};
    world w;

    (void)state;
    make(&w);
    for (int op = 0; op < PLAIT_COLLECTIVES; op++)
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
            double before = 0.0;
            for (double bytes = 1.0; bytes < 1e11; bytes *= 1.7) {
                const double s =
                    seconds(&w, groups[g][0], groups[g][1], (plait_collective_op)op, bytes);
                assert_true(s > before);
                before = s;
            }
        }
}

/* Where the switch adds, 8 ranks do beat 4: without it no larger group is faster. */
static void test_larger_groups__are_not_faster(void **state)
{
    static const plait_collective_op ops[] = {PLAIT_ALL_GATHER, PLAIT_REDUCE_SCATTER,
                                              PLAIT_ALL_REDUCE};
    world w;

    (void)state;
    make(&w);
    w.gpu.collective[PLAIT_ALL_REDUCE].nvls_bytes_per_s = 0.0;
    for (size_t op = 0; op < sizeof ops / sizeof *ops; op++)
        for (double bytes = 1.0; bytes < 1e11; bytes *= 3.0) {
            double before = 0.0;
            for (int ranks = 2; ranks <= 1024; ranks *= 2) {
                const double s = seconds(&w, ranks, 1, ops[op], bytes);
                assert_true(s >= before);
                before = s;
            }
        }
}

// ---- experts -------------------------------------------------------------------------------

/* 8 nodes and 8 uniform choices: 8 (1 - (7/8)^8) = 5.25 of them. */
static void test_expected_nodes__by_hand(void **state)
{
    (void)state;
    assert_near(plait_expected_nodes(8.0, 8.0), 8.0 * (1.0 - pow(7.0 / 8.0, 8.0)), 1e-12);
    assert_near(plait_expected_nodes(8.0, 1.0), 1.0, 1e-12);
    assert_near(plait_expected_nodes(1.0, 8.0), 1.0, 1e-12);
}

/* 64 ranks in 8 nodes, top-8: 5.25 copies of a token leave instead of 8; 4 at most when limited. */
static void test_expert_exchange__sends_a_token_once_a_node(void **state)
{
    world w;

    (void)state;
    make(&w);
    const plait_route r = route(&w, 64, 1);
    const double all = plait_expert_all_to_all_s(&r, plain, 1e12, 8.0, 0.0);
    const double once = plait_expert_all_to_all_s(&r, plain, 1e12, 8.0, 8.0);
    const double limited = plait_expert_all_to_all_s(&r, plain, 1e12, 8.0, 4.0);
    assert_near_relative(all, 1e12 * 7.0 / 8.0 / 2.25e10, 1e-3); // 7 of 8 nodes, one's own port
    assert_near_relative(once / all, plait_expected_nodes(8.0, 8.0) / 8.0, 1e-3);
    assert_near_relative(limited / all, 0.5, 1e-3);
    const plait_route inside = route(&w, 8, 1);
    assert_near(plait_expert_all_to_all_s(&inside, plain, 8e5, 8.0, 0.0),
                seconds(&w, 8, 1, PLAIT_ALL_TO_ALL, 8e5), 0.0);
}

// ---- tori ----------------------------------------------------------------------------------

/* 4 x 4 x 4 chips with six links of 50 GB/s, 1 us a hop. */
static void make_torus(world *w)
{
    make(w);
    w->cluster.levels = 1;
    w->cluster.level[0] = (plait_level){.kind = PLAIT_LEVEL_TORUS,
                                        .gpus = 64,
                                        .link = {1e-6, 3e11},
                                        .efficiency = 1.0,
                                        .oversubscription = 1.0,
                                        .side = {4, 4, 4, 1, 1, 1},
                                        .wrap = {true, true, true},
                                        .ports = 6};
}

/*
 * A ring of 4 along x: both directions of one axis, 100 GB/s. Gather 3/4 S, two hops to the
 * farthest; all three axes at once: 63/64 S over 300 GB/s, six hops.
 */
static void test_torus__gathers_on_all_axes_it_has(void **state)
{
    world w;

    (void)state;
    make_torus(&w);
    assert_near(seconds(&w, 4, 1, PLAIT_ALL_GATHER, 1e9), 7.5e-3 + 2e-6, 1e-12);
    assert_near(seconds(&w, 4, 16, PLAIT_ALL_GATHER, 1e9), 7.5e-3 + 2e-6, 1e-12);
    assert_near(seconds(&w, 64, 1, PLAIT_ALL_GATHER, 1e9), 63.0 / 64.0 / 300.0 + 6e-6, 1e-12);
    assert_near(seconds(&w, 64, 1, PLAIT_ALL_REDUCE, 1e9), 2.0 * 63.0 / 64.0 / 300.0 + 12e-6,
                1e-12);
}

/* Two of four chips of an axis do not close to a ring: one direction, one hop. */
static void test_torus__has_half_the_rate_on_part_of_an_axis(void **state)
{
    world w;

    (void)state;
    make_torus(&w);
    assert_near(seconds(&w, 2, 1, PLAIT_ALL_GATHER, 1e9), 0.5 / 50.0 + 1e-6, 1e-12);
}

// ---- closed forms --------------------------------------------------------------------------

/* 8 GPUs, 1 GB: what each sends. */
static void test_sent_bytes__by_hand(void **state)
{
    (void)state;
    assert_near(plait_collective_sent_bytes(PLAIT_ALL_REDUCE, 8, 1e9), 1.75e9, 1e-3);
    assert_near(plait_collective_sent_bytes(PLAIT_ALL_GATHER, 8, 1e9), 0.875e9, 1e-3);
    assert_near(plait_collective_sent_bytes(PLAIT_ALL_TO_ALL, 8, 1e9), 0.875e9, 1e-3);
    assert_near(plait_collective_sent_bytes(PLAIT_P2P, 2, 1e9), 1e9, 1e-3);
    assert_near(plait_collective_sent_bytes(PLAIT_ALL_REDUCE, 1, 1e9), 0.0, 0.0);
}

/* A tree is as fast as its slowest level; levels of one unit do not count. */
static void test_tree__is_as_fast_as_its_slowest_level(void **state)
{
    const int degree[] = {8, 1, 2};
    const double rate[] = {7e9, 1.0, 4.5e9};

    (void)state;
    assert_near(plait_tree_all_gather_bytes_per_s(degree, rate, 3), 8e9, 1e-3);
    assert_near(plait_tree_all_gather_bytes_per_s(degree + 2, rate + 2, 1), 9e9, 1e-3);
}

/*
 * 4 nodes of 8, 1 GB: 14 hops of 1 us and 2 x 7/8 GB at 400 GB/s inside, 6 hops of 10 us and
 * 2 x 3/4 of an eighth at 50 GB/s outside.
 */
static void test_hierarchical_all_reduce__by_hand(void **state)
{
    const plait_link inner = {1e-6, 4e11};
    const plait_link outer = {10e-6, 5e10};

    (void)state;
    assert_near(plait_hierarchical_all_reduce_s(1e9, inner, 8, outer, 4),
                14e-6 + 4.375e-3 + 60e-6 + 3.75e-3, 1e-12);
    assert_near(plait_hierarchical_all_reduce_s(1e9, inner, 1, outer, 1), 0.0, 0.0);
}

/* The same bytes whichever way the axes are walked: 2 S 15/16 over both of 90 GB/s. */
static void test_torus_all_reduce__moves_each_byte_twice(void **state)
{
    const int size[] = {4, 4};

    (void)state;
    assert_near(plait_torus_all_reduce_s(1e9, size, 2, 9e10, true), 2.0 * 15.0 / 16.0 / 180.0,
                1e-12);
    assert_near(plait_torus_all_reduce_s(1e9, size, 2, 9e10, false), 2.0 * 15.0 / 16.0 / 90.0,
                1e-12);
    assert_near(plait_torus_all_reduce_s(1e9, size, 0, 9e10, true), 0.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather_in_a_node__by_hand),
        cmocka_unit_test(test_one_rank__is_free),
        cmocka_unit_test(test_in_switch_reduction__starts_at_five_ranks),
        cmocka_unit_test(test_slower_links__slow_the_wire_only),
        cmocka_unit_test(test_direct_links__need_all_peers_for_their_rate),
        cmocka_unit_test(test_large_buffers__tend_to_the_bus_bandwidth),
        cmocka_unit_test(test_large_buffers__tend_to_what_the_ports_carry),
        cmocka_unit_test(test_strided_group__sees_one_port_and_a_full_one_all),
        cmocka_unit_test(test_more_ranks__find_slower_links),
        cmocka_unit_test(test_network__takes_the_factor_of_the_software_and_oversubscription),
        cmocka_unit_test(test_short_messages__wait_for_nccl_and_for_the_wire),
        cmocka_unit_test(test_send__by_hand),
        cmocka_unit_test(test_scatter_of_two_groups__by_hand),
        cmocka_unit_test(test_time__grows_with_the_buffer),
        cmocka_unit_test(test_larger_groups__are_not_faster),
        cmocka_unit_test(test_expected_nodes__by_hand),
        cmocka_unit_test(test_expert_exchange__sends_a_token_once_a_node),
        cmocka_unit_test(test_torus__gathers_on_all_axes_it_has),
        cmocka_unit_test(test_torus__has_half_the_rate_on_part_of_an_axis),
        cmocka_unit_test(test_sent_bytes__by_hand),
        cmocka_unit_test(test_tree__is_as_fast_as_its_slowest_level),
        cmocka_unit_test(test_hierarchical_all_reduce__by_hand),
        cmocka_unit_test(test_torus_all_reduce__moves_each_byte_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
