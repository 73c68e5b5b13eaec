/*
 * test_search.c - a search returns what pricing every plan would return
 *
 * Small spaces are searched with and without pruning and with 1, 2 and 8 threads, and held against
 * a brute force that shares no code with the search: nested loops over every key, the check of
 * each plan, and its price.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/everything.h"
#include "rules/kernels.h"
#include "support/must.h"
#include "plait/cost.h"
#include "plait/plan.h"
#include "plait/search.h"
#include "rules/plan_check.h"
#include "support/few_draws.h"
#include "plan/split.h"
#include "support/world.h"
#include "costmodel/api.h"
#include "plan/model_queries.h"

static plait_arena *arena;

// ---- questions -----------------------------------------------------------------------------

enum {
    EVERY_PLAN = 1, /* small enough to price every plan one by one */
    NUMERICS = 2,   /* formats of gradients, moments and parameters are searched, too */
    FP8 = 4,
    FUSES = 8, /* the software can fuse communication */
};

typedef struct question {
    const char *model, *cluster, *runtime;
    int gpus, seq, gbs;
    plait_objective objective;
    unsigned how;
    const char *limits;
} question;

static const question questions[] = {
    {"gpt2-xl", "h100-80gb-sxm:1x8", "megatron", 8, 1024, 16, PLAIT_MINIMISE_TIME, EVERY_PLAN, ""},
    /* of five kernels each is the best somewhere, or near it */
    {"gpt2-xl", "h100-80gb-sxm:1x8", "everything", 8, 128, 16, PLAIT_MINIMISE_TIME, EVERY_PLAN,
     "tp=..2,recompute=none,schedule=1f1b"},
    {"gpt2-xl", "rtx-4090-24gb:2x4", "everything", 8, 1024, 8, PLAIT_MINIMISE_TIME, EVERY_PLAN,
     "cp=1"},
    {"gpt2-xl", "h100-80gb-sxm:1x8", "xla", 8, 1024, 8, PLAIT_MINIMISE_TIME, EVERY_PLAN, "pp=8"},
    {"gpt2-xl", "h100-80gb-sxm:1x8", "megatron", 8, 1024, 16, PLAIT_MINIMISE_TIME, EVERY_PLAN,
     "zero=1,grad_sync=shifted,order=tp-cp-pp-dp"},
    {"gpt-7.5b", "a100-80gb-sxm:4x8", "megatron-2021", 32, 2048, 32, PLAIT_MINIMISE_MEMORY,
     EVERY_PLAN, "mbs=..4"},
    {"llama-3.1-8b", "h100-80gb-sxm:2x8", "torchtitan", 16, 4096, 16, PLAIT_MINIMISE_TIME,
     EVERY_PLAN, ""},
    {"llama-3.1-8b", "h100-80gb-sxm:8x8", "torchtitan", 64, 8192, 32, PLAIT_MINIMISE_COST,
     EVERY_PLAN, "pp=1..2,mbs=..2,cp=1"},
    {"llama-3.1-8b", "h100-80gb-sxm:8x8", "torchtitan", 64, 8192, 32, PLAIT_MINIMISE_TIME, 0, ""},
    {"llama-3.1-8b", "tpu-v5p", "xla", 16, 4096, 16, PLAIT_MINIMISE_TIME, EVERY_PLAN, "cp=1..2"},
    {"llama-3.1-8b", "tpu-v5p", "maxtext", 16, 4096, 16, PLAIT_MINIMISE_TIME, EVERY_PLAN, "cp=1"},
    {"llama-3.1-8b", "tests/data/clusters/torus-of-nodes.json", "everything", 64, 2048, 16,
     PLAIT_MINIMISE_TIME, 0, "cp=1,recompute=selective"},
    {"llama-3.1-8b", "h100-80gb-sxm:1x8", "fsdp", 8, 4096, 32, PLAIT_MINIMISE_ENERGY, EVERY_PLAN,
     ""},
    {"llama-3.1-8b", "h100-80gb-sxm:2x8", "megatron", 16, 4096, 8, PLAIT_MINIMISE_ENERGY,
     EVERY_PLAN, "tp=2..4,pp=2..,recompute=full,split=even"},
    {"llama-3.1-70b", "h100-80gb-sxm:8x8", "nanotron", 64, 4096, 64, PLAIT_MINIMISE_TIME,
     EVERY_PLAN, "tp=2..,mbs=..4"},
    {"llama-3.1-70b", "h100-80gb-sxm:8x8", "megatron", 64, 8192, 64, PLAIT_MINIMISE_TIME, 0, ""},
    {"gemma-2-2b", "mi300x", "everything", 16, 4096, 16, PLAIT_MINIMISE_MEMORY, 0, ""},
    {"mixtral-8x7b", "h100-80gb-sxm:2x8", "megatron", 16, 4096, 16, PLAIT_MINIMISE_TIME, EVERY_PLAN,
     "cp=1,mbs=1,zero=1"},
    {"mixtral-8x7b", "h200-141gb-sxm:4x8", "torchtitan", 32, 4096, 32, PLAIT_MINIMISE_MEMORY,
     EVERY_PLAN, "zero=3,cp=1,tp=..2,mbs=..2"},
    {"mixtral-8x7b", "h200-141gb-sxm:4x8", "megatron", 32, 4096, 32, PLAIT_MINIMISE_COST, 0, ""},
    {"qwen3-30b-a3b", "h100-80gb-sxm:3x8", "everything", 24, 4096, 24, PLAIT_MINIMISE_TIME,
     EVERY_PLAN, "cp=1,mbs=1,zero=1,tp=..3,recompute=selective,schedule=1f1b"},
    {"gpt2-medium", "h100-80gb-sxm:2x8", "everything", 16, 1024, 16, PLAIT_MINIMISE_TIME,
     EVERY_PLAN | FUSES, "cp=1,mbs=1,tp=2..8,recompute=selective,zero=1,split=even"},
    {"mixtral-8x7b", "h100-80gb-sxm:8x8", "everything", 64, 4096, 64, PLAIT_MINIMISE_TIME,
     EVERY_PLAN | FUSES,
     "cp=1,mbs=1,tp=2..4,recompute=full,zero=1,schedule=1f1b,split=even,fusion=auto"},
    /* shards of 6 ranks do not nest in 4 context ranks where stages lie inside replicas */
    {"gpt2-xl", "h100-80gb-sxm:3x8", "everything", 24, 1536, 24, PLAIT_MINIMISE_TIME, EVERY_PLAN,
     "tp=1,cp=4,pp=2,mbs=1,recompute=selective,schedule=1f1b,split=even"},
    {"deepseek-v2-lite", "h800-80gb-sxm:4x8", "deepseek", 32, 4096, 64, PLAIT_MINIMISE_TIME,
     EVERY_PLAN, ""},
    /* state in host memory and parameters in fp8 are legal apart, never together */
    {"llama-3.1-8b", "h100-80gb-sxm:1x8", "megatron", 8, 4096, 8, PLAIT_MINIMISE_TIME,
     EVERY_PLAN | NUMERICS | FP8, "cp=1,mbs=1,recompute=selective,zero=1"},
    {"llama-3.1-8b", "h100-80gb-sxm:1x8", "megatron", 8, 4096, 8, PLAIT_MINIMISE_MEMORY,
     EVERY_PLAN | NUMERICS, "cp=1,mbs=1,recompute=full"},
    {"deepseek-v3", "h800", "deepseek", 512, 4096, 2048, PLAIT_MINIMISE_TIME, 0, ""},
    /* nothing fits */
    {"llama-3.1-70b", "rtx-4090-24gb:1x8", "megatron", 8, 4096, 8, PLAIT_MINIMISE_TIME, EVERY_PLAN,
     "mbs=1"},
    {"llama-3.1-70b", "rtx-4090-24gb:1x8", "deepspeed", 8, 4096, 8, PLAIT_MINIMISE_TIME, EVERY_PLAN,
     ""},
};

