/*
 * fuse_boundary.c - sends between two chunks of a pipeline, plain (C.64) or with fused collectives
 * (C.143)
 *
 *     TP+PP  all-reduce, send             -> reduce-scatter, send of a share, all-gather
 *     SP+PP  send of a share, all-gather  -> many-to-many scatter
 *     PP+EP  send, dispatch               -> many-to-many scatter
 *
 * and the same in the backward pass, from the chunk after the boundary to the one before it. A rule
 * changes the time of the chunks on both sides and of the send between them. It is applied if it is
 * faster by itself and the step is shorter: how much of it a step exposes depends on the schedule,
 * so the step is summed both ways (costmodel/stage/fused_step.c).
 */
#include "costmodel/layer/fuse.h"
#include "base/numbers.h"
#include "plait/lowlevel/schedule.h"

double pipeline_send_s(const plait_problem *problem, const plait_degrees *d, const layer_row *row)
{
    if (d->pp == 1)
        return 0.0;
    const plait_route route = plait_route_of(problem->cluster, plait_group_of(d, PLAIT_AXIS_PP));
    return plait_p2p_s(&route, network_of(problem), row->p2p_bytes) +
           problem->runtime->factor.p2p_s;
}

// ---- conditions of the rules ---------------------------------------------------------------

static bool ends_in_sum(const plait_layer *layer)
{
    return !layer->opaque && (layer->ffn == PLAIT_FFN_MLP ||
                              (layer->ffn == PLAIT_FFN_NONE && layer->mixer != PLAIT_MIXER_NONE));
}

static bool begins_with_entry(const plait_layer *layer)
{
    return !layer->opaque && (layer->mixer != PLAIT_MIXER_NONE || layer->ffn == PLAIT_FFN_MLP);
}

static bool begins_with_experts(const plait_layer *layer)
{
    return !layer->opaque && layer->mixer == PLAIT_MIXER_NONE && layer->ffn == PLAIT_FFN_MOE;
}

static bool sums_tensors(const plait_shard *shard)
{
    return shard->tp > 1 && !shard->sp;
}

static bool shards_tokens(const plait_shard *shard)
{
    return shard->tp > 1 && shard->sp;
}

static bool spreads_experts(const plait_shard *shard)
{
    return shard->ep > 1;
}

// ---- changes by the rules ------------------------------------------------------------------

/* A collective around tensor-parallel products, as C.12 counts it. */
static plait_op tensor_op(const plait_problem *problem, const layer_row *row,
                          plait_collective_op collective)
{
    const plait_pass pass = pass_of(problem, &row->key, PLAIT_FORWARD);

    return (plait_op){
        .kind = PLAIT_OP_COLLECTIVE,
        .collective = collective,
        .axis = PLAIT_AXIS_TP,
        .overlap = PLAIT_OVERLAP_TP,
        .bytes = 2.0 * pass.sequences * pass.query_tokens / row->key.cp * problem->model->hidden,
        .count = 1.0,
    };
}

static void change(fused_boundary *boundary, plait_op op, bool behind, bool backward, double times)
{
    boundary->change[boundary->changes++] = (boundary_change){op, behind, backward, times};
}

/*
 * Sums are scattered before the send and gathered after it; some software already scatters its
 * sends.
 */
static void change_sums(const plait_problem *problem, const layer_row *row, int kind,
                        fused_boundary *out)
{
    const plait_op reduce = tensor_op(problem, row, PLAIT_ALL_REDUCE);
    const plait_op scatter = tensor_op(problem, row, PLAIT_REDUCE_SCATTER);
    const plait_op gather = tensor_op(problem, row, PLAIT_ALL_GATHER);

    (void)kind;
    for (int back = 0; back < 2; back++) {
        change(out, reduce, back, back, -1.0);
        change(out, scatter, back, back, 1.0);
        if (!problem->runtime->overlap.p2p_scatter)
            change(out, gather, !back, back, 1.0);
    }
    out->op = PLAIT_P2P;
    out->bytes = reduce.bytes / row->key.tp;
}

static void change_gathers(const plait_problem *problem, const layer_row *row, int kind,
                           fused_boundary *out)
{
    const plait_op gather = tensor_op(problem, row, PLAIT_ALL_GATHER);

    (void)kind;
    change(out, gather, true, false, -1.0);
    change(out, tensor_op(problem, row, PLAIT_REDUCE_SCATTER), true, true, -1.0);
    out->op = PLAIT_M2MS;
    out->bytes = gather.bytes;
}

