/*
 * volume.c - lists the communication of a step in the slowest stage, one line for each kind of call
 *
 * The lines use the same descriptions as the price: blocks of operators for layers, and sizes of
 * shards for replicas. For layers, the price has the exposed seconds of each call. For gradients
 * and parameter gathers it has only those of a whole term. They are distributed over the term's
 * lines in proportion to their time, so that lines sum to terms.
 */
#include <string.h>

#include "costmodel/plan/cost_parts.h"
#include "base/grow.h"

static bool is_between(const plait_route *route)
{
    return route->levels > 1;
}

/* List of the lines collected so far. */
typedef struct volume_list {
    plait_volume *volume;
    int count, room;
    plait_arena *arena;
    bool failed;
} volume_list;

/* Two calls share a line if their size, operation, group and term are equal. */
static bool same_line(const plait_volume *a, const plait_volume *b)
{
    return a->axis == b->axis && a->op == b->op && a->bytes == b->bytes && a->ranks == b->ranks &&
           strcmp(a->term, b->term) == 0;
}

/*
 * Adds calls to their line, or adds a new line. A line has at least as many seconds as it exposes.
 * An exposed share above 1 means that concurrent work slows the calls down (C.60, C.62, C.64,
 * C.66). Also, the step may wait for the gradients of another stage or of all stages (C.66, C.67).
 */
static void add_volume(volume_list *list, plait_volume volume)
{
    if (volume.count <= 0.0 || volume.ranks < 2 || volume.bytes <= 0.0)
        return;
    volume.seconds = larger(volume.seconds, volume.exposed_s);
    for (int i = 0; i < list->count; i++) {
        plait_volume *known = &list->volume[i];
        if (!same_line(known, &volume))
            continue;
        known->count += volume.count;
        known->seconds += volume.seconds;
        known->exposed_s += volume.exposed_s;
        return;
    }
    plait_volume *more =
        grow_by_one(list->arena, list->volume, list->count, &list->room, sizeof *more);
    list->failed = list->failed || !more;
    if (!more)
        return;
    list->volume = more;
    list->volume[list->count++] = volume;
}

/* Removes calls from their line. */
static void take_volume(volume_list *list, plait_volume volume)
{
    for (int i = 0; i < list->count; i++) {
        plait_volume *known = &list->volume[i];
        if (!same_line(known, &volume))
            continue;
        known->count -= volume.count;
        known->seconds -= larger(volume.seconds, volume.exposed_s);
        known->exposed_s -= volume.exposed_s;
        if (known->count < 0.5) // no calls are left, up to rounding
            *known = list->volume[--list->count];
        return;
    }
}

static const char *what_of(plait_axis axis, plait_collective_op op)
{
    switch (axis) {
    case PLAIT_AXIS_TP:
        return op == PLAIT_ALL_GATHER       ? "TP all-gather"
               : op == PLAIT_REDUCE_SCATTER ? "TP reduce-scatter"
                                            : "TP all-reduce";
    case PLAIT_AXIS_CP:
        return op == PLAIT_P2P              ? "CP ring exchange"
               : op == PLAIT_ALL_TO_ALL     ? "CP all-to-all"
               : op == PLAIT_REDUCE_SCATTER ? "CP reduce-scatter"
                                            : "CP all-gather";
    case PLAIT_AXIS_EP:
        return op == PLAIT_ALL_GATHER       ? "EP all-gather"
               : op == PLAIT_REDUCE_SCATTER ? "EP reduce-scatter"
                                            : "EP all-to-all";
    case PLAIT_AXIS_ETP:
        return op == PLAIT_ALL_GATHER ? "ETP all-gather" : "ETP reduce-scatter";
    default:
        return "collective";
    }
}

static const char *const term_name[LAYER_TERMS] = {
#define X(name) #name,
    LAYER_TERM_LIST(X)
#undef X
};

/*
 * Returns the line of one collective that a block executes `times` per step. With `again`, it is
 * one that recomputation repeats, and its term is recompute.
 */
static plait_volume volume_of(const plait_problem *problem, const layer_row *row,
                              const plait_op *op, double attention_s, double times, bool again)
{
    const collective_time time = collective_time_of(problem, row, op, attention_s);

    return (plait_volume){
        .what = what_of(op->axis, op->collective),
        .term = term_name[again ? LAYER_recompute : term_of(op)],
        .op = op->collective,
        .axis = op->axis,
        .ranks = op_route(row, op)->ranks,
        .between = is_between(op_route(row, op)),
        .count = times * op->count,
        .bytes = op->bytes,
        .seconds = times * time.seconds,
        .exposed_s = times * time.exposed_s,
    };
}

