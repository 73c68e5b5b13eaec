/*
 * test_links.c - collectives on grids, message by message and link by link, beside their closed forms
 *
 * An algorithm is a list of steps, a step a list of messages (from, to, a set of pieces), and a message
 * passes the links on its way along one axis after the other. Each node's pieces are followed as sets
 * of contributors, so that an algorithm that does not do what it says fails here. A step takes as long
 * as its busiest link, one direction of one link passing one byte a second.
 *
 * Equal to the closed form: rings, lines, tori of equal sides with stripes along all axes, hypercubes,
 * direct links, all-to-alls. Above it, up to twice: grids of unequal sides with stripes of one size that
 * keep step; with stripes of suited sizes that do not wait, tori reach it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/assert_near.h"
#include "plait/lowlevel/collective.h"

enum { MOST_NODES = 64, MOST_AXES = 4 };

// ---- a grid and what passes its links ------------------------------------------------------

typedef struct grid {
    int axes;
    int side[MOST_AXES];
    bool wrap[MOST_AXES];
    int nodes;
    double load[MOST_NODES][MOST_AXES][2];  /* bytes of this step, by node, axis and direction */
    double total[MOST_NODES][MOST_AXES][2]; /* of all steps */
    double seconds;
} grid;

static grid make(int axes, const int *side, bool wrap)
{
    grid g = {.axes = axes, .nodes = 1};

    for (int a = 0; a < axes; a++) {
        g.side[a] = side[a];
        g.wrap[a] = wrap && side[a] > 2;
        g.nodes *= side[a];
    }
    assert_true(g.nodes <= MOST_NODES);
    return g;
}

static int stride_of(const grid *g, int axis)
{
    int stride = 1;

    for (int a = 0; a < axis; a++)
        stride *= g->side[a];
    return stride;
}

static int coordinate(const grid *g, int node, int axis)
{
    return node / stride_of(g, axis) % g->side[axis];
}

static int moved(const grid *g, int node, int axis, int to)
{
    return node + (to - coordinate(g, node, axis)) * stride_of(g, axis);
}

/* One direction along one axis, link after link. */
static int walk(grid *g, int node, int axis, int to, int step, double bytes)
{
    while (coordinate(g, node, axis) != to) {
        const int n = g->side[axis];
        const int next = (coordinate(g, node, axis) + step + n) % n;
        g->load[node][axis][step > 0] += bytes;
        node = moved(g, node, axis, next);
    }
    return node;
}

/* Half of a message goes each way where both ways round are as long. */
static void send(grid *g, int from, int to, double bytes)
{
    for (int a = 0; a < g->axes; a++) {
        const int x = coordinate(g, from, a);
        const int y = coordinate(g, to, a);
        const int up = (y - x + g->side[a]) % g->side[a];
        const int down = g->side[a] - up;
        int step = y > x ? 1 : -1;
        if (x == y)
            continue;
        if (g->wrap[a] && up == down) {
            walk(g, from, a, y, 1, bytes / 2.0);
            from = walk(g, from, a, y, -1, bytes / 2.0);
            continue;
        }
        if (g->wrap[a])
            step = up < down ? 1 : -1;
        from = walk(g, from, a, y, step, bytes);
    }
}

static void end_step(grid *g)
{
    double busiest = 0.0;

    for (int n = 0; n < g->nodes; n++)
        for (int a = 0; a < g->axes; a++)
            for (int way = 0; way < 2; way++) {
                busiest = fmax(busiest, g->load[n][a][way]);
                g->total[n][a][way] += g->load[n][a][way];
            }
    g->seconds += busiest;
    memset(g->load, 0, sizeof g->load);
}

// ---- pieces and who has added to them ------------------------------------------------------

/* For each stripe: which nodes have added to piece p, as node n holds it. */
typedef struct buffers {
    uint64_t has[MOST_NODES][MOST_NODES];
} buffers;

/* Coordinates of a piece are those of the node that it is reduced to. */
static bool same_line_piece(const grid *g, int node, int piece, const int *order, int done)
{
    for (int i = 0; i < done; i++)
        if (coordinate(g, node, order[i]) != coordinate(g, piece, order[i]))
            return false;
    return true;
}

/* Pieces that reach position `at` of the axis, of those that the node still works on. */
static bool is_for(const grid *g, int node, int piece, const int *order, int done, int axis, int at)
{
    return coordinate(g, piece, axis) == at && same_line_piece(g, node, piece, order, done);
}

