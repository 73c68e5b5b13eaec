/*
 * test_per_stage.c - the choices of stages cost what their plan costs, and no other choice is better
 *
 * Random points of several models and schedules, in more and less memory. Each is solved, its plan is priced like any
 * other, and every choice that all stages can share is priced beside it.
 */
#include <math.h>
#include <string.h>

#include "support/arenas_fixture.h"
#include "support/everything.h"
#include "support/must.h"
#include "plait/data.h"
#include "search/space/space.h"
#include "search/pipeline/per_stage.h"
#include "support/random_below.h"

enum { POINTS = 150 };

static uint64_t random_seed = 22;

// ---- questions -----------------------------------------------------------------------------

typedef struct world {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_search_options options;
    per_stage_problem input;
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
                                 .job = {.seq = 4096, .gbs = 8 * gpus, .gpus = gpus}};
    plait_search_options_init(&w->options);
    plait_table *const table = plait_table_new(&w->problem, arena);
    assert_non_null(table);
    space_recompute list;
    must(space_list_recompute(&w->problem, &w->options, arena, &list, &err), &err);
    per_stage_begin(&w->problem, list.value, list.count, table, &w->input);
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

    must(plait_plan_evaluate(&w->problem, plan, NULL, scratch, &cost, &err), &err);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s", cost.why);
    return cost;
}

static per_stage_result refined(world *w, const plait_degrees *d, plait_chunk *chunk)
{
    per_stage_result result;
    plait_error err;

    assert_true(plait_chunks_of(&w->model, d, chunk));
    must(per_stage_solve(&w->input, d, chunk, scratch, &result, &err), &err);
    assert_true(result.refines);
    return result;
}

/* The plan of a result costs what the result says, stage by stage. */
static void hold_to_its_plan(const world *w, const plait_degrees *d, const plait_chunk *chunk,
                             const per_stage_result *result)
{
    plait_plan plan;
    plait_error err;

    must(per_stage_plan(&w->input, d, chunk, result, scratch, &plan, &err), &err);
    const plait_cost cost = cost_of(w, &plan);
    for (int s = 0; s < result->stages; s++) {
        assert_near_relative(result->stage[s].time.forward_s, cost.stage[s].forward_s, 1e-9);
        assert_near_relative(result->stage[s].time.backward_s, cost.stage[s].backward_s, 1e-9);
        assert_near_relative(result->stage[s].peak_bytes, cost.stage[s].memory_bytes, 1e-9);
    }
    assert_near_relative(result->peak_bytes, cost.memory.peak_bytes, 1e-9);
    assert_true(result->peak_bytes <= w->input.capacity_bytes);
    if (result->exact)
        assert_near_relative(result->step_s, cost.step_s, 1e-9);
    else
        assert_true(result->step_s <= cost.step_s * (1.0 + 1e-9));
    assert_true(result->bound_s <= cost.step_s * (1.0 + 1e-9));
}

