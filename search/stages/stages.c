/*
 * stages.c - S.23: every stage by itself, then their step
 *
 *     question     choices of the runtime, capacity                         stages_begin
 *     stage        the program of one stage, for each set that it offloads  choose_layers, choose_one
 *     step         what the stages take together, and what none can undercut
 */
#include "stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pack.h"
#include "plait/units.h"
#include "plan_check.h"
#include "space.h"

plait_status stages_begin(const plait_problem *problem, const plait_search_options *options,
                          plait_table *table, plait_arena *arena, stages_question *out,
                          plait_error *err)
{
    space_recompute list;

    PLAIT_TRY(space_list_recompute(problem, options, arena, &list, err));
    *out = (stages_question){
        .problem = problem,
        .table = table,
        .choices = list.count,
        .choice = list.value,
        .capacity_bytes = plait_capacity_bytes(problem, problem->risk),
    };
    return PLAIT_OK;
}

// ---- one stage -----------------------------------------------------------------------------

/* All that choosing for one stage looks at. */
typedef struct stage_work {
    const stages_question *question;
    const plait_degrees *degrees;
    int kinds;
    plait_layer_cost *cost; /* [kinds][choices]; infinite where the point may not have it */
    double room_bytes;      /* for activations of layers and what they rebuild */
    int groups;             /* kinds that the stage has layers of */
    int kind[PLAIT_MAX_LAYER_KINDS];
    int layers[PLAIT_MAX_LAYER_KINDS];
    double need_bytes; /* the least that any choice takes of the room */
    long nodes;
    bool proven;
} stage_work;

static double microbatch_s(const plait_layer_cost *cost)
{
    return cost->forward_s + cost->backward_s;
}

static const plait_layer_cost *cost_at(const stage_work *work, int kind, int c)
{
    return &work->cost[kind * work->question->choices + c];
}

/* Does a choice go with a stage that offloads this set? A layer that is run again whole always does. */
static bool goes_with(const plait_choice *choice, unsigned char set)
{
    return choice->offload_acts == set || choice->recompute.kind == PLAIT_RECOMPUTE_FULL;
}

static void begin_stage(stage_work *work, const plait_stage_frame *frame)
{
    work->groups = 0;
    work->need_bytes = HUGE_VAL;
    work->room_bytes =
        (work->question->capacity_bytes * (1.0 - 1e-12) - frame->bytes) / frame->scale;
    for (int k = 0; k < work->kinds; k++)
        if (frame->layers[k] > 0) {
            work->kind[work->groups] = k;
            work->layers[work->groups++] = frame->layers[k];
        }
}

/* Takes the counts of a choice for the stage; its time is what they add up to. */
static void take_counts(const stage_work *work, unsigned char set, const int *count,
                        stages_stage *out)
{
    const int choices = work->question->choices;
    double saved_bytes = 0.0, live_bytes = 0.0;

    out->time = out->frame.ends;
    out->count = count;
    out->offload_acts = set;
    for (int i = 0; i < work->kinds * choices; i++) {
        const plait_layer_cost *const one = &work->cost[i];
        if (count[i] == 0)
            continue;
        out->time.forward_s += count[i] * one->forward_s;
        out->time.backward_s += count[i] * one->backward_s;
        out->time.weight_s += count[i] * one->weight_s;
        saved_bytes += count[i] * one->saved_bytes;
        live_bytes = fmax(live_bytes, one->live_bytes);
    }
    out->peak_bytes = plait_frame_peak(&out->frame, saved_bytes, live_bytes);
}

/* Each layer its own choice, the stage one set: S.21. */
static plait_status pack_under(stage_work *work, unsigned char set, plait_arena *arena,
                               pack_result *out, plait_error *err, const stages_stage *stage)
{
    const int choices = work->question->choices;
    pack_option *const option =
        plait_arena_alloc(arena, (size_t)(work->groups * choices) + 1, sizeof *option);

    if (option == NULL)
        return plait_fail_nomem(err);
    for (int g = 0; g < work->groups; g++)
        for (int c = 0; c < choices; c++) {
            const plait_layer_cost *const one = cost_at(work, work->kind[g], c);
            const bool may = goes_with(&work->question->choice[c], set);
            option[g * choices + c] =
                (pack_option){microbatch_s(one), stage->frame.in_flight * one->saved_bytes,
                              may && one->forward_s < HUGE_VAL ? one->live_bytes : HUGE_VAL};
        }
    const pack_problem problem = {
        .groups = work->groups,
        .layers = work->layers,
        .options = choices,
        .option = option,
        .room_bytes = work->room_bytes,
        .live_bytes = stage->frame.live_bytes,
        .nodes = work->question->nodes,
    };
    return pack_solve(&problem, arena, out, err);
}