typedef struct move {
    int from, to, piece;
    uint64_t has;
} move;

typedef struct moves {
    int count;
    move list[MOST_NODES * MOST_NODES * 2];
} moves;

static void add_move(grid *g, moves *list, const buffers *held, int from, int to, int piece,
                     double bytes)
{
    send(g, from, to, bytes);
    list->list[list->count++] = (move){from, to, piece, held->has[from][piece]};
}

/* What was sent in a step counts only when it is over. */
static void deliver(const moves *list, buffers *held)
{
    for (int i = 0; i < list->count; i++)
        held->has[list->list[i].to][list->list[i].piece] |= list->list[i].has;
}

/*
 * One phase of a ring: n - 1 steps in which each node passes on the block that it has just completed,
 * in the one direction, `way`. In a scatter block x starts behind x and ends there.
 */
static void ring_step(grid *g, const int *order, int done, int way, int s, bool scatter,
                      double bytes, const buffers *held, moves *list)
{
    const int axis = order[done];
    const int n = g->side[axis];

    for (int node = 0; node < g->nodes; node++) {
        const int x = coordinate(g, node, axis);
        const int block = scatter ? (x - way * (s + 1) + 2 * n) % n : (x - way * s + 2 * n) % n;
        for (int piece = 0; piece < g->nodes; piece++)
            if (is_for(g, node, piece, order, done, axis, block))
                add_move(g, list, held, node, moved(g, node, axis, (x + way + n) % n), piece,
                         bytes);
    }
}

/*
 * On a line, blocks for those above pass upwards and for those below downwards. Scattering, node x
 * sends block x + way (s' ) as soon as it has all that comes from behind; gathering, what came last.
 */
static void line_step(grid *g, const int *order, int done, int way, int s, bool scatter,
                      double bytes, const buffers *held, moves *list)
{
    const int axis = order[done];
    const int n = g->side[axis];

    for (int node = 0; node < g->nodes; node++) {
        const int x = coordinate(g, node, axis);
        const int behind = way > 0 ? x : n - 1 - x; // nodes that send through this one
        const int from_end = n - 1 - (s - behind);  // scatter: farthest block first
        const int to = scatter ? (way > 0 ? from_end : n - 1 - from_end) : x - way * s;
        const bool beyond = way > 0 ? to > x : to < x;
        if (x + way < 0 || x + way >= n || to < 0 || to >= n || (scatter && !beyond))
            continue;
        for (int piece = 0; piece < g->nodes; piece++)
            if (is_for(g, node, piece, order, done, axis, to))
                add_move(g, list, held, node, moved(g, node, axis, x + way), piece, bytes);
    }
}

/* Each stripe of the buffer takes the axes in another order; a ring has two, one a direction. */
typedef struct stripe {
    int order[MOST_AXES];
    buffers both[2];
} stripe;

static stripe stripes[MOST_AXES];

static void begin(const grid *g)
{
    for (int k = 0; k < g->axes; k++) {
        for (int i = 0; i < g->axes; i++)
            stripes[k].order[i] = (k + i) % g->axes;
        for (int way = 0; way < 2; way++)
            for (int n = 0; n < g->nodes; n++)
                for (int p = 0; p < g->nodes; p++)
                    stripes[k].both[way].has[n][p] = (uint64_t)1 << n;
    }
}

/* One step of one stripe in its phase; a closed axis sends halves of the stripe in two directions. */
static void stripe_step(grid *g, stripe *st, int phase, int s, bool scatter, double bytes)
{
    const int axis = st->order[phase];
    static moves list;

    if (s >= g->side[axis] - 1)
        return;
    for (int half = 0; half < 2; half++) {
        list.count = 0;
        if (g->wrap[axis]) {
            ring_step(g, st->order, phase, half ? 1 : -1, s, scatter, bytes / 2.0, &st->both[half],
                      &list);
        } else {
            line_step(g, st->order, phase, 1, s, scatter, bytes / 2.0, &st->both[half], &list);
            line_step(g, st->order, phase, -1, s, scatter, bytes / 2.0, &st->both[half], &list);
        }
        deliver(&list, &st->both[half]);
    }
}

static int longest(const grid *g)
{
    int side = 1;

    for (int a = 0; a < g->axes; a++)
        side = g->side[a] > side ? g->side[a] : side;
    return side;
}

