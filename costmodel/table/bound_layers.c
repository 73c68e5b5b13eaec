/*
 * bound_layers.c - whether ranks can hold all layers within a step and a memory (C.451)
 *
 * With n_r layers on rank r, of t seconds, a saved bytes and s bytes of state each, and f_r
 * microbatches in flight, n_r t <= T' and n_r (s + f_r a) <= M'. No plan is below T' and M' if these
 * n_r sum to less than the layers.
 */
#include <math.h>

#include "plait/lowlevel/schedule.h"
#include "costmodel/table/table_private.h"

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
    const plait_schedule schedule = (plait_schedule)d->schedule;
    const int microbatches = plait_degrees_microbatches(d, problem->job.gbs);
    rank_limit rank[PLAIT_MAX_LAYERS + 2];
    layer_need need[MOST_CHOICES];
    int choices = q->choices;

    if (isinf(q->most_s) || isinf(q->most_bytes) || choices > MOST_CHOICES ||
        plait_schedule_replicas(schedule) > 1)
        return true;
    table_select_layers(table, d);
    table_select_min_memory(table, d->ep_overlap);
    const double bytes = (q->most_bytes - keep->context_bytes) / keep->fragmentation;
    for (int r = 0; r < d->pp; r++)
        rank[r] = (rank_limit){q->most_s / microbatches, bytes - keep->workspace_bytes,
                               plait_schedule_least_in_flight(schedule, d->pp, r, microbatches)};
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
