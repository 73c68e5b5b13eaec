/* test_model_training.c - with what models were trained: read, written, refused, and what launches */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "io/model/model_file.h"
#include "support/must.h"
#include "plait/data.h"
#include "launch/write/training.h"

static plait_error err;

static int begin(void **state)
{
    *state = plait_arena_new();
    return *state == NULL;
}

static int end(void **state)
{
    plait_arena_free(*state);
    return 0;
}

static plait_status parse(plait_arena *arena, const char *training, plait_model *out)
{
    char text[1024];

    snprintf(
        text, sizeof text,
        "{\"name\": \"m\", \"source\": \"s\", \"hidden\": 64, \"vocab\": 100, \"norm\": \"rms\", "
        "\"training\": %s, "
        "\"kinds\": {\"k\": {\"attention\": {\"heads\": 4}, \"mlp\": {\"width\": 128}}}, "
        "\"layers\": [{\"kind\": \"k\"}]}",
        training);
    return plait_model_parse(text, strlen(text), "m.json", arena, out, NULL, &err);
}

static plait_model read(plait_arena *arena, const char *training)
{
    plait_model model;

    must(parse(arena, training, &model), &err);
    return model;
}

/* 64 sequences of 4096 a step: 262144 tokens. */
static launch_training asked(const plait_model *model)
{
    plait_problem problem;

    plait_problem_init(&problem);
    problem.model = model;
    problem.job = (plait_job){.seq = 4096, .gbs = 64, .gpus = 8};
    return training_of(&problem);
}

static void test_training__comes_back_from_json(void **state)
{
    const plait_model model = read(
        *state, "{\"source\": \"a paper\", \"lr\": 3e-4, \"min_lr\": 3e-5, \"decay\": \"linear\", "
                "\"tokens\": 2e12, \"decay_tokens\": 1e12, \"warmup_steps\": 2000, \"beta1\": 0.9, "
                "\"beta2\": 0.95, \"eps\": 1e-5, \"weight_decay\": 0, \"clip\": 1, "
                "\"balance\": \"sequence\", \"bias_rate\": 0.001, \"mtp_loss\": 0.3}");
    json_writer json;
    plait_model back;
    const char *text;
    size_t length;

    json_writer_init(&json, *state);
    model_write(&json, &model);
    must(json_writer_finish(&json, &text, &length, &err), &err);
    must(plait_model_parse(text, length, "back.json", *state, &back, NULL, &err), &err);
    assert_string_equal(back.training.source, "a paper");
    assert_int_equal(back.training.decay, PLAIT_LR_LINEAR);
    assert_int_equal(back.training.balance, PLAIT_BALANCE_SEQUENCE);
    assert_near(back.training.lr, 3e-4, 0.0);
    assert_near(back.training.decay_tokens, 1e12, 0.0);
    assert_near(back.training.weight_decay, 0.0, 0.0);
    assert_near(back.training.mtp_loss, 0.3, 0.0);
}

static void test_training__is_refused_with_the_place(void **state)
{
    static const char *const rows[][2] = {
        {"{\"lr\": 1e-4}", "/training"},
        {"{\"source\": \"s\", \"rate\": 1}", "/training"},
        {"{\"source\": \"s\", \"decay\": \"slow\"}", "/training/decay"},
        {"{\"source\": \"s\", \"lr\": 1e-4, \"min_lr\": 2e-4}", "/training/min_lr"},
    };
    plait_model model;

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        assert_int_not_equal(parse(*state, rows[r][0], &model), PLAIT_OK);
        if (strstr(err.where, rows[r][1]) == NULL)
            fail_msg("%s: %s", rows[r][0], err.where);
    }
}

/* 1e9 tokens are 3815 steps of 262144, of which the last 0.5e9 are 1908. */
static void test_steps__follow_from_tokens(void **state)
{
    const plait_model model =
        read(*state, "{\"source\": \"s\", \"lr\": 2e-4, \"tokens\": 1e9, \"decay_tokens\": 5e8, "
                     "\"warmup_tokens\": 1e8}");
    const launch_training t = asked(&model);

    assert_int_equal(t.total_steps, 3815);
    assert_int_equal(t.decay_steps, 1908);
    assert_int_equal(t.warmup_steps, 382);
    assert_near(t.min_lr, 2e-5, 1e-12);
}

/* Megatron-LM refuses a warm-up that is as long as the schedule. */
static void test_warmup__is_shorter_than_the_schedule(void **state)
{
    plait_model model = read(*state, "{\"source\": \"s\", \"warmup_steps\": 2000}");

    assert_int_equal(asked(&model).total_steps, 20000);
    model = read(*state, "{\"source\": \"s\", \"tokens\": 1e8, \"warmup_steps\": 2000}");
    assert_int_equal(asked(&model).total_steps, 382);
    assert_int_equal(asked(&model).warmup_steps, 381);
    assert_int_equal(asked(&model).decay_steps, 1);
}

static void test_placeholders__are_named(void **state)
{
    const training_places places = {.values = "--lr"};
    const plait_model model =
        read(*state, "{\"source\": \"a\", \"lr\": 2e-4, \"warmup_steps\": 10, \"clip\": 1}");
    plait_problem problem;
    text_builder out;
    const char *text;

    plait_problem_init(&problem);
    problem.model = &model;
    text_builder_init(&out, *state);
    training_append_edits(&problem, &places, &out);
    text = text_builder_finish(&out, NULL);
    assert_non_null(text);
    assert_non_null(strstr(text, "published: a\n"));
    assert_non_null(strstr(
        text, "placeholders: final learning rate, learning rate decay, length, betas, epsilon, "
              "weight decay\n"));
    assert_null(strstr(text, "checkpoints"));
}

static void test_shipped_models__have_values_that_can_be(void **state)
{
    const char *const *names;
    size_t count;
    int known = 0;

    must(plait_data_list(PLAIT_DATA_MODELS, *state, &names, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        plait_model model;
        launch_training t;

        must(plait_model_find(names[i], *state, &model, NULL, &err), &err);
        known += model.training.source != NULL;
        t = asked(&model);
        assert_in_range(t.warmup_steps, 1, t.total_steps - 1);
        assert_in_range(t.decay_steps, 1, t.total_steps - t.warmup_steps);
        assert_true(t.lr > 0.0 && t.lr < 1e-3 && t.min_lr < t.lr);
        assert_true(t.beta1 < t.beta2 && t.beta2 < 1.0);
    }
    assert_true(known > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_training__comes_back_from_json, begin, end),
        cmocka_unit_test_setup_teardown(test_training__is_refused_with_the_place, begin, end),
        cmocka_unit_test_setup_teardown(test_steps__follow_from_tokens, begin, end),
        cmocka_unit_test_setup_teardown(test_warmup__is_shorter_than_the_schedule, begin, end),
        cmocka_unit_test_setup_teardown(test_placeholders__are_named, begin, end),
        cmocka_unit_test_setup_teardown(test_shipped_models__have_values_that_can_be, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
