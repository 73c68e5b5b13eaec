/* setup_degrees.c - the plan of a row */
#include <stdint.h>

#include "plait/runtime.h"
#include "setup.h"
#include "split.h"

static int or_one(int degree)
{
    return degree > 0 ? degree : 1;
}

static plait_status need(int number, const char *title, plait_error *err)
{
    if (number > 0)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, title, "expected a number, found nothing");
}

static int first_bit(unsigned mask, int otherwise)
{
    for (int i = 0; i < 31; i++)
        if (mask >> i & 1U)
            return i;
    return otherwise;
}

/* ---- experts, shards ---- */

/* Experts are cut as the rest of the layer is, unless the notes say otherwise. */
static plait_status set_expert_tensor(const plait_run *run, plait_degrees *d, plait_error *err)
{
    char text[24];

    d->etp = d->tp;
    if (run->experts <= 1 || setup_value(run, "etp", text, sizeof text) == NULL)
        return PLAIT_OK;
    if (!text_parse_int(text, 1, 1 << 20, &d->etp))
        return plait_fail(err, PLAIT_ERROR_RANGE, "notes", "expected etp=N, found \"etp=%.20s\"",
                          text);
    return PLAIT_OK;
}

static void set_shards(const setup *at, const plait_runtime *runtime, plait_degrees *d)
{
    const plait_run *const run = at->run;

    const int64_t replicas = (int64_t)d->dp * d->cp;

    d->zero = (unsigned char)(run->zero >= 0 ? run->zero : runtime->defaults.zero);
    d->shard_group = run->shard_group > 0 && d->zero > 0 ? run->shard_group
                     : replicas < INT32_MAX              ? (int)replicas
                                                         : INT32_MAX;
}

/* ---- recompute, schedule ---- */

static plait_status set_recompute(setup *at, plait_degrees *d, plait_error *err)
{
    if (at->run->recompute[0] != '\0')
        return plait_degrees_set(d, "recompute", at->run->recompute, err);
    setup_note(at, "recompute not published: none");
    return PLAIT_OK;
}

static void set_habits(const plait_runtime *runtime, plait_degrees *d)
{
    const bool has_1f1b = runtime->can.schedules >> PLAIT_1F1B & 1U;

    d->cp_comm = (unsigned char)runtime->defaults.cp_comm;
    d->grad_sync = (unsigned char)runtime->defaults.grad_sync;
    d->order = (unsigned char)first_bit(runtime->can.orders, PLAIT_ORDER_TP_CP_DP_PP);
    d->schedule =
        (unsigned char)(d->vpp > 1               ? PLAIT_INTERLEAVED
                        : d->pp == 1 || has_1f1b ? PLAIT_1F1B
                                                 : first_bit(runtime->can.schedules, PLAIT_1F1B));
}

/* ---- layers to stages ---- */

static bool split_works(const plait_model *model, plait_degrees *d, plait_split_kind kind)
{
    int counts[PLAIT_MAX_LAYERS];

    if ((int64_t)d->pp * d->vpp > PLAIT_MAX_LAYERS)
        return false;
    if (kind == PLAIT_SPLIT_FIRST_LAST)
        return split_first_last(model, d->pp, d->vpp, &d->split) &&
               plait_split_layers(model, d, counts);
    d->split = (plait_split){.kind = (unsigned char)kind};
    return plait_split_layers(model, d, counts);
}

/*
 * Software that balances by cost does so always; others split evenly where that divides, and then
 * count the embedding and the head as layers. Where nothing that the software has works, the row
 * ran all the same: embedding and head counted, else as even as whole layers allow.
 */
static void choose_split(setup *at, const plait_problem *problem, plait_degrees *d)
{
    static const plait_split_kind order[] = {
        PLAIT_SPLIT_COST, PLAIT_SPLIT_EVEN,       PLAIT_SPLIT_BOTH,  PLAIT_SPLIT_EMBEDDING,
        PLAIT_SPLIT_LOSS, PLAIT_SPLIT_FIRST_LAST, PLAIT_SPLIT_SPREAD};
    static const plait_split_kind last_resort[] = {PLAIT_SPLIT_BOTH, PLAIT_SPLIT_SPREAD};
    const unsigned can = problem->runtime->can.splits;

    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if ((can >> order[i] & 1U) && split_works(problem->model, d, order[i]))
            return;
    for (size_t i = 0; i < sizeof last_resort / sizeof *last_resort; i++)
        if (split_works(problem->model, d, last_resort[i])) {
            setup_note(at, "%d layers over %d chunks: split %s", problem->model->layers,
                       d->pp * d->vpp, plait_split_name[last_resort[i]]);
            return;
        }
}

plait_status setup_degrees(setup *at, const plait_problem *problem, plait_degrees *out,
                           plait_error *err)
{
    const plait_run *const run = at->run;
    plait_degrees d = plait_degrees_init();

    PLAIT_TRY(need(run->tp, "tp", err));
    PLAIT_TRY(need(run->pp, "pp", err));
    PLAIT_TRY(need(run->mbs, "mbs", err));
    d.tp = run->tp;
    d.pp = run->pp;
    d.cp = or_one(run->cp);
    d.vpp = or_one(run->vpp);
    d.ep = or_one(run->ep);
    d.mbs = run->mbs;
    d.dp = run->dp > 0 ? run->dp : or_one(plait_degrees_dp(run->gpus, d.tp, d.pp, d.cp));
    d.sp = d.tp > 1 && (run->sp >= 0 ? run->sp == 1 : problem->runtime->can.sp);
    PLAIT_TRY(set_expert_tensor(run, &d, err));
    set_shards(at, problem->runtime, &d);
    PLAIT_TRY(set_recompute(at, &d, err));
    set_habits(problem->runtime, &d);
    choose_split(at, problem, &d);
    *out = d;
    return PLAIT_OK;
}