/* All stripes go through their phases side by side, each with its share of the bytes. */
static void run_phases(grid *g, bool scatter, const double *bytes)
{
    for (int i = 0; i < g->axes; i++) {
        const int phase = scatter ? i : g->axes - 1 - i;
        for (int s = 0; s < longest(g) - 1; s++) {
            for (int k = 0; k < g->axes; k++)
                stripe_step(g, &stripes[k], phase, s, scatter, bytes[k] / g->nodes);
            end_step(g);
        }
    }
}

static uint64_t everybody(const grid *g)
{
    return g->nodes == 64 ? ~(uint64_t)0 : ((uint64_t)1 << g->nodes) - 1;
}

static grid reduced(grid g, const double *bytes)
{
    begin(&g);
    run_phases(&g, true, bytes);
    for (int k = 0; k < g.axes; k++)
        for (int way = 0; way < 2; way++)
            for (int n = 0; n < g.nodes; n++)
                assert_true(stripes[k].both[way].has[n][n] == everybody(&g));
    run_phases(&g, false, bytes);
    for (int k = 0; k < g.axes; k++)
        for (int way = 0; way < 2; way++)
            for (int n = 0; n < g.nodes; n++)
                for (int p = 0; p < g.nodes; p++)
                    assert_true(stripes[k].both[way].has[n][p] == everybody(&g));
    return g;
}

/* Stripes of one size. */
static double all_reduce(const grid *g, double bytes)
{
    double share[MOST_AXES];

    for (int k = 0; k < g->axes; k++)
        share[k] = bytes / g->axes;
    return reduced(*g, share).seconds;
}

// ---- shapes --------------------------------------------------------------------------------

/* What plait prices: an all-reduce over the axes, one direction of a link passing a byte a second. */
static double closed_all_reduce(const grid *g, double bytes)
{
    bool wrap = true;

    for (int a = 0; a < g->axes; a++)
        wrap = wrap && g->wrap[a];
    return plait_torus_all_reduce_s(bytes, g->side, g->axes, wrap ? 2.0 : 1.0, true);
}

static const struct {
    int axes, side[MOST_AXES];
    bool wrap;
} shapes[] = {
    {1, {3}, true},       {1, {4}, true},        {1, {7}, true},       {1, {2}, false},
    {1, {3}, false},      {1, {5}, false},       {2, {3, 3}, true},    {2, {4, 4}, true},
    {2, {5, 5}, true},    {2, {4, 4}, false},    {2, {5, 5}, false},   {2, {2, 2}, false},
    {3, {2, 2, 2}, true}, {3, {3, 3, 3}, true},  {3, {4, 4, 4}, true}, {3, {3, 3, 3}, false},
    {4, {2, 2, 2, 2}, 0}, {3, {4, 4, 4}, false},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_all_reduce__on_equal_sides_is_the_closed_form(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        const grid g = make(shapes[i].axes, shapes[i].side, shapes[i].wrap);
        assert_near_relative(all_reduce(&g, 960.0), closed_all_reduce(&g, 960.0), 1e-12);
    }
}

/* Stripes of one size whose phases differ wait for each other: the form is a bound. */
static void test_all_reduce__on_unequal_sides_is_not_below_the_closed_form(void **state)
{
    static const int sides[][2] = {{2, 4}, {3, 4}, {3, 5}, {4, 8}, {2, 8}, {4, 5}};

    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int wrap = 0; wrap < 2; wrap++) {
            const grid g = make(2, sides[i], wrap != 0);
            const double ratio = all_reduce(&g, 960.0) / closed_all_reduce(&g, 960.0);
            assert_true(ratio > 1.0 && ratio < 2.0);
        }
}

static double busiest_of(const grid *g, int axis)
{
    double busiest = 0.0;

    for (int n = 0; n < g->nodes; n++)
        for (int way = 0; way < 2; way++)
            busiest = fmax(busiest, g->total[n][axis][way]);
    return busiest;
}

/*
 * It is reached by stripes of such sizes that both axes pass as much in all, when none waits for the
 * other: w a + (1 - w) b = w c + (1 - w) d of the loads that one stripe alone puts on x and on y.
 */
