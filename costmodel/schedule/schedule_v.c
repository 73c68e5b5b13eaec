/*
 * schedule_v.c - schedules with two chunks per rank in a V: zb-v, v-half and v-min
 *
 * Each microbatch passes the ranks from first to last (down) and back again (up). Each rank has one
 * chunk on the way down and one on the way up, each with half of its layers. Every backward is
 * split into an input gradient I and a weight gradient W.
 *
 * Source: Qi et al., "Pipeline parallelism with controllable memory", arXiv 2405.15362, 2024.
 */
#include <stdlib.h>

#include "costmodel/schedule/schedule_kind.h"

enum { DOWN, UP };

/* ---- zb-v: no bubble with 1F1B's memory ----
 *
 * With a chunk on the way down (d) and one on the way up (u), rank r runs
 *
 *     1   2(p-r)-1 x  Fd
 *     2          r x  Fu Fd
 *     3        p-r x  Fu Iu Wu
 *     4               Fd Id Wd Fu Iu Wu        until all forwards are done
 *     5          r x  Id Iu
 *     6        p-r x  Id Wd
 *     7               the remaining W, first those of u
 *
 * With fewer than 2p-1 microbatches, the list is that of 2p-1 without the actions of the
 * microbatches that do not exist. The order is that of PyTorch's ScheduleZBVZeroBubble.
 */

/* Forwards of both chunks in steps 1 to 3 before the first I. */
static warm_up zb_v_ahead(const plait_pipeline_shape *shape, int rank)
{
    return (warm_up){2.0 * shape->ranks - 1.0 - rank, rank + 1.0};
}

/* A rank keeps 2p microbatches, each in a chunk with half of the rank's layers. (C.77) */
static double zb_v_in_flight(const plait_pipeline_shape *shape, int rank)
{
    (void)rank;
    return shape->ranks;
}

typedef struct v_walk {
    const plait_pipeline_shape *shape;
    int rank;
    action_list *out;
    int done[PLAIT_ACTION_KINDS][2]; /* F, I and W so far: down, up */
} v_walk;

static void append(v_walk *walk, plait_action_kind kind, int side)
{
    const plait_pipeline_shape *shape = walk->shape;
    const int microbatch = walk->done[kind][side]++;

    if (microbatch < shape->microbatches)
        action_append(walk->out, kind,
                      plait_schedule_chunk(shape->schedule, shape->ranks, walk->rank, side),
                      microbatch);
}

static void append_backward(v_walk *walk, int side)
{
    append(walk, PLAIT_ACTION_INPUT, side);
    append(walk, PLAIT_ACTION_WEIGHT, side);
}

static void zb_v_fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const plait_action_kind F = PLAIT_ACTION_FORWARD, I = PLAIT_ACTION_INPUT;
    const plait_action_kind W = PLAIT_ACTION_WEIGHT;
    const int p = shape->ranks;
    const int m = shape->microbatches > 2 * p - 1 ? shape->microbatches : 2 * p - 1;
    v_walk walk = {.shape = shape, .rank = rank, .out = out};

    for (int i = 0; i < 2 * (p - rank) - 1; i++)
        append(&walk, F, DOWN);
    for (int i = 0; i < rank; i++) {
        append(&walk, F, UP);
        append(&walk, F, DOWN);
    }
    for (int i = 0; i < p - rank; i++) {
        append(&walk, F, UP);
        append_backward(&walk, UP);
    }
    while (walk.done[F][UP] < walk.done[F][DOWN] || walk.done[F][DOWN] < m) {
        if (walk.done[F][DOWN] < m)
            append(&walk, F, DOWN);
        append_backward(&walk, DOWN);
        append(&walk, F, UP);
        append_backward(&walk, UP);
    }
    for (int i = 0; i < rank; i++) {
        append(&walk, I, DOWN);
        append(&walk, I, UP);
    }
    for (int i = 0; i < p - rank; i++)
        append_backward(&walk, DOWN);
    while (walk.done[W][UP] < walk.done[I][UP])
        append(&walk, W, UP);
    while (walk.done[W][DOWN] < walk.done[I][DOWN])
        append(&walk, W, DOWN);
}

