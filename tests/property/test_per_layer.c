/*
 * test_per_layer.c - a sharding for each layer: the fastest plan is that of pricing every plan
 *
 * Random small models, points and memories. Each is solved and compared with every assignment of shardings, in one or two
 * runs a stage, and of recomputation, each priced as a plan of its own. The plan of a result costs what the result
 * states, and is never slower than the plan whose layers all have the point's sharding.
 */
#include <string.h>

#include "support/arenas_fixture.h"
#include "search/pipeline/per_layer.h"
#include "support/must.h"
#include "plait/data.h"
#include "plait/lowlevel/schedule.h"
#include "support/random_below.h"
#include "support/few_draws.h"

enum { QUESTIONS = FEW_DRAWS ? 40 : 600 };

enum { MOST_LAYERS = 5, CUTS = 3, CHOICES = 2 };

static uint64_t random_seed = 31;

// ---- questions -----------------------------------------------------------------------------

typedef struct world {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_degrees degrees;
    plait_recompute choice[CHOICES];
    per_layer_problem input;
} world;

static void load(const char *cluster, int gpus, world *w)
{
    plait_error err;

    memset(w, 0, sizeof *w);
    must(plait_model_find("llama-2-7b", arena, &w->model, NULL, &err), &err);
    must(plait_cluster_find(cluster, arena, &w->cluster, &err), &err);
    must(plait_cluster_take(&w->cluster, gpus, &err), &err);
    must(plait_runtime_find("galvatron", arena, &w->runtime, &err), &err);
    w->choice[1].kind = PLAIT_RECOMPUTE_FULL;
}

/* A legal point with a few layers; false: this draw was none. */
static bool draw(world *w, int gpus)
{
    static const unsigned char zeros[] = {0, 2, 2, 3};
    plait_degrees *const d = &w->degrees;

    w->model.layers = 2 + random_below(MOST_LAYERS - 1);
    *d = plait_degrees_init();
    d->pp = 1 << random_below(3);
    d->tp = 1 << random_below(4);
    d->cp = 1 + (random_below(4) == 0);
    d->sp = d->tp > 1;
    d->mbs = 1 << random_below(3);
    d->zero = zeros[random_below(4)];
    d->grad_sync = random_below(3) ? PLAIT_SYNC_BUCKETED : PLAIT_SYNC_SHIFTED;
    d->scatter = d->zero >= 2 && d->grad_sync == PLAIT_SYNC_SHIFTED ? PLAIT_SCATTER_STEP
                                                                    : PLAIT_SCATTER_MICROBATCH;
    d->attention = PLAIT_ATTENTION_FLASH2;
    d->grad_reduce = PLAIT_STATE_BF16;
    d->split.kind = PLAIT_SPLIT_SPREAD;
    d->dp = plait_degrees_dp(gpus, d->tp, d->pp, d->cp);
    d->shard_group = d->dp * d->cp;
    w->problem = (plait_problem){
        .model = &w->model,
        .cluster = &w->cluster,
        .runtime = &w->runtime,
        .job = {.seq = 512 << random_below(4), .gbs = 16 << random_below(3), .gpus = gpus}};
    return d->dp > 0 && d->pp <= w->model.layers && per_layer_applies(&w->problem, d) &&
           plait_degrees_check(&w->problem, d, NULL, 0) != PLAIT_INVALID;
}

/* A few cuts, and memory for less or more than the plan whose layers are cut alike. */
static void ask(world *w)
{
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    must(plait_plan_expand(&w->problem, &w->degrees, scratch, &plan, &err), &err);
    must(plait_plan_evaluate(&w->problem, &plan, NULL, scratch, &cost, &err), &err);
    w->input = (per_layer_problem){
        .problem = &w->problem,
        .choices = 1 + random_below(CHOICES),
        .choice = w->choice,
        .capacity_bytes = cost.memory.peak_bytes * (0.77 + 0.05 * random_below(8)),
    };
    for (; w->input.shardings < CUTS - 1; w->input.shardings++)
        w->input.sharding[w->input.shardings] =
            (plait_cut){(short)(1 << random_below(4)), random_below(2) ? 3 : w->degrees.zero};
}

// ---- every plan ----------------------------------------------------------------------------

typedef struct every_plan {
    const world *w;
    int shardings;
    const plait_cut *option;
    plait_plan plan;
    plait_stage stage[MOST_LAYERS];
    plait_cut cut[MOST_LAYERS];
    plait_recompute recompute[MOST_LAYERS];
    int runs; /* a stage may have */
    double best_s;
    long plans;
} every_plan;

static bool same_cut(plait_cut a, plait_cut b)
{
    return a.tp == b.tp && a.zero == b.zero;
}

static void price(every_plan *e)
{
    plait_cost cost;
    plait_error err;
    const plait_arena_mark mark = plait_arena_save(scratch);

    must(plait_plan_evaluate(&e->w->problem, &e->plan, NULL, scratch, &cost, &err), &err);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s", cost.why);
    if (cost.memory.peak_bytes <= e->w->input.capacity_bytes && cost.step_s < e->best_s)
        e->best_s = cost.step_s;
    e->plans++;
    plait_arena_rewind(scratch, mark);
}

/* Runs of a stage up to its layer `at`. */
static int runs_of(const plait_stage *stage, int at)
{
    int runs = 1;

    for (int i = 1; i <= at; i++)
        runs += !same_cut(stage->cut[i], stage->cut[i - 1]);
    return runs;
}

/* In a run the order of what is run again is no matter: those come first. */
static bool in_order(const plait_stage *stage, int at)
{
    return at == 0 || !same_cut(stage->cut[at], stage->cut[at - 1]) ||
           stage->recompute[at - 1].kind == PLAIT_RECOMPUTE_FULL ||
           stage->recompute[at].kind == PLAIT_RECOMPUTE_NONE;
}