static void test_all_reduce__on_unequal_tori_reaches_the_closed_form(void **state)
{
    static const int sides[][2] = {{3, 4}, {3, 5}, {4, 8}, {4, 5}, {3, 8}};

    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        const grid g = make(2, sides[i], true);
        const grid first = reduced(g, (double[]){960.0, 0.0});
        const grid second = reduced(g, (double[]){0.0, 960.0});
        const double b = busiest_of(&second, 0);
        const double slope = busiest_of(&first, 0) - busiest_of(&first, 1) - b;
        const double w = (busiest_of(&second, 1) - b) / (slope + busiest_of(&second, 1));
        assert_true(w > 0.0 && w < 1.0);
        const grid both = reduced(g, (double[]){960.0 * w, 960.0 * (1.0 - w)});
        assert_near_relative(busiest_of(&both, 0), closed_all_reduce(&g, 960.0), 1e-12);
        assert_near_relative(busiest_of(&both, 1), closed_all_reduce(&g, 960.0), 1e-12);
    }
}

// ---- all-to-all ----------------------------------------------------------------------------

/* All messages at once, each to its own node; the busiest link of all is the time. */
static double all_to_all(grid g, double bytes)
{
    for (int from = 0; from < g.nodes; from++)
        for (int to = 0; to < g.nodes; to++)
            send(&g, from, to, bytes / g.nodes);
    end_step(&g);
    return g.seconds;
}

static void test_all_to_all__is_the_closed_form_on_every_grid(void **state)
{
    static const int sides[][3] = {{2, 1, 1}, {5, 1, 1}, {8, 1, 1}, {4, 4, 1}, {5, 3, 1},
                                   {8, 2, 1}, {2, 2, 2}, {4, 4, 4}, {2, 4, 8}, {3, 4, 5}};

    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int wrap = 0; wrap < 2; wrap++) {
            const grid g = make(3, sides[i], wrap != 0);
            assert_near_relative(all_to_all(g, 960.0),
                                 plait_grid_all_to_all_s(960.0, g.side, g.wrap, 3, 1.0), 1e-12);
        }
}

/*
 * What crosses the cut of C.110 has to pass its links: N/2 nodes send half of their S across, in each
 * direction, so that no routing is faster. Sides are even, so the halves are equal.
 */
