/*
 * schedule_v_half.c - V-Half: half of 1F1B's activations, half of its bubble
 *
 * A step of F or I from rank to rank takes one slot on the way down and two on the way up, so that
 * a microbatch stays half as long as under ZB-V. An exhaustive search found the gaps with the
 * smallest bubble in which no two actions share a slot: with equal slots 3(p-1) instead of 1F1B's
 * 6(p-1).
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