static void try_layers(every_plan *e, int s, int at)
{
    if (s == e->plan.stages) {
        price(e);
        return;
    }
    plait_stage *const stage = &e->stage[s];
    plait_cut *const cut = e->cut + stage->chunk[0].first;
    plait_recompute *const recompute = e->recompute + stage->chunk[0].first;
    if (at == stage->layers) {
        try_layers(e, s + 1, 0);
        return;
    }
    stage->cut = cut;
    stage->recompute = recompute;
    for (int c = 0; c < e->shardings; c++)
        for (int r = 0; r < e->w->input.choices; r++) {
            cut[at] = e->option[c];
            recompute[at] = e->w->choice[r];
            if (runs_of(stage, at) <= e->runs && in_order(stage, at))
                try_layers(e, s, at + 1);
        }
}

static double fastest_of_all(const world *w, const per_layer_point *point, int runs, long *plans)
{
    every_plan e = {.w = w, .runs = runs, .best_s = HUGE_VAL};
    plait_error err;

    e.shardings = point->shardings;
    e.option = point->sharding;
    must(plait_plan_expand(&w->problem, &w->degrees, scratch, &e.plan, &err), &err);
    for (int s = 0; s < e.plan.stages; s++)
        e.stage[s] = e.plan.stage[s];
    e.plan.stage = e.stage;
    try_layers(&e, 0, 0);
    *plans += e.plans;
    return e.best_s;
}

// ---- one input --------------------------------------------------------------------------

typedef struct tally {
    int questions, misfits, cut, freed, freer;
    long plans;
    double gain;
} tally;

/* What the result says is what its plan costs, legal and within the memory. */
static plait_cost cost_of_result(const world *w, const per_layer_point *point,
                                 const per_layer_result *result)
{
    plait_chunk chunk[PLAIT_MAX_LAYERS];
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    assert_true(plait_chunks_of(&w->model, &w->degrees, chunk));
    must(per_layer_plan(point, chunk, result, scratch, &plan, &err), &err);
    must(plait_plan_evaluate(&w->problem, &plan, NULL, scratch, &cost, &err), &err);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s", cost.why);
    assert_true(cost.memory.peak_bytes <= w->input.capacity_bytes);
    return cost;
}

static bool any_sharded(const per_layer_result *result, int stages)
{
    for (int s = 0; s < stages; s++)
        if (result->stage[s].runs > 1 || result->stage[s].run[0].sharding != 0)
            return true;
    return false;
}

static void try_question(world *w, tally *seen)
{
    int layers[PLAIT_MAX_LAYERS];
    per_layer_result result;
    plait_error err;

    ask(w);
    per_layer_point *const point = per_layer_begin(&w->input, &w->degrees, scratch);
    assert_non_null(point);
    assert_true(plait_split_layers(&w->model, &w->degrees, layers));
    must(per_layer_dp(point, layers, HUGE_VAL, scratch, &result, &err), &err);
    const double best_s = fastest_of_all(w, point, PER_LAYER_RUNS, &seen->plans);
    seen->questions++;
    assert_true(result.proven);
    assert_true(result.fits == isfinite(best_s));
    if (!result.fits) {
        seen->misfits++;
        return;
    }
    const plait_cost cost = cost_of_result(w, point, &result);
    const bool shifted = w->degrees.grad_sync == PLAIT_SYNC_SHIFTED && w->degrees.pp > 1;
    assert_true(cost.step_s >= best_s * (1.0 - 1e-9));
    assert_true(result.step_s <= best_s * (1.0 + 1e-9)); // by shifted a bound
    if (!shifted) {
        assert_near_relative(result.step_s, cost.step_s, 1e-9);
        assert_near_relative(result.step_s, best_s, 1e-9);
    }
    seen->cut += any_sharded(&result, w->degrees.pp);
    if (w->degrees.pp == 1 && w->model.layers < MOST_LAYERS) {
        const double free_s = fastest_of_all(w, point, MOST_LAYERS, &seen->plans);
        seen->freed++;
        seen->freer += free_s < best_s * (1.0 - 1e-9);
        seen->gain = fmax(seen->gain, 1.0 - free_s / best_s);
    }
}

static void test_runs_of_layers__are_the_fastest_of_every_plan(void **state)
{
    static const struct {
        const char *cluster;
        int gpus;
    } worlds[] = {{"a100-40gb-sxm:1x8", 8}, {"a100-40gb-sxm:2x8", 16}, {"h100-80gb-sxm:4x4", 16}};
    tally seen = {0};

    (void)state;
    while (seen.questions < QUESTIONS) {
        const plait_arena_mark mark = plait_arena_save(scratch);
        const int at = random_below(3);
        static world w;
        if (w.problem.job.gpus != worlds[at].gpus || random_below(10) == 0)
            load(worlds[at].cluster, worlds[at].gpus, &w);
        if (draw(&w, worlds[at].gpus))
            try_question(&w, &seen);
        plait_arena_rewind(scratch, mark);
    }
    print_message("%d questions, %d do not fit, %d cut, %ld plans; more runs are faster in %d "
                  "of %d, by %.2f %% at most\n",
                  seen.questions, seen.misfits, seen.cut, seen.plans, seen.freer, seen.freed,
                  100.0 * seen.gain);
    assert_true(seen.cut > QUESTIONS / 10 && seen.misfits > QUESTIONS / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_layers__are_the_fastest_of_every_plan),
    };
    return cmocka_run_group_tests(tests, make_arenas, free_arenas);
}
