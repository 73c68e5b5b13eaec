/*
 * schedule.c - times, memory, chunks and actions of every schedule, by its descriptor
 *
 * This file has the code that all schedules share; each schedule_<name>.c has descriptors and the
 * code that only its schedules use.
 */
#include "costmodel/schedule/schedule_kind.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

static const schedule_kind *const kinds[PLAIT_SCHEDULES] = {
#define X(constant, word, descriptor) [constant] = &descriptor,
    PLAIT_SCHEDULE_LIST(X)
#undef X
};

const char *const plait_action_letter[PLAIT_ACTION_KINDS + 1] = {"F", "B", "I", "W", NULL};

// ---- properties of schedules ---------------------------------------------------------------

int plait_schedule_chunks(plait_schedule schedule)
{
    return kinds[schedule]->chunks;
}

bool plait_schedule_splits(plait_schedule schedule)
{
    return kinds[schedule]->all_split || kinds[schedule]->split_backwards;
}

bool plait_schedule_alone(plait_schedule schedule)
{
    return kinds[schedule]->alone;
}

const char *plait_schedule_needs(plait_schedule schedule, int ranks, int microbatches)
{
    const schedule_kind *const kind = kinds[schedule];

    if (kind->needs)
        return kind->needs(ranks, microbatches);
    return ranks > 1 || kind->one_rank ? NULL : "pp > 1";
}

int plait_schedule_replicas(plait_schedule schedule)
{
    return kinds[schedule]->copies;
}

int plait_schedule_rank(plait_schedule schedule, int ranks, int chunk)
{
    return !kinds[schedule]->is_v ? chunk % ranks : chunk < ranks ? chunk : 2 * ranks - 1 - chunk;
}

int plait_schedule_chunk(plait_schedule schedule, int ranks, int rank, int v)
{
    return kinds[schedule]->is_v && v > 0 ? 2 * ranks - 1 - rank : v * ranks + rank;
}

/* ---- lower bound on the time of schedules with split backwards, for any order (C.75) ----
 *
 * In a chain each action waits for the one before it, so the pipeline takes at least as long as
 * the actions of the chain together. Two chains pass through rank r:
 *
 *     F of the first microbatch on the ranks before r, then all actions of r
 *     F of one microbatch through the whole pipeline, its I back to r, then all actions of r
 *     except the F that r may have done before that I
 *
 * In a V each rank has two chunks: a microbatch passes the ranks from first to last and back again.
 * DualPipe counts as a V with half the ranks and half the microbatches.
 */

static double input_s(const plait_chunk_time *chunk)
{
    return chunk->backward_s - chunk->weight_s;
}

static double forward_s(const plait_rank_run *run, bool is_v)
{
    return is_v ? run->first.forward_s + run->last.forward_s : run->all.forward_s;
}

/* Sums of times over all ranks of the pipeline, and over the ranks before the current one. */
typedef struct bound_sums {
    double forwards_s;      /* F of all chunks of all ranks */
    double inputs_s;        /* I of the last chunks of all ranks */
    double before_inputs_s; /* I of the last chunks of the ranks before the current one */
    double before_s;        /* F of the first chunks of the ranks before the current one */
} bound_sums;

/*
 * Returns the longer of both chains through one rank. In a V, I comes back to the rank through the
 * last chunks of the ranks before it, else through those of the ranks after it. Without a barrier
 * between steps, the time before the rank's first F does not count.
 */
static double rank_bound_s(const plait_pipeline_shape *shape, bool is_v,
                           const plait_pipeline_load *load, const plait_rank_run *run,
                           const bound_sums *sums, int rank)
{
    const warm_up ahead = kinds[shape->schedule]->ahead(shape, rank);
    const double m = shape->microbatches;
    const double meanwhile_s = smaller(ahead.first, m) * run->first.forward_s +
                               smaller(ahead.last, m) * (is_v ? run->last.forward_s : 0.0);
    const double back_s =
        is_v ? sums->before_inputs_s : sums->inputs_s - sums->before_inputs_s - input_s(&run->last);
    const double wait_s = sums->forwards_s + back_s - meanwhile_s;
    const double backward_s =
        is_v ? run->first.backward_s + run->last.backward_s : run->all.backward_s;
    const double work_s = m * (forward_s(run, is_v) + backward_s);

    return work_s + larger(sums->before_s, wait_s) - (load->no_barrier ? sums->before_s : 0.0);
}

