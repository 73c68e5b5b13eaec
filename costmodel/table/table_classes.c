/*
 * table_classes.c - finds classes of equal ranks and chunks when the keys of a pipeline change
 *
 *     gpt3-175b, pp 8      rank 0 with the embedding | ranks 1 to 6 | rank 7 with the loss
 */
#include <string.h>

#include "plan/split.h"
#include "costmodel/table/table_private.h"

/*
 * Counts the layers of each kind among the first N layers of each chunk, for every N up to the
 * length of the longest chunk, and returns this length. full:N needs these counts, since it
 * recomputes the first N / vpp layers of each chunk.
 */
static int count_leading(const plait_table *table, const plait_stage *stage,
                         unsigned short *leading)
{
    const plait_model *model = table->problem.model;
    const size_t kinds = (size_t)table->kinds;
    bool more = true;
    int depth = 0;

    memset(leading, 0, kinds * sizeof *leading);
    while (more) {
        unsigned short *next = leading + kinds;
        more = false;
        for (int c = 0; c < stage->chunks; c++) {
            const int layer = stage->chunk[c].first + depth;
            if (layer >= stage->chunk[c].last)
                continue;
            if (!more)
                memcpy(next, leading, kinds * sizeof *leading);
            more = true;
            next[model->layer_kind[layer]]++;
        }
        leading = next;
        depth += more;
    }
    return depth;
}

static bool same_ends(const stage_class *a, const stage_class *b)
{
    if (a->ends != b->ends)
        return false;
    for (int i = 0; i < a->ends; i++)
        if (a->parts.part[i].row != b->parts.part[i].row ||
            a->parts.part[i].count != b->parts.part[i].count)
            return false;
    return true;
}

static bool same_class(const plait_table *table, const stage_class *a, const stage_class *b)
{
    const size_t size = (size_t)(a->depth + 1) * (size_t)table->kinds * sizeof *a->leading;

    return a->uneven == 0 && b->uneven == 0 && a->depth == b->depth && a->first == b->first &&
           a->last == b->last && same_ends(a, b) && memcmp(a->leading, b->leading, size) == 0;
}

/* Returns the class of these chunks, and writes its parts and counts after those of the list. */
static stage_class class_of_chunks(const plait_table *table, const plait_degrees *d,
                                   const plait_chunk *chunk, int chunks, const class_list *list)
{
    const plait_stage stage = {.chunks = chunks, .chunk = chunk, .degrees = *d};
    unsigned short *leading = list->leading + list->leads;
    stage_class class = {.count = 1, .first = -1, .leading = leading};

    class.depth = count_leading(table, &stage, leading);
    class.parts = stage_parts_of(table->problem.model, &stage, list->part + list->parts);
    while (class.ends < class.parts.count &&
           class.parts.part[class.ends].row >= PLAIT_MAX_LAYER_KINDS)
        class.ends++;
    return class;
}

/* Returns the index of an equal class in the list, or adds the class. */
static int place_class(const plait_table *table, class_list *list, const stage_class *class)
{
    int known = list->count - 1; // equal stages are usually neighbours

    while (known >= 0 && !same_class(table, &list->of[known], class))
        known--;
    if (known >= 0) {
        list->of[known].count++;
        list->of[known].in_flight = larger(list->of[known].in_flight, class->in_flight);
        return known;
    }
    list->of[list->count] = *class;
    list->leads += (size_t)(class->depth + 1) * (size_t)table->kinds;
    list->parts += (size_t) class->parts.count;
    list->holds += (size_t) class->uneven;
    return list->count++;
}

static int place_chunk(plait_table *table, const plait_degrees *d, const plait_chunk *chunk)
{
    const stage_class class = class_of_chunks(table, d, chunk, 1, &table->chunks);

    return place_class(table, &table->chunks, &class);
}

/*
 * Copies the chunks of one rank: those of its stage and, under DualPipe, those of the mirrored
 * stage.
 */
static int chunks_of_rank(const plait_degrees *d, const plait_chunk *all, int rank,
                          plait_chunk *out)
{
    const plait_schedule schedule = (plait_schedule)d->schedule;
    int count = 0;

    for (int v = 0; v < d->vpp; v++)
        out[count++] = all[plait_schedule_chunk(schedule, d->pp, rank, v)];
    if (plait_schedule_replicas(schedule) > 1)
        out[count++] = all[d->pp - 1 - rank];
    return count;
}

/*
 * If a rank's chunks have different numbers of layers, lists them with their microbatches in
 * flight.
 */
static void add_uneven_chunks(plait_table *table, const plait_degrees *d, const plait_chunk *chunk,
                              stage_class *class)
{
    double in_flight[PLAIT_MAX_LAYERS];
    chunk_in_flight *held = table->ranks.held + table->ranks.holds;

    if (!stage_chunks_in_flight(d, chunk, class->stage, table->microbatches, in_flight))
        return;
    for (int v = 0; v < d->vpp; v++)
        held[v] = (chunk_in_flight){place_chunk(table, d, &chunk[v]), in_flight[v]};
    class->held = held;
    class->uneven = d->vpp;
}

/*
 * Returns the class of a rank. Ranks of one class have first chunks of one class and last chunks of
 * one class.
 */
static stage_class class_of_rank(plait_table *table, const plait_degrees *d, const plait_chunk *all,
                                 int rank)
{
    plait_chunk chunk[PLAIT_MAX_LAYERS];
    const int chunks = chunks_of_rank(d, all, rank, chunk);
    stage_class class = class_of_chunks(table, d, chunk, chunks, &table->ranks);

    class.stage = rank;
    class.parts.share = 1.0 / plait_schedule_replicas((plait_schedule)d->schedule);
    class.in_flight = plait_schedule_in_flight((plait_schedule)d->schedule, d->pp, rank, d->vpp,
                                               table->microbatches);
    if (chunks > 1) {
        class.first = place_chunk(table, d, &chunk[0]);
        class.last = place_chunk(table, d, &chunk[chunks - 1]);
        add_uneven_chunks(table, d, chunk, &class);
    }
    return class;
}

static void add_to_runs(plait_table *table, int class)
{
    if (table->runs > 0 && table->run[table->runs - 1].cost == class)
        table->run[table->runs - 1].stages++;
    else
        table->run[table->runs++] = (stage_run){class, 1};
}

void table_assign_layers(const plait_table *table, const plait_degrees *d,
                         plait_chunk chunk[PLAIT_MAX_LAYERS])
{
    if (!plait_chunks_of(table->problem.model, d, chunk))
        memset(chunk, 0, PLAIT_MAX_LAYERS * sizeof *chunk);
}

/*
 * Finds the classes of a point. Most pipelines have three or four classes, for any number of
 * stages. The lists use arrays that plait_table_new has allocated.
 */
void table_classify(plait_table *table, const plait_degrees *d)
{
    plait_chunk chunk[PLAIT_MAX_LAYERS];

    table->microbatches = plait_degrees_microbatches(d, table->problem.job.gbs);
    if (class_cache_get(table->classes, d, table))
        return;
    table_assign_layers(table, d, chunk);
    table->runs = 0;
    table->ranks.count = table->chunks.count = 0;
    table->ranks.leads = table->chunks.leads = 0;
    table->ranks.parts = table->chunks.parts = 0;
    table->ranks.holds = table->chunks.holds = 0;
    for (int s = 0; s < d->pp; s++) {
        const stage_class class = class_of_rank(table, d, chunk, s);
        add_to_runs(table, place_class(table, &table->ranks, &class));
    }
    class_cache_put(table->classes, d, table);
}
