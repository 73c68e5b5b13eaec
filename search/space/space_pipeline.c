/* space_pipeline.c - one pp of a row: its schedules, its shards, and how many points it has */
#include "search/space/space.h"

#include <assert.h>
#include <string.h>

#include "base/grow.h"
#include "plait/cost.h"
#include "plait/schedule.h"
#include "rules/plan_check.h"
#include "search/space/space_private.h"
#include "plan/split.h"
#include "plan/model_queries.h"

/* Shards of the kinds beside which the same keys say something; those that nest in cp come first. */
typedef struct shard_list {
    unsigned said;
    int shards, nested, room;
    space_shard *shard;
} shard_list;

/* One pp: what rows that differ in mbs alone share, and the shards, which say even less of a row. */
struct cursor_slot {
    plait_degrees row;   /* that `grid` is of, without its mbs; zeros: none yet */
    bool dealt;          /* are there ranks, and layers for each? */
    bool listed;         /* are its kinds? */
    plait_degrees usual; /* as `grid`, with the usual value of each free key, not the leanest */
    space_pipeline grid; /* with all kinds that some mbs may have, and no shards */
    plait_degrees key;   /* whose ranks the lists are of */
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

static bool says_something(const plan_space *space, const plait_degrees *d, plait_key_id key)
{
    const plait_key *const row = &plait_keys[key];

    return row->matters == NULL || row->matters(space->problem, d);
}

/* A key that says nothing here has one value: the first of its list. */
static int values_of(const plan_space *space, const plait_degrees *d, plait_key_id key, int count)
{
    return count == 0 || says_something(space, d, key) ? count : 1;
}

/* Runtimes with many free keys have millions of shards, most of them illegal: room is made as it is used. */
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
 * Without replicas all ZeRO stages are one, but formats and offload may need shards: the lowest legal
 * stage stands for all.
 */
static bool lower_stage_stands(const plan_space *space, const plait_degrees *d)
{
    plait_degrees lower = *d;

    if (says_something(space, d, PLAIT_KEY_ZERO))
        return false;
    for (int z = 0; z < space->zero.count && space->zero.value[z] < d->zero; z++) {
        lower.zero = (unsigned char)space->zero.value[z];
        if (plan_shards_legal(space->problem, &lower, &nobody_asks))
            return true;
    }
    return false;
}

/* Every value of the k-th free key and of those behind it, with this shard. */
static void add_free_values(space_cursor *cursor, plait_degrees d, int k, space_shard shard,
                            shard_list *list)
{
    const plan_space *const space = cursor->space;

    if (k == space->free_keys) {
        if (plan_shards_legal(space->problem, &d, &nobody_asks) && !lower_stage_stands(space, &d))
            add_shard(cursor, list, shard);
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
        add_free_values(cursor, d, k + 1, shard, list);
    }
}

/*
 * The shard groups of one ZeRO stage that nest in cp, or those that do not. One rank a shard is
 * ZeRO 0 by another name, so it is left out.
 */
static void add_shards_of(space_cursor *cursor, plait_degrees d, bool nested, shard_list *list)
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
                        list);
    }
}

