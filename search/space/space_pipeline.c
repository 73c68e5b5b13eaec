/* space_pipeline.c - the schedules, shards and number of points of one pp of a row */
#include "search/space/space.h"

#include <assert.h>
#include <string.h>

#include "base/grow.h"
#include "plait/cost.h"
#include "plait/lowlevel/schedule.h"
#include "rules/plan_check.h"
#include "search/space/space_private.h"
#include "plan/split.h"
#include "plan/model_queries.h"

/*
 * Shards of all kinds with the same relevant keys. The first `nested` shards are those that nest in
 * cp.
 */
typedef struct shard_list {
    unsigned relevant;
    int shards, nested, room;
    space_shard *shard;
} shard_list;

/*
 * State of the walk for one pp. The fields up to `list` depend only on the ranks of `key`; `kind` has
 * the kinds that the ranks could have with some kernels, without shards and sizes.
 */
struct cursor_slot {
    bool made;     /* whether `key` and `possible` are valid */
    bool possible; /* whether a plan with these ranks can exist; if not, the later fields are not
                    * valid */
    plait_degrees key;
    plait_degrees usual; /* ranks with the default of each free key */
    plait_degrees grid;  /* ranks with the free keys of least memory */
    int kinds;
    space_kind kind[SPACE_KINDS];
    int lists;
    shard_list list[SPACE_KINDS];
};

bool space_cursor_init(space_cursor *cursor, const plan_space *space, plait_arena *arena)
{
    const size_t slots = (size_t)space->divisors.count;

    *cursor = (space_cursor){.space = space, .arena = arena};
    cursor->slot = plait_arena_alloc(arena, slots, sizeof *cursor->slot);
    cursor->sizes =
        plait_arena_alloc(arena, slots * slots * PLAIT_SCHEDULES, sizeof *cursor->sizes);
    return cursor->slot != NULL && cursor->sizes != NULL;
}

/* Compares all keys of a row that the later levels depend on. */
static bool same_ranks(const plait_degrees *a, const plait_degrees *b)
{
    return a->tp == b->tp && a->cp == b->cp && a->ep == b->ep && a->etp == b->etp &&
           a->sp == b->sp && a->cp_comm == b->cp_comm;
}

static bool is_relevant(const plan_space *space, const plait_degrees *d, plait_key_id key)
{
    const plait_key *const row = &plait_keys[key];

    return row->matters == NULL || row->matters(space->problem, d);
}

/* Returns how many values of a key are listed: only the first if the key has no effect. */
static int values_of(const plan_space *space, const plait_degrees *d, plait_key_id key, int count)
{
    return count == 0 || is_relevant(space, d, key) ? count : 1;
}

/*
 * Appends a shard. The list grows on demand, since runtimes with many free keys have millions of
 * combinations, most of them illegal.
 */
static void add_shard(space_cursor *cursor, shard_list *list, space_shard shard)
{
    space_shard *const more =
        grow_by_one(cursor->arena, list->shard, list->shards, &list->room, sizeof *more);

    if (!more) {
        cursor->failed = true;
        return;
    }
    list->shard = more;
    list->shard[list->shards++] = shard;
}

/* Returns the values of a free key that may be listed in these degrees. */
static const space_list *listed_values(const plan_space *space, const plait_degrees *d,
                                       const space_free_key *free_key)
{
    return free_key->usual_only || free_key->idle.count == free_key->values.count ||
                   is_relevant(space, d, free_key->key)
               ? &free_key->values
               : &free_key->idle;
}

/*
 * Returns whether the space may list these degrees with some values of the free keys, from the k-th
 * on, that have no effect in them.
 */
static bool is_listed(const plan_space *space, plait_degrees d, int k)
{
    for (; k < space->free_keys; k++) {
        const space_free_key *const free_key = &space->free_key[k];

        if (free_key->usual_only) {
            if (!plait_key_is_usual(space->problem, &d, free_key->key))
                return false;
            continue;
        }
        if (free_key->idle.count < 2 || is_relevant(space, &d, free_key->key))
            continue;
        for (int i = 0; i < free_key->idle.count; i++) {
            plait_key_put(&d, free_key->key, free_key->idle.value[i]);
            if (is_listed(space, d, k + 1))
                return true;
        }
        return false;
    }
    return plan_shards_legal(space->problem, &d, &no_reason);
}