/* Every so many. */
enum { STEP = FEW_DRAWS ? 6 : 1 };

enum { QUESTIONS = sizeof questions / sizeof *questions, TOP = 10, LONG = 1000 };

static void load(const question *q, world *w)
{
    const bool all = strcmp(q->runtime, "everything") == 0;

    world_make(w, q->model, all ? "megatron" : q->runtime, q->cluster,
               (plait_job){.seq = q->seq, .gbs = q->gbs, .gpus = q->gpus}, arena);
    if (all) {
        everything_allow(&w->runtime);
        w->runtime.can.most[PLAIT_KEY_VPP] = 3;
    }
    if (q->how & FUSES)
        w->runtime.can.takes[PLAIT_KEY_FUSION] = plait_key_all(PLAIT_KEY_FUSION);
    if (q->how & FP8)
        w->problem.job.precision = PLAIT_FP8;
    world_limit(w, q->limits);
    w->options.objective = q->objective;
    w->options.top = TOP;
    w->options.allow_numerics = (q->how & NUMERICS) != 0;
}

static plait_search_result search(const world *w, bool prune, int threads)
{
    plait_search_options options = w->options;
    plait_search_result result;
    plait_error err;

    options.prune = prune;
    options.threads = threads;
    must(plait_search(&w->problem, &options, arena, &result, &err), &err);
    return result;
}

static const char *spelled(const plait_degrees *d)
{
    static char text[512];
    char value[96];
    size_t used = 0;

    for (int k = 0; k < PLAIT_KEYS; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s=%s", plait_keys[k].name,
                                 plait_degrees_get(d, (plait_key_id)k, value, sizeof value));
    return text;
}

static void on_questions(void (*check)(const question *q, const world *w))
{
    for (int q = 0; q < QUESTIONS; q += STEP) {
        world w;
        arena = plait_arena_new();
        assert_non_null(arena);
        load(&questions[q], &w);
        check(&questions[q], &w);
        plait_arena_free(arena);
    }
}

// ---- the same answer -----------------------------------------------------------------------

static bool same_degrees(const plait_degrees *a, const plait_degrees *b)
{
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (!plait_key_same(a, b, (plait_key_id)k))
            return false;
    return true;
}

static void assert_same_list(const plait_ranked *a, const plait_ranked *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (!same_degrees(&a[i].plan.degrees, &b[i].plan.degrees))
            print_error("%d: %s\n", i, spelled(&a[i].plan.degrees));
        assert_true(same_degrees(&a[i].plan.degrees, &b[i].plan.degrees));
        assert_true(a[i].price.step_s == b[i].price.step_s);
        assert_true(a[i].price.peak_bytes == b[i].price.peak_bytes);
        assert_true(a[i].objective == b[i].objective);
        assert_int_equal(a[i].index, b[i].index);
    }
}

static void assert_same_answer(const plait_search_result *a, const plait_search_result *b)
{
    assert_int_equal(a->points, b->points);
    assert_int_equal(a->plans, b->plans);
    assert_int_equal(a->front_size, b->front_size);
    assert_int_equal(a->has_closest, b->has_closest);
    assert_same_list(a->plan, b->plan, a->plans);
    assert_same_list(a->front, b->front, a->front_size);
    if (a->has_closest && a->closest_proven)
        assert_same_list(&a->closest, &b->closest, 1);
}

static int64_t pruned_points, all_points;

static void check_pruning(const question *q, const world *w)
{
    const plait_search_result pruned = search(w, true, 1);
    const plait_search_result all = search(w, false, 1);

    (void)q;
    assert_same_answer(&pruned, &all);
    assert_int_equal(pruned.points, pruned.priced + pruned.pruned);
    assert_int_equal(all.priced, all.points);
    assert_int_equal(all.pruned, 0);
    assert_true(pruned.optimal);
    pruned_points += pruned.pruned;
    all_points += all.points;
}

static void test_pruning__never_changes_the_answer(void **state)
{
    (void)state;
    pruned_points = all_points = 0;
    on_questions(check_pruning);
    print_message("%lld points, %lld pruned\n", (long long)all_points, (long long)pruned_points);
    assert_true(pruned_points > all_points / 10);
}

/* Far down the ranking there are plans that others beat in time and memory: they count too. */
static void check_long_ranking(const question *q, const world *w)
{
    world longer = *w;

    if (!(q->how & EVERY_PLAN))
        return;
    longer.problem.model = &w->model;
    longer.options.top = LONG;
    const plait_search_result pruned = search(&longer, true, 1);
    const plait_search_result all = search(&longer, false, 1);
    assert_same_answer(&pruned, &all);
}

static void test_pruning__never_changes_a_long_ranking(void **state)
{
    (void)state;
    on_questions(check_long_ranking);
}

/*
 * Of a long ranking: where the i-th plan stands that nothing alike stands before, and how many alike
 * lie within so much of it; -1 where the ranking does not reach.
 */
