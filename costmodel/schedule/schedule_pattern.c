/*
 * schedule_pattern.c - V-shaped schedules as one pattern of slots, repeated and shifted
 *
 * A microbatch takes six slots of each rank: F, I and W of the chunk on the way down and of the
 * chunk on the way up. The next microbatch takes the same slots six slots later. The pattern gives
 * the slots of F and I by steps between ranks and gaps at the turns; each W takes the earliest slot
 * that is left. A pattern is valid if on every rank the two F and two I lie in different slots
 * modulo six. A rank's memory depends on how long microbatches stay, and so on the steps:
 *
 *     slot       0  1  2  3  4  5  6  7  8  9 10   p = 2, all steps and gaps 1; F, I, W: the chunk
 *     rank 0     F0       f0 i0 w0 F1 I0 W0 f1 i1   on the way down; f, i, w: on the way up
 *     rank 1        F0 f0       i0 I0 F1 f1 w0 W0
 *
 * Slots only define the order of actions. In time, each action begins as soon as it can.
 *
 * Source: Qi et al., "Pipeline parallelism with controllable memory", arXiv 2405.15362, 2024
 * (building blocks and their lifespans).
 */
#include <stdlib.h>

#include "costmodel/schedule/schedule_kind.h"

enum { SLOTS = 6, DOWN = 0, UP = 1 };

/* Slots of microbatch 0 on one rank. */
typedef struct rank_slots {
    int forward[2], input[2], weight[2]; /* slots of F, I and W by chunk: down, up */
} rank_slots;

static int first_free_after(int slot, const bool *taken, int skip)
{
    for (int s = slot + 1;; s++)
        if (!taken[s % SLOTS] && skip-- == 0)
            return s;
}

/* Assigns the two free slots to W of both chunks so that their total delay after I is smallest. */
static void place_weights(rank_slots *at)
{
    bool taken[SLOTS] = {false};

    for (int c = 0; c < 2; c++) {
        taken[at->forward[c] % SLOTS] = true;
        taken[at->input[c] % SLOTS] = true;
    }
    int best = 4 * SLOTS;
    for (int swap = 0; swap < 2; swap++) {
        const int up = first_free_after(at->input[UP], taken, swap);
        int down = first_free_after(at->input[DOWN], taken, 0);
        if (down % SLOTS == up % SLOTS)
            down = first_free_after(at->input[DOWN], taken, 1);
        const int wait = up - at->input[UP] + down - at->input[DOWN];
        if (wait < best) {
            best = wait;
            at->weight[UP] = up;
            at->weight[DOWN] = down;
        }
    }
}

static rank_slots slots_of(const slot_pattern *pattern, int ranks, int rank)
{
    const int hops = ranks - 1;
    const int bottom = hops * pattern->down + pattern->turn;      // F at the turn
    const int loss = bottom + hops * pattern->up + pattern->loss; // I after the loss
    const int back = loss + hops * pattern->back_down + pattern->back_turn;
    rank_slots at = {
        .forward = {rank * pattern->down, bottom + (hops - rank) * pattern->up},
        .input = {back + (hops - rank) * pattern->back_up, loss + rank * pattern->back_down},
    };

    place_weights(&at);
    return at;
}

/* Number of microbatches that have done an action by slot t, if microbatch 0 does it in `slot`. */
static int done_by(int t, int slot)
{
    return t < slot ? 0 : (t - slot) / SLOTS + 1;
}

/* The peak is right after either F; `later` puts it into the steady state of a long step. (C.79) */
double schedule_pattern_in_flight(const slot_pattern *pattern, int ranks, int rank,
                                  int microbatches)
{
    const rank_slots at = slots_of(pattern, ranks, rank);
    const int later = SLOTS * 4 * ranks;
    int most = 0;

    for (int c = 0; c < 2; c++) {
        const int t = at.forward[c] + later;
        const int held = done_by(t, at.forward[DOWN]) - done_by(t - 1, at.weight[DOWN]) +
                         done_by(t, at.forward[UP]) - done_by(t - 1, at.weight[UP]);
        most = held > most ? held : most;
    }
    return smaller(most / 2.0, microbatches);
}

warm_up schedule_pattern_ahead(const slot_pattern *pattern, int ranks, int rank)
{
    const rank_slots at = slots_of(pattern, ranks, rank);
    const int before = at.input[UP] - 1;

    return (warm_up){done_by(before, at.forward[DOWN]), done_by(before, at.forward[UP])};
}

// ---- lists of actions ----------------------------------------------------------------------

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

/* Round k lists each action once, for the microbatch whose slot lies in slots 6 k to 6 k + 5. */
void schedule_fill_pattern(const slot_pattern *pattern, const plait_pipeline_shape *shape, int rank,
                           action_list *out)
{
    const rank_slots at = slots_of(pattern, shape->ranks, rank);
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
                action_append(out, action[a].kind,
                              schedule_chunk_in_v(shape->ranks, rank, action[a].chunk), microbatch);
        }
}
