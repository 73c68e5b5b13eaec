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
 * State of the walk for one pp. `grid` and `usual` are valid for the row `row` with any mbs;
 * `grid.kind` is valid if `listed` is true. The lists of shards depend only on the ranks, and are
 * valid for the ranks of `key`.
 */
struct cursor_slot {
    plait_degrees row; /* current row with mbs 0; all zero: no row yet */
    bool possible;     /* whether a plan with these ranks can exist */
    bool listed;
    plait_degrees usual; /* degrees of `grid` with the default of each free key */
    space_pipeline
        grid; /* pipeline with the free keys of least memory and the kinds that are legal for some
               * mbs */
    plait_degrees key;
    int lists;
    shard_list list[SPACE_KINDS];
};

bool space_cursor_init(space_cursor *cursor, const plan_space *space, plait_arena *arena)
{
    const size_t slots = (size_t)space->divisors.count;

    *cursor = (space_cursor){.space = space, .arena = arena};
    cursor->slot = plait_arena_alloc(arena, slots, sizeof *cursor->slot);
    return cursor->slot != NULL;
}

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

/*
 * Returns whether a lower ZeRO stage is equivalent and legal. Without replicas all stages are
 * equivalent, but formats and offload can require one, so only the lowest legal stage is listed.
 */
static bool lower_stage_suffices(const plan_space *space, const plait_degrees *d)
{
    plait_degrees lower = *d;

    if (is_relevant(space, d, PLAIT_KEY_ZERO))
        return false;
    for (int z = 0; z < space->zero.count && space->zero.value[z] < d->zero; z++) {
        lower.zero = (unsigned char)space->zero.value[z];
        if (plan_shards_legal(space->problem, &lower, &no_reason))
            return true;
    }
    return false;
}

/* Adds this shard with every combination of values of the free keys from the k-th on. */
static void add_free_values(space_cursor *cursor, plait_degrees d, int k, space_shard shard,
                            shard_list *list)
{
    const plan_space *const space = cursor->space;

    if (k == space->free_keys) {
        if (plan_shards_legal(space->problem, &d, &no_reason) && !lower_stage_suffices(space, &d))
            add_shard(cursor, list, shard);
        return;
    }
    const space_free_key *const free_key = &space->free_key[k];
    const int count = free_key->usual_only
                          ? free_key->values.count
                          : values_of(space, &d, free_key->key, free_key->values.count);
    const int usual = plait_key_default(space->problem, &d, free_key->key);

    for (int i = 0; i < count; i++) {
        if (free_key->usual_only && free_key->values.value[i] != usual)
            continue;
        shard.value[k] = (unsigned char)free_key->values.value[i];
        plait_key_put(&d, free_key->key, shard.value[k]);
        add_free_values(cursor, d, k + 1, shard, list);
    }
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
                limits_allow(space->options, PLAIT_KEY_SHARD_GROUP, group))
                add_free_values(cursor, d, 0, (space_shard){.shard_group = group, .zero = d.zero},
                                list);
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
    const space_pipeline *const p = &slot->grid;
    int first = 0, at = 0;

    while (at < slot->lists && slot->list[at].relevant != relevant)
        at++;
    assert(at < SPACE_KINDS); // there is at most one list per kind
    shard_list *const list = &slot->list[at];
    if (at < slot->lists)
        return list;
    while (p->kind[first].relevant != relevant)
        first++;
    plait_degrees probe = degrees_of(p->degrees, &p->kind[first]);
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
 * Lists the kinds of one schedule and order, with and without pairs of microbatches. A row for
 * pairs has only kinds with pairs.
 */
static void list_overlaps(const plan_space *space, plait_degrees d, space_pipeline *p)
{
    const int least = d.ep_overlap;
    const int count = values_of(space, &d, PLAIT_KEY_EP_OVERLAP, space->ep_overlaps.count);

    for (int i = 0; i < count; i++) {
        d.ep_overlap = (unsigned char)space->ep_overlaps.value[i];
        if (d.ep_overlap < least || !plan_grid_legal(space->problem, &d, &no_reason))
            continue;
        p->kind[p->kinds++] = (space_kind){.schedule = d.schedule,
                                           .order = d.order,
                                           .ep_overlap = d.ep_overlap,
                                           .relevant = relevant_keys(space, &d)};
    }
}

