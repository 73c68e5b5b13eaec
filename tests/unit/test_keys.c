/* test_keys.c - the table of keys: each row whole, values in and out, what a runtime fills in */
#include <string.h>

#include "support/arena_fixture.h"
#include "support/must.h"
#include "plait/data.h"
#include "plait/plan.h"
#include "plait/runtime.h"

static void test_every_row__is_whole(void **state)
{
    (void)state;
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key *row = &plait_keys[k];
        const bool listed = row->kind != PLAIT_KEY_NUMBER && row->kind != PLAIT_KEY_SMALL_NUMBER &&
                            row->kind != PLAIT_KEY_SWITCH;

        assert_true(row->name && row->title && row->value && row->help);
        assert_int_equal(listed, row->words != NULL);
        assert_true(listed || row->high > row->low);
        assert_true(row->absent_value >= -1);
        assert_int_equal(plait_key_find(row->name), k);
        // A profile that says a usual value has to say which values there are.
        assert_true(!row->has_default || row->limit_name);
    }
    assert_int_equal(plait_key_find("tq"), -1);
    assert_int_equal(plait_key_find(NULL), -1);
}

static void test_a_value__comes_back_and_leaves_the_others(void **state)
{
    const plait_degrees before = plait_degrees_init();

    (void)state;
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;
        const int value = plait_key_value(&before, key) + 1;
        plait_degrees after = before;

        plait_key_put(&after, key, value);
        assert_int_equal(plait_key_value(&after, key), value);
        for (int other = 0; other < PLAIT_KEYS; other++)
            assert_int_equal(plait_key_same(&before, &after, (plait_key_id)other), other != k);
    }
}

/* Two choices of one kind differ in their numbers. */
static void test_choices_of_one_kind__are_told_apart(void **state)
{
    plait_degrees a = plait_degrees_init();
    plait_degrees b = a;

    (void)state;
    a.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_FULL, .layers = 2};
    b.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_FULL, .layers = 3};
    assert_false(plait_key_same(&a, &b, PLAIT_KEY_RECOMPUTE));
    a.split = (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST, .first = 3, .last = 4};
    b.split = (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST, .first = 3, .last = 5};
    assert_false(plait_key_same(&a, &b, PLAIT_KEY_SPLIT));
}

static plait_problem problem_of(const char *model_name, const char *runtime_name, int gpus)
{
    plait_model *model = plait_arena_alloc(arena, 1, sizeof *model);
    plait_cluster *cluster = plait_arena_alloc(arena, 1, sizeof *cluster);
    plait_runtime *runtime = plait_arena_alloc(arena, 1, sizeof *runtime);
    plait_error err;

    assert_true(model && cluster && runtime);
    must(plait_model_find(model_name, arena, model, NULL, &err), &err);
    must(plait_cluster_find("dgx-h100", arena, cluster, &err), &err);
    must(plait_runtime_find(runtime_name, arena, runtime, &err), &err);
    must(plait_cluster_take(cluster, gpus, &err), &err);
    return (plait_problem){.model = model,
                           .cluster = cluster,
                           .runtime = runtime,
                           .job = {.seq = 4096, .gbs = 512, .gpus = gpus, .precision = PLAIT_BF16}};
}

/* torchtitan takes the tensor ranks for the expert mesh as soon as experts are spread. */
static void test_etp__is_as_the_runtime_cuts_experts(void **state)
{
    static const struct {
        const char *runtime;
        int ep, etp;
    } cases[] = {
        {"torchtitan", 1, 2}, {"torchtitan", 2, 1}, {"megatron", 2, 2}, {"nanotron", 2, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const plait_problem problem = problem_of("mixtral-8x7b", cases[i].runtime, 16);
        plait_degrees d = plait_degrees_init();

        d.tp = 2;
        d.ep = cases[i].ep;
        plait_degrees_fill(&problem, PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_EP), &d);
        assert_int_equal(d.etp, cases[i].etp);
        assert_int_equal(d.dp, 8);
        assert_int_equal(d.shard_group, 8);
        if (problem.runtime->can.most[PLAIT_KEY_EP] > 1)
            assert_int_equal(plait_degrees_check(&problem, &d, NULL, 0), PLAIT_FITS);
    }
}

static void test_what_is_given__stays(void **state)
{
    const plait_problem problem = problem_of("llama-3.1-8b", "megatron", 16);
    plait_degrees d = plait_degrees_init();

    (void)state;
    d.tp = 4;
    d.zero = 0;
    d.vpp = 2;
    d.pp = 2;
    plait_degrees_fill(&problem,
                       PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                           PLAIT_KEY_BIT(PLAIT_KEY_VPP) | PLAIT_KEY_BIT(PLAIT_KEY_ZERO),
                       &d);
    assert_int_equal(d.tp, 4);
    assert_int_equal(d.zero, 0);
    assert_true(d.sp);
    assert_int_equal(d.dp, 2);
    assert_int_equal(d.schedule, PLAIT_INTERLEAVED);
}

/* What a table may leave out: a degree of one, an exchange without context ranks, no experts. */
static void test_a_key__speaks_only_where_it_says_something(void **state)
{
    const plait_problem problem = problem_of("llama-3.1-8b", "megatron", 16);
    plait_degrees d = plait_degrees_init();

    (void)state;
    plait_degrees_fill(&problem, 0, &d);
    assert_true(plait_key_applies(&problem, &d, PLAIT_KEY_TP));
    assert_true(plait_key_applies(&problem, &d, PLAIT_KEY_RECOMPUTE));
    assert_false(plait_key_applies(&problem, &d, PLAIT_KEY_CP));
    assert_false(plait_key_applies(&problem, &d, PLAIT_KEY_CP_COMM));
    assert_false(plait_key_applies(&problem, &d, PLAIT_KEY_ETP));
    assert_false(plait_key_applies(&problem, &d, PLAIT_KEY_SHARD_GROUP));
    d.cp = 2;
    d.shard_group = 8;
    assert_true(plait_key_applies(&problem, &d, PLAIT_KEY_CP_COMM));
    assert_true(plait_key_applies(&problem, &d, PLAIT_KEY_SHARD_GROUP));
    d.dp = 0; // no dp makes up this world
    assert_false(plait_key_applies(&problem, &d, PLAIT_KEY_DP));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row__is_whole),
        cmocka_unit_test(test_a_value__comes_back_and_leaves_the_others),
        cmocka_unit_test(test_choices_of_one_kind__are_told_apart),
        cmocka_unit_test(test_etp__is_as_the_runtime_cuts_experts),
        cmocka_unit_test(test_what_is_given__stays),
        cmocka_unit_test(test_a_key__speaks_only_where_it_says_something),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