static int stands_at(const plait_search_result *all, plait_key_set keys, int i)
{
    for (int at = 0; at < all->plans; at++) {
        bool first = true;
        for (int before = 0; before < at && first; before++)
            first = !plait_degrees_equal_on(keys, &all->plan[before].plan.degrees,
                                            &all->plan[at].plan.degrees);
        if (first && i-- == 0)
            return at;
    }
    return -1;
}

static int64_t variants_of(const plait_search_result *all, plait_key_set keys, int at)
{
    const double most = all->plan[at].objective * (1.0 + PLAIT_VARIANTS_WITHIN);
    int64_t count = 0;

    if (all->plans == LONG && all->plan[LONG - 1].objective <= most * (1.0 + 1e-9))
        return -1;
    for (int i = at + 1; i < all->plans; i++)
        count +=
            all->plan[i].objective <= most &&
            plait_degrees_equal_on(keys, &all->plan[at].plan.degrees, &all->plan[i].plan.degrees);
    return count;
}

static int64_t stood_for;

static void check_alike(const question *q, const world *w)
{
    const plait_key_set keys = plait_distinct_keys();
    world changed = *w;

    if (!(q->how & EVERY_PLAN))
        return;
    changed.options.top = LONG;
    const plait_search_result all = search(&changed, false, 2);
    changed.options.top = TOP;
    changed.options.distinct = keys;
    const plait_search_result distinct = search(&changed, true, 2);
    const plait_search_result unpruned = search(&changed, false, 1);
    assert_same_answer(&distinct, &unpruned);
    for (int i = 0; i < distinct.plans; i++) {
        const int at = stands_at(&all, keys, i);
        assert_int_equal(distinct.plan[i].variants, unpruned.plan[i].variants);
        assert_true(distinct.plan[i].variants_within <= PLAIT_VARIANTS_WITHIN);
        if (at < 0)
            continue;
        assert_near_relative(distinct.plan[i].objective, all.plan[at].objective, 1e-12);
        const int64_t variants = variants_of(&all, keys, at);
        if (variants >= 0)
            assert_int_equal(distinct.plan[i].variants, variants);
        stood_for += distinct.plan[i].variants;
    }
}

static void test_plans_alike__stand_as_one(void **state)
{
    (void)state;
    stood_for = 0;
    on_questions(check_alike);
    print_message("%lld plans stood for\n", (long long)stood_for);
    assert_true(stood_for > 0);
}

static void check_threads(const question *q, const world *w)
{
    const plait_search_result one = search(w, true, 1);

    (void)q;
    for (int threads = 2; threads <= 8; threads *= 4) {
        const plait_search_result several = search(w, true, threads);
        assert_same_answer(&several, &one);
        if (one.has_closest)
            assert_same_list(&several.closest, &one.closest, 1);
        assert_int_equal(several.priced, one.priced);
        assert_int_equal(several.pruned, one.pruned);
        assert_int_equal(several.fits, one.fits);
        assert_int_equal(several.threads, threads);
    }
}

static void test_threads__do_not_change_the_answer(void **state)
{
    (void)state;
    on_questions(check_threads);
}

// ---- every plan, by brute force ------------------------------------------------------------

typedef struct brute_force {
    const world *w;
    double capacity_bytes;
    plait_table *table;
    int64_t points, fits;
    double best[TOP]; /* ascending */
    int count;
    plait_price *price; /* that fit */
    size_t prices, room;
    double leanest_bytes;
    bool kernel_listed;
    bool listed;     /* by the search, too, ... */
    double left_out; /* ... or the best of those that it leaves out */
} brute_force;

static double objective_of(const world *w, const plait_degrees *d, plait_price price)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    if (w->options.objective == PLAIT_MINIMISE_MEMORY)
        return price.peak_bytes;
    if (w->options.objective != PLAIT_MINIMISE_ENERGY)
        return price.step_s;
    must(plait_plan_expand(&w->problem, d, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&w->problem, &plan, NULL, arena, &cost, &err), &err);
    plait_arena_rewind(arena, mark);
    return cost.energy_j;
}

static void rank(brute_force *b, double objective)
{
    int at = b->count;

    if (b->count == TOP && objective >= b->best[TOP - 1])
        return;
    if (b->count < TOP)
        b->count++;
    else
        at = TOP - 1;
    for (; at > 0 && b->best[at - 1] > objective; at--)
        b->best[at] = b->best[at - 1];
    b->best[at] = objective;
}

/* Is the value of a plan what a limit says? Every text begins with the word of its kind, and most differ there. */
static bool is_said(const plait_limit *limit, const plait_degrees *d)
{
    const int value = plait_key_value(d, limit->key);
    char text[96];

    if (!*limit->value)
        return value >= limit->low && value <= limit->high;
    const char *word = plait_keys[limit->key].words[value];
    return strncmp(limit->value, word, strlen(word)) == 0 &&
           strcmp(limit->value, plait_degrees_get(d, limit->key, text, sizeof text)) == 0;
}

/* Is a plan within the limits, or, unless `key` is NULL, within those on this key? */
static bool obeys_on(const plait_search_options *options, const plait_degrees *d, const char *key)
{
    for (int i = 0; i < options->limits; i++) {
        const plait_limit *limit = &options->limit[i];
        if (key && strcmp(key, plait_keys[limit->key].name) != 0)
            continue;
        if (!is_said(limit, d))
            return false;
    }
    return true;
}

static bool obeys(const plait_search_options *options, const plait_degrees *d)
{
    return obeys_on(options, d, NULL);
}

/* As plait_degrees_check, which asks each time whether the question holds, too. */
static bool legal(const brute_force *b, const plait_degrees *d)
{
    const plait_problem *const problem = &b->w->problem;

    return plan_layers_legal(problem, d, &no_reason) && plan_ranks_legal(problem, d, &no_reason) &&
           plan_stages_legal(problem, d, &no_reason);
}

static void take(brute_force *b, const plait_degrees *d)
{
    const bool asks = d->offload_acts > 0 || d->ep_overlap != PLAIT_EP_OVERLAP_NONE ||
                      d->switches.cuda_graph != PLAIT_GRAPH_NONE;

    if (!obeys(&b->w->options, d) || (asks && !legal(b, d)))
        return;
    plait_price price = plait_degrees_cost(b->table, d);
    plait_error err;
    if (!price.exact)
        must(plait_degrees_simulate(b->table, d, arena, &price, &err), &err);
    if (!b->listed) {
        if (price.peak_bytes <= b->capacity_bytes)
            b->left_out = fmin(b->left_out, objective_of(b->w, d, price));
        return;
    }
    b->points++;
    b->leanest_bytes = fmin(b->leanest_bytes, price.peak_bytes);
    if (price.peak_bytes > b->capacity_bytes)
        return;
    b->fits++;
    rank(b, objective_of(b->w, d, price));
    if (b->prices == b->room) {
        b->room = b->room ? 2 * b->room : 1024;
        b->price = realloc(b->price, b->room * sizeof *b->price);
        assert_non_null(b->price);
    }
    b->price[b->prices++] = price;
}