/*
 * Returns whether a lower ZeRO stage is equivalent, legal and listed. Without replicas all stages
 * are equivalent, but formats and offload can require one, or have another default with one, so
 * only the lowest such stage is listed.
 */
static bool lower_stage_suffices(const plan_space *space, const plait_degrees *d)
{
    plait_degrees lower = *d;

    if (is_relevant(space, d, PLAIT_KEY_ZERO))
        return false;
    for (int z = 0; z < space->zero.count && space->zero.value[z] < d->zero; z++) {
        lower.zero = (unsigned char)space->zero.value[z];
        if (is_listed(space, lower, 0))
            return true;
    }
    return false;
}

/* Values of free keys that another value of the same key dominates. (S.121) */
static const struct dominated_value {
    plait_key_id key;
    unsigned char value, better;
} dominated_values[] = {
    {PLAIT_KEY_GRAD_SYNC, PLAIT_SYNC_BULK, PLAIT_SYNC_BUCKETED},
    {PLAIT_KEY_POST_VALIDATION, 0, 1},
};

static bool lists_value(const space_list *values, int value)
{
    for (int i = 0; i < values->count; i++)
        if (values->value[i] == value)
            return true;
    return false;
}

/* Returns whether a free key has a dominated value whose better value is listed and legal. */
static bool is_dominated(const plan_space *space, const plait_degrees *d)
{
    enum { COUNT = sizeof dominated_values / sizeof *dominated_values };

    for (int i = 0; i < COUNT; i++) {
        const struct dominated_value *const one = &dominated_values[i];
        plait_degrees other = *d;

        if (plait_key_value(d, one->key) != one->value || !is_relevant(space, d, one->key))
            continue;
        plait_key_put(&other, one->key, one->better);
        for (int k = 0; k < space->free_keys; k++)
            if (space->free_key[k].key == one->key && !space->free_key[k].usual_only &&
                lists_value(&space->free_key[k].values, one->better) &&
                plan_shards_legal(space->problem, &other, &no_reason))
                return true;
    }
    return false;
}

/*
 * Sets the free keys from the k-th on to their only value, up to the first key with several values.
 * Returns the index of that key; -1 if a key has no value.
 */
static int set_only_values(const plan_space *space, plait_degrees *d, int k, space_shard *shard)
{
    for (; k < space->free_keys; k++) {
        const space_free_key *const free_key = &space->free_key[k];
        const space_list values = *listed_values(space, d, free_key);

        if (values.count == 0)
            return -1;
        if (!free_key->usual_only && values.count > 1)
            return k;
        const int value = free_key->usual_only ? plait_key_default(space->problem, d, free_key->key)
                                               : values.value[0];
        if (free_key->usual_only && !lists_value(&values, value))
            return -1;
        shard->value[k] = (unsigned char)value;
        plait_key_put(d, free_key->key, value);
    }
    return k;
}

/*
 * Adds this shard with every combination of values of the free keys from the k-th on. A key without
 * effect has its first legal value. Returns whether a combination is legal.
 */
static bool add_free_values(space_cursor *cursor, plait_degrees d, int k, space_shard *shard,
                            shard_list *list)
{
    const plan_space *const space = cursor->space;

    k = set_only_values(space, &d, k, shard);
    if (k < 0)
        return false;
    if (k == space->free_keys) {
        if (!plan_shards_legal(space->problem, &d, &no_reason))
            return false;
        if (!lower_stage_suffices(space, &d) && !is_dominated(space, &d))
            add_shard(cursor, list, *shard);
        return true;
    }
    const space_free_key *const free_key = &space->free_key[k];
    const bool matters = is_relevant(space, &d, free_key->key);
    const space_list *const values = matters ? &free_key->values : &free_key->idle;
    bool legal = false;

    for (int i = 0; i < values->count && (matters || !legal); i++) {
        shard->value[k] = (unsigned char)values->value[i];
        plait_key_put(&d, free_key->key, shard->value[k]);
        legal = add_free_values(cursor, d, k + 1, shard, list) || legal;
    }
    return legal;
}

/*
 * Adds all ZeRO stages with the shard groups that nest in cp if `nested` is true, else with all
 * other shard groups. A shard group of one rank is equivalent to ZeRO 0, so it is left out.
 */
