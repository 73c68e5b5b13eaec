/*
 * bound_pipeline.c - lower bounds of a pipeline for any schedule and split (C.91, C.97)
 *
 * The slowest stage takes at least the mean time of all stages, and the fullest stage needs at
 * least their mean memory. Some rank has at least ceil(layers / ranks) layers of each kind: with 61
 * layers on 16 ranks, one rank has at least 4, while the mean is 3.8.
 */
#include <math.h>

#include "base/hash.h"
#include "costmodel/table/table_private.h"

/*
 * Lower bounds for one rank, without bubble, sends and buffers of the ends, with one microbatch in
 * flight.
 */
typedef struct rank_floor {
    double seconds; /* time of one microbatch */
    double bytes;   /* bytes of tensors, without fragmentation and driver context */
} rank_floor;

static plait_price price_of_rank(const plait_table *table, rank_floor rank)
{
    const plait_residents *keep = &table->problem.runtime->keep;

    return (plait_price){
        .step_s = rank.seconds,
        .peak_bytes =
            keep->fragmentation * (rank.bytes + keep->workspace_bytes) + keep->context_bytes,
    };
}

/*
 * Lower bound on the number of layers of one kind on the rank with most of them, if the model has
 * `count`. If ranks have two stages, half of both stages' layers count.
 */
static double most_of_rank(const plait_table *table, int count, int pp)
{
    return ceil((double)table->replicas * count / pp) / table->replicas;
}

/* Returns the parameters of `layers` layers of a kind. */
static stage_load load_of_layers(const layer_row *row, int kind, double layers)
{
    stage_load load = {.count = 1};

    stage_load_add_weights(&load, layers, &row->price[kind]);
    return load;
}

// ---- after the row is priced -----------------------------------------------------------------

/* Delayed weight gradients save the most, unless measured runs support only part of it (C.345). */
static double hidden_s(const stage_load *load)
{
    return larger(load->paired_s[PLAIT_EP_OVERLAP_PAIRS],
                  load->paired_s[PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD]);
}

/*
 * Returns the bound of C.91 for one microbatch. The state of the mean rank is computed from the
 * whole model, since the ends have other formats than the layers.
 */
plait_price plait_microbatch_bound(plait_table *table, const plait_degrees *d)
{
    const plait_problem *problem = &table->problem;
    const plait_degrees most_sharded = min_memory_degrees(table, d);
    const plait_state_bytes bytes = min_memory_state_of(table, &most_sharded);
    const double stages = d->pp;

    table_select_layers(table, d);
    table_select_min_memory(table, PLAIT_EP_OVERLAP_NONE);
    const stage_load *whole = &table->min_memory_whole;
    // Upper bound on the time that fused boundaries save: at most layers + 1 boundaries exist.
    const double fused_s = (problem->model->layers + 1.0) * table->row.boundary_s;
    rank_floor most = {
        .seconds =
            larger(0.0, whole->forward_s + whole->backward_s - fused_s - hidden_s(whole)) / stages,
        .bytes = (min_memory_state_bytes(problem, &table->row, &most_sharded, &bytes, whole) +
                  whole->saved_bytes) /
                 stages,
    };
    for (int i = 0; i < table->whole.parts.count; i++) {
        const stage_part *part = &table->whole.parts.part[i];
        if (part->row >= table->kinds)
            continue;
        const double layers = most_of_rank(table, part->count, d->pp);
        stage_load load = load_of_layers(&table->row, part->row, layers);
        stage_load_add(&load, layers, &table->min_memory_time[part->row]);
        most.seconds =
            larger(most.seconds, load.forward_s + load.backward_s - fused_s - hidden_s(&load));
        most.bytes = larger(
            most.bytes, min_memory_state_bytes(problem, &table->row, &most_sharded, &bytes, &load) +
                            load.saved_bytes);
    }
    plait_price price = price_of_rank(table, most);
    price.busy_s = whole->busy_s / stages;
    price.moving_s = whole->moving_s / stages;
    return price;
}

plait_price plait_pipeline_bound(plait_table *table, const plait_degrees *d)
{
    const double m = plait_degrees_microbatches(d, table->problem.job.gbs);
    plait_price price = plait_microbatch_bound(table, d);

    price.step_s = larger(m * price.step_s, plait_pipeline_floor_s(table, d));
    price.busy_s *= m;
    price.moving_s *= m;
    return price;
}

// ---- layers that fit -----------------------------------------------------------------------

