/*
 * page_ranks.c - builds tables of the placement of ranks and of the traffic between them in a step
 *
 * Traffic is counted as if all collectives of n ranks ran on rings: each rank sends the share
 * (n-1)/n of its buffer to the next rank, or twice that in an all-reduce. In an all-to-all each
 * rank sends 1/n of its buffer to each other rank. The software's own algorithms distribute the
 * traffic differently within the same groups.
 */
#include <stdio.h>

#include "page/pages.h"
#include "report/units.h"

enum { MOST_CELLS = 64, MOST_PLACED = 512 };

/* ---- groups ---- */

/*
 * Returns whether a collective joins corresponding members of different inner groups: replicas that
 * reduce the gradients of a shard, rings of a2a+p2p, or the second step of a quantised exchange,
 * which is between nodes.
 */
static bool is_outer(const plait_volume *volume)
{
    if (volume->axis == PLAIT_AXIS_CP)
        return volume->op == PLAIT_P2P;
    return volume->op == PLAIT_ALL_REDUCE || (volume->op == PLAIT_ALL_TO_ALL && volume->between);
}

/* Returns the ranks of a collective: its whole axis, or the inner or outer part of the axis. */
static plait_group_shape shape_of(const plait_degrees *d, const plait_volume *volume)
{
    const plait_group_shape whole =
        volume->axis == PLAIT_AXIS_DP ? plait_group_replicas(d) : plait_group_of(d, volume->axis);

    if (volume->axis == PLAIT_AXIS_PP || volume->ranks >= whole.ranks ||
        whole.ranks % volume->ranks != 0)
        return whole;
    return is_outer(volume) ? plait_group_outer(whole, whole.ranks / volume->ranks)
                            : plait_group_inner(whole, volume->ranks);
}

static int member_of(const plait_group_shape *group, int rank)
{
    int member = 0;

    for (int r = group->runs - 1; r >= 0; r--)
        member = member * group->run[r].size + rank / group->run[r].stride % group->run[r].size;
    return member;
}

/* Returns the rank that is `further` members after `rank` in its group, cyclically. */
static int rank_after(const plait_group_shape *group, int rank, int further)
{
    int member = (member_of(group, rank) + further) % group->ranks;

    for (int r = 0; r < group->runs; r++) {
        const int size = group->run[r].size, stride = group->run[r].stride;

        rank += (member % size - rank / stride % size) * stride;
        member /= size;
    }
    return rank;
}

/* ---- traffic ---- */

/* Bytes that are sent between cells. A cell is one rank, one node, or several adjacent nodes. */
typedef struct traffic {
    int cells, ranks_each;
    double *bytes;       /* [cells][cells] bytes from one cell to another */
    unsigned char *axes; /* [cells][cells] axes that send them, one bit per axis */
} traffic;

static void add_bytes(traffic *t, int from, int to, plait_axis axis, double bytes)
{
    const int at = from / t->ranks_each * t->cells + to / t->ranks_each;

    t->bytes[at] += bytes;
    t->axes[at] = (unsigned char)(t->axes[at] | 1 << axis);
}

static void add_volume(traffic *t, const plait_problem *problem, const plait_degrees *d,
                       const plait_volume *volume)
{
    const int gpus = problem->job.gpus;
    const double sends = plait_degrees_microbatches(d, problem->job.gbs) * volume->bytes;
    const plait_group_shape group = shape_of(d, volume);
    const double n = group.ranks;
    const double share = volume->op == PLAIT_P2P          ? 1.0
                         : volume->op == PLAIT_ALL_REDUCE ? 2.0 * (n - 1.0) / n
                                                          : (n - 1.0) / n;
    const double buffers = volume->count * volume->bytes;

    if (group.ranks < 2)
        return;
    for (int rank = 0; rank < gpus; rank++) {
        if (volume->op == PLAIT_ALL_TO_ALL)
            for (int other = 1; other < group.ranks; other++)
                add_bytes(t, rank, rank_after(&group, rank, other), volume->axis, buffers / n);
        else if (volume->axis == PLAIT_AXIS_PP && volume->op == PLAIT_ALL_REDUCE) {
            if (member_of(&group, rank) == 0) {
                const int last = rank_after(&group, rank, group.ranks - 1);

                add_bytes(t, rank, last, PLAIT_AXIS_PP, buffers);
                add_bytes(t, last, rank, PLAIT_AXIS_PP, buffers);
            }
        } else if (volume->axis == PLAIT_AXIS_PP) {
            const int here = member_of(&group, rank), pp = group.ranks;

            for (int chunk = 0; chunk + 1 < pp * d->vpp; chunk++) {
                const int from = plait_schedule_rank(d->schedule, pp, chunk);
                const int to = plait_schedule_rank(d->schedule, pp, chunk + 1);

                if (from != here || to == from)
                    continue;
                const int other = rank_after(&group, rank, (to - from + pp) % pp);
                add_bytes(t, rank, other, PLAIT_AXIS_PP, sends);
                add_bytes(t, other, rank, PLAIT_AXIS_PP, sends);
            }
        } else
            add_bytes(t, rank, rank_after(&group, rank, 1), volume->axis, share * buffers);
    }
}

