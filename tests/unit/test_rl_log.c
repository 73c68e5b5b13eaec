/* test_rl_log.c - logs of verl and NeMo-RL: each format, medians, and logs without steps */
#include <math.h>
#include <string.h>

#include "io/csv/rl_log.h"
#include "support/assert_near.h"

static rl_log read(const char *text)
{
    static plait_arena *arena;
    plait_error err;
    rl_log log;

    plait_arena_free(arena);
    arena = plait_arena_new();
    assert_non_null(arena);
    assert_int_equal(rl_log_parse(text, strlen(text), "run.log", arena, &log, &err), PLAIT_OK);
    return log;
}

static void test_rl_log__of_verl(void **state)
{
    // step 0 is a validation; steps 1 and 2 are warm-up
    const rl_log log =
        read("step:0 - val-core/gsm8k/acc/mean@1:0.5\n"
             "step:1 - timing_s/gen:90 - timing_s/update_actor:70 - timing_s/step:200\n"
             "step:2 - timing_s/gen:80 - timing_s/update_actor:60 - timing_s/step:190\n"
             "(pid=1) step:3 - timing_s/gen:10.5 - timing_s/generate_sequences:9 - "
             "timing_s/old_log_prob:4 - timing_s/ref:3 - timing_s/values:1 - "
             "timing_s/update_critic:2 - timing_s/update_actor:8 - timing_s/update_weights:0.5 - "
             "timing_s/testing:6 - timing_s/step:np.float64(36.25) - response_length/mean:100.0 - "
             "response_length/max:400.0 - prompt_length/mean:20.0\n"
             "step:4 - timing_s/gen:11.5 - timing_s/update_actor:9 - timing_s/step:30.25\n");

    (void)state;
    assert_int_equal(log.framework, PLAIT_RL_VERL);
    assert_int_equal(log.steps, 4);
    assert_int_equal(log.used, 2);
    assert_false(log.ahead);
    assert_near(log.step_s, 33.25, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_rollout], 11.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_logprob], 4.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_reference], 3.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_critic], 3.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_train], 8.5, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_handover], 0.5, 1e-12);
    assert_near(log.rest_s, 6.0, 1e-12);
    assert_near(log.prompt_tokens, 20.0, 1e-12);
    assert_near(log.answer_tokens, 100.0, 1e-12);
    assert_near(log.longest_answer, 400.0, 1e-12);
    assert_true(isnan(log.phase_s[PLAIT_RL_wait]));
}

static void test_rl_log__of_asynchronous_verl(void **state)
{
    const rl_log log = read("step:1 - timing_s/gen:2 - timing_s/update_actor:7 - "
                            "timing_s/sync_rollout_weights:1.5 - timing_s/step:12\n");

    (void)state;
    assert_true(log.ahead);
    assert_true(isnan(log.phase_s[PLAIT_RL_rollout]));
    assert_near(log.phase_s[PLAIT_RL_wait], 2.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_handover], 1.5, 1e-12);
}

static void test_rl_log__of_nemo_rl(void **state)
{
    const rl_log log = read("  \u2022 Mean Generation Length: 802.5000\n"
                            "\u23f1\ufe0f  Timing:\n"
                            "  \u2022 Total step time: 116.00s\n"
                            "  \u2022 generation: 56.00s (48.3%)\n"
                            "  \u2022 policy_training: 27.00s (23.3%)\n"
                            "  \u2022 policy_and_reference_logprobs: 18.00s (15.5%)\n"
                            "  \u2022 prepare_for_generation/total: 8.00s (6.9%)\n"
                            "  \u2022 training_prep: 0.50s (0.4%)\n"
                            "  \u2022 logprob_inference_prep: 0.25s (0.2%)\n"
                            "    - E2E (Tokens/sec/gpu): 2230.25\n"
                            "  \u2022 Mean Generation Length: 900.0000\n");

    (void)state;
    assert_int_equal(log.framework, PLAIT_RL_NEMO_RL);
    assert_int_equal(log.steps, 1);
    assert_near(log.step_s, 116.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_rollout], 56.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_train], 27.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_logprob], 18.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_handover], 8.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_swap], 0.75, 1e-12);
    assert_near(log.answer_tokens, 802.5, 1e-12);
    assert_near(log.tokens_per_s, 2230.25, 1e-12);
}

static void test_rl_log__of_asynchronous_nemo_rl(void **state)
{
    const rl_log log = read("  \u2022 Total step time: 64.10s\n"
                            "  \u2022 policy_training: 30.00s\n  \u2022 weight_sync: 9.00s\n"
                            "  \u2022 exposed_generation: 5.00s\n");

    (void)state;
    assert_true(log.ahead);
    assert_near(log.phase_s[PLAIT_RL_wait], 5.0, 1e-12);
    assert_near(log.phase_s[PLAIT_RL_handover], 9.0, 1e-12);
    assert_true(isnan(log.answer_tokens));
}

/* Fine-tuning by NeMo-RL prints the same block without generation. */
static void test_rl_log__refuses_other_logs(void **state)
{
    static const char *const texts[] = {
        "",
        "step:3 - train/loss:0.5\n",
        "  \u2022 Total step time: 6.00s\n  \u2022 policy_training: 5.00s (80.0%)\n",
    };
    plait_arena *const arena = plait_arena_new();
    plait_error err;
    rl_log log;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(rl_log_parse(texts[i], strlen(texts[i]), "run.log", arena, &log, &err),
                         PLAIT_ERROR_SCHEMA);
        assert_string_equal(err.where, "run.log");
    }
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rl_log__of_verl),
        cmocka_unit_test(test_rl_log__of_asynchronous_verl),
        cmocka_unit_test(test_rl_log__of_nemo_rl),
        cmocka_unit_test(test_rl_log__of_asynchronous_nemo_rl),
        cmocka_unit_test(test_rl_log__refuses_other_logs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
