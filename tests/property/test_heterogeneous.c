/*
 * test_heterogeneous.c - a search over several sorts of nodes returns what pricing every plan would return
 *
 * Random small questions are held against nested loops over orders of groups, one run of stages of each or
 * two of one of them, their degrees, cuts of
 * the layers and what each stage recomputes, which share no bound, no label and no chain with the search:
 * pipelines by plait_pipeline_s, legality by plait_plan_check.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/must.h"
#include "plait/cost.h"
#include "plait/data.h"
#include "plait/lowlevel/schedule.h"
#include "plait/search.h"
#include "support/few_draws.h"
#include "base/text.h"
#include "costmodel/api.h"

static plait_arena *arena;
static plait_error err;

enum { QUESTIONS = FEW_DRAWS ? 16 : 160 };

enum { MOST_STAGES = 6 };

// ---- questions -----------------------------------------------------------------------------

static uint64_t dice = 88172645463325252u;

static int roll(int sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (int)(dice % (uint64_t)sides);
}

typedef struct world {
    plait_model model;
    plait_accelerator small[PLAIT_MAX_NODE_GROUPS]; /* with less memory than its data sheet says */
    plait_layer kind[2]; /* narrow and wide layers, if make_wide made the model */
    unsigned char layer_kind[8];
    plait_runtime runtime;
    plait_cluster cluster;
    plait_problem problem;
    plait_search_options options;
} world;

static void make(world *w, const char *model, const char *cluster, const char *limits)
{
    const char *warning;

    memset(w, 0, sizeof *w);
    must(plait_model_find(model, arena, &w->model, &warning, &err), &err);
    must(plait_cluster_find(cluster, arena, &w->cluster, &err), &err);
    must(plait_runtime_find("companion", arena, &w->runtime, &err), &err);
    plait_problem_init(&w->problem);
    w->problem.model = &w->model;
    w->problem.cluster = &w->cluster;
    w->problem.runtime = &w->runtime;
    w->problem.job = (plait_job){.seq = 4096, .gbs = 8, .gpus = w->cluster.gpus};
    plait_search_options_init(&w->options);
    w->options.top = 1;
    w->options.threads = 1;
    w->options.refine = PLAIT_REFINE_ALL;
    must(plait_search_limit(&w->options, limits, &err), &err);
}

/* So little memory that it matters what is recomputed. */
static void make_small(world *w)
{
    for (int g = 0; g < w->cluster.groups; g++) {
        w->small[g] = *w->cluster.group[g].accelerator;
        w->small[g].memory_bytes = (4 + roll(20)) * 1073741824.0;
        w->cluster.group[g].accelerator = &w->small[g];
    }
    w->runtime.can.module_sets = roll(3);
    w->runtime.can.recompute_alike =
        roll(3) == 0 ? 1u << PLAIT_RECOMPUTE_SELECTIVE | 1u << PLAIT_RECOMPUTE_MODULES : 0u;
}

/* The last layers have MLPs so wide that nodes with little memory hold the first ones alone. */
static void make_wide(world *w)
{
    const int narrow = 1 + roll(w->model.layers - 1);

    for (int k = 0; k < 2; k++)
        w->kind[k] = w->model.kind[0];
    w->kind[1].mlp.width *= 2 + 2 * roll(2);
    for (int i = 0; i < w->model.layers; i++)
        w->layer_kind[i] = i >= narrow;
    w->model.kinds = 2;
    w->model.kind = w->kind;
    w->model.layer_kind = w->layer_kind;
    w->model.vocab = 1024;
    for (int g = 0; g < w->cluster.groups; g++) {
        w->small[g] = *w->cluster.group[g].accelerator;
        w->small[g].memory_bytes = (roll(2) > 0 ? 5 + roll(4) : 24) * 1073741824.0;
        w->cluster.group[g].accelerator = &w->small[g];
    }
}

/* What the search of one group alone would try beside it: as small as can be. */
#define PLAIN                                                                                      \
    "schedule=1f1b,vpp=1,cp=1,fusion=none,post_validation=0,placement=xyz,order=tp-cp-dp-pp"

