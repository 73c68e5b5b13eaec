/*
 * schedule_v_min.c - V-Min: a third of 1F1B's activations, two thirds of its bubble
 *
 * Every step takes one slot, the minimum. If three divides p, gaps of one slot would put two
 * actions into the same slot.
 *
 * Source: Qi et al., arXiv 2405.15362, 2024.
 */
#include "costmodel/schedule/schedule_kind.h"

static slot_pattern pattern_of(int ranks)
{
    return ranks % 3 == 0 ? (slot_pattern){1, 1, 1, 1, .turn = 3, .loss = 1, .back_turn = 3}
                          : (slot_pattern){1, 1, 1, 1, .turn = 1, .loss = 1, .back_turn = 1};
}

SCHEDULE_OF_PATTERN(schedule_v_min, pattern_of);