/*
 * Returns the number of ranks of a cell: 1 if the chart can show single ranks, otherwise those of
 * one or several nodes.
 */
static int ranks_of_cell(int gpus, int gpus_per_node)
{
    int nodes = 1;

    if (gpus <= MOST_CELLS)
        return 1;
    while (gpus / (gpus_per_node * nodes) > MOST_CELLS)
        nodes *= 2;
    return gpus_per_node * nodes;
}

static const char *axes_text(int axes, char text[UNITS_SIZE])
{
    size_t used = 0;

    text[0] = '\0';
    for (int a = 0; a < PLAIT_GROUPS; a++)
        if ((axes >> a & 1) != 0)
            used += (size_t)snprintf(text + used, UNITS_SIZE - used, "%s%s", used > 0 ? "+" : "",
                                     plait_axis_name[a]);
    return text;
}

static plait_status add_traffic(page *out, const page_plans *of, int gpus_per_node,
                                plait_arena *arena, plait_error *err)
{
    const report_plan *const plan = &of->plan[of->run];
    const int gpus = of->problem->job.gpus;
    const int each = ranks_of_cell(gpus, gpus_per_node);
    traffic t = {.ranks_each = each, .cells = (gpus + each - 1) / each};
    const size_t pairs = (size_t)t.cells * (size_t)t.cells;
    char nodes[32], text[UNITS_SIZE];

    t.bytes = plait_arena_alloc(arena, pairs, sizeof *t.bytes);
    t.axes = plait_arena_alloc(arena, pairs, sizeof *t.axes);
    PLAIT_TRY(plait_check_allocated(t.bytes && t.axes, err));
    for (int v = 0; v < plan->cost.volumes; v++)
        add_volume(&t, of->problem, &plan->degrees, &plan->cost.volume[v]);
    snprintf(nodes, sizeof nodes, "group of %d nodes", each / gpus_per_node);
    page_table *rows = page_table_add(
        out, "traffic",
        "Bytes sent in a step; assumes rings, and the slowest stage's traffic everywhere",
        "from>from|to>to|bytes>bytes|axes=groups|of=", "traffic");
    for (int i = 0; i < t.cells * t.cells; i++) {
        if (t.bytes[i] == 0.0)
            continue;
        PAGE_ROW(rows, as_int(i / t.cells), as_int(i % t.cells), as_bytes(t.bytes[i]),
                 as_text(axes_text(t.axes[i], text)),
                 as_text(each == 1               ? "rank"
                         : each == gpus_per_node ? "node"
                                                 : nodes));
    }
    return PLAIT_OK;
}

/* ---- placement ---- */

static int rank_coordinate(const plait_degrees *d, plait_axis axis, int rank)
{
    const plait_group_shape group = plait_group_of(d, axis);

    return member_of(&group, rank);
}

plait_status page_plan_ranks(page *out, const page_plans *of, plait_arena *arena, plait_error *err)
{
    const int gpus_per_node = of->problem->cluster->group[0].gpus_per_node;
    page_table *rows;

    if (plait_plan_mixed(of->problem, &of->plan[of->run].plan)) {
        page_text(out,
                  "Traffic between ranks is not drawn because the stages have different degrees.");
        return PLAIT_OK;
    }
    PLAIT_TRY(add_traffic(out, of, gpus_per_node, arena, err));
    const plait_degrees *const d = &of->plan[of->run].degrees;
    const int gpus = of->problem->job.gpus;
    page_section(out, "ranks", "Ranks on nodes");
    if (gpus > MOST_PLACED)
        page_text(out, "The first %d of %d ranks; the others follow in the same order.",
                  MOST_PLACED, gpus);
    rows = page_table_add(out, "placement", "Placement of ranks",
                          "rank>rank|node>node|gpu>GPU|stage>stage|dp>dp|cp>cp|tp>tp", "placement");
    for (int rank = 0; rank < gpus && rank < MOST_PLACED; rank++) {
        PAGE_ROW(rows, as_int(rank), as_int(rank / gpus_per_node), as_int(rank % gpus_per_node),
                 as_int(rank_coordinate(d, PLAIT_AXIS_PP, rank)),
                 as_int(rank_coordinate(d, PLAIT_AXIS_DP, rank)),
                 as_int(rank_coordinate(d, PLAIT_AXIS_CP, rank)),
                 as_int(rank_coordinate(d, PLAIT_AXIS_TP, rank)));
    }
    return PLAIT_OK;
}
