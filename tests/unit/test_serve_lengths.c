/* test_serve_lengths.c - draws of lengths, conversations, moments, and traces of requests */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/assert_near.h"
#include "support/must.h"
#include "io/plans/request_trace.h"
#include "plait/data.h"
#include "plait/serve.h"

static plait_arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

static const plait_length_shape chat = {1155.0, 1020.0, 1850.0, 7437.0, 0.0};
static const plait_length_shape skewed = {1155.0, 1020.0, 2735.0, 14050.0, 0.0}; // many short ones
static const plait_length_shape even = {.mean = 200.0, .spread = 0.5};

static void test_sample__has_the_mean_and_the_quantiles(void **state)
{
    plait_request_lengths *request;
    plait_error err;
    int count;

    (void)state;
    must(plait_lengths_sample(chat, even, arena, &request, &count, &err), &err);
    const plait_lengths l = plait_lengths_of(request, count);
    assert_near_relative(l.input.mean, 1155.0, 0.001);
    assert_near_relative(l.input.p50, 1020.0, 0.005);
    assert_near_relative(l.input.p90, 1850.0, 0.005);
    assert_near(l.input.max, 7437.0, 0.0);
    assert_near_relative(l.output.mean, 200.0, 0.001);
    assert_near_relative(l.output.p90, 280.0, 0.005); // 100 + 0.9 x 200
    assert_near_relative(l.output_cv, 0.5 / sqrt(3.0), 0.01);
    must(plait_lengths_sample(skewed, even, arena, &request, &count, &err), &err);
    const plait_lengths short_ones = plait_lengths_of(request, count);
    assert_near_relative(short_ones.input.mean, 1155.0, 0.001);
    assert_near_relative(short_ones.input.p50, 1020.0, 0.005);
    assert_near_relative(short_ones.input.p90, 2735.0, 0.005);
    assert_near(short_ones.input.max, 14050.0, 0.0);
    // Prompts and answers are independent: the mean answer weights prompts as their mean does.
    assert_near_relative(l.whole, 1155.0 + 200.0 * (1.0 + 0.25 / 3.0), 0.005);
}

