/*
 * stage_cost.c - the parts of a stage, and their sum
 *
 *     stage 0 of 2, 8 layers, full:2     embedding x1, layer x2 (full), layer x6
 *     stage 1, one prediction module     head x1, table x1, mtp x1, mtp head x1, layer x2 (full), ..
 */
#include "costmodel/stage/stage_cost.h"

// ---- parts ---------------------------------------------------------------------------------

/* Upper bound on the number of a stage's parts that are ends of the model. */
enum { MOST_ENDS = ROW_PRICES - ROW_EMBEDDING };

int stage_parts_most(int layers)
{
    return layers + MOST_ENDS;
}

static bool same_choice(plait_choice a, plait_choice b)
{
    return a.recompute.kind == b.recompute.kind && a.recompute.modules == b.recompute.modules &&
           a.offload_acts == b.offload_acts;
}

static void add_part(stage_part *part, int *count, int row, int more, plait_choice choice)
{
    for (int i = 0; i < *count; i++)
        if (part[i].row == row && same_choice(part[i].choice, choice)) {
            part[i].count = (short)(part[i].count + more);
            return;
        }
    if (more > 0)
        part[(*count)++] = (stage_part){(short)row, (short)more, choice};
}

/*
 * Adds the embedding, the head and the prediction modules. The stage with the loss computes the
 * logits of these modules. A stage without the embedding has a copy of its table for a tied head or
 * for a prediction module. (C.81)
 */
static void add_ends(const plait_model *model, const plait_stage *stage, stage_part *part,
                     int *count)
{
    const plait_choice none = {.offload_acts = 0};
    bool embedding = false, loss = false;
    int mtp = 0;

    for (int c = 0; c < stage->chunks; c++) {
        embedding = embedding || stage->chunk[c].embedding;
        loss = loss || stage->chunk[c].loss;
        mtp += stage->chunk[c].mtp;
    }
    add_part(part, count, ROW_EMBEDDING, embedding, none);
    add_part(part, count, ROW_HEAD, loss, none);
    add_part(part, count, ROW_TABLE, !embedding && ((loss && model->tied) || mtp > 0), none);
    add_part(part, count, ROW_MTP, mtp, rest_choice(&stage->degrees));
    add_part(part, count, ROW_MTP_HEAD, loss ? model->mtp_layers : 0, none);
}

stage_parts stage_parts_of(const plait_model *model, const plait_stage *stage, stage_part *part)
{
    int count = 0;
    int at = 0;

    add_ends(model, stage, part, &count);
    for (int c = 0; c < stage->chunks; c++)
        for (int i = stage->chunk[c].first; i < stage->chunk[c].last; i++, at++) {
            plait_choice choice = {.offload_acts = stage->degrees.offload_acts};
            if (stage->recompute)
                choice.recompute = stage->recompute[at];
            choice.recompute.layers = 0;
            add_part(part, &count, model->layer_kind[i], 1, choice);
        }
    return (stage_parts){count, part, 1.0};
}

/*
 * Lists the parts of one chunk by viewing it as a stage with the recompute choices of its own
 * layers.
 */
stage_parts stage_parts_of_chunk(const plait_model *model, const plait_stage *stage, int v,
                                 stage_part *part)
{
    plait_stage alone = *stage;
    int before = 0;

    for (int c = 0; c < v; c++)
        before += stage->chunk[c].last - stage->chunk[c].first;
    alone.chunks = 1;
    alone.chunk = &stage->chunk[v];
    alone.recompute = stage->recompute ? stage->recompute + before : NULL;
    return stage_parts_of(model, &alone, part);
}

/*
 * Joins the recompute choices of two stages in one list in `arena`. Returns false when out of
 * memory.
 */
static bool join_recompute(const plait_stage *a, const plait_stage *b, plait_arena *arena,
                           plait_stage *out)
{
    plait_recompute *both =
        plait_arena_alloc(arena, (size_t)(a->layers + b->layers) + 1, sizeof *both);

    if (!both)
        return false;
    for (int i = 0; i < a->layers; i++)
        both[i] = a->recompute[i];
    for (int i = 0; i < b->layers; i++)
        both[a->layers + i] = b->recompute[i];
    out->recompute = both;
    return true;
}

