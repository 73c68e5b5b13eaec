/*
 * test_legality.c - which half of legality looks at the microbatch
 *
 * A walk asks plan_grid_legal once for all microbatches of a row, and plan_batch_legal for each. So the
 * first must not look at them: random degrees of seven runtimes are asked with several.
 */
#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/few_draws.h"
#include "rules/plan_check.h"
#include "support/random_below.h"
#include "support/world.h"

enum { DRAWS = FEW_DRAWS ? 300 : 3000, BATCHES = 4 };

static uint64_t random_seed = 97;

static const char *const models[] = {"llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b"};

static int power_up_to(int most)
{
    int power = 1;

    while (power < most && random_below(2) == 0)
        power *= 2;
    return power;
}

/* Degrees that are often legal: a product of powers, each key else as usual or anything. */
static plait_degrees random_degrees(const plait_problem *problem)
{
    plait_degrees d = plait_degrees_init();

    d.tp = power_up_to(8);
    d.cp = power_up_to(4);
    d.pp = power_up_to(8);
    d.etp = random_below(2) == 0 ? d.tp : 1;
    d.ep = power_up_to(8);
    d.mbs = power_up_to(4);
    plait_degrees_fill(problem,
                       PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_CP) |
                           PLAIT_KEY_BIT(PLAIT_KEY_PP) | PLAIT_KEY_BIT(PLAIT_KEY_EP) |
                           PLAIT_KEY_BIT(PLAIT_KEY_ETP) | PLAIT_KEY_BIT(PLAIT_KEY_MBS),
                       &d);
    for (int key = 0; key < PLAIT_KEYS; key++) {
        const plait_key *const row = &plait_keys[key];
        if (row->kind == PLAIT_KEY_NUMBER || key == PLAIT_KEY_SPLIT || random_below(6) > 0)
            continue;
        plait_key_put(&d, (plait_key_id)key, random_below(row->words ? 3 : row->high + 1));
    }
    if (d.schedule == PLAIT_INTERLEAVED)
        d.vpp = 2;
    return d;
}

/* What of the two halves was seen, so that a test of nothing is noticed. */
typedef struct seen {
    int grids, refused, batches_differ;
} seen;

static void ask(plait_problem *problem, plait_degrees d, seen *all)
{
    const bool grid = plan_grid_legal(problem, &d, &no_reason);
    bool some = false, every = true;

    for (int i = 0; i < BATCHES; i++) {
        d.mbs = 1 + random_below(6);
        problem->job.gbs = 32 * (1 + random_below(6));
        const bool batch = plan_batch_legal(problem, &d, &no_reason);
        assert_int_equal(plan_grid_legal(problem, &d, &no_reason), grid);
        assert_int_equal(plan_ranks_legal(problem, &d, &no_reason), grid && batch);
        some = some || batch;
        every = every && batch;
    }
    all->grids += grid;
    all->refused += !grid;
    all->batches_differ += grid && some && !every;
}

static void test_legality__of_a_grid_does_not_look_at_the_microbatch(void **state)
{
    static const char *const runtimes[] = {"megatron",  "torchtitan", "deepspeed", "maxtext",
                                           "galvatron", "mindspeed",  "companion"};
    static world w;

    (void)state;
    for (size_t r = 0; r < sizeof runtimes / sizeof *runtimes; r++) {
        seen all = {0};
        for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
            world_make(&w, models[m], runtimes[r], "dgx-h100",
                       (plait_job){.seq = 4096, .gbs = 128, .gpus = 64}, arena);
            for (int i = 0; i < DRAWS; i++)
                ask(&w.problem, random_degrees(&w.problem), &all);
        }
        print_message("%s: %d grids, %d refused, %d of them by some batches alone\n", runtimes[r],
                      all.grids, all.refused, all.batches_differ);
        assert_true(all.grids > 0 && all.refused > 0 && all.batches_differ > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_legality__of_a_grid_does_not_look_at_the_microbatch,
                                        begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
