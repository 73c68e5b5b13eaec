/* test_hierarchy.c - parents from members whose numbers are known */
#include <math.h>
#include <string.h>

#include "support/assert_near.h"
#include "calibrate/hierarchy.h"

enum { MEMBERS = 6 };

static hierarchy world;
static hierarchy_member member[MEMBERS];

/* Two families of three members, numbers 0 and 1; nothing is known of any. */
static void begin(void)
{
    memset(member, 0, sizeof member);
    memset(&world, 0, sizeof world);
    world.families = 2;
    for (int k = 0; k < HIERARCHY_NUMBERS; k++) {
        world.low[k] = -3.0;
        world.high[k] = 3.0;
        world.prior_spread[k] = 0.3;
    }
    for (int m = 0; m < MEMBERS; m++) {
        member[m].family = m / 3;
        for (int k = 0; k < 2; k++)
            member[m].has[k] = member[m].informs[k] = true;
    }
}

/* Runs say: number k is x, give or take `deviation`. */
static void say(int m, int k, double x, double deviation)
{
    const double curvature = 1.0 / (deviation * deviation);

    member[m].runs = true;
    member[m].curvature[k][k] += curvature;
    member[m].slope[k] += curvature * (member[m].at[k] - x);
}

static void settle(void)
{
    hierarchy_estimate(&world, member, MEMBERS);
}

static void test_parents__lie_between_their_members(void **state)
{
    (void)state;
    begin();
    say(0, 0, 0.4, 0.01);
    say(1, 0, 0.6, 0.01);
    settle();
    assert_true(world.parent[0][0] > 0.35 && world.parent[0][0] < 0.6);
    assert_near(member[0].mean[0], 0.4, 0.005);
    assert_near(member[1].mean[0], 0.6, 0.005);
}

static void test_a_member_without_runs__is_at_its_parent(void **state)
{
    (void)state;
    begin();
    say(0, 0, 0.4, 0.01);
    say(1, 0, 0.6, 0.01);
    settle();
    assert_near(member[2].mean[0], world.parent[0][0], 0.0);
    assert_near(member[2].variance[0], world.spread[0] * world.spread[0], 1e-12);
}

static void test_a_number_that_runs_say_nothing_of__is_at_its_parent(void **state)
{
    (void)state;
    begin();
    say(0, 0, 0.4, 0.01);
    say(1, 1, 0.7, 0.01);
    settle();
    assert_near(member[0].mean[1], world.parent[0][1], 1e-6);
    assert_near(member[0].variance[1], world.spread[1] * world.spread[1], 1e-6);
}

/* The other family has seen less of it than the own one, and more than nothing. */
static void test_families__share_a_grand_parent(void **state)
{
    (void)state;
    begin();
    for (int m = 0; m < 3; m++)
        say(m, 0, 1.0, 0.01);
    settle();
    assert_true(world.parent[1][0] > 0.05 && world.parent[1][0] < world.parent[0][0]);
    assert_near(world.parent[1][0], world.grand[0], 1e-9);
}

static void test_spreads__are_what_members_show(void **state)
{
    double alike;

    (void)state;
    begin();
    for (int m = 0; m < MEMBERS; m++)
        say(m, 0, 0.5, 0.01);
    settle();
    alike = world.spread[0];
    begin();
    for (int m = 0; m < MEMBERS; m++)
        say(m, 0, m % 2 == 0 ? -0.5 : 1.5, 0.01);
    settle();
    assert_true(alike < 0.3 && world.spread[0] > 0.6);
}

/* The weight of runs against the spread: 0.3 and 0.3 meet half way. */
static void test_weak_runs__are_believed_in_part(void **state)
{
    (void)state;
    begin();
    say(0, 0, 0.8, 0.3);
    settle();
    assert_true(member[0].mean[0] > 0.2 && member[0].mean[0] < 0.7);
}

static void test_what_does_not_teach__leaves_parents_alone(void **state)
{
    (void)state;
    begin();
    say(0, 0, 1.0, 0.01);
    member[0].informs[0] = false;
    settle();
    assert_near(world.parent[0][0], 0.0, 1e-12);
    assert_near(member[0].mean[0], 1.0, 0.01);
}

static void test_doubt__lets_a_member_go_further(void **state)
{
    double held;

    (void)state;
    begin();
    say(0, 0, 1.0, 0.3);
    member[0].informs[0] = false;
    settle();
    held = member[0].mean[0];
    member[0].doubt[0] = 1.0;
    settle();
    assert_true(member[0].mean[0] > held + 0.2);
}

static void test_shifts__are_no_part_of_the_parent(void **state)
{
    (void)state;
    begin();
    member[0].shift[0] = 1.0;
    say(0, 0, 1.0, 0.01);
    settle();
    assert_near(world.parent[0][0], 0.0, 1e-3);
    assert_near(hierarchy_parent(&world, &member[0], 0), 1.0, 1e-3);
}

/* x + y is 2, x at most 0.5: y takes the rest. */
static void test_a_bound__holds_and_others_make_up_for_it(void **state)
{
    (void)state;
    begin();
    world.high[0] = 0.5;
    member[0].runs = true;
    for (int i = 0; i < 2; i++) {
        member[0].slope[i] = -2.0 * 1e4;
        for (int j = 0; j < 2; j++)
            member[0].curvature[i][j] = 1e4;
    }
    settle();
    assert_near(member[0].mean[0], 0.5, 0.0);
    assert_near(member[0].mean[1], 1.5, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parents__lie_between_their_members),
        cmocka_unit_test(test_a_member_without_runs__is_at_its_parent),
        cmocka_unit_test(test_a_number_that_runs_say_nothing_of__is_at_its_parent),
        cmocka_unit_test(test_families__share_a_grand_parent),
        cmocka_unit_test(test_spreads__are_what_members_show),
        cmocka_unit_test(test_weak_runs__are_believed_in_part),
        cmocka_unit_test(test_what_does_not_teach__leaves_parents_alone),
        cmocka_unit_test(test_doubt__lets_a_member_go_further),
        cmocka_unit_test(test_shifts__are_no_part_of_the_parent),
        cmocka_unit_test(test_a_bound__holds_and_others_make_up_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