bool stage_of_rank(const plait_plan *plan, int rank, plait_arena *arena, plait_stage *out)
{
    const plait_stage *own = &plan->stage[rank];
    const plait_stage *mirrored = &plan->stage[plan->stages - 1 - rank];

    *out = *own;
    if (plait_schedule_replicas((plait_schedule)plan->degrees.schedule) == 1)
        return true;
    plait_chunk *chunk = plait_arena_alloc(arena, 2, sizeof *chunk);
    if (!chunk)
        return false;
    chunk[0] = own->chunk[0];
    chunk[1] = mirrored->chunk[0];
    out->chunks = 2;
    out->chunk = chunk;
    out->layers = own->layers + mirrored->layers;
    return !own->recompute || join_recompute(own, mirrored, arena, out);
}

bool stage_chunks_in_flight(const plait_degrees *d, const plait_chunk *chunk, int rank,
                            int microbatches, double *in_flight)
{
    double layers[PLAIT_MAX_LAYERS];
    bool uneven = false;

    if (d->vpp == 1)
        return false;
    for (int v = 0; v < d->vpp; v++) {
        layers[v] = chunk[v].last - chunk[v].first;
        uneven = uneven || layers[v] != layers[0];
    }
    if (uneven)
        plait_schedule_in_flight_chunks((plait_schedule)d->schedule, d->pp, rank, d->vpp,
                                        microbatches, layers, in_flight);
    return uneven;
}

// ---- sums ----------------------------------------------------------------------------------

static bool have_row(const stage_parts *parts, int row)
{
    for (int i = 0; i < parts->count; i++)
        if (parts->part[i].row == row)
            return true;
    return false;
}

stage_load stage_load_of(const stage_rows *rows, const stage_parts *parts, double in_flight)
{
    stage_load load = {
        .count = 1,
        .in_flight = in_flight,
        .embedding = have_row(parts, ROW_EMBEDDING),
        .loss = have_row(parts, ROW_HEAD),
    };

    for (int i = 0; i < parts->count; i++) {
        const stage_part *part = &parts->part[i];
        const layer_price *price = &rows->row->price[part->row];
        const layer_time time =
            layer_time_of(rows->problem, price, &rows->gather->layer[part->row], part->choice);
        stage_load_add(&load, parts->share * part->count, &time);
        stage_load_add_weights(&load, parts->share * part->count, price);
    }
    load.first = load.last = chunk_time_of(&load);
    load.held_bytes = in_flight * load.saved_bytes;
    return load;
}

void stage_cost_add_state(const stage_rows *rows, stage_cost *cost)
{
    cost->state = stage_state_of(rows->problem, rows->degrees, rows->row, &rows->routes->state,
                                 rows->routes->ways, &cost->load);
    cost->buffers_bytes = stage_buffer_bytes(rows->problem, rows->degrees, rows->row, &cost->load);
}

void stage_cost_complete(const stage_rows *rows, stage_cost *cost)
{
    stage_cost_add_state(rows, cost);
    cost->sync = stage_sync_of(rows->problem, rows->degrees, rows->routes, &cost->load);
}

stage_cost stage_cost_of(const stage_rows *rows, const stage_parts *parts, double in_flight)
{
    stage_cost cost = {.load = stage_load_of(rows, parts, in_flight)};

    stage_cost_complete(rows, &cost);
    return cost;
}

void stage_terms(const stage_rows *rows, const stage_parts *parts, double terms[LAYER_TERMS])
{
    double of_part[LAYER_TERMS];

    for (int t = 0; t < LAYER_TERMS; t++)
        terms[t] = 0.0;
    for (int i = 0; i < parts->count; i++) {
        const stage_part *part = &parts->part[i];
        layer_terms_of(rows->problem, &rows->row->price[part->row], &rows->gather->layer[part->row],
                       part->choice, of_part);
        for (int t = 0; t < LAYER_TERMS; t++)
            terms[t] += parts->share * part->count * of_part[t];
    }
}

double stage_away_bytes(const layer_row *row, const stage_parts *parts)
{
    double bytes = 0.0;

    for (int i = 0; i < parts->count; i++)
        bytes += parts->share * parts->part[i].count *
                 layer_away_bytes(&row->price[parts->part[i].row], parts->part[i].choice);
    return bytes;
}

plait_stage_cost stage_cost_report(const stage_cost *cost, const plait_memory *memory)
{
    return (plait_stage_cost){
        .forward_s = cost->load.forward_s,
        .backward_s = cost->load.backward_s,
        .memory_bytes = memory->peak_bytes,
        .allocated_bytes = memory->allocated_bytes,
        .reserved_bytes = memory->reserved_bytes,
        .in_flight = cost->load.in_flight,
    };
}
