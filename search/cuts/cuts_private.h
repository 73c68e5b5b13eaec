/* cuts_private.h - the steps of cuts_solve */
#pragma once

#include "search/cuts/cuts.h"

/** Where a stage stands: which ends of the model it has. */
enum { CUTS_PLACES = 4, CUTS_HAS_EMBEDDING = 1, CUTS_HAS_LOSS = 2 };

struct cuts_point {
    const cuts_question *question;
    plait_degrees degrees;
    int cuts;
    plait_cut cut[CUTS_MOST + 1]; /* the point's own first */
    plait_degrees own[CUTS_MOST + 1];
    plait_stage_sort *sort[CUTS_MOST + 1];
    plait_layer_cost *cost;  /* [cuts][choices] of a layer */
    plait_layer_cost *plain; /* [cuts] of one that recomputes nothing */
    plait_cut_share *share;  /* [cuts + CUTS_PLACES][layers + 1] of layers that recompute nothing */
    int layers;
    double sends_s;
    int microbatches;
    plait_arena *arena;
};

/** A stage of these runs, as far as whoever goes on from there must know. */
typedef struct cuts_way {
    plait_chunk_time time;
    plait_stage_tail tail;
    cuts_stage stage;
    struct cuts_way *next;
} cuts_way;

/** Of layers that recompute nothing, with the ends of `place` where the cut is the point's own. */
const plait_cut_share *cuts_share(const cuts_point *point, int cut, int place, int layers);

/** The place of stage s. */
static inline int cuts_place(const cuts_point *point, int s)
{
    return (s == 0 ? CUTS_HAS_EMBEDDING : 0) | (s == point->degrees.pp - 1 ? CUTS_HAS_LOSS : 0);
}

// relax.c
/** What stage s takes of a microbatch at least, forward and backward; infinite: nothing fits. (S.91) */
double cuts_least_s(const cuts_point *point, int s, int layers);

// fill.c
/** Of cuts with one tp the first: what the next stage is to know of the last. */
int cuts_tp_slot(const cuts_point *point, int tp);

/** A stage to be filled. */
typedef struct cuts_slot {
    int stage;
    int layers;
    int tp_before;
    double below_s; /* a microbatch that takes as long, forward and backward, is of no use */
} cuts_slot;

/**
 * All ways to fill it that fit and that no other is within (S.92).
 *
 * @param proven  is cleared where a limit of nodes was met
 * @param out     [cuts] by the cut of the last run, each a list in `arena`
 */
PLAIT_MUST_CHECK plait_status cuts_fill(const cuts_point *point, const cuts_slot *slot,
                                        plait_arena *arena, bool *proven, cuts_way **out,
                                        plait_error *err);