static void make_random(world *w)
{
    static const char *const gpus[] = {"h100-80gb-sxm", "a100-40gb-sxm", "h200-141gb-sxm",
                                       "rtx-4090-24gb", "a100-80gb-sxm"};
    static const char *const recompute[] = {"", ",recompute=full", "", ",recompute=none"};
    char cluster[200] = "", limits[300];
    const int groups = 2 + (roll(4) == 0);

    for (int g = 0; g < groups; g++) { // one after the other: the same with every compiler
        const int a_node = 1 << roll(2);
        const int nodes = 1 + roll(2);

        snprintf(cluster + strlen(cluster), sizeof cluster - strlen(cluster), "%s%s:%dx%d",
                 g > 0 ? "+" : "", gpus[roll(5)], nodes, a_node);
    }
    if (roll(3) == 0)
        snprintf(cluster + strlen(cluster), sizeof cluster - strlen(cluster), ",nic=%d",
                 10 << roll(5));
    if (roll(3) == 0)
        snprintf(cluster + strlen(cluster), sizeof cluster - strlen(cluster), ",between=%d",
                 1 << roll(8));
    const char *const also = recompute[roll(4)];
    snprintf(limits, sizeof limits, PLAIN ",zero=%d%s", roll(4), also);
    make(w, roll(4) == 0 ? "gemma-2-2b" : "llama-3.1-8b", cluster, limits);
    w->runtime.can.module_sets = 0;
    if (roll(2) == 0)
        make_small(w);
    w->model.layers = 3 + roll(w->runtime.can.module_sets > 1 ? 2 : 3);
    if (w->model.kinds == 1 && roll(3) == 0)
        make_wide(w);
    w->problem.job.gbs = 8 << roll(3);
    w->problem.job.seq = 2048 << roll(2);
    w->options.objective = roll(4) == 0 ? PLAIT_MINIMISE_COST : PLAIT_MINIMISE_TIME;
    for (int g = 0; g < w->cluster.groups; g++)
        if (w->cluster.group[g].accelerator->usd_per_hour <= 0.0)
            w->options.objective = PLAIT_MINIMISE_TIME;
}

// ---- brute force ---------------------------------------------------------------------------

/* One run of stages of each group that is used, or two of one of them, in their order, and what is tried of it. */
typedef struct enumeration {
    const world *w;
    int groups;  /* runs */
    bool unlike; /* one group has two */
    int rest;    /* GPUs of the last group that its second run has to take */
    plait_degrees degrees[PLAIT_MAX_NODE_GROUPS]; /* pp: stages that the group has room for */
    int group[PLAIT_MAX_NODE_GROUPS];
    int stages_of[PLAIT_MAX_NODE_GROUPS];
    plait_stage_pricer *sort[PLAIT_MAX_NODE_GROUPS];
    double capacity_bytes[PLAIT_MAX_NODE_GROUPS];
    int stages;
    int of[MOST_STAGES]; /* which of the groups */
    int last[MOST_STAGES];
    plait_recompute recompute[MOST_STAGES];
    plait_stage stage[MOST_STAGES];
    plait_chunk chunk[MOST_STAGES];
    plait_recompute each[MOST_STAGES][8];
    double best;
    double best_alike; /* of those where no group has two runs */
    long plans;
} enumeration;

static int microbatches(const enumeration *e)
{
    return plait_degrees_microbatches(&e->degrees[0], e->w->problem.job.gbs);
}

static void fill_stages(enumeration *e)
{
    for (int s = 0; s < e->stages; s++) {
        const int first = s > 0 ? e->last[s - 1] : 0;
        e->chunk[s] = (plait_chunk){
            .first = first, .last = e->last[s], .embedding = s == 0, .loss = s == e->stages - 1};
        for (int i = 0; i < 8; i++)
            e->each[s][i] = e->recompute[s];
        e->stage[s] = (plait_stage){.chunks = 1,
                                    .chunk = &e->chunk[s],
                                    .degrees = e->degrees[e->of[s]],
                                    .recompute = e->each[s],
                                    .layers = e->last[s] - first,
                                    .group = e->group[e->of[s]]};
        e->stage[s].degrees.recompute = e->recompute[s];
        e->stage[s].degrees.pp = e->stages;
    }
}

