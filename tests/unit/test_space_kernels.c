/* test_space_kernels.c - which kernel of attention a search chooses */
#include "arena_fixture.h"
#include "must.h"
#include "plait/data.h"
#include "plait/search.h"

static plait_ranked best(const char *cluster_name, int seq, const char *limits)
{
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_search_options options;
    plait_search_result result;
    plait_error err;

    must(plait_model_find("llama-3.1-70b", arena, &model, NULL, &err), &err);
    must(plait_cluster_find(cluster_name, arena, &cluster, &err), &err);
    must(plait_cluster_take(&cluster, 64, &err), &err);
    must(plait_runtime_find("megatron", arena, &runtime, &err), &err);
    plait_problem_init(&problem);
    problem.model = &model;
    problem.cluster = &cluster;
    problem.runtime = &runtime;
    problem.job = (plait_job){.seq = seq, .gbs = 32, .gpus = 64};
    plait_search_options_init(&options);
    options.top = 1;
    options.threads = 1;
    must(plait_search_limit(&options, limits, &err), &err);
    must(plait_search(&problem, &options, arena, &result, &err), &err);
    assert_int_equal(result.plans, 1);
    return result.plan[0];
}

/* FlashAttention 3 is for Hopper alone; on an A100 the second beats cuDNN's kernel by little. */
static void test_a_search__takes_the_fastest_kernel_that_runs(void **state)
{
    const char *const small = "tp=8,pp=4,cp=2,mbs=1";

    (void)state;
    assert_int_equal(best("dgx-h100", 32768, small).plan.degrees.attention, PLAIT_ATTENTION_FLASH3);
    assert_int_equal(best("dgx-a100", 32768, small).plan.degrees.attention, PLAIT_ATTENTION_FLASH2);
}

/* Long sequences: attention is a quarter of a step, and cuDNN's takes a quarter longer. */
static void test_another_kernel__is_taken_where_it_is_asked_for(void **state)
{
    const plait_ranked flash = best("dgx-h100", 32768, "tp=8,pp=4,cp=2,mbs=1");
    const plait_ranked fused = best("dgx-h100", 32768, "tp=8,pp=4,cp=2,mbs=1,attention=fused");
    const double slower = fused.price.step_s / flash.price.step_s;

    (void)state;
    assert_int_equal(fused.plan.degrees.attention, PLAIT_ATTENTION_FUSED);
    if (!(slower > 1.03 && slower < 1.09))
        fail_msg("%g times as slow", slower);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_search__takes_the_fastest_kernel_that_runs, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_another_kernel__is_taken_where_it_is_asked_for, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
