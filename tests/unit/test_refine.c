/* test_refine.c - layouts are never slower than uniform plans, nor than layouts that people published */
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/few_draws.h"
#include "support/must.h"
#include "support/world.h"

static plait_arena *arena;

/* The best within limits. */
static plait_search_result search(world *w, plait_refine refine, const char *limits)
{
    plait_search_result result;
    plait_error err;

    world_limit(w, limits);
    w->options.refine = refine;
    must(plait_search(&w->problem, &w->options, arena, &result, &err), &err);
    assert_true(result.plans > 0);
    return result;
}

static double step_s(world *w, plait_refine refine, const char *limits)
{
    return search(w, refine, limits).plan[0].price.step_s;
}

static void test_layouts__gain_where_a_module_follows(void **state)
{
    world w;

    (void)state;
    world_make(&w, "glm-4.5", "megatron", "dgx-h200",
               (plait_job){.seq = 4096, .gbs = 1024, .gpus = 256}, arena);
    const char *limits = "tp=1,pp=8,cp=2,ep=16,offload_acts=none,attention=fused";
    const plait_search_result dealt = search(&w, PLAIT_REFINE_LAYOUTS, limits);

    assert_true(dealt.plan[0].price.step_s <= 0.97 * step_s(&w, PLAIT_REFINE_NONE, limits));
    assert_true(dealt.plan[0].price.step_s <=
                step_s(&w, PLAIT_REFINE_NONE,
                       "tp=1,pp=16,vpp=2,cp=2,ep=16,offload_acts=none,attention=fused,"
                       "split=first-last:6,2"));
    assert_true(dealt.refinement[0].floor <= dealt.plan[0].price.step_s);
}

