/*
 * schedule.c - times, memory, chunks and actions of every schedule, by its descriptor
 *
 * This file is the same for all schedules; schedule_<name>.c has the differences. A new schedule is
 * a line of PLAIT_SCHEDULE_LIST and such a file.
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

// ---- for plans -----------------------------------------------------------------------------

int plait_schedule_chunks(plait_schedule schedule)
{
    return kinds[schedule]->chunks;
}

bool plait_schedule_alone(plait_schedule schedule)
{
    return kinds[schedule]->alone;
}

const char *plait_schedule_needs(plait_schedule schedule, int ranks, int microbatches)
{
    return kinds[schedule]->needs(ranks, microbatches);
}

int plait_schedule_replicas(plait_schedule schedule)
{
    return kinds[schedule]->copies;
}

int plait_schedule_rank(plait_schedule schedule, int ranks, int chunk)
{
    return kinds[schedule]->rank_of(ranks, chunk);
}

int plait_schedule_chunk(plait_schedule schedule, int ranks, int rank, int v)
{
    return kinds[schedule]->chunk_of(ranks, rank, v);
}

// ---- for prices ----------------------------------------------------------------------------

double plait_pipeline_s(plait_schedule schedule, const plait_pipeline_load *load)
{
    return kinds[schedule]->pipeline_s(load);
}

bool plait_pipeline_exact(plait_schedule schedule, const plait_pipeline_load *load)
{
    return kinds[schedule]->exact(load);
}

double plait_schedule_pairs(plait_schedule schedule, int stages, int chunks, int microbatches)
{
    const schedule_kind *const kind = kinds[schedule];

    return kind->pairs ? larger(0.0, kind->pairs(stages, chunks, microbatches)) : 0.0;
}

bool plait_schedule_has_pairs(plait_schedule schedule, int stages, int chunks)
{
    return plait_schedule_pairs(schedule, stages, chunks, 2 * stages + 1) > 0.0;
}

double plait_schedule_in_flight(plait_schedule schedule, int ranks, int rank, int chunks,
                                int microbatches)
{
    return kinds[schedule]->in_flight(ranks, rank, chunks, microbatches);
}

void plait_schedule_in_flight_chunks(plait_schedule schedule, int ranks, int rank, int chunks,
                                     int microbatches, const double *weight, double *held)
{
    const schedule_kind *const kind = kinds[schedule];

    if (kind->held) {
        kind->held(ranks, rank, chunks, microbatches, weight, held);
        return;
    }
    for (int v = 0; v < chunks; v++)
        held[v] = kind->in_flight(ranks, rank, chunks, microbatches);
}

// ---- lists of actions ----------------------------------------------------------------------

char *plait_action_text(const plait_action *action, char *text, size_t size)
{
    snprintf(text, size, "%d%s%d", action->stage, plait_action_letter[action->kind],
             action->microbatch);
    return text;
}

/*
 * Far above the layers of any model, and low enough that the number of actions fits into 64 bits.
 */
enum { MOST_CHUNKS = 1 << 20 };

bool plait_schedule_has_actions(const plait_pipeline_shape *shape)
{
    return (unsigned)shape->schedule < PLAIT_SCHEDULES && shape->ranks >= 1 && shape->chunks >= 1 &&
           shape->microbatches >= 1 && (int64_t)shape->ranks * shape->chunks <= MOST_CHUNKS &&
           kinds[shape->schedule]->has_actions != NULL &&
           kinds[shape->schedule]->has_actions(shape);
}

/* A forward and a backward for each microbatch and chunk, and one more for each split backward. */
static int64_t count_of_rank(const plait_pipeline_shape *shape, int rank)
{
    const schedule_kind *const kind = kinds[shape->schedule];

    return 2 * (int64_t)shape->chunks * shape->microbatches +
           (kind->split_backwards != NULL ? kind->split_backwards(shape, rank) : 0);
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

/* Turns F B F B .. B into F (F B) (F B) .. B B, in place. */
static void pair_up(plait_action *action, int count)
{
    for (int i = 0; i + 1 < count; i++) {
        const plait_action earlier = action[i];

        if (earlier.kind != PLAIT_ACTION_BACKWARD || action[i + 1].kind != PLAIT_ACTION_FORWARD)
            continue;
        action[i] = action[i + 1];
        action[i].paired = true;
        action[++i] = earlier;
    }
}

/* Allocates the list of one rank with the counted number of actions; the descriptor fills it. */
static plait_status fill_rank(const plait_pipeline_shape *shape, int rank, plait_arena *arena,
                              action_list *list, plait_error *err)
{
    const int64_t room = count_of_rank(shape, rank);

    *list = (action_list){.room = (int)room};
    if (room <= INT_MAX)
        list->action = plait_arena_alloc(arena, (size_t)room, sizeof *list->action);
    PLAIT_TRY(plait_check_allocated(list->action, err));
    kinds[shape->schedule]->fill(shape, rank, list);
    assert(list->count == list->room);
    return PLAIT_OK;
}

static plait_status fill_ranks(const plait_pipeline_shape *shape, bool pairs, plait_arena *arena,
                               plait_rank_actions *out, plait_error *err)
{
    for (int rank = 0; rank < shape->ranks; rank++) {
        action_list list;

        PLAIT_TRY(fill_rank(shape, rank, arena, &list, err));
        if (pairs)
            pair_up(list.action, list.count);
        out[rank] = (plait_rank_actions){list.count, list.action};
    }
    return PLAIT_OK;
}

static plait_status check_shape(const plait_pipeline_shape *shape, plait_error *err)
{
    return plait_schedule_has_actions(shape)
               ? PLAIT_OK
               : plait_fail(err, PLAIT_ERROR_RANGE, "schedule",
                            "expected a pipeline whose actions can be listed, found %d ranks, %d "
                            "chunks and %d microbatches",
                            shape->ranks, shape->chunks, shape->microbatches);
}

plait_status plait_schedule_actions(const plait_pipeline_shape *shape, plait_arena *arena,
                                    plait_rank_actions *out, plait_error *err)
{
    PLAIT_TRY(check_shape(shape, err));
    return fill_ranks(shape, false, arena, out, err);
}

plait_status plait_schedule_paired_actions(const plait_pipeline_shape *shape, plait_arena *arena,
                                           plait_rank_actions *out, plait_error *err)
{
    PLAIT_TRY(check_shape(shape, err));
    const bool pairs = kinds[shape->schedule]->copies == 1 &&
                       plait_schedule_has_pairs(shape->schedule, shape->ranks, shape->chunks);

    return fill_ranks(shape, pairs, arena, out, err);
}
