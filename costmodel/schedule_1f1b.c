/*
 * schedule_1f1b.c - schedules of one stage a rank: some forwards ahead, then F and B in turn
 *
 *     p = 4, m = 6        ahead  lag of W      rank 1
 *     naive                 0                  F0 B0 F1 B1 ..
 *     gpipe                 m                  F0 F1 .. F5 B0 B1 .. B5
 *     1f1b               p-s-1                 F0 F1 | F2 B0 | F3 B1 | .. B4 B5
 *     zb-h1              p-s-1     s           F0 F1 | F2 I0 | F3 I1 W0 | F4 I2 W1 | ..
 *     zb-h2             2(p-s-1)   2s          F0 .. F3 | F4 I0 | F5 I1 | I2 W0 | ..
 *
 * A weight gradient waits so long that each rank holds equally much: what has passed forward only,
 * and what W still needs, together p microbatches under zb-h1 and 2p - 1 under zb-h2.
 */
#include "schedule_fill.h"

typedef struct alternation {
    int ahead; /* forwards before the first backward, beside the one that it is paired with */
    int lag;   /* pairs between an I and its W */
    bool split;
} alternation;

static alternation alternation_of(const plait_pipeline_shape *shape, int rank)
{
    const int after = shape->ranks - 1 - rank;

    switch (shape->schedule) {
    case PLAIT_GPIPE:
        return (alternation){.ahead = shape->microbatches};
    case PLAIT_1F1B:
        return (alternation){.ahead = after};
    case PLAIT_ZB_H1:
        return (alternation){.ahead = after, .lag = rank, .split = true};
    case PLAIT_ZB_H2:
        return (alternation){.ahead = 2 * after, .lag = 2 * rank, .split = true};
    default:
        return (alternation){.ahead = 0};
    }
}

void schedule_fill_1f1b(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const alternation turn = alternation_of(shape, rank);
    const int m = shape->microbatches;

    for (int k = 0; k < turn.ahead && k < m; k++)
        action_append(out, PLAIT_ACTION_FORWARD, rank, k);
    for (int k = 0; k < m; k++) {
        if (turn.ahead < m - k)
            action_append(out, PLAIT_ACTION_FORWARD, rank, turn.ahead + k);
        action_append(out, turn.split ? PLAIT_ACTION_INPUT : PLAIT_ACTION_BACKWARD, rank, k);
        if (turn.split && k >= turn.lag)
            action_append(out, PLAIT_ACTION_WEIGHT, rank, k - turn.lag);
    }
    for (int k = m > turn.lag ? m - turn.lag : 0; turn.split && k < m; k++)
        action_append(out, PLAIT_ACTION_WEIGHT, rank, k);
}
