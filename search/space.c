/* space.c - the plan space: rows, pipelines, splits, shards */
#include "space.h"

#include <stdio.h>
#include <string.h>

#include "plan_check.h"
#include "split.h"
#include "text.h"

bool problem_has_experts(const plait_problem *problem)
{
    for (int k = 0; k < problem->model->kinds; k++)
        if (problem->model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return false;
}

int default_etp(const plait_problem *problem, int tp)
{
    return problem->runtime->rules == PLAIT_RULES_MEGATRON ? tp : 1;
}

// ---- lists of values -----------------------------------------------------------------------

static plait_status list_divisors(int of, plait_arena *arena, space_list *out, plait_error *err)
{
    int count = 0;

    for (int64_t i = 1; i * i <= of; i++)
        if (of % i == 0)
            count += i * i == of ? 1 : 2;
    int *value = plait_arena_alloc(arena, (size_t)count, sizeof *value);
    if (!value)
        return plait_fail_nomem(err);
    int low = 0;
    int high = count;
    for (int64_t i = 1; i * i <= of; i++) {
        if (of % i != 0)
            continue;
        value[low++] = (int)i;
        if (i * i != of)
            value[--high] = (int)(of / i);
    }
    *out = (space_list){count, value};
    return PLAIT_OK;
}

/* The bits of a mask whose name (or number) the limits allow. */
static plait_status list_mask(const plait_search_options *options, unsigned mask, const char *key,
                              const char *const *names, plait_arena *arena, space_list *out,
                              plait_error *err)
{
    int *value = plait_arena_alloc(arena, 32, sizeof *value);
    int count = 0;

    if (!value)
        return plait_fail_nomem(err);
    for (int i = 0; i < 31; i++)
        if ((mask >> i & 1u) &&
            (names ? limits_allow_text(options, key, names[i]) : limits_allow(options, key, i)))
            value[count++] = i;
    *out = (space_list){count, value};
    return PLAIT_OK;
}

/* Does the model have what a set of modules recomputes? */
static bool modules_exist(const plait_model *model, unsigned modules)
{
    unsigned there = 1u << PLAIT_MODULE_core_attn | 1u << PLAIT_MODULE_layernorm;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (layer->mixer == PLAIT_MIXER_MLA)
            there |= 1u << PLAIT_MODULE_mla_up_proj;
        if (layer->ffn == PLAIT_FFN_MLP)
            there |= 1u << PLAIT_MODULE_mlp;
        if (layer->ffn == PLAIT_FFN_MOE)
            there |= 1u << PLAIT_MODULE_moe_act | 1u << PLAIT_MODULE_moe;
        if (layer->ffn == PLAIT_FFN_MOE && layer->moe.shared_width > 0)
            there |= 1u << PLAIT_MODULE_shared_experts;
    }
    return (modules & ~there) == 0;
}

/* The core attention alone is what `selective` recomputes: listed once, unless asked for. */
static bool is_selective(const plait_search_options *options, const plait_capabilities *can,
                         unsigned modules)
{
    return modules == 1u << PLAIT_MODULE_core_attn &&
           (can->recompute >> PLAIT_RECOMPUTE_SELECTIVE & 1u) &&
           limits_allow_text(options, "recompute", "selective");
}

static void add_recompute(const plait_search_options *options, plait_recompute choice,
                          plait_recompute *list, int *count)
{
    plait_degrees probe = plait_degrees_init();
    char text[96];

    probe.recompute = choice;
    plait_degrees_get(&probe, "recompute", text, sizeof text);
    if (limits_allow_text(options, "recompute", text))
        list[(*count)++] = choice;
}

/* full:N is a list of its own length in each group; a limit may leave one N. */
static void limit_full_layers(const plait_search_options *options, space_recompute *out)
{
    for (int i = 0; i < options->limits; i++) {
        if (!text_equal(options->limit[i].key, "recompute"))
            continue;
        int layers;
        const char *value = options->limit[i].value;
        if (text_starts_with(value, "full:") &&
            text_parse_int(value + strlen("full:"), 1, PLAIT_MAX_LAYERS, &layers))
            out->low = out->high = layers;
        else
            out->full_layers = false;
    }
}

