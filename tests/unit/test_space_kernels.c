/* test_space_kernels.c - which kernel of attention a search chooses */
#include "support/arena_fixture.h"
#include "support/must.h"
#include "support/world.h"

static plait_ranked best(const char *cluster, int seq, const char *limits)
{
    plait_search_result result;
    plait_error err;
    world w;

    world_make(&w, "llama-3.1-70b", "megatron", cluster,
               (plait_job){.seq = seq, .gbs = 32, .gpus = 64}, arena);
    world_limit(&w, limits);
    must(plait_search(&w.problem, &w.options, arena, &result, &err), &err);
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