/* Time and bytes of one layer of a kind with one choice of recomputation and offload. */
typedef struct layer_need {
    double seconds;     /* forward and backward of one microbatch */
    double state_bytes; /* parameters, gradients and optimizer state */
    double saved_bytes; /* activations of one microbatch in flight */
} layer_need;

/* Time and memory that one rank has for its layers. */
typedef struct rank_limit {
    double seconds;   /* step time per microbatch */
    double bytes;     /* memory for layers */
    double in_flight; /* smallest number of microbatches in flight */
} rank_limit;

static const stage_part *commonest_kind(const plait_table *table)
{
    const stage_part *most = NULL;

    for (int i = 0; i < table->whole.parts.count; i++) {
        const stage_part *const part = &table->whole.parts.part[i];
        if (part->row < table->kinds && (!most || part->count > most->count))
            most = part;
    }
    return most;
}

/* Fused boundaries save at most one at each end of a layer. */
static layer_need need_of(plait_table *table, const plait_degrees *d, int kind, double state_bytes,
                          plait_choice choice)
{
    const layer_time *const time = &table_chosen_times(table, choice)[kind];
    const double paired_s = d->ep_overlap == PLAIT_EP_OVERLAP_NONE
                                ? 0.0
                                : table->row.price[kind].paired_s[d->ep_overlap];
    const double saved_s = paired_s + 2.0 * table->row.boundary_s;

    return (layer_need){
        .seconds = larger(0.0, time->forward_s + time->backward_s - saved_s),
        .state_bytes = state_bytes,
        .saved_bytes = time->saved_bytes,
    };
}

/*
 * Lower bound on the microbatches that a rank has in flight of each of its layers, with any number
 * of chunks. The last of interleaved chunks has fewest at the end of the warm-up. (C.260)
 */
static double least_in_flight(const plait_degrees *d, int rank, int microbatches)
{
    const plait_schedule schedule = (plait_schedule)d->schedule;
    const int last = 2 * (d->pp - rank) - 1;

    if (schedule != PLAIT_INTERLEAVED)
        return plait_schedule_in_flight(schedule, d->pp, rank,
                                        plait_schedule_takes(schedule, 1) ? 1 : 2, microbatches);
    return microbatches < d->pp ? 1.0 : last < d->pp ? last : d->pp;
}

/* Rounds down to whole layers, with a margin for rounding errors. */
static double whole_layers(double layers)
{
    return layers > 0.0 ? floor(smaller(layers, PLAIT_MAX_LAYERS) * (1.0 + 1e-9)) : 0.0;
}

/* Returns how many layers with this need a rank can have, not rounded. */
static double most_layers(const rank_limit *rank, const layer_need *layer)
{
    return smaller(rank->seconds / layer->seconds,
                   rank->bytes / (layer->state_bytes + rank->in_flight * layer->saved_bytes));
}

/*
 * As most_layers, if some layers are `fast` and the others `small`. With x small layers among n,
 *
 *     n fast.seconds + x added_s <= seconds
 *     n fast_bytes - x less_bytes <= bytes
 *
 * The sum of both, weighted so that x cancels, limits n. It holds for further choices too if they
 * are above the line through both.
 */
static double most_mixed_layers(const rank_limit *rank, const layer_need *fast,
                                const layer_need *small)
{
    const double less_bytes = rank->in_flight * (fast->saved_bytes - small->saved_bytes);
    const double added_s = small->seconds - fast->seconds;
    const double fast_bytes = fast->state_bytes + rank->in_flight * fast->saved_bytes;

    return (rank->seconds * less_bytes + rank->bytes * added_s) /
           (fast->seconds * less_bytes + fast_bytes * added_s);
}

/* Returns whether the ranks can hold all layers if all have the same choice. */
static bool ranks_hold(const rank_limit *rank, int ranks, int layers, const layer_need *layer)
{
    double held = 0.0;

    for (int r = 0; r < ranks && held < layers; r++)
        held += whole_layers(most_layers(&rank[r], layer));
    return held >= layers;
}

enum {
    MOST_CHOICES = 1 << 10, /* with more choices, all layers count as fitting */
    MOST_HULL = 16          /* points of a hull; the rest of a longer one does not limit layers */
};

/* The lower convex hull of needs, in ascending order of seconds. */
typedef struct need_hull {
    int points;
    layer_need point[MOST_HULL];
    layer_need least; /* least seconds and least bytes of all needs, not of one of them */
} need_hull;

