/* test_serve_lengths.c - closed forms against simulations, over distributions of lengths (C.400) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/assert_near.h"
#include "base/numbers.h"
#include "plait/data.h"
#include "plait/serve.h"

enum { SHAPES = 6, ENGINES = 3, LOADS = 5, CASES = ENGINES * LOADS };
enum { TTFT, TTFT_P99, TPOT, FIGURES };

static const char *const figures[FIGURES] = {"TTFT", "p99 of TTFT", "TPOT"};
static const double most_off[FIGURES] = {0.15, 0.4, 0.2}; // medians of a shape

/*
 * Mean lengths, and long-tailed ones: chats and code completion with the percentiles of Azure's
 * traces of 2023 (github.com/Azure/AzurePublicDataset), retrieval, reasoning, and conversations.
 */
static const struct {
    const char *name;
    plait_length_shape input, output;
    int turns;
} shapes[SHAPES] = {
    {"even", {.mean = 2048, .spread = 0.2}, {.mean = 256, .spread = 0.2}, 1},
    {"chat", {1155, 1020, 2735, 14050, 0}, {211, 129, 424, 1000, 0}, 1},
    {"retrieval", {6000, 3000, 16000, 60000, 0}, {300, 200, 600, 2000, 0}, 1},
    {"code", {2048, 1469, 5194, 7437, 0}, {28, 13, 55, 1899, 0}, 1},
    {"reasoning", {1000, 400, 2500, 16000, 0}, {4000, 2000, 9000, 32000, 0}, 1},
    {"conversation", {300, 150, 600, 4000, 0}, {250, 180, 500, 2000, 0}, 6},
};

typedef struct bench {
    plait_arena *arena;
    plait_model model;
    plait_cluster cluster;
    plait_engine *profile;
    size_t profiles;
} bench;

static void fill_bench(bench *b)
{
    const char *warning;
    plait_error err;

    b->arena = plait_arena_new();
    assert_int_equal(plait_model_find("llama-3.1-8b", b->arena, &b->model, &warning, &err),
                     PLAIT_OK);
    assert_int_equal(plait_cluster_find("h100-80gb-sxm:1x8", b->arena, &b->cluster, &err),
                     PLAIT_OK);
    assert_int_equal(plait_cluster_take(&b->cluster, 8, &err), PLAIT_OK);
    assert_int_equal(plait_engine_list(b->arena, &b->profile, &b->profiles, &err), PLAIT_OK);
}

static plait_lengths lengths_of_shape(int s, plait_arena *arena)
{
    plait_request_lengths *request;
    plait_error err;
    int count;

    assert_int_equal(
        plait_lengths_sample(shapes[s].input, shapes[s].output, arena, &request, &count, &err),
        PLAIT_OK);
    if (shapes[s].turns > 1)
        assert_int_equal(
            plait_lengths_converse(request, count, shapes[s].turns, arena, &request, &count, &err),
            PLAIT_OK);
    return plait_lengths_of(request, count);
}

/*
 * Compares a closed form with a simulation: logarithms of the ratios of their figures. The loads
 * are 30, 60 and 80 % of the sustained rate, and closed loops of 8 and 64 users.
 */
static void compare(const bench *b, const plait_lengths *lengths, int engine, int load,
                    double ratio[FIGURES])
{
    static const double share[] = {0.3, 0.6, 0.8}, users[] = {8.0, 64.0};
    plait_serve_options q = {
        .model = &b->model,
        .cluster = &b->cluster,
        .gpus = 8,
        .engines = 1,
        .engine = {plait_engine_of(b->profile, b->profiles, (plait_engine_kind)engine, "NVIDIA", 0,
                                   0)},
        .weights = 1u << PLAIT_WEIGHT_BF16,
        .kv = 1u << PLAIT_KV_BF16,
        .load = {.kind = PLAIT_LOAD_CLOSED,
                 .input = lengths->input.mean,
                 .output = lengths->output.mean,
                 .cached = lengths->cached,
                 .spread = fmin(sqrt(3.0) * lengths->output_cv, 1.0),
                 .concurrency = 8.0,
                 .lengths = lengths},
    };
    plait_serve_plan plan = {.engine = q.engine[0],
                             .replicas = 1,
                             .count = {1},
                             .worker = {{2, 1, 1, 1}},
                             .weights = PLAIT_WEIGHT_BF16,
                             .kv = PLAIT_KV_BF16,
                             .chunk_tokens = q.engine[0]->chunk_tokens};
    plait_serve_sim_options draws = {.seed = 1};
    plait_serve_sim_result drawn;
    plait_serve_curve curve;
    const char *why;
    plait_error err;

    assert_int_equal(plait_serve_evaluate(&q, b->arena, &plan, &why, &err), PLAIT_OK);
    assert_null(why);
    if (load < 3) {
        assert_int_equal(plait_serve_load_curve(&q, &plan, b->arena, &curve, &why, &err), PLAIT_OK);
        q.load.kind = PLAIT_LOAD_RATE;
        q.load.rate = share[load] * curve.rate;
        q.load.concurrency = 0.0;
    } else
        q.load.concurrency = users[load - 3];
    assert_int_equal(plait_serve_evaluate(&q, b->arena, &plan, &why, &err), PLAIT_OK);
    assert_null(why);
    draws.warmup_requests = (int)plan.concurrency;
    draws.requests = (int)fmax(40.0 * plan.concurrency, 5000.0);
    assert_int_equal(plait_serve_plan_simulate(&q, &plan, draws, b->arena, &drawn, &err), PLAIT_OK);
    ratio[TTFT] = log(plan.service.ttft_s / drawn.ttft.mean_s);
    ratio[TTFT_P99] = log(plan.ttft_p99_s / drawn.ttft.p99_s);
    ratio[TPOT] = log(plan.service.tpot_s / drawn.tpot.mean_s);
}

/* Prints the median and the largest error of each figure, and bounds the median. */
static void test_closed_forms__agree_with_the_simulation(void **state)
{
    bench b;

    (void)state;
    fill_bench(&b);
    for (int s = 0; s < SHAPES; s++) {
        const plait_arena_mark mark = plait_arena_save(b.arena);
        const plait_lengths lengths = lengths_of_shape(s, b.arena);
        double off[FIGURES][CASES];
        int n = 0;

        printf("%-12s", shapes[s].name);
        for (int e = 0; e < ENGINES; e++)
            for (int l = 0; l < LOADS; l++, n++) {
                double ratio[FIGURES];
                compare(&b, &lengths, e, l, ratio);
                for (int f = 0; f < FIGURES; f++)
                    off[f][n] = fabs(ratio[f]);
            }
        for (int f = 0; f < FIGURES; f++) {
            qsort(off[f], CASES, sizeof off[f][0], compare_doubles);
            printf("  %s %.0f %%, at most %.0f %%", figures[f], 100.0 * expm1(off[f][CASES / 2]),
                   100.0 * expm1(off[f][CASES - 1]));
            assert_true(expm1(off[f][CASES / 2]) < most_off[f]);
        }
        printf("\n");
        plait_arena_rewind(b.arena, mark);
    }
    plait_arena_free(b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms__agree_with_the_simulation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
