/*
 * test_stages.c - what stages choose for themselves is what their plan costs, and no choice beats it
 *
 * Random points of several models and schedules, in more and less memory. Each is refined; the plan
 * of that is priced like any other; and every choice that all stages could share is priced beside it.
 */
#include <string.h>

#include "arenas_fixture.h"
#include "everything.h"
#include "must.h"
#include "plait/data.h"
#include "space.h"
#include "stages.h"
#include "random_below.h"

enum { POINTS = 150 };

static uint64_t random_seed = 22;

// ---- questions -----------------------------------------------------------------------------

typedef struct world {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_search_options options;
    stages_question question;
} world;

static void load(const char *model, const char *cluster, int gpus, world *w)
{
    plait_error err;

    memset(w, 0, sizeof *w);
    must(plait_model_find(model, arena, &w->model, NULL, &err), &err);
    must(plait_cluster_find(cluster, arena, &w->cluster, &err), &err);
    must(plait_cluster_take(&w->cluster, gpus, &err), &err);
    must(plait_runtime_find("companion", arena, &w->runtime, &err), &err);
    w->problem = (plait_problem){.model = &w->model,
                                 .cluster = &w->cluster,
                                 .runtime = &w->runtime,
                                 .job = {4096, 8 * gpus, gpus, PLAIT_BF16}};
    plait_search_options_init(&w->options);
    plait_table *const table = plait_table_new(&w->problem, arena);
    assert_non_null(table);
    space_recompute list;
    must(space_list_recompute(&w->problem, &w->options, arena, &list, &err), &err);
    stages_begin(&w->problem, list.value, list.count, table, &w->question);
}

static unsigned char random_schedule(int *vpp)
{
    static const unsigned char schedules[] = {PLAIT_1F1B, PLAIT_1F1B, PLAIT_GPIPE, PLAIT_ZB_H1,
                                              PLAIT_INTERLEAVED};
    const unsigned char schedule = schedules[random_below(5)];

    *vpp = schedule == PLAIT_INTERLEAVED ? 2 : 1;
    return schedule;
}

/* A legal point; false: this draw was none. */
static bool random_point(const world *w, plait_degrees *d)
{
    const int log = random_below(4);

    *d = plait_degrees_init();
    d->pp = 1 << random_below(4);
    d->tp = 1 << log;
    d->sp = d->tp > 1;
    d->etp = d->tp;
    if (w->model.kind[w->model.kinds - 1].ffn == PLAIT_FFN_MOE) {
        d->etp = 1;
        d->ep = 1 << random_below(4);
    }
    d->mbs = 1 + random_below(2);
    d->zero = (unsigned char)random_below(4);
    d->dp = plait_degrees_dp(w->problem.job.gpus, d->tp, d->pp, 1);
    d->shard_group = d->dp;
    d->schedule = d->pp > 1 ? random_schedule(&d->vpp) : PLAIT_1F1B;
    d->split.kind = random_below(2) ? PLAIT_SPLIT_SPREAD : PLAIT_SPLIT_EVEN;
    d->grad_sync = (unsigned char)random_below(PLAIT_GRAD_SYNCS);
    return d->dp > 0 && plait_degrees_check(&w->problem, d, NULL, 0) != PLAIT_INVALID;
}

// ---- one point -----------------------------------------------------------------------------

static plait_cost cost_of(const world *w, const plait_plan *plan)
{
    plait_cost cost;
    plait_error err;

    must(plait_plan_cost(&w->problem, plan, scratch, &cost, &err), &err);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s", cost.why);
    return cost;
}

static stages_result refined(world *w, const plait_degrees *d, plait_chunk *chunk)
{
    stages_result result;
    plait_error err;

    assert_true(plait_chunks_of(&w->model, d, chunk));
    must(stages_refine(&w->question, d, chunk, scratch, &result, &err), &err);
    assert_true(result.refines);
    return result;
}

/* The plan of a result costs what the result says, stage by stage. */
static void hold_to_its_plan(const world *w, const plait_degrees *d, const plait_chunk *chunk,
                             const stages_result *result)
{
    plait_plan plan;
    plait_error err;

    must(stages_plan(&w->question, d, chunk, result, scratch, &plan, &err), &err);
    const plait_cost cost = cost_of(w, &plan);
    for (int s = 0; s < result->stages; s++) {
        assert_near_relative(result->stage[s].time.forward_s, cost.stage[s].forward_s, 1e-9);
        assert_near_relative(result->stage[s].time.backward_s, cost.stage[s].backward_s, 1e-9);
        assert_near_relative(result->stage[s].peak_bytes, cost.stage[s].memory_bytes, 1e-9);
    }
    assert_near_relative(result->peak_bytes, cost.memory.peak_bytes, 1e-9);
    assert_true(result->peak_bytes <= w->question.capacity_bytes);
    if (result->exact)
        assert_near_relative(result->step_s, cost.step_s, 1e-9);
    else
        assert_true(result->step_s <= cost.step_s * (1.0 + 1e-9));
    assert_true(result->bound_s <= cost.step_s * (1.0 + 1e-9));
}

