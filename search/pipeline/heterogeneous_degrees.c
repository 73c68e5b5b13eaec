/*
 * heterogeneous_degrees.c - lists the degrees of each group that are legal on its nodes alone, with
 * the least time of a layer
 *
 * The search covers tp inside a scale-up domain, cp, dp, ep, mbs and zero. The value of sp follows
 * from these; every other key has its default. Stages of the same degrees use all GPUs of their
 * group, unless the group has a second run.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "rules/kernels.h"
#include "search/pipeline/heterogeneous.h"
#include "rules/plan_check.h"
#include "search/space/space.h"
#include "plan/model_queries.h"
#include "costmodel/api.h"

/* Degrees of a group while they are listed. */
typedef struct choice_list {
    hetero_problem *q;
    int group;
    int gpus;   /* GPUs of the group */
    int domain; /* GPUs of its scale-up level, the largest tp */
    int count, room;
    group_degrees **choice;
    bool failed;
} choice_list;

// ---- prices --------------------------------------------------------------------------------

/* Returns the price of a stage with one layer of kind k. */
static plait_stage_price one_layer(choice_list *list, group_degrees *choice,
                                   plait_stage_pricer *pricer, hetero_place place, int k,
                                   plait_recompute recompute)
{
    const hetero_problem *q = list->q;
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    plait_stage_price price = {0};
    plait_stage stage;
    int first = 0;

    while (q->problem->model->layer_kind[first] != k)
        first++;
    if (hetero_stage(q, choice, place, first, first + 1, recompute, q->scratch, &stage))
        price = plait_stage_pricer_price(pricer, &stage, choice->group);
    else
        list->failed = true;
    plait_arena_rewind(q->scratch, mark);
    return price;
}

/*
 * Returns whether some kind of layer fits these nodes with some recomputation of a list, and sets
 * *least_s to the least f + b of a layer of kind 0 that fits.
 */
static bool some_layer_fits(choice_list *list, group_degrees *choice, plait_stage_pricer *pricer,
                            const recompute_list *recompute, double *least_s)
{
    const hetero_problem *q = list->q;
    bool some = false;

    *least_s = HUGE_VAL;
    for (int k = 0; k < q->problem->model->kinds && !some; k++)
        for (int r = 0; r < recompute->count; r++) {
            const plait_stage_price price =
                one_layer(list, choice, pricer, HETERO_MIDDLE, k, recompute->value[r]);
            if (price.state_bytes + price.flight_bytes > choice->capacity_bytes)
                continue;
            some = true;
            if (k == 0)
                *least_s = fmin(*least_s, price.time.forward_s + price.time.backward_s);
        }
    return some;
}

/* Returns those of the lists (bits) with which some kind of layer fits, and fills list_s. */
static unsigned lists_that_fit(choice_list *list, group_degrees *choice, plait_stage_pricer *pricer,
                               unsigned lists, double *list_s)
{
    const hetero_problem *q = list->q;
    unsigned fit = 0;

    for (int n = 0; n < q->lists; n++)
        if (lists >> n & 1u &&
            (q->min_memory || some_layer_fits(list, choice, pricer, &q->list[n], &list_s[n])))
            fit |= 1u << n;
    return fit;
}

/* Returns f + b of a stage with one layer of kind k that recomputes nothing. */
static double one_layer_s(choice_list *list, group_degrees *choice, plait_stage_pricer *pricer,
                          hetero_place place, int k)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const plait_stage_price price = one_layer(list, choice, pricer, place, k, none);

    return price.time.forward_s + price.time.backward_s;
}

/* Measures the time of each kind of layer. */
static void price_layers(choice_list *list, group_degrees *choice, plait_stage_pricer *pricer)
{
    const plait_model *const model = list->q->problem->model;
    double *const kind_s = choice->kind_s;

    for (int k = 0; k < model->kinds; k++)
        kind_s[k] = one_layer_s(list, choice, pricer, HETERO_MIDDLE, k);
    choice->first_s = fmax(0.0, one_layer_s(list, choice, pricer, HETERO_FIRST, 0) - kind_s[0]);
    choice->last_s = fmax(0.0, one_layer_s(list, choice, pricer, HETERO_LAST, 0) - kind_s[0]);
    plait_between_add_boundary(&choice->boundary, pricer, pricer);
}

/* Returns whether stages with this number of GPUs can use all GPUs of the group. */
static bool stages_fill(const choice_list *list, int gpus)
{
    return list->gpus % gpus == 0 && list->gpus / gpus < list->q->problem->model->layers;
}