static bool legal(enumeration *e)
{
    plait_plan plan;
    char why[256];

    must(plait_plan_lay(&e->stage[0].degrees, e->chunk, arena, &plan, &err), &err);
    for (int s = 0; s < e->stages; s++)
        e->stage[s].degrees.split = plan.degrees.split;
    plan.stage = e->stage;
    return plait_plan_check(&e->w->problem, &plan, NULL, why, sizeof why) == PLAIT_FITS;
}

static double weight_of(const enumeration *e)
{
    double usd = 0.0;

    for (int g = 0; g < e->groups; g++)
        usd += g > 0 && e->group[g] == e->group[g - 1]
                   ? 0.0
                   : plait_cluster_taken(&e->w->cluster, e->w->problem.job.gpus, e->group[g]) *
                         e->w->cluster.group[e->group[g]].accelerator->usd_per_hour / 3600.0;
    return e->w->options.objective == PLAIT_MINIMISE_COST ? usd : 1.0;
}

/* The price of what is spelled out; infinite where it does not fit. */
static double price(enumeration *e)
{
    const int m = microbatches(e);
    plait_rank_run run[MOST_STAGES];
    plait_between_stages between = {0};

    for (int s = 0; s < e->stages; s++) {
        plait_stage_pricer *sort = e->sort[e->of[s]];
        const int end = s == 0 ? e->stages - 1 : 0;
        const plait_stage_price p =
            plait_stage_pricer_price(sort, &e->stage[s], e->group[e->of[end]]);
        const double in_flight = e->stages - s < m ? e->stages - s : m;
        if (p.state_bytes + in_flight * p.flight_bytes > e->capacity_bytes[e->of[s]])
            return HUGE_VAL;
        run[s] = (plait_rank_run){.ranks = 1, .all = p.time};
        plait_between_add_stage(&between, &p);
        if (s > 0)
            plait_between_add_boundary(&between, e->sort[e->of[s - 1]], sort);
    }
    const plait_pipeline_load load = {
        .ranks = e->stages, .chunks = 1, .microbatches = m, .runs = e->stages, .run = run};
    return weight_of(e) *
           plait_between_step_s(&e->w->problem, &between, m, plait_pipeline_s(PLAIT_1F1B, &load));
}

/* Does a limit, or rule P40 of the stages before, leave it? */
static bool allowed(const enumeration *e, plait_recompute recompute, int s)
{
    const world *w = e->w;
    plait_degrees d = plait_degrees_init(), first = plait_degrees_init();
    const unsigned alike = w->runtime.can.recompute_alike;
    char text[96];

    d.recompute = recompute;
    first.recompute = e->recompute[0];
    plait_degrees_get(&d, PLAIT_KEY_RECOMPUTE, text, sizeof text);
    for (int i = 0; i < w->options.limits; i++)
        if (w->options.limit[i].key == PLAIT_KEY_RECOMPUTE &&
            strcmp(w->options.limit[i].value, text) != 0)
            return false;
    return s == 0 || plait_key_same(&d, &first, PLAIT_KEY_RECOMPUTE) ||
           !((alike >> recompute.kind | alike >> e->recompute[0].kind) & 1u);
}

static void try_recompute(enumeration *e, int s)
{
    static const unsigned char kinds[] = {PLAIT_RECOMPUTE_NONE, PLAIT_RECOMPUTE_SELECTIVE,
                                          PLAIT_RECOMPUTE_FULL};
    const plait_capabilities *can = &e->w->runtime.can;

    if (s == e->stages) {
        fill_stages(e);
        const double found = price(e);
        e->best = fmin(e->best, found);
        e->best_alike = fmin(e->best_alike, e->unlike ? HUGE_VAL : found);
        e->plans++;
        return;
    }
    for (int k = 0; k < 3 + can->module_sets; k++) {
        e->recompute[s] = k < 3 ? (plait_recompute){.kind = kinds[k]}
                                : (plait_recompute){.kind = PLAIT_RECOMPUTE_MODULES,
                                                    .modules = can->module_set[k - 3]};
        if (allowed(e, e->recompute[s], s))
            try_recompute(e, s + 1);
    }
}