/* The fastest over the sets that the stage may offload. */
static plait_status choose_layers(stage_work *work, unsigned sets, plait_arena *arena,
                                  stages_stage *out, bool *fits, plait_error *err)
{
    double best_s = HUGE_VAL;

    for (unsigned char set = 0; set < PLAIT_OFFLOAD_SETS; set++) {
        pack_result packed;

        if (!(sets >> set & 1u))
            continue;
        PLAIT_TRY(pack_under(work, set, arena, &packed, err, out));
        work->need_bytes = fmin(work->need_bytes, packed.need_bytes);
        work->nodes += packed.nodes;
        work->proven = work->proven && packed.proven;
        if (packed.time_s >= best_s)
            continue;
        best_s = packed.time_s;
        take_counts(work, set, packed.count, out);
    }
    *fits = best_s < HUGE_VAL;
    return PLAIT_OK;
}

// ---- one choice a stage --------------------------------------------------------------------

/* A stage that has one choice: of `full` perhaps only `leading` layers of each chunk. */
typedef struct stage_choice {
    int choice;
    int leading; /* -1: all layers */
    int other;   /* of the layers behind */
} stage_choice;

/* How many of each kind are among the first `leading` layers of the stage's chunks, or all. */
static void count_leading(const stage_work *work, const plait_chunk *chunk, int chunks,
                          const stage_choice *one, int *count)
{
    const unsigned char *const kind = work->question->problem->model->layer_kind;
    const int choices = work->question->choices;

    memset(count, 0, (size_t)(work->kinds * choices) * sizeof *count);
    for (int v = 0; v < chunks; v++)
        for (int i = chunk[v].first; i < chunk[v].last; i++) {
            const bool leads = one->leading < 0 || i - chunk[v].first < one->leading;
            count[kind[i] * choices + (leads ? one->choice : one->other)]++;
        }
}

/* Is it legal, and shorter than what the stage has? Then it takes its place. */
static void try_choice(stage_work *work, unsigned char set, const int *count, stages_stage *best,
                       bool *fits, int *kept)
{
    const size_t all = (size_t)(work->kinds * work->question->choices);
    stages_stage next = *best;

    for (size_t i = 0; i < all; i++)
        if (count[i] > 0 && work->cost[i].forward_s == HUGE_VAL)
            return;
    take_counts(work, set, count, &next);
    work->nodes++;
    work->need_bytes =
        fmin(work->need_bytes, (next.peak_bytes - next.frame.bytes) / next.frame.scale);
    if (next.peak_bytes > work->question->capacity_bytes * (1.0 - 1e-12) ||
        (*fits && next.time.forward_s + next.time.backward_s >=
                      best->time.forward_s + best->time.backward_s))
        return;
    *fits = true;
    memcpy(kept, count, all * sizeof *kept);
    *best = next;
    best->count = kept;
}

static int find_choice(const stages_question *question, plait_recompute_kind kind,
                       unsigned char set)
{
    for (int c = 0; c < question->choices; c++)
        if (question->choice[c].recompute.kind == kind && question->choice[c].offload_acts == set)
            return c;
    return -1;
}