/* Adds a copy of degrees to the list. Returns NULL if out of memory. */
static group_degrees *keep_choice(choice_list *list, const group_degrees *choice)
{
    plait_arena *const arena = list->q->arena;
    group_degrees *const kept = plait_arena_alloc(arena, 1, sizeof *kept);
    double *const kind_s =
        plait_arena_alloc(arena, (size_t)list->q->problem->model->kinds, sizeof *kind_s);
    double *const list_s = plait_arena_alloc(arena, (size_t)list->q->lists, sizeof *list_s);
    group_degrees **const more =
        grow_by_one(arena, list->choice, list->count, &list->room, sizeof *more);

    list->failed = list->failed || !kept || !kind_s || !list_s || !more;
    if (list->failed)
        return NULL;
    *kept = *choice;
    kept->kind_s = kind_s;
    kept->list_s = memcpy(list_s, choice->list_s, (size_t)list->q->lists * sizeof *list_s);
    list->choice = more;
    return list->choice[list->count++] = kept;
}

/*
 * Adds degrees with those of the lists of recomputation (bits) with which some layer fits. Returns
 * these lists, since with the others no layer fits with larger microbatches either. The pricer is
 * not kept: few of the listed degrees are used.
 */
static unsigned add_choice(choice_list *list, const plait_degrees *d, unsigned lists)
{
    hetero_problem *q = list->q;
    const plait_arena_mark before = plait_arena_save(q->scratch);
    const int gpus = d->tp * d->cp * d->dp;
    double list_s[HETERO_LISTS] = {0};
    group_degrees choice = {
        .degrees = *d,
        .group = list->group,
        .gpus = gpus,
        .max_stages = list->gpus / gpus,
        .fills_group = stages_fill(list, gpus),
        .domain = list->domain,
        .size = hetero_size(d),
        .list_s = list_s,
    };
    plait_stage_pricer *const pricer =
        plait_stage_pricer_new(q->problem, list->group, d, q->prices, q->scratch);

    list->failed = list->failed || !pricer;
    if (list->failed)
        return 0;
    choice.capacity_bytes = plait_stage_pricer_capacity_bytes(pricer, q->problem->risk);
    choice.lists = lists_that_fit(list, &choice, pricer, lists, list_s);
    group_degrees *const kept = choice.lists != 0 ? keep_choice(list, &choice) : NULL;
    if (kept)
        price_layers(list, kept, pricer);
    plait_arena_rewind(q->scratch, before);
    return list->failed ? 0 : choice.lists;
}

// ---- all of a group ------------------------------------------------------------------------

static bool within_limits(const hetero_problem *q, const plait_degrees *d)
{
    char text[96];

    for (int key = 0; key < PLAIT_KEYS; key++) {
        const plait_key_id id = (plait_key_id)key;
        if (id == PLAIT_KEY_PP || id == PLAIT_KEY_RECOMPUTE || id == PLAIT_KEY_SPLIT ||
            id == PLAIT_KEY_SHARD_GROUP || id == PLAIT_KEY_DP)
            continue;
        if (plait_keys[id].words
                ? !limits_allow_text(q->options, id, plait_degrees_get(d, id, text, sizeof text))
                : !limits_allow(q->options, id, plait_key_value(d, id)))
            return false;
    }
    return true;
}

/*
 * Sets the attention kernel: the default, or the fastest that limits allow and these nodes support.
 */
static void set_attention_kernel(const hetero_problem *q, const plait_problem *of_group,
                                 plait_degrees *d)
{
    for (int kernel = PLAIT_ATTENTION_KERNELS - 1;
         kernel >= 0 && !limits_allow_text(q->options, PLAIT_KEY_ATTENTION,
                                           plait_attention_kernel_name[d->attention]);
         kernel--) {
        plait_degrees other = *d;

        other.attention = (unsigned char)kernel;
        if (limits_allow_text(q->options, PLAIT_KEY_ATTENTION,
                              plait_attention_kernel_name[kernel]) &&
            plan_attention_is_legal(of_group, &other))
            *d = other;
    }
}

/* Sets all other keys to their defaults. Returns whether the degrees are legal. */
static bool complete_degrees(const choice_list *list, plait_degrees *d, bool *layers_legal)
{
    static const plait_key_set given =
        PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_CP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
        PLAIT_KEY_BIT(PLAIT_KEY_EP) | PLAIT_KEY_BIT(PLAIT_KEY_DP) | PLAIT_KEY_BIT(PLAIT_KEY_MBS) |
        PLAIT_KEY_BIT(PLAIT_KEY_VPP) | PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE) |
        PLAIT_KEY_BIT(PLAIT_KEY_SPLIT) | PLAIT_KEY_BIT(PLAIT_KEY_ORDER) |
        PLAIT_KEY_BIT(PLAIT_KEY_ZERO) | PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);
    const hetero_problem *q = list->q;
    plait_cluster cluster;

    d->pp = plait_stage_pricer_stages(q->problem, list->group, d);
    const plait_problem of_group = plait_problem_of_group(q->problem, list->group, d, &cluster);
    plait_degrees_fill(&of_group, given, d);
    set_attention_kernel(q, &of_group, d);
    *layers_legal = plan_layers_legal(&of_group, d, &no_reason);
    return *layers_legal && plan_ranks_legal(&of_group, d, &no_reason) && within_limits(q, d) &&
           d->grad_sync == PLAIT_SYNC_BUCKETED;
}