static void test_layouts__are_never_slower(void **state)
{
    static const struct {
        const char *model, *limits;
    } cases[] = {
        {"gpt-oss-120b", "tp=1,pp=4,ep=8,offload_acts=none"},
        {"glm-4.5-air", "tp=1,pp=4,ep=8,offload_acts=none"},
        {"llama-4-scout", "tp=1,pp=4,ep=16,offload_acts=none"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += FEW_DRAWS ? 3 : 1) {
        world w;

        world_make(&w, cases[i].model, "megatron", "dgx-h100",
                   (plait_job){.seq = 4096, .gbs = 512, .gpus = 64}, arena);
        assert_true(step_s(&w, PLAIT_REFINE_LAYOUTS, cases[i].limits) <=
                    step_s(&w, PLAIT_REFINE_NONE, cases[i].limits));
    }
}

/* No word deals 40 layers to 16 stages; a layout does. */
static void test_layouts__where_words_deal_nothing(void **state)
{
    plait_search_result result;
    plait_error err;
    world w;

    (void)state;
    world_make(&w, "llama-2-13b", "megatron", "dgx-a100",
               (plait_job){.seq = 4096, .gbs = 256, .gpus = 128}, arena);
    world_limit(&w, "tp=1,pp=16,vpp=1,cp=1");
    w.options.refine = PLAIT_REFINE_NONE;
    assert_int_equal(plait_search(&w.problem, &w.options, arena, &result, &err), PLAIT_ERROR_RANGE);
    result = search(&w, PLAIT_REFINE_LAYOUTS, "tp=1,pp=16,vpp=1,cp=1");
    assert_int_equal(result.points, 0);
    assert_true(result.refinement[0].any);
}

/* The fastest assignment has no layer on the last stage, which Galvatron refuses. (G4) */
static void test_layouts__when_a_rule_refuses_the_fastest(void **state)
{
    const char *limits = "tp=1,pp=2,cp=1,mbs=2,zero=2,recompute=none,schedule=1f1b";
    char split[128];
    world w;

    (void)state;
    world_make(&w, "qwen2.5-0.5b", "galvatron", "dgx-h100",
               (plait_job){.seq = 2048, .gbs = 8, .gpus = 4}, arena);
    w.model.layers = 5;
    w.model.mtp_layers = 2;
    w.model.mtp_kind = w.model.layer_kind[0];
    // Without first-last no named split is the fastest one that the rule accepts.
    w.runtime.can.takes[PLAIT_KEY_SPLIT] &= ~(1u << PLAIT_SPLIT_FIRST_LAST);
    const plait_search_result found = search(&w, PLAIT_REFINE_LAYOUTS, limits);
    assert_true(found.refinement[0].any && found.refinement[0].optimal);
    w.runtime.can.takes[PLAIT_KEY_SPLIT] |= 1u << PLAIT_SPLIT_FIRST_LAST;
    for (int first = 1; first < 5; first++) {
        snprintf(split, sizeof split, "%s,split=first-last:%d,%d", limits, first, 5 - first);
        assert_true(found.plan[0].price.step_s <= step_s(&w, PLAIT_REFINE_NONE, split));
    }
}

/* What recipes of DeepSeek-V3, Kimi-K2 and Llama-3-70B write; other keys as the search likes them. */
static void test_layouts__that_others_published(void **state)
{
    static const struct {
        const char *model, *cluster, *keys, *layout;
        plait_job job;
    } cases[] = {
        {"deepseek-v3",
         "h800",
         "tp=1,pp=16,vpp=2,cp=1,ep=64,mbs=1",
         "Et|(tt|)*30mL",
         {.seq = 4096, .gbs = 16384, .gpus = 2048}},
        {"deepseek-v3",
         "h800",
         "tp=1,pp=16,vpp=1,cp=1,ep=64,mbs=1",
         "Et*4|(tttt|)*14tmL",
         {.seq = 4096, .gbs = 16384, .gpus = 2048}},
        {"kimi-k2",
         "h800",
         "tp=1,pp=16,vpp=2,cp=1,ep=64,mbs=1",
         "Et|(tt|)*30L",
         {.seq = 4096, .gbs = 4096, .gpus = 1024}},
        {"llama-3.1-70b",
         "dgx-h100",
         "tp=4,pp=8,vpp=5,cp=1,mbs=1",
         "Et*2|(t*2|)*34,t*3|(t*2|)*3,tL",
         {.seq = 8192, .gbs = 128, .gpus = 64}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += FEW_DRAWS ? 3 : 1) {
        char keys[256];
        plait_cost cost;
        plait_error err;
        world w;

        world_make(&w, cases[i].model, "megatron", cases[i].cluster, cases[i].job, arena);
        snprintf(keys, sizeof keys, "%s,split=layout:%s", cases[i].keys, cases[i].layout);
        const plait_search_result published = search(&w, PLAIT_REFINE_NONE, keys);
        must(plait_plan_evaluate(&w.problem, &published.plan[0].plan, NULL, arena, &cost, &err),
             &err);
        assert_int_equal(cost.verdict, PLAIT_FITS);
        assert_true(step_s(&w, PLAIT_REFINE_LAYOUTS, cases[i].keys) <= cost.step_s);
    }
}

/* One stage has no layouts, but each of its layers has a choice. */
static void test_layers__choose_in_one_stage_too(void **state)
{
    static const char limits[] = "tp=1,cp=1,pp=1,zero=3,mbs=2,fusion=none,offload_acts=none";
    world w;

    (void)state;
    world_make(&w, "llama-2-7b", "companion", "a100-40gb-sxm:1x8",
               (plait_job){.seq = 4096, .gbs = 64, .gpus = 8}, arena);
    assert_true(step_s(&w, PLAIT_REFINE_STAGES, limits) < step_s(&w, PLAIT_REFINE_NONE, limits));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts__gain_where_a_module_follows),
        cmocka_unit_test(test_layouts__are_never_slower),
        cmocka_unit_test(test_layouts__where_words_deal_nothing),
        cmocka_unit_test(test_layouts__when_a_rule_refuses_the_fastest),
        cmocka_unit_test(test_layouts__that_others_published),
        cmocka_unit_test(test_layers__choose_in_one_stage_too),
    };

    arena = plait_arena_new();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    plait_arena_free(arena);
    return failed;
}