static void change_dispatch(const plait_problem *problem, const layer_row *row, int kind,
                            fused_boundary *out)
{
    for (int back = 0; back < 2; back++) {
        plait_block block;
        row_describe(problem, row, kind, back ? PLAIT_BACKWARD : PLAIT_FORWARD, &block);
        for (int i = 0; i < block.ops; i++) {
            const plait_op *op = &block.op[i];
            if (op->kind != PLAIT_OP_COLLECTIVE || op->axis != PLAIT_AXIS_EP ||
                op->part != PLAIT_PART_dispatch)
                continue;
            change(out, *op, true, back, -1.0);
            out->bytes = op->bytes;
            out->imbalance = op->imbalance;
        }
    }
    out->op = PLAIT_M2MS;
}

/* C.143. Experts first: if they follow a boundary, no tensor-parallel product does. */
static const struct {
    plait_fusion_rule rule;
    bool (*shards)(const plait_shard *shard);
    bool (*ends)(const plait_layer *layer); /* the last layer before a boundary; NULL: any */
    bool (*begins)(const plait_layer *layer);
    void (*changes)(const plait_problem *problem, const layer_row *row, int kind,
                    fused_boundary *out);
    plait_axis axis; /* axis of the sending ranks */
    bool alike;      /* the rule needs the same kind of layer after every boundary */
} boundary_rules[] = {
    {PLAIT_FUSE_PP_EP, spreads_experts, NULL, begins_with_experts, change_dispatch, PLAIT_AXIS_EP,
     true},
    {PLAIT_FUSE_TP_PP, sums_tensors, ends_in_sum, begins_with_entry, change_sums, PLAIT_AXIS_TP,
     false},
    {PLAIT_FUSE_SP_PP, shards_tokens, NULL, begins_with_entry, change_gathers, PLAIT_AXIS_TP,
     false},
};

enum { BOUNDARY_RULES = sizeof boundary_rules / sizeof *boundary_rules };

static void sum_changes(const plait_problem *problem, const layer_row *row, fused_boundary *out)
{
    for (int i = 0; i < out->changes; i++) {
        const boundary_change *one = &out->change[i];
        double *saved = one->backward
                            ? (one->behind ? &out->backward_behind_s : &out->backward_before_s)
                            : (one->behind ? &out->forward_behind_s : &out->forward_before_s);
        *saved -= one->times * collective_time_of(problem, row, &one->op, 0.0).exposed_s;
    }
}

/* Does a rule hold at every boundary? A boundary between two chunks of one rank has no send. */
static bool holds_everywhere(int rule, const plait_model *model, const plait_degrees *d,
                             const plait_chunk *chunk)
{
    const plait_schedule schedule = (plait_schedule)d->schedule;

    if (plait_schedule_replicas(schedule) > 1)
        return false;
    for (int c = 1; c < d->pp * d->vpp; c++) {
        if (chunk[c - 1].first == chunk[c - 1].last || chunk[c].first == chunk[c].last ||
            plait_schedule_rank(schedule, d->pp, c - 1) == plait_schedule_rank(schedule, d->pp, c))
            return false;
        const plait_layer *last = &model->kind[model->layer_kind[chunk[c - 1].last - 1]];
        const plait_layer *first = &model->kind[model->layer_kind[chunk[c].first]];
        if ((boundary_rules[rule].ends && !boundary_rules[rule].ends(last)) ||
            !boundary_rules[rule].begins(first) ||
            (boundary_rules[rule].alike &&
             model->layer_kind[chunk[c].first] != model->layer_kind[chunk[1].first]))
            return false;
    }
    return true;
}

/* The sending ranks of one chunk and those of the next. */
static plait_route route_of_both(const plait_problem *problem, const plait_degrees *d,
                                 plait_axis axis)
{
    const plait_group_shape stages = plait_group_of(d, PLAIT_AXIS_PP);
    plait_group_shape both = plait_group_of(d, axis);

    both.ranks *= 2;
    both.run[both.runs].size = 2;
    both.run[both.runs++].stride = stages.run[0].stride;
    return plait_route_of(problem->cluster, both);
}