/*
 * Over neighbouring equal ranks both chains change linearly, so their maximum is at the first or
 * the last of these ranks.
 */
static double split_bound_s(plait_schedule schedule, const plait_pipeline_load *load)
{
    const int copies = kinds[schedule]->copies;
    const bool is_v = kinds[schedule]->is_v || copies == 2;
    const plait_pipeline_shape shape = {schedule, load->ranks / copies, load->chunks,
                                        load->microbatches / copies};
    bound_sums sums = {0};
    double least_s = 0.0;

    for (int i = 0, left = shape.ranks; i < load->runs && left > 0; i++) {
        const plait_rank_run *run = &load->run[i];
        const int ranks = run->ranks < left ? run->ranks : left;
        sums.forwards_s += ranks * forward_s(run, is_v);
        sums.inputs_s += ranks * input_s(&run->last);
        left -= ranks;
    }
    for (int i = 0, rank = 0; i < load->runs && rank < shape.ranks; i++) {
        const plait_rank_run *run = &load->run[i];
        const int left = shape.ranks - rank;
        const int steps[] = {(run->ranks < left ? run->ranks : left) - 1, 1};
        for (int end = 0; end < 2; end++) {
            least_s = larger(least_s, rank_bound_s(&shape, is_v, load, run, &sums, rank));
            sums.before_s += steps[end] * run->first.forward_s;
            sums.before_inputs_s += steps[end] * input_s(&run->last);
            rank += steps[end];
        }
    }
    return least_s;
}

// ---- time and memory -----------------------------------------------------------------------

double plait_pipeline_s(plait_schedule schedule, const plait_pipeline_load *load)
{
    return kinds[schedule]->pipeline_s ? kinds[schedule]->pipeline_s(load)
                                       : split_bound_s(schedule, load);
}

bool plait_pipeline_exact(plait_schedule schedule, const plait_pipeline_load *load)
{
    const schedule_kind *const kind = kinds[schedule];

    return kind->exact ? kind->exact(load) : kind->pipeline_s != NULL;
}

double plait_schedule_pairs(plait_schedule schedule, int stages, int chunks, int microbatches)
{
    const plait_pipeline_shape shape = {schedule, stages, chunks, microbatches};

    return kinds[schedule]->pairs ? larger(0.0, kinds[schedule]->pairs(&shape)) : 0.0;
}

bool plait_schedule_has_pairs(plait_schedule schedule, int stages, int chunks)
{
    return plait_schedule_pairs(schedule, stages, chunks, 2 * stages + 1) > 0.0;
}

double plait_schedule_in_flight(plait_schedule schedule, int ranks, int rank, int chunks,
                                int microbatches)
{
    const plait_pipeline_shape shape = {schedule, ranks, chunks, microbatches};

    return smaller(kinds[schedule]->in_flight(&shape, rank), microbatches);
}

double plait_schedule_least_in_flight(plait_schedule schedule, int ranks, int rank,
                                      int microbatches)
{
    return kinds[schedule]->least_in_flight
               ? kinds[schedule]->least_in_flight(ranks, rank, microbatches)
               : plait_schedule_in_flight(schedule, ranks, rank, kinds[schedule]->chunks,
                                          microbatches);
}

void plait_schedule_in_flight_chunks(plait_schedule schedule, int ranks, int rank, int chunks,
                                     int microbatches, const double *weight, double *held)
{
    const plait_pipeline_shape shape = {schedule, ranks, chunks, microbatches};

    if (kinds[schedule]->in_flight_chunks) {
        kinds[schedule]->in_flight_chunks(&shape, rank, weight, held);
        return;
    }
    for (int v = 0; v < chunks; v++)
        held[v] = plait_schedule_in_flight(schedule, ranks, rank, chunks, microbatches);
}

// ---- lists of actions ----------------------------------------------------------------------

char *plait_action_text(const plait_action *action, char *text, size_t size)
{
    snprintf(text, size, "%d%s%d", action->stage, plait_action_letter[action->kind],
             action->microbatch);
    return text;
}

