/*
 * choose.c - one stage: which choices make its microbatch shortest in its memory (S.23)
 *
 *     recompute_by layer   counts of layers, S.21
 *     recompute_by stage   every choice for all layers, and every number of leading full ones
 */
#include <math.h>
#include <string.h>

#include "pack.h"
#include "stages_private.h"

/* Of the capacity, so that a sum in another order cannot pass it. */
static const double within = 1.0 - 1e-12;

/* Of one rank, for its frames. */
typedef struct stages_room {
    plait_chunk *chunk;
    double *in_flight;
} stages_room;

// ---- groups of layers alike ----------------------------------------------------------------

/* The chunks of a rank, in the order in which it takes turns at them. */
static const plait_chunk *chunk_of(const stages_work *work, int s, int v)
{
    const plait_degrees *const d = work->degrees;

    return &work->chunk[plait_schedule_chunk((plait_schedule)d->schedule, d->pp, s, v)];
}

static int count_kind(const stages_work *work, const plait_chunk *chunk, int kind)
{
    const unsigned char *const kinds = work->question->problem->model->layer_kind;
    int count = 0;

    for (int i = chunk->first; i < chunk->last; i++)
        count += kinds[i] == kind;
    return count;
}

static void add_group(stages_group *group, int *groups, stages_group next)
{
    if (next.layers > 0)
        group[(*groups)++] = next;
}

/* Of each kind, chunk by chunk where those are in flight for different times. */
static void list_groups(const stages_work *work, int s, const double *in_flight,
                        const stages_stage *stage, stages_group *group, int *groups)
{
    *groups = 0;
    for (int k = 0; k < work->question->problem->model->kinds; k++) {
        if (!stage->frame.unlike) {
            add_group(group, groups, (stages_group){k, -1, stage->frame.layers[k], in_flight[0]});
            continue;
        }
        for (int v = 0; v < work->degrees->vpp; v++)
            add_group(
                group, groups,
                (stages_group){k, v, count_kind(work, chunk_of(work, s, v), k), in_flight[v]});
    }
}

/* The stage as it offloads `set`, which modules of further tokens do too. */
static void frame_under(const stages_work *work, int s, unsigned char set, stages_room *room,
                        stages_stage *out)
{
    plait_degrees own = *work->degrees;

    for (int v = 0; v < work->degrees->vpp; v++)
        room->chunk[v] = *chunk_of(work, s, v);
    own.offload_acts = set;
    out->frame = plait_stage_frame_of(work->question->table, work->degrees, s, room->chunk, &own,
                                      room->in_flight);
}

static plait_status begin_stage(stages_work *work, int s, plait_arena *arena, stages_room *room,
                                stages_stage *out, plait_error *err)
{
    const size_t chunks = (size_t)work->degrees->vpp;
    const size_t most = (size_t)work->question->problem->model->kinds * chunks;
    stages_group *const group = plait_arena_alloc(arena, most, sizeof *group);

    room->chunk = plait_arena_alloc(arena, chunks, sizeof *room->chunk);
    room->in_flight = plait_arena_alloc(arena, chunks, sizeof *room->in_flight);
    if (!group || !room->chunk || !room->in_flight)
        return plait_fail_nomem(err);
    *out = (stages_stage){.group = group};
    frame_under(work, s, work->degrees->offload_acts, room, out);
    list_groups(work, s, room->in_flight, out, group, &out->groups);
    work->need_bytes = HUGE_VAL;
    return PLAIT_OK;
}

/* Gives the stage these counts: times and bytes are what they add up to. */
static void take_counts(const stages_work *work, unsigned char set, const int *count,
                        stages_stage *out)
{
    double held_bytes = 0.0, live_bytes = 0.0;

    out->time = out->frame.ends;
    out->count = count;
    out->offload_acts = set;
    for (int g = 0; g < out->groups; g++)
        for (int c = 0; c < work->question->choices; c++) {
            const plait_layer_cost *const one = stages_cost(work, out->group[g].kind, c);
            const int layers = count[g * work->question->choices + c];
            if (layers == 0)
                continue;
            out->time.forward_s += layers * one->forward_s;
            out->time.backward_s += layers * one->backward_s;
            out->time.weight_s += layers * one->weight_s;
            held_bytes += layers * out->group[g].in_flight * one->saved_bytes;
            live_bytes = fmax(live_bytes, one->live_bytes);
        }
    out->peak_bytes = plait_frame_peak(&out->frame, held_bytes, live_bytes);
}

