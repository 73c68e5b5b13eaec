/* test_rl.c - lengths, phases, memory and search of reinforcement-learning steps */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plait/rl.h"
#include "support/assert_near.h"
#include "support/must.h"
#include "support/rl_world.h"

enum { GPUS = 16, ANSWERS = 512 };

static plait_arena *arena;
static rl_world at;
static plait_rl_plan plan;

static int begin(void **state)
{
    const plait_length_shape answer = {.mean = 1000.0, .p90 = 2000.0, .max = 4096.0};

    (void)state;
    arena = plait_arena_new();
    rl_world_make(&at, "qwen3-8b", "megatron", GPUS, 512.0, answer, arena);
    at.job.prompts = 64;
    at.job.generations = ANSWERS / 64;
    plan = (plait_rl_plan){.train_gpus = GPUS,
                           .rollout_gpus = GPUS,
                           .degrees = plait_degrees_init(),
                           .worker = {2, 1, 1, 1}};
    plan.degrees.tp = 2;
    plan.degrees.sp = 1;
    plan.degrees.dp = GPUS / 2;
    plan.degrees.zero = 1;
    plan.degrees.recompute.kind = PLAIT_RECOMPUTE_FULL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

static plait_rl_price price_of(const plait_rl_plan *one)
{
    plait_rl_price price;
    plait_error err;

    must(plait_rl_price_of(&at.job, one, false, arena, &price, &err), &err);
    return price;
}

static int by_output(const void *a, const void *b)
{
    const plait_request_lengths *const left = a, *const right = b;

    return (left->output > right->output) - (left->output < right->output);
}

static void test_lengths__have_the_stated_mean_quantile_and_limit(void **state)
{
    plait_request_lengths sorted[1024];
    double sum = 0.0;

    (void)state;
    assert_in_range(at.lengths.count, 100, 1024);
    memcpy(sorted, at.lengths.request, (size_t)at.lengths.count * sizeof *sorted);
    qsort(sorted, (size_t)at.lengths.count, sizeof *sorted, by_output);
    for (int i = 0; i < at.lengths.count; i++)
        sum += sorted[i].output;
    assert_near_relative(sum / at.lengths.count, 1000.0, 2e-3);
    assert_near_relative(sorted[(int)(0.9 * at.lengths.count)].output, 2000.0, 2e-2);
    assert_true(sorted[at.lengths.count - 1].output <= 4096.0);
    assert_near_relative(sorted[0].input, 512.0, 0.0);
}

static void test_lengths__that_are_not_ordered_are_refused(void **state)
{
    static const plait_length_shape wrong[] = {
        {.mean = 100.0, .max = 50.0},
        {.mean = 100.0, .p90 = 50.0, .max = 200.0},
        {.mean = 100.0, .p90 = 300.0, .max = 200.0},
        {.mean = 0.0, .max = 200.0},
        {.mean = (double)NAN, .max = 200.0},
        {.mean = 100.0, .max = (double)INFINITY},
    };
    plait_lengths out;
    plait_error err;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(plait_rl_lengths_of(512.0, wrong[i], arena, &out, &err),
                         PLAIT_ERROR_RANGE);
    assert_int_equal(plait_rl_lengths_of(0.0, wrong[0], arena, &out, &err), PLAIT_ERROR_RANGE);
}

/* Packs hold all tokens of an update, with less than one unit of 64 tokens of padding in each. */
static void test_update__packs_all_tokens(void **state)
{
    const double tokens = ANSWERS * (at.lengths.input.mean + at.lengths.output.mean);
    double sum = 0.0, squares = 0.0;
    plait_job update = at.job.problem.job;

    (void)state;
    plait_rl_update_job(&at.job, &update);
    assert_true((double)update.gbs * update.seq >= tokens);
    assert_true((double)update.gbs * (update.seq - 64) < tokens);
    assert_true(update.seq <= at.lengths.longest + 64);
    for (int i = 0; i < at.lengths.count; i++) {
        const double length = at.lengths.request[i].input + at.lengths.request[i].output;
        sum += length;
        squares += length * length;
    }
    assert_near_relative(update.document, squares / sum, 1e-3);
}

static void test_step__is_the_sum_of_phases_if_synchronous(void **state)
{
    const plait_rl_price price = price_of(&plan);
    double sum = 0.0;

    (void)state;
    assert_true(price.verdict <= PLAIT_TIGHT);
    for (int i = 0; i < PLAIT_RL_PHASES; i++)
        sum += price.phase_s[i];
    assert_near_relative(price.step_s, sum, 1e-12);
    assert_near_relative(price.phase_s[PLAIT_RL_reference], price.phase_s[PLAIT_RL_logprob], 0.0);
    assert_near_relative(price.tokens_per_s_per_gpu, price.tokens / price.step_s / GPUS, 1e-12);
}

/* Log-probabilities are a forward pass: between a fifth and a half of an update with recomputation. */
static void test_forward__is_a_part_of_an_update(void **state)
{
    const plait_rl_price price = price_of(&plan);
    const double share = price.phase_s[PLAIT_RL_logprob] / price.phase_s[PLAIT_RL_train];

    (void)state;
    assert_true(share > 0.2 && share < 0.5);
}

static void test_step__takes_the_longer_side_if_apart_and_ahead(void **state)
{
    plait_rl_plan apart = plan;

    (void)state;
    apart.placement = PLAIT_RL_APART;
    apart.train_gpus = apart.rollout_gpus = GPUS / 2;
    apart.degrees.dp = GPUS / 4;
    const plait_rl_price sync = price_of(&apart);
    apart.staleness = 1;
    const plait_rl_price ahead = price_of(&apart);
    const double *const phase = ahead.phase_s;
    const double training =
        phase[PLAIT_RL_logprob] + phase[PLAIT_RL_reference] + phase[PLAIT_RL_train];

    assert_near_relative(ahead.step_s,
                         fmax(phase[PLAIT_RL_rollout], training) + phase[PLAIT_RL_handover], 1e-12);
    assert_near_relative(sync.step_s - ahead.step_s, fmin(phase[PLAIT_RL_rollout], training), 1e-9);
    assert_true(ahead.idle_share < sync.idle_share);
    apart.handover = PLAIT_RL_BY_PARAMETER;
    assert_true(price_of(&apart).phase_s[PLAIT_RL_handover] > phase[PLAIT_RL_handover]);
}

/* A worker that runs k steps ahead has the answers of k steps at once, with one tail for all. */
static void test_generation__is_faster_with_more_answers_at_once(void **state)
{
    plait_rl_plan apart = plan;
    double before = (double)INFINITY;

    (void)state;
    apart.placement = PLAIT_RL_APART;
    apart.train_gpus = apart.rollout_gpus = GPUS / 2;
    apart.degrees.dp = GPUS / 4;
    for (apart.staleness = 1; apart.staleness <= 4; apart.staleness *= 2) {
        const double rollout_s = price_of(&apart).phase_s[PLAIT_RL_rollout];
        assert_true(rollout_s < before);
        before = rollout_s;
    }
    apart.staleness = 1;
    at.job.partial = true;
    assert_true(price_of(&apart).phase_s[PLAIT_RL_rollout] < before);
}

static void test_offload__moves_state_from_the_device_to_the_host(void **state)
{
    plait_rl_plan kept = plan;

    (void)state;
    kept.memory_fraction = 0.3;
    plait_rl_plan moved = kept;
    moved.offload = true;
    const plait_rl_price a = price_of(&kept), b = price_of(&moved);
    const double bytes = a.rollout.device_bytes - b.rollout.device_bytes;

    assert_true(bytes > 0.0);
    assert_near_relative(b.rollout.host_bytes - a.rollout.host_bytes, 8.0 * bytes, 1e-9);
    assert_true(b.phase_s[PLAIT_RL_swap] > 0.0 && a.phase_s[PLAIT_RL_swap] == 0.0);
}

static void test_handover__sends_all_weights_but_not_those_under_adapters(void **state)
{
    (void)state;
    assert_near_relative(price_of(&plan).handover_bytes,
                         2.0 * plait_model_params(&at.of.model).total, 1e-12);
    at.job.problem.job.tuning =
        (plait_tuning){.kind = PLAIT_JOB_RL, .rank = 16, .targets = PLAIT_LORA_USUAL_TARGETS};
    const plait_rl_price adapters = price_of(&plan);
    assert_near(adapters.handover_bytes, 0.0, 0.0);
    assert_near(adapters.phase_s[PLAIT_RL_handover], 0.0, 0.0);
}

static void test_critic__adds_its_passes(void **state)
{
    const plait_rl_price grpo = price_of(&plan);

    (void)state;
    at.job.algorithm = PLAIT_RL_PPO;
    at.job.critic = &at.of.model;
    const plait_rl_price ppo = price_of(&plan);
    assert_near_relative(ppo.step_s - grpo.step_s, ppo.phase_s[PLAIT_RL_critic], 1e-9);
    assert_near_relative(ppo.phase_s[PLAIT_RL_critic],
                         ppo.phase_s[PLAIT_RL_logprob] + ppo.phase_s[PLAIT_RL_train], 1e-9);
}

/* The search reuses generation between plans: its prices are those of the plans alone. */
static void test_search__prices_plans_as_they_are_alone(void **state)
{
    enum { SIMULATED = 4 };
    plait_rl_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plait_rl_options options;
    plait_rl_price alone;
    plait_error err;

    (void)state;
    plait_rl_options_init(&options);
    options.most_staleness = 2;
    options.top = 20;
    must(plait_rl_search(&at.job, &options, arena, answer, &err), &err);
    assert_true(answer->plans > SIMULATED);
    for (int i = 0; i < answer->plans; i++) {
        const plait_rl_ranked *const one = &answer->plan[i];
        must(plait_rl_price_of(&at.job, &one->plan, true, arena, &alone, &err), &err);
        if (alone.step_s != one->price.step_s)
            must(plait_rl_price_of(&at.job, &one->plan, false, arena, &alone, &err), &err);
        assert_true(alone.step_s == one->price.step_s);
        assert_true(alone.rollout.device_bytes == one->price.rollout.device_bytes);
        assert_true(i == 0 || answer->plan[i - 1].price.step_s <= one->price.step_s);
    }
}

static void test_fewest__fits_and_half_of_it_does_not(void **state)
{
    plait_rl_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plait_rl_options options;
    plait_error err;
    int gpus;

    (void)state;
    plait_rl_options_init(&options);
    options.only_placement = 1 + PLAIT_RL_COLOCATED;
    must(plait_search_limit(&options.training, "offload=none", &err), &err);
    must(plait_rl_fewest(&at.job, &options, GPUS, arena, &gpus, &err), &err);
    assert_in_range(gpus, 2, GPUS);
    at.job.problem.job.gpus = gpus;
    must(plait_rl_search(&at.job, &options, arena, answer, &err), &err);
    assert_true(answer->plans > 0);
    at.job.problem.job.gpus = gpus / 2;
    must(plait_rl_search(&at.job, &options, arena, answer, &err), &err);
    assert_int_equal(answer->plans, 0);
    must(plait_rl_fewest(&at.job, &options, gpus / 2, arena, &gpus, &err), &err);
    assert_int_equal(gpus, 0);
}

static void test_jobs__that_are_incomplete_are_refused(void **state)
{
    const plait_rl_job whole = at.job;
    plait_error err;

    (void)state;
    must(plait_rl_job_check(&at.job, &err), &err);
    at.job.prompts = 0;
    assert_int_equal(plait_rl_job_check(&at.job, &err), PLAIT_ERROR_RANGE);
    at.job = whole;
    at.job.generations = 1 << 30;
    assert_int_equal(plait_rl_job_check(&at.job, &err), PLAIT_ERROR_RANGE);
    at.job = whole;
    at.job.engine = NULL;
    assert_int_equal(plait_rl_job_check(&at.job, &err), PLAIT_ERROR_RANGE);
    at.job = whole;
    at.job.algorithm = PLAIT_RL_PPO;
    assert_int_equal(plait_rl_job_check(&at.job, &err), PLAIT_ERROR_RANGE);
    at.job = whole;
    at.job.environment_s = (double)NAN;
    assert_int_equal(plait_rl_job_check(&at.job, &err), PLAIT_ERROR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(test_lengths__have_the_stated_mean_quantile_and_limit),
        TEST(test_lengths__that_are_not_ordered_are_refused),
        TEST(test_update__packs_all_tokens),
        TEST(test_step__is_the_sum_of_phases_if_synchronous),
        TEST(test_forward__is_a_part_of_an_update),
        TEST(test_step__takes_the_longer_side_if_apart_and_ahead),
        TEST(test_generation__is_faster_with_more_answers_at_once),
        TEST(test_offload__moves_state_from_the_device_to_the_host),
        TEST(test_handover__sends_all_weights_but_not_those_under_adapters),
        TEST(test_critic__adds_its_passes),
        TEST(test_search__prices_plans_as_they_are_alone),
        TEST(test_fewest__fits_and_half_of_it_does_not),
        TEST(test_jobs__that_are_incomplete_are_refused),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