const schedule_kind schedule_zb_v = {
    .chunks = 2,
    .copies = 1,
    .is_v = true,
    .all_split = true,
    .needs_to_list = true,
    .ahead = zb_v_ahead,
    .in_flight = zb_v_in_flight,
    .fill = zb_v_fill,
};

/* ---- v-half and v-min: one pattern of slots, repeated and shifted ----
 *
 * Each microbatch uses six slots of a rank: F, I and W of the chunk on the way down, and F, I and W
 * of the chunk on the way up. The next microbatch uses the same slots, shifted by six. A pattern
 * has the slots from one rank to the next (steps) and at the turns of the V (gaps), which determine
 * the slots of F and I; both W use the earliest free slots. A pattern is valid if on every rank the
 * slots of both F and both I differ modulo six. The steps determine how long a microbatch stays on
 * a rank, and so the rank's memory:
 *
 *     slot       0  1  2  3  4  5  6  7  8  9 10   p = 2, all steps and gaps 1; F, I, W: the chunk
 *     rank 0     F0       f0 i0 w0 F1 I0 W0 f1 i1   on the way down; f, i, w: on the way up
 *     rank 1        F0 f0       i0 I0 F1 f1 w0 W0
 *
 * Slots only define the order of actions. In time, each action begins as soon as it can.
 */
enum { SLOTS = 6 };

/*
 * Number of slots from one action of a microbatch to the next, between neighbouring ranks and at
 * the turns of the V.
 */
typedef struct slot_pattern {
    int down, up;              /* steps of F: from rank 0 to p-1, and back to rank 0 */
    int back_down, back_up;    /* steps of I: from rank 0, after the loss, to p-1, and back */
    int turn, loss, back_turn; /* gaps: F on rank p-1, F to I at the loss, I on rank p-1 */
} slot_pattern;

/*
 * V-Half keeps half of 1F1B's activations and has half of its bubble. Each step of F or I takes one
 * slot down the ranks and two slots up, so that a microbatch stays half as long as under ZB-V. The
 * gaps were found by exhaustive search: they have the smallest bubble of all valid patterns with
 * these steps, 3(p-1) slots if all actions are equally long, against 6(p-1) under 1F1B.
 *
 * V-Min keeps a third of 1F1B's activations and has two thirds of its bubble. Each step takes one
 * slot, the minimum. If three divides p, two gaps are longer than one slot, since otherwise two
 * actions would share a slot.
 */
static slot_pattern pattern_of(const plait_pipeline_shape *shape)
{
    if (shape->schedule == PLAIT_V_HALF)
        return shape->ranks % 2 == 0
                   ? (slot_pattern){1, 2, 1, 2, .turn = 4, .loss = 2, .back_turn = 2}
                   : (slot_pattern){1, 2, 1, 2, .turn = 1, .loss = 2, .back_turn = 5};
    return shape->ranks % 3 == 0 ? (slot_pattern){1, 1, 1, 1, .turn = 3, .loss = 1, .back_turn = 3}
                                 : (slot_pattern){1, 1, 1, 1, .turn = 1, .loss = 1, .back_turn = 1};
}

/* Slots of microbatch 0 on one rank. */
typedef struct rank_slots {
    int forward[2], input[2], weight[2]; /* slots of F, I and W: [DOWN], [UP] */
} rank_slots;

static int first_free_after(int slot, const bool *taken, int skip)
{
    for (int s = slot + 1;; s++)
        if (!taken[s % SLOTS] && skip-- == 0)
            return s;
}