static int fullest_stage(const plait_model *model, const plait_degrees *d)
{
    int counts[PLAIT_MAX_LAYERS];
    int fullest = 0;

    assert_true(plait_split_layers(model, d, counts));
    for (int s = 0; s < d->pp; s++) {
        int layers = 0;
        for (int c = s; c < d->pp * d->vpp; c += d->pp)
            layers += counts[c];
        fullest = layers > fullest ? layers : fullest;
    }
    return fullest;
}

/* Norms inside the kernel of a product are no module; before MLA and experts they stand alone. */
static bool norms_alone(const plait_problem *problem)
{
    bool alone = !problem->runtime->kernels.norm_in_product;

    for (int k = 0; k < problem->model->kinds; k++)
        alone = alone || problem->model->kind[k].mixer == PLAIT_MIXER_MLA ||
                problem->model->kind[k].ffn == PLAIT_FFN_MOE;
    return alone;
}

static bool modules_exist(const plait_problem *problem, unsigned modules)
{
    const plait_model *const model = problem->model;

    for (int m = 0; m < PLAIT_MODULES; m++) {
        bool there =
            m == PLAIT_MODULE_core_attn || (m == PLAIT_MODULE_layernorm && norms_alone(problem));
        for (int k = 0; k < model->kinds; k++) {
            const plait_layer *layer = &model->kind[k];
            const bool moe = layer->ffn == PLAIT_FFN_MOE;
            there = there || (m == PLAIT_MODULE_mla_up_proj && layer->mixer == PLAIT_MIXER_MLA) ||
                    (m == PLAIT_MODULE_mlp && layer->ffn == PLAIT_FFN_MLP) ||
                    ((m == PLAIT_MODULE_moe || m == PLAIT_MODULE_moe_act) && moe) ||
                    (m == PLAIT_MODULE_shared_experts && moe && layer->moe.shared_width > 0);
        }
        if ((modules >> m & 1u) && !there)
            return false;
    }
    return true;
}

/* Megatron's core_attn alone is what `selective` means: one of the two is enough. */
static bool is_selective(const brute_force *b, unsigned modules)
{
    plait_degrees selective = plait_degrees_init();

    selective.recompute.kind = PLAIT_RECOMPUTE_SELECTIVE;
    return modules == 1u << PLAIT_MODULE_core_attn &&
           (b->w->runtime.can.takes[PLAIT_KEY_RECOMPUTE] >> PLAIT_RECOMPUTE_SELECTIVE & 1u) &&
           obeys_on(&b->w->options, &selective, "recompute");
}

/* Every recompute choice of one point; full:N takes as much of each chunk, and leaves a layer. */
static void recompute_beside(brute_force *b, plait_degrees d)
{
    const plait_capabilities *can = &b->w->runtime.can;
    const int layers = fullest_stage(&b->w->model, &d);

    for (int kind = 0; kind < PLAIT_RECOMPUTE_KINDS; kind++) {
        if (!(can->takes[PLAIT_KEY_RECOMPUTE] >> kind & 1u))
            continue;
        d.recompute = (plait_recompute){.kind = (unsigned char)kind};
        if (kind != PLAIT_RECOMPUTE_MODULES)
            take(b, &d);
        for (int s = 0; kind == PLAIT_RECOMPUTE_MODULES && s < can->module_sets; s++) {
            d.recompute.modules = can->module_set[s];
            if (modules_exist(&b->w->problem, can->module_set[s]) &&
                !is_selective(b, can->module_set[s]))
                take(b, &d);
        }
        for (int n = d.vpp; kind == PLAIT_RECOMPUTE_FULL && can->full_layers && n < layers;
             n += d.vpp) {
            d.recompute.layers = (short)n;
            take(b, &d);
        }
    }
}

/* ... beside every set of activations that is offloaded. */
static void all_recompute(brute_force *b, plait_degrees d)
{
    for (int set = 0; set < PLAIT_OFFLOAD_SETS; set++) {
        d.offload_acts = (unsigned char)set;
        if ((b->w->runtime.can.takes[PLAIT_KEY_OFFLOAD_ACTS] >> set & 1u) &&
            plait_offload_searched((unsigned char)set))
            recompute_beside(b, d);
    }
}

static bool has_experts(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return false;
}

/* Keys that no option frees keep the value of the software. */
static void usual_formats(const plait_problem *problem, plait_degrees *d)
{
    for (int key = PLAIT_KEY_GRAD_REDUCE; key < PLAIT_KEYS; key++)
        plait_key_put(d, (plait_key_id)key, plait_key_default(problem, d, (plait_key_id)key));
}

/* Without replicas every ZeRO stage is the same: the lowest that these formats may have is enough. */
static bool lower_stage_is_legal(const brute_force *b, const plait_degrees *d)
{
    plait_degrees lower = *d;

    if (d->dp * d->cp > 1 || has_experts(&b->w->model))
        return false;
    while (lower.zero-- > 0)
        if ((b->w->runtime.can.takes[PLAIT_KEY_ZERO] >> lower.zero & 1u) &&
            obeys_on(&b->w->options, &lower, "zero") && legal(b, &lower))
            return true;
    return false;
}