static void test_sample__rejects_a_mean_that_no_distribution_has(void **state)
{
    plait_length_shape shape = chat;
    plait_request_lengths *request;
    plait_error err;
    int count;

    (void)state;
    shape.mean = 3000.0;
    assert_int_equal(plait_lengths_sample(even, shape, arena, &request, &count, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "output");
    shape.mean = chat.mean;
    shape.p90 = 900.0; // below the median
    assert_int_equal(plait_lengths_sample(shape, even, arena, &request, &count, &err),
                     PLAIT_ERROR_RANGE);
}

/* The long answer decodes for three times as long, so a decoding sequence has it three times of four. */
static void test_moments__weight_sequences_by_their_answers(void **state)
{
    plait_request_lengths request[] = {{300.0, 30.0, 100.0, 100.0}, {100.0, 10.0, 0.0, 0.0}};
    const plait_lengths l = plait_lengths_of(request, 2);

    (void)state;
    assert_near(l.input.mean, 200.0, 1e-12);
    assert_near(l.cached, 50.0, 1e-12);
    assert_near_relative(l.context, 0.75 * 315.0 + 0.25 * 105.0, 1e-12);
    assert_near_relative(l.whole, 0.75 * 330.0 + 0.25 * 110.0, 1e-12);
    assert_near(l.longest, 330.0, 0.0);
    assert_near_relative(l.output_cv, 0.5, 1e-12);
    assert_near_relative(l.per_output, 0.5 * (1.0 / 9.0 + 1.0 / 29.0), 1e-12);
    assert_near(l.group[0].share + l.group[1].share + l.group[2].share + l.group[3].share +
                    l.group[4].share + l.group[5].share + l.group[6].share + l.group[7].share,
                1.0, 1e-12);
}

static void test_conversation__repeats_its_turns(void **state)
{
    const plait_request_lengths turn = {.input = 100.0, .output = 20.0};
    plait_request_lengths *request;
    plait_error err;
    int count;

    (void)state;
    must(plait_lengths_converse(&turn, 1, 3, arena, &request, &count, &err), &err);
    assert_int_equal(count, 3);
    for (int k = 0; k < 3; k++) {
        assert_near(request[k].cached, 120.0 * k, 0.0);
        assert_near(request[k].input, 100.0 + 120.0 * k, 0.0);
        assert_near(request[k].output, 20.0, 0.0);
    }
}

/* Equal requests are served as a load of their mean length, in a closed loop. */
static void test_equal_requests__are_a_load_of_one_length(void **state)
{
    plait_request_lengths request[10];
    plait_model model;
    plait_cluster cluster;
    plait_engine engine;
    plait_error err;

    (void)state;
    must(plait_model_find("llama-3.1-8b", arena, &model, NULL, &err), &err);
    must(plait_cluster_find("h100-80gb-sxm:1x1", arena, &cluster, &err), &err);
    must(plait_cluster_take(&cluster, 1, &err), &err);
    must(plait_engine_find("vllm", arena, &engine, &err), &err);
    for (int i = 0; i < 10; i++)
        request[i] = (plait_request_lengths){.input = 1000.0, .output = 100.0};
    const plait_lengths lengths = plait_lengths_of(request, 10);
    const plait_serving serving = {
        .model = &model, .cluster = &cluster, .worker = {1, 1, 1, 1}, .weights = PLAIT_WEIGHT_BF16};
    const plait_serve_memory memory = plait_serve_memory_of(&serving, 1100.0);
    plait_step_table table;
    assert_null(plait_step_table_fill(&serving, &table));
    const plait_deployment d = {.engine = &engine,
                                .replicas = 1,
                                .pool = {plait_pool_of(&table, &engine, &memory, 1, 0.0)}};
    plait_load load = {
        .kind = PLAIT_LOAD_CLOSED, .input = 1000.0, .output = 100.0, .concurrency = 16.0};
    const plait_service one = plait_serve(&d, load);
    load.lengths = &lengths;
    const plait_service some = plait_serve(&d, load);
    // The context differs by half of an answer's variance, which is none here.
    assert_near_relative(some.ttft_s, one.ttft_s, 1e-6);
    assert_near_relative(some.tpot_s, one.tpot_s, 1e-6);
    assert_near_relative(some.requests_per_s, one.requests_per_s, 1e-6);
}

/*
 * Half of the prompts find their 800 repeated tokens. A cache that is twice as large in host memory
 * as on the GPU misses the third power of that half: 3/4 of the misses hit it.
 */
static void test_host_memory__enlarges_the_prefix_cache(void **state)
{
    enum { REQUESTS = 1000 };
    plait_request_lengths request[REQUESTS];
    plait_model model;
    plait_cluster cluster;
    plait_engine engine;
    plait_step_table table;
    plait_error err;
    double host = 0.0;

    (void)state;
    must(plait_model_find("llama-3.1-8b", arena, &model, NULL, &err), &err);
    must(plait_cluster_find("h100-80gb-sxm:1x1", arena, &cluster, &err), &err);
    must(plait_cluster_take(&cluster, 1, &err), &err);
    must(plait_engine_find("vllm", arena, &engine, &err), &err);
    for (int i = 0; i < REQUESTS; i++)
        request[i] = (plait_request_lengths){1000.0, 100.0, i % 2 ? 800.0 : 0.0, 800.0};
    const plait_lengths lengths = plait_lengths_of(request, REQUESTS);
    assert_near_relative(lengths.hit, 0.5, 1e-12);
    assert_near_relative(lengths.missed, 400.0, 1e-12);
    const plait_serving serving = {
        .model = &model, .cluster = &cluster, .worker = {1, 1, 1, 1}, .weights = PLAIT_WEIGHT_BF16};
    const plait_serve_memory memory = plait_serve_memory_of(&serving, 1100.0);
    assert_null(plait_step_table_fill(&serving, &table));
    plait_deployment d = {.engine = &engine,
                          .replicas = 1,
                          .pool = {plait_pool_of(&table, &engine, &memory, 1, 0.0)}};
    const plait_load load = {.kind = PLAIT_LOAD_RATE,
                             .input = 1000.0,
                             .output = 100.0,
                             .cached = 400.0,
                             .rate = 2.0,
                             .lengths = &lengths};
    const plait_service without = plait_serve(&d, load);
    d.pool[0].host_tokens = 2.0 * d.pool[0].kv_tokens;
    d.pool[0].host_token_s = 1e-6;
    const plait_service with = plait_serve(&d, load);
    assert_int_equal(with.groups, PLAIT_LENGTH_MIXED);
    for (int g = PLAIT_LENGTH_GROUPS; g < PLAIT_LENGTH_MIXED; g++)
        host += with.group_share[g];
    assert_near_relative(host, 0.75, 1e-9);
    assert_true(with.prompt_s < without.prompt_s);
    d.pool[0].host_token_s = 1e-5; // 0.75 x 400 tokens take 9 us longer each
    assert_near_relative(plait_serve(&d, load).ttft_s - with.ttft_s, 300.0 * 9e-6, 1e-6);
    plait_serve_sim_result drawn;
    must(plait_serve_simulate(&d, load, (plait_serve_sim_options){.seed = 1, .requests = 4000},
                              arena, &drawn, &err),
         &err);
    assert_near_relative(drawn.ttft.mean_s, plait_serve(&d, load).ttft_s, 0.1);
}

static request_trace trace_of(const char *text, plait_status expected)
{
    char path[] = "/tmp/plait_trace_XXXXXX";
    request_trace trace;
    plait_error err;
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_int_equal(request_trace_read(path, arena, &trace, &err), expected);
    unlink(path);
    return trace;
}

static void test_trace__is_known_by_its_content(void **state)
{
    (void)state;
    const request_trace azure = trace_of("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                         "2023-11-30 23:59:58.0000000,374,44\n"
                                         "2023-12-01 00:00:02.0000000,396,109\n",
                                         PLAIT_OK);
    assert_int_equal(azure.count, 2);
    assert_near(azure.request[1].input, 396.0, 0.0);
    assert_near(azure.request[1].output, 109.0, 0.0);
    assert_near_relative(azure.rate, 0.25, 1e-6);

    const request_trace burst =
        trace_of("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                 "5,ChatGPT,472,18,490,Conversation log\n"
                 "45,ChatGPT,1087,0,1087,Conversation log\n" // failed, and skipped
                 "105,GPT-4,417,276,693,API log\n",
                 PLAIT_OK);
    assert_int_equal(burst.count, 2);
    assert_near_relative(burst.rate, 0.02, 1e-9);

    // The second prompt repeats two blocks of 512 tokens; the third repeats none at its start.
    const request_trace mooncake =
        trace_of("{\"timestamp\": 0, \"input_length\": 1500, \"output_length\": 5, \"hash_ids\": "
                 "[0, 1, 2]}\n"
                 "{\"timestamp\": 3000, \"input_length\": 1400, \"output_length\": 6, "
                 "\"hash_ids\": [0, 1, 3]}\n"
                 "{\"timestamp\": 4000, \"input_length\": 900, \"output_length\": 7, "
                 "\"hash_ids\": [4, 1]}\n",
                 PLAIT_OK);
    assert_int_equal(mooncake.count, 3);
    assert_near(mooncake.request[0].cached, 0.0, 0.0);
    assert_near(mooncake.request[1].cached, 1024.0, 0.0);
    assert_near(mooncake.request[2].cached, 0.0, 0.0);
    assert_near_relative(mooncake.rate, 0.5, 1e-9);

    trace_of("input,answer\n1,2\n", PLAIT_ERROR_SCHEMA);
    trace_of("input,output\n0,2\n", PLAIT_ERROR_SCHEMA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample__has_the_mean_and_the_quantiles),
        cmocka_unit_test(test_sample__rejects_a_mean_that_no_distribution_has),
        cmocka_unit_test(test_moments__weight_sequences_by_their_answers),
        cmocka_unit_test(test_conversation__repeats_its_turns),
        cmocka_unit_test(test_equal_requests__are_a_load_of_one_length),
        cmocka_unit_test(test_host_memory__enlarges_the_prefix_cache),
        cmocka_unit_test(test_trace__is_known_by_its_content),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
