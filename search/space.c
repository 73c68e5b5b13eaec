/* space.c - the plan space: its rows, and why it may have none */
#include "space.h"

#include <stdio.h>

#include "plan_check.h"
#include "space_private.h"
#include "text.h"
#include "traits.h"

/* torchtitan cuts experts like other layers until they are spread over ranks. */
int default_etp(const plait_problem *problem, const plait_degrees *d)
{
    switch (problem->runtime->rules) {
    case PLAIT_RULES_MEGATRON:
        return d->tp;
    case PLAIT_RULES_TORCHTITAN:
        return model_has_experts(problem->model) && d->ep == 1 ? d->tp : 1;
    default:
        return 1;
    }
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

    if (!model_has_experts(problem->model)) {
        d.etp = default_etp(problem, &d);
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

plait_status space_make(const plait_problem *problem, const plait_search_options *options,
                        plait_arena *arena, plan_space *space, plait_error *err)
{
    *space = (plan_space){.problem = problem, .options = options};
    PLAIT_TRY(space_list_values(space, arena, err));
    PLAIT_TRY(space_list_splits(space, arena, err));
    return list_rows(space, arena, err);
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
    if (limits_allow(options, "etp", default_etp(problem, &d)))
        d.etp = default_etp(problem, &d);
    const int dp = plait_degrees_dp(problem->job.gpus, d.tp, d.pp, d.cp);
    if (limits_allow(options, "dp", dp))
        d.dp = dp > 0 ? dp : 1;
    d.shard_group = d.dp * d.cp;
    if (plait_plan_check(problem, &d, why, size) != PLAIT_INVALID)
        snprintf(why, size, "no plan keeps all limits at once");
}
