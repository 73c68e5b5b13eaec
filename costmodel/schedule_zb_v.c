/*
 * schedule_zb_v.c - ZB-V: two chunks a rank, down and up again, no bubble with 1F1B's memory
 *
 * It waits for a simulator: no closed form is exact, so it has a place and no price.
 *
 * Source: Qi et al., "Pipeline parallelism with controllable memory", arXiv 2405.15362, 2024.
 */
#include "schedule_kind.h"

const schedule_kind schedule_zb_v = {
    .chunked = true,
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_v,
    .chunk_of = schedule_chunk_in_v,
};