int plait_schedule_group(const plait_pipeline_shape *shape)
{
    const int m = shape->microbatches;
    const int rounds = m / shape->ranks > 1 ? m / shape->ranks : 1;

    if (shape->chunks == 1)
        return 1;
    return m % rounds == 0 ? m / rounds : 0;
}

/*
 * Limit on the chunks of all ranks: far above the layers of any model, and low enough that the
 * number of actions fits into 64 bits.
 */
enum { MOST_CHUNKS = 1 << 20 };

bool plait_schedule_has_actions(const plait_pipeline_shape *shape)
{
    if ((unsigned)shape->schedule >= PLAIT_SCHEDULES || shape->ranks < 1 || shape->chunks < 1 ||
        shape->microbatches < 1 || (int64_t)shape->ranks * shape->chunks > MOST_CHUNKS)
        return false;
    const schedule_kind *const kind = kinds[shape->schedule];

    return kind->fill != NULL && plait_schedule_takes(shape->schedule, shape->chunks) &&
           (kind->chunks != PLAIT_SEVERAL_CHUNKS || plait_schedule_group(shape) > 0) &&
           !(kind->needs_to_list &&
             plait_schedule_needs(shape->schedule, shape->ranks, shape->microbatches));
}

/* Number of actions of one rank; a split backward counts as two actions. */
static int64_t count_of_rank(const plait_pipeline_shape *shape, int rank)
{
    const schedule_kind *const kind = kinds[shape->schedule];

    return (kind->all_split ? 3 : 2) * (int64_t)shape->chunks * shape->microbatches +
           (kind->split_backwards ? kind->split_backwards(shape, rank) : 0);
}

int64_t plait_schedule_action_count(const plait_pipeline_shape *shape)
{
    int64_t count = 0;

    if (!plait_schedule_has_actions(shape))
        return 0;
    for (int rank = 0; rank < shape->ranks; rank++)
        count += count_of_rank(shape, rank);
    return count;
}

/*
 * Lists the actions of every rank. With `pairs`, and if the schedule has pairs, each B changes
 * places with the F after it, and both run as a pair: F B F B F B becomes F (F B) (F B) B.
 */
static plait_status list_actions(const plait_pipeline_shape *shape, bool pairs, plait_arena *arena,
                                 plait_rank_actions *out, plait_error *err)
{
    if (!plait_schedule_has_actions(shape))
        return plait_fail(err, PLAIT_ERROR_RANGE, "schedule",
                          "expected a pipeline whose actions can be listed, found %d ranks, %d "
                          "chunks and %d microbatches",
                          shape->ranks, shape->chunks, shape->microbatches);
    pairs = pairs && kinds[shape->schedule]->copies == 1 &&
            plait_schedule_has_pairs(shape->schedule, shape->ranks, shape->chunks);
    for (int rank = 0; rank < shape->ranks; rank++) {
        const int64_t count = count_of_rank(shape, rank);
        action_list list = {.capacity = (int)count};

        if (count <= INT_MAX)
            list.action = plait_arena_alloc(arena, (size_t)count, sizeof *list.action);
        PLAIT_TRY(plait_check_allocated(list.action, err));
        kinds[shape->schedule]->fill(shape, rank, &list);
        assert(list.count == list.capacity);
        for (int i = 0; pairs && i + 1 < list.count; i++) {
            const plait_action earlier = list.action[i];

            if (earlier.kind != PLAIT_ACTION_BACKWARD ||
                list.action[i + 1].kind != PLAIT_ACTION_FORWARD)
                continue;
            list.action[i] = list.action[i + 1];
            list.action[i].paired = true;
            list.action[++i] = earlier;
        }
        out[rank] = (plait_rank_actions){list.count, list.action};
    }
    return PLAIT_OK;
}

plait_status plait_schedule_actions(const plait_pipeline_shape *shape, plait_arena *arena,
                                    plait_rank_actions *out, plait_error *err)
{
    return list_actions(shape, false, arena, out, err);
}

plait_status plait_schedule_paired_actions(const plait_pipeline_shape *shape, plait_arena *arena,
                                           plait_rank_actions *out, plait_error *err)
{
    return list_actions(shape, true, arena, out, err);
}
