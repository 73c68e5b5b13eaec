/*
 * schedule_v_min.c - V-Min: ZB-V with a third of 1F1B's activations
 *
 * It waits for a simulator: no closed form is exact, so it has a place and no price.
 *
 * Source: Qi et al., arXiv 2405.15362, 2024.
 */
#include "schedule_kind.h"

const schedule_kind schedule_v_min = {
    .chunked = true,
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_v,
    .chunk_of = schedule_chunk_in_v,
};
