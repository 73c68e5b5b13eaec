/* test_goodput.c - failures and checkpoints: closed forms by hand, against drawn runs, and Llama 3 */
#include "support/assert_near.h"
#include "plait/lowlevel/goodput.h"
#include "plait/units.h"

static plait_reliability plain(void)
{
    plait_reliability fleet;

    plait_reliability_init(&fleet);
    fleet.node_loss = 0.0;
    return fleet;
}

/* sqrt(2 * 60 * 11134.8). */
static void test_young_interval__by_hand(void **state)
{
    (void)state;
    assert_near(plait_young_interval_s(60.0, 11134.8), 1155.93, 0.01);
}

/* With C of 2 M or more a checkpoint is not worth it before a failure is due. */
static void test_daly_interval__is_the_mtbf_for_long_checkpoints(void **state)
{
    (void)state;
    assert_near(plait_daly_interval_s(300.0, 100.0), 100.0, 0.0);
    assert_near_relative(plait_daly_interval_s(1.0, 1e8), plait_young_interval_s(1.0, 1e8), 1e-3);
}

static void test_goodput__of_a_fleet_that_never_fails_is_one(void **state)
{
    plait_reliability fleet = plain();

    (void)state;
    fleet.interruptions_per_node_day = 0.0;
    const plait_goodput g = plait_goodput_of(&fleet, 2048, 0.0, 5e12);
    assert_near(g.effective, 1.0, 0.0);
    assert_near(plait_goodput_run(&g, 1e6, 0.0, 0.0, 1e9, 7), 1e6, 0.0);
}

/* 1 + C/tau + (tau/2 + D + R)/M holds to second order: 0.2 % here. */
static void test_goodput__tends_to_the_first_order(void **state)
{
    const plait_reliability fleet = plain();
    const plait_goodput g = plait_goodput_of(&fleet, 256, 0.0, 1e12);
    const double first = 1.0 + g.blocked_s / g.interval_s +
                         (g.interval_s / 2.0 + g.detect_s + g.restart_s) / g.mtbf_s;

    (void)state;
    assert_near_relative(1.0 / g.effective, first, 2e-3);
}

/* No interval does better than the one that is chosen. */
static void test_goodput__is_best_at_its_interval(void **state)
{
    const plait_reliability fleet = plain();
    const plait_goodput best = plait_goodput_of(&fleet, 2048, 0.0, 5.7e12);

    (void)state;
    for (int i = -1; i <= 1; i += 2) {
        plait_goodput other = best;

        other.interval_s *= 1.0 + 0.1 * i;
        assert_true(plait_goodput_wall_s(&other, 1.0) > plait_goodput_wall_s(&best, 1.0));
    }
}

/*
 * The Llama 3 Herd of Models, 2024, section 3.3.4: 54 days on 16,384 H100, 419 unexpected
 * interruptions, over 90 % of the time effective; 405 G parameters of 14 bytes to 2 TB/s.
 */
static void test_goodput__of_llama_3(void **state)
{
    plait_reliability fleet = plain();

    (void)state;
    fleet.interruptions_per_node_day = 419.0 / 54.0 / 2048.0;
    const plait_goodput g = plait_goodput_of(&fleet, 2048, 0.0, 405e9 * 14.0);
    assert_near(g.mtbf_s / PLAIT_HOUR, 3.093, 1e-3);
    assert_true(g.effective > 0.90 && g.effective < 0.97);
    assert_near(plait_goodput_wall_s(&g, g.effective * 54.0 * PLAIT_DAY) / PLAIT_DAY, 54.0, 1e-9);
    // 466 with the 47 planned ones; each costs no less than an unexpected one.
    fleet.interruptions_per_node_day = 466.0 / 54.0 / 2048.0;
    assert_true(plait_goodput_of(&fleet, 2048, 0.0, 405e9 * 14.0).effective > 0.90);
}

static double mean_run(const plait_goodput *g, double work_s, int runs)
{
    double sum = 0.0;

    for (int i = 0; i < runs; i++)
        sum += plait_goodput_run(g, work_s, 0.0, 0.0, 1e12, (uint64_t)i);
    return sum / runs;
}

/* 60 days on so many nodes, drawn: the mean of 400 runs is the closed form's. */
static void check_drawn(plait_reliability fleet, int nodes, double tolerance)
{
    const plait_goodput g = plait_goodput_of(&fleet, nodes, 0.0, 5.7e12);
    const double work_s = 60.0 * PLAIT_DAY;
    const double drawn = mean_run(&g, work_s, 400), closed = plait_goodput_wall_s(&g, work_s);

    print_message("%d nodes: drawn %.3f days, closed form %.3f\n", nodes, drawn / PLAIT_DAY,
                  closed / PLAIT_DAY);
    assert_near_relative(drawn, closed, tolerance);
}

static void test_goodput_run__agrees_with_the_closed_form(void **state)
{
    (void)state;
    check_drawn(plain(), 128, 3e-3);
    check_drawn(plain(), 2048, 3e-3);
    check_drawn(plain(), 16384, 3e-3);
}

static void test_goodput_run__agrees_when_asynchronous_or_repeating_or_without_nodes(void **state)
{
    plait_reliability fleet = plain();

    (void)state;
    fleet.async = true;
    check_drawn(fleet, 2048, 5e-3);
    fleet.async = false;
    fleet.repeat = 0.67;
    check_drawn(fleet, 2048, 1e-2);
    plait_reliability_init(&fleet);
    check_drawn(fleet, 2048, 1e-2);
    fleet.spares = 4;
    check_drawn(fleet, 2048, 2e-2);
}