/* Lists the legal schedules, in each order of axes that makes a difference. */
static void list_kinds(const plan_space *space, const plait_degrees *usual, space_pipeline *p)
{
    const int orders = values_of(space, usual, PLAIT_KEY_ORDER, space->orders.count);

    for (int s = 0; s < space->schedules.count; s++) {
        for (int o = 0; o < orders; o++) {
            plait_degrees d = *usual;
            d.schedule = (unsigned char)space->schedules.value[s];
            d.order = (unsigned char)space->orders.value[o];
            d.vpp = least_chunks(d.schedule);
            list_overlaps(space, d, p);
        }
    }
}

/* Sets the shards of a kind, and adds its points. */
static bool add_kind(space_cursor *cursor, struct cursor_slot *slot, space_pipeline *p, int k)
{
    space_kind *const kind = &p->kind[k];
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
    p->points += kind->shards * choices;
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

    d.pp = space->divisors.value[i];
    d.dp = plait_degrees_dp(problem->job.gpus, d.tp, d.pp, d.cp);
    d.shard_group = d.dp * d.cp;
    d.zero = (unsigned char)problem->runtime->defaults.key[PLAIT_KEY_ZERO];
    d.split = named ? space->splits[i].split[0].split : (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    for (int k = 0; k < space->free_keys; k++)
        put_default(space, &d, k);
    slot->usual = d;
    d.ep_overlap = PLAIT_EP_OVERLAP_NONE;
    slot->grid = (space_pipeline){.degrees = d, .splits = &space->splits[i]};
    if (!(named || (space->layouts && space_has_layouts(space, d.pp))) || d.dp == 0 ||
        !limits_allow(space->options, PLAIT_KEY_DP, d.dp))
        return false;
    for (int k = 0; k < space->free_keys; k++)
        plait_key_put(&slot->grid.degrees, space->free_key[k].key, leanest_value(space, &d, k));
    return true;
}

bool space_ranks_at(space_cursor *cursor, int64_t row, int i, space_pipeline *out)
{
    const plan_space *space = cursor->space;
    struct cursor_slot *const slot = &cursor->slot[i];
    plait_degrees d = space->row[row];

    d.mbs = 0;
    if (memcmp(&slot->row, &d, sizeof d) != 0) {
        slot->possible = fill_ranks(space, d, i, slot);
        slot->listed = false;
        slot->row = d;
        if (!same_ranks(&slot->key, &slot->grid.degrees))
            slot->lists = 0;
        slot->key = slot->grid.degrees;
    }
    out->degrees = slot->grid.degrees;
    out->degrees.mbs = space->row[row].mbs;
    out->splits = slot->grid.splits;
    out->points = out->kinds = 0;
    return slot->possible;
}

bool space_kinds_of(space_cursor *cursor, int i, space_pipeline *p)
{
    struct cursor_slot *const slot = &cursor->slot[i];

    if (!slot->listed)
        list_kinds(cursor->space, &slot->usual, &slot->grid);
    slot->listed = true;
    for (int k = 0; k < slot->grid.kinds;
         k++) { // keep kinds that the number of microbatches allows
        const plait_degrees d = degrees_of(p->degrees, &slot->grid.kind[k]);
        if (plan_batch_legal(cursor->space->problem, &d, &no_reason))
            p->kind[p->kinds++] = slot->grid.kind[k];
    }
    return p->kinds > 0;
}

bool space_shards_of(space_cursor *cursor, int i, space_pipeline *p)
{
    for (int k = 0; k < p->kinds; k++)
        if (!add_kind(cursor, &cursor->slot[i], p, k))
            return false;
    return p->points > 0 || cursor->space->layouts;
}

bool space_pipeline_at(space_cursor *cursor, int64_t row, int i, space_pipeline *out)
{
    return space_ranks_at(cursor, row, i, out) && space_kinds_of(cursor, i, out) &&
           space_shards_of(cursor, i, out);
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
