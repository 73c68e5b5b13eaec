/* test_space_dispatch.c - which dispatcher of experts' tokens a search chooses */
#include "support/arena_fixture.h"
#include "support/must.h"
#include "support/world.h"
#include "costmodel/api.h"

/* DeepSeek-V3 on 256 H100 whose nodes have three times the network. */
static plait_ranked best(const char *limits)
{
    plait_search_result result;
    plait_error err;
    world w;

    world_make(&w, "deepseek-v3", "megatron", "dgx-h100",
               (plait_job){.seq = 4096, .gbs = 1024, .gpus = 256}, arena);
    for (int l = 1; l < w.cluster.levels; l++)
        w.cluster.level[l].link.bytes_per_s *= 3.0;
    world_limit(&w, limits);
    must(plait_search(&w.problem, &w.options, arena, &result, &err), &err);
    assert_int_equal(result.plans, 1);
    return result.plan[0];
}

/* By itself the fastest is best; in pairs of microbatches, which hide it, one that leaves more SMs. */
static void test_pairs__may_have_another_dispatcher_than_the_fastest(void **state)
{
    static const char alone[] = "tp=4,pp=2,cp=2,ep=128,mbs=1,ep_overlap=none";
    static const char both[] = "tp=4,pp=2,cp=2,ep=128,mbs=1";
    static const char *const fixed[] = {
        "tp=4,pp=2,cp=2,ep=128,mbs=1,dispatcher=alltoall",
        "tp=4,pp=2,cp=2,ep=128,mbs=1,dispatcher=deepep",
        "tp=4,pp=2,cp=2,ep=128,mbs=1,dispatcher=hybridep",
    };
    const plait_ranked found = best(both);

    (void)state;
    assert_int_equal(best(alone).plan.degrees.dispatcher, PLAIT_DISPATCH_ALLTOALL);
    assert_int_equal(found.plan.degrees.dispatcher, PLAIT_DISPATCH_HYBRIDEP);
    assert_true(found.plan.degrees.ep_overlap != PLAIT_EP_OVERLAP_NONE);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        assert_true(found.price.step_s <= best(fixed[i]).price.step_s);
}

/* What is hidden costs nothing less than nothing: a faster network never makes a plan slower. */
static void test_pairs__are_no_slower_on_a_faster_network(void **state)
{
    double before_s = HUGE_VAL;

    (void)state;
    for (double faster = 0.5; faster < 10.0; faster *= 1.5) {
        plait_error err;
        world w;
        world_make(&w, "qwen3-30b-a3b", "megatron", "dgx-h100",
                   (plait_job){.seq = 4096, .gbs = 256, .gpus = 16}, arena);
        for (int l = 1; l < w.cluster.levels; l++)
            w.cluster.level[l].link.bytes_per_s *= faster;
        plait_degrees d = plait_degrees_init();
        d.ep = 16;
        d.dp = 16;
        d.shard_group = 16;
        d.zero = 1;
        d.ep_overlap = PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD;
        d.attention = PLAIT_ATTENTION_FLASH3;
        plait_table *const table = plait_table_new(&w.problem, arena);
        assert_non_null(table);
        const double step_s = plait_degrees_cost(table, &d).step_s;
        assert_int_equal(plait_degrees_check(&w.problem, &d, err.message, sizeof err.message),
                         PLAIT_FITS);
        assert_true(step_s <= before_s);
        before_s = step_s;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pairs__may_have_another_dispatcher_than_the_fastest,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_pairs__are_no_slower_on_a_faster_network, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
