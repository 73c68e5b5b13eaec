/* test_site.c - a cluster's efficiency from measured steps that known factors made */
#include <string.h>

#include "support/assert_near.h"
#include "support/error_fixture.h"
#include "plait/data.h"
#include "calibrate/site.h"

static const char head[] =
    "id,source,model,layers,hidden,heads,ffn_hidden,mlp,vocab,seq_len,accelerator,gpus,"
    "gpus_per_node,runtime,precision,tp,pp,mbs,gbs,zero,outcome,step_time_s\n";

/* One plan of a model of 7 B on so many H100, measured at `step_s`. */
static const char *row(const char *accelerator, int gpus, int tp, int gbs, double step_s)
{
    return plait_arena_printf(arena,
                              "r%d-%d,site,m,32,4096,32,11008,swiglu,32000,4096,%s,%d,8,fsdp,bf16,"
                              "%d,1,1,%d,3,ok,%.9g\n",
                              gpus, tp, accelerator, gpus, tp, gbs, step_s);
}

static plait_runs parse(const char *rows)
{
    const char *text = plait_arena_printf(arena, "%s%s", head, rows);
    plait_runs runs;

    if (plait_runs_parse(text, strlen(text), "runs.csv", arena, &runs, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return runs;
}

static plait_cluster find(const char *text)
{
    plait_cluster cluster;

    if (plait_cluster_find(text, arena, &cluster, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return cluster;
}

/* What the cluster itself predicts for the rows, times a factor. */
static const char *slowed(const plait_cluster *cluster, double factor)
{
    static const int gpus[] = {8, 16, 64, 256};
    const char *rows = "";

    for (int i = 0; i < 4; i++) {
        const plait_runs one = parse(row("h100-80gb-sxm", gpus[i], 1, 8 * gpus[i], 1.0));
        site_result result;

        assert_int_equal(site_scale(cluster, &one, NULL, arena, &result, &err), PLAIT_OK);
        rows = plait_arena_printf(
            arena, "%s%s", rows,
            row("h100-80gb-sxm", gpus[i], 1, 8 * gpus[i], factor * result.run[0].before_s));
    }
    return rows;
}

static void test_site__that_runs_as_predicted_stays_as_it_is(void **state)
{
    const plait_cluster cluster = find("dgx-h100");
    const plait_runs runs = parse(slowed(&cluster, 1.0));
    site_result result;

    (void)state;
    assert_int_equal(site_scale(&cluster, &runs, NULL, arena, &result, &err), PLAIT_OK);
    assert_int_equal(result.runs, 4);
    assert_near(result.compute, 1.0, 0.005);
    assert_near(result.before, 0.0, 1e-6);
    assert_near(result.after, 0.0, 0.005);
}

/* Steps that all take a fifth longer are mostly slower products: compute near 1 / 1.2 = 0.83. */
static void test_site__that_is_slower_computes_slower(void **state)
{
    const plait_cluster cluster = find("dgx-h100");
    const plait_runs runs = parse(slowed(&cluster, 1.2));
    site_result result;

    (void)state;
    assert_int_equal(site_scale(&cluster, &runs, NULL, arena, &result, &err), PLAIT_OK);
    assert_true(result.compute_determined);
    assert_true(result.compute > 0.75 && result.compute < 0.88);
    assert_near(result.before, 0.2 / 1.2, 1e-6);
    assert_true(result.after < 0.03);
    assert_near_relative(result.cluster->group[0].accelerator->gemm[PLAIT_BF16].emax,
                         result.compute * cluster.group[0].accelerator->gemm[PLAIT_BF16].emax,
                         1e-9);
}

/* Ten times as slow is not an efficiency: the factors stop at a half. */
static void test_site__has_factors_within_bounds(void **state)
{
    const plait_cluster cluster = find("dgx-h100");
    const plait_runs runs = parse(slowed(&cluster, 10.0));
    site_result result;

    (void)state;
    assert_int_equal(site_scale(&cluster, &runs, NULL, arena, &result, &err), PLAIT_OK);
    assert_true(result.compute >= 0.5 && result.network >= 0.5);
    for (int l = 1; l < result.cluster->levels; l++)
        assert_true(result.cluster->level[l].efficiency <= 1.0);
}

static void test_site__without_a_run_of_its_own_is_refused(void **state)
{
    const plait_cluster cluster = find("dgx-h100");
    const plait_runs runs = parse(row("a100-80gb-sxm", 8, 1, 64, 1.0));
    site_result result;

    (void)state;
    assert_int_equal(site_scale(&cluster, &runs, NULL, arena, &result, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "runs.csv");
    assert_non_null(strstr(err.message, "measured on a100-80gb-sxm"));
}

static void test_site__says_what_it_had_to_skip(void **state)
{
    const plait_cluster cluster = find("dgx-h100");
    const plait_runs runs = parse(plait_arena_printf(arena, "%s%s", slowed(&cluster, 1.0),
                                                     row("a100-80gb-sxm", 8, 1, 64, 1.0)));
    site_result result;

    (void)state;
    assert_int_equal(site_scale(&cluster, &runs, NULL, arena, &result, &err), PLAIT_OK);
    assert_int_equal(result.runs, 4);
    assert_non_null(result.skipped);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_site__##name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(that_runs_as_predicted_stays_as_it_is),
        TEST(that_is_slower_computes_slower),
        TEST(has_factors_within_bounds),
        TEST(without_a_run_of_its_own_is_refused),
        TEST(says_what_it_had_to_skip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
