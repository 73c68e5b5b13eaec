/* way.h - the stages of 1F1B so far: their chains, and what follows the pipeline (S.26) */
#pragma once

#include "plait/stage.h"

typedef struct stages_way {
    plait_chain chain;
    plait_stage_tail tail; /* the longest of each; by grad_sync bulk reductions add up */
} stages_way;

stages_way way_begin(void);

/** Takes the next stage. */
void way_pass(stages_way *way, const plait_degrees *degrees, int microbatches,
              plait_chunk_time time, const plait_stage_tail *tail);

/** What follows the pipeline. */
double way_tail_s(const stages_way *way);

/** Is `a` nowhere longer? Then whatever stages follow, `b` is no better. */
bool way_within(const stages_way *a, const stages_way *b);

/**
 * What a way takes at least, when each of the stages to come takes `round_s` a microbatch, or more, and all of them
 * `left_s`.
 */
double way_least_s(const stages_way *way, int stages, int microbatches, double round_s,
                   double left_s);
