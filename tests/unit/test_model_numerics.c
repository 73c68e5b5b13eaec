/* test_model_numerics.c - the block "numerics" of plait's own model files: read, refused, written */
#include "support/assert_near.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "io/model/model_file.h"
#include "plait/model.h"
#include "support/same_numerics.h"
#include "base/text.h"

typedef struct model_fixture {
    plait_arena *arena;
    plait_model model;
    plait_error err;
} model_fixture;

static int set_up(void **state)
{
    static model_fixture fixture;

    fixture = (model_fixture){.arena = plait_arena_new()};
    *state = &fixture;
    return fixture.arena == NULL;
}

static int tear_down(void **state)
{
    model_fixture *test = *state;

    plait_arena_free(test->arena);
    return 0;
}

/* A model with a block of numerics, or with more keys before its layers. */
#define MODEL(more)                                                                                \
    "{\"name\": \"m\", \"source\": \"s\", \"norm\": \"rms\", \"vocab\": 100, \"hidden\": "         \
    "64, " more                                                                                    \
    "\"kinds\": {\"only\": {\"mlp\": {\"width\": 8}}}, \"layers\": [{\"kind\": \"only\"}]}"
#define NUMERICS(keys) MODEL("\"numerics\": {" keys "}, ")

static plait_status parse(model_fixture *test, const char *text)
{
    return plait_model_parse(text, strlen(text), "x.json", test->arena, &test->model, NULL,
                             &test->err);
}

static const plait_numerics *read_text(model_fixture *test, const char *text)
{
    if (parse(test, text) != PLAIT_OK)
        fail_msg("%s: %s", test->err.where, test->err.message);
    return &test->model.numerics;
}

static const char *written(model_fixture *test, const plait_model *model)
{
    json_writer json;
    const char *text;

    json_writer_init(&json, test->arena);
    model_write(&json, model);
    assert_int_equal(json_writer_finish(&json, &text, NULL, &test->err), PLAIT_OK);
    return text;
}

/* ---- reading ---- */

static void test_names__are_as_many_as_the_words(void **state)
{
    (void)state;
    assert_null(plait_activation_name[PLAIT_ACTIVATIONS]);
    assert_null(plait_rope_kind_name[PLAIT_ROPE_KINDS]);
    assert_null(plait_router_score_name[PLAIT_ROUTER_SCORES]);
    assert_string_equal(plait_activation_name[PLAIT_CLAMPED_SWIGLU], "clamped_swiglu");
    assert_string_equal(plait_rope_kind_name[PLAIT_ROPE_OTHER], "other");
    assert_string_equal(plait_router_score_name[PLAIT_ROUTER_SIGMOID], "sigmoid");
}

static void test_numerics__are_unknown_when_missing(void **state)
{
    const plait_numerics none = {0};

    assert_null(numerics_difference(read_text(*state, MODEL("")), &none));
    assert_null(numerics_difference(read_text(*state, NUMERICS("")), &none));
    assert_null(numerics_difference(read_text(*state, MODEL("\"numerics\": null, ")), &none));
}

static void test_numerics__are_read(void **state)
{
    const plait_numerics *numerics = read_text(
        *state, NUMERICS("\"source\": \"s\", \"activation\": \"relu2\", \"norm_eps\": 1e-5, "
                         "\"init_std\": 0.006, \"alibi\": true, \"attention_softcap\": 50, "
                         "\"logit_softcap\": 30, \"attention_scale\": 0.0625, "
                         "\"embedding_scale\": 48, \"residual_scale\": 0.22, \"logit_scale\": 2, "
                         "\"qk_l2_norm\": true, \"qk_norm_whole\": true"));

    assert_int_equal(numerics->activation, PLAIT_RELU2);
    assert_near(numerics->norm_eps, 1e-5, 0.0);
    assert_near(numerics->init_std, 0.006, 0.0);
    assert_true(numerics->alibi && numerics->qk_l2_norm && numerics->qk_norm_whole);
    assert_near(numerics->attention_softcap, 50.0, 0.0);
    assert_near(numerics->logit_softcap, 30.0, 0.0);
    assert_near(numerics->attention_scale, 0.0625, 0.0);
    assert_near(numerics->embedding_scale, 48.0, 0.0);
    assert_near(numerics->residual_scale, 0.22, 0.0);
    assert_near(numerics->logit_scale, 2.0, 0.0);
}