static plait_status list_recompute(const plait_problem *problem,
                                   const plait_search_options *options, plait_arena *arena,
                                   space_recompute *out, plait_error *err)
{
    const plait_capabilities *can = &problem->runtime->can;
    plait_recompute *value =
        plait_arena_alloc(arena, PLAIT_RECOMPUTE_KINDS + PLAIT_MAX_MODULE_SETS, sizeof *value);
    int count = 0;

    if (!value)
        return plait_fail_nomem(err);
    for (int kind = 0; kind < PLAIT_RECOMPUTE_KINDS; kind++) {
        if (!(can->recompute >> kind & 1u))
            continue;
        if (kind != PLAIT_RECOMPUTE_MODULES) {
            add_recompute(options, (plait_recompute){.kind = (unsigned char)kind}, value, &count);
            continue;
        }
        for (int s = 0; s < can->module_sets; s++)
            if (modules_exist(problem->model, can->module_set[s]) &&
                !is_selective(options, can, can->module_set[s]))
                add_recompute(
                    options,
                    (plait_recompute){.kind = (unsigned char)kind, .modules = can->module_set[s]},
                    value, &count);
    }
    *out = (space_recompute){
        .count = count,
        .value = value,
        .full_layers = can->full_layers && (can->recompute >> PLAIT_RECOMPUTE_FULL & 1u),
        .low = 1,
        .high = PLAIT_MAX_LAYERS,
    };
    limit_full_layers(options, out);
    return PLAIT_OK;
}

// ---- splits --------------------------------------------------------------------------------

static int fullest_stage(const plait_model *model, const plait_degrees *d)
{
    int counts[PLAIT_MAX_LAYERS];
    int fullest = 0;

    if (!plait_split_layers(model, d, counts))
        return 0;
    for (int s = 0; s < d->pp; s++) {
        int layers = 0;
        for (int v = 0; v < d->vpp; v++)
            layers += counts[v * d->pp + s];
        fullest = layers > fullest ? layers : fullest;
    }
    return fullest;
}

static int recompute_choices(const space_recompute *r, int stage_layers)
{
    const int high = r->high < stage_layers - 1 ? r->high : stage_layers - 1;

    return r->count + (r->full_layers && high >= r->low ? high - r->low + 1 : 0);
}

/* A limit may name its own counts; otherwise the space has the pair that balances. */
static bool given_first_last(const plait_search_options *options, plait_split *out)
{
    plait_degrees probe = plait_degrees_init();

    for (int i = 0; i < options->limits; i++)
        if (text_equal(options->limit[i].key, "split") &&
            text_starts_with(options->limit[i].value, "first-last:") &&
            plait_degrees_set(&probe, "split", options->limit[i].value, NULL) == PLAIT_OK) {
            *out = probe.split;
            return true;
        }
    return false;
}

/* Splits that deal the same layers as `even` are left out. */
static bool split_wanted(const plan_space *space, plait_degrees *d)
{
    const plait_model *model = space->problem->model;
    const bool even = (space->problem->runtime->can.splits >> PLAIT_SPLIT_EVEN & 1u) &&
                      model->layers % (d->pp * d->vpp) == 0;
    char text[48];

    if (d->split.kind == PLAIT_SPLIT_FIRST_LAST) {
        const int middle = model->layers / d->pp;
        if (given_first_last(space->options, &d->split))
            return plan_stages_legal(space->problem, d);
        if (!split_first_last(model, d->pp, d->vpp, &d->split) ||
            (even && d->split.first == middle && d->split.last == middle))
            return false;
    } else if (even && d->split.kind != PLAIT_SPLIT_EVEN &&
               (d->pp * d->vpp == 1 || d->split.kind == PLAIT_SPLIT_SPREAD)) {
        return false;
    }
    return limits_allow_text(space->options, "split",
                             plait_degrees_get(d, "split", text, sizeof text)) &&
           plan_stages_legal(space->problem, d);
}

