/*
 * schedule_chunks.c - shared by schedules: chunks of ranks, and alternating forwards and backwards
 *
 *     p = 4, m = 6        ahead  lag of W      rank 1
 *     naive                 0                  F0 B0 F1 B1 ..
 *     gpipe                 m                  F0 F1 .. F5 B0 B1 .. B5
 *     1f1b               p-s-1                 F0 F1 | F2 B0 | F3 B1 | .. B4 B5
 *     zb-h1              p-s-1     s           F0 F1 | F2 I0 | F3 I1 W0 | F4 I2 W1 | ..
 *     zb-h2             2(p-s-1)   2s          F0 .. F3 | F4 I0 | F5 I1 | I2 W0 | ..
 */
#include "costmodel/schedule/schedule_kind.h"

#include <stddef.h>

int schedule_rank_in_turn(int ranks, int chunk)
{
    return chunk % ranks;
}

int schedule_chunk_in_turn(int ranks, int rank, int v)
{
    return v * ranks + rank;
}

int schedule_rank_in_v(int ranks, int chunk)
{
    return chunk < ranks ? chunk : 2 * ranks - 1 - chunk;
}

int schedule_chunk_in_v(int ranks, int rank, int v)
{
    return v == 0 ? rank : 2 * ranks - 1 - rank;
}

const char *schedule_needs_stages(int ranks, int microbatches)
{
    (void)microbatches;
    return ranks > 1 ? NULL : "pp > 1";
}

bool schedule_is_plain(const plait_pipeline_shape *shape)
{
    return shape->chunks == 1;
}

bool schedule_has_two_chunks(const plait_pipeline_shape *shape)
{
    return shape->chunks == 2 && shape->ranks > 1;
}

int64_t schedule_all_split(const plait_pipeline_shape *shape, int rank)
{
    (void)rank;
    return (int64_t)shape->chunks * shape->microbatches;
}

/*
 * Pair k is the forward of microbatch k + ahead and the backward of microbatch k; W of microbatch
 * k - lag follows.
 */
void schedule_fill_in_turn(const plait_pipeline_shape *shape, int rank, int ahead, int lag,
                           action_list *out)
{
    const int m = shape->microbatches;
    const bool split = lag >= 0;

    for (int k = 0; k < ahead && k < m; k++)
        action_append(out, PLAIT_ACTION_FORWARD, rank, k);
    for (int k = 0; k < m; k++) {
        if (ahead < m - k)
            action_append(out, PLAIT_ACTION_FORWARD, rank, ahead + k);
        action_append(out, split ? PLAIT_ACTION_INPUT : PLAIT_ACTION_BACKWARD, rank, k);
        if (split && k >= lag)
            action_append(out, PLAIT_ACTION_WEIGHT, rank, k - lag);
    }
    for (int k = m > lag ? m - lag : 0; split && k < m; k++)
        action_append(out, PLAIT_ACTION_WEIGHT, rank, k);
}
