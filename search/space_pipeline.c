/* space_pipeline.c - one pp of a row: its schedules, its shards, and how many points it has */
#include "space.h"

#include <string.h>

#include "grow.h"
#include "plait/cost.h"
#include "plait/schedule.h"
#include "plan_check.h"
#include "space_private.h"
#include "split.h"
#include "traits.h"

/* One pp: what rows that differ in mbs alone share, and the shards, which say even less of a row. */
struct cursor_slot {
    plait_degrees row;   /* that `grid` is of, without its mbs; zeros: none yet */
    space_pipeline grid; /* with all kinds that some mbs may have */
    bool known;
    plait_degrees key;
    int shards, nested, room;
    space_shard *shard; /* those that nest in cp come first */
};

bool space_cursor_init(space_cursor *cursor, const plan_space *space, plait_arena *arena)
{
    const size_t slots = (size_t)space->divisors.count;

    *cursor = (space_cursor){.space = space, .arena = arena, .row = -1};
    cursor->slot = plait_arena_alloc(arena, slots, sizeof *cursor->slot);
    cursor->dispatches = dispatch_memo_new(arena);
    return cursor->slot != NULL && cursor->dispatches != NULL;
}

static bool same_ranks(const plait_degrees *a, const plait_degrees *b)
{
    return a->tp == b->tp && a->cp == b->cp && a->ep == b->ep && a->etp == b->etp &&
           a->sp == b->sp && a->cp_comm == b->cp_comm;
}

/* A key that says nothing here has one value: the first of its list. */
static int values_of(const plan_space *space, const plait_degrees *d, plait_key_id key, int count)
{
    const plait_key *const row = &plait_keys[key];
    const bool matters = row->matters == NULL || row->matters(space->problem, d);

    return matters || count == 0 ? count : 1;
}

/* Runtimes with many free keys have millions of shards, most of them illegal: room is made as it is used. */
static void add_shard(space_cursor *cursor, struct cursor_slot *slot, space_shard shard)
{
    space_shard *const more =
        grow_by_one(cursor->arena, slot->shard, slot->shards, &slot->room, sizeof *more);

    if (!more) {
        cursor->failed = true;
        return;
    }
    slot->shard = more;
    slot->shard[slot->shards++] = shard;
}

/* Every value of the k-th free key and of those behind it, with this shard. */
static void add_free_values(space_cursor *cursor, plait_degrees d, int k, space_shard shard,
                            struct cursor_slot *slot)
{
    const plan_space *const space = cursor->space;

    if (k == space->free_keys) {
        if (plan_shards_legal(space->problem, &d, &nobody_asks))
            add_shard(cursor, slot, shard);
        return;
    }
    const space_free_key *const free_key = &space->free_key[k];
    const int count = free_key->usual_only
                          ? free_key->values.count
                          : values_of(space, &d, free_key->key, free_key->values.count);
    const int usual = plait_keys[free_key->key].usual(space->problem, &d, free_key->key);

    for (int i = 0; i < count; i++) {
        if (free_key->usual_only && free_key->values.value[i] != usual)
            continue;
        shard.value[k] = (unsigned char)free_key->values.value[i];
        plait_key_put(&d, free_key->key, shard.value[k]);
        add_free_values(cursor, d, k + 1, shard, slot);
    }
}

/*
 * The shard groups of one ZeRO stage that nest in cp, or those that do not. One rank a shard is
 * ZeRO 0 by another name, so it is left out.
 */
static void add_shards_of(space_cursor *cursor, plait_degrees d, bool nested,
                          struct cursor_slot *slot)
{
    const plan_space *const space = cursor->space;
    const int replicas = d.dp * d.cp;

    for (int i = 0; i < space->divisors.count && space->divisors.value[i] <= replicas; i++) {
        d.shard_group = space->divisors.value[i];
        if (replicas % d.shard_group != 0 || (d.shard_group == 1 && replicas > 1) ||
            plan_shards_nest(space->problem, &d) != nested ||
            !limits_allow(space->options, PLAIT_KEY_SHARD_GROUP, d.shard_group))
            continue;
        add_free_values(cursor, d, 0, (space_shard){.shard_group = d.shard_group, .zero = d.zero},
                        slot);
    }
}