// ---- each layer its own choice -------------------------------------------------------------

/* Does a choice go with a stage that offloads this set? A layer that is run again whole always does. */
static bool goes_with(const plait_choice *choice, unsigned char set)
{
    return choice->offload_acts == set || choice->recompute.kind == PLAIT_RECOMPUTE_FULL;
}

static pack_option option_of(const stages_work *work, const stages_group *group, int c,
                             unsigned char set)
{
    const plait_layer_cost *const one = stages_cost(work, group->kind, c);
    const bool may = goes_with(&work->question->choice[c], set);

    return (pack_option){one->forward_s + one->backward_s, group->in_flight * one->saved_bytes,
                         may ? one->live_bytes : HUGE_VAL};
}

/* S.21 of the stage, under one set that it offloads. */
static plait_status pack_under(const stages_work *work, unsigned char set,
                               const stages_stage *stage, plait_arena *arena, pack_result *out,
                               plait_error *err)
{
    const int choices = work->question->choices;
    const size_t groups = (size_t)stage->groups;
    pack_option *const option = plait_arena_alloc(arena, groups * (size_t)choices, sizeof *option);
    int *const layers = plait_arena_alloc(arena, groups, sizeof *layers);

    if (option == NULL || layers == NULL)
        return plait_fail_nomem(err);
    for (int g = 0; g < stage->groups; g++) {
        layers[g] = stage->group[g].layers;
        for (int c = 0; c < choices; c++)
            option[g * choices + c] = option_of(work, &stage->group[g], c, set);
    }
    const pack_problem problem = {
        .groups = stage->groups,
        .layers = layers,
        .options = choices,
        .option = option,
        .room_bytes =
            (work->question->capacity_bytes * within - stage->frame.bytes) / stage->frame.scale,
        .live_bytes = stage->frame.live_bytes,
        .nodes = work->question->nodes,
    };
    return pack_solve(&problem, arena, out, err);
}

static double round_s(const stages_stage *stage)
{
    return stage->time.forward_s + stage->time.backward_s;
}

static plait_status choose_layers(stages_work *work, stages_room *room, plait_arena *arena,
                                  stages_stage *out, bool *fits, plait_error *err)
{
    const bool framed = work->question->problem->model->mtp_layers > 0;
    stages_stage next = *out;

    for (unsigned char set = 0; set < PLAIT_OFFLOAD_SETS; set++) {
        pack_result packed;

        if (!(work->sets >> set & 1u))
            continue;
        if (framed)
            frame_under(work, out->frame.stage, set, room, &next);
        PLAIT_TRY(pack_under(work, set, &next, arena, &packed, err));
        work->need_bytes =
            fmin(work->need_bytes, next.frame.bytes + next.frame.scale * packed.need_bytes);
        work->nodes += packed.nodes;
        work->proven = work->proven && packed.proven;
        if (!packed.fits)
            continue;
        take_counts(work, set, packed.count, &next);
        if (!*fits || round_s(&next) < round_s(out))
            *out = next;
        *fits = true;
    }
    return PLAIT_OK;
}

// ---- one choice a stage --------------------------------------------------------------------

/* One choice, of which the first layers of each chunk alone may be run again whole. */
typedef struct stage_choice {
    int first;   /* the choice of the leading layers ... */
    int leading; /* ... so many of each chunk */
    int rest;
} stage_choice;

static int leading_of_kind(const stages_work *work, const plait_chunk *chunk, int kind, int leading)
{
    plait_chunk part = *chunk;

    if (leading < part.last - part.first)
        part.last = part.first + leading;
    return count_kind(work, &part, kind);
}

