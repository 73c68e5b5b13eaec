/*
 * schedule_dualpipe_v.c - DualPipeV: DualPipe folded in the middle, one copy of the parameters
 *
 * It waits for a simulator: no closed form is exact, so it has a place and no price.
 *
 * Source: deepseek-ai/DualPipe, README.
 */
#include "schedule_kind.h"

const schedule_kind schedule_dualpipe_v = {
    .chunked = true,
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_v,
    .chunk_of = schedule_chunk_in_v,
};
