/* space_private.h - the steps of space_make before its rows, and what rows choose */
#pragma once

#include "search/space/space.h"

/** Lists the values of each key by itself, splits apart. */
PLAIT_MUST_CHECK plait_status space_list_values(plan_space *space, plait_arena *arena,
                                                plait_error *err);

/** Lists the splits of each pp, once the values are listed. */
PLAIT_MUST_CHECK plait_status space_list_splits(plan_space *space, plait_arena *arena,
                                                plait_error *err);

/** Returns whether a layout may assign the layers to `pp` stages. */
bool space_layouts_deal(const plan_space *space, int pp);

/** Bits 1 << plait_attention_kernel: those that run with these degrees, whatever the microbatch. */
unsigned space_running_kernels(const plan_space *space, const plait_degrees *row);

/** The same bits: those that rows of these degrees are made with. (S.80) */
unsigned space_kernels_of(const plan_space *space, const plait_degrees *row);

/** The dispatchers that degrees of layers have rows with. */
typedef struct row_dispatchers {
    int fastest;       /* for all schedules; -1: none runs */
    unsigned in_pairs; /* bits 1 << plait_dispatcher: others, for pairs of microbatches alone */
} row_dispatchers;

/** Those of rows before. NULL: out of memory. A memo serves one space. */
typedef struct dispatch_memo dispatch_memo;
dispatch_memo *dispatch_memo_new(plait_arena *arena);
row_dispatchers space_dispatchers_of(dispatch_memo *memo, const plan_space *space,
                                     const plait_degrees *row);