static void count_choice(const stages_work *work, const stages_stage *stage,
                         const stage_choice *one, int *count)
{
    const int choices = work->question->choices;

    memset(count, 0, (size_t)(stage->groups * choices) * sizeof *count);
    for (int g = 0; g < stage->groups; g++) {
        const stages_group *const group = &stage->group[g];
        int leading = 0;

        for (int v = 0; v < work->degrees->vpp; v++)
            if (group->chunk < 0 || group->chunk == v)
                leading += leading_of_kind(work, chunk_of(work, stage->frame.stage, v), group->kind,
                                           one->leading);
        count[g * choices + one->first] += leading;
        count[g * choices + one->rest] += group->layers - leading;
    }
}

/* Takes a choice that fits and is faster than the stage's. `count` is copied to `kept`. */
static void try_choice(stages_work *work, const stage_choice *one, stages_room *room, int *count,
                       int *kept, stages_stage *best, bool *fits)
{
    const size_t size = (size_t)(best->groups * work->question->choices) * sizeof *kept;
    const unsigned char set = work->question->choice[one->rest].offload_acts;
    stages_stage next = *best;

    if (work->question->problem->model->mtp_layers > 0)
        frame_under(work, best->frame.stage, set, room, &next);
    count_choice(work, best, one, count);
    take_counts(work, set, count, &next);
    if (next.time.forward_s == HUGE_VAL)
        return;
    work->nodes++;
    work->need_bytes = fmin(work->need_bytes, next.peak_bytes);
    if (next.peak_bytes > work->question->capacity_bytes * within ||
        (*fits && round_s(&next) >= round_s(best)))
        return;
    *best = next;
    best->count = memcpy(kept, count, size);
    *fits = true;
}

static int longest_chunk(const stages_work *work, int s)
{
    int longest = 0;

    for (int v = 0; v < work->degrees->vpp; v++) {
        const plait_chunk *const chunk = chunk_of(work, s, v);
        longest = chunk->last - chunk->first > longest ? chunk->last - chunk->first : longest;
    }
    return longest;
}

static int full_choice(const stages_question *q)
{
    for (int c = 0; c < q->choices; c++)
        if (q->choice[c].recompute.kind == PLAIT_RECOMPUTE_FULL)
            return c;
    return -1;
}

static plait_status choose_one(stages_work *work, stages_room *room, plait_arena *arena,
                               stages_stage *out, bool *fits, plait_error *err)
{
    const stages_question *const q = work->question;
    const size_t all = (size_t)out->groups * (size_t)q->choices;
    const int longest = longest_chunk(work, out->frame.stage);
    const int full = q->problem->runtime->can.full_layers ? full_choice(q) : -1;
    int *const kept = plait_arena_alloc(arena, all, sizeof *kept);
    int *const count = plait_arena_alloc(arena, all, sizeof *count);

    if (kept == NULL || count == NULL)
        return plait_fail_nomem(err);
    for (int c = 0; c < q->choices; c++) {
        const bool none = q->choice[c].recompute.kind == PLAIT_RECOMPUTE_NONE;

        if (!(work->sets >> q->choice[c].offload_acts & 1u))
            continue;
        try_choice(work, &(stage_choice){c, 0, c}, room, count, kept, out, fits);
        for (int n = 1; none && full >= 0 && n < longest; n++)
            try_choice(work, &(stage_choice){full, n, c}, room, count, kept, out, fits);
    }
    return PLAIT_OK;
}

plait_status stages_choose(stages_work *work, int s, plait_arena *arena, stages_stage *out,
                           bool *fits, plait_error *err)
{
    stages_room room;

    *fits = false;
    PLAIT_TRY(begin_stage(work, s, arena, &room, out, err));
    return work->question->problem->runtime->can.recompute_by == PLAIT_BY_LAYER
               ? choose_layers(work, &room, arena, out, fits, err)
               : choose_one(work, &room, arena, out, fits, err);
}
