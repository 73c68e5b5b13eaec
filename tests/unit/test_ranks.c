/*
 * test_ranks.c - which ranks form each group
 *
 * Rank r of a plan has a digit on each axis, in the plan's order. Groups are also spelled out
 * here from these digits, member by member, and must be what the shapes say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/assert_near.h"
#include "plait/plan.h"

enum { MOST_RANKS = 4096 };

// ---- shapes, member by member --------------------------------------------------------------

/* The ranks of the group that starts at `first`, ascending. */
static int members_from(const plait_group_shape *group, int first, int *members)
{
    int count = 1;

    members[0] = first;
    for (int r = 0; r < group->runs; r++) {
        const int before = count;
        for (int i = 1; i < group->run[r].size; i++)
            for (int k = 0; k < before; k++)
                members[count++] = members[k] + i * group->run[r].stride;
    }
    return count;
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void assert_members(plait_group_shape group, int count, const int *expected)
{
    int members[MOST_RANKS];

    assert_int_equal(group.ranks, count);
    assert_int_equal(members_from(&group, expected[0], members), count);
    qsort(members, (size_t)count, sizeof *members, ascending);
    for (int i = 0; i < count; i++)
        assert_int_equal(members[i], expected[i]);
}

#define ASSERT_MEMBERS(group, ...)                                                                 \
    assert_members(group, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})

// ---- the world, rank by rank ---------------------------------------------------------------

/* Digits of a rank along tp, cp, dp, pp. */
typedef struct place {
    int digit[PLAIT_AXES];
} place;

static int size_of(const plait_degrees *d, plait_axis axis)
{
    const int size[PLAIT_AXES] = {[PLAIT_AXIS_TP] = d->tp,
                                  [PLAIT_AXIS_CP] = d->cp,
                                  [PLAIT_AXIS_DP] = d->dp,
                                  [PLAIT_AXIS_PP] = d->pp};

    return size[axis];
}

static int world_of(const plait_degrees *d)
{
    return d->tp * d->cp * d->dp * d->pp;
}

static place place_of(const plait_degrees *d, int rank)
{
    const plait_axis *order = plait_order_axes((plait_order)d->order);
    place p;

    for (int a = 0; a < PLAIT_AXES; a++) {
        p.digit[order[a]] = rank % size_of(d, order[a]);
        rank /= size_of(d, order[a]);
    }
    return p;
}

/* Position of a rank among those of its stage, tp innermost, then cp, then dp. */
static int place_in_stage(const plait_degrees *d, const place *p)
{
    return p->digit[PLAIT_AXIS_TP] +
           d->tp * (p->digit[PLAIT_AXIS_CP] + d->cp * p->digit[PLAIT_AXIS_DP]);
}

/* What all members of a group on these axes share; each group has a number of its own. */
static int group_number(const plait_degrees *d, plait_axis axis, int rank)
{
    place p = place_of(d, rank);
    const int stage = p.digit[PLAIT_AXIS_PP];
    const int in_stage = place_in_stage(d, &p);
    const int expert_ranks = d->etp * d->ep;

    switch (axis) {
    case PLAIT_AXIS_ETP:
        return stage * MOST_RANKS + in_stage / d->etp;
    case PLAIT_AXIS_EP:
        return stage * MOST_RANKS + in_stage / expert_ranks * d->etp + in_stage % d->etp;
    case PLAIT_AXIS_EDP:
        return stage * MOST_RANKS + in_stage % expert_ranks;
    default:
        p.digit[axis] = 0;
        return p.digit[0] + d->tp * (p.digit[1] + d->cp * (p.digit[2] + d->dp * p.digit[3]));
    }
}

// ---- random degrees ------------------------------------------------------------------------

static uint64_t random_state = 3;

/* 0 .. below - 1 (splitmix64) */
static int random_below(int below)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)below);
}