/* Every legal set of formats; parameters in 8 bits are those of 8-bit products. */
static void all_formats(brute_force *b, plait_degrees d)
{
    const unsigned *takes = b->w->runtime.can.takes;
    const bool narrow = b->w->problem.job.precision == PLAIT_FP8;

    if (!b->w->options.allow_numerics) {
        if (legal(b, &d) && !lower_stage_is_legal(b, &d))
            all_recompute(b, d);
        return;
    }
    for (int grads = 0; grads < PLAIT_STATE_FORMATS; grads++)
        for (int moments = 0; moments < PLAIT_STATE_FORMATS; moments++)
            for (int offload = 0; offload < PLAIT_OFFLOADS; offload++)
                for (int params = 0; params <= (narrow ? 1 : 0); params++) {
                    if (!(takes[PLAIT_KEY_GRAD_REDUCE] >> grads & 1u) ||
                        !(takes[PLAIT_KEY_OPTIMIZER_STATE] >> moments & 1u) ||
                        !(takes[PLAIT_KEY_OFFLOAD] >> offload & 1u) ||
                        !(takes[PLAIT_KEY_FP8_PARAMS] >> params & 1u))
                        continue;
                    plait_key_put(&d, PLAIT_KEY_GRAD_REDUCE, grads);
                    plait_key_put(&d, PLAIT_KEY_OPTIMIZER_STATE, moments);
                    plait_key_put(&d, PLAIT_KEY_OFFLOAD, offload);
                    plait_key_put(&d, PLAIT_KEY_FP8_PARAMS, params);
                    if (legal(b, &d) && !lower_stage_is_legal(b, &d))
                        all_recompute(b, d);
                }
}

/* What is gathered may stay; without ZeRO-3 or replicas there is nothing to say of it. */
static void all_gathers(brute_force *b, plait_degrees d)
{
    const bool gathers = d.zero == 3 && (d.dp * d.cp > 1 || has_experts(&b->w->model));

    for (int reshard = 0; reshard < (gathers ? PLAIT_RESHARDS : 1); reshard++) {
        d.reshard = (unsigned char)reshard;
        if ((b->w->runtime.can.takes[PLAIT_KEY_RESHARD] >> reshard & 1u) && legal(b, &d))
            all_formats(b, d);
    }
}

/* Bulk reductions are never faster than bucketed ones, which represent them where they are legal. */
static bool is_dominated(const brute_force *b, plait_degrees d)
{
    const bool bulk = d.grad_sync == PLAIT_SYNC_BULK;

    d.grad_sync = PLAIT_SYNC_BUCKETED;
    return bulk && legal(b, &d) && obeys_on(&b->w->options, &d, "grad_sync");
}

/*
 * Shards of one rank are no shards. Without replicas every ZeRO stage is the same (all_formats), and so
 * is every way to synchronise, unless a tied table is added up over both ends of the pipeline.
 */
static void all_shards(brute_force *b, plait_degrees d)
{
    const plait_model *model = &b->w->model;
    const int replicas = d.dp * d.cp;
    const bool alone = replicas == 1 && !has_experts(model);
    const bool syncs = !alone || (model->tied && d.pp > 1);

    for (int zero = 0; zero <= 3; zero++) {
        d.zero = (unsigned char)zero;
        usual_formats(&b->w->problem, &d);
        if (!(b->w->runtime.can.takes[PLAIT_KEY_ZERO] >> zero & 1u))
            continue;
        for (d.shard_group = replicas > 1 ? 2 : 1; d.shard_group <= replicas; d.shard_group++) {
            bool synced = false;
            for (int sync = 0; sync < PLAIT_GRAD_SYNCS && (syncs || !synced); sync++) {
                d.grad_sync = (unsigned char)sync;
                if (replicas % d.shard_group != 0 || !legal(b, &d) ||
                    !obeys_on(&b->w->options, &d, "grad_sync") || (syncs && is_dominated(b, d)))
                    continue;
                synced = true;
                all_gathers(b, d);
            }
        }
    }
}

/* Does a split deal other layers than an even one would? */
static bool differs_from_even(const brute_force *b, const plait_degrees *d)
{
    plait_degrees even = *d;
    int counts[PLAIT_MAX_LAYERS];
    int evenly[PLAIT_MAX_LAYERS];

    even.split = (plait_split){.kind = PLAIT_SPLIT_EVEN};
    if (d->split.kind == PLAIT_SPLIT_EVEN ||
        !(b->w->runtime.can.takes[PLAIT_KEY_SPLIT] >> PLAIT_SPLIT_EVEN & 1u) ||
        !plait_split_layers(&b->w->model, &even, evenly))
        return true;
    if (d->split.kind != PLAIT_SPLIT_SPREAD && d->split.kind != PLAIT_SPLIT_FIRST_LAST)
        return d->pp * d->vpp > 1;
    return plait_split_layers(&b->w->model, d, counts) &&
           memcmp(counts, evenly, (size_t)(d->pp * d->vpp) * sizeof *counts) != 0;
}

static void all_splits(brute_force *b, plait_degrees d)
{
    for (int kind = 0; kind < PLAIT_SPLITS; kind++) {
        d.split = (plait_split){.kind = (unsigned char)kind};
        if (kind == PLAIT_SPLIT_FIRST_LAST &&
            !split_first_last(&b->w->model, d.pp, d.vpp, &d.split))
            continue;
        if (differs_from_even(b, &d))
            all_shards(b, d);
    }
}

static void all_stages(brute_force *b, plait_degrees d)
{
    const int gpus = b->w->problem.job.gpus;
    const plait_capabilities *can = &b->w->runtime.can;

    for (d.pp = 1; d.pp <= can->most[PLAIT_KEY_PP] && d.pp <= b->w->model.layers + 2; d.pp++) {
        d.dp = plait_degrees_dp(gpus, d.tp, d.pp, d.cp);
        if (d.dp == 0 || plait_degrees_microbatches(&d, b->w->problem.job.gbs) == 0 ||
            !obeys_on(&b->w->options, &d, "pp"))
            continue;
        for (int schedule = 0; schedule < PLAIT_SCHEDULES; schedule++) {
            bool ordered = false;
            for (int order = 0; order < PLAIT_ORDERS; order++) {
                const bool alike = d.pp == 1 || d.dp == 1;
                d.schedule = (unsigned char)schedule;
                d.order = (unsigned char)order;
                if (!(can->takes[PLAIT_KEY_SCHEDULE] >> schedule & 1u) ||
                    !(can->takes[PLAIT_KEY_ORDER] >> order & 1u) || (alike && ordered) ||
                    !obeys_on(&b->w->options, &d, "order"))
                    continue;
                ordered = true;
                for (d.vpp = 1;
                     d.vpp <= can->most[PLAIT_KEY_VPP] && d.pp * d.vpp <= b->w->model.layers + 2;
                     d.vpp++)
                    all_splits(b, d);
            }
        }
    }
}

static bool takes(const brute_force *b, plait_key_id key, int value)
{
    return b->w->runtime.can.takes[key] >> value & 1u;
}