/*
 * Adds the collectives of a part's forward and backward passes, and those that recomputation
 * repeats.
 */
static void add_part(const plait_problem *problem, const layer_row *row, const stage_part *part,
                     double microbatches, volume_list *list)
{
    const double times = part->count * microbatches;
    const layer_price *price = &row->price[part->row];
    const plait_layer *layer = row_layer(problem->model, part->row);

    for (int back = 0; back <= 1; back++) {
        const double attention_s = (back ? price->backward : price->forward)[LAYER_attention];
        plait_block block;
        row_describe(problem, row, part->row, back ? PLAIT_BACKWARD : PLAIT_FORWARD, &block);
        for (int i = 0; i < block.ops; i++) {
            const plait_op *op = &block.op[i];
            if (op->kind != PLAIT_OP_COLLECTIVE)
                continue;
            add_volume(list, volume_of(problem, row, op, attention_s, times, false));
            if (back)
                continue;
            const double share = recomputed_share(problem, layer, part->choice.recompute, op->part);
            add_volume(list, volume_of(problem, row, op, attention_s, times * share, true));
        }
    }
}

/* Adds the sends of activations and their gradients for which a rank waits. (C.64) */
static void add_sends(const plait_problem *problem, const plait_degrees *d, const layer_row *row,
                      const step_sum *sum, const fused_boundary *boundary, volume_list *list)
{
    const double sends = pipeline_sends(problem, d);
    const bool scatters = boundary && boundary->op == PLAIT_M2MS;
    const double send_s = boundary ? boundary->send_s : pipeline_send_s(problem, d, row);
    const plait_route stages = plait_route_of(problem->cluster, plait_group_of(d, PLAIT_AXIS_PP));

    add_volume(list, (plait_volume){.what = scatters ? "PP scatter" : "PP send",
                                    .term = "pp_comm",
                                    .op = scatters ? PLAIT_M2MS : PLAIT_P2P,
                                    .axis = PLAIT_AXIS_PP,
                                    .ranks = scatters ? boundary->ranks : d->pp,
                                    .between = is_between(&stages),
                                    .count = sends,
                                    .bytes = boundary ? boundary->bytes : row->p2p_bytes,
                                    .seconds = sends * send_s,
                                    .exposed_s = sum->pp_comm_s});
}

/* Removes the collectives that fused boundaries replace, and adds their replacements. (C.143) */
static void change_boundaries(const plait_problem *problem, const plait_degrees *d,
                              const layer_row *row, const stage_load *load, double microbatches,
                              const fused_boundary *boundary, volume_list *list)
{
    for (int i = 0; i < boundary->changes; i++) {
        const boundary_change *one = &boundary->change[i];
        const double times = microbatches * load_boundaries(d, load, one->behind);
        const plait_volume line = volume_of(problem, row, &one->op, 0.0, times, false);
        if (one->times < 0.0)
            take_volume(list, line);
        else
            add_volume(list, line);
    }
}

/*
 * Names of the lines of dense or of expert parameters, their number, and the routes among replicas.
 */
typedef struct replica_lines {
    const char *scatter, *reduce, *across, *gather, *exchange;
    plait_axis axis;
    double params, frozen;       /* trained parameters, and those that are not trained */
    const plait_route *shard;    /* route within one shard group */
    const plait_route *replicas; /* route among the ranks with the same shard */
    const shard_nodes *nodes;    /* routes of the shard group inside and across domains */
} replica_lines;

/*
 * Lines of one term. The exposed time of the term is distributed over them in proportion to their
 * seconds.
 */
typedef struct line_set {
    int count;
    double seconds;
    plait_volume line[12];
} line_set;

static void put_line(line_set *set, plait_volume line)
{
    if (line.count <= 0.0 || line.ranks < 2 || !(line.bytes > 0.0))
        return;
    set->seconds += line.seconds;
    set->line[set->count++] = line;
}

/* Adds lines to the list. Each gets its share of the term's exposed seconds. */
static void add_lines(const line_set *set, const char *term, double exposed_s, volume_list *list)
{
    for (int i = 0; i < set->count; i++) {
        plait_volume line = set->line[i];
        line.term = term;
        line.exposed_s = set->seconds > 0.0 ? exposed_s * line.seconds / set->seconds : 0.0;
        add_volume(list, line);
    }
}