/* Assigns the two free slots to W of both chunks so that their total delay after I is smallest. */
static rank_slots slots_of(const plait_pipeline_shape *shape, int rank)
{
    const slot_pattern pattern = pattern_of(shape);
    const int hops = shape->ranks - 1;
    const int bottom = hops * pattern.down + pattern.turn;      // F at the turn
    const int loss = bottom + hops * pattern.up + pattern.loss; // I after the loss
    const int back = loss + hops * pattern.back_down + pattern.back_turn;
    rank_slots at = {
        .forward = {rank * pattern.down, bottom + (hops - rank) * pattern.up},
        .input = {back + (hops - rank) * pattern.back_up, loss + rank * pattern.back_down},
    };
    bool taken[SLOTS] = {false};
    int best = 4 * SLOTS;

    for (int c = 0; c < 2; c++) {
        taken[at.forward[c] % SLOTS] = true;
        taken[at.input[c] % SLOTS] = true;
    }
    for (int swap = 0; swap < 2; swap++) {
        const int up = first_free_after(at.input[UP], taken, swap);
        int down = first_free_after(at.input[DOWN], taken, 0);
        if (down % SLOTS == up % SLOTS)
            down = first_free_after(at.input[DOWN], taken, 1);
        const int wait = up - at.input[UP] + down - at.input[DOWN];
        if (wait < best) {
            best = wait;
            at.weight[UP] = up;
            at.weight[DOWN] = down;
        }
    }
    return at;
}

/* Number of microbatches that have done an action by slot t, if microbatch 0 does it in `slot`. */
static int done_by(int t, int slot)
{
    return t < slot ? 0 : (t - slot) / SLOTS + 1;
}

static warm_up pattern_ahead(const plait_pipeline_shape *shape, int rank)
{
    const rank_slots at = slots_of(shape, rank);
    const int before = at.input[UP] - 1;

    return (warm_up){done_by(before, at.forward[DOWN]), done_by(before, at.forward[UP])};
}

/*
 * The peak is right after one of the two F of a rank. Adding `later` to the slots of F moves them
 * into the steady phase of a long step. (C.79)
 */
static double pattern_in_flight(const plait_pipeline_shape *shape, int rank)
{
    const rank_slots at = slots_of(shape, rank);
    const int later = SLOTS * 4 * shape->ranks;
    int most = 0;

    for (int c = 0; c < 2; c++) {
        const int t = at.forward[c] + later;
        const int held = done_by(t, at.forward[DOWN]) - done_by(t - 1, at.weight[DOWN]) +
                         done_by(t, at.forward[UP]) - done_by(t - 1, at.weight[UP]);
        most = held > most ? held : most;
    }
    return most / 2.0;
}

/* One of the six actions of the pattern. */
typedef struct pattern_action {
    int slot;
    plait_action_kind kind;
    int chunk;
} pattern_action;

static int by_slot(const void *left, const void *right)
{
    const pattern_action *const a = left;
    const pattern_action *const b = right;

    return a->slot % SLOTS - b->slot % SLOTS;
}

/*
 * Round k appends each of the six actions once, for the microbatch that has it in slots 6 k to
 * 6 k + 5.
 */
static void pattern_fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const rank_slots at = slots_of(shape, rank);
    pattern_action action[SLOTS];
    int last = 0;

    for (int c = 0; c < 2; c++) {
        action[3 * c] = (pattern_action){at.forward[c], PLAIT_ACTION_FORWARD, c};
        action[3 * c + 1] = (pattern_action){at.input[c], PLAIT_ACTION_INPUT, c};
        action[3 * c + 2] = (pattern_action){at.weight[c], PLAIT_ACTION_WEIGHT, c};
    }
    qsort(action, SLOTS, sizeof *action, by_slot);
    for (int a = 0; a < SLOTS; a++)
        last = action[a].slot / SLOTS > last ? action[a].slot / SLOTS : last;
    for (int round = 0; round < last + shape->microbatches; round++)
        for (int a = 0; a < SLOTS; a++) {
            const int microbatch = round - action[a].slot / SLOTS;
            if (microbatch >= 0 && microbatch < shape->microbatches)
                action_append(
                    out, action[a].kind,
                    plait_schedule_chunk(shape->schedule, shape->ranks, rank, action[a].chunk),
                    microbatch);
        }
}

#define PATTERN_FIELDS                                                                             \
    .chunks = 2, .copies = 1, .is_v = true, .all_split = true, .needs_to_list = true,              \
    .ahead = pattern_ahead, .in_flight = pattern_in_flight, .fill = pattern_fill

const schedule_kind schedule_v_half = {PATTERN_FIELDS};
const schedule_kind schedule_v_min = {PATTERN_FIELDS};