static void add_shards(space_cursor *cursor, plait_degrees d, bool nested, shard_list *list)
{
    const plan_space *const space = cursor->space;
    const int replicas = d.dp * d.cp;

    for (int z = 0; z < space->zero.count; z++) {
        d.zero = (unsigned char)space->zero.value[z];
        for (int i = 0; i < space->divisors.count && space->divisors.value[i] <= replicas; i++) {
            const int group = d.shard_group = space->divisors.value[i];
            if (replicas % group == 0 && (group > 1 || replicas == 1) &&
                plan_shards_nest(space->problem, &d) == nested &&
                limits_allow(space->options, PLAIT_KEY_SHARD_GROUP, group)) {
                space_shard shard = {.shard_group = group, .zero = d.zero};
                add_free_values(cursor, d, 0, &shard, list);
            }
        }
    }
}

void space_apply_shard(const plan_space *space, const space_shard *shard, plait_degrees *d)
{
    d->zero = shard->zero;
    d->shard_group = shard->shard_group;
    for (int k = 0; k < space->free_keys; k++)
        plait_key_put(d, space->free_key[k].key, shard->value[k]);
}

/*
 * Returns the value of the k-th free key that lower bounds use. Formats are ordered from wide to
 * narrow, so the last legal one needs the least memory; no time in the bounds depends on these
 * keys.
 */
static int leanest_value(const plan_space *space, const plait_degrees *d, int k)
{
    const space_free_key *const free_key = &space->free_key[k];
    plait_degrees sharded = *d;

    sharded.zero = 3; // some formats are legal only with shards
    for (int i = free_key->values.count - 1; i >= 0 && !free_key->usual_only; i--) {
        plait_key_put(&sharded, free_key->key, free_key->values.value[i]);
        if (plan_formats_legal(space->problem, &sharded, &no_reason))
            return free_key->values.value[i];
    }
    return plait_key_default(space->problem, &sharded, free_key->key);
}

static void put_default(const plan_space *space, plait_degrees *d, int k)
{
    const plait_key_id key = space->free_key[k].key;

    plait_key_put(d, key, plait_key_default(space->problem, d, key));
}

static int least_chunks(unsigned char schedule)
{
    return plait_schedule_takes((plait_schedule)schedule, 1) ? 1 : 2;
}

/* Returns the degrees of a kind, with the fewest chunks that its schedule supports. */
static plait_degrees degrees_of(plait_degrees d, const space_kind *kind)
{
    d.schedule = kind->schedule;
    d.order = kind->order;
    d.ep_overlap = kind->ep_overlap;
    d.vpp = least_chunks(kind->schedule);
    return d;
}

/*
 * Returns the shards of the kinds with these relevant keys; NULL when out of memory. They are
 * listed once for all microbatch sizes, since they depend only on the ranks. Their legality is
 * checked with the first of these kinds; an order with stages inside replicas later uses only the
 * shards that nest in cp.
 */
static const shard_list *shards_of(space_cursor *cursor, struct cursor_slot *slot,
                                   unsigned relevant)
{
    int first = 0, at = 0;

    while (at < slot->lists && slot->list[at].relevant != relevant)
        at++;
    assert(at < SPACE_KINDS); // there is at most one list per kind
    shard_list *const list = &slot->list[at];
    if (at < slot->lists)
        return list;
    while (slot->kind[first].relevant != relevant)
        first++;
    plait_degrees probe = degrees_of(slot->grid, &slot->kind[first]);
    for (int k = 0; k < cursor->space->free_keys; k++)
        put_default(cursor->space, &probe, k);
    slot->lists++;
    list->relevant = relevant;
    list->shards = 0;
    add_shards(cursor, probe, true, list);
    list->nested = list->shards;
    add_shards(cursor, probe, false, list);
    return cursor->failed ? NULL : list;
}

static unsigned relevant_keys(const plan_space *space, const plait_degrees *d)
{
    unsigned relevant = 0;

    for (int k = 0; k < space->free_keys; k++)
        if (is_relevant(space, d, space->free_key[k].key))
            relevant |= 1u << k;
    return relevant;
}

/*
 * Lists the kinds of the ranks of a slot: every schedule, in each order of axes that makes a
 * difference, with and without pairs of microbatches.
 */
