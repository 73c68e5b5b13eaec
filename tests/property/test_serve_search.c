/* test_serve_search.c - the search for deployments against an enumeration of all of them */
#include <math.h>
#include <string.h>

#include "support/assert_near.h"
#include "plait/data.h"
#include "plait/serve.h"

static uint64_t random_state = 11;

/* 0 .. below - 1 (splitmix64) */
static int random_below(int below)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)below);
}

static bool meets(const plait_serve_options *q, const plait_service *s)
{
    return s->stable && (q->ttft_s <= 0.0 || s->ttft_s <= q->ttft_s) &&
           (q->tpot_s <= 0.0 || s->tpot_s <= q->tpot_s);
}

static bool runs(const plait_serve_options *q, plait_arena *arena, plait_serve_plan *plan)
{
    const char *why;

    return plait_serve_evaluate(q, arena, plan, &why, NULL) == PLAIT_OK && why == NULL;
}

/* Tokens/s of one GPU of the best aggregated deployment, every replica count tried. */
static double best_of_all(const plait_serve_options *q, plait_arena *arena)
{
    static const double chunks[] = {2048.0, 8192.0, 16384.0};
    double best = 0.0;

    for (int tp = 1; tp <= q->gpus; tp *= 2)
        for (int pp = 1; tp * pp <= q->gpus && pp <= 8; pp *= 2)
            for (int chunk = 0; chunk < 3; chunk++)
                for (int kv = 0; kv < 2; kv++)
                    for (int n = 1; n * tp * pp <= q->gpus; n++) {
                        const plait_arena_mark mark = plait_arena_save(arena);
                        plait_serve_plan plan = {.engine = q->engine[0],
                                                 .replicas = n,
                                                 .count = {1, 0},
                                                 .worker = {{tp, pp, 1, 1}},
                                                 .weights = PLAIT_WEIGHT_FP8,
                                                 .kv = (plait_kv_format)kv,
                                                 .chunk_tokens = chunks[chunk]};
                        if (runs(q, arena, &plan) && meets(q, &plan.service) &&
                            plan.tokens_per_s_gpu > best)
                            best = plan.tokens_per_s_gpu;
                        plait_arena_rewind(arena, mark);
                    }
    return best;
}

/* The same of all pairs of workers with a degree each, every count of both. */
static double best_of_pairs(const plait_serve_options *q, plait_arena *arena)
{
    double best = 0.0;

    for (int way = 0; way < 4 * 4 * 2; way++) {
        const int tp[2] = {1 << way % 4, 1 << way / 4 % 4};
        for (int n = 1; n * tp[0] + tp[1] <= q->gpus; n++)
            for (int m = 1; n * tp[0] + m * tp[1] <= q->gpus; m++) {
                const plait_arena_mark mark = plait_arena_save(arena);
                plait_serve_plan plan = {.engine = q->engine[0],
                                         .disaggregated = true,
                                         .replicas = 1,
                                         .count = {n, m},
                                         .worker = {{tp[0], 1, 1, 1}, {tp[1], 1, 1, 1}},
                                         .weights = PLAIT_WEIGHT_FP8,
                                         .kv = (plait_kv_format)(way / 16),
                                         .chunk_tokens = q->engine[0]->chunk_tokens};
                if (runs(q, arena, &plan) && meets(q, &plan.service) &&
                    plan.tokens_per_s_gpu > best)
                    best = plan.tokens_per_s_gpu;
                plait_arena_rewind(arena, mark);
            }
    }
    return best;
}