static void add_microbatches(choice_list *list, plait_degrees d)
{
    const int gbs = list->q->problem->job.gbs;
    unsigned lists = 0;

    for (int n = 0; n < list->q->lists; n++)
        lists |= list->q->list[n].count > 0 ? 1u << n : 0;
    for (int mbs = 1; lists != 0 && mbs <= gbs / d.dp && !list->failed; mbs++) {
        bool layers_legal;
        d.mbs = mbs;
        if (gbs % ((int64_t)d.dp * mbs) != 0 || !limits_allow(list->q->options, PLAIT_KEY_MBS, mbs))
            continue;
        const bool legal = complete_degrees(list, &d, &layers_legal);
        if (legal)
            lists = add_choice(list, &d, lists);
        if ((legal && list->q->min_memory) || !layers_legal)
            return;
    }
}

static void add_ranks(choice_list *list, plait_degrees d)
{
    const plait_capabilities *can = &list->q->problem->runtime->can;
    const int experts = d.dp * d.cp * d.tp;

    for (int ep = 1; ep <= experts && ep <= can->most[PLAIT_KEY_EP]; ep++) {
        if (experts % ep != 0 || !limits_allow(list->q->options, PLAIT_KEY_EP, ep))
            continue;
        d.ep = ep;
        for (int zero = 0; zero <= 3; zero++)
            if (can->takes[PLAIT_KEY_ZERO] >> zero & 1u) {
                d.zero = (unsigned char)zero;
                add_microbatches(list, d);
            }
        if (!model_has_experts(list->q->problem->model))
            return;
    }
}

static void add_shape(choice_list *list, int tp, int cp)
{
    const int gbs = list->q->problem->job.gbs;

    for (int dp = 1; dp <= list->gpus / (tp * cp) && dp <= gbs; dp++) {
        plait_degrees d = plait_degrees_init();
        const int gpus = tp * cp * dp;
        // true if the stages use all GPUs of the group, or may leave some for a second run
        const bool useful = stages_fill(list, gpus) || (!list->q->min_memory && gpus < list->gpus);
        if (gbs % dp != 0 || !useful)
            continue;
        d.tp = tp;
        d.cp = cp;
        d.dp = dp;
        d.split.kind = PLAIT_SPLIT_LAYOUT;
        add_ranks(list, d);
    }
}

/* Lists the degrees of one group, in the order of tp, cp, dp, ep, zero, mbs. */
static bool list_group(hetero_problem *q, int g, choice_list *list)
{
    const plait_capabilities *can = &q->problem->runtime->can;
    const int taken = plait_cluster_taken(q->problem->cluster, q->problem->job.gpus, g);

    *list = (choice_list){.q = q, .group = g, .gpus = taken};
    list->domain = plait_cluster_of_group(q->problem->cluster, g, taken).level[0].gpus;
    for (int tp = 1; tp <= taken && tp <= list->domain && tp <= can->most[PLAIT_KEY_TP]; tp++)
        for (int cp = 1; cp <= taken / tp && cp <= can->most[PLAIT_KEY_CP]; cp++)
            if (limits_allow(q->options, PLAIT_KEY_TP, tp) &&
                limits_allow(q->options, PLAIT_KEY_CP, cp))
                add_shape(list, tp, cp);
    return !list->failed;
}

// ---- by size -------------------------------------------------------------------------------

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* By size, and within a size in descending order of work per second. */
static int by_size_and_rate(const void *left, const void *right)
{
    const group_degrees *a = *(group_degrees *const *)left, *b = *(group_degrees *const *)right;
    const double of_a = a->gpus * a->unit_s, of_b = b->gpus * b->unit_s;

    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    if (of_a < of_b || of_a > of_b)
        return of_a > of_b ? 1 : -1;
    // ties are broken by keys, so the order does not depend on that of the input
    for (int key = 0; key < PLAIT_KEYS; key++) {
        const int x = plait_key_value(&a->degrees, (plait_key_id)key);
        const int y = plait_key_value(&b->degrees, (plait_key_id)key);
        if (x != y)
            return x - y;
    }
    return 0;
}

