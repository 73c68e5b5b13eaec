/* test_serve_fleet.c - spares against all states, hours against one worker less, money by hand */
#include <limits.h>
#include <math.h>

#include "support/assert_near.h"
#include "plait/data.h"
#include "plait/serve.h"
#include "plait/units.h"

/* Probability that at least `needed` of n are up, over all 2^n states. */
static double over_all_states(int n, int needed, double available)
{
    double sum = 0.0;

    for (unsigned state = 0; state < 1u << n; state++) {
        double likely = 1.0;
        int up = 0;

        for (int i = 0; i < n; i++) {
            const bool is_up = (state >> i & 1u) != 0;
            likely *= is_up ? available : 1.0 - available;
            up += is_up;
        }
        sum += up >= needed ? likely : 0.0;
    }
    return sum;
}

static void test_up__counts_all_states(void **state)
{
    static const double available[] = {0.0, 0.3, 0.9, 0.997, 1.0};

    (void)state;
    for (size_t a = 0; a < sizeof available / sizeof *available; a++)
        for (int n = 0; n <= 12; n++)
            for (int needed = 0; needed <= n + 1; needed++)
                assert_near(plait_fleet_up(n, needed, available[a]),
                            over_all_states(n, needed, available[a]), 1e-12);
}

/* As many as an int can say: by the normal law, and without a walk over all of them. */
static void test_up__of_a_fleet_without_end_is_known_at_once(void **state)
{
    const int units = INT_MAX;

    (void)state;
    assert_near(plait_fleet_up(units, units / 2 + 1, 0.5), 0.5, 1e-3);
    assert_near(plait_fleet_up(units, 1, 0.9), 1.0, 1e-3);
    assert_near(plait_fleet_up(units, units, 0.9), 0.0, 1e-12);
}

static void test_spares__are_the_fewest_that_suffice(void **state)
{
    (void)state;
    for (int needed = 1; needed <= 8; needed++)
        for (double share = 0.9; share < 0.99999; share = 1.0 - (1.0 - share) / 10.0) {
            const int spares = plait_fleet_spares(needed, 0.95, share);

            assert_true(spares >= 0);
            assert_true(over_all_states(needed + spares, needed, 0.95) >= share);
            if (spares > 0)
                assert_true(over_all_states(needed + spares - 1, needed, 0.95) < share);
        }
}

/* Up to a rate of failures at which most units are out, and numbers of which no power of A is a double. */
static void test_spares__of_large_and_failing_fleets_are_those_of_the_sum_over_units(void **state)
{
    static const double available[] = {0.01, 0.3, 0.6, 0.92};
    int found = 0;

    (void)state;
    for (size_t a = 0; a < sizeof available / sizeof *available; a++)
        for (int needed = 1; needed <= 20000; needed = needed * 3 + 1)
            for (double share = 0.2; share < 0.99999; share = 1.0 - (1.0 - share) / 10.0) {
                const int spares = plait_fleet_spares(needed, available[a], share);
                const int most = needed + PLAIT_MOST_SPARES;

                if (spares < 0) {
                    assert_true(plait_fleet_up(most, needed, available[a]) < share);
                    continue;
                }
                found++;
                assert_true(plait_fleet_up(needed + spares, needed, available[a]) > share - 1e-9);
                assert_true(spares == 0 || plait_fleet_up(needed + spares - 1, needed,
                                                          available[a]) < share + 1e-9);
            }
    assert_true(found > 50);
}

static void test_spares__of_what_is_never_up_are_none(void **state)
{
    (void)state;
    assert_int_equal(plait_fleet_spares(3, 0.0, 0.5), -1);
    assert_int_equal(plait_fleet_spares(1000, 0.01, 0.999), -1);
    assert_int_equal(plait_fleet_spares(1000, 1.0, 0.999), 0);
}

static struct {
    plait_arena *arena;
    plait_model model;
    plait_cluster cluster;
    plait_serve_options q;
    plait_fleet_options ask;
    plait_fleet_answer *answer;
} fix;