static int list_splits_of(const plan_space *space, plait_degrees d, space_split *out)
{
    const unsigned can = space->problem->runtime->can.splits;
    int count = 0;

    for (int kind = 0; kind < PLAIT_SPLITS; kind++) {
        d.split = (plait_split){.kind = (unsigned char)kind};
        if (!(can >> kind & 1u) || !split_wanted(space, &d))
            continue;
        out[count++] = (space_split){
            .split = d.split,
            .vpp = d.vpp,
            .choices =
                recompute_choices(&space->recompute, fullest_stage(space->problem->model, &d)),
        };
    }
    return count;
}

static plait_status list_splits(const plan_space *space, int pp, plait_arena *arena,
                                space_splits *out, plait_error *err)
{
    const int layers = space->problem->model->layers;
    const int limit = space->problem->runtime->can.max_vpp;
    const int max_vpp = pp == 1 ? 1 : layers / pp < limit ? layers / pp : limit;
    plait_degrees d = plait_degrees_init();
    space_split *list = plait_arena_alloc(arena, (size_t)max_vpp * PLAIT_SPLITS, sizeof *list);

    if (!list)
        return plait_fail_nomem(err);
    *out = (space_splits){.split = list};
    d.pp = pp;
    for (d.vpp = 1; d.vpp <= max_vpp; d.vpp++) {
        if (limits_allow(space->options, "vpp", d.vpp))
            out->count += list_splits_of(space, d, list + out->count);
        if (d.vpp == 1)
            out->plain = out->count;
    }
    for (int i = 0; i < out->count; i++)
        *(i < out->plain ? &out->plain_choices : &out->chunked_choices) += list[i].choices;
    return PLAIT_OK;
}

static plait_status list_all_splits(plan_space *space, plait_arena *arena, plait_error *err)
{
    const plait_problem *problem = space->problem;
    space_splits *splits = plait_arena_alloc(arena, (size_t)space->divisors.count, sizeof *splits);

    if (!splits)
        return plait_fail_nomem(err);
    for (int i = 0; i < space->divisors.count; i++) {
        const int pp = space->divisors.value[i];
        if (pp <= problem->model->layers && pp <= problem->runtime->can.max_pp &&
            limits_allow(space->options, "pp", pp))
            PLAIT_TRY(list_splits(space, pp, arena, &splits[i], err));
    }
    space->splits = splits;
    return PLAIT_OK;
}

// ---- rows ----------------------------------------------------------------------------------

/* Rows are counted first, then written: the same walk with and without a place to write. */
typedef struct row_walk {
    const plan_space *space;
    plait_degrees *row;
    int64_t count;
} row_walk;

static void walk_mbs(row_walk *walk, plait_degrees d)
{
    const plan_space *space = walk->space;

    if (!plan_layers_legal(space->problem, &d))
        return;
    for (int i = 0; i < space->microbatch.count; i++, walk->count++) {
        d.mbs = space->microbatch.value[i];
        if (walk->row)
            walk->row[walk->count] = d;
    }
}

static bool etp_allowed(const plan_space *space, int etp, int tp)
{
    if (etp != 1 && etp != tp && !(space->problem->runtime->can.etp && tp % etp == 0))
        return false;
    return limits_allow(space->options, "etp", etp);
}