/* May a search choose it, and does it run? */
static bool dispatcher_runs(const brute_force *b, plait_degrees d, int how)
{
    d.dispatcher = (unsigned char)how;
    return takes(b, PLAIT_KEY_DISPATCHER, how) && how != PLAIT_DISPATCH_ALLGATHER &&
           how != PLAIT_DISPATCH_DEEPEP_FP8 && plan_dispatcher_runs(&b->w->problem, &d, &no_reason);
}

static plait_exchange_use use_of(const brute_force *b, plait_degrees d, int how)
{
    d.dispatcher = (unsigned char)how;
    return plait_exchange_use_of(&b->w->problem, &d);
}

/* The dispatcher that stands for all where they differ in seconds alone. */
static int fastest_dispatcher(const brute_force *b, plait_degrees d)
{
    int fastest = -1;
    double least_s = HUGE_VAL, least_sms = HUGE_VAL;

    for (int how = 0; how < PLAIT_DISPATCHERS; how++) {
        if (!dispatcher_runs(b, d, how))
            continue;
        const plait_exchange_use use = use_of(b, d, how);
        const double s = use.dispatch_s + use.combine_s;
        if (s > least_s || (s == least_s && use.sms >= least_sms))
            continue;
        least_s = s;
        least_sms = use.sms;
        fastest = how;
    }
    return fastest;
}

/* In pairs: is there one at least as fast both ways, that takes no more SMs? Of alike ones, before it? */
static bool is_outdone(const brute_force *b, plait_degrees d, int how)
{
    const plait_exchange_use own = use_of(b, d, how);

    for (int other = 0; other < PLAIT_DISPATCHERS; other++) {
        if (other == how || !dispatcher_runs(b, d, other))
            continue;
        const plait_exchange_use its = use_of(b, d, other);
        const bool alike = memcmp(&its, &own, sizeof own) == 0;
        if (its.dispatch_s <= own.dispatch_s && its.combine_s <= own.combine_s &&
            its.sms <= own.sms && (!alike || other < how))
            return true;
    }
    return false;
}

/*
 * Every kind of CUDA graph of `graphs`, with the other switches on where they run. Plans that are
 * not listed are tried on one microbatch size, and must not be better.
 */
static void all_graphs(brute_force *b, plait_degrees d, bool listed, unsigned graphs)
{
    const plait_problem *const problem = &b->w->problem;

    for (int narrow = 1; narrow >= 0; narrow--) {
        d.switches.fused_grouped_mlp = narrow == 1;
        if (takes(b, PLAIT_KEY_FUSED_GROUPED_MLP, narrow) &&
            (narrow == 0 || has_experts(&b->w->model)) &&
            plan_switches_run(problem, &d, &no_reason))
            break;
    }
    d.switches.tp_comm_overlap =
        takes(b, PLAIT_KEY_TP_COMM_OVERLAP, 1) && tp_overlap_runs(problem, d.tp, d.sp);
    d.switches.permute_fusion = takes(b, PLAIT_KEY_PERMUTE_FUSION, 1) && has_experts(&b->w->model);
    d.switches.router_fusion = takes(b, PLAIT_KEY_ROUTER_FUSION, 1) && has_experts(&b->w->model);
    for (int graph = 0; graph < PLAIT_GRAPHS; graph++) {
        d.switches.cuda_graph = (unsigned char)graph;
        if (!(graphs >> graph & 1u) || !takes(b, PLAIT_KEY_CUDA_GRAPH, graph) ||
            !plan_switches_run(problem, &d, &no_reason))
            continue;
        b->listed = listed;
        if (b->listed || d.mbs == 1)
            all_stages(b, d);
    }
}

/*
 * Every dispatcher, alone and in pairs of microbatches. Those that a search leaves out, since another
 * one is never worse, are tried on one microbatch size, and must not be better.
 */
static void all_exchanges(brute_force *b, plait_degrees d)
{
    const int fastest = fastest_dispatcher(b, d);

    b->listed = b->kernel_listed;
    if (d.ep == 1 || !has_experts(&b->w->model)) {
        all_graphs(b, d, b->kernel_listed, ~0u);
        return;
    }
    for (int overlap = 0; overlap < PLAIT_EP_OVERLAPS; overlap++)
        for (int how = 0; how < PLAIT_DISPATCHERS; how++) {
            d.ep_overlap = (unsigned char)overlap;
            d.dispatcher = (unsigned char)how;
            if (!takes(b, PLAIT_KEY_EP_OVERLAP, overlap) || !takes(b, PLAIT_KEY_DISPATCHER, how) ||
                how == PLAIT_DISPATCH_ALLGATHER)
                continue;
            const bool stands =
                how == fastest || (overlap != PLAIT_EP_OVERLAP_NONE && dispatcher_runs(b, d, how) &&
                                   !is_outdone(b, d, how));
            const bool listed = b->kernel_listed && overlap != PLAIT_EP_OVERLAP_PAIRS;

            // A graph of a whole iteration needs HybridEP, even if another one is faster.
            const unsigned whole = 1u << PLAIT_GRAPH_FULL;
            const unsigned graphs = how == fastest                   ? ~0u
                                    : how == PLAIT_DISPATCH_HYBRIDEP ? ~0u
                                                                     : ~whole;
            all_graphs(b, d, listed && stands, graphs);
            if (listed && !stands && how == PLAIT_DISPATCH_HYBRIDEP && dispatcher_runs(b, d, how))
                all_graphs(b, d, true, whole);
        }
}

/* Has another kernel of attention nothing in which it is worse? Alike ones go by their order. */
static bool is_beaten(const brute_force *b, plait_degrees d, int other)
{
    const int kernel = d.attention;
    const int usual = (int)plait_attention_usual(&b->w->problem);
    bool beats = other == usual || (kernel != usual && other < kernel);
    bool differs = false;

    for (int k = 0; k < b->w->model.kinds; k++) {
        d.attention = (unsigned char)kernel;
        const plait_attention_use own = plait_attention_use_of(&b->w->problem, &d, k);
        d.attention = (unsigned char)other;
        const plait_attention_use its = plait_attention_use_of(&b->w->problem, &d, k);
        if (its.forward_s > own.forward_s || its.backward_s > own.backward_s ||
            its.kept_bytes > own.kept_bytes)
            return false;
        differs = differs || memcmp(&its, &own, sizeof own) != 0;
    }
    return differs || beats;
}

static bool kernel_runs(const brute_force *b, plait_degrees d, int kernel)
{
    d.attention = (unsigned char)kernel;
    return obeys_on(&b->w->options, &d, "attention") && plan_attention_is_legal(&b->w->problem, &d);
}