/* Draws questions and compares; how many have an answer. */
static int compare(int questions, bool apart, double ttft_s,
                   double (*best_of)(const plait_serve_options *, plait_arena *))
{
    plait_arena *arena = plait_arena_new();
    plait_model model;
    plait_cluster cluster;
    plait_engine *profiles;
    size_t count;
    plait_error err;
    const char *warning;
    int found = 0;
    plait_serve_answer *answer = plait_arena_alloc(arena, 1, sizeof *answer);

    assert_int_equal(plait_model_find("llama-3.1-8b", arena, &model, &warning, &err), PLAIT_OK);
    assert_int_equal(plait_cluster_find("h100-80gb-sxm:1x8", arena, &cluster, &err), PLAIT_OK);
    assert_int_equal(plait_cluster_take(&cluster, 8, &err), PLAIT_OK);
    assert_int_equal(plait_engine_list(arena, &profiles, &count, &err), PLAIT_OK);
    for (int i = 0; i < questions; i++) {
        const plait_arena_mark mark = plait_arena_save(arena);
        plait_serve_options q = {
            .model = &model,
            .cluster = &cluster,
            .gpus = 8,
            .engines = 1,
            .engine = {plait_engine_of(profiles, count, (plait_engine_kind)random_below(3),
                                       "NVIDIA", 0, 0)},
            .weights = 1u << PLAIT_WEIGHT_FP8,
            .kv = 3,
            .only_aggregated = !apart,
            .only_disaggregated = apart,
            .only = {.pp = apart},
            .load = {.input = 64 << random_below(8), .output = 64 << random_below(5)},
            .ttft_s = ttft_s * (1 << random_below(6)),
            .tpot_s = 0.005 * (1 << random_below(4)),
        };
        q.load.kind = i % 2 ? PLAIT_LOAD_RATE : PLAIT_LOAD_CLOSED;
        q.load.rate = i % 2 ? 0.5 * (1 << random_below(8)) : 0.0;
        q.load.concurrency = i % 2 ? 0.0 : 1 << random_below(9);
        assert_int_equal(plait_serve_search(&q, arena, answer, &err), PLAIT_OK);
        const double best = best_of(&q, arena);
        found += best > 0.0;
        assert_near_relative(answer->plans > 0 ? answer->plan[0].tokens_per_s_gpu : 0.0, best,
                             1e-9);
        plait_arena_rewind(arena, mark);
    }
    plait_arena_free(arena);
    return found;
}

static void test_search__finds_the_best_of_all(void **state)
{
    (void)state;
    assert_true(compare(12, false, 0.05, best_of_all) > 4);
}

static void test_search__finds_the_best_of_all_pairs(void **state)
{
    (void)state;
    assert_true(compare(24, true, 0.1, best_of_pairs) > 8);
}

/* Tokens/s of a GPU of a deployment with so many users. */
static double tokens_of(plait_serve_options q, plait_serve_plan plan, double users,
                        plait_arena *arena)
{
    q.load.concurrency = users;
    return runs(&q, arena, &plan) ? plan.tokens_per_s_gpu : 0.0;
}

/* Without a load: as many tokens as with all users there can be, and not by users who only wait. */
static void test_search__without_a_load_asks_for_no_user_in_vain(void **state)
{
    plait_arena *arena = plait_arena_new();
    plait_serve_answer *answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plait_engine *profiles;
    size_t count;
    plait_error err;
    plait_cluster cluster;
    plait_model model;
    const char *warning;
    int looked = 0;

    (void)state;
    assert_int_equal(plait_engine_list(arena, &profiles, &count, &err), PLAIT_OK);
    assert_int_equal(plait_model_find("llama-3.1-8b", arena, &model, &warning, &err), PLAIT_OK);
    assert_int_equal(plait_cluster_find("h100-80gb-sxm:1x8", arena, &cluster, &err), PLAIT_OK);
    assert_int_equal(plait_cluster_take(&cluster, 8, &err), PLAIT_OK);
    const plait_serve_options q = {
        .model = &model,
        .cluster = &cluster,
        .gpus = 8,
        .engines = 1,
        .engine = {plait_engine_of(profiles, count, PLAIT_ENGINE_VLLM,
                                   cluster.group[0].accelerator->vendor, 0, 0)},
        .weights = 1u << PLAIT_WEIGHT_FP8,
        .kv = 3,
        .only_disaggregated = true,
        .load = {.kind = PLAIT_LOAD_CLOSED, .input = 2048, .output = 256},
    };
    assert_int_equal(plait_serve_search(&q, arena, answer, &err), PLAIT_OK);
    for (int i = 0; i < answer->plans; i++) {
        const plait_serve_plan *const plan = &answer->plan[i];
        const double most = tokens_of(q, *plan, 8192.0, arena);

        if (most <= 0.0 || plan->concurrency < 10.0)
            continue;
        assert_true(plan->tokens_per_s_gpu >= 0.97 * most); // a pool that is full ends it before
        assert_true(tokens_of(q, *plan, floor(plan->concurrency / 1.3), arena) < 0.995 * most);
        looked++;
    }
    assert_true(looked > 3);
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search__finds_the_best_of_all),
        cmocka_unit_test(test_search__finds_the_best_of_all_pairs),
        cmocka_unit_test(test_search__without_a_load_asks_for_no_user_in_vain)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