static void walk_experts(row_walk *walk, plait_degrees d)
{
    const plan_space *space = walk->space;
    const plait_problem *problem = space->problem;

    if (!problem_has_experts(problem)) {
        d.etp = default_etp(problem, d.tp);
        if (limits_allow(space->options, "ep", 1) && limits_allow(space->options, "etp", d.etp))
            walk_mbs(walk, d);
        return;
    }
    for (int i = 0; i < space->divisors.count && space->divisors.value[i] <= d.tp; i++) {
        d.etp = space->divisors.value[i];
        if (!etp_allowed(space, d.etp, d.tp))
            continue;
        for (int j = 0; j < space->divisors.count; j++) {
            d.ep = space->divisors.value[j];
            if (d.ep > problem->runtime->can.max_ep || (int64_t)d.ep * d.etp > problem->job.gpus)
                break;
            if (limits_allow(space->options, "ep", d.ep))
                walk_mbs(walk, d);
        }
    }
}

/* Without context parallelism the exchange is only a word: the one that limits ask for. */
static unsigned char idle_cp_comm(const plan_space *space)
{
    const int usual = (int)space->problem->runtime->defaults.cp_comm;

    for (int comm = 0; comm < PLAIT_CP_COMMS; comm++)
        if (!limits_allow_text(space->options, "cp_comm", plait_cp_comm_name[usual]) &&
            limits_allow_text(space->options, "cp_comm", plait_cp_comm_name[comm]))
            return (unsigned char)comm;
    return (unsigned char)usual;
}

static void walk_context(row_walk *walk, plait_degrees d)
{
    const plan_space *space = walk->space;
    const plait_capabilities *can = &space->problem->runtime->can;

    for (int i = 0; i < space->divisors.count; i++) {
        d.cp = space->divisors.value[i];
        if (d.cp > can->max_cp || (int64_t)d.cp * d.tp > space->problem->job.gpus)
            break;
        if (!limits_allow(space->options, "cp", d.cp))
            continue;
        d.cp_comm = idle_cp_comm(space);
        if (d.cp == 1) {
            walk_experts(walk, d);
            continue;
        }
        for (int comm = 0; comm < PLAIT_CP_COMMS; comm++) {
            d.cp_comm = (unsigned char)comm;
            if ((can->cp_comm >> comm & 1u) &&
                limits_allow_text(space->options, "cp_comm", plait_cp_comm_name[comm]))
                walk_experts(walk, d);
        }
    }
}

static void walk_rows(row_walk *walk)
{
    const plan_space *space = walk->space;
    const plait_capabilities *can = &space->problem->runtime->can;
    plait_degrees d = plait_degrees_init();

    for (int i = 0; i < space->divisors.count; i++) {
        d.tp = space->divisors.value[i];
        if (d.tp > can->max_tp)
            break;
        if (!limits_allow(space->options, "tp", d.tp))
            continue;
        for (int sp = 1; sp >= 0; sp--) {
            const bool possible = d.tp == 1 ? sp == 0 : sp == can->sp || can->sp_optional;
            d.sp = sp != 0;
            if (possible && limits_allow(space->options, "sp", sp))
                walk_context(walk, d);
        }
    }
}

static plait_status list_rows(plan_space *space, plait_arena *arena, plait_error *err)
{
    row_walk walk = {.space = space};

    walk_rows(&walk);
    plait_degrees *rows = plait_arena_alloc(arena, (size_t)walk.count + 1, sizeof *rows);
    if (!rows)
        return plait_fail_nomem(err);
    walk = (row_walk){.space = space, .row = rows};
    walk_rows(&walk);
    space->rows = walk.count;
    space->row = rows;
    return PLAIT_OK;
}

/* The divisors that the limits of a key allow. */
static plait_status list_allowed(const plait_search_options *options, int of, const char *key,
                                 plait_arena *arena, space_list *out, plait_error *err)
{
    space_list all;
    int count = 0;

    PLAIT_TRY(list_divisors(of, arena, &all, err));
    int *value = plait_arena_alloc(arena, (size_t)all.count, sizeof *value);
    if (!value)
        return plait_fail_nomem(err);
    for (int i = 0; i < all.count; i++)
        if (limits_allow(options, key, all.value[i]))
            value[count++] = all.value[i];
    *out = (space_list){count, value};
    return PLAIT_OK;
}