static void try_cuts(enumeration *e, int s, int first)
{
    const int layers = e->w->model.layers;

    if (s == e->stages - 1) {
        e->last[s] = layers;
        try_recompute(e, 0);
        return;
    }
    for (int last = first + 1; last <= layers - (e->stages - 1 - s); last++) {
        e->last[s] = last;
        try_cuts(e, s + 1, last);
    }
}

/* All runs are chosen: are such plans legal at all? */
static void try_line(enumeration *e)
{
    if (e->groups < 2 || e->stages > e->w->model.layers)
        return;
    for (int s = 0; s < e->stages; s++) {
        e->last[s] = s == e->stages - 1 ? e->w->model.layers : s + 1;
        e->recompute[s] = (plait_recompute){.kind = PLAIT_RECOMPUTE_SELECTIVE};
    }
    fill_stages(e);
    if (!legal(e))
        return;
    for (int g = 0; g < e->groups; g++) {
        e->sort[g] =
            plait_stage_pricer_new(&e->w->problem, e->group[g], &e->degrees[g], NULL, arena);
        assert_non_null(e->sort[g]);
        e->capacity_bytes[g] = plait_stage_pricer_capacity_bytes(e->sort[g], e->w->problem.risk);
    }
    try_cuts(e, 0, 0);
}

static void try_groups(enumeration *e);

/* A run of group `g` behind those that are chosen, with these degrees. */
static void try_degrees(enumeration *e, int g, int n, int tp, int dp, int mbs, int rest)
{
    const int rest_before = e->rest;
    plait_degrees d = plait_degrees_init();
    plait_cluster cluster;
    int zero = 0;

    for (int i = 0; i < e->w->options.limits; i++)
        if (e->w->options.limit[i].key == PLAIT_KEY_ZERO)
            zero = e->w->options.limit[i].low;
    d.tp = tp;
    d.dp = dp;
    d.pp = plait_stage_pricer_stages(&e->w->problem, g, &d);
    d.mbs = mbs;
    d.zero = (unsigned char)zero;
    const plait_problem of_group = plait_problem_of_group(&e->w->problem, g, &d, &cluster);
    plait_degrees_fill(&of_group,
                       PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                           PLAIT_KEY_BIT(PLAIT_KEY_DP) | PLAIT_KEY_BIT(PLAIT_KEY_MBS) |
                           PLAIT_KEY_BIT(PLAIT_KEY_ZERO) | PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE),
                       &d);
    d.split.kind = PLAIT_SPLIT_LAYOUT;
    if (e->groups > 0 && d.dp * d.mbs != e->degrees[0].dp * e->degrees[0].mbs)
        return;
    if (e->rest > 0 && tp == e->degrees[e->groups - 1].tp && dp == e->degrees[e->groups - 1].dp)
        return; // one run
    e->degrees[e->groups] = d;
    e->group[e->groups] = g;
    for (int s = 0; s < n; s++)
        e->of[e->stages + s] = e->groups;
    e->groups++;
    e->stages += n;
    e->rest = rest;
    e->unlike = e->unlike || rest > 0;
    try_groups(e);
    e->stages -= n;
    e->groups--;
    e->unlike = rest > 0 ? false : e->unlike;
    e->rest = rest_before;
}

/* Runs of these stages that take all of so many GPUs, or leave some for a second one. */
static void try_stages(enumeration *e, int g, int gpus, int tp, int dp)
{
    const int gbs = e->w->problem.job.gbs;

    for (int n = 1; n * tp * dp <= gpus && e->stages + n <= MOST_STAGES; n++)
        for (int mbs = 1; mbs * dp <= gbs; mbs++) {
            const int rest = gpus - n * tp * dp;
            if (gbs % (dp * mbs) == 0 && (rest == 0 || (!e->unlike && e->rest == 0)))
                try_degrees(e, g, n, tp, dp, mbs, rest);
        }
}

