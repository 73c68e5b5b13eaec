/* test_capacity.c - numbers of GPUs beside each other: who answers, the knee, the front */
#include "support/assert_near.h"
#include "plait/capacity.h"
#include "plait/data.h"
#include "plait/runtime.h"
#include "plait/units.h"

#include <string.h>

enum { ROWS = 3 };

/* 8, 16 and 32 GPUs that take 100, 50 and 40 days for 10, 10 and 16 thousand dollars. */
typedef struct made_up {
    plait_cluster cluster;
    plait_problem problem[ROWS];
    plait_capacity_row row[ROWS];
    plait_capacity_options ask;
} made_up;

static void make(made_up *m)
{
    static const double days[ROWS] = {100.0, 50.0, 40.0}, usd[ROWS] = {1e4, 1e4, 1.6e4};

    m->cluster = (plait_cluster){.name = "made up"};
    plait_capacity_options_init(&m->ask);
    for (int i = 0; i < ROWS; i++) {
        m->problem[i] = (plait_problem){.cluster = &m->cluster, .job = {.gpus = 8 << i}};
        m->row[i] = (plait_capacity_row){
            .problem = &m->problem[i], .fits = true, .wall_s = days[i] * PLAIT_DAY, .usd = usd[i]};
    }
}

/* 8 GPUs cost as much as 16 and are slower; 32 gain a quarter, below 0.8. */
static void test_judge__finds_scaling_knee_and_front(void **state)
{
    made_up m;

    (void)state;
    make(&m);
    const plait_capacity_verdict v = plait_capacity_compare(&m.ask, m.row, ROWS);
    assert_near(m.row[1].scaling, 1.0, 1e-12);
    assert_near(m.row[2].scaling, 100.0 * 8.0 / (40.0 * 32.0), 1e-12);
    assert_near(m.row[2].gain, 0.25, 1e-12);
    assert_false(m.row[1].knee);
    assert_true(m.row[2].knee);
    assert_false(m.row[0].front);
    assert_true(m.row[1].front && m.row[2].front);
    assert_int_equal(v.smallest, 0);
    assert_int_equal(v.cheapest, 0);
    assert_int_equal(v.fastest, 2);
}

static void test_judge__passes_over_what_is_late_or_does_not_fit(void **state)
{
    made_up m;

    (void)state;
    make(&m);
    m.row[0].limit = PLAIT_CAPACITY_LIMIT_DEADLINE;
    m.row[1].fits = false;
    m.row[1].limit = PLAIT_CAPACITY_LIMIT_MEMORY;
    m.row[2].limit = PLAIT_CAPACITY_LIMIT_BUDGET;
    const plait_capacity_verdict v = plait_capacity_compare(&m.ask, m.row, ROWS);
    assert_int_equal(v.smallest, -1);
    assert_int_equal(v.cheapest, 2);
    assert_int_equal(v.fastest, 2);
    assert_false(m.row[1].front);
}

/* ---- a question to its end ---- */

typedef struct small_question {
    plait_arena *arena;
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_capacity_options ask;
} small_question;

static void ask_small(small_question *q)
{
    plait_error err;

    q->arena = plait_arena_new();
    assert_non_null(q->arena);
    assert_int_equal(plait_model_find("llama-3.1-8b", q->arena, &q->model, NULL, &err), PLAIT_OK);
    assert_int_equal(plait_cluster_find("h100-80gb-sxm:2x8", q->arena, &q->cluster, &err),
                     PLAIT_OK);
    assert_int_equal(plait_cluster_take(&q->cluster, 16, &err), PLAIT_OK);
    assert_int_equal(plait_runtime_find("megatron", q->arena, &q->runtime, &err), PLAIT_OK);
    plait_problem_init(&q->problem);
    q->problem.model = &q->model;
    q->problem.cluster = &q->cluster;
    q->problem.runtime = &q->runtime;
    q->problem.job = (plait_job){.seq = 4096, .gbs = 64, .gpus = 16};
    q->problem.risk = PLAIT_USUAL_RISK;
    plait_capacity_options_init(&q->ask);
    q->ask.tokens = 1e10;
    assert_int_equal(plait_search_limit(&q->ask.search, "recompute=none,cp=1,pp=1", &err),
                     PLAIT_OK);
}