static int load_all(void **state)
{
    plait_engine *profiles;
    const char *warning;
    size_t count;
    plait_error err;

    (void)state;
    fix.arena = plait_arena_new();
    fix.answer = plait_arena_alloc(fix.arena, 1, sizeof *fix.answer);
    if (plait_model_find("llama-3.1-8b", fix.arena, &fix.model, &warning, &err) != PLAIT_OK ||
        plait_cluster_find("h100-80gb-sxm:8x8", fix.arena, &fix.cluster, &err) != PLAIT_OK ||
        plait_cluster_take(&fix.cluster, 64, &err) != PLAIT_OK ||
        plait_engine_list(fix.arena, &profiles, &count, &err) != PLAIT_OK)
        return 1;
    fix.q = (plait_serve_options){
        .model = &fix.model,
        .cluster = &fix.cluster,
        .gpus = 64,
        .engines = 1,
        .engine = {plait_engine_of(profiles, count, PLAIT_ENGINE_VLLM,
                                   fix.cluster.group[0].accelerator->vendor, 0, 0)},
        .weights = 1u << PLAIT_WEIGHT_FP8,
        .kv = 1u << PLAIT_KV_FP8,
        .load = {.kind = PLAIT_LOAD_RATE, .input = 1024, .output = 256},
        .ttft_s = 0.3,
        .tpot_s = 0.03,
    };
    plait_fleet_options_init(&fix.ask);
    fix.ask.usd_per_gpu_hour = 2.0;
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    plait_arena_free(fix.arena);
    return 0;
}

static const plait_fleet *find(plait_fleet_options ask)
{
    plait_error err = {PLAIT_OK, "", ""};

    assert_int_equal(plait_fleet_find(&fix.q, &ask, fix.arena, fix.answer, &err), PLAIT_OK);
    assert_true(fix.answer->fleets > 0);
    return &fix.answer->fleet[0];
}

static plait_fleet_options flat(double rate)
{
    plait_fleet_options ask = fix.ask;

    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        ask.rate[h] = rate;
    return ask;
}

static bool enough(const plait_fleet *fleet, double rate, int workers, int decoders)
{
    plait_serve_options q = fix.q;
    plait_serve_plan plan = fleet->plan;
    const char *why;

    q.load.rate = rate;
    plan.replicas = plan.disaggregated ? 1 : workers;
    plan.count[0] = plan.disaggregated ? workers : 1;
    plan.count[1] = plan.disaggregated ? decoders : 0;
    return workers > 0 && plait_serve_evaluate(&q, fix.arena, &plan, &why, NULL) == PLAIT_OK &&
           why == NULL && plan.service.ttft_s <= q.ttft_s && plan.service.tpot_s <= q.tpot_s;
}

static void test_hours__have_the_fewest_workers(void **state)
{
    plait_fleet_options ask = fix.ask;

    (void)state;
    for (int h = 0; h < PLAIT_FLEET_HOURS; h++)
        ask.rate[h] = h % 4 == 3 ? 0.0 : 10.0 + 17.0 * h;
    find(ask);
    for (int f = 0; f < fix.answer->fleets; f++)
        for (int h = 0; h < PLAIT_FLEET_HOURS; h++) {
            const plait_fleet *const fleet = &fix.answer->fleet[f];
            const plait_fleet_hour *const hour = &fleet->hour[h];
            const int n = hour->workers[0], m = hour->workers[1];

            if (ask.rate[h] <= 0.0) {
                assert_int_equal(n + m + hour->nodes + hour->spare_nodes, 0);
                continue;
            }
            assert_true(enough(fleet, fleet->margin * ask.rate[h], n, m));
            assert_false(enough(fleet, fleet->margin * ask.rate[h], n - 1, m));
            assert_true(hour->used[PLAIT_FLEET_ELASTIC] <= 1.0);
            assert_true(hour->used[PLAIT_FLEET_RESERVED] <= hour->used[PLAIT_FLEET_ELASTIC] + 1e-5);
        }
}

/*
 * All workers of a flat day can serve it in a simulation. At some rates the closed forms alone give
 * too few workers.
 */