/* Returns a line of `count` calls of `bytes` each over a route. */
static plait_volume line_of(const char *what, plait_collective_op op, const replica_lines *lines,
                            const plait_route *route, plait_network network, double count,
                            double bytes)
{
    return (plait_volume){
        .what = what,
        .op = op,
        .axis = lines->axis,
        .ranks = route->ranks,
        .between = is_between(route),
        .count = count,
        .bytes = bytes,
        .seconds = count * plait_collective_s(route, network, op, bytes),
    };
}

/* Returns a line for `bytes` that are sent once per step, in buckets. */
static plait_volume buckets_line(const plait_problem *problem, const char *what,
                                 plait_collective_op op, const replica_lines *lines,
                                 const plait_route *route, double plan_bucket_bytes, double bytes)
{
    const double buckets = buckets_of(&problem->runtime->overlap, route, plan_bucket_bytes, bytes);

    return line_of(what, op, lines, route, network_of(problem), buckets, bytes / buckets);
}

/*
 * Adds ZeRO-3's gathers before forward and, depending on `reshard`, before backward. (C.63, C.169)
 */
static void put_gathers(const plait_degrees *d, const replica_lines *lines, plait_network network,
                        double m, double bytes, line_set *each)
{
    const double whole = d->reshard == PLAIT_RESHARD_ALWAYS ? 2.0 : 1.0;

    put_line(each, line_of(lines->gather, PLAIT_ALL_GATHER, lines, lines->shard, network, whole * m,
                           bytes));
    if (d->reshard == PLAIT_RESHARD_NODE)
        put_line(each, line_of(lines->gather, PLAIT_ALL_GATHER, lines, &lines->nodes->inside,
                               network, m, bytes));
}

/*
 * Adds the reduce-scatter of gradients for each microbatch, or with 4-bit gradients the all-to-alls
 * inside and across nodes. (C.63, C.171)
 */
static void put_scatters(const plait_degrees *d, const plait_state_bytes *state,
                         const replica_lines *lines, plait_network network, double m,
                         line_set *each)
{
    const double bytes = scattered_value_bytes(d, state) * lines->params;

    if (d->quantise < PLAIT_QUANTISE_GRADIENTS) {
        put_line(each, line_of(lines->scatter, PLAIT_REDUCE_SCATTER, lines, lines->shard, network,
                               m, bytes));
        return;
    }
    put_line(each, line_of(lines->exchange, PLAIT_ALL_TO_ALL, lines, &lines->nodes->inside, network,
                           m, bytes));
    put_line(each, line_of(lines->exchange, PLAIT_ALL_TO_ALL, lines, &lines->nodes->across, network,
                           m, bytes / lines->nodes->inside.ranks));
}

/*
 * Adds the lines of gradients and parameters. `step` receives those that occur once per step, and
 * `each` those of each microbatch (ZeRO-2 and -3).
 */
static void put_lines(const plait_problem *problem, const plait_degrees *d,
                      const plait_state_bytes *state, const replica_lines *lines, line_set *step,
                      line_set *each)
{
    const plait_network network = network_of(problem);
    const double m = plait_degrees_microbatches(d, problem->job.gbs);
    const double gradient = state->gradient_reduce * lines->params;
    const double parameter = state->gather * lines->params;
    const double own = plait_bucket_elements(d);
    const double own_gradient = state->gradient_reduce * own;
    const plait_collective_op reduction = reduction_of(&problem->runtime->overlap, d);
    const bool whole = reduction == PLAIT_ALL_REDUCE;

    if (d->zero == 0) {
        put_line(step, buckets_line(problem, lines->reduce, PLAIT_ALL_REDUCE, lines, lines->shard,
                                    own_gradient, gradient));
        return;
    }
    if (plait_scatters_each(d))
        put_scatters(d, state, lines, network, m, each);
    else
        put_line(step, buckets_line(problem, whole ? lines->reduce : lines->scatter, reduction,
                                    lines, lines->shard, own_gradient, gradient));
    put_line(step, buckets_line(problem, lines->across, PLAIT_ALL_REDUCE, lines, lines->replicas,
                                own_gradient, gradient / lines->shard->ranks));
    if (d->zero == 3)
        put_gathers(d, lines, network, m,
                    gathered_value_bytes(d, state) * lines->params + state->frozen * lines->frozen,
                    each);
    else
        put_line(step, buckets_line(problem, lines->gather, PLAIT_ALL_GATHER, lines, lines->shard,
                                    state->gather * own, parameter));
}

