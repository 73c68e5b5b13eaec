/* test_launch_megatron.c - what Megatron-LM is told beside the plan, by where it runs */
#include <string.h>

#include "launched.h"
#include "must.h"

static plait_arena *arena;
static launched it;

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    if (arena == NULL)
        return 1;
    launched_question(&it, "llama-3.2-3b", "megatron", 16, arena);
    return 0;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

static void render_as(const char *keys, plait_launch_target target)
{
    plait_error err;

    must(launched_render(&it, keys, target, arena, &err), &err);
}

static void render(const char *keys)
{
    render_as(keys, PLAIT_LAUNCH_MEGATRON);
}

/* 16 GPUs of the cluster "gpu:nodes x GPUs". */
static void on(const char *cluster)
{
    plait_error err;

    must(plait_cluster_find(cluster, arena, &it.cluster, &err), &err);
    must(plait_cluster_take(&it.cluster, 16, &err), &err);
}

// ---- user buffers of Transformer Engine -----------------------------------------------------

static void assert_user_buffers(bool there, bool by_ipc)
{
    if (there)
        assert_says(&it, "args.sh", "--tp-comm-overlap\n");
    else
        assert_silent(&it, "args.sh", "--tp-comm-overlap");
    if (by_ipc)
        assert_says(&it, "args.sh", "export UB_SKIPMC=1\n");
    else
        assert_silent(&it, "args.sh", "UB_SKIPMC");
}

static void test_user_buffers__in_a_domain_with_multicast(void **state)
{
    (void)state;
    render("tp=4 mbs=1 recompute=full");
    assert_user_buffers(true, false);
    render("tp=4 sp=0 mbs=1 recompute=full");
    assert_user_buffers(false, false);
}

static void test_user_buffers__without_a_switch_go_by_ipc(void **state)
{
    (void)state;
    it.cluster.level[0].kind = PLAIT_LEVEL_MESH;
    render("tp=4 mbs=1 recompute=full");
    assert_user_buffers(true, true);
    render_as("tp=4 mbs=1 recompute=full", PLAIT_LAUNCH_MEGATRON_BRIDGE);
    assert_says(&it, "overrides.sh", "model.tp_comm_overlap=true\n");
    assert_says(&it, "run.sh", "export UB_SKIPMC=1\n");
}

static void test_user_buffers__are_off_where_they_would_fail(void **state)
{
    static const char *const clusters[] = {"a100-80gb-sxm:2x8", "h100-80gb-pcie:2x8",
                                           "l40s-48gb:2x8", "mi300x-192gb:2x8"};

    (void)state;
    for (size_t c = 0; c < sizeof clusters / sizeof clusters[0]; c++) {
        on(clusters[c]);
        render("tp=4 mbs=1 recompute=full");
        assert_user_buffers(false, false);
        render_as("tp=4 mbs=1 recompute=full", PLAIT_LAUNCH_MEGATRON_BRIDGE);
        assert_says(&it, "overrides.sh", "model.tp_comm_overlap=false\n");
    }
}

/* Four GPUs a node, and a domain of 72. */
static void test_user_buffers__are_off_across_nodes(void **state)
{
    (void)state;
    on("gb200-nvl72");
    render("tp=8 mbs=1 recompute=full");
    assert_user_buffers(false, false);
    render("tp=4 mbs=1 recompute=full");
    assert_user_buffers(true, false);
}

// ---- the data loader ------------------------------------------------------------------------

static void test_masks__are_not_made_by_the_loader(void **state)
{
    (void)state;
    render("tp=2 mbs=1 recompute=full");
    assert_says(&it, "args.sh", "--no-create-attention-mask-in-dataloader\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_user_buffers__in_a_domain_with_multicast, begin, end),
        cmocka_unit_test_setup_teardown(test_user_buffers__without_a_switch_go_by_ipc, begin, end),
        cmocka_unit_test_setup_teardown(test_user_buffers__are_off_where_they_would_fail, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_user_buffers__are_off_across_nodes, begin, end),
        cmocka_unit_test_setup_teardown(test_masks__are_not_made_by_the_loader, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
