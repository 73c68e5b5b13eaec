/* collectives.c - times of collectives */
#include "plait/units.h"
#include "vectors/theory/theory.h"
#include "plait/lowlevel/collective.h"

/* A naive all-reduce is 2(n-1) sends of the whole buffer: so many seconds at a byte a second. */
static double coll_bytes(const json_cursor *in)
{
    const plait_collective_op op = (plait_collective_op)word(in, "op", plait_collective_name);
    const int ranks = integer(in, "P");
    const double bytes = number(in, "D");

    return json_has(in, "algo") ? plait_naive_all_reduce_s((plait_link){0.0, 1.0}, ranks, bytes)
                                : plait_collective_sent_bytes(op, ranks, bytes);
}

static double busbw_factor(const json_cursor *in)
{
    return plait_bus_factor((plait_collective_op)word(in, "op", plait_collective_name),
                            integer(in, "n"));
}

static double ag_time(const json_cursor *in)
{
    return plait_switch_all_gather_s(number(in, "bytes"), number(in, "W"), integer_or(in, "n", 0));
}

static double ar_time(const json_cursor *in)
{
    return plait_switch_all_reduce_s(number(in, "bytes"), number(in, "W"), integer_or(in, "n", 0),
                                     flag_or(in, "sharp", false));
}

static double a2a_node(const json_cursor *in)
{
    return plait_switch_all_to_all_s(number(in, "bytes"), number(in, "W"), integer(in, "n"),
                                     integer_or(in, "k", 0));
}

static double a2a_cross(const json_cursor *in)
{
    return plait_switch_all_to_all_s(number(in, "bytes"), number(in, "W"), integer(in, "m"), 0);
}

static double tree_ag_bw(const json_cursor *in)
{
    json_cursor levels, level, entry;
    double rate[PLAIT_MAX_LEVELS] = {0};
    double pair[2] = {0};
    int degree[PLAIT_MAX_LEVELS] = {0};
    int count = 0;

    assert_int_equal(json_array(in, "levels", &levels, NULL), PLAIT_OK);
    for (bool more = json_first(&levels, &level); more; more = json_next(&level), count++) {
        assert_true(count < PLAIT_MAX_LEVELS && json_count(&level) == 2);
        for (bool next = json_first(&level, &entry); next; next = json_next(&entry))
            assert_int_equal(json_as_number(&entry, JSON_ANY, &pair[entry.index], NULL), PLAIT_OK);
        degree[count] = (int)lround(pair[0]);
        rate[count] = pair[1];
    }
    return plait_tree_all_gather_bytes_per_s(degree, rate, count);
}

static double hier_ar_time(const json_cursor *in)
{
    const plait_link inner = {number_or(in, "lat_i", 0.0), number(in, "Wi")};
    const plait_link outer = {number_or(in, "lat_e", 0.0), number(in, "We")};

    return plait_hierarchical_all_reduce_s(number(in, "D"), inner, integer(in, "g"), outer,
                                           integer(in, "G"));
}

static double torus2d_ar_time(const json_cursor *in)
{
    const int size[] = {integer(in, "X"), integer(in, "Y")};

    return plait_torus_all_reduce_s(number(in, "D"), size, 2, number(in, "W"),
                                    flag_or(in, "both_axes", true));
}

static double ring_ag_time(const json_cursor *in)
{
    return plait_torus_ring_all_gather_s(number(in, "D"), integer(in, "n"), number(in, "w1"),
                                         flag_or(in, "wrap", true));
}

static double ring_latency(const json_cursor *in)
{
    return plait_torus_ring_latency_s(integer(in, "n"), number(in, "t_hop"),
                                      flag_or(in, "wrap", true));
}

static double nccl_latency(const json_cursor *in)
{
    static const char *const algorithms[] = {"ring", "tree", "nvls", NULL};
    static const char *const protocols[] = {"LL", "LL128", "Simple", NULL};

    return plait_nccl_latency_s((plait_collective_op)word(in, "coll", plait_collective_name),
                                (plait_nccl_algorithm)word(in, "algo", algorithms),
                                (plait_nccl_protocol)word(in, "proto", protocols), integer(in, "n"),
                                integer(in, "nodes"),
                                number_or(in, "net_overhead", 1.0) * PLAIT_US) /
           PLAIT_US;
}

const theory_formula theory_collectives[] = {
    {THEORY(coll_bytes)},   {THEORY(busbw_factor)}, {THEORY(ag_time)},
    {THEORY(ar_time)},      {THEORY(a2a_node)},     {THEORY(a2a_cross)},
    {THEORY(tree_ag_bw)},   {THEORY(hier_ar_time)}, {THEORY(torus2d_ar_time)},
    {THEORY(ring_ag_time)}, {THEORY(ring_latency)}, {THEORY(nccl_latency)},
    {NULL, NULL},
};