/* Every choice for all layers, and every number of leading layers that are run again whole. */
static plait_status choose_one(stage_work *work, unsigned sets, const plait_chunk *chunk,
                               int chunks, plait_arena *arena, stages_stage *out, bool *fits,
                               plait_error *err)
{
    const stages_question *const q = work->question;
    const int full = find_choice(q, PLAIT_RECOMPUTE_FULL, 0);
    const size_t all = (size_t)(work->kinds * q->choices);
    int *const kept = plait_arena_alloc(arena, all, sizeof *kept);
    int *const count = plait_arena_alloc(arena, all, sizeof *count);
    int depth = 0;

    if (kept == NULL || count == NULL)
        return plait_fail_nomem(err);
    for (int v = 0; v < chunks; v++)
        depth = chunk[v].last - chunk[v].first > depth ? chunk[v].last - chunk[v].first : depth;
    *fits = false;
    for (int c = 0; c < q->choices; c++) {
        const stage_choice one = {c, -1, c};
        if (!(sets >> q->choice[c].offload_acts & 1u))
            continue;
        count_leading(work, chunk, chunks, &one, count);
        try_choice(work, q->choice[c].offload_acts, count, out, fits, kept);
    }
    for (unsigned char set = 0; set < PLAIT_OFFLOAD_SETS; set++) {
        const int none = find_choice(q, PLAIT_RECOMPUTE_NONE, set);
        const bool may = (sets >> set & 1u) && q->problem->runtime->can.full_layers;
        for (int n = 1; n < depth && may && full >= 0 && none >= 0; n++) {
            count_leading(work, chunk, chunks, &(stage_choice){full, n, none}, count);
            try_choice(work, set, count, out, fits, kept);
        }
    }
    return PLAIT_OK;
}

// ---- all stages ----------------------------------------------------------------------------

/* What a layer of each kind takes with each choice that the point may have. */
static plait_status fill_costs(stage_work *work, plait_arena *arena, plait_error *err)
{
    const stages_question *const q = work->question;
    const plait_layer_cost never = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};

    work->cost = plait_arena_alloc(arena, (size_t)(work->kinds * q->choices), sizeof *work->cost);
    if (work->cost == NULL)
        return plait_fail_nomem(err);
    for (int c = 0; c < q->choices; c++) {
        plait_degrees probe = *work->degrees;
        probe.recompute = q->choice[c].recompute;
        probe.offload_acts = q->choice[c].offload_acts;
        const bool may = plan_recompute_legal(q->problem, &probe, &nobody_asks);
        for (int k = 0; k < work->kinds; k++)
            work->cost[k * q->choices + c] =
                may ? plait_layer_cost_of(q->table, work->degrees, k, q->choice[c]) : never;
    }
    return PLAIT_OK;
}

/* Sets that a stage may offload: any that is among the choices, or the point's. */
static unsigned sets_of(const stages_question *q, const plait_degrees *d)
{
    unsigned sets = 0;

    if (q->problem->runtime->can.offload_by < PLAIT_BY_STAGE)
        return 1u << d->offload_acts;
    for (int c = 0; c < q->choices; c++)
        sets |= 1u << q->choice[c].offload_acts;
    return sets;
}

/* The chunks of a rank, in the order in which it takes turns at them. */
static void chunks_of_rank(const plait_degrees *d, const plait_chunk *all, int rank,
                           plait_chunk *out)
{
    for (int v = 0; v < d->vpp; v++)
        out[v] = all[plait_schedule_chunk((plait_schedule)d->schedule, d->pp, rank, v)];
}

static plait_status choose_stage(stage_work *work, int s, const plait_chunk *all,
                                 plait_chunk *chunk, plait_arena *arena, stages_stage *out,
                                 bool *fits, plait_error *err)
{
    const stages_question *const q = work->question;
    const plait_degrees *const d = work->degrees;
    const unsigned sets = sets_of(q, d);

    chunks_of_rank(d, all, s, chunk);
    out->frame = plait_stage_frame_of(q->table, d, s, chunk, d->vpp, d);
    begin_stage(work, &out->frame);
    return q->problem->runtime->can.recompute_by == PLAIT_BY_LAYER
               ? choose_layers(work, sets, arena, out, fits, err)
               : choose_one(work, sets, chunk, d->vpp, arena, out, fits, err);
}

// ---- the step, and what bounds it ----------------------------------------------------------

/* A step without reductions and gathers, with these times. */
static double bare_step_s(const stages_question *q, const plait_degrees *d,
                          const stages_stage *stage, const plait_chunk_time *time,
                          plait_stage_frame *room)
{
    for (int s = 0; s < d->pp; s++) {
        room[s] = stage[s].frame;
        room[s].reduce_s = room[s].gather_s = room[s].down_s = 0.0;
    }
    return plait_frames_price(q->table, d, room, time).step_s;
}

