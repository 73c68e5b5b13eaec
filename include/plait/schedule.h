/*
 * schedule.h - how long a pipeline idles and how many microbatches a stage holds.
 *
 * Closed forms for uniform and uneven stages. Stage times are those of one microbatch over all
 * chunks of the stage: f forward, b backward (both parts), w the weight-gradient part of b.
 *
 *     stage 0   F0 F1 .. B0 F2 B1 F3 B2 .. B3     1F1B with p = 2, m = 4, F = B = one slot:
 *     stage 1   .. F0 B0 F1 B1 F2 B2 F3 B3 ..     each stage idles (p-1)(F+B), here two slots
 *
 * Left out: the V-shaped schedules (zb-v, v-half, v-min, dualpipe-v), which wait for a simulator.
 */
#ifndef PLAIT_SCHEDULE_H
#define PLAIT_SCHEDULE_H

#include "plait/plan.h"

/** Idle over ideal time, (p-1)/(v m). (C.70) */
double plait_bubble_ratio(int stages, int microbatches, int chunks);

/** Idle over total time, r/(1+r). */
double plait_bubble_fraction(int stages, int microbatches, int chunks);

/** Busy share of a device when layers run one after the other on `stages` devices. */
double plait_naive_utilisation(int stages);

/** A pipeline's stages, summed up. */
typedef struct plait_pipeline_load {
    int stages;
    int chunks; /* a stage */
    int microbatches;
    double sum_s;     /* f + b over all stages */
    double max_s;     /* f + b of the slowest stage */
    double max_f_s;   /* longest forward of any stage */
    double max_b_s;   /* longest backward */
    double least_w_s; /* shortest weight-gradient part: what a bubble can be filled with */
} plait_pipeline_load;

/**
 * Time from the first forward to the last backward, sends and gradient reduction apart.
 *
 *     naive              m sum_s                                             (C.71)
 *     gpipe, 1f1b        m max_s + (sum_s - max_s)                           (C.72)
 *     interleaved        m max_s + (sum_s - max_s) / v                       (C.73)
 *     zb-h1              m max_s + max(0, sum_s - max_s - 2(p-1) w)          (C.74)
 *     zb-h2              m max_s + max(0, sum_s - max_s - 3(p-1) w)          (C.75)
 *     dualpipe           m max_s + (p/2 - 1)(F&B + B - 3W), F&B = f + b      (C.76)
 *
 * Equal stages: (m+p-1)(f+b) for 1F1B, exact. Uneven stages: a lower bound. Sources: Narayanan et al. 2021; Qi et al. 2024
 * (arXiv 2401.10241); DeepSeek DualPipe README, an upper bound when W < F.
 */
double plait_pipeline_s(plait_schedule schedule, const plait_pipeline_load *load);

/**
 * Microbatches whose activations stage `stage` holds at its peak, in units of the whole stage.
 *
 *     naive 1;  gpipe m;  1f1b min(p - s, m)                                  (C.77)
 *     interleaved min((2(p-s-1) + (v-1)p + 1) / v, m)                         (C.78)
 *     zb-h1 min(p - s, m) at least, as 1f1b (its peak is p M_B);  zb-h2 min(2p - 2s - 1, m)
 *     dualpipe min(p + 1, m), of both directions together                              (C.79)
 */
double plait_schedule_in_flight(plait_schedule schedule, int stages, int stage, int chunks,
                                int microbatches);

/** Copies of the stage's parameters: 2 for DualPipe, which runs two stages a rank. */
int plait_schedule_copies(plait_schedule schedule);

#endif