static void add_shards(space_cursor *cursor, plait_degrees d, bool nested, struct cursor_slot *slot)
{
    const plan_space *const space = cursor->space;
    const int stages = values_of(space, &d, PLAIT_KEY_ZERO, space->zero.count);

    for (int z = 0; z < stages; z++) {
        d.zero = (unsigned char)space->zero.value[z];
        add_shards_of(cursor, d, nested, slot);
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
 * The value of a free key that bounds go by: values of formats stand from wide to narrow, so the last
 * needs least memory. Times that hang on these keys are no part of a bound.
 */
static int leanest(const plan_space *space, const plait_degrees *d, int k)
{
    const space_free_key *const free_key = &space->free_key[k];
    plait_degrees sharded = *d;

    sharded.zero = 3; // where a format needs shards, it has them
    for (int i = free_key->values.count - 1; i >= 0 && !free_key->usual_only; i--) {
        plait_key_put(&sharded, free_key->key, free_key->values.value[i]);
        if (plan_formats_legal(space->problem, &sharded, &nobody_asks))
            return free_key->values.value[i];
    }
    return plait_keys[free_key->key].usual(space->problem, &sharded, free_key->key);
}

static void put_usual(const plan_space *space, plait_degrees *d, int k)
{
    const plait_key_id key = space->free_key[k].key;

    plait_key_put(d, key, plait_keys[key].usual(space->problem, d, key));
}

static int least_chunks(unsigned char schedule)
{
    return plait_schedule_takes((plait_schedule)schedule, 1) ? 1 : 2;
}

/*
 * The shards of this pp, listed once for all microbatches: shards depend on the ranks alone. Whether
 * they are legal is asked with the first legal schedule and order; an order with stages inside
 * replicas then takes only those that nest in cp.
 */
static bool fill_shards(space_cursor *cursor, struct cursor_slot *slot)
{
    const space_pipeline *const p = &slot->grid;
    plait_degrees probe = p->degrees;

    if (slot->known && same_ranks(&slot->key, &p->degrees))
        return true;
    probe.schedule = p->kind[0].schedule;
    probe.vpp = least_chunks(probe.schedule);
    probe.order = p->kind[0].order;
    for (int k = 0; k < cursor->space->free_keys; k++)
        put_usual(cursor->space, &probe, k);
    slot->known = true;
    slot->key = p->degrees;
    slot->shards = 0;
    add_shards(cursor, probe, true, slot);
    slot->nested = slot->shards;
    add_shards(cursor, probe, false, slot);
    return !cursor->failed;
}

/* One schedule in one order, with and without pairs of microbatches. */
static void list_overlaps(const plan_space *space, plait_degrees d, space_pipeline *p)
{
    const int count = values_of(space, &d, PLAIT_KEY_EP_OVERLAP, space->ep_overlaps.count);

    for (int i = 0; i < count; i++) {
        d.ep_overlap = (unsigned char)space->ep_overlaps.value[i];
        if (!plan_grid_legal(space->problem, &d, &nobody_asks))
            continue;
        p->kind[p->kinds].schedule = d.schedule;
        p->kind[p->kinds].order = d.order;
        p->kind[p->kinds++].ep_overlap = d.ep_overlap;
    }
}

/* The schedules that these ranks allow, in each order that differs. */
static void list_kinds(const plan_space *space, space_pipeline *p)
{
    const int orders = values_of(space, &p->degrees, PLAIT_KEY_ORDER, space->orders.count);

    for (int s = 0; s < space->schedules.count; s++) {
        for (int o = 0; o < orders; o++) {
            plait_degrees d = p->degrees;
            d.schedule = (unsigned char)space->schedules.value[s];
            d.order = (unsigned char)space->orders.value[o];
            d.vpp = least_chunks(d.schedule);
            list_overlaps(space, d, p);
        }
    }
}

/* How many of the shards each kind takes, and with them the points of the pipeline. */
static void take_shards(const plan_space *space, const struct cursor_slot *slot, space_pipeline *p)
{
    p->shard = slot->shard;
    for (int k = 0; k < p->kinds; k++) {
        const bool inside = p->kind[k].order == PLAIT_ORDER_TP_CP_PP_DP && p->degrees.pp > 1;
        const space_split_range *splits =
            space_splits_for(p->splits, (plait_schedule)p->kind[k].schedule);
        const int64_t choices =
            p->kind[k].ep_overlap != PLAIT_EP_OVERLAP_NONE
                ? (int64_t)(splits->end - splits->first) * space->recompute.paired
                : splits->choices;

        p->kind[k].shards = inside ? slot->nested : slot->shards;
        p->points += p->kind[k].shards * choices;
    }
}

/* Chunks for a layout: no more than there are layers and ends. */
static bool layouts_deal(const plan_space *space, int pp)
{
    return pp <= split_most_chunks(space->problem->model->layers, PLAIT_SPLIT_BOTH) &&
           pp <= space->problem->runtime->can.most[PLAIT_KEY_PP] &&
           limits_allow(space->options, PLAIT_KEY_PP, pp);
}

/* All that one pp of a row has with any microbatch; without kinds where there is no plan. */
static void fill_grid(const plan_space *space, plait_degrees d, int i, space_pipeline *grid)
{
    const plait_problem *problem = space->problem;
    const bool dealt = space->splits[i].count > 0;

    d.pp = space->divisors.value[i];
    d.dp = plait_degrees_dp(problem->job.gpus, d.tp, d.pp, d.cp);
    d.shard_group = d.dp * d.cp;
    d.zero = (unsigned char)problem->runtime->defaults.key[PLAIT_KEY_ZERO];
    d.split = dealt ? space->splits[i].split[0].split : (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    for (int k = 0; k < space->free_keys; k++)
        put_usual(space, &d, k);
    *grid = (space_pipeline){.degrees = d, .splits = &space->splits[i]};
    if (!(dealt || (space->layouts && layouts_deal(space, d.pp))) || d.dp == 0 ||
        !limits_allow(space->options, PLAIT_KEY_DP, d.dp))
        return;
    list_kinds(space, grid);
    // No plan need have all the leanest values at once: their memory is still below that of any.
    for (int k = 0; k < space->free_keys; k++)
        plait_key_put(&grid->degrees, space->free_key[k].key, leanest(space, &d, k));
}

/* The kinds that so many microbatches allow. */
static void keep_kinds(const plait_problem *problem, space_pipeline *p)
{
    const int kinds = p->kinds;
    plait_degrees d = p->degrees;

    p->kinds = 0;
    for (int k = 0; k < kinds; k++) {
        d.schedule = p->kind[k].schedule;
        d.order = p->kind[k].order;
        d.ep_overlap = p->kind[k].ep_overlap;
        d.vpp = least_chunks(d.schedule);
        if (plan_batch_legal(problem, &d, &nobody_asks))
            p->kind[p->kinds++] = p->kind[k];
    }
}

bool space_pipeline_at(space_cursor *cursor, int64_t row, int i, space_pipeline *out)
{
    const plan_space *space = cursor->space;
    struct cursor_slot *const slot = &cursor->slot[i];
    const int mbs = space->row[row].mbs;
    plait_degrees d = space->row[row];

    if (cursor->row != row) {
        cursor->row = row;
        cursor->dispatcher = fastest_dispatcher_of(cursor->dispatches, space, &d);
    }
    if (cursor->dispatcher < 0)
        return false;
    d.dispatcher = (unsigned char)cursor->dispatcher;
    d.mbs = 0;
    if (memcmp(&slot->row, &d, sizeof d) != 0) {
        fill_grid(space, d, i, &slot->grid);
        slot->row = d;
    }
    if (slot->grid.kinds == 0)
        return false;
    *out = slot->grid;
    out->degrees.mbs = mbs;
    keep_kinds(space->problem, out);
    if (out->kinds == 0 || !fill_shards(cursor, slot))
        return false;
    take_shards(space, slot, out);
    return out->points > 0 || space->layouts;
}

void space_apply_choice(const plan_space *space, int choice, plait_degrees *d)
{
    const space_recompute *r = &space->recompute;
    const int vpp = d->vpp;

    const bool paired = d->ep_overlap != PLAIT_EP_OVERLAP_NONE;

    if (choice < (paired ? r->paired : r->count)) {
        const space_choice *chosen = paired ? &r->pair[choice] : &r->value[choice];
        d->recompute = chosen->recompute;
        d->offload_acts = chosen->offload_acts;
        return;
    }
    d->offload_acts = 0;
    d->recompute =
        (plait_recompute){.kind = PLAIT_RECOMPUTE_FULL,
                          .layers = (short)(((r->low + vpp - 1) / vpp + choice - r->count) * vpp)};
}