static void price_send(const plait_problem *problem, const plait_degrees *d, plait_axis axis,
                       fused_boundary *out)
{
    const plait_network network = network_of(problem);
    const plait_route both = route_of_both(problem, d, axis);
    const plait_route stages = plait_route_of(problem->cluster, plait_group_of(d, PLAIT_AXIS_PP));
    const plait_route *route = out->op == PLAIT_M2MS ? &both : &stages;

    out->ranks = route->ranks;
    out->send_s =
        larger(1.0, out->imbalance) * plait_collective_s(route, network, out->op, out->bytes) +
        problem->runtime->factor.p2p_s;
}

/* One microbatch forward and backward: two sends, and the collectives that the rule changes. */
static plait_fused pair_of(const plait_problem *problem, const plait_degrees *d,
                           const layer_row *row, const fused_boundary *boundary)
{
    plait_fused out = {
        .calls = 2.0,
        .before_bytes = 2.0 * row->p2p_bytes,
        .after_bytes = 2.0 * boundary->bytes,
        .before_s = 2.0 * pipeline_send_s(problem, d, row),
        .after_s = 2.0 * boundary->send_s,
    };

    for (int i = 0; i < boundary->changes; i++) {
        const plait_op *op = &boundary->change[i].op;
        const bool gone = boundary->change[i].times < 0.0;
        *(gone ? &out.before_bytes : &out.after_bytes) +=
            plait_collective_sent_bytes(op->collective, row->route[op->axis].ranks, op->bytes);
        *(gone ? &out.before_s : &out.after_s) += collective_time_of(problem, row, op, 0.0).seconds;
    }
    return out;
}

fused_boundary fused_boundary_of(const plait_problem *problem, const plait_degrees *d,
                                 const layer_row *row, const plait_chunk *chunk)
{
    fused_boundary out = {0};

    if (d->fusion == PLAIT_FUSION_NONE || d->pp == 1)
        return out;
    for (int r = 0; r < BOUNDARY_RULES && !out.known; r++) {
        if (!boundary_rules[r].shards(&row->shard) ||
            !holds_everywhere(r, problem->model, d, chunk))
            continue;
        out.known = true;
        out.rule = boundary_rules[r].rule;
        boundary_rules[r].changes(problem, row, problem->model->layer_kind[chunk[1].first], &out);
        sum_changes(problem, row, &out);
        price_send(problem, d, boundary_rules[r].axis, &out);
        out.pair = pair_of(problem, d, row, &out);
        out.faster = out.pair.after_s < out.pair.before_s;
    }
    return out;
}

fused_boundary fused_boundary_of_plan(const plait_problem *problem, const plait_plan *plan,
                                      const layer_row *row)
{
    const plait_degrees *d = &plan->degrees;
    plait_chunk chunk[PLAIT_MAX_LAYERS];

    if (d->fusion == PLAIT_FUSION_NONE)
        return (fused_boundary){0};
    for (int c = 0; c < d->pp * d->vpp; c++)
        chunk[c] = *plait_plan_chunk(plan, c);
    return fused_boundary_of(problem, d, row, chunk);
}

double fused_boundary_most_s(const plait_problem *problem, const layer_row *row)
{
    double most = 0.0;

    for (int r = 0; r < BOUNDARY_RULES; r++)
        for (int k = 0; k < problem->model->kinds && boundary_rules[r].shards(&row->shard); k++) {
            fused_boundary one = {0};
            if (!boundary_rules[r].begins(&problem->model->kind[k]))
                continue;
            boundary_rules[r].changes(problem, row, k, &one);
            sum_changes(problem, row, &one);
            most = larger(most, one.forward_before_s + one.forward_behind_s +
                                    one.backward_before_s + one.backward_behind_s);
        }
    return most;
}

plait_fused fused_boundary_report(const plait_problem *problem, const plait_degrees *d,
                                  const fused_boundary *boundary, bool chosen)
{
    const double pairs = (double)plait_degrees_microbatches(d, problem->job.gbs) * d->vpp;

    return (plait_fused){
        .fate = chosen ? PLAIT_FUSED : PLAIT_DECLINED,
        .calls = pairs * boundary->pair.calls,
        .before_bytes = pairs * boundary->pair.before_bytes,
        .after_bytes = pairs * boundary->pair.after_bytes,
        .before_s = pairs * boundary->pair.before_s,
        .after_s = pairs * boundary->pair.after_s,
    };
}