/* Returns the degrees that are listed first, in the order of lists of recomputation and groups. */
static const group_degrees *first_degrees(const hetero_problem *q)
{
    for (int n = 0; n < q->lists; n++)
        for (int g = 0; g < q->problem->cluster->groups; g++)
            for (int c = 0; c < q->group[g].count; c++)
                if (q->group[g].choice[c]->lists >> n & 1u)
                    return q->group[g].choice[c];
    return NULL;
}

/*
 * Sets the unit of work, which is one second with the degrees that are listed first: a layer of
 * kind k has as many units as it takes seconds with these degrees.
 */
static void set_units(hetero_problem *q)
{
    const plait_model *const model = q->problem->model;
    const group_degrees *const first = first_degrees(q);

    for (int i = 0; first && i < model->layers; i++) {
        const int k = model->layer_kind[i];
        q->kind_units[k] = first->kind_s[k];
        q->units += q->kind_units[k];
    }
    for (int g = 0; g < q->problem->cluster->groups; g++)
        for (int c = 0; c < q->group[g].count; c++) {
            group_degrees *const choice = q->group[g].choice[c];
            choice->unit_s = choice->least_s = HUGE_VAL;
            for (int k = 0; k < model->kinds; k++) {
                choice->unit_s = fmin(choice->unit_s, choice->kind_s[k] / q->kind_units[k]);
                choice->least_s = fmin(choice->least_s, choice->kind_s[k]);
            }
        }
}

plait_status hetero_list_degrees(hetero_problem *q, plait_error *err)
{
    const int groups = q->problem->cluster->groups;

    for (int g = 0; g < groups; g++) {
        choice_list list;
        PLAIT_TRY(plait_check_allocated(list_group(q, g, &list), err));
        q->group[g] = (group_list){list.gpus, list.count, list.choice};
    }
    set_units(q);
    for (int g = 0; g < groups; g++)
        if (q->group[g].count > 0)
            qsort(q->group[g].choice, (size_t)q->group[g].count, sizeof *q->group[g].choice,
                  by_size_and_rate);
    return PLAIT_OK;
}

/* Copies the degrees of a group that are legal with the n-th list. Returns NULL if out of memory. */
static group_degrees **select_degrees(const hetero_problem *q, int g, int n, int *count)
{
    const group_list *const all = &q->group[g];
    group_degrees **const choice =
        plait_arena_alloc(q->arena, (size_t)all->count + 1, sizeof *choice);

    *count = 0;
    for (int c = 0; choice && c < all->count; c++)
        if (all->choice[c]->lists >> n & 1u)
            choice[(*count)++] = all->choice[c];
    return choice;
}

plait_status hetero_select_list(hetero_problem *q, int n, plait_error *err)
{
    const int groups = q->problem->cluster->groups;
    group_degrees **choice[PLAIT_MAX_NODE_GROUPS];
    int count[PLAIT_MAX_NODE_GROUPS];
    hetero_space *const space = &q->space;
    size_t all = 0, at = 0;

    *space =
        (hetero_space){.index = n, .recompute = q->list[n].value, .recomputes = q->list[n].count};
    for (int g = 0; g < groups; g++) {
        choice[g] = select_degrees(q, g, n, &count[g]);
        PLAIT_TRY(plait_check_allocated(choice[g], err));
        all += (size_t)count[g];
    }
    space->size = plait_arena_alloc(q->arena, all + 1, sizeof *space->size);
    PLAIT_TRY(plait_check_allocated(space->size, err));
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < count[g]; i++)
            space->size[at++] = choice[g][i]->size;
    qsort(space->size, all, sizeof *space->size, by_number);
    for (size_t i = 0; i < all; i++)
        if (space->sizes == 0 || space->size[space->sizes - 1] != space->size[i])
            space->size[space->sizes++] = space->size[i];
    const size_t cells = (size_t)space->sizes * PLAIT_MAX_NODE_GROUPS;
    space->list = plait_arena_alloc(q->arena, cells + 1, sizeof *space->list);
    PLAIT_TRY(plait_check_allocated(space->list, err));
    for (int g = 0; g < groups; g++) {
        group_degrees **next = choice[g];
        int left = count[g];

        for (int b = 0; b < space->sizes; b++) {
            degrees_list *const out = &space->list[b * PLAIT_MAX_NODE_GROUPS + g];
            *out = (degrees_list){.choice = next, .gpus = q->group[g].gpus};
            for (; left > 0 && (*next)->size == space->size[b]; next++, left--)
                out->count++;
        }
    }
    return PLAIT_OK;
}

double hetero_weight(const hetero_problem *q, unsigned groups)
{
    double usd_per_s = 0.0;

    if (q->options->objective != PLAIT_MINIMISE_COST)
        return 1.0;
    for (int g = 0; g < PLAIT_MAX_NODE_GROUPS; g++)
        if (groups >> g & 1u)
            usd_per_s += q->usd_per_s[g];
    return usd_per_s;
}