/* Kernels that a search leaves out are tried on one microbatch size, and must not be better. */
static void all_kernels(brute_force *b, plait_degrees d)
{
    for (int kernel = 0; kernel < PLAIT_ATTENTION_KERNELS; kernel++) {
        if (!kernel_runs(b, d, kernel))
            continue;
        d.attention = (unsigned char)kernel;
        b->kernel_listed = true;
        for (int other = 0; other < PLAIT_ATTENTION_KERNELS; other++)
            if (other != kernel && kernel_runs(b, d, other) && is_beaten(b, d, other))
                b->kernel_listed = false;
        if (b->kernel_listed || d.mbs == 1)
            all_exchanges(b, d);
    }
}

static void all_microbatches(brute_force *b, plait_degrees d)
{
    for (d.mbs = 1; d.mbs <= b->w->problem.job.gbs; d.mbs++)
        if (b->w->problem.job.gbs % d.mbs == 0 && obeys_on(&b->w->options, &d, "mbs"))
            all_kernels(b, d);
}

static void all_experts(brute_force *b, plait_degrees d)
{
    const bool megatron = b->w->runtime.rules == PLAIT_RULES_MEGATRON;

    if (!has_experts(&b->w->model)) {
        d.etp = megatron ? d.tp : 1;
        all_microbatches(b, d);
        return;
    }
    for (d.etp = 1; d.etp <= d.tp; d.etp++)
        for (d.ep = 1; d.tp % d.etp == 0 && d.ep <= b->w->problem.job.gpus; d.ep++)
            if (b->w->problem.job.gpus % d.ep == 0)
                all_microbatches(b, d);
}

static void all_contexts(brute_force *b, plait_degrees d)
{
    const int gpus = b->w->problem.job.gpus;

    for (d.cp = 1; d.cp <= gpus; d.cp++)
        for (int comm = 0; comm < PLAIT_CP_COMMS; comm++) {
            d.cp_comm = (unsigned char)comm;
            if (gpus % (d.tp * d.cp) != 0 || !obeys_on(&b->w->options, &d, "tp") ||
                !obeys_on(&b->w->options, &d, "cp") ||
                (d.cp == 1 && d.cp_comm != b->w->runtime.defaults.key[PLAIT_KEY_CP_COMM]))
                continue;
            all_experts(b, d);
        }
}

static bool may_be(const brute_force *b, plait_degrees d, plait_fusion fusion)
{
    d.fusion = (unsigned char)fusion;
    return (b->w->runtime.can.takes[PLAIT_KEY_FUSION] >> fusion & 1u) &&
           obeys_on(&b->w->options, &d, "fusion");
}

/* Of none and auto, which is never slower, one: none for one tensor rank, which has nothing to fuse. */
static void all_tensors(brute_force *b, plait_degrees d)
{

    for (d.tp = 1; d.tp <= b->w->problem.job.gpus; d.tp++)
        for (int sp = 0; sp < 2; sp++) {
            const bool none = may_be(b, d, PLAIT_FUSION_NONE);
            const bool fuses = may_be(b, d, PLAIT_FUSION_AUTO);
            d.sp = sp != 0;
            d.fusion = fuses && (d.tp > 1 || !none) ? PLAIT_FUSION_AUTO : PLAIT_FUSION_NONE;
            if (none || fuses)
                all_contexts(b, d);
        }
}

/* Those that are legal: one word for each way to lay the ranks. */
static void all_plans(brute_force *b)
{
    plait_degrees d = plait_degrees_init();

    for (int p = 0; p < PLAIT_PLACEMENTS; p++) {
        d.placement = (unsigned char)p;
        if (b->w->runtime.can.takes[PLAIT_KEY_PLACEMENT] >> p & 1u)
            all_tensors(b, d);
    }
}

static brute_force try_everything(const world *w)
{
    brute_force b = {.w = w,
                     .capacity_bytes = plait_capacity_bytes(&w->problem, w->problem.risk),
                     .leanest_bytes = HUGE_VAL,
                     .left_out = HUGE_VAL};

    b.table = plait_table_new(&w->problem, arena);
    assert_non_null(b.table);
    all_plans(&b);
    return b;
}

// ---- the search against it -----------------------------------------------------------------

static bool dominates(plait_price a, plait_price b)
{
    return a.step_s <= b.step_s && a.peak_bytes <= b.peak_bytes &&
           (a.step_s < b.step_s || a.peak_bytes < b.peak_bytes);
}

/* Answers have the digits of full plans, brute force those of tables: the last ones differ. */
static const double digits = 1e-12;

static bool near(double a, double b)
{
    return fabs(a - b) <= digits * fabs(b);
}

/* Every plan is on the front, equal to one that is, worse than one that is, or too slow for it. */
static void assert_front_covers(const plait_search_result *r, const brute_force *b)
{
    for (size_t i = 0; i < b->prices; i++) {
        bool covered =
            r->front_size > 0 && b->price[i].step_s > PLAIT_FRONT_WITHIN * r->front[0].price.step_s;
        for (int f = 0; f < r->front_size && !covered; f++)
            covered = r->front[f].price.step_s <= b->price[i].step_s * (1.0 + digits) &&
                      r->front[f].price.peak_bytes <= b->price[i].peak_bytes * (1.0 + digits);
        if (!covered)
            fail_msg("nothing on the front is as good as %.12g s and %.12g bytes",
                     b->price[i].step_s, b->price[i].peak_bytes);
    }
}

static bool is_a_price(const brute_force *b, plait_price price)
{
    for (size_t i = 0; i < b->prices; i++)
        if (near(b->price[i].step_s, price.step_s) &&
            near(b->price[i].peak_bytes, price.peak_bytes))
            return true;
    return false;
}

/* No plan lacks less; of a large space, a twentieth less. */
static void assert_closest(const plait_search_result *r, const brute_force *b)
{
    const double lacking_bytes = r->closest.price.peak_bytes - b->capacity_bytes;
    const double within = r->closest_proven ? 0.0 : PLAIT_CLOSEST_WITHIN;

    assert_true(b->leanest_bytes <= r->closest.price.peak_bytes * (1.0 + digits));
    assert_true(b->leanest_bytes - b->capacity_bytes >=
                (1.0 - within) * lacking_bytes - digits * b->leanest_bytes);
}

