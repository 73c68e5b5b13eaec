/*
 * schedule_v_half.c - V-Half: half of 1F1B's activations, half of its bubble
 *
 * Down and back one step of F or I takes one slot on one way and two on the other, so that a
 * microbatch stays half as long as under ZB-V. The gaps are those at which no two actions meet and
 * the bubble is least, found by trying all: with equal slots 3(p-1) of 1F1B's 6(p-1).
 *
 * Source: Qi et al., arXiv 2405.15362, 2024.
 */
#include "costmodel/schedule/schedule_kind.h"

static slot_pattern pattern_of(int ranks)
{
    return ranks % 2 == 0 ? (slot_pattern){1, 2, 1, 2, .turn = 4, .loss = 2, .back_turn = 2}
                          : (slot_pattern){1, 2, 1, 2, .turn = 1, .loss = 2, .back_turn = 5};
}

SCHEDULE_OF_PATTERN(schedule_v_half, pattern_of);