static void test_fleets__carry_their_hours_in_simulation(void **state)
{
    int counted_again = 0;

    (void)state;
    for (double rate = 70.0; rate <= 90.0 && counted_again == 0; rate += 1.0) {
        find(flat(rate));
        for (int f = 0; f < fix.answer->fleets; f++) {
            const plait_fleet *const fleet = &fix.answer->fleet[f];
            plait_serve_options q = fix.q;
            plait_serve_plan plan = fleet->plan;
            const char *why;

            q.load.rate = rate;
            assert_true(fleet->simulated && fleet->margin >= 1.0);
            counted_again += fleet->margin > 1.0;
            assert_int_equal(plait_serve_judge(&q, (plait_serve_sim_options){.seed = 1}, fix.arena,
                                               &plan, &why, NULL),
                             PLAIT_OK);
            assert_null(why);
        }
    }
    assert_true(counted_again > 0);
}

/* Nodes of so many workers of each role, and a little for each GPU. */
static double room_of(const plait_fleet *fleet, int prefills, int decodes)
{
    const int count[] = {prefills, decodes};
    double room = 0.0;

    for (int r = 0; r < 2; r++) {
        const int each = fleet->unit[r].workers;
        room += (double)((count[r] + each - 1) / each) * fleet->unit[r].nodes;
        room += 1e-6 * count[r] * plait_worker_gpus(fleet->plan.worker[r]);
    }
    return room;
}

/* Of prefill and decode workers apart, every pair that takes less room is too little. */
static void test_pairs__take_the_least_room_of_all(void **state)
{
    const plait_serve_options few = fix.q;
    plait_cluster cluster;
    plait_error err;
    int pairs = 0, smaller = 0;

    (void)state;
    assert_int_equal(plait_cluster_find("h100-80gb-sxm:512x8", fix.arena, &cluster, &err),
                     PLAIT_OK);
    assert_int_equal(plait_cluster_take(&cluster, 4096, &err), PLAIT_OK);
    fix.q.cluster = &cluster;
    fix.q.gpus = 4096;
    for (double rate = 200.0; rate < 20000.0; rate *= 1.7) {
        find(flat(rate));
        for (int f = 0; f < fix.answer->fleets; f++) {
            const plait_fleet *const fleet = &fix.answer->fleet[f];
            const int *const found = fleet->hour[0].workers;

            if (!fleet->plan.disaggregated)
                continue;
            const double room = room_of(fleet, found[0], found[1]);
            pairs++;
            assert_true(enough(fleet, rate, found[0], found[1]));
            for (int n = 1; room_of(fleet, n, 1) < room; n++) {
                int m = 1;
                while (room_of(fleet, n, m + 1) < room)
                    m++;
                smaller++;
                assert_false(enough(fleet, rate, n, m));
            }
        }
    }
    assert_true(pairs > 0 && smaller > 10);
    fix.q = few;
}

static void test_hours__are_up_as_all_states_say(void **state)
{
    const plait_fleet *const fleet = find(flat(60.0));
    const plait_fleet_hour *const hour = &fleet->hour[0];
    const plait_reliability *const r = &fix.ask.failures;
    const int units = hour->nodes + hour->spare_nodes;
    // 4 of 1000 node-days; out for 120 s and 300 s, and 0.78 of a day
    const double between = 86400.0 / 4e-3;
    const double available = between / (between + 120.0 + 300.0 + 0.78 * 86400.0);

    (void)state;
    assert_near(r->interruptions_per_node_day, 4e-3, 0.0);
    assert_int_equal(fleet->unit[0].nodes, 1);
    assert_near(fleet->unit[0].available, available, 1e-12);
    assert_true(units <= 16 && !fleet->plan.disaggregated);
    assert_near(hour->available, over_all_states(units, hour->nodes, available), 1e-12);
    assert_true(hour->available >= fix.ask.available);
    assert_true(over_all_states(units - 1, hour->nodes, available) < fix.ask.available);
}

/* 2 dollars, 8 GPUs a node, 24 hours, 730 / 24 days. */
static void test_day__is_paid_by_node_hours(void **state)
{
    const plait_fleet *const fleet = find(flat(60.0));
    const double nodes = fleet->totals.nodes;

    (void)state;
    assert_near(fleet->totals.node_hours[PLAIT_FLEET_RESERVED], 24.0 * nodes, 0.0);
    assert_near(fleet->totals.node_hours[PLAIT_FLEET_ELASTIC], 24.0 * nodes, 0.0);
    assert_near(fleet->totals.usd[PLAIT_FLEET_RESERVED], nodes * 8.0 * 2.0 * 730.0, 1e-6);
    assert_near(fleet->tokens_per_day, 60.0 * 86400.0 * 256.0, 1.0);
    assert_near(fleet->usd_per_mtok[PLAIT_FLEET_RESERVED],
                nodes * 8.0 * 2.0 * 24.0 / (60.0 * 86400.0 * 256.0 / 1e6), 1e-9);
}