plait_status space_make(const plait_problem *problem, const plait_search_options *options,
                        plait_arena *arena, plan_space *space, plait_error *err)
{
    const plait_capabilities *can = &problem->runtime->can;
    unsigned schedules = 0;

    *space = (plan_space){.problem = problem, .options = options};
    for (int s = 0; s < PLAIT_SCHEDULES; s++)
        if (plait_schedule_priced((plait_schedule)s))
            schedules |= can->schedules & 1u << s;
    PLAIT_TRY(list_divisors(problem->job.gpus, arena, &space->divisors, err));
    PLAIT_TRY(list_allowed(options, problem->job.gbs, "mbs", arena, &space->microbatch, err));
    PLAIT_TRY(list_mask(options, can->zero, "zero", NULL, arena, &space->zero, err));
    PLAIT_TRY(list_mask(options, can->grad_sync, "grad_sync", plait_grad_sync_name, arena,
                        &space->grad_sync, err));
    PLAIT_TRY(list_mask(options, schedules, "schedule", plait_schedule_name, arena,
                        &space->schedules, err));
    PLAIT_TRY(
        list_mask(options, can->orders, "order", plait_order_name, arena, &space->orders, err));
    PLAIT_TRY(list_recompute(problem, options, arena, &space->recompute, err));
    PLAIT_TRY(list_all_splits(space, arena, err));
    return list_rows(space, arena, err);
}

// ---- pipelines -----------------------------------------------------------------------------

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
    return d->dp * d->cp > 1 || problem_has_experts(space->problem) || i == 0;
}

/* Between replicas, or between the two ends that hold a tied embedding. */
static bool gradients_travel(const plait_problem *problem, const plait_degrees *d)
{
    return d->dp * d->cp > 1 || problem_has_experts(problem) || (problem->model->tied && d->pp > 1);
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

plait_recompute space_recompute_choice(const plan_space *space, int choice)
{
    const space_recompute *r = &space->recompute;

    if (choice < r->count)
        return r->value[choice];
    return (plait_recompute){.kind = PLAIT_RECOMPUTE_FULL,
                             .layers = (short)(r->low + choice - r->count)};
}

// ---- why there is no point -----------------------------------------------------------------

/* The lowest value that a limit leaves, as text. */
static const char *simplest(const plait_limit *limit, char value[TEXT_NUMBER_SIZE])
{
    const bool from_zero = text_equal(limit->key, "zero") || text_equal(limit->key, "sp");

    if (*limit->value)
        return limit->value;
    return text_number(limit->low > 0 || from_zero ? limit->low : 1, value);
}

void space_explain_empty(const plan_space *space, char *why, size_t size)
{
    const plait_problem *problem = space->problem;
    const plait_search_options *options = space->options;
    plait_degrees d = plait_degrees_init();
    char value[TEXT_NUMBER_SIZE];

    d.zero = (unsigned char)problem->runtime->defaults.zero;
    d.cp_comm = (unsigned char)problem->runtime->defaults.cp_comm;
    d.grad_sync = (unsigned char)problem->runtime->defaults.grad_sync;
    for (int i = 0; i < options->limits; i++)
        if (plait_degrees_set(&d, options->limit[i].key, simplest(&options->limit[i], value),
                              NULL) != PLAIT_OK)
            return;
    if (d.tp > 1 && limits_allow(options, "sp", 1))
        d.sp = problem->runtime->can.sp;
    if (limits_allow(options, "etp", default_etp(problem, d.tp)))
        d.etp = default_etp(problem, d.tp);
    const int dp = plait_degrees_dp(problem->job.gpus, d.tp, d.pp, d.cp);
    if (limits_allow(options, "dp", dp))
        d.dp = dp > 0 ? dp : 1;
    d.shard_group = d.dp * d.cp;
    if (plait_plan_check(problem, &d, why, size) != PLAIT_INVALID)
        snprintf(why, size, "no plan keeps all limits at once");
}