/* Adds the all-reduce of a tied embedding, which has a copy at each end of the pipeline. */
static void put_tied(const plait_problem *problem, const plait_degrees *d,
                     const sync_routes *routes, line_set *step)
{
    const double bytes = tied_gradient_bytes(problem, d, &routes->state);

    if (!problem->model->tied || plait_tuning_freezes(&problem->job.tuning) || d->pp == 1)
        return;
    put_line(step, (plait_volume){
                       .what = "tied embedding all-reduce",
                       .op = PLAIT_ALL_REDUCE,
                       .axis = PLAIT_AXIS_PP,
                       .ranks = routes->ends.ranks,
                       .between = is_between(&routes->ends),
                       .count = 1.0,
                       .bytes = bytes,
                       .seconds = plait_collective_s(&routes->ends, routes->network,
                                                     PLAIT_ALL_REDUCE, bytes),
                   });
}

/*
 * Adds the communication among replicas: of dense parameters, experts, and a tied embedding. (C.63,
 * C.65)
 */
static void add_replicas(const plait_problem *problem, const plait_degrees *d,
                         const stage_load *load, const step_sum *sum, double gather_s,
                         volume_list *list)
{
    const sync_routes routes = sync_routes_of(problem, d);
    const replica_lines dense = {
        "DP gradient reduce-scatter",
        "DP gradient all-reduce",
        "DP gradient all-reduce",
        "DP parameter all-gather",
        "DP gradient all-to-all",
        PLAIT_AXIS_DP,
        load->dense,
        load->frozen_dense,
        &routes.shard,
        &routes.replicas,
        &routes.dense_nodes,
    };
    const replica_lines expert = {
        "EDP gradient reduce-scatter",
        "EDP gradient all-reduce",
        "EDP gradient all-reduce",
        "EDP parameter all-gather",
        "EDP gradient all-to-all",
        PLAIT_AXIS_EDP,
        load->expert,
        load->frozen_expert,
        &routes.expert_shard,
        &routes.expert_replicas,
        &routes.expert_nodes,
    };
    line_set step = {0};
    line_set each = {0};

    put_lines(problem, d, &routes.state, &dense, &step, &each);
    if (load->expert + load->frozen_expert > 0.0)
        put_lines(problem, d, &routes.state, &expert, &step, &each);
    put_tied(problem, d, &routes, &step);
    add_lines(&step, "dp_comm", sum->dp_comm_s, list);
    add_lines(&each, "gather", gather_s, list);
}

bool volumes_of(const plait_problem *problem, const plait_degrees *d, const layer_row *row,
                const stage_parts *parts, const stage_load *load, const step_sum *sum,
                const fused_boundary *boundary, plait_arena *arena, plait_cost *cost)
{
    const double m = plait_degrees_microbatches(d, problem->job.gbs);
    volume_list list = {.arena = arena};

    for (int i = 0; i < parts->count; i++)
        if (parts->part[i].row < ROW_EMBEDDING)
            add_part(problem, row, &parts->part[i], parts->share * m, &list);
    for (int i = 0; i < parts->count; i++)
        if (parts->part[i].row >= ROW_EMBEDDING && parts->part[i].row != ROW_TABLE)
            add_part(problem, row, &parts->part[i], parts->share * m, &list);
    if (boundary)
        change_boundaries(problem, d, row, load, m, boundary, &list);
    // The time that pairs of microbatches hide is subtracted from the expert exchanges in
    // proportion to their exposed time. (C.157)
    for (int i = 0; i < list.count && sum->paired_s > 0.0; i++)
        if (strcmp(list.volume[i].term, term_name[LAYER_ep_comm]) == 0)
            list.volume[i].exposed_s *=
                cost->step.ep_comm_s / (cost->step.ep_comm_s + sum->paired_s);
    add_sends(problem, d, row, sum, boundary, &list);
    add_replicas(problem, d, load, sum, cost->step.gather_s, &list);
    cost->volumes = list.count;
    cost->volume = list.volume;
    cost->network_s = 0.0; // all calls of a GPU between domains share one NIC (C.311)
    for (int i = 0; i < list.count; i++)
        cost->network_s += list.volume[i].between ? list.volume[i].seconds : 0.0;
    return !list.failed;
}