static void test_goodput_run__is_the_same_for_the_same_number(void **state)
{
    const plait_reliability fleet = plain();
    const plait_goodput g = plait_goodput_of(&fleet, 2048, 0.0, 5.7e12);

    (void)state;
    assert_near(plait_goodput_run(&g, 5e6, 0.9, 1.2, 1e9, 3),
                plait_goodput_run(&g, 5e6, 0.9, 1.2, 1e9, 3), 0.0);
    assert_true(plait_goodput_run(&g, 5e6, 0.9, 1.2, 1e9, 3) !=
                plait_goodput_run(&g, 5e6, 0.9, 1.2, 1e9, 4));
}

/* B(1) = 2/3, B(2) = (4/3)/(2 + 4/3) = 0.4, B(3) = 0.8/3.8; one more of 10 nodes is a tenth. */
static void test_waiting_share__by_hand(void **state)
{
    (void)state;
    assert_near(plait_waiting_share(2.0, 0), 2.0 / 3.0, 1e-12);
    assert_near(plait_waiting_share(2.0, 1), 0.4, 1e-12);
    assert_near(plait_waiting_share(2.0, 2), 0.8 / 3.8, 1e-12);
    assert_int_equal(plait_spares_worth(0.0, 10), 0);
    assert_int_equal(plait_spares_worth(2.0, 4), 2); // 4 x 3, 5 x 1.667, 6 x 1.267, 7 x 1.105 days
    assert_int_equal(plait_spares_worth(40.0, 64),
                     45); // though the first gains less than its price
}

/* By days and nodes of the whole run, whatever else interrupts it: no other number of spares is cheaper. */
static void test_spares__are_the_cheapest(void **state)
{
    plait_reliability fleet;

    (void)state;
    plait_reliability_init(&fleet);
    fleet.interruptions_per_node_day = 0.1;
    fleet.repair_s = 14.0 * PLAIT_DAY;
    for (int nodes = 2; nodes <= 256; nodes *= 2) {
        fleet.spares = -1;
        const plait_goodput chosen = plait_goodput_of(&fleet, nodes, 0.0, 1e11);
        const double cost = (nodes + chosen.spares) * plait_goodput_wall_s(&chosen, 1e6);
        for (fleet.spares = 0; fleet.spares <= 400; fleet.spares++) {
            const plait_goodput other = plait_goodput_of(&fleet, nodes, 0.0, 1e11);
            assert_true(cost <=
                        (nodes + fleet.spares) * plait_goodput_wall_s(&other, 1e6) * (1.0 + 1e-12));
        }
    }
}

/* A run that is not much longer than a repair begins with all spares: its mean is that of draws. */
static void test_spares__of_a_short_run_are_out_late(void **state)
{
    static const struct {
        double work_days, repair_days, a_node_day;
        int spares;
        double tolerance;
    } cases[] = {{2.0, 5.0, 0.05, 0, 0.02},  {2.0, 5.0, 0.05, 1, 0.07},
                 {2.0, 5.0, 0.05, 2, 0.03},  {10.0, 5.0, 0.05, 2, 0.05},
                 {60.0, 5.0, 0.02, 2, 0.02}, {18.0, 30.0, 0.004, 1, 0.03}};

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        plait_reliability fleet;

        plait_reliability_init(&fleet);
        fleet.interruptions_per_node_day = cases[c].a_node_day;
        fleet.repair_s = cases[c].repair_days * PLAIT_DAY;
        fleet.spares = cases[c].spares;
        const double work_s = cases[c].work_days * PLAIT_DAY;
        const plait_goodput g = plait_goodput_of(&fleet, 16, work_s, 1e11);
        const double drawn = mean_run(&g, work_s, 20000);
        const double closed = plait_goodput_wall_s(&g, work_s);
        const plait_goodput endless = plait_goodput_of(&fleet, 16, 0.0, 1e11);
        print_message(
            "%g days, repair %g, spares %d: drawn %.3f days, closed form %.3f, without end "
            "%.3f\n",
            cases[c].work_days, cases[c].repair_days, cases[c].spares, drawn / PLAIT_DAY,
            closed / PLAIT_DAY, plait_goodput_wall_s(&endless, work_s) / PLAIT_DAY);
        assert_near_relative(drawn, closed, cases[c].tolerance);
        assert_true(g.wait_s <= endless.wait_s * (1.0 + 1e-12));
    }
}

static void test_finish_probability__is_a_tenth_at_the_ends_of_the_band(void **state)
{
    (void)state;
    assert_near(plait_finish_probability(100.0, 100.0, 0.9, 1.2), 0.5, 1e-12);
    assert_near(plait_finish_probability(100.0, 90.0, 0.9, 1.2), 0.1, 1e-12);
    assert_near(plait_finish_probability(100.0, 120.0, 0.9, 1.2), 0.9, 1e-12);
    assert_near(plait_finish_probability(100.0, 101.0, 0.0, 0.0), 1.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_young_interval__by_hand),
        cmocka_unit_test(test_daly_interval__is_the_mtbf_for_long_checkpoints),
        cmocka_unit_test(test_goodput__of_a_fleet_that_never_fails_is_one),
        cmocka_unit_test(test_goodput__tends_to_the_first_order),
        cmocka_unit_test(test_goodput__is_best_at_its_interval),
        cmocka_unit_test(test_goodput__of_llama_3),
        cmocka_unit_test(test_goodput_run__agrees_with_the_closed_form),
        cmocka_unit_test(test_goodput_run__agrees_when_asynchronous_or_repeating_or_without_nodes),
        cmocka_unit_test(test_goodput_run__is_the_same_for_the_same_number),
        cmocka_unit_test(test_waiting_share__by_hand),
        cmocka_unit_test(test_spares__are_the_cheapest),
        cmocka_unit_test(test_spares__of_a_short_run_are_out_late),
        cmocka_unit_test(test_finish_probability__is_a_tenth_at_the_ends_of_the_band),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
