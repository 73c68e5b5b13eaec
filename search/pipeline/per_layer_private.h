/* cuts_private.h - the steps of per_layer_dp */
#pragma once

#include "search/pipeline/per_layer.h"

/** Where a stage stands: which ends of the model it has. */
enum { PER_LAYER_ENDS = 4, PER_LAYER_EMBEDDING = 1, PER_LAYER_LOSS = 2 };

struct per_layer_point {
    const per_layer_problem *question;
    plait_degrees degrees;
    int cuts;
    plait_cut cut[PER_LAYER_SHARDINGS + 1]; /* the point's own first */
    plait_degrees own[PER_LAYER_SHARDINGS + 1];
    plait_stage_sort *sort[PER_LAYER_SHARDINGS + 1];
    plait_layer_cost *cost;  /* [cuts][choices] of a layer */
    plait_layer_cost *plain; /* [cuts] of one that recomputes nothing */
    plait_cut_share
        *share; /* [cuts + PER_LAYER_ENDS][layers + 1] of layers that recompute nothing */
    int layers;
    double sends_s;
    int microbatches;
    plait_arena *arena;
};

/** A stage of these runs, as far as whoever goes on from there must know. */
typedef struct per_layer_option {
    plait_chunk_time time;
    plait_stage_tail tail;
    per_layer_stage stage;
    struct per_layer_option *next;
} per_layer_option;

/** Of layers that recompute nothing, with the ends of `place` where the cut is the point's own. */
const plait_cut_share *per_layer_share(const per_layer_point *point, int cut, int place,
                                       int layers);

/** The place of stage s. */
static inline int per_layer_ends(const per_layer_point *point, int s)
{
    return (s == 0 ? PER_LAYER_EMBEDDING : 0) | (s == point->degrees.pp - 1 ? PER_LAYER_LOSS : 0);
}

// relax.c
/** What stage s takes of a microbatch at least, forward and backward; infinite: nothing fits. (S.91) */
double per_layer_lower_bound_s(const per_layer_point *point, int s, int layers);

// fill.c
/** Of cuts with one tp the first: what the next stage is to know of the last. */
int per_layer_tp_slot(const per_layer_point *point, int tp);

/** A stage to be filled. */
typedef struct per_layer_slot {
    int stage;
    int layers;
    int tp_before;
    double below_s; /* a microbatch that takes as long, forward and backward, is of no use */
} per_layer_slot;

/**
 * All ways to fill it that fit and that no other is within (S.92).
 *
 * @param proven  is cleared where a limit of nodes was met
 * @param out     [cuts] by the cut of the last run, each a list in `arena`
 */
PLAIT_MUST_CHECK plait_status per_layer_fill(const per_layer_point *point,
                                             const per_layer_slot *slot, plait_arena *arena,
                                             bool *proven, per_layer_option **out,
                                             plait_error *err);