static double full_step_s(const stages_question *q, const plait_degrees *d,
                          const stages_stage *stage, const plait_chunk_time *time,
                          plait_stage_frame *room, bool *exact)
{
    for (int s = 0; s < d->pp; s++)
        room[s] = stage[s].frame;
    const plait_price price = plait_frames_price(q->table, d, room, time);
    *exact = price.exact;
    return price.step_s;
}

/* The shortest and the longest that any choice makes the passes of a stage. */
static void extremes_of(const stage_work *work, const stages_stage *stage, plait_chunk_time *low,
                        plait_chunk_time *high)
{
    const int choices = work->question->choices;

    *low = *high = stage->frame.ends;
    for (int k = 0; k < work->kinds; k++) {
        double forward[2] = {HUGE_VAL, 0.0}, backward[2] = {HUGE_VAL, 0.0};
        const int layers = stage->frame.layers[k];
        for (int c = 0; c < choices && layers > 0; c++) {
            const plait_layer_cost *const one = cost_at(work, k, c);
            if (one->forward_s == HUGE_VAL)
                continue;
            forward[0] = fmin(forward[0], one->forward_s);
            forward[1] = fmax(forward[1], one->forward_s);
            backward[0] = fmin(backward[0], one->backward_s);
            backward[1] = fmax(backward[1], one->backward_s);
        }
        if (layers == 0)
            continue;
        low->forward_s += layers * forward[0];
        low->backward_s += layers * backward[0];
        high->forward_s += layers * forward[1];
        high->backward_s += layers * backward[1];
    }
}

/*
 * S.24: no pass is shorter than its layers' shortest, nor both together than S.21 found; and of
 * reductions no more hides than behind the longest. Weight gradients count as the choice has them.
 */
static plait_status bound_step(const stage_work *work, stages_result *out, plait_arena *arena,
                               plait_error *err)
{
    const stages_question *const q = work->question;
    const plait_degrees *const d = work->degrees;
    const size_t stages = (size_t)d->pp;
    plait_chunk_time *const low = plait_arena_alloc(arena, stages, sizeof *low);
    plait_chunk_time *const high = plait_arena_alloc(arena, stages, sizeof *high);
    plait_chunk_time *const found = plait_arena_alloc(arena, stages, sizeof *found);
    plait_stage_frame *const room = plait_arena_alloc(arena, stages, sizeof *room);
    bool exact;

    if (!low || !high || !found || !room)
        return plait_fail_nomem(err);
    for (int s = 0; s < d->pp; s++) {
        found[s] = out->stage[s].time;
        extremes_of(work, &out->stage[s], &low[s], &high[s]);
        if (work->proven)
            low[s].backward_s = fmax(low[s].backward_s,
                                     found[s].forward_s + found[s].backward_s - high[s].forward_s);
        low[s].weight_s = fmin(found[s].weight_s, low[s].backward_s);
        high[s].weight_s = found[s].weight_s;
    }
    out->step_s = full_step_s(q, d, out->stage, found, room, &out->exact);
    const double exposed_s = full_step_s(q, d, out->stage, high, room, &exact) -
                             bare_step_s(q, d, out->stage, high, room);
    out->bound_s =
        fmin(out->step_s, bare_step_s(q, d, out->stage, low, room) + fmax(0.0, exposed_s));
    out->gap = (out->step_s - out->bound_s) / out->step_s;
    if (out->gap < 1e-9)
        out->gap = 0.0;
    return PLAIT_OK;
}

// ---- stages.h ------------------------------------------------------------------------------

/* Of a stage that does not fit: what even its leanest choice lacks. */
static void note_short(const stage_work *work, const stages_stage *stage, stages_result *out)
{
    const double missing = stage->frame.scale * (work->need_bytes - work->room_bytes);

    if (out->fits || missing > out->missing_bytes) {
        out->short_stage = stage->frame.stage;
        out->missing_bytes = missing;
    }
    out->fits = false;
}

