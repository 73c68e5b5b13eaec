/* topology.c - networks, and communication fused on them */
#include "plait/lowlevel/fuse.h"
#include "vectors/theory/theory.h"
#include "plait/lowlevel/collective.h"

// ---- topology -----------------------------------------------------------------------------

/* One level of so many units that send `bytes_per_s` each. */
static plait_cluster one_level(plait_level_kind kind, int units, double bytes_per_s)
{
    return (plait_cluster){.levels = 1,
                           .level = {{.kind = kind,
                                      .gpus = units,
                                      .link = {0.0, bytes_per_s},
                                      .efficiency = 1.0,
                                      .oversubscription = 1.0,
                                      .ports = 1}},
                           .gpus = units};
}

/* As the reader makes it: the sides of an axis of two face each other on one link. */
static plait_graph grid_of(const json_cursor *in, bool torus)
{
    plait_cluster cluster = one_level(torus ? PLAIT_LEVEL_TORUS : PLAIT_LEVEL_MESH, 1, 1.0);
    plait_level *const level = &cluster.level[0];
    json_cursor list, side;

    for (int a = 0; a < PLAIT_MAX_SIDES; a++)
        level->side[a] = 1;
    assert_int_equal(json_array(in, "dims", &list, NULL), PLAIT_OK);
    for (bool more = json_first(&list, &side); more; more = json_next(&side)) {
        assert_int_equal(json_as_int(&side, 1, 64, &level->side[side.index], NULL), PLAIT_OK);
        level->wrap[side.index] = torus;
        level->gpus *= level->side[side.index];
    }
    return plait_level_graph(&cluster, 0);
}

/* Leaves of dims[0] accelerators, dims[1] of them under a spine. */
static plait_graph leaves_of(const json_cursor *in)
{
    plait_cluster cluster = one_level(PLAIT_LEVEL_SWITCH, 1, 1.0);
    json_cursor list, count;

    cluster.levels = 2;
    cluster.level[1] = cluster.level[0];
    assert_int_equal(json_array(in, "dims", &list, NULL), PLAIT_OK);
    for (bool more = json_first(&list, &count); more; more = json_next(&count)) {
        int n = 0;
        assert_int_equal(json_as_int(&count, 1, 64, &n, NULL), PLAIT_OK);
        cluster.gpus *= n;
        cluster.level[count.index].gpus = cluster.gpus;
    }
    return plait_cluster_graph(&cluster);
}

static double topo(const json_cursor *in)
{
    static const char *const kinds[] = {"mesh", "torus", "fattree2", NULL};
    static const char *const facts[] = {"nodes",     "links",    "diameter",
                                        "bisection", "avg_hops", NULL};
    const int kind = word(in, "kind", kinds);
    const plait_graph graph = kind == 2 ? leaves_of(in) : grid_of(in, kind == 1);
    const double value[] = {graph.nodes, graph.links, graph.diameter, graph.cut_links,
                            graph.mean_hops};

    return value[word(in, "what", facts)];
}

/* Both halves behind switches that are short of nothing. */
static double bisection(const json_cursor *in)
{
    const plait_cluster cluster =
        one_level(PLAIT_LEVEL_SWITCH, integer(in, "n"), number(in, "uni"));

    return plait_level_graph(&cluster, 0).bisection_bytes_per_s;
}

/* All links of one unit that has one to each of so many others, each half of a pair's two ends. */
static double node_bw(const json_cursor *in)
{
    const int units = integer(in, "links") + 1;
    const plait_cluster cluster = one_level(PLAIT_LEVEL_FULL, units, 1.0);

    return 2.0 * plait_level_graph(&cluster, 0).links / units * number(in, "per_link");
}

static double fattree(const json_cursor *in)
{
    static const char *const parts[] = {"endpoints", "switches", "links", NULL};
    const plait_fat_tree tree = plait_fat_tree_of(integer(in, "k"), integer(in, "layers"));
    const double value[] = {tree.endpoints, tree.switches, tree.links};

    return value[word(in, "what", parts)];
}

// ---- fused communication -------------------------------------------------------------------

/* What one device sends by one parallelism's own collective. */
static double chimera(const json_cursor *in)
{
    static const char *const words[] = {"TP", "SP", "RS", "EP", "PP", "M2MS", NULL};
    static const plait_collective_op ops[] = {
        PLAIT_ALL_REDUCE, PLAIT_ALL_GATHER, PLAIT_REDUCE_SCATTER,
        PLAIT_ALL_TO_ALL, PLAIT_P2P,        PLAIT_M2MS};
    const int op = word(in, "op", words);
    const bool routed = ops[op] == PLAIT_ALL_TO_ALL || ops[op] == PLAIT_M2MS;

    return plait_collective_sent_bytes(ops[op], integer(in, "N"),
                                       (routed ? number(in, "k") : 1.0) * number(in, "B") *
                                           number(in, "S") * number(in, "H"));
}

/* The vectors call SP+EP+SP by its first two. */
static double chimera_pair(const json_cursor *in)
{
    static const char *const pairs[] = {"TP+SP", "TP+PP", "TP+EP", "PP+EP", "SP+PP", "SP+EP", NULL};
    static const char *const whats[] = {"base", "fused", "ratio", NULL};
    const plait_fusion_row *rule = &plait_fusion_rules[word(in, "pair", pairs)];
    const int ranks = integer(in, "N");
    const int all = integer_or(in, "G", ranks);
    const int topk = integer_or(in, "k", 1);
    const double base = plait_fusion_sent(&rule->before, ranks, all, topk, 1.0);
    const double fused = plait_fusion_sent(&rule->after, ranks, all, topk, 1.0);

    assert_memory_equal(rule->name, pairs[rule - plait_fusion_rules], 5);
    switch (word(in, "what", whats)) {
    case 0:
        return base;
    case 1:
        return fused;
    default:
        return base / fused;
    }
}

const theory_formula theory_topology[] = {
    {THEORY(topo)},    {THEORY(bisection)},    {THEORY(node_bw)}, {THEORY(fattree)},
    {THEORY(chimera)}, {THEORY(chimera_pair)}, {NULL, NULL},
};