static void test_rope__rotates_all_of_a_head_unless_said_otherwise(void **state)
{
    const plait_rope *rope = &read_text(*state, NUMERICS("\"rope\": {\"base\": 10000}"))->rope;

    assert_int_equal(rope->kind, PLAIT_ROPE_PLAIN);
    assert_near(rope->base, 10000.0, 0.0);
    assert_near(rope->fraction, 1.0, 0.0);
    assert_false(rope->interleaved);
    read_text(*state, NUMERICS("\"rope\": {\"fraction\": 0.25, \"interleaved\": true}"));
    assert_near(rope->fraction, 0.25, 0.0);
    assert_true(rope->interleaved);
}

static void test_rope__is_read_with_its_scaling(void **state)
{
    const plait_rope *rope =
        &read_text(
             *state,
             NUMERICS("\"rope\": {\"kind\": \"yarn\", \"factor\": 40, \"original_seq\": 4096, "
                      "\"local_base\": 1e4, \"low_freq\": 1, \"high_freq\": 4, "
                      "\"beta_fast\": 32, \"beta_slow\": 2, \"mscale\": 0.5, "
                      "\"mscale_all_dim\": 0.25}"))
             ->rope;

    assert_int_equal(rope->kind, PLAIT_ROPE_YARN);
    assert_near(rope->factor, 40.0, 0.0);
    assert_int_equal(rope->original_seq, 4096);
    assert_near(rope->local_base, 1e4, 0.0);
    assert_near(rope->low_freq, 1.0, 0.0);
    assert_near(rope->high_freq, 4.0, 0.0);
    assert_near(rope->beta_fast, 32.0, 0.0);
    assert_near(rope->beta_slow, 2.0, 0.0);
    assert_near(rope->mscale, 0.5, 0.0);
    assert_near(rope->mscale_all_dim, 0.25, 0.0);
}

static void test_router__leaves_weights_as_they_are_unless_said_otherwise(void **state)
{
    const plait_router *router =
        &read_text(*state, NUMERICS("\"router\": {\"score\": \"softmax\"}"))->router;

    assert_int_equal(router->score, PLAIT_ROUTER_SOFTMAX);
    assert_near(router->scale, 1.0, 0.0);
    assert_false(router->normalised || router->correction_bias);
    read_text(*state, NUMERICS("\"router\": {\"score\": \"sigmoid\", \"normalised\": true, "
                               "\"correction_bias\": true, \"scale\": 2.5, \"aux_loss\": 1e-4}"));
    assert_int_equal(router->score, PLAIT_ROUTER_SIGMOID);
    assert_true(router->normalised && router->correction_bias);
    assert_near(router->scale, 2.5, 0.0);
    assert_near(router->aux_loss, 1e-4, 0.0);
}

static void test_refusals__say_where_and_why(void **state)
{
    static const struct {
        const char *text;
        plait_status status;
        const char *where;
        const char *message; /* a part of it */
    } cases[] = {
        {MODEL("\"numerics\": 3, "), PLAIT_ERROR_SCHEMA, "x.json:/numerics", "expected an object"},
        {NUMERICS("\"activaton\": \"silu\""), PLAIT_ERROR_SCHEMA, "x.json:/numerics/activaton",
         "\"activation\""},
        {NUMERICS("\"activation\": \"swish\""), PLAIT_ERROR_SCHEMA, "x.json:/numerics/activation",
         "found \"swish\""},
        {NUMERICS("\"norm_eps\": -1e-5"), PLAIT_ERROR_RANGE, "x.json:/numerics/norm_eps",
         "found -1e-05"},
        {NUMERICS("\"init_std\": 2"), PLAIT_ERROR_RANGE, "x.json:/numerics/init_std", "found 2"},
        {NUMERICS("\"logit_scale\": -1"), PLAIT_ERROR_RANGE, "x.json:/numerics/logit_scale",
         "found -1"},
        {NUMERICS("\"alibi\": 1"), PLAIT_ERROR_SCHEMA, "x.json:/numerics/alibi", "found 1"},
        {NUMERICS("\"rope\": 10000"), PLAIT_ERROR_SCHEMA, "x.json:/numerics/rope",
         "expected an object"},
        {NUMERICS("\"rope\": {\"theta\": 1e4}"), PLAIT_ERROR_SCHEMA, "x.json:/numerics/rope/theta",
         "theta"},
        {NUMERICS("\"rope\": {\"kind\": \"dynamic\"}"), PLAIT_ERROR_SCHEMA,
         "x.json:/numerics/rope/kind", "found \"dynamic\""},
        {NUMERICS("\"rope\": {\"fraction\": 1.5}"), PLAIT_ERROR_RANGE,
         "x.json:/numerics/rope/fraction", "found 1.5"},
        {NUMERICS("\"rope\": {\"original_seq\": 0.5}"), PLAIT_ERROR_RANGE,
         "x.json:/numerics/rope/original_seq", "found 0.5"},
        {NUMERICS("\"router\": {\"score\": \"tanh\"}"), PLAIT_ERROR_SCHEMA,
         "x.json:/numerics/router/score", "found \"tanh\""},
        {NUMERICS("\"router\": {\"scale\": -2}"), PLAIT_ERROR_RANGE,
         "x.json:/numerics/router/scale", "found -2"},
    };
    model_fixture *test = *state;

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (parse(test, cases[c].text) == PLAIT_OK)
            fail_msg("not refused: %s", cases[c].text);
        if (strstr(test->err.message, cases[c].message) == NULL)
            assert_string_equal(test->err.message, cases[c].message);
        assert_string_equal(test->err.where, cases[c].where);
        assert_int_equal(test->err.status, cases[c].status);
    }
}

