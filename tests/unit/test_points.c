/* test_points.c - tables of measured kernels, told apart by their columns */
#include <string.h>

#include "support/assert_near.h"
#include "calibrate/points.h"

static plait_arena *arena;
static point_list list;
static plait_error err;

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    points_init(&list, arena);
    err = (plait_error){PLAIT_OK, "", ""};
    return arena == NULL;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

static plait_status parse(const char *text)
{
    return points_parse(text, strlen(text), "t.csv", arena, &list, &err);
}

static const point *only(const char *text)
{
    if (parse(text) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    assert_int_equal(list.count, 1);
    return &list.point[0];
}

static void test_points__products(void **state)
{
    const point *p = only("gpu,dtype,m,n,k,time_us,tflops,source\n"
                          "h100_sxm,fp8,1024,2048,4096,12.5,0,aic:trtllm-1\n");

    (void)state;
    assert_int_equal(p->kind, POINT_GEMM);
    assert_int_equal(p->block, PLAIT_FP8);
    assert_true(p->gemm.quantise);
    assert_near(p->gemm.k, 4096.0, 0.0);
    assert_near(p->s, 12.5e-6, 1e-18);
    assert_string_equal(p->measured, "h100_sxm");
    assert_string_equal(p->source, "aic:trtllm-1");
}

/* half runs at bf16's rate; a format that we do not have is passed over. */
static void test_points__formats(void **state)
{
    const point *p = only("dtype,m,n,k,time_us\nhalf,1,1,1,5\nint4,1,1,1,5\n");

    (void)state;
    assert_int_equal(p->block, PLAIT_BF16);
    assert_false(p->gemm.quantise);
}

static void test_points__weight_gradients_add_up_in_fp32(void **state)
{
    const point *p = only("gpu,dtype,m,n,k,layout,accumulate,out_dtype,time_us\n"
                          "b200_sxm,bf16,64,64,64,NT,True,bf16,5\n"
                          "b200_sxm,bf16,64,64,64,NT,True,fp32,6\n");

    (void)state;
    assert_int_equal(p->kind, POINT_LAYOUT);
    assert_true(p->gemm.weight_gradient);
    assert_near(p->s, 6e-6, 1e-18);
}

/* Causal, 2 sequences of 4 tokens, 8 heads of 64: F = 2 B H D S (S + 1) = 40960;
 * bytes = 4 B S D (H + KV) = 4 * 2 * 4 * 64 * 10 = 20480. */
static void test_points__attention_by_hand(void **state)
{
    const point *p = only("gpu,dtype,batch,seq,heads,kv_heads,head_dim,causal,time_us,kernel\n"
                          "h100_sxm,bf16,2,4,8,2,64,1,9,fa3\n"
                          "h100_sxm,fp8,2,4,8,2,64,1,9,fa3\n"
                          "h100_sxm,bf16,2,4,8,2,512,1,9,fa3\n"
                          "h100_sxm,bf16,2,4,8,2,64,1,9,triton\n");

    (void)state;
    assert_int_equal(p->block, PLAIT_ATTENTION_FLASH3);
    assert_near(p->attention.flops, 40960.0, 0.0);
    assert_near(p->attention.bytes, 20480.0, 0.0);
}

/* 3 sequences of 100 keys: keys and values of 2 heads of 64 are 3 * 100 * 2 * 2 * 64 = 76800 elements.
 * Of 128 heads on one of keys and values TensorRT-LLM has no kernel: left out. */
static void test_points__decode_attention_by_hand(void **state)
{
    const char *const head = "gpu,kv_dtype,batch,ctx_len,heads,kv_heads,head_dim,time_us\n";

    (void)state;
    assert_int_equal(parse(plait_arena_printf(arena,
                                              "%sh,bf16,3,100,8,2,64,9\n"
                                              "h,fp8,3,100,8,2,64,9\n"
                                              "h,int3,3,100,8,2,64,9\n"
                                              "h,fp8,3,100,128,1,64,9\n",
                                              head)),
                     PLAIT_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.point[0].kind, POINT_DECODE);
    assert_int_equal(list.point[0].block, PLAIT_KV_BF16);
    assert_near(list.point[0].decode.bytes, 2.0 * 76800.0, 0.0);
    assert_int_equal(list.point[1].block, PLAIT_KV_FP8);
    assert_near(list.point[1].decode.bytes, 76800.0, 0.0);
    assert_near(list.point[1].decode.sequences, 3.0, 0.0);
    assert_near(list.point[1].decode.kv_heads, 2.0, 0.0);
    assert_near(list.point[1].s, 9e-6, 1e-18);
}

/* 30 us for both passes and 10 for the forward one leave 20 for the backward. */
static void test_points__backward_passes_find_their_forward(void **state)
{
    const point *p = only("gpu,pass,kernel,batch,seq,head_dim,time_us\n"
                          "h100_sxm,fwd+bwd,FA2,1,1024,128,30\n"
                          "h100_sxm,fwd+bwd,FA2,1,2048,128,99\n"
                          "h100_sxm,fwd,FA2,1,1024,128,10\n");

    (void)state;
    assert_int_equal(p->kind, POINT_BACKWARD);
    assert_int_equal(p->block, PLAIT_ATTENTION_FLASH2);
    assert_near(p->s, 20e-6, 1e-18);
    assert_near(p->beside_s, 10e-6, 1e-18);
}

static void test_points__experts_of_even_loads(void **state)
{
    const char head[] = "gpu,dtype,tokens,hidden,inter,topk,experts,tp,ep,distribution,time_us,"
                        "kernel\n";
    const char *text = plait_arena_printf(arena,
                                          "%sh,bf16,512,64,32,2,8,1,4,balanced,9,x\n"
                                          "h,bf16,512,64,32,2,8,1,4,power_law_1.2,9,x\n"
                                          "h,bf16,512,64,32,2,8,2,4,balanced,9,x\n"
                                          "h,bf16,512,64,32,2,8,1,4,balanced,9,x_nongated\n",
                                          head);
    const point *p = only(text);

    (void)state;
    assert_int_equal(p->kind, POINT_EXPERTS);
    assert_near(p->experts.ranks, 4.0, 0.0);
}

static void test_points__collectives_and_sends(void **state)
{
    (void)state;
    assert_int_equal(parse("node_type,collective,ranks,nodes,bytes,time_us,dtype\n"
                           "h100_sxm,alltoall,8,1,1024,9,half\n"
                           "h100_dgx,send_recv,2,1,1024,7,fp16\n"
                           "h100_dgx,send_recv,2,2,1024,18,fp16\n"
                           "h100_sxm,all_reduce,8,1,1024,9,int8\n"),
                     PLAIT_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.point[0].block, PLAIT_ALL_TO_ALL);
    assert_int_equal(list.point[1].kind, POINT_P2P);
    assert_int_equal(list.point[1].nodes, 1);
    assert_int_equal(list.point[2].nodes, 2);
}

static void test_points__tables_that_no_constant_needs_have_none(void **state)
{
    (void)state;
    assert_int_equal(parse("gpu,dispatch_us,combine_us\na,1,2\n"), PLAIT_OK);
    assert_int_equal(list.count, 0);
}

static void test_points__refuses_a_table_of_something_else(void **state)
{
    (void)state;
    assert_int_equal(parse("name,colour\na,red\n"), PLAIT_ERROR_SCHEMA);
    assert_string_equal(err.where, "t.csv");
    assert_non_null(strstr(err.message, "gpu,dtype,m,n,k,time_us"));
}

static void test_points__refuses_a_time_that_is_none(void **state)
{
    (void)state;
    assert_int_equal(parse("dtype,m,n,k,time_us\nbf16,1,1,1,0\n"), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "t.csv:2:time_us");
    assert_int_equal(parse("dtype,m,n,k,time_us\nbf16,1,1,1,fast\n"), PLAIT_ERROR_RANGE);
    assert_int_equal(parse("dtype,m,n,k,time_us\nbf16,1,,1,5\n"), PLAIT_ERROR_SCHEMA);
    assert_string_equal(err.where, "t.csv:2:n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_points__##name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(products),
        TEST(formats),
        TEST(weight_gradients_add_up_in_fp32),
        TEST(attention_by_hand),
        TEST(decode_attention_by_hand),
        TEST(backward_passes_find_their_forward),
        TEST(experts_of_even_loads),
        TEST(collectives_and_sends),
        TEST(tables_that_no_constant_needs_have_none),
        TEST(refuses_a_table_of_something_else),
        TEST(refuses_a_time_that_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