static void try_groups(enumeration *e)
{
    if (e->rest == 0)
        try_line(e);
    for (int g = 0; g < e->w->cluster.groups; g++) {
        const int gpus = plait_cluster_taken(&e->w->cluster, e->w->problem.job.gpus, g);
        const int domain = plait_cluster_of_group(&e->w->cluster, g, gpus).level[0].gpus;
        bool taken = false;
        for (int i = 0; i < e->groups; i++)
            taken = taken || e->group[i] == g;
        const bool rest = e->rest > 0 && e->group[e->groups - 1] == g;
        for (int tp = 1; (rest || (!taken && e->rest == 0)) && tp <= domain; tp++)
            for (int dp = 1; tp * dp <= gpus; dp++)
                try_stages(e, g, rest ? e->rest : gpus, tp, dp);
    }
}

// ---- tests ---------------------------------------------------------------------------------

/* The best that any group reaches alone, by its own search. */
static double best_alone(const world *w)
{
    double best = HUGE_VAL;

    for (int g = 0; g < w->cluster.groups; g++) {
        plait_degrees all = plait_degrees_init();
        plait_cluster cluster;
        plait_search_result result;
        all.dp = plait_cluster_taken(&w->cluster, w->problem.job.gpus, g);
        const plait_problem problem = plait_problem_of_group(&w->problem, g, &all, &cluster);
        enumeration e = {.w = w, .groups = 1, .group = {g}};
        if (plait_search(&problem, &w->options, arena, &result, &err) == PLAIT_OK &&
            result.plans > 0)
            best = fmin(best, weight_of(&e) * result.plan[0].price.step_s);
    }
    return best;
}

static void test_mixed__finds_the_best_of_all_plans(void **state)
{
    long plans = 0;
    int mixed = 0, unlike = 0, feasible = 0;

    (void)state;
    for (int i = 0; i < QUESTIONS; i++) {
        const plait_arena_mark mark = plait_arena_save(arena);
        world w;
        plait_search_result result;
        do // not twice the same group
            make_random(&w);
        while (plait_cluster_priced(&w.cluster, w.cluster.gpus, NULL, 0));
        enumeration e = {.w = &w, .best = HUGE_VAL, .best_alike = HUGE_VAL};
        try_groups(&e);
        const double expected = fmin(e.best, best_alone(&w));
        must(plait_search(&w.problem, &w.options, arena, &result, &err), &err);
        plans += e.plans;
        mixed += e.best <= expected && expected < HUGE_VAL;
        unlike += e.best <= expected && e.best < e.best_alike * (1.0 - 1e-6);
        feasible += expected < HUGE_VAL;
        if (expected < HUGE_VAL
                ? result.plans == 0 || fabs(result.plan[0].objective / expected - 1.0) > 1e-9
                : result.plans > 0)
            fail_msg("question %d, %s, %d layers, gbs %d: %.17g by enumeration, %.17g found", i,
                     w.cluster.name, w.model.layers, w.problem.job.gbs, expected,
                     result.plans > 0 ? result.plan[0].objective : -1.0);
        plait_arena_rewind(arena, mark);
    }
    printf(
        "%d questions, %d with an answer, %d of them by stages of their own, %d with two runs in a "
        "group; %ld plans priced\n",
        QUESTIONS, feasible, mixed, unlike, plans);
    assert_true(mixed * 4 > feasible); // of the others one group alone has the best plan
    assert_true(QUESTIONS < 300 || unlike > 4);
}

static double best_of(const char *cluster, const char *limits)
{
    world w;
    plait_search_result result;

    make(&w, "llama-3.1-8b", cluster, limits);
    w.problem.job.gbs = 32;
    must(plait_search(&w.problem, &w.options, arena, &result, &err), &err);
    return result.plans > 0 ? result.plan[0].price.step_s : HUGE_VAL;
}

static void test_mixed__is_the_same_for_any_order_of_the_groups(void **state)
{
    const char *const limits = PLAIN ",zero=1";
    const double ab = best_of("h100-80gb-sxm:1x8+a100-40gb-sxm:1x8+a100-80gb-sxm:1x4", limits);

    (void)state;
    assert_near(best_of("a100-80gb-sxm:1x4+a100-40gb-sxm:1x8+h100-80gb-sxm:1x8", limits), ab,
                1e-9 * ab);
    assert_near(best_of("a100-40gb-sxm:1x8+h100-80gb-sxm:1x8+a100-80gb-sxm:1x4", limits), ab,
                1e-9 * ab);
}