/* Returns whether the ranks can hold all layers if each has any of the choices of a hull. */
static bool ranks_hold_mixed(const rank_limit *rank, int ranks, int layers, const need_hull *hull)
{
    double held = 0.0;

    for (int r = 0; r < ranks && held < layers; r++) {
        double most = most_layers(&rank[r], &hull->least);
        for (int i = 0; i + 1 < hull->points; i++)
            most = smaller(most, most_mixed_layers(&rank[r], &hull->point[i], &hull->point[i + 1]));
        held += whole_layers(most);
    }
    return held >= layers;
}

/* Returns the need after `last` on a hull: that with the least slope; NULL if none is smaller. */
static const layer_need *next_on_hull(const layer_need *last, const layer_need *need, int count)
{
    const layer_need *next = NULL;
    double least = HUGE_VAL;

    for (int i = 0; i < count; i++) {
        const double slope =
            (need[i].seconds - last->seconds) / (last->saved_bytes - need[i].saved_bytes);
        if (need[i].saved_bytes >= last->saved_bytes)
            continue;
        if (slope < least || (slope == least && need[i].saved_bytes < next->saved_bytes)) {
            least = slope;
            next = &need[i];
        }
    }
    return next;
}

static bool is_before(const layer_need *a, const layer_need *b)
{
    return a->seconds < b->seconds || (a->seconds == b->seconds && a->saved_bytes < b->saved_bytes);
}

static need_hull hull_of(const layer_need *need, int count)
{
    need_hull hull = {.points = 1, .point = {need[0]}, .least = need[0]};

    for (int i = 1; i < count; i++) {
        if (is_before(&need[i], &hull.point[0]))
            hull.point[0] = need[i];
        hull.least.saved_bytes = smaller(hull.least.saved_bytes, need[i].saved_bytes);
    }
    hull.least.seconds = hull.point[0].seconds;
    for (const layer_need *next = next_on_hull(&hull.point[0], need, count);
         next && hull.points < MOST_HULL;
         next = next_on_hull(&hull.point[hull.points - 1], need, count))
        hull.point[hull.points++] = *next;
    return hull;
}

/* Mean bytes of state of the layers of a part. */
static double layer_state_bytes(const plait_table *table, const plait_degrees *d,
                                const stage_part *part)
{
    const plait_state_bytes formats = min_memory_state_of(table, d);
    const stage_load all = load_of_layers(&table->row, part->row, part->count);

    return min_memory_state_bytes(&table->problem, &table->row, d, &formats, &all) / part->count;
}

bool plait_layers_may_fit(plait_table *table, const plait_degrees *d, const plait_layers_query *q)
{
    const plait_problem *const problem = &table->problem;
    const plait_residents *const keep = &problem->runtime->keep;
    const stage_part *const kind = commonest_kind(table);
    const int microbatches = plait_degrees_microbatches(d, problem->job.gbs);
    rank_limit rank[PLAIT_MAX_LAYERS + 2];
    layer_need need[MOST_CHOICES];
    int choices = q->choices;

    if (isinf(q->most_s) || isinf(q->most_bytes) || choices > MOST_CHOICES ||
        plait_schedule_replicas((plait_schedule)d->schedule) > 1)
        return true;
    table_select_layers(table, d);
    table_select_min_memory(table, d->ep_overlap);
    const double bytes = (q->most_bytes - keep->context_bytes) / keep->fragmentation;
    for (int r = 0; r < d->pp; r++)
        rank[r] = (rank_limit){q->most_s / microbatches, bytes - keep->workspace_bytes,
                               least_in_flight(d, r, microbatches)};
    const plait_degrees sharded = q->any_shard ? min_memory_degrees(table, d) : *d;
    const double state_bytes = layer_state_bytes(table, &sharded, kind);
    for (int c = 0; c < choices; c++) {
        need[c] = need_of(table, d, kind->row, state_bytes, q->choice[c]);
        if (q->mix != PLAIT_MIX_ALL && ranks_hold(rank, d->pp, kind->count, &need[c]))
            return true;
    }
    if (q->mix == PLAIT_MIX_FULL) {
        const plait_choice none = {.offload_acts = 0};
        const plait_choice full = {.recompute = {.kind = PLAIT_RECOMPUTE_FULL}};
        need[0] = need_of(table, d, kind->row, state_bytes, none);
        need[1] = need_of(table, d, kind->row, state_bytes, full);
        choices = 2;
    }
    if (q->mix == PLAIT_MIX_NONE || choices == 0)
        return false;
    const need_hull hull = hull_of(need, choices);
    return ranks_hold_mixed(rank, d->pp, kind->count, &hull);
}