static int random_divisor(int of)
{
    int divisor = 1 + random_below(of);

    while (of % divisor != 0)
        divisor = 1 + random_below(of);
    return divisor;
}

static plait_degrees random_degrees(void)
{
    plait_degrees d = plait_degrees_init();

    d.tp = 1 + random_below(4);
    d.cp = 1 + random_below(3);
    d.dp = 1 + random_below(6);
    d.pp = 1 + random_below(4);
    d.order = (unsigned char)random_below(PLAIT_ORDERS);
    d.etp = random_divisor(d.tp);
    d.ep = random_divisor(d.tp * d.cp * d.dp / d.etp);
    return d;
}

static const char *spelled(const plait_degrees *d)
{
    static char text[160];

    snprintf(text, sizeof text, "tp %d cp %d dp %d pp %d ep %d etp %d, order %s", d->tp, d->cp,
             d->dp, d->pp, d->ep, d->etp, plait_order_name[d->order]);
    return text;
}

/* The ranks with the same number as `rank` are those of the shape that starts at the lowest. */
static void assert_group(const plait_degrees *d, plait_axis axis, int rank)
{
    const plait_group_shape group = plait_group_of(d, axis);
    int expected[MOST_RANKS] = {0};
    int members[MOST_RANKS];
    int count = 0;

    for (int r = 0; r < world_of(d); r++)
        if (group_number(d, axis, r) == group_number(d, axis, rank))
            expected[count++] = r;
    if (group.ranks != count)
        fail_msg("%s: %s group has %d ranks, expected %d", spelled(d), plait_axis_name[axis],
                 group.ranks, count);
    assert_int_equal(members_from(&group, expected[0], members), count);
    qsort(members, (size_t)count, sizeof *members, ascending);
    for (int i = 0; i < count; i++)
        if (members[i] != expected[i])
            fail_msg("%s: member %d of the %s group of rank %d is %d, expected %d", spelled(d), i,
                     plait_axis_name[axis], rank, members[i], expected[i]);
}

enum { WORLDS = 100 };

static void test_groups__partition_the_world(void **state)
{
    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        const plait_degrees d = random_degrees();
        for (int axis = 0; axis < PLAIT_AXES; axis++)
            for (int rank = 0; rank < world_of(&d); rank++)
                assert_group(&d, (plait_axis)axis, rank);
    }
}

/* Experts are dealt over the ranks of a stage: etp innermost, then ep, then their replicas. */
static void test_expert_groups__partition_each_stage(void **state)
{
    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        plait_degrees d = random_degrees();
        d.order = PLAIT_ORDER_TP_CP_DP_PP;
        for (int axis = PLAIT_AXIS_EP; axis < PLAIT_GROUPS; axis++)
            for (int rank = 0; rank < world_of(&d); rank++)
                assert_group(&d, (plait_axis)axis, rank);
    }
}

/*
 * With stages between the replicas, the ranks of a stage are neighbours in blocks of tp cp only, and
 * plans keep the ranks of all experts within one.
 */
static void test_expert_groups__stay_in_their_stage_in_both_orders(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * WORLDS; i++) {
        plait_degrees d = random_degrees();
        d.order = PLAIT_ORDER_TP_CP_PP_DP;
        if (d.pp > 1 && d.tp * d.cp % (d.etp * d.ep) != 0)
            continue;
        for (int axis = PLAIT_AXIS_EP; axis < PLAIT_GROUPS; axis++)
            assert_group(&d, (plait_axis)axis, random_below(world_of(&d)));
    }
}

// ---- by hand -------------------------------------------------------------------------------

/* 16 ranks, tp = 2, dp = 4, pp = 2, in Megatron's order. */
static void test_groups__by_hand(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    d.tp = 2;
    d.dp = 4;
    d.pp = 2;
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_TP), 4, 5);
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_DP), 9, 11, 13, 15);
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_PP), 3, 11);
    d.order = PLAIT_ORDER_TP_CP_PP_DP;
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_DP), 1, 5, 9, 13);
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_PP), 4, 6);
}