static void test_all_to_all__meets_the_bisection_where_sides_are_even(void **state)
{
    static const int sides[][3] = {{4, 4, 1}, {2, 2, 2}, {4, 4, 4}, {8, 4, 2}, {6, 4, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        const grid g = make(3, sides[i], true);
        plait_cluster cluster = {.levels = 1,
                                 .level = {{.kind = PLAIT_LEVEL_TORUS,
                                            .gpus = g.nodes,
                                            .link = {0.0, 6.0},
                                            .efficiency = 1.0,
                                            .oversubscription = 1.0,
                                            .ports = 6}}};
        for (int a = 0; a < PLAIT_MAX_SIDES; a++) {
            cluster.level[0].side[a] = a < 3 ? g.side[a] : 1;
            cluster.level[0].wrap[a] = a < 3 && g.wrap[a];
        }
        const double crossing = g.nodes / 2.0 * 960.0 / 2.0;
        const plait_graph graph = plait_level_graph(&cluster, 0);
        assert_near_relative(all_to_all(g, 960.0), crossing / (graph.bisection_bytes_per_s / 2.0),
                             1e-12);
    }
}

// ---- other algorithms ----------------------------------------------------------------------

/* Recursive halving and doubling between neighbours of a hypercube, one axis after the other. */
static void test_hypercube__halves_and_doubles_along_one_axis_at_a_time(void **state)
{
    static const int side[] = {2, 2, 2, 2};

    (void)state;
    for (int axes = 1; axes <= MOST_AXES; axes++) {
        grid g = make(axes, side, false);
        double share = 960.0;
        for (int a = 0; a < axes; a++) { // there, and as much back
            share /= 2.0;
            for (int node = 0; node < g.nodes; node++)
                send(&g, node, moved(&g, node, a, 1 - coordinate(&g, node, a)), share);
            end_step(&g);
        }
        assert_near_relative(2.0 * g.seconds,
                             plait_torus_all_reduce_s(960.0, side, axes, 1.0, false), 1e-12);
    }
}

/*
 * Groups of every s-th node of a ring or a line, all at once: an all-gather passes pieces on to the
 * next member, halves in both directions of a ring, and s groups are on the way of each link.
 */
static void test_groups_between_each_other__share_the_links(void **state)
{
    (void)state;
    for (int members = 3; members <= 6; members++)
        for (int apart = 1; apart <= 4; apart++) {
            grid g = make(1, (int[]){members * apart}, true);
            for (int s = 0; s < members - 1; s++) {
                for (int node = 0; node < g.nodes; node++) {
                    walk(&g, node, 0, (node + apart) % g.nodes, 1, 960.0 / members / 2.0);
                    walk(&g, node, 0, (node + g.nodes - apart) % g.nodes, -1,
                         960.0 / members / 2.0);
                }
                end_step(&g);
            }
            assert_near_relative(
                g.seconds, plait_torus_ring_all_gather_s(960.0, members, 1.0 / apart, true), 1e-12);
        }
}

/* In an all-to-all of such groups every hop is s links, each with s groups on it. */
static void test_groups_between_each_other__share_the_links_of_an_all_to_all(void **state)
{
    (void)state;
    for (int members = 2; members <= 6; members++)
        for (int apart = 1; apart <= 4; apart++)
            for (int wrap = 0; wrap < 2; wrap++) {
                grid g = make(1, (int[]){members * apart}, wrap != 0);
                for (int from = 0; from < g.nodes; from++)
                    for (int to = from % apart; to < g.nodes; to += apart)
                        send(&g, from, to, 960.0 / members);
                end_step(&g);
                assert_near_relative(
                    g.seconds, apart * plait_grid_all_to_all_s(960.0, &members, g.wrap, 1, 1.0),
                    1e-12);
            }
}

/* Everybody sends everybody a piece on a link of its own; there is a grid of pairs. */
static void test_direct_links__take_one_piece_each(void **state)
{
    (void)state;
    for (int n = 2; n <= 8; n++) {
        double busiest = 0.0;
        double load[8][8] = {{0.0}};
        for (int from = 0; from < n; from++)
            for (int to = 0; to < n; to++)
                if (from != to)
                    busiest = fmax(busiest, load[from][to] += 960.0 / n);
        // n - 1 links of one byte a second each
        assert_near_relative(busiest, plait_switch_all_gather_s(960.0, n - 1.0, n), 1e-12);
    }
}

/* All buffers come to one node and sums go out, one at a time, through a switch. */
static void test_naive_all_reduce__sends_everything_through_one_port(void **state)
{
    const plait_link link = {1e-3, 2.0};

    (void)state;
    for (int n = 1; n <= 8; n++) {
        double seconds = 0.0;
        for (int peer = 1; peer < n; peer++) // in, later out
            seconds += 2.0 * (link.latency_s + 960.0 / link.bytes_per_s);
        assert_near(plait_naive_all_reduce_s(link, n, 960.0), seconds, 1e-9);
    }
}

/* Farthest first: the last node of a ring or a line hears of all after so many hops. */
static void test_latency__is_the_way_to_the_farthest_node(void **state)
{
    (void)state;
    for (int n = 2; n <= 12; n++)
        for (int wrap = 0; wrap < 2; wrap++) {
            int farthest = 0;
            for (int to = 0; to < n; to++)
                farthest = wrap && n - to < to ? (n - to > farthest ? n - to : farthest)
                                               : (to > farthest ? to : farthest);
            assert_near(plait_torus_ring_latency_s(n, 1.0, wrap != 0), farthest, 0.0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_reduce__on_equal_sides_is_the_closed_form),
        cmocka_unit_test(test_all_reduce__on_unequal_sides_is_not_below_the_closed_form),
        cmocka_unit_test(test_all_reduce__on_unequal_tori_reaches_the_closed_form),
        cmocka_unit_test(test_all_to_all__is_the_closed_form_on_every_grid),
        cmocka_unit_test(test_all_to_all__meets_the_bisection_where_sides_are_even),
        cmocka_unit_test(test_hypercube__halves_and_doubles_along_one_axis_at_a_time),
        cmocka_unit_test(test_groups_between_each_other__share_the_links),
        cmocka_unit_test(test_groups_between_each_other__share_the_links_of_an_all_to_all),
        cmocka_unit_test(test_direct_links__take_one_piece_each),
        cmocka_unit_test(test_naive_all_reduce__sends_everything_through_one_port),
        cmocka_unit_test(test_latency__is_the_way_to_the_farthest_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