static plait_capacity_row find(small_question *q)
{
    plait_capacity_row row;
    plait_error err;

    assert_int_equal(plait_capacity_find(&q->ask, &q->problem, q->arena, &row, &err), PLAIT_OK);
    return row;
}

/* 10 G tokens of 262144 a step are 38147 steps; 16 GPUs for as long, without spares or failures. */
static void test_find__adds_up(void **state)
{
    small_question q;

    (void)state;
    ask_small(&q);
    q.ask.fleet.interruptions_per_node_day = 0.0;
    q.ask.usd_per_gpu_hour = 2.0;
    q.ask.co2_g_per_kwh = 400.0;
    const plait_capacity_row row = find(&q);
    assert_true(row.fits);
    assert_near(row.steps, 38147.0, 0.0);
    assert_near_relative(row.wall_s, 38147.0 * row.cost.step_s, 1e-12);
    assert_near_relative(row.usd, 16.0 * 2.0 * row.wall_s / 3600.0, 1e-12);
    assert_near_relative(row.energy_j, 38147.0 * row.cost.energy_j, 1e-12);
    assert_near_relative(row.co2_kg, row.energy_j / 3.6e6 * 0.4, 1e-12);
    // bf16 weights and fp32 masters and moments
    assert_near_relative(row.checkpoint_bytes, 14.0 * plait_model_params(&q.model).total, 1e-12);
    plait_arena_free(q.arena);
}

static void test_find__draws_the_same_on_any_number_of_threads(void **state)
{
    small_question q;

    (void)state;
    ask_small(&q);
    q.ask.fleet.interruptions_per_node_day = 1.0;
    q.problem.band = (plait_band){.low = 0.9, .high = 1.2};
    q.ask.search.threads = 1;
    const plait_run_samples one = find(&q).drawn;
    q.ask.search.threads = 5;
    const plait_run_samples five = find(&q).drawn;
    assert_near(one.mean_s, five.mean_s, 0.0);
    assert_near(one.late_s, five.late_s, 0.0);
    assert_true(one.early_s < one.middle_s && one.middle_s < one.late_s);
    plait_arena_free(q.arena);
}

/* ---- a range ---- */

/* Builds the problem of one number of GPUs with one batch. */
static plait_status take(void *context, int gpus, int gbs, plait_arena *arena, plait_problem *out,
                         plait_error *err)
{
    const small_question *const q = context;
    plait_cluster *const cluster = plait_arena_alloc(arena, 1, sizeof *cluster);

    *cluster = q->cluster;
    *out = q->problem;
    out->cluster = cluster;
    out->job.gpus = gpus;
    out->job.gbs = gbs;
    return plait_cluster_take(cluster, gpus, err);
}

enum { NODES = 12, BATCHES = 2 };

static const int batch[BATCHES] = {48, 50};

/* Every number of nodes with every batch, one search each. */
static void find_all(small_question *q, plait_capacity_row row[NODES * BATCHES])
{
    plait_error err;

    for (int i = 0; i < NODES * BATCHES; i++) {
        plait_problem *const problem = plait_arena_alloc(q->arena, 1, sizeof *problem);

        assert_int_equal(
            take(q, 8 * (i / BATCHES + 1), batch[i % BATCHES], q->arena, problem, &err), PLAIT_OK);
        assert_int_equal(plait_capacity_find(&q->ask, problem, q->arena, &row[i], &err), PLAIT_OK);
    }
}