static void add_shards(space_cursor *cursor, plait_degrees d, bool nested, shard_list *list)
{
    const plan_space *const space = cursor->space;

    for (int z = 0; z < space->zero.count; z++) {
        d.zero = (unsigned char)space->zero.value[z];
        add_shards_of(cursor, d, nested, list);
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

/* The degrees of a kind, with as few chunks as its schedule takes. */
static plait_degrees degrees_of(plait_degrees d, const space_kind *kind)
{
    d.schedule = kind->schedule;
    d.order = kind->order;
    d.ep_overlap = kind->ep_overlap;
    d.vpp = least_chunks(kind->schedule);
    return d;
}

/*
 * The shards of a kind, listed once for all microbatches and for kinds beside which the same keys say
 * something: shards depend on the ranks alone. Whether they are legal is asked with the first of these
 * kinds; an order with stages inside replicas then takes only those that nest in cp. NULL: out of memory.
 */
static const shard_list *shards_of(space_cursor *cursor, struct cursor_slot *slot, unsigned said)
{
    const space_pipeline *const p = &slot->grid;
    int first = 0, at = 0;

    while (at < slot->lists && slot->list[at].said != said)
        at++;
    assert(at < SPACE_KINDS); // with the same ranks each list has a kind of its own
    shard_list *const list = &slot->list[at];
    if (at < slot->lists)
        return list;
    while (p->kind[first].said != said)
        first++;
    plait_degrees probe = degrees_of(p->degrees, &p->kind[first]);
    for (int k = 0; k < cursor->space->free_keys; k++)
        put_usual(cursor->space, &probe, k);
    slot->lists++;
    list->said = said;
    list->shards = 0;
    add_shards(cursor, probe, true, list);
    list->nested = list->shards;
    add_shards(cursor, probe, false, list);
    return cursor->failed ? NULL : list;
}

/* Which free keys say something beside those of a kind. */
static unsigned said_beside(const plan_space *space, const plait_degrees *d)
{
    unsigned said = 0;

    for (int k = 0; k < space->free_keys; k++)
        if (says_something(space, d, space->free_key[k].key))
            said |= 1u << k;
    return said;
}

/* One schedule in one order, with and without pairs of microbatches, or only with what the row is for. */
static void list_overlaps(const plan_space *space, plait_degrees d, space_pipeline *p)
{
    const int least = d.ep_overlap;
    const int count = values_of(space, &d, PLAIT_KEY_EP_OVERLAP, space->ep_overlaps.count);

    for (int i = 0; i < count; i++) {
        d.ep_overlap = (unsigned char)space->ep_overlaps.value[i];
        if (d.ep_overlap < least || !plan_grid_legal(space->problem, &d, &nobody_asks))
            continue;
        p->kind[p->kinds++] = (space_kind){.schedule = d.schedule,
                                           .order = d.order,
                                           .ep_overlap = d.ep_overlap,
                                           .said = said_beside(space, &d)};
    }
}

/* The schedules that these ranks allow, in each order that differs. */
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

/* The shards that a kind takes, and with them its points. */
static bool take_shards(space_cursor *cursor, struct cursor_slot *slot, space_pipeline *p, int k)
{
    space_kind *const kind = &p->kind[k];
    const bool inside = kind->order == PLAIT_ORDER_TP_CP_PP_DP && p->degrees.pp > 1;
    const space_split_range *splits = space_splits_for(p->splits, (plait_schedule)kind->schedule);
    const int64_t choices =
        kind->ep_overlap != PLAIT_EP_OVERLAP_NONE
            ? (int64_t)(splits->end - splits->first) * cursor->space->recompute.paired
            : splits->choices;
    const shard_list *const list = shards_of(cursor, slot, kind->said);

    if (!list)
        return false;
    kind->shard = list->shard;
    kind->shards = inside ? list->nested : list->shards;
    p->points += kind->shards * choices;
    return true;
}

/* A layout has no more chunks than there are layers and ends. */
bool space_layouts_deal(const plan_space *space, int pp)
{
    return pp <= split_most_chunks(space->problem->model->layers, PLAIT_SPLIT_BOTH) &&
           pp <= space->problem->runtime->can.most[PLAIT_KEY_PP] &&
           limits_allow(space->options, PLAIT_KEY_PP, pp);
}

/*
 * The degrees of one pp of a row, with what every plan has at least of the free keys: none need have all
 * at once. False where there is no plan.
 */
static bool fill_ranks(const plan_space *space, plait_degrees d, int i, struct cursor_slot *slot)
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
    slot->usual = d;
    d.ep_overlap = PLAIT_EP_OVERLAP_NONE;
    slot->grid = (space_pipeline){.degrees = d, .splits = &space->splits[i]};
    if (!(dealt || (space->layouts && space_layouts_deal(space, d.pp))) || d.dp == 0 ||
        !limits_allow(space->options, PLAIT_KEY_DP, d.dp))
        return false;
    for (int k = 0; k < space->free_keys; k++)
        plait_key_put(&slot->grid.degrees, space->free_key[k].key, leanest(space, &d, k));
    return true;
}

/* The kinds that so many microbatches allow. */
static void keep_kinds(const plait_problem *problem, const space_pipeline *grid, space_pipeline *p)
{
    for (int k = 0; k < grid->kinds; k++) {
        const plait_degrees d = degrees_of(p->degrees, &grid->kind[k]);
        if (plan_batch_legal(problem, &d, &nobody_asks))
            p->kind[p->kinds++] = grid->kind[k];
    }
}

/* The grid of a row at one pp, as it is remembered or anew; the shards, unless the ranks are the same. */
static void bring_grid(const plan_space *space, const plait_degrees *row, int i,
                       struct cursor_slot *slot)
{
    if (memcmp(&slot->row, row, sizeof *row) == 0)
        return;
    slot->dealt = fill_ranks(space, *row, i, slot);
    slot->listed = false;
    slot->row = *row;
    if (!same_ranks(&slot->key, &slot->grid.degrees))
        slot->lists = 0;
    slot->key = slot->grid.degrees;
}

bool space_ranks_at(space_cursor *cursor, int64_t row, int i, space_pipeline *out)
{
    const plan_space *space = cursor->space;
    struct cursor_slot *const slot = &cursor->slot[i];
    plait_degrees d = space->row[row];

    d.mbs = 0;
    bring_grid(space, &d, i, slot);
    out->degrees = slot->grid.degrees;
    out->degrees.mbs = space->row[row].mbs;
    out->splits = slot->grid.splits;
    out->points = out->kinds = 0;
    return slot->dealt;
}

bool space_kinds_of(space_cursor *cursor, int i, space_pipeline *p)
{
    struct cursor_slot *const slot = &cursor->slot[i];

    if (!slot->listed)
        list_kinds(cursor->space, &slot->usual, &slot->grid);
    slot->listed = true;
    keep_kinds(cursor->space->problem, &slot->grid, p);
    return p->kinds > 0;
}

bool space_shards_of(space_cursor *cursor, int i, space_pipeline *p)
{
    for (int k = 0; k < p->kinds; k++)
        if (!take_shards(cursor, &cursor->slot[i], p, k))
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