static void test_mixed__gets_no_slower_with_a_group_more(void **state)
{
    const char *const limits = PLAIN ",zero=1";
    const double one = best_of("h100-80gb-sxm:1x8", limits);
    const double two = best_of("h100-80gb-sxm:1x8+rtx-4090-24gb:1x8,between=1", limits);
    const double three =
        best_of("h100-80gb-sxm:1x8+rtx-4090-24gb:1x8,between=1+a100-80gb-sxm:1x4", limits);

    (void)state;
    assert_true(two <= one && three <= two);
}

/* Two equal groups are one: the uniform search answers, to the last digit. */
static void test_mixed__of_equal_groups_is_the_uniform_answer(void **state)
{
    const char *const limits = PLAIN ",zero=1";

    (void)state;
    assert_true(best_of("h100-80gb-sxm:1x8+h100-80gb-sxm:1x8", limits) ==
                best_of("h100-80gb-sxm:2x8", limits));
}

/*
 * Groups that differ in one byte of memory are two; a plan that runs over both as over one costs what
 * the uniform one does. 8 stages of a node: its pipeline leaves the node in either.
 */
static void test_mixed_price__is_the_uniform_one_where_nodes_are_as_good_as_equal(void **state)
{
    const plait_degrees init = plait_degrees_init();
    plait_accelerator even, other;
    plait_degrees d = init;
    plait_cost uniform, mixed;
    plait_plan plan;
    world w;

    (void)state;
    make(&w, "llama-3.1-8b", "h100-80gb-sxm:4x8", PLAIN);
    w.problem.job.gbs = 32;
    even = *w.cluster.group[0].accelerator;
    even.speed_spread = 0.0; // stages wait for the slowest of their group alone (C.310)
    w.cluster.group[0].accelerator = &even;
    d.tp = 4;
    d.sp = true;
    d.pp = 4;
    d.dp = 2;
    d.zero = 1;
    d.shard_group = 2;
    d.grad_sync = PLAIT_SYNC_BUCKETED;
    must(plait_plan_expand(&w.problem, &d, arena, &plan, &err), &err);
    d.split.kind = PLAIT_SPLIT_LAYOUT;
    plait_chunk chunk[4];
    for (int s = 0; s < 4; s++)
        chunk[s] = plan.stage[s].chunk[0];
    must(plait_plan_lay(&d, chunk, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&w.problem, &plan, NULL, arena, &uniform, &err), &err);
    assert_string_equal(uniform.why, "");

    other = even;
    other.memory_bytes += 1.0;
    w.cluster.groups = 2;
    w.cluster.group[0].nodes = 2;
    w.cluster.group[1] = w.cluster.group[0];
    w.cluster.group[1].accelerator = &other;
    plait_stage stage[4];
    for (int s = 0; s < 4; s++) {
        stage[s] = plan.stage[s];
        stage[s].group = s / 2;
    }
    plan.stage = stage;
    must(plait_plan_evaluate(&w.problem, &plan, NULL, arena, &mixed, &err), &err);
    assert_string_equal(mixed.why, "");
    assert_near(mixed.step_s, uniform.step_s, 1e-9 * uniform.step_s);
    assert_near(mixed.memory.peak_bytes, uniform.memory.peak_bytes, 1.0);
    assert_near(mixed.cost_usd, uniform.cost_usd, 1e-9 * uniform.cost_usd);
    assert_near(mixed.energy_j, uniform.energy_j, 1e-9 * uniform.energy_j);
    assert_near(mixed.mfu, uniform.mfu, 1e-9);
}

static int set_up(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed_price__is_the_uniform_one_where_nodes_are_as_good_as_equal),
        cmocka_unit_test(test_mixed__of_equal_groups_is_the_uniform_answer),
        cmocka_unit_test(test_mixed__finds_the_best_of_all_plans),
        cmocka_unit_test(test_mixed__is_the_same_for_any_order_of_the_groups),
        cmocka_unit_test(test_mixed__gets_no_slower_with_a_group_more),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
