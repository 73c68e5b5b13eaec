/* test_step_log.c - step times out of what training software prints */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/must.h"
#include "io/csv/step_log.h"

static step_log parsed(const char *text)
{
    step_log log;
    plait_error err;

    must(step_log_parse(text, strlen(text), "run.log", arena, &log, &err), &err);
    return log;
}

static void test_logs__of_each_software_are_read(void **state)
{
    (void)state;
    assert_near_relative(
        parsed(" iteration 3/ 10 | elapsed time per iteration (ms): 1250.5 | lm loss: 1\n").step_s,
        1.2505, 1e-12);
    assert_near_relative(
        parsed("[TP=0] iteration: 3 | elapsed_time_per_iteration_ms: 1.25K | tokens: 9\n").step_s,
        1.25, 1e-12);
    assert_near_relative(parsed("steps: 10 loss: 2.5 iter time (s): 0.875 samples/sec: 9.1").step_s,
                         0.875, 1e-12);
    const step_log titan = parsed("step: 10  loss: 8  memory: 45.1GiB(57%)  tps: 7,190  mfu: 40%");
    assert_true(titan.step_s == 0.0);
    assert_near_relative(titan.tokens_per_s, 7190.0, 1e-12);
}

static void test_steps_of_more_software__are_read(void **state)
{
    static const struct {
        const char *text;
        double step_s;
    } logs[] = {
        {" iteration        2/ 95367 | consumed samples: 4096 | elapsed time per iteration (s): "
         "24.36 "
         "| learning rate: 3.787E-06 |",
         24.36},
        {"iteration 10/50 | elapsed time per iteration (ms): 24360.0/25000.0 | throughput", 24.36},
        {"iteration: 3 / 9 | time_per_iteration_ms: 24.36K | tokens_per_sec: 5M", 24.36},
        {"Training epoch 0, iteration 1/249 | global_step: 1 | train_step_timing in s: 24.36",
         24.36},
        {"Epoch 0: : 1%|1| 1/9 [10:48<9:00, global_step=9.00, train_step_timing in s=24.36]",
         24.36},
        {"[Rank 0] time (ms) | fwd_microstep: 9.00 | bwd_microstep: 9.00\n"
         "[Rank 0] time (ms) | fwd: 8000.00 | bwd: 16000.00 | bwd_inner: 9.00 | bwd_allreduce: "
         "9.00 "
         "| step: 360.00",
         24.36},
        {"{'loss': 2.0, 'train_speed(iter/s)': 0.041051, 'elapsed_time': '34s'}", 24.36},
        {"{\"loss\": 2.0, \"iteration\": \"400/426\", \"train_speed(s/it)\": 24.36}", 24.36},
        {"{\"current_steps\": 50, \"loss\": 2.8, \"elapsed_time\": \"0:20:18\"}\n"
         "{\"current_steps\": 100, \"loss\": 2.3, \"elapsed_time\": \"0:40:36\"}\n",
         24.36},
        {"Wall time,Step,Value\r\n1700000000.5,10,9.1\r\n1700000244.1,20,8.7\r\n", 24.36},
        {"  Total optimization steps = 1,000\n"
         "{'train_runtime': 24360.0, 'train_samples_per_second': 10.5, 'train_steps_per_second': "
         "0.041, 'train_loss': 1.3}",
         24.36},
        {"  Total optimization steps = 1,000\n  Continuing training from global step 900\n"
         "{'train_runtime': 2436.0, 'train_steps_per_second': 0.411, 'train_loss': 1.3}",
         24.36},
        {"iteration 3/ 9 | elapsed time per iteration (ms): 2.436e+04 | lm loss", 24.36},
        {"{'train_runtime': 40.0, 'train_steps_per_second': 0.25, 'train_loss': 1.3}", 4.0},
        {"  train_runtime            = 6:46:00.00\n  train_steps_per_second   =      0.25\n", 4.0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        assert_near_relative(parsed(logs[i].text).step_s, logs[i].step_s, 1e-4);
    const step_log rate =
        parsed("epoch=0/micro_step=8/global_step=4, RunningAvgSamplesPerSec=9.1, "
               "CurrSamplesPerSec=8.0, MemAllocated=6.0GB, MaxMemAllocated=19.5GB");
    assert_near_relative(step_log_seconds(&rate, &(plait_job){.seq = 4096, .gbs = 64, .gpus = 8}),
                         8.0, 1e-12);
    assert_near_relative(rate.peak_bytes, 19.5 * (1 << 30), 1e-12);
}

/* tqdm writes over its line with carriage returns, and a log has other bars than that of training. */
static void test_progress_bars__are_read_of_the_longest(void **state)
{
    (void)state;
    assert_near_relative(
        parsed(
            "Loading checkpoint shards: 100%|#| 4/4 [00:30<00:00,  7.50s/it]\n"
            "  0%|          | 0/1000 [00:00<?, ?it/s]\r  0%|1| 1/1000 [01:40<27:45:00, 100.00s/it]"
            "\r  0%|2| 2/1000 [02:05<12:00:00, 24.36s/it]\r  3%|3| 30/1000 [13:27<6:34:20, "
            "24.36s/it, loss=2]\n  0%| | 3/50 [00:09<02:30, 3.00s/it]\n")
            .step_s,
        (807.0 - 125.0) / 28.0, 1e-12);
    assert_near_relative(parsed("Epoch 0: 5%|#| 50/1000 [00:25<08:00, 2.00it/s, v_num=0]").step_s,
                         0.5, 1e-12);
}

/* The clocks of a bar are exact where its rate is an average, or has no digits. */
static void test_steps_of_bars__are_differences_of_their_clocks(void **state)
{
    static const struct {
        const char *text;
        double step_s;
    } logs[] = {
        // the running average still has the compilation of the first step
        {"1/9 [05:00<9:00, 300.0s/it]\r2/9 [05:30<9:00, 200.0s/it]\r4/9 [06:30<9:00, 90.0s/it]",
         30.0},
        // resumed at step 900
        {"901/1000 [00:24<9:00, 36.98it/s]\r930/1000 [12:11<9:00, 1.27it/s]\r"
         "940/1000 [16:15<9:00, 1.02it/s]",
         24.36},
        // one bar, twice: its rate
        {"30/1000 [12:11<6:34:20, 24.36s/it]\n30/1000 [12:11<6:34:20, 24.36s/it]\n", 24.36},
        {"901/1000 [00:24<9:00, 24.36s/it]", 24.36},
        // Lightning's rates of two decimals, of one bar and of two
        {"Epoch 0: 30/1000 [36:30<19:34:20, 0.01it/s]", 73.0},
        {"Epoch 0: 4/1000 [16:40<19:34:20, 0.00it/s]", 250.0},
        {"Epoch 0: 10/1000 [12:10<9:00, 0.01it/s]\rEpoch 0: 30/1000 [36:30<9:00, 0.01it/s]", 73.0},
        // files load longer than a short training, an evaluation has the same number of steps
        {"4/4 [30:00<00:00, 450.0s/it]\n1/500 [01:00<9:00, 60.0s/it]\n5/500 [05:00<9:00, "
         "60.0s/it]\n1/500 [00:01<9:00, 1.0s/it]\r100/500 [01:40<9:00, 1.0s/it]\n"
         "10/500 [10:00<9:00, 60.0s/it]\n",
         60.0},
        // the clock runs on during the evaluation after step 8
        {"1/12 [02:00<9:00, 9s/it]\r6/12 [12:00<9:00, 9s/it]\r8/12 [16:00<9:00, 9s/it]\r"
         "10/12 [50:00<9:00, 9s/it]\r12/12 [54:00<0:00, 9s/it]\r",
         120.0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        assert_near_relative(parsed(logs[i].text).step_s, logs[i].step_s, 2e-3);
}

/* The rate of Argonne's Megatron-DeepSpeed leaves out most of the step. */
static void test_times_of_steps__count_before_rates(void **state)
{
    static const char rate[] = "epoch=0/micro_step=3/global_step=3, RunningAvgSamplesPerSec=74.6, "
                               "CurrSamplesPerSec=74.685";
    static const char parts[] =
        "[Rank 0] time (ms) | fwd: 3865.91 | bwd: 11249.43 | bwd_inner: 9.0 | step: 888.45";
    char text[1000];

    (void)state;
    snprintf(text, sizeof text, "%s\n%s\n", rate, parts);
    assert_near_relative(parsed(text).step_s, 16.00379, 1e-12);
    snprintf(text, sizeof text,
             "%s\n%s\n-  iteration=       3/  317892 | consumed_samples=         768 | "
             "elapsed_time_per_iteration_ms=16071.8 | learning_rate=0.0\n",
             rate, parts);
    assert_near_relative(parsed(text).step_s, 16.0718, 1e-12);
}

/* torchtitan's validation is a forward pass. */
static void test_validation_of_torchtitan__is_no_step(void **state)
{
    (void)state;
    assert_near_relative(
        parsed("step:  1  loss: 8.0  memory: 45.10GiB(57%)  tps: 7,190  mfu: 40%\n"
               "validate step:  1  loss: 8.0  memory: 45.10GiB(57%)  tps: 90,000\n")
            .tokens_per_s,
        7190.0, 1e-12);
}

/* Two steps of 60 s and two of 24.27 s and 24.45 s: the mean of the last two. */
static void test_the_first_half__is_warm_up(void **state)
{
    (void)state;
    const step_log log = parsed("Step Time : 60.00s GPU utilization: 214.2MODEL_TFLOP/s/GPU\n"
                                "Step Time : 60.00s GPU utilization: 214.2MODEL_TFLOP/s/GPU\n"
                                "Step Time : 24.27s GPU utilization: 529.5MODEL_TFLOP/s/GPU\n"
                                "Step Time : 24.45s GPU utilization: 525.8MODEL_TFLOP/s/GPU\n");
    assert_int_equal(log.steps, 2);
    assert_near_relative(log.step_s, 24.36, 1e-12);
}

/* Of five steps the first two warm up; the median of 3, 9, 4 is 4. */
static void test_first_steps__do_not_count(void **state)
{
    (void)state;
    const step_log log = parsed("iter time (s): 90\niter time (s): 80\niter time (s): 3\n"
                                "nothing here\niter time (s): 9\niter time (s): 4\n");
    assert_int_equal(log.steps, 3);
    assert_near_relative(log.step_s, 4.0, 1e-12);
}

static void test_other_text__is_refused_in_a_line(void **state)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "iter time (s):",
                                        "iter time (s): fast",
                                        "step: 1 tps: 0",
                                        "outputs: 5",
                                        "Map: 100%|#| 10/10 [00:01<00:00, 9.0 examples/s]",
                                        "1/2 [00:01<00:00",
                                        "1/2 [00:01<00:00, ?it/s]",
                                        "/2 [1<2, 3s/it]",
                                        "Wall time,Step,Value\n1,1,1\n",
                                        "{'train_runtime': 9.0, 'train_steps_per_second': 0.004}",
                                        "elapsed time per iteration (ms): 1.2.3"};
    step_log log;
    plait_error err;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(step_log_parse(texts[i], strlen(texts[i]), "run.log", arena, &log, &err),
                         PLAIT_ERROR_SCHEMA);
        assert_string_equal(err.where, "run.log");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_logs__of_each_software_are_read, begin, end),
        cmocka_unit_test_setup_teardown(test_steps_of_more_software__are_read, begin, end),
        cmocka_unit_test_setup_teardown(test_progress_bars__are_read_of_the_longest, begin, end),
        cmocka_unit_test_setup_teardown(test_steps_of_bars__are_differences_of_their_clocks, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_times_of_steps__count_before_rates, begin, end),
        cmocka_unit_test_setup_teardown(test_validation_of_torchtitan__is_no_step, begin, end),
        cmocka_unit_test_setup_teardown(test_the_first_half__is_warm_up, begin, end),
        cmocka_unit_test_setup_teardown(test_first_steps__do_not_count, begin, end),
        cmocka_unit_test_setup_teardown(test_other_text__is_refused_in_a_line, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