plait_status stages_refine(const stages_question *q, const plait_degrees *d, const plait_chunk *all,
                           plait_arena *arena, stages_result *out, plait_error *err)
{
    stage_work work = {
        .question = q, .degrees = d, .kinds = q->problem->model->kinds, .proven = true};
    stages_stage *const stage = plait_arena_alloc(arena, (size_t)d->pp, sizeof *stage);
    plait_chunk *const chunk = plait_arena_alloc(arena, (size_t)d->vpp, sizeof *chunk);

    *out = (stages_result){.fits = true, .step_s = HUGE_VAL, .bound_s = HUGE_VAL};
    if (q->problem->runtime->can.recompute_by == PLAIT_BY_PLAN ||
        plait_schedule_copies((plait_schedule)d->schedule) > 1)
        return PLAIT_OK;
    if (stage == NULL || chunk == NULL)
        return plait_fail_nomem(err);
    out->refines = true;
    out->stages = d->pp;
    out->stage = stage;
    PLAIT_TRY(fill_costs(&work, arena, err));
    for (int s = 0; s < d->pp; s++) {
        bool fits;

        PLAIT_TRY(choose_stage(&work, s, all, chunk, arena, &stage[s], &fits, err));
        if (!fits)
            note_short(&work, &stage[s], out);
        else
            out->peak_bytes = fmax(out->peak_bytes, stage[s].peak_bytes);
    }
    out->nodes = work.nodes;
    return out->fits ? bound_step(&work, out, arena, err) : PLAIT_OK;
}

/* The choice that a stage's layers of one kind still have, the leanest first. */
static int next_choice(const stages_question *q, const stages_stage *stage, int kind, int *left)
{
    int next = -1;
    double saved = HUGE_VAL;

    for (int c = 0; c < q->choices; c++) {
        if (left[kind * q->choices + c] == 0)
            continue;
        const double bytes =
            q->choice[c].recompute.kind == PLAIT_RECOMPUTE_FULL ? 0.0 : 1.0; // leads its chunk
        if (next < 0 || bytes < saved) {
            next = c;
            saved = bytes;
        }
    }
    (void)stage;
    left[kind * q->choices + next]--;
    return next;
}

/* Gives the layers their choices, chunk beside chunk from the first layer of each. */
static void deal_choices(const stages_question *q, const stages_stage *from, int *left,
                         const plait_stage *stage, plait_recompute *recompute)
{
    const unsigned char *const kind = q->problem->model->layer_kind;
    bool more = true;

    for (int depth = 0; more; depth++) {
        more = false;
        for (int v = 0, before = 0; v < stage->chunks; v++) {
            const plait_chunk *const chunk = &stage->chunk[v];
            const int layer = chunk->first + depth;

            if (layer < chunk->last) {
                more = true;
                recompute[before + depth] =
                    q->choice[next_choice(q, from, kind[layer], left)].recompute;
            }
            before += chunk->last - chunk->first;
        }
    }
}

plait_status stages_plan(const stages_question *q, const plait_degrees *d, const plait_chunk *chunk,
                         const stages_result *result, plait_arena *arena, plait_plan *out,
                         plait_error *err)
{
    const size_t all = (size_t)(q->problem->model->kinds * q->choices);
    plait_stage *const stage = plait_arena_alloc(arena, (size_t)d->pp, sizeof *stage);
    int *const left = plait_arena_alloc(arena, all, sizeof *left);

    if (stage == NULL || left == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(plait_plan_lay(d, chunk, arena, out, err));
    for (int s = 0; s < d->pp; s++) {
        plait_recompute *const recompute =
            plait_arena_alloc(arena, (size_t)out->stage[s].layers + 1, sizeof *recompute);

        if (recompute == NULL)
            return plait_fail_nomem(err);
        stage[s] = out->stage[s];
        stage[s].degrees.offload_acts = result->stage[s].offload_acts;
        stage[s].recompute = recompute;
        memcpy(left, result->stage[s].count, all * sizeof *left);
        deal_choices(q, &result->stage[s], left, &stage[s], recompute);
    }
    out->stage = stage;
    return PLAIT_OK;
}

char *stages_why(const stages_question *q, const stages_result *result, char *text, size_t size)
{
    text[0] = '\0';
    if (result->refines && !result->fits)
        snprintf(
            text, size,
            "stage %d of %d lacks %.1f GiB of %.1f GiB with the leanest choices of %s: so much "
            "more memory, or less on that stage, is the smallest relaxation",
            result->short_stage, result->stages, result->missing_bytes / PLAIT_GIB,
            q->capacity_bytes / PLAIT_GIB, q->problem->runtime->name);
    return text;
}