/* The same with ep = 4 over the eight ranks of a stage: two replicas of each expert. */
static void test_expert_groups__by_hand(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    d.tp = 2;
    d.dp = 4;
    d.pp = 2;
    d.ep = 4;
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_EP), 8, 9, 10, 11);
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_EDP), 9, 13);
    d.etp = 2;
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_ETP), 8, 9);
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_EP), 1, 3, 5, 7);
    ASSERT_MEMBERS(plait_group_of(&d, PLAIT_AXIS_EDP), 5);
}

// ---- replicas and their shards -------------------------------------------------------------

/* tp = 2, cp = 2, dp = 2, pp = 2: with stages between cp and dp the replicas are two runs. */
static void test_replicas__are_context_and_data_together(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    d.tp = d.cp = d.dp = d.pp = 2;
    ASSERT_MEMBERS(plait_group_replicas(&d), 1, 3, 5, 7);
    assert_int_equal(plait_group_replicas(&d).runs, 1);
    d.order = PLAIT_ORDER_TP_CP_PP_DP;
    ASSERT_MEMBERS(plait_group_replicas(&d), 1, 3, 9, 11);
    assert_int_equal(plait_group_replicas(&d).runs, 2);
}

/* Members 0 .. n-1 of a group, and every n-th: together they are the group, each once. */
static void test_shards__cut_the_replicas(void **state)
{
    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        const plait_degrees d = random_degrees();
        const plait_group_shape all = plait_group_replicas(&d);
        const int ways = random_divisor(all.ranks);
        const plait_group_shape inner = plait_group_inner(all, ways);
        const plait_group_shape outer = plait_group_outer(all, ways);
        int seen[MOST_RANKS] = {0};
        int members[MOST_RANKS];
        int starts[MOST_RANKS];

        // A cut inside the context run needs whole parts of it: cp and ways divide one another.
        if (ways % d.cp != 0 && d.cp % ways != 0)
            continue;
        assert_int_equal(inner.ranks, ways);
        assert_int_equal(outer.ranks, all.ranks / ways);
        assert_int_equal(members_from(&outer, 0, starts), outer.ranks);
        for (int s = 0; s < outer.ranks; s++) {
            assert_int_equal(members_from(&inner, starts[s], members), inner.ranks);
            for (int m = 0; m < inner.ranks; m++)
                seen[members[m]]++;
        }
        assert_int_equal(members_from(&all, 0, members), all.ranks);
        for (int m = 0; m < all.ranks; m++)
            assert_int_equal(seen[members[m]], 1);
    }
}

/* 8 replicas in shards of 2: neighbours hold a shard, every second rank the same one. */
static void test_shards__by_hand(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    d.tp = 2;
    d.dp = 8;
    ASSERT_MEMBERS(plait_group_inner(plait_group_replicas(&d), 2), 0, 2);
    ASSERT_MEMBERS(plait_group_outer(plait_group_replicas(&d), 2), 0, 4, 8, 12);
    ASSERT_MEMBERS(plait_group_inner(plait_group_replicas(&d), 8), 0, 2, 4, 6, 8, 10, 12, 14);
    ASSERT_MEMBERS(plait_group_outer(plait_group_replicas(&d), 8), 0);
    ASSERT_MEMBERS(plait_group_inner(plait_group_replicas(&d), 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups__partition_the_world),
        cmocka_unit_test(test_expert_groups__partition_each_stage),
        cmocka_unit_test(test_expert_groups__stay_in_their_stage_in_both_orders),
        cmocka_unit_test(test_groups__by_hand),
        cmocka_unit_test(test_expert_groups__by_hand),
        cmocka_unit_test(test_replicas__are_context_and_data_together),
        cmocka_unit_test(test_shards__cut_the_replicas),
        cmocka_unit_test(test_shards__by_hand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