/* One busy hour: its nodes for an hour and a restart, those of the others else. */
static void test_elastic__pays_what_starts_early(void **state)
{
    plait_fleet_options ask = flat(20.0);

    (void)state;
    ask.rate[12] = 800.0;
    const plait_fleet *const fleet = find(ask);
    const int low = fleet->hour[0].nodes + fleet->hour[0].spare_nodes;
    const int high = fleet->hour[12].nodes + fleet->hour[12].spare_nodes;

    assert_int_equal(fleet->busiest, 12);
    assert_true(high > low);
    assert_near(fleet->totals.node_hours[PLAIT_FLEET_ELASTIC],
                23.0 * low + high + (high - low) * 300.0 / 3600.0, 1e-9);
    assert_near(fleet->totals.node_hours[PLAIT_FLEET_RESERVED], 24.0 * high, 0.0);
}

static void test_given_spares__are_kept(void **state)
{
    plait_fleet_options ask = flat(60.0);

    (void)state;
    ask.failures.spares = 3;
    assert_int_equal(find(ask)->hour[5].spare_nodes, 3);
    ask.failures.spares = -1;
    ask.failures.interruptions_per_node_day = 0.0;
    assert_int_equal(find(ask)->hour[5].spare_nodes, 0);
}

static void test_no_requests__are_refused(void **state)
{
    plait_fleet_options ask = flat(0.0);
    plait_error err = {PLAIT_OK, "", ""};

    (void)state;
    assert_int_equal(plait_fleet_find(&fix.q, &ask, fix.arena, fix.answer, &err),
                     PLAIT_ERROR_RANGE);
}

/* Times rise with the load, and the last point is 99 % of what still has an end. */
static void test_load_curve__rises(void **state)
{
    plait_serve_plan plan = find(flat(60.0))->plan;
    plait_serve_options q = fix.q;
    plait_serve_curve curve;
    const char *why;

    (void)state;
    assert_int_equal(plait_serve_load_curve(&q, &plan, fix.arena, &curve, &why, NULL), PLAIT_OK);
    assert_null(why);
    for (int i = 0; i < PLAIT_SERVE_CURVE; i++) {
        const plait_serve_point *const p = &curve.point[i];

        assert_near(p->rate, p->load * curve.rate, 1e-9);
        assert_near(p->output_tokens_per_s, p->rate * 256.0, 1e-6 * p->output_tokens_per_s);
        if (i == 0)
            continue;
        assert_true(p->ttft_s >= p[-1].ttft_s && p->tpot_s >= p[-1].tpot_s);
    }
    q.load.rate = curve.rate / 0.99 * 1.001;
    assert_int_equal(plait_serve_evaluate(&q, fix.arena, &plan, &why, NULL), PLAIT_OK);
    assert_non_null(why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up__counts_all_states),
        cmocka_unit_test(test_up__of_a_fleet_without_end_is_known_at_once),
        cmocka_unit_test(test_spares__are_the_fewest_that_suffice),
        cmocka_unit_test(test_spares__of_large_and_failing_fleets_are_those_of_the_sum_over_units),
        cmocka_unit_test(test_spares__of_what_is_never_up_are_none),
        cmocka_unit_test(test_hours__have_the_fewest_workers),
        cmocka_unit_test(test_fleets__carry_their_hours_in_simulation),
        cmocka_unit_test(test_pairs__take_the_least_room_of_all),
        cmocka_unit_test(test_hours__are_up_as_all_states_say),
        cmocka_unit_test(test_day__is_paid_by_node_hours),
        cmocka_unit_test(test_elastic__pays_what_starts_early),
        cmocka_unit_test(test_given_spares__are_kept),
        cmocka_unit_test(test_no_requests__are_refused),
        cmocka_unit_test(test_load_curve__rises),
    };

    return cmocka_run_group_tests(tests, load_all, free_all);
}
