/* space.c - the plan space: rows, their groups, their points */
#include "space.h"

#include <stdio.h>
#include <string.h>

#include "plait/units.h"
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
            if (modules_exist(problem->model, can->module_set[s]))
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

// ---- rows ----------------------------------------------------------------------------------

/* Rows are counted first, then written: the same walk with and without a place to write. */
typedef struct row_walk {
    const plan_space *space;
    plait_degrees *row;
    int64_t count;
} row_walk;

static bool heads_allow(const plait_problem *problem, int tp)
{
    for (int k = 0; k < problem->model->kinds; k++) {
        const plait_layer *layer = &problem->model->kind[k];
        if ((layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.heads % tp != 0) ||
            (layer->mixer == PLAIT_MIXER_MLA && layer->mla.heads % tp != 0))
            return false;
    }
    return true;
}

/* Some pipeline depth must leave a batch that divides. */
static bool batch_allows(const plan_space *space, const plait_degrees *d)
{
    const plait_job *job = &space->problem->job;

    for (int i = 0; i < space->divisors.count; i++) {
        const int dp = plait_degrees_dp(job->gpus, d->tp, space->divisors.value[i], d->cp);
        if (dp > 0 && job->gbs % ((int64_t)dp * d->mbs) == 0)
            return true;
    }
    return false;
}