/* From the row of one number, the answers of all numbers; of each deadline and budget. */
static void test_between__finds_what_all_numbers_have(void **state)
{
    static const double deadline_days[] = {0.0, 1.0, 1.5, 2.5, 5.0, 0.5};
    const plait_capacity_range range = {
        .from = 8, .to = 8 * NODES, .step = 8, .batches = BATCHES, .gbs = batch, .question = take};
    plait_capacity_row all[NODES * BATCHES];
    plait_capacity_range_result found;
    plait_error err;
    small_question q;
    int answers = 0;

    (void)state;
    ask_small(&q);
    assert_int_equal(plait_cluster_find("h100-80gb-sxm:12x8", q.arena, &q.cluster, &err), PLAIT_OK);
    q.ask.runs = 0;
    q.ask.usd_per_gpu_hour = 2.0;
    find_all(&q, all);
    for (size_t d = 0; d < sizeof deadline_days / sizeof *deadline_days; d++) {
        plait_capacity_row row[2 + PLAIT_CAPACITY_FOUND];
        plait_capacity_range asked = range;

        asked.context = &q;
        q.ask.deadline_s = deadline_days[d] * PLAIT_DAY;
        for (int i = 0; i < NODES * BATCHES; i++)
            if (all[i].fits)
                assert_int_equal(plait_capacity_follow(&q.ask, q.arena, &all[i], &err), PLAIT_OK);
        row[0] = all[NODES * BATCHES - BATCHES]; // the most GPUs
        assert_int_equal(plait_capacity_search_range(&q.ask, &asked, row, 1, q.arena, &found, &err),
                         PLAIT_OK);
        assert_true(found.whole && !found.assumed);
        assert_int_equal(found.numbers, NODES);
        assert_true(found.searches < NODES * BATCHES - 1);
        for (int i = 0; i < found.rows; i++)
            row[1 + i] = found.row[i];
        const plait_capacity_verdict v = plait_capacity_compare(&q.ask, row, 1 + found.rows);
        const plait_capacity_verdict of_all = plait_capacity_compare(&q.ask, all, NODES * BATCHES);
        assert_int_equal(v.smallest < 0, of_all.smallest < 0);
        if (v.smallest < 0)
            continue;
        assert_int_equal(row[v.smallest].problem->job.gpus, all[of_all.smallest].problem->job.gpus);
        assert_near(row[v.smallest].wall_s, all[of_all.smallest].wall_s, 0.0);
        assert_near(row[v.cheapest].usd, all[of_all.cheapest].usd, 0.0);
        answers++;
    }
    assert_true(answers >= 4);
    plait_arena_free(q.arena);
}

/* A tenth of the price is a tenth of the dollars and no day; slower matrix units never save one. */
static void test_tornado__moves_what_it_says(void **state)
{
    plait_capacity_swing swing[PLAIT_CAPACITY_SWINGS];
    plait_error err;
    small_question q;

    (void)state;
    ask_small(&q);
    const plait_capacity_row row = find(&q);
    assert_int_equal(plait_capacity_tornado(&q.ask, &row, q.arena, swing, &err), PLAIT_OK);
    for (int i = 0; i < PLAIT_CAPACITY_SWINGS; i++) {
        if (strcmp(swing[i].what, "price of a GPU hour") == 0) {
            assert_near_relative(swing[i].usd[1], 1.1 * row.usd, 1e-12);
            assert_near(swing[i].wall_s[1], row.wall_s, 0.0);
        }
        if (strcmp(swing[i].what, "efficiency of matrix products") == 0)
            assert_true(swing[i].wall_s[0] > row.wall_s && swing[i].wall_s[1] < row.wall_s);
    }
    plait_arena_free(q.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judge__finds_scaling_knee_and_front),
        cmocka_unit_test(test_judge__passes_over_what_is_late_or_does_not_fit),
        cmocka_unit_test(test_find__adds_up),
        cmocka_unit_test(test_find__draws_the_same_on_any_number_of_threads),
        cmocka_unit_test(test_between__finds_what_all_numbers_have),
        cmocka_unit_test(test_tornado__moves_what_it_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
