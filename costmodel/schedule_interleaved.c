/*
 * schedule_interleaved.c - several chunks a rank, taken in turn by groups of microbatches
 *
 *     p = 2, v = 2, m = 4, groups of 2; rank 0 has stages 0 and 2, aFk is F of microbatch k in stage a
 *
 *     0F0 0F1 2F0 2F1 | 0F2 2B0 | 0F3 2B1 | 2F2 0B0 | 2F3 0B1 | 2B2 2B3 0B2 0B3
 *
 * Forwards visit the chunks from first to last, backwards from last to first.
 */
#include "schedule_kind.h"

/* The bubble is passed in chunks of 1/v: m max_s + (sum_s - max_s) / v, exact for equal stages. (C.73) */
static double pipeline_s(const plait_pipeline_load *load)
{
    return schedule_steady_s(load) + schedule_others_s(load) / load->chunks;
}

/*
 * Rank s is 2(p - s - 1) + (v - 1) p visits ahead of its first backward, each of 1/v of its layers:
 * Megatron-LM's warm-up count. (C.78)
 */
static double in_flight(int ranks, int stage, int chunks, int microbatches)
{
    const double after = ranks - 1.0 - stage;

    return smaller((2.0 * after + (chunks - 1.0) * ranks + 1.0) / chunks, microbatches);
}

// ---- spelled out ---------------------------------------------------------------------------

int plait_schedule_group(const plait_pipeline_shape *shape)
{
    const int m = shape->microbatches;
    const int rounds = m / shape->ranks > 1 ? m / shape->ranks : 1;

    if (shape->chunks == 1)
        return 1;
    return m % rounds == 0 ? m / rounds : 0;
}

static bool has_actions(const plait_pipeline_shape *shape)
{
    return shape->chunks > 1 && plait_schedule_group(shape) > 0;
}

typedef struct visit {
    int chunk;
    int microbatch;
} visit;

/* The k-th visit of a rank to any of its chunks. */
static visit visit_at(const plait_pipeline_shape *shape, int group, int k)
{
    const int round = k / (group * shape->chunks);
    const int inside = k % (group * shape->chunks);

    return (visit){inside / group, round * group + inside % group};
}

static void append_forward(const plait_pipeline_shape *shape, int rank, int group, int k,
                           action_list *out)
{
    const visit at = visit_at(shape, group, k);

    action_append(out, PLAIT_ACTION_FORWARD, at.chunk * shape->ranks + rank, at.microbatch);
}

static void append_backward(const plait_pipeline_shape *shape, int rank, int group, int k,
                            action_list *out)
{
    const visit at = visit_at(shape, group, k);
    const int chunk = shape->chunks - 1 - at.chunk;

    action_append(out, PLAIT_ACTION_BACKWARD, chunk * shape->ranks + rank, at.microbatch);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const int group = plait_schedule_group(shape);
    const int visits = shape->chunks * shape->microbatches;
    const int ahead = 2 * (shape->ranks - 1 - rank) + (shape->chunks - 1) * group;

    for (int k = 0; k < ahead && k < visits; k++)
        append_forward(shape, rank, group, k, out);
    for (int k = 0; k < visits; k++) {
        if (ahead < visits - k)
            append_forward(shape, rank, group, ahead + k, out);
        append_backward(shape, rank, group, k, out);
    }
}

const schedule_kind schedule_interleaved = {
    .chunked = true,
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .in_flight = in_flight,
    .has_actions = has_actions,
    .fill = fill,
};