/* No choice of all stages alike takes less than the bound, nor than a step that is proven. */
static void hold_to_uniform(world *w, plait_degrees d, plait_chunk *chunk, int *compared)
{
    for (int c = 0; c < w->input.choices; c++) {
        plait_plan plan;
        plait_error err;
        d.recompute = w->input.choice[c].recompute;
        d.offload_acts = w->input.choice[c].offload_acts;
        if (plait_degrees_check(&w->problem, &d, NULL, 0) == PLAIT_INVALID)
            continue;
        const per_stage_result result = refined(w, &d, chunk);
        must(plait_plan_expand(&w->problem, &d, scratch, &plan, &err), &err);
        const plait_cost cost = cost_of(w, &plan);
        if (cost.memory.peak_bytes > w->input.capacity_bytes * (1.0 - 1e-9))
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
                         const per_stage_result *before)
{
    for (int how = 0; how < 2; how++) {
        const double capacity = w->input.capacity_bytes;
        w->input.capacity_bytes *= how == 0 ? 0.9 : 1.0;
        w->runtime.can.recompute_by = how == 1 ? PLAIT_BY_STAGE : PLAIT_BY_LAYER;
        const per_stage_result less = refined(w, d, chunk);
        w->input.capacity_bytes = capacity;
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
    const double capacity = w->input.capacity_bytes;

    w->input.capacity_bytes *= 0.25 * (1 + random_below(5));
    const per_stage_result result = refined(w, d, chunk);
    seen->misfits += !result.fits;
    if (result.fits) {
        seen->fits++;
        seen->proven += result.gap == 0.0;
        hold_to_its_plan(w, d, chunk, &result);
    } else {
        assert_true(result.missing_bytes > 0.0);
        w->input.capacity_bytes += result.missing_bytes * (1.0 + 1e-9) + 1.0;
        assert_true(refined(w, d, chunk).fits); // the smallest relaxation, of the fullest stage
        w->input.capacity_bytes -= result.missing_bytes * (1.0 + 1e-9) + 1.0;
    }
    hold_to_less(w, d, chunk, &result);
    if (random_below(10) == 0)
        hold_to_uniform(w, *d, chunk, &seen->compared);
    w->input.capacity_bytes = capacity;
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

// ---- who keeps the optimizer's state on the device -----------------------------------------

typedef struct keepers {
    int points, some; /* with an answer; where the best keep it in some stages alone */
} keepers;

/* Every stage with each home of its optimizer by itself. */
static void choose_homes(world *w, const plait_degrees *d, const plait_chunk *chunk,
                         per_stage_stage *stage[2])
{
    per_stage_point point[2];
    plait_error err;

    must(per_stage_at(&w->input, d, scratch, &point[0], &err), &err);
    point[1] = per_stage_on_device(&point[0]);
    for (int home = 0; home < 2; home++) {
        stage[home] = plait_arena_alloc(scratch, (size_t)d->pp, sizeof **stage);
        assert_non_null(stage[home]);
        for (int s = 0; s < d->pp; s++)
            must(per_stage_choose(&point[home], s, &chunk[s], scratch, &stage[home][s], &err),
                 &err);
    }
}

/* Every way to keep the state in some of the stages, priced as a plan. */
static double best_of_homes(world *w, const plait_degrees *d, const plait_chunk *chunk)
{
    per_stage_stage *stage[2], now[8];
    double best_s = HUGE_VAL;

    choose_homes(w, d, chunk, stage);
    for (unsigned keep = 0; keep < 1u << d->pp; keep++) {
        const per_stage_result result = {.refines = true, .stages = d->pp, .stage = now};
        bool fits = true;
        plait_plan plan;
        plait_error err;

        for (int s = 0; s < d->pp; s++) {
            now[s] = stage[keep >> s & 1u][s];
            fits = fits && now[s].count != NULL;
        }
        if (!fits)
            continue;
        must(per_stage_plan(&w->input, d, chunk, &result, scratch, &plan, &err), &err);
        best_s = fmin(best_s, cost_of(w, &plan).step_s);
    }
    return best_s;
}

/* Fewer layers to the first stages, which hold most microbatches: there the state is what may go. */
static void deal_unevenly(const world *w, plait_degrees *d, plait_chunk *chunk)
{
    int layers[8], left = w->model.layers;

    for (int s = 0; s < d->pp - 1; s++) {
        layers[s] = left / (d->pp - s) - random_below(4);
        left -= layers[s];
    }
    layers[d->pp - 1] = left;
    plait_chunks_deal(&w->model, layers, d->pp, chunk);
    d->split.kind = PLAIT_SPLIT_LAYOUT;
}

/* Memory for all states on the host, but not for each of them on the device. */
static double capacity_between(world *w, const plait_degrees *d, const plait_chunk *chunk)
{
    const int of = random_below(d->pp);
    per_stage_stage *stage[2];
    double least = 0.0;

    w->input.capacity_bytes = 1e15;
    choose_homes(w, d, chunk, stage);
    for (int s = 0; s < d->pp; s++)
        least = fmax(least, stage[0][s].peak_bytes);
    return 1.0001 * 0.5 * (least + fmax(least, stage[1][of].peak_bytes));
}

static void try_homes(world *w, plait_degrees *d, keepers *seen)
{
    static plait_chunk chunk[PLAIT_MAX_LAYERS];
    bool kept = false, left = false;
    per_stage_result result;
    plait_error err;

    deal_unevenly(w, d, chunk);
    if (w->input.choices == 1)
        w->input.capacity_bytes = capacity_between(w, d, chunk);
    must(per_stage_solve(&w->input, d, chunk, scratch, &result, &err), &err);
    const double best_s = best_of_homes(w, d, chunk);
    assert_int_equal(result.fits, best_s < HUGE_VAL);
    if (!result.fits)
        return;
    hold_to_its_plan(w, d, chunk, &result);
    assert_true(result.bound_s <= best_s * (1.0 + 1e-9));
    if (result.gap == 0.0)
        assert_near_relative(result.step_s, best_s, 1e-9);
    for (int s = 0; s < d->pp; s++) {
        kept = kept || result.stage[s].kept;
        left = left || !result.stage[s].kept;
    }
    seen->points++;
    seen->some += kept && left;
}

static void test_stages__keep_the_optimizers_state_where_the_step_is_shortest(void **state)
{
    keepers seen = {0};
    world w;

    (void)state;
    load("llama-3.1-8b", "h100-80gb-sxm:4x8", 32, &w);
    w.input.may_keep = true;
    for (int n = 0; n < 4 * POINTS; n++) {
        const plait_arena_mark mark = plait_arena_save(scratch);
        const double capacity = w.input.capacity_bytes;
        const int choices = w.input.choices;
        plait_degrees d;

        w.input.choices =
            random_below(2) ? 1 : choices; // without recomputation first stages are full
        w.input.capacity_bytes *= 0.01 * (10 + random_below(70));
        if (random_point(&w, &d) && d.pp <= 4 && d.vpp == 1 && d.schedule == PLAIT_1F1B) {
            d.offload = PLAIT_OFFLOAD_OPTIMIZER;
            if (plait_degrees_check(&w.problem, &d, NULL, 0) != PLAIT_INVALID)
                try_homes(&w, &d, &seen);
        }
        w.input.capacity_bytes = capacity;
        w.input.choices = choices;
        plait_arena_rewind(scratch, mark);
    }
    print_message("%d points fit, in %d some stages keep it and some do not\n", seen.points,
                  seen.some);
    assert_true(seen.points > 30 && seen.some > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages__cost_what_they_say_and_no_less_can_be_had),
        cmocka_unit_test(test_stages__keep_the_optimizers_state_where_the_step_is_shortest),
    };
    return cmocka_run_group_tests(tests, make_arenas, free_arenas);
}