// ---- before the row is priced ----------------------------------------------------------------

/*
 * Caches the parameters of a row. They do not depend on context parallelism, the microbatch size,
 * the exchange of experts and the kernels.
 */
static void weigh_layers(plait_table *table, layer_key key)
{
    key.mbs = key.cp = 1;
    key.attention = key.dispatcher = key.cp_comm = key.placement = key.fusion = 0;
    key.switches = (plait_switches){0};
    if (layer_key_same(table->weighed, key))
        return;
    layer_row_fill_weights(&table->problem, key, &table->light);
    table->light_load = begin_load(&table->light, &table->whole);
    table->weighed = key;
}

/*
 * Returns the seconds of one layer of each kind and of a prediction module, for one microbatch. CUDA
 * graphs of layers change only bytes and launches, so rows with and without them share the seconds.
 */
static const double *computed_layers(plait_table *table, layer_key key)
{
    const plait_model *model = table->problem.model;

    if (key.switches.cuda_graph == PLAIT_GRAPH_LAYERS)
        key.switches.cuda_graph = PLAIT_GRAPH_NONE;
    layer_seconds *const known = &table->computed[hash_ints(0, &key.mbs, 1) % COMPUTED];
    if (layer_key_same(known->key, key))
        return known->s;
    layer_row_set_key(&table->problem, key, &table->light);
    layers_computed_s(&table->problem, &table->light, known->s);
    if (model->mtp_layers > 0)
        known->s[ROW_MTP] = known->s[model->mtp_kind];
    known->key = key;
    return known->s;
}

/*
 * Bytes of state on the mean rank, or on the rank with most layers of a kind, whichever is larger.
 */
static double least_state_bytes(plait_table *table, const plait_degrees *d)
{
    const plait_problem *problem = &table->problem;
    const plait_degrees most_sharded = min_memory_degrees(table, d);
    const plait_state_bytes bytes = min_memory_state_of(table, &most_sharded);
    double most =
        min_memory_state_bytes(problem, &table->light, &most_sharded, &bytes, &table->light_load) /
        d->pp;

    for (int i = 0; i < table->whole.parts.count; i++) {
        const stage_part *part = &table->whole.parts.part[i];
        if (part->row >= table->kinds)
            continue;
        const stage_load load =
            load_of_layers(&table->light, part->row, most_of_rank(table, part->count, d->pp));
        most = larger(most,
                      min_memory_state_bytes(problem, &table->light, &most_sharded, &bytes, &load));
    }
    return most;
}

/* Seconds of one microbatch on all stages, one after the other. */
static double whole_computed_s(const plait_table *table, const double *computed_s)
{
    double whole = 0.0;

    for (int i = 0; i < table->whole.parts.count; i++)
        whole += table->whole.parts.part[i].count * computed_s[table->whole.parts.part[i].row];
    return whole;
}

/*
 * Seconds per microbatch on the mean rank, or on the rank with most layers of a kind, whichever is
 * larger.
 */
static double least_computed_s(const plait_table *table, const double *computed_s, int pp)
{
    double most = whole_computed_s(table, computed_s) / pp;

    for (int i = 0; i < table->whole.parts.count; i++) {
        const stage_part *part = &table->whole.parts.part[i];
        if (part->row < table->kinds)
            most = larger(most, most_of_rank(table, part->count, pp) * computed_s[part->row]);
    }
    return most;
}

double plait_pipeline_floor_bytes(plait_table *table, const plait_degrees *d)
{
    weigh_layers(table, layer_key_of(d));
    return price_of_rank(table, (rank_floor){.bytes = least_state_bytes(table, d)}).peak_bytes;
}

double plait_microbatch_floor_s(plait_table *table, const plait_degrees *d)
{
    return least_computed_s(table, computed_layers(table, layer_key_of(d)), d->pp);
}

double plait_serial_floor_s(plait_table *table, const plait_degrees *d)
{
    return table->split_backwards
               ? 0.0
               : whole_computed_s(table, computed_layers(table, layer_key_of(d)));
}

double plait_pipeline_floor_s(plait_table *table, const plait_degrees *d)
{
    const double of_rank_s = plait_microbatch_floor_s(table, d);

    return larger(plait_degrees_microbatches(d, table->problem.job.gbs) * of_rank_s,
                  plait_serial_floor_s(table, d));
}