static void check_brute_force(const question *q, const world *w)
{
    if (!(q->how & EVERY_PLAN))
        return;
    const plait_search_result r = search(w, false, 2);
    brute_force b = try_everything(w);

    if (r.plans > 0 && !(r.plan[0].objective <= b.best[0] * (1.0 + 1e-12)))
        print_error("best is %.9g, by brute force %.9g\n", r.plan[0].objective, b.best[0]);
    if (r.points != b.points)
        print_error("%s, %s, %d GPUs\n", q->model, q->runtime, q->gpus);
    assert_int_equal(r.points, b.points);
    if (r.plans > 0)
        assert_true(r.plan[0].objective <= b.left_out * (1.0 + digits));
    assert_int_equal(r.fits, b.fits);
    assert_int_equal(r.plans, b.count);
    for (int i = 0; i < r.plans; i++)
        assert_near_relative(r.plan[i].objective, b.best[i], 1e-12);
    assert_front_covers(&r, &b);
    for (int f = 0; f < r.front_size; f++)
        assert_true(is_a_price(&b, r.front[f].price));
    assert_int_equal(r.has_closest, b.fits == 0);
    if (r.has_closest)
        assert_closest(&r, &b);
    free(b.price);
}

static void test_brute_force__finds_nothing_better(void **state)
{
    (void)state;
    on_questions(check_brute_force);
}

// ---- what is returned ----------------------------------------------------------------------

static void check_front(const question *q, const world *w)
{
    const plait_search_result r = search(w, true, 2);

    (void)q;
    for (int a = 0; a < r.front_size; a++) {
        assert_true(r.front[a].price.peak_bytes <=
                    plait_capacity_bytes(&w->problem, w->problem.risk));
        for (int b = 0; b < r.front_size; b++)
            assert_false(dominates(r.front[a].price, r.front[b].price));
        if (a > 0) { // fastest first, each a price of its own
            assert_true(r.front[a].price.step_s > r.front[a - 1].price.step_s);
            assert_true(r.front[a].price.peak_bytes < r.front[a - 1].price.peak_bytes);
        }
    }
}

static void test_front__has_no_dominated_plan(void **state)
{
    (void)state;
    on_questions(check_front);
}

static void check_plan(const world *w, const plait_ranked *ranked)
{
    char why[256];
    plait_cost cost;
    plait_error err;

    if (!obeys(&w->options, &ranked->plan.degrees))
        fail_msg("not within the limits:%s", spelled(&ranked->plan.degrees));
    if (plait_plan_check(&w->problem, &ranked->plan, NULL, why, sizeof why) != PLAIT_FITS)
        fail_msg("%s:%s", why, spelled(&ranked->plan.degrees));
    must(plait_plan_evaluate(&w->problem, &ranked->plan, NULL, arena, &cost, &err), &err);
    assert_true(ranked->price.step_s == cost.step_s); // to the digit: reports print both
    assert_true(ranked->price.peak_bytes == cost.memory.peak_bytes);
    if (w->options.objective == PLAIT_MINIMISE_ENERGY)
        assert_near_relative(ranked->objective, cost.energy_j, 1e-9);
}

static void check_plans(const question *q, const world *w)
{
    const plait_search_result r = search(w, true, 2);

    (void)q;
    assert_true(r.plans > 0 || r.has_closest);
    for (int i = 0; i < r.plans; i++) {
        check_plan(w, &r.plan[i]);
        assert_true(r.plan[i].price.peak_bytes <=
                    plait_capacity_bytes(&w->problem, w->problem.risk));
        if (i > 0)
            assert_true(r.plan[i].objective > r.plan[i - 1].objective ||
                        (r.plan[i].objective == r.plan[i - 1].objective &&
                         r.plan[i].index > r.plan[i - 1].index));
    }
    for (int i = 0; i < r.front_size; i++)
        check_plan(w, &r.front[i]);
    if (r.has_closest)
        check_plan(w, &r.closest);
}

static void test_plans__are_legal_within_the_limits_and_cost_what_is_said(void **state)
{
    (void)state;
    on_questions(check_plans);
}

static void test_fewer_plans__are_the_first_of_more(void **state)
{
    world w;

    (void)state;
    arena = plait_arena_new();
    load(&questions[0], &w);
    const plait_search_result ten = search(&w, true, 1);
    w.options.top = 3;
    const plait_search_result three = search(&w, true, 1);
    assert_int_equal(three.plans, 3);
    assert_true(three.priced <= ten.priced);
    assert_same_list(three.plan, ten.plan, 3);
    assert_same_list(three.front, ten.front, ten.front_size);
    plait_arena_free(arena);
}

/* A limit only takes plans away: the best of the rest is no better. */
static void test_limits__never_make_the_best_plan_better(void **state)
{
    static const question dense = {.model = "llama-3.1-8b",
                                   .cluster = "h100-80gb-sxm:2x8",
                                   .runtime = "torchtitan",
                                   .gpus = 16,
                                   .seq = 4096,
                                   .gbs = 16,
                                   .limits = ""};
    static const char *const limits[] = {
        "tp=1",   "tp=2..",         "pp=1", "pp=2..4",    "recompute=none",
        "dp=..2", "recompute=full", "sp=1", "split=even", "order=tp-cp-dp-pp"};
    world w;
    plait_error err;

    (void)state;
    arena = plait_arena_new();
    load(&dense, &w);
    const plait_search_result free_search = search(&w, true, 2);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        world limited = w;
        limited.problem.model = &w.model;
        must(plait_search_limit(&limited.options, limits[i], &err), &err);
        const plait_search_result r = search(&limited, true, 2);
        assert_true(r.points <= free_search.points);
        if (r.plans > 0)
            assert_true(r.plan[0].objective >= free_search.plan[0].objective);
        for (int p = 0; p < r.plans; p++)
            check_plan(&limited, &r.plan[p]);
    }
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pruning__never_changes_the_answer),
        cmocka_unit_test(test_pruning__never_changes_a_long_ranking),
        cmocka_unit_test(test_plans_alike__stand_as_one),
        cmocka_unit_test(test_threads__do_not_change_the_answer),
        cmocka_unit_test(test_brute_force__finds_nothing_better),
        cmocka_unit_test(test_front__has_no_dominated_plan),
        cmocka_unit_test(test_plans__are_legal_within_the_limits_and_cost_what_is_said),
        cmocka_unit_test(test_fewer_plans__are_the_first_of_more),
        cmocka_unit_test(test_limits__never_make_the_best_plan_better),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