static void walk_mbs(row_walk *walk, plait_degrees d)
{
    const plait_search_options *options = walk->space->options;
    const int gbs = walk->space->problem->job.gbs;

    for (d.mbs = 1; d.mbs <= gbs; d.mbs++) {
        if (gbs % d.mbs != 0 || !limits_allow(options, "mbs", d.mbs) ||
            !batch_allows(walk->space, &d))
            continue;
        if (walk->row)
            walk->row[walk->count] = d;
        walk->count++;
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
    const plait_capabilities *can = &problem->runtime->can;

    if (!problem_has_experts(problem)) {
        d.etp = default_etp(problem, d.tp);
        if (limits_allow(space->options, "ep", 1) && limits_allow(space->options, "etp", d.etp))
            walk_mbs(walk, d);
        return;
    }
    for (int i = 0; i < space->divisors.count; i++) {
        d.etp = space->divisors.value[i];
        if (d.etp > d.tp)
            break;
        if (!etp_allowed(space, d.etp, d.tp))
            continue;
        for (int j = 0; j < space->divisors.count; j++) {
            d.ep = space->divisors.value[j];
            if (d.ep > can->max_ep || (int64_t)d.ep * d.etp > problem->job.gpus)
                break;
            if (limits_allow(space->options, "ep", d.ep))
                walk_mbs(walk, d);
        }
    }
}

static void walk_context(row_walk *walk, plait_degrees d)
{
    const plan_space *space = walk->space;
    const plait_capabilities *can = &space->problem->runtime->can;

    for (int i = 0; i < space->divisors.count; i++) {
        d.cp = space->divisors.value[i];
        if (d.cp > can->max_cp || (int64_t)d.cp * d.tp > space->problem->job.gpus)
            break;
        if (!limits_allow(space->options, "cp", d.cp) ||
            space->problem->job.seq % (d.cp > 1 ? 2 * d.cp : 1) != 0)
            continue;
        for (int comm = 0; comm < (d.cp > 1 ? PLAIT_CP_COMMS : 1); comm++) {
            d.cp_comm =
                (unsigned char)(d.cp > 1 ? comm : (int)space->problem->runtime->defaults.cp_comm);
            if (d.cp > 1 &&
                (!(can->cp_comm >> comm & 1u) ||
                 !limits_allow_text(space->options, "cp_comm", plait_cp_comm_name[comm])))
                continue;
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
        if (!limits_allow(space->options, "tp", d.tp) || !heads_allow(space->problem, d.tp))
            continue;
        for (int sp = 1; sp >= 0; sp--) {
            const bool possible = d.tp == 1 ? sp == 0 : sp == can->sp || can->sp_optional;
            d.sp = sp != 0;
            if (possible && limits_allow(space->options, "sp", sp))
                walk_context(walk, d);
        }
    }
}

plait_status space_make(const plait_problem *problem, const plait_search_options *options,
                        plait_arena *arena, plan_space *space, plait_error *err)
{
    const plait_capabilities *can = &problem->runtime->can;
    unsigned schedules = 0;

    *space = (plan_space){.problem = problem, .options = options};
    for (int s = 0; s < PLAIT_SCHEDULES; s++)
        if (s != PLAIT_INTERLEAVED && plait_schedule_priced((plait_schedule)s))
            schedules |= can->schedules & 1u << s;
    space->interleaved =
        (can->schedules >> PLAIT_INTERLEAVED & 1u) &&
        limits_allow_text(options, "schedule", plait_schedule_name[PLAIT_INTERLEAVED]);
    PLAIT_TRY(list_divisors(problem->job.gpus, arena, &space->divisors, err));
    PLAIT_TRY(list_mask(options, can->zero, "zero", NULL, arena, &space->zero, err));
    PLAIT_TRY(list_mask(options, can->grad_sync, "grad_sync", plait_grad_sync_name, arena,
                        &space->grad_sync, err));
    PLAIT_TRY(list_mask(options, schedules, "schedule", plait_schedule_name, arena,
                        &space->schedules, err));
    PLAIT_TRY(
        list_mask(options, can->orders, "order", plait_order_name, arena, &space->orders, err));
    PLAIT_TRY(list_recompute(problem, options, arena, &space->recompute, err));

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

// ---- groups --------------------------------------------------------------------------------

typedef struct group_walk {
    const plan_space *space;
    plait_arena *arena;
    space_group *groups;
    int count, room;
    bool failed;
} group_walk;

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

static void add_group(group_walk *walk, plait_degrees d)
{
    if (plait_plan_check(walk->space->problem, &d, NULL, 0) == PLAIT_INVALID)
        return;
    if (walk->count == walk->room) {
        const int room = walk->room ? 2 * walk->room : 64;
        space_group *more = plait_arena_alloc(walk->arena, (size_t)room, sizeof *more);
        if (!more) {
            walk->failed = true;
            return;
        }
        if (walk->count > 0)
            memcpy(more, walk->groups, (size_t)walk->count * sizeof *more);
        walk->groups = more;
        walk->room = room;
    }
    walk->groups[walk->count++] = (space_group){d, fullest_stage(walk->space->problem->model, &d)};
}

/* Both orders are one when stages or replicas are alone. */
static void walk_orders(group_walk *walk, plait_degrees d)
{
    const bool alike = d.pp == 1 || d.dp == 1;

    for (int i = 0; i < walk->space->orders.count; i++) {
        d.order = (unsigned char)walk->space->orders.value[i];
        add_group(walk, d);
        if (alike)
            break;
    }
}

static bool split_named(const plan_space *space, const plait_degrees *d)
{
    char text[48];

    return limits_allow_text(space->options, "split",
                             plait_degrees_get(d, "split", text, sizeof text));
}

/* One split a way of counting; those that deal the same layers as `even` are left out. */
static void walk_splits(group_walk *walk, plait_degrees d)
{
    const plan_space *space = walk->space;
    const plait_model *model = space->problem->model;
    const bool divides = model->layers % (d.pp * d.vpp) == 0;
    const unsigned can = space->problem->runtime->can.splits;
    const bool even = can >> PLAIT_SPLIT_EVEN & 1u;

    for (int i = 0; i < PLAIT_SPLITS; i++) {
        if (!(can >> i & 1u))
            continue;
        d.split = (plait_split){.kind = (unsigned char)i};
        if (d.pp == 1 && d.vpp == 1 && even && i != PLAIT_SPLIT_EVEN)
            continue;
        if (i == PLAIT_SPLIT_SPREAD && divides && even)
            continue;
        if (i == PLAIT_SPLIT_FIRST_LAST) {
            const int middle = model->layers / d.pp;
            if (!split_first_last(model, d.pp, d.vpp, &d.split) ||
                (divides && even && d.split.first == middle && d.split.last == middle))
                continue;
        }
        if (split_named(space, &d))
            walk_orders(walk, d);
    }
}

static void walk_schedules(group_walk *walk, plait_degrees d)
{
    const plan_space *space = walk->space;
    const int layers = space->problem->model->layers;
    const int max_vpp = space->problem->runtime->can.max_vpp;

    d.vpp = 1;
    if (d.pp == 1) {
        d.schedule = PLAIT_1F1B;
        if (limits_allow(space->options, "vpp", 1) &&
            limits_allow_text(space->options, "schedule", plait_schedule_name[PLAIT_1F1B]))
            walk_splits(walk, d);
        return;
    }
    for (int i = 0; i < space->schedules.count && limits_allow(space->options, "vpp", 1); i++) {
        d.schedule = (unsigned char)space->schedules.value[i];
        walk_splits(walk, d);
    }
    d.schedule = PLAIT_INTERLEAVED;
    for (d.vpp = 2; space->interleaved && d.vpp <= max_vpp && d.vpp * d.pp <= layers; d.vpp++)
        if (limits_allow(space->options, "vpp", d.vpp))
            walk_splits(walk, d);
}

int space_groups(const plan_space *space, int64_t row, plait_arena *arena,
                 const space_group **groups)
{
    const plait_problem *problem = space->problem;
    group_walk walk = {.space = space, .arena = arena};
    plait_degrees d = space->row[row];

    for (int i = 0; i < space->divisors.count; i++) {
        d.pp = space->divisors.value[i];
        if (d.pp > problem->model->layers || d.pp > problem->runtime->can.max_pp)
            break;
        d.dp = plait_degrees_dp(problem->job.gpus, d.tp, d.pp, d.cp);
        if (d.dp == 0 || plait_degrees_microbatches(&d, problem->job.gbs) == 0 ||
            !limits_allow(space->options, "pp", d.pp) || !limits_allow(space->options, "dp", d.dp))
            continue;
        d.shard_group = d.dp * d.cp;
        d.zero = (unsigned char)problem->runtime->defaults.zero;
        d.grad_sync = (unsigned char)problem->runtime->defaults.grad_sync;
        walk_schedules(&walk, d);
    }
    *groups = walk.groups;
    return walk.failed ? -1 : walk.count;
}

// ---- points --------------------------------------------------------------------------------

/* Without replicas all ZeRO stages are one. */
static bool zero_matters(const plan_space *space, const plait_degrees *d, int i)
{
    return d->dp * d->cp > 1 || problem_has_experts(space->problem) || i == 0;
}

int space_shards(const plan_space *space, const space_group *group, plait_arena *arena,
                 const plait_degrees **shards)
{
    const plait_degrees *base = &group->degrees;
    const int replicas = base->dp * base->cp;
    const size_t room =
        (size_t)(space->zero.count * space->divisors.count * space->grad_sync.count) + 1;
    plait_degrees *list = plait_arena_alloc(arena, room, sizeof *list);
    int count = 0;

    if (!list)
        return -1;
    for (int z = 0; z < space->zero.count; z++) {
        plait_degrees d = *base;
        d.zero = (unsigned char)space->zero.value[z];
        if (!zero_matters(space, base, z))
            continue;
        for (int i = 0; i < space->divisors.count; i++) {
            d.shard_group = space->divisors.value[i];
            if (d.shard_group > replicas)
                break;
            if (replicas % d.shard_group != 0 || (d.shard_group == 1 && replicas > 1) ||
                !limits_allow(space->options, "shard_group", d.shard_group) ||
                plait_plan_check(space->problem, &d, NULL, 0) == PLAIT_INVALID)
                continue;
            for (int g = 0; g < space->grad_sync.count; g++) {
                d.grad_sync = (unsigned char)space->grad_sync.value[g];
                list[count++] = d;
            }
        }
    }
    *shards = list;
    return count;
}

int space_recompute_choices(const plan_space *space, const space_group *group)
{
    const space_recompute *r = &space->recompute;
    const int high = r->high < group->stage_layers - 1 ? r->high : group->stage_layers - 1;

    return r->count + (r->full_layers && high >= r->low ? high - r->low + 1 : 0);
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
