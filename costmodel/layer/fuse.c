/*
 * fuse.c - fusion of collectives of two kinds of parallelism: the table of rules, the rules inside
 * a layer (C.142), and the rules for sends between two chunks of a pipeline (C.143)
 */
#include "costmodel/layer/fuse.h"
#include "base/numbers.h"
#include "plait/lowlevel/fuse.h"
#include "plait/lowlevel/schedule.h"
#include "plait/runtime.h"
#include "plan/model_queries.h"

// ---- table of rules ------------------------------------------------------------------------

#define ONE(operation)                                                                             \
    {                                                                                              \
        .op = operation                                                                            \
    }
#define ALL_SHARE(operation)                                                                       \
    {                                                                                              \
        .op = operation, .all = true, .share = true, .copies = true                                \
    }

/*
 * C.141: the transfers that each rule replaces (before) and their replacement (after). A fused send
 * reaches only the experts of one stage, so its `all` is false.
 */
const plait_fusion_row plait_fusion_rules[PLAIT_FUSION_RULES] = {
#define X(constant, rule, what)                                                                    \
    [PLAIT_FUSE_##constant] = {.name = rule, .does = what, SIDES_##constant},
#define SIDES_TP_SP                                                                                \
    .before = {1, {ONE(PLAIT_ALL_REDUCE)}}, .after = {1, {ONE(PLAIT_REDUCE_SCATTER)}}
#define SIDES_TP_PP                                                                                \
    .before = {3,                                                                                  \
               {ONE(PLAIT_ALL_REDUCE), {.op = PLAIT_M2MS, .share = true}, ONE(PLAIT_ALL_GATHER)}}, \
    .after = {                                                                                     \
        3, {ONE(PLAIT_REDUCE_SCATTER), {.op = PLAIT_M2MS, .share = true}, ONE(PLAIT_ALL_GATHER)}}
#define SIDES_TP_EP                                                                                \
    .before = {2, {ONE(PLAIT_ALL_REDUCE), ALL_SHARE(PLAIT_ALL_TO_ALL)}},                           \
    .after = {2, {ONE(PLAIT_REDUCE_SCATTER), ALL_SHARE(PLAIT_ALL_TO_ALL)}}
#define SIDES_PP_EP                                                                                \
    .before = {2, {ONE(PLAIT_P2P), {.op = PLAIT_ALL_TO_ALL, .copies = true}}},                     \
    .after = {1, {{.op = PLAIT_M2MS, .copies = true}}}
#define SIDES_SP_PP                                                                                \
    .before = {2, {ONE(PLAIT_ALL_GATHER), ONE(PLAIT_P2P)}}, .after = {1, {ONE(PLAIT_M2MS)}}
#define SIDES_SP_EP_SP                                                                             \
    .before = {4,                                                                                  \
               {ONE(PLAIT_ALL_GATHER),                                                             \
                ALL_SHARE(PLAIT_ALL_TO_ALL),                                                       \
                ALL_SHARE(PLAIT_ALL_TO_ALL),                                                       \
                {.op = PLAIT_ALL_TO_ALL, .share = true}}},                                         \
    .after = {2, {ALL_SHARE(PLAIT_ALL_TO_ALL), ALL_SHARE(PLAIT_ALL_TO_ALL)}}
    PLAIT_FUSION_LIST(X)
#undef X
};

const char *const plait_fusion_fate_name[PLAIT_FUSION_FATES + 1] = {"no transition", "already",
                                                                    "declined", "fused", NULL};

double plait_fusion_sent(const plait_fusion_side *side, int ranks, int all, int topk, double bytes)
{
    double sent = 0.0;

    for (int i = 0; i < side->count; i++) {
        const plait_fusion_transfer *one = &side->transfer[i];
        const double whole = bytes * (one->copies ? topk : 1.0) / (one->share ? ranks : 1.0);
        sent += plait_collective_sent_bytes(one->op, one->all ? all : ranks, whole);
    }
    return sent;
}

/* ---- inside a layer (C.142) ----
 *
 *     after attention        all-reduce -> each rank selects its tokens -> experts    TP+EP, TP+SP
 *     after shared experts   all-reduce -> each rank adds the outputs of its tokens   TP+SP
 *
 * An all-reduce is a reduce-scatter and an all-gather. If each tensor rank continues only with its
 * own share of the tokens, the gather is unnecessary: the norm and the router need one token at a
 * time, so they can run on the scattered tokens.
 */

/*
 * Returns the all-reduce of a forward pass that can become a reduce-scatter, and sets its rule;
 * returns NULL if the pass has no such all-reduce. Without sp, each tensor rank sends its own share
 * of the tokens to the experts if etp = 1 (C.20). Shared experts read all tokens on every rank, so
 * the output of attention must be complete before them. Two mixers side by side have two all-reduces,
 * and fusion needs one.
 */
static plait_op *fused_reduce(const plait_layer *layer, const plait_shard *shard,
                              plait_block *block, plait_fusion_rule *rule)
{
    const bool shared = layer->moe.shared_width > 0;
    const plait_part part = shared ? PLAIT_PART_shared : PLAIT_PART_attn_out;

    if (layer->ffn != PLAIT_FFN_MOE || layer->parallel_residual || layer->opaque ||
        layer->second_mixer != PLAIT_MIXER_NONE || shard->tp == 1 || shard->sp || shard->etp > 1)
        return NULL;
    *rule = !shared && shard->ep > 1 ? PLAIT_FUSE_TP_EP : PLAIT_FUSE_TP_SP;
    for (int i = 0; i < block->ops; i++) {
        plait_op *op = &block->op[i];
        if (op->kind == PLAIT_OP_COLLECTIVE && op->part == part && op->axis == PLAIT_AXIS_TP &&
            op->collective == PLAIT_ALL_REDUCE)
            return op;
    }
    return NULL;
}

static plait_op scatter_of(const plait_op *reduce)
{
    plait_op op = *reduce;

    op.collective = PLAIT_REDUCE_SCATTER;
    return op;
}

unsigned fuse_choose(const plait_problem *problem, const layer_row *row, int kind)
{
    plait_fusion_rule rule;
    plait_block block;

    row_describe(problem, row, kind, PLAIT_FORWARD, &block);
    const plait_op *reduce = fused_reduce(&problem->model->kind[kind], &row->shard, &block, &rule);
    if (!reduce)
        return 0;
    const plait_op scatter = scatter_of(reduce);
    return collective_time_of(problem, row, &scatter, 0.0).exposed_s <
                   collective_time_of(problem, row, reduce, 0.0).exposed_s
               ? 1u << rule
               : 0;
}

void fuse_block(const plait_layer *layer, const plait_shard *shard, plait_pass_kind pass,
                unsigned rules, plait_block *block)
{
    plait_fusion_rule rule;
    plait_op *reduce = pass == PLAIT_FORWARD ? fused_reduce(layer, shard, block, &rule) : NULL;

    if (reduce && rules >> rule & 1u)
        *reduce = scatter_of(reduce);
}

void fuse_layer_report(const plait_problem *problem, const layer_row *row, int kind, double times,
                       plait_fused fused[PLAIT_FUSION_RULES])
{
    const plait_layer *layer = &problem->model->kind[kind];
    const plait_shard *shard = &row->shard;
    plait_fusion_rule rule;
    plait_block block;

    // sp already applies these rules: it scatters sums, and each rank sends its share of tokens.
    if (shard->sp) {
        fused[PLAIT_FUSE_TP_SP].fate = PLAIT_FUSED_ALREADY;
        if (layer->ffn == PLAIT_FFN_MOE && shard->ep > 1 && shard->etp == 1)
            fused[PLAIT_FUSE_SP_EP_SP].fate = PLAIT_FUSED_ALREADY;
    }
    plait_block_describe(problem->model, layer, shard, pass_of(problem, &row->key, PLAIT_FORWARD),
                         &block);
    const plait_op *reduce = fused_reduce(layer, shard, &block, &rule);
    if (!reduce)
        return;
    const plait_op scatter = scatter_of(reduce);
    plait_fused *out = &fused[rule];
    out->fate = row->fused[kind] >> rule & 1u ? PLAIT_FUSED : PLAIT_DECLINED;
    out->calls += times;
    out->before_bytes +=
        times * plait_collective_sent_bytes(PLAIT_ALL_REDUCE, shard->tp, reduce->bytes);
    out->after_bytes +=
        times * plait_collective_sent_bytes(PLAIT_REDUCE_SCATTER, shard->tp, reduce->bytes);
    out->before_s += times * collective_time_of(problem, row, reduce, 0.0).seconds;
    out->after_s += times * collective_time_of(problem, row, &scatter, 0.0).seconds;
}

/* ---- between two chunks (C.143) ----
 *
 *     TP+PP  all-reduce, send             -> reduce-scatter, send of a share, all-gather
 *     SP+PP  send of a share, all-gather  -> many-to-many scatter
 *     PP+EP  send, dispatch               -> many-to-many scatter
 *
 * The backward pass has the same rules, from the chunk after the boundary to the chunk before it. A
 * rule changes the time of the chunks on both sides and of the send between them. It is applied if
 * its transfers are faster and the step is shorter. The exposed part of a send depends on the
 * schedule, so the step is computed with and without the rule (costmodel/stage/fused_step.c).
 */

double pipeline_send_s(const plait_problem *problem, const plait_degrees *d, const layer_row *row)
{
    if (d->pp == 1)
        return 0.0;
    const plait_route route = plait_route_of(problem->cluster, plait_group_of(d, PLAIT_AXIS_PP));
    return plait_p2p_s(&route, network_of(problem), row->p2p_bytes) +
           problem->runtime->factor.p2p_s;
}

/* PP+EP is first, since a chunk that begins with experts cannot use the other two rules. */
static const plait_fusion_rule boundary_rules[] = {PLAIT_FUSE_PP_EP, PLAIT_FUSE_TP_PP,
                                                   PLAIT_FUSE_SP_PP};

enum { BOUNDARY_RULES = sizeof boundary_rules / sizeof *boundary_rules };

static bool shards_for(plait_fusion_rule rule, const plait_shard *shard)
{
    return rule == PLAIT_FUSE_PP_EP ? shard->ep > 1
                                    : shard->tp > 1 && shard->sp == (rule == PLAIT_FUSE_SP_PP);
}

/* Does a layer begin with the operator that a rule needs: experts, or a tensor-parallel product? */
static bool begins_for(plait_fusion_rule rule, const plait_layer *layer)
{
    if (rule == PLAIT_FUSE_PP_EP)
        return !layer->opaque && layer->mixer == PLAIT_MIXER_NONE && layer->ffn == PLAIT_FFN_MOE;
    return !layer->opaque && (layer->mixer != PLAIT_MIXER_NONE || layer->ffn == PLAIT_FFN_MLP);
}

/*
 * Can a rule be applied at every boundary? A boundary between two chunks of one rank has no send.
 * TP+PP needs a sum over the tensor ranks before every boundary, and PP+EP needs the same kind of
 * layer after every boundary.
 */
static bool holds_everywhere(plait_fusion_rule rule, const plait_model *model,
                             const plait_degrees *d, const plait_chunk *chunk)
{
    const plait_schedule schedule = (plait_schedule)d->schedule;

    // hyper-connections and attention residuals run between the sum and the send
    if (plait_schedule_replicas(schedule) > 1 || model_sent_width(model) > model->hidden)
        return false;
    for (int c = 1; c < d->pp * d->vpp; c++) {
        if (chunk[c - 1].first == chunk[c - 1].last || chunk[c].first == chunk[c].last ||
            plait_schedule_rank(schedule, d->pp, c - 1) == plait_schedule_rank(schedule, d->pp, c))
            return false;
        const plait_layer *last = &model->kind[model->layer_kind[chunk[c - 1].last - 1]];
        const int first = model->layer_kind[chunk[c].first];
        const bool sums =
            !last->opaque && (last->ffn == PLAIT_FFN_MLP ||
                              (last->ffn == PLAIT_FFN_NONE && last->mixer != PLAIT_MIXER_NONE));
        if ((rule == PLAIT_FUSE_TP_PP && !sums) || !begins_for(rule, &model->kind[first]) ||
            (rule == PLAIT_FUSE_PP_EP && first != model->layer_kind[chunk[1].first]))
            return false;
    }
    return true;
}

static void add_change(const plait_problem *problem, const layer_row *row, fused_boundary *out,
                       plait_op op, bool behind, bool backward, double times)
{
    double *saved = backward ? (behind ? &out->backward_behind_s : &out->backward_before_s)
                             : (behind ? &out->forward_behind_s : &out->forward_before_s);

    out->change[out->changes++] = (boundary_change){op, behind, backward, times};
    *saved -= times * collective_time_of(problem, row, &op, 0.0).exposed_s;
}

/*
 * Adds the collectives that a rule removes and adds at one boundary, and its send.
 *
 * @param kind  kind of the first layer after the boundary
 */
static void add_changes(const plait_problem *problem, const layer_row *row, plait_fusion_rule rule,
                        int kind, fused_boundary *out)
{
    const plait_pass pass = pass_of(problem, &row->key, PLAIT_FORWARD);
    plait_op reduce = {
        // the collective around tensor-parallel products (C.12)
        .kind = PLAIT_OP_COLLECTIVE,
        .collective = PLAIT_ALL_REDUCE,
        .axis = PLAIT_AXIS_TP,
        .overlap = PLAIT_OVERLAP_TP,
        .bytes = 2.0 * pass.sequences * pass.query_tokens / row->key.cp * problem->model->hidden,
        .count = 1.0,
    };
    const plait_op scatter = scatter_of(&reduce);
    plait_op gather = reduce;
    plait_block block;

    gather.collective = PLAIT_ALL_GATHER;
    out->op = rule == PLAIT_FUSE_TP_PP ? PLAIT_P2P : PLAIT_M2MS;
    if (rule == PLAIT_FUSE_TP_PP)
        out->bytes = reduce.bytes / row->key.tp;
    if (rule == PLAIT_FUSE_SP_PP) {
        out->bytes = gather.bytes;
        add_change(problem, row, out, gather, true, false, -1.0);
        add_change(problem, row, out, scatter, true, true, -1.0);
        return;
    }
    for (int back = 0; back < 2; back++) {
        // TP+PP: sums are scattered before the send and gathered after it. Some software scatters
        // its sends anyway, and so already has the gather.
        if (rule == PLAIT_FUSE_TP_PP) {
            add_change(problem, row, out, reduce, back, back, -1.0);
            add_change(problem, row, out, scatter, back, back, 1.0);
            if (!problem->runtime->overlap.p2p_scatter)
                add_change(problem, row, out, gather, !back, back, 1.0);
            continue;
        }
        row_describe(problem, row, kind, back ? PLAIT_BACKWARD : PLAIT_FORWARD, &block);
        for (int i = 0; i < block.ops; i++) {
            const plait_op *op = &block.op[i];
            if (op->kind != PLAIT_OP_COLLECTIVE || op->axis != PLAIT_AXIS_EP ||
                op->part != PLAIT_PART_dispatch)
                continue;
            add_change(problem, row, out, *op, true, back, -1.0);
            out->bytes = op->bytes;
            out->imbalance = op->imbalance;
        }
    }
}

/*
 * The route of a fused send. A many-to-many scatter joins all ranks of both chunks; another send
 * joins one rank of each stage.
 */
static plait_route send_route(const plait_problem *problem, const plait_degrees *d,
                              const fused_boundary *boundary)
{
    const plait_group_shape stages = plait_group_of(d, PLAIT_AXIS_PP);
    plait_group_shape both =
        plait_group_of(d, boundary->rule == PLAIT_FUSE_PP_EP ? PLAIT_AXIS_EP : PLAIT_AXIS_TP);

    if (boundary->op != PLAIT_M2MS)
        return plait_route_of(problem->cluster, stages);
    both.ranks *= 2;
    both.run[both.runs].size = 2;
    both.run[both.runs++].stride = stages.run[0].stride;
    return plait_route_of(problem->cluster, both);
}

fused_boundary fused_boundary_of(const plait_problem *problem, const plait_degrees *d,
                                 const layer_row *row, const plait_chunk *chunk)
{
    fused_boundary out = {0};

    if (d->fusion == PLAIT_FUSION_NONE || d->pp == 1)
        return out;
    for (int r = 0; r < BOUNDARY_RULES && !out.known; r++) {
        if (!shards_for(boundary_rules[r], &row->shard) ||
            !holds_everywhere(boundary_rules[r], problem->model, d, chunk))
            continue;
        out.known = true;
        out.rule = boundary_rules[r];
        add_changes(problem, row, out.rule, problem->model->layer_kind[chunk[1].first], &out);
        const plait_route route = send_route(problem, d, &out);
        out.ranks = route.ranks;
        out.send_s = larger(1.0, out.imbalance) *
                         plait_collective_s(&route, network_of(problem), out.op, out.bytes) +
                     problem->runtime->factor.p2p_s;
        // effect on one microbatch, forward and backward: two sends and the changed collectives
        out.pair = (plait_fused){
            .calls = 2.0,
            .before_bytes = 2.0 * row->p2p_bytes,
            .after_bytes = 2.0 * out.bytes,
            .before_s = 2.0 * pipeline_send_s(problem, d, row),
            .after_s = 2.0 * out.send_s,
        };
        for (int i = 0; i < out.changes; i++) {
            const plait_op *op = &out.change[i].op;
            const bool gone = out.change[i].times < 0.0;
            *(gone ? &out.pair.before_bytes : &out.pair.after_bytes) +=
                plait_collective_sent_bytes(op->collective, row->route[op->axis].ranks, op->bytes);
            *(gone ? &out.pair.before_s : &out.pair.after_s) +=
                collective_time_of(problem, row, op, 0.0).seconds;
        }
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
        for (int k = 0; k < problem->model->kinds && shards_for(boundary_rules[r], &row->shard);
             k++) {
            fused_boundary one = {0};
            if (!begins_for(boundary_rules[r], &problem->model->kind[k]))
                continue;
            add_changes(problem, row, boundary_rules[r], k, &one);
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
