/* test_serve_evidence.c - evidence of an engine's profile, bands and their quantiles, by hand */
#include <math.h>
#include <string.h>

#include "support/assert_near.h"
#include "plait/data.h"
#include "plait/serve.h"

static plait_arena *arena;

static int make_arena(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena == NULL;
}

static int free_arena(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

static plait_model model_named(const char *name)
{
    plait_model model;
    plait_error err;
    const char *warning;

    if (plait_model_find(name, arena, &model, &warning, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return model;
}

static const char *const accelerators[] = {"h100-80gb-sxm", NULL};
static const char *const models[] = {"llama-3.1-8b", NULL};
static const char *const architectures[] = {"dense", NULL};

/* A profile with runs of one model on one accelerator, and bands that widen by evidence. */
static plait_engine profile(void)
{
    plait_engine engine = {.name = "one",
                           .accelerators = accelerators,
                           .models = models,
                           .architectures = architectures};

    for (int e = 0; e < PLAIT_SERVE_EVIDENCES; e++)
        for (int f = 0; f < PLAIT_SERVE_FIGURES; f++) {
            engine.bands[e].figure[f][0] = 1.0 / (2.0 + e);
            engine.bands[e].figure[f][1] = 2.0 + e;
        }
    return engine;
}

static plait_serve_evidence evidence_of(const char *model, const char *accelerator)
{
    const plait_model shape = model_named(model);
    plait_engine engine = profile();

    plait_engine_judge(&engine, &shape, accelerator);
    assert_true(engine.band[PLAIT_SERVE_TPOT][1] == 2.0 + (int)engine.evidence);
    return engine.evidence;
}

static void less_evidence_has_its_own_band(void **state)
{
    (void)state;
    assert_int_equal(evidence_of("llama-3.1-8b", "h100-80gb-sxm"), PLAIT_SERVE_MEASURED);
    assert_int_equal(evidence_of("llama-3.1-8b", "rtx-5090-32gb"), PLAIT_SERVE_NEW_ACCELERATOR);
    assert_int_equal(evidence_of("llama-3.1-70b", "h100-80gb-sxm"), PLAIT_SERVE_NEW_MODEL);
    assert_int_equal(evidence_of("llama-3.1-70b", "rtx-5090-32gb"), PLAIT_SERVE_NEW_MODEL);
    assert_int_equal(evidence_of("deepseek-v3", "h100-80gb-sxm"), PLAIT_SERVE_NEW_ARCHITECTURE);
}

static void a_profile_without_lists_has_no_evidence(void **state)
{
    const plait_model llama = model_named("llama-3.1-8b");

    (void)state;
    assert_int_equal(
        plait_engine_evidence(&(plait_engine){.name = "none"}, &llama, "h100-80gb-sxm"),
        PLAIT_SERVE_NEW_ARCHITECTURE);
}

static void architectures_follow_from_the_layers(void **state)
{
    static const struct {
        const char *model, *architecture;
    } cases[] = {{"llama-3.1-8b", "dense"},
                 {"gpt-oss-120b", "moe"},
                 {"deepseek-v3", "latent_moe"},
                 {"kimi-linear-48b-a3b", "hybrid_moe"},
                 {"deepseek-v4-flash", "compressed_moe"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const plait_model model = model_named(cases[i].model);
        assert_string_equal(plait_serve_architecture(&model), cases[i].architecture);
    }
}

/* z(0.8) = 0.84162, z(0.9) = 1.28155: 2^(0.65672) = 1.5765. */
static void quantiles_are_log_normal_on_each_side(void **state)
{
    const plait_model llama = model_named("llama-3.1-8b");
    plait_engine engine = profile();

    (void)state;
    plait_engine_judge(&engine, &llama, "h100-80gb-sxm");
    assert_near_relative(plait_engine_quantile(&engine, PLAIT_SERVE_TPOT, 0.5), 1.0, 1e-9);
    assert_near_relative(plait_engine_quantile(&engine, PLAIT_SERVE_TPOT, 0.9), 2.0, 1e-9);
    assert_near_relative(plait_engine_quantile(&engine, PLAIT_SERVE_TPOT, 0.1), 0.5, 1e-9);
    assert_near_relative(plait_engine_quantile(&engine, PLAIT_SERVE_TPOT, 0.8), 1.5765, 1e-4);
}

/* A bound of 30 ms with a band of twice the prediction: no plan may be predicted above 15 ms. */
static void a_required_confidence_divides_the_bounds(void **state)
{
    const plait_model llama = model_named("llama-3.1-8b");
    plait_serve_options q;
    plait_engine *profiles;
    plait_cluster cluster;
    plait_error err;
    size_t count;
    double rate[2];

    (void)state;
    if (plait_cluster_find("h100-80gb-sxm:1x8", arena, &cluster, &err) != PLAIT_OK ||
        plait_engine_list(arena, &profiles, &count, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    for (int strict = 0; strict < 2; strict++) {
        plait_serve_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
        plait_engine engine = *plait_engine_of(profiles, count, PLAIT_ENGINE_VLLM, "NVIDIA", 0, 0);

        engine.band[PLAIT_SERVE_TPOT][1] = 2.0;
        if (strict)
            plait_engine_require(&engine, 0.9);
        plait_serve_options_init(&q);
        q.model = &llama;
        q.cluster = &cluster;
        q.gpus = 8;
        q.engines = 1;
        q.engine[0] = &engine;
        q.weights = 1u << PLAIT_WEIGHT_BF16;
        q.kv = 1u << PLAIT_KV_BF16;
        q.load = (plait_load){.kind = PLAIT_LOAD_CLOSED, .input = 1024.0, .output = 256.0};
        q.tpot_s = 30e-3;
        if (plait_serve_search(&q, arena, answer, &err) != PLAIT_OK)
            fail_msg("%s: %s", err.where, err.message);
        assert_true(answer->plans > 0);
        for (int i = 0; i < answer->plans; i++)
            assert_true(answer->plan[i].service.tpot_s <= (strict ? 15e-3 : 30e-3));
        rate[strict] = answer->plan[0].tokens_per_s_gpu;
    }
    assert_true(rate[1] < rate[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_evidence_has_its_own_band),
        cmocka_unit_test(a_profile_without_lists_has_no_evidence),
        cmocka_unit_test(architectures_follow_from_the_layers),
        cmocka_unit_test(quantiles_are_log_normal_on_each_side),
        cmocka_unit_test(a_required_confidence_divides_the_bounds),
    };

    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