/* ---- writing ---- */

static void assert_survives(model_fixture *test, const plait_model *model)
{
    const plait_model before = *model;
    const char *const text = written(test, &before);
    const char *const difference = numerics_difference(&before.numerics, read_text(test, text));

    if (difference != NULL)
        fail_msg("%s: %s did not survive:\n%s", before.name, difference, text);
    assert_string_equal(written(test, &test->model), text);
}

static void test_numerics__are_not_written_when_unknown(void **state)
{
    model_fixture *test = *state;

    read_text(test, MODEL(""));
    assert_null(strstr(written(test, &test->model), "numerics"));
}

/* Each alone, so that no member hides behind another; a scale or a fraction of 0 is not the default. */
static void test_numerics__survive_alone(void **state)
{
    static const char *const texts[] = {
        NUMERICS("\"activation\": \"clamped_swiglu\""),
        NUMERICS("\"alibi\": true"),
        NUMERICS("\"logit_scale\": 0.5773502691896257"),
        NUMERICS("\"rope\": {\"fraction\": 0, \"original_seq\": 1}"),
        NUMERICS("\"rope\": {\"kind\": \"other\", \"fraction\": 0}"),
        NUMERICS("\"rope\": {}"),
        NUMERICS("\"router\": {\"score\": \"sigmoid\", \"scale\": 0}"),
        NUMERICS("\"router\": {}"),
    };
    model_fixture *test = *state;

    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        read_text(test, texts[t]);
        assert_survives(test, &test->model);
    }
}

static int survivors(model_fixture *test, const char *folder)
{
    DIR *const dir = opendir(folder);
    int count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[512];

        if (!text_ends_with(entry->d_name, ".json"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (plait_model_load(path, test->arena, &test->model, NULL, &test->err) != PLAIT_OK)
            fail_msg("%s: %s", test->err.where, test->err.message);
        // plait does not have SiTU, the activation of Kimi K3.
        if ((test->model.numerics.activation == PLAIT_ACTIVATION_UNKNOWN &&
             strcmp(entry->d_name, "kimi-k3.json") != 0) ||
            test->model.numerics.norm_eps == 0.0)
            fail_msg("%s: activation or epsilon unknown", path);
        assert_survives(test, &test->model);
        count++;
    }
    closedir(dir);
    return count;
}

static void test_models__have_numerics_that_survive(void **state)
{
    assert_true(survivors(*state, "models") >= 89);
}

static void test_samples__have_numerics_that_survive(void **state)
{
    assert_int_equal(survivors(*state, "tests/data/hf_configs"), 72);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names__are_as_many_as_the_words),
        TEST(test_numerics__are_unknown_when_missing),
        TEST(test_numerics__are_read),
        TEST(test_rope__rotates_all_of_a_head_unless_said_otherwise),
        TEST(test_rope__is_read_with_its_scaling),
        TEST(test_router__leaves_weights_as_they_are_unless_said_otherwise),
        TEST(test_refusals__say_where_and_why),
        TEST(test_numerics__are_not_written_when_unknown),
        TEST(test_numerics__survive_alone),
        TEST(test_models__have_numerics_that_survive),
        TEST(test_samples__have_numerics_that_survive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
