/* space_pipeline.c - one pp of a row: its schedules, its shards, and how many points it has */
#include "space.h"

#include "plan_check.h"
#include "traits.h"

/* The shards of one pp, for all rows that differ in mbs only. */
struct cursor_slot {
    bool known;
    plait_degrees key;
    int shards, room;
    space_shard *shard;
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

/* Without replicas all ZeRO stages are one. */
static bool zero_matters(const plan_space *space, const plait_degrees *d, int i)
{
    return d->dp * d->cp > 1 || model_has_experts(space->problem->model) || i == 0;
}

/* Between replicas, or between the two ends that hold a tied embedding. */
static bool gradients_travel(const plait_problem *problem, const plait_degrees *d)
{
    return d->dp * d->cp > 1 || model_has_experts(problem->model) ||
           (problem->model->tied && d->pp > 1);
}

static void add_shards_of(const plan_space *space, plait_degrees d, struct cursor_slot *slot)
{
    const int replicas = d.dp * d.cp;

    for (int i = 0; i < space->divisors.count && space->divisors.value[i] <= replicas; i++) {
        d.shard_group = space->divisors.value[i];
        if (replicas % d.shard_group != 0 || (d.shard_group == 1 && replicas > 1) ||
            !limits_allow(space->options, "shard_group", d.shard_group) ||
            !plan_ranks_legal(space->problem, &d))
            continue;
        const int all = space->grad_sync.count;
        const int syncs = gradients_travel(space->problem, &d) || all == 0 ? all : 1;
        for (int g = 0; g < syncs; g++)
            slot->shard[slot->shards++] = (space_shard){
                .shard_group = d.shard_group,
                .zero = d.zero,
                .grad_sync = (unsigned char)space->grad_sync.value[g],
            };
    }
}

static bool fill_slot(space_cursor *cursor, const space_pipeline *p, struct cursor_slot *slot)
{
    const plan_space *space = cursor->space;
    const plait_degrees *d = &p->degrees;
    plait_degrees probe = *d;

    if (slot->known && same_ranks(&slot->key, d))
        return true;
    if (!slot->shard) {
        slot->room = space->zero.count * space->divisors.count * space->grad_sync.count + 1;
        slot->shard = plait_arena_alloc(cursor->arena, (size_t)slot->room, sizeof *slot->shard);
        if (!slot->shard) {
            cursor->failed = true;
            return false;
        }
    }
    probe.schedule = p->kind[0].schedule;
    probe.vpp = probe.schedule == PLAIT_INTERLEAVED ? 2 : 1;
    probe.order = p->kind[0].order;
    slot->known = true;
    slot->key = *d;
    slot->shards = 0;
    for (int z = 0; z < space->zero.count; z++) {
        probe.zero = (unsigned char)space->zero.value[z];
        if (zero_matters(space, d, z))
            add_shards_of(space, probe, slot);
    }
    return true;
}

/* The schedules that this many microbatches allow, in each order that differs. */
static void list_kinds(const plan_space *space, space_pipeline *p)
{
    const bool alike = p->degrees.pp == 1 || p->degrees.dp == 1;

    for (int s = 0; s < space->schedules.count; s++) {
        for (int o = 0; o < (alike && space->orders.count > 1 ? 1 : space->orders.count); o++) {
            plait_degrees d = p->degrees;
            d.schedule = (unsigned char)space->schedules.value[s];
            d.order = (unsigned char)space->orders.value[o];
            d.vpp = d.schedule == PLAIT_INTERLEAVED ? 2 : 1;
            if (!plan_ranks_legal(space->problem, &d))
                continue;
            p->kind[p->kinds].schedule = d.schedule;
            p->kind[p->kinds++].order = d.order;
            p->points += d.vpp > 1 ? p->splits->chunked_choices : p->splits->plain_choices;
        }
    }
}

bool space_pipeline_at(space_cursor *cursor, int64_t row, int i, space_pipeline *out)
{
    const plan_space *space = cursor->space;
    const plait_problem *problem = space->problem;
    plait_degrees d = space->row[row];

    d.pp = space->divisors.value[i];
    d.dp = plait_degrees_dp(problem->job.gpus, d.tp, d.pp, d.cp);
    if (space->splits[i].count == 0 || d.dp == 0 ||
        plait_degrees_microbatches(&d, problem->job.gbs) == 0 ||
        !limits_allow(space->options, "dp", d.dp))
        return false;
    d.shard_group = d.dp * d.cp;
    d.zero = (unsigned char)problem->runtime->defaults.zero;
    d.grad_sync = (unsigned char)problem->runtime->defaults.grad_sync;
    d.split = space->splits[i].split[0].split;
    *out = (space_pipeline){.degrees = d, .splits = &space->splits[i]};
    list_kinds(space, out);
    if (out->kinds == 0 || !fill_slot(cursor, out, &cursor->slot[i]))
        return false;
    out->shards = cursor->slot[i].shards;
    out->shard = cursor->slot[i].shard;
    out->points *= out->shards;
    return out->points > 0;
}

plait_recompute space_recompute_choice(const plan_space *space, int vpp, int choice)
{
    const space_recompute *r = &space->recompute;

    if (choice < r->count)
        return r->value[choice];
    return (plait_recompute){.kind = PLAIT_RECOMPUTE_FULL,
                             .layers =
                                 (short)(((r->low + vpp - 1) / vpp + choice - r->count) * vpp)};
}