/* No choice of all stages alike takes less than the bound, nor than a step that is proven. */
static void hold_to_uniform(world *w, plait_degrees d, plait_chunk *chunk, int *compared)
{
    for (int c = 0; c < w->question.choices; c++) {
        plait_plan plan;
        plait_error err;
        d.recompute = w->question.choice[c].recompute;
        d.offload_acts = w->question.choice[c].offload_acts;
        if (plait_degrees_check(&w->problem, &d, NULL, 0) == PLAIT_INVALID)
            continue;
        const stages_result result = refined(w, &d, chunk);
        must(plait_plan_expand(&w->problem, &d, scratch, &plan, &err), &err);
        const plait_cost cost = cost_of(w, &plan);
        if (cost.memory.peak_bytes > w->question.capacity_bytes * (1.0 - 1e-9))
            continue;
        (*compared)++;
        assert_true(result.fits);
        assert_true(result.bound_s <= cost.step_s * (1.0 + 1e-9));
        if (result.gap == 0.0 && result.exact)
            assert_true(result.step_s <= cost.step_s * (1.0 + 1e-9));
        for (int s = 0; s < result.stages; s++)
            assert_true(result.stage[s].time.forward_s + result.stage[s].time.backward_s <=
                        (cost.stage[s].forward_s + cost.stage[s].backward_s) * (1.0 + 1e-9));
    }
}

/* More memory, or more freedom, makes no stage longer. */
static void hold_to_less(world *w, const plait_degrees *d, plait_chunk *chunk,
                         const stages_result *before)
{
    for (int how = 0; how < 2; how++) {
        const double capacity = w->question.capacity_bytes;
        w->question.capacity_bytes *= how == 0 ? 0.9 : 1.0;
        w->runtime.can.recompute_by = how == 1 ? PLAIT_BY_STAGE : PLAIT_BY_LAYER;
        const stages_result less = refined(w, d, chunk);
        w->question.capacity_bytes = capacity;
        w->runtime.can.recompute_by = PLAIT_BY_LAYER;
        assert_true(before->fits || !less.fits);
        for (int s = 0; s < less.stages && less.fits; s++)
            assert_true(before->stage[s].time.forward_s + before->stage[s].time.backward_s <=
                        (less.stage[s].time.forward_s + less.stage[s].time.backward_s) *
                            (1.0 + 1e-9));
        if (how == 1 && less.fits)
            hold_to_its_plan(w, d, chunk, &less);
    }
}

typedef struct tally {
    int fits, misfits, proven, compared;
} tally;

static void try_point(world *w, const plait_degrees *d, tally *seen)
{
    static plait_chunk chunk[PLAIT_MAX_LAYERS];
    const double capacity = w->question.capacity_bytes;

    w->question.capacity_bytes *= 0.25 * (1 + random_below(5));
    const stages_result result = refined(w, d, chunk);
    seen->misfits += !result.fits;
    if (result.fits) {
        seen->fits++;
        seen->proven += result.gap == 0.0;
        hold_to_its_plan(w, d, chunk, &result);
    } else {
        assert_true(result.missing_bytes > 0.0);
        w->question.capacity_bytes += result.missing_bytes * (1.0 + 1e-9) + 1.0;
        assert_true(refined(w, d, chunk).fits); // the smallest relaxation, of the fullest stage
        w->question.capacity_bytes -= result.missing_bytes * (1.0 + 1e-9) + 1.0;
    }
    hold_to_less(w, d, chunk, &result);
    if (random_below(10) == 0)
        hold_to_uniform(w, *d, chunk, &seen->compared);
    w->question.capacity_bytes = capacity;
}

static void test_stages__cost_what_they_say_and_no_less_can_be_had(void **state)
{
    static const struct {
        const char *model, *cluster;
        int gpus;
    } questions[] = {{"llama-3.1-8b", "h100-80gb-sxm:4x8", 32},
                     {"llama-3.1-70b", "h100-80gb-sxm:8x8", 64},
                     {"mixtral-8x7b", "h100-80gb-sxm:8x8", 64},
                     {"deepseek-v3", "h200-141gb-sxm:32x8", 256}};
    tally seen = {0};

    (void)state;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        world w;
        plait_degrees d;
        load(questions[i].model, questions[i].cluster, questions[i].gpus, &w);
        for (int n = 0; n < POINTS; n++) {
            const plait_arena_mark mark = plait_arena_save(scratch);
            if (random_point(&w, &d))
                try_point(&w, &d, &seen);
            plait_arena_rewind(scratch, mark);
        }
    }
    print_message("%d fit, %d proven, %d do not fit, %d compared\n", seen.fits, seen.proven,
                  seen.misfits, seen.compared);
    assert_true(seen.fits > 50 && seen.misfits > 20 && seen.compared > 50 && seen.proven > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages__cost_what_they_say_and_no_less_can_be_had),
    };
    return cmocka_run_group_tests(tests, make_arenas, free_arenas);
}