static void list_kinds(const plan_space *space, struct cursor_slot *slot)
{
    const int orders = values_of(space, &slot->usual, PLAIT_KEY_ORDER, space->orders.count);
    const int overlaps =
        values_of(space, &slot->usual, PLAIT_KEY_EP_OVERLAP, space->ep_overlaps.count);

    slot->kinds = 0;
    for (int s = 0; s < space->schedules.count; s++)
        for (int o = 0; o < orders; o++)
            for (int e = 0; e < overlaps; e++) {
                space_kind *const kind = &slot->kind[slot->kinds];
                *kind = (space_kind){.schedule = (unsigned char)space->schedules.value[s],
                                     .order = (unsigned char)space->orders.value[o],
                                     .ep_overlap = (unsigned char)space->ep_overlaps.value[e]};
                const plait_degrees d = degrees_of(slot->usual, kind);
                kind->relevant = relevant_keys(space, &d);
                slot->kinds += d.vpp <= space->problem->runtime->can.most[PLAIT_KEY_VPP];
            }
}

static int index_of(space_list list, int value)
{
    int low = 0, high = list.count - 1;

    while (low < high) {
        const int middle = (low + high) / 2;
        if (list.value[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * Returns space_kind.sizes of these degrees with the i-th divisor as pp; NULL when out of memory.
 * The sizes depend on pp, dp and schedule alone.
 */
static const unsigned short *sizes_of(space_cursor *cursor, int i, plait_degrees d)
{
    const plan_space *const space = cursor->space;
    const size_t dp_at = (size_t)index_of(space->divisors, d.dp);
    const unsigned short **const known =
        &cursor->sizes[((size_t)i * (size_t)space->divisors.count + dp_at) * PLAIT_SCHEDULES +
                       d.schedule];

    if (*known)
        return *known;
    unsigned short *const legal =
        plait_arena_alloc(cursor->arena, (size_t)space->microbatch.count + 1, sizeof *legal);

    for (int k = 0; legal && k < space->microbatch.count; k++) {
        d.mbs = space->microbatch.value[k];
        legal[k + 1] =
            (unsigned short)(legal[k] + plan_batch_legal(space->problem, &d, &no_reason));
    }
    cursor->failed = cursor->failed || !legal;
    *known = legal;
    return legal;
}

/* Sets the shards and the number of points of a kind. */
static bool add_shards_of_kind(space_cursor *cursor, struct cursor_slot *slot, space_pipeline *p,
                               space_kind *kind)
{
    const bool inside = kind->order == PLAIT_ORDER_TP_CP_PP_DP && p->degrees.pp > 1;
    const space_split_range *splits = space_splits_for(p->splits, (plait_schedule)kind->schedule);
    const plait_degrees d = degrees_of(p->degrees, kind);
    const space_choice_class class = space_class_of(&d);
    const int64_t choices = space_choices_in(&cursor->space->recompute, class,
                                             splits->end - splits->first, splits->choices);
    const shard_list *const list = shards_of(cursor, slot, kind->relevant);

    if (!list)
        return false;
    kind->shard = list->shard;
    kind->shards = inside ? list->nested : list->shards;
    kind->points = kind->shards * choices;
    return true;
}

/* A layout has at most as many chunks as layers, embedding and loss together. */
bool space_has_layouts(const plan_space *space, int pp)
{
    return pp <= split_most_chunks(space->problem->model->layers, PLAIT_SPLIT_BOTH) &&
           pp <= space->problem->runtime->can.most[PLAIT_KEY_PP] &&
           limits_allow(space->options, PLAIT_KEY_PP, pp);
}

/*
 * Sets the degrees of one pp of a row. Each free key gets the value that needs the least memory by
 * itself; together these values need not be legal. Returns false if no plan can exist.
 */
static bool fill_ranks(const plan_space *space, plait_degrees d, int i, struct cursor_slot *slot)
{
    const plait_problem *problem = space->problem;
    const bool named = space->splits[i].count > 0; // whether a named split exists

    slot->lists = 0;
    d.pp = space->divisors.value[i];
    d.dp = plait_degrees_dp(problem->job.gpus, d.tp, d.pp, d.cp);
    if (!(named || (space->layouts && space_has_layouts(space, d.pp))) || d.dp == 0 ||
        !limits_allow(space->options, PLAIT_KEY_DP, d.dp))
        return false;
    d.shard_group = d.dp * d.cp;
    d.zero = (unsigned char)problem->runtime->defaults.key[PLAIT_KEY_ZERO];
    d.split = named ? space->splits[i].split[0].split : (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    d.ep_overlap = PLAIT_EP_OVERLAP_NONE;
    for (int k = 0; k < space->free_keys; k++)
        put_default(space, &d, k);
    slot->usual = slot->grid = d;
    for (int k = 0; k < space->free_keys; k++)
        plait_key_put(&slot->grid, space->free_key[k].key, leanest_value(space, &d, k));
    list_kinds(space, slot);
    if (slot->kinds == 0)
        return false;
    d = degrees_of(slot->usual, &slot->kind[0]);
    return plan_grid_divides(problem, &d, &no_reason);
}

/* Returns the degrees of ranks with the keys of a row that are not among the ranks. */
static plait_degrees ranks_of_row(plait_degrees ranks, const plait_degrees *row)
{
    ranks.placement = row->placement;
    ranks.fusion = row->fusion;
    ranks.dispatcher = row->dispatcher;
    ranks.attention = row->attention;
    ranks.switches = row->switches;
    ranks.mbs = row->mbs;
    return ranks;
}

bool space_ranks_at(space_cursor *cursor, const space_row *row, int i, space_pipeline *out)
{
    struct cursor_slot *const slot = &cursor->slot[i];

    if (!slot->made || !same_ranks(&slot->key, &row->degrees)) {
        slot->possible = fill_ranks(cursor->space, row->degrees, i, slot);
        slot->key = row->degrees;
        slot->made = true;
    }
    if (!slot->possible)
        return false;
    out->degrees = ranks_of_row(slot->grid, &row->degrees);
    out->splits = &cursor->space->splits[i];
    return true;
}

bool space_kinds_of(space_cursor *cursor, const space_row *row, int i, bool shards,
                    space_pipeline *p)
{
    const plan_space *const space = cursor->space;
    struct cursor_slot *const slot = &cursor->slot[i];
    const plait_degrees usual = ranks_of_row(slot->usual, &row->degrees);

    p->points = p->kinds = 0;
    for (int k = 0; k < slot->kinds; k++) {
        space_kind *const kind = &p->kind[p->kinds];
        const plait_degrees d = degrees_of(usual, &slot->kind[k]);

        if (slot->kind[k].ep_overlap < row->degrees.ep_overlap)
            continue; // the row is only for pairs
        *kind = slot->kind[k];
        kind->sizes = sizes_of(cursor, i, d);
        if (!kind->sizes)
            return false;
        const int sizes = kind->sizes[row->first + row->sizes] - kind->sizes[row->first];
        if (sizes == 0 || !plan_kind_legal(space->problem, &d, &no_reason))
            continue;
        if (shards && !add_shards_of_kind(cursor, slot, p, kind))
            return false;
        p->points += sizes * kind->points;
        p->kinds++;
    }
    return p->kinds > 0 && (p->points > 0 || space->layouts || !shards);
}

bool space_pipeline_at(space_cursor *cursor, const space_row *row, int i, space_pipeline *out)
{
    return space_ranks_at(cursor, row, i, out) && space_kinds_of(cursor, row, i, true, out);
}

bool space_takes_size(const space_pipeline *p, int i)
{
    for (int k = 0; k < p->kinds; k++)
        if (space_size_legal(&p->kind[k], i))
            return true;
    return false;
}

void space_apply_choice(const plan_space *space, int choice, plait_degrees *d)
{
    const space_recompute *r = &space->recompute;
    const space_choice_list *const list = &r->of[space_class_of(d)];
    const int vpp = d->vpp;

    if (choice < list->count) {
        const space_choice *const chosen = &list->value[choice];
        d->recompute = chosen->recompute;
        d->offload_acts = chosen->offload_acts;
        return;
    }
    d->offload_acts = 0;
    d->recompute = (plait_recompute){
        .kind = PLAIT_RECOMPUTE_FULL,
        .layers = (short)(((r->low + vpp - 1) / vpp + choice - list->count) * vpp)};
}
